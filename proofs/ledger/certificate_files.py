"""The folder of certificates: written whole, and read again with every file that its manifest names.

They are read again in a process of its own: a file of others may ask for more arithmetic than there is time for.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, final

from dpverdict.audit.isolation.process import NO_LIMITS, Limits, run_isolated
from dpverdict.audit.runs.subprocesses.audit import AuditFailed
from dpverdict.audit.tracing.certificate import FORMAT as TRACED
from dpverdict.audit.tracing.certificate import check_certificate
from dpverdict.audit.trials.atomic_files import write_atomically
from dpverdict.errors import (
    DpverdictError,
    InvalidValue,
    MechanismFailure,
    error_to_send,
    in_one_line,
    raise_error_sent,
)
from dpverdict.numerics.files import read_limited
from dpverdict.proofs.ledger.certificates import FORMAT, seal
from dpverdict.proofs.ledger.recheck import GRADES, CertificateRefused, proved_line, recheck

ENTRY: Final = "dpverdict.proofs.ledger.certificate_files:work"
MANIFEST: Final = "MANIFEST.json"
SECONDS: Final = 600.0
"""For a check, where nobody names another time: the whole ledger takes a tenth of it."""
MOST_BYTES: Final = 1 << 24
"""Of one file: sixteen times the largest that is written."""
MOST_DIGITS: Final = 1000
"""Of a whole number that stands in a file without quotes."""


class CheckUnfinished(DpverdictError):
    """A check that took too long or too much memory: it says nothing of the certificate."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What reading certificates again found.

    Attributes:
        grades: how many conditions are proved from the files, compared, or open.
        files: how many files were read.
        refused: the file and the reason, for each that is wrong.
        proved: what each verdict proves, in one line.
        documents: those that are not refused, by their files.
    """

    grades: Mapping[str, int]
    files: int
    refused: tuple[tuple[str, str], ...]
    proved: tuple[str, ...] = ()
    documents: tuple[tuple[str, Mapping[str, Any]], ...] = ()

    @property
    def exit_code(self) -> int:
        """0 if no file is refused, 1 otherwise."""
        return 1 if self.refused else 0

    @property
    def text(self) -> str:
        """A line for every verdict and for every file refused, and a summary."""
        lines = [*self.proved, *(f"REFUSED {name}: {reason}" for name, reason in self.refused)]
        counts = ", ".join(f"{self.grades.get(grade, 0)} {grade}" for grade in GRADES)
        verdict = f"{len(self.refused)} REFUSED" if self.refused else "none refused"
        words = f"{self.files} file{'s'[: self.files != 1]}, {verdict}"
        if self.grades or self.refused:  # the certificate of a function has operations, not conditions
            words += f"; conditions: {counts}"
        return "\n".join([*lines, words])


def certificate_folder(path: Path) -> Path:
    """A folder that certificates can be written to: a new one, an empty one, or one that holds certificates.

    Raises:
        InvalidValue: a file, or a folder with something else in it.
    """
    if path.exists() and not path.is_dir():
        raise InvalidValue("certificates", str(path), "a folder", "give the name of a new folder")
    if path.is_dir() and any(path.iterdir()) and not (path / MANIFEST).is_file():
        raise InvalidValue("certificates", str(path), "an empty folder", "give the name of a new folder")
    return path


def write_certificates(folder: Path, files: Mapping[str, str]) -> None:
    """Write certificates, the manifest last, and remove those that a former manifest names and this one does not."""
    former = _named(folder) if (folder / MANIFEST).is_file() else ()
    for name in sorted(files, key=MANIFEST.__eq__):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / name, files[name])
    for name in set(former) - set(files):
        (folder / name).unlink(missing_ok=True)


def _named(folder: Path) -> tuple[str, ...]:
    """The files of a manifest, as far as they lie in its folder."""
    try:
        listed = _listed(_read(folder / MANIFEST))
    except InvalidValue:
        return ()
    return tuple(name for name in listed if _lies_in(folder, name))


def _listed(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """The files of a manifest by name, with their hashes; none where it has something else in their place."""
    listed = manifest.get("files")
    return listed if isinstance(listed, dict) else {}


def _lies_in(folder: Path, name: str) -> bool:
    """Whether a name of a manifest is one of a file below its folder, links followed; they may run in a circle."""
    if "\0" in name:
        return False
    return Path(os.path.realpath(folder / name)).is_relative_to(os.path.realpath(folder))


def checked(path: Path, limits: Limits = NO_LIMITS, *, with_documents: bool = False) -> Checked:
    """Read a certificate, or all of a folder, for at most `SECONDS` unless the limits say another time.

    Args:
        path: of the file or the folder.
        limits: of the process that reads them.
        with_documents: whether to hand over what was read and not refused.

    Raises:
        CheckUnfinished: it did not finish.
        DpverdictError: no file or folder of certificates.
    """
    limits = replace(limits, seconds=SECONDS if limits.seconds is None else limits.seconds)
    try:
        answer = run_isolated(ENTRY, {"path": str(path), "documents": with_documents}, what=str(path), limits=limits)
    except MechanismFailure as failure:
        remedy = "give --timeout more seconds, or more --memory; a certificate of dpverdict takes less than a minute"
        problem = failure.problem.replace("before the audit was finished", "before the check was finished")
        raise CheckUnfinished(f"the check of {path} {problem}, so nothing is known of it: {remedy}") from None
    raise_error_sent(answer, AuditFailed)
    found: Any = answer
    refused = tuple((str(name), str(reason)) for name, reason in found["refused"])
    proved = tuple(map(str, found["proved"]))
    documents = tuple((str(name), dict(document)) for name, document in found["documents"])
    return Checked(
        grades=dict(found["grades"]), files=int(found["files"]), refused=refused, proved=proved, documents=documents
    )


def work(request: Mapping[str, Any], tell: Callable[[object], None]) -> dict[str, object]:
    """The other side: the findings as data, or the message of why there are none."""
    try:
        found = check_files(Path(request["path"]))
    except (DpverdictError, OSError) as error:
        return error_to_send(error)
    refused = [list(one) for one in found.refused]
    return {
        "grades": dict(found.grades),
        "files": found.files,
        "refused": refused,
        "proved": list(found.proved),
        "documents": [[name, document] for name, document in found.documents if request["documents"]],
    }


def check_files(path: Path) -> Checked:
    """Read a certificate, or all of a folder.

    Raises:
        InvalidValue: no file or folder of certificates.
    """
    if path.is_dir():
        return _check_folder(path)
    document = _read(path)
    if document.get("format") == TRACED:
        return _check_function(path, document)
    if document.get("format") != FORMAT:
        raise InvalidValue("certificate", str(path), f"a file that says {FORMAT!r}", "give one that dpverdict wrote")
    grades: Counter[str] = Counter()
    try:
        grades = recheck(document)
    except CertificateRefused as problem:
        return Checked(grades={}, files=1, refused=((str(path), str(problem)),))
    proved = (proved_line(document),) if "verdict" in document else ()
    return Checked(grades=grades, files=1, refused=(), proved=proved, documents=((str(path), document),))


def _check_function(path: Path, document: Mapping[str, Any]) -> Checked:
    """The certificate of a function: every operation is derived again, and the function is not run."""
    try:
        if document.get("sha256") != seal(document):
            raise CertificateRefused("the text is not what was sealed")
        proved = check_certificate(document)
    except (DpverdictError, KeyError, TypeError, ValueError, IndexError, AttributeError, AssertionError) as problem:
        words = " ".join(str(problem).split()) or type(problem).__name__
        return Checked(grades={}, files=1, refused=((str(path), words),))
    return Checked(grades={}, files=1, refused=(), proved=(proved,))


def _check_folder(folder: Path) -> Checked:
    """Every file that the manifest names is there, as it was written, and true; and there is no other."""
    if not (folder / MANIFEST).is_file():
        raise InvalidValue("certificate", str(folder), f"a folder with {MANIFEST}", "give what dpverdict prove wrote")
    manifest = _read(folder / MANIFEST)
    refused: list[tuple[str, str]] = []
    grades: Counter[str] = Counter()
    documents: list[tuple[str, Mapping[str, Any]]] = []
    proved: list[str] = []
    if manifest.get("sha256") != seal(manifest):
        refused.append((MANIFEST, "the text is not what was sealed"))
    listed = _listed(manifest)
    if not any(name.endswith(".json") for name in listed):
        refused.append((MANIFEST, "it names no certificate"))
    refused += [(name, "the manifest does not name it") for name in _unlisted(folder, listed)]
    for name, digest in listed.items():
        path = folder / name
        try:
            if not _lies_in(folder, name):
                raise CertificateRefused("it is outside the folder")
            if not path.exists():
                raise CertificateRefused("it is missing")
            if hashlib.sha256(read_limited(path, "certificate", MOST_BYTES)).hexdigest() != digest:
                raise CertificateRefused("it is not the file that the manifest names")
            if path.suffix == ".json":
                document = _read(path)
                grades += recheck(document)
                documents.append((name, document))
                if "verdict" in document:
                    proved.append(f"{name}: {proved_line(document)}")
        except (CertificateRefused, InvalidValue) as problem:
            refused.append((name, str(problem)))
    return Checked(
        grades=grades,
        files=len(listed) + 1,
        refused=tuple(refused),
        proved=tuple(proved),
        documents=tuple(documents),
    )


def _unlisted(folder: Path, listed: Mapping[str, Any]) -> list[str]:
    """Certificates below a folder that its manifest does not name."""
    found = (str(path.relative_to(folder)) for path in sorted(folder.rglob("*.json")))
    return [name for name in found if name != MANIFEST and name.replace(os.sep, "/") not in listed]


def _read(path: Path) -> dict[str, Any]:
    """A JSON object.

    Raises:
        InvalidValue: it is none, says something twice or no number where one belongs, or is far too long.
    """
    content = read_limited(path, "certificate", MOST_BYTES)
    problem = "give a file that dpverdict wrote"
    try:
        made = json.loads(content, object_pairs_hook=_once, parse_int=_whole, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        made, problem = None, f"reading it fails with {in_one_line(error)[:120]}"
    if not isinstance(made, dict):
        raise InvalidValue("certificate", str(path), "a JSON object", problem)
    return made


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON in which no key stands twice: readers differ in which of the two they take."""
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise ValueError(f"the key {twice!r} stands twice")
    return made


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a whole number of {len(text)} digits")
    return int(text)


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")
