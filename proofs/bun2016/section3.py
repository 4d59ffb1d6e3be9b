"""Bun and Steinke 2016, section 3: pure differential privacy implies concentrated differential privacy."""

from __future__ import annotations

from typing import NamedTuple

import sympy
from sympy import Integer, Matrix, cosh, exp, log, symbols, tanh

from dpverdict.proofs.checks.identities import identity
from dpverdict.proofs.checks.outcome import Findings, Standing, StatementKind
from dpverdict.proofs.checks.statement import Formula, Plant, statement


class PureImpliesConcentrated(NamedTuple):
    """The bound on the divergence of order alpha, by eps and alpha, and what is subtracted from ln cosh x."""

    bound: Formula
    square: Formula


CLAIM = PureImpliesConcentrated(lambda eps, alpha: eps**2 * alpha / 2, lambda x: x**2 / 2)


@statement(
    paper="bun2016",
    number="prop3.3",
    kind=StatementKind.PROPOSITION,
    expected=Standing.HOLDS,
    text="Let P and Q be distributions with D_infinity(P || Q) <= eps and D_infinity(Q || P) <= eps. Then D_alpha(P || "
    "Q) <= eps^2 alpha/2 for all alpha > 1.",
    formula=r"D_\alpha(P \| Q) \leq \frac{1}{2}\varepsilon^2\alpha",
    printed=CLAIM,
    planted=(
        Plant("divergence of randomised response", "eps^2 alpha/4", CLAIM._replace(bound=lambda e, a: e**2 * a / 4)),
        Plant("u is at least v", "eps^2 alpha", CLAIM._replace(bound=lambda e, a: e**2 * a)),
        Plant("slope of ln cosh x - x^2/2", "x^2", CLAIM._replace(square=lambda x: x**2)),
        Plant("the slope falls from 0", "x^2", CLAIM._replace(square=lambda x: x**2)),
    ),
    assumptions=(
        "randomised response is the worst pair: convexity of the divergence (Bun and Steinke, in their proof)",
        "a function that is 0 at 0 and has a derivative -tanh(x)^2 <= 0 is not positive for x >= 0",
    ),
    restored="the text of the paper was not supplied: the statement is as it is quoted elsewhere",
)
def pure_implies_concentrated(claim: PureImpliesConcentrated) -> Findings:
    """For randomised response e^((alpha-1) D) = cosh(u)/cosh(v), u = (alpha - 1/2) eps, v = eps/2, and u >= v.

    (alpha - 1) eps^2 alpha/2 = (u^2 - v^2)/2: so the claim is ln cosh u - u^2/2 <= ln cosh v - v^2/2. That function
    falls: its derivative is tanh x - x, which is 0 at 0 and has the derivative -tanh(x)^2.
    """
    eps, alpha, x = symbols("epsilon alpha x", positive=True)
    p = exp(eps) / (1 + exp(eps))
    q = 1 - p
    u, v = (alpha - sympy.Rational(1, 2)) * eps, eps / 2
    moment = p * exp((alpha - 1) * eps) + q * exp(-(alpha - 1) * eps)  # E_P (p/q)^(alpha - 1)
    closed = (exp(u) + exp(-u)) / (exp(v) + exp(-v))
    gap = (alpha - 1) * claim.bound(eps, alpha) - (u**2 - v**2) / 2
    scope = "all eps > 0, alpha > 1"
    both = Matrix([sympy.expand(moment * (1 + exp(eps))), gap])
    wanted = Matrix([sympy.expand(sympy.simplify(closed * (1 + exp(eps)))), 0 * eps])
    yield identity("divergence of randomised response", both, wanted, scope=scope)
    t = symbols("t", nonnegative=True)  # alpha = 1 + t
    room = ((alpha - 1) * claim.bound(eps, alpha) * 2 - (u - v) * (u + v)).subs(alpha, 1 + t)
    yield identity("u is at least v", Matrix([(u - v).subs(alpha, 1 + t), room]), Matrix([t * eps, 0 * t]), scope=scope)
    function = log(cosh(x)) - claim.square(x)
    slope = sympy.diff(function, x)
    yield identity("slope of ln cosh x - x^2/2", slope.rewrite(exp), (tanh(x) - x).rewrite(exp), scope="all x > 0")
    second = sympy.diff(slope, x)
    falls = Matrix([second.rewrite(exp), slope.subs(x, 0) + 0 * x])
    yield identity(
        "the slope falls from 0", falls, Matrix([(-(tanh(x) ** 2)).rewrite(exp), Integer(0)]), scope="all x > 0"
    )
