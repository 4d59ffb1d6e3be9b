"""``dpverdict schema``: what a table looks like, as a file to be edited into a promise."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dpverdict.cli.options import option
from dpverdict.cli.session import CommandResult, Outputs, exit_with, printing, say


@exit_with
def schema(
    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help="A .csv, .tsv, .parquet, .feather, .jsonl, .xlsx, .npy or .npz file, one record a row.",
            show_default=False,
        ),
    ],
    adjacency: Annotated[
        str | None,
        option(
            "--adjacency",
            "RELATION",
            "add-or-remove-one or replace-one; if not given, the first, which the file tells you to check.",
            "Schema",
        ),
    ] = None,
    user: Annotated[
        str | None, option("--user", "COLUMN", "Whose a record is, where a user may have several.", "Schema")
    ] = None,
    kind: Annotated[
        str | None,
        option("--table", "numpy|pandas|polars", "What the function takes; pandas if not given.", "Schema"),
    ] = None,
    out: Annotated[Path | None, option("--out", "FILE", "Write it there; else it is printed.", "Output")] = None,
) -> CommandResult:
    """Write the schema of a table: its columns, their types, the bounds and the categories that were seen.

    Bounds are a promise, not an observation: edit what is marked "observed = true", and delete the mark. A verdict that
    rests on a mark says so, and is not "certified".

    For example: dpverdict schema patients.csv --out patients.toml

    Exit codes: 0 written, 2 usage error, also a file that is no table.
    """
    from dpverdict.audit.tables.frames import parse_kind
    from dpverdict.audit.tables.reading import read_frame
    from dpverdict.audit.tables.schema import TableSchema
    from dpverdict.errors import printable
    from dpverdict.mechanisms.core.neighbours import parse_adjacency

    chosen = parse_kind("pandas" if kind is None else kind)
    with Outputs(out=out) as outputs:
        outputs.refuse_overwriting({"the table": table})
        relation = parse_adjacency("add-or-remove-one" if adjacency is None else adjacency)
        made = TableSchema.from_frame(read_frame(table, chosen, name="table"), relation=relation, user=user)
        text = made.to_toml(f"The schema of {Path(table).name}, by dpverdict schema.")
        outputs.write(out=lambda: text)
    if out is None:
        with printing():
            sys.stdout.write(printable(text, sys.stdout.encoding))
    elif made.observed:
        then = f"dpverdict audit release.py:FUNCTION --schema {out} --claim eps=1"
        say(f"note: {len(made.observed)} of {len(made.columns)} columns are only observed: edit {out}, then {then}")
    return CommandResult(code=0)
