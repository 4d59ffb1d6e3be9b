"""The errors of counters for one horizon, exactly or in balls, in a time that does not grow with the horizon.

A `CounterError` is an error in units of the noise. With Laplace noise the unit is 1/epsilon^2: the scale is the l1
sensitivity over epsilon. With Gaussian noise it is sigma^2, sigma the standard deviation that an l2 sensitivity of 1
needs: 1/mu for mu-GDP, and what `analytic_scale` finds for (epsilon, delta)-DP.

Pure DP costs the tree the same at every delta, and Gaussian noise grows without bound as delta falls; so there is one
delta at which the two errors are equal, the crossover: the tree has the smaller error below it, the factorisation
above.

The leading constants of tree counters: with Laplace noise the mean squared error is constant * log2(T)^3/epsilon^2 +
O(log(T)^2), with Gaussian noise it is constant * sigma^2 log2(T)^2 + O(log T). Crossovers and constants are enclosed by
balls to any precision.

Notation: T = horizon, h = height of the tree, L = error of the Laplace tree in units of 1/epsilon^2, G = error of the
factorisation in units of sigma^2.

Reference: Andersson, Pagh and Torkamani 2024, Theorem 3.7, Corollaries 4.9 and C.3 (arXiv:2408.07021v2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, final

from flint import arb

from dpverdict.balls import Exact, Real, ball
from dpverdict.checks import check_dim, check_positive
from dpverdict.mechanisms.streams.factorizations import SmoothBinary, own_weight
from dpverdict.mechanisms.streams.toeplitz import mean_squared_sum, nuclear_sum, squared_sum
from dpverdict.mechanisms.streams.tree import TreeDigits, best_arity, unit_mean_squared_error
from dpverdict.numerics import gaussian_formulas
from dpverdict.numerics.gaussian import BallNormal

_BITS = TreeDigits.ordinary(2)
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
    system = TreeDigits.ordinary(k) if digits == "ordinary" else TreeDigits.offset(k)
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
        k = min(arities, key=lambda k: _gaussian_tree_mean(TreeDigits.offset(k), checked))
    else:
        k = arity
    system = TreeDigits.offset(k)
    height = system.height(checked)
    return CounterError(
        name=f"tree k={k}",
        noise="gaussian",
        mean=Real.of(_gaussian_tree_mean(system, checked)),
        largest=Real.of(height * largest_size(system, checked)),
        variance=lambda t: Real.of(height * system.size(t)),
    )


def _gaussian_tree_mean(system: TreeDigits, horizon: int) -> Fraction:
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
    variance = Real.of(_scaled_variance(noise, smooth.l1_sensitivity()) * smooth.height // 2)
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
    factor = _scaled_variance(noise, Real.of(n.bit_length()))
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


def _scaled_variance(noise: Literal["laplace", "gaussian"], sensitivity: Real) -> Fraction:
    """2 D1^2 under Laplace noise; D2^2 = D1 under Gaussian noise, since an item moves every node it is in by 1."""
    size = sensitivity.rational
    assert size is not None
    return 2 * size**2 if noise == "laplace" else size


def largest_size(digits: TreeDigits, horizon: int, weight: Callable[[int], Fraction] | None = None) -> Fraction:
    """The largest value over t = 1..T of sum over levels of |digit of t| times the weight of the level (1 if None).

    The times up to T are T itself and those that first fall below T's digits at some level, where the digits below are
    free; each of these sets has its largest value at once. O(log T) operations.

    >>> largest_size(TreeDigits.ordinary(2), 1000), largest_size(TreeDigits.offset(19), 65160)
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


_KIND = BallNormal()


def crossover_delta(laplace: Real, gaussian: Real, epsilon: Exact) -> Real:
    """The delta at which exactly calibrated Gaussian noise has the error of pure epsilon-DP Laplace noise.

    The Gaussian error G sigma^2 is L/epsilon^2 at sigma = sqrt(L/G)/epsilon, which is (epsilon, delta)-DP for an l2
    sensitivity of 1 exactly if delta >= delta_G(epsilon) at mu = 1/sigma. Laplace noise has the smaller error for every
    delta below.

    Args:
        laplace: L > 0, in units of 1/epsilon^2.
        gaussian: G > 0, in units of sigma^2.
        epsilon: > 0.

    Reference: Balle and Wang 2018, Theorem 8 (arXiv:1805.06530); Andersson, Pagh and Torkamani 2024, section 5.1.

    >>> from dpverdict.mechanisms.streams.errors import square_root_error, tree_error
    >>> delta = crossover_delta(tree_error(2**20, 19).mean, square_root_error(2**20).mean, 1)
    >>> round(log10(delta).nearest(), 2)
    -11.44
    """
    e = check_positive(epsilon, "epsilon")

    def profile() -> arb:
        mu = ball(e) * (gaussian.ball() / laplace.ball()).sqrt()
        value: arb = gaussian_formulas.delta(_KIND, ball(e), mu)
        return value

    return Real(profile)


def classic_crossover_delta(laplace: Real, gaussian: Real) -> Real:
    """The crossover against the classic sigma = sqrt(2 ln(1.25/delta))/epsilon: 1.25 exp(-L/(2G)), for every epsilon.

    Reference: Dwork and Roth 2014, Theorem A.1 (epsilon < 1).
    """
    return Real(lambda: ball("5/4") * (-laplace.ball() / (2 * gaussian.ball())).exp())


def published_crossover_delta(laplace: Real, horizon: int) -> Real:
    """The crossover against the published bound of the square-root factorisation, for every epsilon.

    The bound is C^2 (1 + ln(4T/5)/pi)^2 with C^2 = (4/epsilon^2)(4/9 + ln(sqrt(2/pi)/delta)). It leads to delta =
    O(T^-0.92) (Theorem 1.2), but its C is 1.4 times the classic sigma: the exact crossover is far smaller.

    Reference: Henzinger, Upadhyay and Upadhyay 2023 (arXiv:2211.05006); Andersson, Pagh and Torkamani 2024, Theorem 1.2
    (arXiv:2408.07021v2).
    """
    n = check_dim(horizon, "horizon")
    return Real(lambda: (2 / arb.pi()).sqrt() * (ball("4/9") - laplace.ball() / (4 * published_error(n).ball())).exp())


def published_error(horizon: int) -> Real:
    """(1 + ln(4T/5)/pi)^2: the published bound of the square-root factorisation, in units of C^2; valid for T >= 7."""
    n = check_dim(horizon, "horizon")
    return Real(lambda: (1 + ball(Fraction(4 * n, 5)).log() / arb.pi()) ** 2)


def log10(number: Real) -> Real:
    """The decimal logarithm of a positive number, also where the number is below the range of float64."""
    return Real(lambda: number.ball().log() / arb(10).log())


def laplace_constant(digits: TreeDigits) -> Real:
    """2 m/log2(k)^3, where m is the mean of |digit|, under Laplace noise.

    It is (k - 1)/log2(k)^3 for ordinary digits, k (1 - k^-2)/(2 log2(k)^3) for symmetric ones and k/(2 log2(k)^3) for
    offset digits of even k.

    >>> [round(laplace_constant(TreeDigits.offset(k)).nearest(), 9) for k in (17, 19, 20)]
    [0.124037247, 0.123591218, 0.123870357]
    """
    return Real(lambda: 2 * ball(mean_digit(digits)) / _log2(digits.arity) ** 3)


def gaussian_constant(digits: TreeDigits) -> Real:
    """m/log2(k)^2, where m is the mean of |digit|, under Gaussian noise."""
    return Real(lambda: ball(mean_digit(digits)) / _log2(digits.arity) ** 2)


def mean_digit(digits: TreeDigits) -> Fraction:
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
