"""Results of this project: the lower bound of every Gaussian mechanism, and the two ellipses that attain it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import combinations, permutations
from math import isqrt
from random import Random
from typing import NamedTuple

import sympy
from sympy import Matrix, Symbol, sqrt

from dpverdict.mechanisms.queries.count_ellipse import eigenvalues, largest_optimal_k, shared_noise_variances
from dpverdict.mechanisms.queries.vote_ellipse import vote_eigenvalues, vote_optimum
from dpverdict.numerics.exact import Surd
from dpverdict.proofs.checks.boxes import rounds_to
from dpverdict.proofs.checks.identities import Expr, identity, positive
from dpverdict.proofs.checks.optima import Duality
from dpverdict.proofs.checks.outcome import Findings
from dpverdict.proofs.checks.statement import Formula, Plant, result
from dpverdict.proofs.checks.vertices import binary_records, every, form_of, shared_noise_covariance
from dpverdict.proofs.lebeda2024.notation import d
from dpverdict.proofs.new_results.lebeda2024.mutants_special import not_beyond
from dpverdict.proofs.new_results.lebeda2024.notation import surd_form


class TraceBound(NamedTuple):
    """<A, B>^2/<B, B> as a formula of <A, B> and <B, B>; the eigenvalues of E[x x^T] and F, of (d, m1, m2)."""

    cauchy_schwarz: Formula
    along: Formula
    across: Formula
    squares: Callable[[Fraction, Fraction, Fraction], tuple[Fraction, Fraction]]


MORE = Fraction(101, 100)
BOUND = TraceBound(
    lambda ab, bb: ab**2 / bb,
    lambda d, m1, m2: m2 / d,
    lambda d, m1, m2: (m1 - m2 / d) / (d - 1),
    lambda d, m1, m2: (m2 / d, (d - 1) * (m1 - m2 / d)),
)


@result(
    number="leb.new.lowerbound",
    text="For every law of admissible records with M = E[x x^T] and every 1-GDP covariance S, tr S >= (tr M^(1/2))^2; "
    "for layers with moments m1, m2 of the number of ones, OPT >= F(m1, m2)/d.",
    formula=r"\mathrm{tr}\,S \geq (\mathrm{tr}\,M^{1/2})^2,\quad F = \left(\sqrt{m_2/d} + \sqrt{(d-1)(m_1 - "
    r"m_2/d)}\right)^2",
    printed=BOUND,
    confirms={"dense laws": "all-ones line", "no private covariance is below": "Cauchy-Schwarz"},
    planted=(
        Plant("Cauchy-Schwarz", "2 for 1", BOUND._replace(cauchy_schwarz=lambda ab, bb: 2 * ab**2 / bb)),
        Plant("all-ones line", "m1 for m2", BOUND._replace(along=lambda d, m1, m2: m1 / d)),
        Plant("complement", "d for d - 1", BOUND._replace(across=lambda d, m1, m2: (m1 - m2 / d) / d)),
        Plant("square roots", "d for d - 1", BOUND._replace(squares=lambda d, m1, m2: (m2 / d, d * (m1 - m2 / d)))),
        Plant("dense laws", "m1 for m2", BOUND._replace(along=lambda d, m1, m2: m1 / d)),
        Plant(
            "no private covariance is below",
            "9 times",
            BOUND._replace(squares=lambda d, m1, m2: (9 * m2 / d, 9 * (d - 1) * (m1 - m2 / d))),
        ),
        Plant(
            "no private covariance is below",
            "1 % more",
            BOUND._replace(squares=lambda d, m1, m2: (MORE * m2 / d, MORE * (d - 1) * (m1 - m2 / d))),
        ),
    ),
)
def lower_bound(claim: TraceBound) -> Findings:
    """Feasibility gives tr(S^-1 M) <= 1; A = S^(1/2) and B = S^(-1/2) M^(1/2) have <A, B> = tr M^(1/2).

    <A, A> - <A, B>^2/<B, B> is the squared length of A - (<A, B>/<B, B>) B, whatever the dimension. With E x_i^2 =
    m1/d and E x_i x_k = (m2 - m1)/(d (d - 1)), M has m2/d along the all-ones line, (m1 - m2/d)/(d - 1) across.
    """
    aa, ab, bb = sympy.symbols("aa ab bb", positive=True)
    length = aa - 2 * (ab / bb) * ab + (ab / bb) ** 2 * bb
    yield identity("Cauchy-Schwarz", aa - claim.cauchy_schwarz(ab, bb), length, scope="every dimension, S > 0 and law")
    m1, m2 = sympy.symbols("m1 m2", positive=True)
    own, mixed = m1 / d, (m2 - m1) / (d * (d - 1))
    yield identity("all-ones line", own + (d - 1) * mixed, claim.along(d, m1, m2), scope="all d >= 2, all laws")
    yield identity("complement", own - mixed, claim.across(d, m1, m2), scope="all d >= 2, all laws")
    yield identity(
        "square roots",
        Matrix([claim.along(d, m1, m2), (d - 1) ** 2 * claim.across(d, m1, m2)]),
        Matrix(claim.squares(d, m1, m2)),
        scope="all d >= 2, all laws",
    )
    layers = [(dim, j) for dim in range(2, 7) for j in range(1, dim + 1)]
    yield every(
        "dense laws",
        layers,
        lambda case: _dense_law(*case) == (claim.along(*_law(*case)), claim.across(*_law(*case))),
        over="d, k: layers, by enumeration",
        cases=20,
        show=lambda case: f"d = {case[0]}, layer {case[1]}",
    )
    yield every(
        "no private covariance is below",
        [*((dim, j, seed) for dim in range(2, 5) for j in range(1, dim + 1) for seed in range(5)), *RATIONAL_OPTIMA],
        lambda case: _above(case, claim),
        over="d, k, seed: random rational covariances, scaled to be private; the Count ellipse for seed -1",
        cases=48,
        show=lambda case: f"d = {case[0]}, layer {case[1]}, draw {case[2]}",
    )


def _law(dim: int, j: int) -> tuple[Fraction, Fraction, Fraction]:
    return Fraction(dim), Fraction(j), Fraction(j * j)


def _dense_law(dim: int, j: int) -> tuple[Fraction, Fraction]:
    records = [[int(i in chosen) for i in range(dim)] for chosen in combinations(range(dim), j)]
    own = Fraction(sum(x[0] * x[0] for x in records), len(records))
    mixed = Fraction(sum(x[0] * x[1] for x in records), len(records))
    return own + (dim - 1) * mixed, own - mixed


RATIONAL_OPTIMA = ((2, 1, -1), (4, 1, -1), (4, 3, -1))
"""d and k of Count ellipses with rational eigenvalues, which attain the bound on records with at most k ones."""


def _covariance(dim: int, j: int, seed: int) -> list[list[Fraction]]:
    if seed < 0:
        vz, ve = shared_noise_variances(dim, j, lambda m: Fraction(isqrt(m)))
        return shared_noise_covariance(dim, vz, ve, None)
    rng = Random(seed)
    root = [[Fraction(rng.randint(-4, 4)) + (9 if i == k else 0) for k in range(dim)] for i in range(dim)]
    return [[sum((root[i][m] * root[k][m] for m in range(dim)), Fraction(0)) for k in range(dim)] for i in range(dim)]


def _above(case: tuple[int, int, int], claim: TraceBound) -> bool:
    """tr S >= (sqrt a + sqrt b)^2, decided as tr S - a - b >= 0 and its square >= 4 a b."""
    dim, j, seed = case
    matrix = _covariance(*case)
    form = form_of(matrix)
    size = max(form(record) for record in binary_records(dim, j if seed < 0 else None))
    a, b = claim.squares(*_law(dim, j))
    rest = size * sum(matrix[i][i] for i in range(dim)) - a - b
    return bool(rest >= 0 and rest * rest >= 4 * a * b)


class CountEllipse(NamedTuple):
    """Eigenvalues and variance of a query, of (d, k, root)."""

    eigenvalues: Formula
    variance: Formula


COUNT = CountEllipse(eigenvalues, lambda d, k, root: (k + root((d - 1) * k * (d - k))) ** 2 / d**2)


@result(
    number="leb.new.jy24.count",
    text="Count ellipse: a1^2 = k (k + R)/d, a2^2 = R (k + R)/(d (d - 1)), h(d, k) = (k + R)^2/d^2, R = sqrt((d-1) k "
    "(d-k)); it is tight on the records with k ones, and its trace is the lower bound F(k, k^2).",
    formula=r"h(d, k) = \frac{(k + R)^2}{d^2},\quad R = \sqrt{(d-1)\,k\,(d-k)}",
    printed=COUNT,
    needs=("leb.new.lowerbound",),
    confirms={"dense matrices": "tight at k ones"},
    planted=(
        Plant(
            "tight at k ones", "swapped", COUNT._replace(eigenvalues=lambda d, k, root: eigenvalues(d, k, root)[::-1])
        ),
        Plant("trace", "d^2 - 1", COUNT._replace(variance=lambda d, k, root: COUNT.variance(d, k, root) + 1 / d)),
        Plant(
            "equal to the bound", "twice", COUNT._replace(variance=lambda d, k, root: 2 * COUNT.variance(d, k, root))
        ),
        Plant(
            "dense matrices", "swapped", COUNT._replace(eigenvalues=lambda d, k, root: eigenvalues(d, k, root)[::-1])
        ),
    ),
)
def count_ellipse(claim: CountEllipse) -> Findings:
    """Minimise 1/u + (d-1)/w under u p + w q = 1, p = k^2/d, q = k (d-k)/d: (sqrt p + sqrt((d-1) q))^2."""
    k = Symbol("k", positive=True)
    along, across = claim.eigenvalues(d, k, sqrt)
    tight = k**2 / d / along + k * (d - k) / d / across
    yield identity("tight at k ones", tight, k / k, scope="all d, k")
    yield identity("trace", along + (d - 1) * across, d * claim.variance(d, k, sqrt), scope="all d, k")
    a, b = k**2 / d, (d - 1) * (k - k**2 / d)
    square = a + b + 2 * k * sqrt((d - 1) * k * (d - k)) / d  # 2 sqrt(a b)
    yield identity("equal to the bound", d * claim.variance(d, k, sqrt), square, scope="all d, k")

    def dense(case: tuple[int, int]) -> bool:
        one, other = claim.eigenvalues(*case, Surd.root)
        form = surd_form(shared_noise_covariance(case[0], other, (one - other) / case[0], None))
        return (
            all(form(x) <= 1 for x in binary_records(case[0], case[1]))
            and form([1] * case[1] + [0] * (case[0] - case[1])) == 1
        )

    cases = [(dim, m) for dim in range(2, 7) for m in range(1, largest_optimal_k(dim) + 1) if m < dim]
    yield every("dense matrices", cases, dense, over="d, k: records, k <= khat, in Q(R)", cases=13)


class Votes(NamedTuple):
    """Eigenvalues of (d, root), variance of a query of (d, root), root = sqrt((d + 1)/3), and values at d = 2..5."""

    eigenvalues: Formula
    variance: Formula
    numbers: Mapping[int, str]


VOTES = Votes(
    vote_eigenvalues,
    lambda d, root: (d - 1) ** 2 * (1 + root) ** 2 / 4,
    {2: "1", 3: "4.64273", 4: "11.80948", 5: "23.31371"},
)


@result(
    number="leb.new.jy24.vote",
    text="Vote ellipse: the variance of a query is (d-1)^2 (1/2 + sqrt((d+1)/12))^2, every permutation attains 1, and "
    "no Gaussian mechanism has less; 1, 4.64273, 11.80948, 23.31371 for d = 2..5.",
    formula=r"(d-1)^2\left(\frac{1}{2} + \sqrt{\frac{d+1}{12}}\right)^2",
    printed=VOTES,
    needs=("leb.new.lowerbound",),
    confirms={"dense matrices": "every permutation attains 1", "primal and dual": "equal to the bound"},
    planted=(
        Plant(
            "every permutation attains 1",
            "swapped",
            VOTES._replace(eigenvalues=lambda d, r: vote_eigenvalues(d, r)[::-1]),
        ),
        Plant("trace", "d^2", VOTES._replace(variance=lambda d, root: d**2 * (1 + root) ** 2 / 4)),
        Plant("equal to the bound", "d^2", VOTES._replace(variance=lambda d, root: d**2 * (1 + root) ** 2 / 4)),
        *(
            Plant(f"value at d = {dim}", "last digit", VOTES._replace(numbers={**VOTES.numbers, dim: "4.64274"}))
            for dim in VOTES.numbers
        ),
        Plant("primal and dual", "swapped", VOTES._replace(eigenvalues=lambda d, r: vote_eigenvalues(d, r)[::-1])),
        Plant(
            "primal and dual",
            "1.01 of it",
            VOTES._replace(variance=lambda d, root: VOTES.variance(d, root) * Fraction(101, 100)),
        ),
        Plant("dense matrices", "swapped", VOTES._replace(eigenvalues=lambda d, r: vote_eigenvalues(d, r)[::-1])),
    ),
)
def vote_ellipse(claim: Votes) -> Findings:
    """One orbit: (sum x)^2/d = d (d-1)^2/4 along, d (d^2-1)/12 across; rational in root, d = 3 root^2 - 1."""
    root = Symbol("rho", positive=True)
    dim = 3 * root**2 - 1
    along, across = claim.eigenvalues(dim, root)
    one, other = dim * (dim - 1) ** 2 / 4, dim * (dim**2 - 1) / 12
    yield identity("every permutation attains 1", one / along + other / across, root / root, scope="all d >= 2")
    yield identity("trace", along + (dim - 1) * across, dim * claim.variance(dim, root), scope="all d >= 2")
    cross = dim * claim.variance(dim, root) - one - (dim - 1) * other  # tr S - a - b, its square is 4 a b
    yield identity("equal to the bound", cross**2, 4 * one * (dim - 1) * other, scope="all d >= 2")
    for size, printed in claim.numbers.items():
        exact = Surd(Fraction(0), Fraction(1, 3), 3 * (size + 1))
        value: Surd = Fraction((size - 1) ** 2, 4) * (1 + exact) * (1 + exact)
        yield rounds_to(f"value at d = {size}", value.real(), printed, scope=f"d = {size}")

    def exactly(size: int) -> tuple[Surd, Surd]:
        one, other = claim.eigenvalues(size, Surd(Fraction(0), Fraction(1, 3), 3 * (size + 1)))
        return Surd.of(one), Surd.of(other)

    def optimal(size: int) -> bool:
        total = size * claim.variance(size, Surd(Fraction(0), Fraction(1, 3), 3 * (size + 1)))
        lengths = Fraction(size * (size - 1) ** 2, 4), Fraction(size * (size * size - 1), 12)
        points = Duality(
            weights=(1, size - 1),
            constraints={"a permutation": lengths},
            primal=exactly(size),
            dual=exactly(size),
            multipliers={"a permutation": total},
        )
        return bool(points.least() == total)

    yield every(
        "primal and dual",
        range(2, 15),
        optimal,
        over="d: the line and its complement, the uniform law, exactly",
        cases=13,
    )

    def dense(size: int) -> bool:
        one, other = exactly(size)
        form = surd_form(shared_noise_covariance(size, other, (one - other) / size, None))
        return (one, other) == vote_optimum(size) and all(form(x) == 1 for x in permutations(range(size)))

    yield every("dense matrices", range(2, 7), dense, over="d: permutations, in Q(sqrt(3(d+1)))", cases=5)


class Range(NamedTuple):
    """The distance from which on d - s^2 makes layer k private, s = 2k - 1 - d; and khat(d)."""

    least: int
    last: Callable[[int], int]


RANGE = Range(3, largest_optimal_k)


def lower_bracket(c: Expr, square: Expr, t: Expr) -> Expr:
    """c (c-1) - (2-c) t (t+1), the square of t given on its own."""
    return c * (c - 1) - (2 - c) * (square + t)


@result(
    number="leb.new.jy24.range",
    text="The Count ellipse is 1-GDP for records with at most k ones, and then optimal, iff k <= khat(d), the integer "
    "nearest (d + sqrt d)/2 (rounded down for d = s^2 + 1 and s^2 - 1).",
    formula=r"g(k-1) \leq 1\ \Leftrightarrow\ 2k - 1 \leq d\ \ \mathrm{or}\ \ (2k-1-d)^2 \leq d - 3",
    printed=RANGE,
    needs=("leb.new.jy24.count",),
    named=("parity",),
    confirms={"khat": "private from there on", "every k": "factorisation"},
    planted=(
        Plant("one layer below", "s + 1 for s", RANGE._replace(least=5)),
        Plant("factorisation", "s + 1 for s", RANGE._replace(least=5)),
        Plant("private from there on", "-1 for 3", RANGE._replace(least=-1)),
        Plant("not private before", "5 for 3", RANGE._replace(least=5)),
        Plant("parity", "2 for 3", RANGE._replace(least=2)),
        Plant("khat", "khat + 1", RANGE._replace(last=lambda dim: largest_optimal_k(dim) + 1)),
        Plant("every k", "khat - 1", RANGE._replace(last=lambda dim: largest_optimal_k(dim) - 1)),
    ),
)
def count_range(claim: Range) -> Findings:
    """g is concave and g(k) = 1, so g <= 1 on 0..k iff g(k-1) <= 1: sqrt(d-k) (2k-1) >= sqrt((d-1) k) s.

    With d = s^2 + c, s = 2k - 1 - d >= 1, the difference of the squares is (d/2) [c (c-1) - (2-c) s (s+1)]. c is odd.
    For c >= 3 it is positive; for c = 1 - a, a >= 0, s^2 = a + b, b >= 0 (as d >= 1), it is negative. So g(k-1) <= 1
    iff s <= 0 or s^2 <= d - 3, and khat is the last such k. Optimal, since its trace is then the lower bound.
    """
    shift = claim.least - 3  # 0 as stated: the fault moves the layers that are compared
    k, u, w, t, c = sympy.symbols("k u w t c", positive=True)
    below = (u * (k**2 - (k - 1) ** 2) + w * (k * (d - k) - (k - 1) * (d - k + 1))) / d
    yield identity(
        "one layer below", below * d, u * (2 * k - 1) - w * (2 * k - 1 - d + shift), scope="all d, k, all u, w > 0"
    )
    dim = t**2 + c
    layer = (dim + t + 1) / 2
    sides = (dim - layer) * (2 * layer - 1) ** 2 - (dim - 1) * layer * t**2
    bracket = lower_bracket(c, t**2, t)
    yield identity("factorisation", sides, dim / 2 * bracket + shift, scope="all d, k with 2k - 1 > d")
    yield positive("private from there on", bracket, {c: claim.least, t: 1}, scope="all d, k with s >= 1, d - s^2 >= 3")
    a, b = sympy.symbols("a b", nonnegative=True)
    last = claim.least - 2  # the odd number before it
    negative = -lower_bracket(last - a, a + b - last + 1, t)
    yield positive(
        "not private before", sympy.expand(negative), {a: 0, b: 0, t: 1}, scope="all d, k with s >= 1, d - s^2 <= 1"
    )
    yield every(
        "parity",
        [(size, m) for size in range(2) for m in range(2)],
        lambda case: (case[0] - (2 * case[1] - 1 - case[0]) ** 2 - claim.least) % 2 == 0,
        over="residues of (d, k), with symbols for what is left",
        cases=4,
    )
    yield every(
        "khat",
        range(2, 20_001),
        lambda size: not_beyond(size, claim.last(size)) and not not_beyond(size, claim.last(size) + 1),
        over="d: the last private k",
        cases=19999,
        show=lambda size: f"d = {size}",
    )
    yield every(
        "every k",
        [(size, m) for size in range(2, 201) for m in range(1, size + 1)],
        lambda case: not_beyond(*case) == (case[1] <= claim.last(case[0])),
        over="d, k",
        cases=20099,
        show=lambda case: f"(d, k) = {case}",
    )
