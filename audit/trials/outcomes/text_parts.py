"""Parts of texts that tell two sides apart where the texts themselves never repeat: ends, words, lines, lengths.

Which parts get a column is learned from outcomes that are then thrown away. Whether a text has a given part is a
function of the outcome alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.trials.outcomes.canonical import CanonicalOutcome
from dpverdict.numerics.arrays import Array

KINDS: Final = ("starts with", "ends with", "has the word", "has the line", "has the entry", "length")
MOST_PARTS: Final = 16
MOST_PATHS: Final = 8
"""Paths whose texts are taken apart: those that most outcomes have."""
LONGEST: Final = 4096
"""Characters at either end of a text that are looked at."""
ENDS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Lengths of beginnings and ends."""
MOST_WORDS: Final = 256
"""Words and lines of a text, at most."""
MOST_COMPARED: Final = 128
FEWEST: Final = 4
"""Outcomes that have a part: fewer tell nothing."""
SHUFFLES: Final = 3
MOST_OUTCOMES: Final = 4_000
"""Of each side, from which parts are learned."""
_WORD: Final = re.compile(r"\w+")
_PLACE: Final = re.compile(r"\[[0-9]+\]")


@final
@dataclass(frozen=True, slots=True, order=True)
class TextPart:
    """What a text may have, or one of the texts of a list.

    Attributes:
        path: of the text; ``[*]`` is any place of a list.
        kind: one of `KINDS`.
        text: the part; empty where the length is meant.
    """

    path: str
    kind: str
    text: str

    def of(self, texts: Sequence[str]) -> float:
        """1 if one of the texts has the part, else 0; the length of all of them where that is meant."""
        if self.kind == "length":
            return float(sum(map(len, texts)))
        return float(any(self._in(one) for one in texts))

    def _in(self, text: str) -> bool:
        match self.kind:
            case "starts with":
                return text.startswith(self.text)
            case "ends with":
                return text.endswith(self.text)
            case "has the entry":
                return text == self.text
            case "has the line":
                return self.text in _lines(text)
            case _:
                return self.text in text and self.text in _words(text)

    def describe(self) -> list[str]:
        """As data, ready for JSON."""
        return [self.path, self.kind, self.text]

    @staticmethod
    def from_data(data: Sequence[Any]) -> TextPart:
        """The part that `describe` wrote.

        Raises:
            TypeError, ValueError: anything else.
        """
        path, kind, text = data
        if not all(isinstance(one, str) for one in (path, kind, text)) or kind not in KINDS:
            raise TypeError("a part has a path, a kind and a text")
        return TextPart(path, kind, text)


def texts_of(outcome: CanonicalOutcome) -> Mapping[str, list[str]]:
    """The texts of an outcome by their path, those of a list under one path."""
    found: dict[str, list[str]] = {}
    for path, text in outcome.symbols.items():
        found.setdefault(_PLACE.sub("[*]", path), []).append(text)
    return found


def telling_parts(sides: tuple[Sequence[CanonicalOutcome], Sequence[CanonicalOutcome]]) -> list[TextPart]:
    """The parts that outcomes of one side have more often than those of the other, the clearest first.

    Only texts that differ from one outcome to the next are taken apart. Of the parts that the same outcomes have one is
    given. What stands out no more than the clearest part of outcomes that are exchanged between the sides at random,
    three times over, is left out: of thousands of parts some do by chance, and would make every prediction too good.
    Where no outcome tells the sides apart, something is left with probability 1/4 at most.
    """
    held = [[texts_of(row) for row in side[:MOST_OUTCOMES]] for side in sides]
    rows, n = [row for side in held for row in side], len(held[0])
    paths = _changing_paths(rows)
    if not paths or not all(held):
        return []
    codes: dict[TextPart, int] = {}
    of_rows = [
        {codes.setdefault(part, len(codes)) for path in paths if path in row for part in _parts(path, row[path])}
        for row in rows
    ]
    codes_of_all = np.array([code for row in of_rows for code in row], dtype=np.int64)
    row_of_all = np.repeat(np.arange(len(rows)), [len(row) for row in of_rows])

    def scores(first: NDArray[np.bool_]) -> Array:
        counts = [np.bincount(codes_of_all[of == first[row_of_all]], minlength=len(codes)) for of in (True, False)]
        least = min(n, len(rows) - n)
        of_side = [np.sqrt(count * (least / size)) for count, size in zip(counts, (n, len(rows) - n), strict=True)]
        return np.where(counts[0] + counts[1] >= FEWEST, np.abs(of_side[0] - of_side[1]), 0.0)

    first, shuffling = np.arange(len(rows)) < n, np.random.default_rng(0)
    found = scores(first)
    chance = max(float(np.max(scores(shuffling.permutation(first)), initial=0.0)) for _ in range(SHUFFLES))
    parts = sorted(
        (part for part, code in codes.items() if found[code] > chance),
        key=lambda part: (-found[codes[part]], len(part.text), part),
    )
    alike: dict[tuple[float, ...], TextPart] = {}
    for part in parts[:MOST_COMPARED]:
        alike.setdefault(tuple(part.of(row.get(part.path, [])) for row in rows), part)
    return list(alike.values())[:MOST_PARTS]


def length_parts(rows: Iterable[CanonicalOutcome]) -> list[TextPart]:
    """The lengths of the texts that differ from one outcome to the next."""
    held = [texts_of(row) for row in rows]
    return [TextPart(path, "length", "") for path in _changing_paths(held) if not path.endswith("~words")]


def _changing_paths(rows: Sequence[Mapping[str, list[str]]]) -> list[str]:
    """The paths most of whose texts are met once."""
    met: dict[str, Counter[str]] = {}
    for row in rows:
        for path, texts in row.items():
            if not path.endswith("?"):
                met.setdefault(path, Counter()).update(texts)
    alone = {path: sum(count == 1 for count in texts.values()) / texts.total() for path, texts in met.items()}
    return sorted((path for path in met if alone[path] > 0.25), key=lambda path: (-met[path].total(), path))[
        :MOST_PATHS
    ]


def _parts(path: str, texts: Sequence[str]) -> Iterator[TextPart]:
    for text in texts:
        for size in ENDS:
            if size <= len(text):
                yield TextPart(path, "starts with", text[:size])
                yield TextPart(path, "ends with", text[-size:])
        yield from (TextPart(path, "has the word", word) for word in _words(text))
        lines = _lines(text)
        if len(lines) > 1:
            yield from (TextPart(path, "has the line", line) for line in lines)
        if "[*]" in path:
            yield TextPart(path, "has the entry", text)


def _words(text: str) -> list[str]:
    return _WORD.findall(text if len(text) <= 2 * LONGEST else f"{text[:LONGEST]} {text[-LONGEST:]}")[:MOST_WORDS]


def _lines(text: str) -> list[str]:
    return (text if len(text) <= 2 * LONGEST else text[-LONGEST:]).split("\n")[-MOST_WORDS:]
