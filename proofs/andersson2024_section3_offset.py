"""Andersson et al. 2024, section 3.3: digits with subtraction, heights, and the remarks made there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from sympy import Symbol

from dpverdict.mechanisms.tree_digits import Digits
from dpverdict.proofs.andersson2024_mechanism import system_of
from dpverdict.proofs.andersson2024_section3 import System, agrees, is_bijection, show_kw, up_to
from dpverdict.proofs.andersson2024_trees import OFFSET, ORDINARY, PAPER, Span, digit_table
from dpverdict.proofs.identities import identity
from dpverdict.proofs.outcome import Findings, Kind, Standing
from dpverdict.proofs.statement import Plant, statement
from dpverdict.proofs.vertices import every

ODD = range(3, 20, 2)


OFFSET_ODD = System(
    OFFSET, lambda arity, width: -(arity**width - 1) // 2, lambda arity, width: (arity**width - 1) // 2, ODD
)


@statement(
    paper=PAPER,
    number="def3.8",
    kind=Kind.DEFINITION,
    expected=Standing.HOLDS,
    text="Let k be odd and t <= (k^w - 1)/2. Then the offset representation of t is the unique vector with integer "
    "entries in [-(k-1)/2, (k-1)/2]^w and sum_i k^(i-1) t_i = t.",
    formula=r"t_i \in \left[-\frac{k-1}{2}, \frac{k-1}{2}\right],\quad |t| \leq \frac{k^w-1}{2}",
    printed=OFFSET_ODD,
    planted=(
        Plant(
            "unique and complete",
            "t <= (k^w + 1)/2",
            OFFSET_ODD._replace(largest=lambda arity, width: (arity**width + 1) // 2),
        ),
        Plant(
            "the largest number",
            "digits to (k+1)/2",
            OFFSET_ODD._replace(span=Span(OFFSET.low, lambda k: (k + 1) // 2)),
        ),
        Plant(
            "the project's digits",
            "digits from -(k-3)/2",
            OFFSET_ODD._replace(span=Span(lambda k: -(k - 3) // 2, OFFSET.high)),
        ),
    ),
)
def offset_digits(claim: System) -> Findings:
    """All digit strings against all numbers; the largest is (k-1)/2 (1 + k + ... + k^(w-1)), by induction over w."""
    cases = up_to(claim.arities, 60_000)
    yield every(
        "unique and complete",
        cases,
        lambda case: is_bijection(claim, case),
        scope="odd k < 20, k^w <= 60000",
        show=show_kw,
    )
    w, m = Symbol("w", integer=True, positive=True), Symbol("m", integer=True, positive=True)
    odd = 2 * m + 1
    step = claim.span.high(3) * m * odd**w  # the highest digit of k = 2m + 1 is m times that of 3
    yield identity(
        "the largest number", (odd ** (w + 1) - 1) / 2, (odd**w - 1) / 2 + step, scope="all odd k, all w (induction)"
    )
    yield every(
        "the project's digits",
        [case for case in cases if case[0] ** case[1] <= 3000],
        lambda case: agrees(claim.span, *case, Digits.symmetric(case[0])),
        scope="odd k < 20, k^w <= 3000",
        show=show_kw,
    )


def ceil_log(base: int, number: int) -> int:
    """ceil(log_base(number)) on integers."""
    power, height = 1, 0
    while power < number:
        power, height = power * base, height + 1
    return height


class Heights(NamedTuple):
    """The argument of the logarithm for symmetric and for ordinary digits, as functions of T."""

    symmetric: Callable[[int], int]
    ordinary: Callable[[int], int]


def jumps(arity: int, most: int) -> Iterator[int]:
    """1, and both sides of every T at which a height jumps."""
    yield 1
    power = arity
    while power <= most:
        for last in ((power - 1) // 2, power - 1):
            yield from (last, last + 1)
        power *= arity


@statement(
    paper=PAPER,
    number="heights",
    kind=Kind.TEXT,
    expected=Standing.HOLDS,
    text="Algorithm 1 sets h = ceil(log_k(T+1)), Algorithms 2 and 3 set h = ceil(log_k(2T)) for odd k: the least "
    "heights that support T inputs.",
    formula=r"\lceil \log_k(2T) \rceil = \lceil \log_k(2T+1) \rceil = \min\{h : (k^h-1)/2 \geq T\}",
    printed=Heights(lambda horizon: 2 * horizon, lambda horizon: horizon + 1),
    planted=(
        Plant("offset digits", "log_k(2T+2)", Heights(lambda horizon: 2 * horizon + 2, lambda horizon: horizon + 1)),
        Plant("ordinary digits", "log_k(T)", Heights(lambda horizon: 2 * horizon, lambda horizon: horizon)),
    ),
)
def heights(claim: Heights) -> Findings:
    """k^h is odd, so k^h >= 2T iff k^h >= 2T + 1 iff (k^h - 1)/2 >= T. `Digits.height` is the least height.

    Neither side decreases in T, and both are step functions: where they agree beside all jumps up to 1e30, they
    agree at every T up to 1e30.
    """
    odd = [(arity, horizon) for arity in range(3, 60, 2) for horizon in jumps(arity, 10**30)]
    yield every(
        "offset digits",
        odd,
        lambda case: (
            max(ceil_log(case[0], claim.symmetric(case[1])), 1)
            == ceil_log(case[0], 2 * case[1] + 1)
            == Digits.symmetric(case[0]).height(case[1])
            and (case[0] ** Digits.symmetric(case[0]).height(case[1]) - 1) // 2 >= case[1]
        ),
        scope="all odd k, T by parity; odd k < 60, every T <= 1e30 by the jumps",
        show=lambda case: f"k = {case[0]}, T = {case[1]}",
    )
    yield every(
        "ordinary digits",
        [(arity, horizon) for arity in range(2, 60) for horizon in jumps(arity, 10**30)],
        lambda case: max(ceil_log(case[0], claim.ordinary(case[1])), 1) == Digits.ordinary(case[0]).height(case[1]),
        scope="k < 60, every T <= 1e30 by the jumps",
        show=lambda case: f"k = {case[0]}, T = {case[1]}",
    )


@statement(
    paper=PAPER,
    number="sec3.3.worst",
    kind=Kind.TEXT,
    expected=Standing.HOLDS,
    text="Instead of adding a maximum of k-1 vertices per level, we now combine at most floor(k/2); for odd k at most "
    "(k-1)/2 are added or subtracted.",
    formula=r"\max_t |t_i| = \lfloor k/2 \rfloor",
    printed=(lambda k: k - 1, lambda k: k // 2),
    planted=(
        Plant("without subtraction", "k - 2", (lambda k: k - 2, lambda k: k // 2)),
        Plant("with subtraction", "(k-1)//2 for even k too", (lambda k: k - 1, lambda k: (k - 1) // 2)),
    ),
)
def worst_level(claim: tuple[Callable[[int], int], Callable[[int], int]]) -> Findings:
    """The largest |digit| that any time uses, and what `Digits` allows."""
    without, with_subtraction = claim
    for name, span, most in (
        ("without subtraction", ORDINARY, without),
        ("with subtraction", OFFSET, with_subtraction),
    ):
        yield every(
            name,
            range(2, 24),
            lambda arity, span=span, most=most: (  # type: ignore[misc]
                max(abs(d) for t, string in digit_table(span, arity, 2).items() if t >= 0 for d in string)
                == most(arity)
                == max(system_of(span, arity).largest, system_of(span, arity).subtracted)
            ),
            scope="k = 2..23, all times of two digits",
            show=lambda arity: f"k = {arity}",
        )


@statement(
    paper=PAPER,
    number="sec3.3.root",
    kind=Kind.TEXT,
    expected=Standing.HOLDS,
    text="If k is odd, we only use the root vertex if t is in the right half of the tree; in standard k-ary trees "
    "every leaf but the right-most one can be used.",
    formula=r"t \leq (k^h - 1)/2",
    printed=(lambda arity, height: (arity**height - 1) // 2, lambda arity, height: arity**height - 1),
    planted=(
        Plant(
            "with subtraction",
            "(k^h + 1)/2",
            (lambda arity, height: (arity**height + 1) // 2, lambda arity, height: arity**height - 1),
        ),
        Plant(
            "without subtraction",
            "every leaf",
            (lambda arity, height: (arity**height - 1) // 2, lambda arity, height: arity**height),
        ),
    ),
)
def root_vertex(claim: tuple[Callable[[int, int], int], Callable[[int, int], int]]) -> Findings:
    """The digits of t = 1..k^h, one more of them than the height: the highest is 0 iff the root is not used."""
    for name, span, most, arities in (
        ("with subtraction", OFFSET, claim[0], (3, 5, 7, 9)),
        ("without subtraction", ORDINARY, claim[1], (2, 3, 4, 7)),
    ):
        yield every(
            name,
            [(arity, height) for arity in arities for height in (1, 2, 3) if arity ** (height + 1) <= 3000],
            lambda case, span=span, most=most: all(  # type: ignore[misc]
                (digit_table(span, case[0], case[1] + 1)[t][-1] == 0) == (t <= most(*case))
                for t in range(1, case[0] ** case[1] + 1)
            ),
            scope="4 arities, k^(h+1) <= 3000, every t",
            show=show_kw,
        )
