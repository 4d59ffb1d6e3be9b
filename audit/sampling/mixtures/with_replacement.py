"""Batches drawn with replacement: a record stands in a batch several times, each time in the place of another one.

Each step draws b times from n records, n being the larger number under add-or-remove-one. The record is drawn K times,
K binomial of b and 1/n. Given what the draws of the others are, it takes the place of K of them, which K being uniform,
and moves the sum by up to 2 K, in units of the bound on one record.

* **Add-or-remove-one.** sum over k of Pr[K = k] N(2 k, s^2) against N(0, s^2) dominates, in both orders and for any
  number of steps (`dpverdict.audit.sampling.mixtures.loss`). It is attained where all others are its opposite.
* **Replace-one.** With or without the record, or with its replacement in the same places, the sums are 2 K apart at
  most. By advanced joint convexity, with h = Pr[K > 0], one step has

      delta(epsilon) <= sum over k > 0 of Pr[K = k] delta_{2 k/s}(log(1 + (e^epsilon - 1)/h)),   epsilon >= 0,

  in both orders, delta_mu being the profile of a Gaussian pair (Balle, Barthe and Gaboardi 2018, Theorem 10); the pair
  with that profile is composed. Attained are: the record among opposite ones, replaced by one of these, which is the
  pair of a removed record; and the record among others that contribute 0, replaced by its opposite, which is the
  mixture of N(k, s^2) against that of N(-k, s^2).

Of many draws the large K are cut off, K > c, of probability z in one step. For a removed record that is a cut of
`dpverdict.audit.sampling.mixtures.truncated`, for c = 1, 2, ...: in the pair of the cut they count as 0, where a
shorter move tells no more by Gaussian interpolation. With M the law of the pair and M0 that of the cut, M(E) is at most
M0(E) + z, and M0 at most 1 + z/Pr[K = 0] times the part of it that M has as well. Of a replaced record K > c is told
from above, as if it gave the record away: delta of T steps is at most (1 - T z) that of the K <= c, and T z; from below
they count as c.

**Renyi divergence** of a removed record, of an order a > 1. Let g be the likelihood ratio of one step, g0 that of a
cut, and e_k that of a move by 2 k. E_Q[g^a] is at least E_Q[g0^a], and at least the sum of Pr[K = k]^a E_Q[e_k^a]; by
Minkowski's inequality its a-th root is at most that of E_Q[g0^a] and the sum over k > c of Pr[K = k] E_Q[e_k^a]^(1/a).
In the other order E_Q[g^(1 - a)] is between E_Q[g0^(1 - a)] and that times (1 + z/Pr[K = 0])^(a - 1).

Reference: Balle, Barthe and Gaboardi 2018 (arXiv:1807.01647), Theorems 2 and 10.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from math import comb
from typing import Final, final

from flint import arb

from dpverdict.audit.losses.base import AddRemoveLoss, LikelihoodRatio, PrivacyLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.composition import compose_counted
from dpverdict.audit.losses.domains import Direction
from dpverdict.audit.sampling.mixtures.fixed_size import repeated_in_batches, replaced_in_one_step
from dpverdict.audit.sampling.mixtures.loss import GaussianMixtureLoss
from dpverdict.audit.sampling.mixtures.told import RareDisclosure, ToldLoss
from dpverdict.audit.sampling.mixtures.truncated import TruncatedLoss
from dpverdict.audit.sampling.moments import GaussianMoments
from dpverdict.audit.sampling.step import SampledStep
from dpverdict.audit.sampling.steps import SampledSteps
from dpverdict.balls import Exact, Real, ball, precision
from dpverdict.checks import check_positive, check_whole
from dpverdict.numerics.text import exact_text

RARE: Final = Fraction(1, 1 << 50)
"""The probability of a cut of a replaced record, in all steps together, at most: it adds that to delta."""
_RARE_BELOW: Final = Fraction(1, 1 << 32)
"""That from below, where such a record is taken to move the sum less."""
_HALVINGS: Final = 3
"""Of the lattice of a replaced record: closer bounds on a bound that is not attained are not worth their time."""
_RAREST: Final = Fraction(1, 1 << 80)
"""That of the finest cut of a removed record, in one step, about."""
_FEW: Final = 4
"""So many draws are not cut."""
_MOST_TERMS: Final = 20_000
"""Of a sum over k."""
_LARGEST: Final = 24
"""Order times move, up to which a moment is integrated."""
_FINE: Final = 1 << 200
_BITS: Final = 128
_AT_0: Final = ((Fraction(1), Fraction(0)),)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnAgain:
    """Batches of b draws with replacement from n records.

    Attributes:
        size: b >= 1.
        records: n >= 1, of the larger data set.

    Raises:
        InvalidValue: a number out of range.
    """

    size: int
    records: int

    def __post_init__(self) -> None:
        check_whole(self.size, "size", least=1, remedy="say how often a step draws")
        check_whole(self.records, "records", least=1, remedy="say how many records there are")

    def rounded_down(self, k: int) -> Fraction:
        """Pr[K = k], rounded down to a whole part of 2^-200."""
        n, b = self.records, self.size
        return Fraction(comb(b, k) * (n - 1) ** (b - k) * _FINE // n**b, _FINE)

    def multiplicities(self, steps: int, rare: Fraction = RARE) -> tuple[list[Fraction], Fraction]:
        """Pr[K = 0], Pr[K = 1], ..., and the probability of what is cut off, at most ``rare`` over the steps.

        Each is rounded down, so that all of them with what is cut off add up to 1; without a cut they are exact.
        """
        found: list[Fraction] = []
        left = Fraction(1)
        for k in range(self.size):
            found.append(self.rounded_down(k))
            left -= found[-1]
            if k and left * steps <= rare:
                return found, left
        return self.exactly(), Fraction(0)

    def exactly(self) -> list[Fraction]:
        """Pr[K = 0], ..., Pr[K = b]."""
        q = Fraction(1, self.records)
        return [comb(self.size, k) * q**k * (1 - q) ** (self.size - k) for k in range(self.size + 1)]

    def cuts(self) -> tuple[list[Fraction], list[Fraction]]:
        """Pr[K = 0], Pr[K = 1], ... up to the finest cut, rounded down; and of each c >= 1 z/Pr[K = 0], rounded up."""
        weights, missed, left = [self.rounded_down(0)], [], 1 - self.rounded_down(0)
        for k in range(1, self.size + 1):
            weights.append(self.rounded_down(k))
            left -= weights[-1]
            missed.append(Fraction(-((-left * _FINE) // weights[0]), _FINE))
            if missed[-1] <= _RAREST:
                break
        return weights, missed


def drawn_removed(*, noise_multiplier: Exact, batches: DrawnAgain, steps: int = 1) -> AddRemoveLoss:
    """The loss of steps on draws with replacement under add-or-remove-one, exact or by finer and finer cuts.

    Args:
        noise_multiplier: standard deviation of the noise in units of the bound on one record, > 0, exact.
        batches: how they are drawn.
        steps: their number.

    Raises:
        InvalidValue: an argument out of range.

    >>> loss = drawn_removed(noise_multiplier=2, batches=DrawnAgain(size=300, records=10_000), steps=1000)
    >>> round(loss.delta(4), 7)
    0.002741
    """
    s, number = _checked(noise_multiplier, steps)
    ratio = _ratio(s, batches, number)
    if batches.size <= _FEW or batches.records == 1:
        remove = _one_step(batches.exactly(), s)
        parts: list[PrivacyLoss] = [remove, remove.reversed()]
    else:
        parts = _cut(s, batches, number)
    both = [compose_counted([(one, number)]) for one in parts]
    return AddRemoveLoss(remove=both[0], add=both[1], ratio=ratio)


def _ratio(s: Fraction, batches: DrawnAgain, steps: int) -> LikelihoodRatio:
    """That of the record in the places of opposite ones, in words."""
    sums = "y_t the noisy sum along the canary's gradient in units of the clipping norm, plus the batch size"
    return LikelihoodRatio(
        f"sum over steps 1 to {steps} of log of the mean of exp((2 K y_t - 2 K^2)/s^2)",
        f"s = {exact_text(s)}, K binomial of {batches.size} and 1/{batches.records}, {sums}",
    )


def _cut(s: Fraction, batches: DrawnAgain, steps: int) -> list[PrivacyLoss]:
    """The losses of one step in both orders, by cuts at c = 1, 2, ...."""
    weights, missed = batches.cuts()
    ratio = _ratio(s, batches, steps)

    @cache
    def at(number: int) -> tuple[PrivacyLoss, PrivacyLoss]:
        kept = weights[1 : number + 2]
        one = _one_step([1 - sum(kept, Fraction(0)), *kept], s)
        return one, one.reversed()

    def loss(place: int, order: Direction) -> TruncatedLoss:
        def words(number: int, level: float) -> str:
            counted = replace(ratio, symbols=f"{ratio.symbols}; K above {number + 1} counted as 0")
            return counted.event_above(level, order)

        return TruncatedLoss(
            lambda number: at(number)[place],
            missed,
            renyi=lambda a: _renyi(s, batches, (weights, missed), a, order),
            words=words,
        )

    return [loss(0, Direction.REMOVE), loss(1, Direction.ADD)]


def _one_step(weights: list[Fraction], s: Fraction) -> PrivacyLoss:
    """One step of a record that takes the places of k others with these probabilities, with it against without it."""
    present = sum(weights[1:], Fraction(0))
    if present == 1:
        return GaussianMixtureLoss([(weight, 2 * k / s) for k, weight in enumerate(weights)], _AT_0)
    given = _given(weights)
    inside = GaussianMixtureLoss([(share, 2 * k / s) for share, k in given], _AT_0)
    moments = GaussianMoments(Real.of(2 / s), present, given)
    return SampledStep(inside, present, Direction.REMOVE, partial(_repeated, moments), lambda: moments)


def _given(weights: list[Fraction]) -> list[tuple[Fraction, int]]:
    """The probabilities of k > 0, given that it is not 0."""
    present = sum(weights[1:], Fraction(0))
    return [(weight / present, k) for k, weight in enumerate(weights) if k and weight]


def _repeated(moments: GaussianMoments, step: SampledStep, steps: int) -> PrivacyLoss | None:
    found = SampledSteps(step, steps, moments)
    return found if found.is_cheap else None


def _renyi(
    s: Fraction, batches: DrawnAgain, cuts: tuple[list[Fraction], list[Fraction]], a: Fraction, order: Direction
) -> arb:
    """The Renyi divergence of one step, of an order a > 1, between bounds; see the module."""
    weights, missed = cuts
    mu, c = 2 / s, 1
    while c < len(missed) and (c + 1) * mu * a <= _LARGEST:
        c += 1
    kept = weights[1 : c + 1]
    law = [1 - sum(kept, Fraction(0)), *kept]
    remove = order is Direction.REMOVE
    exponent = a if remove else 1 - a
    moments = GaussianMoments(Real.of(mu), sum(kept, Fraction(0)), _given(law))
    with precision(_BITS):
        own = moments.real(ball(exponent)).log()
        if not remove:
            more = (a.numerator - a.denominator) * ball(missed[c - 1]).log1p() / a.denominator
            return own.lower().union((own + more).upper()) / (ball(a) - 1)
        most = ball(a) * (ball(a) - 1) * ball(batches.size * mu) ** 2 / 2  # of known batches
        n, b = arb(batches.records), batches.size
        terms = range(b + 1) if b <= _MOST_TERMS else (b,)
        half, least, rest = (ball(a) - 1) * ball(mu) ** 2 / 2, own.lower(), arb(0)
        for k in terms:
            log_weight = arb(comb(b, k)).log() + (b - k) * (n - 1).log() - b * n.log()
            least = least.max((ball(a) * (log_weight + half * k * k)).lower())
            if k > c:
                rest += (log_weight + half * k * k).exp()
        if len(terms) > 1:
            most = most.min(ball(a) * ((own / ball(a)).exp() + rest).log())
        return least.union(most.upper()) / (ball(a) - 1)


def drawn_replaced(*, noise_multiplier: Exact, batches: DrawnAgain, steps: int = 1) -> PrivacyLoss:
    """A loss that dominates steps on draws with replacement under replace-one; see the module.

    Args:
        noise_multiplier, batches, steps: as of `drawn_removed`.

    Raises:
        InvalidValue: an argument out of range.
    """
    s, number = _checked(noise_multiplier, steps)
    known, cut = batches.multiplicities(number)
    present = sum(known[1:], Fraction(0))
    inside = ToldLoss([(weight / present, GaussianLoss(2 * k / s)) for k, weight in enumerate(known) if k])
    one = replaced_in_one_step(inside, present / (1 - cut))
    return _told(repeated_in_batches(one, number, halvings=_HALVINGS), cut * number)


def drawn_opposite(*, noise_multiplier: Exact, batches: DrawnAgain, steps: int = 1) -> PrivacyLoss:
    """At most what a record tells that is replaced by its opposite, where all others contribute 0.

    Args:
        noise_multiplier, batches, steps: as of `drawn_removed`.

    Raises:
        InvalidValue: an argument out of range.
    """
    s, number = _checked(noise_multiplier, steps)
    known, cut = batches.multiplicities(number, _RARE_BELOW)
    part = [(weight, k / s) for k, weight in enumerate([*known[:-1], known[-1] + cut])]
    return compose_counted([(GaussianMixtureLoss(part, part), number)])


def _checked(noise_multiplier: Exact, steps: int) -> tuple[Fraction, int]:
    s = check_positive(noise_multiplier, "noise_multiplier")
    return s, check_whole(steps, "steps", least=1, remedy="say how often a batch is drawn")


def _told(loss: PrivacyLoss, probability: Fraction) -> PrivacyLoss:
    return RareDisclosure(loss, probability) if probability else loss
