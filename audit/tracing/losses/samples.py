"""Poisson samples of the records: which releases are made of such a sample alone.

x[rng.random(len(x)) < q] has every record with probability q, independently of the others. A release that is made of
the records of one sample, and of nothing else of the data, gains by it under add-or-remove-one: see
`dpverdict.audit.sampling.poisson`. That holds of all such releases together, where the draws that make the sample are
used for nothing else. Otherwise each draw is taken for a part of its record, which any bound holds for, by convexity:
nothing is gained, and nothing is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np

from dpverdict.audit.tracing.rules.facts import Rows
from dpverdict.audit.tracing.rules.operations import Step, TracedOperand

_ZERO_WHERE_ONE_IS: Final = ("multiply", "bitwise_and", "logical_and")


@final
@dataclass(frozen=True, slots=True)
class Sample:
    """A Poisson sample.

    Attributes:
        mask: the number of the operation that made it.
        rate: the probability of each record.
    """

    mask: int
    rate: Fraction


def samples_of(steps: Sequence[Step], statistics: Sequence[int]) -> list[Sample | None]:
    """For each statistic that is released, the sample of which alone it is made; None where it gains by none."""
    found: list[Sample | None] = [None] * len(statistics)
    for mask, step in enumerate(steps):
        if step.name != "sampled":
            continue
        uses = [mask in _made_by(steps, number) for number in statistics]
        alone = [
            use and _of_the_sample_alone(steps, number, mask) for use, number in zip(uses, statistics, strict=True)
        ]
        if uses == alone:
            sample = Sample(mask, Fraction(step.parameters["rate"]))
            found = [sample if use and former is None else former for use, former in zip(uses, found, strict=True)]
    return found


def _made_by(steps: Sequence[Step], number: int) -> set[int]:
    """The operations that a statistic is made by, with those that select its records."""
    waiting, found = [number], set[int]()
    while waiting:
        one = waiting.pop()
        if one in found:
            continue
        found.add(one)
        fact = steps[one].fact
        waiting += [operand.number for operand in steps[one].operands if operand.number is not None]
        waiting += list(fact.masks) if isinstance(fact, Rows) else []
    return found


def _of_the_sample_alone(steps: Sequence[Step], number: int, mask: int) -> bool:
    """Whether every sum over records that a statistic is made of leaves out the records that are not in a sample."""
    waiting, seen = [number], set[int]()
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        rows = [operand for operand in steps[one].operands if isinstance(operand.fact, Rows)]
        if rows and not any(_nothing_beside(steps, steps[one], operand, mask) for operand in rows):
            return False
        waiting += [operand.number for operand in steps[one].operands
                    if operand.number is not None and not isinstance(operand.fact, Rows)]  # fmt: skip
    return True


def _nothing_beside(steps: Sequence[Step], step: Step, operand: TracedOperand, mask: int) -> bool:
    """Whether records outside of a sample are left out of what is summed, or add 0 to it."""
    fact = operand.fact
    assert isinstance(fact, Rows)
    if any(_implies(steps, one, mask) for one in fact.masks):
        return True
    return step.name in ("sum", "product of columns") and operand.number is not None and _implies(
        steps, operand.number, mask
    )  # fmt: skip


def _implies(steps: Sequence[Step], number: int, mask: int) -> bool:
    """Whether a truth value is false, or a number 0, for every record outside of a sample."""
    if number == mask:
        return True
    step = steps[number]
    inner = [one.number for one in step.operands]
    if step.name == "elementwise" and step.parameters["name"] in _ZERO_WHERE_ONE_IS:
        return any(one is not None and _implies(steps, one, mask) for one in inner)
    if step.name == "astype":
        return inner[0] is not None and _implies(steps, inner[0], mask)
    if step.name == "where" and inner[2] is None and not np.any(np.asarray(step.operands[2].value)):
        return inner[0] is not None and _implies(steps, inner[0], mask)
    return False
