"""Shuffled batches: what training on permuted batches tells for certain, and what it cannot exceed.

The records are permuted and cut into T batches of fixed size; each step releases the sum of the clipped gradients of
one batch with Gaussian noise of standard deviation s, in units of the clipping norm. No dominating pair is known. What
one pair of data sets tells is a bound from below: all other records contribute -1, the canary +1, and on the neighbour
its place contributes 0 (removed, or zeroed out) or -1 (replaced). In coordinates moved by the batch size, the batch of
the canary has mean 2 against 1 or 0, and all other batches have mean 0. With F(m, c) = Phi((c - m)/s) Phi(c/s)^(T-1),
the probability that no release is above c, a = 2 and b = 1 or 0, the event {largest release > c} shows

    delta(epsilon) >= (1 - F(a, c)) - exp(epsilon) (1 - F(b, c)),     and its complement, in the order add,
    delta(epsilon) >= F(b, c) - exp(epsilon) F(a, c),

for any c. Over E epochs with one permutation, the means of the E views are sufficient: s becomes s/sqrt(E). With a
fresh permutation in each epoch, the number of epochs with a release above c is binomial, with p = 1 - F(a, c) or
r = 1 - F(b, c), and its law shows sum over j of C(E, j) (p^j (1-p)^(E-j) - exp(epsilon) r^j (1-r)^(E-j))_+.

Nothing of this depends on the sizes of the batches. Where the record is in none of them with probability z, as what is
left of whole batches is dropped, p and r are mixed with z (1 - F(0, c)).

From above: given the permutation, the record is in one known batch of each epoch, and the two laws are a Gaussian pair
of mu = sqrt(E)/s, or 2 sqrt(E)/s if it is replaced; the hockey-stick divergence is jointly convex.

Reference: Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha and Zhang 2024 (arXiv:2403.17673), section 3, for the event.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias, final

import numpy as np
import scipy
from dp_accounting.privacy_accountant import NeighboringRelation
from flint import arb

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.domains import EPSILON, Direction, EventBound
from dpverdict.balls import Enclosure, Exact, ball, exactly, precision
from dpverdict.cards import answer_card
from dpverdict.checks import check_positive, check_whole
from dpverdict.errors import InvalidValue
from dpverdict.numerics.gaussian import BallNormal
from dpverdict.numerics.roots import bisected
from dpverdict.numerics.text import at_least, at_most, short_text

Relation: TypeAlias = Literal["add_remove", "zero_out", "replace_one"]
Shuffle: TypeAlias = Literal["persistent", "fresh"]

_RELATIONS = ("add_remove", "zero_out", "replace_one")

_NAMES = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: "add_remove",
    NeighboringRelation.REPLACE_SPECIAL: "zero_out",
    NeighboringRelation.REPLACE_ONE: "replace_one",
}
_NORMAL = BallNormal()
_BITS = 192
_THRESHOLDS = 600
_MOST_EPOCHS = 10_000


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffledBatches:
    """Bounds on the privacy of training on shuffled batches; see `shuffled_batches`.

    Attributes:
        noise_multiplier: s.
        batches: T, of one epoch.
        epochs: E.
        relation: add_remove and zero_out (the place of the record stays empty), or replace_one.
        shuffle: persistent (one permutation for all epochs) or fresh.
        others: what every other record contributes. At 0 the bounds hold as well where each record is put into one
            batch of an epoch by itself.
        dropped: the probability that the record is in no batch of an epoch, as what is left of whole batches.
    """

    noise_multiplier: Fraction
    batches: int
    epochs: int
    relation: str
    shuffle: Shuffle
    others: Literal[-1, 0] = -1
    dropped: Fraction = Fraction(0)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        ends = {delta: (self.lower_epsilon(delta), self.upper_epsilon(delta)) for delta in ("1e-5", "1e-6")}
        rows = {
            f"epsilon at delta {delta}": f"from {at_least(lowest)} to {at_most(highest)}"
            for delta, (lowest, highest) in ends.items()
        }
        answer = f"{self.epochs} epochs of {self.batches} shuffled batches, noise {short_text(self.noise_multiplier)}"
        return answer_card(answer, rows, caption=self.relation, follows="bounds.lower_delta(1), bounds.upper_delta(1).")

    # from below -------------------------------------------------------------------------------------------------------

    def payoff(self, epsilon: Exact, threshold: Exact, order: Direction = Direction.REMOVE) -> Enclosure:
        """Encloses what the event at a threshold c shows of delta(epsilon): a lower bound on it, perhaps negative."""
        level, c = EPSILON.exact(epsilon), exactly(threshold, name="threshold")
        with precision(_BITS):
            present, absent = self._probabilities(c)
            growth = ball(level).exp()
            if self._trials == 1:
                if order is Direction.REMOVE:
                    return Enclosure.of_ball(present - growth * absent)
                return Enclosure.of_ball((1 - absent) - growth * (1 - present))
            first, second = (present, absent) if order is Direction.REMOVE else (absent, present)
            total = arb(0)
            for j in range(self._trials + 1):
                rest = self._trials - j
                term = first**j * (1 - first) ** rest - growth * second**j * (1 - second) ** rest
                total += math.comb(self._trials, j) * term.max(arb(0))
            return Enclosure.of_ball(total)

    def lower_delta(self, epsilon: Exact) -> float:
        """A number that delta(epsilon) is certainly not below, at the best threshold of either order."""
        return max(0.0, *(self.payoff(epsilon, self.threshold(epsilon, order), order).lower for order in Direction))

    def event(self, epsilon: Exact) -> EventBound:
        """The event that shows `lower_delta`: where its probabilities are bounded, in words.

        With several fresh permutations it is about the number of epochs, and its two probabilities are sums.
        """
        best = max(Direction, key=lambda order: self.payoff(epsilon, self.threshold(epsilon, order), order).lower)
        c = self.threshold(epsilon, best)
        level = EPSILON.exact(epsilon)
        with precision(_BITS):
            present, absent = self._probabilities(c)
            first, second = (present, absent) if best is Direction.REMOVE else (absent, present)
            p = q = arb(0)
            counts = []
            for j in range(self._trials + 1):
                rest, ways = self._trials - j, math.comb(self._trials, j)
                own, other = ways * first**j * (1 - first) ** rest, ways * second**j * (1 - second) ** rest
                if own > ball(level).exp() * other:
                    counts.append(j)
                    p, q = p + own, q + other
        where = "the largest mean over the epochs of a batch" if self.shuffle == "persistent" else "the largest release"
        exceeds = f"{where}, in units of the clipping norm and less its mean without the canary, is above {float(c)!r}"
        if self._trials == 1:
            event = exceeds if counts == [1] else f"it is not so that {exceeds}"
        else:
            event = f"of {self._trials} epochs, the number in which {exceeds} is in {counts[:1]}...{counts[-1:]}"
        law = "P with the record, Q without it" if best is Direction.REMOVE else "P without the record, Q with it"
        return EventBound(
            event=f"{event} ({law}; all others contribute {self.others}, the canary 1)", p_ball=p, q_ball=q
        )

    def threshold(self, epsilon: Exact, order: Direction = Direction.REMOVE) -> Fraction:
        """About the best threshold, found in float64: any is valid."""
        s, growth = float(self._deviation), float(EPSILON.exact(epsilon))
        c = np.linspace(0.0, 2 + 12 * s + math.sqrt(2 * math.log(self.batches)) * s, _THRESHOLDS)
        for _ in range(3):
            below = [
                scipy.special.log_ndtr((c - mean) / s) + (self.batches - 1) * scipy.special.log_ndtr(c / s)
                for mean in self._means
            ]
            if self.dropped:
                none, left = self.batches * scipy.special.log_ndtr(c / s), float(self.dropped)
                below = [np.logaddexp(math.log1p(-left) + b, math.log(left) + none) for b in below]
            logs = [(np.log(np.maximum(-np.expm1(b), 1e-300)), b) for b in below]
            first, second = logs if order is Direction.REMOVE else logs[::-1]
            n = self._trials
            value = np.zeros(c.shape)
            for j in range(n + 1) if n <= 200 else np.unique(np.linspace(0, n, 200).round()).tolist():
                ways = scipy.special.gammaln(n + 1) - scipy.special.gammaln(j + 1) - scipy.special.gammaln(n - j + 1)
                own = np.exp(np.minimum(ways + j * first[0] + (n - j) * first[1], 0.0))
                value += np.maximum(own - np.exp(growth + ways + j * second[0] + (n - j) * second[1]), 0.0)
            best = int(value.argmax())
            c = np.linspace(c[max(best - 1, 0)], c[min(best + 1, len(c) - 1)], _THRESHOLDS)
        return Fraction(round(float(c[len(c) // 2]) * 1e6), 10**6)

    def lower_epsilon(self, delta: Exact) -> float:
        """An epsilon at which `lower_delta` is certainly above ``delta``: it is not kept; 0 if none is found."""
        level = exactly(delta, name="delta")
        if not self.lower_delta(0) > level:
            return 0.0
        low, _ = bisected(
            lambda epsilon: self.lower_delta(epsilon) > level,
            0.0,
            float(GaussianLoss(self._mu).epsilon(level)),
            steps=40,
            close=lambda low, high: high - low < 1e-9 * high,
        )
        return low

    # from above -------------------------------------------------------------------------------------------------------

    def upper_delta(self, epsilon: Exact) -> float:
        """A number that delta(epsilon) certainly does not exceed: that of deterministic batches."""
        return self.deterministic.certified_delta(epsilon).upper

    def upper_epsilon(self, delta: Exact) -> float:
        """An epsilon at which delta(epsilon) is certainly at most ``delta``."""
        return self.deterministic.certified_epsilon(delta).upper

    @property
    def deterministic(self) -> GaussianLoss:
        """The loss where the batch of every record is known."""
        return GaussianLoss.from_squared(Fraction(self._distance**2 * self.epochs) / self.noise_multiplier**2)

    # parts ------------------------------------------------------------------------------------------------------------

    @property
    def _means(self) -> tuple[int, int]:
        """Of the canary's batch, with it and without, where that of every other batch is 0."""
        return 1 - self.others, 0 if self.relation == "replace_one" else -self.others

    @property
    def _distance(self) -> int:
        return 2 if self.relation == "replace_one" else 1

    @property
    def _mu(self) -> float:
        return self.deterministic.mu

    @property
    def _trials(self) -> int:
        """How many independent permutations are seen."""
        return self.epochs if self.shuffle == "fresh" else 1

    @property
    def _deviation(self) -> float:
        """s, or s/sqrt(E) for the means over epochs of one permutation, to steer."""
        return float(self.noise_multiplier) / math.sqrt(self.epochs // self._trials)

    def _probabilities(self, c: Fraction) -> tuple[arb, arb]:
        """That some release of an epoch is above c, with the canary and without it, at the current precision."""
        present, absent = (self._above(mean, c) for mean in self._means)
        if not self.dropped:
            return present, absent
        left, none = ball(self.dropped), self._above(0, c)
        return (1 - left) * present + left * none, (1 - left) * absent + left * none

    def _above(self, mean: int, c: Fraction) -> arb:
        """1 - F(mean, c), the probability that some release is above c, at the current precision."""
        s = ball(self.noise_multiplier) / arb(self.epochs // self._trials).sqrt()
        own, other = (_NORMAL.tail(ball(c - m) / s) for m in (mean, 0))
        return -((-own).log1p() + (self.batches - 1) * (-other).log1p()).expm1()


def _spelt(relation: str) -> str:
    """The name of a relation whose words may be joined by hyphens, and "add-or-remove-one" for "add_remove"."""
    name = str(relation).replace("-", "_")
    return "add_remove" if name == "add_or_remove_one" else name


def shuffled_batches(
    *,
    noise_multiplier: Exact,
    batches: int,
    epochs: int,
    relation: Relation | NeighboringRelation,
    shuffle: Shuffle,
    dropped: Exact = 0,
) -> ShuffledBatches:
    """Certified bounds on the privacy of DP-SGD whose batches are made by permuting the records.

    Args:
        noise_multiplier: standard deviation of the noise on a sum of gradients, in units of the clipping norm; exact.
        batches: the number T of batches of one epoch.
        epochs: the number E of epochs; each record takes part once in each.
        relation: "add_remove" or "zero_out" (without the record, its place in the batch contributes nothing), or
            "replace_one", also with hyphens; or dp_accounting's relation.
        shuffle: "fresh" for a permutation in each epoch, "persistent" for one that all epochs use.
        dropped: the probability that a record is in no batch of an epoch, in [0, 1), exact: of n records of which r are
            left over by whole batches and dropped, r/n.

    Raises:
        InvalidValue: an argument out of range.

    >>> bounds = shuffled_batches(
    ...     noise_multiplier="0.5", batches=10_000, epochs=1, relation="zero_out", shuffle="fresh"
    ... )
    >>> round(bounds.lower_delta("1.9548"), 6)
    0.144467
    >>> round(bounds.lower_epsilon("1e-6"), 3), round(bounds.upper_epsilon("1e-6"), 3)
    (10.995, 10.997)
    """
    s = check_positive(noise_multiplier, "noise_multiplier")
    named = _NAMES.get(relation, relation) if isinstance(relation, NeighboringRelation) else _spelt(relation)
    if named not in _RELATIONS:
        raise InvalidValue("relation", relation, f"one of {', '.join(_RELATIONS)}", "say what neighbours are")
    if shuffle not in ("persistent", "fresh"):
        remedy = "fresh for a permutation in each epoch, persistent for one in all"
        raise InvalidValue("shuffle", shuffle, "persistent or fresh", remedy)
    number = check_whole(epochs, "epochs", least=1, remedy="say how often each record takes part")
    left = exactly(dropped, name="dropped")
    if not 0 <= left < 1:
        raise InvalidValue("dropped", dropped, "in [0, 1)", "give the part of the records that whole batches leave")
    if shuffle == "fresh" and number > _MOST_EPOCHS:
        raise InvalidValue("epochs", epochs, f"at most {_MOST_EPOCHS}", "bound fewer epochs: that is a lower bound too")
    return ShuffledBatches(
        noise_multiplier=s,
        batches=check_whole(batches, "batches", least=1, remedy="say how many batches an epoch has"),
        epochs=number,
        relation=str(named),
        shuffle=shuffle,
        dropped=left,
    )
