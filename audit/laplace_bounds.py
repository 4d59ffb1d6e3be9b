"""Two-sided bounds on the profile of any Laplace vector, from a lattice of losses.

In the symmetric form, with L the sum of the losses L_i of the coordinates, tilted by exp(-L/2),

    delta(epsilon) = exp(epsilon/2) E~[f(L)],      f(y) = 2 sinh((y - epsilon)/2) for y > epsilon, 0 below,

where the tilted law of a coordinate with shift s is exp(-s/2)/2 times: mass 1 at s and at -s, and density 1/2 between
them. Each L_i is moved to one of its two neighbours M_i on the lattice of step h, at random with mean L_i; M is the sum
of the M_i. As f is convex, with f'(M) a slope of it at M,

    E~[f(M)] - sum over i of E~[f'(M) (M_i - L_i)]  <=  E~[f(L)]  <=  E~[f(M)].

Both sides are finite sums, because M_i - L_i enters by its mean over each lattice point only; they differ by O(h^2).
The lattice points are the exponents of polynomials of balls, so that everything is enclosed.

"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from flint import arb, arb_poly, fmpq

from dpverdict.audit.laplace_terms import Groups
from dpverdict.balls import ball, precision

POINTS = 1 << 15
"""The number of lattice steps between -total and total."""

_BITS = 192


@final
@dataclass(frozen=True, slots=True)
class _Law:
    """The law of a sum of moved losses, and of its displacement: coefficient k belongs to the point (k - middle) h."""

    middle: int
    mass: arb_poly
    displacement: arb_poly

    def times(self, other: _Law) -> _Law:
        """The law of the sum of two independent losses."""
        displacement = self.mass * other.displacement + self.displacement * other.mass
        return _Law(self.middle + other.middle, self.mass * other.mass, displacement)

    def power(self, count: int) -> _Law:
        """The law of the sum of ``count`` independent losses."""
        if count == 1:
            return self
        half = self.power(count // 2)
        square = half.times(half)
        return square.times(self) if count % 2 else square


@final
class LaplaceBounds:
    """The lattice for one vector of shifts; its laws are computed once and serve every epsilon."""

    __slots__ = ("_groups", "_law", "_m", "_step", "_total")

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._m = sum(count for _, count in groups)
        self._total = sum((shift * count for shift, count in groups), Fraction(0))
        self._step = 2 * self._total / POINTS
        self._law: _Law | None = None

    def delta(self, epsilon: Fraction) -> arb:
        """A ball that holds both bounds at 0 <= epsilon < total, and so the profile."""
        with precision(_BITS):
            if self._law is None:
                self._law = _product([_moved(shift, self._step).power(count) for shift, count in self._groups])
            law = self._law
            above = int(epsilon / self._step) + 1  # the first lattice point above epsilon is above * step
            offset = ball((above * self._step - epsilon) / 2)
            mass = arb_poly(law.mass.coeffs()[above + law.middle :])
            displacement = arb_poly(law.displacement.coeffs()[above + law.middle :])
            growth = (ball(self._step) / 2).exp()
            factor = ball((epsilon - self._total) / 2).exp() * arb(0.5) ** self._m
            up, down = offset.exp() * factor, (-offset).exp() * factor
            upper = up * mass(growth) - down * mass(1 / growth)
            slope = (up * displacement(growth) + down * displacement(1 / growth)) / 2
            lower = upper - slope
            if not (lower.is_finite() and upper.is_finite()):
                return arb(0).union(arb(1))
            return lower.max(arb(0)).union(upper.min(arb(1)))


def _moved(shift: Fraction, step: Fraction) -> _Law:
    """The moved loss of one coordinate, without the factor exp(-s/2)/2.

    The atom lies at (whole + part) h. A density d on the first ``part`` of a cell gives d h (part - part^2/2) to its
    left end and d h part^2/2 to its right end, and moves the mean of what they get by -+ d h^2 (part^2/2 - part^3/3).
    """
    whole = int(shift / step)
    part = shift / step - whole
    middle = whole + 1
    mass, displacement = [Fraction(0)] * (2 * middle + 1), [Fraction(0)] * (2 * middle + 1)
    density = step / 2  # of one cell, over its two ends
    for k in range(1 - whole, whole):
        mass[middle + k] = density
    for side in (1, -1):
        near, far = middle + side * whole, middle + side * (whole + 1)
        mass[near] += 1 - part + density * (part - part**2 / 2)
        mass[far] += part + density * part**2 / 2
        pull = part * (1 - part) * step + density * step * (part**2 / 2 - part**3 / 3)
        displacement[near] -= side * pull
        displacement[far] += side * pull
        if whole:  # the last whole cell
            mass[near] += density / 2
            displacement[near] += side * density * step / 6
    return _Law(middle, _balls(mass), _balls(displacement))


def _balls(values: list[Fraction]) -> arb_poly:
    return arb_poly([arb(fmpq(value.numerator, value.denominator)) for value in values])


def _product(laws: list[_Law]) -> _Law:
    """The law of the sum, by halves so that the factors are of about equal length."""
    if len(laws) == 1:
        return laws[0]
    middle = len(laws) // 2
    return _product(laws[:middle]).times(_product(laws[middle:]))
