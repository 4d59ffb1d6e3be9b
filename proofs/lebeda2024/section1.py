"""Lebeda 2024, abstract and section 1: the claims of the introduction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import combinations, product
from math import isqrt
from typing import NamedTuple

from sympy import Integer, Matrix, Rational, Symbol, sqrt, symbols

from dpverdict.balls import Real, compare
from dpverdict.mechanisms.core.calibration import family_variances
from dpverdict.mechanisms.queries.count_ellipse import least_ellipse_variance
from dpverdict.proofs.checks.identities import Expr, identity, nonnegative
from dpverdict.proofs.checks.outcome import Findings, Standing, StatementKind
from dpverdict.proofs.checks.statement import Formula, Plant, Reading, statement
from dpverdict.proofs.checks.vertices import binary_records, every
from dpverdict.proofs.lebeda2024.notation import PAPER, at_vertex, d, j, mu, s1, s2, withheld, x

ABSTRACT: Mapping[str, Formula] = {
    "shared": lambda d: (sqrt(d) + 1) / 4,
    "independent": lambda d: (d + sqrt(d)) / 4,
    "total": lambda d: (sqrt(d) + 1) / 2,
}


@statement(
    paper=PAPER,
    number="abstract",
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS,
    text="Adding a Gaussian with variance scaled by (sqrt d + 1)/4 to all counts reduces the independent variance to "
    "(d + sqrt d)/4; the total has standard deviation (sqrt d + 1)/2.",
    formula=r"\frac{\sqrt{d}+1}{4},\quad \frac{d+\sqrt{d}}{4},\quad \frac{\sqrt{d}+1}{2}",
    printed=ABSTRACT,
    planted=(
        Plant("shared variance", "sqrt(d+1)/4", {**ABSTRACT, "shared": lambda d: sqrt(d + 1) / 4}),
        Plant("independent variance", "(d+1)/4", {**ABSTRACT, "independent": lambda d: (d + 1) / 4}),
        Plant("total deviation", "sqrt(d)/2", {**ABSTRACT, "total": lambda d: sqrt(d) / 2}),
    ),
)
def abstract(claim: Mapping[str, Formula]) -> Findings:
    """The variances of the embedding with C^2 = sqrt d, at mu = 1."""
    vz, ve = family_variances(d, sqrt(d), Integer(1))
    yield identity("shared variance", ve, claim["shared"](d))
    yield identity("independent variance", vz, claim["independent"](d))
    yield identity("total deviation", vz + ve, claim["total"](d) ** 2)


class Withheld(NamedTuple):
    """The squared parameter of a record with j ones, and the dimensions in which some record attains mu (if said)."""

    parameter: Formula
    attains: Callable[[int], bool] | None


def _tight(j: Expr, d: Expr) -> Expr:
    return 1 - ((j - (d + sqrt(d)) / 2) / ((d + sqrt(d)) / 2)) ** 2


@statement(
    paper=PAPER,
    number="thm3.1.simplified",
    kind=StatementKind.THEOREM,
    expected=Standing.HOLDS_WITH_CAVEAT,
    text="The mechanism that outputs f(X) + eta 1 + Z has the same differential privacy guarantees under the "
    "add/remove neighboring relation as the mechanism that outputs f(X) + W, W ~ N(0, d/mu^2 I).",
    formula=r"\mu_x^2 = \mu^2\left[1 - \left(\frac{j - j^*}{j^*}\right)^2\right],\quad j^* = \frac{d+\sqrt{d}}{2}",
    printed=Withheld(_tight, None),
    caveat=Reading(
        "read as 'exactly the same guarantee': without n it is at least as private, and as private only if d is a "
        "square",
        Withheld(_tight, lambda dim: True),
    ),
    corrected=Reading(
        "at most mu-GDP; tight parameter mu sqrt(1 - ((j - j*)/j*)^2), j the integer nearest to j*: mu iff d is a "
        "square",
        Withheld(_tight, lambda dim: isqrt(dim) ** 2 == dim),
    ),
    planted=(
        Plant("closed form", "j* = d/2", Withheld(lambda j, d: 1 - ((j - d / 2) / (d / 2)) ** 2, None)),
        Plant("at most mu", "j* = d/2", Withheld(lambda j, d: 1 + ((j - d / 2) / (d / 2)) ** 2, None)),
        Plant("attained", "at odd squares only", Withheld(_tight, lambda dim: dim % 2 == 1 and isqrt(dim) ** 2 == dim)),
    ),
)
def theorem_3_1_simplified(claim: Withheld) -> Findings:
    """F2 at a binary record with j ones; 1 - mu_x^2/mu^2 is a square, and 0 iff 2j - d = sqrt d for an integer j."""
    vz, ve = family_variances(d, sqrt(d), mu)
    form = at_vertex(withheld(vz, ve)) / mu**2
    yield identity("closed form", form, claim.parameter(j, d), scope="all d, all binary records")
    root = (j - (d + sqrt(d)) / 2) / ((d + sqrt(d)) / 2)
    yield identity("at most mu", 1 - claim.parameter(j, d), root**2, scope="all d, all binary records")
    if claim.attains is not None:
        said = claim.attains
        yield every(
            "attained",
            range(1, 10_001),
            lambda dim: (
                said(dim) == any((2 * k - dim) ** 2 == dim for k in ((dim + isqrt(dim)) // 2, dim) if 2 * k >= dim)
            ),
            over="d",
            argued="for all d: j* is an integer iff d is a square",
            cases=10000,
            show=lambda dim: f"d = {dim}: sup mu_x^2 = {float(_supremum(dim)):.6f} mu^2",
        )


def _supremum(dim: int) -> Expr:
    return max(_tight(Integer(k), Integer(dim)).evalf(30) for k in range(dim + 1))


@statement(
    paper=PAPER,
    number="sec1.sensitivity",
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS_ON_RANGE,
    text="For counting queries the l2 sensitivity is sqrt d under both relations; for vectors of norm at most C it is "
    "C under add/remove and 2C under replacement.",
    formula=r"\Delta = \sqrt{d}\ \ \mathrm{(both)},\qquad \Delta = C\ \ \mathrm{and}\ \ 2C",
    printed=(1, 1, 4),
    planted=(
        Plant("counting queries, add/remove", "d/2", (Fraction(1, 2), 1, 4)),
        Plant("counting queries, replacement", "2d", (1, 2, 4)),
        Plant("clipped vectors, replacement", "sqrt(2) C", (1, 1, 2)),
    ),
)
def sensitivities(claim: tuple[Fraction | int, int, int]) -> Findings:
    """Squared sensitivities in units of d, d and C^2; |x - y|^2 = 2|x|^2 + 2|y|^2 - |x + y|^2, 0 less iff y = -x."""
    once, replaced, clipped = claim
    yield every(
        "counting queries, add/remove",
        range(1, 7),
        lambda dim: max(sum(record) for record in binary_records(dim)) == once * dim,
        over="d: vertices",
        argued="for all d by adding up coordinates",
        cases=6,
    )
    yield every(
        "counting queries, replacement",
        range(1, 5),
        lambda dim: (
            max(
                sum((a - b) ** 2 for a, b in zip(*pair, strict=True)) for pair in product(binary_records(dim), repeat=2)
            )
            == replaced * dim
        ),
        over="d: vertices",
        argued="for all d by adding up coordinates",
        cases=4,
    )
    y = Symbol("y", real=True)
    yield identity("clipped vectors, replacement", (x - y) ** 2, clipped * (x**2 + y**2) / 2 - (x + y) ** 2)


class Half(NamedTuple):
    """The bound of the mean variance; steps of a replacement; E v_i v_k of signs, i != k; least tr S tr S^-1."""

    bound: Formula
    steps: int
    correlation: Expr
    least: Formula


HALF = Half(lambda d: d / 4, 2, Integer(0), lambda d: d**2)


@statement(
    paper=PAPER,
    number="sec1.half",
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS_ON_RANGE,
    text="In general we cannot hope to add Gaussian noise under add/remove for any query with less than half the "
    "magnitude required under replacement.",
    formula=r"\frac{1}{d}\,\mathrm{tr}\,\Sigma \geq \frac{d}{4\mu^2}",
    printed=HALF,
    confirms={"below what a mechanism attains": "trace bound"},
    planted=(
        Plant("two steps at most double mu", "three steps", HALF._replace(steps=3)),
        Plant("signs average to the trace", "with the covariance 1/2", HALF._replace(correlation=Rational(1, 2))),
        Plant("tr S tr S^-1 >= d^2", "d^2 + 1", HALF._replace(least=lambda d: d**2 + 1)),
        Plant("trace bound", "d/2", HALF._replace(bound=lambda d: d / 2)),
        Plant("half of what replacement requires", "d/3", HALF._replace(bound=lambda d: d / 3)),
        Plant("below what a mechanism attains", "d/3", HALF._replace(bound=lambda d: d / 3)),
    ),
)
def half_the_noise(claim: Half) -> Findings:
    """v = 2x - 1 = x - (1 - x) is two add/remove steps, so v^T S^-1 v <= 4 for all signs v, on average tr(S^-1) <= 4.

    With form(x) = x^T S^-1 x the parallelogram law is form(a - b) + form(a + b) = 2 form(a) + 2 form(b) <= 4 mu^2, and
    form(a + b) >= 0. With eigenvalues a_i, tr(S) tr(S^-1) - d^2 is the sum over i < k of (a_i - a_k)^2/(a_i a_k). Under
    replacement v is one step: tr(S^-1) <= 1, and the bound is tr(S)/d >= d, which independent noise attains.
    """
    p, q, w = symbols("p q w", real=True)
    (a1, a2), (b1, b2) = symbols("a_1 a_2", real=True), symbols("b_1 b_2", real=True)

    def form(x: Expr, y: Expr) -> Expr:
        return p * x**2 + 2 * q * x * y + w * y**2

    both = form(a1, a2) + form(b1, b2)
    yield identity(
        "two steps at most double mu",
        form(a1 - b1, a2 - b2) + form(a1 + b1, a2 + b2),
        Rational(claim.steps**2, 2) * both,
        scope="all a, b and symmetric S^-1, on the plane of a and b",
    )
    entries = {(i, k): Symbol(f"m_{min(i, k)}{max(i, k)}", real=True) for i in range(4) for k in range(4)}
    means, traces = [], []
    for dim in range(1, 5):
        places, signs = list(product(range(dim), repeat=2)), list(product((1, -1), repeat=dim))
        means.append(sum(v[i] * v[k] * entries[i, k] for v in signs for i, k in places) / Integer(len(signs)))
        traces.append(sum(entries[i, k] * (1 if i == k else claim.correlation) for i, k in places))
    yield identity(
        "signs average to the trace",
        Matrix(means),
        Matrix(traces),
        scope="d = 1..4",
        cases=4,
        argued="for all d and M, as E v_i v_k = 0",
    )
    excess, squares = [], []
    for dim in range(2, 5):
        values = symbols(f"lambda_1:{dim + 1}", positive=True)
        excess.append(sum(values) * sum(1 / value for value in values) - claim.least(Integer(dim)))
        squares.append(sum((a - b) ** 2 / (a * b) for a, b in combinations(values, 2)))
    yield identity(
        "tr S tr S^-1 >= d^2",
        Matrix(excess),
        Matrix(squares),
        scope="d = 2..4",
        cases=3,
        argued="by pairs of eigenvalues for all d",
    )
    yield identity("trace bound", claim.least(d) / claim.steps**2 / d, claim.bound(d), scope="all d, every Gaussian S")
    yield identity("half of what replacement requires", 4 * claim.bound(d), claim.least(d) / d, scope="all d")
    bound = claim.bound
    yield every(
        "below what a mechanism attains",
        range(1, 101),
        lambda dim: compare(Real.of(Fraction(str(bound(Rational(dim))))), least_ellipse_variance(dim, dim)) != 1,
        over="d",
        cases=100,
        show=lambda dim: (
            f"d = {dim}: {bound(Rational(dim))} against OPT = {least_ellipse_variance(dim, dim).nearest():.6f}"
        ),
    )


class Known(NamedTuple):
    """The variance of the noise that is added, and of the whole error if the estimate of n has variance t (if said)."""

    noise: Formula
    total: Formula | None


@statement(
    paper=PAPER,
    number="sec1.knownn",
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS_WITH_CAVEAT,
    text="If we have access to an estimate of the dataset size we can reduce the magnitude of noise added to each "
    "query from (sqrt d + 1)/2 to sqrt(d)/2.",
    formula=r"\frac{\sqrt{d}+1}{2} \rightarrow \frac{\sqrt{d}}{2}",
    printed=Known(lambda d: d / 4, None),
    caveat=Reading(
        "read as the error of a query: that of the estimate, (n~ - n)/2, comes on top, and Lemma 3.6's condition "
        "applies",
        Known(lambda d: d / 4, lambda d, t: d / 4),
    ),
    corrected=Reading(
        "the noise added is sqrt(d)/2, the variance of the error is (d + Var(n~ - n))/4",
        Known(lambda d: d / 4, lambda d, t: (d + t) / 4),
    ),
    planted=(
        Plant("noise added", "d/2", Known(lambda d: d / 2, None)),
        Plant("error of a query", "d/4 + t", Known(lambda d: d / 4, lambda d, t: d / 4 + t)),
    ),
)
def known_size(claim: Known) -> Findings:
    """f - n/2 moves by x - 1/2, of squared length s2 - s1 + d/4 = d/4 - e; n~/2 is added back."""
    yield identity("noise added", (s2 - s1 + d / 4).subs(s1, s2), claim.noise(d), scope="all d >= 1")
    if claim.total is not None:
        t = Symbol("t", positive=True)  # the variance of the estimate
        yield identity(
            "error of a query", claim.noise(d) + t / 4, claim.total(d, t), scope="all d >= 1, all variances t"
        )


@statement(
    paper=PAPER,
    number="sec1.distance",
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS,
    text="The vector f(X) - f(X') always has l2 distance at most sqrt(d)/2 to either (1/2) 1 or -(1/2) 1.",
    formula=r"\left\| x - \frac{1}{2}\mathbf{1} \right\| \leq \frac{\sqrt{d}}{2}",
    printed=Rational(1, 4),
    planted=(
        Plant("defect per coordinate", "1/3 per coordinate", Rational(1, 3)),
        Plant("not negative on [0,1]", "1/5 per coordinate", Rational(1, 5)),
    ),
)
def distance(per_coordinate: Expr) -> Findings:
    """Per coordinate 1/4 - (x - 1/2)^2 = x (1 - x), which is >= 0 on [0, 1]; written with x = 1/(1 + t), t >= 0."""
    yield identity("defect per coordinate", per_coordinate - (x - Rational(1, 2)) ** 2, x * (1 - x), scope="all d")
    t = Symbol("t", nonnegative=True)
    inside = per_coordinate - (1 / (1 + t) - Rational(1, 2)) ** 2
    yield nonnegative("not negative on [0,1]", inside, {t: 0}, scope="all d, all x in [0,1]^d")
