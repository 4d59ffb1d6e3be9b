"""Work in a copy of this process, which is thrown away: whatever it replaces is replaced there alone."""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import time
import warnings
from collections.abc import Callable
from typing import TypeVar

from dpverdict.errors import DpverdictError, in_one_line

R = TypeVar("R")


class ChildFailed(DpverdictError):
    """The copy gave no answer: it raised, ended, took too long, or there can be none on this system."""


def in_a_child(work: Callable[[], R], *, kind: type[R], seconds: float) -> R:
    """What ``work`` gives in a copy of this process.

    Args:
        work: what it gives has to be picklable.
        kind: of what it gives.
        seconds: on the clock, for all of it.

    Raises:
        ChildFailed: there is no answer of that kind.
    """
    if not hasattr(os, "fork"):
        raise ChildFailed("this system has no copies of processes")
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which the copy does not have
        child = forked()
    if child == 0:
        try:
            os.close(reading)
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(_answer_of_work(work))
        finally:
            os._exit(0)  # nothing else of this process ends twice
    os.close(writing)
    kept = _read(child, reading, seconds)
    if not kept:
        raise ChildFailed("the code that was run ended its process")
    try:
        found = pickle.loads(kept)  # written by a copy of this process
    except Exception as error:
        raise ChildFailed(f"the copy sent something that cannot be read ({in_one_line(error)})") from None
    if not isinstance(found, kind):
        raise ChildFailed(str(found))
    return found


def not_finished_within(seconds: float) -> str:
    """What is said of work that took longer."""
    return f"it did not finish within {seconds:g} seconds"


def forked() -> int:
    """`os.fork`; a copy that is made here goes on, see `guard.end_forked_copies`."""
    return os.fork()


def _answer_of_work(work: Callable[[], object]) -> bytes:
    try:
        return pickle.dumps(work())
    except BaseException as error:  # whatever it ends in is told, and ends there
        return pickle.dumps(in_one_line(error))


def _read(child: int, reading: int, seconds: float) -> bytes:
    deadline, kept = time.monotonic() + seconds, bytearray()
    try:
        while True:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([reading], [], [], left)[0]:
                raise ChildFailed(not_finished_within(seconds))
            part = os.read(reading, 1 << 20)
            if not part:
                return bytes(kept)
            kept += part
    finally:
        os.close(reading)
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)  # it has answered, or will not
        with contextlib.suppress(OSError):
            os.waitpid(child, 0)
