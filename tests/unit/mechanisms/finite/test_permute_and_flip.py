"""Permute-and-flip: the algorithm as printed has the law of the largest score with exponential noise."""

import numpy as np

from dpverdict.mechanisms import REPLACE_ONE, PermuteAndFlip

RECORDS = np.array([[1.0, 0.5, 0.0], [1.0, 1.0, 0.0]])
N = 20_000


def test_the_printed_algorithm_has_the_stated_law(seed: int) -> None:
    mechanism = PermuteAndFlip(options=3, epsilon=2, adjacency=REPLACE_ONE)
    released = mechanism.release_many(RECORDS, N, np.random.default_rng(seed))[:, 0]
    for option, chance in enumerate(mechanism.probabilities(RECORDS)):
        slack = 6 * np.sqrt(chance * (1 - chance) / N) + 36 / N  # two-sided probability 2e-9, three times
        assert abs((released == option).mean() - chance) <= slack


def test_the_best_option_is_selected_where_the_rate_is_large(seed: int) -> None:
    mechanism = PermuteAndFlip(options=3, epsilon=1, adjacency=REPLACE_ONE, rate=1000)
    assert (mechanism.release_many(RECORDS, 50, np.random.default_rng(seed)) == 0).all()
