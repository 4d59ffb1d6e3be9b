"""Lebeda 2024, section 3: Figure 1, Algorithm 1 with its error, its embedding and its privacy, and floating point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import sympy
from flint import arb, arb_mat
from sympy import Integer, Matrix, Rational, eye, sqrt, symbols

from dpverdict.balls import precision
from dpverdict.mechanisms.core.calibration import family_variances
from dpverdict.mechanisms.queries.correlated import (
    CorrelatedGaussian,
    from_embedding,
    pulled_back_covariance,
    to_embedding,
)
from dpverdict.proofs.checks.identities import Expr, identity, nonnegative, positive
from dpverdict.proofs.checks.outcome import Finding, Findings, Method, Standing, StatementKind
from dpverdict.proofs.checks.statement import Formula, Plant, Reading, statement
from dpverdict.proofs.checks.vertices import binary_records, every, form_of, shared_noise_covariance
from dpverdict.proofs.lebeda2024.float_leaks import (
    SAMPLES,
    SEED,
    count_noise,
    embedded_noise,
    embedded_shift,
    more_often,
    never_on_one_record,
)
from dpverdict.proofs.lebeda2024.notation import PAPER, C, at_vertex, d, e, mu, no_record_exceeds, r, released, x

f, n = symbols("f n", real=True)


@statement(
    paper=PAPER,
    number="fig1",
    kind=StatementKind.FIGURE,
    expected=Standing.HOLDS_ON_RANGE,
    text="There are 2^d possible values for f(X') that touch the hypersphere under replacement, but only 2 such "
    "values under add/remove for any d.",
    formula=r"\#\{v : \|v\|^2 = d\} = 2^d\ \ \mathrm{and}\ \ 2",
    printed=(lambda dim: 2**dim, lambda dim: 2),
    planted=(
        Plant("under replacement", "2 d", (lambda dim: 2 * dim, lambda dim: 2)),
        Plant("under add/remove", "1", (lambda dim: 2**dim, lambda dim: 1)),
    ),
)
def figure_1(claim: tuple[Formula, Formula]) -> Findings:
    """Differences of norm sqrt d: all signs under replacement, all ones and all minus ones under add/remove."""
    replaced, once = claim

    def touching(dim: int) -> list[int]:
        records = list(binary_records(dim))
        differences = {tuple(a - b for a, b in zip(p, q, strict=True)) for p in records for q in records}
        steps = {tuple(sign * v for v in record) for record in records for sign in (1, -1)}
        return [sum(1 for v in values if sum(c * c for c in v) == dim) for values in (differences, steps)]

    yield every(
        "under replacement",
        range(1, 7),
        lambda dim: touching(dim)[0] == replaced(dim),
        over="d",
        argued="a coordinate of a difference is at most 1, so all must be +-1",
        cases=6,
    )
    yield every(
        "under add/remove",
        range(1, 7),
        lambda dim: touching(dim)[1] == once(dim),
        over="d",
        argued="a coordinate of a difference is at most 1, so all must be +-1",
        cases=6,
    )


class Picture(NamedTuple):
    """The squared radius of the orange circle by d, and the variances of the two noises at mu = 1."""

    squared_radius: Formula
    independent: Expr
    shared: Expr


PICTURE = Picture(lambda dim: dim / 4, (2 + sqrt(2)) / 4, (1 + sqrt(2)) / 4)


@statement(
    paper=PAPER,
    number="fig1.ellipse",
    kind=StatementKind.FIGURE,
    expected=Standing.HOLDS,
    text="The orange circle with radius sqrt(2)/2 centered at f(X) + (0.5, 0.5) contains the box. The resulting noise "
    "is elliptical and contains the sensitivity space under add/remove.",
    formula=r"\|x - \frac{1}{2}\mathbf{1}\|^2 \leq \frac{d}{4},\qquad x^T \Sigma^{-1} x \leq 1",
    printed=PICTURE,
    planted=(
        Plant("the circle contains the box", "d/5", PICTURE._replace(squared_radius=lambda dim: dim / 5)),
        Plant("its radius for d = 2", "d/2", PICTURE._replace(squared_radius=lambda dim: dim / 2)),
        Plant("the ellipse contains the box", "eta of sqrt(2)/4", PICTURE._replace(shared=sqrt(2) / 4)),
        Plant("the ellipse contains the box", "z of 3/4", PICTURE._replace(independent=Rational(3, 4))),
        Plant("the noise is no circle", "no eta", PICTURE._replace(shared=Integer(0))),
    ),
    named=("its radius for d = 2",),
)
def figure_1_ellipse(claim: Picture) -> Findings:
    """A coordinate of the box is 1/(1 + t), t >= 0: that of 0 is the limit, and both bounds are continuous. The box of
    the removed record is minus this one, and the ellipse is symmetric. d coordinates add up to the radius."""
    a, b = symbols("a b", nonnegative=True)
    along = 1 / (1 + a)
    yield nonnegative(
        "the circle contains the box",
        claim.squared_radius(d) / d - (along - Rational(1, 2)) ** 2,
        {a: 0},
        scope="all d, each coordinate x = 1/(1 + a)",
    )
    yield identity("its radius for d = 2", claim.squared_radius(Integer(2)), (sqrt(2) / 2) ** 2, scope="d = 2")
    covariance = claim.independent * eye(2) + claim.shared * sympy.ones(2, 2)
    point = Matrix([along, 1 / (1 + b)])
    form = sympy.radsimp(sympy.together((point.T * covariance.inv() * point)[0]))
    yield nonnegative("the ellipse contains the box", 1 - form, {a: 0, b: 0}, scope="d = 2, x = (1/(1 + a), 1/(1 + b))")
    longer = (Matrix([[1, 1]]) * covariance * Matrix([1, 1]))[0] - (Matrix([[1, -1]]) * covariance * Matrix([1, -1]))[0]
    yield positive("the noise is no circle", longer + 0 * a, {a: 0}, scope="the diagonal less the other one, d = 2")


@statement(
    paper=PAPER,
    number="lem3.1",
    kind=StatementKind.LEMMA,
    expected=Standing.HOLDS,
    text="Algorithm 1 estimates each query with error distributed as N(0, (d + 2 sqrt d + 1)/(4 mu^2)).",
    formula=r"v_z + v_\eta = \frac{d + 2\sqrt{d} + 1}{4\mu^2} = \left(\frac{\sqrt{d} + 1}{2\mu}\right)^2",
    printed=lambda d, mu: (d + 2 * sqrt(d) + 1) / (4 * mu**2),
    planted=(
        Plant("variance of a query", "4 mu for 4 mu^2", lambda d, mu: (d + 2 * sqrt(d) + 1) / (4 * mu)),
        Plant("squared standard deviation", "sqrt d for 2 sqrt d", lambda d, mu: (d + sqrt(d) + 1) / (4 * mu**2)),
    ),
)
def lemma_3_1(variance: Formula) -> Findings:
    """The error of a query is eta + z_i, of variance vz + ve, and its standard deviation is (sqrt d + 1)/(2 mu)."""
    vz, ve = family_variances(d, sqrt(d), mu)
    yield identity("variance of a query", vz + ve, variance(d, mu))
    yield identity("squared standard deviation", variance(d, mu), ((sqrt(d) + 1) / (2 * mu)) ** 2)


@statement(
    paper=PAPER,
    number="lem3.2",
    kind=StatementKind.LEMMA,
    expected=Standing.HOLDS,
    text="The l2 sensitivity of g is Delta g = sqrt(d + C^2).",
    formula=r"d + C^2 - \|\hat{x}\|^2 = 4\,\sum_i x_i (1 - x_i) \geq 0",
    printed=lambda d, C: d + C**2,
    planted=(
        Plant("defect of a record", "d + C", lambda d, C: d + C),
        Plant("at least every norm", "d - 1 + C^2", lambda d, C: d - 1 + C**2),
    ),
)
def lemma_3_2(square: Formula) -> Findings:
    """A coordinate 2x - 1 has the square 1 - 4x(1-x), and the last one is C: d + C^2 - |x^|^2 = 4 e, 0 iff x is
    binary."""
    coordinate, last = to_embedding(x, Integer(1), C)
    constant = sympy.expand(coordinate**2 + 4 * x * (1 - x))  # 1, so the squares add up to d - 4 e
    norm = d * constant - 4 * e + last**2
    yield identity("defect of a record", square(d, C) - norm, 4 * e, scope="all d, C > 0, all x in [0,1]^d")
    slack = square(r**2, C) - norm.subs(d, r**2)
    yield nonnegative("at least every norm", slack, {r: 1, C: 0, e: 0}, scope="all d >= 1, C > 0, all x in [0,1]^d")


@statement(
    paper=PAPER,
    number="lem3.3",
    kind=StatementKind.LEMMA,
    expected=Standing.HOLDS,
    text="The mechanism that outputs g(X) + Z, Z ~ N(0, (d + C^2)/mu^2 I_(d+1)), satisfies mu-GDP.",
    formula=r"\mu_x^2 = \mu^2\left(1 - \frac{4\sum_i x_i(1-x_i)}{d + C^2}\right)",
    printed=lambda d, C, mu: (d + C**2) / mu**2,
    needs=("lem2.1",),
    planted=(
        Plant("no record exceeds mu", "d/mu^2", lambda d, C, mu: d / mu**2),
        Plant("every binary record attains mu", "2 d + C^2", lambda d, C, mu: (2 * d + C**2) / mu**2),
    ),
    assumptions=("Lemma 2.1",),
)
def lemma_3_3(variance: Formula) -> Findings:
    """mu_x^2 = |x^|^2/sigma^2 with |x^|^2 = d + C^2 - 4 e."""
    form = (d + C**2 - 4 * e) / variance(d, C, mu)
    slack = sympy.cancel((1 - form / mu**2).subs(d, r**2))
    yield nonnegative("no record exceeds mu", slack, {r: 1, C: 0, e: 0}, scope="all d >= 1, C > 0, mu > 0, all x")
    yield identity("every binary record attains mu", form.subs(e, 0), mu**2)


@statement(
    paper=PAPER,
    number="sec3.recover",
    kind=StatementKind.TEXT,
    expected=Standing.FAILS_AS_PRINTED,
    text="Notice that f(X)_i = (g(X)_i - g(X)_(d+1)/C)/2.",
    formula=r"f(X)_i = \left(g(X)_i + g(X)_{d+1}/C\right)/2",
    printed=lambda g, last, C: (g - last / C) / 2,
    corrected=Reading(
        "f(X)_i = (g(X)_i + g(X)_(d+1)/C)/2, as in the proof of Lemma 3.4",
        h_inverse_query := (lambda g, last, C: from_embedding(g, last, C)[0]),
    ),
    planted=(Plant("recovers the query", "without the division by C", lambda g, last, C: (g + last) / 2),),
)
def recover(formula: Formula) -> Findings:
    """g_i = 2 f_i - n and g_(d+1) = C n: the count must be added back, not subtracted."""
    yield identity("recovers the query", formula(*to_embedding(f, n, C), C), f)


f, n = symbols("f n", real=True)


class Bijection(NamedTuple):
    """The dimension of the domain of h, its map of (f, n), and its determinant."""

    domain: Formula
    map: Formula
    determinant: Formula


H = Bijection(lambda d: d + 1, to_embedding, lambda d, c: 2**d * c)


def released_by(dim: int) -> int:
    """How many numbers Algorithm 1 releases."""
    return CorrelatedGaussian(dim=dim, mu=1).release(np.zeros((2, dim)), np.random.default_rng(SEED)).size


def takes_releases(domain: Formula) -> Finding:
    """The dimension of the domain of h is the number of outputs of Algorithm 1, whatever the data."""
    return every(
        "h takes what Algorithm 1 releases",
        range(1, 10),
        lambda dim: domain(dim) == released_by(dim),
        over="d: the numbers in a release of `CorrelatedGaussian`, d queries and the count",
        cases=9,
        show=lambda dim: f"d = {dim}: a release has {released_by(dim)} coordinates, the domain {domain(dim)}",
    )


def bijection(claim: Bijection) -> Findings:
    """h(f, n) = (2f - n 1, C n): two queries i != k and the count show every entry of the pattern, for every d.

    The determinant is that of a triangular matrix. The domain is what Algorithm 1 releases: its releases are counted.
    """
    a, b = symbols("f_i f_k", real=True)
    images = [claim.map(a, n, C)[0], claim.map(b, n, C)[0], claim.map(a, n, C)[1]]
    matrix = Matrix(images).jacobian([a, b, n])
    vz, ve = family_variances(d, C**2, mu)
    covariance = Matrix([[vz + ve, ve, 2 * ve], [ve, vz + ve, 2 * ve], [2 * ve, 2 * ve, 4 * ve]])
    every_d = "all d >= 1, C > 0, mu > 0"
    yield identity("means agree", Matrix(claim.map(x, Integer(1), C)), Matrix([2 * x - 1, C]), scope=every_d)
    law = matrix * covariance * matrix.T
    yield identity("covariances agree", law, (d + C**2) / mu**2 * eye(3), scope=every_d)
    g, last = claim.map(f, n, C)
    back = from_embedding(g, last, C)
    yield identity("h has an inverse", Matrix(back), Matrix([f, n]), scope=every_d)
    yield identity(
        "determinant",
        Matrix([_determinant(claim.map, k) for k in range(1, 6)]),
        Matrix([claim.determinant(k, C) for k in range(1, 6)]),
        scope="d = 1..5",
        cases=5,
        argued="triangular for all d",
    )
    yield takes_releases(claim.domain)


@statement(
    paper=PAPER,
    number="lem3.4",
    kind=StatementKind.LEMMA,
    expected=Standing.FAILS_AS_PRINTED,
    text="Let M denote Algorithm 1 and M' the mechanism of Lemma 3.3 with C = d^(1/4). There exists a bijection "
    "h: R^d -> R^(d+1) such that h(M(X)) is distributed as M'(X) and h^-1(M'(X)) as M(X).",
    formula=r"h(f, n) = (2f - n\mathbf{1},\ d^{1/4} n),\quad \det h = 2^d d^{1/4}",
    printed=H._replace(domain=lambda d: d),
    corrected=Reading("h: R^(d+1) -> R^(d+1), for every C > 0; in its proof g(X) + 2 z_i reads g(X)_i + 2 z_i", H),
    confirms={"h takes what Algorithm 1 releases": "h has an inverse"},
    needs=("lem3.3",),
    planted=(
        Plant("means agree", "2f + n", H._replace(map=lambda f, n, c: (2 * f + n, c * n))),
        Plant("covariances agree", "C^2 n", H._replace(map=lambda f, n, c: (2 * f - n, c * c * n))),
        Plant("h has an inverse", "n forgotten", H._replace(map=lambda f, n, c: (2 * f - n, 0 * n))),
        Plant("determinant", "2^(d+1) C", H._replace(determinant=lambda d, c: 2 ** (d + 1) * c)),
        Plant("h takes what Algorithm 1 releases", "R^(d+2)", H._replace(domain=lambda d: d + 2)),
    ),
)
def lemma_3_4(claim: Bijection) -> Findings:
    """Algorithm 1 is h^-1 of the standard Gaussian mechanism in R^(d+1): means, covariances, inverse, dimensions."""
    yield from bijection(claim)


def _determinant(image: Formula, dim: int) -> Expr:
    """The determinant of (f, n) -> image(f, n) on R^(dim + 1)."""
    queries = symbols(f"f_1:{dim + 1}", real=True)
    images = [image(query, n, C)[0] for query in queries] + [image(queries[0], n, C)[1]]
    return Matrix(images).jacobian([*queries, n]).det()


class Algorithm1(NamedTuple):
    """vz and ve at mu and d, the loading of the count, and the standard deviation of a query."""

    independent: Formula
    shared: Formula
    loading: int
    deviation: Formula


THEOREM = Algorithm1(
    lambda d, mu: (d + sqrt(d)) / (4 * mu**2),
    lambda d, mu: (sqrt(d) + 1) / (4 * mu**2),
    2,
    lambda d, mu: (sqrt(d) + 1) / (2 * mu),
)


@statement(
    paper=PAPER,
    number="thm3.1",
    kind=StatementKind.THEOREM,
    expected=Standing.HOLDS,
    text="The mechanism that outputs f(X) + eta 1 + Z and n + 2 eta, eta ~ N(0, (sqrt d + 1)/(4 mu^2)), Z ~ N(0, (d + "
    "sqrt d)/(4 mu^2) I), satisfies mu-GDP under add/remove; the error of each query has standard deviation (sqrt d + "
    "1)/(2 mu).",
    formula=r"\mu_x^2 = \mu^2\left(1 - \frac{4\sum_i x_i(1-x_i)}{d + \sqrt{d}}\right)",
    printed=THEOREM,
    needs=(
        "fact.gauss",
        "fact.vertices",
    ),
    confirms={
        "dense algebra agrees": "every binary record attains mu",
        "dense balls agree": "every binary record attains mu",
    },
    planted=(
        Plant(
            "every binary record attains mu",
            "ve with 5",
            THEOREM._replace(shared=lambda d, mu: (sqrt(d) + 1) / (5 * mu**2)),
        ),
        Plant("no record exceeds mu", "n + eta", THEOREM._replace(loading=1)),
        Plant("dense algebra agrees", "n + 3 eta", THEOREM._replace(loading=3)),
        Plant("dense balls agree", "vz = d/4", THEOREM._replace(independent=lambda d, mu: d / (4 * mu**2))),
        Plant("standard deviation", "sqrt(d)/(2 mu)", THEOREM._replace(deviation=lambda d, mu: sqrt(d) / (2 * mu))),
    ),
    assumptions=("Gaussian pairs of equal covariance are exactly mu_v-GDP apart (fact.gauss)",),
)
def theorem_3_1(claim: Algorithm1) -> Findings:
    """In symbols for all d, and without the form, by dense linear algebra at all vertices, in rationals and balls."""
    vz, ve = claim.independent(d, mu), claim.shared(d, mu)
    form = released(vz, ve, Integer(claim.loading))
    yield identity("every binary record attains mu", at_vertex(form), mu**2, scope="all d, mu > 0, all binary records")
    yield no_record_exceeds("no record exceeds mu", form, mu**2)
    yield every(
        "dense algebra agrees",
        (1, 4, 9),
        lambda dim: _dense_agrees(claim, dim),
        over="d: binary records, exact rationals",
        cases=3,
        show=lambda dim: f"d = {dim}: some record does not attain 1",
    )
    yield every(
        "dense balls agree",
        (2, 3, 5),
        lambda dim: _balls_agree(claim, dim),
        over="d: binary records, to 30 digits",
        cases=3,
        method=Method.BALLS,
        show=lambda dim: f"d = {dim}: some record does not attain 1",
    )
    yield identity("standard deviation", vz + ve, claim.deviation(d, mu) ** 2)


def _dense_agrees(claim: Algorithm1, dim: int) -> bool:
    vz, ve = (Fraction(str(part(Integer(dim), Integer(1)))) for part in (claim.independent, claim.shared))
    form = form_of(shared_noise_covariance(dim, vz, ve, claim.loading))
    return all(form((*record, 1)) == 1 for record in binary_records(dim))


def _balls_agree(claim: Algorithm1, dim: int) -> bool:
    """v^T S^-1 v encloses 1 to 30 digits at every binary record, by solving the dense system in ball arithmetic."""
    with precision(200):
        vz, ve = (arb(str(part(Integer(dim), Integer(1)).evalf(70))) for part in (claim.independent, claim.shared))
        loads = [1] * dim + [claim.loading]
        entries = [a * b * ve + (vz if i == k < dim else 0) for i, a in enumerate(loads) for k, b in enumerate(loads)]
        covariance = arb_mat(dim + 1, dim + 1, entries)
        for record in binary_records(dim):
            v = arb_mat(dim + 1, 1, [*record, 1])
            if not abs((v.transpose() * covariance.solve(v))[0, 0] - 1) < arb(10) ** -30:
                return False
        return True


ENTRIES: Mapping[str, Formula] = {
    "query": lambda d: (d + 2 * sqrt(d) + 1) / 4,
    "query-query": lambda d: (sqrt(d) + 1) / 4,
    "query-count": lambda d: (sqrt(d) + 1) / 2,
    "count": lambda d: sqrt(d) + 1,
}


@statement(
    paper=PAPER,
    number="cor3.1",
    kind=StatementKind.COROLLARY,
    expected=Standing.HOLDS,
    text="Outputting (f(X), n) + N(0, Sigma/mu^2) satisfies mu-GDP, where Sigma has (d + 2 sqrt d + 1)/4 on the "
    "diagonal, (sqrt d + 1)/4 off it, (sqrt d + 1)/2 against the count, and sqrt d + 1 for the count.",
    formula=r"\Sigma = h^{-1}\,(d + \sqrt{d})\,I\,h^{-T}",
    printed=ENTRIES,
    planted=tuple(
        Plant(name, "plus 1/4", {**ENTRIES, name: (lambda d, name=name: ENTRIES[name](d) + Rational(1, 4))})
        for name in ENTRIES
    ),
)
def corollary_3_1(entries: Mapping[str, Formula]) -> Findings:
    """The covariance of h^-1 of N(0, (d + C^2) I), C^2 = sqrt d, entry by entry."""
    pulled = pulled_back_covariance(d + sqrt(d), sqrt(sqrt(d)))
    for name, formula in entries.items():
        yield identity(name, pulled[name], formula(d))


class FourValues(NamedTuple):
    """The entries of the covariance by their position, and a factor that is 0 where two are equal, by sqrt d."""

    entries: Mapping[str, Formula]
    equal: Formula


FOUR = FourValues(ENTRIES, lambda root: root - 3)


@statement(
    paper=PAPER,
    number="sec3.four",
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS_WITH_CAVEAT,
    text="The entries of the covariance matrix contain one of 4 distinct values depending on (1) whether or not it is "
    "on the diagonal and (2) whether or not it is in the final row or column.",
    formula=r"\mathrm{Var}(\tilde{n}) - \mathrm{Var}(\tilde{x}_i) = (\sqrt{d}+1)(3 - \sqrt{d})/4",
    printed=FOUR,
    caveat=Reading(
        "read as: four different numbers for every d; at d = 9 the count and a query have the same variance, 4/mu^2",
        FOUR._replace(equal=lambda root: root**0),
    ),
    corrected=Reading("four values by position; four different numbers for every d but 1 and 9", FOUR),
    planted=(
        *(
            Plant("one value for each position", f"{name} plus 1/4", FOUR._replace(entries={**ENTRIES, name: entry}))
            for name, entry in (("count", lambda d: sqrt(d) + Rational(5, 4)),)
        ),
        Plant(
            "the count against a query",
            "the query's own",
            FOUR._replace(entries={**ENTRIES, "count": ENTRIES["query"]}),
        ),
        Plant("the others differ", "count/2", FOUR._replace(entries={**ENTRIES, "count": lambda d: (sqrt(d) + 1) / 2})),
    ),
)
def four_values(claim: FourValues) -> Findings:
    """The pattern is that of h^-1 of N(0, (d + C^2) I). In r = sqrt d the count minus a query is (r + 1)(3 - r)/4.

    A query minus its covariance with the count is (r + 1)(r - 1)/4, and the others are 1, 2 and 4 times (r + 1)/4.
    """
    pulled = pulled_back_covariance(d + sqrt(d), sqrt(sqrt(d)))
    names = list(ENTRIES)
    ours = Matrix([pulled[name] for name in names])
    stated = Matrix([claim.entries[name](d) for name in names])
    yield identity("one value for each position", ours, stated, scope="all d, mu = 1")
    query, pair, cross, count = (entry(r**2) for entry in claim.entries.values())
    apart = sympy.cancel(((count - query) / claim.equal(r)) ** 2)
    yield positive("the count against a query", apart, {r: 2}, scope="all d >= 4 but 9, in sqrt d")
    others = Matrix([4 * (query - cross), cross / pair, count / cross])
    wanted = Matrix([(r + 1) * (r - 1), Integer(2), Integer(2)])
    yield identity("the others differ", others, wanted, scope="all d: by (d - 1)/4, and by factors of 2")


class Lines(NamedTuple):
    """Variance of eta (line 1) and of z_i (line 3), and the outputs by f, n, eta and z (lines 4 and 5)."""

    shared: Formula
    independent: Formula
    query: Formula
    count: Formula


LINES = Lines(
    lambda d, mu: (sqrt(d) + 1) / (4 * mu**2),
    lambda d, mu: (d + sqrt(d)) / (4 * mu**2),
    lambda f, eta, z: f + eta + z,
    lambda n, eta: n + 2 * eta,
)


@statement(
    paper=PAPER,
    number="alg1",
    kind=StatementKind.ALGORITHM,
    expected=Standing.HOLDS,
    text="Algorithm 1: sample eta ~ N(0, (sqrt d + 1)/(4 mu^2)); for each i sample z_i ~ N(0, (d + sqrt d)/(4 mu^2)), "
    "let x~_i = f(X)_i + eta + z_i; return x~, n + 2 eta. Output: mu-GDP estimates of f(X) and n under add/remove.",
    formula=r"\tilde{x}_i = f(X)_i + \eta + z_i,\quad \tilde{n} = n + 2\eta",
    printed=LINES,
    needs=("thm3.1",),
    planted=(
        Plant("lines 1, 3, 4, 5: covariances", "n + eta", LINES._replace(count=lambda n, eta: n + eta)),
        Plant("the estimates are unbiased", "n - 1 + 2 eta", LINES._replace(count=lambda n, eta: n - 1 + 2 * eta)),
        Plant(
            "no record exceeds mu",
            "eta of half the variance",
            LINES._replace(shared=lambda d, mu: LINES.shared(d, mu) / 2),
        ),
        Plant(
            "every binary record attains mu",
            "z of variance d/4",
            LINES._replace(independent=lambda d, mu: d / (4 * mu**2)),
        ),
    ),
)
def algorithm_1_lines(claim: Lines) -> Findings:
    """The outputs are linear in eta and z: their means, and the covariances of two queries and the count."""
    f, g, n, eta, z, y = symbols("f g n eta z y", real=True)
    outputs = Matrix([claim.query(f, eta, z), claim.query(g, eta, y), claim.count(n, eta)])
    means = outputs.subs({eta: 0, z: 0, y: 0})
    yield identity("the estimates are unbiased", means, Matrix([f, g, n]), scope="all f(X), n")
    jacobian = outputs.jacobian([eta, z, y])
    own = claim.independent(d, mu)
    covariance = jacobian * sympy.diag(claim.shared(d, mu), own, own) * jacobian.T
    query, pair, cross, count = (entry(d) / mu**2 for entry in ENTRIES.values())
    wanted = Matrix([[query, pair, cross], [pair, query, cross], [cross, cross, count]])
    yield identity("lines 1, 3, 4, 5: covariances", covariance, wanted, scope="all d, mu > 0, any two queries")
    form = released(own, claim.shared(d, mu), sympy.diff(claim.count(n, eta), eta))
    yield no_record_exceeds("no record exceeds mu", form, mu**2)
    yield identity("every binary record attains mu", at_vertex(form), mu**2, scope="all d, mu > 0, all binary records")


class Leak(NamedTuple):
    """Outputs near 0 on one record are multiples of 2^-bits; how often they are not on none, by Algorithm 1's count and
    by Lemma 3.3's release; 0 for the latter stands for never."""

    bits: int
    algorithm_1: float
    lemma_3_3: float


LEAK = Leak(53, 0.1, 0.05)


@statement(
    paper=PAPER,
    number="note.float",
    kind=StatementKind.REMARK,
    expected=Standing.HOLDS_WITH_CAVEAT,
    text="Naive implementations in floating point can break the formal guarantees, likely also Line 4 of Algorithm 1 "
    "with its two noise samples; implementing the version of Lemma 3.3 might be preferred.",
    formula=r"P_{n=1}(E) = 0 < P_{n=0}(E),\quad E = \{|\tilde{n}| < 1/2,\ 2^{53}\tilde{n} \notin \mathbb{Z}\}",
    printed=LEAK,
    caveat=Reading("read as: the version of Lemma 3.3 does not leak in float64", LEAK._replace(lemma_3_3=0)),
    corrected=Reading("both versions leak in float64; integers with discrete noise do not", LEAK),
    named=(
        "no such output on one record, Algorithm 1",
        "such outputs on no record, Algorithm 1",
        "no such output on one record, Lemma 3.3",
        "such outputs on no record, Lemma 3.3",
    ),
    needs=("lem3.3",),
    planted=(
        Plant("no such output on one record, Algorithm 1", "multiples of 2^-52", LEAK._replace(bits=52)),
        Plant("no such output on one record, Lemma 3.3", "multiples of 2^-52", LEAK._replace(bits=52)),
        Plant("such outputs on no record, Algorithm 1", "multiples of 2^-1080", LEAK._replace(bits=1080)),
        Plant("such outputs on no record, Algorithm 1", "more than 0.2", LEAK._replace(algorithm_1=0.2)),
        Plant("such outputs on no record, Lemma 3.3", "Lemma 3.3 does not leak", LEAK._replace(lemma_3_3=0)),
        Plant("such outputs on no record, Lemma 3.3", "more than 0.2", LEAK._replace(lemma_3_3=0.2)),
    ),
    note="the positive probability is a Clopper-Pearson bound: no exact law of the float64 sampler is at hand",
)
def float_leak(claim: Leak) -> Findings:
    """The event of `dpverdict.proofs.lebeda2024.float_leaks`, d = 4, on what each version releases.

    On one record n + 2 eta is a multiple of 2^-53 whenever it is below 1/2, and C n + Z whenever it is below C/2; on no
    record they are not. So delta(eps) is at least the probability there, for every eps.
    """
    for name, shift, sampler, least in (
        ("Algorithm 1", 1.0, count_noise, claim.algorithm_1),
        ("Lemma 3.3", embedded_shift(4), embedded_noise, claim.lemma_3_3),
    ):
        yield never_on_one_record(f"no such output on one record, {name}", [(4, shift)], claim.bits)
        values = sampler(np.random.default_rng([SEED, 4]), 4, SAMPLES)
        found = more_often(f"such outputs on no record, {name}", values, claim.bits, least, shift)
        if least == 0:  # read as never: any probability above 0 refutes it, and none found decides nothing
            found = replace(found, holds=False if found.holds else None, margin="", witness=found.margin)
        yield found
