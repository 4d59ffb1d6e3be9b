"""A claim that holds is refuted no more often than the error probability states.

Every case below stands on the boundary of its claim, where false alarms are most frequent. A rate is declared too high
when an exact binomial test gives it less than WRONGLY_DECLARED, so a sound auditor fails one of the tests below in less
than one session of ten thousand. A fault can hide behind a small stated error; hence some cases state 0.5, where there
is little to hide behind.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpverdict.audit.distinguishing import events as event_rows
from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.scores.score import Score
from dpverdict.audit.statistics.joint_test import Counts
from dpverdict.audit.statistics.proportions import proportion_lower, proportion_upper
from dpverdict.audit.trials.outcomes.batches import Batch
from dpverdict.audit.trials.run import Sampler, batched
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, Guarantee, PureDP
from dpverdict.numerics.arrays import Array

WRONGLY_DECLARED = 1e-6
RUNS, QUICK_RUNS = 250, 40
PAIR = (np.ones((1, 1)), np.zeros((1, 1)))
LOG_3_UP = "1.09861228866811"

Release = Callable[[Array, np.random.Generator, int], object]
Audit = Callable[[int], bool]


@batched
def gaussian(dataset: Array, rng: np.random.Generator, trials: int) -> object:
    """Exactly 1-GDP on the pair."""
    return dataset.sum() + rng.normal(size=trials)


@batched
def gaussian_in_ten(dataset: Array, rng: np.random.Generator, trials: int) -> object:
    """Exactly 1-GDP on the pair, in ten coordinates."""
    return dataset.sum() / np.sqrt(10) + rng.normal(size=(trials, 10))


@batched
def laplace(dataset: Array, rng: np.random.Generator, trials: int) -> object:
    """Exactly 1-DP on the pair."""
    return dataset.sum() + rng.laplace(size=trials)


@batched
def response(dataset: Array, rng: np.random.Generator, trials: int) -> object:
    """The truth with probability 3/4: exactly log(3)-DP, and a release with two values only."""
    return np.where(rng.random(trials) < 0.75, dataset.sum(), 1 - dataset.sum())


@batched
def leaky(dataset: Array, rng: np.random.Generator, trials: int) -> object:
    """Tells the dataset with probability 0.1, else nothing: exactly (0, 0.1)-DP, with rare disjoint outputs."""
    return np.where(rng.random(trials) < 0.1, 2 * dataset.sum() - 1, 0.0)


def raw(outputs: Array) -> Array:
    """The first coordinate."""
    return outputs[:, 0]


CASES: list[tuple[Release, Guarantee, int]] = [
    (gaussian, GaussianDP(1), 200),
    (gaussian, GaussianDP(1), 1500),
    (gaussian_in_ten, GaussianDP(1), 600),
    (laplace, PureDP(1), 200),
    (laplace, PureDP(1), 1500),
    (response, PureDP(LOG_3_UP), 500),
    (leaky, ApproximateDP(0, "0.1"), 500),
]


@pytest.fixture(autouse=True)
def no_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bounds take most of the time and decide nothing; their own error is enumerated in test_joint_size.py."""
    for bound in ("mu_lower", "epsilon_lower"):
        monkeypatch.setattr(event_rows, bound, lambda *_, **__: 0.0)


def auditor(
    release: Release,
    claim: Guarantee,
    samples: int,
    error: float,
    score: Score | Callable[[Array], object] | None = None,
) -> Audit:
    """One audit per seed; whether it refutes."""

    def audit(seed: int) -> bool:
        return distinguish(
            release, PAIR, claim, error_probability=error, samples=samples, seed=seed, score=score
        ).refuted

    return audit


def false_alarms(audit: Audit, runs: int, seed: int) -> int:
    """How many of ``runs`` audits with seeds of their own refute."""
    return sum(audit(int(s)) for s in np.random.SeedSequence(seed).generate_state(runs, np.uint64))


def is_above(alarms: int, runs: int, error: float) -> bool:
    """Whether the rate is above the stated error probability beyond doubt."""
    return bool(stats.binomtest(alarms, runs, error, alternative="greater").pvalue < WRONGLY_DECLARED)


QUICK = [(*case, 0.5) for case in CASES] + [(*CASES[i], 0.05) for i in (1, 3, 6)]


@pytest.mark.few(4)
@pytest.mark.parametrize(("release", "claim", "samples", "error"), QUICK)
def test_a_claim_that_holds_is_refuted_no_more_often_than_stated(
    release: Release, claim: Guarantee, samples: int, error: float, seed: int
) -> None:
    known = raw if release in (gaussian, laplace) else None
    audit = auditor(release, claim, samples, error, known)
    runs = 24 if release is gaussian_in_ten else QUICK_RUNS
    assert not is_above(false_alarms(audit, runs, seed), runs, error)


@pytest.mark.slow
@pytest.mark.parametrize("error", [0.01, 0.05, 0.5])
@pytest.mark.parametrize("score", [None, raw])
@pytest.mark.parametrize(("release", "claim", "samples"), CASES)
def test_a_claim_that_holds_is_refuted_no_more_often_than_stated_in_many_audits(
    release: Release,
    claim: Guarantee,
    samples: int,
    error: float,
    score: Callable[[Array], Array] | None,
    seed: int,
) -> None:
    runs = 4000
    alarms = false_alarms(auditor(release, claim, samples, error, score), runs, seed)
    print(
        f"{release.__name__}, {samples} samples, score {score and 'raw'}: {alarms / runs:.4f} where {error} is stated"
    )
    assert not is_above(alarms, runs, error)


def choosing_on_the_confirming_trials(samples: int, error: float) -> Audit:
    """A wrong auditor: it takes the threshold that looks best on the very trials that are then counted."""

    def audit(seed: int) -> bool:
        p, q = (
            Sampler.prepare(gaussian, data, where=where, seed=seed).scores("confirm " + where, samples, raw)
            for where, data in zip(("dataset", "neighbour"), PAIR, strict=True)
        )
        thresholds = np.linspace(-2, 3, 100)
        above, below = (samples - np.searchsorted(np.sort(scores), thresholds) for scores in (p, q))
        lower, upper = proportion_lower(above, samples, error / 2), proportion_upper(below, samples, error / 2)
        return bool(np.max(stats.norm.ppf(lower) - stats.norm.ppf(upper)) > 1)

    return audit


def test_choosing_the_threshold_on_the_confirming_trials_is_caught(seed: int) -> None:
    error = 0.5
    assert is_above(false_alarms(choosing_on_the_confirming_trials(1000, error), RUNS, seed), RUNS, error)


def test_frequencies_in_place_of_a_test_are_caught(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    def frequency(counts: Counts, *, epsilon: float, delta: float, **_: object) -> float:
        p, q = counts.first / counts.first_trials, counts.second / counts.second_trials
        return float(p - np.exp(epsilon) * q <= delta)

    monkeypatch.setattr(event_rows, "joint_p_value", frequency)
    audit = auditor(gaussian, GaussianDP(1), 200, 0.05, raw)
    assert is_above(false_alarms(audit, QUICK_RUNS, seed), QUICK_RUNS, 0.05)


def test_confirming_with_the_trials_that_were_explored_is_caught(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    original = Sampler._run

    def same_stream(self: Sampler, stream: str, *rest: Any) -> Iterator[Batch]:
        return original(self, stream.replace("fit", "confirm"), *rest)

    monkeypatch.setattr(Sampler, "_run", same_stream)

    @batched
    def gaussian_in_sixty(dataset: Array, rng: np.random.Generator, trials: int) -> object:
        return dataset.sum() / np.sqrt(60) + rng.normal(size=(trials, 60))

    audit = auditor(gaussian_in_sixty, GaussianDP(1), 400, 0.05)  # what was learned from 128 trials, on these too
    assert is_above(false_alarms(audit, 6, seed), 6, 0.05)


def test_the_same_checks_see_power_where_the_claim_is_false(seed: int) -> None:
    @batched
    def quieter(dataset: Array, rng: np.random.Generator, trials: int) -> object:
        return dataset.sum() + 0.8 * rng.normal(size=trials)

    audit = auditor(quieter, GaussianDP(1), 1500, 0.05, raw)
    assert is_above(false_alarms(audit, QUICK_RUNS, seed), QUICK_RUNS, 0.05)
