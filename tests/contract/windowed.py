"""A mechanism in one file, as a contributor writes it: `test_one_file` puts it into a copy of the package."""

from __future__ import annotations

from dp_accounting import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.balls import Exact, Real, sqrt_up
from dpverdict.checks import check_array, check_dim, check_positive
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import GaussianDP
from dpverdict.mechanisms.core.mechanism import GaussianMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE
from dpverdict.mechanisms.core.noise import SharedNoise
from dpverdict.mechanisms.core.parameters import Parameter, whole
from dpverdict.mechanisms.core.sensitivity import Cube
from dpverdict.numerics.arrays import Array


class Windowed(GaussianMechanism):
    """f(X) + N(0, (window/mu^2) I) with f(X) = sum x_i, records of [0, 1]^d with at most ``window`` non-zero entries.

    Args:
        dim: number of queries d >= 1.
        window: in how many queries a record is at most, 1 <= window <= d.
        mu: GDP parameter > 0, exact.
    """

    name = "windowed"
    source = "a test"
    adjacency: NeighboringRelation = ADD_OR_REMOVE_ONE
    parameters = (Parameter("window", "W", "In how many queries a record is at most.", whole),)
    example = "--dim 3 --window 2 --mu 1"

    def __init__(self, *, dim: int, window: int, mu: Exact) -> None:
        exact_mu = check_positive(mu, "mu")
        self.dim, self.window = check_dim(dim), check_dim(window, "window")
        if self.window > self.dim:
            raise InvalidValue("window", window, f"at most dim={dim}", "a record is in no more queries than there are")
        self.claim = GaussianDP(exact_mu)
        self.noise = SharedNoise(dim=self.dim, independent_scale=sqrt_up(Real.of(self.window / exact_mu**2)))
        self.sensitivity = Cube(dim=self.dim, nonzero=self.window)
        self.assumptions = (f"every record lies in [0, 1]^d, with at most {self.window} non-zero entries",)

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(d,)"""
        return (self.dim,)

    def check_records(self, dataset: ArrayLike) -> Array:
        """The dataset as float64 of shape (n, d), entries in [0, 1], at most ``window`` of a row not 0."""
        records = check_array(dataset, self.record_shape, 0.0, 1.0)
        most = int((records != 0).sum(axis=1).max(initial=0))
        if most > self.window:
            remedy = "keep the first entries of a record, and say so in the analysis"
            raise InvalidValue("non-zero entries of a record", most, f"at most {self.window}", remedy)
        return records

    def statistic(self, records: Array) -> Array:
        """f(X) = sum x_i, shape (d,)."""
        total: Array = records.sum(axis=0)
        return total

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        return GaussianMechanism.describe(self) | {"window": str(self.window)}
