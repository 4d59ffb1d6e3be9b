"""Poulsen 2022, sections 1 and 3: neighbours, sensitivity, (epsilon, delta)-DP, and the box of the problem setup."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from sympy import symbols

from dpverdict.proofs.outcome import Findings, Kind, Standing
from dpverdict.proofs.statement import Formula, Plant, Reading, statement
from dpverdict.proofs.vertices import every

PAPER = "poulsen2022"

Dataset = tuple[int, ...]
Relation = Callable[[Dataset, Dataset], bool]
Record = Sequence[Fraction]

u, v, w = symbols("u v w", nonnegative=True)


def at_most_one_entry(left: Dataset, right: Dataset) -> bool:
    """Definition 1.1: as many entries, at most one of them different."""
    return len(left) == len(right) and sum(a != b for a, b in zip(left, right, strict=True)) <= 1


@statement(
    paper=PAPER,
    number="def1.1",
    kind=Kind.DEFINITION,
    expected=Standing.HOLDS,
    text="Two datasets X, X' in R^(n x d) are said to be neighbouring if they differ in at most a single entry: X ~ X' "
    "iff |{i : x_i != x'_i}| <= 1.",
    formula=r"X \sim X' \Leftrightarrow |\{i \leq n : x_i \neq x'_i\}| \leq 1",
    printed=at_most_one_entry,
    planted=(
        Plant("symmetric", "X <= X' in every place", lambda a, b: at_most_one_entry(a, b) and a <= b),
        Plant("one step changes one entry", "at most two entries", lambda a, b: len(a) == len(b)),
        Plant("n steps reach every dataset", "no entry", lambda a, b: a == b),
    ),
    note="a relation between datasets has no formula to simplify: symmetric by its definition, and by enumeration here",
)
def neighbours(relation: Relation) -> Findings:
    """The replacement of one record; the number n of entries is public. Symmetric, so (P, Q) and (Q, P) both count."""
    sets = [part for size in range(4) for part in itertools.product((0, 1, 2), repeat=size)]
    pairs = [(a, b) for a, b in itertools.product(sets, repeat=2) if len(a) == len(b)]
    scope = "datasets of up to 3 entries out of 3 values"
    yield every("symmetric", pairs, lambda p: relation(*p) == relation(p[1], p[0]), scope=scope)

    def close(pair: tuple[Dataset, Dataset]) -> bool:
        return not relation(*pair) or sum(a != b for a, b in zip(*pair, strict=True)) <= 1

    yield every("one step changes one entry", pairs, close, scope=scope)

    def joined(pair: tuple[Dataset, Dataset]) -> bool:
        left, right = pair
        path = [right[:i] + left[i:] for i in range(len(left) + 1)]
        return all(relation(a, b) for a, b in itertools.pairwise(path))

    yield every("n steps reach every dataset", pairs, joined, scope=scope)


BOUNDS = (Fraction(1), Fraction(4), Fraction(1, 2))


def _box(size: int) -> list[Record]:
    """The corners of prod [-Delta_j/2, Delta_j/2], whatever the size of the window."""
    return list(itertools.product(*[(-b / 2, b / 2) for b in BOUNDS]))


def _everything(size: int) -> list[Record]:
    """The corners of [-size, size]^3."""
    return list(itertools.product((Fraction(-size), Fraction(size)), repeat=3))


def _sphere(size: int) -> list[Record]:
    """Points of the unit ball of l2: the signed unit vectors."""
    units = [tuple(Fraction(int(i == k)) for k in range(3)) for i in range(3)]
    return [*units, *(tuple(-x for x in unit) for unit in units)]


@statement(
    paper=PAPER,
    number="def1.2",
    kind=Kind.DEFINITION,
    expected=Standing.HOLDS_WITH_CAVEAT,
    text="Let f: R^(n x d) -> R^d, f(X) = sum x_i. Delta_j = max over X ~ X' of |f(X)^(j) - f(X')^(j)|, and the total "
    "l2-sensitivity is ||Delta|| = max over X ~ X' of ||f(X) - f(X')||.",
    formula=r"\Delta_j = \max_{X \sim X'} |f(X)^{(j)} - f(X')^{(j)}|,\quad "
    r"\|\Delta\| = \max_{X \sim X'} \|f(X) - f(X')\|",
    printed=_box,
    caveat=Reading("with the domain as printed, all of R^(n x d), no maximum exists: both are infinite", _everything),
    corrected=Reading(
        "for records in the box of section 3; then ||Delta|| is the norm of (Delta_1, .., Delta_d), as the notation "
        "suggests (for records in a ball it is not)",
        _box,
    ),
    planted=(
        Plant("the maximum exists", "all of R^(n x d)", _everything),
        Plant("||Delta|| is the norm of the Delta_j", "records in the unit ball", _sphere),
    ),
)
def sensitivity(domain: Callable[[int], list[Record]]) -> Findings:
    """Replacing x by x' changes f by x' - x, whatever the other records are; maxima are at extreme points.

    The maximum exists iff it is the same in every window [-R, R]^d that is large enough.
    """

    def of(size: int) -> tuple[list[Fraction], Fraction]:
        moves = [[a - b for a, b in zip(x, y, strict=True)] for x, y in itertools.product(domain(size), repeat=2)]
        return [max(abs(m[j]) for m in moves) for j in range(3)], max(
            sum((a * a for a in m), Fraction(0)) for m in moves
        )

    yield every(
        "the maximum exists",
        [(10, 100), (100, 1000)],
        lambda sizes: of(sizes[0]) == of(sizes[1]),
        scope="d = 3, windows [-R, R]^3",
        show=lambda sizes: (
            f"R = {sizes[0]}: Delta_1 = {of(sizes[0])[0][0]}; R = {sizes[1]}: Delta_1 = {of(sizes[1])[0][0]}"
        ),
    )
    yield every(
        "||Delta|| is the norm of the Delta_j",
        [10],
        lambda size: of(size)[1] == sum(b * b for b in of(size)[0]),
        scope="d = 3, Delta = (1, 4, 1/2)",
        show=lambda size: f"||Delta||^2 = {of(size)[1]} against sum Delta_j^2 = {sum(b * b for b in of(size)[0])}",
    )


DP: Mapping[str, Formula] = {
    "event": lambda p, q, factor: [i for i in range(len(p)) if p[i] > factor * q[i]],
    "holds": lambda p, q, factor, delta: sum(p) <= factor * sum(q) + delta,
}


@statement(
    paper=PAPER,
    number="def1.3",
    kind=Kind.DEFINITION,
    expected=Standing.HOLDS,
    text="M is (eps, delta)-differentially private if for all possible subsets of outputs S and all pairs of "
    "neighbouring dataset X ~ X' we have Pr[M(X) in S] <= e^eps Pr[M(X') in S] + delta.",
    formula=r"\Pr[M(X) \in S] \leq e^\varepsilon\,\Pr[M(X') \in S] + \delta",
    printed=DP,
    planted=(
        Plant(
            "one event decides for all",
            "{p > q}",
            {**DP, "event": lambda p, q, factor: [i for i in range(len(p)) if p[i] > q[i]]},
        ),
        Plant(
            "delta(eps) is the least delta",
            "delta forgotten",
            {**DP, "holds": lambda p, q, factor, delta: sum(p) <= factor * sum(q)},
        ),
    ),
    assumptions=("subsets are measurable",),
)
def approximate_privacy(claim: Mapping[str, Formula]) -> Findings:
    """The largest Pr[S] - e^eps Pr'[S] is at S = {p > e^eps q}: that is the privacy profile delta(eps) of the ledgers.

    For every law: each output adds p - e^eps q to the difference, and S takes the positive ones.
    """
    quarters = [Fraction(i, 5) for i in range(6)]
    laws = [(a, b, 1 - a - b) for a in quarters for b in quarters if a + b <= 1]
    factors = (Fraction(1), Fraction(3, 2), Fraction(4))
    cases = list(itertools.product(laws, laws, factors))
    subsets = [part for size in range(4) for part in itertools.combinations(range(3), size)]
    scope = "all laws on 3 outputs in fifths, e^eps in {1, 3/2, 4}, all events"

    def profile(p: Record, q: Record, factor: Fraction) -> Fraction:
        return sum((p[i] - factor * q[i] for i in claim["event"](p, q, factor)), Fraction(0))

    def largest(case: tuple[Record, Record, Fraction]) -> bool:
        p, q, factor = case
        return all(sum((p[i] - factor * q[i] for i in part), Fraction(0)) <= profile(p, q, factor) for part in subsets)

    def least(case: tuple[Record, Record, Fraction]) -> bool:
        p, q, factor = case
        value = sum((max(a - factor * b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0))
        return all(claim["holds"]([p[i] for i in part], [q[i] for i in part], factor, value) for part in subsets)

    yield every("one event decides for all", cases, largest, scope=scope)
    yield every("delta(eps) is the least delta", cases, least, scope=scope)
