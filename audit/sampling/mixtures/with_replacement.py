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

Of many draws the large K are cut off: K > c, of probability z in one step, is told from above, as if it gave the record
away: delta of T steps is at most (1 - T z) that of the K <= c, and T z. From below they count as c: by Gaussian
interpolation a shorter move tells no more.

Reference: Balle, Barthe and Gaboardi 2018 (arXiv:1807.01647), Theorems 2 and 10.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import comb
from typing import Final, final

from dpverdict.audit.losses.base import AddRemoveLoss, PrivacyLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.composition import compose_counted
from dpverdict.audit.losses.domains import Direction
from dpverdict.audit.sampling.mixtures.fixed_size import repeated_in_batches, replaced_in_one_step
from dpverdict.audit.sampling.mixtures.loss import GaussianMixtureLoss
from dpverdict.audit.sampling.mixtures.told import RareDisclosure, ToldLoss
from dpverdict.audit.sampling.moments import GaussianMoments
from dpverdict.audit.sampling.step import SampledStep
from dpverdict.audit.sampling.steps import SampledSteps
from dpverdict.balls import Exact, Real
from dpverdict.checks import check_positive, check_whole

RARE: Final = Fraction(1, 1 << 50)
"""The probability of a cut, in all steps together, at most."""
_FINE: Final = 1 << 200
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

    def multiplicities(self, steps: int) -> tuple[list[Fraction], Fraction]:
        """Pr[K = 0], Pr[K = 1], ..., and the probability of what is cut off, at most `RARE` over the steps.

        Each is rounded down, so that all of them with what is cut off add up to 1; without a cut they are exact.
        """
        found: list[Fraction] = []
        q, left = Fraction(1, self.records), Fraction(1)
        for k in range(self.size + 1):
            exact = comb(self.size, k) * q**k * (1 - q) ** (self.size - k)
            rounded = Fraction(int(exact * _FINE), _FINE)
            found.append(rounded)
            left -= rounded
            if 0 < k < self.size and left * steps <= RARE:
                return found, left
        return [comb(self.size, k) * q**k * (1 - q) ** (self.size - k) for k in range(self.size + 1)], Fraction(0)


def drawn_removed(
    *, noise_multiplier: Exact, batches: DrawnAgain, steps: int = 1
) -> tuple[AddRemoveLoss, AddRemoveLoss]:
    """Losses that bound steps on draws with replacement under add-or-remove-one: from above, and attained.

    Both are one exact loss, the same object, where nothing is cut off.

    Args:
        noise_multiplier: standard deviation of the noise in units of the bound on one record, > 0, exact.
        batches: how they are drawn.
        steps: their number.

    Raises:
        InvalidValue: an argument out of range.

    >>> above, attained = drawn_removed(noise_multiplier=2, batches=DrawnAgain(size=3, records=100))
    >>> above is attained, round(above.delta("0.5"), 9)
    (True, 4.601e-05)
    """
    s, number, known, cut = _checked(noise_multiplier, batches, steps)

    attained = _drawn_again([*known[:-1], known[-1] + cut], s, number)
    if not cut:
        return attained, attained
    kept = _drawn_again([weight / (1 - cut) for weight in known], s, number)
    return AddRemoveLoss(remove=_told(kept.remove, cut * number), add=_told(kept.add, cut * number)), attained


def _drawn_again(weights: list[Fraction], s: Fraction, steps: int) -> AddRemoveLoss:
    """Steps of the pair of a record that takes the places of k others with these probabilities, in both orders."""
    present = sum(weights[1:], Fraction(0))
    if present == 1:
        remove: PrivacyLoss = GaussianMixtureLoss([(weight, 2 * k / s) for k, weight in enumerate(weights)], _AT_0)
    else:
        given = [(weight / present, k) for k, weight in enumerate(weights) if k and weight]
        inside = GaussianMixtureLoss([(share, 2 * k / s) for share, k in given], _AT_0)
        remove = SampledStep(inside, present, Direction.REMOVE, partial(_repeated, 2 / s, given))
    both = [compose_counted([(one, steps)]) for one in (remove, remove.reversed())]
    return AddRemoveLoss(remove=both[0], add=both[1])


def _repeated(mu: Fraction, given: list[tuple[Fraction, int]], step: SampledStep, steps: int) -> PrivacyLoss | None:
    found = SampledSteps(step, steps, GaussianMoments(Real.of(mu), step.sampling_probability, given))
    return found if found.is_cheap else None


def drawn_replaced(*, noise_multiplier: Exact, batches: DrawnAgain, steps: int = 1) -> PrivacyLoss:
    """A loss that dominates steps on draws with replacement under replace-one; see the module.

    Args:
        noise_multiplier, batches, steps: as of `drawn_removed`.

    Raises:
        InvalidValue: an argument out of range.
    """
    s, number, known, cut = _checked(noise_multiplier, batches, steps)
    present = sum(known[1:], Fraction(0))
    inside = ToldLoss([(weight / present, GaussianLoss(2 * k / s)) for k, weight in enumerate(known) if k])
    return _told(repeated_in_batches(replaced_in_one_step(inside, present / (1 - cut)), number), cut * number)


def drawn_opposite(*, noise_multiplier: Exact, batches: DrawnAgain, steps: int = 1) -> PrivacyLoss:
    """At most what a record tells that is replaced by its opposite, where all others contribute 0.

    Args:
        noise_multiplier, batches, steps: as of `drawn_removed`.

    Raises:
        InvalidValue: an argument out of range.
    """
    s, number, known, cut = _checked(noise_multiplier, batches, steps)
    part = [(weight, k / s) for k, weight in enumerate([*known[:-1], known[-1] + cut])]
    return compose_counted([(GaussianMixtureLoss(part, part), number)])


def _checked(
    noise_multiplier: Exact, batches: DrawnAgain, steps: int
) -> tuple[Fraction, int, list[Fraction], Fraction]:
    """The noise multiplier and the number of steps, checked; how often a record is drawn, and what is cut off."""
    s = check_positive(noise_multiplier, "noise_multiplier")
    number = check_whole(steps, "steps", least=1, remedy="say how often a batch is drawn")
    return s, number, *batches.multiplicities(number)


def _told(loss: PrivacyLoss, probability: Fraction) -> PrivacyLoss:
    return RareDisclosure(loss, probability) if probability else loss
