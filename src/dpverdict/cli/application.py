"""The command line: ``dpverdict audit``, ``scores``, ``replay``, ``run``, ``curve``, ``prove``, ``list``, ``selftest``.

Exit codes: 0 certified, 1 refuted, 3 inconclusive, 2 a usage error, 130 interrupted, 70 a fault of this program. The
commands import what they need when they run, so that ``dpverdict --help`` answers at once.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any, Final

import typer

from dpverdict import __version__
from dpverdict.cli.audit import audit, replay
from dpverdict.cli.curve import curve
from dpverdict.cli.listing import list_mechanisms
from dpverdict.cli.options import MechanismCommand
from dpverdict.cli.prove import prove
from dpverdict.cli.run import run
from dpverdict.cli.scores import scores
from dpverdict.cli.selftest import selftest
from dpverdict.errors import DpverdictError

USAGE_ERROR: Final = 2


INTERRUPTED: Final = 130


INTERNAL_ERROR: Final = 70


app: typer.Typer = typer.Typer(
    name="dpverdict",
    help="Does this mechanism keep the privacy promise it makes? Certified, refuted or inconclusive, with evidence.",
    epilog="Exit codes: 0 certified, 1 refuted, 3 inconclusive, 2 usage error.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.", is_eager=True)] = False,
) -> None:
    if version:
        print(f"dpverdict {__version__}")
        raise typer.Exit


app.command(cls=MechanismCommand)(audit)
app.command(cls=MechanismCommand)(curve)
for command in (run, scores, replay, prove):
    app.command()(command)
app.command(name="list")(list_mechanisms)
app.command()(selftest)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code is returned, and an error is one line on standard error."""
    arguments = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    command = typer.main.get_command(app)
    try:
        code = command.main(args=arguments, prog_name="dpverdict", standalone_mode=False, obj=arguments)
        if code == INTERRUPTED:  # some versions of typer answer an interrupt themselves
            raise KeyboardInterrupt
    except typer.Exit as stop:  # raised or returned, as the version of typer has it
        return stop.exit_code
    except DpverdictError as error:
        return _fail(str(error))
    except OSError as error:
        where = "" if error.filename is None else f"{error.filename}: "
        return _fail(f"{where}{error.strerror or error}")
    except MemoryError:
        return _fail("the audit does not fit in the memory: choose a smaller --dim or --samples")
    except (KeyboardInterrupt, typer.Abort, EOFError):
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except _UsageError as error:
        return _fail(error.format_message())
    except Exception:  # a fault of this program must not leave with Python's own exit code 1, which says "refuted"
        traceback.print_exc()
        return INTERNAL_ERROR
    return code if isinstance(code, int) else 0


# The base of every usage error, whichever library typer parses with: it exports BadParameter alone, so the type is Any.
_UsageError: Final[Any] = typer.BadParameter.__mro__[1]


def _fail(message: str) -> int:
    print("error: " + " ".join(message.split()), file=sys.stderr)
    return USAGE_ERROR
