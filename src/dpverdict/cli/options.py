"""What several commands of the command line have in common: the parameters of mechanisms, and shared options."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer
import typer.core

ERROR_PROBABILITY: Final = "1e-6"
"""Of refuting a true claim by chance, where none is given."""


@functools.cache
def option(name: str, metavar: str, text: str, panel: str) -> typer.models.OptionInfo:
    """An option that takes a value, shown in a panel of the help; made once, as typer evaluates signatures often."""
    # typer declares the result of Option as Any: one object serves as an annotation of every type
    found: typer.models.OptionInfo = typer.Option(name, metavar=metavar, help=text, rich_help_panel=panel)
    return found


MechanismName = Annotated[
    str,
    typer.Argument(
        metavar="MECHANISM",
        help="A name that `dpverdict list` shows (broken:M3 is one of the known-wrong ones), or module:function or "
        "path/file.py:function, called as function(dataset, rng) or function(dataset).",
        show_default=False,
    ),
]
OwnClaim = Annotated[
    str | None, option("--claim", "TEXT", 'Such as "mu=1", "eps=1, delta=1e-6" or "rho=0.5"; else its own.', "Audit")
]
Neighbours = Annotated[
    str | None,
    option("--neighbours", "FILE", "A .npz with the arrays dataset and neighbour, or module:name of two.", "Audit"),
]
Jobs = Annotated[str | None, option("--jobs", "N", "Worker processes; 1 if not given.", "Machines")]
Dask = Annotated[
    str | None, option("--dask", "ADDRESS", "Run on the Dask cluster of the scheduler at tcp://host:port.", "Machines")
]
Timeout = Annotated[
    str | None, option("--timeout", "SECONDS", "Stop an audit that has not finished by then.", "Machines")
]
Memory = Annotated[
    str | None,
    option("--memory", "SIZE", "Of each process of an audit, such as 2G; else no limit.", "Machines"),
]
JsonReport = Annotated[Path | None, option("--json", "FILE", "Write the report as JSON.", "Output")]
HtmlReport = Annotated[Path | None, option("--report", "FILE", "Write the report as one HTML page.", "Output")]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="Print nothing; the exit code is the answer.", rich_help_panel="Output")
]


class MechanismCommand(typer.core.TyperCommand):
    """A command with one option for every parameter of any mechanism, after its argument ``mechanism``.

    The options are made of what the mechanisms declare (`dpverdict.audit.trials.catalogue.offered`) when this command
    is parsed or explains itself, not before: they load the numerical libraries, and other commands need not wait. The
    function of the command does not receive them; it reads what was given from its context, by `parameters`.
    """

    def get_params(self, ctx: Any) -> list[Any]:  # of typer's own parser or of click's, as the version has it
        """The parameters of the command, with those of the mechanisms."""
        own: list[Any] = super().get_params(ctx)
        if _MADE not in ctx.meta:
            from dpverdict.audit.trials.catalogue import offered

            ctx.meta[_MADE] = _made(offered(ctx.meta.get(_EXPLAINED)))
        first = next(i for i, parameter in enumerate(own) if parameter.name == "mechanism") + 1
        return [*own[:first], *ctx.meta[_MADE].values(), *own[first:]]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; ``NAME --help`` explains the parameters of that mechanism and no others."""
        named = [text for text in args if not text.startswith("-")]
        if "--help" in args and named:
            ctx.meta[_EXPLAINED] = named[0]
        rest: list[str] = super().parse_args(ctx, args)
        return rest

    def invoke(self, ctx: Any) -> Any:
        """Run the command, with the parameters of the mechanism in its context."""
        ctx.meta[_GIVEN] = {name: ctx.params.pop(made.name) for name, made in ctx.meta[_MADE].items()}
        return super().invoke(ctx)


_MADE: Final = "dpverdict.options"
_GIVEN: Final = "dpverdict.parameters"
_EXPLAINED: Final = "dpverdict.explained"


def parameters(context: typer.Context) -> dict[str, str | None]:
    """The parameters of the mechanism that were given, by the names of the constructor's arguments."""
    given: dict[str, str | None] = context.meta[_GIVEN]
    return given


def _made(offered: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """Options by the names of parameters, as typer makes them of a function that has them for its arguments."""

    def scratch(**given: str | None) -> None:
        """Nothing: only its signature counts."""

    shown = [
        inspect.Parameter(
            name.lower(),
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[str | None, option("--" + name.lower().replace("_", "-"), *words, "Mechanism")],
        )
        for name, words in offered.items()
    ]
    scratch.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    scratch.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]  # what typer reads
    app = typer.Typer(add_completion=False)
    app.command()(scratch)
    made: dict[str, Any] = {parameter.name: parameter for parameter in typer.main.get_command(app).params}
    return {name: made[name.lower()] for name in offered}
