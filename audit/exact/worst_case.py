"""The neighbouring pair of a mechanism with the largest privacy loss, and the privacy loss of any pair."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from dpverdict.audit.losses.base import PrivacyLoss, curves_of
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss
from dpverdict.balls import Enclosure, ball
from dpverdict.cards import answer_card, shortened
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.bounds import Bounds, DeltaBound
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, NeighbourPair, adjacency_name
from dpverdict.numerics.roots import bisected
from dpverdict.numerics.stages import shown_in_a_notebook

_NEARLY: Final = 1e-6
"""How far above the least one an epsilon from a closer bound may be, relatively."""


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
        """Encloses epsilon(delta) of the loss; where a quicker bound at one epsilon is closer, an epsilon it shows.

        So beside a bound the upper end holds of the mechanism, and the lower end of the bound alone.
        """
        found = self.loss.certified_epsilon(delta)
        closer = self.bounds.above[0] if self.bounds.above else None
        if not isinstance(closer, DeltaBound) or not 0 < delta < 1:
            return found
        shown = least_epsilon(closer, delta, found.upper)
        return found if shown >= found.upper else Enclosure.of_ball(arb(shown))


def least_epsilon(bound: DeltaBound, delta: Fraction, highest: float) -> float:
    """An epsilon up to ``highest`` at which a bound on delta(epsilon) is certainly at most delta; nearly the least.

    Where ``highest`` is infinite, no epsilon is looked for.
    """
    if not np.isfinite(highest):
        return highest

    def unknown(epsilon: float) -> bool:
        upper = bound.at(Fraction(epsilon))
        return upper is None or not upper <= ball(delta)

    return bisected(unknown, 0.0, highest, close=lambda low, high: high - low < _NEARLY * high)[1]


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
