"""The privacy loss of a pair that is told apart with certainty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np
from flint import arb

from dpverdict.audit.loss_domains import Floats
from dpverdict.audit.privacy_loss import PrivacyLoss
from dpverdict.balls import Exact


@final
class DisjointLoss(PrivacyLoss):
    """The loss of P against Q when some event has probability 1 under P and 0 under Q.

    delta(epsilon) = 1 for every epsilon, beta = 0, every Renyi divergence is infinite, mu = inf. This is the loss
    when a difference of neighbours has a component that gets no noise. The values are exact.

    >>> DisjointLoss().delta(100), DisjointLoss().epsilon(0.5), DisjointLoss().mu
    (1.0, inf, inf)
    """

    __slots__ = ()

    @property
    def mu(self) -> float:
        """The GDP parameter, inf."""
        return np.inf

    def _delta(self, epsilon: Floats) -> Floats:
        return np.ones_like(epsilon)

    def _log_delta(self, epsilon: Floats) -> Floats:
        return np.zeros_like(epsilon)

    def _epsilon(self, delta: Floats) -> Floats:
        return np.where(delta == 1, 0.0, np.inf)

    def _beta(self, alpha: Floats) -> Floats:
        return np.zeros_like(alpha)

    def _renyi(self, order: Floats) -> Floats:
        return np.full_like(order, np.inf)

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [arb(1) for _ in epsilons]

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [arb(0) for _ in epsilons]

    def _epsilon_balls(self, deltas: Sequence[Exact]) -> list[arb]:
        return [arb(0) if delta == 1 else arb("inf") for delta in deltas]

    def _beta_balls(self, alphas: Sequence[Exact]) -> list[arb]:
        return [arb(0) for _ in alphas]

    def _renyi_balls(self, orders: Sequence[Exact]) -> list[arb]:
        return [arb("inf") for _ in orders]

    def _advantage_ball(self) -> arb:
        return arb(1)

    def __repr__(self) -> str:
        return "DisjointLoss()"
