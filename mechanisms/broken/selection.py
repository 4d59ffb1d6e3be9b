"""Known-wrong selection, sparse vectors, responses, reports and counts, each with the epsilon it really has.

Notation: e = the epsilon that is claimed, d = the number of options, queries or values, or the largest move of a count.
All claims but that of N1 are under REPLACE_ONE, about records of [0, 1]^d. The true epsilon of a sparse vector is the
supremum over any number of queries, which no number attains; the others are those of d.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.audit.laws.laplace import Laplace
from dpverdict.audit.losses.base import RANDOM_BITS, REAL_ARITHMETIC, PrivacyLoss
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.balls import Exact
from dpverdict.checks import check_array, check_dim, check_positive
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.bounds import Above, AttainedLoss, Dominating, WorstPair
from dpverdict.mechanisms.core.guarantees import PureDP
from dpverdict.mechanisms.core.laplace_noise import DiscreteLaplaceNoise
from dpverdict.mechanisms.core.mechanism import StatisticMechanism, StructuredMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE
from dpverdict.mechanisms.finite.above_threshold import AboveThreshold, ThresholdNoise
from dpverdict.mechanisms.finite.exponential import ExponentialMechanism
from dpverdict.mechanisms.finite.geometric import GeometricMechanism
from dpverdict.mechanisms.finite.law import ScaledNoise, first_below_law
from dpverdict.mechanisms.finite.noisy_max import ReportNoisyMax
from dpverdict.mechanisms.finite.permute_and_flip import PermuteAndFlip
from dpverdict.mechanisms.finite.quantile import IntervalQuantile
from dpverdict.mechanisms.finite.randomized_response import RandomizedResponse
from dpverdict.mechanisms.local.hashing import CountMeanSketch
from dpverdict.mechanisms.local.numbers import NumberReport
from dpverdict.mechanisms.local.randomizer import LocalRandomizer
from dpverdict.mechanisms.local.unary import UnaryEncoding
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exponential_sums import ExponentialSum

LARGEST_DIM_SHOWN: Final = 9


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionMutant:
    """A known-wrong mechanism of few outcomes, with its true epsilon.

    Attributes:
        name: identifier, for example "X1".
        title: what is wrong, in a few words.
        source: where the slip is printed or made.
        formula: the true epsilon in words of d and e.
        build: makes the mechanism for (dim, epsilon).
        epsilon: the true epsilon from d and e.
        least_dim: the smallest dimension in which the variant exists.
        refuted_from: the smallest dimension in which some pair of neighbours breaks the claim, at epsilon = 1.
    """

    name: str
    title: str
    source: str
    formula: str
    build: Callable[[int, Fraction], StructuredMechanism]
    epsilon: Callable[[int, float], float]
    least_dim: int = 2
    refuted_from: int = 2
    parameters: ClassVar[tuple[str, ...]] = ("dim", "epsilon")

    def make(self, dim: int, epsilon: Exact) -> StructuredMechanism:
        """The wrong mechanism, claiming ``PureDP(epsilon)``.

        Raises:
            InvalidValue: an argument is out of range.
        """
        wrong = self.build(self._dim(dim), check_positive(epsilon, "epsilon"))
        wrong.name, wrong.source = f"broken:{self.name}", f"known-wrong variant {self.name}"
        return wrong

    def true_epsilon(self, dim: int, epsilon: Exact) -> float:
        """The least epsilon that the variant keeps, up to rounding; infinite where there is none."""
        return self.epsilon(self._dim(dim), float(check_positive(epsilon, "epsilon")))

    def refutable(self, dim: int, epsilon: Exact = 1) -> bool:
        """Whether the claim is false at ``epsilon`` = 1, and refuted."""
        check_positive(epsilon, "epsilon")
        return self._dim(dim) >= self.refuted_from

    def where_refutable(self) -> str:
        """The dimensions up to `LARGEST_DIM_SHOWN` in which it is, in words."""
        return "all" if self.refuted_from <= self.least_dim else f"all from d = {self.refuted_from}"

    def _dim(self, dim: int) -> int:
        checked = check_dim(dim)
        if checked < self.least_dim:
            raise InvalidValue("dim", dim, f">= {self.least_dim} for {self.name}", "one option is no selection")
        return checked


# one event that shows more than the claim allows ----------------------------------------------------------------------


class _Broken(StatisticMechanism):
    """A variant that is no variant of a class: a pair of datasets with the probabilities of one event.

    Attributes:
        high: the largest entry of a record.
        shown: the pair, with the laws of the event.
        bound: what dominates every pair, if anything does.
    """

    adjacency: NeighboringRelation = REPLACE_ONE
    high: float = 1.0
    shown: AttainedLoss
    bound: PrivacyLoss | None = None

    def above(self) -> tuple[Above, ...]:
        """The bound, if there is one."""
        if self.bound is None:
            return ()
        return (Dominating(loss=self.bound, description=self.shown.description, justification=_TELLING),)

    def below(self) -> tuple[AttainedLoss]:
        """The pair with the event."""
        return (self.shown,)

    def pair_loss(self, record: Array, replacement: Array | None, position: int) -> PrivacyLoss:
        """That of the pair shown.

        Raises:
            InvalidValue: another pair.
        """
        pair = self.shown.pair
        if replacement is None or (record != pair.dataset[0]).any() or (replacement != pair.neighbour[0]).any():
            raise InvalidValue("record", record, "that of the worst pair", "no other loss of this variant is known")
        return self.shown.loss

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(d,)"""
        return (self.dim,)

    def check_records(self, dataset: ArrayLike) -> Array:
        """The records as float64 of shape (n, d), in the range of the variant."""
        return check_array(dataset, self.record_shape, 0.0, self.high)

    def statistic(self, records: Array) -> Array:
        """Sums over the records."""
        total: Array = records.sum(axis=0)
        return total


_TELLING: Final = "the event is the one that tells most of the slip"


def _event(p: ExponentialSum, q: ExponentialSum, name: str, assumed: str) -> FiniteLoss:
    one = ExponentialSum.of(1)
    return FiniteLoss.of_weights([p, one - p], [q, one - q], outcomes=(name, "other outcomes"), assumed=(assumed,))


@final
class NoisyMaximum(_Broken):
    """The largest noisy score itself, not the number of its option: X4."""

    dim: int
    claim: PureDP
    noise: ThresholdNoise
    shown: AttainedLoss
    assumptions: tuple[str, ...]

    def __init__(self, dim: int, epsilon: Fraction) -> None:
        self.dim, self.claim = dim, PureDP(epsilon)
        scale = float(2 / epsilon)
        self.noise = ThresholdNoise(queries=dim - 1, query_scale=scale, threshold_scale=scale)
        rate, half = 1 / Fraction(scale), Fraction(1, 2) ** dim
        self.shown = AttainedLoss(
            pair=self.neighbours(np.zeros((1, dim)), np.ones((1, dim))),
            loss=_event(
                ExponentialSum.of(half),
                ExponentialSum.exp(-rate * dim).times(half),
                "the largest noisy score is at most 0",
                REAL_ARITHMETIC,
            ),
            description="a record of zeros replaced by a record of ones",
        )
        self.bound: PrivacyLoss | None = LaplaceLoss.grouped([(rate, dim)])
        self.assumptions = ("every score of a record lies in [0, 1]",)

    def decode(self, noisy: Array) -> Array:
        """The largest noisy score: shape (trials, 1)."""
        largest: Array = noisy.max(axis=1, keepdims=True)
        return largest


@final
class NoisyAnswer(_Broken):
    """Above threshold with the noisy query in place of the answer "above", and the same noise: A3."""

    dim: int
    claim: PureDP
    noise: ThresholdNoise
    shown: AttainedLoss
    assumptions: tuple[str, ...]

    def __init__(self, dim: int, epsilon: Fraction) -> None:
        self.dim, self.claim = dim, PureDP(epsilon)
        scale = float(2 / epsilon)
        self.noise = ThresholdNoise(queries=dim, query_scale=scale, threshold_scale=scale)
        law, here = ScaledNoise(Laplace(), 1 / Fraction(scale)), np.zeros((1, dim))
        there = np.where(np.arange(dim) < dim - 1, 1.0, 0.0)[None]
        p, q = (first_below_law(law, law, [Fraction(x) for x in side[0].tolist()]) for side in (here, there))
        self.shown = AttainedLoss(
            pair=self.neighbours(here, there),
            loss=_event(
                p, q, "all but the last are below, and the last answer is above and at most 0", REAL_ARITHMETIC
            ),
            description="a record of zeros replaced by one that raises all queries but the last",
        )
        self.assumptions = ("every record moves a query by a number in [0, 1]",)

    def statistic(self, records: Array) -> Array:
        """The queries and the threshold 0: shape (d + 1,)."""
        return np.append(records.sum(axis=0), 0.0)

    def decode(self, noisy: Array) -> Array:
        """Two numbers: how many are below before the first above, and its noisy value (0 if none is)."""
        above = noisy[:, :-1] >= noisy[:, -1:]
        place = np.where(above.any(axis=1), above.argmax(axis=1), self.dim)
        values = np.where(place < self.dim, noisy[np.arange(len(noisy)), np.minimum(place, self.dim - 1)], 0.0)
        return np.column_stack([place.astype(np.float64), values])


@final
class OneSidedCount(_Broken):
    """A count with geometric noise that is never negative: Q3."""

    dim: int
    claim: PureDP
    high: float
    noise: DiscreteLaplaceNoise
    shown: AttainedLoss
    assumptions: tuple[str, ...]

    def __init__(self, dim: int, epsilon: Fraction) -> None:
        self.dim, self.claim, self.high = 1, PureDP(epsilon), float(dim)
        rate = epsilon / dim
        self.noise = DiscreteLaplaceNoise(size=1, rate=rate)
        below = ExponentialSum.of(1) - ExponentialSum.exp(-rate * dim)
        self.shown = AttainedLoss(
            pair=self.neighbours(np.zeros((1, 1)), np.full((1, 1), float(dim))),
            loss=_event(below, ExponentialSum({}), f"the count is below {dim}", RANDOM_BITS),
            description=f"a record of 0 replaced by one of {dim}",
        )
        self.assumptions = (f"every record is a whole number in [0, {dim}]",)

    def above(self) -> tuple[WorstPair]:
        """The longest move, whose two outcomes say all: beyond the range of Q's outcomes the loss is one number."""
        shown = self.shown
        return (WorstPair(loss=shown.loss, pair=shown.pair, description=shown.description, justification=_TELLING),)

    def release_many(self, dataset: ArrayLike, trials: int, rng: np.random.Generator) -> Array:
        """The count plus a geometric variable, drawn as the noise given that it is not negative."""
        statistic, count = self.embed(dataset), check_dim(trials, "trials")
        noise = self.noise.add(np.zeros(1), count, rng)
        while (negative := np.flatnonzero(noise[:, 0] < 0)).size:
            noise[negative] = self.noise.add(np.zeros(1), len(negative), rng)
        return noise + statistic


def _mass(rate: float, center: int, last: int) -> float:
    """The sum of exp(-rate |y - center|) over y = 0, ..., last."""
    return sum(math.exp(-rate * abs(y - center)) for y in range(last + 1))


def _response_variant(
    odds: Callable[[int, ExponentialSum], ExponentialSum],
) -> Callable[[int, Fraction], RandomizedResponse]:
    def build(dim: int, epsilon: Fraction) -> RandomizedResponse:
        wrong = odds(dim, ExponentialSum.exp(epsilon))
        return RandomizedResponse.with_odds(options=dim, epsilon=epsilon, odds=wrong)

    return build


def _claiming_half(build: Callable[[int, Fraction], LocalRandomizer]) -> Callable[[int, Fraction], LocalRandomizer]:
    """A randomiser that is made for twice the epsilon that it claims."""

    def wrong(dim: int, epsilon: Fraction) -> LocalRandomizer:
        made = build(dim, 2 * epsilon)
        made.claim = PureDP(epsilon)
        return made

    return wrong


def _sparse_variant(
    threshold_scale: Fraction, query_scale: Fraction, positives: Callable[[int], int]
) -> Callable[[int, Fraction], AboveThreshold]:
    """The sparse vector with these scales at epsilon = 1, threshold 20."""

    def build(dim: int, epsilon: Fraction) -> AboveThreshold:
        return AboveThreshold(
            queries=dim,
            epsilon=epsilon,
            adjacency=REPLACE_ONE,
            threshold=20,
            positives=positives(dim),
            threshold_scale=threshold_scale / epsilon,
            query_scale=query_scale / epsilon,
        )

    return build


_LYU: Final = "Lyu, Su and Li 2017, Figure 1"


def _quantile_with_the_rate_of_the_median(dim: int, epsilon: Fraction) -> StructuredMechanism:
    return IntervalQuantile(
        quantile=Fraction(1, dim + 1), low=0, high=1, epsilon=epsilon, rate=epsilon, adjacency=ADD_OR_REMOVE_ONE
    )


ALL: tuple[SelectionMutant, ...] = (
    SelectionMutant(
        name="X1",
        title="exponential mechanism with weights exp(e u), for scores that may fall",
        source="McSherry and Talwar 2007, Theorem 6, without the factor 2",
        formula="2 e",
        build=lambda d, e: ExponentialMechanism(options=d, epsilon=e, adjacency=REPLACE_ONE, rate=e),
        epsilon=lambda d, e: 2 * e,
    ),
    SelectionMutant(
        name="X2",
        title="permute-and-flip with acceptance exp(e (u - max u)), for scores that may fall",
        source="McKenna and Sheldon 2020, Algorithm 1, without the factor 2",
        formula="2 e",
        build=lambda d, e: PermuteAndFlip(options=d, epsilon=e, adjacency=REPLACE_ONE, rate=e),
        epsilon=lambda d, e: 2 * e,
    ),
    SelectionMutant(
        name="X3",
        title="noisy maximum with Laplace noise of scale 1/e, for scores that may fall",
        source="Dwork and Roth 2014, Claim 3.9, whose scores only rise",
        formula="2 e, approached",
        build=lambda d, e: ReportNoisyMax(options=d, epsilon=e, adjacency=REPLACE_ONE, noise="laplace", scale=1 / e),
        epsilon=lambda d, e: 2 * e,
    ),
    SelectionMutant(
        name="X4",
        title="noisy maximum that releases its value, with Laplace noise of scale 2/e",
        source="Dwork and Roth 2014, Claim 3.9, which releases the option",
        formula="d e/2",
        build=NoisyMaximum,
        epsilon=lambda d, e: d * e / 2,
        refuted_from=3,
    ),
    SelectionMutant(
        name="A1",
        title="sparse vector with query noise of scale 2/e, the half",
        source="Lyu, Su and Li 2017, Theorem 2",
        formula="3 e/2, approached",
        build=_sparse_variant(Fraction(2), Fraction(2), lambda d: 1),
        epsilon=lambda d, e: 1.5 * e,
        refuted_from=3,
    ),
    SelectionMutant(
        name="A2",
        title="sparse vector with both scales halved: 1/e and 2/e",
        source="Lyu, Su and Li 2017, Theorem 2",
        formula="2 e, approached",
        build=_sparse_variant(Fraction(1), Fraction(2), lambda d: 1),
        epsilon=lambda d, e: 2 * e,
        refuted_from=3,
    ),
    SelectionMutant(
        name="A3",
        title="sparse vector that releases the noisy query which was compared",
        source=f"{_LYU}, Algorithm 3 (lecture notes of Roth 2011)",
        formula="none; at least (d - 1) e/2",
        build=NoisyAnswer,
        epsilon=lambda d, e: math.inf,
        refuted_from=4,
    ),
    SelectionMutant(
        name="A4",
        title="sparse vector whose query noise, 4/(3 e), does not grow with the answers above; two are given",
        source=f"{_LYU}, Algorithm 4 (Lee and Clifton 2014)",
        formula="13 e/4, approached",
        build=_sparse_variant(Fraction(4), Fraction(4, 3), lambda d: min(d, 2)),
        epsilon=lambda d, e: 13 * e / 4,
    ),
    SelectionMutant(
        name="A5",
        title="sparse vector without noise on the queries",
        source=f"{_LYU}, Algorithm 5 (Stoddard, Chen and Machanavajjhala 2014)",
        formula="none",
        build=_sparse_variant(Fraction(2), Fraction(0), lambda d: d),
        epsilon=lambda d, e: math.inf,
    ),
    SelectionMutant(
        name="A6",
        title="sparse vector that answers without end, with noise for one answer above",
        source=f"{_LYU}, Algorithm 6 (Chen, Xiao, Zhang and Xu 2015)",
        formula="none for any d; approached with d",
        build=_sparse_variant(Fraction(2), Fraction(2), lambda d: d),
        epsilon=lambda d, e: math.inf,
        refuted_from=3,
    ),
    SelectionMutant(
        name="R1",
        title="randomised response of d values with the odds of two",
        source="Warner 1965, for two values",
        formula="e + log(d - 1)",
        build=_response_variant(lambda d, e: e.times(d - 1)),
        epsilon=lambda d, e: e + math.log(d - 1),
        refuted_from=3,
    ),
    SelectionMutant(
        name="R2",
        title="randomised response whose lie may be the truth",
        source="Kairouz, Bonawitz and Ramage 2016, section 4.1",
        formula="log(1 + d exp(e)/(d - 1))",
        build=_response_variant(lambda d, e: ExponentialSum.of(1) + e.times(Fraction(d, d - 1))),
        epsilon=lambda d, e: math.log1p(d * math.exp(e) / (d - 1)),
    ),
    SelectionMutant(
        name="U1",
        title="unary encoding, each bit kept with the odds exp(e)",
        source="Wang, Blocki, Li and Jha 2017, section 4.2",
        formula="2 e",
        build=_claiming_half(lambda d, e: UnaryEncoding(options=d, epsilon=e, bits="symmetric")),
        epsilon=lambda d, e: 2 * e,
    ),
    SelectionMutant(
        name="U2",
        title="count-mean sketch, each bit kept with the odds exp(e)",
        source="Differential Privacy Team, Apple 2017, Algorithm 3",
        formula="2 e",
        build=_claiming_half(lambda d, e: CountMeanSketch(options=d, epsilon=e, width=16)),
        epsilon=lambda d, e: 2 * e,
    ),
    SelectionMutant(
        name="U3",
        title="a number reported in pieces with exp(e) for exp(e/2)",
        source="Wang, Xiao, Yang and others 2019, Algorithm 2",
        formula="2 e",
        build=_claiming_half(lambda d, e: NumberReport(epsilon=e, pieces="piecewise")),
        epsilon=lambda d, e: 2 * e,
    ),
    SelectionMutant(
        name="N1",
        title="the quantile 1/(d + 1) of an interval with the rate of the median, under add-or-remove-one",
        source="Smith 2011, Algorithm 2",
        formula="2 d e/(d + 1)",
        build=_quantile_with_the_rate_of_the_median,
        epsilon=lambda d, e: 2 * d * e / (d + 1),
        least_dim=1,
    ),
    SelectionMutant(
        name="Q1",
        title="geometric noise for a move of 1, where a record moves the count by d",
        source="Ghosh, Roughgarden and Sundararajan 2012, Definition 2.2",
        formula="d e",
        build=lambda d, e: GeometricMechanism(epsilon=e, adjacency=REPLACE_ONE, sensitivity=d, rate=e),
        epsilon=lambda d, e: d * e,
    ),
    SelectionMutant(
        name="Q2",
        title="geometric noise renormalised on 0, ..., d, with the rate of all integers",
        source="Ghosh, Roughgarden and Sundararajan 2012, who truncate",
        formula="e + log(Z_1/Z_0), Z_v = sum exp(-e |y - v|)",
        build=lambda d, e: GeometricMechanism(
            epsilon=e, adjacency=REPLACE_ONE, outputs="bounded", low=0, high=d, rate=e
        ),
        epsilon=lambda d, e: e + math.log(_mass(e, 1, d) / _mass(e, 0, d)),
    ),
    SelectionMutant(
        name="Q3",
        title="geometric noise that is never negative",
        source="Ghosh, Roughgarden and Sundararajan 2012, Definition 2.2",
        formula="none; delta = 1 - exp(-e)",
        build=OneSidedCount,
        epsilon=lambda d, e: math.inf,
        least_dim=1,
        refuted_from=1,
    ),
)
"""Every known-wrong mechanism of few outcomes."""
