"""Scores learned from labelled outputs: each estimates the log-likelihood ratio of P against Q.

Label 1 for outputs on the dataset, 0 for the neighbour, as many of both, so that a fitted logit estimates L itself and
is thresholded at epsilon or paid out without recalibration. Three families, by what they can see:

* linear (`score.fit_linear_score`): exact for Gaussian shifts with any covariance;
* additive splines: a sum over coordinates of piecewise linear functions, each constant beyond its outer knots: the
  shape of products of independent noises, such as the kinks of Laplace in many coordinates, which no linear score sees;
* boosted trees (`trees`): for interactions; they need scikit-learn.

A score must not be learned from the outputs it is then tested on. To pool the counts of folds, each scored by a model
that was trained on the others, is not valid: the event of each fold depends on the data of the others. Twice the mean
of the p-values of the folds is (Rueschendorf 1982; Vovk and Wang 2020, Table 1), and so is the mean of their e-values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, final

import numpy as np
import scipy
from threadpoolctl import threadpool_limits

from dpverdict.audit.scores.score import Score
from dpverdict.audit.scores.trees import thinned_rows
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array

Design: TypeAlias = "Array | scipy.sparse.csr_array"

SPLINE: Final = "learned additive spline"
"""The name of the scores of `fit_spline_score`."""
KNOTS: Final = 8
PENALTY: Final = 1.0
"""1/C of the squared weights, in units of one observation's log-likelihood."""
CURVATURE_ROWS: Final = 4_000
SLOWLY: Final = 0.02
MOST_COORDINATES: Final = 200
LARGEST_DESIGN: Final = 20_000_000
"""Numbers in the matrix of a spline fit; beyond it the training outputs are thinned evenly."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SplineScore:
    """c + the sum over coordinates of a piecewise linear function, constant beyond its outer knots.

    Attributes:
        name: what a report calls it.
        offset: c.
        knots: one increasing array per coordinate, of at least one knot.
        values: the functions at the knots.
    """

    name: str
    offset: float
    knots: tuple[Array, ...]
    values: tuple[Array, ...]

    def __call__(self, outputs: Array) -> Array:
        """The scores of outputs of shape (trials, m); infinite outputs are beyond the outer knots."""
        if outputs.ndim != 2 or outputs.shape[1] != len(self.knots):
            remedy = "give outputs and score of the same mechanism"
            raise InvalidValue("outputs", f"shape {outputs.shape}", f"of shape (trials, {len(self.knots)})", remedy)
        total = np.full(len(outputs), self.offset)
        for i, (knots, values) in enumerate(zip(self.knots, self.values, strict=True)):
            total += np.interp(outputs[:, i], knots, values)
        return total

    def times(self, factor: float) -> SplineScore:
        """A multiple of the score."""
        return replace(self, offset=self.offset * factor, values=tuple(own * factor for own in self.values))

    def describe(self) -> dict[str, object]:
        """Kind, offset, knots and values."""
        return {
            "kind": "additive spline",
            "name": self.name,
            "offset": self.offset,
            "knots": [knots.tolist() for knots in self.knots],
            "values": [values.tolist() for values in self.values],
        }


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChainedScore:
    """A one-dimensional learned score of a user's score: it turns any scale and direction into a likelihood ratio."""

    name: str
    inner: Score
    outer: SplineScore

    def __call__(self, outputs: Array) -> Array:
        """The scores of outputs of shape (trials, m)."""
        return self.outer(self.inner(outputs)[:, np.newaxis])

    def times(self, factor: float) -> ChainedScore:
        """A multiple of the score."""
        return replace(self, outer=self.outer.times(factor))

    def describe(self) -> dict[str, object]:
        """Both scores."""
        return {"kind": "chained", "name": self.name, "inner": self.inner.describe(), "outer": self.outer.describe()}


def fit_spline_score(dataset_outputs: Array, neighbour_outputs: Array, *, name: str = SPLINE) -> SplineScore:
    """Logistic regression on hat functions at quantiles of each coordinate, with a penalty of half the squared weights.

    Args:
        dataset_outputs: shape (n, m), or (n,) for m = 1; may be infinite, not NaN.
        neighbour_outputs: the same of the neighbour.
        name: of the score.

    Raises:
        InvalidValue: more than 200 coordinates.
    """
    p, q = (_as_table(outputs) for outputs in (dataset_outputs, neighbour_outputs))
    m = p.shape[1]
    if m > MOST_COORDINATES:
        remedy = "use a linear score, or project the outputs"
        raise InvalidValue("outputs", f"{m} coordinates", f"at most {MOST_COORDINATES}", remedy)
    rows = max(2, LARGEST_DESIGN // (2 * KNOTS * m))
    both = np.concatenate([thinned_rows(p, rows), thinned_rows(q, rows)])
    labels = np.repeat([1.0, 0.0], [min(len(p), rows), min(len(q), rows)])
    knots = tuple(_spline_knots(both[:, i]) for i in range(m))
    offset, weights = fit_logistic(_hat_functions(both, knots), labels)
    ends = np.cumsum([len(own) for own in knots])[:-1]
    return SplineScore(name=name, offset=offset, knots=knots, values=tuple(np.split(weights, ends)))


def calibrated_name(score: Score) -> str:
    """The name of the calibration of a user's score by `fit_chained_score`."""
    return f"{score.name}, calibrated"


def fit_chained_score(score: Score, dataset_outputs: Array, neighbour_outputs: Array) -> ChainedScore:
    """A user's score, calibrated by a spline on its value."""
    outer = fit_spline_score(score(dataset_outputs), score(neighbour_outputs), name=calibrated_name(score))
    return ChainedScore(name=outer.name, inner=score, outer=outer)


def scaled_score(score: Score, factor: float) -> Score:
    """A multiple of a score that was learned; any other score as it is."""
    times: Callable[[float], Score] | None = getattr(score, "times", None)
    return score if times is None else times(factor)


def fit_logistic(design: Design, labels: Array, *, penalty: float = PENALTY) -> tuple[float, Array]:
    """Offset c and weights w that maximise the log-likelihood of logit = c + design . w, minus penalty |w|^2/2.

    By Newton's method with halved steps; the problem is strictly concave in w, so it always ends. The curvature, which
    only directs the steps, is taken from at most `CURVATURE_ROWS` rows, evenly spread, and again where a step with an
    earlier one gains more than `SLOWLY` of what the step before it gained.

    Args:
        design: shape (n, k), finite; an array, or a sparse one.
        labels: 0 or 1, shape (n,).
        penalty: > 0.
    """
    n, k = design.shape
    beta = np.zeros(k + 1)
    ridge = np.concatenate([[1e-9 * n], np.full(k, penalty)])
    sampled = slice(None, None, math.ceil(n / CURVATURE_ROWS))
    part = design[sampled] if isinstance(design, np.ndarray) else design[sampled].toarray()

    def objective(at: Array, logit: Array) -> float:
        return float(np.logaddexp(0, logit).sum() - labels @ logit + 0.5 * (ridge * at**2).sum())

    def curvature(fitted: Array) -> tuple[Array, Array]:
        weight = (fitted * (1 - fitted))[sampled]
        weighted = part * weight[:, np.newaxis]
        hessian = np.empty((k + 1, k + 1))
        hessian[0, 0], hessian[0, 1:], hessian[1:, 0] = weight.sum(), weighted.sum(axis=0), weighted.sum(axis=0)
        hessian[1:, 1:] = part.T @ weighted
        hessian *= n / len(part)
        hessian[np.diag_indices(k + 1)] += ridge
        factors: tuple[Array, Array] = scipy.linalg.lu_factor(hessian, overwrite_a=True, check_finite=False)
        return factors

    logit = np.zeros(n)
    value, gained = objective(beta, logit), math.inf
    factors: tuple[Array, Array] | None = None
    # One thread: those of OpenBLAS wait for each other by spinning, which takes longer than these small matrices do.
    with threadpool_limits(limits=1, user_api="blas"):
        for _ in range(50):
            fitted = scipy.special.expit(logit)
            residual = fitted - labels
            gradient = np.concatenate([[residual.sum()], design.T @ residual]) + ridge * beta
            renewed = factors is None
            factors = factors or curvature(fitted)
            step = scipy.linalg.lu_solve(factors, gradient, check_finite=False)
            along = step[0] + design @ step[1:]
            size, moved = 1.0, objective(beta - step, logit - along)
            while size > 1e-6 and moved > value:
                size /= 2
                moved = objective(beta - size * step, logit - size * along)
            if size <= 1e-6 and renewed:
                break
            if size <= 1e-6:
                factors = None
                continue
            beta, logit = beta - size * step, logit - size * along
            gain, value = value - moved, moved
            if gain <= 1e-7 * (1 + abs(value)):
                break
            if gain > SLOWLY * gained or size < 1:
                factors = None
            gained = gain
    return float(beta[0]), beta[1:]


def _as_table(outputs: Array) -> Array:
    table = outputs[:, np.newaxis] if outputs.ndim == 1 else outputs
    return table


def _spline_knots(values: Array) -> Array:
    """Eight quantiles of the finite values with the extremes, without repetition, and one knot for each infinity."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return np.array([-1.0, 1.0])
    knots: Array = np.unique(np.quantile(finite, np.linspace(0, 1, KNOTS), method="inverted_cdf"))
    for infinity, end in ((-np.inf, knots[0]), (np.inf, knots[-1])):
        if (values == infinity).any():
            knots = np.union1d(knots, [end + np.copysign(max(1.0, abs(end)), infinity)])
    return knots


def _hat_functions(values: Array, knots: tuple[Array, ...]) -> Design:
    """The hat functions of the knots of every coordinate at the values: two numbers per row and coordinate, sum 1."""
    n, entries, before = len(values), 2 * len(knots), 0
    columns, data = np.empty((n, entries), dtype=np.int32), np.empty((n, entries))
    for i, own in enumerate(knots):
        x = np.clip(values[:, i], own[0], own[-1])
        left = np.searchsorted(own[1:-1], x, side="right")
        right = np.minimum(left + 1, len(own) - 1)
        share = (x - own[left]) / np.where(right > left, own[right] - own[left], 1.0)
        columns[:, 2 * i], columns[:, 2 * i + 1] = before + left, before + right
        data[:, 2 * i], data[:, 2 * i + 1] = 1 - share, share
        before += len(own)
    starts = np.arange(0, n * entries + 1, entries)
    hats: scipy.sparse.csr_array = scipy.sparse.csr_array((data.ravel(), columns.ravel(), starts), shape=(n, before))
    return hats
