"""Lebeda 2024, sections 5 and 6: worst pairs, one query, Laplace noise."""

from __future__ import annotations

from typing import NamedTuple

import sympy
from sympy import Integer, Matrix, Rational, Symbol, eye, sqrt

from dpverdict.mechanisms.core.calibration import family_variances
from dpverdict.mechanisms.core.noise import shared_noise_form
from dpverdict.mechanisms.queries.correlated import from_embedding, to_embedding
from dpverdict.proofs.checks.identities import identity, positive
from dpverdict.proofs.checks.outcome import Findings, Standing, StatementKind
from dpverdict.proofs.checks.statement import Formula, Plant, Reading, statement
from dpverdict.proofs.lebeda2024.notation import PAPER, C, at_vertex, d, j, mu, released, x


class WorstPair(NamedTuple):
    """Mean and variance of the privacy loss as formulas of mu, and the variance of eta_j in Algorithm 2."""

    mean: Formula
    variance: Formula
    shared: Formula


WORST = WorstPair(lambda mu: mu**2 / 2, lambda mu: mu**2, lambda mu: 1 / mu**2)


@statement(
    paper=PAPER,
    number="sec5.plrv",
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS,
    text="There exist pairs of neighboring datasets for which the privacy loss random variable of our mechanism is "
    "distributed as N(mu^2/2, mu^2).",
    formula=r"L \sim N(\mu^2/2,\ \mu^2)",
    printed=WORST,
    needs=(
        "fact.gauss",
        "thm3.1",
    ),
    planted=(
        Plant("Algorithm 1, any binary record: mean", "mean mu^2", WORST._replace(mean=lambda mu: mu**2)),
        Plant("Algorithm 1, any binary record: variance", "variance mu", WORST._replace(variance=lambda mu: mu)),
        Plant("Algorithm 2, complementary records of a row", "variance mu", WORST._replace(variance=lambda mu: mu)),
        Plant("also with the printed eta of variance 4/mu^2", "variance mu", WORST._replace(variance=lambda mu: mu)),
        Plant("Algorithm 2, records of two rows", "eta of 4/mu^2", WORST._replace(shared=lambda mu: 4 / mu**2)),
    ),
    assumptions=("the loss of a Gaussian pair is N(mu_v^2/2, mu_v^2) (fact.gauss)", "d >= 2 for the pairs of one row"),
)
def worst_pairs(claim: WorstPair) -> Findings:
    """mu_v = mu for all binary records of Algorithm 1, and for complementary records of a row of Algorithm 2 (F11).

    For d = 1 the second record would be 0 and belong to no row: the supremum is approached, not attained.
    """
    square = at_vertex(released(*family_variances(d, sqrt(d), mu)))
    words = "all d >= 1, mu > 0, all binary records"
    yield identity("Algorithm 1, any binary record: mean", square / 2, claim.mean(mu), scope=words)
    yield identity("Algorithm 1, any binary record: variance", square, claim.variance(mu), scope=words)
    for name, shared in (
        ("Algorithm 2, complementary records of a row", claim.shared(mu)),
        ("also with the printed eta of variance 4/mu^2", 4 / mu**2),
    ):
        form = shared_noise_form(dim=d, vz=d / mu**2, ve=shared, loading=2, vw=Integer(0)).at(2 * j - d, d, 0)
        yield identity(name, form, claim.variance(mu), scope="all d >= 2, mu > 0")
    two = 2 * at_vertex(released(d / mu**2, claim.shared(mu)))
    yield identity("Algorithm 2, records of two rows", two, claim.variance(mu), scope="all d >= 1, m >= 2, mu > 0")


@statement(
    paper=PAPER,
    number="sec5.fhss24",
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS,
    text="In the case of Gaussian noise for one dimensional data, the error of the mechanism of [FHSS24] is "
    "identically distributed to Algorithm 1.",
    formula=r"(f,\ n - f) + N(0, I_2)\quad \mathrm{for}\ d = 1",
    printed=lambda f, n: (f, n - f),
    named=("noise is standard normal",),
    planted=(Plant("noise is standard normal", "(f, n)", lambda f, n: (f, n)),),
    note="the mechanism of [FHSS24] is taken as (f, n - f) + N(0, I); its text was not supplied",
)
def one_query(image: Formula) -> Findings:
    """The covariance of (f + eta + z, n + 2 eta) at d = 1, mapped to (f, n - f), is the identity."""
    f, n = Symbol("f"), Symbol("n")
    vz, ve = family_variances(Integer(1), Integer(1), Integer(1))
    covariance = Matrix([[vz + ve, 2 * ve], [2 * ve, 4 * ve]])
    matrix = Matrix(image(f, n)).jacobian([f, n])
    yield identity("noise is standard normal", matrix * covariance * matrix.T, eye(2), scope="d = 1, mu = 1")


class Domains(NamedTuple):
    """The map of a value from one domain to the other, and what an all-zero record adds to the translated sum."""

    image: Formula
    moved: int


DOMAINS = Domains(lambda x: 2 * x - 1, -1)


@statement(
    paper=PAPER,
    number="sec5.domains",
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS,
    text="Under replacement the counting query problem is equivalent for {-1, 1}^d and {0, 1}^d, and it is easy to "
    "translate any estimate by post-processing; under add/remove we cannot, since the size of datasets is not fixed.",
    formula=r"\sum_i (2x_i - 1) = 2 f(X) - n",
    printed=DOMAINS,
    named=("0 and 1 become -1 and 1",),
    planted=(
        Plant("0 and 1 become -1 and 1", "x - 1", DOMAINS._replace(image=lambda x: x - 1)),
        Plant("a sum is translated by n", "x^2", DOMAINS._replace(image=lambda x: 2 * x**2 - 1)),
        Plant("it is translated back", "x^2", DOMAINS._replace(image=lambda x: 2 * x**2 - 1)),
        Plant("a replacement keeps n", "3 x - 1", DOMAINS._replace(image=lambda x: 3 * x - 1)),
        Plant("an all-zero record moves it, and not f", "0", DOMAINS._replace(moved=0)),
    ),
    note="'any estimate' is one of the sum: with n known, the two sums are images of each other",
)
def translated_domains(claim: Domains) -> Findings:
    """The image is linear, so that the sum over n records with sum f is 2 f - n: a bijection of f where n is fixed.

    Without n it is none of f alone: an all-zero record leaves f as it is and takes 1 off the other sum.
    """
    a, b, f, n = sympy.symbols("a b f n", real=True)
    ends = Matrix([claim.image(Integer(0)), claim.image(Integer(1))])
    yield identity("0 and 1 become -1 and 1", ends, Matrix([-1, 1]), scope="both values")
    pair = claim.image(a) + claim.image(b)
    yield identity("a sum is translated by n", pair, 2 * (a + b) - 2, scope="two records; n by adding one at a time")
    total = n * claim.image(f / n)  # of n equal records with sum f
    yield identity("it is translated back", (total + n) / 2, f, scope="all f, n")
    yield identity("a replacement keeps n", claim.image(a) - claim.image(b), 2 * (a - b), scope="all a, b")
    before, after = 2 * f - n, 2 * (f + 0) - (n + 1)
    yield identity("an all-zero record moves it, and not f", after, before + claim.moved, scope="all f, n")


class Laplace(NamedTuple):
    """C at the minimum and sqrt(variance ratio to the standard mechanism) in c = d^(1/3); the smallest c with a
    gain."""

    constant: Formula
    ratio: Formula
    first: Rational


LAPLACE = Laplace(lambda c: c, lambda c: (1 + c**-2) ** 3 / 4, Rational(144, 100))


@statement(
    paper=PAPER,
    number="sec6.laplace",
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS_WITH_CAVEAT,
    text="The technique can be adapted to other mechanisms such as the Laplace mechanism for pure differential "
    "privacy.",
    formula=r"\mathrm{Var} = \frac{d^2 (1 + d^{-2/3})^3}{2\varepsilon^2}\ \ \mathrm{against}\ \ "
    r"\frac{2d^2}{\varepsilon^2}",
    printed=LAPLACE,
    caveat=Reading(
        "useful for d >= 3 only: the ratio is 2 at d = 1 and 1.083 at d = 2", LAPLACE._replace(first=Rational(1))
    ),
    corrected=Reading(
        "with C = d^(1/3) the variance falls by the factor (1 + d^(-2/3))^3/4, below 1 for d >= 3", LAPLACE
    ),
    planted=(
        Plant("minimum over C", "C = c^2", LAPLACE._replace(constant=lambda c: c**2)),
        Plant("ratio to the standard mechanism", "/3", LAPLACE._replace(ratio=lambda c: (1 + c**-2) ** 3 / 3)),
        Plant("gain", "d >= 1", LAPLACE._replace(first=Rational(1))),
    ),
)
def laplace(claim: Laplace) -> Findings:
    """g has the l1 sensitivity d + C; Laplace noise of that scale has variance 2 (d + C)^2, and h^-1 adds two halves.

    V(C) = (d + C)^2 (1 + 1/C^2)/2 in units of 1/eps^2; V(C) - V(c) at d = c^3 has the factor (C - c)^2.
    """
    c = Symbol("c", positive=True)
    coordinate, last = to_embedding(x, Integer(1), C)
    ends = [sympy.Abs(coordinate.subs(x, end)) for end in (0, 1)]
    scale = d * max(ends) + last
    query = Matrix([from_embedding(Symbol("g"), Symbol("m"), C)[0]]).jacobian([Symbol("g"), Symbol("m")])
    variance = (query * query.T)[0, 0] * 2 * scale**2
    at = sympy.cancel(variance.subs(d, c**3))
    best = sympy.cancel(at.subs(C, claim.constant(c)))
    yield identity("ratio to the standard mechanism", best / (2 * c**6), claim.ratio(c), scope="all d >= 1")
    rest = sympy.cancel((at - best) / (C - c) ** 2)
    yield positive("minimum over C", rest * C**2, {c: 1, C: Rational(1, 1000)}, scope="all d >= 1, C >= 1/1000")
    yield positive("gain", 1 - claim.ratio(c), {c: claim.first}, scope=f"all d with d^(1/3) >= {claim.first}")
