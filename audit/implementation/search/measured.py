"""How far a proposed pair moves the releases, from a run of either table with the same random numbers.

One run of a table is recorded; a run of each neighbour draws what was recorded. The noise tap tells the loss of the
pair where it can follow, and where it cannot the outcomes are compared with how far those of different seeds differ.
What is measured here orders the proposals, and is evidence of nothing.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from dpverdict.audit.implementation.tap.run_comparison import TappedRun, compare_runs, describe_difference_of_runs
from dpverdict.audit.implementation.tap.sources.libraries import loaded_libraries
from dpverdict.audit.implementation.tap.tap_verdict import breaks_claim
from dpverdict.audit.implementation.tap.tape import Tape
from dpverdict.audit.implementation.tap.tapped_runs import DIVERGED, tapped_run
from dpverdict.audit.tables.proposals import Base, Proposal
from dpverdict.audit.tables.rows import Received, finished
from dpverdict.audit.trials.outcomes.canonical import CanonicalOutcome
from dpverdict.audit.trials.run import AnyMechanism
from dpverdict.audit.trials.user_code import RanTooLong, limited
from dpverdict.errors import DpverdictError
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, Guarantee, PureDP, ZeroConcentratedDP

SEEDS: Final = 6
"""Runs of a table with other draws, which show how far noise moves an outcome."""
MOST_TEXTS: Final = 256
FAR: Final = 9.0
"""Scales of the noise: a move by more is no chance, although the spread is known from few runs only."""
ANOTHER_FORM, BROKEN, OTHER_STEPS = 5.0, 2.0, 1.5
"""Sizes of what was seen: an outcome of another form; a loss beyond the claim or a finding, larger by `_grown` of how
far the outcome moved; other steps of the program. Below them the loss is a share of the claim."""
LONGER: Final = 20.0
SHORTEST_LIMIT: Final = 2.0
"""A run of a neighbour is ended after LONGER times the seconds that tables take, and not before these."""
WITHIN_STEPS: Final = 0.3
"""By as much at most the size of other steps is larger, of an outcome that moved."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What one proposal showed.

    Attributes:
        number: of the proposal.
        size: the larger the more telling, see above; below 0 if nothing was seen.
        followed: whether the tap could follow it.
        ended: whether its run took far longer than that of its table, and was ended.
    """

    number: int
    size: float
    followed: bool
    ended: bool = False


@final
@dataclass(frozen=True, slots=True)
class Measures:
    """What the proposals of one child process showed, and how many seconds a run took."""

    found: tuple[Measure, ...]
    seconds: float


@final
class Measuring:
    """Runs of one function, some of them recorded.

    Args:
        mechanism: called with a table and a generator, see `with_generator`.
        claim: whose loss is looked for.
        received: what the function is given.
        seed: of the draws.
        run_seconds: that a run takes, as far as it is known: no table is given far longer. 0 before anything was run.
    """

    def __init__(
        self, mechanism: AnyMechanism, claim: Guarantee, received: Received, seed: int, run_seconds: float = 0.0
    ) -> None:
        self._mechanism, self._claim, self._seed = mechanism, claim, seed
        self._received: Received = received
        self._slowest = run_seconds
        self._recorded: dict[Base, _Recorded | None] = {}
        self._broken: dict[tuple[float, float, bool], bool | None] = {}

    def measure(self, proposal: Proposal, number: int) -> Measure:
        """Run the neighbour with the draws of its table."""
        with contextlib.suppress(RanTooLong):
            known = self._base(proposal.base)
            if known is not None:
                with self._limited():
                    return self._measured(proposal, number, known)
        return Measure(number=number, size=-1.0, followed=False, ended=True)

    def _limited(self) -> contextlib.AbstractContextManager[None]:
        if not self._slowest:
            return contextlib.nullcontext()
        return limited(max(SHORTEST_LIMIT, LONGER * self._slowest))

    def _measured(self, proposal: Proposal, number: int, known: _Recorded) -> Measure:
        size = 0.0
        if known.followed:
            try:
                other = self._run_of_neighbour(proposal, Tape(known.run.tape, None, frozen=True))
            except _NoTable:
                return Measure(number=number, size=-1.0, followed=False)
            with np.errstate(all="ignore"):
                try:
                    size = self._loss(known.run, other)
                except (DpverdictError, ArithmeticError):  # a move beyond all that losses are made for
                    size = BROKEN
                size = max(size, known.form_of(other.outcome))
            if size < OTHER_STEPS or size >= ANOTHER_FORM:
                return Measure(number=number, size=size, followed=True)
        # the noisy values of a frozen replay stay those of the table: how far they move is seen without that
        try:
            moved = self._run_of_neighbour(proposal, Tape(known.run.tape, None, frozen=False)).outcome
            if moved.signature == DIVERGED:  # it draws more or fewer numbers, and has an outcome all the same
                moved = self._run_of_neighbour(proposal, Tape(None, None, frozen=True)).outcome
        except _NoTable:
            return Measure(number=number, size=-1.0, followed=False)
        together = 2.0 if isinstance(self._claim, GaussianDP | ZeroConcentratedDP) else 1.0
        if size >= BROKEN:
            size += _grown(known.distance(moved, np.inf))
        elif size >= OTHER_STEPS:  # all that the tap can tell: of such pairs those that move the outcome come first
            size += WITHIN_STEPS * min(1.0, known.distance(moved, together) / FAR)
        return Measure(number=number, size=max(size, known.moved(moved, together)), followed=known.followed)

    def _run_of_neighbour(self, proposal: Proposal, tape: Tape) -> TappedRun:
        """A run of the neighbour, which is made for it alone: that is as fast as a copy, and takes half the memory.

        Raises:
            _NoTable: there is no such table.
        """
        try:
            table = finished(proposal.changed(proposal.base.table), self._received)
        except (DpverdictError, ValueError, TypeError, KeyError):
            raise _NoTable from None
        return tapped_run(self._mechanism, table, tape, [self._seed, 0], copied=False)

    def _base(self, base: Base) -> _Recorded | None:
        """The runs of a table; None if they take far longer than those of others."""
        if base not in self._recorded:
            if len(self._recorded) > 8:
                self._recorded.pop(next(iter(self._recorded)))
            self._recorded[base] = None
            with self._limited():
                self._recorded[base] = self._record(finished(base.table, self._received))
        return self._recorded[base]

    def _record(self, table: Any) -> _Recorded:
        known = loaded_libraries()
        run = self._run(table, 0)
        if loaded_libraries() != known:
            run = self._run(table, 0)
        begun = time.monotonic()
        again = tapped_run(self._mechanism, table, Tape(run.tape, None, frozen=True), [self._seed, 1])
        self._slowest = max(self._slowest, time.monotonic() - begun)
        outcomes = [run.outcome, *(self._run(table, index).outcome for index in range(1, SEEDS))]
        followed = describe_difference_of_runs(run, again) is None and bool(run.tape.events)
        return _Recorded(run, outcomes, followed=followed)

    def _run(self, table: Any, index: int) -> TappedRun:
        return tapped_run(self._mechanism, table, Tape(None, None, frozen=True), [self._seed, index])

    def _loss(self, one: TappedRun, other: TappedRun) -> float:
        found = compare_runs(one, other)
        loss = found.loss
        if loss.infinite is not None or found.findings:  # also of a scale that differs in its last digits
            return BROKEN
        ratio = self._share(loss.epsilon + loss.approached + loss.bounded, loss.mu_squared)
        key = (round(loss.epsilon + loss.approached + loss.bounded, 9), round(loss.mu_squared, 9), bool(loss.unknown))
        if ratio > 0.5 or not math.isfinite(ratio):
            if key not in self._broken:
                self._broken[key] = breaks_claim(loss, self._claim)
            if self._broken[key] is True:
                return BROKEN + _grown(ratio)
        size = min(ratio, 1.0)
        return max(size, OTHER_STEPS) if found.open else size

    def _share(self, epsilon: float, mu_squared: float) -> float:
        """Of the claim, roughly: what orders losses of one kind."""
        claim, mu = self._claim, math.sqrt(mu_squared)
        match claim:
            case PureDP() | ApproximateDP():
                share = mu / max(float(claim.epsilon), 1e-9) if mu else 0.0
                return share + (epsilon / max(float(claim.epsilon), 1e-9) if math.isfinite(epsilon) else 0.0)
            case GaussianDP():
                return (mu + (epsilon if math.isfinite(epsilon) else 0.0)) / max(float(claim.mu), 1e-9)
            case ZeroConcentratedDP():
                finite = epsilon if math.isfinite(epsilon) else 0.0
                return math.sqrt((mu_squared + finite**2) / max(2 * float(claim.rho), 1e-9))
            case _:
                return mu + (epsilon if math.isfinite(epsilon) else 0.0)


class _NoTable(Exception):
    """What was proposed cannot be made: the types of the table do not hold it."""


@final
class _Recorded:
    """A recorded run of a table, and how its outcomes differ from one seed to another."""

    def __init__(self, run: TappedRun, outcomes: Sequence[CanonicalOutcome], *, followed: bool) -> None:
        self.run, self.followed = run, followed
        self._first = run.outcome
        self._forms = {_form(one) for one in outcomes}
        self._changing = len(self._forms) > 1
        texts = [frozenset(itertools.islice(one.symbols.items(), MOST_TEXTS)) for one in outcomes]
        self._fixed = frozenset.intersection(*texts)
        alike = [one for one in outcomes if one.signature == self._first.signature]
        self._spread = {}
        for path, block in self._first.numbers.items():
            blocks = [one.numbers[path] for one in alike if len(one.numbers.get(path, ())) == len(block)]
            self._spread[path] = np.std(np.stack(blocks), axis=0) if len(blocks) > 2 else np.zeros(len(block))

    def moved(self, other: CanonicalOutcome, together: float) -> float:
        """How far another outcome, of the same draws, is from that of this table; see `distance`."""
        size = self.form_of(other)
        if size:
            return size
        distance = self.distance(other, np.inf)
        return BROKEN + _grown(distance) if distance > FAR else min(self.distance(other, together) / FAR, 0.99)

    def form_of(self, other: CanonicalOutcome) -> float:
        """The size of an outcome that has another form or another text than this table gave; 0 of one that has not."""
        if other.signature == DIVERGED:
            return OTHER_STEPS
        if _form(other) not in self._forms:
            return OTHER_STEPS + 0.1 if self._changing else ANOTHER_FORM
        changed = any(other.symbols.get(path) != text for path, text in self._fixed)
        return ANOTHER_FORM if changed else 0.0

    def distance(self, other: CanonicalOutcome, together: float) -> float:
        """How far the numbers moved, in scales of Laplace noise of the spread that was seen.

        ``together`` is p of the norm of all moves: that of several numbers with Laplace noise of their own is a sum.
        """
        moves = [np.zeros(1)]
        for path, block in self._first.numbers.items():
            there, spread = other.numbers.get(path), self._spread[path]
            if there is None or len(there) != len(block):
                continue
            with np.errstate(all="ignore"):
                far = np.abs(there - block)
                rounding = 1e-9 * np.maximum(np.abs(there), np.abs(block))
                moved = np.where(spread > rounding, far / spread, np.where(far > rounding, np.inf, 0.0))
            moves.append(moved[~np.isnan(moved)])
        return math.sqrt(2) * float(np.linalg.norm(np.concatenate(moves), together))


def _grown(share: float) -> float:
    """From 0 to 0.9, the larger the further beyond the claim."""
    return 0.05 * share if share < 1 else min(0.9, 0.05 + 0.15 * math.log2(share))


def _form(outcome: CanonicalOutcome) -> tuple[object, ...]:
    """Which entries an outcome has, and which of them are no numbers."""
    odd = frozenset(itertools.islice((item for item in outcome.symbols.items() if item[1] in _ODD), 64))
    return outcome.signature, odd


_ODD: Final = ("nan", "inf", "-inf")
