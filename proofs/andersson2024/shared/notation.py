"""Notation of the checks of Andersson, Pagh and Torkamani (2024, arXiv:2408.07021v2), and its leading constants.

The text supplied had lost its inline formulas; they are restored from the definitions, and misprints of the words are
kept. T is the number of time steps, k the arity of the tree, h its height, A the T x T lower-triangular matrix of ones,
and log the logarithm to base 2. Errors are for epsilon = 1 where epsilon does not appear. A leading constant is
p(k)/log2(k)^m, with the arity at which it is smallest.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import sympy
from flint import arb

from dpverdict.balls import Real, precision
from dpverdict.mechanisms.streams.tree import TreeDigits
from dpverdict.proofs.checks.boxes import rounds_to, smaller
from dpverdict.proofs.checks.identities import Expr, identity
from dpverdict.proofs.checks.outcome import Finding, Findings, Method
from dpverdict.proofs.checks.statement import Formula
from dpverdict.proofs.checks.vertices import every

PAPER = "andersson2024"
RESTORED = "the formulas, which the text supplied has lost, from the definitions"
k = sympy.Symbol("k", integer=True, positive=True)
h = sympy.Symbol("h", integer=True, positive=True)
epsilon = sympy.Symbol("epsilon", positive=True)


class Constant(NamedTuple):
    """A leading constant, formula(k, ln k, ln 2), with the arity claimed to be best, and the value claimed there."""

    formula: Formula
    best: int
    value: str
    step: int
    slope: Formula
    """Has the sign of the derivative; of k and ln k."""


def at(claim: Constant, arity: int) -> Real:
    """The constant at an arity, in balls."""
    return Real(lambda: claim.formula(arb(arity), arb(arity).log(), arb(2).log()))


def symbolic(formula: Formula) -> Expr:
    """The constant in symbols, with ln 2 left as a symbol."""
    return formula(k, sympy.log(k), sympy.Symbol("ln2", positive=True))


def best_arity(
    claim: Constant,
    multiplier: Expr,
    project: Callable[[TreeDigits], Real],
    digits: Callable[[int], TreeDigits],
    scope: str,
) -> Findings:
    """The derivative's sign, the values beside the best arity, its decimals, and the constant of this project.

    Together with a proof that the slope changes its sign once, from - to +, the neighbours show the best arity.
    """
    slope = sympy.simplify(sympy.diff(sympy.log(symbolic(claim.formula)), k) * multiplier)
    yield identity("sign of the derivative", slope, claim.slope(k, sympy.log(k)), scope=scope)
    beside = [arity for arity in (claim.best - claim.step, claim.best + claim.step) if arity >= 2]
    checks = [
        smaller("best arity", at(claim, claim.best), at(claim, arity), scope=f"k = {claim.best} against k = {arity}")
        for arity in beside
    ]
    yield next((found for found in checks if not found.holds), checks[-1])
    yield rounds_to("value", at(claim, claim.best), claim.value, scope=f"k = {claim.best}")
    yield same_constant(claim, project, digits)


def same_constant(
    claim: Constant, project: Callable[[TreeDigits], Real], digits: Callable[[int], TreeDigits]
) -> Finding:
    """The project's constant is the claimed one, to 30 digits, at 12 arities."""

    def close(arity: int) -> bool:
        ours, theirs = project(digits(arity)), at(claim, arity)
        return equal_to_digits(ours, theirs)

    arities = range(claim.best % claim.step + 2 * claim.step, 60, 2 * claim.step)
    return every(
        "the project's constant", arities, close, over="k", cases=29 if claim.step == 1 else 14, method=Method.BALLS
    )


def equal_to_digits(left: Real, right: Real) -> bool:
    """Whether two numbers certainly agree to 30 digits; they cannot be shown to be equal by balls."""
    with precision(160):
        return bool(abs(left.ball() - right.ball()) < abs(right.ball()) * arb(10) ** -30)


def rational(number: Real) -> Fraction:
    """The value of a number that is rational."""
    if number.rational is None:
        raise ArithmeticError("the number is not rational")
    return number.rational
