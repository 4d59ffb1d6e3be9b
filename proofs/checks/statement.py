"""Register a statement of a paper together with its check, and with faults that the check must find.

A check is a function of a claim, the statement's constants and formulas, and yields one `Finding` per condition:

    @statement(
        paper="lebeda2024", number="lem3.1", kind=StatementKind.LEMMA, expected=Standing.HOLDS,
        text="Algorithm 1 estimates each query with error N(0, (d + 2 sqrt d + 1)/(4 mu^2))",
        formula=r"v_z + v_\\eta = (d + 2\\sqrt{d} + 1)/(4\\mu^2)",
        printed=lambda d, mu: (d + 2 * sqrt(d) + 1) / (4 * mu**2),
        planted=(Plant("variance", "4 mu for 4 mu^2", lambda d, mu: (d + 2 * sqrt(d) + 1) / (4 * mu)),),
    )
    def lemma_3_1(variance: Formula) -> Findings:
        vz, ve = family_variances(d, sqrt(d), mu)
        yield identity("variance", vz + ve, variance(d, mu))

The same code then decides the claim as printed, the corrected claim, the reading that a caveat excludes, and the
planted faults, every time. A fault that does not break its own condition, or a condition without a fault, makes the
statement undecided: so a check cannot pass for want of looking, and no condition can be dropped unnoticed.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, final

from dpverdict.errors import DpverdictError, InvalidValue
from dpverdict.proofs.checks.outcome import (
    FaultFinding,
    Finding,
    Findings,
    Method,
    Outcome,
    Standing,
    StatementKind,
    decide,
)
from dpverdict.proofs.checks.source_hash import source_sha256

Formula: TypeAlias = Callable[..., Any]
"""A formula over any field: its arguments and value may be SymPy expressions, balls, Fractions (hence Any)."""

Claim: TypeAlias = Any
"""Whatever a check takes apart: a number, a formula, a named tuple of them. Every check says its own type."""


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """Another reading of a statement: its words, and the claim they make."""

    text: str
    claim: Claim


@final
@dataclass(frozen=True, slots=True)
class Plant:
    """A fault on purpose: the name of the condition it must break, what was changed in words, the claim it makes."""

    condition: str
    text: str
    claim: Claim


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A registered statement; see `statement` for the fields."""

    paper: str
    number: str
    kind: StatementKind
    text: str
    formula: str
    expected: Standing
    printed: Claim
    caveat: Reading | None
    corrected: Reading | None
    planted: tuple[Plant, ...]
    assumptions: tuple[str, ...]
    note: str
    restored: str
    new: bool
    figure: Callable[[], str] | None
    check: Callable[[Claim], Findings]

    @property
    def label(self) -> str:
        """The statement's name as a paper would write it: "Lemma 3.4", "Algorithm 2 (line 2)"."""
        found = re.fullmatch(r"[a-z]+([A-Z]?\.?\d+(?:\.\d+)*)(?:\.(.+))?", self.number)
        if found is None or self.kind in (StatementKind.TEXT, StatementKind.RESULT, StatementKind.REMARK):
            return self.number
        return f"{self.kind.value} {found[1]}" + (f" ({found[2]})" if found[2] else "")

    @property
    def location(self) -> str:
        """Folders, file and line of the check: below the package, or the folder of a user's own file."""
        check = inspect.unwrap(self.check)
        path = Path(check.__code__.co_filename)
        rooms = check.__module__.split(".")[1:-1] if check.__module__.startswith("dpverdict.") else [path.parent.name]
        return f"{'/'.join(rooms)}/{path.name}:{check.__code__.co_firstlineno}"

    @property
    def reading(self) -> str:
        """The check's own words: how the statement is read."""
        return inspect.cleandoc(self.check.__doc__ or "")

    @property
    def source_sha256(self) -> str:
        """Hash of the source of the check, its claims, and everything of the project that they reach."""
        return source_sha256(self.check, self.printed, self.caveat, self.corrected)

    def findings(self, claim: Claim) -> tuple[Finding, ...]:
        """The conditions of any claim of this form, decided by the check."""
        return tuple(self.check(claim))

    def verify(self) -> Outcome:
        """Decide the statement as printed, its caveat and its correction.

        HOLDS: the printed claim holds and there is no caveat. HOLDS_WITH_CAVEAT: it holds, and the reading that the
        caveat excludes is refuted. FAILS_AS_PRINTED: it is refuted, and the corrected claim holds. UNDECIDED: anything
        else, with the reason in the note; also where the check misses a planted fault, or a condition has none.
        """
        try:
            printed = self.findings(self.printed)
            excluded = () if self.caveat is None else self.findings(self.caveat.claim)
            corrected = () if self.corrected is None else self.findings(self.corrected.claim)
        except (DpverdictError, ArithmeticError) as error:
            return self._outcome(Standing.UNDECIDED, (), (), (), f"the check gave up: {error}")
        standing, reason = self._standing(printed, excluded, corrected)
        return self._outcome(standing, printed, excluded, corrected, reason)

    def _run(self, fault: Plant) -> FaultFinding:
        """Whether the check refutes the condition that the fault is planted under; breaking others does not count."""
        found: list[bool | None] = []
        try:
            for finding in self.check(fault.claim):
                if finding.name == fault.condition:
                    found.append(finding.holds)
                    if finding.holds is False:
                        return FaultFinding(condition=fault.condition, text=fault.text, missed="")
        except Exception as error:  # a fault may be anything, and one that was not decided was not found
            missed = f"the check gave up: {type(error).__name__}: {error}"
        else:
            missed = "it holds" if found and all(found) else "it is undecided" if found else "no condition of this name"
        return FaultFinding(condition=fault.condition, text=fault.text, missed=missed)

    def _standing(
        self, printed: Sequence[Finding], excluded: Sequence[Finding], corrected: Sequence[Finding]
    ) -> tuple[Standing, str]:
        holds, words = decide(printed), f"the condition {_first_open(printed)} is undecided"
        if holds is None:
            return Standing.UNDECIDED, words
        if self.corrected is not None and decide(corrected) is not True:
            return Standing.UNDECIDED, "the corrected statement does not hold"
        if not holds:
            return Standing.FAILS_AS_PRINTED, ""
        if self.caveat is None:
            return Standing.HOLDS, ""
        if decide(excluded) is not False:
            return Standing.UNDECIDED, "the reading that the caveat excludes is not refuted"
        return Standing.HOLDS_WITH_CAVEAT, ""

    def _outcome(
        self,
        standing: Standing,
        printed: tuple[Finding, ...],
        excluded: tuple[Finding, ...],
        corrected: tuple[Finding, ...],
        reason: str,
    ) -> Outcome:
        guarded = {fault.condition for fault in self.planted}
        names = dict.fromkeys(finding.name for finding in (*printed, *excluded, *corrected))
        good = corrected if standing is Standing.FAILS_AS_PRINTED else printed
        methods = sorted({f.method for f in (*printed, *corrected)}, key=list(Method).index)
        broken = [f for f in (*printed, *excluded) if f.holds is False]
        outcome = Outcome(
            paper=self.paper,
            number=self.number,
            label=self.label,
            text=self.text,
            standing=standing,
            expected=self.expected,
            scope="; ".join(dict.fromkeys(f.scope for f in (good or printed) if f.scope)),
            method=" + ".join(m.value for m in methods),
            margin="; ".join(dict.fromkeys(f.margin for f in (good or printed) if f.margin)),
            witness="; ".join(dict.fromkeys(f.witness for f in broken if f.witness)),
            caveat="" if self.caveat is None else self.caveat.text,
            corrected="" if self.corrected is None else self.corrected.text,
            assumptions=self.assumptions,
            restored=self.restored,
            new=self.new,
            findings=printed,
            caveat_findings=excluded,
            corrected_findings=corrected,
            faults=tuple(self._run(fault) for fault in self.planted),
            unguarded=tuple(name for name in names if name not in guarded),
            source_sha256=self.source_sha256,
            location=self.location,
            note=reason or self.note,
        )
        if not outcome.defects:
            return outcome
        words = "; ".join((*([reason] if reason else []), *outcome.defects))
        return replace(outcome, standing=Standing.UNDECIDED, note=words)


def statement(
    *,
    paper: str,
    number: str,
    kind: StatementKind,
    text: str,
    expected: Standing,
    printed: Claim,
    planted: Sequence[Plant],
    formula: str = "",
    caveat: Reading | None = None,
    corrected: Reading | None = None,
    assumptions: Sequence[str] = (),
    note: str = "",
    restored: str = "",
    new: bool = False,
    figure: Callable[[], str] | None = None,
) -> Callable[[Callable[[Claim], Findings]], Statement]:
    """Register the decorated function as the check of a statement.

    Args:
        paper: key of the paper: "lebeda2024", or any word for a paper of your own.
        number: permanent name within the paper, without spaces: "lem3.4", "lemA.2", "alg2.line2"; used in links.
        kind: what the paper calls it.
        text: the statement as printed, in one line.
        expected: the standing the check is known to give; `dpverdict prove` fails when it gives another.
        printed: the claim as printed: whatever the check takes apart, a constant, a formula, a tuple of them.
        planted: faults the check must find, at least one for every condition.
        formula: the statement in the LaTeX subset that Matplotlib renders, without dollar signs.
        caveat: the reading in which the statement is false; the check must refute it.
        corrected: what holds in place of a false statement, makes the caveat precise, or says more than the paper; the
            check must confirm it.
        assumptions: what is taken for granted: theorems quoted, conditions on the data.
        note: why a weaker method than the best was used, where that is so.
        restored: what of the statement is not in the text checked, and where it is taken from.
        new: whether the result, or its wording, is this project's own.
        figure: draws an inline SVG for the page.

    Raises:
        InvalidValue: no planted fault, or a standing that the readings given cannot produce, or a number used before.
    """
    name = f"{paper} {number}"
    if not planted:
        raise InvalidValue("planted", planted, f"one or more faults for {name}", "a check that cannot fail is a defect")
    if (expected is Standing.HOLDS_WITH_CAVEAT) != (caveat is not None):
        raise InvalidValue("caveat", caveat, f"given iff {name} holds with one", "give the reading that is false")
    if expected is Standing.FAILS_AS_PRINTED and corrected is None:
        raise InvalidValue("corrected", corrected, f"given, since {name} fails", "give the statement that holds")

    def register(check: Callable[[Claim], Findings]) -> Statement:
        made = Statement(
            paper=paper,
            number=number,
            kind=kind,
            text=text,
            formula=formula,
            expected=expected,
            printed=printed,
            caveat=caveat,
            corrected=corrected,
            planted=tuple(planted),
            assumptions=tuple(assumptions),
            note=note,
            restored=restored,
            new=new,
            figure=figure,
            check=check,
        )
        STATEMENTS.setdefault(paper, {})
        if number in STATEMENTS[paper] and STATEMENTS[paper][number].location != made.location:
            raise InvalidValue("number", number, f"new in {paper}", "every statement has a number of its own")
        STATEMENTS[paper][number] = made
        return made

    return register


STATEMENTS: dict[str, dict[str, Statement]] = {}


def _first_open(findings: Sequence[Finding]) -> str:
    return next((repr(f.name) for f in findings if f.holds is None), "(none was checked)")


RESULTS = "new_results"
"""The key of this project's own results, which stand after the papers."""


result = partial(statement, paper=RESULTS, kind=StatementKind.RESULT, expected=Standing.HOLDS, new=True)
"""Register a result of this project, which holds as it is stated; the other arguments are those of `statement`."""
