"""The curves of a lattice law itself, by exact summation of its float masses."""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import partial
from typing import final

import dp_accounting
import numpy as np
from flint import arb, ctx

from dpverdict.audit.losses.base import BallLoss
from dpverdict.audit.losses.curves import ACCURACY, epsilon_ball, log_delta_ball
from dpverdict.audit.losses.domains import Direction, LossTails, PartMoments, finite_losses
from dpverdict.audit.losses.finite.atoms import LatticeMoments
from dpverdict.audit.losses.lattice.exchange import Pld
from dpverdict.audit.losses.lattice.law import LatticeLaw, LatticeLedger, LatticePair, Side
from dpverdict.balls import Exact, ball, exactly, precision, refine
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array

_BITS = 192
_MAX_BITS = 1 << 14
MOST_OF_A_CONTOUR = 3 << 13
"""The most masses of which a contour is made, beside those of other losses."""


_refined = partial(refine, max_bits=_MAX_BITS)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PldAudit:
    """What is wrong with the masses of a distribution.

    Attributes:
        p_mass_defect: total mass under P minus 1.
        q_mass_defect: total mass under Q minus 1. A positive one cannot be the mass of a law; a negative one is a part
            of Q where P has no mass.
        infinity_mass: mass of an infinite loss.
        negative_mass: sum of the negative masses that were set to 0, <= 0.
        side: which side of a mechanism the distribution says its curves are on.
    """

    p_mass_defect: float
    q_mass_defect: float
    infinity_mass: float
    negative_mass: float
    side: Side


@final
class PldLoss(BallLoss):
    """The privacy loss that a lattice law describes, its masses and its interval at their exact values.

    All curves derive from delta(epsilon) = infinity_mass + sum over losses l > epsilon of mass (1 - exp(epsilon - l)),
    at most 1: beta(alpha) is the maximum of 0 and of 1 - delta(epsilon) - exp(epsilon) alpha over all epsilon, also
    where defects of the masses leave no pair of laws with this profile. ``renyi`` is log(sum of mass
    exp((order - 1) l))/(order - 1), infinite at order >= 1 if there is an infinite loss. float64 values are the rounded
    balls.

    Args:
        law: the masses.
        negative_mass: what was removed to make them non-negative.
    """

    __slots__ = ("_law", "_sums", "audit")
    audit: PldAudit

    def __init__(self, law: LatticeLaw, *, negative_mass: float = 0.0) -> None:
        self._law = law
        self._sums: dict[int, tuple[list[arb], list[arb]]] = {}
        self.audit = PldAudit(
            p_mass_defect=law.p_mass_defect(),
            q_mass_defect=law.q_mass_defect(),
            infinity_mass=law.infinity_mass,
            negative_mass=negative_mass,
            side=law.side,
        )

    @property
    def law(self) -> LatticeLaw:
        """The masses."""
        return self._law

    @property
    def exact_key(self) -> tuple[object, ...] | None:
        """The lattice, and a hash of the masses."""
        masses = hashlib.sha256(self._law.masses.astype("<f8").tobytes()).hexdigest()
        return (self._law.interval, self._law.lowest, masses, self._law.infinity_mass.hex())

    # sums of masses above a loss --------------------------------------------------------------------------------------

    def _upper_sums(self, bits: int) -> tuple[list[arb], list[arb]]:
        """For every i: A_i = infinity_mass + m_i + m_i+1 + ..., and R_i = m_i + m_i+1 e^-h + m_i+2 e^-2h + ..."""
        if bits not in self._sums:
            with precision(bits):
                p, q, step = arb(self._law.infinity_mass), arb(0), (-ball(self._law.interval)).exp()
                p_sums, q_sums = [p], [q]
                for mass in self._law.masses[::-1].tolist():
                    p += mass
                    q = q * step + mass
                    p_sums.append(p)
                    q_sums.append(q)
            self._sums = {bits: (p_sums[::-1], q_sums[::-1])}
        return self._sums[bits]

    def _first_above(self, epsilon: Fraction) -> int:
        """The number of the first loss > epsilon; the number of losses if there is none."""
        return min(max(epsilon // self._law.interval + 1 - self._law.lowest, 0), self._law.masses.size)

    def _loss(self, i: int) -> Fraction:
        return (self._law.lowest + i) * self._law.interval

    def _profile(self, epsilon: Fraction, bits: int) -> arb:
        i = self._first_above(epsilon)
        if i == self._law.masses.size:
            return arb(self._law.infinity_mass)

        def at_once() -> arb:
            p_sums, q_sums = self._upper_sums(ctx.prec)
            return (p_sums[i] - (ball(epsilon - self._loss(i))).exp() * q_sums[i]).min(arb(1))

        remedy = "epsilon is too close to the largest loss, or too large"
        return _refined(at_once, bits=bits, start=max(_BITS, bits + 64), name="delta", remedy=remedy)

    def profile(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon), to ``bits`` accurate bits."""
        return self._profile(epsilon, bits)

    def moments(self) -> PartMoments | None:
        """Those of its masses; None of too many, or where no loss is finite."""
        masses = self._law.masses
        if masses.size > MOST_OF_A_CONTOUR or not masses.any():
            return None
        return LatticeMoments(masses, self._law.lowest, self._law.interval)

    # balls ------------------------------------------------------------------------------------------------------------

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [self._profile(exactly(epsilon), ACCURACY) for epsilon in epsilons]

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [log_delta_ball(self._profile, exactly(epsilon)) for epsilon in epsilons]

    def _epsilon_ball(self, delta: Fraction) -> arb:
        infinite = Fraction(self._law.infinity_mass)
        if delta < infinite:
            return arb("inf")
        top = max(self._loss(int(np.flatnonzero(self._law.masses).max(initial=0))), Fraction(0))
        if top == 0:
            return arb(0)
        if delta == infinite:
            with precision(_BITS):
                return ball(top)
        return epsilon_ball(self._profile, delta, highest=top)

    def _beta_ball(self, alpha: Fraction) -> arb:
        """The highest of the lines of slope -exp(l_i): their heights rise while Q[L > l_i] > alpha, then fall."""
        remedy = "move alpha away from where beta is almost 0"
        line = partial(self._highest_line, alpha)
        return _refined(line, bits=ACCURACY, start=_BITS, name="beta", remedy=remedy)

    def _highest_line(self, alpha: Fraction) -> arb:
        p_sums, q_sums = self._upper_sums(ctx.prec)
        level = ball(alpha)

        def at_most(i: int) -> bool:
            """Q[L >= l_i] <= alpha, or undecided."""
            return not (-ball(self._loss(i))).exp() * q_sums[i] > level

        low = bisect_left(range(1, self._law.masses.size), True, key=at_most)  # Q[L >= l_low] > alpha, or low = 0
        best = arb(0)
        for i in (low - 1, low, low + 1):
            if 0 <= i < self._law.masses.size:
                growth = ball(self._loss(i)).exp()
                height = 1 - p_sums[i + 1] + q_sums[i + 1] * (-ball(self._law.interval)).exp() - growth * level
                best = best.max(height)
        leftmost = 1 - p_sums[0]  # epsilon to minus infinity: 1 - delta is the P-mass that is missing
        return best.max(leftmost)

    def _renyi_ball(self, order: Fraction) -> arb:
        if order >= 1 and self._law.infinity_mass > 0:
            return arb("inf")
        remedy = "the divergence may be exactly 0"
        return _refined(partial(self._divergence, order), bits=ACCURACY, start=_BITS, name="renyi", remedy=remedy)

    def _divergence(self, order: Fraction) -> arb:
        return self._mean_loss() if order == 1 else self._moment(order - 1).log() / ball(order - 1)

    def _moment(self, power: Fraction) -> arb:
        step, total = (ball(power * self._law.interval)).exp(), arb(0)
        for mass in self._law.masses[::-1].tolist():
            total = total * step + mass
        return total * ball(power * self._law.lowest * self._law.interval).exp()

    def _mean_loss(self) -> arb:
        total = arb(0)
        for i, mass in enumerate(self._law.masses.tolist(), self._law.lowest):
            total += arb(mass) * i
        return total * ball(self._law.interval)

    def _advantage_ball(self) -> arb:
        return self._profile(Fraction(0), ACCURACY)

    # float64 ----------------------------------------------------------------------------------------------------------

    def tails(self, l: Array) -> LossTails:
        """The four tails, rounded from balls; what Q has where P has nothing counts below every loss.

        The masses of P and of Q are taken as they are where they add up to at most 1, and their excess otherwise is
        stated as the relative error.

        Raises:
            InvalidValue: that excess is 1e-3 or more.
        """
        losses = finite_losses(l)
        p_sums, q_sums = self._upper_sums(_BITS)
        above = np.empty((4, losses.size))
        with precision(_BITS):
            for column, loss in enumerate(losses.tolist()):
                i = self._first_above(Fraction(loss))
                p = p_sums[i]
                q = q_sums[i] * (-ball(self._loss(i))).exp() if i < self._law.masses.size else arb(0)
                above[:, column] = [float(x) for x in (p, 1 - p, q, 1 - q)]
        error = max(abs(self.audit.p_mass_defect), self.audit.q_mass_defect, 0.0) + 2.0**-52
        p_above, p_below, q_above, q_below = np.maximum(above, 0.0)
        return LossTails(p_above=p_above, p_below=p_below, q_above=q_above, q_below=q_below, relative_error=error)

    def as_pair(self) -> LatticePair:
        """The law on both sides of itself, for compositions."""
        return LatticePair(
            pessimistic=self._law,
            optimistic=self._law,
            ledger=LatticeLedger(
                tail_error=0.0,
                infinity_mass=self.audit.infinity_mass,
                raised_mass=0.0,
                dropped_mass=0.0,
                first_order_mass=0.0,
                p_defects=(self.audit.p_mass_defect, self.audit.p_mass_defect),
                q_defects=(self.audit.q_mass_defect, self.audit.q_mass_defect),
            ),
        )

    def __repr__(self) -> str:
        law = self._law
        return f"PldLoss({law.masses.size} masses at interval {float(law.interval)!r}, {law.side.value})"


class NegativeMass(Enum):
    """What to do with negative masses, which dp_accounting's FFT leaves behind."""

    REFUSE = "refuse"
    SET_TO_ZERO = "set to zero"
    """Every negative mass becomes 0, and the audit says how much that was; delta(epsilon) only grows by it."""


def from_pld(
    pld: Pld, *, direction: Direction | None = None, negative_mass: NegativeMass = NegativeMass.REFUSE
) -> PldLoss:
    """The privacy loss that a privacy loss distribution of dp_accounting describes, with its masses audited.

    The certified curves enclose those of *this distribution*, its float masses at their exact values. Whether they
    bound those of a mechanism is a property of the distribution; its mass defects are a first test of it.

    Args:
        pld: a ``PrivacyLossDistribution``.
        direction: which distribution, where those of adding and of removing a record differ.
        negative_mass: whether negative masses are refused.

    Raises:
        InvalidValue: not such an object; masses that are NaN or negative; two directions and none chosen.

    >>> from dp_accounting.pld import privacy_loss_distribution
    >>> loss = from_pld(privacy_loss_distribution.from_gaussian_mechanism(1.0))
    >>> f"{loss.audit.q_mass_defect:.0e}"
    '9e-05'
    """
    if not isinstance(pld, dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution):
        raise InvalidValue("pld", pld, "a dp_accounting PrivacyLossDistribution", "give the object, not its pmf")
    if direction is None and not pld._symmetric:
        remedy = "say direction=Direction.REMOVE or Direction.ADD; the worse of the two counts"
        raise InvalidValue("direction", None, "given, as the two directions differ", remedy)
    pmf = (pld._pmf_add if direction is Direction.ADD else pld._pmf_remove).to_dense_pmf()
    masses: Array = np.array(pmf._probs, dtype=np.float64)
    infinite = float(pmf._infinity_mass)
    if masses.ndim != 1 or masses.size == 0 or not (np.isfinite(masses).all() and math.isfinite(infinite)):
        raise InvalidValue("pld", pld, "made of finite masses", "build it again: it holds NaN or infinite masses")
    negative = math.fsum([*np.minimum(masses, 0.0).tolist(), min(infinite, 0.0)])
    if negative < 0 and negative_mass is NegativeMass.REFUSE:
        remedy = "they come from FFT rounding: pass negative_mass=NegativeMass.SET_TO_ZERO to accept and report them"
        raise InvalidValue("pld", f"negative masses, {negative:.3g} in sum", "free of negative masses", remedy)
    law = LatticeLaw(
        interval=Fraction(float(pmf._discretization)),
        lowest=int(pmf._lower_loss),
        masses=np.maximum(masses, 0.0),
        infinity_mass=max(infinite, 0.0),
        side=Side.PESSIMISTIC if pmf._pessimistic_estimate else Side.OPTIMISTIC,
    )
    return PldLoss(law, negative_mass=negative)
