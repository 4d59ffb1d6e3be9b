"""The loss of bounded range: its closed forms against the supremum over two-point pairs, and against quadrature."""

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.composition import compose_counted
from dpverdict.audit.losses.finite.bounded_range import BoundedRangeLoss, RangeMoments, bounded_range
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.balls import precision
from dpverdict.errors import InvalidValue

F = Fraction
LEVELS = ("-0.9", "-0.3", "0", "0.25", "0.9")


def test_the_profile_is_the_largest_of_all_two_point_pairs() -> None:
    envelope = bounded_range(1)
    for level in LEVELS:
        attained = bounded_range(1, t=(1 + F(level)) / 2)
        assert isinstance(attained, FiniteLoss)
        assert attained.certified_delta(level).upper >= envelope.certified_delta(level).lower
        for t in range(1, 40):
            assert bounded_range(1, t=F(t, 40)).certified_delta(level).lower <= envelope.certified_delta(level).upper


@pytest.mark.parametrize("size", ["0.01", "1", "30"])
def test_the_tails_make_the_profile(size: str) -> None:
    loss = BoundedRangeLoss(size)
    levels = np.linspace(-1.2, 1.2, 101) * float(size)
    tails = loss.tails(levels)
    np.testing.assert_allclose(tails.p_above + tails.p_below, 1, rtol=1e-13)
    np.testing.assert_allclose(tails.q_above + tails.q_below, 1, rtol=1e-13)
    for i, level in enumerate(levels.tolist()):
        for value, truth in zip((tails.p_above[i], tails.q_above[i]), loss.certified_tails(level), strict=True):
            assert truth.lower * (1 - tails.relative_error) - 1e-300 <= value
            assert value <= truth.upper * (1 + tails.relative_error) + 1e-300


def density(loss: mpmath.mpf, size: int) -> Any:
    return mpmath.exp((loss - size) / 2) / 2 / -mpmath.expm1(-size)


@pytest.mark.parametrize("order", ["0.5", "0.8", "1", "1.5", "4"])
def test_divergences_are_integrals(order: str) -> None:
    a = mpmath.mpf(order)
    with mpmath.workdps(30):
        if a == 1:
            truth = mpmath.quad(lambda l: l * density(l, 2), [-2, 2])
        else:
            truth = mpmath.log(mpmath.quad(lambda l: mpmath.exp((a - 1) * l) * density(l, 2), [-2, 2])) / (a - 1)
    assert abs(float(truth) - BoundedRangeLoss(2).renyi(order)) < 1e-14


def test_rho_is_the_divergence_of_order_one() -> None:
    loss = BoundedRangeLoss(3)
    for order in ("1.001", "1.1", "2", "10"):
        assert loss.renyi(order) / float(order) <= loss.least_rho().upper


def test_beta_and_epsilon_invert_the_profile() -> None:
    loss = BoundedRangeLoss("1.5")
    for level in ("0.1", "0.7", "1.4"):
        delta = loss.delta(level)
        assert loss.epsilon(delta) == pytest.approx(float(level), rel=1e-12)
        points = np.linspace(0, 1, 2001)
        lines = 1 - np.exp(float(level)) * points - np.asarray(loss.beta(points))
        assert lines.max() == pytest.approx(delta, abs=1e-6)
        assert (lines <= delta + 1e-15).all()
    assert loss.epsilon(1) == loss.epsilon("0.9") == 0
    assert (loss.epsilon(0), loss.largest_loss, loss.range) == (1.5, F(3, 2), F(3, 2))
    assert loss.log_delta("-1.4999999") == pytest.approx(float(mpmath.log1p(-mpmath.exp(-1.4999999))), rel=1e-6)
    assert repr(loss) == "BoundedRangeLoss('1.5')"


@pytest.mark.parametrize(("epsilon", "t"), [(0, None), (-1, None), (1, 0), (1, 1), (1, "1.5")])
def test_a_number_out_of_range_is_refused(epsilon: Any, t: Any) -> None:
    with pytest.raises(InvalidValue):
        bounded_range(epsilon, t=t)


def test_a_planted_error_in_the_profile_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    original = BoundedRangeLoss.profile
    monkeypatch.setattr(BoundedRangeLoss, "profile", lambda self, at, bits: original(self, at, bits) * (1 - 1e-6))
    with pytest.raises(AssertionError):
        test_the_profile_is_the_largest_of_all_two_point_pairs()


# moments --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("e", [F(1, 7), F(1), F(6)])
def test_moments_are_integrals_of_the_density_and_beyond_is_above_them(e: F) -> None:
    moments = RangeMoments(e)
    centre, step, number = 1.25, 0.75, 40
    with precision(128):
        line, top = moments.on_line(centre, step, number), moments.beyond(arb(centre), arb(step * 20))
        exact = moments.at(arb(centre))

    def by_hand(t: complex) -> complex:
        width = mpmath.mpf(e.numerator) / e.denominator
        density = lambda l: mpmath.exp((l - width) / 2) / (2 * (1 - mpmath.exp(-width)))  # noqa: E731
        return complex(mpmath.quad(lambda l: density(l) * mpmath.exp(t * l), mpmath.linspace(-width, width, 60)))

    assert float(exact) == pytest.approx(by_hand(centre).real, rel=1e-12)
    assert moments.estimates(np.array([centre]))[0] == pytest.approx(math.log(float(exact)), abs=1e-9)
    for k in (0, 7, 39):
        t = complex(centre, step * (k + 0.5))
        assert complex(line[k]) == pytest.approx(by_hand(t), rel=1e-9, abs=1e-12)
    assert all(abs(complex(value)) <= float(top.upper()) for value in line[20:])


def test_a_composition_with_noise_is_that_of_a_quadrature() -> None:
    found = compose_counted([(BoundedRangeLoss(1), 2), (GaussianLoss("0.5"), 1)])
    for level, exact in (("0.7", 0.173984647815566601), ("2", 0.0102072430330641669)):  # by mpmath, in two integrals
        enclosed = found.certified_delta(level)
        assert enclosed.lower == pytest.approx(exact, rel=1e-15)
        assert enclosed.upper == pytest.approx(exact, rel=1e-15)
