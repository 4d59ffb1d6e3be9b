"""The neighbouring pair of a mechanism with the largest privacy loss, and the privacy loss of any pair."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Final, final

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from dpverdict.audit.exact.comparison import comparison_of
from dpverdict.audit.exact.witness import event_at
from dpverdict.audit.losses.base import AddRemoveLoss, PrivacyLoss, curves_of
from dpverdict.audit.losses.bounded import BoundedLoss
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss
from dpverdict.audit.losses.domains import LEVEL, PROFILE, TRADE_OFF
from dpverdict.balls import Enclosure, Real, ball
from dpverdict.cards import answer_card, shortened
from dpverdict.errors import ContradictoryBounds, InvalidValue, PrecisionExhausted
from dpverdict.mechanisms.core.bounds import (
    Above,
    AttainedLoss,
    Below,
    Bounds,
    DeltaBound,
    Dominating,
    KnownEvent,
    MuBound,
    NearbyPairs,
    WorstPair,
)
from dpverdict.mechanisms.core.guarantees import ApproximateDP
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, NeighbourPair, adjacency_name
from dpverdict.numerics.roots import bisected, doubled
from dpverdict.numerics.stages import shown_in_a_notebook

_NEARLY: Final = 1e-5
"""How far above the least one an epsilon from a closer bound may be, relatively."""
_ROUGHLY: Final = 1e-3
"""How far below the largest one an epsilon may be that a pair breaks, of those that are looked for roughly."""
_HALVINGS: Final = 16
_FARTHEST: Final = 2.0**12
"""The largest epsilon at which a pair is tried where nothing is certified."""
_EQUAL: Final = 1e-9  # relatively: of the ends of one curve


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WorstCase:
    """The neighbouring pair with the largest privacy loss, or one beside a bound, and how it is known.

    Attributes:
        pair: neighbouring datasets that attain it: the worst record alone against none, or against its replacement.
        loss: a privacy loss that dominates every pair's; that of ``pair`` where it is ``exact``.
        description: the worst record in words.
        justification: why nothing is worse.
        exact: whether the pair attains the loss; False where the loss is a bound from above, which refutes nothing.
        bounds: all that the mechanism states, from above and from below.
    """

    pair: NeighbourPair
    loss: PrivacyLoss
    description: str
    justification: str
    exact: bool
    bounds: Bounds

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a certificate takes for granted about the noise."""
        return self.loss.assumptions

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        how = "attained by this pair" if self.exact else "a bound from above; the pair comes near it"
        return answer_card(
            f"The worst neighbours differ in {self.description}.",
            {"loss": f"{shortened(repr(self.loss))}, {how}", "why nothing is worse": self.justification},
            follows="worst.loss.epsilon(1e-6), or certify(mechanism, claim).",
            curves=[curves_of(self.loss, None)],
        )

    def certified_epsilon(self, delta: Fraction) -> Enclosure:
        """The least epsilon that every pair keeps with delta: between what some pair attains, and what is certified.

        The ends are the best of all that is stated from below and from above, not of ``loss`` alone.
        """
        return epsilon_between(self.bounds, delta)

    def certified_delta(self, epsilon: Fraction) -> Enclosure:
        """The least delta that every pair keeps with epsilon, between the same two."""
        if self.exact:
            return self.loss.certified_delta(epsilon)
        uppers = [loss.certified_delta(epsilon).upper for _, loss in _dominating_losses(self.bounds.above)]
        uppers += [Enclosure.of_ball(found).upper for found in _delta_bounds(self.bounds.above, epsilon)]
        lowers = [0.0]
        for entry in self.bounds.below:
            with contextlib.suppress(PrecisionExhausted, InvalidValue):
                lowers.append(_attained_delta(entry, epsilon))
        return PROFILE.enclosure(arb(max(lowers)), arb(min([1.0, *uppers])))

    def enclosed_beta(self, alpha: Fraction, digits: int) -> Enclosure:
        """What every attacker misses with alpha false alarms at least, between the same two, to about so many digits.

        By whole curves alone: a bound on one delta, or an event, says little of it.
        """
        if self.exact:
            return self.loss.enclosed_beta(alpha, digits)
        lowers = [loss.enclosed_beta(alpha, digits).lower for _, loss in _dominating_losses(self.bounds.above)]
        attained = [entry.loss for entry in self.bounds.below if isinstance(entry, AttainedLoss)]
        uppers = [loss.enclosed_beta(alpha, digits).upper for loss in attained if loss.is_certified]
        most = Enclosure.of(Real.of(1 - alpha)).upper
        return TRADE_OFF.enclosure(arb(max([0.0, *lowers])), arb(min([most, *uppers])))


# the best of each list ------------------------------------------------------------------------------------------------


def epsilon_between(bounds: Bounds, delta: Fraction, *, roughly: bool = False) -> Enclosure:
    """Between what the least epsilon is that every pair keeps with delta: attained below, certified above.

    Args:
        bounds: both lists.
        delta: in [0, 1].
        roughly: whether some thousandths matter less than time: a composition on lattices is taken from the first one.

    Raises:
        PrecisionExhausted: a curve is not known there.
    """
    own = None if bounds.worst is None else bounds.worst.loss.certified_epsilon(delta)
    if own is not None and own.upper <= own.lower * (1 + _EQUAL):
        return own
    upper, _ = certified_epsilon(bounds.above, delta, roughly=roughly)
    if own is not None:
        lower = own.lower
    else:
        lower, _ = attained_epsilon(bounds.below, delta, upper, roughly=roughly)
    return LEVEL.enclosure(arb(lower), arb(upper))


def certified_epsilon(
    entries: Sequence[Above], delta: Fraction, *, roughly: bool = False
) -> tuple[float, Above | None]:
    """The least epsilon that some entry shows every pair to keep with delta, and this entry; infinity and None without.

    A bound on one delta counts beside a curve that ends somewhere.
    """
    found, best = math.inf, None
    for entry, loss in _dominating_losses(entries):
        rough = _on_first_lattice(loss) if roughly else None
        if rough is None or not math.isfinite(found):
            least = loss.certified_epsilon(delta).upper
        else:
            least = _least_epsilon(rough, delta, found)
        if least < found:
            found, best = least, entry
    for entry in entries if 0 < delta < 1 else ():
        if isinstance(entry, DeltaBound) and (least := _least_epsilon(entry.at, delta, found)) < found:
            found, best = least, entry
    return found, best


def attained_epsilon(
    entries: Sequence[Below], delta: Fraction, above: float, *, roughly: bool = False
) -> tuple[float, Below | None]:
    """An epsilon up to ``above`` that some pair breaks at delta, as large as one is found, and this entry; 0 and None.

    Raises:
        ContradictoryBounds: a pair breaks ``above``.
    """
    width = _ROUGHLY if roughly else 0.0
    found, best = 0.0, None
    for entry in entries:
        if not isinstance(entry, KnownEvent | NearbyPairs | AttainedLoss):
            continue

        def broken(epsilon: float, entry: KnownEvent | NearbyPairs | AttainedLoss = entry) -> bool:
            level = Fraction(epsilon)
            made = entry.at_level(level) if isinstance(entry, NearbyPairs) else entry
            if isinstance(made, KnownEvent):
                event = event_at(made, level)
                return event is not None and event.delta_lower(level) > delta
            return made.loss.is_certified and comparison_of(ApproximateDP(level, delta), made.loss).broken

        with contextlib.suppress(PrecisionExhausted, InvalidValue):
            if not broken(found):  # it shows no more than another one
                continue
            low, high = found, above
            if math.isinf(above):
                low, high = doubled(broken, found, max(1.0, 2 * found), most=_FARTHEST)
            found, high = bisected(broken, low, high, steps=_HALVINGS, close=partial(_are_close, width))
            best = entry
            if high == above and broken(above):
                raise ContradictoryBounds("epsilon", repr(found), repr(above))
    return found, best


def _are_close(width: float, low: float, high: float) -> bool:
    return high - low < width * high


def _dominating_losses(entries: Sequence[Above]) -> Iterator[tuple[Above, PrivacyLoss]]:
    """The certified losses that dominate every pair, those of closed form first."""
    for entry in entries:
        if isinstance(entry, MuBound):
            yield entry, GaussianLoss.from_squared(entry.mu_squared)
    for entry in entries:
        if isinstance(entry, Dominating | WorstPair) and entry.loss.is_certified:
            yield entry, entry.loss


def _delta_bounds(entries: Sequence[Above], epsilon: Fraction) -> Iterator[arb]:
    for entry in entries:
        if isinstance(entry, DeltaBound) and (found := entry.at(epsilon)) is not None:
            yield found


def _attained_delta(entry: Below, epsilon: Fraction) -> float:
    """A lower bound on delta(epsilon) that a pair shows; 0 of a family in the tail."""
    made = entry.at_level(epsilon) if isinstance(entry, NearbyPairs) else entry
    if isinstance(made, KnownEvent):
        event = event_at(made, epsilon)
        return 0.0 if event is None else event.delta_lower(epsilon)
    if isinstance(made, AttainedLoss) and made.loss.is_certified:
        return made.loss.certified_delta(epsilon).lower
    return 0.0


def _on_first_lattice(loss: PrivacyLoss) -> Callable[[Fraction], arb] | None:
    """delta of a composition on the first of its lattices; None of any other loss."""
    orders = {id(one): one for one in (loss.remove, loss.add)} if isinstance(loss, AddRemoveLoss) else {0: loss}
    lattices = [one for one in orders.values() if isinstance(one, BoundedLoss)]
    if len(lattices) < len(orders):
        return None

    def at(epsilon: Fraction) -> arb:
        return lattices[0].profile_on(epsilon, 0).max(lattices[-1].profile_on(epsilon, 0))

    return at


def _least_epsilon(at: Callable[[Fraction], arb | None], delta: Fraction, highest: float) -> float:
    """An epsilon up to ``highest`` at which a bound on delta(epsilon) is certainly at most delta; nearly the least.

    Where ``highest`` is infinite, no epsilon is looked for.
    """

    logs: dict[float, float] = {}

    def unknown(epsilon: float) -> bool:
        upper = at(Fraction(epsilon))
        if upper is not None and upper > 0:
            logs[epsilon] = float((upper / ball(delta)).log())
        return upper is None or not upper <= ball(delta)

    def middle(low: float, high: float) -> float:
        """Beside where the chord of log delta meets the level, to either side in turn; only the bound counts there."""
        width, even = high - low, len(logs) % 2
        if low not in logs or high not in logs:
            return low + width / 2
        part = logs[low] / (logs[low] - logs[high]) if logs[low] > logs[high] else 0.5
        aside = _NEARLY * high / 4 + 0.02 * width
        return min(max(low + part * width + (aside if even else -aside), low + 0.05 * width), high - 0.05 * width)

    if not math.isfinite(highest) or unknown(highest):
        return highest
    unknown(0.0)
    return bisected(unknown, 0.0, highest, close=lambda low, high: high - low < _NEARLY * high, middle=middle)[1]


@shown_in_a_notebook("worst neighbours")
def worst_case(mechanism: StructuredMechanism) -> WorstCase:
    """The worst neighbouring pair of a mechanism, or the bound that is known with a pair that comes near it.

    Every Gaussian pair with the same covariance is exactly mu-GDP apart, with mu^2 = v^T S^-1 v, and the trade-off
    functions of different mu are nested; so the pair of largest mu^2 dominates all others (Lebeda 2024, section 3).
    For other noise the sensitivity space names the loss that dominates, and says why it does.

    Raises:
        InvalidValue: the mechanism states no pair of neighbours.

    >>> from dpverdict.mechanisms import CorrelatedGaussian
    >>> worst_case(CorrelatedGaussian(dim=100, mu=1)).loss.mu <= 1
    True
    """
    bounds = mechanism.privacy_bounds()
    worst, dominating = bounds.worst, bounds.dominating
    if worst is not None:
        return WorstCase(
            pair=worst.pair,
            loss=worst.loss,
            description=worst.description,
            justification=worst.justification,
            exact=True,
            bounds=bounds,
        )
    if not bounds.below:
        remedy = "state a pair of neighbours in below()"
        raise InvalidValue("mechanism", mechanism.name, "one that states what some pair attains", remedy)
    shown = bounds.below[0]
    return WorstCase(
        pair=shown.pair,
        loss=DisjointLoss() if dominating is None else dominating.loss,
        description=(dominating and dominating.description) or shown.description,
        justification="no privacy loss is stated that dominates every pair"
        if dominating is None
        else dominating.justification,
        exact=False,
        bounds=bounds,
    )


def neighbour_loss(
    mechanism: StructuredMechanism, record: ArrayLike, replacement: ArrayLike | None = None, *, position: int = 0
) -> PrivacyLoss:
    """The privacy loss of one neighbouring pair: ``record`` added or removed, or replaced by ``replacement``.

    The squared GDP parameter, or the shift of other noise, is computed from the record by exact arithmetic, in O(d)
    time and memory. Two equal laws have the loss of mu = 0. Where the worst case of the mechanism is a bound from
    above (``worst_case(mechanism).exact`` is False), so is this.

    Args:
        mechanism: a mechanism of known structure.
        record: shape ``mechanism.record_shape``, in the mechanism's range.
        replacement: the record that takes its place; required under REPLACE_ONE and only there.
        position: the index of the record in its dataset, where that matters: in a stream, where 0 is the first item.

    Raises:
        InvalidValue: a position outside the stream, a record of another shape or out of range, a replacement that
            does not fit the relation, or a mechanism that knows nothing of single pairs.
    """
    if (replacement is not None) != (mechanism.adjacency is REPLACE_ONE):
        remedy = "pass replacement= under replace-one, and leave it out under add-or-remove-one"
        relation = adjacency_name(mechanism.adjacency)
        raise InvalidValue("replacement", replacement, f"consistent with {relation}", remedy)
    checked = mechanism.check_records(np.asarray(record)[None])[0]
    other = None if replacement is None else mechanism.check_records(np.asarray(replacement)[None])[0]
    return mechanism.pair_loss(checked, other, position)


def gdp_parameter(loss: PrivacyLoss) -> Enclosure | None:
    """The exact GDP parameter mu of a Gaussian loss, infinite for disjoint laws; None for any other loss."""
    if isinstance(loss, GaussianLoss):
        return Enclosure.of(loss.mu_real)
    if isinstance(loss, DisjointLoss):
        return Enclosure(arb("inf"), arb("inf"))
    return None
