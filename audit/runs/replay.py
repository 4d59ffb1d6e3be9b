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
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.distinguishing.events import count
from dpverdict.audit.distinguishing.fixed_size import checked_error, samplers
from dpverdict.audit.distinguishing.low_bits import Finite, LowBits, Multiples, Values
from dpverdict.audit.distinguishing.result import Event
from dpverdict.audit.distinguishing.sequential import next_end
from dpverdict.audit.distinguishing.witness_document import KIND as SEQUENTIAL
from dpverdict.audit.distinguishing.witness_document import UNSTATED, array_hash, source_hash
from dpverdict.audit.exact.decide import decide
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.audit.scores.learned import ChainedScore, SplineScore
from dpverdict.audit.scores.score import CallableScore, LinearScore, Score
from dpverdict.audit.scores.trees import TreeScore
from dpverdict.audit.statistics.betting import bettor
from dpverdict.audit.statistics.joint_test import Counts, Order, joint_p
from dpverdict.audit.statistics.means import payoff_test
from dpverdict.audit.statistics.payoffs import CurvePayoff, DivergencePayoff, Payoff, SymmetricPayoff, divergence_upper
from dpverdict.audit.trials.catalogue import find
from dpverdict.audit.trials.data_files import read_pair
from dpverdict.audit.trials.run import AnyMechanism, Sampler
from dpverdict.audit.trials.words import load_callable
from dpverdict.checks import check_seed
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import ApproximateDP, Guarantee, PureDP, parse_guarantee
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism, HasLikelihoodScore
from dpverdict.mechanisms.core.neighbours import NeighbourPair, parse_adjacency
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import float_above

MOST_PER_PAIR: Final = 5
"""Fresh pairs at most, for every pair that the test had drawn: where a claim fell early was partly luck."""
FEWEST_MOST: Final = 500


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
    stake, drawn = float(evidence["stake"]), int(evidence["pairs"])
    if not (math.isfinite(stake) and stake >= 0 and drawn > 0):
        raise ValueError("stake and pairs do not belong to a bettor")
    most = max(MOST_PER_PAIR * drawn, FEWEST_MOST) if most is None else most
    wealth = bettor(payoff.largest_loss, first=min(stake * payoff.largest_loss, 0.5))
    target, best, done = -math.log(level) + 1e-9, 0.0, 0
    while done < most:
        size = min(next_end(done), most) - done
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


Named = Callable[[str], Callable[[Array], object]]
"""Finds a function that a score only names."""


def score_from_data(data: Mapping[str, Any], named: Named) -> Score:
    """The score that ``data`` describes.

    Args:
        data: of `Score.describe`: kinds "linear", "additive spline", "boosted trees", "chained" and "callable".
        named: gives the function of a score of kind "callable", of which the data hold the name only.

    Raises:
        InvalidValue: another kind, such as a ranking of canaries.
        KeyError, TypeError, ValueError: data that no score describes itself by.

    >>> score = LinearScore(name="sum", weights=np.ones(2), offset=0.5)
    >>> score_from_data(score.describe(), named=lambda name: np.sum)(np.array([[1.0, 2.0]]))
    array([2.5])
    """
    match data["kind"]:
        case "linear":
            weights = np.asarray(data["weights"], dtype=np.float64)
            return LinearScore(name=str(data["name"]), weights=weights, offset=float(data["offset"]))
        case "additive spline":
            knots, values = (
                tuple(np.asarray(part, dtype=np.float64) for part in data[key]) for key in ("knots", "values")
            )
            matched = len(knots) == len(values) and all(k.shape == v.shape for k, v in zip(knots, values, strict=True))
            if not matched or not all(k.ndim == 1 and len(k) and (np.diff(k) > 0).all() for k in knots):
                raise ValueError("knots and values do not match")
            return SplineScore(name=str(data["name"]), offset=float(data["offset"]), knots=knots, values=values)
        case "chained":
            outer = score_from_data(data["outer"], named)
            if not isinstance(outer, SplineScore):
                raise ValueError("the outer score is not a spline")
            return ChainedScore(name=str(data["name"]), inner=score_from_data(data["inner"], named), outer=outer)
        case "boosted trees":
            return TreeScore.from_data(data)
        case "callable":
            return CallableScore(function=named(str(data["name"])), name=str(data["name"]))
        case kind:
            remedy = "linear, spline, tree and named scores can be replayed"
            raise InvalidValue("score", kind, "a kind of score that is kept as data", remedy)


def set_from_data(data: Mapping[str, Any]) -> Finite:
    """The set of outputs that ``data`` describe, see `low_bits`.

    Raises:
        KeyError, TypeError, ValueError: data that no set describes itself by.
    """
    coordinate = int(data["coordinate"])
    match data["kind"]:
        case "low bits":
            bit, exponent = int(data["bit"]), int(data["exponent"])
            return LowBits(coordinate=coordinate, centre=float(data["centre"]), exponent=exponent, bit=bit)
        case "multiples":
            return Multiples(coordinate=coordinate, offset=float(data["offset"]), grid=float(data["grid"]))
        case "values":
            return Values(coordinate=coordinate, values=tuple(float(value) for value in data["values"]))
        case kind:
            raise ValueError(f"no set is of kind {kind}")


Pair = NeighbourPair | tuple[NDArray[np.generic], NDArray[np.generic]]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What came out.

    Attributes:
        refuted: whether the claim is refuted again.
        kind: "event", "payoff", "low bits", "sequential" or "exact".
        claim: what was tested.
        mechanism: what was run, by name.
        p_value: of the fresh releases; None for an exact refutation.
        level: at most this refutes; None for an exact refutation.
        trials: fresh releases per dataset; 0 for an exact refutation.
        seed: of every random number.
        found: the counts or the means, in words.
        same_source: whether the user's function is the one of the witness; None for a mechanism of this package.
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

    def summary(self) -> str:
        """One line."""
        outcome = "refuted again" if self.refuted else "not refuted this time"
        text = f"{self.claim.describe()} {outcome} for {self.mechanism}: {self.found}"
        if self.p_value is not None:
            text += f" (p <= {self.p_value:.3g}, level {self.level:g}, {self.trials} fresh releases, seed {self.seed})"
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
) -> Replay:
    """Run the confirmation of a witness again.

    Args:
        document: of `read_witness`.
        mechanism: what is run; None for the one that the witness names.
        score: the function of a score that the witness knows by name only; None for the one that it names.
        neighbours: a .npz file with the datasets, for a witness that holds their hashes only.
        samples: fresh releases per dataset; if not given as many as decided before, or five times as many at most for
            the witness of a sequential test, whose replay stops as soon as it is decided (`sequential_replay`).
        error_probability: at which it is refuted; that of the witness if not given.
        seed: of every random number; a fresh one if not given.

    Raises:
        InvalidValue: a document that contradicts itself, other datasets than those of the witness, a parameter out of
            its range, or a mechanism that cannot be found.
        MechanismFailure: the mechanism raises, or returns something that is not an array of numbers of one shape.
    """
    try:
        return _replay(document, mechanism, score, neighbours, samples, error_probability, seed)
    except (KeyError, TypeError, IndexError, ValueError) as error:
        if isinstance(error, InvalidValue):
            raise
        problem = " ".join(f"{type(error).__name__}: {error}".split())
        requirement = "a document whose parts fit together"
        raise InvalidValue("witness", document.get("kind"), requirement, f"reading it fails with {problem}") from error


def _replay(
    document: Mapping[str, Any],
    mechanism: AnyMechanism | None,
    score: Callable[[Array], object] | None,
    neighbours: str | None,
    samples: int | None,
    error_probability: float | None,
    seed: int | None,
) -> Replay:
    claim, kind, evidence = parse_guarantee(document["claim"]), document["kind"], document["evidence"]
    seed = secrets.randbits(63) if seed is None else check_seed(seed)
    pair = _pair(document, neighbours)
    named = document["mechanism"]
    run: AdditiveMechanism | AnyMechanism
    if mechanism is not None:
        run = mechanism
    else:
        from_data = named["options_from_data"]
        shape = pair if from_data and isinstance(pair, NeighbourPair) else None
        run = find(named["name"], named["options"], pair=shape).mechanism
    same = None if named["source_sha256"] is None else named["source_sha256"] == source_hash(named["name"])
    shared: dict[str, Any] = {"kind": kind, "claim": claim, "mechanism": named["name"], "seed": seed}
    if kind == "exact":
        if not isinstance(run, AdditiveMechanism):
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
    level = checked_error(float(document["level"]) if error_probability is None else error_probability)
    p, q = samplers(run, pair, seed, float(document["grid"]))
    trials = _trials(kind, evidence) if samples is None else samples
    if trials < 2:
        raise InvalidValue("samples", trials, "a whole number >= 2", "run as many as decided before, or more")
    streams = ("replay dataset", "replay neighbour")
    if kind == SEQUENTIAL:
        frozen = score_from_data(document["score"], _function(document, run, pair, score))
        bets = replay_bets(evidence, _payoff(claim, evidence["payoff"]), frozen, (p, q), level=level, most=samples)
        p_value, trials = bets.p_value, bets.pairs
        found = f"wealth {math.exp(min(bets.log_wealth, 700.0)):.6g} after {trials} pairs"
    elif kind == "low bits":
        event, order = set_from_data(evidence["event"]), Order(evidence["order"])
        hits = [
            int(sum(event.contains(chunk).sum() for chunk in side.chunks(stream, trials)))
            for side, stream in zip((p, q), streams, strict=True)
        ]
        p_value = _event_p(claim, order, hits, trials, float(evidence["tested_at"]), level)
        found = f"{hits[0]} and {hits[1]} releases in the set"
    else:
        held = score_from_data(document["score"], _function(document, run, pair, score))
        x, y = (side.scores(stream, trials, held) for side, stream in zip((p, q), streams, strict=True))
        if kind == "event":
            chosen = Event(order=Order(evidence["order"]), threshold=float(evidence["threshold"]))
            counts = count(chosen, x, y)
            hits = [counts.of_dataset[0], counts.of_neighbour[0]]
            p_value = _event_p(claim, chosen.order, hits, trials, float(evidence["epsilon"]), level)
            found = f"{chosen.describe()} in {hits[0]} and {hits[1]} releases"
        elif kind == "payoff":
            result = payoff_test(_payoff(claim, evidence["payoff"]), x, y, level)
            p_value = result.p_value
            found = f"mean payoffs {result.dataset_mean:.6g} and {result.neighbour_mean:.6g}"
        else:
            raise ValueError(f"no witness is of kind {kind}")
    return Replay(
        refuted=p_value <= level, p_value=p_value, level=level, trials=trials, found=found, same_source=same, **shared
    )


def _trials(kind: str, evidence: Mapping[str, Any]) -> int:
    if kind == SEQUENTIAL:
        return int(evidence["pairs"])
    if kind == "payoff":
        return int(evidence["payoff"]["trials"])
    return int(evidence["counts"][1] if kind == "low bits" else evidence["dataset_trials"])


def _event_p(claim: Guarantee, order: Order, hits: list[int], trials: int, epsilon: float, level: float) -> float:
    """What the claim allows is computed again, not read: a damaged witness refutes no true claim."""
    first, second = hits if order is Order.DATASET_FIRST else hits[::-1]
    allowed = float(claim.delta_upper(np.array(epsilon)))
    if allowed >= 1:
        return 1.0
    return joint_p(Counts(first, trials, second, trials), epsilon=epsilon, delta=allowed, level=level)


def _payoff(claim: Guarantee, data: Mapping[str, Any]) -> Payoff:
    """The payoff at the tau or the other numbers of the witness; what the claim allows is computed again."""
    divergence = divergence_upper(claim)
    if data["kind"] == "divergence" and divergence is not None:
        first, second = (float(mean) for mean in data["means"])
        return DivergencePayoff(divergence, float(data["scale"]), float(data["clip"]), (first, second))
    if data["kind"] == "curve":
        return CurvePayoff.of_claim(claim, float(data["tau"]))
    if data["kind"] != "symmetric" or not isinstance(claim, PureDP | ApproximateDP):
        raise ValueError(f"no payoff of kind {data['kind']} belongs to {claim.describe()}")
    delta = float_above(claim.delta) if isinstance(claim, ApproximateDP) else 0.0
    return SymmetricPayoff(min(float_above(claim.epsilon), 600.0), min(delta, 1.0), float(data["threshold"]))


def _function(
    document: Mapping[str, Any], run: object, pair: Pair, given: Callable[[Array], object] | None
) -> Callable[[str], Callable[[Array], object]]:
    """Finds the function of a score that is only named: the likelihood ratio of the mechanism, or the user's."""

    def function(name: str) -> Callable[[Array], object]:
        if given is not None:
            return given
        if document["score_function"] is not None:
            return load_callable(document["score_function"], name="score")
        if name == "likelihood ratio" and isinstance(run, HasLikelihoodScore) and isinstance(pair, NeighbourPair):
            return run.likelihood_score(pair)
        raise ValueError(f"the function of the score {name} is not known")

    return function


def _pair(document: Mapping[str, Any], neighbours: str | None) -> Pair:
    """The datasets of the witness, or those of a file if they are the same; a pair if their relation is stated."""
    held = document["datasets"]["dataset"], document["datasets"]["neighbour"]
    stated = document["kind"] != SEQUENTIAL or document["relation"] != UNSTATED
    relation = parse_adjacency(document["relation"].partition(" ")[0]) if stated else None
    if neighbours is not None:
        given = read_pair(neighbours)
        for data, known in zip((given.dataset, given.neighbour), held, strict=True):
            if known is not None and array_hash(data) != known["sha256"]:
                remedy = "give the file that was audited"
                raise InvalidValue("neighbours", neighbours, "the datasets of the witness", remedy)
        return given
    if any(known is None or known["values"] is None for known in held):
        remedy = "add --neighbours, the .npz file with the datasets"
        raise InvalidValue("neighbours", None, "given: the witness holds only hashes of the datasets", remedy)
    dataset, neighbour = (
        np.asarray(known["values"], dtype=np.dtype(known["dtype"])).reshape(known["shape"]) for known in held
    )
    for data, known in zip((dataset, neighbour), held, strict=True):
        if array_hash(data) != known["sha256"]:
            raise ValueError("a dataset does not fit its hash")
    if relation is None:
        return dataset, neighbour
    return NeighbourPair(
        dataset=dataset, neighbour=neighbour, adjacency=relation, records_per_user=_changed(dataset, neighbour)
    )


def _changed(dataset: NDArray[np.generic], neighbour: NDArray[np.generic]) -> int:
    """How many records one user holds, as the two datasets show it."""
    if len(dataset) != len(neighbour):
        return max(1, len(dataset) - len(neighbour))
    differ = [
        i for i, (one, other) in enumerate(zip(dataset, neighbour, strict=True)) if not np.array_equal(one, other)
    ]
    return differ[-1] - differ[0] + 1 if differ else 1
