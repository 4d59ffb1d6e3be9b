"""The certified curves of a mechanism's worst pair, as numbers, as CSV and as a picture."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.disjoint_loss import DisjointLoss
from dpverdict.audit.privacy_loss import PrivacyLoss
from dpverdict.audit.worst_case import worst_case
from dpverdict.balls import Enclosures
from dpverdict.mechanisms.mechanism import AdditiveMechanism

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LAST_DELTA: Final = "1e-10"
"""The table of the privacy profile ends near the epsilon at which delta is this small."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
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
class Curves:
    """Both curves of one mechanism.

    Attributes:
        name: the mechanism.
        claim: its claim, in words.
        profile: delta at epsilons from 0 on; ``claimed`` bounds it from above if the claim is true.
        trade_off: beta at alphas from 0 to 1; ``claimed`` bounds it from below if the claim is true.
    """

    name: str
    claim: str
    profile: Curve
    trade_off: Curve

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Rows (curve, argument, lower, upper); the numbers are float64, written so that they are read back exactly."""
        return [
            (quantity, repr(float(at)), repr(float(low)), repr(float(high)))
            for quantity, curve in (("delta(epsilon)", self.profile), ("beta(alpha)", self.trade_off))
            for at, low, high in zip(curve.points, curve.exact.lower, curve.exact.upper, strict=True)
        ]


def certified_curves(mechanism: AdditiveMechanism, *, points: int) -> Curves:
    """Delta and beta of the worst neighbouring pair at ``points`` evenly spaced arguments each (at least 2)."""
    loss, claim = worst_case(mechanism).loss, mechanism.claim
    epsilons, alphas = np.linspace(0.0, _last_epsilon(loss), points), np.linspace(0.0, 1.0, points)
    return Curves(
        name=mechanism.name,
        claim=claim.describe(),
        profile=Curve(
            points=epsilons, exact=loss.certified_delta(epsilons), claimed=np.asarray(claim.delta_upper(epsilons))
        ),
        trade_off=Curve(points=alphas, exact=loss.certified_beta(alphas), claimed=np.asarray(claim.beta_lower(alphas))),
    )


def _last_epsilon(loss: PrivacyLoss) -> float:
    """A number of one significant digit at or above the epsilon of `LAST_DELTA`, so that the table has round steps."""
    end = 1.0 if isinstance(loss, DisjointLoss) else loss.epsilon(LAST_DELTA)
    if end <= 0.0:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(end))
    return math.ceil(end / unit) * unit


def as_csv(curves: Curves) -> str:
    """The enclosures as CSV with the columns curve, argument, lower, upper."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("curve", "argument", "lower", "upper"))
    writer.writerows(curves.rows())
    return text.getvalue()


def as_png(curves: Curves) -> bytes:
    """Both curves side by side, with what the claim allows; a picture rounds, so read numbers from the table."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw(left, curves.profile, "epsilon", "delta", f"allowed by {curves.claim}")
    positive = curves.profile.exact.lower[curves.profile.exact.lower > 0]
    if positive.size:
        left.set_yscale("log")
        left.set_ylim(bottom=max(float(positive.min()) / 3, 1e-300), top=1.5)
    left.set_title("Privacy profile")
    _draw(right, curves.trade_off, "alpha (type I error)", "beta (type II error)", f"allowed by {curves.claim}")
    right.set_title("Trade-off function")
    figure.suptitle(curves.name)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=150, metadata={"Software": None})
    return picture.getvalue()


def _draw(axes: Axes, curve: Curve, argument: str, value: str, allowed: str) -> None:
    axes.plot(curve.points, curve.exact.upper, color="#0b6e4f", label="exact, worst neighbours")
    axes.plot(curve.points, curve.claimed, color="#b5651d", linestyle="--", label=allowed)
    axes.set_xlabel(argument)
    axes.set_ylabel(value)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=9)
