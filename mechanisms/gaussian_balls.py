"""The privacy curves of N(0,1) against N(mu,1) in ball arithmetic: certified at every precision.

Every function returns a ball that certainly contains the exact value at the exact arguments, with at least 56 accurate
bits (or an exact ball), for any mu > 0; nothing underflows. The formulas are in
`dpverdict.mechanisms.gaussian_formulas`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import arb

from dpverdict.balls import Exact, Real, compare, precision, refine
from dpverdict.errors import PrecisionExhausted
from dpverdict.mechanisms import ball_grid, gaussian_formulas
from dpverdict.mechanisms.ball_normal import BallNormal

ACCURACY = 56
"""Accurate bits of every ball returned: enough for the two neighbouring float64 endpoints."""

_KIND = BallNormal()
_MAX_ROOT_BITS = 1 << 14


def delta_ball(epsilon: Real, mu: Real) -> arb:
    """The privacy profile delta(epsilon), at any real epsilon."""
    return refine(lambda: gaussian_formulas.delta(_KIND, epsilon.ball(), mu.ball()), bits=ACCURACY, name="delta")


def delta_balls(epsilons: Sequence[Exact], mu: Real) -> list[arb]:
    """The privacy profile at many epsilons; floats that lie close together are expanded about common centres."""
    balls: dict[int, arb] = {}
    if len(epsilons) >= ball_grid.FEWEST and all(isinstance(epsilon, float) for epsilon in epsilons):
        balls = ball_grid.profile(np.array(epsilons, dtype=np.float64), mu, ACCURACY)
    return [balls[i] if i in balls else delta_ball(Real.of(epsilon), mu) for i, epsilon in enumerate(epsilons)]


def delta_complement_ball(epsilon: Real, mu: Real) -> arb:
    """1 - delta(epsilon), at any real epsilon."""
    return refine(
        lambda: gaussian_formulas.delta_complement(_KIND, epsilon.ball(), mu.ball()), bits=ACCURACY, name="1 - delta"
    )


def log_delta_ball(epsilon: Real, mu: Real) -> arb:
    """The natural logarithm of delta(epsilon), accurate also where delta is close to 1."""

    def logarithm() -> arb:
        delta = gaussian_formulas.delta(_KIND, epsilon.ball(), mu.ball())
        if delta < arb(0.5):
            return delta.log()
        return (-gaussian_formulas.delta_complement(_KIND, epsilon.ball(), mu.ball())).log1p()

    return refine(logarithm, bits=ACCURACY, name="log delta")


def advantage_ball(mu: Real) -> arb:
    """The total variation distance, delta(0)."""
    return refine(lambda: gaussian_formulas.advantage(_KIND, mu.ball()), bits=ACCURACY, name="advantage")


def beta_ball(alpha: Real, mu: Real) -> arb:
    """The trade-off function: the least type II error at a level 0 < alpha < 1."""
    return refine(lambda: gaussian_formulas.beta(_KIND, alpha.ball(), mu.ball()), bits=ACCURACY, name="beta")


def power_ball(alpha: Real, mu: Real) -> arb:
    """1 - beta(alpha), at a level 0 < alpha < 1."""
    return refine(lambda: gaussian_formulas.power(_KIND, alpha.ball(), mu.ball()), bits=ACCURACY, name="power")


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
        raise PrecisionExhausted("the sign of delta(0) - delta", _MAX_ROOT_BITS, "move delta away from delta(0)")
    if sign <= 0:
        return arb(0)
    bits = 128
    while bits <= _MAX_ROOT_BITS:
        with precision(bits):
            root = _newton(delta.ball(), mu.ball())
            ends = None if root is None else (_shortened(root, -1), _shortened(root, 1))
        if ends is not None:
            low, high = (Real.of(end) for end in ends)
            if _profile_sign(low, mu, delta) == 1 and _profile_sign(high, mu, delta) in (-1, 0):
                with precision(96):
                    return low.ball().union(high.ball())
        bits *= 2
    raise PrecisionExhausted("epsilon", _MAX_ROOT_BITS, "move delta away from delta(0)")


def _profile_sign(epsilon: Real, mu: Real, delta: Real) -> int | None:
    """The certain sign of delta(epsilon) - delta."""
    profile = Real(lambda: gaussian_formulas.delta(_KIND, epsilon.ball(), mu.ball()))
    return compare(profile, delta, max_bits=_MAX_ROOT_BITS)


def _shortened(root: arb, side: int) -> Fraction:
    """The root moved to the given side by a relative 2^-60, as a dyadic rational of about 64 bits."""
    with precision(64):
        moved = (root * (1 + side * arb(2) ** -60)).mid()
    mantissa, exponent = moved.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _newton(delta: arb, mu: arb) -> arb | None:
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
