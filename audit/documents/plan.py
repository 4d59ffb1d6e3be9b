"""A plan: what ``dpverdict run`` reads from a TOML file, and the result that ``dpverdict run --json`` writes."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta, Struct

from dpverdict.audit.documents.request import DEFAULT_ERROR_PROBABILITY
from dpverdict.audit.documents.schema import described
from dpverdict.audit.documents.values import (
    Count,
    SchemaVersion,
    Timestamp,
)


class PlanHead(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The top of a plan, before its audits. Numbers may be written as numbers or as texts."""

    title: Annotated[str, described("Of the report.")] = "Privacy audits"
    seed: Annotated[str | None, described("Of every random number; drawn at the first start if not given.")] = None
    error_probability: Annotated[
        str, described("That any test of the plan refutes a true claim; its tests share it equally.")
    ] = DEFAULT_ERROR_PROBABILITY
    accept: Annotated[
        Literal["not refuted"] | None,
        described("Write it so, or leave it out: then only what is decided is enough."),
    ] = None
    timeout: Annotated[str | None, described("Seconds that each audit may take.")] = None
    memory: Annotated[str | None, described("Memory that each process of an audit may take, such as 2G.")] = None
    audit: Annotated[list[dict[str, Any]], described("The audits, each below a line [[audit]].")] = []
    scores: Annotated[list[dict[str, Any]], described("Audits of recorded scores, each below a line [[scores]].")] = []
    sampler: Annotated[list[dict[str, Any]], described("Audits of how batches are made, below [[sampler]].")] = []
    composition: Annotated[
        list[dict[str, Any]], described("What releases spend together, each below a line [[composition]].")
    ] = []
    deployment: Annotated[Any, described("What no audit can find out, below one line [deployment].")] = None


class PlanEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an audit of a plan says beside its request."""

    name: Annotated[str | None, described("Of the audit; no two of a plan have the same.")] = None
    expect: Annotated[
        Literal["certified", "refuted", "not refuted"] | None,
        described("What has to come out: certified, unless only releases are seen; refuted for a control."),
    ] = None
    timeout: Annotated[str | None, described("Seconds that the audit may take; else that of the plan.")] = None
    memory: Annotated[str | None, described("Memory of each of its processes; else that of the plan.")] = None


class PlannedResultFields(TypedDict):
    """What came out of one audit of the plan."""

    name: str
    expect: Literal["certified", "refuted", "not refuted"]
    control: Annotated[bool, described("Whether it is wrong on purpose, and has to be refuted.")]
    met: Annotated[bool, described("Whether what was expected came out.")]
    status: Literal["CERTIFIED", "REFUTED", "INCONCLUSIVE", "NOT RUN"]
    error: Annotated[str | None, described("Why it could not be run.")]
    report: Annotated[
        dict[str, Any] | None,
        described(
            "As in urn:dpverdict:report:1; of a sampler, as audit-sampler --json; of a composition, as compose --json."
        ),
    ]


class PlanDocument(TypedDict):
    """What came out of many audits that were run together."""

    schema_version: SchemaVersion
    title: str
    created: Annotated[Timestamp, described("When the plan was first started, in UTC.")]
    seed: Annotated[Count, described("Of every random number.")]
    error_probability: Annotated[str, described("That any test of the plan refutes a true claim: as it was written.")]
    exit_code: Annotated[
        Literal[0, 1, 2, 3],
        described(
            "0: every audit is decided as expected, or the plan accepts what was only not refuted; "
            "1: one was refuted, or was not though it had to be; 2: one could not be run; 3: "
            "something was not decided, or the plan has controls alone."
        ),
    ]
    status: Annotated[
        Literal["CERTIFIED", "REFUTED", "INCONCLUSIVE", "NOT RUN", "CONTROL MISSED"],
        described(
            "CERTIFIED only where every audit is decided as expected; REFUTED only where a claim "
            "was refuted that should hold; CONTROL MISSED where what is wrong on purpose was not "
            "refuted; NOT RUN where an audit could not be run."
        ),
    ]
    accept: Annotated[
        Literal["not refuted"] | None,
        described("Whether the plan says that it is enough if a test found nothing against a claim."),
    ]
    conclusion: Annotated[str, described("Why the exit code is what it is, in one sentence.")]
    counts: Annotated[dict[str, Count], described("How many audits ended with each status.")]
    audits: Annotated[list[PlannedResultFields], Meta(min_length=1)]
