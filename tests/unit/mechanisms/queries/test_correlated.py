"""The embedding h: a bijection over any field, the covariance it pulls back, its sensitivity, and its sampler."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from dpverdict.balls import ball, precision
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, REPLACE_ONE, EmbeddedGaussian, from_embedding, to_embedding
from dpverdict.mechanisms.queries.correlated import pulled_back_covariance, squared_sensitivity

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
