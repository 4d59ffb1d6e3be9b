"""A schema as TOML that people edit: what was only observed is marked, and told."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Sequence
from fractions import Fraction

from dpverdict.audit.tables.column import Bound, Column, Value
from dpverdict.numerics.text import plain_text

_OBSERVED = """\
# Bounds and categories marked "observed = true" were only seen in the data. Bounds are a promise, not an observation:
# another table may hold more. Put in what is promised (0 to 120 for an age, every city there is) and delete the mark;
# delete a bound where there is none. A verdict that rests on a mark is never "certified".
"""


def toml_of(
    relation: str,
    table: str,
    records: int | None,
    user: str | None,
    columns: Sequence[Column],
    title: str | None = None,
) -> str:
    """The text of a schema, which is read back as the same schema.

    Args:
        relation: "add-or-remove-one" or "replace-one".
        table, records, user, columns: see `dpverdict.audit.tables.schema.TableSchema`.
        title: what the schema is of, for the comment in the first line; none if left out.
    """
    lines = [] if title is None else [f"# {' '.join(title.split())}"]
    if any(column.observed for column in columns):
        lines += _OBSERVED.splitlines()
    pad = 38
    lines.append(f'relation = "{relation}"'.ljust(pad) + '# or "replace-one", with records = 400 where n is public')
    lines.append(f'table = "{table}"'.ljust(pad) + "# what the function receives: pandas, polars or numpy")
    if records is not None:
        lines.append(f"records = {records}".ljust(pad) + "# the public number of records")
    if user is not None:
        lines.append(f"user = {_text(user)}".ljust(pad) + "# neighbours differ in all records of one user")
    for column in columns:
        lines += ["", f"[columns.{_key(column.name)}]", *_column(column)]
    return "\n".join(lines) + "\n"


def _column(column: Column) -> list[str]:
    lines = [f'type = "{column.type}"']
    if column.low is not None:
        lines.append(f"low = {_bound(column.low, column)}")
    if column.high is not None:
        lines.append(f"high = {_bound(column.high, column)}")
    if column.values:
        lines.append(f"values = [{', '.join(_value(value) for value in column.values)}]")
    lines.append(f"nullable = {str(column.nullable).lower()}")
    if column.dtype is not None:
        lines.append(f"dtype = {_text(column.dtype)}")
    if column.observed:
        lines.append("observed = true")
    return lines


def _bound(bound: Bound, column: Column) -> str:
    if isinstance(bound, Fraction):
        return plain_text(bound) if column.type == "int" else repr(float(bound))
    return _date(bound)


def _date(day: datetime.date) -> str:
    return day.isoformat()


def _value(value: Value) -> str:
    return _text(value) if isinstance(value, str) else repr(value)


def _text(text: str) -> str:
    """A basic string of TOML: JSON escapes all that it must escape, but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)
