"""The sheets of curves: the figures and tables they reproduce, and their faces."""

import csv
import io
import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from dpverdict.audit.comparisons.counter_errors import error_rows, error_sheet
from dpverdict.audit.comparisons.counters import counter_comparison, delta_text, power_horizons, time_steps
from dpverdict.audit.comparisons.curves import as_csv, as_json, as_picture, certified_curves
from dpverdict.audit.comparisons.ellipses import constant_sheet, ellipse_sheet
from dpverdict.audit.comparisons.picture import picture
from dpverdict.audit.comparisons.request import SHEETS, find_sheet
from dpverdict.audit.comparisons.sheet import Sheet, print_sheet, series, sheet_csv, sheet_json
from dpverdict.balls import Real
from dpverdict.cli.application import main
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.queries.correlated import CorrelatedGaussian
from dpverdict.mechanisms.streams.factorization_counter import FactorizationCounter
from dpverdict.mechanisms.streams.tree_counter import TreeCounter

COUNTERS = counter_comparison(horizon=2**20, epsilon=1, delta="1e-6", points=5)
ELLIPSES = ellipse_sheet(dim=1000, points=5)
CONSTANTS = constant_sheet(dim=10_000, points=5)
ALL = [COUNTERS, ELLIPSES, CONSTANTS]


def column(sheet: Sheet, table: int, name: str) -> dict[object, object]:
    """A column of a table by the first cell of each row."""
    found = sheet.tables[table]
    at = found.columns.index(name)
    return {row[0]: row[at] for row in found.rows}


# the figures of Lebeda 2024 -------------------------------------------------------------------------------------------


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


# counters -------------------------------------------------------------------------------------------------------------


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


# faces ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sheet", ALL, ids=lambda sheet: sheet.title[:12])
def test_json_and_csv_hold_the_numbers_of_the_tables(sheet: Sheet) -> None:
    content = json.loads(sheet_json(sheet))
    assert [table["rows"] for table in content["tables"]] == [[list(row) for row in t.rows] for t in sheet.tables]
    assert all(len(curve["x"]) == len(curve["y"]) > 0 for panel in content["panels"] for curve in panel["curves"])
    rows = list(csv.reader(io.StringIO(sheet_csv(sheet))))
    assert rows[0] == ["table", "row", "column", "value"]
    assert len(rows) == 1 + sum(len(t.rows) * (len(t.columns) - 1) for t in sheet.tables)


@pytest.mark.parametrize("sheet", ALL, ids=lambda sheet: sheet.title[:12])
def test_the_terminal_shows_every_table_and_note(sheet: Sheet) -> None:
    text = io.StringIO()
    print_sheet(sheet, Console(file=text, width=400))
    assert sheet.title in text.getvalue()
    assert all(table.title in text.getvalue() for table in sheet.tables)
    assert all(note in text.getvalue() for note in sheet.notes)


def test_pictures_are_the_same_bytes_each_time() -> None:
    for kind in ("png", "svg"):
        first, second = (picture(CONSTANTS.title, CONSTANTS.panels[:1], kind=kind) for _ in range(2))  # type: ignore[arg-type]
        assert first == second
        assert first.startswith({"png": b"\x89PNG", "svg": b"<?xml"}[kind])
    root = ElementTree.fromstring(picture("three", COUNTERS.panels[:3], kind="svg"))
    written = " ".join("".join(node.itertext()) for node in root.iter() if node.tag.endswith("text"))
    for panel in COUNTERS.panels[:3]:
        assert panel.title in written
        assert all(curve.label in written for curve in panel.curves)


def test_points_without_a_value_are_left_out() -> None:
    curve = series("a", [1, 2, 3, np.inf], [1.0, np.nan, 3.0, 4.0])
    assert (curve.x.tolist(), curve.y.tolist()) == ([1.0, 3.0], [1.0, 3.0])


def test_the_privacy_curves_of_a_counter_have_every_face() -> None:
    counter = TreeCounter(horizon=100, epsilon=1, arity=3)
    curves, more = certified_curves(counter, points=3), error_rows(counter, points=3)
    content = json.loads(as_json(curves, more))
    assert [curve["curve"] for curve in content["curves"]] == ["delta(epsilon)", "beta(alpha)"]
    assert content["errors"][-1]["argument"] == 100
    assert as_csv(curves, more).endswith("\n")
    assert len(as_csv(curves, more).splitlines()) == 1 + 6 + len(more)
    sheet = error_sheet(counter, points=3)
    assert sheet is not None
    assert as_picture(curves, "svg", sheet.panels).startswith(b"<?xml")
    for curve in (curves.drawn[0], curves.drawn[1]):
        assert np.isfinite(curve.exact).all()
    assert np.all(curves.drawn[0].exact <= curves.drawn[0].claimed + 1e-12)


def test_matplotlib_is_imported_for_a_picture_alone() -> None:
    script = (
        "import sys; from dpverdict.audit.comparisons.request import find_sheet; "
        "from dpverdict.audit.comparisons import curves, counter_errors, picture; "
        "find_sheet('ellipses', {'dim': '5'}, points=3); print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# requests -------------------------------------------------------------------------------------------------------------


def test_sheets_are_found_by_name() -> None:
    options = {"horizon": "1e3", "epsilon": "1", "delta": "1e-6", "arity": "best", "dim": None}
    found = find_sheet("counters", options, points=2)
    assert found is not None
    assert found.parameters["horizon"] == "1000"
    assert find_sheet("ellipses", {"dim": "10"}, points=2) is not None
    assert find_sheet("constants", {"dim": "10"}, points=2) is not None
    assert find_sheet("correlated-gaussian", {"dim": "10"}, points=2) is None


@pytest.mark.parametrize(
    ("name", "options", "match"),
    [
        ("counters", {"horizon": "100", "epsilon": "1"}, "^delta=None must be given for counters: add --delta"),
        ("counters", {"horizon": "100", "epsilon": "1", "delta": "1e-6", "mu": "1"}, "^mu=.*left out for counters"),
        ("counters", {"horizon": "many", "epsilon": "1", "delta": "1e-6"}, "^horizon="),
        ("counters", {"horizon": "100", "epsilon": "1", "delta": "1e-6", "arity": "1"}, "^arity="),
        ("ellipses", {}, "^dim=None must be given for ellipses: add --dim"),
        ("constants", {"dim": "0"}, "^dim="),
    ],
)
def test_a_request_that_is_none_is_refused(name: str, options: dict[str, str], match: str) -> None:
    assert name in SHEETS
    with pytest.raises(InvalidValue, match=match):
        find_sheet(name, options, points=3)


# the command ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "parts"),
    [
        (["tree-counter", "--horizon", "65160", "--arity", "19", "--epsilon", "1"], ["603.172", "claims eps=1"]),
        (["counters", "--horizon", "2048", "--epsilon", "1", "--delta", "1e-6"], ["tree better below delta"]),
        (["ellipses", "--dim", "1000"], ["265.803", "266.061", "3.67365e-05"]),
        (["constants", "--dim", "10000"], ["2550.25", "5000.5"]),
    ],
    ids=lambda value: value[0],
)
def test_the_command_prints_writes_and_draws(
    ask: list[str],
    parts: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    files = [part for kind in ("csv", "json", "svg") for part in (f"--{kind}", f"out.{kind}")]
    assert main(["curve", *ask, "--points", "5", *files]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert all(part in printed.out for part in parts)
    assert json.loads((tmp_path / "out.json").read_text())["schema_version"] == 1
    assert len((tmp_path / "out.csv").read_text().splitlines()) > 5
    assert ElementTree.fromstring((tmp_path / "out.svg").read_bytes()).tag.endswith("svg")


@pytest.mark.parametrize(
    ("ask", "parts"),
    [
        (["counters", "--horizon", "100", "--epsilon", "1"], ["delta=None", "add --delta"]),
        (["counters", "--horizon", "1", "--epsilon", "1", "--delta", "1e-6"], ["horizon='1'"]),
        (["counters", "--horizon", "9", "--epsilon", "1", "--delta", "2"], ["delta='2'"]),
        (["ellipses", "--dim", "4", "--mu", "1"], ["mu='1'", "left out for ellipses"]),
        (["elipses", "--dim", "4"], ["mechanism='elipses'", "did you mean ellipses?"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_the_command_refuses_in_one_line(ask: list[str], parts: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["curve", *ask]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert all(part in printed.err for part in parts)
