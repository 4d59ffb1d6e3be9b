"""The batches that a loader draws, as numbers of records."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final, final

import numpy as np

from dpverdict.audit.trials.user_code import guarded
from dpverdict.errors import DpverdictError, InvalidValue, MechanismFailure
from dpverdict.numerics.arrays import Integers

LONGEST_PASS: Final = 20
"""Times the wanted number of batches after which a pass is cut: a loader may never end."""
FEWEST_BATCHES: Final = 20


@final
@dataclass(frozen=True, slots=True)
class Pass:
    """What one iteration over a loader drew: an epoch.

    Attributes:
        batches: the numbers of the records of each batch, in the order in which they were drawn.
        complete: whether the loader ended it.
    """

    batches: tuple[Integers, ...]
    complete: bool


@final
@dataclass(frozen=True)
class DrawnBatches:
    """Batches of records 0..n - 1, of one or several passes.

    Attributes:
        records: n.
        passes: in the order in which they were drawn.
    """

    records: int
    passes: tuple[Pass, ...]

    def __post_init__(self) -> None:
        if len(self.batches) < FEWEST_BATCHES:
            remedy = "draw more: --batches, or a loader with more batches"
            raise InvalidValue("batches", len(self.batches), f"at least {FEWEST_BATCHES}", remedy)
        for batch in self.batches:
            if len(batch) and not 0 <= int(batch.min()) <= int(batch.max()) < self.records:
                found = f"{int(batch.min())}..{int(batch.max())}"
                remedy = "let the loader give the numbers of records, 0 for the first, or correct --records"
                raise InvalidValue("records in a batch", found, f"0..{self.records - 1}", remedy)

    @cached_property
    def batches(self) -> tuple[Integers, ...]:
        """Those of all passes."""
        return tuple(batch for one in self.passes for batch in one.batches)

    @cached_property
    def whole(self) -> tuple[Pass, ...]:
        """The passes that the loader ended."""
        return tuple(one for one in self.passes if one.complete)

    @cached_property
    def sizes(self) -> Integers:
        """Of all batches."""
        return np.array([len(batch) for batch in self.batches], dtype=np.int64)

    @cached_property
    def repeats(self) -> int:
        """Batches that hold a record more than once."""
        return sum(len(np.unique(batch)) < len(batch) for batch in self.batches)

    @cached_property
    def counts(self) -> Integers:
        """How many batches each record was in, with repetitions."""
        return counted(self.batches, self.records)

    @cached_property
    def length(self) -> int:
        """The number of batches of a pass, where all complete ones have the same; else 0."""
        lengths = {len(one.batches) for one in self.whole}
        return lengths.pop() if len(lengths) == 1 else 0


def counted(batches: tuple[Integers, ...], records: int) -> Integers:
    """How often each of the records is in the batches: shape (records,)."""
    joined = np.concatenate(batches) if batches else np.empty(0, dtype=np.int64)
    return np.bincount(joined, minlength=records).astype(np.int64)


def draw_batches(
    make: Callable[..., object], *, batches: int, records: int | None, seed: int, name: str = "loader"
) -> DrawnBatches:
    """Draw whole passes from a loader until so many batches are drawn.

    Args:
        make: gives the loader: a torch ``DataLoader`` (its batch sampler is read), a sampler or another iterable of
            batches, of which every iteration is an epoch; an iterator or a generator, made anew for every epoch; or a
            batch selection of jax_privacy, one ``batch_iterator`` an epoch. It is called with a number as its argument
            ``seed`` if it has one. A batch is an array, a list or a tensor of numbers of records; -1 stands for a place
            that is left empty.
        batches: to be drawn, at least.
        records: n; None for what the loader says.
        seed: of what ``make`` is given.
        name: of the loader, for a message.

    Raises:
        InvalidValue: a batch that has no numbers of records; no number of records.
        MechanismFailure: the loader raised.
    """

    def failure(said: str) -> DpverdictError:
        return MechanismFailure(name, f"raised {said}", "iterate over it yourself")

    seeds = np.random.SeedSequence(seed)

    def made() -> Any:
        takes_seed = "seed" in getattr(getattr(make, "__code__", None), "co_varnames", ())[: _arguments(make)]
        number = int(seeds.spawn(1)[0].generate_state(1)[0])
        return guarded(lambda: make(seed=number) if takes_seed else make(), failure)

    loader = made()
    selection = callable(getattr(loader, "batch_iterator", None))
    source = getattr(loader, "batch_sampler", None)
    source = loader if source is None else source
    found = records if records is not None else _records_of(loader, source)
    if found is None:
        raise InvalidValue("records", None, f"given for {name}", "add --records N, the number of records")
    single = hasattr(source, "__next__")
    passes: list[Pass] = []
    drawn = 0
    while drawn < batches:
        if selection:
            number = int(seeds.spawn(1)[0].generate_state(1)[0])
            one = guarded(partial(loader.batch_iterator, found, rng=number), failure)
        elif single:
            one = source if not passes else made()
        else:
            one = guarded(lambda: iter(source), failure)
        most = LONGEST_PASS * batches
        taken = guarded(partial(_first, one, most + 1), failure)
        if not taken:
            raise MechanismFailure(name, "gave a pass without a batch", "give a loader that can be iterated anew")
        passes.append(Pass(tuple(_numbers(batch, name) for batch in taken[:most]), len(taken) <= most))
        drawn += min(len(taken), most)
    return DrawnBatches(found, tuple(passes))


def _first(one: Any, number: int) -> list[Any]:
    return list(itertools.islice(one, number))


def _arguments(make: object) -> int:
    code = getattr(make, "__code__", None)
    return 0 if code is None else code.co_argcount + code.co_kwonlyargcount


def _records_of(loader: Any, source: Any) -> int | None:
    """The number of records that a loader says to have."""
    dataset = getattr(loader, "dataset", None)
    if dataset is not None and hasattr(dataset, "__len__"):
        return len(dataset)
    number = getattr(source, "num_samples", None)
    return number if isinstance(number, int) else None


def _numbers(batch: Any, name: str) -> Integers:
    """The numbers of the records of a batch; a batch of a dataset of numbers may stand alone in a list or a tuple."""
    if isinstance(batch, list | tuple) and len(batch) == 1 and getattr(batch[0], "ndim", 0) == 1:
        batch = batch[0]
    array = np.asarray(batch)
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        shape = "x".join(map(str, array.shape)) or "none"
        remedy = "let each record be its own number, such as a DataLoader over range(n), or yield arrays of numbers"
        raise InvalidValue("batch", f"shape {shape}, {array.dtype}", f"numbers of records, of {name}", remedy)
    numbers = array.astype(np.int64)
    kept: Integers = numbers[numbers != -1]
    return kept


def batch_pairs(count: int, lag: int) -> Iterator[tuple[int, int]]:
    """Pairs of batches so many draws apart, no batch in two of them.

    >>> list(batch_pairs(5, 1)), list(batch_pairs(6, 2))
    ([(0, 1), (2, 3)], [(0, 2), (1, 3)])
    """
    return ((k, k + lag) for k in range(count - lag) if (k // lag) % 2 == 0)
