"""How often a search of a table and the test of its pair refute functions that keep their claim, held against 5 %.

    python benchmarks/right_functions_of_tables.py [--searches 2000] [--seconds 3600] [--error 0.05] [--seed 1]

Twenty functions of pandas, polars and NumPy, each as near to its claim as its kind allows, are given a table of 40
records in turn. Each search measures a few pairs and runs the best; the pair that is left is tested with fresh releases
at the stated error probability. What is counted is the whole: searched, tested, refuted. The last column is the exact
probability that so many or more of the searches refute where each does with the stated probability. It exits with code
1 if that of all together is below one in a thousand, or if a function cannot be run.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy import stats

from dpverdict.audit import distinguish, find_neighbours
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, REPLACE_ONE

CITIES = ["Bonn", "Oslo", "Rome"]
EDGES = [0, 20, 40, 60, 80, 100]
RECORDS = 40
UNLIKELY = 1e-3
Function = Callable[[Any, np.random.Generator], Any]
RIGHT: list[tuple[Function, dict[str, Any]]] = []


def right(claim: str = "eps=1", **given: Any) -> Callable[[Function], Function]:
    """A function that keeps a claim, under add-or-remove-one unless `given` says another relation."""

    def keep(function: Function) -> Function:
        RIGHT.append((function, {"claim": claim, "adjacency": ADD_OR_REMOVE_ONE} | given))
        return function

    return keep


def people(seed: int) -> pd.DataFrame:
    """One record is alone in its city, some incomes are missing, a person has one record or several."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "person": rng.integers(0, 25, RECORDS),
            "city": rng.choice(CITIES, RECORDS, p=[0.6, 0.3, 0.1]),
            "age": rng.integers(18, 90, RECORDS),
            "income": np.round(rng.lognormal(4, 0.6, RECORDS), 2),
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 300, RECORDS), unit="D"),
            "member": rng.random(RECORDS) < 0.5,
        }
    )
    frame.loc[[3, 17], "income"] = np.nan
    frame.loc[29, "city"] = "Vaduz"
    return frame


# pandas ---------------------------------------------------------------------------------------------------------------


@right()
def counts_of_known_cities(table: pd.DataFrame, rng: np.random.Generator) -> Any:
    """A record is in one city."""
    counts = table["city"].value_counts().reindex(CITIES, fill_value=0)
    return dict(zip(CITIES, counts + rng.laplace(size=3), strict=True))


@right()
def clipped_sum(table: pd.DataFrame, rng: np.random.Generator) -> Any:
    """What is missing counts as nothing."""
    return table["income"].fillna(0).clip(0, 100).sum() + rng.laplace(scale=100)


@right()
def histogram(table: pd.DataFrame, rng: np.random.Generator) -> Any:
    """Of ages, with edges that are public."""
    return np.histogram(table["age"], bins=EDGES)[0] + rng.laplace(size=len(EDGES) - 1)


@right()
def mean_of_noisy_parts(table: pd.DataFrame, rng: np.random.Generator) -> Any:
    """A quotient of two releases of eps = 1/2."""
    total = table["age"].clip(0, 100).sum() + rng.laplace(scale=200)
    return total / max(len(table) + rng.laplace(scale=2), 1.0)


@right()
def exponential_mechanism(table: pd.DataFrame, rng: np.random.Generator) -> Any:
    """Counts move in one direction, so that they need no factor of two."""
    counts = table["city"].value_counts().reindex(CITIES, fill_value=0).to_numpy()
    weights = np.exp(counts - counts.max())
    return rng.choice(CITIES, p=weights / weights.sum())


@right()
def noisy_max(table: pd.DataFrame, rng: np.random.Generator) -> Any:
    """The city with the most records, of noisy counts: of counts, scale 1 does."""
    counts = table["city"].value_counts().reindex(CITIES, fill_value=0).to_numpy()
    return CITIES[int(np.argmax(counts + rng.laplace(size=3)))]


@right()
def synthetic_table(table: pd.DataFrame, rng: np.random.Generator) -> Any:
    """Twenty records from noisy counts of cities and ages, each of eps = 1/2."""
    cities = table["city"].value_counts().reindex(CITIES, fill_value=0).to_numpy() + rng.laplace(scale=2, size=3)
    ages = np.histogram(table["age"], bins=EDGES)[0] + rng.laplace(scale=2, size=len(EDGES) - 1)
    cities, ages = np.maximum(cities, 0) + 0.1, np.maximum(ages, 0) + 0.1
    drawn = rng.choice(len(ages), size=20, p=ages / ages.sum())
    made = {"city": rng.choice(CITIES, size=20, p=cities / cities.sum()), "age": 20 * drawn + rng.integers(0, 20, 20)}
    return pd.DataFrame(made)


@right()
def sentence(table: pd.DataFrame, rng: np.random.Generator) -> Any:
    """A text with a noisy number in it."""
    return f"about {round(len(table) + rng.laplace())} records, of {len(CITIES)} cities"


@right(claim="eps=1, delta=0.01")
def keys_above_a_threshold(table: pd.DataFrame, rng: np.random.Generator) -> Any:
    """A key that one record has is told with probability 0.01 = exp(1 - threshold) / 2."""
    threshold = 1 - math.log(0.02)
    noisy = {key: count + rng.laplace() for key, count in table["city"].value_counts(sort=False).items()}
    return {key: noisy[key] for key in sorted(noisy) if noisy[key] > threshold}


@right(user="person")
def distinct_persons(table: pd.DataFrame, rng: np.random.Generator) -> Any:
    """Under neighbours that differ in all records of a person."""
    return table["person"].nunique() + rng.laplace()


# polars ---------------------------------------------------------------------------------------------------------------


@right()
def polars_counts(table: pl.DataFrame, rng: np.random.Generator) -> Any:
    """Group by a key that is public."""
    found = dict(table.group_by("city").len().iter_rows())
    return {city: found.get(city, 0) + rng.laplace() for city in CITIES}


@right()
def polars_group_sums(table: pl.DataFrame, rng: np.random.Generator) -> Any:
    """Of ages that are clipped, in each city."""
    sums = table.group_by("city").agg(pl.col("age").clip(0, 100).sum())
    found = dict(sums.iter_rows())
    return pl.DataFrame({"city": CITIES, "sum": [found.get(city, 0) + rng.laplace(scale=100) for city in CITIES]})


@right()
def polars_median(table: pl.DataFrame, rng: np.random.Generator) -> Any:
    """The exponential mechanism on a grid; a record moves the distance to half of the records by 1/2."""
    ages, grid = table["age"].to_numpy(), np.arange(0, 101, 10)
    scores = -np.abs((ages[:, None] <= grid).sum(axis=0) - len(ages) / 2)
    weights = np.exp(scores - scores.max())
    return int(rng.choice(grid, p=weights / weights.sum()))


@right()
def polars_threshold(table: pl.DataFrame, rng: np.random.Generator) -> Any:
    """Whether there are more than some, of a noisy count."""
    return bool(table.filter(pl.col("member")).height + rng.laplace() > RECORDS // 2)


@right(claim="mu=1")
def polars_gaussian(table: pl.DataFrame, rng: np.random.Generator) -> Any:
    """Of a count, with normal noise."""
    return table.height + rng.normal()


# NumPy: the columns age, income and member ----------------------------------------------------------------------------


@right()
def numpy_clipped_rows(table: np.ndarray, rng: np.random.Generator) -> Any:
    """Rows are scaled down to an l1 norm of 10."""
    held = np.clip(np.nan_to_num(table), -1e6, 1e6)
    held = held * np.minimum(1.0, 10 / np.maximum(np.abs(held).sum(axis=1, keepdims=True), 1e-9))
    return held.sum(axis=0) + rng.laplace(scale=10, size=held.shape[1])


@right()
def numpy_geometric(table: np.ndarray, rng: np.random.Generator) -> Any:
    """A whole number."""
    stop = -math.expm1(-1)
    return int(len(table) + rng.geometric(stop) - rng.geometric(stop))


@right()
def numpy_response(table: np.ndarray, rng: np.random.Generator) -> Any:
    """One bit of the table, told truly with probability e / (1 + e)."""
    return bool((len(table) % 2 == 0) ^ (rng.random() < 1 / (1 + math.e)))


@right()
def numpy_sample(table: np.ndarray, rng: np.random.Generator) -> Any:
    """A sample of half of the records, with noise of the epsilon that becomes 1 by it."""
    return int((rng.random(len(table)) < 0.5).sum()) + rng.laplace(scale=1 / math.log1p(2 * math.expm1(1)))


@right(adjacency=REPLACE_ONE)
def numpy_mean(table: np.ndarray, rng: np.random.Generator) -> Any:
    """Of a number of records that is public."""
    return np.clip(np.nan_to_num(table[:, 0]), 0, 100).sum() / len(table) + rng.laplace(scale=100 / len(table))


def data_of(function: Function, seed: int) -> Any:
    """The table as a function takes it."""
    table = people(seed)
    if function.__name__.startswith("polars"):
        return pl.from_pandas(table)
    if function.__name__.startswith("numpy"):
        return table[["age", "income", "member"]].to_numpy(dtype=float)
    return table


def refuted(function: Function, given: dict[str, Any], seed: int, measured: int, samples: int, error: float) -> bool:
    """One search, and the test of its pair on fresh releases."""
    asked = {name: value for name, value in given.items() if name != "claim"}
    found = find_neighbours(
        function, given["claim"], data=data_of(function, seed % 7), seed=seed, most=measured, **asked
    )
    claimed_delta = {} if "delta" in given["claim"] or "mu" in given["claim"] else {"delta": 0}
    test = distinguish(
        found.function,
        found.pair,
        given["claim"],
        error_probability=error,
        samples=samples,
        seed=seed,
        **claimed_delta,
    )
    return bool(test.refuted)


def main() -> int:
    """The functions in turn, until the searches are made or the time is over."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--searches", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=3600.0, help="no search begins after them")
    parser.add_argument("--error", type=float, default=0.05)
    parser.add_argument("--measured", type=int, default=24, help="pairs that a search measures")
    parser.add_argument("--samples", type=int, default=200, help="releases on each table of the test")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    counts, made = dict.fromkeys(range(len(RIGHT)), 0), dict.fromkeys(range(len(RIGHT)), 0)
    took = dict.fromkeys(range(len(RIGHT)), 0.0)
    begun = time.monotonic()
    for search in range(chosen.searches):
        if time.monotonic() - begun > chosen.seconds:
            break
        number = search % len(RIGHT)
        at = time.monotonic()
        seed = chosen.seed * 1_000_000 + search
        function, given = RIGHT[number]
        counts[number] += refuted(function, given, seed, chosen.measured, chosen.samples, chosen.error)
        made[number] += 1
        took[number] += time.monotonic() - at
        if (search + 1) % 100 == 0:
            done = f"{search + 1} searches, {sum(counts.values())} refuted, {time.monotonic() - begun:.0f} s"
            print(done, file=sys.stderr, flush=True)
    print(f"{'function':26} {'searches':>8} {'refuted':>7} {'rate':>6} {'seconds':>7}  {'probability':>11}")
    rows = [
        *((function.__name__, made[i], counts[i], took[i]) for i, (function, _) in enumerate(RIGHT)),
        ("all", sum(made.values()), sum(counts.values()), sum(took.values())),
    ]
    chance = 1.0
    for name, tried, found, seconds in rows:
        chance = float(stats.binom.sf(found - 1, tried, chosen.error))
        rate, each = found / max(tried, 1), seconds / max(tried, 1)
        print(f"{name:26} {tried:>8} {found:>7} {rate:>6.3f} {each:>7.2f}  {chance:>11.2g}")
    _, tried, found, _ = rows[-1]
    interval = stats.binomtest(found, max(tried, 1)).proportion_ci(0.95, method="exact")
    print(
        f"{found} of {tried} searches refute a function that keeps its claim: {found / max(tried, 1):.4f}, with 95 % "
        f"confidence from {interval.low:.4f} to {interval.high:.4f}; stated: at most {chosen.error:g}"
    )
    return int(chance < UNLIKELY)


if __name__ == "__main__":
    sys.exit(main())
