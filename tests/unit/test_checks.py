"""Checks of arguments: what they let through is usable, and what they refuse is named."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpverdict.balls import Real
from dpverdict.checks import (
    MOST_QUERIES,
    check_array,
    check_dim,
    check_not_negative,
    check_not_negative_real,
    check_positive,
    check_positive_real,
    check_probability,
    check_whole,
)
from dpverdict.errors import InvalidValue


def test_records_of_any_kind_of_number_become_float64() -> None:
    for given in ([[0, 1]], [[False, True]], np.array([[0, 1]], dtype=np.uint8)):
        records = check_array(given, (2,), 0.0, 1.0)
        assert records.dtype == np.float64
        assert records.tolist() == [[0.0, 1.0]]
    assert check_array(np.empty((0, 2)), (2,), 0.0, 1.0).shape == (0, 2)


@pytest.mark.parametrize("bad", [[[0.5, np.nan]], [[0.5, 1.0000001]], [[-1e-300, 0.5]], [[0.5, np.inf]]])
def test_an_entry_out_of_range_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidValue, match="dataset entry"):
        check_array(bad, (2,), 0.0, 1.0)
    with pytest.raises(InvalidValue, match="its coordinate's bounds"):
        check_array(bad, (2,), np.zeros(2), np.ones(2))


def test_every_coordinate_has_its_own_bounds() -> None:
    assert check_array([[0.5, 3.0]], (2,), np.zeros(2), np.array([1.0, 4.0])).tolist() == [[0.5, 3.0]]
    with pytest.raises(InvalidValue, match=r"entry=3\.0"):
        check_array([[3.0, 0.5]], (2,), np.zeros(2), np.array([1.0, 4.0]))


@pytest.mark.parametrize("bad", [[["a", "b"]], [[1j, 0]], [[object(), 1]], [[1, 2], [3]], None])
def test_what_is_no_table_of_numbers_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidValue, match="an array of real numbers"):
        check_array(bad, (2,), 0.0, 1.0)


@pytest.mark.parametrize("bad", [[0.5, 0.5], [[0.5]], [[[0.5, 0.5]]], 0.5])
def test_another_shape_is_refused_with_both_shapes(bad: Any) -> None:
    with pytest.raises(InvalidValue, match=r"of shape \(n, 2\)"):
        check_array(bad, (2,), 0.0, 1.0)


def test_a_dimension_is_a_whole_number_that_a_record_can_have() -> None:
    assert check_dim(np.int64(3)) == 3
    assert type(check_dim(np.int64(3))) is int
    assert check_dim(MOST_QUERIES) == MOST_QUERIES
    assert check_dim(MOST_QUERIES + 1, "horizon") == MOST_QUERIES + 1
    for bad in (0, -1, 1.0, True, "3", None, MOST_QUERIES + 1):
        with pytest.raises(InvalidValue, match="dim="):
            check_dim(bad)


def test_a_positive_number_is_taken_at_its_exact_value() -> None:
    assert check_positive("0.1", "mu") == Fraction(1, 10)
    assert check_positive(0.1, "mu") == Fraction(0.1)
    for bad in (0, "-1", float("nan"), float("inf"), "one"):
        with pytest.raises(InvalidValue, match="mu"):
            check_positive(bad, "mu")


class Counted:
    def __index__(self) -> int:
        return 3


def test_a_whole_number_is_of_any_type_that_is_one_and_in_its_range() -> None:
    assert check_whole(Counted(), "m", least=0, most=3, remedy="") == check_dim(Counted()) == 3
    assert check_whole(np.int8(-2), "shift", least=None, remedy="") == -2
    for bad, least, most, said in (
        (True, None, None, "a whole number:"),
        (1.0, None, None, "a whole number:"),
        (1, 2, None, "a whole number >= 2:"),
        (4, 0, 3, "a whole number from 0 to 3:"),
    ):
        with pytest.raises(InvalidValue, match=f"m=.* must be {said} count again"):
            check_whole(bad, "m", least=least, most=most, remedy="count again")


def test_the_ends_of_ranges_are_decided_exactly() -> None:
    assert check_not_negative("0", "rho") == 0
    assert check_probability("1e-400", "delta", "") == Fraction(1, 10**400)
    with pytest.raises(InvalidValue, match=r"rho=.* must be >= 0"):
        check_not_negative("-1e-400", "rho")
    for bad in (0, 1, "-1e-400", "1.0"):
        with pytest.raises(InvalidValue, match=r"delta=.* must be in \(0, 1\): give less"):
            check_probability(bad, "delta", "give less")


def test_a_real_number_that_no_precision_tells_from_0_is_refused_and_shown() -> None:
    nothing = Real(lambda: Real.of(2).sqrt().ball() ** 2 - 2)
    with pytest.raises(InvalidValue, match=r"scale=.*Real\(.* must be > 0: give more"):
        check_positive_real(nothing, "scale", "give more")
    with pytest.raises(InvalidValue, match=r"shift=.*Real\(.* must be >= 0: give more"):
        check_not_negative_real(nothing, "shift", "give more")
    assert check_positive_real(Real.of(2).sqrt(), "scale", "").nearest() == 2**0.5
    assert check_not_negative_real(0, "shift", "").rational == 0
    with pytest.raises(InvalidValue, match=r"scale=-1 must be > 0"):
        check_positive_real(-1, "scale", "")
