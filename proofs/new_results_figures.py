"""Drawings for the page of the ledger: OPT against Algorithm 1, R1SMG's true delta, the classic Gaussian's boundary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from dpverdict.audit.figures import CLAIM, EXACT, FAINT, draw_svg
from dpverdict.mechanisms.ellipse_optimum import optimum

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    best = [optimum(dim, dim).nearest() / dim for dim in dims]
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
        (str(dim), f"{optimum(dim, dim).nearest():.6f}", f"{(dim**0.5 + 1) ** 2 / 4:.6f}")
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
