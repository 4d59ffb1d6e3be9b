"""The privacy profile of the best of K runs, from the profile of one: a bound for every score, and events that attain.

A run draws z from P on a dataset, from Q on its neighbour; the runs have a total order, such as by their score, which
is a function of what they release; ties are broken by fresh random numbers. Let G be the generating function of K (see
`dpverdict.mechanisms.tuning.numbers_of_runs`), u and v the chances under P and under Q that a run is not better than z,
and L the likelihood ratio of P against Q at z. The best run has the density G'(u) dP and G'(v) dQ, so that

    delta(epsilon) = E_Q[(G'(u) L - exp(epsilon) G'(v))_+].

*From above.* With delta_1 the profile of one run, u <= U(v) = min over x of delta_1(x) + exp(x) v, whatever the order.
The term is at most psi(L), the supremum over all v in [0, 1] of (G'(U(v)) L - exp(epsilon) G'(v))_+. That is convex in
L, so that E_Q[psi(L)] is the integral of delta_1(log l) over psi''(l): a bound by the profile of one run alone, for
every score and every pair. For a run that is pure e-DP it is 0 from epsilon = (2 + h) e on where K is truncated
negative binomial, and from e + m tanh(e/2) on where it is Poisson.

*From below.* Better than all others be the runs with the least likelihood ratio, of the chances 1 - U and 1 - v; of the
others the better ones have the larger ratio, of which those from some ratio on have the chances a and b. That one of
these is the best has the probabilities G(U) - G(U - a) and G(v) - G(v - b). Of all orders with an event of one piece
this shows most: what is better than the event, or in it, and what is worse, are then on the boundary of the testing
region. Where a and b are small, G'(U) a and G'(v) b, it comes near the bound.

K = 0 releases nothing, with one probability for both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from flint import arb

from dpverdict.audit.losses.base import ExactLoss, PrivacyLoss
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.balls import ball, float_down, float_up, precision
from dpverdict.mechanisms.tuning.numbers_of_runs import NumberOfRuns
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import as_fraction

BITS: Final = 128
_LEVELS: Final = 120
"""The profile of one run is asked for at so many positive levels, and as many negative ones follow."""
_SMALLEST: Final = 1e-24
"""The profile of one run at the largest level, unless it ends before."""
_STEP: Final = 0.02
"""By how much log G'(v) and log G'(U(v)) move in a cell, together: the bound is off by the square of half of it."""
_MOST_CELLS: Final = 1 << 13
_SAMPLES: Final = 1 << 14
_FAR: Final = 80.0  # the log odds of the extreme places v that are looked at
_NEGLIGIBLE: Final = 1e-26
"""Where G'(U(v)) is below this is one cell, in which G'(v) counts as what it is at 0."""
_TAIL_BITS: Final = 64
_TOLD: Final = 1e-7
_COARSE: Final = 16
_PARTS: Final = 32
_HALVINGS: Final = 8
_REST: Final = 1e-18
"""What a law that dominates the search tells for certain, at most about."""
_FARTHEST: Final = 1 << 9
"""The level at which that is looked for no further."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RunProfile:
    """Upper bounds on the privacy profile of one run, in one order of every pair, at increasing levels.

    Attributes:
        levels: -x_n, ..., 0, ..., x_n, exactly.
        deltas: upper bounds on delta(x) at each, in balls.
    """

    levels: tuple[Fraction, ...]
    deltas: tuple[arb, ...]

    @staticmethod
    def of(loss: PrivacyLoss) -> tuple[RunProfile, ...]:
        """From a certified loss that dominates every pair: one profile, or those of both orders where they differ.

        At -x it is 1 - exp(-x) + exp(-x) delta(x), of the other order. The orders are told apart where delta is not
        tiny; beyond, the larger one stands for both.
        """
        largest = loss.largest_loss if isinstance(loss, ExactLoss) else None
        step = _coarse((loss.epsilon(_SMALLEST) if largest is None else float(largest)) / _LEVELS)
        above = [step * i for i in range(_LEVELS + 1)]
        if largest is not None:
            above = [level for level in above if level < largest] + [largest]
        levels = (*(-level for level in above[:0:-1]), *above)
        both = loss.certified_delta(above).upper
        near = int((both > _TOLD).sum())
        orders = [one for _, one in loss.directions()]
        uppers = [both]
        if len(orders) == 2:
            uppers = [np.concatenate([one.certified_delta(above[:near]).upper, both[near:]]) for one in orders]
        found = []
        with precision(BITS):
            for own, other in zip(uppers, uppers[::-1], strict=True):
                below = []
                for level, delta in zip(above[:0:-1], other[:0:-1].tolist(), strict=True):
                    shrunk = ball(-level).exp()
                    below.append(1 - shrunk + shrunk * arb(delta))
                deltas = (*below, *(arb(delta) for delta in own.tolist()))
                found.append(RunProfile(levels=levels, deltas=deltas))
        return tuple(found)


def _coarse(number: float) -> Fraction:
    """About the number, with few bits: its multiples are float64."""
    mantissa, exponent = math.frexp(number)
    return Fraction(math.ceil(mantissa * (1 << _COARSE))) * Fraction(2) ** (exponent - _COARSE)


class _OrderBound:
    """Upper bounds on delta(epsilon) of the best of K runs in one order of a pair, for every score."""

    def __init__(self, profile: RunProfile, runs: NumberOfRuns) -> None:
        self._profile, self._runs = profile, runs
        with precision(BITS):
            self._ratios = [ball(level).exp() for level in profile.levels]
            self._lines = tuple(np.array([float(x) for x in part]) for part in (self._ratios, profile.deltas))
            self._mean = runs.mean()
            self._slopes, self._offsets = self._cells()

    def at(self, epsilon: Fraction) -> arb:
        """A ball whose upper end no delta(epsilon) exceeds, epsilon >= 0."""
        with precision(BITS):
            heights = [arb(height) for height in self._heights(float_down(ball(epsilon).exp()))]
            knots, values = [arb(0), *self._ratios], [arb(0), *heights]  # psi(0) = 0
            slopes = [(values[i + 1] - values[i]) / (knots[i + 1] - knots[i]) for i in range(len(heights))]
            found = slopes[0].max(arb(0))  # times delta(-infinity) = 1
            for former, slope, delta in zip(slopes, [*slopes[1:], self._mean], self._profile.deltas, strict=True):
                found += (slope - former).max(arb(0)) * delta
            return found.min(arb(1)).upper()

    def _heights(self, grown: float) -> list[float]:
        """Upper bounds on psi at every ratio, in float64 rounded outward: the largest of all lines, and 0."""
        found = []
        with np.errstate(over="ignore"):
            costs = np.nextafter(grown * self._offsets, 0.0)  # rounded down: they are not negative
            for ratio in self._ratios:
                products = np.nextafter(float_up(ratio) * self._slopes, np.inf)
                found.append(max(0.0, float(np.nextafter(products - costs, np.inf).max())))
        return found

    def _cells(self) -> tuple[Array, Array]:
        """Lines W, C: in every cell of v, G'(U(v)) L - exp(epsilon) G'(v) <= max of W L - exp(epsilon) C, C >= 0.

        G'(U(v)) is convex where U is a line, so that it is below its chord; G'(v) is above its tangent, or above
        its value at the lower end of the cell, since it grows.
        """
        ends, runs = self._ends(), self._runs
        crossings, heights = self._lines
        middles = (ends[:-1] + ends[1:]) / 2
        best = np.empty(len(middles), dtype=np.int64)
        for start in range(0, len(middles), 1024):
            part = slice(start, start + 1024)
            best[part] = np.argmin(heights[:, None] + crossings[:, None] * middles[None, part], axis=0)
        slopes, offsets = [float_up(self._mean)], [float_down(runs.slope(arb(1)))]  # v = 1
        one, mean = arb(1), self._mean
        for low, high, middle, line in zip(
            ends[:-1].tolist(), ends[1:].tolist(), middles.tolist(), best.tolist(), strict=True
        ):
            tallest = self._profile.deltas[line] + self._ratios[line] * arb(high)
            first, second = mean, mean
            if tallest < one:
                first = runs.slope(self._profile.deltas[line] + self._ratios[line] * arb(low))
                second = runs.slope(tallest)
            level, tilt = runs.slope(arb(middle)), runs.curvature(arb(middle))
            least = [float_down(level + tilt * (arb(place) - arb(middle))) for place in (low, high)]
            if min(least) < 0:  # of a tangent that is cut off at 0 no chord would be below G'
                least = [max(0.0, float_down(runs.slope(arb(low))))] * 2
            slopes += [float_up(first), float_up(second)]
            offsets += least
        return np.array(slopes), np.array(offsets)

    def _ends(self) -> Array:
        """Places 0 = v_0 < ... < v_n = 1, closer where G'(v) or G'(U(v)) moves; no bound rests on where they are."""
        odds = np.linspace(-_FAR, _FAR, _SAMPLES)
        v = 1 / (1 + np.exp(-odds))
        crossings, heights = self._lines
        u = np.ones_like(v)
        for crossing, height in zip(crossings, heights, strict=True):
            u = np.minimum(u, height + crossing * v)
        with np.errstate(divide="ignore"):
            moved = np.log(np.maximum(self._runs.slope(u), 1e-300))
            plain = np.log(np.maximum(self._runs.slope(v), 1e-300))
        held = np.flatnonzero(moved > np.log(_NEGLIGIBLE))
        start = int(held[0]) if len(held) else 0
        travelled = np.abs(np.diff(moved[start:])) + np.abs(np.diff(plain[start:])) + np.diff(odds[start:]) / 64
        reached = np.concatenate([[0.0], np.cumsum(travelled)])
        number = int(min(_MOST_CELLS, max(64.0, reached[-1] / _STEP)))
        chosen = np.interp(np.linspace(0.0, reached[-1], number), reached, v[start:])
        ends: Array = np.unique(np.concatenate([[0.0], chosen, [1.0]]))
        return ends


@final
class SearchBound:
    """Upper bounds on delta(epsilon) of the best of K runs, for every score.

    Args:
        profiles: of one run, in the orders in which it may differ.
        runs: the law of K.
    """

    def __init__(self, profiles: Sequence[RunProfile], runs: NumberOfRuns) -> None:
        self._reach = profiles[0].levels[-1]
        self._orders = [_OrderBound(profile, runs) for profile in profiles]

    def at(self, epsilon: Fraction) -> arb | None:
        """A ball whose upper end no delta(epsilon) exceeds; None at epsilon < 0."""
        if epsilon < 0:
            return None
        first, *others = [order.at(epsilon) for order in self._orders]
        for other in others:
            first = first.max(other)
        return first

    def dominating(self) -> FiniteLoss:
        """A loss on finitely many outcomes that dominates that of every pair, in both orders: it composes.

        Its trade-off function is that of the bounds at some levels: P(S) <= delta(x) + exp(x) Q(S).
        """

        def at(level: Fraction) -> Fraction:
            bound = self.at(level)
            assert bound is not None
            return as_fraction(bound.upper())

        reach = self._reach
        while at(reach) > _REST and reach < _FARTHEST:
            reach *= 2
        low = Fraction(0)
        for _ in range(_HALVINGS):
            middle = (low + reach) / 2
            low, reach = (middle, reach) if at(middle) > _REST else (low, middle)
        levels = [reach * i / _PARTS for i in range(_PARTS + 1)]
        uppers = [at(level) for level in levels]
        lines = [(Fraction(0), Fraction(1))]
        with precision(BITS):
            for level, upper in zip(levels, uppers, strict=True):
                grown, shrunk = (ball(sign * level).exp() for sign in (1, -1))
                lines.append((as_fraction(grown.upper()), upper))
                lines.append((as_fraction(shrunk.upper()), as_fraction((1 - shrunk + shrunk * ball(upper)).upper())))
        return _law_below(lines)


def _law_below(lines: Sequence[tuple[Fraction, Fraction]]) -> FiniteLoss:
    """The pair of laws whose largest P(S) at Q(S) = v is the least of a + b v over the lines (b, a): (0, 1) is one.

    Every part of that function is an outcome, of the likelihood ratio b; what it is at 0 has Q(S) = 0.
    """
    left = sorted(lines, key=lambda line: (line[1], line[0]))
    slope, height = left[0]
    p, q, place = [height], [Fraction(0)], Fraction(0)
    while place < 1 and slope > 0:
        crossings = [((a - height) / (slope - b), b, a) for b, a in left if b < slope]
        end, after, above = min(crossings)
        width = min(end, Fraction(1)) - place
        p.append(slope * width)
        q.append(width)
        place, slope, height = place + width, after, above
    p.append(Fraction(0))
    q.append(1 - place)
    return FiniteLoss(p, q)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RunTails:
    """The chances that a run is above thresholds at which its likelihood ratio grows, under both laws.

    Attributes:
        thresholds: increasing.
        p, q: about the chances to be above each, in float64.
        exact: from a threshold to balls that enclose both.
    """

    thresholds: tuple[Fraction, ...]
    p: Array
    q: Array
    exact: Callable[[Fraction], tuple[arb, arb]]

    @staticmethod
    def of_loss(pair: PrivacyLoss, profile: RunProfile) -> RunTails:
        """Those of the privacy loss of a pair in its first order; Q[L > x] is about -d delta/d exp(x)."""
        loss = pair.directions()[0][1]
        levels, deltas = profile.levels, np.array([float(delta) for delta in profile.deltas])
        ratios = np.exp([float(level) for level in levels])
        q = np.clip(-np.gradient(deltas, ratios), 0.0, 1.0)
        p = np.clip(deltas + ratios * q, 0.0, 1.0)

        def exact(level: Fraction) -> tuple[arb, arb]:
            first, second = loss.upper_tails([level], _TAIL_BITS)
            return first[0], second[0]

        return RunTails(thresholds=levels, p=p, q=q, exact=exact)

    def best(self, runs: NumberOfRuns, epsilon: float, cuts: Sequence[Fraction | None] | None = None) -> EventOfSearch:
        """The event that shows most of delta(epsilon), as far as float64 tells: with any cut, or with those given."""
        p, q = np.concatenate([[1.0], self.p]), np.concatenate([[1.0], self.q])
        grown = float(np.exp(min(epsilon, 700.0)))
        found = EventOfSearch(cut=None, threshold=self.thresholds[0], shown=-np.inf)
        numbers = {None: 0} | {threshold: i + 1 for i, threshold in enumerate(self.thresholds)}
        for at in numbers.values() if cuts is None else [numbers[cut] for cut in cuts]:
            here, there = (
                runs.generating(law[at : at + 1]) - runs.generating(np.maximum(law[at] - law[max(at, 1) :], 0.0))
                for law in (p, q)
            )
            shown = here - grown * there
            best = int(np.argmax(shown))
            if shown[best] > found.shown:
                where = self.thresholds[at - 1] if at else None
                threshold = self.thresholds[max(at, 1) - 1 + best]
                found = EventOfSearch(cut=where, threshold=threshold, shown=float(shown[best]))
        return found

    def chances(self, runs: NumberOfRuns, event: EventOfSearch) -> tuple[arb, arb]:
        """Encloses the probabilities of an event under both laws: G(s) - G(s - a) grows with s and with a."""
        whole = (arb(1), arb(1)) if event.cut is None else self.exact(event.cut)
        parts = self.exact(event.threshold)
        laws = []
        with precision(BITS):
            for s, a in zip(whole, parts, strict=True):
                ends = []
                for top, part in ((s.lower(), a.lower()), (s.upper(), a.upper())):
                    full = top.max(arb(0)).min(arb(1))
                    ends.append(runs.generating(full) - runs.generating((full - part.max(arb(0))).max(arb(0))))
                laws.append(ends[0].union(ends[1]))
        return laws[0], laws[1]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EventOfSearch:
    """That the best run is above a threshold, where runs at or below the cut are better than all above it.

    Attributes:
        cut: None where runs are better the larger they are.
        threshold: at least the cut.
        shown: about what it shows of delta.
    """

    cut: Fraction | None
    threshold: Fraction
    shown: float
