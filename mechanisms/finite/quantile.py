"""A quantile of values in an interval, by the exponential mechanism on the interval itself."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.audit.losses.base import REAL_ARITHMETIC, PrivacyLoss
from dpverdict.audit.losses.closed_form import identical_laws
from dpverdict.audit.losses.finite.bounded_range import BoundedRangeLoss
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.balls import Exact, exactly
from dpverdict.checks import check_array, check_moderate, check_probability
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.bounds import Above, AttainedLoss, Below, Dominating, NearbyPairs, concentrated
from dpverdict.mechanisms.core.guarantees import PureDP
from dpverdict.mechanisms.core.mechanism import StatisticMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, NeighbourPair, check_adjacency
from dpverdict.mechanisms.core.parameters import Parameter
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exponential_sums import ExponentialSum
from dpverdict.numerics.roots import float_above, float_below
from dpverdict.numerics.text import exact_text

MOST_RECORDS: Final = 1 << 16
"""Of the datasets that are written out as the worst: a quantile nearer to 0 or 1 than its inverse is refused."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RankNoise:
    """A point between two values, drawn with a density that falls with the distance of its rank from q n.

    Attributes:
        quantile: q.
        rate: of the fall.
        size: of a release.
    """

    quantile: Fraction
    rate: Fraction
    size: int = 1

    def exponents(self, records: int) -> Array:
        """-rate |rank - q n| of the ranks 0 to n, in float64: shape (n + 1,)."""
        found: Array = -float(self.rate) * np.abs(np.arange(records + 1) - float(self.quantile) * records)
        return found

    def log_weights(self, ends: Array) -> Array:
        """The logarithms of the weights of the stretches between n values and the ends: (n + 2,) -> (n + 1,)."""
        with np.errstate(divide="ignore"):
            found: Array = np.log(np.diff(ends)) + self.exponents(ends.size - 2)
        return found

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        """Points of stretches that are drawn by their weights: shape (n + 2,) -> (trials, 1)."""
        logs = self.log_weights(statistic)
        chances = np.exp(logs - logs.max())
        drawn = rng.choice(logs.size, size=trials, p=chances / chances.sum())
        points: Array = statistic[drawn] + rng.random(trials) * (statistic[drawn + 1] - statistic[drawn])
        return points[:, None]

    def covariance(self) -> dict[str, Fraction]:
        """Empty: which points are drawn depends on the data."""
        return {}


@final
class IntervalQuantile(StatisticMechanism):
    """The q-quantile of n values in [low, high]: y with density proportional to exp(-rate |rank(y) - q n|).

    rank(y) is the number of values below y. One record moves the distances |rank(y) - q n| at two points y relative to
    each other by 2 at most where it is replaced, by 2 max(q, 1 - q) where it is added or removed, m for short: the
    losses of any pair lie in an interval of length m rate. Two stretches of the interval attain what such a bounded
    range allows, at every epsilon with lengths of their own, so that the curve is exact.

    Args:
        quantile: q in (0, 1), exact: 1/2 for the median.
        low, high: of the interval, exact float64; values are clipped to it. It may not depend on the data.
        epsilon: > 0, exact: the claim is epsilon-DP.
        adjacency: the neighbouring relation of the claim.
        rate: exact; epsilon/m if left out.

    Raises:
        InvalidValue: an argument is out of range.

    Reference: Smith 2011, Algorithm 2 (quantiles on an interval); Dong, Durfee and Rogers 2020, Lemma 3.2.

    >>> from dpverdict.audit import certify
    >>> median = IntervalQuantile(quantile="1/2", low=0, high=100, epsilon=1, adjacency=ADD_OR_REMOVE_ONE)
    >>> median.rate, certify(median, "eps=0.9, delta=0.004").status.name, certify(median, "eps=0.9").status.name
    (Fraction(1, 1), 'CERTIFIED', 'REFUTED')
    """

    name = "quantile"
    title = "a quantile on an interval, drawn by its rank"
    source = "Smith 2011, Algorithm 2"
    noise: RankNoise
    dim: int
    quantile: Fraction
    low: float
    high: float
    rate: Fraction
    replaces_record: bool
    claim: PureDP
    adjacency: NeighboringRelation
    assumptions: tuple[str, ...]
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("quantile", "Q", "Between 0 and 1: 1/2 for the median."),
        Parameter("low", "X", "Lower end of the interval, which does not depend on the data."),
        Parameter("high", "X", "Upper end of the interval."),
        Parameter("rate", "X", "What a rank costs in the exponent; what the claim allows if not given."),
    )
    example = "--quantile 1/2 --low 0 --high 1 --epsilon 1 --adjacency replace-one"

    def __init__(
        self,
        *,
        quantile: Exact,
        low: Exact,
        high: Exact,
        epsilon: Exact,
        adjacency: NeighboringRelation,
        rate: Exact | None = None,
    ) -> None:
        self.dim, self.claim = 1, PureDP(check_moderate(epsilon, "epsilon"))
        self.quantile = check_probability(quantile, "quantile", "1/2 is the median")
        if min(self.quantile, 1 - self.quantile) * MOST_RECORDS < 1:
            remedy = "ask for a quantile that few values are not beyond"
            raise InvalidValue("quantile", quantile, f"at least 1/{MOST_RECORDS} from 0 and 1", remedy)
        ends = exactly(low, name="low"), exactly(high, name="high")
        if not ends[0] < ends[1]:
            raise InvalidValue("high", high, f"above low={low}", "give the interval of the values")
        self.low, self.high = float_above(ends[0]), float_below(ends[1])
        if not (Fraction(self.low), Fraction(self.high)) == ends:
            raise InvalidValue("low and high", f"{low}, {high}", "float64", f"take {self.low} and {self.high}")
        self.adjacency = check_adjacency(adjacency)
        self.replaces_record = self.adjacency is not ADD_OR_REMOVE_ONE
        self.rate = self.claim.epsilon / self.move if rate is None else check_moderate(rate, "rate")
        self.noise = RankNoise(quantile=self.quantile, rate=self.rate)
        self.assumptions = ("the interval does not depend on the data", REAL_ARITHMETIC)

    # what is known ----------------------------------------------------------------------------------------------------

    @property
    def move(self) -> Fraction:
        """m: by how much rank(y) - q n moves at two points apart from each other, at most."""
        return Fraction(2) if self.replaces_record else 2 * max(self.quantile, 1 - self.quantile)

    def above(self) -> tuple[Above, ...]:
        """The bounded range m rate, and its concentration."""
        reach = self.move * self.rate
        why = (
            f"the losses of any pair lie in an interval of length {exact_text(reach)}, and the pair of laws dominates "
            "all such; at every epsilon two stretches of the interval attain it"
        )
        loss = BoundedRangeLoss(reach, assumed=(REAL_ARITHMETIC,))
        dominating = Dominating(loss=loss, description="a value that moves past all others", justification=why)
        return (dominating, *concentrated(reach**2 / 8, "by the range of the losses", why, (REAL_ARITHMETIC,)))

    def below(self) -> tuple[Below, ...]:
        """For every epsilon two stretches of lengths of their own."""
        shown = self._nearby(min(self.claim.epsilon, self.move * self.rate * Fraction(3, 4)))
        return (NearbyPairs(shown=shown, at_level=self._nearby),)

    def _nearby(self, level: Fraction) -> AttainedLoss:
        """A value at one end that is replaced by one at the other, or removed; all others at the ends or in between.

        The first of two stretches has ranks below the quantile in both datasets, the second above. At the losses t and
        t - e, t = (level + e)/2, delta(level) is largest, which sets the probability of the former.
        """
        q, reach = self.quantile, float(self.move * self.rate)
        from_low = self.replaces_record or 2 * q <= 1
        size = math.ceil(max(1 / q, 1 / (1 - q)) if self.replaces_record else 1 / min(q, 1 - q))
        fewer = size if self.replaces_record else size - 1
        if from_low:
            first, second = math.floor(q * size) - 1, math.ceil(q * fewer)
        else:
            first, second = math.floor(q * fewer), math.ceil(q * size)
        ranks = [abs(first + from_low - q * size), abs(second + from_low - q * size)]
        loss = (min(max(float(level), -reach), reach) + reach) / 2
        favoured = math.expm1(reach - loss) / (math.exp(reach - loss) - math.exp(-loss))
        odds = favoured / max(1 - favoured, 1e-300)  # of the stretch that the first dataset favours
        if not from_low:
            odds = 1 / max(odds, 1e-300)
        odds *= math.exp(min(float(self.rate * (ranks[0] - ranks[1])), 700.0))
        between = self.low + (self.high - self.low) * odds / (1 + odds)
        others = np.full(size - 1, self.high)
        others[:second], others[:first] = between, self.low
        moved = self.low if from_low else self.high
        here = np.append(others, moved)[::-1, None]
        there = np.append(others, self.high)[::-1, None] if self.replaces_record else here[1:]
        does = "replaced by one at the other" if self.replaces_record else "removed"
        return AttainedLoss(
            pair=self.neighbours(here, there),
            loss=self._loss(here, there),
            description=f"a value at one end of the interval, {does}, with {first} at the lower end and "
            f"{second - first} at {between!r}",
        )

    def pair_loss(self, record: Array, replacement: Array | None, position: int) -> PrivacyLoss:
        """The privacy loss of one record alone against none or its replacement; that of equal laws if they are."""
        return self._loss(record[None], np.zeros((0, 1)) if replacement is None else replacement[None])

    def _loss(self, dataset: Array, neighbour: Array) -> PrivacyLoss:
        """The privacy loss of a pair, exactly: on every stretch without values both densities are constant."""
        sides = [np.sort(np.clip(side[:, 0], self.low, self.high)) for side in (dataset, neighbour)]
        knots = np.unique(np.concatenate([*sides, [self.low, self.high]])).tolist()
        stretches = list(itertools.pairwise(knots))
        laws = []
        for values in sides:
            ranks = np.searchsorted(values, knots[1:], side="left").tolist()
            costs = [abs(rank - self.quantile * len(values)) for rank in ranks]
            least = min(costs)
            laws.append(
                [
                    ExponentialSum.exp(-self.rate * (cost - least)).times(Fraction(end) - Fraction(start))
                    for cost, (start, end) in zip(costs, stretches, strict=True)
                ]
            )
        if laws[0] == laws[1]:
            return identical_laws()
        outcomes = [f"a quantile from {start!r} to {end!r}" for start, end in stretches]
        return FiniteLoss.of_weights(*laws, outcomes=outcomes, assumed=(REAL_ARITHMETIC,))

    # what is released -------------------------------------------------------------------------------------------------

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(1,)"""
        return (1,)

    def check_records(self, dataset: ArrayLike) -> Array:
        """The values as float64 of shape (n, 1), any finite numbers."""
        finite = float(np.finfo(np.float64).max)
        return check_array(dataset, self.record_shape, -finite, finite)

    def statistic(self, records: Array) -> Array:
        """The clipped values in order, between both ends of the interval: shape (n + 2,)."""
        values = np.sort(np.clip(records[:, 0], self.low, self.high))
        return np.concatenate([[self.low], values, [self.high]])

    def log_density(self, dataset: ArrayLike, at: Array) -> Array:
        """The logarithm of the density of the release at points of any shape, in float64."""
        ends = self.embed(dataset)
        logs = self.noise.log_weights(ends)
        whole = logs.max() + math.log(float(np.exp(logs - logs.max()).sum()))
        found: Array = self.noise.exponents(ends.size - 2)[np.searchsorted(ends[1:-1], at, side="left")] - whole
        return found

    def likelihood_score(self, pair: NeighbourPair) -> Callable[[Array], Array]:
        """The log-likelihood ratio of P against Q at releases of shape (trials, 1): the most powerful score."""
        return lambda released: (
            self.log_density(pair.dataset, released[:, 0]) - self.log_density(pair.neighbour, released[:, 0])
        )

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        own = {"quantile": exact_text(self.quantile), "low": repr(self.low), "high": repr(self.high)}
        given = super().describe() | own | {"rate": exact_text(self.rate)}
        del given["dim"]
        return given
