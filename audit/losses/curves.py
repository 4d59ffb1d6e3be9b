"""The curves epsilon(delta), beta(alpha) and log delta that follow from the privacy profile of a loss, in balls.

Notation: P, Q the two output laws, L = log dP/dQ, delta(epsilon) = sup_S P(S) - exp(epsilon) Q(S), and
q(epsilon) = Q[L > epsilon]. What may be assumed of the profile decides which functions serve:

* It can be enclosed to any accuracy, as a `Curve`: `log_delta_ball`, `epsilon_ball` and, with q as a second `Curve`,
  `beta_ball`. They are accurate to `ACCURACY` bits, and raise where no number of bits is enough.
* It is only known between two bounds, as `Enclosed`, a ball of any width: `epsilon_between` and `beta_between`. Their
  balls are as wide as that makes them, and certain; they fail nowhere: where the bounds say nothing, the ball says so.
* It is known to any accuracy near 0, and between bounds further out: `epsilon_by_bounds`.
* The loss has a density, and its law under P is that of -L under Q: `smooth_beta_ball` needs q alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import chain
from typing import TypeAlias

import scipy
from flint import arb

from dpverdict.audit.losses.domains import LEVEL, TRADE_OFF
from dpverdict.balls import ball, doublings, precision
from dpverdict.errors import PrecisionExhausted
from dpverdict.numerics.roots import Bracket, as_fraction, bisected, doubled

Curve: TypeAlias = Callable[[Fraction, int], arb]
"""``curve(epsilon, bits)`` certainly encloses a decreasing function of epsilon at any rational epsilon of either sign,
with a relative accuracy of at least ``bits`` bits, or exactly; or it raises `PrecisionExhausted`."""

ACCURACY = 56
"""Accurate bits of every ball returned: enough for the two neighbouring float64 endpoints."""

NOTHING = arb(2) ** -1100
"""Far below all float64 numbers: what is smaller needs no relative accuracy."""

JUST_BELOW_ZERO = arb(-NOTHING, NOTHING)
"""A ball that holds all numbers from -2 `NOTHING` to 0."""

_FIRST_BITS = 96
_COARSE_BITS = 20  # where a bracket is wide, of a curve that costs more the more bits it has
_COARSE = 1 << 8  # how wide: the part of an end that it is not below
_FACTORS = (Fraction(17, 16), Fraction(5, 4), Fraction(2), Fraction(4), Fraction(16), Fraction(1 << 10))  # of a guess
_MAX_BITS = 1 << 14
_MAX_EPSILON = 1 << 64
_MAX_TRIALS = 1000


def log_delta_ball(profile: Curve, epsilon: Fraction, *, complement: Curve | None = None) -> arb:
    """The natural logarithm of delta(epsilon), accurate also where delta is close to 1; -inf where delta is 0.

    ``complement`` is the curve 1 - delta, where it can be had to a better relative accuracy than from the profile.
    """
    for bits in doublings(_FIRST_BITS, _MAX_BITS):
        delta = profile(epsilon, bits)
        if delta.is_exact() and delta.is_zero():
            return arb("-inf")
        with precision(bits + 16):
            if complement is not None and delta > 0.5:
                value = (-complement(epsilon, bits)).log1p()
            else:
                value = delta.log()
        if value.is_exact() or value.rel_accuracy_bits() >= ACCURACY:
            return value
        if abs(value) < NOTHING:
            return JUST_BELOW_ZERO
    raise PrecisionExhausted("log delta", _MAX_BITS, "delta may be exactly 0 or 1, or too close to it")


def log_between(lower: arb, upper: arb) -> arb:
    """The logarithms of the numbers between two, of which the lower one may be 0."""
    if not upper > 0:
        return arb("-inf")
    return upper.log().union(lower.log() if lower > 0 else arb("-inf"))


def epsilon_ball(
    profile: Curve,
    delta: Fraction,
    *,
    highest: Fraction | None = None,
    guess: Fraction | None = None,
    accuracy: int = ACCURACY,
) -> arb:
    """The smallest epsilon >= 0 with delta(epsilon) <= delta, for 0 < delta; exactly 0 if delta(0) <= delta.

    The profile is certainly above ``delta`` at the lower end of the ball returned, and certainly at or below it at the
    upper end; the two are a relative 2^-(accuracy + 1) apart at most.

    Args:
        profile: the curve delta(epsilon).
        delta: the level, a rational number > 0.
        highest: an epsilon where the profile is certainly at most ``delta`` (the pure epsilon of the loss), if known.
        guess: about the result, for a profile that costs more the more bits it has: the search begins there.
        accuracy: accurate bits of the ball.

    Raises:
        PrecisionExhausted: a sign stays undecided, or the profile stays above ``delta`` up to epsilon = 2^64.
    """
    first = _FIRST_BITS if guess is None else _COARSE_BITS
    bracket = None
    if highest is None and guess is not None and guess > 0:
        bracket = _bracket_around(profile, delta, guess)
    if bracket is None:
        at_zero, sign = _log_ratio_with_sign(profile, Fraction(0), delta, first=first)
        if sign <= 0:
            return arb(0)
        if highest is not None:
            bracket = Bracket(low=Fraction(0), high=highest, at_low=at_zero, at_high=arb("-inf"))
        else:
            bracket = _bracket_to_the_right(profile, delta, at_zero)
    for point in bracket.trials(_FIRST_BITS):
        if bracket.width * 2 ** (accuracy + 1) <= bracket.high:
            break
        bits = first if accuracy <= _COARSE_BITS or bracket.width * _COARSE > bracket.high else _FIRST_BITS
        bracket.narrow(point, *_log_ratio_with_sign(profile, point, delta, first=bits))
    with precision(ACCURACY + 40):
        return ball(bracket.low).union(ball(bracket.high))


def beta_ball(
    profile: Curve,
    q_tail: Curve,
    alpha: Fraction,
    *,
    complement: Curve | None = None,
    guess: tuple[Fraction, Fraction] | None = None,
) -> arb:
    """The trade-off function beta(alpha) = max over epsilon of 1 - delta(epsilon) - exp(epsilon) alpha, 0 < alpha < 1.

    The function is convex. Every epsilon gives a line below it; every epsilon also gives a point on it,
    (q(epsilon), 1 - delta(epsilon) - exp(epsilon) q(epsilon)), and the chord between two points is above it. The
    bracket of the epsilon with q(epsilon) = alpha is shrunk until line and chord agree. A chord across one atom of the
    loss is a piece of the function itself, and its slope is -exp(atom): so that slope is tried too.

    Args:
        profile: the curve delta(epsilon).
        q_tail: the curve Q[L > epsilon].
        alpha: the level, a rational number with 0 < alpha < 1.
        complement: the curve 1 - delta(epsilon), increasing, where it can be had to a better relative accuracy than
            from the profile; without it a small beta costs many bits.
        guess: two epsilons with that one between them, perhaps. Far from it q_tail may be slow: it is as accurate where
            it is 1e-1000 as elsewhere.

    Raises:
        PrecisionExhausted: line and chord do not meet, or no epsilon in [-2^64, 2^64] has q(epsilon) on either side.
    """
    bracket = (
        _around_zero(q_tail, alpha) if guess is None else _bracket_around_guess(q_tail, alpha, *guess, _FIRST_BITS)
    )

    def from_profile(epsilon: Fraction, bits: int) -> arb:
        return 1 - profile(epsilon, bits)

    rest = from_profile if complement is None else complement
    for bits in doublings(_FIRST_BITS, _MAX_BITS):
        value = _beta_between_line_and_chord(rest, q_tail, alpha, bracket, bits)
        if value is not None:
            return value
    raise PrecisionExhausted("beta", _MAX_BITS, "move alpha away from 0 and 1")


def _beta_between_line_and_chord(
    complement: Curve, q_tail: Curve, alpha: Fraction, bracket: Bracket, bits: int
) -> arb | None:
    """beta(alpha) from the bracket, which is narrowed; None when more bits are needed."""
    with precision(bits + 16):
        level = ball(alpha)
        best: arb | None = None  # the highest line at alpha

        def vertex(epsilon: Fraction) -> tuple[arb, arb]:
            nonlocal best
            rest, q = complement(epsilon, bits), q_tail(epsilon, bits)
            growth = ball(epsilon).exp()
            line = rest - growth * level
            best = line if best is None or line.lower() > best.lower() else best
            return q, rest - growth * q

        ends = {point: vertex(point) for point in (bracket.low, bracket.high)}
        steps = bracket.trials(bits)
        for trial in range(_MAX_TRIALS):
            (q_low, beta_low), (q_high, beta_high) = ends[bracket.low], ends[bracket.high]
            slope = (beta_high - beta_low) / (q_low - q_high)
            chord = beta_low + slope * (q_low - level)
            if not chord.is_finite():
                return None
            assert best is not None  # two vertices were computed
            value = TRADE_OFF.ball(best, chord)
            if value.rel_accuracy_bits() >= ACCURACY:
                return value
            if chord.rel_accuracy_bits() < ACCURACY + 4 or best.rel_accuracy_bits() < ACCURACY + 4:
                return None
            point = _point_of_slope(slope, bracket) if trial % 3 == 0 else next(steps)
            if point is None:
                continue
            ends[point] = vertex(point)
            excess = ends[point][0] - level
            if excess.contains(0):  # a vertex at alpha itself: beta falls by at most exp(high) per unit of alpha
                above = ends[point][1] + excess.nonnegative_part() * ball(bracket.high).exp()
                value = TRADE_OFF.ball(best, above)
                return value if value.rel_accuracy_bits() >= ACCURACY else None
            bracket.narrow(point, (ends[point][0] / level).log(), 1 if excess > 0 else -1)
            ends = {end: ends[end] for end in (bracket.low, bracket.high)}
    return None


def _point_of_slope(slope: arb, bracket: Bracket) -> Fraction | None:
    """The epsilon at which the function has the slope of the chord, if it is inside the bracket."""
    epsilon = slope.log().mid()
    if not epsilon.is_finite():
        return None
    point = as_fraction(epsilon)
    return point if bracket.low < point < bracket.high else None


def _log_ratio_with_sign(
    curve: Curve, point: Fraction, level: Fraction, *, undecided: int | None = None, first: int = _FIRST_BITS
) -> tuple[arb, int]:
    """log(curve(point)/level) with its certain sign; -1 when it is 0.

    ``undecided`` is the answer where the first bits do not decide; without it more bits are used.
    """
    for bits in doublings(first, _MAX_BITS):
        value = curve(point, bits)
        with precision(bits + 16):
            goal = ball(level)
            excess = value - goal
            logarithm = (value / goal).log() if value > 0 else arb("-inf")
        if excess > 0:
            return logarithm, 1
        if excess <= 0:
            return logarithm, -1
        if undecided is not None:
            return logarithm, undecided
    raise PrecisionExhausted("the sign of curve - level", _MAX_BITS, "move the level away from the value at 0")


def _around_zero(curve: Curve, level: Fraction) -> Bracket:
    at_zero, sign = _log_ratio_with_sign(curve, Fraction(0), level, undecided=-1)
    if sign > 0:
        return _bracket_to_the_right(curve, level, at_zero)
    high, at_high = Fraction(0), at_zero
    for size in doublings(1, _MAX_EPSILON):
        value, sign = _log_ratio_with_sign(curve, Fraction(-size), level, undecided=-1)
        if sign > 0:
            return Bracket(low=Fraction(-size), high=high, at_low=value, at_high=at_high)
        high, at_high = Fraction(-size), value
    raise PrecisionExhausted("epsilon", _FIRST_BITS, "no epsilon down to -2^64 is small enough: there may be none")


def _bracket_to_the_right(curve: Curve, level: Fraction, at_zero: arb) -> Bracket:
    low, at_low = Fraction(0), at_zero
    for size in doublings(1, _MAX_EPSILON):
        value, sign = _log_ratio_with_sign(curve, Fraction(size), level, undecided=1)
        if sign < 0:
            return Bracket(low=low, high=Fraction(size), at_low=at_low, at_high=value)
        low, at_low = Fraction(size), value
    raise PrecisionExhausted("epsilon", _FIRST_BITS, "no epsilon up to 2^64 is large enough: there may be none")


def _bracket_around(curve: Curve, level: Fraction, guess: Fraction) -> Bracket | None:
    """A bracket from points near a guess > 0, further and further from it; None where these have none."""
    value, sign = _log_ratio_with_sign(curve, guess, level, first=_COARSE_BITS)
    if sign > 0:
        low, at_low = guess, value
        for factor in _FACTORS:
            value, sign = _log_ratio_with_sign(curve, guess * factor, level, first=_COARSE_BITS)
            if sign < 0:
                return Bracket(low=low, high=guess * factor, at_low=at_low, at_high=value)
            low, at_low = guess * factor, value
        return None
    high, at_high = guess, value
    for factor in _FACTORS:
        value, sign = _log_ratio_with_sign(curve, guess / factor, level, first=_COARSE_BITS)
        if sign > 0:
            return Bracket(low=guess / factor, high=high, at_low=value, at_high=at_high)
        high, at_high = guess / factor, value
    return None


Enclosed: TypeAlias = Callable[[Fraction], arb]
"""``enclosed(epsilon)`` certainly holds delta(epsilon), at any rational epsilon."""

FARTHEST = Fraction(1 << 12)
"""The largest epsilon at which the level of a profile is looked for that is only known between bounds."""

_BITS = 128
_GUESSES = 60
_ESTIMATED_BITS = 8
_FIRST = Fraction(1, 1 << 40)  # of the range of epsilon: the first distance to either side
_GROWTH = 4


def epsilon_between(enclosed: Enclosed, delta: Fraction, highest: Fraction) -> arb:
    """The smallest epsilon >= 0 with delta(epsilon) <= ``delta``, for 0 < delta < 1.

    The profile is certainly above the level at the lower end of the ball, if that is not 0, and certainly at or below
    it at the upper end.

    Args:
        enclosed: the profile.
        delta: the level.
        highest: an epsilon > 0 where the profile should be at or below the level; where it is not certainly so, the
            ball says nothing.
    """
    with precision(_BITS):
        level = ball(delta)
        at_zero = enclosed(Fraction(0))
        if at_zero <= level:
            return arb(0)
        if not enclosed(highest) <= level:
            return arb(0).union(arb("inf"))  # a ball has no lower end where it has no upper one
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
        return LEVEL.ball(ball(ends[0]), ball(ends[1]))


def epsilon_by_bounds(
    profile: Curve,
    enclosed: Enclosed,
    at_most: Enclosed,
    delta: Fraction,
    *,
    guess: Fraction | None = None,
    accuracy: int = ACCURACY,
) -> arb:
    """The smallest epsilon >= 0 with delta(epsilon) <= ``delta``, of a profile that some epsilons are too far out for.

    Args:
        profile: the profile, which raises `PrecisionExhausted` where it cannot be had to so many bits.
        enclosed: the profile at every epsilon, as closely as it is known.
        at_most: upper bounds on it for epsilon >= 0 that are quick.
        delta: the level, 0 < delta < 1.
        guess, accuracy: as of `epsilon_ball`.
    """

    def near(epsilon: Fraction, bits: int) -> arb:
        """The profile, or a bound where that is below delta: next to its end there may be no more."""
        bound = at_most(epsilon)
        if bound < ball(delta / 4):
            return arb(0).union(bound)
        return profile(epsilon, bits)

    try:
        return epsilon_ball(near, delta, guess=guess, accuracy=accuracy)
    except PrecisionExhausted:  # so many bits there are not
        return epsilon_between(enclosed, delta, first_within(at_most, delta / 2))


def estimated_epsilon(log_size: Callable[[float], float], delta: Fraction) -> Fraction | None:
    """About where a profile is delta, from estimates of its logarithm at epsilon >= 0; None where these say nothing."""
    if not delta > 0:
        return None
    level = math.log(delta.numerator) - math.log(delta.denominator)

    def above(epsilon: float) -> bool:
        size = log_size(epsilon)
        return math.isfinite(size) and size > level

    if not above(0.0):
        return None
    _, high = bisected(above, *doubled(above, 0.0, 2.0**-40, most=float(FARTHEST)), steps=_ESTIMATED_BITS)
    return Fraction(high) if high < FARTHEST else None


def first_within(at_most: Enclosed, level: Fraction) -> Fraction:
    """The first of 1, 2, 4, ..., `FARTHEST` where a bound on the profile is at most ``level``, or the last of them."""
    high = Fraction(1)
    with precision(_BITS):
        while high < FARTHEST and not at_most(high) <= ball(level):
            high *= 2
    return high


def beta_between(
    enclosed: Enclosed, alpha: Fraction, highest: Fraction, *, guess: Fraction | None = None, first: Fraction = _FIRST
) -> arb:
    """The trade-off function beta(alpha) = max over x of h(x), h(x) = 1 - delta(log x) - x alpha, for 0 < alpha < 1.

    h is concave, as the profile is convex in x = exp(epsilon). Every value of h is a bound below. At x1 < x2 < x3 with
    h(x2) certainly the largest, the maximum is between x1 and x3, and below the chords of h extended beyond x2:

        beta <= h(x2) + max((h(x2) - h(x1)) (x3 - x2)/(x2 - x1), (h(x2) - h(x3)) (x2 - x1)/(x3 - x2)).

    Args:
        enclosed: the profile.
        alpha: the level.
        highest: an epsilon > 0 from which on the profile is 0; below -highest it is 1 - x.
        guess: about where h is largest, if that is known.
        first: of the range of epsilon: the first distance of x1 and x3 from x2.
    """

    @cache
    def line(epsilon: Fraction) -> arb:
        with precision(_BITS):
            return 1 - enclosed(epsilon) - ball(epsilon).exp() * ball(alpha)

    def steer(epsilon: float) -> float:
        return -float(line(Fraction(epsilon)).mid())

    reach = float(highest)
    if guess is None:
        found = scipy.optimize.minimize_scalar(
            steer, bounds=(-reach, reach), method="bounded", options={"maxiter": _GUESSES}
        )
        guess = Fraction(float(found.x))
    best = guess
    with precision(_BITS):
        at_best = line(best)
        lower, upper = at_best.lower(), 1 - ball(alpha)
        distance = highest * first
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
        return TRADE_OFF.ball(lower, upper)


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


def q_above_of_profile(profile: Curve, level: Fraction, bits: int) -> arb:
    """Q[L > level] of a loss without an atom there, from its profile, to about ``bits`` bits.

    The profile is convex in a = exp(epsilon), and its derivative there is -Q[L > log a]: it is between the slopes of
    the chords to either side.
    """
    step = Fraction(1, 1 << (bits // 2 + 4))
    values = [(point, profile(point, 2 * bits + 16)) for point in (level - step, level, level + step)]
    with precision(3 * bits + 32):
        (low, above), (middle, own), (high, below) = ((ball(point).exp(), value) for point, value in values)
        return ((above - own) / (middle - low)).union((own - below) / (high - middle)).nonnegative_part()


_SPARE_SMOOTH_BITS = 16
_MAX_SMOOTH_BITS = 1 << 13
_MAX_DOUBLINGS = 80
_CLOSE = Fraction(1, 2**20)


def smooth_beta_ball(q_tail: Curve, alpha: Fraction, *, low: Fraction, high: Fraction, accuracy: int = ACCURACY) -> arb:
    """beta(alpha) for 0 < alpha < 1, where L has a density and the law of L under P is that of -L under Q.

    Write a(x) = Q[L > x]; by symmetry P[L <= x] = a(-x), and by Neyman and Pearson (a(x), a(-x)) is on the graph, where
    the slope of beta is -exp(x). If a(x1) >= alpha >= a(x2) for certain, then at every x in [x1, x2], by the mean value
    theorem,

        beta(alpha) = a(-x) - (alpha - a(x)) exp(y)   for some y in [x1, x2].

    Args:
        q_tail: the curve a.
        alpha: the level.
        low, high: a guess of x1 < x2, which is moved until it is certain.
        accuracy: accurate bits of the ball.

    Raises:
        PrecisionExhausted: the ball stays wider than that.
    """
    bits = accuracy + _SPARE_SMOOTH_BITS + math.ceil(1 / (1 - alpha)).bit_length()

    def logarithm(point: Fraction) -> tuple[arb, arb]:
        value = q_tail(point, bits)
        with precision(bits + 16):
            return value, (value / ball(alpha)).log()

    bracket = _bracket_around_guess(q_tail, alpha, low, high, bits)
    most = bits + _MAX_SMOOTH_BITS
    while bits <= most:
        first = (bracket.low,) if bracket.width < _CLOSE else ()  # a good guess is enough by itself
        for point in chain(first, bracket.trials(bits)):
            value, excess = logarithm(point)
            with precision(bits + 16):
                slope = ball(bracket.low).exp().union(ball(bracket.high).exp())
                correction = (ball(alpha) - value) * slope
            if correction.rad() < arb(2) ** -accuracy:  # else it is too wide for any beta <= 1
                opposite = q_tail(-point, bits)
                with precision(bits + 16):
                    beta = opposite - correction
                if beta.rel_accuracy_bits() >= accuracy:
                    return beta
            if not (excess > 0 or excess < 0):
                break  # the root to all bits, and still too wide
            if point != bracket.low:
                bracket.narrow(point, excess, 1 if excess > 0 else -1)
        bits *= 2
    raise PrecisionExhausted("beta", most, "move alpha away from 0 and 1")


def _bracket_around_guess(q_tail: Curve, alpha: Fraction, low: Fraction, high: Fraction, bits: int) -> Bracket:
    """The guess, each end moved outward by doubled steps until its sign is certain."""
    width = high - low
    ends: list[tuple[Fraction, arb]] = []
    for end, side in ((low, -1), (high, 1)):
        step = width
        for _ in range(_MAX_DOUBLINGS):
            value = q_tail(end, bits)
            with precision(bits + 16):
                excess = arb("-inf") if value.is_zero() else (value / ball(alpha)).log()
            if (excess > 0) if side < 0 else (excess < 0):
                break
            end += side * step
            step *= 2
        else:
            raise PrecisionExhausted("beta", bits, "no epsilon has this level: move alpha away from 0 and 1")
        ends.append((end, excess))
    return Bracket(low=ends[0][0], high=ends[1][0], at_low=ends[0][1], at_high=ends[1][1])
