"""Which neighbours tell most? A search with trials of its own, all thrown away before a claim is tested.

Without it every auditor passes a bug that shows at one record only: with the shared noise of Algorithm 1 (Lebeda 2024)
drawn twice, the record of ones is more private than claimed, and a record with 12 ones of 20 violates the claim.

Candidates are the records that most bugs show at (nothing, one entry, k entries for a grid of k, everything,
alternating, random, near the boundary), the caller's own, and offspring of the best ones with some entries changed.
Successive halving spends the trials on what promises most: in every round each candidate gets the same number of fresh
trials, added to those it had, the worse half is dropped, and children of the best take a part of its place.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike

from dpverdict.audit.scores.portfolio import learn_scores, payoff_of_claim
from dpverdict.audit.scores.score import fit_linear_score
from dpverdict.audit.statistics.means import PayoffMoments
from dpverdict.audit.statistics.payoffs import Payoff
from dpverdict.audit.trials.outcomes.batches import Batch, Layout, OutcomeRows, rows_of, together
from dpverdict.audit.trials.outcomes.canonical import CanonicalOutcome
from dpverdict.audit.trials.run import AnyMechanism, Sampler, generator
from dpverdict.cards import answer_card
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import Guarantee, as_guarantee
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, AnyPair, NeighbourPair, check_adjacency
from dpverdict.numerics.arrays import Array

Domain = Literal["binary", "unit"]

FEWEST_PER_CANDIDATE: Final = 20
RANDOM_RECORDS: Final = 6
CHILDREN: Final = 0.25
"""Of the candidates of a round: offspring of the best."""
INSIDE: Final = 1 / 64
"""How far from the boundary the near-boundary values of a domain are."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankedPair:
    """A candidate.

    Attributes:
        pair: the two datasets.
        origin: where the record came from, in words.
        statistic: the mean excess of the payoff over what the claim allows, in standard deviations of one pair of
            trials; an estimate, never evidence.
        trials: per dataset, that it rests on.
    """

    pair: AnyPair
    origin: str
    statistic: float
    trials: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourSearch:
    """What a search found: every candidate, the last round's best first, and the trials per dataset that it cost."""

    ranking: tuple[RankedPair, ...]
    samples: int

    @property
    def best(self) -> RankedPair:
        """The pair to be tested, on fresh trials."""
        return self.ranking[0]

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows: dict[str, str] = {}
        for one in self.ranking[:_SHOWN]:
            rows.setdefault(one.origin, f"{one.statistic:.3g} standard deviations")
        return answer_card(
            f"The best of {len(self.ranking)} pairs: {self.best.origin}. That is an estimate, and no evidence.",
            rows,
            caption="more than the claim allows, by an estimate",
            follows="distinguish(mechanism, found.best.pair, claim, ...) tests it on fresh releases.",
        )


_SHOWN: Final = 6
"""Candidates, on a card."""


def search_neighbours(
    mechanism: AnyMechanism,
    claim: Guarantee | str,
    *,
    dim: int,
    adjacency: NeighboringRelation,
    samples: int,
    seed: int,
    domain: Domain = "binary",
    others: ArrayLike | None = None,
    own: Sequence[ArrayLike] = (),
) -> NeighbourSearch:
    """Rank neighbouring pairs by how clearly the outputs break the claim on them.

    Args:
        mechanism: what is run, see `dpverdict.audit.trials.run`; records are float64 of shape (dim,).
        claim: whose excess is estimated.
        dim: entries of a record.
        adjacency: the relation of the pairs; under REPLACE_ONE a record is replaced by its complement, and by zeros.
        samples: trials per dataset of the whole search.
        seed: of every random number.
        domain: "binary", entries 0 or 1, or "unit", entries in [0, 1].
        others: the records that both datasets share, shape (n, dim); none if left out.
        own: records to try beside the built-in ones, shape (dim,) each.

    Raises:
        InvalidValue: an argument out of range, or too few samples for the candidates.
        MechanismFailure: the mechanism raises, or returns something that is not an array of numbers of one shape.
    """
    if domain not in ("binary", "unit"):
        raise InvalidValue("domain", domain, 'one of "binary", "unit"', "scale the entries of the records to [0, 1]")
    if dim < 1:
        raise InvalidValue("dim", dim, ">= 1", "give the number of entries of a record")
    check_adjacency(adjacency)
    claim = as_guarantee(claim)
    shared = np.zeros((0, dim)) if others is None else np.asarray(others, dtype=np.float64)
    if shared.ndim != 2 or shared.shape[1] != dim:
        raise InvalidValue("others", shared.shape, f"of shape (n, {dim})", "give one record per row")
    rng = generator(seed, "neighbour search", 0)
    alive = [
        CandidatePair(pair, origin)
        for origin, record in {**_builtin_records(dim, domain, rng), **_given_records(own, dim)}.items()
        for pair in _pairs_of_record(record, shared, adjacency)
    ]
    alive = distinct_candidates(alive)
    rounds = max(1, math.ceil(math.log2(len(alive))))
    least = rounds * len(alive) * FEWEST_PER_CANDIDATE
    if samples < least:
        requirement = f">= {least} for {len(alive)} candidates"
        raise InvalidValue("samples", samples, requirement, "give more, or name the pair yourself")
    payoff, spent, dropped = payoff_of_claim(claim), 0, list[CandidatePair]()
    for number in range(rounds):
        each = samples // (rounds * len(alive))
        for candidate in alive:
            candidate.run(mechanism, each, seed, number)
            candidate.judge(payoff, thorough=dim == 1 or number >= rounds - 2)
            spent += each
        alive.sort(key=lambda candidate: -candidate.statistic)
        if number < rounds - 1:
            kept = max(1, len(alive) // 2)
            dropped = alive[kept:] + dropped
            alive = alive[:kept]
            children = _offspring(alive, round(CHILDREN * kept), shared, adjacency, domain, rng)
            known = {candidate.key for candidate in (*alive, *dropped)}
            alive += [child for child in distinct_candidates(children) if child.key not in known]
    ranking = tuple(
        RankedPair(pair=one.pair, origin=one.origin, statistic=one.statistic, trials=one.trials)
        for one in (*alive, *dropped)
    )
    return NeighbourSearch(ranking=ranking, samples=spent)


class CandidatePair:
    """A pair with the outputs seen so far.

    Args:
        pair: the two datasets.
        origin: in words, where it comes from.
        key: names the streams of its trials; that of its content if left out, which takes arrays.
    """

    pair: AnyPair
    origin: str
    statistic: float
    trials: int
    key: str

    def __init__(self, pair: AnyPair, origin: str, key: str | None = None) -> None:
        self.pair, self.origin = pair, origin
        self.statistic, self.trials = -math.inf, 0
        self._outputs: list[tuple[Batch, Batch]] = []
        self._size = 0
        if key is None:
            key = hashlib.sha256(pair.dataset.tobytes() + b"|" + pair.neighbour.tobytes()).hexdigest()[:16]
        self.key = key

    def run(self, mechanism: AnyMechanism, trials: int, seed: int, number: int) -> None:
        """Fresh trials on both datasets, in streams named after the pair and the round."""
        sides = ((self.pair.dataset, "dataset"), (self.pair.neighbour, "neighbour"))
        found: list[Batch] = []
        for data, name in sides:
            sampler = Sampler.prepare(mechanism, data, where=f"the {name} of {self.origin}", seed=seed)
            self._size = self._size or sampler.size
            found.append(together(list(sampler.batches(f"search {self.key} {name} {number}", trials)), self._size))
        self._outputs.append((found[0], found[1]))
        self.trials += trials

    def judge(self, payoff: Payoff, *, thorough: bool) -> None:
        """The excess of the best learned score, each fitted on one half of the trials and judged on the other.

        Args:
            payoff: of the claim.
            thorough: whether additive scores are learned too; they cost a hundred times more than linear ones.
        """
        p, q = self._tables()
        halves = [slice(0, None, 2), slice(1, None, 2)]
        by_score: dict[str, list[float]] = {}
        for fit, judge in (halves, halves[::-1]):
            linear = [fit_linear_score([p[fit]], [q[fit]])]
            for score in learn_scores(p[fit], q[fit], None) if thorough else linear:
                x, y = payoff.of_dataset(score(p[judge])), payoff.of_neighbour(score(q[judge]))
                of_x, of_y = PayoffMoments.of(x), PayoffMoments.of(y)
                # What tells all has no variance; a deviation is never taken for less than one trial can make.
                spread = max(math.sqrt(of_x.variance + of_y.variance), payoff.largest_loss / len(x))
                by_score.setdefault(score.name, []).append((of_x.mean - of_y.mean - payoff.allowed) / spread)
        self.statistic = max(float(np.mean(values)) for values in by_score.values())

    def rows(self) -> tuple[list[CanonicalOutcome], list[CanonicalOutcome]]:
        """The outcomes that were seen on either dataset."""
        of_dataset, of_neighbour = (
            [row for outputs in self._outputs for row in rows_of(outputs[side])] for side in (0, 1)
        )
        return of_dataset, of_neighbour

    def _tables(self) -> tuple[Array, Array]:
        """What was seen as arrays; the columns of a layout where outcomes are no arrays of one length."""
        p, q = (together([outputs[side] for outputs in self._outputs], self._size) for side in (0, 1))
        if isinstance(p, OutcomeRows) or isinstance(q, OutcomeRows):
            layout = Layout.of(list(rows_of(p)), list(rows_of(q)))
            return layout.table(p), layout.table(q)
        return p, q


def _builtin_records(dim: int, domain: Domain, rng: np.random.Generator) -> dict[str, Array]:
    """Records by what they are."""
    found: dict[str, Array] = {
        "zeros": np.zeros(dim),
        "ones": np.ones(dim),
        "alternating": (np.arange(dim) % 2).astype(np.float64),
    }
    for i in sorted({0, dim // 2, dim - 1}):
        found[f"entry {i} alone"] = (np.arange(dim) == i).astype(np.float64)
    steps = {2**i for i in range(1, dim.bit_length())} | {dim // 2, round((dim + math.sqrt(dim)) / 2)}
    for k in sorted(step for step in steps if 1 < step < dim):
        found[f"{k} ones"] = (np.arange(dim) < k).astype(np.float64)
    for i in range(RANDOM_RECORDS if dim > 2 else 0):
        found[f"random {i}"] = rng.integers(0, 2, dim).astype(np.float64)
    if domain == "unit":
        found["halves"] = np.full(dim, 0.5)
        found["near ones"] = np.full(dim, 1 - INSIDE)
        found["near zeros"] = np.full(dim, INSIDE)
        for i in range(RANDOM_RECORDS):
            found[f"random inside {i}"] = rng.random(dim)
    return found


def _given_records(own: Sequence[ArrayLike], dim: int) -> dict[str, Array]:
    found = {}
    for i, record in enumerate(own):
        array = np.asarray(record, dtype=np.float64)
        if array.shape != (dim,) or not bool(((array >= 0) & (array <= 1)).all()):
            raise InvalidValue("own", record, f"records of shape ({dim},) with entries in [0, 1]", f"mend number {i}")
        found[f"the caller's record {i}"] = array
    return found


def _pairs_of_record(record: Array, shared: Array, adjacency: NeighboringRelation) -> Iterator[NeighbourPair]:
    dataset = np.vstack([shared, record])
    if adjacency is not REPLACE_ONE:
        yield NeighbourPair(dataset=dataset, neighbour=shared, adjacency=adjacency)
        return
    for other in (1 - record, np.zeros_like(record)):
        if not np.array_equal(other, record):
            yield NeighbourPair(dataset=dataset, neighbour=np.vstack([shared, other]), adjacency=adjacency)


def _offspring(
    parents: list[CandidatePair],
    number: int,
    shared: Array,
    adjacency: NeighboringRelation,
    domain: Domain,
    rng: np.random.Generator,
) -> list[CandidatePair]:
    """Offspring: records of the best with one entry or a few changed, or the mean of two for entries in between."""
    found = []
    for i in range(number):
        parent = parents[i % len(parents)]
        record = parent.pair.dataset[len(shared)].copy()
        flipped = rng.random(len(record)) < max(1, len(record) // 8) / len(record)
        flipped[rng.integers(len(record))] = True
        record[flipped] = 1 - record[flipped]
        if domain == "unit" and rng.random() < 0.5:
            other = parents[int(rng.integers(len(parents)))].pair.dataset[len(shared)]
            record = (record + other) / 2
        found += [
            CandidatePair(pair, f"child of {parent.origin}") for pair in _pairs_of_record(record, shared, adjacency)
        ]
    return found


def distinct_candidates(candidates: list[CandidatePair]) -> list[CandidatePair]:
    return list({candidate.key: candidate for candidate in candidates}.values())
