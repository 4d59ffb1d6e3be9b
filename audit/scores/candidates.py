"""The event beside the leading payoff: on which score it is, and how much of the error it should have.

A payoff sees what is spread over all outputs. What sits in a few of them (a label, an atom, a region that the other
side never enters, a tail on one side) is told by an event in one order of the pair, if it is on a score that can stand
out there. Candidates by what the explored outputs are:

* the numbers themselves, both ways round: a tail on one side; nothing is learned, so nothing is fitted wrongly;
* labels, where a value is met twice: of whole rows, and of single columns; by themselves, and with a spline for what
  repeats nothing;
* bins of a continuous number, coarse and fine: they bend anywhere;
* the learned scores, and with several numbers the summaries.

Of more than `MOST_COLUMNS` columns those are tried by themselves in which the sides differ most. Every explored output
needs a score from a model that has not seen it, or a rare event that a model was fitted to would look common: folds
(`out_of_sample_scores`). They choose; they never decide. The chosen score is learned again from everything explored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, final

import numpy as np

from dpverdict.audit.scores.labels import (
    ALL_LABELS,
    fit_bin_score,
    fit_label_score,
    label_scores_of_others,
    row_keys,
    share_of_repeated_rows,
)
from dpverdict.audit.scores.learned_scores import MOST_COORDINATES, SPLINE, fit_spline_score
from dpverdict.audit.scores.score import LinearScore, Score
from dpverdict.audit.scores.summaries import SUMMARY, fit_summary_score, summaries_apply
from dpverdict.audit.scores.trees import thinned_rows
from dpverdict.audit.statistics.joint_test import Order
from dpverdict.audit.statistics.payoffs import Payoff
from dpverdict.audit.statistics.predicted_power import (
    HANDICAP,
    LARGEST_BY_LUCK,
    ExploredScores,
    Line,
    PredictedEvent,
    best_event,
    cross_fitted_prediction,
    predicted_z_of_payoff,
    share_of_event,
    threshold_on_new_score,
)
from dpverdict.numerics.arrays import Array

Outputs = tuple[Array, Array]
"""Of the dataset and of the neighbour, shape (n, m) each."""
Fit = Callable[[Array, Array], Score]

MOST_COLUMNS: Final = 12
"""Tried by themselves, as numbers, labels and bins."""
FINE: Final = 64
COARSE: Final = 16
FEW: Final = 12
"""Bins; the last where fewer than `FEW_OUTPUTS` per side are explored."""
FEW_OUTPUTS: Final = 200
MOST_CHOOSING: Final = 30_000
MOST_TOGETHER: Final = 8_000
MOST_FITTED: Final = 4_000
"""Outputs per side on which candidates are compared: of one number, of more, and by scores that are slow to learn."""
HOPELESS: Final = 0.5
"""What the payoff promises, as z: below it an event counts half as it shows itself and half as folds show it."""
BESIDE_KNOWN: Final = 0.12
"""Of the error that payoff and event divide: what the event gets beside a score that was known beforehand."""
FOLDS: Final = 4
FOLDS_OF_FEW: Final = 5
FEW_OUTPUTS_FOR_FOLDS: Final = 40
FOLDS_TOGETHER: Final = 2
MANY_TOGETHER: Final = 600
"""With more than one number, two folds for more outputs than this, and for scores that are slow to learn."""
FOLDS_OF_LEADING: Final = 5
"""With more than one number, of the score of the leading payoff: what a score promises that was learned from half of
the explored outputs is far below what it will do, learned from all."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreCandidate:
    """A score that is known, or one that can be learned.

    Attributes:
        name: of the score.
        fit: gives the score; from no outputs, if it is known.
        known: nothing is learned from outputs.
        slow: it takes long to learn, so that fewer outputs choose.
        of_others: gives the score of every output, learned from all others, where that is cheaper than folds.
    """

    name: str
    fit: Fit
    known: bool = False
    slow: bool = False
    of_others: Callable[[Array, Array], Outputs] | None = None

    def searched(self, scores: Outputs) -> ExploredScores:
        """Its explored scores: labels are no thresholds that were searched for."""
        labels = self.of_others is not None
        return ExploredScores(scores=scores, luck=0.0 if labels else LARGEST_BY_LUCK, gaps=labels or self.known)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChosenEvent:
    """An event that will stand beside the leading payoff, fixed on explored outputs.

    Attributes:
        score: learned from everything explored.
        order: of the pair.
        threshold: {score >= threshold}, or {score <= threshold} where the neighbour comes first.
        line: the point of the claimed curve on which it is tested.
        share: of the error that event and payoff have together.
        z: what the event promises.
        of_payoff: what the payoff promises.
        atoms: whether some of the explored outputs repeat a value and others do not.
    """

    score: Score
    order: Order
    threshold: float
    line: Line
    share: float
    z: float
    of_payoff: float
    atoms: bool = False


def choose_second_event(
    outputs: Outputs,
    lines: Sequence[Line],
    leading: ScoreCandidate,
    payoff: Payoff,
    *,
    fresh: int,
    paid: int,
    error: float,
    others: bool = True,
) -> ChosenEvent | None:
    """The candidate event that promises most, and its share beside the payoff; None if no score tells anything apart.

    Args:
        outputs: explored, of both sides.
        lines: points of the claimed curve.
        leading: the score of the leading payoff.
        payoff: of the claim.
        fresh: trials per side that will decide the event.
        paid: those that will decide the payoff, more than ``fresh`` if its score was known beforehand.
        error: that both have together.
        others: whether events on other scores are tried too.
    """
    most = MOST_CHOOSING if outputs[0].shape[1] == 1 else MOST_TOGETHER
    p, q = (thinned_rows(side, most) for side in outputs)
    own = out_of_sample_scores(leading, p, q, together=FOLDS_OF_LEADING)
    of_payoff = predicted_z_of_payoff(payoff, *own, paid)
    tried = [leading]
    tried += [one for one in score_candidates(p, q) if one.name != leading.name] if others else []
    searched = [leading.searched(own), *(one.searched(out_of_sample_scores(one, p, q)) for one in tried[1:])]
    best: tuple[ScoreCandidate, PredictedEvent] | None = None
    for candidate, scores in zip(tried, searched, strict=True):
        event = best_event(scores, lines, fresh)
        if event is not None and (best is None or event.beyond_luck > best[1].beyond_luck):
            best = candidate, event
    if best is None:
        return None
    candidate, found = best
    # Beside a score that was known beforehand its share is fixed, whatever it promises.
    z = found.z if leading.known else cross_fitted_prediction(searched, lines, fresh)
    score, threshold = candidate.fit(*outputs), found.threshold
    if not candidate.known:
        threshold = threshold_on_new_score(found, score(p), score(q))
    # A payoff whose score was known beforehand is decided on the explored outputs too, so nothing that was explored may
    # choose the level of its test.
    share = BESIDE_KNOWN
    atoms = others and 0 < share_of_repeated_rows(np.concatenate([p, q]), tuple(range(p.shape[1]))) <= ALL_LABELS
    if not leading.known:
        # Where the payoff promises nothing there is little to lose by an event whose folds were too small to show it.
        promised = z if of_payoff >= HOPELESS else max(z, (z + found.z) / 2)
        # a fault where atoms are, or a gap, or in labels alone, is no smooth one
        handicap = 0.0 if atoms or found.past_a_gap or candidate.of_others is not None else HANDICAP
        explored = min(map(len, own))
        share = share_of_event(of_payoff, promised, explored=explored, fresh=fresh, error=error, handicap=handicap)
    return ChosenEvent(
        score=score,
        order=found.order,
        threshold=threshold,
        line=found.line,
        share=share,
        z=z,
        of_payoff=of_payoff,
        atoms=atoms,
    )


def score_candidates(p: Array, q: Array) -> list[ScoreCandidate]:
    """Those beside the leading score, by the kind of the explored outputs, shape (n, m) each."""
    m, both = p.shape[1], np.concatenate([p, q])
    found: list[ScoreCandidate] = []
    if (both == both[0]).all():
        return found

    def labels(columns: tuple[int, ...], of: str, repeated: float) -> None:
        if repeated == 0:
            return
        name = f"learned labels of {of}"
        if repeated <= ALL_LABELS:
            found.append(ScoreCandidate(name=name, fit=partial(fit_label_score, columns=columns, name=name)))
            name += " alone"
        fit = partial(fit_label_score, columns=columns, name=name, alone=True)
        found.append(ScoreCandidate(name=name, fit=fit, of_others=partial(label_scores_of_others, columns=columns)))

    if m > 1:
        rows = tuple(range(m))
        labels(rows, "whole outputs", share_of_repeated_rows(both, rows))
        if summaries_apply(p):
            found.append(ScoreCandidate(name=SUMMARY, fit=fit_summary_score, slow=True))
    if m <= MOST_COORDINATES:
        found.append(ScoreCandidate(name=SPLINE, fit=fit_spline_score, slow=True))
    for column in _most_different_columns(p, q):
        said = _column_text(m, column)
        values = both[:, column]
        if values.min() == values.max():
            continue
        found += [known_candidate(raw_score(m, column, turned=turned)) for turned in (False, True)]
        repeated = share_of_repeated_rows(both, (column,))
        labels((column,), said, repeated)
        if repeated <= ALL_LABELS:
            for bins in (FEW,) if len(p) < FEW_OUTPUTS else (COARSE, FINE) if m == 1 else (COARSE,):
                name = f"learned bins of {said}, {bins}"
                fit = partial(fit_bin_score, bins=bins, name=name, column=column)
                found.append(ScoreCandidate(name=name, fit=fit))
    return found


def raw_score(m: int = 1, column: int = 0, *, turned: bool = False) -> LinearScore:
    """One of the ``m`` numbers of an output as it is, or with its sign changed: nothing is learned."""
    weights = np.zeros(m)
    weights[column] = -1.0 if turned else 1.0
    how = "turned round" if turned else "as it is"
    return LinearScore(name=f"{_column_text(m, column)} {how}", weights=weights, offset=0.0)


def known_candidate(score: Score) -> ScoreCandidate:
    """Of a score that is not learned."""
    return ScoreCandidate(name=score.name, fit=lambda p, q: score, known=True)


def out_of_sample_scores(candidate: ScoreCandidate, p: Array, q: Array, *, together: int = FOLDS_TOGETHER) -> Outputs:
    """The score of every output by a model that was learned from the other folds, ``together`` of several numbers."""
    if candidate.known:
        score = candidate.fit(p[:0], q[:0])
        return score(p), score(q)
    if candidate.of_others is not None:
        return candidate.of_others(p, q)
    if candidate.slow:
        p, q = thinned_rows(p, MOST_FITTED), thinned_rows(q, MOST_FITTED)
    few = min(len(p), len(q))
    folds = FOLDS_OF_FEW if few < FEW_OUTPUTS_FOR_FOLDS else FOLDS
    if p.shape[1] > 1 and (candidate.slow or few > MANY_TOGETHER):
        folds = together
    scores = np.zeros(len(p)), np.zeros(len(q))
    for fold in range(folds):
        held = [np.arange(len(side)) % folds == fold for side in (p, q)]
        score = candidate.fit(p[~held[0]], q[~held[1]])
        for side, mask, into in zip((p, q), held, scores, strict=True):
            into[mask] = score(side[mask])
    return scores


def kinds_of_outputs(p: Array, q: Array) -> str:
    """What the explored outputs are, in words: labels, atoms, integers, continuous."""
    both = np.concatenate([p, q])
    m = both.shape[1]
    rows = share_of_repeated_rows(both, tuple(range(m)))
    whole = bool((both == np.rint(both)).all())
    if rows > ALL_LABELS:
        distinct = len(np.unique(row_keys(both, tuple(range(m)))))
        said = f"labels: {distinct} different ones"
    elif rows > 0:
        said = f"values that repeat ({rows:.1%} of the outputs) beside others"
    else:
        said = "no output twice"
    numbers = "one number" if m == 1 else f"{m} numbers"
    return f"{numbers}{', integers' if whole else ''}; {said}"


def describe_blind_spots(m: int) -> str:
    """What no score of ``m`` numbers can see, in words; empty where every kind is looked for."""
    said = []
    if m > MOST_COLUMNS:
        said.append(f"atoms and tails of single numbers but for the {MOST_COLUMNS} that differ most")
    if m > MOST_COORDINATES:
        said.append("interactions but for correlations, sums of squares and extremes")
    return "; ".join(said)


def renamed_score(score: Score, name: str) -> Score:
    """The same score under another name."""
    return replace(score, name=name)  # type: ignore[type-var]  # every learned score is a dataclass with a name


def _column_text(m: int, column: int) -> str:
    return f"output {column}" if m > 1 else "the output"


def _most_different_columns(p: Array, q: Array) -> list[int]:
    """The columns that are tried by themselves: all, or those whose means or variances differ most."""
    m = p.shape[1]
    if m <= MOST_COLUMNS:
        return list(range(m))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        spread = np.sqrt((p.var(axis=0) + q.var(axis=0)) / 2)
        of_means = np.abs(p.mean(axis=0) - q.mean(axis=0)) / spread
        of_spreads = np.abs(np.log(p.std(axis=0) / q.std(axis=0))) * math.sqrt(2)
        # beyond what the other side ever shows: rare outputs that no mean tells of
        beyond = np.maximum(
            np.mean((p > q.max(axis=0)) | (p < q.min(axis=0)), axis=0),
            np.mean((q > p.max(axis=0)) | (q < p.min(axis=0)), axis=0),
        )
    apart = [np.nan_to_num(part, nan=0.0, posinf=1e300) for part in (of_means, of_spreads, beyond)]
    order = [np.argsort(-part, kind="stable") for part in apart]
    chosen: list[int] = []
    for ranks in zip(*order, strict=True):
        chosen += [int(i) for i in ranks if int(i) not in chosen]
        if len(chosen) >= MOST_COLUMNS:
            break
    return sorted(chosen[:MOST_COLUMNS])
