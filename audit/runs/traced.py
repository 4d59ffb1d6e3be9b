"""The audit of a function with the schema of its table: it is followed, and decided for every pair of neighbours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

from dpverdict.audit.distinguishing.witness_document import (
    FORMAT,
    VERSION,
    checksum,
    dataset_fields,
    software_versions,
    source_hash,
    strict_json,
)
from dpverdict.audit.documents.request import DEFAULT_ERROR_PROBABILITY, Request, names_a_callable, option_of, parts
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.isolation.process import NO_LIMITS, run_isolated
from dpverdict.audit.reports.evidence.traced import TracedEvidence
from dpverdict.audit.reports.report import Report
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.certificate import check_certificate
from dpverdict.audit.tracing.certify import SEARCH_SECONDS, certify_function
from dpverdict.audit.tracing.losses.claims import restatements
from dpverdict.audit.tracing.scales import NeededNoise, NeededScale, needed_noise
from dpverdict.audit.tracing.verdict import TracedVerdict
from dpverdict.audit.trials.user_functions import load_callable, probability
from dpverdict.errors import (
    DpverdictError,
    InvalidValue,
    MechanismFailure,
    error_to_send,
    in_one_line,
    raise_error_sent,
)
from dpverdict.mechanisms.core.guarantees import parse_guarantee
from dpverdict.mechanisms.core.neighbours import adjacency_name
from dpverdict.numerics.text import time_stamp, whole_number

TAKEN = ("claim", "schema", "seed", "error_probability", "exact_only", "base_rate")
"""The parts of a request that are looked at where a function is followed."""


def audit_traced(request: Request) -> Report:
    """Decide the claim of a function for every pair of neighbouring tables of the schema that the request names.

    Raises:
        InvalidValue: no claim, a mechanism of known structure, or a part of a request that is not looked at.
        DpverdictError: a schema or a function that cannot be read.
    """
    check_request(request)
    schema = TableSchema.from_toml(str(request.schema))
    verdict = certify_function(
        load_callable(request.mechanism, name="mechanism"),
        str(request.claim),
        schema=schema,
        name=request.mechanism,
        seed=0 if request.seed is None else whole_number(request.seed, "seed", at_least=0),
        search=0.0 if request.exact_only else SEARCH_SECONDS,
        error=probability(request.error_probability or DEFAULT_ERROR_PROBABILITY, "error_probability"),
    )
    return report_of(verdict, parameters={"schema": str(request.schema)}, command=request.command)


def check_request(request: Request) -> None:
    """Refuse what would be ignored where a function is followed."""
    given: dict[str, Any] = {name: getattr(request, name) for name in parts(Request) if name not in TAKEN}
    given = {**given, **request.options}
    del given["mechanism"]
    for name, value in given.items():
        if value is not None:
            shown = option_of(Request, name) if name in parts(Request) else f"--{name.replace('_', '-')}"
            remedy = f"leave out --schema for a test of releases, or leave out {shown}"
            raise InvalidValue(name, value, "left out beside --schema, which needs --claim alone", remedy)
    if not names_a_callable(request.mechanism):
        requirement = f"left out for {request.mechanism}, which is no function of yours"
        raise InvalidValue("schema", request.schema, requirement, "name a function: release.py:noisy_counts")
    if request.claim is None:
        raise InvalidValue("claim", None, "given with --schema", 'say what the function promises: --claim "eps=1"')
    parse_guarantee(request.claim)


def report_of(verdict: TracedVerdict, *, parameters: Mapping[str, str], command: str | None = None) -> Report:
    """The report of a verdict."""
    witness = verdict.witness
    sampled = witness is not None and witness["fresh"] is not None
    return Report(
        name=verdict.name,
        claim=parse_guarantee(verdict.claim),
        created=datetime.now(UTC).replace(microsecond=0),
        evidence=(TracedEvidence(verdict),),
        parameters=parameters,
        relation=verdict.relation,
        assumptions=verdict.assumptions,
        seed=int(witness["seed"]) if witness is not None and sampled else None,
        versions=software_versions(),
        command=command,
    )


def traced_witness(verdict: TracedVerdict, report: Report, request: Request) -> dict[str, Any] | None:
    """The document of the pair that refutes a claim, for `replay`; None if nothing is refuted."""
    found = verdict.witness
    if verdict.status is not Status.REFUTED or found is None or verdict.tables is None:
        return None
    fresh: Mapping[str, Any] = found["fresh"] or {}
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "created": time_stamp(report.created),
        "claim": verdict.claim,
        "relation": verdict.relation,
        "mechanism": {
            "name": request.mechanism,
            "options": {},
            "options_from_data": False,
            "source_sha256": source_hash(request.mechanism),
        },
        "datasets": dict(zip(("dataset", "neighbour"), map(dataset_fields, verdict.tables), strict=True)),
        "mode": "real numbers",
        "grid": 0.0,
        "kind": "tap",
        "evidence": {
            "measured_by": found["measured_by"],
            "reason": found["reason"],
            "words": list(found["words"]),
            "dataset_trials": found["samples"],
        },
        "score": None,
        "score_function": None,
        "level": found["error_probability"],
        "bounds": {"epsilon_lower": fresh.get("epsilon_lower")},
        "p_value": None,
        "samples": fresh.get("samples"),
        "seed": found["seed"],
        "ledger": None,
        "versions": dict(report.versions),
        "command": report.command,
    }
    document = strict_json(document)  # type: ignore[assignment]  # a mapping stays one
    return {**document, "sha256": checksum(document)}


def must_be_certified(found: Mapping[str, Any], certificate: Mapping[str, Any] | None, request: Request) -> None:
    """Derive the certificate of a CERTIFIED function again, outside of the process in which the function ran.

    Raises:
        MechanismFailure: the process sent a status that its certificate does not prove.
    """
    if found["status"] != Status.CERTIFIED.name:
        return
    schema = TableSchema.from_toml(str(request.schema))
    try:
        if certificate is None:
            raise ValueError("it is missing")
        claim = found["claim"]["text"]
        asked = parse_guarantee(str(request.claim))
        if claim not in [one.describe() for one in (asked, *restatements(asked))]:
            raise ValueError(f"{claim} is another claim")
        relation = adjacency_name(schema.relation)
        stated = {"schema": schema.to_toml(), "claim": claim, "function": request.mechanism, "relation": relation}
        other = [name for name, value in stated.items() if certificate.get(name) != value]
        if other:
            raise ValueError(f"it is about another {' and '.join(other)}")
        check_certificate(certificate)
    except (DpverdictError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        problem = f"sent a certificate that does not prove its verdict ({' '.join(str(error).split())})"
        raise MechanismFailure(request.mechanism, problem, "look at what it replaces or writes to") from None


CALIBRATION: Final = "dpverdict.audit.runs.traced:calibrate_here"


def calibrated_function(function: str, schema: str, claim: str) -> NeededNoise:
    """The least noise at which a function that is named by its module keeps a claim; it runs in a process of its own.

    Raises:
        DpverdictError: it cannot be carried out.
    """
    check_request(Request(mechanism=function, schema=schema, claim=claim))
    TableSchema.from_toml(schema)  # an error in it is told at once
    sent = {"function": function, "schema": schema, "claim": claim}
    answer = run_isolated(CALIBRATION, sent, what=function, limits=NO_LIMITS)
    assert isinstance(answer, dict)
    raise_error_sent(answer, CalibrationFailed)
    found: dict[str, Any] = answer
    lines = tuple(NeededScale(**one) for one in found.pop("lines"))
    observed = tuple(found.pop("observed"))
    return NeededNoise(lines=lines, observed=observed, **found)


class CalibrationFailed(DpverdictError):
    """A function could not be followed in a process of its own; the message is the one it had there."""


def calibrate_here(request: Mapping[str, Any], tell: Callable[[object], None]) -> dict[str, object]:
    """The other side: what is needed as data, or the message of why that is not known."""
    try:
        function = load_callable(request["function"], name="mechanism")
        found = needed_noise(function, request["claim"], schema=request["schema"], name=request["function"])
        return asdict(found)
    except DpverdictError as error:
        return error_to_send(error)
    except BaseException as error:  # the user's code may raise anything
        return {"error": f"{request['function']} ended the calibration with {in_one_line(error)}"}
