"""Isotropic noise whose radius is a power of a gamma variable: the Gaussian, also known in closed form, and Laplace."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from flint import acb, arb, ctx

from dpverdict.audit.losses.spherical.law import (
    Arc,
    End,
    EndKind,
    RadialLaw,
    Surface,
    SurfacePoint,
    Turn,
    Undecided,
    at_infinity,
    at_parameter,
    gamma_above,
    gamma_below,
    quotient,
)
from dpverdict.balls import Exact, Real, ball, compare
from dpverdict.checks import check_positive_real
from dpverdict.errors import InvalidValue
from dpverdict.numerics.text import exact_text


@dataclass(frozen=True, slots=True)
class _GammaRadius(RadialLaw):
    """What the two laws share: with a scale and a shape, a function of |n|/scale is a gamma variable."""

    scale: Exact | Real

    def __post_init__(self) -> None:
        remedy = "give the scale of the noise as a positive number"
        object.__setattr__(self, "scale", check_positive_real(self.scale, "scale", remedy))

    @property
    def theta(self) -> Real:
        """The scale, exactly."""
        return Real.of(self.scale)

    @abstractmethod
    def gamma(self, radius: acb, dim: int) -> tuple[arb, acb]:
        """The shape, and the value of the gamma variable at the radius."""

    def divided_by(self, length: Real) -> RadialLaw:
        return type(self)(quotient(self.theta, length))

    def cdf(self, radius: acb, dim: int, analytic: bool) -> acb:
        return gamma_below(*self.gamma(radius, dim), analytic)

    def tail(self, radius: acb, dim: int, analytic: bool) -> acb:
        return gamma_above(*self.gamma(radius, dim), analytic)

    def __repr__(self) -> str:
        exact = self.theta.rational
        return f"{type(self).__name__}(scale={exact_text(exact) if exact is not None else self.theta})"


@final
@dataclass(frozen=True, slots=True, repr=False)
class IsotropicGaussian(_GammaRadius):
    """n ~ N(0, scale^2 I): independent normal coordinates.

    `SphericalLoss` of this law has the same curves as ``GaussianLoss(shift/scale)``, by another computation.

    Args:
        scale: sigma > 0, at its exact value.

    Raises:
        InvalidValue: the scale is NaN, infinite, or not certainly > 0.
    """

    @property
    def sigma(self) -> Real:
        """The scale, exactly."""
        return self.theta

    def require(self, dim: int) -> None:
        if dim < 2:
            raise InvalidValue("dim", dim, "at least 2", "in one dimension use GaussianLoss")

    def gamma(self, radius: acb, dim: int) -> tuple[arb, acb]:
        return arb(dim) / 2, radius**2 / (2 * self.sigma.ball() ** 2)

    def radius_beyond(self, exponent: float, dim: int) -> arb:
        return (self.sigma.ball() * (arb(dim).sqrt() + (2 * arb(exponent)).sqrt())).mid()

    def surface(self, dim: int, level: Fraction) -> Surface:
        return _Plane(self.sigma.ball(), dim, level)

    def largest_loss(self) -> None:
        return None

    def renyi(self, dim: int, order: Fraction) -> Real:
        return Real(lambda: ball(order) / (2 * self.sigma.ball() ** 2))


@final
class _Plane(Surface):
    """The plane u = 2 sigma^2 s, by the radius r = v."""

    __slots__ = ("dim", "growth", "u")

    def __init__(self, scale: arb, dim: int, level: Fraction) -> None:
        self.dim, self.growth = dim, ball(level).exp()
        self.u = 2 * scale**2 * ball(level)
        start = _break_at_plane(self.u, scale)
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


def _break_at_plane(u: arb, scale: arb) -> End:
    """The break at the sphere about P that touches the plane.

    Where the precision does not tell the plane from one through the centre, the stretch from radius 0 is given up.
    """
    touch = abs(1 - u) / 2
    if touch > 0:
        return End(kind=EndKind.BREAK, at=touch, beyond=0 if u > 1 else 1)
    return End(kind=EndKind.CENTRE, at=(2 * touch.upper() + scale * arb(2) ** -ctx.prec).upper())


@final
@dataclass(frozen=True, slots=True, repr=False)
class IsotropicLaplace(_GammaRadius):
    """Noise with density proportional to exp(-|n|/scale) on R^dim; its radius is Gamma(dim) times ``scale``.

    The loss is (rho - r)/scale <= shift/scale: pure differential privacy with epsilon = shift/scale.

    Args:
        scale: the scale > 0 of the radius, at its exact value.

    Raises:
        InvalidValue: the scale is NaN, infinite, or not certainly > 0.

    Reference: Chaudhuri, Monteleoni and Sarwate 2011 (arXiv:0912.0071), Algorithm 1.
    """

    def require(self, dim: int) -> None:
        if dim < 2:
            raise InvalidValue("dim", dim, "at least 2", "in one dimension use LaplaceLoss")

    def gamma(self, radius: acb, dim: int) -> tuple[arb, acb]:
        return arb(dim), radius / self.theta.ball()

    def radius_beyond(self, exponent: float, dim: int) -> arb:
        return (self.theta.ball() * (arb(dim).sqrt() + arb(exponent).sqrt()) ** 2).mid()

    def surface(self, dim: int, level: Fraction) -> Surface | None:
        sign = compare(Real(lambda: self.theta.ball() * ball(level)), Real.of(1))
        largest = self.largest_loss()
        if largest.rational is not None and largest.rational <= level:
            return None
        if sign is None:
            raise Undecided
        return _Hyperboloid(self.theta.ball(), dim, level) if sign < 0 else None

    def largest_loss(self) -> Real:
        return quotient(Real.of(1), self.theta)

    def renyi(self, dim: int, order: Fraction) -> Real:
        """log(M(a))/(a - 1) in closed form, M(a) = E_P[exp((a - 1) L)]; at a = 1 the mean of the loss, M'(1).

        In the coordinates (rho + r, rho - r) of the ellipsoids about both centres the integral is a sum of two products
        of integrals of one variable, which are modified Bessel functions: with n = (dim - 2)/2, k = 1/(2 scale),
        c = (2a - 1) k and g_n(c) = c^-n I_n(c), an even function,

            M(a) = k^(n+1) (K_(n+1)(k) g_n(c) + k K_n(k) g_(n+1)(c)),
            M'(1) = 2 k^2 (K_(n+1)(k) I_(n+1)(k) + K_n(k) I_(n+2)(k)).
        """

        def divergence() -> arb:
            n, k = arb(dim - 2) / 2, 1 / (2 * self.theta.ball())
            if order == 1:
                return 2 * k**2 * (k.bessel_k(n + 1) * k.bessel_i(n + 1) + k.bessel_k(n) * k.bessel_i(n + 2))
            square = (ball(2 * order - 1) * k / 2) ** 2
            of_n, of_next = (square.hypgeom_0f1(m + 1) * arb(2) ** -m / (m + 1).gamma() for m in (n, n + 1))
            moment = k ** (n + 1) * (k.bessel_k(n + 1) * of_n + k * k.bessel_k(n) * of_next)
            return moment.log() / ball(order - 1)

        return Real(divergence)


@final
class _Hyperboloid(Surface):
    """The sheet of a hyperboloid rho = r + w, w = scale * s < 1, by the radius r = v; it begins at r = (1 - w)/2."""

    __slots__ = ("dim", "growth", "w")

    def __init__(self, scale: arb, dim: int, level: Fraction) -> None:
        self.dim, self.growth = dim, ball(level).exp()
        self.w = scale * ball(level)
        touch = (1 - self.w) / 2
        if not touch > 0:
            raise Undecided
        split = max((scale * dim).mid(), (2 * touch).mid(), key=float)
        self.split: arb | None = split
        self.below: Arc | None = Arc(start=End(kind=EndKind.BREAK, at=touch, beyond=1), stop=at_parameter(split))
        self.above: Arc = Arc(start=at_parameter(split), stop=at_infinity())

    def point(self, v: acb, analytic: bool) -> SurfacePoint:
        w, rho = self.w, v + self.w
        tilt = self.growth * (1 + w / v) ** (3 - self.dim)
        # near the largest loss w is close to 1 and t_P to -1: in the general formulas both cancel
        square = 1 - w**2
        turn = Turn(
            one_minus_p=(1 + w) * (2 * v - (1 - w)) / (2 * v),
            one_plus_p=(1 - w) * (2 * v + 1 + w) / (2 * v),
            p_slope=-square / (2 * v**2),
            q_slope=-square / (2 * rho**2),
        )
        return SurfacePoint(v, rho, 2 * v * w + w**2, acb(1), acb(1), acb(2 * w), tilt, turn)

    def near_radius(self, radius: arb) -> arb:
        return radius.mid()
