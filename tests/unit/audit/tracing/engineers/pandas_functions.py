# ruff: noqa: B905
"""Employees: age, salary, hours and degree that may be missing, region, union, date of hire."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

REGIONS = ["north", "south", "east", "west"]
DEGREES = ["none", "bachelor", "master", "other"]
CUTS = [16, 25, 35, 50, 65, 91]


def promise(claim, relation="add"):
    def mark(function):
        function.claim, function.relation = claim, relation
        return function

    return mark


@dataclass
class Release:
    values: dict = field(default_factory=dict)

    def add(self, name, value):
        self.values[name] = float(value)


class Accountant:
    def __init__(self, epsilon, rng):
        self.left, self.rng = epsilon, rng

    def laplace(self, value, sensitivity, epsilon):
        if epsilon > self.left + 1e-12:
            raise RuntimeError("the budget is spent")
        self.left -= epsilon
        return value + self.rng.laplace(scale=sensitivity / epsilon)


@promise("eps=1")
def right_region_counts(df, rng):
    # disjoint groups
    counts = df.groupby("region").size().reindex(REGIONS, fill_value=0)
    return (counts + rng.laplace(scale=1.0, size=len(REGIONS))).round().clip(lower=0)


@promise("eps=1")
def right_payroll_by_region(df, rng):
    # disjoint groups; half for counts, half for sums
    capped = df.assign(salary=df["salary"].clip(0, 100_000))
    grouped = capped.groupby("region")["salary"]
    n = grouped.count().reindex(REGIONS, fill_value=0) + rng.laplace(scale=2.0, size=4)
    total = grouped.sum().reindex(REGIONS, fill_value=0) + rng.laplace(scale=200_000, size=4)
    return total / n.clip(lower=1)


@promise("eps=1")
def right_accountant(df, rng):
    # three releases of 0.5 + 0.25 + 0.25
    spend = Accountant(1.0, rng)
    release = Release()
    release.add("staff", spend.laplace(len(df), 1, 0.5))
    release.add("union", spend.laplace(df["union"].sum(), 1, 0.25))
    release.add("senior", spend.laplace((df["age"] >= 60).sum(), 1, 0.25))
    return release.values


@promise("eps=1")
def right_hours_of_those_known(df, rng):
    # missing hours are left out; sum 60, count 1, half each
    known = df["hours"].dropna().clip(0, 60)
    return known.sum() + rng.laplace(scale=120), known.count() + rng.laplace(scale=2)


@promise("eps=1")
def right_fill_hours(df, rng):
    # missing as 40, at most 60
    hours = df["hours"].fillna(40).clip(upper=60)
    return hours.sum() + rng.laplace(scale=60)


@promise("eps=1")
def right_age_cut(df, rng):
    # one band per record
    bands = pd.cut(df["age"], CUTS, right=False)
    counts = bands.value_counts(sort=False)
    noise = rng.laplace(0, 1, len(counts))
    return dict(zip(["16-24", "25-34", "35-49", "50-64", "65+"], counts.to_numpy() + noise))


@promise("eps=1")
def right_cross_table(df, rng):
    # one cell at most per record
    out = {}
    for region in REGIONS:
        for degree in DEGREES:
            here = df[(df["region"] == region) & (df["degree"] == degree)]
            out[region, degree] = len(here) + rng.laplace(scale=1.0)
    return out


@promise("eps=1", "replace")
def right_mean_salary_replaced(df, rng):
    # 100000/200 = 500
    return df["salary"].clip(20_000, 120_000).mean() + rng.laplace(scale=500.001)


@promise("eps=1", "replace")
def right_region_counts_replaced(df, rng):
    # two cells
    counts = df["region"].value_counts().reindex(REGIONS, fill_value=0)
    return counts + rng.laplace(scale=2.0, size=4)


@promise("eps=1")
def right_hired_by_year(df, rng):
    # one year per record
    years = df["hired"].dt.year
    return pd.Series({y: (years == y).sum() + rng.laplace() for y in range(2015, 2025)})


@promise("eps=1")
def right_recent_hires(df, rng):
    # one count
    recent = df[df["hired"] >= pd.Timestamp("2024-01-01")]
    n = len(recent) + rng.laplace(scale=1.0)
    return {"recent": max(0, round(n))}


@promise("eps=1")
def right_query_and_sum(df, rng):
    # salary of at most 80000 among a selection
    low = df.query("salary < 80000 and age < 30")
    return low["salary"].sum() + rng.laplace(0, 80_000)


@promise("eps=1")
def right_union_gap(df, rng):
    # union and the rest are disjoint, each: count and sum at eps/2
    means = {}
    for member in (True, False):
        pay = df.loc[df["union"] == member, "salary"].clip(upper=100_000)
        n = pay.count() + rng.laplace(scale=2)
        total = pay.sum() + rng.laplace(scale=200_000)
        means[member] = total / max(n, 1)
    return means[True] - means[False]


@promise("eps=1")
def right_degree_points(df, rng):
    # public points, missing as 0, at most 3
    points = df["degree"].map({"none": 0, "bachelor": 1, "master": 3, "other": 1}).fillna(0)
    return points.sum() + rng.laplace(scale=3.0)


@promise("eps=1")
def right_counter(df, rng):
    # one label per record
    seen = Counter(df["region"])
    return [seen.get(region, 0) + rng.laplace(scale=1.0) for region in REGIONS]


@promise("mu=1")
def right_gaussian_pair(df, rng):
    # (1, 1) in units: l2 sqrt(2)
    scaled = np.array([df["age"].sum() / 90, df["salary"].sum() / 150_000])
    return scaled + rng.normal(scale=1.4143, size=2)


@promise("eps=1")
def right_top_region(df, rng):
    # disjoint counts
    counts = df["region"].value_counts().reindex(REGIONS, fill_value=0).to_numpy()
    scores = counts + rng.laplace(scale=2.0, size=4)
    order = np.argsort(-scores)
    return np.array(REGIONS)[order[:2]].tolist()


@promise("eps=1")
def right_missing_share(df, rng):
    # two counts of eps/2
    missing = df["hours"].isna().sum() + rng.laplace(scale=2)
    total = len(df) + rng.laplace(scale=2)
    return min(max(missing / max(total, 1), 0), 1)


@promise("eps=1")
def right_hourly_pay(df, rng):
    # hours at least 10, salary at most 100000: a rate of at most 10000/52
    known = df[df["hours"].notna()]
    rate = known["salary"].clip(0, 100_000) / (known["hours"].clip(10, 60) * 52)
    return rate.sum() + rng.laplace(scale=193)


@promise("eps=1")
def right_merge_with_public(df, rng):
    # a public table with each region once: no row is multiplied, at most 1.2 * 150000
    index = pd.DataFrame({"region": REGIONS, "level": [1.2, 0.9, 1.0, 1.1]})
    merged = df.merge(index, on="region", how="left")
    return (merged["salary"] * merged["level"]).sum() + rng.laplace(scale=180_000.01)


@promise("eps=1")
def right_agg_dictionary(df, rng):
    # one region per record: a count and a sum of ages of eps/2
    table = df.groupby("region").agg(n=("age", "count"), years=("age", "sum")).reindex(REGIONS, fill_value=0)
    n = table["n"] + rng.laplace(scale=2, size=4)
    years = table["years"] + rng.laplace(scale=180, size=4)
    return pd.DataFrame({"n": n, "mean": years / n.clip(lower=1)})


@promise("eps=1")
def right_order_in_a_loop(df, rng):
    # the same release, read in a loop
    counts = df["region"].value_counts().reindex(REGIONS, fill_value=0).to_numpy()
    order = np.argsort(-(counts + rng.laplace(scale=2.0, size=4)))
    return [REGIONS[i] for i in order[:2]]


@promise("eps=1")
def right_histogram_of_salary(df, rng):
    # one bin; below 150000 all inside
    counts, edges = np.histogram(df["salary"].to_numpy(), bins=np.linspace(0, 150_000, 16))
    shares = np.maximum(counts + rng.laplace(size=15), 0)
    shares = shares / max(shares.sum(), 1)
    return edges[np.argmax(np.cumsum(shares) >= 0.5)]


@promise("eps=1")
def right_early_return(df, rng):
    # the early return looks at a released number; all noise was drawn before
    staff = len(df) + rng.laplace(scale=2)
    union = df["union"].sum() + rng.laplace(scale=2)
    if staff < 30:
        return {"staff": "fewer than 30"}
    return {"staff": round(staff), "union": round(100 * union / staff)}


@promise("eps=1")
def right_weekday(df, rng):
    # one day of the week
    days = df["hired"].dt.dayofweek
    counts = days.value_counts().reindex(range(7), fill_value=0)
    return counts.to_numpy() + rng.laplace(scale=1.0, size=7)


@promise("eps=1")
def right_apply_cap(df, rng):
    # capped by np.where
    pay = np.where(df["salary"] > 90_000, 90_000, df["salary"])
    older = pay[df["age"].to_numpy() > 50]
    return older.sum() + rng.laplace(scale=90_000)


@promise("eps=1")
def right_difference_with_a_total(df, rng):
    # a member moves (1, 1), another one (0, 2): 1 with a scale of 2 in both cases
    union = df["union"].sum()
    total = 2 * len(df) - union
    return union + rng.laplace(scale=2), total + rng.laplace(scale=2)


# ---------------------------------------------------------------------------------------------------- wrong


@promise("eps=1")
def wrong_labels_of_the_data(df, rng):
    # a region that nobody has is missing from the answer
    counts = df["region"].value_counts()
    return counts + rng.laplace(scale=1.0, size=len(counts))


@promise("eps=1")
def wrong_sum_and_count(df, rng):
    # both at eps 1
    grouped = df.groupby("region")["age"]
    n = grouped.count().reindex(REGIONS, fill_value=0) + rng.laplace(scale=1, size=4)
    years = grouped.sum().reindex(REGIONS, fill_value=0) + rng.laplace(scale=90, size=4)
    return years / n.clip(lower=1)


@promise("eps=1", "replace")
def wrong_counts_replaced(df, rng):
    # two cells move
    counts = df["region"].value_counts().reindex(REGIONS, fill_value=0)
    return counts + rng.laplace(scale=1.0, size=4)


@promise("eps=1")
def wrong_forgotten_clip(df, rng):
    # the clipped column is not kept
    df["salary"].clip(0, 100_000)
    return df["salary"].sum() + rng.laplace(scale=100_000)


@promise("eps=1")
def wrong_fill_with_the_mean(df, rng):
    # the mean of the data depends on all records
    hours = df["hours"].fillna(df["hours"].mean())
    return hours.sum() + rng.laplace(scale=80)


@promise("eps=1")
def wrong_missing_as_large(df, rng):
    # a missing one counts 999
    return df["hours"].fillna(999).sum() + rng.laplace(scale=80)


@promise("eps=1")
def wrong_merge_multiplies(df, rng):
    # north has two offices, so its rows come twice
    offices = pd.DataFrame({"region": ["north", "north", "south", "east", "west"], "office": [1, 2, 3, 4, 5]})
    return df.merge(offices, on="region").shape[0] + rng.laplace(scale=1.0)


@promise("eps=1")
def wrong_overlapping_masks(df, rng):
    # a young union member is in both
    young = df[df["age"] < 30]
    union = df[df["union"]]
    return len(young) + rng.laplace(scale=1.0), len(union) + rng.laplace(scale=1.0)


@promise("eps=1")
def wrong_two_groupings(df, rng):
    # by region and by degree: a record is in one group of each
    out = {}
    for key, labels in (("region", REGIONS), ("degree", DEGREES)):
        counts = df.groupby(key).size().reindex(labels, fill_value=0)
        for label in labels:
            out[key, label] = counts[label] + rng.laplace(scale=1.0)
    return out


@promise("eps=1")
def wrong_mean_by_region(df, rng):
    # a group of one record
    means = df.groupby("region")["age"].mean().reindex(REGIONS, fill_value=0)
    return means + rng.laplace(scale=90 / 50, size=4)


@promise("eps=1")
def wrong_nunique(df, rng):
    # the number of regions without noise as a size
    return {"regions": df["region"].nunique(), "staff": len(df) + rng.laplace(scale=1.0)}


@promise("eps=1")
def wrong_raw_threshold(df, rng):
    # small groups are dropped by the exact size
    counts = df["region"].value_counts().reindex(REGIONS, fill_value=0)
    large = counts[counts >= 5]
    return large + rng.laplace(scale=1.0, size=len(large))


@promise("eps=1")
def wrong_standardised(df, rng):
    # z scores by the mean and deviation of the data
    z = (df["age"] - df["age"].mean()) / df["age"].std()
    return z.clip(-3, 3).sum() + rng.laplace(scale=3)


@promise("eps=1")
def wrong_sort_of_counts(df, rng):
    # the order of labels is that of exact counts
    counts = df["region"].value_counts()
    return list(counts.index), (counts.reindex(REGIONS, fill_value=0) + rng.laplace(scale=1.0, size=4)).tolist()


@promise("eps=1")
def wrong_epsilon_each_year(df, rng):
    # hired before: cumulative over the years, an early one counts in all
    return {y: (df["hired"].dt.year <= y).sum() + rng.laplace() for y in range(2015, 2025)}


@promise("eps=1")
def wrong_percent_by_len(df, rng):
    # percent of few people
    share = 100 * df["union"].sum() / max(len(df), 1)
    return share + rng.laplace(scale=1.0)


@promise("eps=1")
def wrong_shared_noise(df, rng):
    # one draw for all four cells: their differences are exact
    counts = df["region"].value_counts().reindex(REGIONS, fill_value=0)
    return counts + rng.laplace(scale=1.0)


@promise("eps=1")
def wrong_sensitivity_of_the_mean(df, rng):
    # a sum with the noise of a mean of 200
    total = df["salary"].clip(0, 100_000).sum()
    return total + rng.laplace(scale=100_000 / 200)


@promise("eps=1")
def wrong_cut_leaves_nothing_out(df, rng):
    # the missing ones are shown exactly
    hours = df["hours"]
    return (hours > 40).sum() + rng.laplace(), int(hours.isna().sum())


@promise("eps=1")
def wrong_signed_clip(df, rng):
    # the difference from 50000, clipped to 60000 either side: one record adds up to 60000, noise for 50000
    off = (df["salary"] - 50_000).clip(-60_000, 60_000)
    return off.sum() + rng.laplace(scale=50_000)


@promise("mu=1")
def wrong_laplace_for_gauss(df, rng):
    # Laplace of scale 0.5 is not mu=1
    return df["union"].sum() + rng.laplace(scale=0.5)


@promise("eps=1, delta=1e-6")
def wrong_sigma_without_delta(df, rng):
    # sigma 1 is not enough
    return df["region"].value_counts().reindex(REGIONS, fill_value=0) + rng.normal(scale=1.0, size=4)


@promise("eps=1")
def wrong_ratio_then_sum(df, rng):
    # hours may be near 0, so a rate is unbounded
    known = df.dropna(subset=["hours"])
    rate = known["salary"] / known["hours"].clip(lower=0.1)
    return rate.sum() + rng.laplace(scale=10_000)


@promise("eps=1")
def wrong_quantile(df, rng):
    # a median moves far
    return df["salary"].median() + rng.laplace(scale=1000) if len(df) else 0.0


@promise("eps=1")
def wrong_missing_by_region(df, rng):
    # the number of people without hours moves by 1
    known = df["hours"].dropna().groupby(df["region"]).size().reindex(REGIONS, fill_value=0)
    everyone = df.groupby("region").size().reindex(REGIONS, fill_value=0)
    return (everyone - known).to_numpy() + rng.laplace(scale=0.01, size=4)


@promise("eps=1")
def wrong_rest_of_a_selection(df, rng):
    # the number of people outside of the union moves by 1
    members = df[df["union"]].groupby(df["region"]).size().reindex(REGIONS, fill_value=0)
    everyone = df.groupby("region").size().reindex(REGIONS, fill_value=0)
    return (everyone - members).to_numpy() + rng.laplace(scale=0.01, size=4)
