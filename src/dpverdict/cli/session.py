"""What a command does around its work: output files, the engine of the trials, progress, and how it ends.

A command returns `CommandResult`, which alone becomes an exit code that says a verdict. The user's code runs within
a command, and may raise anything; that it ended the program is no verdict.
"""

from __future__ import annotations

import functools
import logging
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, NoReturn, ParamSpec, Self, final

import typer

from dpverdict.errors import DpverdictError, InvalidValue, printable
from dpverdict.numerics.stages import begin_stage, watched_by

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

Parameters = ParamSpec("Parameters")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """How a command ended: it did its work, wrote what it was asked for, and this is what it found.

    Attributes:
        code: 0, 1 or 3, see the help of each command.
    """

    code: int


class CommandInterrupted(BaseException):
    """Ctrl-C ended a command. Its cause holds what the command had found: typer drops that of a KeyboardInterrupt."""


class UserCodeExited(DpverdictError):
    """Code that is not of this package ended the run, with `SystemExit` or another exception that is no error."""


def exit_with(command: Callable[Parameters, CommandResult]) -> Callable[Parameters, NoReturn]:
    """The command, which ends the program with the code that it returns; no exception of others does."""

    @functools.wraps(command)
    def wrapped(*arguments: Parameters.args, **named: Parameters.kwargs) -> NoReturn:
        try:
            with in_progress(command.__name__.replace("_", " ")):
                found = command(*arguments, **named)
        except (typer.Exit, typer.Abort, EOFError) as error:
            raise user_code_exited(error) from error
        except Exception:
            raise
        except KeyboardInterrupt as error:
            raise CommandInterrupted from error
        except BaseException as error:
            raise user_code_exited(error) from error
        raise typer.Exit(found.code)

    return wrapped


def user_code_exited(error: BaseException) -> UserCodeExited:
    """The error for an exception of the user's code that no command raises."""
    shown = f"{type(error).__name__}({', '.join(map(repr, error.args))})"
    remedy = "let it return, or raise an error"
    found = UserCodeExited(f"the code that was run ended with {shown}, which is not a verdict: {remedy}")
    for note in getattr(error, "__notes__", ()):
        found.add_note(note)
    return found


@final
class Outputs:
    """The files that a command was asked for: checked before its work, then written all or none.

    While they are not written, an exception that passes carries their names as a note.

    Args:
        asked: paths by the names of their options; None for one that was not given.

    Raises:
        InvalidValue: a path that cannot be written to, is that of a source file, or is given twice.
    """

    def __init__(self, **asked: Path | None) -> None:
        from dpverdict.audit.trials.atomic_files import output_file

        self.files: Final[dict[str, Path]] = {}
        self._written = False
        for name, path in asked.items():
            if path is None:
                continue
            for other in self.files.values():
                if os.path.realpath(path) == os.path.realpath(other):
                    raise InvalidValue(name, str(path), "a file of its own", "give every output another file name")
            self.files[name] = output_file(path, name)

    def __contains__(self, name: str) -> bool:
        return name in self.files

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and self.files and not self._written:
            error.add_note(f"not written: {', '.join(map(str, self.files.values()))}")

    def refuse_overwriting(self, inputs: Mapping[str, str | os.PathLike[str]]) -> None:
        """Refuse an output that is one of the inputs; see `atomic_files.refuse_overwriting`."""
        from dpverdict.audit.trials.atomic_files import refuse_overwriting

        refuse_overwriting(self.files, inputs)

    def write(self, **faces: Callable[[], str | bytes | None]) -> None:
        """Make the contents of all files that were asked for, then write them together.

        Args:
            faces: the content of each, by the name of its option; one that gives None has nothing to say, which is
                told on standard error.
        """
        from dpverdict.audit.trials.atomic_files import write_together

        made = {name: faces[name]() for name in self.files}
        write_together({self.files[name]: content for name, content in made.items() if content is not None})
        self._written = True
        for name, content in made.items():
            if content is None:
                say(f"note: {self.files[name]} was not written: there is no {name}")
                del self.files[name]

    def conclude(self, verdict: str) -> None:
        """Print the verdict once more as the last line, with the files that were written: what came first may have
        scrolled away. Where nothing was written and nobody scrolls, the first line is enough."""
        if self.files:
            verdict += f"; written: {', '.join(map(str, self.files.values()))}"
        if self.files or sys.stdout.isatty():
            print(printable(verdict, sys.stdout.encoding))


def say_more() -> None:
    """Say where the rest of a report is."""
    print("  --details prints the rest; --report FILE writes all of it as a page.")


def say(message: str) -> None:
    """One line on standard error: control characters as escapes, and what it cannot encode too."""
    with _display_paused():
        print(printable(" ".join(message.split()), sys.stderr.encoding), file=sys.stderr)


MOST_JOBS: Final = 4096
"""Worker processes that can be asked for."""


@contextmanager
def engine_of_options(jobs: str | None, dask: str | None) -> Generator[None]:
    """Run the trials where the options say."""
    from dpverdict.audit.trials.engines import chosen_engine
    from dpverdict.numerics.text import whole_number

    if dask is not None:  # that it has lost a scheduler or a worker is told in one line, by the error
        logging.disable(logging.CRITICAL)
    with chosen_engine(
        jobs=None if jobs is None else whole_number(jobs, "jobs", at_least=1, at_most=MOST_JOBS), dask=dask
    ):
        yield


_shown: Final[list[Progress]] = []
"""What is shown of the command that runs: one at most."""


@contextmanager
def in_progress(what: str) -> Generator[None]:
    """Show on standard error, while it is a terminal, that something is done and for how long, from its start on.

    What cannot say how much is left to do is shown too: no command is silent while it works. The stages that begin
    inside are named, one after another.
    """
    if not sys.stderr.isatty() or _shown:
        begin_stage(what)
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()
    # standard output is not redirected: what a command prints goes where it belongs
    shown = Progress(
        *columns, console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False
    )
    task = shown.add_task(what, total=None)
    _shown.append(shown)
    shown.start()

    def begin(stage: str) -> None:
        shown.tasks[0].total = None  # how much there is to do is not known: no update can say that
        shown.update(task, description=stage, completed=0)

    def count(done: int, total: int) -> None:
        if len(shown.tasks) == 1:  # else a bar of its own tells it: see `progress_bar`
            shown.update(task, completed=done, total=total)

    try:
        with watched_by(begin, count):
            yield
    finally:
        _shown.remove(shown)
        shown.stop()


@contextmanager
def _display_paused() -> Generator[None]:
    """Nothing is shown meanwhile, so that a line can be printed."""
    shown = list(_shown)
    for one in shown:
        one.stop()
    try:
        yield
    finally:
        for one in shown:
            if one in _shown:
                one.start()


@contextmanager
def progress_bar() -> Generator[Callable[[str, int, int], None] | None]:
    """A bar for each stage on standard error while it is a terminal; None otherwise."""
    with nullcontext() if _shown else in_progress("at work"):
        if not _shown:
            yield None
            return
        progress = _shown[-1]
        tasks: dict[str, TaskID] = {}

        def update(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=total)
            progress.update(tasks[what], completed=done, total=total)

        yield update
        for task in tasks.values():
            progress.update(task, visible=False)


@contextmanager
def printing() -> Generator[None]:
    """Print the result: a reader of a pipe may close it early, as ``| head`` does, and the exit code tells the verdict.

    Raises:
        OSError: standard output cannot be written to, for another reason.
    """
    try:
        with _display_paused():
            yield
            sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich turns the first into the second
        leave_standard_output()
    except OSError as error:
        leave_standard_output()
        raise OSError(error.errno, error.strerror, "standard output") from None


def leave_standard_output() -> None:
    """What is still to be written goes nowhere, so that the end of the program has nothing to fail at."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_lines(text: str | Iterable[str], *, whole: str = "") -> None:
    """Print lines as a result, broken between words where they are longer than a line of the terminal; a pipe has 80.

    What the encoding of standard output has no letter for is an escape. Where nobody reads on a terminal, lines that
    begin with ``whole`` are not broken, so that other programs find them.
    """
    other = bool(whole) and not sys.stdout.isatty()
    width = shutil.get_terminal_size().columns
    with printing():
        for line in text.split("\n") if isinstance(text, str) else text:
            shown = printable(line, sys.stdout.encoding)
            one_line = len(shown) <= width or (other and line.startswith(whole))
            print(shown if one_line else _broken_into_lines(shown, width))


def in_one_row(line: str) -> str:
    """A line that ends with three dots where the terminal is too narrow for all of it."""
    width = shutil.get_terminal_size().columns
    return line if len(line) <= width else f"{line[: width - 4].rsplit(' ', 1)[0]} ..."


def _broken_into_lines(line: str, width: int) -> str:
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


LEAST_COLUMNS: Final = 20
"""Of a terminal: on fewer, tables lose what they say."""

LATEST: Final = 253402300799
"""The end of the year 9999, in seconds since 1970."""


def settle_environment() -> None:
    """Refuse or leave out what the environment says and no library here can use.

    Raises:
        InvalidValue: SOURCE_DATE_EPOCH is no time; NumPy would fail at it, and a page would bear no date.
    """
    for name, least in (("COLUMNS", LEAST_COLUMNS), ("LINES", 2)):
        given = os.environ.get(name)
        if given is not None and not (given.isascii() and given.isdigit() and least <= int(given[:9]) < 10**6):
            del os.environ[name]
    if "MPLBACKEND" in os.environ:  # pages are drawn without a display, and one that is unknown would end the program
        os.environ["MPLBACKEND"] = "agg"
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # that its cache cannot be kept is of no use to a reader
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is not None and not (epoch.isascii() and epoch.isdigit() and len(epoch) < 20 and int(epoch) <= LATEST):
        remedy = "unset it, or give seconds since 1970"
        raise InvalidValue("SOURCE_DATE_EPOCH", epoch, "a whole number of seconds", remedy)


def open_standard_streams() -> None:
    """Let a standard stream that is closed go nowhere: a file opened later must not take its place."""
    for descriptor, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(descriptor, mode, closefd=False))
