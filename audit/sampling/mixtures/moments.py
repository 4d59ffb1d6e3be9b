"""The moments E_P[(dP/dQ)^t] of two mixtures of normal laws on a line, in balls with every error bounded.

Let phi be the standard normal density, and

    dP/dz = phi(z) A(z),   A(z) = sum over i of p_i exp(a_i z - a_i^2/2),   all a_i in [0, a],
    dQ/dz = phi(z) B(z),   B(z) = sum over j of r_j exp(-b_j z - b_j^2/2),  all b_j in [0, b].

Then M(t) = E_P[exp(t L)] = integral of phi A^(1+t) B^-t. For real x and 0 <= y the terms of A(x + i y) lie in the
sector of angles [0, a y], those of B(x + i y) in [-b y, 0]. So, while a y and b y are below pi,

    |A(x + i y)| <= A(x),     |B(x + i y)| >= cos(b y/2) B(x),     arg A(x + i y) >= 0 >= arg B(x + i y),

and |A^(i v) B^(-i v)| <= 1 there for every v >= 0. Write t = c + i v, c >= 0.

* Rule. The trapezoidal rule of step k on the line Im z = h, in the strip 0 <= Im z <= 2 h, errs by at most
  2 C s/(1 - s), s = exp(-2 pi h/k), C = exp(2 h^2) cos(b h)^-c M(c). For real t the line is Im z = 0, the strip
  |Im z| <= h, and C = exp(h^2/2) cos(b h/2)^-c M(c).
* Ends. With D = (1 + c) a + c b the function A^(1+c) B^-c does not fall, and grows by at most exp(D u) on a length u:
  beyond Z > D the sum and the integral are at most phi(Z) (A^(1+c) B^-c)(Z) (k + 1/(Z - D)), below -Z at most
  phi(Z) (A^(1+c) B^-c)(-Z) (k + 1/Z); on a shifted line exp(h^2/2) cos(b h/2)^-c times that.
* Cut. |M(c + i v)| for all v >= V is at most the integral of |phi A^(1+c) B^-c| exp(-V (arg A - arg B)) over a line
  Im z = g. That is the integral of one positive function, analytic in a strip |Im z| <= h around it: the modulus is the
  product of the function at z + i g and its conjugate, each to the power 1/2. While (g + h) max(a, b) <= pi/2 the
  angles grow with Im z, so that in the strip it is at most exp((g^2 + h^2)/2) cos(b (g + h)/2)^-c times
  phi A^(1+c) B^-c.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, TypeAlias, final

import numpy as np
from flint import acb, arb, ctx

from dpverdict.audit.sampling.moments import sums_of_exponentials
from dpverdict.balls import ball, precision
from dpverdict.numerics.arrays import Array

Component: TypeAlias = tuple[Fraction, Fraction]
"""A weight, and the size of a shift in standard deviations."""

_BOUND_BITS: Final = 96
_LARGEST_GROWTH: Final = 90.0  # D of the module
_REACH: Final = 40.0
_SHIFTS: Final = 16
_WIDEST: Final = 3.0
_ANGLE: Final = 1.5  # of a line, below pi/2
_LOG2: Final = math.log(2)


@final
class MixtureMoments:
    """M(t) of two mixtures, as `dpverdict.audit.losses.domains.PartMoments`; see the module for the symbols.

    Args:
        first: the p_i with the a_i.
        second: the r_j with the b_j.
    """

    __slots__ = ("_first", "_kept", "_log_first", "_log_second", "_second", "_weights", "_z", "largest")
    largest: float

    def __init__(self, first: Sequence[Component], second: Sequence[Component]) -> None:
        self._first, self._second = tuple(first), tuple(second)
        self.largest = max(_LARGEST_GROWTH - self._a, 1.0) / (self._a + self._b)
        self._kept: dict[float, tuple[Any, Any]] = {}
        step = min(0.15, 0.5 / (self._a + self._b))
        self._z = np.arange(-_REACH, _REACH + _LARGEST_GROWTH, step)
        self._weights = -(self._z**2) / 2 + math.log(step / math.sqrt(2 * math.pi))
        self._log_first, self._log_second = log_mixture(self._first, self._z), log_mixture(self._second, -self._z)

    @property
    def _a(self) -> float:
        return float(max(shift for _, shift in self._first))

    @property
    def _b(self) -> float:
        return float(max(shift for _, shift in self._second))

    # float64, which only steers ---------------------------------------------------------------------------------------

    def _heights(self, centre: float) -> Array:
        found: Array = self._weights + (1 + centre) * self._log_first - centre * self._log_second
        return found

    def estimates(self, points: Array) -> Array:
        """log M at t > 0, about."""
        return np.array([np.logaddexp.reduce(self._heights(t)) for t in points.tolist()])

    def log_beyond(self, centre: float, heights: Array) -> Array:
        """About log of ``beyond``/M(c), at heights of shape (n,)."""
        own = float(np.logaddexp.reduce(self._heights(centre)))
        found = np.stack([self._log_shifted(centre, shift, heights) for shift in self._lines()]).min(axis=0)
        beyond: Array = np.minimum(found - own, 0.0)
        return beyond

    def _lines(self) -> list[float]:
        found: list[float] = np.geomspace(0.004, 0.9 * _ANGLE / max(self._a, self._b), _SHIFTS).tolist()
        return found

    def _log_shifted(self, centre: float, shift: float, heights: Array) -> Array:
        first, second = self._along(shift)
        base = self._weights + shift**2 / 2 + (1 + centre) * first.real - centre * second.real
        keep = base > base.max() - 200
        table = base[keep] - heights[:, None] * (first.imag - second.imag)[keep]
        top = table.max(axis=1)
        found: Array = top + np.log(np.exp(table - top[:, None]).sum(axis=1))
        return found

    def _along(self, shift: float) -> tuple[Any, Any]:
        """The logarithms of both mixtures on a shifted line, which are kept: they do not depend on the order."""
        if shift not in self._kept:
            z = self._z + 1j * shift
            self._kept[shift] = log_mixture(self._first, z), log_mixture(self._second, -z)
        return self._kept[shift]

    def terms(self, centre: float, height: float, number: int, bits: float) -> float:
        """Nodes times the points of the rule."""
        return number * 24 * max(bits, 60.0) * _LOG2 / (2 * math.pi * self._widest)

    @property
    def _widest(self) -> float:
        return min(_ANGLE / max(self._a, self._b), _WIDEST)

    # balls ------------------------------------------------------------------------------------------------------------

    def _logs(self, z: Any) -> tuple[Any, Any]:
        """log A(z) and log B(z)."""
        return _log_mixture_ball(self._first, z), _log_mixture_ball(self._second, -z)

    def _slack(self, centre: arb, growth: arb, angle: arb) -> arb:
        """exp(growth) cos(angle/2)^-c."""
        return (growth - centre * (angle / 2).cos().log()).exp()

    def _rule(self, centre: arb, bits: float, lines: Array, worst: Array) -> tuple[float, float]:
        """The half-width h of a strip among some, and the step that makes the alias 2^-bits of M(c).

        ``worst`` is the logarithm of what the alias is more than that by.
        """
        rates = (bits * _LOG2 + worst + 2) / lines
        best = int(rates.argmin())
        return float(lines[best]), 2 * math.pi / float(rates[best])

    def _ends(self, centre: arb, spacing: float, bits: float) -> tuple[list[arb], arb]:
        """The points of a rule, and a bound on what it leaves out of phi A^(1+c) B^-c."""
        c = float(centre)
        heights = self._heights(c)
        aim = float(np.logaddexp.reduce(heights)) - bits * _LOG2 - 8
        inside = np.flatnonzero(heights > aim - 3)
        growth = (1 + c) * self._a + c * self._b
        low = math.ceil(max(-float(self._z[inside[0]]), 1.0) / spacing)
        high = math.ceil(max(float(self._z[inside[-1]]), growth + 1.0) / spacing)
        k = arb(spacing)
        points = [k * j for j in range(-low, high + 1)]
        rest = arb(0)
        steepest = (1 + centre) * self._largest(self._first) + centre * self._largest(self._second)
        for z, gap in ((points[0], -points[0]), (points[-1], points[-1] - steepest)):
            first, second = self._logs(z)
            size = (-z * z / 2 + (1 + centre) * first - centre * second).exp() / (2 * arb.pi()).sqrt()
            rest += size * (k + 1 / gap)
            if not gap > 0:
                return points, arb("inf")
        return points, rest.upper()

    @staticmethod
    def _largest(components: Sequence[Component]) -> arb:
        return ball(max(shift for _, shift in components))

    def at(self, t: arb) -> arb:
        """M(t) at a real t >= 0."""
        if t.is_zero():
            return arb(1)
        bits, c = _BOUND_BITS - 24, float(t)
        lines = np.linspace(0.05, 1.0, 20) * self._widest
        worst = lines**2 / 2 - c * np.log(np.cos(lines * self._b / 2))
        h, spacing = self._rule(t, bits, lines, worst)
        with precision(_BOUND_BITS):
            points, rest = self._ends(t, spacing, bits)
            total = rest * arb(0, 1)
            for z in points:
                first, second = self._logs(z)
                total += ((1 + t) * first - t * second - z * z / 2).exp() * arb(spacing) / (2 * arb.pi()).sqrt()
            width = arb(h)
            alias = _alias(self._slack(t, width**2 / 2, width * self._largest(self._second)), width, spacing)
            return total / (1 + alias * arb(0, 1))

    def on_line(self, centre: float, step: float, number: int) -> list[acb]:
        """M(centre + i step (k + 1/2)) for k < number, at the current precision."""
        bits, c = ctx.prec - 12, arb(centre)
        lines = np.linspace(0.05, 1.0, 20) * self._widest
        worst = 2 * lines**2 - centre * np.log(np.cos(lines * self._b))
        h, spacing = self._rule(c, bits, lines, worst)
        width, angle = arb(h), arb(h) * self._largest(self._second)
        points, rest = self._ends(c, spacing, bits + (h * h / 2) / _LOG2 + 2)
        losses, weights = [], []
        for z in points:
            first, second = self._logs(acb(z, width))
            losses.append(first - second)
            log_weight = acb(width**2 - z * z, -2 * z * width) / 2 + (1 + c) * first - c * second
            weights.append(log_weight.exp() * arb(spacing) / (2 * arb.pi()).sqrt())
        error = _alias(self._slack(c, 2 * width**2, 2 * angle), width, spacing) * self.at(c)
        error += rest * self._slack(c, width**2 / 2, angle)
        box = acb(error.upper() * arb(0, 1), error.upper() * arb(0, 1))
        return [value + box for value in sums_of_exponentials(losses, weights, step, number)]

    def beyond(self, centre: arb, height: arb) -> arb:
        """An upper bound on |M(centre + i w)| for all w >= height."""
        c, tops = float(centre), np.array([float(height)])
        found = [float(self._log_shifted(c, shift, tops)[0]) for shift in self._lines()]
        g = self._lines()[int(np.argmin(found))]
        fall = max(float(np.logaddexp.reduce(self._heights(c))) - min(found), 0.0)
        bits = 40 + fall / _LOG2
        widest = math.pi / 2 / max(self._a, self._b) * (1 - 1e-9) - g
        lines = np.linspace(0.05, 1.0, 20) * widest
        worst = lines**2 / 2 + g * g / 2 - c * np.log(np.cos((lines + g) * self._b / 2))
        h, spacing = self._rule(centre, bits, lines, worst)
        with precision(_BOUND_BITS):
            own, line, width = self.at(centre), arb(g), arb(h)
            angle = (line + width) * self._largest(self._second)
            assert (line + width) * self._largest(self._first).max(self._largest(self._second)) <= arb.pi() / 2
            points, rest = self._ends(centre, spacing, bits)
            total = arb(0)
            for z in points:
                first, second = self._logs(acb(z, line))
                modulus = (1 + centre) * first.real - centre * second.real + (line**2 - z * z) / 2
                total += (modulus - height * (first.imag - second.imag)).exp() * arb(spacing) / (2 * arb.pi()).sqrt()
            slack = self._slack(centre, (line**2 + width**2) / 2, angle)
            total += _alias(slack, width, spacing) * own + rest * slack
            return total.upper().min(own.upper())


def _alias(slack: arb, width: arb, spacing: float) -> arb:
    """2 C s/(1 - s) over M(c)."""
    exponent = -2 * arb.pi() * width / arb(spacing)
    return (2 * slack * exponent.exp() / -exponent.expm1()).upper()


def log_mixture(components: Sequence[Component], z: Any) -> Any:
    """log of the sum of w exp(m z - m^2/2), in float64: at z of shape (n,), real or complex."""
    table: Any = np.stack([_log(w) + float(m) * z - float(m) ** 2 / 2 for w, m in components])
    top = table.real.max(axis=0)
    return top + np.log(np.exp(table - top).sum(axis=0))


def _log(weight: Fraction) -> float:
    """Of weights that are 0 in float64 as well."""
    return math.log(weight.numerator) - math.log(weight.denominator)


def _log_mixture_ball(components: Sequence[Component], z: Any) -> Any:
    """log of the sum of w exp(m z - m^2/2): the sum less 1 is added up, which is small where one weight is near 1."""
    if len(components) == 1:
        m = ball(components[0][1])
        return m * z - m * m / 2
    total = z * 0
    for w, shift in components:
        if shift:
            m = ball(shift)
            total += ball(w) * (m * z - m * m / 2).expm1()
    return total.log1p()
