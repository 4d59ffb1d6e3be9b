"""Lebeda 2024, section 4: disjoint groups, Algorithm 2 line by line, its misprinted constants, and its privacy."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from math import isqrt
from typing import NamedTuple

import sympy
from sympy import Integer, Matrix, Rational, sqrt

from dpverdict.mechanisms.core.neighbours import REPLACE_ONE
from dpverdict.mechanisms.core.noise import shared_noise_form
from dpverdict.mechanisms.queries.correlated import pulled_back_covariance, squared_sensitivity, to_embedding
from dpverdict.proofs.checks.identities import Expr, identity, nonnegative, positive
from dpverdict.proofs.checks.outcome import Finding, Findings, Method, Standing, StatementKind
from dpverdict.proofs.checks.statement import Formula, Plant, Reading, statement
from dpverdict.proofs.checks.vertices import binary_records, block_diagonal, every, form_of, shared_noise_covariance
from dpverdict.proofs.lebeda2024.notation import (
    PAPER,
    S_AT_1,
    C,
    Root,
    at_vertex,
    d,
    j,
    private_for_all_d,
    released,
    s,
    shared_variance_is_private,
    two_roots,
    x,
)

Row = tuple[int, ...]


LEMMA_4_1: tuple[Formula, Formula] = (lambda d: d, lambda d: 2 * d)


@statement(
    paper=PAPER,
    number="lem4.1",
    kind=StatementKind.LEMMA,
    expected=Standing.HOLDS_ON_RANGE,
    text="Adding N(0, d/mu^2) independently to each entry of f(X) satisfies mu-GDP under add/remove; the same under "
    "replacement with N(0, 2d/mu^2).",
    formula=r"\|x\|^2 \leq d,\qquad \|x - x'\|^2 \leq 2d",
    printed=LEMMA_4_1,
    needs=("lem2.1",),
    planted=(
        Plant("add/remove", "d - 1", (lambda d: d - 1, lambda d: 2 * d)),
        Plant("replacement, two rows or more", "d", (lambda d: d, lambda d: d)),
        Plant("replacement, one row", "d - 1", (lambda d: d, lambda d: d - 1)),
    ),
    assumptions=("Lemma 2.1", "every record is non-zero in one row at most"),
)
def lemma_4_1(variances: tuple[Formula, Formula]) -> Findings:
    """Squared l2 sensitivities: a record has one row of d entries in [0,1]; two records have at most two such rows.

    Tight for add/remove, and for replacement when there are two rows; with one row the sensitivity is sqrt d.
    """
    once, replaced = variances

    def largest(rows: int, dim: int) -> tuple[int, int]:
        records = grouped_records(rows, dim)
        pairs = max(sum((a - b) ** 2 for a, b in zip(p, q, strict=True)) for p in records for q in records)
        return max(sum(record) for record in records), pairs

    sizes = list(product((2, 3), (1, 2, 3)))
    yield every(
        "add/remove",
        sizes,
        lambda size: largest(*size)[0] == once(size[1]),
        over="m, d: vertices",
        argued="at most two rows differ, so also for all m and d",
        cases=6,
    )
    yield every(
        "replacement, two rows or more",
        sizes,
        lambda size: largest(*size)[1] == replaced(size[1]),
        over="m, d: vertices",
        argued="at most two rows differ, so also for all m and d",
        cases=6,
    )
    yield every(
        "replacement, one row",
        (1, 2, 3),
        lambda dim: largest(1, dim)[1] <= replaced(dim),
        over="d: one row, vertices",
        argued="for all d as the sum over coordinates",
        cases=3,
    )


def grouped_records(rows: int, dim: int) -> list[Row]:
    """All vertices of the records of {0,1}^(rows x dim) with at most one non-zero row, flattened."""
    found = {
        (0,) * (row * dim) + part + (0,) * ((rows - row - 1) * dim)
        for row in range(rows)
        for part in binary_records(dim)
    }
    return sorted(found)


@statement(
    paper=PAPER,
    number="alg2.addremove",
    kind=StatementKind.ALGORITHM,
    expected=Standing.FAILS_AS_PRINTED,
    text="Line 2: eta_j ~ N(0, sqrt(d+1)/(4 mu^2)) under the add/remove neighboring relation.",
    formula=r"\mu_x^2 = \mu^2\left(\frac{\sqrt{d}}{\sqrt{d}+1} + \frac{1}{\sqrt{d+1}}\right) > \mu^2",
    printed=lambda dim, root: root(dim + 1) / 4,
    corrected=Reading("eta_j ~ N(0, (sqrt d + 1)/(4 mu^2))", lambda dim, root: (root(dim) + 1) / 4),
    needs=("fact.vertices",),
    planted=(Plant("each row is mu-GDP", "root(d)/4", lambda dim, root: root(dim) / 4),),
    assumptions=("rows have independent noise, and one added record moves one row",),
)
def algorithm_2_add_remove(shared_variance: Formula) -> Findings:
    """F10: one row is Algorithm 1 with the variance ve of its eta_j; mu^2 = d/(4 vz) + 1/(4 ve) at binary records."""
    yield shared_variance_is_private("each row is mu-GDP", shared_variance, "all d >= 1, all m, at all binary records")


class Replacement(NamedTuple):
    """The variances of z and eta_j at mu = 1, and whether they are those the proof of Lemma 4.2 gives."""

    independent: Formula
    shared: Formula
    of_the_proof: bool


LINE_2 = Replacement(lambda d: d, lambda d: Integer(4), False)


def one_row(claim: Replacement) -> tuple[Expr, Expr]:
    """mu^2 of two complementary vertices of one row, and of one vertex of one row against nothing (F11, F13)."""
    vz, ve = claim.independent(d), claim.shared(d)
    same = shared_noise_form(dim=d, vz=vz, ve=ve, loading=2, vw=Integer(0)).at(2 * j - d, d, 0)
    return same, at_vertex(released(vz, ve))


@statement(
    paper=PAPER,
    number="alg2.replacement",
    kind=StatementKind.ALGORITHM,
    expected=Standing.HOLDS_WITH_CAVEAT,
    text="Line 2: eta_j ~ N(0, 4/mu^2) under the replacement neighboring relation.",
    formula=r"\mu_{x,x'}^2 \leq \mu^2\,\max\left(1,\ \frac{1}{2} + \frac{1}{2s}\right),\quad v_\eta = s/\mu^2",
    printed=LINE_2,
    caveat=Reading(
        "private, but not the constant of the proof, which is 1/mu^2; 4/mu^2 is the variance of 2 eta_j",
        LINE_2._replace(of_the_proof=True),
    ),
    corrected=Reading(
        "eta_j ~ N(0, 1/mu^2), tight for one row and for two", Replacement(lambda d: d, lambda d: Integer(1), True)
    ),
    needs=("fact.vertices",),
    planted=(
        Plant("same row", "z of variance d/2", LINE_2._replace(independent=lambda d: d / 2)),
        Plant("different rows", "1/4", LINE_2._replace(shared=lambda d: Rational(1, 4))),
        Plant("one record all zero", "1/16", LINE_2._replace(shared=lambda d: Rational(1, 16))),
        Plant("constant of the proof", "2", LINE_2._replace(shared=lambda d: Integer(2), of_the_proof=True)),
    ),
    assumptions=("a convex form is largest at vertices (fact.vertices)", "rows have independent noise"),
)
def algorithm_2_replacement(claim: Replacement) -> Findings:
    """F11 to F13: d/vz for two records of one row; two vertices of two rows add up; one record all zero."""
    same, alone = one_row(claim)
    yield nonnegative("same row", 1 - sympy.cancel(same), {d: 1}, scope="all d >= 1, m >= 1")
    yield nonnegative("different rows", 1 - 2 * sympy.cancel(alone), {d: 1}, scope="all d >= 1, m >= 2")
    yield nonnegative("one record all zero", 1 - sympy.cancel(alone), {d: 1}, scope="all d >= 1, m >= 1")
    if claim.of_the_proof:
        proof = pulled_back_covariance(squared_sensitivity(d, d, REPLACE_ONE), sqrt(d))["query-query"]
        yield identity("constant of the proof", claim.shared(d), proof, scope="all d >= 1", dropped=(d,))


LINES_3_TO_7: Mapping[str, Formula] = {
    "z under add/remove": lambda d: (d + sqrt(d)) / 4,
    "z under replacement": lambda d: d,
    "loading of the count": lambda d: Integer(2),
}


@statement(
    paper=PAPER,
    number="alg2.lines3-7",
    kind=StatementKind.ALGORITHM,
    expected=Standing.HOLDS,
    text="z_(j,k) ~ N(0, (d + sqrt d)/(4 mu^2)) resp. N(0, d/mu^2); x~_(j,k) = f(X)_(j,k) + eta_j + z_(j,k); y~_j = "
    "|{x_i : x_(i,j) != 0}| + 2 eta_j.",
    formula=r"v_z = \frac{d + \sqrt{d}}{4\mu^2}\ \ \mathrm{resp.}\ \ \frac{d}{\mu^2},\qquad \mathrm{count}_j + 2\eta_j",
    printed=LINES_3_TO_7,
    planted=(
        Plant("z under add/remove", "(d+1)/4", {**LINES_3_TO_7, "z under add/remove": lambda d: (d + 1) / Integer(4)}),
        Plant("z under replacement", "d/2", {**LINES_3_TO_7, "z under replacement": lambda d: d / Integer(2)}),
        Plant("loading of the count", "1", {**LINES_3_TO_7, "loading of the count": lambda d: Integer(1)}),
    ),
)
def algorithm_2_lines_3_to_7(claim: Mapping[str, Formula]) -> Findings:
    """h^-1 of isotropic noise of variance d + sqrt d (C^2 = sqrt d), resp. 4d (C^2 = d), row by row; Cov(f, count) =
    2 ve."""
    once = pulled_back_covariance(d + sqrt(d), sqrt(sqrt(d)))
    replaced = pulled_back_covariance(squared_sensitivity(d, d, REPLACE_ONE), sqrt(d))
    for name, pulled in (("z under add/remove", once), ("z under replacement", replaced)):
        yield identity(name, pulled["query"] - pulled["query-query"], claim[name](d), scope="all d >= 1")
    loading = claim["loading of the count"](d)
    entries = [(pulled["query-count"], pulled["count"], pulled["query-query"]) for pulled in (once, replaced)]
    left = [value for cross, count, _ in entries for value in (cross, count)]
    right = [value for _, _, shared in entries for value in (loading * shared, loading**2 * shared)]
    yield identity("loading of the count", Matrix(left), Matrix(right), scope="all d >= 1")


class Algorithm2(NamedTuple):
    """The variance of eta_j under add/remove, as a formula of (d, root), and the noise under replacement."""

    shared: Formula
    replacement: Replacement

    def once(self, dim: Expr, root: Root) -> Expr:
        """vz + ve under add/remove."""
        return (dim + root(dim)) / 4 + self.shared(dim, root)

    def replaced(self, dim: Expr, _: Root) -> Expr:
        """vz + ve under replacement."""
        return self.replacement.independent(dim) + self.replacement.shared(dim)


PRINTED = Algorithm2(lambda dim, root: root(dim + 1) / 4, LINE_2)
PROVED = Algorithm2(lambda dim, root: (root(dim) + 1) / 4, Replacement(lambda d: d, lambda d: Integer(1), True))


@statement(
    paper=PAPER,
    number="lem4.2",
    kind=StatementKind.LEMMA,
    expected=Standing.FAILS_AS_PRINTED,
    text="Algorithm 2 satisfies mu-GDP. (Line 2: eta_j of variance sqrt(d+1)/(4 mu^2) under add/remove, 4/mu^2 under "
    "replacement.)",
    formula=r"v_\eta = \frac{\sqrt{d}+1}{4\mu^2}\ \ \mathrm{resp.}\ \ \frac{1}{\mu^2}",
    printed=PRINTED,
    corrected=Reading("for eta_j of variance (sqrt d + 1)/(4 mu^2) resp. 1/mu^2, all-zero records included", PROVED),
    needs=(
        "lem2.1",
        "fact.vertices",
    ),
    confirms={"dense algebra, add/remove": "add/remove", "dense algebra, replacement": "same row"},
    planted=(
        Plant("add/remove", "root(d)/4", PROVED._replace(shared=lambda dim, root: root(dim) / 4)),
        Plant("dense algebra, add/remove", "1/4", PROVED._replace(shared=lambda dim, root: dim**0 / 4)),
        Plant(
            "same row",
            "z of d/2",
            PROVED._replace(replacement=PROVED.replacement._replace(independent=lambda d: d / 2)),
        ),
        *(
            Plant(
                name, "eta of 1/2", PROVED._replace(replacement=PROVED.replacement._replace(shared=lambda d: d**0 / 2))
            )
            for name in ("different rows", "dense algebra, replacement", "constant of the proof")
        ),
        Plant(
            "one record all zero",
            "eta of 1/8",
            PROVED._replace(replacement=PROVED.replacement._replace(shared=lambda d: d**0 / 8)),
        ),
    ),
    assumptions=("Lemma 2.1", "every record is non-zero in one row at most"),
)
def lemma_4_2(claim: Algorithm2) -> Findings:
    """In symbols for all d and m; again by dense rational algebra over all pairs of vertices, which uses no formula.

    The embedding is 0 for an all-zero record, at squared distance d + C^2 = 2d <= 4d: it is covered too.
    """
    yield private_for_all_d(
        "add/remove",
        lambda dim, root: at_vertex(released((dim + root(dim)) / 4, claim.shared(dim, root), dim=dim)),
        "add/remove: all d >= 1, all m",
    )
    yield from algorithm_2_replacement.check(claim.replacement)
    yield every(
        "dense algebra, add/remove",
        product((1, 2), (1, 4)),
        lambda size: _largest(*size, *_rational(claim, size[1]), replaced=False) <= 1,
        over="m, d: add/remove",
        cases=4,
        show=lambda size: f"m = {size[0]}, d = {size[1]}",
    )
    yield every(
        "dense algebra, replacement",
        [(m, dim) for m in (1, 2, 3) for dim in (1, 2, 3, 4) if m * dim <= 9],
        lambda size: _largest(*size, *_replacement(claim, size[1]), replaced=True) <= 1,
        over="m, d: replacement",
        cases=11,
        show=lambda size: f"m = {size[0]}, d = {size[1]}",
    )


def _rational(claim: Algorithm2, dim: int) -> tuple[Fraction, Fraction]:
    root = Fraction(isqrt(dim))  # the dimensions are squares
    shared = claim.shared(Fraction(dim), lambda k: root if k == dim else Fraction(str(sqrt(Integer(int(k))).evalf(30))))
    return (dim + root) / 4, Fraction(shared)


def _replacement(claim: Algorithm2, dim: int) -> tuple[Fraction, Fraction]:
    vz, ve = (part(Integer(dim)) for part in (claim.replacement.independent, claim.replacement.shared))
    return Fraction(str(vz)), Fraction(str(ve))


def _largest(rows: int, dim: int, vz: Fraction, ve: Fraction, *, replaced: bool) -> Fraction:
    """The largest v^T S^-1 v over all pairs of vertices, by the dense covariance of all rows."""
    form = form_of(block_diagonal(shared_noise_covariance(dim, vz, ve, 2), rows))
    points = [_statistic(record, rows, dim) for record in grouped_records(rows, dim)]
    others = points if replaced else [(0,) * (rows * (dim + 1))]
    return max(form([a - b for a, b in zip(p, q, strict=True)]) for p in points for q in others if p >= q)


def _statistic(record: Row, rows: int, dim: int) -> Row:
    parts = [record[row * dim : (row + 1) * dim] for row in range(rows)]
    return tuple(value for part in parts for value in (*part, int(any(part))))


@statement(
    paper=PAPER,
    number="lem4.2.step",
    kind=StatementKind.LEMMA,
    expected=Standing.FAILS_AS_PRINTED,
    text="(proof, case 1) ||g(X) - g(X')||_2 <= sqrt(d) * 2^2 = 2 sqrt(d).",
    formula=r"\sqrt{d \cdot 2^2} = 2\sqrt{d}",
    printed=lambda d: sqrt(d) * 2**2,
    corrected=Reading("sqrt(d * 2^2) = 2 sqrt(d)", lambda d: sqrt(d * 2**2)),
    planted=(
        Plant("equal to 2 sqrt d", "sqrt(2 d)", lambda d: sqrt(2 * d)),
        Plant("norm of the difference", "sqrt(2 d)", lambda d: sqrt(2 * d)),
    ),
)
def lemma_4_2_step(norm: Formula) -> Findings:
    """Two records of one row: every coordinate 2x - 1 moves by at most 2, the last one not at all."""
    move = to_embedding(x, Integer(1), C)[0].subs(x, 1) - to_embedding(x, Integer(1), C)[0].subs(x, 0)
    yield identity("equal to 2 sqrt d", norm(d), 2 * sqrt(d), scope="all d >= 1")
    yield identity("norm of the difference", norm(d) ** 2, d * move**2, scope="all d >= 1")


class Improvement(NamedTuple):
    """Algorithm 2's variances, the standard mechanism's of Lemma 4.1, the smallest d claimed, its s from below."""

    ours: Algorithm2
    standard: tuple[Formula, Formula]
    first: int
    least: Fraction


IMPROVED = Improvement(PROVED, LEMMA_4_1, 2, Fraction(31, 10))


@statement(
    paper=PAPER,
    number="sec4.improve",
    kind=StatementKind.TEXT,
    expected=Standing.FAILS_AS_PRINTED,
    text="We improve the variance compared to the standard Gaussian mechanism for this problem under both the "
    "add/remove and the replacement neighboring relation.",
    formula=r"d + 4 < 2d\ \ \mathrm{fails\ for}\ d \leq 4;\qquad d + 1 < 2d\ \ \mathrm{for}\ d \geq 2",
    printed=Improvement(PRINTED, LEMMA_4_1, 1, S_AT_1),
    corrected=Reading(
        "with eta_j of variance (sqrt d + 1)/(4 mu^2) resp. 1/mu^2: (sqrt d + 1)^2/4 < d and d + 1 < 2d for every d >= "
        "2, equal at d = 1; with the printed 4/mu^2 replacement improves from d = 5 on",
        IMPROVED,
    ),
    needs=("lem4.1",),
    planted=(
        Plant(
            "replacement",
            "eta of variance 3",
            IMPROVED._replace(ours=PROVED._replace(replacement=LINE_2._replace(shared=lambda d: Integer(3)))),
        ),
        Plant("replacement", "the standard variance d", IMPROVED._replace(standard=(LEMMA_4_1[0], LEMMA_4_1[0]))),
        Plant(
            "add/remove", "eta as under replacement", IMPROVED._replace(ours=PROVED._replace(shared=lambda d, root: d))
        ),
        Plant("add/remove", "from d = 1 on", IMPROVED._replace(first=1, least=S_AT_1)),
    ),
)
def improvement(claim: Improvement) -> Findings:
    """vz + ve of Algorithm 2 against Lemma 4.1's d and 2d, as rational functions of s = sqrt d + sqrt(d + 1)."""
    once, replaced = claim.standard
    for name, standard, ours in (
        ("replacement", replaced, claim.ours.replaced),
        ("add/remove", once, claim.ours.once),
    ):
        worse = [k for k in range(claim.first, 50) if standard(Integer(k)) <= ours(Integer(k), sqrt)]
        if worse:
            words = "; ".join(f"d = {k}: {ours(Integer(k), sqrt)} against {standard(Integer(k))}" for k in worse[:4])
            yield Finding(name=name, holds=False, method=Method.EXACT, scope=f"d = {claim.first}..49", witness=words)
            continue
        slack = two_roots(lambda dim, root, standard=standard, ours=ours: standard(dim) - ours(dim, root))  # type: ignore[misc]
        yield positive(name, slack, {s: claim.least}, scope=f"all d >= {claim.first}")
