"""A table for a function: read as the function takes it, described by a schema, and searched for neighbours."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation

from dpverdict.audit.documents.request import names_a_callable
from dpverdict.audit.implementation.search.table_search import DEFAULT_SECONDS, FoundPair, search_table
from dpverdict.audit.tables.frames import Table, TableKind, kind_of, length_of, library, names_of, to_array
from dpverdict.audit.tables.observed import in_words
from dpverdict.audit.tables.reading import FORMATS, read_frame, reads
from dpverdict.audit.tables.rows import Received, column_names, received_by
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.trials.run import AnyMechanism, unmarked
from dpverdict.audit.trials.user_code import guarded
from dpverdict.audit.trials.user_functions import load_named
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import Guarantee, as_guarantee
from dpverdict.mechanisms.core.neighbours import adjacency_name, check_adjacency
from dpverdict.numerics.stages import begin_stage, shown_in_a_notebook

TESTING: Final = 60.0
"""Seconds that the releases of the test take, about, if no number of releases is given."""
FEWEST: Final = 60
"""Releases of a slow function: 36 that decide tell a key that is there on one table only."""
MOST: Final = 20_000
CLEAR: Final = 0.5
"""The excess of a pair, in standard deviations, from which on `ENOUGH` releases decide."""
ENOUGH: Final = 4_000


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TableForFunction:
    """A table, with what is known of it.

    Attributes:
        table: as it is searched: an array or a frame.
        received: what the function is given.
        schema: of the table; what it was only seen to hold is marked there.
        inferred: whether the schema was inferred from the table.
        source: the file, or "a frame".
    """

    table: Table
    received: Received
    schema: TableSchema
    inferred: bool
    source: str

    def describe(self) -> dict[str, str]:
        """Parameters of a report, in words."""
        given = {"lazy polars": "a lazy frame of polars", "records": "a list of dictionaries", "numpy": "an array"}
        what = given.get(self.received, f"a frame of {self.received}")
        said = {
            "table": f"{self.source}: {length_of(self.table)} records, given to the function as {what}",
            "taken for" if self.inferred else "columns": in_words(self.schema.columns),
        }
        if self.inferred:
            said["what a table may hold"] = (
                "anything of the types of its columns, as no schema says less: --schema FILE states bounds and "
                "categories that are promised (dpverdict schema writes one)"
            )
        if self.schema.user is not None:
            said["user"] = f"neighbours differ in all records of one {self.schema.user}"
        return said


def table_for(
    mechanism: AnyMechanism,
    data: object,
    *,
    adjacency: NeighboringRelation | None,
    schema: TableSchema | str | None = None,
    user: str | None = None,
) -> TableForFunction:
    """The table that a function is audited on.

    Args:
        mechanism: the function; the annotation of its first parameter says what it takes. Without one that is what the
            schema says, or else a frame of pandas, and of a .npy or .npz file an array.
        data: a file of a table, ``module:name``, or a frame or an array.
        adjacency: which tables are neighbours; None for that of the schema.
        schema: of the table, or its file; None to infer one.
        user: the column that says whose a record is; None for that of the schema.

    Raises:
        InvalidValue: no relation, a table that cannot be read, or one that does not fit the schema.
    """
    known = TableSchema.from_toml(schema) if isinstance(schema, str) else schema
    if known is not None:
        known = _restated(known, adjacency, user)
        adjacency = known.relation
    if adjacency is None:
        remedy = "add --adjacency add-or-remove-one or --adjacency replace-one: it changes what is claimed"
        raise InvalidValue("adjacency", None, "given with a table", remedy)
    check_adjacency(adjacency)
    asked = received_by(unmarked(mechanism))
    if not isinstance(data, str):
        return _of_object(data, asked, known, adjacency, user, "a frame")
    if not reads(data):
        if not names_a_callable(data):
            requirement = f"a file of a table ({', '.join(FORMATS)}) or module:name"
            raise InvalidValue("data", data, requirement, "write the table in one of these formats, one record a row")
        return _of_object(_named(data), asked, known, adjacency, user, data)
    array = data.lower().endswith((".npy", ".npz"))
    received: Received = asked or (known.table if known is not None else "numpy" if array else "pandas")
    if received == "numpy" and known is None and not array:  # an array forgets the names of its columns
        frame = read_frame(data, "pandas")
        return _checked(to_array(frame), received, known, adjacency, user, data, names_of(frame))
    table = read_frame(data, _searched_as(received), None if known is None else known.columns)
    return _checked(table, received, known, adjacency, user, data)


def _searched_as(received: Received) -> TableKind:
    kinds: Mapping[str, TableKind] = {"lazy polars": "polars", "records": "pandas"}
    return kinds.get(received, received)  # type: ignore[arg-type]  # the others are kinds of tables


def _restated(schema: TableSchema, adjacency: NeighboringRelation | None, user: str | None) -> TableSchema:
    if adjacency is not None and adjacency is not schema.relation:
        requirement = f"{adjacency_name(schema.relation)}, as the schema says"
        raise InvalidValue("adjacency", adjacency_name(adjacency), requirement, "change one of the two")
    if user is not None and schema.user not in (None, user):
        raise InvalidValue("user", user, f"{schema.user}, as the schema says", "change one of the two")
    return schema if user is None else dataclasses.replace(schema, user=user)


def _named(source: str) -> object:
    found = load_named(source, name="data")
    if not callable(found):
        return found

    def failure(said: str) -> InvalidValue:
        return InvalidValue("data", source, "a function that returns a table", f"it fails with {said}")

    return guarded(found, failure)


def _of_object(
    data: object,
    asked: Received | None,
    known: TableSchema | None,
    adjacency: NeighboringRelation,
    user: str | None,
    source: str,
) -> TableForFunction:
    table: Any = data
    listed = _listed(data)
    if listed and all(isinstance(one, dict) for one in listed):
        table = library("pandas", "a list of records is searched as a frame of it").DataFrame(listed)
        asked = asked or "records"
    kind = kind_of(table)
    if kind is None:
        shown = f"{type(data).__module__}.{type(data).__qualname__}"
        requirement = "an array, a frame of pandas or polars, a list of dictionaries, or the path of a file"
        raise InvalidValue("data", shown, requirement, "convert it")
    if type(table).__name__ == "LazyFrame":
        table, asked = table.collect(), "lazy polars" if asked is None else asked
    wanted, names = _searched_as(asked or kind), names_of(table)
    if wanted != kind:
        table = _converted(table, wanted)
    if known is not None and known.table != wanted:
        known = dataclasses.replace(known, table=wanted)
    if known is not None:
        known.check(table)
    return _checked(table, asked or kind, known, adjacency, user, source, names)


def _listed(data: object) -> list[Any]:
    return data if isinstance(data, list) else []


def _converted(table: Table, wanted: TableKind) -> Table:
    if isinstance(table, np.ndarray):
        names = column_names(table)
        held = table.reshape(len(table), -1)
        module = library(wanted, "the function takes a frame of it")
        return module.DataFrame({name: held[:, i] for i, name in enumerate(names)})
    if wanted == "numpy":
        return to_array(table)
    if wanted == "polars":
        return library("polars", "the function takes a frame of it").from_pandas(table)
    return table.to_pandas()


def _checked(
    table: Table,
    received: Received,
    known: TableSchema | None,
    adjacency: NeighboringRelation,
    user: str | None,
    source: str,
    names: Sequence[str] | None = None,
) -> TableForFunction:
    """The table with its schema; ``names`` are those of the columns in what an array was made of."""
    schema = known or TableSchema.from_frame(table, relation=adjacency)
    if known is None and names is not None:
        columns = zip(schema.columns, names, strict=True)
        schema = dataclasses.replace(
            schema, columns=tuple(dataclasses.replace(column, name=name) for column, name in columns)
        )
    if user is not None:
        _must_have(user, schema)
        schema = dataclasses.replace(schema, user=user)
    kind = kind_of(table)
    assert kind is not None
    if schema.table != kind:
        schema = dataclasses.replace(schema, table=kind)
    if not length_of(table):
        raise InvalidValue(
            "data", source, "a table with records", "it has none: give the real table, or a sample of it"
        )
    return TableForFunction(
        table=table, received=received, schema=schema, inferred=known is None or bool(known.observed), source=source
    )


def _must_have(user: str, schema: TableSchema) -> None:
    known = [column.name for column in schema.columns]
    if user not in known:
        raise InvalidValue("user", user, f"one of the columns {', '.join(known[:20])}", "name a column of the table")


def search_for(
    mechanism: AnyMechanism,
    claim: Guarantee,
    given: TableForFunction,
    *,
    seed: int,
    seconds: float | None = None,
    most: int | None = None,
    watch: Callable[[str], None] = begin_stage,
) -> FoundPair:
    """The pair of neighbours of a table on which a function breaks its claim most clearly; see `search_table`."""
    return search_table(
        mechanism,
        claim,
        data=given.table,
        schema=given.schema,
        received=given.received,
        seed=seed,
        seconds=DEFAULT_SECONDS if seconds is None else seconds,
        most=most,
        watch=watch,
    )


@shown_in_a_notebook("search of neighbours")
def find_neighbours(
    function: AnyMechanism,
    claim: Guarantee | str,
    *,
    data: object,
    adjacency: NeighboringRelation | None = None,
    schema: TableSchema | str | None = None,
    user: str | None = None,
    seed: int,
    seconds: float = DEFAULT_SECONDS,
    most: int | None = None,
) -> FoundPair:
    """Search a real table for the neighbours on which a function breaks its claim most clearly.

    Interrupted in a notebook, it takes the best of the pairs that it has measured so far.

    The runs of the search are thrown away: test the pair on fresh releases, with another seed or not, by
    ``distinguish(found.function, found.pair, claim, ...)``. That is the only test, so that its error probability is
    that of both together. ``found.function`` is the function, or looks in its outcome for a record that it copies.

    Args:
        function: called with a table and a generator of NumPy, or with a table alone. The annotation of its first
            parameter says what it takes: a frame of pandas or polars, an array, or a list of dictionaries.
        claim: what it promises, also as text ("eps=1").
        data: a frame, an array, or the path of a .csv, .parquet, .feather, .jsonl, .xlsx, .npy or .npz file.
        adjacency: ADD_OR_REMOVE_ONE or REPLACE_ONE; may be left out with a schema, which says it.
        schema: what a table may hold, or its file; without one anything of the types of the columns.
        user: the column that says whose a record is: neighbours differ in all records of one user.
        seed: of every random number.
        seconds: on the clock, for the search.
        most: pairs that are measured, at most, in place of ``seconds``: then the same pair is found on any machine.

    Raises:
        InvalidValue: an argument that cannot be used, or a table that cannot be read.
        MechanismFailure: the function cannot be run on any table.
    """
    given = table_for(function, data, adjacency=adjacency, schema=schema, user=user)
    return search_for(function, as_guarantee(claim), given, seed=seed, seconds=seconds, most=most)


def releases_for(found: FoundPair) -> int:
    """Releases on each table that test the pair of a search: fewer where it tells clearly, or where a call is slow.

    They depend on the releases of the search, which the test does not see again.
    """
    in_time = int(TESTING / (2 * max(found.release_seconds, 1e-6)))
    wanted = ENOUGH if found.statistic >= CLEAR else MOST
    return max(FEWEST, min(wanted, in_time))


def search_seconds(text: str | None) -> float | None:
    """The budget of a search, of its text.

    Raises:
        InvalidValue: no number of seconds.
    """
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 1 <= seconds <= 86_400:
        raise InvalidValue("search_time", text, "seconds from 1 to 86400", "write for example --search-time 120")
    return seconds
