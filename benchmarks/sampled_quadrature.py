"""The enclosures of one, two and three Poisson-sampled Gaussian steps against mpmath's quadrature, at random.

With g(z) = 1 - q + q exp(z/s - 1/(2 s^2)), z standard normal, and a = exp(epsilon), the profiles are

    remove: h_T(a) = E[g(z) h_(T-1)(a/g(z))],    add: k_T(a) = E[k_(T-1)(a g(z))],

down to h_0(a) = (1 - a)_+ = k_0(a): nested one-dimensional integrals, split where the inner one changes its form. Of
two and three steps the innermost integral is taken from the normal distribution function: P[L > l] - a Q[L > l].

Parameters: log s uniform on [log 0.3, log 5], log q on [log 1e-4, log 0.9], epsilon where the loss is; both orders in
turn. No case is left out: an enclosure that misses the quadrature by more than its error is printed as WRONG, and one
of a relative width above 1e-6 as WIDE, unless it shows that delta is below 1e-300: that is counted. Three steps are
integrated in float64, as minutes a case are too many.

    python benchmarks/sampled_quadrature.py --steps 1 --cases 5000 --seed 1
"""

from __future__ import annotations

import argparse
import math
import time
from fractions import Fraction

import mpmath
import numpy as np
from scipy.special import erfcx, ndtr

from dpverdict.audit import GaussianLoss, poisson_sampled
from dpverdict.numerics.arrays import Array

REACH = 12.0
TOLERANCE = {1: 1e-12, 2: 1e-9, 3: 1e-10}
"""Relative errors of the quadrature, beside 1e-22 absolute, and 1e-300 of three steps."""


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


def three_steps(s: float, q: float, epsilon: float, order: str, reach: float = REACH + 1) -> float:
    """h_3 or k_3 in float64: as `profile`, by Gauss and Legendre's rule of 16 nodes on every piece of the line.

    Nothing cancels: of a level, what is passed on is its distance d in the logarithm from where the steps that are left
    can tell no more, and with b = (exp(d) - 1) (1-q)/q, or 1/b in its place, one step has

        remove: q F(b),    add: (1 - exp(-d)) F(1/b),    F(b) = E(exp(L) - b)_+ = phi(t) (m(t) - m(t + 1/s)),

    t = s log b - 1/(2 s), with m(t) the ratio of the tail to the density of the normal law.
    """
    mu, remove = 1 / s, order == "remove"
    nodes, weights = np.polynomial.legendre.leggauss(16)
    with mpmath.workdps(40):
        least = -mpmath.log1p(-mpmath.mpf(q))
        distance = float(3 * least + epsilon) if remove else float(3 * least - epsilon)
        log_odds = float(mpmath.log(mpmath.mpf(q) / (1 - mpmath.mpf(q))))
    last = float(least)
    if not remove and distance <= 0:
        return 0.0
    shift = mu if remove else 0.0
    fixed = np.arange(-reach, reach + shift + 0.75, min(0.75, 2.5 / mu))
    close = np.geomspace(1e-7, 1, 15) * min(1.0, 2 * s)
    near = np.concatenate([-close[::-1], [0.0], close])  # all derivatives vanish at the turn

    def log_expm1(d: Array) -> Array:
        found: Array = np.where(d > 30, d, np.log(np.expm1(np.clip(d, 1e-300, 31))))
        return found

    def gaussian(log_b: Array) -> Array:
        t = log_b / mu - mu / 2
        u = np.maximum(t, -4.0)
        ratios = erfcx(u / math.sqrt(2)) - erfcx((u + mu) / math.sqrt(2))
        plain = ndtr(-t) - np.exp(np.minimum(log_b, 50)) * ndtr(-t - mu)
        found: Array = np.where(t > -4, np.exp(-u * u / 2) / 2 * ratios, plain)
        return found

    def value(number: int, d: Array) -> Array:
        log_b = log_expm1(d) - log_odds
        if number == 1:
            if remove:
                return np.where(d > 0, q * gaussian(log_b), -np.expm1(np.minimum(d, 0) - last))
            return np.where(d > 0, -np.expm1(-d) * gaussian(-log_b), 0.0)
        turn = np.where(d > 0, log_b / mu + mu / 2, -reach)[:, None]
        joined = np.concatenate([turn + near, np.broadcast_to(fixed, (d.size, fixed.size))], axis=1)
        ends = np.sort(np.clip(joined, fixed[0], fixed[-1]), axis=1)
        half = np.diff(ends, axis=1)[:, :, None] / 2
        z = (ends[:, :-1, None] + half + half * nodes).reshape(d.size, -1)
        weight = (half * weights).reshape(d.size, -1) * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        u = mu * z - mu * mu / 2 + log_odds
        used = np.where(u > 30, u, np.log1p(np.exp(np.minimum(u, 30))))
        left = d[:, None] - used
        open_ = (weight > 0) & (remove | (left > 0))
        parts = np.array_split(left[open_], max(1, left.size // 2000)) if number > 2 else [left[open_]]
        inner = np.zeros(z.shape)
        inner[open_] = np.concatenate([value(number - 1, part) for part in parts])
        return (weight * (np.exp(used - last) * inner if remove else inner)).sum(axis=1)

    found = float(value(3, np.array([distance]))[0])
    return found if found > 1e-25 or reach > 38 else three_steps(s, q, epsilon, order, 38.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, choices=[1, 2, 3], required=True)
    parser.add_argument("--cases", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    given = parser.parse_args()
    mpmath.mp.dps = 30  # 18 digits leave six of a profile of 1e-16 that is a difference
    rng = np.random.default_rng(given.seed)
    wrong = wide = tiny = 0
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
            truth = mpmath.mpf(three_steps(s, q, epsilon, order))
        else:
            truth = profile(s, q, given.steps, mpmath.exp(mpmath.mpf(epsilon)), order)
        theirs += time.process_time() - start
        room = TOLERANCE[given.steps] * abs(truth) + mpmath.mpf(1e-300 if given.steps == 3 else 1e-22)
        faults = []
        if not found.lower - room <= truth <= found.upper + room:
            faults.append("WRONG")
        if 0 < found.upper < 1e-300:
            tiny += 1
        elif found.upper - found.lower > 1e-6 * found.upper:
            faults.append("WIDE")
        wrong, wide = wrong + ("WRONG" in faults), wide + ("WIDE" in faults)
        for fault in faults:
            print(
                f"{fault}: s={s!r} q={q!r} T={given.steps} {order} epsilon={epsilon!r}: {found!r}, quadrature {truth}"
            )
    print(
        f"T = {given.steps}, seed {given.seed}: {given.cases} cases, {wrong} wrong, {wide} wider than 1e-6, "
        f"{tiny} shown to be below 1e-300; processor time {own:.1f} s ours, {theirs:.1f} s quadrature"
    )


if __name__ == "__main__":
    main()
