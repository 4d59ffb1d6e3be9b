"""Where trials and proofs run: in this process, on several, or on a Dask cluster, through one code path.

An engine maps a function over tasks and gives the results back in the order of the tasks. A task carries the seed of
its own randomness, so the results are the same bits whichever engine ran them, and in whatever order they finished. A
worker that dies costs the tasks it was running: they are handed to another one, at most `ATTEMPTS` times each.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import random
import sys
import sysconfig
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from multiprocessing.connection import wait
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, ClassVar, Final, TypeVar, final

import cloudpickle
import numpy as np

from dpverdict.audit.isolation.imports import folders_beside
from dpverdict.audit.trials.user_code import guarded
from dpverdict.audit.trials.workers import (
    Audit,
    begin_worker,
    carried_out,
    carry_out,
    carry_out_in_subprocess,
    end_processes,
    name_of,
    unpacked,
)
from dpverdict.errors import InvalidValue, MechanismFailure, in_one_line

T = TypeVar("T")
R = TypeVar("R")

ATTEMPTS: Final = 3
"""How often a task is started before its worker's death is held against the task."""

GRACE: Final = 10.0
"""Seconds that workers have to end by themselves when the work is done."""

BETWEEN_LOOKS: Final = 5.0
"""Seconds of waiting for a Dask worker between two looks at whether there is one."""

PATIENCE: Final = 60.0
"""Seconds for which a Dask cluster may have no worker at all."""

IN_FLIGHT: Final = 4
"""Tasks handed out per worker and not yet taken back: enough to keep it busy, few enough to bound the memory."""


class Engine(ABC):
    """Maps a function over tasks; see the module."""

    copies: ClassVar[bool] = True
    """Whether tasks run on copies of the function, each with a copy of whatever state it keeps."""

    @abstractmethod
    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """``function(task)`` of every task, in the order of the tasks, each given as soon as it is known.

        Raises:
            MechanismFailure: a task ended its worker `ATTEMPTS` times.
            MechanismFailure: ``function`` was ended by something that is no exception, such as ``sys.exit``.
            Exception: whatever ``function`` raises, at its place in the order.
        """


@final
class ThisProcess(Engine):
    """One task after the other, where the caller is."""

    copies = False

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        for task in tasks:
            yield carried_out(function, task)


@final
@dataclass(frozen=True, slots=True)
class _Started:
    """A task on its way: its bytes, what will hold its result, who runs it, and which attempt this is."""

    task: bytes
    future: Future[Any]
    executor: Executor
    attempt: int


class _Remote(Engine):
    """Tasks run by workers that share nothing with this process: functions and tasks travel as bytes."""

    @abstractmethod
    def _executor(self) -> Executor:
        """Workers that are alive."""

    @abstractmethod
    def workers_alive(self) -> int:
        """How many tasks can run at once."""

    @abstractmethod
    def _renew(self, broken: Executor) -> None:
        """Replace workers that have died, where nobody else does; those of a newer executor are left alone."""

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        payload = _packed_function(function)
        most = IN_FLIGHT * self.workers_alive()
        waiting = iter(tasks)
        running: deque[_Started] = deque()
        try:
            while True:
                for task in islice(waiting, most - len(running)):
                    running.append(self._start(payload, cloudpickle.dumps(task), 1))
                if not running:
                    return
                first = running.popleft()
                try:
                    result: R = self._result(self._awaited(first.future))
                except Exception as error:
                    if not _worker_died(error):
                        raise
                    if first.attempt == ATTEMPTS:
                        remedy = "look at its memory, and at what it calls outside Python"
                        problem = f"ended its worker {ATTEMPTS} times"
                        raise MechanismFailure(name_of(function), problem, remedy) from error
                    self._renew(first.executor)
                    running.appendleft(self._start(payload, first.task, first.attempt + 1))
                    continue
                yield result
        finally:
            for started in running:
                started.future.cancel()

    def _submit(self, executor: Executor, payload: bytes, task: bytes) -> Future[Any]:
        """Have a worker carry out a task."""
        return executor.submit(carry_out, payload, task)

    def _awaited(self, future: Future[Any]) -> Any:
        """What a worker sends, waited for as long as there may be one."""
        return future.result()

    def _result(self, found: Any) -> Any:
        """What a worker gave back."""
        return found

    def _start(self, payload: bytes, task: bytes, attempt: int) -> _Started:
        for _ in range(ATTEMPTS):
            executor = self._executor()
            try:
                return _Started(task, self._submit(executor, payload, task), executor, attempt)
            except BrokenExecutor:  # it broke while nobody waited for it
                self._renew(executor)
        raise MechanismFailure("", "cannot be run: new workers end at once", "run it with --jobs 1")


@final
class Processes(_Remote):
    """Worker processes on this machine.

    Args:
        workers: how many.

    Raises:
        InvalidValue: fewer than one.
    """

    def __init__(self, workers: int) -> None:
        if workers < 1:
            raise InvalidValue("jobs", workers, "a whole number >= 1", "give the number of processes")
        self.workers: Final = workers
        self._pool: ProcessPoolExecutor | None = None

    def _executor(self) -> ProcessPoolExecutor:
        if self._pool is None:  # a fresh interpreter each: a fork of a process with threads can hang
            self._pool = ProcessPoolExecutor(
                self.workers,
                mp_context=_WithoutMain(),
                initializer=begin_worker,
                initargs=(folders_beside(),),
            )
            # All workers begin with the first task: where one begins while another dies, the thread of the pool that
            # ends the others can fail (RuntimeError: dictionary changed size during iteration).
            vars(self._pool)["_safe_to_dynamically_spawn_children"] = False  # Python has no public name for it
        return self._pool

    def workers_alive(self) -> int:
        """The number of processes."""
        return self.workers

    def _renew(self, broken: Executor) -> None:
        if self._pool is broken:
            broken.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    def close(self) -> None:
        """End the worker processes; those that the code under audit keeps from ending are killed."""
        if self._pool is not None:
            workers = self._pool._processes or {}  # pyright: ignore[reportPrivateUsage]  # nothing else names them
            left, deadline = {worker.sentinel: worker for worker in workers.values()}, time.monotonic() + GRACE
            self._pool.shutdown(wait=False, cancel_futures=True)
            while left and (seconds := deadline - time.monotonic()) > 0:
                for ended in wait(list(left), seconds):
                    del left[ended]  # type: ignore[arg-type]  # what was waited for
            for worker in left.values():
                worker.kill()
            self._pool = None


class _Worker(SpawnProcess):
    """A worker that does not run the user's script again, so that the script needs no guard around its calls.

    What is in the script travels by value, see `_packed_function`.
    """

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # the name that multiprocessing calls
        script, path = sys.modules["__main__"], sys.path
        sys.modules["__main__"] = ModuleType("__main__")
        # An editable installation may be found after every folder of the path: `begin_worker` adds the user's, when
        # this package is loaded.
        sys.path = [entry for entry in path if entry not in folders_beside()]
        try:
            return SpawnProcess._Popen(process_obj)
        finally:
            sys.modules["__main__"], sys.path = script, path


class _WithoutMain(SpawnContext):
    """Fresh interpreters that begin without the user's script."""

    Process = _Worker


@final
class DaskCluster(_Remote):
    """The workers of an existing Dask cluster.

    Whoever can reach its scheduler can run code on its workers, and the workers are sent code to run: use a cluster
    that you trust, on a network that you trust.

    Args:
        address: of the scheduler, such as ``tcp://10.0.0.5:8786``.
        audit: whose code runs in processes of its own on the workers; None for code that is not the user's.

    Raises:
        InvalidValue: Dask is not installed, or nobody answers at the address.
    """

    def __init__(self, address: str, audit: Audit | None = None) -> None:
        self._audit = audit
        try:
            distributed = importlib.import_module("distributed")
        except ModuleNotFoundError:
            remedy = "pip install distributed"
            raise InvalidValue("dask", address, "used where Dask is installed", remedy) from None
        try:
            self._client: Any = distributed.Client(address, timeout="10s", set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            problem = in_one_line(error)
            remedy = f"give the address that the scheduler prints, such as tcp://127.0.0.1:8786 ({problem})"
            raise InvalidValue("dask", address, "the address of a Dask scheduler that answers", remedy) from None
        self.address: Final = address
        self._pool: Executor = self._client.get_executor(pure=False)

    def _executor(self) -> Executor:
        return self._pool

    def workers_alive(self) -> int:
        """The threads of all workers that the scheduler knows, at least 1."""
        return max(1, sum(int(threads) for threads in self._asked(self._client.nthreads).values()))

    def _renew(self, broken: Executor) -> None:
        """The scheduler hands the tasks of a dead worker to another one by itself."""

    def _submit(self, executor: Executor, payload: bytes, task: bytes) -> Future[Any]:
        audit = self._audit
        if audit is None:
            return self._asked(lambda: executor.submit(carry_out, payload, task))
        return self._asked(lambda: executor.submit(carry_out_in_subprocess, audit, payload, task))

    def _awaited(self, future: Future[Any]) -> Any:
        """Dask waits for ever for a worker that may still come, and says of a scheduler that is gone what it can."""
        alone = 0.0
        while True:
            with contextlib.suppress(TimeoutError):
                try:
                    return future.result(BETWEEN_LOOKS)
                except CancelledError:  # of everything, by a client that has lost its scheduler
                    raise self._gone() from None
            if future.done():  # what it raised was a time-out of its own
                return future.result()
            alone = 0.0 if self._asked(self._client.nthreads) else alone + BETWEEN_LOOKS
            if alone >= PATIENCE:
                remedy = f"start workers, then run it again: there has been none for {PATIENCE:g} s"
                raise InvalidValue("dask", self.address, "the address of a scheduler with workers", remedy)

    def _asked(self, call: Callable[[], T]) -> T:
        """What the scheduler answers, if it still does."""
        try:
            return call()
        except Exception as error:
            if isinstance(error, OSError) or self._client.status != "running":
                raise self._gone() from None
            raise

    def _gone(self) -> InvalidValue:
        remedy = "start it again, then run the same command: it was lost during the audit"
        return InvalidValue("dask", self.address, "the address of a Dask scheduler that answers", remedy)

    def _result(self, found: Any) -> Any:
        return found if self._audit is None else unpacked(found)

    def close(self) -> None:
        """Leave the cluster; it goes on, without the processes of the audit."""
        if self._audit is not None:
            with contextlib.suppress(Exception):  # a cluster that is gone has none
                self._client.run(end_processes, self._audit.token)
        self._client.close()


_CURRENT: ContextVar[Engine | None] = ContextVar("engine", default=None)


def current_engine() -> Engine:
    """The engine of the innermost `running_on`; outside of all, this process."""
    return _CURRENT.get() or ThisProcess()


@contextlib.contextmanager
def running_on(engine: Engine) -> Generator[Engine]:
    """Run the trials of every audit inside on ``engine``; the results do not depend on it."""
    token = _CURRENT.set(engine)
    try:
        yield engine
    finally:
        _CURRENT.reset(token)


@contextlib.contextmanager
def chosen_engine(*, jobs: int | None = None, dask: str | None = None, audit: Audit | None = None) -> Generator[Engine]:
    """The engine that two options of the command line name, closed at the end.

    Args:
        jobs: number of processes; 1 or None for this one.
        dask: address of a scheduler.
        audit: see `DaskCluster`.

    Raises:
        InvalidValue: both are given, or one that cannot be used.
    """
    if dask is not None and jobs is not None:
        raise InvalidValue("jobs", jobs, "left out with --dask", "the cluster says how many workers there are")
    if dask is None and jobs in (None, 1):
        with running_on(ThisProcess()) as engine:
            yield engine
        return
    remote = DaskCluster(dask, audit) if dask is not None else Processes(1 if jobs is None else jobs)
    try:
        with running_on(remote) as engine:
            yield engine
    finally:
        remote.close()


GENERATORS: Final = (np.random.Generator, np.random.BitGenerator, np.random.RandomState, random.Random)


def holds_generator(value: object) -> bool:
    """Whether a function, or anything it holds, refers to a generator of random numbers that outlives a call.

    A copy of such a function draws the same numbers as the original. Functions that travel by name are looked into
    only as far as the names that they use themselves.
    """
    finder = _Finder(io.BytesIO())
    with _by_value(), contextlib.suppress(Exception):  # what cannot be sent is told when it is sent
        guarded(lambda: finder.dump(value), lambda said: InvalidValue("mechanism", said, "sent", "run it here"))
    return finder.found


class _Finder(cloudpickle.Pickler):  # type: ignore[misc]  # cloudpickle is untyped
    """Looks at every object that would be sent."""

    found = False

    def persistent_id(self, value: object) -> None:
        """Called with every object on the way; every one is then sent by what it is made of."""
        held = [value]
        if isinstance(value, FunctionType):
            held += [value.__globals__.get(name) for name in names_used(value.__code__)]
        self.found = self.found or any(isinstance(one, GENERATORS) for one in held)


def names_used(code: CodeType) -> Iterator[str]:
    """The names of globals and of attributes in a function's code, inner functions included."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from names_used(inner)


@contextlib.contextmanager
def _by_value() -> Generator[None]:
    """Code that a worker cannot import travels with the functions that are packed inside."""
    mine = [module for module in list(sys.modules.values()) if _is_loose_file(module)]
    for module in mine:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in mine:
            cloudpickle.unregister_pickle_by_value(module)


def _packed_function(value: object) -> bytes:
    """The bytes of a function with all it holds."""

    def failure(said: str) -> InvalidValue:
        requirement = "something that can be sent to another process"
        return InvalidValue("mechanism", value, requirement, f"run it with --jobs 1 ({said})")

    with _by_value():
        packed: bytes = guarded(lambda: cloudpickle.dumps(value), failure)
    return packed


def _is_loose_file(module: ModuleType) -> bool:
    """Whether a module is a loose file of the user, which another process need not find."""
    file = getattr(module, "__file__", None)
    if not file or module.__name__ == "__main__" or is_installed(module):
        return False
    return os.path.realpath(str(file)).endswith(".py")


def is_installed(module: ModuleType | None) -> bool:
    """Whether a module belongs to this package, an installed one or the interpreter: its version tells its code."""
    if module is None or module.__name__ == "__main__":
        return False
    file = getattr(module, "__file__", None)
    if not file:
        return module.__name__.partition(".")[0] in sys.builtin_module_names
    inside = os.path.realpath(file).startswith(_installed_folders())
    return inside or module.__name__.partition(".")[0] == "dpverdict"


@lru_cache(maxsize=1)
def _installed_folders() -> tuple[str, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = {os.path.realpath(sysconfig.get_path(name)) for name in names}
    folders |= {str(Path(os.path.realpath(entry))) for entry in sys.path if entry.endswith("site-packages")}
    return tuple(sorted(folders))


def _worker_died(error: Exception) -> bool:
    """Whether an error is the death of a worker, and not something the function raised."""
    return isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker"
