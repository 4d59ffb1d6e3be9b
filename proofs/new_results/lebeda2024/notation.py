"""What the checks of this project's own results share: their registration, and forms derived from the covariance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import sympy
from flint import fmpq, fmpq_mat

from dpverdict.numerics.exact import Surd
from dpverdict.proofs.checks.identities import Expr

Number = int | Fraction | Surd


def solved_form(
    dim: Expr, vz: Expr, ve: Expr, loading: Expr | None, vw: Expr, moments: tuple[Expr, Expr], count: Expr
) -> Expr:
    """v^T S^-1 v for every d, by solving S y = v from the entries of S alone.

    S is the covariance of (eta + z_i, loading * eta + w); the count is left out for loading = None. The difference v
    has the moments s1 = sum x_i, s2 = sum x_i^2 and moves the count by ``count``. As S acts on x and on the all-ones
    vector alone, y = (x/vz + b 1, q), with b and q from the two linear equations of S y = v.
    """
    s1, s2 = moments
    b, q = sympy.symbols("b q")
    total = s1 / vz + b * dim
    if loading is None:
        (solution,) = sympy.linsolve([vz * b + ve * total], [b])
        return s2 / vz + solution[0] * s1
    rows = [vz * b + ve * total + loading * ve * q, loading * ve * total + (loading**2 * ve + vw) * q - count]
    (solution,) = sympy.linsolve(rows, [b, q])
    return s2 / vz + solution[0] * s1 + solution[1] * count


def surd_form(covariance: Sequence[Sequence[Number]]) -> Callable[[Sequence[int | Fraction]], Surd]:
    """v -> v^T S^-1 v for a dense S with entries in Q(sqrt m), exactly.

    A number a + b sqrt m acts on (1, sqrt m) by the rational matrix [[a, b m], [b, a]]: S becomes a rational matrix of
    twice the size, whose inverse represents S^-1.

    Raises:
        ZeroDivisionError: S is singular.
    """
    rows = [[Surd.of(entry) for entry in row] for row in covariance]
    radicands = {entry.radicand for row in rows for entry in row if entry.coefficient} or {0}
    (m,) = radicands
    size = len(rows)
    parts = fmpq_mat(2 * size, 2 * size)
    for i, row in enumerate(rows):
        for k, entry in enumerate(row):
            for (p, q), value in _represented(entry, m).items():
                parts[2 * i + p, 2 * k + q] = _fmpq(value)
    inverse = parts.inv()

    def form(difference: Sequence[int | Fraction]) -> Surd:
        rational, coefficient = fmpq(0), fmpq(0)
        for i, left in enumerate(difference):
            for k, right in enumerate(difference):
                weight = _fmpq(left) * _fmpq(right)
                rational += weight * inverse[2 * i, 2 * k]
                coefficient += weight * inverse[2 * i + 1, 2 * k]
        return Surd(_fraction(rational), _fraction(coefficient), m)

    return form


def _represented(entry: Surd, m: int) -> dict[tuple[int, int], Fraction]:
    a, b = entry.rational, entry.coefficient
    return {(0, 0): a, (0, 1): b * m, (1, 0): b, (1, 1): a}


def _fmpq(value: Fraction | int) -> fmpq:
    exact = Fraction(value)
    return fmpq(exact.numerator, exact.denominator)


def _fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))
