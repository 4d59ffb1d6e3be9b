"""The operations that are covered: a name, the rule that carries facts on, and why the rule holds.

A rule is given what an operation was applied to (facts, and public values) and its parameters, and nothing else: so
every step of a recorded run can be derived again from its list alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NoReturn, TypeAlias, final

from dpverdict.audit.tracing.rules.facts import Fact, Rows, Total


class NotCovered(BaseException):  # a user's "except Exception" must not hide it
    """An operation that nothing is known of: what it is, and what to write instead."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what if not remedy else f"{what}: {remedy}")


def refuse(what: str, remedy: str = "") -> NoReturn:
    """Raise `NotCovered`."""
    raise NotCovered(what, remedy)


@final
@dataclass(frozen=True, slots=True, eq=False)
class TracedOperand:
    """What an operation is applied to.

    Attributes:
        number: of the operation that made it; None for a public value.
        fact: what is known of it; None for a public value.
        value: the public value; None if it is no such.
    """

    number: int | None
    fact: Fact | None
    value: Any = None


@final
@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One operation of a run.

    Attributes:
        name: of the operation.
        operands: what it was applied to.
        parameters: JSON values.
        fact: what its rule says of the result.
        line: of the user's code.
    """

    name: str
    operands: tuple[TracedOperand, ...]
    parameters: Mapping[str, Any]
    fact: Fact
    line: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """What a rule may look at beside its operands.

    Attributes:
        replace: whether neighbours differ by a replaced record; otherwise by one that is added or removed.
        records: the public number of records; None where there is none.
        steps: the operations before this one, by their numbers.
        known: bounds that were derived of all steps, by what they are bounds on: so that each is derived once.
        unboxed: the same steps with facts of every record, where ``steps`` are of the records of a box; else None.
    """

    replace: bool
    records: int | None
    steps: list[Step] = field(default_factory=list)
    known: dict[Any, Any] = field(default_factory=dict, repr=False)
    unboxed: Setting | None = field(default=None, repr=False)

    @property
    def of_every_record(self) -> Setting:
        """With facts of every record: what a statistic is depends on all of them."""
        return self if self.unboxed is None else self.unboxed

    def rows(self, number: int) -> Rows:
        """The fact of an operation that gave records."""
        fact = self.steps[number].fact
        assert isinstance(fact, Rows)
        return fact


Rule: TypeAlias = "Callable[[Setting, Sequence[TracedOperand], Mapping[str, Any]], Fact]"


@final
@dataclass(frozen=True, slots=True)
class Operation:
    """A covered operation.

    Attributes:
        name: as it stands in certificates.
        rule: carries facts on; raises `NotCovered` outside of its domain.
        reason: why it holds for every pair.
        domain: what it asks for.
    """

    name: str
    rule: Rule
    reason: str
    domain: str = ""


OPERATIONS: Final[dict[str, Operation]] = {}
"""Every covered operation by its name."""


def operation(name: str, reason: str, domain: str = "") -> Callable[[Rule], Rule]:
    """Register the rule of an operation."""

    def registered(rule: Rule) -> Rule:
        def noted(setting: Setting, operands: Sequence[TracedOperand], given: Mapping[str, Any]) -> Fact:
            fact = rule(setting, operands, given)
            return replace(fact, origin=(setting, len(setting.steps))) if isinstance(fact, Total) else fact

        OPERATIONS[name] = Operation(name, noted, reason, domain)
        return rule

    return registered
