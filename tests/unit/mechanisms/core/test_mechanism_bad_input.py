"""What the Gaussian mechanisms refuse: every message names the value, the requirement and the remedy on one line."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from dp_accounting import NeighboringRelation

from dpverdict.audit.exact.worst_case import neighbour_loss
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    CorrelatedGaussian,
    EllipticalGaussian,
    EmbeddedGaussian,
    GroupedGaussian,
    Mechanism,
    StandardGaussian,
    broken,
)

CONSTRUCTORS: dict[str, Callable[..., Any]] = {
    "standard": partial(StandardGaussian, adjacency=REPLACE_ONE),
    "correlated": CorrelatedGaussian,
    "grouped": lambda **p: GroupedGaussian(groups=2, adjacency=REPLACE_ONE, **p),
    "elliptical": lambda **p: EllipticalGaussian(bounds=1, **p),
    "embedded": partial(EmbeddedGaussian, adjacency=ADD_OR_REMOVE_ONE),
}
BAD_DIMS = [0, -1, 1.5, True, "3", None, math.nan, np.array([2])]
BAD_NUMBERS = [0, -1, "-1e-300", math.nan, math.inf, "abc", "1e", "", "nan", True, [1]]


def assert_one_line(error: pytest.ExceptionInfo[InvalidValue], name: str) -> None:
    """Name, value, requirement, remedy, in that order and on one line."""
    message = str(error.value)
    assert message.startswith(f"{name}=")
    assert "\n" not in message
    assert " must be " in message
    assert message.endswith(error.value.remedy)
    assert error.value.requirement
    assert error.value.remedy


@pytest.mark.parametrize("make", CONSTRUCTORS.values(), ids=CONSTRUCTORS)
@pytest.mark.parametrize("bad", BAD_DIMS, ids=repr)
def test_a_dimension_that_is_no_positive_whole_number_is_refused(make: Callable[..., Any], bad: object) -> None:
    with pytest.raises(InvalidValue) as error:
        make(dim=bad, mu=1)
    assert_one_line(error, "bounds" if bad is None and "bounds" in str(error.value) else "dim")


@pytest.mark.parametrize("make", CONSTRUCTORS.values(), ids=CONSTRUCTORS)
@pytest.mark.parametrize("bad", [*BAD_NUMBERS, None], ids=repr)
def test_a_mu_that_is_no_positive_number_is_refused(make: Callable[..., Any], bad: object) -> None:
    with pytest.raises(InvalidValue) as error:
        make(dim=3, mu=bad)
    assert_one_line(error, "mu")


@pytest.mark.parametrize("make", [CorrelatedGaussian, CONSTRUCTORS["embedded"]], ids=["c", "e"])
@pytest.mark.parametrize("bad", BAD_NUMBERS, ids=repr)
def test_an_embedding_constant_that_is_no_positive_number_is_refused(make: Callable[..., Any], bad: object) -> None:
    with pytest.raises(InvalidValue) as error:
        make(dim=3, mu=1, C=bad)
    assert_one_line(error, "C")


@pytest.mark.parametrize("make", CONSTRUCTORS.values(), ids=CONSTRUCTORS)
@pytest.mark.parametrize("extreme", ["1e-400", "1e400"])
def test_a_scale_that_float64_cannot_hold_is_refused(make: Callable[..., Any], extreme: str) -> None:
    with pytest.raises(InvalidValue) as error:
        make(dim=3, mu=extreme)
    assert_one_line(error, "scale")


@pytest.mark.parametrize("make", [CorrelatedGaussian, CONSTRUCTORS["embedded"]], ids=["c", "e"])
@pytest.mark.parametrize("extreme", ["1e-400", "1e400"])
def test_an_embedding_constant_that_float64_cannot_hold_is_refused(make: Callable[..., Any], extreme: str) -> None:
    with pytest.raises(InvalidValue):
        make(dim=3, mu=1, C=extreme)


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, None])
def test_a_number_of_groups_that_is_no_positive_whole_number_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidValue) as error:
        GroupedGaussian(groups=bad, dim=2, mu=1, adjacency=REPLACE_ONE)
    assert_one_line(error, "groups")


@pytest.mark.parametrize("bad", [None, "replace-one", NeighboringRelation.REPLACE_SPECIAL, 1])
@pytest.mark.parametrize(
    "make", [StandardGaussian, EmbeddedGaussian, lambda **p: GroupedGaussian(groups=1, **p)], ids=["s", "e", "g"]
)
def test_a_relation_that_is_not_one_of_the_two_is_refused(make: Callable[..., Any], bad: object) -> None:
    with pytest.raises(InvalidValue) as error:
        make(dim=2, mu=1, adjacency=bad)
    assert_one_line(error, "adjacency")


@pytest.mark.parametrize(
    "make",
    [
        partial(GroupedGaussian, groups=1, dim=2, mu=1),
        partial(StandardGaussian, dim=2, mu=1),
        partial(StandardGaussian.classic, dim=2, epsilon=1, delta="1e-6"),
        partial(StandardGaussian.analytic, dim=2, epsilon=1, delta="1e-6"),
        partial(EmbeddedGaussian, dim=2, mu=1),
    ],
    ids=["grouped", "standard", "classic", "analytic", "embedded"],
)
def test_the_relation_has_no_default(make: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="adjacency"):
        make()


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"count": "hidden"}, "count"),
        ({"count": True}, "count"),
        ({"count": "estimated"}, "size_estimate"),
        ({"size_estimate": 5}, "size_estimate"),
        ({"count": "withheld", "size_estimate": 5}, "size_estimate"),
        ({"count": "estimated", "size_estimate": math.nan}, "size_estimate"),
        ({"count": "estimated", "size_estimate": "abc"}, "size_estimate"),
        ({"count": "estimated", "size_estimate": "1e400"}, "size_estimate"),
        ({"count": "estimated", "size_estimate": 5, "C": 1}, "C"),
    ],
    ids=str,
)
def test_options_that_do_not_fit_together_are_refused(options: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidValue) as error:
        CorrelatedGaussian(dim=2, mu=1, **options)
    assert_one_line(error, name)


@pytest.mark.parametrize(
    "bounds",
    [
        [-1],
        ["-1e-400"],
        [1, math.nan],
        [math.inf, 1],
        ["1e400"],
        [0, 0],
        [],
        ["abc"],
        [True],
        [[1, 2]],
        None,
        np.array([1.0, math.nan]),
        np.array([[1.0]]),
        np.array([-0.5]),
        np.array([True]),
        np.array([1j]),
        True,
        "abc",
    ],
    ids=repr,
)
def test_bounds_that_are_no_sensitivities_are_refused(bounds: Any) -> None:
    dim = 2 if isinstance(bounds, bool | str) else None
    with pytest.raises(InvalidValue) as error:
        EllipticalGaussian(bounds=bounds, mu=1, dim=dim)
    assert_one_line(error, "bounds")


def test_a_dimension_that_contradicts_the_bounds_is_refused() -> None:
    with pytest.raises(InvalidValue, match=r"^dim=3 must be the number of bounds, 2"):
        EllipticalGaussian(bounds=[1, 2], dim=3, mu=1)
    with pytest.raises(InvalidValue, match=r"^bounds=1 must be one number per coordinate"):
        EllipticalGaussian(bounds=1, mu=1)


MECHANISMS = [
    StandardGaussian(dim=2, mu=1, adjacency=ADD_OR_REMOVE_ONE),
    CorrelatedGaussian(dim=2, mu=1),
    CorrelatedGaussian(dim=2, mu=1, count="estimated", size_estimate=1),
    GroupedGaussian(groups=2, dim=2, mu=1, adjacency=REPLACE_ONE),
    EllipticalGaussian(bounds=[1, 2], mu=1),
    broken.by_name("M3").make(2, 1),
    broken.by_name("M9").make(2, 1),
    broken.by_name("E1").make(2, 1),
]
WHOLE = [*MECHANISMS, EmbeddedGaussian(dim=2, mu=1, adjacency=ADD_OR_REMOVE_ONE)]


@pytest.mark.parametrize("mechanism", WHOLE, ids=lambda m: getattr(m, "name", "embedded"))
def test_a_dataset_of_another_shape_or_range_is_refused(mechanism: Any) -> None:
    shape = getattr(mechanism, "record_shape", (2,))
    rng = np.random.default_rng(0)
    zeros = np.zeros((3, *shape))
    wrong: list[Any] = [
        zeros[0],
        zeros[None],
        np.zeros((3, *shape[:-1], 3)),
        np.zeros((0,)),
        5.0,
        [["a", "b"]],
        None,
        [[1.0, 2.0], [1.0]],
        zeros + 1j,
        zeros.astype(object),
    ]
    for value in (math.nan, math.inf, -math.inf, 1.5, -1.25):
        bad = zeros.copy()
        bad[1, ..., 0] = value
        wrong.append(bad)
    for dataset in wrong:
        with pytest.raises(InvalidValue, match=r"^dataset") as error:
            mechanism.release(dataset, rng)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("mechanism", WHOLE, ids=lambda m: getattr(m, "name", "embedded"))
@pytest.mark.parametrize("trials", [0, -3, 1.5, True, None])
def test_a_number_of_trials_that_is_no_positive_whole_number_is_refused(mechanism: Any, trials: Any) -> None:
    zeros = np.zeros((1, *getattr(mechanism, "record_shape", (2,))))
    with pytest.raises(InvalidValue) as error:
        mechanism.release_many(zeros, trials, np.random.default_rng(0))
    assert_one_line(error, "trials")


def test_a_record_of_two_groups_is_refused_by_its_number() -> None:
    mechanism = GroupedGaussian(groups=2, dim=2, mu=1, adjacency=REPLACE_ONE)
    both = np.zeros((3, 2, 2))
    both[1] = 0.5
    with pytest.raises(InvalidValue, match="number 1, in 2 groups") as error:
        mechanism.embed(both)
    assert_one_line(error, "dataset record")


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.name)
def test_a_replacement_that_does_not_fit_the_relation_is_refused(mechanism: Any) -> None:
    record = np.zeros(mechanism.record_shape)
    replacement = None if mechanism.adjacency is REPLACE_ONE else record
    with pytest.raises(InvalidValue) as error:
        neighbour_loss(mechanism, record, replacement)
    assert_one_line(error, "replacement")


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.name)
@pytest.mark.parametrize("bad", [0.0, np.zeros(3), np.full(2, math.nan), np.full((2, 2), 7.0)], ids=repr)
def test_a_record_of_another_shape_or_range_has_no_loss(mechanism: Any, bad: Any) -> None:
    replaced = mechanism.adjacency is REPLACE_ONE
    good = np.zeros(mechanism.record_shape)
    with pytest.raises(InvalidValue, match=r"^dataset"):
        neighbour_loss(mechanism, bad, good if replaced else None)
    if replaced:
        with pytest.raises(InvalidValue, match=r"^dataset"):
            neighbour_loss(mechanism, good, bad)


def test_mechanisms_meet_the_protocol() -> None:
    assert all(isinstance(mechanism, Mechanism) for mechanism in WHOLE)
    assert not isinstance(object(), Mechanism)
