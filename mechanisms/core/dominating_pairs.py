"""Dominating pairs: two output laws that are at least as far apart as those of any neighbouring datasets.

A sensitivity space over noise that is not Gaussian ends in one of these. They are plain data in exact numbers, with the
words for what is seen of the two laws; the privacy loss of each is computed in `dpverdict.audit`. P is the law on the
dataset, Q the one on its neighbour, y the release.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, final

from dpverdict.errors import InvalidValue
from dpverdict.numerics.exponential_sums import ExponentialSum, total
from dpverdict.numerics.text import short_text

REAL_ARITHMETIC: Final = "noise and sums are real numbers: rounding in the sampler is not covered"
NORMAL_VARIATES: Final = "the normal variates are independent and exact"
_SHOWN: Final = 12
RANDOM_BITS: Final = "the bits of the random source are independent and uniform"


class DominatingPair(ABC):
    """Two output laws in exact numbers, that are no Gaussian pair."""

    __slots__ = ()

    @property
    @abstractmethod
    def assumptions(self) -> tuple[str, ...]:
        """What a certificate takes for granted about the noise."""

    @abstractmethod
    def event(self, level: float) -> str:
        """The event {privacy loss > level}, in words and numbers a reader can recompute."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RandomDirectionPair(DominatingPair):
    """scale z v against itself moved by ``length``: z ~ N(0, 1), v uniform on the unit sphere of R^dim, dim >= 3.

    Attributes:
        dim: the dimension.
        scale: standard deviation of the radius, exactly.
        squared_length: the squared l2-norm of the move, exactly; > 0.
    """

    dim: int
    scale: Fraction
    squared_length: Fraction

    def __post_init__(self) -> None:
        if not (self.dim >= 3 and self.scale > 0 and self.squared_length > 0):
            raise InvalidValue("pair", self, "of dim >= 3, with a scale and a length > 0", "a move of 0 costs nothing")

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Real arithmetic, and exact normal variates."""
        return (REAL_ARITHMETIC, NORMAL_VARIATES)

    def event(self, level: float) -> str:
        """A set between two spheres about the two centres."""
        return (
            f"(rho^2 - r^2)/(2 sigma^2) + {self.dim - 1} log(rho/r) > {level!r} with "
            f"r = |y - E_P[y]|, rho = |y - E_Q[y]|, sigma = {float(self.scale)!r}: the privacy loss exceeds it"
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussianPair(DominatingPair):
    """Independent discrete Gaussians on the integers, each moved by an integer: N_Z(0, v) against N_Z(shift, v).

    N_Z(0, v) has probabilities proportional to exp(-y^2/(2 v)) on the integers.

    Attributes:
        groups: (variance parameter v, absolute integer shift, number of coordinates) of the coordinates that move.
    """

    groups: tuple[tuple[Fraction, int, int], ...]

    def __post_init__(self) -> None:
        if not self.groups or any(v <= 0 or shift < 1 or count < 1 for v, shift, count in self.groups):
            raise InvalidValue("groups", self.groups, "positive throughout", "leave out what does not move")

    @property
    def rho(self) -> Fraction:
        """sum shift^2/(2 v): the mean of the privacy loss under P."""
        return sum((shift**2 * count / (2 * v) for v, shift, count in self.groups), Fraction(0))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Uniform random bits: the sampler is exact."""
        return (RANDOM_BITS,)

    def event(self, level: float) -> str:
        """A half-space of the noise."""
        terms = " + ".join(f"{m}/({v}) * (sum of the noise of {count} coordinates)" for v, m, count in self.groups)
        return (
            f"{terms} > {level!r} - {self.rho}, the noise being y - E_P[y] where P is above Q "
            "and E_P[y] - y where it is below: the privacy loss exceeds the first number"
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LaplacePair(DominatingPair):
    """Independent Laplace variables, each moved: density exp(-|y|)/2 against exp(-|y - shift|)/2, at scale 1.

    Attributes:
        groups: (absolute shift in units of the scale, number of coordinates) of the coordinates that move.
    """

    groups: tuple[tuple[Fraction, int], ...]

    def __post_init__(self) -> None:
        if not self.groups or any(shift <= 0 or count < 1 for shift, count in self.groups):
            raise InvalidValue("groups", self.groups, "positive throughout", "leave out what does not move")

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Real arithmetic."""
        return (REAL_ARITHMETIC,)

    def event(self, level: float) -> str:
        """A difference of two l1 norms."""
        moved = " and ".join(f"{count} of {float(a)!r}" for a, count in self.groups[:6])
        more = ", ..." if len(self.groups) > 6 else ""
        return (
            f"sum of |y - E_Q[y]| - |y - E_P[y]| > {level!r} over the coordinates that move, in "
            f"units of the scale ({moved}{more}): the privacy loss exceeds it"
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RandomisedResponsePair(DominatingPair):
    """Independent discrete Laplace variables, each moved by one: P(y) proportional to exp(-rate |y|) on the integers.

    The loss of one is rate or -rate: that of randomised response.

    Attributes:
        rate: 1/scale of the noise, exactly.
        count: the number of coordinates that move.
    """

    rate: Fraction
    count: int

    def __post_init__(self) -> None:
        if not (self.rate > 0 and self.count >= 1):
            raise InvalidValue("pair", self, "of rate > 0 and count >= 1", "a move of 0 costs nothing")

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Uniform random bits: the sampler is exact."""
        return (RANDOM_BITS,)

    def event(self, level: float) -> str:
        """A difference of two l1 norms."""
        return (
            f"{self.rate} * (sum of |y - E_Q[y]| - |y - E_P[y]|) > {level!r} over the "
            f"{self.count} coordinates that move, each by 1: the privacy loss exceeds it"
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FinitePair(DominatingPair):
    """Two laws on the same finite set of outcomes, by exact weights >= 0 that are divided by their sums.

    Attributes:
        p, q: the weights of the outcomes.
        outcomes: what each outcome is, in words.
        assumed: what a certificate takes for granted about how an outcome is drawn.
    """

    p: tuple[ExponentialSum, ...]
    q: tuple[ExponentialSum, ...]
    outcomes: tuple[str, ...]
    assumed: tuple[str, ...]

    def __post_init__(self) -> None:
        if not len(self.p) == len(self.q) == len(self.outcomes) > 0:
            sizes = f"{len(self.p)}, {len(self.q)} and {len(self.outcomes)}"
            raise InvalidValue("p, q and outcomes", sizes, "of one length >= 1", "give 0 where a law has nothing")

    @property
    def assumptions(self) -> tuple[str, ...]:
        """As ``assumed``."""
        return self.assumed

    def event(self, level: float) -> str:
        """The outcomes whose loss is larger, by name."""
        power = ExponentialSum.exp(Fraction(level))
        p_whole, q_whole = total(self.p), total(self.q)
        above = [
            name
            for a, b, name in zip(self.p, self.q, self.outcomes, strict=True)
            if (a * q_whole - b * p_whole * power).sign() > 0
        ]
        shown = ", ".join(above[:_SHOWN]) + (f", ... ({len(above)} outcomes)" if len(above) > _SHOWN else "")
        return f"the outcome is one of: {shown}: there the privacy loss exceeds {level!r}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedRangePair(DominatingPair):
    """The pair that dominates all whose loss takes values in an interval of a given length.

    Attributes:
        range: the length, exactly; > 0.
        assumed: what a certificate takes for granted about how an outcome is drawn.

    Reference: Dong, Durfee and Rogers 2020, Lemma 3.2 (arXiv:1909.13830).
    """

    range: Fraction
    assumed: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.range <= 0:
            raise InvalidValue("range", self.range, "> 0", "a range of 0 costs nothing")

    @property
    def assumptions(self) -> tuple[str, ...]:
        """As ``assumed``."""
        return self.assumed

    def event(self, level: float) -> str:
        """In terms of the loss itself: the pair stands for no one mechanism."""
        return f"the outcomes of a bounded-range mechanism whose privacy loss exceeds {level!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPair(DominatingPair):
    """Noisy sums of training with the canary alone, P, against those on no records, Q: their two orders differ.

    Attributes:
        noise_multiplier: s, exactly; > 0.
        order: "remove" for P against Q, "add" for Q against P; "both" for either.
    """

    noise_multiplier: Fraction
    order: Literal["both", "remove", "add"] = "both"

    @property
    @abstractmethod
    def participations(self) -> int:
        """In how many of the noisy sums the canary can be."""

    @abstractmethod
    def log_ratio(self) -> str:
        """The logarithm of P over Q in terms of s and of the noisy sums y_t along the canary's gradient."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Real arithmetic, and exact normal variates."""
        return (REAL_ARITHMETIC, NORMAL_VARIATES)

    def event(self, level: float) -> str:
        """In terms of the noisy sums along the canary's gradient."""
        s, sign = short_text(self.noise_multiplier), "-" if self.order == "add" else ""
        return (
            f"{sign}({self.log_ratio()}) > {level!r}, s = {s}, y_t the noisy sum along the canary's gradient in units "
            "of the clipping norm: the privacy loss exceeds it"
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SampledGaussianPair(TrainingPair):
    """T steps of Poisson-sampled Gaussian noise: M^T against Q^T, with Q = N(0, s^2) and M = (1 - q) Q + q N(1, s^2).

    Attributes:
        noise_multiplier: s, exactly; > 0.
        rate: q in (0, 1], exactly.
        steps: T >= 1.
        order: "remove" for M^T against Q^T, "add" for Q^T against M^T; "both" for either.
    """

    rate: Fraction
    steps: int

    def __post_init__(self) -> None:
        if not (self.noise_multiplier > 0 and 0 < self.rate <= 1 and self.steps >= 1):
            raise InvalidValue(
                "pair", self, "of noise > 0, a rate in (0, 1] and steps >= 1", "without them it is no run"
            )

    @property
    def participations(self) -> int:
        """All steps."""
        return self.steps

    def log_ratio(self) -> str:
        """A sum over the steps."""
        q = short_text(self.rate)
        return f"sum over steps 1 to {self.steps} of log(1 - {q} + {q} exp((2 y_t - 1)/(2 s^2)))"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AllocatedGaussianPair(TrainingPair):
    """E epochs of T noisy sums, the record in one of each epoch: M^E against Q^E, with Q = N(0, s^2 I) and M the mean
    of N(e_t, s^2 I) over t = 1, ..., T.

    Attributes:
        noise_multiplier: s, exactly; > 0.
        batches: T >= 1.
        epochs: E >= 1.
        order: "remove" for M^E against Q^E, "add" for Q^E against M^E; "both" for either.
    """

    batches: int
    epochs: int

    def __post_init__(self) -> None:
        if not (self.noise_multiplier > 0 and self.batches >= 1 and self.epochs >= 1):
            raise InvalidValue(
                "pair", self, "of noise > 0, and batches and epochs >= 1", "without them there is no run"
            )

    @property
    def participations(self) -> int:
        """One of each epoch."""
        return self.epochs

    def log_ratio(self) -> str:
        """A sum over the epochs."""
        return (
            f"sum over {self.epochs} epochs of log of the mean over {self.batches} batches of exp((2 y_t - 1)/(2 s^2))"
        )
