"""Andersson et al. 2024: exact sampling of the noise."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import sympy
from sympy import Integer, Symbol

from dpverdict.balls import Real, ball
from dpverdict.mechanisms.discrete_laplace import DiscreteLaplace
from dpverdict.mechanisms.tree_counter import TreeCounter
from dpverdict.proofs.andersson2024_constants import equal_to_digits
from dpverdict.proofs.andersson2024_trees import PAPER, Expr
from dpverdict.proofs.boxes import rounds_to
from dpverdict.proofs.identities import identity
from dpverdict.proofs.outcome import Findings, Kind, Method, Standing
from dpverdict.proofs.statement import Formula, Plant, statement
from dpverdict.proofs.vertices import every

SAMPLING: Mapping[str, Formula] = {
    "law": lambda p, z: (1 - p) / (1 + p) * p**z,
    "variance": lambda p: 2 * p / (1 - p) ** 2,
    "first": lambda: "0.9908",
    "second": lambda: "0.724",
}


@statement(
    paper=PAPER,
    number="sampling",
    kind=Kind.TEXT,
    expected=Standing.HOLDS,
    text="(noise of the algorithms on a computer) Discrete Laplace noise, P(z) proportional to p^|z| with p = "
    "e^(-eps/h), keeps epsilon-DP exactly for counts; its variance is 2p/(1-p)^2, 0.9908 times 2 (h/eps)^2 at h = 3, "
    "eps = 1 and 0.724 times at h = 5, eps = 10.",
    formula=r"P(z) = \frac{1-p}{1+p}\,p^{|z|},\quad \mathrm{Var} = \frac{2p}{(1-p)^2}",
    printed=SAMPLING,
    planted=(
        Plant("a law", "1 - p", {**SAMPLING, "law": lambda p, z: (1 - p) * p**z}),
        Plant("a step costs eps/h", "p^(2z)", {**SAMPLING, "law": lambda p, z: (1 - p) / (1 + p) * p ** (2 * z)}),
        Plant("variance", "p/(1-p)^2", {**SAMPLING, "variance": lambda p: p / (1 - p) ** 2}),
        Plant("h = 3, eps = 1", "0.9910", {**SAMPLING, "first": lambda: "0.9910"}),
        Plant("h = 5, eps = 10", "0.720", {**SAMPLING, "second": lambda: "0.720"}),
        Plant("the project's law", "p/(1-p)^2", {**SAMPLING, "variance": lambda p: p / (1 - p) ** 2}),
    ),
)
def sampling(claim: Mapping[str, Formula]) -> Findings:
    """Geometric sums; a vertex moves by at most 1, so a coordinate's likelihood ratio is p or 1/p."""
    p, z = Symbol("p", positive=True), Symbol("z", integer=True, nonnegative=True)
    whole = claim["law"](p, Integer(0)) + 2 * _geometric(claim["law"], p, z, Integer(1))
    yield identity("a law", whole, Integer(1) + 0 * p, scope="all 0 < p < 1")
    ratio = sympy.simplify(claim["law"](p, z + 1) / claim["law"](p, z))
    yield identity("a step costs eps/h", ratio, p, scope="all 0 < p < 1, all z")
    squares = p * sympy.diff(p * sympy.diff(1 / (1 - p), p), p)  # the sum of z^2 p^z
    second = 2 * (1 - p) / (1 + p) * squares
    yield identity("variance", second, claim["variance"](p), scope="all 0 < p < 1")
    for name, height, epsilon, value in (
        ("h = 3, eps = 1", 3, 1, claim["first"]()),
        ("h = 5, eps = 10", 5, 10, claim["second"]()),
    ):
        yield rounds_to(name, _share(claim["variance"], Fraction(epsilon, height)), value, scope=name)
    yield every(
        "the project's law",
        [Fraction(1, 3), Fraction(2), Fraction(1, 50)],
        lambda rate: _matches(claim["variance"], rate),
        scope="`DiscreteLaplace` and `TreeCounter.variance_ratio`, rates 1/3, 2, 1/50, to 30 digits",
        method=Method.BALLS,
        show=lambda rate: f"rate {rate}",
    )


def _geometric(law: Formula, p: Expr, z: Expr, first: Expr) -> Expr:
    """The sum of a geometric law from ``first`` on: first term over 1 - ratio."""
    return law(p, first) / (1 - sympy.simplify(law(p, z + 1) / law(p, z)))


def _share(variance: Formula, rate: Fraction) -> Real:
    return Real(lambda: variance((-ball(rate)).exp()) * ball(rate) ** 2 / 2)


def _matches(variance: Formula, rate: Fraction) -> bool:
    counter = TreeCounter(horizon=13, epsilon=3 * rate, arity=3)  # three levels
    own = Real(lambda: variance((-ball(rate)).exp()))
    assert counter.height == 3
    return equal_to_digits(DiscreteLaplace(rate).variance(), own) and equal_to_digits(
        counter.variance_ratio(), _share(variance, rate)
    )
