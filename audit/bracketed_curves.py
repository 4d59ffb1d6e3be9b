"""epsilon(delta) and beta(alpha) from a privacy profile that is only known between two bounds.

Balls of any width, so these curves are as wide as that makes them, and certain. They fail nowhere: where the bounds say
nothing, the ball says so. For a profile that can be had to any accuracy, `dpverdict.audit.profile_curves` is better.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import TypeAlias

from flint import arb
from scipy.optimize import minimize_scalar

from dpverdict.audit.root_bracket import Bracket
from dpverdict.balls import ball, precision

Enclosed: TypeAlias = Callable[[Fraction], arb]
"""``enclosed(epsilon)`` certainly holds delta(epsilon), at any rational epsilon."""

_BITS = 128
_GUESSES = 60
_FIRST = Fraction(1, 1 << 40)  # of the range of epsilon: the first distance to either side
_GROWTH = 4


def epsilon_between(enclosed: Enclosed, delta: Fraction, highest: Fraction) -> arb:
    """The smallest epsilon >= 0 with delta(epsilon) <= ``delta``, for 0 < delta < 1.

    The profile is certainly above the level at the lower end of the ball, if that is not 0, and certainly at or below
    it at the upper end.

    Args:
        enclosed: the profile.
        delta: the level.
        highest: an epsilon >= 0 from which on the profile is 0.
    """
    with precision(_BITS):
        level = ball(delta)
        at_zero = enclosed(Fraction(0))
        if at_zero <= level or highest == 0:
            return arb(0)
        guess = _root_of_middles(enclosed, level, highest, at_zero)
        ends = []
        for side, end in ((-1, Fraction(0)), (1, highest)):
            distance = highest * _FIRST
            while 0 < (point := guess + side * distance) < highest:
                value = enclosed(point)
                if (value > level) if side < 0 else (value <= level):
                    end = point
                    break
                distance *= _GROWTH
            ends.append(end)
        return ball(ends[0]).union(ball(ends[1]))


def beta_between(enclosed: Enclosed, alpha: Fraction, highest: Fraction) -> arb:
    """The trade-off function beta(alpha) = max over x of h(x), h(x) = 1 - delta(log x) - x alpha, for 0 < alpha < 1.

    h is concave, as the profile is convex in x = exp(epsilon). Every value of h is a bound below. At x1 < x2 < x3 with
    h(x2) certainly the largest, the maximum is between x1 and x3, and below the chords of h extended beyond x2:

        beta <= h(x2) + max((h(x2) - h(x1)) (x3 - x2)/(x2 - x1), (h(x2) - h(x3)) (x2 - x1)/(x3 - x2)).

    Args:
        enclosed: the profile.
        alpha: the level.
        highest: an epsilon > 0 from which on the profile is 0; below -highest it is 1 - x.
    """

    @cache
    def line(epsilon: Fraction) -> arb:
        with precision(_BITS):
            return 1 - enclosed(epsilon) - ball(epsilon).exp() * ball(alpha)

    def steer(epsilon: float) -> float:
        return -float(line(Fraction(epsilon)).mid())

    reach = float(highest)
    found = minimize_scalar(steer, bounds=(-reach, reach), method="bounded", options={"maxiter": _GUESSES})
    best = Fraction(float(found.x))
    with precision(_BITS):
        at_best = line(best)
        lower, upper = at_best.lower(), 1 - ball(alpha)
        distance = highest * _FIRST
        while distance < 4 * highest:
            below, above = line(best - distance), line(best + distance)
            lower = lower.max(below.lower()).max(above.lower())
            if below < at_best and above < at_best:
                x1, x2, x3 = (ball(point).exp() for point in (best - distance, best, best + distance))
                rise = (at_best.upper() - below.lower()) * (x3 - x2) / (x2 - x1)
                fall = (at_best.upper() - above.lower()) * (x2 - x1) / (x3 - x2)
                bound = at_best.upper() + rise.max(fall)
                if bound.upper() > upper:
                    break
                upper = bound.upper()
            distance *= _GROWTH
        return lower.max(arb(0)).union(upper.upper())


def _root_of_middles(enclosed: Enclosed, level: arb, highest: Fraction, at_zero: arb) -> Fraction:
    """About where the middle of the profile has the level; it steers."""
    bracket = Bracket(low=Fraction(0), high=highest, at_low=(at_zero / level).log(), at_high=arb("-inf"))
    for _, trial in zip(range(_GUESSES), bracket.trials(_BITS), strict=False):
        point = Fraction(float(trial))
        if bracket.width <= _FIRST * bracket.high or not bracket.low < point < bracket.high:
            break
        middle = enclosed(point).mid()
        value = (middle / level).log() if middle > 0 else arb("-inf")
        bracket.narrow(point, value, 1 if value > 0 else -1)
    return (bracket.low + bracket.high) / 2
