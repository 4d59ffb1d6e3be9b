"""Sums of exponentials: arithmetic against mpmath, and signs that no number of digits decides."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb

from dpverdict.balls import precision
from dpverdict.errors import PrecisionExhausted
from dpverdict.numerics.exponential_sums import ExponentialSum, Weight, total

F = Fraction


def drawn(rng: np.random.Generator, size: int, below: int = 6) -> ExponentialSum:
    return ExponentialSum(
        {F(int(rng.integers(-9, 9)), below): F(int(rng.integers(-5, 6)), int(rng.integers(1, 5))) for _ in range(size)}
    )


def value(number: ExponentialSum) -> mpmath.mpf:
    return mpmath.fsum(
        mpmath.mpf(c.numerator) / c.denominator * mpmath.exp(mpmath.mpf(r.numerator) / r.denominator)
        for r, c in number.terms.items()
    )


@pytest.mark.parametrize("size", [3, 20])  # term by term, and by polynomials
def test_sums_and_products_are_those_of_the_numbers(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    with mpmath.workdps(60), precision(160):
        for _ in range(20):
            one, other = drawn(rng, size, 60), drawn(rng, size, 60)
            found = [one + other, one - other, one * other, total([one, other, one]), one.times_exp(F(1, 3))]
            x, y = value(one), value(other)
            for sum_of, truth in zip(
                found, [x + y, x - y, x * y, 2 * x + y, x * mpmath.exp(mpmath.mpf(1) / 3)], strict=True
            ):
                assert abs(value(sum_of) - truth) < 1e-50
                assert abs(sum_of.ball() - arb(mpmath.nstr(truth, 55))) < 1e-40


def test_weights_are_the_sums_they_stand_for(seed: int) -> None:
    rng = np.random.default_rng(seed)
    with mpmath.workdps(60), precision(160):
        for _ in range(10):
            one, other = drawn(rng, 9, 60), drawn(rng, 9, 60)
            a, b = Weight.of(one), Weight.of(other)
            x, y = value(one), value(other)
            found = [
                a * b + a,
                (a * b - b * a).power(2),
                a.power(5),
                Weight.sum([a, b * a]),
                Weight.running_sums([a, b])[2],
            ]
            for weight, truth in zip(found, [x * y + x, mpmath.mpf(0), x**5, x + x * y, x + y], strict=True):
                assert abs(weight.ball() - arb(mpmath.nstr(truth, 55))) < 1e-30 * (1 + abs(truth))
                assert weight.sign() == (truth > 0) - (truth < 0)
                assert abs(value(weight.exact()) - truth) < mpmath.mpf("1e-45") * (1 + abs(truth))
    halves = Weight.running_sums([Weight.of(ExponentialSum.of(F(1, 2)))] * 2)
    assert [half.rational for half in halves] == [0, F(1, 2), 1]


def test_a_sum_is_zero_only_if_nothing_is_left() -> None:
    e = ExponentialSum.exp(F(1))
    square = (e - ExponentialSum.of(1)) * (e - ExponentialSum.of(1))
    assert (square - ExponentialSum({F(2): F(1), F(1): F(-2), F(0): F(1)})).sign() == 0
    assert square.sign() == 1
    assert (ExponentialSum.of(2) - e).sign() == -1


def test_a_sign_far_beyond_float64_is_decided() -> None:
    close = _e_to(300)
    assert (ExponentialSum.exp(F(1)) - ExponentialSum.of(close)).sign() == 1
    assert (ExponentialSum.exp(F(1)) - ExponentialSum.of(close + F(1, 10**300))).sign() == -1


def _e_to(digits: int) -> Fraction:
    """e, rounded down."""
    with mpmath.workdps(digits + 20):
        return Fraction(int(mpmath.floor(mpmath.e * mpmath.mpf(10) ** digits)), 10**digits)


def test_what_no_precision_shows_is_an_error_and_not_a_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpverdict.numerics.exponential_sums._MOST_BITS", 256)
    with pytest.raises(PrecisionExhausted):
        (ExponentialSum.exp(F(1)) - ExponentialSum.of(_e_to(300))).sign()


def test_rational_numbers_are_seen() -> None:
    assert ExponentialSum({F(1): F(0)}).rational == 0
    assert ExponentialSum.of(F(2, 3)).rational == F(2, 3)
    assert ExponentialSum.exp(F(1)).rational is None
    assert repr(ExponentialSum.of(F(2, 3))) == "ExponentialSum({'0': '2/3'})"
    assert len({ExponentialSum.of(1), ExponentialSum.of(1)}) == 1
