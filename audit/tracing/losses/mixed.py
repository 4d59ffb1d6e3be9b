"""Gaussian draws that stand in several released numbers: how much one record spends by all of these together.

Released are f_i(D) + sum over j of a_ij z_j with independent standard draws z_j. A record moves f by a vector v, and
what it spends is that of Gaussian noise with the covariance S = A A^T:

    mu^2 = v^T S^-1 v,

if S has an inverse. If it has none, some combination of the released numbers has no noise at all: the same draw added
to two statistics is gone from their difference. Then nothing is certified. The largest mu^2 over a box of moves is at
a corner, as mu^2 is convex in v; beyond `MOST_CORNERS` it is bounded by the sum of |v_i| |v_j| |(S^-1)_ij|. All of it
is exact rational arithmetic. Numbers that have no draw in common, by others either, are independent, and add up.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, TypeAlias

from dpverdict.audit.tracing.rules.facts import Terms, Total

MOST_CORNERS: Final = 2**10
MOST_TOGETHER: Final = 48
"""Numbers with common draws, of which the covariance is inverted exactly."""

Row: TypeAlias = "tuple[Terms, Fraction]"
"""The draws of one released number, and how far one record moves its statistic at most."""


def rows_of(fact: Total, terms: Sequence[Terms], *, replace: bool) -> list[Row]:
    """The numbers of one release."""
    found: list[Row] = []
    for i, support in enumerate(fact.supports):
        low, high = Fraction(float(fact.low.ravel()[i])), Fraction(float(fact.high.ravel()[i]))
        if support:
            low, high = min(low, Fraction(0)), max(high, Fraction(0))
        found.append((terms[i], high - low if replace else max(-low, high)))
    return found


def squared_mu(rows: Sequence[Row]) -> Fraction | None:
    """A bound on the sum of mu^2 of all numbers; None where some combination of them has no noise, or of too many."""
    total = Fraction(0)
    for group in with_common_draws(rows):
        if len(group) > MOST_TOGETHER:
            return None
        inverse = _inverse([[_product(a, b) for b, _ in group] for a, _ in group])
        if inverse is None:
            return None
        total += _largest(inverse, [far for _, far in group])
    return total


def with_common_draws(rows: Sequence[Row]) -> list[list[Row]]:
    """Numbers that have draws in common, or are connected by others that have, together."""
    groups: list[tuple[set[int], list[Row]]] = []
    for one in rows:
        draws, joined, rest = {number for number, _ in one[0]}, [one], []
        for known, members in groups:
            if known & draws:
                draws, joined = draws | known, members + joined
            else:
                rest.append((known, members))
        groups = [*rest, (draws, joined)]
    return [members for _, members in groups]


def _product(one: Terms, other: Terms) -> Fraction:
    """The covariance of two sums of draws."""
    factors = dict(other)
    return sum((factor * factors[number] for number, factor in one if number in factors), Fraction(0))


def _inverse(matrix: list[list[Fraction]]) -> list[list[Fraction]] | None:
    """The inverse of a matrix, exactly; None where there is none."""
    size = len(matrix)
    work: list[list[Fraction]] = [[*row, *(Fraction(int(i == j)) for j in range(size))] for i, row in enumerate(matrix)]
    for i in range(size):
        pivot = next((k for k in range(i, size) if work[k][i]), None)
        if pivot is None:
            return None
        work[i], work[pivot] = work[pivot], work[i]
        top = work[i][i]
        work[i] = [one / top for one in work[i]]
        for k in range(size):
            if k != i and work[k][i]:
                factor = work[k][i]
                work[k] = [a - factor * b for a, b in zip(work[k], work[i], strict=True)]
    return [row[size:] for row in work]


def _largest(inverse: list[list[Fraction]], far: Sequence[Fraction]) -> Fraction:
    """The largest v^T M v over |v_i| <= far_i, or a bound on it."""
    moved = [i for i, one in enumerate(far) if one]
    bound: Any = sum((abs(inverse[i][j]) * far[i] * far[j] for i in moved for j in moved), Fraction(0))
    if not moved or 2 ** (len(moved) - 1) > MOST_CORNERS:
        return Fraction(bound)
    most = Fraction(0)
    for signs in itertools.product((1, -1), repeat=len(moved) - 1):  # v and -v spend the same
        v = [far[i] * sign for i, sign in zip(moved, (1, *signs), strict=True)]
        most = max(most, sum((inverse[i][j] * v[a] * v[b] for a, i in enumerate(moved) for b, j in enumerate(moved)),
                             Fraction(0)))  # fmt: skip
    return most
