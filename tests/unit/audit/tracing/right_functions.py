"""Functions that keep eps=1 for every pair of their schema, and have to be certified; see `wrong_functions`."""

# ruff: noqa: NPY002
# mypy: ignore-errors

import math
import random
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd
import scipy.stats
from numpy.random import default_rng

CITIES = ["Bonn", "Oslo", "Rome"]
EDGES = np.linspace(0, 100, 11)
WEIGHTS = {"Bonn": 1.0, "Oslo": 2.0, "Rome": 3.0}


def noisy(value, sensitivity, epsilon, rng):
    """A helper, as users have them."""
    return value + rng.laplace(0.0, sensitivity / epsilon, size=np.shape(value))


@dataclass
class Summary:
    total: float
    count: float


class numpy_forms:
    """Of an array with the columns a, b, c in [0, 100], under add-or-remove-one."""

    def clipped_sums(x, rng):
        return np.clip(x, 0, 10).sum(axis=0) + rng.laplace(scale=30, size=3)

    def method_clip(x, rng):
        return x[:, 0].clip(0, 10).sum() + rng.laplace(loc=0, scale=10)

    def loc_is_the_statistic(x, rng):
        return rng.laplace(x[:, 0].sum(), 100)

    def helper(x, rng):
        return noisy(x[:, 0].sum(), 100, 1.0, rng)

    def own_generator(x):
        rng = np.random.default_rng()
        return x[:, 0].sum() + rng.laplace(scale=100)

    def imported_generator(x):
        return x[:, 0].sum() + default_rng().laplace(scale=100)

    def global_generator(x):
        return x[:, 0].sum() + np.random.laplace(0, 100)

    def scipy_noise(x):
        return x[:, 0].sum() + scipy.stats.laplace.rvs(loc=0, scale=100)

    def scipy_frozen(x):
        return x[:, 0].sum() + scipy.stats.laplace(scale=100).rvs()

    def optional_generator(x, rng=None):
        if rng is None:
            rng = np.random.default_rng()
        return x[:, 0].sum() + rng.laplace(scale=100)

    def count(x, rng):
        return np.sum(x[:, 0] > 50) + rng.laplace(scale=1)

    def count_nonzero(x, rng):
        return np.count_nonzero((x[:, 0] > 50) & (x[:, 1] < 20)) + rng.laplace(scale=1)

    def counted_records(x, rng):
        return np.ones_like(x[:, 0]).sum() + rng.laplace(scale=1)

    def length_as_a_statistic(x, rng):
        return x.shape[0] + rng.laplace(scale=1)

    def masked(x, rng):
        old = x[:, 0] > 50
        n = old.sum() + rng.laplace(scale=2)
        s = np.clip(x[old, 1], 0, 20).sum() + rng.laplace(scale=40)
        return {"n": n, "mean": s / max(n, 1.0)}

    def masked_where(x, rng):
        s = np.sum(np.where(x[:, 0] > 50, x[:, 1], 0))
        return s + rng.laplace(scale=100)

    def disjoint_masks(x, rng):
        young, old = x[:, 0] < 50, x[:, 0] >= 50
        return young.sum() + rng.laplace(scale=1), old.sum() + rng.laplace(scale=1)

    def bands(x, rng):
        found = []
        for low in range(0, 100, 20):
            found.append(((x[:, 0] >= low) & (x[:, 0] < low + 20)).sum() + rng.laplace(scale=1))
        return found

    def bincount(x, rng):
        cells = np.clip(np.floor(x[:, 0] / 10), 0, 9).astype(int)
        return np.bincount(cells, minlength=10) + rng.laplace(scale=1, size=10)

    def bincount_with_weights(x, rng):
        cells = np.digitize(x[:, 0], EDGES[1:-1])
        return np.bincount(cells, weights=x[:, 1], minlength=10) + rng.laplace(scale=100, size=10)

    def histogram(x, rng):
        h, edges = np.histogram(x[:, 0], bins=EDGES)
        return np.maximum(h + rng.laplace(scale=1, size=h.shape), 0), edges

    def histogram_with_range(x, rng):
        h, _ = np.histogram(x[:, 0], bins=20, range=(0, 100))
        return h + rng.laplace(scale=1.0, size=20)

    def cumulative_histogram(x, rng):
        h, _ = np.histogram(x[:, 0], bins=10, range=(0, 100))
        return np.cumsum(h + rng.laplace(scale=1.0, size=10))

    def filled_array(x, rng):
        out = np.zeros(10)
        for i in range(10):
            out[i] = ((x[:, 0] >= 10 * i) & (x[:, 0] < 10 * i + 10)).sum()
        return out + rng.laplace(scale=1, size=10)

    def filled_with_noisy_values(x, rng):
        out = np.empty(3)
        for i in range(3):
            out[i] = x[:, i].sum() + rng.laplace(scale=300)
        return out.round(1)

    def list_of_statistics(x, rng):
        s = np.array([np.clip(x[:, i], 0, 1).sum() for i in range(3)])
        return s + rng.laplace(scale=3, size=3)

    def comprehension(x, rng):
        return {name: float(x[:, i].sum() + rng.laplace(scale=300)) for i, name in enumerate("abc")}

    def variance(x, rng):
        n = x.shape[0] + rng.laplace(scale=3)
        s = x[:, 0].sum() + rng.laplace(scale=300)
        q = (x[:, 0] ** 2).sum() + rng.laplace(scale=30000)
        n = max(n, 1.0)
        return max(q / n - (s / n) ** 2, 0.0)

    def products(x, rng):
        y = np.clip(x / 100, 0, 1)
        return y.T @ y + rng.laplace(scale=9, size=(3, 3))

    def product_of_two_columns(x, rng):
        return x[:, 0] @ x[:, 1] + rng.laplace(scale=10000)

    def linear_map(x, rng):
        y = np.clip(x, -1, 1) @ np.array([0.2, 0.3, 0.5])
        return y.sum() + rng.laplace(scale=1)

    def shifted_and_scaled(x, rng):
        z = (x[:, 0] - 50) / 50
        return z.sum() + rng.laplace(scale=1)

    def logarithm(x, rng):
        return np.log1p(x[:, 0]).sum() + rng.laplace(scale=math.log(101))

    def tanh(x, rng):
        return np.tanh(x[:, 0]).sum() + rng.laplace(scale=1)

    def absolute_deviation(x, rng):
        return np.abs(x[:, 0] - 50).sum() + rng.laplace(scale=50)

    def scaled_statistic(x, rng):
        return (x[:, 0].sum() / 100 + rng.laplace(scale=1)) * 100

    def scaled_noise(x, rng):
        return x[:, 0].sum() + 100 * rng.laplace(size=None)

    def noise_first(x, rng):
        z = rng.laplace(scale=1, size=3)
        return [(x[:, 0] > 50).sum() + z[0]]

    def maximum_of_a_statistic(x, rng):
        return np.maximum((x[:, 0] > 50).sum(), 10) + rng.laplace(scale=1)

    def norm_clipped(x, rng):
        norms = np.linalg.norm(x, ord=1, axis=1, keepdims=True)
        y = x / np.maximum(1, norms / 10)
        return y.sum(axis=0) + rng.laplace(scale=10, size=3)

    def largest_count(x, rng):
        s = (x > 50).sum(axis=0)
        return np.argmax(s + rng.laplace(scale=1, size=3))

    def largest_count_gumbel(x, rng):
        s = (x > 50).sum(axis=0)
        return int(np.argmax(s + rng.gumbel(scale=1, size=3)))

    def exponential_mechanism(x, rng):
        s = (x > 50).sum(axis=0)
        w = np.exp(0.5 * s)
        return rng.choice(3, p=w / w.sum())

    def exponential_mechanism_from_the_largest(x, rng):
        s = (x > 50).sum(axis=0)
        w = np.exp((s - np.max(s)) * 0.5)
        p = w / np.sum(w)
        return rng.choice(["a", "b", "c"], p=p)

    def exponential_mechanism_by_a_method(x, rng):
        s = (x > 50).sum(axis=0)
        w = np.exp(0.5 * (s - s.max()))
        return rng.choice(3, p=w / w.sum())

    def largest_entry_of_each_record(x, rng):
        return x.max(axis=1).sum() + rng.laplace(scale=100)

    def geometric(x, rng):
        p = 1 - math.exp(-1.0)
        return (x[:, 0] > 50).sum() + (rng.geometric(p) - rng.geometric(p))

    def discrete_laplace(x):
        return (x[:, 0] > 50).sum() + scipy.stats.dlaplace.rvs(1.0)

    def branch_behind_the_noise(x, rng):
        s = x[:, 0].sum() + rng.laplace(scale=100)
        if s < 0:
            return 0.0
        return s

    def text_behind_the_noise(x, rng):
        s = x[:, 0].sum() + rng.laplace(scale=100)
        return f"{s:.1f}"

    def frame_behind_the_noise(x, rng):
        s = x.sum(axis=0) + rng.laplace(scale=300, size=3)
        return pd.DataFrame({"sum": s}, index=["a", "b", "c"])

    def record_behind_the_noise(x, rng):
        return Summary(x[:, 0].sum() + rng.laplace(scale=200), (x[:, 0] > 50).sum() + rng.laplace(scale=2))

    def in_place_on_its_own(x, rng):
        y = x[:, 0].copy()
        y[y > 50] = 0
        y *= 2
        return y.sum() + rng.laplace(scale=200)

    def columns_side_by_side(x, rng):
        y = np.column_stack([np.clip(x[:, 0], 0, 1), np.clip(x[:, 1], 0, 2)])
        return y.sum(axis=0) + np.array([2, 4]) * rng.laplace(size=2)

    def sums_along_the_rows(x, rng):
        return np.clip(x.sum(axis=1), 0, 50).sum() + rng.laplace(scale=50)

    def as_an_array(x, rng):
        x = np.asarray(x, dtype=float)
        return x[:, 0].sum() + rng.laplace(scale=100)

    def two_sums_one_noise_each(x, rng):
        a, b = x[:, 0].sum(), x[:, 1].sum()
        return a + rng.laplace(scale=200), b + rng.laplace(scale=200)

    def difference_of_counts(x, rng):
        return (x[:, 0] > 50).sum() - (x[:, 0] <= 50).sum() + rng.laplace(scale=1)

    def noise_in_place(x, rng):
        s = np.clip(x, 0, 1).sum(axis=0)
        s += rng.laplace(scale=3, size=3)
        return s

    def number_in_place(x, rng):
        total = 0.0
        for i in range(3):
            total += np.clip(x[:, i], 0, 1).sum()
        total += rng.laplace(scale=3)
        return total

    def name_of_the_largest(x, rng):
        noisy = [(x[:, i] > 50).sum() + rng.laplace(scale=3) for i in range(3)]
        return "abc"[int(np.argmax(noisy))]

    def length_of_a_selection(x, rng):
        return len(x[x[:, 0] > 50]) + rng.laplace(scale=1)

    def weights_in_a_list(x, rng):
        scores = [(x[:, i] > 50).sum() for i in range(3)]
        p = [np.exp(1.0 * s / 2) for s in scores]
        p = p / np.linalg.norm(p, ord=1)
        return np.random.choice(["a", "b", "c"], 1, p=p)[0]

    def nothing_of_the_table(x, rng):
        return rng.laplace(scale=1)

    def constant(x, rng):
        return 3.5

    def uses_random(x):
        return random.gauss(0.0, 1.0)

    def fraction(x, rng):
        return x[:, 0].sum() + rng.laplace(scale=float(Fraction(100)))


class pandas_forms:
    """Of a frame with age (int, 0 to 120), income (float, no bounds, may be missing), city; add-or-remove-one."""

    def clipped_sum(df, rng):
        return df["age"].clip(0, 90).sum() + rng.laplace(scale=90)

    def clip_with_names(df, rng):
        return df["income"].fillna(0).clip(lower=0, upper=1000).sum() + rng.laplace(scale=1000)

    def dropped(df, rng):
        return df["income"].dropna().clip(0, 1000).sum() + rng.laplace(scale=1000)

    def sum_skips_missing(df, rng):
        return df["income"].clip(0, 1000).sum() + rng.laplace(scale=1000)

    def counts(df, rng):
        return df["city"].value_counts().reindex(CITIES, fill_value=0) + rng.laplace(scale=1, size=3)

    def group_sizes(df, rng):
        n = df.groupby("city").size().reindex(CITIES).fillna(0)
        return (n + rng.laplace(scale=1, size=len(n))).clip(lower=0).round()

    def groups_of_two_columns(df, rng):
        order = pd.MultiIndex.from_product([CITIES, [18, 19, 20]])
        n = df.groupby(["city", "age"]).size().reindex(order, fill_value=0)
        return n + rng.laplace(scale=1, size=9)

    def sums_of_groups_of_two_columns(df, rng):
        order = pd.MultiIndex.from_product([CITIES, [18, 19, 20]], names=["city", "age"])
        d = df.assign(w=df["income"].fillna(0).clip(0, 5))
        s = d.groupby(["city", "age"])["w"].sum().reindex(order).fillna(0)
        return pd.DataFrame(
            {
                "s": s + rng.laplace(0, 10, 9),
                "n": d.groupby(["city", "age"])["w"].count().reindex(order, fill_value=0) + rng.laplace(0, 2, 9),
            }
        )

    def group_sums(df, rng):
        s = df.groupby("city")["age"].sum().reindex(CITIES, fill_value=0)
        return s + rng.laplace(scale=120, size=3)

    def group_means(df, rng):
        d = df.assign(age=df["age"].clip(0, 100))
        s = d.groupby("city")["age"].sum().reindex(CITIES, fill_value=0)
        n = d.groupby("city")["age"].count().reindex(CITIES, fill_value=0)
        s, n = s + rng.laplace(scale=200, size=3), n + rng.laplace(scale=2, size=3)
        return (s / n.clip(lower=1)).to_dict()

    def subset(df, rng):
        d = df[(df["age"] > 30) & (df["city"] == "Oslo")]
        return d["age"].sum() + rng.laplace(scale=120)

    def located(df, rng):
        return df.loc[df.age >= 18, "age"].sum() + rng.laplace(scale=120)

    def number_of_a_subset(df, rng):
        return df[df["city"].isin(["Oslo", "Rome"])].shape[0] + rng.laplace(scale=1)

    def between(df, rng):
        return df["age"].between(18, 65).sum() + rng.laplace(scale=1)

    def disjoint_subsets(df, rng):
        return {c: (df["city"] == c).sum() + rng.laplace(scale=1) for c in CITIES}

    def mapped(df, rng):
        return df["city"].map(WEIGHTS).sum() + rng.laplace(scale=3)

    def merged(df, rng):
        table = pd.DataFrame({"city": CITIES, "weight": [1.0, 2.0, 3.0]})
        return df.merge(table, on="city", how="left")["weight"].sum() + rng.laplace(scale=3)

    def new_column(df, rng):
        df = df.copy()
        df["old"] = (df["age"] > 65).astype(int)
        return df["old"].sum() + rng.laplace(scale=1)

    def two_statistics(df, rng):
        n = len(CITIES)
        a = df["age"].sum() + rng.laplace(scale=120 * 2)
        b = df["city"].value_counts().reindex(CITIES, fill_value=0).to_numpy() + rng.laplace(scale=2, size=n)
        return a, b

    def several_columns(df, rng):
        d = df[["age", "income"]].fillna(0).clip(0, 100)
        return d.sum() + rng.laplace(scale=200, size=2)

    def present_values(df, rng):
        return df["income"].count() + rng.laplace(scale=1)

    def ratio(df, rng):
        a = (df["age"] > 65).sum() + rng.laplace(scale=2)
        b = df.shape[0] + rng.laplace(scale=2)
        return float(np.clip(a / max(b, 1), 0, 1))

    def numpy_of_a_column(df, rng):
        ages = df["age"].to_numpy()
        h, _ = np.histogram(ages, bins=12, range=(0, 120))
        return h + rng.laplace(scale=1, size=12)

    def most_common(df, rng):
        n = df["city"].value_counts().reindex(CITIES, fill_value=0)
        return CITIES[0:0] or np.argmax(n.to_numpy() + rng.laplace(scale=1, size=3))

    def changed_with_loc(df, rng):
        d = df.copy()
        d.loc[d["age"] > 100, "age"] = 100
        return d["age"].sum() + rng.laplace(scale=120)

    def queried(df, rng):
        return df.query("age > 40 and city == 'Oslo'").shape[0] + rng.laplace(scale=1)

    def no_generator(df):
        return df["age"].sum() + np.random.default_rng().laplace(scale=120)


RIGHT = {
    **{f"numpy:{name}": value for name, value in vars(numpy_forms).items() if callable(value)},
    **{f"pandas:{name}": value for name, value in vars(pandas_forms).items() if callable(value)},
}
