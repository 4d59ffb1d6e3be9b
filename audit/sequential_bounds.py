"""Lower bounds on mu or epsilon from the pairs of a sequential test: the same bets, against a grid of weaker and
stronger claims.

The claims of the grid are nested: what allows a mu allows every larger one. So the largest value below which all have
been rejected exceeds the true one with at most the error probability of one test, whenever one stops: no correction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.betting import Mixture, Wealth
from dpverdict.audit.curve_payoff import CurvePayoff, Payoff, SymmetricPayoff, weighted_profile_upper
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.guarantee import GaussianDP, Guarantee
from dpverdict.mechanisms.guarantee_curves import float_below

Array = NDArray[np.float64]

TWENTIETHS: Final = (2, 4, 6, 8, 10, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 26, 28, 30, 35, 40, 50, 60, 80)
"""Of the claimed value: the grid."""

FIRST_STAKE: Final = 0.3
"""Of 1/c: the first bet, which decides power alone."""
FIRST_PAIRS: Final = 20.0
"""Of squares c^2: what the first bet weighs against those that the pairs suggest."""


def bettor(largest_loss: float, *, first: float = FIRST_STAKE) -> Wealth:
    """One that has not bet yet, and whose first bet is ``first / largest_loss``, for ``first`` in [0, 1/2]."""
    squares = FIRST_PAIRS * largest_loss**2
    return Wealth(largest_loss=largest_loss, total=first / largest_loss * squares, squares=squares)


@final
@dataclass(frozen=True, slots=True)
class Rung:
    """One value of the grid.

    Attributes:
        value: of mu or epsilon, rounded down.
        payoff: whose mean is at most 0 if the true value is at most this one.
    """

    value: float
    payoff: Payoff


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BoundGrid:
    """The bettors against every value of a grid; immutable.

    Attributes:
        quantity: "mu", "epsilon" at the delta of the claim, or "" for a claim without such a bound.
        rungs: the values, increasing.
        mixtures: one per value, over the same scores.
    """

    quantity: str
    rungs: tuple[Rung, ...]
    mixtures: tuple[Mixture, ...]

    @staticmethod
    def of_claim(claim: Guarantee, payoff: Payoff, weights: tuple[float, ...]) -> BoundGrid:
        """Bettors that have not bet yet.

        Args:
            claim: mu-GDP bounds mu; pure and approximate DP bound epsilon.
            payoff: of the claim; that of a value differs in what it allows.
            weights: of the scores.
        """
        quantity, rungs = _rungs(claim, payoff)
        mixtures = []
        for rung in rungs:
            loss = rung.payoff.largest_loss * (1 + 1e-12)
            mixtures.append(Mixture(weights=weights, bettors=tuple(bettor(loss) for _ in weights)))
        return BoundGrid(quantity=quantity, rungs=rungs, mixtures=tuple(mixtures))

    def bet(self, scores: list[tuple[Array, Array] | None], size: int) -> BoundGrid:
        """Bet on the next pairs.

        Args:
            scores: of both sides, shape (size,) each; None for a score that is not learned yet: it does not bet.
            size: how many pairs there are.
        """
        moved = []
        for rung, mixture in zip(self.rungs, self.mixtures, strict=True):
            own = rung.payoff
            payoffs = [
                np.zeros(size) if both is None else own.of_dataset(both[0]) - own.of_neighbour(both[1]) - own.allowed
                for both in scores
            ]
            moved.append(mixture.bet(payoffs)[0])
        return replace(self, mixtures=tuple(moved))

    def lower(self, quantity: str, error: float) -> float | None:
        """The largest value such that it and all below it were rejected; 0 if none was; None for another quantity."""
        if quantity != self.quantity:
            return None
        found = 0.0
        for rung, mixture in zip(self.rungs, self.mixtures, strict=True):
            if mixture.log_most < -math.log(error) + 1e-9:
                break
            found = rung.value
        return found

    def to_dict(self) -> list[object]:
        """The state of every mixture, JSON-ready."""
        return [mixture.to_dict() for mixture in self.mixtures]

    def restored(self, state: object) -> BoundGrid:
        """This grid with the bettors that `to_dict` wrote.

        Raises:
            InvalidValue: a state of another form.
        """
        if not isinstance(state, list) or len(state) != len(self.rungs):
            raise InvalidValue("state", "incomplete", "what an earlier test returned", "start a new test")
        return replace(self, mixtures=tuple(Mixture.from_dict(one) for one in state))


def _rungs(claim: Guarantee, payoff: Payoff) -> tuple[str, tuple[Rung, ...]]:
    rungs = []
    if isinstance(payoff, CurvePayoff) and isinstance(claim, GaussianDP):
        for part in TWENTIETHS:
            mu = Fraction(claim.mu) * Fraction(part, 20)
            allowed = payoff.allowed
            if part != 20:
                allowed = weighted_profile_upper(GaussianDP(mu), payoff.tau)
            rungs.append(Rung(float_below(mu), CurvePayoff(payoff.tau, allowed)))
        return "mu", tuple(rungs)
    if isinstance(payoff, SymmetricPayoff):
        for part in TWENTIETHS:
            epsilon = payoff.epsilon if part == 20 else payoff.epsilon * part / 20
            rungs.append(Rung(epsilon, SymmetricPayoff(epsilon, payoff.allowed, payoff.threshold)))
        return "epsilon", tuple(rungs)
    return "", ()
