"""Lower bounds on epsilon and mu, by inverting the joint test: the largest parameter that one event still refutes.

The hypotheses are nested, so one level pays for all parameters: if the true parameter is not rejected, which happens
with probability at least 1 - level, no larger one counts as a bound, because the tests reject less and less as the
parameter grows. (z decreases in epsilon and in delta. That the exact p-value follows is checked by enumeration in the
tests, where the error of the bound itself is computed too.) No count is ever replaced by a pseudo-count.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from scipy import special

from dpverdict.audit.joint_test import Method, TwoCounts, default_method, joint_p, signed_root
from dpverdict.mechanisms.guarantee import GaussianDP

_WIDTH: Final = 1 / 1000
"""The search ends when this share of the whole range is left."""
_TRIES: Final = 5
_NEAR: Final = 0.02
"""In units of z: a rejection with so little to spare is not followed by another one."""
_MARGIN: Final = 5e-3
"""In units of z: how far beyond the expected solution the next p-value is asked, to enclose it."""


def epsilon_lower(counts: TwoCounts, *, delta: float, level: float, method: Method | None = None) -> float:
    """Exceeds the smallest epsilon with p <= e^epsilon q + delta with probability at most ``level``; 0 says nothing.

    Args:
        counts: of one event, fixed before the trials were drawn.
        delta: in [0, 1).
        level: in (0, 1).
        method: of the p-value; None for `joint_test.default_method`.
    """
    p, q = counts.first / counts.first_trials, counts.second / counts.second_trials
    if p <= delta:
        return 0.0
    z = -float(special.ndtri(level))
    most = math.log((p - delta) / q) if q > 0 else math.log(2 * counts.second_trials * (p - delta) / z**2) + 1
    if most <= 0:
        return 0.0
    used = default_method(counts) if method is None else method
    return _largest_rejected(
        lambda epsilon: joint_p(counts, epsilon=epsilon, delta=delta, level=level, method=used),
        lambda epsilon: float(signed_root(*counts.four, epsilon, delta)),
        most,
        level,
    )


def delta_lower(counts: TwoCounts, *, epsilon: float, level: float, method: Method | None = None) -> float:
    """Exceeds the smallest delta with p <= e^epsilon q + delta with probability at most ``level``; 0 says nothing."""
    p, q = counts.first / counts.first_trials, counts.second / counts.second_trials
    most = min(p - math.exp(epsilon) * q, 1 - 2.0**-53)
    if most <= 0:
        return 0.0
    used = default_method(counts) if method is None else method
    return _largest_rejected(
        lambda delta: joint_p(counts, epsilon=epsilon, delta=delta, level=level, method=used),
        lambda delta: float(signed_root(*counts.four, epsilon, delta)),
        most,
        level,
    )


def mu_lower(counts: TwoCounts, *, epsilon: float, level: float, method: Method | None = None) -> float:
    """Exceeds the smallest mu for which both laws are mu-GDP with probability at most ``level``; 0 says nothing.

    mu-GDP implies (epsilon, delta_G(mu, epsilon))-DP at every epsilon; the bound is the largest mu for which that is
    rejected at the given one. ``epsilon`` is fixed before the trials: 0 for the event of the total variation, otherwise
    the slope where the trade-off curve is touched, see `touching_epsilon`.
    """
    rejected = delta_lower(counts, epsilon=epsilon, level=level, method=method)
    low, high = 0.0, 1.0
    if rejected <= 0:
        return low
    while high < 64 and GaussianDP(high).delta_upper(epsilon) <= rejected:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        # The profile is rounded up, so the mu kept is one whose exact profile is rejected.
        if GaussianDP(Fraction(middle)).delta_upper(epsilon) <= rejected:
            low = middle
        else:
            high = middle
    return low


def touching_epsilon(p: float, q: float) -> float:
    """The epsilon whose line touches the curve of mu-GDP at (q, p): -mu t - mu^2/2, t = Phi^-1(q), mu = Phi^-1(p) - t.

    In [-10, 10], and 0 where a probability is 0 or 1 and there is nothing to touch.
    """
    if not (0 < p < 1 and 0 < q < 1):
        return 0.0
    t = float(special.ndtri(q))
    mu = float(special.ndtri(p)) - t
    return min(max(-mu * t - mu * mu / 2, -10.0), 10.0)


def _largest_rejected(
    p_value: Callable[[float], float], root: Callable[[float], float], most: float, level: float
) -> float:
    """A parameter in [0, most) whose p-value is at most ``level``, next to one where it is not; 0 if there is none.

    ``root`` is cheap and falls in the parameter; -Phi^-1(p_value) is nearly root minus a constant. It decides only
    where p_value is asked.
    """
    wanted = -float(special.ndtri(level))

    def where(target: float) -> float:
        low, high = 0.0, most
        for _ in range(25):
            middle = (low + high) / 2
            low, high = (middle, high) if root(middle) > target else (low, middle)
        return low

    best, beyond, target = 0.0, most, wanted
    for _ in range(_TRIES):
        at = min(max(where(target), best), beyond)
        if at <= best or at >= beyond:
            at = (best + beyond) / 2
        p = p_value(at)
        if p <= level:
            best = at
        else:
            beyond = at
        found = -float(special.ndtri(min(max(p, 1e-300), 1 - 1e-16)))
        if beyond - best <= _WIDTH * most or (p <= level and found <= wanted + _NEAR):
            break
        # How much the two roots differ here; then a step beyond the solution on the side that is still open.
        margin = _MARGIN if p > level else -_MARGIN
        target = root(at) - found + wanted + margin
    if best == 0.0 and p_value(0.0) > level:
        return 0.0
    return best
