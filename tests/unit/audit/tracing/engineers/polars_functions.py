# ruff: noqa: B905
"""Visits of a site: status, country and pages that may be missing, bytes, latency, bot, day."""

from dataclasses import dataclass
from datetime import date

import numpy as np
import polars as pl

STATUSES = ["200", "301", "404", "500"]
COUNTRIES = ["DE", "FR", "NO"]
ALL_STATUSES = pl.DataFrame({"status": STATUSES})


def promise(claim, relation="add"):
    def mark(function):
        function.claim, function.relation = claim, relation
        return function

    return mark


@dataclass(frozen=True)
class Metric:
    name: str
    expression: pl.Expr
    sensitivity: float


def laplace(value, sensitivity, epsilon, rng):
    return value + rng.laplace(scale=sensitivity / epsilon)


@promise("eps=1")
def right_metrics(df, rng):
    # three metrics at eps/3
    metrics = [
        Metric("traffic", pl.col("bytes").clip(0, 100_000).cast(pl.Float64).sum(), 100_000),
        Metric("latency", pl.col("latency").clip(0, 10).sum(), 10),
        Metric("bots", pl.col("bot").cast(pl.Int64).sum(), 1),
    ]
    out = {}
    for metric in metrics:
        value = df.select(metric.expression).item()
        out[metric.name] = laplace(value, metric.sensitivity, 1 / 3, rng)
    return out


@promise("eps=1")
def right_status_counts(df, rng):
    # one status per record
    counts = df.group_by("status").agg(pl.len().alias("n"))
    table = ALL_STATUSES.join(counts, on="status", how="left", maintain_order="left").fill_null(0)
    return dict(zip(STATUSES, table["n"].cast(pl.Float64).to_numpy() + rng.laplace(scale=1.0, size=4)))


@promise("eps=1")
def right_latency_by_status(df, rng):
    # sums and counts of disjoint groups, half each
    stats = (
        df.with_columns(pl.col("latency").clip(0, 5))
        .group_by("status")
        .agg(pl.len().alias("n"), pl.col("latency").sum().alias("total"))
    )
    table = ALL_STATUSES.join(stats, on="status", how="left", maintain_order="left").fill_null(0)
    n = table["n"].to_numpy() + rng.laplace(scale=2, size=4)
    total = table["total"].to_numpy() + rng.laplace(scale=10, size=4)
    return total / np.maximum(n, 1)


@promise("eps=1")
def right_error_rate(df, rng):
    # two counts at eps/2
    errors = df.filter(pl.col("status").is_in(["404", "500"])).height + rng.laplace(scale=2)
    total = df.height + rng.laplace(scale=2)
    if total <= 0:
        return 0.0
    return min(max(errors / total, 0.0), 1.0)


@promise("eps=1")
def right_lazy_bots(df, rng):
    # one sum of at most 1e6
    total = df.lazy().filter(~pl.col("bot")).select(pl.col("bytes").cast(pl.Float64).sum()).collect().item()
    return total + rng.laplace(scale=1e6)


@promise("eps=1")
def right_pages_known(df, rng):
    # missing pages dropped: 50 and 1, half each
    pages = df.drop_nulls("pages")["pages"].cast(pl.Float64)
    return pages.sum() + rng.laplace(scale=100), pages.len() + rng.laplace(scale=2)


@promise("eps=1")
def right_pages_filled(df, rng):
    # a missing one counts 1
    total = df.select(pl.col("pages").fill_null(1).clip(1, 20).cast(pl.Float64).sum()).item()
    return total + rng.laplace(scale=20)


@promise("eps=1")
def right_by_month(df, rng):
    # one month
    month = df["day"].dt.month()
    return {m: (month == m).cast(pl.Int64).sum() + rng.laplace(scale=1.0) for m in range(1, 13)}


@promise("eps=1")
def right_since_summer(df, rng):
    # a count
    return df.filter(pl.col("day") >= date(2025, 7, 1)).height + rng.laplace(scale=1.0)


@promise("eps=1", "replace")
def right_mean_latency_replaced(df, rng):
    # 20/200
    return df["latency"].clip(0, 20).mean() + rng.laplace(scale=0.1001)


@promise("eps=1", "replace")
def right_bot_share_replaced(df, rng):
    # 1/200
    share = df.select(pl.col("bot").cast(pl.Float64).mean()).item()
    return float(np.clip(share + rng.laplace(scale=0.005001), 0, 1))


@promise("eps=1", "replace")
def right_counts_replaced(df, rng):
    # two cells
    out = []
    for status in STATUSES:
        out.append(df.filter(pl.col("status") == status).height + rng.laplace(scale=2.0))
    return out


@promise("eps=1")
def right_country_with_missing(df, rng):
    # countries and the missing ones exclude each other
    out = {c: df.filter(pl.col("country") == c).height + rng.laplace() for c in COUNTRIES}
    out["unknown"] = df.filter(pl.col("country").is_null()).height + rng.laplace()
    return out


@promise("eps=1")
def right_score_of_visits(df, rng):
    # at most 3 for an error, else 1 or 0
    points = (
        pl.when(pl.col("status") == "500")
        .then(pl.lit(3.0))
        .when(pl.col("status") == "404")
        .then(pl.lit(1.0))
        .otherwise(pl.lit(0.0))
    )
    return df.select(points.sum()).item() + rng.laplace(scale=3)


@promise("eps=1")
def right_slow_fast(df, rng):
    # a mask and its complement
    slow = pl.col("latency") > 2.0
    return (
        df.filter(slow).height + rng.laplace(scale=1.0),
        df.filter(~slow).height + rng.laplace(scale=1.0),
    )


@promise("mu=1")
def right_gauss_pair(df, rng):
    # (1, 1): sqrt(2)
    sums = df.select((pl.col("latency") / 60).sum().alias("a"), (pl.col("bytes") / 1_000_000).sum().alias("b")).row(0)
    return [value + rng.normal(scale=1.41422) for value in sums]


@promise("eps=1")
def right_noisy_max(df, rng):
    # disjoint
    counts = np.array([df.filter(pl.col("status") == s).height for s in STATUSES])
    return STATUSES[int(np.argmax(counts + rng.gumbel(scale=2.0, size=4)))]


@promise("eps=1")
def right_latency_histogram(df, rng):
    # one bin; all latencies are inside of the edges
    counts, _ = np.histogram(df["latency"].to_numpy(), bins=[0, 0.1, 0.5, 1, 5, 60])
    noisy = counts + rng.laplace(scale=1.0, size=5)
    return (noisy / max(noisy.sum(), 1.0)).tolist()


@promise("eps=1")
def right_helper_by_country(df, rng):
    # disjoint countries, missing ones nowhere; half each
    def of(country):
        here = df.filter(pl.col("country") == country)
        n = laplace(here.height, 1, 0.5, rng)
        size = laplace(here["bytes"].clip(0, 10_000).cast(pl.Float64).sum(), 10_000, 0.5, rng)
        return size / max(n, 1.0)

    return {country: of(country) for country in COUNTRIES}


@promise("eps=1")
def right_log_bytes(df, rng):
    # log(1e6 + 1) < 13.9
    return df.select(pl.col("bytes").cast(pl.Float64).log1p().sum()).item() + rng.laplace(scale=13.9)


@promise("eps=1")
def right_remap_country(df, rng):
    # public weights, 0 where missing
    weights = {"DE": 0.5, "FR": 1.0, "NO": 2.0}
    total = df.select(pl.col("country").fill_null("missing").replace_strict(weights, default=0.0).sum()).item()
    return total + rng.laplace(scale=2.0)


@promise("eps=1")
def right_remap_nullable(df, rng):
    # what is missing has the default
    total = df.select(pl.col("country").replace_strict({"DE": 0.5, "NO": 2.0}, default=0.0).sum()).item()
    return total + rng.laplace(scale=2.0)


@promise("eps=1")
def right_filter_in_agg(df, rng):
    # a bot moves the sum of its status by 60 at most
    totals = df.group_by("status").agg(pl.col("latency").filter(pl.col("bot")).sum().alias("total"))
    table = ALL_STATUSES.join(totals, on="status", how="left", maintain_order="left").fill_null(0)
    return table["total"].to_numpy() + rng.laplace(scale=60, size=4)


@promise("eps=1")
def right_when_in_agg(df, rng):
    # the same, written over all records of each status
    total = pl.when(pl.col("bot")).then(pl.col("latency")).otherwise(0).sum().alias("total")
    totals = df.group_by("status").agg(total)
    table = ALL_STATUSES.join(totals, on="status", how="left", maintain_order="left").fill_null(0)
    return table["total"].to_numpy() + rng.laplace(scale=60, size=4)


@promise("eps=1")
def right_rounded(df, rng):
    # post-processing
    released = df.height + rng.laplace(scale=1.0)
    return {"visits": int(max(0, round(released, -1))), "enough": released > 100}


@promise("eps=1")
def right_sum_horizontal_units(df, rng):
    # latency in ms at most 5000 plus a kilobyte share of at most 1000: 6000
    cost = pl.col("latency").clip(0, 5) * 1000 + pl.col("bytes") / 1000
    return df.select(cost.sum()).item() + rng.laplace(scale=6000.001)


@promise("eps=1")
def right_discrete(df, rng):
    # a difference of two geometrics of 1 - exp(-1)
    p = 1 - 0.3679
    return df.filter(pl.col("bot")).height + (rng.geometric(p) - rng.geometric(p))


@promise("eps=1")
def right_value_counts_joined(df, rng):
    # one status
    counts = df["status"].value_counts()
    table = ALL_STATUSES.join(counts, on="status", how="left", maintain_order="left").fill_null(0)
    return np.cumsum(table["count"].to_numpy() + rng.laplace(size=4))


# ---------------------------------------------------------------------------------------------------- wrong


@promise("eps=1")
def wrong_metrics_at_full_budget(df, rng):
    # two at eps 1
    out = {}
    for name, cap in (("bytes", 100_000), ("latency", 10)):
        out[name] = laplace(df[name].cast(pl.Float64).clip(0, cap).sum(), cap, 1.0, rng)
    return out


@promise("eps=1")
def wrong_group_labels(df, rng):
    # the labels that occur
    counts = df.group_by("status").agg(pl.len().alias("n")).sort("status")
    return counts["status"].to_list(), counts["n"].to_numpy() + rng.laplace(scale=1.0, size=counts.height)


@promise("eps=1")
def wrong_inner_join(df, rng):
    # an inner join drops statuses that do not occur
    counts = df.group_by("status").agg(pl.len().alias("n"))
    table = ALL_STATUSES.join(counts, on="status", how="inner", maintain_order="left")
    return table["n"].to_numpy() + rng.laplace(scale=1.0, size=table.height)


@promise("eps=1")
def wrong_join_multiplies(df, rng):
    # DE has two offices
    offices = pl.DataFrame({"country": ["DE", "DE", "FR", "NO"], "office": [1, 2, 3, 4]})
    return df.join(offices, on="country", how="inner").height + rng.laplace(scale=1.0)


@promise("eps=1")
def wrong_clip_after_sum(df, rng):
    # the sum is clipped
    total = df.select(pl.col("bytes").cast(pl.Float64).sum().clip(0, 1_000_000)).item()
    return total + rng.laplace(scale=10_000)


@promise("eps=1", "replace")
def wrong_counts_replaced(df, rng):
    out = []
    for status in STATUSES:
        out.append(df.filter(pl.col("status") == status).height + rng.laplace(scale=1.0))
    return out


@promise("eps=1")
def wrong_mean_latency(df, rng):
    # n is private
    return (df["latency"].mean() or 0.0) + rng.laplace(scale=60 / 1000)


@promise("eps=1")
def wrong_or_is_not_disjoint(df, rng):
    # a slow error is in both
    slow = df.filter(pl.col("latency") > 5).height
    failed = df.filter(pl.col("status") == "500").height
    return slow + rng.laplace(scale=1.0), failed + rng.laplace(scale=1.0)


@promise("eps=1")
def wrong_superset(df, rng):
    # a 500 is an error too
    errors = df.filter(pl.col("status").is_in(["404", "500"])).height
    fatal = df.filter(pl.col("status") == "500").height
    return {"errors": errors + rng.laplace(scale=1.0), "fatal": fatal + rng.laplace(scale=1.0)}


@promise("eps=1")
def wrong_null_country_as_all(df, rng):
    # a missing country is counted in each country
    out = []
    for country in COUNTRIES:
        here = df.filter(pl.col("country").fill_null(country) == country)
        out.append(here.height + rng.laplace(scale=1.0))
    return out


@promise("eps=1")
def wrong_int32_overflow(df, rng):
    # 3000 * bytes is 3e9 and wraps around in 32 bits, a sum of it moves by up to 2^31
    weight = pl.col("bytes").cast(pl.Int32) * pl.lit(3000, dtype=pl.Int32)
    return df.select(weight.cast(pl.Float64).sum()).item() + rng.laplace(scale=1000.0)


@promise("eps=1")
def wrong_quantile_cap(df, rng):
    # the cap is a quantile of the data
    cap = df["latency"].quantile(0.9) or 0.0
    return df["latency"].clip(0, cap).sum() + rng.laplace(scale=10)


@promise("eps=1")
def wrong_scale_of_height(df, rng):
    # the sensitivity looks at the number of rows
    n = max(df.height, 1)
    return df["latency"].sum() / n + rng.laplace(scale=60 / n)


@promise("eps=1")
def wrong_running_total(df, rng):
    # months cumulated before noise
    total, out = 0, []
    for m in range(1, 13):
        total = total + df.filter(pl.col("day").dt.month() == m).height
        out.append(total + rng.laplace(scale=1.0))
    return out


@promise("eps=1")
def wrong_top_status(df, rng):
    # the most frequent status by exact counts
    top = df["status"].value_counts().sort("count", descending=True)
    return top["status"].to_list()[:1], df.height + rng.laplace(scale=1.0)


@promise("eps=1")
def wrong_only_if_many(df, rng):
    # an exact threshold
    if df.height < 10:
        return None
    return df.height + rng.laplace(scale=1.0)


@promise("eps=0.1")
def wrong_scale_is_epsilon(df, rng):
    return df.filter(pl.col("bot")).height + rng.laplace(scale=0.1)


@promise("eps=1")
def wrong_one_draw(df, rng):
    # one draw for every cell
    z = rng.laplace(scale=1.0)
    return [df.filter(pl.col("status") == s).height + z for s in STATUSES]


@promise("mu=1")
def wrong_l2_of_three(df, rng):
    # sqrt(3), not 1
    sums = df.select(
        (pl.col("latency") / 60).sum().alias("a"),
        (pl.col("bytes") / 1_000_000).sum().alias("b"),
        pl.col("bot").cast(pl.Float64).sum().alias("c"),
    ).row(0)
    return [value + rng.normal(scale=1.0) for value in sums]


@promise("eps=1, delta=1e-7")
def wrong_variance_as_sigma(df, rng):
    # normal takes the deviation: the square root twice
    sigma = np.sqrt(2 * np.log(1.25 / 1e-7))
    return df.height + rng.normal(scale=np.sqrt(sigma))


@promise("eps=1")
def wrong_exact_for_debug(df, rng):
    # a debug field
    n = df.height
    return {"noisy": n + rng.laplace(scale=1.0), "debug": f"{n} rows"}


@promise("eps=1")
def wrong_unclipped_lower(df, rng):
    # only capped above: the difference to 30 reaches -30, and a move of 30 for noise of 10
    off = (pl.col("latency") - 30).clip(upper_bound=10)
    return df.select(off.sum()).item() + rng.laplace(scale=10.0)


@promise("eps=1")
def wrong_pages_plus_missing(df, rng):
    # 99 for a missing one
    return df.select(pl.col("pages").fill_null(99).cast(pl.Float64).sum()).item() + rng.laplace(scale=50)


@promise("eps=1")
def wrong_half_budget_twice_and_more(df, rng):
    # half for the number, half for each month... which is fine, but the mask of the year is a third
    n = df.height + rng.laplace(scale=2.0)
    months = [df.filter(pl.col("day").dt.month() == m).height + rng.laplace(scale=2.0) for m in range(1, 13)]
    weekend = df.filter(pl.col("day").dt.weekday() >= 6).height + rng.laplace(scale=2.0)
    return n, months, weekend


@promise("eps=1")
def wrong_noise_per_row(df, rng):
    # noise of scale 1 on each capped value: a record that is there is seen by the number of values
    values = df["latency"].clip(0, 1).to_numpy()
    return values + rng.laplace(scale=1.0, size=len(values))


@promise("eps=1")
def wrong_rest_of_a_filter_in_agg(df, rng):
    # the number of visits that are no bots moves by 1
    counts = df.group_by("status").agg(pl.len().alias("n"), pl.col("latency").filter(pl.col("bot")).len().alias("bots"))
    table = ALL_STATUSES.join(counts, on="status", how="left", maintain_order="left").fill_null(0)
    people = table["n"].cast(pl.Float64).to_numpy() - table["bots"].cast(pl.Float64).to_numpy()
    return people + rng.laplace(scale=0.01, size=4)


@promise("eps=1")
def wrong_missing_in_each_group(df, rng):
    # the number of visits without pages moves by 1
    counts = df.group_by("status").agg(pl.len().alias("n"), pl.col("pages").drop_nulls().len().alias("known"))
    table = ALL_STATUSES.join(counts, on="status", how="left", maintain_order="left").fill_null(0)
    missing = table["n"].cast(pl.Float64).to_numpy() - table["known"].cast(pl.Float64).to_numpy()
    return missing + rng.laplace(scale=0.01, size=4)
