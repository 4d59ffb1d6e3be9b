"""`distinguish`: refutes what is false, survives ties and disjoint supports, repeats, and keeps its ledger."""

import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from dpverdict.audit.distinguishing.events import (
    choose_event,
    epsilon_from_frequencies,
    mu_from_frequencies,
    mu_quantity,
)
from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.distinguishing.low_bits import find_float_leak
from dpverdict.audit.distinguishing.result import CurveRegion, DistinguishingTest, Event, Role
from dpverdict.audit.distinguishing.sequential import distinguish_sequentially
from dpverdict.audit.exact.verdict import Verdict
from dpverdict.audit.statistics.joint_test import Counts, Order
from dpverdict.audit.trials.run import AnyMechanism, batched
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, Guarantee, PureDP, ZeroConcentratedDP
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, NeighbourPair
from dpverdict.mechanisms.queries.standard import StandardGaussian
from dpverdict.numerics.arrays import Array

PAIR = NeighbourPair(dataset=np.array([[0.0], [1.0]]), neighbour=np.array([[0.0]]), adjacency=ADD_OR_REMOVE_ONE)


def gaussian(sigma: float, m: int = 1) -> AnyMechanism:
    """A record of value 1 moves m outputs by 1 / sqrt(m) each: 1/sigma-GDP."""
    return batched(lambda d, rng, n: d.sum() / math.sqrt(m) + sigma * rng.normal(size=(n, m)))


class WhiteBox:
    """The same with its likelihood ratio."""

    name = "white box"

    def __init__(self, sigma: float) -> None:
        self.sigma = sigma

    def release_many(self, dataset: Array, trials: int, rng: np.random.Generator) -> object:
        return dataset.sum() + self.sigma * rng.normal(size=trials)

    def likelihood_direction(self, pair: NeighbourPair) -> tuple[Array, float]:
        shift = pair.dataset.sum() - pair.neighbour.sum()
        return np.array([shift / self.sigma**2]), shift**2 / 2 / self.sigma**2


def run(mechanism: AnyMechanism | None = None, claim: Guarantee | None = None, **change: Any) -> DistinguishingTest:
    """An audit with everything at ordinary values except for what is changed (Any: to anything, valid or not)."""
    arguments: dict[str, Any] = {"neighbours": PAIR, "error_probability": 0.05, "samples": 2000, "seed": 3} | change
    return distinguish(
        mechanism=gaussian(0.8) if mechanism is None else mechanism,
        claim=GaussianDP(1) if claim is None else claim,
        **arguments,
    )


def found(test: DistinguishingTest) -> tuple[Event, Counts]:
    """The event that refuted, and its counts."""
    assert test.refuted
    assert test.witness is not None
    event, counts = test.witness.row.event, test.witness.row.counts
    assert event is not None
    assert counts is not None
    return event, counts


# Each refutation below fails to happen, by its own simulation, with a probability far below 1e-6.


@pytest.mark.parametrize("error", [0.05, 1e-6])
@pytest.mark.parametrize(
    ("mechanism", "score"),
    [(WhiteBox(0.8), "likelihood ratio"), (gaussian(0.8), None), (gaussian(0.8, 20), None)],
)
def test_four_fifths_of_the_noise_is_refuted_with_4000_samples(
    mechanism: AnyMechanism, score: str | None, error: float
) -> None:
    test = run(mechanism, error_probability=error, samples=4_000)
    assert test.refuted
    assert test.p_value <= error
    assert 1 < test.mu_lower < 1.25 + 0.1
    assert score in (None, test.score)


def test_a_user_score_and_plain_callables_are_served() -> None:
    test = run(lambda d, rng: d.sum() + 0.5 * rng.normal(), score=lambda y: y[:, 0])
    assert test.refuted
    assert (test.explored, test.samples) == (200, 2000)


def test_laplace_with_half_the_scale_is_refuted_as_pure_dp() -> None:
    laplace = batched(lambda d, rng, n: d.sum() + rng.laplace(scale=0.5, size=n))
    test = run(laplace, PureDP(1), samples=4000)
    assert test.refuted
    assert test.delta == 0.0
    assert test.epsilon_lower is not None
    assert 1 < test.epsilon_lower <= 2
    assert test.ledger[0].what == "epsilon_lower at delta=0"


@pytest.mark.parametrize("swap", [False, True])
def test_an_event_of_either_order_is_found(swap: bool) -> None:
    # One dataset releases 9 in one trial of ten, the other never: only one order has an unbounded ratio.
    @batched
    def rare(d: Array, rng: np.random.Generator, trials: int) -> object:
        return np.where((rng.random(trials) < 0.1) & (d.sum() > 0.5), 9.0, rng.random(trials))

    datasets = (np.array([[0.0]]), np.array([[1.0]])) if swap else (np.array([[1.0]]), np.array([[0.0]]))
    test = run(rare, ApproximateDP(1, "0.01"), neighbours=datasets, samples=4000)
    event, counts = found(test)
    assert event.order is (Order.NEIGHBOUR_FIRST if swap else Order.DATASET_FIRST)
    # The event is the 9 and at most a few of the largest other values that exploration did not see on both sides.
    assert counts.second < 0.02 * counts.second_trials
    assert counts.second == (counts.of_dataset if swap else counts.of_neighbour)[0]


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "score", [None, lambda y: y[:, 0], lambda y: np.where(y[:, 0] > 0, np.inf, -np.inf), lambda y: np.sign(y[:, 0])]
)
@pytest.mark.parametrize("claim", [GaussianDP(3), PureDP(3), ApproximateDP(1, "0.1"), ZeroConcentratedDP(1)])
def test_outputs_without_overlap_are_refuted_with_finite_numbers(
    score: Callable[[Array], object] | None, claim: Guarantee
) -> None:
    test = run(batched(lambda d, rng, n: 2 * d.sum() - 1 + rng.random(n) / 2), claim, score=score, delta="1e-6")
    counts = found(test)[1]
    assert math.isfinite(test.mu_lower)
    assert test.epsilon_lower is not None
    assert math.isfinite(test.epsilon_lower)
    assert {counts.first, counts.second} == {0, 2000 - test.explored}


def test_a_deterministic_release_that_ignores_the_data_is_not_refuted() -> None:
    test = run(batched(lambda d, rng, n: np.ones((n, 3))), GaussianDP("0.001"), delta=0)
    assert (test.refuted, test.p_value, test.mu_lower, test.epsilon_lower) == (False, 1.0, 0.0, 0.0)
    assert test.witness is None


def test_randomised_response_with_a_false_bias_is_refuted_through_its_ties() -> None:
    @batched
    def response(d: Array, rng: np.random.Generator, trials: int) -> object:
        return np.where(rng.random(trials) < 0.85, d.sum() > 0, d.sum() <= 0)

    test = run(response, PureDP(1), samples=2000)  # the truth is log(0.85 / 0.15) = 1.73
    assert test.refuted
    assert test.epsilon_lower is not None
    assert test.epsilon_lower <= math.log(0.85 / 0.15)


def test_the_same_seed_gives_the_same_result_whichever_way_the_trials_are_run() -> None:
    @batched
    def many(d: Array, rng: np.random.Generator, trials: int) -> object:
        return d.sum() + 0.8 * rng.normal(size=trials)

    first = run(many).to_dict()
    assert run(many).to_dict() == first
    assert run(batched(many.function)).to_dict() == first
    assert run(many, seed=4).to_dict() != first


def test_one_release_at_a_time_is_reproducible() -> None:
    def once(d: Array, rng: np.random.Generator) -> object:
        return d.sum() + rng.normal()

    assert run(once, samples=300).to_dict() == run(once, samples=300).to_dict()


def test_progress_counts_all_trials_once() -> None:
    seen: list[tuple[int, int]] = []
    run(samples=9000, progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1] == (18_000, 18_000)


@pytest.mark.few(2)
@pytest.mark.parametrize("claim", [GaussianDP(1), PureDP(1), ApproximateDP(1, "1e-3"), ZeroConcentratedDP("0.5")])
@pytest.mark.parametrize("delta", [None, "1e-5"])
def test_the_ledger_spends_the_error_probability_and_no_more(claim: Guarantee, delta: str | None) -> None:
    test = run(gaussian(1), claim, delta=delta, error_probability=0.01)
    spent = sum(Fraction(row.error_share) for row in test.ledger if row.role is Role.TEST)
    assert 0 <= Fraction(0.01) - spent <= Fraction(1e-17)
    assert [row.what for row in test.ledger if row.role is Role.DESCRIPTIVE] == ["trade-off region"]
    assert (test.epsilon_lower is None) == (test.delta is None)
    for row in test.ledger[:-1]:
        assert (row.counts is None) == (row.payoff is not None)
        if row.counts is not None:
            decide = test.samples if row.what.startswith("half-lines") else test.samples - test.explored
            assert row.counts.first_trials == row.counts.second_trials == decide


def test_a_known_score_decides_on_all_trials_and_a_learned_one_on_fresh_ones() -> None:
    tests = run(WhiteBox(1)), run(gaussian(1))
    known, learned = (test.ledger[0] for test in tests)
    fresh = [test.samples - test.explored for test in tests]
    assert known.score == "likelihood ratio"
    assert known.explored == "none"
    assert known.confirmed.startswith("fit 0..159, explore 0..39, ")
    assert known.confirmed.endswith(f", confirm 0..{fresh[0] - 1}")
    assert learned.explored.startswith("fit 0..159, explore 0..39")
    assert learned.confirmed == f"confirm 0..{fresh[1] - 1}"
    assert known.payoff is not None
    assert learned.payoff is not None
    assert (known.payoff["trials"], learned.payoff["trials"]) == (2000, fresh[1])


def test_nothing_that_was_explored_chooses_the_level_of_a_test_that_decides_on_it() -> None:
    """A score known beforehand is paid on all trials, so its share is fixed; that of a learned one may follow."""
    tests = [run(WhiteBox(scale), seed=seed, samples=300) for scale in (0.5, 1) for seed in range(4)]
    assert len({test.ledger[0].error_share for test in tests}) == 1
    assert {test.ledger[0].explored for test in tests} == {"none"}
    learned = [run(gaussian(scale), seed=seed, samples=300) for scale in (0.5, 1) for seed in range(6)]
    assert len({test.ledger[0].error_share for test in learned}) > 1
    assert all(test.ledger[0].confirmed.startswith("confirm 0..") for test in learned)


def test_every_test_has_two_scores_a_chosen_event_and_bounds_from_events() -> None:
    test = run(WhiteBox(0.8), GaussianDP(1), delta="1e-3")
    rows = [row for row in test.ledger if row.role is Role.TEST]
    assert len({row.score for row in rows}) >= 2
    assert sum(row.event is not None for row in rows) == 3
    assert test.mu_lower == max(row.bound or 0.0 for row in rows if row.what == "mu_lower")
    assert test.p_value == pytest.approx(
        min((row.p_value or 1.0) * test.error_probability / row.error_share for row in rows)
    )


def test_what_a_linear_score_cannot_see_is_refuted_by_a_spline() -> None:
    laplace = batched(lambda d, rng, n: d.sum() / math.sqrt(20) + rng.laplace(scale=0.5, size=(n, 20)))
    test = run(laplace, ApproximateDP(1, "0.114757685742933"), samples=3000)
    assert test.refuted
    assert test.score == "learned additive spline"


def test_the_p_value_is_where_the_decision_turns() -> None:
    test = run(samples=1500)
    assert 0 < test.p_value < 1
    assert run(samples=1500, error_probability=min(test.p_value * 1.001, 0.99)).p_value > 0


def band_of(region: CurveRegion, alpha: Array) -> Array:
    """The lower convex hull of (0, 1), (1, 0) and the outer corners of the rectangles, up a few units in the last
    place: an upper band on the whole trade-off function, which is convex and below every corner."""
    corners = zip(region.alpha_upper.tolist(), region.beta_upper.tolist(), strict=True)
    hull: list[tuple[float, float]] = []
    for x, y in sorted({(0.0, 1.0), (1.0, 0.0), *corners}):
        while len(hull) > 1 and (hull[-1][1] - hull[-2][1]) * (x - hull[-2][0]) >= (y - hull[-2][1]) * (
            hull[-1][0] - hull[-2][0]
        ):
            hull.pop()
        hull.append((x, y))
    band: Array = np.interp(alpha, [x for x, _ in hull], [y for _, y in hull])
    return np.minimum(band + 1e-15, 1.0)


def test_the_band_is_above_the_true_curve_convex_and_below_every_corner() -> None:
    region = run(gaussian(1), samples=5000, error_probability=1e-6, score=lambda y: y[:, 0]).region
    alpha = np.linspace(0, 1, 201)
    band = band_of(region, alpha)
    true = np.array([float(mpmath.ncdf(-mpmath.sqrt(2) * mpmath.erfinv(2 * a - 1) - 1)) for a in alpha[1:-1]])
    assert (band[1:-1] >= true).all()
    assert (band <= 1 - alpha + 1e-12).all()
    assert (np.diff(band, 2) >= -1e-12).all()
    assert (band_of(region, region.alpha_upper) <= region.beta_upper + 1e-12).all()
    assert (1 - alpha - band).max() > 0.25


def test_the_region_holds_the_true_curve_of_a_gaussian() -> None:
    test = run(gaussian(1), samples=5000, error_probability=1e-6, score=lambda y: y[:, 0])
    region = test.region
    assert region.thresholds.shape == (9,)
    alpha = [float(mpmath.ncdf(-t)) for t in region.thresholds]
    beta = [float(mpmath.ncdf(t - 1)) for t in region.thresholds]
    assert np.all((region.alpha_lower <= alpha) & (alpha <= region.alpha_upper))
    assert np.all((region.beta_lower <= beta) & (beta <= region.beta_upper))


@pytest.mark.parametrize("mechanism", [gaussian(0.5), gaussian(2)])
@pytest.mark.parametrize("score", [None, lambda y: np.where(y[:, 0] > 0.5, np.inf, -np.inf)])
def test_the_result_is_ready_for_json(mechanism: AnyMechanism, score: Callable[[Array], object] | None) -> None:
    test = run(mechanism, delta="1e-6", score=score)
    text = json.dumps(test.to_dict(), allow_nan=False)
    assert json.loads(text)["kind"] == "statistical"
    assert "\n" not in test.summary()
    assert test.refuted == ("not refuted" not in test.summary())


def test_statistical_evidence_has_no_truth_value_and_is_no_verdict() -> None:
    test = run()
    assert not issubclass(DistinguishingTest, Verdict)
    assert not hasattr(test, "status")
    with pytest.raises(TypeError, match="refuted"):
        bool(test)


def test_what_an_event_promises_is_just_below_its_formula() -> None:
    mpmath.mp.dps = 40
    inside = np.concatenate([np.logspace(-90, -1, 40), 0.5 + np.linspace(-0.4, 0.4, 41), 1 - np.logspace(-16, -1, 40)])
    for p, q in zip(inside, np.roll(inside, 17), strict=True):
        true_mu = mpmath.sqrt(2) * (mpmath.erfinv(2 * mpmath.mpf(p) - 1) - mpmath.erfinv(2 * mpmath.mpf(q) - 1))
        if min(p, q) > 1e-15:  # the inverse at 40 digits
            assert true_mu - 1e-12 <= mu_from_frequencies(p, q) <= true_mu
        for delta in (0.0, 1e-6, 0.3):
            if mpmath.mpf(p) > delta:
                assert epsilon_from_frequencies(p, q, delta) <= mpmath.log((mpmath.mpf(p) - delta) / mpmath.mpf(q))


def test_an_event_lies_between_the_scores_that_were_seen() -> None:
    event = choose_event(
        np.array([5.0, 6.0] * 50), np.array([0.0, 1.0] * 50), trials=100, error_probability=0.05, quantity=mu_quantity()
    )
    assert event.threshold == 3.0


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"samples": 49}, "samples"),
        ({"samples": 1e6}, "samples"),
        ({"samples": True}, "samples"),
        ({"error_probability": 0.0}, "error_probability"),
        ({"error_probability": 1}, "error_probability"),
        ({"error_probability": float("nan")}, "error_probability"),
        ({"error_probability": "0.05"}, "error_probability"),
        ({"seed": -1}, "seed"),
        ({"delta": 1}, "delta"),
        ({"delta": -0.5}, "delta"),
        ({"delta": float("nan")}, "delta"),
        ({"claim": "mu"}, "claim"),
        ({"neighbours": np.zeros((2, 1))}, "neighbours"),
        ({"neighbours": ([[1.0], [1.0, 2.0]], np.zeros(1))}, "neighbours"),
        ({"score": 3}, "score"),
        ({"score": lambda y: y}, "score"),
        ({"mechanism": 3}, "mechanism"),
    ],
)
def test_bad_arguments_are_refused_by_name(change: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidValue, match=rf"^{name}="):
        run(**change)


def test_the_error_probability_has_no_default() -> None:
    with pytest.raises(TypeError, match="error_probability"):
        distinguish(gaussian(1), PAIR, GaussianDP(1), samples=100, seed=1)  # type: ignore[call-arg]  # what is tested


def test_what_only_one_side_does_refutes() -> None:
    assert run(lambda d, rng: 1.0 / (len(d) - 1)).refuted
    test = run(lambda d, rng: rng.normal(size=len(d)))
    assert test.refuted
    assert "numbers(2)" in test.outcomes


@pytest.mark.parametrize("samples", [50, 51, 99, 200])
def test_few_samples_are_enough_to_run(samples: int) -> None:
    for score in (None, lambda y: y[:, 0]):
        test = run(samples=samples, score=score)
        assert 0 < test.explored < samples


@batched
def counted(dataset: Array, rng: np.random.Generator, trials: int) -> Array:
    """A count that is 1-DP under adding or removing one record."""
    return len(dataset) + rng.laplace(size=trials)


@pytest.mark.few(2)
@pytest.mark.parametrize("other", [slice(5, None), slice(2, None), slice(0, 0), slice(None, None, -1)])
def test_a_true_claim_is_not_tested_on_datasets_that_are_no_neighbours(other: slice) -> None:
    dataset = np.arange(10.0)[:, np.newaxis]
    shared: dict[str, Any] = {"error_probability": 1e-6, "seed": 1}
    for pair in ((dataset, dataset[other]), (dataset[other], dataset)):
        with pytest.raises(InvalidValue, match=r"^neighbours="):
            distinguish(counted, pair, PureDP(1), samples=500, **shared)
        with pytest.raises(InvalidValue, match=r"^neighbours="):
            distinguish_sequentially(counted, pair, PureDP(1), most_samples=500, **shared)
        with pytest.raises(InvalidValue, match=r"^neighbours="):
            find_float_leak(counted, pair, PureDP(1), samples=500, delta=0.0, **shared)
    assert not distinguish(counted, (dataset, dataset[1:]), PureDP(1), samples=500, **shared).refuted
    # The relation is what the test rests on: without the check five records refute the true claim.
    assert distinguish(
        batched(lambda d, rng, trials: counted(dataset if len(d) else dataset[5:], rng, trials)),
        (np.ones((1, 1)), np.ones((0, 1))),
        PureDP(1),
        samples=500,
        **shared,
    ).refuted


def test_a_mechanism_that_states_its_relation_is_tested_under_it() -> None:
    mechanism = StandardGaussian(dim=1, mu=1, adjacency=ADD_OR_REMOVE_ONE)
    pair = np.ones((2, 1)), np.array([[1.0], [0.0]])
    with pytest.raises(InvalidValue, match="add-or-remove-one neighbours, as the claim of standard-gaussian is about"):
        distinguish(mechanism, pair, GaussianDP(1), error_probability=1e-6, samples=500, seed=1)


@batched
def new_region(dataset: np.ndarray, rng: np.random.Generator, trials: int) -> np.ndarray:
    """Laplace noise; a twentieth of the outputs of the dataset lies where those of the neighbour never are."""
    x = dataset.sum()
    return np.where(rng.random(trials) < 0.05 * x, 50 + rng.normal(size=trials), x + rng.laplace(size=trials))


def test_half_lines_find_a_new_region_on_all_trials_and_their_witness_is_an_event() -> None:
    pair = np.ones((1, 1)), np.zeros((1, 1))
    options = {"error_probability": 0.05, "samples": 900, "seed": 3}
    found = distinguish(new_region, pair, "eps=1, delta=1e-5", **options)  # type: ignore[arg-type]
    (row,) = (row for row in found.ledger if row.what.startswith("half-lines"))
    assert row.is_contradiction
    assert row.explored == "none"
    assert row.counts is not None
    assert row.counts.first_trials == row.counts.second_trials == 900
    assert row.score in {"the output as it is", "the output turned round"}
    # of a curve, of more numbers and with a score of the caller there is no such row
    for claim, score in (("mu=1", None), ("eps=1, delta=1e-5", lambda outputs: outputs[:, 0])):
        other = distinguish(new_region, pair, claim, score=score, **options)  # type: ignore[arg-type]
        assert not any(row.what.startswith("half-lines") for row in other.ledger)
