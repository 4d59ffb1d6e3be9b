"""Events about a sum of whole-numbered scores over steps or epochs: what they show is certainly attained.

**Scores of steps.** Without the record every step releases N(0, s^2), and with it k of T steps release N(a, s^2); if it
is replaced by its opposite, these k release N(-b, s^2) instead. In which steps it is does not matter to the sum S of
G(y_t) over all steps, for a function G with values in the whole numbers: its law is that of k summands of one kind and
T - k of another, and so the same for k of T steps that are drawn uniformly, for k epochs of T/k steps of balls in bins,
and for any other way to choose k steps independently of the data. G is the log-likelihood ratio of a step under Poisson
sampling of rate k/T, rounded to multiples of a width.

**Scores of epochs.** Of shuffled batches, as in `dpverdict.audit.sampling.shuffled`, the largest release y of an epoch
has P[y <= c] = Phi((c - m)/s) Phi(c/s)^(b - 1), the batch of the canary having the mean m, and the others 0. S is the
sum over epochs of the log-likelihood ratio of y, rounded. It does not matter which of the b batches it is, so that the
last one of an epoch may be smaller.

Where a score changes is a float64 number, taken exactly. S is reduced modulo M to M successive numbers, of which the
laws are computed in balls: a discrete Fourier transform of the masses of one score, taken to the power of the number of
summands. An event about S modulo M is one about the release, so that nothing is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple, final

import numpy as np
import scipy
from flint import acb, arb

from dpverdict.audit.losses.domains import Direction, EventBound
from dpverdict.balls import ball, precision
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.gaussian import BallNormal
from dpverdict.numerics.text import exact_text, short_text

_NORMAL: Final = BallNormal()
_BITS: Final = 192
_PARTS: Final = 8
"""Cells in a standard deviation of one score."""
_LONGEST: Final = 1 << 15
"""Cells between the ends of what S usually is, at most."""
_FAR: Final = 9.0
"""Standard deviations of S to each side of its means that are told apart."""
_POINTS: Final = 20_001
_REACH: Final = 13.0
"""Standard deviations of a release beyond which all have one score."""
_DECIMALS: Final = 6


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Summand:
    """A release, or the largest of an epoch, whose score is added up.

    Attributes:
        density: of it on the line, in float64, which only steers.
        above: the probability that it is above a place, in balls at the current precision.
    """

    density: Callable[[Array], Array]
    above: Callable[[arb], arb]


class _Laws(NamedTuple):
    """The masses of S at its least number and those that follow, with the record and without it or replaced."""

    least: int
    here: list[arb]
    away: list[arb]


@final
@dataclass(frozen=True, kw_only=True)
class ScoredSums:
    """What a sum of scores shows: of `taken` summands that depend on the record, and `plain` ones that do not.

    Attributes:
        here: a summand with the record.
        away: one without it, or with its replacement.
        plain: one that it takes no part in.
        taken: how many depend on the record.
        rest: how many do not.
        line: places in increasing order, between which about all releases lie.
        score: the scores there before they are rounded, which do not fall.
        words: S, in words, but for what it is reduced to.
    """

    here: Summand
    away: Summand
    plain: Summand
    taken: int
    rest: int
    line: Array = field(repr=False)
    score: Array = field(repr=False)
    words: str

    def event(self, epsilon: Fraction) -> EventBound:
        """An event that shows about as much of delta(epsilon) as any about S does, in the order that shows more."""
        growth = math.exp(min(float(epsilon), 700.0))
        found = []
        for order, (own, other) in zip(Direction, self._tails, strict=True):
            place = int((own - growth * other).argmax())
            found.append((float(own[place] - growth * other[place]), order, place))
        _, order, place = max(found, key=lambda one: one[0])
        laws, last = self._laws, self._laws.least + len(self._laws.here) - 1
        remove = order is Direction.REMOVE
        with precision(_BITS):
            if remove:
                p, q = (sum(part[place:], arb(0)) for part in (laws.here, laws.away))
            else:
                p, q = (sum(part[: place + 1], arb(0)) for part in (laws.away, laws.here))
        side = "at least" if remove else "at most"
        law = "P with the record, Q without" if remove else "P without the record, Q with it"
        words = f"{self.words} in units of {self._width:.6g}, rounded, reduced to {laws.least}...{last},"
        return EventBound(event=f"{words} is {side} {laws.least + place} ({law})", p_ball=p, q_ball=q)

    # in float64, which only steers ------------------------------------------------------------------------------------

    def _spread(self, summand: Summand) -> tuple[float, float]:
        """The mean and the variance of the score of a summand."""
        weights = summand.density(self.line)
        weights = weights / weights.sum()
        centre = float(weights @ self.score)
        return centre, float(weights @ (self.score - centre) ** 2)

    @cached_property
    def _reach(self) -> tuple[float, float]:
        """Between what S is, all but always."""
        plain, ends = self._spread(self.plain), []
        for summand in (self.here, self.away):
            own = self._spread(summand)
            centre = self.taken * own[0] + self.rest * plain[0]
            spread = _FAR * math.sqrt(self.taken * own[1] + self.rest * plain[1])
            ends += [centre - spread, centre + spread]
        return min(ends), max(ends)

    @cached_property
    def _width(self) -> float:
        """Of a cell."""
        low, high = self._reach
        return max(math.sqrt(self._spread(self.plain)[1]) / _PARTS, (high - low) / _LONGEST)

    @cached_property
    def _least(self) -> int:
        """Of the scores."""
        return round(float(self.score[0] / self._width))

    @cached_property
    def _ends(self) -> list[Fraction]:
        """Where each score but the least begins, exactly."""
        levels = self.score / self._width
        most = min(round(float(levels[-1])), self._least + _LONGEST)
        ends = np.interp(np.arange(self._least, most) + 0.5, levels, self.line)
        return [Fraction(end) for end in np.maximum.accumulate(ends).tolist()]

    @cached_property
    def _tails(self) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """P and Q of S >= x, then Q and P of S <= x, at all x."""
        here, away = (np.array([float(mass.mid()) for mass in part]) for part in self._laws[1:])
        above = [np.cumsum(part[::-1])[::-1] for part in (here, away)]
        below = [np.cumsum(part) for part in (away, here)]
        return (above[0], above[1]), (below[0], below[1])

    # balls ------------------------------------------------------------------------------------------------------------

    @cached_property
    def _laws(self) -> _Laws:
        low, high = self._reach
        number = 1 << max(4, math.ceil(math.log2((high - low) / self._width + 2)))
        start = math.floor(low / self._width)
        shift = (self.taken + self.rest) * self._least - start
        with precision(_BITS):
            places = [ball(end) for end in self._ends]

            def transformed(summand: Summand) -> list[acb]:
                tails = [arb(1), *(summand.above(place) for place in places), arb(0)]
                table = [arb(0)] * number
                for score, (left, right) in enumerate(pairwise(tails)):
                    table[score % number] += left - right
                return acb.dft([acb(mass) for mass in table])

            powers = [value**self.rest for value in transformed(self.plain)] if self.rest else [acb(1)] * number

            def law(summand: Summand) -> list[arb]:
                product = [own**self.taken * power for own, power in zip(transformed(summand), powers, strict=True)]
                found = [value.real for value in acb.dft(product, inverse=True)]
                return [found[(place - shift) % number] for place in range(number)]

            return _Laws(start, law(self.here), law(self.away))


def _normal(mean: int, multiplier: Fraction) -> Summand:
    s = float(multiplier)
    return Summand(
        density=lambda y: np.exp(-(((y - mean) / s) ** 2) / 2),
        above=lambda place: _NORMAL.tail((place - mean) / ball(multiplier)),
    )


def scored_steps(*, noise_multiplier: Fraction, steps: int, taken: int, up: int = 1, down: int = 0) -> ScoredSums:
    """Sums over all steps, of a record that takes part in a given number of them; see the module.

    Args:
        noise_multiplier: s > 0.
        steps: T.
        taken: k, from 1 to T.
        up: a > 0, how far the record moves a step, in units of the clipping norm.
        down: b >= 0, how far its replacement moves a step to the other side; 0 where it is removed.

    >>> sums = scored_steps(noise_multiplier=Fraction(1), steps=1000, taken=10)
    >>> sums.event(Fraction("1.68")).delta_lower("1.68") > 1e-5  # 10 epochs of balls in bins keep 1.7015 at 1e-5
    True
    """
    s, q = float(noise_multiplier), taken / steps
    line = np.linspace(-down - _REACH * s, up + _REACH * s, _POINTS)
    score, words = np.zeros(line.shape), []
    for sign, moved in ((1, up), (-1, down)):
        if moved:
            with np.errstate(divide="ignore"):
                score += sign * np.logaddexp(
                    np.log1p(-q), math.log(q) + (2 * sign * moved * line - moved**2) / 2 / s**2
                )
            rate = exact_text(Fraction(taken, steps))
            words.append(f"log(1 - {rate} + {rate} exp(({2 * sign * moved} y - {moved**2})/(2 s^2)))")
    moves = "along the canary's gradient in units of the clipping norm"
    return ScoredSums(
        here=_normal(up, noise_multiplier),
        away=_normal(-down, noise_multiplier),
        plain=_normal(0, noise_multiplier),
        taken=taken,
        rest=steps - taken,
        line=line,
        score=score,
        words=f"the sum over all {steps} steps, y the noisy sum {moves}, "
        f"s = {short_text(noise_multiplier)}, of {' - '.join(words)}",
    )


def scored_epochs(*, deviation: Fraction, batches: int, epochs: int, with_it: int, without: int) -> ScoredSums:
    """Sums over epochs of scores of their largest releases; see the module.

    Args:
        deviation: s > 0.
        batches: b of an epoch.
        epochs: their number.
        with_it: the mean of the canary's batch.
        without: that of the same batch where it is removed or replaced.
    """
    s, log_cdf = float(deviation), scipy.special.log_ndtr
    top = max(with_it, without) + _REACH * s
    line = np.linspace(-3 * s, max(top, s * math.sqrt(2 * math.log(batches + 1)) + 6 * s), _POINTS)

    def log_density(mean: int) -> Array:
        own, others = log_cdf((line - mean) / s), (batches - 1) * log_cdf(line / s)
        slope = np.exp(-(((line - mean) / s) ** 2) / 2 - own) + (batches - 1) * np.exp(
            -((line / s) ** 2) / 2 - log_cdf(line / s)
        )
        found: Array = own + others + np.log(np.maximum(slope, 1e-300))
        return found

    def largest(mean: int) -> Summand:
        def above(place: arb) -> arb:
            own, other = (_NORMAL.tail((place - m) / ball(deviation)) for m in (mean, 0))
            return -((-own).log1p() + (batches - 1) * (-other).log1p()).expm1()

        return Summand(density=lambda y: np.exp(log_density(mean)), above=above)

    here, away = largest(with_it), largest(without)
    score: Array = np.maximum.accumulate(log_density(with_it) - log_density(without)).round(_DECIMALS)
    return ScoredSums(
        here=here,
        away=away,
        plain=away,
        taken=epochs,
        rest=0,
        line=line,
        score=score,
        words=f"the sum over all {epochs} epochs, y the largest release along the canary's gradient in units of the "
        f"clipping norm and less its mean without the canary, s = {short_text(deviation)}, of the log-likelihood ratio "
        "of y",
    )
