"""The errors of counters for one horizon, exactly or in balls, in a time that does not grow with the horizon.

A `CounterError` is an error in units of the noise. With Laplace noise the unit is 1/epsilon^2: the scale is the l1
sensitivity over epsilon. With Gaussian noise it is sigma^2, sigma the standard deviation that an l2 sensitivity of 1
needs: 1/mu for mu-GDP, and what `analytic_scale` finds for (epsilon, delta)-DP.

Notation: T = horizon, h = height of the tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, final

from dpverdict.balls import Real
from dpverdict.mechanisms.counter_sums import nuclear_sum
from dpverdict.mechanisms.factorization_levels import own_weight
from dpverdict.mechanisms.factorization_smooth import SmoothBinary
from dpverdict.mechanisms.factorization_toeplitz import mean_squared_sum, squared_sum
from dpverdict.mechanisms.mechanism import check_dim
from dpverdict.mechanisms.tree_digits import Digits
from dpverdict.mechanisms.tree_errors import best_arity, unit_mean_squared_error

_BITS = Digits.ordinary(2)
_LARGEST_GAUSSIAN_ARITY = 64


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CounterError:
    """The error of a counter for one horizon, in units of its noise.

    Attributes:
        name: the mechanism, in words.
        noise: "laplace" (unit 1/epsilon^2) or "gaussian" (unit sigma^2).
        mean: the mean over t = 1..T of the variance of the count: the mean squared error.
        largest: the largest variance over t = 1..T.
        variance: the variance at a time t.
    """

    name: str
    noise: Literal["laplace", "gaussian"]
    mean: Real
    largest: Real
    variance: Callable[[int], Real]


def tree_error(horizon: int, arity: int | Literal["best"], *, digits: str = "offset") -> CounterError:
    """A k-ary tree under Laplace noise, as `TreeCounter` releases it.

    Args:
        horizon: T >= 1.
        arity: k, or "best" for the least mean squared error at this horizon.
        digits: "offset" subtracts; "ordinary" does not.

    Raises:
        InvalidValue: an argument is out of range.

    Reference: Andersson, Pagh and Torkamani 2024, Lemmas 3.5 and 4.7, Claim 1 (arXiv:2408.07021v2).

    >>> error = tree_error(65160, 19)
    >>> error.mean, error.largest
    (Real(109744/181), Real(1152))
    """
    checked = check_dim(horizon, "horizon")
    k = best_arity(checked, digits) if arity == "best" else arity
    system = Digits.ordinary(k) if digits == "ordinary" else Digits.offset(k)
    unit = 2 * system.height(checked) ** 2
    return CounterError(
        name=f"tree k={k}{'' if digits == 'offset' else ', no subtraction'}",
        noise="laplace",
        mean=Real.of(unit_mean_squared_error(system, checked)),
        largest=Real.of(unit * largest_size(system, checked)),
        variance=lambda t: Real.of(unit * system.size(t)),
    )


def gaussian_tree_error(horizon: int, arity: int | Literal["best"]) -> CounterError:
    """The same tree under Gaussian noise: the l2 sensitivity is sqrt h. "best" is the best arity up to 64.

    >>> gaussian_tree_error(2**20, "best").name
    'tree k=8'
    """
    checked = check_dim(horizon, "horizon")
    if arity == "best":
        arities = range(2, _LARGEST_GAUSSIAN_ARITY + 1)
        k = min(arities, key=lambda k: _gaussian_tree_mean(Digits.offset(k), checked))
    else:
        k = arity
    system = Digits.offset(k)
    height = system.height(checked)
    return CounterError(
        name=f"tree k={k}",
        noise="gaussian",
        mean=Real.of(_gaussian_tree_mean(system, checked)),
        largest=Real.of(height * largest_size(system, checked)),
        variance=lambda t: Real.of(height * system.size(t)),
    )


def _gaussian_tree_mean(system: Digits, horizon: int) -> Fraction:
    return unit_mean_squared_error(system, horizon) / (2 * system.height(horizon))


def binary_error(horizon: int, noise: Literal["laplace", "gaussian"]) -> CounterError:
    """The binary tree with left nodes only: h = ceil(log2(T + 1)) levels, one node for every one in the bits of t."""
    return _level_error("binary tree", horizon, noise, lambda level: Fraction(1))


def honaker_error(horizon: int, noise: Literal["laplace", "gaussian"]) -> CounterError:
    """Honaker's estimate from below: a used node of level l counts 2^l/(2^(l+1) - 1).

    >>> round(honaker_error(1023, "laplace").mean.nearest(), 4)
    580.8532
    """
    return _level_error("Honaker", horizon, noise, own_weight)


def smooth_error(horizon: int, noise: Literal["laplace", "gaussian"]) -> CounterError:
    """The smooth binary mechanism: every output uses h/2 nodes; with its exact sensitivity (see `SmoothBinary`)."""
    smooth = SmoothBinary(check_dim(horizon, "horizon"))
    variance = Real.of(_scaled(noise, smooth.l1_sensitivity()) * smooth.height // 2)
    return CounterError(name="smooth binary", noise=noise, mean=variance, largest=variance, variance=lambda t: variance)


def square_root_error(horizon: int) -> CounterError:
    """The square-root factorisation under Gaussian noise: G_(T-1) G_(t-1) at time t, by sums of `counter_sums`.

    >>> round(square_root_error(2**30).mean.nearest(), 4), round(square_root_error(2**30).largest.nearest(), 4)
    (56.6182, 59.0645)
    """
    n = check_dim(horizon, "horizon")
    return CounterError(
        name="square root",
        noise="gaussian",
        mean=Real(lambda: squared_sum(n - 1) * mean_squared_sum(n)),
        largest=Real(lambda: squared_sum(n - 1) ** 2),
        variance=lambda t: Real(lambda: squared_sum(n - 1) * squared_sum(t - 1)),
    )


def gaussian_lower_bound(horizon: int) -> Real:
    """(N_T/T)^2: no factorisation has a smaller mean squared error for sigma = 1.

    Reference: Henzinger, Upadhyay and Upadhyay 2023 (arXiv:2211.05006).

    >>> round(gaussian_lower_bound(2**20).nearest(), 3)
    26.159
    """
    n = check_dim(horizon, "horizon")
    return Real(lambda: (nuclear_sum(n) / n) ** 2)


GAUSSIAN: dict[str, Callable[[int], CounterError]] = {
    "binary": lambda horizon: binary_error(horizon, "gaussian"),
    "honaker": lambda horizon: honaker_error(horizon, "gaussian"),
    "smooth-binary": lambda horizon: smooth_error(horizon, "gaussian"),
    "sqrt-toeplitz": square_root_error,
}
"""The factorisations by the names of `FactorizationCounter`."""


def _level_error(
    name: str, horizon: int, noise: Literal["laplace", "gaussian"], weight: Callable[[int], Fraction]
) -> CounterError:
    n = check_dim(horizon, "horizon")
    levels = range(n.bit_length())
    factor = _scaled(noise, Real.of(n.bit_length()))
    total = sum((weight(level) * _BITS.level_size(n, level) for level in levels), Fraction(0))

    def variance(t: int) -> Real:
        return Real.of(factor * sum((weight(level) for level in levels if t >> level & 1), Fraction(0)))

    return CounterError(
        name=name,
        noise=noise,
        mean=Real.of(factor * total / n),
        largest=Real.of(factor * largest_size(_BITS, n, weight)),
        variance=variance,
    )


def _scaled(noise: Literal["laplace", "gaussian"], sensitivity: Real) -> Fraction:
    """2 D1^2 under Laplace noise; D2^2 = D1 under Gaussian noise, since an item moves every node it is in by 1."""
    size = sensitivity.rational
    assert size is not None
    return 2 * size**2 if noise == "laplace" else size


def largest_size(digits: Digits, horizon: int, weight: Callable[[int], Fraction] | None = None) -> Fraction:
    """The largest value over t = 1..T of sum over levels of |digit of t| times the weight of the level (1 if None).

    The times up to T are T itself and those that first fall below T's digits at some level, where the digits below are
    free; each of these sets has its largest value at once. O(log T) operations.

    >>> largest_size(Digits.ordinary(2), 1000), largest_size(Digits.offset(19), 65160)
    (Fraction(9, 1), Fraction(36, 1))
    """
    weigh = (lambda level: Fraction(1)) if weight is None else weight
    height = digits.height(horizon)
    written = digits.encode(horizon, height)
    free = Fraction(0)  # the largest value of the digits below the level, whatever they are
    best = Fraction(0)
    above = sum((abs(digit) * weigh(level) for level, digit in enumerate(written)), Fraction(0))
    total = above
    for level, digit in enumerate(written):
        above -= abs(digit) * weigh(level)
        lowest = 0 if level == height - 1 else -digits.subtracted  # the leading digit of a time is not negative
        if digit > lowest:
            best = max(best, above + max(abs(lowest), abs(digit - 1)) * weigh(level) + free)
        free += max(digits.largest, digits.subtracted) * weigh(level)
    return max(best, total)
