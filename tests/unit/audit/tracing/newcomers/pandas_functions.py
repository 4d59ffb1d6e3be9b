# ruff: noqa: B905, F841, RUF059
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd

CITIES = ["Bonn", "Oslo", "Rome"]
SEXES = ["f", "m"]
EDGES = [0, 18, 40, 65, 101]
RNG = np.random.default_rng()


def right_value_counts_apply(df, rng):
    c = df["city"].value_counts().reindex(CITIES, fill_value=0)
    return {k: v + rng.laplace(scale=1.0) for k, v in c.items()}


def right_value_counts_normal(df, rng):
    c = df.city.value_counts().reindex(CITIES).fillna(0)
    return c + rng.laplace(scale=1.0, size=3)


def right_value_counts_dict_get(df, rng):
    c = df.city.value_counts()
    return [c.get(k, 0) + rng.laplace(scale=1.0) for k in CITIES]


def right_value_counts_to_dict(df, rng):
    c = df.city.value_counts().to_dict()
    return [c.get(k, 0) + rng.laplace(scale=1.0) for k in CITIES]


def right_df_value_counts(df, rng):
    c = df[["city", "sex"]].value_counts().reindex(pd.MultiIndex.from_product([CITIES, SEXES]), fill_value=0)
    return c + rng.laplace(scale=1.0, size=6)


def right_df_value_counts_subset(df, rng):
    c = df.value_counts(["city", "sex"]).reindex(pd.MultiIndex.from_product([CITIES, SEXES]), fill_value=0)
    return c.to_numpy() + rng.laplace(scale=1.0, size=6)


def right_counter(df, rng):
    c = Counter(df["city"])
    return {k: c[k] + rng.laplace(scale=1.0) for k in CITIES}


def right_cut_value_counts(df, rng):
    c = pd.cut(df["age"], EDGES, right=False).value_counts(sort=False)
    return c + rng.laplace(scale=1.0, size=len(c))


def right_cut_value_counts_sort_index(df, rng):
    c = pd.cut(df["age"], bins=EDGES, right=False).value_counts().sort_index()
    return c.values + rng.laplace(scale=1.0, size=4)


def right_cut_labels_value_counts(df, rng):
    g = pd.cut(df["age"], bins=EDGES, right=False, labels=["child", "young", "mid", "old"])
    c = g.value_counts().reindex(["child", "young", "mid", "old"], fill_value=0)
    return c + rng.laplace(scale=1.0, size=4)


def right_cut_labels_sort_false(df, rng):
    g = pd.cut(df["age"], bins=EDGES, right=False, labels=["child", "young", "mid", "old"])
    c = g.value_counts(sort=False)
    return c + rng.laplace(scale=1.0, size=4)


def right_cut_labels_false_bincount(df, rng):
    g = pd.cut(df["age"], bins=EDGES, right=False, labels=False)
    return np.bincount(g, minlength=4) + rng.laplace(scale=1.0, size=4)


def right_groupby_cut(df, rng):
    g = df.groupby(pd.cut(df["age"], EDGES, right=False), observed=False)["income"].sum()
    return g + rng.laplace(scale=200000.0, size=4)


def right_groupby_cut_size(df, rng):
    g = df.groupby(pd.cut(df["age"], EDGES, right=False), observed=False).size()
    return g + rng.laplace(scale=1.0, size=4)


def right_assign_cut(df, rng):
    d = df.assign(band=pd.cut(df["age"], EDGES, right=False, labels=list("abcd")))
    s = d.groupby("band", observed=False).size()
    return s + rng.laplace(scale=1.0, size=4)


def right_categorical_dtype(df, rng):
    c = df["city"].astype(pd.CategoricalDtype(CITIES)).value_counts(sort=False)
    return c + rng.laplace(scale=1.0, size=3)


def right_pd_categorical(df, rng):
    c = pd.Series(pd.Categorical(df["city"], categories=CITIES)).value_counts(sort=False)
    return c + rng.laplace(scale=1.0, size=3)


def right_crosstab(df, rng):
    t = pd.crosstab(df["city"], df["sex"]).reindex(index=CITIES, columns=SEXES, fill_value=0)
    return t + rng.laplace(scale=1.0, size=t.shape)


def right_pivot_table(df, rng):
    t = df.pivot_table(index="city", columns="sex", values="income", aggfunc="sum", fill_value=0)
    t = t.reindex(index=CITIES, columns=SEXES, fill_value=0)
    return t + rng.laplace(scale=200000.0, size=t.shape)


def right_pivot_table_count(df, rng):
    t = pd.pivot_table(df, index="city", columns="sex", values="age", aggfunc="count", fill_value=0)
    t = t.reindex(index=CITIES, columns=SEXES, fill_value=0)
    return t.to_numpy() + rng.laplace(scale=1.0, size=(3, 2))


def right_groupby_unstack(df, rng):
    t = df.groupby(["city", "sex"]).size().unstack(fill_value=0).reindex(index=CITIES, columns=SEXES, fill_value=0)
    return t.values + rng.laplace(scale=1.0, size=(3, 2))


def right_query(df, rng):
    return len(df.query("age > 40 and sex == 'f'")) + rng.laplace(scale=1.0)


def right_query_at(df, rng):
    t = 40
    return len(df.query("age > @t")) + rng.laplace(scale=1.0)


def right_query_in(df, rng):
    return len(df.query("city in ['Oslo', 'Rome']")) + rng.laplace(scale=1.0)


def right_between(df, rng):
    return df.age.between(18, 65).sum() + rng.laplace(scale=1.0)


def right_isin(df, rng):
    return df.city.isin(["Oslo"]).sum() + rng.laplace(scale=1.0)


def right_map(df, rng):
    return df.city.map({"Bonn": 1, "Oslo": 2, "Rome": 3}).sum() + rng.laplace(scale=3.0)


def right_replace(df, rng):
    return df.sex.replace({"f": 0, "m": 1}).sum() + rng.laplace(scale=1.0)


def right_replace_numbers(df, rng):
    return df.age.replace({0: 1}).sum() + rng.laplace(scale=100.0)


def right_np_where(df, rng):
    return np.where(df.age > 50, df.income, 0).sum() + rng.laplace(scale=200000.0)


def right_np_select(df, rng):
    k = np.select([df.age < 18, df.age < 65], [0, 1], default=2)
    return np.bincount(k, minlength=3) + rng.laplace(scale=1.0, size=3)


def right_apply_lambda_noise(df, rng):
    c = df.city.value_counts().reindex(CITIES, fill_value=0)
    return c.apply(lambda v: v + rng.laplace(scale=1.0))


def right_loop_cities(df, rng):
    out = {}
    for c in CITIES:
        out[c] = (df["city"] == c).sum() + rng.laplace(0, 1.0)
    return out


def right_loop_range(df, rng):
    out = []
    for k in range(10):
        out.append(((df.age >= 10 * k) & (df.age < 10 * k + 10)).sum() + rng.laplace(scale=1.0))
    return out


def right_loop_nested(df, rng):
    out = np.zeros((3, 2))
    for i, c in enumerate(CITIES):
        for j, s in enumerate(SEXES):
            out[i, j] = len(df[(df.city == c) & (df.sex == s)]) + rng.laplace(scale=1.0)
    return out


def right_loop_array_then_noise(df, rng):
    out = np.zeros(3)
    for i, c in enumerate(CITIES):
        out[i] = (df.city == c).sum()
    return out + rng.laplace(scale=1.0, size=3)


def right_list_comp(df, rng):
    return np.array([(df.city == c).sum() for c in CITIES]) + rng.laplace(scale=1.0, size=3)


def right_dict_comp_series(df, rng):
    s = pd.Series({c: (df.city == c).sum() for c in CITIES})
    return s + rng.laplace(scale=1.0, size=3)


def right_module_rng(df):
    return len(df) + RNG.laplace(scale=1.0)


def laplace_mech(value, sensitivity, epsilon, rng=None):
    rng = rng or np.random.default_rng()
    return value + rng.laplace(loc=0.0, scale=sensitivity / epsilon)


def right_helper(df):
    return laplace_mech(df.age.clip(0, 100).sum(), 100, 1.0)


class LaplaceMechanism:
    def __init__(self, epsilon, sensitivity, random_state=None):
        self.epsilon = float(epsilon)
        self.sensitivity = float(sensitivity)
        self._rng = random_state if random_state is not None else np.random.default_rng()

    @property
    def scale(self):
        return self.sensitivity / self.epsilon

    def randomise(self, value):
        return value + self._rng.laplace(0.0, self.scale)


def right_class(df, rng):
    m = LaplaceMechanism(epsilon=1.0, sensitivity=1, random_state=rng)
    return m.randomise(df.shape[0])


def right_class_own_rng(df):
    return LaplaceMechanism(1.0, 100).randomise(df["age"].sum())


@dataclass
class Budget:
    epsilon: float
    spent: float = 0.0

    def spend(self, eps):
        if self.spent + eps > self.epsilon + 1e-12:
            raise ValueError("over")
        self.spent += eps
        return eps


def right_budget(df, rng):
    b = Budget(1.0)
    n = len(df) + rng.laplace(scale=1 / b.spend(0.5))
    s = df.age.sum() + rng.laplace(scale=100 / b.spend(0.5))
    return s / max(n, 1)


@dataclass(frozen=True)
class Result:
    count: float
    total: float


def right_dataclass_result(df, rng):
    return Result(len(df) + rng.laplace(scale=2.0), df.age.sum() + rng.laplace(scale=200.0))


def right_dict_result(df, rng):
    return {"n": len(df) + rng.laplace(scale=2.0), "s": float(df.age.sum() + rng.laplace(scale=200.0))}


def right_frame_result(df, rng):
    c = df.city.value_counts().reindex(CITIES, fill_value=0) + rng.laplace(scale=1.0, size=3)
    return pd.DataFrame({"city": CITIES, "n": c.to_numpy()})


def right_transform_clip(df, rng):
    d = df.assign(capped=lambda x: x.income.clip(0, 1000))
    return d.capped.sum() + rng.laplace(scale=1000.0)


def right_agg_named(df, rng):
    g = df.groupby("city").agg(n=("age", "size"), s=("income", "sum")).reindex(CITIES, fill_value=0)
    return g["n"] + rng.laplace(scale=2.0, size=3), g["s"] + rng.laplace(scale=400000.0, size=3)


def right_groupby_size_dict(df, rng):
    g = df.groupby("city").size()
    return {c: g.get(c, 0) + rng.laplace(scale=1.0) for c in CITIES}


def right_np_histogram(df, rng):
    h, e = np.histogram(df.age, bins=np.arange(0, 101, 10))
    return h + rng.laplace(scale=1.0, size=h.shape)


def right_np_histogram_range(df, rng):
    h, e = np.histogram(df.age.to_numpy(), bins=10, range=(0, 100))
    return np.round(np.clip(h + rng.laplace(scale=1.0, size=10), 0, None)).astype(int)


def right_hist2d(df, rng):
    h, _, _ = np.histogram2d(df.age, df.income, bins=[[0, 50, 100], [0, 1e5, 2e5]])
    return h + rng.laplace(scale=1.0, size=h.shape)


def right_bincount_codes(df, rng):
    k = df.city.map({c: i for i, c in enumerate(CITIES)})
    return np.bincount(k, minlength=3) + rng.laplace(scale=1.0, size=3)


def right_date_compare(df, rng):
    return (df.visit >= "2024-07-01").sum() + rng.laplace(scale=1.0)


def right_date_month(df, rng):
    c = df.visit.dt.month.value_counts().reindex(range(1, 13), fill_value=0)
    return c + rng.laplace(scale=1.0, size=12)


def right_date_groups(df, rng):
    t = df.groupby(df["visit"].dt.quarter)["income"].sum().reindex([1, 2, 3, 4], fill_value=0)
    return t.to_numpy() + rng.laplace(scale=200000.0, size=4)


def right_date_column(df, rng):
    d = df.assign(month=df["visit"].dt.month)
    return [len(d[(d["month"] == m) & (d["age"] > 30)]) + rng.laplace(scale=1.0) for m in range(1, 13)]


def right_query_with_signs(df, rng):
    return len(df.query("age>30 & score<2 | ~(sex=='f')")) + rng.laplace(scale=1.0)


def right_query_of_a_list(df, rng):
    return len(df.query("city == ['Oslo', 'Rome']")) + rng.laplace(scale=1.0)


def right_date_query(df, rng):
    return len(df.query("visit >= '2024-07-01' and age > 40")) + rng.laplace(scale=1.0)


def wrong_date_groups(df, rng):
    return df.groupby(df["visit"].dt.month).size().to_numpy() + rng.laplace(scale=1.0, size=12)


def wrong_date_sum(df, rng):
    return df["visit"].dt.dayofyear.sum() + rng.laplace(scale=31.0)


def wrong_date_of_the_first(df, rng):
    return (df["visit"] > df["visit"].min()).sum() + rng.laplace(scale=1.0)


def wrong_resample_by_column(df, rng):
    return df.resample("MS", on="visit").size().to_numpy() + rng.laplace(scale=1.0, size=12)


def right_bool_mean_count(df, rng):
    return df.smoker.sum() + rng.laplace(scale=1.0)


def right_bool_mask(df, rng):
    return df[df.smoker].shape[0] + rng.laplace(scale=1.0)


def right_not_bool(df, rng):
    return (~df.smoker).sum() + rng.laplace(scale=1.0)


def right_fillna_sum(df, rng):
    return df.score.fillna(5).sum() + rng.laplace(scale=10.0)


def right_dropna_count(df, rng):
    return df.dropna(subset=["score"]).shape[0] + rng.laplace(scale=1.0)


def right_skipna_sum(df, rng):
    return df.score.sum() + rng.laplace(scale=10.0)


def right_notna_sum(df, rng):
    return df["score"].notna().sum() + rng.laplace(scale=1.0)


def right_multi_columns(df, rng):
    s = df[["age", "income"]].sum()
    return s["age"] + rng.laplace(scale=200.0), s["income"] + rng.laplace(scale=400000.0)


def right_agg_dict(df, rng):
    a = df.agg({"age": "sum", "income": "sum"})
    return a["age"] + rng.laplace(scale=200.0), a["income"] + rng.laplace(scale=400000.0)


def right_series_agg(df, rng):
    return df.age.agg("sum") + rng.laplace(scale=100.0)


def right_exponential(df, rng):
    scores = np.array([(df.city == c).sum() for c in CITIES])
    p = np.exp(1.0 * scores / 2)
    p = p / p.sum()
    return CITIES[rng.choice(3, p=p)]


def right_noisy_max(df, rng):
    c = df.city.value_counts().reindex(CITIES, fill_value=0)
    return CITIES[int(np.argmax(c.to_numpy() + rng.laplace(scale=2.0, size=3)))]


def right_idxmax(df, rng):
    c = df.city.value_counts().reindex(CITIES, fill_value=0)
    return (c + rng.laplace(scale=1.0, size=3)).idxmax()


def right_eval(df, rng):
    return df.eval("age * 2").sum() + rng.laplace(scale=200.0)


def right_pipe(df, rng):
    return df.pipe(lambda d: d[d.age > 40]).shape[0] + rng.laplace(scale=1.0)


def right_loc_sum(df, rng):
    return df.loc[df.sex == "f", "income"].clip(upper=1000).sum() + rng.laplace(scale=1000.0)


def right_apply_row_noise_free(df, rng):
    return (df["age"] > 18).astype(int).sum() + rng.laplace(scale=1.0)


def right_str_eq(df, rng):
    return df.city.eq("Oslo").sum() + rng.laplace(scale=1.0)


def right_ne(df, rng):
    return df.city.ne("Oslo").sum() + rng.laplace(scale=1.0)


def right_get_dummies(df, rng):
    d = pd.get_dummies(df.city).reindex(columns=CITIES, fill_value=0).sum()
    return d + rng.laplace(scale=1.0, size=3)


def right_groupby_transform(df, rng):
    # the clipped income of each city, by masks
    return [df.income.where(df.city == c, 0).sum() + rng.laplace(scale=200000.0) for c in CITIES]


def right_prod_round(df, rng):
    return round(len(df) + rng.laplace(scale=1.0))


def right_max_zero(df, rng):
    return max(0, int(len(df) + rng.laplace(scale=1.0)))


def right_scipy_like(df, rng):
    u = rng.exponential(1.0) - rng.exponential(1.0)
    return len(df) + u


def right_np_add_at(df, rng):
    k = df.city.map({c: i for i, c in enumerate(CITIES)}).to_numpy()
    out = np.zeros(3)
    np.add.at(out, k, 1)
    return out + rng.laplace(scale=1.0, size=3)


def right_sum_builtin(df, rng):
    return sum(df["age"]) + rng.laplace(scale=100.0)


def right_len_mask(df, rng):
    return np.sum(df["age"] > 30) + rng.laplace(scale=1.0)


def right_sort_after(df, rng):
    c = df.city.value_counts().reindex(CITIES, fill_value=0) + rng.laplace(scale=1.0, size=3)
    return c.sort_values(ascending=False)


def right_to_frame(df, rng):
    c = df.city.value_counts().reindex(CITIES, fill_value=0) + rng.laplace(scale=1.0, size=3)
    return c.to_frame("n").reset_index()


def right_normalise(df, rng):
    c = df.city.value_counts().reindex(CITIES, fill_value=0) + rng.laplace(scale=1.0, size=3)
    return c / c.sum()


def right_kwargs(df, rng, *, epsilon=1.0):
    return len(df) + rng.laplace(scale=1 / epsilon)


def right_shape_unpack(df, rng):
    n, _ = df.shape
    return n + rng.laplace(scale=1.0)


def right_np_asarray(df, rng):
    a = np.asarray(df["age"], dtype=float)
    return np.clip(a, 0, 50).sum() + rng.laplace(scale=50.0)


def right_iloc_none(df, rng):
    return df.loc[:, "age"].sum() + rng.laplace(scale=100.0)


def right_binop_methods(df, rng):
    return df.age.mul(2).add(1).sum() + rng.laplace(scale=201.0)


def right_pow(df, rng):
    return (df.age**2).sum() + rng.laplace(scale=10000.0)


def right_floordiv(df, rng):
    d = (df.age // 10).clip(0, 9)
    c = d.value_counts().reindex(range(10), fill_value=0)
    return c + rng.laplace(scale=1.0, size=10)


def right_groupby_filter(df, rng):
    return df[df.age.ge(18) & df.age.le(65)].groupby("sex").size().reindex(SEXES, fill_value=0) + rng.laplace(
        scale=1.0, size=2
    )


# wrong ones -----------------------------------------------------------------------------------------------------------
def wrong_value_counts_labels(df, rng):
    return df.city.value_counts().apply(lambda v: v + rng.laplace(scale=1.0))


def wrong_counter_items(df, rng):
    return {k: v + rng.laplace(scale=1.0) for k, v in Counter(df.city).items()}


def wrong_cut_value_counts_order(df, rng):
    c = pd.cut(df["age"], EDGES, right=False).value_counts()
    return c + rng.laplace(scale=1.0, size=4)


def wrong_cut_int_bins(df, rng):
    c = pd.cut(df["age"], 4).value_counts(sort=False)
    return c + rng.laplace(scale=1.0, size=4)


def wrong_groupby_cut_observed(df, rng):
    g = df.groupby(pd.cut(df["age"], EDGES, right=False), observed=True).size()
    return g + rng.laplace(scale=1.0, size=len(g))


def wrong_transform_mean(df, rng):
    d = df.income - df.groupby("city")["income"].transform("mean")
    return d.sum() + rng.laplace(scale=200000.0)


def wrong_transform_count(df, rng):
    w = df.groupby("city")["income"].transform("count")
    return (w > 5).sum() + rng.laplace(scale=1.0)


def wrong_pivot_mean(df, rng):
    t = df.pivot_table(index="city", columns="sex", values="income", aggfunc="mean", fill_value=0)
    t = t.reindex(index=CITIES, columns=SEXES, fill_value=0)
    return t + rng.laplace(scale=200000.0, size=t.shape)


def wrong_pivot_labels(df, rng):
    t = df.pivot_table(index="city", columns="sex", values="income", aggfunc="sum")
    return t + rng.laplace(scale=200000.0, size=t.shape)


def wrong_two_histograms(df, rng):
    a = df.city.value_counts().reindex(CITIES, fill_value=0) + rng.laplace(scale=1.0, size=3)
    b = df.sex.value_counts().reindex(SEXES, fill_value=0) + rng.laplace(scale=1.0, size=2)
    return a, b


def wrong_overlap_masks(df, rng):
    return [(df.age > t).sum() + rng.laplace(scale=1.0) for t in (10, 20, 30)]


def wrong_median(df, rng):
    return df.age.median() + rng.laplace(scale=100.0)


def wrong_quantile(df, rng):
    return np.quantile(df.age, 0.5) + rng.laplace(scale=1.0)


def wrong_max(df, rng):
    return df.age.max() + rng.laplace(scale=1.0)


def wrong_nunique(df, rng):
    return df.city.nunique() + rng.laplace(scale=0.5)


def wrong_len_scale(df, rng):
    return df.age.mean() + rng.laplace(scale=100 / len(df))


def wrong_return_true(df, rng):
    n = len(df)
    return {"noisy": n + rng.laplace(scale=1.0), "true": n}


def wrong_one_draw(df, rng):
    z = rng.laplace(scale=1.0)
    return [(df.city == c).sum() + z for c in CITIES]


def wrong_half_scale(df, rng):
    return df.income.clip(0, 1000).sum() + rng.laplace(scale=500.0)


def wrong_seed(df):
    rng = np.random.default_rng(42)
    return len(df) + rng.laplace(scale=1.0)


def wrong_print(df, rng):
    print(len(df))
    return len(df) + rng.laplace(scale=1.0)


def wrong_map_partial(df, rng):
    return df.city.map({"Bonn": 1, "Oslo": 2, "Rome": 300}).sum() + rng.laplace(scale=3.0)


def wrong_resample(df, rng):
    m = df.set_index("visit").resample("ME").size()
    return m + rng.laplace(scale=1.0, size=len(m))


def wrong_if_true_count(df, rng):
    if len(df) > 10:
        return len(df) + rng.laplace(scale=1.0)
    return 0


def wrong_sample(df, rng):
    d = df.sample(frac=0.5)
    return len(d) + rng.laplace(scale=0.5)


def wrong_groupby_loop(df, rng):
    return {k: len(g) + rng.laplace(scale=1.0) for k, g in df.groupby("city")}


def wrong_agg_mean(df, rng):
    g = df.groupby("city").agg(m=("age", "mean")).reindex(CITIES, fill_value=0)
    return g["m"] + rng.laplace(scale=1.0, size=3)


def wrong_describe(df, rng):
    return df.age.describe()["mean"] + rng.laplace(scale=1.0)


def wrong_drop_dup(df, rng):
    return df.drop_duplicates("city").age.sum() + rng.laplace(scale=100.0)


def wrong_unique(df, rng):
    return {c: (df.city == c).sum() + rng.laplace(scale=1.0) for c in df.city.unique()}


def wrong_np_unique(df, rng):
    v, c = np.unique(df.city, return_counts=True)
    return dict(zip(v, c + rng.laplace(scale=1.0, size=len(c))))
