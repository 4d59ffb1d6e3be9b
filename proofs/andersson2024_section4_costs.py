"""Andersson et al. 2024, section 4.3: space and time of Algorithm 2."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from sympy import Symbol

from dpverdict.mechanisms.tree_digits import Digits
from dpverdict.mechanisms.tree_nodes import TreeNodes
from dpverdict.proofs.andersson2024_section3 import show_kw, up_to
from dpverdict.proofs.andersson2024_section3_errors import run_stack
from dpverdict.proofs.andersson2024_section3_offset import jumps
from dpverdict.proofs.andersson2024_section4_3 import FULL
from dpverdict.proofs.andersson2024_trees import OFFSET, PAPER, Instance, capacity, least_height, sizes_in_time
from dpverdict.proofs.identities import nonnegative
from dpverdict.proofs.outcome import Findings, Kind, Standing
from dpverdict.proofs.statement import Plant, statement
from dpverdict.proofs.vertices import every


class Space(NamedTuple):
    """The most noises in use for (k, h), and a bound c such that k^(h-1) < c T."""

    live: Callable[[int, int], int]
    growth: int


SPACE = Space(lambda arity, height: height * (arity // 2), 2)


@statement(
    paper=PAPER,
    number="lem4.12",
    kind=Kind.LEMMA,
    expected=Standing.HOLDS,
    text="Algorithm 2 runs in O(log T) space: at most h (k-1)/2 noise values are needed at any time (h k/2 for even "
    "k).",
    formula=r"\|\hat{t}\|_1 \leq h\lfloor k/2 \rfloor",
    printed=SPACE,
    planted=(
        Plant("never more", "one less", SPACE._replace(live=lambda arity, height: height * (arity // 2) - 1)),
        Plant(
            "attained in the stack", "one more", SPACE._replace(live=lambda arity, height: height * (arity // 2) + 1)
        ),
        Plant("h = O(log T)", "k^(h-1) < T", SPACE._replace(growth=1)),
    ),
)
def lemma_4_12(claim: Space) -> Findings:
    """Every one of h digits is at most k//2 in size; all of them are at the full horizon; and k^(h-1) < 2T."""
    yield every(
        "never more",
        up_to(range(2, 20), 60_000),
        lambda case: bool(sizes_in_time(OFFSET, *case).max() <= claim.live(*case)),
        scope="all k, T; every t < k^h/2, k = 2..19, k^h <= 60000",
        show=show_kw,
    )
    stack = [Instance(19, 65_160), *FULL[::3]]
    yield every(
        "attained in the stack",
        stack,
        lambda case: (
            run_stack(Digits.offset(case.arity), case.horizon).most == claim.live(case.arity, case.height(OFFSET))
        ),
        scope=f"`TreeStream` at {len(stack)} full horizons, k = 19, T = 65160 among them",
    )
    yield every(
        "h = O(log T)",
        [(arity, horizon) for arity in range(3, 60, 2) for horizon in jumps(arity, 10**30)],
        lambda case: case[0] ** (least_height(OFFSET, *case) - 1) < claim.growth * case[1],
        scope="all odd k, T, by (k^(h-1) - 1)/2 < T; at every jump of h up to 1e30, odd k < 60",
        show=lambda case: f"k = {case[0]}, T = {case[1]}",
    )


class Time(NamedTuple):
    """Distinct noises at the full horizon over T, the largest ratio at other horizons, and digit writes over T."""

    full: Fraction
    odd: Callable[[int], Fraction]
    even: Callable[[int], Fraction]
    growth: int
    writes: Fraction


TIME = Time(
    Fraction(1),
    lambda arity: Fraction(2 * arity, arity + 1),
    lambda arity: Fraction(2 * arity, arity + 2),
    1,
    Fraction(2),
)


@statement(
    paper=PAPER,
    number="lem4.14",
    kind=Kind.LEMMA,
    expected=Standing.HOLDS,
    text="Algorithm 2 can be implemented to run in O(T) time: at T = (k^h - 1)/2 there are exactly T noise variables, "
    "each added once and subtracted at most once; otherwise (k^h - 1)/2 <= k T; and a counter is incremented T times "
    "with O(T) digit flips.",
    formula=r"U(T_h) = T_h,\quad U(T) \leq \frac{2k}{k+1}\,T\ \ (k\ \mathrm{odd})",
    printed=TIME,
    planted=(
        Plant("noises at the full horizon", "2 T", TIME._replace(full=Fraction(2))),
        Plant(
            "noises at every horizon, odd k",
            "2k/(k+2)",
            TIME._replace(odd=lambda arity: Fraction(2 * arity, arity + 2)),
        ),
        Plant(
            "noises at every horizon, even k",
            "2k/(k+3)",
            TIME._replace(even=lambda arity: Fraction(2 * arity, arity + 3)),
        ),
        Plant("the full horizon is at most k T", "k T/4", TIME._replace(growth=4)),
        Plant("the project's number of vertices", "2 T", TIME._replace(full=Fraction(2))),
        Plant("digit flips", "T", TIME._replace(writes=Fraction(1))),
    ),
    assumptions=("Laplace noise is generated in constant time",),
)
def lemma_4_14(claim: Time) -> Findings:
    """`TreeStream` with counted draws: one run to a full horizon gives the number of noises at every T before it.

    T is at least (k^(h-1) - 1)/2 + 1, so k T - (k^h - 1)/2 >= (k + 1)/2 > 0.
    """
    cases = up_to(range(2, 20), 30_000)
    yield every(
        "noises at the full horizon",
        cases,
        lambda case: _drawn(case)[-1] == claim.full * capacity(OFFSET, *case),
        scope="k = 2..19, k^h <= 30000",
        show=show_kw,
    )
    for parity, name, ratio in ((1, "odd", claim.odd), (0, "even", claim.even)):
        yield every(
            f"noises at every horizon, {name} k",
            [case for case in cases if case[0] % 2 == parity],
            lambda case, ratio=ratio: all(  # type: ignore[misc]
                count * ratio(case[0]).denominator <= ratio(case[0]).numerator * t
                for t, count in enumerate(_drawn(case), 1)
            ),
            scope=f"{name} k < 20, every T < k^h/2, k^h <= 30000",
            show=show_kw,
        )
    arity, power, more = Symbol("k", positive=True), Symbol("K", positive=True), Symbol("s", nonnegative=True)
    horizon = (power - 1) / 2 + 1 + more  # K = k^(h-1)
    yield nonnegative(
        "the full horizon is at most k T",
        arity * horizon / claim.growth - (arity * power - 1) / 2,
        {arity: 3, power: 1, more: 0},
        scope="all odd k >= 3, all T",
    )
    yield every(
        "the project's number of vertices",
        cases,
        lambda case: TreeNodes(Digits.offset(case[0]), capacity(OFFSET, *case)).size == claim.full * _drawn(case)[-1],
        scope="k = 2..19, k^h <= 30000",
        show=show_kw,
    )
    yield every(
        "digit flips",
        [case for case in cases if case[1] > 1],
        lambda case: _flips(*case) <= claim.writes * capacity(OFFSET, *case),
        scope="k = 2..19, k^h <= 30000: digits that change, over T",
        show=show_kw,
    )


_RUNS: dict[tuple[int, int], list[int]] = {}


def _drawn(case: tuple[int, int]) -> list[int]:
    """Noises drawn up to every t, from one run; kept, since it depends on no claim."""
    if case not in _RUNS:
        _RUNS[case] = run_stack(Digits.offset(case[0]), capacity(OFFSET, *case)).drawn
    return _RUNS[case]


def _flips(arity: int, width: int) -> int:
    """How many digits change while t goes from 0 to the full horizon: at each level, the time cut there steps on."""
    return sum(Digits.offset(arity).cut(capacity(OFFSET, arity, width), level) for level in range(width))
