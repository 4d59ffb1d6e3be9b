"""Results of this project: OPT(d, k), the least variance of a query of a Gaussian mechanism, for all d and k."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import sympy
from sympy import Integer, Matrix, Rational, Symbol, sqrt

from dpverdict.mechanisms.queries.count_ellipse import (
    ellipse_optimum,
    largest_optimal_k,
    least_ellipse_variance,
    pair_eigenvalues,
    pair_root,
)
from dpverdict.numerics.exact import Surd
from dpverdict.proofs.checks.drawings import optimum_curve_figure
from dpverdict.proofs.checks.identities import Expr, identity, nonnegative, positive
from dpverdict.proofs.checks.optima import Duality
from dpverdict.proofs.checks.outcome import Findings, Standing
from dpverdict.proofs.checks.statement import Formula, Plant, result
from dpverdict.proofs.checks.vertices import binary_records, every, shared_noise_covariance
from dpverdict.proofs.lebeda2024.gap import (
    GAP,
    Gap,
    algorithm_1,
    even_gap,
    gap_faults,
    gap_is_zero,
    gap_of_optima,
    gap_of_pairs,
    gap_of_single_layers,
    layer_variance,
    odd_gap,
)
from dpverdict.proofs.lebeda2024.notation import S_AT_1, s
from dpverdict.proofs.new_results.lebeda2024.mutants_special import not_beyond
from dpverdict.proofs.new_results.lebeda2024.notation import surd_form


class Pair(NamedTuple):
    """The eigenvalues of (d, s); the weight of layer j + 1 and d OPT of (s, sign) for d = s^2 + sign."""

    eigenvalues: Formula
    weight: Formula
    value: Formula


def _weight(s: Expr, sign: int) -> Expr:
    return (3 * s**2 + 3 * s + 2) / (4 * (s**2 + s + 1)) if sign > 0 else (s - 1) * (s + 2) / (4 * (s**2 + s - 1))


PAIR = Pair(pair_eigenvalues, _weight, lambda s, sign: (s + 1) ** 2 * (s**2 + s + 2 * sign) / (4 * (s**2 + s + sign)))


@result(
    number="leb.new.opt.pair",
    text="d = s^2 + 1 (s >= 1) or s^2 - 1 (s >= 2), k > j = (d + s - 1)/2: with T = d + s the precisions u = s/(j "
    "(j+1)), w = T/(j (j+1)) are optimal, layers j and j + 1 active, OPT = (T^2 - 1)(s + 1)/(4 s T).",
    formula=r"\mathrm{OPT} = \frac{(T^2-1)(s+1)}{4 s T} = \frac{(s+1)^2(s^2+s+2c)}{4(s^2+s+c)},\quad d = s^2 + c",
    printed=PAIR,
    needs=("leb.new.lowerbound",),
    confirms={"certified optima": "variance of a query, d = s^2 + 1"},
    planted=(
        *(
            Plant(f"{name}, d = s^2 {sign} 1", words, claim)
            for sign in "+-"
            for name, words, claim in (
                ("both layers tight", "swapped", PAIR._replace(eigenvalues=lambda d, s: pair_eigenvalues(d, s)[::-1])),
                ("other layers below", "swapped", PAIR._replace(eigenvalues=lambda d, s: pair_eigenvalues(d, s)[::-1])),
                ("variance of a query", "+ 1/s", PAIR._replace(value=lambda s, c: PAIR.value(s, c) + 1 / s)),
                ("a law", "minus", PAIR._replace(weight=lambda s, c: -_weight(s, c))),
                ("equal to the bound", "1/2", PAIR._replace(weight=lambda s, c: s / (2 * s))),
            )
        ),
        Plant("certified optima", "+ 1/s", PAIR._replace(value=lambda s, c: PAIR.value(s, c) + 1 / s)),
    ),
    assumptions=("the trace bound, leb.new.lowerbound",),
)
def pair(claim: Pair) -> Findings:
    """g is concave (u <= w) and 1 at j and j + 1: at most 1 at every integer. The law on j, j + 1 has F = tr S.

    F = tr S is decided as (tr S - a - b)^2 = 4 a b with tr S >= a + b, a = m2/d, b = (d-1)(m1 - m2/d); rational in s.
    """
    n = Symbol("s", positive=True)
    for sign, least in ((1, 1), (-1, 2)):
        words = f"d = s^2 {'+' if sign > 0 else '-'} 1"
        scope = f"all {words}, s >= {least}"
        dim = n**2 + sign
        j = (dim + n - 1) / 2
        along, across = claim.eigenvalues(dim, n)
        tight = [(m**2 / along + m * (dim - m) / across) / dim for m in (j, j + 1)]
        yield identity(f"both layers tight, {words}", Matrix(tight), Matrix([1, 1]), scope=scope, dropped=(n,))
        yield nonnegative(f"other layers below, {words}", sympy.cancel(along - across), {n: least}, scope=scope)
        trace = dim * claim.value(n, sign)
        yield identity(f"variance of a query, {words}", along + (dim - 1) * across, trace, scope=scope)
        weight = claim.weight(n, sign)
        inside = nonnegative(f"a law, {words}", sympy.cancel(weight), {n: least}, scope=scope)
        above = nonnegative(f"a law, {words}", sympy.cancel(1 - weight), {n: least}, scope=scope)
        yield inside if inside.holds is not True else above
        m1, m2 = j + weight, j**2 + weight * (2 * j + 1)
        a, b = m2 / dim, (dim - 1) * (m1 - m2 / dim)
        rest = sympy.cancel(along + (dim - 1) * across - a - b)
        same = identity(f"equal to the bound, {words}", sympy.cancel(rest**2), sympy.cancel(4 * a * b), scope=scope)
        right = nonnegative(f"equal to the bound, {words}", rest, {n: least}, scope=scope)
        yield same if same.holds is not True else right
    yield every(
        "certified optima",
        [(m, sign) for m in range(1, 60) for sign in (1, -1) if m > 1 or sign == 1],
        lambda case: (
            ellipse_optimum(case[0] ** 2 + case[1], case[0] ** 2 + case[1]).per_query_variance
            == claim.value(Fraction(case[0]), case[1])
        ),
        over="s, sign: k = d, with its certificate in rationals",
        cases=117,
        show=lambda case: f"d = {case[0]}^2 {case[1]:+}",
    )


class Single(NamedTuple):
    """The integer t next to sqrt d, by d; and the distance to the squares from which layer (d + t)/2 alone is best."""

    root: Callable[[int], int]
    least: int


SINGLE = Single(lambda dim: 2 * largest_optimal_k(dim) - dim, 3)


@result(
    number="leb.new.opt.single",
    expected=Standing.HOLDS_ON_RANGE,
    text="Every d that is not s^2 + 1 or s^2 - 1: OPT(d, d) = h(d, (d + t)/2), t the integer of d's parity with |t - "
    "sqrt d| < 1; only the layer (d + t)/2, the integer nearest (d + sqrt d)/2, is active.",
    formula=r"\mathrm{OPT}_\infty(d) = h(d, j) = \frac{[d + t + \sqrt{(d-1)(d^2 - t^2)}]^2}{4d^2},\quad j = (d+t)/2",
    printed=SINGLE,
    needs=(
        "leb.new.jy24.range",
        "leb.new.jy24.count",
        "leb.new.lowerbound",
    ),
    planted=(
        Plant("one layer above", "5 for 3", SINGLE._replace(least=5)),
        Plant("factorisation", "5 for 3", SINGLE._replace(least=5)),
        Plant("private above", "1 for 3", SINGLE._replace(least=1)),
        Plant("not private otherwise", "7 for 3", SINGLE._replace(least=7)),
        Plant("value", "5 for 3", SINGLE._replace(least=5)),
        Plant("t is next to sqrt d", "t + 2", SINGLE._replace(root=lambda dim: SINGLE.root(dim) + 2)),
        Plant("both neighbours", "t + 2", SINGLE._replace(root=lambda dim: SINGLE.root(dim) + 2)),
    ),
    assumptions=("the trace bound, leb.new.lowerbound", "leb.new.jy24.range for the layer below"),
)
def single(claim: Single) -> Findings:
    """g(j) = 1, g is concave: private on all layers iff g(j - 1) <= 1 and g(j + 1) <= 1 (or j = d).

    The test above, with s = 2j + 1 - d, d = s^2 - a: -(d/2) [(2 - a) s (s+1) + a (a - 1)] >= 0, which for a >= 3 and
    s^2 = a + 1 + b, b >= 0, is (a-2)(b + s) - 2 >= 0 (s >= 2), and fails for a <= 1. As a is odd, both tests hold iff
    (t-1)^2 <= d - 3 (or t <= 1) and (t+1)^2 >= d + 3 (or t = d); (t-1)^2 < d < (t+1)^2 and parity leave only the pairs.
    """
    shift = claim.least - 3
    j, u, w, t, a, b, d = sympy.symbols("j u w t a b d", positive=True)
    above = u * ((j + 1) ** 2 - j**2) + w * ((j + 1) * (d - j - 1) - j * (d - j))
    line = u * (2 * j + 1) - w * (2 * j + 1 - d + shift)
    yield identity("one layer above", above, line, scope="all d, j, all u, w > 0")
    dim = t**2 - a
    layer = (dim + t - 1) / 2
    sides = (dim - 1) * layer * t**2 - (dim - layer) * (2 * layer + 1) ** 2
    yield identity("factorisation", sides, -dim / 2 * upper_bracket(a, t**2, t) + shift, scope="all d, j with 2j+1 > d")
    c = Symbol("c", nonnegative=True)
    yield nonnegative(
        "private above",
        sympy.expand(-upper_bracket(claim.least + c, claim.least + c + 1 + b, t)),
        {c: 0, b: 0, t: 2},
        scope="all d, j with s^2 - d >= 3",
    )
    most = claim.least - 2
    yield positive(
        "not private otherwise",
        sympy.expand(upper_bracket(most - c, t**2, t)),
        {c: 0, t: 1},
        scope="all d, j with s^2 - d <= 1",
    )
    n = Symbol("n", positive=True)
    half = (n + t) / 2 + shift
    yield identity(
        "value",
        layer_variance(n, half, sqrt),
        (n + t + sqrt((n - 1) * (n**2 - t**2))) ** 2 / (4 * n**2),
        scope="all d, t",
    )
    others = [m for m in range(1, 20_001) if pair_root(m) is None]
    yield every(
        "t is next to sqrt d",
        others,
        lambda m: (m - claim.root(m)) % 2 == 0 and (claim.root(m) - 1) ** 2 < m < (claim.root(m) + 1) ** 2,
        over="d: not a pair",
        argued="every d as (t-1)^2 < d < (t+1)^2",
        cases=19719,
    )
    yield every(
        "both neighbours",
        others,
        lambda m: private_on_all(m, (m + claim.root(m)) // 2),
        over="d: not a pair, by integers",
        argued="every d by parity",
        cases=19719,
    )


def upper_bracket(a: Expr, square: Expr, t: Expr) -> Expr:
    """(2 - a) t (t+1) + a (a - 1), the square of t given on its own."""
    return (2 - a) * (square + t) + a * (a - 1)


def private_on_all(dim: int, j: int) -> bool:
    """The integer tests that the Count ellipse for j is at most 1 on the layers j - 1 and j + 1."""
    side = 2 * j + 1 - dim
    upper = j == dim or (side > 0 and (dim - j) * (2 * j + 1) ** 2 <= (dim - 1) * j * side * side)
    return upper and not_beyond(dim, j)


class Optimum(NamedTuple):
    """OPT(d, k), exactly."""

    value: Callable[[int, int], Surd]


def _formula(dim: int, k: int) -> Surd:
    s, last = pair_root(dim), largest_optimal_k(dim)
    if dim == 1:
        return Surd.of(1)
    if s is not None and k > last:
        return Surd.of(Fraction(PAIR.value(Fraction(s), dim - s * s)))
    return Surd.of(layer_variance(Fraction(dim), min(k, last), Surd.root))


def _everywhere(dim: int, k: int) -> Surd:
    """h(d, k), also where the ellipse is not private."""
    return Surd.of(1) if dim == 1 else Surd.of(layer_variance(Fraction(dim), k, Surd.root))


OPTIMUM = Optimum(_formula)


@result(
    number="leb.new.opt.k",
    expected=Standing.HOLDS_ON_RANGE,
    text="OPT(d, k) = h(d, k) for k <= khat(d), and OPT(d, d) beyond, for all d and k, with a law of one layer or two "
    "adjacent ones that proves it.",
    formula=r"\mathrm{OPT}(d, k) = h(d, k)\ \ (k \leq \hat{k}(d)),\qquad \mathrm{OPT}(d, d)\ \ (k > \hat{k}(d))",
    printed=OPTIMUM,
    needs=(
        "leb.new.lowerbound",
        "leb.new.jy24.count",
        "leb.new.jy24.range",
        "leb.new.opt.pair",
        "leb.new.opt.single",
    ),
    planted=(
        Plant(
            "certified, all k",
            "h(d, k) beyond khat",
            Optimum(_everywhere),
        ),
        Plant("certified, large d", "OPT + 1/d", Optimum(lambda m, k: _formula(m, k) + Fraction(1, m))),
        Plant("all vertices", "OPT + 1/d", Optimum(lambda m, k: _formula(m, k) + Fraction(1, m))),
        Plant("one layer is a law", "OPT + 1/d", Optimum(lambda m, k: _formula(m, k) + Fraction(1, m))),
        Plant("primal and dual", "h(d, k) beyond khat", Optimum(_everywhere)),
        Plant("primal and dual", "OPT + 10^-9", Optimum(lambda m, k: _formula(m, k) + Fraction(1, 10**9))),
    ),
    assumptions=("the trace bound, leb.new.lowerbound", "averaging over permutations, for the primal form"),
    figure=optimum_curve_figure,
)
def optimum_of_all(claim: Optimum) -> Findings:
    """For every d and k by leb.new.jy24.range (k <= khat), leb.new.opt.single and leb.new.opt.pair (k > khat).

    Each optimum compared here is made with its certificate: private on every layer, and equal to the lower bound of its
    law, in exact arithmetic; and its covariance is inverted as a dense matrix and tried on every record.
    """
    yield every(
        "one layer is a law",
        [(m, k) for m in range(2, 61) for k in range(1, largest_optimal_k(m) + 1)],
        lambda case: _is_bound(claim.value(*case), *case),
        over="d, k: d OPT = F(k, k^2), exactly",
        argued="for every d by leb.new.jy24.count",
        cases=1064,
        show=lambda case: f"(d, k) = {case}",
    )
    for name, pairs, count in (
        ("certified, all k", [(m, k) for m in range(1, 61) for k in range(1, m + 1)], 1830),
        (
            "certified, large d",
            [(m, k) for m in range(61, 2001) for k in sorted({m // 2, largest_optimal_k(m), m})],
            5820,
        ),
    ):
        yield every(
            name,
            pairs,
            lambda case: ellipse_optimum(*case).per_query_variance == claim.value(*case),
            over="d, k",
            argued="for every d and k by the results named",
            cases=count,
            show=lambda case: f"(d, k) = {case}",
        )
    yield every(
        "primal and dual",
        [(m, k) for m in range(1, 15) for k in range(1, m + 1)],
        lambda case: _duality(*case).least() == case[0] * claim.value(*case),
        over="d, k: the ellipse on its layers, the law as multipliers, exactly",
        argued="for every d and k by the results named",
        cases=105,
    )
    yield every(
        "all vertices",
        [(m, k) for m in range(1, 7) for k in range(1, m + 1)],
        lambda case: _dense(claim.value(*case), *case),
        over="d, k: records with at most k ones, dense matrices, exactly",
        cases=21,
        show=lambda case: f"(d, k) = {case}",
    )


def _is_bound(value: Surd, dim: int, k: int) -> bool:
    a, b = Fraction(k * k, dim), (dim - 1) * (k - Fraction(k * k, dim))
    rest = dim * value - a - b
    return rest >= 0 and rest * rest == 4 * a * b


def _duality(dim: int, k: int) -> Duality:
    """The line of 1 and its complement; a record with j ones has j^2/d on the one and j (d - j)/d on the other.

    Where the trace bound is attained E[x x^T] is proportional to S^2: so S is the dual point, and tr S the law's mass.
    """
    best = ellipse_optimum(dim, k)
    values = best.along, best.across
    law = zip(best.active_layers, best.weights, strict=True)
    return Duality(
        weights=(1, dim - 1),
        constraints={f"{j} ones": (Fraction(j * j, dim), Fraction(j * (dim - j), dim)) for j in range(k + 1)},
        primal=values,
        dual=values,
        multipliers={f"{j} ones": weight * dim * best.per_query_variance for j, weight in law},
    )


def _dense(value: Surd, dim: int, k: int) -> bool:
    best = ellipse_optimum(dim, k)
    covariance = shared_noise_covariance(dim, best.independent_variance, best.shared_variance, None)
    form = surd_form(covariance)
    trace = sum((covariance[i][i] for i in range(dim)), Surd.of(0))
    return trace == dim * value and all(form(x) <= 1 for x in binary_records(dim, k))


class Largest(NamedTuple):
    """What is said of the gap for every d, the largest gap, and its d."""

    gap: Gap
    value: Expr
    place: int


LARGEST = Largest(GAP, (6 * sqrt(2) - 7) / 12, 2)


@result(
    number="leb.new.gap",
    expected=Standing.HOLDS_ON_RANGE,
    text="0 <= (sqrt d + 1)^2/4 - OPT(d, d) < 1/(4d) for every d, 0 iff d is a square: there, and only there, the "
    "queries of Algorithm 1 are exactly optimal; the largest gap is (6 sqrt 2 - 7)/12 = 0.12377, at d = 2.",
    formula=r"0 \leq \frac{(\sqrt{d}+1)^2}{4} - \mathrm{OPT}_\infty(d) < \frac{1}{4d},\quad \max_d = "
    r"\frac{6\sqrt{2} - 7}{12}",
    printed=LARGEST,
    needs=(
        "leb.new.opt.pair",
        "leb.new.opt.single",
    ),
    named=(
        "above all others",
        "largest",
    ),
    confirms={"small d": "single layers: below the bound"},
    planted=(
        *(
            Plant(name, words, LARGEST._replace(gap=fault))
            for name, words, fault in gap_faults("zero at the squares alone", "small d")
        ),
        Plant("largest", "d = 3", LARGEST._replace(place=3)),
        Plant("above all others", "less", LARGEST._replace(value=Rational(1, 13))),
    ),
    assumptions=("leb.new.opt.single and leb.new.opt.pair, which hold for every d",),
)
def largest_gap(claim: Largest) -> Findings:
    """Pairs: rational in t = sqrt d + n. Others: by the angle between two unit vectors, 0 iff t = sqrt d; d < 6 singly.

    The bound 1/(4d) is at most 1/12 from d = 3 on, less than the gap at d = 2; at d = 1 it is 0.
    """
    yield from gap_of_pairs(claim.gap.coefficient, claim.gap.own)
    yield from gap_of_single_layers(claim.gap.distance, claim.gap.own)
    yield gap_is_zero("zero at the squares alone", claim.gap, 20_000)
    value = algorithm_1(Integer(claim.place), sqrt) - Rational(
        least_ellipse_variance(claim.place, claim.place).rational or 0
    )
    yield identity("largest", value, claim.value, scope=f"d = {claim.place}")
    yield positive("above all others", claim.value - Rational(1, 12), {}, scope="all d >= 3 by the bound 1/(4d)")
    yield gap_of_optima("small d", claim.gap)


class Sharp(NamedTuple):
    """The best constants of Lemma 4.4 for k >= d/2 and k >= floor(d/2), and the limit of both gaps."""

    half: Expr
    floor: Expr
    limit: Expr


SHARP = Sharp((2 * sqrt(2) - 1) / 4, sqrt(3) / 2, Rational(1, 4))


@result(
    number="leb.new.lem44",
    expected=Standing.HOLDS_ON_RANGE,
    text="Lemma 4.4 sharpened: sup over k >= d/2 of Algorithm 1 - OPT is (2 sqrt 2 - 1)/4 = 0.457107, at (2, 1); over "
    "k >= floor(d/2) sqrt(3)/2, at (3, 1); for even d, k = d/2 the gap falls to 1/4, for odd d, k = (d+1)/2 it "
    "rises to 1/4.",
    formula=r"\sup_{k \geq d/2} = \frac{2\sqrt{2}-1}{4},\quad \sup_{k \geq \lfloor d/2 \rfloor} = \frac{\sqrt{3}}{2}",
    printed=SHARP,
    planted=(
        Plant("even d", "1/4", SHARP._replace(half=Rational(1, 4))),
        Plant("attained at (2, 1)", "1/2", SHARP._replace(half=Rational(1, 2))),
        Plant("attained at (3, 1)", "1", SHARP._replace(floor=Integer(1))),
        Plant("odd d, floor", "1/2", SHARP._replace(floor=Rational(1, 2))),
        Plant("odd d rises", "1/5", SHARP._replace(limit=Rational(1, 5))),
        Plant("even d falls", "1/3", SHARP._replace(limit=Rational(1, 3))),
        Plant("limits", "1/3", SHARP._replace(limit=Rational(1, 3))),
    ),
    assumptions=("OPT(d, k) does not decrease in k",),
)
def sharpened(claim: Sharp) -> Findings:
    """The gaps to h(d, d/2), h(d, (d+1)/2) and h(d, (d-1)/2), rational in s = sqrt d + sqrt(d -+ 1)."""
    even, odd, low = even_gap(), odd_gap(1), odd_gap(-1)
    yield nonnegative("even d", claim.half - even, {s: 1 + sqrt(2)}, scope="all even d, all k >= d/2")
    first = algorithm_1(Integer(2), sqrt) - Rational(least_ellipse_variance(2, 1).rational or 0)
    yield identity("attained at (2, 1)", first, claim.half, scope="(d, k) = (2, 1)")
    second = algorithm_1(Integer(3), sqrt) - Rational(least_ellipse_variance(3, 1).rational or 0)
    yield identity("attained at (3, 1)", second, claim.floor, scope="(d, k) = (3, 1)")
    least = Rational(int(10**9 * claim.floor.evalf(20)), 10**9)
    yield positive("odd d, floor", least - low, {s: Fraction(23, 5)}, scope="all odd d >= 5, all k >= (d-1)/2")
    rising = positive("odd d rises", sympy.cancel(sympy.diff(odd, s)), {s: Fraction(37, 10)}, scope="all odd d >= 3")
    yield (
        rising
        if rising.holds is not True
        else positive("odd d rises", claim.limit - odd, {s: S_AT_1}, scope="all odd d: increasing, and below the limit")
    )
    yield positive(
        "even d falls", even - claim.limit, {s: S_AT_1}, scope="all even d: (1 + 2/s)/4 decreases, above the limit"
    )
    ends = Matrix([sympy.limit(even, s, sympy.oo), sympy.limit(odd, s, sympy.oo)])
    yield identity("limits", ends, Matrix([claim.limit, claim.limit]), scope="d to infinity")
