"""What a report says, section by section: the words, tables and values that the terminal, the page and the JSON share.

To add a section, write a function here from the report to its sections and name it in `SECTIONS`; nothing else
changes. A section is exact, statistical or neither, and says so; a table belongs to one section. That is how exact and
statistical evidence stay apart in every face. The statistical sections are in `statistics`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Final

from dpverdict.audit.exact.verdict import Certificate, Witness
from dpverdict.audit.exact.worst_case import gdp_parameter
from dpverdict.audit.implementation.embedding import TWO_SAMPLES
from dpverdict.audit.implementation.tap.tap_verdict import TapStatus
from dpverdict.audit.reports.parts import Evidence, Section, Table, facts, stated_deltas, stated_profile
from dpverdict.audit.reports.report import Report
from dpverdict.audit.reports.statistics import sequential_section, statistics_section
from dpverdict.audit.statistics.joint_test import Order
from dpverdict.numerics.text import at_least, at_most, decimal, rounded_text, shown

WORDS: dict[bool | None, str] = {True: "holds", False: "FAILS", None: "not checked"}


def sections(report: Report) -> tuple[Section, ...]:
    """Every section of the report that has something to say, in reading order."""
    return tuple(section for part in SECTIONS for section in part(report))


def section_values(report: Report) -> dict[str, object]:
    """The JSON values of the sections that bring their own, by the name of the section."""
    found = (section for part in SECTIONS if part not in _EVIDENCE for section in part(report))
    return {section.anchor: section.values for section in found if section.values is not None}


def _subject(report: Report) -> Iterator[Section]:
    named = {"mechanism": report.name, **report.parameters, "claim": report.claim.describe()}
    yield Section(anchor="subject", title="What was audited", evidence=Evidence.NONE, tables=(facts(named),))


def _worst(report: Report) -> Iterator[Section]:
    worst = report.worst
    if worst is None:
        return
    named = {
        "worst neighbours": worst.description,
        "an example": worst.pair.describe(),
        "why the worst": worst.justification,
    }
    mu = gdp_parameter(worst.loss)
    if mu is not None:
        named["exact GDP mu" if worst.exact else "GDP mu, at most"] = shown(mu, 17)
    yield Section(anchor="worst", title="Worst neighbours", evidence=Evidence.EXACT, tables=(facts(named),))


def _verdict(report: Report) -> Iterator[Section]:
    """The certificate, the witness, or what is undecided."""
    verdict = report.verdict
    if verdict is None:
        return
    if verdict.certificate is not None:
        yield _certificate(verdict.certificate)
    if verdict.witness is not None:
        yield _witness(verdict.witness)
    if verdict.reason is not None:
        yield Section(anchor="reason", title="What is undecided", evidence=Evidence.EXACT, text=(verdict.reason,))


def _certificate(certificate: Certificate) -> Section:
    named = {
        "decided by": certificate.method,
        "inequality": certificate.statement,
        "source SHA-256": certificate.source_sha256,
    }
    return Section(anchor="certificate", title="Certificate", evidence=Evidence.EXACT, tables=(facts(named),))


def _witness(witness: Witness) -> Section:
    named = {
        "neighbours": witness.difference,
        "example": witness.pair.describe(),
        "event": witness.event,
        "P(event)": shown(witness.probability, 12),
        "Q(event)": shown(witness.neighbour_probability, 12),
        "violated": witness.statement,
    }
    text = (
        "P is the law of the release on the dataset, Q its law on the neighbour. To check by hand: compute both "
        "probabilities of the event from the law of the noise, and put them into the inequality of the claim.",
    )
    return Section(anchor="witness", title="Witness", evidence=Evidence.EXACT, text=text, tables=(facts(named),))


def _numbers(report: Report) -> Iterator[Section]:
    if report.worst is None:
        return
    loss, claim = report.worst.loss, report.claim
    text: tuple[str, ...] = ()
    if not report.worst.exact:
        text = ("These curves are of a pair of laws that dominates every pair of neighbours: bounds from above.",)
    profile = Table(
        caption="Privacy profile: the hockey-stick divergence delta at epsilon",
        header=("epsilon", "delta, certified", "delta, claimed at most"),
        rows=tuple((decimal(e), shown(exact), at_most(claimed)) for e, exact, claimed in stated_profile(loss, claim)),
    )
    inverse = Table(
        caption="The smallest epsilon for a delta",
        header=("delta", "epsilon, certified"),
        rows=tuple((decimal(delta), shown(loss.certified_epsilon(delta))) for delta in stated_deltas(claim)),
    )
    yield Section(
        anchor="numbers", title="Exact privacy", evidence=Evidence.EXACT, text=text, tables=(profile, inverse)
    )


def _covariance(report: Report) -> Iterator[Section]:
    if report.covariance:
        rows = tuple((name, decimal(value)) for name, value in report.covariance.items())
        yield Section(
            anchor="covariance",
            title="Covariance of the noise",
            evidence=Evidence.EXACT,
            tables=(Table(header=("entry", "value (rounded)"), rows=rows),),
        )


def _embedding(report: Report) -> Iterator[Section]:
    check = report.embedding
    if check is None:
        return
    about = (
        "Whether the mechanism that runs is h^-1 of the standard Gaussian mechanism in d + 1 dimensions (Lebeda 2024)."
    )
    exact = [(one.name, one.holds, one.method, one.detail) for one in check.findings]
    yield Section(
        anchor="embedding", title="Embedding", evidence=Evidence.EXACT, text=(about,), tables=(_findings(exact),)
    )
    test = check.sampled
    trials = (
        f"{test.samples} samples, seed {test.seed}; all of these tests together raise a false alarm with a probability "
        f"of at most {rounded_text(test.error_probability)}."
    )
    yield Section(
        anchor="embedding-samples",
        title="Embedding, on samples",
        evidence=Evidence.STATISTICAL,
        text=(trials,),
        tables=(_findings([(TWO_SAMPLES, not test.rejected, "two-sample test", test.detail)]),),
    )


def _findings(found: list[tuple[str, bool, str, str]]) -> Table:
    rows = tuple((name, "holds" if holds else "FAILS", method, detail) for name, holds, method, detail in found)
    return Table(header=("what was checked", "finding", "method", "detail"), rows=rows)


def _statistics(report: Report) -> Iterator[Section]:
    if report.test is not None:
        yield statistics_section(report.test, report.agreement)
    if report.sequential is not None:
        yield sequential_section(report.sequential)


def _low_bits(report: Report) -> Iterator[Section]:
    """What the search through the low bits found, with its error probability."""
    leak = report.leak
    if leak is None:
        return
    named = {
        "result": "the claim is refuted for float64 outputs" if leak.refuted else "no leak of the kinds looked for",
        "p-value": rounded_text(leak.p_value, 3),
        "error probability": rounded_text(leak.error_probability),
        "epsilon": f"at least {at_least(leak.epsilon_lower, 6)} at delta = {rounded_text(leak.delta)}",
    }
    if leak.event is not None and leak.counts is not None:
        first, trials, second, others = leak.counts.four
        sides = ("dataset", "neighbour")
        likely, unlikely = sides if leak.order is Order.DATASET_FIRST else sides[::-1]
        named["outputs"] = str(leak.event.describe()["in words"])
        named["counts"] = f"{first} of {trials} on the {likely}, {second} of {others} on the {unlikely}, fresh trials"
    named |= {"samples": f"{leak.samples} per dataset, a quarter of them to find the set", "seed": str(leak.seed)}
    text = (
        "The float64 outputs, bit for bit, searched for sets that only one of the two datasets produces. A claim about "
        "real numbers is not touched by this; rounding the release to a coarse grid is the remedy.",
    )
    yield Section(anchor="low-bits", title="Low bits", evidence=Evidence.STATISTICAL, text=text, tables=(facts(named),))


def _implementation(report: Report) -> Iterator[Section]:
    """The checks of `grey_box`, one row each."""
    findings = report.implementation
    if not findings:
        return
    rows = tuple((found.name, WORDS[found.holds], found.seen) for found in findings)
    text = ["What a few runs with known random numbers show of the code. No check here refutes or certifies a claim."]
    failed = [found for found in findings if found.holds is False and found.breaks_privacy]
    if failed:
        text.append(f"No claim survives this: {'; '.join(found.seen for found in failed)}.")
    yield Section(
        anchor="implementation",
        title="Implementation",
        evidence=Evidence.NONE,
        text=tuple(text),
        tables=(Table(header=("check", "result", "seen"), rows=rows),),
        values=[dataclasses.asdict(found) for found in findings],
    )


def _tap(report: Report) -> Iterator[Section]:
    """What the noise tap saw, one row for each place where noise was added."""
    tap = report.tap
    if tap is None:
        return
    text = [f"{tap.status.name.replace('_', ' ')}: {tap.reason}. Of this pair, along the recorded draws."]
    text += [f"Open: {one}." for one in tap.open] + [f"Not covered: {one}." for one in tap.uncovered]
    text.append(
        f"The function was called {tap.runs} times for it, in a copy of this process that is thrown away: a file that "
        "it writes or a service that it calls was reached as often."
    )
    named = {"loss of this pair": tap.loss + (", exact" if tap.exact else ""), "runs": str(tap.runs)}
    sampled = tap.status is TapStatus.REFUTED  # without a draw, by its repeated runs
    header = ("", "call", "line", "promised", "measured")
    yield Section(
        anchor="tap",
        title="Noise tap",
        evidence=Evidence.EXACT if tap.exact else Evidence.STATISTICAL if sampled else Evidence.NONE,
        text=tuple(text),
        tables=(*((Table(header=header, rows=tuple(tap.table())),) if tap.table() else ()), facts(named)),
        values=tap.to_dict(),
    )


def _tap_confirmation(report: Report) -> Iterator[Section]:
    """The test of what the noise tap found."""
    fresh = report.tap_confirmation
    if fresh is not None:
        yield Section(
            anchor="tap_confirmation",
            title="Fresh releases for the finding of the noise tap",
            evidence=Evidence.STATISTICAL,
            text=(fresh.text() + ".",),
            values=fresh.to_dict(),
        )


def _membership(report: Report) -> Iterator[Section]:
    if report.membership:
        yield Section(
            anchor="membership",
            title="Membership of one record",
            evidence=Evidence.EXACT,
            tables=(facts(report.membership),),
            values=dict(report.membership),
        )


def _assumptions(report: Report) -> Iterator[Section]:
    """What is taken for granted anywhere in the report, each assumption once."""
    certificate = None if report.verdict is None else report.verdict.certificate
    certified = () if certificate is None else certificate.assumptions
    assumptions = tuple(dict.fromkeys((*report.assumptions, *certified)))
    if assumptions:
        rows = tuple((f"{i}", text) for i, text in enumerate(assumptions, 1))
        yield Section(
            anchor="assumptions",
            title="Assumptions",
            evidence=Evidence.NONE,
            tables=(Table(rows=rows),),
            values=list(assumptions),
        )


LAST_BITS: Final = (
    "of what was sampled, they depend on the versions of NumPy and of its BLAS, and on the processor; "
    "no exact figure depends on them"
)


def _reproduction(report: Report) -> Iterator[Section]:
    named = {} if report.command is None else {"command": report.command}
    named["seed"] = "none: nothing was sampled" if report.seed is None else str(report.seed)
    if report.versions:
        named["versions"] = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    if report.seed is not None:
        named["last bits"] = LAST_BITS
    named["created"] = report.created.strftime("%Y-%m-%d %H:%M:%S UTC")
    yield Section(
        anchor="reproduction",
        title="Reproduction",
        evidence=Evidence.NONE,
        tables=(facts(named),),
        values={"command": report.command, "seed": report.seed, "versions": dict(report.versions)},
    )


_EVIDENCE: Final[tuple[Callable[[Report], Iterator[Section]], ...]] = (
    _worst,
    _verdict,
    _numbers,
    _covariance,
    _embedding,
    _statistics,
    _low_bits,
)
"""Their values stand in the JSON under "exact" and "statistical", see `to_json`."""

SECTIONS: Final[tuple[Callable[[Report], Iterator[Section]], ...]] = (
    _subject,
    *_EVIDENCE,
    _implementation,
    _tap,
    _tap_confirmation,
    _membership,
    _assumptions,
    _reproduction,
)
"""In reading order; each gives what it has to say of a report."""
