"""Reports to render: one of each kind, made once from small audits."""

from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status, Verdict
from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.audit.implementation.embedding import check_embedding, embedding_applies
from dpverdict.audit.reports.evidence.embedding import EmbeddingEvidence
from dpverdict.audit.reports.evidence.exact import ExactEvidence
from dpverdict.audit.reports.evidence.releases import DistinguishingEvidence
from dpverdict.audit.reports.report import Report
from dpverdict.mechanisms.broken import by_name
from dpverdict.mechanisms.core.guarantees import Guarantee, parse_guarantee
from dpverdict.mechanisms.core.mechanism import GaussianMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, NeighbourPair
from dpverdict.mechanisms.queries.correlated import CorrelatedGaussian

SEED = 11
SAMPLES = 600
ERROR_PROBABILITY = 1e-6
CREATED = datetime(2025, 3, 1, 12, 30, tzinfo=UTC)
VERSIONS = {"python": "3.11.0", "dpverdict": "0.1.0"}


def white_box(mechanism: GaussianMechanism, claim: Guarantee | None = None) -> Report:
    claim = claim or mechanism.claim
    worst = worst_case(mechanism)
    embedding = []
    if embedding_applies(mechanism):
        check = check_embedding(mechanism, samples=SAMPLES, error_probability=ERROR_PROBABILITY, seed=SEED)
        embedding.append(EmbeddingEvidence(check))
    return Report(
        name=mechanism.name,
        claim=claim,
        created=CREATED,
        parameters=mechanism.describe(),
        evidence=(
            ExactEvidence(verdict=certify(mechanism, claim), worst=worst, covariance=mechanism.noise.covariance()),
            *embedding,
            DistinguishingEvidence(
                distinguish(
                    mechanism, worst.pair, claim, error_probability=ERROR_PROBABILITY, samples=SAMPLES, seed=SEED
                )
            ),
        ),
        assumptions=mechanism.assumptions,
        seed=SEED,
        versions=VERSIONS,
        command="dpverdict audit example",
    )


def black_box(noise: Callable[[np.random.Generator], float], claim: str) -> Report:
    def mechanism(dataset: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        return np.asarray(dataset, dtype=np.float64).sum(axis=0) + noise(rng)

    pair = NeighbourPair(dataset=np.ones((2, 1)), neighbour=np.ones((1, 1)), adjacency=ADD_OR_REMOVE_ONE)
    guarantee = parse_guarantee(claim)
    test = distinguish(mechanism, pair, guarantee, error_probability=ERROR_PROBABILITY, samples=SAMPLES, seed=SEED)
    return Report(
        name="black:box",
        claim=guarantee,
        created=CREATED,
        evidence=(DistinguishingEvidence(test),),
        seed=SEED,
        versions=VERSIONS,
    )


@pytest.fixture(scope="session")
def reports() -> dict[str, Report]:
    """Reports by kind; those whose kind is a status have that status."""
    certified = white_box(CorrelatedGaussian(dim=4, mu=1))
    claim, worst = certified.claim, certified.worst
    undecided = Verdict(status=Status.INCONCLUSIVE, mechanism="undecided", claim=claim, reason="too close to call")
    exact = ExactEvidence(verdict=undecided, worst=worst)
    return {
        "CERTIFIED": certified,
        "REFUTED": white_box(by_name("M2").make(4, 1)),
        "INCONCLUSIVE": Report(name="undecided", claim=claim, created=CREATED, evidence=(exact,)),
        "certified profile": white_box(CorrelatedGaussian(dim=4, mu=1), parse_guarantee("eps=3/10, delta=1/2")),
        "infinite": white_box(by_name("M9").make(2, 1)),
        "black box": black_box(lambda rng: float(rng.laplace()), "eps=1"),
        "black box, refuted": black_box(lambda rng: 0.0, "eps=1, delta=1e-6"),
    }
