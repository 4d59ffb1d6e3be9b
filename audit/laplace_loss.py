"""The privacy loss of a Laplace mechanism on a vector: Lap(1)^m against its shift."""

from __future__ import annotations

import contextlib
import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import final

from flint import arb

from dpverdict.audit import bracketed_curves, laplace_floats, laplace_moments
from dpverdict.audit.ball_loss import BallLoss
from dpverdict.audit.laplace_profile import LaplaceProfile, LaplaceRoute, refined
from dpverdict.audit.laplace_terms import Groups
from dpverdict.audit.loss_domains import EPSILON, Floats
from dpverdict.audit.loss_tails import LossTails, finite_losses
from dpverdict.audit.profile_curves import ACCURACY, beta_ball, epsilon_ball, log_delta_ball
from dpverdict.balls import Exact, ball, exactly, precision
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.mechanisms.exact_text import exact_text

MOST_COORDINATES = 100_000
"""The largest number of coordinates."""

SMALLEST_SHIFT, LARGEST_SHIFT = Fraction(1, 10**250), Fraction(10**6)
"""The range of the shifts that are not 0."""


@final
class LaplaceLoss(BallLoss):
    """The privacy loss of Lap(1)^m against its shift by a vector.

    It is the loss of a Laplace mechanism with scale b on neighbours whose statistics differ by the vector b * shifts.
    The loss of one coordinate with shift s is s with probability 1/2, -s with probability exp(-s)/2, and in between it
    is s - 2 x with density exp(-x)/2 at 0 < x < s; the losses of the coordinates add. The loss is bounded by ``total``,
    the sum of the shifts, which is the pure epsilon.

    Symmetry: reflecting every coordinate at the middle of its shift exchanges the two laws. So P against Q and Q
    against P have the same curves, the sign of a shift does not matter, and the trade-off function is its own inverse.

    Accuracy: the profile is an exact finite sum for equal shifts, and for unequal ones as long as their sums take at
    most 100 000 different values; where the atoms of the loss weigh next to nothing it is a contour integral. There,
    every certified enclosure is accurate to float64, and the float64 methods have a relative error below
    `laplace_floats.RELATIVE_ERROR`. With many different shifts that are small altogether, none of these serves: then
    ``certified_delta``, ``certified_epsilon`` and ``certified_beta`` are intervals between two bounds from a lattice of
    losses, certain but wider (``route`` says so; about 1e-5 of delta), and float64 methods return a number inside of
    them. Only ``tails``, which promise a relative accuracy, raise `PrecisionExhausted`; `compose` needs none of them.

    Args:
        shifts: the shift of every coordinate in units of the scale, at exact values; signs do not matter, zeros are
            dropped; without any, the two laws are the same.

    Raises:
        InvalidValue: a shift is NaN, infinite or out of range, or there are more than `MOST_COORDINATES`.

    Reference: Dwork, McSherry, Nissim and Smith 2006, Proposition 1 (doi:10.1007/11681878_14), for the pure epsilon.

    >>> loss = LaplaceLoss(["0.5", "0.25"])
    >>> loss.delta("0.5"), loss.certified_delta("0.5")
    (0.062347041003867384, Enclosure([0.062347041003867377, 0.062347041003867385]))
    >>> loss.epsilon(0), loss.certified_beta("0.01").contains("0.9788")
    (0.75, False)
    >>> LaplaceLoss.equal(1000, "0.0075").delta(1)
    9.85980813708682e-07
    """

    __slots__ = ("_groups", "_profile")

    def __init__(self, shifts: Iterable[Exact]) -> None:
        if isinstance(shifts, str):
            raise InvalidValue("shifts", shifts, "a sequence of numbers", 'write ["0.5"] for a single shift')
        values = [_size(shift) for shift in shifts]
        self._set(Counter(value for value in values if value))

    @classmethod
    def equal(cls, m: int, shift: Exact) -> LaplaceLoss:
        """The loss of m coordinates with the same shift.

        Args:
            m: the number of coordinates, 1 to `MOST_COORDINATES`.
            shift: the shift of each in units of the scale, at its exact value.
        """
        number = _whole(m)
        value = _size(shift)
        loss = cls.__new__(cls)
        loss._set(Counter({value: number} if value else {}))
        return loss

    @classmethod
    def grouped(cls, groups: Iterable[tuple[Exact, int]]) -> LaplaceLoss:
        """The loss of coordinates given as (shift in units of the scale, number of coordinates with it)."""
        counts: Counter[Fraction] = Counter()
        for shift, count in groups:
            value = _size(shift)
            counts.update({value: _whole(count)} if value else {})
        loss = cls.__new__(cls)
        loss._set(counts)
        return loss

    def _set(self, counts: Counter[Fraction]) -> None:
        if counts.total() > MOST_COORDINATES:
            remedy = f"compose at most {MOST_COORDINATES} coordinates"
            raise InvalidValue("shifts", f"{counts.total()} numbers", "not too many", remedy)
        self._groups: Groups = tuple(sorted(counts.items()))
        self._profile = LaplaceProfile(self._groups)

    @property
    def groups(self) -> Groups:
        """The distinct positive shifts with their counts, in increasing order."""
        return self._groups

    @property
    def total(self) -> Fraction:
        """The sum of the shifts: the largest value of the loss, and the pure epsilon."""
        return self._profile.total

    def route(self, epsilon: Exact) -> LaplaceRoute:
        """How ``certified_delta(epsilon)`` is computed, which says how wide it can be."""
        return self._profile.enclosed_delta(EPSILON.exact(epsilon), ACCURACY)[1]

    # float64 ----------------------------------------------------------------------------------------------------------

    def _delta(self, epsilon: Floats) -> Floats:
        return laplace_floats.delta(self._profile, epsilon)

    def tails(self, l: Floats) -> LossTails:
        """The four tails at losses of shape (n,), with a relative error below `laplace_floats.RELATIVE_ERROR`."""
        losses = finite_losses(l)
        if len(self._groups) == 1 and self._groups[0][1] == 1:
            return laplace_floats.tails_of_one(self._groups[0][0], losses)
        return laplace_floats.tails(self._profile, losses)

    def coordinates(self) -> list[tuple[LaplaceLoss, int]]:
        """The loss of one coordinate for every distinct shift, with the number of such coordinates."""
        return [(LaplaceLoss([shift]), count) for shift, count in self._groups]

    # balls ------------------------------------------------------------------------------------------------------------

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [self._profile.enclosed_delta(exactly(epsilon), ACCURACY)[0] for epsilon in epsilons]

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [self._log_delta_ball(exactly(epsilon)) for epsilon in epsilons]

    def _log_delta_ball(self, epsilon: Fraction) -> arb:
        value, route = self._profile.enclosed_delta(epsilon, ACCURACY)
        if route is LaplaceRoute.LATTICE:
            with precision(128):
                return value.log()
        return log_delta_ball(self._profile.delta, epsilon, complement=self._profile.complement)

    def _epsilon_ball(self, delta: Fraction) -> arb:
        if delta == 0:
            return refined(lambda _: ball(self.total), ACCURACY)
        if delta == 1:
            return arb(0)
        try:
            return epsilon_ball(self._profile.delta, delta, highest=self.total)
        except PrecisionExhausted:
            return bracketed_curves.epsilon_between(self._enclosed_delta, delta, self.total)

    def _enclosed_delta(self, epsilon: Fraction) -> arb:
        return self._profile.enclosed_delta(epsilon, ACCURACY)[0]

    def _beta_ball(self, alpha: Fraction) -> arb:
        if alpha in (0, 1) or not self._groups:
            return refined(lambda _: ball(1 - alpha), ACCURACY)
        profile, total, m = self._profile, self.total, sum(count for _, count in self._groups)
        if (1 - alpha) * 2**m <= 1:  # below, Q[L > -total] = 1 - 2^-m < alpha: the last piece
            return refined(lambda _: (-ball(total)).exp() * ball(1 - alpha), ACCURACY)
        with precision(64):
            is_first = ball(alpha * 2**m) * ball(total).exp() <= 1  # alpha <= Q[L = total]
        if is_first:
            return refined(lambda _: 1 - ball(total).exp() * ball(alpha), ACCURACY)
        if m == 1:
            return refined(lambda _: (-ball(total)).exp() / (4 * ball(alpha)), ACCURACY)
        try:
            return beta_ball(profile.delta, profile.q_above, alpha, complement=profile.complement)
        except PrecisionExhausted:
            return bracketed_curves.beta_between(self._enclosed_delta, alpha, total)

    def _renyi_ball(self, order: Fraction) -> arb:
        return laplace_moments.renyi_ball(self._groups, order)

    def _advantage_ball(self) -> arb:
        return self._profile.enclosed_delta(Fraction(0), ACCURACY)[0]

    def __repr__(self) -> str:
        if len(self._groups) == 1:
            ((shift, count),) = self._groups
            return f"LaplaceLoss.equal({count}, {exact_text(shift)})"
        text = ", ".join(f"{exact_text(shift)} x {count}" for shift, count in self._groups[:8])
        return f"LaplaceLoss({text}{', ...' if len(self._groups) > 8 else ''})"


def _size(shift: Exact) -> Fraction:
    """The absolute value of a shift."""
    size = abs(exactly(shift, name="shift"))
    if size and not SMALLEST_SHIFT <= size <= LARGEST_SHIFT:
        raise InvalidValue(
            "shift", shift, "0 or between 1e-250 and 1e+6 in size", "give the shift in units of the scale"
        )
    return size


def _whole(m: int) -> int:
    """The number of coordinates as an int."""
    with contextlib.suppress(TypeError):
        number = operator.index(m)
        if 1 <= number <= MOST_COORDINATES and not isinstance(m, bool):
            return number
    raise InvalidValue("m", m, f"an integer in [1, {MOST_COORDINATES}]", "give the number of coordinates")
