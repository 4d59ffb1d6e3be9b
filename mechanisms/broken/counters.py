"""Known-wrong counters, each with the epsilon it really has: tree counters with any noise on any vertex.

Notation: k = arity, h = height of the tree for the horizon T, e = the epsilon that is claimed. The true epsilons are
exact at the horizons where the counts determine the noisy vertices (``TreeNodes.invertible``): the full ones, and every
one for ordinary digits; and, where no noise is reused, at every T >= k^(h - 1) (``TreeNodes.alone``). There a counter
with noise of scale l on every vertex is exactly h/l-DP, and one that uses a noise value twice releases some difference
of items without noise (fewer noise values than counts, and A invertible). The noise is discrete, so that the rate 1/l
is exact.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from flint import fmpz_mat
from numpy.typing import ArrayLike, NDArray

from dpverdict.audit.losses.closed_form import gaussian_loss
from dpverdict.balls import Exact, Real
from dpverdict.checks import check_dim, check_positive
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import PureDP
from dpverdict.mechanisms.core.laplace_noise import DiscreteLaplaceNoise
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, NeighbourPair
from dpverdict.mechanisms.core.noise import Noise
from dpverdict.mechanisms.core.sensitivity import Maximum, QuadraticSpace, unsupported
from dpverdict.mechanisms.streams.sensitivity import LaplaceStep, vertex_score
from dpverdict.mechanisms.streams.state import check_bits, check_stream
from dpverdict.mechanisms.streams.tree import TreeDigits, TreeNodes
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.text import plain_text

LONGEST = 1 << 24
"""The longest stream of a known-wrong counter, which keeps a table of its vertices."""

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
        tree = {
            "horizon": str(self.horizon),
            "arity": str(self.nodes.digits.arity),
            "rate": plain_text(self.noise.rate),
        }
        return AdditiveMechanism.describe(self) | tree


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NoiselessStep(QuadraticSpace):
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
            loss=gaussian_loss(self.mu_squared(noise, one, zero)),
            description=f"item number {self.item} of the stream changed from 0 to 1",
            justification="a combination of the counts carries no noise, and the item moves it",
            datasets=lambda: (having, without),
        )

    def mu_squared(self, noise: Noise, record: Array, replacement: Array | None = None) -> Real | None:
        """None, which stands for infinity, if the item moves a combination without noise; 0 if nothing changes."""
        if replacement is None or (record != replacement and not self.shows(self.item)):
            raise unsupported(self, noise)
        return Real.of(0) if record == replacement else None


Wiring = Callable[[TreeNodes], NDArray[np.int64]]
"""Which noise value each used vertex gets, as indices from 0 on."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CountingMutant:
    """A known-wrong counter, with its true epsilon.

    Attributes:
        name: identifier, for example "T1".
        title: what is wrong, in a few words.
        source: where the slip is made.
        formula: the true epsilon in words of e, h, k and T.
        digits: the digit system of its trees.
        rate: 1/scale of the noise, from the used vertices and e.
        wiring: which noise value each vertex gets; None for one each.
        unsigned: whether the sums of subtracted vertices are added instead.
        item: a time step whose item shows the fault best, from the arity.
    """

    name: str
    title: str
    source: str
    formula: str
    digits: Callable[[int], TreeDigits]
    rate: Callable[[TreeNodes, Fraction], Fraction]
    wiring: Wiring | None = None
    unsigned: bool = False
    item: Callable[[int], int] = lambda arity: 1
    parameters: ClassVar[tuple[str, ...]] = ("horizon", "epsilon", "arity")

    def make(self, horizon: int, epsilon: Exact, arity: int) -> BrokenCounter:
        """The wrong counter, claiming ``PureDP(epsilon)``.

        Raises:
            InvalidValue: an argument is out of range, or the variant does not exist for it.
        """
        nodes, claimed = self._nodes(horizon, arity), check_positive(epsilon, "epsilon")
        return BrokenCounter(
            name=f"broken:{self.name}",
            source=self.source,
            nodes=nodes,
            claim=PureDP(claimed),
            rate=self.rate(nodes, claimed),
            wiring=np.arange(nodes.size) if self.wiring is None else self.wiring(nodes),
            signs=np.abs if self.unsigned else None,
            item=min(self.item(arity), horizon),
        )

    def true_epsilon(self, horizon: int, epsilon: Exact, arity: int) -> Fraction | None:
        """The least epsilon that the variant keeps, exactly; None when it is infinite.

        Raises:
            InvalidValue: the horizon is not one where it is known (see `TreeNodes.invertible`).
        """
        nodes, claimed = self._nodes(horizon, arity), check_positive(epsilon, "epsilon")
        if not (nodes.invertible() or (self.wiring is None and nodes.alone == nodes.height)):
            remedy = f"take the full horizon {nodes.digits.capacity(nodes.height)}"
            raise InvalidValue("horizon", horizon, "full, for the true epsilon", remedy)
        if self.wiring is not None and int(self.wiring(nodes).max()) + 1 < nodes.size:
            return None
        return nodes.height * self.rate(nodes, claimed)

    def refutable(self, horizon: int, epsilon: Exact, arity: int) -> bool:
        """Whether the claim is false for these parameters, decided exactly."""
        true = self.true_epsilon(horizon, epsilon, arity)
        return true is None or true > check_positive(epsilon, "epsilon")

    def where_refutable(self) -> str:
        """The horizons up to 62 at arity 5 at which the true epsilon is known and above the claim, in words."""
        found = []
        for horizon in range(1, 63):
            with contextlib.suppress(InvalidValue):
                found += [horizon] if self.refutable(horizon, 1, 5) else []
        if not found:
            return "never"
        runs: list[list[int]] = []
        for horizon in found:
            if runs and horizon == runs[-1][-1] + 1:
                runs[-1].append(horizon)
            else:
                runs.append([horizon])
        return "T = " + ", ".join(f"{run[0]}..{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)

    def _nodes(self, horizon: int, arity: int) -> TreeNodes:
        if check_dim(horizon, "horizon") > LONGEST:
            raise InvalidValue("horizon", horizon, f"at most {LONGEST} for a known-wrong counter", "take a shorter one")
        return TreeNodes(self.digits(arity), check_dim(horizon, "horizon"))


def _wiring_by_label(nodes: TreeNodes, label: Callable[[int, int, int], tuple[int, ...]]) -> NDArray[np.int64]:
    """A wiring in which vertices with the same label of (level, block, digit) share their noise."""
    labels = [label(*place) for place in nodes.places()]
    first: dict[tuple[int, ...], int] = {}
    return np.array([first.setdefault(value, len(first)) for value in labels], dtype=np.int64)


def _floor_log(base: int, value: int) -> int:
    power = 0
    while base ** (power + 1) <= value:
        power += 1
    return power


def _ceil_log(base: int, value: int) -> int:
    power = 0
    while base**power < value:
        power += 1
    return power


def _positive_height(height: int) -> int:
    if height < 1:
        raise InvalidValue("height", height, ">= 1 for this variant", "take a longer horizon, or a smaller arity")
    return height


ALL: tuple[CountingMutant, ...] = (
    CountingMutant(
        name="T1",
        title="noise of scale (h - 1)/epsilon on h levels",
        source="Andersson, Pagh and Torkamani 2024, Algorithm 2, line 11",
        formula="e h/(h - 1)",
        digits=TreeDigits.offset,
        rate=lambda nodes, e: e / _positive_height(nodes.height - 1),
    ),
    CountingMutant(
        name="T2",
        title="floor instead of ceil in the height that scales the noise",
        source="Andersson, Pagh and Torkamani 2024, Algorithm 2, line 2",
        formula="e h/floor(log_k(2T))",
        digits=TreeDigits.symmetric,
        rate=lambda nodes, e: e / _positive_height(_floor_log(nodes.digits.arity, 2 * nodes.horizon)),
    ),
    CountingMutant(
        name="T3",
        title="ceil(log_k(T)) for ceil(log_k(T + 1)) in the height that scales the noise",
        source="Andersson, Pagh and Torkamani 2024, Algorithm 1, line 2",
        formula="e (j + 1)/j at T = k^j, e elsewhere",
        digits=TreeDigits.ordinary,
        rate=lambda nodes, e: e / _positive_height(_ceil_log(nodes.digits.arity, nodes.horizon)),
    ),
    CountingMutant(
        name="T4",
        title="noise of scale 1/epsilon on every vertex",
        source="Andersson, Pagh and Torkamani 2024, Algorithm 1, line 4",
        formula="e h",
        digits=TreeDigits.offset,
        rate=lambda nodes, e: e,
    ),
    CountingMutant(
        name="T5",
        title="noise of scale sqrt(h)/epsilon, the l2 sensitivity, claimed to be pure",
        source="Andersson, Pagh and Torkamani 2024, Theorem 1.3",
        formula="e sqrt(h), up to the rounding of the root to 64 bits",
        digits=TreeDigits.offset,
        rate=lambda nodes, e: e / Fraction(math.isqrt(nodes.height << 128), 1 << 64),
    ),
    CountingMutant(
        name="T6",
        title="the noise reused at all time steps",
        source="Andersson, Pagh and Torkamani 2024, Algorithm 2, line 11",
        formula="infinite for T >= 2",
        digits=TreeDigits.offset,
        rate=lambda nodes, e: e / nodes.height,
        wiring=lambda nodes: np.zeros(nodes.size, dtype=np.int64),
        item=lambda arity: 2,
    ),
    CountingMutant(
        name="T7",
        title="the noise indexed by level and digit instead of by vertex",
        source="Andersson, Pagh and Torkamani 2024, Algorithm 2, lines 7 and 11",
        formula="infinite for h >= 2, e for h = 1",
        digits=TreeDigits.offset,
        rate=lambda nodes, e: e / nodes.height,
        wiring=lambda nodes: _wiring_by_label(nodes, lambda level, block, digit: (level, digit)),
    ),
    CountingMutant(
        name="T8",
        title="the sign of the digit dropped from the index of the noise",
        source="Andersson, Pagh and Torkamani 2024, Algorithm 2, line 10",
        formula="infinite for h >= 2 and k >= 3, e otherwise",
        digits=TreeDigits.offset,
        rate=lambda nodes, e: e / nodes.height,
        wiring=lambda nodes: _wiring_by_label(nodes, lambda level, block, digit: (level, block, abs(digit))),
        item=lambda arity: arity + 1,
    ),
    CountingMutant(
        name="T9",
        title="plus for minus where children are subtracted",
        source="Andersson, Pagh and Torkamani 2024, Algorithm 3, line 15",
        formula="e: the counts are biased, and no less private",
        digits=TreeDigits.offset,
        rate=lambda nodes, e: e / nodes.height,
        unsigned=True,
    ),
)
"""Every known-wrong counter."""
