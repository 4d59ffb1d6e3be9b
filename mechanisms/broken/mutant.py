"""What a known-wrong variant is: a claim, and its true privacy in closed form; and Gaussian mechanisms for them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.balls import Exact, Real, ball, compare, sqrt_up
from dpverdict.checks import check_array, check_dim, check_positive, check_probability, check_whole
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import ApproximateDP, Guarantee
from dpverdict.mechanisms.core.mechanism import GaussianMechanism, StructuredMechanism
from dpverdict.mechanisms.core.noise import GaussianNoise, GroupedNoise, Number
from dpverdict.mechanisms.core.sensitivity import SensitivitySpace
from dpverdict.mechanisms.queries.grouped import check_groups, grouped_sums
from dpverdict.numerics.arrays import Array

_ROUNDING: Final = 1e-9
"""Of a true delta in float64, relatively, at most."""

Root = Callable[[int], Number]
Formula = Callable[[int, Number, Root], Number]
"""A formula of (d, mu, root), root(k) = sqrt(k): evaluated in rationals where they suffice, in balls otherwise."""


class Infinite(Exception):
    """Raised by a formula for mu^2 where it is infinite."""


class _Irrational(Exception):
    """A square root that was asked for is not rational."""


def exact_root(k: int) -> Fraction:
    """sqrt(k) as a rational."""
    root = Real.of(k).sqrt().rational
    if root is None:
        raise _Irrational
    return root


def evaluate(formula: Formula, dim: int, mu: Fraction) -> Real:
    """The value of a formula: an exact rational if every root it takes is rational, refinable balls otherwise."""
    try:
        return Real.of(Fraction(formula(dim, mu, exact_root)))
    except _Irrational:
        return Real(lambda: formula(dim, ball(mu), lambda k: ball(k).sqrt()))


def times(factor: Fraction, number: Number) -> Number:
    """factor * number, also where the field of ``number`` does not know rationals (balls)."""
    return number * factor.numerator / factor.denominator


def scale(variance: Formula, dim: int, mu: Fraction) -> float:
    """The standard deviation of a variance formula, rounded up to float64; 0 for the variance 0."""
    number = evaluate(variance, dim, mu)
    return 0.0 if number.rational == 0 else sqrt_up(number)


Build = Callable[[int, Fraction], StructuredMechanism]
"""Makes the wrong mechanism for (dim, mu)."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A known-wrong variant, with its true privacy in closed form.

    Attributes:
        name: identifier, for example "M3".
        title: what is wrong, in a few words.
        source: where the slip is printed or made.
        formula: the true mu^2 in words of d, mu and r = sqrt d.
        build: makes the mechanism for (dim, mu).
        squared: the true mu^2; None when it is infinite in every dimension.
        least_dim: the smallest dimension in which the variant exists.
    """

    name: str
    title: str
    source: str
    formula: str
    build: Build
    squared: Formula | None
    least_dim: int = 1
    parameters: ClassVar[tuple[str, ...]] = ("dim", "mu")

    def make(self, dim: int, mu: Exact) -> StructuredMechanism:
        """The wrong mechanism, claiming ``GaussianDP(mu)``.

        Raises:
            InvalidValue: dim below `least_dim`, or mu not positive.
        """
        return self.build(self._dim(dim), check_positive(mu, "mu"))

    def true_mu_squared(self, dim: int, mu: Exact) -> Real | None:
        """The squared GDP parameter the variant really has; None when it is infinite."""
        if self.squared is None:
            return None
        try:
            return evaluate(self.squared, self._dim(dim), check_positive(mu, "mu"))
        except Infinite:
            return None

    def true_mu(self, dim: int, mu: Exact) -> float:
        """The GDP parameter the variant really has, nearest float64; inf when the pair is perfectly distinguishable."""
        squared = self.true_mu_squared(dim, mu)
        return math.inf if squared is None else squared.sqrt().nearest()

    def refutable(self, dim: int, mu: Exact = 1) -> bool:
        """Whether the claim is false in this dimension: true mu > mu, decided exactly."""
        if dim < self.least_dim:
            return False
        squared = self.true_mu_squared(dim, mu)
        return squared is None or compare(squared, Real.of(check_positive(mu, "mu") ** 2)) == 1

    def _dim(self, dim: int) -> int:
        checked = check_dim(dim)
        if checked < self.least_dim:
            raise InvalidValue("dim", dim, f">= {self.least_dim} for {self.name}", "the variant needs more queries")
        return checked


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaMutant:
    """A known-wrong variant with a claim of (epsilon, delta)-DP, and a delta that it really has.

    Attributes:
        name: identifier, for example "P1".
        title: what is wrong, in a few words.
        source: where the slip is made.
        formula: the true delta in words of d, e and c.
        build: makes the mechanism for (dim, epsilon, delta).
        delta: the true delta at the epsilon of the claim, in float64; where the formula says so, one that it has at
            least.
        where: for which d and c the claim is false, in words.
        least_dim: the smallest d for which the variant exists.
    """

    name: str
    title: str
    source: str
    formula: str
    build: Callable[[int, Fraction, Fraction], StructuredMechanism]
    delta: Callable[[int, Fraction, Fraction], float]
    where: str = "all"
    least_dim: int = 1
    parameters: ClassVar[tuple[str, ...]] = ("dim", "epsilon", "delta")

    def make(self, dim: int, epsilon: Exact, delta: Exact) -> StructuredMechanism:
        """The wrong mechanism, claiming ``ApproximateDP(epsilon, delta)``.

        Raises:
            InvalidValue: an argument is out of range.
        """
        level, share = check_positive(epsilon, "epsilon"), check_probability(delta, "delta", "give that of the claim")
        wrong = self.build(check_whole(dim, "dim", least=self.least_dim, remedy="give d"), level, share)
        wrong.claim = ApproximateDP(epsilon=level, delta=share)
        wrong.name, wrong.source = f"broken:{self.name}", f"known-wrong variant {self.name}"
        return wrong

    def true_delta(self, dim: int, epsilon: Exact, delta: Exact) -> float:
        """The delta at the epsilon of the claim, up to rounding, or one that it has at least."""
        return self.delta(check_dim(dim), check_positive(epsilon, "epsilon"), Fraction(delta))

    def refutable(self, dim: int, epsilon: Exact = 1, delta: Exact = "0.001") -> bool:
        """Whether the claim is false, by more than rounding."""
        return self.true_delta(dim, epsilon, delta) > float(Fraction(delta)) * (1 + _ROUNDING)

    def where_refutable(self) -> str:
        """For which d it is, in words."""
        return self.where


@final
class BrokenMechanism(GaussianMechanism):
    """Sums of records with the given noise, published with a claim that need not be true.

    The statistic is f(X), or (f(X), n) when the noise has a count, or the rows of both when the noise is grouped.
    """

    name: str
    source: str
    dim: int
    claim: Guarantee
    adjacency: NeighboringRelation
    noise: GaussianNoise
    sensitivity: SensitivitySpace
    low: float | Array
    high: float | Array
    assumptions: tuple[str, ...]

    def __init__(
        self,
        *,
        name: str,
        source: str,
        dim: int,
        claim: Guarantee,
        adjacency: NeighboringRelation,
        noise: GaussianNoise,
        sensitivity: SensitivitySpace,
        low: float | Array = 0.0,
        high: float | Array = 1.0,
    ) -> None:
        self.name, self.source, self.dim, self.claim, self.adjacency = name, source, dim, claim, adjacency
        self.noise, self.sensitivity = noise, sensitivity
        self.low, self.high = low, high
        self.assumptions = ("every record lies in the range this variant accepts",)

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(d,), or (m, d) for grouped noise."""
        return (self.noise.groups, self.dim) if isinstance(self.noise, GroupedNoise) else (self.dim,)

    def check_records(self, dataset: ArrayLike) -> Array:
        """The dataset as float64 of shape (n, *record_shape), entries in the accepted range."""
        records = check_array(dataset, self.record_shape, self.low, self.high)
        return check_groups(records) if isinstance(self.noise, GroupedNoise) else records

    def statistic(self, records: Array) -> Array:
        """f, (f, n), or the grouped rows of both, as the noise has it."""
        if isinstance(self.noise, GroupedNoise):
            return grouped_sums(records)
        total: Array = records.sum(axis=0)
        return np.append(total, float(len(records))) if self.noise.size == self.dim + 1 else total
