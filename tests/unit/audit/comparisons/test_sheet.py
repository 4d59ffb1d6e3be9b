"""The faces of a sheet hold the numbers of its tables."""

import csv
import io
import json

import numpy as np
import pytest
from rich.console import Console

from dpverdict.audit.comparisons.counters import counter_comparison
from dpverdict.audit.comparisons.ellipses import constant_sheet, ellipse_sheet
from dpverdict.audit.comparisons.sheet import ComparisonSheet, finite_series, print_sheet, sheet_csv, sheet_json

COUNTERS = counter_comparison(horizon=2**20, epsilon=1, delta="1e-6", points=5)
ELLIPSES = ellipse_sheet(dim=1000, points=5)
CONSTANTS = constant_sheet(dim=10_000, points=5)
ALL = [COUNTERS, ELLIPSES, CONSTANTS]


def column(sheet: ComparisonSheet, table: int, name: str) -> dict[object, object]:
    """A column of a table by the first cell of each row."""
    found = sheet.tables[table]
    at = found.columns.index(name)
    return {row[0]: row[at] for row in found.rows}


@pytest.mark.parametrize("sheet", ALL, ids=lambda sheet: sheet.title[:12])
def test_json_and_csv_hold_the_numbers_of_the_tables(sheet: ComparisonSheet) -> None:
    content = json.loads(sheet_json(sheet))
    assert [table["rows"] for table in content["tables"]] == [[list(row) for row in t.rows] for t in sheet.tables]
    assert all(len(curve["x"]) == len(curve["y"]) > 0 for panel in content["panels"] for curve in panel["curves"])
    rows = list(csv.reader(io.StringIO(sheet_csv(sheet))))
    assert rows[0] == ["table", "row", "column", "value"]
    assert len(rows) == 1 + sum(len(t.rows) * (len(t.columns) - 1) for t in sheet.tables)


@pytest.mark.parametrize("sheet", ALL, ids=lambda sheet: sheet.title[:12])
def test_the_terminal_shows_every_table_and_note(sheet: ComparisonSheet) -> None:
    text = io.StringIO()
    print_sheet(sheet, Console(file=text, width=400))
    assert sheet.title in text.getvalue()
    assert all(table.title in text.getvalue() for table in sheet.tables)
    assert all(note in text.getvalue() for note in sheet.notes)


def test_points_without_a_value_are_left_out() -> None:
    curve = finite_series("a", [1, 2, 3, np.inf], [1.0, np.nan, 3.0, 4.0])
    assert (curve.x.tolist(), curve.y.tolist()) == ([1.0, 3.0], [1.0, 3.0])
