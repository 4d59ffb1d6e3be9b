"""Run a mechanism many times on one dataset: reproducibly, and in memory that does not grow with the number of trials.

Trials are cut into chunks. The number of trials in a chunk depends on the size of one output only, and chunk i of a
stream has a generator of its own, made from (seed, name of the stream, i). Hence:

* results depend on (seed, stream, number of trials) only: not on who runs which chunk, nor in what order;
* to ask for more trials extends the sequence and leaves every chunk that was whole as it was. The last, partial chunk
  of the shorter run may change, because a mechanism that runs a batch at once may spend its random numbers coordinate
  by coordinate. A mechanism that is called once per trial keeps even those.
"""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, final, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.trials.engines import ThisProcess, current_engine, holds_generator
from dpverdict.audit.trials.journal import current_journal
from dpverdict.audit.trials.user_code import guarded
from dpverdict.checks import check_seed
from dpverdict.errors import InvalidValue, MechanismFailure
from dpverdict.numerics.arrays import Array

Progress = Callable[[int, int], None]
"""Told how many trials are done, and how many there are to do."""

LARGEST_CHUNK: Final = 4096
NUMBERS_PER_CHUNK: Final = 2**22
REPEATED: Final = 64
"""Trials that show whether the generator that is passed in decides the releases. Two releases of a bit that is flipped
with probability 1/4 agree by chance in 64 trials with probability 1e-13."""


@runtime_checkable
class BatchedMechanism(Protocol):
    """A mechanism that runs many independent trials in one call."""

    # Any: whatever type of records the mechanism declares.
    def release_many(self, dataset: Any, trials: int, rng: np.random.Generator) -> object:
        """``trials`` independent releases: shape (trials, m), or (trials,) for m = 1."""
        ...


AnyMechanism = BatchedMechanism | Callable[..., object]
"""An object with ``release_many``; a callable (dataset, rng) -> one output; or `batched` (dataset, rng, trials)."""


@final
@dataclass(frozen=True, slots=True)
class batched:
    """A callable (dataset, rng, trials) -> array of shape (trials, m), marked as one that runs many trials at once.

    A function whose three required parameters end in one named ``trials`` needs no mark.

    >>> noisy = batched(lambda dataset, rng, n: dataset.sum() + rng.normal(size=n))
    >>> noisy.release_many(np.ones(3), 2, np.random.default_rng(0)).shape
    (2,)
    """

    function: Callable[..., object]

    def release_many(self, dataset: NDArray[np.generic], trials: int, rng: np.random.Generator) -> object:
        """``trials`` independent releases of the function."""
        return self.function(dataset, rng, trials)


def chunk_length(size: int) -> int:
    """How many trials are in a chunk when one output holds ``size`` numbers.

    >>> chunk_length(1), chunk_length(10**5), chunk_length(10**9)
    (4096, 41, 1)
    """
    return max(1, min(NUMBERS_PER_CHUNK // size, LARGEST_CHUNK))


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sampler:
    """One mechanism on one dataset, ready to be run; made by `Sampler.prepare`.

    Attributes:
        mechanism: what is run.
        name: how an error message calls it.
        dataset: the records, read-only: a mechanism that changes them would make the trials depend on each other.
        where: how an error message calls the dataset, such as "the neighbour".
        seed: of every stream.
        size: m, the numbers in one output.
        grid: outputs are rounded to its multiples, see `check_grid`; 0 to leave them as they are.
        one_stream: whether all trials run in this process, one after the other, whatever the engine: the mechanism has
            a state of its own, such as a generator of its module, and copies of it would repeat each other's releases.
    """

    mechanism: AnyMechanism
    name: str
    dataset: NDArray[np.generic]
    where: str
    seed: int
    size: int
    grid: float = 0.0
    one_stream: bool = False

    @staticmethod
    def prepare(
        mechanism: AnyMechanism, dataset: NDArray[np.generic], *, where: str, seed: int, grid: float = 0.0
    ) -> Sampler:
        """Learn the size of an output from one trial with a stream of its own, whose result is thrown away.

        Where the engine runs trials on copies of the mechanism, a few more trials show whether that is safe.

        Raises:
            MechanismFailure: the mechanism raises, or returns something other than finite numbers in one dimension.
            InvalidValue: a mechanism that cannot be called, or a seed that is not a whole number in 0..2**128 - 1.
        """
        given: object = mechanism
        if not isinstance(given, BatchedMechanism) and not callable(given):
            remedy = "give a function (dataset, rng) -> array, or an object with release_many(dataset, trials, rng)"
            raise InvalidValue("mechanism", mechanism, "callable", remedy)
        name = mechanism_name(mechanism)
        mechanism = with_batches(mechanism)
        records = np.array(dataset)
        records.flags.writeable = False
        records = records.view()  # of an array that cannot be written to: the mechanism cannot make it writeable again
        unsized = Sampler(mechanism=mechanism, name=name, dataset=records, where=where, seed=check_seed(seed), size=0)
        probe = unsized.chunk(1, generator(seed, f"probe {where}", 0))
        sampler = replace(unsized, size=probe.shape[1])
        alone = current_engine().copies and (holds_generator(mechanism) or not sampler.repeats())
        return replace(sampler, grid=check_grid(grid), one_stream=alone)

    def repeats(self) -> bool:
        """Whether the generator that is passed in decides the releases: the same one twice gives the same ones."""
        trials = max(2, min(REPEATED, chunk_length(self.size)))
        one, other = (self.chunk(trials, generator(self.seed, f"repeat {self.where}", 0)) for _ in range(2))
        return np.array_equal(one, other)

    def chunks(self, stream: str, trials: int, *, progress: Progress | None = None) -> Iterator[Array]:
        """The outputs of one stream, chunk by chunk: arrays of shape (at most `chunk_length` trials, m).

        Args:
            stream: its name; different names are independent.
            trials: how many there are in all.
            progress: called after each chunk.
        """
        return self._run(stream, trials, None, progress)

    def collect(self, stream: str, trials: int, *, progress: Progress | None = None) -> Array:
        """All outputs of one stream at once: shape (trials, m)."""
        return np.concatenate([np.empty((0, self.size)), *self.chunks(stream, trials, progress=progress)])

    def scores(
        self, stream: str, trials: int, score: Callable[[Array], Array], *, progress: Progress | None = None
    ) -> Array:
        """The scores of one stream, shape (trials,); the outputs are forgotten chunk by chunk."""
        return np.concatenate([np.empty(0), *self._run(stream, trials, score, progress)])

    def score_chunks(
        self, stream: str, trials: int, score: Callable[[Array], Array], *, progress: Progress | None = None
    ) -> Iterator[Array]:
        """The same chunk by chunk."""
        return self._run(stream, trials, score, progress)

    def _run(
        self, stream: str, trials: int, score: Callable[[Array], Array] | None, progress: Progress | None
    ) -> Iterator[Array]:
        """Every chunk of a stream, or its scores, in order: from the journal, or from the engine that runs it."""
        length = chunk_length(self.size)
        chunks = [Chunk(index, min(length, trials - start)) for index, start in enumerate(range(0, trials, length))]
        journal, kind = current_journal(), "outputs" if score is None else "scores"

        def entry(chunk: Chunk) -> str:
            of = f"{kind} of {self.name} on {self.where}, seed {self.seed}, grid {self.grid!r}"
            return f"{of}: {stream}, {chunk.index}, {chunk.trials}"

        known = [journal is not None and journal.holds(entry(chunk)) for chunk in chunks]
        missing = [chunk for chunk, found in zip(chunks, known, strict=True) if not found]
        engine = current_engine()
        if self.one_stream or (engine.copies and score is not None and holds_generator(score)):
            engine = ThisProcess()
        made = engine.map(ChunkRun(self, stream, score), missing)
        done = 0
        for chunk, found in zip(chunks, known, strict=True):
            result = journal.load(entry(chunk)) if journal is not None and found else next(made)
            if journal is not None and not found:
                journal.store(entry(chunk), result)
            yield result
            done += chunk.trials
            if progress is not None:
                progress(done, trials)

    def chunk(self, trials: int, rng: np.random.Generator) -> Array:
        """``trials`` outputs from one generator: shape (trials, m).

        Raises:
            MechanismFailure: the mechanism raises, or releases anything but finite numbers of one shape.
        """
        self.dataset.flags.writeable = False  # on its way to a worker process it was forgotten
        many = isinstance(self.mechanism, BatchedMechanism)
        outputs = guarded(
            lambda: self._batch(trials, rng) if many else self._loop(trials, rng),
            self._raised,
            passing=MechanismFailure,
        )
        if not np.isfinite(outputs).all():
            raise self._failure("returned NaN or an infinity", "release finite numbers only")
        return np.rint(outputs / self.grid) * self.grid if self.grid else outputs

    def _batch(self, trials: int, rng: np.random.Generator) -> Array:
        assert isinstance(self.mechanism, BatchedMechanism)
        outputs = self._numbers(self.mechanism.release_many(self.dataset, trials, rng))
        if outputs.shape == (trials,):
            outputs = outputs[:, np.newaxis]
        wanted = f"({trials}, {self.size or 'm'})"
        if outputs.ndim != 2 or len(outputs) != trials or outputs.shape[1] != (self.size or outputs.shape[1]):
            raise self._failure(f"returned shape {outputs.shape} for {trials} trials", f"return shape {wanted}")
        if outputs.shape[1] == 0:
            raise self._failure("returned outputs without numbers", "release at least one number")
        return np.ascontiguousarray(outputs)

    def _loop(self, trials: int, rng: np.random.Generator) -> Array:
        assert callable(self.mechanism)
        outputs = np.empty((trials, self.size))
        for i in range(trials):
            output = np.atleast_1d(self._numbers(self.mechanism(self.dataset, rng)))
            if output.ndim != 1 or output.size == 0:
                raise self._failure(f"returned shape {output.shape}", "return a number or an array of shape (m,)")
            if self.size == 0:  # the probe
                return output[np.newaxis]
            if output.size != self.size:
                problem = f"returned {output.size} numbers after {self.size} in an earlier trial"
                raise self._failure(problem, "return arrays of one shape, whatever the data and the noise")
            outputs[i] = output
        return outputs

    def _numbers(self, released: object) -> Array:
        """The release as float64. Truth values, integers below 2**53 and shorter floats are exact; a longer number is
        rounded to nearest, which as a function of the output alone cannot create a violation."""
        try:
            values = np.asarray(released)
        except Exception as error:  # ragged lists and objects with an __array__ of their own
            raise self._failure("returned something that is not an array of one shape", "return numbers") from error
        if values.dtype.kind not in "biuf" or isinstance(released, np.ma.MaskedArray):
            kind = type(released).__name__ if values.ndim == 0 else f"{type(released).__name__} of {values.dtype}"
            raise self._failure(f"returned {kind}", "return real numbers: encode categories as numbers")
        with np.errstate(over="ignore"):  # an overflow becomes an infinity, which is refused
            return values.astype(np.float64, copy=False)

    def _raised(self, said: str) -> MechanismFailure:
        remedy = "call it yourself on that dataset; it gets the records read-only, so copy them before a change"
        return self._failure(f"raised {said}", remedy)

    def _failure(self, problem: str, remedy: str) -> MechanismFailure:
        return MechanismFailure(self.name, f"{problem} on {self.where}", remedy)


@final
@dataclass(frozen=True, slots=True)
class Chunk:
    """Trials that are run together: which of its stream, and how many."""

    index: int
    trials: int


@final
@dataclass(frozen=True, slots=True, eq=False)
class ChunkRun:
    """Runs the chunks of one stream, wherever an engine calls it.

    Attributes:
        sampler: what is run.
        stream: the name of the stream.
        score: applied to the outputs before they are given back; None for the outputs themselves.
    """

    sampler: Sampler
    stream: str
    score: Callable[[Array], Array] | None

    def __call__(self, chunk: Chunk) -> Array:
        """The outputs of a chunk, or their scores."""
        outputs = self.sampler.chunk(chunk.trials, generator(self.sampler.seed, self.stream, chunk.index))
        return outputs if self.score is None else self.score(outputs)


def generator(seed: int, stream: str, index: int) -> np.random.Generator:
    """The generator of one chunk: PCG64DXSM on the seed sequence with entropy ``seed`` and key (stream, index).

    The name of the stream enters by the first 128 bits of its SHA-256.
    """
    digest = hashlib.sha256(stream.encode()).digest()
    words = [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4)]
    sequence = np.random.SeedSequence(entropy=seed, spawn_key=(*words, index))
    return np.random.Generator(np.random.PCG64DXSM(sequence))


def check_grid(grid: float) -> float:
    """A power of two, so that rounding to its multiples is exact wherever they are float64; or 0 for none.

    Raises:
        InvalidValue: anything else.
    """
    if grid != 0 and not (2.0**-500 <= grid <= 2.0**500 and math.frexp(grid)[0] == 0.5):
        remedy = "give for example 2.0**-20, much finer than the noise"
        raise InvalidValue("grid", grid, "0 or a power of two", remedy)
    return float(grid)


def mechanism_name(mechanism: AnyMechanism) -> str:
    """What the mechanism is called in a message: its attribute ``name``, or the name of the function or class."""
    inner = mechanism.function if isinstance(mechanism, batched) else mechanism
    name = getattr(inner, "name", None) or getattr(inner, "__qualname__", None) or type(inner).__qualname__
    return str(name)


def with_batches(mechanism: AnyMechanism) -> AnyMechanism:
    """The mechanism, marked as `batched` if its signature says that it runs many trials at once."""
    if isinstance(mechanism, BatchedMechanism) or not _takes_trials(mechanism):
        return mechanism
    return batched(mechanism)


def _takes_trials(function: Callable[..., object]) -> bool:
    """Whether the signature is exactly three required positional parameters, of which the last is called trials."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # builtins have no signature
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [p for p in parameters if p.default is inspect.Parameter.empty and p.kind in positional]
    return len(required) == 3 and required[-1].name == "trials"
