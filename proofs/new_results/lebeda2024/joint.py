"""Results of this project: releasing the count as well, free of charge, at a weight, or symmetrically."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import NamedTuple

import sympy
from sympy import Integer, Matrix, Rational, Symbol, sqrt

from dpverdict.mechanisms.core.calibration import family_variances
from dpverdict.mechanisms.queries.count_ellipse import (
    EllipseOptimum,
    eigenvalues,
    ellipse_optimum,
    largest_optimal_k,
    pair_root,
)
from dpverdict.numerics.exact import Surd
from dpverdict.proofs.checks.boxes import rounds_to
from dpverdict.proofs.checks.identities import Expr, identity, nonnegative, positive
from dpverdict.proofs.checks.optima import Duality
from dpverdict.proofs.checks.outcome import Findings, Standing
from dpverdict.proofs.checks.statement import Formula, Plant, result
from dpverdict.proofs.checks.vertices import binary_records, every, shared_noise_covariance
from dpverdict.proofs.lebeda2024.notation import C, d, r
from dpverdict.proofs.new_results.lebeda2024.notation import surd_form

s2, e = sympy.symbols("s2 e", nonnegative=True)


class Interior(NamedTuple):
    """mu_x^2 of (d, C, e), e = sum x_i (1 - x_i), and its least value."""

    value: Formula
    least: Formula


INTERIOR = Interior(lambda d, C, e: 1 - 4 * e / (d + C**2), lambda d, C: C**2 / (d + C**2))


@result(
    number="leb.new.mu.interior",
    text="With n released every binary record attains mu exactly, every other record strictly less; the least value, "
    "at x = 1/2, is mu^2 C^2/(d + C^2).",
    formula=r"\mu_x^2 = \mu^2\left(1 - \frac{4\sum_i x_i(1-x_i)}{d + C^2}\right) \geq \frac{\mu^2 C^2}{d + C^2}",
    printed=INTERIOR,
    planted=(
        Plant("the value", "2 for 4", INTERIOR._replace(value=lambda d, C, e: 1 - 2 * e / (d + C**2))),
        Plant("less inside", "plus", INTERIOR._replace(value=lambda d, C, e: 1 + 4 * e / (d + C**2))),
        Plant("least value", "d for C^2", INTERIOR._replace(least=lambda d, C: d / (d + C**2))),
        Plant("not below it", "d for C^2", INTERIOR._replace(least=lambda d, C: (d + C**2 / 2) / (d + C**2))),
    ),
)
def interior(claim: Interior) -> Findings:
    """From the family's variances; e = d/4 - sum (x_i - 1/2)^2 is between 0 and d/4, 0 at the vertices alone."""
    vz, ve = family_variances(d, C**2, Integer(1))
    found = (-e + d / 4) / vz + 1 / (4 * ve)
    yield identity("the value", found, claim.value(d, C, e), scope="all d >= 1, C > 0, all records")
    fall = sympy.cancel((1 - claim.value(d, C, e)) / e)
    yield positive("less inside", fall, {d: 1, C: Fraction(1, 1000), e: 0}, scope="all d >= 1, C >= 1/1000, e > 0")
    yield identity("least value", claim.value(d, C, d / 4), claim.least(d, C), scope="all d >= 1, C > 0")
    u = Symbol("u", nonnegative=True)  # sum (x_i - 1/2)^2
    above = sympy.cancel(1 - 4 * (d / 4 - u) / (d + C**2) - claim.least(d, C))
    yield nonnegative("not below it", above, {d: 1, C: 0, u: 0}, scope="all d >= 1, all records")


class Split(NamedTuple):
    """j* of (d, r), the variance of the scalar, and the share of the queries at share t = wt(x)/j* of j*."""

    vertex: Formula
    variance: Expr
    share: Formula


SPLIT = Split(lambda d, r: (d + r) / 2, Integer(1), lambda t: 1 - (1 - t) ** 2)


@result(
    number="leb.new.decomp",
    text="Algorithm 1 is the release of f + eta 1 + z together with an independent scalar n - (1^T f)/j* + N(0, 1), j* "
    "= (d + sqrt d)/2; their shares of mu^2 at wt(x) ones are 1 - (1 - wt/j*)^2 and (1 - wt/j*)^2.",
    formula=r"n + 2\eta - \frac{1^T\tilde{f}}{j^*} = n - \frac{1^T f}{j^*} + N(0, 1),\quad j^* = \frac{d+\sqrt{d}}{2}",
    printed=SPLIT,
    planted=(
        Plant("independent", "d/2", SPLIT._replace(vertex=lambda d, r: d / 2)),
        Plant("variance", "2", SPLIT._replace(variance=Integer(2))),
        Plant("share of the queries", "1 - t", SPLIT._replace(share=lambda t: t)),
    ),
)
def decomposition(claim: Split) -> Findings:
    """The noise of the scalar is 2 eta - (d eta + 1^T z)/j*: its covariance with eta + z_i, and its variance."""
    dim = r**2
    vz, ve = family_variances(dim, r, Integer(1))
    place = claim.vertex(dim, r)
    loading = 2 - dim / place
    yield identity("independent", loading * ve - vz / place, Integer(0) * r, scope="all d >= 1, every query")
    yield identity("variance", loading**2 * ve + dim * vz / place**2, claim.variance + 0 * r, scope="all d >= 1")
    t = Symbol("t", nonnegative=True)
    ones = t * (dim + r) / 2
    queries = (ones - ones**2 * ve / (vz + dim * ve)) / vz
    yield identity("share of the queries", queries, claim.share(t), scope="all d >= 1, all binary records; mu = 1")


class Free(NamedTuple):
    """P by the optimum, Var(n~) for k <= j* of (d, k, root), and Var(n~) at k = d for four d."""

    precision: Callable[[EllipseOptimum], Surd]
    variance: Formula
    numbers: Mapping[int, str]


FREE = Free(
    lambda best: best.free_count_precision,
    lambda d, k, root: 2 + root((d - 1) * k * (d - k)) / k,
    {6: "7.883", 7: "4.582", 11: "5.347", 1000: "33.248"},
)


def _double(best: EllipseOptimum) -> Surd:
    return 2 * best.free_count_precision


@result(
    number="leb.new.free-n",
    expected=Standing.HOLDS_ON_RANGE,
    text="One active layer j = min(k, khat): n - (1^T f)/j + N(0, 1/P) is independent of f + noise and free; 0 < P <= "
    "1, P = 1 for k <= j*, and then Var(n~) = 2 + sqrt((d-1)(d-k)/k); at k = d: 7.883 (d = 6), 4.582 (7), 5.347 (11), "
    "33.248 (1000).",
    formula=r"P = \min_{i \in \{0, j-1, j+1\}} \frac{1 - g(i)}{(1 - i/j)^2},\quad \mathrm{Var}(\tilde{n}) = "
    r"\frac{1}{P} + \frac{d\,a_1^2}{j^2}",
    printed=FREE,
    needs=("leb.new.opt.k",),
    planted=(
        Plant("all layers", "2 P", FREE._replace(precision=_double)),
        Plant("as large as can be", "P/2", FREE._replace(precision=lambda best: best.free_count_precision / 2)),
        Plant("between 0 and 1", "2 P", FREE._replace(precision=_double)),
        Plant("P = 1 up to j*", "2 P", FREE._replace(precision=_double)),
        Plant("variance of n", "3 for 2", FREE._replace(variance=lambda d, k, root: 1 + FREE.variance(d, k, root))),
        *(Plant(f"d = {m}", "last digit", FREE._replace(numbers={**FREE.numbers, m: "7.884"})) for m in FREE.numbers),
        Plant("dense matrices", "2 P", FREE._replace(precision=_double)),
    ),
)
def free_count(claim: Free) -> Findings:
    """A record with i ones has g(i) + P (1 - i/j)^2 in all. The variance of the estimate (1^T f~)/j + scalar follows.

    For i = 0 the condition is P <= 1. Var(n~) = 1/P + d a1^2/j^2; for P = 1, j = k it is 2 + R/k.
    """
    cases = [(m, k) for m in range(2, 15) for k in range(1, m + 1) if pair_root(m) is None or k <= largest_optimal_k(m)]
    show: Callable[[tuple[int, int]], str] = lambda case: f"(d, k) = {case}"  # noqa: E731
    yield every(
        "all layers",
        cases,
        lambda case: _largest(case, claim) <= 1,
        over="d, k: one active layer, exactly",
        cases=93,
        show=show,
    )
    yield every(
        "as large as can be",
        cases,
        lambda case: _largest(case, claim, tight=True) == 1,
        over="d, k: one active layer, exactly",
        cases=93,
        show=show,
    )
    yield every(
        "between 0 and 1",
        cases,
        lambda case: 0 < claim.precision(ellipse_optimum(*case)) <= 1,
        over="d, k: one active layer, exactly",
        cases=93,
        show=show,
    )
    yield every(
        "P = 1 up to j*",
        [case for case in cases if case[1] <= largest_optimal_k(case[0])],
        lambda case: _below(*case) <= (claim.precision(ellipse_optimum(*case)) == 1),
        over="d, k: k <= (d + sqrt d)/2",
        cases=67,
        show=show,
    )
    k = Symbol("k", positive=True)
    along, _ = eigenvalues(d, k, sqrt)
    yield identity("variance of n", 1 + d * along / k**2, claim.variance(d, k, sqrt), scope="all d >= 2, k <= j*")
    for m, printed in claim.numbers.items():
        best = ellipse_optimum(m, m)
        (j,) = best.active_layers
        value = 1 / claim.precision(best) + m * best.along / (j * j)
        yield rounds_to(f"d = {m}", Surd.of(value).real(), printed, scope=f"d = k = {m}, exactly")
    yield every(
        "dense matrices", [c for c in cases if c[0] <= 6], lambda c: _dense(c, claim), over="d, k: records", cases=16
    )


def _below(dim: int, k: int) -> bool:
    """k <= (d + sqrt d)/2, in integers."""
    return 2 * k <= dim or (2 * k - dim) ** 2 <= dim


def _largest(case: tuple[int, int], claim: Free, *, tight: bool = False) -> Surd:
    best = ellipse_optimum(*case)
    (j,) = best.active_layers
    precision = claim.precision(best)
    worst = Surd.of(0)
    for i in range(case[1] + 1):
        value = best.at_layer(i) + precision * Fraction(j - i, j) ** 2
        if not (tight and i == j) and value > worst:
            worst = value
    return worst


def _dense(case: tuple[int, int], claim: Free) -> bool:
    """The covariance of (f + noise, n - (1^T f)/j + scalar) is block diagonal: all records by dense matrices."""
    best = ellipse_optimum(*case)
    (j,) = best.active_layers
    covariance = shared_noise_covariance(case[0], best.independent_variance, best.shared_variance, None)
    form, precision = surd_form(covariance), claim.precision(best)
    return all(form(x) + precision * (1 - Fraction(sum(x), j)) ** 2 <= 1 for x in binary_records(*case))


class Infimum(NamedTuple):
    """Whether d OPT is attained with a count of finite variance; what b must be for two layers; an excess of S."""

    attained: Callable[[int], bool]
    equations: Formula
    excess: Fraction = Fraction(1, 1000)


INFIMUM = Infimum(lambda m: pair_root(m) is None or m == 1, lambda j: Matrix([[j, 1], [j + 1, 1]]))


@result(
    number="leb.new.n.infimum",
    expected=Standing.HOLDS_ON_RANGE,
    text="With a count of finite variance the infimum of sum Var(f_i) is still d OPT(d, d); it is attained iff d is "
    "not s^2 + 1 or s^2 - 1.",
    formula=r"\inf \sum_i \mathrm{Var}(\tilde{f}_i) = d\,\mathrm{OPT}_\infty(d)",
    printed=INFIMUM,
    needs=(
        "leb.new.free-n",
        "leb.new.opt.pair",
        "leb.new.opt.single",
    ),
    planted=(
        Plant("attained for one layer", "always", INFIMUM._replace(attained=lambda m: True)),
        Plant("not attained for two", "one layer", INFIMUM._replace(equations=lambda j: Matrix([[j, 1], [2 * j, 2]]))),
        Plant("approached", "not scaled", INFIMUM._replace(excess=Fraction(0))),
    ),
    assumptions=(
        "the optimal covariance of the queries is unique: tr is linear, the constraints strictly convex in S^-1",
    ),
)
def infimum(claim: Infimum) -> Findings:
    """The count adds (1 - b^T x)^2/sigma^2 to the form of x, b = S^-1 cov(f, n), which must be 0 on active layers.

    Two layers j and j + 1, averaged over permutations, ask j b = 1 and (j + 1) b = 1: no solution. One layer: P > 0 of
    leb.new.free-n. Approached: scale S by 1 + t; then all records have t/(1 + t) to spare, and any count with
    (1 - b^T x)^2/sigma^2 below that will do, sigma finite.
    """
    yield every(
        "attained for one layer",
        [m for m in range(1, 301) if claim.attained(m)],
        lambda m: m == 1 or (len(ellipse_optimum(m, m).active_layers) == 1 and _free(m)),
        over="d: not s^2 + 1 or s^2 - 1, P > 0 exactly",
        cases=267,
        show=lambda m: f"d = {m}",
    )
    j = Symbol("j", positive=True)
    determinant = claim.equations(j).det()
    yield positive("not attained for two", determinant**2, {j: 1}, scope="all d = s^2 + 1 or s^2 - 1")
    yield every(
        "approached",
        [m for m in range(2, 150) if pair_root(m) is not None],
        lambda m: _room(m, claim.excess) > 0,
        over="d: pairs, S scaled by 1 + 1/1000, exactly",
        argued="for every t > 0 as g <= 1",
        cases=23,
        show=lambda m: f"d = {m}",
    )


def _room(dim: int, excess: Fraction) -> Surd:
    """The precision with which n - (1^T f)/j may be released when the optimal S is scaled by 1 + excess."""
    best = ellipse_optimum(dim, dim)
    j = best.active_layers[0]
    rooms = [(1 - best.at_layer(i) / (1 + excess)) * Fraction(j * j, (j - i) ** 2) for i in range(dim + 1) if i != j]
    least = rooms[0]
    for room in rooms:
        least = room if room < least else least
    return least


def _free(dim: int) -> bool:
    return ellipse_optimum(dim, dim).free_count_precision > 0


class Weighted(NamedTuple):
    """C^2 of (d, kappa, q), q = sqrt(d + 4 kappa); value, mean and variance of the law of the number of ones."""

    c_squared: Formula
    value: Formula
    mean: Formula
    variance: Formula


WEIGHTED = Weighted(
    lambda d, kappa, q: q,
    lambda d, kappa, q: (d + q) ** 2 / 4,
    lambda d, kappa, q: d / 2 * (1 + 1 / q),
    lambda d, kappa, q: d * kappa / q**2,
)


@result(
    number="leb.new.kappa",
    text="Weighted objective sum Var(f_i) + kappa Var(n): C^2 = sqrt(d + 4 kappa), of value (d + C^2)^2/4, is optimal "
    "among all Gaussian mechanisms iff d kappa/(d + 4 kappa) >= {a}(1 - {a}), a = (d/2)(1 + 1/sqrt(d + 4 kappa)); "
    "kappa >= d/(4 (d - 1)) suffices.",
    formula=r"\frac{d\kappa}{d + 4\kappa} \geq \{a\}(1 - \{a\}),\quad a = \frac{d}{2}\left(1 + \frac{1}{\sqrt{d + "
    r"4\kappa}}\right)",
    printed=WEIGHTED,
    planted=(
        Plant("best of the family", "sqrt d", WEIGHTED._replace(c_squared=lambda d, kappa, q: q + 1)),
        Plant("value", "/2", WEIGHTED._replace(value=lambda d, kappa, q: (d + q) ** 2 / 2)),
        Plant("moments of the law", "kappa/d", WEIGHTED._replace(variance=lambda d, kappa, q: kappa / q**2)),
        Plant("the law fits above", "d^2", WEIGHTED._replace(variance=lambda d, kappa, q: d**2)),
        Plant("sufficient", "kappa/d", WEIGHTED._replace(variance=lambda d, kappa, q: d * kappa / q**2 / 2)),
    ),
    assumptions=(
        "necessity: an optimum has a law of active records with M proportional to S W S (Slater's condition)",
    ),
)
def weighted(claim: Weighted) -> Findings:
    """tr(W S) >= (tr (W^(1/2) M W^(1/2))^(1/2))^2 for M = E[(x,1)(x,1)^T], with equality iff M = S W S/tr(W S).

    M_nn = 1; for binary x the diagonal and the entries with n are both E x_i = a/d; the others give the variance of the
    number of ones. Integers of mean a have a variance of at least {a}(1 - {a}), and any up to a (d - a); every record
    is active. kappa enters through q: kappa = (q^2 - d)/4.
    """
    q = Symbol("q", positive=True)
    kappa = (q**2 - d) / 4
    square = claim.c_squared(d, kappa, q)
    vz, ve = family_variances(d, square, Integer(1))
    c2 = Symbol("c2", positive=True)
    general = family_variances(d, c2, Integer(1))
    slope = sympy.diff(d * (general[0] + general[1]) + 4 * kappa * general[1], c2)
    yield identity(
        "best of the family", sympy.cancel(slope.subs(c2, square)), Integer(0), scope="all d, kappa >= 0", dropped=(q,)
    )
    total = d * (vz + ve) + 4 * kappa * ve
    yield identity("value", total, claim.value(d, kappa, q), scope="all d, kappa >= 0")
    shared = 2 * vz * ve + (d + 4 * kappa) * ve**2
    found = Matrix([4 * ve**2 * (d + 4 * kappa), 2 * ve * (vz + d * ve) + 8 * kappa * ve**2, vz**2 + shared, shared])
    a, v = claim.mean(d, kappa, q), claim.variance(d, kappa, q)
    wanted = Matrix([1 + 0 * q, a / d, a / d, (v + a**2 - a) / (d * (d - 1))])
    yield identity("moments of the law", found / total, wanted, scope="all d >= 2, kappa >= 0")
    t, n = sympy.symbols("t n", nonnegative=True)  # q^2 = d + 4 kappa
    kap = Symbol("kappa", nonnegative=True)
    room = n**2 / 4 * (n + 4 * kap - 1) - claim.variance(n, kap, sqrt(n + 4 * kap)) * (n + 4 * kap)
    yield nonnegative("the law fits above", sympy.expand(room), {n: 1, kap: 0}, scope="all d >= 1, kappa >= 0")
    enough = n / (4 * (n - 1)) + t
    spare = 4 * claim.variance(n, enough, sqrt(n + 4 * enough)) - 1
    yield nonnegative("sufficient", sympy.cancel(spare), {n: 2, t: 0}, scope="all d >= 2, kappa >= d/(4 (d - 1))")


@result(
    number="leb.new.kappa1",
    text="kappa = 1, the sum of all d + 1 variances: C^2 = sqrt(d + 4) is exactly optimal for every d.",
    formula=r"C^2 = \sqrt{d + 4}",
    printed=(Fraction(1), lambda d: sqrt(d + 4)),
    needs=("leb.new.kappa",),
    named=("d = 1",),
    planted=(
        Plant("d >= 2", "kappa = 1/5", (Fraction(1, 5), lambda d: sqrt(d + 4))),
        Plant("d = 1", "sqrt(d + 5)", (Fraction(1), lambda d: sqrt(d + 5))),
    ),
    assumptions=("leb.new.kappa",),
)
def weight_one(claim: tuple[Fraction, Formula]) -> Findings:
    """d/(d + 4) >= 1/4 for d >= 2; at d = 1 a = (1 + 1/sqrt 5)/2 and {a}(1 - {a}) = (1 - 1/5)/4 = 1/5 exactly."""
    kappa, square = claim
    n = Symbol("n", positive=True)
    weight = Rational(kappa)
    yield positive("d >= 2", n * weight / (n + 4 * weight) - Rational(1, 4), {n: 2}, scope="all d >= 2")
    a = (1 + 1 / square(Integer(1))) / 2
    yield identity("d = 1", sympy.expand(a * (1 - a)), weight / (1 + 4 * weight), scope="d = 1, with equality")


class Symmetric(NamedTuple):
    """C^2 of r, sum Var(f_i) + Var(n - f_i) of (d, r), and what 0 becomes in the records of the law."""

    c_squared: Formula
    value: Formula
    low: int = -1


SYMMETRIC = Symmetric(lambda r: r, lambda d, r: d * (r + 1) ** 2 / 2)


@result(
    number="leb.new.complement",
    expected=Standing.HOLDS_ON_RANGE,
    text="Algorithm 1 minimises sum Var(f_i) + Var(n - f_i) among all Gaussian mechanisms, for every d: d (sqrt d + "
    "1)^2/2.",
    formula=r"\min \sum_i \mathrm{Var}(\tilde{f}_i) + \mathrm{Var}(\tilde{n} - \tilde{f}_i) = "
    r"\frac{d(\sqrt{d}+1)^2}{2}",
    printed=SYMMETRIC,
    needs=(
        "leb.new.lowerbound",
        "lebeda2024/thm3.1",
    ),
    planted=(
        Plant("value of Algorithm 1", "C^2 = 2 r", SYMMETRIC._replace(c_squared=lambda r: 2 * r)),
        Plant("lower bound", "3 for 2", SYMMETRIC._replace(value=lambda d, r: d * (r + 1) ** 2 / 3)),
        Plant("primal and dual", "C^2 = 2 r", SYMMETRIC._replace(c_squared=lambda r: 2 * r)),
        Plant("primal and dual", "3 for 2", SYMMETRIC._replace(value=lambda d, r: d * (r + 1) ** 2 / 3)),
        Plant("second moments", "records of 0 and 1", SYMMETRIC._replace(low=0)),
    ),
    assumptions=("the trace bound, leb.new.lowerbound",),
)
def complement(claim: Symmetric) -> Findings:
    """In (2f - n, n) the objective is sum Var(g_i)/2 + (d/2) Var(n), and uniform signs have M = E[(y,1)(y,1)^T] = I.

    The bound is (sum of the square roots of the weights)^2 = (d sqrt(1/2) + sqrt(d/2))^2.
    """
    vz, ve = family_variances(r**2, claim.c_squared(r), Integer(1))
    value = claim.value(r**2, r)
    both = (vz + ve) + (vz + (2 - 1) ** 2 * ve)  # n - f_i carries 2 eta - eta - z_i
    yield identity("value of Algorithm 1", r**2 * both, value, scope="all d >= 1")
    roots = r**2 / sqrt(2) + r / sqrt(2)
    yield identity("lower bound", sympy.expand(roots**2), value, scope="all d >= 1, all Gaussian mechanisms")
    yield every(
        "primal and dual",
        range(1, 15),
        lambda m: _symmetric(claim, m).least() == claim.value(m, Surd.root(m)),
        over="d: Algorithm 1 on 2f - n and n, the uniform law, exactly",
        argued="every d by the identities",
        cases=14,
    )
    yield every(
        "second moments",
        range(1, 7),
        lambda m: all(_signs(m, i, k, claim.low) == int(i == k) for i in range(m + 1) for k in range(m + 1)),
        over="d: sign vectors",
        argued="every d as signs are independent",
        cases=6,
    )


def _symmetric(claim: Symmetric, dim: int) -> Duality:
    """In 2f - n, d coordinates of variance 4 vz, and n: a record has lengths d and 1 there, and Algorithm 1 no more."""
    root = Surd.root(dim)
    vz, ve = family_variances(Surd.of(dim), claim.c_squared(root), Surd.of(1))
    return Duality(
        weights=(Fraction(dim, 2), Fraction(dim, 2)),
        constraints={"a vector of signs, and 1": (dim, 1)},
        primal=(4 * vz, 4 * ve),
        dual=(4 * vz, 4 * ve),
        multipliers={"a vector of signs, and 1": claim.value(dim, root)},
    )


def _signs(dim: int, i: int, k: int, low: int) -> Fraction:
    records = [(*(value or low for value in x), 1) for x in binary_records(dim)]
    return Fraction(sum(y[i] * y[k] for y in records), len(records))
