"""Functions as the engineers of a data team write them: R are right for eps=1, W are wrong; see the test."""

# ruff: noqa
# mypy: ignore-errors

import math
from dataclasses import dataclass, asdict

import numpy as np
import pandas as pd
from scipy.special import softmax

import team_noise as noise
from team_noise import Budget, add_laplace

rng = np.random.default_rng()
EPS = 1.0
CITIES = ["Bonn", "Oslo", "Rome"]
EDGES = [0, 18, 30, 45, 65, 101]


@dataclass(frozen=True)
class Report:
    count: float
    total: float
    mean: float


def R01_mean(df):
    n = len(df) + rng.laplace(scale=2 / EPS)
    total = df["age"].clip(0, 90).sum() + rng.laplace(scale=2 * 90 / EPS)
    return Report(count=n, total=total, mean=total / max(n, 1))


def W01_mean(df):
    n = len(df) + rng.laplace(scale=1 / EPS)
    total = df["age"].clip(0, 90).sum() + rng.laplace(scale=90 / EPS)
    return {"mean": total / max(n, 1), "n": n, "total": total}


def R02_helper_module(df):
    return add_laplace((df["age"] > 40).sum(), 1, EPS)


def W02_helper_module(df):
    return add_laplace(df["age"].sum(), 1, EPS)


def R03_budget_object(df):
    b = Budget(1.0)
    a = add_laplace((df.age > 40).sum(), 1, b.part(0.5))
    c = add_laplace(df.age.clip(upper=80).sum(), 80, b.part(0.5))
    return f"{a:.1f} people, {c:.0f} years"


def R04_columns_loop(df, rng):
    out = {}
    for name in ["age", "visits"]:
        bound = {"age": 100, "visits": 20}[name]
        out[name] = df[name].clip(0, bound).sum() + rng.laplace(scale=2 * bound / EPS)
    return out


def W04_columns_loop(df, rng):
    out = {}
    for name in ["age", "visits"]:
        bound = {"age": 100, "visits": 20}[name]
        out[name] = df[name].clip(0, bound).sum() + rng.laplace(scale=bound / EPS)
    return out


def R05_histogram_frame(df, rng):
    counts = df["city"].value_counts().reindex(CITIES, fill_value=0)
    noisy = counts + rng.laplace(scale=1 / EPS, size=len(CITIES))
    return pd.DataFrame({"city": CITIES, "n": np.maximum(np.round(noisy), 0)})


def W05_histogram_of_seen(df, rng):
    counts = df["city"].value_counts()
    return {c: n + rng.laplace(scale=1 / EPS) for c, n in counts.items()}


def R06_group_means(df, rng):
    g = df.assign(age=df["age"].clip(0, 90)).groupby("city").agg(n=("age", "count"), s=("age", "sum"))
    g = g.reindex(CITIES, fill_value=0)
    n = g["n"] + rng.laplace(scale=2 / EPS, size=3)
    s = g["s"] + rng.laplace(scale=180 / EPS, size=3)
    return dict(zip(CITIES, s / np.maximum(n, 1)))


def W06_group_means(df, rng):
    return df.groupby("city")["age"].mean().reindex(CITIES, fill_value=0) + rng.laplace(scale=90 / EPS, size=3)


def R07_rate_per_category(df, rng):
    rates = {}
    for city in CITIES:
        own = df[df["city"] == city]
        sick = (own["visits"] > 10).sum() + rng.laplace(scale=2 / EPS)
        n = len(own) + rng.laplace(scale=2 / EPS)
        rates[city] = float(np.clip(sick / max(n, 1.0), 0, 1))
    return rates


def R08_threshold(df, rng):
    n = (df["visits"] > 15).sum() + rng.laplace(scale=1 / EPS)
    if n > 20:
        return {"released": True, "n": n}
    return {"released": False}


def W08_threshold_on_data(df, rng):
    n = (df["visits"] > 15).sum()
    if n > 20:
        return n + rng.laplace(scale=1 / EPS)
    return None


def R09_quantile(df, rng):
    candidates = np.arange(0, 101, 5)
    ages = df["age"].to_numpy()
    utility = -np.abs(np.array([(ages <= c).sum() - (ages > c).sum() for c in candidates]))
    return candidates[rng.choice(len(candidates), p=softmax(EPS * utility / 2))]


def W09_quantile(df, rng):
    return df["age"].quantile(0.5) + rng.laplace(scale=1 / EPS)


def W09b_median(df, rng):
    return np.median(df["age"]) + rng.laplace(scale=1 / EPS)


def R10_noisy_max(df, rng):
    scores = [(df["city"] == c).sum() + rng.laplace(scale=1 / EPS) for c in CITIES]
    return CITIES[int(np.argmax(scores))]


def W10_noisy_max_with_score(df, rng):
    scores = [(df["visits"] > t).sum() + rng.laplace(scale=1 / EPS) for t in range(5)]
    best = int(np.argmax(scores))
    return best, scores[best]


def R11_geometric(df, rng):
    p = 1 - math.exp(-EPS)
    n = (df["visits"] > 3).sum()
    return int(n + rng.geometric(p) - rng.geometric(p))


def W11_geometric(df, rng):
    p = 1 - math.exp(-4 * EPS)
    n = (df["visits"] > 3).sum()
    return int(n + rng.geometric(p) - rng.geometric(p))


def R12_seed_none(df, seed=None):
    rng = np.random.default_rng(seed)
    return (df["age"] > 65).sum() + rng.laplace(scale=1 / EPS)


def W12_seed(df, seed=42):
    rng = np.random.default_rng(seed)
    return (df["age"] > 65).sum() + rng.laplace(scale=1 / EPS)


def R13_crosstab(df, rng):
    t = pd.crosstab(df["city"], df["sex"]).reindex(index=CITIES, columns=["f", "m"], fill_value=0)
    return (t + rng.laplace(scale=1 / EPS, size=(3, 2))).round().clip(lower=0)


def R14_age_bands(df, rng):
    band = pd.cut(df["age"], bins=EDGES, right=False, labels=["child", "young", "adult", "middle", "old"])
    n = band.value_counts().reindex(["child", "young", "adult", "middle", "old"], fill_value=0)
    return n + rng.laplace(scale=1 / EPS, size=5)


def R15_np_histogram(df, rng):
    h, edges = np.histogram(df["age"], bins=EDGES)
    noisy = h + rng.laplace(scale=1 / EPS, size=h.shape)
    share = noisy / noisy.sum()
    return {f"{a}-{b}": round(float(s), 3) for a, b, s in zip(edges[:-1], edges[1:], share)}


def W15_np_histogram_shares(df, rng):
    h, edges = np.histogram(df["age"], bins=EDGES)
    share = h / h.sum()
    return share + rng.laplace(scale=1 / EPS, size=h.shape)


def R16_public_prices(df, rng):
    prices = pd.DataFrame({"city": CITIES, "price": [10.0, 20.0, 15.0]})
    merged = df.merge(prices, on="city", how="left")
    spent = merged["price"] * merged["visits"].clip(0, 5)
    return spent.sum() + rng.laplace(scale=100 / EPS)


def W16_public_prices(df, rng):
    prices = pd.DataFrame({"city": CITIES, "price": [10.0, 20.0, 15.0]})
    merged = df.merge(prices, on="city", how="left")
    spent = merged["price"] * merged["visits"]
    return spent.sum() + rng.laplace(scale=100 / EPS)


def R17_variance(df, rng):
    a = df["age"].clip(0, 100)
    n = len(df) + rng.laplace(scale=3 / EPS)
    s = a.sum() + rng.laplace(scale=300 / EPS)
    q = (a**2).sum() + rng.laplace(scale=30000 / EPS)
    m = s / max(n, 1)
    return {"mean": m, "var": max(q / max(n, 1) - m * m, 0.0)}


def R18_poisson_sample(df, rng):
    sample = df[rng.random(len(df)) < 0.05]
    return sample["age"].clip(0, 90).sum() / 0.05 + rng.laplace(scale=90 / 0.05 / 3)


def W18_poisson_sample(df, rng):
    sample = df.sample(frac=0.05)
    return sample["age"].clip(0, 90).sum() / 0.05 + rng.laplace(scale=90 / 0.05 / 3)


def R19_query_and_isin(df, rng):
    young = df.query("age < 30 and visits >= 2")
    north = df[df["city"].isin(["Oslo", "Bonn"]) & (df["sex"] == "f")]
    return {"young": len(young) + rng.laplace(scale=2), "north": north.shape[0] + rng.laplace(scale=2)}


def W20_length_scale(df, rng):
    return df["age"].mean() + rng.laplace(scale=100 / len(df) / EPS)


def W21_noise_per_record(df, rng):
    return (df["age"] + rng.laplace(scale=100, size=len(df))).mean()


def W22_same_noise(df, rng):
    z = rng.laplace(scale=2 / EPS)
    return {c: (df["city"] == c).sum() + z for c in CITIES}


def R23_one_noise_per_city(df, rng):
    return {c: (df["city"] == c).sum() + rng.laplace(scale=1 / EPS) for c in CITIES}


def W24_std_scale(df, rng):
    return df["age"].sum() + rng.laplace(scale=df["age"].max() / EPS)


def R25_nested(df, rng):
    out = {}
    for sex in ("f", "m"):
        for city in CITIES:
            own = (df["sex"] == sex) & (df["city"] == city)
            out[f"{city}/{sex}"] = int(round(own.sum() + rng.laplace(scale=1 / EPS)))
    return out


def R26_np_where(df, rng):
    points = np.where(df["age"] >= 65, 3, np.where(df["visits"] > 10, 2, 1))
    return np.sum(points) + rng.laplace(scale=3 / EPS)


def W26_np_where(df, rng):
    points = np.where(df["age"] >= 65, 30, np.where(df["visits"] > 10, 2, 1))
    return np.sum(points) + rng.laplace(scale=3 / EPS)


def R27_consistency(df, rng):
    n = df.groupby("city").size().reindex(CITIES, fill_value=0).to_numpy()
    noisy = np.maximum(n + rng.laplace(scale=1 / EPS, size=3), 0)
    total = noisy.sum()
    shares = noisy / total if total > 0 else np.full(3, 1 / 3)
    return pd.Series(shares, index=CITIES).to_dict()


def R28_module_generator_of_helper(df):
    return (df["age"] > 50).sum() + noise.RNG.laplace(scale=1 / EPS)


def R29_fillna(df, rng):
    income = df["income"].fillna(0).clip(0, 5000)
    return income.sum() + rng.laplace(scale=5000 / EPS)


def W29_no_fill(df, rng):
    income = df["income"].clip(0, 5000)
    return float(np.sum(income.to_numpy())) + rng.laplace(scale=5000 / EPS)


def R30_dropna_mean(df, rng):
    income = df["income"].dropna().clip(0, 5000)
    s = income.sum() + rng.laplace(scale=10000 / EPS)
    n = income.count() + rng.laplace(scale=2 / EPS)
    return round(s / max(n, 1), 2)


def R31_items_loop(df, rng):
    counts = df["sex"].value_counts().reindex(["f", "m"], fill_value=0)
    return {sex: max(0, round(n + rng.laplace(scale=1 / EPS))) for sex, n in counts.items()}


def R32_gumbel(df, rng):
    scores = np.array([(df["city"] == c).sum() for c in CITIES])
    return CITIES[np.argmax(scores + rng.gumbel(scale=1 / EPS, size=3))]


def R33_list_append(df, rng):
    found = []
    for low, high in [(0, 20), (20, 40), (40, 101)]:
        found.append(((df["age"] >= low) & (df["age"] < high)).sum() + rng.laplace(scale=1 / EPS))
    return np.array(found).round().astype(int).tolist()


def R34_groupby_two(df, rng):
    index = pd.MultiIndex.from_product([CITIES, ["f", "m"]])
    n = df.groupby(["city", "sex"]).size().reindex(index, fill_value=0)
    return n + rng.laplace(scale=1 / EPS, size=len(index))


def W35_print_raw(df, rng):
    n = (df["age"] > 50).sum()
    print(f"true count {n}")
    return n + rng.laplace(scale=1 / EPS)


def W36_logged_exact(df, rng):
    n = (df["age"] > 50).sum()
    return {"n": n + rng.laplace(scale=1 / EPS), "exact": n}


def R37_numpy_matrix(df, rng):
    x = df[["age", "visits"]].to_numpy(dtype=float) / np.array([100.0, 20.0])
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    x = x / np.maximum(norms, 1.0)
    return (x.T @ x) + rng.laplace(scale=4 / EPS, size=(2, 2))


def R38_default_args(df, rng, eps=1.0, cap=50):
    return df["visits"].clip(upper=cap).sum() + rng.laplace(scale=20 / eps)


def R39_sort_noisy(df, rng):
    n = df["city"].value_counts().reindex(CITIES, fill_value=0) + rng.laplace(scale=1 / EPS, size=3)
    return n.sort_values(ascending=False).index.tolist()


def R40_try_noisy(df, rng):
    n = len(df) + rng.laplace(scale=2 / EPS)
    s = df["age"].clip(0, 50).sum() + rng.laplace(scale=100 / EPS)
    return s / n if n > 1 else float("nan")
