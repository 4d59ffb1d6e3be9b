"""Andersson et al. 2024, section 4.1: Algorithms 2 and 3 have one law, and are private."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dpverdict.audit.laplace_loss import LaplaceLoss
from dpverdict.mechanisms.tree_counter import TreeCounter
from dpverdict.proofs.andersson2024_mechanism import factors, sensitivity
from dpverdict.proofs.andersson2024_section3_alg1 import Sensitivity, touched
from dpverdict.proofs.andersson2024_section3_alg2 import CASES
from dpverdict.proofs.andersson2024_section4 import SCOPE
from dpverdict.proofs.andersson2024_trees import OFFSET, PAPER, Instance, Vertex, indices_of, vertices_of
from dpverdict.proofs.outcome import Findings, Kind, Method, Standing
from dpverdict.proofs.statement import Plant, statement
from dpverdict.proofs.vertices import every

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
    kind=Kind.PROPOSITION,
    expected=Standing.HOLDS,
    text="The output distributions of Algorithms 2 and 3 are equal: the index q is the value of p after its update, "
    "and a vertex always contributes with the same sign.",
    formula=r"L_3 = L_2\,\mathrm{diag}(\pm 1)",
    printed=_vertex_of,
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
        scope=SCOPE,
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
        scope=SCOPE,
        show=lambda item: str(item[0]),
    )
    yield every(
        "a vertex has one sign",
        used,
        lambda item: all(placed(q, item[0].arity)[1] == sign for q, _, sign in item[1]),
        scope=SCOPE,
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
    kind=Kind.LEMMA,
    expected=Standing.HOLDS,
    text="Algorithm 2 satisfies epsilon-DP: every item is in h intervals, the root excluded, so the sensitivity is h.",
    formula=r"\Delta_1 = h,\quad z_q \sim \mathrm{Lap}(h/\varepsilon)",
    printed=LEMMA_4_5,
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
    scope = f"all k, T by Definition 3.1; k = 2..9, 12, 13: {len(small)} instances"
    yield every(
        "sensitivity of the counter",
        small,
        lambda case: sensitivity(factors(case, OFFSET)) == claim.of_height(case.height(OFFSET)),
        scope=scope,
    )
    yield every("attained", CASES, lambda case: touched(case, OFFSET, claim.item) == case.height(OFFSET), scope=SCOPE)
    counters = [TreeCounter(horizon=t, epsilon="1/3", arity=a) for a, t in CASES[::7]]
    yield every(
        "scale of the noise",
        counters,
        lambda made: made.noise.rate * claim.of_height(made.height) == Fraction(1, 3),
        scope=f"{len(counters)} counters",
    )
    cases = [(height, e) for height in (2, 3, 5) for e in (Fraction(1, 10), Fraction(1), Fraction(10))]
    yield every(
        "epsilon-DP",
        cases,
        lambda case: _loss(claim, *case).certified_delta(case[1]).upper == 0,
        scope="h = 2, 3, 5; eps = 0.1, 1, 10",
        method=Method.BALLS,
        show=lambda case: f"h = {case[0]}, eps = {case[1]}",
    )
    yield every(
        "no smaller epsilon",
        cases,
        lambda case: _loss(claim, *case).certified_delta(case[1] * (1 - Fraction(1, 2**20))).lower > 0,
        scope="h = 2, 3, 5; eps (1 - 2^-20)",
        method=Method.BALLS,
        show=lambda case: f"h = {case[0]}, eps = {case[1]}",
    )


def _loss(claim: Sensitivity, height: int, epsilon: Fraction) -> LaplaceLoss:
    """The loss of an item in ``height`` vertices, under noise of the claimed scale."""
    return LaplaceLoss.equal(height, epsilon / claim.of_height(height))
