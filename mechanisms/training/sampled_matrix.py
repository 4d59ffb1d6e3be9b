"""The matrix mechanism on batches that are sampled: balls in bins, cyclic Poisson sampling, or b-min-separation.

C x + noise as in `dpverdict.mechanisms.training.matrix`, with entries of C that are not negative. In which steps a
record takes part is drawn for each record by itself, independently of the data:

* *balls-in-bins*: one of b bins, uniformly, and then every b-th step from it on. The release has the mean m_i, the sum
  of every b-th column of C from the i-th on, with a canary that contributes one gradient of the clipping norm, and 0
  without it: `dpverdict.audit.sampling.mixtures.correlated_bins` bounds what that tells on either side.
* *cyclic-poisson*: one of b groups, known, and every b-th step with probability q:
  `dpverdict.mechanisms.training.cyclic_poisson`.
* *min-separation*: with probability q in every step, unless it took part in one of the last b - 1 steps; at the start
  as after many steps. Two bounds from above hold. Known steps are one: the sensitivity over all patterns of steps that
  lie b apart. The other is Poisson sampling of rate q in all steps, with the noise multiplier divided by |C|: as C C^T
  is at most |C|^2 I, C x + z is C (x + z/|C|) with further noise, row by row; and the steps of a record are some of
  those in which a coin of probability q falls, so that no product of two of its means grows if it takes part in the
  others (Kahane 1986). |C| is at most the sum of the coefficients, and the root of the largest sum of a row times the
  largest of a column. A record that contributes in the first step alone attains Poisson sampling of it.

Reference: Choquette-Choo et al. 2024 (arXiv:2410.06266), balls in bins; 2023 (arXiv:2306.08153), cyclic Poisson; Dong
and Ganesh 2026 (arXiv:2602.09338), b-min-separation, there with the steps known by simulation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Final, Literal, TypeAlias, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike, NDArray

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.sampling.mixtures.correlated_bins import CorrelatedBins
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.balls import Exact, exactly, sqrt_up
from dpverdict.checks import check_array, check_whole
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.bounds import (
    Above,
    AttainedLoss,
    Below,
    Bounds,
    DeltaBound,
    Dominating,
    MuBound,
    RhoBound,
    WorstPair,
)
from dpverdict.mechanisms.core.guarantees import GaussianDP
from dpverdict.mechanisms.core.mechanism import StatisticMechanism, sampled_above
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, NeighbourPair
from dpverdict.mechanisms.core.parameters import Parameter, whole
from dpverdict.mechanisms.streams.participation import Participation, sensitivity_of
from dpverdict.mechanisms.streams.strategies import Strategy, Toeplitz, check_horizon
from dpverdict.mechanisms.training.cyclic_poisson import CyclicPoissonLoss, cyclic_poisson_loss
from dpverdict.mechanisms.training.gradients import LARGEST_ENTRY, NOISE_MULTIPLIER, STEPS, GradientMechanism
from dpverdict.mechanisms.training.matrix import STRATEGY, StrategyName, clipped_steps, make_strategy, prefix_sums
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import float_above, float_below
from dpverdict.numerics.text import exact_text

StepSampling: TypeAlias = Literal["balls-in-bins", "cyclic-poisson", "min-separation"]
STEP_SAMPLINGS: Final[tuple[StepSampling, ...]] = ("balls-in-bins", "cyclic-poisson", "min-separation")
_UP: Final = 1 + Fraction(1, 1 << 32)
_DOWN: Final = 1 - Fraction(1, 1 << 32)
"""By more than float64 errs in sums of at most 2^20 products that are not negative."""
_MOST_ENTRIES: Final = 1 << 24
_BLOCK: Final = 1 << 22
_KNOWN: Final = "of known steps"
_CANARY: Final = "a canary whose gradient has the clipping norm in every step, and no other record"
_FIRST: Final = "a canary whose gradient has the clipping norm in the first step and is 0 later, and no other record"
_CONVEXITY: Final = (
    "in which steps a record takes part is drawn independently of all else; if it is known that tells no less, by "
    "joint convexity"
)
_BINS: Final = (
    "of a mixture over bins against one normal law, whose products of means only grow (Kahane 1986); by joint "
    "convexity other records add nothing"
)
_POISSON: Final = (
    "Poisson sampling in all steps, with the noise divided by |C|, which leaves less of it in every direction, and "
    "with steps of which those of the record are some (Kahane 1986)"
)
_PUBLISHED: Final[Mapping[StepSampling, str]] = {
    "balls-in-bins": "from above Schuchardt and Kalinin 2026 (arXiv:2601.21636), by Renyi divergence and conditional "
    "composition; Choquette-Choo et al. 2024 (arXiv:2410.06266), by simulation",
    "min-separation": "Dong and Ganesh 2026 (arXiv:2602.09338), by simulation",
}
_CYCLIC: Final = "one group's columns do not overlap: sampled Gaussian pairs, one after the other"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SampledSteps:
    """Gaussian noise on C x, where in which steps each record takes part is drawn anew in every run.

    Attributes:
        strategy: C.
        dim: of one gradient.
        sampling: how steps are drawn.
        separation: b.
        rate: q; 1 of balls in bins.
        scale: the standard deviation that is sampled.
    """

    strategy: Strategy
    dim: int
    sampling: StepSampling
    separation: int
    rate: Fraction
    scale: float

    @property
    def size(self) -> int:
        """Numbers of C x: d T."""
        return self.strategy.horizon * self.dim

    def covariance(self) -> dict[str, Fraction]:
        """That of one number of C x + noise, given the steps."""
        return {"variance": Fraction(self.scale) ** 2}

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        """C x + noise for contributions of shape (n d T,), a record and a coordinate after the other: (trials, d T)."""
        steps = self.strategy.horizon
        contributions = statistic.reshape(-1, self.dim, steps)
        noisy = self.scale * rng.standard_normal((trials, self.size))
        block = max(1, _BLOCK // max(1, contributions.size))
        for first in range(0, trials if len(contributions) else 0, block):
            part = noisy[first : first + block]
            taken = self._steps(len(part), len(contributions), rng)
            sums = np.einsum("rnt,ndt->rdt", taken.astype(np.float64), contributions)
            part += self.strategy.embed(sums.reshape(-1, steps)).reshape(len(part), -1)
        return noisy

    def _steps(self, trials: int, records: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Whether a record takes part: shape (trials, n, T)."""
        steps, b, q = self.strategy.horizon, self.separation, float(self.rate)
        if self.sampling == "min-separation":
            return self._apart(trials, records, rng)
        if self.sampling == "balls-in-bins":
            own = rng.integers(b, size=(trials, records, 1))
        else:
            own = np.broadcast_to(np.arange(records)[:, None] % b, (trials, records, 1))
        found: NDArray[np.bool_] = np.arange(steps) % b == own
        return found if self.sampling == "balls-in-bins" else found & (rng.random(found.shape) < q)

    def _apart(self, trials: int, records: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        b, q = self.separation, float(self.rate)
        taken = np.zeros((trials, records, self.strategy.horizon), dtype=np.bool_)
        start = rng.random((trials, records))
        # after many steps a pause has 1, ..., b - 1 steps left, with probability q/(1 + (b - 1) q) each
        pause = np.ceil(start * (1 + (b - 1) * q) / q).astype(np.int64)
        pause[pause > b - 1] = 0
        for t in range(self.strategy.horizon):
            now = (pause == 0) & (rng.random((trials, records)) < q)
            taken[:, :, t] = now
            pause = np.where(now, b - 1, np.maximum(pause - 1, 0))
        return taken


@final
class SampledMatrixMechanism(GradientMechanism, StatisticMechanism):
    """T steps of DP-FTRL with a strategy matrix C, on batches that are sampled.

    A record is what it would contribute at every step: T gradients of d numbers, each clipped. The claim is the mu
    that needs no sampling, rounded up.

    Args:
        noise_multiplier: standard deviation of the noise in units of the clipping norm, > 0, exact.
        steps: the number of steps T, at most 2^14.
        kind: of C, with band, coefficients, decays, weights or file as in `MatrixMechanism`.
        sampling: "balls-in-bins", "cyclic-poisson" or "min-separation".
        separation: b: the number of bins or groups, or the least distance of two steps of a record.
        rate: q, exact: of cyclic-poisson and min-separation.
        clipping_norm: > 0, exact; what is promised does not depend on it.
        dim: the number of coordinates of a gradient; what is promised does not depend on it.
        adjacency: add-or-remove-one.

    Raises:
        InvalidValue: an argument out of range, a matrix with a negative entry, or replace-one.

    >>> run = SampledMatrixMechanism(
    ...     noise_multiplier=4, steps=100, kind="banded-sqrt", band=2, sampling="balls-in-bins", separation=20
    ... )
    >>> run.bins.bins, round(float(run.bins.mu_squared), 4)
    (20, 0.3906)
    """

    name = "sampled-matrix"
    title = "prefix sums by a matrix, of sampled batches"
    source: str = "Choquette-Choo et al. 2024"
    noise: SampledSteps
    parameters: ClassVar[tuple[Parameter, ...]] = (
        NOISE_MULTIPLIER,
        STEPS,
        Parameter("sampling", "|".join(STEP_SAMPLINGS), "In which steps a record takes part."),
        Parameter("separation", "B", "Bins, groups, or the least distance of two steps of one record.", whole),
        Parameter("rate", "Q", "Of cyclic-poisson and min-separation: the probability of a step."),
        *STRATEGY,
    )
    calibration_width: ClassVar[float] = 2.0**-20  # each end of a bracket takes moments of its own
    example: ClassVar[str] = (
        "--noise-multiplier 4 --steps 20 --kind banded-sqrt --band 2 --sampling balls-in-bins --separation 10"
    )
    noise_multiplier: Fraction
    clipping_norm: Fraction
    steps: int
    dim: int
    adjacency: NeighboringRelation
    strategy: Strategy
    sampling: StepSampling
    claim: GaussianDP
    separation: int
    rate: Fraction
    assumptions: tuple[str, ...]

    def __init__(
        self,
        *,
        noise_multiplier: Exact,
        steps: int,
        kind: StrategyName,
        sampling: StepSampling,
        separation: int,
        rate: Exact | None = None,
        band: int | None = None,
        coefficients: Iterable[Exact] | None = None,
        decays: Iterable[Exact] | None = None,
        weights: Iterable[Exact] | None = None,
        file: str | None = None,
        clipping_norm: Exact = 1,
        dim: int = 1,
        adjacency: NeighboringRelation = ADD_OR_REMOVE_ONE,
    ) -> None:
        self._take(
            noise_multiplier=noise_multiplier, clipping_norm=clipping_norm, steps=steps, dim=dim, adjacency=adjacency
        )
        if self.adjacency is not ADD_OR_REMOVE_ONE:
            remedy = "for replaced records audit matrix-mechanism, which takes the steps as known"
            raise InvalidValue("adjacency", "replace-one", "add-or-remove-one with sampled steps", remedy)
        if sampling not in STEP_SAMPLINGS:
            remedy = "say how the steps of a record are drawn"
            raise InvalidValue("sampling", sampling, f"one of {', '.join(STEP_SAMPLINGS)}", remedy)
        self.sampling = sampling
        self.separation = check_whole(separation, "separation", least=1, remedy="say how many bins or groups there are")
        if not 1 < self.separation <= check_horizon(self.steps):
            remedy = "there are at most as many bins or groups as steps"
            raise InvalidValue("separation", separation, f"from 2 to {self.steps}, the steps", remedy)
        if (rate is None) is not (sampling == "balls-in-bins"):
            requirement = f"{'left out' if rate is not None else 'given'} with {sampling}"
            raise InvalidValue("rate", rate, requirement, "say with which probability a record takes part in a step")
        self.rate = Fraction(1) if rate is None else exactly(rate, name="rate")
        if not Fraction(1, 1 << 400) <= self.rate <= 1:
            raise InvalidValue("rate", rate, "in [2^-400, 1]", "give the probability of a step")
        self.kind: StrategyName = kind
        self.strategy: Strategy = make_strategy(
            kind, self.steps, band=band, coefficients=coefficients, decays=decays, weights=weights, file=file
        )
        if not _nonnegative(self.strategy):
            remedy = "audit it with matrix-mechanism, which takes the steps as known"
            raise InvalidValue("kind", kind, "a matrix without a negative entry", remedy)
        if sampling == "cyclic-poisson" and not isinstance(self.strategy, Toeplitz):
            raise InvalidValue("kind", kind, "a Toeplitz matrix with cyclic-poisson", "give its coefficients")
        deviation = self.clipping_norm * self.noise_multiplier
        self.noise = SampledSteps(
            strategy=self.strategy,
            dim=self.dim,
            sampling=sampling,
            separation=self.separation,
            rate=self.rate,
            scale=float_above(deviation),
        )
        self.known_mu_squared: Fraction = self._known_mu_squared()
        self.claim = GaussianDP(Fraction(sqrt_up(GaussianLoss.from_squared(self.known_mu_squared).mu_squared)))
        self.assumptions = (
            f"each record takes part {self._in_words()}, independently of all values",
            "every gradient is clipped, and the noise is added before anything else sees the sums",
            *sampled_above(deviation, self.noise.scale),
        )

    def _in_words(self) -> str:
        b, q = self.separation, exact_text(self.rate)
        if self.sampling == "balls-in-bins":
            return f"in every {b}-th step from one of the first {b} on, drawn uniformly"
        if self.sampling == "cyclic-poisson":
            return f"with probability {q} in every {b}-th step from a known one on"
        return f"with probability {q} in every step that comes {b} or more after its last one"

    # what is known ----------------------------------------------------------------------------------------------------

    def _known_mu_squared(self) -> Fraction:
        """mu^2 where the steps of a record are known, rounded up."""
        if self.sampling == "balls-in-bins":
            return self.bins.mu_squared
        name: Literal["cyclic", "min-separation"] = "cyclic" if self.sampling == "cyclic-poisson" else "min-separation"
        found = sensitivity_of(self.strategy, Participation.of(name, self.steps, separation=self.separation)).upper
        square = found.times(1 / self.noise_multiplier**2)
        return Fraction(square.nearest()) * _UP if square.rational is None else square.rational

    @cached_property
    def bins(self) -> CorrelatedBins:
        """The products of the means of the bins, between two numbers at each distance."""
        most, least = _products(self.strategy, self.separation)
        scale = 1 / self.noise_multiplier**2
        return CorrelatedBins(
            most=tuple(value * _UP * scale for value in most),
            least=tuple(value * _DOWN * scale for value in least),
            bins=self.separation,
        )

    def above(self) -> Sequence[Above]:
        """Known steps, and what the sampling of them takes away."""
        return self.privacy_bounds().above

    def below(self) -> Sequence[Below]:
        """What a canary that contributes in every step attains, or in the first one."""
        return self.privacy_bounds().below

    def privacy_bounds(self) -> Bounds:
        """The two lists of the way in which steps are drawn."""
        if self.sampling == "cyclic-poisson":
            return self._of_groups()
        found = self._of_bins() if self.sampling == "balls-in-bins" else self._of_coins()
        return replace(found, published=_PUBLISHED[self.sampling])

    def _known(self) -> tuple[Above, ...]:
        return (
            MuBound(mu_squared=self.known_mu_squared, source=_KNOWN, because=_CONVEXITY),
            RhoBound(rho=self.known_mu_squared / 2, source="by the l2 norm", because=_CONVEXITY),
        )

    def _pair(self, contributions: int) -> NeighbourPair:
        """A canary that contributes in so many steps from the first on, alone, and no record."""
        canary = np.zeros((1, self.steps, self.dim))
        canary[0, :contributions, 0] = float_below(self.clipping_norm)
        return self.neighbours(canary, canary[:0])

    @cached_property
    def _cyclic(self) -> CyclicPoissonLoss:
        assert isinstance(self.strategy, Toeplitz)
        return cyclic_poisson_loss(
            self.strategy, noise_multiplier=self.noise_multiplier, rate=self.rate, separation=self.separation
        )

    @cached_property
    def _sampled(self) -> PrivacyLoss:
        """What dominates every pair, for the sampling."""
        if self.sampling == "balls-in-bins":
            return self.bins.above
        if self.sampling == "cyclic-poisson":
            return self._cyclic.above
        return poisson_sampled(GaussianLoss(_norm_above(self.strategy) / self.noise_multiplier), self.rate, self.steps)

    @property
    def _unsampled(self) -> Dominating:
        loss = GaussianLoss.from_squared(self.known_mu_squared)
        return Dominating(loss=loss, description=_CANARY, justification=_CONVEXITY)

    def _of_bins(self) -> Bounds:
        bins, pair = self.bins, self._pair(self.steps)
        above = [*self._known(), self._unsampled]
        if self._sampled.is_certified:
            closer = DeltaBound(at=bins.delta_at_most, source="", because=f"moments {_BINS}")
            dominating = Dominating(loss=self._sampled, description=_CANARY, justification=f"the privacy loss {_BINS}")
            above[-1:] = [closer, dominating, self._unsampled]
        attained = AttainedLoss(pair=pair, loss=bins.attained, description=_CANARY)
        return Bounds.of(above, [attained] if bins.attained.is_certified else [])

    def _of_groups(self) -> Bounds:
        found, pair = self._cyclic, self._pair(self.steps)
        if found.exact and found.above.is_certified:
            worst = WorstPair(loss=found.above, pair=pair, description=_CANARY, justification=_CYCLIC)
            return Bounds(above=(*self._known(), worst), below=(worst,))
        dominating = Dominating(loss=found.above, description=_CANARY, justification=_CYCLIC)
        attained = AttainedLoss(pair=pair, loss=found.attained, description=_CANARY)
        above = (dominating, self._unsampled) if found.above.is_certified else (self._unsampled,)
        return Bounds(above=(*self._known(), *above), below=(attained,))

    def _of_coins(self) -> Bounds:
        above = [*self._known(), self._unsampled]
        if self._sampled.is_certified:
            above.insert(-1, Dominating(loss=self._sampled, description="", justification=_POISSON))
        first = self.rate / (1 + (self.separation - 1) * self.rate)
        square = _first_column_squared(self.strategy) * _DOWN / self.noise_multiplier**2
        loss = poisson_sampled(GaussianLoss.from_squared(square), first)
        return Bounds.of(above, [AttainedLoss(pair=self._pair(1), loss=loss, description=_FIRST)])

    def pair_loss(self, record: Array, replacement: Array | None, position: int) -> PrivacyLoss:
        """What dominates all pairs."""
        return self._sampled if self._sampled.is_certified else self._unsampled.loss

    # what is released -------------------------------------------------------------------------------------------------

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(T, d)"""
        return (self.steps, self.dim)

    def check_records(self, dataset: ArrayLike) -> Array:
        """The contributions as float64 of shape (n, T, d); they are clipped afterwards."""
        return check_array(dataset, self.record_shape, -LARGEST_ENTRY, LARGEST_ENTRY)

    def statistic(self, records: Array) -> Array:
        """The clipped contributions: shape (n, T, d) -> (n d T,)."""
        return np.ascontiguousarray(clipped_steps(records, self.clipping_norm).transpose(0, 2, 1)).ravel()

    def decode(self, noisy: Array) -> Array:
        """All noisy prefix sums: shape (trials, d T) -> (trials, d T), a coordinate after the other."""
        return prefix_sums(self.strategy, noisy)

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        return super().describe() | {
            "noise multiplier": exact_text(self.noise_multiplier),
            "steps": str(self.steps),
            "factorisation": f"{self.kind} ({self.strategy.source})",
            "participation": self._in_words(),
            "clipping norm": exact_text(self.clipping_norm),
        }


# products of columns --------------------------------------------------------------------------------------------------


def _nonnegative(strategy: Strategy) -> bool:
    return strategy.nonnegative if isinstance(strategy, Toeplitz) else not (strategy.diagonals < 0).any()


def _products(strategy: Strategy, bins: int) -> tuple[list[Fraction], list[Fraction]]:
    """Of the means m_i: the largest product at each distance on the circle, and the smallest in a row.

    In float64: all terms are sums of products that are not negative.
    """
    steps = strategy.horizon
    if steps * bins > _MOST_ENTRIES:
        remedy = "take fewer bins"
        raise InvalidValue("separation", bins, f"at most {_MOST_ENTRIES // steps} with {steps} steps", remedy)
    if isinstance(strategy, Toeplitz):
        longest, shortest = _of_toeplitz(strategy, bins)
    else:
        units = (np.arange(steps) % bins == np.arange(bins)[:, None]).astype(np.float64)
        means = strategy.embed(units)
        gram = means @ means.T
        longest, shortest = ([float(best(np.diagonal(gram, d))) for d in range(bins)] for best in (np.max, np.min))
    most = [Fraction(max(longest[d], longest[(bins - d) % bins])) for d in range(bins // 2 + 1)]
    return most, [Fraction(value) for value in shortest]


def _of_toeplitz(strategy: Toeplitz, bins: int) -> tuple[list[float], list[float]]:
    """<m_i, m_(i + d)> by d, of the first pair of bins and of the last one: those between fall."""
    steps = strategy.horizon
    padded = np.zeros(steps)
    padded[: strategy.band] = strategy.coefficients
    mean = padded.copy()
    for t in range(bins, steps, bins):
        mean[t:] += padded[: steps - t]
    first, last = [], []
    for d in range(bins):
        product = mean[d:] * mean[: steps - d]
        first.append(float(product.sum()))
        last.append(float(product[: len(product) - (bins - 1 - d)].sum()))
    return first, last


def _norm_above(strategy: Strategy) -> Fraction:
    """An upper bound on the largest singular value of C."""
    if isinstance(strategy, Toeplitz):
        return Fraction(float(strategy.coefficients.sum())) * _UP
    ones = np.ones((1, strategy.horizon))
    columns = strategy.diagonals.sum(axis=0)
    return Fraction(float(np.sqrt(strategy.embed(ones).max() * columns.max()))) * _UP


def _first_column_squared(strategy: Strategy) -> Fraction:
    if isinstance(strategy, Toeplitz):
        return Fraction(float(np.square(strategy.coefficients).sum()))
    return Fraction(float(np.square(strategy.diagonals[:, 0]).sum()))
