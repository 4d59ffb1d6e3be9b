"""Ji and Li 2024, abstract: the accuracy loss, the motivation, the trend of C_R, and the comparison with others."""

from __future__ import annotations

import sympy
from sympy import Matrix, Symbol, oo, pi, sqrt, symbols

from dpverdict.proofs.identities import identity
from dpverdict.proofs.ji2024_algebra import (
    PAPER,
    Delta,
    M,
    delta,
    epsilon,
    psi,
    sigma,
)
from dpverdict.proofs.outcome import Findings, Kind, Standing
from dpverdict.proofs.statement import Formula, Plant, Reading, statement

x, angle, n = symbols("x theta n", positive=True)
z = Symbol("z", real=True)


def _normal_mean(function: sympy.Expr) -> sympy.Expr:
    """E of a polynomial of z ~ N(0, 1)."""
    return sympy.integrate(sympy.expand(function) * sympy.exp(-(z**2) / 2), (z, -oo, oo)) / sqrt(2 * pi)


@statement(
    paper=PAPER,
    number="trace",
    kind=Kind.TEXT,
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
    kind=Kind.TEXT,
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
        scope="the basis begins with v/|v|; for M = 3 as for all",
    )
    yield identity(
        "variance of R1SMG along it", M * along(sigma**2, M), sigma**2, scope="every M: sum of M equal shares"
    )


@statement(
    paper=PAPER,
    number="accuracy",
    kind=Kind.TEXT,
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
