"""What a report says of the implementation: facts that need no statistics, and the low bits of the outputs."""

from __future__ import annotations

from collections.abc import Sequence

from dpverdict.audit.distinguishing_test import Order
from dpverdict.audit.float_leak import FloatLeak
from dpverdict.audit.grey_box import GreyBoxFinding
from dpverdict.audit.report_numbers import at_least
from dpverdict.audit.report_table import Evidence, Section, Table, facts

WORDS: dict[bool | None, str] = {True: "holds", False: "FAILS", None: "not checked"}


def implementation_section(findings: Sequence[GreyBoxFinding]) -> Section:
    """The checks of `grey_box`, one row each."""
    rows = tuple((found.name, WORDS[found.holds], found.seen) for found in findings)
    text = ["What a few runs with known random numbers show of the code. No check here refutes or certifies a claim."]
    failed = [found for found in findings if found.holds is False and found.breaks_privacy]
    if failed:
        text.append(f"No claim survives this: {'; '.join(found.seen for found in failed)}.")
    table = Table(header=("check", "result", "seen"), rows=rows)
    return Section(
        anchor="implementation", title="Implementation", evidence=Evidence.NONE, text=tuple(text), tables=(table,)
    )


def leak_section(leak: FloatLeak) -> Section:
    """What the search through the low bits found, with its error probability."""
    named = {
        "result": "the claim is refuted for float64 outputs" if leak.refuted else "no leak of the kinds looked for",
        "p-value": f"{leak.p_value:.3g}",
        "error probability": f"{leak.error_probability:g}",
        "epsilon": f"at least {at_least(leak.epsilon_lower, 6)} at delta = {leak.delta:.6g}",
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
    return Section(
        anchor="low-bits", title="Low bits", evidence=Evidence.STATISTICAL, text=text, tables=(facts(named),)
    )
