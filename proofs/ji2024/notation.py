"""The formulas of Ji and Li (2024) as printed, in symbols and in balls, and the grid on which the claim is decided.

The text checked is the abstract, as supplied; the proof is not in it, and what is said of it is a reconstruction from
the constants. The mechanism is called R1SMG. Lengths are in units of the l2-sensitivity Delta; M is the dimension,
sigma^2 = sigma_* = C_R = 2/(epsilon psi) the printed variance of the radial Gaussian z' = sigma z, z ~ N(0, 1), and
n = sigma z v the noise, v uniform on the unit sphere of R^M; r and rho are the distances of the output to f(X) and
f(X'), and L is the privacy loss.

The claim is false in every dimension from 4 on (claim.M4; by hand at M = 100: claim.M100) and true in dimension 3
(claim.M3 on the grid, claim.M3.all for all epsilon and delta).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sympy import Rational, gamma, pi, sqrt, symbols

from dpverdict.audit.losses.spherical.loss import SphericalLoss
from dpverdict.audit.losses.spherical.random_direction import RandomDirectionGaussian
from dpverdict.balls import Enclosure, Real, ball
from dpverdict.mechanisms.queries.rank1 import published_psi
from dpverdict.proofs.checks.identities import Expr
from dpverdict.proofs.checks.outcome import Finding, Method

PAPER = "ji2024"
RESTORED = "the mechanism, of which the abstract supplied prints C_R and psi: noise sigma z v, sigma^2 = C_R Delta^2"
M, p = symbols("M p", positive=True)
epsilon, delta, sigma, Delta = symbols("epsilon delta sigma Delta", positive=True)

Cell = tuple[Fraction, Fraction]
"""(epsilon, delta)."""

EPSILONS = tuple(map(Fraction, ("1/10", "1/2", "1", "2", "10")))
DELTAS = tuple(map(Fraction, ("1e-3", "1e-5", "1e-10")))
GRID: tuple[Cell, ...] = tuple((level, failure) for level in EPSILONS for failure in DELTAS)
GRID_WORDS = "eps in {.1, .5, 1, 2, 10}, delta in {1e-3, 1e-5, 1e-10}"

Variance = Callable[[int | None, Fraction, Fraction], Real]
"""sigma^2 of (M, epsilon, delta); None for the limit as M grows."""


def mean_power(dim: Expr) -> Expr:
    """Gamma((M-1)/2)/(sqrt(pi) Gamma(M/2)), the factor of delta in psi."""
    return gamma((dim - 1) / 2) / (sqrt(pi) * gamma(dim / 2))


def psi(dim: Expr, failure: Expr) -> Expr:
    """psi as printed."""
    return (failure * mean_power(dim)) ** (2 / (dim - 2))


def printed_variance(dim: int | None, level: Fraction, failure: Fraction) -> Real:
    """sigma^2 = 2/(epsilon psi); psi -> 1 as M grows, from below (see CR.limit)."""
    if dim is None:
        return Real.of(2 / level)
    value = published_psi(dim, failure)
    return Real(lambda: 2 / (ball(level) * value.ball()))


def true_delta(variance: Variance, dim: int, cell: Cell) -> Enclosure:
    """Encloses delta(epsilon) of the noise at a shift of length 1, by rigorous quadrature along {L = epsilon}."""
    law = RandomDirectionGaussian(variance(dim, *cell).sqrt())
    return SphericalLoss(dim, law).certified_delta(cell[0])


def has_digits(name: str, value: Enclosure, printed: str, *, scope: str) -> Finding:
    """The decimal ``printed`` is the enclosed number, rounded to its last digit."""
    unit, target = Fraction(1, 2 * 10 ** len(printed.partition(".")[2])), Fraction(printed)
    low, high = Fraction(value.lower), Fraction(value.upper)
    holds = target - unit <= low and high <= target + unit
    apart = high < target - unit or low > target + unit
    return Finding(
        name=name,
        holds=holds if holds or apart else None,
        method=Method.BALLS,
        scope=scope,
        margin=value.show(10) if holds else "",
        witness="" if holds else f"{printed} printed, the value is in {value.show(10)}",
        cases=1,
        named=True,
    )


def shown(cell: Cell) -> str:
    """ "eps = 1, delta = 1e-5" """
    level, failure = cell
    return f"eps = {float(level):g}, delta = {float(failure):g}"


def rational(value: Fraction) -> Expr:
    """The number in SymPy."""
    return Rational(value.numerator, value.denominator)
