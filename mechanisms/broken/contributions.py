"""Known-wrong sums of users with many records: a bound on what one user adds is taken for granted, and not enforced.

Notation: d = the number of keys, or of values of a user with one key; e or mu = the claim, under ADD_OR_REMOVE_ONE.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from dpverdict.mechanisms.broken.laplace import LaplaceMutant
from dpverdict.mechanisms.broken.mutant import Mutant
from dpverdict.mechanisms.core.guarantees import GaussianDP
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE
from dpverdict.mechanisms.sums.bounded_contributions import BoundedContributions

NORM: Final = 2
"""The l1 norm that B3 does not enforce."""


def _laplace(epsilon: Fraction, norm: int = 1, **kept: Any) -> StructuredMechanism:
    return BoundedContributions(
        **kept, noise="laplace", scale=norm / epsilon, epsilon=epsilon, adjacency=ADD_OR_REMOVE_ONE
    )


def _l2_norm_of_one(dim: int, mu: Fraction) -> StructuredMechanism:
    wrong = BoundedContributions(
        dim=dim, keys=dim, noise="gaussian", scale=1 / mu, epsilon=1, delta="1e-6", adjacency=ADD_OR_REMOVE_ONE
    )
    wrong.claim = GaussianDP(mu)
    wrong.name, wrong.source = "broken:B4", "known-wrong variant B4"
    return wrong


ALL: tuple[LaplaceMutant | Mutant, ...] = (
    LaplaceMutant(
        name="B1",
        title="counts of d keys with the noise of users of one key, whose other keys are not dropped",
        source="Wilson et al. 2020, section 3",
        formula="d e",
        build=lambda dim, epsilon: _laplace(epsilon, dim=dim, keys=dim),
        factor_squared=lambda d: d * d,
    ),
    LaplaceMutant(
        name="B2",
        title="a sum of values in [0, 1] with the noise of users of one value, of whom d are added",
        source="Wilson et al. 2020, section 3",
        formula="d e",
        build=lambda dim, epsilon: _laplace(epsilon, dim=1, keys=1, per_key=dim),
        factor_squared=lambda d: d * d,
    ),
    LaplaceMutant(
        name="B3",
        title="d sums, each in [0, 1], with the noise of an l1 norm of 2, to which they are not scaled down",
        source="Wilson et al. 2020, section 3",
        formula="d e/2",
        build=lambda dim, epsilon: _laplace(epsilon, NORM, dim=dim, keys=dim),
        factor_squared=lambda d: Fraction(d * d, NORM**2),
    ),
    Mutant(
        name="B4",
        title="d sums, each in [0, 1], with the noise of an l2 norm of 1, to which they are not scaled down",
        source="Wilson et al. 2020, section 3",
        formula="d mu^2",
        build=_l2_norm_of_one,
        squared=lambda dim, mu, root: dim * mu * mu,
    ),
)
"""Every one."""
