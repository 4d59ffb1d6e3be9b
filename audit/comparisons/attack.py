"""How well an attack tells canaries that were in from canaries that were not: TPR at low FPR, AUROC, the ROC curve.

These describe one attack and its scores. They refute no claim and bound no epsilon: that is what `distinguish_scores`
does, with the same scores. Every interval says which kind it is, and each has the stated error taken by itself.

The operating point at a false positive rate f: with k = floor(f n) of the n scores without the canary, the threshold u
is the (k + 1)-th largest of these, and a score above u is called "in". The scores without the canary fix u, so given u
the number of true positives is binomial, and its interval is the two-sided one of Clopper and Pearson. The true rate of
false positives at u is at most a Beta(k + 1, n - k) variable in distribution, with equality for continuous scores, so
its upper bound, the one-sided one of Clopper and Pearson for k false positives, is exact too.

AUROC = P(in > out) + P(in = out)/2. Its interval is twofold: that of DeLong, asymptotic, from the variances of the two
samples of placements; and Hoeffding's, which holds at every number of scores: the estimate is within
sqrt(log(2/error)/(2 min(n, n'))) except with the error.

References: C. J. Clopper and E. S. Pearson, Biometrika 26 (1934); E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson,
Biometrics 44 (1988); W. Hoeffding, JASA 58 (1963), Section 5 (two-sample U-statistics); N. Carlini et al., Membership
inference attacks from first principles (2022), on why rates at low FPR are what matters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal, final

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpverdict.audit.comparisons.picture import draw_picture
from dpverdict.audit.comparisons.sheet import Panel, finite_series
from dpverdict.audit.distinguishing.fixed_size import checked_error
from dpverdict.audit.distinguishing.recorded_scores import checked_scores
from dpverdict.audit.statistics.proportions import proportion_lower, proportion_upper
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array, Integers
from dpverdict.numerics.text import rounded_text

LOW_RATES: Final = (0.001, 0.01, 0.1)
TWO_SIDED: Final = "two-sided, exact (Clopper and Pearson)"
ONE_SIDED: Final = "one-sided upper bound, exact (Clopper and Pearson)"
DELONG: Final = "two-sided, asymptotic (DeLong)"
HOEFFDING: Final = "two-sided, valid at every number of scores (Hoeffding)"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceInterval:
    """Where a number lies, except with the error probability; and which kind of interval it is."""

    low: float
    high: float
    kind: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OperatingPoint:
    """An attack with a threshold that was set for one false positive rate.

    Attributes:
        rate: the false positive rate that was asked for.
        threshold: scores above it are called "in".
        false_positives: the share of scores without the canary above it.
        false_positives_upper: `ONE_SIDED` of the true share.
        true_positives: the share of scores with the canary above it.
        interval: of the true share.
    """

    rate: float
    threshold: float
    false_positives: float
    false_positives_upper: float
    true_positives: float
    interval: ConfidenceInterval


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AttackReadout:
    """What an attack achieves on its scores; it refutes nothing.

    Attributes:
        canaries: numbers of scores with and without the canary.
        error_probability: of each interval by itself.
        points: one for each false positive rate.
        auroc: P(in > out) + P(in = out)/2, as estimated.
        auroc_intervals: `DELONG`, left out where the sample has no variance, and `HOEFFDING`.
    """

    canaries: tuple[int, int]
    error_probability: float
    points: tuple[OperatingPoint, ...]
    auroc: float
    auroc_intervals: tuple[ConfidenceInterval, ...]

    def to_dict(self) -> dict[str, object]:
        """As JSON-ready data."""
        return asdict(self)

    def describe(self) -> str:
        """A line for each number."""
        level = f"error {rounded_text(self.error_probability)}"
        lines = [f"{self.canaries[0]} scores with the canary, {self.canaries[1]} without"]
        for one in self.points:
            inside = one.interval
            lines.append(
                f"TPR at FPR {one.rate:g}: {one.true_positives:.4g}, in [{inside.low:.4g}, {inside.high:.4g}] "
                f"({inside.kind}, {level}); true FPR at that threshold at most {one.false_positives_upper:.4g} "
                f"({ONE_SIDED}, {level})"
            )
        for each in self.auroc_intervals:
            said = f"in [{each.low:.4g}, {each.high:.4g}] ({each.kind}, {level})"
            lines.append(f"AUROC: {self.auroc:.4g}, {said}")
        return "\n".join(lines)


def attack_readout(
    scores_in: ArrayLike,
    scores_out: ArrayLike,
    *,
    error_probability: float,
    false_positive_rates: Sequence[float] = LOW_RATES,
) -> AttackReadout:
    """Read an attack off its scores, larger where the canary looks included.

    Args:
        scores_in: with the canary, shape (n,), independent draws, at least 10.
        scores_out: without it, shape (n',).
        error_probability: of each interval by itself, in [1e-90, 1).
        false_positive_rates: each in (0, 1).

    Raises:
        InvalidValue: scores that are not finite numbers, or a parameter out of its range.

    >>> rng = np.random.default_rng(1)
    >>> found = attack_readout(rng.normal(2, 1, 1000), rng.normal(0, 1, 1000), error_probability=0.05)
    >>> at_one_percent = found.points[1]
    >>> truth = scipy.stats.norm.sf(at_one_percent.threshold, loc=2)  # of that threshold
    >>> bool(at_one_percent.interval.low < truth < at_one_percent.interval.high)
    True
    """
    error = checked_error(error_probability)
    held_in, held_out = _checked_scores(scores_in, scores_out)
    points = []
    for rate in false_positive_rates:
        if not 0 < rate < 1:
            remedy = "give rates such as 0.001"
            raise InvalidValue("false_positive_rates", rate, "in (0, 1)", remedy)
        points.append(_operating_point(held_in, held_out, float(rate), error))
    auroc, intervals = _auroc_with_intervals(held_in, held_out, error)
    return AttackReadout(
        canaries=(len(held_in), len(held_out)),
        error_probability=error,
        points=tuple(points),
        auroc=auroc,
        auroc_intervals=intervals,
    )


def roc_picture(
    scores_in: ArrayLike, scores_out: ArrayLike, *, error_probability: float, kind: Literal["png", "svg"] = "svg"
) -> bytes:
    """The ROC curve on log axes, with the exact interval of the TPR at every threshold taken by itself.

    Thresholds are the scores without the canary. The dotted line is the attack that guesses.

    Args:
        scores_in: with the canary, shape (n,).
        scores_out: without it, shape (n',).
        error_probability: of each interval by itself, in [1e-90, 1).
        kind: "png" or "svg".

    Raises:
        InvalidValue: as `attack_readout`.
    """
    error = checked_error(error_probability)
    held_in, held_out = _checked_scores(scores_in, scores_out)
    n = len(held_out)
    most = np.unique(np.geomspace(1, n - 1, 200).astype(np.int64))
    above = np.sort(held_out)[::-1][most]
    right = len(held_in) - np.searchsorted(np.sort(held_in), above, "right")
    low, high = _clopper_pearson(right, len(held_in), error)
    rate, least = most / n, 0.5 / len(held_in)

    def shown(values: Array) -> Array:
        return np.maximum(values, least)

    panel = Panel(
        title=f"{len(held_in)} scores with the canary, {n} without",
        x="false positive rate",
        y="true positive rate",
        curves=(
            finite_series("attack", rate, shown(right / len(held_in))),
            finite_series(f"{TWO_SIDED}, error {rounded_text(error)} each", rate, shown(low), "dashed"),
            finite_series("", rate, shown(high), "dashed"),
            finite_series("guessing", rate, rate, "dotted", 4),
        ),
        log_x=True,
        log_y=True,
    )
    return draw_picture("ROC curve of the attack, log axes", [panel], kind=kind)


def _checked_scores(scores_in: ArrayLike, scores_out: ArrayLike) -> tuple[Array, Array]:
    return checked_scores(scores_in, "scores_in", fewest=10), checked_scores(scores_out, "scores_out", fewest=10)


def _operating_point(held_in: Array, held_out: Array, rate: float, error: float) -> OperatingPoint:
    n = len(held_out)
    k = min(math.floor(rate * n + 1e-9), n - 1)
    threshold = float(np.partition(held_out, n - 1 - k)[n - 1 - k])
    right = int(np.count_nonzero(held_in > threshold))
    low, high = _clopper_pearson(np.array([right]), len(held_in), error)
    return OperatingPoint(
        rate=rate,
        threshold=threshold,
        false_positives=float(np.count_nonzero(held_out > threshold)) / n,
        false_positives_upper=float(proportion_upper(k, n, error)),
        true_positives=right / len(held_in),
        interval=ConfidenceInterval(low=float(low[0]), high=float(high[0]), kind=TWO_SIDED),
    )


def _clopper_pearson(counts: Integers, n: int, error: float) -> tuple[Array, Array]:
    """Both ends at half of the error each."""
    return proportion_lower(counts, n, error / 2), proportion_upper(counts, n, error / 2)


def _auroc_with_intervals(
    held_in: Array, held_out: Array, error: float
) -> tuple[float, tuple[ConfidenceInterval, ...]]:
    n_in, n_out = len(held_in), len(held_out)
    ranks = scipy.stats.rankdata(np.concatenate([held_in, held_out]))
    # The share of the other side below each score, ties by half.
    of_in = (ranks[:n_in] - scipy.stats.rankdata(held_in)) / n_out
    of_out = 1 - (ranks[n_in:] - scipy.stats.rankdata(held_out)) / n_in
    auroc = float(of_in.mean())
    far = math.sqrt(math.log(2 / error) / (2 * min(n_in, n_out)))
    intervals = [ConfidenceInterval(low=max(0.0, auroc - far), high=min(1.0, auroc + far), kind=HOEFFDING)]
    variance = float(of_in.var(ddof=1)) / n_in + float(of_out.var(ddof=1)) / n_out
    if variance > 0:
        half = -float(scipy.special.ndtri(error / 2)) * math.sqrt(variance)
        intervals.insert(0, ConfidenceInterval(low=max(0.0, auroc - half), high=min(1.0, auroc + half), kind=DELONG))
    return auroc, tuple(intervals)
