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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverdict.audit.implementation.tap.tape import Choice, Law
from dpverdict.audit.losses.base import AddRemoveLoss, PrivacyLoss
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss, RandomisedResponseLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.losses.lattice.custom import additive_noise_loss
from dpverdict.mechanisms.finite.selection import ExponentialScores, GumbelNoise, LaplaceScores, ScoreNoise
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exponential_sums import ExponentialSum

ROUNDING: Final = 1e-9
"""Relative: what differs by less is taken for equal. It can hide a leak in the low bits, and never makes a finding."""

LARGEST_BLOCK: Final = 1024
"""Values that share draws: beyond that their loss is left open."""
_LONGEST_MOVE: Final = 256


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
            self._of_law(law, counts)
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

    def _of_law(self, law: Law, counts: Counter[Fraction]) -> None:
        total = sum((move * n for move, n in counts.items()), Fraction(0))
        match law.kind:
            case "gaussian":
                square = sum((move**2 * n for move, n in counts.items()), Fraction(0))
                self.mu_squared += float(square)
                self._add(GaussianLoss.from_squared(square), math.inf)
            case "laplace":
                self._add(LaplaceLoss.grouped(counts.items()), float(total))
            case "two-sided geometric" | "geometric" | "discrete gaussian" if any(m.denominator != 1 for m in counts):
                self.never("a whole number was moved by a fraction: the values tell the datasets apart")
            case "two-sided geometric":
                rate = Fraction(law.parameter)
                for move, n in counts.items():
                    self._add_geometric(rate, int(move), n)
            case "geometric":
                rate = Fraction(law.parameter)
                self._add(compose(*(one_sided(rate * move) for move in counts.elements())), math.inf)
            case "exponential":
                self._add(compose(*(one_sided(move) for move in counts.elements())), math.inf)
            case "uniform":
                if max(counts) >= 1:
                    self.never("uniform noise was moved by its whole width")
                else:
                    flat = [FiniteLoss([r, 1 - r, 0], [0, 1 - r, r]) for r in counts.elements()]
                    self._add(compose(*flat), math.inf)
            case "discrete gaussian":
                variance = Fraction(law.parameter)
                groups = [(variance, int(move), n) for move, n in counts.items()]
                self._add(DiscreteGaussianLoss.from_groups(groups), math.inf)
                self.mu_squared += float(sum((m**2 * n for m, n in counts.items()), Fraction(0)) / variance)
            case "gumbel":
                for move in counts.elements():
                    self._add(_gumbel(float(move)), math.inf)
            case _:
                self.unknown.append(f"the law of {law.describe()}")

    def _add_geometric(self, rate: Fraction, move: int, count: int) -> None:
        if move == 1:
            self._add(RandomisedResponseLoss(count, rate), float(rate * count))
        elif move <= _LONGEST_MOVE:
            inner = [ExponentialSum.exp(-rate * x) - ExponentialSum.exp(-rate * (x + 1)) for x in range(1, move)]
            p = [ExponentialSum.of(1), *inner, ExponentialSum.exp(-rate * move)]
            self._add(compose(*[FiniteLoss.of_weights(p, p[::-1])] * count), float(rate * move * count))
        else:
            self.approached += float(rate * move * count)

    def _add(self, loss: PrivacyLoss, epsilon: float) -> None:
        self.losses.append(loss)
        self.epsilon += epsilon

    def never(self, why: str) -> None:
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

    def add_loss(self, loss: PrivacyLoss) -> None:
        """The privacy loss of two laws that a noise object names itself."""
        if loss.law_key != GaussianLoss(0).law_key:
            self._add(loss, math.inf)

    def add_rows(self, rows: Rows, law_of: Callable[[int], Law | None]) -> None:
        """Noisy values, which may share draws."""
        for block in rows.blocks():
            _Block(block, law_of, self).solve()


def one_sided(move: Fraction) -> FiniteLoss:
    """Exponential noise of rate 1 against itself moved up: below the move only one of the two has any mass."""
    kept = ExponentialSum.exp(-move)
    return FiniteLoss.of_weights([ExponentialSum.of(1) - kept, kept], [ExponentialSum.of(0), ExponentialSum.of(1)])


def _gumbel(move: float) -> PrivacyLoss:
    """Both orders: the noise against itself moved up, and its mirror image."""
    orders = [
        compose(additive_noise_loss(law(), move, relative_error=1e-12))
        for law in (scipy.stats.gumbel_r, scipy.stats.gumbel_l)
    ]
    return AddRemoveLoss(remove=orders[0], add=orders[1])


@final
@dataclass(frozen=True, slots=True, eq=False)
class Rows:
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
    def of(here: Array, there: Array, ids: NDArray[np.int64], gains: Array) -> Rows:
        """Values with their draws; one that is multiplied by 0 is none of them."""
        return Rows(here, there, np.where(gains == 0.0, -1, ids), gains)

    @staticmethod
    def joined(parts: Sequence[Rows]) -> Rows:
        """All of them."""
        width = max((part.ids.shape[1] for part in parts), default=0)
        pads = [((0, 0), (0, width - part.ids.shape[1])) for part in parts]
        if not parts:
            return Rows(np.zeros(0), np.zeros(0), np.zeros((0, 0), dtype=np.int64), np.zeros((0, 0)))
        return Rows(
            np.concatenate([part.here for part in parts]),
            np.concatenate([part.there for part in parts]),
            np.concatenate([np.pad(p.ids, pad, constant_values=-1) for p, pad in zip(parts, pads, strict=True)]),
            np.concatenate([np.pad(p.gains, pad) for p, pad in zip(parts, pads, strict=True)]),
        )

    def some(self, kept: Any) -> Rows:
        """Some of them."""
        return Rows(self.here[kept], self.there[kept], self.ids[kept], self.gains[kept])

    @property
    def moved(self) -> NDArray[np.bool_]:
        """Which of them moved, by more than rounding."""
        size = np.maximum(np.abs(self.here), np.abs(self.there))
        with np.errstate(invalid="ignore"):
            gap = np.abs(self.here - self.there)
            near = np.isfinite(gap) & (gap <= 1e-13 * size)
        moved: NDArray[np.bool_] = ~(near | (self.here == self.there))
        return moved

    def blocks(self) -> list[Rows]:
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
class _Block:
    """Noisy values that share draws, or that have one of their own each."""

    def __init__(self, rows: Rows, law_of: Callable[[int], Law | None], into: PairLoss) -> None:
        self._rows, self._law_of, self._into = rows, law_of, into

    def solve(self) -> None:
        rows = self._rows
        used = rows.ids >= 0
        if not (np.isfinite(rows.here).all() and np.isfinite(rows.there).all()):
            self._into.never("a value that noise is added to is not finite")
            return
        if int(used.sum(axis=1).max(initial=0)) <= 1 and len(np.unique(rows.ids[used])) == int(used.sum()):
            self._each_its_own(used)
        elif max(len(rows.here), len(np.unique(rows.ids[used]))) > LARGEST_BLOCK:
            self._into.unknown.append(f"the joint law of {len(rows.here)} values that share draws")
        else:
            self._together(used)

    def _each_its_own(self, used: NDArray[np.bool_]) -> None:
        moves: dict[Law | None, list[Fraction]] = defaultdict(list)
        rows = self._rows
        for i in range(len(rows.here)):
            columns = np.flatnonzero(used[i])
            gain = float(rows.gains[i, columns[0]]) if len(columns) else 0.0
            if gain == 0.0 or not math.isfinite(gain):
                self._into.never("a value that moved was given no noise")
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

    def _together(self, used: NDArray[np.bool_]) -> None:
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
            self._into.never("values share their noise: a combination of them has none, and it moved")
            return
        least = right[:rank].T @ (shown / singular[:rank])
        if all(law is not None and law.kind == "gaussian" for law in laws):
            self._into.add_moves(Law("gaussian"), [Fraction(float(np.linalg.norm(least)))])
        elif rank == len(numbers):
            whole = {"geometric", "two-sided geometric", "discrete gaussian"}
            for law in dict.fromkeys(laws):
                found = [Fraction(float(s)) for s, one in zip(least, laws, strict=True) if one == law]
                found = [s if abs(s) > ROUNDING * max(1.0, float(np.abs(least).max())) else Fraction(0) for s in found]
                if law is not None and law.kind in whole:
                    found = [Fraction(round(s)) if abs(s - round(s)) < 1e-6 else s for s in found]
                self._add(law, found)
        else:
            self._cannot_be_told(matrix, move, laws)

    def _cannot_be_told(self, matrix: Array, move: Array, laws: Sequence[Law | None]) -> None:
        """Sums of draws: pairs of geometric draws make a two-sided one; of Laplace draws the loss is approached."""
        if len(move) == 1 and len(laws) == 2:
            kinds = {(law.kind, law.parameter) for law in laws if law is not None}
            if (
                len(kinds) == 1
                and next(iter(kinds))[0] in ("geometric", "exponential")
                and matrix[0, 0] == -matrix[0, 1]
            ):
                kind, parameter = next(iter(kinds))
                law = Law("laplace") if kind == "exponential" else Law("two-sided geometric", parameter)
                self._into.add_moves(law, [Fraction(float(move[0])) / Fraction(float(abs(matrix[0, 0])))])
                return
        slopes = {"laplace": lambda law: 1.0, "two-sided geometric": lambda law: float(law.parameter)}
        kept = [i for i, law in enumerate(laws) if law is not None and law.kind in slopes]
        if kept and all(law is not None and law.kind in (*slopes, "gaussian") for law in laws):
            cost = np.array([slopes[laws[i].kind](laws[i]) for i in kept])  # type: ignore[union-attr]
            columns = matrix[:, kept]
            found = scipy.optimize.linprog(
                np.tile(cost, 2), A_eq=np.hstack([columns, -columns]), b_eq=move, bounds=(0, None)
            )
            if found.success:
                self._into.approached += float(found.fun)
                return
        names = ", ".join(sorted({"unknown" if law is None else law.kind for law in laws}))
        self._into.unknown.append(f"the law of a sum of draws ({names})")


_SELECTING: Final[dict[str, Callable[[int, Fraction], ScoreNoise]]] = {
    "gumbel": lambda size, rate: GumbelNoise(size=size, rate=rate),
    "laplace": lambda size, rate: LaplaceScores(size=size, rate=rate),
    "exponential": lambda size, rate: ExponentialScores(size=size, rate=rate),
}


def selection_probabilities(kind: str, scores: Array, scale: float) -> Array | None:
    """P(the largest of scores with independent noise is the i-th), for the laws where it is known; None otherwise."""
    if kind not in _SELECTING or not scale > 0:
        return None
    noise = _SELECTING[kind](len(scores), 1 / Fraction(scale))
    weights = [float(weight.ball().mid()) for weight in noise.law([Fraction(float(one)) for one in scores])]
    return np.asarray(weights) / sum(weights)
