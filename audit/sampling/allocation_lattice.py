"""Random allocation on a lattice of losses: the law of its likelihood ratio from above and below in convex order.

Under Q the likelihood ratio of one epoch is R = X_1 + ... + X_T, the X_t independent and lognormal of mean 1/T
(`dpverdict.audit.sampling.allocation`). Both profiles are means of convex functions of R, E(R - a)_+ and E(1 - a R)_+.
A law with the same mean that is larger in convex order gives a pair of laws that is at least as easy to tell apart (R
is a randomised function of it), a smaller one a pair at least as hard; sums of independent ones keep that order, and so
do products of pairs.

All laws stand on geometric grids exp(i h), h a multiple by a power of 2 of the interval of the lattice: log R is then
on the lattice. The sum of two points is exp(i h) + exp((i + d) h) = exp(i h) (1 + exp(d h)): where it lies between two
points depends on d alone, so that a sum of two laws is one product of shifted arrays for every d.

* *up*: a sum is split between its two neighbours on the grid, keeping the mass and the mean. What is cut off, of mass z
  under Q and m under P, is split between R = 0 and infinity. A sum is cut where either term is: z = z_1 + z_2 and
  m = m_1 + m_2 + z_1 E R_2 + z_2 E R_1 are enough.
* *down*: the sums that round to one point are merged. Each point carries its masses under Q and P, which may be those
  of a ratio beside the point: the point is a function of the output. A test on it, and the pair with its losses rounded
  down, bound from below (`dpverdict.audit.losses.lattice.law.RoundedLoss`). What is cut off is merged into the ends.

Both lose second order in h: rounding R adds h^2/6 to the variance of log R. Sums of n terms are rounded on a grid
sqrt(T/n) times as coarse as the last one, which adds no more; T steps take 2 log2 T additions.

All are sums of products of positive numbers, in float64 with relative errors below (operations) 2^-53, which are
charged, and so is what the places of sums are rounded by: at most `_MOVED` each, as a move of R up or down.

Reference: Shaked and Shanthikumar 2007, Stochastic Orders, section 3.A, for the convex order.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, final

import numpy as np
from flint import arb

from dpverdict.audit.losses.domains import Direction
from dpverdict.audit.losses.lattice.kept import key_with_sources
from dpverdict.audit.losses.lattice.law import LatticeLaw, LatticeLedger, LatticePair, RoundedLoss, Side
from dpverdict.audit.losses.lattice.power import ROUNDING
from dpverdict.balls import ball, precision
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.disk_cache import kept
from dpverdict.numerics.gaussian import BallNormal

_MOVED: Final = 256 * ROUNDING
"""How far a sum is placed from where it is, in its logarithm: below 64 units of its exponent, and of its weights."""

_REACH: Final = 13  # standard deviations of the normal variables
_CUT: Final = 1e-36  # of mass that an addition leaves out at either end
_MOST_POINTS: Final = 1 << 17
_BITS: Final = 256
_SIDES: Final = ("above", "below")
_NORMAL: Final = BallNormal()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Law:
    """The law of a sum of some X_t on a grid.

    Attributes:
        terms: how many.
        scale: the distance of the points over the interval of the lattice, a power of 2.
        first: the first point is exp(first scale interval).
        q: masses under Q.
        p: Q-masses times the sum, if these are not those of the points; else None.
        error: of every mass, relatively.
        moved: by how much the points may stand beside the sums, in the logarithm.
        cut: mass that is cut off, under Q and times the sum.
    """

    terms: int
    scale: int
    first: int
    q: Array
    p: Array | None
    error: float
    moved: float = 0.0
    cut: tuple[float, float] = (0.0, 0.0)


@final
class AllocationLattice:
    """The laws of one epoch on the lattice of an interval, from both sides.

    Args:
        noise_multiplier: s.
        steps: T >= 2.
        interval: of the lattice, a power of 2.

    Raises:
        InvalidValue: the interval is so small that a grid has more than 2^17 points.
    """

    __slots__ = ("_above", "_below", "interval")
    interval: float

    def __init__(self, noise_multiplier: Fraction, steps: int, interval: float) -> None:
        self.interval = interval
        self._above = self._sum(noise_multiplier, steps, up=True)
        self._below = self._sum(noise_multiplier, steps, up=False)

    @classmethod
    def of_laws(cls, above: _Law, below: _Law, interval: float) -> AllocationLattice:
        """The lattice whose two laws are known."""
        made = cls.__new__(cls)
        made.interval, made._above, made._below = interval, above, below
        return made

    @property
    def laws(self) -> tuple[_Law, _Law]:
        """The law of R that is larger in convex order, and the one that is smaller."""
        return self._above, self._below

    # the two laws in either order -------------------------------------------------------------------------------------

    def pair(self, order: Direction) -> LatticePair:
        """The laws that bracket the loss log R under P, or -log R under Q."""
        pessimistic, optimistic = self._pessimistic(order), self._optimistic(order)
        rounded = self._rounded(order)
        ledger = LatticeLedger(
            tail_error=max(self._above.error, self._below.error),
            infinity_mass=pessimistic.infinity_mass,
            raised_mass=0.0,
            dropped_mass=0.0,
            first_order_mass=1.0,  # the points of the merged law are beside the lattice
            p_defects=(pessimistic.p_mass_defect(), optimistic.p_mass_defect()),
            q_defects=(pessimistic.q_mass_defect(), optimistic.q_mass_defect()),
        )
        return LatticePair(pessimistic=pessimistic, optimistic=optimistic, ledger=ledger, rounded=rounded)

    def spread(self) -> float:
        """The least power of 2 beyond which on either side log R has at most 0.3 of its mass under P."""
        law = self._pessimistic(Direction.REMOVE)
        sizes = np.abs(law.losses)
        exponent = -40
        while float(law.masses[sizes > 2.0**exponent].sum()) > 0.3 and exponent < 12:
            exponent += 1
        return 2.0**exponent

    def _pessimistic(self, order: Direction) -> LatticeLaw:
        law, up = self._above, 1 + 2 * self._above.error
        masses = law.q * up
        if order is Direction.REMOVE:
            masses = masses * self._points(law) * (1 + _MOVED)
        masses = _in_order(masses, order)
        # moved by more than the places are off: a part of every mass goes one point up
        part = 2 * law.moved / math.expm1(self.interval)
        masses = np.append(masses, 0.0) + np.insert(masses, 0, 0.0) * part * math.exp(self.interval)
        infinite = law.cut[1 if order is Direction.REMOVE else 0] * up
        return self._law(law, masses, infinite, order, Side.PESSIMISTIC)

    def _optimistic(self, order: Direction) -> LatticeLaw:
        """The masses of the merged law with their losses rounded down."""
        law = self._below
        assert law.p is not None
        with np.errstate(divide="ignore", invalid="ignore"):
            losses = np.log(law.p) - np.log(law.q)
        known = np.isfinite(losses)
        losses, masses = (losses, law.p) if order is Direction.REMOVE else (-losses, law.q)
        losses = losses[known] - 4 * law.error - 8 * ROUNDING * (1 + np.abs(losses[known]))
        places = np.floor(losses / self.interval).astype(np.int64)
        lowest = int(places.min())
        placed = np.bincount(places - lowest, weights=masses[known] * (1 - 2 * law.error)).astype(np.float64)
        return LatticeLaw(
            interval=Fraction(self.interval), lowest=lowest, masses=placed, infinity_mass=0.0, side=Side.OPTIMISTIC
        )

    def _rounded(self, order: Direction) -> RoundedLoss:
        """The laws of the number of the point, or of minus this number."""
        law = self._below
        assert law.p is not None
        first, second = (law.p, law.q) if order is Direction.REMOVE else (law.q, law.p)
        down, up = 1 - 2 * law.error, 1 + 2 * law.error
        return RoundedLoss(
            p=self._law(law, _in_order(first * down, order), 0.0, order, Side.OPTIMISTIC),
            q=self._law(law, _in_order(second * up, order), 0.0, order, Side.PESSIMISTIC),
        )

    def _law(self, law: _Law, masses: Array, infinite: float, order: Direction, side: Side) -> LatticeLaw:
        assert law.scale == 1
        lowest = law.first if order is Direction.REMOVE else -(law.first + law.q.size - 1)
        return LatticeLaw(
            interval=Fraction(self.interval), lowest=lowest, masses=masses, infinity_mass=infinite, side=side
        )

    def _points(self, law: _Law) -> Array:
        found: Array = np.exp((law.first + np.arange(law.q.size)) * (law.scale * self.interval))
        return found

    # sums -------------------------------------------------------------------------------------------------------------

    def _sum(self, s: Fraction, steps: int, *, up: bool) -> _Law:
        """The law of T terms: binary powers of one, added up from the smallest."""
        power = self._one(s, steps, up=up)
        total: _Law | None = None
        left = steps
        while True:
            if left & 1:
                total = power if total is None else self._added(total, power, steps, up=up)
            left >>= 1
            if not left:
                break
            power = self._added(power, power, steps, up=up)
        assert total is not None
        return total

    def _one(self, s: Fraction, steps: int, *, up: bool) -> _Law:
        """The law of one X: cells of a lognormal in balls, split between their ends or kept with their means."""
        scale = _scale(1, steps)
        width = scale * self.interval
        step = float(s) * width  # of the normal variable
        shift = float(1 / s)
        low = math.floor((-_REACH - shift / 2) / step - math.log(steps) / width)
        high = math.ceil((_REACH + shift / 2) / step - math.log(steps) / width)
        if high - low > _MOST_POINTS:
            remedy = "take a larger interval"
            raise InvalidValue("interval", self.interval, f"so large that {_MOST_POINTS} points span the loss", remedy)
        with precision(_BITS):
            h, scale_s = arb(width), ball(s)
            ends = [
                scale_s * (h * (arb(i) if up else arb(i) - arb(0.5)) + arb(steps).log()) + 1 / (2 * scale_s)
                for i in range(low, high + 1)
            ]
            below, above = ([_NORMAL.tail(sign * z) for z in ends] for sign in (-1, 1))
            p_below, p_above = ([_NORMAL.tail(sign * (z - 1 / scale_s)) for z in ends] for sign in (-1, 1))
            q = [_between(below, above, i) for i in range(high - low)]
            p = [_between(p_below, p_above, i) / steps for i in range(high - low)]
            outside = [below[0] + above[-1], (p_below[0] + p_above[-1]) / steps]
            if up:
                growth = h.expm1()
                points = [(h * i).exp() for i in range(low, high + 1)]
                raised = [(p[i] - points[i] * q[i]) / (points[i] * growth) for i in range(high - low)]
                kept = [one - two for one, two in zip(q, raised, strict=True)]
                masses = np.array([float(mass) for mass in kept] + [0.0])
                masses += np.array([0.0] + [float(mass) for mass in raised])
                cut = (float(outside[0].upper()) * (1 + ROUNDING), float(outside[1].upper()) * (1 + ROUNDING))
                return _Law(terms=1, scale=scale, first=low, q=masses, p=None, error=4 * ROUNDING, cut=cut)
            q[0], q[-1] = q[0] + below[0], q[-1] + above[-1]
            p[0], p[-1] = p[0] + p_below[0] / steps, p[-1] + p_above[-1] / steps
            laws = [np.array([float(mass) for mass in column]) for column in (q, p)]
        return _Law(terms=1, scale=scale, first=low, q=laws[0], p=laws[1], error=2 * ROUNDING)

    def _added(self, one: _Law, other: _Law, steps: int, *, up: bool) -> _Law:
        """The law of the sum of two independent sums."""
        if one.scale < other.scale:
            one, other = other, one
        terms = one.terms + other.terms
        scale = min(_scale(terms, steps), other.scale)
        width, stride, finer = scale * self.interval, one.scale // other.scale, other.scale // scale
        # in units of the finer source: one stands at (one.first + a) stride, other at other.first + b
        origin = min(one.first * stride, other.first)
        end = max((one.first + one.q.size - 1) * stride, other.first + other.q.size - 1)
        room = math.ceil(math.log(2.0) / width) + 3
        size = (end - origin) * finer + room
        if size > 4 * _MOST_POINTS:
            remedy = "take a larger interval"
            raise InvalidValue("interval", self.interval, f"so large that {4 * _MOST_POINTS} points do", remedy)
        sums = [np.zeros(size) for _ in range(1 if up else 2)]
        reach = math.ceil(-math.log(math.expm1(width) / 2) / (other.scale * self.interval)) + 1
        same = one is other
        operations = 16
        for d in range(0 if same else -reach, reach + 1):
            operations += 1
            # b = a stride + d + (one.first stride - other.first)
            offset = one.first * stride - other.first + d
            start = max(0, -(offset // stride))
            stop = min(one.q.size, (other.q.size - 1 - offset) // stride + 1)
            if stop <= start:
                continue
            mine = slice(start, stop)
            theirs = slice(start * stride + offset, (stop - 1) * stride + offset + 1, stride)
            above = math.log1p(math.exp(-abs(d) * other.scale * self.interval)) / width
            lead = ((one.first + start) * stride + max(d, 0) - origin) * finer
            self._place(sums, one, other, mine, theirs, lead, stride * finer, above, width, 2 if same and d else 1)
        for leader, follower, lead_stride, follow_stride in (
            ((one, other, stride, 1),) if same else ((one, other, stride, 1), (other, one, 1, stride))
        ):
            self._place_far(sums, leader, follower, lead_stride, follow_stride, reach, origin, finer, width, same)
        error = one.error + other.error + (operations + one.q.size + other.q.size) * ROUNDING
        cut = (
            one.cut[0] + other.cut[0],
            one.cut[1] + other.cut[1] + (one.cut[0] * other.terms + other.cut[0] * one.terms) / steps,
        )
        law = _Law(
            terms=terms,
            scale=scale,
            first=origin * finer,
            q=sums[0],
            p=None if up else sums[1],
            error=error * (1 + 1e-9),
            moved=max(one.moved, other.moved) + _MOVED,
            cut=(cut[0] * (1 + 8 * ROUNDING), cut[1] * (1 + 8 * ROUNDING)),
        )
        return self._trimmed(law)

    @staticmethod
    def _place(
        sums: list[Array],
        one: _Law,
        other: _Law,
        mine: slice,
        theirs: slice,
        lead: int,
        stride: int,
        above: float,
        width: float,
        times: int,
    ) -> None:
        """Add the products of one distance: at ``lead``, ``lead + stride``, ..., moved up by ``above`` points."""
        count = mine.stop - mine.start
        a, b = one.q[mine], other.q[theirs]
        masses = a * b * times
        if one.p is None or other.p is None:
            whole = math.floor(above)
            weight = math.expm1((above - whole) * width) / math.expm1(width)
            place = lead + whole
            sums[0][place : place + (count - 1) * stride + 1 : stride] += masses * (1 - weight)
            sums[0][place + 1 : place + (count - 1) * stride + 2 : stride] += masses * weight
            return
        place = lead + math.floor(above + 0.5)
        where = slice(place, place + (count - 1) * stride + 1, stride)
        sums[0][where] += masses
        sums[1][where] += (one.p[mine] * b + a * other.p[theirs]) * times

    def _place_far(
        self,
        sums: list[Array],
        leader: _Law,
        follower: _Law,
        lead_stride: int,
        follow_stride: int,
        reach: int,
        origin: int,
        finer: int,
        width: float,
        same: bool,
    ) -> None:
        """Add what is so far below its partner that the sum stays next to the partner's point, all at once."""
        places = (leader.first + np.arange(leader.q.size)) * lead_stride
        # the follower's points at or below places - reach - 1
        last = (places - reach - 1) // follow_stride - follower.first
        some = last >= 0
        if not some.any():
            return
        last = np.minimum(last[some], follower.q.size - 1)
        mass = np.cumsum(follower.q)[last]
        own = leader.q[some] * (2 if same else 1)
        at = (places[some] - origin) * finer
        sizes = follower.q * self._points(follower) if follower.p is None else follower.p
        mean = np.cumsum(sizes)[last]
        if leader.p is None:
            raised = mean / (self._points(leader)[some] * math.expm1(width))
            sums[0][at] += own * (mass - raised)
            sums[0][at + 1] += own * raised
            return
        sums[0][at] += own * mass
        sums[1][at] += leader.p[some] * (2 if same else 1) * mass + own * mean

    def _trimmed(self, law: _Law) -> _Law:
        """The law without its ends, of next to no mass: cut off, or merged into the points that are left."""
        p = law.q * self._points(law) if law.p is None else law.p
        low = int(np.searchsorted(np.maximum(np.cumsum(law.q), 0.0), _CUT, side="right"))
        high = law.q.size - int(np.searchsorted(np.cumsum(p[::-1]), _CUT, side="right"))
        kept = slice(low, max(high, low + 1))
        q_kept, p_kept, cut = law.q[kept].copy(), None, law.cut
        if law.p is None:
            up = 1 + 2 * law.error + _MOVED
            left = law.q[:low].sum() + law.q[kept.stop :].sum(), p[:low].sum() + p[kept.stop :].sum()
            cut = (law.cut[0] + float(left[0]) * up, law.cut[1] + float(left[1]) * up * (1 + 64 * ROUNDING))
        else:
            p_kept = law.p[kept].copy()
            for column, whole in ((q_kept, law.q), (p_kept, law.p)):
                column[0] += whole[:low].sum()
                column[-1] += whole[kept.stop :].sum()
        return _Law(
            terms=law.terms,
            scale=law.scale,
            first=law.first + low,
            q=q_kept,
            p=p_kept,
            error=law.error,
            moved=law.moved,
            cut=cut,
        )


def _between(below: list[arb], above: list[arb], i: int) -> arb:
    """The mass between two neighbouring ends, from the side where it is the difference of small numbers."""
    low: arb = above[i] - above[i + 1] if float(above[i]) < 0.5 else below[i + 1] - below[i]
    return low


def _in_order(masses: Array, order: Direction) -> Array:
    """By increasing loss: that of log R, or of -log R."""
    return masses if order is Direction.REMOVE else masses[::-1]


def _scale(terms: int, steps: int) -> int:
    """How much coarser the grid of a sum of so many terms may be: the largest power of 2 up to sqrt(T/n)."""
    scale = 1
    while 4 * scale * scale * terms <= steps:
        scale *= 2
    return scale


# kept on disk ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def allocation_lattice(noise_multiplier: Fraction, steps: int, interval: float) -> AllocationLattice:
    """The lattice of one epoch, kept for both orders and many epochs, and on disk where it took long.

    Raises:
        InvalidValue: as of `AllocationLattice`.
    """

    def make() -> AllocationLattice:
        return AllocationLattice(noise_multiplier, steps, interval)

    key = key_with_sources((AllocationLattice.__name__, noise_multiplier, steps, interval), [AllocationLattice])
    if key is None:
        return make()
    return kept(key, make, encode=encoded, decode=lambda content: decoded(content, interval))


def encoded(lattice: AllocationLattice) -> bytes:
    """Both laws, as arrays of NumPy."""
    arrays = {
        f"{side}.{name}": np.asarray(value)
        for side, law in zip(_SIDES, lattice.laws, strict=True)
        for name, value in asdict(law).items()
        if value is not None
    }
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def decoded(content: bytes, interval: float) -> AllocationLattice:
    """The lattice of such bytes, equal in every bit.

    Raises:
        ValueError: bytes of anything else.
    """
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            above, below = (_law_of(arrays, side) for side in _SIDES)
    except (KeyError, EOFError, OSError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError("no lattice of an allocation") from error
    return AllocationLattice.of_laws(above, below, interval)


def _law_of(arrays: Mapping[str, Array], side: str) -> _Law:
    def number(name: str) -> int | float:
        return arrays[f"{side}.{name}"].item()

    p = f"{side}.p"
    return _Law(
        terms=int(number("terms")),
        scale=int(number("scale")),
        first=int(number("first")),
        q=arrays[f"{side}.q"],
        p=arrays.get(p),
        error=float(number("error")),
        moved=float(number("moved")),
        cut=(float(arrays[f"{side}.cut"][0]), float(arrays[f"{side}.cut"][1])),
    )
