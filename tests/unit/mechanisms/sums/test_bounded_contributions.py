"""Bounded contributions: no user tells more than the one that is named, and what is kept is within the bounds."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverdict.audit import Status, certify
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.laplace_noise import LaplaceNoise
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE
from dpverdict.mechanisms.core.noise import Noise, SharedNoise
from dpverdict.mechanisms.sums.bounded_contributions import BoundedContributions
from dpverdict.mechanisms.sums.contributions import BoundedUsers, ContributionBounds
from dpverdict.mechanisms.sums.whole_noise import DiscreteGaussianNoise
from dpverdict.numerics.arrays import Array

LEVELS = ("0", "0.4", "1.5")
QUARTERS = st.integers(1, 24).map(lambda n: Fraction(n, 4))


@st.composite
def bounds_of_users(draw: st.DrawFn) -> ContributionBounds:
    dim = draw(st.integers(1, 4))
    high = Fraction(draw(st.sampled_from(("1/2", "1", "2"))))
    return ContributionBounds(
        dim=dim,
        keys=draw(st.integers(1, dim)),
        per_key=draw(st.integers(1, 3)),
        low=draw(st.sampled_from((Fraction(0), -high))),
        high=high,
        l1=draw(st.none() | QUARTERS),
        l2=draw(st.none() | QUARTERS),
    )


def noises(space: BoundedUsers) -> list[Noise]:
    bounds = space.bounds
    found: list[Noise] = [SharedNoise(dim=bounds.dim, independent_scale=2.0)]
    if bounds.l2 is None:
        found.append(LaplaceNoise(size=bounds.dim, scale=2.0))
    if space.is_box and bounds.high.denominator == 1:
        found.append(DiscreteGaussianNoise(size=bounds.dim, variance=Fraction(3)))
    return found


def tells_more(loss: PrivacyLoss, than: PrivacyLoss) -> bool:
    """Whether one profile is certainly above another somewhere."""
    return any(loss.certified_delta(at).lower > than.certified_delta(at).upper for at in LEVELS)


def users(bounds: ContributionBounds, draw: st.DrawFn) -> Array:
    values = st.sampled_from([-3.0, -1.0, -0.5, 0.0, 0.0, 0.25, 0.5, 1.0, 2.0, 9.0])
    size = bounds.dim * (bounds.per_key + 1)
    return np.array(draw(st.lists(values, min_size=size, max_size=size))).reshape(bounds.dim, -1)


@given(st.data())
@settings(deadline=None)
def test_no_user_tells_more_than_the_one_that_is_named(data: st.DataObject) -> None:
    bounds = data.draw(bounds_of_users())
    for replaced in (False, True):
        space = BoundedUsers(bounds=bounds, slots=bounds.per_key + 1, replaced=replaced)
        record, other = (data.draw(st.composite(lambda draw: users(bounds, draw))()) for _ in range(2))
        for noise in noises(space):
            whole = isinstance(noise, DiscreteGaussianNoise)
            one, two = (np.floor(user) if whole else user for user in (record, other))
            worst = space.maximise(noise)
            assert not tells_more(space.loss(noise, one, two if replaced else None), worst.loss)


@given(bounds_of_users())
@settings(deadline=None)
def test_the_user_that_is_named_tells_as_much(bounds: ContributionBounds) -> None:
    for replaced in (False, True):
        space = BoundedUsers(bounds=bounds, slots=bounds.per_key, replaced=replaced)
        for noise in noises(space):
            worst = space.maximise(noise)
            record, other = worst.records()
            attained = space.loss(noise, record, other)
            assert not tells_more(worst.loss, attained)
            assert not tells_more(attained, worst.loss)


@pytest.mark.parametrize(
    "forgotten",
    [{"keys": 1}, {"per_key": 1}, {"l1": Fraction(2)}, {"l2": Fraction(1)}],
    ids=lambda given: next(iter(given)),
)
@pytest.mark.parametrize("replaced", [False, True])
def test_a_bound_that_is_forgotten_lets_some_user_tell_more(forgotten: dict[str, Any], replaced: bool) -> None:
    wide: dict[str, Any] = {"dim": 4, "keys": 2, "per_key": 2, "low": Fraction(0), "high": Fraction(1)}
    kept = ContributionBounds(**(wide | forgotten))
    noise = SharedNoise(dim=4, independent_scale=2.0)
    claimed = BoundedUsers(bounds=kept, slots=2, replaced=replaced).maximise(noise)
    space = BoundedUsers(bounds=ContributionBounds(**wide), slots=2, replaced=replaced)
    record, other = space.maximise(noise).records()
    assert tells_more(space.loss(noise, record, other), claimed.loss)


@given(st.data())
@settings(deadline=None)
def test_what_is_kept_of_any_user_is_within_the_bounds(data: st.DataObject) -> None:
    bounds = data.draw(bounds_of_users())
    user = data.draw(st.composite(lambda draw: users(bounds, draw))())
    sums, share = bounds.kept_exactly(user)
    assert sum(size != 0 for size in sums) <= bounds.keys
    assert max(map(abs, sums)) <= bounds.largest_sum
    assert bounds.l1 is None or sum(map(abs, sums)) <= bounds.l1
    assert bounds.l2 is None or share * sum(size**2 for size in sums) <= bounds.l2**2
    exact = math.sqrt(share) * np.array([float(size) for size in sums])
    np.testing.assert_allclose(bounds.keep(user[None])[0], exact, rtol=1e-14, atol=1e-300)


def test_values_and_keys_beyond_the_first_are_dropped() -> None:
    bounds = ContributionBounds(dim=3, keys=2, per_key=2, low=Fraction(0), high=Fraction(1))
    user = np.array([[0.0, 0.5, 7.0, 1.0], [-2.0, 0.0, 0.0, 0.25], [1.0, 1.0, 1.0, 1.0]])
    assert bounds.keep(user[None]).tolist() == [[1.5, 0.25, 0.0]]


DENSITIES = {"laplace": lambda z: np.exp(-np.abs(z)) / 2, "cauchy": lambda z: 1 / (np.pi * (1 + z * z))}


@pytest.mark.parametrize("law", list(DENSITIES))
def test_heavy_tails_break_the_theorem_of_shifts_and_laplace_noise_does_not(law: str) -> None:
    """The total variation of two coordinates that move by (30, 30) against (60, 0), by sums over midpoints."""
    density, grid = DENSITIES[law], np.arange(-400, 400, 0.5) + 0.25

    def total_variation(first: float, second: float) -> float:
        here = np.multiply.outer(density(grid), density(grid))
        there = np.multiply.outer(density(grid - first), density(grid - second))
        return float(np.maximum(here - there, 0).sum()) * 0.25

    assert (total_variation(30, 30) > total_variation(60, 0) + 0.005) is (law == "cauchy")


RUNS: tuple[dict[str, Any], ...] = (
    {"dim": 5, "keys": 3, "noise": "laplace", "epsilon": 1},
    {"dim": 5, "keys": 3, "noise": "laplace", "epsilon": 1, "l1": "2.5"},
    {"dim": 5, "keys": 3, "noise": "gaussian", "epsilon": 1, "delta": "1e-6", "l2": "1.25", "low": -1},
    {"dim": 9, "keys": 3, "per_key": 2, "noise": "gaussian", "epsilon": 1, "delta": "1e-6", "l1": "3.5"},
)


@pytest.mark.parametrize("adjacency", [ADD_OR_REMOVE_ONE, REPLACE_ONE])
@pytest.mark.parametrize("run", RUNS)
def test_the_scale_that_is_found_is_enough_and_no_less_is(run: dict[str, Any], adjacency: Any) -> None:
    made = BoundedContributions(adjacency=adjacency, **run)
    assert certify(made).status is Status.CERTIFIED
    less = BoundedContributions(adjacency=adjacency, **run, scale=made.scale * (1 - 1e-7))
    assert certify(less).status is Status.REFUTED


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"low": "-0.5"}, "low='-0.5' must be 0 or -1, minus high"),
        ({"l2": 1}, "worst user is then not known"),
        ({"keys": 9}, "keys=9"),
        ({"noise": "gaussian"}, "delta=0 must be given"),
        ({"noise": "discrete-gaussian", "rho": 1, "epsilon": None, "l1": 1}, "noise='discrete-gaussian' must be left"),
        ({"noise": "discrete-gaussian", "delta": "1e-6"}, "scale must be given with discrete-gaussian noise, or rho"),
        ({"rho": 1}, "epsilon=1 must be given, or rho"),
        ({"held": 1, "per_key": 2}, "held=1 must be at least per_key=2"),
    ],
)
def test_wrong_arguments_are_named(wrong: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"dim": 5, "keys": 3, "noise": "laplace", "epsilon": 1, "adjacency": ADD_OR_REMOVE_ONE}
    with pytest.raises(InvalidValue, match=message):
        BoundedContributions(**(given | wrong))


@pytest.mark.parametrize("noise", ["gaussian", "discrete-gaussian"])
def test_a_claim_of_rho_is_kept_exactly(noise: Any) -> None:
    made = BoundedContributions(dim=4, keys=2, noise=noise, rho="0.1", adjacency=REPLACE_ONE)
    assert certify(made).status is Status.CERTIFIED
    assert certify(made, "rho=0.0999999").status is Status.REFUTED
    if isinstance(made.noise, DiscreteGaussianNoise):
        assert made.noise.variance == 20  # four sums move by 1: 4/(2 * 20)
