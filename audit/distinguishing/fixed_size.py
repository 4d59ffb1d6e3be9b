"""Refute a privacy claim from samples: run the mechanism on two neighbouring datasets and tell the outputs apart.

Why the error probability holds. The claim is one hypothesis, tested in several ways, each at its share of the error
probability; the shares are entered in a ledger before the trials that decide are drawn. A test that was designed on
exploring trials (a learned score, a chosen event) decides on fresh ones, from streams of their own, so given everything
that was explored its score and its event are fixed. A test whose score was known beforehand decides on all trials, and
so does that of all half-lines of a number (`half_lines`).

What is tested. The leading test takes most of the error: the payoff (`payoffs`) that fits the claim, on the score
that is known, or else on the learned one that did best on held-out exploring trials, fitted again on all of them. The
others guard against what the leading one cannot see: another score, and events chosen for the bounds on mu and epsilon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Final

import numpy as np

from dpverdict.audit.distinguishing.exploration import explore, explored_trials
from dpverdict.audit.distinguishing.mechanism_identity import check_kept_state, check_time_outs
from dpverdict.audit.distinguishing.result import DistinguishingTest, LedgerRow, StatisticalWitness
from dpverdict.audit.distinguishing.row_plan import (
    SMALLEST_ERROR,
    broken_inequality,
    conclude_audit,
    decide_rows,
    plan_rows,
)
from dpverdict.audit.distinguishing.witness_document import shape_of
from dpverdict.audit.scores.portfolio import StackedScores, claimed_score
from dpverdict.audit.scores.score import Score, as_score
from dpverdict.audit.statistics.columns import NumberColumn, Numbers
from dpverdict.audit.statistics.error_budget import TrialRange
from dpverdict.audit.trials.run import AnyMechanism, Progress, Sampler, mechanism_name
from dpverdict.balls import Exact, exactly
from dpverdict.checks import check_whole
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import ApproximateDP, Guarantee, PureDP, as_guarantee
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.mechanisms.core.neighbours import Neighbours, adjacency_name, array_pair, as_pair
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import float_above
from dpverdict.numerics.stages import shown_in_a_notebook, tell_progress

FEWEST_TRIALS: Final = 50
"""Per dataset, of any test."""


@shown_in_a_notebook("test on releases")
def distinguish(
    mechanism: AnyMechanism,
    neighbours: Neighbours,
    claim: Guarantee | str,
    *,
    error_probability: float,
    samples: int,
    seed: int,
    delta: Exact | None = None,
    score: Score | Callable[[Array], object] | None = None,
    grid: float = 0.0,
    progress: Progress | None = None,
) -> DistinguishingTest:
    """Test a claim against the outputs on two neighbouring datasets, and bound mu and epsilon from below.

    Args:
        mechanism: what is run, see `dpverdict.audit.trials.run`.
        neighbours: two datasets that differ in one record, see `as_pair`; without a `NeighbourPair` the score is
            learned.
        claim: the guarantee, which covers both orders of the pair; also as text, such as "eps=1, delta=1e-6".
        error_probability: with which a claim that holds may be refuted, in [1e-90, 1).
        samples: trials per dataset, exploration included; at least 50.
        seed: of all random numbers, in 0..2**128 - 1.
        delta: at which epsilon is bounded; the delta of the claim if it has one; otherwise epsilon is not bounded.
        score: outputs (trials, m) -> (trials,), of any scale and direction: a spline of it is learned. Without it, the
            likelihood ratio of the mechanism. In any case others are learned, on up to 40 % of the samples.
        grid: to audit the claim as one about real numbers: a power of two, to whose multiples the outputs are rounded
            before anything looks at them; 0 to look at the float64 numbers as they are.
        progress: told how many trials are done, and how many there are to do.

    Raises:
        InvalidValue: a parameter out of its range, datasets that are no neighbours, or a score that returns something
            else than numbers.
        MechanismFailure: the mechanism raises, or returns something that is not an array of numbers of one shape.
    """
    error = checked_error(error_probability)
    total = checked_samples(samples)
    claim = as_guarantee(claim)
    level = checked_delta(delta, claim)
    p, q = samplers(mechanism, neighbours, seed, grid)
    progress = progress or tell_progress
    given = None if score is None else as_score(score)
    claimed = claimed_score(mechanism, neighbours) if given is None else None

    explored = explored_trials(p.size, claim, total, known=claimed is not None)
    found = explore(
        p,
        q,
        claim,
        explored,
        total=total,
        error=error,
        known=claimed,
        given=given,
        progress=lambda before: _progress_of_part(progress, before, total),
    )
    explored = found.explored
    fresh = total - explored
    plan = plan_rows(
        claim,
        found.held_out,
        error=error,
        level=level,
        order=found.order,
        known=None if claimed is None else claimed.name,
        chosen=found.event,
        trials=fresh,
        explored_ranges=found.explored_ranges,
        confirmed=TrialRange(stream="confirm", first=0, stop=fresh),
        all_scored=found.all_scored,
        single=claimed is None and given is None and p.size == q.size == 1,
        numbers=found.numbers,
    )

    # Everything is fixed from here on, and what was explored is used again only by the score known beforehand.
    after = (_progress_of_part(progress, before, total) for before in (2 * explored, 2 * explored + fresh))
    shown = given.name if given is not None else plan.leading
    used = found.scores.only({shown, *plan.scores})
    of_p, of_q = (
        _score_columns(used, side.score_chunks(f"confirm {name}", fresh, used, progress=one))
        for side, name, one in zip((p, q), ("dataset", "neighbour"), after, strict=True)
    )
    confirming = of_p, of_q
    for side, kinds in zip((p, q), found.first_outcome_kinds, strict=True):
        check_kept_state(side, kinds)

    def witness(row: LedgerRow) -> StatisticalWitness:
        return StatisticalWitness(
            dataset_shape=shape_of(p.dataset),
            neighbour_shape=shape_of(q.dataset),
            score=found.scores.described(row.score),
            row=row,
            inequality=broken_inequality(row, claim),
            dataset=p.dataset,
            neighbour=q.dataset,
        )

    rows = decide_rows(plan, confirming, (found.fitting, found.held_out))
    if any(row.is_contradiction for row in rows):
        check_time_outs(p, q)
    return conclude_audit(
        plan,
        rows,
        exploring=found.held_out,
        confirming=confirming,
        shown=shown,
        witness=witness,
        mechanism=p.name,
        samples=total,
        explored=explored,
        seed=p.seed,
        grid=p.grid,
        one_stream=p.one_stream,
        outcomes=found.outcome_kinds,
        kind_of_outputs=found.kind,
    )


def samplers(
    mechanism: AnyMechanism,
    neighbours: Neighbours,
    seed: int,
    grid: float = 0.0,
) -> tuple[Sampler, Sampler]:
    """The mechanism on the dataset and on its neighbour, its outputs rounded to ``grid`` if that is not 0.

    Raises:
        InvalidValue: the datasets are no neighbours, see `as_pair`, or under another relation than the one that the
            mechanism states: a claim about neighbours says nothing about them.
    """
    known = isinstance(mechanism, StructuredMechanism)
    pair = array_pair(neighbours) if known and isinstance(neighbours, tuple) else as_pair(neighbours)
    stated = mechanism.adjacency if isinstance(mechanism, StructuredMechanism) else pair.adjacency
    if pair.adjacency is not stated:
        requirement = f"{adjacency_name(stated)} neighbours, as the claim of {mechanism_name(mechanism)} is about"
        raise InvalidValue(
            "neighbours", adjacency_name(pair.adjacency), requirement, "make the pair under that relation"
        )
    # Two datasets keep their order: the first is the dataset, whose law is P.
    first, second = neighbours if isinstance(neighbours, tuple) else (pair.dataset, pair.neighbour)
    if known:
        first, second = np.asarray(first), np.asarray(second)
    p, q = (
        Sampler.prepare(mechanism, dataset, where=where, seed=seed, grid=grid)
        for where, dataset in (("the dataset", first), ("the neighbour", second))
    )
    if p.one_stream != q.one_stream:  # a state that shows on one dataset alone is one state nevertheless
        p, q = replace(p, one_stream=True), replace(q, one_stream=True)
    return p, q


def _score_columns(used: StackedScores, chunks: Iterable[Array]) -> dict[str, Numbers]:
    """The scores of a stream by name; long ones do not stay in memory."""
    columns = {one.name: NumberColumn() for one in used.scores}
    for chunk in chunks:
        for name, values in used.unstack(chunk).items():
            columns[name].extend(values)
    return dict(columns)


def checked_error(error_probability: float) -> float:
    """A float in [1e-90, 1)."""
    number = isinstance(error_probability, float | np.floating)
    if not number or not SMALLEST_ERROR <= error_probability < 1:
        remedy = "state how often a claim that holds may be refuted, such as 0.05, or 1e-6 for a nightly run"
        raise InvalidValue("error_probability", error_probability, f"a float in [{SMALLEST_ERROR}, 1)", remedy)
    return float(error_probability)


def checked_samples(samples: int) -> int:
    """A whole number of at least 50."""
    remedy = "run more trials per dataset; a thousand is a start"
    return check_whole(samples, "samples", least=FEWEST_TRIALS, remedy=remedy)


def checked_delta(delta: Exact | None, claim: Guarantee) -> float | None:
    """The delta at which epsilon is bounded, rounded up."""
    if delta is None and isinstance(claim, ApproximateDP):
        delta = claim.delta
    if delta is None:
        return 0.0 if isinstance(claim, PureDP) else None
    exact: Fraction = exactly(delta, name="delta")
    if not 0 <= exact < 1:
        raise InvalidValue("delta", delta, "in [0, 1)", "give the delta at which epsilon is bounded, such as '1e-6'")
    return float_above(exact)


def _progress_of_part(progress: Progress, before: int, total: int) -> Progress:
    """Progress of one stream as a part of both sides of the audit."""
    return lambda done, _: progress(before + done, 2 * total)
