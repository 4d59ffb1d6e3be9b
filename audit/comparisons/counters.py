"""Laplace trees against Gaussian factorisations for counting, as a sheet: errors against T and delta, the crossover.

The mathematics is in `dpverdict.mechanisms.streams.errors`; the grids of T and t serve the curves of one counter too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Literal

import numpy as np

from dpverdict.audit.comparisons.sheet import (
    Cell,
    ComparisonSheet,
    NumberTable,
    Panel,
    Series,
    finite_series,
    number_table,
)
from dpverdict.balls import Exact, Real, exactly
from dpverdict.checks import check_dim, check_positive
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.calibration import analytic_scale
from dpverdict.mechanisms.streams import blt
from dpverdict.mechanisms.streams.errors import (
    CounterError,
    binary_error,
    crossover_delta,
    gaussian_lower_bound,
    honaker_error,
    log10,
    published_crossover_delta,
    smooth_error,
    square_root_error,
    tree_error,
)
from dpverdict.numerics.text import exact_text

NAMES: Final = tuple(f"{name}, Gaussian" for name in ("binary", "Honaker", "smooth binary", "square root"))
"""The factorisations, in the order of `counter_errors`."""

MOST_STEPS: Final = 300
"""How many time steps of a long stream are drawn, at most."""


@lru_cache(maxsize=512)
def counter_errors(horizon: int, arity: int | Literal["best"]) -> tuple[CounterError, ...]:
    """The Laplace tree, and the factorisations under Gaussian noise."""
    return (
        tree_error(horizon, arity),
        *(make(horizon, "gaussian") for make in (binary_error, honaker_error, smooth_error)),
        square_root_error(horizon),
    )


def power_horizons(horizon: int, points: int) -> list[int]:
    """About so many powers of two up to the horizon, evenly spaced, and the horizon."""
    last = horizon.bit_length() - 1
    powers = np.linspace(min(3, last), last, points).round()
    return sorted({*(1 << int(power) for power in powers), horizon})


def time_steps(horizon: int) -> list[int]:
    """All steps of a short stream, about 300 of a long one, evenly spaced on a logarithmic scale, with 1 and T."""
    if horizon <= MOST_STEPS:
        return list(range(1, horizon + 1))
    spaced = np.exp(np.linspace(0.0, math.log(horizon), MOST_STEPS)).round()
    return sorted({min(int(t), horizon) for t in spaced} | {horizon})


def smooth_steps(horizon: int) -> list[int]:
    """A tenth of `time_steps`, and all of the first 20: enough of a variance that is smooth in t, and takes longer."""
    steps = time_steps(horizon)
    return sorted({*steps[:20], *steps[::10], horizon})


def delta_powers(tree: CounterError, others: Sequence[CounterError], epsilon: Exact, delta: Exact) -> list[int]:
    """Exponents of ten from above the largest crossover to below the smallest, with the delta of the comparison."""
    crossings = [log10(crossover_delta(tree.mean, other.mean, epsilon)).nearest() for other in others]
    own = log10(Real.of(delta)).nearest()
    top = min(-1, math.ceil(max(*crossings, own)) + 1)
    bottom = max(math.floor(min(*crossings, own)) - 2, -290)
    step = max(1, (top - bottom) // 12)
    return list(range(top, bottom - 1, -step))


def horizon_panel(n: int, arity: int | Literal["best"], unit: dict[str, float]) -> Panel:
    """Error against T at the epsilon and the delta of the comparison; ``unit`` is the unit of each noise."""
    horizons = power_horizons(n, n.bit_length())
    columns = [counter_errors(t, arity) for t in horizons]
    labels = ["Laplace tree", *NAMES]
    curves = [
        finite_series(
            label, horizons, [unit[row[i].noise] * row[i].mean.nearest() for row in columns], _line_style(i), colour=i
        )
        for i, label in enumerate(labels)
    ]
    return Panel(title="Mean squared error against T", x="T", y="MSE", curves=tuple(curves), log_x=True, log_y=True)


def _line_style(index: int) -> Literal["solid", "dashed"]:
    return "solid" if index in (0, 4) else "dashed"


def delta_panel(tree: CounterError, others: Sequence[CounterError], epsilon: Exact, delta: Exact) -> Panel:
    """Error against delta at the horizon and the epsilon of the comparison."""
    powers = delta_powers(tree, others, epsilon, delta)
    deltas = np.logspace(powers[-1], powers[0], 41)
    squares = np.array([analytic_scale(epsilon, float(value), 1) ** 2 for value in deltas])
    level = tree.mean.nearest() / float(exactly(epsilon)) ** 2
    curves: list[Series] = [finite_series("Laplace tree, delta = 0", deltas, np.full(deltas.size, level))]
    for i, (name, other) in enumerate(zip(NAMES, others, strict=True), 1):
        curves.append(finite_series(name, deltas, squares * other.mean.nearest(), _line_style(i), colour=i))
    return Panel(
        title="Mean squared error against delta",
        x="delta",
        y="MSE",
        curves=tuple(curves),
        log_x=True,
        log_y=True,
        mark=(float(exactly(delta)), "the delta asked for"),
    )


def crossover_panel(n: int, arity: int | Literal["best"], epsilon: Exact) -> Panel:
    """The crossover delta against T, for the mean and, against the square root, for the largest variance."""
    horizons = power_horizons(n, n.bit_length())
    trees, others = [counter_errors(t, arity)[0] for t in horizons], [counter_errors(t, arity)[1:] for t in horizons]
    curves = [
        finite_series(
            name,
            horizons,
            [
                crossover_delta(tree.mean, row[i].mean, epsilon).nearest()
                for tree, row in zip(trees, others, strict=True)
            ],
            _line_style(i + 1),
            colour=i + 1,
        )
        for i, name in enumerate(NAMES)
    ]
    worst = [
        crossover_delta(tree.largest, row[-1].largest, epsilon).nearest()
        for tree, row in zip(trees, others, strict=True)
    ]
    curves.append(finite_series("square root, worst step", horizons, worst, "dotted", colour=4))
    curves.append(finite_series("T^-2", horizons, [float(t) ** -2 for t in horizons], "dotted", colour=6))
    return Panel(
        title="The tree is better below this delta",
        x="T",
        y="crossover delta",
        curves=tuple(curves),
        log_x=True,
        log_y=True,
    )


def step_panel(n: int, tree: CounterError, others: Sequence[CounterError], unit: dict[str, float]) -> Panel:
    """The variance at step t of the tree and of the square root."""
    steps = time_steps(n)
    root, fewer = others[-1], smooth_steps(n)
    curves = (
        finite_series("Laplace tree", steps, [unit["laplace"] * tree.variance(t).nearest() for t in steps], "dots"),
        finite_series(
            "square root, Gaussian", fewer, [unit["gaussian"] * root.variance(t).nearest() for t in fewer], "solid", 4
        ),
    )
    return Panel(
        title="Variance at step t" + (f" ({len(steps)} of {n} steps)" if len(steps) < n else ""),
        x="t",
        y="variance",
        curves=curves,
        log_x=True,
        log_y=True,
    )


BUFFERS: Final = 4
"""Of the buffered Toeplitz factorisation in the table: a fifth gains less than 2 % up to T = 2^20."""

LONGEST: Final = 1 << 62
"""The largest horizon compared."""


def counter_comparison(
    *, horizon: int, epsilon: Exact, delta: Exact, arity: int | Literal["best"] = "best", points: int = 11
) -> ComparisonSheet:
    """Who counts best over T items: the tree at pure epsilon-DP, or a factorisation at (epsilon, delta)-DP.

    Args:
        horizon: T, from 2 to 2^62.
        epsilon: > 0, the same for both.
        delta: in (0, 1), of the Gaussian noise; its scale is the exact one of `analytic_scale`.
        arity: of the tree, for every horizon; "best" searches for the best one for each.
        points: how many horizons and steps the tables show, at least 2.

    Raises:
        InvalidValue: an argument is out of range.
    """
    n = check_dim(horizon, "horizon")
    if not 2 <= n <= LONGEST:
        raise InvalidValue("horizon", horizon, "from 2 to 2^62", "give the length of the stream")
    e, d = check_positive(epsilon, "epsilon"), exactly(delta, name="delta")
    sigma = analytic_scale(e, delta, 1)
    unit = {"laplace": float(1 / e**2), "gaussian": sigma**2}
    tree, *others = counter_errors(n, arity)
    horizons = power_horizons(n, points)
    return ComparisonSheet(
        title=f"Counting {n} items at epsilon = {exact_text(e)}: Laplace tree (pure) against Gaussian noise, "
        f"delta = {exact_text(d)}",
        notes=(
            f"the Gaussian noise has the exact standard deviation {sigma:.6g} for l2 sensitivity 1; the tree has "
            "Laplace noise and delta = 0",
            "below its crossover delta the tree has the smaller error, above it the factorisation; numbers are rounded "
            "to nearest",
            f"BLT: a buffered linear Toeplitz factorisation with {BUFFERS} buffers, its parameters found numerically; "
            "the lower bound is of every factorisation",
        ),
        parameters={
            "horizon": str(n),
            "epsilon": exact_text(e),
            "delta": exact_text(d),
            "arity": str(arity),
            "sigma": repr(sigma),
        },
        tables=(
            _table_at_horizon(n, tree, others, unit, e),
            _table_against_horizon(horizons, arity, unit),
            _table_against_delta(n, tree, others, e, d),
            _table_of_crossovers(horizons, arity, e),
            _table_at_steps(n, tree, others, unit, e, points),
        ),
        panels=(
            horizon_panel(n, arity, unit),
            delta_panel(tree, others, e, d),
            crossover_panel(n, arity, e),
            step_panel(n, tree, others, unit),
        ),
    )


# tables ---------------------------------------------------------------------------------------------------------------


def _table_at_horizon(
    n: int, tree: CounterError, others: Sequence[CounterError], unit: dict[str, float], epsilon: Exact
) -> NumberTable:
    def cells(error: CounterError) -> tuple[Cell, Cell, Cell]:
        mean, largest = (unit[error.noise] * value.nearest() for value in (error.mean, error.largest))
        return mean, math.sqrt(mean), largest

    rows: list[tuple[Cell, ...]] = [(f"{tree.name}, Laplace", *cells(tree), "", "")]
    honaker = honaker_error(n, "laplace")
    rows.append((f"{honaker.name}, Laplace", *cells(honaker), "", ""))
    buffered = [blt.blt_error(n, *blt.best_blt(n, BUFFERS))] if n <= blt.LONGEST else []
    for other in (*others, *buffered):
        crossings = (
            delta_text(crossover_delta(getattr(tree, part), getattr(other, part), epsilon))
            for part in ("mean", "largest")
        )
        rows.append((f"{other.name}, Gaussian", *cells(other), *crossings))
    bound = gaussian_lower_bound(n)
    least = unit["gaussian"] * bound.nearest()
    rows.append(
        (
            "lower bound, Gaussian",
            least,
            math.sqrt(least),
            "",
            delta_text(crossover_delta(tree.mean, bound, epsilon)),
            "",
        )
    )
    return number_table(
        f"At T = {n}",
        rows,
        "mechanism",
        "MSE",
        "root MSE",
        "largest variance",
        "tree better below delta",
        "at the worst step",
    )


def _table_against_horizon(
    horizons: Sequence[int], arity: int | Literal["best"], unit: dict[str, float]
) -> NumberTable:
    rows: list[tuple[Cell, ...]] = []
    for n in horizons:
        row = counter_errors(n, arity)
        rows.append((n, row[0].name, *(unit[error.noise] * error.mean.nearest() for error in row)))
    return number_table("Mean squared error against T", rows, "T", "tree", "Laplace tree", *NAMES)


def _table_against_delta(
    n: int, tree: CounterError, others: Sequence[CounterError], epsilon: Exact, delta: Exact
) -> NumberTable:
    rows: list[tuple[Cell, ...]] = []
    for power in delta_powers(tree, others, epsilon, delta):
        square = analytic_scale(epsilon, f"1e{power}", 1) ** 2
        rows.append(
            (
                f"1e{power}",
                tree.mean.nearest() / float(exactly(epsilon)) ** 2,
                *(square * e.mean.nearest() for e in others),
            )
        )
    return number_table(f"Mean squared error against delta, T = {n}", rows, "delta", "Laplace tree", *NAMES)


def _table_of_crossovers(horizons: Sequence[int], arity: int | Literal["best"], epsilon: Exact) -> NumberTable:
    rows: list[tuple[Cell, ...]] = []
    for n in horizons:
        tree, *others = counter_errors(n, arity)
        means = (delta_text(crossover_delta(tree.mean, other.mean, epsilon)) for other in others)
        worst = (delta_text(crossover_delta(tree.largest, other.largest, epsilon)) for other in others[-1:])
        published = "" if n < 7 else delta_text(published_crossover_delta(tree.mean, n))
        rows.append((n, *means, *worst, published))
    columns = (*NAMES, "square root, worst step", "published bound")
    return number_table("The tree is better below this delta", rows, "T", *columns)


def _table_at_steps(
    n: int, tree: CounterError, others: Sequence[CounterError], unit: dict[str, float], epsilon: Exact, points: int
) -> NumberTable:
    root = others[-1]
    rows: list[tuple[Cell, ...]] = []
    for t in power_horizons(n, points):
        ours, theirs = tree.variance(t), root.variance(t)
        crossing = delta_text(crossover_delta(ours, theirs, epsilon))
        rows.append((t, unit["laplace"] * ours.nearest(), unit["gaussian"] * theirs.nearest(), crossing))
    return number_table(
        f"Variance at step t, T = {n}", rows, "t", "Laplace tree", "square root, Gaussian", "tree better below delta"
    )


def delta_text(delta: Real) -> str:
    """A delta with three digits, also where it is below the range of float64.

    >>> delta_text(Real.of("3.664e-12")), delta_text(Real.of("1e-400")), delta_text(Real.of("0.25"))
    ('3.66e-12', '1.00e-400', '2.50e-01')
    """
    exponent = math.floor(log10(delta).nearest())
    digits = 10.0 ** (log10(delta).nearest() - exponent)
    if round(digits, 2) >= 10.0:
        digits, exponent = 1.0, exponent + 1
    return f"{digits:.2f}e{exponent:+03d}"
