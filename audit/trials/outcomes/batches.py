"""Many outcomes together, and the columns of numbers in which scores look at them.

A `Layout` is fixed on outcomes that are then thrown away: which signatures, which numbers and which symbols get a
column. As a function of one outcome it is post-processing, so no choice in it can refute a claim that holds.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.trials.outcomes.canonical import LAST, LEFT, CanonicalOutcome, of_numbers, signature_of_numbers
from dpverdict.audit.trials.outcomes.text_parts import TextPart, length_parts, telling_parts, texts_of
from dpverdict.numerics.arrays import Array

MOST_SIGNATURES: Final = 32
MOST_SYMBOLS: Final = 64
MOST_NUMBERS: Final = 96
MOST_PARTS: Final = 24
"""Columns at most: the most frequent signatures and symbols, the numbers whose means differ most, and parts of texts.
Together they are fewer than the numbers up to which splines are learned."""
RARE: Final = 4
FEW_OUTCOMES: Final = 400
"""A symbol that fewer have, of more outcomes, gets no column: some repeat by chance, and tell nothing."""
SHOWN: Final = 3
"""Kinds of outcome that a description names."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class OutcomeRows:
    """Outcomes of consecutive trials, of which one at least is not an array of finite numbers of the usual length.

    Attributes:
        rows: one per trial.
    """

    rows: tuple[CanonicalOutcome, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def packed(self) -> NDArray[np.uint8]:
        """As bytes, for a journal."""
        held = [
            [
                row.signature,
                {path: block.tolist() for path, block in row.numbers.items()},
                dict(row.symbols),
                row.note,
            ]
            for row in self.rows
        ]
        return np.frombuffer(json.dumps(held).encode("utf-8"), np.uint8)

    @staticmethod
    def unpacked(data: NDArray[np.generic]) -> OutcomeRows:
        """What `packed` gave."""
        return OutcomeRows(
            tuple(
                CanonicalOutcome(
                    signature, {path: np.array(block, dtype=np.float64) for path, block in held.items()}, texts, note
                )
                for signature, held, texts, note in json.loads(data.tobytes())
            )
        )

    def numbers(self, size: int) -> Array:
        """As arrays of ``size`` numbers, shape (trials, size). What is no such array counts as one of zeros: a fixed
        function of the outcome, so nothing is dropped and no true claim falls by it."""
        wanted, table = signature_of_numbers(size), np.zeros((len(self.rows), size))
        for i, row in enumerate(self.rows):
            if row.signature == wanted and not row.symbols:
                table[i] = row.numbers[""]
        return table

    def rounded(self, grid: float) -> OutcomeRows:
        """With numbers rounded to multiples of ``grid``, and without the exact digits of numbers."""

        def one(row: CanonicalOutcome) -> CanonicalOutcome:
            with np.errstate(over="ignore", invalid="ignore"):
                shorter = {path: block for path, block in row.numbers.items() if not path.endswith((LEFT, LAST))}
                blocks = {path: np.rint(block / grid) * grid for path, block in shorter.items()}
            finite = {path: np.where(np.isfinite(new), new, row.numbers[path]) for path, new in blocks.items()}
            texts = {
                path: text for path, text in row.symbols.items() if path not in row.numbers and not path.endswith(LAST)
            }
            return CanonicalOutcome(row.signature, finite, texts, row.note)

        return OutcomeRows(tuple(map(one, self.rows)))


Batch: TypeAlias = "Array | OutcomeRows"
"""Outcomes of consecutive trials: shape (trials, m) where all of them are m finite numbers."""


def rows_of(batch: Batch) -> Iterator[CanonicalOutcome]:
    """Every outcome of a batch."""
    if isinstance(batch, OutcomeRows):
        yield from batch.rows
    else:
        yield from map(of_numbers, batch)


def same_batches(one: Batch, other: Batch) -> bool:
    """Whether two batches hold the same outcomes."""
    if isinstance(one, OutcomeRows) and isinstance(other, OutcomeRows):
        return len(one) == len(other) and all(x.same_as(y) for x, y in zip(one.rows, other.rows, strict=True))
    if isinstance(one, OutcomeRows) or isinstance(other, OutcomeRows):
        return False
    return np.array_equal(one, other)


def together(batches: Sequence[Batch], size: int) -> Batch:
    """Batches one after another: an array where all of them are arrays of ``size`` numbers."""
    arrays = [batch for batch in batches if not isinstance(batch, OutcomeRows)]
    if len(arrays) == len(batches) and all(array.shape[1] == size for array in arrays):
        return np.concatenate([np.empty((0, size)), *arrays])
    return OutcomeRows(tuple(row for batch in batches for row in rows_of(batch)))


def first_of(batches: Sequence[Batch], size: int, trials: int) -> Batch:
    """The first ``trials`` outcomes of batches one after another."""
    whole = together(batches, size)
    return OutcomeRows(whole.rows[:trials]) if isinstance(whole, OutcomeRows) else whole[:trials]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """Which column holds what: signatures and symbols as 1 where they are met, else 0; numbers as they are.

    Attributes:
        signatures: each a column.
        numbers: (path, index) each a column; 0 where an outcome has no such number.
        symbols: (path, text) each a column.
        parts: of texts that differ in each outcome, each a column: 1 where a text has it, or a length.
    """

    signatures: tuple[str, ...]
    numbers: tuple[tuple[str, int], ...]
    symbols: tuple[tuple[str, str], ...]
    parts: tuple[TextPart, ...] = ()
    _places: dict[str, list[tuple[int, int]]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for column, (path, index) in enumerate(self.numbers):
            self._places.setdefault(path, []).append((column, index))

    @property
    def size(self) -> int:
        """The number of columns, at least 1."""
        return max(1, len(self.signatures) + len(self.numbers) + len(self.symbols) + len(self.parts))

    def table(self, batch: Batch) -> Array:
        """The columns of every outcome: shape (trials, size)."""
        table = np.zeros((len(batch), self.size))
        before = len(self.signatures)
        if not isinstance(batch, OutcomeRows):
            own = signature_of_numbers(batch.shape[1])
            for column, signature in enumerate(self.signatures):
                table[:, column] = signature == own
            for column, index in self._places.get("", []):
                if index < batch.shape[1]:
                    table[:, before + column] = batch[:, index]
            return table
        of_signature = {signature: column for column, signature in enumerate(self.signatures)}
        of_symbol = {key: before + len(self.numbers) + i for i, key in enumerate(self.symbols)}
        for i, row in enumerate(batch.rows):
            if row.signature in of_signature:
                table[i, of_signature[row.signature]] = 1.0
            for path, places in self._places.items():
                block = row.numbers.get(path)
                if block is not None:
                    for column, index in places:
                        if index < len(block):
                            table[i, before + column] = block[index]
            for key in row.symbols.items():
                if key in of_symbol:
                    table[i, of_symbol[key]] = 1.0
            if self.parts:
                texts = texts_of(row)
                table[i, -len(self.parts) :] = [part.of(texts.get(part.path, ())) for part in self.parts]
        return table

    def describe(self) -> dict[str, object]:
        """The columns as data, ready for JSON."""
        return {
            "signatures": list(self.signatures),
            "numbers": [list(one) for one in self.numbers],
            "symbols": [list(one) for one in self.symbols],
            "parts": [one.describe() for one in self.parts],
        }

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> Layout:
        """The layout that `describe` wrote.

        Raises:
            KeyError, TypeError, ValueError: data that no layout describes itself by.
        """
        signatures, numbers, symbols = (list(data[part]) for part in ("signatures", "numbers", "symbols"))
        texts = [*signatures, *(path for path, _ in numbers), *(part for pair in symbols for part in pair)]
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("signatures, paths and symbols are texts")
        if not all(isinstance(index, int) and index >= 0 for _, index in numbers):
            raise TypeError("a number has an index >= 0 in its block")
        return Layout(
            signatures=tuple(signatures),
            numbers=tuple((path, index) for path, index in numbers),
            symbols=tuple((path, text) for path, text in symbols),
            parts=tuple(map(TextPart.from_data, data.get("parts", ()))),
        )

    @staticmethod
    def of(dataset: Iterable[CanonicalOutcome], neighbour: Iterable[CanonicalOutcome]) -> Layout:
        """The layout that the explored outcomes of both sides suggest."""
        sides = list(dataset), list(neighbour)
        both = [row for side in sides for row in side]
        signatures = _frequent_values((row.signature for row in both), MOST_SIGNATURES)
        least = RARE if len(both) > FEW_OUTCOMES else 2
        symbols = _frequent_values((key for row in both for key in row.symbols.items()), MOST_SYMBOLS, least=least)
        parts = [*telling_parts(sides), *length_parts(both)]
        return Layout(
            signatures=tuple(signatures),
            numbers=tuple(_numbers(sides)),
            symbols=tuple(symbols),
            parts=tuple(parts[:MOST_PARTS]),
        )


def _frequent_values(values: Iterable[Any], most: int, least: int = 1) -> list[Any]:
    counts = Counter(values)
    order = sorted(counts, key=lambda value: (-counts[value], value))
    return [value for value in order if counts[value] >= least][:most]


def _numbers(sides: tuple[list[CanonicalOutcome], list[CanonicalOutcome]]) -> list[tuple[str, int]]:
    """The numbers that are met, if they are many those whose means differ most in standard deviations."""
    lengths: dict[str, int] = {}
    for row in (*sides[0], *sides[1]):
        for path, block in row.numbers.items():
            lengths[path] = max(lengths.get(path, 0), len(block))
    found: list[tuple[float, str, int]] = []
    for path in sorted(lengths):
        of_sides = [
            _moments([row.numbers[path] for row in side if path in row.numbers], lengths[path]) for side in sides
        ]
        (n, mean_p, var_p), (m, mean_q, var_q) = of_sides
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            gap, spread = np.abs(mean_p - mean_q), np.sqrt(var_p + var_q)
            apart = np.where(spread > 0, gap / spread, np.where(gap > 0, np.inf, 0.0))
        apart = np.where((n > 0) & (m > 0), apart, 0.0)
        found += [(float(-score), path, i) for i, score in enumerate(np.nan_to_num(apart, nan=0.0, posinf=1e300))]
    if len(found) > MOST_NUMBERS:
        found = sorted(found)[:MOST_NUMBERS]
    return sorted((path, i) for _, path, i in found)


def _moments(blocks: list[Array], length: int) -> tuple[NDArray[np.int64], Array, Array]:
    """Count, mean and variance of every number of blocks that may differ in length."""
    count, total, squares = np.zeros(length, dtype=np.int64), np.zeros(length), np.zeros(length)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for block in blocks:
            count[: len(block)] += 1
            total[: len(block)] += block
        mean = np.where(count > 0, total / np.maximum(count, 1), 0.0)
        for block in blocks:
            squares[: len(block)] += (block - mean[: len(block)]) ** 2
        return count, mean, squares / np.maximum(count - 1, 1)


def kinds_seen(dataset: Iterable[CanonicalOutcome], neighbour: Iterable[CanonicalOutcome]) -> str | None:
    """What the explored outcomes of both sides were, in words; None where all are numbers of one length."""
    counts = Counter(row.describe() for row in dataset), Counter(row.describe() for row in neighbour)
    totals = [sum(side.values()) for side in counts]
    kinds = sorted(
        counts[0].keys() | counts[1].keys(), key=lambda kind: (-abs(_gap_in_frequency(counts, totals, kind)), kind)
    )
    if len(kinds) == 1 and kinds[0].startswith("numbers(") and " " not in kinds[0]:
        return None
    said = [
        f"{kind}: {counts[0][kind]} of {totals[0]} on the dataset, {counts[1][kind]} of {totals[1]} on the neighbour"
        for kind in kinds[:SHOWN]
    ]
    more = len(kinds) - SHOWN
    return "; ".join(said) + (f"; and {more} more kinds" if more > 0 else "")


def _gap_in_frequency(counts: tuple[Counter[str], Counter[str]], totals: list[int], kind: str) -> float:
    return counts[0][kind] / max(totals[0], 1) - counts[1][kind] / max(totals[1], 1)


def failed_everywhere(
    dataset: Iterable[CanonicalOutcome], neighbour: Iterable[CanonicalOutcome]
) -> CanonicalOutcome | None:
    """The exception that ended every trial on both sides in the same way, saying the same; None if there is no such."""
    first: CanonicalOutcome | None = None
    for side in (dataset, neighbour):
        for row in side:
            if not row.raised or (first is not None and not row.same_as(first)):
                return None
            first = first or row
    return first
