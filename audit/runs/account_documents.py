"""Accounts as files: what releases spend, and the least noise that was found, as JSON and as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from dpverdict.audit.distinguishing.witness_document import software_versions, strict_json
from dpverdict.audit.documents.account import (
    CalibrationDocument,
    ComparedFields,
    CompositionDocument,
    NeededNoiseDocument,
)
from dpverdict.audit.documents.schema import checked
from dpverdict.audit.exact.calibrate import Calibration
from dpverdict.audit.exact.spending import MOST_RELEASES, Account
from dpverdict.audit.reports.evidence.exact import enclosure_fields, rational_fields, status_name
from dpverdict.audit.reports.evidence.risk import risk_section
from dpverdict.audit.reports.html import render_answer, render_answer_part
from dpverdict.audit.reports.parts import EvidenceKind, Section, Table, facts
from dpverdict.audit.runs.accounts import Composed, SpentEpsilon
from dpverdict.audit.tracing.scales import NeededNoise
from dpverdict.numerics.text import exact_text, time_stamp
from dpverdict.risk import Risk

_RELEASES = ("releases", "how often", "more of it within the claim")


def composition_document(
    found: Composed | SpentEpsilon, risk: Risk | None, command: str | None, created: datetime | None = None
) -> CompositionDocument:
    """What releases spend together, as JSON values.

    Args:
        found: held to a claim, or at a delta.
        risk: of what is spent; None without a base rate.
        command: the command line.
        created: now, if not given.
    """
    document: dict[str, object] = {
        "schema_version": 1,
        "created": time_stamp(datetime.now(UTC) if created is None else created),
        "releases": [
            {"release": name, "count": count, "remaining": more[0] if more else None}
            for name, count, *more in found.releases
        ],
        "held": _compared(found.account) if isinstance(found, Composed) else None,
        "epsilon": None
        if isinstance(found, Composed)
        else {
            "delta": rational_fields(found.delta),
            "above": enclosure_fields(found.above),
            "attained": enclosure_fields(found.attained),
            "certified": found.certified,
        },
        "answer": found.text().splitlines()[0],
        "risk": None if risk is None else risk.fields(),
        "versions": software_versions(),
        "command": command,
    }
    return checked(strict_json(document), CompositionDocument, "composition")


def calibration_document(
    found: Calibration, mechanism: str, parameters: Mapping[str, str], risk: Risk | None, command: str | None
) -> CalibrationDocument:
    """The least noise that was found, as JSON values.

    Args:
        found: the scale, and the one below it.
        mechanism: its name.
        parameters: that were given.
        risk: of what is spent; None without a base rate.
        command: the command line.
    """
    document: dict[str, object] = {
        "schema_version": 1,
        "created": time_stamp(datetime.now(UTC)),
        "mechanism": mechanism,
        "parameters": dict(parameters),
        "claim": found.kept.claim.describe(),
        "releases": found.releases,
        "parameter": str(found.mechanism.scaled_by),
        "value": found.scale,
        "below": found.below,
        "kept": _compared(found.kept),
        "broken": _compared(found.broken),
        "least": found.attained,
        "answer": found.summary().splitlines()[0],
        "risk": None if risk is None else risk.fields(),
        "versions": software_versions(),
        "command": command,
    }
    return checked(strict_json(document), CalibrationDocument, "calibration")


def needed_noise_document(
    found: NeededNoise, schema: str, risk: Risk | None, command: str | None
) -> NeededNoiseDocument:
    """The noise that a function needs, as JSON values.

    Args:
        found: for each line, and for all together.
        schema: the file with the schema of its table.
        risk: of the claim; None without a base rate.
        command: the command line.
    """
    document: dict[str, object] = {
        "schema_version": 1,
        "created": time_stamp(datetime.now(UTC)),
        "function": found.name,
        "schema": schema,
        "claim": found.claim,
        "relation": found.relation,
        "refused": found.refused,
        "lines": [asdict(one) for one in found.lines],
        "factor": found.factor,
        "observed": list(found.observed),
        "exit_code": found.exit_code,
        "answer": found.text().splitlines()[0],
        "risk": None if risk is None else risk.fields(),
        "versions": software_versions(),
        "command": command,
    }
    return checked(strict_json(document), NeededNoiseDocument, "needed noise")


def needed_noise_page(found: NeededNoise, risk: Risk | None, document: NeededNoiseDocument) -> str:
    """The same as one HTML page that loads nothing."""
    rows = tuple((one.line, one.statistic, one.noise, one.needed) for one in found.lines)
    table = Table(header=("line", "statistic", "noise now", "with the others as they are"), rows=rows)
    numbers = Section(
        anchor="scales",
        title="The noise that each line needs",
        evidence=EvidenceKind.EXACT if found.exit_code == 0 else EvidenceKind.NONE,
        text=tuple(line.strip() for line in found.text().splitlines()[1 + 2 * len(found.lines) :]),
        tables=(table,) if rows else (),
    )
    return _page("calibration", "", f"The noise that {found.name} needs", "", document, [numbers, *_risk(risk)])


def composition_page(found: Composed | SpentEpsilon, risk: Risk | None, document: CompositionDocument) -> str:
    """The same as one HTML page that loads nothing."""
    subject = "The releases together" if isinstance(found, Composed) else "What the releases spend together"
    claim, status = (
        (found.account.claim.describe(), found.account.status.name) if isinstance(found, Composed) else ("", "")
    )
    return _page("privacy account", status, subject, claim, document, _composition_sections(found, risk))


def composition_part(
    found: Composed | SpentEpsilon, risk: Risk | None, document: CompositionDocument, prefix: str
) -> str:
    """The same for a page of many audits; every anchor begins with ``prefix``."""
    sections = [*_composition_sections(found, risk), _reproduction(document)]
    claim = (
        found.account.claim.describe() if isinstance(found, Composed) else f"epsilon at delta {exact_text(found.delta)}"
    )
    return render_answer_part(document["answer"], claim, sections, prefix)


def _composition_sections(found: Composed | SpentEpsilon, risk: Risk | None) -> list[Section]:
    rows = tuple((name, str(count), _more(*more)) for name, count, *more in found.releases)
    releases = Section(
        anchor="releases",
        title="What is released",
        evidence=EvidenceKind.NONE,
        tables=(Table(header=_RELEASES, rows=rows),),
    )
    if isinstance(found, Composed):
        numbers = _section("account", "What is spent", [("all of them", found.account)])
    else:
        said = {
            "epsilon for every pair of neighbours": found.above.show(),
            "epsilon of a pair of neighbours": found.attained.show(),
            "delta": exact_text(found.delta),
        }
        kind = EvidenceKind.EXACT if found.certified else EvidenceKind.NONE
        numbers = Section(anchor="account", title="Epsilon", evidence=kind, tables=(facts(said),))
    return [numbers, releases, *_risk(risk)]


def calibration_page(found: Calibration, risk: Risk | None, document: CalibrationDocument) -> str:
    """The same as one HTML page that loads nothing."""
    name = document["parameter"].replace("_", " ")
    given = {"mechanism": document["mechanism"]} | dict(document["parameters"])
    subject = Section(anchor="subject", title="What was calibrated", evidence=EvidenceKind.NONE, tables=(facts(given),))
    sides = [(f"{name} = {found.scale!r}", found.kept), (f"{name} = {found.below!r}", found.broken)]
    numbers = _section("scales", "The least noise, and less", sides)
    words = f"{document['mechanism']} with {name} {found.scale!r}"
    parts = [numbers, subject, *_risk(risk)]
    return _page("calibration", found.kept.status.name, words, document["claim"], document, parts)


def _page(
    brand: str,
    status: str,
    subject: str,
    claim: str,
    document: CompositionDocument | CalibrationDocument | NeededNoiseDocument,
    sections: Sequence[Section],
) -> str:
    return render_answer(
        brand=brand,
        status=status,
        subject=subject,
        claim=claim,
        answer=document["answer"],
        sections=(*sections, _reproduction(document)),
        created=document["created"],
        closing="Nothing was sampled.",
    )


def _reproduction(document: CompositionDocument | CalibrationDocument | NeededNoiseDocument) -> Section:
    versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    again = {"command": document["command"] or "none: it was called", "versions": versions}
    return Section(anchor="reproduction", title="Reproduction", evidence=EvidenceKind.NONE, tables=(facts(again),))


def _section(anchor: str, title: str, accounts: Sequence[tuple[str, Account]]) -> Section:
    """Accounts against their claim, each in full."""
    rows = []
    for name, account in accounts:
        compared = account.comparison
        sides = (compared.quantity, compared.attained.show(), compared.allowed.show()) if compared else ("", "", "")
        rows.append((name, account.summary().partition(":")[0], *sides))
    exact = all(account.certified for _, account in accounts)
    table = Table(header=("", "answer", "quantity", "attained", "allowed"), rows=tuple(rows))
    kind = EvidenceKind.EXACT if exact else EvidenceKind.NONE
    return Section(anchor=anchor, title=title, evidence=kind, tables=(table,))


def _risk(risk: Risk | None) -> Sequence[Section]:
    return () if risk is None else (risk_section(risk, EvidenceKind.EXACT),)


def _compared(account: Account) -> ComparedFields:
    compared = account.comparison
    return {
        "claim": account.claim.describe(),
        "status": status_name(account.status),
        "certified": account.certified,
        "quantity": None if compared is None else compared.quantity,
        "attained": None if compared is None else enclosure_fields(compared.attained),
        "allowed": None if compared is None else enclosure_fields(compared.allowed),
        "answer": account.summary(),
    }


def _more(more: int | None = None) -> str:
    return "" if more is None else f"at least {more}" if more >= MOST_RELEASES else str(more)
