"""Which neighbours of a table break a claim? Proposals are measured, the best are run, and one pair is left to test.

First every proposal costs one run of its neighbour, with the draws of its table, in a copy of this process: see
`measured`. Those that move the releases furthest then share releases by successive halving: after each round the worse
half is dropped. Of pairs that tell as much, the one nearest to the real table is taken. All of these runs are thrown
away: the pair that is left has to be tested on fresh ones, and the search costs no error probability.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from html import escape
from itertools import chain, islice
from typing import Any, Final, final

import numpy as np

from dpverdict.audit.distinguishing.search.neighbour_search import CandidatePair
from dpverdict.audit.implementation.search.code_constants import constants_of
from dpverdict.audit.implementation.search.copied_records import Copied, copied_records
from dpverdict.audit.implementation.search.measured import BROKEN, Measure, Measures, Measuring
from dpverdict.audit.implementation.search.outcome_parts import TellingPart, telling_part
from dpverdict.audit.implementation.tap.tapped_runs import generators_put_back, tapped_here
from dpverdict.audit.isolation.child import ChildFailed, in_a_child
from dpverdict.audit.scores.portfolio import payoff_of_claim
from dpverdict.audit.tables.frames import Table, length_of
from dpverdict.audit.tables.proposals import Proposal, Proposals
from dpverdict.audit.tables.rows import Received, finished, record_at, without
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tables.standing_out import record_in_words
from dpverdict.audit.trials.journal import current_journal
from dpverdict.audit.trials.outcomes.observed import observed
from dpverdict.audit.trials.outcomes.stored import data_hash
from dpverdict.audit.trials.run import AnyMechanism, mechanism_name, with_generator
from dpverdict.audit.trials.user_code import RanTooLong, limited
from dpverdict.cards import framed, table
from dpverdict.errors import DpverdictError, InvalidValue, MechanismFailure
from dpverdict.mechanisms.core.guarantees import ApproximateDP, Guarantee, PureDP, as_guarantee
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, AnyPair, ObjectPair, as_pair
from dpverdict.numerics.stages import begin_stage, in_a_notebook, say_in_a_notebook

DEFAULT_SECONDS: Final = 60.0
"""Of a search, if no number is given."""
MEASURING: Final = 0.6
"""Of the time: for measuring; the rest is for releases."""
SLICE: Final = 3.0
"""Seconds of the proposals that are measured in one copy of this process; then what was found is shown."""
COPYING: Final = 200
"""Outcomes in which copies of records are looked for."""
COPYING_SHARE: Final = 0.1
FEWEST_COPIES: Final = 3
RATIO: Final = 1.5
"""Times what the claim allows: so much more often a record has to be met with it than without it."""
KEPT: Final = 16
"""Proposals that are run."""
FEWEST_KEPT: Final = 2
CELLS_KEPT: Final = 6 * 10**7
"""Entries of their neighbours together, which are all held: of a large table fewer are run."""
ALIKE: Final = 3
"""Of them, of one kind, at most."""
FIRST_RELEASES: Final = 20
FEWEST_RELEASES: Final = 5
"""Releases on each table of every proposal that is run; of a slow function as many as there is time for, between."""
MOST_RELEASES: Final = 400
EVIDENT: Final = 2.0
"""Standard deviations of excess that no further releases of the search have to show."""
CLEAR: Final = 0.7
"""Of the largest statistic: a pair that is nearer to the real table and reaches so much of it is taken instead."""
CHANCE: Final = 1.5
"""Standard deviations by which two statistics differ by chance."""

Watch = Callable[[str], None]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoundPair:
    """What a search found.

    Attributes:
        pair: the two tables, as the function is given them, the larger one first.
        words: how they differ: "row 17 removed: city=Rome, the only one with city=Rome".
        part: of the outcome that tells them apart, in the user's words; "" if none was seen to.
        change: what to change, for this pair at least; "" where ``part`` is, or the search saw too little to say.
        statistic: the mean excess of the payoff over what the claim allows, in standard deviations: an estimate.
        promising: whether anything was seen that the claim does not allow.
        function: what is to be tested on the pair: the function, or of its outcome only how often it holds the record.
        looked_at: the second of these in words; "" for the first.
        proposed, measured, run: how many pairs were proposed, measured, and run on releases.
        releases: per table, of all pairs together; they are thrown away.
        followed: of the pairs that were measured, how many the noise tap followed.
        seconds: of the search, and of one release of the pair that is left.
        finished: whether all proposals were measured before the time was over.
        interrupted: whether somebody ended the search before.
        ended: how many pairs were left out because a run of the neighbour took far longer than that of its table.
        first_ended: how the first of them differ, in words.
    """

    pair: AnyPair
    words: str
    part: str
    change: str
    statistic: float
    promising: bool
    function: AnyMechanism
    looked_at: str
    measured: int
    run: int
    releases: int
    followed: int
    seconds: float
    release_seconds: float
    finished: bool
    interrupted: bool = False
    ended: int = 0
    first_ended: str = ""

    def describe(self) -> str:
        """What was searched, in one line."""
        until = "until it was interrupted" if self.interrupted else "until the time was over"
        how = "all proposals" if self.finished else until
        left_out = "" if not self.ended else f"; left out, as the function did not end in time: {self.first_ended}"
        left_out += f" and {self.ended - 1} more" if self.ended > 1 else ""
        return (
            f"{self.measured} pairs measured ({how}), {self.followed} of them followed by the noise tap; {self.run} of "
            f"them run, {self.releases} releases per table, all thrown away; {self.seconds:.0f} s{left_out}"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        told = {"what tells them apart": self.part, "what to change": self.change, "searched": self.describe()}
        seen = "something was seen that the claim does not allow" if self.promising else "nothing was seen"
        following = "A search proves nothing. Next: distinguish(found.function, found.pair, claim, ...), on new runs."
        return framed(
            f"<strong>Neighbours: {escape(self.words)}</strong>",
            f"<div>Of these two tables {seen}.</div>",
            table("", (), [(name, value) for name, value in told.items() if value]),
            f'<div style="margin:.7em 0 0">{escape(following)}</div>',
            curves=(),
        )


def search_table(
    mechanism: AnyMechanism,
    claim: Guarantee | str,
    *,
    data: Table,
    schema: TableSchema,
    received: Received,
    seed: int,
    seconds: float = DEFAULT_SECONDS,
    most: int | None = None,
    watch: Watch = begin_stage,
) -> FoundPair:
    """Find the pair of neighbouring tables on which a function breaks its claim most clearly.

    Args:
        mechanism: called with a table and a generator, or with a table alone.
        claim: what it promises, also as text.
        data: the real table, an array or a frame.
        schema: of it; see `TableSchema.from_frame`. Its relation and its user column say what neighbours are.
        received: what the function is given.
        seed: of every random number.
        seconds: on the clock, for the search, which begins when the table has been looked at.
        most: proposals that are measured, at most; None for as many as there is time for. With it, the search does not
            depend on the clock.
        watch: told what is being done, and the best pair so far.

    Raises:
        MechanismFailure: the function cannot be run on any table.
        InvalidValue: a table that has no neighbour to be tried.
    """
    return _Search(mechanism, as_guarantee(claim), data, schema, received, seed, seconds, most, watch).found()


@final
class _Search:
    def __init__(
        self,
        mechanism: AnyMechanism,
        claim: Guarantee,
        data: Table,
        schema: TableSchema,
        received: Received,
        seed: int,
        seconds: float,
        most: int | None,
        watch: Watch,
    ) -> None:
        self._mechanism, self._claim, self._schema = mechanism, claim, schema
        self._received: Received = received
        self._data = data
        self._seed, self._watch, self._most = seed, watch, most
        self._begun = time.monotonic()
        self._source: Iterator[Proposal] = iter(Proposals(data, schema, constants_of(mechanism)))
        looked = time.monotonic()  # of a large table this takes as long as a search, which begins only now
        self._until = looked + (seconds if most is None else math.inf)
        self._until_measured = looked + (MEASURING * seconds if most is None else math.inf)
        self._seconds = seconds
        self._proposals: list[Proposal] = []
        self._measures: list[Measure] = []
        self._run_seconds = 0.0
        self._releases = 0
        self._exhausted = False
        self._interrupted = False

    def found(self) -> FoundPair:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the function: it is called on tables that nobody has
            return self._searched()

    def _searched(self) -> FoundPair:
        try:
            self._measure_all()
        except KeyboardInterrupt:
            self._stop_if(known=bool(self._measures))
            del self._proposals[max(one.number for one in self._measures) + 1 :]
        if not self._proposals:
            remedy = "give a table with records, or a schema"
            raise InvalidValue("data", "no neighbours", "a table of which a record can be changed", remedy)
        best, candidates = self._halved(self._shortlist())
        copied = self._copied(best)
        if copied is not None:
            return copied
        proposal, candidate, seconds = best
        evident = candidate.statistic >= EVIDENT or self._size_of(proposal) >= BROKEN
        promising = candidate.statistic > 0 or evident
        part = TellingPart()
        if promising:
            wraps = proposal.kind.startswith("wrapping")
            part = telling_part(self._mechanism, candidate.pair, candidate.rows(), self._claim, self._seed, wraps=wraps)
        return FoundPair(
            pair=candidate.pair,
            words=proposal.words,
            part=part.words,
            change=part.change if evident else "",
            statistic=candidate.statistic,
            promising=promising,
            function=self._mechanism,
            looked_at="",
            measured=sum(one.size >= 0 for one in self._measures),
            run=candidates,
            releases=self._releases,
            followed=sum(one.followed for one in self._measures),
            seconds=time.monotonic() - self._begun,
            release_seconds=seconds,
            finished=self._exhausted,
            interrupted=self._interrupted,
            **self._ended(),
        )

    def _copied(self, best: tuple[Proposal, CandidatePair, float]) -> FoundPair | None:
        """The pair of a record that is copied into outcomes, where nothing else was found; None if none is."""
        _, candidate, seconds = best
        if self._interrupted:
            return None
        if candidate.statistic >= EVIDENT or self._schema.relation is REPLACE_ONE or self._schema.user is not None:
            return None
        runs = COPYING if self._most is not None else int(min(COPYING, COPYING_SHARE * self._seconds / seconds))
        for met in copied_records(self._mechanism, self._data, self._received, runs=runs, seed=self._seed):
            found = self._looked_for(met, runs, candidate.statistic, seconds)
            if found is not None:
                return found
        return None

    def _looked_for(self, met: Copied, runs: int, statistic: float, seconds: float) -> FoundPair | None:
        """The pair of a record that is met in outcomes, if it is met often enough more with it than without it."""
        if met.count < FEWEST_COPIES:
            return None
        table = self._data
        pair = ObjectPair(
            dataset=finished(table, self._received),
            neighbour=finished(without(table, [met.row]), self._received),
            adjacency=self._schema.relation,
        )
        tried = CandidatePair(pair, "copied", f"{self._seed} copied")
        tried.run(met.look, runs, self._seed, 0)
        here, there = (sum(one.numbers[""][0] > 0 for one in side) for side in tried.rows())
        self._releases += 2 * runs
        if here < FEWEST_COPIES or math.log(here / max(1, there)) < math.log(RATIO) + self._claimed():
            return None
        words = record_in_words(record_at(table, met.row, self._schema.columns))
        return FoundPair(
            pair=pair,
            words=f"row {met.row} removed: {words}; it is copied into {met.count} of {runs} outcomes",
            part=f"a record of the outcome that is {met.words}: in {here} of {runs} outcomes with it, in "
            f"{there} without it",
            change="make records from a model that was fitted with noise, and none from a record",
            statistic=statistic,
            promising=True,
            function=met.look,
            looked_at=f"of each outcome, how many of its records are {met.words}",
            measured=sum(one.size >= 0 for one in self._measures),
            run=1,
            releases=self._releases,
            followed=sum(one.followed for one in self._measures),
            seconds=time.monotonic() - self._begun,
            release_seconds=seconds,
            finished=self._exhausted,
            **self._ended(),
        )

    def _claimed(self) -> float:
        """How much more likely an outcome may be, as a logarithm; 0 where the claim is no bound on it."""
        return float(self._claim.epsilon) if isinstance(self._claim, PureDP | ApproximateDP) else 0.0

    def _ended(self) -> dict[str, Any]:
        """The pairs that were left out."""
        ended = [self._proposals[one.number].words for one in self._measures if one.ended]
        return {"ended": len(ended), "first_ended": ended[0] if ended else ""}

    def _size_of(self, proposal: Proposal) -> float:
        number = next(i for i, one in enumerate(self._proposals) if one is proposal)
        return max((one.size for one in self._measures if one.number == number), default=0.0)

    # measured ---------------------------------------------------------------------------------------------------------

    def _measure_all(self) -> None:
        until = self._until_measured
        failures, each = 0, 16
        self._take_up()
        while not self._proposals or time.monotonic() < until:  # to look at a large table may take all the time
            wanted = each if self._most is None else min(each, self._most - len(self._proposals))
            batch = list(islice(self._source, max(0, wanted)))
            if not batch:
                self._exhausted = wanted > 0
                return
            first = len(self._proposals)
            self._proposals += batch
            stop = min(until, time.monotonic() + 2 * SLICE) if self._most is None else math.inf
            work, limit = partial(self._measured, batch, first, stop), max(10 * SLICE, self._seconds)
            try:
                if tapped_here(batch[0].base.table):
                    with generators_put_back(), limited(limit):
                        found = work()
                else:
                    found = in_a_child(work, kind=Measures, seconds=limit)
            except (ChildFailed, RanTooLong):
                failures += 1
                self._measures += [Measure(number=first + i, size=-1.0, followed=False) for i in range(len(batch))]
                if failures > 2:
                    return
                continue
            self._measures += found.found
            left = len(batch) - len(found.found)  # of a slow function: they come first in the next batch
            if left:
                self._source = chain(batch[-left:], self._source)
                del self._proposals[-left:]
            self._run_seconds = found.seconds
            each = int(min(400, max(8, SLICE / max(found.seconds, 1e-4))))
            self._keep()
            self._show()

    def _take_up(self) -> None:
        """Where a search of the same was interrupted, go on after the proposals that it measured."""
        journal = current_journal()
        if journal is None or not journal.holds(self._entry):
            return
        kept = journal.load(self._entry)
        self._proposals += islice(self._source, int(kept[0, 0]))
        self._measures += [
            Measure(number=int(number), size=float(size), followed=bool(followed))
            for number, size, followed in kept[1:]
        ]

    def _keep(self) -> None:
        """In the journal, if there is one: how many were proposed, and what each showed."""
        journal = current_journal()
        if journal is not None:
            rows = [(one.number, one.size, one.followed) for one in self._measures]
            journal.store(self._entry, np.array([(len(self._proposals), 0, 0), *rows], dtype=np.float64))

    @cached_property
    def _entry(self) -> str:
        """The name of the search in a journal, with all that the proposals and their measures depend on."""
        what = f"{mechanism_name(self._mechanism)} given {self._received}, {self._claim}, seed {self._seed}"
        return f"search of {what}: {self._schema!r}, {data_hash(self._data)}"

    def _measured(self, batch: Sequence[Proposal], first: int, until: float) -> Measures:
        """In a copy of this process, which is thrown away; or here, where the samplers are put back after each run."""
        inner: AnyMechanism = self._mechanism
        if isinstance(inner, observed):  # what else is observed is not tapped
            inner = inner.function
        measuring = Measuring(with_generator(inner), self._claim, self._received, self._seed, self._run_seconds)
        begun, found = time.monotonic(), list[Measure]()
        for i, proposal in enumerate(batch):
            found.append(measuring.measure(proposal, first + i))
            if time.monotonic() > until:
                break
        return Measures(tuple(found), (time.monotonic() - begun) / max(1, len(found)))

    def _show(self) -> None:
        best = max(self._measures, key=lambda one: one.size)
        said = f"search of neighbours: {len(self._measures)} measured"
        if best.size >= BROKEN:
            said += f", best so far: {self._proposals[best.number].words[:100]}"
        self._watch(said)

    def _shortlist(self) -> list[Proposal]:
        """The most telling proposals, not too many of a kind."""
        cells = max(1, length_of(self._data) * len(self._schema.columns))
        most = max(FEWEST_KEPT, min(KEPT, CELLS_KEPT // cells))
        order = sorted(
            self._measures,
            key=lambda one: (-round(one.size, 2), self._proposals[one.number].distance, one.number),
        )
        kinds: dict[tuple[str, int], int] = {}
        kept = []
        for one in order:
            proposal = self._proposals[one.number]
            key = proposal.kind, proposal.distance
            if one.size >= 0 and kinds.get(key, 0) < ALIKE:
                kinds[key] = kinds.get(key, 0) + 1
                kept.append(proposal)
            if len(kept) >= most:
                break
        return kept or self._proposals[:most]

    # run --------------------------------------------------------------------------------------------------------------

    def _halved(self, proposals: list[Proposal]) -> tuple[tuple[Proposal, CandidatePair, float], int]:
        payoff, failure = payoff_of_claim(self._claim), None
        alive: list[tuple[Proposal, CandidatePair, float]] = []
        count, trials, number = 0, self._first_releases(), 0
        for at, proposal in enumerate(proposals):
            if alive and self._over(share=0.5):
                break
            try:
                candidate = CandidatePair(self._pair(proposal), proposal.words, f"{self._seed} {at}")
                seconds = self._run(candidate, trials, number)
                candidate.judge(payoff, thorough=False)
            except KeyboardInterrupt:
                self._stop_if(known=bool(alive))
                break
            except MechanismFailure as error:
                failure = failure or error
                continue
            except DpverdictError as error:  # a pair that does not hold what was proposed: of equal tables, for example
                failure = failure or MechanismFailure("", str(error), "give another table")
                continue
            count += 1
            alive.append((proposal, candidate, seconds))
            nearest = min((one.distance for one in proposals[at + 1 :]), default=proposal.distance)
            if candidate.statistic >= EVIDENT and proposal.distance <= nearest:
                break
        if not alive:
            raise failure or MechanismFailure("the function", "gave no outcome", "call it on the table yourself")
        while len(alive) > 1 and not self._over():
            alive = self._sorted(alive)[: max(1, (len(alive) + 1) // 2)]
            if alive[0][1].statistic >= EVIDENT:
                break
            trials, number = min(2 * trials, MOST_RELEASES), number + 1
            if len(alive) == 1 or number > 5:
                break
            for place, (proposal, candidate, _) in enumerate(alive):
                if self._over():
                    break
                self._watch(f"search of neighbours: {len(alive)} pairs left, best so far: {alive[0][0].words[:100]}")
                try:
                    seconds = self._run(candidate, trials, number)
                    candidate.judge(payoff, thorough=len(alive) <= 4)
                except KeyboardInterrupt:
                    self._stop_if(known=True)
                    break
                alive[place] = proposal, candidate, seconds
        return self._sorted(alive)[0], count

    def _first_releases(self) -> int:
        """On each table of a pair: of a slow function, as many as there is time for."""
        in_time = (self._until - time.monotonic()) / max(2 * self._run_seconds, 1e-9)
        return int(min(FIRST_RELEASES, max(FEWEST_RELEASES, in_time)))

    def _sorted(
        self, alive: list[tuple[Proposal, CandidatePair, float]]
    ) -> list[tuple[Proposal, CandidatePair, float]]:
        """The best first; what tells nearly as much and is nearer to the real table comes before.

        Where chance alone may have made the best the best, what was measured beforehand decides.
        """
        top = max(one[1].statistic for one in alive)

        def key(one: tuple[Proposal, CandidatePair, float]) -> tuple[float, ...]:
            proposal, candidate, _ = one
            chance = CHANCE / math.sqrt(candidate.trials)
            if top > 0 and chance < (1 - CLEAR) * top:
                near = candidate.statistic >= CLEAR * top
                return (0, proposal.distance, -candidate.statistic) if near else (1, -candidate.statistic)
            if candidate.statistic >= top - chance:
                return 0, -round(self._size_of(proposal), 1), proposal.distance, -candidate.statistic
            return 1, -candidate.statistic

        return sorted(alive, key=key)

    def _run(self, candidate: CandidatePair, trials: int, number: int) -> float:
        begun = time.monotonic()
        candidate.run(self._mechanism, trials, self._seed, number)
        self._releases += trials
        return (time.monotonic() - begun) / (2 * trials)

    def _stop_if(self, *, known: bool) -> None:
        """In a notebook an interrupt ends the search with what it knows; otherwise it passes, also a second one."""
        if self._interrupted or not known or not in_a_notebook():
            raise  # noqa: PLE0704  # it is called where an exception is handled
        self._interrupted = True
        say_in_a_notebook(f"Interrupted: the best of {len(self._measures)} pairs that were measured is taken.")

    def _over(self, share: float = 1.0) -> bool:
        """Whether a share of the time for releases is over."""
        if self._interrupted:
            return True
        if self._most is not None:
            return False
        return time.monotonic() > self._until - (1 - share) * (1 - MEASURING) * self._seconds

    def _pair(self, proposal: Proposal) -> AnyPair:
        larger, smaller = proposal.pair()
        if isinstance(larger, np.ndarray) and proposal.records == 1:
            return as_pair((larger, smaller))
        tables: tuple[Any, Any] = finished(larger, self._received), finished(smaller, self._received)
        return ObjectPair(
            dataset=tables[0],
            neighbour=tables[1],
            adjacency=self._schema.relation,
            records_per_user=proposal.records,
        )
