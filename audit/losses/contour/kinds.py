"""The composition of losses of different kinds: a mixture of shifted profiles, or one contour for all of them.

**Mixture.** Where all parts but one have atoms, their profile is a sum (`dpverdict.audit.losses.contour.mixture`).

**Contour.** Where all parts have moments, and one of them a density, their product is inverted
(`dpverdict.audit.losses.contour.product`); mass of an infinite loss is kept out of it and added at the end. Where
moments are known in the other order only,

    delta(epsilon) = 1 - exp(epsilon) + exp(epsilon) delta~(-epsilon)

for the profile delta~ of that order; what cancels is made up for by more bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from typing import Final, Protocol, final

from flint import arb

from dpverdict.audit.losses.base import BallLoss, PrivacyLoss
from dpverdict.audit.losses.bounded import BoundedLoss, certified_lattice, largest_of
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.contour.integral import nearest
from dpverdict.audit.losses.contour.mixture import Mixture
from dpverdict.audit.losses.contour.moments import MomentFunction
from dpverdict.audit.losses.contour.product import GaussianAndLaplace, ProductContour
from dpverdict.audit.losses.curves import (
    ACCURACY,
    FARTHEST,
    beta_between,
    epsilon_by_bounds,
    estimated_epsilon,
    first_within,
    log_between,
    log_delta_ball,
    q_above_of_profile,
)
from dpverdict.audit.losses.domains import PartMoments
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.audit.losses.finite.pld import PldLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.balls import Exact, Real, ball, exactly, precision, refine
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.numerics.roots import as_fraction

_LEAST_ACCURACY: Final = 30
_TAIL_BITS: Final = 24
_BITS: Final = 128
_ATTEMPTS: Final = 8
_MOST_BITS: Final = 1000
_ORDERS: Final = (2, 4, 8, 16, 32, 62)
_FAR: Final = Fraction(64)  # where what is left of 128 bits still says something
_MOST_SHIFT_BITS: Final = 4000
_FAR_BITS: Final = 1200
_NO_DELTA: Final = Fraction(1, 10**12)  # beside that of an infinite loss, where the search for a level ends

Counted = Sequence[tuple[PrivacyLoss, int]]
Otherwise = Callable[[], Mixture | None]


class _Engine(Protocol):
    """The profile of a composition."""

    @property
    def infinite(self) -> arb:
        """Encloses P[L infinite]."""
        ...

    def profile(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon), to ``bits`` accurate bits; raises `PrecisionExhausted`."""
        ...

    def between(self, epsilon: Fraction) -> arb:
        """Encloses delta(epsilon), where ``profile`` does not reach."""
        ...

    def at_most(self, epsilon: Fraction) -> arb:
        """An upper bound on delta(epsilon) for epsilon >= 0."""
        ...

    def guess(self, delta: Fraction) -> Fraction | None:
        """About where delta(epsilon) is delta; None where no estimate is quick."""
        ...


@final
class ProductOfMoments:
    """The profile of a product of moments, in whichever order they are known.

    Args:
        moments: of all parts, of the order asked for or of the other one.
        infinite: P[L infinite] of the order asked for.
        other: Q[L = -infinity], which is the infinite mass of the other order.
        is_reversed: whether the moments are those of the other order.
    """

    __slots__ = ("_contour", "_is_reversed", "_other", "infinite")
    infinite: arb

    def __init__(
        self, moments: Sequence[tuple[PartMoments, int]], infinite: arb, other: arb, *, is_reversed: bool
    ) -> None:
        self._contour, self._is_reversed = ProductContour(moments), is_reversed
        self.infinite, self._other = infinite, other

    def is_cheap(self) -> bool:
        """Whether there is a contour for epsilon = 0."""
        return self._contour.is_cheap(0.0, _LEAST_ACCURACY)

    def profile(self, epsilon: Fraction, bits: int) -> arb:
        """From the contour; raises `PrecisionExhausted` where none reaches."""
        if not self._is_reversed:
            with precision(bits + _BITS):
                if self._is_next_to_nothing_infinite(epsilon):
                    return self._contour.value(epsilon, bits) + self.infinite
                return self._contour.value(epsilon, bits, absolute=bits + 4 - _log2(self.infinite)) + self.infinite
        wanted = bits + 8 + max(0, math.ceil(float(epsilon) / math.log(2)) if abs(epsilon) < _MOST_BITS else _MOST_BITS)
        for _ in range(_ATTEMPTS):
            if wanted > _MOST_BITS:
                break
            put = self._contour.value(-epsilon, bits, absolute=wanted)
            with precision(wanted + _BITS):
                growth = ball(epsilon).exp()
                value = 1 - growth + growth * (put + self._other)
            missing = bits - value.rel_accuracy_bits()
            if missing <= 0:
                return value
            wanted += max(min(missing, 2 * bits), 8)
        raise PrecisionExhausted("the integral", wanted, "ask for a smaller epsilon: this is far in the tail")

    def _is_next_to_nothing_infinite(self, epsilon: Fraction) -> bool:
        """Whether the mass of an infinite loss is 0, or seems to be less than the rest of the profile."""
        if self.infinite.is_zero():
            return True
        place = nearest(epsilon)
        return math.isfinite(place) and _log2(self.infinite) * math.log(2) < self._contour.log_size(place)

    def between(self, epsilon: Fraction) -> arb:
        """From 0 to an upper bound."""
        return arb(0).union(self.at_most(epsilon) if epsilon >= 0 else arb(1))

    def at_most(self, epsilon: Fraction) -> arb:
        """Chernoff's bound, or what a contour of few bits leaves."""
        with precision(_BITS):
            if not self._is_reversed:
                return (self._contour.at_most(epsilon) + self.infinite).upper().min(arb(1))
            with suppress(PrecisionExhausted):
                epsilon = min(epsilon, _FAR)
                put = self._contour.value(-epsilon, _LEAST_ACCURACY, absolute=_BITS)
                growth = ball(epsilon).exp()
                return (1 - growth + growth * (put + self._other)).upper().min(arb(1))
            return arb(1)

    def guess(self, delta: Fraction) -> Fraction | None:
        """That of the losses that are finite, in the order in which the moments are known."""
        with precision(_BITS):
            rest = delta - as_fraction(self.infinite.mid())
        return estimated_epsilon(self._contour.log_size, rest) if rest > 0 else None


def _log2(value: arb) -> int:
    return math.floor(float(value.log()) / math.log(2)) if value > 0 else 0


@final
class ProductLoss(BallLoss):
    """The privacy loss of a composition of several kinds, certified: `dpverdict.audit.losses.composition.compose`.

    ``certified_delta`` has a relative width of 2^-53, or 2^-30 where more would take long; where no contour reaches, it
    is between the mass of an infinite loss and an upper bound.

    Args:
        factors: the losses with the number of times each is composed.
        engine: their profile.
        otherwise: makes the mixture that is asked where no contour reaches, if there is one.
    """

    __slots__ = ("__dict__", "_engine", "_factors", "_otherwise")

    def __init__(self, factors: Counted, engine: _Engine, otherwise: Otherwise | None = None) -> None:
        self._factors, self._engine, self._otherwise = tuple(factors), engine, otherwise

    @property
    def factors(self) -> tuple[tuple[PrivacyLoss, int], ...]:
        """The losses, each with the number of times it is composed."""
        return self._factors

    @property
    def route(self) -> str:
        """How the curves are computed."""
        return "mixture of shifted profiles" if isinstance(self._engine, Mixture) else "certified contour"

    def explain(self) -> str:
        """The factors, and how the curves are computed."""
        count = sum(times for _, times in self._factors)
        value = self.certified_delta(0)
        return (
            f"{count} factors, {len(self._factors)} of them distinct. Route: {self.route}; "
            f"delta(0) is between {value.lower:.17g} and {value.upper:.17g}."
        )

    def reversed(self) -> PrivacyLoss:
        """The composition of the factors in the other order."""
        factors = [(factor.reversed(), count) for factor, count in self._factors]
        if isinstance(self._engine, Mixture):
            return ProductLoss(factors, self._engine.reversed())
        found = product_loss(factors, self._reversed_mixture)
        return PrivacyLoss.reversed(self) if found is None else found

    def _reversed_mixture(self) -> Mixture | None:
        return None if self._mixture is None else self._mixture.reversed()

    @cached_property
    def _mixture(self) -> Mixture | None:
        """Asked where the contour does not reach."""
        return None if self._otherwise is None else self._otherwise()

    def profile(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon), to ``bits`` accurate bits.

        Raises:
            PrecisionExhausted: no contour of moderate length reaches it.
        """
        try:
            return self._engine.profile(epsilon, bits)
        except PrecisionExhausted:
            if self._mixture is None:
                raise
            return self._mixture.profile(epsilon, bits)

    def q_above(self, level: Fraction, bits: int) -> arb:
        """The probability of a loss above the level under the second law, to 24 bits at most, fewer beside an atom."""
        return q_above_of_profile(self.profile, level, min(bits, _TAIL_BITS))

    def p_above(self, level: Fraction, bits: int) -> arb:
        """The probability of a loss above the level under the first law, as ``q_above``."""
        q_above, own = self.q_above(level, bits), self.profile(level, 2 * _TAIL_BITS)
        with precision(_BITS):
            return own + ball(level).exp() * q_above

    def delta_at_most(self, epsilon: Fraction) -> arb:
        """An upper bound on delta(epsilon) for epsilon >= 0."""
        return self._engine.at_most(epsilon)

    # balls ------------------------------------------------------------------------------------------------------------

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [self._close(exactly(epsilon)) for epsilon in epsilons]

    def _close(self, epsilon: Fraction) -> arb:
        """As `_enclosed`, and closer far in the tail, where that is wide."""
        found = self._enclosed(epsilon)
        lattice = None if found.rel_accuracy_bits() >= _LEAST_ACCURACY else self._lattice
        return found if lattice is None else lattice.closer(epsilon, found)

    def _enclosed(self, epsilon: Fraction) -> arb:
        """A ball that contains delta(epsilon)."""
        with precision(_BITS):
            largest = self._largest()
            if largest is not None and largest <= ball(epsilon):
                return self._engine.infinite
        for bits in (ACCURACY, _LEAST_ACCURACY):
            with suppress(PrecisionExhausted):
                return self.profile(epsilon, bits)
        lattice = None if isinstance(self._engine, Mixture) else self._lattice
        with precision(_BITS):
            known = self._engine.between(epsilon)
            if lattice is not None:
                with suppress(InvalidValue):  # it gets too long
                    known = known.intersection(lattice.profile(epsilon, _LEAST_ACCURACY))
            if epsilon > 0:
                known = known.intersection(arb(0).union(self._by_divergences(epsilon)))
            least = self._engine.infinite.lower().max(known.lower())
            if epsilon < 0:
                least = least.max(-ball(epsilon).expm1())
            return least.max(arb(0)).union(known.upper().min(arb(1)))

    def _by_divergences(self, epsilon: Fraction) -> arb:
        """The least exp((a - 1)(D_a - epsilon)) of some orders a whose divergence is known; 1 where none is."""
        best = arb(1)
        for order in _ORDERS if self._engine.infinite.is_zero() else ():
            with suppress(InvalidValue, PrecisionExhausted):
                bound = ((order - 1) * (self._renyi_ball(Fraction(order)) - ball(epsilon))).exp().upper()
                best = best.min(bound) if bound.is_finite() else best
        return best

    @cached_property
    def _lattice(self) -> BoundedLoss | None:
        """The factors between laws on a lattice, where a contour does not reach; None where none is certified."""
        return certified_lattice(self._factors)

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [self._log_delta_ball(exactly(epsilon)) for epsilon in epsilons]

    def _log_delta_ball(self, epsilon: Fraction) -> arb:
        """log delta(epsilon), or between what is known of it; near 1 by 1 - delta = exp(epsilon)(1 - delta'(-epsilon)).

        delta' is the profile of the other order, which is near 0 there.
        """
        if epsilon < 0:
            with suppress(InvalidValue):  # not known in the other order
                other = self.reversed()
                with precision(_BITS):
                    most = other.delta_at_most(-epsilon) if isinstance(other, ProductLoss) else arb(1)
                    value = (ball(epsilon).exp() * (arb(0).union(most) - 1)).log1p()
                if value.rel_accuracy_bits() >= ACCURACY:
                    return value
        try:
            return log_delta_ball(self.profile, epsilon)
        except PrecisionExhausted:
            found = self._close(epsilon)
            with precision(_BITS):
                return log_between(found.lower(), found.upper())

    def _epsilon_ball(self, delta: Fraction) -> arb:
        return self._epsilon_to(delta, ACCURACY)

    def _epsilon_to(self, delta: Fraction, bits: int) -> arb:
        if delta == 1:
            return arb(0)
        with precision(_BITS):
            level, infinite = ball(delta), self._engine.infinite
            if level < infinite:
                return arb("inf")
        if not level > infinite:
            return self._at_infinite_mass(delta)
        guess = self._engine.guess(delta)
        return epsilon_by_bounds(self.profile, self._enclosed, self._engine.at_most, delta, guess=guess, accuracy=bits)

    def _at_infinite_mass(self, delta: Fraction) -> arb:
        """epsilon at delta = P[L infinite], where it is the largest finite loss, or too close to it to tell."""
        largest, exact = self._largest(), self._infinite_exactly()
        if exact is not None and delta < exact:
            return arb("inf")
        if exact == delta and largest is not None:
            return largest
        low, high = Fraction(0), Fraction(1)
        with precision(_BITS):
            while high < FARTHEST and self._enclosed(high) > ball(delta):
                low, high = high, 2 * high
            return ball(low).union(arb("inf") if exact is None or largest is None else largest)

    def _largest(self) -> arb | None:
        """The largest finite loss, infinite where there is none; None where it is not known."""
        with precision(_BITS):
            return largest_of(self._factors)

    def _infinite_exactly(self) -> Fraction | None:
        """P[L infinite], if it is rational and known: 0, or that of finite factors beside Gaussian and Laplace ones."""
        if self._engine.infinite.is_zero():
            return Fraction(0)
        finite = Fraction(1)
        for factor, count in self._factors:
            if isinstance(factor, FiniteLoss):
                own = factor.infinite_mass_exactly()
                if own is None:
                    return None
                finite *= (1 - own) ** count
            elif not isinstance(factor, GaussianLoss | LaplaceLoss):
                return None
        return 1 - finite

    def _beta_ball(self, alpha: Fraction) -> arb:
        if alpha == 1:
            return arb(0)
        if alpha == 0:
            with precision(_BITS):
                return 1 - self._engine.infinite
        with precision(_BITS):
            rest = as_fraction(self._engine.infinite.upper()) + _NO_DELTA
        return beta_between(self._enclosed, alpha, first_within(self._engine.at_most, rest))

    def _renyi_ball(self, order: Fraction) -> arb:
        parts = [(factor._renyi_balls([order])[0], count) for factor, count in self._factors]
        return refine(lambda: sum((part * count for part, count in parts), start=arb(0)), bits=53, start=96)

    def _advantage_ball(self) -> arb:
        return self._enclosed(Fraction(0))

    def __repr__(self) -> str:
        shown = ", ".join(f"{factor!r} x {count}" for factor, count in self._factors[:4])
        rest = ", ..." if len(self._factors) > 4 else ""
        return f"ProductLoss({shown}{rest})"


def product_loss(factors: Counted, otherwise: Otherwise | None = None) -> ProductLoss | None:
    """The product by one contour, in either order; None where no contour of moderate length is known.

    ``otherwise`` makes the mixture that is asked where the contour does not reach.
    """
    for is_reversed in (False, True):
        moments: list[tuple[PartMoments, int]] = []
        try:
            for factor, count in factors:
                one = _moments_of(factor.reversed() if is_reversed else factor)
                if one is None:
                    break
                moments.append((one, count))
        except InvalidValue:  # not known in the other order
            break
        if len(moments) < len(factors):
            continue
        infinite, other = _infinite(factors), _infinite(factors, is_reversed=True)
        engine = ProductOfMoments(moments, infinite, other, is_reversed=is_reversed)
        if engine.is_cheap():
            return ProductLoss(factors, engine, otherwise)
    return None


def _moments_of(factor: PrivacyLoss) -> PartMoments | None:
    if isinstance(factor, GaussianLoss):
        return GaussianAndLaplace(MomentFunction(factor.mu_squared, ()))
    if isinstance(factor, LaplaceLoss):
        return GaussianAndLaplace(MomentFunction(Real.of(0), factor.groups))
    return factor.moments()


def _infinite(factors: Counted, *, is_reversed: bool = False) -> arb:
    """The mass of an infinite loss of the product: of laws that are given, others have none."""
    with precision(_MOST_BITS + _BITS):
        finite = arb(1)
        for factor, count in factors:
            if isinstance(factor, FiniteLoss):
                law = factor.reversed() if is_reversed else factor
                finite *= (1 - law.infinite_mass(_MOST_BITS)) ** count
            elif isinstance(factor, PldLoss) and not is_reversed:  # which is known in one order
                finite *= (1 - arb(factor.law.infinity_mass)) ** count
        return arb(0) if finite == 1 else 1 - finite
