"""Curves by contour integration: those of a Gaussian are met to the bits asked for, near zero and far out."""

from fractions import Fraction

import pytest

from dpverdict.audit.losses.contour.integral import Contour, ContourEngine, admissible, nearest
from dpverdict.audit.losses.contour.moments import Kind, MomentFunction, Planner
from dpverdict.balls import Real, ball, precision
from dpverdict.errors import PrecisionExhausted
from dpverdict.numerics.gaussian import delta_ball

MOMENTS = MomentFunction(Real.of(1), [])
ENGINE = ContourEngine(MOMENTS)


@pytest.mark.parametrize("epsilon", ["-1", "0", "1", "5"])
@pytest.mark.parametrize("bits", [20, 90])
def test_the_profile_of_a_gaussian_is_met(epsilon: str, bits: int) -> None:
    found = ENGINE.delta(Fraction(epsilon), bits)
    assert found.rel_accuracy_bits() >= bits
    with precision(200):
        assert found.overlaps(delta_ball(Real.of(epsilon), Real.of(1)))
        assert (found + ENGINE.delta_complement(Fraction(epsilon), bits)).contains(1)
        assert not found.overlaps(delta_ball(Real.of(epsilon), Real.of("1.001")))


def test_many_epsilons_share_contours_and_agree_with_single_ones() -> None:
    epsilons = [Fraction(k, 10) for k in range(8)]
    with precision(100):
        for epsilon, found in zip(epsilons, ENGINE.deltas(epsilons, 40), strict=True):
            assert found.overlaps(ENGINE.delta(epsilon, 40))


def test_the_tail_under_q_is_the_normal_tail() -> None:
    """L is N(-1/2, 1) under Q."""
    with precision(100):
        normal = (ball("1.5") / ball(2).sqrt()).erfc() / 2
        assert ENGINE.q_tail(Fraction(1), 60).overlaps(normal)


def test_a_contour_knows_its_error_and_for_which_kinds_it_serves() -> None:
    import numpy as np

    plan = Planner(MOMENTS).plan(Kind.PROFILE, np.array([1.0]), np.array([-30.0]))
    assert plan is not None
    assert admissible(Kind.PROFILE, plan)
    contour = Contour(MOMENTS, plan)
    found = contour.value(Kind.PROFILE, 1)
    assert contour.error(Kind.PROFILE, ball(1)) < 1e-10
    assert found.rad() < 1e-10
    assert len(contour.transform(Kind.PROFILE)) == plan.number
    assert not all(admissible(kind, plan) for kind in Kind)


def test_what_would_cost_too_much_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpverdict.audit.losses.contour.integral.MAX_COST", 1.0)
    with pytest.raises(PrecisionExhausted):
        ContourEngine(MOMENTS).delta(Fraction(1), 60)
    assert nearest(Fraction(10) ** 400) == float("inf")
    assert nearest(-(Fraction(10) ** 400)) == float("-inf")
