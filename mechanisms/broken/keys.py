"""Known-wrong releases of keys that nobody knows beforehand, each with the delta it really has.

Notation: d = the number of keys of a user, e and c = the epsilon and the delta that are claimed, under
ADD_OR_REMOVE_ONE; b = d/e, the scale of the right noise. The true delta is that at the epsilon of the claim.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.balls import Exact
from dpverdict.checks import check_array, check_dim, check_positive, check_probability
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.bounds import Above, AttainedLoss
from dpverdict.mechanisms.core.guarantees import ApproximateDP
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE
from dpverdict.mechanisms.keys.partition_selection import PartitionSelection
from dpverdict.mechanisms.keys.thresholded_counts import ThresholdedCounts
from dpverdict.numerics.arrays import Array


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class KeyMutant:
    """A known-wrong release of keys, with its true delta.

    Attributes:
        name: identifier, for example "P1".
        title: what is wrong, in a few words.
        source: where the slip is made.
        formula: the true delta in words of d, e and c.
        build: makes the mechanism for (keys, epsilon, delta).
        delta: the true delta at the epsilon of the claim, in float64; of P5 a delta that it has at least.
        refuted_from: the smallest number of keys with which the claim is false.
    """

    name: str
    title: str
    source: str
    formula: str
    build: Callable[[int, Fraction, Fraction], StructuredMechanism]
    delta: Callable[[int, float, float], float]
    refuted_from: int = 1
    least_dim: ClassVar[int] = 1
    parameters: ClassVar[tuple[str, ...]] = ("dim", "epsilon", "delta")

    def make(self, dim: int, epsilon: Exact, delta: Exact) -> StructuredMechanism:
        """The wrong mechanism for users of ``dim`` keys, claiming ``ApproximateDP(epsilon, delta)``.

        Raises:
            InvalidValue: an argument is out of range.
        """
        budget, share = check_positive(epsilon, "epsilon"), check_probability(delta, "delta", "give that of the claim")
        wrong = self.build(check_dim(dim), budget, share)
        wrong.claim = ApproximateDP(epsilon=budget, delta=share)
        wrong.name, wrong.source = f"broken:{self.name}", f"known-wrong variant {self.name}"
        return wrong

    def true_delta(self, dim: int, epsilon: Exact, delta: Exact) -> float:
        """The delta at the epsilon of the claim, up to rounding; of P5 a delta that it has at least."""
        return self.delta(dim, float(check_positive(epsilon, "epsilon")), float(Fraction(delta)))

    def refutable(self, dim: int, epsilon: Exact = 1, delta: Exact = "0.001") -> bool:
        """Whether the claim is false, whatever epsilon and delta are."""
        del epsilon, delta
        return check_dim(dim) >= self.refuted_from

    def where_refutable(self) -> str:
        """The numbers of keys with which it is, in words."""
        return "all" if self.refuted_from == 1 else f"all from d = {self.refuted_from}"


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


def _chance_at_the_threshold(keys: int, epsilon: float, delta: float) -> float:
    rate = epsilon / keys
    least = _least_above(keys, epsilon, delta)
    chance = math.exp(-rate * least) / (1 + math.exp(-rate)) if least else 1 / (1 + math.exp(-rate))
    return -math.expm1(keys * math.log1p(-chance))


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


ALL: tuple[KeyMutant, ...] = (
    KeyMutant(
        name="P1",
        title="Laplace counts of d keys, with the threshold for the delta of one key",
        source="a threshold for one key",
        formula="1 - (1 - c)^d",
        build=_delta_of_one_key,
        delta=lambda keys, epsilon, delta: -math.expm1(keys * math.log1p(-delta)),
        refuted_from=2,
    ),
    KeyMutant(
        name="P2",
        title="Laplace noise of scale 1/e on the counts of a user with d keys",
        source="bounding of contributions forgotten",
        formula="profile at e of d Laplace counts moved by e scales",
        build=_noise_of_one_key,
        delta=lambda keys, epsilon, delta: _joint(keys, epsilon, delta),
        refuted_from=2,
    ),
    KeyMutant(
        name="P3",
        title="geometric counts released from the threshold on, with the delta of those above it",
        source="opendp 2922",
        formula="1 - (1 - a^t/(1 + a))^d, a = exp(-e/d)",
        build=_count_at_the_threshold,
        delta=_chance_at_the_threshold,
    ),
    KeyMutant(
        name="P4",
        title="true counts compared with the threshold, and released with noise",
        source="noise after the comparison",
        formula="1",
        build=ThresholdOfTrueCounts,
        delta=lambda keys, epsilon, delta: 1.0,
    ),
    KeyMutant(
        name="P5",
        title="optimal selection of each of d keys as if a user had one",
        source="bounding of contributions forgotten",
        formula="at least 1 - (1 - c)^d",
        build=_selection_of_one_key,
        delta=lambda keys, epsilon, delta: -math.expm1(keys * math.log1p(-delta)),
        refuted_from=2,
    ),
)
"""The known-wrong releases of keys."""


def _joint(keys: int, epsilon: float, delta: float) -> float:
    made = _noise_of_one_key(keys, Fraction(epsilon), Fraction(delta))
    assert isinstance(made, ThresholdedCounts)
    found = made.largest_delta(Fraction(epsilon))
    assert found is not None
    return float(found)
