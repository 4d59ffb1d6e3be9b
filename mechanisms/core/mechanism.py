"""What a mechanism of known structure states, and the largest kind of them: embed, add noise, decode.

    dataset --embed--> statistic --+ noise--> noisy statistic --decode--> release

A mechanism with additive noise states its statistic, its noise and its sensitivity space once; its exact privacy, its
worst neighbour, the likelihood ratio and the report are derived from those. Any other mechanism states its bounds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import ClassVar, Final, Protocol, runtime_checkable

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.balls import Exact
from dpverdict.checks import check_ball, check_dim, check_moderate
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.bounds import Above, AttainedLoss, Below, Bounds, Dominating, WorstPair
from dpverdict.mechanisms.core.guarantees import GaussianDP, Guarantee
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE, NeighbourPair, check_adjacency
from dpverdict.mechanisms.core.noise import GaussianNoise, Noise, SharedNoise
from dpverdict.mechanisms.core.parameters import ADJACENCY, DIM, Parameter
from dpverdict.mechanisms.core.sensitivity import Maximum, NormBall, SensitivitySpace, StepSpace
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import float_above
from dpverdict.numerics.text import exact_text


class FalseClaimWarning(UserWarning):
    """A mechanism was built as published, and its published claim is known to be false."""


@runtime_checkable
class Mechanism(Protocol):
    """Anything that can be run on a dataset once, or many times independently."""

    def release(self, dataset: ArrayLike, rng: np.random.Generator) -> Array:
        """One release: an array of shape (m,)."""
        ...

    def release_many(self, dataset: ArrayLike, trials: int, rng: np.random.Generator) -> Array:
        """``trials`` independent releases: shape (trials, m)."""
        ...


_TITLES: Final = frozenset({"name", "source", "claim", "_time", "_count"})
"""What a mechanism is called, what it is published with, and how far a counter has counted: no release from a dataset
depends on them.
"""


class StructuredMechanism(ABC):
    """A mechanism of known structure: it states what bounds its privacy loss from above, and what is attained.

    A class that derives from it says what its records are, releases, and states two lists, the cheapest entries first:
    ``above``, of which each entry holds for every pair of neighbours, and ``below``, of which each is attained by a
    pair that is given (see `dpverdict.mechanisms.core.bounds`). One list may be empty. Verdicts, calibration, what
    several releases spend, and reports are derived from the two. Where the structure is additive noise, derive from
    `AdditiveMechanism`, which makes the lists of a noise and a sensitivity space.

    Attributes:
        name: what the mechanism is called on the command line.
        title: what it releases, in at most fifty characters; the first line of its docstring if left out.
        source: paper and statement number.
        dim: number of queries (coordinates) d.
        claim: the guarantee the mechanism is published with.
        adjacency: the neighbouring relation of the claim.
        assumptions: what a certificate takes for granted about the data.
        parameters: the arguments of the constructors in words, but for those that are `SHARED` and no different here.
        calibrations: the class methods that make it for an epsilon and a delta, without the "from_" of their names.
        example: the options of a small one, as on the command line: what holds for every mechanism is tested on it.
        scaled_by: the argument that scales the noise and nothing else, which `calibrate` finds; None without one.
        varied_by: the part of the description in which ``variants`` differ: their privacy is told beside its own.
        calibration_width: how narrow the bracket of that scale is made, relatively: 0 asks for the least float64.
        seconds_per_thousand: of processor time for an exact report, for every thousand coordinates, where it grows so.
        replaced: the attributes that were given another value after the first.
    """

    name: str
    title: ClassVar[str] = ""
    source: str
    dim: int
    claim: Guarantee
    adjacency: NeighboringRelation
    assumptions: tuple[str, ...]
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    calibrations: ClassVar[tuple[str, ...]] = ()
    example: ClassVar[str] = ""
    scaled_by: ClassVar[str | None] = None
    varied_by: ClassVar[str] = ""
    calibration_width: ClassVar[float] = 0.0
    seconds_per_thousand: ClassVar[float] = 0.0
    replaced: frozenset[str] = frozenset()

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute; one that had another value is noted in ``replaced``: what was proved was of the former."""
        held = vars(self)
        if name in held and held[name] is not value and name not in _TITLES:
            held["replaced"] = held.get("replaced", frozenset()) | {name}
        super().__setattr__(name, value)

    # what is known ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def above(self) -> Sequence[Above]:
        """What holds for every pair of neighbours, the cheapest first."""

    @abstractmethod
    def below(self) -> Sequence[Below]:
        """What given pairs of neighbours attain, the cheapest first."""

    def privacy_bounds(self) -> Bounds:
        """Both lists."""
        return Bounds.of(self.above(), self.below())

    def variants(self) -> Mapping[str, StructuredMechanism]:
        """The same noise where the part of the description that ``varied_by`` names is another: by what it is there."""
        return {}

    def pair_loss(self, record: Array, replacement: Array | None, position: int) -> PrivacyLoss:
        """The privacy loss of the pair that one record makes, or a bound on it from above.

        Args:
            record: a checked record.
            replacement: what takes its place; None where it is added or removed.
            position: the index of the record in its dataset, where that matters.

        Raises:
            InvalidValue: nothing is known of single pairs.
        """
        remedy = "ask worst_case for the pair that it states"
        raise InvalidValue("mechanism", self.name, "one that knows the loss of every pair", remedy)

    @property
    def is_stream(self) -> bool:
        """Whether the order of the records is part of the answer."""
        return False

    # what is released -------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def record_shape(self) -> tuple[int, ...]:
        """The shape of one record."""

    @abstractmethod
    def check_records(self, dataset: ArrayLike) -> Array:
        """The dataset as float64 of shape (n, *record_shape).

        Raises:
            InvalidValue: another shape, NaN, or an entry out of range.
        """

    @abstractmethod
    def release_many(self, dataset: ArrayLike, trials: int, rng: np.random.Generator) -> Array:
        """``trials`` independent releases of one dataset: shape (trials, m)."""

    def release(self, dataset: ArrayLike, rng: np.random.Generator) -> Array:
        """One release: shape (m,)."""
        released: Array = self.release_many(dataset, 1, rng)[0]
        return released

    def __call__(self, dataset: ArrayLike, rng: np.random.Generator) -> Array:
        """The same as `release`."""
        return self.release(dataset, rng)

    def neighbours(self, dataset: Array, neighbour: Array, *, records_per_user: int = 1) -> NeighbourPair:
        """Two datasets as neighbours under the relation of the claim."""
        return NeighbourPair(
            dataset=dataset, neighbour=neighbour, adjacency=self.adjacency, records_per_user=records_per_user
        )

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        return {"mechanism": self.name, "source": self.source, "dim": str(self.dim), "claim": self.claim.describe()}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dim={self.dim}, claim={self.claim.describe()!r})"


class StatisticMechanism(StructuredMechanism):
    """A mechanism that computes a statistic, draws from a law that the statistic sets, and decodes what was drawn.

    Attributes:
        noise: what is drawn, given the statistic.
    """

    noise: Noise

    @abstractmethod
    def statistic(self, records: Array) -> Array:
        """The statistic of checked records: (n, *record_shape) -> (noise.size,)."""

    def embed(self, dataset: ArrayLike) -> Array:
        """The statistic of a dataset, before noise: shape (noise.size,)."""
        return self.statistic(self.check_records(dataset))

    def decode(self, noisy: Array) -> Array:
        """From noisy statistics to releases: shape (trials, noise.size) -> (trials, m); the identity here."""
        return noisy

    def release_many(self, dataset: ArrayLike, trials: int, rng: np.random.Generator) -> Array:
        """``trials`` independent releases of one dataset: shape (trials, m)."""
        return self.decode(self.noise.add(self.embed(dataset), check_dim(trials, "trials"), rng))


class AdditiveMechanism(StatisticMechanism):
    """A statistic with noise of known law added to it, and the space of differences the claim speaks of.

    Attributes:
        noise: the law of what is added to the statistic.
        sensitivity: the set of differences of the statistic over neighbouring datasets; the two lists follow from both.
    """

    sensitivity: SensitivitySpace

    def privacy_bounds(self) -> Bounds:
        """Both lists: those of the sensitivity space, unless a class states others."""
        own = type(self)
        if own.above is AdditiveMechanism.above and own.below is AdditiveMechanism.below:
            return self._of_space()
        return super().privacy_bounds()

    def _of_space(self) -> Bounds:
        """The worst pair of the sensitivity space, or the bound of the space and what its datasets attain."""
        found = self.sensitivity.maximise(self.noise)
        pair = self.neighbours(*found.datasets(), records_per_user=getattr(self.sensitivity, "copies", 1))
        if isinstance(found, Maximum):
            worst = WorstPair(
                loss=found.loss, description=found.description, justification=found.justification, pair=pair
            )
            return Bounds(above=(worst,), below=(worst,))
        dominating = Dominating(loss=found.loss, description=found.description, justification=found.justification)
        attained = AttainedLoss(pair=pair, loss=found.attained, description=found.description)
        return Bounds(above=(dominating, *found.further), below=(attained,))

    def above(self) -> Sequence[Above]:
        """The worst pair of the sensitivity space, or what bounds it."""
        return self._of_space().above

    def below(self) -> Sequence[Below]:
        """The worst pair of the sensitivity space, or what its datasets attain."""
        return self._of_space().below

    def pair_loss(self, record: Array, replacement: Array | None, position: int) -> PrivacyLoss:
        """That of the sensitivity space, exactly; where the worst case is a bound, so is this."""
        space = self.sensitivity
        if isinstance(space, StepSpace):
            space = space.at(position)
        return space.loss(self.noise, record, replacement)

    @property
    def is_stream(self) -> bool:
        """Whether the differences depend on when a record comes."""
        return isinstance(self.sensitivity, StepSpace)


class SumOfRecords(AdditiveMechanism):
    """A mechanism on records of d numbers: its statistic is their sum, unless it says otherwise."""

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(d,)"""
        return (self.dim,)

    def statistic(self, records: Array) -> Array:
        """f(X) = sum x_i, shape (d,)."""
        total: Array = records.sum(axis=0)
        return total


class GaussianMechanism(SumOfRecords):
    """f(X) + N(0, sigma^2 I) for any statistic f in R^d of l2-sensitivity D: exactly mu-GDP, mu = D/sigma.

    It releases sums of records in R^d. Under add-or-remove-one a record has l2-norm at most D, under replace-one at
    most D/2: one record moves the sum by any vector of l2-norm at most D, under either relation.

    All Gaussian mechanisms derive from it: every pair of their neighbours is exactly mu-GDP apart, for some mu. A class
    that derives from it states a statistic, a noise and a sensitivity space of its own.

    Args:
        sigma: standard deviation of the noise on each coordinate, > 0, exact (int, float, Fraction or decimal string).
            The law is analysed at this number, and sampled with ``scale``.
        sensitivity: the l2-sensitivity D > 0, exact.
        dim: number of coordinates d >= 1; what is promised does not depend on it.
        adjacency: the neighbouring relation that D is stated for. D being given, what is promised is the same.

    Attributes:
        scale: the least float64 that is not below sigma.

    Raises:
        InvalidValue: an argument is out of range.

    Reference: Dong, Roth and Su 2022, Theorem 2.7 (arXiv:1905.02383).

    >>> GaussianMechanism(sigma="4.3", sensitivity=1, dim=3).claim
    GaussianDP(mu=10/43)
    """

    name = "gaussian"
    title = "any statistic of a known l2 sensitivity"
    source = "Dong, Roth and Su 2022, Theorem 2.7"
    dim: int
    scale: float
    claim: Guarantee
    adjacency: NeighboringRelation
    noise: GaussianNoise
    sensitivity: SensitivitySpace
    assumptions: tuple[str, ...]
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("dim", "N", DIM.text, DIM.read, axis=DIM.axis).otherwise(
            1, "the release is one number (what is promised is the same for every dimension)"
        ),
        Parameter("sensitivity", "X", "How far one record moves the statistic, in l2 norm."),
        ADJACENCY.otherwise(ADD_OR_REMOVE_ONE, "the sensitivity was taken for that under add-or-remove-one"),
    )
    example: ClassVar[str] = "--sigma 4.3 --sensitivity 1 --dim 2"
    scaled_by: ClassVar[str | None] = "sigma"

    def __init__(
        self,
        *,
        sigma: Exact,
        sensitivity: Exact,
        dim: int = 1,
        adjacency: NeighboringRelation = ADD_OR_REMOVE_ONE,
    ) -> None:
        deviation, distance = check_moderate(sigma, "sigma"), check_moderate(sensitivity, "sensitivity")
        replaced = check_adjacency(adjacency) is REPLACE_ONE
        radius = distance / 2 if replaced else distance
        self.dim, self.adjacency = check_dim(dim), adjacency
        self.scale = float_above(deviation)
        self.claim = GaussianDP(distance / deviation)
        self.noise = SharedNoise(dim=self.dim, independent_scale=deviation)
        self.sensitivity = NormBall(dim=self.dim, radius=radius, replaced=replaced)
        bounded = f"every record has l2-norm at most {exact_text(radius)}"
        self.assumptions = (bounded, *sampled_above(deviation, self.scale))

    def check_records(self, dataset: ArrayLike) -> Array:
        """The dataset as float64 of shape (n, d), records in the ball of the sensitivity (decided exactly)."""
        assert isinstance(self.sensitivity, NormBall)  # a class with another space checks its own records
        return check_ball(dataset, self.dim, "l2", Fraction(self.sensitivity.radius))

    def describe(self) -> dict[str, str]:
        """Name and parameters; where the differences fill a ball, the noise and the sensitivity as they were stated."""
        own: dict[str, str] = {}
        if isinstance(self.sensitivity, NormBall) and isinstance(self.noise, SharedNoise):
            own["sigma"] = exact_text(Fraction(self.noise.independent_scale))
            own["sensitivity"] = exact_text(self.sensitivity.reach)
        return AdditiveMechanism.describe(self) | own

    def likelihood_direction(self, pair: NeighbourPair) -> tuple[Array, float]:
        """Weights w and offset c such that w . y - c is the log-likelihood ratio of P against Q at the release y.

        w = S^-1 (m_P - m_Q) and c = w . (m_P + m_Q)/2, by the Neyman-Pearson lemma the most powerful score.
        """
        mean_p, mean_q = self.decode(np.stack([self.embed(pair.dataset), self.embed(pair.neighbour)]))
        weights = self.noise.solve(mean_p - mean_q)
        return weights, float(weights @ (mean_p + mean_q)) / 2


def sampled_above(stated: Fraction, scale: float) -> tuple[str, ...]:
    """What is taken for granted where the scale that is sampled is not the one that is analysed."""
    if stated == Fraction(scale):
        return ()
    sampled = f"the sampler takes {scale!r}, the least float64 above {exact_text(stated)}"
    return (f"{sampled}: further noise, which tells less",)


@runtime_checkable
class HasLikelihoodRatio(Protocol):
    """A mechanism that knows the log-likelihood ratio of its outputs."""

    def likelihood_direction(self, pair: NeighbourPair) -> tuple[Array, float]:
        """Weights w and offset c: the log-likelihood ratio of P against Q at the output y is w . y - c."""
        ...


@runtime_checkable
class HasLikelihoodScore(Protocol):
    """A mechanism whose log-likelihood ratio is not linear in its outputs."""

    def likelihood_score(self, pair: NeighbourPair) -> Callable[[Array], Array]:
        """The log-likelihood ratio of P against Q: outputs of shape (trials, m) to shape (trials,)."""
        ...
