"""Functions of public repositories and notebooks, written again in our own words: which are covered, and why not.

    python benchmarks/public_functions.py

They were found by their calls of np.random.laplace and np.random.normal, and release a statistic; noise on single
records, weights and gradients is frequent too, and not here. What a row computes is what the named file computes, with
the claim that it makes and a schema of columns of ours. Each is followed for every pair of neighbouring tables; where
that does not certify it, pairs are searched for some seconds. Under the answer stands the line that stopped it.
"""

from __future__ import annotations

import argparse
import linecache
import math
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.certify import certify_function
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE

# ruff: noqa: NPY002, E731

WIDTH: Final = 100
RECORDS: Final = 200
FRAME: Final = TableSchema.from_toml("""
relation = "add-or-remove-one"
table = "pandas"
[columns.age]
type = "int"
low = 18
high = 90
[columns.rating]
type = "float"
low = 1
high = 5
[columns.area]
type = "category"
values = ["north", "south"]
[columns.sex]
type = "category"
values = ["f", "m"]
""")
ARRAY: Final = TableSchema.from_toml("""
relation = "add-or-remove-one"
table = "numpy"
[columns.x]
type = "float"
low = 0
high = 1
[columns.y]
type = "float"
low = 0
high = 1
""")
SIZED_FRAME, SIZED_ARRAY = (replace(one, relation=REPLACE_ONE, records=RECORDS) for one in (FRAME, ARRAY))


def laplace_mechanism(value: Any, sensitivity: float, epsilon: float) -> Any:
    return value + np.random.laplace(loc=0, scale=sensitivity / epsilon)


# a textbook of notebooks ----------------------------------------------------------------------------------------------


def how_many_are_older(df: Any) -> Any:
    return laplace_mechanism(len(df[df["age"] >= 40]), 1, 0.1)


def rows_of_a_kind(df: Any) -> Any:
    return laplace_mechanism(len(df[(df["area"] == "north") & (df["rating"] <= 2)]), 1, 0.1)


def histogram_of_what_occurs(df: Any) -> Any:
    return df["area"].value_counts().apply(lambda count: laplace_mechanism(count, 1, 1)).head()


def cross_table_of_what_occurs(df: Any) -> Any:
    table = pd.crosstab(df["area"], df["sex"])
    return table + np.random.laplace(scale=1, size=table.shape)


def choice_of_what_occurs(df: Any) -> Any:
    options = ["north", "south"]
    counts = df["area"].value_counts()
    weights = np.array([np.exp(counts[option] / 2) for option in options])
    return np.random.choice(options, p=weights / np.linalg.norm(weights, ord=1))


def largest_of_what_occurs(df: Any) -> Any:
    options = ["north", "south"]
    counts = df["area"].value_counts()
    return options[np.argmax([laplace_mechanism(counts[option], 1, 1) for option in options])]


def gradient_descent(data: Any) -> Any:
    theta = np.zeros(1)
    sigma = 2 * np.sqrt(2 * np.log(1.25 / 2e-5)) / 0.2
    for _ in range(5):
        clipped = []
        for x, y in data:
            gradient = np.array([x]) * (np.dot(theta, [x]) - y)
            size = np.linalg.norm(gradient)
            clipped.append(gradient / size if size > 1 else gradient)
        theta = theta - (np.sum(clipped, axis=0) + np.random.normal(0, sigma, 1)) / (
            len(data) + laplace_mechanism(0, 1, 1)
        )
    return theta


# libraries ------------------------------------------------------------------------------------------------------------


def count_with_delta_of_its_length(df: Any) -> Any:
    delta = 1 / (len(df) * math.sqrt(len(df)))
    sigma = (math.sqrt(math.log(1 / delta)) + math.sqrt(math.log(1 / delta) + 1)) / math.sqrt(2)
    return (len(df) + np.random.normal(0, sigma, 1)).tolist()


def sum_by_the_range_of_the_data(df: Any) -> Any:
    delta = 1 / (len(df) * math.sqrt(len(df)))
    spread = abs(max(df["rating"]) - min(df["rating"]))
    sigma = spread * (math.sqrt(math.log(1 / delta)) + math.sqrt(math.log(1 / delta) + 1)) / math.sqrt(2)
    return (df["rating"].sum() + np.random.normal(0, sigma, 1)).tolist()


@dataclass
class NoisyHistogram:
    """A result that has the counts beside the noisy ones."""

    release: Any
    true_counts: Any


def result_with_the_counts(df: Any, rng: Any) -> Any:
    counts, _ = np.histogram(df["age"], bins=[18, 30, 45, 60, 90])
    return NoisyHistogram(np.maximum(counts + rng.laplace(0, 1, size=4), 0), counts)


def release_of_the_result(df: Any, rng: Any) -> Any:
    return result_with_the_counts(df, rng).release


def largest_of_a_list(df: Any) -> Any:
    score = lambda option: (df["area"] == option).sum()
    noisy = [score(option) + np.random.laplace(0, 1 / 0.5, 1) for option in ("north", "south")]
    return noisy.index(max(noisy))


def largest_of_nested_counts(df: Any) -> Any:
    score = lambda bound: (df["age"] > bound).sum()
    noisy = [score(bound) + np.random.laplace(0, 1 / 0.5, 1) for bound in (30, 50, 70)]
    return noisy.index(max(noisy))


def choice_by_a_cumulative_sum(df: Any) -> Any:
    weights = [math.exp(0.5 * (df["area"] == option).sum()) for option in ("north", "south")]
    shares = np.cumsum([one / sum(weights) for one in weights]).tolist()
    return np.searchsorted(shares, np.random.rand()) + 1


def count_of_a_value(df: Any) -> Any:
    return laplace_mechanism(df[df["area"] == "north"].shape[0], 1, 0.01)


# research code --------------------------------------------------------------------------------------------------------


def line_through_centred_moments(data: Any) -> Any:
    x, y, n = data[:, 0], data[:, 1], len(data)
    epsilon, span = 1 / 3, 1 - 1 / n
    of_both = np.dot(x - x.mean(), y - y.mean()) + np.random.laplace(0, span / epsilon)
    of_x = np.dot(x - x.mean(), x - x.mean()) + np.random.laplace(0, span / epsilon)
    if of_x <= 0:
        return None
    slope = of_both / of_x
    return slope, y.mean() - slope * x.mean() + np.random.laplace(0, (1 + abs(slope)) / (epsilon * n))


def adaptive_regression(data: Any) -> Any:
    x, y = data[:, :1], data[:, 1]
    bound = np.max(np.linalg.norm(x, axis=1))
    scale = np.sqrt(np.log(6 / 1e-6)) / (1 / 3)
    smallest = max(0, np.linalg.eigvalsh(x.T @ x)[0] + scale * np.random.normal() * bound**2)
    moments = x.T @ x + scale * bound**2 * np.random.normal(size=(1, 1)) + smallest * np.eye(1)
    return np.linalg.solve(moments, x.T @ y + scale * bound * np.random.normal(size=1))


def mean_of_two_budgets(df: Any) -> Any:
    size = len(df) + np.random.laplace(loc=0, scale=1 / 0.5)
    total = df["age"].sum() + np.random.laplace(loc=0, scale=(90 - 18) / 0.5)
    return total / size


def sums_of_cells_in_loops(df: Any) -> Any:
    total = 0.0
    for area in ("north", "south"):
        for age in range(18, 22):
            total += df.loc[(df["area"] == area) & (df["age"] == age), "rating"].sum() + np.random.laplace(0, 5 / 1.0)
    return total


# applications and lecture notes ---------------------------------------------------------------------------------------


def sum_of_a_clipped_column(df: Any, bound: Any = 80) -> Any:
    return laplace_mechanism(df["age"].clip(upper=bound).sum(), bound, 0.04)


def sum_clipped_at_a_quantile(df: Any) -> Any:
    return sum_of_a_clipped_column(df, df["age"].quantile(0.9))


def both_beside_the_true_ones(df: Any) -> Any:
    count, mean = len(df[df["area"] == "north"]), df["age"].mean()
    return count, count + np.random.laplace(0, 2), mean, mean + np.random.laplace(0, 2 * 72 / RECORDS)


def both_noisy_ones(df: Any) -> Any:
    _, count, _, mean = both_beside_the_true_ones(df)
    return count, mean


def average_by_the_range_of_the_data(df: Any) -> Any:
    spread = df["rating"].max() - df["rating"].min()
    return (df["rating"].sum() + np.random.laplace(scale=spread / 1.0)) / len(df)


def averages_of_the_groups_that_occur(df: Any) -> Any:
    of_area = df.groupby("area")["rating"]
    return (of_area.sum() + np.random.laplace(scale=5)) / (of_area.count() + 1)


def clipped_sum_over_noisy_count(df: Any) -> Any:
    values = np.clip(df["rating"], 0, 4)
    total = values.sum() + np.random.laplace(0, 4 / 0.5)
    count = len(values) + np.random.laplace(0, 1 / 0.5)
    return total / max(count, 1)


def mean_over_the_known_number(df: Any) -> Any:
    values = df["age"].clip(lower=20, upper=60)
    n = max(len(values), 1)
    return float(values.mean() + np.random.laplace(0.0, (60 - 20) / n / 1.0))


def noisy_count(df: Any) -> Any:
    def add_noise(count: Any, epsilon: float, sensitivity: float = 1) -> Any:
        return max(0, round(count + np.random.laplace(0, sensitivity / epsilon)))

    return add_noise(df[df["area"] == "north"].shape[0], 1.0)


def count_by_a_loop(df: Any) -> Any:
    return sum(1 for age in df["age"] if age > 40) + np.random.laplace(loc=0, scale=1 / 1.0)


def noise_on_every_record(df: Any) -> Any:
    made = df.copy()
    for name in ("age", "rating"):
        spread = made[name].max() - made[name].min()
        made[name] = made[name] + np.random.laplace(0, spread / 1.0, size=len(made))
    return made


def mean_with_sensitivity_one(df: Any) -> Any:
    return np.mean(df["age"]) + np.random.laplace(0, 1 / 100.0)


def mean_by_the_range_of_the_data(data: Any) -> Any:
    x = data[:, 0]
    return np.mean(x) + np.random.laplace(loc=0, scale=(np.max(x) - np.min(x)) / len(x))


def histogram_of_fixed_bins(df: Any) -> Any:
    counts, _ = np.histogram(df["age"], bins=[18, 30, 45, 60, 90])
    return counts + np.random.laplace(loc=0, scale=1 / 1.0, size=len(counts))


def bars_in_public_order(df: Any) -> Any:
    counts = df["area"].value_counts().reindex(["north", "south"], fill_value=0)
    return counts + np.random.laplace(scale=1 / 1.0, size=len(counts))


BOOK, LIBRARY = "uvm-plaid/programming-dp, notebooks/{}", "opendp/smartnoise-sdk, tests/sdk/evaluation/dp_lib.py"
MORIE, PYDP = "rootcoder007/morie, src/morie/fn", "menisadi/pydp, src/basicdp.py"
Row = tuple[str, str, Callable[..., Any], TableSchema, str]
ROWS: Final[Sequence[Row]] = [
    (BOOK.format("ch3.ipynb"), "how many are 40 or older", how_many_are_older, FRAME, "eps=0.1"),
    (BOOK.format("ch3.ipynb"), "rows of one kind with a low number", rows_of_a_kind, FRAME, "eps=0.1"),
    (BOOK.format("ch4.ipynb"), "value_counts().apply(noise).head()", histogram_of_what_occurs, FRAME, "eps=1"),
    (BOOK.format("ch4.ipynb"), "a cross table with noise", cross_table_of_what_occurs, FRAME, "eps=1"),
    (BOOK.format("ch9.ipynb"), "exponential mechanism, scores counts[option]", choice_of_what_occurs, FRAME, "eps=1"),
    (BOOK.format("ch9.ipynb"), "report noisy max, scores counts[option]", largest_of_what_occurs, FRAME, "eps=1"),
    (BOOK.format("ch12.ipynb"), "noisy gradient descent", gradient_descent, ARRAY, "eps=1, delta=1e-4"),
    (LIBRARY, "a count, delta of its length, n public", count_with_delta_of_its_length, SIZED_FRAME,
     "eps=1, delta=1e-3"),
    (LIBRARY, "the same, n not public", count_with_delta_of_its_length, FRAME, "eps=1, delta=1e-3"),
    (LIBRARY, "a sum, scale from max and min", sum_by_the_range_of_the_data, SIZED_FRAME, "eps=1, delta=1e-3"),
    (MORIE, "a result object with the true counts", result_with_the_counts, FRAME, "eps=1"),
    (MORIE, "its noisy counts alone", release_of_the_result, FRAME, "eps=1"),
    (PYDP, "noisy max of counts of categories", largest_of_a_list, FRAME, "eps=0.5"),
    (PYDP, "noisy max of counts that move together", largest_of_nested_counts, FRAME, "eps=0.5"),
    (PYDP, "exponential mechanism by a cumulative sum", choice_by_a_cumulative_sum, FRAME, "eps=1"),
    ("uvm-plaid/dduo-python, examples/odometer.py", "a count of one value", count_of_a_value, FRAME, "eps=0.01"),
    ("anonymous-conf/dplr, code/NoisyStats.py", "a line through centred moments", line_through_centred_moments,
     SIZED_ARRAY, "eps=1"),
    ("TPiazza21/Thesis, adassp.py", "adaptive regression", adaptive_regression, SIZED_ARRAY, "eps=1, delta=1e-6"),
    ("research code", "a noisy sum over a noisy len", mean_of_two_budgets, FRAME, "eps=1"),
    ("research code", "sums of cells by masks in two loops", sums_of_cells_in_loops, FRAME, "eps=1"),
    ("lecture notes", "a sum of a clipped column, public bound", sum_of_a_clipped_column, FRAME, "eps=0.04"),
    ("lecture notes", "the same, clipped at a quantile", sum_clipped_at_a_quantile, FRAME, "eps=0.04"),
    ("an application", "a count and a mean, beside the true ones", both_beside_the_true_ones, SIZED_FRAME, "eps=1"),
    ("an application", "the noisy ones alone", both_noisy_ones, SIZED_FRAME, "eps=1"),
    ("a recommender", "an average, scale from max and min", average_by_the_range_of_the_data, SIZED_FRAME, "eps=1"),
    ("a recommender", "averages of the groups that occur", averages_of_the_groups_that_occur, FRAME, "eps=1"),
    ("lecture notes", "a clipped sum over a noisy count", clipped_sum_over_noisy_count, FRAME, "eps=1"),
    ("an application", "a clipped mean, scale (high - low)/n", mean_over_the_known_number, SIZED_FRAME, "eps=1"),
    ("an application", "a count that is rounded, 0 at least", noisy_count, FRAME, "eps=1"),
    ("lecture notes", "a count by a loop over records", count_by_a_loop, FRAME, "eps=1"),
    ("an anonymiser", "noise on every entry of a table", noise_on_every_record, FRAME, "eps=1"),
    ("a tutorial", "a mean of ages that is said to move by 1/100", mean_with_sensitivity_one, SIZED_FRAME, "eps=1"),
    ("a tutorial", "a mean, scale from max and min over n", mean_by_the_range_of_the_data, SIZED_ARRAY, "eps=1"),
    ("lecture notes", "np.histogram of public edges", histogram_of_fixed_bins, FRAME, "eps=1"),
    ("an application", "value_counts in a public order", bars_in_public_order, FRAME, "eps=1"),
]  # fmt: skip


def stopped_by(function: Callable[..., Any], reason: str) -> str:
    """Why a function is not certified, after the line of its text that says so."""
    found = re.match(r"line (\d+): (.*)", reason, re.DOTALL)
    if found is None:
        return reason
    line = linecache.getline(function.__code__.co_filename, int(found[1])).strip()
    return f"{line} -> {found[2]}"


def shown(row: Row, seconds: float) -> tuple[str, str]:
    """The answer on one row, and what stopped it."""
    _, _, function, schema, claim = row
    verdict = certify_function(function, claim, schema=schema, search=seconds)
    if verdict.heading == "CERTIFIED":
        return verdict.heading, ""
    followed = verdict if verdict.heading != "REFUTED" else certify_function(function, claim, schema=schema, search=0)
    return verdict.heading, stopped_by(function, followed.reason)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--search", type=float, default=12.0, help="seconds for pairs of each that is not certified")
    seconds = parser.parse_args().search
    counts: dict[str, int] = {}
    for row in ROWS:
        source, what, _, schema, claim = row
        heading, why = shown(row, seconds)
        counts[heading] = counts.get(heading, 0) + 1
        relation = f"replace one of {schema.records}" if schema.records else "add or remove one"
        print(f"{heading:<13} {what}; {claim}, {relation}\n{'':14}[{source}]")
        if why:
            print(textwrap.indent(textwrap.fill(why, WIDTH - 14), " " * 14))
    print(f"{len(ROWS)} functions: {', '.join(f'{number} {name}' for name, number in sorted(counts.items()))}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
