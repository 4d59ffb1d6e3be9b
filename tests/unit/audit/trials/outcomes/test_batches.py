"""Layouts: every outcome has columns, unknown ones too; batches are kept and cut without a loss."""

import numpy as np
import pytest

from dpverdict.audit.trials.outcomes.batches import (
    Layout,
    OutcomeRows,
    failed_everywhere,
    first_of,
    kinds_seen,
    rows_of,
    same_batches,
    together,
)
from dpverdict.audit.trials.outcomes.canonical import CanonicalOutcome, of_numbers, outcome_of

RAISED = CanonicalOutcome("raised builtins.ValueError in f.py, f", note="ValueError: x")
MIXED = OutcomeRows((of_numbers(np.array([1.0])), outcome_of(None), outcome_of({"a": "x", "b": 2.5}), RAISED))


def test_a_packed_batch_is_the_same_batch() -> None:
    again = OutcomeRows.unpacked(MIXED.packed())
    assert same_batches(MIXED, again)
    assert again.rows[3].note == "ValueError: x"
    assert not same_batches(MIXED, np.zeros((4, 1)))


def test_the_columns_of_a_layout() -> None:
    layout = Layout.of(MIXED.rows, MIXED.rows)
    table = layout.table(MIXED)
    assert table.shape == (4, layout.size)
    assert np.array_equal(np.unique(table, axis=0).shape, table.shape)  # no two of them look alike
    assert set(layout.numbers) == {("", 0), ("['b']", 0)}
    assert layout.symbols == (("['a']", "x"),)
    assert (layout.table(OutcomeRows((outcome_of("never seen"),))) == 0).all()


def test_an_array_has_the_columns_of_its_rows() -> None:
    layout = Layout.of(MIXED.rows, [of_numbers(np.array([3.0]))])
    arrays = np.array([[1.0], [-2.0]])
    assert np.array_equal(layout.table(arrays), layout.table(OutcomeRows(tuple(rows_of(arrays)))))


def test_a_layout_is_read_back_from_its_data() -> None:
    layout = Layout.of(MIXED.rows, MIXED.rows)
    again = Layout.from_data(layout.describe())
    assert np.array_equal(again.table(MIXED), layout.table(MIXED))
    for part in ("signatures", "numbers", "symbols"):
        with pytest.raises((TypeError, ValueError)):
            Layout.from_data({**layout.describe(), part: [3]})


def test_many_columns_are_cut_to_those_that_differ_most() -> None:
    rng = np.random.default_rng(1)
    wide = [
        [outcome_of({"v": [*rng.normal(size=300), side * 5.0 + rng.normal()]}) for _ in range(30)] for side in (0, 1)
    ]
    layout = Layout.of(*wide)
    assert ("['v']", 300) in layout.numbers
    assert layout.size <= 200


def test_what_is_no_array_of_the_usual_length_counts_as_zeros() -> None:
    assert MIXED.numbers(1).tolist() == [[1.0], [0.0], [0.0], [0.0]]


def test_batches_join_to_an_array_only_if_all_are_arrays_of_that_length() -> None:
    one = np.ones((2, 3))
    assert isinstance(together([one, one], 3), np.ndarray)
    assert isinstance(together([one, np.ones((1, 2))], 3), OutcomeRows)
    assert len(first_of([MIXED, one], 1, 5)) == 5


def test_rounding_leaves_no_digits_behind() -> None:
    rounded = OutcomeRows((outcome_of({"a": 0.3, "b": 2**70 + 1}),)).rounded(0.25).rows[0]
    assert rounded.numbers["['a']"].tolist() == [0.25]
    assert rounded.symbols == {}


def test_what_failed_everywhere_alike_is_told_from_what_did_not() -> None:
    other = CanonicalOutcome("raised builtins.KeyError in f.py, f")
    assert failed_everywhere([RAISED], [RAISED]) is RAISED
    assert failed_everywhere([RAISED], [other]) is None
    assert failed_everywhere([RAISED], [outcome_of(1.0)]) is None


def test_the_kinds_are_told_where_they_differ_most() -> None:
    numbers = of_numbers(np.array([1.0]))
    assert kinds_seen([numbers], [numbers]) is None
    said = kinds_seen([numbers] * 3, [RAISED] * 3)
    assert said is not None
    assert "raised builtins.ValueError in f.py, f: 0 of 3 on the dataset, 3 of 3 on the neighbour" in said
