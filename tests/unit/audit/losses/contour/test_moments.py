"""The moment generating function of a composed loss: 1 at 0 and -1, even about -1/2, the same at every point."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb

from dpverdict.audit.losses.contour.moments import Kind, MomentFunction, Planner, powers, product
from dpverdict.balls import Real, ball, precision

BOTH = MomentFunction(Real.of("0.5"), [(Fraction(1, 2), 3), (Fraction(1), 1)])
GAUSSIAN = MomentFunction(Real.of("0.5"), [])


@pytest.mark.parametrize("moments", [BOTH, GAUSSIAN])
def test_total_probabilities_are_one_under_both_laws(moments: MomentFunction) -> None:
    for point in (0, -1):
        assert moments.at(ball(point)).contains(1)
    with precision(100):
        for t in ("0.3", "2"):
            assert moments.at(ball(t)).overlaps(moments.at(-1 - ball(t)))
            assert moments.logarithm_at(ball(t)).overlaps(moments.at(ball(t)).log())


def test_of_a_gaussian_it_is_the_closed_form() -> None:
    """log M(t) = v t (t + 1)/2 for squared parameter v."""
    points = np.array([-2.0, -0.5, 0.7, 3.0])
    np.testing.assert_allclose(GAUSSIAN.logarithm(points), 0.25 * points * (points + 1), rtol=1e-13)
    assert GAUSSIAN.mean().contains(Fraction(1, 4).numerator / 4.0)


def test_the_mean_is_the_divergence_of_the_parts() -> None:
    """A Laplace coordinate of shift s has s + exp(-s) - 1."""
    expected = 0.25 + 3 * (0.5 + math.exp(-0.5) - 1) + math.exp(-1)
    assert float(BOTH.mean()) == pytest.approx(expected, rel=1e-14)
    assert (BOTH.factors, BOTH.total) == (4, Fraction(5, 2))


def test_on_a_line_the_values_are_those_at_its_points() -> None:
    values = BOTH.on_line(0.5, 0.25, 4)
    for k, value in enumerate(values):
        t = acb(0.5, 0.25 * (k + 0.5))
        gaussian = (t * (t + 1) / 4).exp()
        laplace = acb(1)
        for s, count in ((0.5, 3), (1.0, 1)):
            one = (t * s).exp() * (t + 1) / (2 * t + 1) + (-(t + 1) * s).exp() * t / (2 * t + 1)
            laplace *= one**count
        assert value.overlaps(gaussian * laplace)


def test_powers_and_products_are_those_of_a_loop() -> None:
    assert [float(x.real) for x in powers(acb(2), 6)] == [1, 2, 4, 8, 16, 32]
    assert float(product([acb(k) for k in range(1, 6)]).real) == 120


@pytest.mark.parametrize("kind", list(Kind))
def test_every_kind_has_a_strip_and_a_plan_within_it(kind: Kind) -> None:
    assert kind.lowest < kind.highest
    plan = Planner(BOTH).plan(kind, np.array([1.0]), np.array([-40.0]))
    assert plan is not None
    assert kind.lowest < plan.centre < kind.highest
    assert plan.left < plan.centre < plan.right
    assert plan.cost(BOTH) > 0
    assert Planner(BOTH).log_value(kind, 1.0) <= 0
    assert isinstance(plan.step, float)
    assert arb(plan.step) > 0
