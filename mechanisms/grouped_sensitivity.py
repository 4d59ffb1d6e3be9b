"""The sensitivity space of disjoint groups (Lebeda 2024, section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from dp_accounting import NeighboringRelation

from dpverdict.balls import Real
from dpverdict.mechanisms.adjacency import REPLACE_ONE
from dpverdict.mechanisms.cube_sensitivity import Cube, ReplacementCube
from dpverdict.mechanisms.noise import GroupedNoise, Noise
from dpverdict.mechanisms.sensitivity import Array, Maximum, unsupported

_LEAST = 2.0**-1074  # the smallest positive float64


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedCube:
    """Records of [0, 1]^(m x d) with at most one non-zero row, under either relation.

    Args:
        groups: number of rows m.
        dim: queries per row d.
        adjacency: the neighbouring relation.
    """

    groups: int
    dim: int
    adjacency: NeighboringRelation

    def maximise(self, noise: Noise) -> Maximum:
        """The largest of: one row alone, the same row twice, two different rows (which add up)."""
        if not isinstance(noise, GroupedNoise):
            raise unsupported(self, noise)
        m, d, replace = self.groups, self.dim, self.adjacency is REPLACE_ONE
        alone = Cube(dim=d).maximise(noise.row)
        record = alone.records()[0]
        if noise.one_eta and m >= 2:
            other = self._in_row(1, record) if replace else None
            return Maximum(
                mu_squared=None,
                records=lambda: (self._in_row(0, record), other),
                description="a record of the first group" + (" replaced by one of the second" if replace else ""),
                justification="the difference of two group counts carries no noise",
            )
        if alone.mu_squared is None or not replace:
            return Maximum(
                mu_squared=alone.mu_squared,
                records=lambda: (self._in_row(0, record), np.zeros((m, d)) if replace else None),
                description=f"in one group, {alone.description}",
                justification=alone.justification + "; rows carry independent noise and a record touches one",
            )
        same = ReplacementCube(dim=d).maximise(noise.row)
        within, one = _rational(same.mu_squared), _rational(alone.mu_squared)
        across = 2 * one if m >= 2 else one
        if within > across or (within == across and d >= 2):
            first, second = same.records()
            assert second is not None
            what, value = same.description, within
            if d == 1:  # a record of 0 would belong to no group: the supremum is approached, and not attained
                second, what = np.full(1, _LEAST), "a record of 1 replaced by one that tends to 0 (a supremum)"
            pair = (self._in_row(0, first), self._in_row(0, second))
        else:
            pair = (self._in_row(0, record), self._in_row(1, record) if m >= 2 else np.zeros((m, d)))
            what, value = f"{alone.description}, replaced by one in another group", across
        return Maximum(
            mu_squared=Real.of(value),
            records=lambda: pair,
            description=f"in one group, {what}",
            justification="the three kinds of replacement (same row; two rows, whose forms add up; one record all "
            f"zero) reach {_short(within)}, {_short(across)} and {_short(one)}; each maximised at its vertices",
        )

    def mu_squared(self, noise: Noise, record: Array, replacement: Array | None = None) -> Real | None:
        """The exact squared GDP parameter of one neighbour, row by row (forms F10 to F13); None when it is infinite."""
        if not isinstance(noise, GroupedNoise):
            raise unsupported(self, noise)
        row, other = _row_of(record), None if replacement is None else _row_of(replacement)
        if noise.one_eta and self.groups >= 2:
            if row == other:
                raise unsupported(self, noise)
            return None
        if replacement is not None and row == other:
            shared = row or 0
            return ReplacementCube(dim=self.dim).mu_squared(noise.row, record[shared], replacement[shared])
        touched = [(row, record)] if replacement is None else [(row, record), (other, replacement)]
        values = [Cube(dim=self.dim).mu_squared(noise.row, full[i]) for i, full in touched if i is not None]
        if any(value is None for value in values):
            return None
        return Real.of(sum((value.rational for value in values if value and value.rational is not None), Fraction(0)))

    def _in_row(self, row: int, record: Array) -> Array:
        full = np.zeros((self.groups, self.dim))
        full[row] = record
        return full


def _row_of(record: Array) -> int | None:
    """The index of the only non-zero row of a grouped record; None when all rows are zero."""
    rows = np.flatnonzero(np.any(record != 0, axis=1))
    return int(rows[0]) if rows.size else None


def _rational(mu_squared: Real | None) -> Fraction:
    """The squared parameter of a row whose form exists: always rational, since the scales are float64."""
    assert mu_squared is not None
    assert mu_squared.rational is not None
    return mu_squared.rational


def _short(value: Fraction) -> str:
    return f"{float(value):.6g}"
