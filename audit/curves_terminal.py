"""The terminal face of the curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpverdict.audit.curves import Curve, Curves
from dpverdict.audit.curves_sheet import Sheet
from dpverdict.audit.curves_sheet import shown as cell_text
from dpverdict.audit.report_numbers import at_least, at_most, shown
from dpverdict.audit.rich_table import plain_table


def print_curves(curves: Curves, notes: Sequence[str] = (), console: Console | None = None) -> None:
    """Both curves as tables of enclosures, with what the claim allows."""
    console = Console() if console is None else console
    console.print(Text(f"{curves.name} claims {curves.claim}: exact curves of the worst neighbours", style="bold"))
    for note in notes:
        console.print(Text(f"note: {note}"))
    console.print(
        _curve_table(curves.profile, "Privacy profile", "epsilon", "delta", "delta, claimed at most", at_most)
    )
    console.print(
        _curve_table(curves.trade_off, "Trade-off function", "alpha", "beta", "beta, claimed at least", at_least)
    )


def print_sheet(sheet: Sheet, console: Console | None = None, *, heading: bool = True) -> None:
    """The tables of a sheet, with its title and notes; numbers rounded to nearest."""
    console = Console() if console is None else console
    if heading:
        console.print(Text(sheet.title, style="bold"))
    for note in sheet.notes:
        console.print(Text(f"note: {note}"))
    for numbers in sheet.tables:
        table = plain_table(numbers.title)
        for i, column in enumerate(numbers.columns):
            plain = all(isinstance(row[i], int | float) or row[i] == "" for row in numbers.rows)
            table.add_column(column, overflow="fold", justify="right" if plain else "left")
        for row in numbers.rows:
            table.add_row(*(Text(cell_text(cell)) for cell in row))
        console.print(table)


def _curve_table(
    curve: Curve, title: str, argument: str, value: str, claimed: str, rounded: Callable[[float], str]
) -> Table:
    table = plain_table(title, argument, f"{value}, certified", claimed)
    for i, (at, allowed) in enumerate(zip(curve.points, curve.claimed, strict=True)):
        table.add_row(f"{at:.6g}", shown(curve.exact[i]), rounded(float(allowed)))
    return table
