"""Sums over the lattice of a loss as contour sums: exact up to an aliasing error that is bounded and added to the ball.

With M(z) = E exp(zV), coefficients c_i in [0, 1] and C(z) = sum over i >= 0 of c_i exp(-i z), for any tilt > 0 and N

    sum over i >= 0 of c_i P[V = k + i] = (1/N) sum over j < N of M(z_j) exp(-k z_j) C(z_j) - aliases,

with z_j = tilt + 2 pi i j/N. (The coefficients of an absolutely convergent Fourier series.) The aliases are sums of the
same kind for k + m N with the factor exp(tilt m N), m != 0: for m < 0 each is at most exp(tilt m N), for m > 0 at most
M(t) exp(-t k - (t - tilt) m N) for every t > tilt. Nodes at which |M| is certainly negligible are not computed; their
bound is added to the ball:

    |E exp(zX)| <= exp(v (Re z)^2/2) A(phi),    A(phi) <= 1,
    A(phi) <= exp(-v phi^2/2) (1 + 2 exp(-2 pi v (pi - phi))/(1 - exp(-4 pi^2 v)))

where phi is the distance of Im z from the multiples of 2 pi.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from flint import acb, arb

from dpverdict.audit.lattice_gaussian import DiscreteGaussians
from dpverdict.balls import ball, precision
from dpverdict.errors import InvalidValue

MOST_NODES = 200_000
"""The largest number of nodes and of bounds computed for one contour."""

_FEW = 8


@final
@dataclass(frozen=True, slots=True)
class Contour:
    """The moments of V on one contour, which serve every lattice sum with a saddle point near the tilt.

    Attributes:
        tilt: an exact dyadic number > 0.
        size: the number N of nodes, even.
        bits: the working precision.
        nodes: (j, weight, M(z_j)) for the nodes computed, 0 <= j <= N/2; the weight counts N - j with j.
        omitted: an upper bound on the sum of |M|/N over the nodes omitted.
    """

    law: DiscreteGaussians
    tilt: arb
    size: int
    bits: int
    nodes: tuple[tuple[int, int, acb], ...]
    omitted: arb

    def sum(self, first: int, coefficients: Callable[[acb], acb], further: arb) -> arb:
        """Encloses the sum over i >= 0 of c_i P[V = first + i]; ``coefficients`` is C(z), ``further`` a t > tilt."""
        with precision(self.bits):
            total = arb(0)
            pi = arb.pi()
            for j, weight, moment in self.nodes:
                angle = 2 * pi * j / self.size
                z = acb(self.tilt, angle)
                turned = (-first * j) % self.size  # exp(-first z) with the whole turns taken out
                phase = acb(0, 2 * pi * turned / self.size).exp()
                total += weight * (moment * phase * coefficients(z)).real
            scale = (-first * self.tilt).exp()
            below = (-self.tilt * self.size).exp()
            above = (-(further - self.tilt) * self.size).exp()
            aliases = below / (1 - below)
            aliases += self.law.moment(further, Fraction(0)).real * (-first * further).exp() * above / (1 - above)
            error = (aliases + scale * self.omitted * coefficients(acb(self.tilt)).real).upper()
            return total * scale / self.size + error.union(-error)


def make_contour(law: DiscreteGaussians, tilt: float, size: int, bits: int) -> Contour:
    """The contour with N = ``size`` (even) nodes at the tilt, at a working precision of ``bits``.

    Raises:
        InvalidValue: the lattice is so fine that the contour has too many nodes that are not negligible.
    """
    with precision(bits):
        exact_tilt = arb(tilt)
        peak = (ball(law.variance) * exact_tilt**2 / 2).exp()
    kept, omitted = _select(law, size, bits)
    nodes = []
    with precision(bits):
        for j in kept:
            weight = 1 if j in (0, size // 2) else 2
            nodes.append((j, weight, law.moment(exact_tilt, Fraction(j, size))))
        return Contour(law, exact_tilt, size, bits, tuple(nodes), (omitted * peak).upper())


def _select(law: DiscreteGaussians, size: int, bits: int) -> tuple[list[int], arb]:
    """The nodes to compute, 0 <= j <= N/2, and a bound on the sum of A/N over all the others."""
    kept: list[int] = []
    omitted, negligible = arb(0), arb(2) ** -bits
    ranges, looked = [(0, size // 2)], 0
    with precision(64):
        while ranges:
            low, high = ranges.pop()
            looked += 1
            if looked + len(kept) > MOST_NODES:
                remedy = "use parameters with small denominators (rounding s costs no privacy), or a milder epsilon"
                raise InvalidValue("lattice of losses", f"step {law.step}", "coarser", remedy)
            bound = 2 * arb(high - low + 1) / size * _decay(law, size, low, high)
            if bound < negligible * (high - low + 1) / size:
                omitted += bound
            elif high - low < _FEW:
                kept.extend(range(low, high + 1))
            else:
                middle = (low + high) // 2
                ranges += [(middle + 1, high), (low, middle)]
        return kept, omitted.upper()


def _decay(law: DiscreteGaussians, size: int, low: int, high: int) -> arb:
    """An upper bound on the product of the A at the nodes low..high."""
    exponent = arb(0)
    for group, weight in zip(law.groups, law.weights, strict=True):
        first, last = Fraction(weight * low, size), Fraction(weight * high, size)
        if math.ceil(first) <= math.floor(last):
            continue  # a multiple of a whole turn lies in between: A <= 1
        distance = min(first - math.floor(first), math.ceil(last) - last)
        phi, v = 2 * arb.pi() * ball(distance), ball(group.variance)
        rest = 2 * (-2 * arb.pi() * v * (arb.pi() - phi)).exp() / (1 - (-4 * arb.pi() ** 2 * v).exp())
        single = -v * phi**2 / 2 + rest.log1p()
        if single < 0:
            exponent += group.count * single
    return exponent.exp().upper()
