"""The other side of `process`: the guard and the runner. Started as a script by its path, in a fresh interpreter.

Nothing but the standard library is imported before the guard has forked the runner, so the guard stays small, has no
threads, and no module of this package or of the user's is in it.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import selectors
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final

POLL: Final = 0.05
"""Seconds between two looks at whether a process is still there."""

_ON_PURPOSE: Final = "dpverdict.audit.isolation.child"
"""The module whose copies of a runner are made by this package."""

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36


class readable:
    """Whether a pipe can be read without waiting longer than so many seconds; on Windows the read itself waits."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._selector = selectors.DefaultSelector()

    def __enter__(self) -> Callable[[float], bool]:
        if sys.platform == "win32":
            return lambda seconds: True
        self._selector.register(self._handle, selectors.EVENT_READ)
        return lambda seconds: bool(self._selector.select(seconds))

    def __exit__(self, *_: object) -> None:
        self._selector.close()


def framed(nonce: bytes, payload: bytes) -> bytes:
    """A message: 8 bytes of length, 32 of digest, and the text."""
    return len(payload).to_bytes(8, "big") + digest(nonce, payload) + payload


def digest(
    nonce: bytes, payload: bytes, made: Callable[..., bytes] = hmac.digest, kind: object = hashlib.sha256
) -> bytes:
    """What a frame carries beside its text; made by the functions that were there before any of the user's code."""
    return made(nonce, payload, kind)


def serve() -> None:
    """Read a request, let a runner work on it, and end with everything that the runner started."""
    whole = json.loads(_line(0))
    if not hasattr(os, "fork"):
        _run(whole)
    _call_prctl(_PR_SET_CHILD_SUBREAPER, 1)  # what the runner's children leave behind becomes a child of the guard
    guard = os.getpid()
    runner = os.fork()
    if runner == 0:
        die_with_parent(guard)
        _run(whole)
    for handle in (1, 2):  # only the runner speaks
        os.dup2(os.open(os.devnull, os.O_WRONLY), handle)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    status = _wait_for_runner(runner)
    _end_descendants(guard)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
        with contextlib.suppress(ImportError, OSError, ValueError):
            import resource

            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.kill(guard, number)
    os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1)


def _line(handle: int) -> bytes:
    """One line, and nothing of what follows."""
    found = bytearray()
    while not found.endswith(b"\n"):
        part = os.read(handle, 1)
        if not part:
            os._exit(1)  # nobody asks any more
        found += part
    return bytes(found)


def _wait_for_runner(runner: int) -> int:
    """The wait status of the runner, which is ended as soon as nobody holds the other end of standard input."""
    import select

    left = select.poll()
    left.register(0, 0)  # the end alone: what is written there is for the runner
    while True:
        ended, status = os.waitpid(runner, os.WNOHANG)
        if ended:
            return status
        if left.poll(1000 * POLL):
            with contextlib.suppress(OSError):
                os.kill(runner, signal.SIGKILL)
            return os.waitpid(runner, 0)[1]


def _end_descendants(guard: int) -> None:
    """End every process that descends from the guard; those that have left its group are found on Linux only."""
    for _ in range(100):  # what is killed may have started another meanwhile
        found = _children(guard)
        if not found:
            break
        for one in found:
            with contextlib.suppress(OSError):
                os.kill(one, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.005)


def _children(root: int) -> list[int]:
    """The descendants of a process that have not ended, from /proc; none where there is no /proc."""
    parents: dict[int, int] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError, ValueError, IndexError):
                    state, parent = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[:2]
                    if state != "Z" or int(parent) != root:
                        parents[int(name)] = int(parent)
    found, frontier = list[int](), {root}
    while frontier:
        frontier = {one for one, parent in parents.items() if parent in frontier}
        found += sorted(frontier)
    return found


# ---- the runner ----


def _run(whole: Mapping[str, Any]) -> None:
    """Do the work and tell the result; never returns."""
    channel, inbox = os.dup(1), os.dup(0)  # not inherited by what the user's code starts
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    nonce, own = bytes.fromhex(whole["nonce"]), os.getpid()
    _limit_memory(whole["memory"])
    lock = threading.Lock()
    dumps, write, number, end = json.dumps, os.write, os.getpid, os._exit  # before any of the user's code is there

    def tell(kind: str, content: object) -> None:
        if number() != own:  # a copy that the user's code forked
            end(0)
        frame = memoryview(framed(nonce, dumps([kind, content]).encode()))
        with lock:
            while frame:
                frame = frame[write(channel, frame) :]

    sys.path[:] = whole["path"]
    end_forked_copies()
    try:
        import importlib

        module, _, name = str(whole["entry"]).partition(":")
        work = getattr(importlib.import_module(module), name)
        asking = [partial(_next_message, inbox, nonce)] if whole["asks"] else []
        tell("result", work(whole["request"], partial(tell, "told"), *asking))
    except BaseException:  # the entry catches what the user's code raises: this is a fault of this program
        import traceback

        with contextlib.suppress(BaseException):
            traceback.print_exc()
            sys.stderr.flush()
        end(70)
    end(0)  # no thread and no handler of the user's code runs any more


def _next_message(inbox: int, nonce: bytes, seconds: float) -> object:
    """The next message; None if there is none in that time, or nobody asks any more."""
    with readable(inbox) as ready:
        if not ready(seconds):
            return None
    head = _read_exactly(inbox, 40)
    payload = _read_exactly(inbox, int.from_bytes(head[:8], "big"))
    return json.loads(payload) if head and hmac.compare_digest(digest(nonce, payload), head[8:]) else None


def _read_exactly(handle: int, size: int) -> bytes:
    """So many bytes; none at the end."""
    found = bytearray()
    while len(found) < size:
        part = os.read(handle, size - len(found))
        if not part:
            return b""
        found += part
    return bytes(found)


def _limit_memory(memory: int | None) -> None:
    with contextlib.suppress(OSError):  # where memory runs out, the kernel ends this process first
        Path("/proc/self/oom_score_adj").write_text("1000")
    if memory is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


def die_with_parent(parent: int) -> None:
    """Ask the kernel, where it can be asked, to end this process when its parent ends."""
    _call_prctl(_PR_SET_PDEATHSIG, signal.SIGKILL if hasattr(signal, "SIGKILL") else 9)
    if hasattr(os, "getppid") and os.getppid() != parent:
        os._exit(1)


def _call_prctl(option: int, value: int) -> None:
    if sys.platform.startswith("linux"):
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def end_forked_copies() -> None:
    """End a copy of this process, forked by the user's code, when it comes back from there into this package.

    It would do the whole audit a second time, and the next call of the mechanism would fork both. A copy that stays
    within the user's code, as one of multiprocessing does, goes on.
    """
    if not hasattr(os, "register_at_fork"):
        return

    def in_the_copy() -> None:
        frames, frame = set[FrameType](), sys._getframe()  # pyright: ignore[reportPrivateUsage]  # the stack has no other name
        above: FrameType | None = frame.f_back
        if above is not None and above.f_globals.get("__name__") == _ON_PURPOSE:
            return
        while above is not None:
            if _is_ours(above):
                frames.add(above)
            above = above.f_back

        def watch(at: FrameType, event: str, argument: object) -> None:
            if at in frames or (event == "call" and at.f_back in frames):
                os._exit(0)

        if frames:
            sys.setprofile(watch)

    os.register_at_fork(after_in_child=in_the_copy)


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] == "dpverdict"


if __name__ == "__main__":
    serve()
