"""Known-wrong accounts of searches that release their best run, each with a delta that they really have.

Notation: d = the number of runs, or its mean; e and c = the epsilon and the delta that are claimed, under
ADD_OR_REMOVE_ONE. A run is a number with Gaussian noise, of the largest mu with which an account that is named would
keep the claim. The true delta is one at the epsilon of the claim, that an event attains.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, final

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.balls import Exact
from dpverdict.checks import check_dim, check_positive, check_probability
from dpverdict.mechanisms.core.bounds import KnownEvent
from dpverdict.mechanisms.core.guarantees import ApproximateDP
from dpverdict.mechanisms.tuning.best_of_runs import BestOfRuns
from dpverdict.mechanisms.tuning.numbers_of_runs import NumberName, NumberOfRuns
from dpverdict.mechanisms.tuning.profile import RunProfile, SearchBound

_LEAST: Final = 1 / Fraction(1 << 10)
_MOST: Final = Fraction(1 << 4)
_STEPS: Final = 12


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SearchMutant:
    """A known-wrong account of a search, with a delta that the search has.

    Attributes:
        name: identifier, for example "W1".
        title: what is wrong, in a few words.
        source: where the slip is made.
        formula: the true delta in words of d, e and c.
        keeps: whether d runs with a mu are believed to keep the claim.
        number: the law of the number of runs that are made.
    """

    name: str
    title: str
    source: str
    formula: str
    keeps: Callable[[int, Fraction, ApproximateDP], bool]
    number: NumberName
    least_dim: ClassVar[int] = 2
    parameters: ClassVar[tuple[str, ...]] = ("dim", "epsilon", "delta")

    def make(self, dim: int, epsilon: Exact, delta: Exact) -> BestOfRuns:
        """The search of ``dim`` runs, claiming ``ApproximateDP(epsilon, delta)``.

        Raises:
            InvalidValue: an argument is out of range.
        """
        runs = check_dim(dim)
        check_positive(epsilon, "epsilon")
        check_probability(delta, "delta", "give that of the claim")
        claim = ApproximateDP(epsilon=epsilon, delta=delta)
        low, high = _LEAST, _MOST
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.keeps(runs, middle, claim) else (low, middle)
        wrong = BestOfRuns(
            number=self.number,
            mean=runs,
            run="gaussian",
            noise_multiplier=Fraction(float(1 / low)),
            epsilon=claim.epsilon,
            delta=claim.delta,
        )
        wrong.name, wrong.source = f"broken:{self.name}", f"known-wrong variant {self.name}"
        return wrong

    def true_delta(self, dim: int, epsilon: Exact, delta: Exact) -> float:
        """A delta at the epsilon of the claim that it has at least, rounded down."""
        wrong = self.make(dim, epsilon, delta)
        entry = wrong.below()[0]
        assert isinstance(entry, KnownEvent)
        return entry.event(wrong.claim.epsilon).delta_lower(wrong.claim.epsilon)

    def refutable(self, dim: int, epsilon: Exact = 1, delta: Exact = "0.001") -> bool:
        """Whether the claim is false."""
        return self.true_delta(dim, epsilon, delta) > float(Fraction(delta))

    def where_refutable(self) -> str:
        """The numbers of runs with which it is, in words."""
        return "all from d = 2, unless c is near 1"


def _one_run(runs: int, mu: Fraction, claim: ApproximateDP) -> bool:
    return GaussianLoss(mu).certified_delta(claim.epsilon).upper <= claim.delta


def _random_number(runs: int, mu: Fraction, claim: ApproximateDP) -> bool:
    law = NumberOfRuns.of("logarithmic", None, Fraction(1, runs), None)
    bound = SearchBound(RunProfile.of(GaussianLoss(mu)), law).at(claim.epsilon)
    assert bound is not None
    return float(bound) <= float(claim.delta)


ALL: tuple[SearchMutant, ...] = (
    SearchMutant(
        name="W1",
        title="the best of d runs, with the epsilon of one",
        source="a search whose best configuration alone is accounted for",
        formula="at least what the best run attains with the score that tells most",
        keeps=_one_run,
        number="fixed",
    ),
    SearchMutant(
        name="W2",
        title="the best of exactly d runs, with the epsilon of a random number",
        source="the bound of a logarithmic number of runs with the chance 1/d to stop, of which d are made",
        formula="at least what the best run attains with the score that tells most",
        keeps=_random_number,
        number="fixed",
    ),
)
"""The known-wrong accounts of searches."""
