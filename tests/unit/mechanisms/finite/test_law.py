"""The exact laws of noisy maxima and of answers above a threshold: against quadrature, and adding up to 1 exactly."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from dpverdict.audit.laws.base import Law
from dpverdict.audit.laws.exponential import Exponential
from dpverdict.audit.laws.gaussian import Gaussian
from dpverdict.audit.laws.laplace import Laplace
from dpverdict.balls import refine
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.finite.law import (
    NoNoise,
    PiecewiseLaw,
    ScaledNoise,
    noisy_max_law,
    threshold_law,
)
from dpverdict.numerics.exponential_sums import ExponentialSum, total

F = Fraction
ONE = ExponentialSum.of(1)


def value(weight: ExponentialSum) -> float:
    return float(refine(weight.ball, bits=60)) if weight.terms else 0.0


def laplace(rate: float) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    return (
        lambda z: rate / 2 * mpmath.exp(-rate * abs(z)),
        lambda z: mpmath.exp(rate * z) / 2 if z < 0 else 1 - mpmath.exp(-rate * z) / 2,
    )


def exponential(rate: float) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    return (
        lambda z: rate * mpmath.exp(-rate * z) if z > 0 else mpmath.mpf(0),
        lambda z: -mpmath.expm1(-rate * z) if z > 0 else mpmath.mpf(0),
    )


def by_quadrature(density: Any, distribution: Any, scores: list[float], i: int) -> Any:
    def integrand(x: Any) -> Any:
        product = density(x - scores[i])
        for j, score in enumerate(scores):
            product *= distribution(x - score) if j != i else 1
        return product

    return mpmath.quad(integrand, [-80, *sorted(set(scores)), 80])


@pytest.mark.parametrize(("noise", "floats"), [(Laplace(), laplace), (Exponential(), exponential)])
def test_the_law_of_the_noisy_maximum_is_its_integral(noise: Law, floats: Any) -> None:
    for scores in ([0.0, 0.0], [0.0, 1.0, 2.5], [0.5, 0.5, 0.0, -1.0]):
        law = noisy_max_law(ScaledNoise(noise, F(3, 4)), [F(score) for score in scores])
        assert total(law) == ONE
        for i in range(len(scores)):
            assert value(law[i]) == pytest.approx(float(by_quadrature(*floats(0.75), scores, i)), abs=1e-12)


def test_exponential_noise_selects_as_permute_and_flip() -> None:
    """P(r) = p_r times the integral over [0, 1] of prod (1 - p_j x), j != r (McKenna and Sheldon 2020)."""
    scores = [F(0), F(1), F(3), F(5, 2)]
    accepted = np.exp(0.5 * (np.array([float(score) for score in scores]) - 3))
    nodes, weights = np.polynomial.legendre.leggauss(8)
    x = (nodes + 1) / 2
    for r, found in enumerate(noisy_max_law(ScaledNoise(Exponential(), F(1, 2)), scores)):
        others = np.prod([1 - accepted[j] * x for j in range(4) if j != r], axis=0)
        assert value(found) == pytest.approx(float(accepted[r] * (weights / 2) @ others), rel=1e-14)


@pytest.mark.parametrize("positives", [1, 2, 3])
@pytest.mark.parametrize("query_noise", [ScaledNoise(Laplace(), F(1, 4)), NoNoise()], ids=["noise", "none"])
def test_the_law_of_a_threshold_adds_up_to_one_and_is_what_is_sampled(
    positives: int, query_noise: PiecewiseLaw, seed: int
) -> None:
    gaps = [F(0), F(1), F(-1, 2)]
    law = threshold_law(ScaledNoise(Laplace(), F(1, 2)), query_noise, gaps, positives)
    assert total(list(law.values())) == ONE
    rng = np.random.default_rng(seed)
    n = 40_000
    noise = rng.laplace(scale=4, size=(n, 3)) if isinstance(query_noise, ScaledNoise) else np.zeros((n, 3))
    above = noise + np.array([float(gap) for gap in gaps]) >= rng.laplace(scale=2, size=(n, 1))
    seen: dict[tuple[int, ...], int] = {}
    for row in above.astype(int).tolist():
        answers: list[int] = []
        for answer in row:
            answers.append(answer)
            if sum(answers) == positives:
                break
        seen[tuple(answers)] = seen.get(tuple(answers), 0) + 1
    assert set(seen) <= set(law)
    for answers, weight in law.items():
        chance = value(weight)
        slack = 6 * np.sqrt(chance * (1 - chance) / n) + 36 / n  # two-sided probability 2e-9, for 8 sequences
        assert abs(seen.get(answers, 0) / n - chance) <= slack


def test_what_has_too_many_terms_is_refused() -> None:
    with pytest.raises(InvalidValue, match="terms"):
        noisy_max_law(ScaledNoise(Laplace(), F(1)), [F(i) for i in range(20)])
    with pytest.raises(InvalidValue, match="sequences"):
        threshold_law(ScaledNoise(Laplace(), F(1)), ScaledNoise(Laplace(), F(1)), [F(0)] * 20, 20)
    with pytest.raises(InvalidValue, match="sum of exponentials"):
        noisy_max_law(ScaledNoise(Gaussian(), F(1)), [F(0), F(1)])
    with pytest.raises(InvalidValue, match="density"):
        NoNoise().density(F(0), above=True)
