"""Calls one after another: planted seeds, drifts, caches and changed globals are seen, and honest noise is not."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.implementation.grey_box import GreyBoxFinding
from dpverdict.audit.implementation.sequence import ALIKE, FIXED, GLOBAL, describe_dependence, sequence_checks
from dpverdict.audit.runs.audits import Sampling, audit_callable
from dpverdict.audit.trials.outcomes.canonical import of_numbers, outcome_of
from dpverdict.mechanisms.core.guarantees import PureDP
from dpverdict.mechanisms.core.neighbours import as_pair
from dpverdict.numerics.arrays import Array

DATA = np.ones((3, 1))
COUNT = 0


def right(data: Array, rng: np.random.Generator) -> float:
    return len(data) + rng.laplace()


def seeded(data: Array, rng: np.random.Generator) -> float:
    return len(data) + float(np.random.default_rng(7).laplace())


def seeds_the_process(data: Array) -> float:
    np.random.seed(7)  # noqa: NPY002  # the fault
    random.seed(7)
    return len(data) + float(np.random.laplace())  # noqa: NPY002


def counts(data: Array, rng: np.random.Generator) -> float:
    global COUNT  # the fault
    COUNT += 1
    return len(data) + rng.laplace()


def drifting() -> Callable[..., object]:
    calls = iter(range(10**6))
    return lambda data, rng: len(data) + rng.laplace() + 0.2 * next(calls)


def cached() -> Callable[..., object]:
    kept: dict[int, float] = {}
    calls = iter(range(10**6))
    return lambda data, rng: kept.setdefault(next(calls) // 8, rng.laplace()) + len(data)


def runs_dry() -> Callable[..., object]:
    left = iter(range(30))

    def release(data: Array, rng: np.random.Generator) -> float:
        next(left)
        return len(data) + rng.laplace()

    return release


def failed(mechanism: Any) -> set[str]:
    return {
        one.name for one in sequence_checks(mechanism, DATA, DATA[1:], claim=PureDP(1), seed=3) if one.holds is False
    }


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: right, set()),
        (lambda: lambda data: len(data) + float(np.random.laplace()), set()),  # noqa: NPY002
        (lambda: lambda data, rng: bool(rng.random() < 0.6), set()),
        (lambda: seeded, {FIXED}),
        (lambda: seeds_the_process, {FIXED, GLOBAL}),
        (lambda: counts, {GLOBAL}),
        (drifting, {ALIKE}),
        (cached, {ALIKE, GLOBAL}),
        (runs_dry, {ALIKE}),
    ],
)
def test_every_planted_fault_is_seen_and_nothing_else(make: Callable[[], Any], expected: set[str]) -> None:
    assert failed(make()) == expected


@pytest.mark.parametrize("seed", range(5))
def test_outcomes_that_are_rare_are_no_fixed_seed(seed: int) -> None:
    """A Bernoulli of .005 against one of .0135, within eps = 1: 60 zeros on both sides in a third of all seeds."""

    def rare(data: Array, rng: np.random.Generator) -> bool:
        return bool(rng.random() < (0.0135 if len(data) == 3 else 0.005))

    found = {one.name: one for one in sequence_checks(rare, DATA, DATA[1:], claim=PureDP(1), seed=seed)}
    assert found[FIXED].holds is not False
    assert found[ALIKE].holds is True


def test_two_outcomes_without_noise_take_more_calls_under_a_weaker_claim() -> None:
    def bare(data: Array, rng: np.random.Generator) -> int:
        return len(data)

    def fixed(claim: PureDP) -> GreyBoxFinding:
        return next(one for one in sequence_checks(bare, DATA, DATA[1:], claim=claim, seed=3) if one.name == FIXED)

    assert fixed(PureDP(3)).holds is False
    assert int(fixed(PureDP(3)).seen.split()[0]) > 60
    assert fixed(PureDP(9)).holds is None


def test_one_outcome_on_one_side_alone_is_no_fixed_seed() -> None:
    def refuses_three(data: Array, rng: np.random.Generator) -> object:
        return None if len(data) == 3 else rng.laplace()

    assert failed(refuses_three) == set()


def test_independent_draws_fail_with_the_stated_probability_at_most() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        assert describe_dependence([of_numbers(rng.laplace(size=1)) for _ in range(60)]) is None
        assert describe_dependence([outcome_of([None, "a"][rng.integers(2)]) for _ in range(60)]) is None


def test_what_was_seen_is_in_the_first_lines() -> None:
    sampling = Sampling(samples=200, error_probability=1e-6, seed=1)
    pair = as_pair((np.ones((2, 1)), np.ones((1, 1))))
    report = audit_callable(seeded, PureDP(1), neighbours=pair, sampling=sampling, name="seeded")
    assert "its seed is fixed inside" in report.answer
    clean = audit_callable(right, PureDP(1), neighbours=pair, sampling=sampling, name="right")
    assert clean.warning is None
    assert "not independent" not in clean.answer
