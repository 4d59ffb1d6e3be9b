"""A run of entries: each side is installed, run in a process of its own, and held against what must come out."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, final

from dpverdict.cli.corpus.entries import CorpusEntry, PackageRelease
from dpverdict.cli.corpus.packages import NotInstallable, install, missing
from dpverdict.numerics.stages import begin_stage

ENTRY: Final = "dpverdict.cli.corpus.reproduction:work"
NOT_RUN: Final = "NOT INSTALLABLE HERE"
FAILED: Final = "FAILED"
NOT_ENDED: Final = (NOT_RUN, FAILED)
"""What a side is said to be that was not run to an end."""
SECONDS: Final = 600.0
"""For one side, installation apart, if no limit is given."""
BAD: Final = ("REFUTED", "FINDING")
"""What a control must not be."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What came out of one side.

    Attributes:
        install: the releases that were asked for.
        where: "installed here", or "a folder of its own"; "nowhere" if it did not run.
        status: as `dpverdict.cli.corpus.reproduction.work` says it, or `NOT_RUN`.
        epsilon_lower: a bound on epsilon from below, which holds but for an error probability of 1e-6; None without.
        detail: in words.
        seconds: of the run.
    """

    install: tuple[str, ...]
    where: str
    status: str
    epsilon_lower: float | None
    detail: str
    seconds: float

    @property
    def ran(self) -> bool:
        """Whether it was run to an end."""
        return self.status not in NOT_ENDED


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Both sides of an entry.

    Attributes:
        id, package, expected, control_is: of the entry.
        broken, control: what came out.
        date: of the run, in UTC.
        python: its version.
    """

    id: str
    package: str
    expected: str
    control_is: str
    broken: Seen
    control: Seen
    date: str
    python: str

    @property
    def found(self) -> bool:
        """Whether the broken side came out as it must: FINDING is also met by REFUTED, which says more."""
        return self.broken.status == "REFUTED" or self.broken.status == self.expected

    @property
    def control_clear(self) -> bool:
        """Whether the control ran, and nothing was found."""
        return self.control.ran and self.control.status not in BAD

    @property
    def as_it_must(self) -> bool | None:
        """Whether both sides came out as they must; None if one of them could not be installed here."""
        if NOT_RUN in (self.broken.status, self.control.status):
            wrong = (self.broken.ran and not self.found) or self.control.status in BAD
            return False if wrong else None
        return self.found and self.control_clear


def run_entries(
    chosen: Sequence[CorpusEntry],
    kept: Path,
    *,
    seed: int,
    seconds: float | None = None,
    memory: int | None = None,
) -> Iterator[Result]:
    """Run entries one after the other.

    Args:
        chosen: what is run.
        kept: the folder for installed releases.
        seed: of the tests; the generators of the packages are their own.
        seconds: for each side; `SECONDS` if not given.
        memory: bytes for each process; no limit if not given.
    """
    for entry in chosen:
        begin_stage(entry.id)
        sides = [
            _run_side(entry, side, kept, control=side is entry.control, seed=seed, limits=(seconds, memory))
            for side in (entry.broken, entry.control)
        ]
        yield Result(
            id=entry.id,
            package=entry.package,
            expected=entry.expected,
            control_is=entry.control_is,
            broken=sides[0],
            control=sides[1],
            date=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
            python=platform.python_version(),
        )


def _run_side(
    entry: CorpusEntry,
    side: PackageRelease,
    kept: Path,
    *,
    control: bool,
    seed: int,
    limits: tuple[float | None, int | None],
) -> Seen:
    from dpverdict.audit.isolation.process import Limits, run_isolated
    from dpverdict.errors import MechanismFailure

    def not_run(why: str, status: str = NOT_RUN, where: str = "nowhere") -> Seen:
        return Seen(install=side.install, where=where, status=status, epsilon_lower=None, detail=why, seconds=0.0)

    absent = missing(entry.needs)
    if absent:
        return not_run(f"needs {', '.join(absent)} beside it: pip install {' '.join(absent)}")
    try:
        folder = install(side.install, kept)
    except NotInstallable as error:
        return not_run(str(error))
    where = "installed here" if folder is None else "a folder of its own"
    request = {
        "id": entry.id,
        "folder": None if folder is None else str(folder),
        "install": list(side.install),
        "control": control,
        "kind": entry.kind,
        "claim": entry.claim,
        "samples": entry.samples,
        "delta": entry.delta,
        "seed": seed,
        "reproduction": entry.reproduction,
    }
    given = Limits(seconds=limits[0] or SECONDS, memory=limits[1])
    try:
        answer: Any = run_isolated(ENTRY, request, what=entry.id, limits=given)
    except MechanismFailure as error:
        return not_run(str(error), status=FAILED, where=where)
    return Seen(install=side.install, where=where, **answer)


def summary(results: Sequence[Result]) -> str:
    """N of M, in a few lines."""
    ran = [one for one in results if one.broken.ran]
    controls = [one for one in results if one.control.ran]
    found, wrong = sum(one.found for one in ran), [one for one in controls if not one.control_clear]
    lines = [
        f"{found} of {len(ran)} defects found in the versions that have them, "
        f"{len(wrong)} of {len(controls)} controls refuted"
    ]
    for status, said in ((NOT_RUN, "not installable here"), (FAILED, "ended with an error")):
        names = [one.id for one in results if status in (one.broken.status, one.control.status)]
        if names:
            lines.append(f"{len(names)} {said}, on one side or both: {', '.join(names)}")
    missed = [one.id for one in ran if not one.found]
    if missed:
        lines.append(f"not found: {', '.join(missed)}")
    if wrong:
        lines.append(f"controls refuted: {', '.join(one.id for one in wrong)}")
    return "\n".join(lines)


def exit_code(results: Sequence[Result]) -> int:
    """0 if everything ran and came out as it must, 1 if something came out otherwise, 3 if something could not run."""
    verdicts = [one.as_it_must for one in results]
    return 1 if False in verdicts else 3 if None in verdicts else 0


def as_json(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Results as JSON values."""
    return [asdict(one) for one in results]
