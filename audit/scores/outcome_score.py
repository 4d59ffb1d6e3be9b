"""A score of outcomes of any kind: the columns of a layout, and a score of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from dpverdict.audit.scores.score import Score
from dpverdict.audit.trials.outcomes.batches import Batch, Layout
from dpverdict.numerics.arrays import Array

KIND: Final = "of outcomes"
"""The kind of these scores as data."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutcomeScore:
    """``inner`` of the columns that ``layout`` makes of an outcome."""

    layout: Layout
    inner: Score

    @property
    def name(self) -> str:
        """That of the inner score."""
        return self.inner.name

    @property
    def table(self) -> Callable[[Batch], Array]:
        """From outcomes to columns: shape (trials, columns)."""
        return self.layout.table

    def __call__(self, outputs: Array) -> Array:
        """The scores of columns of shape (trials, columns)."""
        return self.inner(outputs)

    def describe(self) -> dict[str, object]:
        """The layout and the inner score."""
        return {
            "kind": KIND,
            "name": self.name,
            "layout": self.layout.describe(),
            "score": self.inner.describe(),
        }
