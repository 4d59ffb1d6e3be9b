"""One column of a schema: its type, and the values that it may hold."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias, cast, final, get_args

import numpy as np

from dpverdict.balls import exactly
from dpverdict.errors import InvalidValue
from dpverdict.numerics.text import exact_text
from dpverdict.suggestions import nearest

ColumnType: TypeAlias = Literal["int", "float", "bool", "category", "text", "date"]
TYPES: Final[tuple[str, ...]] = get_args(ColumnType)

Value: TypeAlias = "int | float | bool | str | datetime.date | datetime.datetime | None"
"""One entry of a table; None is a missing one."""

Bound: TypeAlias = "Fraction | datetime.date | datetime.datetime"

_INT64: Final = (-(2**63), 2**63 - 1)
_FLOATS: Final[dict[str, type[np.floating[Any]]]] = {
    "float16": np.float16,
    "float32": np.float32,
    "float64": np.float64,
}
_INTEGERS: Final = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_TEXTS: Final = ("object", "str", "string", "category", "categorical", "enum")
_DTYPES: Final[dict[str, tuple[str, ...]]] = {
    "int": (*_INTEGERS, *_FLOATS),
    "float": tuple(_FLOATS),
    "bool": ("bool", "boolean", "object"),
    "category": (*_TEXTS, *_INTEGERS, *_FLOATS, "bool", "boolean"),
    "text": _TEXTS[:3],
    "date": ("date", "datetime", "datetime64", "object"),
}
"""The types of columns in NumPy, pandas and polars that can hold one of the schema, in small letters."""

_LONG_TEXTS: Final = ("x" * 1000, "\U0001f989" * 1000, "A1, \n" * 200)
"""Of letters, of characters that take four bytes, of words and lines with all kinds of characters."""
EXTREME_TEXTS: Final = ("", " ", "a", "NaN", "0", "\u00e9\u4e2d", *_LONG_TEXTS)
"""Texts that a program may not expect: empty, a blank, the name of a missing value, a number, other scripts, long."""

_FIRST_DAY, _LAST_DAY = datetime.date(1677, 9, 22), datetime.date(2262, 4, 10)
"""The ends of dates in nanoseconds of 64 bits, which pandas uses."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """What one column of a table may hold.

    Attributes:
        name: of the column.
        type: "int", "float", "bool", "category" (one of ``values``), "text" (any) or "date" (a day, or a time).
        low: no entry is below it. A number, exact; for a date a `datetime.date` or `datetime.datetime`. None: no bound
            on this side, so that a float may be infinite and an integer any that ``dtype`` holds (int64 if it is None).
            A bound of a float column is rounded to the nearest number of its dtype, as the entries are when they are
            read: a table whose decimal entries are within decimal bounds fits.
        high: no entry is above it.
        values: the categories, in order: different texts, or different numbers.
        nullable: whether an entry may be missing: None, NaN, NaT or ``pandas.NA``.
        dtype: of the column in the table, as NumPy, pandas or polars call it; None for the usual one of the type.
        observed: whether the bounds or the categories were only seen in some data, so that nobody promises them.

    Raises:
        InvalidValue: an unknown type, a bound that is no number of the type or beyond the dtype, low > high, a category
            twice, or what the type does not take.
    """

    name: str
    type: ColumnType
    low: Bound | None = None
    high: Bound | None = None
    values: tuple[Value, ...] = ()
    nullable: bool = False
    dtype: str | None = None
    observed: bool = False

    def __post_init__(self) -> None:
        key = f"columns.{self.name}"
        name: object = self.name  # what a caller passes is not always what the types say
        if not isinstance(name, str) or not name:
            raise InvalidValue("columns", name, "named by a text that is not empty", "rename the column")
        if self.type not in TYPES:
            remedy = f"{nearest(str(self.type), TYPES)}choose one of them"
            raise InvalidValue(f"{key}.type", self.type, f"one of {', '.join(TYPES)}", remedy)
        for flag in ("nullable", "observed"):
            if not isinstance(getattr(self, flag), bool):
                raise InvalidValue(f"{key}.{flag}", getattr(self, flag), "true or false", f"write {flag} = true")
        self._check_dtype(key)
        for end in ("low", "high"):
            if getattr(self, end) is not None:
                object.__setattr__(self, end, self._bound(getattr(self, end), f"{key}.{end}"))
        if self.low is not None and self.high is not None and _above(self.low, self.high):
            remedy = "exchange the two, or correct one"
            raise InvalidValue(f"{key}.low", bound_text(self.low), f"<= high = {bound_text(self.high)}", remedy)
        self._check_values(key)

    def _check_dtype(self, key: str) -> None:
        dtype: object = self.dtype
        if dtype is None:
            return
        fitting = _DTYPES[self.type]
        if not isinstance(dtype, str) or self.storage not in fitting:
            remedy = f"{nearest(str(dtype), fitting)}leave dtype out for the usual one"
            raise InvalidValue(f"{key}.dtype", dtype, f"one of {', '.join(fitting)} for {self.type}", remedy)

    def _bound(self, given: object, key: str) -> Bound:
        if self.type in ("bool", "category", "text"):
            remedy = "leave it out" if self.type != "category" else "list the categories in values"
            raise InvalidValue(key, given, f"left out of a column of type {self.type}", remedy)
        if self.type == "date":
            if not isinstance(given, datetime.date):
                raise InvalidValue(key, given, "a date or a date and time", "write it as 2024-12-31, without quotes")
            return given
        if isinstance(given, Decimal):
            given = Fraction(given) if given.is_finite() else float(given)
        if isinstance(given, float) and not math.isfinite(given):
            remedy = "leave it out where there is no bound" if math.isinf(given) else "NaN is no bound: leave it out"
            raise InvalidValue(key, given, "a finite number", remedy)
        if not isinstance(given, int | float | Fraction | np.number):
            raise InvalidValue(key, given, "a number", "write it without quotes")
        exact = exactly(given.item() if isinstance(given, np.number) else given, name=key)
        if self.type == "float":
            return self._rounded(exact, key)
        if exact.denominator != 1:
            raise InvalidValue(key, given, "a whole number, as the type is int", 'round it, or write type = "float"')
        least, most = self.integer_range
        if not least <= exact <= most:
            kind = self.dtype or "int64"
            remedy = "leave it out where there is no bound, or give a larger dtype"
            raise InvalidValue(key, int(exact), f"between {least} and {most}, the ends of {kind}", remedy)
        return exact

    def _rounded(self, exact: Fraction, key: str) -> Fraction:
        """The number of the dtype that is nearest to a bound."""
        kind = _FLOATS.get(self.storage, np.float64)
        most = float(np.finfo(kind).max)
        if abs(exact) > Fraction(most):
            requirement = f"between {-most:g} and {most:g}, the ends of {kind.__name__}"
            raise InvalidValue(key, exact, requirement, "leave it out where there is no bound")
        return Fraction(float(kind(float(exact))))

    def _check_values(self, key: str) -> None:
        given: object = self.values
        if not isinstance(given, tuple):
            raise InvalidValue(f"{key}.values", given, "a list of categories", 'write values = ["a", "b"]')
        if self.type != "category":
            if given:
                remedy = 'leave them out, or write type = "category"'
                raise InvalidValue(f"{key}.values", list(given), f"left out of a column of type {self.type}", remedy)
            return
        if not given:
            remedy = 'write values = ["a", "b"], or type = "text" where any may come'
            raise InvalidValue(f"{key}.values", None, "given for a category", remedy)
        kinds = {"number" if isinstance(one, int | float) and not isinstance(one, bool) else type(one) for one in given}
        if len(kinds) > 1 or not isinstance(given[0], str | int | float):
            requirement = "texts only or numbers only"
            raise InvalidValue(f"{key}.values", list(given), requirement, "write each category in quotes")
        for i, one in enumerate(given):
            if one != one or one in given[:i]:
                requirement = "different from each other" if one == one else "no NaN: set nullable = true instead"
                raise InvalidValue(f"{key}.values", one, requirement, "name each category once")

    @property
    def storage(self) -> str:
        """The dtype in small letters, without what stands in brackets; "" if it is not given."""
        return "" if self.dtype is None else self.dtype.lower().partition("[")[0].partition("(")[0].strip()

    @property
    def integer_range(self) -> tuple[int, int]:
        """The least and the greatest integer that the dtype of an integer column holds exactly, up to each."""
        if self.storage in _INTEGERS:
            ends = np.iinfo(self.storage)
            return int(ends.min), int(ends.max)
        if self.storage in _FLOATS:
            digits = np.finfo(_FLOATS[self.storage]).nmant + 1
            return -(2**digits), 2**digits
        return _INT64

    def misfit(self, value: object) -> str | None:
        """What an entry must be, if it is not: None for one that fits, else the requirement."""
        if is_missing(value):
            return None if self.nullable else "present: the column is not nullable"
        match self.type:
            case "int" | "float":
                return self._number_misfit(value)
            case "bool":
                return None if isinstance(value, bool | np.bool_) else "true or false"
            case "category":
                known = any(same(value, one) for one in self.values)
                return None if known else f"one of the {len(self.values)} categories of the schema"
            case "text":
                return None if isinstance(value, str) else "a text"
            case "date":
                if not isinstance(value, datetime.date):
                    return "a date"
                return self._range_misfit(value)

    def _number_misfit(self, value: object) -> str | None:
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
            return "a whole number" if self.type == "int" else "a number"
        number = float(value) if isinstance(value, float | np.floating) else int(cast(int, value))
        if self.type == "int" and number != math.floor(number if math.isfinite(number) else 0.5):
            return "a whole number"
        if math.isinf(number):
            end = self.high if number > 0 else self.low
            return None if end is None else f"{'at most' if number > 0 else 'at least'} {bound_text(end)}"
        return self._range_misfit(Fraction(number))

    def _range_misfit(self, value: Bound) -> str | None:
        if self.low is not None and _above(self.low, value):
            return f"at least {bound_text(self.low)}"
        if self.high is not None and _above(value, self.high):
            return f"at most {bound_text(self.high)}"
        return None

    def extremes(self) -> list[Value]:
        """Entries at the ends of what the column may hold, the most telling first; a missing one last."""
        found: list[Value]
        match self.type:
            case "int" | "float":
                found = self._extreme_numbers()
            case "bool":
                found = [True, False]
            case "category":
                found = list(self.values)
            case "text":
                found = list(EXTREME_TEXTS)
            case "date":
                found = list(self._date_ends())
        unique = [one for i, one in enumerate(found) if not any(same(one, other) for other in found[:i])]
        return [*unique, None] if self.nullable else unique

    def _extreme_numbers(self) -> list[Value]:
        if self.type == "int":
            least, most = self.integer_range
            low = least if self.low is None else int(self._number(self.low))
            high = most if self.high is None else int(self._number(self.high))
            return [high, low, *(near for near in (0, 1, -1) if low <= near <= high)]
        kind = _FLOATS.get(self.storage, np.float64)
        largest = float(np.finfo(kind).max)
        bottom = -largest if self.low is None else float(self._number(self.low))
        top = largest if self.high is None else float(self._number(self.high))
        return [top, bottom, *(near for near in (0.0, 1.0, -1.0) if bottom <= near <= top)]

    def _number(self, bound: Bound) -> Fraction:
        assert isinstance(bound, Fraction)
        return bound

    def _date_ends(self) -> tuple[datetime.date, datetime.date]:
        low, high = self.low, self.high
        first: datetime.date = low if isinstance(low, datetime.date) else _FIRST_DAY
        last: datetime.date = high if isinstance(high, datetime.date) else _LAST_DAY
        if self.holds_times:
            return as_time(first), as_time(last)
        return first, last

    @property
    def holds_times(self) -> bool:
        """Whether a date column holds times of a day too: one of its bounds does, or its dtype says so."""
        with_time = any(isinstance(end, datetime.datetime) for end in (self.low, self.high))
        return self.type == "date" and (with_time or self.storage in ("datetime", "datetime64"))

    def random_value(self, rng: np.random.Generator) -> Value:
        """One entry that the column may hold: an extreme in one case of four, else any, of any size."""
        if rng.random() < 0.25:
            found = self.extremes()
            return found[int(rng.integers(len(found)))]
        match self.type:
            case "int":
                least, most = self.integer_range
                low = max(-(10 ** int(rng.integers(1, 7))), least) if self.low is None else int(self._number(self.low))
                high = max(low, 10 ** int(rng.integers(1, 7))) if self.high is None else int(self._number(self.high))
                high = min(high, most)
                return low + (int.from_bytes(rng.bytes(16)) * (high - low + 1) >> 128)
            case "float":
                size: float = 10.0 ** float(rng.uniform(-3, 6))
                bottom = None if self.low is None else float(self._number(self.low))
                top = None if self.high is None else float(self._number(self.high))
                if bottom is None and top is None:
                    return float(rng.uniform(-size, size))
                if bottom is None or top is None:
                    return bottom + size if bottom is not None else cast(float, top) - size
                share = float(rng.random())
                return min(top, max(bottom, bottom * (1 - share) + top * share))
            case "bool":
                return bool(rng.integers(2))
            case "category":
                return self.values[int(rng.integers(len(self.values)))]
            case "text":
                letters = rng.integers(97, 123, size=int(rng.integers(0, 12)))
                return "".join(map(chr, letters.tolist()))
            case "date":
                first, last = self._date_ends()
                if isinstance(first, datetime.datetime) and isinstance(last, datetime.datetime):
                    return first + (last - first) * float(rng.random())
                return first + datetime.timedelta(days=int(rng.integers((last - first).days + 1)))


def is_missing(value: object) -> bool:
    """Whether an entry stands for none: None, NaN, NaT or ``pandas.NA``."""
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float | np.floating) and bool(np.isnan(value)))
    )


def same(one: object, other: object) -> bool:
    """Whether two entries are the same category: texts by code points, numbers by value, and True is not 1."""
    return isinstance(one, bool | np.bool_) == isinstance(other, bool | np.bool_) and one == other


def as_time(day: datetime.date) -> datetime.datetime:
    """A day as the time at its beginning; a time as it is."""
    return day if isinstance(day, datetime.datetime) else datetime.datetime(day.year, day.month, day.day)


def bound_text(bound: Bound) -> str:
    """A bound for a message."""
    return exact_text(bound) if isinstance(bound, Fraction) else bound.isoformat()


def _above(one: Bound, other: Bound) -> bool:
    """Whether a bound is strictly above another of the same kind; times with a zone are compared in UTC."""
    if isinstance(one, Fraction) or isinstance(other, Fraction):
        assert isinstance(one, Fraction)
        assert isinstance(other, Fraction)
        return one > other
    if not isinstance(one, datetime.datetime) and not isinstance(other, datetime.datetime):
        return one > other
    return _in_utc(as_time(one)) > _in_utc(as_time(other))


def _in_utc(time: datetime.datetime) -> datetime.datetime:
    return time if time.tzinfo is None else time.astimezone(datetime.UTC).replace(tzinfo=None)


def column_named(columns: Sequence[Column], name: str) -> Column:
    """The column of a name.

    Raises:
        InvalidValue: there is none.
    """
    for column in columns:
        if column.name == name:
            return column
    known = [column.name for column in columns]
    remedy = f"{nearest(name, known)}it has {', '.join(known[:20])}"
    raise InvalidValue("column", name, "a column of the schema", remedy)
