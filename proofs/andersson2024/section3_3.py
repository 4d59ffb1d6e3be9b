"""Andersson et al. 2024, sections 3.2 and 3.3: Theorem 3.7, digits with subtraction, and Algorithm 2.

The constant of k-ary trees and what is asymptotic about it; heights with subtraction, and the remarks made there;
Algorithm 2, and two slips of the pen before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import sympy
from sympy import Symbol

from dpverdict.balls import Real
from dpverdict.mechanisms.streams.errors import laplace_constant
from dpverdict.mechanisms.streams.tree import TreeDigits, TreeStream
from dpverdict.proofs.andersson2024.section3 import System, agrees, is_bijection, show_kw, up_to
from dpverdict.proofs.andersson2024.shared.brute_force import (
    OFFSET,
    ORDINARY,
    Instance,
    Span,
    capacity,
    columns,
    digit_table,
    indices_of,
    instances,
    least_height,
    stack_columns,
    system_of,
)
from dpverdict.proofs.andersson2024.shared.notation import PAPER, RESTORED, Constant, best_arity, epsilon, h, k
from dpverdict.proofs.checks.boxes import smaller
from dpverdict.proofs.checks.identities import Expr, identity
from dpverdict.proofs.checks.outcome import Finding, Findings, Method, Standing, StatementKind
from dpverdict.proofs.checks.statement import Plant, Reading, statement
from dpverdict.proofs.checks.vertices import every


class Costs(NamedTuple):
    """Of a run of the stack form: noises drawn up to every time, and the most that were in use at once."""

    drawn: list[int]
    most: int


def run_stack(digits: TreeDigits, horizon: int) -> Costs:
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
    return identity(name, found, value, scope=scope, dropped=(variable,))


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
    restored=RESTORED,
    kind=StatementKind.THEOREM,
    expected=Standing.HOLDS_ON_RANGE,
    text="For constant k >= 2 there is an epsilon-DP mechanism of mean squared error (k-1)/(epsilon^2 log(k)^3) "
    "log(T)^3 + O(log(T)^2), in O(T) time and O(log T) space; the constant is minimal for k = 17, where it is 0.2343.",
    formula=r"\frac{k-1}{\varepsilon^2\log(k)^3}\,\log(T)^3 + O(\log(T)^2)",
    printed=THEOREM,
    needs=(
        "lem3.3",
        "lem3.5",
        "lem3.5.anyT",
    ),
    named=(
        "best arity",
        "the slope begins negative",
    ),
    confirms={"the project's constant": "sign of the derivative"},
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
    yield from best_arity(
        claim.constant, k * (k - 1) * sympy.log(k), laplace_constant, TreeDigits.ordinary, "all k >= 2"
    )
    slope = claim.constant.slope(k, sympy.log(k))
    yield identity("the slope is convex", sympy.diff(slope, k, 2), 1 / k, scope="all k > 0")
    at_two = Real(lambda: claim.constant.slope(Real.of(2).ball(), Real.of(2).ball().log()))
    yield smaller("the slope begins negative", at_two, Real.of(0), scope="k = 2")
    cases = [(arity, horizon) for arity in (2, 3, 4, 7, 10) for horizon in (1, 5, arity**2, 1000)]
    yield every(
        "noises drawn in T steps",
        cases,
        lambda case: (
            run_stack(TreeDigits.ordinary(case[0]), case[1]).drawn[-1]
            == claim.drawn(case[0], least_height(ORDINARY, *case), case[1])
        ),
        over="k, T: `TreeStream`",
        cases=20,
        show=str,
    )
    full = [(arity, width) for arity, width in ((2, 9), (3, 6), (4, 4), (7, 3), (10, 3))]
    yield every(
        "noises in use",
        full,
        lambda case: (
            run_stack(TreeDigits.ordinary(case[0]), case[0] ** case[1] - 1).most
            == claim.live(*case, case[0] ** case[1] - 1)
        ),
        over="k, h: full horizons",
        argued="each of h digits is at most k - 1",
        cases=5,
        show=str,
    )


ODD = range(3, 20, 2)


OFFSET_ODD = System(
    OFFSET, lambda arity, width: -(arity**width - 1) // 2, lambda arity, width: (arity**width - 1) // 2, ODD
)


@statement(
    paper=PAPER,
    number="def3.8",
    restored=RESTORED,
    kind=StatementKind.DEFINITION,
    expected=Standing.HOLDS_ON_RANGE,
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
        over="k, w: odd k < 20, k^w <= 60000",
        cases=44,
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
        lambda case: agrees(claim.span, *case, TreeDigits.symmetric(case[0])),
        over="k, w: odd k < 20, k^w <= 3000",
        cases=30,
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
    restored=RESTORED,
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS_ON_RANGE,
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
    """k^h is odd, so k^h >= 2T iff k^h >= 2T + 1 iff (k^h - 1)/2 >= T. `TreeDigits.height` is the least height.

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
            == TreeDigits.symmetric(case[0]).height(case[1])
            and (case[0] ** TreeDigits.symmetric(case[0]).height(case[1]) - 1) // 2 >= case[1]
        ),
        over="k, T: odd k < 60, T <= 1e30 by the jumps",
        argued="all odd k, T by parity",
        cases=2701,
        show=lambda case: f"k = {case[0]}, T = {case[1]}",
    )
    yield every(
        "ordinary digits",
        [(arity, horizon) for arity in range(2, 60) for horizon in jumps(arity, 10**30)],
        lambda case: max(ceil_log(case[0], claim.ordinary(case[1])), 1) == TreeDigits.ordinary(case[0]).height(case[1]),
        over="k, T: k < 60, T <= 1e30 by the jumps",
        cases=5630,
        show=lambda case: f"k = {case[0]}, T = {case[1]}",
    )


@statement(
    paper=PAPER,
    number="sec3.3.worst",
    restored=RESTORED,
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS_ON_RANGE,
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
    """The largest |digit| that any time uses, and what `TreeDigits` allows."""
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
            over="k: times of two digits",
            cases=22,
            show=lambda arity: f"k = {arity}",
        )


@statement(
    paper=PAPER,
    number="sec3.3.root",
    restored=RESTORED,
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS_ON_RANGE,
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
            over="k, h: k^(h+1) <= 3000, t = 1..k^h",
            cases=11 if span is OFFSET else 12,
            show=show_kw,
        )


@statement(
    paper=PAPER,
    number="sec3.3.words",
    restored=RESTORED,
    kind=StatementKind.TEXT,
    expected=Standing.FAILS_AS_PRINTED,
    text="'As in the case for k-ary trees using only subtraction': if a digit is positive, we add left-most children "
    "'as in the case without addition except we add fewer vertices'.",
    formula="",
    printed=(0, -1),
    corrected=Reading("using only addition, and as in the case without subtraction: two slips of the pen", (1, 0)),
    named=(
        "vertices that ordinary trees add",
        "vertices that ordinary trees subtract",
    ),
    planted=(
        Plant("vertices that ordinary trees add", "none", (0, 0)),
        Plant("vertices that ordinary trees subtract", "one", (1, -1)),
    ),
)
def only_subtraction(claim: tuple[int, int]) -> Findings:
    """The least and the greatest number of signs: an ordinary tree (Algorithm 1) adds vertices and subtracts none."""
    signs = {column.sign for case in CASES for column in columns(case, ORDINARY).values()}
    added, subtracted = claim
    yield every(
        "vertices that ordinary trees add",
        [1],
        lambda sign: (sign in signs) == bool(added),
        over="signs: seen in the instances of Algorithm 2",
        cases=1,
    )
    yield every(
        "vertices that ordinary trees subtract",
        [-1],
        lambda sign: (sign in signs) == bool(subtracted),
        over="signs: seen in the instances of Algorithm 2",
        cases=1,
    )


CASES = [*instances(OFFSET, range(2, 10), 130), Instance(19, 180), Instance(13, 84), Instance(12, 78)]


def literal_columns(case: Instance, span: Span) -> Counter[int]:
    """The times at which every noise z_q of Algorithm 2 is used, as bits."""
    times: dict[tuple[int, ...], int] = {}
    for time, digits in enumerate(case.digits(span), 1):
        for q in indices_of(digits):
            times[q] = times.get(q, 0) | 1 << time
    return Counter(times.values())


@statement(
    paper=PAPER,
    number="alg2",
    restored=RESTORED,
    kind=StatementKind.ALGORITHM,
    expected=Standing.HOLDS_ON_RANGE,
    text="Algorithm 2: out = c + the noises z_q, where q runs through 0, ..., 0, that_h, ..., that_1, one unit after "
    "the other; in its stack form, the same noises are kept from step to step.",
    formula=r"\mathrm{out} = \sum_{s \leq t} x_s + \sum_q z_q",
    printed=OFFSET,
    planted=(
        Plant("the stack uses the same noises", "digits of Definition 3.2", ORDINARY),
        Plant("as many noises as vertices", "digits of Definition 3.2", ORDINARY),
    ),
)
def algorithm_2(span: Span) -> Findings:
    """The columns of L, each as the set of times at which it is used: equal families mean equal laws of all outputs."""
    yield every(
        "the stack uses the same noises",
        CASES,
        lambda case: literal_columns(case, span) == stack_columns(case, OFFSET),
        over="k, T",
        cases=198,
    )
    yield every(
        "as many noises as vertices",
        CASES,
        lambda case: (
            all(
                len(list(indices_of(digits))) == system_of(OFFSET, case.arity).size(time)
                for time, digits in enumerate(case.digits(span), 1)
            )
            and capacity(span, case.arity, case.height(span)) >= case.horizon
        ),
        over="k, T",
        cases=198,
    )
