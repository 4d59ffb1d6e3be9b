"""The privacy profile and the trade-off function that each guarantee implies, as float64 bounds.

Every function named ``..._upper`` returns numbers that are at least the exact value at the exact arguments, every one
named ``..._lower`` numbers that are at most it: results are moved outward by a bound on the rounding errors made.

Notation: e, d are the epsilon and delta of the guarantee, m = order - 1 > 0, u = 2^-53.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpverdict.mechanisms import gaussian_profile
from dpverdict.mechanisms.float_pairs import Floats, Pair, two_sum

_TINY = 2e-323  # four units in the last place of the smallest numbers
_HUGE = 1e100  # a larger epsilon is treated as this one, which is a valid bound; no product of three overflows
_PAD = 1e-15  # a relative bound for a handful of float64 operations and one NumPy exp, expm1 or log1p


def float_above(value: Fraction) -> float:
    """The smallest float64 >= value; inf beyond the largest."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf if value > 0 else -1.7976931348623157e308
    return nearest if nearest >= value else math.nextafter(nearest, math.inf)


def float_below(value: Fraction) -> float:
    """The largest float64 <= value; -inf beyond the largest in absolute value."""
    return -float_above(-value)


def _up(values: Floats, pad: float | Floats = _PAD) -> Floats:
    return np.minimum(values * (1 + pad) + _TINY, 1.0)


def reflected_upper(epsilon: Floats, delta_at_size: Floats) -> Floats:
    """The bound at any epsilon from the bound at its absolute value, for a symmetric neighbouring relation.

    delta_PQ(-e) = 1 - exp(-e) (1 - delta_QP(e)).
    """
    size = np.abs(epsilon)
    mirrored = _up(-np.expm1(-size) + np.exp(-size) * delta_at_size)
    return np.where(epsilon >= 0, delta_at_size, mirrored)


# Gaussian -------------------------------------------------------------------------------------------------------------


def _mu_above(mu: Fraction) -> Pair | None:
    """mu, or slightly more, within the range of the float64 formulas; None above it."""
    if mu > gaussian_profile.LARGEST_MU:
        return None
    if mu < gaussian_profile.SMALLEST_MU:
        return Pair.of(np.asarray(gaussian_profile.SMALLEST_MU))
    return Pair.nearest(mu)


def gaussian_upper(epsilon: Floats, mu: Fraction) -> Floats:
    """Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu), rounded up; it is increasing in mu."""
    if mu == 0:
        return np.where(epsilon < 0, _up(-np.expm1(np.minimum(epsilon, 0.0))), 0.0)
    pair = _mu_above(mu)
    if pair is None:
        return np.ones_like(epsilon)
    return _up(gaussian_profile.delta_floats(epsilon, pair), gaussian_profile.RELATIVE_ERROR)


def gaussian_beta_lower(alpha: Floats, mu: Fraction) -> Floats:
    """Phi(Phi^-1(1 - alpha) - mu), rounded down; it is decreasing in mu."""
    if mu == 0:
        return one_minus_lower(alpha)
    pair = _mu_above(mu)
    if pair is None:
        return np.where(alpha == 0, 1.0, 0.0)
    pad = gaussian_profile.RELATIVE_ERROR
    directly = gaussian_profile.beta_floats(alpha, pair) * (1 - pad) - _TINY
    by_power = one_minus_lower(_up(gaussian_profile.power_floats(alpha, pair), pad))
    return np.where(alpha == 0, 1.0, np.maximum(np.maximum(directly, by_power), 0.0))


def one_minus_lower(values: Floats) -> Floats:
    """1 - values, rounded down."""
    difference, error = two_sum(np.asarray(1.0), -values)
    return np.where(error < 0, np.nextafter(difference, -np.inf), difference)


# pure and approximate -------------------------------------------------------------------------------------------------


def approximate_upper(epsilon: Floats, e: Fraction, d: Fraction) -> Floats:
    """d + (1 - d) times the profile of randomised response, (exp(e) - exp(epsilon))/(1 + exp(e)) on [-e, e], 0 above.

    The dominating pair reveals everything with probability d and is randomised response otherwise.

    Reference: Kairouz, Oh and Viswanath 2015, the dominating mechanism of Section 3 (arXiv:1311.0776).
    """
    above, slip = float_above(e), float_above(d)
    within = _up(-np.expm1(np.minimum(np.abs(epsilon) - above, 0.0)) / (1 + math.exp(-above)))
    response = reflected_upper(epsilon, np.where(np.abs(epsilon) >= above, 0.0, within))
    # d + (1 - d) r is increasing in d and in r; (1 - slip) is exact or rounded by less than the padding.
    return np.where(response == 0, slip, _up(slip + (1 - slip) * response))


def approximate_beta_lower(alpha: Floats, e: float | Floats, d: float | Floats) -> Floats:
    """max(0, 1 - d - exp(e) alpha, exp(-e) (1 - d - alpha)), rounded down, for e and d that the caller rounded up.

    Reference: Dong, Roth and Su 2022, Proposition 2.4 (arXiv:1905.02383), from Wasserman and Zhou 2010.
    """
    rest = one_minus_lower(np.asarray(d))
    with np.errstate(over="ignore", invalid="ignore"):
        weighted = np.where(alpha > 0, np.exp(e) * alpha, 0.0)
        steep = np.where(alpha > 0, rest - weighted - _PAD * (rest + weighted) - _TINY, rest)
    flat = np.exp(-np.asarray(e)) * np.maximum(rest - alpha - _PAD * (rest + alpha), 0.0) * (1 - _PAD) - _TINY
    best: Floats = np.maximum(np.maximum(steep, flat), 0.0)
    return best


# Renyi and zero-concentrated ------------------------------------------------------------------------------------------


def renyi_upper(epsilon: Floats, m: Floats, divergence: Floats) -> Floats:
    """exp(m (divergence - epsilon)) m^m / (1 + m)^(1 + m), rounded up, for epsilon >= 0.

    The bound on delta(epsilon) from a Renyi divergence of order 1 + m, for any real m > 0 and epsilon.

    Reference: Canonne, Kamath and Steinke 2020, Proposition 12 (arXiv:2004.00010).
    """
    with np.errstate(over="ignore", under="ignore"):
        # log of m^m / (1 + m)^(1 + m)
        entropy = -m * np.log1p(1.0 / m) - np.log1p(m)
        exponent = m * (divergence - epsilon) + entropy
        error = _PAD * (m * (divergence + epsilon) - entropy)
        return _up(np.exp(np.minimum(exponent + error, 0.0)), 4 * _PAD)


def renyi_order_upper(epsilon: Floats, order: Fraction, divergence: Fraction) -> Floats:
    """The smallest such bound over the orders from 1 to ``order``: the divergence is increasing in the order."""
    if divergence == 0:  # the two laws are equal
        return gaussian_upper(epsilon, Fraction(0))
    size, top = np.minimum(np.abs(epsilon), _HUGE), float_above(divergence)
    largest = float_below(order - 1)
    with np.errstate(over="ignore", divide="ignore"):
        best = 1.0 / np.expm1(np.maximum(top - size, 0.0))
    m = np.clip(best, min(1e-300, largest), min(largest, _HUGE))
    return reflected_upper(epsilon, renyi_upper(size, m, np.asarray(top)))


def zero_concentrated_upper(epsilon: Floats, rho: Fraction) -> Floats:
    """The least such bound over the orders 1 + m, where the divergence is (1 + m) rho; every m gives a valid one."""
    size, top = np.minimum(np.abs(epsilon), _HUGE), float_above(rho)
    if top == 0:  # the two laws are equal
        return gaussian_upper(epsilon, Fraction(0))
    if top > _HUGE:
        return np.ones_like(epsilon)
    # The logarithm of the bound is convex in m, with derivative (2 m + 1) rho - epsilon - log(1 + 1/m).
    low, high = np.full(size.shape, -40.0), np.minimum(np.log(size + 1) - math.log(top) + 2, 230.0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        m = np.exp(middle)
        rising = (2 * m + 1) * top - size - np.log1p(1 / m) > 0
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    m = np.exp(high)
    return reflected_upper(epsilon, renyi_upper(size, m, (1 + m) * top))


def support_lines_lower(alpha: Floats, epsilons: Floats, deltas_upper: Floats) -> Floats:
    """The largest of the trade-off functions of (epsilon, delta) on a grid, each of which the guarantee implies."""
    best = np.zeros_like(alpha)
    for e, d in zip(epsilons, deltas_upper, strict=True):
        best = np.maximum(best, approximate_beta_lower(alpha, e, d))
    return best


def epsilon_grid(scale: float) -> Floats:
    """Epsilons from 0 on, of every order of magnitude around ``scale``; any grid gives a valid bound."""
    return np.concatenate([[0.0], np.geomspace(max(scale * 1e-4, 1e-300), min(scale * 1e3 + 50.0, 1e300), 300)])
