"""The runs: record on a dataset, replay on it, replay on its neighbour; in a process that does nothing else after.

Replacing the samplers is global, so it happens in a child of this process, which is thrown away: the releases that
confirm a finding are drawn by functions that nobody touched.
"""

from __future__ import annotations

import copy
import random
import time
import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dpverdict.audit.implementation.tap.comparison import Compared, Released, Run, compare, differences
from dpverdict.audit.implementation.tap.libraries import tapped_libraries
from dpverdict.audit.implementation.tap.linear import Linear
from dpverdict.audit.implementation.tap.samplers import tapped_samplers
from dpverdict.audit.implementation.tap.tape import Parted, Tape, running
from dpverdict.audit.implementation.tap.torch_noise import reseed
from dpverdict.audit.implementation.tap.verdict import TapVerdict, decided
from dpverdict.audit.isolation.child import ChildFailed, in_a_child
from dpverdict.audit.trials.outcomes.canonical import Outcome, outcome_of, outcome_of_error
from dpverdict.audit.trials.run import AnyMechanism, mechanism_name, with_generator
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import Guarantee, as_guarantee
from dpverdict.mechanisms.core.neighbours import Neighbours

SEEDS: Final = 2
"""Recorded runs: the loss of an adaptive function is that of one transcript."""
MOST_SEEDS: Final = 4
"""Of a function that compares a noisy value which it returns: it may draw again where the answer is another."""
REPEATS: Final = 8
"""More runs on the same data of a function of which no draw is seen."""


def tap_runs(
    mechanism: AnyMechanism, neighbours: Neighbours, claim: Guarantee | str, *, seed: int, seeds: int = SEEDS
) -> TapVerdict:
    """Tap a function in this process; `tap` does it in one of its own.

    Args:
        mechanism: called with a dataset and a generator, or with a dataset alone.
        neighbours: the two datasets.
        claim: what it promises.
        seed: of the draws that are recorded.
        seeds: how many runs are recorded, each with other draws.
    """
    guarantee = as_guarantee(claim)
    pair = neighbours if isinstance(neighbours, tuple) else (neighbours.dataset, neighbours.neighbour)
    start = time.perf_counter()
    function = _function(mechanism)
    compared: list[Compared] = []
    runs, unlike = 0, None
    for index in range(MOST_SEEDS):
        if index >= seeds and not any(one.answered for one in compared):
            break
        first = _run(function, pair[0], None, [seed, index])
        again = _run(function, pair[0], first.tape, [seed, index]) if index == 0 else None
        runs += 1 + (again is not None)
        unlike = None if again is None else differences(first, again)
        if unlike is not None:
            break
        other = _run(function, pair[1], first.tape, [seed, index])
        runs += 1
        compared.append(compare(first, other))
        if not first.tape.events and not other.tape.events:
            unlike = _drifts(function, pair, first, other, [seed, index])
            runs += 2 * REPEATS
            break
        if len(first.tape.noisy_values()) <= 1 and not _several(first.tape) and not compared[-1].answered:
            break  # nothing can depend on an earlier noisy value
    seconds = time.perf_counter() - start
    return decided(mechanism_name(mechanism), guarantee, compared, unlike=unlike, runs=runs, seconds=seconds, seed=seed)


def _several(tape: Tape) -> bool:
    return sum(event.signature[0] in ("call", "choice") for event in tape.events) > 1


def _drifts(function: Callable[..., Any], pair: tuple[Any, Any], first: Run, other: Run, seed: list[int]) -> str | None:
    """Of a function without draws: whether it is one, seen by running it more often."""
    for i in range(REPEATS):
        for data, one in zip(pair, (first, other), strict=True):
            if not _run(function, data, None, [*seed, i]).outcome.same_as(one.outcome):
                return "the outcomes of two runs on the same data differ, and no draw was seen"
    return None


def _function(mechanism: AnyMechanism) -> Callable[..., Any]:
    made: Any = with_generator(mechanism)
    if callable(made):
        return made  # type: ignore[no-any-return]
    return lambda dataset, rng: made.release_many(dataset, 1, rng)[0]


def _run(function: Callable[..., Any], data: Any, former: Tape | None, seed: list[int]) -> Run:
    """One run on a copy of the data."""
    given, tape = copy.deepcopy(data), Tape(former)
    if isinstance(given, np.ndarray):
        given = np.array(given)
    np.random.seed(abs(hash(tuple(seed))) % 2**32)  # noqa: NPY002  # of what a library draws from it untapped
    random.seed(abs(hash(tuple(seed))))
    reseed(abs(hash(tuple(seed))))
    shown: list[Linear] = []
    with tapped_samplers(abs(hash(tuple(seed))) % 2**63) as rng, tapped_libraries(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with running(tape):
                released = Released(tape)
                value = released.plain(function(given, rng))
            shown, outcome = released.shown, outcome_of(value)
        except Parted:
            outcome = Outcome("parted")
        except InvalidValue as error:
            tape.note(str(error))
            outcome = Outcome("no outcome")
        except (KeyboardInterrupt, MemoryError):
            raise
        except BaseException as error:  # whatever a function ends in is an outcome
            outcome = outcome_of_error(error) if isinstance(error, Exception) else Outcome(type(error).__name__)
    return Run(tape, shown, outcome)


def tap(
    mechanism: AnyMechanism,
    neighbours: Neighbours,
    claim: Guarantee | str,
    *,
    seed: int,
    seconds: float = 120.0,
) -> TapVerdict:
    """Record the draws of a function on one dataset, replay them on its neighbour, and say what the pair shows.

    It runs in a child of this process, so that nothing of this one is replaced.

    Args:
        mechanism: called with a dataset and a generator, or with a dataset alone.
        neighbours: the two datasets.
        claim: what it promises, also as text.
        seed: of the draws that are recorded.
        seconds: for all runs; then it is not covered.

    Raises:
        InvalidValue: not a claim.
    """
    guarantee = as_guarantee(claim)

    def work() -> TapVerdict:
        return tap_runs(mechanism, neighbours, guarantee, seed=seed)

    try:
        return in_a_child(work, kind=TapVerdict, seconds=seconds)
    except ChildFailed as failure:
        name = mechanism_name(mechanism)
        return decided(name, guarantee, [], unlike=str(failure), runs=0, seconds=0.0, seed=seed)
