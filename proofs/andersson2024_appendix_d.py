"""Andersson et al. 2024, appendix D: heterogeneous composition."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import NamedTuple

import sympy
from flint import arb
from sympy import Integer, Rational, Symbol, exp

from dpverdict.balls import Real, ball
from dpverdict.proofs.andersson2024_appendix import x, y
from dpverdict.proofs.andersson2024_balls import DELTAS, VECTORS, certainly_below, norms, randomised_response
from dpverdict.proofs.andersson2024_trees import PAPER, Expr
from dpverdict.proofs.identities import identity, nonnegative
from dpverdict.proofs.outcome import Findings, Kind, Method, Standing
from dpverdict.proofs.statement import Formula, Plant, statement
from dpverdict.proofs.vertices import every


class Composition(NamedTuple):
    """The drift sum g(e_j) e_j and the factor under the root, of sqrt(c ln(1/delta) sum e_j^2)."""

    drift: Formula
    factor: int


COMPOSITION = Composition(lambda e: (e.exp() - 1) / (e.exp() + 1), 2)


@statement(
    paper=PAPER,
    number="lemD.1",
    kind=Kind.LEMMA,
    expected=Standing.HOLDS,
    text="For epsilon_j > 0 and 0 < delta < 1, epsilon_j-DP mechanisms satisfy (eps, delta)-DP under composition for "
    "eps = sum (e^eps_j - 1)/(e^eps_j + 1) eps_j + sqrt(2 ln(1/delta) sum eps_j^2).",
    formula=r"\tilde\varepsilon = \sum_j\,\frac{e^{\varepsilon_j}-1}{e^{\varepsilon_j}+1}\,\varepsilon_j + "
    r"\sqrt{2\ln(1/\delta)\sum_j\,\varepsilon_j^2}",
    printed=COMPOSITION,
    planted=(
        Plant(
            "mean of one loss",
            "half the drift",
            COMPOSITION._replace(drift=lambda e: (e.exp() - 1) / (e.exp() + 1) / 2),
        ),
        Plant("Hoeffding's exponent", "ln for 2 ln", COMPOSITION._replace(factor=1)),
        Plant("exact composition", "without the root", COMPOSITION._replace(factor=0)),
    ),
    assumptions=(
        "randomised response dominates every epsilon_j-DP mechanism, also adaptively (Kairouz, Oh and Viswanath)",
        "Hoeffding's inequality: P[S - E S > t] <= exp(-2 t^2/sum (b_j - a_j)^2)",
    ),
)
def lemma_d_1(claim: Composition) -> Findings:
    """P[L > eps] <= delta is enough. The loss of randomised response is +-eps_j, of mean eps_j tanh(eps_j/2)."""

    class Symbolic:
        """A symbol with the method that balls have."""

        def exp(self) -> Expr:
            return exp(x)

    mean = x * exp(x) / (1 + exp(x)) - x / (1 + exp(x))
    yield identity("mean of one loss", mean, x * claim.drift(Symbolic()), scope="all eps_j > 0")
    delta, square = Symbol("delta", positive=True), Symbol("S", positive=True)  # sum of eps_j^2
    excess = claim.factor * sympy.log(1 / delta) * square
    yield identity(
        "Hoeffding's exponent", exp(-2 * excess / (4 * square)), delta, scope="all d, eps_j > 0, 0 < delta < 1"
    )

    def bound(vector: tuple[str, ...], delta: str) -> arb:
        drift = sum((claim.drift(ball(e)) * ball(e) for e in vector), arb(0))
        return drift + (-claim.factor * ball(delta).log() * ball(norms(vector)[1])).sqrt()

    cases = list(product(VECTORS, DELTAS))
    yield every(
        "exact composition",
        cases,
        lambda case: certainly_below(Real(lambda: randomised_response(case[0], bound(*case))), Real.of(case[1])),
        scope=f"{len(VECTORS)} vectors of up to 100 epsilons, {len(DELTAS)} deltas, exact randomised response",
        method=Method.BALLS,
        show=lambda case: f"eps_j = {', '.join(case[0][:6])}, delta = {case[1]}",
    )


EQUATION_1: Mapping[str, Expr] = {"half": Rational(1, 2), "square": Rational(1, 4)}


@statement(
    paper=PAPER,
    number="eq1",
    kind=Kind.EQUATION,
    expected=Standing.HOLDS,
    text="Since (e^x - 1)/(e^x + 1) <= x/2, (eps, delta)-DP is also satisfied for eps = (1/2) sum eps_j^2 + sqrt(2 "
    "ln(1/delta) sum eps_j^2).",
    formula=r"\frac{e^x-1}{e^x+1} = \tanh(x/2) \leq \frac{x}{2}",
    printed=EQUATION_1,
    planted=(
        Plant("equal at 0", "x/2 - 1/9", {**EQUATION_1, "at0": Rational(-1, 9)}),
        Plant("the difference increases", "x/3", {**EQUATION_1, "half": Rational(1, 3)}),
        Plant("the derivative is a square", "x/3", {**EQUATION_1, "half": Rational(1, 3)}),
    ),
)
def equation_1(claim: Mapping[str, Expr]) -> Findings:
    """x/2 - tanh(x/2) is 0 at 0, and its derivative is tanh(x/2)^2/2 >= 0."""
    gap = claim["half"] * y + claim.get("at0", Integer(0)) - (exp(y) - 1) / (exp(y) + 1)
    yield identity("equal at 0", gap.subs(y, 0), Integer(0), scope="x = 0")
    slope = sympy.diff(gap, y)
    yield identity("the derivative is a square", slope, ((exp(y) - 1) / (exp(y) + 1)) ** 2 / 2, scope="all real x")
    u = Symbol("u", positive=True)  # e^x >= 1
    yield nonnegative(
        "the difference increases", sympy.simplify(slope.subs(y, sympy.log(u))), {u: 1}, scope="all x >= 0"
    )
