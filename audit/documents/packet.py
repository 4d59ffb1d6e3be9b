"""The packet of a plan: what ``dpverdict run --packet`` writes as ``packet.json``."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta

from dpverdict.audit.documents.schema import described
from dpverdict.audit.documents.values import (
    Count,
    DecisionName,
    SchemaVersion,
    Timestamp,
    TracedLineFields,
)


class ComposedFields(TypedDict):
    """What the releases promise and spend together."""

    claim: str | None
    rule: str | None
    epsilon: str | None
    why_not: Annotated[str | None, described("Why the claims have no composition here.")]
    budget: str | None
    account: Annotated[
        str | None,
        described("The losses of the worst pairs, composed, held to the budget, or else to the composed claim."),
    ]


class MuFields(TypedDict):
    """One release as a number mu."""

    said: str
    value: Annotated[
        float | None, described("An upper bound on the least mu; down to down_to_delta, if that is above 0.")
    ]
    regret: Annotated[float | None, described("An upper bound on the regret of reporting mu alone.")]
    down_to_delta: NotRequired[
        Annotated[
            float | None,
            described("Where delta(epsilon) is smaller, mu was not asked; 0 where it holds of every epsilon."),
        ]
    ]


class ReleaseFields(TypedDict):
    """What is known of one release."""

    name: str
    anchor: str
    status: Literal["CERTIFIED", "REFUTED", "INCONCLUSIVE", "NOT RUN"]
    decision: str
    sentence: str
    expected: str
    claim: str | None
    claim_as_epsilon: str | None
    relation: str | None
    certified: Annotated[str | None, described("The inequality that was certified, and by what.")]
    lines: Annotated[
        list[TracedLineFields], described("What a function that was followed releases; empty of any other.")
    ]
    tested: list[str]
    risk: Annotated[list[str], described("What an attacker attains, where the plan gives a base rate.")]
    not_shown: list[str]
    assumptions: list[str]
    mu: MuFields


class ControlFields(TypedDict):
    """One mechanism that is wrong on purpose."""

    name: str
    status: str
    found: bool
    answer: str


class HazardFields(TypedDict):
    """One line of the checklist of hazards."""

    layer: str
    hazard: str
    answer: Literal["PASS", "FAIL", "NOT SHOWN"]
    evidence: Annotated[str, Meta(min_length=1)]


class RegistryFields(TypedDict):
    """The release as an entry of the registry of deployments."""

    entry: Annotated[dict[str, Any], described("In the schema of the registry of deployments, arXiv:2509.13509.")]
    tier: Annotated[Literal[0, 1, 2, 3], described("The highest tier that is complete.")]
    missing: Annotated[list[str], described("Fields that the next tier asks for.")]


class ReplayFields(TypedDict):
    """What ran, and how to run it again."""

    steps: list[str]
    seed: Count
    error_probability: str
    plan: str
    plan_sha256: str
    plan_text: str
    inputs: dict[str, str]
    files_of_the_code: dict[str, str]
    distributions: dict[str, str]
    package_sha256: str
    versions: dict[str, str]
    python: str
    machine: str


class PacketDocument(TypedDict):
    """What a plan of audits found, for the people who decide on a release."""

    format: Literal["dpverdict packet"]
    schema_version: SchemaVersion
    title: str
    created: Annotated[Timestamp, described("When the plan was first started, in UTC.")]
    status: Annotated[
        Literal["CERTIFIED", "REFUTED", "INCONCLUSIVE", "NOT RUN", "CONTROL MISSED"],
        described(
            "CERTIFIED only where every audit is decided as expected; REFUTED only where a claim "
            "was refuted that should hold; CONTROL MISSED where what is wrong on purpose was not "
            "refuted; NOT RUN where an audit could not be run."
        ),
    ]
    exit_code: Annotated[Literal[0, 1, 2, 3], described("Of the plan.")]
    accept: Annotated[
        Literal["not refuted"] | None,
        described("Whether the plan says that it is enough if a test found nothing against a claim."),
    ]
    conclusion: Annotated[str, described("Why the exit code is what it is, in one sentence.")]
    decision: Annotated[
        DecisionName,
        described("What follows for the releases, if the promises that were audited are the ones that are wanted."),
    ]
    sentence: str
    privacy_unit: Annotated[str | None, described("As the plan states it; null if it does not.")]
    relations: Annotated[list[str], described("Neighbouring relations of the releases.")]
    composed: ComposedFields
    releases: list[ReleaseFields]
    controls: list[ControlFields]
    hazards: Annotated[list[HazardFields], Meta(min_length=1)]
    hazards_source: str
    registry: RegistryFields
    replay: ReplayFields
