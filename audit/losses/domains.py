"""What the curves of a privacy loss take and give: checked arguments, numbers or arrays, tails and events.

A `Domain` says where a curve is defined and checks its arguments; `fast` and `certified` dispatch on numbers and
arrays. `LossTails` are the probabilities of L > l and L <= l under both laws, which is all that a lattice
discretisation needs to know of a loss L; an `EventBound` bounds the probabilities of one event.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, final

import numpy as np
from flint import acb, arb, ctx
from numpy.typing import NDArray

from dpverdict.balls import Enclosure, Enclosures, Exact, Quantity, ball, exactly, float_down, precision
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.numerics.arrays import Array

if TYPE_CHECKING:
    from typing_extensions import TypeIs


Reals: TypeAlias = (
    NDArray[np.float64]
    | NDArray[np.int64]
    | Sequence[float]
    | Sequence[Fraction]
    | Sequence[Decimal]
    | list[str]
    | tuple[str, ...]
)
"""Many numbers: an array, or a sequence of numbers each taken at its exact value (decimal strings, fractions)."""


class Direction(Enum):
    """The direction of a pair of neighbours: from the dataset with the record to that without it, or back.

    Of dp_accounting's distributions it says which of the two one is.
    """

    REMOVE = "remove"
    """P is the law with the record, Q that without it."""
    ADD = "add"
    """P is the law without the record, Q that with it."""

    @property
    def other(self) -> Direction:
        """The opposite direction."""
        return Direction.ADD if self is Direction.REMOVE else Direction.REMOVE


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """An interval of real numbers, with the words for it."""

    name: str
    lowest: float
    highest: float
    lowest_is_inside: bool
    requirement: str
    remedy: str

    def exact(self, value: Exact) -> Fraction:
        """The exact value of a number, which lies in the domain."""
        rational = exactly(value, name=self.name)
        above = rational >= self.lowest if self.lowest_is_inside else rational > self.lowest
        if not (above and rational <= self.highest):
            raise InvalidValue(self.name, value, self.requirement, self.remedy)
        return rational

    def floats(self, values: Array) -> Array:
        """The array, all of whose entries lie in the domain."""
        above = values >= self.lowest if self.lowest_is_inside else values > self.lowest
        inside = above & (values <= self.highest) & np.isfinite(values)
        if not inside.all():
            raise InvalidValue(self.name, float(values[~inside].flat[0]), self.requirement, self.remedy)
        return values


EPSILON = Domain(
    name="epsilon",
    lowest=-math.inf,
    highest=math.inf,
    lowest_is_inside=True,
    requirement="a finite real number",
    remedy="give epsilon in nats, negative values included",
)
DELTA = Domain(
    name="delta", lowest=0, highest=1, lowest_is_inside=True, requirement="in [0, 1]", remedy="give a probability"
)
ALPHA = Domain(
    name="alpha", lowest=0, highest=1, lowest_is_inside=True, requirement="in [0, 1]", remedy="give the level of a test"
)
ORDER = Domain(
    name="order",
    lowest=0,
    highest=math.inf,
    lowest_is_inside=False,
    requirement="> 0",
    remedy="give the order of a Renyi divergence; 1 is the Kullback-Leibler divergence",
)


PROFILE = Quantity("delta", 0, 1)
LOG_PROFILE = Quantity("log delta", -math.inf, 0)
LEVEL = Quantity("epsilon", 0, math.inf)
TRADE_OFF = Quantity("beta", 0, 1)
DIVERGENCE = Quantity("the Renyi divergence", 0, math.inf)
PROBABILITY = Quantity("the probability", 0, 1)


def is_number(value: Exact | Reals) -> TypeIs[Exact]:
    """Whether the value is one number, rather than a sequence or an array of them."""
    if isinstance(value, np.ndarray):
        return value.ndim == 0
    return isinstance(value, str) or not isinstance(value, Sequence)


WIDEST: Final = 1e-3
"""Relative radius of a ball whose midpoint may still be given as a value; most are narrower than 2^-53."""

NEGLIGIBLE: Final = 1e-12
"""A radius that never matters: of a value that may be 0."""


def fast(
    value: Exact | Reals,
    domain: Domain,
    floats: Callable[[Array], Array],
    balls: Callable[[Sequence[Exact]], list[arb]] | None,
) -> float | Array:
    """A curve in float64: by the float64 formula at arguments that are floats, by rounding the ball at all others.

    A curve without balls has other arguments rounded instead, in the direction in which it claims less privacy.
    """
    if is_number(value):
        rational = domain.exact(value)
        nearest = _float_equal_to(rational)
        if nearest is None and balls is not None:
            return midpoint(balls([rational])[0])
        return float(floats(np.asarray(_float_beside(rational, domain) if nearest is None else nearest)))
    array = _float_array(value)
    if array is not None:
        return floats(domain.floats(array))
    exact = _exact_entries(value, domain)
    equal = [number for number in map(_float_equal_to, exact) if number is not None]
    if len(equal) == len(exact):
        return floats(np.array(equal, dtype=np.float64))
    if balls is None:
        return floats(np.array([_float_beside(number, domain) for number in exact], dtype=np.float64))
    return np.array([midpoint(entry) for entry in balls(exact)], dtype=np.float64)


def midpoint(ball: arb) -> float:
    """The midpoint of a ball as a float64.

    Raises:
        PrecisionExhausted: a ball so wide that its midpoint would pass for a value that is not known.
    """
    radius = float(ball.rad())
    if not math.isfinite(radius) or (radius > WIDEST * abs(float(ball.mid())) and radius > NEGLIGIBLE):
        remedy = "the method of the same name with certified_ before it gives the bounds that are known"
        raise PrecisionExhausted("the value", ctx.prec, remedy)
    return float(ball)


def rounded(balls: Callable[[Sequence[Exact]], list[arb]], numbers: Array) -> Array:
    """The midpoints of the balls at every number.

    Raises:
        PrecisionExhausted: one of the balls is too wide for its midpoint to pass for a value.
    """
    values = [midpoint(value) for value in balls(numbers.ravel().tolist())]
    return np.array(values, dtype=np.float64).reshape(numbers.shape)


def certified(
    value: Exact | Reals, domain: Domain, balls: Callable[[Sequence[Exact]], list[arb]], quantity: Quantity
) -> Enclosure | Enclosures:
    """A curve in balls: an enclosure for a number, enclosures for many."""
    if is_number(value):
        return quantity.enclosure(balls([domain.exact(value)])[0])
    array = _float_array(value)
    if array is not None and array.ndim == 1:
        return Enclosures(balls(domain.floats(array).tolist()), quantity)
    return Enclosures(balls(_exact_entries(value, domain)), quantity)


def _float_equal_to(rational: Fraction) -> float | None:
    """The float64 with exactly this value, if there is one."""
    try:
        nearest = float(rational)
    except OverflowError:
        return None
    return nearest if rational == nearest else None


def _float_beside(rational: Fraction, domain: Domain) -> float:
    """The next float64 at which a curve claims no more privacy: a larger level of a test, a smaller anything else."""
    sign = -1 if domain is ALPHA else 1
    try:
        beside = sign * float(rational)
    except OverflowError:
        beside = sys.float_info.max if sign * rational > 0 else -sys.float_info.max
    if Fraction(beside) > sign * rational:
        beside = math.nextafter(beside, -math.inf)
    return sign * max(beside, -sys.float_info.max)  # beyond all floats, curves are constant in float64


def _float_array(value: Reals) -> Array | None:
    """The array as float64, if that changes none of its entries; None for whatever else there is."""
    if not isinstance(value, np.ndarray) or not np.can_cast(value.dtype, np.float64):
        return None
    if value.dtype.kind in "iu" and (np.abs(value.astype(np.float64)) > 2.0**53).any():
        return None
    return value.astype(np.float64) if value.dtype.kind in "fiu" else None


def _exact_entries(value: Reals, domain: Domain) -> list[Fraction]:
    if isinstance(value, np.ndarray) and value.ndim != 1:
        remedy = "flatten the array, or give float64 numbers to a method that is not certified"
        raise InvalidValue(domain.name, f"array of shape {value.shape}", "one-dimensional", remedy)
    return [domain.exact(entry) for entry in value]


TINY = 1e-300
"""Absolute error that every tail may have besides its relative error: what float64 loses by underflow."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LossTails:
    """The probabilities of L > l and of L <= l under P and under Q, at an array of losses l.

    Ensures: an entry v that stands for the real number t has abs(v - t) <= relative_error * t + TINY. Both sides of
    each law are held, because the difference of two close probabilities is taken on the side where they are small.

    Attributes:
        p_above, p_below: P[L > l] and P[L <= l], float64, of the shape of l.
        q_above, q_below: Q[L > l] and Q[L <= l].
        relative_error: what is promised of every entry; it is a statement of whoever made the tails.

    Raises:
        InvalidValue: arrays of different shapes, or entries that are no probabilities.
    """

    p_above: Array
    p_below: Array
    q_above: Array
    q_below: Array
    relative_error: float

    def __post_init__(self) -> None:
        shape = self.p_above.shape
        for name in ("p_above", "p_below", "q_above", "q_below"):
            values = getattr(self, name)
            if values.shape != shape:
                raise InvalidValue(name, f"array of shape {values.shape}", f"of shape {shape}", "give equal shapes")
            outside = ~((values >= 0) & (values <= 1 + self.relative_error))
            if outside.any():
                raise InvalidValue(name, float(values[outside].flat[0]), "in [0, 1]", "give probabilities")
        if not 0 <= self.relative_error < 1e-3:
            remedy = "state the relative accuracy of the tails, for example 1e-14"
            raise InvalidValue("relative_error", self.relative_error, "in [0, 1e-3)", remedy)


Tails: TypeAlias = Callable[[Array], LossTails]
"""The method ``tails`` of a privacy loss: finite losses of shape (n,) to `LossTails` of shape (n,)."""


def finite_losses(losses: Array) -> Array:
    """The losses as float64.

    Raises:
        InvalidValue: NaN or an infinity.
    """
    array = np.asarray(losses, dtype=np.float64)
    finite = np.isfinite(array)
    if not finite.all():
        raise InvalidValue("l", float(array[~finite].flat[0]), "finite", "give losses in nats, negative ones included")
    return array


_EVENT_BITS: Final = 128


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EventBound:
    """An event with its probabilities under the two laws.

    Attributes:
        event: the set of outputs, in words.
        p_ball: a ball whose lower end is certainly at most P(event).
        q_ball: a ball whose upper end is certainly at least Q(event).
    """

    event: str
    p_ball: arb
    q_ball: arb

    @property
    def p_lower(self) -> float:
        """A lower bound on P(event)."""
        return float_down(self.p_ball)

    @property
    def q_upper(self) -> float:
        """An upper bound on Q(event)."""
        return Enclosure.of_ball(self.q_ball).upper

    def delta_lower(self, epsilon: Exact) -> float:
        """A lower bound on delta(epsilon), P(event) - exp(epsilon) Q(event), rounded down; it may be negative."""
        level = exactly(epsilon, name="epsilon")
        with precision(_EVENT_BITS):
            return float_down(self.p_ball.lower() - ball(level).exp() * self.q_ball.upper())


class PartMoments(Protocol):
    """M(t) = E_P[exp(t L); L finite] of one part, for t > 0."""

    largest: float
    """The largest t for which estimates are made."""

    def estimates(self, points: Array) -> Array:
        """log M at t > 0 of shape (n,), about."""
        ...

    def log_beyond(self, centre: float, heights: Array) -> Array:
        """About log of ``beyond``/M(c), at heights of shape (n,)."""
        ...

    def terms(self, centre: float, height: float, number: int, bits: float) -> float:
        """About how many exponentials so many nodes up to a height take."""
        ...

    def at(self, t: arb) -> arb:
        """M(t) at a real t >= 0, or an upper bound."""
        ...

    def on_line(self, centre: float, step: float, number: int) -> list[acb]:
        """M(centre + i step (k + 1/2)) for k < number, at the current precision."""
        ...

    def beyond(self, centre: arb, height: arb) -> arb:
        """An upper bound on |M(centre + i w)| for all w >= height."""
        ...
