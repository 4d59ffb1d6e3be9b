"""Strategy matrices C of the matrix mechanism: it releases C x + noise, and with it prefix sums A x + A C^-1 noise.

C is lower triangular with no zero on its diagonal, so that C x + noise and the noisy prefix sums determine each other.
A Toeplitz matrix has the entries c_(i - j), i >= j, and is known by its first column; any other is kept as the band
below its diagonal. Entries that are given are taken exactly: a float64, a decimal or a fraction is a rational number.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import numpy as np
import scipy
from flint import arb, ctx, fmpz_mat

from dpverdict.balls import Exact, Real, ball, exactly
from dpverdict.checks import check_whole
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array

LONGEST: Final = 1 << 14
"""Steps of a run."""
DENSE: Final = 1 << 10
"""Rows of a matrix that is not banded."""
EXACT: Final = 128
"""Coefficients of matrices with a name that are rational numbers; of more of them balls are quicker."""
_GRAM: Final = 1 << 26
_BLOCK: Final = 1 << 22

Number = Any
"""A whole number or a ball: what is done with either is +, - and *."""

Steps: TypeAlias = tuple[int, ...]
"""Steps of a run, from 0, in order."""


class Toeplitz:
    """The entries c_(i - j), i >= j, for T steps.

    Attributes:
        horizon: T.
        band: the number of coefficients; those after them are 0.
        coefficients: c_0, ..., c_(band - 1) in float64.
        falling: whether c_0 >= c_1 >= ... >= 0 is proved.
        source: where the matrix comes from.
    """

    def __init__(
        self,
        horizon: int,
        entries: Callable[[], Sequence[arb]] | Sequence[Fraction],
        *,
        source: str,
        falling: bool | None = None,
    ) -> None:
        """Coefficients as rational numbers, or as balls at the current precision; of balls, whether they fall."""
        self.horizon: int = check_horizon(horizon)
        self.source: str = source
        self._exact: list[int] | None = None
        self._denominator = 1
        if callable(entries):
            self._balls = entries
            found = [float(entry.mid()) for entry in entries()]
            self.falling: bool = bool(falling)
        else:
            if not entries or entries[0] == 0:
                raise InvalidValue(
                    "coefficients", list(map(str, entries)), "a first one that is not 0", "give c_0, c_1, ..."
                )
            kept = list(entries[:horizon])
            self._denominator = math.lcm(*(entry.denominator for entry in kept))
            self._exact = [int(entry * self._denominator) for entry in kept]
            self._balls = lambda: [ball(entry) for entry in kept]
            found = [float(entry) for entry in kept]
            self.falling = all(a >= b for a, b in zip(kept, [*kept[1:], Fraction(0)], strict=True))
        self.coefficients: Array = np.array(found)
        self.band: int = len(found)

    @cached_property
    def nonnegative(self) -> bool:
        """Whether no coefficient is negative."""
        return self.falling or (self._exact is not None and min(self._exact) >= 0)

    def embed(self, streams: Array) -> Array:
        """C x: shape (n, T) -> (n, T)."""
        found: Array = scipy.signal.fftconvolve(streams, self.coefficients[None], axes=1)[:, : self.horizon]
        return found

    def solve(self, noisy: Array) -> Array:
        """C^-1 y: shape (n, T) -> (n, T)."""
        found: Array = scipy.signal.lfilter([1.0], self.coefficients, noisy, axis=1)
        return found

    def row_squares(self) -> Array:
        """The squared l2 norms of the rows of A C^-1, in float64: shape (T,)."""
        sums = self.solve(np.ones((1, self.horizon)))[0]
        found: Array = np.cumsum(np.square(sums))
        return found

    def column_squared(self) -> Real:
        """The squared l2 norm of the first column, the longest."""
        return self.squared(self.horizon, 1)

    def squared(self, every: int, count: int, *, absolute: bool = False, majorant: bool = False) -> Real:
        """|C (e_1 + e_(1 + every) + ...)|^2 with ``count`` terms, exactly or as a ball.

        Args:
            every: how many steps lie between two terms.
            count: the number of terms that are at most T.
            absolute: take |c_j| for c_j.
            majorant: take the largest |c_i|, i >= j, for c_j.
        """
        if self._exact is None:
            return Real(lambda: _norm_of_progression(self._balls(), self.horizon, every, count, arb(0)))
        entries = [abs(entry) for entry in self._exact] if absolute or majorant else self._exact
        if majorant:
            entries = [int(value) for value in np.maximum.accumulate(np.array(entries[::-1], dtype=object))[::-1]]
        total = _norm_of_progression(entries, self.horizon, every, count, 0)
        return Real.of(Fraction(total, self._denominator**2))

    def gram_of(self, steps: Steps) -> list[list[Fraction]]:
        """The inner products of columns of C, exactly; rational coefficients only."""
        assert self._exact is not None
        columns = [[0] * step + self._exact[: self.horizon - step] for step in steps]
        scale = self._denominator**2
        return [[Fraction(sum(map(int.__mul__, a, b)), scale) for b in columns] for a in columns]

    def squared_of(self, moved: Array) -> Real:
        """|C g|_F^2 for contributions of shape (T, d): exactly, or as a ball."""
        steps = tuple(int(step) for step in np.flatnonzero(moved.any(axis=1)))
        if self._exact is not None:
            return Real.of(_quadratic_form(self.gram_of(steps), moved[list(steps)]))

        def total() -> arb:
            entries = self._balls()
            found = arb(0)
            for coordinate in moved.T:
                for t in range(self.horizon):
                    terms = (entries[t - s] * arb(float(coordinate[s])) for s in steps if 0 <= t - s < len(entries))
                    found += sum(terms, arb(0)) ** 2
            return found

        return Real(total)

    @property
    def exact_coefficients(self) -> list[Fraction] | None:
        """c_0, ..., c_(band - 1) where they are rational numbers."""
        return None if self._exact is None else [Fraction(entry, self._denominator) for entry in self._exact]

    @property
    def is_rational(self) -> bool:
        """Whether the coefficients are rational numbers."""
        return self._exact is not None


def _norm_of_progression(entries: Sequence[Number], horizon: int, every: int, count: int, zero: Number) -> Number:
    """|u|^2 of u_t = c_t + c_(t - every) + ... with ``count`` terms: u_t = u_(t - every) + c_t - c_(t - late)."""
    padded = [*entries, *[zero] * (horizon - len(entries))]
    sums: list[Number] = []
    late, total = every * count, zero
    for t in range(horizon):
        value = padded[t]
        if t >= every:
            value = value + sums[t - every]
        if t >= late:
            value = value - padded[t - late]
        sums.append(value)
        total = total + value * value
    return total


def _quadratic_form(gram: Sequence[Sequence[Fraction]], rows: Array) -> Fraction:
    """The sum over i, j of gram[i][j] <row i, row j>, exactly."""
    exact = [[Fraction(float(entry)) for entry in row] for row in rows]
    return sum(
        (
            entry * sum((a * b for a, b in zip(exact[i], exact[j], strict=True)), Fraction(0))
            for i, row in enumerate(gram)
            for j, entry in enumerate(row)
        ),
        Fraction(0),
    )


@final
class Banded:
    """A lower triangular matrix with a band of entries, each a float64 that is taken exactly.

    Attributes:
        horizon: T.
        band: the number w of diagonals that are not 0.
        diagonals: entry [g, t] is C[t + g, t]; 0 beyond the last row.
        source: where the matrix comes from.
    """

    def __init__(self, diagonals: Array, *, source: str) -> None:
        self.diagonals: Array = diagonals
        self.source: str = source
        self.band: int = len(diagonals)
        self.horizon: int = diagonals.shape[1]
        check_horizon(self.horizon)
        if not np.isfinite(diagonals).all() or (diagonals[0] == 0).any():
            raise InvalidValue(
                "file", source, "finite entries, and none on the diagonal that is 0", "give C of C x + noise"
            )
        mantissas, exponents = np.frexp(diagonals)
        least = int(exponents.min()) - 53
        shifts = (exponents - 53 - least).astype(object)
        self._whole = (mantissas * 2.0**53).astype(np.int64).astype(object) << shifts
        self._scale = Fraction(4) ** least

    @staticmethod
    def of_rows(matrix: Array, *, source: str) -> Banded:
        """A lower triangular matrix of shape (T, T); its band is what is not 0."""
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix) or np.triu(matrix, 1).any():
            raise InvalidValue(
                "file", f"shape {matrix.shape}", "a square lower triangular matrix", "give C of C x + noise"
            )
        rows, columns = np.nonzero(matrix)
        band = int((rows - columns).max(initial=0)) + 1
        if band > 64 and len(matrix) > DENSE:
            remedy = "give the coefficients of a Toeplitz matrix, or a banded one"
            raise InvalidValue("file", f"{len(matrix)} rows", f"at most {DENSE} of a matrix without a band", remedy)
        size = len(matrix)
        diagonals = np.zeros((band, size))
        for gap in range(band):
            diagonals[gap, : size - gap] = np.diagonal(matrix, -gap)
        return Banded(diagonals, source=source)

    def embed(self, streams: Array) -> Array:
        """C x: shape (n, T) -> (n, T)."""
        found = np.zeros(streams.shape)
        for gap, diagonal in enumerate(self.diagonals):
            size = self.horizon - gap
            found[:, gap:] += streams[:, :size] * diagonal[:size]
        return found

    def solve(self, noisy: Array) -> Array:
        """C^-1 y: shape (n, T) -> (n, T)."""
        solved: Array = scipy.linalg.solve_banded((self.band - 1, 0), self.diagonals, noisy.T, check_finite=False).T
        return np.ascontiguousarray(solved)

    def row_squares(self) -> Array:
        """The squared l2 norms of the rows of A C^-1, in float64: shape (T,)."""
        total, size = np.zeros(self.horizon), max(1, _BLOCK // self.horizon)
        for start in range(0, self.horizon, size):
            units = np.eye(min(size, self.horizon - start), self.horizon, start)
            total += np.square(np.cumsum(self.solve(units), axis=1)).sum(axis=0)
        return total

    @cached_property
    def gram(self) -> list[list[int]]:
        """Row g: the inner products of the columns t and t + g of C, in units of `unit`, exactly."""
        size, band = self.horizon, self.band
        if band > 64:
            rows = [[0] * size for _ in range(size)]
            for gap in range(band):
                for t in range(size - gap):
                    rows[t][t + gap] = self._whole[gap, t]  # the transpose of C
            upper = fmpz_mat(rows)
            product = (upper * upper.transpose()).tolist()
            return [[int(product[t][t + gap]) for t in range(size - gap)] for gap in range(size)]
        if size * band**2 > _GRAM:
            raise InvalidValue("file", f"{size} steps, a band of {band}", "a narrower band", "give fewer diagonals")
        found = []
        for gap in range(band):
            total = np.zeros(size - gap, dtype=object)
            for low in range(band - gap):
                total += self._whole[low + gap, : size - gap] * self._whole[low, gap:]
            found.append([int(value) for value in total])
        return found

    def squared_of(self, moved: Array) -> Real:
        """|C g|_F^2 for contributions of shape (T, d), exactly."""
        steps = [int(step) for step in np.flatnonzero(moved.any(axis=1))]
        gram = [[self.inner(s, t) * self.unit for t in steps] for s in steps]
        return Real.of(_quadratic_form(gram, moved[steps]))

    @property
    def unit(self) -> Fraction:
        """What one of the whole numbers of `gram` stands for."""
        return self._scale

    def inner(self, first: int, second: int) -> int:
        """The inner product of two columns, in units of `unit`."""
        low, gap = min(first, second), abs(first - second)
        return self.gram[gap][low] if gap < len(self.gram) else 0


Strategy: TypeAlias = Toeplitz | Banded


def check_horizon(horizon: int) -> int:
    """A number of steps up to `LONGEST`."""
    found = check_whole(horizon, "steps", least=1, remedy="say how many steps there are")
    if found > LONGEST:
        raise InvalidValue("steps", horizon, f"at most {LONGEST}", "take a tree")
    return found


# those with a name ----------------------------------------------------------------------------------------------------


def identity(horizon: int) -> Toeplitz:
    """C = I: independent noise on every sum of a batch."""
    return Toeplitz(horizon, [Fraction(1)], source="independent noise")


def square_root(horizon: int, band: int | None = None) -> Toeplitz:
    """The first ``band`` coefficients of (1 - x)^(-1/2), all of them if it is None.

    They fall: c_j = c_(j-1) (2j - 1)/(2j). Beyond `EXACT` of them they are balls.

    Reference: Henzinger, Upadhyay and Upadhyay 2023 (arXiv:2211.05006); the band of Kalinin and Lampert 2024
    (arXiv:2405.13763).
    """
    length = min(band or horizon, horizon)
    source = "Henzinger, Upadhyay and Upadhyay 2023" if band is None else "Kalinin and Lampert 2024, banded square root"
    if length <= EXACT:
        exact = [Fraction(1)]
        for j in range(1, length):
            exact.append(exact[-1] * Fraction(2 * j - 1, 2 * j))
        return Toeplitz(horizon, exact, source=source)

    def balls() -> list[arb]:
        entries = [arb(1)]
        for j in range(1, length):
            entries.append(entries[-1] * (2 * j - 1) / (2 * j))
        return entries

    return Toeplitz(horizon, balls, source=source, falling=True)


def banded_inverse_square_root(horizon: int, band: int) -> Toeplitz:
    """C^-1 has the first ``band`` coefficients of (1 - x)^(1/2): the noise is a weighted sum of ``band`` values.

    The coefficients of C are 1/(1 - p(x)), p with positive coefficients a_1, ..., a_(band-1) of sum below 1: they are
    positive. That they fall is shown in balls, coefficient by coefficient.

    Reference: Kalinin, McMahan, Upadhyay and Lampert 2025, "Back to square roots" (arXiv:2505.12128).
    """
    weights = [Fraction(1)]  # of -(1 - x)^(1/2): a_j = a_(j-1) (2j - 3)/(2j), a_1 = 1/2
    for j in range(1, min(band, horizon)):
        weights.append(Fraction(1, 2) if j == 1 else weights[-1] * Fraction(2 * j - 3, 2 * j))

    source = "Kalinin, McMahan, Upadhyay and Lampert 2025, BISR"
    if horizon <= EXACT:
        exact = [Fraction(1)]
        for t in range(1, horizon):
            last = min(t, len(weights) - 1)
            exact.append(sum((weights[m] * exact[t - m] for m in range(1, last + 1)), Fraction(0)))
        return Toeplitz(horizon, exact, source=source)

    def balls() -> list[arb]:
        a = [ball(weight) for weight in weights]
        entries = [arb(1)]
        for t in range(1, horizon):
            entries.append(sum((a[m] * entries[t - m] for m in range(1, min(t, len(a) - 1) + 1)), arb(0)))
        return entries

    found = _kept(balls)
    entries = found()
    falls = all(first > second for first, second in itertools.pairwise(entries))
    return Toeplitz(horizon, found, source=source, falling=falls)


def buffered(horizon: int, decays: Sequence[Exact], weights: Sequence[Exact]) -> Toeplitz:
    """A buffered linear Toeplitz (BLT) matrix: c_0 = 1 and c_j = sum_i weight_i decay_i^(j - 1).

    With positive weights of a sum of at most 1, and decays in (0, 1), the coefficients fall.

    Reference: Dvijotham, McMahan, Pillutla, Steinke and Thakurta 2024 (arXiv:2404.16706).
    """
    d = [exactly(value, name="decays") for value in decays]
    w = [exactly(value, name="weights") for value in weights]
    if not d or len(d) != len(w) or not all(0 < one < 1 for one in d) or not all(one > 0 for one in w) or sum(w) > 1:
        requirement = "as many weights as decays, the decays in (0, 1), the weights positive and of a sum of at most 1"
        raise InvalidValue("decays and weights", f"{decays}, {weights}", requirement, "give those of C, c_0 being 1")

    def balls() -> list[arb]:
        rates, terms = [ball(one) for one in d], [ball(one) for one in w]
        entries = [arb(1)]
        for _ in range(1, horizon):
            entries.append(sum(terms, arb(0)))
            terms = [term * rate for term, rate in zip(terms, rates, strict=True)]
        return entries

    return Toeplitz(horizon, _kept(balls), source="Dvijotham et al. 2024, BLT", falling=True)


def optimised_band(horizon: int, band: int) -> Toeplitz:
    """Toeplitz coefficients of a band with about the least mean squared error for one participation (BandMF).

    They are found by numerical minimisation from the banded square root, and are good, not optimal for certain: the
    float64 that are found are taken exactly.

    Reference: Choquette-Choo, Ganesh, McKenna, McMahan, Rush, Thakurta and Xu 2023 (arXiv:2306.08153).
    """
    start = square_root(horizon, band).coefficients

    def error(tail: Array) -> float:
        coefficients = np.concatenate([[1.0], tail])
        with np.errstate(all="ignore"):
            sums = scipy.signal.lfilter([1.0], coefficients, np.ones(horizon))
            weights = np.arange(horizon, 0, -1) / horizon
            value = float(np.square(coefficients).sum() * (np.square(sums) * weights).sum())
        return math.log(value) if math.isfinite(value) else 1e6

    found = scipy.optimize.minimize(error, start[1:], method="L-BFGS-B", options={"maxiter": 60}).x if band > 1 else []
    exact = [Fraction(1), *(Fraction(float(value)) for value in found)]
    return Toeplitz(horizon, exact, source="Choquette-Choo et al. 2023, BandMF, Toeplitz")


def from_file(path: str | Path, *, banded: bool) -> Banded:
    """A matrix from a .npy or .csv file: T rows of T entries, or, banded, T rows of w: C[t, t], C[t, t - 1], ...

    Raises:
        InvalidValue: the file cannot be read, or holds no such matrix.
    """
    source = Path(path)
    try:
        loaded = (
            np.load(source, allow_pickle=False)
            if source.suffix == ".npy"
            else np.loadtxt(source, delimiter=",", ndmin=2)
        )
        matrix = np.asarray(loaded, dtype=np.float64)
    except (OSError, ValueError, EOFError, TypeError) as error:
        remedy = "give a matrix of numbers as .npy or .csv"
        raise InvalidValue("file", str(path), "a file that can be read", remedy) from error
    if not banded:
        return Banded.of_rows(matrix, source=source.name)
    if matrix.ndim != 2 or not 1 <= matrix.shape[1] <= matrix.shape[0]:
        remedy = "give C[t, t], C[t, t - 1], ... in row t"
        raise InvalidValue("file", f"shape {matrix.shape}", "T rows of at most T entries", remedy)
    rows, band = matrix.shape
    diagonals = np.zeros((band, rows))
    for gap in range(band):
        if matrix[:gap, gap].any():
            raise InvalidValue("file", f"column {gap + 1}", f"{gap} zeros at its top", "no step is before the first")
        diagonals[gap, : rows - gap] = matrix[gap:, gap]
    return Banded(diagonals, source=source.name)


def _kept(entries: Callable[[], list[arb]]) -> Callable[[], list[arb]]:
    """The same, kept for each precision."""

    @lru_cache(maxsize=4)
    def at(_bits: int) -> list[arb]:
        return entries()

    return lambda: at(ctx.prec)
