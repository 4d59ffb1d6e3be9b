"""Results of this project that are in none of the papers, or go beyond them."""

from __future__ import annotations

from dpverdict.proofs import new_results_forms, new_results_mutants, new_results_mutants_special, new_results_variants

PARTS = (new_results_forms, new_results_variants, new_results_mutants, new_results_mutants_special)
"""The parts, by the paper they belong to; in each, the statements stand in the order of the ledger."""
