"""Figures 2 and 3 of Lebeda (2024) as sheets, with the optimum OPT(d, k) added.

The numbers are those of `compare_ellipses` and `compare_constants`.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.comparisons.sheet import ComparisonSheet, Panel, Series, Style, finite_series, number_table
from dpverdict.checks import check_dim
from dpverdict.mechanisms.queries.comparison import compare_constants, compare_ellipses
from dpverdict.mechanisms.queries.count_ellipse import largest_optimal_k
from dpverdict.numerics.arrays import Array

_DRAWN: Final = 160
"""How many bounds k, or constants C, are drawn."""

_UNIT: Final = "variances are for mu = 1 under add-or-remove-one, divide by mu^2; rounded to nearest"


def ellipse_sheet(*, dim: int, points: int = 11) -> ComparisonSheet:
    """Per-query variance against the bound k on a record's non-zero entries (Figure 3), with the optimum.

    Args:
        dim: number of queries d >= 1; the figure has 1000.
        points: rows of the table, about, at least 2.

    Raises:
        InvalidValue: dim is out of range.

    Reference: Lebeda 2024, Figure 3 (arXiv:2408.06853).
    """
    d = check_dim(dim)
    khat = largest_optimal_k(d)
    told, drawn = (
        sorted({*_spaced_numbers(d, count), d // 2 or 1, khat, min(khat + 1, d)}) for count in (points, _DRAWN)
    )
    rows, figure = compare_ellipses(d, told), compare_ellipses(d, drawn)
    relative = figure.relative()
    after = figure.k * 2 >= d  # the paper draws its own mechanism where the Count ellipse ends
    labels = ("independent noise", "Count ellipse, k <= d/2", "Algorithm 1, any k", "optimum")
    columns = ("standard", "count_ellipse", "correlated", "optimum")
    styles: tuple[tuple[Style, int], ...] = (("dotted", 4), ("solid", 1), ("solid", 2), ("dashed", 6))

    def curves(values: dict[str, Array], shown: NDArray[np.bool_]) -> tuple[Series, ...]:
        return tuple(
            finite_series(
                label, figure.k, np.where(shown | (name != "correlated"), values[name], math.nan), style, colour
            )
            for label, name, (style, colour) in zip(labels, columns, styles, strict=True)
        )

    absolute = {name: getattr(figure, name) for name in columns}
    everywhere = np.ones(figure.k.size, dtype=bool)
    return ComparisonSheet(
        title=f"Counting queries of bounded density, d = {d}: variance of a query",
        notes=(
            _UNIT,
            f"the Count ellipse is the optimum for k <= {khat}; from there on the optimum does not depend on k",
            "Algorithm 1 releases the number of records as well",
        ),
        parameters={"dim": str(d)},
        tables=(
            number_table(
                f"Variance of a query, d = {d}",
                [
                    (int(k), float(alone), "" if math.isnan(ellipse) else float(ellipse), *map(float, others))
                    for k, alone, ellipse, *others in zip(
                        rows.k,
                        rows.standard,
                        rows.count_ellipse,
                        rows.correlated,
                        rows.optimum,
                        rows.excess,
                        strict=True,
                    )
                ],
                "k",
                *labels,
                "Algorithm 1 - optimum",
            ),
        ),
        panels=(
            Panel(
                title="Relative to independent noise",
                x="k",
                y="variance / k",
                curves=curves(relative, after),
                bottom=0.0,
            ),
            Panel(title="Variance of a query", x="k", y="variance", curves=curves(absolute, everywhere), bottom=0.0),
        ),
    )


def constant_sheet(*, dim: int, points: int = 11) -> ComparisonSheet:
    """Query variance and count variance of Algorithm 1 against the embedding constant C (Figure 2).

    Args:
        dim: number of queries d >= 2; the figure has 10000.
        points: rows of the table, about, at least 2.

    Raises:
        InvalidValue: dim is out of range.

    Reference: Lebeda 2024, Lemma 3.5 and Figure 2 (arXiv:2408.06853).
    """
    d = check_dim(dim)
    best, last = d**0.25, math.sqrt(d)
    told, drawn = (
        sorted({*np.geomspace(best / 4, max(last, 2 * best), count).tolist(), best, last}) for count in (points, _DRAWN)
    )
    rows, figure = compare_constants(d, told), compare_constants(d, drawn)
    return ComparisonSheet(
        title=f"Algorithm 1 with embedding constant C, d = {d}",
        notes=(
            _UNIT,
            f"C = d^(1/4) = {best:.6g} is best for the queries; C = sqrt d = {last:.6g} gives the count the variance 2",
        ),
        parameters={"dim": str(d)},
        tables=(
            number_table(
                f"Variances against C, d = {d}",
                list(zip(rows.constants.tolist(), rows.query.tolist(), rows.count.tolist(), strict=True)),
                "C",
                "query, (d + C^2 + d/C^2 + 1)/4",
                "number of records, d/C^2 + 1",
            ),
        ),
        panels=(
            Panel(
                title="Variance of a query",
                x="C",
                y="(d + C^2 + d/C^2 + 1)/4",
                curves=(finite_series("", figure.constants, figure.query),),
                mark=(best, "C = d^(1/4)"),
                bottom=0.0,
            ),
            Panel(
                title="Variance of the number of records",
                x="C",
                y="d/C^2 + 1",
                curves=(finite_series("", figure.constants, figure.count, colour=1),),
                mark=(best, "C = d^(1/4)"),
                log_y=True,
            ),
        ),
    )


def _spaced_numbers(last: int, count: int) -> list[int]:
    """About ``count`` whole numbers from 1 to ``last``, evenly spaced, the ends among them."""
    return sorted({int(k) for k in np.linspace(1, last, count).round()})
