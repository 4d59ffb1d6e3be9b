"""Factorisations of the prefix sums against dense matrices: factors, sensitivities, errors and streams."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq_mat

from dpverdict.balls import Real
from dpverdict.mechanisms.streams.factorization_counter import KINDS
from dpverdict.mechanisms.streams.factorizations import Honaker, SmoothBinary, leaf, leaves, own_weight

HORIZONS = [*range(1, 24), 31, 32, 33, 69, 70, 71]


def close(value: Real, number: float) -> bool:
    return abs(value.nearest() - number) <= 1e-11 * max(1.0, abs(number))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("horizon", HORIZONS)
def test_factors_sensitivities_and_errors_against_dense_algebra(kind: str, horizon: int) -> None:
    factorization = KINDS[kind](horizon)
    right = factorization.embed(np.eye(horizon)).T
    left = factorization.decode(np.eye(factorization.size)).T
    assert right.shape == left.shape[::-1] == (factorization.size, horizon)
    assert np.allclose(left @ right, np.tri(horizon), atol=1e-12)
    seen = right[np.abs(left).max(axis=0) > 1e-12]
    assert close(factorization.l1_sensitivity(), np.abs(seen).sum(axis=0).max())
    assert close(factorization.l2_sensitivity_squared(), (seen**2).sum(axis=0).max())
    rows = (left**2).sum(axis=1)
    assert all(close(factorization.row_squared(t + 1), row) for t, row in enumerate(rows))
    assert close(factorization.mean_row_squared(), rows.mean())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("horizon", HORIZONS)
def test_the_stream_has_the_covariance_of_the_factor(kind: str, horizon: int) -> None:
    factorization = KINDS[kind](horizon)
    left = factorization.decode(np.eye(factorization.size)).T
    columns = []
    for chosen in range(factorization.size + horizon.bit_length() + 2):  # the answer to one noise value at a time
        drawn = itertools.count()
        stream = factorization.stream(lambda drawn=drawn, chosen=chosen: float(next(drawn) == chosen))  # type: ignore[misc]
        columns.append([stream.advance() for _ in range(horizon)])
    found = np.array(columns).T
    assert np.allclose(found @ found.T, left @ left.T, atol=1e-11)


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_the_estimate_from_below_is_the_best_linear_one(level: int) -> None:
    """Generalised least squares over all nodes of a subtree, in exact rationals."""
    leaves_below = 1 << level
    design = [
        [int(i >> j == e) for i in range(leaves_below)] for j in range(level + 1) for e in range(leaves_below >> j)
    ]
    matrix = fmpq_mat(len(design), leaves_below, [x for row in design for x in row])
    covariance = (matrix.transpose() * matrix).inv()
    variance = sum((covariance[i, j] for i in range(leaves_below) for j in range(leaves_below)), start=0)
    assert Fraction(int(variance.p), int(variance.q)) == own_weight(level)


def test_honaker_uses_every_complete_node() -> None:
    assert Honaker(13).size == 13 + 6 + 3 + 1


def test_balanced_leaves_are_ranked_and_listed() -> None:
    for height in (2, 4, 6, 10):
        balanced = [n for n in range(1 << height) if n.bit_count() == height // 2]
        assert [leaf(rank, height) for rank in range(1, len(balanced) + 1)] == balanced
        for count in (1, 2, 3, len(balanced) // 2, len(balanced)):
            assert leaves(height, height // 2, count).tolist() == balanced[:count]


def test_the_smooth_tree_can_do_with_less_than_its_published_sensitivity() -> None:
    assert SmoothBinary(69).l1_sensitivity().rational == 4  # binom(8, 4) = 70 leaves, all of them used
    assert SmoothBinary(34).height == 8
    assert SmoothBinary(34).l1_sensitivity().rational == 3  # the 35 leaves in use all begin with a zero
    assert SmoothBinary(35).l1_sensitivity().rational == 4
