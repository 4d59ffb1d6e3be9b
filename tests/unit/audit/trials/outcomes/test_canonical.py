"""The form of every kind of outcome: what is a signature, a number, a symbol, and what is refused."""

import collections
import dataclasses
import datetime
import enum
import io
import itertools
import math
from collections import namedtuple
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.trials.outcomes.canonical import Watched, of_numbers, outcome_of, outcome_of_error, plain_numbers
from dpverdict.errors import InvalidValue

Point = namedtuple("Point", "x y")  # the untyped kind is an outcome too


class Colour(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Release:
    count: float
    label: str


def numbers(value: object) -> dict[str, list[float]]:
    return {path: block.tolist() for path, block in outcome_of(value).numbers.items()}


@pytest.mark.parametrize(
    "value", [1, 1.0, True, np.int8(1), np.float32(1), np.array(1), np.array([1]), [1], (1.0,), np.array([True])]
)
def test_a_number_is_one_outcome_whatever_its_type(value: object) -> None:
    plain = plain_numbers(value)
    assert plain is not None
    assert plain.tolist() == [1.0]
    assert outcome_of(value).same_as(of_numbers(np.array([1.0])))


@pytest.mark.parametrize(
    "value",
    [
        None,
        "1",
        b"1",
        float("nan"),
        [1.0, float("inf")],
        2**70,
        2**53 + 1,
        np.array([2**60]),
        1j,
        {"a": 1},
        {1},
        np.zeros((1, 2)),
        [],
        Decimal(1),
    ],
)
def test_what_is_no_array_of_finite_numbers_is_not_plain(value: object) -> None:
    assert plain_numbers(value) is None


@pytest.mark.parametrize(
    ("value", "signature", "symbols"),
    [
        (None, "None", {}),
        ("low", "text", {"": "low"}),
        (float("nan"), "numbers(1)", {"[0]?": "nan"}),
        ([1.0, -float("inf")], "numbers(2)", {"[1]?": "-inf"}),
        (np.array([np.nan]), "numbers(1)", {"[0]?": "nan"}),
        (2**70, "numbers(1)", {"[0]~last": hex(2**70)}),
        ("n = 2", "text", {"": "n = 2", "~words": "n = 0"}),
        (Decimal("0.1"), "Decimal", {"": "0.1"}),
        (Decimal("NaN"), "Decimal", {"[0]?": "nan", "": "NaN"}),
        (Fraction(1, 3), "Fraction", {"": "1/3"}),
        (1j, "complex", {}),
        (Colour.RED, f"{__name__}.Colour", {"": "RED"}),
        ({"b": None, "a": "x"}, "{'a': text, 'b': None}", {"['a']": "x"}),
        ({"y", "x"}, "set", {"{'x'}": "in", "{'y'}": "in"}),
        (("a", None), "[text, None]", {"[0]": "a"}),
        ([], "[]", {}),
        (Release(1.0, "x"), f"{__name__}.Release(count: numbers(1), label: text)", {".label": "x"}),
        (Point("a", 2), f"{__name__}.Point(x: text, y: numbers(1))", {".x": "a"}),
        (np.zeros((2, 3)), "numbers(2, 3)", {}),
        (np.array(["a", "b"]), "[text x 2]", {"[0]": "a", "[1]": "b"}),
        (datetime.date(2020, 1, 2), "datetime.date", {"": "2020-01-02"}),
    ],
)
def test_the_form_of_a_value(value: object, signature: str, symbols: dict[str, str]) -> None:
    found = outcome_of(value)
    assert found.signature == signature
    assert found.symbols == symbols


def test_numbers_keep_their_place_and_what_is_not_finite_is_zero_there() -> None:
    assert numbers({"a": [1, 2], "b": float("inf")}) == {"['a']": [1.0, 2.0], "['b']": [0.0]}
    assert numbers(3 + 4j) == {"": [3.0, 4.0]}
    assert numbers(b"\x80") == {".bits": [1.0, 0, 0, 0, 0, 0, 0, 0]}
    assert numbers(10**400)[""] == [1.7976931348623157e308]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (2**60, 2**60 + 1),
        (-(2**60), -(2**60) - 1),
        (np.int64(2**62), np.int64(2**62 + 1)),
        (np.array([2**62, 0]), np.array([2**62 + 1, 0])),
        (np.array([[2**64 - 1]], dtype=np.uint64), np.array([[2**64 - 2]], dtype=np.uint64)),
        ([2**54, 1], [2**54 + 1, 1]),
        (10**40, 10**40 + 2),
        (np.longdouble(1), np.longdouble(1) + np.finfo(np.longdouble).eps),
    ],
)
def test_a_number_that_float64_does_not_hold_is_exact(one: object, other: object) -> None:
    assert not outcome_of(one).same_as(outcome_of(other))


def test_what_is_left_of_a_long_number_and_its_last_bits_are_numbers() -> None:
    found = numbers(2**60 + 3)
    assert found[""] == [2.0**60]
    assert found["~left"] == [3.0]
    assert found["[0]~last"][:3] == [1.0, 1.0, 0.0]
    assert numbers(np.array([2**60 + 3, 1]))["~left"] == [3.0, 0.0]


def test_a_text_that_is_no_label_is_read_for_its_length_and_its_numbers() -> None:
    assert numbers("yes") == {}
    assert numbers('{"n": 2, "x": -1.5e-3}') == {"~length": [22.0], "~numbers": [2.0, -0.0015]}
    assert numbers("a text without any number") == {"~length": [25.0]}
    assert numbers("1e999")["~numbers"] == [1.7976931348623157e308]


def test_keys_and_members_that_are_numbers_and_long_bytes_are_compared_by_order_too() -> None:
    assert numbers({2.5: 1, 0.5: 1})["~keys"] == [0.5, 2.5]
    assert numbers({2.5, 0.5})["~members"] == [0.5, 2.5]
    assert numbers(bytes([7]) * 65)["~bytes"] == [7.0] * 65


def test_an_exception_is_its_type_the_function_that_raised_it_and_what_it_says() -> None:
    def divide(by: float) -> float:
        return 1 / by

    found, silent = [], []
    for message in ("one", "two"):
        try:
            raise ValueError(message)
        except ValueError as error:
            found.append(outcome_of_error(error))
            silent.append(outcome_of_error(error, messages=False))
    assert not found[0].same_as(found[1])
    assert silent[0].same_as(silent[1])
    assert found[0].signature == silent[0].signature
    assert found[0].note == silent[0].note == "ValueError: one"
    try:
        divide(0)
    except ZeroDivisionError as error:
        other = outcome_of_error(error)
    assert other.signature == "raised builtins.ZeroDivisionError in test_canonical.py, divide"
    assert not other.same_as(found[0])
    assert other.raised


class Told(Exception):
    def __init__(self, number: float) -> None:
        super().__init__()
        self.number = number


def caused(number: float, *, suppressed: bool) -> Exception:
    try:
        try:
            raise KeyError(number)
        except KeyError:
            if suppressed:
                raise ValueError("no") from None
            raise ValueError("no")  # noqa: B904  # the context counts, as Python prints it
    except ValueError as error:
        return error


def noted(number: float) -> Exception:
    error = ValueError("no")
    error.add_note(f"of {number}")
    return error


SAYING: list[Callable[[float], Exception]] = [
    lambda x: ValueError(f"the sum {x} is out of range"),
    lambda x: ValueError("out of range", x),
    lambda x: ValueError({"sum": [x]}),
    lambda x: OSError(2, "no such file", f"/data/{x}"),
    lambda x: KeyError(x),
    lambda x: UnicodeDecodeError("ascii", bytes([int(x)]), 0, 1, "no"),
    lambda x: StopIteration(x),
    lambda x: ExceptionGroup("no", [ValueError(1), TypeError(x)]),
    lambda x: BaseExceptionGroup("no", [SystemExit(x)]).derive([ValueError(x)]),  # type: ignore[return-value, list-item]
    lambda x: caused(x, suppressed=False),
    lambda x: ValueError(np.ma.masked_array([x], mask=[True])),
    noted,
    Told,
]


@pytest.mark.parametrize("saying", SAYING)
def test_whatever_an_exception_says_tells_outcomes_apart_and_can_be_left_out(saying: Callable[[float], Any]) -> None:
    first, again, other = (outcome_of_error(saying(x)) for x in (3.0, 3.0, 4.0))
    assert first.same_as(again)
    assert not first.same_as(other)
    assert first.signature == other.signature
    assert outcome_of_error(saying(3.0), messages=False).same_as(outcome_of_error(saying(4.0), messages=False))


def test_what_an_exception_does_not_say_is_left_out() -> None:
    assert outcome_of_error(caused(3.0, suppressed=True)).same_as(outcome_of_error(caused(4.0, suppressed=True)))
    assert outcome_of_error(ValueError(f"{object()!r}")).same_as(outcome_of_error(ValueError(f"{object()!r}")))
    circle = ValueError("no")
    circle.__cause__ = circle
    assert outcome_of_error(circle).raised
    assert outcome_of_error(ValueError(object(), lambda: 1)).symbols["~said.args.type"] == "tuple"


MASKED: list[Callable[[float], Any]] = [
    lambda x: np.ma.masked_array([x, 1.0], mask=[True, False]),
    lambda x: np.ma.masked_array([[int(x)]], mask=[[True]]),
    lambda x: np.ma.masked_array([str(x)], mask=[True]),
    lambda x: {"a": [np.ma.masked_array([x], mask=True)]},
    lambda x: np.ma.masked_array([(1.0, x)], mask=[(False, True)], dtype=[("a", float), ("b", float)]),
    lambda x: np.ma.masked_array([1.0, 2.0], mask=[True, False], fill_value=x),
]


@pytest.mark.parametrize("made", MASKED)
def test_what_lies_below_a_mask_tells_outcomes_apart_and_can_be_left_out(made: Callable[[float], Any]) -> None:
    assert outcome_of(made(3.0)).same_as(outcome_of(made(3.0)))
    assert not outcome_of(made(3.0)).same_as(outcome_of(made(4.0)))
    hidden = (outcome_of(Watched(made(x), (), False, masked=False)) for x in (3.0, 4.0))
    assert next(hidden).same_as(next(hidden))


@pytest.mark.parametrize("value", [lambda: 1, object(), {"model": object()}])
def test_what_has_no_form_is_refused_with_its_path(value: Any) -> None:
    with pytest.raises(InvalidValue, match=r"^outcome=.* at (the top|\['model'\]).? must be"):
        outcome_of(value)


def test_a_value_that_holds_itself_is_refused() -> None:
    held: list[object] = []
    held.append(held)
    with pytest.raises(InvalidValue, match="holds itself"):
        outcome_of(held)


class Plain:
    def __init__(self, seen: object) -> None:
        self.seen = seen
        self._hidden = object()


class Slotted:
    __slots__ = ("seen",)

    def __init__(self, seen: object) -> None:
        self.seen = seen


@pytest.mark.parametrize(
    "make",
    [
        lambda x: (part for part in range(x)),
        lambda x: map(float, range(x)),
        lambda x: {"a": range(x), "b": iter("ab")},
        lambda x: dict.fromkeys(range(x)).keys(),
        lambda x: collections.deque("a" * x),
        Plain,
        Slotted,
        lambda x: [Plain({1: x})],
        lambda x: ValueError("bad", x),
        lambda x: int if x == 1 else float,
        lambda x: {frozenset({"a", "b" * x, "c"}), ("d", frozenset())},
    ],
)
def test_what_a_caller_reads_of_an_object_is_its_form(make: Any) -> None:
    assert outcome_of(make(1)).same_as(outcome_of(make(1)))
    assert not outcome_of(make(1)).same_as(outcome_of(make(2)))


def test_a_set_of_sets_has_one_form_in_whatever_order_it_was_made() -> None:
    letters = [f"{i}" for i in range(40)]
    assert outcome_of({frozenset(letters)}).same_as(outcome_of({frozenset(letters[::-1])}))


@pytest.mark.parametrize("value", [itertools.count(), len, math, np.sin, lambda: 1, io.StringIO("a")])
def test_what_nobody_reads_to_its_end_is_refused(value: object) -> None:
    with pytest.raises(InvalidValue, match="outcome"):
        outcome_of(value)
