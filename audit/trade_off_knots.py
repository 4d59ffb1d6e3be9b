"""Two-sided bounds of a trade-off function at any number of levels, from certified knots.

beta is convex. For every epsilon, with a = Q[L > epsilon] and b = P[L <= epsilon], the point (a, b) is on the graph and
the line b + exp(epsilon) (a - alpha) is below it. Between two knots the chord is above the graph and the higher of the
two lines is below it. All knots come from one contour by two discrete Fourier transforms in ball arithmetic: at
x_j = T j/D, the sum (1) of `dpverdict.audit.contour` is exp(-c x_j) Re(exp(-i pi j/D) DFT(F)_j).

The pair of laws is symmetric, so that beta is its own inverse: a knot (a, b) at epsilon gives the knot (b, a) at
-epsilon.
"""

from __future__ import annotations

import math
from typing import final

import numpy as np
from flint import acb, arb

from dpverdict.audit.contour import Contour
from dpverdict.audit.contour_engine import MAX_COST, ContourEngine
from dpverdict.audit.contour_plan import Kind
from dpverdict.audit.loss_domains import Floats
from dpverdict.audit.moment_functions import powers as _powers
from dpverdict.balls import Enclosures, precision
from dpverdict.errors import PrecisionExhausted

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

    def bounds(self, alphas: Floats) -> tuple[Floats, Floats]:
        """Float64 numbers certainly <= and >= beta at every alpha in [0, 1]."""
        i = np.clip(np.searchsorted(self._alphas, alphas), 1, len(self._alphas) - 1)
        lower = np.maximum(self._line(i - 1, alphas), self._line(i, alphas))
        # chord: the left knot minus a slope rounded down times a distance rounded down
        run = np.maximum(_down(alphas - self._alphas[i - 1]), 0.0)
        upper = _up(self._betas[i - 1] - np.maximum(_down(self._falls[i] * run), 0.0))
        return np.maximum(lower, 0.0), np.minimum(upper, _up(1.0 - alphas))

    def epsilons(self, alpha: float) -> tuple[float, float]:
        """A guess of a short interval of epsilons with Q[L > epsilon] = alpha in it."""
        i = min(max(int(np.searchsorted(self._alphas, alpha)), 2), len(self._alphas) - 2)
        low, high = self._epsilons[i], self._epsilons[i - 1]
        part = np.clip((self._alphas[i] - alpha) / (self._alphas[i] - self._alphas[i - 1]), -1, 2)
        middle, reach = low + part * (high - low), 0.01 * (high - low)
        return float(middle - reach), float(middle + reach)

    def _line(self, i: np.ndarray[tuple[int, ...], np.dtype[np.intp]], alphas: Floats) -> Floats:
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
        turns = _powers(acb(0, -arb.pi() / number).exp() * fall, count)
        results = []
        for kind in (Kind.UPPER_P, Kind.UPPER_Q):
            error = contour.error(kind, arb(0)) * arb(0, 1)  # it decreases in x, as all exponents are >= 0
            sums = acb.dft(contour.transform(kind) + [acb(0)] * (number - plan.number))
            results.append([(turn * value).real + error for turn, value in zip(turns, sums[:count], strict=True)])
    return epsilons, results[0], results[1]


def _last_epsilon(engine: ContourEngine) -> float:
    """About where P[L > epsilon] is negligible; both other tails are smaller."""
    low, high = 0.0, max(engine.moments.spread, 1e-300)
    while engine.planner.log_value(Kind.UPPER_P, high) > _LOG_TAIL:
        low, high = high, 2 * high
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if engine.planner.log_value(Kind.UPPER_P, middle) > _LOG_TAIL else (low, middle)
    return high


def _down(values: Floats) -> Floats:
    return np.nextafter(values, -np.inf)


def _up(values: Floats) -> Floats:
    return np.nextafter(values, np.inf)
