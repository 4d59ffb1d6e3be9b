"""The squared GDP parameter of a difference, as a permutation-invariant quadratic form.

Fact (Lebeda 2024, used throughout). N(a, S) against N(b, S) with v = a - b is exactly mu-GDP apart with
mu^2 = v^T S^-1 v. Where S treats all queries alike, and v = (x, t) holds the queries' difference x in R^d and the
count's difference t,

    mu^2 = square * s2 + sum_squared * s1^2 + cross * s1 * t + count * t^2,     s1 = sum x_i,  s2 = sum x_i^2,

so a record of any length costs O(1) once its two moments are known. The formulas are written once, over any field:
`Fraction` for certificates, balls for irrational parameters, float64, SymPy symbols for proofs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

# An element of any field: Fraction, flint.arb, float or sympy.Expr. No static type covers the four.
Number = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SymmetricForm:
    """mu^2 of a difference (x, t): ``square * s2 + sum_squared * s1^2 + cross * s1 * t + count * t^2``."""

    square: Number
    sum_squared: Number
    cross: Number
    count: Number

    def at(self, s1: Number, s2: Number, t: Number) -> Number:
        """The value at a difference with moments s1 = sum x_i, s2 = sum x_i^2 and count difference t."""
        return self.square * s2 + self.sum_squared * s1 * s1 + self.cross * s1 * t + self.count * t * t


def shared_noise_form(*, dim: Number, vz: Number, ve: Number, loading: Number, vw: Number) -> SymmetricForm:
    """The form of queries ``eta + z_i`` released with the count ``loading * eta + w``.

    Args:
        dim: number of queries d.
        vz: variance of each z_i, > 0.
        ve: variance of the shared eta, >= 0.
        loading: multiple of eta in the count: 2 in Algorithm 1.
        vw: variance of the count's own noise w: 0 in Algorithm 1.

    Derivation: S is vz on the complement of the all-ones line, and on span(1, count) the 2 x 2 system
    (vz + d ve) p + loading ve q = s1 / d,  d loading ve p + (loading^2 ve + vw) q = t, whose determinant is
    vz loading^2 ve + vw (vz + d ve). With loading = 2, vw = 0 this is form F1: (s2 - s1 t + d t^2/4)/vz + t^2/(4 ve).

    Requires: that determinant is not 0 (otherwise the count is released exactly, and mu is infinite).
    """
    own = loading * loading * ve + vw
    line = vz + dim * ve
    determinant = vz * loading * loading * ve + vw * line
    return SymmetricForm(
        square=1 / vz,
        sum_squared=(own / determinant - 1 / vz) / dim,
        cross=-2 * loading * ve / determinant,
        count=line / determinant,
    )


def queries_only_form(*, dim: Number, vz: Number, ve: Number) -> SymmetricForm:
    """The form of queries ``eta + z_i`` when no count is released (form F2): (s2 - s1^2 ve/(vz + d ve))/vz."""
    zero = 0 * vz
    return SymmetricForm(square=1 / vz, sum_squared=-ve / (vz * (vz + dim * ve)), cross=zero, count=zero)


def maximise_over_integers(a: Fraction, b: Fraction, c: Fraction, last: int) -> tuple[int, Fraction]:
    """The largest maximiser j of a j^2 + b j + c over the integers 0 <= j <= last, with the maximum; exact.

    The maximum of a parabola over an interval of integers sits at an end, or next to the vertex -b/(2a) when a < 0.
    """
    candidates = {0, last}
    if a < 0:
        vertex = -b / (2 * a)
        below = vertex.numerator // vertex.denominator
        candidates |= {j for j in (below, below + 1) if 0 <= j <= last}
    best = max(sorted(candidates, reverse=True), key=lambda j: a * j * j + b * j + c)
    return best, a * best * best + b * best + c
