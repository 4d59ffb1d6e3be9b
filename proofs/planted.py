"""Is every condition of a statement guarded by a planted fault that it, and it alone, is seen to refute?"""

from __future__ import annotations

from dpverdict.proofs.outcome import Finding, Outcome
from dpverdict.proofs.statement import Plant, Statement


def planted_findings(statement: Statement) -> tuple[tuple[Plant, tuple[Finding, ...]], ...]:
    """What the check says of every planted fault."""
    return tuple((fault, statement.findings(fault.claim)) for fault in statement.planted)


def missed(findings: tuple[tuple[Plant, tuple[Finding, ...]], ...]) -> tuple[str, ...]:
    """The planted faults that do not break the condition they are registered under.

    A fault may break other conditions as well; only its own counts. So a condition that is dropped from a check, or
    that no longer decides anything, leaves its fault unrefuted.
    """
    return tuple(
        f"{fault.condition}: {fault.text}"
        for fault, found in findings
        if not any(finding.name == fault.condition and finding.holds is False for finding in found)
    )


def unguarded(statement: Statement, outcome: Outcome) -> tuple[str, ...]:
    """The conditions of a statement, in any of its readings, under which no fault is planted."""
    findings = (*outcome.findings, *outcome.caveat_findings, *outcome.corrected_findings)
    guarded = {fault.condition for fault in statement.planted}
    return tuple(name for name in dict.fromkeys(finding.name for finding in findings) if name not in guarded)
