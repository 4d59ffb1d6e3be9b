"""Four releases of a table of patients: what one writes at first, and what is certified."""

CITIES = ["Bonn", "Oslo", "Rome"]


def first_try(patients, rng):
    mean = patients["cost"].mean()
    return mean + rng.laplace(scale=1000 / len(patients))


def second_try(patients, rng):
    cost = patients["cost"].fillna(0).clip(0, 1000)
    return cost.sum() + rng.laplace(scale=1000), len(patients) + rng.laplace(scale=1)


def mean_cost(patients, rng):
    cost = patients["cost"].fillna(0).clip(0, 1000)
    total = cost.sum() + rng.laplace(scale=1000 / 0.5)
    count = len(patients) + rng.laplace(scale=1 / 0.5)
    return total / max(count, 1)


def patients_by_city(patients, rng):
    counts = patients["city"].value_counts().reindex(CITIES, fill_value=0)
    noisy = counts + rng.laplace(scale=1, size=len(CITIES))
    return noisy.clip(lower=0).round()
