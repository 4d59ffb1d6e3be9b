"""From the type of a document: the description of a field, the check of a value, and the JSON Schema.

A document that is written is a `TypedDict`, so that mypy compares the code that writes it with the type; what is read
from words is a ``msgspec.Struct``. A field is ``name: Annotated[type, described("What it is.")]``.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from typing import Any, Final, TypeVar, cast, get_args, get_type_hints, is_typeddict

import msgspec
from msgspec import Meta

from dpverdict.errors import InvalidValue
from dpverdict.suggestions import nearest

T = TypeVar("T")

_WORDS: Final = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table of names and values",
    "null": "null",
}
"""What the error calls a kind of value, by the word of msgspec for it."""

_PLACE: Final = re.compile(r"(?s)(.*?)(?: - at `(?:key in )?\$(.*)`)?\Z")
_HALF_A_PAIR: Final = re.compile("[\ud800-\udfff]")
_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[\.\.\.\]")


def described(text: str, **more: object) -> Meta:
    """What a field is, in a sentence for its JSON Schema, the pages and the command line.

    Args:
        text: the sentence.
        more: what else is said of the field; see `said_of`.
    """
    return Meta(description=text, extra=more or None)


def said_of(kind: type, name: str) -> Mapping[str, Any]:
    """What `described` was given for a field of a document: its text as "text", and what else was said."""
    found: dict[str, Any] = {}
    for note in getattr(get_type_hints(kind, include_extras=True)[name], "__metadata__", ()):
        if isinstance(note, Meta):
            found |= {} if note.description is None else {"text": note.description}
            found |= note.extra or {}
    return found


def fields_of(kind: type) -> tuple[str, ...]:
    """The names of the fields of a document, in their order."""
    return tuple(get_type_hints(kind))


def checked(value: object, kind: type[T], name: str) -> T:
    """The value as it is, of which it is now known that it is a document of that kind.

    A `TypedDict` may hold more than its fields; what must not is asked by the reader of that document.

    Args:
        value: JSON values, with texts for infinite numbers.
        kind: the type of the document.
        name: of the document, for the error.

    Raises:
        InvalidValue: a field that is missing, or is of another type.
    """
    converted(value, kind, name)
    return cast("T", value)


def converted(value: object, kind: type[T], name: str = "") -> T:
    """A document made from values; no value is changed to fit, so ``"1"`` is no number.

    Args:
        value: what was read: dictionaries, lists, texts, numbers, truth values and None.
        kind: the type of the document.
        name: what the names of fields begin with in an error; the name of the document, if the error is about it all.

    Raises:
        InvalidValue: a field that is missing, unknown, or of another type.

    >>> from dpverdict.audit.documents.values import RationalFields
    >>> converted({"exact": 3, "decimal": "3"}, RationalFields, "mu")
    Traceback (most recent call last):
    dpverdict.errors.InvalidValue: mu.exact=3 must be a text: The number as p or p/q, in lowest terms.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise _error_of_field(str(error), value, kind, name) from None
    except UnicodeEncodeError:
        place, text = next(_texts_beyond_utf8(value, name))
        raise InvalidValue(place, text, "a text of whole characters", "it has half of a surrogate pair") from None


def _texts_beyond_utf8(value: object, place: str) -> Generator[tuple[str, str]]:
    """The texts that have half of a surrogate pair, which no text of UTF-8 has, each with the names of its fields."""
    if isinstance(value, str) and _HALF_A_PAIR.search(value):
        yield place or "the document", value
    elif isinstance(value, Mapping):
        for key, below in value.items():
            yield from _texts_beyond_utf8(key, f"a key of {place or 'the document'}")
            yield from _texts_beyond_utf8(below, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list | tuple):
        for number, below in enumerate(value):
            yield from _texts_beyond_utf8(below, f"{place}[{number}]")


def _error_of_field(message: str, value: object, kind: type, name: str) -> InvalidValue:
    """The error of msgspec as one of ours: with the name of the field, its value, and what it is for."""
    matched = _PLACE.fullmatch(message)
    assert matched is not None  # everything matches
    problem, place = matched.group(1), matched.group(2) or ""
    whole: Mapping[str, Any] = json_schema(kind)
    schema, found, names = whole, value, [name] if name else []

    for key, index in _STEP.findall(place):
        if key:
            names.append(key)
            found = found.get(key) if isinstance(found, Mapping) else None
            schema = _schema_below(schema, whole, key)
        elif index:
            found = found[int(index)] if isinstance(found, list | tuple) else None
            schema = _schema_below(schema, whole, None)
    purpose = schema.get("description", "give another value")
    fields = _resolved_schema(schema, whole).get("properties", {})
    if unknown := re.search("(?s)unknown field `(.*)`", problem):
        key = unknown.group(1)
        given = found.get(key) if isinstance(found, Mapping) else None
        where = ".".join(names) or "the document"
        remedy = f"{nearest(key, fields)}{where} has {', '.join(fields)}"
        return InvalidValue(".".join([*names, key]), given, f"a field of {where}", remedy)
    if missing := re.search("missing required field `(.*)`", problem):
        key = missing.group(1)
        purpose = fields.get(key, {}).get("description", "it is needed")
        return InvalidValue(".".join([*names, key]), None, "given", f"add {key}: {purpose}")
    shown = ".".join(names) or "the document"
    return InvalidValue(shown, found, _requirement_of(problem, _resolved_schema(schema, whole)), purpose)


def _requirement_of(problem: str, schema: Mapping[str, Any]) -> str:
    """What a value must be, from what msgspec says it is not."""
    if wanted := re.fullmatch(r"Expected `([^`]*)`(.*?)(?:, got .*)?", problem):
        return " or ".join(_WORDS.get(one, one) for one in wanted.group(1).split(" | ")) + wanted.group(2)
    allowed = [json for one in (schema, *schema.get("anyOf", ())) for json in one.get("enum", ())]
    if allowed:
        return f"one of {', '.join(map(str, allowed))}"
    return problem.replace("`", "").removeprefix("Expected ").partition(", got")[0]


def _schema_below(schema: Mapping[str, Any], whole: Mapping[str, Any], key: str | None) -> Mapping[str, Any]:
    """The schema of a field, or of an entry of a list or a table of any names."""
    alternatives = [_resolved_schema(schema, whole)]
    alternatives += [_resolved_schema(one, whole) for one in alternatives[0].get("anyOf", ())]
    for one in alternatives:
        found = one.get("items") if key is None else one.get("properties", {}).get(key, one.get("additionalProperties"))
        if isinstance(found, Mapping):
            return found
    return {}


def _resolved_schema(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in schema:
        schema = whole["$defs"][schema["$ref"].rpartition("/")[2]]
    return schema


def json_schema(kind: type, *, identifier: str | None = None, closed: bool = False) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a document, made from its type.

    Args:
        kind: the type of the document.
        identifier: its ``$id``; None for none.
        closed: whether an object may have no field but those that are described.
    """
    made = msgspec.json.schema(kind)
    parts: dict[str, dict[str, Any]] = made["$defs"]
    for type_of_part in _documents_in(kind):
        part = parts[type_of_part.__name__]
        order = [*get_type_hints(type_of_part)]
        part["properties"] = {name: part["properties"][name] for name in sorted(part["properties"], key=order.index)}
        part["required"] = sorted(part["required"], key=order.index)
        if closed:
            part["additionalProperties"] = False
    root = parts.pop(kind.__name__)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"} | (
        {} if identifier is None else {"$id": identifier}
    )
    return {**head, **root, "$defs": parts}


def _documents_in(kind: Any, known: set[Any] | None = None) -> list[type]:
    """The types with fields of their own in a type, itself included."""
    known = set() if known is None else known
    found: list[type] = []
    if is_typeddict(kind) and kind not in known:
        known.add(kind)
        found.append(kind)
        for hint in get_type_hints(kind, include_extras=True).values():
            found += _documents_in(hint, known)
    for part in get_args(kind):
        found += _documents_in(part, known)
    return found
