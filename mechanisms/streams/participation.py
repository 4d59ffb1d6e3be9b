"""How often a record takes part in a run, and the sensitivity of C x: the worst pattern, exactly or between bounds.

A record that takes part at the steps t_1 < ... < t_k with contributions g_i of norm at most 1 moves C x by the sum of
the columns C e_(t_i) times g_i, whose squared Frobenius norm is, with X = C^T C,

    sum over i, j of X[t_i, t_j] <g_i, g_j>  <=  sum over i, j of |X[t_i, t_j]|,

and this is attained if no X[t_i, t_j] is negative: by equal g_i. What is proved of the worst pattern:

* Toeplitz, steps in a fixed distance b: a pattern that begins later has the same C x, of which the end is cut off. So
  the first step is the worst to begin with, for any coefficients.
* Toeplitz, b-min-separation, falling coefficients: X[s, t] is the sum over m <= T - t of c_m c_(m + t - s), which
  falls in t and in t - s; as t_i >= 1 + (i - 1) b and t_j - t_i >= (j - i) b, the steps 1, 1 + b, ... are the worst
  (Kalinin and Lampert 2024, Theorem 2, arXiv:2405.13763).
* A band of at most b diagonals: the columns of a pattern are orthogonal, and the worst pattern has the largest sum of
  squared norms: by dynamic programming (Choquette-Choo et al. 2023, arXiv:2306.08153).
* Otherwise a bound from above: of Toeplitz matrices that of the falling majorant of |c_j|; of others, for every step s
  the largest sum of |X[s, t]| over patterns with s, and the largest sum of these numbers over a pattern (Choquette-Choo
  et al. 2023, arXiv:2306.08153). What is attained is a pattern with signs that were found.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias, final

import numpy as np

from dpverdict.balls import Real
from dpverdict.checks import check_whole
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.streams.strategies import Banded, Steps, Strategy, Toeplitz
from dpverdict.numerics.arrays import Array

ParticipationName: TypeAlias = Literal["single", "fixed-epochs", "cyclic", "min-separation"]
PARTICIPATIONS: Final[tuple[ParticipationName, ...]] = ("single", "fixed-epochs", "cyclic", "min-separation")
_SIGNS: Final = 12
"""Steps of a pattern whose signs are all tried."""
_WORK: Final = 1 << 25


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Participation:
    """The steps in which a record may take part.

    Attributes:
        name: "single", one step; "fixed-epochs", every b-th step from any of the first b, all of them; "cyclic", any
            of those; "min-separation", any steps of which no two are nearer than b.
        horizon: T.
        separation: b; T for a single participation.
        most: the largest number k of steps.
    """

    name: ParticipationName
    horizon: int
    separation: int
    most: int

    @staticmethod
    def of(
        name: ParticipationName, horizon: int, *, separation: int | None = None, participations: int | None = None
    ) -> Participation:
        """Checked; k is the largest possible number if it is not given.

        Raises:
            InvalidValue: no such participation in so many steps.
        """
        if name not in PARTICIPATIONS:
            remedy = "say in which steps a record takes part"
            raise InvalidValue("participation", name, f"one of {', '.join(PARTICIPATIONS)}", remedy)
        if name == "single":
            if separation is not None or participations is not None:
                remedy = "leave separation and participations out"
                raise InvalidValue("participation", name, "one step, without more", remedy)
            return Participation(name=name, horizon=horizon, separation=horizon, most=1)
        if separation is None:
            raise InvalidValue(
                "separation", separation, "a number of steps", "say how far two steps of a record lie apart"
            )
        b = check_whole(separation, "separation", least=1, remedy="say how far two steps of a record lie apart")
        if b > horizon or (name == "fixed-epochs" and horizon % b):
            remedy = "an epoch has as many steps as lie between two of a record"
            raise InvalidValue(
                "separation", separation, f"at most {horizon}, and whole epochs if they are fixed", remedy
            )
        possible = -(-horizon // b)
        if participations is not None and name != "min-separation":
            raise InvalidValue("participations", participations, "left out", "the steps and the separation give it")
        most = possible if participations is None else participations
        k = check_whole(most, "participations", least=1, remedy="say how often a record takes part")
        return Participation(name=name, horizon=horizon, separation=b, most=min(k, possible))

    def allows(self, steps: Steps) -> bool:
        """Whether a record may contribute more than 0 at these steps, from 0 and in order."""
        if len(steps) > self.most or any(not 0 <= step < self.horizon for step in steps):
            return False
        gaps = [second - first for first, second in itertools.pairwise(steps)]
        if self.name == "min-separation":
            return all(gap >= self.separation for gap in gaps)
        return all(gap % self.separation == 0 for gap in gaps)

    def classes(self) -> Iterator[Steps]:
        """The largest patterns, where steps lie in a fixed distance."""
        for first in range(self.separation):
            yield tuple(range(first, self.horizon, self.separation))[: self.most]

    def describe(self) -> str:
        """In words."""
        if self.name == "single":
            return "in one step"
        if self.name == "min-separation":
            return f"in at most {self.most} steps, no two nearer than {self.separation}"
        which = "every" if self.name == "fixed-epochs" else "some of every"
        return f"in {which} {self.separation}-th step, {self.most} in all at most"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """The largest |C x - C x'|^2 for contributions of norm 1, or bounds on it.

    Attributes:
        upper: no smaller than it.
        lower: attained at ``steps`` by contributions +-1.
        steps: from 0.
        signs: of the contributions.
        exact: whether the two are one number.
        why: the proof of the upper one.
    """

    upper: Real
    lower: Real
    steps: Steps
    signs: tuple[int, ...]
    exact: bool
    why: str


def sensitivity_of(strategy: Strategy, participation: Participation) -> Sensitivity:
    """The sensitivity of C x over the patterns of a participation.

    Raises:
        InvalidValue: too much work.
    """
    if isinstance(strategy, Toeplitz):
        return _of_toeplitz(strategy, participation)
    return _of_matrix(strategy, participation)


def _of_toeplitz(strategy: Toeplitz, participation: Participation) -> Sensitivity:
    every, count = participation.separation, participation.most
    steps = tuple(range(0, every * count, every))
    ones = (1,) * count
    orthogonal = strategy.band <= every or count == 1
    equally = participation.name == "min-separation" and count > 1
    plain = strategy.squared(every, count)
    if orthogonal or (strategy.falling if equally else strategy.nonnegative):
        why = (
            "columns of a pattern do not overlap, and the earliest are the longest"
            if orthogonal
            else "the coefficients fall, so that the earliest and nearest steps add up the most"
            if equally
            else "no coefficient is negative, and a pattern that begins later has the same sums with the end cut off"
        )
        return Sensitivity(upper=plain, lower=plain, steps=steps, signs=ones, exact=True, why=why)
    if not strategy.is_rational:
        requirement = "coefficients that are shown to fall"
        raise InvalidValue("coefficients", "as balls", requirement, "give them as numbers, with --kind toeplitz")
    if strategy.horizon * count**2 > _WORK:
        signs, lower = ones, plain
        upper = strategy.squared(every, count, majorant=equally, absolute=True)
    else:
        gram = strategy.gram_of(steps)
        signs, attained = _signs(gram)
        lower, total = Real.of(attained), sum((abs(entry) for row in gram for entry in row), Fraction(0))
        if not equally and attained == total:
            why = "a pattern that begins later has the same sums with the end cut off, and the signs agree"
            return Sensitivity(upper=lower, lower=lower, steps=steps, signs=signs, exact=True, why=why)
        upper = strategy.squared(every, count, majorant=True) if equally else Real.of(total)
    why = "the sum of |X[s, t]| over the earliest pattern" + (", X of the falling majorant of |c_j|" if equally else "")
    return Sensitivity(upper=upper, lower=lower, steps=steps, signs=signs, exact=False, why=why)


def _of_matrix(strategy: Banded, participation: Participation) -> Sensitivity:
    unit = strategy.unit
    if participation.name in ("fixed-epochs", "cyclic"):
        patterns = list(participation.classes())
        if sum(len(steps) ** 2 for steps in patterns) > _WORK:
            requirement = "fewer pairs of steps of one record"
            raise InvalidValue("separation", participation.separation, requirement, "take a larger separation")
        tops = [_absolute_sum(strategy, steps) for steps in patterns]
        found = [_signs(_gram(strategy, steps)) for steps in patterns]
        best = max(range(len(patterns)), key=lambda i: found[i][1])
        signs, attained = found[best]
        why, steps, top = "all patterns were compared", patterns[best], max(tops)
    else:
        diagonal = strategy.gram[0]
        if participation.most == 1 or strategy.band <= participation.separation:
            why = "the columns of a pattern do not overlap, and the largest sum of their squared norms was found"
            top, steps = _best_pattern(diagonal, participation)
        else:
            why = "for every step the largest sum of |X[s, t]| over patterns with it, summed over the best pattern"
            top, steps = _best_pattern(_row_bounds(strategy, participation), participation)
        signs, attained = _signs(_gram(strategy, steps))
    return Sensitivity(
        upper=Real.of(top * unit),
        lower=Real.of(attained * unit),
        steps=steps,
        signs=signs,
        exact=attained == top,
        why=why,
    )


def _gram(strategy: Banded, steps: Steps) -> list[list[Fraction]]:
    return [[Fraction(strategy.inner(s, t)) for t in steps] for s in steps]


def _absolute_sum(strategy: Banded, steps: Steps) -> int:
    return sum(abs(strategy.inner(s, t)) for s in steps for t in steps)


def _signs(gram: Sequence[Sequence[Fraction]]) -> tuple[tuple[int, ...], Fraction]:
    """Signs u with a large u^T X u, the largest for up to `_SIGNS` steps, and that number exactly."""
    size = len(gram)
    if all(entry >= 0 for row in gram for entry in row):
        return (1,) * size, sum((entry for row in gram for entry in row), Fraction(0))
    largest = max(abs(entry) for row in gram for entry in row)
    rounded: Array = np.array([[float(entry / largest) for entry in row] for row in gram])
    if size <= _SIGNS:
        candidates = np.array([(1, *rest) for rest in itertools.product((1, -1), repeat=size - 1)], dtype=np.float64)
        best = candidates[int(np.einsum("ni,ij,nj->n", candidates, rounded, candidates).argmax())]
    else:
        best = np.sign(np.linalg.eigh(rounded)[1][:, -1])
        best[best == 0] = 1
        for _ in range(8 * size):
            gains = np.diagonal(rounded) - best * (rounded @ best)  # of turning one sign round, over 4
            if gains.max() <= 1e-12:
                break
            best[int(gains.argmax())] *= -1
    signs = tuple(int(sign * best[0]) for sign in best)
    value = sum(
        (u * v * entry for u, row in zip(signs, gram, strict=True) for v, entry in zip(signs, row, strict=True)),
        Fraction(0),
    )
    return signs, value


def _best_pattern(weights: Sequence[int], participation: Participation) -> tuple[int, Steps]:
    """The largest sum of weights >= 0 over at most k steps that lie b or more apart, and its steps."""
    size, b, k = participation.horizon, participation.separation, participation.most
    if k == -(-size // b):  # no more of them can be: their number need not be counted
        best, taken = [0] * (size + b + 1), [False] * size
        for t in range(size - 1, -1, -1):
            with_it = weights[t] + best[t + b]
            taken[t] = with_it > best[t + 1]
            best[t] = max(with_it, best[t + 1])
        steps, t = [], 0
        while t < size:
            if taken[t]:
                steps.append(t)
                t += b
            else:
                t += 1
        return best[0], tuple(steps)
    if size * k > _WORK >> 2:
        raise InvalidValue("participations", k, "fewer, or not given", "leave the number out for the largest possible")
    table = [[0] * (size + b + 1) for _ in range(k + 1)]
    for j in range(1, k + 1):
        own, former = table[j], table[j - 1]
        for t in range(size - 1, -1, -1):
            own[t] = max(weights[t] + former[t + b], own[t + 1])
    steps, t, j = [], 0, k
    while t < size and j:
        if table[j][t] > table[j][t + 1]:
            steps.append(t)
            t, j = t + b, j - 1
        else:
            t += 1
    return table[k][0], tuple(steps)


def _row_bounds(strategy: Banded, participation: Participation) -> list[int]:
    """For every step s, a bound on the largest sum of |X[s, t]| over patterns that hold s."""
    size, b, k = participation.horizon, participation.separation, participation.most
    reach = strategy.band - 1
    others = min(k - 1, -(-(2 * reach + 1) // b))
    if size * (2 * reach + 1) * others > _WORK << 2:
        requirement = "less work: steps times band times participations"
        raise InvalidValue("participations", k, requirement, "take a Toeplitz matrix, or a narrower band")
    offsets = [gap for gap in range(-reach, reach + 1) if abs(gap) >= b]
    columns = {}
    for gap in offsets:  # |X[s, s + gap]| for all s
        values = np.zeros(size, dtype=object)
        row = strategy.gram[abs(gap)]
        start = max(0, -gap)
        values[start : start + len(row)] = [abs(value) for value in row]
        columns[gap] = values
    zero = np.zeros(size, dtype=object)
    former = dict.fromkeys(range(-reach, reach + b + 2), zero)
    for _ in range(others):
        own = dict.fromkeys(range(reach + 1, reach + b + 2), zero)
        for gap in range(reach, -reach - 1, -1):
            if gap in columns:
                own[gap] = np.maximum(own[gap + 1], columns[gap] + former[gap + b])
            else:
                own[gap] = own[gap + 1]
        former = own
    best = former[-reach] if others else zero
    return [int(value) + int(more) for value, more in zip(strategy.gram[0], best, strict=True)]
