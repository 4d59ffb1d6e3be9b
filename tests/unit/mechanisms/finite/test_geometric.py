"""The geometric mechanism: the laws on the integers and on a range, against sums written out, and its samplers."""

from typing import Any

import numpy as np
import pytest

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, REPLACE_ONE, GeometricMechanism

LOW, HIGH = 0, 6
N = 20_000


def law(mechanism: GeometricMechanism, count: int) -> Any:
    """The probabilities of low, ..., high, written out; of -300, ..., 300 where unbounded."""
    a, space = np.exp(-float(mechanism.noise.rate)), mechanism.sensitivity
    if space.outputs == "bounded":
        weights = a ** np.abs(np.arange(LOW, HIGH + 1) - np.clip(count, LOW, HIGH))
        return weights / weights.sum()
    reach = np.arange(-300, 301)
    weights = a ** np.abs(reach - count) * (1 - a) / (1 + a)
    return weights if space.outputs == "unbounded" else np.bincount(np.clip(reach, LOW, HIGH), weights)


def mechanism_of(outputs: Any, reach: int) -> GeometricMechanism:
    ends = {} if outputs == "unbounded" else {"low": LOW, "high": HIGH}
    return GeometricMechanism(epsilon=1, adjacency=REPLACE_ONE, sensitivity=reach, outputs=outputs, **ends)


@pytest.mark.parametrize("reach", [1, 2, 3])
@pytest.mark.parametrize("outputs", ["unbounded", "truncated", "bounded"])
def test_every_pair_of_counts_has_the_law_written_out_and_is_within_the_worst(outputs: str, reach: int) -> None:
    mechanism = mechanism_of(outputs, reach)
    worst = worst_case(mechanism)
    largest = 0.0
    for here in range(-2, 9):
        for there in range(max(here - reach, -2), here + reach + 1):
            p, q = law(mechanism, here), law(mechanism, there)
            loss = mechanism.sensitivity.loss_of_counts(mechanism.noise, here, there)
            for level in (0.0, 0.3, 0.8):
                truth = float(np.maximum(p - np.exp(level) * q, 0).sum())
                assert loss.delta(level) == pytest.approx(truth, abs=1e-12)
                assert truth <= worst.loss.delta(level) + 1e-12
                if worst.exact and abs(here - there) == reach and 0 <= min(here, there) <= HIGH - reach:
                    largest = max(largest, loss.delta(level) / max(worst.loss.delta(level), 1e-300))
    assert not worst.exact or largest == pytest.approx(1, rel=1e-12)
    assert worst.exact == (outputs != "bounded")
    assert certify(mechanism).status is Status.CERTIFIED


def test_a_range_shorter_than_a_move_hides_it_and_only_bounds() -> None:
    short = GeometricMechanism(epsilon=1, adjacency=REPLACE_ONE, sensitivity=5, outputs="truncated", low=0, high=3)
    assert worst_case(short).exact is False
    assert certify(short).status is Status.CERTIFIED


def test_the_worst_datasets_have_the_stated_counts() -> None:
    for low in (0, 7):
        for adjacency in (ADD_OR_REMOVE_ONE, REPLACE_ONE):
            mechanism = GeometricMechanism(
                epsilon=1, adjacency=adjacency, sensitivity=3, outputs="truncated", low=low, high=low + 9
            )
            pair = worst_case(mechanism).pair
            assert (pair.dataset.sum(), pair.neighbour.sum()) == (low + 3, low)


@pytest.mark.parametrize("outputs", ["truncated", "bounded"])
def test_a_range_is_sampled_as_stated(outputs: Any, seed: int) -> None:
    mechanism = mechanism_of(outputs, 2)
    released = mechanism.release_many(np.ones((5, 1)), N, np.random.default_rng(seed))[:, 0]
    for value, chance in zip(range(LOW, HIGH + 1), law(mechanism, 5), strict=True):
        slack = 6 * np.sqrt(chance * (1 - chance) / N) + 36 / N  # two-sided probability 2e-9, seven times
        assert abs((released == value).mean() - chance) <= slack


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"outputs": "truncated"}, "low=None"),
        ({"low": 0}, "left out"),
        ({"outputs": "bounded", "low": 3, "high": 3}, "high=3"),
        ({"outputs": "clipped"}, "outputs='clipped'"),
        ({"sensitivity": 1 << 20}, "sensitivity"),
        ({"rate": 0}, "rate"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        GeometricMechanism(epsilon=1, adjacency=REPLACE_ONE, **arguments)
    with pytest.raises(InvalidValue, match="whole number"):
        GeometricMechanism(epsilon=1, adjacency=REPLACE_ONE).release([[0.5]], np.random.default_rng(1))
