"""The geometric mechanism: a count with two-sided geometric noise, on the integers or on a range of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Literal, TypeAlias, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.audit.losses.base import RANDOM_BITS, PrivacyLoss
from dpverdict.audit.losses.closed_form import identical_laws
from dpverdict.audit.losses.finite.bounded_range import BoundedRangeLoss
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.balls import Exact
from dpverdict.checks import check_array, check_dim, check_moderate, check_whole, check_whole_entries
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import PureDP
from dpverdict.mechanisms.core.laplace_noise import DiscreteLaplaceNoise
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, NeighbourPair, check_adjacency
from dpverdict.mechanisms.core.noise import Noise
from dpverdict.mechanisms.core.parameters import Parameter, Words
from dpverdict.mechanisms.core.sensitivity import LossBound, Maximum, unsupported
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exponential_sums import ExponentialSum, total
from dpverdict.numerics.text import whole_number

Outputs: TypeAlias = Literal["unbounded", "truncated", "bounded"]
OUTPUTS: Final[tuple[Outputs, ...]] = ("unbounded", "truncated", "bounded")
LARGEST: Final = 1 << 40
MOST_SENSITIVITY: Final = 1 << 12
"""The largest move of the count: the loss takes so many values, and one more."""


def _whole_number_of(name: str, words: Words) -> int:
    return whole_number(words[name], name, at_least=-LARGEST, at_most=LARGEST)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CountSpace:
    """A count that one record moves by at most D, with two-sided geometric noise.

    Attributes:
        reach: D, a whole number.
        replaced: whether a record is replaced; otherwise it is added or removed.
        outputs: which outputs there are.
        low, high: their range, unless unbounded.
    """

    reach: int
    replaced: bool
    outputs: Outputs
    low: int
    high: int

    def maximise(self, noise: Noise) -> Maximum | LossBound:
        """The move by D, from the lower end of the outputs, or to the upper end where the law is renormalised."""
        if not isinstance(noise, DiscreteLaplaceNoise):
            raise unsupported(self, noise)
        start = max(self.low, 0) if self.outputs != "unbounded" else 0
        if self.outputs == "bounded":
            start = max(start, self.high - self.reach)
        rows = np.full((-(-start // self.reach), 1), float(self.reach))
        if len(rows):
            rows[-1] = start - self.reach * (len(rows) - 1)
        moved = np.concatenate([[[float(self.reach)]], rows])
        kept = np.concatenate([[[0.0]], rows]) if self.replaced else rows
        bounded = self.outputs == "bounded"
        loss: PrivacyLoss = _loss_on_integers(noise.rate, self.reach, "y", 0)
        if bounded:
            loss = BoundedRangeLoss(2 * noise.rate * self.reach, assumed=(RANDOM_BITS,))
        exact = not bounded and (self.outputs == "unbounded" or self.low <= start <= self.high - self.reach)
        description = f"a record that moves the count by {self.reach}"
        justification = (
            "the noise is renormalised on the range: the losses of any pair lie in an interval of twice the move "
            "times the rate, and the pair of laws dominates all such (Dong, Durfee and Rogers 2020, Lemma 3.2)"
            if bounded
            else "the noise is log-concave, so that the loss grows with the move"
            + ("; truncating keeps the largest losses" if exact and self.outputs == "truncated" else "")
            + ("" if exact else "; truncating can only hide")
        )
        if exact:
            return Maximum(
                loss=loss, datasets=lambda: (moved, kept), description=description, justification=justification
            )
        return LossBound(
            loss=loss,
            datasets=lambda: (moved, kept),
            description=description,
            justification=justification,
            attained=self.loss_of_counts(noise, start + self.reach, start),
        )

    def loss(self, noise: Noise, record: Array, replacement: Array | None = None) -> PrivacyLoss:
        """The privacy loss of one record alone against none or its replacement; that of equal laws if they are."""
        if not isinstance(noise, DiscreteLaplaceNoise) or (replacement is None) is self.replaced:
            raise unsupported(self, noise)
        return self.loss_of_counts(noise, int(record[0]), 0 if replacement is None else int(replacement[0]))

    def loss_of_counts(self, noise: DiscreteLaplaceNoise, here: int, there: int) -> PrivacyLoss:
        """The privacy loss of the release on two counts; that of equal laws where they are."""
        if self.outputs == "bounded":
            here, there = (min(max(count, self.low), self.high) for count in (here, there))
        if here == there:
            return identical_laws()
        lower, upper = min(here, there), max(here, there)
        if self.outputs == "unbounded":
            laws = _loss_on_integers(noise.rate, upper - lower, "y", lower)
        else:
            laws = _in_range(noise.rate, lower, upper, self.low, self.high, renormalised=self.outputs == "bounded")
        return laws if here == lower else laws.reversed()


def _loss_on_integers(rate: Fraction, move: int, name: str, lower: int) -> FiniteLoss:
    """The laws about ``lower`` (P) and ``lower + move`` (Q), outcomes of one loss together, times 1 + exp(-rate).

    P[y <= lower] = 1/(1 + a) and P[y = lower + x] = a^x (1 - a)/(1 + a), with a = exp(-rate).
    """
    inner = [ExponentialSum.exp(-rate * x) - ExponentialSum.exp(-rate * (x + 1)) for x in range(1, move)]
    p = (ExponentialSum.of(1), *inner, ExponentialSum.exp(-rate * move))
    names = (
        f"{name} <= {lower}",
        *(f"{name} = {lower + x}" for x in range(1, move)),
        f"{name} >= {lower + move}",
    )
    return FiniteLoss.of_weights(p, p[::-1], outcomes=names, assumed=(RANDOM_BITS,))


def _in_range(rate: Fraction, lower: int, upper: int, low: int, high: int, *, renormalised: bool) -> FiniteLoss:
    """The laws about ``lower`` (P) and ``upper`` (Q) on a range; truncation gives its ends all that is beyond.

    Outcomes on one side of both counts have one loss. With a = exp(-rate), the sum of a^|y - c| over y = s, ..., t on
    one side of c is (a^near - a^(far + 1))/(1 - a); all weights are those times 1 - a.
    """

    def between(center: int, first: int, last: int) -> ExponentialSum:
        """(1 - a) times the sum of a^|y - center| over first <= y <= last, which are on one side of the center."""
        near, far = sorted((abs(first - center), abs(last - center)))
        return ExponentialSum.exp(-rate * near) - ExponentialSum.exp(-rate * (far + 1))

    def below(center: int, at: int) -> ExponentialSum:
        """(1 - a) times the sum of a^|y - center| over all y <= at, at or below the center, or above it."""
        if at <= center:
            return ExponentialSum.exp(-rate * (center - at))
        whole = ExponentialSum.of(1) + ExponentialSum.exp(-rate)
        return whole - ExponentialSum.exp(-rate * (at + 1 - center))

    ends = {low - 1, high} if renormalised else {low - 1, low, high - 1, high}  # what is moved has a loss of its own
    cuts = sorted(ends | {y for y in range(lower, upper) if low <= y < high})
    names: list[str] = []
    p: list[ExponentialSum] = []
    q: list[ExponentialSum] = []
    for before, at in itertools.pairwise(cuts):
        first = before + 1
        names.append(f"y = {at}" if first == at else f"{first} <= y <= {at}")
        for center, law in ((lower, p), (upper, q)):
            if renormalised:
                law.append(_sum_in_two_parts(center, first, at, between))
            else:
                start = ExponentialSum.of(0) if first == low else below(center, before)
                end = below(center, at)
                if at == high:
                    end = ExponentialSum.of(1) + ExponentialSum.exp(-rate)
                law.append(end - start)
    return FiniteLoss.of_weights(p, q, outcomes=names, assumed=(RANDOM_BITS,))


def _sum_in_two_parts(
    center: int, first: int, last: int, between: Callable[[int, int, int], ExponentialSum]
) -> ExponentialSum:
    """The sum over first <= y <= last, in two parts where the center is inside."""
    if first < center < last:
        return total([between(center, first, center - 1), between(center, center, last)])
    return between(center, first, last)


@final
class GeometricMechanism(AdditiveMechanism):
    """n(X) + Z with P[Z = z] proportional to exp(-rate |z|) on the integers, n(X) the sum of whole numbers of [0, D].

    The outputs are all integers ("unbounded"); or what is beyond [low, high] is moved to its ends ("truncated"). Both
    have rate = epsilon/D, are epsilon-DP, tightly, and at D = 1 have the loss of binary randomised response. Or the law
    is renormalised on [low, high] ("bounded"): its normalisation tells more, and rate = epsilon/(2 D) keeps epsilon,
    for any range; a long one would need less noise. The sampler is exact.

    Args:
        epsilon: > 0, exact.
        adjacency: the neighbouring relation; the same noise serves both.
        sensitivity: D, a whole number from 1 to `MOST_SENSITIVITY`.
        outputs: "unbounded", "truncated" or "bounded".
        low, high: whole numbers, low < high; needed unless unbounded.
        rate: to be used in place of that of the claim, exact.

    Raises:
        InvalidValue: an argument is out of range.

    Reference: Ghosh, Roughgarden and Sundararajan 2012, Definition 2.2 (truncated) (arXiv:0811.2841).

    >>> from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE
    >>> mechanism = GeometricMechanism(epsilon="0.5", adjacency=ADD_OR_REMOVE_ONE)
    >>> float(mechanism.release([[1.0]] * 10, np.random.default_rng(1))[0]).is_integer()
    True
    """

    name = "geometric"
    title = "a whole number plus whole noise"
    source = "Ghosh, Roughgarden and Sundararajan 2012, Definition 2.2"
    noise: DiscreteLaplaceNoise
    sensitivity: CountSpace
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("sensitivity", "D", "Largest value of one record; 1 if not given.", _whole_number_of),
        Parameter("outputs", "unbounded|truncated|bounded", "Which counts are released; unbounded if not given."),
        Parameter("low", "N", "Smallest output.", _whole_number_of),
        Parameter("high", "N", "Largest output.", _whole_number_of),
    )
    example = "--epsilon 1 --adjacency add-or-remove-one"
    adjacency: NeighboringRelation
    claim: PureDP
    assumptions: tuple[str, ...]

    def __init__(
        self,
        *,
        epsilon: Exact,
        adjacency: NeighboringRelation,
        sensitivity: int = 1,
        outputs: Outputs = "unbounded",
        low: int | None = None,
        high: int | None = None,
        rate: Exact | None = None,
    ) -> None:
        self.dim = 1
        self.adjacency = check_adjacency(adjacency)
        reach = check_dim(sensitivity, "sensitivity")
        if reach > MOST_SENSITIVITY:
            raise InvalidValue("sensitivity", sensitivity, f"at most {MOST_SENSITIVITY}", "count in larger units")
        if outputs not in OUTPUTS:
            raise InvalidValue("outputs", outputs, f"one of {', '.join(OUTPUTS)}", "unbounded is the usual one")
        ends = _checked_range(outputs, low, high)
        budget = check_moderate(epsilon, "epsilon")
        claimed = budget / reach / (2 if outputs == "bounded" else 1)
        self.claim = PureDP(budget)
        self.noise = DiscreteLaplaceNoise(size=1, rate=claimed if rate is None else check_moderate(rate, "rate"))
        self.sensitivity = CountSpace(
            reach=reach, replaced=self.adjacency is not ADD_OR_REMOVE_ONE, outputs=outputs, low=ends[0], high=ends[1]
        )
        self.assumptions = (f"every record is a whole number in [0, {reach}]",)

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(1,)"""
        return (1,)

    def check_records(self, dataset: ArrayLike) -> Array:
        """The records as float64 of shape (n, 1), whole numbers in [0, D]."""
        records = check_array(dataset, (1,), 0.0, float(self.sensitivity.reach))
        check_whole_entries(records, "count in whole units")
        return records

    def statistic(self, records: Array) -> Array:
        """n(X), moved to the ends of the range if the law is renormalised on it: shape (1,)."""
        count: Array = records.sum(axis=0)
        space = self.sensitivity
        return np.clip(count, space.low, space.high) if space.outputs == "bounded" else count

    def decode(self, noisy: Array) -> Array:
        """Counts beyond the range are moved to its ends, unless outputs are unbounded."""
        space = self.sensitivity
        return noisy if space.outputs == "unbounded" else np.clip(noisy, float(space.low), float(space.high))

    def release_many(self, dataset: ArrayLike, trials: int, rng: np.random.Generator) -> Array:
        """``trials`` independent releases: shape (trials, 1). On a bounded range, noise is drawn again until inside."""
        space = self.sensitivity
        if space.outputs != "bounded":
            return AdditiveMechanism.release_many(self, dataset, trials, rng)
        statistic, count = self.embed(dataset), check_dim(trials, "trials")
        released = self.noise.add(statistic, count, rng)
        while (outside := np.flatnonzero((released[:, 0] < space.low) | (released[:, 0] > space.high))).size:
            released[outside] = self.noise.add(statistic, len(outside), rng)
        return released

    def likelihood_score(self, pair: NeighbourPair) -> Callable[[Array], Array]:
        """rate (|y - n(X')| - |y - n(X)|), the log-likelihood ratio but for a constant of a bounded range."""
        here, there = float(self.embed(pair.dataset)[0]), float(self.embed(pair.neighbour)[0])
        rate = float(self.noise.rate)

        def score(released: Array) -> Array:
            found: Array = rate * (np.abs(released[:, 0] - there) - np.abs(released[:, 0] - here))
            return found

        return score

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        space = self.sensitivity
        own = {"sensitivity": str(space.reach), "outputs": space.outputs, "rate": str(self.noise.rate)}
        if space.outputs != "unbounded":
            own |= {"low": str(space.low), "high": str(space.high)}
        given = AdditiveMechanism.describe(self) | own
        del given["dim"]
        return given


def _checked_range(outputs: Outputs, low: int | None, high: int | None) -> tuple[int, int]:
    if outputs == "unbounded":
        for name, value in (("low", low), ("high", high)):
            if value is not None:
                raise InvalidValue(name, value, "left out, as outputs are unbounded", "say outputs='truncated'")
        return 0, 0
    remedy = "give the range of the outputs"
    ends = [check_whole(value, name, least=-LARGEST, remedy=remedy) for name, value in (("low", low), ("high", high))]
    if not ends[0] < ends[1] <= LARGEST:
        raise InvalidValue("high", high, f"above low={low} and at most 2^40", remedy)
    return ends[0], ends[1]
