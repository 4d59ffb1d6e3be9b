"""Moments of a mean of correlated lognormal variables, and bounds on E(R - a)_+ by polynomials in R.

    R = (X_1 + ... + X_b)/b,    X_i = exp(Z_i - K(0)/2),    Z normal with Cov(Z_i, Z_j) = tau + K(d),

d = min(|i - j|, b - |i - j|) the distance on a circle, tau >= 0, and K(d) = 0 from some distance w on. Then, over all
numbers l_1, ..., l_b of how often each bin is taken among n,

    E R^n = n!/b^n e^(tau n (n-1)/2) sum of the product of e^(K(0) l_i (l_i - 1)/2)/l_i! and e^(K(i - j) l_i l_j).

The sum is the coefficient of x^n of the partition function Z of a gas on a circle, in which particles less than w apart
interact. By the Mayer expansion log Z is a sum over connected clusters, and one of n particles spans at most
(n - 1)(w - 1) + 1 bins: if n (w - 1) < b, none goes around, and Z = exp(b F), with F = log Z_(L + 1) - log Z_L of
stretches of L >= (n - 1)(w - 1) bins, which a sum from bin to bin makes. The number of bins is only a factor. Of few
bins all choices are listed.

Let h be a polynomial with h(t) >= (t - 1)_+ for all t >= 0. Then E(R - a)_+ <= a E h(R/a), a sum of moments. With
h = (n-1)^(n-1)/n^n t^n that is what a Renyi divergence tells; better ones come from a linear program in float64, and
that they are no smaller is then shown exactly, by the real roots of h and of h - t + 1.

Reference: Schuchardt and Kalinin 2026 (arXiv:2601.21636), moments of balls in bins over bins that are near each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, final

import numpy as np
import scipy
from flint import arb, arb_series, ctx, fmpz_poly

from dpverdict.balls import ball, precision
from dpverdict.numerics.arrays import Array

_BITS: Final = 320
_MOST_ORDERS: Final = 16
_MOST_CHOICES: Final = 30_000
_MOST_STATES: Final = 6_000
_LARGEST: Final = 600.0
"""Of the exponent of a moment that is of use."""
_ROUNDS: Final = 8
_RANGE: Final = 50.0
"""Of the logarithms of costs, in one program."""
_LIFT: Final = 1e-5
"""More than the program errs by, of its unit."""
_DEGREES: Final = (3, 4, 6, 8, 12)


@final
@dataclass(frozen=True, kw_only=True)
class BinMoments:
    """E R^n of a circle of bins.

    Attributes:
        bins: b >= 2.
        kernel: K(0), ..., K(w - 1) in units of the variance of the noise, >= 0, exactly; with tau it is the covariance
            of some law, which is for the caller to show.
        common: tau.
    """

    bins: int
    kernel: tuple[Fraction, ...]
    common: Fraction = Fraction(0)

    @cached_property
    def orders(self) -> int:
        """The largest n of which there is a moment."""
        useful = 1
        while useful < _MOST_ORDERS and float(self.kernel[0] + self.common) * (useful + 1) * useful / 2 < _LARGEST:
            useful += 1
        width, listed = len(self.kernel), 1
        while listed < useful and math.comb(self.bins + listed, listed + 1) <= _MOST_CHOICES:
            listed += 1
        summed = 1
        while (
            summed < useful
            and (summed + 1) * (width - 1) < self.bins
            and math.comb(summed + 1 + width, width) <= _MOST_STATES
        ):
            summed += 1
        return max(listed, summed)

    @cached_property
    def _is_summed(self) -> bool:
        return self.orders * (len(self.kernel) - 1) < self.bins

    @cached_property
    def moments(self) -> tuple[arb, ...]:
        """E R^n for n = 0, ..., orders."""
        with precision(_BITS):
            coefficients = self._by_clusters() if self._is_summed else self._listed()
            tau = ball(self.common)
            return tuple(
                coefficients[n] * math.factorial(n) / arb(self.bins) ** n * (tau * (n * (n - 1)) / 2).exp()
                for n in range(self.orders + 1)
            )

    @cached_property
    def logarithms(self) -> Array:
        """log E R^n in float64, which steers."""
        return np.array([float(moment.log().mid()) for moment in self.moments])

    def _by_clusters(self) -> list[arb]:
        """The coefficients of exp(b F)."""
        short, longer = self._stretches((self.orders - 1) * (len(self.kernel) - 1))
        former, ctx.cap = ctx.cap, self.orders + 1
        try:
            whole = ((arb_series(longer).log() - arb_series(short).log()) * arb(self.bins)).exp()
            return [whole[n] for n in range(self.orders + 1)]
        finally:
            ctx.cap = former

    def _stretches(self, length: int) -> tuple[list[arb], list[arb]]:
        """Coefficients of Z_L and of Z_(L + 1): sums over the numbers in the last w - 1 bins, and all before."""
        most, width = self.orders, len(self.kernel)
        own, together = self._weights()
        sums = {(0,) * (width - 1): [arb(int(n == 0)) for n in range(most + 1)]}
        found = [[arb(int(n == 0)) for n in range(most + 1)]]
        for _ in range(length + 1):
            after: dict[tuple[int, ...], list[arb]] = {}
            for last, by_total in sums.items():
                for taken in range(most + 1 - sum(last)):
                    weight = own[taken]
                    if taken:
                        for gap, number in enumerate(last):
                            if number:
                                weight = weight * together[gap][taken * number]
                    place = (taken, *last)[: width - 1]
                    target = after.setdefault(place, [arb(0)] * (most + 1))
                    for total in range(sum(last), most + 1 - taken):
                        target[total + taken] = target[total + taken] + weight * by_total[total]
            sums = after
            found.append([sum((one[n] for one in sums.values()), arb(0)) for n in range(most + 1)])
        return found[length], found[length + 1]

    def _weights(self) -> tuple[list[arb], list[list[arb]]]:
        """e^(K(0) l (l - 1)/2)/l! by l, and e^(K(d) m) by d from 1 and m."""
        most = self.orders
        variance = ball(self.kernel[0])
        own = [(variance * (n * (n - 1)) / 2).exp() / math.factorial(n) for n in range(most + 1)]
        bases = [ball(value).exp() for value in self.kernel[1:]]
        return own, [[base**m for m in range(most**2 // 4 + 1)] for base in bases]

    def _listed(self) -> list[arb]:
        """The same coefficients for few bins: every choice of numbers, bin after bin."""
        most, bins, width = self.orders, self.bins, len(self.kernel)
        own, together = self._weights()
        found = [arb(0)] * (most + 1)
        one = arb(1)

        def choose(place: int, taken: list[tuple[int, int]], left: int, weight: arb) -> None:
            found[most - left] = found[most - left] + weight
            for bin_ in range(place, bins):
                for number in range(1, left + 1):
                    more = weight * own[number]
                    for other, earlier in taken:
                        gap = min(bin_ - other, bins - bin_ + other)
                        if gap < width:
                            more = more * together[gap - 1][number * earlier]
                    choose(bin_ + 1, [*taken, (bin_, number)], left - number, more)

        choose(0, [], most, one)
        return found

    def roughly(self, epsilon: float) -> float:
        """About the logarithm of the bound on E(R - exp(epsilon))_+ that single moments give, in float64."""
        n = np.arange(2, self.orders + 1)
        return float((self.logarithms[2:] + (n - 1) * np.log(n - 1) - n * np.log(n) - (n - 1) * epsilon).min())

    def above(self, epsilon: Fraction) -> arb:
        """An upper bound on E(R - exp(epsilon))_+, epsilon >= 0, the best of some polynomials."""
        level = float(epsilon)
        with precision(_BITS):
            best, growth = arb(1), ball(epsilon).exp()
            scaled = [moment / growth ** (n - 1) for n, moment in enumerate(self.moments)]
            for n in range(2, self.orders + 1):
                best = best.min((scaled[n] * ball(Fraction((n - 1) ** (n - 1), n**n))).upper())
            unit = float(best.mid())
            costs = np.exp(np.minimum(self.logarithms - (np.arange(self.orders + 1) - 1) * level, _LARGEST))
            for degree in (d for d in _DEGREES if d <= self.orders and np.ptp(np.log(costs[: d + 1])) < _RANGE):
                polynomial = _least_polynomial(costs[: degree + 1], unit)
                if polynomial is not None:
                    total = arb(0)
                    for coefficient, moment in zip(polynomial, scaled, strict=False):
                        total = total + ball(coefficient) * moment
                    best = best.min(total.upper())
            return best


_PLACES: Final = np.concatenate(
    [np.linspace(0, 1, 80, endpoint=False), np.geomspace(1, 20, 160), np.geomspace(20, 1e5, 60)]
)


def _least_polynomial(costs: Array, unit: float) -> tuple[Fraction, ...] | None:
    """Coefficients of a polynomial h with h(t) >= (t - 1)_+ for all t >= 0, exactly, and about the least sum of costs.

    Where h is too small between the places of the program there are two roots: their middle becomes a place.

    Args:
        costs: of one of each coefficient.
        unit: about the sum, so that what is solved for is near 1.
    """
    places = _PLACES
    for _ in range(_ROUNDS):
        powers = places[:, None] ** np.arange(len(costs)) / costs
        sizes = powers.max(axis=1)
        found = scipy.optimize.linprog(
            np.ones(len(costs)),
            A_ub=-powers / sizes[:, None],
            b_ub=-np.maximum(places - 1, 0) / unit / sizes,
            bounds=[*[(None, None)] * (len(costs) - 1), (0, None)],
            method="highs",
        )
        if found.x is None:
            return None
        polynomial = tuple(Fraction(float(unit * (x + _LIFT) / c)) for x, c in zip(found.x, costs, strict=True))
        low, high = _roots_too_many(polynomial)
        if not low and not high:
            return polynomial
        more = [(first + second) / 2 for roots in (low, high) for first, second in pairwise(sorted(roots))]
        places = np.concatenate([places, np.array(more)])
    return None


def _roots_too_many(coefficients: Sequence[Fraction]) -> tuple[list[float], list[float]]:
    """About the real roots of h in [0, 1], and of h - t + 1 from 1 on; none of either if h(t) >= (t - 1)_+ is proved.

    Args:
        coefficients: of h, the constant first.
    """
    less = [coefficients[0] + 1, coefficients[1] - 1, *coefficients[2:]]
    if not (coefficients[0] > 0 and sum(coefficients) > 0 and coefficients[-1] > 0):
        return [0.0, 1.0], [1.0]
    low = [float(root.mid()) for root in _real_roots(coefficients) if not (root < 0 or root > 1)]
    high = [float(root.mid()) for root in _real_roots(less) if not root < 1]
    return low, high


def _real_roots(coefficients: Sequence[Fraction]) -> list[arb]:
    """Balls that hold the real roots, and perhaps real parts of others."""
    common = math.lcm(*(c.denominator for c in coefficients))
    roots: Any = fmpz_poly([int(c * common) for c in coefficients]).complex_roots()  # stubs have no pairs
    return [root.real for root, _ in roots if root.imag.contains(0)]
