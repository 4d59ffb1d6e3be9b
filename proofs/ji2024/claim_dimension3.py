"""Ji and Li 2024, abstract: the claim at M = 3, where it is true, on the grid by enclosures and for all parameters.

Notation of the two bounds from which it follows: k = |f(X) - f(X')|/sigma; lengths in units of the shift; r, rho the
distances of the output to f(X), f(X'); t the cosine of the angle at f(X), uniform on [-1, 1] for M = 3 (Archimedes);
u = 1 - 2rt = rho^2 - r^2; the density of r is sqrt(2/pi) k exp(-k^2 r^2/2). The privacy loss is L = k^2 u/2 +
log(1 + u/r^2).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product

import sympy
from sympy import Integer, Matrix, Rational, Symbol, exp, log, oo, pi, sqrt, symbols

from dpverdict.balls import Real, ball
from dpverdict.proofs.checks.identities import identity, nonnegative, positive
from dpverdict.proofs.checks.outcome import Finding, Findings, Method, Standing, StatementKind
from dpverdict.proofs.checks.statement import Formula, Plant, statement
from dpverdict.proofs.checks.vertices import every
from dpverdict.proofs.ji2024.notation import (
    GRID,
    GRID_WORDS,
    PAPER,
    RESTORED,
    Variance,
    delta,
    epsilon,
    printed_variance,
    psi,
    shown,
    true_delta,
)

y, lam, r, s, t, u, k, r0 = symbols("y lambda r s t u k r_0", positive=True)
z = Symbol("z", real=True)

FIRST: Mapping[str, Formula] = {
    "mean": lambda r, r0: (r - r0) ** 2 / (2 * r),
    "tail": lambda square: exp(-square / 2) / 4,
    "rate": lambda: Rational(9, 32),
    "bound": lambda rate: 1 / (8 * sqrt(rate)),
}


@statement(
    paper=PAPER,
    number="claim.M3.part1",
    kind=StatementKind.LEMMA,
    expected=Standing.HOLDS,
    text="M = 3, k^2 <= 2 eps/pi^2: E(1 - e^(eps/2 - k^2 u/2))_+ <= 0.236 sqrt(2/pi) k/sqrt(eps).",
    formula=r"E\left(1 - e^{\varepsilon/2 - k^2 u/2}\right)_+ \leq "
    r"\sqrt{\frac{2}{\pi}}\,\frac{k}{8\sqrt{9/32}\,\sqrt{\varepsilon}}",
    printed=FIRST,
    planted=(
        Plant("mean over the sphere", "(r-r0)^2/r", {**FIRST, "mean": lambda r, r0: (r - r0) ** 2 / r}),
        Plant("at most r/2", "(r+r0)^2/(2r)", {**FIRST, "mean": lambda r, r0: (r + r0) ** 2 / (2 * r)}),
        Plant("mean over the radius", "1/8", {**FIRST, "tail": lambda square: exp(-square / 2) / 8}),
        Plant("rate of decay", "9/8", {**FIRST, "rate": lambda: Rational(9, 8)}),
        Plant("over sqrt(eps)", "1/(9 sqrt(rate))", {**FIRST, "bound": lambda rate: 1 / (9 * sqrt(rate))}),
    ),
    assumptions=("e^x >= 1 + x",),
    new=True,
)
def first_part(claim: Mapping[str, Formula]) -> Findings:
    """1 - e^-x <= x, and k^2 u > eps needs t < -r0/r, r0 = (eps/k^2 - 1)/2 > 1: the mean is (k^2/2)(r-r0)^2/(2r).

    That is at most k^2 r/4; over the radius it gives e^(-k^2 r0^2/2)/4. As k^2 <= 2 eps/pi^2, k^2 r0^2/2 >= 9 eps/32.
    Last, e^(-c eps) <= 1/(1 + c eps) and (1 - sqrt(c eps))^2 >= 0.
    """
    mean = sympy.integrate(2 * r * z - 2 * r0, (z, r0 / r, 1)) / 2
    yield identity("mean over the sphere", mean, claim["mean"](r, r0), scope="all r >= r0 > 0")
    slack = r / 2 - claim["mean"](r, r0)
    yield nonnegative("at most r/2", slack.subs(r, r0 + t), {r0: 1, t: 0}, scope="all r >= r0 >= 1")
    integral = k**2 / 2 * sympy.integrate(r / 2 * exp(-(k**2) * r**2 / 2), (r, r0, oo))
    yield identity("mean over the radius", integral, claim["tail"](k**2 * r0**2))
    exponent = (u - 1) ** 2 / 8  # k^2 r0^2/2 in units of k^2, with u = eps/k^2
    slack = (exponent - claim["rate"]() * u).subs(u, pi**2 / 2 + t)
    yield nonnegative("rate of decay", slack, {t: 0}, scope="all eps >= pi^2 k^2/2")
    rate = claim["rate"]()
    gap = (1 - sqrt(rate * epsilon)) ** 2 / (8 * sqrt(rate) * (1 + rate * epsilon))
    yield identity("over sqrt(eps)", claim["bound"](rate) - sqrt(epsilon) / (4 * (1 + rate * epsilon)), gap)


SECOND: Mapping[str, Formula] = {
    "ends": lambda lam: (1 / (lam + 1), 1 / (lam - 1)),
    "inner": lambda r, lam: r - lam**2 / 2 * ((r**2 - 1) / 2 * log((1 + r) / (1 - r)) + r),
    "K": lambda y, atanh: ((1 + y**2) * atanh / y - 1) / (2 * y),
    "atanh": lambda y: y / sqrt(1 - y**2),
    "bound": lambda: sqrt(2),
}


@statement(
    paper=PAPER,
    number="claim.M3.part2",
    kind=StatementKind.LEMMA,
    expected=Standing.HOLDS,
    text="M = 3: E(1 - e^(eps/2)/(1 + u/r^2))_+ <= sqrt(2/pi) k K, with y = e^(-eps/4) and K = ((1 + y^2) atanh(y)/y - "
    "1)/(2y) <= sqrt(2/eps).",
    formula=r"K = \frac{1}{2y}\left((1 + y^2)\,\frac{\mathrm{artanh}\,y}{y} - 1\right) "
    r"\leq \sqrt{\frac{2}{\varepsilon}},\quad y = e^{-\varepsilon/4}",
    printed=SECOND,
    planted=(
        Plant("ends of the spheres", "1/lambda", {**SECOND, "ends": lambda lam: (1 / lam, 1 / (lam - 1))}),
        Plant("antiderivatives", "r", {**SECOND, "inner": lambda r, lam: r}),
        Plant("closed form", "1/(2y) lost", {**SECOND, "K": lambda y, atanh: (1 + y**2) * atanh / y - 1}),
        Plant("atanh y <= y/sqrt(1-y^2)", "atanh y <= y", {**SECOND, "atanh": lambda y: y}),
        Plant("over sqrt(eps)", "1", {**SECOND, "bound": lambda: Integer(1)}),
    ),
    assumptions=("ln x <= x - 1",),
    new=True,
)
def second_part(claim: Mapping[str, Formula]) -> Findings:
    """exp(-k^2 r^2/2) <= 1 leaves K, the integral over r of the mean of (1 - lambda^2 r^2/rho^2)_+, lambda = 1/y.

    The sphere of radius r lies inside {rho > lambda r} up to r = 1/(lambda+1), and in part up to 1/(lambda-1).
    For the bound: atanh(y) <= y/c with c = sqrt(1 - y^2), and eps = 4 ln(1/y) <= 2 (1/y^2 - 1) = 2 (c/y)^2. So
    sqrt(eps) K <= (2 + c)/(sqrt 2 (1 + c)) <= sqrt 2.
    """
    inner_end, outer_end = claim["ends"](lam)
    edge = (1 - (lam**2 - 1) * r**2) / (2 * r)  # the t at which rho = lambda r
    found = Matrix([edge.subs(r, inner_end), edge.subs(r, outer_end)])
    yield identity("ends of the spheres", found, Matrix([1, -1]), scope="all lambda > 1")
    along = (z + lam**2 * r / 2 * log(r**2 + 1 - 2 * r * z)) / 2
    inner = claim["inner"](r, lam)
    outer = (log(r) - (lam**2 - 1) * r**2 / 2) / 4 + r / 2
    outer -= lam**2 / 4 * (r**2 * log((1 + r) / (lam * r)) + r - log(1 + r))
    whole_sphere = 1 - lam**2 * r * log((1 + r) / (1 - r)) / 2
    yield identity(
        "antiderivatives",
        Matrix([sympy.diff(along, z), sympy.diff(inner, r), sympy.diff(outer, r)]),
        Matrix(
            [
                (1 - lam**2 * r**2 / (r**2 + 1 - 2 * r * z)) / 2,
                whole_sphere,
                (edge + 1) / 2 - lam**2 * r * log((1 + r) / (lam * r)) / 2,
            ]
        ),
        scope="all lambda > 1, r > 0; the inner spheres for r < 1",
    )
    p, q = 1 / (lam + 1), 1 / (lam - 1)
    whole = inner.subs(r, p) - inner.subs(r, 0) + outer.subs(r, q) - outer.subs(r, p)
    closed = claim["K"](1 / lam, log((lam + 1) / (lam - 1)) / 2)
    whole, closed = (sympy.expand_log(side.subs(lam, 1 + u), force=True) for side in (whole, closed))
    yield identity("closed form", whole, closed, scope="all eps > 0 (lambda = 1 + u, u > 0)")
    cosine = 1 / (1 + s)  # c
    slope = sympy.diff(claim["atanh"](y), y) - 1 / (1 - y**2)
    in_cosine = sympy.simplify(slope.subs(y, sqrt(1 - cosine**2)))
    yield nonnegative("atanh y <= y/sqrt(1-y^2)", in_cosine, {s: 0}, scope="slopes, 0 <= y < 1; equal at 0")
    product = sqrt(2) * sqrt(1 - y**2) / y * claim["K"](y, claim["atanh"](y))
    slack = sympy.simplify((claim["bound"]() - product).subs(y, sqrt(1 - cosine**2)))
    yield nonnegative("over sqrt(eps)", slack, {s: 0}, scope="all eps > 0")


def _scaled(factor: Fraction) -> Variance:
    return lambda *of: Real(lambda: printed_variance(*of).ball() * ball(factor))


@statement(
    paper=PAPER,
    number="claim.M3",
    restored=RESTORED,
    kind=StatementKind.CLAIM,
    expected=Standing.HOLDS,
    text="The R1SMG mechanism achieves (eps, delta)-DP guarantee on query results in R^3: sigma^2 = 2/(eps psi), psi = "
    "(2 delta/pi)^2. (For M = 3, on the grid.)",
    formula=r"\sigma = \frac{\pi}{\delta\sqrt{2\varepsilon}}",
    printed=printed_variance,
    needs=("constants",),
    named=("delta(eps) <= delta",),
    planted=(Plant("delta(eps) <= delta", "sigma^2/100", _scaled(Fraction(1, 100))),),
    assumptions=(
        "delta(eps) does not decrease with the shift, so |f(X) - f(X')| = Delta decides (not used in claim.M3.all)",
    ),
)
def claim_in_dimension_three(variance: Variance) -> Findings:
    """delta(eps) is enclosed by rigorous quadrature along the surface {L = eps}; both directions are equal."""
    ratios, name, scope = [], "delta(eps) <= delta", f"M = 3, {GRID_WORDS}: 15 of 15 cells"
    for cell in GRID:
        found = true_delta(variance, 3, cell)
        if found.lower > cell[1]:
            words = f"{shown(cell)}: delta(eps) in {found.show(9)}"
            yield Finding(name=name, holds=False, method=Method.BALLS, scope=scope, witness=words)
            return
        ratios.append(Fraction(found.upper) / cell[1])
    yield Finding(
        name=name,
        holds=max(ratios) <= 1,
        method=Method.BALLS,
        scope=scope,
        margin=f"delta(eps) <= {float(max(ratios)):.4f} delta",
    )


a, b, s, t = symbols("a b s t", positive=True)

PROOF: Mapping[str, Formula] = {
    "psi": psi,
    "rest": lambda a, b: (1 - a) * (1 - b),
    "first": lambda: FIRST["bound"](FIRST["rate"]()),
    "second": SECOND["bound"],
    "share": lambda: Rational(6, 10),
}


@statement(
    paper=PAPER,
    number="claim.M3.all",
    restored=RESTORED,
    kind=StatementKind.CLAIM,
    expected=Standing.HOLDS,
    text="The R1SMG mechanism achieves (eps, delta)-DP guarantee on query results in R^3: sigma^2 = 2/(eps psi), psi = "
    "(2 delta/pi)^2. (For M = 3, every eps > 0, every delta in (0, 1].)",
    formula=r"\delta(\varepsilon) \leq \sqrt{\frac{2}{\pi}}\,\frac{\sqrt{2} + 0.236}{\sigma\sqrt{\varepsilon}} "
    r"\leq 0.6\,\delta,\quad \sigma = \frac{\pi}{\delta\sqrt{2\varepsilon}}",
    printed=PROOF,
    needs=(
        "claim.M3.part1",
        "claim.M3.part2",
        "constants",
    ),
    named=("the sum is below 0.6 delta",),
    confirms={"enclosures of the curve": "two parts of the loss"},
    planted=(
        Plant("sigma at M = 3", "exponent 2/(M-1)", {**PROOF, "psi": lambda m, f: psi(m, f) ** ((m - 2) / (m - 1))}),
        Plant("two parts of the loss", "rest (1-a) b", {**PROOF, "rest": lambda a, b: (1 - a) * b}),
        Plant("the rest is not negative", "-(1-a)(1-b)", {**PROOF, "rest": lambda a, b: -(1 - a) * (1 - b)}),
        Plant("the sum is below 0.6 delta", "0.5 delta", {**PROOF, "share": lambda: Rational(1, 2)}),
        Plant("enclosures of the curve", "0.15 delta", {**PROOF, "share": lambda: Rational(15, 100)}),
    ),
)
def claim_in_dimension_three_for_all(claim: Mapping[str, Formula]) -> Findings:
    """With k = |f(X) - f(X')|/sigma and u = rho^2 - r^2 the loss is L = k^2 u/2 + log(1 + u/r^2), and 1 - ab <= (1-a) +
    (1-b): delta(eps) = E(1 - e^(eps-L))_+ <= E(1 - e^(eps/2 - k^2 u/2))_+ + E(1 - e^(eps/2)/(1 + u/r^2))_+.

    (Where one part is negative, 1 - ab is at most the other.) delta <= 1 says k^2 <= 2 eps/pi^2, and both parts are
    below constants times k/sqrt(eps); their sum is below 0.6 pi k/sqrt(2 eps) <= 0.6 delta, for every shift up to
    Delta. Enclosures of the curve by quadrature in balls, which share nothing with this proof, agree.
    """
    yield identity("sigma at M = 3", 2 / (epsilon * claim["psi"](Integer(3), delta)), pi**2 / (2 * epsilon * delta**2))
    yield identity("two parts of the loss", (1 - a) + (1 - b) - (1 - a * b), claim["rest"](a, b))
    rest = claim["rest"](1 / (1 + s), 1 / (1 + t))
    yield nonnegative("the rest is not negative", rest, {s: 0, t: 0}, scope="0 < a, b <= 1")
    whole = sqrt(2 / pi) * (claim["first"]() + claim["second"]()) * sqrt(2) / pi
    always = "all eps > 0, 0 < delta <= 1"
    yield positive("the sum is below 0.6 delta", claim["share"]() - whole, {}, scope="the constant", argued=always)
    share = Fraction(str(claim["share"]()))
    levels, failures = ("1e-3", "445/1000", "10", "100"), ("9/10", "1e-2", "1e-12")
    yield every(
        "enclosures of the curve",
        [(Fraction(level), Fraction(failure)) for level, failure in product(levels, failures)],
        lambda cell: Fraction(true_delta(printed_variance, 3, cell).upper) <= share * cell[1],
        over="eps, delta",
        cases=12,
        method=Method.BALLS,
        show=lambda cell: f"{shown(cell)}: {true_delta(printed_variance, 3, cell).show(6)}",
    )
