"""Which figures a report has, from which numbers, and the table of values beside each."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping
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
    marks += _attack_marks(report)
    drawing = trade_off_figure(claimed=claimed, exact=exact, boxes=boxes, marks=marks, name="trade-off")
    caption = (
        "The share of members that the best attacker misses, for each share of false alarms. A curve below the claim "
        f"breaks it.{said}"
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
    caption = (
        "What an attack can gain beyond exp(epsilon) times its false alarms: delta, for each epsilon. A curve above "
        f"the claim breaks it.{said}"
    )
    table = _delta_table(claim, loss, stated)
    return ReportFigure(title="Privacy profile", caption=caption, drawing=drawing, tables=(table,))


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
        Mark(x=float(one.false_alarms), y=float(1 - one.found[side]), label=words, role=role)
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
