"""The worst pair of neighbours of a mechanism as exact numbers: its noise, its two laws, and what shows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, TypeAlias, final

from dpverdict.errors import DpverdictError
from dpverdict.proofs.checks.evidence import Evidence, number

Json: TypeAlias = dict[str, Any]


class NotDerived(DpverdictError):
    """A head that nothing can be derived from, and the field that is the reason."""


@final
@dataclass(frozen=True, slots=True)
class Gaussian:
    """N(0, 1) against N(mu, 1), by mu^2."""

    square: Fraction


@final
@dataclass(frozen=True, slots=True)
class Laplace:
    """Independent Laplace variables of scale 1, each moved: (shift, number of coordinates)."""

    groups: tuple[tuple[Fraction, int], ...]


@final
@dataclass(frozen=True, slots=True)
class Response:
    """So many randomised responses of one epsilon: integers with two-sided geometric noise, each moved by one."""

    rate: Fraction
    count: int


@final
@dataclass(frozen=True, slots=True)
class Values:
    """Randomised response of one of ``options`` values, with the odds exp(rate) against any other."""

    options: int
    rate: Fraction


@final
@dataclass(frozen=True, slots=True)
class BoundedRange:
    """The pair above all whose loss takes values in an interval of this length."""

    length: Fraction


@final
@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """Independent discrete Gaussians: (variance parameter, shift, number of coordinates)."""

    groups: tuple[tuple[Fraction, int, int], ...]


@final
@dataclass(frozen=True, slots=True)
class Unknown:
    """Laws of which no number is derived here; of some, the largest privacy loss."""

    largest: Fraction | None = None


Law: TypeAlias = Gaussian | Laplace | Response | Values | BoundedRange | DiscreteGaussian | Unknown


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WorstPair:
    """What the parameters of a mechanism come to.

    Attributes:
        noise: the law of the noise in exact numbers.
        differences: what neighbours can change, in exact numbers.
        pair: the worst neighbours in words.
        why: why none are worse.
        law: the two output laws of the worst neighbours, or laws that are at least as far apart.
        attained: whether neighbours attain it; otherwise it is a bound from above.
        conditions: the equations and inequalities behind ``law``.
        cited: a theorem that is taken from a paper, and not in the file.
        assumptions: what is taken for granted.
    """

    noise: Json
    differences: Json
    pair: str
    why: str
    law: Law
    attained: bool = True
    conditions: tuple[Json, ...] = ()
    cited: str = ""
    assumptions: tuple[str, ...] = field(default=())


def not_derived(
    noise: Json, differences: Json, assumptions: tuple[str, ...] = (), *, attained: bool = False
) -> WorstPair:
    """What is known of a mechanism where no worst pair is derived from its parameters."""
    return WorstPair(
        noise=noise,
        differences=differences,
        pair="",
        why="",
        law=Unknown(),
        attained=attained,
        assumptions=assumptions,
    )


REAL: Final = "noise and sums are real numbers: rounding in the sampler is not covered"
NORMAL: Final = "the normal variates are independent and exact"
BITS: Final = "the bits of the random source are independent and uniform"
UNIT_CUBE: Final = "every record lies in [0, 1]^d"


def condition(name: str, *evidence: Evidence) -> Json:
    """A condition as a certificate writes it."""
    return {"name": name, "holds": True, "evidence": list(evidence), "left_out": 0}


def identity(*sides: tuple[str, str], variables: dict[str, str] | None = None) -> Evidence:
    """Equations between expressions."""
    return {"kind": "identity", "sides": [list(pair) for pair in sides], "variables": variables or {}}


def cases(*entries: tuple[str, list[list[Any]]]) -> Evidence:
    """Comparisons of numbers, by case."""
    return {"kind": "cases", "cases": [list(entry) for entry in entries]}


def sampled_above(scale: Fraction) -> tuple[str, ...]:
    """Further noise is added where the scale that is analysed is no float64."""
    if Fraction(float(scale)) == scale:
        return ()
    return ("the sampler takes the least float64 above the scale: further noise, which tells less",)


def sum_of_shifts(groups: tuple[tuple[Fraction, int], ...]) -> Json:
    terms = " + ".join(f"{count}*({number(shift)})" for shift, count in groups)
    total = sum((shift * count for shift, count in groups), Fraction(0))
    return condition("the largest loss is the sum of the shifts over the scales", identity((terms, number(total))))
