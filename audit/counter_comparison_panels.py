"""The panels of a comparison of counters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from dpverdict.audit.counter_comparison_grid import (
    NAMES,
    delta_powers,
    errors,
    power_horizons,
    smooth_steps,
    time_steps,
)
from dpverdict.audit.curves_sheet import Panel, Series, series
from dpverdict.balls import Exact, exactly
from dpverdict.mechanisms.calibration import analytic_scale
from dpverdict.mechanisms.counter_crossover import crossover_delta
from dpverdict.mechanisms.counter_errors import CounterError


def horizon_panel(n: int, arity: int | Literal["best"], unit: dict[str, float]) -> Panel:
    """Error against T at the epsilon and the delta of the comparison; ``unit`` is the unit of each noise."""
    horizons = power_horizons(n, n.bit_length())
    columns = [errors(t, arity) for t in horizons]
    labels = ["Laplace tree", *NAMES]
    curves = [
        series(label, horizons, [unit[row[i].noise] * row[i].mean.nearest() for row in columns], _style(i), colour=i)
        for i, label in enumerate(labels)
    ]
    return Panel(title="Mean squared error against T", x="T", y="MSE", curves=tuple(curves), log_x=True, log_y=True)


def _style(index: int) -> Literal["solid", "dashed"]:
    return "solid" if index in (0, 4) else "dashed"


def delta_panel(tree: CounterError, others: Sequence[CounterError], epsilon: Exact, delta: Exact) -> Panel:
    """Error against delta at the horizon and the epsilon of the comparison."""
    powers = delta_powers(tree, others, epsilon, delta)
    deltas = np.logspace(powers[-1], powers[0], 41)
    squares = np.array([analytic_scale(epsilon, float(value), 1) ** 2 for value in deltas])
    level = tree.mean.nearest() / float(exactly(epsilon)) ** 2
    curves: list[Series] = [series("Laplace tree, delta = 0", deltas, np.full(deltas.size, level))]
    for i, (name, other) in enumerate(zip(NAMES, others, strict=True), 1):
        curves.append(series(name, deltas, squares * other.mean.nearest(), _style(i), colour=i))
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
    trees, others = [errors(t, arity)[0] for t in horizons], [errors(t, arity)[1:] for t in horizons]
    curves = [
        series(
            name,
            horizons,
            [
                crossover_delta(tree.mean, row[i].mean, epsilon).nearest()
                for tree, row in zip(trees, others, strict=True)
            ],
            _style(i + 1),
            colour=i + 1,
        )
        for i, name in enumerate(NAMES)
    ]
    worst = [
        crossover_delta(tree.largest, row[-1].largest, epsilon).nearest()
        for tree, row in zip(trees, others, strict=True)
    ]
    curves.append(series("square root, worst step", horizons, worst, "dotted", colour=4))
    curves.append(series("T^-2", horizons, [float(t) ** -2 for t in horizons], "dotted", colour=6))
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
        series("Laplace tree", steps, [unit["laplace"] * tree.variance(t).nearest() for t in steps], "dots"),
        series(
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
