"""Which keys are released, without their counts: the optimal way for users of one key, or of a few."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Final, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from flint import arb
from numpy.typing import ArrayLike

from dpverdict.audit.losses.base import REAL_ARITHMETIC, AddRemoveLoss, PrivacyLoss
from dpverdict.audit.losses.closed_form import RandomisedResponseLoss, identical_laws
from dpverdict.audit.losses.composition import compose_counted
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.balls import Exact, ball, precision
from dpverdict.checks import check_array, check_dim, check_moderate, check_probability, check_whole, check_whole_entries
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.bounds import Above, AttainedLoss, Below, DeltaBound, Dominating, NearbyPairs
from dpverdict.mechanisms.core.guarantees import ApproximateDP
from dpverdict.mechanisms.core.mechanism import StatisticMechanism, StructuredMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, NeighbourPair
from dpverdict.mechanisms.core.parameters import Parameter, whole
from dpverdict.mechanisms.keys.thresholded_counts import check_number_of_keys
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exponential_sums import ExponentialSum
from dpverdict.numerics.roots import as_fraction
from dpverdict.numerics.text import exact_text

MOST_KEYS: Final = 64
"""The largest number of keys of one user: the composition of so many keys is multiplied out."""

MOST_USERS: Final = 1 << 11
"""The largest number of users up to which a key may not be certain to be released."""

_BITS: Final = 128
_FEWEST: Final = 1e-300  # a log-likelihood ratio is that of chances of at least this
_ONE: Final = ExponentialSum.of(1)
_SHARE_BITS: Final = 80


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class KeyCoins:
    """For each key 1 with the chance that is given, else 0: one coin a key, independent."""

    size: int

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        """From the chances to coins: shape (size,) -> (trials, size)."""
        return (rng.random((trials, self.size)) < statistic).astype(float)

    def covariance(self) -> dict[str, Fraction]:
        """Empty: it depends on the data."""
        return {}


@final
class PartitionSelection(StatisticMechanism):
    """Each key of n users is released with a chance pi(n): no selection that is as private releases a key more often.

    For one key it is pi(0) = 0 and pi(n + 1) = min(e^a pi(n) + b, 1 - e^-a (1 - pi(n) - b), 1), with a = epsilon/k and
    b just below 1 - (1 - delta)^(1/k). Each key is then (a, b)-DP, tightly, and k keys together
    (epsilon, delta)-DP. A record is the keys of one user, 0 or 1 for each, at most k of them 1.

    Args:
        keys: k, at most so many keys a user.
        epsilon, delta: exact; the chances are chosen for them, and they are what is claimed.
        dim: the number of different keys in the data, at least k: what is promised does not depend on it.

    Attributes:
        key_epsilon, key_delta: a and b, exactly.

    Raises:
        InvalidValue: an argument is out of range, or a key is not certain to be released from 2^11 users on.

    Reference: Desfontaines, Voss, Gipson and Mandayam 2022, section 3 (arXiv:2006.03684).

    >>> mechanism = PartitionSelection(keys=1, epsilon=1, delta="0.01")
    >>> [round(chance, 6) for chance in mechanism.chances[:5].tolist()]
    [0.0, 0.01, 0.037183, 0.111073, 0.311929]
    """

    name = "partition-selection"
    title = "keys alone, released as often as can be"
    source = "Desfontaines, Voss, Gipson and Mandayam 2022, section 3"
    adjacency: NeighboringRelation = ADD_OR_REMOVE_ONE
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("dim", "N", "Number of different keys in the data.", whole, axis="keys"),
        Parameter("keys", "K", "At most so many keys a user.", whole),
    )
    example = "--keys 1 --epsilon 1 --delta 1e-3"
    noise: KeyCoins
    keys: int
    dim: int
    key_epsilon: Fraction
    key_delta: Fraction
    assumptions: tuple[str, ...]
    claim: ApproximateDP

    def __init__(self, *, keys: int, epsilon: Exact, delta: Exact, dim: int | None = None) -> None:
        self.keys = check_whole(keys, "keys", least=1, most=MOST_KEYS, remedy="bound the keys of a user")
        budget = check_moderate(epsilon, "epsilon")
        share = check_probability(delta, "delta", "give the chance that a user may be told by a key alone")
        self.claim = ApproximateDP(epsilon=budget, delta=share)
        self.dim = self.keys if dim is None else check_dim(dim)
        if self.dim < self.keys:
            raise InvalidValue("dim", dim, f"at least keys={self.keys}", "leave it out")
        self.key_epsilon, self.key_delta = budget / self.keys, _share_of_key(share, self.keys)
        self.noise = KeyCoins(size=self.dim)
        self.assumptions = (f"a user has at most {self.keys} keys", "a record is one user")
        self._exact = _optimal_chances(self.key_epsilon, self.key_delta)

    @cached_property
    def chances(self) -> Array:
        """pi(0), pi(1), ... in float64, as far as they are below 1, and a 1."""
        return np.array([float(chance) for chance in self._balls])

    @cached_property
    def _balls(self) -> list[arb]:
        with precision(4 * _BITS):
            return [chance.ball() for chance in self._exact]

    # what is known ----------------------------------------------------------------------------------------------------

    def loss_of_key(self, others: int, users: int) -> PrivacyLoss:
        """Of a key that so many users have in the dataset, and so many others in the neighbour."""
        last = len(self._exact) - 1
        here, there = self._exact[min(users, last)], self._exact[min(others, last)]
        if here == there:
            return identical_laws()
        return FiniteLoss.of_weights(
            [here, _ONE - here],
            [there, _ONE - there],
            outcomes=(f"a key of {users} users is released", f"a key of {users} users is not released"),
            assumed=(REAL_ARITHMETIC,),
        )

    def above(self) -> tuple[Above, ...]:
        """Of one key the worst number of other users; of several the composition of (a, b)-DP parts."""
        a, b = self.key_epsilon, self.key_delta
        told = FiniteLoss([b, 1 - b, 0], [0, 1 - b, b])
        why = (
            f"each key is (a, b)-DP with a = {exact_text(a)}, b = {float(b):.6g} by the recursion, and a response that "
            "is as private dominates every such mechanism (Kairouz, Oh and Viswanath 2017, Theorem 3.4)"
        )
        response = compose_counted([(RandomisedResponseLoss(self.keys, a), 1), (told, self.keys)])
        together = Dominating(loss=response, description="", justification=why)
        if self.keys > 1:
            return (together,)
        most = f"the largest over the numbers of others who have the key, from 0 to {len(self._exact) - 1}"
        return (DeltaBound(at=self._largest, source="", because=most, assumptions=(REAL_ARITHMETIC,)), together)

    def _largest(self, epsilon: Fraction) -> arb | None:
        return None if epsilon < 0 else self._profile(epsilon, self._worst(epsilon))

    def _worst(self, epsilon: Fraction) -> int:
        """The number of others with which one key tells most at an epsilon, by enclosures of all of them."""
        with precision(_BITS):
            found = [self._profile(epsilon, n) for n in range(len(self._exact) - 1)]
        return max(range(len(found)), key=lambda n: float(found[n].upper()))

    def _profile(self, epsilon: Fraction, others: int) -> arb:
        """delta(epsilon) of one key that so many others have, in the direction in which it is larger."""
        with precision(4 * _BITS):
            there, here = (self._balls[n] for n in (others, others + 1))
            grown = ball(epsilon).exp()
            forth = (here - grown * there).max(1 - here - grown * (1 - there)).max(arb(0))
            back = (there - grown * here).max(1 - there - grown * (1 - here)).max(arb(0))
            return forth.max(back)

    def below(self) -> tuple[Below, ...]:
        """A user whose keys nobody else has; for every epsilon one whose keys have the worst number of others."""
        return (
            NearbyPairs(
                shown=self._attained(0), at_level=lambda epsilon: self._attained(self._worst(epsilon / self.keys))
            ),
        )

    def _attained(self, others: int) -> AttainedLoss:
        key = self.loss_of_key(others, others + 1)
        record = (np.arange(self.dim) < self.keys).astype(float)
        rest = np.tile(record, (others, 1))
        had = "that nobody else has" if others == 0 else f"that {others} other user{'s have' * (others > 1) or ' has'}"
        return AttainedLoss(
            pair=self.neighbours(np.vstack([record, rest]), rest),
            loss=AddRemoveLoss(
                remove=compose_counted([(key, self.keys)]), add=compose_counted([(key.reversed(), self.keys)])
            ),
            description=f"a user with {self.keys} key{'s' * (self.keys > 1)} {had}",
        )

    def pair_loss(self, record: Array, replacement: Array | None, position: int) -> PrivacyLoss:
        """Of one user alone."""
        number = int(record.sum())
        return compose_counted([(self.loss_of_key(0, 1), number)]) if number else identical_laws()

    # what is released -------------------------------------------------------------------------------------------------

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(N,): 1 for each key of a user, else 0."""
        return (self.dim,)

    def check_records(self, dataset: ArrayLike) -> Array:
        """The keys of the users as float64 of shape (n, N), 0 or 1, at most k of a row 1."""
        records = check_array(dataset, self.record_shape, 0.0, 1.0)
        check_whole_entries(records, "say whether a user has the key", "0 or 1")
        check_number_of_keys(records, self.keys)
        return records

    def statistic(self, records: Array) -> Array:
        """The chance that each key is released, in float64: shape (N,)."""
        users = records.sum(axis=0).astype(int)
        found: Array = self.chances[np.minimum(users, len(self.chances) - 1)]
        return found

    def release_chances(self, dataset: ArrayLike) -> Array:
        """The same of a dataset."""
        return self.embed(dataset)

    def likelihood_score(self, pair: NeighbourPair) -> Callable[[Array], Array]:
        """The log-likelihood ratio in float64, of chances of at least 1e-300."""
        logs = [
            [np.log(np.maximum(side, _FEWEST)) for side in (chances, 1 - chances)]
            for chances in (self.embed(pair.dataset), self.embed(pair.neighbour))
        ]
        (yes, no), (yes_there, no_there) = logs

        def score(released: Array) -> Array:
            found: Array = np.where(released > 0, yes - yes_there, no - no_there).sum(axis=1)
            return found

        return score

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        return StructuredMechanism.describe(self) | {
            "keys": str(self.keys),
            "users_of_certain_key": str(len(self._exact) - 1),
        }


def _share_of_key(delta: Fraction, keys: int) -> Fraction:
    """A number just below 1 - (1 - delta)^(1/k), exactly: a share of 2^-40 less, so that claims are decided."""
    with precision(2 * _BITS):
        share = -((-ball(delta)).log1p() / keys).expm1()
        nearest = as_fraction(share.lower()) * (1 - Fraction(1, 1 << 40))
        unit = Fraction(2) ** (nearest.numerator.bit_length() - nearest.denominator.bit_length() - _SHARE_BITS)
        return nearest // unit * unit


def _optimal_chances(a: Fraction, b: Fraction) -> list[ExponentialSum]:
    """pi(0), pi(1), ... to the first that is 1.

    Half of it is that number of users with whom pi(n) = b (e^(a n) - 1)/(e^a - 1) comes to 1/2.
    """
    users = 2 * math.log1p(math.expm1(float(a)) / (2 * float(b))) / float(a)
    if users > MOST_USERS:
        remedy = "choose a larger epsilon or delta, or fewer keys a user"
        required = f"that release keys of {MOST_USERS} users for certain"
        raise InvalidValue("epsilon and delta of a key", f"{float(a):.4g}, {float(b):.4g}", required, remedy)
    found = [ExponentialSum.of(0)]
    more, less = ExponentialSum.of(b), ExponentialSum.of(1 - b)
    rising = True
    while True:
        rest = less - found[-1]  # 1 - pi(n) - b
        if rest.sign() <= 0:
            return [*found, _ONE]
        second = _ONE - rest.times_exp(-a)
        first = found[-1].times_exp(a) + more if rising else second
        rising = rising and (second - first).sign() > 0
        found.append(first if rising else second)
