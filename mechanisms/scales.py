"""The standard deviations of Algorithm 1 and its relatives: the formulas, and their rounding away from danger.

For the embedding constant C, with B = d + C^2 (Lebeda 2024, Lemma 3.3 and section 3.1):

    independent noise  vz = B / (4 mu^2),      shared noise  ve = B / (4 C^2 mu^2),      count  n + 2 eta.

The pair is mu-GDP iff d/(4 vz) + 1/(4 ve) <= mu^2. Rounding each scale up keeps that inequality, so the floats returned
here never promise more than they hold.
"""

from __future__ import annotations

from fractions import Fraction

from dpverdict.balls import Real, ball, sqrt_up
from dpverdict.mechanisms.quadratic_form import Number


def family_variances(dim: Number, c_squared: Number, mu: Number) -> tuple[Number, Number]:
    """(vz, ve) = (B/(4 mu^2), B/(4 C^2 mu^2)) with B = d + C^2, over any field; C^2 = sqrt d gives Algorithm 1."""
    b = dim + c_squared
    return b / (4 * mu * mu), b / (4 * c_squared * mu * mu)


def family_scales(dim: int, c_squared: Real, mu: Fraction) -> tuple[float, float]:
    """Float64 standard deviations (of z, of eta), each at least the square root of its variance."""
    if c_squared.rational is not None:
        vz, ve = family_variances(dim, c_squared.rational, mu)
        return sqrt_up(Real.of(vz)), sqrt_up(Real.of(ve))
    vz, ve = (
        Real(lambda: family_variances(dim, c_squared.ball(), ball(mu))[0]),
        Real(lambda: family_variances(dim, c_squared.ball(), ball(mu))[1]),
    )
    return sqrt_up(vz), sqrt_up(ve)


def root(dim: int) -> Real:
    """sqrt(d), exactly."""
    return Real.of(dim).sqrt()
