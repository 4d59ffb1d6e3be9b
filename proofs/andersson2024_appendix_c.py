"""Andersson et al. 2024, appendix C: digits of even arity, and the error with them."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import sympy
from sympy import Symbol

from dpverdict.mechanisms.tree_digits import Digits
from dpverdict.mechanisms.tree_errors import unit_mean_squared_error
from dpverdict.proofs.andersson2024_section3 import System, agrees, is_bijection, show_kw, up_to
from dpverdict.proofs.andersson2024_section3_errors import limit_at_infinity
from dpverdict.proofs.andersson2024_section4_2 import offset_error
from dpverdict.proofs.andersson2024_trees import OFFSET, PAPER, Expr, Span, capacity, h, k, sizes_in_time
from dpverdict.proofs.identities import identity
from dpverdict.proofs.outcome import Findings, Kind, Standing
from dpverdict.proofs.statement import Formula, Plant, statement
from dpverdict.proofs.vertices import every

EVEN = range(2, 20, 2)
m = Symbol("m", integer=True, positive=True)  # k = 2m


def _repunit(arity: int, width: int) -> int:
    return sum(arity**level for level in range(width))


OFFSET_EVEN = System(
    OFFSET,
    lambda arity, width: -(arity - 2) // 2 * _repunit(arity, width),
    lambda arity, width: arity // 2 * _repunit(arity, width),
    EVEN,
)


@statement(
    paper=PAPER,
    number="defC.1",
    kind=Kind.DEFINITION,
    expected=Standing.HOLDS,
    text="Let k be even and t <= k (k^w - 1)/(2(k-1)). Then the offset representation of t is the unique vector with "
    "integer entries in [-k/2 + 1, k/2]^w and sum_i k^(i-1) t_i = t; the other choice, [-k/2, k/2 - 1], supports "
    "fewer t.",
    formula=r"t_i \in \left[-\frac{k}{2}+1, \frac{k}{2}\right],\quad t \leq \frac{k(k^w-1)}{2(k-1)}",
    printed=OFFSET_EVEN,
    planted=(
        Plant(
            "unique and complete",
            "from -k (k^w - 1)/(2(k-1))",
            OFFSET_EVEN._replace(least=lambda arity, width: -arity // 2 * _repunit(arity, width)),
        ),
        Plant(
            "the project's digits",
            "[-k/2, k/2 - 1]",
            OFFSET_EVEN._replace(span=Span(lambda k: -k // 2, lambda k: k // 2 - 1)),
        ),
        Plant(
            "supports more than the other choice",
            "t <= (k-2)(k^w - 1)/(2(k-1))",
            OFFSET_EVEN._replace(largest=lambda arity, width: (arity - 2) // 2 * _repunit(arity, width)),
        ),
    ),
)
def even_digits(claim: System) -> Findings:
    """All digit strings against all numbers; the other choice reaches (k/2 - 1)(k^w - 1)/(k-1) only."""
    cases = up_to(claim.arities, 60_000)
    yield every(
        "unique and complete",
        cases,
        lambda case: is_bijection(claim, case),
        scope="even k < 20, k^w <= 60000",
        show=show_kw,
    )
    yield every(
        "the project's digits",
        [case for case in cases if case[0] ** case[1] <= 3000],
        lambda case: agrees(claim.span, *case, Digits.offset(case[0])),
        scope="even k < 20, k^w <= 3000",
        show=show_kw,
    )
    other = Span(lambda k: -k // 2, lambda k: k // 2 - 1)
    yield every(
        "supports more than the other choice",
        cases,
        lambda case: claim.largest(*case) > capacity(other, *case),
        scope="even k < 20, k^w <= 60000",
        show=show_kw,
    )


class Even(NamedTuple):
    """The number of vertices with a positive leading digit, and the error, in terms of k and h."""

    leading: Formula
    error: Formula


def _even_error(k: Expr, h: Expr) -> Expr:
    return k * h**3 / (2 * (1 - k ** (-h))) + (k - 2) * h**2 / (2 * (k - 1))


CLAIM_1 = Even(lambda k, h: k**h / 2 * ((k + 2) / 4 + (h - 1) * k / 4), _even_error)


@statement(
    paper=PAPER,
    number="claim1",
    kind=Kind.CLAIM,
    expected=Standing.HOLDS,
    text="For even k and T = k (k^h - 1)/(2(k-1)), Algorithm 2 achieves a mean squared error of k h^3/(2 eps^2) + "
    "O(h^2); the number of vertices obeys c_h = (k^h/2)((k+2)/4 + (h-1) k/4) + c_(h-1).",
    formula=r"\frac{k h^3}{2\varepsilon^2(1-k^{-h})} + \frac{(k-2)h^2}{2(k-1)\varepsilon^2}",
    printed=CLAIM_1,
    planted=(
        Plant(
            "recursion", "k/4 for (k+2)/4", CLAIM_1._replace(leading=lambda k, h: k**h / 2 * (k / 4 + (h - 1) * k / 4))
        ),
        Plant(
            "error from the recursion",
            "(k+2) h^2",
            CLAIM_1._replace(error=lambda k, h: k * h**3 / (2 * (1 - k ** (-h))) + (k + 2) * h**2 / (2 * (k - 1))),
        ),
        Plant(
            "of the counter",
            "without 1 - k^-h",
            CLAIM_1._replace(error=lambda k, h: k * h**3 / 2 + (k - 2) * h**2 / (2 * (k - 1))),
        ),
        Plant(
            "of all strings",
            "k/4 for (k+2)/4",
            CLAIM_1._replace(leading=lambda k, h: k**h / 2 * (k / 4 + (h - 1) * k / 4)),
        ),
        Plant("k h^3/2 + O(h^2)", "k h^3", CLAIM_1._replace(error=lambda k, h: 2 * _even_error(k, h))),
    ),
    note="the printed form of the formula is lost in the text supplied; its leading term is that of Corollary C.3, "
    "and the exact form is checked",
)
def claim_1(claim: Even) -> Findings:
    """Strings with a positive leading digit: k^h/2 of them, of mean (k+2)/4 there and k/4 elsewhere; others have
    c_(h-1).

    The sum is solved by induction: c_h := T MSE/(2 h^2) has these steps, and c_0 = 0.
    """
    d = Symbol("d", integer=True)
    even = 2 * m
    leading = sympy.summation(d, (d, 1, m)) / m
    other = (sympy.summation(d, (d, 1, m)) + sympy.summation(d, (d, 1, m - 1))) / even
    yield identity(
        "recursion", even**h / 2 * (leading + (h - 1) * other), claim.leading(even, h), scope="all even k, all h"
    )

    def total(height: Expr) -> Expr:
        return even * (even**height - 1) / (2 * (even - 1)) * claim.error(even, height) / (2 * height**2)

    yield identity(
        "error from the recursion",
        total(h) - total(h - 1),
        claim.leading(even, h),
        scope="all even k, all h (induction)",
    )
    yield every(
        "of the counter",
        [(arity, width) for arity in range(2, 80, 2) for width in range(1, 30, 2)],
        lambda case: (
            unit_mean_squared_error(Digits.offset(case[0]), capacity(OFFSET, *case))
            == claim.error(Fraction(case[0]), case[1])
        ),
        scope="even k < 80, odd h < 30: `TreeCounter`'s closed form",
        show=show_kw,
    )
    yield every(
        "of all strings",
        up_to(EVEN, 60_000),
        lambda case: (
            int(sizes_in_time(OFFSET, *case).sum())
            == sum(claim.leading(Fraction(case[0]), j) for j in range(1, case[1] + 1))
        ),
        scope="even k < 20, k^h <= 60000: all digit strings",
        show=show_kw,
    )
    rest = claim.error(even, h).subs(even ** (-h), 0) - even * h**3 / 2  # and h^3 k^-h -> 0
    yield limit_at_infinity(
        "k h^3/2 + O(h^2)",
        sympy.expand(rest) / h**2,
        h,
        (even - 2) / (2 * (even - 1)),
        scope="all even k, h -> infinity",
    )


@statement(
    paper=PAPER,
    number="secC.factor",
    kind=Kind.TEXT,
    expected=Standing.HOLDS,
    text="Ignoring the lower order terms, this is worse by a factor 1/(1 - k^-2) over the odd case.",
    formula=r"\frac{k/2}{k(1-k^{-2})/2} = \frac{1}{1-k^{-2}}",
    printed=lambda k: 1 / (1 - k ** (-2)),
    planted=(Plant("ratio of the leading terms", "1/(1 - 1/k)", lambda k: 1 / (1 - 1 / k)),),
)
def even_factor(factor: Formula) -> Findings:
    """Claim 1 over Lemma 4.7, both without 1 - k^-h, at the same k as a formula."""
    odd = offset_error(k, h, 1) * (1 - k ** (-h))
    yield identity("ratio of the leading terms", k * h**3 / 2 / odd, factor(k), scope="all k >= 2")
