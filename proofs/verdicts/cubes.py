"""The worst vertex of a cube under Gaussian noise with a shared part: S y = v, and a parabola in integers.

Of a vertex with j entries at the upper end and d - j at the lower, y = S^-1 v has three values, each linear in j, so
that v^T y is a parabola in j. They are written out with exact numbers, and a reader expands them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from dpverdict.proofs.checks.evidence import number

MOST_LAYERS: Final = 200
"""Layers of a cube that are compared one by one; of more, those beside the vertex of the parabola and at its ends."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Corner:
    """The worst vertex.

    Attributes:
        rows: S y = v in the values of y and v, and v^T y as a parabola in j.
        definite: the signs that make S positive definite.
        worst: the number of entries at the upper end.
        square: mu^2 there.
        value: the parabola at ``worst``, and ``square``.
        others: the other layers, none of which is above ``square``.
    """

    rows: list[tuple[str, str]]
    definite: list[list[Any]]
    worst: int
    square: Fraction
    value: tuple[str, str]
    others: list[tuple[str, list[list[Any]]]]


def cube(
    dim: int,
    variances: tuple[Fraction, Fraction, Fraction],
    loading: int | None,
    low: Fraction,
    high: Fraction,
    last: int,
    copies: int,
) -> Corner | None:
    """Records of [low, high]^d with at most ``last`` entries above ``low``, and a count that moves by one, if any.

    None where S is singular.
    """
    moved = (Fraction(0 if loading is None else 1), Fraction(0))
    return _corner(dim, variances, loading, (low, high), moved, last, copies)


def levelled_cube(dim: int, variances: tuple[Fraction, Fraction, Fraction], last: int, layer: int) -> Corner:
    """Records of [0, 1]^d with at most ``last`` entries, and a coordinate 1 - j/layer with noise of its own."""
    moved = (Fraction(1), Fraction(-1, layer))
    found = _corner(dim, variances, 0, (Fraction(0), Fraction(1)), moved, last, 1)
    assert found is not None  # all three variances are positive there, or that of the shared noise is 0
    return found


def _corner(
    d: int,
    variances: tuple[Fraction, Fraction, Fraction],
    loading: int | None,
    ends: tuple[Fraction, Fraction],
    moved: tuple[Fraction, Fraction],
    last: int,
    copies: int,
) -> Corner | None:
    (vz, ve, vw), (low, high) = variances, ends
    qc, cc = (Fraction(0), Fraction(1)) if loading is None else (loading * ve, loading * loading * ve + vw)
    line = vz + d * ve
    det = line * cc - qc * qc * d
    if vz == 0 or det <= 0:
        return None
    step = (high - low) / vz

    def solved(j: int) -> tuple[Fraction, Fraction]:
        """The y of an entry at the lower end, and of the count."""
        total, t = d * low + j * (high - low), moved[0] + j * moved[1]
        sum_y, count = (cc * total - d * qc * t) / det, (line * t - qc * total) / det
        return (low - ve * sum_y - qc * count) / vz, count

    def value(j: int) -> Fraction:
        off, count = solved(j)
        form = j * high * (off + step) + (d - j) * low * off + (moved[0] + j * moved[1]) * count
        return copies**2 * form

    first, second = solved(0), solved(1)
    off, count = (f"({number(a)} + ({number(b - a)})*j)" for a, b in zip(first, second, strict=True))
    on = f"({off} + {number(step)})"
    total = f"(j*{on} + ({d} - j)*{off})"
    rows = [
        (f"({number(vz)})*{on} + ({number(ve)})*{total} + ({number(qc)})*{count}", number(high)),
        (f"({number(vz)})*{off} + ({number(ve)})*{total} + ({number(qc)})*{count}", number(low)),
    ]
    last_entry = f"({number(moved[0])} + ({number(moved[1])})*j)"
    if loading is not None:
        rows.append((f"({number(qc)})*{total} + ({number(cc)})*{count}", last_entry))
    constant = value(0)
    bend = (value(2) - 2 * value(1) + constant) / 2
    slope = value(1) - constant - bend
    form = f"{copies**2}*(j*({number(high)})*{on} + ({d} - j)*({number(low)})*{off} + {last_entry}*{count})"
    rows.append((form, f"({number(bend)})*j**2 + ({number(slope)})*j + ({number(constant)})"))
    worst = max(range(last + 1), key=value) if last <= MOST_LAYERS else _vertex(bend, slope, last, value)
    square = value(worst)
    near = (
        range(last + 1)
        if last <= MOST_LAYERS
        else sorted({j for j in (0, worst - 1, worst, worst + 1, last) if 0 <= j <= last})
    )
    others: list[tuple[str, list[list[Any]]]] = [
        (f"j = {j}", [[number(value(j)), "<=", number(square), True]]) for j in near
    ]
    if last > MOST_LAYERS:
        others.append(("the parabola", [[number(bend), "<=" if bend <= 0 else ">", "0", True]]))
    return Corner(
        rows=rows,
        definite=[["0", "<", number(vz), True], ["0", "<", number(det), True]],
        worst=worst,
        square=square,
        value=(f"({number(bend)})*{worst}**2 + ({number(slope)})*{worst} + ({number(constant)})", number(square)),
        others=others,
    )


def _vertex(bend: Fraction, slope: Fraction, last: int, value: Callable[[int], Fraction]) -> int:
    top = 0 if bend >= 0 else max(0, min(last, math.floor(-slope / (2 * bend))))
    return max(sorted({0, top, min(top + 1, last), last}), key=value)
