"""Sensitivity spaces on noise of any shape: their maximum is that of a grid of vertices, and bad ones are refused."""

import itertools
import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverdict.balls import Real
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import REPLACE_ONE, Cube, SharedNoise
from dpverdict.mechanisms.core.noise import DiagonalNoise, GroupedNoise
from dpverdict.mechanisms.core.sensitivity import Box, Maximum, NormBall, ReplacementCube
from dpverdict.mechanisms.queries.grouped import GroupedCube

Array = NDArray[np.float64]

LAWS = [
    SharedNoise(dim=4, independent_scale=1.1, shared_scale=0.0),
    SharedNoise(dim=4, independent_scale=1.1, shared_scale=2.5),
    SharedNoise(dim=4, independent_scale=1.1, shared_scale=2.5, count_loading=2),
    SharedNoise(dim=4, independent_scale=1.1, shared_scale=0.2, count_loading=-2),
    SharedNoise(dim=4, independent_scale=1.1, shared_scale=0.9, count_loading=1, count_scale=0.3),
    SharedNoise(dim=4, independent_scale=1.1, shared_scale=0.9, count_loading=0, count_scale=0.3),
    SharedNoise(dim=4, independent_scale=1.1, shared_scale=0.9, count_loading=0),
    SharedNoise(dim=4, independent_scale=0.0, shared_scale=0.9),
]


def order(value: Real | None) -> tuple[bool, Fraction]:
    """Infinity last; the spaces of this file are rational."""
    if value is None:
        return True, Fraction(0)
    assert value.rational is not None
    return False, value.rational


def assert_maximal(maximum: Maximum, attained: Real | None, others: list[Real | None]) -> None:
    assert order(maximum.mu_squared) == max(order(value) for value in others)
    assert order(attained) == order(maximum.mu_squared)
    assert maximum.description
    assert maximum.justification


@pytest.mark.parametrize("noise", LAWS, ids=repr)
@pytest.mark.parametrize(
    "space",
    [
        Cube(dim=4),
        Cube(dim=4, low=Fraction(-1), high=Fraction(3, 2)),
        Cube(dim=4, nonzero=2),
        Cube(dim=4, copies=3),
        Cube(dim=4, offset=Fraction(1, 2)),
        Cube(dim=4, low=Fraction(-3), high=Fraction(1, 4), offset=Fraction(1, 8)),
    ],
    ids=repr,
)
def test_the_maximum_over_a_cube_is_that_of_its_vertices(space: Cube, noise: SharedNoise) -> None:
    corners = itertools.product((float(space.low), float(space.high)), repeat=4)
    allowed = [np.array(c) for c in corners if space.nonzero is None or np.count_nonzero(c) <= space.nonzero]
    maximum = space.maximise(noise)
    record, replacement = maximum.records()
    assert replacement is None
    values = [space.mu_squared(noise, corner) for corner in allowed]
    if noise.independent_scale == 0 or noise.form() is None:
        assert maximum.mu_squared is None
        assert space.mu_squared(noise, record) is None
        return
    assert_maximal(maximum, space.mu_squared(noise, record), values)


@pytest.mark.parametrize("noise", LAWS, ids=repr)
def test_the_maximum_over_replacements_is_that_of_the_sign_vectors(noise: SharedNoise) -> None:
    space = ReplacementCube(dim=4)
    maximum = space.maximise(noise)
    record, replacement = maximum.records()
    corners = [np.array(c) for c in itertools.product((0.0, 1.0), repeat=4)]
    values = [space.mu_squared(noise, a, b) for a, b in itertools.product(corners, corners)]
    assert_maximal(maximum, space.mu_squared(noise, record, replacement), values)


def test_equal_queries_without_noise_of_their_own_are_finite_on_the_line_alone() -> None:
    noise = SharedNoise(dim=3, independent_scale=0.0, shared_scale=0.5)
    on_line = Cube(dim=3).mu_squared(noise, np.full(3, 0.5))
    assert on_line is not None
    assert on_line.rational == 1
    assert Cube(dim=3).mu_squared(noise, np.array([1.0, 1.0, 0.5])) is None
    assert Cube(dim=3).mu_squared(SharedNoise(dim=3, independent_scale=0.0), np.ones(3)) is None


def test_the_ball_is_worst_on_its_sphere(seed: int) -> None:
    space, noise = NormBall(dim=3, radius=2.5), SharedNoise(dim=3, independent_scale=5.0)
    maximum = space.maximise(noise)
    assert maximum.mu_squared is not None
    assert maximum.mu_squared.rational == Fraction(1, 4)
    for point in np.random.default_rng(seed).standard_normal((20, 3)):
        value = space.mu_squared(noise, point / np.linalg.norm(point) * 2.4)
        assert value is not None
        assert value.rational is not None
        assert value.rational < Fraction(1, 4)


def test_a_box_of_many_different_sides_is_enclosed_in_a_ball(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bounds, scales = rng.random(300) + 0.1, rng.random(300) + 1.0
    space = Box(bounds=bounds)
    few = space.mu_squared(DiagonalNoise(scales=scales[:200]), bounds[:200] / 2, -bounds[:200] / 2)
    many = space.mu_squared(DiagonalNoise(scales=scales), bounds / 2, -bounds / 2)
    assert few is not None
    assert few.rational is not None
    assert many is not None
    assert many.rational is None  # refined as far as a comparison needs
    exact = sum(((Fraction(b) / Fraction(s)) ** 2 for b, s in zip(bounds, scales, strict=True)), Fraction(0))
    assert math.isclose(many.nearest(), float(exact), rel_tol=1e-15)
    assert few.rational == sum(
        ((Fraction(b) / Fraction(s)) ** 2 for b, s in zip(bounds[:200], scales[:200], strict=True)), Fraction(0)
    )


def test_a_box_side_without_noise_is_infinite_where_it_moves() -> None:
    space, noise = Box(bounds=np.array([1.0, 2.0])), DiagonalNoise(scales=np.array([1.0, 0.0]))
    assert space.maximise(noise).mu_squared is None
    still = space.mu_squared(noise, np.array([0.5, 1.0]), np.array([-0.5, 1.0]))
    assert still is not None
    assert still.rational == 1
    bare = space.mu_squared(DiagonalNoise(scales=np.zeros(2)), np.array([0.5, 1.0]), np.array([0.5, 1.0]))
    assert bare is not None
    assert bare.rational == 0


DIAGONAL = DiagonalNoise(scales=np.ones(2))
SHARED = SharedNoise(dim=2, independent_scale=1.0)
COUNTED = SharedNoise(dim=2, independent_scale=1.0, shared_scale=1.0, count_loading=2)
GROUPED = GroupedNoise(groups=2, row=COUNTED)
GROUPS = GroupedCube(groups=2, dim=2, adjacency=REPLACE_ONE)


@pytest.mark.parametrize(
    ("space", "noise"),
    [
        (Cube(dim=2), DIAGONAL),
        (ReplacementCube(dim=2), DIAGONAL),
        (GROUPS, SHARED),
        (Box(bounds=np.ones(2)), SHARED),
        (NormBall(dim=2, radius=1.0), DIAGONAL),
        (NormBall(dim=2, radius=1.0), COUNTED),
        (NormBall(dim=2, radius=1.0), SharedNoise(dim=2, independent_scale=1.0, shared_scale=1.0)),
    ],
    ids=repr,
)
def test_a_pair_of_space_and_noise_without_an_exact_maximiser_is_refused(space: Any, noise: Any) -> None:
    named = re.escape(f"{type(noise).__name__} over {type(space).__name__}")
    with pytest.raises(InvalidValue, match=named):
        space.maximise(noise)
    with pytest.raises(InvalidValue, match=named):
        space.mu_squared(noise, np.zeros(2), np.zeros(2))


@pytest.mark.parametrize(
    ("space", "noise", "replacement"),
    [
        (Cube(dim=2), SHARED, np.zeros(2)),
        (ReplacementCube(dim=2), SHARED, None),
        (Box(bounds=np.ones(2)), DIAGONAL, None),
        (NormBall(dim=2, radius=1.0), SHARED, np.zeros(2)),
    ],
    ids=repr,
)
def test_a_replacement_of_the_wrong_relation_is_refused(space: Any, noise: Any, replacement: Array | None) -> None:
    with pytest.raises(InvalidValue):
        space.mu_squared(noise, np.ones(2), replacement)


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"low": Fraction(1)}, "high"),
        ({"copies": 0}, "copies"),
        ({"nonzero": 0}, "nonzero"),
        ({"nonzero": 4}, "nonzero"),
        ({"nonzero": 1, "low": Fraction(-1)}, "nonzero"),
    ],
    ids=str,
)
def test_an_impossible_cube_is_refused(parameters: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidValue, match=f"^{name}="):
        Cube(dim=3, **parameters)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, 0.0])
def test_an_impossible_ball_or_box_is_refused(bad: float) -> None:
    with pytest.raises(InvalidValue, match=r"^radius="):
        NormBall(dim=3, radius=bad)
    if bad != 0:
        with pytest.raises(InvalidValue, match=r"^bounds="):
            Box(bounds=np.array([1.0, bad]))


def test_two_groups_with_one_eta_are_told_apart_with_certainty() -> None:
    shared = GroupedNoise(groups=2, row=COUNTED, one_eta=True)
    assert GROUPS.maximise(shared).mu_squared is None
    record, other = np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [0.0, 1.0]])
    assert GROUPS.mu_squared(shared, record, other) is None
    with pytest.raises(InvalidValue):
        GROUPS.mu_squared(shared, record, np.array([[0.5, 0.0], [0.0, 0.0]]))
