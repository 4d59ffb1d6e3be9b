"""A row of the ledger that decides by a payoff."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.curve_payoff import CurvePayoff, Payoff, SymmetricPayoff
from dpverdict.audit.distinguishing_test import COMPATIBLE, CONTRADICTS, LedgerRow, Role
from dpverdict.audit.divergence_payoff import DivergencePayoff
from dpverdict.audit.payoff_test import curve_mu_lower, payoff_test, symmetric_epsilon_lower
from dpverdict.mechanisms.guarantee import GaussianDP, Guarantee
from dpverdict.mechanisms.guarantee_curves import float_below

Array = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PayoffRow:
    """A payoff on one score, at one share of the error; all fixed before the trials that decide.

    Attributes:
        name: in the budget.
        score: the name of the score.
        payoff: whose mean is at most 0 under the claim.
        claim: what is tested.
        share: of the error probability.
        bounds: whether a bound is wanted too; it costs some twenty tests.
        beyond: whether the bound may exceed the claim; otherwise the share serves an event there, see `row_plan`.
    """

    name: str
    score: str
    payoff: Payoff
    claim: Guarantee
    share: float
    bounds: bool = True
    beyond: bool = True

    def decide(self, dataset_scores: Array, neighbour_scores: Array, fresh: int | None = None) -> LedgerRow:
        """The row after its trials, shape (n,) each.

        Args:
            dataset_scores: of the trials that decide.
            neighbour_scores: the same of the neighbour.
            fresh: how many of them, the last ones, were not explored; None for all. What was explored chose by what mu
                is bounded beyond the claim, so only these bound it there.
        """
        scores = dataset_scores, neighbour_scores
        found = payoff_test(self.payoff, *scores, self.share)
        what, bound, implied = "the claimed curve", None, f"mean payoff <= {self.payoff.allowed!r} for the whole curve"
        if isinstance(self.payoff, SymmetricPayoff):
            what = f"epsilon_lower at delta={self.payoff.allowed:g}"
            bound = symmetric_epsilon_lower(self.payoff, *scores, self.share) if self.bounds else None
            implied = "mean payoff <= 0 for both orders of the pair together"
        elif isinstance(self.payoff, DivergencePayoff):
            what = "the claimed divergence"
            implied = (
                f"mean payoff <= {self.payoff.allowed!r} for the divergences of order 1 of both orders of the pair"
            )
        elif self.bounds and isinstance(self.payoff, CurvePayoff) and isinstance(self.claim, GaussianDP):
            what, bound = "mu_lower", float_below(self.claim.mu)
            if found.p_value > self.share:
                bound = curve_mu_lower(self.payoff, *scores, self.share)
            elif self.beyond:
                p, q = (side[-(len(side) if fresh is None else fresh) :] for side in scores)
                bound = max(bound, curve_mu_lower(self.payoff, p, q, self.share))
        return LedgerRow(
            what=what,
            role=Role.TEST,
            event=None,
            method=found.method,
            error_share=self.share,
            counts=None,
            probability_lower=None,
            probability_upper=None,
            bound=bound,
            outcome=CONTRADICTS if found.p_value <= self.share else COMPATIBLE,
            score=self.score,
            p_value=found.p_value,
            payoff=self.payoff.describe() | found.describe(),
            implied=implied,
        )
