"""Uniform random words: what the samplers that are exact are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Words: TypeAlias = Callable[[int], NDArray[np.uint64]]
"""``words(n)`` is an array of n independent uniform 64-bit words."""

UniformBelow: TypeAlias = Callable[[int], int]
"""``below(n)`` is uniform on 0..n-1, exactly and independently of the past: for example `secrets.randbelow`."""

LARGEST_WORD: Final = (1 << 64) - 1


def words_of(rng: np.random.Generator) -> Words:
    """Uniform 64-bit words from a NumPy generator."""
    return lambda n: rng.integers(0, LARGEST_WORD, n, dtype=np.uint64, endpoint=True)


def integers_of(rng: np.random.Generator) -> UniformBelow:
    """Uniform integers of any size from the bits of a NumPy generator, by rejection."""

    def below(n: int) -> int:
        bits = (n - 1).bit_length()
        while True:
            drawn = int.from_bytes(rng.bytes((bits + 7) // 8)) >> (-bits % 8)
            if drawn < n:
                return drawn

    return below
