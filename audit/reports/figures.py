"""Which figures a report has, from which numbers, and the table of values beside each."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.spherical.loss import SphericalLoss
from dpverdict.audit.reports.drawing import Line, covariance_figure, profile_figure, trade_off_figure
from dpverdict.audit.reports.parts import ALPHAS, Table, claimed_beta_lower, claimed_delta_upper
from dpverdict.audit.reports.report import Report
from dpverdict.audit.reports.statistics import measured_boxes, region_table
from dpverdict.mechanisms.core.guarantees import ApproximateDP, Guarantee, PureDP
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.text import at_least, at_most, decimal, shown

FLOOR: Final = 1e-12
"""The bottom of the plot of the privacy profile."""

FARTHEST: Final = 1e4
"""The largest epsilon plotted."""

_FEWEST: Final = 3
"""Points that a smooth curve is drawn through."""

POINTS: Final = 121
"""Points on a curve: more than a screen shows of a convex function."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFigure:
    """A drawing with what stands around it.

    Attributes:
        title: what it shows.
        caption: how to read it, in a sentence.
        drawing: inline SVG.
        tables: its values, to be read or copied.
    """

    title: str
    caption: str
    drawing: str
    tables: tuple[Table, ...]


def trade_off(report: Report) -> ReportFigure:
    """The trade-off plot: claimed, exact and measured."""
    claim, loss = report.claim, report.worst.loss if report.worst is not None else None
    alphas = (1 - np.cos(np.linspace(0, np.pi, POINTS))) / 2  # dense at both ends, where the curves are steep
    exact = None if loss is None else _beta_line(loss, alphas)
    boxes = () if report.test is None else measured_boxes(report.test)
    drawing = trade_off_figure(
        claimed=Line(x=alphas, y=np.asarray(claim.beta_lower(alphas))), exact=exact, boxes=boxes, name="trade-off"
    )
    caption = "The smallest type II error of any attacker at each type I error. A curve below the claim breaks it."
    measured = () if report.test is None or not boxes else (region_table(report.test),)
    tables = (_beta_table(claim, loss), *measured)
    return ReportFigure(title="Trade-off function", caption=caption, drawing=drawing, tables=tables)


def profile(report: Report) -> ReportFigure:
    """The privacy profile on a logarithmic scale: claimed and exact."""
    claim, loss = report.claim, report.worst.loss if report.worst is not None else None
    epsilons = np.linspace(0, _reach(claim, loss), POINTS)
    stated = [Fraction(round(epsilon * 1000), 1000) for epsilon in np.linspace(0, float(epsilons[-1]), 9).tolist()]
    exact = None if loss is None else _delta_line(loss, epsilons, stated)
    claimed = np.asarray(claim.delta_upper(epsilons))
    drawing = profile_figure(claimed=Line(x=epsilons, y=claimed), exact=exact, floor=FLOOR, name="profile")
    caption = "The hockey-stick divergence delta at each epsilon. A curve above the claim breaks it."
    table = _delta_table(claim, loss, stated)
    return ReportFigure(title="Privacy profile", caption=caption, drawing=drawing, tables=(table,))


def _beta_line(loss: PrivacyLoss, alphas: Array) -> Line:
    """The upper ends of beta. Where one takes a second, a smooth curve through those of the table, on normal scales."""
    if not isinstance(loss, SphericalLoss):
        return Line(x=alphas, y=loss.certified_beta(alphas).upper)
    from scipy.interpolate import PchipInterpolator
    from scipy.special import ndtr, ndtri

    stated = np.array([float(alpha) for alpha in ALPHAS if 0 < alpha < 1])
    known = np.array([one.upper for one in loss.certified_beta([alpha for alpha in ALPHAS if 0 < alpha < 1])])
    inside = (known > 0) & (known < 1)
    if inside.sum() < _FEWEST:
        return Line(x=stated, y=known)
    x = alphas[(alphas >= stated[inside][0]) & (alphas <= stated[inside][-1])]
    curve = PchipInterpolator(ndtri(stated[inside]), ndtri(known[inside]))
    return Line(x=x, y=ndtr(curve(ndtri(x))))


def _delta_line(loss: PrivacyLoss, epsilons: Array, stated: list[Fraction]) -> Line:
    """The upper ends of delta; through those of the table, on a logarithmic scale, where one takes long."""
    if not isinstance(loss, SphericalLoss):
        return Line(x=epsilons, y=loss.certified_delta(epsilons).upper)
    from scipy.interpolate import PchipInterpolator

    known = np.array([one.upper for one in loss.certified_delta(stated)])
    at = np.array([float(epsilon) for epsilon in stated])[known > 0]
    if at.size < _FEWEST:
        return Line(x=at, y=known[known > 0])
    x = epsilons[(epsilons >= at[0]) & (epsilons <= at[-1])]
    return Line(x=x, y=np.exp(PchipInterpolator(at, np.log(known[known > 0]))(x)))


def covariance(entries: Mapping[str, Fraction]) -> ReportFigure | None:
    """A schematic of the covariance, four queries and the count; None for a structure that has no such picture."""
    letters = {"query": "a", "query-query": "b", "query-count": "c", "count": "d"}
    if "query" not in entries or not entries.keys() <= letters.keys():
        return None
    a, b, c, d = (letter if entries.get(name) else "." for name, letter in letters.items())
    rows = ["".join(a if i == j else b for j in range(4)) + (c if "count" in entries else "") for i in range(4)]
    if "count" in entries:
        rows.append(c * 4 + d)
    named = {letters[name]: name for name in entries if entries[name]}
    caption = ", ".join(f"{letter}: {name}" for letter, name in named.items())
    return ReportFigure(
        title="Pattern",
        caption=f"with four queries: {caption}",
        drawing=covariance_figure(rows, letters=named, name="pattern"),
        tables=(),
    )


def _reach(claim: Guarantee, loss: PrivacyLoss | None) -> float:
    """The epsilon up to which there is something to see: where the curves reach the floor of the plot."""
    grid = np.geomspace(0.01, FARTHEST, 400)
    ends = [bisect_left(grid, True, key=lambda epsilon: float(claim.delta_upper(float(epsilon))) <= FLOOR)]
    if loss is not None:
        ends.append(bisect_left(grid, True, key=lambda epsilon: loss.delta(float(epsilon)) <= FLOOR))
    below = [float(grid[end]) for end in ends if end < grid.size]
    own = [2 * float(claim.epsilon)] if isinstance(claim, PureDP | ApproximateDP) else []
    return min(max([*below, *own], default=10.0), FARTHEST)


def _beta_table(claim: Guarantee, loss: PrivacyLoss | None) -> Table:
    columns = [[decimal(alpha) for alpha in ALPHAS]]
    if loss is not None:
        columns.append([shown(exact) for exact in loss.certified_beta(ALPHAS)])
    columns.append([at_least(claimed_beta_lower(claim, alpha)) for alpha in ALPHAS])
    header = ("alpha", *(("beta, certified",) if loss is not None else ()), "beta, claimed at least")
    return Table(caption="Values of the trade-off function", header=header, rows=tuple(zip(*columns, strict=True)))


def _delta_table(claim: Guarantee, loss: PrivacyLoss | None, epsilons: list[Fraction]) -> Table:
    columns = [[decimal(epsilon) for epsilon in epsilons]]
    if loss is not None:
        columns.append([shown(exact) for exact in loss.certified_delta(epsilons)])
    columns.append([at_most(claimed_delta_upper(claim, epsilon)) for epsilon in epsilons])
    header = ("epsilon", *(("delta, certified",) if loss is not None else ()), "delta, claimed at most")
    return Table(caption="Values of the privacy profile", header=header, rows=tuple(zip(*columns, strict=True)))
