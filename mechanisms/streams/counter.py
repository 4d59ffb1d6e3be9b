"""What every counter of a stream is: a mechanism that runs once, item by item, or many times on a whole stream."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from dpverdict.checks import check_dim
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism
from dpverdict.numerics.arrays import Array


class NoiseStream(Protocol):
    """The noise of a counter, one count after the other."""

    @property
    def live(self) -> int:
        """How many values are kept."""
        ...

    def advance(self) -> float:
        """The noise of the next count."""
        ...


class Counter(AdditiveMechanism):
    """A counter of at most ``horizon`` items: noisy prefix sums, decoded from noisy linear statistics of the stream.

    A subclass sets ``horizon``, ``_stream`` and ``_time = 0``; `add` of the subclass begins with `_may_add`.
    """

    horizon: int
    _time: int
    _stream: NoiseStream

    @property
    def time(self) -> int:
        """The number of items so far."""
        return self._time

    @property
    def live(self) -> int:
        """The number of noise values kept."""
        return self._stream.live

    @abstractmethod
    def add(self, item: float) -> float:
        """Take the next item and release the noisy sum so far."""

    @abstractmethod
    def arguments(self) -> dict[str, object]:
        """What the constructor was given, but for ``rng``."""

    def _may_add(self) -> None:
        if self._time >= self.horizon:
            remedy = "start a new counter, with a budget of its own"
            raise InvalidValue("time", self._time + 1, f"<= the horizon {self.horizon}", remedy)

    def _checked_time(self, time: object, name: str = "time") -> int:
        checked = check_dim(time, name)
        if checked > self.horizon:
            raise InvalidValue(name, time, f"<= the horizon {self.horizon}", "give a time step of the stream")
        return checked

    @property
    def record_shape(self) -> tuple[int, ...]:
        """A record is one number: ()."""
        return ()

    def padded(self, records: Array) -> Array:
        """A stream with zeros up to the horizon, as the only row: shape (1, T)."""
        return np.concatenate([records, np.zeros(self.horizon - len(records))])[None]

    def release_many(self, dataset: ArrayLike, trials: int, rng: np.random.Generator) -> Array:
        """The noisy counts of ``trials`` independent copies of the counter: shape (trials, n)."""
        stream = self.check_records(dataset)
        noise = self.noise.add(np.zeros(self.noise.size), check_dim(trials, "trials"), rng)
        counts: Array = self.decode(noise)[:, : len(stream)]
        counts += np.cumsum(stream)
        return counts

    def __reduce__(self) -> tuple[object, ...]:
        """A copy of a counter that has not begun is a new one, with noise of its own.

        Raises:
            TypeError: it has begun: two copies would release the same noise on different items.
        """
        if self._time:
            problem = "cannot be copied or pickled: two copies would share their noise"
            raise TypeError(f"a stream at time {self._time} {problem}")
        return partial(type(self), **self.arguments()), ()
