"""The random-direction Gaussian of R1SMG: a normal radius times a uniform direction."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from flint import acb, arb

from dpverdict.audit.losses.spherical.law import (
    Arc,
    RadialLaw,
    Surface,
    SurfacePoint,
    TailIntegral,
    Undecided,
    at_infinity,
    at_parameter,
    break_end,
    quotient,
    towards_one,
    towards_zero,
)
from dpverdict.balls import Exact, Real, ball
from dpverdict.checks import check_positive_real
from dpverdict.errors import InvalidValue
from dpverdict.numerics.text import exact_text

_SPLIT_SCALES = 3
_STEERING_STEPS = 64


@final
@dataclass(frozen=True, slots=True)
class RandomDirectionGaussian(RadialLaw):
    """n = scale * z * v with z ~ N(0,1) and v uniform on the unit sphere of R^dim, independent.

    The density at distance r is proportional to r^-(dim-1) exp(-r^2/(2 scale^2)): radially decreasing for dim >= 2, and
    unbounded at the centre. ``scale`` is a standard deviation; E|n|^2 = scale^2.

    Args:
        scale: sigma > 0, at its exact value.

    Raises:
        InvalidValue: the scale is NaN, infinite, or not certainly > 0.

    Reference: Ji and Li 2024, "Less is More" (arXiv:2306.02256), the noise of R1SMG.
    """

    scale: Exact | Real

    def __post_init__(self) -> None:
        remedy = "give the scale of the noise as a positive number"
        object.__setattr__(self, "scale", check_positive_real(self.scale, "scale", remedy))

    @property
    def sigma(self) -> Real:
        """The scale, exactly."""
        return Real.of(self.scale)

    def require(self, dim: int) -> None:
        if dim < 2:
            raise InvalidValue("dim", dim, "at least 2", "in one dimension this is N(0, scale^2): use GaussianLoss")

    def divided_by(self, length: Real) -> RadialLaw:
        return RandomDirectionGaussian(quotient(self.sigma, length))

    def cdf(self, radius: acb, dim: int, analytic: bool) -> acb:
        return (radius / (self.sigma.ball() * arb(2).sqrt())).erf()

    def tail(self, radius: acb, dim: int, analytic: bool) -> acb:
        return (radius / (self.sigma.ball() * arb(2).sqrt())).erfc()

    def radius_beyond(self, exponent: float, dim: int) -> arb:
        return (self.sigma.ball() * (2 * arb(exponent)).sqrt()).mid()

    def surface(self, dim: int, level: Fraction) -> Surface:
        return _Surface(self.sigma.ball(), dim, level)

    def largest_loss(self) -> None:
        return None

    def renyi(self, dim: int, order: Fraction) -> TailIntegral | None:
        """Infinite if and only if (dim-1)(order-1) >= 1: p^order q^(1-order) is then of order r^-dim or worse at 0.

        Otherwise the tail is bounded by the largest loss on a sphere about P, (1 + 2r)/(2 sigma^2) + m log(1 + 1/r),
        m = dim - 1. Where that exceeds s, either r <= 1 and r <= 1/expm1((s - k)/m), k = 3/(2 sigma^2), or r > 1 and
        r >= sigma^2 (s - c), c = m log 2 + 1/(2 sigma^2). So, with the density of r at most sqrt(2/pi)/sigma,

            P[L > s] <= sqrt(2/pi)/(sigma expm1((s - k)/m)) + exp(-sigma^2 (s - c)^2/2)    for s > max(k, c).
        """
        if (dim - 1) * (order - 1) >= 1:
            return None
        m = dim - 1

        def beyond(start: Fraction, rate: Fraction) -> arb:
            sigma, s, g = self.sigma.ball(), ball(start), ball(rate)
            k, c = 3 / (2 * sigma**2), m * arb(2).log() + 1 / (2 * sigma**2)
            if not (s > k and s > c):
                return arb("inf")
            fall = arb(1) / m - g
            near = (2 / arb.pi()).sqrt() / sigma * (k / m - fall * s).exp() / (fall * -(-(s - k) / m).expm1())
            far = (g * c + g**2 / (2 * sigma**2)).exp() * (arb.pi() / 2).sqrt() / sigma
            return near + far * (sigma * (s - c - g / sigma**2) / arb(2).sqrt()).erfc()

        return beyond

    def __repr__(self) -> str:
        exact = self.sigma.rational
        return f"RandomDirectionGaussian(scale={exact_text(exact) if exact is not None else self.sigma})"


@final
class _Surface(Surface):
    """The surface of loss s >= 0 by v = u/(2 s sigma^2) in (0, 1), with b = (dim-1)/2:

        s = u/(2 sigma^2) + b log(rho^2/r^2),   hence   r^2 = u/expm1(z),   z = (1 - v) s/b,

    and for s = 0: u = 0, r^2 = 2 b sigma^2 v/(1 - v). The radius increases with v from 0 to infinity.
    """

    __slots__ = ("b", "level", "scale", "variance")

    def __init__(self, scale: arb, dim: int, level: Fraction) -> None:
        self.scale, self.variance = scale, scale**2
        self.b = arb(dim - 1) / 2
        self.level = ball(level) if level else None
        first = break_end(self._before_first, *self._range(), beyond=1)
        inside = first.at.upper()
        split = self._nearest_approach()
        if split is None:
            split = self.near_radius(max(_SPLIT_SCALES * scale, 2 * self.point(acb(inside), False).r.real, key=float))
            self.split: arb | None = split
            self.below: Arc | None = Arc(start=first, stop=at_parameter(split))
            self.above: Arc = Arc(start=at_parameter(split), stop=at_infinity())
            return
        if not inside < split:
            raise Undecided
        second = break_end(self._past_last, inside, split, beyond=0)
        high = towards_one(lambda v: bool(v > split) and bool(self._past_last(v) > 0))
        self.split = None
        self.below = Arc(start=first, stop=second)
        self.above = Arc(start=break_end(self._past_last, split, high, beyond=0), stop=at_infinity())

    def point(self, v: acb, analytic: bool) -> SurfacePoint:
        if self.level is None:
            square = 2 * self.b * self.variance * v / (1 - v)
            square_slope = 2 * self.b * self.variance / (1 - v) ** 2
            u = u_slope = acb(0)
            tilt = acb(1)
        else:
            u_slope = acb(2 * self.variance * self.level)
            u = u_slope * v
            growth = ((1 - v) * (self.level / self.b)).expm1()
            square = u / growth
            tilt = (self.level * v).exp() * (1 + growth)
            square_slope = (u_slope + square * (self.level / self.b) * (1 + growth)) / growth
        r = square.sqrt(analytic=analytic)
        rho = (square + u).sqrt(analytic=analytic)
        rho_slope = (square_slope + u_slope) / (2 * rho)
        return SurfacePoint(r, rho, u, square_slope / (2 * r), rho_slope, u_slope, tilt)

    def near_radius(self, radius: arb) -> arb:
        low, high = arb(0), arb(1)
        for _ in range(_STEERING_STEPS):
            middle = ((low * high).sqrt() if low > 0 and high > 2 * low else (low + high) / 2).mid()
            if self.point(acb(middle), False).r.real < radius:
                low = middle
            else:
                high = middle
        return high if high < 1 else low

    def _before_first(self, v: arb) -> arb:
        """Decreasing in v; positive where the whole sphere lies in {loss > s}: 1 - u > 2r."""
        point = self.point(acb(v), False)
        return (1 - point.u - 2 * point.r).real

    def _past_last(self, v: arb) -> arb:
        """Negative where no point of the sphere lies in {loss > s}: u - 1 > 2r."""
        point = self.point(acb(v), False)
        return (1 - point.u + 2 * point.r).real

    def _nearest_approach(self) -> arb | None:
        """The parameter of a sphere with no point in {loss > s}; None if there is certainly no such sphere.

        On the axis behind P the loss is (1 + 2r)/(2 sigma^2) + 2b log(1 + 1/r), a convex function of r with its
        minimum where r(r + 1) = 2b sigma^2.
        """
        if self.level is None:
            return None
        radius = ((1 + 8 * self.b * self.variance).sqrt() - 1) / 2
        least = (1 + 2 * radius) / (2 * self.variance) + 2 * self.b * (1 / radius).log1p()
        if least > self.level:
            return None
        parameter = self.near_radius(radius.mid())
        if not self._past_last(parameter) < 0:
            raise Undecided
        return parameter

    def _range(self) -> tuple[arb, arb]:
        low = towards_zero(lambda v: bool(self._before_first(v) > 0))
        return low, towards_one(lambda v: bool(v > low) and bool(self._before_first(v) < 0))
