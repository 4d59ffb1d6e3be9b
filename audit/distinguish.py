"""Refute a privacy claim from samples: run the mechanism on two neighbouring datasets and tell the outputs apart.

Why the error probability holds. The trials are of two kinds. The exploring ones fit the score and choose the events,
and are discarded. The confirming ones come from streams of their own, so given everything that was explored the events
are fixed sets, and their counts are binomial. Each probability is bounded by Clopper and Pearson with a share of the
error probability; all bounds hold at once except with the sum of the shares, however many events were looked at while
exploring. If the claim holds, then p <= 1 - beta(q) for every event, and bounds that contradict it must be wrong.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverdict.audit.distinguishing_test import (
    Counts,
    DistinguishingTest,
    Event,
    LedgerRow,
    Order,
    Role,
    StatisticalWitness,
)
from dpverdict.audit.events import (
    Quantity,
    choose_event,
    count,
    epsilon_quantity,
    mu_quantity,
    region_row,
    region_thresholds,
    simultaneous_bounds,
    trade_off_region,
)
from dpverdict.audit.scores import (
    HasLikelihoodRatio,
    HasLikelihoodScore,
    Score,
    as_score,
    fit_linear_score,
    likelihood_ratio,
)
from dpverdict.audit.trials import AnyMechanism, Progress, Sampler
from dpverdict.balls import Exact, exactly
from dpverdict.errors import InvalidValue, MechanismFailure
from dpverdict.mechanisms.guarantee import ApproximateDP, Guarantee, PureDP
from dpverdict.mechanisms.neighbours import NeighbourPair

Array = NDArray[np.float64]

FEWEST_SAMPLES: Final = 50
SMALLEST_ERROR: Final = 1e-90
LEADING_SHARE: Final = Fraction(4, 5)
"""Of the error probability, for the quantity that the claim is about; the other one gets the rest."""
METHOD: Final = "two one-sided Clopper-Pearson bounds, half the share each"


def distinguish(
    mechanism: AnyMechanism,
    neighbours: NeighbourPair | tuple[ArrayLike, ArrayLike],
    claim: Guarantee,
    *,
    error_probability: float,
    samples: int,
    seed: int,
    delta: Exact | None = None,
    score: Score | Callable[[Array], object] | None = None,
    progress: Progress | None = None,
) -> DistinguishingTest:
    """Test a claim against the outputs on two neighbouring datasets, and bound mu and epsilon from below.

    Args:
        mechanism: what is run, see `dpverdict.audit.trials`.
        neighbours: the two datasets; without a `NeighbourPair` the score is learned.
        claim: the guarantee, which covers both orders of the pair.
        error_probability: with which a claim that holds may be refuted, in [1e-90, 1).
        samples: trials per dataset, exploration included; at least 50.
        seed: of all random numbers, in 0..2**128 - 1.
        delta: at which epsilon is bounded; the delta of the claim if it has one; otherwise epsilon is not bounded.
        score: outputs (trials, m) -> (trials,), larger where the output looks more like one of the dataset. Without it,
            the likelihood ratio of the mechanism; of a black box, a linear score learned on 30 % of the samples.
        progress: told how many trials are done, and how many there are to do.

    Raises:
        InvalidValue: a parameter out of its range, or a score that returns something else than numbers.
        MechanismFailure: the mechanism raises, or returns something that is not an array of numbers of one shape.
    """
    error = _checked_error(error_probability)
    total = _checked_samples(samples)
    _check_claim(claim)
    level = _checked_delta(delta, claim)
    datasets = (neighbours.dataset, neighbours.neighbour) if isinstance(neighbours, NeighbourPair) else neighbours
    p, q = _samplers(mechanism, datasets, seed)
    progress = progress or _silent

    given: object = mechanism
    if (
        score is None
        and isinstance(given, HasLikelihoodRatio | HasLikelihoodScore)
        and isinstance(neighbours, NeighbourPair)
    ):
        score = likelihood_ratio(given, neighbours)
    if score is None:
        fitted = math.ceil(0.3 * total)
        explored = fitted + math.ceil(0.1 * total)
        chosen: Score = fit_linear_score(
            p.chunks("fit dataset", fitted, progress=_part(progress, 0, total)),
            q.chunks("fit neighbour", fitted, progress=_part(progress, fitted, total)),
        )
    else:
        fitted, chosen = 0, as_score(score)
        explored = min(max(100, math.ceil(0.1 * total)), total // 2)

    def scores(stage: str, trials: int, before: int) -> tuple[Array, Array]:
        of_p = p.scores(f"{stage} dataset", trials, chosen, progress=_part(progress, before, total))
        of_q = q.scores(f"{stage} neighbour", trials, chosen, progress=_part(progress, before + trials, total))
        return of_p, of_q

    exploring = scores("explore", explored - fitted, 2 * fitted)
    quantities = [mu_quantity()] if level is None else [mu_quantity(), epsilon_quantity(level)]
    if isinstance(claim, PureDP | ApproximateDP):
        quantities.reverse()  # the quantity that the claim is about leads
    shares = error_shares(error, len(quantities))
    events = [
        choose_event(*exploring, trials=total - explored, error_probability=share, quantity=quantity)
        for quantity, share in zip(quantities, shares, strict=True)
    ]

    # The events are fixed from here on, and what chose them is not used again.
    confirming = scores("confirm", total - explored, 2 * explored)
    counts = [count(event, *confirming) for event in events]
    rows = [
        _row(quantity, event, counted, share, claim)
        for quantity, event, counted, share in zip(quantities, events, counts, shares, strict=True)
    ]
    broken = [row for row in rows if row.outcome == _CONTRADICTS]
    witness = None
    if broken:
        witness = StatisticalWitness(
            dataset_shape=p.dataset.shape,
            neighbour_shape=q.dataset.shape,
            score=chosen.describe(),
            row=broken[0],
            inequality=_inequality(broken[0], claim),
        )
    bounds = {row.what.partition(" ")[0]: row.bound for row in rows}
    mu_lower = bounds["mu_lower"]
    assert mu_lower is not None
    region = trade_off_region(region_thresholds(*exploring), *confirming, error_probability=error)
    return DistinguishingTest(
        refuted=bool(broken),
        claim=claim,
        mechanism=p.name,
        error_probability=error,
        samples=total,
        explored=explored,
        seed=p.seed,
        score=chosen.name,
        mu_lower=mu_lower,
        epsilon_lower=bounds.get("epsilon_lower"),
        delta=level,
        p_value=p_value(events, counts, claim, error),
        witness=witness,
        ledger=(*rows, region_row(region)),
        region=region,
    )


def contradicts(probability_lower: float, probability_upper: float, claim: Guarantee) -> bool:
    """Whether p >= the lower bound and q <= the upper bound are impossible under the claim: p > 1 - beta(q), exactly.

    beta_lower is a lower bound on the claimed trade-off function, which does not increase; so no rounding helps.
    """
    beta = float(claim.beta_lower(probability_upper))
    return Fraction(probability_lower) + Fraction(beta) > 1


def p_value(events: list[Event], counts: list[Counts], claim: Guarantee, error_probability: float) -> float:
    """The smallest error probability at which the events refute the claim, within 1e-4 of itself, rounded up.

    A valid p-value: events and proportions of the shares are fixed beforehand, and to be refuted at e implies to be
    refuted at every larger e; hence P(p-value <= e) = P(refuted at e) <= e under the claim.
    """

    def refuted(at: float) -> bool:
        shares = error_shares(at, len(events))
        return any(
            contradicts(*simultaneous_bounds(event, counted, share), claim)
            for event, counted, share in zip(events, counts, shares, strict=True)
        )

    if refuted(error_probability):
        low, high = SMALLEST_ERROR, error_probability
        if refuted(low):
            return low
    else:
        low, high = error_probability, 1 - 2.0**-20
        if not refuted(high):
            return 1.0
    while high > low * (1 + 1e-4):
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = (low, middle) if refuted(middle) else (middle, high)
    return high


def error_shares(error_probability: float, quantities: int) -> list[float]:
    """The shares of one or two quantities, the leading one first; their exact sum is at most the error probability."""
    if quantities == 1:
        return [error_probability]
    leading = float(LEADING_SHARE) * error_probability
    other = error_probability - leading
    while Fraction(leading) + Fraction(other) > Fraction(error_probability):
        other = math.nextafter(other, 0)
    return [leading, other]


_CONTRADICTS: Final = "contradicts the claim"
_COMPATIBLE: Final = "does not contradict the claim"


def _row(quantity: Quantity, event: Event, counts: Counts, share: float, claim: Guarantee) -> LedgerRow:
    above, below = simultaneous_bounds(event, counts, share)
    return LedgerRow(
        what=quantity.name,
        role=Role.TEST,
        event=event,
        method=METHOD,
        error_share=share,
        counts=counts,
        probability_lower=above,
        probability_upper=below,
        bound=max(float(quantity.bound(above, below)), 0.0),
        outcome=_CONTRADICTS if contradicts(above, below, claim) else _COMPATIBLE,
    )


def _inequality(row: LedgerRow, claim: Guarantee) -> str:
    assert row.event is not None
    assert row.probability_upper is not None
    first, second = ("P", "Q") if row.event.order is Order.DATASET_FIRST else ("Q", "P")
    allowed = math.nextafter(1 - float(claim.beta_lower(row.probability_upper)), math.inf)
    event = row.event.describe()
    return (
        f"{first}({event}) >= {row.probability_lower!r} and {second}({event}) <= {row.probability_upper!r}, "
        f"where {claim.describe()} allows {first}({event}) <= {allowed!r}"
    )


def _samplers(mechanism: AnyMechanism, datasets: object, seed: int) -> tuple[Sampler, Sampler]:
    if not isinstance(datasets, tuple) or len(datasets) != 2:
        raise InvalidValue("neighbours", datasets, "a NeighbourPair or two arrays", "give (dataset, neighbour)")
    samplers = []
    for where, dataset in zip(("the dataset", "the neighbour"), datasets, strict=True):
        try:
            records = np.asarray(dataset)
        except ValueError:  # ragged
            raise InvalidValue("neighbours", dataset, "two arrays", "give records of one shape") from None
        samplers.append(Sampler.prepare(mechanism, records, where=where, seed=seed))
    p, q = samplers
    if p.size != q.size:
        problem = f"returned {p.size} numbers on the dataset and {q.size} on the neighbour"
        remedy = "return arrays of one shape, whatever the data: a shape that depends on them is a leak"
        raise MechanismFailure(p.name, problem, remedy)
    return p, q


def _checked_error(error_probability: float) -> float:
    number = isinstance(error_probability, float | np.floating)
    if not number or not SMALLEST_ERROR <= error_probability < 1:
        remedy = "state how often a claim that holds may be refuted, such as 0.05, or 1e-6 for a nightly run"
        raise InvalidValue("error_probability", error_probability, f"a float in [{SMALLEST_ERROR}, 1)", remedy)
    return float(error_probability)


def _check_claim(claim: object) -> None:
    if not isinstance(claim, Guarantee):
        remedy = "write for example GaussianDP(1), or parse_guarantee('eps=1, delta=1e-6')"
        raise InvalidValue("claim", claim, "a guarantee", remedy)


def _checked_samples(samples: int) -> int:
    try:
        checked = 0 if isinstance(samples, bool) else operator.index(samples)
    except TypeError:
        checked = 0
    if checked < FEWEST_SAMPLES:
        remedy = "run more trials per dataset; a thousand is a start"
        raise InvalidValue("samples", samples, f"a whole number >= {FEWEST_SAMPLES}", remedy)
    return checked


def _checked_delta(delta: Exact | None, claim: Guarantee) -> float | None:
    """The delta at which epsilon is bounded, rounded up."""
    if delta is None and isinstance(claim, ApproximateDP):
        delta = claim.delta
    if delta is None:
        return 0.0 if isinstance(claim, PureDP) else None
    exact = exactly(delta, name="delta")
    if not 0 <= exact < 1:
        raise InvalidValue("delta", delta, "in [0, 1)", "give the delta at which epsilon is bounded, such as '1e-6'")
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def _part(progress: Progress, before: int, total: int) -> Progress:
    """Progress of one stream as a part of both sides of the audit."""
    return lambda done, _: progress(before + done, 2 * total)


def _silent(_done: int, _total: int) -> None:
    pass
