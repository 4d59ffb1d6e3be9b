"""Poisson-sampled Gaussian steps whose integrand falls slowly: the contour integral on panels that grow with height.

The line Re t = c of `dpverdict.audit.sampling.steps` has to reach heights of 1e6 and more there: the loss of one step
has nearly an atom at log(1 - q), so M(c + i v) falls like exp(-log(v)^2/(2 mu^2)) only. What is left that high varies
with log v, but for the oscillation of that near-atom. With r = q/(1 - q) and a shift by i b of the line of z,

    g = (1 - q) exp(l(z)),   l(z) = log(1 + r exp(mu (z + i b) - mu^2/2)),
    E_Q[g^(W + i v)] = (1 - q)^(W + i v) N(v),   N(v) = sum over j of C_j exp(i v l_j) + error,

by the trapezoidal rule of step k, C_j = k phi(z_j + i b) exp(W l_j). The oscillation (1 - q)^(i v T) joins that of
exp(-i epsilon v): their frequency is Omega = epsilon - T log(1 - q) for remove, and -T log(1 - q) - epsilon for add. So

    delta = exp(-c epsilon)/pi (1 - q)^(T W) Re integral over v > 0 of exp(-i Omega v) N(v)^T/(t (t + 1)),

t = c + i v, W = 1 + c for remove, and t = c - i v, W = -c for add (the integrand conjugated).

* Rule. For 0 <= y mu < pi the angle of g(u + i y mu) is not negative, so that |g^(i v)| <= 1 on all lines between 0 and
  2 b, for every v >= 0, and |g(u + i y mu)| is between g(u) cos(y mu/2) and g(u), and at least 1 - q for y mu <= pi/2.
  With b the half-width of the strip the alias is at most 2 exp(2 b^2) S s/(1 - s), s = exp(-2 pi b/k): S is E_Q[g^W]
  for W >= 0, and for W < 0 cos(b mu)^W times that, or (1 - q)^W if that is less and 2 b mu <= pi/2. Beyond the ends the
  sum leaves out at most exp(b^2/2) times what `dpverdict.audit.sampling.moments` bounds for all |g|^W.
* Panels. On v = m + h x, |x| <= 1, only the j are kept whose exp(-v Im l_j) still counts; the others are bounded by
  their moduli. What is kept is an entire function of v, so F = N^T/(t (t + 1)) is analytic in the ellipse
  of parameter R around the panel, semi-axes h (R + 1/R)/2 and h (R - 1/R)/2, as long as that keeps from t = 0 and
  t = -1; there |exp(i v l_j)| is largest at the support of the ellipse. With n Gauss-Legendre nodes and
  a_k = (k + 1/2) sum over nodes of weight F P_k, the integral is h exp(-i Omega m) sum over k < n of
  a_k 2 (-i)^k j_k(Omega h), j_k the spherical Bessel functions. With |F| <= B in the ellipse, the Chebyshev series of
  F ends with an error e of at most 2 B R^-(n-1)/(R - 1) (Trefethen 2013, theorem 8.2); a polynomial is integrated
  exactly, |integral of e| <= 2 sup|e|, and its interpolant is no larger than e in the discrete L2 norm, which for the
  nodes is that of the integral: another 2 sup|e|. The panel errs by at most 8 h B R^-(n-1)/(R - 1).
* An error d of N, where |N| <= A, changes N^T by at most T (A + d)^(T-1) d; A is the sum of the moduli, or N(0).
  Beyond the last panel, the cut of the line.

float64 estimates choose the line, the panels and what is kept; any choice gives a valid ball.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from flint import acb, acb_mat, arb

from dpverdict.audit.sampling.moments import Exponentials, GaussianMoments
from dpverdict.balls import ball, precision
from dpverdict.errors import PrecisionExhausted

NODES: Final = 44
"""Gauss-Legendre nodes of a panel."""
MOST_PANELS: Final = 600
MOST_EXPONENTIALS: Final = 60_000
"""Exponentials that count, over all panels: each is evaluated at all nodes; some seconds."""
HIGHEST: Final = 1e40
"""No line is longer."""

_GROWTH = 2.6  # of the end of a panel over its begin
_RATIOS = np.geomspace(1.3, 12.0, 24)
_BOUND_BITS = 96
_BESSEL_BITS = 120  # that Bessel functions lose where argument and order are about the same


@final
@dataclass(frozen=True, slots=True)
class _Panel:
    """An interval middle +- half of heights with the coefficients of F there, and a bound on the error of its integral.

    Attributes:
        coefficients: 2 (-i)^k a_k, k < NODES.
    """

    middle: arb
    half: arb
    coefficients: list[acb]
    error: arb


@final
class PanelLine:
    """The line Re t = centre of one order, for every epsilon.

    Args:
        moments: of one step.
        steps: T >= 2.
        remove: whether the order is remove, and not add.
        centre: c > 0.
        aim: about the logarithm of exp(c epsilon) times the error of delta that is aimed at.
        bits: the accuracy of N relative to E_Q[g^W].

    Raises:
        PrecisionExhausted: the line is too long, or there are too many panels.
    """

    __slots__ = ("_bits", "_centre", "_cut", "_moments", "_panels", "_plans", "_remove", "_series", "_steps")

    def __init__(
        self, moments: GaussianMoments, steps: int, *, remove: bool, centre: float, aim: float, bits: int
    ) -> None:
        self._moments, self._steps, self._remove, self._centre = moments, steps, remove, centre
        exponent = 1 + centre if remove else -centre
        top = self._top(exponent, aim)
        self._bits = bits + 40
        with precision(self._bits):
            self._series = moments.exponentials(1 + arb(centre) if remove else -arb(centre), bits, steps)
        self._plans = self._ends(self._series, top, aim - 5)
        self._panels: list[_Panel] = []

    @property
    def size(self) -> int:
        """The number of exponentials that count, over all panels."""
        return sum(kept for _, _, kept, _ in self._plans)

    def _lay(self) -> list[_Panel]:
        """The panels, and the bound of what is beyond them: most of the time goes here, once."""
        if not self._panels:
            with precision(_BOUND_BITS):
                c, reached = arb(self._centre), arb(self._plans[-1][1])
                cut = self._moments.cut(1 + c if self._remove else -c, reached)
                self._cut = cut**self._steps / (arb.pi() * reached)
            with precision(self._bits):
                self._panels = [self._panel(self._series, *ends) for ends in self._plans]
        return self._panels

    def value(self, level: Fraction) -> arb:
        """A ball that contains delta(epsilon), epsilon >= 0; in the order add with epsilon < -T log(1 - q)."""
        panels = self._lay()
        with precision(self._bits + _BESSEL_BITS):
            epsilon = ball(level)
            rate, c = ball(self._moments.rate), arb(self._centre)
            least = -self._steps * (-rate).log1p()
            frequency = least + epsilon if self._remove else least - epsilon
            exponent = 1 + c if self._remove else -c
            total, error = arb(0), arb(0)
            for panel in panels:
                bessel = _spherical(frequency * panel.half, NODES)
                part = sum((a * j for a, j in zip(panel.coefficients, bessel, strict=True)), start=acb(0))
                total += panel.half * (part * acb(0, -frequency * panel.middle).exp()).real
                error += panel.error
            scale = (-exponent * least).exp()
            fall = (-c * epsilon).exp()
            found = scale * (total + error.upper() * arb(0, 1)) / arb.pi()
            return fall * (found + self._cut.upper() * arb(0, 1))

    # the panels -------------------------------------------------------------------------------------------------------

    def _top(self, exponent: float, aim: float) -> float:
        """A height beyond which at most exp(aim) is left, in float64."""
        own = self._steps * float(self._moments.estimates(np.array([exponent]))[0][0])
        heights = np.geomspace(1.0, HIGHEST, 200)
        left = own + self._steps * self._moments.log_cut(exponent, heights) - np.log(math.pi * heights)
        enough = np.flatnonzero(left <= aim)
        if not enough.size:
            raise PrecisionExhausted("the integral", self._steps, "take more noise, or more steps")
        return float(heights[int(enough[0])])

    def _ends(self, series: Exponentials, top: float, aim: float) -> list[tuple[float, float, int, float]]:
        """Ends of the panels, the number of exponentials that are kept, and the parameter of the ellipse."""
        found: list[tuple[float, float, int, float]] = []
        low, length, total = 0.0, self._centre, 0
        rate = float(self._moments.rate)
        fixed = self._steps * (1 + self._centre if self._remove else -self._centre) * math.log1p(-rate)
        while low < top:
            length = max(length, (_GROWTH - 1) * low)
            while True:
                kept = self._kept(series, low)
                ratio, error = self._ellipse(series, low, length, kept)
                if error + fixed <= aim:
                    break
                length *= 0.7
                if length < 1e-9 * (low + self._centre):
                    raise PrecisionExhausted("the integral", self._bits, "take more noise, or more steps")
            found.append((low, low + length, kept, ratio))
            total += kept
            if len(found) > MOST_PANELS or total > MOST_EXPONENTIALS:
                raise PrecisionExhausted("the integral", self._bits, "take more noise, or more steps")
            low += length
            length *= 1.2
        return found

    def _kept(self, series: Exponentials, low: float) -> int:
        """How many of the exponentials count from a height on; their angles grow with j."""
        sizes = series.log_sizes - low * series.angles
        return int(np.flatnonzero(sizes >= series.log_error - 3)[-1]) + 1

    def _ellipse(self, series: Exponentials, low: float, length: float, kept: int) -> tuple[float, float]:
        """The best parameter of an ellipse, and the logarithm of the error of the panel, in float64."""
        half, middle = length / 2, low + length / 2
        wide, tall = half * (_RATIOS + 1 / _RATIOS) / 2, half * (_RATIOS - 1 / _RATIOS) / 2
        angles, growths = series.angles[:kept], series.growths[:kept]
        support = np.hypot(wide[:, None] * angles, tall[:, None] * growths)
        table = series.log_sizes[:kept] - middle * angles + support
        peak = table.max(axis=1)
        bound = peak + np.log(np.exp(table - peak[:, None]).sum(axis=1))
        with np.errstate(all="ignore"):
            away = np.log(np.maximum(self._centre - tall, middle - wide))
            further = np.log(np.maximum(self._centre + 1 - tall, middle - wide))
            errors = math.log(8 * half) + self._steps * bound - away - further
            errors -= (NODES - 1) * np.log(_RATIOS) + np.log(_RATIOS - 1)
        errors[~np.isfinite(errors)] = np.inf
        best = int(errors.argmin())
        return float(_RATIOS[best]), float(errors[best])

    def _panel(self, series: Exponentials, low: float, high: float, kept: int, ratio: float) -> _Panel:
        begin, end = arb(low), arb(high)
        middle, half, c = (begin + end) / 2, (end - begin) / 2, arb(self._centre)
        nodes, table = legendre(self._bits)
        exponents, sizes = series.exponents[:kept], series.coefficients[:kept]
        values = []
        for x in nodes:
            v = middle + half * x
            total = acb(0)
            for l, size in zip(exponents, sizes, strict=True):
                total += size * (acb(-v * l.imag, v * l.real)).exp()
            t = acb(c, v if self._remove else -v)
            values.append([total**self._steps / (t * (t + 1))])
        coefficients = (table * acb_mat(values)).entries()
        with precision(_BOUND_BITS):
            error = self._error(series, begin, middle, half, kept, arb(ratio))
        return _Panel(middle, half, coefficients, error)

    def _error(self, series: Exponentials, begin: arb, middle: arb, half: arb, kept: int, ratio: arb) -> arb:
        """A bound on the error of the integral of exp(-i Omega v) N^T/(t (t + 1)) over the panel."""
        wide, tall = half * (ratio + 1 / ratio) / 2, half * (ratio - 1 / ratio) / 2
        inside, on_line, dropped = arb(0), arb(0), arb(0)
        for j, (l, size) in enumerate(zip(series.exponents, series.sizes, strict=True)):
            there = size * (-begin * l.imag).exp()
            if j >= kept:
                dropped += there
                continue
            on_line += there
            inside += size * (-middle * l.imag + ((wide * l.imag) ** 2 + (tall * l.real) ** 2).sqrt()).exp()
        c = arb(self._centre)
        away, further = (c - tall).max(middle - wide), (c + 1 - tall).max(middle - wide)
        if not (away > 0 and further > 0):
            return arb("inf")
        steps, short = self._steps, series.error + dropped
        fit = 8 * half * inside**steps / (away * further) / ratio ** (NODES - 1) / (ratio - 1)
        least = c.max(begin) * (c + 1).max(begin)
        off = 2 * half * steps * (on_line.min(series.largest) + short) ** (steps - 1) * short / least
        return (fit + off).upper()


def _spherical(x: arb, number: int) -> list[arb]:
    """The spherical Bessel functions j_k(x), k < number, x > 0: downwards from the last two, where none is lost."""
    root = (arb.pi() / (2 * x)).sqrt()
    found = [root * x.bessel_j(arb(2 * k + 1) / 2) for k in (number - 1, number - 2)]
    for k in range(number - 2, 0, -1):
        found.append((2 * k + 1) / x * found[-1] - found[-2])
    return found[::-1]


@functools.lru_cache(maxsize=8)
def legendre(bits: int) -> tuple[list[arb], acb_mat]:
    """The nodes, and the matrix from values at them to 2 (-i)^k a_k."""
    with precision(bits + 32):
        pairs = [arb.legendre_p_root(NODES, i, weight=True) for i in range(NODES)]
        rows = []
        turns = [acb(1), acb(0, -1), acb(-1), acb(0, 1)]
        for k in range(NODES):
            rows.append([turns[k % 4] * (2 * k + 1) * weight * root.legendre_p(k) for root, weight in pairs])
        return [root for root, _ in pairs], acb_mat(rows)
