"""Random allocation: quadrature for few steps, a simulation, limits, and what is refused."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import acb, arb

from dpverdict.audit.losses.bounded import BoundedLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.domains import Direction
from dpverdict.audit.sampling.allocation import AllocationLoss, random_allocation
from dpverdict.balls import precision
from dpverdict.errors import InvalidValue, PrecisionExhausted


def test_the_moment_is_that_of_its_definition():
    loss = AllocationLoss(Fraction("0.7"), 10, Direction.REMOVE)
    with mpmath.workdps(25), precision(120):
        for w in (complex(0.5, 0), complex(0.3, 2), complex(0.2, -1.5)):
            value = loss.moment(acb(w.real, w.imag), 90)
            s = mpmath.mpf("0.7")

            def integrand(z, w=w, s=s):
                return mpmath.npdf(z) * mpmath.exp(-w * mpmath.exp(z / s - 1 / (2 * s * s)))

            fine = mpmath.mpf(1) / 200  # a plain Riemann sum, with no shift of the line
            truth = fine * mpmath.fsum(integrand(fine * j) for j in range(-12 * 200, 5 * 200))
            assert abs(arb(mpmath.nstr(truth.real, 22)) - value.real.mid()) < 1e-18
            assert abs(arb(mpmath.nstr(truth.imag, 22)) - value.imag.mid()) < 1e-18
            assert value.real.rad() < 1e-25


def test_the_profile_is_that_of_a_simulation_within_its_errors():
    """10^6 draws of the likelihood ratio, seed 20: five standard errors, 6e-7 of chance."""
    both = random_allocation(noise_multiplier=1, steps=10)
    z = np.random.default_rng(20).standard_normal((1_000_000, 10))
    ratio = np.exp(z - 0.5).mean(axis=1)
    for loss, gains in (
        (both.remove, np.maximum(ratio - math.exp(0.25), 0)),
        (both.add, np.maximum(1 - math.exp(0.25) * ratio, 0)),
    ):
        assert abs(gains.mean() - loss.delta("0.25")) < 5 * gains.std() / 1000


def test_one_step_is_the_gaussian_mechanism():
    assert random_allocation(noise_multiplier=2, steps=1).delta(1) == GaussianLoss("0.5").delta(1)


def test_both_orders_reflect_each_other():
    both = random_allocation(noise_multiplier=1, steps=20)
    reflected = -math.expm1(-0.3) + math.exp(-0.3) * both.add.delta("0.3")
    assert both.remove.delta("-0.3") == pytest.approx(reflected, rel=1e-13)
    assert both.remove.reversed().delta("0.3") == both.add.delta("0.3")


def test_several_epochs_of_one_step_are_the_gaussian_mechanism():
    assert random_allocation(noise_multiplier=2, steps=1, epochs=4).delta(1) == GaussianLoss(1).delta(1)


def test_several_epochs_bracket_a_simulation_and_keep_the_orders_apart():
    """10^5 draws of two epochs of two steps, seed 21: five standard errors, 6e-7 of chance each."""
    given = random_allocation(noise_multiplier=1, steps=2, epochs=2)
    assert [str(one.factors) for one in (given.remove, given.add)] == [
        f"((AllocationLoss('1', 2, {order}), 2),)" for order in (Direction.REMOVE, Direction.ADD)
    ]
    z = np.random.default_rng(21).standard_normal((100_000, 2, 2))
    ratio = np.exp(z - 0.5).mean(axis=2).prod(axis=1)
    bounds = {}
    for name, gains in (
        ("remove", np.maximum(ratio - math.exp(0.5), 0)),
        ("add", np.maximum(1 - math.exp(0.5) * ratio, 0)),
    ):
        lower, upper = bounds[name] = BoundedLoss(getattr(given, name).factors, 2.0**-5).delta_bounds(np.array(0.5))
        assert 0 < upper - lower < 1e-2 * upper
        error = 5 * gains.std() / math.sqrt(100_000)
        assert lower - error < gains.mean() < upper + error
    assert bounds["add"][1] < bounds["remove"][0]


@pytest.mark.slow
def test_epsilon_inverts_the_profile():
    loss = random_allocation(noise_multiplier=2, steps=50).remove
    level = loss.certified_epsilon("1e-2")
    assert loss.certified_delta(level.upper).lower <= 1e-2 <= loss.certified_delta(level.lower).upper


def test_an_alias_that_is_not_charged_is_found(monkeypatch):
    loss = AllocationLoss(Fraction(1), 10, Direction.ADD)
    right = loss.profile(Fraction(1, 4), 56)
    monkeypatch.setattr(AllocationLoss, "_beyond", lambda *_: arb(0))
    monkeypatch.setattr(AllocationLoss, "_height", lambda *_: 2.0)
    assert not loss.profile(Fraction(1, 4), 56).overlaps(right)


def test_what_is_out_of_reach_or_not_proved_is_refused():
    with pytest.raises(InvalidValue, match="epochs"):
        random_allocation(noise_multiplier=1, steps=10, epochs=0)
    with pytest.raises(PrecisionExhausted, match="delta_bounds"):
        AllocationLoss(Fraction("0.4"), 2, Direction.REMOVE).certified_delta(1)
    few = random_allocation(noise_multiplier="0.4", steps=2)
    assert not few.is_certified
    with pytest.raises(InvalidValue, match="delta_bounds"):
        few.certified_delta(1)
    with pytest.raises(InvalidValue, match="steps"):
        random_allocation(noise_multiplier=1, steps=0)


@pytest.mark.parametrize("epsilon", [601, 700, 10**5])
@pytest.mark.parametrize("noise", ["1", "0.03"])  # at 0.03 the loss of one step is 555 in the mean
def test_far_from_zero_the_profile_is_between_what_it_is_at_least_and_at_most(noise: str, epsilon: int) -> None:
    remove = AllocationLoss(Fraction(noise), 2, Direction.REMOVE)
    exponent = 1 / float(Fraction(noise)) ** 2 - epsilon  # E_Q (L - c)_+ <= E_Q L^2/(4 c)
    for loss in (remove, remove.reversed()):
        far, near = loss.certified_delta(epsilon), loss.certified_delta(-epsilon)
        assert 0 <= far.lower <= far.upper <= min(1.0, math.exp(min(exponent, 600.0)) / 4 * (1 + 1e-8) + 5e-324)
        assert 1 - 2**-52 <= near.lower <= 1 == near.upper
    # L is at least half the likelihood ratio of the first step
    least = float(GaussianLoss(1 / Fraction(noise)).delta(epsilon + math.log(2))) / 2
    assert remove.certified_delta(epsilon).upper >= least
