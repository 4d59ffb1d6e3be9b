"""What a result shows of itself: its card in a notebook, and the picture of its curves.

A card has its status and what follows from it, its claim, its answer, and tables.

Each kind of evidence has a table of its own.

It stands below every result, so that each says what is on its own card; all look the same. The style is inline and
takes ground and ink from the notebook, so a card is readable in light and dark; every text is escaped.

A picture has the trade-off functions and the privacy profiles of losses and claims beside each other.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKS: Final = {"CERTIFIED": "\N{CHECK MARK}", "REFUTED": "\N{BALLOT X}", "INCONCLUSIVE": "?"}
"""What stands in the badge before the status, for the eye alone."""

DECISIONS: Final = {"CERTIFIED": "release", "REFUTED": "do not release", "INCONCLUSIVE": "not shown"}
"""What a status means for the release, if the promise that was audited is the one that is wanted."""

NEXT_STEPS: Final = {
    "CERTIFIED": "Next: release it, and keep the certificate with it. What it means for a person: risk('0.001').",
    "REFUTED": "Next: do not release it. Mend it, and ask again about the same neighbours.",
    "INCONCLUSIVE": "Next: take it for not shown. Ask with more samples, or about a mechanism of known structure.",
}
"""What to do about a status, the last line of a card."""

STATUS_COLORS: Final = {"CERTIFIED": "#15803d", "REFUTED": "#b91c1c", "INCONCLUSIVE": "#854d0e"}
"""Behind the status, which is written in white."""

CARD: Final = (
    "max-width:46rem;padding:.8em 1em;border:1px solid rgba(128,128,128,.5);border-radius:8px;"
    "font-family:system-ui,sans-serif;font-size:14px;line-height:1.45;overflow-wrap:anywhere"
)
BADGE: Final = "display:inline-block;padding:.1em .7em;border-radius:99px;color:#fff;font-weight:700;background:"
NAME: Final = (
    "padding:.15em 1em .15em 0;text-align:left;vertical-align:top;font-weight:400;opacity:.85;overflow-wrap:normal"
)
VALUE: Final = "padding:.15em 0;text-align:left;vertical-align:top"
PLAIN: Final = "background:none;border:0"


def card(
    *,
    status: str,
    name: str,
    claim: str,
    answer: str,
    evidence: Mapping[str, Mapping[str, str]],
    curves: Sequence[Curves] = (),
    next_step: str = "",
) -> str:
    """The card as HTML.

    Args:
        status: ``CERTIFIED``, ``REFUTED`` or ``INCONCLUSIVE``.
        name: the mechanism.
        claim: what it promises, in words.
        answer: one sentence: why the status is what it is.
        evidence: for each kind of evidence, which is the caption of its table, its values by name; a kind without
            values has no table.
        curves: what is drawn below, if anything.
        next_step: what to do about it, where that is not what `NEXT_STEPS` says of the status.
    """
    badge = f'<span style="{BADGE}{STATUS_COLORS[status]}">{MARKS[status]} {status}: {DECISIONS[status]}</span>'
    claims = f"<strong>{escape(name)}</strong> claims <strong>{escape(claim)}</strong>"
    lines = [f'<div style="margin:0 0 .4em">{badge} {claims}</div>', f"<div>{escape(answer)}</div>"]
    lines += [table(kind, (), rows.items()) for kind, rows in evidence.items() if rows]
    lines.append(f'<div style="margin:.7em 0 0">{escape(next_step or NEXT_STEPS[status])}</div>')
    return framed(*lines, curves=curves)


def answer_card(
    answer: str, rows: Mapping[str, str], *, follows: str, caption: str = "", curves: Sequence[Curves] = ()
) -> str:
    """The card of a result that is no verdict on one mechanism.

    Args:
        answer: one sentence.
        rows: of its table, by name; no table without any.
        follows: what to do next.
        caption: of the table.
        curves: what is drawn below, if anything.
    """
    said = [f"<div><strong>{escape(answer)}</strong></div>"]
    said += [table(caption, (), rows.items())] if rows else []
    return framed(*said, f'<div style="margin:.7em 0 0">Next: {escape(follows)}</div>', curves=curves)


def framed(*lines: str, curves: Sequence[Curves]) -> str:
    """A card of lines of markup, with the picture of the curves below, if there are any."""
    return f'<div style="{CARD}">{"".join(lines)}{picture(curves) if curves else ""}</div>'


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as HTML; the first cell of a row is its name.

    Args:
        caption: what it shows; "" for none.
        header: a name for each column; none if they need no names.
        rows: the cells of each row.
    """
    head = "".join(f'<th scope="col" style="{NAME}">{escape(name)}</th>' for name in header)
    body = "".join(
        f'<tr style="{PLAIN}"><th scope="row" style="{NAME}">{escape(name)}</th>'
        f"{''.join(_cell(value) for value in values)}</tr>"
        for name, *values in rows
    )
    said = f'<caption style="caption-side:top;text-align:left;padding:0">{escape(caption)}</caption>' if caption else ""
    said += f'<thead><tr style="{PLAIN}">{head}</tr></thead>' if head else ""
    return f'<table style="margin:.7em 0 0;border-collapse:collapse;{PLAIN}">{said}<tbody>{body}</tbody></table>'


def _cell(value: str) -> str:
    return f'<td style="{VALUE}">{escape(value)}</td>'


# pictures ------------------------------------------------------------------------------------------------------------

POINTS: Final = 201
FLOOR: Final = 1e-12
"""The bottom of the plot of the privacy profile."""

_FARTHEST: Final = 1e4
_FLAT: Final = 1.001
"""Times the last value of a profile: where it is below, it does not fall any more."""
_BEYOND: Final = 1.5
_FEWEST: Final = 3
"""Points that a smooth curve is drawn through."""

_MOST_LETTERS: Final = 40
# Any: Matplotlib's type for the names of its settings differs between its versions
_GREY: Final[dict[Any, Any]] = dict.fromkeys(
    ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), "#767676"
)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughPoints:
    """Both curves of a loss whose values take long, drawn through few points; between them nothing is certified.

    Attributes:
        alphas, betas: points of the trade-off function, shape (n,), alphas increasing.
        epsilons, deltas: points of the privacy profile, shape (m,), epsilons increasing.
    """

    alphas: Array
    betas: Array
    epsilons: Array
    deltas: Array

    def beta(self, alphas: Array) -> Array:
        """The trade-off function between the points, smooth on normal scales; NaN beyond them."""
        from scipy.special import ndtr, ndtri

        drawn: Array = ndtr(_curve_through(ndtri(self.alphas), ndtri(self.betas), ndtri(alphas)))
        return drawn

    def delta(self, epsilons: Array) -> Array:
        """The privacy profile between the points, smooth on a logarithmic scale; NaN beyond them."""
        drawn: Array = np.exp(_curve_through(self.epsilons, np.log(self.deltas), epsilons))
        return drawn


def _curve_through(x: Array, y: Array, at: Array) -> Array:
    """A curve through the points that keeps their order; nothing through fewer than three."""
    from scipy.interpolate import PchipInterpolator

    known = np.isfinite(x) & np.isfinite(y)
    if known.sum() < _FEWEST:
        return np.full(at.shape, np.nan)
    inside = (at >= x[known][0]) & (at <= x[known][-1])
    drawn: Array = PchipInterpolator(x[known], y[known])(np.where(inside, at, x[known][0]))
    return np.where(inside, drawn, np.nan)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """What is drawn of one thing.

    Attributes:
        label: its name in the legend.
        beta: the trade-off function, or a lower bound on it, at levels of shape (n,).
        delta: the privacy profile, or an upper bound on it, at epsilons of shape (n,).
        promised: whether it is a claim, which is drawn dashed.
        points: the points that the curves go through, where they are interpolated.
    """

    label: str
    beta: Callable[[Array], Array]
    delta: Callable[[Array], Array]
    promised: bool = False
    points: ThroughPoints | None = None


def draw(curves: Sequence[Curves], axes: Sequence[Axes] | None) -> tuple[Axes, Axes]:
    """Draw them on two axes, the trade-off functions on the first: on new ones if none are given.

    Raises:
        InvalidValue: not two axes.
    """
    if axes is None:
        from matplotlib import pyplot

        _, made = pyplot.subplots(1, 2, figsize=(9.6, 4.0), layout="constrained")
        axes = list(made)
    elif len(axes) != 2:
        raise InvalidValue("axes", len(axes), "two Matplotlib axes", "give figure.subplots(1, 2), or leave it out")
    trade_off, profile = axes
    alphas = (1 - np.cos(np.linspace(0, math.pi, POINTS))) / 2  # dense at both ends, where the curves are steep
    epsilons = np.linspace(0, epsilon_shown(curves), POINTS)
    for one in curves:
        label = shortened(one.label)
        style = "--" if one.promised else "-"
        if one.points is not None:
            label += ": exact at the dots"
        (drawn,) = trade_off.plot(alphas, one.beta(alphas), style, label=label)
        deltas = one.delta(epsilons)
        profile.plot(epsilons, np.where(deltas > 0, deltas, np.nan), style, label=label)
        if one.points is not None:
            trade_off.plot(one.points.alphas, one.points.betas, ".", color=drawn.get_color())
            profile.plot(one.points.epsilons, one.points.deltas, ".", color=drawn.get_color())
    trade_off.set(xlabel="false alarms (alpha)", ylabel="missed members (beta)", title="Trade-off function")
    profile.set(xlabel="epsilon", ylabel="delta", title="Privacy profile", yscale="log")
    profile.set_ylim(bottom=FLOOR, top=1.0)
    trade_off.legend()
    return trade_off, profile


def picture(curves: Sequence[Curves]) -> str:
    """The curves as an image within a page that loads nothing; grey, so that it is read on light and on dark ground."""
    from matplotlib import rc_context, rcdefaults, rcParams
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with rc_context():
        rcdefaults()
        rcParams.update(
            {**_GREY, "svg.hashsalt": "card", "svg.fonttype": "none", "legend.frameon": False, "font.size": 11.0}
        )
        figure = Figure(figsize=(9.6, 3.8), layout="constrained")
        FigureCanvasSVG(figure)
        draw(curves, list(figure.subplots(1, 2)))
        drawing = io.BytesIO()
        figure.savefig(drawing, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    words = "Trade-off functions and privacy profiles of " + ", ".join(one.label for one in curves)
    image = base64.b64encode(drawing.getvalue()).decode("ascii")
    return f'<img alt="{escape(words)}" style="width:100%;margin-top:.7em" src="data:image/svg+xml;base64,{image}">'


def shortened(text: str) -> str:
    """A text of at most 40 characters, for a legend or a line."""
    return text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 1] + "\N{HORIZONTAL ELLIPSIS}"


def epsilon_shown(curves: Sequence[Curves]) -> float:
    """The epsilon up to which there is something to see of the privacy profiles."""
    return max(_epsilon_at_floor(one.delta) for one in curves)


def _epsilon_at_floor(delta: Callable[[Array], Array]) -> float:
    """Where a profile falls below the floor of the plot; of one that stays above it, half as far again as it falls.

    That is the profile of a claim with a delta, which is drawn as a line from its epsilon on.
    """
    grid = np.geomspace(0.01, _FARTHEST, 200)
    last = float(delta(grid[-1:])[0])
    level = max(FLOOR, _FLAT * last) if math.isfinite(last) else FLOOR
    low, high = 0, len(grid) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if not float(delta(grid[middle : middle + 1])[0]) > level else (middle + 1, high)
    return float(grid[low]) * (1 if level == FLOOR else _BEYOND)
