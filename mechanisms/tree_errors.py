"""The exact error of a tree counter, and the arity that makes it smallest.

With independent Laplace noise of scale h/epsilon on every vertex, h = the height, the count at time t has the variance
2 h^2 size(t)/epsilon^2, where size(t) is the number of vertices used. Values here are for epsilon = 1.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.tree_digits import Digits

SYSTEMS: dict[str, Callable[[int], Digits]] = {
    "offset": Digits.offset,
    "symmetric": Digits.symmetric,
    "ordinary": Digits.ordinary,
}
"""The digit systems by name: subtraction for any arity, subtraction for odd arities, no subtraction."""


def digit_system(name: object) -> Callable[[int], Digits]:
    """The digit system of a name.

    Raises:
        InvalidValue: there is none of that name.
    """
    if not isinstance(name, str) or name not in SYSTEMS:
        raise InvalidValue("digits", name, f"one of {', '.join(SYSTEMS)}", "offset digits have the smallest error")
    return SYSTEMS[name]


def unit_variance(digits: Digits, horizon: int, time: int) -> Fraction:
    """The variance at a time, for epsilon = 1."""
    return Fraction(2 * digits.height(horizon) ** 2 * digits.size(time))


def unit_mean_squared_error(digits: Digits, horizon: int) -> Fraction:
    """The mean of the variances over t = 1..T, for epsilon = 1; exact for every horizon, full or not.

    At the full horizon it is (k - 1) h^3/(1 - k^-h) for ordinary digits (Lemma 3.5), (k - 1/k) h^3/(2 (1 - k^-h)) for
    offset digits of odd k (Lemma 4.7), and k h^3/(2 (1 - k^-h)) + (k - 2) h^2/(2 (k - 1)) of even k (Claim 1).

    Reference: Andersson, Pagh and Torkamani 2024 (arXiv:2408.07021v2).

    >>> unit_mean_squared_error(Digits.offset(19), 3429)
    Fraction(32490, 127)
    """
    return Fraction(2 * digits.height(horizon) ** 2 * digits.total_size(horizon), horizon)


def best_arity(horizon: int, system: str) -> int:
    """The arity of least mean squared error for a horizon, the smallest one if several attain it; an exact search.

    The arities are searched by height. Whatever the digits, at most 2x + 1 of the residues mod k lie within x of 0, and
    each is met at most T/k + 1 times; so the lowest digits alone sum to at least X T - X^2 (T/k + 1) for every X, and
    so they do for every larger k. Where that bound exceeds the best error found, the rest of a height is skipped.

    >>> best_arity(2**10, "offset"), best_arity(2**16, "offset"), best_arity(2**20, "offset")
    (13, 20, 19)
    """
    make = digit_system(system)
    step = 2 if system == "symmetric" else 1
    smallest = 3 if system == "symmetric" else 2
    best: tuple[Fraction, int] | None = None
    for height in range(make(smallest).height(horizon), 0, -1):
        arity = _least_arity(make, smallest, step, horizon, height)
        while make(arity).height(horizon) == height:
            error = unit_mean_squared_error(make(arity), horizon)
            best = (error, arity) if best is None else min(best, (error, arity))
            arity += step
            if 2 * height**2 * _least_total(horizon, arity) >= best[0] * horizon or height == 1:
                break  # with height 1 the digit is the time itself, whatever the arity
    if best is None:
        raise InvalidValue("horizon", horizon, ">= 1", "give the length of the stream")
    return best[1]


def _least_arity(make: Callable[[int], Digits], smallest: int, step: int, horizon: int, height: int) -> int:
    """The least arity whose trees of a height reach the horizon."""
    low, high = 0, 2 * horizon  # an arity of 2 T + 2 reaches it with one level
    while low < high:
        middle = (low + high) // 2
        if make(smallest + step * middle).capacity(height) >= horizon:
            high = middle
        else:
            low = middle + 1
    return smallest + step * low


def _least_total(horizon: int, arity: int) -> Fraction:
    """A lower bound on the sum of the sizes of t = 1..T for every arity at least this one."""
    repeats = Fraction(horizon, arity) + 1
    x = horizon // (2 * repeats)
    return x * horizon - x * x * repeats
