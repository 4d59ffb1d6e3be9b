"""Dominating pairs are exact numbers with words: what cannot be a pair is refused, and events say their level."""

from fractions import Fraction

import pytest

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.dominating_pairs import (
    RANDOM_BITS,
    REAL_ARITHMETIC,
    DiscreteGaussianPair,
    DominatingPair,
    LaplacePair,
    RandomDirectionPair,
    RandomisedResponsePair,
)

HALF = Fraction(1, 2)
PAIRS: list[DominatingPair] = [
    RandomDirectionPair(dim=3, scale=HALF, squared_length=Fraction(2)),
    DiscreteGaussianPair(groups=((Fraction(2), 1, 3), (HALF, 2, 1))),
    LaplacePair(groups=((HALF, 3),)),
    RandomisedResponsePair(rate=HALF, count=2),
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: type(pair).__name__)
def test_the_event_names_its_level_and_the_noise_what_it_takes_for_granted(pair: DominatingPair) -> None:
    assert "0.125" in pair.event(0.125)
    assert pair.event(0.125) != pair.event(0.25)
    assert pair.assumptions
    assert set(pair.assumptions) & {REAL_ARITHMETIC, RANDOM_BITS}


def test_the_mean_of_discrete_gaussian_noise_is_the_sum_of_its_coordinates() -> None:
    assert DiscreteGaussianPair(groups=((Fraction(2), 1, 3), (HALF, 2, 1))).rho == Fraction(3, 4) + 4


def test_many_groups_are_cut_short_in_words() -> None:
    pair = LaplacePair(groups=tuple((Fraction(k), 1) for k in range(1, 9)))
    assert pair.event(1.0).count(" and ") == 5
    assert "..." in pair.event(1.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: RandomDirectionPair(dim=2, scale=HALF, squared_length=HALF),
        lambda: RandomDirectionPair(dim=3, scale=Fraction(0), squared_length=HALF),
        lambda: RandomDirectionPair(dim=3, scale=HALF, squared_length=Fraction(0)),
        lambda: DiscreteGaussianPair(groups=()),
        lambda: DiscreteGaussianPair(groups=((HALF, 0, 1),)),
        lambda: DiscreteGaussianPair(groups=((-HALF, 1, 1),)),
        lambda: LaplacePair(groups=()),
        lambda: LaplacePair(groups=((HALF, 0),)),
        lambda: RandomisedResponsePair(rate=Fraction(0), count=1),
        lambda: RandomisedResponsePair(rate=HALF, count=0),
    ],
)
def test_a_pair_that_does_not_move_is_refused(make) -> None:
    with pytest.raises(InvalidValue):
        make()
