"""Selection: the option with the largest noisy score, and what two neighbouring score vectors can tell apart.

Every person has a score in [0, D] for each of k options; the score of an option is the sum over the data. One record
replaced moves every score by at most D, up or down, and one record added moves all of them up: relative to each other,
scores move by at most m = 2 D, or m = D. Which option is selected depends on differences of scores alone.

*Bound for noise of hazard at most 1/b* (Laplace and exponential noise of scale b). Selection is (s/b)-DP for every
relative move s (Dwork and Roth 2014, Claim 3.9; McKenna and Sheldon 2020, Theorem 1). Move the scores along a straight
line and let G be the probability of any set of options: privacy of the small steps says |G'| <= min(G, 1 - G)/b. The
distribution function of a Laplace variable of scale b attains equality. So G stays between two translates of it, and
each pair of neighbours is dominated by a Laplace variable moved by m/b in units of its scale: delta(epsilon) <=
1 - exp((epsilon - m/b)/2). With exponential noise two options attain it at every epsilon, since the difference of two
exponential variables is a Laplace variable.

*Bound for Gumbel noise*: it is the exponential mechanism, whose losses lie in an interval of length m/b; two options
attain what such a bounded range allows, at every epsilon too (Dong, Durfee and Rogers 2020, Lemma 3.2).

No single pair of neighbours is the worst at every epsilon, so a pair is made for the epsilon that is asked for.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, final

import numpy as np
import scipy
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike

from dpverdict.audit.laws.base import Law
from dpverdict.audit.laws.exponential import Exponential
from dpverdict.audit.laws.gumbel import Gumbel
from dpverdict.audit.laws.laplace import Laplace
from dpverdict.audit.losses.base import REAL_ARITHMETIC, PrivacyLoss
from dpverdict.audit.losses.closed_form import identical_laws
from dpverdict.audit.losses.finite.bounded_range import BoundedRangeLoss
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.balls import Exact
from dpverdict.checks import check_array, check_dim, check_moderate
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.bounds import Above, AttainedLoss, Below, Dominating, NearbyPairs, concentrated
from dpverdict.mechanisms.core.guarantees import PureDP
from dpverdict.mechanisms.core.mechanism import StatisticMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, NeighbourPair, check_adjacency
from dpverdict.mechanisms.core.parameters import Parameter, whole
from dpverdict.mechanisms.finite.law import ScaledNoise, noisy_max_law
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exact import sum_exactly
from dpverdict.numerics.exponential_sums import ExponentialSum
from dpverdict.numerics.roots import float_above
from dpverdict.numerics.text import exact_text

OPTIONS: Final = Parameter("options", "K", "Number of options that are scored.", whole)
SENSITIVITY: Final = Parameter("sensitivity", "D", "Largest score of one record; 1 if not given.")
MOST_OPTIONS: Final = 1 << 16
_FAR: Final = 40.0  # in units of the scale: options this far below are selected with probability 1e-17
_MOST_RECORDS: Final = 1 << 12
_NODES: Final = 12  # of a piece of the integral of a likelihood ratio, which only scores


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreNoise(ABC):
    """Independent noise on every score.

    Attributes:
        size: number of options.
        rate: 1/scale, exactly; > 0.
        unit: the law of one variable of scale 1.
    """

    size: int
    rate: Fraction
    unit: ClassVar[Law]

    def draw(self, shape: tuple[int, int], rng: np.random.Generator) -> Array:
        """Independent variables of scale 1."""
        return self.unit.draw(shape, rng)

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        """Independent noise on ``trials`` copies of the scores: shape (size,) -> (trials, size)."""
        return self.draw((trials, self.size), rng) / float(self.rate) + statistic

    def covariance(self) -> dict[str, Fraction]:
        """Empty: the noise is not released."""
        return {}

    @abstractmethod
    def law(self, scores: Sequence[Fraction]) -> tuple[ExponentialSum, ...]:
        """Weights of the options: that each has the largest noisy score."""

    @abstractmethod
    def bound(self, move: Fraction) -> PrivacyLoss:
        """The privacy loss that dominates that of all scores that move by at most ``move`` relative to each other."""

    @abstractmethod
    def lead(self, gap: float) -> float:
        """The probability that the first of two options, ahead by ``gap`` scales, has the larger noisy score."""

    @abstractmethod
    def log_law(self, scores: Array) -> Array:
        """The logarithms of the probabilities of the options in float64, to score with."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GumbelNoise(ScoreNoise):
    """P[Z <= z] = exp(-exp(-rate z)): the largest of scores with this noise is drawn by the exponential mechanism."""

    unit: ClassVar[Law] = Gumbel()

    def law(self, scores: Sequence[Fraction]) -> tuple[ExponentialSum, ...]:
        """exp(rate (u - largest u)): the weights of the exponential mechanism."""
        top = max(scores)
        return tuple(ExponentialSum.exp(self.rate * (score - top)) for score in scores)

    def bound(self, move: Fraction) -> BoundedRangeLoss:
        """That of range move * rate."""
        return BoundedRangeLoss(move * self.rate, assumed=(REAL_ARITHMETIC,))

    def lead(self, gap: float) -> float:
        """The logistic function."""
        return float(np.exp(scipy.special.log_expit(gap)))

    def log_law(self, scores: Array) -> Array:
        """rate u, less the logarithm of the sum."""
        scaled: Array = float(self.rate) * (scores - scores.max())
        found: Array = scaled - float(np.log(np.exp(scaled).sum()))
        return found


class _Piecewise(ScoreNoise):
    """Noise of which the law of the largest score is an integral.

    Attributes:
        lowest: the largest noisy score is above the largest score plus that, in units of the scale.
    """

    lowest: ClassVar[float]

    def law(self, scores: Sequence[Fraction]) -> tuple[ExponentialSum, ...]:
        """By termwise integration, see `noisy_max_law`."""
        return noisy_max_law(ScaledNoise(self.unit, self.rate), scores)

    def bound(self, move: Fraction) -> LaplaceLoss:
        """That of a Laplace variable moved by move * rate, in units of its scale."""
        return LaplaceLoss([move * self.rate])

    def log_law(self, scores: Array) -> Array:
        """By Gauss-Legendre quadrature between the scores, over where the largest noisy score may be."""
        scaled = float(self.rate) * (scores - scores.max())
        ends = np.unique(np.clip([self.lowest, *scaled.tolist(), _FAR], self.lowest, _FAR))
        pieces = [np.linspace(low, high, math.ceil((high - low) / 2) + 1) for low, high in itertools.pairwise(ends)]
        low, high = (np.concatenate([piece[part] for piece in pieces]) for part in (slice(None, -1), slice(1, None)))
        nodes, weights = leggauss(_NODES)
        x = ((high - low)[:, None] * (nodes + 1) / 2 + low[:, None]).ravel()[:, None] - scaled[None]
        steps = ((high - low)[:, None] * weights / 2).ravel()
        below = np.log(self.unit.distribution(x))
        own = np.exp(self.unit.log_density(x) + below.sum(axis=1, keepdims=True) - below)
        found: Array = np.log(np.maximum(steps @ own, 1e-300))
        normalised: Array = found - float(np.log(np.exp(found).sum()))
        return normalised


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceScores(_Piecewise):
    """Density (rate/2) exp(-rate |z|)."""

    unit: ClassVar[Law] = Laplace()
    lowest: ClassVar[float] = -_FAR

    def draw(self, shape: tuple[int, int], rng: np.random.Generator) -> Array:
        """The Laplace variates of NumPy; those of the law are made otherwise, and a seed keeps its releases."""
        return rng.laplace(size=shape)

    def lead(self, gap: float) -> float:
        """The distribution function of the difference of two Laplace variables."""
        tail = math.exp(-abs(gap)) * (2 + abs(gap)) / 4
        return 1 - tail if gap > 0 else tail


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialScores(_Piecewise):
    """Density rate exp(-rate z) at z >= 0: the largest of scores with this noise is drawn by permute-and-flip."""

    unit: ClassVar[Law] = Exponential()
    lowest: ClassVar[float] = 0.0

    def lead(self, gap: float) -> float:
        """The distribution function of a Laplace variable."""
        tail = math.exp(-abs(gap)) / 2
        return 1 - tail if gap > 0 else tail


def exact_scores(dataset: Array, options: int) -> list[Fraction]:
    """The sums of the columns, exactly."""
    if not len(dataset):
        return [Fraction(0)] * options
    return [sum_exactly(np.ascontiguousarray(column)) for column in dataset.T]


class Selection(StatisticMechanism):
    """What selection mechanisms share: the release is the number of an option, shape (1,).

    Args:
        options: k >= 2.
        epsilon: > 0, exact: the claim is epsilon-DP.
        adjacency: the neighbouring relation.
        sensitivity: D, the largest score of a record; rounded up to a float64.

    Attributes:
        reach: D, a float64 at its exact value.
        replaces_record: whether one is replaced; otherwise one is added or removed, and scores only rise.

    Raises:
        InvalidValue: an argument is out of range.
    """

    parameters: ClassVar[tuple[Parameter, ...]] = (OPTIONS, SENSITIVITY)
    noise: ScoreNoise
    reach: float
    replaces_record: bool
    dim: int
    claim: PureDP
    adjacency: NeighboringRelation
    assumptions: tuple[str, ...]

    def _set(self, options: int, epsilon: Exact, adjacency: NeighboringRelation, sensitivity: Exact) -> Fraction:
        """What all have; the rate at which the claim holds."""
        self.dim = check_dim(options, "options")
        if not 2 <= self.dim <= MOST_OPTIONS:
            raise InvalidValue("options", options, f"from 2 to {MOST_OPTIONS}", "one option is no selection")
        budget = check_moderate(epsilon, "epsilon")
        self.claim = PureDP(budget)
        self.adjacency = check_adjacency(adjacency)
        reach = float_above(check_moderate(sensitivity, "sensitivity"))
        self.reach, self.replaces_record = reach, self.adjacency is not ADD_OR_REMOVE_ONE
        self.assumptions = (f"every score of a record lies in [0, {exact_text(Fraction(reach))}]",)
        return budget / self.move

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(k,)"""
        return (self.dim,)

    def check_records(self, dataset: ArrayLike) -> Array:
        """The scores of the records as float64 of shape (n, k), each in [0, D]."""
        return check_array(dataset, self.record_shape, 0.0, self.reach)

    # what is known ----------------------------------------------------------------------------------------------------

    @property
    def move(self) -> Fraction:
        """How far two scores move relative to each other, at most."""
        return Fraction(self.reach) * (2 if self.replaces_record else 1)

    def above(self) -> tuple[Above, ...]:
        """The bound of the noise, and of Gumbel noise the concentration of losses of bounded range."""
        bound, gumbel = self.move * self.noise.rate, isinstance(self.noise, GumbelNoise)
        dominating = Dominating(
            loss=self.noise.bound(self.move),
            description="one option loses what another gains"
            if self.replaces_record
            else "one option gains, no other does",
            justification=(
                f"the losses of any pair lie in an interval of length {exact_text(bound)}, and the pair of laws "
                "dominates all such (Dong, Durfee and Rogers 2020, Lemma 3.2); at every epsilon two options attain it"
                if gumbel
                else f"each step of a move of the scores is private in proportion, so that a Laplace variable moved by "
                f"{exact_text(bound)} scales dominates every pair"
                + (
                    "; at every epsilon two options attain it"
                    if isinstance(self.noise, ExponentialScores)
                    else ", a bound"
                )
            ),
        )
        if not gumbel:
            return (dominating,)
        source = "by the range of the losses"
        return (dominating, *concentrated(bound**2 / 8, source, dominating.because, (REAL_ARITHMETIC,)))

    def below(self) -> tuple[Below, ...]:
        """For every epsilon a pair of two options that are ahead of all others."""
        shown = self._nearby(min(self.claim.epsilon, self.move * self.noise.rate * Fraction(3, 4)))
        return (NearbyPairs(shown=shown, at_level=self._nearby),)

    def pair_loss(self, record: Array, replacement: Array | None, position: int) -> PrivacyLoss:
        """The privacy loss of one record alone against none or its replacement; that of equal laws if they are."""
        other = np.zeros((0, self.dim)) if replacement is None else replacement[None]
        return self._loss(record[None], other)

    def _loss(self, dataset: Array, neighbour: Array) -> PrivacyLoss:
        """The privacy loss of the selected option on two datasets, exactly."""
        here, there = (self.noise.law(exact_scores(side, self.dim)) for side in (dataset, neighbour))
        if here == there:
            return identical_laws()
        names = [f"option {i}" for i in range(self.dim)]
        return FiniteLoss.of_weights(here, there, outcomes=names, assumed=(REAL_ARITHMETIC,))

    def _record(self, option: int) -> Array:
        return np.where(np.arange(self.dim) == option, self.reach, 0.0)

    def _nearby(self, level: Fraction) -> AttainedLoss:
        """Two options ahead of all others, at the distance at which their pair has the largest delta(level)."""
        move, at = float(self.move * self.noise.rate), math.exp(min(float(level), 700.0))

        def falls_short(gap: float) -> float:
            return -(self.noise.lead(gap) - at * self.noise.lead(gap - move))

        found = float(
            scipy.optimize.minimize_scalar(
                falls_short, bounds=(-_FAR, move + _FAR), method="bounded", options={"xatol": 1e-10}
            ).x
        )
        gap = found / float(self.noise.rate) - self.reach  # of what the other records score
        ahead = self.reach * math.ceil(_FAR / float(self.noise.rate) / self.reach) if self.dim > 2 else 0.0
        scores = np.zeros(self.dim)
        scores[0], scores[1] = ahead + max(gap, 0.0), ahead + max(-gap, 0.0)
        rows = min(math.ceil(float(scores.max()) / self.reach), _MOST_RECORDS)
        rest = np.clip(scores - self.reach * np.arange(rows)[:, None], 0.0, self.reach)
        dataset = np.concatenate([self._record(0)[None], rest])
        neighbour = np.concatenate([self._record(1)[None], rest]) if self.replaces_record else rest
        does = "favours one of two leading options, replaced by one that favours the other"
        return AttainedLoss(
            pair=self.neighbours(dataset, neighbour),
            loss=self._loss(dataset, neighbour),
            description=f"a record that {does if self.replaces_record else 'favours one of two leading options'}",
        )

    # what is released -------------------------------------------------------------------------------------------------

    def statistic(self, records: Array) -> Array:
        """The scores of the options, sums over the records: shape (k,)."""
        total: Array = records.sum(axis=0)
        return total

    def decode(self, noisy: Array) -> Array:
        """The number of the option with the largest noisy score: shape (trials, k) -> (trials, 1)."""
        largest: Array = np.argmax(noisy, axis=1, keepdims=True).astype(np.float64)
        return largest

    def weights(self, scores: Sequence[Exact]) -> tuple[ExponentialSum, ...]:
        """The law of the selected option, given the scores of all: exact weights, to be divided by their sum.

        Two of them make a privacy loss: ``FiniteLoss.of_weights(m.weights(u), m.weights(v))``.
        """
        exact = [Fraction(score) for score in scores]
        if len(exact) != self.dim:
            raise InvalidValue("scores", f"{len(exact)} numbers", f"{self.dim} numbers", "give one score per option")
        return self.noise.law(exact)

    def probabilities(self, dataset: ArrayLike) -> Array:
        """The law of the released option on a dataset in float64: shape (k,)."""
        found: Array = np.exp(self.noise.log_law(self.embed(dataset)))
        return found

    def likelihood_score(self, pair: NeighbourPair) -> Callable[[Array], Array]:
        """The log-likelihood ratio of P against Q at releases of shape (trials, 1): the most powerful score."""
        ratio = self.noise.log_law(self.embed(pair.dataset)) - self.noise.log_law(self.embed(pair.neighbour))

        def score(released: Array) -> Array:
            found: Array = ratio[released[:, 0].astype(np.int64)]
            return found

        return score

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        own = {"options": str(self.dim), "scale": repr(1 / float(self.noise.rate))}
        own |= {"sensitivity": repr(self.reach)}
        given = super().describe()
        del given["dim"]
        return given | own
