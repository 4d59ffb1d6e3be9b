"""Known-wrong releases of keys that nobody knows beforehand, each with the delta it really has.

Notation: d = the number of keys of a user, e and c = the epsilon and the delta that are claimed, under
ADD_OR_REMOVE_ONE; b = d/e, the scale of the right noise. The true delta is that at the epsilon of the claim.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.checks import check_array, check_dim
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.broken.mutant import DeltaMutant
from dpverdict.mechanisms.core.bounds import Above, AttainedLoss
from dpverdict.mechanisms.core.guarantees import ApproximateDP
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE
from dpverdict.mechanisms.keys.partition_selection import PartitionSelection
from dpverdict.mechanisms.keys.thresholded_counts import ThresholdedCounts
from dpverdict.numerics.arrays import Array


def _laplace(keys: int, scale: Fraction, threshold: float, claim: tuple[Fraction, Fraction]) -> ThresholdedCounts:
    return ThresholdedCounts(
        keys=keys,
        noise="laplace",
        scale=scale,
        threshold=threshold,
        epsilon=claim[0],
        delta=claim[1],
        adjacency=ADD_OR_REMOVE_ONE,
    )


def _delta_of_one_key(keys: int, epsilon: Fraction, delta: Fraction) -> StructuredMechanism:
    scale = keys / epsilon
    return _laplace(keys, scale, 1 + float(scale) * math.log(1 / (2 * float(delta))), (epsilon, delta))


def _noise_of_one_key(keys: int, epsilon: Fraction, delta: Fraction) -> StructuredMechanism:
    scale = 1 / epsilon
    return _laplace(keys, scale, 1 + float(scale) * math.log(keys / (2 * float(delta))), (epsilon, delta))


def _least_above(keys: int, epsilon: float, delta: float) -> int:
    """The least whole number t with 1 - (1 - P(Z > t))^keys <= delta, for geometric noise Z of scale keys/epsilon."""
    rate = epsilon / keys
    share = -math.expm1(math.log1p(-delta) / keys)
    return max(0, math.ceil(-math.log(share * (1 + math.exp(-rate))) / rate) - 1)


def _count_at_the_threshold(keys: int, epsilon: Fraction, delta: Fraction) -> StructuredMechanism:
    return ThresholdedCounts(
        keys=keys,
        noise="geometric",
        scale=keys / epsilon,
        threshold=1 + _least_above(keys, float(epsilon), float(delta)),
        epsilon=epsilon,
        delta=delta,
        adjacency=ADD_OR_REMOVE_ONE,
    )


def _chance_at_the_threshold(keys: int, epsilon: Fraction, delta: Fraction) -> float:
    rate = float(epsilon) / keys
    least = _least_above(keys, float(epsilon), float(delta))
    chance = math.exp(-rate * least) / (1 + math.exp(-rate)) if least else 1 / (1 + math.exp(-rate))
    return -math.expm1(keys * math.log1p(-chance))


def _of_any_key(keys: int, epsilon: Fraction, delta: Fraction) -> float:
    return -math.expm1(keys * math.log1p(-float(delta)))


def _selection_of_one_key(keys: int, epsilon: Fraction, delta: Fraction) -> StructuredMechanism:
    together = 1 - (1 - delta) ** keys
    return PartitionSelection(keys=keys, epsilon=keys * epsilon, delta=together)


@final
class ThresholdOfTrueCounts(StructuredMechanism):
    """The true count of a key is compared with the threshold, and released with noise: P4.

    A user whose key reaches the threshold with them, and does not without, is told with certainty.
    """

    adjacency: NeighboringRelation = ADD_OR_REMOVE_ONE
    claim: ApproximateDP
    dim: int
    assumptions: tuple[str, ...]

    def __init__(self, keys: int, epsilon: Fraction, delta: Fraction) -> None:
        self.dim, self.claim = keys, ApproximateDP(epsilon=epsilon, delta=delta)
        self._right = ThresholdedCounts.from_classic(
            keys=keys, epsilon=epsilon, delta=delta, adjacency=ADD_OR_REMOVE_ONE
        )
        self.assumptions = self._right.assumptions

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(d,)"""
        return (self.dim,)

    def check_records(self, dataset: ArrayLike) -> Array:
        """The keys of the users as float64 of shape (n, d), 0 or 1."""
        return check_array(dataset, self.record_shape, 0.0, 1.0)

    def release_many(self, dataset: ArrayLike, trials: int, rng: np.random.Generator) -> Array:
        """Noisy counts of the keys whose true count reaches the threshold, and 0: shape (trials, d)."""
        counts = self.check_records(dataset).sum(axis=0)
        noisy = counts + float(self._right.noise.scale) * rng.laplace(size=(check_dim(trials, "trials"), self.dim))
        return np.where(counts >= float(self._right.threshold), noisy, 0.0)

    def _attained(self) -> AttainedLoss:
        users = math.ceil(self._right.threshold)
        everybody = np.ones((users, self.dim))
        loss = FiniteLoss([1, 0], [0, 1])
        words = "a user with whom a key reaches the threshold"
        return AttainedLoss(pair=self.neighbours(everybody, everybody[1:]), loss=loss, description=words)

    def above(self) -> tuple[Above, ...]:
        """Nothing."""
        return ()

    def below(self) -> tuple[AttainedLoss]:
        """The user with whom a key reaches the threshold."""
        return (self._attained(),)

    def pair_loss(self, record: Array, replacement: Array | None, position: int) -> PrivacyLoss:
        """Of the user alone: nothing is released, as the threshold is above 1.

        Raises:
            InvalidValue: always; the pair that tells is that of `below`.
        """
        raise InvalidValue("record", record, "that of the worst pair", "no other loss of this variant is known")


def _joint(keys: int, epsilon: Fraction, delta: Fraction) -> float:
    made = _noise_of_one_key(keys, epsilon, delta)
    assert isinstance(made, ThresholdedCounts)
    found = made.largest_delta(epsilon)
    assert found is not None
    return float(found)


ALL: tuple[DeltaMutant, ...] = (
    DeltaMutant(
        name="P1",
        title="Laplace counts of d keys, with the threshold for the delta of one key",
        source="a threshold for one key",
        formula="1 - (1 - c)^d",
        build=_delta_of_one_key,
        delta=_of_any_key,
        where="all from d = 2",
    ),
    DeltaMutant(
        name="P2",
        title="Laplace noise of scale 1/e on the counts of a user with d keys",
        source="bounding of contributions forgotten",
        formula="profile at e of d Laplace counts moved by e scales",
        build=_noise_of_one_key,
        delta=_joint,
        where="all from d = 2",
    ),
    DeltaMutant(
        name="P3",
        title="geometric counts released from the threshold on, with the delta of those above it",
        source="opendp 2922",
        formula="1 - (1 - a^t/(1 + a))^d, a = exp(-e/d)",
        build=_count_at_the_threshold,
        delta=_chance_at_the_threshold,
    ),
    DeltaMutant(
        name="P4",
        title="true counts compared with the threshold, and released with noise",
        source="noise after the comparison",
        formula="1",
        build=ThresholdOfTrueCounts,
        delta=lambda keys, epsilon, delta: 1.0,
    ),
    DeltaMutant(
        name="P5",
        title="optimal selection of each of d keys as if a user had one",
        source="bounding of contributions forgotten",
        formula="at least 1 - (1 - c)^d",
        build=_selection_of_one_key,
        delta=_of_any_key,
        where="all from d = 2",
    ),
)
"""The known-wrong releases of keys."""
