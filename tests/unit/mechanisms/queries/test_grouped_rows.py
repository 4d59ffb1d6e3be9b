"""Algorithm 2: what a row of its release is, and what its noise covers under the other relation."""

import numpy as np
import pytest

from dpverdict.audit.exact.worst_case import neighbour_loss
from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    GroupedGaussian,
)


def test_rows_of_a_grouped_release_are_queries_and_counts() -> None:
    mechanism = GroupedGaussian(groups=2, dim=3, mu=1, adjacency=ADD_OR_REMOVE_ONE)
    queries, counts = mechanism.rows(np.arange(8.0))
    np.testing.assert_array_equal(queries, [[0, 1, 2], [4, 5, 6]])
    np.testing.assert_array_equal(counts, [3, 7])


def test_grouped_noise_for_replacement_covers_add_or_remove_by_a_factor_of_root_two() -> None:
    mechanism = GroupedGaussian(groups=2, dim=4, mu=1, adjacency=REPLACE_ONE)
    record = np.stack([np.ones(4), np.zeros(4)])
    assert neighbour_loss(mechanism, record, np.zeros((2, 4))).mu == pytest.approx(0.5**0.5, rel=1e-15)
