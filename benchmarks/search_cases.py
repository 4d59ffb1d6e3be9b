"""Functions of tables that three auditors search, written once: noise is drawn by a function that is passed in.

`laplace(values, sensitivity)` adds Laplace noise that keeps epsilon 1 for values of that L1 sensitivity. `public(n=n)`
says what the author takes for public, which dp-recorder checks and nobody else looks at. Two groups are
the published examples of DP-Auditorium and of dp-recorder, described anew; the third is of this project. Only NumPy is
needed, so that every auditor can import this file in an installation of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]
Laplace = Callable[[Any, float], NDArray[np.float64]]
Public = Callable[..., None]


@dataclass(frozen=True)
class Case:
    """A function, a table of its kind, and whether it keeps epsilon 1 under add-or-remove-one.

    Attributes:
        origin: whose example it is.
        function: of a table, `laplace` and `public`; it gives an array of numbers of one length, as peers need it.
        table: real data that it might be run on, shape (n,) or (n, d).
        right: whether it keeps its claim.
        pair: the neighbours that the origin names by hand; None if they are to be found.
    """

    origin: str
    function: Callable[[Table, Laplace, Public], Any]
    table: Table
    right: bool = False
    pair: tuple[Table, Table] | None = None


# DP-Auditorium: examples/run_mean_mechanism_example.py, mechanisms/mean.py ------------------------------------------


def mean_of_true_number(data: Table, laplace: Laplace, public: Public) -> Any:
    """The number of records is neither noisy nor public."""
    number = len(data)
    total = np.clip(data, 0, 1).sum()
    return np.array([total]) / number + laplace(np.zeros(1), 1.0 / max(number, 1e-12))


def mean_of_noisy_number(data: Table, laplace: Laplace, public: Public) -> Any:
    """Half of epsilon for the number, half for the sum."""
    number = max(1.0, laplace(np.array([float(len(data))]), 2.0)[0])
    return laplace(np.array([np.clip(data, 0, 1).sum()]), 2.0) / number


# dp-recorder: tests/test_*.py -----------------------------------------------------------------------------------------


def private_mean(data: Table, laplace: Laplace, public: Public) -> Any:
    """The number of records is taken for public."""
    public(n=len(data))
    return laplace(np.array([np.clip(data, -1, 1).sum()]), 1.0) / len(data)


def domain_inference(data: Table, laplace: Laplace, public: Public) -> Any:
    """The classes are those that are there; eight at most, for a fixed length."""
    classes = np.unique(data)[:8]
    public(num_classes=len(classes))
    counts = np.array([(data == one).sum() for one in classes], dtype=float)
    return np.concatenate([laplace(counts, 1.0), np.full(8 - len(classes), -100.0)])


def double_spending(data: Table, laplace: Laplace, public: Public) -> Any:
    """Two answers, each for all of epsilon."""
    return np.concatenate([laplace(np.array([np.clip(data, 0, 1).sum()]), 1.0), laplace(np.array([len(data)]), 1.0)])


def noise_miscalibration(data: Table, laplace: Laplace, public: Public) -> Any:
    """The sensitivity comes out as nearly 0."""
    return laplace(np.array([np.clip(data, 0, 1).sum()]), 5.0 - 5.0 + 1e-9)


def sensitivity_miscalibration(data: Table, laplace: Laplace, public: Public) -> Any:
    """What is summed is not what was clipped."""
    np.clip(data, -5, 5)
    return laplace(np.array([data.sum()]), 5.0)


def private_count(data: Table, laplace: Laplace, public: Public) -> Any:
    """Right."""
    return laplace(np.array([float((data == 1).sum())]), 1.0)


# of this project: columns person, shop, rating, age, amount, day ------------------------------------------------------


def steps(table: Table, laplace: Laplace, public: Public) -> Any:
    """A record takes part in two steps from one day to the next."""
    amounts = table[np.argsort(table[:, 5], kind="stable"), 4]
    return laplace(np.array([np.minimum(np.abs(np.diff(amounts)), 10).sum()]), 12.0)


def pairs_of_a_person(table: Table, laplace: Laplace, public: Public) -> Any:
    """Most people have three records; nothing bounds them."""
    sizes = np.unique(table[:, 0], return_counts=True)[1]
    return laplace(np.array([float((sizes * (sizes - 1) // 2).sum())]), 8.0)


def nothing_where_all_are_equal(table: Table, laplace: Laplace, public: Public) -> Any:
    """No noise where there is no deviation."""
    ages = np.clip(table[:, 3], 0, 100)
    if len(ages) < 2 or ages.std() == 0:
        return np.zeros(1)
    return laplace(np.array([ages.mean() / (ages.std() + 10)]), 40.0)


def cells(table: Table, laplace: Laplace, public: Public) -> Any:
    """A record may bring a new shop and a new rating."""
    return laplace(np.array([float(len(np.unique(table[:, 1])) * len(np.unique(table[:, 2])))]), 6.0)


def counters_of_a_byte(table: Table, laplace: Laplace, public: Public) -> Any:
    """They wrap at 256, which no table of this size reaches."""
    counts = np.zeros(6, dtype=np.uint8)
    np.add.at(counts, np.clip(np.nan_to_num(table[:, 2]), 0, 5).astype(int), 1)
    return laplace(counts.astype(float), 1.0)


def days_between_the_last(table: Table, laplace: Laplace, public: Public) -> Any:
    """The last day may be far away."""
    days = np.sort(table[:, 5])
    return laplace(np.array([days[-1] - days[-2] if len(days) > 1 else 0.0]), 30.0)


def correlation(table: Table, laplace: Laplace, public: Public) -> Any:
    """Of many records one moves it little."""
    a, b = table[:, 3], table[:, 2]
    r = 0.0 if len(a) < 3 or a.std() == 0 or b.std() == 0 else float(np.corrcoef(a, b)[0, 1])
    return laplace(np.array([r]), 0.25)


def bins_of_the_data(table: Table, laplace: Laplace, public: Public) -> Any:
    """From the least age to the largest."""
    return laplace(np.histogram(table[:, 3], bins=4)[0].astype(float) if len(table) else np.zeros(4), 1.0)


def known_bins(table: Table, laplace: Laplace, public: Public) -> Any:
    """Right."""
    return laplace(np.histogram(np.clip(table[:, 3], 0, 100), np.linspace(0, 100, 5))[0].astype(float), 1.0)


def clipped_amounts(table: Table, laplace: Laplace, public: Public) -> Any:
    """Right."""
    return laplace(np.array([np.clip(table[:, 4], 0, 50).sum()]), 50.0)


def visits(seed: int = 3, n: int = 240) -> Table:
    """Records of visits to shops."""
    rng = np.random.default_rng(seed)
    columns = [
        rng.integers(0, n // 3, n),
        rng.integers(0, 4, n),
        rng.choice([1, 2, 3, 4, 5], n),
        rng.integers(18, 90, n),
    ]
    return np.column_stack([*columns, np.round(rng.gamma(3, 5, n), 2), rng.integers(0, 300, n)]).astype(float)


_RNG = np.random.default_rng(1)
_REALS, _BITS = np.round(_RNG.uniform(-1, 1, 30), 3), _RNG.integers(0, 2, 30).astype(float)
_CLASSES = np.array([0.0] * 14 + [1.0] * 9 + [2.0] * 6 + [3.0])
_VISITS = visits()

CASES: dict[str, Case] = {
    "mean of a true number": Case("DP-Auditorium", mean_of_true_number, _REALS),
    "mean of a noisy number": Case("DP-Auditorium", mean_of_noisy_number, _REALS, right=True),
    "private mean": Case("dp-recorder", private_mean, _REALS, pair=(np.full(3, 0.5), np.full(2, 0.5))),
    "domain inference": Case(
        "dp-recorder", domain_inference, _CLASSES, pair=(np.array([0.0, 1, 2, 0]), np.array([0.0, 1, 0]))
    ),
    "double spending": Case(
        "dp-recorder", double_spending, _REALS, pair=(np.append(np.zeros(100), 1.0), np.zeros(100))
    ),
    "noise miscalibration": Case("dp-recorder", noise_miscalibration, _REALS, pair=(np.ones(2), np.ones(1))),
    "sensitivity miscalibration": Case(
        "dp-recorder", sensitivity_miscalibration, _REALS, pair=(np.array([1.0, -2, 3, 100]), np.array([1.0, -2, 3]))
    ),
    "private count": Case(
        "dp-recorder", private_count, _BITS, right=True, pair=(np.array([0.0, 1, 1, 0]), np.array([0.0, 1, 0]))
    ),
    "steps": Case("ours", steps, _VISITS),
    "pairs of a person": Case("ours", pairs_of_a_person, _VISITS),
    "nothing where all are equal": Case("ours", nothing_where_all_are_equal, _VISITS),
    "cells": Case("ours", cells, _VISITS),
    "counters of a byte": Case("ours", counters_of_a_byte, _VISITS),
    "days between the last": Case("ours", days_between_the_last, _VISITS),
    "correlation": Case("ours", correlation, _VISITS),
    "bins of the data": Case("ours", bins_of_the_data, _VISITS),
    "known bins": Case("ours", known_bins, _VISITS, right=True),
    "clipped amounts": Case("ours", clipped_amounts, _VISITS, right=True),
}
