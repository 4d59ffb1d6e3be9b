"""Functions of tables that break eps = 1 on neighbours which are not obvious, and functions that keep it.

The table is `people`: everybody's city but one is one of four, a few incomes are missing, a person may have several
records. Each wrong function is right on almost every pair of neighbours.
"""

import numpy as np
import pandas as pd
import polars as pl

CITIES = ["Bonn", "Lima", "Oslo", "Rome"]
LOW = 10


def people(seed: int = 7, n: int = 240) -> pd.DataFrame:
    """A table as a file of a user's holds it."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "person": rng.integers(0, n // 3, n),
            "city": rng.choice(CITIES, n, p=[0.5, 0.3, 0.12, 0.08]),
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 90, n),
            "income": np.round(rng.lognormal(10, 0.6, n), 2),
            "day": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            "smoker": rng.random(n) < 0.2,
        }
    )
    frame.loc[[11, 54, 97], "income"] = np.nan
    frame.loc[123, "city"] = "Vaduz"
    return frame


# pandas ---------------------------------------------------------------------------------------------------------------


def keys_by_presence(df: pd.DataFrame, rng):
    """A city is a key if somebody lives there."""
    return {city: count + rng.laplace() for city, count in df.groupby("city").size().items()}


def deviation_of_a_group(df: pd.DataFrame, rng):
    """The standard deviation of one record is not a number."""
    groups = {city: df[df["city"] == city]["age"].clip(0, 100) for city in CITIES}
    return {city: (ages.std() if len(ages) else 0.0) + rng.laplace(scale=400) for city, ages in groups.items()}


@np.errstate(all="ignore")
def unguarded_quotient(df: pd.DataFrame, rng):
    """The number that is divided by has no noise: a small table moves the quotient by all that a person has."""
    return (df["age"].clip(0, 100).sum() + rng.laplace(scale=200)) / len(df[df["smoker"]])


def sum_that_wraps(df: pd.DataFrame, rng):
    """Cents of 32 bits: no table of this size has so many."""
    cents = (df["income"].fillna(0).clip(0, 1e5) * 100).astype("int32").to_numpy()
    return float(cents.sum(dtype=np.int32)) + rng.laplace(scale=1e7)


def last_day(df: pd.DataFrame, rng):
    """The range of the data is told, and who came last is known."""
    return {"until": str(df["day"].max().date()) if len(df) else "", "number": len(df) + rng.laplace()}


def records_of_a_person(df: pd.DataFrame, rng):
    """Noise for one record, of people who have several."""
    return df.groupby("sex").size().reindex(["f", "m"], fill_value=0) + rng.laplace(size=2)


def bound_of_the_data(df: pd.DataFrame, rng):
    """Incomes are small, mostly; nothing clips them."""
    return df["income"].fillna(0).sum() + rng.laplace(scale=3e5)


def true_threshold(df: pd.DataFrame, rng):
    """Small groups are left out by their true size."""
    sizes = df.groupby("city").size().reindex(CITIES, fill_value=0)
    return {city: size + rng.laplace() for city, size in sizes.items() if size >= LOW}


# polars ---------------------------------------------------------------------------------------------------------------


def polars_groups(df: pl.DataFrame, rng):
    """The rows of the result are those of the data."""
    sizes = df.group_by("city").len().sort("city")
    return sizes.with_columns(noisy=sizes["len"] + rng.laplace(size=len(sizes))).drop("len")


def polars_oldest(df: pl.LazyFrame, rng):
    """The oldest of each sex: one record of an age that nobody has moves it."""
    oldest = df.group_by("sex").agg(pl.col("age").max()).sort("sex").collect()
    return oldest["age"].to_numpy() + rng.laplace(size=len(oldest), scale=8)


def polars_mean_of_few(df: pl.DataFrame, rng):
    """The mean of a group that may be empty or of one."""
    mean = df.filter(pl.col("city") == "Oslo")["age"].clip(0, 100).mean()
    return (mean if isinstance(mean, float) else float("nan")) + rng.laplace(scale=20)


# NumPy ----------------------------------------------------------------------------------------------------------------


def numpy_small_sum(ages: np.ndarray, rng):
    """A sum of 16 bits."""
    return float(ages[:, 0].astype(np.int16).sum(dtype=np.int16)) + rng.laplace(scale=120)


def numpy_largest(table: np.ndarray, rng):
    """An extreme above what is typical."""
    return (table[:, 1].max() if len(table) else 0.0) + rng.laplace(scale=2e4)


@np.errstate(all="ignore")
def numpy_edges(table: np.ndarray, rng):
    """The edges of the bins are those of the data."""
    counts, _ = np.histogram(table[:, 0], np.histogram_bin_edges(table[:, 0], bins=8))
    return counts + rng.laplace(size=8)


# right ----------------------------------------------------------------------------------------------------------------


def counts_of_known_cities(df: pd.DataFrame, rng):
    return df["city"].value_counts().reindex(CITIES, fill_value=0) + rng.laplace(size=len(CITIES))


def clipped_sum(df: pd.DataFrame, rng):
    return df["income"].fillna(0).clip(0, 1e5).sum() + rng.laplace(scale=1e5)


def mean_of_noisy_parts(df: pd.DataFrame, rng):
    total = df["age"].clip(0, 100).sum() + rng.laplace(scale=200)
    return {"mean": total / max(1.0, len(df) + rng.laplace(scale=2))}


def noisy_threshold(df: pd.DataFrame, rng):
    noisy = {city: float((df["city"] == city).sum()) + rng.laplace() for city in CITIES}
    return {city: count for city, count in noisy.items() if count > 20}


def polars_counts(df: pl.DataFrame, rng):
    held = dict(df.group_by("sex").len().iter_rows())
    return [held.get(sex, 0) + rng.laplace() for sex in ("f", "m")]


def polars_clipped(df: pl.DataFrame, rng):
    return float(df["income"].fill_null(0).fill_nan(0).clip(0, 1e5).sum()) + rng.laplace(scale=1e5)


def numpy_clipped(table: np.ndarray, rng):
    return np.clip(table[:, 0], 0, 100).sum() + rng.laplace(scale=100)


def numpy_known_edges(table: np.ndarray, rng):
    return np.histogram(np.clip(table[:, 0], 0, 100), np.linspace(0, 100, 9))[0] + rng.laplace(size=8)
