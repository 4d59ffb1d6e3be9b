"""The command line: ``dpverdict audit``, ``audit-sampler``, ``tap``, ``schema``, ``scores``, ``replay``, ``run``,
``curve``, ``compose``, ``risk``, ``calibrate``, ``compare``, ``prove``, ``check``, ``list``, ``scan``, ``corpus``,
``selftest``, ``doctor``.

Exit codes: 0 certified, 1 refuted, 3 inconclusive, 2 a usage error, 130 interrupted, 70 a fault of this program. The
commands import what they need when they run, so that ``dpverdict --help`` answers at once.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, NoReturn

import typer

from dpverdict import __version__
from dpverdict.cli.accounts import calibrate, compare, compose, curve, risk
from dpverdict.cli.audit import audit, replay
from dpverdict.cli.audit_sampler import audit_sampler
from dpverdict.cli.corpus import commands as corpus
from dpverdict.cli.installation import doctor, list_mechanisms, selftest
from dpverdict.cli.mistakes import in_words_of_the_line, usage_message
from dpverdict.cli.options import MechanismCommand
from dpverdict.cli.prove import check, prove
from dpverdict.cli.run import run
from dpverdict.cli.schema import schema
from dpverdict.cli.scores import scores
from dpverdict.cli.session import (
    in_progress,
    leave_standard_output,
    open_standard_streams,
    say,
    settle_environment,
)
from dpverdict.cli.tap import tap
from dpverdict.errors import DpverdictError, printable

USAGE_ERROR: Final = 2
INTERRUPTED: Final = 130
INTERNAL_ERROR: Final = 70
_COMPLETION: Final = "_DPVERDICT_COMPLETE"
"""Set by a shell that asks for completions."""

app: typer.Typer = typer.Typer(
    name="dpverdict",
    help="Does this mechanism keep the privacy promise it makes? Certified, refuted or inconclusive, with evidence.",
    epilog="Exit codes: 0 certified, 1 refuted, 3 inconclusive, 2 usage error.",
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.", is_eager=True)] = False,
) -> None:
    if version:
        print(f"dpverdict {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        context.fail("Missing command.")


def _help_text(command: Callable[..., NoReturn]) -> str:
    """The docstring of a command, each paragraph on one line: the terminal breaks them."""
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


for _of_mechanism in (audit, tap, curve, calibrate, compare):
    app.command(cls=MechanismCommand, help=_help_text(_of_mechanism))(_of_mechanism)
app.command(name="audit-sampler", help=_help_text(audit_sampler))(audit_sampler)
for _command in (compose, risk, run, schema, scores, replay, prove, check, corpus.scan, selftest, doctor):
    app.command(help=_help_text(_command))(_command)
app.command(name="list", help=_help_text(list_mechanisms))(list_mechanisms)
for _named, _of_corpus in (("list", corpus.list_entries), ("show", corpus.show), ("run", corpus.run)):
    corpus.app.command(name=_named, help=_help_text(_of_corpus))(_of_corpus)
app.add_typer(corpus.app, name="corpus")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code is returned, and an error is one line on standard error.

    A code that says a verdict comes from a command that ended, and from nothing else.
    """
    open_standard_streams()
    arguments = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        settle_environment()
        code = _run(arguments)
        sys.stdout.flush()
    except DpverdictError as error:
        return _print_error(in_words_of_the_line(error, arguments), error)
    except OSError as error:
        where = "" if error.filename is None else f"{error.filename}: "
        return _print_error(f"{where}{error.strerror or error}", error)
    except MemoryError as error:
        return _print_error("the command does not fit in the memory: ask for less, or give a smaller file", error)
    except (KeyboardInterrupt, typer.Abort) as error:
        say(_with_notes("interrupted", error))
        return INTERRUPTED
    except _UsageError as error:
        return _print_error(usage_message(error, arguments), error)
    except BaseException as error:
        if (interrupt := _interrupt_behind(error)) is not None:
            say(_with_notes("interrupted", interrupt))
            return INTERRUPTED
        # a fault of this program must not leave with Python's own exit code 1, which says "refuted"
        print(printable(traceback.format_exc(), "ascii"), end="", file=sys.stderr)
        return INTERNAL_ERROR
    return code


def _run(arguments: list[str]) -> int:
    """The code that a command ended with, see `exit_with`; without a command, as for ``--help``, that of typer."""
    command = typer.main.get_command(app)
    told = arguments[0].startswith("-") or "--help" in arguments or _COMPLETION in os.environ
    try:
        # reading the options of a mechanism imports all of them, which takes a second
        with contextlib.nullcontext() if told else in_progress("starting"):
            if arguments == ["list"]:  # nothing is to be parsed, for which typer may load pydantic: a fifth of the time
                list_mechanisms()
            found = command.main(args=arguments, prog_name="dpverdict", standalone_mode=False, obj=arguments)
    except typer.Exit as stop:  # raised or returned, as the version of typer has it
        found = stop.exit_code
    except SystemExit as stop:  # of a help text whose reader closed the pipe, or of the completion of a shell
        if isinstance(stop.__context__, BrokenPipeError):
            leave_standard_output()
            return 0
        if _COMPLETION in os.environ:
            return stop.code if isinstance(stop.code, int) else 0
        raise
    if found == INTERRUPTED:  # some versions of typer answer an interrupt themselves
        raise KeyboardInterrupt
    if not isinstance(found, int):
        raise RuntimeError(f"the command line ended with {found!r}, which is no end of a command")
    return found


# The base of every usage error, whichever library typer parses with: it exports BadParameter alone, so the type is Any.
_UsageError: Final[Any] = typer.BadParameter.__mro__[1]


def _interrupt_behind(error: BaseException | None) -> KeyboardInterrupt | None:
    """The Ctrl-C that an error stands for: an integral in C turns what its integrand raises into a SystemError."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error


def _print_error(message: str, error: BaseException) -> int:
    say(_with_notes(f"error: {message}", error))
    return USAGE_ERROR


def _with_notes(message: str, error: BaseException) -> str:
    return message + "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
