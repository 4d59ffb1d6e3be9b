"""A few dozen numbers made of an output of any length: its scale, its correlations, and the coordinates that stand out.

Scores of single coordinates, linear or additive, do not see that two of them belong together, and beyond
`learned.MOST_COORDINATES` only a linear one is learned. A summary has a fixed number of features instead, of the
standardised output z:

* sum z^2, sum |z|, max z, min z, sum z, the number of zeros among the numbers of the output;
* z along the difference of the means, and z^2 along the difference of the variances;
* (v . z)^2 along the directions v in which the correlations of the two sides differ most, and their signed sum;
* products z_i z_j of the pairs whose correlations differ most, squares of the coordinates whose variances differ most,
  and the coordinates themselves whose means differ most.

They are chosen on one half of the outputs and weighed on the other one by an additive spline, or by trees: among many
coordinates the largest difference is large by chance, and weighed on the same outputs it would count for more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.scores.learned_scores import SplineScore, fit_spline_score
from dpverdict.audit.scores.trees import thinned_rows
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array

SUMMARY: Final = "learned spline of summaries"
"""The name of the scores of `fit_summary_score`."""
DIRECTIONS: Final = 4
PAIRS: Final = 12
SQUARES: Final = 8
MEANS: Final = 8
MOST_CHOOSING: Final = 4_000
"""Outputs per side from which the features are chosen."""
MOST_PAIRED: Final = 4_096
"""Coordinates up to which all pairs are compared; beyond it only directions tell of correlations."""
PAIRED_ROWS: Final = 1_000
"""Outputs per side that compare the pairs of more than 300 coordinates."""
STEPS: Final = 8
"""Of the subspace iteration."""
FEWEST_ROWS: Final = 40
"""Outputs per side without which nothing is summarised."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SummaryFeatures:
    """The features, fixed.

    Attributes:
        centre, scale: of every coordinate, shape (m,).
        means: the weights of the feature along the difference of the means, shape (m,).
        variances: those of the squares, shape (m,).
        directions: shape (k, m).
        signs: of the differences along them, shape (k,).
        pairs: shape (r, 2); squares, singles: the coordinates of these features.
    """

    centre: Array
    scale: Array
    means: Array
    variances: Array
    directions: Array
    signs: Array
    pairs: NDArray[np.int64]
    squares: NDArray[np.int64]
    singles: NDArray[np.int64]

    def __call__(self, outputs: Array) -> Array:
        """Outputs of shape (trials, m) to features of shape (trials, k)."""
        if outputs.ndim != 2 or outputs.shape[1] != len(self.centre):
            remedy = "give outputs and score of the same mechanism"
            raise InvalidValue("outputs", f"shape {outputs.shape}", f"of shape (trials, {len(self.centre)})", remedy)
        with np.errstate(over="ignore", invalid="ignore"):
            z = np.clip((outputs - self.centre) / self.scale, -1e100, 1e100)
        squared = z * z
        # Sums, not matrix products: equal outputs need equal features, whichever rows are beside them.
        along = [np.add.reduce(z * v, axis=1) ** 2 for v in self.directions]
        signed = sum((s * a for s, a in zip(self.signs, along, strict=True)), start=np.zeros(len(z)))
        features = [
            np.add.reduce(squared, axis=1),
            np.add.reduce(np.abs(z), axis=1),
            z.max(axis=1),
            z.min(axis=1),
            np.add.reduce(z, axis=1),
            np.count_nonzero(outputs == 0, axis=1).astype(np.float64),
            np.add.reduce(z * self.means, axis=1),
            np.add.reduce(squared * self.variances, axis=1),
            signed,
            *along,
            *(z[:, i] * z[:, j] for i, j in self.pairs),
            *(squared[:, i] for i in self.squares),
            *(z[:, i] for i in self.singles),
        ]
        return np.stack(features, axis=1)

    def describe(self) -> dict[str, object]:
        """Every number of it."""
        return {name: getattr(self, name).tolist() for name in self.__slots__}

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> SummaryFeatures:
        """The summary that `describe` wrote.

        Raises:
            KeyError, TypeError, ValueError: data that no summary describes itself by.
        """
        numbers = {
            name: np.asarray(data[name], dtype=np.float64)
            for name in ("centre", "scale", "means", "variances", "directions", "signs")
        }
        places = {name: np.asarray(data[name], dtype=np.int64) for name in ("pairs", "squares", "singles")}
        m = len(numbers["centre"])
        numbers["directions"] = numbers["directions"].reshape(len(numbers["signs"]), m)
        places["pairs"] = places["pairs"].reshape(-1, 2)
        if not all(numbers[name].shape == (m,) for name in ("centre", "scale", "means", "variances")):
            raise ValueError("a summary has numbers for every coordinate")
        if not all(np.isfinite(part).all() for part in numbers.values()) or not (numbers["scale"] > 0).all():
            raise ValueError("the numbers of a summary are finite, and its scales positive")
        if not all(((part >= 0) & (part < m)).all() for part in places.values()):
            raise ValueError("a coordinate is out of range")
        return SummaryFeatures(
            centre=numbers["centre"],
            scale=numbers["scale"],
            means=numbers["means"],
            variances=numbers["variances"],
            directions=numbers["directions"],
            signs=numbers["signs"],
            pairs=places["pairs"],
            squares=places["squares"],
            singles=places["singles"],
        )

    @staticmethod
    def of(dataset_outputs: Array, neighbour_outputs: Array) -> SummaryFeatures:
        """The features in which these outputs differ most, shape (n, m) each."""
        p, q = (thinned_rows(side, MOST_CHOOSING) for side in (dataset_outputs, neighbour_outputs))
        both = np.concatenate([p, q])
        centre = np.median(both, axis=0)
        with np.errstate(over="ignore", invalid="ignore"):
            scale = both.std(axis=0)
        scale = np.where(np.isfinite(scale) & (scale > 0), scale, 1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            x, y = (np.clip((side - centre) / scale, -1e50, 1e50) for side in (p, q))
        m = x.shape[1]
        gap, of_x, of_y = x.mean(axis=0) - y.mean(axis=0), x.var(axis=0), y.var(axis=0)
        spread = np.sqrt((of_x + of_y) / 2)
        # A coordinate that does not vary within the sides but differs between them tells them apart on its own.
        means = gap / np.maximum(spread, np.maximum(1e-3 * np.abs(gap), 1e-12)) ** 2
        wider = of_x - of_y
        u, v = (
            (side - side.mean(axis=0)) / np.where(var > 0, np.sqrt(np.where(var > 0, var, 1.0)), 1.0)
            for side, var in ((x, of_x), (y, of_y))
        )
        directions, signs = _most_different_directions(u, v)
        return SummaryFeatures(
            centre=centre,
            scale=scale,
            means=means,
            variances=wider,
            directions=directions,
            signs=signs,
            pairs=_most_different_pairs(u, v),
            squares=np.sort(np.argsort(-np.abs(wider), kind="stable")[: min(SQUARES, m)]),
            singles=np.sort(np.argsort(-np.abs(gap) / np.maximum(spread, 1e-12), kind="stable")[: min(MEANS, m)]),
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SummaryScore:
    """An additive spline of a summary."""

    name: str
    summary: SummaryFeatures
    outer: SplineScore

    def __call__(self, outputs: Array) -> Array:
        """The scores of outputs of shape (trials, m)."""
        return self.outer(self.summary(outputs))

    def times(self, factor: float) -> SummaryScore:
        """A multiple of the score."""
        return replace(self, outer=self.outer.times(factor))

    def describe(self) -> dict[str, object]:
        """The summary and the spline."""
        return {
            "kind": "summaries",
            "name": self.name,
            "summary": self.summary.describe(),
            "outer": self.outer.describe(),
        }


def summaries_apply(dataset_outputs: Array) -> bool:
    """Whether there are two numbers to an output, and enough outputs."""
    return dataset_outputs.shape[1] >= 2 and len(dataset_outputs) >= FEWEST_ROWS


def fit_summary_score(dataset_outputs: Array, neighbour_outputs: Array) -> SummaryScore:
    """Features from the even outputs, the spline from the odd ones; shape (n, m) each."""
    summary = SummaryFeatures.of(dataset_outputs[::2], neighbour_outputs[::2])
    weighed = [summary(thinned_rows(side[1::2], 5 * MOST_CHOOSING)) for side in (dataset_outputs, neighbour_outputs)]
    return SummaryScore(name=SUMMARY, summary=summary, outer=fit_spline_score(*weighed, name=SUMMARY))


def _most_different_directions(u: Array, v: Array) -> tuple[Array, Array]:
    """The unit vectors in which the correlations differ most, without the diagonal, and the signs of the differences.

    By subspace iteration, which needs products with the outputs only; it starts with fixed vectors.
    """
    n, k, m = len(u), len(v), u.shape[1]
    diagonal = (u * u).mean(axis=0) - (v * v).mean(axis=0)

    def differences(at: Array) -> Array:
        product: Array = u.T @ (u @ at) / n - v.T @ (v @ at) / k - diagonal[:, np.newaxis] * at
        return product

    start = np.random.default_rng(0).normal(size=(m, min(2 * DIRECTIONS, m)))
    start[:, 0] = 1.0
    basis = np.linalg.qr(start)[0]
    for _ in range(STEPS):
        image = differences(basis)
        if not np.isfinite(image).all() or not image.any():
            return np.empty((0, m)), np.empty(0)
        basis = np.linalg.qr(image)[0]
    values, vectors = np.linalg.eigh(basis.T @ differences(basis))
    largest = np.argsort(-np.abs(values))[:DIRECTIONS]
    return np.ascontiguousarray((basis @ vectors[:, largest]).T), np.sign(values[largest])


def _most_different_pairs(u: Array, v: Array) -> NDArray[np.int64]:
    """The pairs of coordinates whose correlations differ most; none among more than `MOST_PAIRED`."""
    m = u.shape[1]
    if m > MOST_PAIRED:
        return np.empty((0, 2), dtype=np.int64)
    if m > 300:
        single: Any = np.float32  # half the memory of the two Gram matrices, which only choose
        u, v = thinned_rows(u, PAIRED_ROWS).astype(single), thinned_rows(v, PAIRED_ROWS).astype(single)
    gaps = np.abs(u.T @ u / len(u) - v.T @ v / len(v))
    gaps[np.tri(m, dtype=bool)] = -1.0
    largest = np.argpartition(-gaps, min(PAIRS, m * m - 1), axis=None)[: min(PAIRS, m * (m - 1) // 2)]
    pairs = np.stack(np.unravel_index(np.sort(largest), gaps.shape), axis=1)
    return pairs[pairs[:, 0] < pairs[:, 1]].astype(np.int64)
