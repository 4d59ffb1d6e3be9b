"""The tree in arrays against dense matrices over the integers: A = L R, sensitivity, determinant, error, signs."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpz_mat

from dpverdict.mechanisms.streams.tree import TreeDigits, TreeNodes, unit_mean_squared_error

MAKERS = (TreeDigits.offset, TreeDigits.ordinary)
CASES = [(make, k) for make in MAKERS for k in range(2, 10)]


def factors(nodes: TreeNodes) -> tuple[np.ndarray, np.ndarray]:
    """L and R, dense, with integer entries."""
    right = nodes.embed(np.eye(nodes.horizon)).T
    left = nodes.decode(np.eye(nodes.size)).T
    for matrix in (left, right):
        assert np.array_equal(matrix, np.rint(matrix))
    return left.astype(np.int64), right.astype(np.int64)


@pytest.mark.parametrize(("make", "arity"), CASES)
def test_the_factors_multiply_to_the_prefix_sums_at_every_horizon(
    make: Callable[[int], TreeDigits], arity: int
) -> None:
    for horizon in range(1, 70):
        nodes = TreeNodes(make(arity), horizon)
        left, right = factors(nodes)
        assert np.array_equal(left @ right, np.tri(horizon, dtype=np.int64))
        assert set(np.unique(left)) <= {0, 1}
        assert left.any(axis=0).all()  # every vertex is used
        columns = np.abs(right).sum(axis=0).tolist()
        assert columns == [nodes.paths(item) for item in range(1, horizon + 1)]
        assert max(columns) == columns[0] == nodes.height  # the sensitivity, attained by item 1
        assert left.sum(axis=1).tolist() == [nodes.digits.size(time) for time in range(1, horizon + 1)]
        error = Fraction(2 * max(columns) ** 2 * int((left**2).sum()), horizon)
        assert error == unit_mean_squared_error(nodes.digits, horizon)


@pytest.mark.parametrize(("make", "arity"), CASES)
def test_the_vertices_are_intervals_of_the_tree_below_the_root(make: Callable[[int], TreeDigits], arity: int) -> None:
    for horizon in (1, 5, 17, 40, 64):
        nodes = TreeNodes(make(arity), horizon)
        wide = TreeNodes(nodes.digits, nodes.digits.capacity(nodes.height))
        _, right = factors(wide)
        for row, (level, _block, digit) in zip(right, wide.places(), strict=True):
            (members,) = np.nonzero(row)
            assert level < wide.height
            assert members[0] % arity**level == 0
            assert (row[members] == np.sign(digit)).all()
            assert len(members) == min(arity**level, wide.horizon - members[0])


@pytest.mark.parametrize(("make", "arity"), [(make, k) for make, k in CASES if k <= 7])
def test_the_counts_determine_the_noisy_vertices_at_full_horizons(
    make: Callable[[int], TreeDigits], arity: int
) -> None:
    checked = 0
    for horizon in range(1, 71):
        nodes = TreeNodes(make(arity), horizon)
        if nodes.full:
            assert nodes.invertible()
        if nodes.invertible():
            left, _ = factors(nodes)
            assert left.shape == (horizon, horizon)
            assert abs(int(fmpz_mat(left.tolist()).det())) == 1
            checked += 1
    assert checked >= 2


def test_a_horizon_that_is_not_full_can_use_more_vertices_than_there_are_counts() -> None:
    nodes = TreeNodes(TreeDigits.offset(5), 3)
    assert not nodes.full
    assert not nodes.invertible()
    assert nodes.size > 3


@pytest.mark.parametrize("arity", [*range(2, 12), 19])
def test_the_number_of_noise_values_has_its_sharp_bound(arity: int) -> None:
    digits = TreeDigits.offset(arity)
    bound = Fraction(2 * arity, arity + 1) if arity % 2 else Fraction(2 * arity, arity + 2)
    ratios = [Fraction(TreeNodes(digits, horizon).size, horizon) for horizon in range(1, 600)]
    assert max(ratios) <= bound
    if arity > 2:
        assert ratios[digits.largest] == bound  # the first carry
    for height in (1, 2, 3):
        full = digits.capacity(height)
        assert TreeNodes(digits, full).size == full


def test_middle_children_are_never_used() -> None:
    nodes = TreeNodes(TreeDigits.offset(5), 62)
    used = {item: nodes.paths(item) for item in range(1, 63)}
    for item, count in used.items():
        middle = sum((item - 1) // 5**level % 5 == 2 for level in range(nodes.height))
        assert count == nodes.height - middle


def test_a_huge_arity_needs_no_huge_arrays() -> None:
    nodes = TreeNodes(TreeDigits.offset(10**12), 3)
    assert nodes.decode(nodes.embed(np.ones((1, 3)))).tolist() == [[1.0, 2.0, 3.0]]


def test_a_planted_wrong_sign_is_noticed() -> None:
    nodes = TreeNodes(TreeDigits.offset(3), 13)
    left, right = factors(nodes)
    assert not np.array_equal(left @ np.abs(right), np.tri(13, dtype=np.int64))
