"""The tails and the profile of the loss of spherically symmetric noise, by certified integrals along {loss = s}.

In units of the shift, with H the distribution function of the radius, t_P = (1 - u)/(2r) and t_Q = (1 + u)/(2 rho) the
cosines of the surface {loss = s} seen from the two centres, and F the distribution function of the cosine of a uniform
direction,

    P[loss > s] = E F(t_P(r)),      Q[loss > s] = E F(-t_Q(rho)).

Integration by parts on both sides of a split c, with f = F', makes the integrands elementary and keeps them small:

    P = F(t_P(c)) - int_below H f(t_P) dt_P + int_above (1 - H) f(t_P) dt_P,
    Q = F(-t_Q(c)) + int_below H f(t_Q) dt_Q - int_above (1 - H) f(t_Q) dt_Q.

What is cut off next to a break, and beyond the last radius, is bounded by probabilities and added to the ball.
`integrate` and `integrate_tails` do this for s >= 0; `SphericalProfile` extends it to any real epsilon by symmetry, to
any relative accuracy, and computes each value once.

Reference: Ji and Li 2024 (arXiv:2306.02256) for the noise; the density of the mixture over directions gives the loss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import log
from typing import TypeAlias, final

from flint import acb, arb, ctx

from dpverdict.audit.losses.spherical.law import Arc, End, EndKind, RadialLaw, Surface, SurfacePoint, Undecided
from dpverdict.balls import ball, precision
from dpverdict.errors import PrecisionExhausted

_MAX_BITS = 1 << 14
_GUARD = 48
_ROUGH = 20
_FURTHEST = 2**256  # of the noise, in units of the shift: as many bits of the two tails cancel in their difference
_FINER = 14
_EVALUATIONS = 300_000
_SQUARE_ROOT = range(2, 12, 2)
"""Dimensions in which the distance to a break is replaced by its square root next to the break."""
_NEAR = 1.5
_BY_LOGARITHM = 64
"""The dimension from which a power is taken by its logarithm: repeated products would widen a wide ball too much."""


_Weight: TypeAlias = Callable[[acb, int, bool], acb]


class SphericalQuantity(Enum):
    """What is integrated over {loss > s}."""

    PROFILE = "p - exp(s) q"
    P_TAIL = "p"
    Q_TAIL = "q"


class _Pair(Enum):
    """Two quantities by one complex integral: on the real axis the integrand has the two as its parts."""

    TAILS = "p + i exp(s) q"


def integrate(law: RadialLaw, dim: int, level: Fraction, quantity: SphericalQuantity, bits: int) -> arb:
    """The integral of ``quantity`` over {loss > level}, level >= 0, for a shift of length 1.

    Ensures: the ball encloses the integral and has at least ``bits`` accurate bits, or is exact.

    Raises:
        PrecisionExhausted: that accuracy is not reached.
    """
    return _refined_integral(law, dim, level, quantity, bits)[0]


def integrate_tails(law: RadialLaw, dim: int, level: Fraction, bits: int) -> tuple[arb, arb]:
    """(P[loss > level], Q[loss > level]), level >= 0, each as `integrate` gives it."""
    of_p, grown = _refined_integral(law, dim, level, _Pair.TAILS, bits + 2)
    with precision(bits + _GUARD):
        return of_p, grown * (-ball(level)).exp()


def _refined_integral(
    law: RadialLaw, dim: int, level: Fraction, quantity: SphericalQuantity | _Pair, bits: int
) -> tuple[arb, ...]:
    """The integral, or its real and its imaginary part."""
    size, working = arb(1), bits + _GUARD  # size: about the value
    with precision(working):
        if law.radius_beyond(1.0, dim) > _FURTHEST:
            raise PrecisionExhausted("the probability of a loss", working, "give noise below 2^256 times the shift")
    if quantity is SphericalQuantity.Q_TAIL:
        with precision(working):
            size = (-ball(level)).exp().upper()  # Q[L > s] <= exp(-s)
    while working <= _MAX_BITS:
        with precision(working):
            try:
                surface = law.surface(dim, level)
                if surface is None:
                    return arb(0), arb(0)
                goal = size * arb(2) ** -(bits + _FINER)
                growth = ball(level).exp()
                value = _Integral(law, dim, level, quantity, surface, goal, growth, _kappa(dim)).value()
            except Undecided:
                working *= 2
                continue
            parts = (value.real, value.imag) if quantity is _Pair.TAILS else (value.real,)
            accurate = min(part.rel_accuracy_bits() for part in parts)
            if accurate >= bits:
                return parts
            seen = abs(parts[-1]).upper()
            if value.is_finite() and seen < size / 16:  # smaller than was thought: a finer goal, at first for free
                size = seen if accurate > 0 else seen**2
            else:
                working *= 2
    raise PrecisionExhausted("the probability of a loss", _MAX_BITS, "the parameters are too extreme")


@final
@dataclass(frozen=True, slots=True)
class _Integral:
    """One attempt at the current precision, with an absolute goal for every part."""

    law: RadialLaw
    dim: int
    level: Fraction
    quantity: SphericalQuantity | _Pair
    surface: Surface
    goal: arb
    growth: arb  # exp(level)
    kappa: arb  # the density of the cosine of a uniform direction at 0

    def value(self) -> acb:
        surface = self.surface
        total = acb(0)
        if surface.split is not None:
            of_p, of_q = self._shares(surface.split)
            total += self._weigh(of_p, of_q)
        if surface.below is not None:
            total -= self._along(surface.below, self.law.cdf)
        return total + self._along(surface.above, self.law.tail)

    def _weigh(self, of_p: arb, of_q: arb) -> acb:
        """The share of P and the share of Q in the quantity."""
        match self.quantity:
            case SphericalQuantity.P_TAIL:
                return acb(of_p)
            case SphericalQuantity.Q_TAIL:
                return acb(of_q)
            case _Pair.TAILS:
                return acb(of_p, self.growth * of_q)
            case _:
                return acb(of_p - self.growth * of_q)

    def _charge(self, of_p: arb, of_q: arb) -> acb:
        """A ball about 0 that contains every value within the two bounds."""
        match self.quantity:
            case SphericalQuantity.P_TAIL:
                return acb(_around_zero(of_p))
            case SphericalQuantity.Q_TAIL:
                return acb(_around_zero(of_q))
            case _Pair.TAILS:
                return acb(_around_zero(of_p), _around_zero(self.growth * of_q))
            case _:
                return acb(_around_zero(of_p + self.growth * of_q))

    def _along(self, arc: Arc, weight: _Weight) -> acb:
        """The integral of the weight times dF along an arc, with what is cut off at its ends."""
        start, stop, total = arc.start.at, arc.stop.at, acb(0)
        if arc.start.kind is EndKind.CENTRE:
            total += self._near_centre(start)
        if arc.stop.kind is EndKind.INFINITY:
            stop = self._last()
            if not start < stop:  # everything on this arc is beyond the last radius
                return self._beyond(start.lower())
            total += self._beyond(stop)
        if not start < stop:
            raise Undecided
        if self.dim in _SQUARE_ROOT:
            middle = ((start + stop) / 2).mid()
            if arc.start.kind is EndKind.BREAK:
                start = min(middle, (_NEAR * start).mid(), key=float)
                total += self._from_break(arc.start, 1, start, weight)
            if arc.stop.kind is EndKind.BREAK:
                stop = max(middle, (stop / _NEAR).mid(), key=float)
                total += self._from_break(arc.stop, -1, stop, weight)
        return total if start is stop else total + self._directly(start, stop, weight)

    def _directly(self, start: arb, stop: arb, weight: _Weight) -> acb:
        def integrand(v: acb, analytic: bool) -> acb:
            point = self.surface.point(v, analytic)
            minus, plus, _, _ = point.turned()
            square = minus * plus
            if self.dim >= _BY_LOGARITHM:
                if analytic and not square.real > 0:
                    return acb("nan")
                logarithms = (
                    (-((1 - minus) ** 2)).log1p(),
                    square.log(),
                )  # sharp where t_P is near 0, and near 1 or -1
                power = (min(logarithms, key=_radius) * (arb(self.dim - 3) / 2)).exp()
            elif self.dim % 2:
                power = square ** ((self.dim - 3) // 2)
            else:  # the root of each factor: on more wide balls both are analytic than the root of the product
                roots = minus.sqrt(analytic=analytic) * plus.sqrt(analytic=analytic)
                power = roots ** (self.dim - 3)
            if not analytic and v.imag.is_zero():
                power = self._on_arc(square.real, power)
            return power * self._slopes(point, analytic, weight)

        return self._quadrature(integrand, start, stop)

    def _from_break(self, end: End, side: int, to: arb, weight: _Weight) -> acb:
        """The integral from a break to the parameter ``to``, for an even dimension.

        (1 - t^2)^((dim-3)/2) behaves there like a half-integer power of the distance to the break, and is a smooth
        function of its square root w: with v = break + side w^2, the factor 1 - t or 1 + t that vanishes is

            n(v)/(2r),    n(v) = 2r -+ (1 - u) = side w^2 (the mean of n' between the break and v).
        """
        sign = 1 if end.beyond else -1

        def vanishing(w: acb, v: acb, point: SurfacePoint, analytic: bool) -> acb:
            """n(v)/w^2: directly, or where that is wider from the slopes between the break and v."""
            between = self.surface.point(_rectangle_around(acb(end.at), v), analytic)
            mean = side * (2 * between.r_slope + sign * between.u_slope)
            if w.contains(0):
                return mean
            direct = (2 * point.r - sign * (1 - point.u)) / w**2
            sharper = not mean.is_finite() or direct.rel_accuracy_bits() > mean.rel_accuracy_bits()
            return direct if sharper else mean

        def integrand(w: acb, analytic: bool) -> acb:
            v = end.at + side * w**2
            point = self.surface.point(v, analytic)
            other = 2 * point.r + sign * (1 - point.u)
            square = vanishing(w, v, point, analytic) * other / (4 * point.r**2)  # (1 - t^2)/w^2
            root = square.sqrt(analytic=analytic)
            slopes = 2 * self._slopes(point, analytic, weight)
            if self.dim == 2:
                return slopes / root
            power = (w * root) ** (self.dim - 3)
            if not analytic and w.imag.is_zero():
                power = self._on_arc((w**2 * square).real, power)
            return power * w * slopes

        return self._quadrature(integrand, arb(0), (side * (to - end.at)).sqrt())

    def _slopes(self, point: SurfacePoint, analytic: bool, weight: _Weight) -> acb:
        """The integrand by dv, but for the power of 1 - t^2 in the density of the cosine."""
        value, turn = acb(0), point.turned()
        if self.quantity is not SphericalQuantity.Q_TAIL:
            value += weight(point.r, self.dim, analytic) * turn.p_slope
        if self.quantity is not SphericalQuantity.P_TAIL:
            of_q = point.tilt * weight(point.rho, self.dim, analytic) * turn.q_slope
            match self.quantity:
                case SphericalQuantity.Q_TAIL:
                    value -= of_q / self.growth
                case _Pair.TAILS:
                    value -= of_q * acb(0, 1)
                case _:
                    value += of_q
        return self.kappa * value

    def _on_arc(self, square: arb, power: acb) -> acb:
        """An enclosure of square^((dim-3)/2) for the values of ``square`` in [0, 1], where it lies on an arc."""
        high = square.upper()
        if self.dim <= 3:
            return power
        bound = (high.log() * (self.dim - 3) / 2).exp() if 0 < high < 1 else arb(1)
        whole = arb(0).union(bound)
        return power if power.is_finite() and power.real.rad() < whole.rad() else acb(whole)

    def _quadrature(self, integrand: Callable[[acb, bool], acb], start: arb, stop: arb) -> acb:
        value: acb = acb.integral(
            integrand, start, stop, abs_tol=self.goal, rel_tol=arb(2) ** -ctx.prec, eval_limit=_EVALUATIONS
        )
        return value if self.quantity is _Pair.TAILS else acb(value.real)

    def _shares(self, parameter: arb) -> tuple[arb, arb]:
        """F(t_P) and F(-t_Q): the shares of the spheres about P and Q that lie in {loss > s}."""
        point = self.surface.point(acb(parameter), False)
        r, rho, u = point.r.real, point.rho.real, point.u.real
        outside_p = self._cap((2 * r - 1 + u) / (4 * r))
        of_p = 1 - outside_p if u < 1 else self._cap((2 * r + 1 - u) / (4 * r))
        return of_p, self._cap((2 * rho - 1 - u) / (4 * rho))

    def _cap(self, height: arb) -> arb:
        """P[(1 + t)/2 <= height] for the cosine t of a uniform direction, 0 <= height <= 1."""
        half = arb(self.dim - 1) / 2
        if height > 0.5:
            return 1 - self._cap(1 - height)
        if height > 0 and height.rel_accuracy_bits() > _ROUGH:
            return height.beta_lower(half, half, 1)
        highest = height.upper()
        bound = highest.beta_lower(half, half, 1).upper() if 0 < highest < 0.5 else arb(1)
        return arb(0).union(bound)

    def _near_centre(self, radius: arb) -> acb:
        """A bound on what lies nearer to P than ``radius``, the parameter of the surface where the integral begins.

        It is an integral of F - F(radius) over the law of the radius: for P, at most the probability of a smaller
        radius; for Q, F is 0 up to the point of the surface at radius 0.
        """
        inside, centre = (self.surface.point(acb(v), False) for v in (radius, arb(0)))
        share = self._shares(radius)[1]
        of_p, at_inside, at_centre = (
            self.law.cdf(acb(distance.real), self.dim, False).real for distance in (inside.r, inside.rho, centre.rho)
        )
        return self._charge(of_p, at_centre * share + abs(at_inside - at_centre))

    def _last(self) -> arb:
        """The parameter at which the integral is cut off at large radii."""
        exponent = log(2) * ctx.prec + float(self.level)
        logarithm = float(self.goal.log()) if self.goal.log().is_finite() else 0.0
        return self.surface.near_radius(self.law.radius_beyond(max(exponent, float(self.level) - logarithm), self.dim))

    def _beyond(self, parameter: arb) -> acb:
        """A bound on what lies beyond a point of the surface: the probability of a larger radius."""
        point = self.surface.point(acb(parameter), False)
        of_p, of_q = (self.law.tail(acb(radius.real), self.dim, False).real for radius in (point.r, point.rho))
        return self._charge(of_p, of_q)


def _kappa(dim: int) -> arb:
    """Gamma(dim/2)/(sqrt(pi) Gamma((dim-1)/2)); the density of the cosine is kappa (1 - t^2)^((dim-3)/2)."""
    half = arb(dim) / 2
    return (half.lgamma() - (half - arb(0.5)).lgamma()).exp() / arb.pi().sqrt()


def _radius(value: acb) -> arb:
    """The radius of a ball, infinite if it is not finite."""
    return value.rad() if value.is_finite() else arb("inf")


def _around_zero(bound: arb) -> arb:
    return bound.upper().union(-bound.upper())


def _rectangle_around(first: acb, second: acb) -> acb:
    """The smallest rectangle around two complex balls."""
    return acb(first.real.union(second.real), first.imag.union(second.imag))


_MAX_COMPLEMENT_BITS = 1 << 13
_KEPT = 4096
_SPARE = 12
_TAILS = (SphericalQuantity.P_TAIL, SphericalQuantity.Q_TAIL)


@final
class SphericalProfile:
    """The profile and the tails of a radial law against itself moved by a unit vector.

    Reflecting the space at the middle of the two centres exchanges P and Q: so P[L < -s] = Q[L > s], and the profile at
    -s follows from that at s. Every method gives at least ``bits`` accurate bits, or an exact ball.
    """

    __slots__ = ("_dim", "_kept", "_law")

    def __init__(self, dim: int, law: RadialLaw) -> None:
        self._dim = dim
        self._law = law
        self._kept: dict[tuple[SphericalQuantity, Fraction], tuple[int, arb]] = {}

    def delta(self, epsilon: Fraction, bits: int) -> arb:
        """The privacy profile at any epsilon: delta(-s) = 1 - exp(-s) + exp(-s) delta(s)."""
        if epsilon >= 0:
            return self._integral(SphericalQuantity.PROFILE, epsilon, bits)
        if -epsilon > bits + 8:  # 0 <= delta <= 1 is enough to know
            value = arb(0).union(arb(1))
        else:
            value = self._integral(SphericalQuantity.PROFILE, -epsilon, bits + 4)
        with precision(bits + 40):
            return -ball(epsilon).expm1() + ball(epsilon).exp() * value

    def complement(self, epsilon: Fraction, bits: int) -> arb:
        """1 - delta(epsilon)."""
        value = self._one_minus(SphericalQuantity.PROFILE, abs(epsilon), bits + 4)
        with precision(bits + 40):
            return value if epsilon >= 0 else ball(epsilon).exp() * value

    def p_above(self, loss: Fraction, bits: int) -> arb:
        """P[L > loss]; the loss has no atoms."""
        if loss >= 0:
            return self._integral(SphericalQuantity.P_TAIL, loss, bits)
        return self._one_minus(SphericalQuantity.Q_TAIL, -loss, bits)

    def q_above(self, loss: Fraction, bits: int) -> arb:
        """Q[L > loss]."""
        if loss >= 0:
            return self._integral(SphericalQuantity.Q_TAIL, loss, bits)
        return self._one_minus(SphericalQuantity.P_TAIL, -loss, bits)

    def _one_minus(self, quantity: SphericalQuantity, level: Fraction, bits: int) -> arb:
        wanted = bits + 8
        while wanted <= _MAX_COMPLEMENT_BITS:
            value = self._integral(quantity, level, wanted)
            with precision(wanted + 20):
                rest = 1 - value
            if rest.is_exact() or rest.rel_accuracy_bits() >= bits:
                return rest
            lost = wanted - rest.rel_accuracy_bits()
            wanted = bits + lost + 8 if lost < wanted else 2 * wanted
        raise PrecisionExhausted("1 - a probability", _MAX_COMPLEMENT_BITS, "it may be too close to 0")

    def _integral(self, quantity: SphericalQuantity, level: Fraction, bits: int) -> arb:
        kept = self._kept.get((quantity, level))
        if kept is not None and kept[0] >= bits:
            return kept[1]
        if len(self._kept) >= _KEPT:
            self._kept.clear()
        if quantity is SphericalQuantity.PROFILE:
            value = integrate(self._law, self._dim, level, quantity, bits)
            self._kept[quantity, level] = bits, value
            return value
        spare = bits + _SPARE  # the two tails are mostly asked for together, and soon to a few bits more
        for tail, value in zip(_TAILS, integrate_tails(self._law, self._dim, level, spare), strict=True):
            self._kept[tail, level] = spare, value
        return self._kept[quantity, level][1]
