"""Andersson et al. 2024: digit systems and the three algorithms, read literally and run by brute force.

Nothing here is shared with `dpverdict.mechanisms`: the digits of a time are looked up in the list of all digit strings,
and the algorithms are the printed lines, with vertices as intervals of leaves. All arithmetic is on integers.

Andersson et al. 2024: this project's tree counters as matrices, to be compared with the printed algorithms.

The best dense factorisation A = L R under Gaussian noise: bounds on its error from both sides, for one horizon.

For weights v with sum 1 every factorisation has the error |L|_F^2 max_j |R e_j|^2/T >= nuc(A D^(1/2))^2/T, D = diag(v):
the largest squared column norm is at least the mean with these weights, and nuc(L R') <= |L|_F |R'|_F. The optimal
weights are the fixed point of v <- diag(S), S = (D^(1/2) A^T A D^(1/2))^(1/2), and make both sides equal. Any weights
give two true bounds, so these only have to be good, and are found in float64.

Andersson et al. 2024: randomised response, Laplace vectors and Gaussian noise as exact privacy curves in balls.

Andersson et al. 2024: leading constants p(k)/log2(k)^m and the arity at which they are smallest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import comb
from typing import NamedTuple

import numpy as np
import sympy
from flint import arb, arb_mat
from scipy.linalg import eigh_tridiagonal

from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.balls import Real, ball, compare, float_down, float_up, precision
from dpverdict.mechanisms.streams.tree import TreeDigits, TreeNodes, TreeStream
from dpverdict.numerics import gaussian_formulas
from dpverdict.numerics.arrays import Array, Integers
from dpverdict.numerics.gaussian import BallNormal
from dpverdict.proofs.checks.boxes import rounds_to, smaller
from dpverdict.proofs.checks.identities import Expr, identity
from dpverdict.proofs.checks.outcome import Finding, Findings, Method
from dpverdict.proofs.checks.statement import Formula
from dpverdict.proofs.checks.vertices import every

PAPER = "andersson2024"

Vertex = tuple[int, int]
"""An interval of leaves, both ends included."""

k = sympy.Symbol("k", integer=True, positive=True)
h = sympy.Symbol("h", integer=True, positive=True)
epsilon = sympy.Symbol("epsilon", positive=True)


class Span(NamedTuple):
    """The lowest and the highest digit of a system as functions of the arity."""

    low: Callable[[int], int]
    high: Callable[[int], int]


ORDINARY = Span(lambda arity: 0, lambda arity: arity - 1)
OFFSET = Span(lambda arity: -((arity - 1) // 2), lambda arity: arity // 2)


def all_strings(span: Span, arity: int, width: int) -> tuple[Integers, Integers]:
    """(the number that a digit string stands for, the sum of its |digits|) for every string of the width."""
    digits = np.arange(span.low(arity), span.high(arity) + 1, dtype=np.int64)
    values, sizes = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for level in range(width):
        values = np.add.outer(digits * arity**level, values).ravel()
        sizes = np.add.outer(np.abs(digits), sizes).ravel()
    return values, sizes


@lru_cache(maxsize=128)
def sizes_in_time(span: Span, arity: int, width: int) -> Integers:
    """The l1 norm of the digits of t = 0, 1, ... up to the largest number of the width."""
    values, sizes = all_strings(span, arity, width)
    keep = values >= 0
    return sizes[keep][np.argsort(values[keep])]


def capacity(span: Span, arity: int, width: int) -> int:
    """The largest number of the width."""
    return sum(span.high(arity) * arity**level for level in range(width))


def least_height(span: Span, arity: int, horizon: int) -> int:
    """The least width that reaches the horizon."""
    width = 1
    while capacity(span, arity, width) < horizon:
        width += 1
    return width


@lru_cache(maxsize=256)
def digit_table(span: Span, arity: int, width: int) -> dict[int, tuple[int, ...]]:
    """The digits (t_1, ..., t_w) of every number, by going through all strings."""
    digits = range(span.low(arity), span.high(arity) + 1)
    return {sum(d * arity**i for i, d in enumerate(string)): string for string in product(digits, repeat=width)}


class Use(NamedTuple):
    """One vertex in the sum of one time step: on which level (1 = leaves), with which sign, and p afterwards."""

    level: int
    vertex: Vertex
    sign: int
    reached: int


class Lines(NamedTuple):
    """The lines of Algorithms 1 and 3 that choose a vertex at position p with blocks of k^(i-1) leaves."""

    added: Callable[[int, int], Vertex]
    subtracted: Callable[[int, int], Vertex]


PRINTED = Lines(lambda p, block: (p + 1, p + block), lambda p, block: (p - block + 1, p))
"""Line 11 of Algorithm 1 and line 12 of Algorithm 3; line 15 of Algorithm 3."""


def vertices_of(digits: tuple[int, ...], arity: int, lines: Lines = PRINTED) -> Iterator[Use]:
    """Lines 9-12 of Algorithm 1, or the loop of Algorithm 3: the vertices used for one time step, in order."""
    p = 0
    for i in range(len(digits), 0, -1):
        block, digit = arity ** (i - 1), digits[i - 1]
        for _ in range(abs(digit)):
            if digit > 0:
                vertex, p = lines.added(p, block), p + block
                yield Use(i, vertex, 1, p)
            else:
                vertex, p = lines.subtracted(p, block), p - block
                yield Use(i, vertex, -1, p)


def indices_of(digits: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Lines 7-11 of Algorithm 2: the indices q of the noises used for one time step, in order."""
    q = [0] * len(digits)
    for i in range(len(digits), 0, -1):
        for _ in range(abs(digits[i - 1])):
            q[i - 1] += 1 if digits[i - 1] > 0 else -1
            yield tuple(q)


class Instance(NamedTuple):
    """An arity and a horizon."""

    arity: int
    horizon: int

    def digits(self, span: Span) -> list[tuple[int, ...]]:
        """The digits of t = 1..T, with the least number of them."""
        table = digit_table(span, self.arity, least_height(span, self.arity, self.horizon))
        return [table[time] for time in range(1, self.horizon + 1)]

    def height(self, span: Span) -> int:
        """The least number of digits."""
        return least_height(span, self.arity, self.horizon)


def instances(span: Span, arities: range, most: int) -> list[Instance]:
    """Horizons 1..20, and about each full horizon up to ``most``, for every arity."""
    found = []
    for arity in arities:
        full = [capacity(span, arity, width) for width in range(1, 9)]
        near = {t + step for t in full for step in (-1, 0, 1)} | set(range(1, 21))
        found += [Instance(arity, horizon) for horizon in sorted(near) if 1 <= horizon <= most]
    return found


NOWHERE: Vertex = (0, 0)
"""The interval of a vertex whose leaves all come after the horizon."""


class Column(NamedTuple):
    """A noise or vertex: the times at which it is used, as bits, and the signed interval of items 1..T below it."""

    times: int
    interval: Vertex
    sign: int


def columns(instance: Instance, span: Span, lines: Lines = PRINTED) -> dict[Vertex, Column]:
    """The vertices used at t = 1..T by the printed lines."""
    found: dict[Vertex, Column] = {}
    for time, digits in enumerate(instance.digits(span), 1):
        for use in vertices_of(digits, instance.arity, lines):
            first, last = use.vertex
            inside = first <= instance.horizon
            cut = (first, min(last, instance.horizon)) if inside else NOWHERE
            former = found.get(use.vertex, Column(0, cut, 0))
            found[use.vertex] = Column(former.times | 1 << time, cut, use.sign if inside else 0)
    return found


class Factors(NamedTuple):
    """L of shape (T, n) and R of shape (n, T): the noisy counts are L (R x + z)."""

    left: Integers
    right: Integers


def system_of(span: Span, arity: int) -> TreeDigits:
    """The project's digit system with this span."""
    return TreeDigits.ordinary(arity) if span is ORDINARY else TreeDigits.offset(arity)


def factors(instance: Instance, span: Span) -> Factors:
    """L and R as the counter of this project applies them; their entries are small integers, so floats are exact."""
    nodes = TreeNodes(system_of(span, instance.arity), instance.horizon)
    left = nodes.decode(np.eye(nodes.size)).T
    right = nodes.embed(np.eye(instance.horizon)).T
    return Factors(np.rint(left).astype(np.int64), np.rint(right).astype(np.int64))


def is_prefix_sum(made: Factors) -> bool:
    """L R = A, the lower-triangular matrix of ones."""
    horizon = made.left.shape[0]
    return bool(np.array_equal(made.left @ made.right, np.tril(np.ones((horizon, horizon), dtype=np.int64))))


def sensitivity(made: Factors, power: int = 1) -> int:
    """The largest column sum of |R|^power."""
    return int((np.abs(made.right) ** power).sum(axis=0).max())


def counted(made: Factors) -> Counter[Column]:
    """The columns of L with the rows of R that belong to them."""
    found: Counter[Column] = Counter()
    for usage, row in zip(made.left.T, made.right, strict=True):
        places = np.flatnonzero(row).tolist()
        times = sum(1 << (t + 1) for t in np.flatnonzero(usage).tolist())
        interval = (places[0] + 1, places[-1] + 1) if places else NOWHERE
        found[Column(times, interval, int(row[places[0]]) if places else 0)] += 1
    return found


def stack_columns(instance: Instance, span: Span) -> Counter[int]:
    """The times at which each noise of the stack form is in use, as bits: fresh noises are 1, 2, 4, 8, ..."""
    drawn = [0]

    def draw() -> int:
        drawn[0] += 1
        return 1 << (drawn[0] - 1)

    stream = TreeStream(system_of(span, instance.arity), instance.height(span), draw, 0)
    times: dict[int, int] = {}
    for time in range(1, instance.horizon + 1):
        live = int(stream.advance())
        while live:
            noise = live & -live
            times[noise] = times.get(noise, 0) | 1 << time
            live ^= noise
    return Counter(times.values())


_POWER = 2.2  # of the correction of the weights: the plain fixed point converges half as fast
_SHORTEST, _STEPS = 32, {32: 14, 64: 5, 128: 5, 256: 6, 512: 4, 1024: 4}


class Bounds(NamedTuple):
    """Two bounds on the least error over all factorisations."""

    lower: float
    upper: float


class _Step(NamedTuple):
    bounds: Bounds
    former: Array
    weights: Array
    values: Array
    vectors: Array
    diagonal: Array


def _step(weights: Array) -> _Step:
    """Bounds in float64, and corrected weights, from V and s with S = V diag(s) V^T; the diagonal of S.

    The inverse of A^T A is tridiagonal, and so is that of D^(1/2) A^T A D^(1/2) = S^2. The upper bound is the error of
    R = S^(1/2) with its columns scaled to norm 1, for which |A R^-1|_F = |A diag(S_ii)^(1/2) V diag(s)^(-1/2)|_F.
    """
    horizon = len(weights)
    main = np.where(np.arange(horizon) == 0, 1.0, 2.0) / weights
    squares, vectors = eigh_tridiagonal(main, -1 / np.sqrt(weights[1:] * weights[:-1]))
    values = 1 / np.sqrt(squares)
    diagonal = (vectors**2 * values).sum(axis=1)
    sums = np.cumsum(np.sqrt(diagonal)[:, None] * vectors, axis=0)
    bounds = Bounds(float(values.sum() ** 2 / weights.sum() / horizon), float((sums**2 / values).sum() / horizon))
    corrected = weights * (diagonal / weights) ** _POWER
    return _Step(bounds, weights, corrected / corrected.sum(), values, vectors, diagonal)


def _doubled(weights: Array) -> Array:
    """Weights for twice the horizon: the logarithm is interpolated, and continued, over the log-odds of the place."""
    old, new = (_log_odds(size) for size in (len(weights), 2 * len(weights)))
    logs = np.log(weights)
    made = np.interp(new, old, logs)
    for inner, outer, edge in ((0, 1, new < old[0]), (-1, -2, new > old[-1])):
        slope = (logs[outer] - logs[inner]) / (old[outer] - old[inner])
        made[edge] = logs[inner] + (new[edge] - old[inner]) * slope
    doubled: Array = np.exp(made)
    doubled /= doubled.sum()
    return doubled


def _log_odds(size: int) -> Array:
    places = np.arange(size) + 0.5
    odds: Array = np.log(places / (size - places))
    return odds


@lru_cache(maxsize=16)
def _solved(horizon: int) -> _Step:
    """The last step for a horizon of 32 times a power of 2, up to 1024, from the weights of half of it."""
    weights = np.full(_SHORTEST, 1 / _SHORTEST) if horizon == _SHORTEST else _doubled(_solved(horizon // 2).weights)
    found = _step(weights)
    for _ in range(_STEPS[horizon] - 1):
        found = _step(found.weights)
    return found


def bounds_in_floats(horizon: int) -> Bounds:
    """The bounds in float64, whose rounding errors are about 1e-12 but are not enclosed."""
    return _solved(horizon).bounds


@lru_cache(maxsize=16)
def certified_bounds(horizon: int) -> Bounds:
    """The bounds in balls, with everything that float64 left out charged to them.

    Lower: nuc(M) >= <M, Q>/|Q| for any Q, with |Q|^2 <= 1 + |Q^T Q - I|_F. Upper: with E = I - R C for the approximate
    inverse C, R^-1 = C (I - E)^-1 and |A R^-1|_F <= |A C|_F/(1 - |E|_F).
    """
    found = _solved(horizon)
    with precision(80):
        vectors, values, diagonal = found.vectors, found.values, found.diagonal
        root = _matrix((vectors * np.sqrt(values)) @ vectors.T / np.sqrt(diagonal))
        inverse = _matrix((vectors / np.sqrt(values)) @ vectors.T * np.sqrt(diagonal)[:, None])
        scaled = np.tril(np.ones((horizon, horizon))) * np.sqrt(found.former)
        polar = _matrix(scaled @ (vectors / values) @ vectors.T)
        weights = [arb(float(w)) for w in found.former]
        one = _identity(horizon)
        inner = sum(
            (w.sqrt() * sum((polar[i, j] for i in range(j, horizon)), arb(0)) for j, w in enumerate(weights)), arb(0)
        )
        excess = _frobenius(polar.transpose() * polar - one)
        lower = inner**2 / (1 + excess) / sum(weights, arb(0)) / horizon
        defect = _frobenius(one - root * inverse)
        sums = _matrix(np.tril(np.ones((horizon, horizon)))) * inverse
        columns = (root.transpose() * root).table()
        largest = max((columns[j][j].upper() for j in range(horizon)), key=float)
        upper = largest * (_frobenius(sums) / (1 - defect)) ** 2 / horizon
        if not defect < 1:
            return Bounds(0.0, np.inf)
        return Bounds(float_down(lower), float_up(upper))


def _matrix(values: Array) -> arb_mat:
    rows, columns = values.shape
    made: arb_mat = arb_mat(rows, columns, [arb(float(x)) for x in values.ravel()])
    return made


def _identity(size: int) -> arb_mat:
    return _matrix(np.eye(size))


def _frobenius(matrix: arb_mat) -> arb:
    return sum((x * x for x in matrix.entries()), arb(0)).sqrt()


DELTAS = ("1e-12", "1e-8", "1e-5", "1e-3", "0.1", "0.5", "0.9")

VECTORS: tuple[tuple[str, ...], ...] = (
    ("1",),
    ("0.001", "10"),
    ("0.5", "0.25"),
    ("1", "1", "1"),
    ("0.3", "2", "0.7", "0.01"),
    ("0.1",) * 16,
    ("0.05", "0.4") * 3,
    ("0.02",) * 100,
)
"""The epsilons, or the shifts in units of the scale, of the coordinates of a vector."""


def randomised_response(epsilons: Sequence[str], epsilon: arb) -> arb:
    """The exact delta of composed randomised responses, at the current precision.

    Each has the loss +-e_j, + with probability exp(e_j)/(1 + exp(e_j)): sum over signs of (P - exp(epsilon) Q)_+.
    Equal epsilons are grouped: then only the number of plus signs matters.
    """
    groups = {e: epsilons.count(e) for e in dict.fromkeys(epsilons)}
    total = arb(0)
    for counts in product(*(range(count + 1) for count in groups.values())):
        mass, loss = arb(1), arb(0)
        for (text, count), plus in zip(groups.items(), counts, strict=True):
            e = ball(text)
            high = e.exp() / (1 + e.exp())
            mass *= comb(count, plus)
            mass *= high**plus * (1 - high) ** (count - plus)
            loss += (2 * plus - count) * e
        total += (mass * (1 - (epsilon - loss).exp())).max(arb(0))
    return total


def laplace_delta(shifts: Sequence[str], epsilon: Real) -> Real:
    """An upper bound on the exact delta of a Laplace vector, at a float64 not above epsilon."""
    low = Fraction(epsilon.nearest()) * (1 - Fraction(1, 2**50))
    return Real.of(LaplaceLoss(list(shifts)).certified_delta(low).upper)


def gaussian_delta(epsilon: Real, mu: Real) -> Real:
    """The profile of N(0, 1) against N(mu, 1), in balls."""
    return Real(lambda: gaussian_formulas.delta(BallNormal(), epsilon.ball(), mu.ball()))


def certainly_below(left: Real, right: Real) -> bool | None:
    """left < right."""
    sign = compare(left, right)
    return None if sign is None else sign == -1


def norms(vector: Sequence[str]) -> tuple[Fraction, Fraction]:
    """(l1 norm, squared l2 norm)."""
    values = [Fraction(value) for value in vector]
    return sum(values, Fraction(0)), sum((value**2 for value in values), Fraction(0))


class Constant(NamedTuple):
    """A leading constant, formula(k, ln k, ln 2), with the arity claimed to be best, and the value claimed there."""

    formula: Formula
    best: int
    value: str
    step: int
    slope: Formula
    """Has the sign of the derivative; of k and ln k."""


def at(claim: Constant, arity: int) -> Real:
    """The constant at an arity, in balls."""
    return Real(lambda: claim.formula(arb(arity), arb(arity).log(), arb(2).log()))


def symbolic(formula: Formula) -> Expr:
    """The constant in symbols, with ln 2 left as a symbol."""
    return formula(k, sympy.log(k), sympy.Symbol("ln2", positive=True))


def best_arity(
    claim: Constant,
    multiplier: Expr,
    project: Callable[[TreeDigits], Real],
    digits: Callable[[int], TreeDigits],
    scope: str,
) -> Findings:
    """The derivative's sign, the values beside the best arity, its decimals, and the constant of this project.

    Together with a proof that the slope changes its sign once, from - to +, the neighbours show the best arity.
    """
    slope = sympy.simplify(sympy.diff(sympy.log(symbolic(claim.formula)), k) * multiplier)
    yield identity("sign of the derivative", slope, claim.slope(k, sympy.log(k)), scope=scope)
    beside = [arity for arity in (claim.best - claim.step, claim.best + claim.step) if arity >= 2]
    checks = [smaller("best arity", at(claim, claim.best), at(claim, arity), scope=scope) for arity in beside]
    yield next((found for found in checks if not found.holds), checks[-1])
    yield rounds_to("value", at(claim, claim.best), claim.value, scope=f"k = {claim.best}")
    yield same_constant(claim, project, digits)


def same_constant(
    claim: Constant, project: Callable[[TreeDigits], Real], digits: Callable[[int], TreeDigits]
) -> Finding:
    """The project's constant is the claimed one, to 30 digits, at 12 arities."""

    def close(arity: int) -> bool:
        ours, theirs = project(digits(arity)), at(claim, arity)
        return equal_to_digits(ours, theirs)

    arities = range(claim.best % claim.step + 2 * claim.step, 60, 2 * claim.step)
    return every("the project's constant", arities, close, scope="12 or more arities < 60", method=Method.BALLS)


def equal_to_digits(left: Real, right: Real) -> bool:
    """Whether two numbers certainly agree to 30 digits; they cannot be shown to be equal by balls."""
    with precision(160):
        return bool(abs(left.ball() - right.ball()) < abs(right.ball()) * arb(10) ** -30)


def rational(number: Real) -> Fraction:
    """The value of a number that is rational."""
    if number.rational is None:
        raise ArithmeticError("the number is not rational")
    return number.rational
