"""From the head of a verdict's certificate to the conditions that must stand below it, and to what it proves.

The head names a mechanism with its parameters, a relation, a claim, and what is concluded, in exact numbers. All the
rest follows: the noise and what neighbours can change, the worst pair and why none is worse, the comparison with this
claim, and of a refutation the event with both of its probabilities. Where a number does not follow, the head states it
under "numbers", and the certificate proves no more than that it was compared.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, final

from dpverdict.proofs.verdicts.catalogue import worst_pair
from dpverdict.proofs.verdicts.claims import Claim, compared, quantity, read_claim, witness
from dpverdict.proofs.verdicts.given import exact
from dpverdict.proofs.verdicts.laws import Json, NotDerived, WorstPair, condition

CERTIFIED: Final = "CERTIFIED"
REFUTED: Final = "REFUTED"
FIELDS: Final = ("mechanism", "parameters", "relation", "claim", "concluded", "assumptions")
OPTIONAL: Final = ("level", "numbers")
_WITHIN: Final = "what is attained is within the claim"
_BEYOND: Final = "what is attained is beyond the claim"
_ONLY_COMPARED: Final = "the numbers were compared; that nothing is worse is not in the file"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """What a head comes to.

    Attributes:
        concluded: what follows from it; None where nothing does.
        assumptions: what is taken for granted.
        conditions: those that must stand in the file.
        line: what the file proves, in one line.
    """

    concluded: str | None
    assumptions: list[str]
    conditions: list[Json]
    line: str


def derived(head: Any) -> Derived:
    """What follows from a head.

    Raises:
        NotDerived: a field that is missing, unknown, or not what follows from the others; its name comes first.
    """
    if not isinstance(head, dict):
        raise NotDerived("verdict: it is no object")
    for name in FIELDS:
        if name not in head:
            raise NotDerived(f"{name}: it is missing")
    for name in head:
        if name not in (*FIELDS, *OPTIONAL):
            raise NotDerived(f"{name}: there is no such field")
    worst = worst_pair(head["mechanism"], head["parameters"], head["relation"])
    claim = read_claim(head["claim"])
    concluded = head["concluded"]
    if concluded not in (CERTIFIED, REFUTED):
        raise NotDerived(f"concluded: {concluded!r} is not {CERTIFIED} or {REFUTED}")
    level = _level(head, worst, claim)
    made = _decided(head["mechanism"], head["relation"], worst, claim, level)
    if "numbers" in head:
        if made is not None and (worst.attained or made.concluded == concluded):
            raise NotDerived("numbers: they follow from the other fields, and are not stated beside them")
        made = _stated(head["mechanism"], head["relation"], worst, claim, concluded, head["numbers"])
    elif made is None:
        raise NotDerived("numbers: what is attained does not follow from the other fields, and is not stated")
    if made.concluded != concluded:
        raise NotDerived(f"concluded: {concluded} does not follow")
    if head["assumptions"] != made.assumptions:
        raise NotDerived("assumptions: they are not those of this mechanism and this noise")
    where = f"{claim.words} of {head['mechanism']}, {_parameters(head['parameters'])}{head['relation']}"
    line = f"{'' if concluded == CERTIFIED else 'not '}{where}{_scales(head['parameters'])}{made.line}"
    return Derived(concluded=concluded, assumptions=made.assumptions, conditions=made.conditions, line=line)


def conclusion(mechanism: str, parameters: Json, relation: str, claim: Json, level: str | None) -> str | None:
    """What follows of a claim, for the writer of a head: CERTIFIED, REFUTED, or None where nothing does."""
    worst = worst_pair(mechanism, parameters, relation)
    at = None if level is None else exact(level)
    made = _decided(mechanism, relation, worst, read_claim(claim), at)
    return None if made is None else made.concluded


def _level(head: Mapping[str, Any], worst: WorstPair, claim: Claim) -> Fraction | None:
    """The epsilon at which a claim of mu is held against laws that are not Gaussian; stated there, and only there."""
    if "level" not in head:
        return None
    level = exact(head["level"])
    if level is None or level < 0:
        raise NotDerived(f"level: {head['level']!r} is no fraction >= 0 in lowest terms")
    if claim.kind != "gaussian" or quantity(worst.law, claim, None) is not None or "numbers" in head:
        raise NotDerived("level: this claim is decided without one")
    return level


def _law(mechanism: str, relation: str, worst: WorstPair) -> Json:
    evidence = {"kind": "law", "noise": worst.noise, "differences": worst.differences, "pair": worst.pair}
    evidence["relation"] = relation
    return condition(f"the noise of {mechanism} and what neighbours change", {**evidence, "why": worst.why})


def _decided(mechanism: str, relation: str, worst: WorstPair, claim: Claim, level: Fraction | None) -> Derived | None:
    found = quantity(worst.law, claim, level)
    if found is None:
        return None
    sign, evidence = compared(found)
    concluded = REFUTED if sign == 1 else CERTIFIED
    if concluded == REFUTED and not worst.attained:
        return None
    if concluded == CERTIFIED and level is not None:
        return None  # one epsilon proves no mu
    words = _WITHIN if concluded == CERTIFIED else _BEYOND
    conditions = [_law(mechanism, relation, worst), *worst.conditions, condition(f"{words}: {found.name}", *evidence)]
    if concluded == REFUTED:
        conditions += witness(found)
    cited = [one for one in (worst.cited, found.cited if concluded == CERTIFIED else "") if one]
    gap = f"; that nothing is worse rests on {' and on '.join(cited)}, which is not in the file" if cited else ""
    if mechanism.startswith("broken:"):
        gap += "; that its noise is what is stated here is not in the file"
    return Derived(concluded=concluded, assumptions=list(worst.assumptions), conditions=conditions, line=gap)


NUMBERS: Final[dict[str, tuple[str, ...]]] = {
    "delta": ("approximate", "pure"),
    "the largest privacy loss": ("pure",),
    "rho": ("concentrated",),
    "the Renyi divergence": ("renyi", "concentrated"),
    "delta against what is implied": ("gaussian", "concentrated", "renyi", "pure"),
    "mu^2": ("gaussian",),
}
"""What may be stated, and for which kinds of claims."""


def _stated(mechanism: str, relation: str, worst: WorstPair, claim: Claim, concluded: str, numbers: Any) -> Derived:
    """The comparison of numbers that the head states."""
    if not isinstance(numbers, dict) or claim.kind not in NUMBERS.get(str(numbers.get("quantity")), ()):
        raise NotDerived("numbers.quantity: it does not decide such a claim")
    name = numbers["quantity"]
    implied = name == "delta against what is implied"
    names = {"quantity", "at", "attained", *(["allowed"] if implied else [])}
    if set(numbers) != names:
        raise NotDerived(f"numbers: there are to be {', '.join(sorted(names))}")
    at = exact(numbers["at"])
    if at is None or at < 0:
        raise NotDerived(f"numbers.at: {numbers['at']!r} is no fraction >= 0 in lowest terms")
    ends = _ball("attained", numbers["attained"])
    allowed: Any = _ball("allowed", numbers["allowed"]) if implied else str(_allowed(name, claim, at))
    signs = ["<", "="] if concluded == CERTIFIED else [">"]
    limits = [Fraction(one) for one in (allowed if implied else [allowed, allowed])]
    holds = Fraction(ends[1]) <= limits[0] if concluded == CERTIFIED else Fraction(ends[0]) > limits[1]
    if not holds or (implied and concluded == CERTIFIED):
        raise NotDerived("numbers.attained: it does not decide the claim")
    evidence = {"kind": "comparison", "left": ends, "right": allowed, "signs": signs, "holds": True}
    words = _WITHIN if concluded == CERTIFIED else _BEYOND
    conditions = [_law(mechanism, relation, worst), condition(f"{words}: {name} at {at}", evidence)]
    line = f" ({_ONLY_COMPARED})"
    if concluded == REFUTED:
        line = " (the numbers were compared; that neighbours attain them is not in the file)"
    return Derived(concluded=concluded, assumptions=list(worst.assumptions), conditions=conditions, line=line)


def _ball(name: str, given: Any) -> list[str]:
    ends = [exact(end) for end in given] if isinstance(given, list) and len(given) == 2 else []
    if len(ends) != 2 or ends[0] is None or ends[1] is None or not 0 <= ends[0] <= ends[1]:
        raise NotDerived(f"numbers.{name}: it is no pair of fractions >= 0 in order")
    return [str(end) for end in ends]


def _allowed(name: str, claim: Claim, at: Fraction) -> Fraction:
    """What the claim allows; ``at`` is its own epsilon or order, or 0 where there is none."""
    n = claim.numbers
    match name:
        case "delta":
            expected, allowed = n["epsilon"], n.get("delta", Fraction(0))
        case "the largest privacy loss":
            expected, allowed = Fraction(0), n["epsilon"]
        case "rho":
            expected, allowed = Fraction(0), n["rho"]
        case "mu^2":
            expected, allowed = Fraction(0), n["mu"] ** 2
        case _:
            expected = n.get("order", at)
            allowed = n["epsilon"] if claim.kind == "renyi" else at * n["rho"]
            if at <= 1:
                raise NotDerived("numbers.at: an order is above 1")
    if at != expected:
        raise NotDerived(f"numbers.at: {at} is not {expected}")
    return allowed


def _parameters(parameters: Mapping[str, Any]) -> str:
    """Whole numbers and lists, each with its name, followed by a comma."""
    parts = [f"{name.replace('_', ' ')} {value}" for name, value in parameters.items() if _is_size(value)]
    parts += [
        f"{sum(Fraction(row[-1]) for row in value)} {name}" for name, value in parameters.items() if _is_table(value)
    ]
    return "".join(f"{part}, " for part in parts)


def _scales(parameters: Mapping[str, Any]) -> str:
    """The others, numbers to six digits, in brackets."""
    parts = [
        f"{name.replace('_', ' ')} {value if exact(value) is None else f'{float(Fraction(value)):.6g}'}"
        for name, value in parameters.items()
        if not _is_size(value) and not _is_table(value)
    ]
    return f" ({', '.join(parts)})" if parts else ""


def _is_size(value: Any) -> bool:
    return isinstance(value, str) and value.isdigit()


def _is_table(value: Any) -> bool:
    return isinstance(value, list)


def checked(document: Mapping[str, Any]) -> Derived:
    """What a certificate proves, if its conditions are those of its head.

    Raises:
        NotDerived: the field of the head that does not fit, or the first place where the conditions are others.
    """
    extra = set(document) - {"format", "verdict", "versions", "readings", "sha256"}
    if extra:
        raise NotDerived(f"{sorted(extra)[0]}: there is no such field")
    found = _derived_once(json.dumps(document["verdict"]))
    expected = [{"reading": "the claim", "conditions": found.conditions}]
    place = difference(document["readings"], expected, "readings")
    if place is not None:
        raise NotDerived(place)
    return found


@lru_cache(maxsize=4)
def _derived_once(head: str) -> Derived:
    """What follows from a head, which is asked for by the check and again by the line of what it proves."""
    return derived(json.loads(head))


def difference(found: Any, expected: Any, path: str) -> str | None:
    """The first place where two JSON values differ, in words; None if they are the same."""
    if type(found) is not type(expected):
        return f"{path} is {_short(found)}, and must be {_short(expected)}"
    if isinstance(found, dict):
        for name in sorted({*found, *expected}):
            if name not in found or name not in expected:
                return f"{path}.{name} is missing" if name in expected else f"{path}.{name} must not be there"
            place = difference(found[name], expected[name], f"{path}.{name}")
            if place is not None:
                return place
        return None
    if isinstance(found, list):
        for i, (one, other) in enumerate(zip(found, expected, strict=False)):
            place = difference(one, other, f"{path}[{i}]")
            if place is not None:
                return place
        if len(found) != len(expected):
            return f"{path} has {len(found)} entries, and must have {len(expected)}"
        return None
    if found == expected:
        return None
    return f"{path} is {_short(found, _same(found, expected))}, and must be {_short(expected, _same(found, expected))}"


def _same(found: Any, expected: Any) -> int:
    """How many letters two texts begin with alike."""
    if not isinstance(found, str):
        return 0
    pairs = enumerate(zip(found, expected, strict=False))
    return next((i for i, (one, other) in pairs if one != other), min(len(found), len(expected)))


def _short(value: Any, start: int = 0) -> str:
    """A value in one line; of a long text, the part from a little before ``start``."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= 60:
        return text
    first = max(0, start - 20)
    return ("..." if first else "") + text[first : first + 50] + ("..." if first + 50 < len(text) else "")
