"""Privacy losses to and from dp_accounting's privacy loss distributions, with their masses audited.

What is exchanged are objects of ``dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution``; they have no
types, and their masses can be read through a private attribute only, so both happen in this file and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias, final

import dp_accounting

from dpverdict.audit.losses.domains import Tails
from dpverdict.audit.losses.lattice.discretise import TAIL_MASS, lattice_pair
from dpverdict.audit.losses.lattice.law import LatticeLaw, LatticeLedger, LatticePair, Side
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
    of about 1e-16 of the mass that nothing bounds; `dpverdict.audit.losses.lattice.bounds.compose_on_lattice`
    bounds them.

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
        tail_mass: what may be truncated, and is charged (see `lattice_pair`).

    Raises:
        InvalidValue: the interval does not suit the loss.

    >>> from dpverdict.audit.losses.closed_form import GaussianLoss
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
    pmf = dp_accounting.pld.pld_pmf.DensePLDPmf(interval, law.lowest, law.masses.copy(), law.infinity_mass, pessimistic)
    return dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution(pmf)
