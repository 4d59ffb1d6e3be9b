"""Compositions on a lattice in whole numbers: certified bounds on the profile of losses whose tails are certified.

Masses are whole numbers, rounded in a stated direction, and so are the products of laws: convolutions of whole numbers,
which are exact, followed by one rounding. Nothing is transformed in floating point. Of every loss three laws are made,
on the cells (k_i, k_i+1] of a lattice k_i = i h.

* *up*, under P: the mass of a cell is split between its two ends so that both masses, p under P and q under Q, are kept
  (`dpverdict.audit.losses.lattice.discretise`), and every part is rounded up. What is below the lattice is raised to
  it, what is above is an infinite loss. Larger masses have larger profiles, also after composition.
* *p* and *q*: the laws of the number M of the cell under P, rounded down, and under Q, rounded up. For every t, with S
  the event that the sum of the M is at least t, delta(epsilon) >= P(S) - exp(epsilon) Q(S). The best t is near epsilon,
  where the difference changes its sign: what is lost is second order in the rounding of the losses, wherever their
  atoms are.

Mass of an infinite loss is kept apart: 1 minus the product of the finite masses, which belongs to every event.

**Tilt.** A mass at point i is held as a multiple of 2^-B s exp(-theta i h), with one scale s for every law: near an
epsilon where theta is the exponent of Chernoff's bound, the masses that make the profile are the largest, however small
the profile is. The masses under Q have the exponent theta + 1, as dQ = exp(-L) dP.

**Cuts.** After a product the ends of next to no (tilted) mass are cut. Of p that only makes the event smaller. Of up
and q the tilted mass that is lost, Z, is charged: by Chernoff's inequality it has at most Z exp(-theta epsilon) above
epsilon, in this composition and, times the tilted masses of the others, in every longer one.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Final, final

from flint import arb, fmpz_poly

from dpverdict.balls import ball, precision
from dpverdict.errors import InvalidValue

BITS: Final = 256
"""The masses are multiples of 2^-BITS times the scale of their law."""

MOST_POINTS: Final = 1 << 21
"""Of a composed law."""

_CUT: Final = 1 << (BITS - 120)  # units of mass that are cut off at either end after a product
_WORKING: Final = BITS + 160
_FINER: Final = 96  # bits of exp(-loss)
_MOST_FINER: Final = 4096
_NEAR: Final = 48  # cells to either side of where the best event is


@final
@dataclass(frozen=True, slots=True)
class WholeLaw:
    """Masses of the points first, first + 1, ..., in units of 2^-BITS times the scale and exp(-theta h) to the point.

    ``lost`` is the tilted mass that is in none of them, in the same units without the last factor.
    """

    first: int
    masses: list[int]
    scale: arb
    lost: int = 0


@final
@dataclass(frozen=True, slots=True)
class WholeLaws:
    """The three laws of one loss, and bounds on the mass of infinite losses.

    Attributes:
        up, p, q: see the module.
        infinite: at least what ``up`` has of an infinite loss, of losses that may be finite.
        apart: encloses P[L infinite], of which none is in the laws.
    """

    up: WholeLaw
    p: WholeLaw
    q: WholeLaw
    infinite: arb
    apart: arb


def _whole(value: arb) -> int:
    """The whole number that the ball is, exactly."""
    found = value.unique_fmpz()
    assert found is not None
    return int(found)


def units_up(mass: arb) -> int:
    """The least number of units that is not below the mass."""
    scaled = (mass * arb(2) ** BITS).upper().ceil()
    return max(_whole(scaled), 0)


def units_down(mass: arb) -> int:
    """The largest number of units that is not above the mass."""
    scaled = (mass * arb(2) ** BITS).lower().floor()
    return max(_whole(scaled), 0)


def _law(masses: Mapping[int, arb], rate: arb, *, up: bool) -> WholeLaw:
    """The law with so much mass at every point, times exp(rate point), rounded."""
    if not masses:  # no finite loss
        return WholeLaw(0, [0], arb(1))
    first, last = min(masses), max(masses)
    tilted = masses if rate.is_zero() else {i: mass * (rate * i).exp() for i, mass in masses.items()}
    total = sum((mass.mid() for mass in tilted.values()), start=arb(0))
    scale = _power_of_two(total) if total > 0 else arb(1)
    rounded, nothing = units_up if up else units_down, arb(0)
    return WholeLaw(first, [rounded(tilted.get(i, nothing) / scale) for i in range(first, last + 1)], scale)


def _power_of_two(value: arb) -> arb:
    """The least that is not below a number > 0: products of scales are exact."""
    mantissa, exponent = value.mid().man_exp()
    return arb(2) ** (int(exponent) + int(mantissa).bit_length())


def _laws(
    up: Mapping[int, arb],
    p: Mapping[int, arb],
    q: Mapping[int, arb],
    infinite: arb,
    apart: arb,
    interval: Fraction,
    tilt: Fraction,
) -> WholeLaws:
    own, other = ball(tilt * interval), ball((tilt + 1) * interval)
    return WholeLaws(_law(up, own, up=True), _law(p, own, up=False), _law(q, other, up=True), infinite, apart)


def laws_of_tails(
    p_tails: Sequence[arb], q_tails: Sequence[arb], first: int, interval: Fraction, tilt: Fraction = Fraction(0)
) -> WholeLaws:
    """The laws of a loss from its upper tails P[L > k_i] and Q[L > k_i], i = first, first + 1, ..."""
    up, p, q = {first: arb(0)}, {}, {}
    with precision(_WORKING):
        h = ball(interval)
        width = -(-h).expm1()
        up[first] = (1 - p_tails[0]).max(arb(0))
        for i in range(len(p_tails) - 1):
            p_mass = (p_tails[i] - p_tails[i + 1]).max(arb(0))
            q_mass = (q_tails[i] - q_tails[i + 1]).max(arb(0))
            raised = ((p_mass - (h * (first + i)).exp() * q_mass) / width).max(arb(0)).min(p_mass.upper())
            up[first + i] += (p_mass - raised).max(arb(0))
            up[first + i + 1] = raised
            p[first + i], q[first + i] = p_mass, q_mass
        last = first + len(p_tails) - 1
        p[last], q[last] = p_tails[-1], q_tails[-1]
        return _laws(up, p, q, p_tails[-1], arb(0), interval, tilt)


def laws_of_atoms(
    atoms: Sequence[tuple[arb, arb]],
    interval: Fraction,
    apart: arb,
    tilt: Fraction = Fraction(0),
    *,
    others: arb | None = None,
) -> WholeLaws:
    """The laws of a loss on finitely many values.

    Args:
        atoms: the mass under P and the loss of each, enclosed.
        interval: h.
        apart: P[L infinite].
        tilt: theta.
        others: what P and what Q have at most on atoms that are not given; none without it.
    """
    up: dict[int, arb] = {}
    p: dict[int, arb] = {}
    q: dict[int, arb] = {}
    with precision(_WORKING):
        h = ball(interval)
        for mass, loss in atoms:
            largest = loss.upper()  # a ball around a point would else be split between both of its neighbours
            low = _whole((largest / h).upper().floor())
            high = low + 1
            raised = mass * -(h * low - largest).expm1() / -(-h).expm1()
            for law, point, part in (
                (up, low, (mass - raised).max(arb(0))),
                (up, high, raised),
                (p, low, mass),
                (q, low, mass * (-loss).exp()),
            ):
                law[point] = law.get(point, arb(0)) + part
        if others is not None:  # of any loss: an infinite one under P, of the highest number under Q
            q[max(q)] += others
        return _laws(up, p, q, arb(0) if others is None else others, apart, interval, tilt)


def laws_on_points(
    atoms: Sequence[tuple[arb, int]], interval: Fraction, apart: arb, tilt: Fraction = Fraction(0)
) -> WholeLaws:
    """The laws of a loss on points of the lattice: masses under P, and the numbers of the points."""
    with precision(_WORKING):
        h = ball(interval)
        p = {i: mass for mass, i in atoms}
        return _laws(p, p, {i: mass * (-h * i).exp() for i, mass in p.items()}, arb(0), apart, interval, tilt)


@final
@dataclass(frozen=True, slots=True)
class ComposedLaws:
    """The three laws of a composition; all numbers are exact.

    Attributes:
        up, p, q: see the module.
        infinite: at least what ``up`` has of an infinite loss, of losses that may be finite.
        apart_lower, apart_upper: bounds on P[L infinite], of which none is in the laws.
    """

    up: WholeLaw
    p: WholeLaw
    q: WholeLaw
    infinite: arb
    apart_lower: arb
    apart_upper: arb


def composed_laws(parts: Sequence[tuple[WholeLaws, int]]) -> ComposedLaws:
    """The laws of the composition of losses on one lattice and of one tilt, each with how often it occurs.

    Raises:
        InvalidValue: a law of more than `MOST_POINTS` points.
    """
    up = _power([(laws.up, count) for laws, count in parts], up=True)
    p = _power([(laws.p, count) for laws, count in parts], up=False)
    q = _power([(laws.q, count) for laws, count in parts], up=True)
    with precision(_WORKING):
        finite = arb(1)
        for laws, count in parts:
            finite *= (1 - laws.apart) ** count
        apart = arb(0) if all(laws.apart.is_zero() for laws, _ in parts) else 1 - finite
        infinite = sum((laws.infinite * count for laws, count in parts), start=arb(0)).upper()
        return ComposedLaws(up, p, q, infinite, apart.lower(), apart.upper())


@final
class WholeComposition:
    """Bounds on the profile of a composition.

    Args:
        laws: those of the composition (`composed_laws`).
        interval: the step h of their lattice.
        tilt: their theta.
    """

    __slots__ = ("_interval", "_laws", "_p", "_places", "_q", "_rate", "_tilt", "_up", "_up_q")

    def __init__(self, laws: ComposedLaws, interval: Fraction, tilt: Fraction = Fraction(0)) -> None:
        self._laws, self._interval, self._tilt = laws, interval, tilt
        with precision(_WORKING):
            rate = ball(tilt) * ball(interval)
            self._up = _Sums(laws.up, rate, up=True)
            self._up_q = _Sums(laws.up, rate + ball(interval), up=False)
            self._p = _Sums(laws.p, rate, up=False)
            self._rate = rate + ball(interval)
            self._q = _Sums(laws.q, self._rate, up=True)
        p = laws.p
        self._places = [p.first + i for i, mass in enumerate(p.masses) if mass]

    def bounds(self, epsilon: Fraction) -> tuple[arb, arb]:
        """(lower, upper) bounds on delta(epsilon)."""
        first = epsilon // self._interval + 1  # the first point above epsilon
        with precision(_WORKING):
            growth = ball(epsilon).exp()
            above = self._up.sum_from(first) - growth * self._up_q.sum_from(first)
            lost = self._up.lost * (-ball(self._tilt) * ball(epsilon)).exp()
            upper = above.max(arb(0)) + lost + self._laws.infinite + self._laws.apart_upper
            lower = arb(0)
            best = self._best(growth)
            for t in self._places[max(best - _NEAR, 0) : best + _NEAR + 1]:
                p, q = self._event(t)
                lower = lower.max(p - growth * q)
            lower += self._laws.apart_lower
            floor = 1 - growth
            return lower.lower().max(floor.lower()).max(arb(0)), upper.upper().min(arb(1))

    def event(self, epsilon: Fraction) -> tuple[int, arb, arb]:
        """The t whose event shows most of delta(epsilon), P of it from below and Q from above, of finite losses."""
        with precision(_WORKING):
            growth = ball(epsilon).exp()
            best = self._best(growth)
            near = self._places[max(best - _NEAR, 0) : best + _NEAR + 1]
            found = [(t, *self._event(t)) for t in near]
            return max(found, key=lambda one: float((one[1] - growth * one[2]).mid()))

    def _event(self, t: int) -> tuple[arb, arb]:
        """P and Q of the event that the sum of the numbers is at least t: from below, and from above."""
        lost = self._q.lost
        if not lost.is_zero():
            lost = lost * (-self._rate * t).exp()
        return self._p.sum_from(t), self._q.sum_from(t) + lost

    def _best(self, growth: arb) -> int:
        """About where in the places the best t is: the first place with p >= growth q, as p/q grows."""

        def gains(t: int) -> bool:
            return bool(self._p.mass(t) >= growth * self._q.mass(t))

        return bisect_left(self._places, True, key=gains)

    @property
    def interval(self) -> Fraction:
        """The step of the lattice."""
        return self._interval

    @property
    def apart(self) -> arb:
        """P[L infinite] that is kept apart."""
        return self._laws.apart_lower.union(self._laws.apart_upper)

    @property
    def points(self) -> int:
        """Of the longest law."""
        return max(self._up.points, self._p.points, self._q.points)


@final
class _Sums:
    """The masses of a law from every point on, without their tilt, rounded.

    Held in units of 2^-(BITS + finer) times the scale and exp(-rate first).
    """

    __slots__ = ("_finer", "_first", "_sums", "_unit", "lost")
    lost: arb

    def __init__(self, law: WholeLaw, rate: arb, *, up: bool) -> None:
        span = float(rate) * len(law.masses) / math.log(2)
        self._finer, self._first = _FINER + min(math.ceil(max(span, 0.0)), _MOST_FINER), law.first
        decays = _decays(rate, len(law.masses), BITS + self._finer, up=up)
        cut = BITS  # of the product of mass and decay
        terms = [mass * decay for mass, decay in zip(law.masses, decays, strict=True)]
        terms = [-((-term) >> cut) for term in terms] if up else [term >> cut for term in terms]
        self._sums = [*list(accumulate(reversed(terms)))[::-1], 0]
        self._unit = law.scale * (-rate * law.first).exp() * arb(2) ** -(BITS + self._finer)
        self.lost = law.scale * law.lost * arb(2) ** -BITS

    @property
    def points(self) -> int:
        return len(self._sums)

    def sum_from(self, point: int) -> arb:
        """Of the points from this one on."""
        return self._sums[min(max(point - self._first, 0), len(self._sums) - 1)] * self._unit

    def mass(self, point: int) -> arb:
        """Of one point."""
        i = point - self._first
        return (self._sums[i] - self._sums[i + 1]) * self._unit if 0 <= i < len(self._sums) - 1 else arb(0)


def _decays(rate: arb, number: int, bits: int, *, up: bool) -> list[int]:
    """Bounds on exp(-rate i), rate >= 0, i < number, in units of 2^-bits."""
    if rate.is_zero():
        return [1 << bits] * number
    with precision(bits + 64):
        ratio = (-rate).exp() * arb(2) ** bits
        factor = _whole(ratio.upper().ceil() if up else ratio.lower().floor())
    found = [1 << bits]
    for _ in range(number - 1):
        found.append(-((-found[-1] * factor) >> bits) if up else (found[-1] * factor) >> bits)
    return found


def _power(laws: Sequence[tuple[WholeLaw, int]], *, up: bool) -> WholeLaw:
    """The law of a sum of independent losses, by repeated squaring."""
    total: WholeLaw | None = None
    for law, count in laws:
        power, left = _trimmed(law), count
        while True:
            if left & 1:
                total = power if total is None else _trimmed(_product(total, power, up=up))
            left >>= 1
            if not left:
                break
            power = _trimmed(_product(power, power, up=up))
    assert total is not None  # there are parts
    return total


def _trimmed(law: WholeLaw) -> WholeLaw:
    """Without the ends of next to no mass, which is lost."""
    masses = law.masses
    low, below = 0, 0
    while low < len(masses) - 1 and below + masses[low] <= _CUT:
        below += masses[low]
        low += 1
    high, above = len(masses), 0
    while high > low + 1 and above + masses[high - 1] <= _CUT:
        above += masses[high - 1]
        high -= 1
    return WholeLaw(law.first + low, masses[low:high], law.scale, law.lost + below + above)


def _product(one: WholeLaw, other: WholeLaw, *, up: bool) -> WholeLaw:
    """The law of the sum, rounded."""
    length = len(one.masses) + len(other.masses) - 1
    if length > MOST_POINTS:
        raise InvalidValue("interval", "too small", f"such that a law has at most {MOST_POINTS} points", "coarsen it")
    left = fmpz_poly(one.masses)
    product = (left * left if one is other else left * fmpz_poly(other.masses)).coeffs()
    sums = sum(one.masses), sum(other.masses)
    spare = min(max(2 * BITS - (sums[0] * sums[1]).bit_length(), 0), BITS)  # bits, so that powers do not fade away
    cut = BITS - spare
    masses = [-((-int(mass)) >> cut) for mass in product] if up else [int(mass) >> cut for mass in product]
    masses += [0] * (length - len(masses))
    lost = one.lost * (sums[1] + other.lost) + sums[0] * other.lost
    with precision(_WORKING):
        scale = one.scale * other.scale * arb(2) ** -spare
    return WholeLaw(one.first + other.first, masses, scale, -((-lost) >> cut))
