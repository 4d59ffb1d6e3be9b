"""Curves by name: from the words of a command line to tables, files and pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal, final

from dpverdict.audit.comparisons.counter_errors import error_rows, error_sheet
from dpverdict.audit.comparisons.counters import counter_comparison
from dpverdict.audit.comparisons.curves import as_csv, as_json, as_picture, certified_curves, print_curves
from dpverdict.audit.comparisons.ellipses import constant_sheet, ellipse_sheet
from dpverdict.audit.comparisons.picture import picture
from dpverdict.audit.comparisons.sheet import Sheet, print_sheet, sheet_csv, sheet_json
from dpverdict.audit.trials.catalogue import find_white_box, mechanism_classes, option
from dpverdict.errors import InvalidValue
from dpverdict.numerics.text import whole_number

SHEETS: Final[Mapping[str, tuple[str, ...]]] = {
    "counters": ("horizon", "epsilon", "delta", "arity"),
    "ellipses": ("dim",),
    "constants": ("dim",),
}
"""What is compared, and the options it takes; all of them are needed but the arity."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Renderings:
    """What can be done with the curves that were asked for.

    Attributes:
        show: prints them.
        written: the contents of a file, by its kind: csv, json, png, svg.
    """

    show: Callable[[], None]
    written: Mapping[str, Callable[[], str | bytes]]


def curve_renderings(name: str, options: Mapping[str, str | None], *, points: int) -> Renderings:
    """The curves of a mechanism of known structure, or a comparison of `SHEETS`, with every face.

    Raises:
        InvalidValue: there is neither, or an option does not fit.
    """
    sheet = find_sheet(name, options, points=points)
    if sheet is not None:
        return Renderings(
            show=lambda: print_sheet(sheet),
            written={
                "csv": lambda: sheet_csv(sheet),
                "json": lambda: sheet_json(sheet),
                "png": lambda: picture(sheet.title, sheet.panels, kind="png"),
                "svg": lambda: picture(sheet.title, sheet.panels, kind="svg"),
            },
        )
    found, notes = find_white_box(name, options)
    curves = certified_curves(found, points=points)
    errors, rows = error_sheet(found, points=points), error_rows(found, points=points)
    panels = () if errors is None else errors.panels

    def show() -> None:
        print_curves(curves, notes)
        if errors is not None:
            print_sheet(errors, heading=False)

    return Renderings(
        show=show,
        written={
            "csv": lambda: as_csv(curves, rows),
            "json": lambda: as_json(curves, rows),
            "png": lambda: as_picture(curves, "png", panels),
            "svg": lambda: as_picture(curves, "svg", panels),
        },
    )


def find_sheet(name: str, options: Mapping[str, str | None], *, points: int) -> Sheet | None:
    """The comparison that a name and options describe; None if the name is none of `SHEETS`.

    Args:
        name: "counters" (Laplace trees against Gaussian factorisations), "ellipses" (counting queries on records of
            bounded density, Figure 3 of Lebeda 2024), "constants" (the embedding constant C, Figure 2).
        options: the options given, as text.
        points: rows of the tables, about, at least 2.

    Raises:
        InvalidValue: an option that the comparison does not take, a missing one, or one out of range.
    """
    if name not in SHEETS:
        close = get_close_matches(name, SHEETS, n=1, cutoff=0.8)
        if close and name not in mechanism_classes():
            raise InvalidValue("mechanism", name, "a known mechanism or comparison", f"did you mean {close[0]}?")
        return None
    given = {key: text for key, text in options.items() if text is not None}
    for key, text in given.items():
        if key not in SHEETS[name]:
            taken = ", ".join(map(option, SHEETS[name]))
            raise InvalidValue(key, text, f"left out for {name}", f"curve {name} takes {taken}")
    for key in SHEETS[name]:
        if key not in given and key != "arity":
            raise InvalidValue(key, None, f"given for {name}", f"add {option(key)}")
    if name == "counters":
        arity = given.get("arity", "best")
        k: int | Literal["best"] = "best" if arity == "best" else whole_number(arity, "arity", at_least=2)
        horizon = whole_number(given["horizon"], "horizon", at_least=2)
        return counter_comparison(
            horizon=horizon, epsilon=given["epsilon"], delta=given["delta"], arity=k, points=points
        )
    dim = whole_number(given["dim"], "dim", at_least=1)
    return ellipse_sheet(dim=dim, points=points) if name == "ellipses" else constant_sheet(dim=dim, points=points)
