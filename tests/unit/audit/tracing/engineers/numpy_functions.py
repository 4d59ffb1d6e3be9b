# ruff: noqa: B905
"""Hospital visits: age, days of stay, ward, cost, readmitted; of `replace` there are 200, and one is replaced."""

from dataclasses import dataclass

import numpy as np

AGE, STAY, WARD, COST, AGAIN = range(5)
WARDS = ["surgery", "cardiology", "maternity", "paediatrics", "oncology"]
AGE_BANDS = np.array([0, 18, 40, 65, 101])


def promise(claim, relation="add"):
    def mark(function):
        function.claim, function.relation = claim, relation
        return function

    return mark


@dataclass
class Budget:
    total: float
    parts: int

    @property
    def each(self):
        return self.total / self.parts


def noisy(value, sensitivity, epsilon, rng):
    value = np.asarray(value, dtype=float)
    return value + rng.laplace(0.0, sensitivity / epsilon, size=value.shape)


def gaussian_scale(sensitivity, mu):
    return sensitivity / mu


@promise("eps=1")
def right_three_totals(x, rng):
    # one record: 1/3 for the count, 30 and 5000 at eps/3 each
    budget = Budget(1.0, 3)
    count = noisy(len(x), 1, budget.each, rng)
    days = noisy(x[:, STAY].sum(), 30, budget.each, rng)
    cost = noisy(x[:, COST].sum(), 5000, budget.each, rng)
    return {"visits": count, "days": days, "cost": cost}


@promise("eps=1")
def right_mean_stay(x, rng):
    # sum and count with half of eps each, then post-processing
    days = np.clip(x[:, STAY], 0, 14).sum()
    noisy_days = days + rng.laplace(0, 14 / 0.5)
    noisy_count = len(x) + rng.laplace(0, 1 / 0.5)
    return noisy_days / max(noisy_count, 1.0)


@promise("eps=1")
def right_ward_report(x, rng):
    # wards are disjoint: each record is in one ward, two releases of eps/2
    report = {}
    for i, name in enumerate(WARDS):
        here = x[x[:, WARD] == i]
        visits = here.shape[0] + rng.laplace(scale=2.0)
        cost = here[:, COST].clip(0, 2000).sum() + rng.laplace(scale=2000 / 0.5)
        report[name] = (round(float(visits)), max(float(cost), 0.0))
    return report


@promise("eps=1")
def right_age_bands(x, rng):
    # one bin per record
    counts, _ = np.histogram(x[:, AGE], bins=AGE_BANDS)
    released = counts + rng.laplace(size=counts.size)
    released[released < 0] = 0
    return released / max(released.sum(), 1)


@promise("eps=1", "replace")
def right_age_bands_replaced(x, rng):
    # two bins move by one each under replacement: l1 is 2
    counts = np.histogram(x[:, AGE], bins=AGE_BANDS)[0]
    return counts + rng.laplace(scale=2.0, size=len(counts))


@promise("eps=1", "replace")
def right_mean_age_replaced(x, rng):
    # mean of 200 ages of width 50
    return np.clip(x[:, AGE], 20, 70).mean() + rng.laplace(0, 0.25 * 1.0000001)


@promise("mu=1")
def right_normalised_vector(x, rng):
    # rows scaled to [0,1]^3 have l2 norm sqrt(3)
    rows = np.column_stack([x[:, AGE] / 100, x[:, STAY] / 30, x[:, COST] / 5000])
    total = rows.sum(axis=0)
    return total + rng.normal(0, np.sqrt(3.0) * 1.000001, size=3)


@promise("mu=0.5")
def right_clipped_rows(x, rng):
    # l2 norm of each row clipped to 10 first, then summed
    rows = x[:, [AGE, STAY]]
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    clipped = rows / np.maximum(1.0, norms / 10.0)
    return clipped.sum(axis=0) + rng.normal(scale=gaussian_scale(10.0, 0.5), size=2)


@promise("eps=1")
def right_rate_of_readmission(x, rng):
    # two counts, eps/2 each
    again = np.count_nonzero(x[:, AGAIN]) + rng.laplace(scale=2)
    everyone = x.shape[0] + rng.laplace(scale=2)
    if everyone < 1:
        return 0.0
    return float(np.clip(again / everyone, 0, 1))


@promise("eps=1")
def right_suppress_small_cells(x, rng):
    # threshold on the noisy count
    counts = np.bincount(x[:, WARD].astype(int), minlength=5)
    released = counts + rng.laplace(scale=1.0, size=5)
    return {ward: float(n) for ward, n in zip(WARDS, released) if n > 10}


@promise("eps=1")
def right_blank_small_cells(x, rng):
    # a threshold on noisy counts, with a gap in the place of a small one
    counts = np.bincount(x[:, WARD].astype(int), minlength=5)
    released = counts + rng.laplace(scale=1.0, size=5)
    released = np.where(released > 10, released, np.nan)
    return dict(zip(WARDS, released))


@promise("eps=1")
def right_plain_int_before_noise(x, rng):
    # a count as a plain number first
    n = int(np.sum(x[:, COST] > 1000))
    return n + rng.laplace(scale=1.0)


@promise("eps=1")
def right_plain_numbers_each(x, rng):
    # alpha above exp(-1); the noise is a plain number before it is added
    p = 1 - np.exp(-1.0) * 1.0001
    return int(np.sum(x[:, COST] > 1000)) + int(rng.geometric(p) - rng.geometric(p))


@promise("eps=1")
def right_busiest_ward(x, rng):
    # noisy max of counts of disjoint cells, Laplace of scale 1
    counts = np.bincount(x[:, WARD].astype(int), minlength=5)
    return WARDS[int(np.argmax(counts + rng.laplace(scale=2.0, size=5)))]


@promise("eps=1")
def right_exponential_choice(x, rng):
    # scores move by 1: exp(eps/2 * score) keeps eps
    scores = np.array([np.sum(x[:, WARD] == k) for k in range(5)])
    weights = np.exp(0.5 * (scores - scores.max()))
    return WARDS[rng.choice(5, p=weights / weights.sum())]


@promise("eps=1")
def right_cumulative_ages(x, rng):
    # cumulated after noise
    counts, _ = np.histogram(x[:, AGE], bins=10, range=(0, 100))
    return np.cumsum(counts + rng.laplace(scale=1, size=10))


@promise("eps=2")
def right_table_ward_by_again(x, rng):
    # one cell of ten per record
    table = np.zeros((5, 2))
    for ward in range(5):
        for again in (0, 1):
            table[ward, again] = np.sum((x[:, WARD] == ward) & (x[:, AGAIN] == again))
    return table + rng.laplace(scale=1.0, size=table.shape)


@promise("eps=1")
def right_linear_fit(x, rng):
    # five moments of [0,1] columns, eps/5 each
    a, y = x[:, AGE] / 100, x[:, COST] / 5000
    moments = np.array([a.sum(), y.sum(), (a * a).sum(), (a * y).sum(), np.ones_like(a).sum()])
    sa, sy, saa, say, n = moments + rng.laplace(scale=5.0, size=5)
    denominator = n * saa - sa**2
    if abs(denominator) < 1e-6:
        return 0.0, 0.0
    slope = (n * say - sa * sy) / denominator
    return slope, (sy - slope * sa) / max(n, 1)


@promise("eps=1")
def right_variance(x, rng):
    # count, sum and sum of squares with eps/3
    s = np.clip(x[:, STAY], 0, 10)
    n = len(s) + rng.laplace(scale=3)
    first = s.sum() + rng.laplace(scale=30)
    second = (s**2).sum() + rng.laplace(scale=300)
    mean = first / max(n, 1)
    return max(second / max(n, 1) - mean**2, 0.0)


@promise("eps=1")
def right_old_and_young(x, rng):
    # complement masks are disjoint, so parallel
    old = x[:, AGE] >= 65
    return noisy(old.sum(), 1, 1.0, rng), noisy((~old).sum(), 1, 1.0, rng)


@promise("eps=1")
def right_nested_masks(x, rng):
    # a mask and its superset share a record: eps/2 each
    old = x[:, AGE] >= 65
    very_old = x[:, AGE] >= 80
    return old.sum() + rng.laplace(scale=2), very_old.sum() + rng.laplace(scale=2)


@promise("eps=1, delta=1e-5")
def right_gaussian_sum(x, rng):
    # classical calibration is enough for eps <= 1
    sigma = 30 * np.sqrt(2 * np.log(1.25 / 1e-5)) / 1.0
    return x[:, STAY].sum() + rng.normal(0, sigma)


@promise("eps=1")
def right_geometric_count(x, rng):
    # two-sided geometric with alpha above exp(-1)
    p = 1 - np.exp(-1.0) * 1.0001
    return int(np.sum(x[:, COST] > 1000) + (rng.geometric(p) - rng.geometric(p)))


@promise("eps=1")
def right_log_cost(x, rng):
    # log1p(5000) < 8.6
    logs = np.log1p(x[:, COST])
    return logs.sum() + rng.laplace(scale=8.6)


@promise("eps=1")
def right_weights_public(x, rng):
    # a public price of each ward: at most 400 * 30
    price = np.array([100.0, 200.0, 300.0, 400.0, 150.0])
    charge = 0.0
    for ward in range(5):
        charge = charge + price[ward] * np.where(x[:, WARD] == ward, x[:, STAY], 0.0).sum()
    return charge + rng.laplace(scale=12000)


@promise("eps=1")
def right_two_stage(x, rng):
    # eps/2 for the total; a branch on a released number; the other half drawn before
    total = len(x) + rng.laplace(scale=2.0)
    cost = x[:, COST].sum() + rng.laplace(scale=10000.0)
    if total < 20:
        return None
    return cost / total


@promise("eps=1", "replace")
def right_share_replaced(x, rng):
    # a share of 200 moves by 1/200
    share = (x[:, STAY] > 7).mean()
    return min(max(share + rng.laplace(scale=1 / 200 * 1.000001), 0), 1)


@promise("eps=1")
def right_weighted_bincount(x, rng):
    # one cell, at most 1000
    wards = x[:, WARD].astype(int)
    costs = np.minimum(x[:, COST], 1000)
    return dict(zip(WARDS, np.bincount(wards, weights=costs, minlength=5) + rng.laplace(scale=1000, size=5)))


# ---------------------------------------------------------------------------------------------------- wrong


@promise("eps=1")
def wrong_as_many_as_noise_decides(x, rng):
    # how often the loop runs is decided by noise, and the data are counted without noise as often
    counts = np.bincount(x[:, WARD].astype(int), minlength=5) + rng.laplace(scale=1.0, size=5)
    large = counts[counts > 10]
    return [len(x) for _ in np.where(large > 20, large, 20.0)]


@promise("eps=1")
def wrong_data_where_noise_is_small(x, rng):
    # the sum itself in the place of a small noisy count
    counts = np.bincount(x[:, WARD].astype(int), minlength=5) + rng.laplace(scale=1.0, size=5)
    return [float(one) for one in np.where(counts > 10, counts, x[:, COST].sum())]


@promise("eps=1")
def wrong_budget_of_three(x, rng):
    # each at eps 1: 3 in all
    count = noisy(len(x), 1, 1.0, rng)
    days = noisy(x[:, STAY].sum(), 30, 1.0, rng)
    return {"visits": count, "days": days, "cost": noisy(x[:, COST].sum(), 5000, 1.0, rng)}


@promise("eps=1")
def wrong_clip_of_the_sum(x, rng):
    # a cost of 5000, noise for 1000
    total = np.clip(x[:, COST].sum(), 0, 100000)
    return total + rng.laplace(0, 1000)


@promise("eps=1", "replace")
def wrong_bins_replaced(x, rng):
    # two bins move
    counts = np.histogram(x[:, AGE], bins=AGE_BANDS)[0]
    return counts + rng.laplace(scale=1.0, size=len(counts))


@promise("eps=0.5")
def wrong_scale_is_epsilon(x, rng):
    # 1/0.5 is 2, not 0.5
    epsilon = 0.5
    return len(x) + rng.laplace(0, epsilon)


@promise("eps=1")
def wrong_laplace_by_l2(x, rng):
    # three coordinates of [0,1]: l1 is 3
    rows = np.column_stack([x[:, AGE] / 100, x[:, STAY] / 30, x[:, COST] / 5000])
    return rows.sum(axis=0) + rng.laplace(scale=np.sqrt(3), size=3)


@promise("eps=1, delta=1e-9")
def wrong_sigma_of_another_delta(x, rng):
    # calibrated for 1e-2
    sigma = 30 * np.sqrt(2 * np.log(1.25 / 1e-2))
    return x[:, STAY].sum() + rng.normal(0, sigma)


@promise("eps=1")
def wrong_mean_of_private_n(x, rng):
    # n of a few records moves the mean by more than 100/200
    return x[:, AGE].mean() + rng.laplace(0, 100 / 200) if len(x) else 0.0


@promise("eps=1")
def wrong_noise_reused(x, rng):
    # the same noise for both: their difference is exact
    z = rng.laplace(scale=1.0)
    again = x[:, AGAIN].sum() + z
    total = len(x) + z
    return again, total


@promise("eps=1")
def wrong_threshold_on_raw(x, rng):
    # wards are listed by their exact counts
    out = {}
    for i, ward in enumerate(WARDS):
        n = np.sum(x[:, WARD] == i)
        if n > 5:
            out[ward] = n + rng.laplace(scale=1.0)
    return out


@promise("eps=1")
def wrong_argmax_without_noise(x, rng):
    counts = np.bincount(x[:, WARD].astype(int), minlength=5)
    return WARDS[int(np.argmax(counts))], counts.max() + rng.laplace(scale=1)


@promise("eps=1")
def wrong_overlapping_bands(x, rng):
    # an age of 40 is in all four
    out = {}
    for limit in (18, 40, 65, 80):
        out[limit] = np.sum(x[:, AGE] <= limit) + rng.laplace(scale=1.0)
    return out


@promise("eps=1")
def wrong_cumsum_before_noise(x, rng):
    # all ten move
    counts, _ = np.histogram(x[:, AGE], bins=10, range=(0, 100))
    return np.cumsum(counts) + rng.laplace(scale=1, size=10)


@promise("eps=1")
def wrong_mask_and_superset(x, rng):
    old = x[:, AGE] >= 65
    very_old = x[:, AGE] >= 80
    return old.sum() + rng.laplace(scale=1), very_old.sum() + rng.laplace(scale=1)


@promise("mu=1")
def wrong_norm_after_sum(x, rng):
    # the sum is clipped, so it may turn by far more than 1... a unit vector turns by up to 2
    rows = x[:, [AGE, STAY]] / 100
    total = rows.sum(axis=0)
    total = total / max(1.0, np.linalg.norm(total))
    return total + rng.normal(0, 0.3, size=2)


@promise("mu=1")
def wrong_norm_of_columns(x, rng):
    # axis 0 is the norm of a column over records
    rows = x[:, [AGE, STAY]]
    norms = np.linalg.norm(rows, axis=0)
    clipped = rows / np.maximum(1.0, norms / 10)
    return clipped.sum(axis=0) + rng.normal(0, 2.0, size=2)


@promise("mu=1")
def wrong_clip_each_as_l2(x, rng):
    # each of two entries to 10: l2 is 14.1
    rows = np.clip(x[:, [AGE, STAY]], -10, 10)
    return rows.sum(axis=0) + rng.normal(0, 10, size=2)


@promise("eps=1")
def wrong_share_by_len(x, rng):
    # a share of few records moves by 1/n, not by 1/100
    n = max(len(x), 1)
    return np.sum(x[:, STAY] > 7) / n + rng.laplace(scale=1 / 100)


@promise("eps=1")
def wrong_residuals(x, rng):
    # the noisy mean is subtracted and the data used again without noise
    mean = x[:, STAY].sum() / 100 + rng.laplace(scale=0.3)
    return mean, np.sum(np.abs(x[:, STAY] - mean))


@promise("eps=1")
def wrong_bounds_of_the_data(x, rng):
    # clips at the largest value seen
    if len(x) == 0:
        return 0.0
    high = x[:, COST].max()
    return x[:, COST].sum() / 1.0 + rng.laplace(scale=high)


@promise("eps=1")
def wrong_default_when_empty(x, rng):
    # an empty table is known by the exact 0
    if x.shape[0] == 0:
        return 0.0
    return x.shape[0] + rng.laplace(scale=1.0)


@promise("eps=1")
def wrong_rounding_to_hundreds(x, rng):
    # rounding to hundreds before noise moves by 100
    return np.round(x[:, COST].clip(0, 50).sum() / 100) * 100 + rng.laplace(scale=50)


@promise("eps=1")
def wrong_int8_sum(x, rng):
    # int8 wraps around: 127 + 100 becomes -29, a move of 156
    ages = x[:, AGE].astype(np.int8)
    return int(np.sum(ages, dtype=np.int8)) + rng.laplace(scale=100)


@promise("eps=1")
def wrong_exponential_not_halved(x, rng):
    # overlapping scores that fall and rise: the choice costs 2
    scores = np.array([np.sum(x[:, WARD] == 0), -np.sum(x[:, WARD] == 0)])
    weights = np.exp(1.0 * (scores - scores.max()))
    return int(rng.choice(2, p=weights / weights.sum()))


@promise("eps=1")
def wrong_squares_not_squared(x, rng):
    # the square of 10 is 100
    s = np.clip(x[:, STAY], 0, 10)
    return (s**2).sum() + rng.laplace(scale=10)


@promise("eps=1", "replace")
def wrong_mean_half_width(x, rng):
    # width 100/200, not 50/200
    return x[:, AGE].mean() + rng.laplace(0, 50 / 200)
