"""Correct functions with outcomes of every kind: none of many audits refutes what they keep.

Each audit refutes a true claim with probability `ERROR` at most, so that all of them together do so with at most
12 * 200 * 1e-6 = 0.0024. The claim is epsilon = 1, and every function meets it with equality or nearly so.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.distinguishing import events
from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.distinguishing.sequential import distinguish_sequentially

ERROR = 1e-6
KEEPS = math.exp(1) / (1 + math.exp(1)) - 1e-9
"""Probability of the truth in a randomised response of epsilon just below 1."""
PAIR = [3, 1], [3]
Function = Callable[[Any, np.random.Generator], object]


@dataclass
class Release:
    count: float
    label: str


def truth(rows: Any, rng: np.random.Generator) -> bool:
    """Whether there are two rows, with a lie now and then."""
    return (len(rows) == 2) == bool(rng.random() < KEEPS)


def noisy(rows: Any, rng: np.random.Generator) -> float:
    return len(rows) + float(rng.laplace())


def raises(rows: Any, rng: np.random.Generator) -> object:
    if truth(rows, rng):
        raise ValueError("two rows, perhaps")
    return None


def other_lengths(rows: Any, rng: np.random.Generator) -> object:
    return [0.5] * (2 if truth(rows, rng) else 1)


def keys(rows: Any, rng: np.random.Generator) -> object:
    return {"a": 1.0, "b": "x"} if truth(rows, rng) else {"a": 1.0}


def atoms_in_a_continuum(rows: Any, rng: np.random.Generator) -> object:
    return None if rng.random() < 0.3 else noisy(rows, rng)


def clipped_with_nan(rows: Any, rng: np.random.Generator) -> float:
    value = noisy(rows, rng)
    return math.nan if value > 4 else math.inf if value < -1 else value


def frame(rows: Any, rng: np.random.Generator) -> object:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"n": [noisy(rows, rng)], "s": ["x"]})


CORRECT: dict[str, Function] = {
    "text": lambda rows, rng: "two" if truth(rows, rng) else "one",
    "None or text": lambda rows, rng: "two" if truth(rows, rng) else None,
    "raises": raises,
    "lengths": other_lengths,
    "keys": keys,
    "atoms": atoms_in_a_continuum,
    "NaN and infinities": clipped_with_nan,
    "frame": frame,
    "dataclass": lambda rows, rng: Release(noisy(rows, rng), "counted"),
    "Decimal": lambda rows, rng: Decimal(repr(noisy(rows, rng))),
    "set": lambda rows, rng: {"a", "b"} if truth(rows, rng) else {"a"},
    "bytes": lambda rows, rng: bytes([int(truth(rows, rng)), *rng.bytes(2)]),
}


@pytest.mark.parametrize("name", CORRECT)
def test_an_audit_of_a_correct_function_refutes_nothing_and_bounds_epsilon_below_its_claim(name: str) -> None:
    test = distinguish(CORRECT[name], PAIR, "eps=1", error_probability=ERROR, samples=300, seed=0)
    assert not test.refuted
    assert test.epsilon_lower is not None
    assert test.epsilon_lower <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", CORRECT)
def test_no_audit_of_many_refutes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the bounds by events, which are four fifths of the time and on which no refutation depends."""
    for bound in ("mu_lower", "epsilon_lower"):
        monkeypatch.setattr(events, bound, lambda *counts, **options: 0.0)
    for seed in range(200):
        test = distinguish(CORRECT[name], PAIR, "eps=1", error_probability=ERROR, samples=300, seed=seed)
        assert not test.refuted, f"seed {seed}"


@pytest.mark.parametrize("name", ["raises", "atoms"])
@pytest.mark.parametrize("audits", [1, pytest.param(200, marks=pytest.mark.slow)])
def test_no_pair_by_pair_audit_refutes_either(name: str, audits: int) -> None:
    for seed in range(audits):
        test = distinguish_sequentially(
            CORRECT[name], PAIR, "eps=1", error_probability=ERROR, most_samples=300, seed=seed
        )
        assert not test.refuted, f"seed {seed}"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["text", "raises", "NaN and infinities"])
def test_the_error_probability_is_met_where_it_is_large(name: str) -> None:
    """At an error of 0.05, 400 audits refute at most 36 times, except with probability 1e-3 at the limit."""
    refuted = sum(
        distinguish(CORRECT[name], PAIR, "eps=1", error_probability=0.05, samples=200, seed=seed).refuted
        for seed in range(400)
    )
    assert refuted <= 36


def test_a_planted_leak_is_no_false_alarm() -> None:
    """The same machinery refutes a response that lies too seldom."""

    def leaky(rows: Any, rng: np.random.Generator) -> object:
        return "two" if (len(rows) == 2) == bool(rng.random() < 0.97) else None

    assert distinguish(leaky, PAIR, "eps=1", error_probability=ERROR, samples=600, seed=1).refuted
