"""An audit of a sampler as a user asks for it, in a process of its own; its JSON and its page."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from dpverdict.audit.batches.claim import read_claim
from dpverdict.audit.batches.counts import MISSED
from dpverdict.audit.batches.drawn import FEWEST_BATCHES, draw_batches
from dpverdict.audit.batches.epsilons import Training
from dpverdict.audit.batches.sampler_audit import Finding, SamplerAudit, audit_batches
from dpverdict.audit.distinguishing.witness_document import software_versions
from dpverdict.audit.documents.request import DEFAULT_ERROR_PROBABILITY, SamplerRequest, with_seed
from dpverdict.audit.documents.sampler import SamplerDocument
from dpverdict.audit.documents.schema import checked
from dpverdict.audit.isolation.process import Limits
from dpverdict.audit.isolation.requests import answer_of, answered
from dpverdict.audit.reports.html import render_answer, render_answer_part
from dpverdict.audit.reports.parts import EvidenceKind, Section, Table, facts
from dpverdict.audit.trials.user_functions import load_callable, probability
from dpverdict.balls import exactly
from dpverdict.checks import check_positive
from dpverdict.errors import DpverdictError, InvalidValue
from dpverdict.numerics.text import rounded_text, time_stamp, whole_number

ENTRY: Final = "dpverdict.audit.runs.samplers:work"
DEFAULT_BATCHES: Final = 1000
MOST_BATCHES: Final = 100_000


class SamplerAuditFailed(DpverdictError):
    """A request could not be carried out in its process; the message is the one it had there."""


def audit_sampler(request: SamplerRequest, limits: Limits) -> SamplerAudit:
    """Carry out a request in a process of its own.

    Raises:
        DpverdictError: it cannot be carried out, or did not finish.
    """
    check_sampler_request(request)
    return answer_of(
        ENTRY,
        msgspec.structs.asdict(request),
        SamplerAudit.from_dict,
        what=request.loader,
        kind="an audit",
        failed=SamplerAuditFailed,
        limits=limits,
    )


def check_sampler_request(request: SamplerRequest) -> None:
    """What is wrong with the options is said at once, before any batch is drawn.

    Raises:
        InvalidValue: an option that is missing, out of range or not used.
    """
    _read(request)


def work(request: Mapping[str, Any], tell: Callable[[object], None]) -> dict[str, object]:
    """The other side: load the function, draw the batches, test the claim."""
    return answered(lambda: _carry_out(SamplerRequest(**request)), "audit")


def _read(request: SamplerRequest) -> tuple[float, Training | None, int]:
    """The error probability, the training, and how many batches are drawn."""
    read_claim(request.sampling, request.rate, request.size)
    error = probability(request.error_probability or DEFAULT_ERROR_PROBABILITY, "error_probability")
    number = DEFAULT_BATCHES
    if request.batches is not None:
        number = whole_number(request.batches, "batches", at_least=FEWEST_BATCHES, at_most=MOST_BATCHES)
    asked = {name: getattr(request, name) for name in ("noise_multiplier", "steps", "delta")}
    missing = [name for name, text in asked.items() if text is None]
    if len(missing) == len(asked):
        return error, None, number
    if missing:
        remedy = "an epsilon is that of --noise-multiplier, --steps and --delta together"
        raise InvalidValue(missing[0], None, "given, or all three left out", remedy)
    delta = exactly(asked["delta"], name="delta")
    probability(asked["delta"], "delta")
    training = Training(
        noise_multiplier=check_positive(asked["noise_multiplier"], "noise_multiplier"),
        steps=whole_number(asked["steps"], "steps", at_least=1, at_most=10**7),
        delta=delta,
    )
    return error, training, number


def _carry_out(request: SamplerRequest) -> SamplerAudit:
    claim = read_claim(request.sampling, request.rate, request.size)
    error, training, number = _read(request)
    seed = secrets.randbits(63) if request.seed is None else whole_number(request.seed, "seed", at_least=0)
    records = None if request.records is None else whole_number(request.records, "records", at_least=1)
    make = load_callable(request.loader, name="loader")
    drawn = draw_batches(make, batches=number, records=records, seed=seed, name=request.loader)
    return audit_batches(drawn, claim, error_probability=error, training=training, seed=seed)


def sampler_fields(found: SamplerAudit, request: SamplerRequest, created: datetime | None = None) -> SamplerDocument:
    """An audit as JSON values; ``created`` is now where it is not given."""
    made = found.to_dict()
    document: dict[str, object] = {
        "schema_version": 1,
        "created": time_stamp(datetime.now(UTC) if created is None else created),
        "loader": request.loader,
        "status": found.status,
        **made,
        "versions": software_versions(),
        "command": request.command if found.seed is None else with_seed(request.command, request.seed, found.seed),
    }
    return checked(document, SamplerDocument, "sampler")


def sampler_page(found: SamplerAudit, fields: SamplerDocument) -> str:
    """The same as one HTML page that loads nothing."""
    return render_answer(
        brand="audit of batches",
        status=found.status,
        subject=fields["loader"],
        claim=found.claim,
        answer=sampler_answer(found),
        sections=tuple(_sections(found, fields)),
        created=fields["created"],
        closing="Tests can refute how batches are said to be made, and never certify it.",
    )


def sampler_part(found: SamplerAudit, fields: SamplerDocument, prefix: str) -> str:
    """The same for a page of many audits; every anchor begins with ``prefix``."""
    return render_answer_part(sampler_answer(found), found.claim, list(_sections(found, fields)), prefix)


def sampler_answer(found: SamplerAudit) -> str:
    """One sentence: what the tests say."""
    sure = f"error probability {rounded_text(found.error_probability)} for all of them together"
    if found.refuted:
        return f"{len(found.findings)} of {found.tests} tests reject what is claimed, {sure}."
    return f"None of {found.tests} tests rejects what is claimed, {sure}. This certifies nothing."


def _sections(found: SamplerAudit, fields: SamplerDocument) -> Iterator[Section]:
    if found.epsilons:
        header = ("batches", f"epsilon at delta {found.delta}")
        epsilons = Table(header=header, rows=tuple((row.batches, row.text) for row in found.epsilons))
        said = "Of the training, if its batches are made so; in the order of these rows, the claim first."
        yield Section(anchor="epsilon", title="Epsilon", evidence=EvidenceKind.EXACT, text=(said,), tables=(epsilons,))
    if found.findings:
        rows = [
            (one.words, str(one.observed), str(one.trials), _expected(one), f"{one.p_value:.1e}")
            for one in found.findings
        ]
        table = Table(header=("what was counted", "counted", "of", "expected", "p at most"), rows=tuple(rows))
        yield Section(
            anchor="tests", title="Tests that reject the claim", evidence=EvidenceKind.STATISTICAL, tables=(table,)
        )
    if found.instead:
        title = "What the batches look like"
        yield Section(anchor="instead", title=title, evidence=EvidenceKind.NONE, text=found.instead)
    if found.would_have_shown:
        title = f"What would have been found with probability {1 - MISSED:g}"
        shown = found.would_have_shown
        yield Section(anchor="power", title=title, evidence=EvidenceKind.STATISTICAL, text=shown)
    named = {"drawn": found.drawn, "seed": str(found.seed), "command": fields["command"] or "none: it was called"}
    named["versions"] = ", ".join(f"{name} {version}" for name, version in fields["versions"].items())
    yield Section(
        anchor="reproduction", title="How to run it again", evidence=EvidenceKind.NONE, tables=(facts(named),)
    )


def _expected(one: Finding) -> str:
    return "not known" if one.expected is None else f"{one.expected:.6g}"
