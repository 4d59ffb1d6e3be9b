"""Contours in float64: within the error they promise, and trade-off bounds on both sides."""

from fractions import Fraction

import numpy as np
import pytest

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.contour.floats import GAP, TradeOffKnots, curve
from dpverdict.audit.losses.contour.integral import DELTA, ContourEngine
from dpverdict.audit.losses.contour.moments import MomentFunction
from dpverdict.balls import Real

ENGINE = ContourEngine(MomentFunction(Real.of(1), []))
GAUSSIAN = GaussianLoss(1)


def test_every_value_is_within_the_relative_error() -> None:
    points = np.linspace(-1, 8, 37).reshape(37, 1)
    found = curve(ENGINE, DELTA, points, 1e-11)
    assert found.shape == points.shape
    np.testing.assert_allclose(found, GAUSSIAN.delta(points), rtol=1.1e-11)


def test_what_is_below_every_float_is_next_to_nothing() -> None:
    assert curve(ENGINE, DELTA, np.array([60.0]), 1e-11)[0] < 1e-300


@pytest.fixture(scope="module")
def knots() -> TradeOffKnots:
    return TradeOffKnots(ENGINE)


def test_the_trade_off_function_is_between_its_bounds(knots: TradeOffKnots) -> None:
    alphas = np.array([0.0, 1e-6, 0.1, 0.5, 0.9, 1.0])
    lower, upper = knots.bounds(alphas)
    truth = GAUSSIAN.certified_beta(alphas)
    assert (lower <= truth.upper).all()
    assert (truth.lower <= upper).all()
    assert (upper - lower <= 1.1 * knots.gap).all()
    assert knots.gap <= 1.1 * GAP


def test_the_guess_of_a_level_is_about_right(knots: TradeOffKnots) -> None:
    low, high = knots.epsilons(0.1)
    levels = [float(ENGINE.q_tail(Fraction(end), 40)) for end in (low, high)]
    assert levels[1] == pytest.approx(0.1, abs=0.01)
    assert levels[0] == pytest.approx(0.1, abs=0.01)
    assert low <= high
