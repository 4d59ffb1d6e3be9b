"""Random allocation: quadrature for few steps, a simulation, limits, and what is refused."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb

from dpverdict.audit.losses.bounded import BoundedLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.domains import Direction
from dpverdict.audit.sampling import allocation_line
from dpverdict.audit.sampling.allocation import AllocationLoss, random_allocation
from dpverdict.audit.sampling.allocation_line import AllocationMoments
from dpverdict.balls import precision
from dpverdict.errors import InvalidValue


def test_the_moments_are_those_of_their_definition():
    """E R^-b of two steps: R = exp(m/s - 1/(2 s^2)) cosh(d/s) with m and d normal of variance 1/2."""
    moments = AllocationMoments(Fraction("0.7"), 2)
    with mpmath.workdps(25), precision(140):
        s = mpmath.mpf("0.7")
        for c, y in ((0.5, 0), (1.5, 2), (6.0, 9)):
            b, fine = mpmath.mpc(c, y), mpmath.mpf(1) / 40
            total = fine * mpmath.fsum(
                mpmath.cosh(j * fine / s) ** -b * mpmath.exp(-((j * fine) ** 2)) for j in range(-400, 401)
            )
            truth = mpmath.exp(b / (2 * s * s) + b * b / (4 * s * s)) * total / mpmath.sqrt(mpmath.pi)
            value = moments.line(c, [arb(y)], 80)[0]
            for own, part in ((value.real, truth.real), (value.imag, truth.imag)):
                assert abs(arb(mpmath.nstr(part, 22)) - own.mid()) < 1e-17 * abs(truth) + 1e-20
                assert own.rad() < 1e-20 * float(abs(moments.line(c, [arb(0)], 60)[0].real))


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


def test_few_steps_with_little_noise_are_certified():
    few = random_allocation(noise_multiplier="0.4", steps=2)
    assert few.is_certified
    found = few.certified_delta(1)
    assert found.contains("0.58071459339215364")
    assert found.upper - found.lower < 1e-15


def test_divergences_are_those_of_the_moments():
    both = random_allocation(noise_multiplier=1, steps=10, epochs=3)
    assert both.remove.certified_renyi(2).contains(3 * math.log(1 + (math.e - 1) / 10))
    assert both.add.certified_renyi("1.5").lower > 0
    for order in ("0.5", "63.5", 65):
        with pytest.raises(InvalidValue, match="order"):
            both.remove.certified_renyi(order)


@pytest.mark.parametrize("order", [1.25, 1.5, 2.5, 3.75, 17.5])
def test_divergences_between_whole_orders_are_between_chords(order: float) -> None:
    """Two steps, by quadrature as of the moments above; the chord on the other side would not hold it."""
    remove = random_allocation(noise_multiplier=1, steps=2, epochs=3).remove
    with mpmath.workdps(25):
        fine, b = mpmath.mpf(1) / 40, mpmath.mpf(order)
        total = fine * mpmath.fsum(
            mpmath.cosh(j * fine) ** b * mpmath.exp(-((j * fine) ** 2)) for j in range(-1600, 1601)
        )
        truth = float(3 * (-b / 2 + b * b / 4 + mpmath.log(total / mpmath.sqrt(mpmath.pi))) / (b - 1))
    found = remove.certified_renyi(order)
    assert found.lower < truth < found.upper < 2 * truth
    assert order < 2 or found.lower > truth / 2


def test_what_is_out_of_range_is_refused():
    with pytest.raises(InvalidValue, match="epochs"):
        random_allocation(noise_multiplier=1, steps=10, epochs=0)
    with pytest.raises(InvalidValue, match="steps"):
        random_allocation(noise_multiplier=1, steps=0)
    with pytest.raises(InvalidValue, match="epochs"):
        random_allocation(noise_multiplier=1, steps=10, epochs=2).remove.to_pld(0.01)


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


@pytest.mark.parametrize(("spacing", "stride"), [(1, 1), (3, 1), (1, 4)])
def test_sums_of_one_remainder_are_those_of_all(spacing: int, stride: int) -> None:
    rng = np.random.default_rng(3)
    kernel, number = rng.integers(-9, 10, 7).tolist(), 11
    kernel[0] = kernel[-1] = 0  # ends that round to nothing
    values = rng.integers(0, 10, 6 * spacing + (number - 1) * stride + 1).tolist()
    truth = [sum(kernel[6 - p] * values[i * stride + p * spacing] for p in range(7)) for i in range(number)]
    found = allocation_line._convolved(kernel, values, spacing, range(0, number * stride, stride))
    assert [int(value) for value in found] == truth


def test_what_whole_numbers_lose_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = AllocationMoments(Fraction(1), 10)
    truth = moments.line(2.0, [arb(1)], 60)[0]
    monkeypatch.setattr(allocation_line, "_GUARD", -100)
    coarse = moments.line(2.0, [arb(1)], 60)[0]
    assert coarse.real.overlaps(truth.real)
    assert coarse.real.rad() > 1e6 * truth.real.rad()

    def unsaid(self: object, value: arb) -> int:
        mantissa, exponent = (int(part) for part in value.mid().man_exp())
        shift = exponent + self.bits  # type: ignore[attr-defined]
        return mantissa << shift if shift >= 0 else mantissa >> -shift

    monkeypatch.setattr(allocation_line._Whole, "add", unsaid)
    unit = arb(0)
    monkeypatch.setattr(allocation_line._Whole, "off", property(lambda self: unit, lambda self, value: None))
    assert not moments.line(2.0, [arb(1)], 60)[0].real.overlaps(truth.real)


def test_epochs_with_little_noise_have_an_epsilon() -> None:
    """Where the order remove is exp(42) times what is integrated."""
    loss = random_allocation(noise_multiplier="0.5", steps=100, epochs=100)
    found = loss.certified_epsilon("1e-5")
    assert found.upper - found.lower < 1e-14
    assert loss.certified_delta("42.05").upper > 1e-5
    assert loss.certified_delta("42.0501").lower < 1e-5


def test_far_in_the_tail_of_many_epochs_the_profile_has_all_its_figures() -> None:
    """sigma 5: about Gaussian noise with mu^2 = 10 (exp(1/25) - 1)/100, of which the tail is smaller."""
    found = random_allocation(noise_multiplier=5, steps=100, epochs=10).remove.certified_delta(1)
    assert 1e-58 < found.lower <= found.upper < found.lower * (1 + 1e-12)
