"""Scores from shadow runs: is what a run shows of a canary likelier if the canary was in, or if it was not?

Shadow runs are trainings of the auditor's own, on known data with some of the canaries. They give a sample, for each
canary, of a statistic (the loss, the confidence in the label, a projection of a gradient) with it, and one without. To
each sample a normal law is fitted, and the score of the audited run is the log-likelihood ratio

    log N(observed; mean_in, sd_in) - log N(observed; mean_out, sd_out),

the likelihood ratio attack (LiRA). A score is only as good as the fit, and an audit with it is valid however bad it is:
the shadow runs know nothing of the inclusion bits of the audited run. So these scores may be given to
`distinguish_one_run` (canaries of one run) or, one run a score, to `distinguish_scores`.

Reference: N. Carlini, S. Chien, M. Nasr, S. Song, A. Terzis, F. Tramer, Membership inference attacks from first
principles (IEEE S&P 2022), Algorithm 1, and its offline variant.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array

SPREADS: Final = ("each", "shared")


def lira_scores(
    observed: ArrayLike,
    shadow: ArrayLike,
    included: ArrayLike,
    *,
    spread: Literal["each", "shared"],
    offline: bool = False,
) -> Array:
    """The scores of the canaries of one run, larger where they look included: shape (canaries,).

    Args:
        observed: the statistic of each canary in the audited run, shape (canaries,).
        shadow: the same in each shadow run, shape (runs, canaries).
        included: whether the canary was in that shadow run, shape (runs, canaries).
        spread: "each" fits a standard deviation to every canary, which wants some 30 runs with it and without it;
            "shared" one for all.
        offline: only runs without the canary are used: the score is the log-odds of the normal probability to see less
            than what is observed. The statistic must then be larger where a canary was included.

    Raises:
        InvalidValue: other shapes, numbers that are not finite, or a canary with too few runs of a kind: two, or one
            where the spread is shared.

    >>> rng = np.random.default_rng(1)
    >>> bits = rng.integers(0, 2, (64, 200)).astype(bool)
    >>> own = rng.integers(0, 2, 200).astype(bool)
    >>> level = rng.normal(size=200)  # what is usual for each canary, and hides which were in
    >>> shadow = level + bits + 0.3 * rng.normal(size=(64, 200))
    >>> scores = lira_scores(level + own + 0.3 * rng.normal(size=200), shadow, bits, spread="each")
    >>> float(np.mean((scores > 0) == own)) > 0.9
    True
    """
    run, others, inside = np.asarray(observed), np.asarray(shadow), np.asarray(included)
    for name, values in (("observed", run), ("shadow", others)):
        if values.dtype.kind not in "biuf" or not np.isfinite(values).all():
            raise InvalidValue(name, f"an array of {values.dtype}", "finite numbers", "give one statistic per canary")
    run, others = run.astype(np.float64), others.astype(np.float64)
    if run.ndim != 1 or others.ndim != 2 or others.shape[1] != len(run):
        shapes = f"shapes {run.shape} and {others.shape}"
        raise InvalidValue("shadow", shapes, "of shapes (canaries,) and (runs, canaries)", "give one column per canary")
    if inside.shape != others.shape or not np.isin(inside, (0, 1)).all():
        raise InvalidValue(
            "included", f"shape {inside.shape}", f"bits of shape {others.shape}", "give one per statistic"
        )
    if spread not in SPREADS:
        raise InvalidValue("spread", spread, "'each' or 'shared'", "'shared' for few shadow runs")
    bits, least = inside.astype(bool), 2 if spread == "each" else 1
    kinds = [(~bits, "without")] if offline else [(bits, "with"), (~bits, "without")]
    laws = []
    for kind, word in kinds:
        counts = kind.sum(axis=0)
        if counts.min() < least or (spread == "shared" and counts.sum() <= len(run)):
            poorest = int(counts.argmin())
            found = f"{counts[poorest]} runs {word} canary {poorest}"
            raise InvalidValue("included", found, f"at least {least} such runs", "make more shadow runs")
        laws.append(_fitted_normals(others, kind, spread))
    if offline:
        mean, deviation = laws[0]
        z = (run - mean) / deviation
        return np.asarray(scipy.special.log_ndtr(z) - scipy.special.log_ndtr(-z))
    (mean_in, sd_in), (mean_out, sd_out) = laws
    found_in, found_out = (run - mean_in) / sd_in, (run - mean_out) / sd_out
    return np.asarray((found_out**2 - found_in**2) / 2 + np.log(sd_out) - np.log(sd_in))


def logit_of_confidence(confidence: ArrayLike) -> Array:
    """log(p/(1 - p)) of a model's confidence p in the label of a canary, which is nearer to a normal law than p.

    Args:
        confidence: in [0, 1], of any shape; 0 and 1 are moved inside by 1e-12.
    """
    p = np.clip(np.asarray(confidence, dtype=np.float64), 1e-12, 1 - 1e-12)
    logits: Array = scipy.special.logit(p)
    return logits


def _fitted_normals(statistics: Array, kind: NDArray[np.bool_], spread: str) -> tuple[Array, Array]:
    """The mean and the standard deviation of each canary's statistics in the runs of one kind."""
    counts = kind.sum(axis=0)
    mean = np.where(kind, statistics, 0.0).sum(axis=0) / counts
    squares = np.where(kind, (statistics - mean) ** 2, 0.0).sum(axis=0)
    if spread == "shared":
        shared = float(squares.sum() / (counts.sum() - len(counts)))
        variance = np.full(len(counts), shared)
    else:
        variance = squares / (counts - 1)
    least = 1e-12 * max(1.0, float(np.abs(statistics).max())) ** 2
    return mean, np.sqrt(np.maximum(variance, least))
