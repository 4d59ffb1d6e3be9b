"""Ji and Li 2024: why the proof fails, reconstructed from the constants; the proof is not in the text supplied."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial

import sympy
from flint import acb, arb
from sympy import Integer, Matrix, Symbol, exp, gamma, log, oo, pi, sqrt, symbols

from dpverdict.audit.losses.spherical.loss import SphericalLoss
from dpverdict.audit.losses.spherical.random_direction import RandomDirectionGaussian
from dpverdict.balls import Real, ball, precision
from dpverdict.mechanisms.queries.rank1 import published_psi
from dpverdict.proofs.checks.boxes import rounds_to, smaller
from dpverdict.proofs.checks.identities import identity
from dpverdict.proofs.checks.outcome import Finding, Findings, Method, Standing, StatementKind
from dpverdict.proofs.checks.statement import Formula, Plant, statement
from dpverdict.proofs.checks.vertices import every
from dpverdict.proofs.ji2024.notation import (
    DELTAS,
    EPSILONS,
    PAPER,
    RESTORED,
    Delta,
    M,
    delta,
    epsilon,
    mean_power,
    printed_variance,
    psi,
    sigma,
)

r, rho, alpha, theta = symbols("r rho alpha theta", positive=True)

CONSTANTS: Mapping[str, Formula] = {
    "psi": psi,
    "density": lambda dim: gamma(dim / 2) / (sqrt(pi) * gamma((dim - 1) / 2)),
    "variance": lambda psi: 2 * Delta**2 / (epsilon * psi),
    "central": lambda dim: Fraction(int(sympy.binomial(dim - 2, dim // 2 - 1)), 2 ** (dim - 2)),
}


@statement(
    paper=PAPER,
    number="constants",
    restored=RESTORED,
    kind=StatementKind.EQUATION,
    expected=Standing.HOLDS,
    text="psi = (delta Gamma((M-1)/2)/(sqrt(pi) Gamma(M/2)))^(2/(M-2)). (It solves pi kappa_M psi^((M-2)/2) = delta: "
    "delta is spent on {sin^2 theta <= psi}, of probability at most the length pi times the largest density.)",
    formula=r"\pi\,\kappa_M\,\psi^{(M-2)/2} = \delta,\quad \frac{(r+\rho)^2}{2\sigma_*} \leq "
    r"\frac{2\Delta^2}{\sigma_*\psi} = \varepsilon",
    printed=CONSTANTS,
    confirms={"psi of the mechanism": "delta spent on small angles"},
    planted=(
        Plant(
            "delta spent on small angles",
            "2/(M-1)",
            {**CONSTANTS, "psi": lambda m, f: psi(m, f) ** ((m - 2) / (m - 1))},
        ),
        Plant("density of the angle", "Gamma(M)", {**CONSTANTS, "density": lambda m: gamma(m) / gamma((m - 1) / 2)}),
        Plant(
            "the rest gives epsilon", "Delta^2/(eps psi)", {**CONSTANTS, "variance": lambda v: Delta**2 / (epsilon * v)}
        ),
        Plant("psi of the mechanism", "C(M, M/2)/2^M", {**CONSTANTS, "central": lambda m: CONSTANTS["central"](m + 2)}),
    ),
    note="the bound behind the formula is a reconstruction: the printed proof is not in the text supplied",
)
def constants(claim: Mapping[str, Formula]) -> Findings:
    """kappa_M sin^(M-2) is the density of the angle between a uniform and a fixed direction; sine rule: r, rho <=
    Delta/sqrt(psi). At even M the factor is a rational number, C(M-2, M/2-1)/2^(M-2)."""
    q = Symbol("q", positive=True)  # M - 2
    spent = pi * claim["density"](q + 2) * sympy.powdenest(claim["psi"](q + 2, delta) ** (q / 2))
    yield identity("delta spent on small angles", spent, delta, scope="all M > 2, delta > 0")
    mass = claim["density"](M) * pi * mean_power(M)  # pi mean_power is the integral of sin^(M-2): see CR.limit
    yield identity("density of the angle", sympy.gammasimp(mass), Integer(1), scope="all M > 1", dropped=(M,))
    value = Symbol("psi", positive=True)
    bound = (2 * Delta / sqrt(value)) ** 2 / (2 * claim["variance"](value))
    yield identity("the rest gives epsilon", bound, epsilon)
    yield every(
        "psi of the mechanism",
        range(4, 101, 4),
        lambda dim: _psi_agrees(dim, claim["central"](dim)),
        over="M: delta = 1e-5, to 25 digits",
        cases=25,
        method=Method.BALLS,
    )


def _psi_agrees(dim: int, factor: Fraction) -> bool:
    with precision(128):
        found = published_psi(dim, DELTAS[1]).ball() ** ((dim - 2) // 2)
        wanted = ball(DELTAS[1] * factor)
        return bool(found.overlaps(wanted)) and bool(abs(found / wanted - 1) < arb(10) ** -25)


ERROR_A: Mapping[str, Formula] = {
    "ends": lambda alpha, theta: (
        sympy.sin(alpha + theta) / sympy.sin(alpha),
        sympy.sin(alpha - theta) / sympy.sin(alpha),
    ),
    "scale": lambda epsilon: sqrt(epsilon) / 2,
    "lower": lambda level: ((ball(level).sqrt()) / 2).erfc(),
    "values": lambda: {3: "0.583", 4: "0.551", 5: "0.534", 10: "0.513", 30: "0.586", 100: "0.726", 1000: "0.903"},
}


@statement(
    paper=PAPER,
    number="proof.errorA",
    restored=RESTORED,
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS_ON_RANGE,
    text="(Why the proof fails, reconstructed.) The angle at y between the two noise lines is not uniform: "
    "P[sin^2 angle_y <= psi] = .583, .551, .534, .513, .586, .726, .903 for M = 3, 4, 5, 10, 30, 100, 1000 (eps = 1, "
    "delta = 1e-5), not <= delta.",
    formula=r"P[\sin^2\angle_y \leq \psi] = 1 - \kappa_M\int_0^\pi \sin^{M-2}\theta\ "
    r"\mathrm{erf}\left(\frac{\sqrt{\varepsilon}}{2}\sin(\alpha+\theta)\right)d\theta \geq "
    r"\mathrm{erfc}\frac{\sqrt{\varepsilon}}{2},\quad \sin^2\alpha = \psi",
    printed=ERROR_A,
    planted=(
        Plant(
            "ends of the event",
            "cos for sin",
            {**ERROR_A, "ends": lambda a, t: (sympy.cos(a + t) / sympy.sin(a), sympy.cos(a - t) / sympy.sin(a))},
        ),
        Plant("scale of the radius", "sqrt(eps)", {**ERROR_A, "scale": sqrt}),
        Plant(
            "above the delta claimed, every M",
            "erfc(2 sqrt(eps))",
            {**ERROR_A, "lower": lambda level: (2 * ball(level).sqrt()).erfc()},
        ),
        Plant("the probability to 3 digits", "M = 10: 0.523", {**ERROR_A, "values": lambda: {10: "0.523"}}),
    ),
)
def first_error(claim: Mapping[str, Formula]) -> Findings:
    """sin(angle_y) = Delta sin(theta)/rho. In r, {sin^2 theta > psi rho^2} is the interval between sin(alpha -
    theta)/sin(alpha) and sin(alpha + theta)/sin(alpha), where positive; r = |sigma z|, sigma sqrt(psi) = sqrt(2/eps).

    Given theta its probability is a difference of two values of erf; reflecting theta at pi/2 turns the mean over
    theta into that of erf(sqrt(eps) sin(alpha + theta)/2), signs included. As |sin| <= 1, the probability of the
    complement is at least erfc(sqrt(eps)/2), in every dimension and at every delta: about 0.48 at eps = 1.
    """
    ends = claim["ends"](alpha, theta)
    left = Matrix([r**2 - 2 * r * sympy.cos(theta) + 1 - sympy.sin(theta) ** 2 / sympy.sin(alpha) ** 2] * 2)
    left = Matrix([left[0].subs(r, ends[0]), left[1].subs(r, ends[1])])
    yield identity("ends of the event", left, Matrix([0, 0]) * alpha, scope="all alpha, theta")
    value = Symbol("psi", positive=True)
    scale = 1 / (sqrt(2) * sqrt(2 / (epsilon * value)) * sqrt(value))
    yield identity("scale of the radius", scale, claim["scale"](epsilon))
    levels = max(EPSILONS)
    yield smaller(
        "above the delta claimed, every M",
        Real.of(max(DELTAS)),
        Real(lambda: claim["lower"](levels)),
        scope="eps = 10, delta = 1e-3",
        argued="for every M >= 3, eps <= 10 (erfc decreases) and delta <= 1e-3",
    )
    for dim, digits in claim["values"]().items():
        number = Real(partial(_small_angle, dim))
        yield rounds_to("the probability to 3 digits", number, digits, scope=f"M = {dim}, eps = 1, delta = 1e-5")


def _small_angle(dim: int) -> arb:
    """P[sin^2 angle_y <= psi] at epsilon = 1, delta = 1e-5."""
    start = acb(published_psi(dim, DELTAS[1]).ball().sqrt().asin())
    density = ((arb(dim) / 2).lgamma() - (arb(dim - 1) / 2).lgamma()).exp() / arb.pi().sqrt()

    def integrand(theta: acb, _: bool) -> acb:
        return theta.sin() ** (dim - 2) * ((start + theta).sin() / 2).erf()

    return 1 - density * acb.integral(integrand, acb(0), acb.pi()).real


@statement(
    paper=PAPER,
    number="proof.errorB",
    restored=RESTORED,
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS,
    text="(Why the proof fails, reconstructed.) Densities of singular Gaussians on different lines cannot be divided; "
    "the output has the density p(y) ~ e^(-r^2/(2 sigma^2))/r^(M-1), and the log-ratio (rho^2 - r^2)/(2 sigma^2) "
    "misses the term (M-1) log(rho/r).",
    formula=r"\log\frac{p}{q} = \frac{\rho^2 - r^2}{2\sigma^2} + (M-1)\log\frac{\rho}{r}",
    printed=(lambda r, rho, dim: (dim - 1) * log(rho / r), lambda dim: dim - 1, Fraction(98, 100)),
    named=("P[L > 1] at M = 100",),
    planted=(
        Plant(
            "the density integrates to 1",
            "r^-(M-2)",
            (lambda r, rho, dim: (dim - 1) * log(rho / r), lambda dim: dim - 2, Fraction(98, 100)),
        ),
        Plant(
            "log-ratio of the densities",
            "no term",
            (lambda r, rho, dim: 0 * r, lambda dim: dim - 1, Fraction(98, 100)),
        ),
        Plant(
            "P[L > 1] at M = 100",
            "P[L > 1] > 0.99",
            (lambda r, rho, dim: (dim - 1) * log(rho / r), lambda dim: dim - 1, Fraction(99, 100)),
        ),
    ),
)
def second_error(claim: tuple[Formula, Formula, Fraction]) -> Findings:
    """The radius |sigma z| has the density sqrt(2/pi) e^(-r^2/(2 sigma^2))/sigma; a sphere of radius r the area omega
    r^(M-1). At M = 100, eps = 1, delta = 1e-5 the loss exceeds 1 with probability above 0.98."""
    term, power, least = claim
    area = 2 * pi ** (M / 2) / gamma(M / 2)

    def density(radius: sympy.Expr) -> sympy.Expr:
        return sqrt(2 / pi) * exp(-(radius**2) / (2 * sigma**2)) / (sigma * area * radius ** power(M))

    mass = sympy.integrate(sympy.powsimp(area * r ** (M - 1) * density(r)), (r, 0, oo), conds="none")
    yield identity(
        "the density integrates to 1", sympy.simplify(mass), Integer(1), scope="every M, sigma", dropped=(M, sigma)
    )
    ratio = sympy.expand_log(log(density(r) / density(rho)), force=True)
    printed = (rho**2 - r**2) / (2 * sigma**2)
    wanted = sympy.expand_log(printed + term(r, rho, M), force=True)
    yield identity("log-ratio of the densities", ratio, wanted, scope="all M, sigma, r, rho > 0")
    law = RandomDirectionGaussian(printed_variance(100, Fraction(1), DELTAS[1]).sqrt())
    above = SphericalLoss(100, law).certified_tails(1)[0]
    decided = above.lower > least or above.upper <= least
    yield Finding(
        name="P[L > 1] at M = 100",
        holds=above.lower > least if decided else None,
        method=Method.BALLS,
        scope="M = 100, eps = 1, delta = 1e-5",
        margin=f"P[L > 1] in {above.show(6)}",
        witness=f"P[L > 1] in {above.show(6)}",
    )
