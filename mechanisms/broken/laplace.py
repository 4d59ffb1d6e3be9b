"""Known-wrong Laplace mechanisms, each with the epsilon it really has."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

from dpverdict.balls import Exact
from dpverdict.checks import check_dim, check_positive
from dpverdict.mechanisms.core.calibration import root
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE
from dpverdict.mechanisms.queries.laplace import LaplaceMechanism
from dpverdict.numerics.roots import rounded_up

LARGEST_DIM_SHOWN = 9


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceMutant:
    """A known-wrong Laplace mechanism, with its true epsilon.

    Attributes:
        name: identifier, for example "L1".
        title: what is wrong, in a few words.
        source: where the slip is made.
        formula: the true epsilon in words of d and e.
        build: makes the mechanism for (dim, epsilon).
        factor_squared: the square of the true epsilon over the claimed one, from d.
    """

    name: str
    title: str
    source: str
    formula: str
    build: Callable[[int, Fraction], StructuredMechanism]
    factor_squared: Callable[[int], int | Fraction]
    parameters: ClassVar[tuple[str, ...]] = ("dim", "epsilon")

    def make(self, dim: int, epsilon: Exact) -> StructuredMechanism:
        """The wrong mechanism, claiming ``PureDP(epsilon)``.

        Raises:
            InvalidValue: an argument is out of range.
        """
        wrong = self.build(check_dim(dim), check_positive(epsilon, "epsilon"))
        wrong.name, wrong.source = f"broken:{self.name}", f"known-wrong variant {self.name}"
        return wrong

    def true_epsilon(self, dim: int, epsilon: Exact) -> float:
        """The least epsilon that the variant keeps, up to the rounding of the scale."""
        return float(check_positive(epsilon, "epsilon")) * math.sqrt(self.factor_squared(check_dim(dim)))

    def refutable(self, dim: int, epsilon: Exact = 1) -> bool:
        """Whether the claim is false."""
        check_positive(epsilon, "epsilon")
        return self.factor_squared(check_dim(dim)) > 1

    def where_refutable(self) -> str:
        """The dimensions up to `LARGEST_DIM_SHOWN` in which it is, in words."""
        private = [d for d in range(1, LARGEST_DIM_SHOWN + 1) if not self.refutable(d)]
        return f"all but d = {', '.join(map(str, private))}" if private else "all"


def _l1_mechanism(dim: int, epsilon: Fraction) -> LaplaceMechanism:
    right = LaplaceMechanism(dim=dim, epsilon=epsilon, adjacency=ADD_OR_REMOVE_ONE, norm="l1")
    return LaplaceMechanism(dim=dim, epsilon=epsilon, adjacency=REPLACE_ONE, norm="l1", scale=right.scale)


def _l2_mechanism(dim: int, epsilon: Fraction) -> LaplaceMechanism:
    scale = rounded_up(root(dim).times(1 / epsilon))
    return LaplaceMechanism(dim=dim, epsilon=epsilon, adjacency=ADD_OR_REMOVE_ONE, scale=scale)


ALL: tuple[LaplaceMutant, ...] = (
    LaplaceMutant(
        name="L1",
        title="records of an l1 ball, the sensitivity of add-or-remove-one used under replace-one",
        source="Dwork, McSherry, Nissim and Smith 2006, Proposition 1",
        formula="2 e",
        build=_l1_mechanism,
        factor_squared=lambda d: 4,
    ),
    LaplaceMutant(
        name="L2",
        title="noise of scale sqrt(d)/epsilon, the l2 sensitivity, claimed to be pure",
        source="Andersson, Pagh and Torkamani 2024, Theorem 1.3",
        formula="e sqrt(d)",
        build=_l2_mechanism,
        factor_squared=lambda d: d,
    ),
)
"""Every known-wrong Laplace mechanism."""
