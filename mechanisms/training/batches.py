"""How the batches of a training run are made: the names of the ways, and noisy sums of batches that are drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.checks import check_whole
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array

BatchSampling: TypeAlias = Literal[
    "poisson",
    "balls-in-bins",
    "shuffle",
    "shuffle-once",
    "fixed-size",
    "cyclic-poisson",
    "k-of-t",
    "truncated-poisson",
    "weighted",
    "with-replacement",
]
EPOCHWISE: Final[tuple[BatchSampling, ...]] = ("balls-in-bins", "shuffle", "shuffle-once")
"""Of whole epochs, in each of which every record is in one batch."""
SAMPLINGS: Final[tuple[BatchSampling, ...]] = (
    "poisson",
    *EPOCHWISE,
    "fixed-size",
    "cyclic-poisson",
    "k-of-t",
    "truncated-poisson",
    "weighted",
    "with-replacement",
)

IN_WORDS: Final[Mapping[BatchSampling, str]] = {
    "poisson": "Poisson",
    "balls-in-bins": "balls in bins",
    "shuffle": "shuffled in each epoch",
    "shuffle-once": "shuffled once",
    "fixed-size": "fixed size, drawn anew in each step",
    "cyclic-poisson": "cyclic Poisson",
    "k-of-t": "each record in k of the steps, drawn uniformly",
    "truncated-poisson": "Poisson, cut at a size",
    "weighted": "Poisson with rates of the records, of which this is the largest",
    "with-replacement": "drawn anew with replacement in each step",
}
_BLOCK: Final = 1 << 22  # places of records that are drawn at a time


def read_sampling(text: str) -> BatchSampling:
    """How batches are made, as it is written.

    Raises:
        InvalidValue: none of `SAMPLINGS`.
    """
    for known in SAMPLINGS:
        if text == known:
            return known
    remedy = "say how batches are made"
    if text.replace("_", "-") in ("without-replacement", "fixed"):
        remedy = "write fixed-size for batches that are drawn anew in each step, without replacement"
    raise InvalidValue("sampling", text, f"one of {', '.join(SAMPLINGS)}", remedy)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CountedRecords:
    """The batches of a number of records and a size.

    Attributes:
        rate: q, one over the batches where an epoch is cut.
        size: B.
        records: n.
        sizes: of the batches of a shuffled epoch where they are not equal, or some records are dropped; else empty.
    """

    rate: Fraction
    size: int
    records: int
    sizes: tuple[int, ...] = ()

    @staticmethod
    def of(sampling: BatchSampling, size: int, records: int, groups: int, last_batch: str) -> CountedRecords:
        """Read the numbers.

        Raises:
            InvalidValue: a number that is no count, a size above the records, or another word for the last batch.
        """
        check_whole(size, "size", least=1, remedy="say how many records a batch has")
        check_whole(records, "records", least=1, remedy="say how many records there are")
        if last_batch not in ("keep", "drop"):
            raise InvalidValue("last_batch", last_batch, "keep or drop", "say what becomes of a batch that is smaller")
        if sampling == "with-replacement":
            return CountedRecords(rate=Fraction(min(size, records), records), size=size, records=records)
        if size * groups > records:
            requirement = f"at most {records // groups}, the records" + (" of a group" if groups > 1 else "")
            raise InvalidValue("size", size, requirement, "give the size of a batch, and all records")
        if sampling not in EPOCHWISE:
            return CountedRecords(rate=Fraction(size * groups, records), size=size, records=records)
        full, left = divmod(records, size)
        if not left or sampling == "balls-in-bins":
            return CountedRecords(rate=Fraction(1, full + bool(left)), size=size, records=records)
        sizes = (size,) * full + ((left,) if last_batch == "keep" else ())
        return CountedRecords(rate=Fraction(1, len(sizes)), size=size, records=records, sizes=sizes)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BatchNoise:
    """Gaussian noise on the sums of batches that are drawn anew in every run.

    Attributes:
        dim: of one gradient.
        rate: q.
        steps: T.
        sampling: how batches are made.
        multiplier: standard deviation in units of the clipping norm, exactly.
        scale: the standard deviation that is sampled.
        separation: b, the number of groups of cyclic Poisson sampling: record i is in group i mod b.
        missing: of batches of fixed size, how many records a data set may be short of whole batches.
        cut: the size B at which Poisson batches are cut; 0 where they are not.
        draws: how often a step draws with replacement; 0 where it does not.
        sizes: of the batches of a shuffled epoch, where the last one is smaller or what is left is dropped; else empty.
        records: n of the larger data set, where it is given.
    """

    dim: int
    rate: Fraction
    steps: int
    sampling: BatchSampling
    multiplier: Fraction
    scale: float
    separation: int = 1
    missing: int = 0
    cut: int = 0
    draws: int = 0
    sizes: tuple[int, ...] = ()
    records: int = 0

    @property
    def size(self) -> int:
        """Numbers of a release: T d."""
        return self.steps * self.dim

    @property
    def batches(self) -> int:
        """The number of batches of an epoch, without Poisson sampling."""
        return self.rate.denominator

    @property
    def taken(self) -> int:
        """k, where a record takes part in k of T steps."""
        return int(self.rate * self.steps)

    @property
    def epochs(self) -> int:
        """The number of epochs, without Poisson sampling."""
        return self.steps // self.batches

    def covariance(self) -> dict[str, Fraction]:
        """That of one number of a release, given the batches."""
        return {"variance": Fraction(self.scale) ** 2}

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        """Noisy sums of batches of given gradients: shape (n d,) -> (trials, T d)."""
        gradients = statistic.reshape(-1, self.dim)
        noisy = self.scale * rng.standard_normal((trials, self.size))
        if not len(gradients):
            return noisy
        for first in range(0, trials, block := max(1, _BLOCK // (self.steps * len(gradients)))):
            part = noisy[first : first + block].reshape(-1, self.steps, self.dim)
            part += self._sums(gradients, len(part), rng)
        return noisy

    def _sums(self, gradients: Array, trials: int, rng: np.random.Generator) -> Array:
        """Sums over batches: shape (trials, T, d)."""
        n = len(gradients)
        if self.sampling in ("poisson", "weighted", "truncated-poisson"):
            places = rng.random((trials, self.steps, n))
            drawn = places < float(self.rate)
            if self.cut:
                drawn &= _ranks(places, axis=2) < self.cut
            sums: Array = drawn.astype(np.float64) @ gradients
            return sums
        if self.sampling == "k-of-t":
            own_steps = _ranks(rng.random((trials, self.steps, n)), axis=1) < self.taken
            counted: Array = own_steps.astype(np.float64) @ gradients
            return counted
        if self.sampling == "cyclic-poisson":
            own = np.arange(self.steps)[:, None] % self.separation == np.arange(n) % self.separation
            taken: Array = (own & (rng.random((trials, self.steps, n)) < float(self.rate))) @ gradients
            return taken
        if self.sampling == "with-replacement":
            alike, numbers = np.unique(gradients, axis=0, return_counts=True)
            if len(alike) > self.draws:
                drawn_sums: Array = gradients[rng.integers(n, size=(trials, self.steps, self.draws))].sum(axis=2)
                return drawn_sums
            again = rng.multinomial(self.draws, numbers / n, size=(trials, self.steps))
            repeated_sums: Array = again.astype(np.float64) @ alike
            return repeated_sums
        if self.sampling == "fixed-size":
            drawn_size = math.floor(self.rate * (n + self.missing))
            order = rng.permuted(np.broadcast_to(np.arange(n), (trials, self.steps, n)), axis=2)
            chosen: Array = (order < drawn_size).astype(np.float64) @ gradients
            return chosen
        orders = 1 if self.sampling == "shuffle-once" else self.epochs
        if self.sampling == "balls-in-bins":
            batch = rng.integers(self.batches, size=(trials * orders, n))
        else:
            own = self._batch_of_place(n)
            batch = own[rng.permuted(np.broadcast_to(np.arange(own.size), (trials * orders, own.size)), axis=1)[:, :n]]
        kept = (batch < self.batches).ravel()
        batch = batch + self.batches * np.arange(trials * orders)[:, None]
        columns = [
            np.bincount(batch.ravel()[kept], np.tile(column, trials * orders)[kept], trials * orders * self.batches)
            for column in gradients.T
        ]
        whole_epochs = (
            np.stack(columns, axis=1).astype(np.float64, copy=False).reshape(trials, orders * self.batches, self.dim)
        )
        repeated: Array = np.tile(whole_epochs, (1, self.epochs // orders, 1))
        return repeated

    def _batch_of_place(self, records: int) -> NDArray[np.int64]:
        """The number of the batch at each place of a shuffled epoch; T where what is left is dropped."""
        if not self.sizes:
            return np.arange(max(records, self.batches)) % self.batches
        if records > self.records:
            remedy = "state how many records there are"
            raise InvalidValue("dataset", f"{records} records", f"at most {self.records}, as stated", remedy)
        places = np.repeat(np.arange(self.batches), self.sizes)
        left = np.full(max(self.records - places.size, 0), self.batches)
        return np.concatenate([places, left])


def _ranks(numbers: Array, axis: int) -> NDArray[np.int64]:
    """How many numbers are smaller, along an axis."""
    return numbers.argsort(axis=axis).argsort(axis=axis)
