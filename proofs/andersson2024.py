"""Andersson, Pagh and Torkamani 2024, "Count on Your Elders: Laplace vs Gaussian Noise" (arXiv:2408.07021v2).

The text supplied had lost its inline formulas; they are restored from the definitions, and misprints of the words are
kept. Notation: T time steps, k the arity of the tree, h its height, A the T x T lower-triangular matrix of ones, and
log the logarithm to base 2. Errors are for epsilon = 1 where epsilon does not appear.
"""

from __future__ import annotations

from dpverdict.proofs import (
    andersson2024_appendix,
    andersson2024_appendix_c,
    andersson2024_appendix_c_best,
    andersson2024_appendix_d,
    andersson2024_baselines,
    andersson2024_baselines_trees,
    andersson2024_blt,
    andersson2024_factorizations,
    andersson2024_lower,
    andersson2024_sampling,
    andersson2024_section1,
    andersson2024_section1_1,
    andersson2024_section3,
    andersson2024_section3_alg1,
    andersson2024_section3_alg2,
    andersson2024_section3_errors,
    andersson2024_section3_offset,
    andersson2024_section3_utility,
    andersson2024_section4,
    andersson2024_section4_1,
    andersson2024_section4_2,
    andersson2024_section4_3,
    andersson2024_section4_costs,
    andersson2024_section5_1,
    andersson2024_section5_2,
    andersson2024_section5_bound,
    andersson2024_section5_variance,
)

PARTS = (
    andersson2024_section1,
    andersson2024_section1_1,
    andersson2024_baselines,
    andersson2024_baselines_trees,
    andersson2024_factorizations,
    andersson2024_blt,
    andersson2024_lower,
    andersson2024_section3,
    andersson2024_section3_alg1,
    andersson2024_section3_utility,
    andersson2024_section3_errors,
    andersson2024_section3_offset,
    andersson2024_section3_alg2,
    andersson2024_section4,
    andersson2024_section4_1,
    andersson2024_section4_2,
    andersson2024_section4_3,
    andersson2024_section4_costs,
    andersson2024_section5_1,
    andersson2024_section5_bound,
    andersson2024_section5_2,
    andersson2024_section5_variance,
    andersson2024_appendix,
    andersson2024_appendix_c,
    andersson2024_appendix_c_best,
    andersson2024_appendix_d,
    andersson2024_sampling,
)
"""The parts in the paper's order; in each, the statements stand in it too."""
