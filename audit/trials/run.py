"""Run a mechanism many times on one dataset: reproducibly, and in memory that does not grow with the number of trials.

Whatever a trial ends in is an outcome: an exception, NaN, a text, an array of another length. Trials that all give
finite numbers of one length are an array, shape (trials, m); others are `OutcomeRows`, and none is dropped or tried
again.

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
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, final, runtime_checkable

import numpy as np

from dpverdict.audit.trials.engines import ThisProcess, current_engine, holds_generator
from dpverdict.audit.trials.journal import current_journal
from dpverdict.audit.trials.outcomes.batches import Batch, OutcomeRows, rows_of, same_batches
from dpverdict.audit.trials.outcomes.canonical import (
    CanonicalOutcome,
    is_long,
    of_numbers,
    outcome_of,
    outcome_of_error,
    plain_numbers,
    signature_of_numbers,
)
from dpverdict.audit.trials.outcomes.inputs import fresh, held_safe
from dpverdict.audit.trials.outcomes.observed import Clock, observed, warnings_not_raised
from dpverdict.audit.trials.user_code import guarded, own_error_state
from dpverdict.checks import check_seed
from dpverdict.errors import InvalidValue, MechanismFailure
from dpverdict.mechanisms.core.mechanism import HasLikelihoodRatio, HasLikelihoodScore, StructuredMechanism
from dpverdict.numerics.arrays import Array

Progress = Callable[[int, int], None]
"""Told how many trials are done, and how many there are to do."""

LARGEST_CHUNK: Final = 4096
NUMBERS_PER_CHUNK: Final = 2**22
REPEATED: Final = 64
"""Trials that show whether the generator that is passed in decides the releases. Two releases of a bit that is flipped
with probability 1/4 agree by chance in 64 trials with probability 1e-13."""
PROBES: Final = 8
"""Trials at most that look for an outcome which is no exception, to learn how large one is."""


@runtime_checkable
class BatchedMechanism(Protocol):
    """A mechanism that runs many independent trials in one call."""

    # Any: whatever type of records the mechanism declares.
    def release_many(self, dataset: Any, trials: int, rng: np.random.Generator) -> object:
        """``trials`` independent releases: shape (trials, m), or (trials,) for m = 1."""
        ...


AnyMechanism = BatchedMechanism | Callable[..., object]
"""An object with ``release_many``; a callable (dataset, rng) or (dataset) -> one output of any kind; or `batched`."""


@final
@dataclass(frozen=True, slots=True)
class batched:
    """A callable (dataset, rng, trials) -> array of shape (trials, m), marked as one that runs many trials at once.

    As a decorator, ``@batched``, it marks a function of a module, which is then found by its name.

    >>> noisy = batched(lambda dataset, rng, n: dataset.sum() + rng.normal(size=n))
    >>> noisy.release_many(np.ones(3), 2, np.random.default_rng(0)).shape
    (2,)
    """

    function: Callable[..., object]

    def release_many(self, dataset: Any, trials: int, rng: np.random.Generator) -> object:
        """``trials`` independent releases of the function."""
        return self.function(dataset, rng, trials)

    def __call__(self, *arguments: Any, **named: Any) -> object:
        """The function, as if it were not marked."""
        return self.function(*arguments, **named)


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
        dataset: what the mechanism gets: an array is read-only, and of anything else each trial gets a copy of its own,
            because a mechanism that changes its input would make the trials depend on each other.
        where: how an error message calls the dataset, such as "the neighbour".
        seed: of every stream.
        size: m, the numbers in one output, by a first trial; what other outcomes hold is counted too.
        grid: outputs are rounded to its multiples, see `check_grid`; 0 to leave them as they are.
        one_stream: whether all trials run in this process, one after the other, whatever the engine: the mechanism has
            a state of its own, such as a generator of its module, and copies of it would repeat each other's releases.
        strict: whether anything but finite numbers of one length is a failure: the mechanism states its law, and a
            score that is known beforehand looks at the exploring trials too, so that these may not choose another form.
    """

    mechanism: AnyMechanism
    name: str
    dataset: Any
    where: str
    seed: int
    size: int
    grid: float = 0.0
    one_stream: bool = False
    strict: bool = False

    @staticmethod
    def prepare(mechanism: AnyMechanism, dataset: object, *, where: str, seed: int, grid: float = 0.0) -> Sampler:
        """Learn the size of an output from one trial with a stream of its own, whose result is thrown away.

        Where the engine runs trials on copies of the mechanism, a few more trials show whether that is safe.

        Raises:
            MechanismFailure: the mechanism ends the program, or gives what is no outcome; one of known structure, also
                if it raises or releases anything but finite numbers in one dimension.
            InvalidValue: a mechanism that cannot be called, or a seed that is not a whole number in 0..2**128 - 1.
        """
        given: object = mechanism
        if not isinstance(given, BatchedMechanism) and not callable(given):
            remedy = "give a function (dataset, rng) -> array, or an object with release_many(dataset, trials, rng)"
            raise InvalidValue("mechanism", mechanism, "callable", remedy)
        name = mechanism_name(mechanism)
        mechanism = with_generator(mechanism)
        unsized = Sampler(
            mechanism=mechanism,
            name=name,
            dataset=held_safe(dataset),
            where=where,
            seed=check_seed(seed),
            size=0,
            strict=isinstance(given, StructuredMechanism | HasLikelihoodRatio | HasLikelihoodScore),
        )
        sampler = replace(unsized, size=unsized.probed())
        timed = isinstance(mechanism, observed) and mechanism.timeout is not None
        alone = current_engine().copies and (timed or holds_generator(mechanism) or not sampler.repeats())
        return replace(sampler, grid=check_grid(grid), one_stream=alone)

    def probed(self) -> int:
        """The numbers and symbols in the outcome of one trial, from the first of a few that is no exception."""
        for index in range(PROBES):
            probe = self.few(1, generator(self.seed, f"probe {self.where}", index))
            if not isinstance(probe, OutcomeRows):
                return len(probe[0])
            if not probe.rows[0].raised:
                return max(1, probe.rows[0].size)
        return 1

    def repeats(self) -> bool:
        """Whether the generator that is passed in decides the releases: the same one twice gives the same ones."""
        trials = max(2, min(REPEATED, chunk_length(self.size)))
        one, other = (self.chunk(trials, generator(self.seed, f"repeat {self.where}", 0)) for _ in range(2))
        return same_batches(one, other)

    def batches(self, stream: str, trials: int, *, progress: Progress | None = None) -> Iterator[Batch]:
        """The outcomes of one stream, whatever they are, chunk by chunk.

        Args:
            stream: its name; different names are independent.
            trials: how many there are in all.
            progress: called after each chunk.
        """
        return self._run(stream, trials, None, progress)

    def chunks(self, stream: str, trials: int, *, progress: Progress | None = None) -> Iterator[Array]:
        """The same where every outcome has to be `size` numbers: arrays of shape (at most `chunk_length` trials, m).

        Args:
            stream: its name; different names are independent.
            trials: how many there are in all.
            progress: called after each chunk.

        Raises:
            MechanismFailure: an outcome is something else.
        """
        return map(self.only_numbers, self._run(stream, trials, None, progress))

    def collect(self, stream: str, trials: int, *, progress: Progress | None = None) -> Array:
        """All outputs of one stream at once: shape (trials, m)."""
        return np.concatenate([np.empty((0, self.size)), *self.chunks(stream, trials, progress=progress)])

    def scores(
        self, stream: str, trials: int, score: Callable[[Array], Array], *, progress: Progress | None = None
    ) -> Array:
        """The scores of one stream, shape (trials,); the outputs are forgotten chunk by chunk."""
        return np.concatenate([np.empty(0), *self.score_chunks(stream, trials, score, progress=progress)])

    def score_chunks(
        self, stream: str, trials: int, score: Callable[[Array], Array], *, progress: Progress | None = None
    ) -> Iterator[Array]:
        """The same chunk by chunk."""
        return map(np.asarray, self._run(stream, trials, score, progress))

    def _run(
        self, stream: str, trials: int, score: Callable[[Array], Array] | None, progress: Progress | None
    ) -> Iterator[Batch]:
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
            result: Batch
            if journal is not None and found:
                kept = journal.load(entry(chunk))
                result = OutcomeRows.unpacked(kept) if kept.dtype == np.uint8 else kept.astype(np.float64, copy=False)
            else:
                result = next(made)
                if journal is not None:
                    journal.store(entry(chunk), result.packed() if isinstance(result, OutcomeRows) else result)
            yield result
            done += chunk.trials
            if progress is not None:
                progress(done, trials)

    def chunk(self, trials: int, rng: np.random.Generator) -> Batch:
        """``trials`` outcomes from one generator.

        Raises:
            MechanismFailure: the mechanism ends the program; an outcome has no form; a batch raises, so that nobody
                knows which trial did; or a mechanism of known structure gives anything but finite numbers.
        """
        batch = self._guarded(trials, rng, self._loop)
        if not self.grid:
            return batch
        return batch.rounded(self.grid) if isinstance(batch, OutcomeRows) else np.rint(batch / self.grid) * self.grid

    def few(self, trials: int, rng: np.random.Generator) -> Batch:
        """The same of a few trials, however large an outcome is."""
        return self._guarded(trials, rng, lambda n, own: self._joined([self._trial(own) for _ in range(n)]))

    def _guarded(
        self, trials: int, rng: np.random.Generator, loop: Callable[[int, np.random.Generator], Batch]
    ) -> Batch:
        many = isinstance(self.mechanism, BatchedMechanism)
        run = self._batch if many else loop
        with nullcontext() if self.strict else warnings_not_raised():
            batch = guarded(lambda: run(trials, rng), self._raised, passing=MechanismFailure)
        return self.only_numbers(batch) if self.strict else batch

    def only_numbers(self, batch: Batch) -> Array:
        """The batch as it is, if every outcome in it is `size` finite numbers.

        Raises:
            MechanismFailure: an outcome is something else.
        """
        if not isinstance(batch, OutcomeRows):
            if self.size not in (0, batch.shape[1]):
                raise self._of_another_length(batch.shape[1])
            return batch
        usual = signature_of_numbers(self.size)
        odd = next((row for row in batch.rows if row.signature != usual or row.symbols), None)
        if odd is None:  # some are longer than float64: the nearest
            return batch.numbers(self.size)
        if odd.raised:
            raise self._raised(odd.note)
        if odd.symbols and odd.signature.startswith("numbers("):
            raise self._failure("returned NaN or an infinity", "release finite numbers only")
        if odd.signature == signature_of_numbers(odd.size) and not odd.symbols:
            raise self._of_another_length(odd.size)
        raise self._failure(f"returned {odd.describe()}", "return a number or an array of numbers, shape (m,)")

    def _of_another_length(self, length: int) -> MechanismFailure:
        problem = f"returned {length} numbers after {self.size} in an earlier trial"
        return self._failure(problem, "return arrays of one shape, whatever the data and the noise")

    def _batch(self, trials: int, rng: np.random.Generator) -> Batch:
        assert isinstance(self.mechanism, BatchedMechanism)
        with own_error_state():
            released = self.mechanism.release_many(self._input(), trials, rng)
        if isinstance(released, list | tuple) and len(released) == trials and plain_numbers(released) is None:
            return self._joined([self._formed(one) for one in released])
        if not self.strict and isinstance(released, np.ndarray) and released.dtype.kind in "iu" and is_long(released):
            return self._joined([self._formed(one) for one in released])
        outputs = self._numbers(released)
        if outputs.shape == (trials,):
            outputs = outputs[:, np.newaxis]
        wanted = f"({trials}, {self.size or 'm'})"
        if outputs.ndim != 2 or len(outputs) != trials or outputs.shape[1] != (self.size or outputs.shape[1]):
            raise self._failure(f"returned shape {outputs.shape} for {trials} trials", f"return shape {wanted}")
        if outputs.shape[1] == 0:
            raise self._failure("returned outputs without numbers", "release at least one number")
        if np.isfinite(outputs).all():
            return np.ascontiguousarray(outputs)
        return OutcomeRows(tuple(map(of_numbers, outputs)))

    def _loop(self, trials: int, rng: np.random.Generator) -> Batch:
        outputs, odd = np.empty((trials, self.size)), dict[int, CanonicalOutcome]()
        for i in range(trials):
            output = self._trial(rng)
            if isinstance(output, CanonicalOutcome):
                odd[i] = output
            elif output.size != self.size:
                odd[i] = of_numbers(output)
            else:
                outputs[i] = output
        if not odd:
            return outputs
        return OutcomeRows(tuple(odd[i] if i in odd else of_numbers(outputs[i]) for i in range(trials)))

    def _trial(self, rng: np.random.Generator) -> Array | CanonicalOutcome:
        """What one call ends in. An exception is an outcome; what ends a program, or takes all memory, is none."""
        assert callable(self.mechanism)
        given = self._input()
        mechanism = self.mechanism
        try:
            with own_error_state():
                released = mechanism(given, rng)
            return self._formed(released)  # to read an iterator runs its code
        except (MemoryError, MechanismFailure):
            raise
        except Exception as error:
            return outcome_of_error(error, messages=not isinstance(mechanism, observed) or mechanism.messages)

    def _formed(self, released: object) -> Array | CanonicalOutcome:
        plain = plain_numbers(released)
        if plain is not None:
            return plain
        try:
            return outcome_of(released)
        except InvalidValue as error:
            raise self._failure(f"returned {error.value}", error.remedy) from None

    def _joined(self, outputs: list[Array | CanonicalOutcome]) -> Batch:
        arrays = [one for one in outputs if not isinstance(one, CanonicalOutcome)]
        if len(arrays) == len(outputs) and len({len(one) for one in arrays}) == 1:
            return np.stack(arrays)
        return OutcomeRows(tuple(one if isinstance(one, CanonicalOutcome) else of_numbers(one) for one in outputs))

    def _input(self) -> Any:
        """What a trial gets."""
        return fresh(self.dataset)

    def _numbers(self, released: object) -> Array:
        """The releases of a batch as float64, longer numbers rounded to nearest."""
        try:
            values = np.asarray(released)
        except Exception as error:  # ragged lists and objects with an __array__ of their own
            raise self._failure("returned something that is not an array of one shape", "return numbers") from error
        if values.dtype.kind not in "biuf" or isinstance(released, np.ma.MaskedArray):
            kind = type(released).__name__ if values.ndim == 0 else f"{type(released).__name__} of {values.dtype}"
            raise self._failure(
                f"returned {kind}", "return numbers of shape (trials, m), or a list of one outcome each"
            )
        with np.errstate(over="ignore"):
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

    @property
    def name(self) -> str:
        """How an error message calls what is run."""
        return self.sampler.name

    def __call__(self, chunk: Chunk) -> Batch:
        """The outcomes of a chunk, or their scores. A score of arrays sees zeros where an outcome is no such array."""
        outputs = self.sampler.chunk(chunk.trials, generator(self.sampler.seed, self.stream, chunk.index))
        return outputs if self.score is None else scored(self.score, outputs, self.sampler.size)


def scored(score: Callable[[Array], Array], batch: Batch, size: int) -> Array:
    """The scores of a batch, by a score of arrays (trials, size) or one that has a layout for every outcome."""
    table = getattr(score, "table", None)
    if table is not None:
        return score(table(batch))
    if not isinstance(batch, OutcomeRows) and batch.shape[1] == size:
        return score(batch)
    return score(OutcomeRows(tuple(rows_of(batch))).numbers(size))


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
    inner = unmarked(mechanism)
    name = getattr(inner, "name", None) or getattr(inner, "__qualname__", None) or type(inner).__qualname__
    return str(name)


def unmarked(mechanism: object) -> Any:
    """The user's function without the marks that say how it is called."""
    while isinstance(mechanism, batched | unseeded | observed):
        mechanism = mechanism.function
    return mechanism


@final
@dataclass(frozen=True, slots=True)
class unseeded:
    """A callable (dataset) -> output, which draws from a generator of its own: no seed governs it."""

    function: Callable[..., object]

    def __call__(self, dataset: Any, rng: np.random.Generator) -> object:
        """One output."""
        return self.function(dataset)


def with_generator(mechanism: AnyMechanism) -> AnyMechanism:
    """The mechanism, as `unseeded` if by its signature it takes the dataset alone.

    Raises:
        InvalidValue: a signature that takes neither (dataset, rng) nor (dataset).
    """
    if isinstance(mechanism, BatchedMechanism | unseeded):
        return mechanism
    if isinstance(mechanism, observed):
        inner = with_generator(mechanism.function)
        assert callable(inner)  # see `observed`
        return replace(mechanism, function=inner, clock=Clock())
    try:
        parameters = list(inspect.signature(mechanism).parameters.values())
    except (TypeError, ValueError):  # builtins have no signature
        return mechanism
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    positional = [one for one in parameters if one.kind in kinds]
    required = [one for one in positional if one.default is inspect.Parameter.empty]
    if any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in parameters) and len(required) <= 2:
        return mechanism
    if len(required) > 2:
        names = ", ".join(one.name for one in required)
        remedy = (
            "mark what runs many trials in one call by @batched, of dpverdict.audit; fix other parameters by partial"
        )
        raise InvalidValue(
            "mechanism", mechanism_name(mechanism), f"of (dataset, rng) or (dataset), not ({names})", remedy
        )
    if len(required) == 2 or (len(positional) > 1 and _is_generator(positional[1])):
        return mechanism
    return unseeded(mechanism)


def _is_generator(parameter: inspect.Parameter) -> bool:
    """Whether a parameter that may be left out says by its name, its type or its default that it is a generator."""
    said = f"{parameter.name} {parameter.annotation}".lower()
    return isinstance(parameter.default, np.random.Generator) or "rng" in said or "generator" in said
