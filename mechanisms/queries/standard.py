"""The standard Gaussian mechanism: independent noise of one scale on every query."""

from __future__ import annotations

from typing import ClassVar, final

from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.balls import Exact
from dpverdict.checks import check_array, check_dim, check_positive
from dpverdict.mechanisms.core.calibration import analytic_scale, classic_scale, gdp_scale, root
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, Guarantee
from dpverdict.mechanisms.core.mechanism import GaussianMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, check_adjacency
from dpverdict.mechanisms.core.noise import SharedNoise
from dpverdict.mechanisms.core.parameters import ADJACENCY, Parameter
from dpverdict.mechanisms.core.sensitivity import Cube, ReplacementCube
from dpverdict.numerics.arrays import Array


@final
class StandardGaussian(GaussianMechanism):
    """f(X) + N(0, sigma^2 I) with f(X) = sum x_i and records x_i in [0, 1]^d.

    The l2-sensitivity of f is Delta = sqrt(d) under either relation: differences fill [0, 1]^d and its mirror image
    under add/remove, [-1, 1]^d under replacement. sigma = Delta/mu, rounded up to a float64, makes it mu-GDP
    (Lebeda 2024, Lemma 2.1; Dong, Roth and Su 2022, Theorem 2.7).

    Args:
        dim: number of queries d >= 1.
        mu: GDP parameter > 0, exact (int, float, Fraction or decimal string).
        adjacency: the neighbouring relation of the claim, which changes what is promised; sigma is the same here.

    Attributes:
        scale: standard deviation of the noise, in units of one record's contribution to a query.

    Raises:
        InvalidValue: dim or mu out of range.

    >>> StandardGaussian(dim=4, mu=1, adjacency=ADD_OR_REMOVE_ONE).scale
    2.0
    """

    name = "standard-gaussian"
    title = "d counts with independent Gaussian noise"
    source = "Lebeda 2024, Lemma 2.1"
    dim: int
    adjacency: NeighboringRelation
    noise: SharedNoise
    sensitivity: Cube | ReplacementCube
    assumptions: tuple[str, ...]
    parameters: ClassVar[tuple[Parameter, ...]] = (
        ADJACENCY.otherwise(ADD_OR_REMOVE_ONE, "add-or-remove-one was taken (the noise is the same under replace-one)"),
    )
    calibrations: ClassVar[tuple[str, ...]] = ("classic", "analytic")
    example = "--dim 3 --mu 1"

    def __init__(self, *, dim: int, mu: Exact, adjacency: NeighboringRelation) -> None:
        exact_mu = check_positive(mu, "mu")
        self._set(dim, gdp_scale(exact_mu, root(check_dim(dim))), GaussianDP(exact_mu), adjacency)

    @classmethod
    def classic(cls, *, dim: int, epsilon: Exact, delta: Exact, adjacency: NeighboringRelation) -> StandardGaussian:
        """Calibrated by the classic sigma = Delta sqrt(2 ln(1.25/delta))/epsilon (Dwork and Roth 2014, Theorem A.1).

        The claim is (epsilon, delta)-DP. The formula is right for epsilon <= 1, and in fact for epsilon <= 3.7868
        whatever delta is; beyond that it fails for some delta, and `certify` says so.
        """
        sigma = classic_scale(epsilon, delta, root(check_dim(dim)))
        return cls._calibrated(dim, sigma, ApproximateDP(epsilon, delta), adjacency)

    @classmethod
    def analytic(cls, *, dim: int, epsilon: Exact, delta: Exact, adjacency: NeighboringRelation) -> StandardGaussian:
        """Calibrated by the exact profile: the least sigma that is (epsilon, delta)-DP (Balle, Wang 2018, Thm 8)."""
        sigma = analytic_scale(epsilon, delta, root(check_dim(dim)))
        return cls._calibrated(dim, sigma, ApproximateDP(epsilon, delta), adjacency)

    @classmethod
    def _calibrated(cls, dim: int, scale: float, claim: Guarantee, adjacency: NeighboringRelation) -> StandardGaussian:
        mechanism = cls.__new__(cls)
        mechanism._set(dim, scale, claim, adjacency)
        return mechanism

    def _set(self, dim: int, scale: float, claim: Guarantee, adjacency: NeighboringRelation) -> None:
        self.dim = check_dim(dim)
        self.scale = scale
        self.claim = claim
        self.adjacency = check_adjacency(adjacency)
        self.noise = SharedNoise(dim=self.dim, independent_scale=scale)
        add_remove = self.adjacency is ADD_OR_REMOVE_ONE
        self.sensitivity = Cube(dim=self.dim) if add_remove else ReplacementCube(dim=self.dim)
        self.assumptions = ("every record lies in [0, 1]^d",)

    def check_records(self, dataset: ArrayLike) -> Array:
        """The dataset as float64 of shape (n, d), entries in [0, 1]."""
        return check_array(dataset, self.record_shape, 0.0, 1.0)

    def describe(self) -> dict[str, str]:
        """Name, parameters and the scale of the noise."""
        return GaussianMechanism.describe(self) | {"scale": repr(self.scale)}
