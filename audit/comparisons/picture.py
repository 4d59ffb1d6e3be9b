"""Panels of curves as one PNG or SVG picture; the same numbers give the same bytes. Read numbers from the tables."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from dpverdict.audit.comparisons.sheet import Panel, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS: Final = ("#0b6e4f", "#b5651d", "#3b5ba5", "#8b2f5c", "#6b6b6b", "#c49a00", "#111111")
"""Told apart also by most of those who see few colours, and by their lightness in grey."""

_DASHES: Final[dict[str, Any]] = {"solid": "-", "dashed": (0, (5, 2.5)), "dotted": (0, (1, 1.6)), "dots": ""}

# Any: Matplotlib's type for the names of its settings differs between its versions
_SETTINGS: Final[dict[Any, Any]] = {
    "font.size": 10.0,
    "axes.titlesize": 11.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "dpverdict",
}


def draw_picture(title: str, panels: Sequence[Panel], *, kind: Literal["png", "svg"]) -> bytes:
    """The panels side by side, at most two in a row, under a common title."""
    from matplotlib import rc_context, rcdefaults, rcParams
    from matplotlib.figure import Figure

    across = min(2, len(panels))
    down = math.ceil(len(panels) / across)
    with rc_context():
        rcdefaults()
        rcParams.update(_SETTINGS)
        figure = Figure(figsize=(5.2 * across, 3.9 * down + 0.3), layout="constrained")
        places = figure.subplots(down, across, squeeze=False).ravel()
        for axes, panel in zip(places, panels, strict=False):
            _draw_panel(axes, panel)
        for axes in places[len(panels) :]:
            axes.axis("off")
        figure.suptitle(title)
        drawn = io.BytesIO()
        metadata = {"Software": None} if kind == "png" else {"Date": None, "Creator": None}
        figure.savefig(drawn, format=kind, dpi=150, metadata=metadata)
    return drawn.getvalue()


def _draw_panel(axes: Axes, panel: Panel) -> None:
    for curve in panel.curves:
        _draw_curve(axes, curve)
    if panel.log_x:
        axes.set_xscale("log")
    if panel.log_y:
        axes.set_yscale("log")
    if panel.mark is not None:
        at, label = panel.mark
        axes.axvline(at, color=COLOURS[4], linewidth=1, linestyle=(0, (1, 1.6)), label=label)
    axes.set_ylim(bottom=panel.bottom, top=panel.top)
    axes.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
    axes.grid(alpha=0.3)
    if panel.mark is not None or any(curve.label for curve in panel.curves):
        axes.legend()


def _draw_curve(axes: Axes, curve: Series) -> None:
    colour = COLOURS[curve.colour % len(COLOURS)]
    if curve.style == "dots":
        axes.plot(curve.x, curve.y, ".", color=colour, markersize=3, label=curve.label or None)
    else:
        axes.plot(curve.x, curve.y, color=colour, linestyle=_DASHES[curve.style], label=curve.label or None)
