"""Scores separate what can be separated, and refuse what is not a number."""

from collections.abc import Callable
from typing import cast

import numpy as np
import pytest

from dpverdict.audit.scores.score import CallableScore, LinearScore, as_score, fit_linear_score, likelihood_ratio
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.neighbours import NeighbourPair
from dpverdict.numerics.arrays import Array


def fit(p: Array, q: Array, chunk: int = 97) -> LinearScore:
    """Fitted on chunks, as it is in an audit."""
    return fit_linear_score(*([x[i : i + chunk] for i in range(0, len(x), chunk)] for x in (p, q)))


def test_the_discriminant_of_a_gaussian_shift_approaches_the_likelihood_ratio(seed: int) -> None:
    rng, m, n = np.random.default_rng(seed), 5, 200_000
    mixing, shift = np.tril(np.full((m, m), 0.5)) + 0.5 * np.eye(m), np.linspace(0.2, 1, m)
    p, q = rng.normal(size=(n, m)) @ mixing.T + shift, rng.normal(size=(n, m)) @ mixing.T
    score, weights = fit(p, q, chunk=4096), np.linalg.solve(mixing @ mixing.T, shift)
    assert np.abs(score.weights - weights).max() < 0.05
    assert abs(score.offset - weights @ shift / 2) < 0.05


def test_chunks_give_the_fit_of_the_whole(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, q = rng.normal(size=(300, 3)) + 1e6, rng.normal(size=(300, 3)) + 1e6 + [0, 1, 2]
    whole, chunked = fit(p, q, chunk=300), fit(p, q, chunk=7)
    assert np.allclose(whole.weights, chunked.weights, rtol=1e-6)


def test_constant_coordinates_get_no_weight(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, q = np.zeros((50, 3)), np.zeros((50, 3))
    p[:, 1], q[:, 1] = rng.normal(size=50) + 1, rng.normal(size=50)
    p[:, 2] = q[:, 2] = 1e300
    score = fit(p, q)
    assert score.weights[0] == score.weights[2] == 0
    assert score.weights[1] > 0


@pytest.mark.parametrize("gap", [1e-12, 1.0, 1e9])
@pytest.mark.parametrize("m", [2, 300])
def test_a_coordinate_that_separates_perfectly_decides(gap: float, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, q = rng.normal(size=(60, m)), rng.normal(size=(60, m))
    p[:, 1], q[:, 1] = gap, 0.0
    score = fit(p, q)
    fresh_p, fresh_q = rng.normal(size=(1000, m)), rng.normal(size=(1000, m))
    fresh_p[:, 1], fresh_q[:, 1] = gap, 0.0
    assert score(fresh_p).min() > score(fresh_q).max()


def test_a_sum_that_separates_perfectly_is_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2, 500)) * 100
    score = fit(np.stack([x[0], 1 - x[0]], axis=1), np.stack([x[1], -x[1]], axis=1))
    y = rng.normal(size=1000) * 100
    assert score(np.stack([y, 1 - y], axis=1)).min() > score(np.stack([y, -y], axis=1)).max()


@pytest.mark.parametrize("unit", [1e-300, 1e-150, 1e150, 1e300])
def test_extreme_units_neither_overflow_nor_vanish(unit: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, q = (rng.normal(size=(200, 2)) + 3) * unit, rng.normal(size=(200, 2)) * unit
    score = fit(p, q)
    assert np.isfinite(score.weights).all()
    assert np.mean(score(p) > np.median(score(q))) > 0.9


def test_more_coordinates_than_outputs_still_give_a_score(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, q = rng.normal(size=(20, 100)) + 0.5, rng.normal(size=(20, 100))
    score = fit(p, q)
    assert score(rng.normal(size=(500, 100)) + 0.5).mean() > score(rng.normal(size=(500, 100))).mean()


@pytest.mark.parametrize("m", [1, 3, 20, 33, 1000])
def test_equal_outputs_have_equal_scores_wherever_they_stand(m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    row = rng.normal(size=m)
    score = LinearScore(name="w", weights=rng.normal(size=m), offset=0.1)
    for trials in (1, 2, 5, 64, 4096 if m < 100 else 100):
        assert np.unique(score(np.tile(row, (trials, 1)))).tolist() == score(row[np.newaxis]).tolist()


def test_the_likelihood_ratio_takes_the_direction_of_the_mechanism() -> None:
    class Shift:
        def likelihood_direction(self, pair: object) -> tuple[Array, float]:
            return np.array([2.0, 0.0]), 0.5

    score = likelihood_ratio(Shift(), cast(NeighbourPair, None))  # the pair is not looked at
    assert score(np.array([[1.0, 9.0]])).tolist() == [1.5]
    assert score.describe() == {"kind": "linear", "name": "likelihood ratio", "weights": [2.0, 0.0], "offset": 0.5}


def test_infinite_scores_are_allowed_and_a_score_stays_what_it_is() -> None:
    score = as_score(lambda y: np.where(y[:, 0] > 0, np.inf, -np.inf))
    assert score(np.array([[1.0], [-1.0]])).tolist() == [np.inf, -np.inf]
    assert as_score(score) is score


@pytest.mark.parametrize(
    "function",
    [
        lambda y: y,
        lambda y: y[:, 0] * np.nan,
        lambda y: 1.0,
        lambda y: ["a"] * len(y),
        lambda y: y[:-1, 0],
        lambda y: 1 / 0,
        lambda y: [[1.0], [1.0, 2.0]],
    ],
)
def test_a_score_that_is_no_number_per_output_is_refused(function: Callable[[Array], object]) -> None:
    with pytest.raises(InvalidValue, match=r"^score="):
        CallableScore(function=function, name="mine")(np.ones((2, 2)))


def test_bad_weights_and_wrong_sizes_are_refused() -> None:
    with pytest.raises(InvalidValue, match=r"^weights="):
        LinearScore(name="w", weights=np.array([np.inf]), offset=0.0)
    with pytest.raises(InvalidValue, match=r"^outputs="):
        LinearScore(name="w", weights=np.ones(2), offset=0.0)(np.ones((5, 3)))
    with pytest.raises(InvalidValue, match=r"^score="):
        as_score(3)  # type: ignore[arg-type]  # what is tested
