"""Andersson et al. 2024, section 4.1: Algorithm 3; Algorithms 2 and 3 have one law, and are private."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from sympy import Integer, Symbol

from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.mechanisms.streams.tree_counter import TreeCounter
from dpverdict.proofs.andersson2024.section3 import (
    Sensitivity,
    all_are_vertices,
    matches_project,
    sums_to_prefix,
    touched,
)
from dpverdict.proofs.andersson2024.section3_3 import CASES
from dpverdict.proofs.andersson2024.shared.brute_force import (
    OFFSET,
    PRINTED,
    Instance,
    Lines,
    Vertex,
    factors,
    indices_of,
    sensitivity,
    vertices_of,
)
from dpverdict.proofs.andersson2024.shared.notation import PAPER, RESTORED
from dpverdict.proofs.checks.identities import positive
from dpverdict.proofs.checks.outcome import Findings, Method, Standing, StatementKind
from dpverdict.proofs.checks.statement import Plant, Reading, statement
from dpverdict.proofs.checks.vertices import every

SCOPE = f"k = 2..9, 12, 13, 19, T <= 180: {len(CASES)} instances"


@statement(
    paper=PAPER,
    number="alg3",
    restored=RESTORED,
    kind=StatementKind.ALGORITHM,
    expected=Standing.HOLDS_ON_RANGE,
    text="Algorithm 3, lines 12 and 15: a positive digit adds S[p+1, p + k^(i-1)], a negative one subtracts S[p - "
    "k^(i-1) + 1, p]; the result is the prefix sum up to t.",
    formula=r"L R = A_T",
    printed=PRINTED,
    planted=(
        Plant("prefix sums", "[p - k^(i-1), p - 1]", PRINTED._replace(subtracted=lambda p, block: (p - block, p - 1))),
        Plant("vertices of the tree", "[p - k^(i-1), p]", PRINTED._replace(subtracted=lambda p, block: (p - block, p))),
        Plant("the counter of this project", "[p, p]", PRINTED._replace(subtracted=lambda p, block: (p, p))),
    ),
)
def algorithm_3(claim: Lines) -> Findings:
    """The lines as printed, on all k^h leaves, the future ones included; and L and R of `TreeCounter`."""
    yield every("prefix sums", CASES, lambda case: sums_to_prefix(case, OFFSET, claim), over="k, T", cases=198)
    yield every(
        "vertices of the tree", CASES, lambda case: all_are_vertices(case, OFFSET, claim), over="k, T", cases=198
    )
    small = [case for case in CASES if case.horizon <= 90]
    yield every(
        "the counter of this project",
        small,
        lambda case: matches_project(case, OFFSET, claim),
        over="k, T",
        cases=188,
    )


class Partial(NamedTuple):
    """The upper bound of p_i as a function of (k, h, t), the least leading digit, and p_i from (digits, i, k)."""

    high: Callable[[int, int, int], int]
    leading: int
    position: Callable[[tuple[int, ...], int, int], int]


PARTIAL = Partial(
    lambda arity, height, time: arity**height,
    1,
    lambda digits, i, arity: sum(digit * arity**j for j, digit in enumerate(digits) if j >= i - 1),
)


@statement(
    paper=PAPER,
    number="prop4.1",
    restored=RESTORED,
    kind=StatementKind.PROPOSITION,
    expected=Standing.HOLDS_ON_RANGE,
    text="Let out_i and p_i be the value of out and p after the updates of level i in Algorithm 3. Then out_i stores "
    "a noisy prefix sum up to p_i, and 0 <= p_i <= k^h, since the first non-zero digit is positive.",
    formula=r"0 \leq p_i = \sum_{j \geq i} k^{j-1} \hat{t}_j \leq k^h",
    printed=PARTIAL,
    planted=(
        Plant("p_i stays in the tree", "p_i <= t", PARTIAL._replace(high=lambda arity, height, time: time)),
        Plant("the first non-zero digit", "at least 2", PARTIAL._replace(leading=2)),
        Plant(
            "out_i is a prefix sum up to p_i",
            "p before the update",
            PARTIAL._replace(
                position=lambda digits, i, arity: sum(d * arity**j for j, d in enumerate(digits) if j >= i)
            ),
        ),
        Plant("sign of the leading digit, odd k", "leading digit 0", PARTIAL._replace(leading=0)),
        Plant("sign of the leading digit, even k", "leading digit 0", PARTIAL._replace(leading=0)),
    ),
)
def proposition_4_1(claim: Partial) -> Findings:
    """With K = k^(i-1): a leading digit of at least 1 outweighs the lower digits, of least value -(K-1)/2 for odd k.

    For even k their least value is -(k-2)(K-1)/(2(k-1)).
    """
    power, arity = Symbol("K", positive=True), Symbol("k", positive=True)
    leading = Integer(claim.leading) * power
    yield positive("sign of the leading digit, odd k", leading - (power - 1) / 2, {power: 1}, scope="all odd k, all i")
    even = leading - (arity - 2) * (power - 1) / (2 * (arity - 1))
    yield positive("sign of the leading digit, even k", even, {power: 2, arity: 2}, scope="all even k, all i")

    def inside(case: Instance) -> bool:
        size = case.height(OFFSET)
        for time, digits in enumerate(case.digits(OFFSET), 1):
            places = [claim.position(digits, i, case.arity) for i in range(1, size + 1)]
            if len(places) != size or places[0] != time:  # from level 1 on nothing is left out
                return False
            if not all(0 <= place <= claim.high(case.arity, size, time) for place in places):
                return False
        return True

    yield every("p_i stays in the tree", CASES, inside, over="k, T", cases=198)
    yield every(
        "the first non-zero digit",
        CASES,
        lambda case: all(
            next(digit for digit in reversed(digits) if digit) >= claim.leading for digits in case.digits(OFFSET)
        ),
        over="k, T",
        cases=198,
    )
    yield every("out_i is a prefix sum up to p_i", CASES, lambda case: _prefixes(case, claim), over="k, T", cases=198)


def _prefixes(case: Instance, claim: Partial) -> bool:
    """After every level the signed intervals so far add up to [1, p_i]."""
    for digits in case.digits(OFFSET):
        for done in range(len(digits)):
            i = len(digits) - done
            p = claim.position(digits, i, case.arity)
            ends: dict[int, int] = {}
            for use in vertices_of((0,) * (i - 1) + digits[i - 1 :], case.arity):
                ends[use.vertex[0]] = ends.get(use.vertex[0], 0) + use.sign
                ends[use.vertex[1] + 1] = ends.get(use.vertex[1] + 1, 0) - use.sign
            wanted = {1: 1, p + 1: -1} if p else {}
            if {at: step for at, step in ends.items() if step} != wanted:
                return False
    return True


class Numbers(NamedTuple):
    """The lines of Algorithm 3 that use a vertex, by the proof of Proposition 4.1, and those that update p."""

    uses: tuple[int, int]
    updates: tuple[int, int]


USED_BY_THE_PROOF_OF_4_3 = (12, 15)
"""'each time a vertex is used on lines 12 and 15 in Algorithm 3, it can be uniquely identified by the p after it is
updated on the next line'; 'the sequence of p's obtained after lines 13 and 16'. The text has no other line numbers."""


@statement(
    paper=PAPER,
    number="text.lines",
    restored="the second passage stands in the text; the listing both cite does not, and is not restored",
    kind=StatementKind.TEXT,
    expected=Standing.FAILS_AS_PRINTED,
    text="(proof of Proposition 4.1) The corresponding partial sums added or subtracted on lines 12 and 13 exist in "
    "the tree. (Proof of 4.3: a vertex is used on lines 12 and 15, p is updated on the next line, lines 13 and 16.)",
    formula="",
    printed=Numbers((12, 13), (13, 16)),
    corrected=Reading("lines 12 and 15, as the proof of 4.3 says", Numbers((12, 15), (13, 16))),
    planted=(
        Plant("both proofs name the same lines", "12 and 16", Numbers((12, 16), (13, 16))),
        Plant("p is updated on the next line", "13 and 15", Numbers((12, 15), (13, 15))),
    ),
    assumptions=(
        "of two passages that contradict each other, that of 4.3 is right: it numbers four lines in one pattern",
    ),
    note="the text supplied has lost the listing of Algorithm 3: only two passages can be compared, not a listing",
)
def line_numbers(claim: Numbers) -> Findings:
    """The two proofs cite one listing, which is not in the text supplied: the passages contradict each other."""
    yield every(
        "both proofs name the same lines",
        zip(claim.uses, USED_BY_THE_PROOF_OF_4_3, strict=True),
        lambda pair: pair[0] == pair[1],
        over="lines named in the proofs of Propositions 4.1 and 4.3",
        cases=2,
        method=Method.INSPECTION,
        show=lambda pair: f"line {pair[0]} in the proof of 4.1, line {pair[1]} in that of 4.3",
    )
    yield every(
        "p is updated on the next line",
        zip(USED_BY_THE_PROOF_OF_4_3, claim.updates, strict=True),
        lambda pair: pair[1] == pair[0] + 1,
        over="lines named in the proof of Proposition 4.3",
        cases=2,
        method=Method.INSPECTION,
        show=lambda pair: f"a vertex is used on line {pair[0]}, p updated on line {pair[1]}",
    )


Placed = Callable[[tuple[int, ...], int], tuple[Vertex, int]]


def _vertex_of(q: tuple[int, ...], arity: int) -> tuple[Vertex, int]:
    """v = sum q_j k^(j-1), i the lowest non-zero position: [v - k^(i-1) + 1, v] if q_i > 0, [v+1, v + k^(i-1)] if
    not."""
    value = sum(digit * arity**j for j, digit in enumerate(q))
    i = next(j for j, digit in enumerate(q) if digit)
    block = arity**i
    return ((value - block + 1, value), 1) if q[i] > 0 else ((value + 1, value + block), -1)


def _one_higher(q: tuple[int, ...], arity: int) -> tuple[Vertex, int]:
    (first, last), sign = _vertex_of(q, arity)
    return (first + 1, last + 1) if sign < 0 else (first, last), sign


def _unsigned(q: tuple[int, ...], arity: int) -> tuple[Vertex, int]:
    return _vertex_of(q, arity)[0], 1


def _merged(q: tuple[int, ...], arity: int) -> tuple[Vertex, int]:
    return _vertex_of((0, *q[1:]) if any(q[1:]) else q, arity)


@statement(
    paper=PAPER,
    number="prop4.3",
    restored=RESTORED,
    kind=StatementKind.PROPOSITION,
    expected=Standing.HOLDS_ON_RANGE,
    text="The output distributions of Algorithms 2 and 3 are equal: the index q is the value of p after its update, "
    "and a vertex always contributes with the same sign.",
    formula=r"L_3 = L_2\,\mathrm{diag}(\pm 1)",
    printed=_vertex_of,
    needs=(
        "alg2",
        "alg3",
        "prop4.1",
    ),
    planted=(
        Plant("q names the vertex", "[v+2, v + 1 + k^(i-1)] for q_i < 0", _one_higher),
        Plant("different q, different vertices", "the lowest digit dropped", _merged),
        Plant("a vertex has one sign", "no sign", _unsigned),
    ),
    assumptions=("the noise is symmetric, independent and identically distributed",),
)
def proposition_4_3(placed: Placed) -> Findings:
    """Algorithms 2 and 3 side by side: the j-th noise of a time step against the j-th vertex, for all steps."""
    used = [(case, list(_side_by_side(case))) for case in CASES]
    yield every(
        "q names the vertex",
        used,
        lambda item: all(placed(q, item[0].arity)[0] == vertex for q, vertex, _ in item[1]),
        over="trees with their stacks, as in Algorithm 3",
        cases=198,
        show=lambda item: str(item[0]),
    )
    yield every(
        "different q, different vertices",
        used,
        lambda item: (
            len({q for q, _, _ in item[1]})
            == len({placed(q, item[0].arity)[0] for q, _, _ in item[1]})
            == len({vertex for _, vertex, _ in item[1]})
        ),
        over="trees with their stacks, as in Algorithm 3",
        cases=198,
        show=lambda item: str(item[0]),
    )
    yield every(
        "a vertex has one sign",
        used,
        lambda item: all(placed(q, item[0].arity)[1] == sign for q, _, sign in item[1]),
        over="trees with their stacks, as in Algorithm 3",
        cases=198,
        show=lambda item: str(item[0]),
    )


def _side_by_side(case: Instance) -> set[tuple[tuple[int, ...], Vertex, int]]:
    """(q, vertex, sign) for everything that is used."""
    return {
        (q, use.vertex, use.sign)
        for digits in case.digits(OFFSET)
        for q, use in zip(indices_of(digits), vertices_of(digits, case.arity), strict=True)
    }


LEMMA_4_5 = Sensitivity(lambda height: height, 1)


@statement(
    paper=PAPER,
    number="lem4.5",
    restored=RESTORED,
    kind=StatementKind.LEMMA,
    expected=Standing.HOLDS_ON_RANGE,
    text="Algorithm 2 satisfies epsilon-DP: every item is in h intervals, the root excluded, so the sensitivity is h.",
    formula=r"\Delta_1 = h,\quad z_q \sim \mathrm{Lap}(h/\varepsilon)",
    printed=LEMMA_4_5,
    needs=(
        "prop4.3",
        "lemA.2",
        "def3.1",
        "alg2",
    ),
    planted=(
        Plant("sensitivity of the counter", "h - 1", Sensitivity(lambda height: height - 1, 1)),
        Plant("attained", "by item 3", Sensitivity(lambda height: height, 3)),
        Plant("scale of the noise", "(h-1)/epsilon", Sensitivity(lambda height: height - 1, 1)),
        Plant("epsilon-DP", "noise (h-1)/epsilon", Sensitivity(lambda height: height - 1, 1)),
        Plant("no smaller epsilon", "noise (h+1)/epsilon", Sensitivity(lambda height: height + 1, 1)),
    ),
    assumptions=("Proposition 4.3", "the Laplace mechanism (Lemma A.2)"),
)
def lemma_4_5(claim: Sensitivity) -> Findings:
    """L R = A_T with noise on h vertices per item; the exact loss of h Laplace coordinates at the claimed scale.

    At a full horizon L is invertible, so the outputs determine the noisy vertices, and epsilon cannot be lowered.
    """
    small = [case for case in CASES if case.horizon <= 90]
    yield every(
        "sensitivity of the counter",
        small,
        lambda case: sensitivity(factors(case, OFFSET)) == claim.of_height(case.height(OFFSET)),
        over="k, T",
        argued="for all k, T by Definition 3.1",
        cases=188,
    )
    yield every(
        "attained", CASES, lambda case: touched(case, OFFSET, claim.item) == case.height(OFFSET), over="k, T", cases=198
    )
    counters = [TreeCounter(horizon=t, epsilon="1/3", arity=a) for a, t in CASES[::7]]
    yield every(
        "scale of the noise",
        counters,
        lambda made: made.noise.rate * claim.of_height(made.height) == Fraction(1, 3),
        over="counters",
        cases=29,
    )
    cases = [(height, e) for height in (2, 3, 5) for e in (Fraction(1, 10), Fraction(1), Fraction(10))]
    yield every(
        "epsilon-DP",
        cases,
        lambda case: _loss(claim, *case).certified_delta(case[1]).upper == 0,
        over="h, eps",
        cases=9,
        method=Method.BALLS,
        show=lambda case: f"h = {case[0]}, eps = {case[1]}",
    )
    yield every(
        "no smaller epsilon",
        cases,
        lambda case: _loss(claim, *case).certified_delta(case[1] * (1 - Fraction(1, 2**20))).lower > 0,
        over="h, eps: at eps (1 - 2^-20)",
        cases=9,
        method=Method.BALLS,
        show=lambda case: f"h = {case[0]}, eps = {case[1]}",
    )


def _loss(claim: Sensitivity, height: int, epsilon: Fraction) -> LaplaceLoss:
    """The loss of an item in ``height`` vertices, under noise of the claimed scale."""
    return LaplaceLoss.equal(height, epsilon / claim.of_height(height))
