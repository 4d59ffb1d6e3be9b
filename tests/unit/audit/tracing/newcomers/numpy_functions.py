# ruff: noqa: B905, C416, F841, NPY002, RUF059
import math

import numpy as np


def right_bincount(x, rng):
    k = x[:, 1].astype(int)
    return np.bincount(k, minlength=5) + rng.laplace(scale=1.0, size=5)


def right_bincount_weights(x, rng):
    k = np.clip(x[:, 1], 0, 4).astype(int)
    return np.bincount(k, weights=x[:, 0], minlength=5) + rng.laplace(scale=100.0, size=5)


def right_hist(x, rng):
    h, _ = np.histogram(x[:, 0], bins=20, range=(0.0, 100.0))
    return np.maximum(h + rng.laplace(0, 1.0, 20), 0)


def right_hist2d(x, rng):
    h, ex, ey = np.histogram2d(x[:, 0], x[:, 2], bins=(5, 5), range=((0, 100), (0, 10)))
    return h + rng.laplace(scale=1.0, size=(5, 5))


def right_loop_kinds(x, rng):
    out = np.zeros(5)
    for k in range(5):
        out[k] = np.sum(x[:, 1].astype(int) == k)
    return out + rng.laplace(scale=1.0, size=5)


def right_loop_append(x, rng):
    out = []
    for k in range(5):
        out.append(np.count_nonzero(x[:, 1].astype(int) == k))
    return np.array(out) + rng.laplace(scale=1.0, size=5)


def right_loop_sum(x, rng):
    out = [x[x[:, 1].astype(int) == k, 0].sum() for k in range(5)]
    return np.asarray(out) + rng.laplace(scale=100.0, size=len(out))


def right_select(x, rng):
    k = np.select([x[:, 0] < 18, x[:, 0] < 65], [0, 1], default=2)
    return np.bincount(k, minlength=3) + rng.laplace(scale=1.0, size=3)


def right_digitize(x, rng):
    k = np.digitize(x[:, 0], [18, 40, 65])
    return np.bincount(k, minlength=4) + rng.laplace(scale=1.0, size=4)


def right_add_at(x, rng):
    out = np.zeros(5)
    np.add.at(out, x[:, 1].astype(int), 1)
    return out + rng.laplace(scale=1.0, size=5)


def right_add_at_weights(x, rng):
    out = np.zeros(5)
    np.add.at(out, x[:, 1].astype(int), x[:, 0])
    return out + rng.laplace(scale=100.0, size=5)


def right_where(x, rng):
    return np.where(x[:, 0] > 50, 1, 0).sum() + rng.laplace(scale=1.0)


def right_where3(x, rng):
    return np.sum(np.where(x[:, 1] == 0, x[:, 0], 0.0)) + rng.laplace(scale=100.0)


def right_logical(x, rng):
    m = np.logical_and(x[:, 0] > 10, x[:, 2] < 5)
    return m.sum() + rng.laplace(scale=1.0)


def right_matmul_of_transposed(x, rng):
    return np.matmul(x[:, :1].T, x[:, :1]) + rng.laplace(scale=10000.0, size=(1, 1))


def right_concatenated_with_a_list(x, rng):
    parts = np.concatenate([np.clip(x[:, :2], 0, 1).sum(axis=0), [(x[:, 0] > 1).sum(), 3]])
    return parts + rng.laplace(scale=3.0, size=4)


def right_multivariate_identity(x, rng):
    s = x[:, [0, 2]].sum(axis=0) / np.array([100.0, 10.0])
    return s + rng.multivariate_normal(np.zeros(2), 36 * np.eye(2))


right_multivariate_identity.claim = "eps=1, delta=1e-5"


def right_multivariate_diag(x, rng):
    s = x[:, [0, 2]].sum(axis=0)
    return s + rng.multivariate_normal(mean=[0, 0], cov=np.diag([250000.0, 2500.0]))


right_multivariate_diag.claim = "mu=0.5"


def right_multivariate_full(x, rng):
    s = x[:, [0, 2]].sum(axis=0)
    return rng.multivariate_normal(s, [[90000.0, 100.0], [100.0, 90000.0]])


right_multivariate_full.claim = "mu=1"


def right_median_noisy_hist(x, rng):
    h, e = np.histogram(x[:, 0], bins=100, range=(0, 100))
    c = np.cumsum(h + rng.laplace(scale=1.0, size=100))
    return e[np.searchsorted(c, c[-1] / 2)]


def right_mean(x, rng):
    n = len(x) + rng.laplace(scale=2.0)
    s = np.clip(x[:, 0], 0, 100).sum() + rng.laplace(scale=200.0)
    return s / n if n > 1 else 0.0


def right_variance(x, rng):
    a = x[:, 2]
    n = a.shape[0] + rng.laplace(scale=3.0)
    s1 = a.sum() + rng.laplace(scale=30.0)
    s2 = (a**2).sum() + rng.laplace(scale=300.0)
    return s2 / n - (s1 / n) ** 2


def right_gauss_hist(x, rng):
    sigma = math.sqrt(2 * math.log(1.25 / 1e-5)) / 0.9
    h = np.histogram(x[:, 0], bins=np.linspace(0, 100, 11))[0]
    return h + rng.normal(0, sigma, size=h.shape)


right_gauss_hist.claim = "eps=1, delta=1e-5"


def right_list_len(x, rng):
    return len([1]) * x.shape[0] + rng.laplace(scale=1.0)


def right_size(x, rng):
    return x[:, 0].size + rng.laplace(scale=1.0)


def right_np_random(x):
    return x[:, 0].sum() + np.random.laplace(0, 100)


def right_exp_mech(x, rng):
    cands = np.arange(0, 101, 10)
    u = np.array([-np.abs(np.sum(x[:, 0] < c) - np.sum(x[:, 0] > c)) for c in cands])
    w = np.exp(0.5 * u - np.max(0.5 * u))
    return rng.choice(cands, p=w / w.sum())


def right_gumbel(x, rng):
    s = np.array([np.sum(x[:, 1].astype(int) == k) for k in range(5)])
    return int(np.argmax(s + rng.gumbel(scale=2.0, size=5)))


def right_randomised_cells_dict(x, rng):
    return {k: int(np.sum(x[:, 1].astype(int) == k) + rng.laplace(scale=1.0)) for k in range(5)}


def right_normalised(x, rng):
    z = x / np.array([100.0, 4.0, 10.0])
    return z.mean(axis=0) if False else z.sum(axis=0) + rng.laplace(scale=3.0, size=3)


def right_norm_clip(x, rng):
    n = np.linalg.norm(x, axis=1, keepdims=True)
    y = x * np.minimum(1.0, 5.0 / np.maximum(n, 1e-12))
    return y.sum(axis=0) + rng.normal(scale=25.0, size=3)


right_norm_clip.claim = "mu=0.2"


def right_tree(x, rng):
    h = np.histogram(x[:, 0], bins=8, range=(0, 100))[0]
    levels = [h + rng.laplace(scale=2.0, size=8), h.reshape(4, 2).sum(axis=1) + rng.laplace(scale=2.0, size=4)]
    return levels


def right_cumulative(x, rng):
    edges = [25, 50, 75]
    return [np.sum(x[:, 0] <= e) + rng.laplace(scale=3.0) for e in edges]


def right_sum_axis0(x, rng):
    return np.sum(np.clip(x, 0, 1), axis=0) + rng.laplace(scale=3.0, size=3)


def right_einsum(x, rng):
    return np.einsum("i,i->", x[:, 0], x[:, 2]) + rng.laplace(scale=1000.0)


def right_dot(x, rng):
    return x[:, 0] @ x[:, 2] + rng.laplace(scale=1000.0)


def right_nansum(x, rng):
    return np.nansum(x[:, 0]) + rng.laplace(scale=100.0)


def right_vstack(x, rng):
    a, b = x[:, 0], x[:, 2]
    return np.array([a.sum() / 100, b.sum() / 10, len(a)]) + rng.laplace(scale=3.0, size=3)


def right_unpack(x, rng):
    a, k, s = x.T
    return a.sum() + rng.laplace(scale=100.0)


def right_threshold(x, rng):
    n = len(x) + rng.laplace(scale=1.0)
    return n if n > 20 else None


def right_try(x, rng):
    try:
        return x[:, 0].sum() + rng.laplace(scale=100.0)
    except ValueError:
        return None


def right_while(x, rng):
    out, k = [], 0
    while k < 3:
        out.append((x[:, 1].astype(int) == k).sum() + rng.laplace(scale=1.0))
        k += 1
    return out


def right_inplace_noise(x, rng):
    h = np.histogram(x[:, 0], bins=4, range=(0, 100))[0].astype(float)
    h += rng.laplace(scale=1.0, size=4)
    return h


def right_unique_public(x, rng):
    k = x[:, 1].astype(int)
    return {v: np.count_nonzero(k == v) + rng.laplace(scale=1.0) for v in (0, 1, 2, 3, 4)}


def right_eye(x, rng):
    k = x[:, 1].astype(int)
    return np.eye(5)[k].sum(axis=0) + rng.laplace(scale=1.0, size=5)


def right_broadcast_onehot(x, rng):
    k = x[:, 1].astype(int)
    return (k[:, None] == np.arange(5)).sum(axis=0) + rng.laplace(scale=1.0, size=5)


def right_ravel(x, rng):
    return np.clip(x, 0, 1).sum() + rng.laplace(scale=3.0)


def right_floor_div(x, rng):
    k = (x[:, 0] // 25).astype(int)
    return np.bincount(np.minimum(k, 3), minlength=4) + rng.laplace(scale=1.0, size=4)


def right_ptp_public(x, rng):
    lo, hi = 0, 100
    z = (x[:, 0] - lo) / (hi - lo)
    return z.sum() + rng.laplace(scale=1.0)


# wrong
def wrong_median(x, rng):
    return np.median(x[:, 0]) + rng.laplace(scale=100.0)


def wrong_percentile(x, rng):
    return np.percentile(x[:, 0], 90) + rng.laplace(scale=10.0)


def wrong_quantile_bounds(x, rng):
    lo, hi = np.quantile(x[:, 0], [0.05, 0.95])
    return np.clip(x[:, 0], lo, hi).sum() + rng.laplace(scale=100.0)


def wrong_bincount_short(x, rng):
    k = np.minimum(x[:, 1].astype(int), 3)
    return np.bincount(k, minlength=2) + rng.laplace(scale=1.0, size=4)


def wrong_add_at_order(x, rng):
    out = np.zeros(5)
    np.add.at(out, x[:, 1].astype(int), 1)
    np.add.at(out, x[:, 1].astype(int), 1)
    return out + rng.laplace(scale=1.0, size=5)


def wrong_add_at_alias(x, rng):
    out = np.zeros(5)
    view = out[:]
    np.add.at(out, x[:, 1].astype(int), 1)
    return view, out + rng.laplace(scale=1.0, size=5)


def wrong_add_at_scale(x, rng):
    out = np.zeros(5)
    np.add.at(out, x[:, 1].astype(int), x[:, 0])
    return out + rng.laplace(scale=10.0, size=5)


def wrong_multivariate_small(x, rng):
    s = x[:, [0, 2]].sum(axis=0)
    return s + rng.multivariate_normal([0, 0], np.diag([100.0, 100.0]))


wrong_multivariate_small.claim = "mu=1"


def wrong_multivariate_sd(x, rng):
    s = x[:, [0, 2]].sum(axis=0)
    return s + rng.multivariate_normal([0, 0], np.diag([200.0, 20.0]))


wrong_multivariate_sd.claim = "mu=1"


def wrong_multivariate_singular(x, rng):
    s = x[:, [0, 2]].sum(axis=0)
    return s + rng.multivariate_normal([0, 0], [[1e6, 1e6], [1e6, 1e6]])


wrong_multivariate_singular.claim = "mu=1"


def wrong_multivariate_asym(x, rng):
    s = x[:, [0, 2]].sum(axis=0)
    return s + rng.multivariate_normal([0, 0], [[1e6, 1e6], [0, 1e6]])


wrong_multivariate_asym.claim = "mu=1"


def wrong_multivariate_data(x, rng):
    s = x[:, [0, 2]].sum(axis=0)
    return s + rng.multivariate_normal([0, 0], np.cov(x[:, [0, 2]].T))


wrong_multivariate_data.claim = "mu=1"


def wrong_multivariate_indefinite(x, rng):
    s = x[:, [0, 2]].sum(axis=0)
    return s + rng.multivariate_normal([0, 0], [[1e6, 2e6], [2e6, 1e6]], check_valid="ignore")


wrong_multivariate_indefinite.claim = "mu=1"


def wrong_unique(x, rng):
    v, c = np.unique(x[:, 1], return_counts=True)
    return dict(zip(v, c + rng.laplace(scale=1.0, size=len(c))))


def wrong_max_scale(x, rng):
    return x[:, 0].sum() + rng.laplace(scale=x[:, 0].max())


def wrong_sorted(x, rng):
    return np.sort(x[:, 0])[:3].sum() + rng.laplace(scale=300.0)


def wrong_first(x, rng):
    return x[0, 0] + rng.laplace(scale=100.0)


def wrong_std(x, rng):
    return x[:, 0].std() + rng.laplace(scale=100.0)


def wrong_len_div(x, rng):
    return x[:, 0].sum() / len(x) + rng.laplace(scale=100.0)


def wrong_select_scale(x, rng):
    k = np.select([x[:, 0] < 18, x[:, 0] < 65], [0, 10], default=2)
    return k.sum() + rng.laplace(scale=2.0)


def wrong_tree(x, rng):
    h = np.histogram(x[:, 0], bins=8, range=(0, 100))[0]
    return [h + rng.laplace(scale=1.0, size=8), h.reshape(4, 2).sum(axis=1) + rng.laplace(scale=1.0, size=4)]


def wrong_eye(x, rng):
    k = x[:, 1].astype(int)
    return (2 * np.eye(5))[k].sum(axis=0) + rng.laplace(scale=1.0, size=5)


# arrays that are filled, and shown by another name


def wrong_build_view(x, rng):
    out = np.zeros(3)
    v = out[:]
    out[0] = x[:, 0].sum()
    return v, out + rng.laplace(scale=100.0, size=3)


def wrong_view_later(x, rng):
    out = np.zeros(3)
    out[0] = x[:, 0].sum()
    v = out[:]
    out[0] = 1e6 * x[:, 0].sum()
    return v + rng.laplace(scale=100.0, size=3)


def wrong_asarray(x, rng):
    out = np.zeros(3)
    v = np.asarray(out)
    out[0] = x[:, 0].sum()
    return v, out + rng.laplace(scale=100.0, size=3)


def wrong_asarray_later(x, rng):
    out = np.zeros(3)
    out[0] = x[:, 0].sum()
    v = np.asarray(out)
    out[0] = 1e6 * x[:, 0].sum()
    return v + rng.laplace(scale=100.0, size=3)


def wrong_T(x, rng):
    out = np.zeros(3)
    v = out.T
    out[0] = x[:, 0].sum()
    return v, out + rng.laplace(scale=100.0, size=3)


def wrong_ravel(x, rng):
    out = np.zeros((3, 1))
    v = np.ravel(out)
    out[0, 0] = x[:, 0].sum()
    return v, out + rng.laplace(scale=100.0, size=(3, 1))


def wrong_reshape(x, rng):
    out = np.zeros((3, 1))
    v = out.reshape(3)
    out[0, 0] = x[:, 0].sum()
    return v, out + rng.laplace(scale=100.0, size=(3, 1))


def wrong_rows(x, rng):
    out = np.zeros((3, 1))
    v = [r for r in out]
    out[0, 0] = x[:, 0].sum()
    return v, out + rng.laplace(scale=100.0, size=(3, 1))


def wrong_row(x, rng):
    out = np.zeros((3, 1))
    v = out[0]
    out[0, 0] = x[:, 0].sum()
    return v, out + rng.laplace(scale=100.0, size=(3, 1))


def wrong_flat(x, rng):
    out = np.zeros(3)
    v = out.flat
    out[0] = x[:, 0].sum()
    return list(v), out + rng.laplace(scale=100.0, size=3)


def right_scale_view(x, rng):
    sc = np.ones(1)
    z = np.zeros(1)
    v = z[:]
    v[0] = 1.0
    return x[:, 0].sum() + rng.laplace(scale=100 * z[0])


def wrong_broadcast(x, rng):
    out = np.zeros(1)
    v = np.broadcast_to(out, (2, 1))
    out[0] = x[:, 0].sum()
    return v, out + rng.laplace(scale=100.0, size=1)


def wrong_list_alias(x, rng):
    out = np.zeros(1)
    v = list(out.reshape(1, 1))
    out[0] = x[:, 0].sum()
    return v, out + rng.laplace(scale=100.0, size=1)


def wrong_astype_nocopy(x, rng):
    out = np.zeros(1)
    v = out.astype(float, copy=False)
    out[0] = x[:, 0].sum()
    return v, out + rng.laplace(scale=100.0, size=1)


def wrong_array_nocopy(x, rng):
    out = np.zeros(1)
    v = np.array(out, copy=None)
    out[0] = x[:, 0].sum()
    return v, out + rng.laplace(scale=100.0, size=1)


def wrong_ones_then(x, rng):
    out = np.zeros(2)
    a, b = out[:1], out[1:]
    out[0] = x[:, 0].sum()
    return a, out + rng.laplace(scale=100.0, size=2)


def wrong_iadd_slice(x, rng):
    out = np.zeros(2)
    v = out[:1]
    v += x[:, 0].sum()
    return out + rng.laplace(scale=1.0, size=2)


def wrong_noise_then(x, rng):
    out = np.zeros(2)
    v = out
    out[0] = x[:, 0].sum()
    out += rng.laplace(scale=100.0, size=2)
    v[1] = x[:, 0].sum()
    return out


def wrong_overwrite_noise(x, rng):
    out = np.zeros(2)
    out[0] = x[:, 0].sum()
    n = out + rng.laplace(scale=100.0, size=2)
    n[1] = x[:, 0].sum()
    return n


def wrong_add_at_out(x, rng):
    out = np.zeros(5)
    k = x[:, 1].astype(int)
    np.add.at(out, k, 1)
    np.add.at(out, [0], 5)
    np.add.at(out, k, x[:, 0] / 100)
    return out + rng.laplace(scale=1.0, size=5)


def wrong_subtract_at(x, rng):
    out = np.zeros(5)
    np.subtract.at(out, x[:, 1].astype(int), 9)
    return out + rng.laplace(scale=1.0, size=5)


def wrong_at_negative(x, rng):
    out = np.zeros(5)
    np.add.at(out, x[:, 1].astype(int) - 1, 1)
    return out + rng.laplace(scale=1.0, size=5)


def wrong_at_public_cells(x, rng):
    out = np.zeros(5)
    np.add.at(out, [0, 0], x[:2, 0])
    return out + rng.laplace(scale=1.0, size=5)


def right_view_none(x, rng):
    out = np.zeros(3)
    for i in range(3):
        out[i] = x[:, i].sum() + rng.laplace(scale=300.0)
    return np.clip(out, 0, None), out / out.sum(), out[0], out.copy(), out[1:]


def right_build_rows(x, rng):
    out = np.zeros((2, 3))
    out[0] = x.sum(axis=0)
    out[1] = 0
    return out + rng.laplace(scale=300.0, size=(2, 3))


def right_cum(x, rng):
    out = np.zeros(4)
    for i in range(3):
        out[i + 1] = out[i] + 1
    return out + x[:, 0].sum() / 4 + rng.laplace(scale=100.0, size=4)
