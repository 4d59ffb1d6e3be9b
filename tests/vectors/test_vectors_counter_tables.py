"""The tables of errors of counters and of crossover deltas made by other software are reproduced to the digits printed.

Each value of the JSON file is one cell of a table. Its author did not always round to nearest: one unit of the last
digit is allowed.
"""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from flint import arb

from dpverdict.balls import Real, ball, precision
from dpverdict.mechanisms.core.calibration import analytic_scale, classic_scale, l2_scale_real
from dpverdict.mechanisms.streams.blt import best_blt, blt_error
from dpverdict.mechanisms.streams.errors import (
    CounterError,
    binary_error,
    classic_crossover_delta,
    crossover_delta,
    gaussian_lower_bound,
    gaussian_tree_error,
    honaker_error,
    log10,
    published_crossover_delta,
    published_error,
    square_root_error,
    tree_error,
)
from dpverdict.mechanisms.streams.factorizations import SmoothBinary
from dpverdict.mechanisms.streams.toeplitz import mean_squared_sum, squared_sum
from dpverdict.mechanisms.streams.tree import best_arity

Case = dict[str, Any]  # a case of a JSON file
CASES: list[Case] = json.loads((Path(__file__).parent / "counter_tables.json").read_text(encoding="utf-8"))["cases"]
BITS = 120
DELTA_40 = "1/1099511627776"


def label(case: Case) -> str:
    return ",".join(str(value) for key, value in case.items() if key not in ("value", "lower", "upper"))


def rounds_to(value: Real, printed: str) -> bool:
    """Whether the number is within one unit of the last digit printed, of at most five without a point; in balls."""
    digits = -len(printed.partition(".")[2]) if "." in printed else max(0, len(printed) - 5)
    with precision(BITS):
        return bool(abs(value.ball() - ball(printed)) <= arb(10) ** digits)


def times(factor: Real | float, value: Real) -> Real:
    number = factor if isinstance(factor, Real) else Real.of(factor)
    return Real(lambda: number.ball() * value.ball())


def published_smooth(horizon: int, noise: str) -> Real:
    height = SmoothBinary(horizon).height
    return Real.of(height**3 // 4 if noise == "laplace" else height**2 // 4)


def laplace_cell(case: Case, horizon: int) -> Real:
    match case["column"]:
        case "binary":
            return binary_error(horizon, "laplace").mean
        case "honaker":
            return honaker_error(horizon, "laplace").mean
        case "smooth, published":
            return published_smooth(horizon, "laplace")
        case "no subtraction":
            return tree_error(horizon, case["k"], digits="ordinary").mean
        case _:
            return tree_error(horizon, case["k"]).mean


def gaussian_cell(case: Case, horizon: int) -> Real:
    match case["column"]:
        case "binary":
            return binary_error(horizon, "gaussian").mean
        case "honaker":
            return honaker_error(horizon, "gaussian").mean
        case "smooth, published":
            return published_smooth(horizon, "gaussian")
        case "odd arity":
            return gaussian_tree_error(horizon, case["k"]).mean
        case "sqrt-toeplitz":
            return square_root_error(horizon).mean
        case "published bound":
            return published_error(horizon)
        case "BLT":
            return blt_error(horizon, *best_blt(horizon, case["q"])).mean
        case _:
            return gaussian_lower_bound(horizon)


def threshold_cell(case: Case, horizon: int) -> Real:
    tree, root = tree_error(horizon, case["k"]).mean, square_root_error(horizon).mean
    column: str = case["column"]
    if column == "mse":
        return tree
    if column == "power":
        return log10(Real(lambda: arb(horizon) ** ball("-0.92")))
    if column == "published":
        return log10(published_crossover_delta(tree, horizon))
    if column == "classic":
        return log10(classic_crossover_delta(tree, root))
    return log10(crossover_delta(tree, root, column.removeprefix("exact ")))


def published_variance(epsilon: str | int, delta: str) -> Real:
    """C^2 = (4/epsilon^2)(4/9 + ln(sqrt(2/pi)/delta)), of the published bound; for epsilon <= 1."""
    return Real(lambda: 4 / ball(epsilon) ** 2 * (ball("4/9") + ((2 / arb.pi()).sqrt() / ball(delta)).log()))


def scale_cell(case: Case) -> Real:
    e, d = case["epsilon"], case["delta"]
    if case["column"] == "exact":
        return Real.of(analytic_scale(e, d, 1))
    return Real.of(classic_scale(e, d, 1)) if case["column"] == "classic" else published_variance(e, d).sqrt()


def budget_cell(case: Case, horizon: int) -> Real:
    root = square_root_error(horizon).mean
    match case["column"]:
        case "laplace":
            return tree_error(horizon, best_arity(horizon, "symmetric")).mean
        case "sqrt 1e-6" | "sqrt 1e-9" | "sqrt 2^-40" as column:
            delta = {"sqrt 1e-6": "1e-6", "sqrt 1e-9": "1e-9", "sqrt 2^-40": DELTA_40}[column]
            return times(analytic_scale(1, delta, 1) ** 2, root)
        case "sqrt, published variance, 1e-6":
            return times(published_variance(1, "1e-6"), root)
        case "smooth, published, 1e-6":
            return times(analytic_scale(1, "1e-6", 1) ** 2, published_smooth(horizon, "gaussian"))
    sensitivity = Real(lambda: squared_sum(horizon - 1)).sqrt()
    scale = l2_scale_real(1, "1e-6", sensitivity)
    return Real(lambda: 2 * scale.ball() ** 2 * mean_squared_sum(horizon))


def cell(case: Case) -> Real:
    table: str = case["table"]
    if table == "scales":
        return scale_cell(case)
    horizon = 2 ** case["log2_T"]
    match table:
        case "laplace":
            return laplace_cell(case, horizon)
        case "laplace, T - 1":
            return laplace_cell(case, horizon - 1)
        case "gaussian":
            return gaussian_cell(case, horizon)
        case "thresholds":
            return threshold_cell(case, horizon)
        case "budget, epsilon 1":
            return budget_cell(case, horizon)
    if case["column"] == "laplace":
        return times(100.0, tree_error(horizon, best_arity(horizon, "symmetric")).mean)
    return times(analytic_scale("0.1", "1e-9", 1) ** 2, square_root_error(horizon).mean)


@pytest.mark.parametrize("case", [case for case in CASES if "value" in case], ids=label)
def test_a_cell_of_the_tables(case: Case) -> None:
    assert rounds_to(cell(case), case["value"])


def test_a_wrong_digit_would_be_seen() -> None:
    """The planted fault: every printed value, changed in its last digit, is another number."""
    for case in CASES[:60]:
        printed = Decimal(case["value"])
        changed = printed + Decimal(3).scaleb(printed.as_tuple().exponent)  # type: ignore[arg-type]
        assert not rounds_to(cell(case), str(changed))


def test_the_heights_and_the_best_arities_of_the_thresholds() -> None:
    for case in CASES:
        if case["table"] == "thresholds":
            error: CounterError = tree_error(2 ** case["log2_T"], case["k"])
            assert error.name == f"tree k={case['k']}"
    assert [best_arity(2**p, "symmetric") for p in (10, 20, 30, 40)] == [13, 19, 23, 25]


@pytest.mark.parametrize("case", [case for case in CASES if "lower" in case], ids=label)
def test_the_ratio_at_a_power_of_the_horizon(case: Case) -> None:
    """MSE of the tree with the best odd arity over that of the square root at delta = T^-c, epsilon = 1."""
    ratios = []
    for power in (8, 16, 24, 32, 40, 48, 60):
        sigma = analytic_scale(1, 2.0 ** -(int(case["c"]) * power), 1)
        tree = tree_error(2**power, best_arity(2**power, "symmetric")).mean.nearest()
        ratios.append(tree / (sigma**2 * square_root_error(2**power).mean.nearest()))
    width = 5e-4 if case["c"] == "2" else 5e-3 if case["c"] == "3" else 0.05
    assert min(ratios) >= float(case["lower"]) - width
    assert max(ratios) <= float(case["upper"]) + width
