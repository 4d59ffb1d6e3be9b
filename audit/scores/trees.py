"""Boosted trees as a score: for interactions between coordinates, which no linear and no additive score sees.

scikit-learn grows the trees and is then done with: a `TreeScore` holds plain arrays (features, thresholds, children,
values of the leaves) and is evaluated by NumPy. What a witness writes down is the score that the audit used, bit for
bit, and a replay needs no scikit-learn.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingClassifier


TREES: Final = "learned boosted trees"
"""The name of the scores of `fit_tree_score`."""
ROUNDS: Final = 150
RATE: Final = 0.1
LEAVES: Final = 15
MOST_ROWS: Final = 20_000
"""Outputs per side that train; more are thinned evenly."""
FEWEST_ROWS: Final = 300
"""Outputs per side without which trees find nothing."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TreeScore:
    """baseline + the sum over trees of the value of the leaf that an output falls into, in the order of the trees.

    A node sends an output to the left if its feature is at most its threshold. All nodes of all trees are in one table;
    a leaf is its own child.

    Attributes:
        name: what a report calls it.
        coordinates: m, the numbers in one output.
        baseline: added to the sum.
        roots: the node where each tree begins, shape (trees,).
        feature, threshold, left, right, value: of every node, shape (nodes,).

    Raises:
        InvalidValue: arrays that are no trees: of other shapes, not finite, or with a child that does not come later.
    """

    name: str
    coordinates: int
    baseline: float
    roots: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: Array
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: Array

    def __post_init__(self) -> None:
        nodes = np.arange(len(self.value))
        parts = (self.feature, self.threshold, self.left, self.right, self.value)
        shapes = all(part.shape == nodes.shape for part in parts) and self.roots.ndim == 1
        # A child comes later than its parent, but for leaves: so every walk ends.
        if not shapes or not (
            ((self.roots >= 0) & (self.roots < len(nodes))).all()
            and ((self.feature >= 0) & (self.feature < self.coordinates)).all()
            and np.isfinite(self.threshold).all()
            and np.isfinite(self.value).all()
            and np.isfinite(self.baseline)
            and (((self.left > nodes) & (self.right > nodes)) | ((self.left == nodes) & (self.right == nodes))).all()
            and (np.maximum(self.left, self.right) < len(nodes)).all()
        ):
            raise InvalidValue("trees", self.name, "nodes whose children come later", "write the witness again")

    def __call__(self, outputs: Array) -> Array:
        """The scores of outputs of shape (trials, m)."""
        if outputs.ndim != 2 or outputs.shape[1] != self.coordinates:
            remedy = "give outputs and score of the same mechanism"
            raise InvalidValue("outputs", f"shape {outputs.shape}", f"of shape (trials, {self.coordinates})", remedy)
        total, rows = np.full(len(outputs), self.baseline), np.arange(len(outputs))
        for root in self.roots:
            node = np.full(len(outputs), root)
            while True:
                goes_left = outputs[rows, self.feature[node]] <= self.threshold[node]
                below = np.where(goes_left, self.left[node], self.right[node])
                if np.array_equal(below, node):
                    break
                node = below
            total += self.value[node]
        return total

    def times(self, factor: float) -> TreeScore:
        """A multiple of the score."""
        return replace(self, baseline=self.baseline * factor, value=self.value * factor)

    def describe(self) -> dict[str, object]:
        """Kind, baseline and every node."""
        arrays = ("roots", "feature", "threshold", "left", "right", "value")
        numbers = {name: getattr(self, name).tolist() for name in arrays}
        return {
            "kind": "boosted trees",
            "name": self.name,
            "coordinates": self.coordinates,
            "baseline": self.baseline,
            **numbers,
        }

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> TreeScore:
        """The score that `describe` wrote.

        Raises:
            InvalidValue, KeyError, TypeError, ValueError: data that no trees describe themselves by.
        """

        def numbers(part: str) -> Array:
            return np.asarray(data[part], dtype=np.float64)

        def nodes(part: str) -> NDArray[np.int64]:
            return np.asarray(data[part], dtype=np.int64)

        return TreeScore(
            name=str(data["name"]),
            coordinates=int(data["coordinates"]),
            baseline=float(data["baseline"]),
            roots=nodes("roots"),
            feature=nodes("feature"),
            threshold=numbers("threshold"),
            left=nodes("left"),
            right=nodes("right"),
            value=numbers("value"),
        )


def trees_apply(dataset_outputs: Array) -> bool:
    """Whether trees are worth growing: two coordinates can interact, the outputs are enough, scikit-learn works."""
    if dataset_outputs.shape[1] < 2 or len(dataset_outputs) < FEWEST_ROWS:
        return False
    try:
        importlib.import_module("sklearn.ensemble")
    except ImportError:
        return False
    return True


def fit_tree_score(dataset_outputs: Array, neighbour_outputs: Array) -> TreeScore:
    """Boosted trees of 15 leaves at rate 0.1, at most 150, fewer as soon as a tenth of the outputs shows no gain.

    Args:
        dataset_outputs: shape (n, m), or (n,) for m = 1.
        neighbour_outputs: the same of the neighbour.

    Raises:
        InvalidValue: scikit-learn is not installed.
    """
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError:
        remedy = "pip install scikit-learn"
        raise InvalidValue("score", "boosted trees", "used with scikit-learn installed", remedy) from None
    p, q = (
        thinned_rows(outputs.reshape(len(outputs), -1), MOST_ROWS) for outputs in (dataset_outputs, neighbour_outputs)
    )
    model = HistGradientBoostingClassifier(
        max_iter=ROUNDS, learning_rate=RATE, max_leaf_nodes=LEAVES, early_stopping=len(p) >= 100, random_state=0
    )
    # One thread: the same trees on every machine, and workers of OpenMP do not wait for each other where all are busy.
    with threadpool_limits(limits=1):
        model.fit(np.concatenate([p, q]), np.repeat([1, 0], [len(p), len(q)]))
    return _score_of_model(model, p.shape[1])


def _score_of_model(model: HistGradientBoostingClassifier, coordinates: int) -> TreeScore:
    trees = [predictor.nodes for (predictor,) in model._predictors]
    roots = np.cumsum([0, *(len(nodes) for nodes in trees)])[:-1].astype(np.int64)
    table = np.concatenate(trees) if trees else np.empty(0, dtype=[("value", "f8")])
    own = np.arange(len(table))
    if not trees:
        empty, real = np.empty(0, dtype=np.int64), np.empty(0)
        feature, left, right, threshold, value = empty, empty, empty, real, real
    else:
        first = np.repeat(roots, [len(nodes) for nodes in trees])
        leaf = table["is_leaf"].astype(bool)
        feature = np.where(leaf, 0, table["feature_idx"]).astype(np.int64)
        # An infinite one cannot be written in JSON; the largest float64 separates the same finite outputs.
        threshold = np.where(leaf, 0.0, np.nan_to_num(table["num_threshold"]))
        left, right = (np.where(leaf, own, first + table[side].astype(np.int64)) for side in ("left", "right"))
        value = np.where(leaf, table["value"], 0.0)
    return TreeScore(
        name=TREES,
        coordinates=coordinates,
        baseline=float(np.ravel(model._baseline_prediction)[0]),
        roots=roots,
        feature=feature,
        threshold=threshold,
        left=left,
        right=right,
        value=value,
    )


def thinned_rows(outputs: Array, rows: int) -> Array:
    """At most ``rows`` of the outputs, evenly."""
    kept: Array = outputs[np.linspace(0, len(outputs) - 1, min(len(outputs), rows)).astype(np.int64)]
    return kept
