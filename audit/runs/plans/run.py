"""The run of a plan: every audit once, each kept when it is finished, so that a run that was stopped can be continued.

The seed of a plan without one, and the time of its first start, are kept too: a run that was killed and started again
ends with the result, to the byte, of one that was not.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import secrets
import time
from collections.abc import Generator, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from dpverdict.audit.distinguishing.witness_document import software_versions
from dpverdict.audit.documents.request import AnyRequest, CompositionRequest, SamplerRequest
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.isolation.process import NO_LIMITS, Limits
from dpverdict.audit.isolation.provenance import file_hash, package_hash
from dpverdict.audit.runs.finished_audit import WantedRenderings, read_finished_audit, status_of_fields
from dpverdict.audit.runs.plans.compositions import FinishedComposition, compose_request, loads_code
from dpverdict.audit.runs.plans.plan import Plan, PlannedAudit
from dpverdict.audit.runs.plans.results import AuditResult, PlanResult
from dpverdict.audit.runs.request import Bar
from dpverdict.audit.runs.samplers import audit_sampler, sampler_answer, sampler_fields, sampler_part
from dpverdict.audit.runs.subprocesses.audit import audit_from_request
from dpverdict.audit.trials.atomic_files import hold, remove_left_over
from dpverdict.audit.trials.journal import Journal
from dpverdict.checks import check_seed
from dpverdict.errors import DpverdictError, InvalidValue
from dpverdict.numerics.files import open_at_once


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
        lock = open_at_once(where / "lock", "ab")
    except OSError as error:
        raise InvalidValue("journal", str(where), "a folder that can be written to", str(error.strerror)) from None
    with lock:
        try:
            hold(lock)
        except OSError:
            remedy = "wait for it, or give this run a --journal of its own"
            raise InvalidValue("journal", str(where), "used by one run at a time", remedy) from None
        for entry in {path.name[1:].partition(".entry.")[0] for path in where.glob(".*.entry.*.tmp")}:
            remove_left_over(where / f"{entry}.entry")
        if fresh:
            journal.clear_all()
        yield journal


def run_plan(plan: Plan, journal: Journal, bar: Bar | None = None, limits: Limits = NO_LIMITS) -> PlanResult:
    """Run what the journal does not hold, and give everything.

    An audit of the user's code, or one with a limit, has a process of its own. An audit that cannot be run, or does not
    finish, is reported with the reason, and the others go on; it is tried again the next time.

    Args:
        plan: what is audited.
        journal: what is finished; an entry counts only while all that it rests on is as it was.
        bar: told how far the run is.
        limits: of each audit that the plan sets none for.
    """
    seed, created = _seed_and_first_start(plan, journal)
    results = []
    for number, audit in enumerate(plan.audits):
        if bar is not None:
            bar("audits", number, len(plan.audits))
        limited = dataclasses.replace(audit, limits=audit.limits.merge(limits))
        results.append(_result_of_audit(plan, limited, seed, created, journal, bar))
    if bar is not None:
        bar("audits", len(plan.audits), len(plan.audits))
    return PlanResult(plan=plan, seed=seed, created=created, results=tuple(results))


def _seed_and_first_start(plan: Plan, journal: Journal) -> tuple[int, datetime]:
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


def _result_of_audit(
    plan: Plan, audit: PlannedAudit, seed: int, created: datetime, journal: Journal, bar: Bar | None
) -> AuditResult:
    request = plan.request_of(audit, seed)
    try:
        if isinstance(request, SamplerRequest):
            return _result_of_sampler(audit, request, created)
        if isinstance(request, CompositionRequest):
            return _result_of_composition(audit, request, created, journal)
        name = _entry(audit, request, created)
        kept = _kept_entry(journal, name, audit)
        if kept is None:
            trials = journal.part(name)
            kept = _run(audit, request, created, trials, bar)
            journal.write(name, json.dumps(kept).encode())
            trials.clear()  # the report says all that later runs need
    except (DpverdictError, OSError, MemoryError) as error:
        problem = str(error) or type(error).__name__
        return AuditResult(audit=audit, status=None, fields={}, page="", error=problem, seconds=0.0)
    fields: Mapping[str, Any] = kept["fields"]
    return AuditResult(
        audit=audit,
        status=status_of_fields(fields),
        fields=fields,
        page=kept["part"],
        error=None,
        seconds=kept["seconds"],
        files=() if kept["provenance"] is None else tuple(kept["provenance"]["files"]),
        provenance=kept["provenance"],
    )


def _result_of_sampler(audit: PlannedAudit, request: SamplerRequest, created: datetime) -> AuditResult:
    """An audit of how batches are made: carried out again in every run, as what its loader imports is not known."""
    began = time.monotonic()
    found = audit_sampler(request, audit.limits)
    fields = sampler_fields(found, request, created)
    return AuditResult(
        audit=audit,
        status=Status[found.status],
        fields={**fields, "answer": sampler_answer(found)},
        page=sampler_part(found, fields, audit.anchor),
        error=None,
        seconds=round(time.monotonic() - began, 3),
    )


def _result_of_composition(
    audit: PlannedAudit, request: CompositionRequest, created: datetime, journal: Journal
) -> AuditResult:
    """What releases spend together: kept in the journal, unless one of them is of a class of the user."""
    name = None if loads_code(request) else _entry(audit, request, created)
    content = None if name is None else journal.read(name)
    if content is None:
        began = time.monotonic()
        made = compose_request(request, created, audit.anchor, audit.limits)
        content = json.dumps(made.to_dict() | {"seconds": round(time.monotonic() - began, 3)}).encode()
        if name is not None:
            journal.write(name, content)
    kept: dict[str, Any] = json.loads(content)
    found = FinishedComposition.from_dict(kept)
    return AuditResult(
        audit=audit, status=found.status, fields=found.fields, page=found.part, error=None, seconds=kept["seconds"]
    )


def _kept_entry(journal: Journal, name: str, audit: PlannedAudit) -> dict[str, Any] | None:
    """The entry of an audit, if there is one and all that it rests on is as it was."""
    content = journal.read(name)
    if content is None:
        return None
    kept: dict[str, Any] = json.loads(content)
    provenance = read_finished_audit(kept, audit.name).provenance  # without any it rests on what is in its name
    return kept if provenance is None or provenance.changed() is None else None


def _run(
    audit: PlannedAudit, request: AnyRequest, created: datetime, trials: Journal, bar: Bar | None
) -> dict[str, Any]:
    """Run an audit: here, or in a process of its own."""
    began = time.monotonic()
    done = audit_from_request(
        request, WantedRenderings(created=created, anchor=audit.anchor, trials=trials), limits=audit.limits, bar=bar
    )
    return {
        "fields": done.fields,
        "part": done.part,
        "provenance": None if done.provenance is None else done.provenance.to_json(),
        "seconds": round(time.monotonic() - began, 3),
    }


def _entry(audit: PlannedAudit, request: AnyRequest | CompositionRequest, created: datetime) -> str:
    """The name of the entry of an audit: everything its report depends on, so that a change runs it again."""
    parts = {
        "anchor": audit.anchor,
        "request": asdict(request),
        "created": created.isoformat(),
        "versions": software_versions(),
        "package": package_hash(),
        "files": {path: file_hash(path) for path in sorted(_files(request))},
    }
    return "audit " + json.dumps(parts, sort_keys=True)


def _files(request: AnyRequest | CompositionRequest) -> Iterator[str]:
    """Tables, pairs, bounds, scores, events that a request names; what code reads is in the provenance of its entry."""
    yield from (path for path in request.inputs.values() if Path(path).is_file() and not path.endswith(".py"))
