"""The statistical part of a report: the two tests of releases, their bounds, and the ledger of what those cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

from dpverdict.audit.distinguishing.result import DistinguishingTest, Event, LedgerRow, Role, StatisticalWitness
from dpverdict.audit.distinguishing.sequential import SequentialTest
from dpverdict.audit.reports.drawing import PlotBox
from dpverdict.audit.reports.parts import EvidenceKind, Section, Table, facts
from dpverdict.audit.statistics.joint_test import Order
from dpverdict.numerics.text import at_least, at_most, rounded_text, with_rounded_numbers


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """How the numbers of a test came about, in words.

    Attributes:
        origin: after "found".
        per_side: after the number of samples.
        numbers: what a test looks at.
        given: what was given for each side.
        drawn: what is counted.
        sides: P and Q, in a sentence.
        columns: P and Q, as headings.
    """

    origin: str
    per_side: str
    numbers: str
    given: str
    drawn: str
    sides: tuple[str, str]
    columns: tuple[str, str]


RELEASED: Final = Words(
    origin="by running the mechanism on two neighbouring datasets",
    per_side="per dataset",
    numbers="outputs",
    given="datasets",
    drawn="releases",
    sides=("on the dataset", "on the neighbour"),
    columns=("on dataset", "on neighbour"),
)
RECORDED: Final = Words(
    origin="in scores that were recorded elsewhere, with the canary and without it; no mechanism was run",
    per_side="scores",
    numbers="scores",
    given="given scores",
    drawn="scores",
    sides=("with the canary", "without it"),
    columns=("with canary", "without"),
)


def statistics_section(test: DistinguishingTest, agreement: str | None) -> Section:
    """What the samples say, what the bounds cost, and how it stands to the exact audit (in a sentence of its own)."""
    words = RECORDED if test.recorded else RELEASED
    boxes, outcome = measured_boxes(test), "refuted" if test.refuted else "not refuted"
    named = _outcome_row(test, outcome, "for the refutation, and for each of the bounds below")
    named |= _bounds(test, "" if test.delta is None else f"delta = {rounded_text(test.delta)}")
    if boxes:
        named["rectangles"] = (
            f"{len(boxes)} of the trade-off plot, with an error probability of their own, at most "
            f"{rounded_text(test.region.error_probability)}; never used to refute"
        )
    named |= {
        "samples": f"{test.samples} {words.per_side} ({test.explored} of them learned scores and chose events)",
        "score": test.score,
        words.numbers: test.mode,
        "seed": str(test.seed),
    }
    tables = [facts(named), _ledger_table(test, words)]
    if test.witness is not None:
        tables.insert(1, _witness_table(test.witness, words))
    text = (
        f"Lower bounds found {words.origin}. They can refute the claim, with the stated error probability; they never "
        "certify it."
    )
    return Section(
        anchor="statistics",
        title="Statistical evidence",
        evidence=EvidenceKind.STATISTICAL,
        text=(text,) if agreement is None else (text, agreement),
        tables=tuple(tables),
    )


def sequential_section(test: SequentialTest) -> Section:
    """What the pairs say, the bettors, and, of a refuted claim, the one that won."""
    outcome = "not refuted" if test.stopped_at is None else f"refuted after {test.stopped_at} pairs of releases"
    named = _outcome_row(test, outcome, "however often one looks")
    named["wealth"] = f"{test.e_value:.4g}; it starts at 1, and does not grow in the mean if the claim holds"
    named |= _bounds(test, "the delta of the claim")
    named |= {
        "pairs": f"{test.samples}, of which {test.bet_on} were bet on; the others learned scores",
        RELEASED.numbers: test.mode,
        "seed": str(test.seed),
    }
    scores = tuple((name, f"{weight:.4g}") for name, weight in test.scores.items())
    bettors = Table(
        caption="Bettors: the weighted mean of their wealths counts", header=("score", "weight"), rows=scores
    )
    winner = () if test.witness is None else (_table_of_score(test.witness),)
    text = (
        f"Found {RELEASED.origin}, pair by pair, up to the pair at which the claim fell. Such a test can refute the "
        "claim, with the stated error probability; it never certifies it."
    )
    return Section(
        anchor="sequential",
        title="Statistical evidence, pair by pair",
        evidence=EvidenceKind.STATISTICAL,
        text=(text,),
        tables=(facts(named), *winner, bettors),
    )


def _outcome_row(test: DistinguishingTest | SequentialTest, outcome: str, error: str) -> dict[str, str]:
    return {
        "claim": f"{test.claim.describe()}: {outcome}",
        "error probability": f"at most {rounded_text(test.error_probability)}, {error}",
        "p-value": f"at most {at_most(test.p_value, 4)}",
    }


def _bounds(test: DistinguishingTest | SequentialTest, delta: str) -> dict[str, str]:
    named = {} if test.mu_lower is None else {"GDP mu": f"at least {at_least(test.mu_lower, 6)}"}
    if test.epsilon_lower is not None:
        named["epsilon"] = f"at least {at_least(test.epsilon_lower, 6)} at {delta}"
    if isinstance(test, DistinguishingTest) and test.epsilon_if_gdp is not None:
        assumed = "if the mechanism is mu-GDP for some mu, which nothing here tests"
        named["epsilon implied by mu"] = f"at least {at_least(test.epsilon_if_gdp, 6)} at {delta}, {assumed}"
    return named


def measured_boxes(test: DistinguishingTest) -> list[PlotBox]:
    """The rectangles in which the trade-off function lies, all at once; those that say nothing are left out."""
    region = test.region
    sides = zip(region.alpha_lower, region.alpha_upper, region.beta_lower, region.beta_upper, strict=True)
    boxes = [PlotBox(*(float(side) for side in box)) for box in sides]
    return [box for box in boxes if box.alpha_upper - box.alpha_lower < 1 and box.beta_upper - box.beta_lower < 1]


def region_table(test: DistinguishingTest) -> Table:
    """The corners of the rectangles."""
    rows = tuple(
        (
            at_least(box.alpha_lower, 5),
            at_most(box.alpha_upper, 5),
            at_least(box.beta_lower, 5),
            at_most(box.beta_upper, 5),
        )
        for box in measured_boxes(test)
    )
    error = rounded_text(test.region.error_probability)
    return Table(
        caption=f"Measured rectangles: all hold at once, error probability {error}",
        header=("alpha at least", "alpha at most", "beta at least", "beta at most"),
        rows=rows,
    )


def _ledger_table(test: DistinguishingTest, words: Words) -> Table:
    rows = tuple(_ledger_row(row) for row in test.ledger if row.role is not Role.DESCRIPTIVE)
    return Table(
        caption="Ledger: what each statement costs; the shares of those with a p sum to the error probability of the "
        "test, and a bound without one has its own",
        header=("statement", "bound", "tested by", *words.columns, "p", "share"),
        rows=rows,
    )


def _ledger_row(row: LedgerRow) -> tuple[str, ...]:
    dataset, neighbour = "-", "-"
    tested = "-"
    if row.event is not None:
        tested = f"score {_comparison(row.event)} {row.event.threshold:.6g} ({row.score})"
    if row.counts is not None:
        dataset = "{} of {}".format(*row.counts.of_dataset)
        neighbour = "{} of {}".format(*row.counts.of_neighbour)
    if row.payoff is not None:
        tested = f"{row.payoff['kind']} payoff ({row.score})"
        dataset, neighbour = f"mean {row.payoff['dataset_mean']:.6g}", f"mean {row.payoff['neighbour_mean']:.6g}"
    return (
        row.what,
        "-" if row.bound is None else at_least(row.bound, 6),
        tested,
        dataset,
        neighbour,
        "-" if row.p_value is None else at_most(row.p_value, 3),
        f"{row.error_share:.3g}",
    )


def _comparison(event: Event) -> str:
    return ">=" if event.order is Order.DATASET_FIRST else "<="


def _witness_table(witness: StatisticalWitness, words: Words) -> Table:
    row = witness.row
    named = {"violated": with_rounded_numbers(witness.inequality)}
    if row.event is not None:
        named["event"] = with_rounded_numbers(f"{row.event.describe()} ({row.event.order.value})")
    if row.counts is not None:
        counts = row.counts
        first, second = words.sides
        named[first] = "{} times in {} {}".format(*counts.of_dataset, words.drawn)
        named[second] = "{} times in {} {}".format(*counts.of_neighbour, words.drawn)
    if row.payoff is not None:
        named["payoff"] = _words_and_numbers(row.payoff)
    named["decided on trials"] = row.confirmed
    named[words.given] = f"of shape {witness.dataset_shape} and {witness.neighbour_shape}"
    named["score"] = _words_and_numbers(witness.score)
    return facts(named, caption="The event that contradicts the claim")


def event_in_words(test: DistinguishingTest) -> dict[str, str]:
    """The event that contradicts a refuted claim, and how often each side had it."""
    assert test.witness is not None  # only a refuted claim has one
    words, row = RECORDED if test.recorded else RELEASED, test.witness.row
    named = {"violated": with_rounded_numbers(test.witness.inequality)}
    if row.event is not None:
        named = {"event": with_rounded_numbers(row.event.describe())} | named
    if row.counts is not None:
        first, second = words.sides
        counts = zip((first, second), (row.counts.of_dataset, row.counts.of_neighbour), strict=True)
        named["seen"] = "; ".join(f"{side} {times} times in {trials}" for side, (times, trials) in counts)
    return named


def _words_and_numbers(values: Mapping[str, object]) -> str:
    """What a score or a payoff is: its words and single numbers; its arrays are in the JSON."""
    short = {name: value for name, value in values.items() if not isinstance(value, list | tuple | dict)}
    said = with_rounded_numbers(", ".join(f"{name} {value}" for name, value in short.items()))
    left = [name for name in values if name not in short]
    return f"{said}; {' and '.join(left)}: in the JSON" if left else said


def _table_of_score(witness: Mapping[str, Any]) -> Table:
    """Which score won, and on what: the document holds the rest."""
    evidence, score = witness["evidence"], witness["score"]
    name = score.get("name", score.get("kind")) if isinstance(score, dict) else score
    named = {
        "witness": f"the score {name}, betting on pairs of releases",
        "the claim implies": str(evidence["implied"]),
        "stake": f"{evidence['stake']:.4g} of the wealth for each unit of the payoff",
        "to see it again": "write_witness(test.witness, path), then dpverdict replay path: on fresh random numbers",
    }
    return facts(named)
