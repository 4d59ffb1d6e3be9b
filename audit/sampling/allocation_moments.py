"""Random allocation over any number of epochs: certified bounds on its profile from moments of the likelihood ratio.

R is the likelihood ratio of one epoch under Q (`dpverdict.audit.sampling.allocation`), a mean of T independent
lognormal variables X_t of mean 1, and R_1 ... R_E that of E epochs. For whole orders n >= 2, b >= 1 and a =
exp(epsilon),

    remove: E(R_1 ... R_E - a)_+ <= (E R^n)^E (n-1)^(n-1)/n^n a^(1-n),
    add:    E(1 - a R_1 ... R_E)_+ <= (E R^-b)^E b^b/(b+1)^(b+1) a^-b,

the largest values of (r - a)_+ r^-n and of (1 - a r)_+ r^b.

* Moments. E R^n = n!/T^n times the coefficient of x^n in (sum over j of E X^j x^j/j!)^T, E X^j = exp(j (j-1)/(2 s^2)).
* Inverse moments: those of `dpverdict.audit.sampling.allocation_line`.

Reference: Mironov 2017 (arXiv:1702.07476), for bounds on delta from moments.
"""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from typing import Final

from flint import arb, arb_poly

from dpverdict.audit.losses.domains import Direction
from dpverdict.audit.sampling.allocation_line import allocation_moments
from dpverdict.balls import ball, precision
from dpverdict.errors import PrecisionExhausted

_ORDERS: Final = 64
_MOST_ORDERS: Final = 1024  # in the far tail, in some tenths of a second
_NOTHING: Final = 1e-320
_BITS: Final = 160
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
            for most in (_ORDERS, _MOST_ORDERS):
                moments, last = _moments(noise_multiplier, steps, most), arb(1)
                for n in range(2, most + 1, most // _ORDERS):
                    share = arb(n - 1) ** (n - 1) / arb(n) ** n
                    value = (moments[n] ** epochs * share / growth ** (n - 1)).upper()
                    best, last = best.min(value), value
                if not last <= best or best < _NOTHING:  # of larger orders there is no less
                    break
            return best
        for b, moment in enumerate(_inverse_moments(noise_multiplier, steps), start=1):
            share = arb(b) ** b / arb(b + 1) ** (b + 1)
            best = best.min((moment**epochs * share / growth**b).upper())
        return best


@lru_cache(maxsize=32)
def _moments(noise_multiplier: Fraction, steps: int, orders: int = _ORDERS) -> tuple[arb, ...]:
    """E R^n for n = 0, 1, ..., orders."""
    with precision(_BITS):
        s = ball(noise_multiplier)
        factorials = [arb(math.factorial(n)) for n in range(orders + 1)]
        series = [(arb(n * (n - 1)) / (2 * s * s)).exp() / factorials[n] for n in range(orders + 1)]
        power, base, left = arb_poly([1]), arb_poly(series), steps
        while left:
            if left & 1:
                power = _shortened(power * base, orders)
            left >>= 1
            base = _shortened(base * base, orders)
        return tuple(power[n] * factorials[n] / arb(steps) ** n for n in range(orders + 1))


def _shortened(series: arb_poly, orders: int) -> arb_poly:
    return arb_poly(series.coeffs()[: orders + 1])


@lru_cache(maxsize=32)
def _inverse_moments(noise_multiplier: Fraction, steps: int) -> tuple[arb, ...]:
    """Upper bounds on E R^-b for b = 1, 2, ...; none where there is next to no noise."""
    if noise_multiplier < _LEAST_NOISE:
        return ()
    known = allocation_moments(noise_multiplier, steps)
    found: list[arb] = []
    for b in range(1, _ORDERS + 1):
        with suppress(PrecisionExhausted):
            moment = known.at(arb(b)).upper()
            found.append(moment if moment.is_finite() else arb("inf"))
    return tuple(found)


def integer_moment(noise_multiplier: Fraction, steps: int, order: int) -> arb | None:
    """E R^n of one epoch; None above the orders that are known."""
    return _moments(noise_multiplier, steps)[order] if 2 <= order <= _ORDERS else None
