"""Results of this project on counting trees: unused vertices, invertibility, adaptive inputs, the work of a counter."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import sympy
from flint import fmpz_mat
from sympy import Symbol

from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.mechanisms.streams.tree import TreeDigits, TreeNodes
from dpverdict.proofs.checks.identities import identity, nonnegative
from dpverdict.proofs.checks.outcome import Findings, Method, Standing
from dpverdict.proofs.checks.statement import Formula, Plant, result
from dpverdict.proofs.checks.vertices import every

Vertex = tuple[int, int]
FULL = [(3, 1), (3, 2), (3, 3), (3, 4), (5, 1), (5, 2), (5, 3), (7, 1), (7, 2), (9, 2)]
"""Arity and height of full offset trees, odd arity."""


def used(digits: list[int], arity: int) -> list[tuple[Vertex, int]]:
    """The vertices (level, index from 1) that a time with these digits uses, with their signs, from the digits
    alone."""
    found = []
    for level, digit in enumerate(digits):
        above = sum(d * arity ** (i - level) for i, d in enumerate(digits) if i > level)
        found += [((level, above + i), 1) for i in range(1, digit + 1)]
        found += [((level, above - i), -1) for i in range(-digit)]
    return found


def all_used(arity: int, height: int) -> set[Vertex]:
    """Every vertex used at some time of the full horizon."""
    digits = TreeDigits.offset(arity)
    horizon = digits.capacity(height)
    return {vertex for t in range(1, horizon + 1) for vertex, _ in used(digits.encode(t, height), arity)}


class Middle(NamedTuple):
    """The position of the unused child of an arity; the sensitivity of (height, middle children on the path)."""

    position: Callable[[int], int]
    sensitivity: Callable[[int, int], int]


MIDDLE = Middle(lambda k: (k + 1) // 2, lambda h, middles: h - middles)


@result(
    number="and.new.middle",
    expected=Standing.HOLDS_ON_RANGE,
    text="Offset tree, odd k: the middle child of every vertex is never used, so item i has the l1 sensitivity h minus "
    "the number of middle children on its path from the root.",
    formula=r"\Delta_1^{(i)} = h - \#\{\mathrm{middle\ children\ on\ the\ path\ of}\ i\}",
    printed=MIDDLE,
    planted=(
        Plant("middle children are unused", "the first child", MIDDLE._replace(position=lambda k: 1)),
        Plant("sensitivity of every item", "h", MIDDLE._replace(sensitivity=lambda h, middles: h)),
        Plant("the counter's own numbers", "h", MIDDLE._replace(sensitivity=lambda h, middles: h)),
    ),
)
def middle_children(claim: Middle) -> Findings:
    """A digit is at most (k-1)/2 in size: added are children 1..(k-1)/2, subtracted the last (k-1)/2, for every k, h.

    All times of the full horizon are enumerated; the vertices come from the digits alone.
    """
    cases = [case for case in FULL if case[0] ** case[1] < 400]

    def unused(case: tuple[int, int]) -> bool:
        return all((index - 1) % case[0] + 1 != claim.position(case[0]) for _, index in all_used(*case))

    def counted(case: tuple[int, int], item: int) -> int:
        k, h = case
        return claim.sensitivity(h, sum((item - 1) // k**level % k == (k - 1) // 2 for level in range(h)))

    def items(case: tuple[int, int]) -> bool:
        vertices, k = all_used(*case), case[0]
        return all(
            sum((level, (item - 1) // k**level + 1) in vertices for level in range(case[1])) == counted(case, item)
            for item in range(1, TreeDigits.offset(k).capacity(case[1]) + 1)
        )

    def own(case: tuple[int, int]) -> bool:
        digits = TreeDigits.offset(case[0])
        nodes = TreeNodes(digits, digits.capacity(case[1]))
        return all(nodes.paths(item) == counted(case, item) for item in range(1, nodes.horizon + 1))

    show = "(k, h) = {0}".format
    yield every(
        "middle children are unused",
        cases,
        unused,
        over="k, h: full trees, with their vertices and items",
        cases=10,
        show=show,
    )
    yield every(
        "sensitivity of every item",
        cases,
        items,
        over="k, h: full trees, with their vertices and items",
        cases=10,
        show=show,
    )
    yield every(
        "the counter's own numbers",
        cases,
        own,
        over="k, h: full trees, with their vertices and items",
        cases=10,
        show=show,
    )


class Square(NamedTuple):
    """|det L| at the full horizon; number of equal Laplace coordinates and their shift, of (h, eps)."""

    determinant: int
    coordinates: Callable[[int], int]
    shift: Callable[[int, Fraction], Fraction]


SQUARE = Square(1, lambda h: h, lambda h, epsilon: epsilon / h)


def decoder(arity: int, height: int) -> list[list[int]]:
    """L: times by used vertices, with the signs, at the full horizon."""
    digits = TreeDigits.offset(arity)
    rows = [dict(used(digits.encode(t, height), arity)) for t in range(1, digits.capacity(height) + 1)]
    columns = sorted({vertex for row in rows for vertex in row})
    return [[row.get(vertex, 0) for vertex in columns] for row in rows]


@result(
    number="and.new.detL",
    expected=Standing.HOLDS_ON_RANGE,
    text="At the full horizon L is T x T with determinant +-1: the outputs determine all noisy vertices, and the exact "
    "profile of Algorithm 2 is that of h Laplace coordinates moved by eps/h: eps is tight.",
    formula=r"\det L = \pm 1,\quad \delta(\varepsilon') = \delta_{equal}(h, \varepsilon/h, \varepsilon')",
    printed=SQUARE,
    planted=(
        Plant("determinant", "2", SQUARE._replace(determinant=2)),
        Plant("moves of the first item", "h + 1", SQUARE._replace(coordinates=lambda h: h + 1)),
        Plant("epsilon is tight", "eps/(2h)", SQUARE._replace(shift=lambda h, epsilon: epsilon / (2 * h))),
        Plant("and enough", "2 eps/h", SQUARE._replace(shift=lambda h, epsilon: 2 * epsilon / h)),
    ),
    note="the determinant for every k and h is not proved: it is computed for the trees named",
)
def invertible(claim: Square) -> Findings:
    """Integer determinants of L made from the digits; item 1 lies in h used vertices, no item in more."""
    trees = [(2, 1), (2, 3), (2, 5), (3, 1), (3, 2), (3, 3), (3, 4), (4, 2), (4, 3), (5, 2), (5, 3), (6, 2), (7, 2)]

    def determinant(case: tuple[int, int]) -> bool:
        rows = decoder(*case)
        return len(rows) == len(rows[0]) and abs(int(fmpz_mat(rows).det())) == claim.determinant

    yield every("determinant", trees, determinant, over="k, T: full trees, exactly", cases=13)

    def moves(case: tuple[int, int]) -> bool:
        vertices, (k, h) = all_used(*case), case
        counts = [
            sum((i, (item - 1) // k**i + 1) in vertices for i in range(h)) for item in range(1, len(vertices) + 1)
        ]
        return len(counts) == len(vertices) and counts[0] == max(counts) == claim.coordinates(h)

    yield every("moves of the first item", trees, moves, over="full trees, with their items", cases=13)
    levels = [(h, Fraction(a, 2)) for h in (1, 2, 3, 5) for a in (1, 2, 6)]
    near = Fraction(999, 1000)
    yield every(
        "epsilon is tight",
        levels,
        lambda case: _loss(claim, *case).certified_delta(case[1] * near).lower > 0,
        over="h, eps: delta(0.999 eps) > 0, in balls",
        cases=12,
        method=Method.BALLS,
    )
    yield every(
        "and enough",
        levels,
        lambda case: _loss(claim, *case).certified_delta(case[1]).upper == 0,
        over="h, eps: delta(eps) = 0, in balls",
        cases=12,
        method=Method.BALLS,
    )


def _loss(claim: Square, height: int, epsilon: Fraction) -> LaplaceLoss:
    return LaplaceLoss.equal(claim.coordinates(height), claim.shift(height, epsilon))


class Online(NamedTuple):
    """How many outputs the input at a time may depend on, beyond those before it; the total shift of (h, eps)."""

    ahead: int
    total: Callable[[int, Fraction], Fraction]


ONLINE = Online(0, lambda h, epsilon: epsilon)


@result(
    number="and.new.adaptive",
    expected=Standing.HOLDS_ON_RANGE,
    text="Pure DP of Algorithm 2 survives adaptive inputs: for fixed outputs the noise of two neighbouring strategies "
    "differs by A_T e_j, outputs -> noise is triangular with unit Jacobian, and the density ratio is at most e^eps.",
    formula=r"\frac{\partial n}{\partial o}\ \mathrm{unit\ triangular},\quad n(o) - n'(o) = A_T e_j",
    printed=ONLINE,
    planted=(
        Plant("unit Jacobian", "an input may depend on its own output", ONLINE._replace(ahead=1)),
        Plant("the noise differs by A e_j", "an input may depend on its own output", ONLINE._replace(ahead=1)),
        Plant("density ratio", "eps/2", ONLINE._replace(total=lambda h, epsilon: epsilon / 2)),
    ),
)
def adaptive(claim: Online) -> Findings:
    """n_t = o_t - sum_{i <= t} x_i(o_1, ..., o_{i-1}); two neighbouring strategies differ in x_j by 1, for all outputs.

    |z| - |z - s| <= |s| gives p(z)/p(z - s) <= exp(sum |s_i|/b), and sum |s_i|/b is h (eps/h). It is an argument about
    pure DP: an (eps, delta) bound does not inherit it.
    """
    sizes = range(1, 6)
    outputs = sympy.symbols("o1:7")
    functions = [sympy.Function(f"x{i}") for i in range(1, 7)]

    def noise(size: int, moved: int = 0) -> list[sympy.Expr]:
        inputs = [functions[i](*outputs[: i + claim.ahead]) if i + claim.ahead else Symbol("x1") for i in range(size)]
        values = [x + (1 if i + 1 == moved else 0) for i, x in enumerate(inputs)]
        return [outputs[t] - sum(values[: t + 1]) for t in range(size)]

    def jacobian(size: int) -> sympy.Expr:
        """dn_t/do_s = [t = s] - sum_{i <= t} dx_i/do_s, where x_i depends on the outputs before time i alone."""
        slopes = [
            [Symbol(f"g{i}_{k}") if k < i + claim.ahead else sympy.Integer(0) for k in range(size)] for i in range(size)
        ]
        rows = [[int(t == k) - sum(slopes[i][k] for i in range(t + 1)) for k in range(size)] for t in range(size)]
        return sympy.Matrix(rows).det(method="berkowitz")

    jacobians = [jacobian(size) for size in sizes]
    yield identity(
        "unit Jacobian",
        sympy.Matrix(jacobians),
        sympy.Matrix([1] * len(sizes)),
        scope="T = 1..5",
        cases=5,
        argued="every T: triangular",
    )
    size = 5
    rows = [
        [a - b + (claim.ahead * outputs[0]) for a, b in zip(noise(size), noise(size, j), strict=True)]
        for j in range(1, size + 1)
    ]
    wanted = [[int(t >= j) for t in range(1, size + 1)] for j in range(1, size + 1)]
    yield identity(
        "the noise differs by A e_j", sympy.Matrix(rows), sympy.Matrix(wanted), scope="T = 5, j = 1..5", cases=5
    )
    yield every(
        "density ratio",
        [(h, Fraction(a, 3)) for h in range(1, 8) for a in (1, 3, 9)],
        lambda case: LaplaceLoss.equal(case[0], case[1] / case[0]).total == claim.total(*case),
        over="h, eps: exactly",
        argued="for every h as h (eps/h) = eps",
        cases=21,
    )


class Writes(NamedTuple):
    """Digits written on level i up to the horizon, of (T, k, i); the bound of (T, k, h); and the sum without floors, of
    (T, k, h, y), y = k^-h.
    """

    level: Callable[[int, int, int], int]
    bound: Formula
    unfloored: Formula


WRITES = Writes(
    lambda t, k, i: (t + (k**i - 1) // 2) // k**i,
    lambda t, k, h: t * k / (k - 1) + h / 2,
    lambda t, k, h, y: (t - sympy.Rational(1, 2)) * k / (k - 1) * (1 - y) + h / 2,
)


@result(
    number="and.new.flips",
    expected=Standing.HOLDS_ON_RANGE,
    text="Offset digits, odd k: counting to T writes sum_{i<h} floor((T + (k^i - 1)/2)/k^i) digits, at most T k/(k-1) "
    "+ h/2.",
    formula=r"\sum_{i<h} \left\lfloor \frac{T + (k^i-1)/2}{k^i} \right\rfloor \leq \frac{Tk}{k-1} + \frac{h}{2}",
    printed=WRITES,
    confirms={"the bound": "every T, k and h"},
    planted=(
        Plant("digits written", "without the offset", WRITES._replace(level=lambda t, k, i: t // k**i)),
        Plant("the bound", "T + h/2", WRITES._replace(bound=lambda t, k, h: t + h / 2)),
        Plant(
            "the sum without floors",
            "T for T - 1/2",
            WRITES._replace(unfloored=lambda t, k, h, y: t * k / (k - 1) * (1 - y) + h / 2),
        ),
        Plant("every T, k and h", "T/2", WRITES._replace(bound=lambda t, k, h: t / 2)),
    ),
)
def writes(claim: Writes) -> Findings:
    """The digits of t and of t - 1 are compared for every t. floor(x) <= x, and the sums are geometric.

    With y = k^-h: sum_{i<h} (T + (k^i - 1)/2)/k^i = (T - 1/2) (k/(k-1))(1 - y) + h/2.
    """

    def counted(case: tuple[int, int]) -> bool:
        k, horizon = case
        digits = TreeDigits.offset(k)
        height, total = digits.height(horizon), 0
        before = [0] * height
        for t in range(1, horizon + 1):
            now = digits.encode(t, height)
            total += sum(a != b for a, b in zip(now, before, strict=True))
            before = now
        return total == sum(claim.level(horizon, k, i) for i in range(height))

    cases = [(k, t) for k in (3, 5, 7, 9, 19) for t in range(1, 400, 7)]
    yield every("digits written", cases, counted, over="k, T: steps of 7 in T, with the times up to T", cases=285)
    yield every(
        "the bound",
        [(k, t) for k in (3, 5, 7, 19) for t in range(1, 3000)],
        lambda case: (
            sum(WRITES.level(case[1], case[0], i) for i in range(TreeDigits.offset(case[0]).height(case[1])))
            <= claim.bound(Fraction(case[1]), case[0], TreeDigits.offset(case[0]).height(case[1]))
        ),
        over="k, T: exactly",
        cases=11996,
    )
    t, k, h, u = sympy.symbols("t k h u", positive=True)
    heights = [sympy.Integer(height) for height in range(1, 8)]
    yield identity(
        "the sum without floors",
        sympy.Matrix([sum((t + (k**i - 1) / 2) / k**i for i in range(height)) for height in heights]),
        sympy.Matrix([claim.unfloored(t, k, height, k ** (-height)) for height in heights]),
        scope="h = 1..7",
        cases=7,
        argued="every h: geometric sums",
    )
    slack = sympy.cancel(claim.bound(t, k, h) - claim.unfloored(t, k, h, 1 / (1 + u)))
    yield nonnegative("every T, k and h", slack, {t: 1, k: 2, h: 1, u: 0}, scope="all T, k, h: without the floors")
