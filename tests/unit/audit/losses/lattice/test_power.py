"""Powers of laws on a lattice: the tilted one is the convolution, and the strict one is certified."""

from fractions import Fraction

import numpy as np
import pytest

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.lattice.discretise import lattice_pair
from dpverdict.audit.losses.lattice.law import LatticeLaw, Side
from dpverdict.audit.losses.lattice.power import (
    Steering,
    TiltedLaws,
    certified_delta,
    index_offset,
    profile_ball,
    tilted_power,
    upper_sums,
)
from dpverdict.balls import exactly
from dpverdict.errors import InvalidValue

LAW = LatticeLaw(
    interval=Fraction(1, 4), lowest=-2, masses=np.array([0.1, 0.2, 0.3, 0.4]), infinity_mass=0.0, side=Side.PESSIMISTIC
)


def convolved(times: int) -> np.ndarray:
    power = np.ones(1)
    for _ in range(times):
        power = np.convolve(power, LAW.masses)
    return power


def test_the_window_holds_a_law_with_a_far_tail() -> None:
    """A law with nearly all mass at 0, and some a thousand spreads away: small tilts show what is outside."""
    masses = np.zeros(200_001)
    masses[0], masses[1:] = 1 - 1e-3, 1e-3 * np.diff(-np.exp(-np.arange(200_001) / 5000.0))
    law = LatticeLaw(interval=Fraction(1, 1024), lowest=0, masses=masses, infinity_mass=0.0, side=Side.PESSIMISTIC)
    parts = [(law, 20)]
    found = tilted_power(parts, Steering(parts), 0.0)
    assert found.outside < 1e-15


@pytest.mark.parametrize("step", [0.0, 0.3])
def test_the_tilted_power_is_the_tilted_convolution(step: float) -> None:
    parts = [(LAW, 5)]
    law = tilted_power(parts, Steering(parts), step)
    plain = convolved(5)
    indices = np.arange(5 * LAW.lowest, 5 * LAW.lowest + plain.size)
    weights = plain * np.exp(step * indices)
    expected = dict(zip(indices.tolist(), (weights / weights.sum()).tolist(), strict=True))
    assert law.log_moment == pytest.approx(np.log(weights.sum()), abs=1e-12)
    for i, mass in enumerate(law.masses.tolist()):
        assert mass == pytest.approx(expected.get(law.first + i, 0.0), abs=law.transform_error + 1e-15)
    assert law.transform_error < 1e-13


def test_little_is_outside_of_the_window_of_a_law_with_a_heavy_tail() -> None:
    """A geometric tail of ratio 0.95: the tilt that is best for a normal law is beyond what its moments bear."""
    masses = 0.001 * 0.95 ** np.arange(1500.0)
    masses[0] = 1.0 - masses[1:].sum()
    law = LatticeLaw(interval=Fraction(1, 400), lowest=-1, masses=masses, infinity_mass=0.0, side=Side.PESSIMISTIC)
    found = tilted_power([(law, 1000)], Steering([(law, 1000)]), 0.0)
    assert found.outside < 1e-15
    assert found.masses.size < 20_000


def test_steering_knows_the_moments_and_finds_the_tilt() -> None:
    steering = Steering([(LAW, 10)])
    mean, variance = steering.moments(0.0)
    own = LAW.indices @ LAW.masses
    assert mean == pytest.approx(10 * own)
    assert variance == pytest.approx(10 * ((LAW.indices - own) ** 2 @ LAW.masses))
    step = steering.step_for(mean + 4)
    assert step > 0
    assert steering.moments(step)[0] == pytest.approx(mean + 4, abs=0.1)
    assert steering.step_for(mean - 100) == 0.0


def test_laws_near_an_epsilon_are_kept() -> None:
    laws = TiltedLaws([(LAW, 50)])
    first = laws.near(Fraction(3))
    assert laws.near(Fraction(3)) is first
    assert first.mean * float(LAW.interval) == pytest.approx(3, abs=1)


def test_sums_from_above_are_cumulative_beyond_the_window_too() -> None:
    parts = [(LAW, 2)]
    law = tilted_power(parts, Steering(parts), 0.0)
    sums, error = upper_sums(law, law.first - 3, law.first + law.masses.size + 3)
    assert sums[0] == pytest.approx(1.0, abs=error + 1e-12)
    assert sums[-1] == pytest.approx(0.0, abs=error)
    assert (np.diff(sums) <= error).all()


def test_an_offset_is_rounded_once() -> None:
    assert index_offset(3, Fraction(1, 3), Fraction(1)) == 0.0
    assert index_offset(1, Fraction(1, 3), Fraction(0)) == float(Fraction(1, 3))


def test_the_profile_of_two_exact_laws_is_that_of_their_convolution() -> None:
    """delta(eps) is the sum of mass (1 - exp(eps - loss)), here with an infinite loss as well."""
    cut = LatticeLaw(
        interval=Fraction(1, 4), lowest=1, masses=np.array([0.5, 0.25]), infinity_mass=0.25, side=Side.PESSIMISTIC
    )
    found = profile_ball([(cut, 2)], Fraction(1, 8))
    losses = {0.5: 0.25, 0.75: 0.25, 1.0: 0.0625}
    expected = 1 - 0.75**2 + sum(mass * (1 - np.exp(0.125 - loss)) for loss, mass in losses.items())
    assert float(found) == pytest.approx(expected, rel=1e-14)
    assert found.rel_accuracy_bits() >= 60


def test_the_strict_route_encloses_four_gaussians() -> None:
    pair = lattice_pair(GaussianLoss("0.5").tails, 2.0**-6)
    found, truth = certified_delta([(pair, 4)], "0.3"), GaussianLoss(1).certified_delta("0.3")
    assert found.lower < truth.lower < truth.upper < found.upper
    assert not found.contains(exactly(GaussianLoss("1.05").delta(0.3)))
    with pytest.raises(InvalidValue):
        certified_delta([], 1)
