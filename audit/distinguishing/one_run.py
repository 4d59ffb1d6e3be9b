"""Audit one run with many canaries: each was included by a fair coin, and the scores say which coins one can guess.

The canaries of one run influence each other through it, so their scores are not independent, and no test of
`recorded.distinguish_scores` applies. What is valid is the number of inclusion bits guessed right (`one_run_bound`):
the guesses are a function of the scores alone, the bits are fair, and the claim bounds how often v of r guesses are
right.

The guesses: of the r canaries with the most extreme scores, those with the higher half are guessed included, the others
left out. How many to guess is not known beforehand, so a few fixed fractions share the error probability. Nothing looks
at the bits before they are counted.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dpverdict.audit.distinguishing.fixed_size import checked_delta, checked_error
from dpverdict.audit.distinguishing.recorded import checked_scores
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
    combined_p,
    inequality,
    largest_bound,
)
from dpverdict.audit.statistics.error_budget import BudgetRow, ErrorBudget, TrialRange, divide
from dpverdict.audit.statistics.means import largest_rejected
from dpverdict.audit.statistics.one_run_bound import tail, tail_one_epsilon
from dpverdict.audit.trials.run import generator
from dpverdict.balls import Exact
from dpverdict.checks import check_seed
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import GaussianDP, Guarantee, as_guarantee

FRACTIONS: Final = (1.0, 0.5, 0.25, 0.1, 0.04)
"""Of the canaries, that are guessed: few guesses are surer, many are more."""
FEWEST_GUESSES: Final = 10
FEWEST_CANARIES: Final = 10
UNFAIR: Final = 1e-9
"""Bits of which so few, or so many, are 1 are refused: fair coins do that with at most this probability."""
METHOD: Final = "guesses of one run, tail by duality"
SCORE: Final = "canary score, ranked"


def distinguish_one_run(
    scores: ArrayLike,
    included: ArrayLike,
    claim: Guarantee | str,
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
    claim = as_guarantee(claim)
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

    return largest_rejected(rejected, 1e-3, 1.0, close=_close)


def _mu_lower(v: int, r: int, m: int, share: float) -> float:
    """The largest mu that is rejected from one point of its curve; all bound the same tail."""

    def rejected(mu: float) -> bool:
        epsilons = np.linspace(0.0, mu * (6 + mu / 2), 121)
        deltas = np.asarray(GaussianDP(Fraction(mu)).delta_upper(epsilons), dtype=np.float64)
        return v > 0 and float(tail_one_epsilon(epsilons, deltas, v, r, m).min()) <= share

    return largest_rejected(rejected, 1e-3, 1.0, close=_close)


def _close(low: float, high: float) -> bool:
    return high - low <= 1e-4
