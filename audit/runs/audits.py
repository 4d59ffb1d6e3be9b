"""One audit from beginning to end: exact evidence, statistical evidence, one report. Nothing is printed here.

`audit_mechanism` is for a known structure, `audit_callable` for a black box, and `audit_sequentially` for a black box
whose audit ends as soon as the claim falls, as test suites run it.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.distinguishing.fixed_size import FEWEST_TRIALS, distinguish
from dpverdict.audit.distinguishing.low_bits import find_float_leak
from dpverdict.audit.distinguishing.sequential import distinguish_sequentially
from dpverdict.audit.distinguishing.witness_document import software_versions
from dpverdict.audit.exact.decide import decide, known_epsilon
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.audit.implementation.embedding import check_embedding, embedding_applies
from dpverdict.audit.implementation.grey_box import draws_elsewhere, grey_box_checks
from dpverdict.audit.implementation.membership import MembershipGame
from dpverdict.audit.implementation.sequence import sequence_checks
from dpverdict.audit.implementation.timing import timing_check
from dpverdict.audit.reports.evidence.code import CodeEvidence
from dpverdict.audit.reports.evidence.embedding import EmbeddingEvidence
from dpverdict.audit.reports.evidence.evidence import Evidence
from dpverdict.audit.reports.evidence.exact import ExactEvidence, Variants
from dpverdict.audit.reports.evidence.low_bits import LowBitsEvidence
from dpverdict.audit.reports.evidence.membership import MembershipEvidence
from dpverdict.audit.reports.evidence.releases import DistinguishingEvidence, SequentialEvidence
from dpverdict.audit.reports.evidence.risk import RiskEvidence
from dpverdict.audit.reports.evidence.traced import TracedEvidence
from dpverdict.audit.reports.parts import EvidenceKind
from dpverdict.audit.reports.report import Report
from dpverdict.audit.trials.outcomes.observed import observed
from dpverdict.audit.trials.run import AnyMechanism, Progress, Sampler
from dpverdict.balls import Enclosure, Exact
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.mechanisms.core.guarantees import ApproximateDP, Guarantee, as_guarantee
from dpverdict.mechanisms.core.mechanism import GaussianMechanism, StatisticMechanism, StructuredMechanism
from dpverdict.mechanisms.core.neighbours import AnyPair, NeighbourPair, adjacency_name
from dpverdict.numerics.stages import begin_stage
from dpverdict.numerics.text import at_most
from dpverdict.numerics.text import shown as shown_number
from dpverdict.risk import Risk, checked_base_rate, shown_by_ratio

NORMALS_PER_SIDE: Final = 20_000_000
FEWEST_DEFAULT_SAMPLES: Final = 1_000
FEWEST_FOR_LAWS: Final = 100
"""The two-sample test of the embedding needs this many."""
MOST_SAMPLES: Final = 100_000
_USUAL_DELTA: Final = Fraction(1, 10**5)


@final
class NumbersUnderClaim(Enum):
    """What a claim that is tested on releases is about."""

    RELEASED = "released"
    """The float64 numbers as they are released; nothing is searched for in their low bits."""
    REAL = "real"
    """Real numbers: only a rounded value of each output is looked at."""
    DOUBLE = "double"
    """The float64 numbers, bit for bit: their low bits are searched, on samples and error probability of their own."""


LOW_BIT_SHARE: Final = 0.2
"""Of the error probability and of the samples: for the search through the low bits."""
GRID_BITS: Final = 20
"""The grid on which real numbers are looked at is this many bits finer than the spread of the releases."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How releases are sampled and tested.

    Args:
        samples: releases per dataset.
        error_probability: of refuting a claim that holds.
        seed: of every random number drawn here.
        score: scores releases, see `distinguish`; None for the likelihood ratio, or a learned direction.
        delta: at which the test bounds epsilon from below; None for the delta of the claim, if it has one.
        numbers: what the claim is about, see `NumbersUnderClaim`.
        progress: told how many releases are done, and how many there are to do.
    """

    samples: int
    error_probability: float
    seed: int
    score: Callable[[NDArray[np.float64]], object] | None = None
    delta: Exact | None = None
    numbers: NumbersUnderClaim = NumbersUnderClaim.RELEASED
    progress: Progress | None = None


def default_samples(outputs: int) -> int:
    """Releases per dataset for a release of that many numbers: 2e7 numbers in all, between 1000 and 100000 releases.

    >>> default_samples(2), default_samples(1001), default_samples(10**6)
    (100000, 19980, 1000)
    """
    return max(FEWEST_DEFAULT_SAMPLES, min(MOST_SAMPLES, NORMALS_PER_SIDE // outputs))


def audit_mechanism(
    mechanism: StructuredMechanism,
    claim: Guarantee | str | None = None,
    *,
    sampling: Sampling | None,
    game: MembershipGame | None = None,
    neighbours: NeighbourPair | None = None,
    parameters: Mapping[str, str] | None = None,
    notes: tuple[str, ...] = (),
    command: str | None = None,
) -> Report:
    """Audit a mechanism of known structure: certify or refute the claim exactly, then test the releases against it.

    Args:
        mechanism: what is released.
        claim: what it promises, also as text ("eps=1, delta=1e-6"); None for the claim it was built with.
        sampling: how its releases are tested; None for the exact evidence alone.
        game: a record of a real table; its pair of datasets is tested.
        neighbours: the pair of datasets that is tested; without it and ``game``, the worst pair.
        parameters: more about the mechanism, in words.
        notes: choices made for the user; they join the assumptions.
        command: the command line that makes the report again.

    Raises:
        InvalidValue: a pair that the mechanism does not accept, or under another relation than its own.
    """
    claim = mechanism.claim if claim is None else as_guarantee(claim)
    if neighbours is not None:
        check_pair(mechanism, neighbours)
    begin_stage("worst neighbours")
    worst = worst_case(mechanism)
    begin_stage("exact verdict")
    verdict = decide(mechanism, claim, worst)
    pair, tested = worst.pair, "the worst neighbours"
    if game is not None:
        pair, tested = game.pair, f"the table with and without record {game.index}"
        if game.replacement is not None:
            tested = f"the table with record {game.index} and with another in its place"
    if neighbours is not None:
        pair, tested = neighbours, f"the given datasets ({neighbours.describe()})"
    covariance = mechanism.noise.covariance() if isinstance(mechanism, StatisticMechanism) else {}
    variants = _variants(mechanism, claim)
    evidence: list[Evidence] = [ExactEvidence(verdict=verdict, worst=worst, covariance=covariance, variants=variants)]
    shown = mechanism.describe() | {"neighbouring relation": adjacency_name(mechanism.adjacency)}
    shown.pop("mechanism", None)
    shown.pop("adjacency", None)
    if sampling is not None:
        begin_stage("embedding")
        evidence += _embedding_evidence(mechanism, sampling)
        begin_stage("checks of the code")
        evidence.append(CodeEvidence(grey_box_checks(mechanism, pair, seed=sampling.seed)))
        evidence += _tests(mechanism, pair, claim, sampling)
        shown["tested on"] = tested
    shown |= dict(parameters or {})
    if game is not None:
        evidence.append(MembershipEvidence(game.describe(), shown_number(game.loss.certified_advantage())))
    return Report(
        name=mechanism.name,
        claim=claim,
        created=datetime.now(UTC),
        parameters=shown,
        relation=adjacency_name(mechanism.adjacency),
        evidence=tuple(evidence),
        assumptions=(*mechanism.assumptions, *notes),
        seed=None if sampling is None else sampling.seed,
        versions=software_versions(),
        command=command,
    )


def _variants(mechanism: StructuredMechanism, claim: Guarantee) -> Variants | None:
    """What the same noise keeps at the delta of the claim, or at the usual one, where something else is assumed."""
    delta = claim.delta if isinstance(claim, ApproximateDP) and 0 < claim.delta < 1 else _USUAL_DELTA
    epsilons: dict[str, Enclosure] = {}
    for name, variant in mechanism.variants().items():
        begin_stage(f"the same noise with other {mechanism.varied_by}")
        with contextlib.suppress(PrecisionExhausted):
            epsilons[name] = known_epsilon(variant, delta, roughly=True)
    if not epsilons:
        return None
    varied_by = mechanism.varied_by
    return Variants(varied_by=varied_by, assumed=mechanism.describe()[varied_by], delta=delta, epsilons=epsilons)


def audit_callable(
    mechanism: AnyMechanism,
    claim: Guarantee | str,
    *,
    neighbours: AnyPair,
    sampling: Sampling,
    name: str,
    parameters: Mapping[str, str] | None = None,
    command: str | None = None,
) -> Report:
    """Audit a mechanism of which nothing is known but what it releases: it can be refuted, never certified.

    Args:
        mechanism: called with a dataset and a random generator, returns an array of numbers.
        claim: what it promises, also as text.
        neighbours: the datasets it is run on.
        sampling: how its releases are tested.
        name: how the report calls it.
        parameters: more about the audit, in words.
        command: the command line that makes the report again.

    Raises:
        MechanismFailure: it raises, or returns something that is not an array of numbers of one shape.
    """
    claim = as_guarantee(claim)
    tests = _tests(mechanism, neighbours, claim, sampling)
    report = Report(name=name, claim=claim, created=datetime.now(UTC), evidence=tests, command=command)
    said = dict(parameters or {})
    if sampling.numbers is NumbersUnderClaim.DOUBLE and report.leak is None:
        said["low bits"] = "not searched: an outcome is no array of numbers of one length"
    return described(report, mechanism, neighbours, sampling.seed, said)


def described(
    report: Report, mechanism: AnyMechanism, neighbours: AnyPair, seed: int, parameters: Mapping[str, str]
) -> Report:
    """The report of the tests of a black box, with what else a few runs show of its code."""
    begin_stage("checks of the code")
    implementation = (
        *grey_box_checks(mechanism, neighbours, seed=seed),
        *sequence_checks(mechanism, neighbours.dataset, neighbours.neighbour, claim=report.claim, seed=seed),
    )
    if isinstance(mechanism, observed) and mechanism.time:
        timed = timing_check(mechanism, neighbours.dataset, neighbours.neighbour, report.claim, seed=seed)
        implementation = (*implementation, timed)
    assumptions = ["the releases are independent of each other"]
    if draws_elsewhere(implementation):
        assumptions.append(
            "the mechanism draws randomness of its own, which the seed does not govern: another run sees other releases"
        )
    if any(test is not None and test.one_stream for test in (report.test, report.sequential)):
        assumptions.append(
            "the trials ran one after the other in one process, not on several: the mechanism has randomness or state "
            "of its own, and copies of it in workers would have repeated each other's releases"
        )
    return replace(
        report,
        parameters={
            "kind": "black box: only its releases are seen",
            "neighbouring relation": f"{adjacency_name(neighbours.adjacency)} {_known_from(neighbours)}",
            "tested on": neighbours.describe(),
            **_kinds_of_outcomes(report),
            **parameters,
        },
        relation=adjacency_name(neighbours.adjacency),
        assumptions=tuple(assumptions),
        seed=seed,
        versions=software_versions(),
    ).with_evidence(CodeEvidence(implementation))


def _known_from(pair: AnyPair) -> str:
    """How the relation of a pair is known, in words."""
    if isinstance(pair, NeighbourPair):
        return "(as the lengths of the datasets say)"
    if pair.compared:
        return "(as a comparison of the records says)"
    return "(as stated: the records could not be compared)"


def _kinds_of_outcomes(report: Report) -> dict[str, str]:
    """What the explored outcomes were: their kinds, where they were not all numbers of one length, and their types."""
    if report.test is None:
        return {}
    said = {"outcomes": report.test.outcomes, "outcomes taken for": report.test.kind_of_outputs}
    return {name: words for name, words in said.items() if words}


def check_pair(mechanism: StructuredMechanism, pair: NeighbourPair) -> None:
    """Raise unless the claim of the mechanism is about this pair: its relation, and records that it takes."""
    if pair.adjacency is not mechanism.adjacency:
        requirement = f"{adjacency_name(mechanism.adjacency)} neighbours, as the claim of {mechanism.name} is about"
        remedy = "make the pair under that relation"
        raise InvalidValue("neighbours", adjacency_name(pair.adjacency), requirement, remedy)
    mechanism.check_records(pair.dataset)
    mechanism.check_records(pair.neighbour)


def _tests(mechanism: AnyMechanism, pair: AnyPair, claim: Guarantee, sampling: Sampling) -> tuple[Evidence, ...]:
    """The distinguishing test, and the search through the low bits if the claim is about them; one error for both."""
    searched = sampling.numbers is NumbersUnderClaim.DOUBLE
    part = LOW_BIT_SHARE if searched else 0.0
    of_bits = math.floor(part * sampling.samples)
    begin_stage("test of the releases")
    test = distinguish(
        mechanism,
        pair,
        claim,
        error_probability=sampling.error_probability * (1 - part),
        samples=sampling.samples - of_bits,
        seed=sampling.seed,
        delta=sampling.delta,
        score=sampling.score,
        grid=spread_grid(mechanism, pair.dataset, sampling.seed) if sampling.numbers is NumbersUnderClaim.REAL else 0.0,
        progress=sampling.progress,
    )
    if not searched or test.outcomes:  # which have no low bits
        return (DistinguishingEvidence(test),)
    begin_stage("low bits")
    leak = find_float_leak(
        mechanism,
        pair,
        claim,
        error_probability=sampling.error_probability * part,
        samples=of_bits,
        seed=sampling.seed,
        delta=0.0 if test.delta is None else test.delta,
    )
    return DistinguishingEvidence(test), LowBitsEvidence(leak)


def spread_grid(mechanism: AnyMechanism, dataset: object, seed: int) -> float:
    """A power of two, 2^20 times finer than the least spread of a coordinate of the releases; 0 if one has none.

    From releases of its own on one dataset, so that rounding to it is the same function of every output that counts.
    """
    sampler = Sampler.prepare(mechanism, dataset, where="the dataset", seed=seed)
    outputs = sampler.collect("spread", FEWEST_FOR_LAWS)
    spread = float((np.quantile(outputs, 0.75, axis=0) - np.quantile(outputs, 0.25, axis=0)).min())
    return 2.0 ** (math.floor(math.log2(spread)) - GRID_BITS) if 0 < spread < math.inf else 0.0


def _embedding_evidence(mechanism: StructuredMechanism, sampling: Sampling) -> tuple[Evidence, ...]:
    if not isinstance(mechanism, GaussianMechanism) or not embedding_applies(mechanism):
        return ()
    check = check_embedding(
        mechanism,
        samples=max(FEWEST_FOR_LAWS, sampling.samples),
        error_probability=sampling.error_probability,
        seed=sampling.seed,
    )
    return (EmbeddingEvidence(check),)


FIRST_SHARE: Final = 0.25
"""Of the releases and of the error probability: for the pairs that are looked at one after another."""


def audit_sequentially(
    mechanism: AnyMechanism, claim: Guarantee | str, *, neighbours: AnyPair, sampling: Sampling, name: str
) -> Report:
    """Audit a black box pair by pair, and then with all other releases at once.

    Most wrong mechanisms fall within a few hundred pairs, and the audit ends there. What is left of the releases is for
    the test of fixed size, which also looks at events and bounds epsilon. Each has a share of the error probability, so
    that together they refute a claim that holds with at most that probability, however the releases depend.

    Args:
        mechanism: called with a dataset and a random generator, returns an array of numbers.
        claim: what it promises, also as text.
        neighbours: the datasets it is run on.
        sampling: how its releases are tested; the pairs come from the same releases per dataset.
        name: how the report calls it.

    Raises:
        MechanismFailure: it raises, or returns something that is not an array of numbers of one shape.
    """
    claim = as_guarantee(claim)
    pairs = int(FIRST_SHARE * sampling.samples)
    alone = pairs < FEWEST_TRIALS  # too few releases for two tests
    error = sampling.error_probability
    test = distinguish_sequentially(
        mechanism,
        neighbours,
        claim,
        error_probability=error if alone else FIRST_SHARE * error,
        most_samples=sampling.samples if alone else pairs,
        seed=sampling.seed,
        score=sampling.score,
    )
    if test.refuted or alone:
        report = Report(name=name, claim=claim, created=datetime.now(UTC), evidence=(SequentialEvidence(test),))
        return described(report, mechanism, neighbours, sampling.seed, {})
    rest = replace(sampling, samples=sampling.samples - pairs, error_probability=(1 - FIRST_SHARE) * error)
    report = audit_callable(mechanism, claim, neighbours=neighbours, sampling=rest, name=name)
    return report.with_evidence(SequentialEvidence(test))


def with_risk(report: Report, base_rate: Exact) -> Report:
    """A report with what its evidence means at a base rate.

    What holds for every attack follows from the exact verdict; what an attack attains, of a refuted claim, from the
    worst neighbours, from the event that refutes, or from what the tests bound. Of a claim that was not decided, the
    risk is what it allows if it holds, and says so.

    Raises:
        InvalidValue: a base rate that is not between 0 and 1.
    """
    checked_base_rate(base_rate)
    verdict, worst = report.verdict, report.worst
    if report.status is Status.REFUTED:
        return report.with_evidence(_of_refuted(report, base_rate))
    if verdict is not None:
        risk = (verdict if worst is None else replace(verdict, loss=worst.loss)).risk(base_rate)
        decided = verdict.status is Status.CERTIFIED or (worst is not None and not risk.provided)
        return report.with_evidence(RiskEvidence(risk, EvidenceKind.EXACT if decided else EvidenceKind.NONE))
    promised = report.claim.risk(base_rate)
    if report.status is Status.CERTIFIED:
        how = f"what {report.claim.describe()} allows, which is certified"
        return report.with_evidence(RiskEvidence(replace(promised, provided="", how=how), EvidenceKind.EXACT))
    provided = "If the claim holds, which was not shown"
    return report.with_evidence(RiskEvidence(replace(promised, provided=provided), EvidenceKind.NONE))


def _of_refuted(report: Report, base_rate: Exact) -> RiskEvidence:
    """What an attack attains, by the strongest evidence there is."""
    verdict, worst = report.verdict, report.worst
    if verdict is not None and verdict.status is Status.REFUTED:
        if worst is not None and worst.exact:
            found = worst.loss.risk(base_rate)
            return RiskEvidence(
                replace(found, shown=True, how=f"{found.how}, of the worst neighbours"), EvidenceKind.EXACT
            )
        return RiskEvidence(verdict.risk(base_rate), EvidenceKind.EXACT)
    tests = [test for test in (report.test, report.sequential, report.leak) if test is not None and test.refuted]
    bounds = [(test.epsilon_lower, test.error_probability) for test in tests if test.epsilon_lower is not None]
    followed = [one.epsilon_lower for one in report.evidence if isinstance(one, TracedEvidence)]
    bounds += [one for one in followed if one is not None]
    if not bounds:
        how = "the claim is refuted, and no test bounds epsilon"
        rate = checked_base_rate(base_rate)
        nothing = Risk(base_rate=rate, attacks=(), as_many=None, most=None, how=how, shown=True)
        return RiskEvidence(nothing, EvidenceKind.NONE)
    epsilon, error = max(bounds)
    how = f"by releases, which is wrong with a probability of at most {at_most(error, 2)}"
    return RiskEvidence(shown_by_ratio(base_rate, epsilon, how=how), EvidenceKind.STATISTICAL)
