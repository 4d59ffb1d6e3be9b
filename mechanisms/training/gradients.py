"""What mechanisms on clipped gradients share: parameters, their checks, and the records that they take."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.balls import Exact
from dpverdict.checks import check_array, check_dim, check_moderate, check_whole
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, check_adjacency
from dpverdict.mechanisms.core.parameters import ADJACENCY, DIM, Parameter, whole
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exact import dot_exactly

LARGEST_ENTRY: Final = 1e150
"""Of a gradient: its square is a float64."""

NOISE_MULTIPLIER: Final = Parameter("noise_multiplier", "X", "Standard deviation of the noise over the clipping norm.")
STEPS: Final = Parameter("steps", "T", "How often the model is updated.", whole)
ON_GRADIENTS: Final = (
    Parameter("clipping_norm", "X", "Bound on the l2 norm of a gradient; 1 if not given."),
    Parameter("dim", "N", DIM.text, DIM.read, axis=DIM.axis).otherwise(
        1, "a gradient is one number (what is promised is the same for every dimension)"
    ),
    ADJACENCY.otherwise(ADD_OR_REMOVE_ONE, "neighbours were taken for those of add-or-remove-one"),
)
"""Parameters that may be left out."""

_TINY: Final = 1e-300


class GradientMechanism(StructuredMechanism):
    """Noisy sums of gradients that are clipped to a norm, in a number of steps.

    Attributes:
        noise_multiplier: standard deviation of the noise in units of the clipping norm, exactly.
        clipping_norm: exactly.
        steps: T.
        dim: of one gradient.
    """

    scaled_by: ClassVar[str | None] = "noise_multiplier"
    noise_multiplier: Fraction
    clipping_norm: Fraction
    steps: int
    dim: int
    adjacency: NeighboringRelation

    def _take(
        self, *, noise_multiplier: Exact, clipping_norm: Exact, steps: int, dim: int, adjacency: NeighboringRelation
    ) -> None:
        """Check and keep what every mechanism on gradients is given.

        Raises:
            InvalidValue: an argument out of range.
        """
        self.noise_multiplier = check_moderate(noise_multiplier, "noise_multiplier")
        self.clipping_norm = check_moderate(clipping_norm, "clipping_norm")
        self.steps = check_whole(steps, "steps", least=1, remedy="say how often the model is updated")
        self.dim, self.adjacency = check_dim(dim), check_adjacency(adjacency)

    @property
    def record_shape(self) -> tuple[int, ...]:
        """(d,)"""
        return (self.dim,)

    def check_records(self, dataset: ArrayLike) -> Array:
        """The gradients as float64 of shape (n, d); they are clipped afterwards."""
        return check_array(dataset, self.record_shape, -LARGEST_ENTRY, LARGEST_ENTRY)


def clipped(gradients: Array, norm: float) -> Array:
    """Gradients of shape (n, d), those of a larger l2 norm scaled down to it."""
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    found: Array = gradients * np.minimum(1.0, norm / np.maximum(norms, _TINY))
    return found


def exact_norm(vector: Array) -> Fraction:
    """The l2 norm of a vector of float64: exactly where one entry is not 0, and rounded up to a float64 elsewhere."""
    entries = vector[vector != 0]
    if len(entries) < 2:
        return abs(Fraction(float(entries.sum())))
    square = dot_exactly(entries, entries)
    root = Fraction(math.sqrt(square))
    while root**2 < square:
        root = Fraction(math.nextafter(float(root), math.inf))
    return root
