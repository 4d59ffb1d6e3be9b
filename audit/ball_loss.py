"""A privacy loss that is computed in balls: its float64 values are balls rounded to nearest."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import final

from flint import arb

from dpverdict.audit.loss_domains import Floats, rounded
from dpverdict.audit.privacy_loss import PrivacyLoss
from dpverdict.balls import Exact, exactly


class BallLoss(PrivacyLoss):
    """A privacy loss with no float64 formulas of its own, whose levels are inverted one at a time.

    A concrete class defines the balls of the profile for many epsilons at once, where they may share work, and one ball
    at a time for everything else. It may compute ``delta`` at many epsilons in a cheaper way than by rounding.
    """

    __slots__ = ()

    # float64 ----------------------------------------------------------------------------------------------------------

    def _delta(self, epsilon: Floats) -> Floats:
        return rounded(self._delta_balls, epsilon)

    @final
    def _log_delta(self, epsilon: Floats) -> Floats:
        return rounded(self._log_delta_balls, epsilon)

    @final
    def _epsilon(self, delta: Floats) -> Floats:
        return rounded(self._epsilon_balls, delta)

    @final
    def _beta(self, alpha: Floats) -> Floats:
        return rounded(self._beta_balls, alpha)

    @final
    def _renyi(self, order: Floats) -> Floats:
        return rounded(self._renyi_balls, order)

    # balls ------------------------------------------------------------------------------------------------------------

    @final
    def _epsilon_balls(self, deltas: Sequence[Exact]) -> list[arb]:
        return [self._epsilon_ball(exactly(delta)) for delta in deltas]

    @final
    def _beta_balls(self, alphas: Sequence[Exact]) -> list[arb]:
        return [self._beta_ball(exactly(alpha)) for alpha in alphas]

    @final
    def _renyi_balls(self, orders: Sequence[Exact]) -> list[arb]:
        return [self._renyi_ball(exactly(order)) for order in orders]

    # what a concrete class defines, each ball exact or with at least 54 accurate bits ---------------------------------

    @abstractmethod
    def _epsilon_ball(self, delta: Fraction) -> arb: ...

    @abstractmethod
    def _beta_ball(self, alpha: Fraction) -> arb: ...

    @abstractmethod
    def _renyi_ball(self, order: Fraction) -> arb: ...
