"""Known-wrong counters, each with the epsilon it really has.

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
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.balls import Exact
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.broken_counter import BrokenCounter as BrokenCounter
from dpverdict.mechanisms.guarantee import PureDP
from dpverdict.mechanisms.mechanism import check_dim, check_positive
from dpverdict.mechanisms.tree_digits import Digits
from dpverdict.mechanisms.tree_nodes import TreeNodes

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
    digits: Callable[[int], Digits]
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
        return TreeNodes(self.digits(arity), check_dim(horizon, "horizon"))


def smaller_height() -> CountingMutant:
    """T1: the noise is scaled for h - 1 levels."""
    return CountingMutant(
        name="T1",
        title="noise of scale (h - 1)/epsilon on h levels",
        source="Andersson, Pagh and Torkamani 2024, Algorithm 2, line 11",
        formula="e h/(h - 1)",
        digits=Digits.offset,
        rate=lambda nodes, e: e / _positive_height(nodes.height - 1),
    )


def floor_of_logarithm() -> CountingMutant:
    """T2: the height that scales the noise is floor(log_k(2T)) instead of ceil."""
    return CountingMutant(
        name="T2",
        title="floor instead of ceil in the height that scales the noise",
        source="Andersson, Pagh and Torkamani 2024, Algorithm 2, line 2",
        formula="e h/floor(log_k(2T))",
        digits=Digits.symmetric,
        rate=lambda nodes, e: e / _positive_height(_floor_log(nodes.digits.arity, 2 * nodes.horizon)),
    )


def horizon_without_one() -> CountingMutant:
    """T3: ceil(log_k(T)) for ceil(log_k(T + 1)), which is wrong at T = k^j only."""
    return CountingMutant(
        name="T3",
        title="ceil(log_k(T)) for ceil(log_k(T + 1)) in the height that scales the noise",
        source="Andersson, Pagh and Torkamani 2024, Algorithm 1, line 2",
        formula="e (j + 1)/j at T = k^j, e elsewhere",
        digits=Digits.ordinary,
        rate=lambda nodes, e: e / _positive_height(_ceil_log(nodes.digits.arity, nodes.horizon)),
    )


def one_level_budget() -> CountingMutant:
    """T4: every vertex gets noise of scale 1/epsilon, as if an item were in one vertex."""
    return CountingMutant(
        name="T4",
        title="noise of scale 1/epsilon on every vertex",
        source="Andersson, Pagh and Torkamani 2024, Algorithm 1, line 4",
        formula="e h",
        digits=Digits.offset,
        rate=lambda nodes, e: e,
    )


def scaled_to_l2() -> CountingMutant:
    """T5: Laplace noise scaled to the l2 sensitivity sqrt(h), with a pure claim."""
    return CountingMutant(
        name="T5",
        title="noise of scale sqrt(h)/epsilon, the l2 sensitivity, claimed to be pure",
        source="Andersson, Pagh and Torkamani 2024, Theorem 1.3",
        formula="e sqrt(h), up to the rounding of the root to 64 bits",
        digits=Digits.offset,
        rate=lambda nodes, e: e / Fraction(math.isqrt(nodes.height << 128), 1 << 64),
    )


def one_noise_for_all_times() -> CountingMutant:
    """T6: one noise value is drawn and added to every count."""
    return CountingMutant(
        name="T6",
        title="the noise reused at all time steps",
        source="Andersson, Pagh and Torkamani 2024, Algorithm 2, line 11",
        formula="infinite for T >= 2",
        digits=Digits.offset,
        rate=lambda nodes, e: e / nodes.height,
        wiring=lambda nodes: np.zeros(nodes.size, dtype=np.int64),
        item=lambda arity: 2,
    )


def noise_by_digit() -> CountingMutant:
    """T7: noise is kept by level and digit, and so comes back after every carry."""
    return CountingMutant(
        name="T7",
        title="the noise indexed by level and digit instead of by vertex",
        source="Andersson, Pagh and Torkamani 2024, Algorithm 2, lines 7 and 11",
        formula="infinite for h >= 2, e for h = 1",
        digits=Digits.offset,
        rate=lambda nodes, e: e / nodes.height,
        wiring=lambda nodes: _shared(nodes, lambda level, block, digit: (level, digit)),
    )


def index_without_sign() -> CountingMutant:
    """T8: the index of a noise value counts up for negative digits too, so digits j and -j share theirs."""
    return CountingMutant(
        name="T8",
        title="the sign of the digit dropped from the index of the noise",
        source="Andersson, Pagh and Torkamani 2024, Algorithm 2, line 10",
        formula="infinite for h >= 2 and k >= 3, e otherwise",
        digits=Digits.offset,
        rate=lambda nodes, e: e / nodes.height,
        wiring=lambda nodes: _shared(nodes, lambda level, block, digit: (level, block, abs(digit))),
        item=lambda arity: arity + 1,
    )


def subtracted_children_added() -> CountingMutant:
    """T9: the sums of the children that are to be subtracted are added: private, but the counts are wrong."""
    return CountingMutant(
        name="T9",
        title="plus for minus where children are subtracted",
        source="Andersson, Pagh and Torkamani 2024, Algorithm 3, line 15",
        formula="e: the counts are biased, and no less private",
        digits=Digits.offset,
        rate=lambda nodes, e: e / nodes.height,
        unsigned=True,
    )


ALL: tuple[CountingMutant, ...] = (
    smaller_height(),
    floor_of_logarithm(),
    horizon_without_one(),
    one_level_budget(),
    scaled_to_l2(),
    one_noise_for_all_times(),
    noise_by_digit(),
    index_without_sign(),
    subtracted_children_added(),
)
"""Every known-wrong counter."""


def _shared(nodes: TreeNodes, label: Callable[[int, int, int], tuple[int, ...]]) -> NDArray[np.int64]:
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
