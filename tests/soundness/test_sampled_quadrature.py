"""One, two and three Poisson-sampled steps against the quadrature of the benchmark, and with planted faults.

The quadrature is of the definition, in mpmath for one and two steps and in float64 for three, where nothing cancels; it
shares no code with the engine. Its own error is the only room that is given. The full run of 10 000 parameters is
`benchmarks/sampled_quadrature.py`.
"""

import math
import runpy
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest
from flint import acb, arb

from dpverdict.audit import GaussianLoss, poisson_sampled
from dpverdict.audit.losses.domains import Direction
from dpverdict.audit.sampling import poisson
from dpverdict.audit.sampling.moments import Exponentials, GaussianMoments
from dpverdict.audit.sampling.step import SampledStep
from dpverdict.audit.sampling.two_steps import _Integral

benchmark = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "sampled_quadrature.py"))
TOLERANCE = benchmark["TOLERANCE"]
SHIFT = 1e-6

CASES = [(1.0, 0.1, "remove", 0.05), (1.0, 0.1, "add", 0.05), (3.0, 0.7, "remove", 0.1), (0.5, 0.02, "remove", 0.5)]
FAR = [
    (1.4321, 0.001184, 3, "add", 0.002969),  # 1e-9, next to the end of the loss
    (3.666, 0.007944, 3, "add", 0.00751),
    (4.034, 0.00197, 3, "add", 0.0017245),
    (2.889, 0.01, 3, "add", 0.029),
    # 1e-75, where one step has nearly all of the loss; and little noise
    pytest.param(1.923, 0.000935, 3, "remove", 2.4938, marks=pytest.mark.slow),
    pytest.param(0.12, 0.000174, 3, "remove", 0.01, marks=pytest.mark.slow),
    (13.51, 1e-6, 3, "remove", 3e-7),  # much noise and little sampling
    (2.0, 1 - 1e-6, 3, "remove", 1.0),
    (1.5, 0.99, 2, "add", 9.0),
    (6.0, 0.3, 2, "remove", 3.0),
]


def quadrature(s, q, steps, epsilon, order):
    if steps == 3:
        return mpmath.mpf(benchmark["three_steps"](s, q, epsilon, order))
    return benchmark["profile"](s, q, steps, mpmath.exp(mpmath.mpf(epsilon)), order)


def check(s, q, steps, order, epsilon):
    """The enclosure is no wider than 1e-6, and the quadrature is in it but for its own error."""
    value = getattr(poisson_sampled(GaussianLoss(1 / Fraction(s)), q, steps), order).certified_delta(epsilon)
    with mpmath.workdps(30 if steps == 1 else 18):
        truth = quadrature(s, q, steps, epsilon, order)
        room = TOLERANCE[steps] * truth + mpmath.mpf(1e-300 if steps == 3 else 1e-22)
        assert value.upper - value.lower <= 1e-6 * value.upper
        assert value.lower - room <= truth <= value.upper + room


@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("case", CASES)
def test_the_quadrature_is_in_the_enclosure(steps, case):
    check(*case[:2], steps, *case[2:])


@pytest.mark.parametrize(("s", "q", "steps", "order", "epsilon"), FAR)
def test_next_to_the_end_of_the_loss_and_far_in_its_tail_too(s, q, steps, order, epsilon):
    check(s, q, steps, order, epsilon)


def test_what_is_below_every_float_is_shown_to_be():
    value = poisson_sampled(GaussianLoss("0.19"), "0.2058", 3).add.certified_delta(
        3 * -math.log1p(-0.2058) * (1 - 1e-6)
    )
    assert 0 <= value.lower <= value.upper < 1e-300


def rate_of_the_others(monkeypatch):
    """1 - q for q."""
    right = poisson._steps
    monkeypatch.setattr(poisson, "_steps", lambda pair, q, steps, order: right(pair, 1 - q, steps, order))


def other_order(monkeypatch):
    """Add for remove."""
    right, other = poisson._steps, {Direction.ADD: Direction.REMOVE, Direction.REMOVE: Direction.ADD}
    monkeypatch.setattr(poisson, "_steps", lambda pair, q, steps, order: right(pair, q, steps, other[order]))


def shifted(monkeypatch):
    """The place z at which the likelihood ratio is taken, wrong by a millionth, in every way to the profile."""
    place, exponentials = SampledStep._place, GaussianMoments.exponentials
    growth, where = _Integral._growth, _Integral._where

    def wrong_exponentials(self, exponent, bits, steps):
        series = exponentials(self, exponent, bits, steps)
        factor = (self._mu.ball() * arb(SHIFT)).exp()
        moved = [((l.exp() - 1) * factor + 1).log() for l in series.exponents]
        coefficients = [
            size * (exponent * (new - old)).exp()
            for size, new, old in zip(series.coefficients, moved, series.exponents, strict=True)
        ]
        return Exponentials(moved, coefficients, series.error, series.largest)

    monkeypatch.setattr(SampledStep, "_place", lambda self, level: lambda: place(self, level)() + arb(SHIFT))
    monkeypatch.setattr(_Integral, "_growth", lambda self, z: growth(self, z + acb(SHIFT)))
    monkeypatch.setattr(_Integral, "_where", lambda self, level: where(self, level) - arb(SHIFT))
    monkeypatch.setattr(GaussianMoments, "exponentials", wrong_exponentials)


@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("case", CASES[:2])
@pytest.mark.parametrize("fault", [rate_of_the_others, other_order, shifted])
def test_a_planted_fault_of_the_transform_is_found(fault, case, steps, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check(*case[:2], steps, *case[2:])
