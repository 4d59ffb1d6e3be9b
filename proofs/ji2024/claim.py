"""Ji and Li 2024, abstract: "achieves (epsilon, delta)-DP on query results in R^M", which is false for every M >= 4.

On the grid by enclosures; at M = 100 in five lines of exact arithmetic, for a reader with a calculator; and for every
M >= 4 and every epsilon at all small enough delta, with a bound.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import product
from math import comb, factorial, floor
from typing import NamedTuple, TypeAlias

import sympy
from flint import arb
from sympy import Integer, Matrix, Rational, Symbol, asin, erf, exp, pi, sqrt, symbols

from dpverdict.audit.losses.spherical.events import apollonius_event, ball_event
from dpverdict.balls import Real, ball, float_down, precision
from dpverdict.mechanisms.queries.rank1 import published_psi
from dpverdict.proofs.checks.boxes import not_larger, rounds_to
from dpverdict.proofs.checks.identities import identity, nonnegative, positive
from dpverdict.proofs.checks.outcome import Finding, Findings, Method, Standing, StatementKind
from dpverdict.proofs.checks.statement import Formula, Plant, Reading, statement
from dpverdict.proofs.checks.vertices import every
from dpverdict.proofs.ji2024.notation import (
    GRID,
    GRID_WORDS,
    PAPER,
    RESTORED,
    Cell,
    M,
    Variance,
    delta,
    epsilon,
    has_digits,
    mean_power,
    printed_variance,
    psi,
    shown,
    true_delta,
)

_BITS = 128

Relation: TypeAlias = Callable[[float, Fraction], bool]
"""How the true delta(epsilon) stands to the delta claimed: ``operator.le`` for private, ``operator.gt`` for not."""

Event: TypeAlias = tuple[int, int | None, str]
"""First and last dimension, and the radius c of the ball; the last dimension None for all from the first on."""

EVENTS: Mapping[tuple[str, str], tuple[Event, ...]] = {
    ("1/10", "1e-3"): ((4, 8, "9/25"), (9, None, "18/25")),
    ("1/10", "1e-5"): ((4, None, "1/10"),),
    ("1/10", "1e-10"): ((4, None, "1/50"),),
    ("1/2", "1e-3"): ((4, None, "1/5"),),
    ("1/2", "1e-5"): ((4, None, "1/10"),),
    ("1/2", "1e-10"): ((4, None, "1/50"),),
    ("1", "1e-3"): ((4, None, "4/25"),),
    ("1", "1e-5"): ((4, None, "2/25"),),
    ("1", "1e-10"): ((4, 16, "1/50"), (17, None, "19/25")),
    ("2", "1e-3"): ((4, None, "3/25"),),
    ("2", "1e-5"): ((4, None, "3/50"),),
    ("2", "1e-10"): ((4, 16, "1/50"), (17, None, "18/25")),
    ("10", "1e-3"): ((5, None, "1/25"),),
    ("10", "1e-5"): ((4, 5, "1/50"), (6, None, "3/50")),
    ("10", "1e-10"): ((4, 4, "1/50"), (5, 20, "1/50"), (21, None, "13/25")),
}
"""By (epsilon, delta), the balls |y - f(X)| <= c that refute the claim for whole ranges of M; the cell M = 4,
epsilon = 10, delta = 1e-3 is left to the ball of Apollonius."""


CLOSEST: Cell = (Fraction(10), Fraction(1, 1000))
"""The cell in which the claim is closest to true at M = 4."""


class Claim(NamedTuple):
    """The variance of the radial Gaussian, how delta(epsilon) stands to delta for every M >= 4, and a formula.

    ``slope`` is the derivative of log P[hit] in M, of P[hit] and of the means of log sin(theta) given a hit and a miss.
    """

    variance: Variance
    relation: Relation
    slope: Formula = lambda hit, near, far: (1 - hit) * (near - far)


def ball_event_lower(claim: Claim, event: Event, cell: Cell) -> float:
    """A lower bound on delta(epsilon)/delta that holds at once for all M from ``first`` to ``last``."""
    (first, last, radius), (level, failure) = event, cell
    here = ball_event(first, claim.variance(first, level, failure).sqrt(), radius)
    there = ball_event(first, claim.variance(last, level, failure).sqrt(), radius)
    with precision(_BITS):
        return float_down((here.p_ball - ball(level).exp() * there.q_ball) / ball(failure))


@statement(
    paper=PAPER,
    number="claim.M4",
    restored=RESTORED,
    kind=StatementKind.CLAIM,
    expected=Standing.FAILS_AS_PRINTED,
    text="The R1SMG mechanism achieves (eps, delta)-DP guarantee on query results in R^M, with E|n|^2 = C_R (Delta_2 "
    "f)^2, C_R = 2/(eps psi), psi = (delta Gamma((M-1)/2)/(sqrt(pi) Gamma(M/2)))^(2/(M-2)). (For M >= 4.)",
    formula=r"\sigma^2 = \frac{2}{\varepsilon\psi},\quad "
    r"\psi = \left(\frac{\delta\,\Gamma(\frac{M-1}{2})}{\sqrt{\pi}\,\Gamma(\frac{M}{2})}\right)^{\frac{2}{M-2}}",
    printed=Claim(printed_variance, operator.le),
    corrected=Reading(
        "not (eps, delta)-DP in any dimension M >= 4, on the whole grid; it holds in dimension 3 (claim.M3)",
        Claim(printed_variance, operator.gt),
    ),
    needs=(
        "constants",
        "CR.limit",
    ),
    planted=(
        Plant(
            "delta(eps) against delta, every M >= 4",
            "10^8 sigma^2: private in R^4 at (.1, 1e-3)",
            Claim(lambda *of: Real(lambda: printed_variance(*of).ball() * 10**8), operator.gt),
        ),
        Plant(
            "delta(eps) against delta, every M >= 4",
            "sqrt(2/(eps psi)) for sigma^2, said to be private",
            Claim(lambda *of: printed_variance(*of).sqrt(), operator.le),
        ),
        Plant(
            "a hit is the rarer the higher the dimension",
            "P[hit] for P[miss]",
            Claim(printed_variance, operator.gt, lambda hit, near, far: hit * (near - far)),
        ),
        Plant(
            "delta(10) in R^4, the closest cell",
            "1.01 sigma^2 and said to be private",
            Claim(lambda *of: Real(lambda: printed_variance(*of).ball() * arb("1.01")), operator.le),
        ),
    ),
    assumptions=(
        "psi increases with M and stays below 1: proved in CR.limit",
        "neighbours with |f(X) - f(X')| = Delta exist (attained sensitivity)",
    ),
)
def claim_from_dimension_four(claim: Claim) -> Findings:
    """Let S be the outputs y with |y - f(X)| <= c: it shows delta(eps) >= P(S) - e^eps Q(S), both in closed form.

    P(S) = erf(c/(sigma sqrt 2)). Under Q a line in a uniform direction through f(X') has to hit the ball, which
    happens with probability I_{c^2}((M-1)/2, 1/2), in a chord of length <= 2c: Q(S) <= I_{c^2} min(1, 2c/(sigma sqrt(2
    pi))). One c serves a range of dimensions M1 <= M <= M2, or all M >= M1: sigma decreases with M, so P(S) is least
    at M1 and the chord factor largest at M2, or at sigma^2 = 2/eps; and the probability of a hit, P[sin theta <= c]
    under the density sin^(M-2) theta, decreases with M: its logarithmic derivative is E[log sin theta | sin theta <= c]
    - E[log sin theta] <= 0. So 21 balls in closed form decide all 15 cells for every M >= 4, the 9997 dimensions up to
    10 000 among them. At M = 4, eps = 10, delta = 1e-3 the ball {|y - f(X')| > exp(eps/3) |y - f(X)|} decides. Where
    these events show no violation, as under a planted fault, the curve itself is enclosed by quadrature.
    """
    scope = f"every M >= 4, {GRID_WORDS}"
    yield _every_dimension(claim, scope)
    hit, near, step = symbols("p E gap", positive=True)
    far = near + step  # log sin(theta) is below log(c) for a hit, and above it for a miss
    mean = hit * near + (1 - hit) * far
    yield identity(
        "a hit is the rarer the higher the dimension",
        Matrix([near - mean, claim.slope(1 / (1 + hit), near, far)]),
        Matrix([claim.slope(hit, near, far), -step * hit / (1 + hit)]),
        scope="every c in (0, 1), all real M >= 3: the derivative of log P[hit] is -gap (1 - P[hit]) < 0",
    )
    level, failure = CLOSEST
    shape = apollonius_event(4, claim.variance(4, level, failure).sqrt(), level)
    lower = shape.delta_lower(level)
    violated = lower > failure
    words = f"delta(10) >= {lower:.8f} > 0.001 by the event {shape.event}"
    yield Finding(
        name="delta(10) in R^4, the closest cell",
        holds=claim.relation(lower, failure) if violated else None,
        method=Method.CERTIFICATE,
        scope="M = 4, eps = 10, delta = 1e-3",
        margin=words if claim.relation is operator.gt else "",
        witness=words if claim.relation is operator.le else "",
    )


def _every_dimension(claim: Claim, scope: str) -> Finding:
    """Whether the relation holds in all cells and dimensions: the ball events decide, else quadrature at one M."""
    name, shows = "delta(eps) against delta, every M >= 4", []
    if gap := uncovered():
        return Finding(name=name, holds=None, method=Method.CERTIFICATE, scope=scope, witness=f"no event for {gap}")
    for (level_text, failure_text), events in EVENTS.items():
        cell = Fraction(level_text), Fraction(failure_text)
        for event in events:
            lower = ball_event_lower(claim, event, cell)
            if lower <= 1:
                return _by_quadrature(claim, name, event[0], cell, scope)
            shows.append((lower, event, cell))
    if {cell for _, _, cell in shows} != set(GRID):
        return Finding(name=name, holds=None, method=Method.CERTIFICATE, scope=scope, witness="a cell was left out")
    least, event, cell = min(shows)
    words = (
        f"every M >= 4 in 15 of 15 cells, by {len(shows)} balls and one of Apollonius; the least violation by a ball: "
        f"M = {_range(event)}, {shown(cell)}: c = {event[2]} shows {least:.4g} delta"
    )
    return Finding(
        name=name,
        holds=claim.relation is operator.gt,
        method=Method.CERTIFICATE,
        scope=scope,
        margin=words if claim.relation is operator.gt else "",
        witness=words if claim.relation is operator.le else "",
    )


def uncovered() -> str:
    """A cell and dimension from 4 on for which no event is listed; empty if there is none."""
    found = {(Fraction(level), Fraction(failure)): events for (level, failure), events in EVENTS.items()}
    for cell in GRID:
        expected: int | None = 5 if cell == CLOSEST else 4
        for first, last, _ in found.get(cell, ()):
            if first != expected:
                break
            expected = None if last is None else last + 1
        if expected is not None:
            return f"M = {expected}, {shown(cell)}"
    return ""


def _by_quadrature(claim: Claim, name: str, dim: int, cell: Cell, scope: str) -> Finding:
    value, failure = true_delta(claim.variance, dim, cell), cell[1]
    holds = {claim.relation(value.lower, failure), claim.relation(value.upper, failure)}
    refuted = holds == {False}
    words = f"M = {dim}, {shown(cell)}: delta({float(cell[0]):g}) in {value.show(9)}"
    return Finding(name=name, holds=False if refuted else None, method=Method.BALLS, scope=scope, witness=words)


def _range(event: Event) -> str:
    first, last, _ = event
    return f"{first}.." if last is None else f"{first}..{last}"


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
    restored=RESTORED,
    kind=StatementKind.CLAIM,
    expected=Standing.FAILS_AS_PRINTED,
    text="R1SMG achieves (eps, delta)-DP: at M = 100, eps = 1, delta = 1e-5, Delta = 1 the noise n = sigma z v with "
    "sigma^2 = 2/psi, psi = 0.75096, makes f(X) + n (1, 1e-5)-DP.",
    formula=r"\delta(1) \geq 1 - (1 + e)\,\frac{2\sigma^2}{M} \geq 0.80,\quad \sigma^2 = 2/\psi = 2.6633",
    printed=PRINTED,
    corrected=Reading(
        "delta(1) >= 0.80 by hand, 0.970991 to six digits: not 0.00001", PRINTED._replace(relation=operator.gt)
    ),
    needs=("constants",),
    named=(
        "1. psi^49 = 1e-5 C(98,49)/2^98",
        "2. 0.75 < psi < 0.752",
        "5. P(S) - e Q(S) against 1e-5",
        "the ball |y - f(X)| <= .96",
    ),
    planted=(
        Plant(
            "1. psi^49 = 1e-5 C(98,49)/2^98",
            "C(100,50)/2^100",
            PRINTED._replace(factor=lambda dim: Rational(comb(dim, dim // 2), 2**dim)),
        ),
        Plant("2. 0.75 < psi < 0.752", "psi < 0.7509", PRINTED._replace(above=Fraction("0.7509"))),
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
        dropped=(M,),
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
    kind=StatementKind.RESULT,
    expected=Standing.HOLDS,
    text="For every M >= 4 and every eps > 0 the claim fails for all small enough delta: delta(eps)/delta is at least "
    "a constant times delta^(-(M-3)/(M-2)).",
    formula=r"\delta(\varepsilon) \geq \frac{c}{\sigma\sqrt{2\pi}},\quad c = (4e^{\varepsilon})^{-1/3},\quad "
    r"\frac{1}{\sigma} = \sqrt{\frac{\varepsilon}{2}}\,(\delta g_M)^{1/(M-2)} \gg \delta",
    printed=SMALL,
    needs=(
        "claim.M4:corrected",
        "constants",
    ),
    named=("a hit has probability at most c^3",),
    confirms={"instances": "it is negative from M = 4 on"},
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
    yield identity(
        "a hit has probability at most c^3",
        ends,
        Matrix([0, 0]),
        scope="c = 0, 1",
        cases=2,
        argued="the slope/c^2 decreases",
    )
    left = 1 - 1 / (6 * (1 + u) * (1 + v)) - claim["share"]() - Rational(1, 2)
    yield nonnegative("at least half is left", left, {u: 0, v: 0}, scope="1/c^2 = 1 + u, sigma^2 = 1 + v")
    ratio = sqrt(epsilon * psi(q + 2, delta) / 2) / delta  # 1/(sigma delta)
    wanted = sqrt(epsilon / 2) * mean_power(q + 2) ** (1 / q) * delta ** claim["power"](q)
    yield identity("power of delta", sympy.powsimp(ratio / wanted), Integer(1), scope="all q = M - 2 > 0", dropped=(q,))
    yield positive("it is negative from M = 4 on", -claim["power"](q), {q: 2}, scope="all M >= 4")
    yield every(
        "instances",
        product((4, 5, 10, 100), ("1/10", "1", "10")),
        lambda case: _violated(case[0], Fraction(case[1]), claim["bound"](case[0], Fraction(case[1])) / 2),
        over="M, eps: half the delta of the bound",
        cases=12,
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
