"""What releases spend, and the least noise: what ``dpverdict compose --json`` and ``calibrate --json`` write."""

from __future__ import annotations

from typing import Annotated, TypedDict

from dpverdict.audit.documents.report import RiskFields
from dpverdict.audit.documents.schema import described
from dpverdict.audit.documents.values import (
    Count,
    EnclosureFields,
    Positive,
    RationalFields,
    Relation,
    SchemaVersion,
    StatusName,
    Timestamp,
)


class ComparedFields(TypedDict):
    """A claim, held to what is spent."""

    claim: Annotated[str, described("What is promised.")]
    status: Annotated[StatusName, described("CERTIFIED: kept; REFUTED: not kept; INCONCLUSIVE otherwise.")]
    certified: Annotated[bool, described("Whether ball arithmetic or exact numbers decided.")]
    quantity: Annotated[str | None, described("What is compared; null where it could not be computed.")]
    attained: Annotated[EnclosureFields | None, described("Its value, of what is spent.")]
    allowed: Annotated[EnclosureFields | None, described("The largest value that the claim permits.")]
    answer: Annotated[str, described("The same in a sentence.")]


class SpentReleaseFields(TypedDict):
    """One sort of release."""

    release: Annotated[str, described("As it was written.")]
    count: Annotated[Count, described("How often it runs.")]
    remaining: Annotated[Count | None, described("How often it could run again within the claim; null without one.")]


class EpsilonFields(TypedDict):
    """The epsilon that is spent at a delta."""

    delta: RationalFields
    above: Annotated[EnclosureFields, described("A bound for every pair of neighbours, enclosed.")]
    attained: Annotated[EnclosureFields, described("That of a pair of neighbours.")]
    certified: Annotated[bool, described("Whether both are by ball arithmetic or exact numbers.")]


_Risk = Annotated[RiskFields | None, described("Of what is spent; null without --base-rate.")]
_Versions = Annotated[dict[str, str], described("Of the software, by name.")]
_Command = Annotated[str | None, described("The command line.")]


class CompositionDocument(TypedDict):
    """What releases spend together."""

    schema_version: SchemaVersion
    created: Annotated[Timestamp, described("When, in UTC.")]
    releases: Annotated[list[SpentReleaseFields], described("Every sort of them.")]
    held: Annotated[ComparedFields | None, described("To the claim; null without one.")]
    epsilon: Annotated[EpsilonFields | None, described("At the delta that was given; null without one.")]
    answer: Annotated[str, described("The first line of what is printed.")]
    risk: _Risk
    versions: _Versions
    command: _Command


class CalibrationDocument(TypedDict):
    """The least noise at which a mechanism keeps a claim."""

    schema_version: SchemaVersion
    created: Annotated[Timestamp, described("When, in UTC.")]
    mechanism: Annotated[str, described("Its name.")]
    parameters: Annotated[dict[str, str], described("That were given.")]
    claim: Annotated[str, described("What is to be kept, by all releases together.")]
    releases: Annotated[Positive, described("How many share the claim.")]
    parameter: Annotated[str, described("What was to be found.")]
    value: Annotated[float, described("The least float64 that was found to keep the claim: it is certified.")]
    below: Annotated[float, described("A float64 below it that is not shown to keep the claim.")]
    kept: Annotated[ComparedFields, described("What is spent at the value.")]
    broken: Annotated[ComparedFields, described("What is spent below it.")]
    least: Annotated[
        bool, described("Whether neighbours attain what is spent; otherwise a smaller value may keep the claim too.")
    ]
    answer: Annotated[str, described("The first line of what is printed.")]
    risk: _Risk
    versions: _Versions
    command: _Command


class NeededScaleFields(TypedDict):
    """What one line of a function needs."""

    line: Annotated[str, described("Of the user's code.")]
    statistic: Annotated[str, described("What is released there, as an expression of columns.")]
    noise: Annotated[str, described("Its scale or its rate now; empty where there are several, or none.")]
    factor: Annotated[
        float | None,
        described("By which its scales are multiplied at least, with the other lines as they are; null: by none."),
    ]
    needed: Annotated[str, described("The same in words.")]


class NeededNoiseDocument(TypedDict):
    """The least noise at which a function keeps a claim, for every table of a schema."""

    schema_version: SchemaVersion
    created: Annotated[Timestamp, described("When, in UTC.")]
    function: Annotated[str, described("Its name.")]
    schema: Annotated[str, described("The file with the schema of its table.")]
    claim: Annotated[str, described("What is to be kept.")]
    relation: Annotated[Relation, described("Which tables are neighbours.")]
    refused: Annotated[str | None, described("Why the function is not covered; null if it is.")]
    lines: Annotated[list[NeededScaleFields], described("One for each line that releases something.")]
    factor: Annotated[
        float | None, described("By which all scales are multiplied at least, together; null where none is enough.")
    ]
    observed: Annotated[list[str], described("Columns whose bounds were only observed.")]
    exit_code: Annotated[int, described("0: found; 3: not covered, no factor is enough, or bounds only observed.")]
    answer: Annotated[str, described("The first line of what is printed.")]
    risk: _Risk
    versions: _Versions
    command: _Command
