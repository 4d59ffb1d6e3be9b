"""The terminal face of the catalogue: every mechanism, and every known-wrong one with the privacy it really has."""

from __future__ import annotations

from typing import Final

from rich.console import Console
from rich.text import Text

from dpverdict.audit.reports.tables import plain_table
from dpverdict.audit.trials.catalogue import (
    ZOO,
    calibrations_of,
    mechanism_classes,
    option,
    parameters_of,
)
from dpverdict.mechanisms import broken
from dpverdict.mechanisms.broken.mutant import Mutant

LARGEST_DIM_SHOWN: Final = 9
"""The list says in which dimensions up to this a known-wrong mechanism is in fact private."""


def print_catalogue(console: Console | None = None) -> None:
    """Every mechanism with its source and parameters, and the known-wrong ones with the privacy they really have."""
    console = Console() if console is None else console
    table = plain_table("Mechanisms", "name", "source", "parameters")
    for name, mechanism in mechanism_classes().items():
        parameters = [_options(parameters_of(mechanism))]
        ways = calibrations_of(mechanism)
        if ways:
            own = parameters_of(next(iter(ways.values())))
            parameters.append(f"or --calibration {'|'.join(ways)} {_options(own)}")
        table.add_row(Text(name), Text(mechanism.source), Text("\n".join(parameters)))
    console.print(table)
    console.print()
    families: dict[tuple[str, ...], list[broken.Wrong]] = {}
    for wrong in broken.ALL:
        families.setdefault(wrong.parameters, []).append(wrong)
    for parameters_taken, wrongs in families.items():
        title = f"Known-wrong variants ({_options(parameters_taken)})"
        value = "true mu^2" if isinstance(wrongs[0], Mutant) else "true epsilon"
        zoo = plain_table(title, "name", "what is wrong", value, _scope_in_words(parameters_taken))
        for wrong in wrongs:
            zoo.add_row(Text(ZOO + wrong.name), Text(wrong.title), Text(wrong.formula), Text(_where_refutable(wrong)))
        console.print(zoo)
    console.print(
        Text(
            "d is --dim (options, queries, values or a move), mu is --mu, r = sqrt d, j* = (d + r)/2; "
            "e is --epsilon, T is --horizon, k is --arity, "
            "h the height of the tree.",
            style="dim",
        )
    )


def _options(parameters: tuple[str, ...]) -> str:
    return " ".join(map(option, parameters))


def _scope_in_words(parameters: tuple[str, ...]) -> str:
    if "horizon" in parameters:
        return "refutable at k = 5, T <= 62"
    return f"refutable at {'mu = 1, ' if 'mu' in parameters else ''}d <= {LARGEST_DIM_SHOWN}"


def _where_refutable(wrong: broken.Wrong) -> str:
    if not isinstance(wrong, Mutant):
        return wrong.where_refutable()
    dims = range(wrong.least_dim, LARGEST_DIM_SHOWN + 1)
    private = [d for d in dims if not wrong.refutable(d)]
    if len(private) == len(dims):
        return "none"
    start = "all" if wrong.least_dim == 1 else f"all from d = {wrong.least_dim}"
    return f"{start} but d = {', '.join(map(str, private))}" if private else start
