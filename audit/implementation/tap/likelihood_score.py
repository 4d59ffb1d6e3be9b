"""What the tap knows of a pair as a score of releases: for the test that confirms on fresh ones.

Of noisy values that stand in the outcome, each with a draw of its own and of a known law f of scale s, the score is the
log likelihood ratio of the recorded run: the sum over values y of log f((y - q) / s) - log f((y - q') / s), with q and
q' what the noise was added to on the two datasets. It is larger where an outcome looks more like one of the dataset. It
is a multiple of a small step, so that last bits of releases, which leak by themselves, are not looked at here.
Where no such value moved, it is the product with the way that the outcome moves with the same draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from dpverdict.audit.implementation.tap.tape import Call, Event, NoisyValue, Tape
from dpverdict.audit.laws.base import Law
from dpverdict.audit.scores.score import LinearScore, Score
from dpverdict.audit.trials.outcomes.canonical import CanonicalOutcome, signature_of_numbers
from dpverdict.numerics.arrays import Array, Integers

_OFF_THE_GRID: Final = 0.382
"""Ratios are rounded down after this share of a step, as those of Laplace noise stand exactly on round numbers."""
MOST_SCORED: Final = 2_000
"""Values of an outcome that are scored: those that moved furthest."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordedLikelihoodRatio:
    """The log likelihood ratio of values that stand in the outcome.

    Attributes:
        name: what a report calls it.
        places: where they stand, shape (n,).
        here, there: what noise is added to on the dataset and on the neighbour, shape (n,).
        scales: of the noise, with its sign, shape (n,).
        laws: of the noise of unit scale.
    """

    name: str
    places: Integers
    here: Array
    there: Array
    scales: Array
    laws: tuple[Law, ...]

    def __call__(self, outputs: Array) -> Array:
        """The scores of outputs of shape (trials, m)."""
        total = np.zeros(len(outputs))
        for i, law in enumerate(self.laws):
            y = outputs[:, self.places[i]]
            with np.errstate(over="ignore", invalid="ignore"):
                near, far = (law.log_weight((y - query[i]) / self.scales[i]) for query in (self.here, self.there))
                term = near - far
            total += np.nan_to_num(term, nan=0.0, posinf=1e300, neginf=-1e300)
        step = self._step()
        with np.errstate(over="ignore"):
            rounded = np.floor(total / step + _OFF_THE_GRID) * step
        return np.where(np.abs(total) < 1e290, rounded, total)

    def _step(self) -> float:
        """Far above what float64 rounds off a ratio, which tells the last bits of a release and not its law."""
        sizes = (np.abs(self.here) + np.abs(self.there)) / np.abs(self.scales)
        return float(2.0**-45 * np.sum(1 + sizes[np.isfinite(sizes)]))

    def describe(self) -> dict[str, object]:
        """The score as data."""
        return {
            "kind": "recorded likelihood ratio",
            "name": self.name,
            "places": self.places.tolist(),
            "dataset": self.here.tolist(),
            "neighbour": self.there.tolist(),
            "scales": self.scales.tolist(),
            "laws": [[law.name, float(law.parameter or 0)] for law in self.laws],
        }


def recorded_likelihood_ratio(
    tapes: tuple[Tape, Tape], outcome: CanonicalOutcome, law_of: Callable[[int], Law | None]
) -> Score | None:
    """The likelihood ratio that a recorded run and its replay on the neighbour give; None if no such value moved.

    Args:
        tapes: of both runs.
        outcome: of the recorded run; of one that is not plain numbers nothing is scored.
        law_of: the law of a draw by its number; None where it is not known.
    """
    numbers = _plain_numbers(outcome)
    if numbers is None:
        return None
    places: dict[float, list[int]] = {}
    for place, value in enumerate(numbers):
        places.setdefault(float(value), []).append(place)
    parts: dict[int, _MovedValue] = {}
    for here, there in zip(tapes[0].events, tapes[1].events, strict=False):
        for value, law, part in _moved_values(here, there, law_of):
            at = places.get(value, [])
            if law is not None and len(at) == 1:
                parts[at[0]] = (*part, law)
    found = sorted(parts.items(), key=lambda one: -abs((one[1][0] - one[1][1]) / one[1][2]))[:MOST_SCORED]
    if not found:
        return None
    columns: Any = list(zip(*(part for _, part in found), strict=True))
    values = "value" if len(found) == 1 else f"{len(found)} values"
    return RecordedLikelihoodRatio(
        name=f"likelihood ratio of the {values} that the tap saw move",
        places=np.array([place for place, _ in found]),
        here=np.array(columns[0]),
        there=np.array(columns[1]),
        scales=np.array(columns[2]),
        laws=tuple(columns[3]),
    )


def direction_of_move(outcome: CanonicalOutcome, other: CanonicalOutcome) -> Score | None:
    """The product with the way that an outcome moved; None if it did not, or is not plain numbers.

    Args:
        outcome: on the dataset.
        other: on the neighbour, with the same draws.
    """
    numbers, others = _plain_numbers(outcome), _plain_numbers(other)
    if numbers is None or others is None or len(numbers) != len(others):
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        moved = numbers - others
        moved = moved / np.max(np.abs(moved), initial=1e-300)
    if not np.isfinite(moved).all() or not moved.any():
        return None
    return LinearScore(name="the way that the outcome moves with the same draws", weights=moved, offset=0.0)


_MovedValue = tuple[float, float, float, Law]
"""What noise is added to on both sides, the scale, and the law."""


def _moved_values(
    here: Event, there: Event, law_of: Callable[[int], Law | None]
) -> Iterator[tuple[float, Law | None, tuple[float, float, float]]]:
    """The noisy values of an event that moved: each with its law, and with both queries and the scale."""
    if isinstance(here, NoisyValue) and isinstance(there, NoisyValue) and here.ids.shape == there.ids.shape:
        for i in np.flatnonzero(((here.ids >= 0).sum(axis=1) == 1) & (here.query != there.query)):
            column = int(np.argmax(here.ids[i] >= 0))
            if here.gains[i, column]:
                part = float(here.query[i]), float(there.query[i]), float(here.gains[i, column])
                yield float(here.value[i]), law_of(int(here.ids[i, column])), part
    if isinstance(here, Call) and isinstance(there, Call) and here.scale and here.value is not None:
        given = np.asarray(here.result)
        if (
            there.value is not None
            and here.value.shape == there.value.shape == (given.size,)
            and given.dtype.kind in "fi"
        ):
            for i in np.flatnonzero(here.value != there.value):
                yield float(given.flat[i]), here.law, (float(here.value[i]), float(there.value[i]), here.scale)


def _plain_numbers(outcome: CanonicalOutcome) -> Array | None:
    block = outcome.numbers.get("")
    plain = block is not None and outcome.signature == signature_of_numbers(len(block))
    return np.asarray(block) if plain and np.isfinite(block).all() else None  # type: ignore[arg-type]  # it is no None
