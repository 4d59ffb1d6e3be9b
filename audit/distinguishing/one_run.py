"""Audit one run with many canaries: each was included by a fair coin, and the scores say which coins one can guess.

The canaries of one run influence each other through it, so their scores are not independent, and no test of
`recorded.distinguish_scores` applies. What is valid is the number of inclusion bits guessed right (`one_run_bound`):
the guesses are a function of the scores alone, the bits are fair, and the claim bounds how often v of r guesses are
right.

The guesses: of the r canaries with the most extreme scores, those with the higher half are guessed included, the others
left out. The r that suits Gaussian scores at the hypothesis which is tested has most of the error, a few others share
the rest; both are fixed by the hypothesis, the error and the number of canaries. Nothing looks at the bits before they
are counted. The bounds on mu and epsilon have an error probability of their own each, and are below what is claimed
unless the claim is refuted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpverdict.audit.distinguishing.events import capped_at_claim
from dpverdict.audit.distinguishing.fixed_size import checked_delta, checked_error
from dpverdict.audit.distinguishing.recorded_scores import checked_scores
from dpverdict.audit.distinguishing.result import (
    COMPATIBLE,
    CONTRADICTS,
    CurveRegion,
    DistinguishingTest,
    LedgerRow,
    Role,
    StatisticalWitness,
)
from dpverdict.audit.distinguishing.row_plan import (
    broken_inequality,
    combined_p_value,
    largest_bound,
)
from dpverdict.audit.statistics.error_budget import BudgetRow, ErrorBudget, TrialRange
from dpverdict.audit.statistics.one_run_bound import (
    guessing_tail_of_points,
    guessing_tail_upper,
    lower_bound_through_bands,
    profile_points,
    shared_guesses,
)
from dpverdict.audit.trials.run import generator
from dpverdict.balls import Exact
from dpverdict.checks import check_seed
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import GaussianDP, Guarantee, as_guarantee
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import float_below
from dpverdict.numerics.text import rounded_text

FEWEST_CANARIES: Final = 10
BAND_ENDS: Final = tuple(float(end) for end in 0.2 * 1.05 ** np.arange(127))
"""Upper ends of the bands of mu and of epsilon, up to 93, in each of which the number of guesses is fixed."""
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

    ``mu_lower`` is given whatever is claimed, and with a delta ``epsilon_lower``, which assumes nothing of the form of
    the curve. ``epsilon_if_gdp`` is the epsilon that mu_lower means if the mechanism is mu-GDP for some mu.

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

    halves = {"in": np.cumsum(bits[ranking[::-1]]), "out": np.cumsum(~bits[ranking])}

    def right(r: int) -> tuple[int, int]:
        """Of r guesses: those of included canaries and of others that are right."""
        return int(halves["in"][r // 2 - 1]), int(halves["out"][r // 2 - 1])

    shares = shared_guesses(*profile_points(claim), m, error)
    budget = ErrorBudget(error)
    used = TrialRange(stream="canaries", first=0, stop=m)
    rows: list[LedgerRow] = []
    for r, share in shares:
        entry = BudgetRow(name=str(r), hypothesis=claim.describe(), share=share, explored=(), confirmed=(used,))
        budget.enter(entry)
        p = guessing_tail_upper(claim, correct=sum(right(r)), guesses=r, canaries=m)
        rows.append(_ledger_row("the claimed curve", Role.TEST, right(r), r, m, share, p, None))
        budget.close(str(r), rows[-1].outcome)
    broken = [row for row in rows if row.is_contradiction]
    witness = None
    if broken:
        witness = StatisticalWitness(
            dataset_shape=(m,),
            neighbour_shape=(m,),
            score={"kind": "rank", "name": SCORE},
            row=broken[0],
            inequality=broken_inequality(broken[0], claim),
        )
    mu, guesses = _mu_lower(lambda r: sum(right(r)), m, error)
    if not broken and isinstance(claim, GaussianDP):
        mu = min(mu, float_below(claim.mu))
    rows.append(_ledger_row("mu_lower", Role.BOUND, right(guesses), guesses, m, error, None, mu))
    if level is not None:
        epsilon, guesses = _epsilon_lower(lambda r: sum(right(r)), m, error, level)
        if not broken:
            epsilon = capped_at_claim(epsilon, claim, level)
        what = f"epsilon_lower at delta={rounded_text(level)}"
        row = _ledger_row(what, Role.BOUND, right(guesses), guesses, m, error, None, epsilon)
        rows.append(replace(row, delta=level))
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
        epsilon_lower=None if level is None else largest_bound(rows, "epsilon_lower", delta=level),
        delta=level,
        p_value=combined_p_value(rows, error),
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
    if 2 * float(scipy.special.bdtr(min(ones, canaries - ones), canaries, 0.5)) <= UNFAIR:
        remedy = "include each canary by a fair coin of its own: the bound rests on it"
        raise InvalidValue("included", f"{ones} of {canaries} included", "the bits of fair coins", remedy)
    return bits


def _ledger_row(
    what: str,
    role: Role,
    right: tuple[int, int],
    r: int,
    m: int,
    share: float,
    p: float | None,
    bound: float | None,
) -> LedgerRow:
    """The row of r guesses, of which so many are right, with a p-value or a bound."""
    v, half = sum(right), r // 2
    outcome = role.value if p is None else CONTRADICTS if p <= share else COMPATIBLE
    return LedgerRow(
        what=what,
        role=role,
        method=METHOD,
        error_share=share,
        bound=bound,
        outcome=outcome,
        score=SCORE,
        p_value=p,
        payoff={
            "kind": f"{v} of {r} guesses right,",
            "canaries": m,
            "guesses": r,
            "correct": v,
            "dataset_mean": right[0] / half,
            "neighbour_mean": right[1] / half,
        },
        confirmed=f"canaries 0..{m - 1}",
        implied="" if p is None else f"P(at least {v} of {r} guesses right) <= {p!r}",
    )


def _epsilon_lower(right: Callable[[int], int], m: int, error: float, delta: float) -> tuple[float, int]:
    """A bound on epsilon at one delta, whatever the curve is elsewhere; and the number of guesses it ended with."""

    def rejected(epsilon: float, r: int, share: float) -> bool:
        return guessing_tail_of_points(np.array([epsilon]), np.array([delta]), right(r), r, m) <= share

    bound, used = lower_bound_through_bands(
        BAND_ENDS, lambda epsilon: _guesses_for_epsilon(epsilon, delta, m, error), rejected, _are_close
    )
    return bound, used[0][0]


def _mu_lower(right: Callable[[int], int], m: int, error: float) -> tuple[float, int]:
    """A bound on mu from the whole curve; and the number of guesses it ended with."""

    def rejected(mu: float, r: int, share: float) -> bool:
        # The other numbers of guesses are a guard that need not be sharp: one point of the curve, which takes no time.
        guard = share < error / 2
        return (
            guessing_tail_of_points(*_profile_points_of_mu(mu), right(r), r, m, lambda p: p <= share or guard) <= share
        )

    bound, used = lower_bound_through_bands(BAND_ENDS, lambda mu: _guesses_for_mu(mu, m, error), rejected, _are_close)
    return bound, used[0][0]


@lru_cache(maxsize=256)
def _profile_points_of_mu(mu: float) -> tuple[Array, Array]:
    return profile_points(GaussianDP(Fraction(mu)))


@lru_cache(maxsize=256)
def _guesses_for_mu(mu: float, m: int, error: float) -> list[tuple[int, float]]:
    return shared_guesses(*_profile_points_of_mu(mu), m, error)


@lru_cache(maxsize=256)
def _guesses_for_epsilon(epsilon: float, delta: float, m: int, error: float) -> list[tuple[int, float]]:
    return shared_guesses(np.array([epsilon]), np.array([delta]), m, error)


def _are_close(low: float, high: float) -> bool:
    return high - low <= max(1e-3 * high, 1e-4)
