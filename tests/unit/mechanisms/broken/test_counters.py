"""Known-wrong counters: their closed-form epsilons against dense linear algebra, and the faults seen in samples."""

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq_mat

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.broken.counters import ALL, BrokenCounter, CountingMutant
from dpverdict.mechanisms.streams.tree_counter import TreeCounter

WRONG = {wrong.name: wrong for wrong in ALL}

CASES = [
    (mutant, arity, mutant.digits(arity).capacity(height))
    for mutant in ALL
    for arity in (3, 5, 4, 2)
    for height in (1, 2, 3)
    if not (mutant.name == "T2" and arity % 2 == 0)
    if mutant.digits(arity).capacity(height) <= 70
    if not (mutant.name in ("T1", "T2", "T3") and height == 1)
]


def label(value: object) -> str:
    return value.name if isinstance(value, CountingMutant) else str(value)


def dense_epsilon(counter: BrokenCounter) -> Fraction | None:
    """The largest l1 distance of two neighbouring streams in noise coordinates; None if noise does not cover it.

    The counts are C x + M z. If M has as many columns as rows, z = M^-1 (counts), so the loss is that of the
    differences M^-1 C e_i; if it has fewer, some direction carries no noise, and A is invertible.
    """
    n = counter.horizon
    noise = counter.nodes.decode(np.eye(counter.noise.size)[:, counter._wiring]).T
    means = np.array([counter.means(np.eye(n)[i]) for i in range(n)]).T
    if counter.noise.size < n:
        return None
    matrix = fmpq_mat(n, n, [int(x) for x in noise.ravel()])
    moved = matrix.solve(fmpq_mat(n, n, [int(x) for x in means.ravel()]))
    columns = [sum(abs(moved[i, j]) for i in range(n)) for j in range(n)]
    largest = max(Fraction(int(c.p), int(c.q)) for c in columns)
    return largest * counter.noise.rate


@pytest.mark.parametrize(("mutant", "arity", "horizon"), CASES, ids=label)
def test_the_true_epsilon_is_that_of_dense_algebra(mutant: CountingMutant, arity: int, horizon: int) -> None:
    counter = mutant.make(horizon, "3/2", arity)
    true = mutant.true_epsilon(horizon, "3/2", arity)
    assert true == dense_epsilon(counter)
    assert mutant.refutable(horizon, "3/2", arity) == (true is None or true > Fraction(3, 2))
    if true is None:
        item = mutant.item(arity)
        assert 1 <= item <= horizon
        stream = np.zeros(horizon)
        stream[item - 1] = 1
        moved = fmpq_mat(horizon, counter.noise.size + 1, [int(x) for x in augmented(counter, stream).ravel()])
        assert moved.rank() == counter.noise.size + 1  # the item shows in a direction without noise


def augmented(counter: BrokenCounter, stream: np.ndarray) -> np.ndarray:
    noise = counter.nodes.decode(np.eye(counter.noise.size)[:, counter._wiring])
    return np.column_stack([noise.T, counter.means(stream)])


def test_which_variants_are_refutable() -> None:
    assert {m.name for m in ALL if m.name != "T3" and m.refutable(62, 1, 5)} == {
        "T1",
        "T2",
        "T4",
        "T5",
        "T6",
        "T7",
        "T8",
    }
    late = WRONG["T3"]
    assert [late.refutable(horizon, 1, 3) for horizon in (8, 9, 10, 26, 27, 28)] == [
        False,
        True,
        False,
        False,
        True,
        False,
    ]
    assert late.true_epsilon(27, 1, 3) == Fraction(4, 3)
    assert not WRONG["T8"].refutable(7, 1, 2)  # ordinary digits have no negative ones
    assert not WRONG["T7"].refutable(2, 1, 5)  # one level


def test_the_wrong_sign_is_biased_and_the_others_are_not() -> None:
    stream = np.ones(12)
    for mutant in ALL:
        digits = mutant.digits(5)
        means = mutant.make(12, 1, 5).means(stream)
        right = np.array_equal(means, np.arange(1, 13))
        assert right == (mutant.name != "T9" or digits.subtracted == 0)


@pytest.mark.parametrize("name", ["T6", "T7", "T8"])
def test_reused_noise_cancels_in_a_release(name: str) -> None:
    (mutant,) = (m for m in ALL if m.name == name)
    counter = mutant.make(12, 1, 5)
    stream = np.zeros(12)
    out = counter.release_many(stream, 50, np.random.default_rng(0))
    assert np.linalg.matrix_rank(out) < 12
    assert (
        np.linalg.matrix_rank(
            TreeCounter(horizon=12, epsilon=1, arity=5).release_many(stream, 50, np.random.default_rng(0))
        )
        == 12
    )


def test_where_a_variant_does_not_exist_it_is_refused() -> None:
    for mutant, horizon, arity in (
        (WRONG["T1"], 2, 5),
        (WRONG["T2"], 1, 5),
        (WRONG["T2"], 10, 4),
        (WRONG["T3"], 1, 3),
        (WRONG["T4"], 0, 3),
        (WRONG["T4"], 5, 1),
    ):
        with pytest.raises(InvalidValue):
            mutant.make(horizon, 1, arity)
    with pytest.raises(InvalidValue, match="full"):
        WRONG["T4"].true_epsilon(5, 1, 3)
