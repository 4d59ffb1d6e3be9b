"""Ji and Li 2024: for every M >= 4 and every epsilon the claim fails at all small enough delta, with a bound."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product

import sympy
from flint import arb
from sympy import Integer, Matrix, Rational, asin, erf, exp, pi, sqrt, symbols

from dpverdict.audit.spherical_events import ball_event
from dpverdict.balls import ball, float_down, precision
from dpverdict.mechanisms.rank1_gaussian import published_psi
from dpverdict.proofs.identities import identity, nonnegative, positive
from dpverdict.proofs.ji2024_algebra import (
    PAPER,
    delta,
    epsilon,
    mean_power,
    printed_variance,
    psi,
    true_delta,
)
from dpverdict.proofs.outcome import Findings, Kind, Method, Standing
from dpverdict.proofs.statement import Formula, Plant, statement
from dpverdict.proofs.vertices import every

x, q, c = symbols("x q c", positive=True)
u, v = symbols("u v", nonnegative=True)

SMALL: Mapping[str, Formula] = {
    "erf": lambda x: x - x**3 / 3,
    "hit": lambda c: 2 * (asin(c) - c * sqrt(1 - c**2)) / pi,
    "share": lambda: Rational(1, 4),
    "power": lambda q: 1 / q - 1,
    "bound": lambda dim, level: _largest_delta(dim, level),
}


@statement(
    paper=PAPER,
    number="claim.smalldelta",
    kind=Kind.RESULT,
    expected=Standing.HOLDS,
    text="For every M >= 4 and every eps > 0 the claim fails for all small enough delta: delta(eps)/delta is at least "
    "a constant times delta^(-(M-3)/(M-2)).",
    formula=r"\delta(\varepsilon) \geq \frac{c}{\sigma\sqrt{2\pi}},\quad c = (4e^{\varepsilon})^{-1/3},\quad "
    r"\frac{1}{\sigma} = \sqrt{\frac{\varepsilon}{2}}\,(\delta g_M)^{1/(M-2)} \gg \delta",
    printed=SMALL,
    planted=(
        Plant("P[S] from below", "x - x^3/2", {**SMALL, "erf": lambda x: x - x**3 / 2}),
        Plant("a hit in R^4", "asin(c)", {**SMALL, "hit": lambda c: 2 * asin(c) / pi}),
        Plant("a hit has probability at most c^3", "twice", {**SMALL, "hit": lambda c: 2 * SMALL["hit"](c)}),
        Plant("at least half is left", "share 2/5", {**SMALL, "share": lambda: Rational(2, 5)}),
        Plant("power of delta", "2/q - 1", {**SMALL, "power": lambda q: 2 / q - 1}),
        Plant("it is negative from M = 4 on", "1 - 1/q", {**SMALL, "power": lambda q: 1 - 1 / q}),
        Plant("instances", "delta = 0.995", {**SMALL, "bound": lambda dim, level: Fraction(199, 100)}),
    ),
    assumptions=("e^-y >= 1 - y", "a hit is the rarer the larger M is (shown in claim.M4)"),
    new=True,
)
def small_delta(claim: Mapping[str, Formula]) -> Findings:
    """S = {|y - f(X)| <= c} as in claim.M4: P(S) = erf(c/(sigma sqrt 2)), Q(S) <= I 2c/(sigma sqrt(2 pi)), I = P[hit].

    As erf x >= (2/sqrt pi)(x - x^3/3), P(S) - e^eps Q(S) >= sqrt(2/pi) (c/sigma) (1 - c^2/(6 sigma^2) - e^eps I). In
    R^4 I = (2/pi)(asin c - c sqrt(1-c^2)) <= c^3, since c^3 - I is 0 at both ends and its slope changes sign once; for
    more dimensions I is smaller. With c^3 = e^-eps/4 and sigma >= 1 the bracket is above 1/2, and delta(eps) >=
    c/(sigma sqrt(2 pi)). But 1/sigma is proportional to delta^(1/(M-2)), much more than delta for M >= 4. (At M = 3 the
    powers are equal, and the constants decide: claim.M3.all.)
    """
    rise = sympy.diff(erf(x) - 2 / sqrt(pi) * claim["erf"](x), x)
    yield identity(
        "P[S] from below", rise, 2 / sqrt(pi) * (exp(-(x**2)) - 1 + x**2), scope="slopes, all x > 0; equal at 0"
    )
    inside = 1 / (1 + x)  # 0 < c < 1
    slope = sympy.diff(claim["hit"](c), c)
    density = 4 / pi * c**2 / sqrt(1 - c**2)  # of sin(theta), where theta has the density 2 sin^2/pi
    yield identity("a hit in R^4", slope.subs(c, inside), density.subs(c, inside), scope="0 < c < 1; equal at 0")
    excess = c**3 - claim["hit"](c)
    ends = Matrix([excess.subs(c, 0), excess.subs(c, 1)]) + Matrix([0 * x, 0 * x])
    yield identity("a hit has probability at most c^3", ends, Matrix([0, 0]), scope="c = 0, 1; the slope/c^2 decreases")
    left = 1 - 1 / (6 * (1 + u) * (1 + v)) - claim["share"]() - Rational(1, 2)
    yield nonnegative("at least half is left", left, {u: 0, v: 0}, scope="1/c^2 = 1 + u, sigma^2 = 1 + v")
    ratio = sqrt(epsilon * psi(q + 2, delta) / 2) / delta  # 1/(sigma delta)
    wanted = sqrt(epsilon / 2) * mean_power(q + 2) ** (1 / q) * delta ** claim["power"](q)
    yield identity("power of delta", sympy.powsimp(ratio / wanted), Integer(1) + 0 * q, scope="all q = M - 2 > 0")
    yield positive("it is negative from M = 4 on", -claim["power"](q), {q: 2}, scope="all M >= 4")
    yield every(
        "instances",
        product((4, 5, 10, 100), ("1/10", "1", "10")),
        lambda case: _violated(case[0], Fraction(case[1]), claim["bound"](case[0], Fraction(case[1])) / 2),
        scope="M in {4, 5, 10, 100}, eps in {1/10, 1, 10}, half the delta of the bound",
        method=Method.BALLS,
        show=lambda case: f"M = {case[0]}, eps = {case[1]}",
    )


def _radius(level: Fraction) -> arb:
    return (4 * ball(level).exp()) ** (arb(-1) / 3)


def _largest_delta(dim: int, level: Fraction) -> Fraction:
    """A bound below which the claim fails: delta^((M-3)/(M-2)) < c sqrt(eps) g^(1/(M-2))/(2 sqrt(pi)), sigma >= 1."""
    with precision(96):
        g = published_psi(dim, Fraction(1)).ball() ** (arb(dim - 2) / 2)
        scale = _radius(level) * ball(level).sqrt() / (2 * arb.pi().sqrt())
        by_size = (scale ** (dim - 2) * g) ** (arb(1) / (dim - 3))
        by_scale = (2 / ball(level)) ** (arb(dim - 2) / 2) / g
        return Fraction(float_down(by_size.min(by_scale).min(arb(1))))


def _violated(dim: int, level: Fraction, failure: Fraction) -> bool | None:
    """Whether delta(epsilon) > delta; None if neither the event nor quadrature decides."""
    with precision(96):
        radius = Fraction(float_down(_radius(level)))
    shown = ball_event(dim, printed_variance(dim, level, failure).sqrt(), radius).delta_lower(level)
    if shown > failure:
        return True
    return False if true_delta(printed_variance, dim, (level, failure)).upper <= failure else None
