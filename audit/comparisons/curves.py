"""The certified curves of a mechanism's worst pair: as numbers, in the terminal, as CSV, as JSON and as a picture."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, final

import numpy as np
from flint import arb
from numpy.typing import NDArray
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from dpverdict.audit.comparisons.picture import draw_picture
from dpverdict.audit.comparisons.sheet import SCHEMA_VERSION, Panel, Series, finite_series
from dpverdict.audit.exact.worst_case import WorstCase, worst_case
from dpverdict.audit.losses import domains
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import DisjointLoss
from dpverdict.audit.reports.tables import plain_table
from dpverdict.balls import Enclosure, Enclosures, precision
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.text import about, at_least, at_most, shown, told_apart
from dpverdict.risk import Risk

DRAWN_POINTS: Final = 161
"""A picture has so many points of each curve."""

PROFILE: Final = "delta(epsilon)"
TRADE_OFF: Final = "beta(alpha)"
"""What the curves are called in files."""

LAST_DELTA: Final = "1e-10"
"""The table of the privacy profile ends near the epsilon at which delta is this small."""


_UNBOUNDED: Final = 10_000
_BETA_DIGITS: Final = 12
_BITS: Final = 128
_BETWEEN: Final = 3


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ComparedCurve:
    """A curve at increasing points.

    Attributes:
        points: where, shape (n,).
        exact: an enclosure at every point.
        claimed: the bound of the claim at every point, shape (n,).
    """

    points: NDArray[np.float64]
    exact: Enclosures
    claimed: NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnCurve:
    """A curve for a picture: as `ComparedCurve`, with ``exact`` in float64; ``label`` says of what it is."""

    label: str
    points: NDArray[np.float64]
    exact: NDArray[np.float64]
    claimed: NDArray[np.float64]

    def series(self) -> tuple[Series, Series]:
        """What is exact, and what the claim allows."""
        return (
            finite_series(self.label, self.points, self.exact),
            finite_series("allowed by the claim", self.points, self.claimed, "dashed", 1),
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ComparedCurves:
    """Both curves of one mechanism.

    Attributes:
        name: the mechanism.
        claim: its claim, in words.
        profile: delta at epsilons from 0 on; ``claimed`` bounds it from above if the claim is true.
        trade_off: beta at alphas from 0 to 1; ``claimed`` bounds it from below if the claim is true.
        drawn: the same two in float64 at more points, for pictures.
        attained: whether the worst neighbours have these curves; else they are bounds for every pair.
        risk: what an attacker attains at a base rate; None where none was given.
    """

    name: str
    claim: str
    profile: ComparedCurve
    trade_off: ComparedCurve
    drawn: tuple[DrawnCurve, DrawnCurve]
    attained: bool
    risk: Risk | None = None

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Rows (curve, argument, lower, upper); the numbers are float64, written so that they are read back exactly."""
        return [
            (quantity, repr(float(at)), repr(float(low)), repr(float(high)))
            for quantity, curve in ((PROFILE, self.profile), (TRADE_OFF, self.trade_off))
            for at, low, high in zip(curve.points, curve.exact.lower, curve.exact.upper, strict=True)
        ]


def certified_curves(mechanism: StructuredMechanism, *, points: int, base_rate: str | None = None) -> ComparedCurves:
    """Delta and beta of the worst neighbouring pair at ``points`` evenly spaced arguments each (at least 2); where no
    worst pair is known, between what some pair attains and what is certified of all.

    With a base rate, the risk as well; raises InvalidValue if it is not between 0 and 1.
    """
    worst, claim = worst_case(mechanism), mechanism.claim
    loss, label = worst.loss, "exact, worst neighbours" if worst.exact else "a bound for every pair"
    last = _last_epsilon(loss)
    epsilons, alphas = np.linspace(0.0, last, points), np.linspace(0.0, 1.0, points)
    fine = np.linspace(0.0, last, DRAWN_POINTS), np.linspace(0.0, 1.0, DRAWN_POINTS)
    deltas, betas = _at_each(worst, epsilons, alphas)
    drawn_deltas, drawn_betas = np.asarray(loss.delta(fine[0])), np.asarray(loss.beta(fine[1]))
    if not worst.exact:  # both curves are convex: delta is below its chords, and beta is only known at its points
        drawn_deltas = np.minimum(drawn_deltas, np.interp(fine[0], epsilons, deltas.upper))
        drawn_betas = np.maximum(drawn_betas, betas.lower[np.searchsorted(alphas, fine[1]).clip(max=points - 1)])
    return ComparedCurves(
        risk=None if base_rate is None else loss.risk(base_rate),
        name=mechanism.name,
        attained=worst.exact,
        claim=claim.describe(),
        profile=ComparedCurve(points=epsilons, exact=deltas, claimed=np.asarray(claim.delta_upper(epsilons))),
        trade_off=ComparedCurve(points=alphas, exact=betas, claimed=np.asarray(claim.beta_lower(alphas))),
        drawn=(
            DrawnCurve(
                label=label,
                points=fine[0],
                exact=drawn_deltas,
                claimed=np.asarray(claim.delta_upper(fine[0])),
            ),
            DrawnCurve(
                label=label,
                points=fine[1],
                exact=drawn_betas,
                claimed=np.asarray(claim.beta_lower(fine[1])),
            ),
        ),
    )


def _at_each(worst: WorstCase, epsilons: Array, alphas: Array) -> tuple[Enclosures, Enclosures]:
    """Delta and beta at every argument."""
    if worst.exact:
        return worst.loss.certified_delta(epsilons), worst.loss.certified_beta(alphas)
    deltas = [worst.certified_delta(Fraction(epsilon)) for epsilon in epsilons.tolist()]
    betas = [worst.enclosed_beta(Fraction(alpha), _BETA_DIGITS) for alpha in alphas.tolist()]
    with precision(_BITS):
        return (
            Enclosures([arb(one.lower).union(arb(one.upper)) for one in deltas], domains.PROFILE),
            Enclosures([arb(one.lower).union(arb(one.upper)) for one in betas], domains.TRADE_OFF),
        )


def _last_epsilon(loss: PrivacyLoss) -> float:
    """A number of one significant digit at or above the epsilon of `LAST_DELTA`, so that the table has round steps."""
    end = 1.0 if isinstance(loss, DisjointLoss) else loss.epsilon(LAST_DELTA)
    if end <= 0.0:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(end))
    return math.ceil(end / unit) * unit


def curves_csv(curves: ComparedCurves, more: Sequence[tuple[str, str, str, str]] = ()) -> str:
    """The enclosures as CSV with the columns curve, argument, lower, upper; ``more`` are further rows."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("curve", "argument", "lower", "upper"))
    writer.writerows([*curves.rows(), *more])
    return text.getvalue()


def curves_json(curves: ComparedCurves, more: Sequence[tuple[str, str, str, str]] = ()) -> str:
    """The same numbers as JSON: the enclosures of every curve, and what the claim allows."""
    content = {
        "schema_version": SCHEMA_VERSION,
        "mechanism": curves.name,
        "claim": curves.claim,
        "curves": [
            {
                "curve": quantity,
                "argument": curve.points.tolist(),
                "lower": curve.exact.lower.tolist(),
                "upper": curve.exact.upper.tolist(),
                "claimed": curve.claimed.tolist(),
            }
            for quantity, curve in ((PROFILE, curves.profile), (TRADE_OFF, curves.trade_off))
        ],
        "errors": [
            {"curve": quantity, "argument": int(at), "lower": float(low), "upper": float(high)}
            for quantity, at, low, high in more
        ],
        **({} if curves.risk is None else {"risk": curves.risk.fields()}),
    }
    return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def curves_picture(curves: ComparedCurves, kind: Literal["png", "svg"], more: Sequence[Panel] = ()) -> bytes:
    """Both curves side by side, with what the claim allows; a picture rounds, so read numbers from the table."""
    return draw_picture(f"{curves.name} claims {curves.claim}", [*_panels(curves), *more], kind=kind)


def _panels(curves: ComparedCurves) -> tuple[Panel, Panel]:
    """Both curves, drawn through more points than the tables have."""
    profile, trade_off = curves.drawn
    positive = profile.exact[profile.exact > 0]
    bottom = max(float(positive.min()) / 3, 1e-300) if positive.size else None
    return (
        Panel(
            title="Privacy profile",
            x="epsilon",
            y="delta",
            curves=profile.series(),
            log_y=bool(positive.size),
            bottom=bottom,
            top=1.5 if positive.size else None,
        ),
        Panel(
            title="Trade-off function",
            x="alpha (type I error)",
            y="beta (type II error)",
            curves=(*trade_off.series(), *_attack_dots(curves.risk)),
        ),
    )


def _attack_dots(risk: Risk | None) -> tuple[Series, ...]:
    """What attacks find, each a dot on the trade-off function."""
    if risk is None:
        return ()
    return tuple(
        Series(words, np.array([float(one.false_alarms)]), np.array([float(1 - one.found[1])]), "dots", 2 + number)
        for number, (one, words) in enumerate(zip(risk.attacks, risk.attacks_in_words(), strict=True))
    )


def print_curves(curves: ComparedCurves, notes: Sequence[str] = (), console: Console | None = None) -> None:
    """Both curves as tables of enclosures, with what the claim allows: side by side on a wide line."""
    console = Console() if console is None else console
    of = (
        "exact curves of the worst neighbours"
        if curves.attained
        else "bounds on the curves of every pair of neighbours"
    )
    console.print(Text(f"{curves.name} claims {curves.claim}: {of}", style="bold"))
    for note in notes:
        console.print(Text(f"note: {note}"))
    tables = (
        _curve_table(curves.profile, "Privacy profile, certified", ("epsilon", "delta", "claimed <="), _profile_row),
        _curve_table(
            curves.trade_off, "Trade-off function, certified", ("alpha", "beta", "claimed >="), _trade_off_row
        ),
    )
    unbounded = console.options.update(width=_UNBOUNDED)
    if sum(Measurement.get(console, unbounded, one).maximum for one in tables) + _BETWEEN <= console.width:
        both = Table.grid(padding=(0, _BETWEEN, 0, 0))
        both.add_row(*tables)
        console.print(both)
    else:
        for table in tables:
            console.print(table)
    if curves.risk is not None:
        for said in (*curves.risk.sentences(), f"({curves.risk.how})"):
            console.print(Text(said), highlight=False)


def _curve_table(
    curve: ComparedCurve, title: str, words: tuple[str, str, str], row: Callable[[Enclosure, float], tuple[str, str]]
) -> Table:
    argument, value, claimed = words
    table = plain_table(title, argument, value, claimed)
    for i, (at, allowed) in enumerate(zip(curve.points, curve.claimed, strict=True)):
        table.add_row(f"{at:.6g}", *row(curve.exact[i], float(allowed)))
    return table


def _profile_row(exact: Enclosure, allowed: float) -> tuple[str, str]:
    """What is certified, and what is claimed at most: with as many digits as show that the first is more, if it is."""
    return told_apart(exact, allowed, about) if exact.lower > allowed else (shown(exact), at_most(allowed))


def _trade_off_row(exact: Enclosure, allowed: float) -> tuple[str, str]:
    """What is certified, and what is claimed at least: the same where the first is less."""
    if exact.upper < allowed:
        claimed, certified = told_apart(allowed, exact)
        return certified, claimed
    return shown(exact), at_least(allowed)
