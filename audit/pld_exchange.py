"""Privacy losses to and from dp_accounting's privacy loss distributions, with their masses audited.

What is exchanged are objects of ``dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution``; they have no
types, and their masses can be read through a private attribute only, so both happen in this file and nowhere else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, TypeAlias, final

import numpy as np
from dp_accounting.pld import pld_pmf
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

from dpverdict.audit.lattice_law import LatticeLaw, LatticeLedger, LatticePair, Side
from dpverdict.audit.lattice_pld import TAIL_MASS, lattice_pair
from dpverdict.audit.loss_domains import Floats
from dpverdict.audit.loss_tails import Tails
from dpverdict.audit.pld_loss import PldLoss
from dpverdict.errors import InvalidValue

Pld: TypeAlias = Any  # dp_accounting ships no types


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PldPair:
    """dp_accounting's objects for both sides of one loss, and the ledger of their making.

    Both are of the pair (P, Q) in this order; dp_accounting takes them as the distribution of both orders, which is
    right when P against Q and Q against P have the same curves (all Gaussian and Laplace mechanisms), and otherwise
    takes two pairs: ``PrivacyLossDistribution(remove._pmf_remove, add._pmf_remove)``.

    **Hazard.** ``optimistic.self_compose(n)`` adds its default ``tail_mass_truncation=1e-15`` as an *infinite* loss,
    also to an optimistic distribution, which is then no lower bound any more. Write
    ``self_compose(n, tail_mass_truncation=0)``; ``compose`` has no such defect. The FFT of either adds rounding errors
    of about 1e-16 of the mass that nothing bounds; `lattice_bounds.compose_on_lattice` bounds them.

    Attributes:
        pessimistic: delta(epsilon) from above, for every epsilon and after every composition, before FFT rounding.
        optimistic: the same from below.
        ledger: masses moved and mass defects.
    """

    pessimistic: Pld
    optimistic: Pld
    ledger: LatticeLedger


def to_pld(tails: Tails, interval: float, *, tail_mass: float = TAIL_MASS) -> PldPair:
    """The two privacy loss distributions of a loss, both second order in the interval.

    Args:
        tails: the method ``tails`` of a privacy loss.
        interval: step of the lattice; distributions compose only if theirs are the same float.
        tail_mass: what may be truncated, and is charged (see `lattice_pld.lattice_pair`).

    Raises:
        InvalidValue: the interval does not suit the loss.

    >>> from dpverdict.audit.gaussian_loss import GaussianLoss
    >>> pair = to_pld(GaussianLoss(1).tails, 1e-3)
    >>> lower, upper = (pld.get_delta_for_epsilon(1.0) for pld in (pair.optimistic, pair.pessimistic))
    >>> bool(lower < GaussianLoss(1).delta(1) < upper)
    True
    """
    return pair_to_pld(lattice_pair(tails, interval, tail_mass=tail_mass))


def pair_to_pld(pair: LatticePair) -> PldPair:
    """Both laws of a pair as dp_accounting's objects, with its ledger."""
    return PldPair(pessimistic=law_to_pld(pair.pessimistic), optimistic=law_to_pld(pair.optimistic), ledger=pair.ledger)


def law_to_pld(law: LatticeLaw) -> Pld:
    """A lattice law as dp_accounting's object, mass by mass.

    Raises:
        InvalidValue: the step of the lattice is no float64.
    """
    interval = float(law.interval)
    if Fraction(interval) != law.interval:
        remedy = "dp_accounting holds the interval as a float: choose one that is"
        raise InvalidValue("interval", str(law.interval), "a float64 number", remedy)
    pessimistic = law.side is Side.PESSIMISTIC
    pmf = pld_pmf.DensePLDPmf(interval, law.lowest, law.masses.copy(), law.infinity_mass, pessimistic)
    return PrivacyLossDistribution(pmf)


class Direction(Enum):
    """Which of the two distributions of a dp_accounting object: P on the dataset with, or without, the record."""

    REMOVE = "remove"
    ADD = "add"


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
    if not isinstance(pld, PrivacyLossDistribution):
        raise InvalidValue("pld", pld, "a dp_accounting PrivacyLossDistribution", "give the object, not its pmf")
    if direction is None and not pld._symmetric:
        remedy = "say direction=Direction.REMOVE or Direction.ADD; the worse of the two counts"
        raise InvalidValue("direction", None, "given, as the two directions differ", remedy)
    pmf = (pld._pmf_add if direction is Direction.ADD else pld._pmf_remove).to_dense_pmf()
    masses: Floats = np.array(pmf._probs, dtype=np.float64)
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
