"""The isotropic Gaussian as a law of the radius: the case in which every curve is also known in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from flint import acb, arb, ctx

from dpverdict.audit.radial_gamma import radius_share
from dpverdict.audit.radial_law import (
    Arc,
    End,
    EndKind,
    RadialLaw,
    Surface,
    SurfacePoint,
    at_infinity,
    at_parameter,
    positive,
    quotient,
)
from dpverdict.balls import Exact, Real, ball
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.exact_text import exact_text


@final
@dataclass(frozen=True, slots=True)
class IsotropicGaussian(RadialLaw):
    """n ~ N(0, scale^2 I): independent normal coordinates.

    `SphericalLoss` of this law has the same curves as ``GaussianLoss(shift/scale)``, by another computation.

    Args:
        scale: sigma > 0, at its exact value.

    Raises:
        InvalidValue: the scale is NaN, infinite, or not certainly > 0.
    """

    scale: Exact | Real

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(Real.of(self.scale, name="scale"), "scale"))

    @property
    def sigma(self) -> Real:
        """The scale, exactly."""
        return Real.of(self.scale)

    def require(self, dim: int) -> None:
        if dim < 2:
            raise InvalidValue("dim", dim, "at least 2", "in one dimension use GaussianLoss")

    def divided_by(self, length: Real) -> RadialLaw:
        return IsotropicGaussian(quotient(self.sigma, length))

    def cdf(self, radius: acb, dim: int, analytic: bool) -> acb:
        return radius_share(arb(dim) / 2, self._half_square(radius), analytic, tail=False)

    def tail(self, radius: acb, dim: int, analytic: bool) -> acb:
        return radius_share(arb(dim) / 2, self._half_square(radius), analytic, tail=True)

    def _half_square(self, radius: acb) -> acb:
        return radius**2 / (2 * self.sigma.ball() ** 2)

    def radius_beyond(self, exponent: float, dim: int) -> arb:
        return (self.sigma.ball() * (arb(dim).sqrt() + (2 * arb(exponent)).sqrt())).mid()

    def surface(self, dim: int, level: Fraction) -> Surface:
        return _Surface(self.sigma.ball(), dim, level)

    def largest_loss(self) -> None:
        return None

    def renyi(self, dim: int, order: Fraction) -> Real:
        return Real(lambda: ball(order) / (2 * self.sigma.ball() ** 2))

    def __repr__(self) -> str:
        exact = self.sigma.rational
        return f"IsotropicGaussian(scale={exact_text(exact) if exact is not None else self.sigma})"


@final
class _Surface(Surface):
    """The plane u = 2 sigma^2 s, by the radius r = v."""

    __slots__ = ("dim", "growth", "u")

    def __init__(self, scale: arb, dim: int, level: Fraction) -> None:
        self.dim, self.growth = dim, ball(level).exp()
        self.u = 2 * scale**2 * ball(level)
        start = _start(self.u, scale)
        middle = (scale * arb(dim).sqrt()).mid()
        self.split: arb | None
        self.below: Arc | None
        if self.u > 1:  # small spheres are outside
            self.split, self.below = None, None
            self.above: Arc = Arc(start=start, stop=at_infinity())
        else:
            self.split = max(middle, (2 * start.at).mid(), key=float)
            self.below = Arc(start=start, stop=at_parameter(self.split))
            self.above = Arc(start=at_parameter(self.split), stop=at_infinity())

    def point(self, v: acb, analytic: bool) -> SurfacePoint:
        rho = (v**2 + self.u).sqrt(analytic=analytic)
        sharpened = (1 + self.u / v**2).sqrt(analytic=analytic)  # rho/r
        return SurfacePoint(v, rho, acb(self.u), acb(1), v / rho, acb(0), self.growth * sharpened ** (3 - self.dim))

    def near_radius(self, radius: arb) -> arb:
        return radius.mid()


def _start(u: arb, scale: arb) -> End:
    """The break at the sphere about P that touches the plane.

    Where the precision does not tell the plane from one through the centre, the stretch from radius 0 is given up.
    """
    touch = abs(1 - u) / 2
    if touch > 0:
        return End(kind=EndKind.BREAK, at=touch, beyond=0 if u > 1 else 1)
    return End(kind=EndKind.CENTRE, at=(2 * touch.upper() + scale * arb(2) ** -ctx.prec).upper())
