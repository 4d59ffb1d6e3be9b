"""``dpverdict check`` in a process of its own: a file of others may ask for more arithmetic than there is time for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, final

from dpverdict.audit.isolation.process import NO_LIMITS, Limits, run_isolated
from dpverdict.audit.runs.apart import AuditFailed
from dpverdict.errors import DpverdictError, MechanismFailure

ENTRY: Final = "dpverdict.proofs.ledger.check_process:work"

PROVED, COMPARED, OPEN = "proved from the file", "numbers of the file compared", "not decided by the file"
GRADES: Final = (PROVED, COMPARED, OPEN)
"""What a condition of a certificate is worth, best first."""

SECONDS: Final = 600.0
"""For a check, where nobody names another time: the whole ledger takes a tenth of it."""


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
    """

    grades: Mapping[str, int]
    files: int
    refused: tuple[tuple[str, str], ...]
    proved: tuple[str, ...] = ()

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
        words = f"{self.files} file{'s'[: self.files != 1]}, {verdict}; conditions: {counts}"
        return "\n".join([*lines, words])


def checked(path: Path, limits: Limits = NO_LIMITS) -> Checked:
    """Read a certificate, or all of a folder, for at most `SECONDS` unless the limits say another time.

    Raises:
        CheckUnfinished: it did not finish.
        DpverdictError: no file or folder of certificates.
    """
    limits = replace(limits, seconds=SECONDS if limits.seconds is None else limits.seconds)
    try:
        answer = run_isolated(ENTRY, {"path": str(path)}, what=str(path), limits=limits)
    except MechanismFailure as failure:
        remedy = "give --timeout more seconds, or more --memory; a certificate of dpverdict takes less than a minute"
        problem = failure.problem.replace("before the audit was finished", "before the check was finished")
        raise CheckUnfinished(f"the check of {path} {problem}, so nothing is known of it: {remedy}") from None
    if isinstance(answer, dict) and isinstance(answer.get("error"), str):
        raise AuditFailed(answer["error"])
    found: Any = answer
    refused = tuple((str(name), str(reason)) for name, reason in found["refused"])
    proved = tuple(map(str, found["proved"]))
    return Checked(grades=dict(found["grades"]), files=int(found["files"]), refused=refused, proved=proved)


def work(request: Mapping[str, Any], tell: Callable[[object], None]) -> dict[str, object]:
    """The other side: the findings as data, or the message of why there are none."""
    from dpverdict.proofs.ledger.certificate_files import check_files

    try:
        found = check_files(Path(request["path"]))
    except (DpverdictError, OSError) as error:
        return {"error": " ".join(str(error).split())}
    refused = [list(one) for one in found.refused]
    return {"grades": dict(found.grades), "files": found.files, "refused": refused, "proved": list(found.proved)}
