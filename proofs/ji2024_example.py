"""Ji and Li 2024: the claim at M = 100, refuted in five lines of exact arithmetic, for a reader with a calculator."""

from __future__ import annotations

import operator
from fractions import Fraction
from math import comb, factorial, floor
from typing import NamedTuple

from sympy import Integer, Rational, Symbol

from dpverdict.audit.spherical_events import ball_event
from dpverdict.balls import Real, ball
from dpverdict.mechanisms.rank1_gaussian import published_psi
from dpverdict.proofs.boxes import not_larger, rounds_to
from dpverdict.proofs.identities import identity, nonnegative
from dpverdict.proofs.ji2024_algebra import PAPER, M, has_digits, mean_power, printed_variance, true_delta
from dpverdict.proofs.ji2024_claim import Relation
from dpverdict.proofs.outcome import Finding, Findings, Kind, Method, Standing
from dpverdict.proofs.statement import Formula, Plant, Reading, statement

DIM, LEVEL, FAILURE = 100, Fraction(1), Fraction(1, 100_000)
E_ABOVE = Fraction(271829, 100_000)


class Example(NamedTuple):
    """The steps for M = 100, epsilon = 1, delta = 1e-5.

    Attributes:
        factor: Gamma((M-1)/2)/(sqrt(pi) Gamma(M/2)), a rational number for even M.
        below, above: two bounds on psi.
        along: the variance of the noise along one direction, of (sigma^2, M).
        tail: a bound on P[noise along it >= 1/2], of its variance.
        relation: how delta(1) stands to 1e-5.
        value: the digits of delta(1).
        psi, variance: the digits of psi and of sigma^2.
        ball: what the ball of radius .96 shows.
    """

    factor: Formula
    below: Fraction
    above: Fraction
    along: Formula
    tail: Formula
    relation: Relation
    value: str
    psi: str
    variance: str
    ball: str


PRINTED = Example(
    factor=lambda dim: Rational(comb(dim - 2, dim // 2 - 1), 2 ** (dim - 2)),
    below=Fraction(3, 4),
    above=Fraction(752, 1000),
    along=lambda variance, dim: variance / dim,
    tail=lambda variance: 2 * variance,
    relation=operator.le,
    value="0.970991",
    psi="0.750959848637480",
    variance="2.663258233617606",
    ball="0.4378",
)


@statement(
    paper=PAPER,
    number="claim.M100",
    kind=Kind.CLAIM,
    expected=Standing.FAILS_AS_PRINTED,
    text="R1SMG achieves (eps, delta)-DP: at M = 100, eps = 1, delta = 1e-5, Delta = 1 the noise n = sigma z v with "
    "sigma^2 = 2/psi, psi = 0.75096, makes f(X) + n (1, 1e-5)-DP.",
    formula=r"\delta(1) \geq 1 - (1 + e)\,\frac{2\sigma^2}{M} \geq 0.80,\quad \sigma^2 = 2/\psi = 2.6633",
    printed=PRINTED,
    corrected=Reading(
        "delta(1) >= 0.80 by hand, 0.970991 to six digits: not 0.00001", PRINTED._replace(relation=operator.gt)
    ),
    planted=(
        Plant(
            "1. psi^49 = 1e-5 C(98,49)/2^98",
            "C(100,50)/2^100",
            PRINTED._replace(factor=lambda dim: Rational(comb(dim, dim // 2), 2**dim)),
        ),
        Plant(
            "2. 0.75 < psi < 0.752", "0.752 < psi < 0.76", PRINTED._replace(below=PRINTED.above, above=Fraction("0.76"))
        ),
        Plant(
            "3. the noise along f(X') - f(X) has variance sigma^2/100",
            "sigma^2/99",
            PRINTED._replace(along=lambda variance, dim: variance / (dim - 1)),
        ),
        Plant(
            "4. it is >= 1/2 with probability <= 2 sigma^2/100",
            "sigma^2/(2 M)",
            PRINTED._replace(tail=lambda variance: variance / 2),
        ),
        Plant(
            "5. P(S) - e Q(S) against 1e-5",
            "sigma^2 = 2/0.5, said to be private",
            PRINTED._replace(below=Fraction(1, 2)),
        ),
        Plant("digits of psi", "0.750959848637481", PRINTED._replace(psi="0.750959848637481")),
        Plant("digits of sigma^2", "2.663258233617607", PRINTED._replace(variance="2.663258233617607")),
        Plant("the ball |y - f(X)| <= .96", "0.4379", PRINTED._replace(ball="0.4379")),
        Plant("the exact value of delta(1)", "0.980991", PRINTED._replace(value="0.980991")),
    ),
    assumptions=("neighbours with |f(X) - f(X')| = Delta = 1 exist",),
)
def example_in_dimension_100(claim: Example) -> Findings:
    """By hand. (1) Gamma(49.5)/(sqrt(pi) Gamma(50)) = C(98,49)/2^98 = 0.080393, so psi^49 = 8.0393e-7.

    (2) 0.75^49 = 7.5511e-7 < 8.0393e-7, so psi > 0.75 and sigma^2 = 2/psi < 2.667. (3) v is uniform: its 100 squared
    coordinates have equal means and the sum 1, so the noise along f(X') - f(X) has the variance sigma^2/100 < 0.0267.
    (4) It is symmetric, so by Chebyshev it is >= 1/2 with probability <= (1/2) 4 (0.0267) = 0.0534. (5) Let S be the
    outputs nearer to f(X) than to f(X'): P(S) >= 1 - 0.0534 = 0.9466 and Q(S) <= 0.0534, so that P(S) - e Q(S) >=
    0.9466 - 2.71829 x 0.0534 > 0.801 > 0.00001. Fractions throughout; the exact value of delta(1) is by quadrature.
    """
    factor = claim.factor(DIM)
    power = FAILURE * Fraction(int(factor.p), int(factor.q))
    yield identity("1. psi^49 = 1e-5 C(98,49)/2^98", mean_power(Integer(DIM)), factor, scope="M = 100")
    yield Finding(
        name="2. 0.75 < psi < 0.752",
        holds=claim.below**49 < power < claim.above**49,
        method=Method.EXACT,
        scope="49th powers of fractions",
        margin=f"{_e(claim.below**49)} < psi^49 = {_e(power)} < {_e(claim.above**49)}, so sigma^2 = 2/psi < "
        f"{float(2 / claim.below):.4f}",
        witness=f"not {_e(claim.below**49)} < psi^49 = {_e(power)} < {_e(claim.above**49)}",
    )
    yield identity(
        "3. the noise along f(X') - f(X) has variance sigma^2/100",
        M * claim.along(Integer(1), M),
        Integer(1),
        scope="every M: the M squares of v have equal means and the sum 1",
    )
    x = Symbol("x")
    yield nonnegative(
        "4. it is >= 1/2 with probability <= 2 sigma^2/100",
        2 * claim.tail(x**2) - 1,
        {x: Rational(1, 2)},
        scope="1[x >= 1/2] + 1[x <= -1/2] <= 4 x^2, for every symmetric law",
    )
    missed = claim.tail(claim.along(2 / claim.below, DIM))
    lower = 1 - missed - E_ABOVE * missed
    e_sum = sum((Fraction(1, factorial(k)) for k in range(11)), Fraction(1, 10 * factorial(10)))
    violated = lower > FAILURE and e_sum < E_ABOVE
    holds = claim.relation(float(lower), FAILURE)
    words = (
        f"P(S) >= {1 - missed}, Q(S) <= {missed}: P(S) - e Q(S) >= {1 - missed} - 2.71829 x {missed} "
        f">= {floor(lower * 10_000) / 10_000}, claimed: at most 0.00001"
    )
    yield Finding(
        name="5. P(S) - e Q(S) against 1e-5",
        holds=holds if violated else None,
        method=Method.EXACT,
        scope="M = 100, eps = 1, delta = 1e-5",
        margin=words if holds else "",
        witness="" if holds else words,
    )
    yield rounds_to("digits of psi", published_psi(DIM, FAILURE), claim.psi, scope="M = 100, delta = 1e-5")
    variance = printed_variance(DIM, LEVEL, FAILURE)
    yield rounds_to("digits of sigma^2", variance, claim.variance, scope="M = 100, eps = 1, delta = 1e-5")
    event = ball_event(DIM, variance.sqrt(), "0.96")
    shown = Real(lambda: event.p_ball - ball(LEVEL).exp() * event.q_ball)
    yield not_larger(
        "the ball |y - f(X)| <= .96", Real.of(claim.ball), shown, scope="P(S) - e Q(S), upper bound of Q(S)"
    )
    exact = true_delta(printed_variance, DIM, (LEVEL, FAILURE))
    yield has_digits("the exact value of delta(1)", exact, claim.value, scope="M = 100, eps = 1, delta = 1e-5")


def _e(value: Fraction) -> str:
    return f"{float(value):.4e}"
