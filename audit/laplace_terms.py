"""The terms of the exact sum for a Laplace loss: which tuples of lowest coordinates there are, with their weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, final

import numpy as np
from flint import arb, fmpq

from dpverdict.audit.laplace_guess import log_binomials
from dpverdict.audit.loss_domains import Floats
from dpverdict.errors import PrecisionExhausted

_MOST_TERMS = 100_000

Groups: TypeAlias = tuple[tuple[Fraction, int], ...]
"""Distinct positive shifts with their counts."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveTerms:
    """Terms with z > 0, in order of decreasing C: C, z as an integer over ``denominator``, and the weight.

    The weights are None for m equal shifts, where they are binom(m, C) for consecutive C.
    """

    m: int
    lowest: Sequence[int]
    numerators: Sequence[int]
    denominator: int
    chosen_weights: list[int] | None

    def part(self, start: int, stop: int) -> ActiveTerms:
        """Some consecutive terms."""
        return ActiveTerms(
            m=self.m,
            lowest=self.lowest[start:stop],
            numerators=self.numerators[start:stop],
            denominator=self.denominator,
            chosen_weights=None if self.chosen_weights is None else self.chosen_weights[start:stop],
        )

    def points(self) -> list[arb]:
        """Every z as a ball at the current precision."""
        return [arb(fmpq(number, self.denominator)) for number in self.numerators]

    def weights(self) -> list[arb]:
        """Every weight as a ball at the current precision."""
        if self.chosen_weights is not None:
            return [arb(weight) for weight in self.chosen_weights]
        weights = [arb(math.comb(self.m, self.lowest[0]))]
        for lowest in self.lowest[:-1]:
            weights.append(weights[-1] * lowest / (self.m - lowest + 1))
        return weights

    def floats(self) -> tuple[Floats, Floats, Floats]:
        """C, z and the logarithm of the weight, in float64; they bound nothing."""
        lowest = np.array(self.lowest, dtype=np.float64)
        z = np.maximum([number / self.denominator for number in self.numerators], 1e-290)
        if self.chosen_weights is None:
            return lowest, z, log_binomials(self.m, lowest)
        return lowest, z, np.array([math.log(weight) for weight in self.chosen_weights])


@final
class TermSource:
    """The terms of the exact sum for one vector of shifts."""

    __slots__ = ("_groups", "_known", "_m", "_tabulated", "shifts_are_equal", "total")
    shifts_are_equal: bool
    total: Fraction

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self.total = sum((shift * count for shift, count in groups), Fraction(0))
        self.shifts_are_equal = len(groups) == 1
        self._m = sum(count for _, count in groups)
        self._known: _Known | None = None
        self._tabulated = False

    def weight(self, offset: Fraction) -> int:
        """How many choices of coordinates have shifts that sum to ``offset``, at most half of the total.

        Raises:
            PrecisionExhausted: there are too many of them.
        """
        if self.shifts_are_equal:
            lowest = offset / self._groups[0][0]
            return math.comb(self._m, int(lowest)) if lowest.denominator == 1 else 0
        known = self._table()
        scaled = offset * known.denominator
        if scaled.denominator != 1:
            return 0
        return sum(weight for place, weight in zip(known.offsets, known.weights, strict=True) if place == scaled)

    def offsets(self, most: int) -> list[Fraction]:
        """The sums of shifts of some coordinates up to half of the total, increasing; none if more than ``most``."""
        if self.shifts_are_equal:
            shift = self._groups[0][0]
            return [shift * c for c in range(self._m // 2 + 1)] if self._m // 2 < most else []
        if math.prod(count + 1 for _, count in self._groups) > _MOST_TERMS:
            return []
        known = self._table()
        found = sorted(set(known.offsets))
        return [Fraction(offset, known.denominator) for offset in found] if len(found) <= most else []

    def active(self, epsilon: Fraction) -> ActiveTerms:
        """The terms at 0 <= epsilon < total.

        Raises:
            PrecisionExhausted: there are too many of them.
        """
        half_gap = (self.total - epsilon) / 2
        if self.shifts_are_equal:
            shift, _ = self._groups[0]
            denominator = math.lcm(half_gap.denominator, shift.denominator)
            top, step = int(half_gap * denominator), int(shift * denominator)
            size = -(-top // step)  # the number of C with top > step C
            return ActiveTerms(
                m=self._m,
                lowest=range(size - 1, -1, -1),
                numerators=range(top - step * (size - 1), top + step, step),
                denominator=denominator,
                chosen_weights=None,
            )
        known = self._table()
        denominator = math.lcm(half_gap.denominator, known.denominator)
        top, step = int(half_gap * denominator), denominator // known.denominator
        chosen = [i for i, offset in enumerate(known.offsets) if top > step * offset]
        return ActiveTerms(
            m=self._m,
            lowest=[known.lowest[i] for i in chosen],
            numerators=[top - step * known.offsets[i] for i in chosen],
            denominator=denominator,
            chosen_weights=[known.weights[i] for i in chosen],
        )

    def _table(self) -> _Known:
        if not self._tabulated:
            self._known = _known(self._groups)
            self._tabulated = True
        if self._known is None:
            raise PrecisionExhausted("the exact sum", _MOST_TERMS, "there are too many distinct shifts")
        return self._known


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """All pairs (C, offset) with their weights: C coordinates at their lowest loss, whose shifts sum to ``offset``.

    The weight is the number of such choices of coordinates. Offsets are integers over ``denominator``; those above half
    of the total are left out, for they belong to epsilon < 0.
    """

    denominator: int
    offsets: list[int]
    lowest: list[int]
    weights: list[int]


def _known(groups: Groups) -> _Known | None:
    """The terms of several groups, equal ones merged, in order of decreasing C; None if there are too many."""
    denominator = math.lcm(*(shift.denominator for shift, _ in groups))
    half = sum(shift * count for shift, count in groups) * denominator / 2
    found = {(0, 0): 1}
    for shift, count in groups:
        step = int(shift * denominator)
        choices = [math.comb(count, c) for c in range(min(count, int(half / step)) + 1)]
        merged: dict[tuple[int, int], int] = {}
        for (lowest, offset), weight in found.items():
            for c, ways in enumerate(choices):
                moved = offset + step * c
                if moved > half:
                    break
                merged[lowest + c, moved] = merged.get((lowest + c, moved), 0) + weight * ways
            if len(merged) > _MOST_TERMS:
                return None
        found = merged
    ordered = sorted(found.items(), reverse=True)
    return _Known(
        denominator=denominator,
        offsets=[key[1] for key, _ in ordered],
        lowest=[key[0] for key, _ in ordered],
        weights=[weight for _, weight in ordered],
    )
