"""Curves by name: from the words of a command line to tables, files and pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal, final

from dpverdict.audit.comparisons.counter_errors import error_rows, error_sheet
from dpverdict.audit.comparisons.counters import counter_comparison
from dpverdict.audit.comparisons.curves import certified_curves, curves_csv, curves_json, curves_picture, print_curves
from dpverdict.audit.comparisons.ellipses import constant_sheet, ellipse_sheet
from dpverdict.audit.comparisons.picture import draw_picture
from dpverdict.audit.comparisons.sheet import ComparisonSheet, print_sheet, sheet_csv, sheet_json
from dpverdict.audit.trials.catalogue import find_white_box, mechanism_classes, option
from dpverdict.errors import InvalidValue
from dpverdict.numerics.text import whole_number

COMPARISONS: Final[Mapping[str, tuple[str, ...]]] = {
    "counters": ("horizon", "epsilon", "delta", "arity"),
    "ellipses": ("dim",),
    "constants": ("dim",),
}
"""What is compared, and the options it takes; all of them are needed but the arity."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CurveRenderings:
    """What can be done with the curves that were asked for.

    Attributes:
        show: prints them, all tables or the first of them.
        written: the contents of a file, by its kind: csv, json, png, svg.
    """

    show: Callable[[bool], None]
    files: Mapping[str, Callable[[], str | bytes]]


def renderings_of_curves(
    name: str, options: Mapping[str, str | None], *, points: int, base_rate: str | None = None
) -> CurveRenderings:
    """The curves of a mechanism of known structure, or a comparison of `COMPARISONS`, with every face.

    Args:
        name: of the mechanism, or of the comparison.
        options: as text.
        points: of each curve.
        base_rate: at which the risk is said, and attacks are marked on the trade-off function; None for neither.

    Raises:
        InvalidValue: there is neither, or an option does not fit.
    """
    sheet = find_comparison(name, options, points=points)
    if sheet is not None:
        if base_rate is not None:
            requirement = f"left out for {name}, which compares many mechanisms"
            raise InvalidValue("base_rate", base_rate, requirement, "name one mechanism")
        return CurveRenderings(
            show=lambda details: print_sheet(sheet, details=details),
            files={
                "csv": lambda: sheet_csv(sheet),
                "json": lambda: sheet_json(sheet),
                "png": lambda: draw_picture(sheet.title, sheet.panels, kind="png"),
                "svg": lambda: draw_picture(sheet.title, sheet.panels, kind="svg"),
            },
        )
    found, notes = find_white_box(name, options)
    curves = certified_curves(found, points=points, base_rate=base_rate)
    errors, rows = error_sheet(found, points=points), error_rows(found, points=points)
    panels = () if errors is None else errors.panels

    def show(details: bool) -> None:
        print_curves(curves, notes)
        if errors is not None:
            print_sheet(errors, heading=False, details=details)

    return CurveRenderings(
        show=show,
        files={
            "csv": lambda: curves_csv(curves, rows),
            "json": lambda: curves_json(curves, rows),
            "png": lambda: curves_picture(curves, "png", panels),
            "svg": lambda: curves_picture(curves, "svg", panels),
        },
    )


def find_comparison(name: str, options: Mapping[str, str | None], *, points: int) -> ComparisonSheet | None:
    """The comparison that a name and options describe; None if the name is none of `COMPARISONS`.

    Args:
        name: "counters" (Laplace trees against Gaussian factorisations), "ellipses" (counting queries on records of
            bounded density, Figure 3 of Lebeda 2024), "constants" (the embedding constant C, Figure 2).
        options: the options given, as text.
        points: rows of the tables, about, at least 2.

    Raises:
        InvalidValue: an option that the comparison does not take, a missing one, or one out of range.
    """
    if name not in COMPARISONS:
        close = get_close_matches(name, COMPARISONS, n=1, cutoff=0.8)
        if close and name not in mechanism_classes():
            raise InvalidValue("mechanism", name, "a known mechanism or comparison", f"did you mean {close[0]}?")
        return None
    given = {key: text for key, text in options.items() if text is not None}
    for key, text in given.items():
        if key not in COMPARISONS[name]:
            taken = ", ".join(map(option, COMPARISONS[name]))
            raise InvalidValue(key, text, f"left out for {name}", f"curve {name} takes {taken}")
    for key in COMPARISONS[name]:
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
