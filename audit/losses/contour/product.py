"""The profile of a composition of any losses with moments: one contour for the product of their moments.

M(t) = E_P[exp(t L); L finite] of a composition is the product of those of its parts, for every t > 0 where all of them
are finite, and

    delta(x) = E_P[(1 - exp(x - L))_+; L finite] + P[L infinite].

The first term has the transform M(t)/(t (t + 1)). It is inverted by `dpverdict.audit.losses.contour.integral`, whose
alias is bounded by M at two real points. What is cut off is charged by a bound B on |M(c + i w)| for all w >= V, the
product of one bound for each part: the nodes at w_k >= V have weights of at most w_k^-2, and 1/w^2 is convex, so that

    (step/pi) exp(-c x) sum |M(t_k)| w_k^-2  <=  exp(-c x) B/(pi V).

A part without a density has |M(c + i w)| <= M(c) and no more; one part must have more. float64 estimates choose the
line; any choice gives a valid ball.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Final, final

import numpy as np
from flint import acb, arb
from numpy.typing import NDArray

from dpverdict.audit.losses.contour.integral import Contour, nearest
from dpverdict.audit.losses.contour.moments import ContourPlan, Kind, MomentFunction
from dpverdict.audit.losses.domains import PartMoments
from dpverdict.audit.losses.finite.atoms import to_the_power
from dpverdict.balls import ball, precision
from dpverdict.errors import PrecisionExhausted
from dpverdict.numerics.arrays import Array

MOST_TERMS: Final = 6e6
"""The most expensive contour that is laid, in exponentials: some seconds."""

_LOG2: Final = math.log(2)
_GUARD: Final = 6
_ATTEMPTS: Final = 6
_KEPT: Final = 12
_CENTRES: Final = 96
_CHERNOFF: Final = 3
_SPARE: Final = 250.0  # by how much more than at the saddle the terms may cancel, as a logarithm
_NUMBERS: Final = 200
_LINES: Final = 24
_STRIDES: Final = (4, 2, 1)  # through the lines
_AT_ONCE: Final = 6  # heights
_MOST_NODES: Final = 1 << 17
_BOUND_BITS: Final = 96
_FURTHEST: Final = Fraction(1 << 40)


@final
class GaussianAndLaplace:
    """The moments of Gaussian and Laplace parts together."""

    __slots__ = ("_moments", "_variance", "largest")
    largest: float

    def __init__(self, moments: MomentFunction) -> None:
        self._moments, self._variance = moments, moments.variance.nearest()
        self.largest = 1e4 / max(moments.spread, 1e-3)

    def estimates(self, points: Array) -> Array:
        """log M at t > 0, about."""
        return self._moments.logarithm(points)

    def log_beyond(self, centre: float, heights: Array) -> Array:
        """That of the normal factor."""
        found: Array = -self._variance * heights**2 / 2
        return found

    def terms(self, centre: float, height: float, number: int, bits: float) -> float:
        """Some products of complex numbers for every node."""
        return number * (4 + 4 * len(self._moments.shifts))

    def at(self, t: arb) -> arb:
        """M(t)."""
        return self._moments.at(t)

    def on_line(self, centre: float, step: float, number: int) -> list[acb]:
        """M on a line."""
        return self._moments.on_line(centre, step, number)

    def beyond(self, centre: arb, height: arb) -> arb:
        """M(c), and the explicit fall of the normal factor."""
        return self._moments.at(centre) * (-self._moments.variance.ball() * height * height / 2).exp()


@final
class _Product:
    """The product of the moments of the parts, each to the power of its count."""

    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[tuple[PartMoments, int]]) -> None:
        self.parts = tuple(parts)

    def at(self, t: arb) -> arb:
        total = arb(1)
        for part, count in self.parts:
            total *= part.at(t) ** count
        return total

    def on_line(self, centre: float, step: float, number: int) -> list[acb]:
        total: list[acb] | None = None
        for part, count in self.parts:
            values = [to_the_power(value, count) for value in part.on_line(centre, step, number)]
            total = values if total is None else [one * other for one, other in zip(total, values, strict=True)]
        assert total is not None  # there are parts
        return total

    def dropped(self, centre: arb, step: arb, height: arb) -> arb:
        first, bound = height - step / 2, arb(1)
        for part, count in self.parts:
            bound *= part.beyond(centre, first) ** count
        return bound * height**2 / (arb.pi() * first)

    def estimates(self, points: Array) -> Array:
        found: Array = np.sum([count * part.estimates(points) for part, count in self.parts], axis=0)
        return found

    def log_beyond(self, centre: float, heights: Array) -> Array:
        found: Array = np.sum([count * part.log_beyond(centre, heights) for part, count in self.parts], axis=0)
        return found

    def terms(self, centre: float, height: float, number: int, bits: float) -> float:
        return sum(part.terms(centre, height, number, bits) for part, _ in self.parts)


@final
class ProductContour:
    """E_P[(1 - exp(x - L))_+; L finite] of a composition, to any accuracy whose contour costs at most `MOST_TERMS`.

    Args:
        parts: the moments of the parts, each with the number of times it occurs.
    """

    __slots__ = ("_centres", "_curvatures", "_laid", "_logarithms", "_product")

    def __init__(self, parts: Sequence[tuple[PartMoments, int]]) -> None:
        self._product = _Product(parts)
        largest = min(part.largest for part, _ in parts)
        self._centres = np.geomspace(2.0**-8, largest, _CENTRES)
        with np.errstate(all="ignore"):
            near = self._centres[:, None] * np.array([1 - 1e-2, 1.0, 1 + 1e-2])
            values = self._product.estimates(near.ravel()).reshape(near.shape)
            gaps = 1e-2 * self._centres
            self._curvatures = np.maximum((values[:, 0] - 2 * values[:, 1] + values[:, 2]) / gaps**2, 1e-300)
        self._logarithms = values[:, 1]
        self._laid: list[Contour] = []

    def value(self, x: Fraction, bits: int, *, absolute: int | None = None) -> arb:
        """The profile at any rational x, to ``bits`` accurate bits, or with an error below 2^-``absolute``.

        Raises:
            PrecisionExhausted: the contour would take more than `MOST_TERMS`.
        """

        def short(value: arb) -> int:
            """How many bits are missing."""
            if absolute is not None:
                size = value.rad()
                if not value.is_finite():
                    return absolute
                return 0 if size.is_zero() else max(0, absolute + math.ceil(float(size.log()) / _LOG2))
            return max(0, bits - value.rel_accuracy_bits())

        for known in reversed(self._laid):
            value = known.value(Kind.PROFILE, x)
            if not short(value):
                return value
        place = nearest(x)
        if not (math.isfinite(place) and math.isfinite(self.log_size(place))):
            raise PrecisionExhausted("the integral", bits, "ask for delta_bounds, or for a smaller epsilon")
        wanted = bits + _GUARD if absolute is None else absolute + _GUARD + round(self.log_size(place) / _LOG2)
        wanted = max(wanted, 16)
        for _ in range(_ATTEMPTS):
            plan = self._plan(place, wanted)
            if plan is None:
                break
            contour = Contour(self._product, plan)
            self._laid = [*self._laid[1 - _KEPT :], contour]
            value = contour.value(Kind.PROFILE, x)
            missing = short(value)
            if not missing:
                return value
            wanted += min(max(missing, 4), 2 * wanted + 60)
        raise PrecisionExhausted("the integral", wanted, "ask for delta_bounds, or for a smaller epsilon")

    def is_cheap(self, x: float, bits: int) -> bool:
        """Whether there is a contour for the profile at x to so many bits."""
        return self._plan(x, bits, any_line=True) is not None

    def known(self, x: Fraction) -> list[arb]:
        """What the contours that were laid say at x."""
        return [contour.value(Kind.PROFILE, x) for contour in self._laid]

    def at_most(self, x: Fraction) -> arb:
        """Chernoff's bound M(t) exp(-t x) at the best of some t; 1 where none is found."""
        place = nearest(x := min(x, _FURTHEST))  # the profile falls
        if not math.isfinite(place):
            return arb(1)
        with np.errstate(all="ignore"):
            heights = self._logarithms - self._centres * place
        for i in np.argsort(heights)[:_CHERNOFF]:
            with suppress(PrecisionExhausted), precision(_BOUND_BITS):
                best = arb(float(self._centres[int(i)]))
                bound: arb = (self._product.at(best) * (-best * ball(x)).exp()).upper()
                if bound.is_finite():
                    return bound.min(arb(1))
        return arb(1)

    def log_size(self, x: float) -> float:
        """log of the profile, about."""
        with np.errstate(all="ignore"):
            return self._saddle(x)[-1]

    def _saddle(self, x: float) -> tuple[Array, Array, int, float]:
        """log of M(t) exp(-t x), also over t (t + 1); the best; log of the profile, about."""
        centres = self._centres
        heights = self._logarithms - centres * x
        weighted = heights - np.log(centres * (centres + 1))
        best = int(np.nanargmin(weighted))
        curvature = self._curvatures[best] + 1 / centres[best] ** 2 + 1 / (centres[best] + 1) ** 2
        size = min(float(weighted[best]) - 0.5 * math.log(2 * math.pi * curvature), 0.0)
        return heights, weighted, best, size

    def _plan(self, x: float, bits: int, *, any_line: bool = False) -> ContourPlan | None:
        """The cheapest line found for the profile at x to so many bits, or the first one found."""
        centres = self._centres
        with np.errstate(all="ignore"):
            heights, weighted, best, size = self._saddle(x)
            aim = size - bits * _LOG2
            gaps = centres[None, :] - centres[:, None]
            to_right = np.where(gaps > 0, np.maximum(heights - aim + 2, 1.0)[None, :] / gaps, np.inf)
            right = to_right.argmin(axis=1)
            periods = np.maximum(to_right[np.arange(_CENTRES), right], (2 - aim) / centres)
            numbers = np.unique(np.geomspace(1, _MOST_NODES, _NUMBERS).round())
            eligible = np.flatnonzero((weighted <= weighted[best] + _SPARE) & np.isfinite(periods))
            lines = eligible[:: max(1, eligible.size // _LINES)].tolist()
            cheapest: tuple[float, int, int] | None = None
            asked: set[int] = set()
            for stride in _STRIDES:  # all of them coarsely, then those beside the cheapest
                near = lines
                if cheapest is not None:
                    place = lines.index(cheapest[1])
                    near = lines[max(place - stride, 0) : place + stride + 1]
                for i in (i for i in near[::stride] if i not in asked):
                    if any_line and cheapest is not None:
                        break
                    asked.add(i)
                    tops = 2 * math.pi / periods[i] * numbers
                    centre, room = float(centres[i]), aim - float(heights[i])
                    working = bits + max(float(weighted[i]) - size, 0.0) / _LOG2
                    costs = partial(self._costs, centre, tops, numbers, working)
                    factor = np.float64(1 + working / 256) ** 1.5  # infinite where no line is payable
                    most = MOST_TERMS if cheapest is None else min(MOST_TERMS, cheapest[0] / factor)
                    payable = bisect_right(range(tops.size), most, key=costs)
                    first = first_enough(partial(self._product.log_beyond, centre), tops[:payable], room)
                    if first is not None:  # within what the cheapest costs
                        cheapest = costs(first) * factor, i, int(numbers[first]) + 1
        if cheapest is None:
            return None
        _, i, number = cheapest
        cancelled = max(float(weighted[i]) - aim, 0.0) / _LOG2
        counts = sum(count for _, count in self._product.parts)
        guard = 24 + math.log2(number + 2) + math.log2(counts) + math.log2(2 + abs(float(heights[i])))
        return ContourPlan(
            kind=Kind.PROFILE,
            centre=float(centres[i]),
            step=2 * math.pi / float(periods[i]),
            number=number,
            bits=int(cancelled + guard) + 24,
            left=0.0,
            right=float(centres[int(right[i])]),
        )

    def _costs(self, centre: float, tops: Array, numbers: Array, bits: float, k: int) -> float:
        """In exponentials, of the k-th number of nodes."""
        return self._product.terms(centre, float(tops[k]), int(numbers[k]) + 1, bits)


def first_enough(log_beyond: Callable[[Array], Array], tops: Array, room: float) -> int | None:
    """The first of some heights that increase beyond which at most exp(room) of M(centre) is left out, about.

    What is left out falls with the height: the last height tells mostly, and few at a time tell the first.

    Args:
        log_beyond: log of a bound on |M(centre + i v)| for all v >= height, over M(centre), at heights of shape (n,).
        tops: the heights.
        room: as a logarithm.
    """

    def enough(heights: Array) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = log_beyond(heights) - np.log(math.pi * heights) <= room
        return found

    low, high = 0, tops.size - 1
    if high < 0 or not enough(tops[-1:])[0]:
        return None
    while low < high:
        places = np.unique(np.linspace(low, high, _AT_ONCE + 2).astype(int))[:-1]
        right = np.flatnonzero(enough(tops[places]))
        first = int(right[0]) if right.size else places.size
        high = int(places[first]) if right.size else high
        low = int(places[first - 1]) + 1 if first else high
    return high
