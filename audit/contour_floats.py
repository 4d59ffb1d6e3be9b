"""Contours in float64: many values at once, each with a bound of its relative error.

About a middle x0, h(x) = exp(-c (x - x0)) Re(sum a_k exp(-i w_k (x - x0))), where the numbers a_k = exp(-x0 t_k) F(t_k)
come from balls, divided by the size of the first one; only the rest is done in float64. With S = sum |a_k|, N nodes and
u = 2^-53, the relative error of the sum s is at most about (3 max|w_k (x - x0)| + N + 8) u S/|s|, and that of the
factors (3 |c (x - x0)| + |log size| + 4) u. The bound used is four times that, plus alias and truncation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from flint import acb, arb
from numpy.typing import NDArray

from dpverdict.audit.contour import Contour
from dpverdict.audit.contour_engine import ContourEngine, Way
from dpverdict.audit.contour_plan import Kind
from dpverdict.audit.loss_domains import Floats
from dpverdict.audit.moment_functions import powers
from dpverdict.balls import float_up, precision

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

    logarithms: Floats
    sums: Floats
    factor_errors: Floats
    sum_errors: Floats
    log_charges: Floats


def evaluate(contour: Contour, kind: Kind, points: Floats) -> FloatValues:
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


def curve(engine: ContourEngine, ways: Sequence[Way], points: Floats, relative_error: float) -> Floats:
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


def _run(engine: ContourEngine, ways: Sequence[Way], places: Floats) -> tuple[Floats, Floats]:
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
