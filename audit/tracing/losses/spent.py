"""What one record spends, and the privacy loss that dominates it."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from flint import arb, fmpq

from dpverdict.audit.losses.base import AddRemoveLoss, PrivacyLoss
from dpverdict.audit.losses.bounded import BoundedLoss
from dpverdict.audit.losses.closed_form import GaussianLoss, RandomisedResponseLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.finite.bounded_range import BoundedRangeLoss
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.balls import precision
from dpverdict.numerics.exponential_sums import ExponentialSum

_LONGEST_MOVE: Final = 256
MOST_ON_A_LATTICE: Final = 2
MOST_SAMPLES: Final = 3
"""Different samples, or mechanisms on samples, of which the losses are composed."""


@final
@dataclass(frozen=True, slots=True)
class Spent:
    """What a record spends in one alternative: how far each draw is moved, in units of its scale.

    Attributes:
        laplace: the moves of Laplace draws, with how often each occurs, in order.
        gaussian: the sum of the squares of the moves of Gaussian draws.
        geometric: whole moves of two-sided geometric draws with their rate, and how often each occurs.
        pure: a bound on the largest loss of choices, and of what is bounded by a norm.
        ranges: the ranges of choices by the exponential mechanism.
        together: a bound on the largest loss of all that is not Gaussian; None where there is none but their sum.
        jointly: whether some part is a bound on all releases together.
        sampled: of releases of a Poisson sample of the records, the rate, and what a record in the sample spends.
    """

    laplace: tuple[tuple[Fraction, int], ...] = ()
    gaussian: Fraction = Fraction(0)
    geometric: tuple[tuple[tuple[Fraction, int], int], ...] = ()
    pure: Fraction = Fraction(0)
    ranges: tuple[Fraction, ...] = ()
    together: Fraction | None = None
    jointly: bool = False
    sampled: tuple[tuple[Fraction, Spent], ...] = ()

    def plus(self, other: Spent) -> Spent:
        """Both."""
        return Spent(
            _merged(self.laplace, other.laplace),
            self.gaussian + other.gaussian,
            _merged(self.geometric, other.geometric),
            self.pure + other.pure,
            tuple(sorted(self.ranges + other.ranges)),
            sampled=self.sampled + other.sampled,
        )

    def by_all_records(self) -> Spent:
        """The same without any gain by samples: a bound for every record, in the sample or not."""
        found = dataclasses.replace(self, sampled=())
        for _, one in self.sampled:
            found = found.plus(one)
        return found

    def within(self, together: Fraction | None, gaussian: Fraction | None) -> Spent:
        """The same, where all that is not Gaussian, and all that is, is known to be within these."""
        least = self.gaussian if gaussian is None else min(self.gaussian, gaussian)
        return dataclasses.replace(self, together=together, gaussian=least, jointly=True)

    def losses(self) -> list[PrivacyLoss]:
        """Losses each of which dominates it: of all draws, and of the bound on their sum."""
        plain = dataclasses.replace(self, together=None)
        largest = self.epsilon()
        if self.sampled and largest is not None:
            return [RandomisedResponseLoss(1, largest), plain.loss()]
        whole = dataclasses.replace(plain, gaussian=Fraction(0)).epsilon()
        if self.together is None or whole is None or self.together >= whole:
            return [plain.loss()]
        return [Spent(gaussian=self.gaussian, pure=self.together).loss(), plain.loss()]

    def loss(self) -> PrivacyLoss:
        """The privacy loss that dominates it."""
        return _loss(self)

    def _composed(self) -> PrivacyLoss:
        parts: list[Any] = []
        if self.together is not None:
            return self.losses()[0]
        if self.laplace:
            parts.append(LaplaceLoss.grouped(self.laplace))
        if self.gaussian:
            parts.append(GaussianLoss.from_squared(self.gaussian))
        pure = self.pure
        for (rate, move), times in self.geometric:
            if move == 1:
                parts.append(RandomisedResponseLoss(times, rate))
            elif move <= _LONGEST_MOVE:
                parts += [_geometric(rate, move)] * times
            else:
                pure += rate * move * times
        if pure:
            parts.append(RandomisedResponseLoss(1, pure))
        parts += [BoundedRangeLoss(one) for one in self.ranges]
        counted = Counter(self.sampled)
        if len(counted) > MOST_SAMPLES:  # each takes seconds; a record in all samples spends more
            return self.by_all_records().loss()
        parts += [poisson_sampled(one.loss(), rate, times) for (rate, one), times in counted.items()]
        found: PrivacyLoss = parts[0] if len(parts) == 1 else compose(*parts)
        if self.sampled and _takes_minutes(found):
            return self._by_largest_losses()
        epsilon = self.epsilon()
        if not found.is_certified and epsilon is not None:
            return RandomisedResponseLoss(1, epsilon)  # it dominates every pair whose largest loss is epsilon
        return found

    def _by_largest_losses(self) -> PrivacyLoss:
        """A loss that is quick to compute: each sample counts by its largest loss, or as if every record were in it."""
        found = dataclasses.replace(self, sampled=())
        steps: list[PrivacyLoss] = []
        for (rate, one), times in Counter(self.sampled).items():
            inner = one.epsilon()
            if inner is None:
                for _ in range(times):
                    found = found.plus(one)
            else:
                steps.append(RandomisedResponseLoss(times, _sampled_epsilon(rate, inner)))
        return compose(*([found.loss()] if found != Spent() else []), *steps)

    def epsilon(self) -> Fraction | None:
        """The largest loss, or a bound on it; None where Gaussian noise moves."""
        inner = [(rate, one.epsilon()) for rate, one in self.sampled]
        if self.gaussian or any(one is None for _, one in inner):
            return None
        total = sum((move * times for move, times in self.laplace), self.pure + sum(self.ranges, Fraction(0)))
        total += sum((rate * move * times for (rate, move), times in self.geometric), Fraction(0))
        total += sum((_sampled_epsilon(rate, one or Fraction(0)) for rate, one in inner), Fraction(0))
        return total if self.together is None else min(total, self.together)

    def at_most(self, other: Spent) -> bool:
        """Whether the other one dominates it, move by move."""
        if self.gaussian > other.gaussian or self.pure > other.pure or self.geometric != other.geometric:
            return False
        if self.ranges != other.ranges or self.together != other.together or self.sampled != other.sampled:
            return False
        ours, theirs = _falling(self.laplace), _falling(other.laplace)
        return len(ours) <= len(theirs) and all(a <= b for a, b in zip(ours, theirs, strict=False))


@functools.lru_cache(maxsize=64)
def _loss(spent: Spent) -> PrivacyLoss:
    """A loss keeps what was computed of it, which for compositions with a sample takes seconds."""
    return spent._composed()  # pyright: ignore[reportPrivateUsage]


def _falling(moves: Sequence[tuple[Fraction, int]]) -> list[Fraction]:
    return sorted((move for move, times in moves for _ in range(times)), reverse=True)


def _merged(one: Sequence[tuple[Any, int]], other: Sequence[tuple[Any, int]]) -> tuple[tuple[Any, int], ...]:
    counts: Counter[Any] = Counter(dict(one))
    for key, times in other:
        counts[key] += times
    return tuple(sorted(counts.items()))


def _geometric(rate: Fraction, move: int) -> FiniteLoss:
    """Two-sided geometric noise against itself moved by a whole number."""
    inner = [ExponentialSum.exp(-rate * x) - ExponentialSum.exp(-rate * (x + 1)) for x in range(1, move)]
    p = [ExponentialSum.of(1), *inner, ExponentialSum.exp(-rate * move)]
    return FiniteLoss.of_weights(p, p[::-1])


def _takes_minutes(loss: PrivacyLoss) -> bool:
    """Whether a loss is composed on a lattice, of more than two parts."""
    for order in (loss.remove, loss.add) if isinstance(loss, AddRemoveLoss) else (loss,):
        if isinstance(order, BoundedLoss) and sum(times for _, times in order.factors) > MOST_ON_A_LATTICE:
            return True
    return False


def _sampled_epsilon(rate: Fraction, epsilon: Fraction) -> Fraction:
    """log(1 + q (exp(epsilon) - 1)), rounded up: the largest loss of a sample, where the mechanism has epsilon."""
    with precision(96):
        exact = (arb(fmpq(rate.numerator, rate.denominator))
                 * arb(fmpq(epsilon.numerator, epsilon.denominator)).expm1()).log1p()  # fmt: skip
        upper = float(exact.upper())
    return min(epsilon, Fraction(upper) * (1 + Fraction(1, 2**50)))
