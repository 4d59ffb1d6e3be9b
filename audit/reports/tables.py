"""A plain table for the terminal, apart from the faces of a report: what only lists something imports no report."""

from __future__ import annotations

from collections.abc import Mapping

from rich import box
from rich.table import Table
from rich.text import Text


def plain_table(title: str, *columns: str) -> Table:
    """A table with a line under its header and nothing else; long words are folded."""
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def facts_table(named: Mapping[str, str]) -> Table:
    """Names in one column, and what is said of them beside it, with hanging lines."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, said in named.items():
        table.add_row(Text(f"  {name}"), Text(said))
    return table
