"""Known-wrong accounts of searches that release their best run, each with a delta that they really have.

Notation: d = the number of runs, or its mean; e and c = the epsilon and the delta that are claimed, under
ADD_OR_REMOVE_ONE. A run is a number with Gaussian noise, of the largest mu with which an account that is named would
keep the claim. The true delta is one at the epsilon of the claim, that an event attains.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Final, TypeAlias

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.mechanisms.broken.mutant import DeltaMutant
from dpverdict.mechanisms.core.bounds import KnownEvent
from dpverdict.mechanisms.core.guarantees import ApproximateDP
from dpverdict.mechanisms.tuning.best_of_runs import BestOfRuns
from dpverdict.mechanisms.tuning.numbers_of_runs import NumberOfRuns
from dpverdict.mechanisms.tuning.profile import RunProfile, SearchBound

_LEAST: Final = 1 / Fraction(1 << 10)
_MOST: Final = Fraction(1 << 4)
_STEPS: Final = 12


Keeps: TypeAlias = Callable[[int, Fraction, ApproximateDP], bool]
"""Whether d runs with a mu are believed to keep a claim."""


def _search(keeps: Keeps, runs: int, epsilon: Fraction, delta: Fraction) -> BestOfRuns:
    """The best of exactly d runs with the largest mu that is believed to keep the claim."""
    claim = ApproximateDP(epsilon=epsilon, delta=delta)
    low, high = _LEAST, _MOST
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if keeps(runs, middle, claim) else (low, middle)
    return BestOfRuns(
        number="fixed",
        mean=runs,
        run="gaussian",
        noise_multiplier=Fraction(float(1 / low)),
        epsilon=epsilon,
        delta=delta,
    )


def _attained(keeps: Keeps, runs: int, epsilon: Fraction, delta: Fraction) -> float:
    """A delta that the best run attains with the score that tells most, rounded down."""
    entry = _search(keeps, runs, epsilon, delta).below()[0]
    assert isinstance(entry, KnownEvent)
    return entry.event(epsilon).delta_lower(epsilon)


def _one_run(runs: int, mu: Fraction, claim: ApproximateDP) -> bool:
    return GaussianLoss(mu).certified_delta(claim.epsilon).upper <= claim.delta


def _random_number(runs: int, mu: Fraction, claim: ApproximateDP) -> bool:
    law = NumberOfRuns.of("logarithmic", None, Fraction(1, runs), None)
    bound = SearchBound(RunProfile.of(GaussianLoss(mu)), law).at(claim.epsilon)
    assert bound is not None
    return float(bound) <= float(claim.delta)


def _variant(name: str, title: str, source: str, keeps: Keeps) -> DeltaMutant:
    return DeltaMutant(
        name=name,
        title=title,
        source=source,
        formula="at least what the best run attains with the score that tells most",
        build=partial(_search, keeps),
        delta=partial(_attained, keeps),
        where="all from d = 2, unless c is near 1",
    )


ALL: tuple[DeltaMutant, ...] = (
    _variant(
        "W1",
        "the best of d runs, with the epsilon of one",
        "a search whose best configuration alone is accounted for",
        _one_run,
    ),
    _variant(
        "W2",
        "the best of exactly d runs, with the epsilon of a random number",
        "the bound of a logarithmic number of runs with the chance 1/d to stop, of which d are made",
        _random_number,
    ),
)
"""The known-wrong accounts of searches."""
