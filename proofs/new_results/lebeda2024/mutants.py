"""Results of this project: the true parameter of wrong variants of Algorithm 1, for every d, at mu = 1 unless written.

r = sqrt d. The closed forms are those of the zoo, `dpverdict.mechanisms.broken`; each is derived again from the entries
of the covariance, for every d, and compared with brute force over all vertices in the field Q(sqrt d).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

import sympy
from sympy import Integer, Rational, Symbol

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.broken import by_name, correlated
from dpverdict.mechanisms.broken.mutant import Mutant
from dpverdict.numerics.exact import Surd
from dpverdict.proofs.checks.identities import Expr, identity, nonnegative
from dpverdict.proofs.checks.outcome import Findings
from dpverdict.proofs.checks.statement import Formula, Plant, Statement, result
from dpverdict.proofs.checks.vertices import every, shared_noise_covariance
from dpverdict.proofs.lebeda2024.notation import Root, mu, r
from dpverdict.proofs.new_results.lebeda2024.notation import solved_form, surd_form

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
    form = surd_form(shared_noise_covariance(dim, Surd.of(1) * vz, Surd.of(1) * ve, loading, own))
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
        confirms={"all vertices": "attained"},
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
            over="d, mu: vertices, in Q(sqrt d)",
            cases=2 * len(variant.dims),
            show=lambda case: f"d = {case[0]}, mu = {case[1]}",
        )

    return check


VARIANTS = (
    variant_of(
        "M0",
        "M0, the correct Algorithm 1: the true mu^2 is mu^2, for every d.",
        r"\mu_{true}^2 = \mu^2",
        lambda d, mu, root: mu**2,
        Variant(correct),
        ("twice", lambda d, mu, root: 2 * mu**2),
    ),
    variant_of(
        "M1b",
        "M1b, a fresh eta_i for every query and for the count: true mu^2 = (4d + r + 1)/(r + 1)^2.",
        r"\mu_{true}^2 = \mu^2\,\frac{4d + r + 1}{(r + 1)^2}",
        by_name("M1b"),
        Variant(lambda d, mu, root: (square(root(d) + 1) / (4 * mu**2), 0 * mu, 0, (root(d) + 1) / mu**2)),
        ("r + 2 for r + 1", lambda d, mu, root: mu**2 * (4 * d + root(d) + 2) / square(root(d) + 1)),
    ),
    variant_of(
        "M1c",
        "M1c, a fresh eta_i for every query, n not released: true mu^2 = 4d/(r + 1)^2, more than 1 iff d >= 2.",
        r"\mu_{true}^2 = \mu^2\,\frac{4d}{(r + 1)^2}",
        by_name("M1c"),
        Variant(lambda d, mu, root: (square(root(d) + 1) / (4 * mu**2), 0 * mu, None, 0 * mu)),
        ("d + 1 for d", lambda d, mu, root: mu**2 * 4 * (d + 1) / square(root(d) + 1)),
    ),
    variant_of(
        "M2",
        "M2, the variance of eta multiplied by c: true mu^2 = (r + 1/c)/(r + 1); c = 1/2: (r + 2)/(r + 1).",
        r"\mu_{true}^2 = \mu^2\,\frac{r + 1/c}{r + 1}",
        correlated.scaled_shared_variance(),
        Variant(lambda d, mu, root: (*correct(d, mu, root)[:1], (root(d) + 1) / (8 * mu**2), 2, 0 * mu)),
        ("r + 1", lambda d, mu, root: mu**2 * (root(d) + 3) / (root(d) + 1)),
    ),
    variant_of(
        "M4",
        "M4, the variance of z_i is d/4: true mu^2 = (r + 2)/(r + 1).",
        r"\mu_{true}^2 = \mu^2\,\frac{r + 2}{r + 1}",
        correlated.scaled_independent_variance(),
        Variant(lambda d, mu, root: (d / (4 * mu**2), *correct(d, mu, root)[1:])),
        ("r + 3", lambda d, mu, root: mu**2 * (root(d) + 3) / (root(d) + 1)),
    ),
    variant_of(
        "M5",
        "M5, Algorithm 1 under replacement: true mu^2 = 4r/(r + 1), tending to 4.",
        r"\mu_{true}^2 = \mu^2\,\frac{4r}{r + 1}",
        correlated.used_under_replacement(),
        Variant(correct, replaced=True, dims=(1, 2, 3, 4, 5)),
        ("2r", lambda d, mu, root: mu**2 * (4 * root(d) + 1) / (root(d) + 1)),
    ),
    variant_of(
        "M6b",
        "M6b, the count released as n + eta: true mu^2 = 4 for every d, at the all-zero record.",
        r"\mu_{true}^2 = 4\mu^2",
        by_name("M6b"),
        Variant(lambda d, mu, root: (*correct(d, mu, root)[:2], 1, 0 * mu), ones=0),
        ("5", lambda d, mu, root: 5 * mu**2),
    ),
    variant_of(
        "M6c",
        "M6c, the count released as n - 2 eta: true mu^2 = (9r + 1)/(r + 1), at the all-ones record.",
        r"\mu_{true}^2 = \mu^2\,\frac{9r + 1}{r + 1}",
        by_name("M6c"),
        Variant(lambda d, mu, root: (*correct(d, mu, root)[:2], -2, 0 * mu)),
        ("9r + 2", lambda d, mu, root: mu**2 * (9 * root(d) + 2) / (root(d) + 1)),
    ),
    variant_of(
        "M7",
        "M7, data in [-1, 1], not clipped: true mu^2 = (9r + 1)/(r + 1).",
        r"\mu_{true}^2 = \mu^2\,\frac{9r + 1}{r + 1}",
        correlated.unclipped(),
        Variant(correct, low=Fraction(-1), ones=0),
        ("9r + 2", lambda d, mu, root: mu**2 * (9 * root(d) + 2) / (root(d) + 1)),
    ),
    variant_of(
        "M7ab",
        "M7', data in [a, b] = [0, 3/2], not clipped: true mu^2 = (max((2a-1)^2, (2b-1)^2) r + 1)/(r + 1) = "
        "(4r + 1)/(r + 1).",
        r"\mu_{true}^2 = \mu^2\,\frac{\max((2a-1)^2, (2b-1)^2)\,r + 1}{r + 1}",
        correlated.unclipped(Fraction(0), Fraction(3, 2), name="M7ab"),
        Variant(correct, high=Fraction(3, 2)),
        ("4r + 2", lambda d, mu, root: mu**2 * (4 * root(d) + 2) / (root(d) + 1)),
    ),
    variant_of(
        "M8",
        "M8, standard deviations set to the intended variances: true mu^2 = 8 mu^4/(r + 1)^2.",
        r"\mu_{true}^2 = \frac{8\mu^4}{(r + 1)^2}",
        by_name("M8"),
        Variant(
            lambda d, mu, root: (
                square(correct(d, mu, root)[0]),
                square(correct(d, mu, root)[1]),
                2,
                0 * mu,
            )
        ),
        ("9 for 8", lambda d, mu, root: 9 * mu**4 / square(root(d) + 1)),
    ),
    variant_of(
        "M8b",
        "M8b, variances divided by 4 mu in place of 4 mu^2: the true mu^2 is mu.",
        r"\mu_{true}^2 = \mu",
        by_name("M8b"),
        Variant(lambda d, mu, root: (correct(d, mu, root)[0] * mu, correct(d, mu, root)[1] * mu, 2, 0 * mu)),
        ("2 mu", lambda d, mu, root: 2 * mu),
    ),
    variant_of(
        "M12",
        "M12, Lemma 3.6 with the true n as its estimate: true mu^2 = 4.",
        r"\mu_{true}^2 = 4\mu^2",
        by_name("M12"),
        Variant(lambda d, mu, root: (d / (4 * mu**2), 0 * mu, None, 0 * mu)),
        ("5", lambda d, mu, root: 5 * mu**2),
    ),
    variant_of(
        "M13",
        "M13, C = sqrt d in the embedding, noise still d + sqrt d: true mu^2 = 2r/(r + 1).",
        r"\mu_{true}^2 = \mu^2\,\frac{2r}{r + 1}",
        by_name("M13"),
        Variant(lambda d, mu, root: (*correct(d, mu, root)[:1], (d + root(d)) / (4 * d * mu**2), 2, 0 * mu)),
        ("2r + 1", lambda d, mu, root: mu**2 * (2 * root(d) + 1) / (root(d) + 1)),
    ),
    variant_of(
        "M17",
        "M17, a user contributes q = 3 records: true mu^2 = q^2.",
        r"\mu_{true}^2 = q^2\mu^2",
        correlated.several_records_per_user(3),
        Variant(correct, copies=3),
        ("q", lambda d, mu, root: 10 * mu**2),
    ),
)


def _first_eta(dim: int) -> list[list[Surd]]:
    """The covariance of M1d: eta_i + z_i, and 2 eta_1."""
    vz, ve, _, _ = correct(dim, Fraction(1), Surd.root)
    rows = [[vz + ve if i == k else Surd.of(0) for k in range(dim)] for i in range(dim)]
    last = [2 * ve, *[Surd.of(0)] * (dim - 1), 4 * ve]
    return [*([*row, last[i]] for i, row in enumerate(rows)), last]


@result(
    number="leb.new.mut.M1d",
    text="M1d, a fresh eta_i for every query, the count released as n + 2 eta_1: true mu^2 = 4(r - 1)/(r + 1) + 1/r.",
    formula=r"\mu_{true}^2 = \mu^2\left(\frac{4(r - 1)}{r + 1} + \frac{1}{r}\right)",
    printed=by_name("M1d").squared,
    confirms={"all vertices": "the all-ones record"},
    planted=(
        Plant("the all-ones record", "2/r", lambda d, mu, root: 4 * (root(d) - 1) / (root(d) + 1) + 2 / root(d)),
        Plant("all vertices", "2/r", lambda d, mu, root: 4 * (root(d) - 1) / (root(d) + 1) + 2 / root(d)),
    ),
)
def first_eta(squared: Formula) -> Findings:
    """The first query and the count form a 2 x 2 system, the same at x_1 = 0 and 1; the other queries are alone."""
    vz, ve = (r**2 + r) / 4, (r + 1) / 4
    pair = sympy.Matrix([[vz + ve, 2 * ve], [2 * ve, 4 * ve]])
    first = [(sympy.Matrix([[x, 1]]) * pair.inv() * sympy.Matrix([x, 1]))[0] for x in (0, 1)]
    values = sympy.Matrix([value + (r**2 - 1) / (vz + ve) for value in first])
    claim = squared(r**2, Integer(1), lambda _: r)
    yield identity("the all-ones record", values, sympy.Matrix([claim, claim]), scope="all d >= 1, x_1 = 0 and 1")

    def largest(dim: int) -> Surd:
        form = surd_form(_first_eta(dim))
        best = Surd.of(0)
        for record in itertools.product((0, 1), repeat=dim):
            value = form((*record, 1))
            best = value if value > best else best
        return best

    yield every(
        "all vertices",
        range(1, 7),
        lambda dim: largest(dim) == squared(dim, Fraction(1), Surd.root),
        over="d: vertices, in Q(sqrt d)",
        cases=6,
    )
