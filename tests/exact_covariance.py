"""Dense linear algebra over the rationals: the slow oracle of the exact worst cases. Load it with `runpy.run_path`."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from dpverdict.mechanisms.core.noise import Noise

Array = NDArray[np.float64]
Covariance = list[list[Fraction]]


class UnitDraws:
    """A generator of normal variates that are all 0 but for the one numbered ``hot``."""

    def __init__(self, hot: int) -> None:
        self.hot, self.drawn = hot, 0

    def standard_normal(self, shape: int | tuple[int, ...]) -> Array:
        size = int(np.prod(shape))
        values = (np.arange(self.drawn, self.drawn + size) == self.hot).astype(np.float64)
        self.drawn += size
        return values.reshape(shape)


def covariance_of_the_sampler(noise: Noise) -> Covariance:
    """S = sum_k a_k a_k^T, with a_k the sampler's answer to the k-th unit vector of variates: exact, and its own."""
    none: Any = UnitDraws(-1)  # stands in for numpy's generator
    noise.add(np.zeros(noise.size), 1, none)
    columns = []
    for k in range(none.drawn):
        unit: Any = UnitDraws(k)
        columns.append([Fraction(float(a)) for a in noise.add(np.zeros(noise.size), 1, unit)[0]])
    size = range(noise.size)
    return [[sum((a[i] * a[j] for a in columns), Fraction(0)) for j in size] for i in size]


def as_matrix(covariance: Covariance) -> fmpq_mat:
    """The same as a matrix over the rationals."""
    n = len(covariance)
    return fmpq_mat(n, n, [fmpq(e.numerator, e.denominator) for row in covariance for e in row])


class DenseForm:
    """v -> v^T S^-1 v, exactly; None where v has a part that S gives no noise."""

    def __init__(self, covariance: Covariance) -> None:
        self.matrix = as_matrix(covariance)
        self.inverse = self.matrix.inv() if self.matrix.rank() == len(covariance) else None

    def at(self, difference: Array) -> Fraction | None:
        exact = [Fraction(float(e)) for e in difference]
        column = fmpq_mat(len(exact), 1, [fmpq(e.numerator, e.denominator) for e in exact])
        solution = self._singular(column) if self.inverse is None else self.inverse * column
        if solution is None:
            return None
        value = (column.transpose() * solution)[0, 0]
        return Fraction(int(value.p), int(value.q))

    def _singular(self, column: fmpq_mat) -> fmpq_mat | None:
        """Some u with S u = v, from the reduced row echelon form of (S | v)."""
        n = self.matrix.nrows()
        wide = fmpq_mat(n, n + 1, [e for i in range(n) for e in (*(self.matrix[i, j] for j in range(n)), column[i, 0])])
        reduced, rank = wide.rref()
        solution = fmpq_mat(n, 1)
        for i in range(rank):
            pivot = next(j for j in range(n + 1) if reduced[i, j] != 0)
            if pivot == n:
                return None
            solution[pivot, 0] = reduced[i, n]
        return solution
