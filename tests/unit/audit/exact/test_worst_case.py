"""The worst neighbours: told in words and as datasets, and the loss of any other pair."""

import numpy as np

from dpverdict.audit.exact.worst_case import WorstCase, neighbour_loss, worst_case
from dpverdict.audit.losses.closed_form import DisjointLoss
from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    CorrelatedGaussian,
    StandardGaussian,
    broken,
)

UNIT = StandardGaussian(dim=4, mu=1, adjacency=ADD_OR_REMOVE_ONE)  # scale 2: mu is exactly 1


def test_the_worst_case_is_told_in_words_and_as_datasets() -> None:
    worst = worst_case(CorrelatedGaussian(dim=3, mu=1, count="withheld"))
    assert worst.description == "a record with 2 of 3 entries at 1 and the others at 0"
    np.testing.assert_array_equal(worst.pair.dataset, [[1.0, 1.0, 0.0]])
    assert worst.pair.neighbour.shape == (0, 3)
    replaced = worst_case(StandardGaussian(dim=3, mu=1, adjacency=REPLACE_ONE))
    np.testing.assert_array_equal(replaced.pair.dataset + replaced.pair.neighbour, np.ones((1, 3)))


def test_all_records_of_one_user_are_in_the_worst_pair() -> None:
    worst = worst_case(broken.by_name("M17").make(4, 1))
    assert worst.pair.dataset.shape == (3, 4)
    assert worst.pair.records_per_user == 3
    assert isinstance(worst, WorstCase)


def test_a_neighbour_that_changes_nothing_has_no_loss() -> None:
    mechanism = CorrelatedGaussian(dim=3, mu=1, count="withheld")
    assert neighbour_loss(mechanism, np.zeros(3)).mu == 0.0
    assert neighbour_loss(UNIT, np.zeros(4)).delta(0) == 0.0
    assert isinstance(neighbour_loss(broken.by_name("M6").make(3, 1), np.zeros(3)), DisjointLoss)
