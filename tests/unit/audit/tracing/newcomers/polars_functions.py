# ruff: noqa: RUF005
import numpy as np
import polars as pl

CITIES = ["Bonn", "Oslo", "Rome"]
SEXES = ["f", "m"]


def right_len(df, rng):
    return df.height + rng.laplace(scale=1.0)


def right_filter(df, rng):
    return df.filter(pl.col("age") > 40).height + rng.laplace(scale=1.0)


def right_sum(df, rng):
    return df["income"].clip(0, 1000).sum() + rng.laplace(scale=1000.0)


def right_select_sum(df, rng):
    return df.select(pl.col("income").clip(0, 1000).sum()).item() + rng.laplace(scale=1000.0)


def right_loop(df, rng):
    return {c: df.filter(pl.col("city") == c).height + rng.laplace(scale=1.0) for c in CITIES}


def right_group_by_join_fill(df, rng):
    g = df.group_by("city").agg(pl.len().alias("n"))
    base = pl.DataFrame({"city": CITIES})
    n = base.join(g, on="city", how="left").with_columns(pl.col("n").fill_null(0))
    return n["n"].to_numpy() + rng.laplace(scale=1.0, size=3)


def right_group_by_join_select(df, rng):
    g = df.group_by("city").agg(n=pl.len(), s=pl.col("income").sum())
    t = pl.DataFrame({"city": CITIES}).join(g, on="city", how="left", maintain_order="left").fill_null(0)
    return t["n"].to_numpy() + rng.laplace(scale=2.0, size=3), t["s"].to_numpy() + rng.laplace(scale=400000.0, size=3)


def right_group_by_two(df, rng):
    base = pl.DataFrame({"city": [c for c in CITIES for _ in SEXES], "sex": SEXES * 3})
    g = df.group_by(["city", "sex"]).agg(pl.len().alias("n"))
    t = base.join(g, on=["city", "sex"], how="left").fill_null(0)
    return t["n"].to_numpy() + rng.laplace(scale=1.0, size=6)


def right_group_by_len(df, rng):
    g = df.group_by("city").len()
    t = pl.DataFrame({"city": CITIES}).join(g, on="city", how="left").fill_null(0)
    return t["len"].to_numpy() + rng.laplace(scale=1.0, size=3)


def right_value_counts(df, rng):
    g = df["city"].value_counts()
    t = pl.DataFrame({"city": CITIES}).join(g, on="city", how="left").fill_null(0)
    return t["count"].to_numpy() + rng.laplace(scale=1.0, size=3)


def right_lazy(df, rng):
    q = df.lazy().filter(pl.col("age") >= 18).select(pl.len()).collect().item()
    return q + rng.laplace(scale=1.0)


def right_is_in(df, rng):
    return df.filter(pl.col("city").is_in(["Oslo"])).height + rng.laplace(scale=1.0)


def right_is_between(df, rng):
    return df.select(pl.col("age").is_between(18, 65).sum()).item() + rng.laplace(scale=1.0)


def right_when(df, rng):
    s = df.select(pl.when(pl.col("age") > 50).then(pl.col("income")).otherwise(0.0).sum()).item()
    return s + rng.laplace(scale=200000.0)


def right_cut(df, rng):
    b = df.with_columns(band=pl.col("age").cut([18, 40, 65], labels=["a", "b", "c", "d"]))
    return [b.filter(pl.col("band") == l).height + rng.laplace(scale=1.0) for l in "abcd"]


def right_series_cut(df, rng):
    b = df["age"].cut([18, 40, 65], labels=["a", "b", "c", "d"])
    return [(b == l).sum() + rng.laplace(scale=1.0) for l in "abcd"]


def right_hist_numpy(df, rng):
    h, _ = np.histogram(df["age"].to_numpy(), bins=10, range=(0, 100))
    return h + rng.laplace(scale=1.0, size=10)


def right_fill(df, rng):
    return df["score"].fill_null(0).fill_nan(0).sum() + rng.laplace(scale=10.0)


def right_replace_strict(df, rng):
    k = df["city"].replace_strict({"Bonn": 0, "Oslo": 1, "Rome": 2}, return_dtype=pl.Int64)
    return np.bincount(k.to_numpy(), minlength=3) + rng.laplace(scale=1.0, size=3)


def right_two_stats(df, rng):
    t = df.select(n=pl.len(), s=pl.col("age").sum())
    return t["n"].item() + rng.laplace(scale=2.0), t["s"].item() + rng.laplace(scale=200.0)


def right_row(df, rng):
    n, s = df.select(pl.len(), pl.col("age").sum().alias("s")).row(0)
    return n + rng.laplace(scale=2.0), s + rng.laplace(scale=200.0)


def right_bool(df, rng):
    return df["smoker"].sum() + rng.laplace(scale=1.0)


def right_expr_filter(df, rng):
    return df.select(pl.col("income").filter(pl.col("sex") == "f").sum()).item() + rng.laplace(scale=200000.0)


def right_mean_ratio(df, rng):
    n = df.height + rng.laplace(scale=2.0)
    s = df["age"].sum() + rng.laplace(scale=200.0)
    return s / max(n, 1.0)


def right_with_columns(df, rng):
    d = df.with_columns((pl.col("income") / 1000).clip(0, 50).alias("k"))
    return d["k"].sum() + rng.laplace(scale=50.0)


def right_floordiv(df, rng):
    d = df.select((pl.col("age") // 10).clip(0, 9).alias("d"))["d"]
    return np.bincount(d.to_numpy(), minlength=10) + rng.laplace(scale=1.0, size=10)


def right_null_count(df, rng):
    return df["city"].is_not_null().sum() + rng.laplace(scale=1.0)


def right_n_expr(df, rng):
    return df.select(pl.len()).item() + rng.laplace(scale=1.0)


def right_count(df, rng):
    return df.select(pl.col("age").count()).item() + rng.laplace(scale=1.0)


def right_partition(df, rng):
    out = []
    for lo, hi in [(0, 18), (18, 65), (65, 101)]:
        out.append(
            df.filter((pl.col("age") >= lo) & (pl.col("age") < hi))["income"].sum() + rng.laplace(scale=200000.0)
        )
    return out


def right_hist_list(df, rng):
    counts = np.array([df.filter(pl.col("city") == c).height for c in CITIES])
    return counts + rng.laplace(scale=1.0, size=3)


def right_pl_len_filter(df, rng):
    return df.filter(pl.col("city") == "Oslo", pl.col("age") > 3).select(pl.len()).item() + rng.laplace(scale=1.0)


def right_sum_horizontal(df, rng):
    return df.select((pl.col("age") > 50).sum().alias("a"), (pl.col("age") <= 50).sum().alias("b")).to_numpy()[
        0
    ] + rng.laplace(scale=1.0, size=2)


def right_group_by_in_order(df, rng):
    counts = df.filter(pl.col("smoker")).group_by("city").agg(pl.len().alias("n"))
    out = pl.DataFrame({"city": CITIES}).join(counts, on="city", how="left", maintain_order="left")
    return out.with_columns(pl.col("n").fill_null(0))["n"].to_numpy() + rng.laplace(scale=1.0, size=3)


def right_group_by_sorted(df, rng):
    g = df.group_by("city").agg(total=pl.col("income").clip(0, 100_000).sum(), n=pl.len())
    t = pl.DataFrame({"city": CITIES}).join(g, on="city", how="left").fill_null(0).sort("city")
    totals = t["total"].to_numpy() + rng.laplace(scale=200_000.0, size=3)
    return totals, t["n"].to_numpy() + rng.laplace(scale=2.0, size=3)


def right_group_by_lazy(df, rng):
    g = df.lazy().group_by("city", "sex").agg(n=pl.len())
    base = pl.LazyFrame({"city": [c for c in CITIES for _ in SEXES], "sex": SEXES * 3})
    t = base.join(g, on=["city", "sex"], how="left", maintain_order="left").collect().fill_null(0)
    return {(c, s): n + rng.laplace(scale=1.0) for c, s, n in t.iter_rows()}


def right_months(df, rng):
    return [df.filter(pl.col("visit").dt.month() == m).height + rng.laplace(scale=1.0) for m in range(1, 13)]


def right_dates_between(df, rng):
    spring = pl.col("visit").is_between(pl.date(2024, 3, 1), pl.date(2024, 5, 31))
    return df.lazy().filter(spring).select(pl.len()).collect().item() + rng.laplace(scale=1.0)


# wrong
def wrong_group_by_other_keys(df, rng):
    g = df.group_by("city").agg(s=pl.col("income").sum())
    t = pl.DataFrame({"city": CITIES}).join(g, on="city", how="left", maintain_order="left").fill_null(0)
    return t["s"].to_numpy() + rng.laplace(scale=1000.0, size=3)


def wrong_group_by_wraps(df, rng):
    g = df.group_by("city").len()
    t = pl.DataFrame({"city": CITIES}).join(g, on="city", how="left", maintain_order="left").fill_null(0)
    return (t["len"].to_numpy() - 10) + rng.laplace(scale=1.0, size=3)


def wrong_first_visit(df, rng):
    return df["visit"].min()


def wrong_month_counts(df, rng):
    months = df.select(pl.col("visit").dt.month().alias("m"))["m"].value_counts()
    return months["count"].to_numpy() + rng.laplace(scale=1.0, size=12)


def wrong_half_years(df, rng):
    early = df.filter(pl.col("visit") < pl.date(2024, 7, 1)).height + rng.laplace(scale=1.0)
    return early, df.filter(pl.col("visit").dt.month() > 0).height + rng.laplace(scale=1.0)


def wrong_group_by_plain(df, rng):
    g = df.group_by("city").agg(pl.len().alias("n"))
    return g["n"].to_numpy() + rng.laplace(scale=1.0, size=3)


def wrong_group_by_sort(df, rng):
    g = df.group_by("city").len().sort("city")
    return g["len"].to_numpy() + rng.laplace(scale=1.0, size=3)


def wrong_group_by_iter(df, rng):
    return {k: len(g) + rng.laplace(scale=1.0) for k, g in df.group_by("city")}


def wrong_group_by_inner(df, rng):
    g = df.group_by("city").len()
    t = pl.DataFrame({"city": CITIES}).join(g, on="city", how="inner")
    return t["len"].to_numpy() + rng.laplace(scale=1.0, size=t.height)


def wrong_group_by_null(df, rng):
    g = df.group_by("city").len()
    t = pl.DataFrame({"city": CITIES}).join(g, on="city", how="left")
    return t["len"].to_numpy() + rng.laplace(scale=1.0, size=3)


def wrong_group_by_mean(df, rng):
    g = df.group_by("city").agg(pl.col("income").mean())
    t = pl.DataFrame({"city": CITIES}).join(g, on="city", how="left").fill_null(0)
    return t["income"].to_numpy() + rng.laplace(scale=200000.0, size=3)


def wrong_group_by_scale(df, rng):
    g = df.group_by("city").agg(pl.col("income").sum())
    t = pl.DataFrame({"city": CITIES}).join(g, on="city", how="left").fill_null(0)
    return t["income"].to_numpy() + rng.laplace(scale=100.0, size=3)


def wrong_group_by_dup(df, rng):
    g = df.group_by("city").len()
    t = pl.DataFrame({"city": CITIES + ["Oslo"]}).join(g, on="city", how="left").fill_null(0)
    return t["len"].to_numpy() + rng.laplace(scale=1.0, size=4)


def wrong_group_by_fill_one(df, rng):
    g = df.group_by("city").len()
    t = pl.DataFrame({"city": CITIES}).join(g, on="city", how="left").fill_null(5)
    return t["len"].to_numpy() + rng.laplace(scale=1.0, size=3)


def wrong_over(df, rng):
    d = df.with_columns(n=pl.len().over("city"))
    return d.filter(pl.col("n") > 5).height + rng.laplace(scale=1.0)


def wrong_two(df, rng):
    a = df.height + rng.laplace(scale=1.0)
    return a, df["age"].sum() + rng.laplace(scale=100.0)


def wrong_cut_breaks(df, rng):
    b = df["age"].qcut(4)
    return b.value_counts()["count"].to_numpy() + rng.laplace(scale=1.0, size=4)


def wrong_max(df, rng):
    return df["age"].max() + rng.laplace(scale=1.0)


def wrong_median(df, rng):
    return df["age"].median() + rng.laplace(scale=1.0)


def wrong_unique(df, rng):
    return [df.filter(pl.col("city") == c).height + rng.laplace(scale=1.0) for c in df["city"].unique()]


def wrong_n_unique(df, rng):
    return df["city"].n_unique() + rng.laplace(scale=0.1)


def wrong_null(df, rng):
    return df["score"].sum() + rng.laplace(scale=10.0)


def wrong_int_sum_small(df, rng):
    return df["age"].cast(pl.Int8).sum() + rng.laplace(scale=100.0)


def wrong_head(df, rng):
    return df.head(5)["age"].sum() + rng.laplace(scale=100.0)


def wrong_sample(df, rng):
    return df.sample(10)["age"].sum() + rng.laplace(scale=100.0)


def wrong_counts_wrap(df, rng):
    return df.select((pl.col("age") > 50).sum()).to_numpy()[0] - 5 + rng.laplace(scale=1.0, size=1)
