"""What a law attains against what a claim allows, as numbers and as expressions in closed form that a reader evaluates.

A number that is no fraction is written to so many digits that it is told apart from what it is compared with, as the
two decimals on either side of it: so there is one way to write it, and another one is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeAlias, final

from dpverdict.balls import doublings, precision
from dpverdict.numerics.text import exact_text
from dpverdict.proofs.checks.evidence import number
from dpverdict.proofs.verdicts.expressions import enclosed_text, exact_ends
from dpverdict.proofs.verdicts.given import exact
from dpverdict.proofs.verdicts.laws import (
    BoundedRange,
    DiscreteGaussian,
    Gaussian,
    Json,
    Laplace,
    Law,
    NotDerived,
    Response,
    Unknown,
    Values,
    condition,
)

Side: TypeAlias = Fraction | str
"""A number, or an expression without variables."""
DIGITS: Final = 30
MOST_DIGITS: Final = 1920
LEAST_EXPONENT: Final = -1000
LEAST: Final = Fraction(10) ** LEAST_EXPONENT
MOST_COORDINATES: Final = 1000
"""Coordinates of a corner whose probability is written out."""
MOST_TERMS: Final = 64
"""Terms of a sum that is written as an expression."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A guarantee in exact numbers.

    Attributes:
        kind: "gaussian", "pure", "approximate", "concentrated" or "renyi".
        numbers: its parameters by name.
    """

    kind: str
    numbers: Mapping[str, Fraction]

    @property
    def words(self) -> str:
        """As on the command line."""
        short = {"epsilon": "eps"}
        return ", ".join(f"{short.get(name, name)}={exact_text(value)}" for name, value in self.numbers.items())


KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "gaussian": ("mu",),
    "pure": ("epsilon",),
    "approximate": ("epsilon", "delta"),
    "concentrated": ("rho",),
    "renyi": ("order", "epsilon"),
}


def read_claim(given: Any) -> Claim:
    """The claim of a head.

    Raises:
        NotDerived: another kind, or a number out of its range.
    """
    names = KINDS.get(given.get("kind", "")) if isinstance(given, dict) and isinstance(given.get("kind"), str) else None
    if names is None:
        raise NotDerived(f"claim.kind: it is none of {', '.join(KINDS)}")
    if set(given) != {"kind", *names}:
        raise NotDerived(f"claim: a {given['kind']} claim has {', '.join(names)}")
    numbers = {}
    for name in names:
        found = exact(given[name])
        if found is None or found < 0 or (name == "delta" and found >= 1) or (name == "order" and found <= 1):
            raise NotDerived(f"claim.{name}: {given[name]!r} is no fraction in lowest terms in its range")
        numbers[name] = found
    return Claim(kind=given["kind"], numbers=numbers)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """``attained <= allowed`` is the claim, about two laws.

    Attributes:
        name: what is compared.
        cited: a theorem that is taken from a paper.
        event: P and Q of the event {loss > level}, as expressions, with the event in words; empty without one.
    """

    name: str
    attained: Side
    allowed: Side
    cited: str = ""
    event: tuple[str, Side, Side] | None = None


def quantity(law: Law, claim: Claim, level: Fraction | None) -> Quantity | None:
    """What decides a claim about a law; None if no closed form of it is known here.

    ``level`` is the epsilon at which a law that is not Gaussian is held against a claim of mu, which it can only break.
    """
    n = claim.numbers
    if isinstance(law, Gaussian):
        return _of_gaussian(law.square, claim)
    match claim.kind:
        case "pure":
            largest = _largest(law)
            if largest is None:
                return None
            event = _event(law, n["epsilon"])
            return Quantity(name="the largest privacy loss", attained=largest, allowed=n["epsilon"], event=event)
        case "approximate":
            attained = _profile(law, n["epsilon"])
            if attained is None:
                return None
            event = _event(law, n["epsilon"])
            return Quantity(name=_delta(n["epsilon"]), attained=attained, allowed=n["delta"], event=event)
        case "renyi":
            divergence = _renyi(law, n["order"])
            if divergence is None:
                return None
            return Quantity(
                name=f"the Renyi divergence of order {n['order']}", attained=divergence, allowed=n["epsilon"]
            )
        case "concentrated":
            return _of_rho(law, n["rho"])
        case _:
            if level is None or _profile(law, level) is None:
                return None
            attained = _profile(law, level)
            assert attained is not None
            allowed = gaussian_profile(n["mu"] ** 2, level)
            return Quantity(name=_delta(level), attained=attained, allowed=allowed, event=_event(law, level))


def _delta(epsilon: Fraction) -> str:
    return f"delta({epsilon})"


def _of_gaussian(square: Fraction, claim: Claim) -> Quantity:
    n, m = claim.numbers, f"sqrt({number(square)})"
    half = (
        ("the score s(y), which is N(0, 1) under Q and N(mu, 1) under P, is at least mu/2", *_tails(f"{m}/2", m))
        if square
        else None
    )
    match claim.kind:
        case "gaussian":
            return Quantity(name="mu^2", attained=square, allowed=n["mu"] ** 2, event=half)
        case "concentrated":
            return Quantity(name="rho = mu^2/2", attained=square / 2, allowed=n["rho"], event=half)
        case "renyi":
            name = f"the Renyi divergence of order {n['order']}, order mu^2/2"
            return Quantity(name=name, attained=n["order"] * square / 2, allowed=n["epsilon"], event=half)
        case _:
            epsilon, delta = n["epsilon"], n.get("delta", Fraction(0))
            event = None
            if square:
                words = "the score s(y), which is N(0, 1) under Q and N(mu, 1) under P, is at least epsilon/mu + mu/2"
                event = (words, *_tails(f"(({number(epsilon)})/{m} + {m}/2)", m))
            return Quantity(
                name=_delta(epsilon), attained=gaussian_profile(square, epsilon), allowed=delta, event=event
            )


def _tails(threshold: str, m: str) -> tuple[str, str]:
    """P and Q of {s(y) >= threshold}."""
    return f"erfc(({threshold} - {m})/sqrt(2))/2", f"erfc({threshold}/sqrt(2))/2"


def gaussian_profile(square: Fraction, epsilon: Fraction) -> Side:
    """delta(epsilon) of N(0, 1) against N(mu, 1)."""
    if square == 0:
        return Fraction(0)
    e, m = f"({number(epsilon)})", f"sqrt({number(square)})"
    return f"(erfc(({e}/{m} - {m}/2)/sqrt(2)) - exp({e})*erfc(({e}/{m} + {m}/2)/sqrt(2)))/2"


def _largest(law: Law) -> Fraction | None:
    match law:
        case Laplace(groups):
            return sum((shift * count for shift, count in groups), Fraction(0))
        case Response(rate, count):
            return rate * count
        case Values(_, rate):
            return rate
        case BoundedRange(length):
            return length
        case Unknown(largest):
            return largest
        case _:
            return None


def _single(groups: tuple[tuple[Fraction, int], ...]) -> Fraction | None:
    return groups[0][0] if len(groups) == 1 and groups[0][1] == 1 else None


def _profile(law: Law, epsilon: Fraction) -> Side | None:
    """delta(epsilon), epsilon >= 0."""
    largest, e = _largest(law), f"({number(epsilon)})"
    if largest is not None and epsilon >= largest:
        return Fraction(0)
    match law:
        case Laplace(groups) if (a := _single(groups)) is not None:
            return f"1 - exp(({e} - ({number(a)}))/2)"
        case Response(rate, count) if count <= MOST_TERMS:
            r = f"({number(rate)})"
            terms = [
                f"{math.comb(count, k)}*exp({count - k}*{r})*(1 - exp({e} - {count - 2 * k}*{r}))"
                for k in range(count + 1)
                if (count - 2 * k) * rate > epsilon
            ]
            return f"({' + '.join(terms)})/(1 + exp({r}))**{count}"
        case Values(options, rate):
            r = f"({number(rate)})"
            return f"(exp({r}) - exp({e}))/(exp({r}) + {options - 1})"
        case BoundedRange(length):
            return f"(1 - exp(({e} - ({number(length)}))/2))**2/(1 - exp(-({number(length)})))"
        case _:
            return None


def _event(law: Law, epsilon: Fraction) -> tuple[str, Side, Side] | None:
    """P and Q of {privacy loss > epsilon}."""
    largest, e = _largest(law), f"({number(epsilon)})"
    if largest is None or epsilon >= largest:
        return None
    words = f"the privacy loss exceeds {epsilon}"
    match law:
        case Laplace(groups) if (a := _single(groups)) is not None:
            return words, f"1 - exp(({e} - ({number(a)}))/2)/2", f"exp(-({e} + ({number(a)}))/2)/2"
        case Laplace(groups):  # the corner where it is largest
            count = sum(many for _, many in groups)
            if count > MOST_COORDINATES:
                return None
            corner = "every coordinate that moves is on the far side of its mean under P: the privacy loss is largest"
            return corner, Fraction(1, 2**count), f"exp(-({number(largest)}))/2**{count}"
        case Response(rate, count) if count <= MOST_TERMS:
            r = f"({number(rate)})"
            above = [k for k in range(count + 1) if (count - 2 * k) * rate > epsilon]
            p = " + ".join(f"{math.comb(count, k)}*exp({count - k}*{r})" for k in above)
            q = " + ".join(f"{math.comb(count, k)}*exp({k}*{r})" for k in above)
            return words, f"({p})/(1 + exp({r}))**{count}", f"({q})/(1 + exp({r}))**{count}"
        case Values(options, rate):
            r = f"({number(rate)})"
            return words, f"exp({r})/(exp({r}) + {options - 1})", f"1/(exp({r}) + {options - 1})"
        case _:
            return None


def _renyi(law: Law, order: Fraction) -> Side | None:
    a = f"({number(order)})"
    match law:
        case Laplace(groups) if len(groups) <= MOST_TERMS:
            right = f"{a}/(2*{a} - 1)*exp(({a} - 1)*"
            left = f"({a} - 1)/(2*{a} - 1)*exp(-{a}*"
            terms = [f"{count}*log({right}({number(s)})) + {left}({number(s)})))" for s, count in groups]
            return f"({' + '.join(terms)})/({a} - 1)"
        case Response(rate, count):
            r = f"({number(rate)})"
            return f"{count}*log((exp({a}*{r}) + exp((1 - {a})*{r}))/(1 + exp({r})))/({a} - 1)"
        case Values(options, rate):
            r = f"({number(rate)})"
            inside = f"(exp({a}*{r}) + exp((1 - {a})*{r}) + {options - 2})/(exp({r}) + {options - 1})"
            return f"log({inside})/({a} - 1)"
        case DiscreteGaussian(groups) if order.denominator == 1:
            return order * _rho(groups)
        case _:
            return None


def _rho(groups: tuple[tuple[Fraction, int, int], ...]) -> Fraction:
    return sum((shift**2 * count / (2 * v) for v, shift, count in groups), Fraction(0))


def _of_rho(law: Law, rho: Fraction) -> Quantity | None:
    """The least rho: the limit of D_a/a at a = 1, where D_a/a is largest."""
    falls = "that the Renyi divergence of order a over a falls in a"
    match law:
        case Laplace(groups) if len(groups) <= MOST_TERMS:
            terms = [f"{count}*(({number(s)}) + exp(-({number(s)})) - 1)" for s, count in groups]
            return Quantity(name="rho", attained=" + ".join(terms), allowed=rho, cited=falls)
        case Response(rate, count):
            r = f"({number(rate)})"
            return Quantity(name="rho", attained=f"{count}*{r}*(exp({r}) - 1)/(exp({r}) + 1)", allowed=rho, cited=falls)
        case DiscreteGaussian(groups):
            cited = "Canonne, Kamath and Steinke 2020, Proposition 5"
            return Quantity(name="rho", attained=_rho(groups), allowed=rho, cited=cited)
        case _:
            return None


# numbers


def compared(found: Quantity) -> tuple[int, list[Json]]:
    """The sign of attained - allowed, and the two sides as evidence: values of expressions, and the comparison.

    Raises:
        NotDerived: no precision tells the two apart.
    """
    if isinstance(found.attained, Fraction) and isinstance(found.allowed, Fraction):
        sign = (found.attained > found.allowed) - (found.attained < found.allowed)
        return sign, [_comparison(number(found.attained), number(found.allowed), sign)]
    for digits in doublings(DIGITS, MOST_DIGITS):
        sides = [decimal_ends(side, digits) for side in (found.attained, found.allowed)]
        (low, high), (least, most) = ([Fraction(end) for end in pair] for pair in sides)
        if high <= least or most <= low != 0:  # nothing is below a number that may be 0
            sign = -1 if high <= least else 1
            values = [
                {"kind": "value", "expression": side, "value": pair}
                for side, pair in zip((found.attained, found.allowed), sides, strict=True)
                if isinstance(side, str)
            ]
            left, right = (
                pair if isinstance(side, str) else number(side)
                for side, pair in zip((found.attained, found.allowed), sides, strict=True)
            )
            return sign, [*values, _comparison(left, right, sign)]
    raise NotDerived("claim: what is attained is not told apart from what is allowed")


def _comparison(attained: Any, allowed: Any, sign: int) -> Json:
    signs = [">"] if sign == 1 else ["<", "="]
    return {"kind": "comparison", "left": attained, "right": allowed, "signs": signs, "holds": True}


def witness(found: Quantity) -> list[Json]:
    """The event of a witness and both of its probabilities; nothing where there is none in closed form."""
    if found.event is None:
        return []
    words, *sides = found.event
    evidence = [
        {
            "kind": "value",
            "expression": number(side) if isinstance(side, Fraction) else side,
            "value": decimal_ends(side, DIGITS),
        }
        for side in sides
    ]
    return [condition(f"P and Q of the event: {words}", *evidence)]


def decimal_ends(side: Side, digits: int) -> list[str]:
    """The decimals of so many digits on either side of a number; the number twice if it is one of them."""
    if isinstance(side, Fraction):
        return [*decimals(side, side, digits)] or [str(side)] * 2
    for bits in doublings(4 * digits + 64, 1 << 16):
        with precision(bits):
            low, high = exact_ends(enclosed_text(side))
        made = decimals(low, high, digits)
        if made:
            return made
    raise NotDerived("claim: a number of it is not known accurately enough")


def decimals(low: Fraction, high: Fraction, digits: int) -> list[str]:
    """The same of a number between ``low`` and ``high``; none where those do not determine it.

    A number below `LEAST` is written as 0 and `LEAST`: its digits are of no use, and long.
    """
    if low == high == 0:
        return ["0", "0"]
    if low >= 0 and high < LEAST:
        return ["0", f"1e{LEAST_EXPONENT}"]
    if low <= 0:
        return []
    exponent = math.floor((low.numerator.bit_length() - low.denominator.bit_length()) * math.log10(2)) - digits
    while low >= Fraction(10) ** (exponent + digits):
        exponent += 1
    while low < Fraction(10) ** (exponent + digits - 1):
        exponent -= 1
    unit = Fraction(10) ** exponent
    first = math.floor(low / unit)
    if low == high:
        return [f"{first}e{exponent}", f"{math.ceil(low / unit)}e{exponent}"]
    return (
        [f"{first}e{exponent}", f"{first + 1}e{exponent}"] if low > first * unit and high < (first + 1) * unit else []
    )
