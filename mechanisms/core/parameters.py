"""The parameters of mechanisms in words: what the command line and plans say about them, and how a value is read.

A mechanism declares its parameters in its own file; those that several mechanisms share are declared once, here. The
options of ``dpverdict audit`` and ``curve``, the table of ``dpverdict list`` and the keys of plans are made of these
declarations, so that a mechanism in one new file appears in all of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from dpverdict.mechanisms.core.neighbours import parse_adjacency
from dpverdict.numerics.text import whole_number

Words: TypeAlias = Mapping[str, str]
"""Parameters as they were written, by the names of the constructor's arguments."""

Read: TypeAlias = Callable[[str, Words], object]
"""From the name of a parameter and all words that were given, that name among them, to what a constructor takes."""

Given: TypeAlias = Mapping[str, object]
"""Parameters that were read, by the names of the constructor's arguments."""


def as_written(name: str, words: Words) -> str:
    """The text itself: constructors read exact decimals and choices."""
    return words[name]


def whole(name: str, words: Words) -> int:
    """A whole number from 1 to 2^62, also as in 1e6."""
    return whole_number(words[name], name, at_least=1, at_most=1 << 62)


def whole_or_best(name: str, words: Words) -> int | str:
    """A whole number from 1 to 2^62, or the word best."""
    return "best" if words[name] == "best" else whole(name, words)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What is taken for a parameter that words leave out. A report says so: it may change what is guaranteed.

    Attributes:
        value: what the constructor then gets.
        note: what the report says after "no --option was given: ".
        when: of the parameters that were given, whether this one may be left out.
    """

    value: object
    note: str
    when: Callable[[Given], bool]


@final
@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a mechanism.

    Attributes:
        name: that of the constructor's argument; "size_estimate" is the option --size-estimate.
        metavar: what stands for its value in the help, alternatives separated by "|".
        text: what it is, for the help.
        read: from words to the value.
        axis: what the data have as many of, where that gives the number: "records", or what one more axis of the data
            is called; None for a parameter that the data say nothing about.
        left_out: what is taken if words leave it out; None if it is needed, or if the constructor has a default.
    """

    name: str
    metavar: str
    text: str
    read: Read = as_written
    axis: str | None = None
    left_out: LeftOut | None = None

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that can be chosen; none for a number, a list or a file."""
        return tuple(self.metavar.split("|")) if "|" in self.metavar else ()

    def otherwise(self, value: object, note: str, *, when: Callable[[Given], bool] = lambda given: True) -> Parameter:
        """The same parameter, for which ``value`` is taken where words leave it out; see `LeftOut`."""
        return dataclasses.replace(self, left_out=LeftOut(value=value, note=note, when=when))


DIM: Final = Parameter("dim", "N", "Number of queries; taken from --data if not given.", whole, axis="queries")
MU: Final = Parameter("mu", "X", "GDP parameter, read as an exact decimal.")
EPSILON: Final = Parameter("epsilon", "X", "Epsilon that the noise is to keep.")
DELTA: Final = Parameter("delta", "X", "Delta that the noise is to keep.")
RHO: Final = Parameter("rho", "X", "zCDP parameter that the noise is to keep.")
ADJACENCY: Final = Parameter(
    "adjacency",
    "add-or-remove-one|replace-one",
    "The neighbouring relation.",
    lambda name, words: parse_adjacency(words[name]),
)
GROUPS: Final = Parameter("groups", "M", "Number of disjoint groups; 2 if not given.", whole, axis="groups")
RADIUS: Final = Parameter("radius", "X", "The bound on the norm of a record; 1 if not given.")
SCALE: Final = Parameter("scale", "X", "Scale of the noise, in place of the published one.")
SIGMA: Final = Parameter("sigma", "X", "Standard deviation of the noise, read as an exact decimal.")
SENSITIVITY: Final = Parameter(
    "sensitivity", "X", "How far one record moves the statistic: its l2 norm for Gaussian noise, by --norm for Laplace."
)
RATE: Final = Parameter("rate", "X", "Rate of the exponentials, in place of the published one.")
HORIZON: Final = Parameter("horizon", "T", "The number of steps of a stream.", whole, axis="records")
ARITY: Final = Parameter("arity", "K or best", "Children of a vertex; best if not given.", whole_or_best)

SHARED: Final = (
    *(DIM, MU, EPSILON, DELTA, RHO, ADJACENCY, GROUPS, RADIUS, SCALE, SIGMA, SENSITIVITY, RATE, HORIZON, ARITY),
)
"""What need not be declared again: the parameters of more than one mechanism."""


def named(parameters: Iterable[Parameter]) -> dict[str, Parameter]:
    """Parameters by their names, those of `SHARED` among them; a mechanism's own come first, and before the shared."""
    own = {parameter.name: parameter for parameter in parameters}
    return own | {parameter.name: parameter for parameter in SHARED if parameter.name not in own}
