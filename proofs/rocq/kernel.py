"""What coqc, the compiler of Rocq, makes of a certificate: the lemmas that its kernel accepts, and what they assume.

The file is made from the certificate again, so that no text of another is compiled. A lemma that coqc does not accept
is left out, and the rest are compiled again: what counts as accepted was accepted in one run, to its last line.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from dpverdict.errors import DpverdictError
from dpverdict.proofs.rocq.files import BEGINNING, Condition, conditions, file_of

COMPILER: Final = "coqc"
SECONDS: Final = 300.0
"""For one run, beyond which the lemma that it is at counts as not accepted."""
MOST_LEFT_OUT: Final = 20
"""Lemmas of one file, beyond which none of those that follow counts as accepted."""
MOST_ANSWERED: Final = 1 << 22

KERNEL_CHECKED, COMPARED, NOT_ACCEPTED, NOT_TRANSLATED = (
    "kernel-checked",
    "compared by the kernel",
    "not accepted",
    "not translated",
)
GRADES: Final = (KERNEL_CHECKED, COMPARED, NOT_ACCEPTED, NOT_TRANSLATED)

ASSUMED: Final = re.compile(
    r"ClassicalDedekindReals\.sig_(not_dec|forall_dec)"
    r"|FunctionalExtensionality\.functional_extensionality_dep"
    r"|(PrimInt63|Uint63)\.\w+"
)
"""The axioms of the real numbers of Rocq, and its integers of 63 bits: all that a lemma may rest on."""
_SPOKEN: Final = re.compile(r"^Chars (\d+) - (\d+) \[", re.MULTILINE)
_LEMMA: Final = re.compile(r"^Lemma (condition_\w+) :$.*?^Qed\.$", re.MULTILINE | re.DOTALL)


class NoKernel(DpverdictError):
    """Rocq is not installed, or not the libraries that the files use."""


@final
@dataclass(frozen=True, slots=True)
class ConditionDecided:
    """What the kernel says of one condition, with the reasons why it does not say more."""

    words: str
    grade: str
    reasons: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class FileDecided:
    """What the kernel says of the conditions of one certificate, and the axioms below the lemmas it accepted."""

    conditions: tuple[ConditionDecided, ...]
    assumed: tuple[str, ...]


def is_installed() -> bool:
    """Whether there is a compiler of Rocq on the path."""
    return shutil.which(COMPILER) is not None


def decided(document: Mapping[str, Any], *, seconds: float = SECONDS) -> FileDecided:
    """Have the kernel decide the file of a certificate.

    Args:
        document: the certificate of a statement.
        seconds: for one run of the compiler.

    Raises:
        NoKernel: Rocq or a library of it is not installed, or a lemma rests on an axiom that is none of its libraries.
    """
    found = conditions(document)
    without: set[str] = set()
    answer = ""
    while True:
        text = file_of(document, found, without)
        done, answer = _compiled(text, seconds)
        if done:
            break
        ends = [(match[1], match.end()) for match in _LEMMA.finditer(text)]
        reached = max((int(match[2]) for match in _SPOKEN.finditer(answer)), default=0)
        if not ends or reached <= len(text[: text.index(BEGINNING)].rstrip()):  # the sentence that fails is told too
            said = " ".join(answer.split())[-200:]
            raise NoKernel(f"{COMPILER} does not get past the head of a file: install coq and libcoq-interval: {said}")
        open_ones = [name for name, end in ends if end > reached] or [name for name, _ in ends]
        without |= set(open_ones[:1] if len(without) < MOST_LEFT_OUT else open_ones)
    assumed = _axioms(answer)
    if own := [name for name in assumed if not ASSUMED.fullmatch(name)]:
        raise NoKernel(f"a lemma assumes {', '.join(own)}, which is no axiom of the libraries")
    return FileDecided(tuple(_graded(one, without) for one in found), assumed)


def _compiled(text: str, seconds: float) -> tuple[bool, str]:
    """Whether the compiler accepts a text to its end, and what it answers."""
    if not is_installed():
        raise NoKernel(f"there is no {COMPILER} on the path: apt-get install coq libcoq-interval")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as answer:
        path = Path(folder, "certificate.v")
        path.write_text(text, encoding="ascii")
        try:
            done = subprocess.run(
                [COMPILER, "-q", "-w", "none", "-time", str(path)],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=answer,
                stderr=subprocess.STDOUT,
                timeout=seconds,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            done = None
        accepted = done == 0 and path.with_suffix(".vo").is_file()
        answer.seek(max(0, answer.seek(0, 2) - MOST_ANSWERED))
        return accepted, answer.read().decode("utf-8", "replace")


def _axioms(answer: str) -> tuple[str, ...]:
    """The names below the last line that says what is assumed."""
    _, _, listed = answer.rpartition("\nAxioms:\n")
    names = re.findall(r"^(?!Chars )([\w.']+)(?: :|$)", listed, re.MULTILINE)
    return tuple(dict.fromkeys(names))


def _graded(condition: Condition, without: set[str]) -> ConditionDecided:
    refused = [name for name in condition.names if name in without]
    if refused:
        reasons = (f"{len(refused)} of {len(condition.names)} lemmas: no proof was found", *condition.reasons)
        return ConditionDecided(condition.words, NOT_ACCEPTED, reasons)
    if condition.reasons or not condition.names:
        return ConditionDecided(condition.words, NOT_TRANSLATED, condition.reasons)
    return ConditionDecided(condition.words, COMPARED if condition.is_of_numbers else KERNEL_CHECKED)
