"""The square-root factorisation, prefix sums as the square of one Toeplitz matrix; and two long sums of its errors.

L = R has the entries f_(i - j), i >= j, with f_j = binom(2j, j)/4^j, the coefficients of (1 - x)^(-1/2); its square has
those of 1/(1 - x). With G_n = sum over j <= n of f_j^2, the column norm is G_(T-1) and row t has G_(t-1).

Two sums are enclosed in a time that does not grow with their length:

    G_n = sum over j = 0..n of f_j^2,  f_j = binom(2j, j)/4^j        (the Landau constants)
    N_T = sum over i = 1..T of 1/(2 sin((2i - 1) pi/(4T + 2)))       (the nuclear norm of the prefix-sum matrix)

The first terms are added up; the rest is the Euler-Maclaurin formula. Its remainder after p terms is at most the p-th
term in absolute value wherever the 2p-th derivative of the summand has one sign: f_x^2 is completely monotone in x > 0,
and all even derivatives of the cosecant are positive on (0, pi).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np
import scipy
from flint import acb, arb, arb_series, ctx, fmpq

from dpverdict.balls import Real, ball
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.streams.sensitivity import Column
from dpverdict.numerics.arrays import Array

SHORT = 16384
"""A sum of so many terms is quicker to add up."""

Jet = Callable[[int, int], arb_series]
"""(x, length) -> the Taylor polynomial of the summand at x."""


def landau_sum(n: int) -> arb:
    """G_n for n >= 0 as a ball at the current precision, in O(precision^2) operations for every n.

    Reference: Watson 1930, "The constants of Landau and Lebesgue"; the sum is of Henzinger, Upadhyay and Upadhyay 2023.

    >>> from dpverdict.balls import precision
    >>> with precision(100):
    ...     float(landau_sum(2)), round(float(landau_sum(10**18)), 12)
    (1.390625, 14.259116633039)
    """
    head = _head_length()
    if n <= max(SHORT, 2 * head):
        return _landau_terms(n)
    return _landau_terms(head - 1) + _tail(_squared_coefficient, _squared_integral(head, n), head, n)


def nuclear_sum(horizon: int) -> arb:
    """N_T for T >= 1, the sum of the singular values of the T x T matrix of prefix sums.

    The mean squared error of a factorisation under Gaussian noise is at least sigma^2 (N_T/T)^2, where sigma is the
    standard deviation for an l2 sensitivity of 1.

    Reference: Henzinger, Upadhyay and Upadhyay 2023 (arXiv:2211.05006); Edmonds, Nikolov and Ullman 2020.

    >>> round(float(nuclear_sum(1)), 9), round(float(nuclear_sum(2)) ** 2, 9)  # singular values: (sqrt 5 +- 1)/2
    (1.0, 5.0)
    """
    step = arb.pi() / (4 * horizon + 2)

    def jet(i: int, length: int) -> arb_series:
        angle = arb_series([(2 * i - 1) * step, 2 * step], prec=length)
        return 1 / (2 * angle.sin())

    def primitive(i: int) -> arb:
        return ((2 * i - 1) * step / 2).tan().log() / (4 * step)

    head = _head_length()
    if horizon <= 2 * head:
        return sum((jet(i, 1)[0] for i in range(1, horizon + 1)), arb(0))
    first = sum((jet(i, 1)[0] for i in range(1, head)), arb(0))
    return first + _tail(jet, primitive(horizon) - primitive(head), head, horizon)


def _tail(jet: Jet, integral: arb, first: int, last: int) -> arb:
    """The sum of the summand over first..last, from its integral and its derivatives at the ends."""
    terms = _term_count()
    length = 2 * terms
    former = ctx.cap
    ctx.cap = length
    try:
        low, high = jet(first, length), jet(last, length)
    finally:
        ctx.cap = former
    total = integral + (low[0] + high[0]) / 2
    term = arb(0)
    for k in range(1, terms + 1):
        term = _bernoulli_number(2 * k) / (2 * k) * (high[2 * k - 1] - low[2 * k - 1])
        total += term
    return total + arb(0, 1) * abs(term).upper()


def _squared_coefficient(x: int, length: int) -> arb_series:
    """(Gamma(x + 1/2)/Gamma(x + 1))^2/pi, which is f_x^2."""
    half = arb_series([x + ball("1/2"), 1], prec=length)
    whole = arb_series([arb(x + 1), 1], prec=length)
    return (2 * (half.lgamma() - whole.lgamma())).exp() / arb.pi()


def _squared_integral(first: int, last: int) -> arb:
    """The integral of f_x^2 over [first, last], where ``first`` is a power of two: by octaves, which are kept."""
    total, low = arb(0), first
    while 2 * low <= last:
        total += _integral_of_octave(low, ctx.prec)
        low *= 2
    return total + _integral_of_piece(low, last) if low < last else total


@lru_cache(maxsize=1024)
def _integral_of_octave(low: int, bits: int) -> arb:
    return _integral_of_piece(low, 2 * low)  # at the current precision, which is ``bits``


def _integral_of_piece(first: int, last: int) -> arb:
    """The integral of f_x^2 over [first, last], in the variable ln x; the integrand is analytic where Re x > 0."""
    terms = _term_count()
    factors = [_bernoulli_number(2 * k) / (2 * k * (2 * k - 1)) for k in range(1, terms + 1)]

    def integrand(u: acb, _: bool) -> acb:
        x = u.exp()
        if not x.real > 0:
            return acb("nan")
        return (2 * _log_ratio(x, factors) + u).exp() / acb.pi()

    return acb.integral(integrand, acb(arb(first).log()), acb(arb(last).log())).real


def _log_ratio(x: acb, factors: Sequence[arb]) -> acb:
    """ln Gamma(x + 1/2) - ln Gamma(x + 1) for Re x > 0, without the cancellation of the two.

    Stirling's series, with ``factors`` B_2k/(2k (2k - 1)) for k = 1..K. Its remainder for Re z > 0 is at most 2^K times
    the K-th term, which is left out: that power is sec(arg(z)/2)^(2K) at its largest.

    Reference: NIST DLMF, section 5.11(ii).
    """
    half, whole = x + acb("0.5"), x + 1
    value = acb("0.5") - x * (1 / (2 * x + 1)).log1p() - whole.log() / 2
    half_power, whole_power = 1 / half, 1 / whole
    half_step, whole_step = half_power * half_power, whole_power * whole_power
    for factor in factors[:-1]:
        value += factor * (half_power - whole_power)
        half_power, whole_power = half_power * half_step, whole_power * whole_step
    power = 2 * len(factors) - 1
    size = abs(factors[-1]) * 2 ** len(factors) * (half.abs_lower() ** -power + whole.abs_lower() ** -power)
    error = arb(0, 1) * size.upper()
    return value + acb(error, error)


def _landau_terms(n: int) -> arb:
    total, term = arb(1), arb(1)
    for j in range(1, n + 1):
        term = term * (2 * j - 1) / (2 * j)
        total += term * term
    return total


def _head_length() -> int:
    """How many terms are added up: the least power of two that is at least 64 and the precision."""
    return max(64, 1 << (ctx.prec - 1).bit_length())


def _term_count() -> int:
    return ctx.prec // 8 + 4


def _bernoulli_number(index: int) -> arb:
    return arb(fmpq.bernoulli(index))


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
        counts: Array = scipy.signal.fftconvolve(noisy, self.coefficients()[None], axes=1)[:, : self.horizon]
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
