"""The JSON of a report: strict, versioned, described field by field by `ReportDocument`.

A number that is certified is an object with the ends of its enclosure; an exact rational is a string ``"p/q"``; an
infinite number is the string ``"inf"`` or ``"-inf"``. There is no NaN.
"""

from __future__ import annotations

import dataclasses
import json
import os
from fractions import Fraction
from typing import Final

from dpverdict.audit.distinguishing.witness_document import strict_json
from dpverdict.audit.documents.report import ReportDocument
from dpverdict.audit.documents.schema import json_schema
from dpverdict.audit.exact.verdict import Certificate, Verdict, Witness
from dpverdict.audit.exact.worst_case import WorstCase, gdp_parameter
from dpverdict.audit.implementation.embedding import TWO_SAMPLES
from dpverdict.audit.reports.parts import stated_deltas, stated_profile, stated_trade_off
from dpverdict.audit.reports.report import Report
from dpverdict.audit.reports.sections import section_values
from dpverdict.audit.trials.whole_files import write_atomically
from dpverdict.balls import Enclosure, Real
from dpverdict.mechanisms.core.guarantees import Guarantee
from dpverdict.mechanisms.core.neighbours import NeighbourPair, adjacency_name
from dpverdict.numerics.text import decimal, plain_text

SCHEMA_VERSION: Final = 1
"""Raised when a field changes its meaning or goes away; a new field does not raise it."""

LARGEST_PAIR: Final = 10_000
"""Datasets with more numbers than this are described, not written out."""


def write_json(report: Report, path: str | os.PathLike[str]) -> None:
    """Write the report as JSON, whole or not at all.

    Raises:
        OSError: the directory is missing, or cannot be written to.
    """
    write_atomically(path, render_json(report))


def render_json(report: Report) -> str:
    """The report as JSON text: the same report gives the same bytes."""
    return json.dumps(strict_json(report_fields(report)), indent=2, allow_nan=False, ensure_ascii=True) + "\n"


def read_schema() -> dict[str, object]:
    """The JSON Schema (2020-12) of what `render_json` writes."""
    return json_schema(ReportDocument, identifier=f"urn:dpverdict:report:{SCHEMA_VERSION}")


def report_fields(report: Report) -> dict[str, object]:
    """The report as JSON values."""
    fields: dict[str, object] = {
        "schema_version": SCHEMA_VERSION,
        "created": report.created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "mechanism": {
            "name": report.name,
            "parameters": dict(report.parameters),
            "relation": report.relation,
        },
        "claim": _claim(report.claim),
        "status": report.status.name,
        "exit_code": report.exit_code,
        "summary": dataclasses.asdict(report.summary),
        "answer": report.answer,
        "disagreement": report.disagreement,
        "exact": _exact(report),
        "statistical": _statistical(report),
        "membership": None,
        "implementation": [],
        "assumptions": [],
    }
    return fields | section_values(report)


def _claim(claim: Guarantee) -> dict[str, object]:
    named = ((parameter.name, getattr(claim, parameter.name)) for parameter in dataclasses.fields(claim))
    parameters: dict[str, object] = {name: _rational(value) for name, value in named if isinstance(value, Fraction)}
    return {"kind": type(claim).__name__, "text": claim.describe(), "parameters": parameters}


def _exact(report: Report) -> object:
    """All exact evidence; null for a black box."""
    if report.verdict is None and report.worst is None:
        return None
    worst, found = report.worst, () if report.embedding is None else report.embedding.findings
    return {
        "verdict": None if report.verdict is None else _verdict(report.verdict),
        "worst_case": None if worst is None else _worst(worst),
        "profile": None if worst is None else _profile(worst, report.claim),
        "epsilon_at_delta": None if worst is None else _epsilons(worst, report.claim),
        "trade_off": None if worst is None else _trade_off(worst, report.claim),
        "covariance": None if report.covariance is None else {n: _rational(v) for n, v in report.covariance.items()},
        "embedding": [
            {"name": one.name, "holds": one.holds, "method": one.method, "detail": one.detail} for one in found
        ],
    }


def _statistical(report: Report) -> object:
    """All statistical evidence; null if nothing was sampled."""
    embedding: object = None
    if report.embedding is not None:
        found = report.embedding.sampled
        finding = {"name": TWO_SAMPLES, "holds": not found.rejected, "method": "two-sample test"}
        embedding = {
            "findings": [{**finding, "detail": found.detail}],
            "samples": found.samples,
            "error_probability": found.error_probability,
            "seed": found.seed,
        }
    sequential = None if report.sequential is None else report.sequential.to_dict()
    if report.test is None and embedding is None and report.leak is None and sequential is None:
        return None
    return {
        "test": None if report.test is None else report.test.to_dict(),
        "sequential": sequential,
        "embedding": embedding,
        "low_bits": None if report.leak is None else report.leak.describe(),
    }


def _verdict(verdict: Verdict) -> dict[str, object]:
    return {
        "status": verdict.status.name,
        "certificate": None if verdict.certificate is None else _certificate(verdict.certificate),
        "witness": None if verdict.witness is None else _witness(verdict.witness),
        "reason": verdict.reason,
        "on_trust": verdict.on_trust,
    }


def _certificate(certificate: Certificate) -> dict[str, object]:
    return {
        "method": certificate.method,
        "statement": certificate.statement,
        "attained": _enclosure(certificate.value),
        "allowed": _enclosure(certificate.bound),
        "worst_case": certificate.worst_case,
        "assumptions": list(certificate.assumptions),
        "source_sha256": certificate.source_sha256,
    }


def _witness(witness: Witness) -> dict[str, object]:
    return {
        "neighbours": _pair(witness.pair),
        "difference": witness.difference,
        "event": witness.event,
        "probability": _enclosure(witness.probability),
        "neighbour_probability": _enclosure(witness.neighbour_probability),
        "attained": _enclosure(witness.value),
        "allowed": _enclosure(witness.bound),
        "statement": witness.statement,
    }


def _worst(worst: WorstCase) -> dict[str, object]:
    mu = gdp_parameter(worst.loss)
    return {
        "neighbours": _pair(worst.pair),
        "description": worst.description,
        "justification": worst.justification,
        "attained": worst.exact,
        "mu": None if mu is None else _enclosure(mu),
    }


def _profile(worst: WorstCase, claim: Guarantee) -> list[object]:
    return [
        {
            "epsilon": _rational(epsilon),
            "delta": _enclosure(exact),
            "claimed_delta_upper": Enclosure.of(Real.of(claimed)).upper,
        }
        for epsilon, exact, claimed in stated_profile(worst.loss, claim)
    ]


def _epsilons(worst: WorstCase, claim: Guarantee) -> list[object]:
    return [
        {"delta": _rational(delta), "epsilon": _enclosure(worst.loss.certified_epsilon(delta))}
        for delta in stated_deltas(claim)
    ]


def _trade_off(worst: WorstCase, claim: Guarantee) -> list[object]:
    return [
        {
            "alpha": _rational(alpha),
            "beta": _enclosure(exact),
            "claimed_beta_lower": Enclosure.of(Real.of(claimed)).lower,
        }
        for alpha, exact, claimed in stated_trade_off(worst.loss, claim)
    ]


def _pair(pair: NeighbourPair) -> dict[str, object]:
    small = pair.dataset.size + pair.neighbour.size <= LARGEST_PAIR
    return {
        "relation": adjacency_name(pair.adjacency),
        "records_per_user": pair.records_per_user,
        "description": pair.describe(),
        "dataset": pair.dataset.tolist() if small else None,
        "neighbour": pair.neighbour.tolist() if small else None,
    }


def _enclosure(enclosure: Enclosure) -> dict[str, object]:
    return {
        "lower": enclosure.lower,
        "upper": enclosure.upper,
        "decimal": enclosure.show(),
    }


def _rational(value: Fraction) -> dict[str, object]:
    return {"exact": plain_text(value), "decimal": decimal(value, 17)}
