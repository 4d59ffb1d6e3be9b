"""The exploring trials of one audit: they fit scores, choose between them, and fit the chosen ones once more.

Four fifths fit the scores, the last fifth is held out and ranks them. Then the best one is fitted again on all of the
exploring trials, which costs nothing but time: the trials that decide are drawn afterwards.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np

from dpverdict.audit.distinguishing.kept_state import first_kinds
from dpverdict.audit.scores.learned import MOST_COORDINATES, scaled
from dpverdict.audit.scores.portfolio import (
    Stacked,
    better_trees,
    bounding_scale,
    learn_scores,
    payoff_of_claim,
    ranked,
    tuned,
)
from dpverdict.audit.scores.score import Score, fit_linear_score
from dpverdict.audit.scores.trees import TREES, fit_tree_score
from dpverdict.audit.statistics.columns import Numbers
from dpverdict.audit.statistics.payoffs import CurvePayoff, SymmetricPayoff
from dpverdict.audit.trials.outcomes.batches import (
    Batch,
    Layout,
    Outcomes,
    failed_everywhere,
    kinds_seen,
    rows_of,
    together,
)
from dpverdict.audit.trials.outcomes.canonical import TIMED_OUT
from dpverdict.audit.trials.run import Progress, Sampler
from dpverdict.errors import InvalidValue, MechanismFailure
from dpverdict.mechanisms.core.guarantees import Guarantee
from dpverdict.numerics.arrays import Array

Sides = tuple[dict[str, Array], dict[str, Array]]
"""The scores of the dataset and of the neighbour, by the name of the score: shape (trials,) each."""
Columns = tuple[Mapping[str, Numbers], Mapping[str, Numbers]]
"""The same of the trials that decide, which may be too many to be held in memory."""

EXPLORED_CURVE: Final = (0.1, 12.0)
EXPLORED_ALONE: Final = (0.2, 24.0)
EXPLORED_TOGETHER: Final = (0.4, 120.0)
"""Of the samples, and the limit in square roots of them: with one output number, for a claim that is a whole curve and
for one of a single epsilon; and with more output numbers."""
FITTED: Final = 0.8
"""Of the exploring trials: the others choose between the scores."""
FEWEST_EXPLORED: Final = 20
MOST_EXPLORED: Final = 50_000
MOST_BESIDE_KNOWN: Final = 25_000
"""With a score that is known beforehand, which the others only watch over."""
MOST_REFITTED: Final = 20_000
"""Exploring trials beyond which a fifth more of them does not improve a score."""
MOST_HELD: Final = 2**28
"""Numbers of explored outcomes that are held in memory at once."""


def explored_trials(outputs: int, claim: Guarantee, total: int, *, known: bool = False) -> int:
    """How many of ``total`` trials are explored, from the numbers in one output, the claim, and if a score is known."""
    curve = isinstance(payoff_of_claim(claim), CurvePayoff)
    share, limit = EXPLORED_TOGETHER if outputs > 1 else EXPLORED_CURVE if curve else EXPLORED_ALONE
    most = MOST_BESIDE_KNOWN if known else MOST_EXPLORED
    return max(math.ceil(min(share * total, limit * math.sqrt(total), most)), FEWEST_EXPLORED)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration:
    """What the exploring trials gave.

    Attributes:
        scores: all of them, the one known beforehand first.
        order: the names, the best first; the user's own score is not among them, but its calibration is.
        fitting: the scores of the first part, of the score known beforehand only.
        held_out: the scores of the second part.
        seen: what the outcomes were, in words; empty where all are numbers of one length.
        first: the kinds of the first outcomes of both sides, see `kept_state`.
    """

    scores: Stacked
    order: list[str]
    fitting: Sides
    held_out: Sides
    seen: str = ""
    first: tuple[list[str], list[str]] = ([], [])


def explore(
    p: Sampler,
    q: Sampler,
    claim: Guarantee,
    trials: int,
    *,
    known: Score | None,
    given: Score | None,
    fresh: int = 0,
    progress: tuple[Progress, Progress, Progress, Progress],
) -> Exploration:
    """Draw the exploring trials of both sides.

    Args:
        p: the mechanism on the dataset.
        q: on the neighbour.
        claim: that will be tested: it decides how scores are scaled, and which is preferred.
        trials: per side.
        known: a score that is known beforehand.
        given: a user's score.
        fresh: trials per side that will decide.
        progress: of the streams, both sides of the first part before both of the second one.

    Where an outcome is no array of numbers, or the two sides have other lengths, scores are learned of the columns of a
    `Layout`.

    Raises:
        MechanismFailure: every trial on both sides ends in one and the same exception.
        InvalidValue: a user's score, for outcomes that are no arrays of one length.
    """
    parts = math.ceil(FITTED * trials), trials - math.ceil(FITTED * trials)
    sides = ((p, "dataset"), (q, "neighbour"))
    if p.size > MOST_COORDINATES and given is None and p.size == q.size:
        with contextlib.suppress(_OtherOutcomes):
            return _in_passes(sides, parts, known, progress)
    if max(p.size, q.size) * trials > MOST_HELD:
        requirement = f"at most {MOST_HELD} numbers in all explored outcomes, not {max(p.size, q.size) * trials}"
        raise InvalidValue("samples", trials, requirement, "take fewer samples, or audit a summary of the outcome")
    batches = [
        together(list(side.batches(f"{stage} {name}", own, progress=told)), p.size)
        for (stage, own, (side, name)), told in zip(
            ((stage, own, side) for stage, own in zip(("fit", "explore"), parts, strict=True) for side in sides),
            progress,
            strict=True,
        )
    ]
    layout, seen = laid_out(batches, p, given)
    assert layout is None or known is None  # where a score is known, other outcomes are failures
    outputs = [batch for batch in batches if not isinstance(batch, Outcomes)]
    if layout is not None:
        outputs = [layout.table(batch) for batch in batches]
    fit, held = (outputs[0], outputs[1]), (outputs[2], outputs[3])
    scores, order = choose_scores(fit, held, claim, known=known, given=given, fresh=fresh)
    fitting: Sides = ({}, {}) if known is None else ({known.name: known(fit[0])}, {known.name: known(fit[1])})
    held_out = _apply(scores, held[0]), _apply(scores, held[1])
    scores, first = replace(scores, layout=layout), (first_kinds(batches[0]), first_kinds(batches[1]))
    return Exploration(scores=scores, order=order, fitting=fitting, held_out=held_out, seen=seen, first=first)


class _OtherOutcomes(Exception):
    """An outcome was met that is no array of numbers of the usual length."""


def laid_out(batches: Sequence[Batch], p: Sampler, given: Score | None, *, few: int = 0) -> tuple[Layout | None, str]:
    """The layout of explored outcomes, those of the dataset at the even places, with what they were in words.

    None and no words where all are arrays of as many numbers as the first trial of the dataset. Fewer than ``few``
    trials of the dataset are not enough to say that every trial fails.

    Raises:
        MechanismFailure: every trial on both sides ends in one and the same exception.
        InvalidValue: a layout is needed, and there is a user's score, of arrays.
    """
    if not any(isinstance(batch, Outcomes) for batch in batches):
        return None, ""
    sides = [[row for batch in batches[side::2] for row in rows_of(batch)] for side in (0, 1)]
    failed = failed_everywhere(sides[0], sides[1])
    if failed is not None and len(sides[0]) >= few:
        remedy = "call it yourself on these data; an array is given read-only, so copy it before a change"
        if failed.signature == TIMED_OUT:
            raise MechanismFailure(p.name, f"ended in {failed.note} in every trial on both datasets", "give it longer")
        raise MechanismFailure(p.name, f"raised {failed.note} in every trial on both datasets", remedy)
    seen = kinds_seen(sides[0], sides[1]) or ""
    if given is not None:
        remedy = "leave score out: one of the outcomes as they are is learned"
        raise InvalidValue("score", given.name, f"left out where outcomes are no arrays of one length ({seen})", remedy)
    return Layout.of(sides[0], sides[1]), seen


def choose_scores(
    fit: tuple[Array, Array],
    held_out: tuple[Array, Array],
    claim: Guarantee,
    *,
    known: Score | None = None,
    given: Score | None = None,
    fresh: int = 0,
) -> tuple[Stacked, list[str]]:
    """Learn, rank, learn the best again, and scale. Boosted trees join where nothing is known beforehand and the
    held-out trials show that they are better: see `better_trees`.

    Args:
        fit: outputs on both sides that fit the scores, shape (n, m) each.
        held_out: those that rank them.
        claim: that will be tested.
        known: a score that is known beforehand.
        given: a user's score.
        fresh: trials per side that will decide; if there are enough for a certain refutation, scores are scaled for the
            bound on epsilon.

    Returns:
        All scores, the known one first and the user's last, and the names of all but the user's, the best first.
    """
    beforehand = () if known is None else (known,)
    user = () if given is None else (given,)
    learned = learn_scores(*fit, given)
    first = Stacked((*beforehand, *learned))
    order = ranked([one.name for one in first.scores], (_apply(first, held_out[0]), _apply(first, held_out[1])), claim)
    trees = better_trees(fit, held_out, first, order[0]) if known is None else None
    if trees is not None:
        learned, order = [*learned, trees], [trees.name, *order]
    everything = fit
    if len(fit[0]) + len(held_out[0]) <= MOST_REFITTED:
        everything = np.concatenate([fit[0], held_out[0]]), np.concatenate([fit[1], held_out[1]])
        best = next(name for name in order if known is None or name != known.name)
        refitted = [fit_tree_score(*everything)] if best == TREES else learn_scores(*everything, given, only=best)
        again = {one.name: one for one in refitted}
        learned = [again.get(one.name, one) for one in learned]
    payoff = payoff_of_claim(claim)
    learned = [tuned(score, payoff, *everything) for score in learned]
    if fresh and isinstance(payoff, SymmetricPayoff) and payoff.allowed > 0:
        # Few parameters are hardly fitted to the very trials that they are judged by; many would be.
        sides = everything if fit[0].shape[1] == 1 else held_out
        learned = [scaled(one, bounding_scale(payoff, one(sides[0]), one(sides[1]), fresh)) for one in learned]
    return Stacked((*beforehand, *learned, *user)), order


def _apply(scores: Stacked, outputs: Array) -> dict[str, Array]:
    return scores.unstack(scores(outputs))


def _an_array(batch: Batch) -> Array:
    if isinstance(batch, Outcomes):
        raise _OtherOutcomes
    return batch


def _in_passes(
    sides: tuple[tuple[Sampler, str], tuple[Sampler, str]],
    parts: tuple[int, int],
    known: Score | None,
    progress: tuple[Progress, Progress, Progress, Progress],
) -> Exploration:
    """Of outputs with many coordinates, without keeping them: the score known beforehand alone, or a linear one."""
    fitting: Sides = ({}, {})
    if known is not None:
        scores = Stacked((known,))
        of_p, of_q = (
            scores.unstack(side.scores(f"fit {name}", parts[0], scores, progress=told))
            for (side, name), told in zip(sides, progress[:2], strict=True)
        )
        fitting = of_p, of_q
    else:
        chunks = (
            map(_an_array, side.batches(f"fit {name}", parts[0], progress=told))
            for (side, name), told in zip(sides, progress[:2], strict=True)
        )
        scores = Stacked((fit_linear_score(*chunks),))
    of_p, of_q = (
        scores.unstack(side.scores(f"explore {name}", parts[1], scores, progress=told))
        for (side, name), told in zip(sides, progress[2:], strict=True)
    )
    return Exploration(scores=scores, order=[scores.scores[0].name], fitting=fitting, held_out=(of_p, of_q))
