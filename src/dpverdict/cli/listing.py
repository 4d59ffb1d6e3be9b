"""``dpverdict list`` and ``dpverdict selftest``: what there is to audit, and whether this installation works."""

from __future__ import annotations

import typer

from dpverdict.cli.session import reader_may_leave


def list_mechanisms() -> None:
    """The mechanisms with their parameters, and the known-wrong ones with the privacy they really have."""
    from dpverdict.cli.catalogue import print_catalogue

    with reader_may_leave():
        print_catalogue()


def selftest() -> None:
    """Check in seconds that this installation finds what it must find, and nothing where nothing is.

    Exit codes: 0 every check passed, 1 one did not.
    """
    from rich.console import Console
    from rich.text import Text

    from dpverdict.selftest import carry_out

    console, failed = Console(highlight=False), 0
    with reader_may_leave():
        for check, passed, found in carry_out():
            failed += not passed
            mark = Text("ok    ", style="green") if passed else Text("FAILED", style="bold red")
            console.print(Text.assemble(mark, f" {check.name}: {found}"))
    raise typer.Exit(1 if failed else 0)
