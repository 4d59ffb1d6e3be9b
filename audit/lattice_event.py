"""Lower bounds on a composed profile, and upper bounds on its trade-off function, from a test on the lattice.

For every event S of the outputs, delta(epsilon) >= P(S) - exp(epsilon) Q(S). Let M_i be a function of the output of the
i-th mechanism, about its loss rounded to the lattice, and S = {sum of the M_i >= t}. The laws of the sum under P and
under Q are convolutions of those of the M_i, and any t gives a bound; the best of all t is taken. Because the optimal
event is {L > epsilon}, where P - exp(epsilon) Q changes its sign, what is lost is second order in the rounding errors
M_i - L_i, whatever these are: also for atoms off the lattice, where no law on it is that close (see `lattice_pld`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dpverdict.audit.lattice_law import LatticeLaw, LatticePair, RoundedLoss, Side
from dpverdict.audit.lattice_power import ROUNDING, index_offset, tilted_power
from dpverdict.audit.lattice_window import TiltedLaws, upper_sums
from dpverdict.audit.loss_domains import Floats
from dpverdict.audit.loss_tails import TINY

_MOST = 300.0  # of the exponents of the weights: their squares are finite
_HEAVY = 1e3  # no mass under Q is more than 1, so an outcome that is said to have more gains nothing


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Tails:
    """P[M >= j] or exp(epsilon) Q[M >= j], divided by exp(scale), for j = first, first + 1, ...

    Attributes:
        absolute, relative: bounds on the errors of every value.
    """

    first: int
    scale: float
    values: Floats
    absolute: Floats
    relative: float


@final
class LatticeEvent:
    """The test of one composition."""

    __slots__ = ("_interval", "_p", "_q", "_vertices")

    def __init__(self, pairs: Sequence[tuple[LatticePair, int]]) -> None:
        rounded = [(_rounded(pair), count) for pair, count in pairs]
        self._interval = rounded[0][0].p.interval
        self._p = TiltedLaws([(laws.p, count) for laws, count in rounded])
        self._q = TiltedLaws([(laws.q, count) for laws, count in rounded])
        self._vertices: tuple[Floats, Floats] | None = None

    def log_delta_lower(self, epsilon: Fraction) -> float:
        """A lower bound on log delta(epsilon); -inf where the ledger is larger than the value."""
        p, q = self._tails(self._p, epsilon, 0), self._tails(self._q, epsilon, 1)
        first = max(p.first, q.first)
        number = min(p.first + p.values.size, q.first + q.values.size) - first
        if number <= 0:
            return -math.inf
        inside_p, inside_q = (slice(first - t.first, first - t.first + number) for t in (p, q))
        scale = max(p.scale, q.scale)
        least = p.values[inside_p] * (1 - p.relative) - p.absolute[inside_p]
        most = q.values[inside_q] * (1 + q.relative) + q.absolute[inside_q]
        gain, cost = math.exp(p.scale - scale) * least, math.exp(q.scale - scale) * most
        best = float((gain * (1 - 8 * ROUNDING) - cost * (1 + 8 * ROUNDING)).max())
        if not best > 0:
            return -math.inf
        logarithm = scale + math.log(best)
        return logarithm - 8 * ROUNDING * (1 + abs(logarithm) + abs(scale))

    def vertices(self) -> tuple[Floats, Floats]:
        """Levels alpha, increasing, and bounds above beta there; so are the chords between them, by a coin."""
        if self._vertices is None:
            p = tilted_power(self._p.parts, self._p.steering, 0.0)
            q = tilted_power(self._q.parts, self._q.steering, 0.0)
            first, last = min(p.first, q.first), max(p.first + p.masses.size, q.first + q.masses.size)
            p_above, p_error = upper_sums(p, first, last)
            q_above, q_error = upper_sums(q, first, last)
            alphas = np.maximum.accumulate(q_above[::-1]) + q_error + 4 * ROUNDING
            betas = np.minimum.accumulate(1.0 - p_above[::-1]) + p_error + 4 * ROUNDING
            betas[0] = max(betas[0], 1.0)
            self._vertices = alphas, betas
        return self._vertices

    def _tails(self, laws: TiltedLaws, epsilon: Fraction, power: int) -> _Tails:
        """The tails, times exp(power epsilon)."""
        law = laws.near(epsilon)
        interval, point = float(self._interval), float(epsilon)
        offset = index_offset(law.first, self._interval, epsilon)
        y = offset + interval * np.arange(law.masses.size)
        theta = law.step / interval
        # At the lower ends the weights grow, and with them the errors of the masses: further down there is nothing.
        start = int(np.searchsorted(theta * y, -_MOST)) if theta > 0 else 0
        y = y[start:]
        with np.errstate(under="ignore"):
            kernel = np.exp(-theta * y)
            terms = kernel * law.masses[start:]
            values, sizes = (np.cumsum(x[::-1])[::-1] for x in (terms, np.abs(terms)))
            norms = np.sqrt(np.cumsum((kernel * kernel)[::-1])[::-1])
        absolute = law.transform_error * norms * 1.01 + law.outside * kernel * 1.01
        absolute += sizes * ROUNDING * (kernel.size + 64)
        reach = abs(offset) + interval * law.masses.size
        exponent = (theta - power) * point
        relative = law.relative_error + 4 * ROUNDING * (8 + abs(law.log_moment) + (theta + power) * abs(point))
        relative += 40 * ROUNDING * theta * reach
        return _Tails(
            first=law.first + start,
            scale=law.log_moment - exponent,
            values=values,
            absolute=absolute,
            relative=1.1 * relative,
        )


def _rounded(pair: LatticePair) -> RoundedLoss:
    """The rounded loss of a pair; of a pair without one, the optimistic law itself."""
    if pair.rounded is not None:
        return pair.rounded
    law = pair.optimistic
    with np.errstate(under="ignore", over="ignore"):
        q = law.masses * np.exp(-law.losses) * (1 + 8 * ROUNDING * (2 + np.abs(law.losses))) + TINY
    tested = (law.masses > 0) & (q < _HEAVY)  # an outcome may also be left out of the event
    return RoundedLoss(
        p=_with_masses(law, np.where(tested, law.masses, 0.0), Side.OPTIMISTIC),
        q=_with_masses(law, np.where(tested, q, 0.0), Side.PESSIMISTIC),
    )


def _with_masses(law: LatticeLaw, masses: Floats, side: Side) -> LatticeLaw:
    return LatticeLaw(interval=law.interval, lowest=law.lowest, masses=masses, infinity_mass=0.0, side=side)
