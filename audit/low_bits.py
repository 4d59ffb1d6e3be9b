"""Sets of float64 numbers that a mechanism's rounding betrays, as data: where one dataset's outputs cannot lie.

Three kinds, each a set of outputs of one coordinate, so that an event is the same set whoever looks:

* low bits: |x - c| < 2^e and the lowest set bit of x is at most 2^b. The sum of a value and a noise near its negative
  is exact and a multiple of the spacing of the value, so one dataset has no finer bits there (Mironov, On significance
  of the least significant bits for differential privacy, CCS 2012);
* multiples: x lies within 2^-20 g of a + g Z. Noise on a grid keeps the grid's offset, which tells the data;
* values: x is one of finitely many numbers. A sampler that can return few numbers near a point returns some often.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol, final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Truth = NDArray[np.bool_]

NEVER: Final = 4096
"""Above every exponent of a float64: the lowest set bit of 0; its negative, below all, is the exponent of 0."""

CLOSE: Final = 2.0**-20
"""Of the grid: how near to a point of it an output counts as on it."""

MOST_VALUES: Final = 100_000


def exponents(x: Array) -> Integers:
    """e with 2^(e-1) <= |x| < 2^e; -4096 for 0.

    >>> exponents(np.array([1.0, 0.75, -3.0, 0.0])).tolist()
    [1, 0, 2, -4096]
    """
    _, found = np.frexp(x)
    return np.where(x == 0, -NEVER, found).astype(np.int64)


def lowest_bits(x: Array) -> Integers:
    """b with x an odd multiple of 2^b; 4096 for 0.

    >>> lowest_bits(np.array([1.0, 0.75, 6.0, 0.0, 0.1])).tolist()
    [0, -2, 1, 4096, -55]
    """
    mantissa, exponent = np.frexp(x)
    whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    _, position = np.frexp((whole & -whole).astype(np.float64))
    return np.where(x == 0, NEVER, exponent.astype(np.int64) - 53 + position - 1).astype(np.int64)


class Finite(Protocol):
    """A set of outputs."""

    def contains(self, outputs: Array) -> Truth:
        """Whether each row of ``outputs``, shape (trials, m), is in the set."""
        ...

    def describe(self) -> dict[str, object]:
        """The set as data, for a witness."""
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LowBits:
    """|x - centre| < 2^exponent and the lowest set bit of x is at most 2^bit, x the output's ``coordinate``."""

    coordinate: int
    centre: float
    exponent: int
    bit: int

    def contains(self, outputs: Array) -> Truth:
        """Whether each row is in the set."""
        x = outputs[:, self.coordinate]
        near = exponents(x - self.centre) <= self.exponent
        found: Truth = near & (lowest_bits(x) <= self.bit)
        return found

    def describe(self) -> dict[str, object]:
        """The set as data."""
        return {
            "kind": "low bits",
            "coordinate": self.coordinate,
            "centre": self.centre,
            "exponent": self.exponent,
            "bit": self.bit,
            "in words": f"|x[{self.coordinate}] - {self.centre!r}| < 2^{self.exponent}, lowest set bit <= 2^{self.bit}",
        }


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Multiples:
    """x is within 2^-20 grid of offset + grid Z, x the output's ``coordinate``."""

    coordinate: int
    offset: float
    grid: float

    def contains(self, outputs: Array) -> Truth:
        """Whether each row is in the set."""
        steps = (outputs[:, self.coordinate] - self.offset) / self.grid
        found: Truth = np.abs(steps - np.rint(steps)) <= CLOSE
        return found

    def describe(self) -> dict[str, object]:
        """The set as data."""
        return {
            "kind": "multiples",
            "coordinate": self.coordinate,
            "offset": self.offset,
            "grid": self.grid,
            "in words": f"x[{self.coordinate}] is on the grid {self.offset!r} + {self.grid!r} Z",
        }


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """x is one of ``values``, sorted; x the output's ``coordinate``."""

    coordinate: int
    values: tuple[float, ...]

    def contains(self, outputs: Array) -> Truth:
        """Whether each row is in the set."""
        x, known = outputs[:, self.coordinate], np.array(self.values)
        found: Truth = np.isin(x, known)
        return found

    def describe(self) -> dict[str, object]:
        """The set as data."""
        return {
            "kind": "values",
            "coordinate": self.coordinate,
            "values": list(self.values),
            "in words": f"x[{self.coordinate}] is one of {len(self.values)} numbers",
        }


def low_bit_sets(outputs: Array, coordinate: int, centres: tuple[float, ...]) -> list[LowBits]:
    """The sets of low bits that these outputs suggest: at most 12 nearnesses and 12 bits around each centre."""
    x = outputs[:, coordinate]
    bits = _thinned(lowest_bits(x))
    return [
        LowBits(coordinate=coordinate, centre=centre, exponent=int(e), bit=int(b))
        for centre in centres
        for e in _thinned(exponents(x - centre))
        for b in bits
    ]


def grid_sets(outputs: Array, coordinate: int) -> list[Multiples]:
    """The grids on which these outputs may lie: that of the smallest gap between two of them, if most are on it."""
    x = np.unique(outputs[:, coordinate])
    if len(x) < 3:
        return []
    gaps = np.diff(x)
    sizes = gaps[gaps > 64 * np.spacing(np.abs(x).max())]
    if not len(sizes):
        return []
    found = Multiples(coordinate=coordinate, offset=float(x[len(x) // 2]), grid=float(sizes.min()))
    return [found] if found.contains(outputs).mean() > 0.5 else []


def value_sets(outputs: Array, others: Array, coordinate: int) -> list[Values]:
    """The numbers that these outputs hold at least twice and the others never; those of both datasets say nothing."""
    x, counts = np.unique(outputs[:, coordinate], return_counts=True)
    own = x[(counts > 1) & ~np.isin(x, others[:, coordinate])][:MOST_VALUES]
    return [Values(coordinate=coordinate, values=tuple(own.tolist()))] if len(own) else []


def _thinned(values: Integers, most: int = 12) -> Integers:
    """At most ``most`` of the distinct values, spread by how often they occur."""
    ordered = np.sort(values)
    return np.unique(ordered[np.linspace(0, len(ordered) - 1, most).astype(np.int64)])
