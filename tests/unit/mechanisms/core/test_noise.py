"""Every noise law: its covariance, its solve and its exact forms follow from what its sampler does."""

import math
import runpy
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.broken.queries import FirstEtaNoise
from dpverdict.mechanisms.core.noise import DiagonalNoise, GroupedNoise, Noise, SharedNoise

Array = NDArray[np.float64]

SHARED = [
    SharedNoise(dim=d, independent_scale=1.25, shared_scale=ve, count_loading=k, count_scale=vw)
    for d in (1, 2, 5)
    for ve, k, vw in [(0.0, None, 0.0), (0.7, None, 0.0), (0.7, 2, 0.0), (0.7, -2, 0.0), (0.7, 1, 0.4), (0.7, 0, 0.4)]
]
GROUPED = [GroupedNoise(groups=m, row=SHARED[2 + 6 * i]) for m in (1, 2, 3) for i in (0, 1)]
OTHERS = [DiagonalNoise(scales=np.array([0.5, 3.0, 1e-3])), FirstEtaNoise(dim=3, z_scale=1.3, eta_scale=0.6)]
REGULAR: list[Noise] = [*SHARED, *GROUPED, *OTHERS]


oracle = runpy.run_path(str(Path(__file__).parents[3] / "exact_covariance.py"))
covariance_of_the_sampler: Callable[[Noise], list[list[Fraction]]] = oracle["covariance_of_the_sampler"]
as_matrix = oracle["as_matrix"]


@pytest.mark.parametrize("noise", REGULAR, ids=repr)
def test_the_stated_entries_are_those_of_the_sampler(noise: Noise) -> None:
    dense = covariance_of_the_sampler(noise)
    stated = noise.covariance()
    assert all(isinstance(entry, Fraction) for entry in stated.values())
    # Only the sums of float64 scales inside a row of the sampler round; a single scale, and its multiples, do not.
    if isinstance(noise, DiagonalNoise):
        diagonal = [dense[i][i] for i in range(noise.size)]
        assert [min(diagonal), max(diagonal)] == list(stated.values())
        return
    row = noise.row if isinstance(noise, GroupedNoise) else noise
    d = row.dim
    assert {dense[i][i] for i in range(d)} == {stated["query"]}
    assert {dense[i][j] for i in range(d) for j in range(i)} <= {stated["query-query"]}
    if "count" in stated:
        assert dense[d][d] == stated["count"]
        own = {dense[i][d] for i in range(d)}
        if "first query-count" in stated:
            assert own == {stated["first query-count"], Fraction(0)}
        else:
            assert own == {stated["query-count"]}
    outside = {dense[i][j] for i in range(row.size) for j in range(row.size, noise.size)}
    assert outside <= {Fraction(0)}


def test_one_eta_for_all_groups_correlates_the_rows() -> None:
    row = SharedNoise(dim=2, independent_scale=1.0, shared_scale=0.5, count_loading=2)
    noise = GroupedNoise(groups=3, row=row, one_eta=True)
    dense = covariance_of_the_sampler(noise)
    assert dense[0][3] == dense[0][4] == noise.covariance()["between rows"] == Fraction(1, 4)
    assert dense[2][5] == dense[2][2] == 1
    assert as_matrix(dense).rank() < noise.size


@pytest.mark.parametrize("noise", REGULAR, ids=repr)
def test_solve_is_the_dense_solve(noise: Noise, seed: int) -> None:
    dense = np.array([[float(e) for e in row] for row in covariance_of_the_sampler(noise)])
    for v in np.random.default_rng(seed).uniform(-1, 1, (5, noise.size)):
        np.testing.assert_allclose(noise.solve(v), np.linalg.solve(dense, v), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("noise", SHARED, ids=repr)
def test_the_form_is_the_dense_form_exactly(noise: SharedNoise, seed: int) -> None:
    dense = as_matrix(covariance_of_the_sampler(noise))
    form = noise.form()
    assert form is not None
    for numerators in np.random.default_rng(seed).integers(-64, 64, (10, noise.size)).tolist():
        v = [Fraction(n, 32) for n in numerators]
        column = fmpq_mat(len(v), 1, [fmpq(e.numerator, e.denominator) for e in v])
        value = (column.transpose() * dense.solve(column))[0, 0]
        x, t = v[: noise.dim], v[-1]
        assert form.at(sum(x, Fraction(0)), sum((e * e for e in x), Fraction(0)), t) == Fraction(
            int(value.p), int(value.q)
        )


SINGULAR: list[tuple[Noise, list[float]]] = [
    (SharedNoise(dim=3, independent_scale=1.0, shared_scale=1.0, count_loading=0), [0.0, 0.0, 1.0, 1.0]),
    (SharedNoise(dim=2, independent_scale=1.0, shared_scale=0.0, count_loading=2), [0.0, 0.0, 1.0]),
    (SharedNoise(dim=7, independent_scale=0.0, shared_scale=1.0), [1.0, 0, 0, 0, 0, 0, 0]),
    (SharedNoise(dim=4, independent_scale=0.0, shared_scale=1.0), [1.0, 1.0, 0.25, 0.0]),
    (DiagonalNoise(scales=np.array([1.0, 0.0])), [1.0, -1.0]),
    (
        GroupedNoise(
            groups=3, row=SharedNoise(dim=1, independent_scale=1.0, shared_scale=1.0, count_loading=2), one_eta=True
        ),
        [1.0, 1.0, 0.0, 0.0, 0.0, 0.0],
    ),
]


@pytest.mark.parametrize(("noise", "difference"), SINGULAR, ids=repr)
def test_where_the_covariance_is_singular_the_direction_carries_no_noise(noise: Noise, difference: list[float]) -> None:
    v = np.array(difference)
    w = [Fraction(x) for x in noise.solve(v).tolist()]
    dense = covariance_of_the_sampler(noise)
    variance = sum(w[i] * dense[i][j] * w[j] for i in range(len(w)) for j in range(len(w)))
    assert variance == 0
    assert sum(a * Fraction(b) for a, b in zip(w, difference, strict=True)) > 0


def test_an_exact_count_that_does_not_move_leaves_the_direction_to_the_queries() -> None:
    noise = SharedNoise(dim=2, independent_scale=1.0, shared_scale=1.0, count_loading=0)
    without = SharedNoise(dim=2, independent_scale=1.0, shared_scale=1.0)
    np.testing.assert_array_equal(noise.solve(np.array([1.0, -0.5, 0.0])), [*without.solve(np.array([1.0, -0.5])), 0.0])


def test_without_noise_of_their_own_equal_queries_are_scored_by_the_shared_noise() -> None:
    noise = SharedNoise(dim=4, independent_scale=0.0, shared_scale=0.5)
    w = noise.solve(np.full(4, 2.0))
    assert w @ np.full(4, 2.0) == pytest.approx(2.0**2 / 0.5**2)


@pytest.mark.parametrize("noise", [*REGULAR, *(noise for noise, _ in SINGULAR)], ids=repr)
def test_noise_is_added_to_the_statistic_with_one_row_per_trial(noise: Noise, seed: int) -> None:
    statistic = np.arange(noise.size, dtype=np.float64) * 1e9
    noisy = noise.add(statistic, 4, np.random.default_rng(seed))
    assert noisy.shape == (4, noise.size)
    assert noisy.dtype == np.float64
    np.testing.assert_allclose(noisy, np.broadcast_to(statistic, noisy.shape), atol=100)
    again = noise.add(np.zeros(noise.size), 4, np.random.default_rng(seed))
    np.testing.assert_allclose(noisy - statistic, again, atol=1e-5)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
@pytest.mark.parametrize("name", ["independent_scale", "shared_scale", "count_scale"])
def test_a_scale_that_is_no_standard_deviation_is_refused(name: str, bad: float) -> None:
    scales: dict[str, float] = {"independent_scale": 1.0, name: bad}
    with pytest.raises(InvalidValue, match=f"^{name}="):
        SharedNoise(dim=2, count_loading=None, **scales)


@pytest.mark.parametrize(("dim", "loading"), [(1, None), (1, 2), (3, 2), (3, 0)])
def test_independent_noise_of_scale_zero_is_refused_where_the_forms_do_not_cover_it(
    dim: int, loading: int | None
) -> None:
    with pytest.raises(InvalidValue, match=r"^independent_scale=0"):
        SharedNoise(dim=dim, independent_scale=0.0, shared_scale=1.0, count_loading=loading)


@pytest.mark.parametrize("scales", [[-1.0], [math.nan], [1.0, math.inf]])
def test_diagonal_scales_are_checked(scales: list[float]) -> None:
    with pytest.raises(InvalidValue, match=r"^scales="):
        DiagonalNoise(scales=np.array(scales))


def test_impossible_shapes_of_noise_are_refused() -> None:
    row = SharedNoise(dim=1, independent_scale=1.0, shared_scale=1.0, count_loading=1)
    with pytest.raises(InvalidValue, match=r"^dim=0"):
        SharedNoise(dim=0, independent_scale=1.0)
    with pytest.raises(InvalidValue, match=r"^groups=0"):
        GroupedNoise(groups=0, row=row)
    with pytest.raises(InvalidValue, match=r"^row="):
        GroupedNoise(groups=2, row=row, one_eta=True)
