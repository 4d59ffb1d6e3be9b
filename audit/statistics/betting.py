"""Testing by betting: evidence against a claim that may be looked at, stopped and resumed at any time.

Pairs (x_t, y_t) of fresh outputs arrive; S_t = x - y - b is a payoff (`payoffs`), never below -c, and of mean at
most 0 given the past if the claim holds, whatever score was chosen from the past. Wealth starts at 1 and is multiplied
by 1 + lambda_t S_t, where

    lambda_t = clip(sum of S / sum of S^2, 0, 1/(2 c)), over the pairs before t (and a prior),

depends on the past only and is not negative. Under the claim the wealth is a non-negative supermartingale, so by the
inequality of Ville it ever reaches 1/level with probability at most level. The mean of several wealths is another one.

Lower bounds on mu or epsilon come from the same bets, placed against a grid of weaker and stronger claims. These are
nested: what allows a mu allows every larger one. So the largest value below which all have been rejected exceeds the
true one with at most the error probability of one test, whenever one stops: no correction.

What would break it: a bet on a pair that the score was trained on; a negative bet; to start again at 1 after a loss; a
mechanism that remembers its earlier outputs; to go on after the code under test has changed.

References: J. Ville, Etude critique de la notion de collectif (1939); I. Waudby-Smith and A. Ramdas, Estimating means
of bounded random variables by betting, JRSS B 86 (2024), arXiv:2010.09686.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, final

import numpy as np

from dpverdict.audit.statistics.payoffs import CurvePayoff, Payoff, SymmetricPayoff, weighted_profile_upper
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import GaussianDP, Guarantee
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import float_below

PRIOR_SQUARES: Final = 10.0
"""The sum of squares before the first pair: it keeps the first bets small. It decides power alone."""
TWENTIETHS: Final = (2, 4, 6, 8, 10, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 26, 28, 30, 35, 40, 50, 60, 80)
"""Of the claimed value: the grid."""
FIRST_STAKE: Final = 0.3
"""Of 1/c: the first bet, which decides power alone."""
FIRST_PAIRS: Final = 20.0
"""Of squares c^2: what the first bet weighs against those that the pairs suggest."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Bettor:
    """One bettor after some pairs; immutable, and plain numbers throughout.

    Attributes:
        largest_loss: c > 0, fixed before the first pair.
        pairs: bet on so far.
        log_wealth: log W, at most that of the fair game.
        total: sum of S.
        squares: sum of S^2, prior included.
    """

    largest_loss: float
    pairs: int = 0
    log_wealth: float = 0.0
    total: float = 0.0
    squares: float = PRIOR_SQUARES

    def __post_init__(self) -> None:
        if not (math.isfinite(self.largest_loss) and self.largest_loss > 0):
            raise InvalidValue(
                "largest_loss", self.largest_loss, "finite and > 0", "take the largest loss of the payoff"
            )

    def bet(self, payoffs: Array) -> tuple[Bettor, Array]:
        """Bet on the next pairs, one after another.

        Args:
            payoffs: S of each pair, in the order in which they arrived, shape (n,).

        Returns:
            The bettor after them, and log W after each: shape (n,).

        Raises:
            InvalidValue: a payoff below -c, or NaN: then the bound that the bets rest on does not hold.
        """
        if not len(payoffs):
            return self, np.empty(0)
        after, path, _ = self.walk(payoffs, (0.0, 0.0, 0.0))
        return after, path

    def walk(
        self, payoffs: Array, sums: tuple[float, float, float]
    ) -> tuple[Bettor, Array, tuple[float, float, float]]:
        """`bet`, where this bettor has bet on earlier pairs already that are not counted in its attributes.

        Args:
            payoffs: of the next pairs, at least one.
            sums: of S, of S^2 and of log(1 + lambda S) over the earlier pairs.

        Returns:
            The bettor after them, log W after each, and the sums with them.
        """
        if not np.all(payoffs >= -self.largest_loss):
            lowest = float(np.min(payoffs))
            raise InvalidValue("payoffs", lowest, f">= {-self.largest_loss}", "check the payoff's largest loss")
        of_payoffs, of_squares = _running_totals(sums[0], payoffs), _running_totals(sums[1], payoffs**2)
        totals, squares = self.total + of_payoffs, self.squares + of_squares
        bets = np.clip(totals[:-1] / squares[:-1], 0.0, 1 / (2 * self.largest_loss))
        of_logs = _running_totals(sums[2], np.log1p(bets * payoffs))
        path: Array = self.log_wealth + of_logs[1:]
        after = Bettor(
            largest_loss=self.largest_loss,
            pairs=self.pairs + len(payoffs),
            log_wealth=float(path[-1]),
            total=float(totals[-1]),
            squares=float(squares[-1]),
        )
        return after, path, (float(of_payoffs[-1]), float(of_squares[-1]), float(of_logs[-1]))


def _running_totals(start: float, values: Array) -> Array:
    """Start, and what it has grown to after each value: one addition after another, so that parts can be joined."""
    grown: Array = np.cumsum(np.concatenate([[start], values]))
    return grown


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BettorMixture:
    """Several bettors on the same pairs, with weights that were fixed before the first one.

    Attributes:
        weights: positive, summing to at most 1.
        bettors: one per weight.
        log_most: the largest log of the weighted mean of wealths so far, at least 0.
        log_now: its present value.
    """

    weights: tuple[float, ...]
    bettors: tuple[Bettor, ...]
    log_most: float = 0.0
    log_now: float = 0.0

    def __post_init__(self) -> None:
        positive = all(weight > 0 for weight in self.weights)
        if len(self.weights) != len(self.bettors) or not positive or math.fsum(self.weights) > 1:
            requirement = "one positive number per bettor, with a sum of at most 1"
            raise InvalidValue("weights", self.weights, requirement, "divide them by their sum, rounded up")

    def bet(self, payoffs: list[Array], *, log_target: float = math.inf) -> tuple[BettorMixture, int | None]:
        """Bet on the next pairs with every bettor.

        Args:
            payoffs: of each bettor, all of shape (n,).
            log_target: log(1/level); the betting does not stop there, but the first pair that reaches it is told.

        Returns:
            The bettors after all the pairs, and how many of these pairs it took to reach the target, None if none did.
        """
        moved = [bettor.bet(own) for bettor, own in zip(self.bettors, payoffs, strict=True)]
        if not moved or not len(moved[0][1]):
            return self, None
        # The weights sum to at most 1; a sum of log-exponentials is rounded by a few units in the last place.
        paths = np.stack([path + math.log(weight) for (_, path), weight in zip(moved, self.weights, strict=True)])
        mean = np.logaddexp.reduce(paths, axis=0) - 1e-12
        crossed = np.flatnonzero(mean >= log_target)
        after = BettorMixture(
            weights=self.weights,
            bettors=tuple(bettor for bettor, _ in moved),
            log_most=max(self.log_most, float(mean.max())),
            log_now=float(mean[-1]),
        )
        return after, int(crossed[0]) + 1 if crossed.size else None

    @property
    def e_value(self) -> float:
        """The present weighted mean of wealths: its expectation is at most 1 under the claim, at any stopping time."""
        return math.exp(min(self.log_now, 700.0))

    @property
    def p_value(self) -> float:
        """1 over the largest mean so far: anytime-valid."""
        return math.exp(-self.log_most)

    def to_dict(self) -> dict[str, object]:
        """The state as JSON-ready data, from which `from_dict` makes the same mixture bit for bit."""
        bettors = [
            {
                "largest_loss": b.largest_loss,
                "pairs": b.pairs,
                "log_wealth": b.log_wealth,
                "total": b.total,
                "squares": b.squares,
            }
            for b in self.bettors
        ]
        return {"weights": list(self.weights), "bettors": bettors, "log_most": self.log_most, "log_now": self.log_now}

    @staticmethod
    def from_dict(state: dict[str, object]) -> BettorMixture:
        """The mixture that `to_dict` wrote.

        Raises:
            InvalidValue: a state of another form.
        """
        try:
            bettors = state["bettors"]
            weights = state["weights"]
            assert isinstance(bettors, list)
            assert isinstance(weights, list)
            return BettorMixture(
                weights=tuple(float(weight) for weight in weights),
                bettors=tuple(Bettor(**bettor) for bettor in bettors),
                log_most=float(str(state["log_most"])),
                log_now=float(str(state["log_now"])),
            )
        except (AssertionError, KeyError, TypeError, ValueError) as error:
            if isinstance(error, InvalidValue):
                raise
            raise InvalidValue("state", state, "what to_dict wrote", "start a new test") from error


def betting_p_value(payoffs: Iterable[Array], largest_loss: float) -> float:
    """1 over the largest wealth of one bettor on these pairs: a p-value at every number of pairs, however small.

    Args:
        payoffs: S of each pair, part by part; how they are divided changes no bit.
        largest_loss: of one pair.
    """
    wealth, sums, most = Bettor(largest_loss=largest_loss), (0.0, 0.0, 0.0), -math.inf
    for part in payoffs:
        if len(part):
            _, path, sums = wealth.walk(part, sums)
            most = max(most, float(path.max()))
    return 1.0 if most == -math.inf else min(1.0, math.exp(-most + 1e-12))


def bettor(largest_loss: float, *, first: float = FIRST_STAKE) -> Bettor:
    """One that has not bet yet, and whose first bet is ``first / largest_loss``, for ``first`` in [0, 1/2]."""
    squares = FIRST_PAIRS * largest_loss**2
    return Bettor(largest_loss=largest_loss, total=first / largest_loss * squares, squares=squares)


@final
@dataclass(frozen=True, slots=True)
class GridPoint:
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
    points: tuple[GridPoint, ...]
    mixtures: tuple[BettorMixture, ...]

    @staticmethod
    def of_claim(claim: Guarantee, payoff: Payoff, weights: tuple[float, ...]) -> BoundGrid:
        """Bettors that have not bet yet.

        Args:
            claim: mu-GDP bounds mu; pure and approximate DP bound epsilon.
            payoff: of the claim; that of a value differs in what it allows.
            weights: of the scores.
        """
        quantity, rungs = _grid_points(claim, payoff)
        mixtures = []
        for rung in rungs:
            loss = rung.payoff.largest_loss * (1 + 1e-12)
            mixtures.append(BettorMixture(weights=weights, bettors=tuple(bettor(loss) for _ in weights)))
        return BoundGrid(quantity=quantity, points=rungs, mixtures=tuple(mixtures))

    def bet(self, scores: list[tuple[Array, Array] | None], size: int) -> BoundGrid:
        """Bet on the next pairs.

        Args:
            scores: of both sides, shape (size,) each; None for a score that is not learned yet: it does not bet.
            size: how many pairs there are.
        """
        moved = []
        for rung, mixture in zip(self.points, self.mixtures, strict=True):
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
        for rung, mixture in zip(self.points, self.mixtures, strict=True):
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
        if not isinstance(state, list) or len(state) != len(self.points):
            raise InvalidValue("state", "incomplete", "what an earlier test returned", "start a new test")
        return replace(self, mixtures=tuple(BettorMixture.from_dict(one) for one in state))


def _grid_points(claim: Guarantee, payoff: Payoff) -> tuple[str, tuple[GridPoint, ...]]:
    rungs = []
    if isinstance(payoff, CurvePayoff) and isinstance(claim, GaussianDP):
        for part in TWENTIETHS:
            mu = Fraction(claim.mu) * Fraction(part, 20)
            allowed = payoff.allowed
            if part != 20:
                allowed = weighted_profile_upper(GaussianDP(mu), payoff.tau)
            rungs.append(GridPoint(float_below(mu), CurvePayoff(payoff.tau, allowed)))
        return "mu", tuple(rungs)
    if isinstance(payoff, SymmetricPayoff):
        for part in TWENTIETHS:
            epsilon = payoff.epsilon if part == 20 else payoff.epsilon * part / 20
            rungs.append(GridPoint(epsilon, SymmetricPayoff(epsilon, payoff.allowed, payoff.threshold)))
        return "epsilon", tuple(rungs)
    return "", ()
