"""Lebeda 2024, section 3.1: the choice of C, and Lemma 3.6."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

import sympy
from sympy import Integer, Symbol, sqrt

from dpverdict.balls import Real
from dpverdict.mechanisms.core.calibration import family_variances
from dpverdict.mechanisms.queries.correlated import pulled_back_covariance
from dpverdict.proofs.checks.boxes import equal
from dpverdict.proofs.checks.identities import identity, nonnegative, positive
from dpverdict.proofs.checks.outcome import Findings, Standing, StatementKind
from dpverdict.proofs.checks.statement import Formula, Plant, Reading, statement
from dpverdict.proofs.lebeda2024.notation import PAPER, C, d, e, mu, s1, s2

TEXT: Mapping[str, Formula] = {
    "sensitivity of f_i": lambda: Integer(1),
    "sensitivity of f_i - n/2": lambda: Integer(1) / 2,
    "ratio of the deviations": lambda C: C,
    "variance with fresh n/2": lambda d, mu: d / mu**2,
}


@statement(
    paper=PAPER,
    number="sec3.1.text",
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS,
    text="f(X)_i has sensitivity 1 but f(X)_i - n/2 only 1/2; the noise on it is exactly C times larger than that on "
    "n/2; with a new estimate of n/2 for each query the error would match the standard Gaussian mechanism.",
    formula=r"|x_i - 1/2| \leq 1/2,\quad \sigma_z/\sigma_\eta = C,\quad 2 \cdot \frac{2d}{4\mu^2} = \frac{d}{\mu^2}",
    printed=TEXT,
    named=(
        "sensitivity of f_i",
        "sensitivity of f_i - n/2",
    ),
    planted=(
        Plant("sensitivity of f_i", "1/2", {**TEXT, "sensitivity of f_i": lambda: Integer(1) / 2}),
        Plant("sensitivity of f_i - n/2", "1", {**TEXT, "sensitivity of f_i - n/2": lambda: Integer(1)}),
        Plant("ratio of the deviations", "C^2", {**TEXT, "ratio of the deviations": lambda C: C**2}),
        Plant("variance with fresh n/2", "d/2", {**TEXT, "variance with fresh n/2": lambda d, mu: d / (2 * mu**2)}),
    ),
)
def text_of_section_3_1(claim: Mapping[str, Formula]) -> Findings:
    """x_i and x_i - 1/2 over [0, 1]; z_i estimates f_i - n/2 and eta estimates n/2.

    With d fresh copies of n/2, the 2d numbers f_i - n/2 and n/2 move by d/4 + d/4 in squared length, so each gets noise
    of variance 2d/(4 mu^2), and their sum f_i of twice that.
    """
    grid = [Fraction(i, 8) for i in range(9)]
    spans = {"sensitivity of f_i": Fraction(0), "sensitivity of f_i - n/2": Fraction(1, 2)}
    for name, shift in spans.items():
        stated = Fraction(str(claim[name]()))
        largest = max(abs(value - shift) for value in grid)
        yield equal(
            name,
            Real.of(largest),
            Real.of(stated),
            scope="at the ends of [0,1]",
            argued="for all x in [0,1], by convexity",
        )
    vz, ve = family_variances(d, C**2, mu)
    yield identity("ratio of the deviations", vz / ve, claim["ratio of the deviations"](C) ** 2)
    squared_length = (s2 - s1 + d / Integer(4)).subs(s1, s2) + d / Integer(4)
    yield identity("variance with fresh n/2", 2 * squared_length / mu**2, claim["variance with fresh n/2"](d, mu))


class Halves(NamedTuple):
    """The loading of eta in the count, and what is subtracted from the outputs and from the count."""

    loading: int
    part: Formula


HALVES = Halves(2, lambda count: count / 2)


@statement(
    paper=PAPER,
    number="sec3.1.halves",
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS,
    text="If we subtract n~/2 from all outputs, x~_i - n~/2 = f(X)_i - n/2 + z_i estimates the difference between "
    "f(X)_i and n/2, and n~ - n~/2 = n/2 + eta is our estimate of n/2.",
    formula=r"\tilde{x}_i - \tilde{n}/2 = f(X)_i - n/2 + z_i,\quad \tilde{n} - \tilde{n}/2 = n/2 + \eta",
    printed=HALVES,
    planted=(
        Plant("the difference has z alone", "n + eta", HALVES._replace(loading=1)),
        Plant("half of the count has eta alone", "n~/3", HALVES._replace(part=lambda count: count / 3)),
    ),
)
def halves(claim: Halves) -> Findings:
    """Lines 4 and 5 of Algorithm 1: x~_i = f_i + eta + z_i and n~ = n + 2 eta."""
    f, n, eta, z = sympy.symbols("f n eta z", real=True)
    query, count = f + eta + z, n + claim.loading * eta
    scope = "all f, n, eta, z"
    yield identity("the difference has z alone", query - claim.part(count), f - n / 2 + z, scope=scope)
    yield identity("half of the count has eta alone", count - claim.part(count), n / 2 + eta, scope=scope)


class LargeC(NamedTuple):
    """The C from which on nothing is wanted, by c = d^(1/4); the most that A can still fall; the price of one of A."""

    start: Formula
    gain: int
    price: Formula


LARGE = LargeC(lambda c: c**2, 1, lambda d: d)


@statement(
    paper=PAPER,
    number="sec3.1.largeC",
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS,
    text="Due to diminishing returns we likely never want to use a value of C larger than sqrt d. By setting C = "
    "sqrt d we already get an estimate of the dataset size that is independent of d.",
    formula=r"A(\sqrt{d}) = 2,\quad C > \sqrt{d}:\ A(\sqrt{d}) - A(C) < 1,\ B(C) - B(\sqrt{d}) \geq d\,(A(\sqrt{d}) - "
    r"A(C))",
    printed=LARGE,
    planted=(
        Plant("independent of d", "C = d^(1/4)", LARGE._replace(start=lambda c: c)),
        Plant("less than 1 to gain", "0", LARGE._replace(gain=0)),
        Plant("a unit of A costs d of B", "2 d", LARGE._replace(price=lambda d: 2 * d)),
    ),
    note="what is wanted is the author's judgement; the returns that diminish are numbers",
)
def large_constants(claim: LargeC) -> Findings:
    """A = d/C^2 + 1 is the variance of n~, (A + B)/4 that of a query. At C = sqrt d, A = 2; A > 1 for every C.

    With C^2 = d + u: B grows by u and A falls by u/(d + u), so a unit of A costs at least d of B, a query d/4.
    """
    c, u = Symbol("c", positive=True), Symbol("u", positive=True)
    dim, start = c**4, claim.start(c) ** 2
    (b0, a0), (b1, a1) = ([4 * part for part in family_variances(dim, at, Integer(1))] for at in (start, start + u))
    yield identity("independent of d", a0 * c, 2 * c, scope="all d, C = sqrt d")
    least = sympy.cancel(claim.gain - (a0 - a1))
    yield positive("less than 1 to gain", least, {c: 1, u: 0}, scope="all d, all C > sqrt d")
    cost = sympy.cancel((b1 - b0) - claim.price(dim) * (a0 - a1))
    yield nonnegative("a unit of A costs d of B", cost, {c: 1, u: 0}, scope="all d, all C > sqrt d")


FAMILY: Mapping[str, Formula] = {
    "total": lambda d, C: (d + C**2 + d / C**2 + 1) / 4,
    "A": lambda d, C: d / C**2 + 1,
    "B": lambda d, C: d + C**2,
    "gap": lambda d, C: (C - sqrt(d) / C) ** 2 / 4,
}


@statement(
    paper=PAPER,
    number="lem3.5",
    kind=StatementKind.LEMMA,
    expected=Standing.HOLDS,
    text="M(X) = g(X) + Z satisfies mu-GDP; estimating f(X) by post-processing, the total variance of the noise for "
    "each query is (d + C^2 + d/C^2 + 1)/(4 mu^2). (Proof: A = d/C^2 + 1, B = d + C^2, the variance is (A + B)/4.)",
    formula=r"V(C) = \frac{A + B}{4} = \frac{d + C^2 + d/C^2 + 1}{4},\quad V(C) - V(d^{1/4}) = \frac{(C - "
    r"\sqrt{d}/C)^2}{4}",
    printed=FAMILY,
    needs=("lem3.3",),
    planted=(
        Plant("variance of a query", "d/C for d/C^2", {**FAMILY, "total": lambda d, C: (d + C**2 + d / C + 1) / 4}),
        Plant("variance of n/2", "d/C^2", {**FAMILY, "A": lambda d, C: d / C**2}),
        Plant("variance of f_i - n/2", "d + C", {**FAMILY, "B": lambda d, C: d + C}),
        Plant("distance from the minimum", "/2 for /4", {**FAMILY, "gap": lambda d, C: (C - sqrt(d) / C) ** 2 / 2}),
    ),
    assumptions=("Lemma 3.3 for the privacy",),
)
def lemma_3_5(claim: Mapping[str, Formula]) -> Findings:
    """The covariance of h^-1 of N(0, (d + C^2) I), and the family's vz = B/4, ve = A/4."""
    pulled = pulled_back_covariance(d + C**2, C)
    vz, ve = family_variances(d, C**2, Integer(1))
    yield identity("variance of a query", pulled["query"], claim["total"](d, C))
    yield identity("variance of n/2", ve, claim["A"](d, C) / 4)
    yield identity("variance of f_i - n/2", vz, claim["B"](d, C) / 4)
    least = sum(family_variances(d, sqrt(d), Integer(1)))
    yield identity("distance from the minimum", pulled["query"] - least, claim["gap"](d, C))


@statement(
    paper=PAPER,
    number="lem3.5.min",
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS,
    text="The global minimum of (C^2 + d/C^2)/4 is at C = d^(1/4); A is decreasing in C, B is increasing in C.",
    formula=r"V(C) \geq V(d^{1/4}),\quad A'(C) < 0 < B'(C)",
    printed=lambda c: (c**4, 1),
    planted=(
        Plant("minimum", "C = sqrt(d)", lambda c: (c**2, 1)),
        Plant("A decreases", "A increases", lambda c: (c**4, -1)),
        Plant("B increases", "B decreases", lambda c: (c**4, -1)),
    ),
)
def minimum(claim: Formula) -> Findings:
    """With d = c^4 at the claimed minimiser C = c: V(C) - V(c) is a square over C^2; A' = -2 d/C^3, B' = 2 C."""
    c = Symbol("c", positive=True)
    dim, sign = claim(c)
    vz, ve = family_variances(dim, C**2, Integer(1))
    total = vz + ve
    factor = sympy.cancel(total - total.subs(C, c)) * 4 * C**2
    yield identity("minimum", factor, (C**2 - c**2) ** 2, scope="all d, C > 0")
    falling, rising = -sign * sympy.diff(4 * ve, C) * C**3 / dim, sign * sympy.diff(4 * vz, C) / C
    yield positive("A decreases", falling, {C: 1, c: 1}, scope="all d, C > 0 (-A' C^3/d is a constant)")
    yield positive("B increases", rising, {C: 1, c: 1}, scope="all d, C > 0 (B'/C is a constant)")


@statement(
    paper=PAPER,
    number="fig2",
    kind=StatementKind.FIGURE,
    expected=Standing.HOLDS,
    text="d = 10000: the minimum is at C = 10; at C = 100 the variance for each query is (d + 1)/2 = 5000.5, roughly "
    "half of 10000, with A = 2.",
    formula=r"V(10) = 2550.25,\quad V(100) = 5000.5,\quad A(100) = 2",
    printed={"V(10)": "2550.25", "V(100)": "5000.5", "A(100)": "2"},
    named=(
        "V(10)",
        "V(100)",
        "A(100)",
    ),
    planted=(
        Plant("V(10)", "2550.5", {"V(10)": "2550.5", "V(100)": "5000.5", "A(100)": "2"}),
        Plant("V(100)", "5000", {"V(10)": "2550.25", "V(100)": "5000", "A(100)": "2"}),
        Plant("A(100)", "1", {"V(10)": "2550.25", "V(100)": "5000.5", "A(100)": "1"}),
    ),
)
def figure_2(numbers: Mapping[str, str]) -> Findings:
    """V = (A + B)/4 with the family's variances, in rationals."""
    dim, one = Fraction(10_000), Fraction(1)
    values = {
        "V(10)": sum(family_variances(dim, Fraction(100), one)),
        "V(100)": sum(family_variances(dim, Fraction(10_000), one)),
        "A(100)": 4 * family_variances(dim, Fraction(10_000), one)[1],
    }
    for name, value in values.items():
        yield equal(name, Real.of(Fraction(numbers[name])), Real.of(value), scope="d = 10000, exactly")


RELEASES: Mapping[str, Formula] = {
    "Var(f_i)": lambda vz, ve: vz + ve,
    "Var(n)": lambda vz, ve: 4 * ve,
}


@statement(
    paper=PAPER,
    number="smallC",
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS_WITH_CAVEAT,
    text="We get no benefit from setting the parameter C < d^(1/4) because the increased magnitude of the correlated "
    "noise results in worse estimates both of n and f(X)_i.",
    formula=r"C < d^{1/4}:\ V(C) > V(d^{1/4}),\ A(C) > A(d^{1/4});\quad \mathrm{Var}(f_i - f_k) = (d + C^2)/2",
    printed=RELEASES,
    caveat=Reading(
        "read as: no statistic of the release gets better; a contrast f_i - f_k has variance (d + C^2)/2, less for "
        "small C",
        {**RELEASES, "Var(f_i - f_k)": lambda vz, ve: 2 * vz},
    ),
    corrected=Reading("worse for every f_i and for n; better for contrasts, down to d/2 as C tends to 0", RELEASES),
    planted=(
        Plant("Var(f_i)", "of the independent part alone", {**RELEASES, "Var(f_i)": lambda vz, ve: vz}),
        Plant("Var(n)", "of B/C", {**RELEASES, "Var(n)": lambda vz, ve: vz}),
        Plant("Var(f_i - f_k)", "a contrast", {**RELEASES, "Var(f_i - f_k)": lambda vz, ve: 2 * vz}),
    ),
)
def small_constants(variances: Mapping[str, Formula]) -> Findings:
    """d = c^4 and C = c/(1 + t) with t > 0: each variance minus its value at C = c, divided by t."""
    c, t = Symbol("c", positive=True), Symbol("t", positive=True)
    for name, variance in variances.items():
        at_c, below = (variance(*family_variances(c**4, constant**2, Integer(1))) for constant in (c, c / (1 + t)))
        growth = sympy.cancel((below - at_c) / t)
        yield nonnegative(name, growth, {c: 1, t: 0}, scope="all d >= 1, all C < d^(1/4)")


class Estimate(NamedTuple):
    """Variance of the independent noise, and by how much the estimate of n moves with one record."""

    variance: Formula
    moves: int


@statement(
    paper=PAPER,
    number="lem3.6",
    kind=StatementKind.LEMMA,
    expected=Standing.HOLDS_WITH_CAVEAT,
    text="Assume that we have access to an estimate n~ of the dataset size. Then f(X) - n 1/2 + n~ 1/2 + Z, Z ~ N(0, "
    "d/(4 mu^2) I), satisfies mu-GDP under add/remove.",
    formula=r"\mu_x^2 = \mu^2\left(1 - \frac{4 \sum_i x_i(1-x_i)}{d}\right);\quad \tilde{n} = n:\ \mu_x^2 = 4\mu^2 "
    r"s_2/d",
    printed=Estimate(lambda d, mu: d / (4 * mu**2), 0),
    caveat=Reading(
        "n~ must not depend on the dataset, or be paid for: with n~ = n the release is f + N(0, d/4), of parameter 2 "
        "mu",
        Estimate(lambda d, mu: d / (4 * mu**2), 1),
    ),
    corrected=Reading(
        "mu-GDP, and exactly so, if n~ is independent of the dataset",
        Estimate(lambda d, mu: d / (4 * mu**2), 0),
    ),
    planted=(
        Plant("no record exceeds mu", "d/(8 mu^2)", Estimate(lambda d, mu: d / (8 * mu**2), 0)),
        Plant("every binary record attains mu", "d/(2 mu^2)", Estimate(lambda d, mu: d / (2 * mu**2), 0)),
    ),
    assumptions=("the estimate of n is independent of the dataset",),
)
def lemma_3_6(claim: Estimate) -> Findings:
    """The release moves by x - (1 - m)/2 per coordinate, m the move of n~: squared length s2 - (1-m) s1 + (1-m)^2
    d/4."""
    rest = 1 - claim.moves
    form = (s2 - rest * s1 + Integer(rest) ** 2 * d / 4) / claim.variance(d, mu) / mu**2
    u = Symbol("u", nonnegative=True)  # s2 = d - u
    slack = sympy.cancel((1 - form).subs(s1, s2 + e).subs(s2, d - u))
    yield nonnegative("no record exceeds mu", slack, {d: 1, e: 0, u: 0}, scope="all d >= 1, mu > 0, all x in [0,1]^d")
    yield identity(
        "every binary record attains mu", form.subs(s1, s2), Integer(1), scope="all d >= 1, mu > 0", dropped=(d, mu)
    )
