"""The privacy curves of N(0,1) against N(mu,1) in ball arithmetic: certified at every precision.

Every function returns a ball that certainly contains the exact value at the exact arguments, with at least 56 accurate
bits (or an exact ball), for any mu > 0; nothing underflows. The formulas are in `dpverdict.numerics.gaussian_formulas`;
their primitives in ball arithmetic, for balls and for power series of balls, are here.

The profile on a dense grid of epsilons goes by Taylor expansion, with the remainder inside the ball. Evaluating the
formula costs about 8 microseconds a point, nearly all of it in two complementary error functions. Where many points are
close together, the same formula is evaluated once in power series about a centre c of a cell [a, b]:

    delta(epsilon) = sum over k < n of c_k (epsilon - c)^k + r (epsilon - c)^n,

where r is the n-th coefficient of the series about the whole cell as a ball. That coefficient contains the n-th Taylor
coefficient at every point of the cell, hence the remainder in the form of Lagrange: the result is an enclosure, with no
estimate left to make. It is evaluated as one polynomial of degree n.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Final, TypeVar, final

import numpy as np
from flint import arb, arb_poly, arb_series, ctx
from numpy.typing import NDArray

from dpverdict.balls import Exact, Real, compare, doublings, precision, refine
from dpverdict.errors import PrecisionExhausted
from dpverdict.numerics import gaussian_formulas

B = TypeVar("B", arb, arb_series)

_FAR: Final = arb(1000)
"""From here on, what FLINT adds to the radius of erfc for the radius of its argument is too large by far."""

_constants: dict[int, tuple[arb, arb]] = {}


def _roots_of_half_and_two() -> tuple[arb, arb]:
    """sqrt(1/2) and sqrt(2) at the current precision."""
    if ctx.prec not in _constants:
        _constants.clear()
        _constants[ctx.prec] = (arb(0.5).sqrt(), arb(2).sqrt())
    return _constants[ctx.prec]


@final
class BallNormal:
    """The `Arithmetic` of balls; see `dpverdict.numerics.gaussian_formulas.Arithmetic` for the meanings.

    Every formula is evaluated as it stands: where it cancels, the radius of the ball grows, and the caller raises the
    precision. The quantile is for balls only, the other primitives are also for power series.
    """

    def halve(self, x: B) -> B:
        return x * arb(0.5)

    def tail(self, t: B) -> B:
        x = t * _roots_of_half_and_two()[0]
        # erfc decreases, and of an exact number it is accurate at any size
        if isinstance(x, arb) and x > _FAR:  # type: ignore[redundant-expr]  # B is also a power series
            return x.lower().erfc().union(x.upper().erfc()) * arb(0.5)
        return x.erfc() * arb(0.5)

    def quantile(self, probability: arb) -> arb:
        return _roots_of_half_and_two()[1] * (2 * probability).erfcinv()

    def central_mass(self, half: B) -> B:
        return (half * _roots_of_half_and_two()[0]).erf()

    def tail_gap(self, epsilon: B, centre: B, half: B) -> B:
        return self.tail(centre - half) - self.tilted_tail(epsilon, centre, half)

    def tail_gap_complement(self, epsilon: B, centre: B, half: B) -> B:
        return self.tail(half - centre) + self.tilted_tail(epsilon, centre, half)

    def tilted_tail(self, epsilon: B, centre: B, half: B) -> B:
        return epsilon.exp() * self.tail(centre + half)


_KIND = BallNormal()
_ORDER = 28
_REMAINDER_BITS = 32
_REACH = 5.0  # length of a cell in units of the length on which the terms of the series shrink
FEWEST = 12  # points for which an expansion pays


def profile(epsilons: NDArray[np.float64], mu: Real, accuracy: int) -> dict[int, arb]:
    """Enclosures of the profile at the epsilons that lie in a cell, by index, where they have the accuracy in bits."""
    balls: dict[int, arb] = {}
    parameter = mu.nearest()
    if not 1e-290 <= parameter <= 1e15 or not np.abs(epsilons).max() / parameter <= 1e9:
        return balls
    for cell in _cells(epsilons, parameter):
        points = epsilons[cell].tolist()
        with precision(_working_bits(points[0], points[-1], parameter)):
            centre, polynomial = _profile_expansion(points[0], points[-1], mu)
            for i, point in zip(cell.tolist(), points, strict=True):
                value = polynomial(arb(point) - centre)
                if value.rel_accuracy_bits() >= accuracy:
                    balls[i] = value
    return balls


def _working_bits(low: float, high: float, mu: float) -> int:
    """Enough for about 64 accurate bits: what the difference of the tails cancels is about mu/(1 + t) of them."""
    t = max(abs(low), abs(high)) / mu + mu
    return 76 + math.ceil(2 * math.log2(1 + t) + math.log2(1 + (1 + t) / mu))


def _cells(epsilons: NDArray[np.float64], mu: float) -> Iterator[NDArray[np.intp]]:
    """The indices of points that lie close enough together for one expansion; points in no cell are left out."""
    order = np.argsort(epsilons, kind="stable")
    points = epsilons[order]
    first = 0
    while first < len(points):
        # The terms of a normal tail at t shrink like powers of t h, and of sqrt(order) h close to the origin.
        steepness = max(abs(points[first] / mu - mu / 2), abs(points[first] / mu + mu / 2)) + math.sqrt(_ORDER)
        last = int(np.searchsorted(points, points[first] + _REACH * mu / steepness, side="right"))
        if last - first >= FEWEST:
            yield order[first:last]
        first = max(last, first + 1)


def _profile_expansion(low: float, high: float, mu: Real) -> tuple[arb, arb_poly]:
    """A centre and a polynomial in epsilon - centre that encloses the profile at every epsilon in [low, high]."""
    centre = arb(low + (high - low) / 2)
    with _series_terms(_ORDER):
        coefficients = list(_profile_series(centre, mu))
    with _series_terms(_ORDER + 1), precision(_REMAINDER_BITS):
        remainder = _profile_series(arb(low).union(arb(high)), mu)[_ORDER]
    return centre, arb_poly([*coefficients, remainder])


def _profile_series(about: arb, mu: Real) -> arb_series:
    return gaussian_formulas.delta(_KIND, arb_series([about, 1]), arb_series([mu.ball()]))


@contextmanager
def _series_terms(number: int) -> Generator[None]:
    """Power series of this many terms inside the block; like the precision, it is a global state of the library."""
    former = ctx.cap
    ctx.cap = number
    try:
        yield
    finally:
        ctx.cap = former


ACCURACY = 56
"""Accurate bits of every ball returned: enough for the two neighbouring float64 endpoints."""

_MAX_ROOT_BITS = 1 << 14


def delta_ball(epsilon: Real, mu: Real, bits: int = ACCURACY) -> arb:
    """The privacy profile delta(epsilon), at any real epsilon."""
    return refine(lambda: gaussian_formulas.delta(_KIND, epsilon.ball(), mu.ball()), bits=bits, name="delta")


def loss_tail_ball(level: Real, mu: Real, side: int, bits: int = ACCURACY) -> arb:
    """The probability of a privacy loss above a level: Phi(side mu/2 - level/mu), side 1 under P and -1 under Q."""
    return refine(lambda: _KIND.tail(level.ball() / mu.ball() - side * mu.ball() / 2), bits=bits, name="tail")


def delta_balls(epsilons: Sequence[Exact], mu: Real) -> list[arb]:
    """The privacy profile at many epsilons; floats that lie close together are expanded about common centres."""
    balls: dict[int, arb] = {}
    if len(epsilons) >= FEWEST and all(isinstance(epsilon, float) for epsilon in epsilons):
        balls = profile(np.array(epsilons, dtype=np.float64), mu, ACCURACY)
    return [balls[i] if i in balls else delta_ball(Real.of(epsilon), mu) for i, epsilon in enumerate(epsilons)]


def log_delta_ball(epsilon: Real, mu: Real) -> arb:
    """The natural logarithm of delta(epsilon), accurate also where delta is close to 1."""

    def logarithm() -> arb:
        found = gaussian_formulas.delta(_KIND, epsilon.ball(), mu.ball())
        if found < arb(0.5):
            return found.log()
        return (-gaussian_formulas.delta_complement(_KIND, epsilon.ball(), mu.ball())).log1p()

    return refine(logarithm, bits=ACCURACY, name="log delta")


def advantage_ball(mu: Real) -> arb:
    """The total variation distance, delta(0)."""
    return refine(lambda: gaussian_formulas.advantage(_KIND, mu.ball()), bits=ACCURACY, name="advantage")


def beta_ball(alpha: Real, mu: Real) -> arb:
    """The trade-off function: the least type II error at a level 0 < alpha < 1."""
    return refine(lambda: gaussian_formulas.beta(_KIND, alpha.ball(), mu.ball()), bits=ACCURACY, name="beta")


def epsilon_ball(delta: Real, mu: Real) -> arb:
    """The smallest epsilon >= 0 with delta(epsilon) <= delta, for 0 < delta < 1; exactly 0 if delta(0) <= delta.

    The root is located by Newton's method, which proves nothing, and then enclosed: the profile is decreasing, it is
    certainly above delta at the lower end of the ball returned and certainly at or below delta at the upper end.

    Raises:
        PrecisionExhausted: the signs at the ends stay undecided.
    """
    at_zero = Real(lambda: gaussian_formulas.advantage(_KIND, mu.ball()))
    sign = compare(at_zero, delta, max_bits=_MAX_ROOT_BITS)
    if sign is None:
        raise PrecisionExhausted(
            "the sign of delta(0) - delta",
            _MAX_ROOT_BITS,
            "move delta away from delta(0)",
        )
    if sign <= 0:
        return arb(0)
    for bits in doublings(128, _MAX_ROOT_BITS):
        with precision(bits):
            root = _newton_epsilon(delta.ball(), mu.ball())
            ends = None if root is None else (_rounded_root(root, -1), _rounded_root(root, 1))
        if ends is not None:
            low, high = (Real.of(end) for end in ends)
            if _profile_sign(low, mu, delta) == 1 and _profile_sign(high, mu, delta) in (-1, 0):
                with precision(96):
                    return low.ball().union(high.ball())
    raise PrecisionExhausted("epsilon", _MAX_ROOT_BITS, "move delta away from delta(0)")


def _profile_sign(epsilon: Real, mu: Real, delta: Real) -> int | None:
    """The certain sign of delta(epsilon) - delta."""
    profile = Real(lambda: gaussian_formulas.delta(_KIND, epsilon.ball(), mu.ball()))
    return compare(profile, delta, max_bits=_MAX_ROOT_BITS)


def _rounded_root(root: arb, side: int) -> Fraction:
    """The root moved to the given side by a relative 2^-60, as a dyadic rational of about 64 bits."""
    with precision(64):
        moved = (root * (1 + side * arb(2) ** -60)).mid()
    mantissa, exponent = moved.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _newton_epsilon(delta: arb, mu: arb) -> arb | None:
    """The epsilon > 0 at which the profile is delta, to about 62 bits; None if the current precision is too low.

    log delta(epsilon) and log(1 - delta(epsilon)) are concave functions of epsilon (Prekopa: both are integrals of a
    log-concave function), so Newton's method on the smaller of the two converges monotonically from the side on which
    it starts: from the right by delta(epsilon) <= exp(-t^2/2), or from the left by 1 - delta(epsilon) <= exp(-t^2/2),
    where t is the distance of epsilon/mu from mu/2.
    """
    upper_half = bool(delta > arb(0.5))
    goal = (1 - delta if upper_half else delta).mid()
    distance = mu * (-2 * goal.log()).sqrt()
    start = mu * mu / 2 + (-distance if upper_half else distance)
    epsilon = arb(0) if start < 0 else start.mid()
    formula = gaussian_formulas.delta_complement if upper_half else gaussian_formulas.delta
    for _ in range(200):
        value = formula(_KIND, epsilon, mu)
        descent = gaussian_formulas.descent(_KIND, epsilon, mu)
        step = (value / goal).log() * value / descent
        if not step.is_finite():
            return None
        if abs(step) < abs(epsilon) * arb(2) ** -62:
            return epsilon if epsilon > 0 else None
        if step.contains(0):
            return None
        epsilon = (epsilon - step if upper_half else epsilon + step).mid()
    return None
