"""One audit in a process of its own, and what comes back: a report as data, checked before anything is made of it.

A user's code may end its process, hang, take all memory, change the folder, the environment or the modules it finds.
In a process of its own it harms nothing else. What the process sends is JSON. The status is read from
the evidence in it, never from an exit code, and a report that contradicts itself is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec.structs import asdict

from dpverdict.audit.documents.request import AnyRequest, Request, ScoresRequest, names_a_callable, parts
from dpverdict.audit.isolation.process import NO_LIMITS, Limits, run_isolated
from dpverdict.audit.runs.finished_audit import FinishedAudit, WantedRenderings, finish_audit, read_finished_audit
from dpverdict.audit.runs.request import Bar, audit_request
from dpverdict.audit.runs.scores import audit_scores
from dpverdict.audit.runs.traced import check_request, must_be_certified
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.trials.catalogue import ZOO
from dpverdict.audit.trials.engines import DaskCluster, Processes, current_engine
from dpverdict.audit.trials.journal import journalled_in
from dpverdict.errors import DpverdictError, raise_error_sent
from dpverdict.numerics.stages import begin_stage

ENTRY: Final = "dpverdict.audit.runs.subprocesses.work:work"
BEST_SO_FAR: Final = "best so far: "
"""In what a search of neighbours tells of itself: the pair that it would leave now."""


class AuditFailed(DpverdictError):
    """An audit in a process of its own could not be made; the message is the one it had there."""


def audit_from_request(
    request: AnyRequest, wanted: WantedRenderings, limits: Limits = NO_LIMITS, bar: Bar | None = None
) -> FinishedAudit:
    """Carry out an audit: in a process of its own if it runs a user's code or has a limit, and else here.

    Raises:
        DpverdictError: it cannot be carried out, or did not finish.
    """
    if isinstance(request, Request) and request.followed:
        check_request(request)  # before a process is begun
        TableSchema.from_toml(str(request.schema))
    if limits or runs_user_code(request):
        return audit_in_subprocess(request, wanted, limits, bar)
    with journalled_in(wanted.trials):
        made = audit_scores(request) if isinstance(request, ScoresRequest) else audit_request(request, bar)
    return finish_audit(made, request, wanted)


def runs_user_code(request: AnyRequest) -> bool:
    """Whether an audit loads code that is not of this package."""
    if isinstance(request, ScoresRequest):
        return False
    named: list[str | None] = [getattr(request, name) for name in parts(Request, "names")]
    return any(one is not None and names_a_callable(one) and not one.lower().startswith(ZOO) for one in named)


def audit_in_subprocess(
    request: AnyRequest, wanted: WantedRenderings, limits: Limits = NO_LIMITS, bar: Bar | None = None
) -> FinishedAudit:
    """Carry out an audit in a process of its own, on the kind of engine that is current here.

    Raises:
        AuditFailed: the request cannot be carried out, or the user's code raises; the message says why.
        MechanismFailure: the process did not finish, or what it sent is no report.
    """
    what = _name(request)
    searched = isinstance(request, Request) and request.data is not None  # an interrupt tells the best pair so far
    told = bar is not None or searched
    sent = {
        "scores": isinstance(request, ScoresRequest),
        "audit": asdict(request),
        "engine": engine_fields(),
        "seconds": limits.seconds,
        "memory": limits.memory,
        "created": None if wanted.created is None else wanted.created.isoformat(),
        "anchor": wanted.anchor,
        "page": wanted.page,
        "witness": wanted.witness,
        "console": None if wanted.console is None else dict(wanted.console),
        "trials": None if wanted.trials is None else str(wanted.trials.folder),
        "key": None if wanted.trials is None else wanted.trials.key.hex(),
        "progress": told,
    }
    stages: list[str] = []
    try:
        watch = telling(bar, stages) if told else None
        answer = run_isolated(ENTRY, sent, what=what, limits=limits, told=watch)
    except KeyboardInterrupt as interrupt:
        if stages:
            interrupt.add_note(f"{stages[-1]}; nothing is tested yet. In a plan the search would go on where it was")
        raise
    raise_error_sent(answer, AuditFailed)
    found = read_finished_audit(answer, what)
    if isinstance(request, Request) and request.followed:
        must_be_certified(found.fields, found.certificate, request)
    return found


def _name(request: AnyRequest) -> str:
    return "of the recorded scores" if isinstance(request, ScoresRequest) else request.mechanism


def engine_fields() -> dict[str, object]:
    """The engine that is current here, as the options that choose it."""
    match current_engine():
        case Processes(workers=workers):
            return {"jobs": workers}
        case DaskCluster(address=address):
            return {"dask": address}
        case _:
            return {}


def telling(bar: Bar | None, stages: list[str] | None = None) -> Callable[[object], None]:
    """Tell a progress bar, and who watches the stages, what a process tells; ``stages``: the last with a pair."""

    def told(content: object) -> None:
        match content:
            case [str(what), int(done), int(total)]:
                if bar is not None:
                    bar(what, done, total)
            case str(what):
                if stages is not None and BEST_SO_FAR in what:
                    stages[:] = [what]
                begin_stage(what)
            case _:
                pass

    return told
