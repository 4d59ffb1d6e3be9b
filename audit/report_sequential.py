"""The part of a report about a sequential test: how many pairs it took, and what won."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverdict.audit.report_numbers import at_least, at_most
from dpverdict.audit.report_statistics import RELEASED
from dpverdict.audit.report_table import Evidence, Section, Table, facts

if TYPE_CHECKING:
    from dpverdict.audit.sequential import SequentialTest


def sequential_section(test: SequentialTest) -> Section:
    """What the pairs say, the bettors, and, of a refuted claim, the one that won."""
    outcome = "not refuted" if test.stopped_at is None else f"refuted after {test.stopped_at} pairs of releases"
    named = {
        "claim": f"{test.claim.describe()}: {outcome}",
        "error probability": f"at most {test.error_probability:g}, however often one looks",
        "p-value": f"at most {at_most(test.p_value, 4)}",
        "wealth": f"{test.e_value:.4g}; it starts at 1, and does not grow in the mean if the claim holds",
        **_bounds(test),
        "pairs": f"{test.samples}, of which {test.bet_on} were bet on; the others learned scores",
        RELEASED.numbers: test.mode,
        "seed": str(test.seed),
    }
    text = (
        f"Found {RELEASED.origin}, pair by pair, up to the pair at which the claim fell. Such a test can refute the "
        "claim, with the stated error probability; it never certifies it.",
    )
    tables = [facts(named)]
    if test.witness is not None:
        tables.append(_witness(test))
    scores = tuple((name, f"{weight:.4g}") for name, weight in test.scores.items())
    tables.append(
        Table(caption="Bettors: the weighted mean of their wealths counts", header=("score", "weight"), rows=scores)
    )
    return Section(
        anchor="sequential",
        title="Statistical evidence, pair by pair",
        evidence=Evidence.STATISTICAL,
        text=text,
        tables=tuple(tables),
    )


def sequential_tiles(test: SequentialTest) -> dict[str, str]:
    """The numbers to read first, by name."""
    said = f"error probability {test.error_probability:g}"
    if test.stopped_at is not None:
        return {f"Pairs of releases until the claim fell, {said}": str(test.stopped_at)}
    return {f"Pairs of releases with nothing against the claim, {said}": str(test.samples)}


def _bounds(test: SequentialTest) -> dict[str, str]:
    named = {} if test.mu_lower is None else {"GDP mu": f"at least {at_least(test.mu_lower, 6)}"}
    if test.epsilon_lower is not None:
        named["epsilon"] = f"at least {at_least(test.epsilon_lower, 6)} at the delta of the claim"
    return named


def _witness(test: SequentialTest) -> Table:
    """Which score won, and on what: the document holds the rest."""
    assert test.witness is not None  # where it is asked for
    evidence, score = test.witness["evidence"], test.witness["score"]
    named = {
        "witness": f"the score {_score_name(score)}, betting on pairs of releases",
        "the claim implies": str(evidence["implied"]),
        "stake": f"{evidence['stake']:.4g} of the wealth for each unit of the payoff",
        "to see it again": "write_witness(test.witness, path), then dpverdict replay path: on fresh random numbers",
    }
    return facts(named)


def _score_name(score: object) -> str:
    return str(score.get("name", score.get("kind"))) if isinstance(score, dict) else str(score)
