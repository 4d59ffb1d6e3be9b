"""What spherically symmetric noise has to say of itself: the law of its radius, and where its privacy loss is constant.

The noise is n = r v in R^dim with v uniform on the unit sphere and r >= 0 independent of v. Its density at y depends on
r = |y| only, and must be strictly decreasing in it. All lengths are in units of the shift: the two centres are 1 apart,
r is the distance of a point to the centre of P and rho its distance to the centre of Q, u = rho^2 - r^2, and

    the cosine of its angle at P, towards Q, is (1 - u)/(2 r);   at Q, towards P, it is (1 + u)/(2 rho).

As the density decreases, the loss increases with rho at fixed r: {loss > s} cuts a cap {cosine < t_s(r)} out of every
sphere about P. The points where the loss is s are a surface of revolution, described as a curve v -> (r, rho, u).

Besides the interfaces `RadialLaw` and `Surface` there is what laws are built of: `break_end` brackets, by certain
signs, the root where a surface meets the axis, and `gamma_below` and `gamma_above` are the distribution function of a
gamma variable and its complement on complex balls, quick also on wide ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import NamedTuple, TypeAlias, final

from flint import acb, arb, ctx

from dpverdict.balls import Real


class Undecided(Exception):
    """A sign was not decided at the current precision; the caller tries again with more bits."""


TailIntegral: TypeAlias = Callable[[Fraction, Fraction], arb]
"""A bound on the integral of exp(rate s) P[loss > s] over s > start, as a function of (start, rate)."""


class Turn(NamedTuple):
    """The cosines t_P and t_Q at a point, as the integrals need them: 1 - t_P, 1 + t_P, and both derivatives by v."""

    one_minus_p: acb
    one_plus_p: acb
    p_slope: acb
    q_slope: acb


class SurfacePoint(NamedTuple):
    """A point of the curve, with its derivatives by v, and ``tilt`` = exp(s) (r/rho)^(dim-3) sharp on wide balls.

    ``turn`` is given by a curve on which the general formulas of the cosines cancel.
    """

    r: acb
    rho: acb
    u: acb
    r_slope: acb
    rho_slope: acb
    u_slope: acb
    tilt: acb
    turn: Turn | None = None

    def turned(self) -> Turn:
        """The cosines t_P = (1 - u)/(2r) and t_Q = (1 + u)/(2 rho)."""
        if self.turn is not None:
            return self.turn
        of_p, of_q = (1 - self.u) / (2 * self.r), (1 + self.u) / (2 * self.rho)
        p_slope = -(self.u_slope / 2 + of_p * self.r_slope) / self.r
        q_slope = (self.u_slope / 2 - of_q * self.rho_slope) / self.rho
        return Turn(1 - of_p, 1 + of_p, p_slope, q_slope)


class EndKind(Enum):
    """Why an arc ends where it ends."""

    BREAK = "the surface meets the axis: the cap is empty or the whole sphere beyond"
    CENTRE = "the radius is so small that what is nearer to the centre is given up"
    SPLIT = "the next arc begins at the same point"
    INFINITY = "the radius grows without bound"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """An end of an arc.

    Args:
        kind: why the arc ends.
        at: the parameter: a ball around it at a BREAK, an exact one elsewhere; 0, and without meaning, at INFINITY.
        beyond: for BREAK, the share (0 or 1) of a sphere about P beyond the break that lies in {loss > s}. Of a sphere
            about Q it is always 0.
    """

    kind: EndKind
    at: arb
    beyond: int = 0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Arc:
    """A stretch of the curve where the surface is off the axis (|cosine| < 1); r increases from start to stop."""

    start: End
    stop: End


class Surface(ABC):
    """The surface where the loss is s, at the precision it was made at.

    Making one raises `Undecided` if that precision does not decide its shape. ``below`` and ``above`` are the arcs
    below and above a radius c, at which the cap is the share of the sphere at the parameter ``split``, or is certainly
    empty if ``split`` is None.
    """

    __slots__ = ("above", "below", "split")

    below: Arc | None
    above: Arc
    split: arb | None

    @abstractmethod
    def point(self, v: acb, analytic: bool) -> SurfacePoint:
        """The point at the parameter v; not finite if ``analytic`` and the functions are not analytic on v."""

    @abstractmethod
    def near_radius(self, radius: arb) -> arb:
        """An exact parameter, inside its range, at which r is about ``radius``."""


class RadialLaw(ABC):
    """Noise r v with v uniform on the sphere, whose density is spherically symmetric and strictly radially decreasing.

    A new law defines these methods; `SphericalLoss` derives every curve from them. All functions are evaluated at the
    current precision and enclose their value.
    """

    __slots__ = ()

    @abstractmethod
    def require(self, dim: int) -> None:
        """Raise InvalidValue unless the density on R^dim is radially decreasing."""

    @abstractmethod
    def divided_by(self, length: Real) -> RadialLaw:
        """The law of the noise in units of ``length``."""

    @abstractmethod
    def cdf(self, radius: acb, dim: int, analytic: bool) -> acb:
        """P[|n| <= radius], extended to complex radii; not finite if ``analytic`` and it is not analytic there."""

    @abstractmethod
    def tail(self, radius: acb, dim: int, analytic: bool) -> acb:
        """P[|n| > radius], accurate where it is small."""

    @abstractmethod
    def radius_beyond(self, exponent: float, dim: int) -> arb:
        """A radius with P[|n| > radius] of about exp(-exponent) or less; it steers, and proves nothing."""

    @abstractmethod
    def surface(self, dim: int, level: Fraction) -> Surface | None:
        """The surface where the loss is ``level`` >= 0, for a shift of length 1; None if the loss stays below."""

    @abstractmethod
    def largest_loss(self) -> Real | None:
        """The supremum of the loss for a shift of length 1; None if it is infinite."""

    @abstractmethod
    def renyi(self, dim: int, order: Fraction) -> Real | TailIntegral | None:
        """The Renyi divergence for a shift of length 1; None if it is infinite.

        Where it is finite without a closed form: a bound on the integral of exp(rate s) P[loss > s] over s > start, for
        rate <= order - 1, given as a function of (start, rate); not finite where ``start`` is too small for the bound.
        """


def quotient(number: Real, divisor: Real) -> Real:
    """number / divisor, exact if both are rational."""
    if number.rational is not None and divisor.rational is not None:
        return Real.of(number.rational / divisor.rational)
    return Real(lambda: number.ball() / divisor.ball())


def at_parameter(v: arb) -> End:
    """The end of an arc at the split parameter v."""
    return End(kind=EndKind.SPLIT, at=v)


def at_infinity() -> End:
    """The end of an arc that goes to infinity."""
    return End(kind=EndKind.INFINITY, at=arb(0))


_MAX_SQUARINGS = 40


def break_end(sign: Callable[[arb], arb], low: arb, high: arb, *, beyond: int) -> End:
    """The break between two exact parameters 0 < low < high at which ``sign`` is of opposite signs.

    The bracket is halved (in the logarithm while its ends are of different size) until the current precision does not
    decide the sign in its middle; its ends keep their certain signs. ``beyond``: see `End`.

    Raises:
        Undecided: the signs at low and high are not certainly opposite at the current precision.
    """
    at_low, at_high = sign(low), sign(high)
    positive_at_low = bool(at_low > 0)
    if not ((at_low > 0 and at_high < 0) or (at_low < 0 and at_high > 0)):
        raise Undecided
    for _ in range(2 * ctx.prec):
        middle = ((low * high).sqrt() if high > 2 * low else (low + high) / 2).mid()
        if not (low < middle and middle < high):
            break
        value = sign(middle)
        if (value > 0) if positive_at_low else (value < 0):
            low = middle
        elif (value < 0) if positive_at_low else (value > 0):
            high = middle
        else:
            break
    return End(kind=EndKind.BREAK, at=low.union(high), beyond=beyond)


def towards_zero(holds: Callable[[arb], bool]) -> arb:
    """An exact parameter in (0, 1/2] where a condition certainly holds that holds near 0."""
    v = arb(0.5)
    for _ in range(_MAX_SQUARINGS):
        if holds(v):
            return v
        v = (v * v).mid()
    raise Undecided


def towards_one(holds: Callable[[arb], bool]) -> arb:
    """An exact parameter in [1/2, 1) where a condition certainly holds that holds near 1."""
    gap = 1
    while gap < ctx.prec:
        v = 1 - arb(2) ** -gap
        if holds(v):
            return v
        gap += max(gap // 2, 1)
    raise Undecided


_WIDE_BITS = 12


def gamma_below(shape: arb, z: acb, analytic: bool) -> acb:
    """P[G <= z] for G ~ Gamma(shape), extended to complex z off the real numbers <= 0."""
    return _gamma_share(lambda at: at.gamma_lower(shape, regularized=1), arb(0), z, analytic)


def gamma_above(shape: arb, z: acb, analytic: bool) -> acb:
    """P[G > z], accurate where it is small."""
    return _gamma_share(lambda at: at.gamma_upper(shape, regularized=1), arb(1), z, analytic)


def _gamma_share(share: Callable[[acb], acb], at_zero: arb, z: acb, analytic: bool) -> acb:
    """The share at z, a function that is monotone on the real numbers.

    The series behind the incomplete gamma function can take half a second on a wide ball; there, a real interval is
    answered by its two ends (the function is monotone), and the question whether it is analytic by "perhaps not", at
    which the quadrature cuts the interval.
    """
    real = z.imag.is_zero()
    if analytic and not (z.real > 0 or z.imag > 0 or z.imag < 0):
        return acb("nan")
    if z.real.rel_accuracy_bits() >= _WIDE_BITS:
        return share(z)
    if real and not analytic:
        low, high = z.real.lower(), z.real.upper()
        at_low = share(acb(low)).real if low > 0 else at_zero
        return acb(at_low.union(share(acb(high)).real)) if high > 0 else acb(at_low)
    wide = z.real.rel_accuracy_bits() < 2
    return acb("nan") if wide else share(z)
