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

import hashlib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
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
    NeedFinding,
    Outcome,
    Standing,
    StatementKind,
    condition_alone,
    decide,
    unconfirmed,
)
from dpverdict.proofs.checks.rooms import RESULTS, import_room, rooms
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


Key: TypeAlias = tuple[str, str]
"""Paper and number of a statement."""


@final
@dataclass(frozen=True, slots=True)
class Need:
    """A statement that another one needs: its paper and number, and whether as printed or as corrected."""

    paper: str
    number: str
    corrected: bool

    @classmethod
    def parse(cls, text: str, paper: str) -> Need:
        """ "lem3.1" is of the same paper; "lebeda2024/lem3.1" of another; "lem3.4:corrected" is what holds instead."""
        words, _, wording = text.partition(":")
        if wording not in ("", "corrected"):
            raise InvalidValue("needs", text, "'[paper/]number' or '[paper/]number:corrected'", "write it so")
        home, _, number = words.rpartition("/")
        return cls(home or paper, number, bool(wording))

    @property
    def key(self) -> Key:
        """Paper and number."""
        return self.paper, self.number

    def find(self) -> Statement | None:
        """The statement, if there is one of this name."""
        if self.paper in rooms():
            import_room(self.paper)
        return known_statements.get(self.paper, {}).get(self.number)

    def given(self, outcome: Outcome | None) -> NeedFinding:
        """What the outcome of the statement gives to the one that needs it."""
        label, standing, on_range, missing = self.number, Standing.UNDECIDED, False, "which is no statement"
        if outcome is not None:
            label, standing, on_range = outcome.label, outcome.standing, outcome.on_range
            missing = "" if outcome.as_expected else "which is not as recorded"
            if standing is Standing.UNDECIDED:
                missing = "which is undecided"
            elif standing is Standing.FAILS_AS_PRINTED and not self.corrected:
                missing = "which fails as printed"
            elif self.corrected and not outcome.corrected:
                missing = "which is not corrected"
        return NeedFinding(
            paper=self.paper,
            number=self.number,
            label=label,
            corrected=self.corrected,
            standing=standing,
            on_range=on_range,
            missing=missing,
        )


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
    needs: tuple[Need, ...]
    named: frozenset[str]
    confirms: Mapping[str, str]
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
        """Hash of the source of the check, its claims, everything of the project that they reach, and of the hashes of
        the statements it needs: a change below makes what builds on it stale.
        """
        own = source_sha256(self.check, self.printed, self.caveat, self.corrected)
        below = [(need, need.find()) for need in self.needs]
        if not below:
            return own
        self._refuse_circles()
        parts = [own, *(f"{need}{'' if found is None else found.source_sha256}" for need, found in below)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def _refuse_circles(self) -> None:
        """Raises InvalidValue if the statement needs itself, through others as well."""
        pending, seen = list(self.needs), set[Key]()
        while pending:
            need = pending.pop()
            if need.key == (self.paper, self.number):
                raise InvalidValue("needs", self.number, "without a circle", "let a statement need earlier ones")
            if need.key not in seen and (found := need.find()) is not None:
                pending += found.needs
            seen.add(need.key)

    def findings(self, claim: Claim) -> tuple[Finding, ...]:
        """The conditions of any claim of this form, decided by the check, and how far they reach."""
        return tuple(
            replace(found, named=found.named or found.name in self.named, confirms=self.confirms.get(found.name, ""))
            for found in self.check(claim)
        )

    def verify(self) -> Outcome:
        """Decide the statement as printed, its caveat and its correction, and the statements it needs.

        HOLDS: the printed claim holds and there is no caveat. HOLDS_ON_RANGE: the same, but a condition, or a statement
        needed, was decided for finitely many cases, and more is said. HOLDS_WITH_CAVEAT: it holds, and the reading that
        the caveat excludes is refuted. FAILS_AS_PRINTED: it is refuted, and the corrected claim holds. UNDECIDED:
        anything else, with the reason in the note; also where the check misses a planted fault, a condition has none,
        or a statement needed does not hold.
        """
        self._refuse_circles()
        return outcomes_of([self], {})[0]

    def decided_alone(self) -> Outcome:
        """The outcome as if everything needed were given."""
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
            with condition_alone(fault.condition):
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
        below = [need.number for need in self.needs]
        upheld = good if standing is not Standing.HOLDS_WITH_CAVEAT else (*printed, *corrected)
        return _capped(
            Outcome(
                paper=self.paper,
                number=self.number,
                label=self.label,
                text=self.text,
                standing=standing,
                expected=self.expected,
                on_range=any(f.on_range for f in upheld),
                needs=(),
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
                unconfirmed=(
                    *(name for name in (*self.named, *self.confirms) if names and name not in names),
                    *unconfirmed(printed, below),
                    *unconfirmed(corrected, below),
                ),
                source_sha256=self.source_sha256,
                location=self.location,
                note=reason or self.note,
            )
        )


def _capped(outcome: Outcome) -> Outcome:
    """No stronger than what was run, and than what is needed; undecided where the check has a defect."""
    on_range = outcome.on_range or any(need.on_range for need in outcome.needs)
    standing, note = outcome.standing, outcome.note
    if outcome.defects:
        reasons = [note] if standing is Standing.UNDECIDED and note else []
        standing, note = Standing.UNDECIDED, "; ".join(dict.fromkeys((*reasons, *outcome.defects)))
    elif standing is Standing.HOLDS and on_range:
        standing = Standing.HOLDS_ON_RANGE
    return replace(outcome, standing=standing, on_range=on_range, note=note)


def outcomes_of(listed: Sequence[Statement], alone: Mapping[Key, Outcome]) -> tuple[Outcome, ...]:
    """The outcomes of statements with what they need.

    Args:
        alone: the outcomes of some of them, or of what they need, as `Statement.decided_alone` gives them; the others
            are decided here.
    """
    done: dict[Key, Outcome] = {}

    def outcome(found: Statement) -> Outcome:
        key = found.paper, found.number
        if key not in done:
            mine = alone[key] if key in alone else found.decided_alone()
            needs = [need.given(None if (on := need.find()) is None else outcome(on)) for need in found.needs]
            done[key] = _capped(replace(mine, needs=tuple(needs))) if needs else mine
        return done[key]

    return tuple(outcome(found) for found in listed)


def all_needed(listed: Sequence[Statement]) -> tuple[Statement, ...]:
    """The statements and everything they need, each once, those listed first."""
    found = {(one.paper, one.number): one for one in listed}
    pending = [need for one in listed for need in one.needs]
    while pending:
        need = pending.pop()
        if need.key not in found and (one := need.find()) is not None:
            found[need.key] = one
            pending += one.needs
    return tuple(found.values())


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
    needs: Sequence[str] = (),
    named: Sequence[str] = (),
    confirms: Mapping[str, str] | None = None,
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
        needs: the statements whose truth this one uses, by number, "paper/number" or "number:corrected" (see `Need`);
            it is no stronger than they are, and its hash changes with theirs.
        named: the conditions decided for finitely many cases that are all the statement speaks of.
        confirms: the conditions decided for finitely many cases that only confirm another, and which: one proved on a
            whole region, or the number of a statement needed. Every other condition decided for finitely many cases
            leaves the statement at `Standing.HOLDS_ON_RANGE`.
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
            needs=tuple(Need.parse(text, paper) for text in needs),
            named=frozenset(named),
            confirms=dict(confirms or {}),
            assumptions=tuple(assumptions),
            note=note,
            restored=restored,
            new=new,
            figure=figure,
            check=check,
        )
        known_statements.setdefault(paper, {})
        if number in known_statements[paper] and known_statements[paper][number].location != made.location:
            raise InvalidValue("number", number, f"new in {paper}", "every statement has a number of its own")
        known_statements[paper][number] = made
        return made

    return register


known_statements: dict[str, dict[str, Statement]] = {}


def _first_open(findings: Sequence[Finding]) -> str:
    return next((repr(f.name) for f in findings if f.holds is None), "(none was checked)")


result: Callable[..., Callable[[Callable[[Claim], Findings]], Statement]] = partial(
    statement, paper=RESULTS, kind=StatementKind.RESULT, expected=Standing.HOLDS, new=True
)
"""Register a result of this project, which holds as it is stated; the other arguments are those of `statement`."""
