"""What several commands of the command line have in common: the parameters of mechanisms, and shared options."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final

import typer

ERROR_PROBABILITY: Final = "1e-6"
"""Of refuting a true claim by chance, where none is given."""


def option(name: str, metavar: str, text: str, panel: str) -> typer.models.OptionInfo:
    """An option that takes a value, shown in a panel of the help."""
    # typer declares the result of Option as Any: one object serves as an annotation of every type
    found: typer.models.OptionInfo = typer.Option(name, metavar=metavar, help=text, rich_help_panel=panel)
    return found


MechanismName = Annotated[
    str,
    typer.Argument(
        metavar="MECHANISM",
        help="A name that `dpverdict list` shows (broken:M3 is one of the known-wrong ones), or module:function or "
        "path/file.py:function, called as function(dataset, rng) and returning an array.",
        show_default=False,
    ),
]
Jobs = Annotated[str | None, option("--jobs", "N", "Worker processes; 1 if not given.", "Machines")]
Dask = Annotated[
    str | None, option("--dask", "ADDRESS", "Run on the Dask cluster of the scheduler at tcp://host:port.", "Machines")
]
JsonReport = Annotated[Path | None, option("--json", "FILE", "Write the report as JSON.", "Output")]
HtmlReport = Annotated[Path | None, option("--report", "FILE", "Write the report as one HTML page.", "Output")]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="Print nothing; the exit code is the answer.", rich_help_panel="Output")
]

PARAMETERS: Final = {
    "dim": ("N", "Number of queries; taken from --data if not given."),
    "mu": ("X", "GDP parameter, read as an exact decimal."),
    "epsilon": ("X", "Epsilon that the noise is to keep."),
    "delta": ("X", "Delta that the noise is to keep."),
    "calibration": (
        "classic|analytic|theorem|concentrated",
        "How epsilon and delta set the scale: the first two of Gaussian, the others of Laplace noise.",
    ),
    "C": ("X", "Embedding constant; d^(1/4) if not given."),
    "count": ("released|withheld|estimated", "What happens to the number of records."),
    "size_estimate": ("N", "With --count estimated: one made without the data."),
    "groups": ("M", "Number of disjoint groups; 2 if not given."),
    "bounds": ("1,2,4 or @FILE", "Sensitivity of each coordinate; 1 if not given."),
    "adjacency": ("add-or-remove-one|replace-one", "The neighbouring relation."),
    "k": ("K", "The largest number of non-zero entries of a record."),
    "rho": ("X", "zCDP parameter that the noise is to keep."),
    "s": ("X", "Square of the embedding constant; near sqrt d if not given."),
    "norm": ("linf|l1|l2", "The norm of a record that is bounded."),
    "radius": ("X", "The bound on the norm of a record; 1 if not given."),
    "scale": ("X", "Scale of the noise, in place of the published one."),
    "horizon": ("T", "The number of steps of a stream."),
    "arity": ("K or best", "Children of a vertex; best if not given."),
    "digits": ("offset|symmetric|ordinary", "With or without subtraction."),
    "kind": ("binary|honaker|smooth-binary|sqrt-toeplitz", "The factorisation."),
    "noise": ("LAW", "discrete or continuous of a tree, laplace or gaussian of a factorisation."),
}
"""The parameters of mechanisms, by the names of the constructors' arguments: what is given, and what it means."""


def takes_parameters(command: Callable[..., None]) -> Callable[..., None]:
    """A command with one option for every parameter of a mechanism, after its argument ``mechanism``.

    The command itself does not receive them: it reads what was given from its context, by `parameters`.
    """
    own = inspect.signature(command, eval_str=True)

    @functools.wraps(command)
    def wrapped(**given: Any) -> None:
        command(**{name: value for name, value in given.items() if name in own.parameters})

    shown = []
    for parameter in own.parameters.values():
        shown.append(parameter)
        if parameter.name == "mechanism":
            shown += [_parameter(name, *words) for name, words in PARAMETERS.items()]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    wrapped.__signature__ = own.replace(parameters=shown)  # type: ignore[attr-defined]  # what typer reads
    return wrapped


def parameters(context: typer.Context) -> dict[str, str | None]:
    """The parameters of the mechanism that were given, by the names of the constructor's arguments."""
    return {name: context.params[name.lower()] for name in PARAMETERS}


def _parameter(name: str, metavar: str, text: str) -> inspect.Parameter:
    made = option("--" + name.lower().replace("_", "-"), metavar, text, "Mechanism")
    annotation = Annotated[str | None, made]
    return inspect.Parameter(name.lower(), inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=annotation)
