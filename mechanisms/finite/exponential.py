"""The exponential mechanism: an option is selected with a probability proportional to the exponential of its score."""

from __future__ import annotations

from typing import final

from dp_accounting.privacy_accountant import NeighboringRelation

from dpverdict.balls import Exact
from dpverdict.checks import check_moderate
from dpverdict.mechanisms.finite.selection import GumbelNoise, Selection


@final
class ExponentialMechanism(Selection):
    """P(i) proportional to exp(rate u_i), u_i the sum of the scores of option i over the records.

    With records of [0, D]^k, rate = epsilon/(2 D) under REPLACE_ONE and epsilon/D under ADD_OR_REMOVE_ONE, where one
    more record raises all scores: epsilon-DP, and the losses of any pair lie in an interval of length epsilon. So
    delta(level) <= (1 - exp((level - epsilon)/2))^2/(1 - exp(-epsilon)), attained at every level by a pair of its own.

    It is sampled as the largest score with Gumbel noise.

    Args:
        options: k >= 2.
        epsilon: > 0, exact.
        adjacency: the neighbouring relation of the claim.
        sensitivity: D > 0, exact; rounded up to a float64.
        rate: to be used in place of that of the claim, exact.

    Raises:
        InvalidValue: an argument is out of range.

    Reference: McSherry and Talwar 2007, Theorem 6; Dong, Durfee and Rogers 2020, Lemma 3.2 (arXiv:1909.13830).

    >>> from dpverdict.mechanisms.core.neighbours import REPLACE_ONE
    >>> mechanism = ExponentialMechanism(options=3, epsilon=1, adjacency=REPLACE_ONE)
    >>> mechanism.probabilities([[1, 0, 0], [1, 1, 0]]).round(3).tolist()
    [0.506, 0.307, 0.186]
    """

    name = "exponential"
    title = "an option, drawn by its score"
    source = "McSherry and Talwar 2007, Theorem 6"
    example = "--options 3 --epsilon 1 --adjacency replace-one"
    noise: GumbelNoise

    def __init__(
        self,
        *,
        options: int,
        epsilon: Exact,
        adjacency: NeighboringRelation,
        sensitivity: Exact = 1,
        rate: Exact | None = None,
    ) -> None:
        claimed = self._set(options, epsilon, adjacency, sensitivity)
        self.noise = GumbelNoise(size=self.dim, rate=claimed if rate is None else check_moderate(rate, "rate"))
