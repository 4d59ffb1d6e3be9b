"""Random allocation over any number of epochs: certified bounds on its profile from moments of the likelihood ratio.

R is the likelihood ratio of one epoch under Q (`dpverdict.audit.sampling.allocation`), a mean of T independent
lognormal variables X_t of mean 1, and R_1 ... R_E that of E epochs. For whole orders n >= 2, b >= 1 and a =
exp(epsilon),

    remove: E(R_1 ... R_E - a)_+ <= (E R^n)^E (n-1)^(n-1)/n^n a^(1-n),
    add:    E(1 - a R_1 ... R_E)_+ <= (E R^-b)^E b^b/(b+1)^(b+1) a^-b,

the largest values of (r - a)_+ r^-n and of (1 - a r)_+ r^b.

* Moments. E R^n = n!/T^n times the coefficient of x^n in (sum over j of E X^j x^j/j!)^T, E X^j = exp(j (j-1)/(2 s^2)).
* Inverse moments. E R^-b is the integral of u^(b-1) F(u) du/(b-1)!, F(u) = E exp(-u R) = f(u/T)^T, with the f of that
  module. F is convex: on a cell it is at most its chord. Beyond the last u = U, exp(-x) <= (2b/(e x))^(2b)
  and R >= (X_1 ... X_T)^(1/T) leave at most (2b/e)^(2b) exp(b (2b/T + 1)/s^2) U^-b/b of the integral.

Reference: Mironov 2017 (arXiv:1702.07476), for bounds on delta from moments.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Final

from flint import acb, arb, arb_poly

from dpverdict.audit.losses.domains import Direction
from dpverdict.audit.sampling.allocation import AllocationLoss
from dpverdict.balls import ball, precision

_ORDERS: Final = 64
_BITS: Final = 160
_CELLS: Final = 2000
_LARGEST: Final = 1e6  # u, of the inverse moments
_SMALLEST: Final = 1e-2
_LEAST_NOISE: Final = Fraction(1, 20)
"""Below it the inverse moments are above e^400, and take ever longer: known batches tell as much."""


def delta_at_most(noise_multiplier: Fraction, steps: int, epochs: int, epsilon: Fraction, order: Direction) -> arb:
    """An upper bound on delta(epsilon) of E epochs, at the best of some orders.

    Args:
        noise_multiplier: s > 0.
        steps: T >= 2, of an epoch.
        epochs: E >= 1.
        epsilon: >= 0.
        order: which of the two.
    """
    with precision(_BITS):
        growth, best = ball(epsilon).exp(), arb(1)
        if order is Direction.REMOVE:
            for n, moment in enumerate(_moments(noise_multiplier, steps)[2:], start=2):
                share = arb(n - 1) ** (n - 1) / arb(n) ** n
                best = best.min((moment**epochs * share / growth ** (n - 1)).upper())
            return best
        for b, moment in enumerate(_inverse_moments(noise_multiplier, steps), start=1):
            share = arb(b) ** b / arb(b + 1) ** (b + 1)
            best = best.min((moment**epochs * share / growth**b).upper())
        return best


@lru_cache(maxsize=32)
def _moments(noise_multiplier: Fraction, steps: int) -> tuple[arb, ...]:
    """E R^n for n = 0, 1, ..."""
    with precision(_BITS):
        s = ball(noise_multiplier)
        factorials = [arb(math.factorial(n)) for n in range(_ORDERS + 1)]
        series = [(arb(n * (n - 1)) / (2 * s * s)).exp() / factorials[n] for n in range(_ORDERS + 1)]
        power, base, left = arb_poly([1]), arb_poly(series), steps
        while left:
            if left & 1:
                power = _shortened(power * base)
            left >>= 1
            base = _shortened(base * base)
        return tuple(power[n] * factorials[n] / arb(steps) ** n for n in range(_ORDERS + 1))


def _shortened(series: arb_poly) -> arb_poly:
    return arb_poly(series.coeffs()[: _ORDERS + 1])


@lru_cache(maxsize=32)
def _inverse_moments(noise_multiplier: Fraction, steps: int) -> tuple[arb, ...]:
    """Upper bounds on E R^-b for b = 1, 2, ...; none where there is next to no noise."""
    if noise_multiplier < _LEAST_NOISE:
        return ()
    loss = AllocationLoss(noise_multiplier, steps, Direction.ADD)
    with precision(_BITS):
        ratio = (_LARGEST / _SMALLEST) ** (1 / _CELLS)
        ends = [arb(_SMALLEST * ratio**k) for k in range(_CELLS + 1)]
        ends = [arb(0), *ends]
        found = [arb(1), *((loss.moment(acb(u / steps), _BITS // 2).real ** steps).upper() for u in ends[1:])]
        slopes = [(found[k + 1] - found[k]) / (ends[k + 1] - ends[k]) for k in range(len(ends) - 1)]
        s = ball(noise_multiplier)
        moments = []
        for b in range(1, _ORDERS + 1):
            inside, low, low_next = arb(0), arb(0), arb(0)
            for u, f, slope, end in zip(ends, found, slopes, ends[1:], strict=False):
                high = end**b
                high_next = high * end
                inside += (f - slope * u) * (high - low) / b + slope * (high_next - low_next) / (b + 1)
                low, low_next = high, high_next
            beyond = (arb(2 * b) / arb(1).exp()) ** (2 * b) * (b * (arb(2 * b) / steps + 1) / (s * s)).exp()
            moments.append(((inside + beyond / (ends[-1] ** b * b)) / math.factorial(b - 1)).upper())
        return tuple(moments)
