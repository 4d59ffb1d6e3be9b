"""The privacy loss of what two runs show: of the noisy values that moved, under the laws of their draws.

With y = q + G z on one dataset and y' = q' + G z on the other, z independent draws of known laws, the loss is that of
the laws of y and y'. Where G has full column rank, z can be told from y: the loss is that of the draws, moved by the
solution s of G s = q' - q. Gaussian draws need no such rank: mu^2 is the least |s|^2. Where q' - q is no combination of
the columns, some combination of the values has no noise, and the loss is infinite. Sums of Laplace draws that cannot
be told apart have at most the loss min |s|_1, which they approach in their tails.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverdict.audit.implementation.tap.tape import Choice
from dpverdict.audit.laws.base import Law
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import DisjointLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.mechanisms.finite.noisy_max import NOISES
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exponential_sums import ExponentialSum

ROUNDING: Final = 1e-9
"""Relative: what differs by less is taken for equal. It can hide a leak in the low bits, and never makes a finding."""

LARGEST_BLOCK: Final = 1024
"""Values that share draws: beyond that their loss is left open."""


@final
@dataclass(slots=True)
class PairLoss:
    """The loss of one pair along one transcript.

    Attributes:
        losses: of its independent parts.
        epsilon: the largest loss of all parts together; infinite for Gaussian noise that moved.
        mu_squared: of the Gaussian parts.
        approached: a bound on the parts whose noises cannot be told apart, which their tails approach.
        bounded: a bound on parts whose law is not known, as a library declares it.
        unknown: what is not known at all, in words.
        infinite: why it is infinite, in words; None if it is not.
    """

    losses: list[PrivacyLoss] = field(default_factory=list)
    epsilon: float = 0.0
    mu_squared: float = 0.0
    approached: float = 0.0
    bounded: float = 0.0
    unknown: list[str] = field(default_factory=list)
    infinite: str | None = None
    moves: dict[Law, Counter[Fraction]] = field(default_factory=dict)

    @property
    def whole(self) -> PrivacyLoss:
        """The composition of the parts that are known exactly."""
        return compose(*self.losses)

    def close(self) -> None:
        """Make the losses of all draws that moved, once all are known."""
        for law, counts in self.moves.items():
            self._add_law(law, counts)
        self.moves = {}

    def describe(self) -> str:
        """The number to read: epsilon, or mu where there is Gaussian noise alone."""
        if self.infinite is not None:
            return "eps infinite"
        rest = self.approached + self.bounded
        if self.mu_squared and not (math.isfinite(self.epsilon) or rest):
            return f"mu {math.sqrt(self.mu_squared):.6g}"
        if self.mu_squared:
            return f"mu {math.sqrt(self.mu_squared):.6g} with eps {rest:.6g}"
        at_most = "at most " if self.bounded else ""
        return f"eps {at_most}{self.epsilon + rest:.6g}"

    def add_moves(self, law: Law, moves: Sequence[Fraction]) -> None:
        """Independent draws of one law, each moved, in units of its scale."""
        counts = Counter(abs(move) for move in moves if move)
        if counts:
            self.moves.setdefault(law, Counter()).update(counts)

    def _add_law(self, law: Law, counts: Mapping[Fraction, int]) -> None:
        """The loss of the draws of one law; of moves whose loss is not computed, the largest loss alone."""
        for move in counts:
            reason = law.why_disjoint(move)
            if reason is not None:
                self.add_certain_difference(reason)
                return
        computed = {move: count for move, count in counts.items() if law.refusal(move) is None}
        rest = {move: count for move, count in counts.items() if move not in computed}
        if computed:
            largest, rho = law.largest_loss(computed), law.rho(computed)
            self.losses += law.losses(computed)
            self.epsilon += math.inf if largest is None else float(largest)
            self.mu_squared += 0.0 if rho is None else float(2 * rho)
        if rest:
            largest = law.largest_loss(rest)
            if largest is None:
                self.unknown.append(f"the loss of a move by {float(max(rest)):.6g} of {law.describe()}")
            else:
                self.approached += float(largest)

    def _add(self, loss: PrivacyLoss, epsilon: float) -> None:
        self.losses.append(loss)
        self.epsilon += epsilon

    def add_certain_difference(self, why: str) -> None:
        """Something tells the datasets apart for certain."""
        self.infinite = self.infinite or why
        self.losses.append(DisjointLoss())
        self.epsilon = math.inf

    def add_choice(self, here: Choice, there: Choice) -> None:
        """Outcomes of known probabilities: one row of probabilities for each."""
        for p, q in zip(here.p, there.p, strict=True):
            if np.allclose(p, q, rtol=ROUNDING, atol=0.0):
                continue
            kept = (p > 0) | (q > 0)
            with np.errstate(divide="ignore"):
                largest = float(np.abs(np.log(p[kept]) - np.log(q[kept])).max())
            weights = [[ExponentialSum.of(Fraction(float(w))) for w in law[kept]] for law in (p, q)]
            self._add(FiniteLoss.of_weights(*weights), largest)

    def add_joint(self, loss: PrivacyLoss | None) -> None:
        """The loss of values whose noise has a joint law, which is not bounded; None where nothing moved."""
        if loss is not None:
            self._add(loss, math.inf)

    def add_rows(self, rows: NoisyValues, law_of: Callable[[int], Law | None]) -> None:
        """Noisy values, which may share draws."""
        for block in rows.blocks():
            _JointBlock(block, law_of, self).add_to_loss()


@final
@dataclass(frozen=True, slots=True, eq=False)
class NoisyValues:
    """Noisy values of two runs: y = here + gains . z and y' = there + gains . z.

    Attributes:
        here, there: shape (n,).
        ids, gains: shape (n, r), of the first run.
    """

    here: Array
    there: Array
    ids: NDArray[np.int64]
    gains: Array

    @staticmethod
    def of(here: Array, there: Array, ids: NDArray[np.int64], gains: Array) -> NoisyValues:
        """Values with their draws; one that is multiplied by 0 is none of them."""
        return NoisyValues(here, there, np.where(gains == 0.0, -1, ids), gains)

    @staticmethod
    def joined(parts: Sequence[NoisyValues]) -> NoisyValues:
        """All of them."""
        width = max((part.ids.shape[1] for part in parts), default=0)
        pads = [((0, 0), (0, width - part.ids.shape[1])) for part in parts]
        if not parts:
            return NoisyValues(np.zeros(0), np.zeros(0), np.zeros((0, 0), dtype=np.int64), np.zeros((0, 0)))
        return NoisyValues(
            np.concatenate([part.here for part in parts]),
            np.concatenate([part.there for part in parts]),
            np.concatenate([np.pad(p.ids, pad, constant_values=-1) for p, pad in zip(parts, pads, strict=True)]),
            np.concatenate([np.pad(p.gains, pad) for p, pad in zip(parts, pads, strict=True)]),
        )

    def some(self, kept: Any) -> NoisyValues:
        """Some of them."""
        return NoisyValues(self.here[kept], self.there[kept], self.ids[kept], self.gains[kept])

    @property
    def moved(self) -> NDArray[np.bool_]:
        """Which of them moved, by more than rounding."""
        size = np.maximum(np.abs(self.here), np.abs(self.there))
        with np.errstate(invalid="ignore"):
            gap = np.abs(self.here - self.there)
            near = np.isfinite(gap) & (gap <= 1e-13 * size)
        moved: NDArray[np.bool_] = ~(near | (self.here == self.there))
        return moved

    def blocks(self) -> list[NoisyValues]:
        """Those that share draws, together; only blocks in which something moved."""
        n, width = self.ids.shape
        moved = self.moved
        if not moved.any():
            return []
        used = self.ids >= 0
        numbers, places = np.unique(self.ids[used], return_inverse=True)
        own = np.flatnonzero(used.sum(axis=1) == 1)
        counts = np.bincount(places, minlength=len(numbers))
        alone = np.zeros(n, dtype=np.bool_)
        if width and len(numbers):
            at = np.full(self.ids.shape, -1, dtype=np.int64)
            at[used] = places
            first = at.max(axis=1)
            alone[own] = counts[first[own]] == 1
        alone |= used.sum(axis=1) == 0
        found = [self.some(alone & moved)] if (alone & moved).any() else []
        rest = np.flatnonzero(~alone)
        if len(rest):
            part = self.some(rest)
            row, column = np.nonzero(part.ids >= 0)
            _, named = np.unique(part.ids[row, column], return_inverse=True)
            size = len(rest) + int(named.max()) + 1
            graph = scipy.sparse.coo_matrix((np.ones(len(row)), (row, len(rest) + named)), shape=(size, size))
            _, labels = scipy.sparse.csgraph.connected_components(graph, directed=False)
            for label in np.unique(labels[: len(rest)]):
                block = part.some(labels[: len(rest)] == label)
                if block.moved.any():
                    found.append(block)
        return found


@final
class _JointBlock:
    """Noisy values that share draws, or that have one of their own each."""

    def __init__(self, rows: NoisyValues, law_of: Callable[[int], Law | None], into: PairLoss) -> None:
        self._rows, self._law_of, self._into = rows, law_of, into

    def add_to_loss(self) -> None:
        rows = self._rows
        used = rows.ids >= 0
        if not (np.isfinite(rows.here).all() and np.isfinite(rows.there).all()):
            self._into.add_certain_difference("noise is added to a value that is not finite")
            return
        if int(used.sum(axis=1).max(initial=0)) <= 1 and len(np.unique(rows.ids[used])) == int(used.sum()):
            self._add_separate_draws(used)
        elif max(len(rows.here), len(np.unique(rows.ids[used]))) > LARGEST_BLOCK:
            self._into.unknown.append(f"the joint law of {len(rows.here)} values that share draws")
        else:
            self._add_shared_draws(used)

    def _add_separate_draws(self, used: NDArray[np.bool_]) -> None:
        moves: dict[Law | None, list[Fraction]] = defaultdict(list)
        rows = self._rows
        for i in range(len(rows.here)):
            columns = np.flatnonzero(used[i])
            gain = float(rows.gains[i, columns[0]]) if len(columns) else 0.0
            if gain == 0.0 or not math.isfinite(gain):
                self._into.add_certain_difference("a value that moved was given no noise")
                return
            gap = Fraction(float(rows.here[i])) - Fraction(float(rows.there[i]))
            moves[self._law_of(int(rows.ids[i, columns[0]]))].append(gap / Fraction(gain))
        for law, found in moves.items():
            self._add(law, found)

    def _add(self, law: Law | None, moves: Sequence[Fraction]) -> None:
        if law is None:
            self._into.unknown.append("the law of a draw")
        else:
            self._into.add_moves(law, moves)

    def _add_shared_draws(self, used: NDArray[np.bool_]) -> None:
        rows = self._rows
        numbers, places = np.unique(rows.ids[used], return_inverse=True)
        matrix = np.zeros((len(rows.here), len(numbers)))
        np.add.at(matrix, (np.nonzero(used)[0], places), rows.gains[used])
        move = rows.there - rows.here
        laws = [self._law_of(int(number)) for number in numbers]
        left, singular, right = np.linalg.svd(matrix, full_matrices=False)
        rank = int((singular > ROUNDING * singular.max(initial=0.0)).sum())
        shown = left[:, :rank].T @ move
        if float(np.linalg.norm(move - left[:, :rank] @ shown)) > 1e-7 * float(np.linalg.norm(move)):
            self._into.add_certain_difference("values share their noise: a combination of them has none, and it moved")
            return
        least = right[:rank].T @ (shown / singular[:rank])
        first = laws[0]
        if first is not None and first.spherical and all(law == first for law in laws):
            self._into.add_moves(first, [Fraction(float(np.linalg.norm(least)))])
        elif rank == len(numbers):
            for law in dict.fromkeys(laws):
                found = [Fraction(float(s)) for s, one in zip(least, laws, strict=True) if one == law]
                found = [s if abs(s) > ROUNDING * max(1.0, float(np.abs(least).max())) else Fraction(0) for s in found]
                if law is not None and law.on_whole_numbers:
                    found = [Fraction(round(s)) if abs(s - round(s)) < 1e-6 else s for s in found]
                self._add(law, found)
        else:
            self._add_sum_of_draws(matrix, move, laws)

    def _add_sum_of_draws(self, matrix: Array, move: Array, laws: Sequence[Law | None]) -> None:
        """Sums of draws: pairs of geometric draws make a two-sided one; of Laplace draws the loss is approached."""
        first = laws[0]
        if len(move) == 1 and len(laws) == 2 and first is not None and first == laws[1]:
            difference = first.law_of_difference()
            if difference is not None and matrix[0, 0] == -matrix[0, 1]:
                self._into.add_moves(difference, [Fraction(float(move[0])) / Fraction(float(abs(matrix[0, 0])))])
                return
        unit = {Fraction(1): 1}
        slopes = [None if law is None else law.largest_loss(unit) for law in laws]  # the loss for each unit of a move
        kept = [i for i, slope in enumerate(slopes) if slope is not None]
        if kept and all(
            slope is not None or (law is not None and law.spherical) for slope, law in zip(slopes, laws, strict=True)
        ):
            cost = np.array([float(slopes[i] or 0) for i in kept])
            columns = matrix[:, kept]
            found = scipy.optimize.linprog(
                np.tile(cost, 2), A_eq=np.hstack([columns, -columns]), b_eq=move, bounds=(0, None)
            )
            if found.success:
                self._into.approached += float(found.fun)
                return
        names = ", ".join(sorted({"unknown" if law is None else law.name for law in laws}))
        self._into.unknown.append(f"the law of a sum of draws ({names})")


def selection_probabilities(law: Law, scores: Array, scale: float) -> Array | None:
    """P(the largest of scores with independent noise is the i-th), for the laws where it is known; None otherwise."""
    kind = NOISES.get(law.name)
    if kind is None or not scale > 0:
        return None
    noise = kind(size=len(scores), rate=1 / Fraction(scale))
    weights = [float(weight.ball().mid()) for weight in noise.law([Fraction(float(one)) for one in scores])]
    return np.asarray(weights) / sum(weights)
