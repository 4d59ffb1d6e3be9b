"""The terminal face of the catalogue: every mechanism in a line, one with its options, and the known-wrong ones."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from rich.console import Console
from rich.text import Text

from dpverdict.audit.reports.tables import facts_table, plain_table
from dpverdict.audit.trials.catalogue import (
    ZOO,
    class_named,
    mechanism_classes,
    offered,
    option,
    title_of,
    with_choices,
)
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import broken
from dpverdict.mechanisms.broken.mutant import Mutant

LARGEST_DIM_SHOWN: Final = 9
"""The list says in which dimensions up to this a known-wrong mechanism is in fact private."""

BROKEN: Final = ZOO.rstrip(":")
"""What stands for all known-wrong mechanisms."""

GROUPS: Final = {
    "core": "Queries and counts",
    "queries": "Queries and counts",
    "streams": "Streams of counts",
    "training": "Training",
    "tuning": "Searches that release their best run",
    "finite": "Choices, answers and whole numbers",
    "keys": "Keys that nobody knows beforehand",
    "local": "One person's report",
    "sums": "Sums of many users and parties",
    "shuffled": "Reports in random order",
}
"""Headings by the room of a mechanism."""


def print_catalogue(console: Console | None = None) -> None:
    """Every mechanism in a line, by what it releases."""
    console = Console() if console is None else console
    classes = mechanism_classes()
    width = max(map(len, classes))
    groups: dict[str, list[str]] = {}
    for name, mechanism in classes.items():
        room = mechanism.__module__.split(".")[2]
        groups.setdefault(GROUPS.get(room, room), []).append(name)
    for title in sorted(groups, key=[*dict.fromkeys(GROUPS.values()), *groups].index):
        console.print(Text(title, style="bold"))
        for name in groups[title]:
            said = Text(f"  {name.ljust(width)}  {title_of(classes[name])}")
            said.truncate(console.width, overflow="ellipsis")
            console.print(said, highlight=False)
    console.print(Text("Wrong on purpose", style="bold"))
    console.print(Text(f"  {len(broken.ALL)} variants with the privacy they really have: dpverdict list {BROKEN}"))
    console.print(Text("The options of one, with an example: dpverdict list NAME", style="dim"))


def print_mechanism(name: str, console: Console | None = None) -> None:
    """One mechanism: what it releases, its source, its options and an example.

    Args:
        name: of the catalogue, of one known-wrong variant, or "broken" for all of them.
        console: standard output if not given.

    Raises:
        InvalidValue: no mechanism has this name.
    """
    console = Console() if console is None else console
    if name == BROKEN:
        _print_variants(console, broken.ALL)
    elif ":" not in name and name not in mechanism_classes() and get_close_matches(name, [BROKEN], cutoff=0.8):
        raise InvalidValue("mechanism", name, "a known mechanism", f"did you mean {BROKEN}? (dpverdict list {BROKEN})")
    elif name.startswith(ZOO):
        _print_variants(console, [broken.any_by_name(name.removeprefix(ZOO))])
    else:
        mechanism = class_named(name)
        example = f"dpverdict audit {name} {mechanism.example}"
        console.print(Text(f"{name}: {title_of(mechanism)}", style="bold"), highlight=False)
        console.print(facts_table({"source": mechanism.source, "example": example}), highlight=False)
        console.print()
        options = dict(_option_in_words(one, *said) for one, said in offered(name).items())
        console.print(facts_table(options), highlight=False)


def _option_in_words(parameter: str, metavar: str, text: str) -> tuple[str, str]:
    if "|" not in metavar:
        return f"{option(parameter)} {metavar}", text
    return option(parameter), with_choices(metavar, text)


def _print_variants(console: Console, variants: Iterable[broken.Wrong]) -> None:
    families: dict[tuple[str, ...], list[broken.Wrong]] = {}
    for wrong in variants:
        families.setdefault(wrong.parameters, []).append(wrong)
    for parameters_taken, wrongs in families.items():
        title = f"Known-wrong variants ({_options(parameters_taken)})"
        value = (
            "true mu^2" if "mu" in parameters_taken else "true delta" if "delta" in parameters_taken else "true epsilon"
        )
        zoo = plain_table(title, "name", "what is wrong", value, _scope_in_words(parameters_taken))
        for wrong in wrongs:
            zoo.add_row(Text(ZOO + wrong.name), Text(wrong.title), Text(wrong.formula), Text(_where_refutable(wrong)))
        console.print(zoo)
    console.print(
        Text(
            "d is --dim (options, queries, values, keys or a move), mu is --mu, r = sqrt d, j* = (d + r)/2; "
            "e is --epsilon, c is --delta, T is --horizon, k is --arity, "
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
