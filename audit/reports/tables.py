"""A plain table for the terminal, apart from the faces of a report: what only lists something imports no report."""

from __future__ import annotations

from rich import box
from rich.table import Table


def plain_table(title: str, *columns: str) -> Table:
    """A table with a line under its header and nothing else; long words are folded."""
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
