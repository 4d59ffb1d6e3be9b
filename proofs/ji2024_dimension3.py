"""Ji and Li 2024, abstract: the claim at M = 3, where it is true: on the grid by enclosures, and for all parameters."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product

from sympy import Integer, Rational, pi, sqrt, symbols

from dpverdict.balls import Real, ball
from dpverdict.proofs.identities import identity, nonnegative, positive
from dpverdict.proofs.ji2024_algebra import (
    GRID,
    GRID_WORDS,
    PAPER,
    Variance,
    delta,
    epsilon,
    printed_variance,
    psi,
    shown,
    true_delta,
)
from dpverdict.proofs.ji2024_dimension3_parts import FIRST, SECOND
from dpverdict.proofs.outcome import Finding, Findings, Kind, Method, Standing
from dpverdict.proofs.statement import Formula, Plant, statement
from dpverdict.proofs.vertices import every


def _scaled(factor: Fraction) -> Variance:
    return lambda *of: Real(lambda: printed_variance(*of).ball() * ball(factor))


@statement(
    paper=PAPER,
    number="claim.M3",
    kind=Kind.CLAIM,
    expected=Standing.HOLDS,
    text="The R1SMG mechanism achieves (eps, delta)-DP guarantee on query results in R^3: sigma^2 = 2/(eps psi), psi = "
    "(2 delta/pi)^2. (For M = 3, on the grid.)",
    formula=r"\sigma = \frac{\pi}{\delta\sqrt{2\varepsilon}}",
    printed=printed_variance,
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
    kind=Kind.CLAIM,
    expected=Standing.HOLDS,
    text="The R1SMG mechanism achieves (eps, delta)-DP guarantee on query results in R^3: sigma^2 = 2/(eps psi), psi = "
    "(2 delta/pi)^2. (For M = 3, every eps > 0, every delta in (0, 1].)",
    formula=r"\delta(\varepsilon) \leq \sqrt{\frac{2}{\pi}}\,\frac{\sqrt{2} + 0.236}{\sigma\sqrt{\varepsilon}} "
    r"\leq 0.6\,\delta,\quad \sigma = \frac{\pi}{\delta\sqrt{2\varepsilon}}",
    printed=PROOF,
    planted=(
        Plant("sigma at M = 3", "exponent 2/(M-1)", {**PROOF, "psi": lambda m, f: psi(m, f) ** ((m - 2) / (m - 1))}),
        Plant("two parts of the loss", "rest (1-a) b", {**PROOF, "rest": lambda a, b: (1 - a) * b}),
        Plant("the rest is not negative", "-(1-a)(1-b)", {**PROOF, "rest": lambda a, b: -(1 - a) * (1 - b)}),
        Plant("the sum is below 0.6 delta", "0.5 delta", {**PROOF, "share": lambda: Rational(1, 2)}),
        Plant("enclosures of the curve", "0.15 delta", {**PROOF, "share": lambda: Rational(15, 100)}),
    ),
    assumptions=("claim.M3.part1 and claim.M3.part2, the two bounds",),
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
    yield positive("the sum is below 0.6 delta", claim["share"]() - whole, {}, scope=always)
    share = Fraction(str(claim["share"]()))
    levels, failures = ("1e-3", "445/1000", "10", "100"), ("9/10", "1e-2", "1e-12")
    yield every(
        "enclosures of the curve",
        [(Fraction(level), Fraction(failure)) for level, failure in product(levels, failures)],
        lambda cell: Fraction(true_delta(printed_variance, 3, cell).upper) <= share * cell[1],
        scope=f"eps in {{{', '.join(levels)}}}, delta in {{{', '.join(failures)}}}",
        method=Method.BALLS,
        show=lambda cell: f"{shown(cell)}: {true_delta(printed_variance, 3, cell).show(6)}",
    )
