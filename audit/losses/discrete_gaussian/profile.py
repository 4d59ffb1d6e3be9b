"""The profile and the tails of a product of moved discrete Gaussians, to any relative accuracy."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import final

import numpy as np
from flint import acb, arb

from dpverdict.audit.losses.discrete_gaussian.law import DiscreteContour, DiscreteGaussians, make_contour
from dpverdict.balls import ball, doublings, precision
from dpverdict.errors import PrecisionExhausted
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import as_fraction

_MAX_BITS = 1 << 15
_GUARD = 40
_MOST_STEPS = 1 << 50
_STEPS_PER_DOUBLING = 4
_KEPT = 64
_FURTHER = tuple(1.0 + 0.125 * 1.25**i for i in range(24))

Coefficients = Callable[[acb], acb]


@final
class DiscreteGaussianProfile:
    """Curves of the loss rho + h V. Every method gives at least ``bits`` accurate bits, or an exact ball.

    V is symmetric, and reflecting every coordinate at the middle of its two centres exchanges P and Q and negates L.
    """

    __slots__ = ("_contours", "law")
    law: DiscreteGaussians

    def __init__(self, law: DiscreteGaussians) -> None:
        self.law = law
        self._contours: dict[tuple[float, int, int], DiscreteContour] = {}

    def delta(self, epsilon: Fraction, bits: int) -> arb:
        """The privacy profile at any epsilon: delta(-s) = 1 - exp(-s) + exp(-s) delta(s)."""
        if epsilon < 0:
            # 0 <= delta <= 1 is enough to know where exp(epsilon) is negligible
            value = arb(0).union(arb(1)) if -epsilon > bits + 8 else self.delta(-epsilon, bits + 4)
            with precision(bits + 40):
                return -ball(epsilon).expm1() + ball(epsilon).exp() * value
        law = self.law
        first = math.floor((epsilon - law.rho) / law.step) + 1
        if first > _MOST_STEPS:
            return self._far(epsilon, bits)
        excess = law.rho + law.step * first - epsilon  # of the first loss above epsilon

        def coefficients(z: acb) -> acb:
            """The generating function of 1 - exp(-(excess + h i))."""
            shrink = (-ball(excess)).exp()
            return 1 / (1 - (-z).exp()) - shrink / (1 - (-z - ball(law.step)).exp())

        return self._sum(first, coefficients, float(excess), bits)

    def _far(self, epsilon: Fraction, bits: int) -> arb:
        """A ball from 0 to a bound on P[L > epsilon], epsilon > rho, by zCDP: exp(-(epsilon - rho)^2/(4 rho))."""
        with precision(bits + 40):
            rho = ball(self.law.rho)
            return arb(0).union((-((ball(epsilon) - rho) ** 2) / (4 * rho)).exp().upper())

    def complement(self, epsilon: Fraction, bits: int) -> arb:
        """1 - delta(epsilon)."""
        value = self._one_minus(lambda wanted: self.delta(abs(epsilon), wanted), bits + 4)
        with precision(bits + 40):
            return value if epsilon >= 0 else ball(epsilon).exp() * value

    def p_above(self, loss: Fraction, bits: int) -> arb:
        """P[L > loss]."""
        return self.tail(math.floor((loss - self.law.rho) / self.law.step) + 1, bits)

    def q_above(self, loss: Fraction, bits: int) -> arb:
        """Q[L > loss]."""
        return self.tail(math.floor((loss + self.law.rho) / self.law.step) + 1, bits)

    def tail(self, first: int, bits: int) -> arb:
        """P[V >= first]."""
        if first <= 0:
            return self._one_minus(lambda wanted: self.tail(1 - first, wanted), bits)
        return self._sum(first, lambda z: 1 / (1 - (-z).exp()), 1.0, bits)

    def beta(self, alpha: Fraction, bits: int) -> arb:
        """The trade-off function at 0 < alpha < 1.

        With m the largest number with P[V >= m] >= alpha, the best test of level alpha rejects Q where the loss under
        Q's count is above its m-th value and tosses a coin at it: with l = h m - rho the loss there,

            beta = P[V >= 1 + width - m] + exp(l) (P[V >= m] - alpha).
        """
        law = self.law
        spread = math.isqrt(math.ceil(law.variance)).bit_length()
        while bits + 40 < spread:  # the tails at neighbouring m do not differ in so few
            bits *= 2
        m = self._quantile(alpha, bits + 8)
        while bits <= _MAX_BITS:
            at, beyond = self.tail(m, bits + 8), self.tail(m + 1, bits + 8)
            with precision(bits + 40):
                level = ball(alpha)
                if at >= level and beyond <= level:
                    growth = ball(law.step * m - law.rho).exp()
                    value = self.tail(1 + law.width - m, bits + 8) + growth * (at - level)
                    if value.rel_accuracy_bits() >= bits:
                        return value
                elif at < level:
                    m -= 1
                    continue
                elif beyond > level:
                    m += 1
                    continue
            bits *= 2
        raise PrecisionExhausted("beta", _MAX_BITS, "move alpha away from 0 and 1")

    def tails_float(self, firsts: Array) -> Array:
        """P[V >= k] in float64 for an array of whole numbers k >= 1."""
        values = np.empty(firsts.shape)
        groups: dict[float, list[int]] = {}
        for i, first in enumerate(firsts.tolist()):
            groups.setdefault(self._tilt(int(first), 1.0), []).append(i)
        for tilt, places in groups.items():
            ks = firsts[places].astype(np.int64)
            values[places] = self._tails_at(tilt, ks)
        return values

    def _tails_at(self, tilt: float, ks: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Array:
        contour = self._contour(tilt, self._size(tilt, int(ks.max()), 1.0, 60), 64 + _GUARD)
        log_peak = self.law.log_moment_float(tilt)
        js = np.array([j for j, _, _ in contour.nodes], dtype=np.int64)
        with precision(contour.bits):
            scale = (-arb(log_peak)).exp()
            moments = np.array([complex(weight * (m * scale)) for _, weight, m in contour.nodes])
        z = tilt + 2j * np.pi * js / contour.size
        terms = moments / -np.expm1(-z)
        values = np.empty(ks.shape)
        for start in range(0, ks.size, 4096):
            part = ks[start : start + 4096]
            turns = (part[:, None] * js[None, :]) % contour.size
            sums = (np.exp(-2j * np.pi * turns / contour.size) @ terms).real
            values[start : start + 4096] = sums * np.exp(log_peak - tilt * part) / contour.size
        return np.clip(values, 0.0, 1.0)

    def _quantile(self, alpha: Fraction, bits: int) -> int:
        """About the largest m with P[V >= m] >= alpha, on the middles of balls.

        The search starts at that of the normal law, and goes by steps that double and then halve.
        """

        def at_least(m: int) -> bool:
            value = self.tail(m, bits)
            with precision(bits + 40):
                return bool(value.mid() >= ball(alpha))

        low = self._normal_quantile(alpha, bits)
        high, step = low + 1, 1
        while not at_least(low):
            low, high, step = low - step, low, 2 * step
        if step == 1:  # the start was low enough
            while at_least(high):
                low, high, step = high, high + step, 2 * step
        while high - low > 1:  # not by bisect, whose places are machine words: a large variance has larger m
            middle = (low + high) // 2
            low, high = (middle, high) if at_least(middle) else (low, middle)
        return low

    def _normal_quantile(self, alpha: Fraction, bits: int) -> int:
        """The largest m at which the normal law with the variance of V has a tail of alpha above m - 1/2."""
        with precision(bits + 40):
            size = (2 * ball(self.law.variance)).sqrt() * (2 * ball(min(alpha, 1 - alpha))).erfcinv()
            place = (size if 2 * alpha <= 1 else -size) + 0.5
        return math.floor(as_fraction(place.mid()))

    def _one_minus(self, evaluate: Callable[[int], arb], bits: int) -> arb:
        for wanted in doublings(bits + 8, _MAX_BITS):
            value = evaluate(wanted)
            with precision(wanted + _GUARD):
                rest = 1 - value
            if rest.rel_accuracy_bits() >= bits:
                return rest
        raise PrecisionExhausted("1 - a probability", _MAX_BITS, "it may be too close to 0")

    def _sum(self, first: int, coefficients: Coefficients, excess: float, bits: int) -> arb:
        tilt = self._tilt(first, excess)
        for goal in doublings(bits + 16, _MAX_BITS):
            size = self._size(tilt, first, excess, goal)
            contour = self._contour(tilt, size, goal + _GUARD)
            further = self._further(tilt, size, first)
            value = contour.sum(first, coefficients, arb(further))
            if value.rel_accuracy_bits() >= bits:
                return value
        raise PrecisionExhausted("a sum over the support of the loss", _MAX_BITS, "the parameters are too extreme")

    def _contour(self, tilt: float, size: int, bits: int) -> DiscreteContour:
        rounded = 64 * -(-bits // 64)
        key = (tilt, size, rounded)
        if key not in self._contours:
            if len(self._contours) >= _KEPT:
                self._contours.clear()
            self._contours[key] = make_contour(self.law, tilt, size, rounded)
        return self._contours[key]

    # steering: floats that prove nothing ------------------------------------------------------------------------------

    def _log_term(self, tilt: float, first: int, excess: float) -> float:
        """About the logarithm of M(tilt) exp(-first tilt) C(tilt)."""
        h = float(self.law.step)
        pole = -math.log(-math.expm1(-tilt))
        second = math.log(-math.expm1(-excess) + (1 if tilt + h > 1e-8 else 0) * math.exp(-excess) * h / (tilt + h))
        return self.law.log_moment_float(tilt) - first * tilt + pole + min(second, 0.0)

    def _tilt(self, first: int, excess: float) -> float:
        """A tilt near the saddle point, from a grid so that neighbours share it; log of the term is convex."""
        spread = math.sqrt(float(self.law.variance))
        low, high = math.log2(1e-3 / spread), math.log2((abs(first) + 10 * spread) / float(self.law.variance) + 10)
        fineness = _STEPS_PER_DOUBLING
        step = self._least(math.floor(low * fineness), math.ceil(high * fineness), fineness, first, excess)
        while fineness < spread * 2.0 ** (step / fineness):  # until the grid is finer than the saddle is wide
            step, fineness = 2 * step, 2 * fineness
            step = self._least(step - 2, step + 2, fineness, first, excess)
        return float(2.0 ** (step / fineness))

    def _least(self, low: int, high: int, fineness: int, first: int, excess: float) -> int:
        """The step between low and high at which the term is least."""

        def term(step: int) -> float:
            return self._log_term(2.0 ** (step / fineness), first, excess)

        while high - low > 2:
            middle = (low + high) // 2
            low, high = (low, middle + 1) if term(middle) <= term(middle + 1) else (middle, high)
        return min(range(low, high + 1), key=term)

    def _size(self, tilt: float, first: int, excess: float, bits: int) -> int:
        """A number of nodes, from a grid, at which the aliases are about 2^-bits of the sum."""
        goal = bits * math.log(2) - min(self._log_term(tilt, first, excess) - 8, 0.0)
        size = 1 << max(2, math.frexp(goal / tilt)[1] - 1)  # three quarters of it are too few
        while True:
            for candidate in (size, size + size // 2):
                if tilt * candidate >= goal and self._alias(tilt, candidate, first) >= goal:
                    return candidate
            size *= 2

    def _alias(self, tilt: float, size: int, first: int) -> float:
        """Minus the logarithm of the aliases from above, at the best t among a few."""
        return max(self._alias_at(tilt * factor, tilt, size, first) for factor in _FURTHER)

    def _alias_at(self, further: float, tilt: float, size: int, first: int) -> float:
        return (further - tilt) * size - self.law.log_moment_float(further) + further * first

    def _further(self, tilt: float, size: int, first: int) -> float:
        best = max(_FURTHER, key=lambda factor: self._alias_at(tilt * factor, tilt, size, first))
        return tilt * best
