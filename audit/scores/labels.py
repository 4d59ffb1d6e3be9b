"""Scores that look an output up in a table: labels, atoms beside a continuous part, and bins of one number.

What kind of outputs a mechanism has is decided on explored ones (`share_of_repeated_rows`): a value that occurs twice
is a label, for a continuous law on float64 numbers repeats one with probability of about n^2 2^-53. A label has no
order, so its log-likelihood ratio is learned as such, from how often it was met on each side; rows that are no label
are scored by a spline, or 0. Two outputs are the same label if their bits are: 0.0 and -0.0 are two.

Each score is a fixed function of the output once it is learned. What was taken for a label decides the power alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.scores.learned_scores import SplineScore, fit_spline_score
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array

Keys = NDArray[np.uint64]

SMOOTHED: Final = 3.0
"""Added to every count of a label or a bin: with 1, labels that were met five times on one side by chance stand above
one that truly is ten times as likely and was met often."""
ALL_LABELS: Final = 0.9
"""Of the explored outputs: where more of them repeat a value, the others are no continuous part."""
FEWEST_CONTINUOUS: Final = 30
"""Outputs of a continuous part beside atoms, without which no spline is learned of it."""
_MULTIPLIERS: Final = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def row_keys(outputs: Array, columns: tuple[int, ...]) -> Keys:
    """One 64-bit number per row, equal where these columns are equal bit for bit.

    Of one column its bits; of more a mixture of theirs by the finaliser of SplitMix64. Two rows that differ have the
    same key with probability of about 2^-64; they are one label then, which is a function of the output as any other.
    """
    bits = np.ascontiguousarray(outputs[:, list(columns)], dtype=np.float64).view(np.uint64)
    if len(columns) == 1:
        alone: Keys = bits[:, 0]
        return alone
    keys = np.zeros(len(bits), dtype=np.uint64)
    golden, second, third = (np.uint64(number) for number in _MULTIPLIERS)
    for column in range(bits.shape[1]):
        keys = (keys ^ bits[:, column]) + golden
        keys = (keys ^ (keys >> np.uint64(30))) * second
        keys = (keys ^ (keys >> np.uint64(27))) * third
        keys = keys ^ (keys >> np.uint64(31))
    return keys


def share_of_repeated_rows(outputs: Array, columns: tuple[int, ...]) -> float:
    """The share of rows whose value in these columns occurs at least twice."""
    counts = np.unique(row_keys(outputs, columns), return_counts=True)[1]
    return float(counts[counts > 1].sum() / max(len(outputs), 1))


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelScore:
    """A table from labels to log-likelihood ratios; for other rows another score, or 0.

    Attributes:
        name: what a report calls it.
        columns: which numbers of an output are the label, together.
        keys: of the labels, see `row_keys`, increasing.
        values: one per label.
        rest: the score of rows with another value in these columns; of all columns.
    """

    name: str
    columns: tuple[int, ...]
    keys: Keys
    values: Array
    rest: SplineScore | None = None

    def __call__(self, outputs: Array) -> Array:
        """The scores of outputs of shape (trials, m)."""
        if outputs.ndim != 2 or outputs.shape[1] <= max(self.columns):
            remedy = "give outputs and score of the same mechanism"
            raise InvalidValue("outputs", f"shape {outputs.shape}", f"with a column {max(self.columns)}", remedy)
        scores = np.zeros(len(outputs)) if self.rest is None else self.rest(outputs[:, list(self.columns)])
        if len(self.keys):
            keys = row_keys(outputs, self.columns)
            at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
            scores = np.where(self.keys[at] == keys, self.values[at], scores)
        return scores

    def times(self, factor: float) -> LabelScore:
        """A multiple of the score."""
        return replace(self, values=self.values * factor, rest=None if self.rest is None else self.rest.times(factor))

    def describe(self) -> dict[str, object]:
        """Kind, columns, labels (a number each, or the keys of rows in hexadecimal) and values."""
        of_numbers = len(self.columns) == 1
        return {
            "kind": "labels",
            "name": self.name,
            "columns": list(self.columns),
            "labels": self.keys.view(np.float64).tolist() if of_numbers else [f"{int(key):016x}" for key in self.keys],
            "values": self.values.tolist(),
            "rest": self.rest and self.rest.describe(),
        }

    @staticmethod
    def from_data(data: Mapping[str, Any], rest: SplineScore | None) -> LabelScore:
        """The score that `describe` wrote, with the score of other rows.

        Raises:
            KeyError, TypeError, ValueError: data that no table describes itself by.
        """
        columns = tuple(data["columns"])
        if not columns or not all(isinstance(column, int) and column >= 0 for column in columns):
            raise TypeError("a column is a number >= 0")
        if len(columns) == 1:
            keys = np.asarray(data["labels"], dtype=np.float64).view(np.uint64)
        else:
            keys = np.asarray([int(key, 16) for key in data["labels"]], dtype=np.uint64)
        values = np.asarray(data["values"], dtype=np.float64)
        if keys.shape != values.shape or values.ndim != 1 or not (keys[1:] > keys[:-1]).all():
            raise ValueError("labels and values do not match")
        if not np.isfinite(values).all():
            raise ValueError("values are not finite")
        return LabelScore(name=str(data["name"]), columns=columns, keys=keys, values=values, rest=rest)


def fit_label_score(
    dataset_outputs: Array, neighbour_outputs: Array, columns: tuple[int, ...], *, name: str, alone: bool = False
) -> LabelScore:
    """log[(a + 3)/(b + 3)] for every value of these columns that occurs twice, a and b its counts on the two sides.

    Where fewer than `ALL_LABELS` of the outputs are such values, a spline is learned of the other ones; with ``alone``
    they are 0.
    """
    p, q = row_keys(dataset_outputs, columns), row_keys(neighbour_outputs, columns)
    keys, where, counts = np.unique(np.concatenate([p, q]), return_inverse=True, return_counts=True)
    of_p = np.bincount(where[: len(p)], minlength=len(keys))
    label = counts > 1
    values = _log_ratios(of_p[label], (counts - of_p)[label], len(p), len(q))
    rest = None
    if not alone and float(counts[label].sum()) <= ALL_LABELS * len(where):
        others = dataset_outputs[~label[where[: len(p)]]], neighbour_outputs[~label[where[len(p) :]]]
        if min(map(len, others)) >= 2 and sum(map(len, others)) >= FEWEST_CONTINUOUS:
            rest = fit_spline_score(*(side[:, list(columns)] for side in others))
    return LabelScore(name=name, columns=columns, keys=keys[label], values=values, rest=rest)


def label_scores_of_others(
    dataset_outputs: Array, neighbour_outputs: Array, columns: tuple[int, ...]
) -> tuple[Array, Array]:
    """The score of every output by `fit_label_score`, ``alone``, of all outputs but this one: shape (n,) each.

    Counts without one output are exact and cost nothing, where folds would learn from fewer outputs and give one label
    several scores.
    """
    sides = row_keys(dataset_outputs, columns), row_keys(neighbour_outputs, columns)
    keys, where = np.unique(np.concatenate(sides), return_inverse=True)
    parts = where[: len(sides[0])], where[len(sides[0]) :]
    of_p, of_q = (np.bincount(part, minlength=len(keys)) for part in parts)
    found = []
    for part, (less_p, less_q) in zip(parts, ((1, 0), (0, 1)), strict=True):
        a, b = of_p[part] - less_p, of_q[part] - less_q
        # The sizes are those of all outputs: of a label that nearly all of them have, sizes without this one would give
        # each side a score of its own, the larger one to the side that it is of.
        ratios = _log_ratios(a, b, len(sides[0]), len(sides[1]))
        found.append(np.where(a + b > 1, ratios, 0.0))
    return found[0], found[1]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BinScore:
    """A function of one number that is constant between edges: ``values[i]`` where i edges are at most the number.

    Attributes:
        name: what a report calls it.
        column: which number of an output.
        edges: increasing, shape (k,).
        values: shape (k + 1,).
    """

    name: str
    column: int
    edges: Array
    values: Array

    def __call__(self, outputs: Array) -> Array:
        """The scores of outputs of shape (trials, m)."""
        if outputs.ndim != 2 or outputs.shape[1] <= self.column:
            remedy = "give outputs and score of the same mechanism"
            raise InvalidValue("outputs", f"shape {outputs.shape}", f"with a column {self.column}", remedy)
        scores: Array = self.values[np.searchsorted(self.edges, outputs[:, self.column], "right")]
        return scores

    def times(self, factor: float) -> BinScore:
        """A multiple of the score."""
        return replace(self, values=self.values * factor)

    def describe(self) -> dict[str, object]:
        """Kind, column, edges and values."""
        return {
            "kind": "bins",
            "name": self.name,
            "column": self.column,
            "edges": self.edges.tolist(),
            "values": self.values.tolist(),
        }

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> BinScore:
        """The score that `describe` wrote.

        Raises:
            KeyError, TypeError, ValueError: data that no bins describe themselves by.
        """
        edges, values = (np.asarray(data[part], dtype=np.float64) for part in ("edges", "values"))
        if edges.ndim != 1 or values.shape != (len(edges) + 1,) or not (np.diff(edges) > 0).all():
            raise ValueError("edges and values do not match")
        if not (np.isfinite(edges).all() and np.isfinite(values).all()):
            raise ValueError("edges and values are not finite")
        if not isinstance(data["column"], int) or data["column"] < 0:
            raise TypeError("a column is a number >= 0")
        return BinScore(name=str(data["name"]), column=data["column"], edges=edges, values=values)


def fit_bin_score(
    dataset_outputs: Array, neighbour_outputs: Array, bins: int, *, name: str, column: int = 0
) -> BinScore:
    """log[(a + 3)/(b + 3)] of bins between quantiles of both sides together.

    The least and the greatest output of each side are edges too, so that what is beyond the range of the other side is
    a bin of its own.
    """
    p, q = dataset_outputs[:, column], neighbour_outputs[:, column]
    both = np.concatenate([p, q])
    quantiles = np.quantile(both, np.linspace(0, 1, bins + 1)[1:-1], method="inverted_cdf")
    ends = [p.min(), q.min(), np.nextafter(p.max(), np.inf), np.nextafter(q.max(), np.inf)]
    edges = np.unique(np.concatenate([quantiles, np.clip(ends, -np.finfo(np.float64).max, np.finfo(np.float64).max)]))
    a, b = (np.bincount(np.searchsorted(edges, side, "right"), minlength=len(edges) + 1) for side in (p, q))
    return BinScore(name=name, column=column, edges=edges, values=_log_ratios(a, b, len(p), len(q)))


def _log_ratios(a: NDArray[np.int64], b: NDArray[np.int64], of_p: int, of_q: int) -> Array:
    ratios: Array = np.log((a + SMOOTHED) / (b + SMOOTHED)) + np.log(of_q / of_p)
    return ratios
