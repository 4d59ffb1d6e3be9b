"""A report of one audit: what ``dpverdict audit --json`` and ``dpverdict scores --json`` write."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from dpverdict.audit.documents.schema import described
from dpverdict.audit.documents.statistical import FindingFields, StatisticalFields
from dpverdict.audit.documents.values import (
    Count,
    DecisionName,
    EnclosureFields,
    Number,
    PairFields,
    RationalFields,
    SchemaVersion,
    Sha256,
    StatusName,
    Timestamp,
)


class CertificateFields(TypedDict):
    """Why the claim holds."""

    method: Annotated[str, described("exact rational arithmetic, or ball arithmetic.")]
    statement: Annotated[str, described("The inequality that was decided, with its numbers.")]
    attained: Annotated[EnclosureFields, described("What the mechanism attains.")]
    allowed: Annotated[EnclosureFields, described("What the claim allows for the same quantity.")]
    worst_case: Annotated[str, described("How the worst neighbours are known to be the worst.")]
    assumptions: Annotated[list[str], described("What the certificate takes for granted.")]
    source_sha256: Annotated[
        Sha256, described("Hash of the source text of the mechanism and of the engine that certified it.")
    ]


class ExactWitnessFields(TypedDict):
    """Why the claim is false: neighbours, an event, and both of its probabilities."""

    neighbours: Annotated[PairFields, described("The neighbouring datasets.")]
    difference: Annotated[str, described("The pair in words.")]
    event: Annotated[str, described("A set of outputs, in words and numbers that a reader can recompute.")]
    probability: Annotated[EnclosureFields, described("P(event).")]
    neighbour_probability: Annotated[EnclosureFields, described("Q(event).")]
    attained: Annotated[EnclosureFields, described("What the pair attains for the claimed quantity.")]
    allowed: Annotated[EnclosureFields, described("What the claim allows for it.")]
    statement: Annotated[str, described("The violated inequality, with its numbers.")]


class VerdictFields(TypedDict):
    """What the exact audit decided."""

    status: Annotated[StatusName, described("Of the exact evidence alone.")]
    certificate: Annotated[CertificateFields | None, described("Present if CERTIFIED.")]
    witness: Annotated[ExactWitnessFields | None, described("Present if REFUTED.")]
    reason: Annotated[str | None, described("Present if INCONCLUSIVE: what is undecided.")]
    on_trust: NotRequired[
        Annotated[
            str | None,
            described("What a mechanism that is not of this library declares of itself, and how it was tried."),
        ]
    ]


class WorstCaseFields(TypedDict):
    """The neighbours with the largest privacy loss."""

    neighbours: Annotated[PairFields, described("An example of them.")]
    description: Annotated[str, described("The worst record in words.")]
    justification: Annotated[str, described("Why nothing is worse.")]
    attained: Annotated[
        bool, described("Whether the neighbours attain the curves; false where these are bounds from above.")
    ]
    mu: Annotated[EnclosureFields | None, described("The exact GDP parameter; null if the loss is not Gaussian.")]


class ProfilePoint(TypedDict):
    """A point of the privacy profile."""

    epsilon: Annotated[RationalFields, described("Where.")]
    delta: Annotated[EnclosureFields, described("The certified hockey-stick divergence.")]
    claimed_delta_upper: Annotated[Number, described("What the claim allows, rounded up.")]


class EpsilonPoint(TypedDict):
    """A point of the inverse of the profile."""

    delta: Annotated[RationalFields, described("Where.")]
    epsilon: Annotated[EnclosureFields, described("The smallest epsilon >= 0 with that delta.")]


class TradeOffPoint(TypedDict):
    """A point of the trade-off function."""

    alpha: Annotated[RationalFields, described("Type I error.")]
    beta: Annotated[EnclosureFields, described("The certified smallest type II error.")]
    claimed_beta_lower: Annotated[Number, described("What the claim allows at least, rounded down.")]


class VariantsFields(TypedDict):
    """The least epsilon of the same noise where one part of the description is another."""

    varied_by: Annotated[str, described("The part that differs, such as batches.")]
    assumed: Annotated[str, described("What it is in what was audited.")]
    delta: Annotated[RationalFields, described("Of all epsilons.")]
    epsilons: Annotated[
        dict[str, EnclosureFields], described("Attained at the lower end, certified at the upper one, by that part.")
    ]


class SharesFields(TypedDict):
    """A share from two sides."""

    lower: Annotated[float, described("At least, of the laws that were looked at.")]
    upper: Annotated[float, described("At most.")]


class AttackFields(TypedDict):
    """The best attack with a share of false alarms."""

    false_alarms: Annotated[RationalFields, described("Of those who are no members, the share that it accuses.")]
    found: Annotated[SharesFields, described("Of the members, the share that it accuses.")]
    right: Annotated[SharesFields, described("Of those whom it accuses, the share that are members.")]


class RiskFields(TypedDict):
    """What an attacker attains at a base rate."""

    base_rate: Annotated[RationalFields, described("The share of the people that it suspects before the release.")]
    how: Annotated[str, described("By what the numbers are known.")]
    shown: Annotated[
        bool, described("Whether an attack attains the lower ends, of a refuted claim; else every one keeps the upper.")
    ]
    provided: Annotated[str, described("The condition under which the numbers hold; empty if there is none.")]
    sentences: Annotated[list[str], described("The same in words.")]
    attacks: Annotated[list[AttackFields], described("At some shares of false alarms.")]
    as_many: Annotated[
        AttackFields | None, described("That accuses as many people as it suspects; null where nothing is known.")
    ]
    any_attack: Annotated[
        SharesFields | None, described("How often the best of all attacks is right; null where no bound is known.")
    ]


class ExactFields(TypedDict):
    """All exact evidence."""

    verdict: Annotated[VerdictFields | None, described("The verdict of the exact audit on the claim.")]
    worst_case: Annotated[WorstCaseFields | None, described("The neighbours with the largest privacy loss.")]
    profile: Annotated[list[ProfilePoint] | None, described("The privacy profile of the worst neighbours.")]
    epsilon_at_delta: Annotated[list[EpsilonPoint] | None, described("The inverse of the privacy profile.")]
    trade_off: Annotated[list[TradeOffPoint] | None, described("The trade-off function of the worst neighbours.")]
    covariance: Annotated[
        dict[str, RationalFields] | None, described("The distinct entries of the covariance of the noise, by name.")
    ]
    variants: Annotated[
        VariantsFields | None, described("What the same noise keeps under other assumptions; null where none differ.")
    ]
    embedding: Annotated[
        list[FindingFields], described("The exact findings about the embedding; empty where it was not checked.")
    ]


class MechanismFields(TypedDict):
    """What was audited."""

    name: Annotated[str, described("The mechanism, as the user wrote it.")]
    parameters: Annotated[dict[str, str], described("Its parameters, in words.")]
    relation: NotRequired[
        Annotated[
            str | None,
            described("The neighbouring relation: add-or-remove-one or replace-one; null for recorded scores."),
        ]
    ]


class ClaimFields(TypedDict):
    """The guarantee that was audited."""

    kind: Annotated[
        Literal["GaussianDP", "PureDP", "ApproximateDP", "ZeroConcentratedDP", "RenyiDP"],
        described("The kind of guarantee."),
    ]
    text: Annotated[str, described("The guarantee in one line, as the command line reads it.")]
    parameters: Annotated[dict[str, RationalFields], described("Its parameters, exactly.")]


class SummaryFields(TypedDict):
    """What to read first, in plain words."""

    sentence: Annotated[str, described("What was found.")]
    decision: Annotated[
        DecisionName, described("What follows for the release, if the claim is the promise that is wanted.")
    ]
    claimed: Annotated[str, described("The claim, and what it means.")]
    found: Annotated[str, described('The same of what was found; "nothing" if no number was.')]


class ReproductionFields(TypedDict):
    """What it takes to run the audit again."""

    command: Annotated[str | None, described("The command line.")]
    seed: Annotated[Count | None, described("The seed of every random number; null if nothing was sampled.")]
    versions: Annotated[dict[str, str], described("Versions of the software, by name.")]


class CodeFindingFields(TypedDict):
    """One thing that a few runs show of the code."""

    name: Annotated[str, described("A sentence that should be true.")]
    holds: Annotated[bool | None, described("Null if it could not be checked.")]
    seen: Annotated[str, described("What was seen, in words.")]
    breaks_privacy: Annotated[bool, described("Whether a failure by itself breaks every claim.")]


class ConfirmationFields(TypedDict):
    """What the noise tap found, tested on fresh releases of the untouched function."""

    samples: Annotated[int, described("Releases on each dataset.")]
    error_probability: Annotated[float, described("Of refuting a claim that holds.")]
    refuted: Annotated[bool, described("Whether the claim is refuted.")]
    epsilon_lower: Annotated[
        Number | None, described('A bound on epsilon from below; "inf" where it is infinite; null where there is none.')
    ]
    score: Annotated[str, described("What the tap gave to tell the releases apart; empty if nothing.")]


class TapRowFields(TypedDict):
    """One place where noise was added, or an outcome was picked."""

    call: Annotated[str, described("What drew the noise.")]
    where: Annotated[str, described("File and line.")]
    promised: Annotated[str, described("What the call says of itself.")]
    measured: Annotated[str, described("How far the query moved, and what that costs.")]
    wrong: Annotated[bool, described("Whether a finding is about it.")]


class TapFindingFields(TypedDict):
    """One thing that a correct mechanism does not do."""

    what: Annotated[str, described("In a few words.")]
    where: Annotated[str, described("File and line, or empty.")]
    promised: Annotated[str, described("What was to be seen.")]
    measured: Annotated[str, described("What was seen.")]


class TapFields(TypedDict):
    """What the noise tap saw of the pair that was tested, where it was run; of this pair alone."""

    name: Annotated[str, described("The function.")]
    claim: Annotated[str, described("The claim.")]
    status: Annotated[
        Literal["REFUTED", "FINDING", "QUIET", "NOT_COVERED"],
        described(
            "REFUTED is exact, or has an error probability of 1e-6 where no draw was seen; a "
            "FINDING is what fresh releases may confirm; QUIET certifies nothing."
        ),
    ]
    reason: Annotated[str, described("Why, in a sentence.")]
    epsilon: Annotated[
        Number | None,
        described(
            'The loss of the pair along the recorded draws; "inf" where it is infinite; null where it is not known.'
        ),
    ]
    mu: Annotated[Number | None, described("The same of Gaussian noise alone.")]
    loss: Annotated[str, described("The same in words.")]
    exact: Annotated[
        bool, described("Whether it is a loss of the outcome, and not only of what the outcome is made of.")
    ]
    spent: Annotated[Number | None, described("The sum of the epsilons that library calls declare, which is no loss.")]
    rows: Annotated[list[TapRowFields], described("The places where noise was added, or an outcome was picked.")]
    findings: Annotated[list[TapFindingFields], described("What a correct mechanism does not do.")]
    open: Annotated[list[str], described("What could not be decided.")]
    uncovered: Annotated[list[str], described("What could not be followed.")]
    runs: Annotated[int, described("Of the function.")]
    seed: Annotated[int, described("Of the recorded draws.")]


class ReportDocument(TypedDict):
    """One privacy audit: the claim, the exact and the statistical evidence, and what it takes to run it again.

    Exact and statistical evidence never share an object.
    """

    schema_version: SchemaVersion
    created: Annotated[Timestamp, described("When the audit ran, in UTC.")]
    mechanism: Annotated[MechanismFields, described("What was audited.")]
    claim: Annotated[ClaimFields, described("The guarantee that was audited.")]
    status: Annotated[
        StatusName,
        described(
            "The answer: the exact verdict, unless the releases contradict it. Samples alone can refute, never certify."
        ),
    ]
    exit_code: Annotated[Literal[0, 1, 3], described("0 for CERTIFIED, 1 for REFUTED, 3 for INCONCLUSIVE.")]
    summary: Annotated[SummaryFields, described("What to read first, in plain words.")]
    answer: Annotated[str, described("One sentence: why the status is what it is.")]
    disagreement: Annotated[
        str | None,
        described(
            "The sentence to read first when two kinds of evidence contradict each other; null when they do not."
        ),
    ]
    exact: Annotated[
        ExactFields | None,
        described(
            "Exact evidence: ball arithmetic, exact rational arithmetic or symbolic identities, "
            "without an error probability. Null for a black box."
        ),
    ]
    statistical: Annotated[
        StatisticalFields | None,
        described("Statistical evidence, with its error probabilities. Null if nothing was sampled."),
    ]
    membership: Annotated[
        dict[str, str] | None,
        described("The membership-inference game of one record of a real table, in words; null without a table."),
    ]
    assumptions: Annotated[list[str], described("What is taken for granted, each assumption once.")]
    reproduction: Annotated[ReproductionFields, described("What it takes to run the audit again.")]
    implementation: NotRequired[
        Annotated[
            list[CodeFindingFields],
            described("What a few runs with known random numbers show of the code; neither refutes nor certifies."),
        ]
    ]
    tap_confirmation: NotRequired[
        Annotated[
            ConfirmationFields,
            described(
                "What the noise tap found, tested on fresh releases of the untouched function; left out "
                "where it found nothing, or they were not needed."
            ),
        ]
    ]
    tap: NotRequired[
        Annotated[
            TapFields,
            described("What the noise tap saw of the pair that was tested, where it was run; of this pair alone."),
        ]
    ]
