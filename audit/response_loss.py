"""The privacy loss of randomised response, repeated: that of discrete Laplace noise moved by one, too."""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Sequence
from fractions import Fraction
from typing import final

import numpy as np
from flint import arb

from dpverdict.audit.ball_loss import BallLoss
from dpverdict.audit.loss_domains import Floats
from dpverdict.audit.loss_tails import LossTails, finite_losses
from dpverdict.audit.profile_curves import ACCURACY, epsilon_ball, log_delta_ball
from dpverdict.balls import MAX_BITS, Exact, ball, exactly, refine
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.exact_text import exact_text
from dpverdict.mechanisms.mechanism import check_positive

MOST_TIMES = 100_000
"""The largest number of coordinates."""

RELATIVE_ERROR = 2.0**-50
"""Bound on the relative error of the float64 tails: certified balls, rounded to nearest."""


@final
class ResponseLoss(BallLoss):
    """The privacy loss of m independent randomised responses, each of which is ``rate``-DP and no better.

    Of one, L = rate with probability 1/(1 + exp(-rate)) under P and L = -rate otherwise, the other way round under Q.
    The losses add: L = rate (m - 2 K) with K binomial, of m trials with probability 1/(1 + exp(rate)) under P and
    1/(1 + exp(-rate)) under Q. An integer with noise P(z) proportional to exp(-rate |z|), moved by 1, has exactly this
    loss with m = 1: the density ratio is exp(rate) at z <= 0 and exp(-rate) at z >= 1.

    Symmetry: P against Q and Q against P have the same curves, and the trade-off function is its own inverse.

    Accuracy: every curve is a finite sum of positive terms; the float64 methods round balls to nearest.

    Args:
        m: the number of responses, 0 to `MOST_TIMES`; with 0 the two laws are the same.
        rate: epsilon of one response, > 0, at its exact value.

    Raises:
        InvalidValue: a number out of range.

    Reference: Kairouz, Oh and Viswanath 2017, Theorem 3.3 (arXiv:1311.0776): the profile is the optimal composition of
        m rate-DP mechanisms.

    >>> loss = ResponseLoss(3, "1/3")
    >>> loss.total, loss.delta(1), loss.certified_delta("0.5")
    (Fraction(1, 1), 0.0, Enclosure([0.077795720663528258, 0.077795720663528273]))
    """

    __slots__ = ("_m", "_rate")

    def __init__(self, m: int, rate: Exact) -> None:
        self._m = _times(m)
        self._rate = check_positive(rate, "rate")

    @property
    def times(self) -> int:
        """The number of responses m."""
        return self._m

    @property
    def rate(self) -> Fraction:
        """The epsilon of one response, exactly."""
        return self._rate

    @property
    def total(self) -> Fraction:
        """m * rate: the largest value of the loss, and the pure epsilon."""
        return self._m * self._rate

    # sums over the atoms ----------------------------------------------------------------------------------------------

    def _below(self, level: Fraction, *, or_equal: bool = False) -> int:
        """How many atoms, counted from the largest, are above ``level`` (at or above it)."""
        last = (self._m - level / self._rate) / 2  # rate (m - 2 k) > level means k < last
        found = math.floor(last) + 1 if or_equal else math.ceil(last)
        return min(max(found, 0), self._m + 1)

    def _mass(self, first: int, last: int, *, under_q: bool) -> arb:
        """P[first <= K < last], or that under Q, at the current precision."""
        rate, total = ball(self._rate), arb(0)
        for k in range(first, last):
            total += arb(math.comb(self._m, k)) * (rate * (k if under_q else self._m - k)).exp()
        return total / (1 + rate.exp()) ** self._m

    def profile(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon), the sum over the atoms l > epsilon of P(l) (1 - exp(epsilon - l)), to ``bits`` bits."""
        count = self._below(epsilon)
        if count == 0:
            return arb(0)

        def evaluate() -> arb:
            rate, total = ball(self._rate), arb(0)
            for k in range(count):
                gap = ball(epsilon - self._rate * (self._m - 2 * k))
                total -= arb(math.comb(self._m, k)) * (rate * (self._m - k)).exp() * gap.expm1()
            return total / (1 + rate.exp()) ** self._m

        return refine(evaluate, bits=bits, max_bits=max(MAX_BITS, 4 * bits), name="delta")

    def p_above(self, level: Fraction, bits: int) -> arb:
        """P[L > level], to ``bits`` accurate bits."""
        return self._tail(0, self._below(level), False, bits)

    def q_above(self, level: Fraction, bits: int) -> arb:
        """Q[L > level], to ``bits`` accurate bits."""
        return self._tail(0, self._below(level), True, bits)

    def _tail(self, first: int, last: int, under_q: bool, bits: int) -> arb:
        if last - first == self._m + 1:
            return arb(1)
        return arb(0) if last == first else refine(lambda: self._mass(first, last, under_q=under_q), bits=bits)

    # float64 ----------------------------------------------------------------------------------------------------------

    def tails(self, l: Floats) -> LossTails:
        """The four tails at losses of shape (n,); a loss that is exactly an atom is not above itself."""
        losses = finite_losses(l)
        cuts = np.array([self._below(Fraction(x)) for x in losses.ravel().tolist()], dtype=np.int64)
        distinct, place = np.unique(cuts, return_inverse=True)
        values = np.array(
            [
                [float(self._tail(0, cut, under_q, ACCURACY)), float(self._tail(cut, self._m + 1, under_q, ACCURACY))]
                for cut in distinct.tolist()
                for under_q in (False, True)
            ],
            dtype=np.float64,
        ).reshape(len(distinct), 4)[place]
        p_above, p_below, q_above, q_below = values.T.reshape(4, *losses.shape)
        return LossTails(
            p_above=p_above, p_below=p_below, q_above=q_above, q_below=q_below, relative_error=RELATIVE_ERROR
        )

    # balls ------------------------------------------------------------------------------------------------------------

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [self.profile(exactly(epsilon), ACCURACY) for epsilon in epsilons]

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [log_delta_ball(self.profile, exactly(epsilon)) for epsilon in epsilons]

    def _epsilon_ball(self, delta: Fraction) -> arb:
        if delta == 1 or self._m == 0:
            return arb(0)
        if delta == 0:
            return refine(lambda: ball(self.total), bits=ACCURACY)
        return epsilon_ball(self.profile, delta, highest=self.total)

    def _beta_ball(self, alpha: Fraction) -> arb:
        """The largest of the m + 1 lines that the trade-off function consists of, each with the slope -exp(atom)."""
        if alpha in (0, 1) or self._m == 0:
            return refine(lambda: ball(1 - alpha), bits=ACCURACY)

        def evaluate() -> arb:
            rate, level = ball(self._rate), ball(alpha)
            whole = (1 + rate.exp()) ** self._m
            before, best = arb(0), arb(0)  # Q[K < k], and the highest line so far
            rest = arb(1)  # P[K >= k]
            for k in range(self._m + 1):
                line = rest + (rate * (self._m - 2 * k)).exp() * (before - level)
                best = best.max(line)
                ways = arb(math.comb(self._m, k))
                before += ways * (rate * k).exp() / whole
                rest -= ways * (rate * (self._m - k)).exp() / whole
            return best

        return refine(evaluate, bits=ACCURACY, name="beta")

    def _renyi_ball(self, order: Fraction) -> arb:
        """m log(cosh((a - 1/2) rate)/cosh(rate/2))/(a - 1), and m rate tanh(rate/2) at a = 1."""
        if self._m == 0:
            return arb(0)

        def evaluate() -> arb:
            rate = ball(self._rate)
            if order == 1:
                return self._m * rate * (rate / 2).tanh()
            # cosh((a - 1/2) r)/cosh(r/2) - 1 = 2 sinh(a r/2) sinh((a - 1) r/2)/cosh(r/2), which does not cancel at 1
            rest = 2 * (rate * ball(order) / 2).sinh() * (rate * ball(order - 1) / 2).sinh() / (rate / 2).cosh()
            return self._m * rest.log1p() / ball(order - 1)

        return refine(evaluate, bits=ACCURACY, name="renyi")

    def _advantage_ball(self) -> arb:
        return self.profile(Fraction(0), ACCURACY)

    def __repr__(self) -> str:
        return f"ResponseLoss({self._m}, {exact_text(self._rate)!r})"


def _times(m: object) -> int:
    with contextlib.suppress(TypeError):
        number = operator.index(m)  # type: ignore[arg-type]  # what is no integer raises
        if 0 <= number <= MOST_TIMES and not isinstance(m, bool):
            return number
    raise InvalidValue("m", m, f"an integer in [0, {MOST_TIMES}]", "give the number of responses")
