"""One audit from beginning to end: how many releases, on which numbers, and what the exact evidence costs a claim."""

import numpy as np

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.reports.sections import sections
from dpverdict.audit.reports.to_json import report_fields
from dpverdict.audit.runs.audits import (
    Sampling,
    audit_callable,
    audit_mechanism,
    audit_sequentially,
    default_samples,
    spread_grid,
)
from dpverdict.audit.sampling.allocation import random_allocation
from dpverdict.audit.trials.run import batched
from dpverdict.mechanisms.core.guarantees import GaussianDP, PureDP
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, NeighbourPair
from dpverdict.mechanisms.queries.standard import StandardGaussian
from dpverdict.mechanisms.training.dp_sgd import DPSGD


def test_the_grid_is_far_finer_than_the_noise() -> None:
    @batched
    def wide(dataset: np.ndarray, rng: np.random.Generator, trials: int) -> object:
        return rng.normal(size=(trials, 2)) * np.array([1.0, 1000.0])

    grid = spread_grid(wide, np.zeros((1, 1)), 1)
    assert 2.0**-22 < grid < 2.0**-18
    assert spread_grid(lambda dataset, rng: 1.0, np.zeros((1, 1)), 1) == 0


PAIR = NeighbourPair(dataset=np.ones((2, 1)), neighbour=np.ones((1, 1)), adjacency=ADD_OR_REMOVE_ONE)


@batched
def laplace(dataset: np.ndarray, rng: np.random.Generator, trials: int) -> object:
    return dataset.sum(axis=0) + rng.laplace(scale=0.3, size=(trials, 1))


def test_the_exact_evidence_alone_runs_nothing() -> None:
    report = audit_mechanism(StandardGaussian(dim=2, mu=1, adjacency=ADD_OR_REMOVE_ONE), sampling=None)
    assert report.status is Status.CERTIFIED
    assert report.test is None
    assert (
        audit_mechanism(
            StandardGaussian(dim=2, mu=1, adjacency=ADD_OR_REMOVE_ONE), GaussianDP("0.9"), sampling=None
        ).status
        is Status.REFUTED
    )


def test_releases_are_tested_beside_the_exact_evidence() -> None:
    report = audit_mechanism(
        StandardGaussian(dim=2, mu=1, adjacency=ADD_OR_REMOVE_ONE),
        sampling=Sampling(samples=500, error_probability=1e-6, seed=1),
    )
    assert report.status is Status.CERTIFIED
    assert report.test is not None
    assert report.test.error_probability <= 1e-6


def test_a_black_box_is_refuted_or_inconclusive() -> None:
    few = Sampling(samples=4000, error_probability=1e-6, seed=1)
    for audit in (audit_callable, audit_sequentially):
        wrong = audit(laplace, PureDP(1), neighbours=PAIR, sampling=few, name="wrong")
        right = audit(laplace, PureDP(4), neighbours=PAIR, sampling=few, name="right")
        assert (wrong.status, right.status) == (Status.REFUTED, Status.INCONCLUSIVE)


def test_the_number_of_releases_falls_with_their_size() -> None:
    sizes = [default_samples(m) for m in (1, 200, 201, 20_000, 10**7)]
    assert sizes == sorted(sizes, reverse=True)
    assert (sizes[0], sizes[-1]) == (100_000, 1000)


def test_a_report_of_training_says_how_much_hangs_on_the_batches() -> None:
    run = DPSGD(noise_multiplier=1, rate="0.25", steps=8, sampling="balls-in-bins")
    report = audit_mechanism(run, "eps=4, delta=1e-5", sampling=None)
    rows = next(section for section in sections(report) if section.anchor == "variants").tables[0].rows
    assert [row[0] for row in rows][:2] == ["Poisson", "balls in bins (assumed here)"]
    found = report_fields(report)["exact"]
    assert found is not None
    variants = found["variants"]
    assert variants is not None
    assert variants["assumed"] == "balls in bins"
    own = random_allocation(noise_multiplier=1, steps=4, epochs=2).certified_epsilon("1e-5")
    told = variants["epsilons"]["balls in bins"]
    assert own.lower <= told["upper"] <= own.upper + 1e-12
    assert own.lower - 1e-12 <= told["lower"] <= own.upper
    plain = audit_mechanism(StandardGaussian(dim=2, mu=1, adjacency=ADD_OR_REMOVE_ONE), sampling=None)
    exact = report_fields(plain)["exact"]
    assert exact is not None
    assert exact["variants"] is None
