"""R1SMG as published: its scale, its warning, its noise, the bound it falls below, and the verdict on its claim.

Statistical tests: an error probability of at most ERROR for each test function.
"""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status, Verdict
from dpverdict.audit.exact.worst_case import neighbour_loss, worst_case
from dpverdict.audit.losses.spherical.events import ball_event, best_ball_event
from dpverdict.balls import Real, at_most, compare
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.calibration import universal_error_bound
from dpverdict.mechanisms.core.guarantees import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, NeighbourPair
from dpverdict.mechanisms.core.noise import SharedNoise
from dpverdict.mechanisms.queries.rank1 import Ball, FalseClaimWarning, RandomDirectionNoise, Rank1Gaussian

ERROR = 1e-9
N = 40_000
EPSILONS = ("0.1", "0.5", "1", "2", "10")
DELTAS = ("1e-3", "1e-5", "1e-10")


def published(dim: int, epsilon: object = 1, delta: object = "1e-5", **more: object) -> Rank1Gaussian:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FalseClaimWarning)
        return Rank1Gaussian(dim=dim, epsilon=epsilon, delta=delta, **more)  # type: ignore[arg-type]


# construction ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [4, 5, 100])
def test_construction_warns_that_the_claim_is_false_from_dimension_4_on(dim: int) -> None:
    with pytest.warns(FalseClaimWarning, match=f"false for dim >= 4 .here dim={dim}."):
        Rank1Gaussian(dim=dim, epsilon=1, delta="1e-5")


def test_no_warning_in_dimension_3_nor_for_a_scale_that_is_not_the_published_one() -> None:
    Rank1Gaussian(dim=3, epsilon=1, delta="1e-5")  # warnings are errors here
    assert Rank1Gaussian(dim=100, epsilon=1, delta="1e-5", scale="1e6").scale == 1e6


def test_the_scale_grows_with_the_radius_and_is_rounded_up() -> None:
    one, three = published(10), published(10, radius=3)
    assert three.scale == pytest.approx(3 * one.scale, rel=1e-15)
    assert published(3, scale="0.1").scale >= 0.1
    assert Fraction(published(3, scale="1/3").scale) >= Fraction(1, 3)
    assert one.mean_squared_error == Fraction(one.scale) ** 2


def test_ten_thousand_dimensions_do_not_overflow() -> None:
    assert published(10_000).scale ** 2 == pytest.approx(2.01, abs=0.01)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"dim": 2}, "dim"),
        ({"dim": 0}, "dim"),
        ({"dim": 3.0}, "dim"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
        ({"delta": 0}, "delta"),
        ({"delta": 1}, "delta"),
        ({"delta": float("nan")}, "delta"),
        ({"radius": 0}, "radius"),
        ({"radius": "1e400"}, "radius"),
        ({"scale": 0}, "scale"),
        ({"scale": float("inf")}, "scale"),
        ({"scale": "1e-500"}, "scale"),
    ],
)
def test_a_parameter_out_of_range_is_refused_in_one_line(arguments: dict[str, object], name: str) -> None:
    with pytest.raises(InvalidValue, match=rf"^{name}=[^\n]*$"):
        Rank1Gaussian(**({"dim": 3, "epsilon": 1, "delta": "1e-5"} | arguments))  # type: ignore[arg-type]


def test_a_record_too_long_is_refused_exactly() -> None:
    mechanism = published(3)
    rng = np.random.default_rng(0)
    mechanism.release([[0.6, 0.7999999999999999, 0.0]], rng)
    with pytest.raises(InvalidValue, match=r"of l2-norm at most 1\.0"):
        mechanism.release([[0.6, 0.8, 0.0]], rng)  # the float of 0.8 is above 0.8, and this sum of squares above 1
    with pytest.raises(InvalidValue, match="dataset entry=nan"):
        mechanism.release([[math.nan, 0.0, 0.0]], rng)
    with pytest.raises(InvalidValue, match="of shape"):
        mechanism.release([[0.0, 0.0]], rng)


# the noise ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [3, 10])
def test_the_noise_has_a_normal_radius_in_a_uniform_direction(dim: int, seed: int) -> None:
    mechanism = published(dim)
    rng = np.random.default_rng([seed, dim])
    records = np.full((4, dim), 0.1)
    noise = mechanism.release_many(records, N, rng) - records.sum(axis=0)
    radius = np.linalg.norm(noise, axis=1)
    assert stats.kstest(radius / mechanism.scale, stats.halfnorm.cdf).pvalue > ERROR / 4
    cosine = noise[:, 0] / radius
    assert stats.kstest((1 + cosine) / 2, stats.beta((dim - 1) / 2, (dim - 1) / 2).cdf).pvalue > ERROR / 4
    assert stats.kstest(cosine[radius < np.median(radius)], cosine[radius >= np.median(radius)]).pvalue > ERROR / 4
    entries = mechanism.noise.covariance()
    assert entries == {"query": mechanism.mean_squared_error / dim, "query-query": 0}
    assert (radius**2).mean() == pytest.approx(float(mechanism.mean_squared_error), rel=0.1)


def test_the_likelihood_score_separates_the_worst_pair_as_theory_says(seed: int) -> None:
    """Nearest centre is right with probability 0.9909 at M = 100, epsilon = 1, delta = 1e-5."""
    mechanism = published(100)
    pair = worst_case(mechanism).pair
    score = mechanism.likelihood_score(pair)
    rng = np.random.default_rng(seed)
    right = np.mean(score(mechanism.release_many(pair.dataset, N, rng)) > 0)
    wrong = np.mean(score(mechanism.release_many(pair.neighbour, N, rng)) > 0)
    slack = stats.norm.isf(ERROR / 4) * math.sqrt(0.0091 * 0.9909 / N) + 5e-5
    assert abs(right - 0.9909) < slack
    assert abs(wrong - 0.0091) < slack


def test_sampling_refutes_what_the_exact_audit_refutes(seed: int) -> None:
    mechanism = published(30)
    pair = worst_case(mechanism).pair
    found = distinguish(mechanism, pair, mechanism.claim, error_probability=1e-9, samples=20_000, seed=seed)
    assert found.refuted
    assert found.score == "likelihood ratio"
    three = published(3)
    kept = distinguish(three, worst_case(three).pair, three.claim, error_probability=1e-9, samples=20_000, seed=seed)
    assert not kept.refuted


# the universal bound --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "delta", "first"),
    [
        ("0.1", "1e-3", 102),
        ("0.5", "1e-5", 42),
        ("1", "1e-5", 35),
        ("2", "1e-10", 49),
        ("5", "1e-3", 138),
        ("10", "1e-5", 8844),
    ],
)
def test_the_claimed_error_falls_below_the_universal_bound_from_a_known_dimension_on(
    epsilon: str, delta: str, first: int
) -> None:
    for dim, below in ((first, True), (first - 1, False)):
        needed = universal_error_bound(dim=dim, epsilon=epsilon, delta=delta, sensitivity=1)
        assert at_most(needed, Real.of(published(dim, epsilon, delta).mean_squared_error)) is not below


def test_no_private_gaussian_falls_below_the_universal_bound() -> None:
    from dpverdict.mechanisms.core.calibration import analytic_scale

    for dim, epsilon, delta in ((3, 1, "1e-5"), (100, "0.1", "1e-3"), (1000, 10, "1e-10"), (10, 1, "0.5")):
        scale = Fraction(analytic_scale(epsilon, delta, Real.of(1)))
        least = universal_error_bound(dim=dim, epsilon=epsilon, delta=delta, sensitivity=1)
        assert compare(Real.of(dim * scale**2), least) == 1


def test_the_universal_bound_at_epsilon_0_and_its_parameters() -> None:
    assert universal_error_bound(dim=8, epsilon=0, delta="1/2", sensitivity=2).rational == 4
    for name, value in (("dim", 0), ("epsilon", -1), ("delta", 1), ("sensitivity", 0)):
        with pytest.raises(InvalidValue, match=rf"^{name}="):
            universal_error_bound(**({"dim": 1, "epsilon": 1, "delta": 0, "sensitivity": 1} | {name: value}))  # type: ignore[arg-type]


# the ball event -------------------------------------------------------------------------------------------------------


def test_the_ball_event_happens_as_often_as_it_says(seed: int) -> None:
    mechanism = published(5)
    event = ball_event(5, mechanism.scale, "0.8")
    pair, rng = worst_case(mechanism).pair, np.random.default_rng(seed)
    near = np.linalg.norm(mechanism.release_many(pair.dataset, 10**6, rng) - pair.dataset[0], axis=1) <= 0.8
    assert stats.binomtest(int(near.sum()), 10**6, float(event.p_ball)).pvalue > ERROR / 4
    far = np.linalg.norm(mechanism.release_many(pair.neighbour, 10**6, rng) - pair.dataset[0], axis=1) <= 0.8
    assert stats.binomtest(int(far.sum()), 10**6, float(event.q_ball), alternative="greater").pvalue > ERROR / 4


@pytest.mark.parametrize("dim", [4, 5, 10, 30, 100, 1000, 10_000])
def test_the_ball_event_alone_refutes_the_published_grid_but_for_one_cell(dim: int) -> None:
    for epsilon in EPSILONS:
        for delta in DELTAS:
            event = best_ball_event(dim, published(dim, epsilon, delta).scale, epsilon)
            shown = Fraction(event.delta_lower(epsilon)) > Fraction(delta)
            assert shown is not ((dim, epsilon, delta) == (4, "10", "1e-3"))


# the verdict ----------------------------------------------------------------------------------------------------------


def refuted(verdict: Verdict) -> None:
    assert verdict.status is Status.REFUTED, verdict.summary()
    witness = verdict.witness
    assert witness is not None
    assert witness.value.lower > witness.bound.upper
    assert 0 <= witness.neighbour_probability.lower <= witness.probability.upper <= 1


@pytest.mark.parametrize("dim", [4, 5, 10, 30, 100, 1000, 10_000])
def test_the_claim_is_refuted_by_an_event_on_the_whole_grid_from_dimension_4_on(dim: int) -> None:
    for epsilon in EPSILONS:
        for delta in DELTAS:
            verdict = certify(published(dim, epsilon, delta))
            refuted(verdict)
            witness = verdict.witness
            assert witness is not None
            e = math.exp(float(epsilon))
            assert witness.probability.lower - e * witness.neighbour_probability.upper * (1 + 1e-14) > float(delta)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_claim_is_certified_on_the_whole_grid_in_dimension_3(epsilon: str) -> None:
    for delta in DELTAS:
        certificate = certify(published(3, epsilon, delta)).require().certificate
        assert certificate is not None
        assert certificate.method == "ball arithmetic"
        assert certificate.value.upper <= 0.2 * float(delta)


def test_a_smaller_delta_is_refuted_in_dimension_3() -> None:
    mechanism = published(3, 1, "1e-3")
    refuted(certify(mechanism, ApproximateDP(1, "0.000173")))
    assert certify(mechanism, ApproximateDP(1, "0.000174")).status is Status.CERTIFIED


@pytest.mark.parametrize(
    "claim",
    [
        RenyiDP(2, 5),
        *(pytest.param(one, marks=pytest.mark.slow) for one in (PureDP(5), GaussianDP(1), ZeroConcentratedDP(1))),
    ],
    ids=str,
)
def test_claims_without_delta_fail_at_any_scale(claim: Guarantee) -> None:
    """The density is unbounded: Renyi divergences are infinite at and above the order dim/(dim - 1), finite below."""
    refuted(certify(published(3, scale=10**6), claim))


@pytest.mark.slow
def test_a_claim_of_a_small_renyi_order_is_kept() -> None:
    assert certify(published(3, scale=10**6), RenyiDP("1.4", "0.001")).status is Status.CERTIFIED


def test_an_honest_scale_is_certified_and_a_little_less_is_refuted() -> None:
    assert certify(published(5, 1, "1e-3", scale="727.1875377855914")).status is Status.CERTIFIED
    refuted(certify(published(5, 1, "1e-3", scale="727.187537785591")))


def test_a_shorter_record_is_less_exposed_and_none_at_all_costs_nothing() -> None:
    mechanism = published(4)
    losses = [neighbour_loss(mechanism, np.array([x, 0.0, 0.0, 0.0])) for x in (1.0, 0.5, 0.0)]
    deltas = [loss.delta(1.0) for loss in losses]
    assert deltas[0] > deltas[1] > deltas[2] == 0.0
    assert worst_case(mechanism).loss.delta(1.0) == deltas[0]
    turned = neighbour_loss(mechanism, np.array([0.5, 0.5, 0.5, 0.5]))
    assert turned.delta(1.0) == deltas[0]


def test_the_space_speaks_of_its_own_noise_alone() -> None:
    space = Ball(dim=3, radius=1.0)
    with pytest.raises(InvalidValue, match="exact maximiser"):
        space.maximise(SharedNoise(dim=3, independent_scale=1.0))
    with pytest.raises(InvalidValue, match="exact maximiser"):
        space.loss(RandomDirectionNoise(dim=3, scale=1.0), np.ones(3) / 2, np.zeros(3))
    assert space.loss(RandomDirectionNoise(dim=3, scale=1.0), np.zeros(3)).advantage() == 0


def test_the_score_is_the_same_for_every_dataset_around_the_pair() -> None:
    mechanism = published(4)
    common = np.full((3, 4), 0.2)
    record = np.array([[1.0, 0.0, 0.0, 0.0]])
    pair = NeighbourPair(dataset=np.vstack([common, record]), neighbour=common, adjacency=ADD_OR_REMOVE_ONE)
    alone = worst_case(mechanism).pair
    y = np.random.default_rng(0).normal(size=(5, 4))
    assert mechanism.likelihood_score(pair)(y + common.sum(axis=0)) == pytest.approx(
        mechanism.likelihood_score(alone)(y)
    )
