"""The stages of long work by name, told to whoever watches: a terminal, a notebook, and otherwise nobody."""

from __future__ import annotations

import contextvars
import functools
import importlib
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape
from typing import Any, Final, ParamSpec, TypeVar, final

Watcher = Callable[[str], None]
Counter = Callable[[int, int], None]
Parameters = ParamSpec("Parameters")
R = TypeVar("R")

_watcher: Final[ContextVar[Watcher | None]] = ContextVar("watcher", default=None)
_counter: Final[ContextVar[Counter | None]] = ContextVar("counter", default=None)


def begin_stage(what: str) -> None:
    """Tell that a stage begins; it lasts until the next one does.

    Args:
        what: a few words, as "certified curves".
    """
    watcher = _watcher.get()
    if watcher is not None:
        watcher(what)


def tell_progress(done: int, total: int) -> None:
    """Tell how much of the stage is done, and how much there is to do, to a notebook or a terminal that watches."""
    counter = _counter.get()
    if counter is not None:
        counter(done, total)


@contextmanager
def watched_by(watcher: Watcher, counter: Counter | None = None) -> Generator[None]:
    """Tell ``watcher`` every stage that begins inside, in this thread, and ``counter`` how much of it is done.

    >>> with watched_by(print, print):
    ...     begin_stage("certified curves")
    ...     tell_progress(1, 3)
    certified curves
    1 3
    """
    tokens = _watcher.set(watcher), _counter.set(counter)
    try:
        yield
    finally:
        _watcher.reset(tokens[0])
        _counter.reset(tokens[1])


# notebooks ------------------------------------------------------------------------------------------------------------

PATIENCE: Final = 0.5
"""Seconds before anything is shown: what is done by then needs no bar."""
_EVERY: Final = 0.2
"""Seconds between two pictures of the bar."""
_TICK: Final = 1.0
"""Seconds after which the bar is drawn again though nothing was told, as of work that has no stages."""


def shown_in_a_notebook(what: str) -> Callable[[Callable[Parameters, R]], Callable[Parameters, R]]:
    """A function whose work, where it is called from a notebook and nobody else watches, shows a bar while it lasts.

    Args:
        what: is done, in a few words, until a stage begins.
    """

    def of(function: Callable[Parameters, R]) -> Callable[Parameters, R]:
        @functools.wraps(function)
        def wrapped(*arguments: Parameters.args, **named: Parameters.kwargs) -> R:
            if _watcher.get() is not None or not in_a_notebook():
                return function(*arguments, **named)
            bar = NotebookBar(what)
            try:
                with watched_by(bar.begin, bar.count):
                    return function(*arguments, **named)
            finally:
                bar.remove()

        return wrapped

    return of


def in_a_notebook() -> bool:
    """Whether this process is the kernel of a notebook, which shows what is displayed."""
    interactive = sys.modules.get("IPython")
    shell = None if interactive is None else interactive.get_ipython()
    return getattr(shell, "kernel", None) is not None


def say_in_a_notebook(words: str) -> None:
    """A line below the cell that runs."""
    shown = _display()
    shown.display(shown.HTML(f"<div>{escape(words)}</div>"))


def _display() -> Any:
    """The module of the kernel that runs this; it is no dependency of this package."""
    return importlib.import_module("IPython.display")


@final
class NotebookBar:
    """A line below the cell that runs: what is done, how much of it, and for how long; it goes when the work ends."""

    def __init__(self, what: str) -> None:
        self._what, self._done = what, (0, 0)
        self._begun = self._drawn = time.monotonic()
        self._handle: Any = None  # of IPython, which says no types
        self._drawing, self._ended = threading.Lock(), threading.Event()
        # in a copy of the context, in which a kernel keeps the cell that its output belongs to
        ticks = threading.Thread(target=contextvars.copy_context().run, args=(self._tick,), daemon=True)
        ticks.start()

    def _tick(self) -> None:
        while not self._ended.wait(_TICK):
            self._draw()

    def begin(self, what: str) -> None:
        """A stage begins."""
        self._what, self._done = what, (0, 0)
        self._draw()

    def count(self, done: int, total: int) -> None:
        """So much of the stage is done."""
        self._done = done, total
        self._draw()

    def remove(self) -> None:
        """The work has ended."""
        with self._drawing:
            self._ended.set()
            if self._handle is not None:
                self._show("")

    def _draw(self) -> None:
        with self._drawing:
            now = time.monotonic()
            early = now - self._begun < PATIENCE or (self._handle is not None and now - self._drawn < _EVERY)
            if early or self._ended.is_set():
                return
            self._drawn = now
            done, total = self._done
            bar = f'<progress value="{done}" max="{total}"></progress> {100 * done // total} % ' if total else ""
            self._show(f"<div>{bar}{escape(self._what)}, {now - self._begun:.0f} s</div>")

    def _show(self, markup: str) -> None:
        shown = _display()
        if self._handle is None:
            self._handle = shown.display(shown.HTML(markup), display_id=True)
        else:
            self._handle.update(shown.HTML(markup))
