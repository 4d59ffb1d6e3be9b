"""Andersson et al. 2024, section 3.2: the error of Algorithm 1."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import sympy
from sympy import Symbol

from dpverdict.mechanisms.tree_digits import Digits
from dpverdict.mechanisms.tree_errors import unit_mean_squared_error
from dpverdict.proofs.andersson2024_section3 import show_kw, up_to
from dpverdict.proofs.andersson2024_trees import ORDINARY, PAPER, Expr, Span, epsilon, h, k, sizes_in_time
from dpverdict.proofs.identities import identity, nonnegative
from dpverdict.proofs.outcome import Findings, Kind, Standing
from dpverdict.proofs.statement import Formula, Plant, statement
from dpverdict.proofs.vertices import every


def _kary_error(k: Expr, h: Expr, epsilon: Expr) -> Expr:
    return (k - 1) * h**3 / (epsilon**2 * (1 - k ** (-h)))


def total_sizes(span: Span, arity: int, width: int) -> int:
    """The sum of the sizes of t = 1, ..., up to the largest number of the width, from the list of all strings."""
    return int(sizes_in_time(span, arity, width).sum())


@statement(
    paper=PAPER,
    number="lem3.5",
    kind=Kind.LEMMA,
    expected=Standing.HOLDS,
    text="Algorithm 1 achieves a mean squared error of (k-1) h^3/(epsilon^2 (1 - k^-h)) over T = k^h - 1 outputs.",
    formula=r"\frac{(k-1)h^3}{\varepsilon^2(1 - k^{-h})}",
    printed=_kary_error,
    planted=(
        Plant("from the digits", "k for k - 1", lambda k, h, epsilon: k * h**3 / (epsilon**2 * (1 - k ** (-h)))),
        Plant("of the counter", "1 + k^-h", lambda k, h, epsilon: (k - 1) * h**3 / (epsilon**2 * (1 + k ** (-h)))),
        Plant("of all strings", "h^2", lambda k, h, epsilon: (k - 1) * h**2 / (epsilon**2 * (1 - k ** (-h)))),
    ),
)
def lemma_3_5(error: Formula) -> Findings:
    """Each of h digits takes its k values equally often: mean (k-1)/2; t = 0 is left out; a vertex has 2 h^2/eps^2."""
    d = Symbol("d", integer=True)
    mean = sympy.summation(d, (d, 0, k - 1)) / k
    derived = h * mean * k**h / (k**h - 1) * 2 * h**2 / epsilon**2
    yield identity("from the digits", derived, error(k, h, epsilon), scope="all k >= 2, h >= 1, eps > 0")
    yield every(
        "of the counter",
        [(arity, width) for arity in range(2, 80) for width in range(1, 30, 2)],
        lambda case: (
            unit_mean_squared_error(Digits.ordinary(case[0]), case[0] ** case[1] - 1)
            == error(Fraction(case[0]), case[1], 1)
        ),
        scope="k < 80, odd h < 30: `TreeCounter`'s closed form",
        show=show_kw,
    )
    yield every(
        "of all strings",
        up_to(range(2, 12), 60_000),
        lambda case: (
            Fraction(2 * case[1] ** 2 * total_sizes(ORDINARY, *case), case[0] ** case[1] - 1)
            == error(Fraction(case[0]), case[1], 1)
        ),
        scope="k = 2..11, k^h <= 60000: all digit strings",
        show=show_kw,
    )


def never_above(span: Span, arity: int, width: int, slack: int) -> bool:
    """S(T)/T <= S(T_w)/T_w (or its multiple by (slack - 1)/slack) for every T of this height; S adds up the sizes."""
    sums = np.cumsum(sizes_in_time(span, arity, width))
    first = len(sizes_in_time(span, arity, width - 1)) if width > 1 else 1
    times = np.arange(first, len(sums), dtype=np.int64)
    left = sums[first:] * times[-1] * slack
    return bool(np.all(left <= sums[-1] * times * (slack - 1 if slack > 1 else 1)))


@statement(
    paper=PAPER,
    number="lem3.5.anyT",
    kind=Kind.RESULT,
    expected=Standing.HOLDS,
    text="For every T, not only a full one, the mean squared error of Algorithm 1 is at most the formula of Lemma 3.5 "
    "with h = ceil(log_k(T+1)).",
    formula=r"\frac{1}{T}\sum_{t \leq T} \|t\|_1 \leq \frac{h(k-1)}{2(1 - k^{-h})}",
    printed=(1, 1),
    planted=(
        Plant("every horizon", "1 % less", (100, 1)),
        Plant("N ln(N)/(N-1) increases", "N - 1 + ln N", (1, -1)),
        Plant("the logarithm is above its chord", "below", (1, -1)),
    ),
    assumptions=("the entropy of a law is concave in the law",),
    new=True,
)
def lemma_3_5_any_horizon(claim: tuple[int, int]) -> Findings:
    """D(N), the digits of 0..N-1 added up, is at most (k-1)/2 N log_k N; and N log_k(N)/(N-1) increases up to k^h.

    By induction: 0..N-1 has N_0 >= ... >= N_(k-1) numbers with lowest digit 0..k-1, so D(N) = sum D(N_i) + i N_i, and
    it is enough that the mean of i under p_i = N_i/N is at most (k-1)/2 times its entropy to the base k. Such p is a
    mixture of uniform laws on 0..m-1, with mean (m-1)/2 and entropy log_k m; and (m-1)/(k-1) <= log_k m for m <= k,
    because the logarithm is concave: with m = 1 + s (k-1), its second derivative in s is negative.
    """
    slack, sign = claim
    n, s = Symbol("N", positive=True), Symbol("s", nonnegative=True)
    slope = sympy.diff(n * sympy.log(n) / (n - 1), n) * (n - 1) ** 2
    yield identity("N ln(N)/(N-1) increases", slope, n - 1 - sign * sympy.log(n), scope="all N > 1: ln N <= N - 1")
    second = sympy.diff(sympy.log(1 + s * (k - 1)), s, 2)
    yield nonnegative("the logarithm is above its chord", -sign * second, {s: 0, k: 2}, scope="all k >= 2, 0 <= s <= 1")
    yield every(
        "every horizon",
        up_to(range(2, 18), 200_000),
        lambda case: never_above(ORDINARY, *case, slack),
        scope="proved for all k, T; k = 2..17, every T < k^h <= 200000",
        show=show_kw,
    )
