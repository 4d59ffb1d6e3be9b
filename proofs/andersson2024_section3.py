"""Andersson et al. 2024, sections 2 to 3.2: unbiased errors, trees, ordinary digits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import sympy
from sympy import Integer, Symbol

from dpverdict.mechanisms.tree_counter import TreeCounter
from dpverdict.mechanisms.tree_digits import Digits
from dpverdict.proofs.andersson2024_trees import ORDINARY, PAPER, Span, all_strings, h, instances, k
from dpverdict.proofs.identities import identity
from dpverdict.proofs.outcome import Findings, Kind, Standing
from dpverdict.proofs.statement import Formula, Plant, statement
from dpverdict.proofs.vertices import every

SMALL = instances(ORDINARY, range(2, 10), 130)


@statement(
    paper=PAPER,
    number="sec2.mse",
    kind=Kind.TEXT,
    expected=Standing.HOLDS,
    text="For unbiased mechanisms the mean squared error equals the average variance.",
    formula=r"\frac{1}{T} E\|M(x) - Ax\|^2 = \frac{1}{T}\sum_t \mathrm{Var}(M(x)_t)",
    printed=(0, lambda horizon: Fraction(1, horizon)),
    planted=(
        Plant("bias adds its square", "twice the squared bias", (1, lambda horizon: Fraction(1, horizon))),
        Plant("average of the variances", "1/(T+1)", (0, lambda horizon: Fraction(1, horizon + 1))),
    ),
)
def mean_squared_error(claim: tuple[int, Callable[[int], Fraction]]) -> Findings:
    """E(Y - y)^2 = Var(Y) + (E Y - y)^2 for each output; and so does the counter of this project add it up."""
    extra, weight = claim
    second, mean, true = sympy.symbols("m2 m y", real=True)  # E Y^2, E Y, y
    variance, bias = second - mean**2, mean - true
    error = second - 2 * true * mean + true**2
    yield identity("bias adds its square", error, variance + (1 + extra) * bias**2, scope="every law with a variance")
    counters = [TreeCounter(horizon=t, epsilon="1/2", arity=a) for a, t in ((2, 7), (3, 40), (4, 9), (19, 200))]
    yield every(
        "average of the variances",
        counters,
        lambda made: (
            made.mean_squared_error()
            == weight(made.horizon) * sum(made.variance_at(t) for t in range(1, made.horizon + 1))
        ),
        scope="4 counters",
    )


class Tree(NamedTuple):
    """The ends of vertex j of level l in a tree of arity k, and the first child of a vertex."""

    left: Formula
    right: Formula
    first_child: Formula


TREE = Tree(lambda k, level, j: 1 + (j - 1) * k**level, lambda k, level, j: j * k**level, lambda k, j: k * (j - 1) + 1)


@statement(
    paper=PAPER,
    number="def3.1",
    kind=Kind.DEFINITION,
    expected=Standing.HOLDS,
    text="For integers k >= 2 and h >= 1, the k-ary tree of height h has k^h leaves; its vertices of level l are the "
    "intervals [(j-1) k^l + 1, j k^l], and a vertex is a child of another if it is contained in it, one level down.",
    formula=r"V_\ell = \{[(j-1)k^\ell + 1,\ jk^\ell] : j = 1..k^{h-\ell}\}",
    printed=TREE,
    planted=(
        Plant("a level begins at leaf 1", "j k^l + 1", TREE._replace(left=lambda k, level, j: 1 + j * k**level)),
        Plant("no gaps", "(j-1) k^l", TREE._replace(left=lambda k, level, j: (j - 1) * k**level)),
        Plant("a level ends at leaf k^h", "j k^l - 1", TREE._replace(right=lambda k, level, j: j * k**level - 1)),
        Plant("the first child begins with its parent", "k j", TREE._replace(first_child=lambda k, j: k * j)),
        Plant("the last child ends with its parent", "k j", TREE._replace(first_child=lambda k, j: k * j)),
    ),
)
def tree(claim: Tree) -> Findings:
    """The intervals of a level tile 1..k^h, and k consecutive ones tile one of the level above."""
    level, j = Symbol("l", integer=True, positive=True), Symbol("j", integer=True, positive=True)
    scope = "all k, h, l, j"
    yield identity("a level begins at leaf 1", claim.left(k, level, Integer(1)), Integer(1) + 0 * k, scope=scope)
    yield identity("no gaps", claim.left(k, level, j + 1), claim.right(k, level, j) + 1, scope=scope)
    yield identity("a level ends at leaf k^h", claim.right(k, level, k ** (h - level)), k**h, scope=scope)
    first = claim.first_child(k, j)
    yield identity(
        "the first child begins with its parent",
        claim.left(k, level - 1, first),
        claim.left(k, level, j),
        scope=scope,
    )
    yield identity(
        "the last child ends with its parent",
        claim.right(k, level - 1, first + k - 1),
        claim.right(k, level, j),
        scope=scope,
    )


class System(NamedTuple):
    """A digit system with the numbers it is claimed to write with w digits: from the least to the largest."""

    span: Span
    least: Callable[[int, int], int]
    largest: Callable[[int, int], int]
    arities: range


def is_bijection(claim: System, case: tuple[int, int]) -> bool:
    """The strings write every number of the range exactly once."""
    arity, width = case
    values = np.sort(all_strings(claim.span, arity, width)[0])
    return bool(
        np.array_equal(values, np.arange(claim.least(arity, width), claim.largest(arity, width) + 1, dtype=np.int64))
    )


def up_to(arities: Iterable[int], most: int) -> list[tuple[int, int]]:
    """All (k, w) with k^w <= most."""
    return [(arity, w) for arity in arities for w in range(1, 20) if arity**w <= most]


REP = System(ORDINARY, lambda arity, width: 0, lambda arity, width: arity**width - 1, range(2, 12))


@statement(
    paper=PAPER,
    number="def3.2",
    kind=Kind.DEFINITION,
    expected=Standing.HOLDS,
    text="Let k, w and t be such that t <= k^w - 1. Then rep_k(t, w) is the unique vector in {0, ..., k-1}^w with "
    "sum_i k^(i-1) t_i = t.",
    formula=r"\sum_{i=1}^{w} k^{i-1} t_i = t",
    printed=REP,
    planted=(
        Plant("unique and complete", "t <= k^w", REP._replace(largest=lambda arity, width: arity**width)),
        Plant("the project's digits", "digits 1..k", REP._replace(span=Span(lambda k: 1, lambda k: k))),
    ),
)
def ordinary_digits(claim: System) -> Findings:
    """All digit strings against all numbers of the range; uniqueness for all k, w is division with remainder."""
    cases = up_to(claim.arities, 60_000)
    yield every(
        "unique and complete",
        cases,
        lambda case: is_bijection(claim, case),
        scope="k = 2..11, k^w <= 60000",
        show=show_kw,
    )
    yield every(
        "the project's digits",
        [case for case in cases if case[0] ** case[1] <= 3000],
        lambda case: agrees(claim.span, *case, Digits.ordinary(case[0])),
        scope="k = 2..11, k^w <= 3000",
        show=show_kw,
    )


def show_kw(case: tuple[int, int]) -> str:
    """(k, w) in a witness."""
    return f"k = {case[0]}, w = {case[1]}"


def agrees(span: Span, arity: int, width: int, digits: Digits) -> bool:
    """`Digits` has the digits of the span, and writes numbers that it reads back."""
    low, high = span.low(arity), span.high(arity)
    if (digits.subtracted, digits.largest) != (-low, high):
        return False
    for time in range(digits.capacity(width) + 1):
        written = digits.encode(time, width)
        if digits.decode(written) != time or not all(low <= digit <= high for digit in written):
            return False
    return True
