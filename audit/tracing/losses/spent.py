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
from dpverdict.audit.losses.bounded import BoundedLoss, coarse_lattice
from dpverdict.audit.losses.closed_form import GaussianLoss, RandomisedResponseLoss
from dpverdict.audit.losses.composition import compose, compose_counted
from dpverdict.audit.losses.contour.kinds import ProductLoss
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
        found = self.of_all_records()
        for _, one in self.sampled:
            found = found.plus(one)
        return found

    def within(self, together: Fraction | None, gaussian: Fraction | None) -> Spent:
        """The same, where all that is not Gaussian, and all that is, is known to be within these."""
        least = self.gaussian if gaussian is None else min(self.gaussian, gaussian)
        return dataclasses.replace(self, together=together, gaussian=least, jointly=True)

    def forms(self) -> list[Spent]:
        """What is spent each of which dominates it: by all draws, and by the bound on their sum."""
        plain = dataclasses.replace(self, together=None)
        whole = dataclasses.replace(plain, gaussian=Fraction(0)).epsilon()
        if self.together is None or whole is None or self.together >= whole:
            return [plain]
        return [Spent(gaussian=self.gaussian, pure=self.together), plain]

    def loss(self) -> PrivacyLoss:
        """The privacy loss that dominates it."""
        first = self.forms()[0]
        return _composition(first) or first.by_largest_losses()

    def composition(self) -> PrivacyLoss | None:
        """The composition of all parts; None where it is not known, or its bounds take minutes."""
        return _composition(self)

    def of_all_records(self) -> Spent:
        """What is spent by releases of all records, of no sample."""
        return dataclasses.replace(self, sampled=())

    def parts(self) -> list[tuple[PrivacyLoss, int]]:
        """The losses that it is composed of, each with how often it occurs."""
        parts: list[tuple[PrivacyLoss, int]] = []
        if self.laplace:
            parts.append((LaplaceLoss.grouped(self.laplace), 1))
        if self.gaussian:
            parts.append((GaussianLoss.from_squared(self.gaussian), 1))
        pure = self.pure
        for (rate, move), times in self.geometric:
            if move == 1:
                parts.append((RandomisedResponseLoss(times, rate), 1))
            elif move <= _LONGEST_MOVE:
                parts.append((_geometric(rate, move), times))
            else:
                pure += rate * move * times
        if pure:
            parts.append((RandomisedResponseLoss(1, pure), 1))
        parts += [(BoundedRangeLoss(one), times) for one, times in Counter(self.ranges).items()]
        return parts + [(poisson_sampled(one.loss(), rate), times) for (rate, one), times in self._samples.items()]

    @property
    def _samples(self) -> Counter[tuple[Fraction, Spent]]:
        return Counter(self.sampled)

    def _composed(self) -> PrivacyLoss | None:
        composed = (isinstance(one.loss(), BoundedLoss | ProductLoss) for _, one in self.sampled)  # without tails
        if len(self._samples) > MOST_SAMPLES or any(composed):  # each takes seconds
            return None
        parts = self.of_all_records().parts()
        parts += [(poisson_sampled(one.loss(), rate, times), 1) for (rate, one), times in self._samples.items()]
        found = parts[0][0] if len(parts) == 1 and parts[0][1] == 1 else compose_counted(parts)
        return None if (self.sampled and _takes_minutes(found)) or not found.is_certified else found

    def on_lattice(self, coarser: int) -> PrivacyLoss | None:
        """The loss on one lattice, whose step is so many times the usual one; None where there is none."""
        parts = self.parts()
        remove = [(loss.remove if isinstance(loss, AddRemoveLoss) else loss, times) for loss, times in parts]
        add = [(loss.add if isinstance(loss, AddRemoveLoss) else loss.reversed(), times) for loss, times in parts]
        orders = [coarse_lattice(one, coarser) for one in (remove, add)]
        return None if orders[0] is None or orders[1] is None else AddRemoveLoss(remove=orders[0], add=orders[1])

    def by_largest_losses(self) -> PrivacyLoss:
        """A loss that is quick to compute: each sample counts by its largest loss, or as if every record were in it."""
        found = self.of_all_records()
        steps: list[PrivacyLoss] = []
        for (rate, one), times in self._samples.items():
            inner = one.epsilon()
            if inner is None:
                for _ in range(times):
                    found = found.plus(one)
            else:
                steps.append(RandomisedResponseLoss(times, _sampled_epsilon(rate, inner)))
        whole = found.composition()
        if whole is None:  # that of a bound on the largest loss of all that is not Gaussian
            pure = dataclasses.replace(found, gaussian=Fraction(0)).epsilon()
            whole = Spent(gaussian=found.gaussian, pure=pure or Fraction(0)).composition()
            assert whole is not None
        return compose(whole, *steps)

    def by_largest_loss(self) -> PrivacyLoss | None:
        """The loss of randomised response with its largest loss, which dominates it; None where that is not known."""
        largest = self.epsilon()
        return None if largest is None else RandomisedResponseLoss(1, largest)

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
def _composition(spent: Spent) -> PrivacyLoss | None:
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
