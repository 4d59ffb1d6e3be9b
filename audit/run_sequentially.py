"""One audit of a black box, pair by pair, from beginning to end: what test suites run. Nothing is printed here."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.report import Report
from dpverdict.audit.run import described
from dpverdict.audit.sequential import distinguish_sequentially
from dpverdict.audit.trials import AnyMechanism
from dpverdict.mechanisms.guarantee import Guarantee
from dpverdict.mechanisms.neighbours import NeighbourPair


def audit_sequentially(
    mechanism: AnyMechanism,
    claim: Guarantee,
    *,
    neighbours: NeighbourPair,
    most_samples: int,
    error_probability: float,
    seed: int,
    name: str,
    score: Callable[[NDArray[np.float64]], object] | None = None,
) -> Report:
    """Draw pairs of releases until the claim falls: most wrong mechanisms fall within a few hundred.

    Args:
        mechanism: called with a dataset and a random generator, returns an array of numbers.
        claim: what it promises.
        neighbours: the datasets it is run on.
        most_samples: releases per dataset, at most.
        error_probability: of refuting a claim that holds.
        seed: of every random number drawn here.
        name: how the report calls it.
        score: scores releases, see `distinguish_sequentially`.

    Raises:
        MechanismFailure: it raises, or returns something that is not an array of numbers of one shape.
    """
    test = distinguish_sequentially(
        mechanism,
        neighbours,
        claim,
        error_probability=error_probability,
        most_samples=most_samples,
        seed=seed,
        score=score,
    )
    report = Report(name=name, claim=claim, created=datetime.now(UTC), sequential=test)
    return described(report, mechanism, neighbours, seed, {})
