"""The formulas are those of the text, for float64 numbers as for any other kind."""

import math
from dataclasses import dataclass

import pytest
from scipy.stats import norm

from dpverdict.numerics import gaussian_formulas


@dataclass(frozen=True)
class Plain:
    """The normal law in float64, straight from its definition."""

    def halve(self, x: float) -> float:
        return x / 2

    def tail(self, t: float) -> float:
        return float(norm.sf(t))

    def central_mass(self, half: float) -> float:
        return float(norm.cdf(half) - norm.cdf(-half))

    def tail_gap(self, epsilon: float, centre: float, half: float) -> float:
        return self.tail(centre - half) - self.tilted_tail(epsilon, centre, half)

    def tail_gap_complement(self, epsilon: float, centre: float, half: float) -> float:
        return 1 - self.tail(centre - half) + self.tilted_tail(epsilon, centre, half)

    def tilted_tail(self, epsilon: float, centre: float, half: float) -> float:
        assert epsilon == pytest.approx(2 * centre * half)
        return math.exp(epsilon) * self.tail(centre + half)

    def quantile(self, probability: float) -> float:
        return float(norm.isf(probability))


@pytest.mark.parametrize("mu", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("epsilon", [-1.0, 0.0, 0.5, 3.0])
def test_the_profile_is_that_of_balle_and_wang(mu: float, epsilon: float) -> None:
    printed = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    kind = Plain()
    assert gaussian_formulas.delta(kind, epsilon, mu) == pytest.approx(printed, abs=1e-14)
    assert gaussian_formulas.delta_complement(kind, epsilon, mu) == pytest.approx(1 - printed, abs=1e-14)
    step = 1e-5
    slope = (
        (gaussian_formulas.delta(kind, epsilon - step, mu) - gaussian_formulas.delta(kind, epsilon + step, mu))
        / step
        / 2
    )
    assert gaussian_formulas.descent(kind, epsilon, mu) == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize("mu", [0.3, 1.0, 4.0])
def test_the_trade_off_touches_the_profile(mu: float) -> None:
    """At the level of the best test between them, 1 - delta(0) is the sum of both errors."""
    kind = Plain()
    level = norm.sf(mu / 2)
    beta = gaussian_formulas.beta(kind, level, mu)
    assert beta == pytest.approx(level)
    assert 1 - beta - level == pytest.approx(gaussian_formulas.advantage(kind, mu))
    assert gaussian_formulas.power(kind, 0.2, mu) == pytest.approx(1 - gaussian_formulas.beta(kind, 0.2, mu))
