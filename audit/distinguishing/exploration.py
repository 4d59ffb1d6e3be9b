"""The exploring trials of one audit: they fit scores, choose between them, and fit the chosen ones once more.

Four fifths fit the scores, the last fifth is held out and ranks them. Then the best one is fitted again on all of the
exploring trials, which costs nothing but time: the trials that decide are drawn afterwards.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np

from dpverdict.audit.distinguishing.mechanism_identity import first_kinds
from dpverdict.audit.scores.candidates import (
    ChosenEvent,
    ScoreCandidate,
    choose_second_event,
    describe_blind_spots,
    kinds_of_outputs,
    known_candidate,
    raw_score,
    renamed_score,
)
from dpverdict.audit.scores.learned_scores import MOST_COORDINATES, scaled_score
from dpverdict.audit.scores.portfolio import (
    StackedScores,
    bounding_scale,
    learn_scores,
    lines_of_claim,
    payoff_of_claim,
    rank_scores,
    summaries_if_better,
    trees_if_better,
    tuned_score,
)
from dpverdict.audit.scores.score import LINEAR, LinearScore, Score, fit_linear_score
from dpverdict.audit.statistics.columns import Numbers
from dpverdict.audit.statistics.error_budget import TrialRange
from dpverdict.audit.statistics.payoffs import CurvePayoff, SymmetricPayoff
from dpverdict.audit.trials.outcomes.batches import (
    Batch,
    Layout,
    OutcomeRows,
    failed_everywhere,
    kinds_seen,
    rows_of,
    together,
)
from dpverdict.audit.trials.outcomes.canonical import TIMED_OUT
from dpverdict.audit.trials.run import Progress, Sampler
from dpverdict.errors import InvalidValue, MechanismFailure
from dpverdict.mechanisms.core.guarantees import ApproximateDP, Guarantee, PureDP
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.stages import begin_stage

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
GROWN: Final = 0.33
"""Of the samples: explored where what leads is predicted to be in doubt, see `needs_more_exploration`."""
WORTH_GROWING: Final = 1.25
"""Times what was explored: less tells nothing new, and everything is learned again."""
MOST_GROWN: Final = 40_000
EVENT_LEADS: Final = 0.5
"""Of the error that event and payoff divide."""
DOUBTFUL: Final = 0.5
ENOUGH: Final = 3.0
"""Predictions: an event that leads with one between these is worth more exploration, and so is one below `ENOUGH` where
the payoff promises less than `DOUBTFUL`."""
MOST_KEPT: Final = 2**24
"""Numbers of each side that are kept where outcomes have more than `MOST_COORDINATES` of them."""
MOST_HELD: Final = 2**28
"""Numbers of explored outcomes that are held in memory at once."""


def grown_trials(explored: int, total: int) -> int:
    """How many trials are explored where the first ones find an event and not enough of it."""
    grown = min(math.ceil(GROWN * total), MOST_GROWN)
    return grown if grown >= WORTH_GROWING * explored else explored


def needs_more_exploration(event: ChosenEvent, claim: Guarantee, total: int) -> bool:
    """Whether more exploration is worth the trials that decide: an event leads by little, or nothing leads yet.

    Where the payoff of a single epsilon promises nothing, what there may be is rare: then it is better known from more
    trials. So it is where some numbers repeat and others do not: a few trials tell little of atoms, whatever the payoff
    promises. A whole curve is explored by a tenth of the samples, and its bounds need the others.
    """
    if event.atoms:
        return True
    if event.z >= ENOUGH:
        return False
    if event.share >= EVENT_LEADS and event.z > DOUBTFUL:
        return True
    single = isinstance(claim, PureDP | ApproximateDP)
    return single and event.of_payoff < DOUBTFUL and GROWN * total <= MOST_GROWN


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
        explored_ranges: the streams that were explored.
        event: that stands beside the leading payoff; None where no score tells anything apart.
        kind: what the explored outputs are, and what is not looked for in them, in words.
        outcome_kinds: what the outcomes were, in words; empty where all are numbers of one length.
        first_outcome_kinds: the kinds of the first outcomes of both sides, see `mechanism_identity`.
        all_scored: the scores of everything explored, of those that are hardly fitted to it, see
            `score_everything_explored`.
        numbers: the explored outputs of both sides, shape (n,) each, where each is one number, no score was given and
            the claim is one of a single epsilon; the two raw scores are then among the scores.
    """

    scores: StackedScores
    order: list[str]
    fitting: Sides
    held_out: Sides
    explored_ranges: tuple[TrialRange, ...]
    event: ChosenEvent | None = None
    kind: str = ""
    outcome_kinds: str = ""
    first_outcome_kinds: tuple[list[str], list[str]] = ([], [])
    all_scored: Sides = ({}, {})
    numbers: tuple[Array, Array] | None = None

    @property
    def explored(self) -> int:
        """Trials per side."""
        return sum(one.stop - one.first for one in self.explored_ranges)


def explore(
    p: Sampler,
    q: Sampler,
    claim: Guarantee,
    trials: int,
    *,
    total: int,
    error: float,
    known: Score | None,
    given: Score | None,
    progress: Callable[[int], Progress],
) -> Exploration:
    """Draw the exploring trials of both sides; more of them where an event leads and its prediction is in doubt.

    Args:
        p: the mechanism on the dataset.
        q: on the neighbour.
        claim: that will be tested: it decides how scores are scaled, and which is preferred.
        trials: per side, to begin with.
        total: trials per side of the whole audit: those that are not explored will decide.
        error: the error probability.
        known: a score that is known beforehand.
        given: a user's score.
        progress: of a stream, from the trials that were run before it.

    Where an outcome is no array of numbers, or the two sides have other lengths, scores are learned of the columns of a
    `Layout`.

    Raises:
        MechanismFailure: every trial on both sides ends in one and the same exception.
        InvalidValue: a user's score, for outcomes that are no arrays of one length.
    """
    first = math.ceil(FITTED * trials)
    streams = [("fit", first), ("explore", trials - first)]
    sides = ((p, "dataset"), (q, "neighbour"))
    if p.size > MOST_COORDINATES and given is None and p.size == q.size:
        with contextlib.suppress(_OutcomesOfAnotherForm):
            return _explore_in_passes(sides, streams, claim, total, error, known, progress)
    if max(p.size, q.size) * trials > MOST_HELD:
        requirement = f"at most {MOST_HELD} numbers in all explored outcomes, not {max(p.size, q.size) * trials}"
        raise InvalidValue("samples", trials, requirement, "take fewer samples, or audit a summary of the outcome")

    batches: list[Batch] = []
    done = 0

    def draw(stage: str, own: int) -> None:
        nonlocal done
        for side, name in sides:
            run = side.batches(f"{stage} {name}", own, progress=progress(done))
            batches.append(together(list(run), p.size))
            done += own

    for stage, own in streams:
        draw(stage, own)
    found = _explore_from_batches(batches, p, claim, total - trials, error, known, given)
    more = grown_trials(trials, total) - trials
    layout = found.scores.layout
    if more > 0 and (
        (layout is not None and layout.parts)  # which part of a text tells is hard to know from few
        or (found.event is not None and known is None and needs_more_exploration(found.event, claim, total))
    ):
        streams.append(("more", more))
        draw(*streams[-1])
        found = _explore_from_batches(batches, p, claim, total - trials - more, error, known, given)
    explored_ranges = tuple(TrialRange(stream=stage, first=0, stop=own) for stage, own in streams)
    return replace(
        found, explored_ranges=explored_ranges, first_outcome_kinds=(first_kinds(batches[0]), first_kinds(batches[1]))
    )


def _explore_from_batches(
    batches: Sequence[Batch],
    p: Sampler,
    claim: Guarantee,
    fresh: int,
    error: float,
    known: Score | None,
    given: Score | None,
) -> Exploration:
    """What the batches give: both sides of the first part, of the second one, and of more if there are."""
    layout, seen = layout_of_outcomes(batches, p, given)
    assert layout is None or known is None  # where a score is known, other outcomes are failures
    outputs = [batch for batch in batches if not isinstance(batch, OutcomeRows)]
    if layout is not None:
        outputs = [layout.table(batch) for batch in batches]
    held = outputs[2], outputs[3]
    fit = np.concatenate([outputs[0], *outputs[4::2]]), np.concatenate([outputs[1], *outputs[5::2]])
    scores, order = choose_scores(fit, held, claim, known=known, given=given, fresh=fresh)
    everything = np.concatenate([fit[0], held[0]]), np.concatenate([fit[1], held[1]])
    scores, event = add_event_score(
        scores, order, everything, claim, known=known, given=given, fresh=fresh, error=error
    )
    fitting: Sides = ({}, {}) if known is None else ({known.name: known(fit[0])}, {known.name: known(fit[1])})
    all_scored = score_everything_explored(scores, None if known is None else known.name, everything)
    numbers, single = None, everything[0].shape[1] == 1 and isinstance(claim, PureDP | ApproximateDP)
    if single and layout is None and known is None and given is None:
        scores, numbers = add_raw_scores(scores), (everything[0][:, 0], everything[1][:, 0])
    held_out = _apply_scores(scores, held[0]), _apply_scores(scores, held[1])
    return Exploration(
        scores=replace(scores, layout=layout),
        order=order,
        fitting=fitting,
        held_out=held_out,
        explored_ranges=(),
        event=event,
        kind=_kind_of_outputs(*everything),
        outcome_kinds=seen,
        all_scored=all_scored,
        numbers=numbers,
    )


def add_raw_scores(scores: StackedScores) -> StackedScores:
    """The scores, and the number that is the output both ways round, on which half-lines are tested."""
    names = {one.name for one in scores.scores}
    raw = (raw_score(turned=turned) for turned in (False, True))
    return replace(scores, scores=(*scores.scores, *(one for one in raw if one.name not in names)))


def add_event_score(
    scores: StackedScores,
    order: list[str],
    outputs: tuple[Array, Array],
    claim: Guarantee,
    *,
    known: Score | None,
    given: Score | None,
    fresh: int,
    error: float,
) -> tuple[StackedScores, ChosenEvent | None]:
    """The scores with the one of the event that will stand beside the leading payoff, and that event.

    Args:
        scores: of `choose_scores`.
        order: their names, the best first.
        outputs: everything explored, of both sides, shape (n, m) each.
        claim: that will be tested.
        known: a score that is known beforehand: it leads.
        given: a user's score.
        fresh: trials per side that will decide.
        error: the error probability.
    """
    payoff = payoff_of_claim(claim)

    def leading(p: Array, q: Array) -> Score:
        (score,) = learn_scores(p, q, given, only=order[0])
        return tuned_score(score, payoff, p, q)

    own = ScoreCandidate(name=order[0], fit=leading, slow=True) if known is None else known_candidate(known)
    paid = fresh if known is None else fresh + len(outputs[0])
    event = choose_second_event(outputs, lines_of_claim(claim), own, payoff, fresh=fresh, paid=paid, error=error)
    if event is None or event.score is known:
        return scores, event
    if any(one.name == event.score.name for one in scores.scores):
        event = replace(event, score=renamed_score(event.score, f"{event.score.name}, for an event"))
    return replace(scores, scores=(*scores.scores, event.score)), event


def _kind_of_outputs(p: Array, q: Array) -> str:
    unseen = describe_blind_spots(p.shape[1])
    return kinds_of_outputs(p, q) + (f"; not looked for: {unseen}" if unseen else "")


class _OutcomesOfAnotherForm(Exception):
    """An outcome was met that is no array of numbers of the usual length."""


def layout_of_outcomes(
    batches: Sequence[Batch], p: Sampler, given: Score | None, *, few: int = 0
) -> tuple[Layout | None, str]:
    """The layout of explored outcomes, those of the dataset at the even places, with what they were in words.

    None and no words where all are arrays of as many numbers as the first trial of the dataset. Fewer than ``few``
    trials of the dataset are not enough to say that every trial fails.

    Raises:
        MechanismFailure: every trial on both sides ends in one and the same exception.
        InvalidValue: a layout is needed, and there is a user's score, of arrays.
    """
    if not any(isinstance(batch, OutcomeRows) for batch in batches):
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
        remedy = "leave score out: a score of such outcomes is learned"
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
) -> tuple[StackedScores, list[str]]:
    """Learn, rank, learn the best again, and scale. Boosted trees and summaries join where nothing is known beforehand
    and the held-out trials show that they are better: see `trees_if_better`.

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
    begin_stage("learning scores")
    learned = learn_scores(*fit, given)
    first = StackedScores((*beforehand, *learned))
    order = rank_scores(
        [one.name for one in first.scores],
        (_apply_scores(first, held_out[0]), _apply_scores(first, held_out[1])),
        claim,
    )
    if known is None:
        for better in (trees_if_better, summaries_if_better):
            found = better(fit, held_out, StackedScores((*beforehand, *learned)), order[0])
            if found is not None:
                learned, order = [*learned, found], [found.name, *order]
    everything = fit
    if len(fit[0]) + len(held_out[0]) <= MOST_REFITTED:
        everything = np.concatenate([fit[0], held_out[0]]), np.concatenate([fit[1], held_out[1]])
        best = next(name for name in order if known is None or name != known.name)
        again = {one.name: one for one in learn_scores(*everything, given, only=best)}
        learned = [again.get(one.name, one) for one in learned]
    payoff = payoff_of_claim(claim)
    learned = [tuned_score(score, payoff, *everything) for score in learned]
    if fresh and isinstance(payoff, SymmetricPayoff) and payoff.allowed > 0:
        # Few parameters are hardly fitted to the very trials that they are judged by; many would be.
        sides = everything if fit[0].shape[1] == 1 else held_out
        learned = [scaled_score(one, bounding_scale(payoff, one(sides[0]), one(sides[1]), fresh)) for one in learned]
    return StackedScores((*beforehand, *learned, *user)), order


def score_everything_explored(scores: StackedScores, known: str | None, outputs: tuple[Array, Array]) -> Sides:
    """The scores of all explored outputs: of one known beforehand; of one number the linear one, and all others.

    The linear score of one number is that number but for its sign and scale, so that there is nothing to be fitted.
    """
    if known is not None:
        names = {known: None}
    elif outputs[0].shape[1] == 1:
        names = dict.fromkeys([LINEAR, *(one.name for one in scores.scores)])
    else:
        names = {}
    by_name = {one.name: one for one in scores.scores}
    found = [{name: by_name[name](side) for name in names if name in by_name} for side in outputs]
    return found[0], found[1]


def _apply_scores(scores: StackedScores, outputs: Array) -> dict[str, Array]:
    return scores.unstack(scores(outputs))


def _is_array_of_numbers(batch: Batch) -> Array:
    if isinstance(batch, OutcomeRows):
        raise _OutcomesOfAnotherForm
    return batch


def _explore_in_passes(
    sides: tuple[tuple[Sampler, str], tuple[Sampler, str]],
    streams: list[tuple[str, int]],
    claim: Guarantee,
    total: int,
    error: float,
    known: Score | None,
    progress: Callable[[int], Progress],
) -> Exploration:
    """Of outputs with many coordinates, without keeping them all: the score known beforehand alone, or a linear one.

    As many of the first outputs of each stream are kept as `MOST_KEPT` allows. Summaries and events are learned from
    those, where a score is not known.
    """
    size, parts = sides[0][0].size, [own for _, own in streams]
    explored_ranges = tuple(TrialRange(stream=stage, first=0, stop=own) for stage, own in streams)
    fresh, starts = total - sum(parts), iter((0, parts[0], 2 * parts[0], 2 * parts[0] + parts[1]))
    if known is not None:
        stacked = StackedScores((known,))
        passes: list[dict[str, Array]] = []
        for stage, own in streams:
            for side, name in sides:
                told = progress(next(starts))
                passes.append(stacked.unstack(side.scores(f"{stage} {name}", own, stacked, progress=told)))
        fitting, held_out = (passes[0], passes[1]), (passes[2], passes[3])
        values = tuple(np.concatenate([fitting[i][known.name], held_out[i][known.name]])[:, np.newaxis] for i in (0, 1))
        alone = LinearScore(name=known.name, weights=np.ones(1), offset=0.0)
        event = choose_second_event(
            (values[0], values[1]),
            lines_of_claim(claim),
            known_candidate(alone),
            payoff_of_claim(claim),
            fresh=fresh,
            paid=total,
            error=error,
            others=False,
        )
        return Exploration(
            scores=stacked,
            order=[known.name],
            fitting=fitting,
            held_out=held_out,
            explored_ranges=explored_ranges,
            event=None if event is None else replace(event, score=known),
            kind=f"{size} numbers; not looked for: anything but the score that is known",
        )
    kept: list[list[Array]] = [[], [], [], []]

    def outputs(i: int) -> Iterator[Array]:
        (stage, own), (side, name) = streams[i // 2], sides[i % 2]
        for batch in side.batches(f"{stage} {name}", own, progress=progress(next(starts))):
            array = _is_array_of_numbers(batch)
            room = math.ceil(MOST_KEPT / size * own / sum(parts)) - sum(map(len, kept[i]))
            if room > 0:
                kept[i].append(array[:room])
            yield array

    linear = fit_linear_score(outputs(0), outputs(1))
    values_held = [np.concatenate([linear(array) for array in outputs(i)]) for i in (2, 3)]
    fit, held = ((np.concatenate(kept[i]), np.concatenate(kept[i + 1])) for i in (0, 2))
    scores, order = StackedScores((linear,)), [linear.name]
    held_out = {linear.name: values_held[0]}, {linear.name: values_held[1]}
    few = len(fit[0]) < FEWEST_EXPLORED or len(held[0]) < 2
    if few:
        kind = f"{size} numbers; not looked for: anything but a shift, since fewer than {FEWEST_EXPLORED} were kept"
        return Exploration(
            scores=scores,
            order=order,
            fitting=({}, {}),
            held_out=held_out,
            explored_ranges=explored_ranges,
            event=None,
            kind=kind,
        )
    summaries = summaries_if_better(fit, held, scores, linear.name)
    everything = np.concatenate([fit[0], held[0]]), np.concatenate([fit[1], held[1]])
    if summaries is not None:
        again = tuned_score(
            learn_scores(*everything, None, only=summaries.name)[0], payoff_of_claim(claim), *everything
        )
        scores, order = StackedScores((again, linear)), [again.name, linear.name]
    scores, event = add_event_score(scores, order, everything, claim, known=None, given=None, fresh=fresh, error=error)
    of_kept = _apply_scores(scores, held[0]), _apply_scores(scores, held[1])
    return Exploration(
        scores=scores,
        order=order,
        fitting=({}, {}),
        held_out=(of_kept[0] | held_out[0], of_kept[1] | held_out[1]),
        explored_ranges=explored_ranges,
        event=event,
        kind=_kind_of_outputs(*everything),
    )
