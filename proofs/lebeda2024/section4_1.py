"""Lebeda 2024, section 4.1, up to Lemma 4.4: how far Algorithm 1 is from the best Gaussian mechanism."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import sympy
from sympy import Integer, Matrix, Rational, Symbol, sqrt

from dpverdict.balls import at_most
from dpverdict.mechanisms.queries.count_ellipse import EllipseOptimum, eigenvalues, ellipse_optimum
from dpverdict.numerics.exact import Surd
from dpverdict.proofs.checks.drawings import optimum_figure
from dpverdict.proofs.checks.identities import Expr, identity, nonnegative, positive
from dpverdict.proofs.checks.outcome import Findings, Standing, StatementKind
from dpverdict.proofs.checks.statement import Formula, Plant, Reading, statement
from dpverdict.proofs.checks.vertices import every
from dpverdict.proofs.lebeda2024.gap import algorithm_1, even_gap, layer_variance, odd_gap
from dpverdict.proofs.lebeda2024.notation import PAPER, at_vertex, d, mu, released, s, two_roots


class HalfDense(NamedTuple):
    """The variance of a query as a formula of d, and k/d."""

    variance: Formula
    density: Fraction


HALF = HalfDense(lambda d: (d + 2 * sqrt(d - 1)) / 4, Fraction(1, 2))


@statement(
    paper=PAPER,
    number="lem4.3",
    kind=StatementKind.LEMMA,
    expected=Standing.HOLDS,
    text="The Count ellipse mechanism with k = d/2 (d even) and rho = mu^2/2 satisfies mu-GDP and estimates each "
    "query with error N(0, (d + 2 sqrt(d-1))/(4 mu^2)).",
    formula=r"h(d, d/2) = \frac{d + 2\sqrt{d-1}}{4}",
    printed=HALF,
    needs=("fact.vertices",),
    planted=(
        Plant("variance of a query", "d + sqrt(d-1)", HALF._replace(variance=lambda d: (d + sqrt(d - 1)) / 4)),
        Plant(
            "records with k ones attain mu", "sqrt(d-2)", HALF._replace(variance=lambda d: (d + 2 * sqrt(d - 2)) / 4)
        ),
        Plant("sparser records have less", "k = 3d/4", HALF._replace(density=Fraction(3, 4))),
    ),
)
def lemma_4_3(claim: HalfDense) -> Findings:
    """tr(S)/d of the Count ellipse; noise of its shape, scaled to the claimed variance, gives g(k) = 1.

    g(i) = u i^2/d + w i (d - i)/d, so g(k) - g(i) = (k - i)(u (k + i) + w (d - k - i))/d >= 0 for i <= k = d/2.
    """
    k, i, m = Symbol("k", positive=True, integer=True), Symbol("i"), Symbol("m")
    u, w = Symbol("u"), Symbol("w")
    dim = k / Rational(claim.density)
    least = layer_variance(dim, k, sqrt)
    yield identity("variance of a query", least, claim.variance(dim), scope="all even d")
    along, across = (value * claim.variance(dim) / least for value in eigenvalues(dim, k, sqrt))
    yield identity(
        "records with k ones attain mu", (k**2 / along + k * (dim - k) / across) / dim, k / k, scope="all even d"
    )
    rest = u * (2 * i + m) + w * ((i + m) / Rational(claim.density) - 2 * i - m)  # k = i + m
    yield nonnegative("sparser records have less", rest, {u: 0, w: 1, i: 1, m: 0}, scope="all even d, all i <= k")


@statement(
    paper=PAPER,
    number="sec4.text4mu",
    kind=StatementKind.TEXT,
    expected=Standing.FAILS_AS_PRINTED,
    text="Recall from Lemma 3.1 that the variance of Algorithm 1 is (d + 2 sqrt(d) + 1)/(4 mu).",
    formula=r"\frac{d + 2\sqrt{d} + 1}{4\mu^2}",
    printed=lambda d, mu: (d + 2 * sqrt(d) + 1) / (4 * mu),
    corrected=Reading(
        "(d + 2 sqrt(d) + 1)/(4 mu^2); noise divided by 4 mu has true parameter sqrt(mu), more than mu for mu < 1",
        lambda d, mu: (d + 2 * sqrt(d) + 1) / (4 * mu**2),
    ),
    needs=("lem3.1",),
    planted=(
        Plant("variance of Lemma 3.1", "4 mu^3", lambda d, mu: (d + 2 * sqrt(d) + 1) / (4 * mu**3)),
        Plant("noise of this variance is mu-GDP", "4 mu^3", lambda d, mu: (d + 2 * sqrt(d) + 1) / (4 * mu**3)),
    ),
)
def text_4_mu(variance: Formula) -> Findings:
    """Lemma 3.1; and with vz, ve in their proportion but adding up to the claimed variance, the true parameter."""
    right = algorithm_1(d, sqrt) / mu**2
    yield identity("variance of Lemma 3.1", variance(d, mu), right, scope="all d >= 1, mu > 0")
    factor = variance(d, mu) / algorithm_1(d, sqrt)
    true = at_vertex(released((d + sqrt(d)) / 4 * factor, (sqrt(d) + 1) / 4 * factor))
    yield identity("noise of this variance is mu-GDP", true, mu**2, scope="all d >= 1, mu > 0")


class Distance(NamedTuple):
    """The largest distance from OPT, and the (d, k) at which it is claimed to be attained."""

    constant: Expr
    attained: tuple[int, int] | None


@statement(
    paper=PAPER,
    number="lem4.4",
    kind=StatementKind.LEMMA,
    expected=Standing.HOLDS_ON_RANGE,
    text="Let OPT denote the minimum variance for any general Gaussian mechanism under mu-GDP for any d and k >= d/2. "
    "Then the variance of Algorithm 1 is at most OPT + 2 sqrt(3)/(4 mu^2) < OPT + 0.87/mu^2.",
    formula=r"\frac{(\sqrt{d}+1)^2}{4} - \mathrm{OPT}(d, k) \leq \frac{2\sqrt{3}}{4}\quad (k \geq d/2)",
    printed=Distance(2 * sqrt(3) / 4, None),
    corrected=Reading(
        "under k >= d/2 the best constant is (2 sqrt(2) - 1)/4 = 0.45711, attained at (2, 1); for odd d it is below "
        "1/4",
        Distance((2 * sqrt(2) - 1) / 4, (2, 1)),
    ),
    needs=(
        "lem4.4.proof",
        "opt.monotone",
    ),
    named=("less than 0.87", "attained"),
    planted=(
        Plant("even d", "(2 sqrt(2) - 2)/4", Distance((2 * sqrt(2) - 2) / 4, None)),
        Plant("odd d", "(sqrt(2) - 1)/4", Distance((sqrt(2) - 1) / 4, None)),
        Plant("less than 0.87", "2 sqrt(4)/4", Distance(Integer(1), None)),
        Plant("attained", "at (4, 2)", Distance((2 * sqrt(2) - 1) / 4, (4, 2))),
    ),
    assumptions=("the trace bound: OPT(d, k) >= h(d, k)", "OPT(d, k) does not decrease in k"),
    figure=optimum_figure,
)
def lemma_4_4(claim: Distance) -> Findings:
    """The gap to h(d, ceil(d/2)): (1 + 2/s)/4, s = sqrt d + sqrt(d-1), for even d; below 1/4 for odd d, rational in
    s."""
    yield nonnegative("even d", claim.constant - even_gap(), {s: 1 + sqrt(2)}, scope="all even d, all k >= d/2")
    bound = sympy.Min(claim.constant, Rational(1, 4))
    yield positive("odd d", bound - odd_gap(1), {s: Rational(12, 5)}, scope="all odd d, all k >= d/2")
    yield positive("less than 0.87", Rational(87, 100) - claim.constant, {}, scope="the constant")
    if claim.attained is not None:
        dim, k = claim.attained
        gap = algorithm_1(Integer(dim), sqrt) - in_symbols(ellipse_optimum(dim, k).per_query_variance)
        yield identity("attained", gap, claim.constant, scope=f"(d, k) = {claim.attained}")


def in_symbols(value: Surd) -> Expr:
    """A number of a quadratic field in SymPy."""
    return Rational(value.rational) + Rational(value.coefficient) * sqrt(Integer(value.radicand))


class Chain(NamedTuple):
    """The proof's bounds for even and odd d as formulas of (d, root), its decimal, and its reduction of (d, k).

    ``extended`` is the form at (x, t) by that at x, the regression q of the deleted entry on x, and its rest variance;
    ``kept`` is the mean share of the trace that is left when one coordinate is deleted.
    """

    even: Formula
    odd: Formula
    decimal: str
    reduced: Callable[[int, int], tuple[int, int]]
    extended: Formula = lambda form, t, q, rest: form + (t - q) ** 2 / rest
    kept: Formula = lambda d: 1 - 1 / d


CHAIN = Chain(
    lambda d, root: (1 + 2 * root(d) - 2 * root(d - 1)) / 4,
    lambda d, root: (2 + 2 * root(d) - 2 * root(d - 2)) / 4,
    "0.46",
    lambda d, k: (d - 1, min(k, d - 1)),
)


@statement(
    paper=PAPER,
    number="lem4.4.proof",
    kind=StatementKind.LEMMA,
    expected=Standing.HOLDS,
    text="(proof) (1 + 2 sqrt(d) - 2 sqrt(d-1))/4 is decreasing in d, at d = 2 it is <= 0.46; OPT for odd d is at "
    "least OPT for d - 1 and k = (d-1)/2, so the gap is at most (2 + 2 sqrt(d) - 2 sqrt(d-2))/4, again decreasing, "
    "exact for d = 3, k = 1.",
    formula=r"\mathrm{OPT}(d, k) \geq \mathrm{OPT}(d-1, \min(k, d-1)),\quad \frac{2 + 2\sqrt{d} - 2\sqrt{d-2}}{4}",
    printed=CHAIN,
    named=(
        "value at d = 2",
        "exact at d = 3, k = 1",
    ),
    confirms={"a coordinate less costs less": "a coordinate less, the trace"},
    planted=(
        Plant(
            "gap for even d", "2 for 1", CHAIN._replace(even=lambda d, root: (2 + 2 * root(d) - 2 * root(d - 1)) / 4)
        ),
        Plant(
            "decreasing for even d", "sum for difference", CHAIN._replace(even=lambda d, root: root(d) + root(d - 1))
        ),
        Plant("value at d = 2", "0.45", CHAIN._replace(decimal="0.45")),
        Plant(
            "triangle inequality",
            "1 for 2",
            CHAIN._replace(odd=lambda d, root: (1 + 2 * root(d) - 2 * root(d - 2)) / 4),
        ),
        Plant("decreasing for odd d", "sum for difference", CHAIN._replace(odd=lambda d, root: root(d) + root(d - 2))),
        Plant(
            "exact at d = 3, k = 1",
            "3 for 2",
            CHAIN._replace(odd=lambda d, root: (3 + 2 * root(d) - 2 * root(d - 2)) / 4),
        ),
        Plant(
            "a coordinate less, the form",
            "t + q for t - q",
            CHAIN._replace(extended=lambda form, t, q, rest: form + (t + q) ** 2 / rest),
        ),
        Plant(
            "a coordinate less is no less private",
            "minus for plus",
            CHAIN._replace(extended=lambda form, t, q, rest: form - (t - q) ** 2 / rest),
        ),
        Plant("a coordinate less, the trace", "1 - 2/d", CHAIN._replace(kept=lambda d: 1 - 2 / d)),
        Plant("a coordinate less costs less", "d + 1 for d - 1", CHAIN._replace(reduced=lambda d, k: (d + 1, k))),
    ),
)
def lemma_4_4_proof(claim: Chain) -> Findings:
    """Rational in s = sqrt d + sqrt(d-1), and in q with d = (q + 1/q)^2/2, d - 2 = (q - 1/q)^2/2.

    Deleting a coordinate of an optimal covariance leaves a feasible one for d - 1; averaged over the coordinate its
    trace is (1 - 1/d) tr(S), so its variance per query is the same: OPT(d - 1) <= OPT(d). Feasible: with S = [[S', b],
    [b^T, a]], w = S'^-1 b, q = w^T x and rest = a - w^T b, the form at (x, t) is x^T S'^-1 x + (t - q)^2/rest: at
    least the form without the coordinate, and t = 0 keeps the number of ones. So for every d; optima are compared too.
    """
    even = two_roots(lambda below, root: claim.even(below + 1, root))
    yield identity("gap for even d", even, even_gap(), scope="all even d")
    yield nonnegative("decreasing for even d", -sympy.diff(even, s), {s: Rational(12, 5)}, scope="all d >= 2")
    value = Rational(claim.decimal) - claim.even(Integer(2), sqrt)
    yield nonnegative("value at d = 2", value, {}, scope="d = 2")
    yield identity(
        "triangle inequality", claim.even(d, sqrt) + claim.even(d - 1, sqrt), claim.odd(d, sqrt), scope="all d >= 3"
    )
    q = Symbol("q", positive=True)
    roots = {0: (q + 1 / q) / sqrt(2), 2: (q - 1 / q) / sqrt(2)}
    dim = sympy.expand(roots[0] ** 2)
    odd = sympy.simplify(claim.odd(dim, lambda argument: roots[int(sympy.simplify(dim - argument))]))
    yield nonnegative("decreasing for odd d", -sympy.diff(odd, q), {q: 1}, scope="all d >= 2")
    exact = algorithm_1(Integer(3), sqrt) - in_symbols(ellipse_optimum(3, 1).per_query_variance)
    yield identity("exact at d = 3, k = 1", claim.odd(Integer(3), sqrt), exact, scope="d = 3, k = 1")
    yield from _deleted(claim)
    cases = [(dim, k) for dim in range(2, 13) for k in range(1, dim + 1)] + [
        (m, (m + 1) // 2) for m in range(13, 100, 2)
    ]
    yield every(
        "a coordinate less costs less",
        cases,
        lambda case: no_more(ellipse_optimum(*claim.reduced(*case)), ellipse_optimum(*case)),
        over="d, k: exact optima, odd d from 13 on at k = (d+1)/2",
        cases=121,
        show=lambda case: f"(d, k) = {case}",
    )


def _deleted(claim: Chain) -> Findings:
    """For every d: y = (S'^-1 x + w (q - t)/rest, (t - q)/rest) solves S y = (x, t), and (x, t)^T y is the form."""
    t, q, a, wb, form, rest = sympy.symbols("t q a wb form rest", real=True)
    last, own = (t - q) / (a - wb), q + wb * (q - t) / (a - wb)  # the last entry of y, and b^T of its first ones
    whole = form + q * (q - t) / (a - wb) + t * last
    yield identity(
        "a coordinate less, the form",
        Matrix([own + a * last, whole]),
        Matrix([t, claim.extended(form, t, q, a - wb)]),
        scope="every d and S > 0",
    )
    scaled = sympy.expand((claim.extended(form, Integer(0), q, rest) - form) * rest).subs(q**2, a)  # a = q^2 >= 0
    yield nonnegative("a coordinate less is no less private", scaled, {a: 0}, scope="every d and S > 0")
    mean = sympy.summation(1 - 1 / d, (Symbol("i", integer=True), 1, d)) / d  # every S_ii is deleted once in d
    yield identity("a coordinate less, the trace", mean, claim.kept(d), scope="all d >= 2")


def no_more(left: EllipseOptimum, right: EllipseOptimum) -> bool | None:
    """Whether the first optimum is at most the second."""
    a, b = left.per_query_variance, right.per_query_variance
    same = (a.rational, a.coefficient, a.radicand) == (b.rational, b.coefficient, b.radicand)
    return same or at_most(a.real(), b.real())
