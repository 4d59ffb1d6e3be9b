"""Ji and Li 2024, abstract: "achieves (epsilon, delta)-DP on query results in R^M", for M >= 4. False for every M."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from flint import arb
from sympy import Matrix, symbols

from dpverdict.audit.spherical_events import apollonius_event, ball_event
from dpverdict.balls import Real, ball, float_down, precision
from dpverdict.proofs.identities import identity
from dpverdict.proofs.ji2024_algebra import (
    GRID,
    GRID_WORDS,
    PAPER,
    Cell,
    Variance,
    printed_variance,
    shown,
    true_delta,
)
from dpverdict.proofs.outcome import Finding, Findings, Kind, Method, Standing
from dpverdict.proofs.statement import Formula, Plant, Reading, statement

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
    kind=Kind.CLAIM,
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
