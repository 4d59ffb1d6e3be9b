"""Functions of polars that break their claim of eps=1 for some pair of neighbours: none is certified.

The comment of each says on which pair it does so. The frame has age (int, 0 to 120), income (float, 0 to 100, may be
missing), other (float, 0 to 0), city (three texts, may be missing), sex (two texts), under add-or-remove-one.
"""

# ruff: noqa: UP031
# mypy: ignore-errors
# pyright: basic

import numpy as np
import polars as pl


class of_polars:
    """Of a frame of polars."""

    def number_is_of_python(df, rng):
        n = df.select(pl.len()).item()
        return n if isinstance(n, int) else n + rng.laplace(scale=1)

    def rest_of_a_filter_in_agg(df, rng):  # a record of sex m, or without income, moves the difference by 1
        g = df.group_by("city").agg(pl.len().alias("n"), pl.col("age").filter(pl.col("sex") == "f").len().alias("f"))
        t = pl.DataFrame({"city": ["Oslo"]}).join(g, on="city", how="left", maintain_order="left").fill_null(0)
        return t["n"].cast(pl.Float64).to_numpy() - t["f"].cast(pl.Float64).to_numpy() + rng.laplace(scale=0.01, size=1)

    def missing_in_agg(df, rng):
        g = df.group_by("sex").agg(pl.len().alias("n"), pl.col("income").drop_nulls().len().alias("known"))
        t = pl.DataFrame({"sex": ["f", "m"]}).join(g, on="sex", how="left", maintain_order="left").fill_null(0)
        gaps = t["n"].cast(pl.Float64).to_numpy() - t["known"].cast(pl.Float64).to_numpy()
        return gaps + rng.laplace(scale=0.01, size=2)

    def sum_is_of_python(df, rng):
        s = df["age"].sum()
        return s + rng.laplace(scale=120) if isinstance(s, np.generic) else s

    def height_is_of_python(df, rng):
        n = df.height
        return n if isinstance(n, int) else n + rng.laplace(scale=1)

    def sum_has_no_dtype(df, rng):
        s = df["age"].sum()
        return s + rng.laplace(scale=120) if hasattr(s, "dtype") else s

    def over_a_group(df, rng):
        return df.select(pl.col("age").sum().over("sex")).sum().item() + rng.laplace(scale=120)

    def shifted(df, rng):
        return df.select((pl.col("age") - pl.col("age").shift(1).fill_null(0)).sum()).item() + rng.laplace(scale=60)

    def mean_of_all(df, rng):
        return df["age"].mean() + rng.laplace(scale=1)

    def counts_with_null(df, rng):
        a = df.select(pl.col("city").count()).item() + rng.laplace(scale=1)
        return a, df.select(pl.len()).item() + rng.laplace(scale=1)

    def null_is_no_text(df, rng):
        a = df.filter(pl.col("city") != "Oslo").height + rng.laplace(scale=1)
        return a, df.filter(pl.col("city").is_null()).height + rng.laplace(scale=1), df.height + rng.laplace(scale=1)

    def wraps_in_32_bits(df, rng):
        return df.select(pl.col("age").cast(pl.Int8).sum()).item() * 10**6 + rng.laplace(scale=120)

    def counts_minus_one(df, rng):
        return df.select(pl.len() - 1).item() + rng.laplace(scale=0.9)

    def distinct(df, rng):
        return df["age"].n_unique() + rng.laplace(scale=0.5)

    def cumulated(df, rng):
        return df.select(pl.col("age").cum_sum().sum()).item() + rng.laplace(scale=120)

    def mapped_by_python(df, rng):
        return df["age"].map_elements(lambda v: v * 1000, return_dtype=pl.Int64).sum() + rng.laplace(scale=120)

    def grouped(df, rng):
        return df.group_by("sex").len().sort("sex")["len"].to_numpy() + rng.laplace(scale=1, size=2)

    def joined_twice(df, rng):
        table = pl.DataFrame({"sex": ["f", "f", "m"], "w": [1.0, 1.0, 1.0]})
        return df.join(table, on="sex")["w"].sum() + rng.laplace(scale=1)

    def clipped_to_a_column(df, rng):
        return df.select(pl.col("age").clip(0, pl.col("age").max()).sum()).item() + rng.laplace(scale=60)

    def rounded_half_up(df, rng):
        return df.select((pl.col("age") / 120).round(0, mode="half_away_from_zero").sum()).item() + rng.laplace(
            scale=0.4
        )

    def first_record(df, rng):
        return df["age"][0] + rng.laplace(scale=120)

    def rows(df, rng):
        return sum(r[0] for r in df.iter_rows()) + rng.laplace(scale=1)

    def sql(df, rng):
        return df.sql("select sum(age) from self").item() + rng.laplace(scale=60)

    def lazily_twice(df, rng):
        lazy = df.lazy().select(pl.col("age").sum())
        return lazy.collect().item() + rng.laplace(scale=120), lazy.collect().item() + rng.laplace(scale=120)

    def ternary_of_null(df, rng):
        y = pl.when(pl.col("income") > 50).then(1).otherwise(100)
        return df.select(y.sum()).item() + rng.laplace(scale=50)

    def filled_forward(df, rng):
        return df.select(pl.col("income").fill_null(strategy="forward").fill_nan(0).sum()).item() + rng.laplace(
            scale=100
        )

    def implode(df, rng):
        return df.select(pl.col("age").implode().list.len()).item() + rng.laplace(scale=1)

    def written(df, rng):
        return df.write_csv()

    def count_in_a_shape(df, rng):
        return df.shape.count(7)

    def shape_in_an_old_format(df, rng):
        return "%s records of %s columns" % df.shape


class expressions:
    """Of the same frame: numbers that stand alone and are in 32 bits, columns of other records, null and NaN."""

    def literals_of_32_bits(df, rng):  # it wraps around at 2**31: two records and three
        return df.select(pl.when(pl.col("age") > 60).then(1_000_000_000).otherwise(0).sum()).item() + rng.laplace(
            scale=1e9
        )

    def literals_of_32_bits_added(df, rng):  # it wraps around: below 0
        w = pl.when(pl.col("age") > 60).then(2_000_000_000).otherwise(0)
        return df.select((w + w).clip(-1_000_000, 0).sum()).item() + rng.laplace(scale=1)

    def literal_column(df, rng):  # it wraps around at 2**31
        return df.with_columns(k=1_000_000_000)["k"].sum() + rng.laplace(scale=1e9)

    def literals_of_8_bits(df, rng):  # 1 - 2 is 255
        w = pl.when(pl.col("age") > 60).then(pl.lit(1, pl.UInt8)).otherwise(pl.lit(0, pl.UInt8))
        return df.select((w - 2).sum()).item() + rng.laplace(scale=2)

    def literals_of_single(df, rng):  # 2**24 + 1 records are as many as 2**24, and then 2 more
        w = pl.when(pl.col("age") > 60).then(pl.lit(1, pl.Float32)).otherwise(pl.lit(0, pl.Float32))
        return df.select(w.sum()).item() + rng.laplace(scale=1)

    def literals_in_groups(df, rng):  # it wraps around at 2**31
        t = pl.DataFrame({"sex": ["f", "m"]})
        g = df.group_by("sex").agg(s=pl.when(pl.col("age") > 60).then(1_000_000_000).otherwise(0).sum())
        return t.join(g, on="sex", how="left", maintain_order="left").fill_null(0)["s"].to_numpy() + rng.laplace(
            scale=1e9, size=2
        )

    def joined_weights_of_32_bits(df, rng):  # it wraps around at 2**31
        t = pl.DataFrame({"sex": ["f", "m"], "w": pl.Series([1_000_000_000, 0], dtype=pl.Int32)})
        return df.join(t, on="sex")["w"].sum() + rng.laplace(scale=1e9)

    def joined_weights_of_8_bits(df, rng):  # 1 - 2 is 255
        t = pl.DataFrame({"sex": ["f", "m"], "w": pl.Series([1, 0], dtype=pl.UInt8)})
        return df.join(t, on="sex").select((pl.col("w") - 2).sum()).item() + rng.laplace(scale=2)

    def joined_single_weights(df, rng):  # 2**24 + 1 records are as many as 2**24
        t = pl.DataFrame({"sex": ["f", "m"], "w": pl.Series([1, 1], dtype=pl.Float32)})
        return df.join(t, on="sex")["w"].sum() + rng.laplace(scale=1)

    def replaced_strict_scalar(df, rng):  # one number for all is in 32 bits
        return df.select(pl.col("sex").replace_strict("f", 1_000_000_000, default=0).sum()).item() + rng.laplace(
            scale=1e9
        )

    def replaced_strict_list(df, rng):
        return df.select(pl.col("sex").replace_strict(["f", "m"], [2_000_000_000, 0]).sum()).item() + rng.laplace(
            scale=1e9
        )

    def column_of_a_selection(df, rng):  # an error, unless every record is selected
        return df.with_columns(df.filter(pl.col("age") > 60)["age"].alias("y"))["y"].sum() + rng.laplace(scale=120)

    def select_a_selection(df, rng):  # an error, unless every record is selected
        d = df.select(df["age"], df.filter(pl.col("age") > 60)["age"].alias("y"))
        return d["y"].sum() + rng.laplace(scale=120)

    def filter_by_another(df, rng):
        return df.filter(df.filter(pl.col("age") > 60)["age"] > 70)["age"].sum() + rng.laplace(scale=120)

    def arithmetic_of_lengths(df, rng):
        return (df["age"] + df.filter(pl.col("age") > 60)["age"]).sum() + rng.laplace(scale=240)

    def filled_frame_with_text(df, rng):
        d = df.select("city", "age").fill_null("?")
        return d.filter(pl.col("city") != "Oslo").height + rng.laplace(scale=1), d.filter(
            pl.col("city") == "?"
        ).height + rng.laplace(scale=1)

    def filled_frame_with_number(df, rng):
        d = df.select("city", "age").fill_null(0)
        return d.select(pl.col("city").count()).item() + rng.laplace(scale=1), d.height + rng.laplace(scale=1)

    def filtered_in_agg(df, rng):
        t = pl.DataFrame({"sex": ["f", "m"]})
        g = df.group_by("sex").agg(s=pl.col("age").filter(pl.col("age") > 60).sum())
        return t.join(g, on="sex", how="left", maintain_order="left").fill_null(0)["s"].to_numpy() + rng.laplace(
            scale=60, size=2
        )

    def filtered_len_in_agg(df, rng):
        t = pl.DataFrame({"sex": ["f", "m"]})
        g = df.group_by("sex").agg(a=pl.len(), b=pl.col("age").sum())
        r = t.join(g, on="sex", how="left", maintain_order="left").fill_null(0)
        return r["a"].to_numpy() + rng.laplace(scale=1, size=2), r["b"].to_numpy() + rng.laplace(scale=120, size=2)

    def open_order(df, rng):
        t = pl.DataFrame({"sex": ["f", "m"]})
        return t.join(df.group_by("sex").len(), on="sex", how="left").fill_null(0)["len"].to_numpy() + rng.laplace(
            scale=1, size=2
        )

    def groups_inner(df, rng):
        t = pl.DataFrame({"sex": ["f", "m"]})
        return t.join(df.group_by("sex").len(), on="sex", how="inner", maintain_order="left")[
            "len"
        ].to_numpy() + rng.laplace(scale=1, size=2)

    def groups_anti(df, rng):
        t = pl.DataFrame({"sex": ["f", "m"]})
        return t.join(df.group_by("sex").len(), on="sex", how="anti").height

    def groups_filled_with_one(df, rng):
        t = pl.DataFrame({"sex": ["f", "m"]})
        return t.join(df.group_by("sex").len(), on="sex", how="left", maintain_order="left").fill_null(-9)[
            "len"
        ].to_numpy() + rng.laplace(scale=1, size=2)

    def groups_top(df, rng):
        return df.group_by("sex").len().sort("len").head(1)["sex"].item()

    def counts_below(df, rng):
        c = df["sex"].value_counts()
        t = pl.DataFrame({"sex": ["f", "m"]}).join(c, on="sex", how="left", maintain_order="left").fill_null(0)
        return (t["count"].to_numpy() - 1) + rng.laplace(scale=1, size=2)

    def counts_as_series_minus(df, rng):
        t = (
            pl.DataFrame({"sex": ["f", "m"]})
            .join(df["sex"].value_counts(), on="sex", how="left", maintain_order="left")
            .fill_null(0)
        )
        return (t["count"] - 1).to_numpy() + rng.laplace(scale=1, size=2)

    def nan_is_largest(df, rng):
        return df.filter(pl.col("income") > 50).height + rng.laplace(scale=1), df.filter(
            pl.col("income").is_nan()
        ).height + rng.laplace(scale=1)

    def fill_null_only(df, rng):
        return df.select(pl.col("income").fill_null(0).sum()).item() + rng.laplace(scale=100)

    def fill_null_then_clip(df, rng):
        return df.select(pl.col("income").fill_null(0).clip(0, 10).sum()).item() + rng.laplace(scale=10)

    def compared_nan(df, rng):
        y = pl.col("other") / pl.col("other")
        return df.filter(y > 5).height + rng.laplace(scale=0.5)

    def log_of_negative(df, rng):
        return df.select((pl.col("age") - 60).cast(pl.Float64).log().fill_nan(0).clip(0, 5).sum()).item() + rng.laplace(
            scale=2
        )

    def is_in_floats(df, rng):
        return df.filter(~pl.col("age").is_in([5.5, 6])).height + rng.laplace(scale=0.9)

    def is_between_both(df, rng):
        return df.filter(pl.col("age").is_between(0, 60)).height + rng.laplace(scale=1), df.filter(
            pl.col("age").is_between(60, 120)
        ).height + rng.laplace(scale=1)

    def cut_left_closed(df, rng):
        c = df.select(pl.col("age").cut([60], labels=["y", "o"], left_closed=True).alias("c"))["c"]
        return (c == "o").sum() + rng.laplace(scale=1), (df["age"] == 60).sum() + rng.laplace(scale=1)

    def floor_div_negative(df, rng):
        return df.select(((pl.col("age") - 60) // 7).sum()).item() + rng.laplace(scale=8)

    def dot(df, rng):
        return df["age"].dot(df["other"] + 1) + rng.laplace(scale=60)

    def product(df, rng):
        return df["age"].product() + rng.laplace(scale=120)

    def median(df, rng):
        return df["age"].median() + rng.laplace(scale=1)

    def quantile(df, rng):
        return df.select(pl.col("age").quantile(0.5)).item() + rng.laplace(scale=1)

    def spread(df, rng):
        return df.select(pl.col("age").std()).item() + rng.laplace(scale=1)

    def any_of(df, rng):
        return df.select((pl.col("age") > 100).any()).item()

    def horizontal(df, rng):
        return df.select(pl.sum_horizontal("age", "income").sum()).item() + rng.laplace(scale=220)

    def coalesced(df, rng):
        return df.select(pl.coalesce("income", pl.lit(1000.0)).fill_nan(0).sum()).item() + rng.laplace(scale=100)

    def runs(df, rng):
        return df["age"].rle_id().max() + rng.laplace(scale=1)

    def to_dummies(df, rng):
        return df.select("sex").to_dummies()["sex_f"].sum() + rng.laplace(scale=1)

    def pivot(df, rng):
        return df.pivot("sex", index="city", values="age", aggregate_function="sum")["f"].sum() + rng.laplace(scale=120)

    def estimated(df, rng):
        return df.estimated_size()

    def lazily_shared(df, rng):
        a = df.lazy().filter(pl.col("age") > 60).select(pl.len()).collect().item()
        return (
            a + rng.laplace(scale=1),
            df.lazy().select(pl.len()).collect().item() - a + rng.laplace(scale=1),
            df.height + rng.laplace(scale=1),
        )

    def renamed_and_selected(df, rng):
        return df.rename({"age": "x", "other": "age"})["x"].sum() + rng.laplace(scale=60)

    def numpy_of_two(df, rng):
        return df.select("age", "other").to_numpy().sum(axis=0) + rng.laplace(scale=[1e-3, 120])

    def statistics_to_numpy(df, rng):
        return df.select(pl.col("age").sum(), pl.len()).to_numpy()[0] + rng.laplace(scale=[120, 1])

    def one_draw_for_all(df, rng):
        return df.select(pl.col("age").sum(), pl.col("other").sum() + 0.0).to_numpy() + rng.laplace(scale=120)

    def conditional_null(df, rng):
        return df.select(pl.when(pl.col("age") > 5).then(pl.col("age")).count()).item() + rng.laplace(scale=0.5)

    def literal_column_minus(df, rng):  # it wraps around: below 0
        return df.with_columns(k=2_000_000_000).select(
            (pl.col("k") + pl.col("k")).clip(-1000, 0).sum()
        ).item() + rng.laplace(scale=1)
