"""The optimum for counting queries of bounded density: private on every layer, and equal to its lower bound."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy
from flint import arb
from scipy import optimize

from dpverdict.balls import Real, ball, compare
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.queries.count_ellipse import (
    CertificateFails,
    ellipse_optimum,
    largest_optimal_k,
    least_ellipse_variance,
    pair_root,
)
from dpverdict.numerics.exact import Surd


def informative(d: int) -> list[int]:
    """The bounds k at which something may change."""
    khat = largest_optimal_k(d)
    return sorted({k for k in (1, 2, d // 3, d // 2, d // 2 + 1, khat - 1, khat, khat + 1, d) if 1 <= k <= d})


# primal and dual ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", range(1, 41))
def test_every_layer_is_private_and_the_active_ones_attain_mu(d: int) -> None:
    for k in range(1, d + 1):
        best = ellipse_optimum(d, k)
        values = [best.at_layer(j) for j in range(k + 1)]
        assert max(values) == 1
        assert [j for j in range(k + 1) if values[j] == 1] == list(best.active_layers)


def lower_bound_squared_gap(d: int, law: list[tuple[int, Fraction]], variance: Surd) -> Surd:
    """(d OPT - A - B)^2 - 4 A B, written again from the two moments: 0 iff OPT is (sqrt A + sqrt B)^2/d."""
    m1 = sum((p * j for j, p in law), Fraction(0))
    m2 = sum((p * j * j for j, p in law), Fraction(0))
    a, b = m2 / d, Fraction(d - 1) * (m1 - m2 / d)
    cross = d * variance - (a + b)
    assert cross >= 0
    return cross * cross - 4 * a * b


def check_duality(d: int, k: int) -> None:
    best = ellipse_optimum(d, k)
    law = list(zip(best.active_layers, best.weights, strict=True))
    assert sum(best.weights) == 1
    assert all(0 <= p <= 1 and j <= k for j, p in law)
    assert lower_bound_squared_gap(d, law, best.per_query_variance) == 0


@pytest.mark.parametrize("start", range(1, 301, 50))
def test_the_variance_equals_the_lower_bound_of_a_law_on_the_layers(start: int) -> None:
    for d in range(start, start + 50):
        for k in informative(d):
            check_duality(d, k)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(301, 2001, 100))
def test_the_same_up_to_two_thousand_queries(start: int) -> None:
    for d in range(start, start + 100):
        for k in informative(d):
            check_duality(d, k)


@pytest.mark.parametrize("d", range(2, 16))
def test_numerical_minimisation_finds_nothing_better(d: int) -> None:
    """Over the ratio of the eigenvalues: scaled to be private, S costs G(t) (1/t + d - 1)/d with G the worst layer."""
    for k in range(1, d + 1):
        j = np.arange(k + 1)

        def cost(log_ratio: float, d: int = d, j: np.ndarray = j) -> float:
            t = math.exp(log_ratio)  # u/w
            return float(np.max(t * j * j / d + j * (d - j) / d) * (1 / t + d - 1) / d)

        grid = np.linspace(-math.log(4 * d) - 3, 1, 400)
        start = int(np.argmin([cost(x) for x in grid]))
        around = float(grid[max(start - 1, 0)]), float(grid[min(start + 1, 399)])
        found = min(cost(around[0]), optimize.minimize_scalar(cost, bounds=around, options={"xatol": 1e-13}).fun)
        exact = least_ellipse_variance(d, k).nearest()
        assert exact <= found + 1e-12 * exact
        assert found <= exact * (1 + 1e-7)


# the closed forms -----------------------------------------------------------------------------------------------------


def test_the_active_layer_is_the_integer_nearest_to_half_of_d_plus_its_root() -> None:
    for d in range(1, 3000):
        khat = largest_optimal_k(d)
        if pair_root(d) is not None:
            s = pair_root(d)
            assert s is not None
            assert d - s * s in (1, -1)
            assert (2 * khat - d) ** 2 < d < (2 * khat + 2 - d) ** 2  # khat = floor(j*)
        else:
            # |2 khat - d - sqrt d| < 1, in integers
            t = 2 * khat - d
            assert (t - 1) ** 2 < d < (t + 1) ** 2 or d == 1


def test_two_layers_are_optimal_beside_every_perfect_square_for_all_s() -> None:
    s = sympy.symbols("s", positive=True)
    for c in (1, -1):
        d = s**2 + c
        t = d + s
        j = (t - 1) / 2
        along, across = j * (j + 1) / s, j * (j + 1) / t
        value = sympy.simplify((along + (d - 1) * across) / d)
        assert sympy.simplify(value - (t**2 - 1) * (s + 1) / (4 * s * t)) == 0
        upper = (3 * s**2 + 3 * s + 2) / (4 * (s**2 + s + 1)) if c == 1 else (s - 1) * (s + 2) / (4 * (s**2 + s - 1))
        m1, m2 = j + upper, j**2 + upper * (2 * j + 1)
        a, b = m2 / d, (d - 1) * (m1 - m2 / d)
        assert sympy.simplify((d * value - a - b) ** 2 - 4 * a * b) == 0
        for layer in (j, j + 1):
            assert sympy.simplify(layer**2 / d / along + layer * (d - layer) / d / across - 1) == 0


@pytest.mark.parametrize(
    ("d", "value"), [(2, "4/3"), (3, "9/5"), (5, "18/7"), (8, "40/11"), (10, "56/13"), (16, "25/4")]
)
def test_known_values(d: int, value: str) -> None:
    assert least_ellipse_variance(d, d).rational == Fraction(value)


def test_algorithm_1_is_within_a_quarter_over_d_of_the_optimum_and_optimal_for_squares_alone() -> None:
    for d in range(1, 301):
        algorithm = Real(lambda d=d: (ball(d).sqrt() + 1) ** 2 / 4)
        square = math.isqrt(d) ** 2 == d
        gap = Real(lambda a=algorithm, d=d: a.ball() - least_ellipse_variance(d, d).ball())
        if square:
            assert least_ellipse_variance(d, d).rational == Fraction((math.isqrt(d) + 1) ** 2, 4)
        else:
            assert compare(gap, Real.of(0)) == 1
            assert compare(gap, Real.of(Fraction(1, 4 * d))) == -1


def test_the_optimum_does_not_decrease_in_k_and_is_constant_beyond_khat() -> None:
    for d in (1, 2, 3, 7, 24, 50):
        values = [least_ellipse_variance(d, k) for k in range(1, d + 1)]
        assert all(compare(a, b) in (-1, 0, None) for a, b in itertools.pairwise(values))
        khat = largest_optimal_k(d)
        beyond = {ellipse_optimum(d, k).per_query_variance for k in range(khat + 1, d + 1)}
        assert len(beyond) <= 1


def test_billions_of_queries_take_no_time() -> None:
    d = 60000**2 + 1
    assert ellipse_optimum(d, d).active_layers == ((d + 60000 - 1) // 2, (d + 60000 + 1) // 2)


# the count ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", range(1, 31))
def test_the_free_count_is_as_precise_as_can_be(d: int) -> None:
    for k in range(1, d + 1):
        best = ellipse_optimum(d, k)
        if len(best.active_layers) == 2:
            with pytest.raises(InvalidValue, match="two layers are active"):
                _ = best.free_count_precision
            continue
        (j,) = best.active_layers
        precision = best.free_count_precision
        assert 0 < precision <= 1
        together = [best.at_layer(i) + precision * Fraction(j - i, j) ** 2 for i in range(k + 1)]
        assert max(together) == 1
        assert any(together[i] == 1 for i in range(k + 1) if i != j)
        if 4 * k * k - 4 * k * d + d * d <= d or 2 * k <= d:  # k <= (d + sqrt d)/2: precision 1
            assert precision == 1
            variance = 1 + d * best.along / (j * j)
            root = Surd.root((d - 1) * (d - k) * k) / k
            assert variance == 2 + root


# planted faults -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("d", "k"), [(1, 1), (2, 2), (3, 2), (6, 6), (10, 10), (100, 30)])
def test_a_wrong_certificate_is_refused(d: int, k: int) -> None:
    good = ellipse_optimum(d, k)
    less = Fraction(999, 1000)
    with pytest.raises(CertificateFails, match="not private"):
        replace(good, along=good.along * less)
    if d > 1:
        with pytest.raises(CertificateFails, match="not private"):
            replace(good, across=good.across * less)
        with pytest.raises(CertificateFails):
            replace(good, active_layers=tuple(j - 1 for j in good.active_layers))
        # as private as it should be, and dearer than the bound: another ellipse through the same layer
        j = good.active_layers[0]
        if len(good.active_layers) == 1 and good.nonzero == j and j > 1:
            u = 1 / good.along * less
            w = (d - j * j * u) / (j * (d - j))
            with pytest.raises(CertificateFails, match="lower bound"):
                replace(good, along=1 / u, across=1 / w)
    with pytest.raises(CertificateFails, match="lower bound"):
        replace(good, weights=tuple(p * less for p in good.weights))
    if len(good.active_layers) == 2:
        with pytest.raises(CertificateFails, match="lower bound"):
            replace(good, weights=good.weights[::-1])


def test_the_count_ellipse_beyond_its_range_is_refused() -> None:
    from dpverdict.mechanisms.queries.count_ellipse import eigenvalues

    along, across = eigenvalues(16, 12, Surd.root)
    with pytest.raises(CertificateFails, match="not private"):
        replace(ellipse_optimum(16, 12), along=along, across=across, active_layers=(12,))


@pytest.mark.parametrize("k", [0, -1, 4, 1.5, True, "2", None, float("nan")])
def test_a_bound_that_is_none_is_refused_in_one_line(k: object) -> None:
    with pytest.raises(InvalidValue, match=r"^k=.* must be a whole number from 1 to 3: [^\n]*$"):
        ellipse_optimum(3, k)  # type: ignore[arg-type]


@pytest.mark.parametrize("d", [0, -2, 2.0, None])
def test_a_dimension_that_is_none_is_refused(d: object) -> None:
    with pytest.raises(InvalidValue, match=r"^dim="):
        ellipse_optimum(d, 1)  # type: ignore[arg-type]


def test_numpy_integers_are_whole_numbers() -> None:
    assert least_ellipse_variance(int(np.int64(5)), np.int64(5)).rational == Fraction(18, 7)
    assert isinstance(least_ellipse_variance(6, 3).ball(), arb)
