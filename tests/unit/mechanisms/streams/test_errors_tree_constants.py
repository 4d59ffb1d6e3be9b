"""The leading constants of trees to thirty digits, and the exact best arities they announce."""

from fractions import Fraction

import mpmath
import pytest
from flint import arb

from dpverdict.balls import Real, ball, compare, precision
from dpverdict.mechanisms.streams.errors import gaussian_constant, laplace_constant, mean_digit
from dpverdict.mechanisms.streams.tree import TreeDigits, best_arity, unit_mean_squared_error

THIRTY_DIGITS = [
    (TreeDigits.ordinary(17), "0.234292577408954494337480517355"),
    (TreeDigits.offset(17), "0.124037246863564144061019097423"),
    (TreeDigits.offset(19), "0.123591217959871101041849636728"),
    (TreeDigits.offset(20), "0.123870356816748937940239750296"),
]


@pytest.mark.parametrize(("digits", "value"), THIRTY_DIGITS, ids=str)
def test_thirty_digits(digits: TreeDigits, value: str) -> None:
    with precision(200):
        assert abs(laplace_constant(digits).ball() - ball(value)) < arb("5.01e-31")
    with mpmath.workdps(40):  # the same from the definition, in other software
        k = digits.arity
        mean = mpmath.fsum(abs(d - digits.subtracted) for d in range(k)) / k
        assert abs(2 * mean / mpmath.log(k, 2) ** 3 - mpmath.mpf(value)) < mpmath.mpf("5.01e-31")


@pytest.mark.parametrize("arity", [2, 3, 4, 7, 19, 20])
def test_the_mean_digit_is_that_of_an_enumeration(arity: int) -> None:
    for digits in (TreeDigits.ordinary(arity), TreeDigits.offset(arity)):
        found = Fraction(sum(abs(d - digits.subtracted) for d in range(arity)), arity)
        assert mean_digit(digits) == found


def test_a_wrong_digit_would_be_seen() -> None:
    digits, value = THIRTY_DIGITS[2]
    with precision(200):
        assert not abs(laplace_constant(digits).ball() - ball(value[:-1] + "9")) < arb("5.01e-31")


def test_the_real_minimisers_lie_at_the_best_whole_arities() -> None:
    """k ln k = 3(k - 1) at 16.8010, (k^2 + 1) ln k = 3 (k^2 - 1) at 19.7807, ln k = 3 at e^3 = 20.0855."""
    conditions = {
        "16.8010": lambda k: k * k.log() - 3 * (k - 1),
        "19.7807": lambda k: (k * k + 1) * k.log() - 3 * (k * k - 1),
        "20.0855": lambda k: k.log() - 3,
    }
    for value, sign in conditions.items():
        low, high = ball(value) - ball("0.0001"), ball(value) + ball("0.0001")
        assert sign(low) < 0
        assert sign(high) > 0


def best_of(constants: dict[int, Real]) -> int:
    """The argument of the smallest number, decided in balls."""
    (best,) = [
        k for k, value in constants.items() if all(compare(value, o) == -1 for j, o in constants.items() if j != k)
    ]
    return best


def test_the_best_arities_in_the_limit() -> None:
    odd, even = range(3, 60, 2), range(2, 60, 2)
    assert best_of({k: laplace_constant(TreeDigits.ordinary(k)) for k in range(2, 60)}) == 17
    assert best_of({k: laplace_constant(TreeDigits.offset(k)) for k in odd}) == 19
    assert best_of({k: laplace_constant(TreeDigits.offset(k)) for k in even}) == 20
    assert best_of({k: laplace_constant(TreeDigits.offset(k)) for k in range(2, 60)}) == 19
    assert best_of({k: gaussian_constant(TreeDigits.offset(k)) for k in odd}) == 7
    assert best_of({k: gaussian_constant(TreeDigits.offset(k)) for k in range(2, 60)}) == 7


BEST = [  # log2 T; the best odd arity, the best even one, epsilon^2 times their mean squared errors
    (10, 13, 14, 170.5078, 170.7539),
    (16, 21, 20, 614.6240, 607.9609),
    (20, 19, 20, 1147.4340, 1163.2867),
    (30, 23, 22, 3720.2902, 3692.6837),
    (40, 25, 24, 8652.6936, 8583.1596),
]


@pytest.mark.parametrize(("power", "odd", "even", "odd_error", "even_error"), BEST)
def test_the_best_arities_of_an_exact_search(
    power: int, odd: int, even: int, odd_error: float, even_error: float
) -> None:
    horizon = 2**power
    errors = {k: unit_mean_squared_error(TreeDigits.offset(k), horizon) for k in range(2, 1001)}
    assert min((error, k) for k, error in errors.items() if k % 2)[1] == odd == best_arity(horizon, "symmetric")
    assert min((error, k) for k, error in errors.items() if k % 2 == 0)[1] == even
    assert min((error, k) for k, error in errors.items())[1] == best_arity(horizon, "offset")
    assert best_arity(horizon, "offset") == (odd if odd_error < even_error else even)
    assert [round(float(errors[k]), 4) for k in (odd, even)] == [odd_error, even_error]
