"""Andersson et al. 2024, appendix A: the definition of privacy, and the two noise mechanisms."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import sympy
from flint import arb
from sympy import Integer, Rational, Symbol, exp, sqrt

from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.balls import Real, ball, precision
from dpverdict.mechanisms.core.calibration import classic_scale
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE
from dpverdict.mechanisms.queries.laplace import LaplaceMechanism
from dpverdict.proofs.andersson2024.shared.curves import DELTAS, VECTORS, certainly_below, gaussian_delta, norms
from dpverdict.proofs.andersson2024.shared.notation import PAPER, RESTORED
from dpverdict.proofs.checks.boxes import positive_on_box, smaller
from dpverdict.proofs.checks.identities import Expr, identity
from dpverdict.proofs.checks.outcome import Findings, Method, Standing, StatementKind
from dpverdict.proofs.checks.statement import Formula, Plant, statement
from dpverdict.proofs.checks.vertices import every

x, y = Symbol("x", positive=True), Symbol("y", real=True)


def _profile(p: tuple[Fraction, ...], q: tuple[Fraction, ...], tilt: Fraction) -> Fraction:
    return sum((max(u - tilt * v, Fraction(0)) for u, v in zip(p, q, strict=True)), Fraction(0))


@statement(
    paper=PAPER,
    number="defA.1",
    restored=RESTORED,
    kind=StatementKind.DEFINITION,
    expected=Standing.HOLDS_ON_RANGE,
    text="M is (epsilon, delta)-DP if P[M(x) in S] <= e^epsilon P[M(x') in S] + delta for all S and all neighbours.",
    formula=r"\max_S\,P(S) - e^{\varepsilon}Q(S) = \sum_y\,\max(P(y) - e^{\varepsilon}Q(y), 0)",
    printed=_profile,
    planted=(
        Plant("the curve is the worst event", "without the positive part", lambda p, q, tilt: sum(p) - tilt * sum(q)),
        Plant(
            "attained by an event",
            "absolute values",
            lambda p, q, tilt: sum(abs(u - tilt * v) for u, v in zip(p, q, strict=True)),
        ),
    ),
)
def definition_a_1(profile: Formula) -> Findings:
    """The curve delta(epsilon) that this project computes, against the definition, event by event."""
    quarters = [Fraction(i, 4) for i in range(5)]
    laws = [(u, v, 1 - u - v) for u in quarters for v in quarters if u + v <= 1]
    tilts = (Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(3))
    cases = list(product(laws, laws, tilts))

    def worst(p: tuple[Fraction, ...], q: tuple[Fraction, ...], tilt: Fraction) -> Fraction:
        events = product((0, 1), repeat=len(p))
        return max(
            sum((e * (u - tilt * v) for e, u, v in zip(event, p, q, strict=True)), Fraction(0)) for event in events
        )

    yield every(
        "the curve is the worst event",
        cases,
        lambda c: worst(*c) <= profile(*c),
        over="laws on 3 points in quarters, e^eps in {1/2, 1, 3/2, 3}, with their events",
        cases=900,
    )
    yield every(
        "attained by an event",
        cases,
        lambda c: worst(*c) >= profile(*c),
        over="laws on 3 points in quarters, e^eps in {1/2, 1, 3/2, 3}, with their events",
        cases=900,
    )


@statement(
    paper=PAPER,
    number="lemA.2",
    restored=RESTORED,
    kind=StatementKind.LEMMA,
    expected=Standing.HOLDS,
    text="Let f have l1 sensitivity D1. Then f + Lap(D1/epsilon)^d satisfies epsilon-DP.",
    formula=r"\log\frac{p(y)}{q(y)} = \frac{|y - s| - |y|}{\lambda} \leq \frac{|s|}{\lambda}",
    printed=Integer(1),
    confirms={
        "epsilon-DP": "loss of one coordinate",
        "no smaller epsilon": "attained",
        "scale of the mechanism": "loss of one coordinate",
    },
    planted=(
        Plant("loss of one coordinate", "scale 2 D1/epsilon", Integer(2)),
        Plant("attained", "scale 2 D1/epsilon", Integer(2)),
        Plant("epsilon-DP", "scale D1/(2 epsilon)", Rational(1, 2)),
        Plant("no smaller epsilon", "scale 2 D1/epsilon", Integer(2)),
        Plant("scale of the mechanism", "scale 2 D1/epsilon", Integer(2)),
    ),
)
def lemma_a_2(factor: Expr) -> Findings:
    """Losses of coordinates add up to at most |s|_1/scale; each is |s|/scale on a half-line, and so no less will do.

    Inside, at y = s/(1 + t), the loss |y - s| - |y| is |s| less 2 (s - y).
    """
    s, t, scale = Symbol("s", positive=True), Symbol("t", nonnegative=True), Symbol("lambda", positive=True)
    inside = s / (1 + t)
    loss = (inside - (s - inside)) / scale  # the shifted law against the other one
    yield identity(
        "loss of one coordinate",
        factor * s / scale - loss,
        2 * (s - inside) / scale,
        scope="all d, all 0 <= y <= s; sums over coordinates",
    )
    beyond = s + t
    yield identity(
        "attained", (beyond - (beyond - s)) / scale, factor * s / scale, scope="all y >= s, every coordinate"
    )
    few = VECTORS[:7]
    epsilons = [norms(vector)[0] / Fraction(str(factor)) for vector in few]
    loss_of = [LaplaceLoss([Fraction(e) / Fraction(str(factor)) for e in vector]) for vector in few]
    cases = list(zip(few, loss_of, epsilons, strict=True))
    scope = f"{len(few)} vectors of shifts, up to 16 coordinates"
    yield every(
        "epsilon-DP",
        cases,
        lambda case: case[1].certified_delta(norms(case[0])[0]).upper == 0,
        over=scope,
        cases=7,
        method=Method.BALLS,
        show=lambda case: str(case[0]),
    )
    yield every(
        "no smaller epsilon",
        cases,
        lambda case: case[1].certified_delta(norms(case[0])[0] * (1 - Fraction(1, 2**20))).lower > 0,
        over=scope,
        cases=7,
        method=Method.BALLS,
        show=lambda case: str(case[0]),
    )
    yield every(
        "scale of the mechanism",
        [(dim, e) for dim in (1, 3, 100) for e in ("0.1", "1", "7/3")],
        lambda case: (
            Fraction(str(factor)) * case[0] / Fraction(case[1])
            <= Fraction(_mechanism(*case).scale)
            <= Fraction(str(factor)) * case[0] / Fraction(case[1]) * (1 + Fraction(1, 2**50))
        ),
        over="d, eps: `LaplaceMechanism`, rounded up by at most 2^-50",
        cases=9,
        show=str,
    )


def _mechanism(dim: int, epsilon: str) -> LaplaceMechanism:
    return LaplaceMechanism(dim=dim, epsilon=epsilon, adjacency=ADD_OR_REMOVE_ONE)


class Classic(NamedTuple):
    """sigma^2 = 2 ln(a/delta) D2^2/epsilon^2 for epsilon up to a limit; t^2, and the slope of the bound on Phibar."""

    a: Rational
    limit: Rational
    square: Formula
    slope: Formula


CLASSIC = Classic(
    Rational(5, 4),
    Rational(1),
    lambda c, e: c**2 - e + e**2 / (4 * c**2),
    lambda t: 1 / sqrt(2 * sympy.pi) - t / 2,
)


@statement(
    paper=PAPER,
    number="lemA.3",
    restored=RESTORED,
    kind=StatementKind.LEMMA,
    expected=Standing.HOLDS_ON_RANGE,
    text="Let f have l2 sensitivity D2. For epsilon, delta in (0, 1), f + N(0, sigma^2)^d with sigma^2 = 2 "
    "ln(1.25/delta) D2^2/epsilon^2 satisfies (epsilon, delta)-DP.",
    formula=r"\sigma^2 = \frac{2\ln(1.25/\delta)\,\Delta_2^2}{\varepsilon^2}",
    printed=CLASSIC,
    confirms={"exact curve": "delta close to 1", "the project's formula": "exponent of the tail"},
    planted=(
        Plant(
            "exponent of the tail",
            "c^2 - eps/2",
            CLASSIC._replace(square=lambda c, e: c**2 - e / 2 + e**2 / (4 * c**2)),
        ),
        Plant("its constant", "0.8 in place of 1.25", CLASSIC._replace(a=Rational(4, 5))),
        Plant("delta close to 1", "epsilon up to 8", CLASSIC._replace(limit=Rational(8))),
        Plant("exact curve", "epsilon up to 9", CLASSIC._replace(limit=Rational(9))),
        Plant("the project's formula", "1.2", CLASSIC._replace(a=Rational(6, 5))),
        Plant("tail of the normal law", "t for t/2", CLASSIC._replace(slope=lambda t: 1 / sqrt(2 * sympy.pi) - t)),
    ),
)
def lemma_a_3(claim: Classic) -> Findings:
    """With c^2 = 2 ln(1.25/delta), delta = 1.25 exp(-c^2/2) and delta_G <= Phibar(t), t = c - epsilon/(2c).

    For t >= 0, Phibar(t) <= exp(-t^2/2)/2: the difference rises from 0 and then falls to 0, since its derivative is
    exp(-t^2/2)(1/sqrt(2 pi) - t/2). As t^2 >= c^2 - epsilon, delta_G <= exp(limit/2)/2 exp(-c^2/2). For t < 0, c^2 is
    below epsilon/2, a box. So the lemma holds for all epsilon <= 1 and all delta in (0, 1).
    """
    c, e, t = Symbol("c", positive=True), Symbol("epsilon", positive=True), Symbol("t", real=True)

    def tail(c: Any, e: Any) -> Any:  # of symbols, and of balls
        return c - e / (2 * c)

    yield identity(
        "exponent of the tail",
        tail(c, e) ** 2,
        claim.square(c, e),
        scope="all c > 0, eps > 0",
    )
    gap = exp(-(t**2) / 2) / 2 - sympy.erfc(t / sqrt(2)) / 2
    yield identity(
        "tail of the normal law",
        sympy.diff(gap, t) * exp(t**2 / 2),
        claim.slope(t),
        scope="all t; the gap is 0 at t = 0 and at infinity",
    )
    limit, a = Fraction(str(claim.limit)), Fraction(str(claim.a))
    yield smaller(
        "its constant",
        Real(lambda: (ball(limit) / 2).exp() / 2),
        Real.of(a),
        scope=f"eps = {limit}",
        argued=f"for eps <= {limit} and all delta with c^2 >= eps/2, as it grows with eps",
    )
    least = Fraction(2, 3) if a == Fraction(5, 4) else Fraction(1, 10)  # c >= sqrt(2 ln 1.25) = 0.668
    yield positive_on_box(
        "delta close to 1",
        lambda c, e: ball(a) * (-c * c / 2).exp() - (tail(c, e) / arb(2).sqrt()).erfc() / 2,
        {"c": (least, "0.7072"), "epsilon": (0, limit)},
    )
    cases = list(product(("0.01", "0.3", "1"), DELTAS))
    yield every(
        "exact curve",
        cases,
        lambda case: certainly_below(
            gaussian_delta(Real.of(Fraction(case[0]) * limit), _classic_mu(a, Fraction(case[0]) * limit, case[1])),
            Real.of(case[1]),
        ),
        over="eps, delta",
        cases=21,
        method=Method.BALLS,
        show=lambda case: f"eps = {Fraction(case[0]) * limit}, delta = {case[1]}",
    )
    yield every(
        "the project's formula",
        cases,
        lambda case: _close(classic_scale(case[0], case[1], 1), _classic_mu(a, Fraction(case[0]), case[1])),
        over="eps, delta: `classic_scale` to 50 bits",
        cases=21,
        method=Method.BALLS,
        show=str,
    )


def _classic_mu(a: Fraction, epsilon: Fraction, delta: str) -> Real:
    """mu = D2/sigma."""
    return Real(lambda: ball(epsilon) / (2 * (ball(a) / ball(delta)).log()).sqrt())


def _close(scale: float, mu: Real) -> bool:
    """scale * mu is 1 to 50 bits."""
    with precision(100):
        return bool(abs(ball(scale) * mu.ball() - 1) < arb(2) ** -50)
