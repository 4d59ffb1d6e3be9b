"""What a loss says of its two laws in words: the event above a level, and what is taken for granted."""

from fractions import Fraction

import pytest

from dpverdict.audit.losses.base import (
    NORMAL_VARIATES,
    RANDOM_BITS,
    REAL_ARITHMETIC,
    AddRemoveLoss,
    LikelihoodRatio,
    PrivacyLoss,
)
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss, RandomisedResponseLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.audit.losses.domains import Direction
from dpverdict.audit.losses.finite.bounded_range import BoundedRangeLoss
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.losses.spherical.loss import SphericalLoss
from dpverdict.audit.losses.spherical.random_direction import RandomDirectionGaussian
from dpverdict.audit.sampling.allocation import random_allocation
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.errors import InvalidValue
from dpverdict.numerics.exponential_sums import ExponentialSum

WEIGHTS = [ExponentialSum.of(3), ExponentialSum.of(1)]
LOSSES: list[PrivacyLoss] = [
    GaussianLoss(1),
    LaplaceLoss(["0.5"] * 3),
    RandomisedResponseLoss(2, "1/2"),
    DiscreteGaussianLoss.from_groups([(2, 1, 3), ("1/2", 2, 1)]),
    SphericalLoss(3, RandomDirectionGaussian("1/2"), 2),
    BoundedRangeLoss(1),
    FiniteLoss.of_weights(WEIGHTS, WEIGHTS[::-1], outcomes=("yes", "no")),
    compose(GaussianLoss(1), LaplaceLoss([1])),
]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_the_event_names_its_level_and_the_noise_what_it_takes_for_granted(loss: PrivacyLoss) -> None:
    assert loss.event_above(0.125) != loss.event_above(-0.5)
    assert isinstance(loss, FiniteLoss) or "0.125" in loss.event_above(0.125)
    assert set(loss.assumptions) & {REAL_ARITHMETIC, RANDOM_BITS}


def test_outcomes_are_named_where_they_have_names() -> None:
    named = LOSSES[6]
    assert named.event_above(0.5) == "the outcome is one of: yes: there the privacy loss exceeds 0.5"
    assert "yes, no" in named.event_above(-2.0)
    assert "one of: no" in named.reversed().event_above(0.5)
    assert "outputs y" in FiniteLoss([1], [1]).event_above(0.5)
    with pytest.raises(InvalidValue, match="one name for each weight"):
        FiniteLoss.of_weights(WEIGHTS, WEIGHTS, outcomes=("yes",))


def test_many_groups_are_cut_short_in_words() -> None:
    event = LaplaceLoss(list(range(1, 9))).event_above(1.0)
    assert event.count(" and ") == 5
    assert "..." in event


def test_a_composition_takes_for_granted_what_its_factors_do() -> None:
    assert compose(LaplaceLoss([1]), RandomisedResponseLoss(1, 1)).assumptions == (REAL_ARITHMETIC, RANDOM_BITS)
    assert NORMAL_VARIATES in poisson_sampled(GaussianLoss(1), "0.1", 3).assumptions


def test_both_directions_of_a_pair_have_an_event_each() -> None:
    both = poisson_sampled(GaussianLoss("1/2"), "0.1", 3)
    remove, add = (both.event_of(direction, 0.25) for direction in Direction)
    assert remove.startswith("(sum over steps 1 to 3 of log(1 - 0.1 + 0.1 exp(")
    assert add == f"-{remove}"
    assert "s = 2," in remove
    assert "mean over 4 batches" in random_allocation(noise_multiplier=1, steps=4).event_of(Direction.ADD, 1.0)
    plain = AddRemoveLoss(remove=LaplaceLoss([1]), add=LaplaceLoss([2]))
    assert plain.event_of(Direction.ADD, 0.5) == LaplaceLoss([2]).event_above(0.5)
    assert LikelihoodRatio("y", "y the release").event_above(1.0, Direction.ADD).startswith("-(y) > 1.0")
    assert Direction.ADD.other is Direction.REMOVE


@pytest.mark.parametrize(("one", "other"), [(GaussianLoss(1), GaussianLoss("1")), (DisjointLoss(), DisjointLoss())])
def test_losses_of_the_same_laws_have_one_key(one: PrivacyLoss, other: PrivacyLoss) -> None:
    assert one.law_key == other.law_key
    keys = [loss.law_key for loss in (*LOSSES, GaussianLoss(2), LaplaceLoss([1]), RandomisedResponseLoss(3, "1/2"))]
    assert len(set(keys)) == len(keys)
    assert LaplaceLoss([1, 2]).law_key == LaplaceLoss([2, Fraction(1)]).law_key
