"""Labels, atoms, rare events and joint patterns of mechanisms that keep their claim: refuted no more often than stated.

Every mechanism stands on the boundary of its claim on the pair. The parts that choose, by labels and by how much is
explored, are tried by themselves: each rate is compared with the stated error by an exact binomial test, of which a
sound auditor fails one in less than a thousand sessions.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpverdict.audit.distinguishing import events as event_rows
from dpverdict.audit.distinguishing import exploration, fixed_size
from dpverdict.audit.distinguishing import row_plan as payoff_rows
from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.scores import candidates
from dpverdict.audit.trials.run import Sampler

ERROR = 0.05
WRONGLY_DECLARED = 1e-4
PAIR = (np.ones((1, 1)), np.zeros((1, 1)))
Draw = Callable[[int, int, np.random.Generator], np.ndarray]


def response(k: int, epsilon: float) -> Draw:
    keep = 1 - k / (math.exp(epsilon) + k - 1)
    return lambda x, n, rng: np.where(rng.random(n) < keep, float(x), rng.integers(0, k, n).astype(float))


def geometric(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return (x + rng.geometric(-math.expm1(-1), n) - rng.geometric(-math.expm1(-1), n)).astype(float)


def leaky(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(n) < 0.02, 100.0 + x, rng.integers(0, 3, n))


def atoms(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(n) < 0.5, 0.0, x + rng.laplace(size=n))


def bits(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    true = np.zeros(8)
    true[x] = 1
    return np.where(rng.random((n, 8)) < 1 / (1 + math.exp(-0.5)), true, 1 - true)


def mixed(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    bit = rng.random(n) < 1 / (1 + math.exp(-0.5))
    return np.stack([np.where(bit, x, 1 - x), x / 2 + rng.laplace(size=n)], axis=1)


def normal(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return x + rng.normal(size=n)


LABELS: list[tuple[Draw, str]] = [
    (response(2, 1.0), "eps=1"),
    (response(100, 1.0), "eps=1"),
    (response(5000, 5.0), "eps=5"),
    (geometric, "eps=1"),
    (leaky, "eps=0, delta=0.02"),
    (bits, "eps=1"),
]
OTHERS: list[tuple[Draw, str]] = [
    (atoms, "eps=1"),
    (mixed, "eps=1"),
    (lambda x, n, rng: x + rng.laplace(size=n), "eps=1"),
    (normal, "eps=1, delta=0.1269367375066"),
    (normal, "mu=1"),
    (lambda x, n, rng: x / math.sqrt(5) + rng.normal(size=(n, 5)), "mu=1"),
]


class Mechanism:
    name = "correct"

    def __init__(self, draw: Draw) -> None:
        self.draw = draw

    def release_many(self, dataset: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
        return self.draw(int(dataset.sum()), trials, rng)


@pytest.fixture(autouse=True)
def no_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take most of the time and decide nothing."""
    for name in ("mu_lower", "epsilon_lower"):
        monkeypatch.setattr(event_rows, name, lambda *_, **__: 0.0)
    for name in ("curve_mu_lower", "symmetric_epsilon_lower"):
        monkeypatch.setattr(payoff_rows, name, lambda *_: 0.0)


def alarms(cases: list[tuple[Draw, str]], runs: int, seed: int, samples: int = 100) -> tuple[int, int]:
    """How many audits of how many refute, all cases together."""
    seeds = np.random.SeedSequence(seed).generate_state(runs * len(cases), np.uint64).reshape(len(cases), runs)
    found = [
        distinguish(Mechanism(draw), PAIR, claim, error_probability=ERROR, samples=samples, seed=int(s)).refuted
        for (draw, claim), row in zip(cases, seeds, strict=True)
        for s in row
    ]
    return sum(found), len(found)


def is_above(found: tuple[int, int]) -> bool:
    return bool(stats.binomtest(*found, ERROR, alternative="greater").pvalue < WRONGLY_DECLARED)


@pytest.mark.parametrize("cases", [LABELS, OTHERS], ids=["labels", "others"])
def test_no_kind_is_refuted_more_often_than_stated(cases: list[tuple[Draw, str]], seed: int) -> None:
    assert not is_above(alarms(cases, 4, seed))


@pytest.mark.slow
@pytest.mark.parametrize("samples", [80, 200, 600])
@pytest.mark.parametrize("cases", [LABELS, OTHERS], ids=["labels", "others"])
def test_no_kind_is_refuted_more_often_than_stated_in_many_audits(
    cases: list[tuple[Draw, str]], samples: int, seed: int
) -> None:
    for case in cases:
        found = alarms([case], 350, seed, samples)
        print(f"{case[1]}, {samples} samples: {found[0]} of {found[1]}")
        assert not is_above(found)


@pytest.mark.slow
def test_what_grows_by_what_is_explored_is_refuted_no_more_often(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(exploration, "DOUBTFUL", -math.inf)
    monkeypatch.setattr(exploration, "ENOUGH", math.inf)
    assert not is_above(alarms(LABELS + OTHERS, 120, seed, 200))


def test_choosing_with_the_confirming_trials_is_caught(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Labels that are learned from the trials that are counted refute what is true."""
    original = Sampler._run

    def same_stream(self: Sampler, stream: str, *rest: Any) -> Any:
        for other in ("fit", "explore", "more"):
            stream = stream.replace(other, "confirm")
        return original(self, stream, *rest)

    monkeypatch.setattr(Sampler, "_run", same_stream)
    monkeypatch.setattr(fixed_size, "explored_trials", lambda *_, **__: 150)
    monkeypatch.setattr(candidates, "share_of_event", lambda *_, **__: 0.92)
    wrong = 0
    for s in range(12):
        wrong += distinguish(
            Mechanism(lambda x, n, rng: rng.integers(0, 100, n).astype(float)),
            PAIR,
            "eps=0.01",
            error_probability=ERROR,
            samples=300,
            seed=seed + s,
        ).refuted
    assert is_above((wrong, 12))
