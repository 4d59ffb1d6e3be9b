"""Calls of user code: whatever ends one becomes an error of ours, never the end of the audit, and never a verdict.

``sys.exit``, an interrupt that the code raises by itself and every other ``BaseException`` are told like any exception.
Only Ctrl-C passes: it is known by its signal. A call that takes too long is ended by an alarm where that is asked for.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Generator
from types import FrameType, TracebackType
from typing import Any, Final, Self, TypeVar, final

import numpy as np

from dpverdict.errors import DpverdictError, in_one_line

R = TypeVar("R")


def guarded(
    call: Callable[[], R],
    failure: Callable[[str], DpverdictError],
    *,
    passing: type[BaseException] | tuple[type[BaseException], ...] = (),
) -> R:
    """What ``call`` returns.

    Args:
        call: runs user code.
        failure: makes the error from what the code raised, in one line.
        passing: errors that are left as they are.

    Raises:
        DpverdictError: that of ``failure``, with what was raised as its cause.
        KeyboardInterrupt: the user pressed Ctrl-C.
    """
    with np.errstate(), _Interrupts() as interrupts:  # what the code makes of floating-point errors ends with it
        try:
            return call()
        except passing:
            raise
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and interrupts.seen:
                raise
            raise failure(in_one_line(error)) from error


_ERROR_STATE: Final[dict[str, Any]] = {}
"""How the code under audit wants NumPy to treat floating-point errors: what it last set."""


@contextlib.contextmanager
def own_error_state() -> Generator[None]:
    """NumPy treats floating-point errors as the user's code has set it, here only.

    ``numpy.seterr(all="raise")`` is common in scientific code, and holds for the code that says so, from call to call.
    The arithmetic of the audit keeps its own: an underflow there is no error, and never one of the user's code.
    """
    with np.errstate(**_ERROR_STATE):
        try:
            yield
        finally:
            _ERROR_STATE.update(np.geterr())


def in_own_error_state(call: Callable[[], R]) -> R:
    """What ``call`` returns, see `own_error_state`."""
    with own_error_state():
        return call()


class RanTooLong(BaseException):
    """The limit of a call has passed. No ``Exception``, so that a function does not catch it with its own."""


def alarms_ring_here() -> bool:
    """Whether `limited` has an effect: in the main thread, of a system with interval timers."""
    return threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")


@contextlib.contextmanager
def limited(seconds: float) -> Generator[None]:
    """Python code is ended by an alarm after ``seconds`` on the clock; code outside Python, when it returns.

    Without effect where `alarms_ring_here` says so. A limit around this one counts on.

    Raises:
        RanTooLong: the limit has passed.
    """
    if not alarms_ring_here():
        yield
        return
    armed, begun = True, time.monotonic()

    def ring(number: int, frame: FrameType | None) -> None:
        if armed:
            raise RanTooLong

    former = signal.signal(signal.SIGALRM, ring)
    left, every = signal.setitimer(signal.ITIMER_REAL, seconds, seconds)  # again, for what catches the first one
    try:
        try:
            yield
        finally:
            armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:  # an alarm may have rung before the last lines
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(1e-3, left - (time.monotonic() - begun)), every)


@final
class _Interrupts:
    """Notes whether Ctrl-C was pressed, and hands it on. Only the main thread is ever interrupted by it."""

    def __init__(self) -> None:
        self.seen = False
        self._former: Callable[[int, FrameType | None], Any] | None = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            former = signal.getsignal(signal.SIGINT)
            if callable(former):  # otherwise it is ignored, or ends the process
                self._former = former
                signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._former is not None:
            signal.signal(signal.SIGINT, self._former)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.seen = True
        assert self._former is not None
        self._former(number, frame)
