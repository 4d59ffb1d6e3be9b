"""The sheets of curves by name: from the words of a command line to the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from dpverdict.audit.catalogue import option
from dpverdict.audit.counter_comparison import counter_comparison
from dpverdict.audit.curves_ellipses import constant_sheet, ellipse_sheet
from dpverdict.audit.curves_sheet import Sheet
from dpverdict.audit.option_text import whole_number
from dpverdict.errors import InvalidValue

SHEETS: Final[Mapping[str, tuple[str, ...]]] = {
    "counters": ("horizon", "epsilon", "delta", "arity"),
    "ellipses": ("dim",),
    "constants": ("dim",),
}
"""What is compared, and the options it takes; all of them are needed but the arity."""


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
