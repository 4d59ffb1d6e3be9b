"""Functions of pandas that break their claim of eps=1 for some pair of neighbours: none is certified.

The comment of each says on which pair it does so. The frame has age (int, 0 to 120), income (float, 0 to 100, may be
missing), other (float, 0 to 0), city (three texts, may be missing), sex (two texts), under add-or-remove-one.
"""

# ruff: noqa: B905, F841, UP031
# mypy: ignore-errors
# pyright: basic

import collections

import numpy as np
import pandas as pd

CITIES = ["Bonn", "Oslo", "Rome"]


class of_pandas:
    """Of a frame of pandas."""

    def strings_of_numbers(df, rng):
        a = (df.age.astype(str) == "5").sum() + rng.laplace(scale=1)  # a record of age 5 is in both
        return a, (df.age == 5).sum() + rng.laplace(scale=1)

    def strings_are_never_missing(df, rng):
        a = df.income.astype(str).notna().sum() + rng.laplace(scale=1)
        return a, df.income.isna().sum() + rng.laplace(scale=1)

    def strings_of_missing_texts(df, rng):
        a = (df.city.astype(str) == "nan").sum() + (df.city.astype(str) == "None").sum() + rng.laplace(scale=1)
        return a, df.city.isna().sum() + rng.laplace(scale=1)

    def string_dtype(df, rng):
        a = (df.age.astype("string") == "5").sum() + rng.laplace(scale=1)
        return a, (df.age == 5).sum() + rng.laplace(scale=1)

    def frame_of_strings(df, rng):
        a = (df.astype({"age": str})["age"] == "5").sum() + rng.laplace(scale=1)
        return a, (df.age == 5).sum() + rng.laplace(scale=1)

    def map_with_a_default(df, rng):
        table = collections.defaultdict(lambda: 1000.0, {"f": 1.0})
        return df.sex.map(table).fillna(0).sum() + rng.laplace(scale=1)

    def map_of_a_gap(df, rng):
        return df.city.map({"Bonn": 1, "Oslo": 1, "Rome": 1, np.nan: 1000, None: 1000}).fillna(0).sum() + rng.laplace()

    def mean_along_the_row(df, rng):
        return df[["age", "other"]].mean(axis=1).sum() + rng.laplace(scale=50)

    def mean_along_the_row_with_gaps(df, rng):
        y = df[["income", "other"]].mean(axis=1).fillna(0)  # without income the mean is of other alone
        return y.sum() + rng.laplace(scale=50)

    def mean_along_the_row_without_the_smaller(df, rng):
        y = df.assign(low=df.age * 0).loc[:, ["income", "low"]].mean(axis=1).fillna(100.0)
        return y.sum() + rng.laplace(scale=40)

    def count_along_the_row(df, rng):
        return df.count(axis=1).iloc[0] + rng.laplace(scale=1)

    def sum_that_a_gap_takes(df, rng):
        return df[["income"]].sum(skipna=False) + rng.laplace(scale=100, size=1)

    def sum_of_at_least_many(df, rng):
        return df[["age"]].sum(min_count=5) + rng.laplace(scale=120, size=1)

    def shallow_copy(df, rng):
        d = df.copy(deep=False)
        d.loc[d.age > 50, "age"] = 10**6
        return df.age.sum() + rng.laplace(scale=120)

    def shallow_astype(df, rng):
        d = df.copy()
        e = d.astype({"age": "int64"}, copy=False)
        e.loc[e.age > 50, "age"] = 10**6
        return d.age.sum() + rng.laplace(scale=120)

    def shallow_copy_of_a_column(df, rng):
        s = df.age.copy(deep=False)
        v = s.to_numpy()
        v[v > 50] = 10**6
        return df.age.sum() + rng.laplace(scale=120)

    def all_of_loc(df, rng):
        d = df.copy()
        e = d.loc[:]
        e["age"] = 0
        return d.age.sum() + rng.laplace(scale=0.01)

    def all_columns_of_loc(df, rng):
        d = df.copy()
        e = d.loc[:, :]
        e["age"] = 0
        return d.age.sum() + rng.laplace(scale=0.01)

    def values_of_a_frame(df, rng):
        d = df[["age"]].copy()
        v = d.values
        v *= 1000
        return d.age.sum() + rng.laplace(scale=120)

    def values_of_a_frame_that_is_changed(df, rng):
        d = df[["age"]].copy()
        v = d.to_numpy()
        d.loc[d.age > 50, "age"] = 10**6
        return v[:, 0].sum() + rng.laplace(scale=120)

    def rename_by_data(df, rng):
        raw = df.age.sum()
        n = df.sex.value_counts().reindex(["f", "m"], fill_value=0)
        return n.rename(lambda label: raw) + rng.laplace(scale=1, size=2)

    def rename_of_what_is_noisy(df, rng):
        raw = df.age.sum()
        n = df.sex.value_counts().reindex(["f", "m"], fill_value=0) + rng.laplace(scale=1, size=2)
        return n.rename(lambda label: raw)

    def default_of_get(df, rng):
        n = df.sex.value_counts().reindex(["f", "m"], fill_value=0) + rng.laplace(scale=1, size=2)
        return n.get("other", df.age.sum())

    def default_of_a_dictionary(df, rng):
        n = df.sex.value_counts().reindex(["f", "m"], fill_value=0) + rng.laplace(scale=1, size=2)
        return n.to_dict().get("other", df.age.sum())

    def set_in_a_dictionary(df, rng):
        n = (df.sex.value_counts().reindex(["f", "m"], fill_value=0) + rng.laplace(scale=1, size=2)).to_dict()
        n["raw"] = {"inner": df.age.sum()}
        return n

    def updated_dictionary(df, rng):
        n = (df.sex.value_counts().reindex(["f", "m"], fill_value=0) + rng.laplace(scale=1, size=2)).to_dict()
        n.update(raw=[df.age.sum()])
        return n

    def apply_with_data(df, rng):
        raw = df.age.sum()
        n = df.sex.value_counts().reindex(["f", "m"], fill_value=0) + rng.laplace(scale=1, size=2)
        return n.apply(lambda v: raw)

    def apply_that_decides(df, rng):
        raw = df.age.sum()
        n = df.sex.value_counts().reindex(["f", "m"], fill_value=0) + rng.laplace(scale=1, size=2)
        return n.apply(lambda v: v if v < 1e6 else raw)

    def map_that_decides(df, rng):
        raw = df.age.sum()
        n = df.sex.value_counts().reindex(["f", "m"], fill_value=0) + rng.laplace(scale=1, size=2)
        return n.map({1e6: raw})

    def where_with_data(df, rng):
        raw = df.age.sum()
        n = df.sex.value_counts().reindex(["f", "m"], fill_value=0) + rng.laplace(scale=1, size=2)
        return n.where(n < 1e6, raw)

    def pipe_with_data(df, rng):
        raw = df.age.sum()
        n = df.sex.value_counts().reindex(["f", "m"], fill_value=0) + rng.laplace(scale=1, size=2)
        return n.pipe(lambda v: raw)

    def combined_with_data(df, rng):
        n = df.sex.value_counts().reindex(["f", "m"], fill_value=0)
        noisy = n + rng.laplace(scale=1, size=2)
        return noisy.combine(n, lambda a, b: b)

    def mask_that_selects_labels(df, rng):
        n = df.sex.value_counts().reindex(["f", "m"], fill_value=0) + rng.laplace(scale=1, size=2)
        return [n, *(df.age.sum() for _ in n[n > 1e6].items())]

    def labels_above_a_threshold(df, rng):
        n = df.sex.value_counts().reindex(["f", "m"], fill_value=0) + rng.laplace(scale=1, size=2)
        return n, {c: df[df.sex == c].age.sum() for c in n[n > 1e6].index}

    def labels_by_dropna(df, rng):
        n = df.sex.value_counts().reindex(["f", "m"], fill_value=0) + rng.laplace(scale=1, size=2)
        return n, {c: df[df.sex == c].age.sum() for c in n.where(n > 1e6).dropna().index}

    def length_of_selected_labels(df, rng):
        n = df.sex.value_counts().reindex(["f", "m"], fill_value=0) + rng.laplace(scale=1, size=2)
        return n, df.age.clip(0, 1 + 1000 * len(n[n > 1e6])).sum() + rng.laplace(scale=1)

    def counts_are_a_series(df, rng):
        n = df.sex.value_counts()
        if isinstance(n, pd.Series):
            return df.age.sum()
        return n.reindex(["f", "m"], fill_value=0) + rng.laplace(scale=1, size=2)

    def groups_are_groups(df, rng):
        g = df.groupby("sex")
        return df.age.sum() if isinstance(g, pd.core.groupby.DataFrameGroupBy) else rng.laplace(scale=1)

    def dictionary_of_counts(df, rng):
        n = df.sex.value_counts().to_dict()
        return df.age.sum() if isinstance(n, dict) else n.get("f", 0) + rng.laplace(scale=1)

    def unfilled_is_a_series(df, rng):
        n = df.sex.value_counts().reindex(["f", "m"])
        return df.age.sum() if isinstance(n, pd.Series) else n.fillna(0) + rng.laplace(scale=1, size=2)

    def cross_table_is_a_frame(df, rng):
        n = pd.crosstab(df.sex, df.city)
        return df.age.sum() if isinstance(n, pd.DataFrame) else rng.laplace(scale=1)

    def index_is_an_index(df, rng):
        return len(df.index) if isinstance(df.index, pd.Index) else df.age.sum() + rng.laplace(scale=120)

    def length_by_pandas(df, rng):
        n = len(df)
        return n if pd.api.types.is_integer(n) else n + rng.laplace(scale=1)

    def scalar_by_pandas(df, rng):
        s = df.age.sum()
        return s if pd.api.types.is_number(s) else s + rng.laplace(scale=120)

    def column_is_list_like(df, rng):
        return df.age.sum() + (0.0 if pd.api.types.is_list_like(df.age) else rng.laplace(scale=120))

    def float_by_pandas(df, rng):
        s = float(df.age.sum())
        return s if pd.api.types.is_float(s) else s + rng.laplace(scale=120)

    def inplace_fill(df, rng):
        d = df.copy()
        d["income"].fillna(10**6, inplace=True)
        return d["income"].clip(0, 100).fillna(0).sum() + rng.laplace(scale=50)

    def inplace_query(df, rng):
        d = df.copy()
        d.query("age > 50", inplace=True)
        return (d.age <= 50).sum() + rng.laplace(scale=0.1)

    def inplace_replace(df, rng):
        d = df.copy()
        d["age"].replace({5: 10**6}, inplace=True)
        return d["age"].sum() + rng.laplace(scale=60)

    def dropped_in_place(df, rng):
        d = df.copy()
        d.dropna(inplace=True)
        return d.age.sum() + rng.laplace(scale=60)

    def evaluated(df, rng):
        return df.eval("age * 1000").sum() + rng.laplace(scale=120)

    def query_with_a_statistic(df, rng):
        m = df.age.sum()
        return df.query("age == @m").shape[0] + rng.laplace(scale=1)

    def query_of_a_list(df, rng):
        a = df.query("age == [5, 6]").shape[0] + rng.laplace(scale=1)
        return a, (df.age == 5).sum() + rng.laplace(scale=1)

    def query_by_bits(df, rng):
        return df.query("age & 64").shape[0] * 1000 + rng.laplace(scale=1)

    def merged_on_the_right(df, rng):
        table = pd.DataFrame({"sex": ["f", "m"], "w": [1.0, 1.0]})
        return df.merge(table, how="right", on="sex")["w"].sum() + rng.laplace(scale=0.5)

    def merged_crosswise(df, rng):
        table = pd.DataFrame({"w": [1.0, 1.0]})
        return df.merge(table, how="cross")["w"].sum() + rng.laplace(scale=1)

    def merged_with_a_large_weight(df, rng):
        table = pd.DataFrame({"sex": ["f", "m"], "w": [1.0, 50.0]})
        return df.merge(table, on="sex")["w"].sum() + rng.laplace(scale=1)

    def joined_with_itself(df, rng):
        return df.join(df, rsuffix="_").age_.sum() + rng.laplace(scale=60)

    def cumulated(df, rng):
        return df.age.cumsum().sum() + rng.laplace(scale=120)

    def rolling(df, rng):
        return df.age.rolling(2).sum().fillna(0).sum() + rng.laplace(scale=120)

    def ranked_in_groups(df, rng):
        return df.groupby("sex").age.rank().sum() + rng.laplace(scale=1)

    def transformed(df, rng):
        return (df.age - df.groupby("sex").age.transform("sum")).abs().sum() + rng.laplace(scale=120)

    def observed_groups(df, rng):
        return df.groupby("sex", observed=False).size().reindex(["f", "m"], fill_value=5) + rng.laplace(size=2)

    def groups_with_gaps(df, rng):
        n = df.groupby("city", dropna=False).size().reindex([*CITIES, np.nan], fill_value=0)
        return n + rng.laplace(scale=0.5, size=4)

    def counts_of_gaps(df, rng):
        n = df.city.value_counts(dropna=False).reindex(CITIES, fill_value=0)
        return n + rng.laplace(scale=1, size=3), df.city.notna().sum() + rng.laplace(scale=1)

    def normalized_counts(df, rng):
        return df.sex.value_counts(normalize=True).reindex(["f", "m"], fill_value=0) + rng.laplace(scale=0.1, size=2)

    def reindexed_twice(df, rng):
        n = df.sex.value_counts().reindex(["f", "m", "f"], fill_value=0)
        return n + rng.laplace(scale=1, size=3)

    def unknown_category(df, rng):
        n = df.sex.astype(pd.CategoricalDtype(["f"])).value_counts(sort=False)
        return n + rng.laplace(scale=0.5, size=1)

    def reindexed_like(df, rng):
        n = df.sex.value_counts().reindex_like(pd.Series([0, 0], index=["f", "m"])).fillna(0)
        return n + rng.laplace(scale=0.5, size=2)

    def intervals_that_overlap(df, rng):
        bins = pd.IntervalIndex.from_tuples([(0, 60), (50, 120)])
        return pd.cut(df.age, bins).value_counts(sort=False) + rng.laplace(scale=1, size=2)

    def intervals_closed_otherwise(df, rng):
        a = (pd.cut(df.age, [0, 50, 121], labels=["y", "o"], right=False) == "o").sum() + rng.laplace(scale=1)
        return a, (pd.cut(df.age, [-1, 50, 121], labels=["y", "o"]) == "y").sum() + rng.laplace(scale=1)

    def quantile_cut(df, rng):
        return pd.qcut(df.age, 2, labels=False).sum() + rng.laplace(scale=1)

    def numbers_by_force(df, rng):
        return pd.to_numeric(df.city, errors="coerce").isna().sum() * 10 + rng.laplace(scale=1)

    def factorized(df, rng):
        return pd.factorize(df.city)[0].sum() + rng.laplace(scale=2)

    def hashed(df, rng):
        return pd.util.hash_pandas_object(df).sum()

    def sampled_by_a_state(df, rng):
        return df.sample(1, random_state=0).age.sum() + rng.laplace(scale=1)

    def set_by_position(df, rng):
        d = df.copy()
        d.iloc[0, 0] = 10**6
        return d.age.sum() + rng.laplace(scale=120)

    def text_length(df, rng):
        return df.city.str.len().fillna(100).sum() + rng.laplace(scale=4)

    def memory(df, rng):
        return df.memory_usage().sum() + rng.laplace(scale=1)

    def as_records(df, rng):
        return len(df.to_dict("records")) + rng.laplace(scale=0.5)

    def noise_in_a_series(df, rng):
        n = df.sex.value_counts().reindex(["f", "m"], fill_value=0)
        return n + pd.Series(rng.laplace(scale=0.5, size=2), index=["f", "m"])

    def noise_with_other_labels(df, rng):
        n = df.sex.value_counts().reindex(["f", "m"], fill_value=0)
        z = pd.Series(rng.laplace(scale=1, size=2), index=["f", "x"])
        return n.add(z, fill_value=0)

    def noise_by_apply_once(df, rng):
        z = rng.laplace(scale=1)
        return df.sex.value_counts().reindex(["f", "m"], fill_value=0).apply(lambda n: n + z) * 1.0

    def aggregated_by_functions(df, rng):
        return df.age.agg(lambda s: s.max()) + rng.laplace(scale=1)

    def styled(df, rng):
        return df.style.to_html()

    def largest_label(df, rng):
        return df.sex.value_counts().idxmax()

    def first_label_of_counts(df, rng):
        return df.sex.value_counts().index[0]

    def flags(df, rng):
        return df.set_flags(allows_duplicate_labels=False).age.sum() + rng.laplace(scale=60)

    def attrs_of_the_table(df, rng):
        df.attrs["kept"] = df.age.sum()
        return df.age.sum() + rng.laplace(scale=120)


class more_of_pandas:
    """Of the same frame."""

    def negative_of_dummies(df, rng):
        d = pd.get_dummies(df.sex).reindex(columns=["f", "m"], fill_value=0)
        return (-d["f"]).sum() + rng.laplace(scale=1)  # it raises, but where no f is there

    def difference_of_dummies(df, rng):
        d = pd.get_dummies(df.sex).reindex(columns=["f", "m"], fill_value=0)
        return (d["f"] - d["m"]).sum() + rng.laplace(scale=1)

    def filled_by_labels(df, rng):
        return df.income.fillna(pd.Series([10.0**6])).fillna(0).sum() + rng.laplace(scale=100)

    def clipped_by_labels(df, rng):
        return df.age.clip(upper=pd.Series([1.0])).sum() + rng.laplace(scale=1)  # that of the first record alone

    def clipped_by_labels_below(df, rng):
        return df.age.clip(pd.Series([119.0]), 120).sum() + rng.laplace(scale=60)

    def dtype_of_what_is_filled(df, rng):
        d = df.copy()
        d.loc[d.age > 100, "age"] = 0.5
        return str(d.age.dtype)  # int64, but where a record is over 100

    def dtype_of_what_is_clipped(df, rng):
        return df.age.clip(upper=90.5).dtype.kind

    def dtype_of_what_is_masked(df, rng):
        return df.age.mask(df.age > 100).dtype == float

    def reads_the_table_again(df, rng):
        return pd.read_table("patients.tsv").age.sum()

    def shape_in_an_old_format(df, rng):
        return "%s records of %s columns" % df.shape

    def count_in_a_shape(df, rng):
        return df.shape.count(7)


class frames:
    """Of the same frame: names that stand twice, columns of other records, gaps, dtypes of pandas."""

    def missing_by_sex(df, rng):  # one whose income is missing moves the difference by 1
        known = df["income"].dropna().groupby(df["sex"]).size().reindex(["f", "m"], fill_value=0)
        everyone = df.groupby("sex").size().reindex(["f", "m"], fill_value=0)
        return (everyone - known).to_numpy() + rng.laplace(scale=0.01, size=2)

    def rest_of_a_selection(df, rng):  # one of at most 40 years moves the difference by 1
        old = df[df["age"] > 40].groupby(df["sex"]).size().reindex(["f", "m"], fill_value=0)
        everyone = df.groupby("sex").size().reindex(["f", "m"], fill_value=0)
        return (everyone - old).to_numpy() + rng.laplace(scale=0.01, size=2)

    def nullable_whole(df, rng):  # an error, unless every number is whole
        return df.income.fillna(0).astype("Int64").sum() + rng.laplace(scale=100)

    def nullable_float(df, rng):
        y = df.age.astype("Float64")
        return (y / y).fillna(0).sum() + rng.laplace(scale=1)

    def frame_nullable_whole(df, rng):  # an error, unless every number is whole
        return df.fillna({"income": 0}).astype({"income": "Int64"})["income"].sum() + rng.laplace(scale=100)

    def column_of_a_selection(df, rng):  # the others have a gap, which is filled with 1000
        d = df.copy()
        d["y"] = df[df.age > 60].age
        return d["y"].fillna(1000).sum() + rng.laplace(scale=120)

    def assigned_selection_size(df, rng):  # as many as all records
        d = df.assign(y=df[df.age > 60].age)
        return d.y.size + rng.laplace(scale=1), (df.age <= 60).sum() + rng.laplace(scale=1)

    def assigned_selection_isna(df, rng):  # the others have a gap
        d = df.assign(y=df[df.age > 60].age)
        return d.y.isna().sum() + rng.laplace(scale=1e-3)

    def assigned_selection_array(df, rng):  # an error, unless every record is selected
        d = df.copy()
        d["y"] = df.loc[df.age > 60, "age"].to_numpy()
        return d["y"].sum() + rng.laplace(scale=120)

    def renamed_to_a_name_there(df, rng):  # two columns with one draw
        return df.rename(columns={"age": "income"})["income"].sum() + rng.laplace(scale=120)

    def columns_twice(df, rng):  # twice the sum
        return df[["age", "age"]].to_numpy().sum() + rng.laplace(scale=120)

    def columns_twice_along(df, rng):  # twice the sum
        return df[["age", "age"]].sum(axis=1).sum() + rng.laplace(scale=120)

    def columns_twice_by_loc(df, rng):  # twice the sum
        return df.loc[:, ["age", "age"]].sum(axis=1).sum() + rng.laplace(scale=120)

    def columns_twice_loc_mask(df, rng):  # twice the sum
        return df.loc[df.age > 10, ["age", "age"]].sum().sum() + rng.laplace(scale=120)

    def where_of_numpy_gaps(df, rng):  # NaN where an income is missing: an array does not leave it out
        return np.where(df.age > 50, df.income, 0).sum() + rng.laplace(scale=100)

    def where_of_numpy_count(df, rng):
        y = np.where(df.age > 50, df.income, 0)
        return y.size + rng.laplace(scale=1), (df.age > 50).sum() + rng.laplace(scale=1)

    def mapped_truth_inverted(df, rng):
        m = df.city.map({"Bonn": True, "Oslo": False, "Rome": False})
        return (~m).sum() + rng.laplace(scale=1)

    def text_filled(df, rng):
        return (df.city.fillna("Bonn") == "Bonn").sum() + rng.laplace(scale=1), df.city.isna().sum() + rng.laplace(
            scale=1
        )

    def filled_with_another(df, rng):
        return df.income.fillna(-500).sum() + rng.laplace(scale=100)

    def filled_after_clip(df, rng):
        return df.income.clip(0, 10).fillna(50).sum() + rng.laplace(scale=10)

    def mean_of_present(df, rng):
        return df.income.mean() + rng.laplace(scale=1)

    def count_and_size(df, rng):
        return (
            df.income.count() + rng.laplace(scale=1),
            df.income.isna().sum() + rng.laplace(scale=1),
            len(df) + rng.laplace(scale=1),
        )

    def group_sum_and_count(df, rng):
        g = df.groupby("sex").age
        i = ["f", "m"]
        return g.sum().reindex(i, fill_value=0) + rng.laplace(scale=120, size=2), g.count().reindex(
            i, fill_value=0
        ) + rng.laplace(scale=1, size=2)

    def two_groupings(df, rng):
        a = df.groupby("sex").size().reindex(["f", "m"], fill_value=0) + rng.laplace(scale=1, size=2)
        return a, df.groupby("city").size().reindex(["Bonn", "Oslo", "Rome"], fill_value=0) + rng.laplace(
            scale=1, size=3
        )

    def reindexed_by_numbers(df, rng):
        c = df.groupby("age").size().reindex(range(121), fill_value=0)
        return c.cumsum() + rng.laplace(scale=1, size=121)

    def reindexed_by_floats(df, rng):
        c = df.groupby("age").age.sum().reindex([0.0, 120.0], fill_value=0)
        return c + rng.laplace(scale=1, size=2)

    def groups_by_truth(df, rng):
        c = df.groupby(df.age > 60).size().reindex([True, False, 1], fill_value=0)
        return c + rng.laplace(scale=1, size=3)

    def groups_of_a_mapped_key(df, rng):
        k = df.city.map({"Bonn": "a", "Oslo": "a"}).fillna("b")
        return df.groupby(k).age.sum().reindex(["a", "b"], fill_value=0) + rng.laplace(scale=60, size=2)

    def crossed_with_margins(df, rng):
        t = pd.crosstab(df.sex, df.city).reindex(index=["f", "m"], columns=["Bonn", "Oslo", "Rome"], fill_value=0)
        n = t.to_numpy()
        return n + rng.laplace(scale=1, size=(2, 3)), n.sum(axis=1) + rng.laplace(scale=1, size=2)

    def pivoted_with_gaps(df, rng):
        t = df.pivot_table(values="income", index="sex", columns="city", aggfunc="sum", fill_value=0)
        t = t.reindex(index=["f", "m"], columns=["Bonn", "Oslo", "Rome"], fill_value=0)
        return t.to_numpy() + rng.laplace(scale=50, size=(2, 3))

    def cut_includes_lowest(df, rng):
        a = (pd.cut(df.age, [0, 60, 120], labels=["y", "o"], include_lowest=True) == "y").sum() + rng.laplace(scale=1)
        return a, (df.age == 0).sum() + rng.laplace(scale=1)

    def cut_codes_with_gaps(df, rng):
        return pd.cut(df.age, [10, 60, 110], labels=False).fillna(1000).sum() + rng.laplace(scale=1)

    def cut_not_included(df, rng):
        c = pd.cut(df.age, [0, 60, 120], labels=False)
        return c.isna().sum() + rng.laplace(scale=0.5)

    def between_neither(df, rng):
        a = df.age.between(10, 50, inclusive="left").sum() + rng.laplace(scale=1)
        return (
            a,
            df.age.between(50, 90, inclusive="neither").sum() + rng.laplace(scale=1),
            df.age.between(10, 90).sum() + rng.laplace(scale=1),
        )

    def between_exchanged(df, rng):
        return (~df.age.between(90, 10)).sum() + rng.laplace(scale=0.5)

    def isin_a_text(df, rng):
        return (~df.city.isin(["Oslo"])).sum() + rng.laplace(scale=1), df.city.isna().sum() + rng.laplace(scale=1)

    def not_equal_to_missing(df, rng):
        return (df.city != "Oslo").sum() + rng.laplace(scale=1), df.city.isna().sum() + rng.laplace(scale=1)

    def comparison_with_gaps(df, rng):
        return (
            (df.income > 50).sum() + rng.laplace(scale=1),
            (~(df.income > 50)).sum() + rng.laplace(scale=1),
            (df.income <= 50).sum() + rng.laplace(scale=1),
        )

    def gap_counts_as_not_greater(df, rng):
        return (~(df.income > 50)).sum() + rng.laplace(scale=1), (df.income.isna()).sum() + rng.laplace(scale=1)

    def replace_chain(df, rng):
        return df.age.replace({1: 2, 2: 120}).sum() * 2 + rng.laplace(scale=120)

    def replace_missing(df, rng):
        return df.income.replace({np.nan: 1000}).sum() + rng.laplace(scale=100)

    def merged_left(df, rng):
        t = pd.DataFrame({"sex": ["f"], "w": [2.0]})
        return df.merge(t, on="sex", how="left")["w"].fillna(9).sum() + rng.laplace(scale=2)

    def merged_with_numbers(df, rng):
        t = pd.DataFrame({"age": [1, 1.0], "w": [1.0, 1.0]})
        return df.merge(t, on="age")["w"].sum() + rng.laplace(scale=0.5)

    def merged_then_counted(df, rng):
        t = pd.DataFrame({"sex": ["f"], "w": [2.0]})
        return len(df.merge(t, on="sex")) + rng.laplace(scale=1), len(df) + rng.laplace(scale=1)

    def query_chain(df, rng):
        return df.query("age > 50 or income > 50 and sex == 'f'").shape[0] + rng.laplace(scale=1), df.query(
            "sex == 'f'"
        ).shape[0] + rng.laplace(scale=1)

    def query_outside(df, rng):
        m = df.age > 60
        return df.query("@m").shape[0] + rng.laplace(scale=0.5)

    def query_column_hidden(df, rng):
        age = 5
        return df.query("age > @age").age.sum() + rng.laplace(scale=60)

    def multiplied_truths(df, rng):
        return ((df.age > 5) * (df.age > 5) * 2).sum() + rng.laplace(scale=1)

    def summed_truths(df, rng):
        return ((df.age > 5) + (df.income > 5)).sum() + rng.laplace(scale=1), (
            (df.age > 5).astype(int) + (df.income > 5)
        ).sum() + rng.laplace(scale=1)

    def int_div(df, rng):
        return (100 // (df.age + 1)).sum() + rng.laplace(scale=1)

    def inf_from_division(df, rng):
        y = (df.age / df.other).clip(0, 1)
        return y.fillna(50).sum() + rng.laplace(scale=1)

    def mod_negative(df, rng):
        return ((-df.age) % 7).sum() + rng.laplace(scale=3)

    def whole_as_uint8_minus(df, rng):
        return (df.age.astype("uint8") - 1).sum() + rng.laplace(scale=120)

    def assign_later(df, rng):
        d = df.assign(a=lambda t: t.age * 2, b=lambda t: t.a * 2)
        return d.b.sum() + rng.laplace(scale=240)

    def loc_set_from_column(df, rng):
        d = df.copy()
        d.loc[d.age > 50, "other"] = d["age"]
        return d.other.sum() + rng.laplace(scale=60)

    def column_set_to_noise(df, rng):
        d = df.copy()
        d["z"] = rng.laplace(scale=120)
        return (d.age + d.z).sum()

    def noise_column(df, rng):
        d = df.copy()
        d["z"] = rng.laplace(scale=120, size=len(df))
        return (d.age + d.z).sum()

    def noise_labels(df, rng):
        n = df.sex.value_counts().reindex(["f", "m"], fill_value=0)
        return {k: v + z for (k, v), z in zip(n.items(), [rng.laplace(scale=1)] * 2)}

    def noisy_once_for_both(df, rng):
        n = df.sex.value_counts().reindex(["f", "m"], fill_value=0)
        z = rng.laplace(scale=1)
        return n["f"] + z, n["m"] + z

    def total_minus_one(df, rng):
        n = df.sex.value_counts().reindex(["f", "m"], fill_value=0)
        f = n["f"] + rng.laplace(scale=1)
        return f, n.sum() - f

    def agg_dict(df, rng):
        return df.agg({"age": "sum", "income": "count"}) + rng.laplace(scale=[120, 1])

    def columns_by_order(df, rng):
        return df.sum(numeric_only=True) + rng.laplace(scale=[100, 120, 1e-3])


class frames_of_dates:
    """Of the columns age and d, a date from 2020 to 2024."""

    def year_and_month(df, rng):
        return (df.d.dt.year == 2022).sum() + rng.laplace(scale=1), (df.d.dt.month == 5).sum() + rng.laplace(scale=1)

    def date_of_text(df, rng):
        return (df.d >= "2022").sum() + rng.laplace(scale=1), (df.d == "2022").sum() + rng.laplace(scale=1)

    def date_resample(df, rng):
        return df.resample("YE", on="d").size().to_numpy() + rng.laplace(scale=1)

    def date_groups(df, rng):
        return df.groupby(df.d.dt.year).size().reindex([2021, 2022], fill_value=0) + rng.laplace(scale=0.5, size=2)

    def date_difference(df, rng):
        return (df.d - pd.Timestamp("2020-01-01")).dt.days.sum() + rng.laplace(scale=100)

    def date_isin(df, rng):
        return df.d.isin(["2022-01-01"]).sum() + rng.laplace(scale=0.5)

    def weekday_sum(df, rng):
        return df.d.dt.dayofweek.sum() + rng.laplace(scale=5)

    def calendar_weeks(df, rng):
        return df.d.dt.isocalendar().week.sum() + rng.laplace(scale=52)


class frames_of_signs:
    """Of the columns age and city, of which one value has an @."""

    def at_in_a_text(df, rng):  # the text has an @, and stands for a value of the schema
        return df.query("city == '@a'").shape[0] + rng.laplace(scale=1e-3)
