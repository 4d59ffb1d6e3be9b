"""Check the witness of a refutation again: its score and its event or payoff, fixed, on fresh releases. No exploration.

Because nothing is chosen any more, one test takes the whole error probability. What the claim allows is computed again
from the claim, not read. That a witness is not refuted again is what a mechanism that was mended shows, or a refutation
that was an error.

The witness of a sequential test is one bettor, with the score as it was learned when the claim fell. It starts with a
wealth of 1 and, as its first bet, the stake that it had reached; a forged stake or score can lose power, never
validity, because both are fixed before the fresh pairs are drawn. So the error probability of the replay holds however
early one stops: it is refuted again as soon as the wealth reaches 1/level, and not refuted if the pairs run out before.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.distinguishing.events import count_event
from dpverdict.audit.distinguishing.exploration import layout_of_outcomes
from dpverdict.audit.distinguishing.fixed_size import checked_error, distinguish, samplers
from dpverdict.audit.distinguishing.low_bits import set_from_data
from dpverdict.audit.distinguishing.mechanism_identity import check_time_outs
from dpverdict.audit.distinguishing.result import Event
from dpverdict.audit.distinguishing.sequential import next_block_end
from dpverdict.audit.distinguishing.witness_document import KIND as SEQUENTIAL
from dpverdict.audit.distinguishing.witness_document import OBJECT, UNSTATED, array_hash, has_source, hash_of
from dpverdict.audit.exact.decide import decide
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.audit.implementation.tap.tap_verdict import TapStatus
from dpverdict.audit.implementation.tap.tapped_runs import tap
from dpverdict.audit.runs.audits import check_pair
from dpverdict.audit.runs.request import MOST_SAMPLES, TAP_SECONDS, with_observed
from dpverdict.audit.scores.score import Score
from dpverdict.audit.scores.serialization import number_of, score_from_data, text_of, whole_of
from dpverdict.audit.statistics.betting import bettor
from dpverdict.audit.statistics.joint_test import Counts, Order, joint_p_value
from dpverdict.audit.statistics.means import payoff_test
from dpverdict.audit.statistics.payoffs import CurvePayoff, DivergencePayoff, Payoff, SymmetricPayoff, divergence_upper
from dpverdict.audit.trials.catalogue import find, names_foreign_code
from dpverdict.audit.trials.data_files import read_pair
from dpverdict.audit.trials.outcomes.observed import observed
from dpverdict.audit.trials.outcomes.stored import loaded
from dpverdict.audit.trials.run import AnyMechanism, Sampler
from dpverdict.audit.trials.user_functions import load_callable, probability
from dpverdict.cards import answer_card
from dpverdict.checks import check_seed
from dpverdict.errors import DpverdictError, InvalidValue
from dpverdict.mechanisms.core.guarantees import ApproximateDP, Guarantee, PureDP, parse_guarantee
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism, HasLikelihoodScore, StructuredMechanism
from dpverdict.mechanisms.core.neighbours import NeighbourPair, Neighbours, ObjectPair, parse_adjacency
from dpverdict.mechanisms.core.sensitivity import Cube
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import float_above
from dpverdict.numerics.stages import begin_stage
from dpverdict.numerics.text import rounded_text, whole_number

MOST_PER_PAIR: Final = 5
"""Fresh pairs at most, for every pair that the test had drawn: where a claim fell early was partly luck."""
FEWEST_MOST: Final = 500
LARGEST_LEVEL: Final = 0.05
"""A witness may not choose a larger error probability: what is refuted at it says too little. Who replays it may."""
MOST_TRIALS: Final = 10_000_000
"""A witness may not ask for more releases per dataset; who replays it may."""
KINDS_OF_NUMBERS: Final = "biufU"
"""Of datasets in a witness: truth values, numbers and short texts."""
LONGEST_TEXT: Final = 4096
"""Bytes of one entry of a dataset."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Bets:
    """What the bettor made of the fresh pairs.

    Attributes:
        pairs: drawn until the target was reached; all of them if it was not.
        p_value: 1 over the largest wealth.
        log_wealth: at the last pair.
    """

    pairs: int
    p_value: float
    log_wealth: float


_PROBED: Final = 32
"""Trials of each side that show whether every trial fails: a fault of the code, which says nothing of the claim."""


def replay_bets(
    evidence: Mapping[str, Any],
    payoff: Payoff,
    score: Score,
    sides: tuple[Sampler, Sampler],
    *,
    level: float,
    most: int | None,
) -> Bets:
    """Let the bettor of a witness bet on fresh pairs until its wealth is 1/level, or the pairs run out.

    Args:
        evidence: of the witness; only its stake and its number of pairs are read.
        payoff: made from the claim.
        score: of the witness.
        sides: the mechanism on the dataset and on the neighbour.
        level: the error probability.
        most: pairs; five times as many as the test had drawn if not given.
    """
    stake, drawn = number_of(evidence, "stake"), whole_of(evidence, "pairs")
    if stake < 0 or drawn < 1:
        raise ValueError("stake and pairs do not belong to a bettor")
    most = max(MOST_PER_PAIR * drawn, FEWEST_MOST) if most is None else most
    wealth = bettor(payoff.largest_loss, first=min(stake * payoff.largest_loss, 0.5))
    target, best, done = -math.log(level) + 1e-9, 0.0, 0
    while done < most:
        size = min(next_block_end(done), most) - done
        of_p, of_q = (
            side.scores(f"replay {done} {name}", size, score)
            for side, name in zip(sides, ("dataset", "neighbour"), strict=True)
        )
        wealth, path = wealth.bet(payoff.of_dataset(of_p) - payoff.of_neighbour(of_q) - payoff.allowed)
        best = max(best, float(path.max()))
        if best >= target:
            first = int((path >= target).argmax())
            return Bets(pairs=done + first + 1, p_value=math.exp(-best), log_wealth=float(path[first]))
        done += size
    return Bets(pairs=done, p_value=math.exp(-best), log_wealth=wealth.log_wealth)


Pair = Neighbours


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What came out.

    Attributes:
        refuted: whether the claim is refuted again.
        kind: "event", "payoff", "low bits", "sequential", "exact", or "tap" of a function that was followed.
        claim: what was tested.
        mechanism: what was run, by name.
        p_value: of the fresh releases; None for an exact refutation.
        level: at most this refutes; None for an exact refutation.
        trials: fresh releases per dataset; 0 for an exact refutation.
        seed: of every random number.
        found: the counts or the means, in words.
        same_source: whether the user's function is the one of the witness; None for a mechanism of this package, and
            for one that was given in place of the one that the witness names.
    """

    refuted: bool
    kind: str
    claim: Guarantee
    mechanism: str
    p_value: float | None
    level: float | None
    trials: int
    seed: int
    found: str
    same_source: bool | None

    @property
    def exit_code(self) -> int:
        """1 refuted again, 3 not."""
        return 1 if self.refuted else 3

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = {"releases": f"{self.trials} fresh ones on each dataset", "seed": str(self.seed)}
        rows |= {} if self.p_value is None else {"p-value": f"at most {rounded_text(self.p_value, 3)}"}
        follows = "do not release it." if self.refuted else "look at whether the mechanism has changed since."
        return answer_card(f"{self.summary()}.", rows, follows=follows)

    def summary(self) -> str:
        """One line."""
        outcome = "refuted again" if self.refuted else "not refuted this time"
        text = f"{self.claim.describe()} {outcome} for {self.mechanism}: {self.found}"
        if self.p_value is not None and self.level is not None:
            text += f" (p <= {rounded_text(self.p_value, 3)}, level {rounded_text(self.level)}, "
            text += f"{self.trials} fresh releases, seed {self.seed})"
        if self.same_source is False:
            text += "; its source is no longer that of the witness"
        return text


def replay(
    document: Mapping[str, Any],
    *,
    mechanism: AnyMechanism | None = None,
    score: Callable[[Array], object] | None = None,
    neighbours: str | None = None,
    samples: int | None = None,
    error_probability: float | None = None,
    seed: int | None = None,
    records_per_user: int = 1,
    trust_code: bool = False,
) -> Replay:
    """Run the confirmation of a witness again.

    What a witness says is not believed: its claim, its relation and the number of records in which its datasets differ
    are checked against each other and the mechanism, its error probability is honoured up to `LARGEST_LEVEL`, and no
    code that it names is imported unless ``trust_code`` says so.

    Args:
        document: of `read_witness`.
        mechanism: what is run; None for the one that the witness names.
        score: the function of a score that the witness knows by name only; None for the one that it names.
        neighbours: a .npz file with the datasets, for a witness that holds their hashes only.
        samples: fresh releases per dataset; if not given as many as decided before, or five times as many at most for
            the witness of a sequential test, whose replay stops as soon as it is decided (`sequential_replay`).
        error_probability: at which it is refuted; that of the witness if not given.
        seed: of every random number; a fresh one if not given.
        records_per_user: in how many consecutive records the datasets differ, for a claim about users with so many; a
            mechanism of known structure states it itself.
        trust_code: whether functions that the witness names, and files that its options name, are loaded.

    Raises:
        InvalidValue: a document that contradicts itself, other datasets than those of the witness, datasets that are no
            neighbours under its relation, a parameter out of its range, a mechanism that cannot be found, or code that
            is not trusted.
        MechanismFailure: the mechanism raises, or returns something that is not an array of numbers of one shape.
    """
    try:
        given = _Given(mechanism, score, neighbours, samples, error_probability, records_per_user, trust_code)
        return _replay(document, given, secrets.randbits(63) if seed is None else check_seed(seed))
    except DpverdictError:
        raise
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as error:
        problem = " ".join(f"{type(error).__name__}: {error}".split())
        requirement = "a document whose parts fit together"
        raise InvalidValue("witness", document.get("kind"), requirement, f"reading it fails with {problem}") from error


def replay_from_request(
    document: Mapping[str, Any],
    *,
    neighbours: str | None,
    samples: str | None,
    error_probability: str | None,
    seed: str | None,
    records_per_user: str | None,
    mechanism: str | None,
    score: str | None,
    trust_code: bool,
) -> Replay:
    """`replay` with every part as text; None stands for "not given".

    A ``mechanism`` that the user names is run in place of the one of the witness, and compared with it by its source.
    """
    found = replay(
        document,
        mechanism=None if mechanism is None else load_callable(mechanism, name="mechanism"),
        score=None if score is None else load_callable(score, name="score"),
        neighbours=neighbours,
        samples=None if samples is None else whole_number(samples, "samples", at_least=2, at_most=MOST_SAMPLES),
        error_probability=None if error_probability is None else probability(error_probability, "error_probability"),
        seed=None if seed is None else whole_number(seed, "seed", at_least=0),
        records_per_user=whole_number(records_per_user or "1", "records_per_user", at_least=1),
        trust_code=trust_code,
    )
    if mechanism is None:
        return found
    same = has_source(mechanism, document["mechanism"]["source_sha256"])
    return replace(found, mechanism=mechanism, same_source=same)


@final
@dataclass(frozen=True, slots=True)
class _Given:
    """What the user says about a witness that is replayed; see `replay`."""

    mechanism: AnyMechanism | None
    score: Callable[[Array], object] | None
    neighbours: str | None
    samples: int | None
    error_probability: float | None
    records_per_user: int
    trust_code: bool


def _replay(document: Mapping[str, Any], given: _Given, seed: int) -> Replay:
    claim, kind, evidence = parse_guarantee(text_of(document, "claim")), text_of(document, "kind"), document["evidence"]
    named = document["mechanism"]
    name, source = text_of(named, "name"), named["source_sha256"]
    run, pair = _subject_and_datasets(document, given)
    ours = given.mechanism is not None and not given.trust_code
    same = None if source is None or ours else has_source(name, source)
    shared: dict[str, Any] = {"kind": kind, "claim": claim, "mechanism": name, "seed": seed}
    if kind == "exact":
        if not isinstance(run, StructuredMechanism):
            raise ValueError("an exact refutation needs a mechanism of known structure")
        status = decide(run, claim, worst_case(run)).status
        return Replay(
            refuted=status is Status.REFUTED,
            p_value=None,
            level=None,
            trials=0,
            found=f"the exact audit says {status.name}",
            same_source=same,
            **shared,
        )
    level, trials = _level(document, given), _trials(kind, evidence, given)
    if kind == "tap":
        return _measured_again(run, pair, level=level, trials=trials, same_source=same, **shared)
    begin_stage("fresh releases")
    p, q = samplers(run, pair, seed, number_of(document, "grid"))
    probed = (side.batches("replay probe", _PROBED) for side in (p, q))
    layout_of_outcomes(
        [batch for both in zip(*probed, strict=True) for batch in both], p, None
    )  # refuses what always fails
    streams = ("replay dataset", "replay neighbour")

    def scored() -> tuple[Array, Array]:
        """Called after everything was read: a damaged witness is refused before the releases are made."""
        held = score_from_data(document["score"], _function(document, run, pair, given))
        of_dataset, of_neighbour = (
            side.scores(stream, trials, held) for side, stream in zip((p, q), streams, strict=True)
        )
        return of_dataset, of_neighbour

    if kind == SEQUENTIAL:
        frozen = score_from_data(document["score"], _function(document, run, pair, given))
        payoff = _payoff(claim, evidence["payoff"])
        bets = replay_bets(evidence, payoff, frozen, (p, q), level=level, most=given.samples)
        p_value, trials = bets.p_value, bets.pairs
        found = f"wealth {math.exp(min(bets.log_wealth, 700.0)):.6g} after {trials} pairs"
    elif kind == "low bits":
        event, order = set_from_data(evidence["event"]), Order(evidence["order"])
        epsilon = number_of(evidence, "tested_at")
        hits = [
            int(sum(event.contains(chunk).sum() for chunk in side.chunks(stream, trials)))
            for side, stream in zip((p, q), streams, strict=True)
        ]
        p_value = _event_p(claim, order, hits, trials, epsilon, level)
        found = f"{hits[0]} and {hits[1]} releases in the set"
    elif kind == "event":
        chosen = Event(order=Order(evidence["order"]), threshold=number_of(evidence, "threshold", finite=False))
        epsilon = number_of(evidence, "epsilon")
        counts = count_event(chosen, *scored())
        hits = [counts.of_dataset[0], counts.of_neighbour[0]]
        p_value = _event_p(claim, chosen.order, hits, trials, epsilon, level)
        found = f"{chosen.describe()} in {hits[0]} and {hits[1]} releases"
    elif kind == "payoff":
        payoff = _payoff(claim, evidence["payoff"])
        result = payoff_test(payoff, *scored(), level)
        p_value = result.p_value
        found = f"mean payoffs {result.dataset_mean:.6g} and {result.neighbour_mean:.6g}"
    else:
        raise ValueError(f"no witness is of kind {kind}")
    if p_value <= level:
        check_time_outs(p, q)
    return Replay(
        refuted=p_value <= level, p_value=p_value, level=level, trials=trials, found=found, same_source=same, **shared
    )


def _measured_again(
    run: StructuredMechanism | AnyMechanism, pair: Pair, claim: Guarantee, *, level: float, trials: int,
    seed: int, **shared: Any,
) -> Replay:  # fmt: skip
    """The pair of a function that was followed: by the noise tap, or by fresh releases where it cannot decide."""
    begin_stage("noise tap")
    found = tap(run, pair, claim, seed=seed, seconds=TAP_SECONDS)
    if found.status is TapStatus.REFUTED:
        return Replay(refuted=True, claim=claim, p_value=None, level=None, trials=0, seed=seed, found=found.reason,
                      **shared)  # fmt: skip
    begin_stage("fresh releases")
    test = distinguish(run, pair, claim, error_probability=level, samples=trials, seed=seed, delta=0,
                       score=found.score)  # fmt: skip
    return Replay(refuted=test.p_value <= level, claim=claim, p_value=test.p_value, level=level, trials=trials,
                  seed=seed, found="all outcomes", **shared)  # fmt: skip


def _subject_and_datasets(
    document: Mapping[str, Any], given: _Given
) -> tuple[StructuredMechanism | AnyMechanism, Pair]:
    """What is run, and on which datasets; nothing is loaded that is not trusted."""
    named = document["mechanism"]
    name, options = text_of(named, "name"), named["options"]
    if not all(isinstance(key, str) and (text is None or isinstance(text, str)) for key, text in options.items()):
        raise TypeError("the options of the mechanism are texts")
    known: StructuredMechanism | AnyMechanism | None = given.mechanism
    if known is None:
        files = [text for text in options.values() if text is not None and text.startswith("@")]
        for code in [name] * names_foreign_code(name) + files:
            _must_be_trusted("mechanism", code, given)
        if not named["options_from_data"]:
            known = find(name, options).mechanism
    pair = _pair(document, given, known)
    if known is None:
        known = find(name, options, pair=pair if isinstance(pair, NeighbourPair) else None).mechanism
        pair = _pair(document, given, known)
    if isinstance(known, StructuredMechanism) and isinstance(pair, NeighbourPair):
        check_pair(known, pair)
    if "observe" in named and not isinstance(known, observed):
        known = with_observed(known, text_of(named, "observe"))
    return known, pair


def _must_be_trusted(what: str, code: str, given: _Given) -> None:
    if not given.trust_code:
        requirement = "trusted before it is loaded: the witness names it, and whoever wrote the witness may have too"
        remedy = "read that code, then add --trust-code, or name your own with --mechanism and --score"
        raise InvalidValue(what, code, requirement, remedy)


def _level(document: Mapping[str, Any], given: _Given) -> float:
    if given.error_probability is not None:
        return checked_error(given.error_probability)
    level = checked_error(number_of(document, "level"))
    if level > LARGEST_LEVEL:
        most = rounded_text(LARGEST_LEVEL)
        requirement = f"at most {most} where a witness says it: it is how often a true claim is refuted"
        raise InvalidValue("level", level, requirement, "give --error-probability, a value of your own")
    return level


def _trials(kind: str, evidence: Mapping[str, Any], given: _Given) -> int:
    if given.samples is not None:
        trials = given.samples
    elif kind == SEQUENTIAL:
        trials = whole_of(evidence, "pairs")
    elif kind == "payoff":
        trials = whole_of(evidence["payoff"], "trials")
    elif kind == "low bits":
        trials = whole_of(dict(enumerate(evidence["counts"])), 1)
    else:
        trials = whole_of(evidence, "dataset_trials")
    if trials < 2 or (given.samples is None and trials > MOST_TRIALS):
        remedy = "give --samples, a number of your own"
        raise InvalidValue("samples", trials, f"a whole number from 2 to {MOST_TRIALS} in a witness", remedy)
    return trials


def _event_p(claim: Guarantee, order: Order, hits: list[int], trials: int, epsilon: float, level: float) -> float:
    """What the claim allows is computed again, not read: a damaged witness refutes no true claim."""
    first, second = hits if order is Order.DATASET_FIRST else hits[::-1]
    allowed = float(claim.delta_upper(np.array(epsilon)))
    if allowed >= 1:
        return 1.0
    return joint_p_value(Counts(first, trials, second, trials), epsilon=epsilon, delta=allowed, level=level)


def _payoff(claim: Guarantee, data: Mapping[str, Any]) -> Payoff:
    """The payoff at the tau or the other numbers of the witness; what the claim allows is computed again."""
    divergence = divergence_upper(claim)
    if data["kind"] == "divergence" and divergence is not None:
        means = dict(enumerate(data["means"]))
        first, second = (number_of(means, i) for i in means)
        return DivergencePayoff(divergence, number_of(data, "scale"), number_of(data, "clip"), (first, second))
    if data["kind"] == "curve":
        return CurvePayoff.of_claim(claim, number_of(data, "tau"))
    if data["kind"] != "symmetric" or not isinstance(claim, PureDP | ApproximateDP):
        raise ValueError(f"no payoff of kind {data['kind']} belongs to {claim.describe()}")
    delta = float_above(claim.delta) if isinstance(claim, ApproximateDP) else 0.0
    return SymmetricPayoff(min(float_above(claim.epsilon), 600.0), min(delta, 1.0), number_of(data, "threshold"))


def _function(
    document: Mapping[str, Any], run: object, pair: Pair, given: _Given
) -> Callable[[str], Callable[[Array], object]]:
    """Finds the function of a score that is only named: the likelihood ratio of the mechanism, or the user's."""

    def function(name: str) -> Callable[[Array], object]:
        if given.score is not None:
            return given.score
        if document["score_function"] is not None:
            _must_be_trusted("score", text_of(document, "score_function"), given)
            return load_callable(text_of(document, "score_function"), name="score")
        if name == "likelihood ratio" and isinstance(run, HasLikelihoodScore) and isinstance(pair, NeighbourPair):
            return run.likelihood_score(pair)
        raise ValueError(f"the function of the score {name} is not known")

    return function


def _pair(document: Mapping[str, Any], given: _Given, run: object) -> Pair:
    """The datasets of the witness, or those of a file if they are the same; a pair if their relation is stated.

    In how many records they differ is not taken from them: a mechanism of known structure states it, and else who
    replays the witness.
    """
    held = document["datasets"]["dataset"], document["datasets"]["neighbour"]
    stated = document["kind"] != SEQUENTIAL or document["relation"] != UNSTATED
    relation = parse_adjacency(text_of(document, "relation").partition(" ")[0]) if stated else None
    if given.neighbours is not None:
        found = read_pair(given.neighbours, relation)
        for data, known in zip((found.dataset, found.neighbour), held, strict=True):
            if known is not None and hash_of(data) != known["sha256"]:
                remedy = "give the file that was audited"
                raise InvalidValue("neighbours", given.neighbours, "the datasets of the witness", remedy)
        return found
    if any(known is None or known["values"] is None for known in held):
        remedy = "add --neighbours, the .npz file with the datasets"
        raise InvalidValue("neighbours", None, "given: the witness holds only hashes of the datasets", remedy)
    dataset, neighbour = map(_dataset, held)
    if relation is None:
        return dataset, neighbour
    records = given.records_per_user
    if not (isinstance(dataset, np.ndarray) and isinstance(neighbour, np.ndarray)):
        return ObjectPair(dataset=dataset, neighbour=neighbour, adjacency=relation, records_per_user=records)
    if isinstance(run, StructuredMechanism):
        space = run.sensitivity if isinstance(run, AdditiveMechanism) else None
        records = space.copies if isinstance(space, Cube) else 1
    return NeighbourPair(dataset=dataset, neighbour=neighbour, adjacency=relation, records_per_user=records)


def _dataset(known: Mapping[str, Any]) -> Any:
    """A dataset of any kind that is written out, if it is the one of its hash."""
    if not text_of(known, "dtype").startswith(OBJECT):
        return _array(known)
    data = loaded(known["values"])
    if hash_of(data) != known["sha256"]:
        raise ValueError("a dataset does not fit its hash")
    return data


def _array(known: Mapping[str, Any]) -> NDArray[Any]:  # Any: of the type that the witness states
    """A dataset that is written out, if it is the one of its hash."""
    kind = np.dtype(text_of(known, "dtype"))
    if kind.kind not in KINDS_OF_NUMBERS or kind.itemsize > LONGEST_TEXT:
        raise TypeError(f"a dataset of type {kind} is not one of a witness")
    lengths = dict(enumerate(known["shape"]))
    array = np.asarray(known["values"], dtype=kind).reshape([whole_of(lengths, i) for i in lengths])
    if array_hash(array) != known["sha256"]:
        raise ValueError("a dataset does not fit its hash")
    return array
