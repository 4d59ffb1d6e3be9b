"""Which figures a report has, from which numbers, and the table of values beside each."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np

from dpverdict.audit.distinguishing.result import DistinguishingTest
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.reports.drawing import (
    BAD,
    CLAIM,
    EXACT,
    SAMPLE,
    Mark,
    PlotLine,
    attack_figure,
    compared_figure,
    covariance_figure,
    profile_figure,
    trade_off_figure,
)
from dpverdict.audit.reports.evidence.risk import RiskEvidence
from dpverdict.audit.reports.evidence.statistics import measured_boxes, region_table
from dpverdict.audit.reports.parts import (
    ALPHAS,
    BETA_DIGITS,
    EvidenceKind,
    Table,
    claimed_beta_lower,
    claimed_delta_upper,
)
from dpverdict.audit.reports.report import Report
from dpverdict.audit.reports.summary import DIGITS, FALSE_ALARMS, own_delta, promised_epsilon
from dpverdict.cards import Curves, epsilon_shown
from dpverdict.mechanisms.core.guarantees import ApproximateDP, Guarantee, PureDP
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.text import DETAILED, about, at_least, at_most, decimal, shown, told_apart

FLOOR: Final = 1e-12
"""The bottom of the plot of the privacy profile."""

FARTHEST: Final = 1e4
"""The largest epsilon plotted."""

POINTS: Final = 121
"""Points on a curve: more than a screen shows of a convex function."""

_LARGEST_EXPONENT: Final = 700.0


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
    """The trade-off plot: claimed, exact and measured, through the level of which the first sentence speaks."""
    claim, loss = report.claim, report.worst.loss if report.worst is not None else None
    evenly = (1 - np.cos(np.linspace(0, np.pi, POINTS))) / 2  # dense at both ends, where the curves are steep
    alphas = np.unique([*evenly, float(FALSE_ALARMS)])
    claimed = PlotLine(x=alphas, y=np.asarray(claim.beta_lower(alphas)), label="claimed, at least")
    through = None if loss is None else loss.through_points(FLOOR)
    exact = None
    if through is not None:
        exact = _line(report, alphas, through.beta(alphas), (through.alphas, through.betas))
    elif loss is not None:
        exact = _line(report, alphas, loss.certified_beta(alphas).upper)
    boxes = () if report.test is None else measured_boxes(report.test)
    said, marks = "", []
    at = None if exact is None else _worst_index(report, claimed.y - exact.y)
    if exact is not None and at is not None:
        promised, missed = told_apart(100 * float(claimed.y[at]), Fraction(100 * float(exact.y[at])), at_least, DIGITS)
        level = decimal(Fraction(100 * float(alphas[at])), 3)
        said = (
            f" Worst violation: at {level} % false alarms {missed} % are missed, and at least {promised} % was claimed."
        )
        marks = [_violation_mark(alphas[at], exact.y[at], claimed.y[at])]
    drawing = trade_off_figure(claimed=claimed, exact=exact, boxes=boxes, marks=marks, name="trade-off")
    caption = "The share of members that the best attacker misses, for each share of false alarms. " + (
        f"A curve below the claim breaks it.{said}" if exact is not None or boxes else _CLAIM_ALONE
    )
    measured = () if report.test is None or not boxes else (region_table(report.test),)
    tables = (_beta_table(claim, loss), *measured)
    return ReportFigure(title="Trade-off function", caption=caption, drawing=drawing, tables=tables)


def profile(report: Report) -> ReportFigure:
    """The privacy profile on a logarithmic scale: claimed, exact and measured, through the claim's own epsilon."""
    claim, loss = report.claim, report.worst.loss if report.worst is not None else None
    delta = own_delta(claim)
    own = promised_epsilon(claim, delta)
    evenly = np.linspace(0, _epsilon_shown(report, own), POINTS)
    epsilons = np.unique([*evenly, *([] if own is None or own > evenly[-1] else [float(own)])])
    stated = [Fraction(round(epsilon * 1000), 1000) for epsilon in np.linspace(0, float(evenly[-1]), 9).tolist()]
    through = None if loss is None else loss.through_points(FLOOR)
    claimed = PlotLine(x=epsilons, y=np.asarray(claim.delta_upper(epsilons)), label="claimed, at most")
    exact = None
    if through is not None:
        exact = _line(report, epsilons, through.delta(epsilons), (through.epsilons, through.deltas))
    elif loss is not None:
        exact = _line(report, epsilons, loss.certified_delta(epsilons).upper)
    said, marks = "", []
    if own is not None and own <= evenly[-1]:
        label = f"claim: epsilon {at_most(own, 3)} at delta {decimal(delta)}"
        marks.append(Mark(x=float(own), y=max(float(delta), FLOOR), label=label, role=CLAIM))
    at = None if exact is None else _worst_index(report, exact.y - claimed.y)
    if exact is not None and at is not None:
        allowed = delta if own is not None and epsilons[at] == float(own) else Fraction(float(claimed.y[at]))
        found, promised = told_apart(float(exact.y[at]), allowed, about, DIGITS)
        level = decimal(Fraction(float(epsilons[at])), 3)
        said = f" Worst violation: at epsilon {level} delta is {found}, and at most {promised} was claimed."
        marks.append(_violation_mark(epsilons[at], exact.y[at], max(claimed.y[at], FLOOR)))
    drawing = profile_figure(
        claimed=claimed,
        exact=exact,
        measured=None if report.test is None else _measured_line(report.test, epsilons),
        marks=[*marks, *_measured_epsilons(report, delta)],
        floor=FLOOR,
        name="profile",
    )
    known = exact is not None or report.test is not None
    caption = "What an attack can gain beyond exp(epsilon) times its false alarms: delta, for each epsilon. " + (
        f"A curve above the claim breaks it.{said}" if known else _CLAIM_ALONE
    )
    table = _delta_table(claim, loss, stated)
    return ReportFigure(title="Privacy profile", caption=caption, drawing=drawing, tables=(table,))


def attacks(report: Report) -> ReportFigure | None:
    """What attacks with few false alarms find, where a base rate was given: their corner of the trade-off plot."""
    found = report.find(RiskEvidence)
    if found is None or not found.risk.attacks:
        return None
    claim, loss = report.claim, report.worst.loss if report.worst is not None else None
    least = min(float(one.false_alarms) for one in found.risk.attacks) / 10
    alphas = np.geomspace(least, 1, POINTS)
    claimed = PlotLine(x=alphas, y=1 - np.asarray(claim.beta_lower(alphas)), label="claimed, at most")
    through = None if loss is None else loss.through_points(FLOOR)
    exact = None
    if loss is not None:
        betas = loss.certified_beta(alphas).upper if through is None else through.beta(alphas)
        exact = _line(report, alphas, 1 - betas)
    drawing = attack_figure(claimed=claimed, exact=exact, marks=_attack_marks(report), least=least, name="attacks")
    caption = (
        "The share of members that the best attacker finds, for each share of false alarms: the corner of the plot of "
        f"the trade-off function that matters where {decimal(found.risk.base_rate)} of the people are suspected."
    )
    table = Table(caption="Values of the attacks", header=found.risk.header(), rows=found.risk.rows())
    return ReportFigure(title="Attacks with few false alarms", caption=caption, drawing=drawing, tables=(table,))


def compared(curves: Sequence[Curves], claim: Curves) -> tuple[ReportFigure, ReportFigure]:
    """The trade-off functions and the privacy profiles of several mechanisms, and what is claimed of all of them."""
    alphas = (1 - np.cos(np.linspace(0, np.pi, POINTS))) / 2
    epsilons = np.linspace(0, epsilon_shown([*curves, claim]), POINTS)
    betas, deltas = [], []
    for one in curves:
        points = one.points
        label = one.label if points is None else f"{one.label}: exact at the dots"
        of_beta = None if points is None else (points.alphas, points.betas)
        of_delta = None if points is None else (points.epsilons, points.deltas)
        betas.append(PlotLine(x=alphas, y=one.beta(alphas), label=label, dots=of_beta))
        deltas.append(PlotLine(x=epsilons, y=_positive(one.delta(epsilons)), label=label, dots=of_delta))
    beta = compared_figure(
        betas,
        claimed=PlotLine(x=alphas, y=claim.beta(alphas), label=claim.label),
        x="false alarms (alpha)",
        y="members that are missed (beta)",
        floor=None,
        title="Trade-off functions",
        name="trade-off",
    )
    delta = compared_figure(
        deltas,
        claimed=PlotLine(x=epsilons, y=_positive(claim.delta(epsilons)), label=claim.label),
        x="epsilon",
        y="delta",
        floor=FLOOR,
        title="Privacy profiles",
        name="profile",
    )
    said = "The share of members that the best attacker misses, for each share of false alarms. Higher is more private."
    also = "What an attack can gain beyond exp(epsilon) times its false alarms: delta. Lower is more private."
    at = np.array([float(alpha) for alpha in ALPHAS])
    tables = (
        _compared_table("alpha", at, [*curves, claim], lambda one: one.beta(at)),
        _compared_table("epsilon", epsilons[::20], [*curves, claim], lambda one: one.delta(epsilons[::20])),
    )
    return (
        ReportFigure(title="Trade-off functions", caption=said, drawing=beta, tables=tables[:1]),
        ReportFigure(title="Privacy profiles", caption=also, drawing=delta, tables=tables[1:]),
    )


def _compared_table(argument: str, at: Array, curves: Sequence[Curves], of: Callable[[Curves], Array]) -> Table:
    columns = [[f"{value:.4g}" for value in of(one)] for one in curves]
    rows = zip([f"{value:.4g}" for value in at], *columns, strict=True)
    header = (argument, *(one.label for one in curves))
    return Table(caption="Values as drawn: rounded, not certified", header=header, rows=tuple(rows))


def _positive(values: Array) -> Array:
    return np.where(values > 0, values, np.nan)


_CLAIM_ALONE: Final = "What is claimed is drawn alone: the audit found no curve to hold it against."


def _line(report: Report, x: Array, y: Array, dots: tuple[Array, Array] | None = None) -> PlotLine:
    """The exact curve of a report, with what is certain of it."""
    what = "exact" if report.worst is not None and report.worst.exact else "a bound"
    label = f"{what}, certified" if dots is None else f"{what}, certified at the dots, smooth between"
    return PlotLine(x=x, y=y, label=label if np.nanmax(y, initial=0.0) > 0 else "exact: 0 everywhere", dots=dots)


def _worst_index(report: Report, excess: Array) -> int | None:
    """Where an exact curve breaks the claim most; None where the report is not refuted, or no point shows it."""
    if report.status is not Status.REFUTED or report.worst is None or not report.worst.exact:
        return None
    at = int(np.nanargmax(excess))
    return at if excess[at] > 0 else None


def _violation_mark(x: float, found: float, promised: float) -> Mark:
    return Mark(x=float(x), y=float(found), label="worst violation", role=BAD, promised=float(promised))


def _attack_marks(report: Report) -> list[Mark]:
    """What attacks find, where a base rate was given."""
    found = report.find(RiskEvidence)
    if found is None:
        return []
    side = 0 if found.risk.shown else 1
    role = BAD if found.risk.shown else EXACT if found.kind is EvidenceKind.EXACT else CLAIM
    return [
        Mark(x=float(one.false_alarms), y=float(one.found[side]), label=words, role=role)
        for one, words in zip(found.risk.attacks, found.risk.attacks_in_words(), strict=True)
    ]


def _measured_line(test: DistinguishingTest, epsilons: Array) -> PlotLine | None:
    """What the rectangles imply of the profile: delta >= 1 - beta - exp(epsilon) alpha at each upper corner."""
    boxes = measured_boxes(test)
    if not boxes:
        return None
    growth = np.exp(np.minimum(epsilons, _LARGEST_EXPONENT))
    least = np.max([1 - box.beta_upper - growth * box.alpha_upper for box in boxes], axis=0)
    return PlotLine(x=epsilons, y=np.where(least > 0, least, np.nan), label="measured, at least")


def _measured_epsilons(report: Report, own: Fraction) -> list[Mark]:
    """The lower bounds of the tests on epsilon, as points that the profile runs above."""
    marks = []
    for test in (report.test, report.sequential):
        if test is not None and test.epsilon_lower:
            delta = test.delta if isinstance(test, DistinguishingTest) and test.delta is not None else float(own)
            label = f"measured: epsilon at least {at_least(test.epsilon_lower, 3)}"
            marks.append(Mark(x=test.epsilon_lower, y=max(delta, FLOOR), label=label, role=SAMPLE))
    return marks


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


def _epsilon_shown(report: Report, own: Fraction | None) -> float:
    """The epsilon up to which there is something to see: where the curves reach the floor of the plot."""
    ends = [_end_of_profile(report.claim.delta_upper)] + (
        [] if report.worst is None else [_end_of_profile(report.worst.loss.delta)]
    )
    tests = [test for test in (report.test, report.sequential) if test is not None]
    ends += [1.25 * test.epsilon_lower for test in tests if test.epsilon_lower is not None]
    if own is not None and isinstance(report.claim, PureDP | ApproximateDP):
        ends.append(2 * float(own))
    return min(max([end for end in ends if 0 < end < math.inf], default=10.0), FARTHEST)


def _end_of_profile(curve: Callable[[float], float]) -> float:
    """Where a profile reaches the floor of the plot; infinite if it is beyond `FARTHEST`."""
    grid = np.geomspace(0.01, FARTHEST, 400)
    end = bisect_left(grid, True, key=lambda epsilon: float(curve(float(epsilon))) <= FLOOR)
    return float(grid[end]) if end < grid.size else math.inf


def _beta_table(claim: Guarantee, loss: PrivacyLoss | None) -> Table:
    columns = [[decimal(alpha) for alpha in ALPHAS]]
    if loss is not None:
        columns.append([shown(loss.enclosed_beta(alpha, BETA_DIGITS), DETAILED) for alpha in ALPHAS])
    columns.append([at_least(claimed_beta_lower(claim, alpha), DETAILED) for alpha in ALPHAS])
    header = ("alpha", *(("beta, certified",) if loss is not None else ()), "beta, claimed at least")
    return Table(caption="Values of the trade-off function", header=header, rows=tuple(zip(*columns, strict=True)))


def _delta_table(claim: Guarantee, loss: PrivacyLoss | None, epsilons: list[Fraction]) -> Table:
    columns = [[decimal(epsilon) for epsilon in epsilons]]
    if loss is not None:
        columns.append([shown(exact, DETAILED) for exact in loss.certified_delta(epsilons)])
    columns.append([at_most(claimed_delta_upper(claim, epsilon), DETAILED) for epsilon in epsilons])
    header = ("epsilon", *(("delta, certified",) if loss is not None else ()), "delta, claimed at most")
    return Table(caption="Values of the privacy profile", header=header, rows=tuple(zip(*columns, strict=True)))
