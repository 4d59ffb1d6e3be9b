"""Functions of NumPy and of Python that break their claim of eps=1 for some pair of neighbours: none is certified.

The comment of each says on which pair, or in which run, it does so. The table has the columns a, b, c in [0, 100],
under add-or-remove-one, unless a group says otherwise.
"""

# ruff: noqa: B006, B012, B905, C417, F841, RUF012, RUF058, UP031
# mypy: ignore-errors
# pyright: basic

import array
import bisect
import collections
import contextlib
import dataclasses
import functools
import itertools
import json
import logging
import math
import numbers
import operator
import random
import statistics
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


@functools.lru_cache
def once(k):
    return np.random.default_rng().laplace(scale=100)


def doubled(function):
    def inner(x, rng):
        return function(x, rng), function(x, rng)

    return inner


def noises(rng):
    z = rng.laplace(scale=100)
    while True:
        yield z


class Swallow:
    """A context manager that catches everything."""

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        return True


class operations:
    """What operations of NumPy give at their edges: shapes, orders, views, numbers that wrap, the norm of others."""

    def nan_is_true(x, rng):  # 0 / 0 is NaN, which is true on both sides of the mask
        m = x[:, 1] > 50
        y = x[:, 0] / x[:, 0]
        return (m * y).astype(bool).sum() + rng.laplace(scale=1), (~m * y).astype(bool).sum() + rng.laplace(scale=1)

    def inverted_wide(x, rng):  # a record of (90, 10, 0) is in both: the cells are of two columns
        w = ~(x > 50)
        v = ~w
        return w[:, 0].sum() + rng.laplace(scale=1), v[:, 1].sum() + rng.laplace(scale=1)

    def new_axis_after_all(x, rng):  # three columns with one draw
        return x[..., None][:, :, 0].sum(axis=0) + rng.laplace(scale=100, size=1)

    def mask_with_a_list(x, rng):  # two records are paired with the two columns, and three are an error
        return x[x[:, 0] > 50, [0, 1]].sum(axis=0) + rng.laplace(scale=200, size=2)

    def separated_indices(x, rng):  # NumPy puts the listed axis before the records: they are not summed
        return x[:, :, None][:, 0, None, [0]].sum(axis=0) + rng.laplace(scale=100, size=(1, 1))

    def inner_of_a_matrix(x, rng):  # it is x @ w.T: column 0 with noise of 1e-3
        return np.inner(x, np.array([[1.0, 0, 0], [1, 0, 0], [1, 0, 0]])).sum(axis=0) + rng.laplace(
            scale=[300, 1e-3, 1e-3]
        )

    def inner_of_totals(x, rng):  # it is c @ w.T
        return np.inner(x.sum(axis=0)[None], np.array([[0.0, 0, 0], [0, 0, 0], [1, 0, 0]])) + rng.laplace(
            scale=[100, 1e-3, 1e-3]
        )

    def squeeze_one(x, rng):  # of one record its columns are summed
        return x.squeeze().sum(axis=0) + rng.laplace(scale=300, size=3)

    def squeeze_middle(x, rng):  # column 0 comes with every draw
        return np.squeeze((x * [1, 0, 0])[:, None, :])[:, 0].sum(axis=0) + rng.laplace(scale=[100, 1e-3, 1e-3])

    def reshape_to_five(x, rng):  # an error, unless there are 5 records
        return x[:, 0].reshape(5).sum() + rng.laplace(scale=100)

    def reshape_np_five(x, rng):  # an error, unless there are 5 records
        return np.reshape(x[:, 0], (5,)).sum() + rng.laplace(scale=100)

    def ones_of_8_bits(x, rng):  # 1 - 2 is 255
        return (np.ones_like(x[:, 0], dtype=np.uint8) - 2).sum() + rng.laplace(scale=1)

    def ones_of_16_bits(x, rng):  # 2048 and 2049 records become 2048 and 2050
        return np.ones_like(x[:, 0], dtype=np.float16).sum() + rng.laplace(scale=1)

    def joined_in_16_bits(x, rng):  # of 16 bits: a sum moves by 128
        return np.hstack([x[:, 0].sum(), x[:, 1].sum()], dtype=np.float16, casting="unsafe") + rng.laplace(
            scale=200, size=2
        )

    def joined_in_8_bits(x, rng):  # 127 + 1 is -128
        return np.vstack([x[:, 0].sum(), x[:, 1].sum()], dtype=np.int8, casting="unsafe") + rng.laplace(
            scale=200, size=(2, 1)
        )

    def transpose_same(x, rng):  # not transposed: column 0 with noise of 1e-3
        c = x.T @ (x * [1, 0, 0])
        return c.transpose(0, 1) + rng.laplace(scale=[[30000.0] * 3, [1e-3] * 3, [1e-3] * 3])

    def transpose_records(x, rng):  # the sum of the first record
        return x.transpose(0, 1)[0].sum() + rng.laplace(scale=100)

    def transpose_loop(x, rng):  # a release for each record
        return [c.sum() + rng.laplace(scale=300) for c in x.transpose(0, 1)]

    def columns_first(x, rng):  # column 0 comes first, with noise of 1e-3
        c = x.T @ (x * [1, 0, 0])
        return c.ravel("F") + rng.laplace(scale=[30000.0, 1e-3, 1e-3] * 3)

    def columns_first_in_a_copy(x, rng):  # column 0 comes first, with noise of 1e-3
        c = x.T @ (x * [1, 0, 0])
        return c.flatten("F") + rng.laplace(scale=[30000.0, 1e-3, 1e-3] * 3)

    def zero_d_array(x, rng):  # t is an array without axes, which u shows too
        t = np.array(x[:, 0].sum())
        u = t
        t *= 1000
        return u + rng.laplace(scale=100)

    def zero_d_asarray(x, rng):
        t = np.asarray(x[:, 0].sum())
        u = t
        t += t * 999
        return u + rng.laplace(scale=100)

    def zero_d_view(x, rng):  # c[0, ...] is a view
        c = x.sum(axis=0)
        t = c[0, ...]
        t *= 1000
        return c + rng.laplace(scale=300, size=3)

    def zero_d_squeeze(x, rng):  # a view
        c = x.sum(axis=0)
        t = np.squeeze(c[:1])
        t *= 1000
        return c + rng.laplace(scale=300, size=3)

    def zero_d_noise(x, rng):  # a view: the first draw is gone
        z = rng.laplace(scale=300, size=3)
        w = z[0, ...]
        w *= 0
        return x.sum(axis=0) + z

    def zero_d_draw(x, rng):  # of size=() it is an array
        z = rng.laplace(scale=100, size=())
        w = z
        w *= 0
        return x[:, 0].sum() + z

    def reshaped_to_nothing(x, rng):  # a view
        c = x[:, :1].sum(axis=0)
        t = c.reshape(())
        t *= 1000
        return c + rng.laplace(scale=100, size=1)

    def array_ndmin_column(x, rng):  # the records are not summed
        return np.array(x[:, 0], ndmin=2).sum(axis=0) + rng.laplace(scale=100)

    def records_by_asarray(x, rng):
        y = x.copy()
        w = np.array(y, copy=False) if False else np.asarray(y)
        w *= 10
        return y.sum(axis=0) + rng.laplace(scale=300, size=3)

    def asarray_view(x, rng):
        c = x.sum(axis=0)
        w = np.asarray(c)
        w *= 10
        return c + rng.laplace(scale=300, size=3)

    def atleast1_view(x, rng):
        c = x.sum(axis=0)
        w = np.atleast_1d(c)
        w *= 10
        return c + rng.laplace(scale=300, size=3)

    def atleast1_rows(x, rng):
        y = x[:, 0].copy()
        w = np.atleast_1d(y)
        w *= 10
        return y.sum() + rng.laplace(scale=100)

    def ravel_rows_view(x, rng):
        y = x[:, 0].copy()
        w = y.ravel()
        w *= 10
        return y.sum() + rng.laplace(scale=100)

    def transposed_column(x, rng):
        y = x[:, 0].copy()
        w = y.T
        w *= 10
        return y.sum() + rng.laplace(scale=100)

    def transposed_and_changed(x, rng):
        y = x.copy()
        w = y.T
        y *= 10
        return (w @ np.ones_like(x))[0, 0] + rng.laplace(scale=100)

    def changed_in_a_loop_over_columns(x, rng):
        y = x.copy()
        for c in y.T:
            c *= 10
        return y.sum(axis=0) + rng.laplace(scale=300, size=3)

    def take_mode(x, rng):
        c = x.sum(axis=0)
        return np.take(c, [0, 5], mode="wrap") + rng.laplace(scale=[200, 1e-3])

    def take_out(x, rng):
        c = x.sum(axis=0)
        o = np.zeros(2)
        np.take(c, [0, 1], out=o)
        return o

    def isin_set(x, rng):
        m = np.isin(np.floor(x[:, 0]), {1, 2, 3})
        return (~m).sum() + rng.laplace(scale=0.9)

    def bitwise_ints(x, rng):
        return (x[:, 0].astype(int) ^ 1).sum() + rng.laplace(scale=100)

    def shift_ints(x, rng):
        return (x[:, 0].astype(int) << 3).sum() + rng.laplace(scale=100)

    def abs_of_total_twice(x, rng):
        s = (x[:, 0] - 50).sum()
        return np.abs(s) + rng.laplace(scale=50), np.maximum(s, 0) + rng.laplace(scale=50)

    def sum_keepdims(x, rng):
        return (x.sum(axis=1, keepdims=True) * x).sum(axis=0) + rng.laplace(scale=3e4, size=3)

    def count_bool_add(x, rng):
        m = x[:, 0] > 50
        k = x[:, 1] > 50
        return (m + k).sum() + rng.laplace(scale=0.6), (m * 1 + k * 1).sum() + rng.laplace(scale=1.5)

    def bool_negative(x, rng):
        m = x[:, 0] > 50
        return np.subtract(m.astype(np.int8), 1).sum() + rng.laplace(scale=0.9)

    def uint_minus(x, rng):
        m = (x[:, 0] > 50).astype(np.uint8)
        return (m - np.uint8(1)).sum() + rng.laplace(scale=1)

    def uint_negative(x, rng):
        m = (x[:, 0] > 50).astype(np.uint16)
        return (-m).sum() + rng.laplace(scale=1)

    def uint_sum_minus(x, rng):
        s = (x[:, 0] > 50).astype(np.uint64).sum()
        return (s - np.uint64(10)) + rng.laplace(scale=1)

    def uint_count_neg(x, rng):
        s = (x[:, 0] > 50).astype(np.uint32).sum()
        return -s + rng.laplace(scale=1)

    def count_that_wraps(x, rng):
        s = (x[:, 0] > 50).sum()
        return s * 2**62 / 2**62 + rng.laplace(scale=1)

    def count_times_a_large_number(x, rng):
        s = (x[:, 0] > 50).sum()
        return (s * np.int64(2**62)) + rng.laplace(scale=2.0**62)

    def shape_of_selected(x, rng):
        y = x[x[:, 0] > 50]
        return y.shape[0] + rng.laplace(scale=1), len(x) + rng.laplace(scale=1)

    def weights_hist_over(x, rng):
        h, _ = np.histogram(x[:, 0], bins=2, range=(0, 50))
        return h + rng.laplace(scale=1, size=2), (x[:, 0] == 50).sum() + rng.laplace(scale=1)

    def histogram_of_two_columns(x, rng):
        h, _, _ = np.histogram2d(x[:, 0], x[:, 1], bins=[2, 2], range=[[0, 100], [0, 100]])
        return h + rng.laplace(scale=0.5, size=(2, 2))

    def histogram_and_its_margins(x, rng):
        h, _, _ = np.histogram2d(x[:, 0], x[:, 1], bins=[2, 2], range=[[0, 100], [0, 100]])
        return h.sum(axis=0) + rng.laplace(scale=1, size=2), h.sum(axis=1) + rng.laplace(scale=1, size=2)

    def cumsum_hist(x, rng):
        h, _ = np.histogram(x[:, 0], [0, 30, 60, 100])
        return h.cumsum() + rng.laplace(scale=1, size=3)

    def diff_hist(x, rng):
        h, _ = np.histogram(x[:, 0], [0, 30, 60, 100])
        return np.diff(h) + rng.laplace(scale=1, size=2)

    def where_three(x, rng):
        m = x[:, 0] > 50
        y = np.where(m, x[:, 1], -x[:, 1])
        return y.sum() + rng.laplace(scale=100), np.where(m, 0, 1).sum() + rng.laplace(scale=1)

    def norm_axis_clip(x, rng):
        n = np.linalg.norm(x, axis=1, ord=1)[:, None]
        y = x / np.maximum(1, n / 100)
        return (y * 2).sum(axis=0) + rng.laplace(scale=100, size=3)

    def norm_l2_laplace(x, rng):
        n = np.linalg.norm(x, axis=1)[:, None]
        y = x / np.maximum(1, n / 100)
        return y.sum(axis=0) + rng.laplace(scale=100, size=3)

    def shifted_before_a_norm_of_others(x, rng):
        n = np.linalg.norm(x, axis=1, ord=1)[:, None]
        y = (x - 50) / np.maximum(1, n / 100)
        return y.sum(axis=0) + rng.laplace(scale=100, size=3)

    def norm_min_wrong(x, rng):
        n = np.linalg.norm(x, axis=1, ord=1)[:, None]
        y = x * np.maximum(1, 100 / n)
        return y.sum(axis=0) + rng.laplace(scale=100, size=3)

    def norm_of_part(x, rng):
        n = np.linalg.norm(x[:, :2], axis=1, ord=1)[:, None]
        y = x / np.maximum(1, n / 100)
        return y.sum(axis=0) + rng.laplace(scale=100, size=3)

    def norm_rounded(x, rng):
        n = np.linalg.norm(x, axis=1, ord=1, keepdims=True)
        y = np.ceil(x / np.maximum(1, n / 1))
        return y.sum(axis=0) + rng.laplace(scale=1, size=3)

    def norm_twice_index(x, rng):
        n = np.linalg.norm(x, axis=1, ord=1, keepdims=True)
        y = x / np.maximum(1, n / 100)
        return y[:, [0, 0, 1]].sum(axis=0) + rng.laplace(scale=100, size=3)

    def norm_repeat_columns(x, rng):
        w = x[:, [0, 0, 0]]
        n = np.linalg.norm(x, axis=1, ord=1, keepdims=True)
        return (w / np.maximum(1, n / 100)).sum(axis=0) + rng.laplace(scale=100, size=3)

    def norm_index_swaps(x, rng):
        n = np.linalg.norm(x, axis=1, ord=1, keepdims=True)
        k = np.maximum(1, n / 100)
        y = x[:, None, :] / k[:, :, None]
        return y.sum(axis=0)[0] + rng.laplace(scale=50, size=3)

    def poisson_no_amp(x, rng):
        m = rng.random(len(x)) < 0.5
        return x[m, 0].sum() + rng.laplace(scale=100), x[~m, 0].sum() + rng.laplace(scale=60)

    def poisson_twice(x, rng):
        m = rng.random(len(x)) < 0.5
        return x[m, 0].sum() + rng.laplace(scale=80), x[m, 1].sum() + rng.laplace(scale=80)

    def spawn_seed(x, rng):
        g = np.random.default_rng(rng.integers(10))
        return x[:, 0].sum() + g.laplace(scale=100)

    def seed_from_draw(x, rng):
        s = int(rng.integers(2**31))
        g = np.random.default_rng(s)
        return s, x[:, 0].sum() + g.laplace(scale=100)

    def state_of_the_generator(x, rng):
        z = x[:, 0].sum() + rng.laplace(scale=100)
        return z, rng.bit_generator.state["state"]["state"]

    def python_random(x, rng):
        r = random.Random(0)
        return x[:, 0].sum() + r.gauss(0, 1000)

    def shuffled_noise(x, rng):
        z = rng.laplace(scale=[300, 1e-3, 1e-3])
        rng.shuffle(z)
        return x[:, 0].sum() + z[0]

    def sign_noise(x, rng):
        z = np.abs(rng.laplace(scale=100))
        return x[:, 0].sum() + z

    def exp_noise(x, rng):
        return x[:, 0].sum() + rng.exponential(scale=100)

    def sign_times_exp(x, rng):
        return x[:, 0].sum() + rng.choice([-1, 1]) * rng.exponential(scale=50)

    def uniform_noise(x, rng):
        return x[:, 0].sum() + rng.uniform(-1000, 1000)

    def laplace_loc(x, rng):
        return rng.laplace(x[:, 0].sum(), 50)

    def laplace_loc_scale(x, rng):
        return rng.laplace(loc=[0, 1], scale=[100, 100]) + x[:, 0].sum()

    def normal_scale_none(x, rng):
        return x[:, 0].sum() + rng.normal(100)

    def standard_t(x, rng):
        return x[:, 0].sum() + 100 * rng.standard_t(3)

    def covariance_without_an_inverse(x, rng):
        return x.sum(axis=0)[:2] + rng.multivariate_normal([0, 0], [[1e6, 1e6], [1e6, 1e6]])

    def geometric_p(x, rng):
        n = (x[:, 0] > 50).sum()
        return n + rng.geometric(0.6) - rng.geometric(0.7)

    def math_of_a_column(x, rng):  # an error, unless there is one record
        return math.sqrt(x[:, 0]).sum() + rng.laplace(scale=10)

    def max_of_a_column(x, rng):  # an error, unless there is one record
        return max(x[:, 0], 50).sum() + rng.laplace(scale=100)

    def nan_joined(x, rng):  # 0 / 0 is NaN, which is true on both sides of the mask
        m = x[:, 1] > 50
        y = x[:, 0] / x[:, 0]
        t = x[:, 0] >= 0
        return np.logical_and(m * y, t).sum() + rng.laplace(scale=1), np.logical_and(~m * y, t).sum() + rng.laplace(
            scale=1
        )

    def zero_d_by_ellipsis(x, rng):  # c[..., 1] is a view
        c = x.sum(axis=0)
        t = c[..., 1]
        t -= t * 999
        return c + rng.laplace(scale=300, size=3)

    def zero_d_converted(x, rng):
        t = np.asarray(x[:, 0].sum()).astype(float)
        u = t
        t *= 1000
        return u + rng.laplace(scale=100)

    def zero_d_copied(x, rng):
        t = np.copy(x[:, 0].sum())
        u = t
        t *= 1000
        return u + rng.laplace(scale=100)

    def zero_d_diagonal(x, rng):
        c = x.sum(axis=0)
        t = np.broadcast_to(c[:1], (1,))
        w = np.moveaxis(c[None], 0, 1)
        w *= 1000
        return c + rng.laplace(scale=300, size=3)

    def expand_records(x, rng):
        return np.expand_dims(x, 0)[0].sum(axis=0) + rng.laplace(scale=100, size=3)


class of_python:
    """What Python, or a library, does with draws, noisy values and records."""

    def vectorized(x, rng):  # where a noisy value is large
        raw = x[:, 0].sum()
        noisy = np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=3, size=3)
        return np.vectorize(lambda v: v if v < 1e6 else raw)(noisy)

    def function_made_a_ufunc(x, rng):  # where a noisy value is large
        raw = x[:, 0].sum()
        noisy = np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=3, size=3)
        return np.frompyfunc(lambda v: v if v < 1e6 else raw, 1, 1)(noisy)

    def piecewise(x, rng):  # where a noisy value is large
        raw = x[:, 0].sum()
        noisy = np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=3, size=3)
        return np.piecewise(noisy, [noisy < 1e6], [lambda v: v, lambda v: raw])

    def mapped_large(x, rng):
        raw = x[:, 0].sum()
        noisy = np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=3, size=3)
        return list(map(lambda v: raw, noisy[noisy > 1e6]))

    def log_raises(x, rng):
        raw = x[:, 0].sum()
        noisy = np.clip(x[:, 0], 0, 1).sum() + rng.laplace(scale=1)
        try:
            return math.log(noisy)
        except ValueError:
            return raw

    def log_suppressed(x, rng):
        raw = x[:, 0].sum()
        noisy = np.clip(x[:, 0], 0, 1).sum() + rng.laplace(scale=1)
        with contextlib.suppress(ValueError):
            return math.log(noisy)
        return raw

    def log_swallowed(x, rng):
        raw = x[:, 0].sum()
        noisy = np.clip(x[:, 0], 0, 1).sum() + rng.laplace(scale=1)
        with Swallow():
            return math.log(noisy)
        return raw

    def log_finally(x, rng):
        raw = x[:, 0].sum()
        noisy = np.clip(x[:, 0], 0, 1).sum() + rng.laplace(scale=1)
        out = [raw]
        try:
            out[0] = math.log(noisy)
        finally:
            return out

    def sqrt_in_stack(x, rng):
        raw = x[:, 0].sum()
        noisy = np.clip(x[:, 0], 0, 1).sum() + rng.laplace(scale=1)
        out = [raw]
        with contextlib.ExitStack() as s:
            s.push(lambda *a: True)
            out[0] = math.sqrt(noisy)
        return out

    def text_index(x, rng):
        raw = x[:, 0].sum()
        noisy = np.clip(x[:, 0], 0, 1).sum() + rng.laplace(scale=1)
        return [0.0, raw][str(noisy) > "9"]

    def text_and(x, rng):
        raw = x[:, 0].sum()
        noisy = np.clip(x[:, 0], 0, 1).sum() + rng.laplace(scale=1)
        return f"{noisy:.0f}" == "1000" and raw

    def compress(x, rng):
        raw = x[:, 0].sum()
        noisy = np.clip(x[:, 0], 0, 1).sum() + rng.laplace(scale=1)
        return list(itertools.compress([raw], [noisy > 1e6]))

    def starmap(x, rng):
        raw = x[:, 0].sum()
        noisy = np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=3, size=3)
        return list(itertools.starmap(lambda v: raw, zip(noisy[noisy > 1e6])))

    def series_of_large(x, rng):
        raw = x[:, 0].sum()
        noisy = np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=3, size=3)
        s = pd.Series(noisy)
        return s[s > 1e6].map(lambda v: raw)

    def polars_of_large(x, rng):
        raw = x[:, 0].sum()
        noisy = np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=3, size=3)
        s = pl.Series(noisy)
        return s.filter(s > 1e6).map_elements(lambda v: raw)

    def bisected(x, rng):
        raw = x[:, 0].sum()
        noisy = np.clip(x[:, 0], 0, 1).sum() + rng.laplace(scale=1)
        return [0.0, raw][bisect.bisect([1e6], noisy)]

    def fstring_length(x, rng):
        raw = x[:, 0].sum()
        noisy = np.clip(x[:, 0], 0, 1).sum() + rng.laplace(scale=1)
        return [0.0, 0.0, 0.0, 0.0, raw, raw, raw, raw, raw][len(f"{noisy:.0f}")]

    def chosen_by_noise(x, rng):
        raw = x[:, 0].sum()
        noisy = np.clip(x[:, 0], 0, 1).sum() + rng.laplace(scale=1)
        return np.choose(int(noisy > 1e6), [0.0, raw])

    def reduce_noise(x, rng):
        raw = x[:, 0].sum()
        noisy = np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=3, size=3)
        return functools.reduce(lambda a, b: raw, noisy[noisy > 1e6], 0.0)

    def single_ends(x, rng):  # 0.1 in 32 bits is more than 0.1
        return np.clip(x[:, 0], 0, 0.1).astype(np.float32).sum(dtype=np.float64) + rng.laplace(scale=0.1)

    def single_bounds(x, rng):  # the bound is in 32 bits, and more than 0.1
        return np.clip(x[:, 0].astype(np.float32), 0, 0.1).sum(dtype=np.float64) + rng.laplace(scale=0.1)

    def single_norm(x, rng):  # rounded after the norm
        y = x.astype(np.float32)
        n = np.linalg.norm(y, axis=1, ord=1, keepdims=True)
        return (y / np.maximum(1, n / 0.1)).sum(axis=0, dtype=np.float64) + rng.laplace(scale=0.1, size=3)

    def single_row_sum(x, rng):  # each is more than 0.1
        y = np.clip(x, 0, 0.1).astype(np.float32)
        return y.sum(axis=1).sum(dtype=np.float64) + rng.laplace(scale=0.30000001)

    def above_threshold(x, rng):
        t = rng.laplace(scale=1) + 5
        for i in range(3):
            if np.clip(x[:, i], 0, 1).sum() + rng.laplace(scale=1) > t:
                return i
        return None

    def noisy_max_value(x, rng):
        c = np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=1, size=3)
        return np.argmax(c), c.max()

    def noisy_max_threshold(x, rng):
        c = np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=1, size=3)
        return np.argmax(c), c > 5

    def choice_with_twice_the_scores(x, rng):
        c = np.clip(x, 0, 1).sum(axis=0)
        w = np.exp(2 * c)
        return rng.choice(3, p=w / w.sum())

    def choice_and_its_score(x, rng):
        c = np.clip(x, 0, 1).sum(axis=0)
        w = np.exp(c / 2)
        i = rng.choice(3, p=w / w.sum())
        return i, c[i] + rng.laplace(scale=1)

    def gumbel_released(x, rng):
        c = np.clip(x, 0, 1).sum(axis=0) + rng.gumbel(scale=2, size=3)
        return c.argmax(), c.min()

    def where_on_noise(x, rng):
        z = rng.laplace(scale=100)
        return x[:, 0].sum() + np.where(z > 0, z, 0)

    def rounded_noise(x, rng):
        return x[:, 0].sum() + np.round(rng.laplace(scale=100))

    def clipped_noise(x, rng):
        return x[:, 0].sum() + np.clip(rng.laplace(scale=100), -300, 300)

    def modulo_noise(x, rng):
        return x[:, 0].sum() + rng.laplace(scale=100) % 10

    def noise_minus_itself(x, rng):
        z = rng.normal(scale=300)
        return x[:, 0].sum() + z - z

    def noise_mean_removed(x, rng):
        z = rng.normal(scale=1000, size=3)
        return x.sum(axis=0) + (z - z.mean())

    def noise_scaled_zero(x, rng):
        return x[:, 0].sum() + 0 * rng.laplace(scale=100)

    def noise_over_inf(x, rng):
        return x[:, 0].sum() + rng.laplace(scale=100) / np.inf

    def noise_int(x, rng):
        return x[:, 0].sum() + int(rng.laplace(scale=100))

    def noise_pow(x, rng):
        return x[:, 0].sum() + rng.laplace(scale=100) ** 0

    def noise_sorted_list(x, rng):
        return [s + z for s, z in zip(x.sum(axis=0), sorted([rng.laplace(scale=300) for _ in range(3)]))]

    def noise_min_of_two(x, rng):
        return x[:, 0].sum() + min(rng.laplace(scale=100), rng.laplace(scale=100))

    def cached(x, rng, held={}):
        if "z" not in held:
            held["z"] = rng.laplace(scale=100)
        return x[:, 0].sum() + held["z"]

    def noise_kept_by_a_cache(x, rng):
        return x[:, 0].sum() + once(1), x[:, 0].sum() * 2 + once(1)

    @doubled
    def decorated(x, rng):
        return x[:, 0].sum() + rng.laplace(scale=100)

    def generator_noise(x, rng):
        g = noises(rng)
        return x[:, 0].sum() + next(g), x[:, 1].sum() + next(g)

    def tee_noise(x, rng):
        a, b = itertools.tee(rng.laplace(scale=100) for _ in range(1))
        return x[:, 0].sum() + next(a), x[:, 1].sum() + next(b)

    def star_noise(x, rng):
        z = [rng.laplace(scale=300)] * 3
        return [s + t for s, t in zip(x.sum(axis=0), z)]

    def mean_of_statistics(x, rng):
        return statistics.fmean(x[:, 0]) + rng.laplace(scale=1)

    def sum_of_math(x, rng):
        return math.fsum(x[:, 0]) + rng.laplace(scale=1)

    def counter(x, rng):
        return collections.Counter(x[:, 0])[5.0] + rng.laplace(scale=0.5)

    def bits_as_integers(x, rng):
        return x[:, 0].view(np.int64).sum() + rng.laplace(scale=100)

    def bytes_of_records(x, rng):
        return len(x.tobytes())

    def buffer(x, rng):
        return memoryview(x).nbytes

    def nbytes(x, rng):
        return x.nbytes

    def what_it_is_a_view_of(x, rng):
        return x[:, 0].base

    def array_interface(x, rng):
        return x.__array_interface__["shape"]

    def as_strided(x, rng):
        return np.lib.stride_tricks.as_strided(x[:, 0], (2,)).sum() + rng.laplace(scale=1)

    def records_with_names(x, rng):
        return np.rec.fromarrays([x[:, 0]])["f0"].sum() + rng.laplace(scale=1)

    def array_without_mask(x, rng):
        return np.ma.array(x[:, 0], mask=False).mean() + rng.laplace(scale=1)

    def lexsort(x, rng):
        return np.lexsort((x[:, 0], x[:, 1]))[0]

    def crossed_places(x, rng):
        return x[np.ix_([0, 1], [0])].sum() + rng.laplace(scale=1)

    def iterated_by_numpy(x, rng):
        return sum(v for v in np.nditer(x)) + rng.laplace(scale=1)

    def einsum(x, rng):
        return np.einsum("ij->j", x) + rng.laplace(scale=100, size=3)

    def tensordot(x, rng):
        return np.tensordot(x, x, axes=0).sum() + rng.laplace(scale=1)

    def quotient_and_remainder(x, rng):
        return divmod(x[:, 0], 7)[1].sum() + rng.laplace(scale=3)

    def fractions_and_wholes(x, rng):
        return np.modf(x[:, 0])[0].sum() + rng.laplace(scale=0.5)

    def heaviside(x, rng):
        return np.heaviside(x[:, 0] - 50, 0.5).sum() + rng.laplace(scale=0.4)

    def neg_index_roll(x, rng):
        return np.roll(x[:, 0], 1).sum() + rng.laplace(scale=50)

    def repeat_rows(x, rng):
        return np.repeat(x, 2, axis=0).sum() + rng.laplace(scale=300)

    def tile_rows(x, rng):
        return np.tile(x[:, 0], 2).sum() + rng.laplace(scale=100)

    def pad_rows(x, rng):
        return np.pad(x[:, 0], 1, mode="edge").sum() + rng.laplace(scale=100)

    def broadcast_rows(x, rng):
        return np.broadcast_to(x, (2, *x.shape)).sum() + rng.laplace(scale=300)

    def outer_of_columns(x, rng):
        return (x[:, 0][:, None] * x[:, 1][None]).sum() + rng.laplace(scale=1e4)

    def column_against_rows(x, rng):
        return (x[:, :1] + x[:, 0]).sum() + rng.laplace(scale=200)

    def list_times_noise(x, rng):  # where a noisy value is large
        raw = x[:, 0].sum()
        noisy = np.clip(x[:, 0], 0, 1).sum() + rng.laplace(scale=1)
        return [raw] * int(noisy > 1e6)

    def slice_by_noise(x, rng):  # where a noisy value is large
        raw = x[:, 0].sum()
        noisy = np.clip(x[:, 0], 0, 1).sum() + rng.laplace(scale=1)
        return [raw][: int(noisy > 1e6)]

    def slice_by_noise_of_a_list_with_a_name(x, rng):  # where a noisy value is large
        kept = [x[:, 0].sum()]
        noisy = np.clip(x[:, 0], 0, 1).sum() + rng.laplace(scale=1)
        many = slice(0, range(3)[int(noisy > 1e6)])
        return kept.__getitem__(many)

    def first_ones_by_noise(x, rng):  # where a noisy value is large
        raw = x[:, 0].sum()
        noisy = np.clip(x[:, 0], 0, 1).sum() + rng.laplace(scale=1)
        return list(itertools.islice([raw], int(max(noisy - 1e6, 0))))

    def repeated_by_noise(x, rng):  # where a noisy value is large
        raw = x[:, 0].sum()
        noisy = np.clip(x[:, 0], 0, 1).sum() + rng.laplace(scale=1)
        return list(itertools.repeat(raw, int(noisy > 1e6)))

    def dictionary_by_text(x, rng):  # where a noisy value is 1000
        raw = x[:, 0].sum()
        noisy = np.clip(x[:, 0], 0, 1).sum() + rng.laplace(scale=1)
        return {True: raw}.get(f"{noisy:.0f}" == "1000", 0.0)
