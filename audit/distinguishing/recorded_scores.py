"""Refute a privacy claim from scores that were recorded elsewhere: canaries of training runs, or any other system.

No mechanism is run. ``scores_in`` are independent draws of one number under P, the law with the canary, ``scores_out``
under Q, the law without it: one score per run, or of canaries that do not influence each other. (Many canaries of ONE
run, with bits that say which were included, are for `one_run.distinguish_one_run`, which needs no independence.) The
scores are split once, by the seed: a part learns how a score is to be read (any scale and direction will do) and
chooses events, the rest decides. So the error probability holds whatever the scores are.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dpverdict.audit.distinguishing.exploration import (
    FITTED,
    Sides,
    add_event_score,
    add_raw_scores,
    choose_scores,
    explored_trials,
    score_everything_explored,
)
from dpverdict.audit.distinguishing.fixed_size import FEWEST_TRIALS, checked_delta, checked_error
from dpverdict.audit.distinguishing.result import (
    DistinguishingTest,
    LedgerRow,
    StatisticalWitness,
)
from dpverdict.audit.distinguishing.row_plan import (
    broken_inequality,
    conclude_audit,
    decide_rows,
    plan_rows,
)
from dpverdict.audit.statistics.error_budget import TrialRange
from dpverdict.audit.trials.run import generator
from dpverdict.balls import Exact
from dpverdict.checks import check_seed
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import Guarantee, as_guarantee
from dpverdict.numerics.arrays import Array


def distinguish_scores(
    scores_in: ArrayLike,
    scores_out: ArrayLike,
    claim: Guarantee | str,
    *,
    error_probability: float,
    seed: int,
    delta: Exact | None = None,
) -> DistinguishingTest:
    """Test a claim against recorded scores, and bound mu and epsilon from below.

    Args:
        scores_in: with the canary, shape (n,), at least 50 finite numbers, of any scale and direction.
        scores_out: without it, shape (n',). The lengths may differ: payoffs use as many of both, events use all.
        claim: the guarantee, which covers both orders of the pair; also as text, such as "eps=1, delta=1e-6".
        error_probability: with which a claim that holds may be refuted, in [1e-90, 1).
        seed: of the split, in 0..2**128 - 1; fix it before the scores are seen.
        delta: at which epsilon is bounded; the delta of the claim if it has one; otherwise epsilon is not bounded.

    Raises:
        InvalidValue: scores that are not finite numbers in one dimension, too few of them, or a parameter out of range.

    >>> from dpverdict.mechanisms.core.guarantees import GaussianDP
    >>> rng = np.random.default_rng(1)
    >>> distinguish_scores(
    ...     rng.normal(3, 1, 500), rng.normal(0, 1, 500), GaussianDP(1), error_probability=1e-6, seed=1
    ... ).refuted
    True
    """
    error = checked_error(error_probability)
    claim = as_guarantee(claim)
    level = checked_delta(delta, claim)
    seed = check_seed(seed)
    sides = tuple(
        generator(seed, f"split {name}", 0).permutation(checked_scores(values, name))[:, np.newaxis]
        for name, values in (("scores_in", scores_in), ("scores_out", scores_out))
    )
    lengths = [len(side) for side in sides]
    total = min(lengths)
    explored = explored_trials(1, claim, total)
    fitted = math.ceil(FITTED * explored)

    fit, held_out = ((sides[0][part], sides[1][part]) for part in (slice(fitted), slice(fitted, explored)))
    stacked, order = choose_scores(fit, held_out, claim)
    stacked, event = add_event_score(
        stacked,
        order,
        (sides[0][:explored], sides[1][:explored]),
        claim,
        known=None,
        given=None,
        fresh=total - explored,
        error=error,
    )
    all_scored = score_everything_explored(stacked, None, (sides[0][:explored], sides[1][:explored]))
    stacked = add_raw_scores(stacked)

    def scores(first: int, stop: int | None) -> Sides:
        p, q = (stacked.unstack(stacked(side[first:stop])) for side in sides)
        return p, q

    exploring = scores(fitted, explored)
    plan = plan_rows(
        claim,
        exploring,
        error=error,
        level=level,
        order=order,
        known=None,
        chosen=event,
        trials=total - explored,
        explored_ranges=(TrialRange(stream="scores", first=0, stop=explored),),
        confirmed=TrialRange(stream="scores", first=explored, stop=max(lengths)),
        all_scored=all_scored,
        single=True,
        numbers=(sides[0][:explored, 0], sides[1][:explored, 0]),
    )
    confirming = scores(explored, None)
    by_name = {one.name: one for one in stacked.scores}

    def witness(row: LedgerRow) -> StatisticalWitness:
        return StatisticalWitness(
            dataset_shape=(lengths[0],),
            neighbour_shape=(lengths[1],),
            score=by_name[row.score].describe(),
            row=row,
            inequality=broken_inequality(row, claim),
        )

    return conclude_audit(
        plan,
        decide_rows(plan, confirming),
        exploring=exploring,
        confirming=confirming,
        shown=plan.leading,
        witness=witness,
        mechanism=f"recorded scores ({lengths[0]} with the canary, {lengths[1]} without)",
        samples=total,
        explored=explored,
        seed=seed,
        grid=None,
    )


def checked_scores(values: ArrayLike, name: str, *, fewest: int = FEWEST_TRIALS) -> Array:
    """Finite numbers in one dimension, as float64.

    Args:
        values: shape (n,), or (n, 1).
        name: of the parameter, for the error.
        fewest: the smallest n.

    Raises:
        InvalidValue: anything else.
    """
    try:
        found = np.asarray(values)
    except ValueError:  # ragged
        raise InvalidValue(name, values, "an array of numbers", "give one number per canary or run") from None
    if found.dtype.kind not in "biuf" or isinstance(values, np.ma.MaskedArray):
        kind = "a masked array" if isinstance(values, np.ma.MaskedArray) else f"an array of {found.dtype}"
        raise InvalidValue(name, kind, "an array of real numbers", "give one number per canary or run")
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1:
        remedy = "give one number per canary or run: average the others, or choose one of them beforehand"
        raise InvalidValue(name, f"shape {found.shape}", "of shape (n,)", remedy)
    if len(found) < fewest:
        raise InvalidValue(name, f"{len(found)} numbers", f"at least {fewest} numbers", "record more of them")
    with np.errstate(over="ignore"):
        scores = found.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        remedy = "clip infinite scores and replace NaN, by a rule that does not look at inclusion"
        raise InvalidValue(name, f"{scores[bad[0]]} at index {bad[0]}", "finite numbers", remedy)
    return scores
