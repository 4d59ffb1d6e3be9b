"""Andersson et al. 2024, Theorem 1.1 and section 1.2."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import sympy
from sympy import Rational, Symbol

from dpverdict.balls import Real, ball
from dpverdict.mechanisms.tree_digits import Digits
from dpverdict.mechanisms.tree_errors import best_arity, unit_mean_squared_error
from dpverdict.proofs.andersson2024_constants import at
from dpverdict.proofs.andersson2024_section3 import show_kw, up_to
from dpverdict.proofs.andersson2024_section3_errors import limit_at_infinity, run_stack
from dpverdict.proofs.andersson2024_section4_2 import ODD_CONSTANT, offset_error
from dpverdict.proofs.andersson2024_trees import (
    OFFSET,
    ORDINARY,
    PAPER,
    all_strings,
    capacity,
    epsilon,
    k,
    least_height,
    sizes_in_time,
)
from dpverdict.proofs.boxes import not_larger
from dpverdict.proofs.identities import identity, nonnegative
from dpverdict.proofs.outcome import Findings, Kind, Standing
from dpverdict.proofs.statement import Formula, Plant, Reading, statement
from dpverdict.proofs.vertices import every


class Theorem11(NamedTuple):
    """The constant, the excess per time step over the mean digits, noises drawn over T, and a bound at T = 2^20."""

    constant: Formula
    excess: Formula
    drawn: Formula
    live: Formula
    practical: Fraction | None


THEOREM = Theorem11(
    ODD_CONSTANT.formula,
    lambda k: k * (k + 1) / 2,
    lambda k: Fraction(2 * k, k + 1),
    lambda k, h: h * (k - 1) // 2,
    None,
)


@statement(
    paper=PAPER,
    number="thm1.1",
    kind=Kind.THEOREM,
    expected=Standing.HOLDS_WITH_CAVEAT,
    text="Given a constant odd k >= 3 and T > 1, there is an eps-DP algorithm for continual counting of mean squared "
    "error k (1 - k^-2)/(2 log(k)^3 eps^2) log(T)^3 + O(log(T)^2), computing all outputs in O(T) time and O(log T) "
    "space.",
    formula=r"\frac{k(1-k^{-2})}{2\log(k)^3\varepsilon^2}\,\log(T)^3 + O(\log(T)^2)",
    printed=THEOREM,
    caveat=Reading(
        "read as the error at practical horizons: at T = 2^20 the best odd arity has 1.16 times 0.12359 log(T)^3",
        THEOREM._replace(practical=Fraction(11, 10)),
    ),
    corrected=Reading(
        "at T = (k^h - 1)/2 the error is exactly the constant times log(2T+1)^3/(eps^2 (1 - k^-h)); convergence is "
        "slow: the excess over the leading term is below 17 % at T = 2^20, not below 10 %",
        THEOREM._replace(practical=Fraction(117, 100)),
    ),
    planted=(
        Plant("exact at full T", "k^2", THEOREM._replace(constant=lambda k, log, log2: k**2 * log2**3 / (2 * log**3))),
        Plant(
            "remainder O(log^2)", "k^2", THEOREM._replace(constant=lambda k, log, log2: k**2 * log2**3 / (2 * log**3))
        ),
        Plant("excess of the last, partial periods", "k/8", THEOREM._replace(excess=lambda k: k / 8)),
        Plant("every horizon", "-1/4", THEOREM._replace(excess=lambda k: -Fraction(1, 4))),
        Plant("time", "T", THEOREM._replace(drawn=lambda k: Fraction(1))),
        Plant("space", "one less", THEOREM._replace(live=lambda k, h: h * (k - 1) // 2 - 1)),
        Plant("at T = 2^20", "15 %", THEOREM._replace(practical=Fraction(115, 100))),
    ),
    assumptions=("Lemmas 4.5, 4.12 and 4.14", "Laplace noise is generated in constant time"),
)
def theorem_1_1(claim: Theorem11) -> Findings:
    """Privacy, space and time are Lemmas 4.5, 4.12, 4.14. For any T, S(T) <= T (h (k^2-1)/(4k) + k(k+1)/2):

    whole periods k^(l+1) of level l have the mean digit, and a partial one exceeds it by at most the sum (k^2-1)/4 k^l
    of a period; over the levels that is (k+1)(k^h - 1)/4, and (k^h - 1)/2 <= k T. So the error 2 h^2 S(T)/T is at most
    (k - 1/k) h^3/2 + k(k+1) h^2, with h < log_k(2T) + 1.
    """
    x = Symbol("L", positive=True)
    constant = claim.constant(k, sympy.log(k), sympy.log(2))
    yield identity(
        "exact at full T",
        offset_error(k, x / sympy.log(k), epsilon).subs(k ** (-x / sympy.log(k)), sympy.exp(-x)),
        constant * (x / sympy.log(2)) ** 3 / (epsilon**2 * (1 - sympy.exp(-x))),
        scope="all odd k, T = (k^h - 1)/2, L = ln(2T + 1)",
    )
    arity, power, s = Symbol("k", positive=True), Symbol("K", positive=True), Symbol("s", nonnegative=True)
    horizon = (power - 1) / 2 + 1 + s  # K = k^(h-1)
    yield nonnegative(
        "excess of the last, partial periods",
        claim.excess(arity) * horizon - (arity + 1) * (arity * power - 1) / 4,
        {arity: 3, power: 1, s: 0},
        scope="all odd k, all T",
    )
    yield every(
        "every horizon",
        up_to(range(3, 20, 2), 60_000),
        lambda case: _excess_is_small(*case, claim.excess),
        scope="odd k < 20, every T with k^h <= 60000",
        show=show_kw,
    )
    height, log_k = x + 1, sympy.log(k)  # x = log_k(2T) from here on
    bound = (k - 1 / k) / 2 * height**3 + k * (k + 1) * height**2
    leading = constant * ((x * log_k - sympy.log(2)) / sympy.log(2)) ** 3
    symbols = {log_k: Symbol("b", positive=True), sympy.log(2): Symbol("c", positive=True)}
    rest = sympy.expand(sympy.expand(bound - leading).subs(symbols)) / x**2
    wanted = (k - 1 / k) / 2 * (3 + 3 * sympy.log(2) / log_k) + k * (k + 1)
    yield limit_at_infinity(
        "remainder O(log^2)", rest, x, wanted.subs(symbols), scope="all odd k, all T -> infinity, over log_k(2T)^2"
    )
    full = [(a, w) for a, w in up_to(range(3, 20, 2), 3000) if w > 1]
    yield every(
        "time",
        [(a, t) for a, _ in full for t in ((a + 1) // 2, 100)],
        lambda case: run_stack(Digits.symmetric(case[0]), case[1]).drawn[-1] <= claim.drawn(case[0]) * case[1],
        scope="`TreeStream`, odd k < 20, T = (k+1)/2 and 100: noises drawn",
        show=lambda case: f"k = {case[0]}, T = {case[1]}",
    )
    yield every(
        "space",
        full,
        lambda case: run_stack(Digits.symmetric(case[0]), capacity(OFFSET, *case)).most <= claim.live(*case),
        scope="`TreeStream`, odd k < 20, full horizons with k^h <= 3000: noises in use",
        show=show_kw,
    )
    if claim.practical is not None:
        steps = 2**20
        best = unit_mean_squared_error(Digits.symmetric(best_arity(steps, "symmetric")), steps)
        practical = claim.practical
        yield not_larger(
            "at T = 2^20",
            Real.of(best),
            Real(lambda: ball(practical) * at(ODD_CONSTANT, 19).ball() * 20**3),
            scope="T = 2^20, the best odd arity",
        )


def _excess_is_small(arity: int, width: int, excess: Formula) -> bool:
    """S(T) <= T (h (k^2-1)/(4k) + excess) for every T up to the full one, with the height of T."""
    sizes, total = sizes_in_time(OFFSET, arity, width), 0
    first = capacity(OFFSET, arity, width - 1) + 1 if width > 1 else 1
    total = int(sizes[:first].sum())
    mean = Fraction(width * (arity**2 - 1), 4 * arity) + excess(Fraction(arity))
    top, bottom = mean.numerator, mean.denominator
    for time in range(first, len(sizes)):
        total += int(sizes[time])
        if total * bottom > top * time:
            return False
    return width == least_height(OFFSET, arity, len(sizes) - 1)


class Reduction(NamedTuple):
    """Mean number of vertices per level without subtraction over that with it."""

    factor: Formula


@statement(
    paper=PAPER,
    number="sec1.2.factor2",
    kind=Kind.TEXT,
    expected=Standing.HOLDS_WITH_CAVEAT,
    text="Subtraction gives, roughly, a factor-2 reduction in the mean squared error versus not using it.",
    formula=r"\frac{k-1}{(k - 1/k)/2} = \frac{2k}{k+1}",
    printed=Reduction(lambda k: 2 * k / (k + 1)),
    caveat=Reading("read as a factor 2 for some k: it is 2 in the limit of large k only", Reduction(lambda k: 2)),
    corrected=Reading("the factor is 2k/(k+1): 1.5 at k = 3, 1.9 at k = 19", Reduction(lambda k: 2 * k / (k + 1))),
    planted=(
        Plant("ratio of the means", "2k/(k+2)", Reduction(lambda k: 2 * k / (k + 2))),
        Plant("from all strings", "2k/(k+2)", Reduction(lambda k: 2 * k / (k + 2))),
    ),
)
def factor_2(claim: Reduction) -> Findings:
    """The mean of |digit| is (k-1)/2 for ordinary digits and (k - 1/k)/4 for symmetric ones, at equal heights."""
    m = Symbol("m", integer=True, positive=True)  # k = 2m + 1
    ordinary = (0 + 2 * m) * (2 * m + 1) / 2
    symmetric = m * (m + 1)
    yield identity("ratio of the means", ordinary / symmetric, claim.factor(2 * m + 1), scope="all odd k >= 3")
    yield every(
        "from all strings",
        up_to(range(3, 20, 2), 20_000),
        lambda case: (
            int(all_strings(ORDINARY, *case)[1].sum())
            == claim.factor(Rational(case[0])) * int(all_strings(OFFSET, *case)[1].sum())
        ),
        scope="odd k < 20, k^h <= 20000, all strings",
        show=show_kw,
    )
