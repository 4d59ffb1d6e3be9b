"""The comparison of counters: the errors and crossovers of the oracle, and grids that reach both ends."""

import numpy as np
import pytest

from dpverdict.audit.comparisons.counters import counter_comparison, delta_text, power_horizons, time_steps
from dpverdict.audit.comparisons.sheet import ComparisonSheet
from dpverdict.balls import Real
from dpverdict.errors import InvalidValue

COUNTERS = counter_comparison(horizon=2**20, epsilon=1, delta="1e-6", points=5)


def column(sheet: ComparisonSheet, table: int, name: str) -> dict[object, object]:
    """A column of a table by the first cell of each row."""
    found = sheet.tables[table]
    at = found.columns.index(name)
    return {row[0]: row[at] for row in found.rows}


def test_the_comparison_has_the_errors_and_crossovers_of_the_oracle() -> None:
    """The values of tests/vectors/counter_tables.json at T = 2^20, epsilon = 1, delta = 1e-6."""
    error = column(COUNTERS, 0, "MSE")
    assert error["tree k=19, Laplace"] == pytest.approx(1147.43, abs=5e-3)
    assert error["Honaker, Laplace"] == pytest.approx(4764.3, abs=0.05)
    assert error["square root, Gaussian"] == pytest.approx(504.7, abs=0.05)
    crossing = column(COUNTERS, 0, "tree better below delta")
    assert np.log10(float(str(crossing["square root, Gaussian"]))) == pytest.approx(-11.44, abs=5e-3)
    against = column(COUNTERS, 2, "square root, Gaussian")
    assert against["1e-9"] == pytest.approx(853.9, abs=0.1)
    tree = column(COUNTERS, 2, "Laplace tree")
    for delta, value in against.items():  # the tree wins below the crossover and nowhere else
        assert (tree[delta] < value) == (float(str(delta)) < 3.65e-12)  # type: ignore[operator]


def test_the_comparison_takes_an_arity_and_the_shortest_horizon() -> None:
    fixed = counter_comparison(horizon=300, epsilon="0.5", delta="1e-9", arity=4, points=3)
    assert {row[1] for row in fixed.tables[1].rows} == {"tree k=4"}
    assert fixed.panels[3].title == "Variance at step t"
    assert counter_comparison(horizon=2, epsilon=1, delta="0.1", points=2).tables[0].rows


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"horizon": 1}, "^horizon="),
        ({"horizon": 2**63}, "^horizon="),
        ({"epsilon": 0}, "^epsilon="),
        ({"delta": 1}, "^delta="),
        ({"arity": 1}, "^arity="),
    ],
)
def test_a_comparison_of_nothing_is_refused(changed: dict[str, object], match: str) -> None:
    with pytest.raises(InvalidValue, match=match):
        counter_comparison(**{"horizon": 100, "epsilon": 1, "delta": "1e-6", **changed})  # type: ignore[arg-type]


def test_deltas_are_written_wherever_they_lie() -> None:
    texts = [delta_text(Real.of(value)) for value in ("0.9996", "9.996e-5", "1e-5000", "1/3")]
    assert texts == ["1.00e+00", "1.00e-04", "1.00e-5000", "3.33e-01"]


def test_grids_reach_from_the_first_to_the_last() -> None:
    assert time_steps(300) == list(range(1, 301))
    long = time_steps(2**40)
    assert (long[0], long[-1]) == (1, 2**40)
    assert len(long) <= 301
    assert power_horizons(2**20, 3) == [8, 4096, 2**20]
    assert power_horizons(1, 5) == [1]
    assert power_horizons(100, 2) == [8, 64, 100]
