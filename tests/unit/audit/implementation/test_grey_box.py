"""Every planted slip of an implementation is seen in one run, and correct mechanisms pass every check."""

import random
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.audit.implementation.grey_box import GreyBoxFinding, draws_elsewhere, grey_box_checks
from dpverdict.audit.trials.run import AnyMechanism, batched
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE
from dpverdict.mechanisms.core.mechanism import GaussianMechanism
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE
from dpverdict.mechanisms.queries.correlated import CorrelatedGaussian
from dpverdict.mechanisms.queries.elliptical import EllipticalGaussian
from dpverdict.mechanisms.queries.grouped import GroupedGaussian
from dpverdict.mechanisms.queries.standard import StandardGaussian
from dpverdict.mechanisms.queries.vote_ellipse import VoteEllipse
from dpverdict.mechanisms.streams.tree_counter import TreeCounter

Array = NDArray[np.float64]
PAIR = (np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 1.0]]), np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]))


def right(dataset: Array, rng: np.random.Generator) -> object:
    return dataset.sum(axis=0) + rng.laplace(size=3)


def fixed_seed(dataset: Array, rng: np.random.Generator) -> object:
    return dataset.sum(axis=0) + np.random.default_rng(0).laplace(size=3)


def no_noise(dataset: Array, rng: np.random.Generator) -> object:
    rng.random()
    return dataset.sum(axis=0)


def global_numpy(dataset: Array, rng: np.random.Generator) -> object:
    return dataset.sum(axis=0) + np.random.laplace(size=3)  # noqa: NPY002  # the slip


def global_random(dataset: Array, rng: np.random.Generator) -> object:
    return dataset.sum(axis=0) + rng.laplace(size=3) + random.gauss(0, 1)


def operating_system(dataset: Array, rng: np.random.Generator) -> object:
    return dataset.sum(axis=0) + np.random.default_rng().laplace(size=3)


@batched
def one_noise_for_all_trials(dataset: Array, rng: np.random.Generator, trials: int) -> object:
    return np.tile(dataset.sum(axis=0) + rng.laplace(size=3), (trials, 1))


def one_noise_for_all_coordinates(dataset: Array, rng: np.random.Generator) -> object:
    return dataset.sum(axis=0) + rng.laplace() * np.ones(3)


def as_long_as_the_data(dataset: Array, rng: np.random.Generator) -> object:
    return dataset[:, 0] + rng.laplace(size=len(dataset))


def first_record_counts_twice(dataset: Array, rng: np.random.Generator) -> object:
    return dataset.sum(axis=0) + dataset[0] * np.array([1.0, 2.0, 0.0]) + rng.laplace(size=3)


def noise_for_every_record(dataset: Array, rng: np.random.Generator) -> object:
    return (dataset + rng.laplace(size=dataset.shape)).sum(axis=0)


def findings(mechanism: AnyMechanism) -> dict[str, GreyBoxFinding]:
    return {found.name: found for found in grey_box_checks(mechanism, PAIR, seed=4)}


@pytest.mark.parametrize(
    "mechanism",
    [
        right,
        CorrelatedGaussian(dim=3, mu=1),
        StandardGaussian(dim=3, mu=2, adjacency=ADD_OR_REMOVE_ONE),
        EllipticalGaussian(bounds=[2, 4, 6], mu=1),
    ],
)
def test_a_correct_implementation_passes(mechanism: AnyMechanism) -> None:
    assert all(found.holds for found in findings(mechanism).values())


def test_the_embedding_of_the_grouped_mechanism_under_replacement() -> None:
    mechanism = GroupedGaussian(dim=3, groups=2, mu=1, adjacency=REPLACE_ONE)
    pair = worst_case(mechanism).pair
    assert all(found.holds for found in grey_box_checks(mechanism, pair, seed=1))


SAME = "the same seed gives the same output"
ANOTHER = "another seed gives another output"
GENERATOR = "all randomness comes from the generator passed in"
FRESH = "every release has noise of its own"
COORDINATES = "coordinates have noise of their own"
SHAPE = "the shape of the output does not tell the number of records"
ORDER = "the order of the records does not show"
DRAWS = "the amount of randomness does not depend on the data"


@pytest.mark.parametrize(
    ("mechanism", "failed"),
    [
        (fixed_seed, {ANOTHER, GENERATOR, FRESH}),
        (no_noise, {ANOTHER, FRESH, COORDINATES}),
        (global_numpy, {SAME, GENERATOR}),
        (global_random, {SAME, GENERATOR}),
        (operating_system, {SAME, GENERATOR}),
        (one_noise_for_all_trials, {FRESH}),
        (one_noise_for_all_coordinates, {COORDINATES}),
        (as_long_as_the_data, {SHAPE, DRAWS, ORDER}),
        (first_record_counts_twice, {ORDER}),
        (noise_for_every_record, {DRAWS}),
    ],
)
def test_a_planted_slip_is_seen(mechanism: AnyMechanism, failed: set[str]) -> None:
    found = findings(mechanism)
    assert {name for name, finding in found.items() if finding.holds is False} == failed
    if SAME in failed:
        assert found[ORDER].holds is None


def test_an_embedding_that_moves_further_than_declared_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism: GaussianMechanism = CorrelatedGaussian(dim=3, mu=1)
    name = "the embedding moves no further than declared"
    assert findings(mechanism)[name].holds
    statistic = type(mechanism).statistic
    monkeypatch.setattr(type(mechanism), "statistic", lambda self, records: 1.001 * statistic(self, records))
    assert findings(mechanism)[name].holds is False


def test_what_cannot_be_checked_says_why() -> None:
    vote = VoteEllipse(dim=3, mu=1)
    found = {one.name: one for one in grey_box_checks(vote, worst_case(vote).pair, seed=1)}
    assert found[COORDINATES].holds is None
    assert "outside the domain" in found[COORDINATES].seen
    counter = TreeCounter(horizon=6, epsilon=1, arity=3)
    found = {one.name: one for one in grey_box_checks(counter, worst_case(counter).pair, seed=1)}
    assert "a stream" in found[ORDER].seen
    assert not any(one.holds is False for one in found.values())


def test_a_mechanism_that_raises_on_one_side_shows_it() -> None:
    def raises_on_less(dataset: Array, rng: np.random.Generator) -> object:
        if len(dataset) < 3:
            raise RuntimeError("too few")
        return right(dataset, rng)

    found = grey_box_checks(raises_on_less, PAIR, seed=4)
    assert found[0].holds
    shapes = next(one for one in found if one.name == SHAPE)
    assert shapes.holds is False
    assert "against raised builtins.RuntimeError" in shapes.seen
    assert not draws_elsewhere(found)


def test_a_mechanism_that_ends_the_program_ends_the_checks_and_not_the_audit() -> None:
    def ends_on_less(dataset: Array, rng: np.random.Generator) -> object:
        if len(dataset) < 3:
            raise SystemExit("too few")
        return right(dataset, rng)

    found = grey_box_checks(ends_on_less, PAIR, seed=4)
    assert found[-1].holds is None
    assert "SystemExit: too few" in found[-1].seen


def test_randomness_of_its_own_is_told_from_a_check_that_was_not_made() -> None:
    def own(dataset: Array, rng: np.random.Generator) -> object:
        return right(dataset, np.random.default_rng())

    def never(dataset: Array, rng: np.random.Generator) -> object:
        raise RuntimeError("at once")

    assert draws_elsewhere(grey_box_checks(own, PAIR, seed=4))
    for mechanism in (right, fixed_seed, never):
        assert not draws_elsewhere(grey_box_checks(mechanism, PAIR, seed=4))


def test_datasets_need_records() -> None:
    with pytest.raises(InvalidValue, match="neighbours"):
        grey_box_checks(right, (np.array(1.0), np.array(2.0)), seed=1)


def test_whole_numbers_that_are_equal_by_chance_fail_no_check() -> None:
    for seed in range(12):
        counter = TreeCounter(horizon=2, epsilon=8, arity=3)  # noise that is 0 most of the time
        found = grey_box_checks(counter, worst_case(counter).pair, seed=seed)
        assert not any(one.holds is False and one.breaks_privacy for one in found)


@pytest.mark.parametrize(
    "outcome", [float, bool, str, lambda hit: {"hit": int(hit)}], ids=["number", "truth", "text", "key"]
)
def test_an_outcome_that_is_likely_is_not_taken_for_a_missing_noise(
    outcome: Callable[[bool], object], seed: int
) -> None:
    """Of probability 0.995: three seeds give one output in all but few runs."""

    def rare(dataset: Array, rng: np.random.Generator) -> object:
        return outcome(bool(rng.random() < 0.005))

    found = findings(rare)
    assert found[ANOTHER].holds is not False
    assert found[FRESH].holds is not False


@pytest.mark.parametrize("answer", [3.0, "three", {"n": 3}])
def test_an_answer_of_few_values_without_a_draw_has_no_noise(answer: object) -> None:
    def counted(dataset: Array, rng: np.random.Generator) -> object:
        return answer

    found = findings(counted)
    assert found[ANOTHER].holds is False
    assert found[FRESH].holds is False


def test_a_coin_has_noise_of_its_own_in_every_release() -> None:
    for seed in range(20):
        found = {one.name: one for one in grey_box_checks(lambda x, rng: bool(rng.random() < 0.5), PAIR, seed=seed)}
        assert found[FRESH].holds
        assert found[ANOTHER].holds is not False


@pytest.mark.parametrize("chance", [0.005, 0.1, 0.5])
def test_coins_that_fall_alike_have_noise_of_their_own(chance: float) -> None:
    for seed in range(20):
        coins = grey_box_checks(lambda x, rng: rng.random(2) < chance, PAIR, seed=seed)
        assert {one.name: one for one in coins}[COORDINATES].holds is not False


def test_noise_that_is_cut_off_at_one_value_is_noise() -> None:
    """Both coordinates, and both releases, are 0.5 in most runs."""
    for seed in range(20):
        found = grey_box_checks(lambda x, rng: np.maximum(rng.normal(size=2), 0.5), PAIR, seed=seed)
        assert not any(one.holds is False and one.breaks_privacy for one in found)


def test_one_coin_for_all_coordinates_is_seen() -> None:
    assert findings(lambda x, rng: np.full(3, rng.random() < 0.5))[COORDINATES].holds is False


def test_one_coin_for_all_releases_is_seen() -> None:
    @batched
    def one_coin(dataset: Array, rng: np.random.Generator, trials: int) -> Array:
        return np.full((trials, 1), float(rng.random() < 0.5))

    assert findings(one_coin)[FRESH].holds is False
