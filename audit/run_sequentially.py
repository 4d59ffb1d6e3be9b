"""One audit of a black box that ends as soon as the claim falls: what test suites run. Nothing is printed here."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from dpverdict.audit.distinguish import FEWEST_SAMPLES
from dpverdict.audit.report import Report
from dpverdict.audit.run import Sampling, audit_callable, described
from dpverdict.audit.sequential import distinguish_sequentially
from dpverdict.audit.trials import AnyMechanism
from dpverdict.mechanisms.guarantee import Guarantee
from dpverdict.mechanisms.neighbours import NeighbourPair

FIRST_SHARE: Final = 0.25
"""Of the releases and of the error probability: for the pairs that are looked at one after another."""


def audit_sequentially(
    mechanism: AnyMechanism, claim: Guarantee, *, neighbours: NeighbourPair, sampling: Sampling, name: str
) -> Report:
    """Audit a black box pair by pair, and then with all other releases at once.

    Most wrong mechanisms fall within a few hundred pairs, and the audit ends there. What is left of the releases is for
    the test of fixed size, which also looks at events and bounds epsilon. Each has a share of the error probability, so
    that together they refute a claim that holds with at most that probability, however the releases depend.

    Args:
        mechanism: called with a dataset and a random generator, returns an array of numbers.
        claim: what it promises.
        neighbours: the datasets it is run on.
        sampling: how its releases are tested; the pairs come from the same releases per dataset.
        name: how the report calls it.

    Raises:
        MechanismFailure: it raises, or returns something that is not an array of numbers of one shape.
    """
    pairs = int(FIRST_SHARE * sampling.samples)
    alone = pairs < FEWEST_SAMPLES  # too few releases for two tests
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
        report = Report(name=name, claim=claim, created=datetime.now(UTC), sequential=test)
        return described(report, mechanism, neighbours, sampling.seed, {})
    rest = replace(sampling, samples=sampling.samples - pairs, error_probability=(1 - FIRST_SHARE) * error)
    report = audit_callable(mechanism, claim, neighbours=neighbours, sampling=rest, name=name)
    return replace(report, sequential=test)
