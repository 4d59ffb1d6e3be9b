"""Batches of a fixed size, drawn anew without replacement in every step; and losses of which it is told which holds.

Each step draws b of n records, all subsets being equally likely; q = b/n. In the sum of a batch the record stands in
the place of another one, so that it moves the sum by up to 2, in units of the bound on one record.

* **Add-or-remove-one**, b being the same for both: without the record a batch is S, with it the record is put in the
  place of one of S with probability q, b over the larger number of records. Given S and the place that is a sampled
  Gaussian pair of mu = 2/s, and it is attained where all others are the opposite of the record: so that
  `poisson_sampled(GaussianLoss(2/s), q, T)` is the exact loss, by joint convexity, of any number of steps.
* **Replace-one.** Of one step delta(epsilon) <= q delta_2(log(1 + (e^epsilon - 1)/q)) for epsilon >= 0, delta_2 being
  the profile of the Gaussian pair of mu = 2/s (advanced joint convexity; the batch with the record against that with
  its replacement and against those without it: all of them 2 apart at most). That is attained, by the same records
  against those in which the record is opposite as well. It is the same in both orders, so that for epsilon < 0
  delta(epsilon) = 1 - e^epsilon + e^epsilon delta(-epsilon). `ReplacedInBatch` is the loss with this profile: exact
  for one step, and an upper bound, composed, for several. What the attained pair, T times, shows is a lower bound. No
  worst pair of several steps is known.

Reference: Balle, Barthe and Gaboardi 2018 (arXiv:1807.01647), Theorem 9; Zhu, Dong and Wang 2022 (arXiv:2106.08567),
Theorem 11, for the pair that composes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final, final

import numpy as np
from flint import arb

from dpverdict.audit.losses.base import BallLoss, PrivacyLoss
from dpverdict.audit.losses.bounded import HALVINGS, BoundedLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.curves import ACCURACY, beta_between, epsilon_ball, log_delta_ball
from dpverdict.audit.losses.domains import Direction, LossTails, finite_losses
from dpverdict.audit.losses.lattice.discretise import lattice_range
from dpverdict.audit.sampling.step import SampledStep
from dpverdict.balls import Exact, ball, exactly, precision
from dpverdict.checks import check_positive, check_whole
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array

_GUARD: Final = 40
_FARTHEST: Final = Fraction(64)
_FIRST_STEP: Final = 2.0**-8
_TAIL: Final = 1e-40
_POINTS: Final = 2000
"""About how many points of the first lattice are above 0: a finer one takes long, and what is not known is wider."""


@final
class ReplacedInBatch(BallLoss):
    """The loss of a pair that is alike in both orders, whose profile is a given one for epsilon >= 0.

    Args:
        one_sided: the loss with that profile; its loss has no atom.
    """

    __slots__ = ("one_sided",)
    symmetric = True

    def __init__(self, one_sided: PrivacyLoss) -> None:
        self.one_sided: PrivacyLoss = one_sided

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Those of the mechanism."""
        return self.one_sided.assumptions

    @property
    def law_key(self) -> tuple[object, ...]:
        """That of the one-sided loss."""
        return (type(self).__name__, *self.one_sided.law_key)

    @property
    def exact_key(self) -> tuple[object, ...] | None:
        """That of the one-sided loss."""
        own = self.one_sided.exact_key
        return None if own is None else (type(self.one_sided).__qualname__, own)

    def reversed(self) -> ReplacedInBatch:
        """Itself."""
        return self

    def profile(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon), to ``bits`` accurate bits."""
        found = self.one_sided.profile(abs(epsilon), bits + 4)
        if epsilon >= 0:
            return found
        with precision(bits + _GUARD):
            return -ball(epsilon).expm1() + ball(epsilon).exp() * found

    def p_above(self, level: Fraction, bits: int) -> arb:
        """The probability of a loss above the level under the first law."""
        if level >= 0:
            return self.one_sided.p_above(level, bits)
        return self._complement(self.one_sided.q_above, -level, bits)

    def q_above(self, level: Fraction, bits: int) -> arb:
        """The probability of a loss above the level under the second law."""
        if level >= 0:
            return self.one_sided.q_above(level, bits)
        return self._complement(self.one_sided.p_above, -level, bits)

    @staticmethod
    def _complement(tail: Callable[[Fraction, int], arb], level: Fraction, bits: int) -> arb:
        with precision(bits + _GUARD):
            return 1 - tail(level, bits + 8)

    def upper_tails(self, levels: Sequence[Fraction], bits: int) -> tuple[list[arb], list[arb]]:
        """As ``p_above`` and ``q_above``, by those of the one-sided loss."""
        sizes = sorted({abs(level) for level in levels})
        p, q = (dict(zip(sizes, tails, strict=True)) for tails in self.one_sided.upper_tails(sizes, bits + 8))
        with precision(bits + _GUARD):
            first = [p[level] if level >= 0 else 1 - q[-level] for level in levels]
            second = [q[level] if level >= 0 else 1 - p[-level] for level in levels]
        return first, second

    def tails(self, l: Array) -> LossTails:
        """The four tails at losses of shape (n,)."""
        losses = finite_losses(l)
        one, below = self.one_sided.tails(np.abs(losses)), losses < 0
        return LossTails(
            p_above=np.where(below, one.q_below, one.p_above),
            p_below=np.where(below, one.q_above, one.p_below),
            q_above=np.where(below, one.p_below, one.q_above),
            q_below=np.where(below, one.p_above, one.q_below),
            relative_error=one.relative_error,
        )

    # balls ------------------------------------------------------------------------------------------------------------

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [self.profile(exactly(epsilon), ACCURACY) for epsilon in epsilons]

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [log_delta_ball(self.profile, exactly(epsilon)) for epsilon in epsilons]

    def _epsilon_ball(self, delta: Fraction) -> arb:
        if delta in (0, 1):
            return self.one_sided._epsilon_balls([delta])[0]
        return epsilon_ball(self.profile, delta)

    def _beta_ball(self, alpha: Fraction) -> arb:
        if alpha in (0, 1):
            return arb(1 - alpha.numerator)
        return beta_between(lambda epsilon: self.profile(epsilon, ACCURACY), alpha, _FARTHEST)

    def _renyi_ball(self, order: Fraction) -> arb:
        remedy = "ask for delta, epsilon or beta"
        raise InvalidValue("order", str(order), "one of a loss whose moments are known", remedy)

    def _advantage_ball(self) -> arb:
        return self.profile(Fraction(0), ACCURACY)

    def __repr__(self) -> str:
        return f"ReplacedInBatch({self.one_sided!r})"


def replaced_in_batch(*, noise_multiplier: Exact, rate: Exact, steps: int = 1) -> PrivacyLoss:
    """The loss that dominates batches of fixed size drawn without replacement, under replace-one; exact for one step.

    Args:
        noise_multiplier: standard deviation of the noise in units of the bound on one record, > 0, exact.
        rate: b/n in (0, 1], exact.
        steps: their number T.

    Raises:
        InvalidValue: an argument out of range.

    >>> loss = replaced_in_batch(noise_multiplier=1, rate="0.01")
    >>> loss.certified_delta("0.1")
    Enclosure([0.0026080332260316543, 0.0026080332260316549])
    """
    s, q = check_positive(noise_multiplier, "noise_multiplier"), exactly(rate, name="rate")
    if not 0 < q <= 1:
        raise InvalidValue("rate", rate, "in (0, 1]", "give the size of a batch over the number of records")
    number = check_whole(steps, "steps", least=1, remedy="say how often a batch is drawn")
    if q == 1:
        return GaussianLoss.from_squared(4 * number / s**2)
    return repeated_in_batches(replaced_in_one_step(GaussianLoss(2 / s), q), number)


def replaced_in_one_step(inside: PrivacyLoss, rate: Fraction) -> ReplacedInBatch:
    """The pair whose profile is the amplified one, q delta(log(1 + (e^epsilon - 1)/q)), in both orders.

    Args:
        inside: the loss of two batches with the record or its replacement, and of one with it and one without it.
        rate: the probability q that a batch has the record, 0 < q < 1.
    """
    return ReplacedInBatch(SampledStep(inside, rate, Direction.REMOVE))


def repeated_in_batches(one: ReplacedInBatch, steps: int, *, halvings: int = HALVINGS) -> PrivacyLoss:
    """The composition of so many steps, on a lattice that is refined so often at most; the loss itself of one."""
    if steps == 1:
        return one
    _, last = lattice_range(one.tails, _FIRST_STEP, _TAIL)
    return BoundedLoss([(one, steps)], 2.0 ** math.ceil(math.log2(last * _FIRST_STEP / _POINTS)), halvings=halvings)
