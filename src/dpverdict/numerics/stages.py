"""The stages of long work by name, told to whoever watches: a command line on a terminal, and by default nobody."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

Watcher = Callable[[str], None]

_watcher: Final[ContextVar[Watcher | None]] = ContextVar("watcher", default=None)


def begin_stage(what: str) -> None:
    """Tell that a stage begins; it lasts until the next one does.

    Args:
        what: a few words, as "certified curves".
    """
    watcher = _watcher.get()
    if watcher is not None:
        watcher(what)


@contextmanager
def watched_by(watcher: Watcher) -> Generator[None]:
    """Tell ``watcher`` every stage that begins inside, in this thread.

    >>> with watched_by(print):
    ...     begin_stage("certified curves")
    certified curves
    """
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)
