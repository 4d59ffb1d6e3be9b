"""The other side of `audit`: what the process of one audit does."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import time
from collections.abc import Callable, Generator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from dpverdict.audit.documents.request import AnyRequest, Request, ScoresRequest
from dpverdict.audit.documents.schema import converted
from dpverdict.audit.isolation.code_snapshot import CodeSnapshot
from dpverdict.audit.isolation.imports import refuse_shared_names
from dpverdict.audit.isolation.provenance import Provenance, Recorder, read_provenance
from dpverdict.audit.reports.report import Report
from dpverdict.audit.runs.finished_audit import WantedRenderings, finish_audit
from dpverdict.audit.runs.request import audit_request
from dpverdict.audit.runs.scores import audit_scores
from dpverdict.audit.trials.engines import chosen_engine
from dpverdict.audit.trials.journal import KEY_VARIABLE, Journal, journalled_in
from dpverdict.audit.trials.workers import Audit
from dpverdict.errors import DpverdictError, error_to_send
from dpverdict.numerics.stages import watched_by

REST: Final = "what the trials rest on"
"""The entry of a journal of trials that is written before any trial is."""

_BETWEEN: Final = 0.1
"""Seconds between two messages about progress."""


def work(request: Mapping[str, Any], tell: Callable[[object], None]) -> dict[str, object]:
    """Carry out one audit and give its faces; or the message of why it cannot be carried out."""
    os.environ.pop(KEY_VARIABLE, None)
    here = Path.cwd()
    recorder, snapshot = Recorder(network="dask" in request["engine"], own=request["trials"]), CodeSnapshot()
    asked: AnyRequest
    if request["scores"]:
        asked = converted(request["audit"], ScoresRequest, "request")
    else:
        asked = converted(request["audit"], Request, "request")
    try:
        with (
            watched_by(tell if request["progress"] else _ignore_stage),
            chosen_engine(**request["engine"], audit=_audit_for_workers(request)),
            _journal_of_trials(request, recorder) as rest,
        ):
            with recorder.recording():
                report = _carry_out(asked, _progress_teller(tell) if request["progress"] else None)
            if (changed := _replaced_code(asked, snapshot)) is not None:
                return changed
            refuse_shared_names()  # what was imported later
            os.chdir(here)
            done = finish_audit(report, asked, _renderings_of(request))
            return {
                "fields": dict(done.fields),
                "part": done.part,
                "page": done.page,
                "text": done.text,
                "witness": done.witness,
                "certificate": None if done.certificate is None else dict(done.certificate),
                "provenance": rest().to_json(),
            }
    except DpverdictError as error:  # of numbers that what was replaced has made impossible, perhaps
        return _replaced_code(asked, snapshot) or error_to_send(error)
    except OSError as error:  # of this program, where the user's code took its files, folder or memory away
        return {"error": _one_line(f"{error}, in the audit of {_name_of_request(asked)}")}
    except MemoryError as error:
        return {"error": _one_line(f"the audit does not fit in the memory it may take: {error}")}
    except BaseException as error:  # the user's code may raise anything: SystemExit is not a verdict
        if (changed := _replaced_code(asked, snapshot)) is not None:
            return changed
        problem = f"mechanism {request['audit'].get('mechanism')} ended the audit with {_describe_error(error)}"
        return {"error": _one_line(f"{problem}: call it yourself on its dataset; no verdict is its to give")}


def _replaced_code(asked: AnyRequest, snapshot: CodeSnapshot) -> dict[str, object] | None:
    """The message that the user's code replaced what the verdict rests on; None if it did not."""
    failure = snapshot.failure(_name_of_request(asked))
    return None if failure is None else {"error": str(failure)}


def _audit_for_workers(request: Mapping[str, Any]) -> Audit:
    """This audit, for the workers of a cluster."""
    seconds = request["seconds"]
    return Audit(
        token=secrets.token_hex(16),
        what=str(request["audit"].get("mechanism", "")),
        deadline=None if seconds is None else time.time() + seconds,
        memory=request["memory"],
    )


def _renderings_of(request: Mapping[str, Any]) -> WantedRenderings:
    return WantedRenderings(
        created=None if request["created"] is None else datetime.fromisoformat(request["created"]),
        anchor=request["anchor"],
        page=request["page"],
        witness=request["witness"],
        console=request["console"],
    )


def _carry_out(asked: AnyRequest, bar: Callable[[str, int, int], None] | None) -> Report:
    return audit_scores(asked) if isinstance(asked, ScoresRequest) else audit_request(asked, bar)


@contextlib.contextmanager
def _journal_of_trials(request: Mapping[str, Any], recorder: Recorder) -> Generator[Callable[[], Provenance]]:
    """The journal of the trials, begun anew unless all it rests on is as it was; and the provenance at the end.

    What the trials rest on is written before they are, so that those of a killed run are never mixed with trials of
    another mechanism.
    """
    if request["trials"] is None:
        yield recorder.provenance
        return
    folder, key = Path(request["trials"]), bytes.fromhex(request["key"])
    journal = Journal(folder, key)
    former = _earlier_provenance(journal)
    if former is None:
        journal.clear()
        journal = Journal(folder, key)
    seen = -1

    def rest() -> Provenance:
        now = recorder.provenance()
        return now if former is None else now.merge(former)

    def note() -> None:
        nonlocal seen
        if recorder.size != seen:
            seen = recorder.size
            journal.write(REST, json.dumps(rest().to_json()).encode())

    with journalled_in(Journal(folder, key, before=note)):
        yield rest


def _earlier_provenance(journal: Journal) -> Provenance | None:
    """What the trials of a journal rest on; None if that is not known, or not as it was."""
    kept = journal.read(REST)
    if kept is None:
        return None
    found = read_provenance(json.loads(kept))
    return found if found.changed() is None else None


def _progress_teller(tell: Callable[[object], None]) -> Callable[[str, int, int], None]:
    last = 0.0

    def bar(what: str, done: int, total: int) -> None:
        nonlocal last
        if done == total or time.monotonic() - last > _BETWEEN:
            last = time.monotonic()
            tell([what, done, total])

    return bar


def _ignore_stage(what: str) -> None:
    """Watches nothing."""


def _name_of_request(asked: AnyRequest) -> str:
    return asked.mechanism if isinstance(asked, Request) else "of the scores"


def _describe_error(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _one_line(text: str) -> str:
    return " ".join(text.split())
