"""Loaders of batches, to be audited: a dataset of 1000 records, 20 batches an epoch."""

from collections.abc import Iterator
from typing import Any

import numpy as np

RECORDS = 1000


def shuffled(seed: int) -> Iterator[Any]:
    """Records shuffled in each epoch and cut into batches of 50: what most training scripts do."""
    order = np.random.default_rng(seed).permutation(RECORDS)
    for first in range(0, RECORDS, 50):
        yield order[first : first + 50]


def weighted(seed: int) -> Iterator[Any]:
    """Independent records, of which the first ten, a rare class, are drawn more often."""
    rng = np.random.default_rng(seed)
    rates = np.where(np.arange(RECORDS) < 10, 0.5, 0.0455)
    for _ in range(20):
        yield np.flatnonzero(rng.random(RECORDS) < rates)


def poisson(seed: int) -> Iterator[Any]:
    """Poisson sampling with rate 0.05."""
    rng = np.random.default_rng(seed)
    for _ in range(20):
        yield np.flatnonzero(rng.random(RECORDS) < 0.05)
