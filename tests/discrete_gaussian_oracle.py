"""The curves of discrete Gaussians moved by integers, by another road than the package takes: an oracle of its tests.

With one or two kinds of coordinates the loss is rho + a T + b Y under P and -rho + a T + b Y under Q, so that

    P[L > s] = sum_y P[Y = y] P[T > (s - rho - b y)/a],      Q[L > s] = sum_y P[Y = y] P[T > (s + rho - b y)/a],

and delta(epsilon) = P[L > epsilon] - exp(epsilon) Q[L > epsilon]. Load it with `runpy.run_path`.

T is the sum of c independent N_Z(0, v). Two facts do the work (Poisson summation):

* the characteristic function of N_Z(0, v) is phi(w) = sum_n exp(-(v/2) (w - 2 pi n)^2) / sum_n exp(-(v/2) (2 pi n)^2),
  which falls from 1 at w = 0 like exp(-v w^2/2), so that few frequencies w = 2 pi j/N give P[T = t] on a window of
  length N; what is cut off is bounded and charged;
* P[T = t + c u] = P[T = t] exp(-(2 u t + c u^2)/(2 v)) for every integer u, since moving every summand by u tilts its
  law. So a tail far out is a tail near the middle, tilted, and keeps its relative accuracy.

Both bounds rest on E exp(l T) <= exp(c v l^2/2) for every real l (Canonne, Kamath and Steinke 2020, arXiv:2004.00010),
hence P[T >= t] <= exp(-t^2/(2 c v)), and on phi being decreasing on [0, pi], as a wrapped normal density is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import final

from flint import acb, acb_poly, arb, ctx

from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.balls import ball, precision
from dpverdict.errors import InvalidValue, PrecisionExhausted

_GUARD = 48
_MAX_BITS = 1 << 17
_KEPT = 4096


@final
class DiscreteGaussianSum:
    """P[T >= k] for T the sum of ``count`` independent N_Z(0, variance), at one working precision.

    Args:
        variance: the parameter v > 0 of each summand.
        count: the number of summands, >= 1.
        bits: the truncation errors are below 2^-bits relative to the largest of the probabilities next to k.
    """

    __slots__ = ("_bits", "_charge", "_kept", "_last", "_period", "_tilts", "_weights", "count", "variance")

    def __init__(self, variance: Fraction, count: int, bits: int) -> None:
        self.variance, self.count, self._bits = variance, count, bits
        spread, reach = float(variance) * count, bits * math.log(2)
        self._last = math.ceil(math.sqrt(2 * spread * reach)) + count + 2  # the tail beyond it is below 2^-bits
        self._period = 4 * self._last + 1  # odd, so that the frequencies are symmetric
        highest = math.ceil(self._period / (2 * math.pi) * math.sqrt(2 * reach / spread)) + 1
        self._kept: dict[int, arb] = {}
        self._tilts: dict[int, tuple[acb_poly, arb]] = {}
        with precision(bits):
            self._charge = arb(2) ** (2 - bits)  # aliases from one period off, twice, and their rounding
            top = (self._period - 1) // 2
            self._weights = [self._power(j) / self._period for j in range(min(highest, top) + 1)]
            if highest < top:
                self._charge += self._power(highest + 1)

    def tail(self, k: int) -> arb:
        """P[T >= k], enclosed."""
        if k not in self._kept:
            with precision(self._bits):
                self._kept[k] = 1 - self._upper(1 - k) if k <= 0 else self._upper(k)
        return self._kept[k]

    def _power(self, j: int) -> arb:
        """phi(2 pi j/N)^c."""
        v, w = ball(self.variance), 2 * arb.pi() * j / self._period
        top = bottom = arb(0)
        n = 0
        while True:
            ring = (-1, 1) if n else (1,)
            top += sum((_exp_square(v, w - 2 * arb.pi() * n * sign) for sign in ring), arb(0))
            bottom += len(ring) * _exp_square(v, 2 * arb.pi() * n)
            n += 1
            # w <= pi: the largest term left is that of distance 2 pi n - w; each further ring falls by more than half
            left = 4 * _exp_square(v, 2 * arb.pi() * n - w)
            ratio = (-(v / 2) * (2 * arb.pi()) ** 2 * (2 * n - 1)).exp()
            if ratio < 0.5 and left < bottom * arb(2) ** -(self._bits + 8):
                break
        rest = left.union(arb(0))
        return ((top + rest) / (bottom + rest)) ** self.count

    def _upper(self, k: int) -> arb:
        """P[T >= k] for k >= 1: sum over t >= k' of P[T = t] exp(-u t/v), times exp(-c u^2/(2 v)), k = k' + c u."""
        c, v = self.count, ball(self.variance)
        u = (2 * k + c) // (2 * c)
        start = k - c * u  # in [-c/2, c/2]
        polynomial, end = self._tilted(u)
        rate = -u / v
        turn = acb(0, -2 * arb.pi() * start / self._period).exp()
        largest = (rate * start).exp()
        waves = 2 * (largest * polynomial(turn).real - end)
        steps = self._last - start + 1
        level = arb(steps) if u == 0 else ((rate * start).exp() - (rate * (self._last + 1)).exp()) / -rate.expm1()
        missing = (largest * (steps + 1) * self._charge).union(arb(0))
        total = waves + self._weights[0] * level + missing - (largest * steps * self._charge).union(arb(0))
        return total * (-c * arb(u) ** 2 / (2 * v)).exp()

    def _tilted(self, u: int) -> tuple[acb_poly, arb]:
        """For a tilt u: sum_j a_j z^j with a_j = weight_j/(1 - r_j), r_j = exp(-u/v - 2 pi i j/N); and its far end.

        The geometric series of r_j from k' to the last t is (r_j^k' - r_j^(last + 1))/(1 - r_j).
        """
        if u not in self._tilts:
            rate = -u / ball(self.variance)
            coefficients, end = [acb(0)], arb(0)
            for j, weight in enumerate(self._weights[1:], 1):
                exponent = acb(rate, -2 * arb.pi() * j / self._period)
                coefficients.append(-weight / exponent.expm1())
                end += (coefficients[-1] * (exponent * (self._last + 1)).exp()).real
            self._tilts[u] = acb_poly(coefficients), end
        return self._tilts[u]


def _exp_square(v: arb, distance: arb) -> arb:
    return (-(v / 2) * distance * distance).exp()


@final
class DiscreteGaussianProfile:
    """The profile and the tails of a `DiscreteGaussianLoss` of one or two kinds of coordinates.

    The laws are symmetric, so exchanging P and Q changes none of the curves, and P[L < -s] = Q[L > s].

    Raises:
        InvalidValue: more than two kinds of coordinates.
    """

    __slots__ = ("_first", "_kept", "_laws", "_rho", "_second", "_sums")

    def __init__(self, shift: DiscreteGaussianLoss) -> None:
        groups = sorted(
            ((g.variance, g.shift, g.count) for g in shift.groups), key=lambda group: -group[2]
        )  # the many first: their tail costs no more
        if len(groups) > 2:
            remedy = "bound the profile by the zCDP parameter of the pair"
            raise InvalidValue("groups", len(groups), "at most 2 kinds of coordinates", remedy)
        self._first, self._second = groups[0], groups[1] if len(groups) == 2 else None
        self._rho = shift.rho
        self._sums: dict[int, DiscreteGaussianSum] = {}
        self._laws: dict[tuple[int, int], tuple[list[tuple[int, arb]], arb]] = {}
        self._kept: dict[tuple[str, Fraction], tuple[int, arb]] = {}

    def delta(self, epsilon: Fraction, bits: int) -> arb:
        """The privacy profile at any epsilon: delta(-s) = 1 - exp(-s) + exp(-s) delta(s)."""
        if epsilon >= 0:
            return self._accurate("delta", epsilon, bits, self._delta)
        value = self.delta(-epsilon, bits + 4)
        with precision(bits + _GUARD):
            return -ball(epsilon).expm1() + ball(epsilon).exp() * value

    def complement(self, epsilon: Fraction, bits: int) -> arb:
        """1 - delta(epsilon)."""
        value = self._accurate("rest", abs(epsilon), bits + 4, lambda s, window: 1 - self._delta(s, window))
        with precision(bits + _GUARD):
            return value if epsilon >= 0 else ball(epsilon).exp() * value

    def p_above(self, loss: Fraction, bits: int) -> arb:
        """P[L > loss]."""
        return self._accurate("p", loss, bits, lambda s, window: self._tail(s - self._rho, window))

    def q_above(self, loss: Fraction, bits: int) -> arb:
        """Q[L > loss]."""
        return self._accurate("q", loss, bits, lambda s, window: self._tail(s + self._rho, window))

    def _delta(self, epsilon: Fraction, window: int) -> arb:
        """For epsilon >= 0, at the current precision."""
        q = self._tail(epsilon + self._rho, window)
        return self._tail(epsilon - self._rho, window) - ball(epsilon).exp() * q

    def _accurate(self, name: str, at: Fraction, bits: int, curve: Callable[[Fraction, int], arb]) -> arb:
        """The curve, at growing precision and with growing windows for Y, until it has ``bits`` accurate bits.

        The tails of T have a relative accuracy of their own; the window has to leave out less than the value itself.
        """
        kept = self._kept.get((name, at))
        if kept is not None and kept[0] >= bits:
            return kept[1]
        # a Gaussian of variance 2 rho: the probability of a loss beyond s is about exp(-(s - rho)^2/(4 rho))
        smallness = (abs(float(at)) + float(self._rho)) ** 2 / (4 * float(self._rho)) / math.log(2)
        working, window = bits + _GUARD, bits + _GUARD + math.ceil(smallness / 256) * 256
        while window <= _MAX_BITS:
            with precision(working):
                value = curve(at, window)
            if value.is_finite() and value.rel_accuracy_bits() >= bits:
                if len(self._kept) >= _KEPT:
                    self._kept.clear()
                self._kept[name, at] = bits, value
                return value
            working, window = 2 * working, 2 * window
        raise PrecisionExhausted("the profile of discrete Gaussians", _MAX_BITS, "the parameters are too extreme")

    def _tail(self, threshold: Fraction, window: int) -> arb:
        """P[a T + b Y > threshold], at the current precision; Y is cut off where less than 2^-window is left."""
        engine, law, missing = self._engine(ctx.prec, window)
        v, m, _ = self._first
        step = v / m
        if self._second is None:
            return engine.tail(_next(threshold * step))
        w, n, _ = self._second
        slope = Fraction(n) / w
        total = arb(0)
        for y, weight in law:
            total += weight * engine.tail(_next((threshold - slope * y) * step))
        return total + missing

    def _engine(self, working: int, window: int) -> tuple[DiscreteGaussianSum, list[tuple[int, arb]], arb]:
        """The tail of T, the probabilities of Y on a window, and a ball from 0 to what the window leaves out."""
        if working not in self._sums:
            self._sums[working] = DiscreteGaussianSum(self._first[0], self._first[2], working)
        if (working, window) not in self._laws:
            found = ([], arb(0)) if self._second is None else _probabilities(*self._second, window)
            self._laws[working, window] = found
        return self._sums[working], *self._laws[working, window]


def _probabilities(v: Fraction, _: int, count: int, window: int) -> tuple[list[tuple[int, arb]], arb]:
    """(y, P[Y = y]) for Y the sum of ``count`` N_Z(0, v), and a ball from 0 to the probability of the other y."""
    reach = math.ceil(math.sqrt(2 * float(v) * count * math.log(2) * window)) + 1  # P[|Y| > reach] < 2^(1 - window)
    missing = (arb(2) ** (1 - window)).union(arb(0))
    if count == 1:
        rate = -1 / (2 * ball(v))
        weights = [(rate * (y * y)).exp() for y in range(reach + 1)]
        # the weights beyond the last fall by the factor exp(-(2 reach + 1)/(2 v)) at least, at every step
        ratio = (rate * (2 * reach + 1)).exp()
        rest = (weights[-1] * ratio / (1 - ratio)).union(arb(0))
        total = 1 + 2 * (sum(weights[1:], arb(0)) + rest)
        return [(y, weights[abs(y)] / total) for y in range(-reach, reach + 1)], missing
    law = DiscreteGaussianSum(v, count, ctx.prec)
    half = [law.tail(y) - law.tail(y + 1) for y in range(reach + 1)]
    return [(y, half[abs(y)]) for y in range(-reach, reach + 1)], missing


def _next(number: Fraction) -> int:
    """The smallest integer above a number."""
    return math.floor(number) + 1
