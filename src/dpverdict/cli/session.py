"""What a command does around its work: output files, the engine of the trials, progress, a reader who leaves."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from dpverdict.errors import InvalidValue


def output_files(paths: dict[str, Path | None]) -> dict[str, Path]:
    """The files to write, each checked before the work begins."""
    from dpverdict.audit.trials.words import output_file

    files: dict[str, Path] = {}
    for name, path in paths.items():
        if path is None:
            continue
        files[name] = output_file(path, name)
        if os.path.realpath(path) in [os.path.realpath(files[other]) for other in files if other != name]:
            raise InvalidValue(name, str(path), "a file of its own", "give every output another file name")
    return files


@contextmanager
def engine_of_options(jobs: str | None, dask: str | None) -> Generator[None]:
    """Run the trials where the options say."""
    from dpverdict.audit.trials.engines import chosen_engine
    from dpverdict.numerics.text import whole_number

    with chosen_engine(jobs=None if jobs is None else whole_number(jobs, "jobs", at_least=1), dask=dask):
        yield


@contextmanager
def progress_bar() -> Generator[Callable[[str, int, int], None] | None]:
    """A bar on standard error while it is a terminal; None otherwise."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        tasks = {}

        def update(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=total)
            progress.update(tasks[what], completed=done, total=total)

        yield update


@contextmanager
def reader_may_leave() -> Generator[None]:
    """Let the reader of a pipe close it early, as ``| head`` does: the exit code still tells the verdict."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich turns the first into the second
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
