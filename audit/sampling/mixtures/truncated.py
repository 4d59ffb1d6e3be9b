"""Losses of which the rarest cases are cut off: simpler pairs, each with what it may miss, finer and finer.

Let (P, Q) be a pair, (P0, Q) one that tells no more, in either order, and s >= 0 such that for every event E

    P(E) <= P0(E) + s,          P0(E) <= (1 + s) P(E).

Then, in either order and at every real epsilon,

    delta0(epsilon) <= delta(epsilon) <= delta0(epsilon) + s:

P against Q by the first inequality; Q against P by the second one, at the best event E, where e^epsilon P(E) <= Q(E)
<= 1 and so e^epsilon (P0(E) - P(E)) <= s. In a product of pairs the first inequality holds with the sum of the s, and
the second with the product of the 1 + s: both with S/(1 - S), S being the sum, while S < 1. Cuts of several losses and
exact losses are composed that way.

A finer cut costs more. So every number is taken from the first cut that is fine enough for it, or from the finest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from typing import Final, final

from flint import arb

from dpverdict.audit.losses.base import BallLoss, PrivacyLoss
from dpverdict.audit.losses.bounded import Factor
from dpverdict.audit.losses.composition import compose_counted
from dpverdict.audit.losses.curves import (
    beta_between,
    epsilon_between,
    first_within,
    log_between,
    q_above_of_profile,
)
from dpverdict.audit.losses.domains import EventBound
from dpverdict.balls import Exact, ball, exactly, precision
from dpverdict.errors import InvalidValue, PrecisionExhausted

ACCURACY: Final = 20
"""Bits of the profile, where the finest cut has so many."""
_CHERNOFF: Final = 32  # by so much a quick bound on a profile may be too large, at a guess
_GUARD: Final = 4
_BITS: Final = 192
_OF_AN_EVENT: Final = 12
_OF_A_SLOPE: Final = 6  # more would take closer values of the profile than there are
_NO_PART: Final = Fraction(1, 1 << 20)  # of alpha, the profile where the search for a level ends


@final
class TruncatedLoss(BallLoss):
    """The loss of a pair that is known by cuts, finer and finer; see the module for what a cut is.

    ``certified_delta`` is a relative 2^-20 wide, but where the finest cut misses more than that: there it is as wide as
    what this misses.

    Args:
        cuts: makes the loss of the cut of a number 0, 1, ....
        missed: s of each cut, exactly, falling.
        renyi: a ball that holds the Renyi divergence of an order above 1, which a cut does not bound from above.
        words: the event that the loss of a cut exceeds a level, in words.
    """

    __slots__ = ("__dict__", "_cuts", "_made", "_renyi_of", "_words", "missed")
    missed: tuple[Fraction, ...]

    def __init__(
        self,
        cuts: Callable[[int], PrivacyLoss],
        missed: Sequence[Fraction],
        *,
        renyi: Callable[[Fraction], arb],
        words: Callable[[int, float], str] | None = None,
    ) -> None:
        self._cuts, self.missed, self._renyi_of, self._words = cuts, tuple(missed), renyi, words
        self._made: dict[int, PrivacyLoss] = {}
        self._seen: dict[tuple[Fraction, int], arb] = {}

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Those of the cuts."""
        return self.cut(0).assumptions

    @cached_property
    def _finest(self) -> int:
        return len(self.missed) - 1

    def cut(self, number: int) -> PrivacyLoss:
        """The loss of a cut."""
        if number not in self._made:
            self._made[number] = self._cuts(number)
        return self._made[number]

    def excess(self, number: int) -> arb:
        """By how much at most the profile is above that of the cut."""
        total = self.missed[number]
        with precision(_BITS):
            return (ball(total) / (1 - ball(total))).upper() if total < 1 else arb(1)

    @property
    def is_slow_far_out(self) -> bool:
        """It takes finer cuts there."""
        return True

    # compositions -----------------------------------------------------------------------------------------------------

    def composed_with(self, count: int, others: Sequence[tuple[Factor, int]]) -> PrivacyLoss:
        """The loss of so many of these and of others, cut as finely as each of them is."""
        parts: list[tuple[Factor, int]] = [(self, count), *others]
        numbers = range(max(len(loss.missed) for loss, _ in parts if isinstance(loss, TruncatedLoss)))

        def composed(number: int) -> PrivacyLoss:
            return compose_counted(
                (loss.cut(min(number, loss._finest)) if isinstance(loss, TruncatedLoss) else loss, times)
                for loss, times in parts
            )

        missed = [
            sum(
                (
                    times * loss.missed[min(number, loss._finest)]
                    for loss, times in parts
                    if isinstance(loss, TruncatedLoss)
                ),
                Fraction(0),
            )
            for number in numbers
        ]

        def renyi(order: Fraction) -> arb:
            total = arb(0)
            for loss, times in parts:
                if not isinstance(loss, PrivacyLoss):
                    raise InvalidValue("losses", loss, "certified, for a Renyi divergence", "ask for delta or epsilon")
                found = loss._renyi_balls([order])[0]
                with precision(_BITS):
                    total += times * found
            return total

        return TruncatedLoss(composed, missed, renyi=renyi, words=self._words if not others else None)

    # the profile ------------------------------------------------------------------------------------------------------

    def profile(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon), to `ACCURACY` bits or as closely as the finest cut has it."""
        return self._enclosed(epsilon, min(bits, ACCURACY))

    def _enclosed(self, epsilon: Fraction, bits: int = ACCURACY) -> arb:
        """A ball that certainly holds delta(epsilon)."""
        if (epsilon, bits) not in self._seen:
            self._seen[epsilon, bits] = self._by_cuts(epsilon, bits)
        return self._seen[epsilon, bits]

    def _by_cuts(self, epsilon: Fraction, bits: int) -> arb:
        share, found = arb(2) ** -bits, arb(0).union(arb(1))
        number = self._first_below(share)
        if epsilon >= 0:
            most = self.cut(number).delta_at_most(epsilon) + self.excess(number)
            number = max(number, self._first_below(share * most / _CHERNOFF))
        while True:
            value, excess = self._of_cut(number, epsilon, bits), self.excess(number)
            if value is None:
                return found
            with precision(_BITS):
                found = value.lower().max(found.lower()).union((value + excess).upper().min(found.upper()))
            if excess <= share * value.lower() or number == self._finest:
                return found
            number = max(number + 1, self._first_below(share * value.lower()))

    def _first_below(self, most: arb) -> int:
        """The first cut that misses at most so much, or the finest."""
        return next((number for number in range(self._finest) if self.excess(number) <= most), self._finest)

    def _of_cut(self, number: int, epsilon: Fraction, bits: int) -> arb | None:
        """The profile of a cut; None where there is none."""
        loss = self.cut(number)
        if not loss.is_certified:
            return None
        with suppress(PrecisionExhausted):
            return loss.profile(epsilon, bits + _GUARD)
        with suppress(PrecisionExhausted):
            return loss._delta_balls([epsilon])[0]
        return None

    def delta_at_most(self, epsilon: Fraction) -> arb:
        """An upper bound on delta(epsilon) for epsilon >= 0."""
        number = self._first_below(arb(2) ** -ACCURACY)
        own = self.cut(number).delta_at_most(epsilon)
        if self.excess(number) > own / 4:
            number = self._first_below(own / 4)
            own = self.cut(number).delta_at_most(epsilon)
        with precision(_BITS):
            return (own + self.excess(number)).upper().min(arb(1))

    def q_above(self, level: Fraction, bits: int) -> arb:
        """The probability of a loss above the level under the second law, roughly."""
        return q_above_of_profile(self.profile, level, min(bits, _OF_A_SLOPE))

    def p_above(self, level: Fraction, bits: int) -> arb:
        """The probability of a loss above the level under the first law, roughly."""
        q_above, own = self.q_above(level, bits), self.profile(level, bits)
        with precision(_BITS):
            return own + ball(level).exp() * q_above

    def known_event(self, epsilon: Fraction) -> EventBound | None:
        """The event that the loss of a cut exceeds epsilon: P has no less of it than the cut says, and Q no more.

        That is where the event is one of a larger, or smaller, loss of every single case that is cut off.
        """
        if self._words is None:
            return None
        number = self._first_below(arb(2) ** -_OF_AN_EVENT * self._enclosed(epsilon).lower())
        with suppress(PrecisionExhausted):
            p, q = (side(epsilon, _OF_AN_EVENT) for side in (self.cut(number).p_above, self.cut(number).q_above))
            return EventBound(event=self._words(number, float(epsilon)), p_ball=p, q_ball=q)
        return None

    # balls ------------------------------------------------------------------------------------------------------------

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [self._enclosed(exactly(epsilon)) for epsilon in epsilons]

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        values = self._delta_balls(epsilons)
        with precision(_BITS):
            return [log_between(value.lower(), value.upper()) for value in values]

    def _epsilon_ball(self, delta: Fraction) -> arb:
        if delta == 1:
            return arb(0)
        if delta == 0:
            with precision(_BITS):
                return self.cut(self._finest)._epsilon_balls([delta])[0].union(arb("inf"))

        def near(epsilon: Fraction) -> arb:
            """The profile, or a quick bound where that is far below delta."""
            bound = self.delta_at_most(epsilon)
            return arb(0).union(bound) if bound < ball(delta / 16) else self._enclosed(epsilon)

        return epsilon_between(near, delta, first_within(self.delta_at_most, delta / 32))

    def _beta_ball(self, alpha: Fraction) -> arb:
        if alpha in (0, 1):
            return arb(1 - alpha.numerator)
        return beta_between(self._enclosed, alpha, first_within(self.delta_at_most, alpha * _NO_PART))

    def _renyi_ball(self, order: Fraction) -> arb:
        if order <= 1:
            remedy = "ask for an order above 1, or for delta, epsilon or beta"
            raise InvalidValue("order", str(order), "above 1", remedy)
        return self._renyi_of(order)

    def _advantage_ball(self) -> arb:
        return self._enclosed(Fraction(0))

    def __repr__(self) -> str:
        return f"TruncatedLoss({self.cut(0)!r}, ..., missed {', '.join(f'{float(s):.2g}' for s in self.missed)})"
