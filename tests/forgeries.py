"""Forgeries of the certificates of verdicts: one field changed to another value that could stand there, sealed again.

A number is changed by one in its last place and by factors, a word to those that other certificates have in its place,
a text of an expression in one of its numbers; entries of lists are dropped, doubled, exchanged, and taken from other
certificates, and so are whole conditions and whole parts of the head. Versions and the seal are left out.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

Path = tuple[str | int, ...]
NOT_FORGED = {"versions", "sha256"}
MOST_TAKEN = 4
"""Values of other certificates that are tried in one place."""


def resealed(document: dict[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in document.items() if key != "sha256"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return {**rest, "sha256": hashlib.sha256(text.encode()).hexdigest()}


def place(path: Path) -> str:
    """A path without the numbers of its entries: where the same kind of thing stands in any certificate."""
    return ".".join(part for part in path if isinstance(part, str))


def nodes(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value of a document with its path, containers included."""
    if path and path[0] in NOT_FORGED:
        return
    if path:
        yield path, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from nodes(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from nodes(inner, (*path, i))


def replaced(document: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    made = json.loads(json.dumps(document))
    inside = made
    for part in path[:-1]:
        inside = inside[part]
    inside[path[-1]] = value
    return made


def seen(documents: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """The values that stand in each place, over all certificates."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for document in documents:
        for path, value in nodes(document):
            found[place(path)][json.dumps(value, sort_keys=True)] = value
    return {name: list(values.values()) for name, values in found.items()}


def other_numbers(text: str) -> Iterator[str]:
    """By one in the last place, and by factors."""
    decimal = re.fullmatch(r"(-?\d+)e(-?\d+)", text)
    if decimal:
        yield from (f"{int(decimal[1]) + step}e{decimal[2]}" for step in (-1, 1))
        yield f"{decimal[1]}e{int(decimal[2]) + 1}"
        return
    dyadic = re.fullmatch(r"(-?\d+)\*2\*\*(-?\d+)", text)
    if dyadic:
        yield from (f"{int(dyadic[1]) + step}*2**{dyadic[2]}" for step in (-1, 1))
        yield f"{dyadic[1]}*2**{int(dyadic[2]) + 1}"
        return
    value = Fraction(text)
    last_place = Fraction(1, value.denominator)
    yield from (
        str(other) for other in (value + last_place, value - last_place, 2 * value, value / 2, 10 * value, -value)
    )


def other_values(value: Any, others: list[Any]) -> Iterator[Any]:
    match value:
        case bool():
            yield not value
        case int():
            yield from (value + 1, value == 1, str(value))
        case str():
            if re.fullmatch(r"-?\d+(/\d+)?|-?\d+e-?\d+|-?\d+\*2\*\*-?\d+", value):
                yield from other_numbers(value)
            else:
                for found in list(re.finditer(r"\d+", value))[:3]:
                    yield value[: found.start()] + str(int(found[0]) + 1) + value[found.end() :]
                yield value + " "
        case list():
            for i in range(min(len(value), 4)):
                yield value[:i] + value[i + 1 :]
            if value:
                yield [*value, value[-1]]
                yield [*value[1:], value[0]]
                yield []
        case dict():
            for key in value:
                yield {name: inner for name, inner in value.items() if name != key}
            yield {**value, "further": "1"}
        case _:
            pass
    yield from [other for other in others if type(other) is type(value)][:MOST_TAKEN]


def forgeries(document: dict[str, Any], values: dict[str, list[Any]], turn: int = 0) -> Iterator[tuple[Path, Any]]:
    """Every path of a certificate with a value to put there; ``turn`` chooses from which others they are taken."""
    for number, (path, value) in enumerate(nodes(document)):
        known = values[place(path)]
        start = (turn + number) % len(known)
        tried = {json.dumps(value, sort_keys=True)}
        for other in other_values(value, known[start:] + known[:start]):
            key = json.dumps(other, sort_keys=True)
            if key not in tried:
                tried.add(key)
                yield path, other


def forge(document: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """The certificate with a value in its place, sealed again."""
    return resealed(replaced(document, path, value))
