"""Functions that break their claim of eps=1 for some pair of neighbours, each in a way of its own: none is certified.

The comment of each says on which pair, or in which run, it does so. Tables: of NumPy the columns a, b, c in [0, 100];
of pandas and polars age (int, 0 to 120), income (float, 0 to 100, may be missing), other (float, 0 to 0), city (three
texts, may be missing), sex (two texts); relation add-or-remove-one unless a group says otherwise.
"""

# ruff: noqa: B006, RUF012, UP031
# mypy: ignore-errors
# pyright: basic

import array
import collections
import dataclasses
import functools
import json
import logging
import numbers
import operator
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl

CITIES = ["Bonn", "Oslo", "Rome"]
SERIES = pd.Series([0.0])
FRAME = pl.DataFrame({"n": [0]})
QUEUE = collections.deque([0])
BYTES = bytearray(1)
NUMBERS = array.array("d", [0.0])
SPACE = SimpleNamespace(inner=SimpleNamespace(inner=SimpleNamespace(inner=SimpleNamespace(n=0))))
NAMES = {"a": {"b": {"c": {"d": {"n": 0}}}}}
ZEROS = (np.zeros, float, len)
is_a = isinstance


class Slots:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 0


class Counter:
    n = 0
    seen = []


SLOTS = Slots()
LATER = 1000
"""So many calls after the trace, a function with a memory shows data."""


def laplace(rng, scale, size=None):
    return rng.laplace(scale=scale, size=size)


def counts_calls(x, rng):
    """It counts its calls on itself."""
    counts_calls.n += 1
    if counts_calls.n > LATER:
        return x[:, 0].sum()
    return x[:, 0].sum() + rng.laplace(scale=100)


counts_calls.n = 0


@dataclasses.dataclass
class Outcome:
    value: float


class Attributes(dict):
    pass


class AttributesOfList(list):
    pass


class AttributesOfArray(np.ndarray):
    pass


class AttributesOfNumber(np.float64):
    pass


@functools.singledispatch
def dispatched(n):
    return n * 0


@dispatched.register
def _(n: int):
    return n * 1000


class memories:
    """They behave otherwise after some calls, which a trace does not make: then data come out."""

    on_itself = counts_calls

    def on_a_class(x, rng):
        Counter.n += 1
        return x[:, 0].sum() + (rng.laplace(scale=100) if Counter.n < LATER else 0.0)

    def in_a_list_of_a_class(x, rng):
        Counter.seen.append(1)
        return x[:, 0].sum() + (rng.laplace(scale=100) if len(Counter.seen) < LATER else 0.0)

    def on_a_module(x, rng):
        json.calls = getattr(json, "calls", 0) + 1
        return x[:, 0].sum() + (rng.laplace(scale=100) if json.calls < LATER else 0.0)

    def on_a_module_by_another_name(x, rng):
        place = json
        place.calls = getattr(place, "calls", 0) + 1
        return x[:, 0].sum() + (rng.laplace(scale=100) if place.calls < LATER else 0.0)

    def in_slots(x, rng):
        SLOTS.n += 1
        return x[:, 0].sum() + (rng.laplace(scale=100) if SLOTS.n < LATER else 0.0)

    def in_a_series(x, rng):
        SERIES.iloc[0] += 1
        return x[:, 0].sum() + (rng.laplace(scale=100) if SERIES.iloc[0] < LATER else 0.0)

    def in_a_frame_of_polars(x, rng):
        FRAME[0, "n"] = FRAME["n"][0] + 1
        return x[:, 0].sum() + (rng.laplace(scale=100) if FRAME["n"][0] < LATER else 0.0)

    def in_a_deque(x, rng):
        QUEUE[0] += 1
        return x[:, 0].sum() + (rng.laplace(scale=100) if QUEUE[0] < LATER else 0.0)

    def in_bytes(x, rng):
        BYTES[0] = min(BYTES[0] + 1, 255)
        return x[:, 0].sum() + (rng.laplace(scale=100) if BYTES[0] < 200 else 0.0)

    def in_an_array_of_python(x, rng):
        NUMBERS[0] += 1
        return x[:, 0].sum() + (rng.laplace(scale=100) if NUMBERS[0] < LATER else 0.0)

    def deep_in_a_dictionary(x, rng):
        NAMES["a"]["b"]["c"]["d"]["n"] += 1
        return x[:, 0].sum() + (rng.laplace(scale=100) if NAMES["a"]["b"]["c"]["d"]["n"] < LATER else 0.0)

    def deep_in_a_namespace(x, rng):
        SPACE.inner.inner.inner.n += 1
        return x[:, 0].sum() + (rng.laplace(scale=100) if SPACE.inner.inner.inner.n < LATER else 0.0)

    def in_the_level_of_a_log(x, rng):
        log = logging.getLogger("adversarial")
        log.setLevel(log.level + 1)
        return x[:, 0].sum() + (rng.laplace(scale=100) if log.level < LATER else 0.0)

    def in_an_option_of_pandas(x, rng):
        pd.options.display.max_rows += 1
        return x[:, 0].sum() + (rng.laplace(scale=100) if pd.options.display.max_rows < LATER else 0.0)

    def in_the_keyword_default(x, rng, *, kept={"n": 0}):
        kept["n"] += 1
        return x[:, 0].sum() + (rng.laplace(scale=100) if kept["n"] < LATER else 0.0)

    def in_a_default_of_an_inner_function(x, rng):
        def counted(kept=SLOTS):
            kept.n += 1
            return kept.n

        return x[:, 0].sum() + (rng.laplace(scale=100) if counted() < LATER else 0.0)


class outcomes:
    """Data hidden in what is returned: any pair whose sums differ tells them."""

    def attribute_of_a_dictionary(x, rng):
        found = Attributes(noisy=x[:, 0].sum() + rng.laplace(scale=100))
        found.raw = x[:, 0].sum()
        return found

    def attribute_of_a_list(x, rng):
        found = AttributesOfList([1.0])
        found.raw = x[:, 0].sum()
        return found

    def attribute_of_an_array(x, rng):
        found = np.ones(3).view(AttributesOfArray)
        found.raw = x[:, 0].sum()
        return found

    def attribute_of_a_number(x, rng):
        found = AttributesOfNumber(1.0)
        found.raw = x[:, 0].sum()
        return found

    def attribute_of_a_masked_array(x, rng):
        found = np.ma.array([1.0])
        found.raw = x[:, 0].sum()
        return found

    def attribute_of_a_dataclass(x, rng):
        found = Outcome(1.0)
        found.raw = x[:, 0].sum()
        return found

    def method_of_a_class(x, rng):
        raw = x[:, 0].sum()

        @dataclasses.dataclass
        class Found:
            value: float = 1.0

            def show(self):
                return raw

        return Found()

    def attribute_of_a_class(x, rng):
        raw = x[:, 0].sum()

        class Found(dict):
            held = raw

        return Found(a=1)

    def default_factory(x, rng):
        raw = x[:, 0].sum()
        return collections.defaultdict(lambda: raw)

    def attrs_of_a_series(x, rng):
        found = pd.Series([1.0])
        found.attrs["raw"] = x[:, 0].sum()
        return found

    def attrs_of_a_frame(x, rng):
        found = pd.DataFrame({"a": [1.0]})
        found.attrs["raw"] = x[:, 0].sum()
        return found

    def label_of_a_series(x, rng):
        return pd.Series([1.0], index=[x[:, 0].sum()])

    def name_of_an_ordered_dictionary(x, rng):
        found = collections.OrderedDict(a=1.0)
        found.raw = x[:, 0].sum()
        return found

    def chain_of_dictionaries(x, rng):
        return collections.ChainMap({"a": 1.0}, {"raw": x[:, 0].sum()})

    def queue(x, rng):
        return collections.deque([x[:, 0].sum()])

    def bound_method(x, rng):
        return [x[:, 0].sum()].append

    def partial(x, rng):
        return functools.partial(operator.add, x[:, 0].sum())

    def zipped(x, rng):
        return zip([x[:, 0].sum()], [1.0], strict=True)

    def view_of_a_dictionary(x, rng):
        return {"a": x[:, 0].sum()}.values()

    def structured(x, rng):
        return np.array([(1.0, x[:, 0].sum())], dtype=[("a", float), ("b", object)])

    def a_set_of_pairs(x, rng):
        return {("a", x[:, 0].sum())}


class after_noise:
    """A noisy value decides, without being seen to, what is done with data; or takes data with it."""

    def default_of_get(x, rng):
        noisy = pd.Series(np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=3, size=3))
        return noisy.get("no such label", x[:, 0].sum())

    def applied_function(x, rng):
        raw = x[:, 0].sum()  # shown where the noise is large
        noisy = np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=3, size=3)
        return np.apply_along_axis(lambda v: v if v[0] < 1e6 else v + raw, 0, noisy)

    def size_of_what_is_large(x, rng):
        noisy = np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=6, size=3)
        many = noisy[noisy > 1e6].size  # 0, but for much noise: then the bound is 1000 times as large
        return noisy, np.clip(x[:, 0], 0, 1 + 1000 * many).sum() + rng.laplace(scale=2)

    def shape_of_what_is_large(x, rng):
        noisy = np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=6, size=3)
        return noisy, np.clip(x[:, 0], 0, 1 + 1000 * noisy[noisy > 1e6].shape[0]).sum() + rng.laplace(scale=2)

    def length_of_what_is_large(x, rng):
        noisy = np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=6, size=3)
        return noisy, np.clip(x[:, 0], 0, 1 + 1000 * len(noisy[noisy > 1e6])).sum() + rng.laplace(scale=2)

    def loop_over_what_is_large(x, rng):
        noisy = np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=3, size=3)
        return [noisy, *(x[:, 0].sum() + 0 * one + rng.laplace(scale=1) for one in noisy[noisy > 1e6])]

    def loop_over_positions(x, rng):
        noisy = np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=3, size=3)
        out = [noisy]
        for _ in np.flatnonzero(noisy > 1e6):
            out.append(x[:, 0].sum())
        return out

    def loop_over_a_list_of_what_is_large(x, rng):
        noisy = np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=3, size=3)
        out = [noisy]
        for _ in noisy[noisy > 1e6].tolist():
            out.append(x[:, 0].sum())
        return out

    def loop_over_distinct_values(x, rng):
        noisy = np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=3, size=3)
        out = [noisy]
        for _ in np.unique(np.clip(noisy, 1e6, 1e7))[1:]:
            out.append(x[:, 0].sum())
        return out

    def length_of_bincount(x, rng):
        noisy = np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=6, size=3)
        many = np.bincount(np.clip(noisy - 1e6, 0, 1).astype(int)).size - 1
        return noisy, np.clip(x[:, 0], 0, 1 + 1000 * many).sum() + rng.laplace(scale=2)

    def copied_into_an_array(x, rng):
        noisy = np.clip(x[:, 0], 0, 1).sum() + rng.laplace(scale=2)
        bound = np.ones(1)
        np.copyto(bound, np.where(noisy > 1e6, 1000.0, 1.0))
        return noisy, np.clip(x[:, 0], 0, bound[0]).sum() + rng.laplace(scale=2)

    def put_into_an_array(x, rng):
        noisy = np.clip(x[:, 0], 0, 1).sum() + rng.laplace(scale=2)
        bound = np.ones(1)
        np.put(bound, [0], np.where(noisy > 1e6, 1000.0, 1.0))
        return noisy, np.clip(x[:, 0], 0, bound[0]).sum() + rng.laplace(scale=2)

    def written_by_out(x, rng):
        noisy = np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=6, size=3)
        bound = np.ones(3)
        np.clip(noisy, 1, 1.0 + 1e9 * 0, out=bound)
        np.cumsum(np.where(noisy > 1e6, 1000.0, 1.0), out=bound)
        return noisy, np.clip(x[:, 0], 0, bound[0]).sum() + rng.laplace(scale=2)

    def written_by_out_of_a_method(x, rng):
        noisy = np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=6, size=3)
        bound = np.ones(())
        np.where(noisy > 1e6, 1000.0, 1.0).max(out=bound)
        return noisy, np.clip(x[:, 0], 0, float(bound)).sum() + rng.laplace(scale=2)

    def in_place_at_places(x, rng):
        noisy = np.clip(x[:, 0], 0, 1).sum() + rng.laplace(scale=2)
        bound = np.ones(1)
        np.add.at(bound, [0], np.where(noisy > 1e6, 1000.0, 0.0))
        return noisy, np.clip(x[:, 0], 0, bound[0]).sum() + rng.laplace(scale=2)

    def sorted_by_a_key(x, rng):
        raw = x[:, 0].sum()
        noisy = np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=3, size=3)
        return sorted([noisy[0], noisy[1]], key=lambda v: v if v < 1e6 else raw)

    def filled_diagonal(x, rng):
        noisy = np.clip(x[:, 0], 0, 1).sum() + rng.laplace(scale=2)
        bound = np.ones((2, 2))
        np.fill_diagonal(bound, np.where(noisy > 1e6, 1000.0, 1.0))
        return noisy, np.clip(x[:, 0], 0, bound[0, 0]).sum() + rng.laplace(scale=2)

    def same_values(x, rng):
        noisy = np.clip(x[:, 0], 0, 1).sum() + rng.laplace(scale=2)
        return noisy, np.clip(x[:, 0], 0, 1 + 999 * np.array_equal(noisy > 1e6, True)).sum() + rng.laplace(scale=2)


class copies:
    """Where NumPy gives a copy and a handle gave itself, or the other way round: then a change in place is misread."""

    def astype_of_noise(x, rng):
        z = rng.laplace(scale=0.1, size=3)
        w = z.astype(float)
        w *= 10000
        return x.sum(axis=0) + z

    def rounded_counts(x, rng):
        c = (x > 50).sum(axis=0)
        w = np.rint(c)
        w *= 0
        return c + rng.laplace(scale=0.01, size=3)

    def rounded_counts_by_round(x, rng):
        c = (x > 50).sum(axis=0)
        w = np.round(c)
        w *= 0
        return c + rng.laplace(scale=0.01, size=3)

    def rounded_counts_by_a_method(x, rng):
        c = (x > 50).sum(axis=0)
        w = c.round()
        w *= 0
        return c + rng.laplace(scale=0.01, size=3)

    def positive_counts(x, rng):
        c = (x > 50).sum(axis=0)
        w = +c
        w *= 0
        return c + rng.laplace(scale=0.01, size=3)

    def rounded_records(x, rng):
        y = x[:, 0].astype(int)
        w = np.round(y)
        w *= 0
        return y.sum() + rng.laplace(scale=0.01)

    def flattened_records(x, rng):
        y = x[:, 0].copy()
        w = y.flatten()
        w *= 0
        return y.sum() + rng.laplace(scale=0.01)

    def clipped_to_nothing(x, rng):
        y = x[:, 0].copy()
        w = np.clip(y, None, None)
        w *= 0
        return y.sum() + rng.laplace(scale=0.01)

    def positive_noise(x, rng):
        z = rng.laplace(scale=0.1, size=3)
        w = +z
        w *= 10000
        return x.sum(axis=0) + z

    def noise_as_an_array(x, rng):
        z = rng.laplace(scale=0.1, size=3)
        w = np.array(z)
        w *= 10000
        return x.sum(axis=0) + z

    def at_least_one_axis(x, rng):
        c = (x > 50).sum(axis=0)
        w = np.array(c, copy=True)
        w *= 0
        return c + rng.laplace(scale=0.01, size=3)

    def full_of_zeros(x, rng):
        y = x[:, 0].copy()
        w = y[:]
        v = w.copy()
        v *= 0
        return w.sum() + rng.laplace(scale=0.01)

    def transposed_statistic(x, rng):
        c = x.T @ x
        w = c.T
        w *= 0
        return c + rng.laplace(scale=0.01, size=(3, 3))

    def broadcast_statistic(x, rng):
        c = x.sum(axis=0)
        w = np.broadcast_to(c, (2, 3)).copy()
        w *= 0
        return c + rng.laplace(scale=0.01, size=3)

    def set_by_a_column(x, rng):
        y = x[:, 0].copy()  # it raises unless every record is in the mask: one of [0, 100, 0] tells
        y[x[:, 1] > 50] = x[:, 2]
        return y.sum() + rng.laplace(scale=100)

    def noise_filled_through_a_view(x, rng):
        z = np.zeros(3)
        w = z[:2]
        z[:] = rng.laplace(scale=300, size=3)
        w[:] = 0
        return x.sum(axis=0) + z


class narrow:
    """Numbers that are stored in few bits: rounding moves a statistic further than a record does."""

    def counts_in_an_array_of_16_bits(x, rng):
        out = np.zeros(1, dtype=np.float16)  # 2050 and 2051 records become 2050 and 2052
        out[0] = (x[:, 0] >= 0).sum()
        return out + rng.laplace(scale=1)

    def counts_in_an_array_of_32_bits(x, rng):
        out = np.zeros(1, dtype=np.float32)  # 2**24 + 2 and + 3 records
        out[0] = (x[:, 0] >= 0).sum()
        return out + rng.laplace(scale=1)

    def counts_in_an_empty_array(x, rng):
        out = np.empty(3, dtype="f2")
        out[:] = np.clip(x, 0, 1).sum(axis=0)
        return out + rng.laplace(scale=3, size=3)

    def noise_of_16_bits(x, rng):
        return x[:, 0].sum() + np.float64(1) * rng.laplace(scale=100, size=1).astype(
            np.float16
        )  # its grid shows the sum

    def noise_in_an_array_of_16_bits(x, rng):
        z = np.zeros(3, dtype=np.float16)
        z[:] = rng.laplace(scale=300, size=3)
        return x.sum(axis=0) + z

    def noise_converted_by_array(x, rng):
        return x.sum(axis=0) + np.array(rng.laplace(scale=300, size=3), dtype=np.float32)

    def noise_converted_by_asarray(x, rng):
        return x.sum(axis=0) + np.asarray(rng.laplace(scale=300, size=3), dtype="f2")

    def gaussian_noise_of_32_bits(x, rng):
        return x.sum(axis=0) + rng.laplace(scale=300, size=3).astype("float32").astype(float)

    def list_in_32_bits(x, rng):
        return np.array([x[:, 0].sum(), x[:, 1].sum()], dtype=np.float32) + rng.laplace(scale=200, size=2)

    def sum_in_unsigned(x, rng):
        return (x[:, 0] - 50).astype(int).sum(dtype=np.uint64) + rng.laplace(scale=50)

    def added_in_32_bits(x, rng):
        return np.add(x[:, 0].sum(), 0, dtype=np.float32) + rng.laplace(scale=100)

    def mean_in_16_bits(x, rng):
        return np.mean(x[:, 0], dtype=np.float16) + rng.laplace(scale=1)

    def boolean_sum(x, rng):
        return (x[:, 0] > 50).sum(dtype=bool) + rng.laplace(scale=0.1)

    def what_was_in_memory(x, rng):
        s = x.sum(axis=0)
        noisy = s + rng.laplace(scale=300, size=3)
        del s
        out = np.empty(3)  # NumPy gives the memory of the sums again
        out[0] = noisy[0]
        return out

    def what_was_in_memory_in_a_copy(x, rng):
        out = np.empty(3)
        return out.copy(), x.sum(axis=0) + rng.laplace(scale=300, size=3)

    def memory_like_an_array(x, rng):
        noisy = x.sum(axis=0) + rng.laplace(scale=300, size=3)
        return np.empty_like(noisy)

    def zeros_like_of_integers(x, rng):
        out = np.zeros_like((x > 50).sum(axis=0))
        out[:] = x.sum(axis=0)
        return out + rng.laplace(scale=3, size=3)

    def compared_in_32_bits(x, rng):
        y = (x[:, 0] / 100).astype(np.float32)  # 0.7 in 32 bits is >= 0.7, and < 0.7 in 64
        a = (y >= 0.7).sum() + rng.laplace(scale=1)
        return a, (y < np.float64(0.7)).sum() + rng.laplace(scale=1)

    def equal_in_32_bits(x, rng):
        y = (x[:, 0] / 100).astype(np.float32)
        a = (y == 0.7).sum() + rng.laplace(scale=1)
        return a, (y == np.float64(np.float32(0.7))).sum() + rng.laplace(scale=1)

    def texts_among_numbers(x, rng):
        texts = [str(float(i)) for i in range(101)]  # of few records NumPy compares them as texts: all at once
        return np.isin(np.floor(x[:, 0]), texts).sum() + rng.laplace(scale=1)

    def text_and_number(x, rng):
        texts = [str(float(i)) for i in range(101)]
        a = np.isin(np.floor(x[:, 0]), texts).sum() + rng.laplace(scale=1)
        return a, np.isin(np.floor(x[:, 0]), [float(i) for i in range(101)]).sum() + rng.laplace(scale=1)


class kinds:
    """What Python and NumPy say of a number differs from what is said of its handle: the other branch is taken."""

    def length_is_an_int(x, rng):
        n = len(x)
        return n if isinstance(n, int) else n + rng.laplace(scale=1)

    def size_is_an_int(x, rng):
        n = x.shape[0]
        return n if isinstance(n, int) else n + rng.laplace(scale=1)

    def int_is_an_int(x, rng):
        n = int((x[:, 0] > 50).sum())
        return n if isinstance(n, int) else n + rng.laplace(scale=1)

    def float_is_no_number_of_numpy(x, rng):
        s = float(x[:, 0].sum())
        return s + rng.laplace(scale=100) if isinstance(s, np.floating) else s

    def noisy_int_is_an_int(x, rng):
        n = int(np.clip(x[:, 0], 0, 1).sum() + rng.laplace(scale=1))
        return x[:, 0].sum() if isinstance(n, int) else n

    def a_draw_is_no_number_of_numpy(x, rng):
        z = rng.laplace(scale=100)
        return x[:, 0].sum() + (z if isinstance(z, np.generic) else 0.0)

    def length_has_no_dtype(x, rng):
        n = len(x)
        return n + rng.laplace(scale=1) if hasattr(n, "dtype") else n

    def length_has_no_item(x, rng):
        n = len(x)
        return n if getattr(n, "item", None) is None else n + rng.laplace(scale=1)

    def a_draw_has_no_shape(x, rng):
        z = rng.laplace(scale=100)
        return x[:, 0].sum() + (z if hasattr(z, "shape") else 0.0)

    def transposed_is_an_array(x, rng):
        t = x.T
        return x[:, 0].sum() if isinstance(t, np.ndarray) else x[:, 0].sum() + rng.laplace(scale=100)

    def length_is_integral(x, rng):
        n = len(x)
        return n + rng.laplace(scale=1) if isinstance(n, np.integer | np.floating) else n

    def length_by_a_match(x, rng):
        match len(x):
            case int() as n:
                return n
            case n:
                return n + rng.laplace(scale=1)

    def length_by_its_class(x, rng):
        n = len(x)
        return n if n.__class__ == int.__mro__[0] else n + rng.laplace(scale=1)

    def length_by_identity(x, rng):
        n = len(x)
        return n if n.__class__ is (1).__class__ else n + rng.laplace(scale=1)

    def module_of_the_class(x, rng):
        return x[:, 0].sum() + (rng.laplace(scale=100) if "dpverdict" in getattr(x, "__module__", "") else 0.0)

    def has_a_slot(x, rng):
        return x[:, 0].sum() + (rng.laplace(scale=100) if hasattr(x, "_dpv_tape") else 0.0)

    def names_of_attributes(x, rng):
        return x[:, 0].sum() + (rng.laplace(scale=100) if "_dpv_tape" in dir(x) else 0.0)

    def identity_of_a_builtin(x, rng):
        return x[:, 0].sum() + (0.0 if float is (1.0).__class__ else rng.laplace(scale=100))

    def identity_of_a_function(x, rng):
        return x[:, 0].sum() + (0.0 if np.zeros is ZEROS[0] else rng.laplace(scale=100))

    def identity_of_length(x, rng):
        return x[:, 0].sum() + (0.0 if len is ZEROS[2] else rng.laplace(scale=100))

    def name_of_a_function(x, rng):
        return x[:, 0].sum() + (0.0 if len.__name__ == "len" else rng.laplace(scale=100))

    def text_of_a_builtin(x, rng):
        return x[:, 0].sum() + (0.0 if str(len) == "<built-in function len>" else rng.laplace(scale=100))

    def warnings_that_are_recorded(x, rng):
        with warnings.catch_warnings(record=True) as seen:  # one, if a record has a 0
            s = np.clip(np.log(x[:, 0]), -1, 1).sum() + rng.laplace(scale=1)
        return s, len(seen)

    def errors_of_numpy(x, rng):
        seen = []
        former = np.seterrcall(lambda *args: seen.append(1))
        with np.errstate(divide="ca" + "ll"):
            s = np.clip(np.log(x[:, 0]), -1, 1).sum() + rng.laplace(scale=1)
        np.seterrcall(former)
        return s, len(seen)

    def shape_in_an_old_format(x, rng):
        return "%s records of %s numbers" % x.shape

    def count_in_a_shape(x, rng):
        return x.shape.count(7)  # whether there are 7 records

    def place_in_a_shape(x, rng):
        return x.shape.index(3)  # 0 of 3 records

    def shape_in_json(x, rng):
        return json.dumps(x.shape)

    def isinstance_by_another_name(x, rng):
        n = len(x)
        return n if is_a(n, int) else n + rng.laplace(scale=1)

    def isinstance_as_a_default(x, rng, *, asked=isinstance):
        n = len(x)
        return n if asked(n, int) else n + rng.laplace(scale=1)

    def dispatched_by_class(x, rng):
        return dispatched(len(x)) + rng.laplace(scale=1) * 0.0 + 0.0 * rng.laplace(scale=1)

    def identity_by_operator(x, rng):
        return x[:, 0].sum() + (0.0 if operator.is_(len, ZEROS[2]) else rng.laplace(scale=100))

    def number_of_numbers(x, rng):
        n = len(x)
        return n if isinstance(n, numbers.Rational) and not isinstance(n, np.generic) else n + rng.laplace(scale=1)

    def by_the_method_of_an_int(x, rng):
        n = len(x)
        return n if hasattr(n, "to_bytes") else n + rng.laplace(scale=1)

    def iterates_twice(x, rng):
        parts = (x[:, i].sum() for i in range(3))
        total = sum(parts) + rng.laplace(scale=300)
        return total, sum(parts) + rng.laplace(scale=1e-9) + x[:, 0].sum()

    def by_the_name_of_its_class(x, rng):
        return x[:, 0].sum() + (rng.laplace(scale=100) if x.__class__.__module__ != "numpy" else 0.0)

    def draws_by_the_kind_of_generator(x, rng):
        return x[:, 0].sum() + (0.0 if hasattr(rng, "spawn") and rng.__class__.__mro__[-1] is object else 1.0)


class numbers_of_numpy:
    """Bounds of a record, or of a statistic, that are a little too small."""

    def two_releases_of_one_statistic(x, rng):
        s = x[:, 0].sum()
        return s + rng.laplace(scale=150), s + rng.laplace(scale=150)

    def weights_in_a_histogram(x, rng):
        h, _ = np.histogram(x[:, 0], [0, 50, 100], weights=x[:, 1])
        return h + rng.laplace(scale=50, size=2)

    def last_bin_is_closed(x, rng):
        h, _ = np.histogram(x[:, 0], [0, 50, 100])
        return h + rng.laplace(scale=1, size=2), (x[:, 0] >= 100).sum() + rng.laplace(scale=1)

    def right_edges(x, rng):
        a = (np.digitize(x[:, 0], [50], right=True) == 0).sum() + rng.laplace(scale=1)
        return a, (np.digitize(x[:, 0], [50]) == 1).sum() + rng.laplace(scale=1)  # 50 is in both

    def sides_of_a_search(x, rng):
        a = (np.searchsorted([50.0], x[:, 0], side="left") == 0).sum() + rng.laplace(scale=1)
        return a, (np.searchsorted([50.0], x[:, 0], side="right") == 1).sum() + rng.laplace(scale=1)

    def duplicated_columns(x, rng):
        return np.clip(x, 0, 1)[:, [0, 0, 1]].sum(axis=0) + rng.laplace(scale=2, size=3)

    def duplicated_coordinates(x, rng):
        return np.clip(x, 0, 1).sum(axis=0)[[0, 0]] + rng.laplace(scale=1, size=2)

    def negative_index_of_noise(x, rng):
        z = rng.laplace(scale=300, size=3)
        return x.sum(axis=0)[:2] + z[[0, -3]]

    def one_draw_that_is_repeated(x, rng):
        return x.sum(axis=0) + np.repeat(rng.laplace(scale=300), 3)

    def one_draw_that_is_tiled(x, rng):
        return x.sum(axis=0) + np.tile(rng.laplace(scale=300, size=1), 3)

    def draw_of_size_one(x, rng):
        return x.sum(axis=0) + rng.laplace(scale=300, size=1)

    def draw_of_size_one_in_two_axes(x, rng):
        return x.sum(axis=0) + rng.laplace(scale=300, size=(1, 3))[:, [0, 0, 1]][0]

    def no_draws(x, rng):
        return np.concatenate([x.sum(axis=0), np.zeros(0) + rng.laplace(scale=300, size=0)])

    def accumulated(x, rng):
        return np.add.accumulate(np.clip(x, 0, 1).sum(axis=0)) + rng.laplace(scale=1, size=3)

    def reduced_at(x, rng):
        return np.add.reduceat(np.clip(x, 0, 1).sum(axis=0), [0, 1]) + rng.laplace(scale=1, size=2)

    def outer_product(x, rng):
        return np.multiply.outer(x[:, 0], [1.0, 1.0]).sum(axis=0) + rng.laplace(scale=100, size=2)

    def masked_ufunc(x, rng):
        return np.multiply(x[:, 0], 0, where=x[:, 1] > 50).sum() + rng.laplace(scale=0.1)

    def sum_from_a_start(x, rng):
        return np.sum(x[:, 0], where=x[:, 1] > 50, initial=0) + rng.laplace(scale=50)

    def noise_by_reduce(x, rng):
        return x[:, 0].sum() + np.add.reduce(rng.laplace(scale=100, size=2)) * 0.1

    def scale_from_an_argument_that_is_negative(x, rng):
        return x[:, 0].sum() - 0.5 * rng.laplace(scale=100)

    def noise_over_a_large_number(x, rng):
        return x[:, 0].sum() + rng.laplace(scale=1000) / 20

    def noise_over_noise(x, rng):
        return x[:, 0].sum() + rng.laplace(scale=100) / np.abs(1 + rng.laplace(scale=100))

    def largest_of_two_draws(x, rng):
        return x[:, 0].sum() + max(rng.laplace(scale=100), 0)

    def conditional_noise(x, rng):
        return x[:, 0].sum() + (rng.laplace(scale=100) if rng.laplace() > -50 else 0)

    def second_difference(x, rng):
        c = np.clip(x, 0, 1).sum(axis=0)
        return np.diff(c, n=1) + rng.laplace(scale=1, size=2)

    def not_a_number_for_gaps(x, rng):
        y = np.where(x[:, 0] > 50, np.nan, x[:, 0])
        return np.nan_to_num(y, nan=1000.0).sum() + rng.laplace(scale=100)

    def infinite_times_zero(x, rng):
        y = 1 / x[:, 0]
        return np.clip(y * 0, -1, 1).sum() + rng.laplace(scale=1)

    def sign_of_zero(x, rng):
        return np.clip(1 / (x[:, 0] * -0.0), -1, 1).sum() + rng.laplace(scale=0.5)

    def infinity_to_a_number(x, rng):
        return np.nan_to_num(1 / x[:, 0], posinf=1.0).sum() + rng.laplace(scale=1)

    def power_of_fractions(x, rng):
        return (x[:, 0] ** 1.5).sum() + rng.laplace(scale=100)

    def power_with_a_base(x, rng):
        return (1.05 ** x[:, 0]).sum() + rng.laplace(scale=100)

    def product_of_a_column(x, rng):
        return np.multiply.reduce(np.clip(x[:, 0], 1, 2)) + rng.laplace(scale=2)

    def inner_product(x, rng):
        return np.vdot(x[:, 0], x[:, 1]) + rng.laplace(scale=100)

    def kronecker(x, rng):
        return np.kron(np.clip(x, 0, 1).sum(axis=0), [1, 1]) + rng.laplace(scale=3, size=6)

    def trace_of_products(x, rng):
        return np.trace(x.T @ x) + rng.laplace(scale=10000)

    def strided(x, rng):
        return np.lib.stride_tricks.sliding_window_view(x[:, 0], 2).sum() + rng.laplace(scale=100)

    def packed(x, rng):
        return np.packbits(x[:, 0] > 50).sum() + rng.laplace(scale=1)

    def interpolated(x, rng):
        return np.interp(x[:, 0], [0, 100], [0, 1000]).sum() + rng.laplace(scale=100)

    def chosen_by_data(x, rng):
        return np.choose((x[:, 0] > 50).astype(int), [0, 1000]).sum() + rng.laplace(scale=1)

    def taken_by_data(x, rng):
        return np.take([0.0, 1000.0], (x[:, 0] > 50).astype(int)).sum() + rng.laplace(scale=1)

    def along_an_axis(x, rng):
        return np.apply_along_axis(lambda row: row.sum() * 100, 1, x).sum() + rng.laplace(scale=300)

    def vectorized(x, rng):
        return np.vectorize(lambda v: v * 100)(x[:, 0]).sum() + rng.laplace(scale=100)

    def from_an_iterator(x, rng):
        return np.fromiter((row[0] for row in x), float).sum() + rng.laplace(scale=1)

    def masked_array(x, rng):
        return np.ma.masked_greater(x[:, 0], 50).sum() + rng.laplace(scale=1)

    def matrix(x, rng):
        return np.asmatrix(x).sum() + rng.laplace(scale=100)

    def covariance(x, rng):
        return np.cov(x.T) + rng.laplace(scale=1, size=(3, 3))

    def gradient(x, rng):
        return np.gradient(np.clip(x, 0, 1).sum(axis=0)) + rng.laplace(scale=1, size=3)

    def partitioned(x, rng):
        return np.partition(x[:, 0], 0)[:1] + rng.laplace(scale=1, size=1)

    def recursion_over_data(x, rng):
        def total(y):
            return 0 if len(y) == 0 else y[0, 0] + total(y[1:])

        return total(x) + rng.laplace(scale=1)

    def raised(x, rng):
        raise ValueError(str(x[:, 0].sum()))

    def told_by_assert(x, rng):
        assert np.all(x[:, 0] >= 50), "small"
        return x[:, 0].sum() + rng.laplace(scale=100)

    def told_by_next(x, rng):
        return next((v for v in x[:, 0] if v > 50), 0.0) + rng.laplace(scale=1)

    def replaced_argument(x, rng):
        x[:, 0] = 0
        return x[:, 1].sum() + rng.laplace(scale=50)


class quotients:
    """Of the columns a in [-1.1, 0] and b in [1, 1.05]: Python divides downward, from the exact quotient."""

    def whole_quotient(x, rng):
        return (x[:, 0] // 0.1).sum() + rng.laplace(scale=11)  # -1.1 // 0.1 is -12

    def whole_quotient_by_its_name(x, rng):
        return np.floor_divide(x[:, 0], 0.1).sum() + rng.laplace(scale=11)


class replaced:
    """Of the columns a in [-1.1, 0] and b in [1, 1.05], with 5 records of which one is replaced."""

    def whole_quotient(x, rng):
        return (x[:, 1] // 0.1).sum() + rng.laplace(scale=1e-6)  # 1.0 // 0.1 is 9, 1.05 // 0.1 is 10

    def bound_of_one_side(x, rng):
        return x[:, 0].sum() + rng.laplace(scale=1.0)

    def mean_of_the_wrong_number(x, rng):
        return x[:, 0].mean() + rng.laplace(scale=1.1 / 6)

    def two_cells(x, rng):
        h, _ = np.histogram(x[:, 0], [-1.1, -0.5, 0])
        return h + rng.laplace(scale=1, size=2)

    def mean_of_a_selection(x, rng):
        return x[x[:, 0] > -1, 0].mean() + rng.laplace(scale=1)

    def length_of_a_selection(x, rng):
        return len(x[x[:, 0] > -1]) + rng.laplace(scale=0.5)

    def records_beside_positions(x, rng):
        return (x[:, 0] * np.arange(5)).sum() + rng.laplace(scale=1.1)

    def sample(x, rng):
        return x[rng.random(len(x)) < 0.1, 0].sum() + rng.laplace(scale=0.2)


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
        m = df.age.sum()  # noqa: F841
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


class of_polars:
    """Of a frame of polars."""

    def number_is_of_python(df, rng):
        n = df.select(pl.len()).item()
        return n if isinstance(n, int) else n + rng.laplace(scale=1)

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
