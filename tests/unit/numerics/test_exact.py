"""Sums and inner products of float64 arrays are exact, whatever the range of the numbers."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from dpverdict.numerics import exact as exact_sums
from dpverdict.numerics.exact import dot_exactly, moments, sum_exactly

Array = NDArray[np.float64]

LARGEST_SUM = 2.0**900
LARGEST_PRODUCT = 2.0**400


def floats_up_to(bound: float) -> st.SearchStrategy[float]:
    """Subnormals, zeros of both signs, both ends of the range, and everything between."""
    corners = [0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, 2.0**-450, -(2.0**-451), 1.0, 1 + 2.0**-52, bound, -bound]
    return st.one_of(st.floats(-bound, bound), st.sampled_from(corners), st.floats(0.0, 1.0))


def arrays_up_to(bound: float) -> st.SearchStrategy[Array]:
    return hnp.arrays(np.float64, st.integers(0, 40), elements=floats_up_to(bound))


def fraction_sum(numbers: Array) -> Fraction:
    return sum(map(Fraction, numbers.tolist()), Fraction(0))


def fraction_dot(left: Array, right: Array) -> Fraction:
    return sum((Fraction(a) * Fraction(b) for a, b in zip(left.tolist(), right.tolist(), strict=True)), Fraction(0))


@given(arrays_up_to(LARGEST_SUM))
def test_a_sum_equals_the_sum_of_the_fractions(numbers: Array) -> None:
    before = numbers.copy()
    assert sum_exactly(numbers) == fraction_sum(numbers)
    np.testing.assert_array_equal(numbers, before)  # the argument is not used as scratch


@given(st.data())
def test_an_inner_product_equals_that_of_the_fractions(data: st.DataObject) -> None:
    left = data.draw(arrays_up_to(LARGEST_PRODUCT))
    right = data.draw(hnp.arrays(np.float64, left.size, elements=floats_up_to(LARGEST_PRODUCT)))
    assert dot_exactly(left, right) == fraction_dot(left, right)


@given(arrays_up_to(LARGEST_PRODUCT))
def test_moments_are_the_two_sums(numbers: Array) -> None:
    assert moments(numbers) == (fraction_sum(numbers), fraction_dot(numbers, numbers))


@given(hnp.arrays(np.float64, st.integers(0, 30), elements=st.sampled_from([0.0, -0.0, 1.0])))
def test_moments_of_a_binary_record_both_count_its_ones(record: Array) -> None:
    ones = Fraction(int(np.count_nonzero(record)))
    assert moments(record) == (ones, ones)


@pytest.mark.parametrize("size", [65_535, 65_536, 65_537, 200_001])
def test_long_arrays_are_summed_exactly_across_blocks(size: int, seed: int) -> None:
    rng = np.random.default_rng([seed, size])
    spread = np.ldexp(rng.standard_normal(size), rng.integers(-200, 200, size))
    scale = 2**1300  # every number above is a multiple of 2**-1300
    whole = sum(int(Fraction(x) * scale) for x in spread.tolist())
    assert sum_exactly(spread) == Fraction(whole, scale)
    x = rng.random(size)
    bits = 2**80
    assert sum_exactly(x) == Fraction(sum(int(Fraction(v) * bits) for v in x.tolist()), bits)
    assert dot_exactly(x, x[::-1]) == Fraction(
        sum(
            int(Fraction(a) * bits) * int(Fraction(b) * bits) for a, b in zip(x.tolist(), x[::-1].tolist(), strict=True)
        ),
        bits**2,
    )


@pytest.mark.parametrize(
    "numbers",
    [
        np.array([1e300, 1.0, -1e300]),
        np.array([2.0**900, 2.0**-1074, -(2.0**900)]),
        np.full(70_000, 2.0**-1074),
        np.array([1.0, 2.0**-53, 2.0**-106, -1.0]),
        np.array([]),
        np.array([[0.1, 0.2], [0.3, -0.6]]),
    ],
    ids=["cancels", "extreme range", "subnormal", "far below", "empty", "matrix"],
)
def test_sums_that_float64_gets_wrong_are_exact(numbers: Array) -> None:
    assert sum_exactly(numbers) == fraction_sum(numbers.ravel())


def test_a_strided_array_is_read_in_its_own_order() -> None:
    base = np.arange(20.0) / 7
    assert sum_exactly(base[::3]) == fraction_sum(base[::3])
    assert dot_exactly(base[::-2], base[::2]) == fraction_dot(base[::-2], base[::2])


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("total", [sum_exactly, moments, lambda x: dot_exactly(x, x)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_not_finite_never_yields_a_number(bad: float, total: Callable[[Array], object]) -> None:
    with pytest.raises((ValueError, OverflowError)):
        total(np.array([1.0, bad]))


def halves_of_27_bits(x: Array) -> tuple[Array, Array]:
    """The planted fault: a splitter of 2^24 + 1 leaves halves too long for their product to be exact."""
    scaled = 16_777_217.0 * x
    high = scaled - (scaled - x)
    return high, x - high


def test_a_wrong_splitter_is_found(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    x = np.random.default_rng(seed).random(50)
    assert dot_exactly(x, x) == fraction_dot(x, x)
    monkeypatch.setattr(exact_sums, "_split_in_halves", halves_of_27_bits)
    assert dot_exactly(x, x) != fraction_dot(x, x)


def test_a_sum_that_drops_what_is_below_the_first_pass_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_pass(rest: Array) -> Fraction:
        anchor = math.ldexp(1.0, 20)
        return Fraction(float(((rest + anchor) - anchor).sum()))

    x = np.array([1.0, 2.0**-40, 2.0**-45])
    assert moments(x) == (fraction_sum(x), fraction_dot(x, x))
    monkeypatch.setattr(exact_sums, "_sum_block", one_pass)
    assert moments(x) != (fraction_sum(x), fraction_dot(x, x))
