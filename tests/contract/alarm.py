"""A mechanism of which one bound from above and one attained pair are known, in one file, as a user writes it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.balls import Exact, exactly
from dpverdict.checks import check_array, check_dim
from dpverdict.mechanisms.core.bounds import AttainedLoss, Dominating
from dpverdict.mechanisms.core.guarantees import PureDP
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE
from dpverdict.mechanisms.core.parameters import Parameter
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exponential_sums import ExponentialSum


class Alarm(StructuredMechanism):
    """1 if the number of records plus Laplace noise is at least ``level``, else 0.

    Args:
        scale: of the noise, > 0, exact; the claim is (1/scale)-DP.
        level: a whole number >= 1.
    """

    name, source, dim = "alarm", "a test", 1
    adjacency = ADD_OR_REMOVE_ONE
    scaled_by = "scale"
    parameters = (Parameter("scale", "B", "Scale of the noise."), Parameter("level", "N", "Where it rings.", int))
    assumptions = ("every person is one record",)

    def __init__(self, *, scale: Exact, level: int = 3) -> None:
        self.scale, self.level = exactly(scale, name="scale"), check_dim(level, "level")
        self.claim = PureDP(1 / self.scale)

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(1,)"""
        return (1,)

    def check_records(self, dataset: ArrayLike) -> Array:
        """Records of shape (n, 1), each a 1."""
        return check_array(dataset, self.record_shape, 1.0, 1.0)

    def release_many(self, dataset: ArrayLike, trials: int, rng: np.random.Generator) -> Array:
        """Alarms of shape (trials, 1)."""
        noisy = len(self.check_records(dataset)) + float(self.scale) * rng.laplace(size=(trials, 1))
        return np.asarray(noisy >= self.level, dtype=np.float64)

    def above(self) -> Sequence[Dominating]:
        """The noisy count, of which the alarm is a function."""
        why = "the alarm is a function of the noisy count, which one record moves by 1"
        return [Dominating(loss=LaplaceLoss([1 / self.scale]), description="", justification=why)]

    def below(self) -> Sequence[AttainedLoss]:
        """As many records as the level, against one less."""
        one, half = ExponentialSum.of(1), ExponentialSum.of(Fraction(1, 2))
        quiet = ExponentialSum.exp(-1 / self.scale).times(Fraction(1, 2))  # rings with one record less
        loss = FiniteLoss.of_weights([half, half], [quiet, one - quiet], outcomes=("it rings", "it does not"))
        pair = self.neighbours(np.ones((self.level, 1)), np.ones((self.level - 1, 1)))
        return [AttainedLoss(pair=pair, loss=loss, description="the record with which the level is reached")]


alarm = Alarm(scale=2)
