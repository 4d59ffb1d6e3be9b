"""The exact evidence: the verdict with its certificate or witness, the worst neighbours, and certified numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from dp_accounting.privacy_accountant import NeighboringRelation

from dpverdict.audit.documents.report import (
    CertificateFields,
    EpsilonPoint,
    ExactWitnessFields,
    ProfilePoint,
    TradeOffPoint,
    VariantsFields,
    VerdictFields,
    WorstCaseFields,
)
from dpverdict.audit.documents.values import EnclosureFields, PairFields, RationalFields, Relation, StatusName
from dpverdict.audit.exact.verdict import Certificate, Status, Verdict, Witness
from dpverdict.audit.exact.worst_case import WorstCase, gdp_parameter
from dpverdict.audit.reports.evidence.evidence import Evidence, OtherEvidence
from dpverdict.audit.reports.parts import (
    FAILS,
    HOLDS,
    NOT_DECIDED,
    Brief,
    Check,
    EvidenceKind,
    Section,
    Table,
    facts,
    stated_deltas,
    stated_profile,
    stated_trade_off,
)
from dpverdict.balls import Enclosure, Real
from dpverdict.mechanisms.core.guarantees import Guarantee
from dpverdict.mechanisms.core.neighbours import NeighbourPair, adjacency_name
from dpverdict.numerics.text import (
    DETAILED,
    at_least,
    at_most,
    decimal,
    plain_text,
    shown,
    with_rounded_numbers,
)

LARGEST_PAIR: Final = 10_000
"""Datasets with more numbers than this are described, not written out."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Variants:
    """What the same noise keeps where one part of the description is another.

    Attributes:
        varied_by: the name of that part, such as batches.
        assumed: what it is in what was audited.
        delta: of all epsilons.
        epsilons: the least that is kept with delta, enclosed, by what the part is.
    """

    varied_by: str
    assumed: str
    delta: Fraction
    epsilons: Mapping[str, Enclosure]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ExactEvidence(Evidence):
    """Evidence without an error probability.

    Attributes:
        verdict: on the claim.
        worst: the worst neighbouring pair and its privacy loss.
        covariance: the distinct entries of the covariance of the noise, exactly.
        variants: epsilon at a delta of the same noise where something else is assumed.
    """

    verdict: Verdict | None = None
    worst: WorstCase | None = None
    covariance: Mapping[str, Fraction] | None = None
    variants: Variants | None = None

    name = "verdict"
    position = 10

    @property
    def claim(self) -> Guarantee | None:
        """The claim that the verdict is on."""
        return None if self.verdict is None else self.verdict.claim

    @property
    def decides(self) -> Status | None:
        """The verdict."""
        return None if self.verdict is None else self.verdict.status

    @property
    def answer(self) -> str | None:
        """What the verdict says."""
        return None if self.verdict is None else self.verdict.answer

    def key_facts(self) -> Mapping[str, str]:
        """The exact parameter."""
        mu = None if self.worst is None else gdp_parameter(self.worst.loss)
        if self.worst is None or mu is None:
            return {}
        name = "Exact mu of the worst neighbours" if self.worst.exact else "Mu of any neighbours, at most"
        return {name: shown(mu)}

    def brief(self, known: OtherEvidence) -> Brief:
        """The worst neighbours, or those that break the claim with their event, and how it was decided."""
        verdict, named = self.verdict, dict[str, str]()
        if verdict is not None and verdict.witness is not None:
            witness = verdict.witness
            sides = {"on the dataset": witness.probability, "on the neighbour": witness.neighbour_probability}
            named["neighbours"] = witness.difference
            named["event"] = with_rounded_numbers(witness.event)
            named["probability"] = ", ".join(f"{shown(one)} {side}" for side, one in sides.items())
        elif self.worst is not None:
            named["worst neighbours"] = self.worst.description
        if self.variants is not None:
            named[f"other {self.variants.varied_by}"] = _variants_in_words(self.variants)
        if verdict is None:
            return Brief(facts=named)
        results = {Status.CERTIFIED: HOLDS, Status.REFUTED: FAILS, Status.INCONCLUSIVE: NOT_DECIDED}
        seen = "for every pair of neighbours"
        if verdict.certificate is not None:
            seen += f", by {verdict.certificate.method}"
        if verdict.witness is not None:
            seen = "the event has probabilities that the claim does not allow"
        return Brief(facts=named, checks=(Check(name="exact audit", result=results[verdict.status], seen=seen),))

    def sections(self, known: OtherEvidence) -> Iterator[Section]:
        """The worst neighbours, what the verdict rests on, the certified numbers, and the covariance."""
        if self.worst is not None:
            yield from _worst_pair_section(self.worst)
        if self.verdict is not None:
            yield from _verdict(self.verdict)
        if self.worst is not None:
            yield from _numbers(self.worst, known.claim)
        if self.covariance is not None:
            yield from _covariance(self.covariance)
        if self.variants is not None:
            yield _variants(self.variants)

    def fields(self, known: OtherEvidence) -> Mapping[str, object]:
        """The same as JSON values; null for what there is none of."""
        worst, covariance = self.worst, self.covariance
        return {
            "exact.verdict": None if self.verdict is None else _verdict_fields(self.verdict),
            "exact.worst_case": None if worst is None else _worst_fields(worst),
            "exact.profile": None if worst is None else _profile(worst, known.claim),
            "exact.epsilon_at_delta": None if worst is None else _epsilon_points(worst, known.claim),
            "exact.trade_off": None if worst is None else _trade_off(worst, known.claim),
            "exact.covariance": None if covariance is None else {n: rational_fields(v) for n, v in covariance.items()},
            "exact.variants": None if self.variants is None else _variants_fields(self.variants),
        }


def _worst_pair_section(worst: WorstCase) -> Iterator[Section]:
    named = {
        "worst neighbours": worst.description,
        "an example": worst.pair.describe(),
        "why the worst": worst.justification,
    }
    mu = gdp_parameter(worst.loss)
    if mu is not None:
        named["exact GDP mu" if worst.exact else "GDP mu, at most"] = mu.show()
    yield Section(anchor="worst", title="Worst neighbours", evidence=EvidenceKind.EXACT, tables=(facts(named),))


def _verdict(verdict: Verdict) -> Iterator[Section]:
    """The certificate, the witness, or what is undecided."""
    if verdict.certificate is not None:
        yield _certificate(verdict.certificate)
    if verdict.witness is not None:
        yield _witness(verdict.witness)
    if verdict.reason is not None:
        yield Section(anchor="reason", title="What is undecided", evidence=EvidenceKind.EXACT, text=(verdict.reason,))


def _certificate(certificate: Certificate) -> Section:
    named = {
        "decided by": certificate.method,
        "inequality": certificate.statement,
        "attained": certificate.value.show(),
        "allowed": certificate.bound.show(),
        "source SHA-256": certificate.source_sha256,
    }
    return Section(anchor="certificate", title="Certificate", evidence=EvidenceKind.EXACT, tables=(facts(named),))


def _witness(witness: Witness) -> Section:
    named = {
        "neighbours": witness.difference,
        "example": witness.pair.describe(),
        "event": witness.event,
        "P(event)": witness.probability.show(),
        "Q(event)": witness.neighbour_probability.show(),
        "violated": witness.statement,
        "attained": witness.value.show(),
        "allowed": witness.bound.show(),
    }
    text = (
        "P is the law of the release on the dataset, Q its law on the neighbour. To check by hand: compute both "
        "probabilities of the event from the law of the noise, and put them into the inequality of the claim.",
    )
    return Section(anchor="witness", title="Witness", evidence=EvidenceKind.EXACT, text=text, tables=(facts(named),))


def _numbers(worst: WorstCase, claim: Guarantee) -> Iterator[Section]:
    text: tuple[str, ...] = ()
    if not worst.exact:
        text = ("No worst pair is known: each number is between what some pair attains, and what is certified of all.",)
    profile = Table(
        caption="Privacy profile: the hockey-stick divergence delta at epsilon",
        header=("epsilon", "delta, certified", "delta, claimed at most"),
        rows=tuple(
            (decimal(e), shown(exact, DETAILED), at_most(claimed, DETAILED))
            for e, exact, claimed in stated_profile(worst, claim)
        ),
    )
    inverse = Table(
        caption="The smallest epsilon for a delta",
        header=("delta", "epsilon, certified"),
        rows=tuple((decimal(delta), shown(worst.certified_epsilon(delta), DETAILED)) for delta in stated_deltas(claim)),
    )
    yield Section(
        anchor="numbers", title="Exact privacy", evidence=EvidenceKind.EXACT, text=text, tables=(profile, inverse)
    )


def _covariance(entries: Mapping[str, Fraction]) -> Iterator[Section]:
    if entries:
        rows = tuple((name, decimal(value)) for name, value in entries.items())
        yield Section(
            anchor="covariance",
            title="Covariance of the noise",
            evidence=EvidenceKind.EXACT,
            tables=(Table(header=("entry", "value (rounded)"), rows=rows),),
        )


def _variants(variants: Variants) -> Section:
    rows = tuple(
        (
            f"{name} (assumed here)" if name == variants.assumed else name,
            at_least(epsilon.lower, 6),
            at_most(epsilon.upper, 6) if math.isfinite(epsilon.upper) else "none known",
        )
        for name, epsilon in variants.epsilons.items()
    )
    caption = f"The least epsilon at delta {decimal(variants.delta)}, by {variants.varied_by}"
    header = (variants.varied_by, "attained", "certified")
    text = (f"The audit holds for the {variants.varied_by} that are assumed, and for no others.",)
    table = Table(caption=caption, header=header, rows=rows)
    title = f"The same noise with other {variants.varied_by}"
    return Section(anchor="variants", title=title, evidence=EvidenceKind.EXACT, text=text, tables=(table,))


def _variants_in_words(variants: Variants) -> str:
    """What the same noise keeps otherwise, each in a few words."""
    said = []
    for name, epsilon in variants.epsilons.items():
        if name != variants.assumed:
            bound = f"at most {at_most(epsilon.upper, 3)}" if math.isfinite(epsilon.upper) else "no bound known"
            said.append(f"{name} {bound}")
    return f"epsilon at delta {decimal(variants.delta)}: {', '.join(said)}"


# the same as JSON values ----------------------------------------------------------------------------------------------


def _verdict_fields(verdict: Verdict) -> VerdictFields:
    return {
        "status": status_name(verdict.status),
        "certificate": None if verdict.certificate is None else _certificate_fields(verdict.certificate),
        "witness": None if verdict.witness is None else witness_fields(verdict.witness),
        "reason": verdict.reason,
        "on_trust": verdict.on_trust,
    }


def _certificate_fields(certificate: Certificate) -> CertificateFields:
    return {
        "method": certificate.method,
        "statement": certificate.statement,
        "attained": enclosure_fields(certificate.value),
        "allowed": enclosure_fields(certificate.bound),
        "worst_case": certificate.worst_case,
        "assumptions": list(certificate.assumptions),
        "source_sha256": certificate.source_sha256,
    }


def witness_fields(witness: Witness) -> ExactWitnessFields:
    """A witness as JSON values."""
    return {
        "neighbours": _pair(witness.pair),
        "difference": witness.difference,
        "event": witness.event,
        "probability": enclosure_fields(witness.probability),
        "neighbour_probability": enclosure_fields(witness.neighbour_probability),
        "attained": enclosure_fields(witness.value),
        "allowed": enclosure_fields(witness.bound),
        "statement": witness.statement,
    }


def _worst_fields(worst: WorstCase) -> WorstCaseFields:
    mu = gdp_parameter(worst.loss)
    return {
        "neighbours": _pair(worst.pair),
        "description": worst.description,
        "justification": worst.justification,
        "attained": worst.exact,
        "mu": None if mu is None else enclosure_fields(mu),
    }


def _profile(worst: WorstCase, claim: Guarantee) -> list[ProfilePoint]:
    return [
        {
            "epsilon": rational_fields(epsilon),
            "delta": enclosure_fields(exact),
            "claimed_delta_upper": Enclosure.of(Real.of(claimed)).upper,
        }
        for epsilon, exact, claimed in stated_profile(worst, claim)
    ]


def _epsilon_points(worst: WorstCase, claim: Guarantee) -> list[EpsilonPoint]:
    return [
        {"delta": rational_fields(delta), "epsilon": enclosure_fields(worst.certified_epsilon(delta))}
        for delta in stated_deltas(claim)
    ]


def _trade_off(worst: WorstCase, claim: Guarantee) -> list[TradeOffPoint]:
    return [
        {
            "alpha": rational_fields(alpha),
            "beta": enclosure_fields(exact),
            "claimed_beta_lower": Enclosure.of(Real.of(claimed)).lower,
        }
        for alpha, exact, claimed in stated_trade_off(worst, claim)
    ]


def _variants_fields(variants: Variants) -> VariantsFields:
    return {
        "varied_by": variants.varied_by,
        "assumed": variants.assumed,
        "delta": rational_fields(variants.delta),
        "epsilons": {name: enclosure_fields(epsilon) for name, epsilon in variants.epsilons.items()},
    }


def _pair(pair: NeighbourPair) -> PairFields:
    small = pair.dataset.size + pair.neighbour.size <= LARGEST_PAIR
    return {
        "relation": relation_name(pair.adjacency),
        "records_per_user": pair.records_per_user,
        "description": pair.describe(),
        "dataset": pair.dataset.tolist() if small else None,
        "neighbour": pair.neighbour.tolist() if small else None,
    }


def status_name(status: Status) -> StatusName:
    """The name of a status, as the documents have it."""
    names: Mapping[Status, StatusName] = {
        Status.CERTIFIED: "CERTIFIED",
        Status.REFUTED: "REFUTED",
        Status.INCONCLUSIVE: "INCONCLUSIVE",
    }
    return names[status]


def relation_name(adjacency: NeighboringRelation) -> Relation:
    """The name of a relation, as the documents have it."""
    return "replace-one" if adjacency_name(adjacency) == "replace-one" else "add-or-remove-one"


def enclosure_fields(enclosure: Enclosure) -> EnclosureFields:
    """The two ends of a number as JSON values."""
    return {
        "lower": enclosure.lower,
        "upper": enclosure.upper,
        "decimal": enclosure.show(),
    }


def rational_fields(value: Fraction) -> RationalFields:
    """An exact number as JSON values."""
    return {"exact": plain_text(value), "decimal": decimal(value, 17)}
