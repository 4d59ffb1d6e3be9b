"""A tree counter with any noise on any vertex: what the known-wrong counters are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
from dp_accounting import NeighboringRelation
from flint import fmpz_mat
from numpy.typing import ArrayLike, NDArray

from dpverdict.balls import Real
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.adjacency import REPLACE_ONE
from dpverdict.mechanisms.guarantee import PureDP
from dpverdict.mechanisms.laplace_noise import DiscreteLaplaceNoise
from dpverdict.mechanisms.mechanism import AdditiveMechanism, Array, check_dim
from dpverdict.mechanisms.neighbours import NeighbourPair
from dpverdict.mechanisms.noise import Noise
from dpverdict.mechanisms.sensitivity import Maximum, unsupported
from dpverdict.mechanisms.stream_sensitivity import LaplaceStep, vertex_score
from dpverdict.mechanisms.tree_items import check_bits, check_stream
from dpverdict.mechanisms.tree_nodes import TreeNodes

LONGEST_REUSE = 512
"""The longest stream for which a combination of counts without noise is looked for."""


@final
class BrokenCounter(AdditiveMechanism):
    """A tree counter with any noise on any vertex, and a claim that need not be true.

    Its statistic are the counts without noise; its noise is one value for every group of vertices that share theirs.
    """

    adjacency: NeighboringRelation = REPLACE_ONE
    assumptions: tuple[str, ...] = ("every item is 0 or 1",)
    claim: PureDP
    noise: DiscreteLaplaceNoise
    name: str
    source: str
    nodes: TreeNodes
    horizon: int
    dim: int
    parts: tuple[object, ...]
    reuses: bool

    def __init__(
        self,
        *,
        name: str,
        source: str,
        nodes: TreeNodes,
        claim: PureDP,
        rate: Fraction,
        wiring: NDArray[np.int64],
        signs: Callable[[Array], Array] | None = None,
        item: int = 1,
    ) -> None:
        self.name, self.source, self.nodes, self.claim = name, source, nodes, claim
        self.horizon = self.dim = nodes.horizon
        self.parts = (nodes, nodes.digits)
        self.noise = DiscreteLaplaceNoise(size=int(wiring.max()) + 1, rate=rate)
        self._wiring, self._signs = wiring, signs
        self.reuses = self.noise.size < nodes.size
        if self.reuses:
            self.sensitivity: LaplaceStep | NoiselessStep = NoiselessStep(
                horizon=self.horizon, item=item, shows=lambda i: bool(self._noiseless(i).any())
            )
        else:
            self.sensitivity = LaplaceStep(
                horizon=self.horizon,
                column=lambda i: ((Fraction(1), nodes.paths(i)),),
                invertible=nodes.invertible(),
                alone=nodes.alone,
            )

    @property
    def record_shape(self) -> tuple[int, ...]:
        """A record is one number: ()."""
        return ()

    def check_records(self, dataset: ArrayLike) -> Array:
        """The stream as float64 of shape (T,), items 0 or 1."""
        stream = check_stream(dataset, self.horizon)
        check_bits(stream)
        return np.concatenate([stream, np.zeros(self.horizon - len(stream))])

    def vertices(self, dataset: ArrayLike) -> Array:
        """The sums of the used vertices as this counter adds them up: shape (nodes.size,)."""
        sums = self.nodes.embed(self.check_records(dataset)[None])
        added: Array = (sums if self._signs is None else self._signs(sums))[0]
        return added

    def statistic(self, records: Array) -> Array:
        """The counts without noise, shape (T,): not the prefix sums where a sign is wrong."""
        counts: Array = self.nodes.decode(self.vertices(records)[None])[0]
        return counts

    def means(self, dataset: ArrayLike) -> Array:
        """The counts without noise: the same as `embed`."""
        return self.embed(dataset)

    def release_many(self, dataset: ArrayLike, trials: int, rng: np.random.Generator) -> Array:
        """``trials`` independent releases of one stream: shape (trials, T)."""
        noise = self.noise.add(np.zeros(self.noise.size), check_dim(trials, "trials"), rng)
        return self.nodes.decode(noise[:, self._wiring]) + self.embed(dataset)

    def likelihood_score(self, pair: NeighbourPair) -> Callable[[Array], Array]:
        """The log-likelihood ratio of P against Q; a combination of the counts without noise, where there is one."""
        if self.reuses:
            weights, offset = self.likelihood_direction(pair)
            return lambda counts: np.add.reduce(counts * weights, axis=1) - offset
        return vertex_score(self.nodes.embed, self.horizon, float(self.noise.rate), self.vertices, pair)

    def likelihood_direction(self, pair: NeighbourPair) -> tuple[Array, float]:
        """Weights w and offset c: w . y carries no noise, and w . y - c is positive under P, negative under Q.

        Raises:
            InvalidValue: every combination of the counts has noise, or none without noise tells the two apart.
        """
        p, q = self.embed(pair.dataset), self.embed(pair.neighbour)
        weights = self._combination(p - q) if self.reuses else np.zeros(self.horizon)
        if not weights.any():
            raise InvalidValue("neighbours", pair.describe(), "told apart without noise", "use likelihood_score")
        return weights, float(weights @ (p + q)) / 2

    def _noiseless(self, item: int) -> Array:
        """Whole weights w of a combination of the counts without noise that item number ``item`` moves; 0 if none."""
        return self._combination(self.embed(np.eye(1, self.horizon, item - 1)[0]) - self.embed(np.zeros(self.horizon)))

    def _combination(self, moved: Array) -> Array:
        for weights in self._without_noise:
            inner = float(weights @ moved)
            if inner:
                return weights if inner > 0 else -weights
        return np.zeros(self.horizon)

    @cached_property
    def _without_noise(self) -> list[Array]:
        """A basis of the combinations of the counts in which all noise cancels, in whole numbers."""
        if self.horizon > LONGEST_REUSE:
            raise InvalidValue(
                "horizon", self.horizon, f"<= {LONGEST_REUSE} where noise is reused", "take a shorter one"
            )
        noise = self.nodes.decode(np.eye(self.noise.size)[:, self._wiring])  # one row for every noise value
        matrix = fmpz_mat(self.noise.size, self.horizon, [int(entry) for entry in noise.ravel()])
        basis, rank = matrix.nullspace()
        columns = [[int(basis[i, j]) for i in range(self.horizon)] for j in range(rank)]
        return [np.array(column, dtype=np.float64) / np.gcd.reduce(column) for column in columns]

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        tree = {"horizon": str(self.horizon), "arity": str(self.nodes.digits.arity), "rate": str(self.noise.rate)}
        return AdditiveMechanism.describe(self) | tree


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NoiselessStep:
    """One item of a stream replaced, under noise that cancels in some combination of the counts.

    Args:
        horizon: the number of steps T.
        item: a step whose item moves such a combination.
        shows: from i in 1..T to whether item i moves one.
    """

    horizon: int
    item: int
    shows: Callable[[int], bool]

    def at(self, position: int) -> NoiselessStep:
        """The differences that the item at a position makes, the first being 0."""
        return replace(self, item=position + 1)

    def maximise(self, noise: Noise) -> Maximum:
        """The item that shows: the two laws have nothing in common."""
        without = np.zeros(self.horizon)
        having = without.copy()
        having[self.item - 1] = 1.0
        one, zero = np.ones(()), np.zeros(())
        return Maximum(
            mu_squared=self.mu_squared(noise, one, zero),
            records=lambda: (one, zero),
            description=f"item number {self.item} of the stream changed from 0 to 1",
            justification="a combination of the counts carries no noise, and the item moves it",
            datasets=lambda: (having, without),
        )

    def mu_squared(self, noise: Noise, record: Array, replacement: Array | None = None) -> Real | None:
        """None, which stands for infinity, if the item moves a combination without noise; 0 if nothing changes."""
        if replacement is None or (record != replacement and not self.shows(self.item)):
            raise unsupported(self, noise)
        return Real.of(0) if record == replacement else None
