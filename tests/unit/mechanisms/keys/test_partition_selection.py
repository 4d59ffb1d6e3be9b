"""The optimal selection of keys: every pair of one key, claims beside the truth, and no chance could be larger."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import neighbour_loss
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import ApproximateDP
from dpverdict.mechanisms.keys.partition_selection import PartitionSelection


def hockey_stick(p: float, q: float, level: float) -> float:
    grown = math.exp(level)
    return max(p - grown * q, (1 - p) - grown * (1 - q), 0.0)


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "0.01"), ("0.1", "1e-3"), ("3", "1e-6"), ("0.5", "0.3")])
def test_one_key_is_as_private_as_the_worst_number_of_users(epsilon: str, delta: str) -> None:
    mechanism = PartitionSelection(keys=1, epsilon=epsilon, delta=delta)
    chances = [*mechanism.chances.tolist(), 1.0]
    for level in (0.0, 0.2, float(epsilon), 4.0):
        pairs = [(chances[n + 1], chances[n]) for n in range(len(chances) - 1)]
        largest = max(hockey_stick(*pair, level) for p, q in pairs for pair in ((p, q), (q, p)))
        truth = Fraction(largest)
        assert certify(mechanism, ApproximateDP(Fraction(level), truth * (1 + Fraction(1, 10**8)))).status is (
            Status.CERTIFIED
        )
        assert certify(mechanism, ApproximateDP(Fraction(level), truth * (1 - Fraction(1, 10**8)))).status is (
            Status.REFUTED
        )


@pytest.mark.parametrize("keys", [1, 3, 20])
def test_the_claim_holds_and_with_a_little_less_delta_it_does_not(keys: int) -> None:
    mechanism = PartitionSelection(keys=keys, epsilon=2, delta="1e-4")
    assert certify(mechanism).status is Status.CERTIFIED
    assert certify(mechanism, "eps=2, delta=9.9999e-5").status is Status.REFUTED
    assert certify(mechanism, "mu=9").status is Status.REFUTED


def test_a_chance_that_is_a_little_larger_breaks_the_claim() -> None:
    """The optimality, at each number of users: with the next chance raised by 1e-6 some pair exceeds the claim."""
    epsilon, delta = 1.0, 0.01
    chances = PartitionSelection(keys=1, epsilon=1, delta="0.01").chances
    for n in range(len(chances) - 1):
        raised = chances[n + 1] * (1 + 1e-6)
        if raised < 1:
            forth, back = hockey_stick(raised, chances[n], epsilon), hockey_stick(chances[n], raised, epsilon)
            assert max(forth, back) > delta


def test_keys_are_released_with_their_chances(seed: int) -> None:
    """Six deviations of a binomial count: 2e-9 for each of four."""
    mechanism = PartitionSelection(keys=2, epsilon=2, delta="0.02", dim=4)
    rows = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 0]], dtype=float)
    number = 100_000
    released = mechanism.release_many(rows, number, np.random.default_rng(seed))
    chances = mechanism.chances[[3, 1, 1, 0]]
    room = 6 * np.sqrt(chances * (1 - chances) / number) + 36 / number
    assert (np.abs(released.mean(axis=0) - chances) <= room).all()
    assert released[:, 3].sum() == 0


def test_a_single_user_has_a_loss_and_what_is_out_of_range_is_refused() -> None:
    mechanism = PartitionSelection(keys=1, epsilon=1, delta="0.01", dim=2)
    assert neighbour_loss(mechanism, [1, 0]).delta(1) == pytest.approx(0.01, rel=1e-9)
    assert neighbour_loss(mechanism, [0, 0]).delta(0) == 0
    for rows in ([[1, 1]], [[0.5, 0]], [[2, 0]]):
        with pytest.raises(InvalidValue):
            mechanism.check_records(rows)
    for wrong in ({"keys": 0}, {"epsilon": 0}, {"delta": 2}, {"epsilon": "1e-5", "delta": "1e-9"}, {"dim": 0}):
        with pytest.raises(InvalidValue):
            PartitionSelection(**({"keys": 1, "epsilon": 1, "delta": "0.01"} | wrong))  # type: ignore[arg-type]
