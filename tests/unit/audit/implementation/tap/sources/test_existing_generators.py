"""Generators that were made before: those of the function's module are tapped, others are seen to have drawn."""

import gc
import random
from functools import partial

import numpy as np

from dpverdict.audit.implementation.tap.sources.existing_generators import (
    WatchedGenerators,
    compiled_calls,
    names_of_module,
)
from dpverdict.audit.implementation.tap.sources.samplers import TappedGenerator, TappedRandomState, generator, samplers

RNG = np.random.default_rng(1)
STATE = np.random.RandomState(1)
PLAIN, OF_THE_SYSTEM = random.Random(1), random.SystemRandom()
KEPT = [np.random.default_rng(2)]


def function(x, rng):  # type: ignore[no-untyped-def]
    return x


def test_generators_and_samplers_of_the_module_are_given_tapped_ones() -> None:
    for one in (function, partial(function, rng=None)):
        found = {name: new for _, name, new in names_of_module(one, samplers(generator(1), 1), 1)}
        assert type(found["RNG"]) is TappedGenerator
        assert found["RNG"].bit_generator is RNG.bit_generator
        assert type(found["STATE"]) is TappedRandomState
        assert {"PLAIN", "OF_THE_SYSTEM"} <= found.keys()
        assert "KEPT" not in found
    assert names_of_module(len, [], 1) == []
    assert compiled_calls(function) is None


def test_a_generator_that_is_kept_elsewhere_is_seen_to_draw_and_one_that_is_not_used_is_not() -> None:
    watched = WatchedGenerators([RNG])
    RNG.random()
    watched.look()
    assert watched.drew is None
    KEPT[0].random()
    watched.forgive()  # within a draw that is followed
    watched.look()
    assert watched.drew is None
    KEPT[0].random()
    watched.look()
    assert watched.drew == "PCG64"


def test_a_generator_that_was_frozen_is_seen_to_draw() -> None:
    """As every object is in a process that froze them, to fork copies of itself."""
    gc.freeze()
    try:
        watched = WatchedGenerators([RNG])
        KEPT[0].random()
        watched.look()
        assert watched.drew == "PCG64"
    finally:
        gc.unfreeze()
