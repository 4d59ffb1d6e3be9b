"""The enclosures of one, two and three Poisson-sampled Gaussian steps against mpmath's quadrature, at random.

With g(z) = 1 - q + q exp(z/s - 1/(2 s^2)), z standard normal, and a = exp(epsilon), the profiles are

    remove: h_T(a) = E[g(z) h_(T-1)(a/g(z))],    add: k_T(a) = E[k_(T-1)(a g(z))],

down to h_0(a) = (1 - a)_+ = k_0(a): nested one-dimensional integrals, split where the inner one changes its form. Of
two and three steps the innermost integral is taken from the normal distribution function: P[L > l] - a Q[L > l].

Parameters: log s uniform on [log 0.3, log 5], log q on [log 1e-4, log 0.9], epsilon where the loss is; both orders in
turn. No case is left out: an enclosure that misses the quadrature by more than its error counts as WRONG, and a wide
one (relative width above 1e-6) is counted. Three steps are integrated in float64, as minutes a case are too many.

    python benchmarks/sampled_quadrature.py --steps 1 --cases 5000 --seed 1
"""

from __future__ import annotations

import argparse
import math
import time
from fractions import Fraction

import mpmath
import numpy as np
from scipy.special import ndtr

from dpverdict.audit import GaussianLoss, poisson_sampled
from dpverdict.numerics.arrays import Array

REACH = 12.0
TOLERANCE = {1: 1e-12, 2: 1e-9, 3: 1e-6}
"""Relative errors of the quadrature, beside 1e-22 absolute, and 1e-14 where it is in float64."""


def profile(s: mpmath.mpf, q: mpmath.mpf, steps: int, level: mpmath.mpf, order: str) -> mpmath.mpf:
    """h_T or k_T at a level, by nested quadrature."""
    s, q = mpmath.mpf(s), mpmath.mpf(q)

    def g(z: mpmath.mpf) -> mpmath.mpf:
        return 1 - q + q * mpmath.exp(z / s - 1 / (2 * s * s))

    def split(growth: mpmath.mpf) -> mpmath.mpf:
        """The z with g(z) = growth; the end of the line where there is none."""
        if growth <= 1 - q:
            return mpmath.mpf(-REACH)
        return min(max(s * mpmath.log((growth - 1 + q) / q) + 1 / (2 * s), mpmath.mpf(-REACH)), mpmath.mpf(REACH))

    def one(a: mpmath.mpf) -> mpmath.mpf:
        """h_1 or k_1: the event is {g(z) > a}, or {g(z) < 1/a}."""
        growth = a if order == "remove" else 1 / a
        if growth <= 1 - q:
            return 1 - a if order == "remove" else mpmath.mpf(0)
        z = s * mpmath.log((growth - 1 + q) / q) + 1 / (2 * s)
        if order == "remove":
            return (1 - q - a) * mpmath.ncdf(-z) + q * mpmath.ncdf(1 / s - z)
        return (1 - a * (1 - q)) * mpmath.ncdf(z) - a * q * mpmath.ncdf(z - 1 / s)

    def value(number: int, a: mpmath.mpf) -> mpmath.mpf:
        if number == 0:
            return max(1 - a, mpmath.mpf(0))
        if number == 1 < steps:
            return one(a)
        rest = (1 - q) ** (number - 1)
        turn = split(a / rest if order == "remove" else 1 / (a * rest))
        density = mpmath.npdf
        shift = 1 / s if order == "remove" else mpmath.mpf(0)
        near = {turn + sign * size for sign in (-1, 1) for size in (0.125, 0.5, 1.5, 4)}  # all derivatives vanish at it
        low, high = mpmath.mpf(-REACH), REACH + shift
        points = sorted({low, high, *(min(max(z, low), high) for z in (turn, mpmath.mpf(0), shift, *near))})
        if order == "remove":
            return mpmath.quad(lambda z: density(z) * g(z) * value(number - 1, a / g(z)), points)
        return mpmath.quad(lambda z: density(z) * value(number - 1, a * g(z)), points)

    return value(steps, level)


def three_steps(s: float, q: float, level: float, order: str) -> float:
    """h_3 or k_3 in float64: as `profile`, by Gauss and Legendre's rule of 48 nodes on every piece of the line."""
    nodes, weights = np.polynomial.legendre.leggauss(48)
    remove = order == "remove"
    shift = 1 / s if remove else 0.0

    def one(a: Array) -> Array:
        growth = a if remove else 1 / a
        b = np.maximum((growth - 1 + q) / q, 1e-300)
        z = s * np.log(b) + 1 / (2 * s)
        if remove:
            return np.where(growth > 1 - q, q * (ndtr(1 / s - z) - b * ndtr(-z)), 1 - a)
        return np.where(growth > 1 - q, (1 - a * (1 - q)) * ndtr(z) - a * q * ndtr(z - 1 / s), 0.0)

    def value(number: int, a: Array) -> Array:
        if number == 1:
            return one(a)
        rest = (1 - q) ** (number - 1)
        excess = ((a / rest if remove else 1 / (a * rest)) - 1 + q) / q
        turn = np.where(excess > 0, s * np.log(np.maximum(excess, 1e-300)) + 1 / (2 * s), -REACH)[:, None]
        near = turn + np.array([-4, -1.5, -0.5, -0.125, 0, 0.125, 0.5, 1.5, 4])
        fixed = np.broadcast_to([-REACH, -4, 0, 4, shift, shift + 4, REACH + shift], (a.size, 7))
        ends = np.sort(np.clip(np.concatenate([near, fixed], axis=1), -REACH, REACH + shift), axis=1)
        half = np.diff(ends, axis=1)[:, :, None] / 2
        z = (ends[:, :-1, None] + half + half * nodes).reshape(a.size, -1)
        weight = (half * weights).reshape(a.size, -1) * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        g = 1 - q + q * np.exp(z / s - 1 / (2 * s * s))
        inner = value(number - 1, (a[:, None] / g if remove else a[:, None] * g).ravel()).reshape(z.shape)
        return (weight * (g * inner if remove else inner)).sum(axis=1)

    return float(value(3, np.array([level]))[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, choices=[1, 2, 3], required=True)
    parser.add_argument("--cases", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    given = parser.parse_args()
    mpmath.mp.dps = 30 if given.steps == 1 else 18
    rng = np.random.default_rng(given.seed)
    wrong = wide = 0
    own = theirs = 0.0
    for case in range(given.cases):
        s = float(np.exp(rng.uniform(math.log(0.3), math.log(5))))
        q = float(np.exp(rng.uniform(math.log(1e-4), math.log(0.9))))
        place = rng.uniform(0, 3) / s
        epsilon = given.steps * math.log1p(q * math.expm1(place)) * rng.uniform(0.1, 1)
        order = ("remove", "add")[case % 2]
        start = time.process_time()
        loss = getattr(poisson_sampled(GaussianLoss(1 / Fraction(s)), q, given.steps), order)
        found = loss.certified_delta(epsilon)
        own += time.process_time() - start
        start = time.process_time()
        if given.steps == 3:
            truth = mpmath.mpf(three_steps(s, q, math.exp(epsilon), order))
        else:
            truth = profile(s, q, given.steps, mpmath.exp(mpmath.mpf(epsilon)), order)
        theirs += time.process_time() - start
        room = TOLERANCE[given.steps] * abs(truth) + mpmath.mpf(1e-14 if given.steps == 3 else 1e-22)
        wide += found.upper - found.lower > 1e-6 * found.upper
        if not found.lower - room <= truth <= found.upper + room:
            wrong += 1
            print(f"WRONG: s={s!r} q={q!r} T={given.steps} {order} epsilon={epsilon!r}: {found!r}, quadrature {truth}")
    print(
        f"T = {given.steps}, seed {given.seed}: {given.cases} cases, {wrong} wrong, {wide} wider than 1e-6; "
        f"processor time {own:.1f} s ours, {theirs:.1f} s quadrature"
    )


if __name__ == "__main__":
    main()
