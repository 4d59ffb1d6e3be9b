"""Certificates beside their files for Rocq: written, and decided by its kernel.

A file for Rocq is never believed: it is made from its certificate again, and one that differs is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from dpverdict.errors import InvalidValue
from dpverdict.numerics.files import read_limited
from dpverdict.proofs.ledger.certificate_files import MANIFEST, MOST_BYTES
from dpverdict.proofs.ledger.certificates import sealed
from dpverdict.proofs.rocq.definitions import library_files
from dpverdict.proofs.rocq.files import MAKEFILE, conditions, file_of
from dpverdict.proofs.rocq.kernel import COMPARED, GRADES, KERNEL_CHECKED, SECONDS, FileDecided, decided

SUFFIX: Final = ".v"
MOST_REASONS: Final = 8
"""Reasons why a condition is not decided, of a folder: the most frequent ones."""
MOST_LINES: Final = 22
"""Conditions shown of one certificate."""

Documents = Sequence[tuple[str, Mapping[str, Any]]]  # Any: the values of a JSON object


def with_rocq(files: Mapping[str, str]) -> dict[str, str]:
    """The files of a folder of certificates and, beside each certificate, its lemmas for Rocq.

    With the definitions of privacy in Rocq, and a Makefile.
    """
    made = {**files, **library_files()}
    for name, text in files.items():
        if name.endswith(".json") and name != MANIFEST:
            made[name_beside(name)] = rocq_of(json.loads(text))
    made["Makefile"] = MAKEFILE
    manifest = json.loads(files[MANIFEST])
    del manifest["sha256"]
    manifest["files"] = {
        name: hashlib.sha256(text.encode()).hexdigest() for name, text in made.items() if name != MANIFEST
    }
    return {**made, MANIFEST: sealed(manifest)}


def name_beside(name: str) -> str:
    """The path of the file for Rocq of a certificate by its own: the compiler takes only words as names."""
    folder, slash, file = name.rpartition("/")
    word = re.sub(r"[^A-Za-z0-9]", "_", file.removesuffix(".json"))
    return f"{folder}{slash}{word if word[:1].isalpha() else 'certificate_' + word}{SUFFIX}"


def rocq_of(document: Mapping[str, Any]) -> str:
    """The text of the file for Rocq of one certificate."""
    return file_of(document, conditions(document))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRead:
    """What the kernel of Rocq says of certificates.

    Attributes:
        decided: of each certificate by its file.
        refused: files for Rocq that are not those of their certificates.
    """

    decided: tuple[tuple[str, FileDecided], ...]
    refused: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """The conditions of one certificate, or the most frequent reasons of several; and how many of each grade."""
        every = [one for _, found in self.decided for one in found.conditions]
        lines = []
        if len(self.decided) == 1:
            lines = [f"{one.grade}: {one.words}{''.join(f' ({why})' for why in one.reasons[:1])}" for one in every]
            lines = [line if len(line) <= 80 else f"{line[:77]}..." for line in lines]
            if len(lines) > MOST_LINES:
                lines = [*lines[:MOST_LINES], f"and {len(lines) - MOST_LINES} more"]
        else:
            reasons = Counter(one.reasons[0] for one in every if one.reasons)
            lines = [f"  {count:4} {reason}"[:80] for reason, count in reasons.most_common(MOST_REASONS)]
            lines = ["why conditions are not decided, most frequent first:", *lines] if lines else []
        grades = Counter(one.grade for one in every)
        counts = [f"{grades[grade]} {grade}" for grade in GRADES]
        assumed = {name.split(".")[0] for _, found in self.decided for name in found.assumed}
        integers = " and 63-bit integers" if assumed & {"PrimInt63", "Uint63"} else ""
        below = f"the axioms of the real numbers of Rocq{integers}" if assumed else "no axiom"
        return "\n".join(
            [
                *lines,
                f"Rocq, {len(every)} conditions: {', '.join(counts[:2])},",
                f"  {', '.join(counts[2:])}; assumed: {below}",
            ]
        )

    @property
    def accepted(self) -> int:
        """How many conditions the kernel accepts whole."""
        return sum(one.grade in (KERNEL_CHECKED, COMPARED) for _, found in self.decided for one in found.conditions)


def kernel_read(
    path: Path,
    documents: Documents,
    *,
    seconds: float = SECONDS,
    progress: Callable[[str, int, int], object] | None = None,
) -> KernelRead:
    """Have the kernel decide certificates of statements, as many at a time as there are processors.

    Args:
        path: the certificate, or the folder of them.
        documents: those that were read and not refused, by their files.
        seconds: for one run of the compiler.
        progress: told the file, how many are done, and of how many.

    Raises:
        NoKernel: Rocq is not installed.
        InvalidValue: no certificate of a statement.
    """
    stated = [(name, document) for name, document in documents if "statement" in document]
    if not stated:
        raise InvalidValue("rocq", str(path), "a certificate of a statement", "give what dpverdict prove wrote")
    refused = [(name, problem) for name, document in stated if (problem := _unlike(path, name, document))]
    made: dict[str, FileDecided] = {}
    with ThreadPoolExecutor(os.cpu_count() or 1) as workers:
        running = {workers.submit(decided, document, seconds=seconds): name for name, document in stated}
        try:
            for finished in as_completed(running):
                made[running[finished]] = finished.result()
                if progress is not None:
                    progress(running[finished], len(made), len(stated))
        except BaseException:
            workers.shutdown(wait=False, cancel_futures=True)
            raise
    return KernelRead(decided=tuple((name, made[name]) for name, _ in stated), refused=tuple(refused))


def _unlike(path: Path, name: str, document: Mapping[str, Any]) -> str | None:
    """What is wrong with the file for Rocq beside a certificate, if there is one."""
    certificate = path / name if path.is_dir() else path
    beside = certificate.with_name(name_beside(certificate.name))
    if not beside.is_file():
        return None
    same = read_limited(beside, "file for Rocq", MOST_BYTES) == rocq_of(document).encode()
    return None if same else f"{beside.name} is not the file for Rocq that this certificate gives"
