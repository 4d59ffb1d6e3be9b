"""Andersson et al. 2024, section 5.1: the published bound that Theorem 1.2 compares with, and its two factors."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import NamedTuple

import sympy
from flint import arb
from sympy import Rational, Symbol, sqrt

from dpverdict.balls import Real, at_most, ball
from dpverdict.mechanisms.factorization_toeplitz import SquareRootToeplitz, coefficient, squared_sum
from dpverdict.proofs.andersson2024_balls import DELTAS, certainly_below, gaussian_delta
from dpverdict.proofs.andersson2024_trees import PAPER
from dpverdict.proofs.boxes import smaller
from dpverdict.proofs.identities import identity
from dpverdict.proofs.outcome import Findings, Kind, Method, Standing
from dpverdict.proofs.statement import Formula, Plant, Reading, statement
from dpverdict.proofs.vertices import every


def published_square(ell: arb) -> arb:
    """C^2 = 4 (4/9 + ln(sqrt(2/pi)/delta)) for eps = 1 and ell = ln(1/delta)."""
    return 4 * (ball("4/9") + (2 / arb.pi()).log() / 2 + ell)


def published_sum(time: int, inside: Fraction = Fraction(4, 5)) -> arb:
    """(1 + ln(4T/5)/pi)^2."""
    return (1 + (ball(inside) * time).log() / arb.pi()) ** 2


class Published(NamedTuple):
    """C^2 = (4/eps^2)(a + ln(sqrt(2/pi)/delta)), for eps up to a limit."""

    a: Rational
    limit: Rational
    share: Rational


PUBLISHED = Published(Rational(4, 9), Rational(1), Rational(4))


@statement(
    paper=PAPER,
    number="huu.C",
    kind=Kind.TEXT,
    expected=Standing.HOLDS,
    text="(the bound compared with) C^2 with C = (2/eps) sqrt(4/9 + ln(sqrt(2/pi)/delta)) is valid as the variance of "
    "Gaussian noise for l2 sensitivity 1 and eps, delta in (0, 1).",
    formula=r"C_{\varepsilon,\delta} = \frac{2}{\varepsilon}"
    r"\sqrt{\frac{4}{9} + \ln\left(\frac{1}{\delta}\sqrt{2/\pi}\right)}",
    printed=PUBLISHED,
    planted=(
        Plant("delta in terms of c", "2/eps^2", PUBLISHED._replace(share=Rational(2))),
        Plant("bound of the tail", "a = -4/9", PUBLISHED._replace(a=Rational(-4, 9))),
        Plant("c^2 is at least eps/2", "a = 1/9", PUBLISHED._replace(a=Rational(1, 9))),
        Plant("exact curve", "eps up to 20", PUBLISHED._replace(limit=Rational(20))),
    ),
    assumptions=("Phibar(t) <= exp(-t^2/2)/2 for t >= 0 (shown under lemA.3)",),
)
def published_constant(claim: Published) -> Findings:
    """With c^2 = 4 (a + ln(sqrt(2/pi)/delta)), delta = sqrt(2/pi) e^a e^(-c^2/4), while delta_G <= e^(1/2)/2
    e^(-c^2/2).

    That tail bound needs t = c - eps/(2c) >= 0, which holds as c^2 > 4 (a + ln(sqrt(2/pi))) > 1/2.
    """
    delta, a = Symbol("delta", positive=True), claim.a
    square = claim.share * (a + sympy.log(sqrt(2 / sympy.pi) / delta))
    yield identity(
        "delta in terms of c",
        sqrt(2 / sympy.pi) * sympy.exp(a) * sympy.exp(-square / 4),
        delta,
        scope="all delta in (0, 1)",
    )
    a_exact, limit, share = Fraction(str(a)), Fraction(str(claim.limit)), Fraction(str(claim.share))
    yield smaller(
        "bound of the tail",
        Real(lambda: ball("1/2").exp() / 2),
        Real(lambda: (2 / arb.pi()).sqrt() * ball(a_exact).exp()),
        scope="all eps <= 1, delta in (0, 1): e^(-c^2/2) <= e^(-c^2/4)",
    )
    yield smaller(
        "c^2 is at least eps/2",
        Real.of("1/2"),
        Real(lambda: 4 * (ball(a_exact) + (2 / arb.pi()).log() / 2)),
        scope="all eps <= 1, delta in (0, 1)",
    )

    def mu(epsilon: Fraction, delta: str) -> Real:
        return Real(
            lambda: (
                ball(epsilon) / (ball(share) * (ball(a_exact) + (2 / arb.pi()).log() / 2 - ball(delta).log())).sqrt()
            )
        )

    yield every(
        "exact curve",
        list(product(("0.01", "0.3", "1"), DELTAS)),
        lambda case: certainly_below(
            gaussian_delta(Real.of(Fraction(case[0]) * limit), mu(Fraction(case[0]) * limit, case[1])), Real.of(case[1])
        ),
        scope=f"eps = 0.01, 0.3, 1 times {limit}; delta = {', '.join(DELTAS)}",
        method=Method.BALLS,
        show=str,
    )


class Horizons(NamedTuple):
    """The first T for which (1 + ln(inside T)/pi)^2 is claimed to bound the error."""

    first: int
    inside: Fraction
    growth: Formula
    """(T+1) f_(T+1)^2 over T f_T^2."""


START = 100
HORIZONS = Horizons(7, Fraction(4, 5), lambda n: 1 + 1 / (4 * n * (n + 1)))


@statement(
    paper=PAPER,
    number="huu.T",
    kind=Kind.TEXT,
    expected=Standing.HOLDS_WITH_CAVEAT,
    text="(the bound compared with) (1 + ln(4T/5)/pi)^2 bounds the mean squared error of the square-root "
    "factorisation, over the variance of its noise.",
    formula=r"G_{T-1}\left(G_{T-1}\left(1 + \frac{1}{4T}\right) - T f_T^2\right) \leq "
    r"\left(1 + \frac{\ln(4T/5)}{\pi}\right)^2",
    printed=HORIZONS,
    caveat=Reading("read for every T >= 1: it is below the error for T = 1, ..., 6", HORIZONS._replace(first=1)),
    corrected=Reading("it bounds the error for every T >= 7", HORIZONS),
    planted=(
        Plant("short horizons", "from T = 6 on", HORIZONS._replace(first=6)),
        Plant("all longer horizons", "ln(3T/4)", HORIZONS._replace(inside=Fraction(3, 4))),
        Plant("T f_T^2 increases", "1/(2 T (T+1))", HORIZONS._replace(growth=lambda n: 1 + 1 / (2 * n * (n + 1)))),
    ),
)
def published_horizon(claim: Horizons) -> Findings:
    """Error <= (G (1 + 1/(8T)) - T f_T^2/2)^2 by the means, with G = G_(T-1); T f_T^2 increases, to 1/pi.

    So f_j^2 < 1/(pi j), and pi G_(T-1) <= pi G_(S-1) + ln(T/(S - 1/2)) for T >= S, as 1/j is at most its integral over
    j - 1/2..j + 1/2. With S = 100 the root of the bound exceeds that of the error by a constant, less a term
    (K + ln T)/(8T) that decreases.
    """
    n = Symbol("T", positive=True)
    growth = (n + 1) * ((2 * n + 1) / (2 * n + 2)) ** 2 / n  # of T f_T^2, from f_(T+1) = f_T (2T+1)/(2T+2)
    yield identity("T f_T^2 increases", growth, claim.growth(n), scope="all T >= 1")
    yield every(
        "short horizons",
        range(claim.first, START),
        lambda horizon: at_most(square_root_error(horizon), Real(lambda: published_sum(horizon, claim.inside))),
        scope=f"T = {claim.first}..{START - 1}",
        method=Method.BALLS,
        show=lambda horizon: (
            f"T = {horizon}: {published_at(horizon):.5f} against {square_root_error(horizon).nearest():.5f}"
        ),
    )

    def slack() -> arb:
        known = arb.pi() * squared_sum(START - 1) - (ball(START) - ball("1/2")).log()  # pi G <= known + ln T
        term = (known + arb(START).log()) / (8 * START)
        return arb.pi() + ball(claim.inside).log() - known - term + arb.pi() * START * coefficient(START) ** 2 / 2

    yield smaller("all longer horizons", Real.of(0), Real(slack), scope=f"all T >= {START}")


def square_root_error(horizon: int) -> Real:
    """The mean squared error of the square-root factorisation over the variance of its noise for l2 sensitivity 1."""
    made = SquareRootToeplitz(horizon)
    return Real(lambda: made.l2_sensitivity_squared().ball() * made.mean_row_squared().ball())


def published_at(horizon: int) -> float:
    """The published bound to float64."""
    return Real(lambda: published_sum(horizon)).nearest()
