"""The privacy loss of a Laplace mechanism on a vector: Lap(1)^m against its shift.

The certified curves are balls, from the profile and the tails of `dpverdict.audit.losses.laplace.profile`; the Renyi
divergences have a closed form. The float64 curves are such balls rounded to nearest, and at many points interpolated
between such values: the profile and the tails are analytic between the atoms of the loss, so points that lie close
together share one Chebyshev polynomial, which is checked against the balls at further points. Where the check fails
(across a strong atom) the points are halved; few points are computed one by one.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TypeAlias, final

import numpy as np
import scipy
from flint import arb

from dpverdict.audit.losses.base import REAL_ARITHMETIC, BallLoss, ExactLoss
from dpverdict.audit.losses.curves import (
    ACCURACY,
    beta_ball,
    beta_between,
    epsilon_ball,
    epsilon_between,
    log_delta_ball,
)
from dpverdict.audit.losses.domains import EPSILON, LossTails, finite_losses
from dpverdict.audit.losses.laplace.profile import LaplaceProfile, LaplaceRoute, refined
from dpverdict.audit.losses.laplace.terms import Groups, near
from dpverdict.balls import Enclosure, Exact, ball, exactly, precision, refine
from dpverdict.checks import check_whole
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.text import exact_text

RELATIVE_ERROR = 1e-13
"""Bound on the relative error of the float64 profile and tails, measured; a subnormal number has an absolute one."""

Evaluate: TypeAlias = Callable[[Fraction], arb]

_FEWEST = 40  # points that are worth a polynomial
_NODES = 24
_CHECKS = (-0.93, -0.31, 0.17, 0.71)
_CLOSE = 5e-15
_BITS = 60
_TINY = 1e-290
_NOTHING = arb(2) ** -1080


def delta(profile: LaplaceProfile, epsilon: Array) -> Array:
    """The privacy profile at an array of any shape."""
    size, place = np.unique(np.abs(epsilon), return_inverse=True)
    values = _curve(profile, lambda x: profile.enclosed_delta(x, _BITS)[0], size)
    positive = values[place].reshape(epsilon.shape)
    below = np.minimum(epsilon, 0.0)
    reflected: Array = np.exp(below) * positive - np.expm1(below)
    return np.where(epsilon < 0, reflected, positive)


def tails_of_one(shift: Fraction, losses: Array) -> LossTails:
    """The four tails of one coordinate at losses of shape (n,), in closed form.

    P[L <= l] = exp((l - s)/2)/2 and Q[L > l] = exp(-(l + s)/2)/2 at -s <= l < s.
    """
    size = float(shift)
    inside = (losses >= -size) & (losses < size)
    for i in np.flatnonzero(np.abs(losses) == size).tolist():  # the float may be on either side of the shift
        inside[i] = -shift <= Fraction(float(losses[i])) < shift
    low = losses < 0
    with np.errstate(under="ignore", over="ignore"):
        below, above = np.exp((losses - size) / 2) / 2, np.exp(-(losses + size) / 2) / 2

    def value(at: Array, above_it: float) -> Array:
        return np.where(inside, at, np.where(low, 1.0 - above_it, above_it))

    return LossTails(
        p_above=value(1.0 - below, 0.0),
        p_below=value(below, 1.0),
        q_above=value(above, 0.0),
        q_below=value(1.0 - above, 1.0),
        relative_error=max(RELATIVE_ERROR, 2.0**-51 * size),  # of the exponents' absolute errors
    )


def tails(profile: LaplaceProfile, losses: Array) -> LossTails:
    """The four tails at losses of shape (n,)."""
    size, place = np.unique(np.abs(losses), return_inverse=True)

    def curve(evaluate: Evaluate) -> Array:
        return _curve(profile, evaluate, size)[place]

    p_above = curve(lambda x: profile.p_above(x, _BITS))
    q_above = curve(lambda x: profile.q_above(x, _BITS))
    p_below = 1.0 - p_above
    large = p_above > 0.5
    if large.any():
        p_below[large] = curve(lambda x: profile.p_to(x, _BITS))[large]
    q_below = 1.0 - q_above
    # At -x, by symmetry: P[L <= -x] = Q[L >= x] and so on. The atoms, where > and >= differ, are done one by one.
    negative = losses < 0
    p_from, q_from, p_under, q_under = p_above.copy(), q_above.copy(), p_below.copy(), q_below.copy()
    for i in np.flatnonzero(negative).tolist():
        x = Fraction(-float(losses[i]))
        if profile.is_atom(x):
            p_from[i], q_from[i] = float(profile.p_from(x, _BITS)), float(profile.q_from(x, _BITS))
            p_under[i], q_under[i] = float(profile.p_before(x, _BITS)), 1.0 - q_from[i]
    return LossTails(
        p_above=np.where(negative, q_under, p_above),
        p_below=np.where(negative, q_from, p_below),
        q_above=np.where(negative, p_under, q_above),
        q_below=np.where(negative, p_from, q_below),
        relative_error=RELATIVE_ERROR,
    )


def _curve(profile: LaplaceProfile, evaluate: Evaluate, points: Array) -> Array:
    if profile.is_smooth:
        return interpolated(evaluate, points, profile.atoms())
    return np.array([float(evaluate(Fraction(x))) for x in points.tolist()], dtype=np.float64)


def interpolated(evaluate: Evaluate, points: Array, atoms: Sequence[float]) -> Array:
    """The monotonic, positive curve at increasing points; it is analytic between the atoms, right-continuous at them.

    Args:
        evaluate: the curve at one point, as a ball.
        points: float64 array of shape (n,), strictly increasing.
        atoms: where the curve may jump or bend, increasing; it need not list them all.
    """
    values = np.empty(points.shape)

    def fill(start: int, stop: int) -> None:
        if stop - start < _FEWEST:
            values[start:stop] = [float(evaluate(Fraction(x))) for x in points[start:stop].tolist()]
            return
        low, high = float(points[start]), float(points[stop - 1])
        if all(bool(evaluate(Fraction(end)) < _NOTHING) for end in (low, high)):  # the curve is monotonic
            values[start:stop] = 0.0
            return
        first, last = (
            bisect_left(atoms, math.nextafter(low, math.inf)),
            bisect_left(atoms, math.nextafter(high, math.inf)),
        )
        if first < last:
            split = int(np.searchsorted(points, atoms[(first + last) // 2], side="left"))
        else:
            found = _polynomial(evaluate, points[start:stop])
            if found is not None:
                values[start:stop] = found
                return
            split = (start + stop) // 2
        fill(start, split)
        fill(split, stop)

    fill(0, points.size)
    return values


def _polynomial(evaluate: Evaluate, points: Array) -> Array | None:
    """The curve by one Chebyshev polynomial; None where that is not accurate.

    The polynomial is that of the curve divided by its value in the middle and by an exponential function.
    """
    low, high = float(points[0]), float(points[-1])
    middle, half = low + (high - low) / 2, (high - low) / 2
    angles = (2 * np.arange(_NODES) + 1) * math.pi / (2 * _NODES)
    places = np.concatenate([np.cos(angles), _CHECKS])
    nodes = np.clip(middle + half * places, low, high)
    centre = evaluate(Fraction(middle))
    size = float(centre)
    if not _TINY < size < math.inf:
        return None
    balls = [evaluate(Fraction(x)) for x in nodes.tolist()]
    if not all(value > 0 for value in balls):
        return None
    with precision(_BITS + 40):
        rate = (float(balls[0].log()) - float(balls[_NODES - 1].log())) / (nodes[0] - nodes[_NODES - 1])
        scaled = np.array(
            [
                float(v / centre * (-ball(float(rate)) * (ball(x) - middle)).exp())
                for v, x in zip(balls, nodes.tolist(), strict=True)
            ]
        )
    where = (nodes - middle) / half
    weights = (-1.0) ** np.arange(_NODES) * np.sin(angles)

    def value(at: Array) -> Array:
        gaps = at[:, None] - where[None, :_NODES]
        hit = gaps == 0
        terms = weights / np.where(hit, 1.0, gaps)
        quotient: Array = (terms @ scaled[:_NODES]) / terms.sum(axis=1)
        rows, columns = np.nonzero(hit)
        quotient[rows] = scaled[columns]
        return quotient

    if not np.all(np.abs(value(where[_NODES:]) / scaled[_NODES:] - 1.0) < _CLOSE):
        return None
    result: Array = size * np.exp(rate * (points - middle)) * value((points - middle) / half)
    return result if bool(np.all(result > _TINY)) else None


_RENYI_BITS = 56


def renyi_ball(groups: Groups, order: Fraction) -> arb:
    """The Renyi divergence of an order r > 0, the sum over the coordinates of

        log((r exp((r - 1) s) + (r - 1) exp(-r s)) / (2 r - 1)) / (r - 1),

    which is s - 1 + exp(-s) at r = 1 and s - 2 log(1 + s/2) at r = 1/2.

    Raises:
        PrecisionExhausted: the order or a shift is too extreme.

    Reference: Mironov 2017, Proposition 6 (arXiv:1702.07476), for one coordinate.
    """
    if not groups:
        return arb(0)

    def divergence() -> arb:
        return sum((count * _of_one(ball(shift), order) for shift, count in groups), arb(0))

    return refine(divergence, bits=_RENYI_BITS, name="renyi")


def _of_one(shift: arb, order: Fraction) -> arb:
    if order == 1:
        return shift + (-shift).expm1()
    if order == Fraction(1, 2):
        return shift - 2 * (shift / 2).log1p()
    r = ball(order)
    # exp((1 - r) s) times the moment is 1 + (r - 1) (1 + exp(-(2 r - 1) s)) ... written so that it does not cancel at 1
    rest = ball(order - 1) * (ball(1 - 2 * order) * shift).expm1() / ball(2 * order - 1)
    return shift + rest.log1p() / (r - 1)


MOST_COORDINATES = 100_000
"""The largest number of coordinates."""

SMALLEST_SHIFT, LARGEST_SHIFT = Fraction(1, 10**250), Fraction(10**6)
"""The range of the shifts that are not 0."""


@final
class LaplaceLoss(BallLoss, ExactLoss):
    """The privacy loss of Lap(1)^m against its shift by a vector.

    It is the loss of a Laplace mechanism with scale b on neighbours whose statistics differ by the vector b * shifts.
    The loss of one coordinate with shift s is s with probability 1/2, -s with probability exp(-s)/2, and in between it
    is s - 2 x with density exp(-x)/2 at 0 < x < s; the losses of the coordinates add. The loss is bounded by ``total``,
    the sum of the shifts, which is the pure epsilon.

    Symmetry: reflecting every coordinate at the middle of its shift exchanges the two laws. So P against Q and Q
    against P have the same curves, the sign of a shift does not matter, and the trade-off function is its own inverse.

    Accuracy: the profile is an exact finite sum for equal shifts, and for unequal ones as long as their sums take at
    most 100 000 different values; where the atoms of the loss weigh next to nothing it is a contour integral. There,
    every certified enclosure is accurate to float64, and the float64 methods have a relative error below
    `RELATIVE_ERROR`. With many different shifts that are small altogether, none of these serves: then
    ``certified_delta``, ``certified_epsilon`` and ``certified_beta`` are intervals between two bounds from a lattice of
    losses, certain but wider (``route`` says so; about 1e-5 of delta), and float64 methods return a number inside of
    them. Only ``tails``, which promise a relative accuracy, raise `PrecisionExhausted`; `compose` needs none of them.

    Args:
        shifts: the shift of every coordinate in units of the scale, at exact values; signs do not matter, zeros are
            dropped; without any, the two laws are the same.

    Raises:
        InvalidValue: a shift is NaN, infinite or out of range, or there are more than `MOST_COORDINATES`.

    Reference: Dwork, McSherry, Nissim and Smith 2006, Proposition 1 (doi:10.1007/11681878_14), for the pure epsilon.

    >>> loss = LaplaceLoss(["0.5", "0.25"])
    >>> loss.delta("0.5"), loss.certified_delta("0.5")
    (0.062347041003867384, Enclosure([0.062347041003867377, 0.062347041003867385]))
    >>> loss.epsilon(0), loss.certified_beta("0.01").contains("0.9788")
    (0.75, False)
    >>> LaplaceLoss.equal(1000, "0.0075").delta(1)
    9.85980813708682e-07
    """

    __slots__ = ("_groups", "_profile")

    symmetric = True

    def __init__(self, shifts: Iterable[Exact]) -> None:
        if isinstance(shifts, str):
            raise InvalidValue("shifts", shifts, "a sequence of numbers", 'write ["0.5"] for a single shift')
        given = list(shifts)
        try:
            distinct = Counter((type(shift), shift) for shift in given)  # of many equal ones one is read
        except TypeError:  # some have no hash: they are arrays of one number, or no numbers
            distinct = Counter((Fraction, _size(shift)) for shift in given)
        counts: Counter[Fraction] = Counter()
        for (_, shift), count in distinct.items():
            value = _size(shift)
            counts.update({value: count} if value else {})
        self._set(counts)

    @classmethod
    def equal(cls, m: int, shift: Exact) -> LaplaceLoss:
        """The loss of m coordinates with the same shift.

        Args:
            m: the number of coordinates, 1 to `MOST_COORDINATES`.
            shift: the shift of each in units of the scale, at its exact value.
        """
        number = check_whole(m, "m", least=1, most=MOST_COORDINATES, remedy="give the number of coordinates")
        value = _size(shift)
        loss = cls.__new__(cls)
        loss._set(Counter({value: number} if value else {}))
        return loss

    @classmethod
    def grouped(cls, groups: Iterable[tuple[Exact, int]]) -> LaplaceLoss:
        """The loss of coordinates given as (shift in units of the scale, number of coordinates with it)."""
        counts: Counter[Fraction] = Counter()
        remedy = "take fewer of them, as by a smaller dim or horizon"
        for shift, count in groups:
            value = _size(shift, "shift over scale", "take noise of another scale, as by another epsilon")
            number = check_whole(count, "noisy coordinates", least=1, most=MOST_COORDINATES, remedy=remedy)
            counts.update({value: number} if value else {})
        loss = cls.__new__(cls)
        loss._set(counts)
        return loss

    def _set(self, counts: Counter[Fraction]) -> None:
        if counts.total() > MOST_COORDINATES:
            remedy = f"compose at most {MOST_COORDINATES} coordinates"
            raise InvalidValue("shifts", f"{counts.total()} numbers", "not too many", remedy)
        self._groups: Groups = tuple(sorted(counts.items()))
        self._profile = LaplaceProfile(self._groups)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Real arithmetic."""
        return (REAL_ARITHMETIC,)

    def event_above(self, level: float) -> str:
        """A difference of two l1 norms."""
        moved = " and ".join(f"{count} of {float(a)!r}" for a, count in self._groups[:6])
        more = ", ..." if len(self._groups) > 6 else ""
        return (
            f"sum of |y - E_Q[y]| - |y - E_P[y]| > {level!r} over the coordinates that move, in "
            f"units of the scale ({moved}{more}): the privacy loss exceeds it"
        )

    @property
    def law_key(self) -> tuple[object, ...]:
        """The shifts."""
        return ("Laplace", self._groups)

    @property
    def has_closed_profile(self) -> bool:
        """Yes."""
        return True

    def largest(self) -> arb:
        """The sum of the shifts."""
        return ball(self.total)

    @property
    def exact_key(self) -> tuple[object, ...] | None:
        """The shifts."""
        return self.law_key

    @property
    def groups(self) -> Groups:
        """The distinct positive shifts with their counts, in increasing order."""
        return self._groups

    @property
    def total(self) -> Fraction:
        """The sum of the shifts: the largest value of the loss, and the pure epsilon."""
        return self._profile.total

    @property
    def largest_loss(self) -> Fraction:
        """The sum of the shifts, as ``total``; it is attained with probability 2^-m."""
        return self.total

    def least_rho(self) -> Enclosure:
        """The Kullback-Leibler divergence D_1, the limit of D_a/a at a = 1: D_a/a falls from there.

        With t = a - 1/2 and M(t) = E_Q[exp(a L)], which is even in t and 1 at t = 1/2, D_a/a = log M(t)/(t^2 - 1/4). M
        is, up to a factor, cosh(s t) + sinh(s t)/(2 t) for a coordinate moved by s: an entire function of u = t^2 of
        order 1/2 whose zeros are real and negative (tan(s x) = -2 x), so that log M is concave in u, and its chord
        slope from u = 1/4 on falls. Sums over coordinates fall too.
        """
        return self.certified_renyi(1)

    def delta_to(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon), enclosed to at least ``bits`` accurate bits.

        Raises:
            PrecisionExhausted: no route reaches the accuracy.
        """
        return self._profile.delta(epsilon, bits)

    def p_above(self, level: Fraction, bits: int) -> arb:
        """P[L > level], to ``bits`` accurate bits."""
        return self._profile.p_above(level, bits)

    def q_above(self, level: Fraction, bits: int) -> arb:
        """Q[L > level], to ``bits`` accurate bits."""
        return self._profile.q_above(level, bits)

    def route(self, epsilon: Exact) -> LaplaceRoute:
        """How ``certified_delta(epsilon)`` is computed, which says how wide it can be."""
        return self._profile.enclosed_delta(EPSILON.exact(epsilon), ACCURACY)[1]

    # float64 ----------------------------------------------------------------------------------------------------------

    def _delta(self, epsilon: Array) -> Array:
        return delta(self._profile, epsilon)

    def tails(self, l: Array) -> LossTails:
        """The four tails at losses of shape (n,), with a relative error below `RELATIVE_ERROR`."""
        losses = finite_losses(l)
        if len(self._groups) == 1 and self._groups[0][1] == 1:
            return tails_of_one(self._groups[0][0], losses)
        return tails(self._profile, losses)

    def coordinates(self) -> list[tuple[LaplaceLoss, int]]:
        """The loss of one coordinate for every distinct shift, with the number of such coordinates."""
        return [(LaplaceLoss([shift]), count) for shift, count in self._groups]

    # balls ------------------------------------------------------------------------------------------------------------

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [self._profile.enclosed_delta(exactly(epsilon), ACCURACY)[0] for epsilon in epsilons]

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [self._log_delta_ball(exactly(epsilon)) for epsilon in epsilons]

    def _log_delta_ball(self, epsilon: Fraction) -> arb:
        value, route = self._profile.enclosed_delta(epsilon, ACCURACY)
        if route is LaplaceRoute.LATTICE:
            with precision(128):
                return value.log()
        return log_delta_ball(self._profile.delta, epsilon, complement=self._profile.complement)

    def _epsilon_ball(self, delta: Fraction) -> arb:
        if delta == 0:
            return refined(lambda _: ball(self.total), ACCURACY)
        if delta == 1:
            return arb(0)
        try:
            return epsilon_ball(self._profile.delta, delta, highest=self.total)
        except PrecisionExhausted:
            return epsilon_between(self._enclosed_delta, delta, self.total)

    def _enclosed_delta(self, epsilon: Fraction) -> arb:
        return self._profile.enclosed_delta(epsilon, ACCURACY)[0]

    def _beta_ball(self, alpha: Fraction) -> arb:
        if alpha in (0, 1) or not self._groups:
            return refined(lambda _: ball(1 - alpha), ACCURACY)
        profile, total, m = self._profile, self.total, sum(count for _, count in self._groups)
        if (1 - alpha) * 2**m <= 1:  # below, Q[L > -total] = 1 - 2^-m < alpha: the last piece
            return refined(lambda _: (-ball(total)).exp() * ball(1 - alpha), ACCURACY)
        with precision(64):
            is_first = ball(alpha * 2**m) * ball(total).exp() <= 1  # alpha <= Q[L = total]
        if is_first:
            return refined(lambda _: 1 - ball(total).exp() * ball(alpha), ACCURACY)
        if m == 1:
            return refined(lambda _: (-ball(total)).exp() / (4 * ball(alpha)), ACCURACY)
        try:
            return beta_ball(
                profile.delta, profile.q_above, alpha, complement=profile.complement, guess=self._around(alpha)
            )
        except PrecisionExhausted:
            return beta_between(self._enclosed_delta, alpha, total)

    def _around(self, alpha: Fraction) -> tuple[Fraction, Fraction]:
        """About where Q[L > epsilon] = alpha: by the mean and the variance of L, as of a normal law; it steers."""
        mean = variance = 0.0
        for shift, count in self._groups:
            s = near(shift)
            away = -math.expm1(-s)  # L = -s + 2 min(X, s) with probability 1/2, X exponential, and -s otherwise
            mean += count * (away - s)
            variance += count * (4 * (away - s * math.exp(-s)) - away**2)
        width = math.sqrt(max(variance, 0.0)) + float(self.total) * 2**-40
        middle = mean + width * max(-40.0, min(40.0, -float(scipy.special.ndtri(near(alpha)))))
        low, high = (max(-self.total, min(self.total, Fraction(x))) for x in (middle - width / 16, middle + width / 16))
        return (low, high) if low < high else (-self.total, self.total)

    def _renyi_ball(self, order: Fraction) -> arb:
        return renyi_ball(self._groups, order)

    def _advantage_ball(self) -> arb:
        return self._profile.enclosed_delta(Fraction(0), ACCURACY)[0]

    def __repr__(self) -> str:
        if len(self._groups) == 1:
            ((shift, count),) = self._groups
            return f"LaplaceLoss.equal({count}, {exact_text(shift)})"
        text = ", ".join(f"{exact_text(shift)} x {count}" for shift, count in self._groups[:8])
        return f"LaplaceLoss({text}{', ...' if len(self._groups) > 8 else ''})"


def _size(shift: Exact, name: str = "shift", remedy: str = "give the shift in units of the scale") -> Fraction:
    """The absolute value of a shift."""
    size = abs(exactly(shift, name=name))
    if size and not SMALLEST_SHIFT <= size <= LARGEST_SHIFT:
        raise InvalidValue(name, shift, "0 or between 1e-250 and 1e+6 in size", remedy)
    return size
