"""The trade-off function of a symmetric pair whose privacy loss has a density, in balls."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import chain

from flint import arb

from dpverdict.audit.profile_curves import ACCURACY, Curve
from dpverdict.audit.root_bracket import Bracket
from dpverdict.balls import ball, precision
from dpverdict.errors import PrecisionExhausted

_FIRST_BITS = 72
_MAX_BITS = 1 << 13
_MAX_DOUBLINGS = 80
_CLOSE = Fraction(1, 2**20)


def beta_ball(q_tail: Curve, alpha: Fraction, *, low: Fraction, high: Fraction) -> arb:
    """beta(alpha) for 0 < alpha < 1, where L has a density and the law of L under P is that of -L under Q.

    Write a(x) = Q[L > x]; by symmetry P[L <= x] = a(-x), and by Neyman and Pearson (a(x), a(-x)) is on the graph, where
    the slope of beta is -exp(x). If a(x1) >= alpha >= a(x2) for certain, then at every x in [x1, x2], by the mean value
    theorem,

        beta(alpha) = a(-x) - (alpha - a(x)) exp(y)   for some y in [x1, x2].

    Args:
        q_tail: the curve a.
        alpha: the level.
        low, high: a guess of x1 < x2, which is moved until it is certain.

    Raises:
        PrecisionExhausted: the ball stays wider than `ACCURACY`.
    """
    bits = _FIRST_BITS + math.ceil(1 / (1 - alpha)).bit_length()  # so that q_tail - alpha is seen close to 1

    def logarithm(point: Fraction) -> tuple[arb, arb]:
        value = q_tail(point, bits)
        with precision(bits + 16):
            return value, (value / ball(alpha)).log()

    bracket = _bracket(q_tail, alpha, low, high, bits)
    most = bits + _MAX_BITS
    while bits <= most:
        first = (bracket.low,) if bracket.width < _CLOSE else ()  # a good guess is enough by itself
        for point in chain(first, bracket.trials(bits)):
            value, excess = logarithm(point)
            with precision(bits + 16):
                slope = ball(bracket.low).exp().union(ball(bracket.high).exp())
                correction = (ball(alpha) - value) * slope
            if correction.rad() < arb(2) ** -ACCURACY:  # else it is too wide for any beta <= 1
                opposite = q_tail(-point, bits)
                with precision(bits + 16):
                    beta = opposite - correction
                if beta.rel_accuracy_bits() >= ACCURACY:
                    return beta
            if not (excess > 0 or excess < 0):
                break  # the root to all bits, and still too wide
            if point != bracket.low:
                bracket.narrow(point, excess, 1 if excess > 0 else -1)
        bits *= 2
    raise PrecisionExhausted("beta", most, "move alpha away from 0 and 1")


def _bracket(q_tail: Curve, alpha: Fraction, low: Fraction, high: Fraction, bits: int) -> Bracket:
    """The guess, each end moved outward by doubled steps until its sign is certain."""
    width = high - low
    ends: list[tuple[Fraction, arb]] = []
    for end, side in ((low, -1), (high, 1)):
        step = width
        for _ in range(_MAX_DOUBLINGS):
            value = q_tail(end, bits)
            with precision(bits + 16):
                excess = (value / ball(alpha)).log()
            if (excess > 0) if side < 0 else (excess < 0):
                break
            end += side * step
            step *= 2
        else:
            raise PrecisionExhausted("beta", bits, "no epsilon has this level: move alpha away from 0 and 1")
        ends.append((end, excess))
    return Bracket(low=ends[0][0], high=ends[1][0], at_low=ends[0][1], at_high=ends[1][1])
