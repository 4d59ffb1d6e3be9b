"""The embedding h: a bijection over any field, the covariance it pulls back, its sensitivity, and its sampler."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.balls import ball, precision
from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    CorrelatedGaussian,
    EmbeddedGaussian,
    GroupedGaussian,
    StandardGaussian,
)
from dpverdict.mechanisms.core.calibration import family_scales, family_variances, root
from dpverdict.mechanisms.queries.correlated import (
    from_embedding,
    pulled_back_covariance,
    squared_sensitivity,
    to_embedding,
)

rationals = st.fractions(max_denominator=1000)
positive = st.fractions(min_value=Fraction(1, 1000), max_denominator=1000)


@given(rationals, rationals, positive)
def test_h_and_its_inverse_undo_each_other(f: Fraction, n: Fraction, c: Fraction) -> None:
    assert from_embedding(*to_embedding(f, n, c), c) == (f, n)
    assert to_embedding(*from_embedding(f, n, c), c) == (f, n)


@given(st.lists(st.fractions(0, 1, max_denominator=64), min_size=1, max_size=6), positive)
def test_an_embedded_record_has_the_norm_of_lemma_3_2(x: list[Fraction], c: Fraction) -> None:
    embedded = [to_embedding(e, Fraction(1), c)[0] for e in x] + [c]
    norm = sum((e * e for e in embedded), Fraction(0))
    bound = squared_sensitivity(len(x), c * c, ADD_OR_REMOVE_ONE)
    assert bound - norm == 4 * sum((e * (1 - e) for e in x), Fraction(0)) >= 0


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("c_squared", [Fraction(1, 4), Fraction(2), Fraction(9)])
def test_the_sensitivity_under_replacement_is_the_largest_distance_of_two_groups(d: int, c_squared: Fraction) -> None:
    corners = list(itertools.product((-1, 1), repeat=d))
    same = max(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) for x in corners for y in corners)
    two = Fraction(2 * d) + 2 * c_squared
    assert squared_sensitivity(d, c_squared, REPLACE_ONE) == max(Fraction(same), two)


def test_the_pulled_back_covariance_is_the_product_of_matrices_for_three_queries() -> None:
    c, s = sympy.symbols("c s", positive=True)
    inverse = sympy.Matrix([[*(sympy.Rational(int(i == j), 2) for j in range(3)), 1 / (2 * c)] for i in range(3)])
    inverse = inverse.col_join(sympy.Matrix([[0, 0, 0, 1 / c]]))
    product = (inverse * s * inverse.T).applyfunc(sympy.simplify)
    entries = pulled_back_covariance(s, c)
    for (i, j), name in {(0, 0): "query", (0, 1): "query-query", (0, 3): "query-count", (3, 3): "count"}.items():
        assert sympy.simplify(product[i, j] - entries[name]) == 0


@pytest.mark.parametrize("d", [1, 2, 100])
def test_corollary_3_1_has_the_printed_entries(d: int) -> None:
    with precision(100):
        root = ball(d).sqrt()
        entries = pulled_back_covariance(d + root, root.sqrt())
        printed = {
            "query": (d + 2 * root + 1) / 4,
            "query-query": (root + 1) / 4,
            "query-count": (root + 1) / 2,
            "count": root + 1,
        }
        for name, value in printed.items():
            assert abs(entries[name] - value) < 1e-25 * value


@pytest.mark.parametrize(("d", "relation"), [(1, ADD_OR_REMOVE_ONE), (5, ADD_OR_REMOVE_ONE), (5, REPLACE_ONE)])
def test_the_second_sampler_uses_sensitivity_over_mu_rounded_up(d: int, relation: object) -> None:
    sampler = EmbeddedGaussian(dim=d, mu="0.3", adjacency=relation)
    needed = squared_sensitivity(d, Fraction(sampler.c) ** 2, relation) / Fraction("0.3") ** 2
    assert needed <= Fraction(sampler.scale) ** 2 <= needed * (1 + Fraction(1, 10**15))
    assert math.isclose(sampler.c, d ** (0.25 if relation is ADD_OR_REMOVE_ONE else 0.5))


def test_the_second_sampler_decodes_to_queries_and_count(seed: int) -> None:
    sampler = EmbeddedGaussian(dim=3, mu=1, C=2, adjacency=ADD_OR_REMOVE_ONE)
    records = np.random.default_rng(seed).random((4, 3))
    np.testing.assert_allclose(sampler.decode(sampler.embed(records)[None])[0], [*records.sum(axis=0), 4.0])
    many = sampler.release_many(records, 5, np.random.default_rng(seed))
    assert many.shape == (5, 4)
    np.testing.assert_array_equal(
        sampler.release_many(records, 1, np.random.default_rng(seed))[0],
        sampler.release(records, np.random.default_rng(seed)),
    )


DIMS = (1, 2, 3, 9, 100, 10**6)


@pytest.mark.parametrize("d", DIMS)
@pytest.mark.parametrize("mu", ["0.001", "0.3", "1", "1000"])
def test_the_scales_of_algorithm_1_are_the_printed_ones_rounded_up_by_two_units_at_most(d: int, mu: str) -> None:
    mechanism = CorrelatedGaussian(dim=d, mu=mu)
    with precision(200):
        m, r = ball(Fraction(mu)), ball(d).sqrt()
        printed = {"independent_scale": (d + r) / (4 * m * m), "shared_scale": (r + 1) / (4 * m * m)}
        for name, variance in printed.items():
            scale = getattr(mechanism, name)
            below = math.nextafter(math.nextafter(scale, 0), 0)
            assert not ball(scale) ** 2 < variance
            assert ball(below) ** 2 < variance
        total = ball(mechanism.independent_scale) ** 2 + ball(mechanism.shared_scale) ** 2
        assert abs(total / ((r + 1) ** 2 / (4 * m * m)) - 1) < 1e-15  # Lemma 3.1


@pytest.mark.parametrize("d", [1, 2, 10, 999])
@pytest.mark.parametrize("c", ["0.1", "1", "3.7", "100"])
def test_the_scales_of_the_family_follow_the_embedding_constant(d: int, c: str) -> None:
    mechanism = CorrelatedGaussian(dim=d, mu="0.7", C=c)
    vz, ve = family_variances(d, Fraction(c) ** 2, Fraction("0.7"))
    for scale, variance in ((mechanism.independent_scale, vz), (mechanism.shared_scale, ve)):
        assert variance <= Fraction(scale) ** 2 <= variance * (1 + Fraction(1, 10**15))
    assert math.isclose(mechanism.embedding_constant, float(c), rel_tol=1e-15)


@pytest.mark.parametrize("d", DIMS)
def test_the_other_mechanisms_have_the_printed_scales(d: int) -> None:
    assert math.isclose(
        StandardGaussian(dim=d, mu="0.5", adjacency=ADD_OR_REMOVE_ONE).scale, 2 * math.sqrt(d), rel_tol=1e-15
    )
    estimated = CorrelatedGaussian(dim=d, mu=1, count="estimated", size_estimate=0)
    assert math.isclose(estimated.independent_scale, math.sqrt(d) / 2, rel_tol=1e-15)
    assert estimated.shared_scale == 0.0
    replaced = GroupedGaussian(groups=2, dim=d, mu=2, adjacency=REPLACE_ONE)
    assert math.isclose(replaced.independent_scale, math.sqrt(d) / 2, rel_tol=1e-15)
    assert replaced.shared_scale == 0.5
    removed = GroupedGaussian(groups=2, dim=d, mu=2, adjacency=ADD_OR_REMOVE_ONE)
    single = CorrelatedGaussian(dim=d, mu=2)
    assert (removed.independent_scale, removed.shared_scale) == (single.independent_scale, single.shared_scale)


def test_a_perfect_square_gives_exact_scales_where_float64_has_them() -> None:
    assert family_scales(9, root(9), Fraction(1))[1] == 1.0
    assert family_scales(25, root(25), Fraction(1, 2))[1] ** 2 == pytest.approx(6.0, rel=1e-15)
    assert StandardGaussian(dim=4, mu=1, adjacency=ADD_OR_REMOVE_ONE).scale == 2.0


def test_parameters_are_exact_whatever_they_are_written_as() -> None:
    same = [CorrelatedGaussian(dim=5, mu=mu) for mu in ("0.1", Fraction(1, 10), Decimal("0.1"), "1/10")]
    assert len({(m.independent_scale, m.claim) for m in same}) == 1
    assert CorrelatedGaussian(dim=5, mu=0.1).claim != same[0].claim  # the float is another number
    assert CorrelatedGaussian(dim=np.int64(5), mu=np.float64(0.5)).claim.mu == Fraction(1, 2)  # type: ignore[union-attr]


def test_half_the_size_estimate_is_added_to_every_query(seed: int) -> None:
    records = np.random.default_rng(seed).random((7, 3))
    zero, hundred = (CorrelatedGaussian(dim=3, mu=1, count="estimated", size_estimate=n) for n in (0, 100))
    difference = hundred(records, np.random.default_rng(1)) - zero(records, np.random.default_rng(1))
    np.testing.assert_allclose(difference, 50.0)
    assert worst_case(hundred).loss.mu == worst_case(zero).loss.mu


def test_a_withheld_count_is_not_in_the_release() -> None:
    assert CorrelatedGaussian(dim=3, mu=1, count="withheld").noise.size == 3
    assert CorrelatedGaussian(dim=3, mu=1).noise.size == 4
