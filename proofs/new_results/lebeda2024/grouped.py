"""Results of this project on disjoint groups under replacement: the best constant, and noise correlated between groups.

m groups of d queries. Covariances of the form below act as a scalar on three spaces: within the groups (orthogonal to
the group sums), contrasts of the group sums, and the all-ones line.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import NamedTuple

import sympy
from sympy import Integer, Matrix, Symbol

from dpverdict.mechanisms.core.neighbours import REPLACE_ONE
from dpverdict.mechanisms.queries.correlated import squared_sensitivity
from dpverdict.proofs.checks.identities import Expr, identity, nonnegative, positive
from dpverdict.proofs.checks.optima import Duality
from dpverdict.proofs.checks.outcome import Findings, Standing
from dpverdict.proofs.checks.statement import Formula, Plant, result
from dpverdict.proofs.checks.vertices import every, form_of
from dpverdict.proofs.lebeda2024.notation import d

c = Symbol("c", positive=True)  # C^2


class Best(NamedTuple):
    """C^2 and vz + ve, of d."""

    c_squared: Formula
    total: Formula


BEST = Best(lambda d: d, lambda d: d + 1)


@result(
    number="leb.new.alg2.Copt",
    text="Replacement: C = sqrt d minimises vz + ve over all C, the minimum is d + 1.",
    formula=r"\min_C\ \max(4d, 2(d + C^2))\,\frac{1 + 1/C^2}{4} = d + 1",
    printed=BEST,
    confirms={"small integers": "the sensitivity"},
    planted=(
        Plant("value", "d", BEST._replace(total=lambda d: d)),
        Plant("smaller C", "d + 2", BEST._replace(total=lambda d: d + 2)),
        Plant("larger C", "d + 2", BEST._replace(total=lambda d: d + 2)),
        Plant("the sensitivity", "C^2 = d/2", BEST._replace(c_squared=lambda d: d / 2)),
        Plant("small integers", "C^2 = d + 1", BEST._replace(c_squared=lambda d: d + 1)),
    ),
)
def best_constant(claim: Best) -> Findings:
    """Squared sensitivity max(4d, 2(d + C^2)): the total falls in C^2 up to d, and rises from there on."""
    t = Symbol("t", nonnegative=True)
    small = d * (1 + 1 / c)
    large = (d + c) * (1 + 1 / c) / 2
    place = claim.c_squared(d)
    yield identity("the sensitivity", 4 * d, 2 * (d + place), scope="all d >= 1: the two cases meet at C^2 = d")
    yield identity("value", small.subs(c, d), claim.total(d), scope="all d >= 1")
    below = sympy.cancel(small.subs(c, d / (1 + t)) - claim.total(d))
    yield nonnegative("smaller C", below, {d: 1, t: 0}, scope="all d >= 1, all C^2 <= d")
    above = sympy.cancel(large.subs(c, d + t) - claim.total(d))
    yield nonnegative("larger C", above, {d: 1, t: 0}, scope="all d >= 1, all C^2 >= d")
    grid = [Fraction(i, 8) for i in range(1, 200)]
    yield every(
        "small integers",
        range(2, 7),
        lambda m: min(grid, key=lambda square: _total(m, square)) == claim.c_squared(m),
        over="d: C^2 in multiples of 1/8, by the sensitivity of the embedding",
        cases=5,
    )


def _total(dim: int, square: Fraction) -> Fraction:
    size: Fraction = max(Fraction(4 * dim), 2 * (dim + square))
    assert squared_sensitivity(Fraction(dim), square, REPLACE_ONE) in (size, 4 * dim)
    return size * (1 + 1 / square) / 4


class Parts(NamedTuple):
    """The eigenvalues of S within groups, on contrasts, on the all-ones line, and the variance of a query, of (m,
    d)."""

    within: Formula
    contrast: Formula
    common: Formula
    variance: Formula


PARTS = Parts(lambda m, d: d, lambda m, d: 2 * d, lambda m, d: 2 * d / (m + 1), lambda m, d: d + (m - 1) / (m + 1))


def dense(groups: int, dim: int) -> list[list[Fraction]]:
    """d I + (I_m - 2 J_m/(m + 1)) x 11^T, by its entries."""
    size = groups * dim
    return [
        [(dim if i == k else 0) + (1 if i // dim == k // dim else 0) - Fraction(2, groups + 1) for k in range(size)]
        for i in range(size)
    ]


def records(groups: int, dim: int) -> list[tuple[int, ...]]:
    """All binary records that are non-zero in one group at most."""
    found = {(0,) * (groups * dim)}
    for group in range(groups):
        for row in product((0, 1), repeat=dim):
            found.add((*[0] * (group * dim), *row, *[0] * ((groups - group - 1) * dim)))
    return sorted(found)


def same_row(m: Expr, norm: Expr, total: Expr, claim: Parts) -> Expr:
    """The form of a difference within one group: squared norm and sum of its entries."""
    line = total**2 / d
    return (
        (norm - line) / claim.within(m, d) + line * (1 - 1 / m) / claim.contrast(m, d) + line / m / claim.common(m, d)
    )


def two_rows(m: Expr, j: Expr, k: Expr, claim: Parts) -> Expr:
    """The form of x - x', with j and k ones in different groups."""
    line, both = (j**2 + k**2) / d, (j - k) ** 2 / (d * m)
    return (j + k - line) / claim.within(m, d) + (line - both) / claim.contrast(m, d) + both / claim.common(m, d)


@result(
    number="leb.new.alg2.sigma",
    text="Replacement: S = d I + (I_m - 2 J_m/(m+1)) x 11^T is positive definite and 1-GDP for all m and d, with "
    "variance d + (m-1)/(m+1) < d + 1 per query.",
    formula=r"S = d\,I + \left(I_m - \frac{2}{m+1}J_m\right) \otimes 11^T,\quad d + \frac{m-1}{m+1} < d + 1",
    printed=PARTS,
    confirms={"all pairs": "across groups"},
    planted=(
        Plant("eigenvalues", "3 d", PARTS._replace(contrast=lambda m, d: 3 * d)),
        Plant("positive definite", "minus", PARTS._replace(common=lambda m, d: -2 * d / (m + 1))),
        Plant("variance of a query", "d + 1", PARTS._replace(variance=lambda m, d: d + 1)),
        Plant("less than d + 1", "d + 1", PARTS._replace(variance=lambda m, d: d + 1)),
        Plant("within a group", "3 d/(m + 1)", PARTS._replace(common=lambda m, d: 3 * d / (m + 1))),
        Plant("across groups", "3 d/(m + 1)", PARTS._replace(common=lambda m, d: 3 * d / (m + 1))),
        Plant("records with j and k ones are at most 1", "d/2", PARTS._replace(within=lambda m, d: d / 2)),
        Plant("all pairs", "3 d", PARTS._replace(contrast=lambda m, d: 3 * d)),
    ),
)
def correlated_groups(claim: Parts) -> Findings:
    """Same group: ||x - x'||^2/d. Different groups, j and k ones: 1 - (1 - j/d)(1 - k/d). Both at most 1."""
    m = Symbol("m", positive=True)
    scope = "all m, d >= 1"
    rows = 1 - 2 / (m + 1)  # entries of I_m - 2 J_m/(m + 1) on and off the diagonal
    off = -2 / (m + 1)
    values = Matrix([d, d + d * (rows - off), d + d * (rows + (m - 1) * off)])
    claimed = Matrix([claim.within(m, d), claim.contrast(m, d), claim.common(m, d)])
    yield identity("eigenvalues", values, claimed, scope=scope)
    signs = [positive("positive definite", value, {m: 1, d: 1}, scope=scope) for value in claimed]
    yield next((sign for sign in signs if sign.holds is not True), signs[-1])
    trace = claim.within(m, d) * (d - 1) * m + claim.contrast(m, d) * (m - 1) + claim.common(m, d)
    yield identity("variance of a query", trace / (m * d), claim.variance(m, d), scope=scope)
    yield positive("less than d + 1", d + 1 - claim.variance(m, d), {m: 1, d: 1}, scope=scope)
    norm, total = sympy.symbols("norm total", real=True)
    yield identity("within a group", same_row(m, norm, total, claim), norm / d, scope=f"{scope}, all differences")
    j, k = sympy.symbols("j k", real=True)
    yield identity("across groups", two_rows(m, j, k, claim), 1 - (1 - j / d) * (1 - k / d), scope=f"{scope}, all j, k")
    u, v = sympy.symbols("u v", nonnegative=True)  # j = d - u, k = d - v
    n = Symbol("n", positive=True)
    spare = sympy.cancel((1 - two_rows(m, d - u, d - v, claim)).subs(d, n))
    yield nonnegative("records with j and k ones are at most 1", spare, {m: 1, n: 1, u: 0, v: 0}, scope=scope)
    full = -spare.subs(u, 0)  # and exactly 1 where one of them has all ones
    yield nonnegative("records with j and k ones are at most 1", full, {m: 1, n: 1, v: 0}, scope=scope)

    def largest(case: tuple[int, int]) -> bool:
        groups, dim = case
        form, listed = form_of(dense(groups, dim)), records(groups, dim)
        differences = {tuple(a - b for a, b in zip(p, q, strict=True)) for p in listed for q in listed}
        contrast = [1] * dim + [-1] * dim + [0] * ((groups - 2) * dim)
        right = form(contrast) == Fraction(2 * dim) / claim.contrast(groups, dim)
        return right and max(form(x) for x in differences) == 1

    yield every(
        "all pairs",
        [(2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (3, 3), (4, 2)],
        largest,
        over="m, d: pairs of binary records, dense matrices, exactly",
        cases=7,
        show=lambda case: f"(m, d) = {case}",
    )


class Law(NamedTuple):
    """Probabilities, up to a common factor, of (opposite records of a group, 1 against 1 of two groups, 1 against 0)

    as formulas of (m, d), for even d and for odd d; and the bound of (m + 1)^2 for odd d, of d.
    """

    even: Formula
    odd: Formula
    bound: Formula


def _even(m: Expr, d: Expr) -> tuple[Expr, Expr, Expr]:
    last = 4 * d * m / (m + 1) ** 2
    return d * m * (d - 1), 2 * d * (m - 1) * (1 - 1 / (m + 1) ** 2), last


def _odd(m: Expr, d: Expr) -> tuple[Expr, Expr, Expr]:
    """Opposite records have sums of +-1: a within part of (d - 1/d), and 1/d in the group sum."""
    first = d**3 * m / (d + 1)
    rest = 4 * d * m / (m + 1) ** 2 - first / d**2
    return first, (4 * d**2 * (m - 1) - first / d * (1 - 1 / m) - rest * (d - d / m)) / (2 * d), rest


LAW = Law(_even, _odd, lambda d: 4 * (d + 1))


@result(
    number="leb.new.alg2.sigma.opt",
    expected=Standing.HOLDS_ON_RANGE,
    text="This S has the least variance of all Gaussian mechanisms under replacement for d = 1 and every even d, all "
    "m; for odd d >= 3 iff (m + 1)^2 <= 4 (d + 1).",
    formula=r"M = E[v v^T] \propto S^2,\qquad d\ \mathrm{odd}:\ (m+1)^2 \leq 4(d+1)",
    printed=LAW,
    needs=(
        "leb.new.alg2.sigma",
        "leb.new.lowerbound",
    ),
    planted=(
        Plant("even d: M is S^2", "without 1 against 0", LAW._replace(even=lambda m, d: (*_even(m, d)[:2], 0 * m))),
        Plant("even d: a law", "minus", LAW._replace(even=lambda m, d: (*_even(m, d)[:2], -m))),
        Plant("d = 1", "without 1 against 0", LAW._replace(even=lambda m, d: (*_even(m, d)[:2], 0 * m))),
        Plant("odd d: M is S^2", "that of even d", LAW._replace(odd=_even)),
        Plant("odd d: a law", "8 (d + 1)", LAW._replace(bound=lambda d: 8 * (d + 1))),
        Plant("primal and dual", "without 1 against 0", LAW._replace(even=lambda m, d: (*_even(m, d)[:2], 0 * m))),
        Plant("primal and dual", "8 (d + 1)", LAW._replace(bound=lambda d: 8 * (d + 1))),
        Plant("odd d: only then", "4 d", LAW._replace(bound=lambda d: 4 * d)),
        Plant("active pairs", "4 d", LAW._replace(bound=lambda d: 4 * d)),
    ),
    assumptions=(
        "the trace bound, leb.new.lowerbound: equality iff M is proportional to S^2",
        "necessity: an optimum has a law of active pairs with M proportional to S^2 (Slater's condition)",
    ),
)
def grouped_optimum(claim: Law) -> Findings:
    """Active pairs: opposite records of one group, y in {-1,1}^d; and 1 in one group against any record of another.

    Second moments, summed over each space: y with sum t gives d - t^2/d within, t^2/d in its group's sum; 1 against 1
    gives 2d on contrasts; 1 against 0 gives d in a group sum. A group sum is 1/m common, the rest contrast. Wanted:
    d^2 in each of m (d-1) dimensions within, 4 d^2 in m - 1 contrasts, 4 d^2/(m+1)^2 on the line.
    For odd d, t^2 >= 1: the ratio of the line to a dimension within is at least 1/(d+1) for opposite records, and (d-1)
    (d-k)/k >= 1 for 1 against k < d ones, so 4/(m+1)^2 >= 1/(d+1) is necessary; and the law below shows it sufficient.
    """
    m = Symbol("m", positive=True)
    wanted = Matrix([d**2 * m * (d - 1), 4 * d**2 * (m - 1), 4 * d**2 / (m + 1) ** 2])
    yield identity("even d: M is S^2", _moments(m, d, claim.even(m, d), Integer(0)), wanted, scope="all even d, all m")
    p, q, w = claim.even(m, d)
    signs = [nonnegative("even d: a law", part, {m: 1, d: 2}, scope="all even d, all m") for part in (p, q, w)]
    yield next((sign for sign in signs if sign.holds is not True), signs[-1])
    one = _moments(m, Integer(1), claim.even(m, Integer(1)), Integer(0))
    yield identity("d = 1", one, wanted.subs(d, 1), scope="d = 1, all m")
    odd = claim.odd(m, d)
    yield identity("odd d: M is S^2", _moments(m, d, odd, Integer(1)), wanted, scope="all odd d, all m")
    cases = [(groups, dim) for dim in range(3, 40, 2) for groups in range(1, 60)]
    inside = [case for case in cases if (case[0] + 1) ** 2 <= claim.bound(case[1])]
    yield every(
        "odd d: a law",
        inside,
        lambda case: all(part >= 0 for part in claim.odd(Fraction(case[0]), Fraction(case[1]))),
        over="m, d: odd d, (m+1)^2 <= 4(d+1); the last weight has the sign of 4(d+1) - (m+1)^2",
        cases=143,
        show=lambda case: f"(m, d) = {case}",
    )
    yield every(
        "odd d: only then",
        cases,
        lambda case: (
            (Fraction(4, (case[0] + 1) ** 2) >= least_ratio(case[1])) == ((case[0] + 1) ** 2 <= claim.bound(case[1]))
        ),
        over="m, d: odd d; the least ratio over active pairs is 1/(d+1)",
        cases=1121,
        show=lambda case: f"(m, d) = {case}",
    )

    yield every(
        "primal and dual",
        [(groups, dim) for dim in range(1, 8) for groups in range(1, 6) if _is_optimal(claim, groups, dim)],
        lambda case: _duality(claim, *case).least() == case[0] * case[1] * PARTS.variance(*map(Fraction, case)),
        over="m, d: S on its pairs of binary records, the law as multipliers, exactly",
        cases=30,
    )

    def active(case: tuple[int, int]) -> bool:
        groups, dim = case
        form, listed = form_of(dense(groups, dim)), records(groups, dim)
        found = {tuple(a - b for a, b in zip(x, y, strict=True)) for x in listed for y in listed}
        tight = [x for x in found if form(x) == 1]
        opposite = all(sum(map(abs, x)) >= dim for x in tight)
        ratios = [ratio for x in tight if (ratio := _ratio(x, groups, dim)) is not None]
        return opposite and (dim % 2 == 0 or dim == 1 or min(ratios) == Fraction(4) / claim.bound(dim))

    yield every(
        "active pairs",
        [(2, 1), (2, 2), (2, 3), (3, 3)],
        active,
        over="m, d: pairs enumerated, dense matrices, exactly",
        cases=4,
        show=lambda case: f"(m, d) = {case}",
    )


def _is_optimal(claim: Law, groups: int, dim: int) -> bool:
    return dim == 1 or dim % 2 == 0 or bool((groups + 1) ** 2 <= claim.bound(dim))


def _duality(claim: Law, groups: int, dim: int) -> Duality:
    """Within, contrasts and the line; the squared lengths there of n entries of +-1 with sum t in one group, and of j
    ones in one group against k in another. S is the dual point, the law the multipliers: M = S^2.
    """
    m, d = Fraction(groups), Fraction(dim)
    values = PARTS.within(m, d), PARTS.contrast(m, d), PARTS.common(m, d)
    rows = {}
    for n in range(dim + 1):
        for t in range(n % 2, n + 1, 2):
            line = t * t / d
            rows[f"{n} entries of sum {t} in a group"] = (n - line, line * (1 - 1 / m), line / m)
    for j in range(1, dim + 1):
        for k in range(j + 1 if groups > 1 else 1):
            sums, both = (j * j + k * k) / d, (j - k) ** 2 / (d * m)
            rows[f"{j} ones against {k}"] = (j + k - sums, sums - both, both)
    odd = dim % 2 == 1 and dim > 1
    opposite, contrast, alone = (claim.odd if odd else claim.even)(m, d)
    law = {f"{dim} entries of sum {int(odd)} in a group": opposite, f"{dim} ones against {dim}": contrast}
    return Duality(
        weights=(m * (d - 1), m - 1, 1),
        constraints=rows,
        primal=values,
        dual=values,
        multipliers={words: one for words, one in law.items() if one != 0} | {f"{dim} ones against 0": alone},
    )


def _moments(m: Expr, dim: Expr, law: tuple[Expr, Expr, Expr], square: Expr) -> Matrix:
    """Second moments within, on contrasts and on the line; ``square`` is t^2 of the opposite records."""
    p, q, w = law
    line = p * square / dim + w * dim
    return Matrix([p * (dim - square / dim), 2 * dim * q + line * (1 - 1 / m), line / m])


def least_ratio(dim: int) -> Fraction:
    """The least (second moment on the line)/(mean second moment within), over active pairs, times d - 1 over m.

    Opposite records with sum t: (t^2/(d m))/((d - t^2/d)/(m (d-1))); 1 against k ones: (d - k)(d - 1)/k.
    """
    sums = range(dim % 2, dim, 2)
    ratios = [Fraction(t * t * (dim - 1), dim * dim - t * t) for t in sums]
    return min(ratios + [Fraction((dim - k) * (dim - 1), k) for k in range(1, dim)])


def _ratio(x: tuple[int, ...], groups: int, dim: int) -> Fraction | None:
    total = Fraction(sum(x) ** 2, groups * dim)
    rows = [x[g * dim : (g + 1) * dim] for g in range(groups)]
    within = sum((Fraction(sum(v * v for v in row)) - Fraction(sum(row) ** 2, dim) for row in rows), Fraction(0))
    return None if within == 0 else total * groups * (dim - 1) / within
