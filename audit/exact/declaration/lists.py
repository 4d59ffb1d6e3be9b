"""The lists of bounds that a mechanism states, held against each other and against its releases."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpverdict.audit.exact.declaration.origin import (
    LAW_ERROR,
    failure_of,
)
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.trials.user_code import guarded
from dpverdict.errors import InvalidValue, MechanismFailure
from dpverdict.mechanisms.core.bounds import AttainedLoss, Below, Bounds, Dominating, NearbyPairs, WorstPair
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.mechanisms.core.neighbours import NeighbourPair
from dpverdict.numerics.text import short_text


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ListsTried:
    """Whether the lists that a mechanism states agree with each other and with its releases.

    Attributes:
        undecided: what is wrong; None if nothing was seen.
        stated: what was tried, in words.
    """

    undecided: str | None
    stated: str


def stated_lists_tried(mechanism: StructuredMechanism, bounds: Bounds) -> ListsTried:
    """Try what a mechanism states of itself: nothing attained may exceed a bound, and pairs have to be told apart."""
    pairs = [entry.pair for entry in bounds.below]
    try:
        wrong = guarded(lambda: _contradiction_in_bounds(bounds) or _on_pairs(mechanism, bounds), failure_of)
    except MechanismFailure as failure:
        wrong = f"its code {failure.problem} on a pair that it states"
    number = f"{len(pairs)} pair{'' if len(pairs) == 1 else 's'}"
    tests = f"the two lists agree at {len(_LEVELS_TRIED)} epsilons; {number} run on equal random numbers"
    return ListsTried(undecided=wrong, stated=tests)


_LEVELS_TRIED = tuple(Fraction(k, 4) for k in (0, 1, 2, 4, 8, 16, 32))
_MOST_SEEDS = 1 << 12


def _contradiction_in_bounds(bounds: Bounds) -> str | None:
    """Whether something that is attained exceeds a bound from above, for certain."""
    above = [entry.loss for entry in bounds.above if isinstance(entry, Dominating | WorstPair)]
    stated = [entry.loss for entry in bounds.below if isinstance(entry, AttainedLoss | WorstPair)]
    below = [order for loss in stated for order in _both_orders(loss)]
    for bound in (loss for loss in above if loss.is_certified):
        for attained in (loss for loss in below if loss.is_certified and loss is not bound):
            for level in _LEVELS_TRIED:
                least, most = attained.certified_delta(level).lower, bound.certified_delta(level).upper
                if least > most:
                    return (
                        f"a pair attains delta({short_text(level)}) >= {least:.6g}, and its bound for every pair is "
                        f"{most:.6g}"
                    )
    return None


def _both_orders(loss: PrivacyLoss) -> Iterator[PrivacyLoss]:
    """The loss of a pair, and that of the opposite order, which a bound for every pair bounds as well."""
    yield loss
    if not loss.symmetric:
        with contextlib.suppress(InvalidValue):  # a class that cannot make it
            yield loss.reversed()


def _on_pairs(mechanism: StructuredMechanism, bounds: Bounds) -> str | None:
    """Whether a stated pair is refused, or makes the same releases on both sides although something is attained."""
    for entry in bounds.below:
        pair = entry.pair
        for side in (pair.dataset, pair.neighbour):
            try:
                mechanism.check_records(side.copy())
            except ValueError as refused:
                return f"it refuses neighbours that it states: {refused}"
        seeds = _seeds_that_show(entry)
        if seeds and all(_same_release(mechanism, pair, seed) for seed in range(seeds)):
            return f"its releases on {entry.description} are the same on both sides, for each of {seeds} seeds"
        for seed in range(2):
            alone, many = (
                np.asarray(mechanism.release(pair.dataset.copy(), np.random.default_rng(seed))),
                np.asarray(mechanism.release_many(pair.dataset.copy(), 1, np.random.default_rng(seed)))[0],
            )
            if not np.array_equal(alone, many):
                return "release and release_many differ on the same random numbers"
    return None


def _seeds_that_show(entry: Below) -> int:
    """How many seeds make equal releases as unlikely as `LAW_ERROR`, if the pair attains its loss; 0 for too many.

    Two releases from one seed are a coupling of the two laws: they differ with a probability of at least the total
    variation distance, which the loss states.
    """
    if isinstance(entry, NearbyPairs):
        entry = entry.shown
    if not (isinstance(entry, AttainedLoss | WorstPair) and entry.loss.is_certified):
        return 0
    distance = entry.loss.certified_advantage().lower
    if distance <= 0:
        return 0
    needed = 1 if distance >= 1 else math.ceil(math.log(LAW_ERROR) / math.log1p(-distance))
    return needed if needed <= _MOST_SEEDS else 0


def _same_release(mechanism: StructuredMechanism, pair: NeighbourPair, seed: int) -> bool:
    one, other = (
        np.asarray(mechanism.release(side.copy(), np.random.default_rng(seed)))
        for side in (pair.dataset, pair.neighbour)
    )
    return bool(np.array_equal(one, other))
