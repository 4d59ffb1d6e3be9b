"""Drawings for the page of the ledger: the optimum for bounded density against Algorithm 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverdict.audit.figures import CLAIM, EXACT, FAINT, draw_svg
from dpverdict.mechanisms.ellipse_optimum import optimum

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def optimum_figure() -> str:
    """d (Algorithm 1 - OPT(d, d)) for d = 1..120, below 1/4: an inline SVG."""
    dims = list(range(1, 121))
    gaps = [dim * ((dim**0.5 + 1) ** 2 / 4 - optimum(dim, dim).nearest()) for dim in dims]

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
    best = [optimum(dim, k).nearest() / k for k in density]
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
