"""Ji and Li 2024, abstract, beside the claim of privacy: accuracy, motivation, and the trend of C_R.

The accuracy loss of the classic Gaussian, the comparison with other mechanisms, and the magnitude of the noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import product

import sympy
from flint import arb
from sympy import Integer, Matrix, Rational, Symbol, log, oo, pi, polygamma, sin, sqrt, symbols

from dpverdict.balls import Real, ball, precision
from dpverdict.mechanisms.core.calibration import analytic_scale
from dpverdict.numerics import gaussian_formulas
from dpverdict.numerics.gaussian import BallNormal
from dpverdict.proofs.checks.identities import identity, positive
from dpverdict.proofs.checks.outcome import Findings, Method, Standing, StatementKind
from dpverdict.proofs.checks.statement import Formula, Plant, Reading, statement
from dpverdict.proofs.checks.vertices import every
from dpverdict.proofs.ji2024.notation import (
    DELTAS,
    GRID,
    PAPER,
    RESTORED,
    Cell,
    Delta,
    M,
    delta,
    epsilon,
    mean_power,
    printed_variance,
    psi,
    shown,
    sigma,
)

x, angle, n = symbols("x theta n", positive=True)
z = Symbol("z", real=True)


def _normal_mean(function: sympy.Expr) -> sympy.Expr:
    """E of a polynomial of z ~ N(0, 1)."""
    return sympy.integrate(sympy.expand(function) * sympy.exp(-(z**2) / 2), (z, -oo, oo)) / sqrt(2 * pi)


@statement(
    paper=PAPER,
    number="trace",
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS,
    text="The expected accuracy losses of all existing Gaussian mechanisms equal the trace of the covariance matrix of "
    "the noise.",
    formula=r"E\|n\|^2 = \mathrm{tr}\,\Sigma",
    printed=lambda covariance: covariance.trace(),
    planted=(
        Plant("one coordinate of A z", "half the trace", lambda covariance: covariance.trace() / 2),
        Plant("trace of A A^T", "sum of all entries", lambda covariance: sum(covariance)),
    ),
)
def accuracy_is_the_trace(loss: Formula) -> Findings:
    """n = A z with Sigma = A A^T and z standard normal: E n_i^2 = sum_j a_ij^2, and the sum over i is the trace."""
    a, b, c, e = symbols("a_11 a_12 a_21 a_22", real=True)
    row = Matrix([[a, b]])
    mean = _normal_mean((a * z) ** 2) + _normal_mean((b * z) ** 2) + 2 * a * b * _normal_mean(z) ** 2
    yield identity("one coordinate of A z", mean, loss(row * row.T), scope="every row of A, by adding terms")
    square = Matrix([[a, b], [c, e]])
    yield identity("trace of A A^T", a**2 + b**2 + c**2 + e**2, loss(square * square.T), scope="2 x 2; rows add up")


class _Basis:
    """Covariances, for which only the coefficient along f(X) - f(X') is claimed to count."""

    isotropic = (Matrix([[sigma**2, 0, 0], [0, sigma**2, 0], [0, 0, sigma**2]]),)
    correlated = (Matrix([[2, 1, 0], [1, 2, 0], [0, 0, 1]]),)


@statement(
    paper=PAPER,
    number="basis",
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS_WITH_CAVEAT,
    text="When projecting multivariate Gaussian noise with a full-rank covariance matrix onto a set of orthonormal "
    "basis in R^M, only the coefficient of a single basis can contribute to the privacy guarantee.",
    formula=r"\log\frac{p}{q} = \frac{2\langle y, v\rangle - \|v\|^2}{2\sigma^2},\quad "
    r"E\langle n_{R1SMG}, v/\|v\|\rangle^2 = \sigma_*/M",
    printed=(_Basis.isotropic, lambda variance, dim: variance / dim),
    caveat=Reading(
        "read as: for every full-rank covariance the coefficient along f(X) - f(X') alone; it is that along Sigma^-1 "
        "(f(X) - f(X'))",
        (_Basis.correlated, lambda variance, dim: variance / dim),
    ),
    corrected=Reading(
        "for covariance sigma^2 I; along it R1SMG has the variance sigma_*/M only, not sigma_*",
        (_Basis.isotropic, lambda variance, dim: variance / dim),
    ),
    planted=(
        Plant(
            "other coefficients do not count",
            "covariance [[2, 1], [1, 2]]",
            (_Basis.correlated, lambda variance, dim: variance / dim),
        ),
        Plant("variance of R1SMG along it", "sigma_*", (_Basis.isotropic, lambda variance, dim: variance)),
    ),
)
def single_coefficient(claim: tuple[tuple[Matrix, ...], Formula]) -> Findings:
    """The log-ratio is linear in y with the gradient S^-1 v; of the noise sigma_* z v v^T, every direction gets 1/M."""
    covariances, along = claim
    first, second, third, shift = symbols("y_1 y_2 y_3 v", real=True)
    point, difference = Matrix([first, second, third]), Matrix([shift, 0, 0])
    gradients = []
    for covariance in covariances:
        inverse = covariance.inv()
        here, there = ((point.T * inverse * point)[0], ((point - difference).T * inverse * (point - difference))[0])
        ratio = sympy.expand((here - there) / 2)
        gradients += [sympy.diff(ratio, second), sympy.diff(ratio, third)]
    zeros = Matrix([0 * shift] * len(gradients))
    yield identity(
        "other coefficients do not count",
        Matrix(gradients),
        zeros,
        scope="M = 3: the basis begins with v/|v|",
        cases=1,
        argued="for all M as for 3",
    )
    yield identity(
        "variance of R1SMG along it", M * along(sigma**2, M), sigma**2, scope="every M: sum of M equal shares"
    )


@statement(
    paper=PAPER,
    number="accuracy",
    restored=RESTORED,
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS,
    text="Its expected accuracy loss is lower bounded by C_R (Delta_2 f)^2, where C_R = 2/(eps psi). (With equality.)",
    formula=r"E\|n\|^2 = \sigma_* = \frac{2 (\Delta_2 f)^2}{\varepsilon\,\psi}",
    printed=(lambda: 2 / (epsilon * psi(M, delta)), lambda variance: variance),
    planted=(
        Plant("E|n|^2", "M sigma_*", (lambda: 2 / (epsilon * psi(M, delta)), lambda variance: M * variance)),
        Plant("C_R Delta^2", "C_R = 1/(eps psi)", (lambda: 1 / (epsilon * psi(M, delta)), lambda variance: variance)),
    ),
)
def accuracy(claim: tuple[Formula, Formula]) -> Findings:
    """n = sqrt(sigma_*) z v, |v| = 1: E|n|^2 = sigma_* E z^2, whatever the law of v; sigma_* = 2 Delta^2/(eps psi)."""
    constant, loss = claim
    yield identity("E|n|^2", sigma**2 * _normal_mean(z**2), loss(sigma**2), scope="every M")
    variance = 2 * Delta**2 / (epsilon * psi(M, delta))
    yield identity("C_R Delta^2", loss(variance), constant() * Delta**2, scope="all M > 2, eps, delta, Delta > 0")


x, angle, n = symbols("x theta n", positive=True)

CR: Mapping[str, Formula] = {
    "psi": psi,
    "factor": mean_power,
    "limit": lambda epsilon: 2 / epsilon,
    "value": lambda dim, cell: printed_variance(dim, *cell),
}


@statement(
    paper=PAPER,
    number="CR.limit",
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS,
    text="We show that C_R has a decreasing trend as M increases, and converges to 2/eps as M approaches infinity.",
    formula=r"\psi = \delta^{2/p}\,\|\sin\theta\|_p^2,\quad p = M - 2,\quad C_R = \frac{2}{\varepsilon\psi} \downarrow "
    r"\frac{2}{\varepsilon}",
    printed=CR,
    needs=("constants",),
    confirms={"each M in balls": "two consecutive factors"},
    planted=(
        Plant("log psi", "exponent 2/(M-1)", {**CR, "psi": lambda m, f: (f * mean_power(m)) ** (2 / (m - 1))}),
        Plant(
            "the factor is the mean of sin^(M-2)", "Gamma(M/2 + 1)", {**CR, "factor": lambda m: mean_power(m) * 2 / m}
        ),
        Plant("curvature of the logarithm", "over M", {**CR, "factor": lambda m: mean_power(m) / m}),
        Plant("the logarithm is convex", "Gamma(M/2 - 1)", {**CR, "factor": lambda m: 1 / mean_power(m)}),
        Plant("two consecutive factors", "Gamma(M/2 + 1)", {**CR, "factor": lambda m: mean_power(m) * 2 / m}),
        Plant("limit", "1/eps", {**CR, "limit": lambda epsilon: 1 / epsilon}),
        Plant("each M in balls", "2 psi for 2/psi", {**CR, "value": lambda m, cell: _inverted(m, cell)}),
    ),
    assumptions=("a chord of a convex function has a slope that increases with its end",),
)
def decreasing_constant(claim: Mapping[str, Formula]) -> Findings:
    """Let g(M) = Gamma((M-1)/2)/(sqrt(pi) Gamma(M/2)), the mean of sin^(M-2) over [0, pi]: log psi = 2 (log delta +
    log g(M))/(M-2). As g(2) = 1 and log g is convex, log g(M)/(M-2) is the slope of a chord from M = 2, and increases;
    so does log(delta)/(M-2), as delta < 1. So psi increases, for all real M > 2.

    g(M) g(M+1) = 2/(pi (M-1)) and g decreases, so g^2 is at least that, and log psi >= (2 log delta + log(2/(pi
    (M-1))))/(M-2), which tends to 0; and psi < 1, since g <= 1. In other words sqrt(psi) is delta^(1/p) times the L^p
    norm of sin, p = M - 2.
    """
    g = claim["factor"]
    parts = sympy.expand_log(log(claim["psi"](M, delta)), force=True) * (M - 2)
    chord = 2 * (log(delta) + sympy.expand_log(log(mean_power(M)) - log(mean_power(Integer(2))), force=True))
    yield identity("log psi", parts, chord, scope="all M > 2, delta > 0")

    def at(value: sympy.Expr) -> sympy.Expr:
        """In x = (M-1)/2, by Gamma(x+1) = x Gamma(x)."""
        return sympy.simplify(sympy.expand_func(sympy.expand_func(value.subs(M, 2 * x + 1))))

    found = [sympy.integrate(sin(angle) ** k, (angle, 0, pi)) / pi for k in range(4)]
    stepped = sympy.diff(-sympy.cos(angle) * sin(angle) ** (n + 1), angle)
    yield identity(
        "the factor is the mean of sin^(M-2)",
        Matrix([*found, at(g(M + 2) / g(M)), stepped]),
        Matrix(
            [
                *(g(Integer(k + 2)) for k in range(4)),
                at((M - 1) / M),
                (n + 2) * sin(angle) ** (n + 2) - (n + 1) * sin(angle) ** n,
            ]
        ),
        scope="M = 2..5, and from M to M + 2 by parts, so for every M",
    )
    curvature = sympy.diff(sympy.expand_log(log(g(M)), force=True), M, 2)
    series = (polygamma(1, (M - 1) / 2) - polygamma(1, M / 2)) / 4
    yield identity("curvature of the logarithm", curvature, series, scope="all M > 1")
    sign = sympy.sign(sympy.N(curvature.subs(M, 4)))
    term = sign * (1 / (x + n) ** 2 - 1 / (x + n + Rational(1, 2)) ** 2)
    yield positive(
        "the logarithm is convex", term, {x: Rational(1, 2), n: 0}, scope="all M >= 2: each term of the series"
    )
    yield identity("two consecutive factors", at(g(M) * g(M + 1)), at(2 / (pi * (M - 1))), scope="all M > 1")
    depth = symbols("l", positive=True)  # -log delta
    lower = (-2 * depth - log(pi * (M - 1) / 2)) / (M - 2)
    end = 2 / epsilon * sympy.exp(-sympy.limit(lower, M, oo))
    yield identity("limit", end, claim["limit"](epsilon), scope="every delta in (0, 1)")
    yield every(
        "each M in balls",
        product(range(3, 200), DELTAS),
        lambda case: _falls(claim["value"], *case),
        over="M, delta: eps = 1",
        cases=591,
        method=Method.BALLS,
        show=lambda case: f"M = {case[0]}, delta = {float(case[1]):g}",
    )


def _falls(value: Callable[[int, Cell], Real], dim: int, failure: Fraction) -> bool:
    here, there = (value(m, (Fraction(1), failure)) for m in (dim, dim + 1))
    with precision(96):
        return bool(here.ball() > there.ball()) and bool(there.ball() > 2)


def _inverted(dim: int, cell: Cell) -> Real:
    value = printed_variance(dim, *cell)
    return Real(lambda: 4 / value.ball())


@statement(
    paper=PAPER,
    number="stable",
    restored=RESTORED,
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS_WITH_CAVEAT,
    text="Compared with other mechanisms, the R1SMG mechanism is more stable and less likely to generate noise with "
    "large magnitude that overwhelms the query results.",
    formula=r"E\|n\|^2 = C_R < M\,\sigma_G^2",
    printed=30,
    caveat=Reading("read as: for every M >= 3; at M = 3 it is the larger by a factor of 10^4 and more", 3),
    corrected=Reading(
        "E|n|^2 is below that of the analytic Gaussian from M = 30 on (on the grid); but there the guarantee is false "
        "(claim.M4)",
        30,
    ),
    needs=("CR.limit",),
    planted=(Plant("E|n|^2 below the analytic Gaussian's", "from M = 4 on", 4),),
    assumptions=("stability and magnitude are read as the mean squared error at the same (eps, delta)",),
)
def smaller_noise(first: int) -> Findings:
    """The analytic Gaussian's M sigma_G^2 exceeds C_R iff noise of variance C_R/M is not (eps, delta)-DP.

    C_R decreases with M (CR.limit) and M sigma_G^2 increases, so that the first M decides for all that follow.
    """
    yield every(
        "E|n|^2 below the analytic Gaussian's",
        GRID,
        lambda cell: _certainly_more(_gaussian_delta(first, cell), cell[1]),
        over="eps, delta: the least M",
        argued="for every M from there on",
        cases=15,
        method=Method.BALLS,
        show=lambda cell: (
            f"M = {first}, {shown(cell)}: E|n|^2 = {printed_variance(first, *cell).nearest():.3g} against "
            f"{first * analytic_scale(*cell, Real.of(1)) ** 2:.3g}"
        ),
    )


def _certainly_more(value: arb, number: Fraction) -> bool | None:
    return True if value > ball(number) else False if value <= ball(number) else None


def _gaussian_delta(dim: int, cell: Cell) -> arb:
    """delta(epsilon) of Gaussian noise with the mean squared error of R1SMG."""
    with precision(256):
        square = ball(dim) / printed_variance(dim, *cell).ball()
        return gaussian_formulas.delta(BallNormal(), ball(cell[0]), square.sqrt())
