"""Noisy counts of keys that nobody knows beforehand: a count is released, with its key, if it reaches a threshold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Self, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from flint import arb
from numpy.typing import ArrayLike

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.composition import compose, compose_counted
from dpverdict.audit.losses.domains import EventBound
from dpverdict.balls import Exact, ball, precision
from dpverdict.checks import check_array, check_dim, check_moderate, check_whole, check_whole_entries
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.bounds import Above, AttainedLoss, Below, DeltaBound, Dominating, KnownEvent, NearbyPairs
from dpverdict.mechanisms.core.guarantees import ApproximateDP
from dpverdict.mechanisms.core.mechanism import StatisticMechanism, StructuredMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, NeighbourPair, check_adjacency
from dpverdict.mechanisms.core.parameters import Parameter, whole
from dpverdict.mechanisms.keys.key_noise import NOISES, Chances, KeyNoise, NoiseName
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import as_fraction, float_above
from dpverdict.numerics.text import exact_text

MOST_KEYS: Final = 1 << 10
"""The largest number of keys of one user: every division of them into new and old ones is looked at."""

_BITS: Final = 192
_LEVEL_BITS: Final = 96  # after the point, of an epsilon that is rounded to a rational number
_MOST_NUMBERS: Final = 1 << 21  # of other users times keys
_FAR: Final = 40
"""Standard deviations above the threshold at which Gaussian counts of old keys lie: one is withheld with 1e-350."""
_CERTAIN: Final = 1e6  # the log-likelihood ratio of an outcome that one dataset alone can have


@final
@dataclass(frozen=True, slots=True)
class KeysOfUsers:
    """How the keys of the users in whom two datasets differ are divided.

    Attributes:
        here: how many keys the dataset has and the neighbour has not.
        there: how many keys the neighbour has and the dataset has not.
        both: how many keys both have, with counts that differ by all that one user contributes.
    """

    here: int
    there: int
    both: int


@final
class ThresholdedCounts(StatisticMechanism):
    """count + noise for every key that somebody has, where that is at least a threshold; nothing of the other keys.

    A record is what one user contributes to each key: whole numbers in [0, m], at most k of them not 0. A key of
    which all counts are 0 is not in the data, gets no noise and is never released: that is how a user who has it alone
    is told, with a chance of p = P(m + noise >= threshold). With j of k keys new, and the others with large counts,

        delta(epsilon) = 1 - (1 - p)^j + (1 - p)^j delta'(epsilon - j log(1 - p)),

    where delta' is the profile of k - j noisy counts that move by m. The largest over j, and over both directions, is
    the exact joint profile of presence and value: attained where old keys have counts above the threshold, by Gaussian
    noise in the limit of large counts.

    Args:
        keys: k, at most so many keys a user.
        noise: "laplace", "gaussian" or "geometric", see `KeyNoise`.
        scale: of the noise, exact; rounded up to a float64, for geometric noise taken as it is.
        threshold: > 0, exact: a noisy count equal to it is released.
        epsilon, delta: of the claim, exact.
        adjacency: the neighbouring relation of the claim; a record is a user.
        per_key: m, at most so many records of one user with one key.
        dim: the number of different keys in the data: what is promised does not depend on it. At least k, 2 k where a
            user is replaced; that if left out.

    Raises:
        InvalidValue: an argument is out of range.

    Reference: Korolova, Kenthapadi, Mishra and Ntoulas 2009 (releasing search queries and clicks privately); Wilson et
    al. 2020, section 3.3 (arXiv:1909.01917); Swanberg, Desfontaines and Haney 2023, section 2 (arXiv:2301.01998).

    >>> from dpverdict.audit import certify
    >>> wiki = ThresholdedCounts(keys=1, noise="laplace", scale=1, threshold=15, epsilon=1, delta="1e-6",
    ...                          adjacency=ADD_OR_REMOVE_ONE)
    >>> certify(wiki).status.name, certify(wiki, "eps=1, delta=1e-7").status.name
    ('CERTIFIED', 'REFUTED')
    """

    name = "thresholded-counts"
    title = "keys with noisy counts above a threshold"
    source = "Wilson et al. 2020, section 3.3"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("dim", "N", "Number of different keys in the data.", whole, axis="keys"),
        Parameter("keys", "K", "At most so many keys a user.", whole),
        Parameter("per_key", "M", "At most so many records of one user with one key; 1 if not given.", whole),
        Parameter("noise", "|".join(NOISES), "The law of the noise."),
        Parameter("scale", "X", "Scale of the noise: the standard deviation of Gaussian noise."),
        Parameter("threshold", "X", "A noisy count is released if it is at least this."),
        Parameter("epsilon", "X", "Epsilon that is claimed."),
        Parameter("delta", "X", "Delta that is claimed."),
    )
    calibrations: ClassVar[tuple[str, ...]] = ("classic",)
    example = "--keys 2 --noise laplace --scale 2 --threshold 9 --epsilon 1 --delta 0.02 --adjacency add-or-remove-one"
    scaled_by: ClassVar[str | None] = "threshold"
    noise: KeyNoise
    keys: int
    per_key: int
    threshold: Fraction
    replaces_user: bool
    dim: int
    adjacency: NeighboringRelation
    assumptions: tuple[str, ...]
    claim: ApproximateDP

    def __init__(
        self,
        *,
        keys: int,
        noise: NoiseName,
        scale: Exact,
        threshold: Exact,
        epsilon: Exact,
        delta: Exact,
        adjacency: NeighboringRelation,
        per_key: int = 1,
        dim: int | None = None,
    ) -> None:
        self.keys = check_whole(keys, "keys", least=1, most=MOST_KEYS, remedy="bound the keys of a user")
        self.per_key = check_dim(per_key, "per_key")
        if noise not in NOISES:
            raise InvalidValue("noise", noise, f"one of {', '.join(NOISES)}", "laplace is the usual one")
        exact = check_moderate(scale, "scale")
        self.threshold = Fraction(float_above(check_moderate(threshold, "threshold")))
        self.claim = ApproximateDP(epsilon=epsilon, delta=delta)
        self._losses: dict[int, PrivacyLoss] = {}
        self.adjacency = check_adjacency(adjacency)
        self.replaces_user = self.adjacency is not ADD_OR_REMOVE_ONE
        least = self.keys * (2 if self.replaces_user else 1)
        self.dim = least if dim is None else check_dim(dim)
        if self.dim < least:
            raise InvalidValue("dim", dim, f"at least {least}, for the keys of the users that differ", "leave it out")
        sampled = exact if noise == "geometric" else Fraction(float_above(exact))
        self.noise = KeyNoise(size=self.dim, name=noise, scale=sampled)
        self.assumptions = (
            f"a user has at most {self.keys} keys, with at most {self.per_key} records each",
            "a record is one user",
        )

    @classmethod
    def from_classic(
        cls,
        *,
        keys: int,
        epsilon: Exact,
        delta: Exact,
        adjacency: NeighboringRelation,
        per_key: int = 1,
        dim: int | None = None,
    ) -> Self:
        """Laplace noise and threshold as usually chosen: scale k m/epsilon, and m + scale log(k/(2 delta)).

        Both are rounded up to float64. Where a user is replaced, all moves are doubled: scale 2 k m/epsilon.
        """
        budget, share = check_moderate(epsilon, "epsilon"), check_moderate(delta, "delta")
        number = check_dim(keys, "keys") * check_dim(per_key, "per_key")
        doubled = 2 if check_adjacency(adjacency) is not ADD_OR_REMOVE_ONE else 1
        scale = Fraction(float_above(doubled * number / budget))
        with precision(_BITS):
            least = per_key + ball(scale) * (ball(Fraction(keys) / (2 * share))).log()
            threshold = max(as_fraction(least.upper()), Fraction(per_key))
        return cls(
            keys=keys,
            noise="laplace",
            scale=scale,
            threshold=threshold,
            epsilon=epsilon,
            delta=delta,
            adjacency=adjacency,
            per_key=per_key,
            dim=dim,
        )

    # what is known ----------------------------------------------------------------------------------------------------

    @property
    def chances(self) -> tuple[Chances, Chances]:
        """Of a key that one user has alone, m times: from below and from above, see `KeyNoise.chances`."""
        return self.noise.chances(self.threshold - self.per_key)

    def _moved(self, number: int) -> PrivacyLoss:
        """The loss where so many released counts move by m."""
        if number not in self._losses:
            self._losses[number] = self.noise.loss({Fraction(self.per_key): number})
        return self._losses[number]

    def divisions(self) -> Iterator[KeysOfUsers]:
        """All ways in which the keys of the users that differ are new or old, in both directions."""
        k = self.keys
        if self.replaces_user:
            yield from (
                KeysOfUsers(here, there, 2 * k - here - there) for here in range(k + 1) for there in range(k + 1)
            )
            return
        for new in range(k + 1):
            yield KeysOfUsers(new, 0, k - new)
            if new:
                yield KeysOfUsers(0, new, k - new)

    def profile_of(self, division: KeysOfUsers, epsilon: Fraction, chances: Chances, *, up: bool) -> arb:
        """delta(epsilon) of a division of the keys with large counts of old ones, as a bound from above or below.

        It is 1 - s^here + s^here delta'(epsilon - (here - there) log s), s = 1 - p: what one dataset alone can show,
        and the profile of old keys where it does not show.
        """
        with precision(_BITS):
            withheld = chances.withheld_ball().log()
            level = ball(epsilon) - (division.here - division.there) * withheld
            shown = -(division.here * withheld).expm1()
            if division.both:
                at = rounded_level(level, up=not up)
                rest = self._moved(division.both).profile(at, 64)
            else:
                rest = (-level.expm1()).max(arb(0))
            found: arb = shown + (1 - shown) * rest
            return found.upper() if up else found.lower()

    def above(self) -> tuple[Above, ...]:
        """At every epsilon the worst division of the keys; and all new and all old ones together, which composes."""
        _, most = self.chances
        moved = self._moved(self.keys * (2 if self.replaces_user else 1))
        new = most.of_any(self.keys, up=True).loss()
        both_ways = compose(new, new.reversed()) if self.replaces_user else new
        why = (
            "a key that one user has alone is released with a chance that grows with the contribution; of a key that "
            "others have too, a noisy count that is cut off at a threshold tells no more than the noisy count, and "
            "noise of a log-concave law tells most where the count moves furthest; the keys are independent"
        )
        return (
            DeltaBound(at=self.largest_delta, source="", because=why, assumptions=self.noise.assumptions),
            Dominating(
                loss=compose(moved, both_ways),
                description="",
                justification=f"{why}; every key is taken for an old one and for a new one at once",
            ),
        )

    def largest_delta(self, epsilon: Fraction) -> arb | None:
        """An upper bound on delta(epsilon) of every pair, which is attained; None at epsilon < 0."""
        if epsilon < 0:
            return None
        _, most = self.chances
        found = arb(0)
        for division in self.divisions():
            found = found.max(self.profile_of(division, epsilon, most, up=True))
        return found

    def _worst(self, epsilon: Fraction) -> KeysOfUsers:
        """The division that attains most; where a user is added, in the direction from the larger dataset."""
        least, _ = self.chances
        from_larger = (each for each in self.divisions() if self.replaces_user or not each.there)
        return max(from_larger, key=lambda each: self.profile_of(each, epsilon, least, up=False))

    def below(self) -> tuple[Below, ...]:
        """For every epsilon the worst division; of Gaussian noise, or where old keys take too many users to write
        out, users whose keys nobody else has are shown.
        """
        if self.noise.name == "gaussian" or self._users_of_old_keys() * self.dim > _MOST_NUMBERS:
            new = self._attained(KeysOfUsers(self.keys, self.keys if self.replaces_user else 0, 0))
            if self._users_of_old_keys() * self.dim > _MOST_NUMBERS:
                return (new,)
            return (new, NearbyPairs(shown=new, at_level=lambda epsilon: self._attained_event(self._worst(epsilon))))
        shown = self._attained(self._worst(self.claim.epsilon))
        return (NearbyPairs(shown=shown, at_level=lambda epsilon: self._attained(self._worst(epsilon))),)

    def _attained(self, division: KeysOfUsers) -> AttainedLoss:
        pair, words = self.pair_of(division), self.describe_division(division)
        return AttainedLoss(pair=pair, loss=self.loss_of(division), description=words)

    def _attained_event(self, division: KeysOfUsers) -> KnownEvent:
        """Of Gaussian noise: a key is released that the other dataset does not have, or none of the new ones is and the
        noisy counts of the old ones are far out. One of those is withheld with a chance that is taken off.
        """
        least, _ = self.chances
        moved = self._moved(division.both)

        def at(epsilon: Fraction) -> EventBound:
            with precision(_BITS):
                withheld = least.withheld_ball().log()
                level = rounded_level(ball(epsilon) - (division.here - division.there) * withheld, up=True)
                p_old, q_old = moved.p_above(level, 96), moved.q_above(level, 96)
                none_here, none_there = ((n * withheld).exp() for n in (division.here, division.there))
                lost = division.both * self.noise.chances(self._margin)[1].released.ball()
                alone = -(division.here * withheld).expm1()
                old = (
                    f"the {division.both} noisy counts that both have are released, with a log-likelihood ratio above "
                )
                parts = [f"one of {division.here} keys is released that Q does not have"] if division.here else []
                if division.both:
                    none = (
                        "none of the keys is that one dataset alone has, and "
                        if division.here or division.there
                        else ""
                    )
                    parts.append(f"{none}{old}{float(level):.17g}")
                return EventBound(
                    event=", or ".join(parts), p_ball=alone + none_here * (p_old - lost), q_ball=none_there * q_old
                )

        return KnownEvent(pair=self.pair_of(division), description=self.describe_division(division), event=at)

    def loss_of(self, division: KeysOfUsers) -> PrivacyLoss:
        """That of a pair with large counts of old keys, with the chance of a new key from below."""
        least, _ = self.chances
        parts = [self._moved(division.both)]
        if division.here:
            parts.append(least.of_any(division.here, up=False).loss())
        if division.there:
            parts.append(least.of_any(division.there, up=False).loss().reversed())
        return compose(*parts)

    def describe_division(self, division: KeysOfUsers) -> str:
        """The users that differ, in words."""

        def of(new: int, old: int) -> str:
            parts = [f"{new} that nobody else has" if new else "", f"{old} with large counts" if old else ""]
            return f"{new + old} key{'s' * (new + old > 1)}: " + " and ".join(part for part in parts if part)

        if self.replaces_user:
            k = self.keys
            one, other = of(division.here, k - division.here), of(division.there, k - division.there)
            return f"a user with {one}, replaced by one with {other}"
        return f"a user with {of(division.here, division.both)}"

    def pair_of(self, division: KeysOfUsers) -> NeighbourPair:
        """The datasets: the users that differ, and others who have the old keys, m times each."""
        k, old = self.keys, np.zeros(self.dim, dtype=bool)
        first, second = np.zeros(self.dim), np.zeros(self.dim)
        if self.replaces_user:
            first[:k] = second[k : 2 * k] = self.per_key
            old[division.here : k] = old[k + division.there : 2 * k] = True
        else:
            first[:k] = self.per_key
            old[division.here : k] = True
        far = self._users_of_old_keys() if division.both else 0
        blocks = [np.flatnonzero(old)[start : start + k] for start in range(0, int(old.sum()), k)]
        others = np.zeros((far * len(blocks), self.dim))
        for i, block in enumerate(blocks):
            others[i * far : (i + 1) * far, block] = self.per_key
        if self.replaces_user:
            return self.neighbours(np.vstack([first, others]), np.vstack([second, others]))
        return self.neighbours(np.vstack([first, others]), others)

    def _users_of_old_keys(self) -> int:
        """How many other users each old key has."""
        return math.ceil((self.threshold + self._margin) / self.per_key)

    @property
    def _margin(self) -> Fraction:
        """How far above the threshold the counts of old keys lie: none where smaller noisy counts have one loss."""
        return self.noise.scale * _FAR if self.noise.name == "gaussian" else Fraction(0)

    def pair_loss(self, record: Array, replacement: Array | None, position: int) -> PrivacyLoss:
        """Of one user alone against none, exactly but for the rounding of Gaussian chances; against a replacement a
        bound from above, which takes a key of both for one that is always released.
        """
        other = np.zeros(self.dim) if replacement is None else replacement
        parts: list[tuple[PrivacyLoss, int]] = []
        moves: dict[Fraction, int] = {}
        for here, there in zip(record.tolist(), other.tolist(), strict=True):
            if here and there:
                if here != there:
                    distance = abs(Fraction(here) - Fraction(there))
                    moves[distance] = moves.get(distance, 0) + 1
            elif here or there:
                new = self.noise.chances(self.threshold - Fraction(here or there))[1].loss()
                parts.append((new if here else new.reversed(), 1))
        return compose_counted([(self.noise.loss(moves), 1), *parts])

    # what is released -------------------------------------------------------------------------------------------------

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(N,): what a user contributes to each key."""
        return (self.dim,)

    def check_records(self, dataset: ArrayLike) -> Array:
        """The contributions as float64 of shape (n, N), whole numbers in [0, m], at most k of a row not 0."""
        records = check_array(dataset, self.record_shape, 0.0, float(self.per_key))
        check_whole_entries(records, "count the records of a user")
        check_number_of_keys(records, self.keys)
        return records

    def statistic(self, records: Array) -> Array:
        """The count of every key: shape (N,)."""
        counts: Array = records.sum(axis=0)
        return counts

    def decode(self, noisy: Array) -> Array:
        """The noisy counts that reach the threshold, and 0 for every other key."""
        return np.where(noisy >= float(self.threshold), noisy, 0.0)

    def release_chances(self, dataset: ArrayLike) -> Array:
        """The chance that each key is released, in float64: shape (N,)."""
        counts = self.embed(dataset)
        return np.where(counts > 0, 1 - self.noise.withheld(float(self.threshold) - counts), 0.0)

    def likelihood_score(self, pair: NeighbourPair) -> Callable[[Array], Array]:
        """The log-likelihood ratio; a million for or against where one dataset alone can release what was released."""
        here, there = (self.embed(side) for side in (pair.dataset, pair.neighbour))
        at = float(self.threshold)

        def log_likelihood(counts: Array, released: Array) -> Array:
            shown = released > 0
            withheld = np.log(np.where(counts > 0, self.noise.withheld(at - counts), 1.0))
            values = np.where(counts > 0, self.noise.log_density(released - counts), -_CERTAIN)
            return np.where(shown, values, withheld)

        def score(released: Array) -> Array:
            moved = np.flatnonzero(here != there)
            found = log_likelihood(here[moved], released[:, moved]) - log_likelihood(there[moved], released[:, moved])
            total: Array = np.clip(found, -_CERTAIN, _CERTAIN).sum(axis=1)
            return total

        return score

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        own = {
            "keys": str(self.keys),
            "per_key": str(self.per_key),
            "noise": self.noise.name,
            "scale": exact_text(self.noise.scale),
            "threshold": exact_text(self.threshold),
        }
        return StructuredMechanism.describe(self) | own


def check_number_of_keys(records: Array, keys: int) -> None:
    """Whether no user, a row, has more keys than so many.

    Raises:
        InvalidValue: one has.
    """
    most = int(np.count_nonzero(records, axis=1).max(initial=0))
    if most > keys:
        remedy = "keep some keys of every user, chosen without looking at others"
        raise InvalidValue("dataset", f"a user with {most} keys", f"at most keys={keys}", remedy)


def rounded_level(level: arb, *, up: bool) -> Fraction:
    """A rational number on one side of an epsilon, nearby."""
    unit = Fraction(1, 1 << _LEVEL_BITS)
    end = as_fraction(level.upper() if up else level.lower()) / unit
    return (math.ceil(end) if up else math.floor(end)) * unit
