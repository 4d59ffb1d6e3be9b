"""A sheet of curves: the same numbers as tables in the terminal, as CSV, as JSON, and as panels of one picture.

The numbers of a sheet are float64, each the nearest to its exact value unless a column says otherwise: they describe,
they do not certify.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.console import Console
from rich.text import Text

from dpverdict.audit.reports.tables import plain_table
from dpverdict.numerics.text import about

SCHEMA_VERSION: Final = 1
"""Of the JSON face of a sheet."""

_MORE: Final = "--details prints more tables, --csv FILE writes all numbers"

Cell = str | int | float
Style = Literal["solid", "dashed", "dotted", "dots"]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One curve: points (x, y) of equal shape (n,), and how it is drawn.

    Attributes:
        label: what the legend calls it; empty to leave it out of the legend.
        x, y: the points, finite.
        style: "solid", "dashed", "dotted", or "dots" for points without a line.
        colour: the number of the colour, the same for curves that belong together.
    """

    label: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    style: Style = "solid"
    colour: int = 0


def finite_series(label: str, x: ArrayLike, y: ArrayLike, style: Style = "solid", colour: int = 0) -> Series:
    """A curve without the points at which it has no finite value."""
    at, value = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    kept = np.isfinite(at) & np.isfinite(value)
    return Series(label, at[kept], value[kept], style, colour)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One coordinate system.

    Attributes:
        title, x, y: what it shows, and the names of the axes.
        curves: what is drawn.
        log_x, log_y: whether an axis is logarithmic.
        bottom, top: where the y axis ends; None to fit the curves.
        mark: an x at which a vertical line is drawn, with its label; None for no line.
    """

    title: str
    x: str
    y: str
    curves: tuple[Series, ...]
    log_x: bool = False
    log_y: bool = False
    bottom: float | None = None
    top: float | None = None
    mark: tuple[float, str] | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NumberTable:
    """A table of texts and numbers; numbers are shown with six digits and written in full."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonSheet:
    """Curves with the tables of their numbers.

    Attributes:
        title: what is shown, in a line.
        notes: what a reader has to know, a sentence each.
        parameters: by name, as texts.
        tables, panels: the numbers and the drawings.
    """

    title: str
    notes: tuple[str, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    tables: tuple[NumberTable, ...]
    panels: tuple[Panel, ...]


def cell_text(cell: Cell) -> str:
    """A cell for a reader, rounded to nearest.

    >>> cell_text(2 / 3), cell_text(1048576), cell_text("Honaker")
    ('0.6667', '1048576', 'Honaker')
    """
    return about(cell) if isinstance(cell, float) and math.isfinite(cell) else str(cell)


def print_sheet(
    sheet: ComparisonSheet, console: Console | None = None, *, heading: bool = True, details: bool = True
) -> None:
    """The tables of a sheet, with its title and notes, numbers rounded to nearest; without details the first table."""
    console = Console() if console is None else console
    if heading:
        console.print(Text(sheet.title, style="bold"))
    for note in sheet.notes:
        console.print(Text(f"note: {note}"))
    for numbers in sheet.tables if details else sheet.tables[:1]:
        drawn = plain_table(numbers.title)
        for i, column in enumerate(numbers.columns):
            plain = all(isinstance(row[i], int | float) or row[i] == "" for row in numbers.rows)
            drawn.add_column(column, overflow="fold", justify="right" if plain else "left", no_wrap=not i)
        for row in numbers.rows:
            drawn.add_row(*(Text(cell_text(cell)) for cell in row))
        console.print(drawn)
    if not details and len(sheet.tables) > 1:
        console.print(Text(f"{_MORE}: {'; '.join(one.title for one in sheet.tables[1:])}"))


def sheet_csv(sheet: ComparisonSheet) -> str:
    """Every number of the tables as CSV with the columns table, row, column, value."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("table", "row", "column", "value"))
    for each in sheet.tables:
        for row in each.rows:
            for column, cell in zip(each.columns[1:], row[1:], strict=True):
                writer.writerow((each.title, row[0], column, repr(cell) if isinstance(cell, float) else cell))
    return text.getvalue()


def sheet_json(sheet: ComparisonSheet) -> str:
    """The sheet as JSON: title, notes, parameters, tables with their rows, panels with their points."""
    content = {
        "schema_version": SCHEMA_VERSION,
        "title": sheet.title,
        "notes": list(sheet.notes),
        "parameters": dict(sheet.parameters),
        "tables": [
            {"title": each.title, "columns": list(each.columns), "rows": [list(row) for row in each.rows]}
            for each in sheet.tables
        ],
        "panels": [_panel_to_dict(panel) for panel in sheet.panels],
    }
    return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _panel_to_dict(panel: Panel) -> dict[str, Any]:  # Any: a part of a JSON document
    curves = [{"label": curve.label, "x": curve.x.tolist(), "y": curve.y.tolist()} for curve in panel.curves]
    return {"title": panel.title, "x": panel.x, "y": panel.y, "curves": curves}


def number_table(title: str, rows: Sequence[tuple[Cell, ...]], *columns: str) -> NumberTable:
    """A table from its rows."""
    return NumberTable(title=title, columns=columns, rows=tuple(rows))
