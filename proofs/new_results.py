"""Results of this project that are in none of the papers, or go beyond them; the number begins with the paper's."""

from __future__ import annotations

from dpverdict.proofs import (
    new_results_discrete,
    new_results_ellipses,
    new_results_elliptical,
    new_results_float,
    new_results_forms,
    new_results_grouped,
    new_results_joint,
    new_results_laplace,
    new_results_mutants,
    new_results_mutants_special,
    new_results_optimum,
    new_results_pareto,
    new_results_r1smg,
    new_results_r1smg_claim,
    new_results_trees,
    new_results_variants,
)

PARTS = (
    new_results_forms,
    new_results_variants,
    new_results_mutants,
    new_results_mutants_special,
    new_results_ellipses,
    new_results_optimum,
    new_results_joint,
    new_results_pareto,
    new_results_grouped,
    new_results_float,
    new_results_discrete,
    new_results_trees,
    new_results_laplace,
    new_results_r1smg,
    new_results_r1smg_claim,
    new_results_elliptical,
)
"""The parts, by the paper they belong to; in each, the statements stand in the order of the ledger."""
