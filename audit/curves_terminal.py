"""The terminal faces of the curves and of the catalogue of mechanisms."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpverdict.audit.catalogue import CALIBRATIONS, ZOO, mechanism_classes, option
from dpverdict.audit.curves import Curve, Curves
from dpverdict.audit.curves_sheet import Sheet
from dpverdict.audit.curves_sheet import shown as cell_text
from dpverdict.audit.report_numbers import at_least, at_most, shown
from dpverdict.mechanisms import broken
from dpverdict.mechanisms.mutant import Mutant

LARGEST_DIM_SHOWN: Final = 9
"""The list says in which dimensions up to this a known-wrong mechanism is in fact private."""


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
        table = _table(numbers.title)
        for i, column in enumerate(numbers.columns):
            plain = all(isinstance(row[i], int | float) or row[i] == "" for row in numbers.rows)
            table.add_column(column, overflow="fold", justify="right" if plain else "left")
        for row in numbers.rows:
            table.add_row(*(Text(cell_text(cell)) for cell in row))
        console.print(table)


def print_catalogue(console: Console | None = None) -> None:
    """Every mechanism with its source and parameters, and the known-wrong ones with the privacy they really have."""
    console = Console() if console is None else console
    table = _table("Mechanisms", "name", "source", "parameters")
    for name, mechanism in mechanism_classes().items():
        ways = [mechanism, *(getattr(mechanism, way) for way in CALIBRATIONS if hasattr(mechanism, way))]
        parameters = [" ".join(map(option, inspect.signature(way).parameters)) for way in ways[:1]]
        if len(ways) > 1:
            own = " ".join(map(option, inspect.signature(ways[1]).parameters))
            parameters.append(f"or --calibration {'|'.join(CALIBRATIONS)} {own}")
        table.add_row(Text(name), Text(mechanism.source), Text("\n".join(parameters)))
    console.print(table)
    console.print()
    zoo = _table(
        "Known-wrong variants (--dim and --mu)",
        "name",
        "what is wrong",
        "true mu^2",
        f"refutable at mu = 1, d <= {LARGEST_DIM_SHOWN}",
    )
    for mutant in broken.ALL:
        zoo.add_row(Text(ZOO + mutant.name), Text(mutant.title), Text(mutant.formula), Text(_refutable(mutant)))
    console.print(zoo)
    console.print(Text("d is --dim, mu is --mu, r = sqrt d, j* = (d + r)/2.", style="dim"))


def _curve_table(
    curve: Curve, title: str, argument: str, value: str, claimed: str, rounded: Callable[[float], str]
) -> Table:
    table = _table(title, argument, f"{value}, certified", claimed)
    for i, (at, allowed) in enumerate(zip(curve.points, curve.claimed, strict=True)):
        table.add_row(f"{at:.6g}", shown(curve.exact[i]), rounded(float(allowed)))
    return table


def _refutable(mutant: Mutant) -> str:
    dims = range(mutant.least_dim, LARGEST_DIM_SHOWN + 1)
    private = [d for d in dims if not mutant.refutable(d)]
    if len(private) == len(dims):
        return "none"
    start = "all" if mutant.least_dim == 1 else f"all from d = {mutant.least_dim}"
    return f"{start} but d = {', '.join(map(str, private))}" if private else start


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
