"""The neighbouring pair of a mechanism with the largest privacy loss, and the privacy loss of any pair."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Final, final

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from dpverdict.audit.losses.base import PrivacyLoss, TwoOrders
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss, RandomisedResponseLoss
from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.audit.losses.domains import EventBound
from dpverdict.audit.losses.finite.bounded_range import BoundedRangeLoss
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.audit.losses.finite.pld import Direction
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.losses.spherical.loss import SphericalLoss
from dpverdict.audit.losses.spherical.random_direction import RandomDirectionGaussian
from dpverdict.audit.sampling.allocation import random_allocation
from dpverdict.audit.sampling.allocation_moments import delta_at_most
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.audit.sampling.shuffled import ShuffledBatches, shuffled_batches
from dpverdict.balls import Enclosure, Real, ball
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.dominating_pairs import (
    NORMAL_VARIATES,
    REAL_ARITHMETIC,
    AllocatedGaussianPair,
    BoundedRangePair,
    DiscreteGaussianPair,
    DominatingPair,
    FinitePair,
    LaplacePair,
    RandomDirectionPair,
    RandomisedResponsePair,
    SampledGaussianPair,
    TrainingPair,
)
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, NeighbourPair, adjacency_name
from dpverdict.mechanisms.core.sensitivity import Cube, Maximum, Near, PairSpace, StepSpace
from dpverdict.mechanisms.training.dp_sgd import DPSGD
from dpverdict.numerics.roots import bisected

_NEARLY: Final = 1e-6
"""How far above the least one an epsilon from a closer bound may be, relatively."""


def loss_of(pair: DominatingPair) -> PrivacyLoss:
    """The privacy loss of a pair: the one place where the laws that mechanisms name meet their losses."""
    match pair:
        case RandomDirectionPair():
            return SphericalLoss(pair.dim, RandomDirectionGaussian(pair.scale), Real.of(pair.squared_length).sqrt())
        case DiscreteGaussianPair():
            return DiscreteGaussianLoss.from_groups(pair.groups)
        case LaplacePair():
            return LaplaceLoss.grouped(pair.groups)
        case RandomisedResponsePair():
            return RandomisedResponseLoss(pair.count, pair.rate)
        case FinitePair():
            return FiniteLoss.of_weights(pair.p, pair.q)
        case BoundedRangePair():
            return BoundedRangeLoss(pair.range)
        case SampledGaussianPair():
            return _in_order(poisson_sampled(GaussianLoss(1 / pair.noise_multiplier), pair.rate, pair.steps), pair)
        case AllocatedGaussianPair():
            s = pair.noise_multiplier
            return _in_order(random_allocation(noise_multiplier=s, steps=pair.batches, epochs=pair.epochs), pair)
        case _:
            raise InvalidValue("pair", pair, "one whose privacy loss is known", "name its loss in loss_of")


def _in_order(both: TwoOrders, pair: TrainingPair) -> PrivacyLoss:
    return {"both": both, "remove": both.remove, "add": both.add}[pair.order]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WorstCase:
    """The neighbouring pair with the largest privacy loss, and how it is known to be the worst.

    Attributes:
        pair: neighbouring datasets that attain it: the worst record alone against none, or against its replacement.
        loss: the privacy loss of the pair; it dominates every other pair's.
        description: the worst record in words.
        justification: why nothing is worse.
        dominating_pair: the two output laws in exact numbers where the noise is not Gaussian; None where it is.
        exact: whether the pair attains the loss; False where the loss is a bound from above, which refutes nothing.
        rho_upper: beside a bound, a rho such that every pair is rho-zCDP, exactly, if one is known.
        attained: beside a bound, the laws of ``pair`` in exact numbers, if they are known.
        at_level: beside a bound that no single pair attains, the pair that comes near it at an epsilon, by epsilon.
        event: beside a bound, an event of ``pair`` whose probabilities are bounded, by epsilon.
        bracketed: beside a bound, the loss that ``pair`` attains where it is known between float64 numbers only.
        delta_uppers: beside a bound, closer upper bounds on delta(epsilon), by epsilon, the quickest first.
    """

    pair: NeighbourPair
    loss: PrivacyLoss
    description: str
    justification: str
    dominating_pair: DominatingPair | None = None
    exact: bool = True
    rho_upper: Fraction | None = None
    attained: DominatingPair | None = None
    at_level: Callable[[Fraction], WorstCase] | None = None
    event: Callable[[Fraction], EventBound] | None = None
    bracketed: PrivacyLoss | None = None
    delta_uppers: Callable[[Fraction], Iterator[arb]] | None = None

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a certificate takes for granted about the noise."""
        pair = self.dominating_pair
        return (REAL_ARITHMETIC, NORMAL_VARIATES) if pair is None else pair.assumptions

    def certified_epsilon(self, delta: Fraction) -> Enclosure:
        """Encloses epsilon(delta) of the loss; where the quickest of ``delta_uppers`` is closer, an epsilon it shows.

        So beside a bound the upper end holds of the mechanism, and the lower end of the bound alone.
        """
        found = self.loss.certified_epsilon(delta)
        uppers = self.delta_uppers
        if uppers is None or not 0 < delta < 1:
            return found

        def unknown(epsilon: float) -> bool:
            return not next(uppers(Fraction(epsilon)), arb(1)) <= ball(delta)

        _, shown = bisected(unknown, 0.0, found.upper, close=lambda low, high: high - low < _NEARLY * high)
        return found if shown >= found.upper else Enclosure.of_ball(arb(shown))


def worst_case(mechanism: AdditiveMechanism) -> WorstCase:
    """The worst neighbouring pair over the whole sensitivity space, exactly, in O(d) time and memory.

    Every Gaussian pair with the same covariance is exactly mu-GDP apart, with mu^2 = v^T S^-1 v, and the trade-off
    functions of different mu are nested; so the pair of largest mu^2 dominates all others (Lebeda 2024, section 3).
    For other noise the sensitivity space names the dominating pair of laws, and says why it dominates.

    >>> from dpverdict.mechanisms import CorrelatedGaussian
    >>> worst_case(CorrelatedGaussian(dim=100, mu=1)).loss.mu <= 1
    True
    """
    maximum = mechanism.sensitivity.maximise(mechanism.noise)
    copies = mechanism.sensitivity.copies if isinstance(mechanism.sensitivity, Cube) else 1
    if maximum.datasets is not None:
        dataset, neighbour = maximum.datasets()
    else:
        record, replacement = maximum.records()
        dataset = np.repeat(record[None], copies, axis=0)
        neighbour = dataset[:0] if replacement is None else replacement[None]
    pair = NeighbourPair(
        dataset=dataset,
        neighbour=neighbour,
        adjacency=mechanism.adjacency,
        records_per_user=copies,
    )
    if isinstance(maximum.dominating_pair, AllocatedGaussianPair):
        return balls_in_bins(mechanism, maximum, maximum.dominating_pair, pair)
    loss = gaussian_loss(maximum.mu_squared) if maximum.dominating_pair is None else loss_of(maximum.dominating_pair)
    if isinstance(maximum.dominating_pair, SampledGaussianPair) and not loss.is_certified:
        return _without_amplification(maximum, maximum.dominating_pair, pair, loss)
    return WorstCase(
        pair=pair,
        loss=loss,
        description=maximum.description,
        justification=maximum.justification,
        dominating_pair=maximum.dominating_pair,
        exact=maximum.exact,
        rho_upper=maximum.rho_upper,
        attained=maximum.attained,
        at_level=None if maximum.at_level is None else partial(_near, mechanism, maximum.at_level),
        event=_event_of(mechanism),
    )


def _without_amplification(
    maximum: Maximum, laws: SampledGaussianPair, pair: NeighbourPair, loss: PrivacyLoss
) -> WorstCase:
    """The bound that needs no sampling, where steps with very little noise have no certified curve."""
    return WorstCase(
        pair=pair,
        loss=GaussianLoss.from_squared(laws.participations / laws.noise_multiplier**2),
        description=maximum.description,
        justification="the same without sampling, which tells no less by joint convexity; of steps with so "
        "little noise no certified curve is known",
        exact=False,
        attained=replace(laws, steps=1),
        bracketed=loss,
    )


def balls_in_bins(
    mechanism: AdditiveMechanism, maximum: Maximum, laws: AllocatedGaussianPair, pair: NeighbourPair
) -> WorstCase:
    """The bound of known batches, and the closer ones of random allocation at one epsilon: whole curves take long."""
    loss: PrivacyLoss | None = None
    with contextlib.suppress(InvalidValue):  # of very little noise no lattice spans the loss
        loss = loss_of(laws)
    certified = loss is not None and loss.is_certified

    def delta_uppers(epsilon: Fraction) -> Iterator[arb]:
        s, batches, epochs = laws.noise_multiplier, laws.batches, laws.epochs
        if epsilon >= 0 and batches > 1:
            yield arb.max(*(delta_at_most(s, batches, epochs, epsilon, order) for order in Direction))
        if loss is not None and loss.is_certified:
            yield arb(loss.certified_delta(epsilon).upper)

    return WorstCase(
        pair=pair,
        loss=GaussianLoss.from_squared(laws.participations / laws.noise_multiplier**2),
        description=maximum.description,
        justification="known batches, which tell no less by joint convexity over the bins; where that does not decide, "
        f"the pair with the canary alone, for which {maximum.justification}",
        exact=False,
        attained=laws if certified else None,
        event=_event_of(mechanism),
        bracketed=loss,
        delta_uppers=delta_uppers,
    )


def _event_of(mechanism: AdditiveMechanism) -> Callable[[Fraction], EventBound] | None:
    """Of shuffled batches no dominating pair is known, but an event; balls in bins have one as well."""
    if not isinstance(mechanism, DPSGD) or mechanism.sampling == "poisson":
        return None
    if mechanism.sampling == "balls-in-bins":
        return ShuffledBatches(
            noise_multiplier=mechanism.noise_multiplier,
            batches=mechanism.batches,
            epochs=mechanism.epochs,
            relation="add_remove",
            shuffle="fresh",
            others=0,
        ).event
    return shuffled_batches(
        noise_multiplier=mechanism.noise_multiplier,
        batches=mechanism.batches,
        epochs=mechanism.epochs,
        relation=mechanism.adjacency,
        shuffle="fresh" if mechanism.sampling == "shuffle" else "persistent",
    ).event


def _near(mechanism: AdditiveMechanism, at_level: Callable[[Fraction], Near], level: Fraction) -> WorstCase:
    """The pair that comes near a bound at a level, as a worst case of its own."""
    found = at_level(level)
    return WorstCase(
        pair=NeighbourPair(dataset=found.dataset, neighbour=found.neighbour, adjacency=mechanism.adjacency),
        loss=loss_of(found.dominating_pair),
        description=found.description,
        justification="one pair of neighbours, which shows a lower bound; the others are bounded from above",
        dominating_pair=found.dominating_pair,
    )


def neighbour_loss(
    mechanism: AdditiveMechanism, record: ArrayLike, replacement: ArrayLike | None = None, *, position: int = 0
) -> PrivacyLoss:
    """The privacy loss of one neighbouring pair: ``record`` added or removed, or replaced by ``replacement``.

    The squared GDP parameter, or the shift of other noise, is computed from the record by exact arithmetic, in O(d)
    time and memory. Two equal laws have the loss of mu = 0. Where the worst case of the mechanism is a bound from
    above (``worst_case(mechanism).exact`` is False), so is this.

    Args:
        mechanism: a mechanism whose noise law is known.
        record: shape ``mechanism.record_shape``, in the mechanism's range.
        replacement: the record that takes its place; required under REPLACE_ONE and only there.
        position: the index of the record in its dataset, where that matters: in a stream, where 0 is the first item.

    Raises:
        InvalidValue: a position outside the stream, a record of another shape or out of range, or a replacement that
            does not fit the relation.
    """
    if (replacement is not None) != (mechanism.adjacency is REPLACE_ONE):
        remedy = "pass replacement= under replace-one, and leave it out under add-or-remove-one"
        relation = adjacency_name(mechanism.adjacency)
        raise InvalidValue("replacement", replacement, f"consistent with {relation}", remedy)
    checked = mechanism.check_records(np.asarray(record)[None])[0]
    other = None if replacement is None else mechanism.check_records(np.asarray(replacement)[None])[0]
    space = mechanism.sensitivity
    if isinstance(space, StepSpace):
        space = space.at(position)
    if not isinstance(space, PairSpace):
        return gaussian_loss(space.mu_squared(mechanism.noise, checked, other))
    laws = space.dominating_pair(mechanism.noise, checked, other)
    return GaussianLoss(0) if laws is None else loss_of(laws)


def gaussian_loss(mu_squared: Real | None) -> GaussianLoss | DisjointLoss:
    """The loss of a squared GDP parameter; None stands for an infinite one."""
    return DisjointLoss() if mu_squared is None else GaussianLoss.from_squared(mu_squared)


def gdp_parameter(loss: PrivacyLoss) -> Enclosure | None:
    """The exact GDP parameter mu of a Gaussian loss, infinite for disjoint laws; None for any other loss."""
    if isinstance(loss, GaussianLoss):
        return Enclosure.of(loss.mu_real)
    if isinstance(loss, DisjointLoss):
        return Enclosure(arb("inf"), arb("inf"))
    return None
