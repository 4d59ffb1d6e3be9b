"""A schema: which tables a claim speaks about, by the type of each column and the values it may hold.

As a file, in TOML:

    relation = "add-or-remove-one"        # or "replace-one", with records = 400 where n is public
    table = "pandas"                      # or "numpy", "polars"
    user = "patient"                      # left out: every record is one of its own user's

    [columns.patient]
    type = "text"
    [columns.age]
    type = "int"                          # int, float, bool, category, text, date
    low = 0
    high = 120
    nullable = false
    [columns.city]
    type = "category"
    values = ["Oslo", "Rome"]
    observed = true                       # the categories were only seen in some data: nobody promises them
"""

from __future__ import annotations

import itertools
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Self, cast, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation

from dpverdict.audit.tables.column import Column, ColumnType, Value, column_named
from dpverdict.audit.tables.fit import must_fit_schema
from dpverdict.audit.tables.frames import (
    Record,
    Table,
    TableKind,
    array_type,
    build,
    common_type,
    kind_of,
    length_of,
    parse_kind,
)
from dpverdict.audit.tables.models import pandera_columns, pydantic_columns
from dpverdict.audit.tables.observed import observed_columns
from dpverdict.audit.tables.schema_text import toml_of
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, adjacency_name, check_adjacency, parse_adjacency
from dpverdict.numerics.files import read_limited
from dpverdict.suggestions import nearest

LARGEST_SCHEMA: Final = 2**24
"""Bytes of the file, at most."""

_KEYS: Final = ("relation", "table", "records", "user", "columns")
_COLUMN_KEYS: Final = ("type", "low", "high", "values", "nullable", "dtype", "observed")
_MOST_CORNERS: Final = 32
_RELATIONS: Final = ("add-or-remove-one", "replace-one")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TableSchema:
    """Which tables there may be, and which of them are neighbours.

    Attributes:
        relation: ADD_OR_REMOVE_ONE or REPLACE_ONE.
        table: what the function receives: an array of NumPy, or a frame of pandas or polars.
        columns: in their order; the names differ.
        records: the public number of records under REPLACE_ONE; None where it is not stated.
        user: the column that says whose a record is, where a user may have several; None: each record is a user's only.

    Raises:
        InvalidValue: no columns, two of one name, records under ADD_OR_REMOVE_ONE, a user that is no column, or columns
            that an array of NumPy cannot hold side by side.
    """

    relation: NeighboringRelation
    table: TableKind
    columns: tuple[Column, ...]
    records: int | None = None
    user: str | None = None

    def __post_init__(self) -> None:
        check_adjacency(self.relation)
        parse_kind(self.table)
        if not self.columns:
            remedy = "describe each column, as [columns.age] in a file"
            raise InvalidValue("columns", None, "given: one or more", remedy)
        names = [column.name for column in self.columns]
        for i, name in enumerate(names):
            if name in names[:i]:
                raise InvalidValue("columns", name, "the name of one column only", "rename one of the columns")
        records: object = self.records
        if records is not None:
            if not isinstance(records, int) or isinstance(records, bool) or records < 1:
                raise InvalidValue("records", records, "a whole number >= 1", "give the public number of records")
            if self.relation is not REPLACE_ONE:
                remedy = 'leave it out, or write relation = "replace-one"'
                requirement = "left out under add-or-remove-one, where the number of records differs"
                raise InvalidValue("records", self.records, requirement, remedy)
        if self.user is not None and self.user not in names:
            remedy = f"{nearest(str(self.user), names)}name the column that says whose a record is"
            raise InvalidValue("user", self.user, f"one of the columns {', '.join(names[:20])}", remedy)
        if self.table == "numpy" and len(self.columns) > 1:
            self._check_array()

    def _check_array(self) -> None:
        shared = common_type(self.columns)
        for column in self.columns:
            kind = array_type(column)
            if kind != shared and kind.kind not in "biuf":
                requirement = "a column of numbers, as an array holds one type"
                remedy = 'write table = "pandas" or table = "polars", or encode the column as numbers'
                raise InvalidValue(f"columns.{column.name}.type", column.type, requirement, remedy)
            if shared.kind == "f" and kind.kind in "iu":
                exact = 2 ** (np.finfo(shared).nmant + 1)
                ends = [end for end in (column.low, column.high) if end is not None]
                if any(abs(cast(Any, end)) > exact for end in ends):
                    requirement = f"within +-{exact}, beyond which an array of {shared} does not hold every integer"
                    raise InvalidValue(
                        f"columns.{column.name}", ends, requirement, "give all columns one integer dtype"
                    )

    def column(self, name: str) -> Column:
        """The column of a name.

        Raises:
            InvalidValue: there is none.
        """
        return column_named(self.columns, name)

    @property
    def observed(self) -> tuple[str, ...]:
        """The columns whose bounds or categories nobody promises: a verdict that rests on them is not certified."""
        return tuple(column.name for column in self.columns if column.observed)

    def dataset(self, rows: Sequence[Record]) -> Table:
        """A table of the records, each a mapping from the names of the columns to entries; also of none.

        An array has the shape (n,) for one column, else (n, d) in the order of the columns.

        Raises:
            InvalidValue: a record with other entries than the columns, or one that its type cannot hold.
        """
        return build(self.table, self.columns, rows)

    def random_record(self, rng: np.random.Generator) -> dict[str, Value]:
        """A record that a table may hold, often with entries at the ends of what its columns allow."""
        return {column.name: column.random_value(rng) for column in self.columns}

    def extreme_records(self) -> list[dict[str, Value]]:
        """Records at the ends of what a table may hold, always the same ones in the same order.

        The corners come first, with a number at its high or low end, where there are at most 32 of them; then one
        record for each extreme entry of each column (ends, 0, every category, missing), all others at their first.
        """
        extremes = {column.name: column.extremes() for column in self.columns}
        ends = [extremes[column.name][:2] for column in self.columns]
        count = 1
        for pair in ends:
            count *= len(pair)
        if count <= _MOST_CORNERS:
            made = list(itertools.product(*ends))
        else:
            made = [tuple(pair[0] for pair in ends), tuple(pair[-1] for pair in ends)]
        first = tuple(values[0] for values in extremes.values())
        for place, values in enumerate(extremes.values()):
            made += [(*first[:place], value, *first[place + 1 :]) for value in values]
        found: dict[str, tuple[Value, ...]] = {}
        for entry in made:
            found.setdefault(repr(entry), entry)
        return [dict(zip(extremes, entry, strict=True)) for entry in found.values()]

    def check(self, table: Table) -> None:
        """Raise unless a table is one of this schema.

        Raises:
            InvalidValue: the first thing that does not fit: column, row (from 0), value, requirement, remedy.
        """
        must_fit_schema(table, self.table, self.columns, self.records)

    def to_toml(self, title: str | None = None) -> str:
        """The schema as a file, which `from_toml` reads back; what was only observed is marked, and told in a comment.

        Args:
            title: what the schema is of, for the first line; none if left out.
        """
        relation = adjacency_name(self.relation)
        return toml_of(relation, self.table, self.records, self.user, self.columns, title)

    @classmethod
    def from_frame(cls, table: Table, *, relation: NeighboringRelation, user: str | None = None) -> Self:
        """What a table looks like: its types, and the bounds and categories that were seen, marked as observed.

        Columns of an array are called value, or column0, column1, ... Under REPLACE_ONE the number of records is taken
        for public.

        Args:
            table: an array of shape (n,) or (n, d), or a frame of pandas or polars.
            relation: which tables are neighbours.
            user: the column that says whose a record is.

        Raises:
            InvalidValue: no such table, two columns of one name, or a column of several types.
        """
        columns, kind = observed_columns(table), kind_of(table)
        assert kind is not None  # or there are no columns
        records = length_of(table) if relation is REPLACE_ONE else None
        return cls(relation=relation, table=kind, columns=columns, records=records, user=user)

    @classmethod
    def from_pandera(
        cls,
        model: Any,  # a class of an optional library
        *,
        relation: NeighboringRelation,
        table: TableKind = "pandas",
        records: int | None = None,
        user: str | None = None,
    ) -> Self:
        """The columns of a ``DataFrameSchema`` or a ``DataFrameModel`` of pandera, see `models.pandera_columns`."""
        return cls(relation=relation, table=table, columns=pandera_columns(model), records=records, user=user)

    @classmethod
    def from_pydantic(
        cls,
        model: Any,  # a class of an optional library
        *,
        relation: NeighboringRelation,
        table: TableKind = "pandas",
        records: int | None = None,
        user: str | None = None,
    ) -> Self:
        """A column for each field of a model of pydantic, which is one record, see `models.pydantic_columns`."""
        return cls(relation=relation, table=table, columns=pydantic_columns(model), records=records, user=user)

    @classmethod
    def from_toml(cls, source: str | os.PathLike[str]) -> Self:
        """Read a schema from a file, or from the text of one (which has more than one line).

        Numbers are read as exact decimals.

        Raises:
            InvalidValue: what cannot be read or is no schema, with the file, the key, the value and the remedy.
        """
        if isinstance(source, str) and "\n" in source:
            return cls._from_text(source, "the schema")
        path = str(source)
        if not Path(path).is_file():
            remedy = f"there is no such file; dpverdict schema TABLE > {Path(path).name} writes one of a table"
            raise InvalidValue("schema", path, "a TOML file", remedy)
        try:
            text = read_limited(path, "schema", LARGEST_SCHEMA).decode("utf-8")
        except UnicodeDecodeError as error:
            remedy = f"reading it fails with {type(error).__name__} at byte {error.start}"
            raise InvalidValue("schema", path, "a file of UTF-8 text", remedy) from None
        return cls._from_text(text, path)

    @classmethod
    def _from_text(cls, text: str, where: str) -> Self:
        try:
            given = tomllib.loads(text, parse_float=Decimal)
        except (ValueError, RecursionError) as error:
            raise InvalidValue("schema", where, "a TOML file", " ".join(str(error).split())) from None
        try:
            return cls._from_table(given)
        except InvalidValue as error:
            raise InvalidValue(f"{where}: {error.name}", error.value, error.requirement, error.remedy) from None

    @classmethod
    def _from_table(cls, given: Mapping[str, Any]) -> Self:
        _only(given, _KEYS, "", "a schema")
        for key, example in {"relation": '"add-or-remove-one"', "table": '"pandas"', "columns": None}.items():
            if key not in given:
                remedy = f"write {key} = {example} at the top" if example else "write [columns.NAME] for each column"
                raise InvalidValue(key, None, "given", remedy)
        relation = given["relation"]
        if not isinstance(relation, str):
            raise InvalidValue("relation", relation, "a text", 'write relation = "add-or-remove-one"')
        if relation.strip().lower().replace("_", "-") not in _RELATIONS:
            remedy = f"{nearest(relation, _RELATIONS)}write the neighbouring relation in full"
            raise InvalidValue("relation", relation, f"one of {', '.join(_RELATIONS)}", remedy)
        described = given["columns"]
        if not isinstance(described, dict):
            raise InvalidValue("columns", described, "a table", "write [columns.NAME] for each column")
        return cls(
            relation=parse_adjacency(relation),
            table=given["table"],
            columns=tuple(_column(name, entry) for name, entry in described.items()),
            records=given.get("records"),
            user=given.get("user"),
        )


def _column(name: str, given: object) -> Column:
    key = f"columns.{name}"
    if not isinstance(given, dict):
        raise InvalidValue(key, given, "a table", f'write [columns.{name}] and below it type = "int"')
    entry = cast("dict[str, Any]", given)
    _only(entry, _COLUMN_KEYS, f"{key}.", "a column")
    if "type" not in entry:
        raise InvalidValue(f"{key}.type", None, "given", 'write type = "int", float, bool, category, text or date')
    values = entry.get("values", ())
    if not isinstance(values, list | tuple):
        raise InvalidValue(f"{key}.values", values, "a list of categories", 'write values = ["a", "b"]')
    plain = tuple(float(one) if isinstance(one, Decimal) else one for one in cast("list[Any]", values))
    return Column(
        name=name,
        type=cast(ColumnType, entry["type"]),
        low=entry.get("low"),
        high=entry.get("high"),
        values=plain,
        nullable=entry.get("nullable", False),
        dtype=entry.get("dtype"),
        observed=entry.get("observed", False),
    )


def _only(given: Mapping[str, object], known: Sequence[str], prefix: str, what: str) -> None:
    for key, value in given.items():
        if key not in known:
            remedy = f"{nearest(key, known)}{what} has {', '.join(known)}"
            raise InvalidValue(f"{prefix}{key}", value, f"a key of {what}", remedy)
