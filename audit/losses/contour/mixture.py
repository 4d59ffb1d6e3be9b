"""The profile of a mixture: losses on atoms, composed with one other loss whose profile is known.

Let the first have the masses p_i of the losses l_i and p of an infinite loss, and the other one the profile delta'.
Then

    delta(epsilon) = p + sum over i of p_i delta'(epsilon - l_i).

The shifted epsilons are irrational: delta' falls by at most r from x to x + r, because its slope is at least -1. So a
kink of delta' at a shifted epsilon costs no accuracy. Of discrete Gaussian noise next to all atoms are taken; the
others have at most their mass of the profile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property, partial
from typing import Final, TypeAlias, final

from flint import arb, ctx

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.bounded import BoundedLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.curves import FARTHEST
from dpverdict.audit.losses.discrete_gaussian.atoms import product_atoms
from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.audit.losses.finite.pld import PldLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.balls import ball, precision
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.numerics.roots import as_fraction

Atoms: TypeAlias = tuple[list[tuple[arb, arb]], arb]
"""Masses under P with their losses, and a bound on the mass of all others."""

_BITS: Final = 128
_MOST_SHIFT_BITS: Final = 4000
_FAR_BITS: Final = 1200


@final
class Mixture:
    """The profile of losses on atoms composed with one other loss.

    Args:
        base: the other loss.
        finite: the product of the finite laws.
        discrete: discrete Gaussian losses.
    """

    __slots__ = ("__dict__", "_base", "_discrete", "_finite", "_kept", "_last")

    def __init__(self, base: PrivacyLoss, finite: FiniteLoss, discrete: Sequence[DiscreteGaussianLoss] = ()) -> None:
        self._base, self._finite, self._discrete = base, finite, tuple(discrete)
        self._kept: tuple[tuple[int, int], Atoms] | None = None
        self._last: tuple[Fraction, arb] | None = None

    @cached_property
    def infinite(self) -> arb:
        """Encloses P[L infinite]: of either, the other loss too."""
        with precision(_BITS):
            own, other = self._finite.infinite_mass(_BITS), self._infinite_of_base()
            return own if other.is_zero() else own + (1 - own) * other

    def _infinite_of_base(self) -> arb:
        if isinstance(self._base, PldLoss):
            return arb(self._base.law.infinity_mass)
        if _is_finite(self._base):
            return arb(0)
        if isinstance(self._base, BoundedLoss) and all(_is_finite(factor) for factor, _ in self._base.factors):
            return arb(0)
        with suppress(PrecisionExhausted):  # it is no more than the profile anywhere
            return arb(0).union(self._base._delta_balls([FARTHEST])[0].upper().min(arb(1)))  # pyright: ignore[reportPrivateUsage]
        return arb(0).union(arb(1))

    def reversed(self) -> Mixture:
        """That of the other order."""
        return Mixture(self._base.reversed(), self._finite.reversed(), self._discrete)

    def profile(self, epsilon: Fraction, bits: int) -> arb:
        """The sum over the atoms; their shifts are as close as the accuracy takes.

        Raises:
            PrecisionExhausted: that is not known to so many bits.
        """
        if isinstance(self._base, BoundedLoss):  # no more bits are to be had than it has
            value = self.between(epsilon)
            if value.is_zero() or value.rel_accuracy_bits() >= bits:
                return value
            raise PrecisionExhausted("delta", bits, "ask for certified_delta, which is as close as a lattice gets")
        fine = bits + 40
        while fine < _MOST_SHIFT_BITS:
            total = self._sum(epsilon, bits, fine)
            if total.is_zero() or total.rel_accuracy_bits() >= bits:
                return total
            if total.is_finite() and abs(total) < arb(2) ** -1100:
                break
            fine *= 2
        raise PrecisionExhausted("delta", fine, "the value may be exactly 0")

    def _sum(self, epsilon: Fraction, bits: int, fine: int) -> arb:
        with precision(fine):
            total = self._finite.infinite_mass(fine)
            atoms, others = self._atoms(fine)
            for mass, loss in atoms:
                total += mass * self._shifted(ball(epsilon) - loss, bits + 4)
            return total + others * arb(0.5, 0.5)

    def _atoms(self, bits: int) -> Atoms:
        """Masses and losses at the current precision, and what all others have at most, about 2^-bits."""
        key = ctx.prec, bits
        if self._kept is None or self._kept[0] != key:
            atoms, others = self._finite.atom_balls(), arb(0)
            for loss in self._discrete:
                own, rest = product_atoms(loss.groups, bits)
                atoms = [(p * q, one + other) for p, one in atoms for q, other in own]
                others += rest
            self._kept = key, (atoms, others)
        return self._kept[1]

    def _shifted(self, epsilon: arb, bits: int) -> arb:
        """The profile of the other loss at an epsilon in a ball, at the current precision."""
        point = as_fraction(epsilon.mid())
        value = self._base.profile(point, bits)
        if value.is_zero():  # beyond its largest loss, or at an end of it
            return arb(0).union(self._base.profile(as_fraction(epsilon.lower()), bits))
        return value + (epsilon - ball(point))

    def between(self, epsilon: Fraction) -> arb:
        """The profile, as closely as that of the other loss is known, however wide that is."""
        if epsilon > FARTHEST:  # the profile falls
            return self.infinite.lower().union(self.between(FARTHEST).upper())
        if self._last is None or self._last[0] != epsilon:
            self._last = epsilon, self._summed(epsilon)
        return self._last[1]

    def _summed(self, epsilon: Fraction) -> arb:
        with precision(_FAR_BITS):
            base = self._base
            if not isinstance(base, BoundedLoss):
                return self._sum_of(lambda point: base._delta_balls([point])[0], epsilon)  # pyright: ignore[reportPrivateUsage]
            halvings, total = 0, self._sum_of(lambda point: base.profile_on(point, 0), epsilon)
            before = math.inf
            while total.upper() > 0 and (width := float((total.upper() - total.lower()) / total.upper())) <= before / 2:
                finer = base.finer(halvings, width)
                if finer is None:
                    break
                halvings, before = finer, width  # of the whole sum: most atoms need no lattice that fine
                try:
                    total = total.intersection(self._sum_of(partial(base.profile_on, halvings=halvings), epsilon))
                except InvalidValue:  # too long
                    break
            return total

    def _sum_of(self, profile: Callable[[Fraction], arb], epsilon: Fraction) -> arb:
        """The sum with the profile of the other loss, at the current precision."""
        total = self._finite.infinite_mass(_FAR_BITS)
        atoms, others = self._atoms(_FAR_BITS)
        for mass, loss in atoms:
            place = ball(epsilon) - loss
            point = as_fraction(place.mid())
            total += mass * (profile(point) + (place - ball(point)))
        return total + others * arb(0.5, 0.5)

    def at_most(self, epsilon: Fraction) -> arb:
        """The profile itself, which is quick."""
        return self.between(epsilon).upper().min(arb(1))

    def guess(self, delta: Fraction) -> Fraction | None:
        """None."""
        return None


def _is_finite(loss: object) -> bool:
    """Whether a loss that is no finite law is known to be finite: it has moments, or noise that is everywhere."""
    if isinstance(loss, GaussianLoss | LaplaceLoss | DiscreteGaussianLoss):
        return True
    return isinstance(loss, PrivacyLoss) and not isinstance(loss, FiniteLoss) and loss.moments() is not None
