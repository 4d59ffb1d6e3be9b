"""A mechanism whose worst pair is known exactly, in one file, as a user writes it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.balls import Exact, exactly
from dpverdict.checks import check_array
from dpverdict.mechanisms.core.bounds import WorstPair
from dpverdict.mechanisms.core.guarantees import ApproximateDP
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE
from dpverdict.mechanisms.core.parameters import Parameter
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exponential_sums import ExponentialSum


class Coin(StructuredMechanism):
    """One person's bit, shown as it is with probability ``show``, and a fair coin otherwise.

    Args:
        show: in (0, 1), exact; the claim is (0, show)-DP.
    """

    name, source, dim = "coin", "a test", 1
    adjacency = REPLACE_ONE
    parameters = (Parameter("show", "P", "Probability that the bit is shown."),)
    assumptions = ("the record is a bit",)

    def __init__(self, *, show: Exact) -> None:
        self.show = exactly(show, name="show")
        self.claim = ApproximateDP(0, self.show)

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(1,)"""
        return (1,)

    def check_records(self, dataset: ArrayLike) -> Array:
        """One record, of shape (1, 1)."""
        return check_array(dataset, self.record_shape, 0.0, 1.0)

    def release_many(self, dataset: ArrayLike, trials: int, rng: np.random.Generator) -> Array:
        """Bits of shape (trials, 1)."""
        shown, coin = rng.random((trials, 1)) < float(self.show), rng.random((trials, 1)) < 0.5
        return np.where(shown, self.check_records(dataset)[0], coin).astype(np.float64)

    def above(self) -> Sequence[WorstPair]:
        """The two bits."""
        yes, no = (ExponentialSum.of(Fraction(1, 2) + sign * self.show / 2) for sign in (1, -1))
        return [
            WorstPair(
                loss=FiniteLoss.of_weights([yes, no], [no, yes], outcomes=("a one", "a zero")),
                pair=self.neighbours(np.ones((1, 1)), np.zeros((1, 1))),
                description="a one replaced by a zero",
                justification="there are no other two bits, and both orders are alike",
            )
        ]

    below = above


coin = Coin(show="0.25")
