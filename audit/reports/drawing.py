"""Figures of a report: inline SVG without colours of its own, so that one drawing serves light, dark and paper.

Matplotlib draws through its object interface (there is no global figure), and is imported only when a figure is asked
for. Every colour of the drawing is a role, ``var(--exact)`` for example, which the style sheet of the page fills in;
text is text, in the font of the page. The same input gives the same bytes.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Final, final

from dpverdict.numerics.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


ROLES: Final[Mapping[str, str]] = {
    "#010201": "currentColor",
    "#010202": "var(--faint)",
    "#010203": "var(--exact)",
    "#010204": "var(--claim)",
    "#010205": "var(--sample)",
    "#010206": "var(--cell-a)",
    "#010207": "var(--cell-b)",
    "#010208": "var(--cell-c)",
    "#010209": "var(--cell-d)",
    "#010210": "var(--bad)",
    "#010211": "var(--line-a)",
    "#010212": "var(--line-b)",
    "#010213": "var(--line-c)",
    "#010214": "var(--line-d)",
}
"""Stand-in colours of the drawing, and what the style sheet makes of each."""

INK, FAINT, EXACT, CLAIM, SAMPLE, *_OTHERS = ROLES
CELLS, BAD = _OTHERS[:4], _OTHERS[4]
LINES = (EXACT, SAMPLE, *_OTHERS[5:])
"""Of curves that are compared."""

SIZE: Final = (5.0, 3.9)
"""Inches: small enough to stay readable on a phone, where the whole drawing is scaled to the width of the page."""

# Any: Matplotlib's type for the names of its settings differs between its versions
_SETTINGS: Final[dict[Any, Any]] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10.0,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": FAINT,
    "grid.alpha": 0.35,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 9.0,
}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PlotLine:
    """A curve to draw.

    Attributes:
        x, y: of equal shape (n,).
        label: in the legend.
        dots: the points (x, y) that it goes through where it is interpolated between them; None where it is not.
    """

    x: Array
    y: Array
    label: str
    dots: tuple[Array, Array] | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A point to draw the eye to: what is claimed, what was measured, or the worst violation.

    Attributes:
        x, y: where.
        label: in the legend.
        role: its colour, one of `ROLES`.
        promised: what the claim allows at the same x, which a line joins to the point; None for no line.
    """

    x: float
    y: float
    label: str
    role: str
    promised: float | None = None


@final
@dataclass(frozen=True, slots=True)
class PlotBox:
    """A rectangle of a trade-off plot, in which a measured point of the trade-off function lies."""

    alpha_lower: float
    alpha_upper: float
    beta_lower: float
    beta_upper: float


def _draw_lines(axes: Axes, claimed: PlotLine, exact: PlotLine | None, marks: Sequence[Mark]) -> None:
    """The curves, and the marks above them; what is not a positive number on a logarithmic axis is left out."""
    if exact is not None:
        axes.plot(exact.x, exact.y, color=EXACT, linewidth=3.2, solid_capstyle="round", label=exact.label)
        if exact.dots is not None:
            axes.plot(*exact.dots, color=EXACT, marker="o", markersize=4.5, linestyle="")
    axes.plot(claimed.x, claimed.y, color=CLAIM, linewidth=1.5, linestyle=(0, (5, 2.5)), label=claimed.label)
    for mark in marks:
        if mark.promised is not None:
            axes.plot([mark.x, mark.x], [mark.promised, mark.y], color=mark.role, linewidth=1.6)
        axes.plot(mark.x, mark.y, color=mark.role, marker="D", markersize=6, linestyle="", label=mark.label, zorder=5)


def trade_off_figure(
    *, claimed: PlotLine, exact: PlotLine | None, boxes: Sequence[PlotBox], marks: Sequence[Mark], name: str
) -> str:
    """Type II error against type I error: what the claim allows, what is exact, what was measured."""

    def draw(axes: Axes) -> None:
        from matplotlib.patches import Rectangle

        axes.plot([0, 1], [1, 0], color=FAINT, linewidth=1, linestyle=(0, (1, 2)), label="perfect privacy")
        _draw_lines(axes, claimed, exact, marks)
        for i, box in enumerate(boxes):
            corner = (box.alpha_lower, box.beta_lower)
            sides = (box.alpha_upper - box.alpha_lower, box.beta_upper - box.beta_lower)
            axes.add_patch(Rectangle(corner, *sides, facecolor=SAMPLE, edgecolor=SAMPLE, alpha=0.35, linewidth=0.8))
            label = "measured, confidence rectangles" if i == 0 else None
            middle = (box.alpha_lower + box.alpha_upper) / 2, (box.beta_lower + box.beta_upper) / 2
            axes.plot(*middle, color=SAMPLE, marker="o", markersize=3, linestyle="", label=label)
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        axes.set(xlabel="false alarms (alpha)", ylabel="members that are missed (beta)")
        axes.legend(loc="upper right")

    parts = ["the claimed trade-off function", *(["the exact one"] if exact is not None else [])]
    parts += [f"{len(boxes)} measured confidence rectangles"] if boxes else []
    parts += [mark.label for mark in marks]
    description = f"The share of members missed at every share of false alarms: {', '.join(parts)}. Higher is better."
    return draw_svg(draw, title="Trade-off function", description=description, name=name)


def profile_figure(
    *,
    claimed: PlotLine,
    exact: PlotLine | None,
    measured: PlotLine | None,
    marks: Sequence[Mark],
    floor: float,
    name: str,
) -> str:
    """delta against epsilon, delta on a logarithmic scale from ``floor`` to 1; what is 0 there is not drawn."""

    def draw(axes: Axes) -> None:
        axes.set_yscale("log")
        if measured is not None:
            axes.plot(measured.x, measured.y, color=SAMPLE, linewidth=2.2, label=measured.label)
        _draw_lines(axes, claimed, exact, marks)
        axes.set(xlim=(0, float(claimed.x[-1])), ylim=(floor, 2), xlabel="epsilon", ylabel="delta")
        _label_powers(axes)
        axes.legend(loc="best")

    named = [claimed.label, *(one.label for one in (exact, measured) if one is not None), *(one.label for one in marks)]
    description = f"delta at every epsilon: {', '.join(named)}. Lower is better."
    return draw_svg(draw, title="Privacy profile", description=description, name=name)


def attack_figure(*, claimed: PlotLine, exact: PlotLine | None, marks: Sequence[Mark], least: float, name: str) -> str:
    """What the best attack finds against its false alarms, both on a logarithmic scale from ``least`` to 1."""

    def draw(axes: Axes) -> None:
        axes.set(xscale="log", yscale="log", xlim=(least, 1.2), ylim=(least, 1.6))
        axes.plot([least, 1], [least, 1], color=FAINT, linewidth=1, linestyle=(0, (1, 2)), label="perfect privacy")
        _draw_lines(axes, claimed, exact, marks)
        axes.set(xlabel="false alarms (alpha)", ylabel="members that are found (1 - beta)")
        _label_powers(axes)
        axes.legend(loc="lower right")

    named = [claimed.label, *([] if exact is None else [exact.label]), *(one.label for one in marks)]
    description = f"The share of members found at every share of false alarms: {', '.join(named)}. Lower is better."
    return draw_svg(draw, title="Attacks with few false alarms", description=description, name=name)


def compared_figure(
    lines: Sequence[PlotLine], *, claimed: PlotLine, x: str, y: str, floor: float | None, title: str, name: str
) -> str:
    """Curves of several mechanisms; an earlier one is drawn thicker, so that it is seen below one that is the same.

    Args:
        lines: one for each mechanism.
        claimed: what is claimed of all.
        x: what the axes say.
        y: what the axes say.
        floor: of a logarithmic scale up to 1; None for a linear one.
        title: what is drawn.
        name: prefix of the identifiers in the drawing, unique on the page.
    """

    def draw(axes: Axes) -> None:
        for i, line in enumerate(lines):
            role, width = LINES[i % len(LINES)], 1.8 + 2.2 * (len(lines) - 1 - i) / max(len(lines) - 1, 1)
            style = "-" if i < len(LINES) else (0, (3, 1, 1, 1))
            axes.plot(line.x, line.y, color=role, linewidth=width, linestyle=style, label=line.label)
            if line.dots is not None:
                axes.plot(*line.dots, color=role, marker="o", markersize=4, linestyle="")
        axes.plot(claimed.x, claimed.y, color=CLAIM, linewidth=1.5, linestyle=(0, (5, 2.5)), label=claimed.label)
        axes.set(xlabel=x, ylabel=y, xlim=(0, float(claimed.x[-1])))
        if floor is not None:
            axes.set(yscale="log", ylim=(floor, 2))
            _label_powers(axes)
        axes.legend(loc="best")

    description = f"{title} of {', '.join(line.label for line in lines)}, and {claimed.label}."
    return draw_svg(draw, title=title, description=description, name=name)


def _label_powers(axes: Axes) -> None:
    """Powers of ten as 1e-6 on each logarithmic axis, and nothing between them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "log":
            axis.set_major_locator(LogLocator(base=10, numticks=8))
            axis.set_major_formatter(FuncFormatter(lambda y, _: "1" if y == 1 else f"1e{round(math.log10(y))}"))
            axis.set_minor_locator(NullLocator())


def covariance_figure(rows: Sequence[str], *, letters: Mapping[str, str], name: str) -> str:
    """A schematic matrix: one string per row, one letter per cell, equal letters for equal entries, a dot for 0.

    Args:
        rows: of equal length, for example ``("abbc", "babc", "bbac", "cccd")``.
        letters: what each letter stands for, in words.
        name: prefix of the identifiers in the drawing, unique on the page.
    """

    def draw(axes: Axes) -> None:
        from matplotlib.patches import Rectangle

        shades = dict(zip(letters, CELLS, strict=False))
        for i, row in enumerate(rows):
            for j, letter in enumerate(row):
                shade = shades.get(letter)
                cell = Rectangle((j, i), 0.94, 0.94, facecolor=shade or "none", edgecolor=FAINT, linewidth=0.5)
                axes.add_patch(cell)
                axes.text(j + 0.47, i + 0.49, letter if shade else "0", ha="center", va="center", fontsize=9)
        axes.set(xlim=(-0.1, len(rows[0]) + 0.1), ylim=(len(rows) + 0.1, -0.1), aspect="equal")
        axes.axis("off")

    words = "; ".join(f"{letter} is {meaning}" for letter, meaning in letters.items())
    side = 0.36 * len(rows)
    return draw_svg(draw, title="Structure of the covariance", description=words, name=name, size=(side, side))


def draw_svg(
    draw: Callable[[Axes], None], *, title: str, description: str, name: str, size: tuple[float, float] = SIZE
) -> str:
    """An inline SVG of what ``draw`` puts on the axes, in the style of the page; ``name`` prefixes its identifiers."""
    from matplotlib import rc_context, rcdefaults, rcParams
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with rc_context():  # the SVG backend takes some settings from nowhere else; a user's own do not count here
        rcdefaults()
        rcParams.update({**_SETTINGS, "svg.hashsalt": name})
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        axes.grid(True)
        draw(axes)
        drawing = io.StringIO()
        figure.savefig(drawing, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return _drawing_in_page(drawing.getvalue(), title=title, description=description, name=name)


def _drawing_in_page(drawing: str, *, title: str, description: str, name: str) -> str:
    """The drawing as part of a page: no prologue, no size, own identifiers, roles for colours, a text alternative."""
    body = drawing[drawing.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    for stand_in, role in ROLES.items():
        body = body.replace(stand_in, role)
    body = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", body, flags=re.DOTALL)  # it would style the whole page
    body = re.sub(r" font-family: [^;\"]*;", "", body)
    body = re.sub(r'(id="|xlink:href="#|url\(#)', rf"\1{name}-", body)
    view = re.search(r'viewBox="([^"]*)"', body)
    assert view is not None
    head = (
        f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" xmlns="http://www.w3.org/2000/svg" viewBox="{view[1]}" '
        f'role="img" aria-labelledby="{name}-title {name}-description">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-description">{escape(description)}</desc>'
    )
    return head + body[body.index(">") + 1 :].strip()
