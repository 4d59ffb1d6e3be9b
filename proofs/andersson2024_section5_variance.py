"""Andersson et al. 2024, section 5.2, Corollary 5.5: the variance of that noise."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import sympy
from sympy import Integer, Rational, Symbol, sqrt

from dpverdict.proofs.andersson2024_section5_2 import a, b, ell, lemma_scale
from dpverdict.proofs.andersson2024_trees import PAPER, Expr
from dpverdict.proofs.identities import identity, nonnegative
from dpverdict.proofs.outcome import Findings, Kind, Standing
from dpverdict.proofs.statement import Formula, Plant, Reading, statement


class Variance(NamedTuple):
    """The bound on the ratio of variances, its limit, and its limit at a fixed ell = ln(1/delta) (if claimed)."""

    bound: Expr
    limit: Expr
    fixed: Formula | None


VARIANCE = Variance((1 + sqrt(2)) ** 2 / 2, Integer(2), None)


@statement(
    paper=PAPER,
    number="cor5.5",
    kind=Kind.COROLLARY,
    expected=Standing.HOLDS_WITH_CAVEAT,
    text="The variance 2 lambda^2 of Lemma 5.4 is at most (4 D2^2/eps^2)(ln(1/delta) + eps/2): only a constant factor "
    "above that of Lemma A.3 whenever eps <= ln(1/delta), and the constant approaches 2 as eps/ln(1/delta) approaches "
    "zero.",
    formula=r"\frac{2\lambda^2}{\sigma^2} = \frac{(\sqrt{\ell}+\sqrt{\ell+\varepsilon})^2}{2\ln(1.25/\delta)} \leq "
    r"\frac{(1+\sqrt{2})^2}{2}",
    printed=VARIANCE,
    caveat=Reading(
        "read as a limit at fixed delta: it is less than 2 there", VARIANCE._replace(fixed=lambda ell: Integer(2))
    ),
    corrected=Reading(
        "the limit 2 needs delta -> 0 as well; at fixed delta it is 2 ell/(ell + ln 1.25), which is 1.937 at 1e-3",
        VARIANCE._replace(fixed=lambda ell: 2 * ell / (ell + sympy.log(Rational(5, 4)))),
    ),
    planted=(
        Plant("at most 4 (ell + eps/2)", "limit 5", VARIANCE._replace(limit=Rational(5, 2))),
        Plant("constant factor", "2.5", VARIANCE._replace(bound=Rational(5, 2))),
        Plant("limit as delta -> 0", "1", VARIANCE._replace(limit=Integer(1))),
        Plant("limit at fixed delta", "2 ell", VARIANCE._replace(fixed=lambda ell: 2 * ell)),
    ),
    assumptions=("Lemma 5.4 and Lemma A.3 as calibrations",),
)
def corollary_5_5(claim: Variance) -> Findings:
    """(sqrt u + sqrt v)^2 = 2 (u + v) - (sqrt v - sqrt u)^2; x = eps/ell and w = sqrt(1 + x) in 1..sqrt 2."""
    variance = 2 * lemma_scale(a, b, 1, sqrt(2)) ** 2  # in units of D2^2/eps^2
    yield identity(
        "at most 4 (ell + eps/2)",
        2 * claim.limit * (a**2 + (b**2 - a**2) / 2) - variance,
        (b - a) ** 2,
        scope="all ell, eps > 0",
    )
    s, x = Symbol("s", nonnegative=True), Symbol("x", positive=True)
    inside = sqrt(2) / (1 + s)
    yield nonnegative(
        "constant factor",
        claim.bound - (1 + inside) ** 2 / 2,
        {s: 0},
        scope="all eps <= ln(1/delta); ln(1.25/delta) > ln(1/delta) only helps",
    )
    ratio = ell * (1 + sqrt(1 + x)) ** 2 / (2 * (ell + sympy.log(Rational(5, 4))))
    at_zero = sympy.limit(ratio, x, 0)
    yield identity(
        "limit as delta -> 0", sympy.limit(at_zero, ell, sympy.oo), claim.limit, scope="eps/ell -> 0 and delta -> 0"
    )
    if claim.fixed is not None:
        yield identity("limit at fixed delta", at_zero, claim.fixed(ell), scope="all delta in (0, 1), eps -> 0")


@statement(
    paper=PAPER,
    number="sec5.2.norms",
    kind=Kind.TEXT,
    expected=Standing.HOLDS,
    text="While functions with low l1 sensitivity also have low l2 sensitivity, the converse does not hold.",
    formula=r"\Delta_2 \leq \Delta_1 \leq \sqrt{d}\,\Delta_2",
    printed=(1, lambda d: d),
    planted=(
        Plant("l2 is at most l1", "half of it", (Fraction(1, 4), lambda d: d)),
        Plant("l1 may be sqrt(d) times l2", "d^(1/4)", (1, lambda d: sqrt(d))),
    ),
)
def l1_and_l2(claim: tuple[Fraction | int, Formula]) -> Findings:
    """(|u| + |v|)^2 - u^2 - v^2 = 2 |u||v|, coordinate after coordinate; and the all-ones vector."""
    share, largest = claim
    u, v = Symbol("u", nonnegative=True), Symbol("v", nonnegative=True)
    yield nonnegative(
        "l2 is at most l1", Rational(share) * (u + v) ** 2 - u**2 - v**2, {u: 0, v: 0}, scope="all d, all f"
    )
    dim = Symbol("d", positive=True)
    yield identity("l1 may be sqrt(d) times l2", dim**2 / dim, largest(dim), scope="all d, f = x on {0,1}^d")
