"""Compositions on a lattice in whole numbers: certified bounds on the profile of losses whose tails are certified.

Masses are multiples of 2^-B, rounded in a stated direction, and so are the products of laws: convolutions of whole
numbers, which are exact, followed by one rounding. Nothing is transformed in floating point. Of every loss three laws
are made, on the cells (k_i, k_i+1] of a lattice k_i = i h.

* *up*, under P: the mass of a cell is split between its two ends so that both masses, p under P and q under Q, are kept
  (`dpverdict.audit.losses.lattice.discretise`), and every part is rounded up. What is below the lattice is raised to
  it, what is above is an infinite loss. Larger masses have larger profiles, also after composition.
* *p* and *q*: the laws of the number M of the cell under P, rounded down, and under Q, rounded up. For every t, with S
  the event that the sum of the M is at least t, delta(epsilon) >= P(S) - exp(epsilon) Q(S). The best t is near epsilon,
  where the difference changes its sign: what is lost is second order in the rounding of the losses, wherever their
  atoms are.

Mass of an infinite loss is kept apart: 1 minus the product of the finite masses, which belongs to every event.

After a product the ends of next to no mass are cut. Up: from below it is raised to the lowest point, from above it is
an infinite loss. M is cut off at the top, at the same point under P and Q; what is below the lowest cell is in no event
under P, and counted as that cell under Q.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, Final, final

from flint import arb, fmpz_poly

from dpverdict.balls import ball, precision
from dpverdict.errors import InvalidValue

BITS: Final = 256
"""The masses are multiples of 2^-BITS."""

MOST_POINTS: Final = 1 << 21
"""Of a composed law."""

_CUT: Final = 1 << (BITS - 120)  # units of mass that are cut off at either end after a product
_WORKING: Final = BITS + 160
_FINER: Final = 96  # bits of exp(-loss)
_NEAR: Final = 48  # cells to either side of where the best event is


@final
@dataclass(frozen=True, slots=True)
class WholeLaw:
    """Masses in units of 2^-BITS at the points first, first + 1, ..., and of an infinite loss."""

    first: int
    masses: list[int]
    infinite: int = 0


@final
@dataclass(frozen=True, slots=True)
class WholeLaws:
    """The three laws of one loss, and bounds on the mass of an infinite loss that is kept apart.

    Attributes:
        up, p, q: see the module.
        apart: encloses P[L infinite], of which none is in the laws.
    """

    up: WholeLaw
    p: WholeLaw
    q: WholeLaw
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


def laws_of_tails(p_tails: Sequence[arb], q_tails: Sequence[arb], first: int, interval: Fraction) -> WholeLaws:
    """The laws of a loss from its upper tails P[L > k_i] and Q[L > k_i], i = first, first + 1, ..."""
    with precision(_WORKING):
        h = ball(interval)
        width = -(-h).expm1()
        up = [0] * len(p_tails)
        up[0] = units_up(1 - p_tails[0])
        p, q = [], []
        for i in range(len(p_tails) - 1):
            p_mass = (p_tails[i] - p_tails[i + 1]).max(arb(0))
            q_mass = (q_tails[i] - q_tails[i + 1]).max(arb(0))
            raised = ((p_mass - (h * (first + i)).exp() * q_mass) / width).max(arb(0)).min(p_mass.upper())
            up[i] += units_up(p_mass - raised)
            up[i + 1] += units_up(raised)
            p.append(units_down(p_mass))
            q.append(units_up(q_mass))
        p.append(units_down(p_tails[-1]))
        q.append(units_up(q_tails[-1]))
        infinite = units_up(p_tails[-1])
    return WholeLaws(WholeLaw(first, up, infinite), WholeLaw(first, p), WholeLaw(first, q), arb(0))


def laws_of_atoms(
    atoms: Sequence[tuple[arb, arb]], interval: Fraction, apart: arb, *, others: arb | None = None
) -> WholeLaws:
    """The laws of a loss on finitely many values.

    Args:
        atoms: the mass under P and the loss of each, enclosed.
        interval: h.
        apart: P[L infinite].
        others: what P and what Q have at most on atoms that are not given; none without it.
    """
    up: dict[int, int] = {}
    p: dict[int, int] = {}
    q: dict[int, int] = {}
    with precision(_WORKING):
        h = ball(interval)
        for mass, loss in atoms:
            largest = loss.upper()  # a ball around a point would else be split between both of its neighbours
            low = _whole((largest / h).upper().floor())
            high = low + 1
            raised = mass * -(h * low - largest).expm1() / -(-h).expm1()
            for law, point, units in (
                (up, low, units_up(mass - raised)),
                (up, high, units_up(raised)),
                (p, low, units_down(mass)),
                (q, low, units_up(mass * (-loss).exp())),
            ):
                law[point] = law.get(point, 0) + units
        if others is not None:  # of any loss: an infinite one under P, of the highest number under Q
            q[max(q)] += units_up(others)
            top = _dense(up)
            return WholeLaws(WholeLaw(top.first, top.masses, units_up(others)), _dense(p), _dense(q), apart)
    return WholeLaws(_dense(up), _dense(p), _dense(q), apart)


def laws_on_points(atoms: Sequence[tuple[arb, int]], interval: Fraction, apart: arb) -> WholeLaws:
    """The laws of a loss on points of the lattice: masses under P, and the numbers of the points."""
    with precision(_WORKING):
        h = ball(interval)
        up = {i: units_up(mass) for mass, i in atoms}
        p = {i: units_down(mass) for mass, i in atoms}
        q = {i: units_up(mass * (-h * i).exp()) for mass, i in atoms}
    return WholeLaws(_dense(up), _dense(p), _dense(q), apart)


def _dense(masses: dict[int, int]) -> WholeLaw:
    if not masses:  # no finite loss
        return WholeLaw(0, [0])
    first = min(masses)
    return WholeLaw(first, [masses.get(i, 0) for i in range(first, max(masses) + 1)])


@final
class WholeComposition:
    """Bounds on the profile of a composition.

    Args:
        parts: the laws of every loss, with the number of times it occurs, all on one lattice.
        interval: its step h.

    Raises:
        InvalidValue: a law of more than `MOST_POINTS` points.
    """

    __slots__ = (
        *("_apart", "_infinite", "_interval", "_p", "_p_first", "_places", "_q", "_q_first"),
        *("_up", "_up_first", "_up_q"),
    )

    def __init__(self, parts: Sequence[tuple[WholeLaws, int]], interval: Fraction) -> None:
        self._interval = interval
        up = _power([(_Above(laws.up), count) for laws, count in parts]).law
        event = _power([(_Event(laws.p, laws.q), count) for laws, count in parts])
        p, q = event.p, event.q
        with precision(_WORKING):
            finite = arb(1)
            for laws, count in parts:
                finite *= (1 - laws.apart) ** count
            self._apart = arb(0) if all(laws.apart.is_zero() for laws, _ in parts) else 1 - finite
            unit = arb(2) ** -BITS
            self._infinite = up.infinite * unit
            h = ball(interval)
            decays = _powers_down((-h * up.first).exp(), (-h).exp(), len(up.masses))
        self._up_first, self._p_first, self._q_first = up.first, p.first, q.first
        self._up = _upper_sums(up.masses)
        self._up_q = _upper_sums([mass * decay for mass, decay in zip(up.masses, decays, strict=True)])
        self._p, self._q = _upper_sums(p.masses), _upper_sums(q.masses)
        self._places = [p.first + i for i, mass in enumerate(p.masses) if mass]

    def bounds(self, epsilon: Fraction) -> tuple[arb, arb]:
        """(lower, upper) bounds on delta(epsilon)."""
        first = epsilon // self._interval + 1  # the first point above epsilon
        place = min(max(first - self._up_first, 0), len(self._up) - 1)
        with precision(_WORKING):
            unit, growth = arb(2) ** -BITS, ball(epsilon).exp()
            above = self._up[place] * unit - growth * (self._up_q[place] * unit) * unit / arb(2) ** _FINER
            upper = above.max(arb(0)) + self._infinite + self._apart
            lower = arb(0)
            best = self._best(growth)
            for t in self._places[max(best - _NEAR, 0) : best + _NEAR + 1]:
                p, q = self._sums(t)
                lower = lower.max(p * unit - growth * (q * unit))
            lower += self._apart
            floor = -ball(epsilon).expm1()
            return lower.lower().max(floor.lower()).max(arb(0)), upper.upper().min(arb(1))

    def _sums(self, t: int) -> tuple[int, int]:
        """P and Q of the event that the sum of the numbers is at least t, in units: from below, and from above."""
        i, j = t - self._p_first, t - self._q_first
        p = self._p[min(max(i, 0), len(self._p) - 1)]
        return p, self._q[min(max(j, 0), len(self._q) - 1)]

    def _best(self, growth: arb) -> int:
        """About where in the places the best t is: the first place with p >= growth q, as p/q grows."""
        above, below = _as_fraction(growth)

        def gains(t: int) -> bool:
            (p, q), (next_p, next_q) = self._sums(t), self._sums(t + 1)
            return (p - next_p) * below >= (q - next_q) * above

        return bisect_left(self._places, True, key=gains)

    @property
    def apart(self) -> arb:
        """P[L infinite] that is kept apart."""
        return self._apart

    @property
    def points(self) -> int:
        """Of the longest law."""
        return max(len(self._up), len(self._p), len(self._q))


def _powers_down(start: arb, ratio: arb, number: int) -> list[int]:
    """Lower bounds on start ratio^i, ratio < 1, in units of 2^-(BITS + FINER)."""
    scale = BITS + _FINER
    factor = _whole((ratio * arb(2) ** scale).lower().floor())
    found = [_whole((start * arb(2) ** scale).lower().floor())]
    for _ in range(number - 1):
        found.append((found[-1] * factor) >> scale)
    return found


def _as_fraction(value: arb) -> tuple[int, int]:
    mantissa, exponent = value.mid().man_exp()
    m, e = int(mantissa), int(exponent)
    keep = max(m.bit_length() - 64, 0)
    m, e = m >> keep, e + keep
    return (m << e, 1) if e >= 0 else (m, 1 << -e)


def _upper_sums(masses: Sequence[int]) -> list[int]:
    """The sums from every point on, and 0."""
    return [*list(accumulate(reversed(masses)))[::-1], 0]


def _power(laws: Sequence[tuple[Any, int]]) -> Any:
    """The law of a sum of independent losses, by repeated squaring."""
    total: Any = None
    for law, count in laws:
        power, left = law.trimmed(), count
        while True:
            if left & 1:
                total = power if total is None else total.times(power).trimmed()
            left >>= 1
            if not left:
                break
            power = power.times(power).trimmed()
    assert total is not None  # there are parts
    return total


@final
@dataclass(frozen=True, slots=True)
class _Above:
    """The law that is rounded up."""

    law: WholeLaw

    def times(self, other: _Above) -> _Above:
        return _Above(_product(self.law, other.law, up=True))

    def trimmed(self) -> _Above:
        law = self.law
        low, below = _lower_end(law.masses)
        high, above = _upper_end(law.masses, low)
        masses = law.masses[low:high]
        masses[0] += below
        return _Above(WholeLaw(law.first + low, masses, law.infinite + above))


@final
@dataclass(frozen=True, slots=True)
class _Event:
    """The laws of the number M under P and Q, cut off at the same top: both are of one function of the output."""

    p: WholeLaw
    q: WholeLaw

    def times(self, other: _Event) -> _Event:
        return _Event(_product(self.p, other.p, up=False), _product(self.q, other.q, up=True))

    def trimmed(self) -> _Event:
        p, q = self.p, self.q
        low, _ = _lower_end(p.masses)
        high, above = _upper_end(p.masses, low)
        top = p.first + high - 1
        p_masses = p.masses[low:high]
        p_masses[-1] += above
        low_q, below = _lower_end(q.masses)
        low_q, below = (low_q, below) if q.first + low_q <= top else (0, 0)
        kept = max(top - q.first + 1, low_q + 1)
        q_masses = q.masses[low_q:kept]
        q_masses[0] += below
        if q.first + kept - 1 < top:  # nothing is above
            return _Event(WholeLaw(p.first + low, p_masses), WholeLaw(q.first + low_q, q_masses))
        q_masses[-1] += sum(q.masses[kept:])
        return _Event(WholeLaw(p.first + low, p_masses), WholeLaw(q.first + low_q, q_masses))


def _product(one: WholeLaw, other: WholeLaw, *, up: bool) -> WholeLaw:
    """The law of the sum, rounded; an infinite loss of either is one of the sum."""
    length = len(one.masses) + len(other.masses) - 1
    if length > MOST_POINTS:
        raise InvalidValue("interval", "too small", f"such that a law has at most {MOST_POINTS} points", "coarsen it")
    left = fmpz_poly(one.masses)
    product = (left * left if one is other else left * fmpz_poly(other.masses)).coeffs()
    masses = [-((-int(mass)) >> BITS) for mass in product] if up else [int(mass) >> BITS for mass in product]
    masses += [0] * (length - len(masses))
    return WholeLaw(one.first + other.first, masses, one.infinite + other.infinite)


def _lower_end(masses: Sequence[int]) -> tuple[int, int]:
    """How many of the first points have next to no mass, and how much."""
    low = below = 0
    while low < len(masses) - 1 and below + masses[low] <= _CUT:
        below += masses[low]
        low += 1
    return low, below


def _upper_end(masses: Sequence[int], low: int) -> tuple[int, int]:
    """Where the last points of next to no mass begin, not before ``low``, and how much they have."""
    high, above = len(masses), 0
    while high > low + 1 and above + masses[high - 1] <= _CUT:
        above += masses[high - 1]
        high -= 1
    return high, above
