"""The comparisons of ellipses: the figures of Lebeda 2024, with the optimum added."""

import pytest

from dpverdict.audit.comparisons.ellipses import constant_sheet, ellipse_sheet
from dpverdict.audit.comparisons.sheet import ComparisonSheet

ELLIPSES = ellipse_sheet(dim=1000, points=5)
CONSTANTS = constant_sheet(dim=10_000, points=5)


def column(sheet: ComparisonSheet, table: int, name: str) -> dict[object, object]:
    """A column of a table by the first cell of each row."""
    found = sheet.tables[table]
    at = found.columns.index(name)
    return {row[0]: row[at] for row in found.rows}


def test_figure_3_and_the_optimum() -> None:
    optimum = column(ELLIPSES, 0, "optimum")
    ellipse, algorithm = column(ELLIPSES, 0, "Count ellipse, k <= d/2"), column(ELLIPSES, 0, "Algorithm 1, any k")
    assert [ellipse[500], optimum[1000], algorithm[1]] == pytest.approx([265.80348, 266.061352, 266.06139], abs=5e-6)
    assert ellipse[516] == ""
    assert column(ELLIPSES, 0, "independent noise")[500] == 500.0
    excess = column(ELLIPSES, 0, "Algorithm 1 - optimum")
    assert excess[500] == pytest.approx(0.25791, abs=5e-6)
    assert excess[1000] == pytest.approx(3.67e-5, abs=5e-8)
    assert excess[1000] < 1 / 4000  # type: ignore[operator]
    relative = {curve.label: curve for curve in ELLIPSES.panels[0].curves}["optimum"]
    at = dict(zip(relative.x.tolist(), relative.y.tolist(), strict=True))
    assert [at[1], at[500], at[1000]] == pytest.approx([1, 0.532, 0.266], abs=5e-4)


def test_algorithm_1_is_the_optimum_exactly_at_squares() -> None:
    excess = column(ellipse_sheet(dim=100, points=3), 0, "Algorithm 1 - optimum")
    assert excess[100] == 0.0
    assert column(ellipse_sheet(dim=2, points=2), 0, "Algorithm 1 - optimum")[2] == pytest.approx((6 * 2**0.5 - 7) / 12)


def test_figure_2() -> None:
    query = column(CONSTANTS, 0, "query, (d + C^2 + d/C^2 + 1)/4")
    count = column(CONSTANTS, 0, "number of records, d/C^2 + 1")
    assert [query[10.0], query[100.0]] == [2550.25, 5000.5]
    assert [count[10.0], count[100.0]] == [101.0, 2.0]
    assert min(CONSTANTS.panels[0].curves[0].y) == 2550.25
    assert CONSTANTS.panels[0].mark == (10.0, "C = d^(1/4)")


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_smallest_dimensions_have_figures(dim: int) -> None:
    assert ellipse_sheet(dim=dim).tables[0].rows
    assert constant_sheet(dim=dim).tables[0].rows
