"""Laplace trees against Gaussian factorisations for counting, as a sheet: errors against T and delta, the crossover.

The mathematics is in `dpverdict.mechanisms.counter_errors` and `dpverdict.mechanisms.counter_crossover`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Literal

from dpverdict.audit.counter_comparison_grid import NAMES, delta_powers, errors, power_horizons
from dpverdict.audit.counter_comparison_panels import crossover_panel, delta_panel, horizon_panel, step_panel
from dpverdict.audit.curves_sheet import Cell, NumberTable, Sheet, table
from dpverdict.balls import Exact, Real, exactly
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import counter_blt
from dpverdict.mechanisms.calibration import analytic_scale
from dpverdict.mechanisms.counter_blt import best_blt, blt_error
from dpverdict.mechanisms.counter_crossover import crossover_delta, log10, published_crossover_delta
from dpverdict.mechanisms.counter_errors import CounterError, gaussian_lower_bound, honaker_error
from dpverdict.mechanisms.exact_text import exact_text
from dpverdict.mechanisms.mechanism import check_dim, check_positive

BUFFERS: Final = 4
"""Of the buffered Toeplitz factorisation in the table: a fifth gains less than 2 % up to T = 2^20."""

LONGEST: Final = 1 << 62
"""The largest horizon compared."""


def counter_comparison(
    *, horizon: int, epsilon: Exact, delta: Exact, arity: int | Literal["best"] = "best", points: int = 11
) -> Sheet:
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
    tree, *others = errors(n, arity)
    horizons = power_horizons(n, points)
    return Sheet(
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
            _at_horizon(n, tree, others, unit, e),
            _against_horizon(horizons, arity, unit),
            _against_delta(n, tree, others, e, d),
            _crossovers(horizons, arity, e),
            _at_steps(n, tree, others, unit, e, points),
        ),
        panels=(
            horizon_panel(n, arity, unit),
            delta_panel(tree, others, e, d),
            crossover_panel(n, arity, e),
            step_panel(n, tree, others, unit),
        ),
    )


# tables ---------------------------------------------------------------------------------------------------------------


def _at_horizon(
    n: int, tree: CounterError, others: Sequence[CounterError], unit: dict[str, float], epsilon: Exact
) -> NumberTable:
    def cells(error: CounterError) -> tuple[Cell, Cell, Cell]:
        mean, largest = (unit[error.noise] * value.nearest() for value in (error.mean, error.largest))
        return mean, math.sqrt(mean), largest

    rows: list[tuple[Cell, ...]] = [(f"{tree.name}, Laplace", *cells(tree), "", "")]
    honaker = honaker_error(n, "laplace")
    rows.append((f"{honaker.name}, Laplace", *cells(honaker), "", ""))
    buffered = [blt_error(n, *best_blt(n, BUFFERS))] if n <= counter_blt.LONGEST else []
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
    return table(
        f"At T = {n}",
        rows,
        "mechanism",
        "MSE",
        "root MSE",
        "largest variance",
        "tree better below delta",
        "at the worst step",
    )


def _against_horizon(horizons: Sequence[int], arity: int | Literal["best"], unit: dict[str, float]) -> NumberTable:
    rows: list[tuple[Cell, ...]] = []
    for n in horizons:
        row = errors(n, arity)
        rows.append((n, row[0].name, *(unit[error.noise] * error.mean.nearest() for error in row)))
    return table("Mean squared error against T", rows, "T", "tree", "Laplace tree", *NAMES)


def _against_delta(
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
    return table(f"Mean squared error against delta, T = {n}", rows, "delta", "Laplace tree", *NAMES)


def _crossovers(horizons: Sequence[int], arity: int | Literal["best"], epsilon: Exact) -> NumberTable:
    rows: list[tuple[Cell, ...]] = []
    for n in horizons:
        tree, *others = errors(n, arity)
        means = (delta_text(crossover_delta(tree.mean, other.mean, epsilon)) for other in others)
        worst = (delta_text(crossover_delta(tree.largest, other.largest, epsilon)) for other in others[-1:])
        published = "" if n < 7 else delta_text(published_crossover_delta(tree.mean, n))
        rows.append((n, *means, *worst, published))
    columns = (*NAMES, "square root, worst step", "published bound")
    return table("The tree is better below this delta", rows, "T", *columns)


def _at_steps(
    n: int, tree: CounterError, others: Sequence[CounterError], unit: dict[str, float], epsilon: Exact, points: int
) -> NumberTable:
    root = others[-1]
    rows: list[tuple[Cell, ...]] = []
    for t in power_horizons(n, points):
        ours, theirs = tree.variance(t), root.variance(t)
        crossing = delta_text(crossover_delta(ours, theirs, epsilon))
        rows.append((t, unit["laplace"] * ours.nearest(), unit["gaussian"] * theirs.nearest(), crossing))
    return table(
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
