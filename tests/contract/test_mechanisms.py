"""What every mechanism of the project obeys, whatever its noise; each law is a function, and a planted fault breaks it.

Statistical laws. N releases each; a law of the mean or of the variance rejects beyond SIX standard errors (two-sided
probability 2e-9 in the normal approximation), a comparison of two samplers at p < ERROR by the distribution-free bound
exp(1 - n D^2) on the two-sample Kolmogorov-Smirnov distance D, and the distinguishing test has the error probability
ERROR. About 200 such statements are made in this file, so all of them hold except with 1e-6.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import neighbour_loss, worst_case
from dpverdict.audit.implementation.embedding import check_embedding, embedding_applies
from dpverdict.audit.trials.catalogue import example_of, mechanism_classes
from dpverdict.balls import refine
from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    DPSGD,
    REPLACE_ONE,
    AboveThreshold,
    CorrelatedGaussian,
    CountEllipse,
    DiscreteCorrelatedGaussian,
    EllipticalGaussian,
    FactorizationCounter,
    GeometricMechanism,
    GroupedGaussian,
    LaplaceMechanism,
    MatrixMechanism,
    RandomizedResponse,
    Rank1Gaussian,
    ReportNoisyMax,
    StandardGaussian,
    TreeCounter,
    VoteEllipse,
)
from dpverdict.mechanisms.core.mechanism import GaussianMechanism, StructuredMechanism
from dpverdict.mechanisms.finite.quantile import IntervalQuantile
from dpverdict.mechanisms.finite.selection import Selection
from dpverdict.mechanisms.keys.partition_selection import PartitionSelection
from dpverdict.mechanisms.keys.thresholded_counts import ThresholdedCounts
from dpverdict.mechanisms.local.randomizer import LocalRandomizer
from dpverdict.mechanisms.queries.grouped import OptimalGroupedGaussian
from dpverdict.mechanisms.shuffled.reports import ShuffledReports
from dpverdict.mechanisms.sums.secure_sum import SecureSum
from dpverdict.mechanisms.training.sampled_matrix import SampledMatrixMechanism
from dpverdict.mechanisms.tuning.best_of_runs import BestOfRuns

Array = NDArray[np.float64]
ERROR = 1e-9
SIX = 6.0
N = 4000
FEWER = 1000  # of streams that are run item by item
KURTOSIS = 6.0  # the largest of any noise here: that of one Laplace variable


@dataclass(frozen=True)
class Case:
    make: Callable[[], StructuredMechanism]
    dataset: Array
    variances: Callable[[Any], Any]
    """From the mechanism to the stated variance of every number of a release."""
    bound: bool = False
    """Whether the worst case is a bound from above."""


def shared(mechanism: Any) -> Array:
    """Of d queries, and the count if there is one."""
    entries = mechanism.noise.covariance()
    row = [float(entries["query"])] * mechanism.dim + ([float(entries["count"])] if "count" in entries else [])
    return np.array(row * getattr(mechanism, "groups", 1))


def stream(mechanism: Any) -> Array:
    ratio = mechanism.variance_ratio().nearest() if isinstance(mechanism, TreeCounter) else 1.0
    of_time = [mechanism.variance_at(t + 1) for t in range(mechanism.horizon)]
    return np.array([v.nearest() if hasattr(v, "nearest") else float(v) for v in of_time]) * ratio


def lattice(mechanism: DiscreteCorrelatedGaussian) -> Array:
    queries = [float(mechanism.query_variance + mechanism.count_variance) / 4] * mechanism.dim
    return np.array([*queries, float(mechanism.count_variance)])


def released_count(mechanism: CountEllipse) -> Array:
    return np.array([float(mechanism.per_query_variance)] * mechanism.dim + [float(mechanism.count_variance)])


ROWS = np.array([[0.5, 1.0, 0.0], [0.25, 1.0, 0.0]])
BITS = np.array([[0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
ITEMS = np.array([1.0, 0, 0, 1, 1, 0, 1, 0, 1, 1, 0, 1])
GROUPED = np.array([[[0.5, 1.0], [0.0, 0.0]], [[0.0, 0.0], [1.0, 1.0]]])
counter = partial(FactorizationCounter, horizon=12)
laplace = partial(LaplaceMechanism, dim=3, epsilon=1)

CASES: dict[str, Case] = {
    "standard": Case(lambda: StandardGaussian(dim=3, mu=1, adjacency=ADD_OR_REMOVE_ONE), ROWS, shared),
    "correlated": Case(lambda: CorrelatedGaussian(dim=3, mu=1), ROWS, shared),
    "grouped": Case(lambda: GroupedGaussian(groups=2, dim=2, mu=1, adjacency=REPLACE_ONE), GROUPED, shared),
    "optimal grouped": Case(lambda: OptimalGroupedGaussian(groups=2, dim=2, mu=1), GROUPED, shared),
    "elliptical": Case(lambda: EllipticalGaussian(bounds=[1, 2, 4], mu=1), ROWS - 0.5, lambda m: m.scales**2),
    "count ellipse": Case(lambda: CountEllipse(dim=3, k=2, mu=1), ROWS, shared),
    "count ellipse, count": Case(
        lambda: CountEllipse(dim=9, k=9, mu=1, count="released"), np.tile(ROWS, 3), released_count
    ),
    "vote ellipse": Case(lambda: VoteEllipse(dim=3, mu=1), np.array([[0.0, 2, 1], [2, 1, 0]]), shared),
    "lattice": Case(lambda: DiscreteCorrelatedGaussian(dim=3, rho="0.5", s=2), BITS, lattice),
    "rank 1": Case(
        lambda: Rank1Gaussian(dim=3, epsilon=1, delta="0.1"),
        ROWS[:, [1, 0, 2]] / 2,
        lambda m: np.full(3, float(m.mean_squared_error) / 3),
    ),
    **{
        f"laplace, {norm}, {relation.name}": Case(
            partial(laplace, norm=norm, adjacency=relation),
            ROWS / 2,
            lambda m: np.full(3, float(m.variance)),
            bound=norm == "l2",
        )
        for norm in ("linf", "l1", "l2")
        for relation in (ADD_OR_REMOVE_ONE, REPLACE_ONE)
    },
    "laplace, l2, concentrated": Case(
        lambda: LaplaceMechanism.from_concentrated(
            dim=3, epsilon=1, delta="1e-2", adjacency=ADD_OR_REMOVE_ONE, norm="l2"
        ),
        ROWS / 2,
        lambda m: np.full(3, float(m.variance)),
        bound=True,
    ),
    "tree, discrete": Case(lambda: TreeCounter(horizon=12, epsilon=1, arity=5), ITEMS, stream),
    "tree, continuous": Case(lambda: TreeCounter(horizon=12, epsilon=1, arity=3, noise="continuous"), ITEMS, stream),
    "tree, bound": Case(lambda: TreeCounter(horizon=12, epsilon=1, arity=4), ITEMS, stream, bound=True),
    "tree, ordinary": Case(lambda: TreeCounter(horizon=12, epsilon=1, arity=3, digits="ordinary"), ITEMS, stream),
    **{
        f"{kind}, {noise}": Case(
            partial(counter, kind=kind, noise=noise, claim=claim),
            ITEMS,
            stream,
            bound=kind in ("honaker", "smooth-binary"),
        )
        for kind in ("binary", "honaker", "smooth-binary", "sqrt-toeplitz")
        for noise, claim in (("laplace", "eps=1"), ("gaussian", "mu=1"))
    },
}


def stated(mechanism: Any) -> Array:
    """The variance of every number of a release, from the stated covariance S and a linear decoding D: D S D^T."""
    size = mechanism.noise.size
    if isinstance(mechanism, GaussianMechanism):
        covariance = np.linalg.inv(np.stack([mechanism.noise.solve(unit) for unit in np.eye(size)]))
    else:
        covariance = np.eye(size) * float(mechanism.noise.covariance()["variance"])
    linear = (mechanism.decode(np.eye(size)) - mechanism.decode(np.zeros((1, size)))).T
    return np.einsum("ij,jk,ik->i", linear, covariance, linear)


FEW_OUTCOMES = (
    *(AboveThreshold, Selection, RandomizedResponse, GeometricMechanism, ThresholdedCounts, PartitionSelection),
    *(LocalRandomizer, ShuffledReports, SecureSum, IntervalQuantile),
)


def by_example(mechanism: type[StructuredMechanism]) -> Case:
    """The mechanism that its own file gives as an example, on its worst dataset."""
    made = example_of(mechanism)
    return Case(lambda: example_of(mechanism), worst_case(made).pair.dataset, stated, bound=not worst_case(made).exact)


CASES |= {
    "geometric": Case(
        lambda: GeometricMechanism(epsilon=1, adjacency=ADD_OR_REMOVE_ONE),
        np.ones((3, 1)),
        lambda m: np.array([m.noise.law().variance().nearest()]),
    ),
    "geometric, truncated": Case(
        lambda: GeometricMechanism(epsilon=1, adjacency=REPLACE_ONE, outputs="truncated", low=-60, high=60),
        np.ones((3, 1)),
        lambda m: np.array([m.noise.law().variance().nearest()]),  # but for the 2e-25 that is moved
    ),
    "laplace noisy max": Case(
        lambda: ReportNoisyMax(options=3, epsilon=1, adjacency=REPLACE_ONE, noise="laplace"),
        np.array([[1.0, 0, 0], [1.0, 0, 1]]),
        shared,
        bound=True,
    ),
    "gumbel noisy max": Case(
        lambda: ReportNoisyMax(options=4, epsilon=2, adjacency=ADD_OR_REMOVE_ONE, noise="gumbel"),
        np.array([[1.0, 0, 0, 1], [1.0, 0, 1, 0]]),
        shared,
        bound=True,
    ),
}
CASES |= {
    f"{name}, its example": by_example(mechanism)
    for name, mechanism in mechanism_classes().items()
    if mechanism not in {type(case.make()) for case in CASES.values()}
}

CASES["dp-sgd, its example"] = Case(
    lambda: example_of(DPSGD), np.ones((1, 1)), lambda m: np.full(m.noise.size, 1 + m.rate * (1 - m.rate))
)
CASES |= {
    f"dp-sgd, {sampling}": Case(
        partial(DPSGD, noise_multiplier=2, rate="1/4", steps=8, sampling=sampling),
        np.ones((1, 1)),
        lambda m: np.full(m.noise.size, 4 + m.rate * (1 - m.rate)),
        bound=True,
    )
    for sampling in ("shuffle", "shuffle-once")
}

CASES |= {
    f"matrix, {kind}, {participation}": Case(
        partial(MatrixMechanism, noise_multiplier=2, steps=6, kind=kind, participation=participation, **rest),
        np.eye(1, 6, 2)[:, :, None],
        stated,
        bound=bound,
    )
    for kind, participation, rest, bound in (
        ("bandmf", "min-separation", {"band": 2, "separation": 3}, False),
        ("blt", "cyclic", {"decays": ["0.5"], "weights": ["0.5"], "separation": 2, "adjacency": REPLACE_ONE}, False),
        ("toeplitz", "min-separation", {"coefficients": ["1", "1/2", "-3/4"], "separation": 1}, True),
    )
}

CASES["sampled-matrix, its example"] = Case(
    lambda: example_of(SampledMatrixMechanism),
    np.zeros((1, 20, 1)),
    stated,
    bound=True,  # of no effect of sampling
)
CASES |= {
    f"sampled-matrix, {sampling}": Case(
        partial(
            SampledMatrixMechanism,
            noise_multiplier=4,
            steps=12,
            kind="banded-sqrt",
            band=2,
            sampling=sampling,
            separation=4,
            **rest,
        ),
        np.zeros((1, 12, 1)),
        stated,
        bound=bound,
    )
    for sampling, rest, bound in (
        ("cyclic-poisson", {"rate": "1/4"}, False),
        ("min-separation", {"rate": "1/4"}, True),
    )
}

FAMILIES = (
    *("correlated", "optimal grouped", "count ellipse, count", "vote ellipse", "lattice", "rank 1"),
    *("laplace, l1, REPLACE_ONE", "tree, discrete", "tree, continuous", "sqrt-toeplitz, gaussian"),
    "matrix, bandmf, min-separation",
)
"""One of each kind of noise and of release: the planted faults are shown on them."""


@pytest.fixture(params=FAMILIES)
def one_of_a_kind(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


def test_every_mechanism_of_the_project_is_here() -> None:
    assert {type(case.make()) for case in CASES.values()} == set(mechanism_classes().values())


@pytest.mark.parametrize("name", sorted(mechanism_classes()))
def test_every_mechanism_has_an_example_of_its_own(name: str) -> None:
    mechanism = mechanism_classes()[name]
    assert type(example_of(mechanism)) is mechanism


@pytest.mark.parametrize("name", ["standard", "correlated", "grouped", "elliptical", "count ellipse", "vote ellipse"])
def test_the_variances_derived_for_an_example_are_those_written_for_the_mechanism(name: str) -> None:
    made = CASES[name].make()
    np.testing.assert_allclose(stated(made), CASES[name].variances(made), rtol=1e-12)


# the laws -------------------------------------------------------------------------------------------------------------


def the_claim_is_certified(mechanism: StructuredMechanism, *, bound: bool) -> None:
    verdict = certify(mechanism)
    assert verdict.status is Status.CERTIFIED
    assert verdict.certificate is not None
    assert verdict.certificate.value.lower <= verdict.certificate.bound.upper
    assert set(mechanism.assumptions) <= set(verdict.certificate.assumptions)
    assert worst_case(mechanism).exact is not bound


def releases_do_not_contradict_the_claim(mechanism: Any, original: StructuredMechanism, seed: int) -> None:
    pair = worst_case(original).pair
    found = distinguish(mechanism, pair, original.claim, error_probability=ERROR, samples=N, seed=seed)
    assert not found.refuted


def releases_have_the_stated_law(mechanism: Any, case: Case, seed: int) -> None:
    """How often every outcome is released, for mechanisms of few outcomes; a frequency is within SIX errors of it."""
    outcomes, chances = outcomes_of(case.make(), case.dataset)
    released = mechanism.release_many(case.dataset, N, np.random.default_rng([seed, 1]))
    assert released.shape == (N, outcomes.shape[1])
    seen = np.array([(released == outcome).all(axis=1).mean() for outcome in outcomes])
    assert seen.sum() == pytest.approx(1)
    assert (np.abs(seen - chances) <= SIX * np.sqrt(chances * (1 - chances) / N) + SIX**2 / N).all()


def outcomes_of(mechanism: Any, dataset: Array) -> tuple[Array, Array]:
    """All outcomes of a mechanism of few, one a row, and how probable each is."""
    if not isinstance(mechanism, AboveThreshold):
        chances = mechanism.probabilities(dataset)
        return np.arange(len(chances), dtype=np.float64)[:, None], chances
    law = mechanism.law(dataset.sum(axis=0).tolist())
    rows = [[*answers, *[-1] * (mechanism.dim - len(answers))] for answers in law]
    return np.array(rows, dtype=np.float64), np.array([float(refine(weight.ball, bits=60)) for weight in law.values()])


def reports_fall_into_regions_as_often_as_stated(mechanism: Any, original: LocalRandomizer, seed: int) -> None:
    pair = worst_case(original).pair
    here, there = (Fraction(float(side[0, 0])) for side in (pair.dataset, pair.neighbour))
    regions = original.regions(here, there)
    for number, side in enumerate((pair.dataset, pair.neighbour)):
        released = mechanism.release_many(side, N, np.random.default_rng([seed, number]))
        seen = np.bincount(original.region_of(released, here, there), minlength=len(regions)) / N
        chances = np.array([float(region[1 + number].ball()) for region in regions])
        chances /= chances.sum()
        assert (np.abs(seen - chances) <= SIX * np.sqrt(chances * (1 - chances) / N) + SIX**2 / N).all()


def responses_are_as_often_as_stated(mechanism: Any, original: ShuffledReports, dataset: Array, seed: int) -> None:
    released = mechanism.release_many(dataset, N, np.random.default_rng([seed, 1]))
    chances = original.response_chances(original.embed(dataset))
    mean, variance = chances.sum(axis=0), (chances * (1 - chances)).sum(axis=0)
    assert released.shape == (N, original.options)
    assert (released.sum(axis=1) == original.people).all()
    assert (np.abs(released.mean(axis=0) - mean) <= SIX * np.sqrt(variance / N)).all()
    np.testing.assert_allclose(released.var(axis=0), variance, rtol=SIX * math.sqrt(2 / N))


def the_best_run_is_above_thresholds_as_often_as_stated(mechanism: Any, case: Case, seed: int) -> None:
    original: Any = case.make()
    released = mechanism.release_many(case.dataset, N, np.random.default_rng([seed, 1]))
    places = np.where(released[:, 0] > 0, original.place()(released[:, 1:]), -np.inf)
    for epsilon in (Fraction(0), Fraction(1, 2), Fraction(1)):
        event, shown = original.event_at(epsilon)
        chance = float(shown.p_ball)
        seen = float((places > float(event.threshold)).mean())
        assert abs(seen - chance) <= SIX * math.sqrt(chance * (1 - chance) / N) + SIX**2 / N


def one_search_after_another(original: BestOfRuns, dataset: Array, trials: int, rng: np.random.Generator) -> Array:
    cut = original.event_at(Fraction(0))[0].cut
    released = []
    for number in original.runs.draw(trials, rng):
        runs = original.one.release_many(dataset, int(number), rng)
        places = original.place()(runs)
        better = [(place <= cut, place) if cut is not None else (False, place) for place in places.tolist()]
        released.append([1.0, *runs[max(range(len(runs)), key=better.__getitem__)]])
    return np.array(released)


def keys_are_released_as_often_as_stated(mechanism: Any, case: Case, seed: int) -> None:
    released = mechanism.release_many(case.dataset, N, np.random.default_rng([seed, 1]))
    original: Any = case.make()
    chances = original.release_chances(case.dataset)
    seen = (released > 0).mean(axis=0)
    assert (np.abs(seen - chances) <= SIX * np.sqrt(chances * (1 - chances) / N) + SIX**2 / N).all()


def quantiles_fall_between_values_as_often_as_stated(
    mechanism: Any, original: IntervalQuantile, dataset: Array, seed: int
) -> None:
    released = mechanism.release_many(dataset, N, np.random.default_rng([seed, 1]))
    ends = np.unique(original.embed(dataset))
    lengths, middles = np.diff(ends), (ends[1:] + ends[:-1]) / 2
    chances = lengths * np.exp(original.log_density(dataset, middles))
    assert chances.sum() == pytest.approx(1)
    seen = np.histogram(released, ends)[0] / N
    assert (np.abs(seen - chances) <= SIX * np.sqrt(chances * (1 - chances) / N) + SIX**2 / N).all()


def releases_have_the_stated_mean_and_variance(mechanism: Any, case: Case, seed: int) -> None:
    original = case.make()
    if isinstance(original, LocalRandomizer):
        reports_fall_into_regions_as_often_as_stated(mechanism, original, seed)
        return
    if isinstance(original, ShuffledReports):
        responses_are_as_often_as_stated(mechanism, original, case.dataset, seed)
        return
    if isinstance(original, IntervalQuantile):
        quantiles_fall_between_values_as_often_as_stated(mechanism, original, case.dataset, seed)
        return
    if isinstance(original, BestOfRuns):
        the_best_run_is_above_thresholds_as_often_as_stated(mechanism, case, seed)
        return
    if hasattr(original, "release_chances"):
        keys_are_released_as_often_as_stated(mechanism, case, seed)
        return
    if hasattr(original, "probabilities") or isinstance(original, AboveThreshold):
        releases_have_the_stated_law(mechanism, case, seed)
        return
    released = mechanism.release_many(case.dataset, N, np.random.default_rng([seed, 1]))
    mean = original.decode(original.embed(case.dataset)[None])[0]
    if isinstance(original, DPSGD):
        mean = float(original.rate) * mean
    stated = np.asarray(case.variances(original), dtype=np.float64)
    assert released.shape == (N, len(stated))
    noise = (released - mean) / np.sqrt(stated)
    assert (np.abs(noise.mean(axis=0)) < SIX / math.sqrt(N)).all()
    assert (np.abs(np.square(noise).mean(axis=0) - 1) < SIX * math.sqrt((KURTOSIS - 1) / N)).all()


def both_samplers_have_one_law(mechanism: Any, case: Case, seed: int) -> None:
    """What `release_many` gives against the other way: through the embedding, or item by item for a stream."""
    direct = mechanism.release_many(case.dataset, FEWER, np.random.default_rng([seed, 2]))
    other = another_way(case, np.random.default_rng([seed, 3]))
    columns = {0, direct.shape[1] - 1}
    pairs = [(direct[:, i], other[:, i]) for i in columns] + [(direct.sum(axis=1), other.sum(axis=1))]
    distances = [float(stats.ks_2samp(x, y, method="asymp").statistic) for x, y in pairs]
    assert min(1.0, math.exp(1 - FEWER * max(distances) ** 2)) * len(pairs) > ERROR


def another_way(case: Case, rng: np.random.Generator) -> Array:
    original: Any = case.make()
    if isinstance(original, BestOfRuns):
        return one_search_after_another(original, case.dataset, FEWER, rng)
    if not isinstance(original, TreeCounter | FactorizationCounter):
        noisy = original.noise.add(original.embed(case.dataset), FEWER, rng)
        decoded: Array = original.decode(noisy)
        return decoded
    released = np.empty((FEWER, len(case.dataset)))
    for row in released:
        fresh = remade(original, rng)
        row[:] = [fresh.add(item) for item in case.dataset]
    return released


def remade(original: Any, rng: np.random.Generator) -> Any:
    if isinstance(original, TreeCounter):
        options = {"digits": original.digits, "noise": original.noise_kind}
        return TreeCounter(
            horizon=original.horizon, epsilon=original.claim.epsilon, arity=original.arity, rng=rng, **options
        )
    noise = original.describe()["noise"]
    return FactorizationCounter(
        horizon=original.horizon, kind=original.kind, noise=noise, claim=original.claim, rng=rng
    )


def seeds_reproduce_and_one_release_is_the_first_of_many(mechanism: Any, dataset: Array, seed: int) -> None:
    many, again = (mechanism.release_many(dataset, 5, np.random.default_rng(seed)) for _ in range(2))
    np.testing.assert_array_equal(many, again)
    if isinstance(mechanism, FEW_OUTCOMES):
        many, again = (mechanism.release_many(dataset, FEWER, np.random.default_rng(seed)) for _ in range(2))
        np.testing.assert_array_equal(many, again)
        assert len(np.unique(many, axis=0)) > 1
        one_of_many = mechanism.release_many(dataset, 1, np.random.default_rng(seed))[0]
        np.testing.assert_array_equal(one_of_many, mechanism(dataset, np.random.default_rng(seed)))
        np.testing.assert_array_equal(one_of_many, mechanism.release(dataset, np.random.default_rng(seed)))
        return
    assert len(np.unique(many, axis=0)) == 5
    one = mechanism.release_many(dataset, 1, np.random.default_rng(seed))[0]
    np.testing.assert_array_equal(one, mechanism.release(dataset, np.random.default_rng(seed)))
    np.testing.assert_array_equal(one, mechanism(dataset, np.random.default_rng(seed)))
    assert not np.array_equal(one, mechanism.release(dataset, np.random.default_rng(seed + 1)))


def no_record_is_worse_than_the_worst(mechanism: StructuredMechanism, case: Case, *, factor: float = 1.0) -> None:
    worst = worst_case(mechanism)
    position = worst.pair.position()
    other = worst.pair.neighbour[position] if mechanism.adjacency is REPLACE_ONE else None
    attained = neighbour_loss(mechanism, worst.pair.record * factor, other, position=position)
    for epsilon in ("0.1", "0.5"):
        most = worst.loss.certified_delta(epsilon)
        if worst.exact:
            assert attained.certified_delta(epsilon).upper >= most.lower
        for record in np.unique(case.dataset, axis=0):
            replacement = np.zeros_like(record) if mechanism.adjacency is REPLACE_ONE else None
            if isinstance(mechanism, EllipticalGaussian | VoteEllipse) and replacement is not None:
                replacement = case.dataset[0]
            found = neighbour_loss(mechanism, record, replacement).certified_delta(epsilon)
            assert found.lower <= most.upper


# on every mechanism ---------------------------------------------------------------------------------------------------


def test_the_claim_is_certified(case: Case) -> None:
    the_claim_is_certified(case.make(), bound=case.bound)


@pytest.mark.few(21)
def test_releases_do_not_contradict_the_claim(case: Case, seed: int) -> None:
    mechanism = case.make()
    releases_do_not_contradict_the_claim(mechanism, mechanism, seed)


def test_releases_have_the_stated_mean_and_variance(case: Case, seed: int) -> None:
    releases_have_the_stated_mean_and_variance(case.make(), case, seed)


def test_both_samplers_have_one_law(case: Case, seed: int) -> None:
    both_samplers_have_one_law(case.make(), case, seed)


def test_seeds_reproduce_and_one_release_is_the_first_of_many(case: Case, seed: int) -> None:
    seeds_reproduce_and_one_release_is_the_first_of_many(case.make(), case.dataset, seed)


def test_no_record_is_worse_than_the_worst(case: Case) -> None:
    no_record_is_worse_than_the_worst(case.make(), case)


def test_the_embedding_is_checked_where_there_is_one(case: Case, seed: int) -> None:
    mechanism = case.make()
    if isinstance(mechanism, GaussianMechanism) and embedding_applies(mechanism):
        assert check_embedding(mechanism, samples=500, error_probability=ERROR, seed=seed).holds
    else:
        assert mechanism.name not in ("correlated-gaussian", "grouped-gaussian")


def test_the_claim_of_r1smg_is_refuted_where_it_is_false() -> None:
    with pytest.warns(UserWarning, match="false for dim >= 4"):
        published = Rank1Gaussian(dim=8, epsilon=1, delta="1e-5")
    verdict = certify(published)
    assert verdict.status is Status.REFUTED
    with pytest.raises(AssertionError):
        the_claim_is_certified(published, bound=False)


def test_a_wrong_law_of_a_selection_is_found(seed: int) -> None:
    for name in ("exponential, its example", "permute-and-flip, its example", "laplace noisy max"):
        original: Any = CASES[name].make()
        wrong = type(original)(
            options=original.dim,
            epsilon=40,
            adjacency=original.adjacency,
            **({"noise": "laplace"} if name.startswith("laplace") else {}),
        )
        with pytest.raises(AssertionError):
            releases_have_the_stated_law(wrong, CASES[name], seed)
        with pytest.raises(AssertionError):
            both_samplers_have_one_law(wrong, CASES[name], seed)


# planted faults -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Planted:
    """A mechanism whose noise is multiplied by ``factor`` and moved, or that draws randomness of its own."""

    original: Any
    factor: float = 1.0
    moved: float = 0.0
    own: bool = False

    def release_many(self, dataset: Any, trials: int, rng: np.random.Generator) -> Array:
        source = np.random.default_rng() if self.own else rng
        mean = self.original.decode(self.original.embed(dataset)[None])[0]
        released = self.original.release_many(dataset, trials, source)
        changed: Array = mean + self.moved + self.factor * (released - mean)
        return changed

    def release(self, dataset: Any, rng: np.random.Generator) -> Array:
        first: Array = self.release_many(dataset, 1, rng)[0]
        return first

    __call__ = release


def test_noise_that_is_too_small_contradicts_the_claim(one_of_a_kind: Case, seed: int) -> None:
    original = one_of_a_kind.make()
    with pytest.raises(AssertionError):
        releases_do_not_contradict_the_claim(Planted(original, factor=0.02), original, seed)


def test_a_wrong_mean_and_a_wrong_variance_are_found(one_of_a_kind: Case, seed: int) -> None:
    original = one_of_a_kind.make()
    spread = float(np.sqrt(np.asarray(one_of_a_kind.variances(original), dtype=np.float64).min()))
    for fault in (
        Planted(original, moved=0.2 * spread),
        Planted(original, factor=0.85),
        Planted(original, factor=1.15),
    ):
        with pytest.raises(AssertionError):
            releases_have_the_stated_mean_and_variance(fault, one_of_a_kind, seed)


def test_two_samplers_of_different_laws_are_told_apart(one_of_a_kind: Case, seed: int) -> None:
    with pytest.raises(AssertionError):
        both_samplers_have_one_law(Planted(one_of_a_kind.make(), factor=3.0), one_of_a_kind, seed)


def test_randomness_of_its_own_is_found(one_of_a_kind: Case, seed: int) -> None:
    with pytest.raises(AssertionError):
        seeds_reproduce_and_one_release_is_the_first_of_many(
            Planted(one_of_a_kind.make(), own=True), one_of_a_kind.dataset, seed
        )


def test_a_worst_record_that_is_not_the_worst_is_found() -> None:
    for name in ("standard", "laplace, linf, ADD_OR_REMOVE_ONE"):
        case = CASES[name]
        with pytest.raises(AssertionError):
            no_record_is_worse_than_the_worst(case.make(), case, factor=0.5)


def test_a_bound_that_is_taken_for_exact_is_found() -> None:
    with pytest.raises(AssertionError):
        the_claim_is_certified(CASES["tree, bound"].make(), bound=False)
