"""A document is one type: what does not fit it is one error of ours, and its JSON Schema is made from it."""

import re
from typing import Annotated, Any, NotRequired, TypedDict

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverdict.audit.documents.account import CalibrationDocument, CompositionDocument, NeededNoiseDocument
from dpverdict.audit.documents.packet import PacketDocument
from dpverdict.audit.documents.plan import PlanDocument, PlanEntry, PlanHead
from dpverdict.audit.documents.report import ReportDocument
from dpverdict.audit.documents.request import Request, ScoresRequest, option_of, parts
from dpverdict.audit.documents.sampler import SamplerDocument
from dpverdict.audit.documents.schema import checked, converted, described, fields_of, json_schema
from dpverdict.audit.documents.values import Count, Number
from dpverdict.audit.documents.witness import WitnessDocument
from dpverdict.errors import InvalidValue

WRITTEN = (
    ReportDocument,
    WitnessDocument,
    PlanDocument,
    PacketDocument,
    SamplerDocument,
    CompositionDocument,
    CalibrationDocument,
    NeededNoiseDocument,
)
READ = (PlanHead, PlanEntry, Request, ScoresRequest)


class NumberPart(TypedDict):
    """A part whose texts are words for numbers."""

    size: int
    found: Number | list[Number] | None


class Part(TypedDict):
    """A part."""

    size: Annotated[Count, described("How many there are.")]
    found: Annotated[Number | None, described("What was found.")]


class Planted(TypedDict):
    """A document."""

    title: Annotated[str, described("Of the page.")]
    parts: Annotated[list[Part], described("One for each.")]
    also: NotRequired[Annotated[dict[str, Part], described("By name.")]]


GOOD: dict[str, Any] = {"title": "x", "parts": [{"size": 1, "found": "inf"}]}


@pytest.mark.parametrize(
    ("change", "name", "message"),
    [
        ({"title": 3}, "d.title", "d.title=3 must be a text: Of the page."),
        ({"parts": {}}, "d.parts", "d.parts={} must be a list: One for each."),
        ({"parts": [{"size": -1, "found": None}]}, "d.parts.size", "must be a whole number >= 0: How many there are."),
        ({"parts": [{"size": True, "found": 1}]}, "d.parts.size", "d.parts.size=True must be a whole number: How many"),
        (
            {"parts": [{"size": 1, "found": "much"}]},
            "d.parts.found",
            "'much' must be one of -inf, inf: What was found.",
        ),
        ({"parts": [{"size": 1}]}, "d.parts.found", "d.parts.found must be given: add found: What was found."),
        ({"also": {"one": 1}}, "d.also", "must be a table of names and values"),
    ],
)
def test_what_does_not_fit_is_named_with_its_value_and_what_it_is_for(
    change: dict[str, object], name: str, message: str
) -> None:
    assert checked(GOOD, Planted, "d") is GOOD
    with pytest.raises(InvalidValue, match=re.escape(message)) as refused:
        checked(GOOD | change, Planted, "d")
    assert refused.value.name == name


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"size": 1, "found": "\ud800"}, "part.found"),
        ({"size": 1, "found": [0, "\udfff \u20ac"]}, r"part.found\[1\]"),
        ({"size": 1, "found": None, "\ud800": 1}, "a key of part"),
    ],
)
def test_half_of_a_surrogate_pair_is_named_with_its_place(value: dict[str, Any], place: str) -> None:
    with pytest.raises(InvalidValue, match=f"^{place}='.*' must be a text of whole characters"):
        checked(value, NumberPart, "part")


def test_an_unknown_key_of_what_is_read_is_told_with_the_one_that_was_meant() -> None:
    with pytest.raises(InvalidValue, match="did you mean expect"):
        converted({"expects": "refuted"}, PlanEntry, "audit")
    with pytest.raises(InvalidValue, match="one of certified, not refuted, refuted"):
        converted({"expect": "perhaps"}, PlanEntry, "audit")


@pytest.mark.parametrize("kind", [Planted, *WRITTEN, *READ])
def test_the_schema_is_valid_keeps_the_order_and_refuses_what_the_type_refuses(kind: type) -> None:
    schema = json_schema(kind, closed=True)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert list(schema["properties"]) == list(fields_of(kind))
    assert not jsonschema.Draft202012Validator(schema).is_valid({"no such field": 1})


values = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(0.1, 0.9) | st.text()
trees = st.recursive(values, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=6)


@given(st.dictionaries(st.sampled_from(["title", "parts", "also", "size", "found"]), trees))
def test_schema_and_check_agree_on_any_value(found: dict[str, Any]) -> None:
    valid = jsonschema.Draft202012Validator(json_schema(Planted)).is_valid(found)
    try:
        checked(found, Planted, "d")
    except InvalidValue:
        assert not valid
    else:
        assert valid


@given(trees)
def test_any_value_is_a_request_or_one_clear_error(found: object) -> None:
    for kind in READ:
        problem = ""
        try:
            converted(found, kind, "it")
        except InvalidValue as error:
            problem = error.requirement
        assert len(problem.splitlines()) <= 1


def test_every_part_of_a_request_is_said_once_with_an_option_of_its_own() -> None:
    for kind in (Request, ScoresRequest):
        options = [option_of(kind, name) for name in parts(kind)]
        assert len(set(options)) == len(options)
        assert all(said["text"] for said in parts(kind).values())
        assert set(parts(kind)) | {"options", "command"} == set(fields_of(kind)) | {"options", "command"}
