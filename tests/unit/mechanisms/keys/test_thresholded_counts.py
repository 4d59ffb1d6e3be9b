"""Thresholded counts: the joint profile against laws that are written out, for every division of the keys."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.privacy_accountant import NeighboringRelation
from scipy import integrate, stats

from dpverdict.audit.exact.calibrate import calibrate
from dpverdict.audit.exact.decide import certify, known_epsilon
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import neighbour_loss
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, REPLACE_ONE, ApproximateDP
from dpverdict.mechanisms.core.bounds import AttainedLoss, KnownEvent, NearbyPairs
from dpverdict.mechanisms.keys.key_noise import NOISES, KeyNoise, NoiseName
from dpverdict.mechanisms.keys.thresholded_counts import KeysOfUsers, ThresholdedCounts
from dpverdict.numerics.arrays import Array

LEVELS = (Fraction(0), Fraction(1, 3), Fraction(1), Fraction(2))


def made(
    keys: int,
    noise: NoiseName,
    scale: str,
    threshold: str,
    relation: NeighboringRelation = ADD_OR_REMOVE_ONE,
    per_key: int = 1,
) -> ThresholdedCounts:
    return ThresholdedCounts(
        keys=keys,
        noise=noise,
        scale=scale,
        threshold=threshold,
        epsilon=1,
        delta="1e-5",
        adjacency=relation,
        per_key=per_key,
    )


def geometric_law(count: int, rate: float, threshold: int, last: int) -> Array:
    """P(withheld), then P of the released values threshold, ..., last; what is beyond is left out."""
    if count == 0:
        return np.append(1.0, np.zeros(last - threshold + 1))
    values = np.arange(threshold, last + 1)
    law = np.exp(-rate * np.abs(values - count)) * (1 - math.exp(-rate)) / (1 + math.exp(-rate))
    return np.append(1 - law.sum(), law)


def hockey_stick(p: Array, q: Array, level: float) -> float:
    return float(np.maximum(p - math.exp(level) * q, 0).sum())


@pytest.mark.parametrize(
    ("keys", "per_key", "threshold", "relation"),
    [(1, 1, 4, ADD_OR_REMOVE_ONE), (1, 3, 2, ADD_OR_REMOVE_ONE), (2, 1, 3, ADD_OR_REMOVE_ONE), (1, 2, 3, REPLACE_ONE)],
)
def test_geometric_counts_have_the_largest_profile_of_all_pairs_that_are_written_out(
    keys: int, per_key: int, threshold: int, relation: NeighboringRelation
) -> None:
    """Every vector of other users' counts up to well above the threshold, and every contribution of the user."""
    rate, last = 0.7, threshold + per_key + 40
    mechanism = made(keys, "geometric", "10/7", str(threshold), relation, per_key)
    laws = [geometric_law(count, rate, threshold, last) for count in range(threshold + 3 * per_key + 2)]
    changed = keys * (2 if relation is REPLACE_ONE else 1)
    others = range(threshold + per_key + 1)
    for level in LEVELS:
        largest = 0.0
        for counts in itertools.product(others, repeat=changed):
            for moves in itertools.product(range(per_key + 1), repeat=changed):
                here = np.ones(1)
                there = np.ones(1)
                for at, (count, move) in enumerate(zip(counts, moves, strict=True)):
                    first = at < keys
                    here = np.multiply.outer(here, laws[count + move * first]).ravel()
                    there = np.multiply.outer(there, laws[count + move * (not first)]).ravel()
                for p, q in ((here, there), (there, here)):
                    largest = max(largest, hockey_stick(p, q, float(level)))
        found = mechanism.largest_delta(level)
        assert found is not None
        assert float(found) == pytest.approx(largest, rel=1e-9)


def test_one_laplace_count_has_the_profile_of_an_integral() -> None:
    mechanism = made(1, "laplace", "2", "6", per_key=3)

    def density(y: float, count: int) -> float:
        return math.exp(-abs(y - count) / 2) / 4

    for level in LEVELS:
        largest = stats.laplace.sf(3 / 2)  # a new key, whatever the level is
        for count in (1, 2, 4, 6, 9):
            for here, there in ((count + 3, count), (count, count + 3)):
                cut = stats.laplace.cdf((6 - here) / 2) - math.exp(level) * stats.laplace.cdf((6 - there) / 2)
                beyond = integrate.quad(
                    lambda y, a, b, grown: max(density(y, a) - grown * density(y, b), 0.0),
                    6,
                    80,
                    args=(here, there, math.exp(level)),
                    points=[7, 8, 9, 10, 11, 12],
                    limit=400,
                )[0]
                largest = max(largest, max(cut, 0.0) + beyond)
        found = mechanism.largest_delta(level)
        assert found is not None
        assert float(found) == pytest.approx(largest, rel=1e-6)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("relation", [ADD_OR_REMOVE_ONE, REPLACE_ONE])
@pytest.mark.parametrize(
    ("keys", "per_key", "scale", "threshold"), [(1, 1, "2", "9"), (3, 1, "1", "3"), (2, 2, "7", "31")]
)
def test_claims_a_little_beside_the_truth_are_decided(
    noise: NoiseName, relation: NeighboringRelation, keys: int, per_key: int, scale: str, threshold: str
) -> None:
    mechanism = made(keys, noise, scale, threshold, relation, per_key)
    for level in (Fraction(1, 10), Fraction(3, 2)):
        found = mechanism.largest_delta(level)
        assert found is not None
        truth = Fraction(float(found))
        off = Fraction(1, 10**8)
        assert certify(mechanism, ApproximateDP(level, truth * (1 + off))).status is Status.CERTIFIED
        assert certify(mechanism, ApproximateDP(level, truth * (1 - off))).status is Status.REFUTED
    for claim in ("mu=5", "rho=9", "eps=40"):
        assert certify(mechanism, claim).status is Status.REFUTED  # a key tells for certain


def test_the_published_threshold_keeps_the_claim_and_a_smaller_one_does_not() -> None:
    for keys, relation in itertools.product((1, 4), (ADD_OR_REMOVE_ONE, REPLACE_ONE)):
        classic = ThresholdedCounts.from_classic(keys=keys, epsilon=1, delta="1e-6", adjacency=relation)
        assert certify(classic).status is Status.CERTIFIED
        lower = made(keys, "laplace", str(classic.noise.scale), str(classic.threshold - Fraction(1, 10)), relation)
        assert certify(lower, classic.claim).status is Status.REFUTED


def test_the_least_threshold_is_found() -> None:
    def at(threshold: float) -> ThresholdedCounts:
        return made(2, "gaussian", "5", str(threshold))

    least = calibrate(lambda threshold: at(threshold), "eps=1, delta=1e-4")
    assert certify(at(least.scale), "eps=1, delta=1e-4").status is Status.CERTIFIED
    assert certify(at(least.scale * (1 - 1e-5)), "eps=1, delta=1e-4").status is Status.REFUTED


def test_events_of_gaussian_counts_happen_as_often_as_they_are_said_to(seed: int) -> None:
    """Each count is within six deviations with a probability of 1 - 2e-9."""
    mechanism = made(2, "gaussian", "2", "4")
    level = Fraction(1, 2)
    (_, nearby) = mechanism.below()
    assert isinstance(nearby, NearbyPairs)
    event = nearby.at_level(level)
    assert isinstance(event, KnownEvent)
    bound, number = event.event(level), 100_000
    score = mechanism.likelihood_score(event.pair)
    for side, chance, data in ((0, bound.p_lower, event.pair.dataset), (1, bound.q_upper, event.pair.neighbour)):
        released = mechanism.release_many(data, number, np.random.default_rng([seed, side]))
        seen = float((score(released) > float(level)).mean())
        assert abs(seen - chance) <= 6 * math.sqrt(chance * (1 - chance) / number) + 36 / number


@pytest.mark.parametrize("noise", NOISES)
def test_releases_have_the_chances_that_are_stated(noise: NoiseName, seed: int) -> None:
    """Six deviations of a binomial count: 2e-9 for each of three."""
    mechanism = made(2, noise, "2", "3", per_key=2)
    least, most = mechanism.chances
    number, data = 100_000, np.array([[2.0, 0.0]])
    released = mechanism.release_many(data, number, np.random.default_rng(seed))
    chance = 1 - float(least.withheld_ball())
    assert float(most.withheld_ball()) == pytest.approx(1 - chance, rel=1e-15)
    assert abs((released[:, 0] > 0).mean() - chance) <= 6 * math.sqrt(chance * (1 - chance) / number) + 36 / number
    assert (released[:, 1] == 0).all()  # a key that nobody has
    assert (released[released > 0] >= 3).all()


def test_the_chances_of_a_gaussian_key_enclose_the_truth() -> None:
    for distance in ("-3", "0.1", "5", "30"):
        low, high = KeyNoise(size=1, name="gaussian", scale=Fraction(2)).chances(Fraction(distance))
        truth = stats.norm.sf(float(Fraction(distance)) / 2)
        ends = [chance.released.rational for chance in (low, high)]
        assert None not in ends
        assert ends[0] < ends[1]  # type: ignore[operator]
        assert float(ends[0]) == pytest.approx(truth, rel=1e-12)  # type: ignore[arg-type]


def test_a_pair_of_a_single_user_has_its_own_loss() -> None:
    mechanism = made(2, "laplace", "1", "3", per_key=2)
    alone = neighbour_loss(mechanism, [2, 0])
    assert float(alone.delta(1)) == pytest.approx(stats.laplace.sf(1), rel=1e-12)
    assert neighbour_loss(mechanism, [0, 0]).delta(0) == 0
    both = made(1, "laplace", "1", "3", REPLACE_ONE, per_key=2)
    assert 0 < neighbour_loss(both, [2, 0], [1, 0]).delta(0) < neighbour_loss(both, [2, 0], [0, 2]).delta(0) + 1


def test_an_epsilon_is_told_from_both_sides() -> None:
    found = known_epsilon(made(2, "laplace", "2", "30"), Fraction("1e-5"))
    assert found.lower == pytest.approx(1.0, rel=1e-4)
    assert found.upper == pytest.approx(1.0, rel=1e-4)


@pytest.mark.parametrize(
    "wrong",
    [{"keys": 0}, {"keys": 2000}, {"noise": "cauchy"}, {"scale": 0}, {"threshold": -1}, {"per_key": 0}, {"dim": 1}],
)
def test_arguments_out_of_range_are_refused(wrong: dict[str, object]) -> None:
    right: dict[str, object] = {
        "keys": 2,
        "noise": "laplace",
        "scale": 1,
        "threshold": 9,
        "epsilon": 1,
        "delta": "1e-3",
        "adjacency": ADD_OR_REMOVE_ONE,
    }
    with pytest.raises(InvalidValue):
        ThresholdedCounts(**(right | wrong))  # type: ignore[arg-type]


def test_records_out_of_range_are_refused() -> None:
    mechanism = made(1, "laplace", "1", "3", REPLACE_ONE, per_key=2)
    for rows in ([[1.0, 1.0]], [[0.5, 0.0]], [[3.0, 0.0]], [[math.nan, 0.0]]):
        with pytest.raises(InvalidValue):
            mechanism.check_records(rows)


def test_a_division_of_the_keys_is_attained_by_its_datasets() -> None:
    mechanism = made(2, "laplace", "2", "5", REPLACE_ONE)
    pair = mechanism.pair_of(KeysOfUsers(1, 0, 3))
    here, there = (side.sum(axis=0) for side in (pair.dataset, pair.neighbour))
    assert ((here > 0) & (there == 0)).sum() == 1
    assert ((here == 0) & (there > 0)).sum() == 0
    assert (np.minimum(here, there)[here != there][1:] >= 5).all()
    for entry in mechanism.below():
        assert isinstance(entry, NearbyPairs)
        assert isinstance(entry.at_level(Fraction(1)), AttainedLoss)
