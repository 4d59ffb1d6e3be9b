"""A process of its own for the user's code: a fresh interpreter with limits, and one private channel back.

    this process --request--> guard --fork--> runner --frames--> this process

The guard runs nothing but this file. It waits for the runner, and for the end of its standard input, which this process
holds open: when that closes, because the work is done or because this process died in any way, the guard ends the
runner and everything the runner started. So nothing outlives this process, and one interrupt is enough.

The runner does the work. Its standard output and error go to a pipe of which only the end is kept; what it has to say
goes to a descriptor of its own as frames, each with a digest keyed by a nonce of the request. Code that prints, closes
descriptors or forks does not write a frame by accident, and a frame is data: JSON, read as JSON.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO, Final, Self, final

from dpverdict.audit.isolation import guard
from dpverdict.balls import exactly
from dpverdict.errors import InvalidValue, MechanismFailure

LEAST_MEMORY: Final = 2**28
"""An interpreter with NumPy, SciPy and this package needs about this many bytes."""

LARGEST_FRAME: Final = 2**30
KEPT_PRINTS: Final = 4096
"""Of what the runner prints, the last bytes are kept: the last line is shown if it does not finish."""

_UNITS: Final = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_GRACE: Final = 10.0
"""Seconds for the guard to end everything before it is ended itself."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one piece of work may take; None for no limit.

    Attributes:
        seconds: of time on the clock.
        memory: bytes of each of its processes.
    """

    seconds: float | None = None
    memory: int | None = None

    def __bool__(self) -> bool:
        return self.seconds is not None or self.memory is not None

    def merge(self, others: Limits) -> Limits:
        """These, and others where there is none."""
        return Limits(
            seconds=others.seconds if self.seconds is None else self.seconds,
            memory=others.memory if self.memory is None else self.memory,
        )


NO_LIMITS: Final = Limits()


def parse_limits(seconds: str | None, memory: str | None) -> Limits:
    """The limits that two options name.

    Raises:
        InvalidValue: a time that is not positive, a size that is none, too small for anything, or cannot be kept here.
    """
    return Limits(
        seconds=None if seconds is None else _seconds(seconds), memory=None if memory is None else parse_size(memory)
    )


def _seconds(text: str) -> float:
    number = exactly(text, name="timeout")
    if not 0 < number <= 10**9:
        raise InvalidValue("timeout", text, "a number of seconds in (0, 1e9]", "give for example 600")
    return float(number)


def parse_size(text: str) -> int:
    """A number of bytes: ``2G``, ``512M``, ``3e9``; the units are powers of 1024.

    Raises:
        InvalidValue: not a size, less than an interpreter needs, or on a system that does not keep such a limit.

    >>> parse_size("2G"), parse_size("1.5 GiB")
    (2147483648, 1610612736)
    """
    plain = text.strip().upper().removesuffix("B").removesuffix("I")
    unit = plain[-1:] if plain[-1:] in _UNITS else ""
    try:
        number = exactly(plain.removesuffix(unit).strip(), name="memory") * _UNITS[unit]
    except InvalidValue:
        raise InvalidValue("memory", text, "a size in bytes", "give for example 2G or 512M") from None
    if not LEAST_MEMORY <= number <= 2**62:
        requirement = f"at least {size_text(LEAST_MEMORY)}: an interpreter with NumPy and SciPy takes that much"
        raise InvalidValue("memory", text, requirement, "give for example 2G")
    if not sys.platform.startswith("linux"):
        raise InvalidValue("memory", text, "left out here", "a limit of memory is kept on Linux only; use --timeout")
    return int(number)


def size_text(size: int) -> str:
    """A number of bytes as `parse_size` reads it.

    >>> size_text(2**31), size_text(1000)
    ('2G', '1000')
    """
    for unit in ("T", "G", "M", "K"):
        if size % _UNITS[unit] == 0:
            return f"{size // _UNITS[unit]}{unit}"
    return str(size)


def run_isolated(
    entry: str,
    request: Mapping[str, object],
    *,
    what: str,
    limits: Limits,
    told: Callable[[object], None] | None = None,
) -> object:
    """What ``entry`` gives for ``request``, from a process of its own.

    Args:
        entry: ``module:function`` of this package: called as function(request, tell) in the runner, gives JSON values.
        request: JSON values.
        what: how a message calls the work: the name of the mechanism.
        limits: of time and memory.
        told: called with what the runner tells before it is done.

    Raises:
        MechanismFailure: it did not finish: it took too long, ended its process, or said something that is no answer.
    """
    with Isolated(entry, request, what=what, limits=limits) as runner:
        while True:
            kind, content = runner.hear()
            if kind == "result":
                return content
            if told is not None:
                told(content)


@final
class Isolated:
    """A process of its own that works, and may be asked again and again. What it started ends with it.

    Args:
        entry: see `run_isolated`; with ``asks`` it is called as function(request, tell, ask), and ask(seconds) gives
            the next message of `say`, or None if there is none in that time.
        request: JSON values.
        what: how a message calls the work.
        limits: of time, for all of it, and memory.
        asks: whether anything is said to it later.
    """

    limits: Limits

    def __init__(
        self, entry: str, request: Mapping[str, object], *, what: str, limits: Limits, asks: bool = False
    ) -> None:
        self._what, self.limits, self._nonce = what, limits, secrets.token_bytes(32)
        self._deadline = None if limits.seconds is None else time.monotonic() + limits.seconds
        self._process: Final = subprocess.Popen(
            [sys.executable, *_interpreter_flags(), guard.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # an interrupt at the terminal is for this process, which then ends the others
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._prints = _Tail(self._process.stderr)
        self._frames = _Frames(self._process.stdout.fileno(), self._nonce)
        whole = {
            "request": dict(request),
            "entry": entry,
            "asks": asks,
            "nonce": self._nonce.hex(),
            "memory": limits.memory,
            "path": _path(),
        }
        self._write(json.dumps(whole).encode() + b"\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def say(self, message: object) -> None:
        """Give a message, of JSON values, to a process that asks."""
        self._write(guard.framed(self._nonce, json.dumps(message).encode()))

    def hear(self) -> tuple[str, object]:
        """What it says next: "told" and what, or "result" and the result.

        Raises:
            MechanismFailure: nothing more, or something that is no answer.
        """
        frame = self._frames.next(self._process, self._deadline)
        if frame is None:
            raise _failure_of_unfinished(self._process, self._prints, self._what, self.limits, self._deadline)
        return frame

    def end(self) -> None:
        """End it and everything that it started."""
        _end_process(self._process)
        self._prints.close()

    def _write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it ended already: that shows when it is heard
            self._process.stdin.write(data)
            self._process.stdin.flush()


def _interpreter_flags() -> list[str]:
    """Those of this interpreter, as multiprocessing passes them on, and none of the folder it is started in."""
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return [*flags, "-P"]


def _path() -> list[str]:
    """Where modules are searched, without the current folder: its files must not stand in for installed ones."""
    here = os.path.realpath(os.getcwd())

    def kept(entry: str) -> bool:
        return bool(entry) and (os.path.realpath(entry) != here or os.path.isdir(os.path.join(entry, "dpverdict")))

    return [os.path.abspath(entry) for entry in sys.path if kept(entry)]


def _failure_of_unfinished(
    process: subprocess.Popen[bytes], prints: _Tail, what: str, limits: Limits, deadline: float | None
) -> MechanismFailure:
    if deadline is not None and time.monotonic() >= deadline and process.poll() is None:
        problem = f"did not finish within {limits.seconds:g} seconds and was stopped"
        return MechanismFailure(what, problem, "give --timeout more seconds, or --samples less; look for what it waits")
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE)
    code = process.returncode
    problem = "ended its process before the audit was finished"
    if code is not None and code < 0:
        problem += f" by signal {_signal_name(-code)}"
    elif code is not None:
        problem += f" with exit code {code}"
    last = prints.last_line()
    remedy = "look at what it calls outside Python, and at its memory" + (f"; it printed last: {last}" if last else "")
    if limits.memory is not None:
        remedy += f"; it had {size_text(limits.memory)}, see --memory"
    return MechanismFailure(what, problem, remedy)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _end_process(process: subprocess.Popen[bytes]) -> None:
    """Let the guard end everything; if it cannot, end what is left of its group."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
    if hasattr(os, "killpg"):
        with contextlib.suppress(OSError):  # nobody is left, as it should be
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()


@final
class _Tail:
    """Reads what a process prints, and keeps the end of it."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe, self._kept = pipe, b""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while chunk := os.read(self._pipe.fileno(), 2**16):
                self._kept = (self._kept + chunk)[-KEPT_PRINTS:]

    def last_line(self) -> str:
        """The last line that is not empty, on one line of printable characters."""
        self._thread.join(1.0)
        lines = [line for line in self._kept.decode("utf-8", "replace").splitlines() if line.strip()]
        return "".join(c if c.isprintable() else " " for c in lines[-1])[:200].strip() if lines else ""

    def close(self) -> None:
        """Wait for the end of the pipe; a process that escaped may still hold it, and then nobody reads it."""
        self._thread.join(1.0)
        if not self._thread.is_alive():
            self._pipe.close()


@final
class _Frames:
    """The frames of a runner: 8 bytes of length, 32 of digest, and JSON text with the kind and the content."""

    def __init__(self, handle: int, nonce: bytes) -> None:
        self._handle, self._nonce, self._held = handle, nonce, b""
        self._parts: list[bytes] = []

    def next(self, process: subprocess.Popen[bytes], deadline: float | None) -> tuple[str, object] | None:
        """The next frame; None when there is none to come, when the time is over, or when it is damaged."""
        head = self._take(40, process, deadline)
        if head is None:
            return None
        length = int.from_bytes(head[:8], "big")
        payload = self._take(length, process, deadline) if length <= LARGEST_FRAME else None
        if payload is None or not hmac.compare_digest(guard.digest(self._nonce, payload), head[8:]):
            return None
        try:
            kind, content = json.loads(payload)
        except ValueError:
            return None
        return str(kind), content

    def _take(self, size: int, process: subprocess.Popen[bytes], deadline: float | None) -> bytes | None:
        with guard.readable(self._handle) as ready:
            while len(self._held) < size:
                ended = process.poll() is not None
                if deadline is not None and time.monotonic() >= deadline:
                    return None
                if not ready(0.0 if ended else guard.POLL):
                    if ended:  # whoever still holds the pipe is not the runner
                        return None
                    continue
                chunk = os.read(self._handle, 2**20)
                if not chunk:
                    return None
                self._held += chunk
        taken, self._held = self._held[:size], self._held[size:]
        return taken
