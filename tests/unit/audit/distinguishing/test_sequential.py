"""`distinguish_sequentially`: stops early, resumes as if nothing had happened, and refuses another test's state."""

import functools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpverdict.audit.distinguishing.sequential import SequentialTest, distinguish_sequentially
from dpverdict.audit.trials.run import AnyMechanism, batched
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, Guarantee, PureDP
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, NeighbourPair
from dpverdict.numerics.arrays import Array

PAIR = NeighbourPair(dataset=np.array([[0.0], [1.0]]), neighbour=np.array([[0.0]]), adjacency=ADD_OR_REMOVE_ONE)


def gaussian(sigma: float, m: int = 1) -> AnyMechanism:
    return batched(lambda d, rng, n: d.sum() / math.sqrt(m) + sigma * rng.normal(size=(n, m)))


class WhiteBox:
    """Gaussian noise with its likelihood ratio."""

    name = "white box"

    def __init__(self, sigma: float) -> None:
        self.sigma = sigma

    def release_many(self, dataset: Array, trials: int, rng: np.random.Generator) -> object:
        return dataset.sum() + self.sigma * rng.normal(size=trials)

    def likelihood_direction(self, pair: NeighbourPair) -> tuple[Array, float]:
        return np.array([1 / self.sigma**2]), 1 / 2 / self.sigma**2


def run(mechanism: AnyMechanism, claim: Guarantee | None = None, **change: Any) -> SequentialTest:
    arguments: dict[str, Any] = {"error_probability": 0.05, "most_samples": 4000, "seed": 3} | change
    return distinguish_sequentially(mechanism, PAIR, claim or GaussianDP(1), **arguments)


@pytest.mark.parametrize("mechanism", [WhiteBox(0.7), gaussian(0.7), gaussian(0.6, 5)])
def test_too_little_noise_is_refuted_early(mechanism: AnyMechanism) -> None:
    test = run(mechanism)  # fails with a probability far below 1e-6: see the medians in benchmarks/empirical_core.py
    assert test.refuted
    assert test.stopped_at is not None
    assert test.stopped_at <= test.samples < 4000
    assert test.p_value <= 0.05
    assert test.witness is not None
    json.dumps(test.witness, allow_nan=False)


@pytest.mark.parametrize("claim", [PureDP(1), ApproximateDP(1, "0.001")])
def test_claims_of_one_epsilon_are_refuted_in_both_orders(claim: Guarantee) -> None:
    laplace = batched(lambda d, rng, n: d.sum() + rng.laplace(scale=0.5, size=n))
    assert run(laplace, claim).refuted


@pytest.mark.parametrize("mechanism", [WhiteBox(1), gaussian(1)])
def test_a_test_that_was_interrupted_goes_on_as_if_nothing_had_happened(mechanism: AnyMechanism) -> None:
    whole = run(mechanism, most_samples=3072)
    state: dict[str, object] | None = None
    for most in (256, 1024, 1024, 3072):
        part = run(mechanism, most_samples=most, state=state)
        state = json.loads(json.dumps(part.state, allow_nan=False))
        assert part.samples == most
    assert part.state == whole.state
    assert part.e_value == whole.e_value


def test_a_test_may_stop_anywhere_and_a_refutation_stays() -> None:
    first = run(WhiteBox(0.7), most_samples=77)
    assert first.samples == 77
    second = run(WhiteBox(0.7), state=first.state)
    assert second.refuted
    assert run(WhiteBox(0.7), state=second.state).stopped_at == second.stopped_at


def test_without_a_known_score_the_first_pairs_only_train() -> None:
    assert run(gaussian(1), most_samples=50).bet_on == 42
    assert run(gaussian(1), most_samples=1000).bet_on == 992
    assert run(WhiteBox(1), most_samples=1000).bet_on == 1000


def test_the_weights_are_told_and_sum_to_at_most_one() -> None:
    for mechanism in (WhiteBox(1), gaussian(1)):
        test = run(mechanism, most_samples=300)
        assert len(test.scores) >= 2
        assert math.fsum(test.scores.values()) <= 1
        assert "not refuted" in test.summary()
    with pytest.raises(TypeError, match="refuted"):
        bool(test)


@pytest.mark.parametrize("change", [{"claim": GaussianDP(2)}, {"seed": 4}, {"error_probability": 0.01}])
def test_the_state_of_another_test_is_refused(change: dict[str, Any]) -> None:
    state = run(gaussian(1), most_samples=300).state
    with pytest.raises(InvalidValue, match=r"^state="):
        run(gaussian(1), **({"state": state} | change))


@pytest.mark.parametrize("state", [{}, {"version": 1}, {"version": 4, "identity": "x"}])
def test_a_state_of_another_form_is_refused(state: dict[str, object]) -> None:
    with pytest.raises(InvalidValue, match=r"^state="):
        run(gaussian(1), state=state)


def test_changed_code_is_another_test() -> None:
    @batched
    def one(d: Array, rng: np.random.Generator, trials: int) -> object:
        return d.sum() + rng.normal(size=trials)

    state = run(one, most_samples=300).state

    @batched
    def changed(d: Array, rng: np.random.Generator, trials: int) -> object:
        return d.sum() + 2 * rng.normal(size=trials)

    changed.function.__qualname__ = one.function.__qualname__
    with pytest.raises(InvalidValue, match=r"^state="):
        run(changed, most_samples=300, state=state)


def closing(scale: float) -> AnyMechanism:
    return lambda data, rng: data.sum() + rng.normal(scale=scale)


def noisy(data: Any, rng: np.random.Generator, scale: float) -> Any:
    return data.sum() + rng.normal(scale=scale)


class Held:
    def __init__(self, scale: float) -> None:
        self.scale, self.calls = [scale], 0

    def __call__(self, data: Any, rng: np.random.Generator) -> Any:
        self.calls += 1
        return data.sum() + rng.normal(scale=self.scale[0])


class OfAFile:
    """What it reads is nothing that its code shows."""

    scale = "1"

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __call__(self, data: Any, rng: np.random.Generator) -> Any:
        return data.sum() + rng.normal(scale=float(Path(self.path).read_text(encoding="utf-8")))


SWAPS = {
    "closure": closing,
    "partial": lambda scale: functools.partial(noisy, scale=scale),
    "attribute": Held,
    "batched": gaussian,
    "known score": WhiteBox,
}


@pytest.mark.parametrize("name", sorted(SWAPS))
def test_a_corrected_mechanism_inherits_nothing_of_a_wrong_one(name: str) -> None:
    make = SWAPS[name]
    state = run(make(0.8), most_samples=60).state
    with pytest.raises(
        InvalidValue, match=r"^state='made with a mechanism that has another (closure|argument|attribute)"
    ):
        run(make(1.0), most_samples=120, state=state)
    assert run(make(0.8), most_samples=120, state=state).samples == 120


def test_a_change_that_no_code_shows_is_seen_in_the_releases(tmp_path: Path) -> None:
    path = tmp_path / "scale"
    path.write_text("0.8", encoding="utf-8")
    test = run(OfAFile(path), most_samples=60)
    assert test.recognised
    path.write_text("1", encoding="utf-8")
    with pytest.raises(InvalidValue, match=r"^state='made with a mechanism that gives other releases'"):
        run(OfAFile(path), most_samples=120, state=test.state)


def test_what_running_changes_is_no_change_and_no_generator_is_said() -> None:
    counting = Held(0.9)
    first = run(counting, most_samples=60)
    assert run(counting, most_samples=70, state=first.state).samples == 70
    assert run(Held(0.9), most_samples=70, state=first.state).samples == 70
    rng = np.random.default_rng(1)
    unseeded = run(lambda data: data.sum() + rng.normal(), most_samples=60)
    assert (first.recognised, unseeded.recognised) == (True, False)


def test_an_edited_state_is_refused() -> None:
    state: dict[str, Any] = json.loads(json.dumps(run(gaussian(1), most_samples=60).state))

    def edits(value: Any) -> Iterator[Any]:
        """The value with one number in it made another."""
        if isinstance(value, dict):
            yield from (value | {name: one} for name, part in value.items() for one in edits(part))
        elif isinstance(value, list):
            yield from ([*value[:i], one, *value[i + 1 :]] for i, part in enumerate(value[:3]) for one in edits(part))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield value + 1

    edited = list(edits(state))
    assert len(edited) > 10
    for one in edited[:200]:
        with pytest.raises(InvalidValue, match=r"^state="):
            run(gaussian(1), most_samples=120, state=one)


def test_correct_mechanisms_after_a_swap_are_refuted_no_more_often_than_stated(seed: int) -> None:
    alarms, runs = 0, 20
    for i in range(runs):
        state = run(closing(0.75), most_samples=60, seed=seed + i).state
        try:
            alarms += run(closing(1.0), most_samples=120, seed=seed + i, state=state).refuted
        except InvalidValue:
            alarms += run(closing(1.0), most_samples=120, seed=seed + i).refuted
    assert stats.binomtest(alarms, runs, 0.05, alternative="greater").pvalue >= 1e-6


@pytest.mark.parametrize("mechanism", [WhiteBox(1), gaussian(1)])
def test_a_claim_that_holds_is_refuted_no_more_often_than_stated(mechanism: AnyMechanism, seed: int) -> None:
    alarms = sum(run(mechanism, error_probability=0.2, most_samples=1024, seed=seed + i).refuted for i in range(20))
    assert stats.binomtest(alarms, 20, 0.2, alternative="greater").pvalue >= 1e-6
