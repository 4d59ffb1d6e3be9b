"""Summaries of outputs of any length: scales, correlations and single coordinates beyond where splines are learned."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpverdict.audit import distinguish
from dpverdict.audit.scores.serialization import score_from_data
from dpverdict.audit.scores.summaries import MOST_PAIRED, SummaryFeatures, fit_summary_score, summaries_apply
from dpverdict.audit.trials.run import batched
from dpverdict.errors import InvalidValue

SEED = 6
PAIR = (np.ones((1, 1)), np.zeros((1, 1)))
Draw = Callable[[float, np.random.Generator, int, int], np.ndarray]


def wider(x: float, rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    """All scales are larger on one side: the sum of the squares moves by three of its standard deviations."""
    return (1 + 3 * x / np.sqrt(2 * m)) * rng.normal(size=(n, m))


def single_scale(x: float, rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    """One coordinate of many is five times as wide."""
    outputs = rng.normal(size=(n, m))
    outputs[:, m // 3] *= 1 + 4 * x
    return outputs


def single_shift(x: float, rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    """One coordinate of many tells the side nearly always."""
    outputs = rng.normal(size=(n, m))
    outputs[:, m // 3] += 4 * x
    return outputs


def shared(x: float, rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    """A common part in all coordinates on one side, of the same variance."""
    common = rng.normal(size=(n, 1))
    return np.sqrt(1 - 0.1 * x) * rng.normal(size=(n, m)) + np.sqrt(0.1 * x) * common


def joined_pair(x: float, rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    """Two coordinates of many are nearly the same on one side."""
    outputs = rng.normal(size=(n, m))
    if x:
        outputs[:, 7] = 0.95 * outputs[:, 3] + np.sqrt(1 - 0.95**2) * outputs[:, 7]
    return outputs


def separation(draw: Draw, m: int, n: int) -> float:
    """Difference of the means of the learned score on other outputs, in standard deviations."""
    rng = np.random.default_rng(SEED)
    score = fit_summary_score(draw(1.0, rng, n, m), draw(0.0, rng, n, m))
    p, q = score(draw(1.0, rng, 400, m)), score(draw(0.0, rng, 400, m))
    return float((p.mean() - q.mean()) / np.sqrt((p.var() + q.var()) / 2))


@pytest.mark.parametrize("draw", [wider, single_scale, single_shift, shared, joined_pair])
@pytest.mark.parametrize("m", [2, 20, 201])
def test_what_differs_between_many_coordinates_is_seen(draw: Draw, m: int) -> None:
    if draw is joined_pair and m < 8:
        return
    if draw is shared and m < 200:
        return  # a correlation of 0.1 of a few numbers is too little to be seen
    assert separation(draw, m, 600) > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("draw", [wider, single_scale, single_shift, shared, joined_pair])
@pytest.mark.parametrize("m", [1000, 10_000])
def test_the_same_of_thousands(draw: Draw, m: int) -> None:
    if draw is joined_pair and m > MOST_PAIRED:
        return
    assert separation(draw, m, 1200) > 0.3


@pytest.mark.parametrize("draw", [wider, single_scale, shared])
def test_an_audit_of_201_numbers_refutes_and_no_shift_is_needed(draw: Draw) -> None:
    @batched
    def release(dataset: np.ndarray, rng: np.random.Generator, trials: int) -> np.ndarray:
        return draw(float(dataset.sum()), rng, trials, 201)

    options = {"error_probability": 1e-3, "samples": 1500, "seed": 2}
    found = distinguish(release, PAIR, "eps=0.1, delta=1e-3", **options)  # type: ignore[arg-type]
    assert found.refuted
    assert "not looked for" in found.kind_of_outputs
    if draw is wider:  # on two datasets of one law all draws are the same
        same = np.zeros((1, 1)), np.zeros((2, 1))
        assert not distinguish(release, same, "eps=0.1, delta=1e-3", **options).refuted  # type: ignore[arg-type]


def test_a_coordinate_that_never_varies_and_huge_numbers_are_no_trouble() -> None:
    rng = np.random.default_rng(SEED)
    p, q = rng.normal(size=(200, 4)), rng.normal(size=(200, 4))
    p[:, 0], q[:, 0], p[:, 1], q[:, 1] = 1.0, 1.0, 2.0, -2.0
    p[0, 2], q[0, 2] = 1e300, -1e300
    score = fit_summary_score(p, q)
    assert np.isfinite(score(p)).all()
    assert (score(p) > score(q).max()).mean() > 0.9


def test_a_summary_comes_back_from_its_data() -> None:
    rng = np.random.default_rng(SEED)
    p, q = shared(1.0, rng, 200, 30), shared(0.0, rng, 200, 30)
    score = fit_summary_score(p, q)
    data = json.loads(json.dumps(score.describe(), allow_nan=False))
    again = score_from_data(data, lambda name: len)  # type: ignore[arg-type, return-value]
    assert (again(p) == score(p)).all()
    assert (score.times(3.0)(q) == again.times(3.0)(q)).all()  # type: ignore[attr-defined]
    with pytest.raises(InvalidValue, match="outputs="):
        score(p[:, :-1])


@pytest.mark.parametrize(
    "change", [{"scale": [0.0, 1.0]}, {"centre": [0.0]}, {"means": [0.0, float("inf")]}, {"singles": [2]}]
)
def test_data_that_are_no_summary_are_refused(change: dict[str, Any]) -> None:
    rng = np.random.default_rng(SEED)
    right = SummaryFeatures.of(rng.normal(size=(50, 2)), rng.normal(size=(50, 2))).describe()
    SummaryFeatures.from_data(right)
    with pytest.raises(ValueError, match=r"summary|coordinate|reshape"):
        SummaryFeatures.from_data(right | change)


def test_one_number_and_few_outputs_are_not_summarised() -> None:
    assert not summaries_apply(np.zeros((100, 1)))
    assert not summaries_apply(np.zeros((10, 5)))
    assert summaries_apply(np.zeros((100, 5)))
