"""A local randomiser: the report of one person about one value, with the regions of outcomes that two values divide."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, NamedTuple, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.audit.losses.base import REAL_ARITHMETIC, PrivacyLoss
from dpverdict.audit.losses.closed_form import identical_laws
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.balls import Exact, refine
from dpverdict.checks import check_array, check_dim, check_positive
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.bounds import WorstPair
from dpverdict.mechanisms.core.guarantees import PureDP
from dpverdict.mechanisms.core.mechanism import StatisticMechanism
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, NeighbourPair
from dpverdict.mechanisms.core.parameters import Parameter, whole
from dpverdict.numerics.arrays import Array, Integers
from dpverdict.numerics.exponential_sums import ExponentialSum
from dpverdict.numerics.text import exact_text

MOST_VALUES: Final = 1 << 16
"""The largest number of values: a report of some randomisers has as many numbers."""

LARGEST_EPSILON: Final = 600
"""Beyond this exp(epsilon) has no float64."""

OPTIONS: Final = Parameter("options", "K", "Number of options that are scored, or of values.", whole)


class Region(NamedTuple):
    """A set of outcomes of one likelihood ratio, with its weights under two laws, which are divided by their sums."""

    name: str
    p: ExponentialSum
    q: ExponentialSum


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The law of what is reported, given the values: what takes the place of noise."""

    size: int
    draw: Callable[[Array, int, np.random.Generator], Array]

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        """Reports about n values: shape (n,) -> (trials, m)."""
        return self.draw(statistic, trials, rng)

    def covariance(self) -> dict[str, Fraction]:
        """Empty: nothing is added."""
        return {}


class LocalRandomizer(StatisticMechanism):
    """The report of one person about one value. A dataset is one record; neighbours replace it.

    A randomiser says how outcomes divide between two values (``regions``), however many outcomes there are, and draws.
    The loss of a pair, the likelihood ratio and the worst pair are derived from the regions.
    """

    adjacency: NeighboringRelation = REPLACE_ONE
    noise: Report
    claim: PureDP
    dim: int
    assumptions: tuple[str, ...]
    worst_description: ClassVar[str] = "the value 0 replaced by the value 1"
    why_worst: ClassVar[str] = "the law is the same for every two values, but for the names of outcomes"

    @abstractmethod
    def regions(self, here: Fraction, there: Fraction) -> Sequence[Region]:
        """How two values that differ divide the outcomes."""

    @abstractmethod
    def region_of(self, released: Array, here: Fraction, there: Fraction) -> Integers:
        """In which of the regions reports are: shape (trials, m) -> (trials,)."""

    @abstractmethod
    def draw(self, value: Array, trials: int, rng: np.random.Generator) -> Array:
        """Independent reports about one value: shape (1,) -> (trials, m)."""

    def _set_claim(self, epsilon: Exact) -> Fraction:
        budget = check_positive(epsilon, "epsilon")
        if budget > LARGEST_EPSILON:
            raise InvalidValue("epsilon", epsilon, f"at most {LARGEST_EPSILON}", "no noise is left long before")
        self.dim, self.claim = 1, PureDP(budget)
        return budget

    # what is known ----------------------------------------------------------------------------------------------------

    def _extremes(self) -> tuple[float, float]:
        """The values of the worst pair."""
        return 0.0, 1.0

    def _worst(self) -> WorstPair:
        here, there = (np.full((1, 1), value) for value in self._extremes())
        return WorstPair(
            loss=self.pair_loss(here[0], there[0], 0),
            pair=self.neighbours(here, there),
            description=self.worst_description,
            justification=self.why_worst,
        )

    def above(self) -> tuple[WorstPair]:
        """The two values that differ most."""
        return (self._worst(),)

    def below(self) -> tuple[WorstPair]:
        """The same pair."""
        return (self._worst(),)

    def pair_loss(self, record: Array, replacement: Array | None, position: int) -> PrivacyLoss:
        """Of two values, exactly; that of equal laws where they are equal."""
        assert replacement is not None  # the relation is replace-one
        here, there = Fraction(float(record[0])), Fraction(float(replacement[0]))
        if here == there:
            return identical_laws()
        found = self.regions(here, there)
        return FiniteLoss.of_weights(
            [region.p for region in found],
            [region.q for region in found],
            outcomes=[region.name for region in found],
            assumed=(REAL_ARITHMETIC,),
        )

    # what is released -------------------------------------------------------------------------------------------------

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(1,)"""
        return (1,)

    @abstractmethod
    def check_value(self, value: float) -> None:
        """Whether a person can have this value.

        Raises:
            InvalidValue: no person can.
        """

    def check_records(self, dataset: ArrayLike) -> Array:
        """One record as float64 of shape (1, 1)."""
        records = check_array(dataset, (1,), -np.inf, np.inf)
        if len(records) != 1:
            remedy = "run the mechanism once for every person"
            raise InvalidValue("dataset", f"{len(records)} records", "one record, of one person", remedy)
        self.check_value(float(records[0, 0]))
        return records

    def statistic(self, records: Array) -> Array:
        """The value: shape (1,)."""
        value: Array = records[0]
        return value

    def likelihood_score(self, pair: NeighbourPair) -> Callable[[Array], Array]:
        """The log-likelihood ratio of the region in which a report is; infinite ones are cut at 1e6."""
        here, there = (Fraction(float(self.embed(side)[0])) for side in (pair.dataset, pair.neighbour))
        found = self.regions(here, there)
        weights = np.array([[_float(region.p), _float(region.q)] for region in found])
        with np.errstate(divide="ignore", invalid="ignore"):  # a region may be empty under one law, or both
            logs = np.log(weights / weights.sum(axis=0))
            ratios = np.clip(np.nan_to_num(logs[:, 0] - logs[:, 1], nan=0.0), -1e6, 1e6)

        def score(released: Array) -> Array:
            scores: Array = ratios[self.region_of(released, here, there)]
            return scores

        return score

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        return StatisticMechanism.describe(self) | {"epsilon": exact_text(self.claim.epsilon)}


class CategoricalRandomizer(LocalRandomizer):
    """A randomiser of one of the values 0, ..., k - 1, all of which are treated alike.

    Attributes:
        options: k.
    """

    parameters: ClassVar[tuple[Parameter, ...]] = (OPTIONS,)
    options: int
    noise: Report
    assumptions: tuple[str, ...]

    def _set(
        self, options: int, epsilon: Exact, size: int | None = None, assumptions: tuple[str, ...] = ()
    ) -> Fraction:
        """Check what all have; ``size`` numbers a report, k if left out."""
        self.options = check_dim(options, "options")
        if not 2 <= self.options <= MOST_VALUES:
            raise InvalidValue("options", options, f"from 2 to {MOST_VALUES}", "one value needs no report")
        self.assumptions = ("the record is one of the values", *assumptions)
        self.noise = Report(size=self.options if size is None else size, draw=self.draw)
        return self._set_claim(epsilon)

    def check_value(self, value: float) -> None:
        """A whole number below k.

        Raises:
            InvalidValue: another number.
        """
        if value not in range(self.options):
            requirement = f"a whole number from 0 to {self.options - 1}"
            raise InvalidValue("dataset entry", value, requirement, "number the values from 0")

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        return LocalRandomizer.describe(self) | {"options": str(self.options)}


def _float(weight: ExponentialSum) -> float:
    return float(refine(weight.ball, bits=60)) if weight.terms else 0.0


def chance(weight: ExponentialSum, whole_weight: ExponentialSum) -> float:
    """A quotient of two weights in float64."""
    return float(refine(lambda: weight.ball() / whole_weight.ball(), bits=60)) if weight.terms else 0.0
