"""Loaders of batches: such that do what is claimed of them, and such that do something else.

Each is a function of a seed and gives one pass. A claim is (sampling, rate, size).
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

N, B, T = 200, 10, 20
Loader = Callable[[int], Iterator[Any]]
Claim = tuple[str, str | None, str | None]
POISSON: Claim = ("poisson", "0.05", None)
FIXED: Claim = ("fixed-size", None, "10")
SHUFFLE: Claim = ("shuffle", None, "10")
BALLS: Claim = ("balls-in-bins", "1/20", None)


def steps(draw: Callable[[np.random.Generator, int], Any], number: int = T) -> Loader:
    """One batch after the other, each from the generator and its place in the pass."""

    def passed(seed: int) -> Iterator[Any]:
        rng = np.random.default_rng(seed)
        for place in range(number):
            yield draw(rng, place)

    return passed


def independent(rates: Any) -> Loader:
    """Every record with its own rate."""
    return steps(lambda rng, place: np.flatnonzero(rng.random(N) < rates))


def cut(order: Callable[[np.random.Generator], Any], size: int = B, *, drop: bool = False) -> Loader:
    """An order of the records, cut into batches."""

    def passed(seed: int) -> Iterator[Any]:
        records = order(np.random.default_rng(seed))
        for first in range(0, N - size + 1 if drop else N, size):
            yield records[first : first + size]

    return passed


def binned(bins: Callable[[np.random.Generator], Any], number: int = T) -> Loader:
    """The bin of every record."""

    def passed(seed: int) -> Iterator[Any]:
        found = bins(np.random.default_rng(seed))
        for place in range(number):
            yield np.flatnonzero(found == place)

    return passed


def same(loader: Loader) -> Loader:
    """The same seed in each pass."""
    return lambda seed: loader(1)


def twice(loader: Loader) -> Loader:
    """Each batch two times."""
    return lambda seed: (batch for batch in loader(seed) for _ in range(2))


def buffered(rng: np.random.Generator) -> Any:
    """Records in their order, shuffled within a buffer of 20."""
    return np.concatenate([first + rng.permutation(20) for first in range(0, N, 20)])


def together(rng: np.random.Generator, place: int) -> Any:
    """Records 2j and 2j + 1 in the same batches."""
    return np.flatnonzero(np.repeat(rng.random(N // 2) < 0.05, 2))


def far_together(rng: np.random.Generator, place: int) -> Any:
    """Records i and a partner in the same batches, by a pairing that no test names."""
    partner = np.random.default_rng(7).permutation(N)
    found = np.zeros(N, dtype=bool)
    found[partner] = np.repeat(rng.random(N // 2) < 0.05, 2)
    return np.flatnonzero(found)


def by_coins(rng: np.random.Generator, place: int) -> Any:
    """A number from the binomial law, and so many records without replacement: Poisson sampling."""
    return rng.choice(N, rng.binomial(N, 0.05), replace=False)


def cut_to_ten(rng: np.random.Generator, place: int) -> Any:
    """Poisson sampling, and what is over 10 records left out."""
    found = rng.permutation(np.flatnonzero(rng.random(N) < 0.05))
    return found[:10]


def cut_to_thirteen(rng: np.random.Generator, place: int) -> Any:
    """The same, at 13 records: one batch in eight is longer."""
    found = rng.permutation(np.flatnonzero(rng.random(N) < 0.05))
    return found[:13]


def chosen(rng: np.random.Generator, place: int) -> Any:
    """A uniform set."""
    return rng.choice(N, B, replace=False)


ONE_OFTEN = np.where(np.arange(N) == 17, 0.3, 0.05)
UNEVEN = np.where(np.arange(N) % 2, 0.03, 0.07)
WEIGHTS = np.where(np.arange(N) % 2, 0.6, 1.4) / N

RIGHT: dict[str, tuple[Claim, Loader, int]] = {
    "Poisson by a mask": (POISSON, independent(0.05), N),
    "Poisson by a binomial number": (POISSON, steps(by_coins), N),
    "Poisson with the rate 1/2": (("poisson", "0.5", None), independent(0.5), N),
    "Poisson with a rare record": (("poisson", "0.002", None), independent(0.002), N),
    "Poisson padded with -1": (POISSON, steps(lambda rng, place: np.append(by_coins(rng, place), [-1, -1])), N),
    "fixed size": (FIXED, steps(chosen), N),
    "fixed size by a permutation": (FIXED, steps(lambda rng, place: rng.permutation(N)[:B]), N),
    "half of the records": (("fixed-size", None, "100"), steps(lambda rng, place: rng.permutation(N)[:100]), N),
    "shuffled": (SHUFFLE, cut(lambda rng: rng.permutation(N)), N),
    "shuffled with a partial batch": (("shuffle", None, "30"), cut(lambda rng: rng.permutation(N), 30), N),
    "shuffled by random keys": (SHUFFLE, cut(lambda rng: np.argsort(rng.random(N))), N),
    "balls in bins": (BALLS, binned(lambda rng: rng.integers(T, size=N)), N),
    "balls in two bins": (("balls-in-bins", "1/2", None), binned(lambda rng: rng.integers(2, size=N), 2), N),
}

WRONG: dict[str, tuple[Claim, Loader, int]] = {
    "shuffled, not Poisson": (POISSON, cut(lambda rng: rng.permutation(N)), N),
    "fixed size, not Poisson": (POISSON, steps(chosen), N),
    "with replacement, not Poisson": (POISSON, steps(lambda rng, place: rng.choice(N, rng.binomial(N, 0.05))), N),
    "Poisson, two rates": (POISSON, independent(UNEVEN), N),
    "Poisson, one record often": (POISSON, independent(ONE_OFTEN), N),
    "Poisson, the same in each pass": (POISSON, same(independent(0.05)), N),
    "Poisson, another rate": (POISSON, independent(0.06), N),
    "Poisson, a smaller last batch": (
        POISSON,
        steps(lambda rng, place: np.flatnonzero(rng.random(N) < (0.02 if place == T - 1 else 0.05))),
        N,
    ),
    "Poisson, neighbours together": (POISSON, steps(together), N),
    "Poisson, hidden pairs together": (POISSON, steps(far_together), N),
    "Poisson, cut to ten": (POISSON, steps(cut_to_ten), N),
    "Poisson, cut where few batches are so large": (POISSON, steps(cut_to_thirteen), N),
    "Poisson, each batch twice": (POISSON, twice(independent(0.05)), N),
    "balls in bins, not Poisson": (POISSON, binned(lambda rng: rng.integers(T, size=N)), N),
    "shuffled, not fixed size anew": (FIXED, cut(lambda rng: rng.permutation(N)), N),
    "Poisson, not fixed size": (FIXED, independent(0.05), N),
    "fixed size by weights": (FIXED, steps(lambda rng, place: rng.choice(N, B, replace=False, p=WEIGHTS)), N),
    "not shuffled": (SHUFFLE, cut(lambda rng: np.arange(N)), N),
    "shuffled once": (SHUFFLE, same(cut(lambda rng: rng.permutation(N))), N),
    "shuffled, the last batch dropped": (
        ("shuffle", None, "30"),
        cut(lambda rng: rng.permutation(N), 30, drop=True),
        N,
    ),
    "shuffled in a buffer": (SHUFFLE, cut(buffered), N),
    "shuffled, not balls in bins": (BALLS, cut(lambda rng: rng.permutation(N)), N),
    "balls in bins, the same in each pass": (BALLS, same(binned(lambda rng: rng.integers(T, size=N))), N),
    "balls in uneven bins": (
        BALLS,
        binned(lambda rng: rng.choice(T, N, p=np.array([1.5] * 10 + [0.5] * 10) / T)),
        N,
    ),
}
