"""The leading constants of the error of tree counters, as numbers that balls enclose to any precision.

With Laplace noise the mean squared error is constant * log2(T)^3/epsilon^2 + O(log(T)^2), with Gaussian noise it is
constant * sigma^2 log2(T)^2 + O(log T), where sigma is the standard deviation for an l2 sensitivity of 1.

Reference: Andersson, Pagh and Torkamani 2024, Theorem 3.7, Corollaries 4.9 and C.3 (arXiv:2408.07021v2).
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from dpverdict.balls import Real, ball
from dpverdict.mechanisms.tree_digits import Digits


def laplace_constant(digits: Digits) -> Real:
    """2 m/log2(k)^3, where m is the mean of |digit|, under Laplace noise.

    It is (k - 1)/log2(k)^3 for ordinary digits, k (1 - k^-2)/(2 log2(k)^3) for symmetric ones and k/(2 log2(k)^3) for
    offset digits of even k.

    >>> [round(laplace_constant(Digits.offset(k)).nearest(), 9) for k in (17, 19, 20)]
    [0.124037247, 0.123591218, 0.123870357]
    """
    return Real(lambda: 2 * ball(mean_digit(digits)) / _log2(digits.arity) ** 3)


def gaussian_constant(digits: Digits) -> Real:
    """m/log2(k)^2, where m is the mean of |digit|, under Gaussian noise."""
    return Real(lambda: ball(mean_digit(digits)) / _log2(digits.arity) ** 2)


def mean_digit(digits: Digits) -> Fraction:
    """The mean of |digit| over all k digits: (k - 1)/2, (k - 1/k)/4 or k/4."""
    a, high = digits.subtracted, digits.largest
    return Fraction(a * (a + 1) + high * (high + 1), 2 * digits.arity)


def square_root_constant() -> Real:
    """(ln 2/pi)^2: the constant of the square-root factorisation, and of the lower bound, under Gaussian noise."""
    return Real(lambda: (arb(2).log() / arb.pi()) ** 2)


def published_gaussian_constant() -> Real:
    """4 ln(2)^3/pi^2, with log(1/delta)/epsilon^2 in front: the published bound of the square-root factorisation.

    Divided by it, `laplace_constant` is the exponent c of Theorem 1.2: Laplace noise has the smaller error for
    delta = O(T^-c).

    Reference: Henzinger, Upadhyay and Upadhyay 2023 (arXiv:2211.05006).
    """
    return Real(lambda: 4 * arb(2).log() ** 3 / arb.pi() ** 2)


def _log2(arity: int) -> arb:
    return arb(arity).log() / arb(2).log()
