"""Float64 guesses that steer the certified sums of a Laplace loss; none of them enters a bound.

Notation: shifts s_g with counts m_g, total = sum of m_g s_g, gap = total - epsilon > 0, and K(t) = log E_P exp(t L), so

    K(t) - epsilon t = t gap + sum over g of m_g log((t + 1 + t exp(-s_g (1 + 2 t))) / (2 t + 1)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from scipy.special import gammaln, xlogy

from dpverdict.audit.laplace_kernel import Kernel
from dpverdict.audit.loss_domains import Floats

_HUGE = 1e300
_SMALLEST, _LARGEST = Fraction(1, 10**290), Fraction(10**290)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Saddle:
    """The saddle point t of a tail integral, and the estimate of the logarithm of the tail that it gives."""

    t: float
    log_tail: float


def near(value: Fraction) -> float:
    """A float64 near a positive rational number, kept away from underflow and overflow."""
    if value < _SMALLEST:
        return float(_SMALLEST)
    return float(min(value, _LARGEST))


def saddle(shifts: Floats, counts: Floats, gap: float, kernel: Kernel) -> Saddle:
    """The saddle point of the integral of exp(K(t) - epsilon t) times the kernel, on t > 0 (t > -1/2 for Q_TAIL)."""

    def exponent(log_distance: Floats) -> Floats:
        distance = np.exp(log_distance)
        if kernel is Kernel.Q_TAIL:
            t, twice = distance - 0.5, 2.0 * distance
        else:
            t, twice = distance, 2.0 * distance + 1.0
        fall = np.expm1(-shifts[:, None] * twice)
        value = t * gap + counts @ np.log1p(t / twice * fall)
        if kernel is not Kernel.Q_TAIL:
            value -= log_distance
        if kernel is not Kernel.P_TAIL:
            value -= np.log1p(t)
        return np.minimum(value, _HUGE)

    place, value, bend = _lowest(exponent, np.linspace(-60.0, 690.0 - max(0.0, math.log(gap)), 96))
    log_tail = value - 0.5 * math.log(2 * math.pi * max(bend, 1.0)) + place
    t = math.exp(place) - (0.5 if kernel is Kernel.Q_TAIL else 0.0)
    return Saddle(t=t, log_tail=min(log_tail, 0.0))


def lower_saddle(shifts: Floats, counts: Floats, gap: float) -> Saddle:
    """The same for one minus the profile, on -1 < t < 0."""

    def exponent(logit: Floats) -> Floats:
        t = -1.0 / (1.0 + np.exp(logit))
        twice = 2.0 * t + 1.0
        twice = np.where(np.abs(twice) < 1e-9, 1e-9, twice)
        fall = np.expm1(-shifts[:, None] * twice)
        return np.minimum(t * gap + counts @ np.log1p(t / twice * fall) - np.log(-t * (1.0 + t)), _HUGE)

    place, value, bend = _lowest(exponent, np.linspace(-40.0, 40.0, 81))
    t = -1.0 / (1.0 + math.exp(place))
    log_tail = value - 0.5 * math.log(2 * math.pi * max(bend, 1.0)) + math.log(-t * (1.0 + t))
    return Saddle(t=t, log_tail=min(log_tail, 0.0))


def _lowest(exponent: Callable[[Floats], Floats], grid: Floats) -> tuple[float, float, float]:
    """About where a convex function is lowest, its value there, and its second derivative."""
    with np.errstate(all="ignore"):
        for _ in range(4):
            values = exponent(grid)
            middle = int(np.nanargmin(values))
            low, high = grid[max(middle - 1, 0)], grid[min(middle + 1, grid.size - 1)]
            grid = np.linspace(low, high, 17)
        place = float(grid[int(np.nanargmin(exponent(grid)))])
        step = 1e-2
        left, centre, right = exponent(np.array([place - step, place, place + step])).tolist()
    return place, centre, (right - 2 * centre + left) / step**2


def radii(m: int, lowest: Floats, z: Floats) -> Floats:
    """About the radius at which size_on_circle(radius) exp(z / radius) is smallest."""
    drift = np.maximum(m - 2.0 * lowest, 1e-9)
    at_one = np.sqrt(z / drift)
    radius = np.where(2.0 * at_one * m <= drift, at_one, np.cbrt(z / m))
    return np.clip(radius, 1e-280, 0.97)


def log_size(m: int, lowest: Floats, radius: Floats) -> Floats:
    """About the logarithm of size_on_circle, with exponents m - C and C."""
    square = radius * radius
    at_one = (m - lowest) * np.log1p(radius) + lowest * np.log1p(-radius)
    bend = 0.5 * (m * np.log1p(square) + xlogy(m - lowest, 2 * (m - lowest) / m) + xlogy(lowest, 2 * lowest / m))
    size: Floats = np.where((1 + square) * (m - 2 * lowest) >= 2 * radius * m, at_one, bend)
    return size


def log_binomials(m: int, lowest: Floats) -> Floats:
    """log binom(m, C)."""
    logarithms: Floats = gammaln(m + 1.0) - gammaln(lowest + 1.0) - gammaln(m - lowest + 1.0)
    return logarithms


def terms_needed(m: int, shift: float, z: Floats, log_target: float) -> int:
    """How many terms to take, for equal shifts, so that all the others are below exp(log_target) altogether.

    Args:
        z: the points at which the series are evaluated, for C = size - 1, size - 2, ..., 0.
    """
    lowest = np.arange(z.size - 1, -1, -1, dtype=np.float64)
    radius = radii(m, lowest, z)
    with np.errstate(all="ignore"):
        size = log_binomials(m, lowest) + log_size(m, lowest, radius) + z / radius
        log_ratio = np.log(lowest / (m - lowest + 1)) + np.log((1 + radius) / (1 - radius)) + shift / radius
        at_one = (1 + radius**2) * (m - 2 * lowest) >= 2 * radius * m * (1 + 1e-9)
        enough = at_one & (log_ratio < -1e-3) & (size - np.log(-np.expm1(log_ratio)) < log_target)
    enough[0] = False
    found = np.flatnonzero(enough)
    return int(found[0]) if found.size else z.size


def series_length(m: int, lowest: Floats, z: Floats, log_weights: Floats, log_target: float, *, first: int) -> int:
    """How many coefficients of the series leave less than exp(log_target) altogether, at most m.

    ``first`` is tried first; 0 stands for an estimate.
    """

    def enough(length: int) -> bool:
        return float((tail_radii(m, lowest, z, length)[1] + log_weights).max()) < log_target - math.log(z.size)

    length = max(first or 16 + int(1.5 * min(float(z.max()) * math.sqrt(m), 1e9) ** (2 / 3)), 8)
    if length < m and enough(length):
        while length > 8 and enough(shorter := max(length * 7 // 8, 8)):
            length = shorter
        return length
    while length < m and not enough(length):
        length += max(4, length // 8)
    return min(length, m)


def tail_radii(m: int, lowest: Floats, z: Floats, length: int) -> tuple[Floats, Floats]:
    """Radii that make the bound on the terms from ``length`` on small, and the logarithms of these bounds."""
    best_radius = np.full(z.shape, 0.5)
    best = np.full(z.shape, np.inf)
    with np.errstate(all="ignore"):
        for scale in (0.7, 1.0, 1.4):
            drift = (m - 2.0 * lowest) / m
            # the minimum of m drift r + m r^2 / 2 - length log r
            radius = scale * (np.sqrt(drift**2 + 4.0 * length / m) - drift) / 2
            radius = np.clip(np.maximum(radius, 2.0 * z / (length + 1.0)), 1e-280, 0.97)
            bound = log_size(m, lowest, radius) + length * np.log(z / radius) - gammaln(length + 1.0)
            bound = np.where(z < 0.9 * radius * (length + 1), bound, np.inf)
            better = bound < best
            best, best_radius = np.where(better, bound, best), np.where(better, radius, best_radius)
    return best_radius, best


def log_majorant(m: int, lowest: Floats, z: Floats) -> Floats:
    """About the logarithm of the largest partial sum met when a series is evaluated."""
    radius = radii(m, lowest, z)
    with np.errstate(all="ignore"):
        return np.minimum(log_size(m, lowest, radius) + z / radius, _HUGE)
