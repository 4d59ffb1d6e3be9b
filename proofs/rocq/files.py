"""The file for Rocq of one certificate: its conditions in their order, each lemma below the words of its condition."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, final

from dpverdict.proofs.rocq.lemmas import COMPARISONS, INTERVALS, REALS, Lemma, Piece, piece_of
from dpverdict.proofs.rocq.preamble import NUMBERS, WITH_INTERVAL, WITHOUT_INTERVAL
from dpverdict.proofs.rocq.preamble import REALS as REAL_TACTICS

MOST_WORDS: Final = 300
"""Characters of a comment."""
BEGINNING: Final = "(* The conditions. *)"
"""Where the head of a file ends."""
MAKEFILE: Final = """# coqc decides every lemma of every file again (Debian: apt-get install coq libcoq-interval).
# make -j2 takes two files at a time; make library takes the definitions and their theorems alone.
LIBRARY := privacy/FiniteLaws.vo privacy/Densities.vo privacy/Gaussian.vo
FILES := $(filter-out ./privacy/%,$(shell find . -name '*.v'))

all: library $(FILES:.v=.vo)
library: $(LIBRARY)

privacy/Densities.vo: privacy/FiniteLaws.vo
privacy/Gaussian.vo: privacy/Densities.vo
$(FILES:.v=.vo): $(LIBRARY)

%.vo: %.v
\tcoqc -q -w none -Q privacy Privacy $<

.PHONY: all library
"""


@final
@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of a certificate with its lemmas by their names, piece by piece."""

    words: str
    pieces: tuple[tuple[Piece, tuple[str, ...]], ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is not all in the file."""
        left = tuple(dict.fromkeys(reason for piece, _ in self.pieces for reason in piece.left))
        return left if self.pieces else ("no evidence was written",)

    @property
    def is_of_numbers(self) -> bool:
        """Whether numbers are compared that come from elsewhere."""
        return any(piece.kind in COMPARISONS for piece, _ in self.pieces)

    @property
    def names(self) -> tuple[str, ...]:
        """Of its lemmas."""
        return tuple(name for _, names in self.pieces for name in names)


def conditions(document: Mapping[str, Any]) -> list[Condition]:  # Any: the values of a JSON object
    """The conditions of a certificate as lemmas, in the order of the file."""
    made: list[Condition] = []
    for reading in document["readings"]:
        for condition in reading["conditions"]:
            stem = f"condition_{len(made) + 1}_{_identifier(condition['name'])}"
            pieces = []
            count = 0
            for evidence in condition["evidence"]:
                piece = piece_of(evidence)
                pieces.append((piece, tuple(f"{stem}_{count + k + 1}" for k in range(len(piece.lemmas)))))
                count += len(piece.lemmas)
            made.append(Condition(f"{reading['reading']}: {condition['name']}", tuple(pieces)))
    return made


def _identifier(words: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", words)[:40].strip("_").lower() or "unnamed"


def file_of(document: Mapping[str, Any], found: list[Condition], without: Collection[str] = ()) -> str:
    """The text of the file, but for the lemmas ``without``; its last line prints what the others assume."""
    lemmas = [pair for one in found for piece, names in one.pieces for pair in zip(names, piece.lemmas, strict=True)]
    libraries = {lemma.library for name, lemma in lemmas if name not in without}
    head = [f"(* {commented(_title(document))} *)", f"(* certificate sha256 {_digest(document)} *)", NUMBERS]
    if libraries & {REALS, INTERVALS}:
        head += [WITH_INTERVAL if INTERVALS in libraries else WITHOUT_INTERVAL, REAL_TACTICS]
    lines = [*head, BEGINNING]
    proved = []
    for condition in found:
        lines.append(f"(* {commented(condition.words)} *)")
        lines += [f"(* not translated: {commented(reason)} *)" for reason in condition.reasons]
        for piece, names in condition.pieces:
            for name, lemma in zip(names, piece.lemmas, strict=True):
                if name not in without:
                    lines.append(_written(name, lemma))
                    proved.append(name)
    lines.append(f"(* What the {len(proved)} lemmas assume. *)")
    whole = "I"
    for name in proved:
        whole = f"({whole}, {name})" if len(proved) < 100 else whole
    if len(proved) < 100:
        lines += [f"Definition all_lemmas := {whole}.", "Print Assumptions all_lemmas."]
    else:
        parts = [proved[k : k + 50] for k in range(0, len(proved), 50)]
        for k, part in enumerate(parts):
            lines.append(f"Definition lemmas_{k} := ({', '.join(['I', *part])}).")
        lines.append(f"Definition all_lemmas := ({', '.join(['I', *(f'lemmas_{k}' for k in range(len(parts)))])}).")
        lines.append("Print Assumptions all_lemmas.")
    return "\n".join(lines) + "\n"


def _written(name: str, lemma: Lemma) -> str:
    scope = "Q_scope" if lemma.library == "numbers" else "R_scope"
    words = f"(* {commented(lemma.words)} *)\n" if lemma.words else ""
    return (
        f"{words}Lemma {name} :\n  ({lemma.formula})%{scope.removesuffix('_scope')}.\nProof.\n  {lemma.proof}\nQed.\n"
    )


def _title(document: Mapping[str, Any]) -> str:
    named = document.get("statement")
    return f"{named['paper']} {named['number']}: {named['text']}" if isinstance(named, dict) else "a verdict"


def _digest(document: Mapping[str, Any]) -> str:
    rest = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(rest.encode()).hexdigest()


def commented(words: object) -> str:
    """Words that can end no comment and begin no text in it: printable ASCII without quotes and stars."""
    plain = " ".join(str(words).split()).encode("ascii", "replace").decode()
    plain = re.sub(r"[^ -~]", "?", plain).replace('"', "'").replace("*", "x")
    return plain if len(plain) <= MOST_WORDS else plain[: MOST_WORDS - 3] + "..."
