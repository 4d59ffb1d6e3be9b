"""Andersson et al. 2024, section 3.2: Algorithm 1 and its privacy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from dpverdict.mechanisms.tree_counter import TreeCounter
from dpverdict.proofs.andersson2024_mechanism import counted, factors, is_prefix_sum, sensitivity
from dpverdict.proofs.andersson2024_section3 import SMALL
from dpverdict.proofs.andersson2024_trees import ORDINARY, PAPER, PRINTED, Instance, Lines, Span, columns, vertices_of
from dpverdict.proofs.outcome import Findings, Kind, Standing
from dpverdict.proofs.statement import Plant, statement
from dpverdict.proofs.vertices import every


def is_vertex(arity: int, height: int, vertex: tuple[int, int]) -> bool:
    """Whether an interval is a vertex of the tree, strictly below the root."""
    first, last = vertex
    size = last - first + 1
    level = next((level for level in range(height) if arity**level == size), None)
    return level is not None and first >= 1 and (first - 1) % size == 0 and last <= arity**height


def sums_to_prefix(instance: Instance, span: Span, lines: Lines) -> bool:
    """The signed intervals of every time add up to [1, t] on all k^h leaves."""
    for time, digits in enumerate(instance.digits(span), 1):
        steps: Counter[int] = Counter()
        for use in vertices_of(digits, instance.arity, lines):
            steps[use.vertex[0]] += use.sign
            steps[use.vertex[1] + 1] -= use.sign
        if {place: step for place, step in steps.items() if step} != {1: 1, time + 1: -1}:
            return False
    return True


def all_are_vertices(instance: Instance, span: Span, lines: Lines) -> bool:
    """Every interval used is a vertex strictly below the root."""
    height = instance.height(span)
    return all(is_vertex(instance.arity, height, vertex) for vertex in columns(instance, span, lines))


def matches_project(instance: Instance, span: Span, lines: Lines) -> bool:
    """The counter of this project uses the same vertices at the same times with the same signs, and L R = A."""
    made = factors(instance, span)
    return is_prefix_sum(made) and counted(made) == Counter(columns(instance, span, lines).values())


@statement(
    paper=PAPER,
    number="alg1",
    kind=Kind.ALGORITHM,
    expected=Standing.HOLDS,
    text="Algorithm 1, lines 6-13: out += S[p+1, p + k^(i-1)] and p += k^(i-1), t_i times on every level i, gives the "
    "prefix sum up to t.",
    formula=r"L R = A_T",
    printed=PRINTED,
    planted=(
        Plant("prefix sums", "[p, p + k^(i-1) - 1]", PRINTED._replace(added=lambda p, block: (p, p + block - 1))),
        Plant("vertices of the tree", "[p, p + k^(i-1)]", PRINTED._replace(added=lambda p, block: (p, p + block))),
        Plant("the counter of this project", "[p+1, p + 1]", PRINTED._replace(added=lambda p, block: (p + 1, p + 1))),
    ),
)
def algorithm_1(claim: Lines) -> Findings:
    """The lines as printed; and the matrices L and R of `TreeCounter` with ordinary digits."""
    scope = f"k = 2..9, T <= 20 and about full T <= 130: {len(SMALL)} instances"
    yield every("prefix sums", SMALL, lambda case: sums_to_prefix(case, ORDINARY, claim), scope=scope)
    yield every("vertices of the tree", SMALL, lambda case: all_are_vertices(case, ORDINARY, claim), scope=scope)
    yield every("the counter of this project", SMALL, lambda case: matches_project(case, ORDINARY, claim), scope=scope)


class Sensitivity(NamedTuple):
    """The l1 sensitivity as a function of the height, and the item that attains it."""

    of_height: Callable[[int], int]
    item: int


def touched(instance: Instance, span: Span, item: int) -> int:
    """The number of used vertices that contain an item, by the printed lines."""
    return sum(first <= item <= last for first, last in columns(instance, span))


@statement(
    paper=PAPER,
    number="lem3.3",
    kind=Kind.LEMMA,
    expected=Standing.HOLDS,
    text="The output from Algorithm 1 satisfies epsilon-DP: two neighbouring inputs differ at exactly h used vertices.",
    formula=r"\Delta_1(R) = h",
    printed=Sensitivity(lambda height: height, 1),
    planted=(
        Plant("sensitivity of the counter", "h - 1", Sensitivity(lambda height: height - 1, 1)),
        Plant("no item is in more vertices", "h - 1", Sensitivity(lambda height: height - 1, 1)),
        Plant("attained", "by item 2", Sensitivity(lambda height: height, 2)),
        Plant("scale of the noise", "(h+1)/epsilon", Sensitivity(lambda height: height + 1, 1)),
    ),
    assumptions=("the Laplace mechanism (Lemma A.2)",),
)
def lemma_3_3(claim: Sensitivity) -> Findings:
    """A level tiles the leaves (Definition 3.1), so an item lies in one vertex of each of the h levels used."""
    scope = f"all k, T by Definition 3.1; k = 2..9: {len(SMALL)} instances"
    yield every(
        "sensitivity of the counter",
        SMALL,
        lambda case: sensitivity(factors(case, ORDINARY)) == claim.of_height(case.height(ORDINARY)),
        scope=scope,
    )
    yield every(
        "no item is in more vertices",
        [case for case in SMALL if case.horizon <= 30],
        lambda case: all(
            touched(case, ORDINARY, item) <= claim.of_height(case.height(ORDINARY))
            for item in range(1, case.horizon + 1)
        ),
        scope=scope,
    )
    yield every(
        "attained", SMALL, lambda case: touched(case, ORDINARY, claim.item) == case.height(ORDINARY), scope=scope
    )
    counters = [TreeCounter(horizon=t, epsilon="1/3", arity=a, digits="ordinary") for a, t in SMALL[::7]]
    yield every(
        "scale of the noise",
        counters,
        lambda made: made.noise.rate * claim.of_height(made.height) == Fraction(1, 3),
        scope=f"{len(counters)} counters",
    )
