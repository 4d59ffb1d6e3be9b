"""Lebeda 2024, section 3: the bijection of Lemma 3.4, and the privacy of Algorithm 1."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from flint import arb, arb_mat
from sympy import Integer, Matrix, Rational, eye, sqrt, symbols

from dpverdict.balls import precision
from dpverdict.mechanisms.embedding import h, h_inverse, pulled_back_covariance
from dpverdict.mechanisms.scales import family_variances
from dpverdict.proofs.identities import identity
from dpverdict.proofs.lebeda2024_algebra import PAPER, C, Expr, at_vertex, d, mu, no_record_exceeds, released, x
from dpverdict.proofs.outcome import Findings, Kind, Method, Standing
from dpverdict.proofs.statement import Formula, Plant, Reading, statement
from dpverdict.proofs.vertices import binary_records, every, form_of, shared_noise_covariance

f, n = symbols("f n", real=True)


class Bijection(NamedTuple):
    """The dimension of the domain of h, its map of (f, n), and its determinant."""

    domain: Formula
    map: Formula
    determinant: Formula


H = Bijection(lambda d: d + 1, h, lambda d, c: 2**d * c)


def bijection(claim: Bijection) -> Findings:
    """h(f, n) = (2f - n 1, C n): two queries i != k and the count show every entry of the pattern, for every d.

    The determinant is that of a triangular matrix; the count is the (d+1)-st output, so h acts on R^(d+1).
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
    back = h_inverse(g, last, C)
    yield identity("h has an inverse", Matrix(back), Matrix([f, n]), scope=every_d)
    yield identity(
        "determinant",
        Matrix([_determinant(claim.map, k) for k in range(1, 6)]),
        Matrix([claim.determinant(k, C) for k in range(1, 6)]),
        scope="d = 1..5; triangular for all d",
    )
    yield identity("as many inputs as outputs", claim.domain(d), d + 1, scope=every_d)


@statement(
    paper=PAPER,
    number="lem3.4",
    kind=Kind.LEMMA,
    expected=Standing.HOLDS_WITH_CAVEAT,
    text="Let M denote Algorithm 1 and M' the mechanism of Lemma 3.3 with C = d^(1/4). There exists a bijection h "
    "such that h(M(X)) is distributed as M'(X) and h^-1(M'(X)) as M(X).",
    formula=r"h(f, n) = (2f - n\mathbf{1},\ d^{1/4} n),\quad \det h = 2^d d^{1/4}",
    printed=H,
    caveat=Reading(
        "printed as h: R^d -> R^(d+1); the releases of M have d + 1 coordinates", H._replace(domain=lambda d: d)
    ),
    corrected=Reading("h: R^(d+1) -> R^(d+1), for every C > 0; in its proof g(X) + 2 z_i reads g(X)_i + 2 z_i", H),
    planted=(
        Plant("means agree", "2f + n", H._replace(map=lambda f, n, c: (2 * f + n, c * n))),
        Plant("covariances agree", "C^2 n", H._replace(map=lambda f, n, c: (2 * f - n, c * c * n))),
        Plant("h has an inverse", "n forgotten", H._replace(map=lambda f, n, c: (2 * f - n, 0 * n))),
        Plant("determinant", "2^(d+1) C", H._replace(determinant=lambda d, c: 2 ** (d + 1) * c)),
        Plant("as many inputs as outputs", "R^(d+2)", H._replace(domain=lambda d: d + 2)),
    ),
)
def lemma_3_4(claim: Bijection) -> Findings:
    """Algorithm 1 is h^-1 of the standard Gaussian mechanism in R^(d+1): means, covariances, inverse, dimensions."""
    yield from bijection(claim)


@statement(
    paper=PAPER,
    number="lem3.4.domain",
    kind=Kind.LEMMA,
    expected=Standing.FAILS_AS_PRINTED,
    text="... a bijection h: R^d -> R^(d+1) ...",
    formula=r"h: \mathbb{R}^{d+1} \rightarrow \mathbb{R}^{d+1}",
    printed=lambda d: d,
    corrected=Reading("h: R^(d+1) -> R^(d+1)", lambda d: d + 1),
    planted=(Plant("as many inputs as outputs", "R^(2d)", lambda d: 2 * d),),
    assumptions=("no continuous bijection maps R^a onto R^b with a different from b",),
)
def lemma_3_4_domain(domain: Formula) -> Findings:
    """Algorithm 1 releases d queries and the count, d + 1 numbers, as many as the embedding has."""
    outputs = len(Matrix([f, n]))  # one query and the count
    yield identity("as many inputs as outputs", domain(d), d + (outputs - 1), scope="all d >= 1")


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
    kind=Kind.THEOREM,
    expected=Standing.HOLDS,
    text="The mechanism that outputs f(X) + eta 1 + Z and n + 2 eta, eta ~ N(0, (sqrt d + 1)/(4 mu^2)), Z ~ N(0, (d + "
    "sqrt d)/(4 mu^2) I), satisfies mu-GDP under add/remove; the error of each query has standard deviation (sqrt d + "
    "1)/(2 mu).",
    formula=r"\mu_x^2 = \mu^2\left(1 - \frac{4\sum_i x_i(1-x_i)}{d + \sqrt{d}}\right)",
    printed=THEOREM,
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
        scope="d = 1, 4, 9, all binary records, exact rationals",
        show=lambda dim: f"d = {dim}: some record does not attain 1",
    )
    yield every(
        "dense balls agree",
        (2, 3, 5),
        lambda dim: _balls_agree(claim, dim),
        scope="d = 2, 3, 5, all binary records, to 30 digits",
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
    kind=Kind.COROLLARY,
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
