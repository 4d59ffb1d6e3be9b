"""The Laplace mechanism on sums, calibrated by the l1 sensitivity, by the l2 sensitivity, or by the exact curve.

Its records are those of a cube, an l1 ball or an l2 ball. Three facts give their worst pairs under independent Laplace
noise. (1) A log-concave law against itself moved further tells more, coordinate by coordinate, so enlarging any
|a_j| of the shift vector a enlarges the loss. (2) Of all shift vectors with the same l1 norm, the one on a single
coordinate dominates: a chain of moves, one coordinate at a time, has a trade-off function of at least the composition
f(1 - g) of those of its links, and for moves of one log-concave law along one line, where half-lines are the best
tests, this is an equality: F(F^-1(1 - alpha) - a - b). (3) Lap(1) moved by s is s-DP, hence s^2/2-zCDP.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Literal, TypeAlias, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.audit.losses.base import REAL_ARITHMETIC, PrivacyLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.balls import Exact, Real, exactly
from dpverdict.checks import check_array, check_ball, check_dim, check_positive
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.bounds import concentrated
from dpverdict.mechanisms.core.calibration import analytic_scale, concentrated_scale, l1_scale, theorem_scale
from dpverdict.mechanisms.core.guarantees import ApproximateDP, Guarantee, PureDP, as_guarantee
from dpverdict.mechanisms.core.laplace_noise import LaplaceNoise, laplace_score
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism, SumOfRecords, sampled_above
from dpverdict.mechanisms.core.neighbours import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    NeighbourPair,
    adjacency_name,
    check_adjacency,
)
from dpverdict.mechanisms.core.noise import Noise
from dpverdict.mechanisms.core.parameters import ADJACENCY, Parameter
from dpverdict.mechanisms.core.sensitivity import LossBound, Maximum, alone, unsupported
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import float_above, float_below, least_float, rounded_up, sized
from dpverdict.numerics.text import exact_text, short_text

Norm: TypeAlias = Literal["linf", "l1", "l2"]
NORMS: tuple[Norm, ...] = ("linf", "l1", "l2")
_BITS = 192


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RealRecords:
    """Records of [0, radius]^d ("linf"), or of R^d with an l1 or l2 norm of at most ``radius``.

    Args:
        dim: number of queries d.
        norm: which.
        radius: > 0, taken at its exact value; if it is no float64, the worst record shown is the float64 below it.
        replaced: whether a record is replaced by another; otherwise one is added or removed.
    """

    dim: int
    norm: Norm
    radius: float | Fraction
    replaced: bool

    def __post_init__(self) -> None:
        if self.norm not in NORMS:
            remedy = "linf for records of a cube, else the norm that is bounded"
            raise InvalidValue("norm", self.norm, f"one of {', '.join(NORMS)}", remedy)
        if not 2.0**-400 <= self.radius <= 2.0**400:
            raise InvalidValue("radius", self.radius, "between 2^-400 and 2^400", "choose units of moderate size")

    @property
    def reach(self) -> Fraction:
        """The largest norm of a difference: twice the radius between two records of a ball."""
        return Fraction(self.radius) * (2 if self.replaced and self.norm != "linf" else 1)

    def l1(self) -> Real:
        """The largest l1 norm of a difference, exactly."""
        match self.norm:
            case "linf":
                return Real.of(self.dim * self.reach)
            case "l1":
                return Real.of(self.reach)
            case _:
                return Real.of(self.dim).sqrt().times(self.reach)

    def l2(self) -> Real:
        """The largest l2 norm of a difference, exactly."""
        return (Real.of(self.dim).sqrt() if self.norm == "linf" else Real.of(1)).times(self.reach)

    def l2_squared(self) -> Fraction:
        """The square of `l2`."""
        return self.reach**2 * (self.dim if self.norm == "linf" else 1)

    def checked(self, dataset: ArrayLike) -> Array:
        """The dataset as float64 of shape (n, d), every record one of these, decided exactly."""
        radius = Fraction(self.radius)
        if self.norm == "linf":
            return check_array(dataset, (self.dim,), 0.0, float_below(radius))
        return check_ball(dataset, self.dim, self.norm, radius)

    def maximise(self, noise: Noise) -> Maximum | LossBound:
        """The longest difference of a cube or an l1 ball; for an l2 ball a bound, with the pair of equal entries."""
        if not isinstance(noise, LaplaceNoise):
            raise unsupported(self, noise)
        record, shown = self.worst_record(), _number_text(self.radius)
        other = (np.zeros(self.dim) if self.norm == "linf" else -record) if self.replaced else None
        if self.norm != "l2" or self.dim == 1:
            moved = self.dim if self.norm == "linf" else 1
            why = (
                "every shift is the largest at once"
                if self.norm == "linf"
                else "of one l1 norm, one coordinate tells most"
            )
            return Maximum(
                loss=LaplaceLoss.grouped([(self.reach * noise.rate, moved)]),
                datasets=alone(record, other),
                description=f"a record with all {self.dim} entries at {shown}"
                if self.norm == "linf"
                else f"a record with one entry at {shown} and no other",
                justification=f"{why}, and the loss of log-concave noise grows with every shift",
            )
        description = f"a record of l2 norm {shown} with {self.dim} equal entries"
        justification = (
            "of one l1 norm, a shift on a single coordinate tells most: the loss shown is that of one of "
            "norm sqrt(d) times the l2 radius, a bound; every pair is also zCDP by its l2 norm"
        )
        rho = self.reach**2 * noise.rate**2 / 2
        return LossBound(
            loss=LaplaceLoss([_root_above(self.dim) * self.reach * noise.rate]),
            datasets=alone(record, other),
            description=description,
            justification=justification,
            attained=self.loss(noise, record, other),
            further=concentrated(rho, "by the l2 norm", f"{description}; {justification}", (REAL_ARITHMETIC,)),
        )

    def worst_record(self) -> Array:
        """All ones times the radius; one entry at the radius; or equal entries, rounded down into the l2 ball."""
        if self.norm == "linf":
            return np.full(self.dim, float_below(Fraction(self.radius)))
        if self.norm == "l1":
            return np.where(np.arange(self.dim) == 0, float_below(Fraction(self.radius)), 0.0)
        entry = float(self.radius) / math.sqrt(self.dim)
        while self.dim * Fraction(entry) ** 2 > Fraction(self.radius) ** 2:
            entry = math.nextafter(entry, 0.0)
        return np.full(self.dim, entry)

    def loss(self, noise: Noise, record: Array, replacement: Array | None = None) -> PrivacyLoss:
        """The privacy loss when a record is added, removed or replaced; that of equal laws where nothing moves."""
        if not isinstance(noise, LaplaceNoise) or (replacement is None) is self.replaced:
            raise unsupported(self, noise)
        return noise.loss(record, np.zeros(self.dim) if replacement is None else replacement)


def _number_text(number: float | Fraction) -> str:
    return exact_text(number) if isinstance(number, Fraction) else repr(number)


def _root_above(dim: int) -> Fraction:
    """sqrt(d), rounded up to 192 bits after the point; exactly, if it is whole."""
    below = math.isqrt(dim << 2 * _BITS)
    return Fraction(below + (below * below < dim << 2 * _BITS), 1 << _BITS)


_STEP: Final = 2.0**-44
"""What a scale grows by, relatively, while it is not certainly large enough; doubled each time."""


@final
class LaplaceMechanism(SumOfRecords):
    """f(X) + Laplace noise on every query, with f(X) = sum x_i.

    The records are those of [0, radius]^d, or of R^d with an l1 or l2 norm of at most the radius. With D1 the largest
    l1 norm of a difference, the scale D1/epsilon makes it epsilon-DP, tightly: D1 = d radius under either relation for
    the cube; for the balls the radius, or sqrt(d) times the radius, and twice that under REPLACE_ONE. The other
    constructors claim (epsilon, delta)-DP with less noise: `from_theorem` by Theorem 1.3, `from_concentrated` by
    zero-concentrated DP, `with_scale` by any other argument, such as the exact curve.

    The worst case is known in closed form for the cube and the l1 ball; for the l2 ball it is bounded (`RealRecords`).

    Any Laplace noise is stated by its scale b and the sensitivity D of the statistic, in l1 norm, or in l2 norm with
    ``norm="l2"``: it is D/b-DP, or sqrt(d) D/b-DP. Both numbers are then analysed exactly, and one record moves the sum
    by any vector of norm at most D under either relation.

    Args:
        dim: number of queries d >= 1; 1 if left out.
        epsilon: > 0, exact. With a sensitivity it may be left out: the claim is then what the scale keeps.
        adjacency: the neighbouring relation of the claim; it may be left out where a sensitivity says what changes.
        norm: "linf" for records of the cube, "l1" or "l2" for those of a ball; left out, "linf" without and "l1" with
            a sensitivity.
        radius: > 0, exact; rounded up to a float64; 1 if left out.
        scale: of the noise, to be used in place of D1/epsilon; exact. Without a sensitivity it is rounded up to a
            float64; with one it is analysed as it is, and sampled with the float64 above it.
        sensitivity: D > 0, exact: how far one record moves the statistic.

    Attributes:
        calibration: how the scale was found, in a few words.
        scale: the scale that is sampled.

    Raises:
        InvalidValue: an argument is out of range.

    >>> from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE
    >>> pure = LaplaceMechanism(dim=100, epsilon=1, adjacency=ADD_OR_REMOVE_ONE)
    >>> mixed = LaplaceMechanism.from_concentrated(dim=100, epsilon=1, delta="1e-5", adjacency=ADD_OR_REMOVE_ONE)
    >>> pure.scale, round(mixed.scale, 2), mixed.calibration
    (100.0, 40.45, 'zero-concentrated DP, best order')
    >>> LaplaceMechanism(scale="2.5", sensitivity=1).claim
    PureDP(eps=0.4)
    """

    name = "laplace"
    title = "d sums with Laplace noise on each"
    source = "Andersson, Pagh and Torkamani 2024, Lemma A.2"
    noise: LaplaceNoise
    sensitivity: RealRecords
    dim: int
    assumptions: tuple[str, ...]
    parameters: ClassVar[tuple[Parameter, ...]] = (
        ADJACENCY.otherwise(
            ADD_OR_REMOVE_ONE,
            "add-or-remove-one was taken (the noise is the same under replace-one)",
            when=lambda given: given.get("norm", "linf") == "linf" and "sensitivity" not in given,
        ),
        Parameter("norm", "linf|l1|l2", "The norm of a record that is bounded."),
    )
    calibrations: ClassVar[tuple[str, ...]] = ("theorem", "concentrated")
    scaled_by: ClassVar[str | None] = "scale"
    example = "--dim 3 --epsilon 1"
    seconds_per_thousand: ClassVar[float] = 0.2

    def __init__(
        self,
        *,
        dim: int = 1,
        epsilon: Exact | None = None,
        adjacency: NeighboringRelation | None = None,
        norm: Norm | None = None,
        radius: Exact | None = None,
        scale: Exact | None = None,
        sensitivity: Exact | None = None,
    ) -> None:
        if sensitivity is not None:
            self._stated(dim, sensitivity, scale, epsilon, adjacency or ADD_OR_REMOVE_ONE, norm or "l1", radius)
            return
        if epsilon is None or adjacency is None:
            parts = {"epsilon": epsilon, "adjacency": adjacency}
            missing = " and ".join(name for name, value in parts.items() if value is None)
            remedy = f"add --{missing.replace(' and ', ' and --')}, or --sensitivity and --scale"
            raise InvalidValue(missing, None, "given without a sensitivity", remedy)
        claim = PureDP(check_positive(epsilon, "epsilon"))
        records = _records(dim, norm or "linf", 1 if radius is None else radius, adjacency)
        if scale is None:
            self._set(records, l1_scale(epsilon, records.l1()), claim, adjacency, "l1 sensitivity")
        else:
            own = float_above(check_positive(scale, "scale"))
            self._set(records, own, claim, adjacency, "given by the caller")

    def _stated(
        self,
        dim: int,
        sensitivity: Exact,
        scale: Exact | None,
        epsilon: Exact | None,
        adjacency: NeighboringRelation,
        norm: Norm,
        radius: Exact | None,
    ) -> None:
        """For a sensitivity, and a scale, an epsilon or both."""
        distance = check_positive(sensitivity, "sensitivity")
        if norm == "linf" or radius is not None:
            name, value = ("norm", norm) if norm == "linf" else ("radius", radius)
            raise InvalidValue(name, value, "left out with a sensitivity", "a sensitivity is in l1, or in l2 norm")
        replaced = check_adjacency(adjacency) is REPLACE_ONE
        reach = distance / 2 if replaced else distance
        records = RealRecords(dim=check_dim(dim), norm=norm, radius=reach, replaced=replaced)
        how = "given by the caller"
        if scale is not None:
            stated = check_positive(scale, "scale")
            sized(float_above(stated))
        elif epsilon is not None:
            stated, how = Fraction(l1_scale(epsilon, records.l1())), "l1 sensitivity"
        else:
            raise InvalidValue("scale", None, "given with a sensitivity", "add scale, or epsilon to have it found")
        if epsilon is None:  # sqrt(d) may enter: the claim then says the float64 above it
            most = records.l1()
            epsilon = (most.rational or Fraction(rounded_up(most))) / stated
        self._set(records, stated, PureDP(check_positive(epsilon, "epsilon")), adjacency, how)

    @classmethod
    def from_theorem(
        cls,
        *,
        dim: int,
        epsilon: Exact,
        delta: Exact,
        adjacency: NeighboringRelation,
        norm: Norm = "linf",
        radius: Exact = 1,
    ) -> LaplaceMechanism:
        """Calibrated by Theorem 1.3: the smaller of the l1 scale and the l2 scale of Lemma 5.4."""
        records = _records(dim, norm, radius, adjacency)
        made = cls.__new__(cls)
        scale = theorem_scale(epsilon, delta, records.l1(), records.l2())
        made._set(records, scale, ApproximateDP(epsilon, delta), adjacency, "Theorem 1.3")
        made.source = "Andersson, Pagh and Torkamani 2024, Theorem 1.3"
        return made

    @classmethod
    def from_concentrated(
        cls,
        *,
        dim: int,
        epsilon: Exact,
        delta: Exact,
        adjacency: NeighboringRelation,
        norm: Norm = "linf",
        radius: Exact = 1,
    ) -> LaplaceMechanism:
        """Calibrated by D2^2/(2 scale^2)-zCDP, converted at the best order; never above `from_theorem`'s scale."""
        records = _records(dim, norm, radius, adjacency)
        made = cls.__new__(cls)
        scale = concentrated_scale(epsilon, delta, records.l1(), records.l2_squared())
        made._set(records, scale, ApproximateDP(epsilon, delta), adjacency, "zero-concentrated DP, best order")
        made.source = "Bun and Steinke 2016, Proposition 3.3"
        return made

    @classmethod
    def with_scale(
        cls,
        *,
        dim: int,
        scale: float,
        claim: Guarantee | str,
        adjacency: NeighboringRelation,
        calibration: str,
        norm: Norm = "linf",
        radius: Exact = 1,
    ) -> LaplaceMechanism:
        """Noise of a given scale, with whatever claim: to be certified, not trusted."""
        mechanism = cls.__new__(cls)
        mechanism._set(_records(dim, norm, radius, adjacency), scale, as_guarantee(claim), adjacency, calibration)
        mechanism.source = "given by the caller"
        return mechanism

    def _set(
        self,
        records: RealRecords,
        scale: float | Fraction,
        claim: Guarantee,
        adjacency: NeighboringRelation,
        calibration: str,
    ) -> None:
        self.dim, self.sensitivity = records.dim, records
        self.noise = LaplaceNoise(size=self.dim, scale=scale)
        self.claim = claim
        self.adjacency = adjacency
        self.calibration = calibration
        radius = exact_text(Fraction(records.radius))
        lies = (
            f"lies in [0, {radius}]^d" if records.norm == "linf" else f"has an {records.norm} norm of at most {radius}"
        )
        real = "noise and sums are real numbers, not floats"
        self.assumptions = (f"every record {lies}", real, *sampled_above(Fraction(scale), self.scale))

    @property
    def scale(self) -> float:
        """The scale of the noise that is sampled: the least float64 that is not below the one that was stated."""
        return float_above(Fraction(self.noise.scale))

    @property
    def variance(self) -> Fraction:
        """The variance of a query, 2 scale^2, exactly."""
        return self.noise.variance

    def check_records(self, dataset: ArrayLike) -> Array:
        """The dataset as float64 of shape (n, d), every record in the cube or ball (decided exactly)."""
        return self.sensitivity.checked(dataset)

    def likelihood_score(self, pair: NeighbourPair) -> Callable[[Array], Array]:
        """The log-likelihood ratio of P against Q at releases of shape (trials, d): the most powerful score."""
        here, there = self.embed(pair.dataset), self.embed(pair.neighbour)
        return lambda releases: laplace_score(releases, here, there, float(self.noise.rate))

    def laplace_shifts(self, record: ArrayLike, replacement: ArrayLike | None = None) -> tuple[Fraction, ...]:
        """How far a record moves each query, in units of the scale, exactly: |x_j|/scale, or |x_j - x'_j|/scale.

        The privacy loss of the pair is that of independent Laplace variables with these shifts.

        Raises:
            InvalidValue: a record of another shape or out of range, or a replacement that does not fit the relation.
        """
        if (replacement is not None) != (self.adjacency is REPLACE_ONE):
            remedy = "pass replacement= under replace-one, and leave it out under add-or-remove-one"
            raise InvalidValue("replacement", replacement, f"consistent with {adjacency_name(self.adjacency)}", remedy)
        one = self.check_records(np.asarray(record)[None])[0].tolist()
        other = (
            [0.0] * self.dim if replacement is None else self.check_records(np.asarray(replacement)[None])[0].tolist()
        )
        return tuple(abs(Fraction(x) - Fraction(y)) * self.noise.rate for x, y in zip(one, other, strict=True))

    def worst_pair(self) -> NeighbourPair:
        """The neighbouring pair with the largest privacy loss; for the l2 ball the one that its bound is held to."""
        record, other = self.sensitivity.maximise(self.noise).records()
        neighbour = record[None][:0] if other is None else other[None]
        return NeighbourPair(dataset=record[None], neighbour=neighbour, adjacency=self.adjacency)

    def variance_over_gaussian(self) -> float:
        """What the Laplace noise costs: its variance over that of the least Gaussian noise with the same claim.

        Raises:
            InvalidValue: the claim is not (epsilon, delta)-DP with delta > 0, which no Gaussian noise would keep.
        """
        if not isinstance(self.claim, ApproximateDP) or self.claim.delta == 0:
            raise InvalidValue(
                "claim", self.claim.describe(), "(epsilon, delta)-DP", "no Gaussian noise keeps this claim"
            )
        gaussian = analytic_scale(self.claim.epsilon, self.claim.delta, self.sensitivity.l2())
        return float(self.variance / Fraction(gaussian) ** 2)

    def describe(self) -> dict[str, str]:
        """Name, parameters, and the scale with the way it was found."""
        records = {"norm": self.sensitivity.norm, "radius": _number_text(self.sensitivity.radius)}
        own = {"calibration": self.calibration, "scale": repr(self.scale), "variance": short_text(self.variance)}
        return AdditiveMechanism.describe(self) | records | own

    def __repr__(self) -> str:
        return f"LaplaceMechanism(dim={self.dim}, claim={self.claim.describe()!r}, calibration={self.calibration!r})"


def _records(dim: int, norm: Norm, radius: Exact, adjacency: NeighboringRelation) -> RealRecords:
    replaced = check_adjacency(adjacency) is REPLACE_ONE
    return RealRecords(
        dim=check_dim(dim), norm=norm, radius=float_above(check_positive(radius, "radius")), replaced=replaced
    )


def exact_laplace_scale(dim: int, epsilon: Exact, delta: Exact) -> float:
    """The least scale, to 13 digits, at which d coordinates that each move by 1 are certainly (epsilon, delta)-DP.

    It is the exact requirement of sums of records in [0, 1]^d: the all-ones record moves every coordinate by 1, and the
    loss of a log-concave law grows with the shift. The enclosure of delta(epsilon) at the scale returned lies at or
    below delta.

    Args:
        dim: number of coordinates d >= 1.
        epsilon: > 0.
        delta: in (0, 1).

    Raises:
        InvalidValue: an argument is out of its domain.

    >>> round(exact_laplace_scale(1, 1, "0.01"), 6)
    0.980295
    """
    size, goal = check_dim(dim), float_below(exactly(delta, name="delta"))
    above = concentrated_scale(epsilon, delta, size, size)  # checks epsilon and delta, and is large enough

    def certainly(scale: float) -> bool:
        return LaplaceLoss.equal(size, 1 / exactly(scale)).certified_delta(epsilon).upper <= goal

    def roughly(scale: float) -> bool:
        return scale > above / 1e9 and LaplaceLoss.equal(size, 1 / exactly(scale)).delta(epsilon) <= goal

    scale, step = min(least_float(roughly, above), above), _STEP
    while not certainly(scale):
        scale, step = scale * (1 + step), 2 * step
    return scale


def exact_laplace(*, dim: int, epsilon: Exact, delta: Exact, adjacency: NeighboringRelation) -> LaplaceMechanism:
    """The Laplace mechanism with `exact_laplace_scale`, claiming (epsilon, delta)-DP.

    >>> exact_laplace(dim=4, epsilon=1, delta="1e-3", adjacency=REPLACE_ONE).calibration
    'exact curve'
    """
    return LaplaceMechanism.with_scale(
        dim=dim,
        scale=exact_laplace_scale(dim, epsilon, delta),
        claim=ApproximateDP(epsilon, delta),
        adjacency=adjacency,
        calibration="exact curve",
    )
