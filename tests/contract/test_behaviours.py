"""What a function under audit may take and return, each behaviour with its control: a leak falls, its repair does not.

The claim is epsilon = 1 at an error probability of 1e-6. The functions that are repaired keep it, so each of their
audits refutes with at most that probability.
"""

import math
import time
import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.distinguishing.result import DistinguishingTest
from dpverdict.audit.distinguishing.sequential import distinguish_sequentially
from dpverdict.audit.trials.outcomes import observed as module
from dpverdict.audit.trials.outcomes.observed import observed
from dpverdict.errors import InvalidValue, MechanismFailure
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, ObjectPair

Function = Callable[..., object]
WITH_NAN = (np.array([1.0, 2.0, math.nan]), np.array([1.0, 2.0]))
ZERO = (np.array([0.5, 0.0]), np.array([0.5]))
PEOPLE = ([{"kind": "a"}, {"kind": "a"}, {"kind": "b"}], [{"kind": "a"}, {"kind": "a"}])
ADDED = (np.array([1.0, 1.0]), np.array([1.0]))
RECORDS = (np.ones(129), np.ones(128))


def audit(function: Function, pair: Any, samples: int = 400) -> DistinguishingTest:
    return distinguish(function, pair, "eps=1", error_probability=1e-6, samples=samples, seed=5)


def mean(data: Any, rng: np.random.Generator) -> float:
    return float(np.clip(data, 0, 1).mean() + rng.laplace())


def mean_of_numbers(data: Any, rng: np.random.Generator) -> float:
    return float(np.nan_to_num(np.clip(data, 0, 1)).sum() + rng.laplace())


def relative(data: Any, rng: np.random.Generator) -> Any:
    if not data[-1]:
        raise ZeroDivisionError("a zero update")
    return np.array([rng.laplace()])


def refuses(share: float, of_others: float) -> Function:
    def function(data: Any, rng: np.random.Generator) -> object:
        if rng.random() < (share if len(data) == 2 else of_others):
            raise ValueError("refused")
        return "done"

    return function


def other_errors(data: Any, rng: np.random.Generator) -> object:
    if len(data) == 2:
        raise KeyError("a")
    raise ValueError("b")


def classes(data: Any, rng: np.random.Generator) -> Any:
    return rng.laplace(size=len({record["kind"] for record in data}))


def all_classes(data: Any, rng: np.random.Generator) -> Any:
    return np.array([sum(record["kind"] == kind for record in data) for kind in "ab"]) + rng.laplace(size=2)


def histogram(data: Any, rng: np.random.Generator) -> object:
    return {kind: rng.laplace() for kind in {record["kind"] for record in data}}


def full_histogram(data: Any, rng: np.random.Generator) -> object:
    return {kind: sum(record["kind"] == kind for record in data) + rng.laplace() for kind in "ab"}


def as_many(data: Any, rng: np.random.Generator) -> Any:
    return rng.laplace(size=len(data))


def count_beside(data: Any, rng: np.random.Generator) -> object:
    return {"seen": len(data), "mean": rng.laplace()}


def noisy_count_beside(data: Any, rng: np.random.Generator) -> object:
    return {"seen": len(data) + rng.laplace(), "note": None}


def response(truth: float) -> Function:
    return lambda data, rng: bool(len(data) == 2) == bool(rng.random() < truth)


def last_bit(kept: float) -> Function:
    def function(data: Any, rng: np.random.Generator) -> bytes:
        last = len(data) % 2 if rng.random() < kept else rng.integers(2)
        return bytes([*rng.integers(0, 256, 7).tolist(), 2 * int(rng.integers(128)) + int(last)])

    return function


def nothing_or_both(data: Any, rng: np.random.Generator) -> object:
    return (None, None) if rng.random() < 0.5 else (rng.laplace(), len(data) + rng.laplace())


def int8_sum(data: Any, rng: np.random.Generator) -> int:
    return int(np.asarray(data).astype(np.int8).sum(dtype=np.int8)) + int(rng.laplace(scale=2.0))


def geometric(data: Any, rng: np.random.Generator) -> int:
    return len(data) + int(rng.geometric(1 - math.exp(-1)) - rng.geometric(1 - math.exp(-1)))


def one_sided(data: Any, rng: np.random.Generator) -> int:
    return len(data) + int(rng.geometric(1 - math.exp(-1)))


def one_noise(data: Any, rng: np.random.Generator) -> Any:
    return np.array([len(data), 0.0]) + rng.laplace(scale=2.0)


def seeded_by_the_value(data: Any, rng: np.random.Generator) -> float:
    return len(data) + float(np.random.default_rng(len(data)).laplace())


def sign_of_zero(data: Any, rng: np.random.Generator) -> float:
    return -0.0 if len(data) == 2 else 0.0


def low_digits(data: Any, rng: np.random.Generator) -> Decimal:
    return Decimal(int(rng.integers(3))) + Decimal(len(data)).scaleb(-40)


def frame(data: Any, rng: np.random.Generator) -> object:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"kind": ["a"], "count": [len(data) + rng.laplace()]})


def frame_of_kinds(data: Any, rng: np.random.Generator) -> object:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({kind: [rng.laplace()] for kind in sorted({record["kind"] for record in data})})


def heavy_hitters(data: Any, rng: np.random.Generator) -> object:
    return {kind for kind in "ab" if sum(record["kind"] == kind for record in data) + rng.laplace() > 1.5}


def warns(data: Any, rng: np.random.Generator) -> float:
    if len(data) == 2:
        warnings.warn("two", stacklevel=1)
    return float(rng.laplace())


def sleeps(data: Any, rng: np.random.Generator) -> float:
    time.sleep(0.002 * (len(data) == 2))
    return float(rng.laplace())


def hangs(data: Any, rng: np.random.Generator) -> float:
    time.sleep(60.0 * (len(data) == 2))
    return float(rng.laplace())


def divisor(data: Any, rng: np.random.Generator) -> object:
    return {"expected batch": len(data) // 3, "gradient": rng.laplace()}


def noisy_divisor(data: Any, rng: np.random.Generator) -> object:
    return {"expected batch": int((len(data) + rng.laplace()) // 3), "gradient": 0.0}


def any_order(data: Any, rng: np.random.Generator) -> object:
    keys = ("a", "b") if len(data) == 3 else ("b", "a")
    return dict.fromkeys(keys, "x")


LEAKS = {
    "1 NaN for a NaN record": (mean, WITH_NAN, 400),
    "3 raises for a zero update": (relative, ZERO, 300),
    "4 raises on NaN": (lambda d, rng: (1 / int(not np.isnan(d).any()), rng.laplace()), WITH_NAN, 200),
    "5 raises with probability 1/2 on one side": (refuses(0.5, 0.0), ADDED, 900),
    "7 raises on both sides, other types": (other_errors, ADDED, 300),
    "9 classes read from the data": (classes, PEOPLE, 300),
    "10 keys from the data": (histogram, PEOPLE, 300),
    "11 as many numbers as records": (as_many, ADDED, 300),
    "12 the exact count beside the noise": (count_beside, ADDED, 400),
    "13 a response with the wrong lie": (response(0.95), ADDED, 2000),
    "14 a bit of bytes that is never flipped": (last_bit(1.0), ADDED, 600),
    "16 an integer that wraps": (int8_sum, (np.array([120, 7, 1]), np.array([120, 7])), 400),
    "17 one-sided integer noise": (one_sided, ADDED, 600),
    "18 one noise for a vector": (one_noise, ADDED, 400),
    "19 noise that is a function of the value": (seeded_by_the_value, ADDED, 400),
    "21 low digits of a Decimal": (low_digits, ADDED, 400),
    "20 the sign of a zero, asked for": (observed(sign_of_zero, bits=True), ADDED, 300),
    "24 a column for each kind": (frame_of_kinds, PEOPLE, 300),
    "25 warns on one side, asked for": (observed(warns, warnings=True), ADDED, 300),
    "27 a divisor from the size": (divisor, RECORDS, 300),
}
REPAIRED = {
    "2 NaN is replaced": (mean_of_numbers, WITH_NAN, 400),
    "5 raises with odds that the claim allows": (refuses(0.5, 0.2), ADDED, 900),
    "8 raises with equal probability on both sides": (refuses(0.5, 0.5), ADDED, 400),
    "9 all classes": (all_classes, PEOPLE, 400),
    "10 all keys": (full_histogram, PEOPLE, 400),
    "11 as many under replace-one": (as_many, (np.array([1.0, 1.0]), np.array([1.0, 0.0])), 400),
    "12 a noisy count": (noisy_count_beside, ADDED, 400),
    "13 a response with the right lie": (response(0.73), ADDED, 2000),
    "14 bits that lie": (last_bit(0.4), ADDED, 600),
    "15 None for both with equal probability": (nothing_or_both, ADDED, 400),
    "17 two-sided integer noise": (geometric, ADDED, 600),
    "20 the sign of a zero": (sign_of_zero, ADDED, 400),
    "22 a correct count": (lambda d, rng: len(d) + rng.laplace(), ADDED, 400),
    "23 a frame of fixed columns": (frame, PEOPLE, 400),
    "25 warns on one side": (warns, ADDED, 300),
    "26 sleeps on one side": (sleeps, ADDED, 200),
    "26 sleeps within the limit": (observed(sleeps, timeout=60.0), ADDED, 200),
    "27 a divisor from a noisy size": (noisy_divisor, RECORDS, 300),
    "29 heavy hitters of randomised counts": (heavy_hitters, PEOPLE, 400),
    "30 another order of keys": (any_order, PEOPLE, 400),
}


@pytest.mark.few(10)
@pytest.mark.parametrize("row", LEAKS)
def test_a_leak_is_refuted(row: str) -> None:
    function, pair, samples = LEAKS[row]
    assert audit(function, pair, samples).refuted


@pytest.mark.few(10)
@pytest.mark.parametrize("row", REPAIRED)
def test_its_repair_is_not(row: str) -> None:
    function, pair, samples = REPAIRED[row]
    assert not audit(function, pair, samples).refuted


def test_a_limit_makes_a_call_that_hangs_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:  # row 26
    monkeypatch.setattr(module, "CLEAR", 1.0)  # the load of other tests may bring a call near this limit
    assert audit(observed(hangs, timeout=0.02), ADDED, 100).refuted


@pytest.mark.parametrize(
    ("samples", "least"),
    [pytest.param(200, 1.8), pytest.param(1000, 3.3, marks=pytest.mark.slow)],
)
def test_the_bound_on_epsilon_is_what_the_counts_can_show_and_never_infinite(samples: int, least: float) -> None:
    test = audit(mean, WITH_NAN, samples)
    assert test.epsilon_lower is not None
    assert least <= test.epsilon_lower < 8.0


@pytest.mark.parametrize("row", ["1 NaN for a NaN record", "10 keys from the data", "4 raises on NaN"])
def test_a_leak_falls_pair_by_pair_too(row: str) -> None:
    function, pair, _ = LEAKS[row]
    found = distinguish_sequentially(function, pair, "eps=1", error_probability=1e-6, most_samples=2000, seed=5)
    assert found.refuted
    assert found.stopped_at is not None
    assert found.stopped_at < 500


@pytest.mark.parametrize("row", ["8 raises with equal probability on both sides", "10 all keys"])
def test_its_repair_does_not(row: str) -> None:
    function, pair, _ = REPAIRED[row]
    found = distinguish_sequentially(function, pair, "eps=1", error_probability=1e-6, most_samples=400, seed=5)
    assert not found.refuted


def test_what_raises_always_and_everywhere_alike_is_an_error_of_the_caller() -> None:  # row 6
    with pytest.raises(MechanismFailure, match=r"raised TypeError: .*in every trial on both datasets"):
        audit(lambda data, rng: sum(data, "x"), ADDED)


def test_an_accountant_that_runs_dry_is_an_error_too() -> None:  # row 28
    left = iter(range(10))

    def counted(data: Any, rng: np.random.Generator) -> object:
        next(left)
        return len(data) + rng.laplace()

    with pytest.raises(MechanismFailure, match="its state changes"):
        audit(counted, ADDED)


def test_an_outcome_without_a_form_is_refused_with_its_path() -> None:
    with pytest.raises(MechanismFailure, match=r"returned .*object at \['model'\]"):
        audit(lambda data, rng: {"model": object()}, ADDED)


def test_a_pair_that_is_none_refutes_nothing() -> None:
    good = lambda data, rng: len(data) + rng.laplace()  # noqa: E731
    whole = np.arange(10.0)
    with pytest.raises(InvalidValue, match=r"^neighbours="):
        audit(good, (whole, whole[5:]))
    with pytest.raises(InvalidValue, match=r"^neighbours=.*10 and 5 records"):
        audit(good, (list(range(10)), list(range(5))))
    with pytest.raises(InvalidValue, match=r"^neighbours="):
        distinguish_sequentially(
            good, (list(range(10)), list(range(5))), "eps=1", error_probability=1e-6, most_samples=100, seed=1
        )


class Opaque:
    """A dataset whose records nobody can compare."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        raise TypeError("not comparable")

    __hash__ = None  # type: ignore[assignment]  # as an object of a database has none


def test_a_relation_between_objects_nobody_compares_is_stated() -> None:
    seen: set[type] = set()

    def release(data: Opaque, rng: np.random.Generator) -> object:
        seen.add(type(data))
        return data.value + rng.laplace()

    pair = ObjectPair(dataset=Opaque(1.0), neighbour=Opaque(0.0), adjacency=REPLACE_ONE)
    assert not audit(release, pair).refuted
    assert seen == {Opaque}
    assert "as stated" in pair.describe()


def test_frames_of_polars_and_tables_of_arrow_reach_the_function_as_they_are() -> None:
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    columns = {"kind": ["a", "a", "b"], "value": [1.0, None, 2.0]}
    frame, table = polars.DataFrame(columns), arrow.table(columns)
    assert audit(lambda d, rng: d.group_by("kind").len().sort("kind"), (frame, frame[:2]), 250).refuted
    counts = lambda d, rng: polars.DataFrame({"n": [d.height + rng.laplace()]})  # noqa: E731
    assert not audit(counts, (frame, frame[:2]), 250).refuted
    assert audit(lambda d, rng: d["kind"].unique(), (table, table.slice(0, 2)), 250).refuted
    assert not audit(lambda d, rng: {"n": d.num_rows + rng.laplace()}, (table, table.slice(0, 2)), 250).refuted


def test_tensors_reach_the_function_as_they_are() -> None:
    torch = pytest.importorskip("torch")
    rows = torch.tensor([[1.0], [float("nan")], [3.0]])
    pair = rows, torch.cat([rows[:1], rows[2:]])
    assert audit(lambda d, rng: d.mean(), pair, 250).refuted
    assert not audit(lambda d, rng: torch.tensor(d.shape[0] + rng.laplace()), pair, 250).refuted
