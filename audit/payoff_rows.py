"""A row of the ledger that decides by a payoff."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.curve_payoff import CurvePayoff, Payoff, SymmetricPayoff
from dpverdict.audit.distinguishing_test import COMPATIBLE, CONTRADICTS, LedgerRow, Role
from dpverdict.audit.payoff_test import curve_mu_lower, payoff_test, symmetric_epsilon_lower
from dpverdict.mechanisms.guarantee import GaussianDP, Guarantee

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
    """

    name: str
    score: str
    payoff: Payoff
    claim: Guarantee
    share: float
    bounds: bool = True

    def decide(self, dataset_scores: Array, neighbour_scores: Array) -> LedgerRow:
        """The row after its trials, shape (n,) each."""
        scores = dataset_scores, neighbour_scores
        found = payoff_test(self.payoff, *scores, self.share)
        what, bound, implied = "the claimed curve", None, f"mean payoff <= {self.payoff.allowed!r} for the whole curve"
        if isinstance(self.payoff, SymmetricPayoff):
            what = f"epsilon_lower at delta={self.payoff.allowed:g}"
            bound = symmetric_epsilon_lower(self.payoff, *scores, self.share) if self.bounds else None
            implied = "mean payoff <= 0 for both orders of the pair together"
        elif self.bounds and isinstance(self.payoff, CurvePayoff) and isinstance(self.claim, GaussianDP):
            what, bound = "mu_lower", curve_mu_lower(self.payoff, *scores, self.share)
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
