"""Run a plan: every audit once, each kept when it is finished, so that a run that was stopped can be continued.

The seed of a plan without one, and the time of its first start, are kept too: a run that was killed and started again
ends with the result, to the byte, of one that was not.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import secrets
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, final

from dpverdict.audit.callables import names_a_callable, source_files
from dpverdict.audit.journal import Journal, hold, journalled_in
from dpverdict.audit.plan import Plan, PlannedAudit
from dpverdict.audit.report import EXIT_CODES, software_versions
from dpverdict.audit.report_html import render_part
from dpverdict.audit.report_json import render_json
from dpverdict.audit.request import Bar, Request, carry_out
from dpverdict.audit.scores_request import ScoresRequest, audit_scores
from dpverdict.audit.trials import check_seed
from dpverdict.audit.verdict import Status
from dpverdict.errors import DpverdictError, InvalidValue

ERROR_CODE: Final = 2
"""What the command line returns if an audit could not be run."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """What came out of one audit of a plan.

    Attributes:
        audit: as it was planned.
        status: None if it could not be run.
        fields: the report as JSON values; empty if it could not be run.
        page: the report as part of a page; empty if it could not be run.
        error: why it could not be run; None if it was.
        seconds: what it took when it was run.
    """

    audit: PlannedAudit
    status: Status | None
    fields: Mapping[str, object]
    page: str
    error: str | None
    seconds: float

    @property
    def met(self) -> bool:
        """Whether what was expected came out."""
        return self.status is not None and self.audit.expect.met_by(self.status)

    @property
    def answer(self) -> str:
        """Why the status is what it is, or why there is none."""
        return self.error or str(self.fields["answer"])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PlanResult:
    """What came out of a plan.

    Attributes:
        plan: as it was read.
        seed: of every random number.
        created: when the plan was first started, in UTC.
        results: of every audit, in the order of the plan.
    """

    plan: Plan
    seed: int
    created: datetime
    results: tuple[AuditResult, ...]

    @property
    def exit_code(self) -> int:
        """0 if all came out as expected; else 2 if an audit could not be run, 1 if one was refuted, or was not though
        it had to be, and 3 otherwise."""
        if any(result.status is None for result in self.results):
            return ERROR_CODE
        wrong = [result for result in self.results if not result.met]
        if any(result.status is Status.REFUTED or result.audit.expect.name == "REFUTED" for result in wrong):
            return EXIT_CODES[Status.REFUTED]
        return EXIT_CODES[Status.INCONCLUSIVE] if wrong else EXIT_CODES[Status.CERTIFIED]


@contextlib.contextmanager
def open_journal(plan: Path, folder: Path | None, *, fresh: bool = False) -> Generator[Journal]:
    """The journal of a plan, for one run at a time.

    Args:
        plan: the file.
        folder: where the journal is; None for the file's own path with ``.journal`` after it.
        fresh: whether to forget what it holds.

    Raises:
        InvalidValue: another run is using it, or the folder cannot be written to.
    """
    where = plan.with_name(plan.name + ".journal") if folder is None else folder
    journal = Journal(where)
    try:
        lock = (where / "lock").open("a")
    except OSError as error:
        raise InvalidValue("journal", str(where), "a folder that can be written to", str(error.strerror)) from None
    with lock:
        try:
            hold(lock)
        except OSError:
            remedy = "wait for it, or give this run a --journal of its own"
            raise InvalidValue("journal", str(where), "used by one run at a time", remedy) from None
        if fresh:
            for path in where.iterdir():
                Journal(path).clear() if path.is_dir() else None
            journal.clear()
        yield journal


def run_plan(plan: Plan, journal: Journal, bar: Bar | None = None) -> PlanResult:
    """Run what the journal does not hold, and give everything.

    An audit that cannot be run is reported with the reason, and the others go on; it is tried again the next time.
    """
    seed, created = _start(plan, journal)
    results = []
    for number, audit in enumerate(plan.audits):
        if bar is not None:
            bar("audits", number, len(plan.audits))
        results.append(_result(plan, audit, seed, created, journal, bar))
    if bar is not None:
        bar("audits", len(plan.audits), len(plan.audits))
    return PlanResult(plan=plan, seed=seed, created=created, results=tuple(results))


def _start(plan: Plan, journal: Journal) -> tuple[int, datetime]:
    """The seed and the time of the first start."""
    kept = journal.read("start")
    if kept is None:
        epoch = os.environ.get("SOURCE_DATE_EPOCH")  # a convention of reproducible builds
        created = datetime.now(UTC).replace(microsecond=0)
        if epoch is not None:
            try:
                created = datetime.fromtimestamp(int(epoch), UTC)
            except (ValueError, OverflowError, OSError):
                remedy = "unset it, or give seconds since 1970"
                raise InvalidValue("SOURCE_DATE_EPOCH", epoch, "a whole number of seconds", remedy) from None
        kept = json.dumps({"created": created.isoformat(), "drawn": secrets.randbits(63)}).encode()
        journal.write("start", kept)
    first = json.loads(kept)
    seed = first["drawn"] if plan.seed is None else plan.seed
    return check_seed(seed), datetime.fromisoformat(first["created"])


def _result(
    plan: Plan, audit: PlannedAudit, seed: int, created: datetime, journal: Journal, bar: Bar | None
) -> AuditResult:
    request = plan.request_of(audit, seed)
    try:
        name = _entry(audit, request, created)
        kept = journal.read(name)
        if kept is None:
            trials = Journal(journal.folder / hashlib.sha256(name.encode()).hexdigest()[:32])
            kept = _run(audit, request, created, trials, bar)
            journal.write(name, kept)
            trials.clear()  # the report says all that later runs need
    except (DpverdictError, OSError, MemoryError) as error:
        problem = str(error) or type(error).__name__
        return AuditResult(audit=audit, status=None, fields={}, page="", error=problem, seconds=0.0)
    found = json.loads(kept)
    status = Status[found["fields"]["status"]]
    return AuditResult(
        audit=audit, status=status, fields=found["fields"], page=found["page"], error=None, seconds=found["seconds"]
    )


def _run(
    audit: PlannedAudit, request: Request | ScoresRequest, created: datetime, trials: Journal, bar: Bar | None
) -> bytes:
    began = time.monotonic()
    with journalled_in(trials):
        made = audit_scores(request) if isinstance(request, ScoresRequest) else carry_out(request, bar)
        report = dataclasses.replace(made, created=created)
    kept = {
        "fields": json.loads(render_json(report)),
        "page": render_part(report, audit.anchor),
        "seconds": round(time.monotonic() - began, 3),
    }
    return json.dumps(kept).encode()


def _entry(audit: PlannedAudit, request: Request | ScoresRequest, created: datetime) -> str:
    """The name of the entry of an audit: everything its report depends on, so that a change runs it again."""
    parts = {
        "anchor": audit.anchor,
        "request": dataclasses.asdict(request),
        "created": created.isoformat(),
        "versions": software_versions(),
        "files": {path: hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in sorted(_files(request))},
    }
    return "audit " + json.dumps(parts, sort_keys=True)


def _files(request: Request | ScoresRequest) -> Iterator[str]:
    """Files that a request reads: tables, pairs, and the sources of functions with what they import beside them."""
    if isinstance(request, ScoresRequest):
        yield from (path for path in request.files if Path(path).is_file())
        return
    for text in (request.data, request.neighbours, request.mechanism, request.score):
        if text is None:
            continue
        if names_a_callable(text):
            yield from source_files(text)
        elif text in (request.data, request.neighbours) and Path(text).is_file():
            yield text
    bounds = request.options.get("bounds")
    if bounds is not None and bounds.startswith("@") and Path(bounds[1:]).is_file():
        yield bounds[1:]
