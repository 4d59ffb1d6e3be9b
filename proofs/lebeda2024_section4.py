"""Lebeda 2024, section 4: disjoint groups, Algorithm 2 line by line, with its two misprinted constants."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import NamedTuple

import sympy
from sympy import Integer, Matrix, Rational, sqrt

from dpverdict.mechanisms.adjacency import REPLACE_ONE
from dpverdict.mechanisms.embedding import pulled_back_covariance, squared_sensitivity
from dpverdict.mechanisms.quadratic_form import shared_noise_form
from dpverdict.proofs.identities import identity, nonnegative
from dpverdict.proofs.lebeda2024_algebra import (
    PAPER,
    Expr,
    at_vertex,
    d,
    j,
    private_for_all_d,
    released,
)
from dpverdict.proofs.outcome import Findings, Kind, Standing
from dpverdict.proofs.statement import Formula, Plant, Reading, statement
from dpverdict.proofs.vertices import binary_records, every

Row = tuple[int, ...]


@statement(
    paper=PAPER,
    number="lem4.1",
    kind=Kind.LEMMA,
    expected=Standing.HOLDS,
    text="Adding N(0, d/mu^2) independently to each entry of f(X) satisfies mu-GDP under add/remove; the same under "
    "replacement with N(0, 2d/mu^2).",
    formula=r"\|x\|^2 \leq d,\qquad \|x - x'\|^2 \leq 2d",
    printed=(lambda d: d, lambda d: 2 * d),
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
    scope = "m = 1..3, d = 1..3, all vertices; at most two rows differ, so also for all m and d"
    yield every("add/remove", sizes, lambda size: largest(*size)[0] == once(size[1]), scope=scope)
    yield every(
        "replacement, two rows or more", sizes, lambda size: largest(*size)[1] == replaced(size[1]), scope=scope
    )
    yield every("replacement, one row", (1, 2, 3), lambda dim: largest(1, dim)[1] <= replaced(dim), scope=scope)


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
    kind=Kind.ALGORITHM,
    expected=Standing.FAILS_AS_PRINTED,
    text="Line 2: eta_j ~ N(0, sqrt(d+1)/(4 mu^2)) under the add/remove neighboring relation.",
    formula=r"\mu_x^2 = \mu^2\left(\frac{\sqrt{d}}{\sqrt{d}+1} + \frac{1}{\sqrt{d+1}}\right) > \mu^2",
    printed=lambda dim, root: root(dim + 1) / 4,
    corrected=Reading("eta_j ~ N(0, (sqrt d + 1)/(4 mu^2))", lambda dim, root: (root(dim) + 1) / 4),
    planted=(Plant("each row is mu-GDP", "root(d)/4", lambda dim, root: root(dim) / 4),),
    assumptions=("rows have independent noise, and one added record moves one row",),
)
def algorithm_2_add_remove(shared_variance: Formula) -> Findings:
    """F10: one row is Algorithm 1 with the variance ve of its eta_j; mu^2 = d/(4 vz) + 1/(4 ve) at binary records."""
    yield private_for_all_d(
        "each row is mu-GDP",
        lambda dim, root: at_vertex(released((dim + root(dim)) / 4, shared_variance(dim, root), dim=dim)),
        "all d >= 1, all m, at all binary records",
    )


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
    kind=Kind.ALGORITHM,
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
        yield identity("constant of the proof", claim.shared(d), proof, scope="all d >= 1")


LINES_3_TO_7: Mapping[str, Formula] = {
    "z under add/remove": lambda d: (d + sqrt(d)) / 4,
    "z under replacement": lambda d: d,
    "loading of the count": lambda d: Integer(2),
}


@statement(
    paper=PAPER,
    number="alg2.lines3-7",
    kind=Kind.ALGORITHM,
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
