"""The worst neighbours: told in words and as datasets, and the loss of any other pair."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from dpverdict.audit.exact.worst_case import WorstCase, epsilon_between, neighbour_loss, worst_case
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss
from dpverdict.errors import ContradictoryBounds
from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    CorrelatedGaussian,
    StandardGaussian,
    broken,
)
from dpverdict.mechanisms.core.bounds import Above, AttainedLoss, Bounds, DeltaBound, Dominating

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


# the best of each list ------------------------------------------------------------------------------------------------


def bracketed(
    *losses: GaussianLoss, attained: GaussianLoss, at: Callable[[Fraction], arb | None] | None = None
) -> WorstCase:
    pair = worst_case(UNIT).pair
    above: list[Above] = [Dominating(loss=loss, description="", justification="") for loss in losses]
    if at is not None:
        above.append(DeltaBound(at=at, source="", because=""))
    below = AttainedLoss(pair=pair, loss=attained, description="")
    return WorstCase(
        pair=pair,
        loss=losses[0],
        description="",
        justification="",
        exact=False,
        bounds=Bounds.of(above, [below]),
    )


def test_the_least_upper_and_the_greatest_lower_bound_are_told() -> None:
    """Whatever the order of the list: mu = 2 comes first, and mu = 1, or delta at most that of mu = 1, is closer."""
    delta, half, one, two = Fraction(1, 10**5), GaussianLoss("0.5"), GaussianLoss(1), GaussianLoss(2)
    for worst in (
        bracketed(two, one, attained=half),
        bracketed(two, attained=half, at=lambda epsilon: one.profile(epsilon, 53)),
    ):
        found = worst.certified_epsilon(delta)
        assert found.upper < one.certified_epsilon(delta).upper * 1.0001 < two.certified_epsilon(delta).lower
        assert one.certified_delta(Fraction(found.upper)).lower <= delta  # it is certified
        assert half.certified_epsilon(delta).upper * 0.999 < found.lower <= half.certified_epsilon(delta).upper
        rough = epsilon_between(worst.bounds, delta, roughly=True)
        assert rough.lower <= found.lower <= found.upper <= rough.upper < found.upper * 1.01
        assert worst.certified_delta(Fraction(1)).upper <= one.certified_delta(1).upper * (1 + 1e-12)
        assert worst.certified_delta(Fraction(1)).lower == half.certified_delta(1).lower
        assert worst.enclosed_beta(Fraction(1, 20), 6).upper == half.certified_beta(Fraction(1, 20)).upper


def test_a_pair_that_attains_more_than_is_certified_is_no_answer() -> None:
    wrong = bracketed(GaussianLoss("0.5"), attained=GaussianLoss(1))
    with pytest.raises(ContradictoryBounds):
        wrong.certified_delta(Fraction(1))
    with pytest.raises(ContradictoryBounds):
        wrong.enclosed_beta(Fraction(1, 20), 6)
    with pytest.raises(ContradictoryBounds):
        wrong.certified_epsilon(Fraction(1, 10**5))
