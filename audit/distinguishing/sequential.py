"""Refute a claim from pairs of outputs that arrive one after another: look, stop and resume at any time.

Pairs are drawn in blocks, each from streams of its own. Before a block is drawn its scores are fixed: the one that is
known, and those learned from earlier blocks alone, scaled to the claim as in a test of fixed size. A bettor per score
bets on every pair of the block (`betting`); the weighted mean of their wealths reaches 1/error probability with at most
that probability if the claim holds, whenever one stops.

Where blocks end is a function of the number of pairs alone, so that a test which is interrupted there and resumed is
the test that was not. What a mechanism did before counts: a test that is resumed goes on with its wealth, and one whose
mechanism or claim has changed is a new test. So the state holds hashes of all that the mechanism is made of, the hashes
of its first releases, and a checksum of itself. A state in which one of them differs is refused
(`mechanism_identity`). The checksum shows accidental edits. It does not show a forgery: a forger can compute it anew.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn, final

import numpy as np

from dpverdict.audit.distinguishing.exploration import layout_of_outcomes
from dpverdict.audit.distinguishing.fixed_size import (
    checked_delta,
    checked_error,
    checked_samples,
    samplers,
)
from dpverdict.audit.distinguishing.mechanism_identity import (
    COMPARED_TRIALS,
    check_kept_state,
    check_same_mechanism,
    check_time_outs,
    fingerprint,
    first_kinds,
    make_probe,
)
from dpverdict.audit.distinguishing.result import answer_of_test, describe_mode, status_of_test
from dpverdict.audit.distinguishing.witness_document import evidence_of, sequential_document
from dpverdict.audit.scores.outcome_score import OutcomeScore
from dpverdict.audit.scores.portfolio import claimed_score, learn_scores, payoff_of_claim, tuned_score
from dpverdict.audit.scores.score import Score, as_score
from dpverdict.audit.statistics.betting import BettorMixture, BoundGrid, bettor
from dpverdict.audit.statistics.payoffs import Payoff
from dpverdict.audit.trials.outcomes.batches import Batch, OutcomeRows, first_of, together
from dpverdict.audit.trials.outcomes.stored import data_hash
from dpverdict.audit.trials.run import AnyMechanism, Progress, Sampler, scored
from dpverdict.cards import card
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import Guarantee, as_guarantee
from dpverdict.mechanisms.core.neighbours import Neighbours
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.stages import in_a_notebook, say_in_a_notebook, shown_in_a_notebook, tell_progress
from dpverdict.numerics.text import rounded_text

Block = tuple[Batch, Batch]
"""Outcomes on the dataset and on the neighbour."""

FIRST_BLOCK: Final = 8
"""Pairs that only train, without a known score; later blocks add a quarter to a half of what there is."""
OFTEN: Final = 512
"""Pairs up to which the scores of one number are learned again before every block: that is quick. Later, and from the
start where an output holds more numbers, they are learned again whenever the number of pairs has doubled."""
FEWEST_FAILED: Final = 32
"""Pairs that all end in one exception before the mechanism is said to fail always."""
MOST_TRAINING: Final = 50_000
"""Pairs after which the scores are learned no further."""
KNOWN_WEIGHT: Final = 0.75
"""Of the wealth, for the bettor with the known score; the learned ones share the rest."""
STATE_VERSION: Final = 4


def next_block_end(done: int) -> int:
    """Where the block after ``done`` pairs ends, if nothing else ends it.

    >>> next_block_end(0), next_block_end(8), next_block_end(64), next_block_end(1000)
    (8, 16, 96, 1024)
    """
    step = FIRST_BLOCK
    while 4 * step <= done:
        step *= 2
    return (done // step + 1) * step


def training_pairs(start: int, outputs: int) -> int:
    """How many of the first pairs train the scores of the block that begins after ``start`` pairs.

    >>> [training_pairs(start, 1) for start in (0, 8, 80, 1000)]
    [0, 8, 80, 512]
    >>> [training_pairs(start, 20) for start in (0, 8, 80, 1000)]
    [0, 8, 64, 512]
    """
    if start < FIRST_BLOCK or (outputs == 1 and start <= OFTEN):
        return start if outputs == 1 else 0
    pairs = FIRST_BLOCK
    while 2 * pairs <= min(start, MOST_TRAINING):
        pairs *= 2
    return pairs


class PairStream:
    """Both sides of the pairs, block by block, and those of earlier blocks as far as they may train.

    Args:
        p: the mechanism on the dataset.
        q: on the neighbour.
        starts: where the blocks of earlier calls began; it grows with every block that is drawn.
    """

    p: Sampler
    q: Sampler
    starts: list[int]

    def __init__(self, p: Sampler, q: Sampler, starts: list[int]) -> None:
        self.p, self.q, self.starts = p, q, starts
        self._held: list[Block] = []

    def draw(self, start: int, size: int) -> Block:
        """The next block."""
        block = self._outputs(start, size)
        if start < MOST_TRAINING and len(self._held) == len(self.starts):
            self._held.append(block)
        self.starts.append(start)
        return block

    @property
    def earliest(self) -> Block:
        """The first outcomes of both sides that are held; they were drawn before any bet."""
        size = self.p.size
        of_p, of_q = (first_of([block[side] for block in self._held], size, COMPARED_TRIALS) for side in (0, 1))
        return of_p, of_q

    def first(self, pairs: int, done: int) -> Block:
        """The first ``pairs`` of the ``done`` ones. Blocks of earlier calls are drawn again.

        If the mechanism has randomness of its own they are other pairs, but no less independent of what is to come.
        """
        ends = [*self.starts[1:], done]
        blocks = [(start, end) for start, end in zip(self.starts, ends, strict=True) if start < MOST_TRAINING]
        self._held += [self._outputs(start, end - start) for start, end in blocks[len(self._held) :]]
        of_p, of_q = (first_of([block[side] for block in self._held], self.p.size, pairs) for side in (0, 1))
        return of_p, of_q

    def _outputs(self, start: int, size: int) -> Block:
        of_p, of_q = (
            together(list(side.batches(f"block {start} {name}", size)), self.p.size)
            for side, name in ((self.p, "dataset"), (self.q, "neighbour"))
        )
        return of_p, of_q


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SequentialTest:
    """The result of `distinguish_sequentially`, so far.

    Attributes:
        refuted: whether the wealth has ever reached 1/error_probability.
        stopped_at: pairs drawn until it did, training included; None if it has not.
        claim: what is tested.
        mechanism: what was run, by name.
        error_probability: with which a claim that holds is ever refuted, at most, however often one looks.
        samples: pairs drawn so far, training included.
        bet_on: of those, the pairs that were bet on.
        seed: of all random numbers.
        scores: the names of the scores, with their weights.
        e_value: the present wealth; its mean is at most 1 if the claim holds.
        p_value: 1 over the largest wealth so far.
        witness: the document of the refutation, see `witness_document`, for `write_witness` and `replay`; None if not
            refuted.
        state: give it to the next call to go on; JSON-ready.
        grid: to whose multiples outputs were rounded before anything looked at them; 0 for the float64 numbers as they
            are.
        one_stream: whether all trials ran one after the other in one process, whatever the engine, because the
            mechanism has randomness or a state of its own that copies in workers would repeat.
        mu_lower: exceeds the true mu with at most the error probability, however often one looks; 0 says nothing; None
            unless the claim is one of mu-GDP. A test ends when its claim is refuted, so it is seldom far above it.
        epsilon_lower: the same of epsilon at the delta of the claim; None unless that is pure or approximate DP.
        recognised: whether a resumption compares releases too, not only what the mechanism is made of; False where the
            generator that is passed in does not decide the releases.
    """

    refuted: bool
    stopped_at: int | None
    claim: Guarantee
    mechanism: str
    error_probability: float
    samples: int
    bet_on: int
    seed: int
    scores: dict[str, float]
    e_value: float
    p_value: float
    witness: dict[str, Any] | None
    state: dict[str, object]
    grid: float = 0.0
    one_stream: bool = False
    mu_lower: float | None = None
    epsilon_lower: float | None = None
    recognised: bool = True

    @property
    def kind(self) -> Literal["statistical"]:
        """The kind of this evidence."""
        return "statistical"

    @property
    def mode(self) -> str:
        """What an output is, in words."""
        return describe_mode(self.grid)

    def __bool__(self) -> NoReturn:
        raise TypeError("a SequentialTest can refute, never certify; read test.refuted")

    def to_dict(self) -> dict[str, object]:
        """The result as JSON-ready data, without the state."""
        return {
            "kind": self.kind,
            "refuted": self.refuted,
            "stopped_at": self.stopped_at,
            "claim": self.claim.describe(),
            "mechanism": self.mechanism,
            "error_probability": self.error_probability,
            "samples": self.samples,
            "bet_on": self.bet_on,
            "seed": self.seed,
            "scores": dict(self.scores),
            "e_value": self.e_value,
            "p_value": self.p_value,
            "mu_lower": self.mu_lower,
            "epsilon_lower": self.epsilon_lower,
            "mode": self.mode,
            "witness": self.witness,
        }

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return card(
            status=status_of_test(refuted=self.refuted),
            name=self.mechanism,
            claim=self.claim.describe(),
            answer=self.answer,
            evidence={"statistical": self.key_facts()},
        )

    @property
    def answer(self) -> str:
        """One sentence: what the test says of the claim."""
        return answer_of_test(self.claim, self.error_probability, refuted=self.refuted)

    def key_facts(self) -> dict[str, str]:
        """How many pairs it took, by name."""
        said = f"error probability {rounded_text(self.error_probability)}"
        if self.stopped_at is not None:
            return {f"Pairs of releases until the claim fell, {said}": str(self.stopped_at)}
        return {f"Pairs of releases with nothing against the claim, {said}": str(self.samples)}

    def summary(self) -> str:
        """One line: outcome, claim, error probability, wealth, pairs."""
        outcome = f"refuted after {self.stopped_at} pairs" if self.refuted else f"not refuted by {self.samples} pairs"
        return (
            f"statistical evidence, anytime-valid: {self.claim.describe()} {outcome} for {self.mechanism} at error "
            f"probability {rounded_text(self.error_probability)} (p <= {rounded_text(self.p_value, 3)}, "
            f"e-value {self.e_value:.3g})"
        )


@shown_in_a_notebook("test on pairs of releases")
def distinguish_sequentially(
    mechanism: AnyMechanism,
    neighbours: Neighbours,
    claim: Guarantee | str,
    *,
    error_probability: float,
    most_samples: int,
    seed: int,
    score: Score | Callable[[Array], object] | None = None,
    state: dict[str, object] | None = None,
    grid: float = 0.0,
    progress: Progress | None = None,
) -> SequentialTest:
    """Draw pairs until the claim is refuted, or until ``most_samples`` were drawn in all; then it may be resumed.

    What it found holds whenever one stops to look. So a test that is interrupted while it draws in a notebook returns
    what it found so far; anywhere else KeyboardInterrupt passes.

    Args:
        mechanism: what is run, see `dpverdict.audit.trials.run`; its outputs must not depend on earlier ones.
        neighbours: two datasets that differ in one record, see `as_pair`; without a `NeighbourPair` the score is
            learned.
        claim: the guarantee, which covers both orders of the pair; also as text, such as "eps=1, delta=1e-6".
        error_probability: with which a claim that holds is ever refuted, in [1e-90, 1).
        most_samples: pairs in all, those before a resumption included; at least 50.
        seed: of all random numbers; to resume needs the same.
        score: outputs (trials, m) -> (trials,), see `distinguish`.
        state: of an earlier test of the same mechanism, datasets, claim, error probability and seed, to go on with.
        grid: to audit the claim as one about real numbers: a power of two, to whose multiples the outputs are rounded
            before anything looks at them; 0 to look at the float64 numbers as they are.
        progress: told how many pairs are done, and how many there are to do at most.

    Raises:
        InvalidValue: a parameter out of its range, datasets that are no neighbours, or a state of another test.
        MechanismFailure: the mechanism raises, or returns something that is not an array of numbers of one shape.
    """
    error = checked_error(error_probability)
    most = checked_samples(most_samples)
    claim = as_guarantee(claim)
    if state is not None:
        _check_state(state)
    parts = fingerprint(mechanism)
    p, q = samplers(mechanism, neighbours, seed, grid)
    given = None if score is None else as_score(score)
    known = claimed_score(mechanism, neighbours) if given is None else None
    payoff = payoff_of_claim(claim)
    identity = _hash_of_question(p, q, claim, error, score)
    target = -math.log(error) + 1e-9

    starts, done, crossed, mixture, evidence = _restored_state(state, identity)
    if state is None:
        probe = make_probe(mechanism, parts, (p, q))
    else:
        probe = check_same_mechanism(state.get("probe"), parts, (p, q))
    names = _score_names(known, given, p.size)
    if mixture is None:
        weights = _score_weights(names, known)
        bettors = tuple(bettor(payoff.largest_loss) for _ in names)
        mixture = BettorMixture(weights=tuple(weights), bettors=bettors)
    grid_of_bounds = BoundGrid.of_claim(claim, payoff, mixture.weights)
    if state is not None:
        grid_of_bounds = grid_of_bounds.restored(state.get("bounds"))
    bet_on = mixture.bettors[0].pairs
    stream = PairStream(p, q, starts)
    by_name: dict[str, Score] = {}
    trained = -1
    while crossed is None and done < most:
        start, size = done, min(next_block_end(done), most) - done
        training = training_pairs(start, p.size)
        if training != trained:
            first = stream.first(training, start) if training else None
            learned = [] if first is None else _learn_from_earlier(first, p, payoff, given)
            by_name, trained = {one.name: one for one in [*([known] if known else []), *learned]}, training
        try:
            of_p, of_q = stream.draw(start, size)
        except KeyboardInterrupt:  # between two blocks the test may end as well as after the last one
            if not in_a_notebook() or not done:
                raise
            say_in_a_notebook(f"Interrupted after {done} pairs of {most}; state=test.state goes on with the test.")
            break
        both = [
            (scored(by_name[name], of_p, p.size), scored(by_name[name], of_q, p.size)) if name in by_name else None
            for name in names
        ]
        # A bettor without a score does not bet.
        payoffs = [
            np.zeros(size)
            if pair_of is None
            else payoff.of_dataset(pair_of[0]) - payoff.of_neighbour(pair_of[1]) - payoff.allowed
            for pair_of in both
        ]
        if by_name:
            mixture, found = mixture.bet(payoffs, log_target=target)
            grid_of_bounds = grid_of_bounds.bet(both, size)
            bet_on += size
            odd = isinstance(of_p, OutcomeRows) or isinstance(of_q, OutcomeRows)
            if found is not None or (odd and done + size >= most):
                for side, batch in zip((p, q), stream.earliest, strict=True):
                    check_kept_state(side, first_kinds(batch))
            if found is not None:
                check_time_outs(p, q)
                crossed = done + found
                evidence = evidence_of(mixture, by_name, names, payoff, crossed)
        done += size
        (progress or tell_progress)(min(done, most), most)
    bounds = {name: grid_of_bounds.lower(name, error) for name in ("mu", "epsilon")}
    witness = evidence and sequential_document(
        evidence,
        mechanism=mechanism,
        neighbours=neighbours,
        p=p,
        q=q,
        claim=claim,
        level=error,
        bounds={"mu_lower": bounds["mu"], "epsilon_lower": bounds["epsilon"], "delta": checked_delta(None, claim)},
        samples=done,
        score=score,
    )
    return SequentialTest(
        refuted=crossed is not None,
        stopped_at=crossed,
        claim=claim,
        mechanism=p.name,
        error_probability=error,
        samples=done,
        bet_on=bet_on,
        seed=p.seed,
        scores=dict(zip(names, mixture.weights, strict=True)),
        e_value=mixture.e_value,
        p_value=min(1.0, mixture.p_value),
        witness=witness,
        grid=p.grid,
        one_stream=p.one_stream,
        mu_lower=bounds["mu"],
        epsilon_lower=bounds["epsilon"],
        recognised=bool(probe.outcomes),
        state=_with_checksum(
            {
                "version": STATE_VERSION,
                "identity": identity,
                "probe": probe.to_dict(),
                "starts": starts,
                "done": done,
                "crossed": crossed,
                "mixture": mixture.to_dict(),
                "bounds": grid_of_bounds.to_dict(),
                "evidence": evidence,
            }
        ),
    )


def _learn_from_earlier(first: Block, p: Sampler, payoff: Payoff, given: Score | None) -> list[Score]:
    """The scores that earlier pairs suggest, of the columns of a layout where these are no arrays of one length.

    Raises:
        MechanismFailure: every trial of the earlier pairs ended in one and the same exception.
        InvalidValue: a user's score, for outcomes that are no arrays of one length.
    """
    layout, _ = layout_of_outcomes(first, p, given, few=FEWEST_FAILED)
    if layout is None:
        assert not isinstance(first[0], OutcomeRows)
        assert not isinstance(first[1], OutcomeRows)
        return [tuned_score(one, payoff, first[0], first[1]) for one in learn_scores(first[0], first[1], given)]
    tables = layout.table(first[0]), layout.table(first[1])
    scores = [tuned_score(one, payoff, *tables) for one in learn_scores(*tables, None)]
    return [OutcomeScore(layout=layout, inner=one) for one in scores]


def _score_names(known: Score | None, given: Score | None, outputs: int) -> list[str]:
    """The names of the scores that `learn_scores` will make, the known one first."""
    tiny = np.zeros((2, outputs))
    learned = [one.name for one in learn_scores(tiny, tiny + 1, given)]
    return [*([known.name] if known else []), *learned]


def _score_weights(names: list[str], known: Score | None) -> list[float]:
    """Positive, and with an exact sum of at most 1."""
    if known is None:
        return [(1 - 2.0**-40) / len(names)] * len(names)
    others = len(names) - 1
    if not others:
        return [1.0]
    return [KNOWN_WEIGHT, *[(1 - KNOWN_WEIGHT - 2.0**-40) / others] * others]


def _restored_state(
    state: dict[str, object] | None, identity: str
) -> tuple[list[int], int, int | None, BettorMixture | None, dict[str, Any] | None]:
    if state is None:
        return [], 0, None, None, None
    if state.get("identity") != identity:
        remedy = "start a new test: another pair, claim, error probability, seed or score is another hypothesis"
        raise InvalidValue("state", "of another test", "of this test", remedy)
    names = ("starts", "done", "crossed", "mixture", "evidence")
    starts, done, crossed, mixture, evidence = (state.get(name) for name in names)
    if isinstance(starts, list) and isinstance(done, int) and isinstance(mixture, dict):
        if crossed is None and evidence is None:
            return list(starts), done, None, BettorMixture.from_dict(mixture), None
        if isinstance(crossed, int) and isinstance(evidence, dict):
            return list(starts), done, crossed, BettorMixture.from_dict(mixture), evidence
    raise InvalidValue("state", "incomplete", "what an earlier test returned", "start a new test")


def _with_checksum(state: dict[str, object]) -> dict[str, object]:
    """The state with its checksum."""
    return state | {"checksum": _checksum(state)}


def _check_state(state: dict[str, object]) -> None:
    """Refuse a state of another version, and one that is not as it was given.

    Raises:
        InvalidValue: as said.
    """
    if state.get("version") != STATE_VERSION:
        raise InvalidValue("state", state.get("version"), f"of version {STATE_VERSION}", "start a new test")
    if state.get("checksum") != _checksum({name: part for name, part in state.items() if name != "checksum"}):
        remedy = "give back the state of the earlier test, unchanged, or start a new test"
        raise InvalidValue("state", "whose checksum does not match", "what an earlier test returned", remedy)


def _checksum(state: dict[str, object]) -> str:
    """SHA-256 of the state as JSON, in which every float64 has its own form."""
    try:
        said = json.dumps(state, sort_keys=True)
    except (TypeError, ValueError):
        return ""
    return hashlib.sha256(said.encode()).hexdigest()


def _hash_of_question(
    p: Sampler, q: Sampler, claim: Guarantee, error: float, score: Score | Callable[[Array], object] | None
) -> str:
    """A hash of what the test is about, but for the mechanism: its name, the data, the claim, the score."""
    parts = [p.name, claim.describe(), repr(error), str(p.seed), repr(p.grid)]
    parts.append("" if score is None else json.dumps(fingerprint(score), sort_keys=True))
    digest = hashlib.sha256("\0".join(parts).encode())
    for sampler in (p, q):
        if isinstance(sampler.dataset, np.ndarray):
            digest.update(repr((sampler.dataset.shape, str(sampler.dataset.dtype))).encode())
            digest.update(np.ascontiguousarray(sampler.dataset).tobytes())
        else:
            digest.update(data_hash(sampler.dataset).encode())
    return digest.hexdigest()
