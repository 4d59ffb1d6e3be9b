"""The error curves of a counter, beside its privacy curves: the variance at every step, and the error against T."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from dpverdict.audit.comparisons.counters import power_horizons, smooth_steps, time_steps
from dpverdict.audit.comparisons.sheet import Cell, ComparisonSheet, Panel, finite_series, number_table
from dpverdict.balls import Enclosure, Real
from dpverdict.mechanisms.core.laplace_noise import LaplaceNoise
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.mechanisms.streams.factorization_counter import FactorizationCounter
from dpverdict.mechanisms.streams.tree_counter import TreeCounter

Counter = TreeCounter | FactorizationCounter


def error_sheet(mechanism: StructuredMechanism, *, points: int) -> ComparisonSheet | None:
    """The errors of a counter for the noise that it draws; None for a mechanism that is no counter.

    Args:
        mechanism: any.
        points: how many horizons and steps the tables show, about, at least 2.
    """
    if not isinstance(mechanism, TreeCounter | FactorizationCounter):
        return None
    steps = time_steps(mechanism.horizon)
    if isinstance(mechanism, FactorizationCounter) and mechanism.kind == "sqrt-toeplitz":
        steps = smooth_steps(mechanism.horizon)
    drawn = power_horizons(mechanism.horizon, mechanism.horizon.bit_length())
    others = _at_other_horizons(mechanism)
    curves = [
        finite_series(name, drawn, [mean_error(counter(t)).nearest() for t in drawn], "dashed" if i else "solid", i)
        for i, (name, counter) in enumerate(others)
    ]
    variances = [variance_at(mechanism, t).nearest() for t in steps]
    mean = mean_error(mechanism).nearest()
    some = "" if len(steps) == mechanism.horizon else f" ({len(steps)} of {mechanism.horizon} steps)"
    told = power_horizons(mechanism.horizon, points)
    rows: list[tuple[Cell, ...]] = [
        (
            t,
            variance_at(mechanism, t).nearest(),
            *(cell for _, counter in others for cell in _mean_cells(counter(t))),
        )
        for t in told
    ]
    columns = [f"variance at step t = T, horizon {mechanism.horizon}"]
    for name, _ in others:
        columns += [f"MSE at horizon T, {name}"] + (["arity"] if isinstance(mechanism, TreeCounter) else [])
    return ComparisonSheet(
        title=f"{mechanism.name}: error",
        notes=_notes(mechanism, mean),
        parameters=mechanism.describe(),
        tables=(number_table("Error of the count", rows, "T", *columns),),
        panels=(
            Panel(
                title="Variance of the count at step t" + some,
                x="t",
                y="variance",
                curves=(
                    finite_series(
                        "at step t", steps, variances, "dots" if isinstance(mechanism, TreeCounter) else "solid", 2
                    ),
                    finite_series("mean over all steps", [1, mechanism.horizon], [mean, mean], "solid", 0),
                ),
                log_x=True,
                bottom=0.0,
            ),
            Panel(
                title="Mean squared error against the horizon",
                x="T",
                y="MSE",
                curves=tuple(curves),
                log_x=True,
                log_y=True,
            ),
        ),
    )


def error_rows(mechanism: StructuredMechanism, *, points: int) -> list[tuple[str, str, str, str]]:
    """Rows (curve, argument, lower, upper) of the certified errors of a counter, as those of `Curves.rows`."""
    if not isinstance(mechanism, TreeCounter | FactorizationCounter):
        return []
    told = power_horizons(mechanism.horizon, points)
    found = [("variance(t)", t, variance_at(mechanism, t)) for t in told]
    found.append(("mean squared error(T)", mechanism.horizon, mean_error(mechanism)))
    rows = []
    for name, at, value in found:
        enclosure = Enclosure.of(value)
        rows.append((name, repr(at), repr(enclosure.lower), repr(enclosure.upper)))
    return rows


def mean_error(counter: Counter) -> Real:
    """The mean squared error for the noise that the counter draws, discrete or of a float64 scale."""
    return _for_drawn_noise(counter, counter.mean_squared_error())


def variance_at(counter: Counter, time: int) -> Real:
    """The variance at a step for the noise that the counter draws."""
    return _for_drawn_noise(counter, counter.variance_at(time))


def _for_drawn_noise(counter: Counter, value: object) -> Real:
    number = Real.of(value)  # type: ignore[arg-type]  # a Fraction of a tree, a Real of a factorisation
    if not isinstance(counter, TreeCounter):
        return number
    ratio = counter.variance_ratio()
    return Real(lambda: ratio.ball() * number.ball())


def _at_other_horizons(counter: Counter) -> list[tuple[str, Callable[[int], Counter]]]:
    """The same counter at other horizons, and for a tree with the best arity at each."""
    if isinstance(counter, FactorizationCounter):
        noise: Literal["laplace", "gaussian"] = "laplace" if isinstance(counter.noise, LaplaceNoise) else "gaussian"
        made = partial(FactorizationCounter, kind=counter.kind, noise=noise, claim=counter.claim)
        return [(counter.kind, lambda horizon: made(horizon=horizon))]
    tree = partial(TreeCounter, epsilon=counter.claim.epsilon, digits=counter.digits, noise=counter.noise_kind)
    arity = counter.arity
    return [
        (f"k = {arity}", lambda horizon: tree(horizon=horizon, arity=arity)),
        ("best k", lambda horizon: tree(horizon=horizon, arity="best")),
    ]


def _mean_cells(counter: Counter) -> list[Cell]:
    mean = mean_error(counter).nearest()
    return [mean, counter.arity] if isinstance(counter, TreeCounter) else [mean]


def _notes(counter: Counter, mean: float) -> tuple[str, ...]:
    notes = [f"the mean squared error over all {counter.horizon} steps is {mean:.6g}; errors are rounded to nearest"]
    if isinstance(counter, TreeCounter) and counter.noise_kind == "discrete":
        ratio = counter.variance_ratio().nearest()
        notes.append(f"the discrete noise has {ratio:.6g} of the variance of continuous noise; errors here include it")
    return tuple(notes)
