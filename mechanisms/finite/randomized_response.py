"""Randomised response of k values: every person answers truthfully with some probability, and otherwise at random."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.audit.laws.exact_samplers.random_words import words_of
from dpverdict.audit.losses.base import RANDOM_BITS, PrivacyLoss
from dpverdict.audit.losses.closed_form import identical_laws
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.balls import Exact, ball, precision, refine
from dpverdict.checks import check_array, check_dim, check_positive, check_whole_entries
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.bounds import WorstPair
from dpverdict.mechanisms.core.guarantees import PureDP
from dpverdict.mechanisms.core.mechanism import StatisticMechanism
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, NeighbourPair
from dpverdict.mechanisms.core.parameters import Parameter, whole
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exponential_sums import ExponentialSum

MOST_VALUES: Final = 1 << 31
_FIRST_BITS: Final = 64


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseNoise:
    """Adds 0 with certain odds to 1 against each of 1, ..., k - 1; sums are taken modulo k.

    Attributes:
        options: k >= 2.
        odds: > 1, exactly.
    """

    options: int
    odds: ExponentialSum
    size: int = 1

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        """Values with noise, modulo k: shape (1,) -> (trials, 1). The law is exact, given uniform random bits."""
        words = words_of(rng)
        cut = self._floor(_FIRST_BITS)
        uniform = words(trials)
        truthful = uniform < np.uint64(cut)
        for i in np.flatnonzero(uniform == np.uint64(cut)).tolist():
            truthful[i] = self._decide(int(uniform[i]), lambda: int(words(1)[0]))
        moved = np.where(truthful, 0, rng.integers(1, self.options, trials))
        return ((statistic + moved[:, None]) % self.options).astype(np.float64)

    @property
    def log_odds(self) -> float:
        """The logarithm of the odds in float64."""
        return float(refine(lambda: self.odds.ball().log(), bits=60))

    def _floor(self, bits: int) -> int:
        """The probability odds/(odds + k - 1) of the truth, times 2^bits, rounded down."""
        working = 2 * bits
        while True:
            with precision(working):
                found = (ball(1 << bits) / (1 + (self.options - 1) / self.odds.ball())).floor().unique_fmpz()
            if found is not None:
                return min(int(found), (1 << bits) - 1)
            working *= 2

    def _decide(self, uniform: int, more: Callable[[], int]) -> bool:
        """Whether a uniform number that begins with these 64 bits is below the probability, reading on."""
        bits = _FIRST_BITS
        while True:
            uniform, bits = uniform << _FIRST_BITS | more(), bits + _FIRST_BITS
            cut = self._floor(bits)
            if uniform != cut:
                return uniform < cut

    def covariance(self) -> dict[str, Fraction]:
        """Empty: values have no order."""
        return {}


@final
class RandomizedResponse(StatisticMechanism):
    """One person's value of 0, ..., k - 1, released with probability exp(epsilon)/(exp(epsilon) + k - 1).

    Otherwise any other value is released, all with one probability. It is epsilon-DP for the one person, tightly, with
    delta(level) = (exp(epsilon) - exp(level))/(exp(epsilon) + k - 1) at 0 <= level <= epsilon. The sampler is exact.

    A dataset is one record of one value: each person runs the mechanism for themself.

    Args:
        options: k >= 2.
        epsilon: > 0, exact.

    Raises:
        InvalidValue: an argument is out of range.

    Reference: Warner 1965; Kairouz, Bonawitz and Ramage 2016, section 4.1 (k-RR, arXiv:1602.07387).

    >>> mechanism = RandomizedResponse(options=4, epsilon=1)
    >>> mechanism.probabilities([[2]]).round(3).tolist()
    [0.175, 0.175, 0.475, 0.175]
    """

    name = "randomized-response"
    title = "one person's answer, flipped at random"
    source = "Kairouz, Bonawitz and Ramage 2016, section 4.1"
    adjacency: NeighboringRelation = REPLACE_ONE
    noise: ResponseNoise
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("options", "K", "Number of options that are scored, or of values.", whole),
    )
    example = "--options 4 --epsilon 1"
    options: int
    claim: PureDP
    assumptions: tuple[str, ...]

    def __init__(self, *, options: int, epsilon: Exact) -> None:
        self._set(options, epsilon, None)

    @classmethod
    def with_odds(cls, *, options: int, epsilon: Exact, odds: ExponentialSum) -> RandomizedResponse:
        """Odds of the truth against any other value, with whatever claim: to be certified, not trusted."""
        mechanism = cls.__new__(cls)
        mechanism._set(options, epsilon, odds)
        return mechanism

    def _set(self, options: int, epsilon: Exact, odds: ExponentialSum | None) -> None:
        self.dim = 1
        self.options = check_dim(options, "options")
        if not 2 <= self.options <= MOST_VALUES:
            raise InvalidValue("options", options, f"from 2 to {MOST_VALUES}", "one value needs no response")
        rate = check_positive(epsilon, "epsilon")
        self.claim = PureDP(rate)
        self.noise = ResponseNoise(options=self.options, odds=ExponentialSum.exp(rate) if odds is None else odds)
        self.assumptions = (f"the record is one of the values 0, ..., {self.options - 1}",)

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(1,)"""
        return (1,)

    def check_records(self, dataset: ArrayLike) -> Array:
        """One record as float64 of shape (1, 1), a whole number below k."""
        records = check_array(dataset, (1,), 0.0, float(self.options - 1))
        if len(records) != 1:
            remedy = "run the mechanism once for every person"
            raise InvalidValue("dataset", f"{len(records)} records", "one record, of one person", remedy)
        check_whole_entries(records, "number the values from 0")
        return records

    def _worst(self) -> WorstPair:
        return WorstPair(
            loss=self.pair_loss(np.zeros(1), np.ones(1), 0),
            pair=self.neighbours(np.zeros((1, 1)), np.ones((1, 1))),
            description="the value 0 replaced by the value 1",
            justification="the law is the same for every two values, but for their names",
        )

    def above(self) -> tuple[WorstPair]:
        """Any two different values: all such pairs have the same loss."""
        return (self._worst(),)

    def below(self) -> tuple[WorstPair]:
        """The same pair."""
        return (self._worst(),)

    def pair_loss(self, record: Array, replacement: Array | None, position: int) -> PrivacyLoss:
        """The privacy loss of the response of two values; that of equal laws where they are equal."""
        assert replacement is not None  # the relation is replace-one
        here, there = int(record[0]), int(replacement[0])
        if here == there:
            return identical_laws()
        truth, lie = self.noise.odds, ExponentialSum.of(1)
        rest = [ExponentialSum.of(self.options - 2)] if self.options > 2 else []
        return FiniteLoss.of_weights(
            [truth, lie, *rest],
            [lie, truth, *rest],
            outcomes=(f"the value {here}", f"the value {there}", *(["any other value"] if rest else [])),
            assumed=(RANDOM_BITS,),
        )

    def statistic(self, records: Array) -> Array:
        """The value: shape (1,)."""
        value: Array = records[0]
        return value

    def probabilities(self, dataset: ArrayLike) -> Array:
        """The law of the released value on a dataset in float64: shape (k,)."""
        weights = np.ones(self.options)
        weights[int(self.embed(dataset)[0])] = np.exp(self.noise.log_odds)
        found: Array = weights / weights.sum()
        return found

    def likelihood_score(self, pair: NeighbourPair) -> Callable[[Array], Array]:
        """epsilon on the value of the dataset, -epsilon on that of the neighbour, 0 elsewhere."""
        here, there = self.embed(pair.dataset)[0], self.embed(pair.neighbour)[0]
        rate = self.noise.log_odds

        def score(released: Array) -> Array:
            value = released[:, 0]
            found: Array = rate * ((value == here).astype(np.float64) - (value == there))
            return found

        return score

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        given = super().describe() | {"options": str(self.options)}
        del given["dim"]
        return given
