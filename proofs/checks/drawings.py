"""Drawings inside the page of the ledger, without fonts, scripts or network: formulas, and what results look like.

The optimum OPT against Algorithm 1, R1SMG's true delta, and the boundary of the classic Gaussian.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from dpverdict.audit.reports.drawing import CLAIM, EXACT, FAINT, draw_svg
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.queries.count_ellipse import least_ellipse_variance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COMMANDS = {1: "M", 2: "L", 3: "Q", 4: "C", 79: "Z"}
_SIZE = 16.0


def formula_svg(formula: str) -> str:
    """A formula in the LaTeX subset of Matplotlib's mathtext as an inline SVG in the colour of the text around it.

    Raises:
        InvalidValue: the formula uses what that subset does not have.

    >>> formula_svg("x^2").startswith("<svg")
    True
    """
    from matplotlib import rc_context
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    with rc_context({"mathtext.fontset": "dejavusans", "text.usetex": False}):
        try:
            path = TextPath((0, 0), f"${formula}$", size=_SIZE, prop=FontProperties(family="DejaVu Sans"))
        except ValueError as error:
            words = " ".join(str(error).split())
            raise InvalidValue("formula", formula, "in the LaTeX subset of Matplotlib's mathtext", words) from error
    parts = []
    for points, code in path.iter_segments(curves=True, simplify=False):
        pairs = [f"{x:.1f} {-y:.1f}" for x, y in points.reshape(-1, 2)] if code != 79 else []
        parts.append(_COMMANDS[int(code)] + " ".join(pairs))
    box = path.get_extents()
    left, top, width, height = box.x0 - 1, -box.y1 - 1, box.width + 2, box.height + 2
    return (
        f'<svg class="formula" role="img" viewBox="{left:.1f} {top:.1f} {width:.1f} {height:.1f}" '
        f'style="width:{width / _SIZE:.2f}em"><title>{escape(formula)}</title>'
        f'<path fill="currentColor" d="{"".join(parts)}"/></svg>'
    )


def optimum_figure() -> str:
    """d (Algorithm 1 - OPT(d, d)) for d = 1..120, below 1/4: an inline SVG."""
    dims = list(range(1, 121))
    gaps = [dim * ((dim**0.5 + 1) ** 2 / 4 - least_ellipse_variance(dim, dim).nearest()) for dim in dims]

    def draw(axes: Axes) -> None:
        axes.vlines(dims, 0, gaps, color=EXACT, linewidth=1.6, label="d (Algorithm 1 - OPT)")
        axes.axhline(0.25, color=CLAIM, linewidth=1.5, linestyle=(0, (5, 2.5)), label="1/4")
        axes.set(xlabel="d", ylabel="d times the gap", ylim=(0, 0.3))
        axes.legend(loc="upper right")

    words = "d times the variance of Algorithm 1 minus the optimum: 0 at squares, near 1/4 beside them, never above."
    return draw_svg(draw, title="Algorithm 1 against the optimum", description=words, name="lebeda2024-optimum")


def density_figure() -> str:
    """Variances at d = 1000 over the density k, relative to the standard mechanism: an inline SVG."""
    dim = 1000
    density = [1, *range(10, dim + 1, 10)]
    best = [least_ellipse_variance(dim, k).nearest() / k for k in density]
    ours = (dim**0.5 + 1) ** 2 / 4

    def draw(axes: Axes) -> None:
        axes.plot(density, best, color=EXACT, linewidth=3.2, label="OPT(1000, k)")
        axes.plot(density, [ours / k for k in density], color=CLAIM, linestyle=(0, (5, 2.5)), label="Algorithm 1")
        axes.axvline(dim / 2, color=FAINT, linewidth=0.8)
        axes.set(xlabel="k", ylabel="variance / k", ylim=(0, 1.5), xlim=(0, dim))
        axes.legend(loc="upper right")

    words = "The optimum falls from 1 at k = 1 to 0.266 at k = 1000; Algorithm 1 joins it soon after k = 500."
    return draw_svg(
        draw, title="Variance relative to the standard mechanism", description=words, name="lebeda2024-density"
    )


def _table(caption: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """The numbers of a drawing as a table of the page."""
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f'<td class="number">{escape(c)}</td>' for c in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll"><table class="grid"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def optimum_curve_figure() -> str:
    """The variance of a query over d: the optimum and Algorithm 1, relative to the standard mechanism's d."""
    dims = list(range(1, 41))
    best = [least_ellipse_variance(dim, dim).nearest() / dim for dim in dims]
    ours = [(dim**0.5 + 1) ** 2 / (4 * dim) for dim in dims]

    def draw(axes: Axes) -> None:
        axes.plot(dims, best, color=EXACT, marker="o", markersize=3.5, linewidth=1.2, label="OPT(d, d), certified")
        axes.plot(dims, ours, color=CLAIM, linewidth=1.5, linestyle=(0, (5, 2.5)), label="Algorithm 1")
        axes.axhline(0.25, color=FAINT, linewidth=0.8)
        axes.set(xlabel="d", ylabel="variance of a query / d", ylim=(0.2, 1.05), xlim=(0, 41))
        axes.legend(loc="upper right")

    words = (
        "The variance of a query relative to the standard mechanism, d = 1..40: Algorithm 1 lies on the optimum at the "
        "squares 1, 4, 9, 16, 25, 36 and hardly above it elsewhere; both tend to 1/4."
    )
    drawing = draw_svg(draw, title="The optimum and Algorithm 1", description=words, name="new_results-optimum")
    rows = [
        (str(dim), f"{least_ellipse_variance(dim, dim).nearest():.6f}", f"{(dim**0.5 + 1) ** 2 / 4:.6f}")
        for dim in (1, 2, 3, 4, 5, 8, 9, 10, 16, 100)
    ]
    return drawing + _table("Variance of a query at mu = 1", ("d", "OPT(d, d)", "Algorithm 1"), rows)


def true_delta_figure(deltas: Mapping[int, float], *, claimed: float) -> str:
    """R1SMG's true delta(1) over the dimension, certified lower bounds, against the claimed one."""
    dims = sorted(deltas)

    def draw(axes: Axes) -> None:
        from matplotlib.ticker import LogLocator, NullLocator

        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.plot(dims, [deltas[m] for m in dims], color=EXACT, marker="o", markersize=3.5, label="true, certified")
        axes.axhline(claimed, color=CLAIM, linewidth=1.5, linestyle=(0, (5, 2.5)), label="claimed")
        axes.set(xlabel="dimension M", ylabel="delta at epsilon = 1", ylim=(claimed / 20, 2))
        axes.xaxis.set_major_locator(LogLocator(base=10))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.legend(loc="lower right")

    words = (
        f"The true delta at epsilon = 1 of R1SMG calibrated for (1, {claimed:g}): below the claim at M = 3 only, a "
        "hundred times above it at M = 4, and close to 1 from M = 100 on."
    )
    drawing = draw_svg(draw, title="R1SMG: true and claimed delta", description=words, name="new_results-r1smg")
    rows = [(str(m), f"{deltas[m]:.6g}", f"{claimed:g}", "yes" if deltas[m] <= claimed else "no") for m in dims]
    return drawing + _table("Certified lower bounds of delta(1)", ("M", "true", "claimed", "claim kept"), rows)


def boundary_figure(boundary: Mapping[str, str]) -> str:
    """The largest epsilon of the classic Gaussian over delta."""
    deltas = sorted(boundary, key=float)

    def draw(axes: Axes) -> None:
        axes.set_xscale("log")
        x, y = [float(delta) for delta in deltas], [float(boundary[delta]) for delta in deltas]
        axes.plot(x, y, color=EXACT, marker="o", markersize=3.5, label="valid up to, certified")
        axes.fill_between(x, y, 0, color=EXACT, alpha=0.12, linewidth=0)
        axes.axhline(1, color=CLAIM, linewidth=1.5, linestyle=(0, (5, 2.5)), label="as stated, epsilon < 1")
        axes.set(xlabel="delta", ylabel="epsilon", ylim=(0, 12))
        axes.legend(loc="upper right")

    words = (
        "The classic calibration of the Gaussian mechanism is valid below the curve: up to epsilon = 11.4 at delta = "
        "1e-20, least near delta = 0.9, where it is 3.787; it is stated for epsilon below 1."
    )
    drawing = draw_svg(
        draw, title="Where the classic Gaussian is valid", description=words, name="new_results-boundary"
    )
    rows = [(delta, boundary[delta]) for delta in deltas]
    return drawing + _table("Valid iff epsilon is at most", ("delta", "epsilon*"), rows)
