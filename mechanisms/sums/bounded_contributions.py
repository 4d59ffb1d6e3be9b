"""Noisy sums of the records of users, of whom each has a bounded part in them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import ClassVar, Final, Literal, TypeAlias, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.audit.losses.base import RANDOM_BITS, REAL_ARITHMETIC
from dpverdict.balls import Exact, Real, exactly
from dpverdict.checks import check_array, check_dim, check_moderate, check_whole, check_whole_entries
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.calibration import analytic_scale, l1_scale
from dpverdict.mechanisms.core.guarantees import ApproximateDP, Guarantee, PureDP, ZeroConcentratedDP
from dpverdict.mechanisms.core.laplace_noise import LaplaceNoise, laplace_score
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, NeighbourPair, check_adjacency
from dpverdict.mechanisms.core.noise import SharedNoise
from dpverdict.mechanisms.core.parameters import Parameter, whole
from dpverdict.mechanisms.sums.contributions import BoundedUsers, ContributionBounds
from dpverdict.mechanisms.sums.whole_noise import DiscreteGaussianNoise
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import float_above, rounded_up
from dpverdict.numerics.text import exact_text

NoiseName: TypeAlias = Literal["laplace", "gaussian", "discrete-gaussian"]
NOISES: Final[tuple[NoiseName, ...]] = ("laplace", "gaussian", "discrete-gaussian")


@final
class BoundedContributions(AdditiveMechanism):
    """d sums of values, one for each key, of users with any number of records, with equal noise on every sum.

    The bounds are part of the mechanism (`ContributionBounds`): values are clipped to [low, high], m values with a key
    and k keys of each user are kept, and that user's vector of sums is scaled down to the norms that are bounded. So
    every dataset is accepted, and the worst user is known exactly, under every combination of bounds: one of
    floor(L1/M) sums of M = m high and one of the rest, or of k sums of M. A choice of keys and values at random, by a
    rule that looks at one user at a time, promises the same.

    Args:
        dim: number of keys d, which are public.
        keys: k, at most so many keys of a user are kept.
        epsilon, delta: of the claim, exact; epsilon-DP if delta is left out or 0.
        rho: in place of both: the claim is rho-zCDP, and the variance of Gaussian noise is the largest squared l2 norm
            of a difference over 2 rho.
        adjacency: the neighbouring relation of the claim; a record is a user.
        noise: "laplace", "gaussian" or "discrete-gaussian", which is for whole values, without bounds on a norm; where
            a user is replaced, for values that are not negative.
        scale: of the noise, exact; rounded up to a float64, but for discrete Gaussian noise of parameter scale^2. If
            left out, what the claim needs: by the l1 norm for Laplace noise, the least that is certainly enough for
            Gaussian noise; discrete Gaussian noise needs it, or rho.
        per_key: m, so many values with one key are kept; 1 if left out.
        low, high: of a value; 0 and 1 if left out. low is 0 or -high: shift the values otherwise.
        l1, l2: bounds on the norm of the sums of a user, exact; none if left out. An l2 norm is for Gaussian noise.
        held: the most values with one key that a user of the data has; what is promised does not depend on it; 2 m if
            left out.

    Raises:
        InvalidValue: an argument is out of range.

    Reference: Wilson et al. 2020, section 3 (arXiv:1909.01917), bounded contributions; the worst user: `contributions`.

    >>> from dpverdict.audit import certify
    >>> from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE
    >>> visits = BoundedContributions(dim=100, keys=4, per_key=2, noise="gaussian", epsilon=1, delta="1e-6",
    ...                               adjacency=ADD_OR_REMOVE_ONE)
    >>> certify(visits).status.name, certify(visits, "eps=0.999, delta=1e-6").status.name
    ('CERTIFIED', 'REFUTED')
    """

    name = "bounded-contributions"
    title = "sums by key of users with many records"
    source = "Wilson et al. 2020, section 3"
    noise: LaplaceNoise | SharedNoise | DiscreteGaussianNoise
    sensitivity: BoundedUsers
    dim: int
    held: int
    noise_name: NoiseName
    scale: float
    bounds: ContributionBounds
    adjacency: NeighboringRelation
    claim: Guarantee
    assumptions: tuple[str, ...]
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("dim", "D", "Number of keys, which are public.", whole, axis="keys"),
        Parameter("keys", "K", "So many keys of a user are kept.", whole),
        Parameter("per_key", "M", "So many values of a user with one key are kept; 1 if not given.", whole),
        Parameter("low", "X", "The least value, 0 or -high; 0 if not given."),
        Parameter("high", "X", "The largest value; 1 if not given."),
        Parameter("l1", "X", "Bound on the l1 norm of the sums of a user; none if not given."),
        Parameter("l2", "X", "Bound on their l2 norm, with Gaussian noise; none if not given."),
        Parameter(
            "held", "R", "Most values of a user with one key in the data; 2 M if not given.", whole, axis="values"
        ),
        Parameter("noise", "|".join(NOISES), "The law of the noise."),
        Parameter("scale", "X", "Scale of the noise; what the claim needs if not given."),
        Parameter("epsilon", "X", "Epsilon that is claimed."),
        Parameter("delta", "X", "Delta that is claimed; 0 if not given."),
        Parameter("rho", "X", "zCDP parameter that is claimed, in place of epsilon."),
    )
    example = "--dim 3 --keys 2 --noise laplace --epsilon 1 --adjacency add-or-remove-one"
    scaled_by: ClassVar[str | None] = "scale"

    def __init__(
        self,
        *,
        dim: int,
        keys: int,
        adjacency: NeighboringRelation,
        noise: NoiseName,
        epsilon: Exact | None = None,
        delta: Exact = 0,
        rho: Exact | None = None,
        scale: Exact | None = None,
        per_key: int = 1,
        low: Exact = 0,
        high: Exact = 1,
        l1: Exact | None = None,
        l2: Exact | None = None,
        held: int | None = None,
    ) -> None:
        self.dim, self.adjacency = check_dim(dim), check_adjacency(adjacency)
        most, least = check_moderate(high, "high"), exactly(low, name="low")
        if least not in (0, -most):
            remedy = "shift the values, so that they are symmetric about 0"
            raise InvalidValue("low", low, f"0 or {exact_text(-most)}, minus high", remedy)
        if noise not in NOISES:
            raise InvalidValue("noise", noise, f"one of {', '.join(NOISES)}", "laplace needs no delta")
        if l2 is not None and noise == "laplace":
            remedy = "bound the l1 norm, or take Gaussian noise"
            raise InvalidValue("l2", l2, "left out with Laplace noise, whose worst user is then not known", remedy)
        self.bounds = ContributionBounds(
            dim=self.dim,
            keys=check_whole(keys, "keys", least=1, most=self.dim, remedy="a user has one key at least, dim at most"),
            per_key=check_dim(per_key, "per_key"),
            low=least,
            high=most,
            l1=None if l1 is None else check_moderate(l1, "l1"),
            l2=None if l2 is None else check_moderate(l2, "l2"),
        )
        self.held = 2 * self.bounds.per_key if held is None else check_dim(held, "held")
        if self.held < self.bounds.per_key:
            raise InvalidValue("held", held, f"at least per_key={per_key}", "leave it out")
        replaced = self.adjacency is REPLACE_ONE
        self.sensitivity = BoundedUsers(bounds=self.bounds, slots=self.held, replaced=replaced)
        self.claim = _claim(epsilon, delta, rho)
        self.noise_name = noise
        self._set_noise(noise, None if scale is None else check_moderate(scale, "scale"))
        self.assumptions = (
            "a record is all that one user has, and what is kept of a user depends on that user alone",
            RANDOM_BITS if isinstance(self.noise, DiscreteGaussianNoise) else REAL_ARITHMETIC,
        )

    def _set_noise(self, name: NoiseName, scale: Fraction | None) -> None:
        """The noise of that scale, or what the claim needs."""
        if name == "laplace":
            self.scale = self._laplace_scale() if scale is None else float_above(scale)
            self.noise = LaplaceNoise(size=self.dim, scale=self.scale)
            return
        square = self.bounds.largest_square(replaced=self.sensitivity.replaced)
        if scale is None and isinstance(self.claim, PureDP):
            raise InvalidValue("delta", 0, "given and > 0 with Gaussian noise", "add --delta 1e-6, or take laplace")
        if scale is None and name == "discrete-gaussian" and not isinstance(self.claim, ZeroConcentratedDP):
            remedy = "calibrate finds the scale for an epsilon and a delta"
            raise InvalidValue("scale", None, "given with discrete-gaussian noise, or rho", remedy)
        if isinstance(self.claim, ZeroConcentratedDP) and scale is None:
            variance = Real.of(square / (2 * self.claim.rho))
        else:
            deviation = scale if scale is not None else Fraction(self._gaussian_scale(square))
            variance = Real.of(deviation**2)
        if name == "gaussian":
            self.scale = rounded_up(variance.sqrt())
            self.noise = SharedNoise(dim=self.dim, independent_scale=self.scale)
            return
        whole = all(value.denominator == 1 for value in (self.bounds.low, self.bounds.high))
        if not whole or not self.sensitivity.is_box:
            requirement = "whole values without bounds on a norm, and not negative ones under replace-one"
            raise InvalidValue("noise", name, f"left for {requirement}", "take gaussian")
        assert variance.rational is not None
        self.scale = variance.sqrt().nearest()
        self.noise = DiscreteGaussianNoise(size=self.dim, variance=variance.rational)

    def _laplace_scale(self) -> float:
        if not isinstance(self.claim, ApproximateDP | PureDP):
            raise InvalidValue("rho", self.claim.describe(), "left for Gaussian noise", "give epsilon, or a scale")
        moves = self.bounds.largest_difference(replaced=self.sensitivity.replaced)
        return l1_scale(self.claim.epsilon, sum((size * number for size, number in moves), Fraction(0)))

    def _gaussian_scale(self, square: Fraction) -> float:
        """The least that is certainly enough."""
        assert isinstance(self.claim, ApproximateDP)
        return analytic_scale(self.claim.epsilon, self.claim.delta, Real.of(square).sqrt())

    # what is released -------------------------------------------------------------------------------------------------

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(d, R): the values of one user with each key, and 0 where there are no more."""
        return (self.dim, self.held)

    def check_records(self, dataset: ArrayLike) -> Array:
        """The values as float64 of shape (n, d, R), any finite numbers."""
        finite = float(np.finfo(np.float64).max)
        records = check_array(dataset, self.record_shape, -finite, finite)
        if isinstance(self.noise, DiscreteGaussianNoise):
            check_whole_entries(records, "round the values, or take gaussian noise")
        return records

    def statistic(self, records: Array) -> Array:
        """The sums of what is kept of every user: shape (d,)."""
        total: Array = self.bounds.keep(records).sum(axis=0)
        return total

    def likelihood_score(self, pair: NeighbourPair) -> Callable[[Array], Array]:
        """The log-likelihood ratio of P against Q at releases of shape (trials, d): the most powerful score."""
        here, there = self.embed(pair.dataset), self.embed(pair.neighbour)
        if isinstance(self.noise, LaplaceNoise):
            return lambda releases: laplace_score(releases, here, there, 1 / self.scale)
        return lambda releases: (releases - (here + there) / 2) @ (here - there) / self.scale**2

    def describe(self) -> dict[str, str]:
        """Name, parameters and the scale of the noise."""
        bounds = self.bounds
        own = {"keys": str(bounds.keys), "per_key": str(bounds.per_key)}
        own |= {"low": exact_text(bounds.low), "high": exact_text(bounds.high)}
        own |= {name: exact_text(size) for name, size in (("l1", bounds.l1), ("l2", bounds.l2)) if size is not None}
        own |= {"noise": self.noise_name, "scale": repr(self.scale)}
        return AdditiveMechanism.describe(self) | own


def _claim(epsilon: Exact | None, delta: Exact, rho: Exact | None) -> ApproximateDP | PureDP | ZeroConcentratedDP:
    if (epsilon is None) is (rho is None):
        raise InvalidValue("epsilon", epsilon, "given, or rho in its place", "add --epsilon, or --rho")
    if rho is not None:
        return ZeroConcentratedDP(rho)
    assert epsilon is not None
    return ApproximateDP(epsilon=epsilon, delta=delta) if exactly(delta, name="delta") else PureDP(epsilon)
