"""Notation of the checks of Lebeda (2024): symbols and forms for all d at once, in r = sqrt d.

The texts checked are the paper and the poster of the same title, as supplied, misprints included. There are d queries;
r = sqrt d, vz and ve are the variances of z_i and eta, C is the constant of the embedding, B = d + C^2 and A = B/C^2;
mu = 1 where it does not appear.

A record x enters only through s1 = sum x_i and s2 = sum x_i^2; e = s1 - s2 = sum x_i (1 - x_i) >= 0 is 0 exactly for
binary records, and j is their number of ones. Where sqrt d and sqrt(d + 1) both occur, d = ((s - 1/s)/2)^2 makes
both rational in s = sqrt d + sqrt(d + 1), so that inequalities for all d become inequalities between polynomials.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import sympy
from sympy import Symbol, sqrt, symbols

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.noise import queries_only_form, shared_noise_form
from dpverdict.proofs.checks.identities import Expr, nonnegative, positive
from dpverdict.proofs.checks.outcome import Finding

Root = Callable[[Any], Any]
"""sqrt in the field at hand."""

PAPER = "lebeda2024"
d, j = symbols("d j", positive=True, integer=True)
mu, C, r, s = symbols("mu C r s", positive=True)
s1, s2, e = symbols("s1 s2 e", nonnegative=True)
x = Symbol("x", real=True)


def released(vz: Expr, ve: Expr, loading: Expr = 2, dim: Expr = d) -> Expr:
    """mu^2 of a record with moments s1, s2: queries f + eta + z released with the count n + loading * eta."""
    return shared_noise_form(dim=dim, vz=vz, ve=ve, loading=loading, vw=0 * vz).at(s1, s2, 1)


def at_vertex(form: Expr) -> Expr:
    """The form at a binary record with j ones."""
    return form.subs({s1: j, s2: j})


def withheld(vz: Expr, ve: Expr, dim: Expr = d) -> Expr:
    """mu^2 of a record with moments s1, s2 when only the queries f + eta + z are released."""
    return queries_only_form(dim=dim, vz=vz, ve=ve).at(s1, s2, 0)


def two_roots(formula: Callable[[Expr, Root], Expr]) -> Expr:
    """formula(d, root) as a rational function of s = sqrt d + sqrt(d + 1), for d > 1; s > 1 + sqrt 2.

    Square roots of d, of d + 1 and of their products with squares are rational in s.
    """
    return sympy.cancel(sympy.together(formula(sympy.expand(((s - 1 / s) / 2) ** 2), _rational_root)))


def _rational_root(argument: Expr) -> Expr:
    """The square root of a rational function of s that is a square, positive at s = 10 and so for all d > 1."""
    parts = []
    for part in sympy.fraction(sympy.cancel(sympy.together(sympy.sympify(argument)))):
        constant, factors = sympy.factor_list(part, s)
        if any(power % 2 for _, power in factors):
            raise InvalidValue("argument", argument, "a square in s", "only roots of d and d + 1 are rational")
        parts.append(sqrt(constant) * sympy.prod(base ** (power // 2) for base, power in factors))
    root = parts[0] / parts[1]
    return root if root.subs(s, 10) > 0 else -root


S_AT_1 = Fraction(12, 5)
"""A lower bound of s = sqrt d + sqrt(d + 1) for d >= 1, where s = 1 + sqrt 2."""


def no_record_exceeds(name: str, form: Expr, square: Expr) -> Finding:
    """The form at s1 = s2 + e is at most ``square`` for all s2, e >= 0 and d >= 1; at mu = 1."""
    slack = sympy.cancel(sympy.together((square - form).subs(s1, s2 + e).subs(d, r**2).subs(mu, 1)))
    return nonnegative(name, slack, {r: 1, s2: 0, e: 0}, scope="all d >= 1, all x in [0,1]^d")


def shared_variance_is_private(name: str, shared_variance: Callable[[Expr, Root], Expr], scope: str) -> Finding:
    """Algorithm 1 with another variance of eta is 1-GDP for every d >= 1: mu^2 = d/(4 vz) + 1/(4 ve), as below."""
    return private_for_all_d(
        name,
        lambda dim, root: at_vertex(released((dim + root(dim)) / 4, shared_variance(dim, root), dim=dim)),
        scope,
    )


def private_for_all_d(name: str, true_square: Callable[[Expr, Root], Expr], scope: str) -> Finding:
    """true mu^2 <= 1 for every d >= 1, as a rational function of s; a violation for every d is shown as such."""
    excess = sympy.factor(two_roots(true_square) - 1)
    found = nonnegative(name, -excess, {s: S_AT_1}, scope=scope)
    if found.holds:
        return found
    always = positive(name, excess, {s: S_AT_1}, scope=scope)
    if not always.holds:
        return found
    places = "; ".join(
        f"d = {n}: true mu = {sympy.N(sqrt(true_square(sympy.Integer(n), sqrt)), 5)}" for n in (1, 2, 100)
    )
    words = f"every d >= 1 (positive coefficients), at every binary record: {places}, at mu = 1"
    return Finding(name=name, holds=False, method=found.method, scope=scope, witness=words)
