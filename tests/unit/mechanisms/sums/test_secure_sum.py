"""Secure sums: the laws of shares and the profiles against SciPy and against convolutions in plain floats."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb
from scipy import stats

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import neighbour_loss
from dpverdict.balls import precision
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import ApproximateDP
from dpverdict.mechanisms.core.bounds import DeltaBound, Dominating, KnownEvent
from dpverdict.mechanisms.sums.secure_sum import SecureSum
from dpverdict.mechanisms.sums.shares import BITS, SumOfShares
from dpverdict.numerics.arrays import Array

LEVELS = (Fraction(0), Fraction(1, 4), Fraction(1), Fraction(2))
CASES: dict[str, dict[str, Any]] = {
    "skellam": {"noise": "skellam", "variance": "0.7", "parties": 9, "dropouts": 3},
    "skellam, far": {"noise": "skellam", "variance": 3, "parties": 20, "sensitivity": 4},
    "binomial": {"noise": "binomial", "variance": "1.25", "parties": 7, "dropouts": 2},
    "discrete gaussian": {
        "noise": "discrete-gaussian",
        "variance": "0.4",
        "parties": 11,
        "dropouts": 4,
        "sensitivity": 2,
    },
    "geometric": {"noise": "geometric", "scale": 2, "parties": 5, "sensitivity": 2},
    "geometric, dropouts": {"noise": "geometric", "scale": 2, "parties": 5, "dropouts": 3},
    "skellam, modulo": {"noise": "skellam", "variance": 3, "parties": 6, "sensitivity": 4, "modulus": 13},
    "binomial, modulo": {"noise": "binomial", "variance": "0.75", "parties": 6, "sensitivity": 2, "modulus": 5},
}


def made(**given: Any) -> SecureSum:
    return SecureSum(**({"epsilon": 1, "delta": "1e-3"} | given))


def law_in_floats(given: dict[str, Any]) -> Array:
    """The law of the sum about the middle of an odd number of values, by other code."""
    present, kind = given["parties"] - given.get("dropouts", 0), given["noise"]
    z = np.arange(-200, 201)
    if kind == "skellam":
        half = float(Fraction(given["variance"])) * present / 2
        return np.asarray(stats.skellam.pmf(z, half, half))
    if kind == "binomial":
        coins = int(4 * Fraction(given["variance"])) * present
        return np.asarray(stats.binom.pmf(z + coins // 2, coins, 0.5))
    if kind == "discrete-gaussian":
        share = np.exp(-(z**2) / (2 * float(Fraction(given["variance"]))))
        share /= share.sum()
        found = np.zeros(len(z))
        found[200] = 1.0
        for _ in range(present):
            found = np.convolve(found, share, mode="same")
        return found
    share = stats.nbinom.pmf(np.arange(401), present / given["parties"], 1 - math.exp(-1 / float(given["scale"])))
    return np.asarray(np.convolve(share, share[::-1])[200:601])


def profile(given: dict[str, Any], level: float) -> float:
    """The largest hockey-stick divergence over all moves, in both directions."""
    law, modulus, largest = law_in_floats(given), given.get("modulus", 0), 0.0
    for move in range(1, given.get("sensitivity", 1) + 1):
        zeros = np.zeros(move)
        here, there = np.append(zeros, law), np.append(law, zeros)
        if modulus:
            at = np.arange(len(here)) % modulus
            here, there = np.bincount(at, here), np.bincount(at, there)
        for p, q in ((here, there), (there, here)):
            largest = max(largest, float(np.maximum(p - math.exp(level) * q, 0).sum()))
    return largest


@pytest.mark.parametrize("given", CASES.values(), ids=CASES)
def test_the_profile_is_that_of_laws_in_floats_and_claims_beside_it_are_decided(given: dict[str, Any]) -> None:
    mechanism = made(**given)
    for level in LEVELS:
        truth = profile(given, float(level))
        first = mechanism.above()[0]
        if isinstance(first, DeltaBound):
            bound = first.at(level)
            assert bound is not None
            above = float(bound)
        else:
            assert isinstance(first, Dominating)
            above = float(first.loss.certified_delta(level).upper)
        if truth < 1e-12:
            assert above < 1e-11
            continue
        assert above == pytest.approx(truth, rel=1e-6)
        if math.isclose(above, truth, rel_tol=1e-6) and 0 < above < 0.99:
            exact, off = Fraction(above), Fraction(1, 10**7)
            assert certify(mechanism, ApproximateDP(level, exact * (1 + off))).status is Status.CERTIFIED
            assert certify(mechanism, ApproximateDP(level, exact * (1 - off))).status is Status.REFUTED


@pytest.mark.parametrize("given", CASES.values(), ids=CASES)
def test_the_masses_on_the_window_add_up_to_one(given: dict[str, Any]) -> None:
    law = made(**given).noise.shares.law()
    with precision(BITS):
        total = sum(law, arb(0))
        assert not total > 1
        assert total > 1 - arb(10) ** -70


def test_fewer_shares_are_worse_and_a_smaller_modulus_is_better() -> None:
    def at(**given: Any) -> float:
        first = made(noise="skellam", variance="0.1", parties=20, sensitivity=2, **given).above()[0]
        found = first.at(Fraction(1, 10)) if isinstance(first, DeltaBound) else None
        assert isinstance(first, DeltaBound | Dominating)
        return float(found) if found is not None else first.loss.delta("0.1")  # type: ignore[union-attr]

    assert at() < at(dropouts=5) < at(dropouts=15)
    assert at(modulus=5) < at(modulus=9) <= at() * (1 + 1e-9)


def test_sums_are_released_with_their_chances(seed: int) -> None:
    """Six deviations of a binomial count: 2e-9 for each of some forty sums."""
    mechanism = made(noise="binomial", variance="1.25", parties=3, modulus=7)
    number, law = 100_000, np.array([float(weight) for weight in mechanism.noise.shares.law()])
    released = mechanism.release_many([[1], [0], [1]], number, np.random.default_rng(seed))[:, 0]
    at = (np.arange(len(law)) - (len(law) - 1) // 2 + 2) % 7
    chances = np.bincount(at, law, minlength=7)
    seen = np.bincount(released.astype(int), minlength=7) / number
    assert (np.abs(seen - chances) <= 6 * np.sqrt(chances * (1 - chances) / number) + 36 / number).all()


def test_an_event_has_the_probabilities_of_its_sums() -> None:
    mechanism = made(noise="skellam", variance=1, parties=10)
    (entry,) = mechanism.below()
    assert isinstance(entry, KnownEvent)
    event = entry.event(Fraction(1, 2))
    assert event.delta_lower(Fraction(1, 2)) == pytest.approx(
        profile({"noise": "skellam", "variance": 1, "parties": 10}, 0.5)
    )
    assert "likelihood ratio exceeds exp(0.5)" in event.event


def test_a_pair_of_numbers_has_the_loss_of_its_move() -> None:
    mechanism = made(noise="skellam", variance=1, parties=4, sensitivity=3)
    assert neighbour_loss(mechanism, [2], [2]).delta(0) == 0
    assert neighbour_loss(mechanism, [3], [1]).delta(0) < neighbour_loss(mechanism, [0], [3]).delta(0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"parties": 0},
        {"dropouts": 5},
        {"sensitivity": 0},
        {"modulus": 1},
        {"noise": "cauchy"},
        {"variance": None},
        {"scale": 1},
        {"noise": "binomial", "variance": "0.3"},
        {"noise": "geometric"},
        {"noise": "geometric", "variance": None, "scale": 3, "dropouts": 1, "sensitivity": 2},
        {"variance": "1e9"},
    ],
)
def test_arguments_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        made(**({"noise": "skellam", "variance": 1, "parties": 5} | wrong))


def test_records_out_of_range_are_refused() -> None:
    mechanism = made(noise="skellam", variance=1, parties=2)
    for rows in ([[1], [0], [0]], [[0.5], [0]], [[2], [0]]):
        with pytest.raises(InvalidValue):
            mechanism.check_records(rows)
    assert SumOfShares(name="skellam", size=Fraction(1), present=2, parties=2).doubled_offset == 0
