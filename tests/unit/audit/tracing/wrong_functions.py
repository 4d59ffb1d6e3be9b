"""Functions that break their claim, or whose claim nobody can be sure of: none may be certified.

Each takes an array of NumPy of the columns a, b, c in [0, 100], or a frame of pandas, and claims eps=1 (add-or-remove).
"""

# ruff: noqa: NPY002, B006
# mypy: ignore-errors

import copy
import functools
import math
import pickle
import random
import time
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.stats

CITIES = ["Bonn", "Oslo", "Rome"]
LOG = []
CACHE = {}
COUNT = 0
RNG = np.random.default_rng()
GENERATOR_OF_MODULE = random.Random()


@functools.lru_cache  # as users have it
def kept_noise(scale):
    return np.random.laplace(scale=scale)


def laplace(rng, scale, size=None):
    return rng.laplace(scale=scale, size=size)


class Ghost(float):
    """A number that vanishes, and lets others vanish, where it stands at the right."""

    def __radd__(self, other):
        return other * 1000

    def __rmul__(self, other):
        return 0


class numpy_forms:
    """Of an array with the columns a, b, c."""

    def no_noise(x, rng):
        return x.sum()

    def own_number_that_scales(x, rng):
        return x[:, 0].sum() + Ghost(1) + rng.laplace(scale=100)

    def own_number_that_removes_noise(x, rng):
        return x[:, 0].sum() + rng.laplace(scale=100) * Ghost(1)

    def own_number_as_scale(x, rng):
        return x[:, 0].sum() + rng.laplace(scale=Ghost(100))

    def own_number_in_a_list(x, rng):
        return np.clip(x[:, 0], *[0, Ghost(100)]).sum() + rng.laplace(scale=100)

    def forgotten_factor(x, rng):
        return np.clip(x, 0, 10).sum(axis=0) + rng.laplace(scale=10, size=3)

    def half_the_scale(x, rng):
        return np.clip(x[:, 0], 0, 10).sum() + rng.laplace(scale=5)

    def bits_of_integers(x, rng):
        return (x[:, 0].astype(int) & 127).sum() + rng.laplace()

    def bits_of_two_columns(x, rng):
        return (x[:, 0].astype(int) | x[:, 1].astype(int)).sum() + rng.laplace()

    def inverted_integers(x, rng):
        return (~x[:, 0].astype(int)).sum() + rng.laplace()

    def comparison_that_some_records_pass(x, rng):
        return (x[:, 0] >= 100).sum() + rng.laplace(scale=0.5)

    def comparison_of_sums_that_overlap(x, rng):
        return ((x[:, 0] + x[:, 1]) > 199).sum() + rng.laplace(scale=0.5)

    def remainder_of_what_is_larger(x, rng):
        return (x[:, 0] % 100).sum() + rng.laplace(scale=50)

    def number_of_records(x, rng):
        return len(x) + 0 * rng.laplace()

    def shape_of_records(x, rng):
        return x.shape[0]

    def scale_over_records(x, rng):
        return x[:, 0].mean() + rng.laplace(scale=100 / len(x))

    def branch_on_data(x, rng):
        s = x[:, 0].sum()
        return s + rng.laplace(scale=100) if s > 3 else 0.0

    def raw_beside_noisy(x, rng):
        s = x[:, 0].sum()
        return {"noisy": s + rng.laplace(scale=100), "mean": s}

    def scale_from_data(x, rng):
        return x[:, 0].sum() + rng.laplace(scale=x[:, 0].max())

    def largest(x, rng):
        return x[:, 0].max() + rng.laplace(scale=1)

    def data_as_float(x, rng):
        return float(x[0, 0]) + rng.laplace(scale=100)

    def first_record(x, rng):
        return x[0] + rng.laplace(scale=100, size=3)

    def looped_records(x, rng):
        return sum(min(row[0], 1) for row in x) + rng.laplace(scale=0.1)

    def seeded_inside(x):
        return x[:, 0].sum() + np.random.default_rng(0).laplace(scale=100)

    def seeded_state(x):
        return x[:, 0].sum() + np.random.RandomState(3).laplace(scale=100)

    def seeded_scipy(x):
        return x[:, 0].sum() + scipy.stats.laplace.rvs(scale=100, random_state=1)

    def generator_of_module(x):
        return x[:, 0].sum() + RNG.laplace(scale=100)

    def one_draw_for_all(x, rng):
        return np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=3)

    def noise_used_twice(x, rng):
        z = rng.laplace(scale=100)
        return [x[:, 0].sum() + z, x[:, 1].sum() + z]

    def noise_shown(x, rng):
        z = rng.laplace(scale=100)
        return [x[:, 0].sum() + z, z]

    def noise_shown_shifted(x, rng):
        z = rng.laplace(scale=100)
        return [x[:, 0].sum() + z, 5 + z]

    def noise_as_text(x, rng):
        z = rng.laplace(scale=100)
        return [x[:, 0].sum() + z, f"{z}"]

    def noise_removed(x, rng):
        z = rng.laplace(scale=100)
        s = x[:, 0].sum() + z
        return s - z

    def noise_copied(x, rng):
        z = rng.laplace(scale=100)
        w = copy.deepcopy(z)
        return [x[:, 0].sum() + z, w + 0.0]

    def small_factor(x, rng):
        return x[:, 0].sum() + 0.01 * rng.laplace(scale=100)

    def noise_clipped(x, rng):
        return x[:, 0].sum() + np.clip(rng.laplace(scale=100), -1, 1)

    def noise_rounded_away(x, rng):
        return x[:, 0].sum() + np.round(rng.laplace(scale=100) * 0)

    def noise_of_zero(x, rng):
        return x[:, 0].sum() + rng.laplace(scale=0)

    def uniform_noise(x, rng):
        return x[:, 0].sum() + rng.uniform(-100, 100)

    def exponential_noise(x, rng):
        return x[:, 0].sum() + rng.exponential(100)

    def in_place_on_a_view(x, rng):
        y = x.copy()
        a = y[:, 0]
        a *= 1000
        return y[:, 0].sum() + rng.laplace(scale=100)

    def item_through_a_view(x, rng):
        y = x.copy()
        a = y[:, 0]
        a[a > 50] = 1e9
        return y[:, 0].sum() + rng.laplace(scale=100)

    def changes_its_table(x, rng):
        x *= 1000
        return x[:, 0].sum() + rng.laplace(scale=100)

    def out_argument(x, rng):
        y = x[:, 0].copy()
        np.multiply(y, 1000, out=y)
        return y.sum() + rng.laplace(scale=100)

    def integers_wrap(x, rng):
        return x[:, 0].astype(np.int8).sum() * 2 + rng.laplace(scale=1)

    def integers_wrap_in_products(x, rng):
        y = x[:, 0].astype(np.int8)
        return (y * y).sum() + rng.laplace(scale=1)

    def unsigned_difference(x, rng):
        y = x[:, 0].astype(np.uint8)
        return (y - 50).astype(float).sum() + rng.laplace(scale=50)

    def half_precision(x, rng):
        return x[:, 0].astype(np.float16).sum() + rng.laplace(scale=100)

    def mask_of_zeros(x, rng):
        y = np.where(x[:, 1] > 50, x[:, 0], 0)
        counts = np.bincount(np.clip(y, 0, 9).astype(int), minlength=10)
        return counts[1:] * 2 + rng.laplace(scale=1, size=9)

    def bincount_without_length(x, rng):
        c = np.bincount(x[:, 0].astype(int))
        return c + rng.laplace(scale=1, size=101)

    def bincount_with_weights(x, rng):
        c = np.bincount(np.clip(x[:, 0], 0, 9).astype(int), weights=x[:, 1], minlength=10)
        return c + rng.laplace(scale=1, size=10)

    def histogram_of_data_range(x, rng):
        h, _ = np.histogram(x[:, 0], bins=10)
        return h + rng.laplace(scale=1, size=10)

    def histogram_with_density(x, rng):
        h, _ = np.histogram(x[:, 0], bins=10, range=(0, 100), density=True)
        return h + rng.laplace(scale=1, size=10)

    def two_histograms(x, rng):
        h, _ = np.histogram(x[:, 0], bins=10, range=(0, 100))
        g, _ = np.histogram(x[:, 1], bins=10, range=(0, 100))
        return h + rng.laplace(scale=1, size=10), g + rng.laplace(scale=1, size=10)

    def overlapping_masks(x, rng):
        old, very = x[:, 0] > 30, x[:, 0] > 60
        return old.sum() + rng.laplace(scale=1), very.sum() + rng.laplace(scale=1)

    def closed_at_both_ends(x, rng):
        a = ((x[:, 0] >= 0) & (x[:, 0] <= 50)).sum() + rng.laplace(scale=1)
        b = ((x[:, 0] >= 50) & (x[:, 0] <= 100)).sum() + rng.laplace(scale=1)
        return a, b

    def sorted_records(x, rng):
        return np.sort(x[:, 0])[:3] + rng.laplace(scale=100, size=3)

    def unique_values(x, rng):
        return np.unique(x[:, 0])

    def running_sum(x, rng):
        return np.cumsum(x[:, 0])[-1] + rng.laplace(scale=1)

    def differences(x, rng):
        return np.abs(np.diff(x[:, 0])).sum() + rng.laplace(scale=100)

    def median(x, rng):
        return np.median(x[:, 0]) + rng.laplace(scale=1)

    def standard_deviation(x, rng):
        return x[:, 0].std() + rng.laplace(scale=1)

    def sum_of_a_centred_column(x, rng):
        return np.abs(x[:, 0] - x[:, 0].sum()).sum() + rng.laplace(scale=100)

    def square_of_a_sum(x, rng):
        return x[:, 0].sum() ** 2 + rng.laplace(scale=10000)

    def root_of_a_sum(x, rng):
        return np.sqrt(x[:, 0].sum()) + rng.laplace(scale=1)

    def quotient_of_sums(x, rng):
        return x[:, 0].sum() / x[:, 1].sum() + rng.laplace(scale=1)

    def log_without_bound(x, rng):
        return np.log(x[:, 0]).sum() + rng.laplace(scale=5)

    def reciprocal(x, rng):
        return (1 / x[:, 0]).sum() + rng.laplace(scale=5)

    def noise_per_record(x, rng):
        return (x[:, 0] + rng.laplace(scale=1, size=x.shape[0])).sum()

    def noise_times_data(x, rng):
        return x[:, 0].sum() * rng.laplace(scale=100)

    def column_over_its_sum(x, rng):
        return (x[:, 0] / x[:, 0].sum()).sum() + rng.laplace(scale=1)

    def weighted_by_position(x, rng):
        return (x[:, 0] * np.arange(len(x))).sum() + rng.laplace(scale=100)

    def records_modulo_position(x, rng):
        return x[::2, 0].sum() + rng.laplace(scale=1)

    def appended_global(x, rng):
        LOG.append(x[:, 0].sum())
        return x[:, 0].sum() + rng.laplace(scale=100)

    def counted_global(x, rng):
        global COUNT
        COUNT += 1
        return x[:, 0].sum() + rng.laplace(scale=100 / COUNT)

    def cached(x, rng):
        CACHE["last"] = x
        return x[:, 0].sum() + rng.laplace(scale=100)

    def default_kept(x, rng, kept=[]):
        kept.append(1)
        return x[:, 0].sum() + rng.laplace(scale=100)

    def pickled(x, rng):
        return pickle.dumps(x)

    def text_of_data(x, rng):
        return f"{x[:, 0].sum():.1f}"

    def printed(x, rng):
        print(x[:, 0].sum())
        return x[:, 0].sum() + rng.laplace(scale=100)

    def as_a_list(x, rng):
        return x[:, 0].tolist()

    def through_a_buffer(x, rng):
        return bytes(memoryview(x))

    def to_bytes(x, rng):
        return x.tobytes()

    def written_to_a_file(x, rng):
        Path("/tmp/never").write_text("x")
        return x[:, 0].sum() + rng.laplace(scale=100)

    def time_taken(x, rng):
        begin = time.perf_counter()
        s = np.sort(x[:, 0])
        return time.perf_counter() - begin, s[0] * 0

    def raises_on_data(x, rng):
        if np.any(x[:, 0] > 50):
            raise ValueError("large")
        return x[:, 0].sum() + rng.laplace(scale=100)

    def asserts_on_data(x, rng):
        assert (x[:, 0] < 50).all()
        return x[:, 0].sum() + rng.laplace(scale=100)

    def errors_on_data(x, rng):
        with np.errstate(divide="raise"):
            y = 1 / (x[:, 0] + 1)
        return y.sum() + rng.laplace(scale=100)

    def hides_the_trace(x, rng):
        try:
            n = sum(x[:, 0].tolist())
        except BaseException:
            n = 0.0
        return n + rng.laplace(scale=100)

    def draws_as_data_say(x, rng):
        z = 0.0
        while z < x[:, 0].sum():
            z += rng.laplace(scale=100)
        return z

    def size_of_noise_from_data(x, rng):
        return rng.laplace(scale=100, size=int(x[:, 0].sum()))

    def released_then_raw_on_one_path(x, rng):
        s = x[:, 0].sum() + rng.laplace(scale=200)
        if s > 1e6:
            return x[:, 1].sum()
        return s

    def raw_on_the_negative_path(x, rng):
        s = x[:, 0].sum() + rng.laplace(scale=200)
        if s > -1e9:
            return s
        return x[:, 1].sum()

    def raw_after_a_plain_number(x, rng):
        s = math.floor(math.sqrt(abs(x[:, 0].sum() + rng.laplace(scale=200)) + 0.5))
        return x[:, 1].sum() if s > 100000 else s

    def clipped_by_released(x, rng):
        top = np.abs(x[:, 0].sum() + rng.laplace(scale=200))
        return np.clip(x[:, 1], 0, top).sum() + rng.laplace(scale=200)

    def scale_by_released(x, rng):
        top = np.abs(x[:, 0].sum() + rng.laplace(scale=200))
        return x[:, 1].sum() + rng.laplace(scale=top)

    def stops_when_large(x, rng):
        out = []
        for i in range(3):
            s = x[:, i].sum() + rng.laplace(scale=300)
            if s > 1000:
                break
            out.append(s)
        return [*out, x[:, 2].sum()]

    def two_of_the_budget(x, rng):
        return [x[:, 0].sum() + rng.laplace(scale=100) for _ in range(2)]

    def gaussian_for_pure(x, rng):
        return x[:, 0].sum() + rng.normal(scale=1000)

    def argmax_of_data(x, rng):
        return int(np.argmax(np.clip(x, 0, 1).sum(axis=0)))

    def argmax_with_values(x, rng):
        s = np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=1, size=3)
        return np.argmax(s), s

    def argmax_too_sharp(x, rng):
        return np.argmax(np.clip(x, -1, 1).sum(axis=0) * 3 + rng.laplace(scale=1, size=3))

    def choice_too_sharp(x, rng):
        s = np.clip(x, 0, 1).sum(axis=0)
        w = np.exp(3 * s)
        return rng.choice(3, p=w / w.sum())

    def choice_of_counts(x, rng):
        s = np.clip(x, 0, 1).sum(axis=0)
        return rng.choice(3, p=s / s.sum())

    def choice_of_records(x, rng):
        return rng.choice(x[:, 0], size=3)

    def weights_shown(x, rng):
        s = np.clip(x, 0, 1).sum(axis=0)
        w = np.exp(s / 2)
        return w / w.sum()

    def norm_not_clipped(x, rng):
        norms = np.linalg.norm(x, axis=1)
        y = x / np.maximum(norms / 10, 0.5)[:, None]
        return y.sum(axis=0) + rng.laplace(scale=10, size=3)

    def norm_of_another_array(x, rng):
        y = x * 100
        norms = np.linalg.norm(x, axis=1)
        z = y / np.maximum(1, norms / 10)[:, None]
        return z.sum(axis=0) + rng.laplace(scale=20, size=3)

    def norm_clipped_laplace(x, rng):
        y = x / np.maximum(1, np.linalg.norm(x, axis=1) / 10)[:, None]
        return y.sum(axis=0) + rng.laplace(scale=10, size=3)

    def matrix_of_products(x, rng):
        return x.T @ x + rng.laplace(scale=100 * 100, size=(3, 3))

    def reshaped(x, rng):
        return np.clip(x, 0, 1).reshape(-1).sum() + rng.laplace(scale=1)

    def all_entries(x, rng):
        return np.clip(x, 0, 1).sum() + rng.laplace(scale=1)

    def filled_array(x, rng):
        out = np.zeros(3)
        for i in range(3):
            out[i] = np.clip(x[:, i], 0, 1).sum()
        return out

    def filled_array_half(x, rng):
        out = np.zeros(3)
        for i in range(3):
            out[i] = np.clip(x[:, i], 0, 1).sum()
        out[0] = out[0] + rng.laplace(scale=1)
        return out

    def object_array(x, rng):
        return np.array([x[:, 0].sum(), x[:, 1]], dtype=object)

    def a_function(x, rng):
        return lambda: x

    def a_generator(x, rng):
        return (s for s in [x[:, 0].sum()])

    def a_key(x, rng):
        return {x[:, 0].sum(): 1}

    def an_iterator(x, rng):
        return iter(x[:, 0])

    def weights_by_norm_of_all(x, rng):
        return (x / np.linalg.norm(x)).sum() + rng.laplace(scale=10)

    def nan_filled_late(x, rng):
        return np.nan_to_num((x[:, 0] * np.inf).sum()) + rng.laplace(scale=100)

    def geometric_one_sided(x, rng):
        return (x[:, 0] > 50).sum() + rng.geometric(0.5)

    def geometric_of_fractions(x, rng):
        return x[:, 0].sum() + (rng.geometric(0.01) - rng.geometric(0.01))

    def geometric_of_two_laws(x, rng):
        return (x[:, 0] > 50).sum() + (rng.geometric(0.5) - rng.geometric(0.9))

    def geometric_too_small(x, rng):
        return (x[:, 0] > 50).sum() + (rng.geometric(0.9) - rng.geometric(0.9))

    def same_draw_subtracted(x, rng):
        z = rng.geometric(0.1)
        return (x[:, 0] > 50).sum() + (z - z)

    def poisson_noise(x, rng):
        return (x[:, 0] > 50).sum() + rng.poisson(100)

    def records_sampled(x, rng):
        return x[rng.random(len(x)) < 0.1, 0].sum() + rng.laplace(scale=10)

    def shuffled(x, rng):
        y = x.copy()
        rng.shuffle(y)
        return y[0] + rng.laplace(scale=100, size=3)

    def einsum_of_records(x, rng):
        return np.einsum("ij->j", x) + rng.laplace(scale=100, size=3)

    def product_over_records(x, rng):
        return np.prod(x[:, 0]) + rng.laplace(scale=100)

    def any_record(x, rng):
        return np.any(x[:, 0] > 99) + rng.laplace(scale=0.1)

    def counted_equal(x, rng):
        return (x[:, 0] == x[:, 0].max()).sum() + rng.laplace(scale=1)

    def where_positions(x, rng):
        return len(np.where(x[:, 0] > 50)[0]) + rng.laplace(scale=1)

    def indexed_by_data(x, rng):
        table = np.arange(101.0)
        return table[x[:, 0].astype(int)].sum() + rng.laplace(scale=1)

    def averaged_with_weights(x, rng):
        return np.average(x[:, 0], weights=x[:, 1]) + rng.laplace(scale=1)

    def corrcoef(x, rng):
        return np.corrcoef(x[:, 0], x[:, 1])[0, 1] + rng.laplace(scale=2)

    def deleted_noise(x, rng):
        s = x[:, 0].sum() + rng.laplace(scale=100)
        t = x[:, 0].sum()
        return [s][:0] + [t]  # noqa: RUF005

    def sum_of_repeated(x, rng):
        return np.repeat(x[:, 0], 3).sum() + rng.laplace(scale=100)

    def doubled_records(x, rng):
        return np.concatenate([x, x])[:, 0].sum() + rng.laplace(scale=100)

    def python_loop_sum(x, rng):
        s = 0
        for i in range(3):
            s = s + x[:, i].sum()
        return s + rng.laplace(scale=100)

    def stacked_then_summed(x, rng):
        return np.array([x[:, 0].sum(), x[:, 1].sum()]).sum() + rng.laplace(scale=100)

    def number_kept_under_another_name(x, rng):
        s = x[:, 0].sum()
        t = s
        s *= 0
        return t + rng.laplace(scale=1)

    def noise_kept_under_another_name(x, rng):
        z = rng.laplace(scale=0.1)
        w = z
        z *= 10000
        return x[:, 0].sum() + w

    def shape_compared(x, rng):
        if x.shape == (0, 3):
            return 0.0
        return x[:, 0].sum() + rng.laplace(scale=100)

    def shape_printed(x, rng):
        return str(x.shape)

    def by_its_type(x, rng):
        if type(x) is np.ndarray:
            return x[:, 0].sum()
        return x[:, 0].sum() + rng.laplace(scale=100)

    def a_number_by_its_type(x, rng):
        s = (x[:, 0] * 1.0).sum()
        return s if isinstance(s, float) else 0.0

    def same_array_by_astype(x, rng):
        y = x.copy()
        z = y.astype(float, copy=False)
        z *= 1000
        return y[:, 0].sum() + rng.laplace(scale=100)

    def in_a_list(x, rng):
        return [x[:, 0].sum(), 0][math.floor(abs(x[:, 0].sum() + rng.laplace(scale=200))) % 2]

    def single_precision(x, rng):
        return x[:, 0].astype(np.float32).sum() + rng.laplace(scale=100)

    def raw_by_a_noisy_index(x, rng):
        noisy = (x > 50).sum(axis=0) + rng.laplace(scale=3, size=3)
        return [0.0, 1.0, x[:, 0].sum()][int(np.argmax(noisy))]

    def argmax_and_its_values_stacked(x, rng):
        s = np.clip(x, -1, 1).sum(axis=0) + rng.laplace(scale=2, size=3)
        return np.argmax(s), np.stack([s, s])

    def argmax_and_its_values_as_an_array(x, rng):
        s = np.clip(x, -1, 1).sum(axis=0) + rng.laplace(scale=2, size=3)
        return np.argmax(s), np.asarray(s)

    def weights_of_two_lists(x, rng):
        w = [np.exp(x[:, 0].sum()), np.exp(x[:, 1].sum())]
        p = w / np.sum(w)
        return rng.choice(2, p=p)

    def cached_noise(x):
        return x[:, 0].sum() + kept_noise(100)

    def integer_wraps_by_a_factor(x, rng):
        return ((x[:, 0] > 50).sum() * 2**40).astype(float) / 2**40 + rng.laplace(scale=1)

    def distribution_with_a_state(x):
        found = scipy.stats.laplace(scale=100)
        found.random_state = 3
        return x[:, 0].sum() + found.rvs()

    def errors_by_a_name(x, rng):
        mode = "ra" + "ise"
        with np.errstate(all=mode):
            y = 1 / (x[:, 0] + 1)
        return y.sum() + rng.laplace(scale=100)


class pandas_forms:
    """Of a frame with age (int, 0 to 120), income (float, no bounds, may be missing), city (three categories)."""

    def no_noise(df, rng):
        return df["age"].sum()

    def sum_without_clip(df, rng):
        return df["income"].sum() + rng.laplace(scale=1e5)

    def clip_of_another_scale(df, rng):
        return df["age"].sum() + rng.laplace(scale=90)

    def length(df, rng):
        return len(df)

    def shape(df, rng):
        return df.shape[0] + 0 * rng.laplace(scale=1)

    def rows_of_index(df, rng):
        return len(df.index) + rng.laplace(scale=0.5)

    def mean(df, rng):
        return df["age"].mean() + rng.laplace(scale=0.3)

    def groups_of_the_data(df, rng):
        n = df.groupby("city").size()
        return n + rng.laplace(scale=1, size=len(n))

    def counts_of_the_data(df, rng):
        n = df["city"].value_counts()
        return {c: n[c] + rng.laplace(scale=1) for c in n.index}

    def groups_of_two_columns_and_of_one(df, rng):
        order = pd.MultiIndex.from_product([CITIES, [18, 19, 20]])
        n = df.groupby(["city", "age"]).size().reindex(order, fill_value=0) + rng.laplace(scale=1, size=9)
        return n, df.groupby("city").size().reindex(CITIES, fill_value=0) + rng.laplace(scale=1, size=3)

    def sums_of_groups_of_two_columns(df, rng):
        order = pd.MultiIndex.from_product([CITIES, [18, 19, 20]])
        s = df.groupby(["city", "age"])["age"].sum().reindex(order, fill_value=0)
        return s + rng.laplace(scale=19, size=9)

    def groups_of_two_columns_by_the_data(df, rng):
        n = df.groupby(["city", "age"]).size()
        return n + rng.laplace(scale=1, size=len(n))

    def groups_of_two_columns_by_one_label(df, rng):
        return df.groupby(["city", "age"]).size().reindex(CITIES, fill_value=0) + rng.laplace(scale=1, size=3)

    def reindexed_with_gaps(df, rng):
        n = df.groupby("city").size().reindex(CITIES)
        return n + rng.laplace(scale=1, size=3)

    def group_mean(df, rng):
        m = df.groupby("city")["age"].mean().reindex(CITIES, fill_value=0)
        return m + rng.laplace(scale=1, size=3)

    def group_sum_by_count_scale(df, rng):
        s = df.groupby("city")["age"].sum().reindex(CITIES, fill_value=0)
        return s + rng.laplace(scale=1, size=3)

    def two_groupings(df, rng):
        n = df.groupby("city").size().reindex(CITIES, fill_value=0) + rng.laplace(scale=1, size=3)
        m = df["city"].value_counts().reindex(CITIES, fill_value=0) + rng.laplace(scale=1, size=3)
        return n, m

    def overlapping_subsets(df, rng):
        return [(df[df["age"] > t]).shape[0] + rng.laplace(scale=1) for t in (10, 20, 30)]

    def loop_over_groups(df, rng):
        return {c: len(g) + rng.laplace(scale=1) for c, g in df.groupby("city")}

    def unique_cities(df, rng):
        return {c: (df.city == c).sum() + rng.laplace(scale=1) for c in df.city.unique()}

    def iterated(df, rng):
        return sum(row["age"] for _, row in df.iterrows()) + rng.laplace(scale=120)

    def applied(df, rng):
        return df["age"].apply(lambda a: a * 1000).sum() + rng.laplace(scale=120)

    def filled_with_the_mean(df, rng):
        return df["income"].clip(0, 100).fillna(df["income"].mean()).sum() + rng.laplace(scale=100)

    def filled_with_large(df, rng):
        return df["income"].clip(0, 100).fillna(1e6).sum() + rng.laplace(scale=100)

    def clip_before_fill(df, rng):
        return df["income"].fillna(500).clip(0, 1000).sum() + rng.laplace(scale=500)

    def normalised_by_the_data(df, rng):
        return (df["age"] / df["age"].max()).sum() + rng.laplace(scale=1)

    def top(df, rng):
        return df.nlargest(3, "age")["age"].tolist()

    def head(df, rng):
        return df.head(1)["age"].sum() + rng.laplace(scale=1)

    def sampled(df, rng):
        return df.sample(frac=0.1)["age"].sum() + rng.laplace(scale=12)

    def described(df, rng):
        return df.describe()

    def correlation(df, rng):
        return df["age"].corr(df["income"]) + rng.laplace(scale=2)

    def changes_its_table(df, rng):
        df["age"] = df["age"] * 2
        return df["age"].sum() + rng.laplace(scale=240)

    def merged_with_duplicates(df, rng):
        other = pd.DataFrame({"city": ["Oslo", "Oslo", "Rome"], "w": [1.0, 1.0, 1.0]})
        return df.merge(other, on="city")["w"].sum() + rng.laplace(scale=1)

    def merged_with_itself(df, rng):
        return df.merge(df, on="city")["age_x"].sum() + rng.laplace(scale=120)

    def concatenated(df, rng):
        return pd.concat([df, df])["age"].sum() + rng.laplace(scale=120)

    def public_series_by_label(df, rng):
        w = pd.Series([1000.0, 1.0, 1.0])
        return (df["age"] * w).sum() + rng.laplace(scale=120)

    def misaligned(df, rng):
        d = df[df["age"] > 50]
        return (d["age"] * df["age"]).sum() + rng.laplace(scale=14400)

    def realigned(df, rng):
        d = df[df["age"] > 50].reset_index(drop=True)
        e = df[df["age"] > 50]
        return (d["age"] * e["age"]).sum() + rng.laplace(scale=14400)

    def empty_test(df, rng):
        if df.empty:
            return 0.0
        return df["age"].sum() + rng.laplace(scale=120)

    def threshold_on_count(df, rng):
        n = (df["city"] == "Oslo").sum()
        if n < 10:
            return None
        return n + rng.laplace(scale=1)

    def pivoted(df, rng):
        return pd.crosstab(df["city"], df["age"] > 50)

    def rows_as_json(df, rng):
        return df.to_json()

    def rank(df, rng):
        return df["age"].rank().sum() + rng.laplace(scale=1)

    def duplicates(df, rng):
        return df["age"].duplicated().sum() + rng.laplace(scale=1)

    def shift(df, rng):
        return (df["age"] - df["age"].shift(1)).fillna(0).abs().sum() + rng.laplace(scale=120)

    def last_value(df, rng):
        return df["age"].iloc[-1] + rng.laplace(scale=120)

    def quantile(df, rng):
        return df["age"].quantile(0.9) + rng.laplace(scale=1)

    def two_sums_one_budget(df, rng):
        return [df["age"].sum() + rng.laplace(scale=120), (df["age"] > 50).sum() + rng.laplace(scale=1)]

    def count_of_present_and_all(df, rng):
        return df["income"].count() + rng.laplace(scale=1), df["age"].count() + rng.laplace(scale=1)

    def map_to_large(df, rng):
        return df["city"].map({"Oslo": 1, "Rome": 5, "Bonn": 50}).sum() + rng.laplace(scale=5)

    def map_with_gaps(df, rng):
        return df["city"].map({"Oslo": 1.0}).to_numpy().sum() + rng.laplace(scale=1)

    def column_changed_while_shown(df, rng):
        d = df.copy()
        s = d["age"]
        d.loc[d["age"] > 50, "age"] = 10**6
        return s.sum() + rng.laplace(scale=120)

    def clip_with_bounds_exchanged(df, rng):
        return df["age"].clip(90, 0).sum() + rng.laplace(scale=1)

    def clip_of_a_frame_with_bounds_exchanged(df, rng):
        return df[["age"]].clip(lower=90, upper=0)["age"].sum() + rng.laplace(scale=1)

    def cross_table_filled_with_many(df, rng):
        counts = pd.crosstab(df["city"], df["age"] > 50).reindex(index=CITIES, columns=[False, True], fill_value=50)
        return counts.to_numpy() + rng.laplace(size=(3, 2))

    def clip_to_nothing(df, rng):
        return df["age"].clip(float("nan"), 60).fillna(0).sum() + rng.laplace(scale=1)

    def values_changed(df, rng):
        v = df["age"].values
        v[v > 50] = 10**6
        return df["age"].sum() + rng.laplace(scale=120)


WRONG = {
    **{f"numpy:{name}": value for name, value in vars(numpy_forms).items() if callable(value)},
    **{f"pandas:{name}": value for name, value in vars(pandas_forms).items() if callable(value)},
}
