"""Curves from contours in float64: values at many points with error bounds, and bounds of a trade-off function.

*Values.* About a middle x0, h(x) = exp(-c (x - x0)) Re(sum a_k exp(-i w_k (x - x0))), where the numbers
a_k = exp(-x0 t_k) F(t_k) come from balls, divided by the size of the first one; only the rest is done in float64. With
S = sum |a_k|, N nodes and u = 2^-53, the relative error of the sum s is at most about
(3 max|w_k (x - x0)| + N + 8) u S/|s|, and that of the factors (3 |c (x - x0)| + |log size| + 4) u. The bound used is
four times that, plus alias and truncation.

*Trade-off function* beta, at any number of levels, from certified knots. beta is convex. For every epsilon, with
a = Q[L > epsilon] and b = P[L <= epsilon], the point (a, b) is on the graph and the line b + exp(epsilon) (a - alpha)
is below it. Between two knots the chord is above the graph and the higher of the two lines is below it. All knots come
from one contour by two discrete Fourier transforms in ball arithmetic: at x_j = T j/D, the sum (1) of
`dpverdict.audit.losses.contour.integral` is exp(-c x_j) Re(exp(-i pi j/D) DFT(F)_j). The pair of laws is symmetric, so
that beta is its own inverse: a knot (a, b) at epsilon gives the knot (b, a) at -epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from flint import acb, arb
from numpy.typing import NDArray

from dpverdict.audit.losses.contour.integral import MAX_COST, Contour, ContourEngine, Way
from dpverdict.audit.losses.contour.moments import Kind, powers
from dpverdict.audit.losses.domains import TRADE_OFF
from dpverdict.balls import Enclosures, float_up, precision
from dpverdict.errors import PrecisionExhausted
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import bisected, doubled

_UNIT = 4 * 2.0**-53
_CHUNK = 1 << 19  # entries of one table of phases
_BITS = 56
_SPARE = 4.0
_REACH = 2.0  # half the length of a run, in units of the spread of the loss tilted to its middle
_LEAST_REACH = 0.2
_FEWEST = 4
_TINY = 1e-301


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FloatValues:
    """h(x) = exp(logarithms) sums at many x, and what is promised of each.

    Attributes:
        logarithms, sums: the two factors.
        factor_errors: bounds of the relative errors of exp(logarithms).
        sum_errors: bounds of the absolute errors of the sums.
        log_charges: the logarithms of bounds of alias and truncation in h.
    """

    logarithms: Array
    sums: Array
    factor_errors: Array
    sum_errors: Array
    log_charges: Array


def evaluate(contour: Contour, kind: Kind, points: Array) -> FloatValues:
    """h at the points, an array of shape (n,)."""
    plan = contour.plan
    lowest, highest = float(points.min()), float(points.max())
    middle = lowest + (highest - lowest) / 2
    with precision(plan.bits):
        x0 = arb(middle)
        turns = powers(acb(0, -arb(plan.step) * x0).exp(), plan.number)
        start = acb(0, -arb(plan.step) / 2 * x0).exp()
        terms = [term * turn * start for term, turn in zip(contour.transform(kind), turns, strict=True)]
        size = abs(terms[0]).mid()
        weights: NDArray[np.complex128] = np.array([complex(term / size) for term in terms])
        factor = (-arb(plan.centre) * x0).exp() * size
        log_size = float(factor.log())
        # Alias and truncation are sums of exponentials in x: their logarithm is convex, hence below its chord.
        ends = [float_up(contour.error(kind, arb(x)).log()) for x in (lowest, highest)]
    heights = plan.step * (np.arange(plan.number) + 0.5)
    away = points - middle
    sums = np.empty(len(points))
    rows = max(1, _CHUNK // plan.number)
    for first in range(0, len(points), rows):
        phases = np.multiply.outer(away[first : first + rows], heights)
        sums[first : first + rows] = np.cos(phases) @ weights.real + np.sin(phases) @ weights.imag
    total = float(np.abs(weights).sum())
    part = away / (highest - middle) / 2 + 0.5 if highest > lowest else np.zeros(len(points))
    return FloatValues(
        logarithms=log_size - plan.centre * away,
        sums=sums,
        factor_errors=_UNIT * (4 * np.abs(plan.centre * away) + 3 * abs(log_size) + 8),
        sum_errors=_UNIT * (3 * np.abs(away) * heights[-1] + plan.number + 8) * total,
        log_charges=(1 - part) * ends[0] + part * ends[1] + 0.001,
    )


def curve(engine: ContourEngine, ways: Sequence[Way], points: Array, relative_error: float) -> Array:
    """A curve of the engine at many points, an array of any shape: each within the relative error, or below 1e-300."""
    places, inverse = np.unique(points, return_inverse=True)
    values, errors = np.zeros(len(places)), np.full(len(places), np.inf)
    runs = [(0, len(places), _REACH)]
    while runs:
        first, last, reach = runs.pop()
        if last - first < _FEWEST:
            continue
        middle = float(places[(first + last) // 2])
        width = reach * min(engine.planner.local_spread(way.kind, way.sign * middle) for way in ways)
        low = max(first, int(np.searchsorted(places, middle - width)))
        high = min(last, int(np.searchsorted(places, middle + width, side="right")))
        runs += [(first, low, reach), (high, last, reach)]
        values[low:high], errors[low:high] = _run(engine, ways, places[low:high])
        bad = errors[low:high] > relative_error
        if bad.all() and reach > _LEAST_REACH:
            runs += [(low, high, reach / 2)]
    for i in np.flatnonzero(~(errors <= relative_error)).tolist():
        values[i] = float(engine.value(ways, Fraction(float(places[i])), _BITS))
    return values[inverse].reshape(points.shape)


def _run(engine: ContourEngine, ways: Sequence[Way], places: Array) -> tuple[Array, Array]:
    ends = [float(places[0]), float(places[-1])]
    best = engine.plan(ways, ends, [engine.log_size(ways[0], end) for end in ends], _BITS, _SPARE)
    if best is None:
        return np.zeros(len(places)), np.full(len(places), np.inf)
    plan, way = best
    found = evaluate(Contour(engine.moments, plan), way.kind, way.sign * places)
    with np.errstate(under="ignore", over="ignore", invalid="ignore", divide="ignore"):
        shift = way.sign * places if way.kind is Kind.UPPER_Q else np.zeros(len(places))
        factors, of_factors = np.exp(found.logarithms - shift), found.factor_errors + _UNIT * np.abs(shift)
        values = factors * found.sums
        errors = factors * (found.sum_errors + np.abs(found.sums) * of_factors) + np.exp(found.log_charges - shift)
        if way.from_one:
            values, errors = 1 - values, errors + _UNIT
        errors = np.where(values > 0, errors / values, np.where(errors < _TINY, 0.0, np.inf))
    return values, errors


GAP = 1e-6
"""The largest vertical distance of the two bounds that the knots are made for."""

_LOG_ERROR = -76 * math.log(2)  # of the tails at the knots: 53 bits down to tails of 2^-22
_LOG_TAIL = math.log(GAP / 4)  # beyond the last knot
_MOST_KNOTS = 1 << 17


@final
class TradeOffKnots:
    """Knots (alpha, beta) in float64, rounded so that chords are above the trade-off function, lines below it."""

    __slots__ = ("_alphas", "_betas", "_epsilons", "_falls", "_intercepts", "_slopes", "gap")
    gap: float

    def __init__(self, engine: ContourEngine) -> None:
        last = _last_epsilon(engine)
        plan = engine.planner.plan(Kind.UPPER_P, np.array([0.0, last]), np.array([_LOG_ERROR, _LOG_ERROR]))
        if plan is None or plan.cost(engine.moments) > MAX_COST:
            remedy = "the Gaussian part is too narrow beside the other parts for a contour of reasonable length"
            raise PrecisionExhausted("the trade-off function", 76, remedy)
        contour = Contour(engine.moments, plan)
        # The gap of a cell is about density * width^2 / 4.
        period = 2 * math.pi / plan.step
        number = 1 << max(math.ceil(math.log2(2 * plan.number)), math.ceil(math.log2(period / last * 1024)))
        while True:
            self._set(contour, number, last)
            if self.gap <= GAP or 4 * number * last / period > _MOST_KNOTS:
                return
            number *= 2

    def bounds(self, alphas: Array) -> tuple[Array, Array]:
        """Float64 numbers certainly <= and >= beta at every alpha in [0, 1].

        Raises:
            ContradictoryBounds: they cannot both hold.
        """
        i = np.clip(np.searchsorted(self._alphas, alphas), 1, len(self._alphas) - 1)
        lower = np.maximum(self._line(i - 1, alphas), self._line(i, alphas))
        # chord: the left knot minus a slope rounded down times a distance rounded down
        run = np.maximum(_down(alphas - self._alphas[i - 1]), 0.0)
        upper = _up(self._betas[i - 1] - np.maximum(_down(self._falls[i] * run), 0.0))
        return TRADE_OFF.bounds(lower, np.minimum(upper, _up(1.0 - alphas)))

    def epsilons(self, alpha: float) -> tuple[float, float]:
        """A guess of a short interval of epsilons with Q[L > epsilon] = alpha in it."""
        i = min(max(int(np.searchsorted(self._alphas, alpha)), 2), len(self._alphas) - 2)
        low, high = self._epsilons[i], self._epsilons[i - 1]
        part = np.clip((self._alphas[i] - alpha) / (self._alphas[i] - self._alphas[i - 1]), -1, 2)
        middle, reach = low + part * (high - low), 0.01 * (high - low)
        return float(middle - reach), float(middle + reach)

    def _line(self, i: np.ndarray[tuple[int, ...], np.dtype[np.intp]], alphas: Array) -> Array:
        return _down(self._intercepts[i] - _up(self._slopes[i] * alphas))

    def _set(self, contour: Contour, number: int, last: float) -> None:
        epsilons, p_tails, q_tails = _tails(contour, number, last)
        with precision(contour.plan.bits):
            growths = [epsilon.exp() for epsilon in epsilons]
            a = [q / growth for q, growth in zip(q_tails, growths, strict=True)]
            b = [1 - p for p in p_tails]
            lines = [1 - p + q for p, q in zip(p_tails, q_tails, strict=True)]  # 1 - delta
            mirrored_lines = [line / growth for line, growth in zip(lines, growths, strict=True)]
            mirrored_growths = [1 / growth for growth in growths]
        # From alpha = 0 to 1: falling epsilon, with the certain points (0, 1) and (1, 0) at the ends.
        right, left = slice(None, None, -1), slice(1, None)
        above_a, above_b = Enclosures(a).upper, Enclosures(b).upper
        alphas = np.concatenate([[0.0], above_a[right], above_b[left], [1.0]])
        betas = np.concatenate([[1.0], above_b[right], above_a[left], [0.0]])
        intercepts = np.concatenate([Enclosures(lines).lower[right], Enclosures(mirrored_lines).lower[left]])
        slopes = np.concatenate([Enclosures(growths).upper[right], Enclosures(mirrored_growths).upper[left]])
        # The ends have the lines of their neighbours.
        intercepts = np.concatenate([intercepts[:1], intercepts, intercepts[-1:]])
        slopes = np.concatenate([slopes[:1], slopes, slopes[-1:]])
        points = np.array([float(epsilon) for epsilon in epsilons])
        points = np.concatenate([points[right], -points[left]])
        points = np.concatenate([points[:1], points, points[-1:]])
        kept = np.concatenate(
            [[True], (alphas[1:-1] > np.maximum.accumulate(alphas)[:-2]) & (alphas[1:-1] < 1), [True]]
        )
        self._alphas, self._betas, self._epsilons = alphas[kept], betas[kept], points[kept]
        self._intercepts, self._slopes = intercepts[kept], slopes[kept]
        rise, run = _down(self._betas[:-1] - self._betas[1:]), _up(np.diff(self._alphas))
        self._falls = np.concatenate([[0.0], np.maximum(_down(rise / run), 0.0)])
        self.gap = self._largest_gap()

    def _largest_gap(self) -> float:
        """The largest distance of the bounds: where the two lines of a cell cross, or at a knot."""
        change = np.diff(self._slopes)
        with np.errstate(divide="ignore", invalid="ignore"):
            crossings = np.where(change < 0, np.diff(self._intercepts) / change, self._alphas[1:])
        points = np.concatenate([self._alphas, np.clip(crossings, self._alphas[:-1], self._alphas[1:])])
        lower, upper = self.bounds(points)
        return float((upper - lower).max())


def _tails(contour: Contour, number: int, last: float) -> tuple[list[arb], list[arb], list[arb]]:
    """x_j from 0 to beyond ``last``, with P[L > x_j] and exp(x_j) Q[L > x_j]."""
    plan = contour.plan
    with precision(plan.bits):
        spacing = 2 * arb.pi() / (arb(plan.step) * number)
        count = min(math.ceil(last / float(spacing)) + 1, number)
        epsilons = [spacing * j for j in range(count)]
        fall = (-arb(plan.centre) * spacing).exp()
        turns = powers(acb(0, -arb.pi() / number).exp() * fall, count)
        results = []
        for kind in (Kind.UPPER_P, Kind.UPPER_Q):
            error = contour.error(kind, arb(0)) * arb(0, 1)  # it decreases in x, as all exponents are >= 0
            sums = acb.dft(contour.transform(kind) + [acb(0)] * (number - plan.number))
            results.append([(turn * value).real + error for turn, value in zip(turns, sums[:count], strict=True)])
    return epsilons, results[0], results[1]


def _last_epsilon(engine: ContourEngine) -> float:
    """About where P[L > epsilon] is negligible; both other tails are smaller."""

    def counts(epsilon: float) -> bool:
        return engine.planner.log_value(Kind.UPPER_P, epsilon) > _LOG_TAIL

    low, high = doubled(counts, 0.0, max(engine.moments.spread, 1e-300), most=math.inf)
    return bisected(counts, low, high, steps=20)[1]


def _down(values: Array) -> Array:
    return np.nextafter(values, -np.inf)


def _up(values: Array) -> Array:
    return np.nextafter(values, np.inf)
