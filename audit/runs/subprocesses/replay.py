"""A replay in a process of its own, for a user's code; what comes back is data, checked before it is believed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any, Final

from dpverdict.audit.isolation.code_snapshot import CodeSnapshot
from dpverdict.audit.isolation.imports import refuse_shared_names
from dpverdict.audit.isolation.process import NO_LIMITS, Limits, run_isolated
from dpverdict.audit.runs.replay import Replay, replay_from_request
from dpverdict.audit.runs.subprocesses.audit import AuditFailed, engine_fields
from dpverdict.audit.trials.catalogue import names_foreign_code
from dpverdict.audit.trials.engines import chosen_engine
from dpverdict.errors import DpverdictError, MechanismFailure, error_to_send, in_one_line, raise_error_sent
from dpverdict.mechanisms.core.guarantees import parse_guarantee

ENTRY: Final = "dpverdict.audit.runs.subprocesses.replay:work"


def replay_in_subprocess(document: Mapping[str, Any], limits: Limits = NO_LIMITS, **words: Any) -> Replay:
    """`replay_from_request`, in a process of its own if it loads code that is not of this package, or has a limit.

    Raises:
        DpverdictError: it cannot be carried out, or did not finish.
    """
    named = document["mechanism"].get("name") if isinstance(document["mechanism"], dict) else None
    foreign = isinstance(named, str) and names_foreign_code(named)
    if not (limits or words["mechanism"] or words["score"] or foreign or document["score_function"] is not None):
        return replay_from_request(document, **words)
    what = str(words["mechanism"] or named)
    sent = {"document": dict(document), "words": words, "engine": engine_fields()}
    answer = run_isolated(ENTRY, sent, what=what, limits=limits)
    raise_error_sent(answer, AuditFailed)
    return _replay_of(answer, what)


def work(request: Mapping[str, Any], tell: Callable[[object], None]) -> dict[str, object]:
    """The other side: the replay as data, or the message of why there is none."""
    snapshot, what = CodeSnapshot(), str(request["words"]["mechanism"] or request["document"]["mechanism"].get("name"))
    try:
        with chosen_engine(**request["engine"]):
            found = replay_from_request(request["document"], **request["words"])
        if (failure := snapshot.failure(what)) is not None:
            return {"error": str(failure)}
        refuse_shared_names()
        return {**asdict(found), "claim": found.claim.describe()}
    except (DpverdictError, OSError) as error:
        if (failure := snapshot.failure(what)) is not None:
            return {"error": str(failure)}
        return error_to_send(error)
    except BaseException as error:  # the user's code may raise anything: SystemExit is not a verdict
        if (failure := snapshot.failure(what)) is not None:
            return {"error": str(failure)}
        return {"error": f"the code that was run ended the replay with {in_one_line(error)}, which is not a verdict"}


def _replay_of(answer: object, what: str) -> Replay:
    """What a process sent, if it does not contradict itself."""
    try:
        if not isinstance(answer, dict) or set(answer) != {field.name for field in fields(Replay)}:
            raise ValueError("it is no replay")
        held: dict[str, Any] = {**answer, "claim": parse_guarantee(answer["claim"])}
        found = Replay(**held)
        if found.level is not None and found.p_value is not None:
            decided = found.refuted is (found.p_value <= found.level)
        else:
            decided = found.level is found.p_value is None and isinstance(found.refuted, bool)
        if not decided:
            raise ValueError("its outcome is not that of its numbers")
        return found
    except (AttributeError, TypeError, ValueError) as error:
        problem = f"sent something that is no replay ({in_one_line(error)})"
        raise MechanismFailure(what, problem, "look at what it replaces or writes to") from None
