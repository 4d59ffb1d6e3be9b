"""The square-root factorisation: prefix sums as the square of one Toeplitz matrix.

L = R has the entries f_(i - j), i >= j, with f_j = binom(2j, j)/4^j, the coefficients of (1 - x)^(-1/2); its square has
those of 1/(1 - x). With G_n = sum over j <= n of f_j^2, the column norm is G_(T-1) and row t has G_(t-1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np
from flint import arb, ctx
from scipy.signal import fftconvolve

from dpverdict.balls import Real, ball
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.counter_sums import landau_sum
from dpverdict.mechanisms.mechanism import Array
from dpverdict.mechanisms.stream_sensitivity import Column

LONGEST = 1 << 22
LONGEST_EXACT = 1 << 10
"""Entries of a column that are written out as rationals."""


@final
class SquareRootToeplitz:
    """The factorisation of Henzinger, Upadhyay and Upadhyay, for horizons up to 2^22.

    It has no short state: the stream keeps all its noise, and step t costs O(t). Under Laplace noise it is of no use,
    since the l1 sensitivity grows like 2 sqrt(T/pi).

    Reference: Fichtenberger, Henzinger and Upadhyay 2023; Henzinger, Upadhyay and Upadhyay 2023 (arXiv:2211.05006).

    >>> round(SquareRootToeplitz(1024).l2_sensitivity_squared().nearest(), 6)
    3.272554
    """

    source = "Henzinger, Upadhyay and Upadhyay 2023, square-root factorisation"
    size: int

    def __init__(self, horizon: int) -> None:
        if horizon > LONGEST:
            raise InvalidValue("horizon", horizon, f"<= {LONGEST}", "use a tree for streams this long")
        self.horizon = self.size = horizon

    def coefficients(self) -> Array:
        """f_0, ..., f_(T-1) in float64."""
        j = np.arange(1, self.horizon)
        values: Array = np.concatenate([[1.0], np.cumprod((2 * j - 1) / (2 * j))])
        return values

    def l1_sensitivity(self) -> Real:
        """The sum of f_j over j < T, which is 2 T f_T."""
        n = self.horizon
        if n <= LONGEST_EXACT:  # a dyadic number, which balls would compare with a float64 without end
            return Real.of(Fraction(2 * n * math.comb(2 * n, n), 4**n))
        return Real(lambda: 2 * n * coefficient(n))

    def l2_sensitivity_squared(self) -> Real:
        """G_(T-1)."""
        if self.horizon <= LONGEST_EXACT:
            return Real.of(sum((entry**2 for entry, _ in self.column(1)), Fraction(0)))
        return Real(lambda: squared_sum(self.horizon - 1))

    def column(self, item: int) -> Column:
        """f_0, ..., f_(T-i), exactly.

        Raises:
            InvalidValue: more of them than `LONGEST_EXACT`, which no curve of Laplace noise could be made of.
        """
        length = self.horizon - item + 1
        if length > LONGEST_EXACT:
            remedy = "use a tree: under Laplace noise this factorisation is of no use at any horizon"
            raise InvalidValue("horizon", self.horizon, f"<= {LONGEST_EXACT} for an exact column", remedy)
        entries, entry = [], Fraction(1)
        for j in range(length):
            entries.append((entry, 1))
            entry *= Fraction(2 * j + 1, 2 * j + 2)
        return tuple(entries)

    def row_squared(self, time: int) -> Real:
        """G_(t-1)."""
        return Real(lambda: squared_sum(time - 1))

    def mean_row_squared(self) -> Real:
        """The mean of G_(t-1) over t = 1..T, which is G_(T-1) (1 + 1/(4T)) - T f_T^2."""
        return Real(lambda: mean_squared_sum(self.horizon))

    def embed(self, streams: Array) -> Array:
        """R x: shape (n, T) -> (n, T)."""
        return self.decode(streams)

    def decode(self, noisy: Array) -> Array:
        """L y: shape (n, T) -> (n, T), by the fast Fourier transform."""
        counts: Array = fftconvolve(noisy, self.coefficients()[None], axes=1)[:, : self.horizon]
        return counts

    def stream(self, draw: Callable[[], float]) -> ToeplitzStream:
        """The noise of L z, step by step."""
        return ToeplitzStream(self.coefficients(), draw)


@final
class ToeplitzStream:
    """The noise L z with all of z kept."""

    __slots__ = ("_coefficients", "_draw", "_noise", "_time")

    def __init__(self, coefficients: Array, draw: Callable[[], float]) -> None:
        self._coefficients, self._draw = coefficients, draw
        self._noise = np.zeros(len(coefficients))
        self._time = 0

    @property
    def live(self) -> int:
        """The number of noise values in use: all of them."""
        return self._time

    def advance(self) -> float:
        """The noise of the next time step."""
        last = len(self._noise) - 1 - self._time  # kept backwards, so that both factors run forwards
        self._noise[last] = self._draw()
        self._time += 1
        return float(self._noise[last:] @ self._coefficients[: self._time])


def coefficient(j: int) -> arb:
    """f_j = Gamma(j + 1/2)/(sqrt(pi) Gamma(j + 1)) as a ball."""
    return ((arb(j) + ball("1/2")).lgamma() - arb(j + 1).lgamma()).exp() / arb.pi().sqrt()


def squared_sum(n: int) -> arb:
    """G_n, the sum of f_j^2 over j <= n, as a ball; the time does not grow with n."""
    return _squared_sum(n, ctx.prec)


def mean_squared_sum(n: int) -> arb:
    """The mean of G_(t-1) over t = 1..n, which is G_(n-1) (1 + 1/(4n)) - n f_n^2, as a ball."""
    return squared_sum(n - 1) * (1 + arb(1) / (4 * n)) - n * coefficient(n) ** 2


@lru_cache(maxsize=256)
def _squared_sum(n: int, bits: int) -> arb:
    return landau_sum(n)  # at the current precision, which is ``bits``
