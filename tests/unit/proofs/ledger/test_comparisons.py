"""Functions give the same answers while their comparisons are kept, and have their own code back afterwards."""

from fractions import Fraction
from types import FunctionType

from dpverdict.balls import Real, compare
from dpverdict.proofs.checks.evidence import recorded
from dpverdict.proofs.ledger.comparisons import kept_comparisons


def between(low: int, value: Fraction, high: int) -> bool:
    return low < value <= high


def steps(most: int) -> int:
    n = 0
    while n < most:  # it only steers the loop
        n += 1
    return n


def ordered(left: Real, right: Real) -> bool:
    return compare(left, right) == -1


def closing(least: int) -> FunctionType:
    def large(value: int) -> bool:
        return value >= least

    assert isinstance(large, FunctionType)
    return large


def found(function: FunctionType, *arguments: object) -> tuple[object, list[object]]:
    code = function.__code__
    with kept_comparisons([function]), recorded() as kept:
        answer = function(*arguments)
    assert function.__code__ is code
    assert not [name for name in function.__globals__ if name.startswith("_dpverdict")]
    return answer, [piece["of"] for piece in kept.pieces]


def test_both_sides_of_every_comparison_are_kept_as_far_as_it_was_decided() -> None:
    assert isinstance(between, FunctionType)
    assert found(between, 1, Fraction(3, 2), 4) == (True, [["1", "<", "3/2", True], ["3/2", "<=", "4", True]])
    assert found(between, 2, Fraction(3, 2), 4) == (False, [["2", "<", "3/2", False]])


def test_loops_are_left_as_they_are_and_closures_are_followed() -> None:
    assert isinstance(steps, FunctionType)
    assert found(steps, 5) == (5, [])
    assert found(closing(3), 4) == (True, [["4", ">=", "3", True]])


def test_numbers_that_are_ordered_are_kept_so_narrow_that_their_order_shows() -> None:
    assert isinstance(ordered, FunctionType)
    answer, kept = found(ordered, Real.of(1), Real.of(2).sqrt())
    assert answer is True
    ((left, sign, right, holds),) = kept  # type: ignore[misc]
    assert (sign, holds) == ("<", True)
    assert eval(left[1] if isinstance(left, list) else left) < eval(right[0])
