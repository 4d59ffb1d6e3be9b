"""How a wrong variant of Algorithm 1 is checked: for every d from its covariance, and by brute force over vertices."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

import sympy
from sympy import Integer, Rational, Symbol

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.mutant import Mutant
from dpverdict.mechanisms.quadratic_field import Surd
from dpverdict.proofs.identities import identity, nonnegative
from dpverdict.proofs.lebeda2024_algebra import Expr, Root, mu, r
from dpverdict.proofs.new_results_algebra import noise_covariance, result, solved_form, surd_form
from dpverdict.proofs.outcome import Findings
from dpverdict.proofs.statement import Formula, Plant, Statement
from dpverdict.proofs.vertices import every

Variances = tuple[Expr, Expr, int | None, Expr]
"""vz, ve, loading of the count, variance of the count's own noise."""


class Variant(NamedTuple):
    """A wrong variant by its parameters: variances of (d, mu, root), range of the data, copies of a record."""

    variances: Callable[[Expr, Expr, Root], Variances]
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)
    copies: int = 1
    replaced: bool = False
    ones: int | None = 1
    """Where the maximum is: 1 at the upper end of every entry, 0 at the lower; for replacement, 1 is opposite ends."""
    dims: tuple[int, ...] = (1, 2, 3, 4, 5, 6)


def correct(d: Expr, mu: Expr, root: Root) -> Variances:
    """Algorithm 1."""
    return (d + root(d)) / (4 * mu**2), (root(d) + 1) / (4 * mu**2), 2, 0 * mu


def square(value: Expr) -> Expr:
    """The square, in any field."""
    return value * value


def _moments(dim: Expr, share: Expr, variant: Variant) -> tuple[Expr, Expr, Expr]:
    """s1, s2 and the change of the count, of a vertex with ``share`` of its entries at the upper end."""
    low, high, copies = Rational(variant.low), Rational(variant.high), variant.copies
    if variant.replaced:
        return Symbol("y1", real=True), share * dim * (high - low) ** 2, Integer(0)
    s1 = dim * (low * (1 - share) + high * share)
    s2 = dim * (low**2 * (1 - share) + high**2 * share)
    return copies * s1, copies**2 * s2, Integer(copies)


def _at_share(dim: Expr, root: Root, share: Expr, variant: Variant) -> Expr:
    """mu_x^2 at such a vertex, from the entries of the covariance."""
    vz, ve, loading, own = variant.variances(dim, mu, root)
    s1, s2, count = _moments(dim, share, variant)
    if loading is not None and ve == 0:
        return s2 / vz + count**2 / own
    return solved_form(dim, vz, ve, loading, own, (s1, s2), count)


def differences(dim: int, variant: Variant) -> Iterator[tuple[Fraction, ...]]:
    """All differences between neighbours at vertices, the change of the count last."""
    count = Fraction(0 if variant.replaced else variant.copies)
    ends = (variant.low, variant.high)
    values: Iterable[Fraction] = [variant.copies * end for end in ends]
    if variant.replaced:
        values = sorted({first - second for first in ends for second in ends})
    for record in itertools.product(values, repeat=dim):
        yield (*record, count)


def brute_force(dim: int, variant: Variant, size: Fraction) -> Surd:
    """max over the vertices of v^T S^-1 v, S dense with entries in Q(sqrt d)."""
    vz, ve, loading, own = variant.variances(dim, size, Surd.root)
    form = surd_form(noise_covariance(dim, Surd.of(1) * vz, Surd.of(1) * ve, loading, own))
    width = dim if loading is None else dim + 1
    best = Surd.of(0)
    for difference in differences(dim, variant):
        value = form(difference[:width])
        best = value if value > best else best
    return best


def squared_of(mutant: Mutant) -> Formula:
    """The closed form of a variant of the zoo.

    Raises:
        InvalidValue: its true mu is infinite.
    """
    if mutant.squared is None:
        raise InvalidValue("mutant", mutant.name, "one of finite true mu", "register an infinite one on its own")
    return mutant.squared


def variant_of(
    number: str, text: str, formula: str, mutant: Mutant | Formula, variant: Variant, wrong: tuple[str, Formula]
) -> Statement:
    """Register one variant; the claim is the true mu^2 as a formula of (d, mu, root)."""
    claim = squared_of(mutant) if isinstance(mutant, Mutant) else mutant

    @result(
        number=f"leb.new.mut.{number}",
        text=text,
        formula=formula,
        printed=claim,
        planted=(
            Plant("attained", *wrong),
            Plant("all vertices", *wrong),
            Plant("no record exceeds it", "a thousandth less", lambda d, mu, root: claim(d, mu, root) * 999 / 1000),
        ),
    )
    def check(squared: Formula) -> Findings:
        """The value at the worst vertex and at every other share of ones; and the largest over all vertices."""

        def root(argument: Expr) -> Expr:
            return r if argument == r**2 else sympy.sqrt(argument)

        value = squared(r**2, mu, root)
        worst = _at_share(r**2, root, Integer(variant.ones or 0), variant)
        yield identity("attained", worst, value, scope="all d >= 1, all mu > 0")
        t = Symbol("t", nonnegative=True)
        slack = sympy.cancel(sympy.together((value - _at_share(r**2, root, 1 / (1 + t), variant)).subs(mu, 1)))
        yield nonnegative("no record exceeds it", slack, {r: 1, t: 0}, scope="all d >= 1, every share 1/(1+t) of ones")
        sizes = (Fraction(1), Fraction(3, 7))
        yield every(
            "all vertices",
            [(dim, size) for dim in variant.dims for size in sizes],
            lambda case: brute_force(case[0], variant, case[1]) == Surd.of(squared(*case, Surd.root)),
            scope=f"d = {variant.dims[0]}..{variant.dims[-1]}, mu = 1 and 3/7, all vertices, in Q(sqrt d)",
            show=lambda case: f"d = {case[0]}, mu = {case[1]}",
        )

    return check
