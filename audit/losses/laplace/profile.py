"""Profile and tails of a Laplace loss at every epsilon, by whichever route serves.

Two routes reach any accuracy: the exact finite sum (`dpverdict.audit.losses.laplace.exact_sum`), and a contour integral
where the atoms are light (`dpverdict.audit.losses.laplace.contour`). Where neither serves, the profile of any vector
has two-sided bounds from a lattice of losses (`LaplaceBounds`), as follows.

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

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import final

from flint import arb, arb_poly, fmpq

from dpverdict.audit.losses.domains import PROBABILITY, PROFILE
from dpverdict.audit.losses.laplace.contour import LaplaceContour
from dpverdict.audit.losses.laplace.exact_sum import LaplaceSum
from dpverdict.audit.losses.laplace.terms import Groups, Kernel, near
from dpverdict.balls import MAX_BITS, ball, doublings, precision
from dpverdict.errors import PrecisionExhausted

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
                self._law = _product([_moved_law(shift, self._step).power(count) for shift, count in self._groups])
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
            return PROFILE.ball(lower, upper)


def _moved_law(shift: Fraction, step: Fraction) -> _Law:
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
        inner, outer = middle + side * whole, middle + side * (whole + 1)
        mass[inner] += 1 - part + density * (part - part**2 / 2)
        mass[outer] += part + density * part**2 / 2
        pull = part * (1 - part) * step + density * step * (part**2 / 2 - part**3 / 3)
        displacement[inner] -= side * pull
        displacement[outer] += side * pull
        if whole:  # the last whole cell
            mass[inner] += density / 2
            displacement[inner] += side * density * step / 6
    return _Law(middle, _balls(mass), _balls(displacement))


def _balls(values: list[Fraction]) -> arb_poly:
    return arb_poly([arb(fmpq(value.numerator, value.denominator)) for value in values])


def _product(laws: list[_Law]) -> _Law:
    """The law of the sum, by halves so that the factors are of about equal length."""
    if len(laws) == 1:
        return laws[0]
    middle = len(laws) // 2
    return _product(laws[:middle]).times(_product(laws[middle:]))


_GUARD = 8
_MOST_ATOMS = 64
_LIGHT = -38.0  # the logarithm of the probability that no coordinate is interior, from which contours are tried


@final
class LaplaceRoute(Enum):
    """How the profile at one epsilon was computed, and what that promises of the width of its enclosure."""

    CLOSED_FORM = "closed form, to full accuracy"
    CHERNOFF = "1, but for less than the accuracy wanted"
    EXACT_SUM = "exact finite sum, to full accuracy"
    CONTOUR = "contour integral, to full accuracy"
    LATTICE = "two-sided bounds from a lattice of losses: certain, but wider than float64"


@final
class LaplaceProfile:
    """The curves delta(epsilon) and Q[L > epsilon] of one vector of shifts, as `dpverdict.audit.losses.curves.Curve`.

    Both extend to epsilon < 0 by the symmetry of the pair, the law of L under P being that of -L under Q:

        delta(-epsilon) = 1 - exp(-epsilon) + exp(-epsilon) delta(epsilon),    Q[L > -epsilon] = 1 - P[L >= epsilon].
    """

    __slots__ = ("_atoms_are_light", "_bounds", "_contour", "_groups", "_m", "_sum", "total")
    total: Fraction

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._m = sum(count for _, count in groups)
        self.total = sum((shift * count for shift, count in groups), Fraction(0))
        self._sum = LaplaceSum(groups)
        self._contour = LaplaceContour(groups)
        self._bounds = LaplaceBounds(groups)
        log_atoms = sum(count * math.log((1 + math.exp(-near(shift))) / 2) for shift, count in groups)
        self._atoms_are_light = log_atoms < _LIGHT

    # to any accuracy --------------------------------------------------------------------------------------------------

    def delta(self, epsilon: Fraction, bits: int) -> arb:
        """The profile at any epsilon.

        Raises:
            PrecisionExhausted: no route reaches the accuracy.
        """
        if epsilon >= self.total:
            return arb(0)
        if epsilon < 0:
            return refined(lambda working: self._reflected(epsilon, working), bits)
        return self._positive(epsilon, bits)[0]

    def complement(self, epsilon: Fraction, bits: int) -> arb:
        """1 - delta(epsilon) at any epsilon, small where the profile is close to 1."""
        if epsilon >= self.total:
            return arb(1)
        if epsilon < 0:
            return refined(lambda working: ball(epsilon).exp() * self.complement(-epsilon, working), bits)
        if self._atoms_are_light and self._contour.saddle(epsilon).log_tail >= math.log(0.5):
            value = self._contour.complement(epsilon, bits)
            if value is not None:
                return value
        if self._m == 1:
            return refined(lambda _: ball((epsilon - self.total) / 2).exp(), bits)
        return refined(lambda working: 1 - self._positive(epsilon, working)[0], bits)

    def q_above(self, epsilon: Fraction, bits: int) -> arb:
        """Q[L > epsilon] at any epsilon."""
        if epsilon >= self.total:
            return arb(0)
        if epsilon < -self.total:
            return arb(1)
        if epsilon < 0:
            return refined(lambda working: 1 - self.p_from(-epsilon, working), bits)
        return refined(lambda working: (-ball(epsilon)).exp() * self._tail(Kernel.Q_TAIL, epsilon, working), bits)

    def p_above(self, epsilon: Fraction, bits: int) -> arb:
        """P[L > epsilon] at any epsilon."""
        if epsilon < 0:
            return (
                arb(1) if epsilon < -self.total else refined(lambda working: 1 - self.q_from(-epsilon, working), bits)
            )
        return arb(0) if epsilon >= self.total else self._tail(Kernel.P_TAIL, epsilon, bits)

    def p_from(self, epsilon: Fraction, bits: int) -> arb:
        """P[L >= epsilon] at epsilon >= 0."""
        if epsilon > self.total:
            return arb(0)
        return refined(lambda working: self.p_above(epsilon, working) + self._atom(epsilon), bits)

    def q_from(self, epsilon: Fraction, bits: int) -> arb:
        """Q[L >= epsilon] at epsilon >= 0."""
        if epsilon > self.total:
            return arb(0)

        def both(working: int) -> arb:
            return self.q_above(epsilon, working) + self._atom(epsilon) * (-ball(epsilon)).exp()

        return refined(both, bits)

    def p_to(self, epsilon: Fraction, bits: int) -> arb:
        """P[L <= epsilon] at epsilon >= 0."""
        scaled = self._by_secants(epsilon, bits + _GUARD) if epsilon < self.total else None
        if scaled is not None:
            with precision(bits + 32):
                value = self.complement(epsilon, bits + _GUARD) - scaled
            if value.rel_accuracy_bits() >= bits:
                return value
        return refined(lambda working: 1 - self.p_above(epsilon, working), bits)

    def p_before(self, epsilon: Fraction, bits: int) -> arb:
        """P[L < epsilon] at epsilon >= 0."""
        return refined(lambda working: 1 - self.p_from(epsilon, working), bits)

    # atoms ------------------------------------------------------------------------------------------------------------

    def is_atom(self, epsilon: Fraction) -> bool:
        """Whether the loss takes the value epsilon >= 0 with positive probability."""
        return epsilon <= self.total and self._sum.has_atom((self.total - epsilon) / 2)

    @property
    def is_smooth(self) -> bool:
        """Whether the curves are analytic to float64 between `atoms`: these are all, or the others weigh nothing."""
        return self._atoms_are_light or bool(self._sum.offsets(_MOST_ATOMS))

    def atoms(self) -> list[float]:
        """The atoms >= 0 in increasing order, to float64; only the largest if there are many, and each is weak."""
        offsets = self._sum.offsets(_MOST_ATOMS) or [Fraction(0)]
        return [float(self.total - 2 * offset) for offset in reversed(offsets)]

    # at some accuracy -------------------------------------------------------------------------------------------------

    def enclosed_delta(self, epsilon: Fraction, bits: int) -> tuple[arb, LaplaceRoute]:
        """The profile at any epsilon to ``bits`` bits, or else between two bounds; with the route taken."""
        size = abs(epsilon)
        if size >= self.total:
            return self.delta(epsilon, bits), LaplaceRoute.CLOSED_FORM
        try:
            value, route = self._positive(size, bits)
        except PrecisionExhausted:
            value, route = self._bounds.delta(size), LaplaceRoute.LATTICE
        if epsilon >= 0:
            return value, route
        if route is not LaplaceRoute.LATTICE:
            return self.delta(epsilon, bits), route
        with precision(bits + 32):
            return -ball(epsilon).expm1() + ball(epsilon).exp() * value, route

    # routes -----------------------------------------------------------------------------------------------------------

    def _positive(self, epsilon: Fraction, bits: int) -> tuple[arb, LaplaceRoute]:
        """The profile at 0 <= epsilon < total."""
        if self._m == 1:
            return refined(lambda working: -ball((epsilon - self.total) / 2).expm1(), bits), LaplaceRoute.CLOSED_FORM
        if self._contour.saddle(epsilon).log_tail > math.log(0.5):
            rest = self._contour.complement_upper(epsilon)
            with precision(bits + 24):
                if rest < arb(2) ** -(bits + 2):
                    return 1 - arb(0).union(rest), LaplaceRoute.CHERNOFF
        value = self._by_contour(epsilon, bits)
        if value is not None:
            return value, LaplaceRoute.CONTOUR
        return self._sum.tail(Kernel.DELTA, epsilon, bits), LaplaceRoute.EXACT_SUM

    def _by_contour(self, epsilon: Fraction, bits: int) -> arb | None:
        """The profile at 0 <= epsilon < total by contours; None where these do not serve."""
        if not self._atoms_are_light:
            return None
        if self._contour.saddle(epsilon).log_tail < math.log(0.5):
            return self._contour.delta(epsilon, bits)
        rest = self._contour.complement(epsilon, bits)
        return None if rest is None else refined(lambda _: 1 - rest, bits)

    def _tail(self, kernel: Kernel, epsilon: Fraction, bits: int) -> arb:
        """The tail at 0 <= epsilon < total."""
        scaled = self._by_secants(epsilon, bits + _GUARD)
        if scaled is None:
            return self._sum.tail(kernel, epsilon, bits)
        if kernel is Kernel.Q_TAIL:
            return scaled
        with precision(bits + 32):
            return self._positive(epsilon, bits + _GUARD)[0] + scaled

    def _by_secants(self, epsilon: Fraction, bits: int) -> arb | None:
        """exp(epsilon) Q[L > epsilon] from the profile by contours; None where these do not serve.

        The profile is a convex function of exp(epsilon) whose slopes are -Q[L > epsilon] on the right and
        -Q[L >= epsilon] on the left; so both lie between the slopes of two short secants.
        """
        if not self._atoms_are_light:
            return None
        saddle = self._contour.saddle(epsilon)
        scale = 16 + 2 * math.ceil(math.log2(2 + saddle.t))
        step = Fraction(1, 1 << (bits + scale))
        points = (epsilon - step, epsilon, epsilon + step)
        if points[2] >= self.total:
            return None
        accuracy = 2 * (bits + scale)
        # The smaller of the profile and its complement has the sharper differences.
        rises = saddle.log_tail > math.log(0.5)
        curve = self._contour.complement if rises else self._contour.delta
        values = [curve(abs(point), accuracy) for point in points]
        with precision(accuracy + 32):
            left, middle, right = values
            if left is None or middle is None or right is None:
                return None
            if points[0] < 0:
                left = ball(points[0]).exp() * left - (0 if rises else ball(points[0]).expm1())
            sign = -1 if rises else 1
            upper = sign * (left - middle) / -(-ball(step)).expm1()
            lower = sign * (middle - right) / ball(step).expm1()
            value = PROBABILITY.ball(lower, upper)
        return value if value.rel_accuracy_bits() >= bits else None

    def _atom(self, epsilon: Fraction) -> arb:
        """P[L = epsilon] at 0 <= epsilon <= total, at the current precision."""
        gap = self.total - epsilon
        return self._sum.weight(gap / 2) * arb(0.5) ** self._m * (-ball(gap / 2)).exp()

    def _reflected(self, epsilon: Fraction, bits: int) -> arb:
        """The profile at epsilon < 0, from that at -epsilon."""
        return -ball(epsilon).expm1() + ball(epsilon).exp() * self.delta(-epsilon, bits)


def refined(evaluate: Callable[[int], arb], bits: int) -> arb:
    """``evaluate(working)``, at growing working precision, until it is accurate to ``bits`` bits, or exact."""
    for working in doublings(bits + _GUARD, MAX_BITS):
        with precision(working + 24):
            value = evaluate(working)
        if value.is_exact() or value.rel_accuracy_bits() >= bits:
            return value
    raise PrecisionExhausted("a tail of the Laplace loss", MAX_BITS, "the parameters are too extreme")
