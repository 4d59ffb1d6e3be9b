"""What a worker does with a task: in a worker process of this machine, or on a Dask worker in a process of the audit.

On a cluster, workers are shared by audits and by others. So code under audit runs there in a process of its own as
well: one for each audit and each thread of a worker, kept until the audit ends, or nobody has asked for a minute.
"""

from __future__ import annotations

import base64
import hashlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeVar, final

import cloudpickle

from dpverdict.audit.isolation.code_snapshot import CodeSnapshot
from dpverdict.audit.isolation.guard import die_with_parent, end_forked_copies
from dpverdict.audit.isolation.imports import search_beside
from dpverdict.audit.isolation.process import Isolated, Limits
from dpverdict.audit.trials.user_code import guarded
from dpverdict.errors import MechanismFailure

T = TypeVar("T")
R = TypeVar("R")

ENTRY: Final = "dpverdict.audit.trials.workers:serve"

IDLE: Final = 60.0
"""Seconds after which a process that nobody asks ends."""


def begin_worker(folders: tuple[str, ...] = ()) -> None:
    """An interrupt is for the parent, which then ends its workers; and a worker ends when its parent does.

    Args:
        folders: of the user's code, see `isolation.imports`.
    """
    import multiprocessing
    import os
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_forked_copies()
    _first_snapshot()
    for folder in folders:
        search_beside(folder)
    parent = multiprocessing.parent_process()
    if parent is None or parent.pid is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()  # everywhere; and at once, where the kernel does it:
    die_with_parent(parent.pid)


def carry_out(function: bytes, task: bytes) -> object:
    """What a packed function gives for a packed task.

    Raises:
        MechanismFailure: code that a verdict rests on was replaced in this process, whatever the task ended in.
    """
    snapshot, name = _first_snapshot(), "in a worker"

    def run(packed: bytes) -> object:
        nonlocal name
        loaded = _unpacked_function(function)  # this imports user code
        name = name_of(loaded)
        _raise_replaced(snapshot, name)
        return loaded(cloudpickle.loads(packed))

    try:
        return carried_out(run, task, "in a worker")
    finally:
        _raise_replaced(snapshot, name)


@lru_cache(maxsize=1)
def _first_snapshot() -> CodeSnapshot:
    """What a verdict rests on, as it was before this process ran its first task."""
    return CodeSnapshot()


def _raise_replaced(snapshot: CodeSnapshot, name: str) -> None:
    failure = snapshot.failure(name)
    if failure is not None:
        raise failure from None


def carried_out(function: Callable[[T], R], task: T, name: str | None = None) -> R:
    """``function(task)``; what would end the process, or hang a worker, is an error."""

    def failure(said: str) -> MechanismFailure:
        remedy = "raise an ordinary exception, or return: a trial must not end the program"
        return MechanismFailure(name or name_of(function), f"raised {said}", remedy)

    return guarded(lambda: function(task), failure, passing=Exception)


def name_of(function: object) -> str:
    """What a function is called in a message: its attribute ``name``, or the name of the function or class."""
    name = getattr(function, "name", None) or getattr(function, "__qualname__", type(function).__qualname__)
    return str(name)


@lru_cache(maxsize=4)
def _unpacked_function(function: bytes) -> Callable[[object], object]:
    loaded: Callable[[object], object] = cloudpickle.loads(function)
    return loaded


# ---- on a Dask worker ----


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The audit that a task belongs to.

    Attributes:
        token: names it.
        what: how a message calls it.
        deadline: on the clock, in seconds since 1970; None for none.
        memory: bytes of each process; None for no limit.
    """

    token: str
    what: str
    deadline: float | None
    memory: int | None


@final
@dataclass(slots=True)
class _Kept:
    """A process of an audit, which function it was given last, and when."""

    process: Isolated
    function: str
    used: float


_KEPT: Final[dict[tuple[str, int], _Kept]] = {}


def carry_out_in_subprocess(audit: Audit, function: bytes, task: bytes) -> bytes:
    """As `carry_out`, in a process of the audit on this machine; the result is packed, and not unpacked here.

    Raises:
        MechanismFailure: the process ended, or took too long.
    """
    place = audit.token, threading.get_ident()
    kept = _KEPT.get(place)
    if kept is None or not kept.process.alive or time.monotonic() - kept.used > IDLE / 2:
        if kept is not None:
            kept.process.end()
        seconds = None if audit.deadline is None else max(1.0, audit.deadline - time.time())
        limits = Limits(seconds=seconds, memory=audit.memory)
        kept = _Kept(Isolated(ENTRY, {}, what=audit.what, limits=limits, asks=True), "", 0.0)
        _KEPT[place] = kept
    digest = hashlib.sha256(function).hexdigest()
    message = {"task": _text(task), "function": None if digest == kept.function else _text(function)}
    kept.function, kept.used = digest, time.monotonic()
    try:
        kept.process.say(message)
        answer = kept.process.hear()[1]
    except BaseException:
        del _KEPT[place]
        kept.process.end()
        raise
    kept.used = time.monotonic()
    if not isinstance(answer, str):
        raise MechanismFailure(audit.what, "sent something that is no result", "look at what it replaces or writes to")
    return base64.b64decode(answer)


def end_processes(token: str) -> None:
    """End the processes of an audit on this worker."""
    for place in [place for place in _KEPT if place[0] == token]:
        _KEPT.pop(place).process.end()


def serve(request: object, tell: Callable[[object], None], ask: Callable[[float], Any]) -> None:
    """In a process of an audit: carry out what is asked for, until nobody asks any more."""
    _first_snapshot()
    function = b""
    while (message := ask(IDLE)) is not None:
        if message["function"] is not None:
            function = base64.b64decode(message["function"])
        found: tuple[bool, object]
        try:
            found = True, carry_out(function, base64.b64decode(message["task"]))
        except Exception as error:
            found = False, error
        try:
            packed = cloudpickle.dumps(found)
        except Exception as error:
            problem = MechanismFailure("", f"gave what cannot be sent ({type(error).__name__})", "return numbers")
            packed = cloudpickle.dumps((False, problem))
        tell(_text(packed))


def unpacked(packed: bytes) -> Any:
    """The result that `carry_out_in_subprocess` gave, or its error."""
    done, value = cloudpickle.loads(packed)
    if not done:
        raise value
    return value


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
