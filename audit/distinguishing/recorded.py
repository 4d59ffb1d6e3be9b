"""Refute a privacy claim from scores that were recorded elsewhere: canaries of training runs, or any other system.

No mechanism is run. ``scores_in`` are independent draws of one number under P, the law with the canary, ``scores_out``
under Q, the law without it: one score per run, or of canaries that do not influence each other. (Many canaries of ONE
run, with bits that say which were included, are for `one_run.distinguish_one_run`, which needs no independence.) The
scores are split once, by the seed: a part learns how a score is to be read (any scale and direction will do) and
chooses events, the rest decides. So the error probability holds whatever the scores are.

Audit one run with many canaries: each was included by a fair coin, and the scores say which coins one can guess.

The canaries of one run influence each other through it, so their scores are not independent, and no test of
`canary_scores` applies. What is valid is the number of inclusion bits guessed right (`one_run_bound`): the guesses are
a function of the scores alone, the bits are fair, and the claim bounds how often v of r guesses are right.

The guesses: of the r canaries with the most extreme scores, those with the higher half are guessed included, the others
left out. How many to guess is not known beforehand, so a few fixed fractions share the error probability. Nothing looks
at the bits before they are counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dpverdict.audit.distinguishing.exploration import FITTED, choose_scores, explored_trials
from dpverdict.audit.distinguishing.fixed_size import FEWEST_TRIALS, check_claim, checked_delta, checked_error
from dpverdict.audit.distinguishing.result import (
    COMPATIBLE,
    CONTRADICTS,
    CurveRegion,
    DistinguishingTest,
    LedgerRow,
    Role,
    StatisticalWitness,
)
from dpverdict.audit.distinguishing.rows import (
    Sides,
    combined_p,
    conclude,
    decide_rows,
    inequality,
    largest_bound,
    plan_rows,
)
from dpverdict.audit.statistics.error_budget import BudgetRow, ErrorBudget, TrialRange, divide
from dpverdict.audit.statistics.one_run_bound import tail, tail_one_epsilon
from dpverdict.audit.trials.run import check_seed, generator
from dpverdict.balls import Exact
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import GaussianDP, Guarantee
from dpverdict.numerics.arrays import Array


def distinguish_scores(
    scores_in: ArrayLike,
    scores_out: ArrayLike,
    claim: Guarantee,
    *,
    error_probability: float,
    seed: int,
    delta: Exact | None = None,
) -> DistinguishingTest:
    """Test a claim against recorded scores, and bound mu and epsilon from below.

    Args:
        scores_in: with the canary, shape (n,), at least 50 finite numbers, of any scale and direction.
        scores_out: without it, shape (n',). The lengths may differ: payoffs use as many of both, events use all.
        claim: the guarantee, which covers both orders of the pair.
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
    check_claim(claim)
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
        trials=total - explored,
        tried=(TrialRange(stream="scores", first=0, stop=explored),),
        confirmed=TrialRange(stream="scores", first=explored, stop=max(lengths)),
    )
    confirming = scores(explored, None)
    by_name = {one.name: one for one in stacked.scores}

    def witness(row: LedgerRow) -> StatisticalWitness:
        return StatisticalWitness(
            dataset_shape=(lengths[0],),
            neighbour_shape=(lengths[1],),
            score=by_name[row.score].describe(),
            row=row,
            inequality=inequality(row, claim),
        )

    return conclude(
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
        remedy = "clip infinite scores, and mend what is not a number, by a rule that does not look at inclusion"
        raise InvalidValue(name, f"{scores[bad[0]]} at index {bad[0]}", "finite numbers", remedy)
    return scores


FRACTIONS: Final = (1.0, 0.5, 0.25, 0.1, 0.04)
"""Of the canaries, that are guessed: few guesses are surer, many are more."""
FEWEST_GUESSES: Final = 10
FEWEST_CANARIES: Final = 10
UNFAIR: Final = 1e-9
"""Bits of which so few, or so many, are 1 are refused: fair coins do that with at most this probability."""
METHOD: Final = "guesses of one run, tail by duality"


def distinguish_one_run(
    scores: ArrayLike,
    included: ArrayLike,
    claim: Guarantee,
    *,
    error_probability: float,
    seed: int,
    delta: Exact | None = None,
) -> DistinguishingTest:
    """Test a claim about adding or removing one record against one run, and bound mu and epsilon from below.

    Valid for every mechanism, however the canaries influence each other, if each canary was included independently with
    probability 1/2. It needs many canaries or a large violation: a claim allows all guesses to be better together, with
    a small probability, so mu is bounded far less well than by independent runs.

    Args:
        scores: one per canary, shape (m,), at least 10, finite; larger where it looks included.
        included: the bits, shape (m,): truth values, or 0 and 1.
        claim: the guarantee, under adding or removing one record: the inclusion of a canary is no replacement.
        error_probability: with which a claim that holds may be refuted, in [1e-90, 1).
        seed: breaks ties between equal scores, blindly; in 0..2**128 - 1.
        delta: at which epsilon is bounded; the delta of the claim if it has one; otherwise epsilon is not bounded.

    Returns:
        A test whose rows are numbers of guesses; it has no trade-off region.

    Raises:
        InvalidValue: scores or bits of another shape or kind, bits that are not those of fair coins, or a parameter out
            of its range.

    >>> from dpverdict.mechanisms.core.guarantees import PureDP
    >>> rng = np.random.default_rng(1)
    >>> bits = rng.integers(0, 2, 1000)
    >>> distinguish_one_run(bits + rng.normal(size=1000) / 4, bits, PureDP(1), error_probability=1e-6, seed=1).refuted
    True
    """
    error = checked_error(error_probability)
    check_claim(claim)
    level = checked_delta(delta, claim)
    seed = check_seed(seed)
    values = checked_scores(scores, "scores", fewest=FEWEST_CANARIES)
    bits = checked_bits(included, len(values))
    m = len(values)
    # Ties are broken by a permutation that knows nothing: the order of a file may well tell the bits.
    shuffled = generator(seed, "ties", 0).permutation(m)
    ranking = shuffled[np.argsort(values[shuffled], kind="stable")]

    sizes = sorted({2 * max(round(fraction * m / 2), 1) for fraction in FRACTIONS}, reverse=True)
    sizes = [r for r in sizes if FEWEST_GUESSES <= r <= m] or [2 * (m // 2)]
    shares = divide(error, {str(r): 1.0 for r in sizes})
    budget = ErrorBudget(error)
    used = TrialRange(stream="canaries", first=0, stop=m)
    for r in sizes:
        hypothesis = claim.describe()
        budget.enter(
            BudgetRow(name=str(r), hypothesis=hypothesis, share=shares[str(r)], explored=(), confirmed=(used,))
        )
    rows: list[LedgerRow] = []
    for r in sizes:
        rows += _rows(bits, ranking, r, claim, shares[str(r)], level)
        budget.close(str(r), rows[-1].outcome)
    broken = [row for row in rows if row.is_contradiction]
    witness = None
    if broken:
        witness = StatisticalWitness(
            dataset_shape=(m,),
            neighbour_shape=(m,),
            score={"kind": "rank", "name": SCORE},
            row=broken[0],
            inequality=inequality(broken[0], claim),
        )
    empty = np.empty(0)
    return DistinguishingTest(
        refuted=bool(broken),
        claim=claim,
        mechanism=f"one run with {m} canaries, {int(bits.sum())} of them included",
        error_probability=error,
        samples=m,
        explored=0,
        seed=seed,
        score=SCORE,
        mu_lower=largest_bound(rows, "mu_lower"),
        epsilon_lower=None if level is None else largest_bound(rows, "epsilon_lower"),
        delta=level,
        p_value=combined_p(rows, error),
        witness=witness,
        ledger=tuple(rows),
        region=CurveRegion(
            thresholds=empty,
            alpha_lower=empty,
            alpha_upper=empty,
            beta_lower=empty,
            beta_upper=empty,
            error_probability=error,
        ),
        grid=None,
    )


SCORE: Final = "canary score, ranked"


def checked_bits(included: ArrayLike, canaries: int) -> NDArray[np.bool_]:
    """The inclusion bits, if they can be those of fair coins.

    Raises:
        InvalidValue: another shape, something else than 0 and 1, or numbers of 0 and 1 that fair coins never show.
    """
    found = np.asarray(included)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.dtype.kind not in "biuf" or found.shape != (canaries,) or not np.isin(found, (0, 1)).all():
        shown = f"{found.dtype} of shape {found.shape}"
        remedy = "give one truth value per canary, in the order of the scores"
        raise InvalidValue("included", shown, f"bits of shape ({canaries},)", remedy)
    bits = found.astype(bool)
    ones = int(bits.sum())
    if 2 * float(special.bdtr(min(ones, canaries - ones), canaries, 0.5)) <= UNFAIR:
        remedy = "include each canary by a fair coin of its own: the bound rests on it"
        raise InvalidValue("included", f"{ones} of {canaries} included", "the bits of fair coins", remedy)
    return bits


def _rows(
    bits: NDArray[np.bool_], ranking: NDArray[np.int64], r: int, claim: Guarantee, share: float, level: float | None
) -> list[LedgerRow]:
    """The row of r guesses."""
    m, half = len(bits), r // 2
    right_in, right_out = int(bits[ranking[m - half :]].sum()), int((~bits[ranking[:half]]).sum())
    v = right_in + right_out
    p = tail(claim, correct=v, guesses=r, canaries=m)
    what, bound = "mu_lower", _mu_lower(v, r, m, share)
    if level is not None:
        what, bound = f"epsilon_lower at delta={level:g}", _epsilon_lower(v, r, m, share, level)
    return [
        LedgerRow(
            what=what,
            role=Role.TEST,
            event=None,
            method=METHOD,
            error_share=share,
            counts=None,
            probability_lower=None,
            probability_upper=None,
            bound=bound,
            outcome=CONTRADICTS if p <= share else COMPATIBLE,
            score=SCORE,
            p_value=p,
            payoff={
                "kind": f"{v} of {r} guesses right,",
                "canaries": m,
                "guesses": r,
                "correct": v,
                "dataset_mean": right_in / half,
                "neighbour_mean": right_out / half,
            },
            confirmed=f"canaries 0..{m - 1}",
            implied=f"P(at least {v} of {r} guesses right) <= {p!r}",
        )
    ]


def _epsilon_lower(v: int, r: int, m: int, share: float, delta: float) -> float:
    """The largest epsilon at which (epsilon, delta) is rejected. All bound the same tail, so one share pays for all."""

    def rejected(epsilon: float) -> bool:
        return v > 0 and float(tail_one_epsilon(np.array([epsilon]), np.array([delta]), v, r, m)[0]) <= share

    return _largest(rejected)


def _mu_lower(v: int, r: int, m: int, share: float) -> float:
    """The largest mu that is rejected from one point of its curve; all bound the same tail."""

    def rejected(mu: float) -> bool:
        epsilons = np.linspace(0.0, mu * (6 + mu / 2), 121)
        deltas = np.asarray(GaussianDP(Fraction(mu)).delta_upper(epsilons), dtype=np.float64)
        return v > 0 and float(tail_one_epsilon(epsilons, deltas, v, r, m).min()) <= share

    return _largest(rejected)


def _largest(rejected: Callable[[float], bool]) -> float:
    low, high = 1e-3, 1.0
    if not rejected(low):
        return 0.0
    while high < 64 and rejected(high):
        low, high = high, 2 * high
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (middle, high) if rejected(middle) else (low, middle)
    return low
