"""The errors of one counter as curves and rows; no other mechanism has any."""

import pytest

from dpverdict.audit.comparisons.counter_errors import error_rows, error_sheet
from dpverdict.audit.comparisons.sheet import ComparisonSheet
from dpverdict.mechanisms.queries.correlated import CorrelatedGaussian
from dpverdict.mechanisms.streams.factorization_counter import FactorizationCounter
from dpverdict.mechanisms.streams.tree_counter import TreeCounter


def column(sheet: ComparisonSheet, table: int, name: str) -> dict[object, object]:
    """A column of a table by the first cell of each row."""
    found = sheet.tables[table]
    at = found.columns.index(name)
    return {row[0]: row[at] for row in found.rows}


def test_a_counter_has_error_curves_and_others_have_none() -> None:
    assert error_sheet(CorrelatedGaussian(dim=4, mu=1), points=3) is None
    assert error_rows(CorrelatedGaussian(dim=4, mu=1), points=3) == []
    counter = TreeCounter(horizon=3429, epsilon=10, arity=19)
    sheet = error_sheet(counter, points=4)
    assert sheet is not None
    ratio = counter.variance_ratio().nearest()
    assert ratio < 0.7  # the discrete noise at epsilon/h = 10/3
    mean = column(sheet, 0, "MSE at horizon T, k = 19")[3429]
    assert mean == pytest.approx(ratio * float(counter.mean_squared_error()), rel=1e-12)
    assert sheet.panels[0].curves[1].y.tolist() == [mean, mean]
    rows = error_rows(counter, points=4)
    assert rows[-1][:2] == ("mean squared error(T)", "3429")
    assert float(rows[-1][2]) <= mean <= float(rows[-1][3])


@pytest.mark.parametrize("kind", ["honaker", "sqrt-toeplitz"])
def test_a_factorisation_has_error_curves(kind: str) -> None:
    counter = FactorizationCounter(horizon=500, kind=kind, noise="gaussian", claim="mu=1")  # type: ignore[arg-type]
    sheet = error_sheet(counter, points=3)
    assert sheet is not None
    found = column(sheet, 0, f"MSE at horizon T, {kind}")[500]
    assert found == pytest.approx(counter.mean_squared_error().nearest(), rel=1e-12)
