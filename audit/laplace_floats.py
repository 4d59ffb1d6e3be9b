"""The curves of a Laplace loss in float64: balls rounded to nearest, arrays by interpolation between such values.

The profile and the tails are analytic between the atoms of the loss. Many points that lie close together share one
Chebyshev polynomial, which is checked against the balls at further points; where the check fails (across a strong
atom) the points are halved, and few points are computed one by one.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from flint import arb

from dpverdict.audit.laplace_profile import LaplaceProfile
from dpverdict.audit.loss_domains import Floats
from dpverdict.audit.loss_tails import LossTails
from dpverdict.balls import ball, precision

RELATIVE_ERROR = 1e-13
"""Bound on the relative error of the float64 profile and tails, measured; a subnormal number has an absolute one."""

Evaluate: TypeAlias = Callable[[Fraction], arb]

_FEWEST = 40  # points that are worth a polynomial
_NODES = 24
_CHECKS = (-0.93, -0.31, 0.17, 0.71)
_CLOSE = 5e-15
_BITS = 60
_TINY = 1e-290
_NOTHING = arb(2) ** -1080


def delta(profile: LaplaceProfile, epsilon: Floats) -> Floats:
    """The privacy profile at an array of any shape."""
    size, place = np.unique(np.abs(epsilon), return_inverse=True)
    values = _curve(profile, lambda x: profile.enclosed_delta(x, _BITS)[0], size)
    positive = values[place].reshape(epsilon.shape)
    below = np.minimum(epsilon, 0.0)
    reflected: Floats = np.exp(below) * positive - np.expm1(below)
    return np.where(epsilon < 0, reflected, positive)


def tails_of_one(shift: Fraction, losses: Floats) -> LossTails:
    """The four tails of one coordinate at losses of shape (n,), in closed form.

    P[L <= l] = exp((l - s)/2)/2 and Q[L > l] = exp(-(l + s)/2)/2 at -s <= l < s.
    """
    size = float(shift)
    inside = (losses >= -size) & (losses < size)
    for i in np.flatnonzero(np.abs(losses) == size).tolist():  # the float may be on either side of the shift
        inside[i] = -shift <= Fraction(float(losses[i])) < shift
    low = losses < 0
    with np.errstate(under="ignore", over="ignore"):
        below, above = np.exp((losses - size) / 2) / 2, np.exp(-(losses + size) / 2) / 2

    def value(at: Floats, above_it: float) -> Floats:
        return np.where(inside, at, np.where(low, 1.0 - above_it, above_it))

    return LossTails(
        p_above=value(1.0 - below, 0.0),
        p_below=value(below, 1.0),
        q_above=value(above, 0.0),
        q_below=value(1.0 - above, 1.0),
        relative_error=max(RELATIVE_ERROR, 2.0**-51 * size),  # of the exponents' absolute errors
    )


def tails(profile: LaplaceProfile, losses: Floats) -> LossTails:
    """The four tails at losses of shape (n,)."""
    size, place = np.unique(np.abs(losses), return_inverse=True)

    def curve(evaluate: Evaluate) -> Floats:
        return _curve(profile, evaluate, size)[place]

    p_above = curve(lambda x: profile.p_above(x, _BITS))
    q_above = curve(lambda x: profile.q_above(x, _BITS))
    p_below = 1.0 - p_above
    large = p_above > 0.5
    if large.any():
        p_below[large] = curve(lambda x: profile.p_to(x, _BITS))[large]
    q_below = 1.0 - q_above
    # At -x, by symmetry: P[L <= -x] = Q[L >= x] and so on. The atoms, where > and >= differ, are done one by one.
    negative = losses < 0
    p_from, q_from, p_under, q_under = p_above.copy(), q_above.copy(), p_below.copy(), q_below.copy()
    for i in np.flatnonzero(negative).tolist():
        x = Fraction(-float(losses[i]))
        if profile.is_atom(x):
            p_from[i], q_from[i] = float(profile.p_from(x, _BITS)), float(profile.q_from(x, _BITS))
            p_under[i], q_under[i] = float(profile.p_before(x, _BITS)), 1.0 - q_from[i]
    return LossTails(
        p_above=np.where(negative, q_under, p_above),
        p_below=np.where(negative, q_from, p_below),
        q_above=np.where(negative, p_under, q_above),
        q_below=np.where(negative, p_from, q_below),
        relative_error=RELATIVE_ERROR,
    )


def _curve(profile: LaplaceProfile, evaluate: Evaluate, points: Floats) -> Floats:
    if profile.is_smooth:
        return interpolated(evaluate, points, profile.atoms())
    return np.array([float(evaluate(Fraction(x))) for x in points.tolist()], dtype=np.float64)


def interpolated(evaluate: Evaluate, points: Floats, atoms: Sequence[float]) -> Floats:
    """The monotonic, positive curve at increasing points; it is analytic between the atoms, right-continuous at them.

    Args:
        evaluate: the curve at one point, as a ball.
        points: float64 array of shape (n,), strictly increasing.
        atoms: where the curve may jump or bend, increasing; it need not list them all.
    """
    values = np.empty(points.shape)

    def fill(start: int, stop: int) -> None:
        if stop - start < _FEWEST:
            values[start:stop] = [float(evaluate(Fraction(x))) for x in points[start:stop].tolist()]
            return
        low, high = float(points[start]), float(points[stop - 1])
        if all(bool(evaluate(Fraction(end)) < _NOTHING) for end in (low, high)):  # the curve is monotonic
            values[start:stop] = 0.0
            return
        first, last = (
            bisect_left(atoms, math.nextafter(low, math.inf)),
            bisect_left(atoms, math.nextafter(high, math.inf)),
        )
        if first < last:
            split = int(np.searchsorted(points, atoms[(first + last) // 2], side="left"))
        else:
            found = _polynomial(evaluate, points[start:stop])
            if found is not None:
                values[start:stop] = found
                return
            split = (start + stop) // 2
        fill(start, split)
        fill(split, stop)

    fill(0, points.size)
    return values


def _polynomial(evaluate: Evaluate, points: Floats) -> Floats | None:
    """The curve by one Chebyshev polynomial; None where that is not accurate.

    The polynomial is that of the curve divided by its value in the middle and by an exponential function.
    """
    low, high = float(points[0]), float(points[-1])
    middle, half = low + (high - low) / 2, (high - low) / 2
    angles = (2 * np.arange(_NODES) + 1) * math.pi / (2 * _NODES)
    places = np.concatenate([np.cos(angles), _CHECKS])
    nodes = np.clip(middle + half * places, low, high)
    centre = evaluate(Fraction(middle))
    size = float(centre)
    if not _TINY < size < math.inf:
        return None
    balls = [evaluate(Fraction(x)) for x in nodes.tolist()]
    if not all(value > 0 for value in balls):
        return None
    with precision(_BITS + 40):
        rate = (float(balls[0].log()) - float(balls[_NODES - 1].log())) / (nodes[0] - nodes[_NODES - 1])
        scaled = np.array(
            [
                float(v / centre * (-ball(float(rate)) * (ball(x) - middle)).exp())
                for v, x in zip(balls, nodes.tolist(), strict=True)
            ]
        )
    where = (nodes - middle) / half
    weights = (-1.0) ** np.arange(_NODES) * np.sin(angles)

    def value(at: Floats) -> Floats:
        gaps = at[:, None] - where[None, :_NODES]
        hit = gaps == 0
        terms = weights / np.where(hit, 1.0, gaps)
        quotient: Floats = (terms @ scaled[:_NODES]) / terms.sum(axis=1)
        rows, columns = np.nonzero(hit)
        quotient[rows] = scaled[columns]
        return quotient

    if not np.all(np.abs(value(where[_NODES:]) / scaled[_NODES:] - 1.0) < _CLOSE):
        return None
    result: Floats = size * np.exp(rate * (points - middle)) * value((points - middle) / half)
    return result if bool(np.all(result > _TINY)) else None
