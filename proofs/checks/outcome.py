"""What a check of a statement finds, and the outcome made of it."""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Concatenate, NoReturn, ParamSpec, TypeAlias, final

from dpverdict.errors import InvalidValue

P = ParamSpec("P")


@final
class Standing(enum.Enum):
    """Where a statement stands after its check."""

    HOLDS = "holds"
    HOLDS_ON_RANGE = "holds on the range checked"
    HOLDS_WITH_CAVEAT = "holds with a caveat"
    FAILS_AS_PRINTED = "fails as printed"
    UNDECIDED = "undecided"


@final
class Method(enum.Enum):
    """How a finding was made, from the strongest to the weakest."""

    SYMBOLIC = "symbolic"
    CERTIFICATE = "certificate"
    EXACT = "exact rational"
    BALLS = "ball arithmetic"
    INSPECTION = "inspection of the text"
    SAMPLED = "sampled"


@final
class StatementKind(enum.Enum):
    """What a statement is called in its paper."""

    DEFINITION = "Definition"
    ALGORITHM = "Algorithm"
    LEMMA = "Lemma"
    PROPOSITION = "Proposition"
    THEOREM = "Theorem"
    COROLLARY = "Corollary"
    CLAIM = "Claim"
    EQUATION = "Equation"
    FIGURE = "Figure"
    REMARK = "Remark"
    TEXT = "Text"
    RESULT = "Result"


Sides: TypeAlias = tuple[tuple[str, str, str], ...]
"""Equations and inequalities in words: left side, relation, right side."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One condition of a statement, decided.

    Attributes:
        name: the condition in a few words; a planted fault is registered under the name of the one it must break.
        holds: True or False when it is certain, None when it could not be decided.
        method: how it was decided.
        scope: for which arguments: "all d > 0", "d = 1..8"; never more than what was checked.
        cases: how many cases ran, where it was decided case by case; None for a proof over a whole region. What is
            exact or sampled is at least one case.
        named: whether the statement speaks of these cases and no others, so that nothing beyond them is left open.
        confirms: the condition of the same check, proved on a whole region, or the statement needed, which these cases
            only confirm.
        argued: why it should hold beyond the cases, in words that nothing here checks.
        margin: how far apart the two sides are certainly, or the least value where one side is 0; "0 (identity)" for
            an identity, "" where nothing is measured.
        witness: arguments at which it fails, by their names, in numbers a reader can recompute; empty when it holds.
        sides: what was decided, as left side, relation, right side, once for each entry; the relation and the right
            side are "" where it is no comparison.
    """

    name: str
    holds: bool | None
    method: Method
    scope: str
    margin: str = ""
    witness: str = ""
    sides: Sides = ()
    cases: int | None = None
    named: bool = False
    confirms: str = ""
    argued: str = ""

    def __post_init__(self) -> None:
        if self.cases is None and self.method in (Method.EXACT, Method.SAMPLED):
            object.__setattr__(self, "cases", 1)
        if self.cases is not None and (word := universal(self.scope)):
            raise InvalidValue(
                "scope", self.scope, f"the cases that ran, without {word!r}", "say in 'argued' why it holds beyond"
            )

    @property
    def on_range(self) -> bool:
        """Whether the statement says more than the cases that ran here."""
        return self.cases is not None and not self.named and not self.confirms

    def __bool__(self) -> NoReturn:
        raise TypeError("read finding.holds, which may also be None")


_ALONE: ContextVar[str | None] = ContextVar("_ALONE", default=None)


@contextmanager
def condition_alone(name: str) -> Generator[None]:
    """Decide the conditions of one name only inside the block: what a planted fault asks of a check."""
    token = _ALONE.set(name)
    try:
        yield
    finally:
        _ALONE.reset(token)


def means_of_proof(decide: Callable[Concatenate[str, P], Finding]) -> Callable[Concatenate[str, P], Finding]:
    """A function that decides the condition it is given the name of; it leaves it open where another is asked for."""

    @functools.wraps(decide)
    def decided(name: str, /, *args: P.args, **named: P.kwargs) -> Finding:
        if _ALONE.get() not in (None, name):
            return Finding(name=name, holds=None, method=Method.INSPECTION, scope="")
        return decide(name, *args, **named)

    return decided


def universal(scope: str) -> str:
    """The word by which a scope says more than finitely many cases can show; "" if there is none."""
    found = re.search(r"\b(all|every|any|each)\b", scope, re.IGNORECASE)
    return "" if found is None else found[0]


def unconfirmed(findings: Sequence[Finding], needed: Iterable[str]) -> tuple[str, ...]:
    """The conditions said to confirm another, where none of that name is proved on a whole region, or needed."""
    proved = {finding.name for finding in findings if finding.cases is None and finding.holds} | set(needed)
    return tuple(dict.fromkeys(f.name for f in findings if f.holds and f.confirms and f.confirms not in proved))


Findings: TypeAlias = Iterator[Finding]
"""What a check yields, one condition after another."""


def decide(findings: Iterable[Finding]) -> bool | None:
    """True if every condition holds, False if one certainly fails, None otherwise (also when there is none)."""
    values = [finding.holds for finding in findings]
    if any(value is False for value in values):
        return False
    return True if values and all(values) else None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FaultFinding:
    """What the check said of one planted fault.

    Attributes:
        condition, text: the condition that the fault must break, and what was changed, in words.
        missed: why the fault was not found; empty when the check refuted its condition.
    """

    condition: str
    text: str
    missed: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NeedFinding:
    """A statement that another one needs, and what it gives.

    Attributes:
        paper, number, label: the statement needed.
        corrected: whether its corrected wording is needed, not the printed one.
        standing: where it stands.
        on_range: whether what it gives rests on finitely many cases.
        missing: why it gives nothing; empty when it holds.
    """

    paper: str
    number: str
    label: str
    corrected: bool
    standing: Standing
    on_range: bool
    missing: str

    @property
    def anchor(self) -> str:
        """The permanent name of the statement needed, in links."""
        return f"{self.paper}-{self.number}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a statement's check, as the ledger shows it.

    Attributes:
        paper, number, label, text: the statement: "lebeda2024", "lem3.4", "Lemma 3.4", its words in one line.
        standing: where it stands.
        on_range: whether what holds rests on finitely many cases, here or in a statement needed, and says more.
        needs: the statements it needs, in order, and what each gives.
        expected: the standing recorded next to the statement; a difference means that something changed.
        scope: for which arguments the conditions were decided.
        method: how, all methods used, the strongest first.
        margin: how close it came to failing.
        witness: arguments at which it fails as printed, or at which the caveat applies.
        caveat: the reading in which it is false, in words.
        corrected: the statement that holds in its place, or that makes the caveat precise; it is checked as well.
        assumptions: what is taken for granted.
        restored: what of the statement is not in the text checked, and where it is taken from.
        new: whether the result, or its wording, is this project's own.
        findings: the conditions of the statement as printed.
        caveat_findings: those of the reading that the caveat excludes; one of them fails.
        corrected_findings: those of the corrected one.
        faults: the planted faults, each run, and whether its own condition broke.
        unguarded: the conditions, in any of the readings, under which no fault is planted.
        unconfirmed: the conditions said to confirm another that is not proved on a whole region, and names that are of
            no condition.
        source_sha256: hash of the source of the check, of everything of this project that it calls, of the values it
            reads, and of the hashes of the statements it needs.
        location: file and line of the check.
        note: why it is undecided, or why a weaker method than the best was used; empty otherwise.
    """

    paper: str
    number: str
    label: str
    text: str
    standing: Standing
    expected: Standing
    on_range: bool
    needs: tuple[NeedFinding, ...]
    scope: str
    method: str
    margin: str
    witness: str
    caveat: str
    corrected: str
    assumptions: tuple[str, ...]
    restored: str
    new: bool
    findings: tuple[Finding, ...]
    caveat_findings: tuple[Finding, ...]
    corrected_findings: tuple[Finding, ...]
    faults: tuple[FaultFinding, ...]
    unguarded: tuple[str, ...]
    unconfirmed: tuple[str, ...]
    source_sha256: str
    location: str
    note: str

    @property
    def as_expected(self) -> bool:
        """Whether the standing is the recorded one, and the check is one that can fail."""
        return self.standing is self.expected and not self.defects

    @property
    def defects(self) -> tuple[str, ...]:
        """Why the check shows nothing: faults that it does not find, conditions that no fault guards."""
        return (
            *(f"missed the planted fault {f.text!r} of {f.condition!r}: {f.missed}" for f in self.faults if f.missed),
            *(f"no fault is planted under the condition {name!r}" for name in self.unguarded),
            *(f"the condition {name!r} confirms nothing proved, or is none" for name in self.unconfirmed),
            *(f"needs {one.label} ({one.paper}), {one.missing}" for one in self.needs if one.missing),
        )

    @property
    def words(self) -> str:
        """The standing as the faces of the ledger show it."""
        more = self.on_range and self.standing in (Standing.HOLDS_WITH_CAVEAT, Standing.FAILS_AS_PRINTED)
        where = {Standing.HOLDS_WITH_CAVEAT: ", on the range checked", Standing.FAILS_AS_PRINTED: " (on a range)"}
        return self.standing.value + (where[self.standing] if more else "") + (" (new)" if self.new else "")

    @property
    def anchor(self) -> str:
        """The permanent name of the statement in links."""
        return f"{self.paper}-{self.number}"

    def __bool__(self) -> NoReturn:
        raise TypeError("read outcome.standing: a statement may hold with a caveat, or be undecided")
