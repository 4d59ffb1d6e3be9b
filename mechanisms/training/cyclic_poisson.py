"""Amplification of a banded strategy by cyclic Poisson sampling: the loss of a sampled Gaussian, step by step.

The records are cut into b groups, and step t samples from group t mod b alone: each of its records takes part with
probability q, independently. With a strategy matrix C of at most b diagonals the columns C e_t of one group have no row
in common. The rows t .. t + w - 1 of C x + noise see a record of the group at step t alone, and then given the past
they are a pair N(C e_t g B, s^2), B of probability q, against N(0, s^2). As |C e_t| <= K for all t, they are dominated
by the sampled Gaussian of mu = K/s, and k = ceil(T/b) of them one after the other by its k-fold composition.

If the last column of the first group is not cut off, all of its columns are as long as the first one, and a record that
contributes one direction there attains all of it.

Reference: Choquette-Choo, Ganesh, McKenna, McMahan, Rush, Thakurta and Xu 2023, section 3 (arXiv:2306.08153), the bound
from above; what is attained follows from the same columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from dpverdict.audit.losses.base import AddRemoveLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.balls import Exact
from dpverdict.checks import check_moderate, check_whole
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.streams.strategies import Toeplitz


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CyclicPoissonLoss:
    """The privacy loss of a run, between two.

    Attributes:
        above: dominates every pair of neighbours under add-or-remove-one.
        attained: what a record of the first group attains.
        exact: whether the two are one.
    """

    above: AddRemoveLoss
    attained: AddRemoveLoss
    exact: bool


def cyclic_poisson_loss(
    strategy: Toeplitz, *, noise_multiplier: Exact, rate: Exact, separation: int
) -> CyclicPoissonLoss:
    """The privacy loss of C x + noise under cyclic Poisson sampling, for a banded Toeplitz matrix C.

    Args:
        strategy: C, with at most ``separation`` coefficients.
        noise_multiplier: standard deviation of the noise in units of the clipping norm, > 0, exact.
        rate: q, exact: the probability that a record takes part in a step of its group.
        separation: the number b of groups.

    Raises:
        InvalidValue: an argument out of range, or a band that is wider than the separation.

    >>> from dpverdict.mechanisms.streams.strategies import square_root
    >>> made = cyclic_poisson_loss(square_root(100, 10), noise_multiplier=2, rate="0.1", separation=10)
    >>> made.exact, round(made.above.certified_epsilon("1e-5").upper, 4)
    (True, 1.304)
    """
    b = check_whole(separation, "separation", least=1, remedy="say how many groups of records there are")
    if strategy.band > b or b > strategy.horizon:
        requirement = f"from {strategy.band}, the band, to {strategy.horizon}, the steps"
        raise InvalidValue("separation", separation, requirement, "without a band no such amplification is proved")
    scale = check_moderate(noise_multiplier, "noise_multiplier")
    mu_squared = strategy.column_squared().times(1 / scale**2)
    together, whole = -(-strategy.horizon // b), (strategy.horizon - strategy.band) // b + 1
    above, attained = (
        poisson_sampled(GaussianLoss.from_squared(mu_squared), rate, count) for count in (together, whole)
    )
    return CyclicPoissonLoss(above=above, attained=attained, exact=together == whole)
