"""Andersson et al. 2024, section 3.2, Theorem 3.7: the constant of k-ary trees, and what is asymptotic about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import sympy
from sympy import Symbol

from dpverdict.balls import Real
from dpverdict.mechanisms.tree_constants import laplace_constant
from dpverdict.mechanisms.tree_digits import Digits
from dpverdict.mechanisms.tree_stream import TreeStream
from dpverdict.proofs.andersson2024_constants import Constant, best_arity
from dpverdict.proofs.andersson2024_trees import ORDINARY, PAPER, Expr, epsilon, h, k, least_height
from dpverdict.proofs.boxes import smaller
from dpverdict.proofs.identities import identity
from dpverdict.proofs.outcome import Finding, Findings, Kind, Method, Standing
from dpverdict.proofs.statement import Plant, statement
from dpverdict.proofs.vertices import every


class Costs(NamedTuple):
    """Of a run of the stack form: noises drawn up to every time, and the most that were in use at once."""

    drawn: list[int]
    most: int


def run_stack(digits: Digits, horizon: int) -> Costs:
    """Run `TreeStream` with counted draws."""
    count = [0]

    def draw() -> int:
        count[0] += 1
        return 0

    stream = TreeStream(digits, digits.height(horizon), draw, 0)
    drawn, most = [], 0
    for _ in range(horizon):
        stream.advance()
        drawn.append(count[0])
        most = max(most, stream.live)
    return Costs(drawn, most)


def limit_at_infinity(name: str, expression: Expr, variable: Expr, value: Expr, *, scope: str) -> Finding:
    """lim expression = value as the variable tends to infinity, by SymPy."""
    found = sympy.limit(expression, variable, sympy.oo)
    if found.has(sympy.oo, -sympy.oo, sympy.zoo):
        return Finding(name=name, holds=False, method=Method.SYMBOLIC, scope=scope, witness=f"the limit is {found}")
    return identity(name, found, value, scope=scope)


class Theorem37(NamedTuple):
    """The constant, the noises drawn in T steps, and the most in use, both as functions of (k, h, T)."""

    constant: Constant
    drawn: Callable[[int, int, int], int]
    live: Callable[[int, int, int], int]


KARY = Constant(
    lambda k, log, log2: (k - 1) * log2**3 / log**3, 17, "0.2342925774", 1, lambda k, log: k * log - 3 * (k - 1)
)
THEOREM = Theorem37(KARY, lambda k, h, horizon: horizon, lambda k, h, horizon: h * (k - 1))


@statement(
    paper=PAPER,
    number="thm3.7",
    kind=Kind.THEOREM,
    expected=Standing.HOLDS,
    text="For constant k >= 2 there is an epsilon-DP mechanism of mean squared error (k-1)/(epsilon^2 log(k)^3) "
    "log(T)^3 + O(log(T)^2), in O(T) time and O(log T) space; the constant is minimal for k = 17, where it is 0.2343.",
    formula=r"\frac{k-1}{\varepsilon^2\log(k)^3}\,\log(T)^3 + O(\log(T)^2)",
    printed=THEOREM,
    planted=(
        Plant(
            "exact at full T",
            "k in place of k - 1",
            THEOREM._replace(constant=KARY._replace(formula=lambda k, log, log2: k * log2**3 / log**3)),
        ),
        Plant(
            "remainder O(log^2)",
            "k in place of k - 1",
            THEOREM._replace(constant=KARY._replace(formula=lambda k, log, log2: k * log2**3 / log**3)),
        ),
        Plant(
            "sign of the derivative",
            "2 in place of 3",
            THEOREM._replace(constant=KARY._replace(slope=lambda k, log: k * log - 2 * (k - 1))),
        ),
        Plant(
            "the slope is convex",
            "log^2 in place of log",
            THEOREM._replace(constant=KARY._replace(slope=lambda k, log: k * log**2 - 3 * (k - 1))),
        ),
        Plant(
            "the slope begins negative",
            "1 in place of 3",
            THEOREM._replace(constant=KARY._replace(slope=lambda k, log: k * log - (k - 1))),
        ),
        Plant("best arity", "16", THEOREM._replace(constant=KARY._replace(best=16))),
        Plant("value", "0.234375 (that of 16)", THEOREM._replace(constant=KARY._replace(value="0.234375"))),
        Plant(
            "the project's constant",
            "k + 1",
            THEOREM._replace(constant=KARY._replace(formula=lambda k, log, log2: (k + 1) * log2**3 / log**3)),
        ),
        Plant("noises drawn in T steps", "T - 1", THEOREM._replace(drawn=lambda k, h, horizon: horizon - 1)),
        Plant("noises in use", "h (k-2)", THEOREM._replace(live=lambda k, h, horizon: h * (k - 2))),
    ),
    assumptions=("Laplace noise is generated in constant time",),
)
def theorem_3_7(claim: Theorem37) -> Findings:
    """Lemma 3.5 in terms of T = k^h - 1; for any T the formula bounds it (lem3.5.anyT), with h < log_k(T) + 1 + 2/T.

    With L = log_k T, the bound (k-1)(L + 1 + 2/T)^3/(1 - k^-h), k^-h <= 1/(T+1), exceeds (k-1) L^3 by O(L^2). The
    constant's slope k ln k - 3(k-1) is convex and negative at 2, so it changes sign once.
    """
    ln_t = Symbol("lnT", positive=True)  # ln(T + 1) = h ln k at full T
    constant = claim.constant.formula(k, sympy.log(k), sympy.log(2))
    exact = (k - 1) * h**3 / (epsilon**2 * (1 - k ** (-h)))
    leading = constant * (ln_t / sympy.log(2)) ** 3 / epsilon**2 / (1 - sympy.exp(-ln_t))
    yield identity(
        "exact at full T", exact, leading.subs(ln_t, h * sympy.log(k)), scope="all k >= 2, T = k^h - 1, log(T + 1)"
    )
    length, u = Symbol("L", positive=True), Symbol("u", positive=True)  # log_k T and 1/T
    bound = (k - 1) * (length + 1 + 2 * u) ** 3 * (1 + u)
    rest = bound.subs(u, 0) - constant * (length * sympy.log(k) / sympy.log(2)) ** 3  # and L^3/T -> 0
    yield limit_at_infinity(
        "remainder O(log^2)",
        sympy.expand(rest) / length**2,
        length,
        3 * (k - 1),
        scope="all k >= 2, all T -> infinity",
    )
    yield from best_arity(claim.constant, k * (k - 1) * sympy.log(k), laplace_constant, Digits.ordinary, "all k >= 2")
    slope = claim.constant.slope(k, sympy.log(k))
    yield identity("the slope is convex", sympy.diff(slope, k, 2), 1 / k, scope="all k > 0")
    at_two = Real(lambda: claim.constant.slope(Real.of(2).ball(), Real.of(2).ball().log()))
    yield smaller("the slope begins negative", at_two, Real.of(0), scope="k = 2")
    cases = [(arity, horizon) for arity in (2, 3, 4, 7, 10) for horizon in (1, 5, arity**2, 1000)]
    yield every(
        "noises drawn in T steps",
        cases,
        lambda case: (
            run_stack(Digits.ordinary(case[0]), case[1]).drawn[-1]
            == claim.drawn(case[0], least_height(ORDINARY, *case), case[1])
        ),
        scope="5 arities, T <= 1000: `TreeStream`",
        show=str,
    )
    full = [(arity, width) for arity, width in ((2, 9), (3, 6), (4, 4), (7, 3), (10, 3))]
    yield every(
        "noises in use",
        full,
        lambda case: (
            run_stack(Digits.ordinary(case[0]), case[0] ** case[1] - 1).most
            == claim.live(*case, case[0] ** case[1] - 1)
        ),
        scope="attained at 5 full horizons; for all: each of h digits is at most k - 1",
        show=str,
    )
