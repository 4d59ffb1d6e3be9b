"""The runs: record on a dataset, replay on it, replay on its neighbour; in a process that does nothing else after.

Replacing the samplers is global, so it happens in a child of this process, which is thrown away: the releases that
confirm a finding are drawn by functions that nobody touched.
"""

from __future__ import annotations

import contextlib
import copy
import random
import warnings
from collections.abc import Callable, Generator
from typing import Any, Final

import numpy as np

from dpverdict.audit.implementation.tap.likelihood_score import direction_of_move
from dpverdict.audit.implementation.tap.linear_forms import LinearForm
from dpverdict.audit.implementation.tap.run_comparison import (
    OutcomeReader,
    PairComparison,
    TapFinding,
    TappedRun,
    compare_runs,
    describe_difference_of_runs,
)
from dpverdict.audit.implementation.tap.sources.existing_generators import (
    WatchedGenerators,
    compiled_calls,
    names_of_module,
)
from dpverdict.audit.implementation.tap.sources.libraries import library_primitives, loaded_libraries
from dpverdict.audit.implementation.tap.sources.samplers import generator, replacing, samplers
from dpverdict.audit.implementation.tap.sources.torch_noise import reseed
from dpverdict.audit.implementation.tap.tap_verdict import TapVerdict, decide, repeats_needed
from dpverdict.audit.implementation.tap.tape import Call, Choice, Draw, Event, ReplayDiverged, Tape, following
from dpverdict.audit.isolation.child import ChildFailed, in_a_child, not_finished_within
from dpverdict.audit.tables.frames import kind_of
from dpverdict.audit.trials.outcomes.canonical import CanonicalOutcome, outcome_of, outcome_of_error
from dpverdict.audit.trials.run import AnyMechanism, mechanism_name, with_generator
from dpverdict.audit.trials.user_code import RanTooLong, limited, own_error_state
from dpverdict.errors import DpverdictError, InvalidValue, in_one_line
from dpverdict.mechanisms.core.guarantees import Guarantee, as_guarantee
from dpverdict.mechanisms.core.neighbours import Neighbours

SEEDS: Final = 2
"""Recorded runs: the loss of an adaptive function is that of one transcript."""
MOST_SEEDS: Final = 4
"""Of a function that compares a noisy value which it returns: it may draw again where the answer is another."""
REPLAYS: Final = 2
"""Replays on the same data, each with other seeds: what differs was drawn where the tap does not see it."""
MOST_REPEATS: Final = 400
"""Runs on each dataset of a function of which no draw is seen."""
MOST_TURNED: Final = 2
"""Coins that are made to fall the other way as well."""
DIVERGED: Final = "diverged"
"""The signature of a run that does not draw what was recorded."""


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
    runs = _Runs(with_generator(mechanism), pair, seed)
    unlike = runs.recorded(guarantee, seeds)
    return decide(
        mechanism_name(mechanism),
        guarantee,
        runs.compared,
        unlike=unlike,
        agreed=runs.agreed,
        runs=runs.count,
        seed=seed,
    )


class _Runs:
    """The runs of one function on one pair, and what was seen in them."""

    def __init__(self, mechanism: AnyMechanism, pair: tuple[Any, Any], seed: int) -> None:
        self._mechanism, self._pair, self._seed = mechanism, pair, seed
        self.compared: list[PairComparison] = []
        self.count = 0
        self.agreed = 0

    def recorded(self, claim: Guarantee, seeds: int) -> str | None:
        """Record and replay; why a run on the same data differed, or None."""
        known = loaded_libraries()
        one = self._run(0, None, 0)
        if loaded_libraries() != known:  # it has loaded what is tapped while it ran
            one = self._run(0, None, 0)
        for i in range(REPLAYS):
            unlike = describe_difference_of_runs(one, self._run(0, one.tape, MOST_SEEDS + i))
            if unlike is not None:
                return unlike
        other = self._run(1, one.tape, 0)
        self.compared.append(compare_runs(one, other))
        if not one.tape.events and not other.tape.events:
            return self._repeated(claim, one, other)
        if self.compared[0].score is None:
            moved = self._run(1, one.tape, 0, frozen=False)
            self.compared[0].score = direction_of_move(one.outcome, moved.outcome)
        self._turned(one)
        second = self._run(0, None, 1)
        self._fixed(one.tape.events, second.tape.events)
        if len(one.tape.noisy_values()) <= 1 and not _has_several_calls(one.tape) and not self.compared[0].answered:
            return None  # nothing can depend on an earlier noisy value
        for index in range(1, MOST_SEEDS):
            if index >= seeds and not any(found.answered for found in self.compared):
                break
            first = second if index == 1 else self._run(0, None, index)
            self.compared.append(compare_runs(first, self._run(1, first.tape, index)))
        return None

    def _run(
        self, side: int, former: Tape | None, index: int, turned: int | None = None, *, frozen: bool = True
    ) -> TappedRun:
        self.count += 1
        tape, watch = Tape(former, turned, frozen=frozen), former is None and self.count <= 2
        return tapped_run(self._mechanism, self._pair[side], tape, [self._seed, index], watch=watch)

    def _repeated(self, claim: Guarantee, one: TappedRun, other: TappedRun) -> str | None:
        """Of a function without draws: run it until no law within the claim would have agreed so often."""
        if one.outcome.same_as(other.outcome) or one.outcome.raised:
            needed = REPLAYS
        else:
            needed = min(MOST_REPEATS, repeats_needed(claim))
        for i in range(needed):
            for side, first in enumerate((one, other)):
                if not self._run(side, None, 2 * MOST_SEEDS + i).outcome.same_as(first.outcome):
                    return "the outcomes of two runs on the same data differ, and no draw was seen"
        self.agreed = needed
        return None

    def _turned(self, one: TappedRun) -> None:
        """Follow what happens where a coin falls the other way: it may be thrown until it falls so."""
        coins = [i for i, event in enumerate(one.tape.events) if isinstance(event, Choice) and event.two_sided]
        for at in coins[:MOST_TURNED]:
            turned = self._run(0, None, 0, at)
            where = [
                sum(getattr(event, "where", "") == one.tape.events[at].where for event in run.tape.events)
                for run in (one, turned)
            ]
            if where[0] != where[1]:
                why = f"how often a coin is thrown at {one.tape.events[at].where} depends on how it falls"
                self.compared[0].open.append(f"{why}: the law of the outcome is not known")
            else:
                self.compared.append(compare_runs(turned, self._run(1, turned.tape, 0)))

    def _fixed(self, first: list[Event], second: list[Event]) -> None:
        """Noise that is the same in two runs with other seeds: the function starts its generator itself."""
        for one, other in zip(first, second, strict=False):
            if one.signature != other.signature:
                return
            if _has_real_law(one) and _has_real_law(other) and _same_values(one, other):
                found = TapFinding(
                    what="the noise is the same in each run",
                    where=one.where,
                    promised="fresh noise in each run",
                    measured=f"{getattr(one, 'what', 'a draw')} gives the same values: its seed is fixed, or is data",
                )
                if found not in self.compared[0].findings:
                    self.compared[0].findings.append(found)


def _has_real_law(event: Event) -> bool:
    law = event.known_law if isinstance(event, Draw) else event.law if isinstance(event, Call) else None
    return law is not None and not law.on_whole_numbers


def _same_values(one: Event, other: Event) -> bool:
    values = [
        np.asarray(getattr(event, "values", None) if isinstance(event, Draw) else getattr(event, "result", None))
        for event in (one, other)
    ]
    return values[0].dtype == np.float64 and values[0].size > 0 and bool(np.array_equal(values[0], values[1]))


def _has_several_calls(tape: Tape) -> bool:
    return sum(event.signature[0] in ("call", "choice") for event in tape.events) > 1


def tapped_run(
    mechanism: AnyMechanism, data: Any, tape: Tape, seed: list[int], *, watch: bool = False, copied: bool = True
) -> TappedRun:
    """One run on a copy of the data, in a process that does nothing else after.

    Args:
        mechanism: called with a dataset and a generator, see `with_generator`.
        data: the dataset.
        tape: what is recorded on, or replayed.
        seed: of what is drawn anew.
        watch: whether to keep an eye on generators that are not tapped.
        copied: False for data that nobody needs after the run: it is given as it is.
    """
    made: Any = mechanism
    function: Callable[..., Any] = (
        mechanism if callable(mechanism) else lambda dataset, rng: made.release_many(dataset, 1, rng)[0]
    )
    given = copy.deepcopy(data) if copied else data
    if isinstance(given, np.ndarray):
        given = np.array(given)
    number = abs(hash(tuple(seed)))
    np.random.seed(number % 2**32)  # noqa: NPY002  # of what a library draws from it untapped
    random.seed(number)
    reseed(number)
    shown: list[LinearForm] = []
    rng = generator(number % 2**63)
    replaced = [*samplers(rng, number % 2**63), *library_primitives()]
    replaced += names_of_module(mechanism, replaced, number)
    watched = WatchedGenerators([rng, *(new for _, _, new in replaced)]) if watch else None
    tape.watched = watched
    compiled = compiled_calls(mechanism)
    if compiled is not None:
        tape.note(f"{compiled} is compiled code that the function calls directly: the tap does not see what it draws")
    with replacing(replaced), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with following(tape), own_error_state():
                released = OutcomeReader(tape)
                value = released.plain(function(given, rng))
            shown, outcome = released.shown, outcome_of(value)
        except ReplayDiverged:
            outcome = CanonicalOutcome(DIVERGED)
        except InvalidValue as error:
            tape.note(str(error))
            outcome = CanonicalOutcome("no outcome")
        except (KeyboardInterrupt, MemoryError, RanTooLong):
            raise
        except BaseException as error:  # whatever a function ends in is an outcome
            outcome = (
                outcome_of_error(error) if isinstance(error, Exception) else CanonicalOutcome(type(error).__name__)
            )
    if watched is not None:
        watched.look()
        if watched.drew is not None:
            tape.note(
                f"a generator that was made before the run has drawn ({watched.drew}): the tap cannot follow its draws"
            )
    return TappedRun(tape, shown, outcome)


def tapped_here(data: object) -> bool:
    """Whether a function of this table has to be tapped in this process: polars has threads, and a copy of a process
    waits for them for ever, as it has none of its own."""
    return kind_of(data) == "polars"


@contextlib.contextmanager
def generators_put_back() -> Generator[None]:
    """The generators of the process, which a tapped run sets, are afterwards what they were."""
    legacy, plain = np.random.get_state(), random.getstate()  # noqa: NPY002  # the state to be kept
    try:
        yield
    finally:
        np.random.set_state(legacy)  # noqa: NPY002
        random.setstate(plain)


def tap(
    mechanism: AnyMechanism,
    neighbours: Neighbours,
    claim: Guarantee | str,
    *,
    seed: int,
    seconds: float = 120.0,
) -> TapVerdict:
    """Record the draws of a function on one dataset, replay them on its neighbour, and say what the pair shows.

    It runs in a child of this process, so that nothing of this one is replaced; of frames of polars it runs here, and
    what is replaced is put back after each run.

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

    if tapped_here(neighbours[0] if isinstance(neighbours, tuple) else neighbours.dataset):
        try:
            with generators_put_back(), limited(seconds):
                return work()
        except RanTooLong:
            unlike = not_finished_within(seconds)
        except (DpverdictError, ArithmeticError) as failure:
            unlike = in_one_line(failure)
    else:
        try:
            return in_a_child(work, kind=TapVerdict, seconds=seconds)
        except ChildFailed as failure:
            unlike = str(failure)
    return decide(mechanism_name(mechanism), guarantee, [], unlike=unlike, agreed=0, runs=0, seed=seed)
