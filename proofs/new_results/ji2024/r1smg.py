"""Results of this project: the exact privacy of noise sigma z v, v uniform on the sphere of R^M (R1SMG), Delta = 1."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import sympy
from flint import acb, arb
from sympy import Symbol, log

from dpverdict.audit.losses.spherical.events import half_space_event
from dpverdict.audit.losses.spherical.loss import SphericalLoss
from dpverdict.audit.losses.spherical.random_direction import RandomDirectionGaussian
from dpverdict.balls import Enclosure, Real, ball, precision
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.queries.rank1 import published_psi
from dpverdict.proofs.checks.drawings import true_delta_figure
from dpverdict.proofs.checks.identities import identity, positive
from dpverdict.proofs.checks.outcome import Findings, Method, Standing
from dpverdict.proofs.checks.statement import Formula, Plant, result
from dpverdict.proofs.checks.vertices import every
from dpverdict.proofs.ji2024.notation import has_digits

Cell = tuple[int, str, str]
"""M, epsilon, delta of a claim."""


def published_scale(dim: int, epsilon: str, delta: str) -> Real:
    """sigma = sqrt(2/(eps psi)), the published calibration."""
    psi = published_psi(dim, Fraction(delta))
    return Real(lambda: (2 / (ball(Fraction(epsilon)) * psi.ball())).sqrt())


def true_loss(cell: Cell) -> SphericalLoss:
    """The exact loss of R1SMG as published."""
    return SphericalLoss(cell[0], RandomDirectionGaussian(published_scale(*cell)))


@cache
def true_delta(cell: Cell) -> Enclosure:
    """delta at the claimed epsilon."""
    return true_loss(cell).certified_delta(Fraction(cell[1]))


class Curve(NamedTuple):
    """t_s(r) of (r, x), x = 1 + u/r^2, and delta at four cells."""

    cap: Formula
    numbers: Mapping[Cell, str]


CURVE = Curve(
    lambda r, x: (1 - r * r * (x - 1)) / (2 * r),
    {
        (3, "1", "1e-3"): "0.00017361987",
        (4, "10", "1e-3"): "0.0010684020",
        (10, "1", "1e-5"): "0.1814094232",
        (100, "1", "1e-5"): "0.970991345",
    },
)


def riemann(claim: Curve, cell: Cell, cells: int = 400) -> Enclosure:
    """delta(eps) = E F_M(t_eps(r)) - e^eps E F_M(-t_-eps(r)), r = |sigma z|, by cells of r that are balls."""
    dim, level = cell[0], Fraction(cell[1])
    with precision(96):
        sigma = published_scale(*cell).ball()
        lower = upper = arb(0)
        reach = 8 * sigma
        edges = [reach * (arb(i) / cells) ** 2 for i in range(cells + 1)]
        for low, high in pairwise(edges):
            mass = (high / sigma / arb(2).sqrt()).erf() - (low / sigma / arb(2).sqrt()).erf()
            values = [_shares(claim, dim, level, sigma, edge) for edge in (low, high)]
            ends = [p for p, _ in values], [q for _, q in values]
            p_low, p_high = ends[0][0].min(ends[0][1]), ends[0][0].max(ends[0][1])
            q_low, q_high = ends[1][0].min(ends[1][1]), ends[1][0].max(ends[1][1])
            lower, upper = lower + mass * (p_low - q_high), upper + mass * (p_high - q_low)
        rest = 1 - (reach / sigma / arb(2).sqrt()).erf()
        grown = ball(level).exp() * rest
        return Enclosure.hull((lower - grown).lower(), (upper + rest).upper())


def _shares(claim: Curve, dim: int, level: Fraction, sigma: arb, r: arb) -> tuple[arb, arb]:
    """F_M(t_eps(r)) and e^eps F_M(-t_-eps(r)); both are 1 and 0 at r = 0."""
    if not r > 0:
        return arb(1), arb(0)
    return _share(dim, _cap(claim, dim, level, sigma, r)), ball(level).exp() * _share(
        dim, -_cap(claim, dim, -level, sigma, r)
    )


def _cap(claim: Curve, dim: int, level: Fraction, sigma: arb, r: arb) -> arb:
    a, b = r * r / (2 * sigma * sigma), arb(dim - 1) / 2
    x = b / a * (a / b * ((ball(level) + a) / b).exp()).lambertw()
    value: arb = claim.cap(r, x)
    return value


def _share(dim: int, t: arb) -> arb:
    if t >= 1:
        return arb(1)
    if t <= -1:
        return arb(0)
    b = arb(dim - 1) / 2
    return ((1 + t) / 2).max(arb(0)).min(arb(1)).beta_lower(b, b, regularized=True)


def _deltas() -> dict[int, float]:
    dims = (3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, 200, 1000)
    return {dim: true_delta((dim, "1", "1e-5")).lower for dim in dims}


@result(
    number="r1.new.curve",
    expected=Standing.HOLDS_ON_RANGE,
    text="delta(eps) = E F_M(t_eps(r)) - e^eps E F_M(-t_-eps(r)), r = |sigma z|, F_M the law of one coordinate of v; "
    "at four published calibrations 0.00017361987, 0.0010684020, 0.1814094232, 0.970991345.",
    formula=r"\delta(\varepsilon) = E_r\left[F_M(t_{\varepsilon}(r))\right] - e^{\varepsilon} E_r\left[F_M(-t_{-"
    r"\varepsilon}(r))\right]",
    printed=CURVE,
    planted=(
        *(
            Plant(f"M = {cell[0]}", "0.5", CURVE._replace(numbers={**CURVE.numbers, cell: "0.50001"}))
            for cell in CURVE.numbers
        ),
        Plant("Riemann sums", "2 for 1", CURVE._replace(cap=lambda r, x: (2 - r * r * (x - 1)) / (2 * r))),
    ),
    assumptions=("F_M(t_s(r)) is monotone in r within every cell of the sums: N(r) = 1 - u*(r) is",),
    figure=lambda: true_delta_figure(_deltas(), claimed=1e-5),
)
def curve(claim: Curve) -> Findings:
    """The package's integral along the surface {L = s}, and sums over cells of r with exact masses: other formulas."""
    for cell, printed in claim.numbers.items():
        found = true_delta(cell)
        yield has_digits(f"M = {cell[0]}", found, printed, scope=f"(M, eps, delta) = {cell}, certified")

    def inside(cell: Cell) -> bool:
        found, sums = true_delta(cell), riemann(claim, cell)
        return sums.lower <= found.lower and found.upper <= sums.upper and sums.upper - sums.lower < 0.05

    yield every(
        "Riemann sums",
        list(claim.numbers)[2:],
        inside,
        over="M = 10, 100, enclosures of width below 0.05",
        cases=2,
        method=Method.BALLS,
    )


class Cap(NamedTuple):
    """L of (u, r, sigma, M)."""

    loss: Formula


CAP = Cap(lambda u, r, sigma, m: u / (2 * sigma**2) + (m - 1) / 2 * log(1 + u / r**2))


@result(
    number="r1.new.cap",
    text="{L > s} is a cap {t < t_s(r)} of every sphere about f(X): L = u/(2 sigma^2) + ((M-1)/2) log(1 + u/r^2) "
    "increases in u = 1 - 2 r t, and x = 1 + u/r^2 = (b/a) W_0((a/b) e^((s+a)/b)), a = r^2/(2 sigma^2), b = (M-1)/2.",
    formula=r"x = \frac{b}{a} W_0\left(\frac{a}{b} e^{(s+a)/b}\right),\quad t_s(r) = \frac{1 - r^2(x - 1)}{2r}",
    printed=CAP,
    planted=(
        Plant(
            "log-ratio of the densities",
            "M for M - 1",
            Cap(lambda u, r, sigma, m: u / (2 * sigma**2) + m / 2 * log(1 + u / r**2)),
        ),
        Plant("increasing in u", "minus", Cap(lambda u, r, sigma, m: -CAP.loss(u, r, sigma, m))),
        Plant(
            "solved by Lambert's W",
            "M for M - 1",
            Cap(lambda u, r, sigma, m: u / (2 * sigma**2) + m / 2 * log(1 + u / r**2)),
        ),
    ),
)
def cap(claim: Cap) -> Findings:
    """The density is proportional to e^(-r^2/(2 sigma^2))/r^(M-1); W stands for Lambert's function, s is solved for."""
    r, sigma, x, w = sympy.symbols("r sigma x W", positive=True)
    m = Symbol("M", positive=True)
    u = r**2 * (x - 1)
    ratio = (r**2 * x - r**2) / (2 * sigma**2) + (m - 1) / 2 * log(x)
    yield identity(
        "log-ratio of the densities", sympy.expand(claim.loss(u, r, sigma, m)), sympy.expand(ratio), scope="all M, r"
    )
    slope = sympy.cancel(sympy.simplify(sympy.diff(claim.loss(u, r, sigma, m), x)))
    yield positive(
        "increasing in u",
        sympy.cancel(slope * sigma**2),
        {r: 1, sigma: 1, x: 1, m: 2},
        scope="at r, sigma >= 1 by scaling",
    )
    a, b = r**2 / (2 * sigma**2), (m - 1) / 2
    level = b * (w + log(w) - log(a / b)) - a  # w e^w = (a/b) e^((s + a)/b)
    found = claim.loss(r**2 * (b / a * w - 1), r, sigma, m)
    yield identity(
        "solved by Lambert's W",
        sympy.expand_log(found, force=True),
        sympy.expand_log(level, force=True),
        scope="all M >= 2, s",
    )


@result(
    number="r1.new.reflection",
    text="The reflection y -> f(X) + f(X') - y swaps the two laws and turns L into -L: both directions have the "
    "same delta.",
    formula=r"L(\rho, r) = -L(r, \rho)",
    printed=(CAP.loss, 1),
    planted=(
        Plant("distances are swapped", "2 f(X) + f(X') - y", (CAP.loss, 2)),
        Plant("L changes its sign", "plus 1", (lambda u, r, s, m: CAP.loss(u, r, s, m) + 1, 1)),
    ),
)
def reflection(claim: tuple[Formula, int]) -> Findings:
    """In coordinates of any number: along the line of the centres, and across it."""
    loss, factor = claim
    y, across, a, b = sympy.symbols("y across a b", real=True)
    image = factor * a + b - y
    before = sympy.Matrix([(y - a) ** 2 + across, (y - b) ** 2 + across])
    after = sympy.Matrix([(image - b) ** 2 + across, (image - a) ** 2 + across])
    yield identity("distances are swapped", after, before, scope="all y, every M")
    r, rho, sigma, m = sympy.symbols("r rho sigma M", positive=True)
    both = loss(rho**2 - r**2, r, sigma, m) + loss(r**2 - rho**2, rho, sigma, m)
    yield identity(
        "L changes its sign",
        sympy.expand_log(sympy.simplify(both), force=True),
        0 * r,
        scope="all r, rho, M",
        dropped=(r,),
    )


@result(
    number="r1.new.worstshift",
    text="For noise of radially non-increasing density delta(eps) does not decrease with the length of the shift: the "
    "sensitivity is the worst shift.",
    formula=r"\|y - a'e\|^2 - \|y - ae\|^2 = (a' - a)(a' + a - 2y_1) > 0\quad (y_1 < a/2)",
    printed=lambda a, b, y: (b - a) * (b + a - 2 * y),
    confirms={"delta grows": "positive"},
    planted=(
        Plant("difference of squares", "a' - a - 2y", lambda a, b, y: (b - a) * (b - a - 2 * y)),
        Plant("positive", "minus", lambda a, b, y: -(b - a) * (b + a - 2 * y)),
        Plant("delta grows", "minus", lambda a, b, y: -(b - a) * (b + a - 2 * y)),
    ),
)
def worst_shift(difference: Formula) -> Findings:
    """On {p > e^eps q_a}, |y| < |y - a e|, so y_1 < a/2; there q_a' <= q_a for a' > a, and delta is an integral of
    p - e^eps q."""
    a, b, y = sympy.symbols("a b y", real=True)
    yield identity("difference of squares", (y - b) ** 2 - (y - a) ** 2, difference(a, b, y), scope="all a, a', y")
    u, v, w = sympy.symbols("u v w", positive=True)  # a = u, a' = u + v, y_1 = u/2 - w
    ends = {u: Fraction(1, 100), v: Fraction(1, 100), w: Fraction(1, 100)}
    yield positive(
        "positive", difference(u, u + v, u / 2 - w), ends, scope="all 0 < a < a', y_1 < a/2 (by 1/100; scaled)"
    )
    sign = 1 if difference(1, 2, 0) > 0 else -1

    def value(dim: int, shift: int) -> Enclosure:
        return SphericalLoss(dim, RandomDirectionGaussian(5), Fraction(shift, 4)).certified_delta(1)

    yield every(
        "delta grows",
        [(dim, shift) for dim in (3, 10) for shift in (1, 2, 3)],
        lambda case: (value(*case).upper < value(case[0], case[1] + 1).lower) == (sign > 0),
        over="M, shifts: sigma = 5, eps = 1",
        cases=6,
        method=Method.BALLS,
    )


class TradeOff(NamedTuple):
    """The factor in 1/(factor sqrt 2 sigma |t|), and the power of 1/r in the density of the noise, of M."""

    factor: int
    power: Formula


TRADE_OFF = TradeOff(2, lambda m: m - 1)


@result(
    number="r1.new.tradeoff",
    expected=Standing.HOLDS_ON_RANGE,
    text="At s = 0 both errors are beta_0 = (1/2) E erfc(1/(2 sqrt 2 sigma |t|)); delta(0) = 1 - 2 beta_0 and the "
    "nearest centre is the optimal balanced attack.",
    formula=r"\beta_0 = \frac{1}{2} E\,\mathrm{erfc}\left(\frac{\Delta}{2\sqrt{2}\sigma|t|}\right)",
    printed=TRADE_OFF,
    planted=(
        Plant("by quadrature", "1 for 2", TRADE_OFF._replace(factor=1)),
        Plant("both errors are equal", "1 for 2", TRADE_OFF._replace(factor=1)),
        Plant("advantage", "1 for 2", TRADE_OFF._replace(factor=1)),
        Plant("the nearer centre is the likelier one", "r^(M-1)", TRADE_OFF._replace(power=lambda m: 1 - m)),
    ),
)
def trade_off(claim: TradeOff) -> Findings:
    """beta_0 = P[sigma z t > 1/2]; the package's event against quadrature over t, and against its own delta(0).

    The density r^-(M-1) exp(-r^2/(2 sigma^2)), r the distance to the centre, decreases: the likelihood ratio is above 1
    exactly where f(X) is nearer, so that event is the most powerful balanced test (Neyman and Pearson), and its
    advantage is delta(0). Both errors: the reflection that swaps the centres swaps the laws.
    """
    factor = claim.factor
    m, r, sigma = sympy.symbols("M r sigma", positive=True)
    slope = -sympy.diff(-claim.power(m) * sympy.log(r) - r**2 / (2 * sigma**2), r)
    u = Symbol("u", nonnegative=True)  # r/sigma
    yield positive(
        "the nearer centre is the likelier one",
        sympy.cancel((slope * r).subs(r, u * sigma)),
        {m: 3, u: 0},
        scope="all M >= 3, all r, sigma > 0: -r (log density)' > 0",
    )
    cases = [(5, 1), (9, 2), (15, 1)]

    def quadrature(dim: int, sigma: int) -> arb:
        with precision(96):
            k = (dim - 3) // 2

            def density(t: acb, _: bool) -> acb:
                return (1 - t * t) ** k * (1 / (factor * acb(2).sqrt() * sigma * t)).erfc()

            low = acb(arb(1) / 100)  # below, erfc is under e^-300
            weight = (arb(dim) / 2).gamma() / (arb.pi().sqrt() * (arb(dim - 1) / 2).gamma())
            return weight * acb.integral(density, low, acb(1)).real

    yield every(
        "by quadrature",
        cases,
        lambda case: bool(abs(half_space_event(*case).q_ball - quadrature(*case)) < 1e-12),
        over="M, sigma: to 1e-12",
        cases=3,
        method=Method.BALLS,
    )

    yield every(
        "both errors are equal",
        cases,
        lambda case: bool(abs(1 - half_space_event(*case).p_ball - quadrature(*case)) < 1e-12),
        over="the same, to 1e-12",
        cases=3,
        method=Method.BALLS,
    )

    def advantage(case: tuple[int, int]) -> bool:
        loss = SphericalLoss(case[0], RandomDirectionGaussian(case[1])).certified_delta(0)
        value = 1 - factor * half_space_event(*case).q_ball
        return bool(abs(ball(loss.lower) - value) < 1e-12)

    yield every("advantage", cases, advantage, over="the same, to 1e-12", cases=3, method=Method.BALLS)


@result(
    number="r1.new.renyi",
    expected=Standing.HOLDS_ON_RANGE,
    text="The Renyi divergence is infinite for every sigma and every order alpha >= M/(M - 1): no RDP or zCDP "
    "accountant applies, and no pure epsilon holds.",
    formula=r"\int_0 r^{(M-1)(1-\alpha)}\,dr < \infty\ \Leftrightarrow\ (M-1)(\alpha-1) < 1",
    printed=lambda m: m / (m - 1),
    planted=(
        Plant("exponent at the centre", "M/(M - 2)", lambda m: m / (m - 2)),
        Plant("infinite from there on", "a hundredth less", lambda m: m / (m - 1) - sympy.Rational(1, 100)),
        Plant("finite before", "a tenth more", lambda m: m / (m - 1) + sympy.Rational(1, 10)),
    ),
)
def renyi(order: Formula) -> Findings:
    """p^alpha q^(1-alpha) r^(M-1) behaves like r^((M-1)(1-alpha)) at r = 0, integrable iff the exponent exceeds -1."""
    m = Symbol("M", positive=True)
    exponent = (m - 1) * (1 - order(m))
    yield identity(
        "exponent at the centre", exponent, sympy.Integer(-1), scope="all M >= 3: -1 at the claimed order", dropped=(m,)
    )
    cases = [(dim, sigma) for dim in (3, 5, 20) for sigma in (1, 100)]

    def claimed(dim: int) -> Fraction:
        return Fraction(str(order(sympy.Integer(dim))))

    def infinite(case: tuple[int, int]) -> bool:
        loss = SphericalLoss(case[0], RandomDirectionGaussian(case[1]))
        try:
            return loss.certified_renyi(claimed(case[0])).lower == float("inf")
        except InvalidValue:  # the package refuses orders below M/(M - 1)
            return False

    yield every("infinite from there on", cases, infinite, over="M, sigma", cases=6, method=Method.BALLS)
    yield every(
        "finite before",
        range(3, 200),
        lambda dim: (dim - 1) * (1 - (claimed(dim) - Fraction(1, 50 * dim))) > -1,
        over="M: the exponent at an order 1/(50 M) below; the integral converges at infinity",
        cases=197,
    )
