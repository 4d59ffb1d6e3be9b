"""Random allocation (balls in bins): each record takes part in one of T steps, drawn independently and uniformly.

With Gaussian noise of standard deviation s, P = (1/T) sum over t of N(e_t, s^2 I) against Q = N(0, s^2 I) dominates one
epoch. Under Q the likelihood ratio is R = (X_1 + ... + X_T)/T, the X_t independent and lognormal of mean 1; of E
epochs, each drawn anew, it is the product R_1 ... R_E. With the put p(a) = E(1 - R_1 ... R_E/a)_+,

    add:    delta(epsilon) = p(exp(-epsilon)),
    remove: delta(epsilon) = E(R_1 ... R_E - e^epsilon)_+ = 1 - e^epsilon + e^epsilon p(exp(epsilon)).

The loss of the order add is -log(R_1 ... R_E) under Q, with the moment generating function (E R^-t)^E, which is
computed on vertical lines (`dpverdict.audit.sampling.allocation_line`) and inverted along one
(`dpverdict.audit.losses.contour.product`): the numbers of steps and of epochs are only exponents. What is lost where
the order remove is a small difference is made up for by more bits.

Far out, where that would be too many, the profile is between 0 and what moments of R tell
(`dpverdict.audit.sampling.allocation_moments`), or between its value at a smaller epsilon and 0.

A record that takes part in k of T steps, all subsets of k steps being equally likely, tells no more than k epochs of
floor(T/k) steps each.

Reference: Chua et al. 2025 (arXiv:2412.16802); Feldman and Shenfeld 2025 (arXiv:2502.08202): the dominating pair, and
the reduction of k of T steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from typing import Final, final

from flint import arb

from dpverdict.audit.losses.base import (
    NORMAL_VARIATES,
    REAL_ARITHMETIC,
    AddRemoveLoss,
    BallLoss,
    LikelihoodRatio,
    PrivacyLoss,
)
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.contour.product import ProductContour
from dpverdict.audit.losses.curves import (
    ACCURACY,
    beta_between,
    epsilon_by_bounds,
    estimated_epsilon,
    first_within,
    log_delta_ball,
    q_above_of_profile,
)
from dpverdict.audit.losses.domains import Direction, PartMoments
from dpverdict.audit.losses.lattice.law import LatticePair
from dpverdict.audit.sampling.allocation_lattice import allocation_lattice
from dpverdict.audit.sampling.allocation_line import allocation_moments
from dpverdict.audit.sampling.allocation_moments import delta_at_most, integer_moment
from dpverdict.audit.sampling.step import noisy_sums
from dpverdict.balls import Exact, ball, exactly, precision
from dpverdict.checks import check_positive, check_whole
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.numerics.text import exact_text

_LEAST_ACCURACY: Final = 30
_ATTEMPTS: Final = 8
_MOST_BITS: Final = 400  # of a put: some seconds
_STEERING_CELLS: Final = 32  # of the lattice that tells how large the loss is
_TAIL_BITS: Final = 24
_BITS: Final = 128
_NO_DELTA: Final = Fraction(1, 10**12)  # the profile of an epsilon where the search for a level ends


@final
class AllocationLoss(BallLoss):
    """The privacy loss of epochs of random allocation with Gaussian noise, in one order; see `random_allocation`.

    ``certified_delta`` has a relative width of 2^-53, or 2^-30 where more would take long; far in the tail it is
    between 0 and an upper bound.

    Args:
        noise_multiplier: s > 0.
        steps: T >= 2 of an epoch.
        order: remove for P against Q, add for Q against P.
        epochs: E >= 1.
    """

    __slots__ = ("epochs", "noise_multiplier", "order", "steps")
    noise_multiplier: Fraction
    steps: int
    order: Direction
    epochs: int

    def __init__(self, noise_multiplier: Fraction, steps: int, order: Direction, epochs: int = 1) -> None:
        self.noise_multiplier, self.steps, self.order, self.epochs = noise_multiplier, steps, order, epochs

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Real arithmetic, and exact normal variates."""
        return (REAL_ARITHMETIC, NORMAL_VARIATES)

    @property
    def exact_key(self) -> tuple[object, ...] | None:
        """The parameters."""
        return (self.noise_multiplier, self.steps, self.order, self.epochs)

    @property
    def factors(self) -> tuple[tuple[PrivacyLoss, int], ...]:
        """The loss of one epoch, and the number of epochs."""
        one = self if self.epochs == 1 else AllocationLoss(self.noise_multiplier, self.steps, self.order)
        return ((one, self.epochs),)

    def reversed(self) -> AllocationLoss:
        """The loss in the other order."""
        return AllocationLoss(self.noise_multiplier, self.steps, self.order.other, self.epochs)

    def repeated(self, count: int) -> AllocationLoss:
        """The loss of so many times as many epochs."""
        return AllocationLoss(self.noise_multiplier, self.steps, self.order, self.epochs * count)

    def moments(self) -> PartMoments | None:
        """E_Q[R^-t] of one epoch in the order add; of the other order only whole orders are known."""
        if self.order is Direction.REMOVE or self.epochs > 1:
            return None
        return allocation_moments(self.noise_multiplier, self.steps)

    # the profile ------------------------------------------------------------------------------------------------------

    @property
    def _contour(self) -> ProductContour:
        return _contour(self.noise_multiplier, self.steps, self.epochs)

    def profile(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon), to ``bits`` accurate bits.

        Raises:
            PrecisionExhausted: the contour would be too long, or too many bits would cancel.
        """
        if self.order is Direction.ADD:
            return self._contour.value(epsilon, bits)
        wanted = bits + 8 + self._cancelled(epsilon)
        for _ in range(_ATTEMPTS):
            if wanted > _MOST_BITS:
                break
            put = self._contour.value(-epsilon, bits, absolute=wanted)
            with precision(wanted + 64):
                growth = ball(epsilon).exp()
                value = 1 - growth + growth * put
            missing = bits - value.rel_accuracy_bits()
            if missing <= 0:
                return value
            wanted += max(min(missing, 2 * bits), 8)
        raise PrecisionExhausted("the integral", wanted, "ask for a smaller epsilon: this is far in the tail")

    def _cancelled(self, epsilon: Fraction) -> int:
        """At least so many bits of the put are lost by the order remove."""
        if epsilon <= 0:
            return 0
        with precision(_BITS):
            lost = float((ball(epsilon) - self.delta_at_most(epsilon).log()) / arb(2).log())
        return max(0, math.floor(lost)) if lost < _MOST_BITS else _MOST_BITS + 1

    def q_above(self, level: Fraction, bits: int) -> arb:
        """The probability of a loss above the level under the second law, to 24 bits at most: more take long."""
        return q_above_of_profile(self.profile, level, min(bits, _TAIL_BITS))

    def p_above(self, level: Fraction, bits: int) -> arb:
        """The probability of a loss above the level under the first law, as ``q_above``."""
        q_above, own = self.q_above(level, bits), self.profile(level, 2 * _TAIL_BITS)
        with precision(2 * ACCURACY):
            return own + ball(level).exp() * q_above

    def delta_at_most(self, epsilon: Fraction) -> arb:
        """An upper bound on delta(epsilon) for epsilon >= 0, from moments: much faster.

        (R - a)_+ <= R^2/(4 a), (1 - a R)_+ <= 1/(4 a R), and E R^2 and E 1/R are at most exp(1/s^2), by convexity.
        """
        with precision(_BITS):
            far = (self.epochs / ball(self.noise_multiplier) ** 2 - ball(epsilon)).exp() / 4
        if far < arb(2) ** -1100:
            return far.upper()
        if self.order is Direction.REMOVE:
            known = delta_at_most(self.noise_multiplier, self.steps, self.epochs, epsilon, self.order)
            return known.min(far.upper()).min(arb(1))
        known = arb(1)
        with suppress(PrecisionExhausted):  # of next to no noise
            known = self._contour.at_most(epsilon)
        return known.min(far.upper()).min(arb(1))

    # balls ------------------------------------------------------------------------------------------------------------

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [self._enclosed(exactly(epsilon)) for epsilon in epsilons]

    def _enclosed(self, epsilon: Fraction) -> arb:
        """A ball that contains delta(epsilon): less accurate where that would take long; else, between bounds."""
        for bits in (ACCURACY, _LEAST_ACCURACY):
            with suppress(PrecisionExhausted):
                return self.profile(epsilon, bits)
        with precision(_BITS):
            if epsilon < 0:  # delta(-e) = 1 - exp(-e) + exp(-e) times that of the other order at e
                other = self.reversed()._enclosed(-epsilon)
                return -ball(epsilon).expm1() + ball(epsilon).exp() * other
            return arb(0).union(self.delta_at_most(epsilon).min(arb(1)))

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [log_delta_ball(self.profile, exactly(epsilon)) for epsilon in epsilons]

    def _epsilon_ball(self, delta: Fraction) -> arb:
        if delta in (0, 1):
            return arb("inf") if delta == 0 else arb(0)
        guess = estimated_epsilon(self._contour.log_size, delta)
        return epsilon_by_bounds(self.profile, self._enclosed, self.delta_at_most, delta, guess=guess)

    def _beta_ball(self, alpha: Fraction) -> arb:
        if alpha in (0, 1):
            return arb(1 - alpha.numerator)
        return beta_between(self._enclosed, alpha, first_within(self.delta_at_most, _NO_DELTA))

    def _renyi_ball(self, order: Fraction) -> arb:
        with precision(_BITS):
            if self.order is Direction.ADD and order > 1:
                t = ball(order) - 1
                return allocation_moments(self.noise_multiplier, self.steps).at(t).log() * self.epochs / t
            if self.order is Direction.REMOVE and order.denominator == 1:
                moment = integer_moment(self.noise_multiplier, self.steps, int(order))
                if moment is not None:
                    return moment.log() * self.epochs / (int(order) - 1)
            if self.order is Direction.REMOVE and order > 1 and (between := self._log_moment(order)) is not None:
                return between * self.epochs / (ball(order) - 1)
        remedy = "ask for an order from 1 to 62, or for delta, epsilon or beta"
        raise InvalidValue("order", str(order), "one of which the divergence is known", remedy)

    def _log_moment(self, order: Fraction) -> arb | None:
        """log E R^order of one epoch for an order > 1 between whole ones: below its chord, and above those beside it.

        None above the orders that are known.
        """
        n = int(order)
        logarithms: list[arb] = []
        for k in range(n - 1, n + 3):
            moment = arb(1) if k < 2 else integer_moment(self.noise_multiplier, self.steps, k)
            if moment is None:
                return None
            logarithms.append(moment.log())
        before, low, high, after = logarithms
        part = ball(order) - n
        least = (low + part * (low - before)).max(high - (1 - part) * (after - high))
        return least.union(low + part * (high - low))

    def _advantage_ball(self) -> arb:
        return self._enclosed(Fraction(0))

    # on a lattice -----------------------------------------------------------------------------------------------------

    def spread(self) -> float:
        """That of the law of one epoch on a coarse lattice."""
        s = float(self.noise_multiplier)
        variance = math.expm1(min(1 / s**2, 700.0)) / self.steps
        size = min(math.sqrt(math.log1p(variance)), 1 / s)
        interval = 2.0 ** math.floor(math.log2(size / _STEERING_CELLS))
        return allocation_lattice(self.noise_multiplier, self.steps, interval).spread()

    def lattice(self, interval: float) -> LatticePair:
        """The two laws of `dpverdict.audit.sampling.allocation_lattice`.

        Raises:
            InvalidValue: of more than one epoch; compose those of one.
        """
        if self.epochs > 1:
            remedy = "take the loss of one epoch, and compose its distributions"
            raise InvalidValue("epochs", self.epochs, "1 for a distribution on a lattice", remedy)
        return allocation_lattice(self.noise_multiplier, self.steps, interval).pair(self.order)

    def __repr__(self) -> str:
        many = "" if self.epochs == 1 else f", epochs={self.epochs}"
        return f"AllocationLoss({exact_text(self.noise_multiplier)!r}, {self.steps}, {self.order}{many})"


@lru_cache(maxsize=16)
def _contour(noise_multiplier: Fraction, steps: int, epochs: int) -> ProductContour:
    """The contours of both orders, which are kept."""
    return ProductContour([(allocation_moments(noise_multiplier, steps), epochs)])


def random_allocation(*, noise_multiplier: Exact, steps: int, epochs: int = 1) -> AddRemoveLoss:
    """The privacy loss of DP-SGD where each record takes part in one step of T, drawn uniformly (balls in bins).

    The curves are certified, for any number of epochs, each drawn anew: a value takes 0.1 to some seconds. Relation:
    add-or-remove-one, or zero-out. Shuffled batches of fixed size are another sampling, see `shuffled_batches`.

    A record that takes part in k of T steps of an epoch, all subsets being equally likely, tells no more than k epochs
    of floor(T/k) steps (Feldman and Shenfeld 2025): ``random_allocation(steps=T // k, epochs=k)`` bounds it from above.

    Args:
        noise_multiplier: standard deviation of the noise in units of the clipping norm, > 0, at its exact value.
        steps: the number of steps T of an epoch; 1 is the Gaussian mechanism.
        epochs: how often the record is allocated, independently.

    Raises:
        InvalidValue: an argument out of range.

    >>> loss = random_allocation(noise_multiplier=1, steps=10)
    >>> loss.remove.certified_delta(1)
    Enclosure([0.0027828689991815673, 0.0027828689991815678])
    """
    s = check_positive(noise_multiplier, "noise_multiplier")
    number = check_whole(steps, "steps", least=1, remedy="say how many steps an epoch has")
    times = check_whole(epochs, "epochs", least=1, remedy="say how often each record takes part")
    formula = f"sum over {times} epochs of log of the mean over {number} batches of exp((2 y_t - 1)/(2 s^2))"
    ratio = LikelihoodRatio(formula, noisy_sums(s))
    if number == 1:
        one: PrivacyLoss = GaussianLoss.from_squared(times / s**2)
        return AddRemoveLoss(remove=one, add=one, ratio=ratio)
    remove, add = (AllocationLoss(s, number, order, times) for order in (Direction.REMOVE, Direction.ADD))
    return AddRemoveLoss(remove=remove, add=add, ratio=ratio)
