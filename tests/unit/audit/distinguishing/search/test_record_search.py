"""The pairs at which bugs of released libraries show are found without a hint; of correct mechanisms none refutes."""

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.distinguishing.search.record_search import Column, parse_table, search_records
from dpverdict.errors import InvalidValue, MechanismFailure
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE

FEW: dict[str, Any] = {"adjacency": ADD_OR_REMOVE_ONE, "samples": 4000, "seed": 1, "sizes": (0, 2)}


def wrapping_sum(data: Any, rng: np.random.Generator) -> float:
    """The clipped sum in the type of the data, which wraps around."""
    return float(np.clip(data, 0, 100).sum(dtype=data.dtype)) + rng.laplace(scale=100.0)


def right_sum(data: Any, rng: np.random.Generator) -> float:
    return float(np.clip(data, 0, 100).sum(dtype=float)) + rng.laplace(scale=100.0)


def mean_with_gaps(data: Any, rng: np.random.Generator) -> float:
    """A NaN passes through, as in `diffprivlib.tools.mean`."""
    return float(np.clip(data, 0, 1).sum()) + rng.laplace()


def classes(data: Any, rng: np.random.Generator) -> Any:
    """As many numbers as classes are met, as in `diffprivlib.models.GaussianNB`."""
    return rng.laplace(size=len(np.unique(data[:, 1]))) if len(data) else np.zeros(1)


def quantile(data: Any, rng: np.random.Generator) -> float:
    """Refuses missing values, as `diffprivlib.tools.quantile`."""
    if np.isnan(data).any():
        raise ValueError("NaN")
    return float(rng.laplace())


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("mechanism", "columns", "dtype"),
    [
        (wrapping_sum, [Column(low=0, high=100)], "int8"),
        (mean_with_gaps, [Column(missing=True)], "float64"),
        (classes, [Column(), Column(values=(0.0, 1.0, 2.0))], "float64"),
        (quantile, [Column(missing=True)], "float64"),
    ],
)
def test_the_pair_of_a_bug_is_found_and_refutes(mechanism: Any, columns: list[Column], dtype: str) -> None:
    found = search_records(mechanism, "eps=1", columns=columns, dtype=dtype, **FEW)
    assert found.samples <= 4000
    test = distinguish(mechanism, found.best.pair, "eps=1", error_probability=1e-6, samples=2000, seed=2)
    assert test.refuted


def count(data: Any, rng: np.random.Generator) -> float:
    return len(data) + float(rng.laplace())


def of_kinds(data: Any, rng: np.random.Generator) -> Any:
    return np.bincount(data[:, 1].astype(int), minlength=3) + rng.laplace(size=3)


def raises_when_many(data: Any, rng: np.random.Generator) -> str:
    if count(data, rng) > 2.5:
        raise ValueError("many")
    return "few"


def frame(data: Any, rng: np.random.Generator) -> object:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"n": of_kinds(data, rng), "kind": list("abc")})


NUMBERS, GAPS, KINDS = (
    [Column(low=0, high=100)],
    [Column(missing=True)],
    [Column(), Column(values=(0.0, 1.0, 2.0))],
)
CORRECT: dict[str, tuple[Any, list[Column], str]] = {
    "sum of a wide type": (right_sum, NUMBERS, "int8"),
    "gaps filled": (lambda d, rng: float(np.nan_to_num(np.clip(d, 0, 1)).sum()) + rng.laplace(), GAPS, "float64"),
    "all kinds": (of_kinds, KINDS, "float64"),
    "text": (lambda d, rng: "many" if count(d, rng) > 1 else "few", GAPS, "float64"),
    "None": (lambda d, rng: None if count(d, rng) < 0 else "some", NUMBERS, "int8"),
    "exception": (raises_when_many, GAPS, "float64"),
    "keys": (
        lambda d, rng: {k: float(n) for k, n in zip("abc", of_kinds(d, rng), strict=True) if n > 1},
        KINDS,
        "float64",
    ),
    "lengths": (lambda d, rng: [0] * max(0, min(5, round(count(d, rng)))), NUMBERS, "int8"),
    "NaN": (lambda d, rng: math.nan if (n := count(d, rng)) < 0 else n, GAPS, "float64"),
    "frame": (frame, KINDS, "float64"),
    "Decimal": (lambda d, rng: Decimal(repr(count(d, rng))), NUMBERS, "int8"),
    "set": (lambda d, rng: {k for k, n in zip("abc", of_kinds(d, rng), strict=True) if n > 1.5}, KINDS, "float64"),
}


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "name",
    [*list(CORRECT)[:3], *(pytest.param(name, marks=pytest.mark.slow) for name in list(CORRECT)[3:])],
)
def test_of_a_correct_mechanism_the_best_pair_refutes_nothing(name: str) -> None:
    mechanism, columns, dtype = CORRECT[name]
    found = search_records(mechanism, "eps=1", columns=columns, dtype=dtype, **FEW)
    assert not distinguish(mechanism, found.best.pair, "eps=1", error_probability=1e-6, samples=500, seed=2).refuted


def test_a_candidate_that_fails_does_not_end_the_search() -> None:
    def fragile(data: Any, rng: np.random.Generator) -> object:
        if len(data) == 1:
            raise SystemExit("one row")
        return mean_with_gaps(data, rng)

    found = search_records(fragile, "eps=1", columns=[Column(missing=True)], **FEW)
    assert found.best.statistic > 0
    assert math.isnan(found.best.pair.dataset[-1])
    assert found.ranking[-1].statistic == -math.inf


def test_one_that_never_runs_is_an_error() -> None:
    def ends(data: Any, rng: np.random.Generator) -> object:
        raise SystemExit

    with pytest.raises(MechanismFailure, match="SystemExit"):
        search_records(ends, "eps=1", columns=[Column()], **FEW)


def test_records_are_replaced_under_replace_one_and_fit_their_type() -> None:
    columns = [Column(low=-200, high=100)]
    found = search_records(right_sum, "eps=3", columns=columns, dtype="int8", **{**FEW, "adjacency": REPLACE_ONE})
    for one in found.ranking:
        assert len(one.pair.dataset) == len(one.pair.neighbour)
        assert one.pair.dataset.dtype == np.int8


@pytest.mark.parametrize(
    "change",
    [{"samples": 10}, {"dtype": "U3"}, {"columns": []}, {"dtype": "uint8", "columns": [Column(low=-3, high=-1)]}],
)
def test_what_cannot_be_searched_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        search_records(right_sum, "eps=1", **{**FEW, "columns": [Column()], **change})
    with pytest.raises(InvalidValue, match="bounds"):
        Column(low=1, high=0)


def test_a_table_in_words() -> None:
    assert parse_table("binary:3") is None
    found = parse_table("table: 0..1?, 0|1|2")
    assert found == ((Column(missing=True), Column(values=(0.0, 1.0, 2.0))), "float64")
    for text in ("table:", "table:3", "table:a..b", "table:1..0"):
        with pytest.raises(InvalidValue):
            parse_table(text)
