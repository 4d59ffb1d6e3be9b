"""Scores that look an output up in a table: what they learn, and that they come back from their data bit for bit."""

import json
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.scores.labels import (
    BinScore,
    LabelScore,
    fit_bin_score,
    fit_label_score,
    label_scores_of_others,
    row_keys,
    share_of_repeated_rows,
)
from dpverdict.audit.scores.serialization import score_from_data
from dpverdict.errors import InvalidValue

SEED = 5


def named(name: str) -> Any:
    raise AssertionError(name)


def column(*values: float) -> np.ndarray:
    return np.array(values)[:, np.newaxis]


def test_the_ratio_of_a_label_is_that_of_its_counts() -> None:
    score = fit_label_score(column(1, 1, 1, 2, 7), column(1, 2, 2, 2, 8), (0,), name="s")
    expected = [np.log(6 / 4), np.log(4 / 6), 0.0, 0.0, 0.0]  # 7 and 8 were met once, 9 never
    np.testing.assert_allclose(score(column(1, 2, 7, 8, 9)), expected, rtol=1e-15)
    np.testing.assert_allclose(score.times(2.0)(column(1)), 2 * expected[0], rtol=1e-15)


def test_labels_are_told_apart_by_their_bits_and_rows_by_all_of_theirs() -> None:
    assert len(np.unique(row_keys(column(0.0, -0.0, 0.0), (0,)))) == 2
    rng = np.random.default_rng(SEED)
    rows = rng.integers(0, 3, size=(5000, 6)).astype(np.float64)
    keys, distinct = row_keys(rows, tuple(range(6))), np.unique(rows, axis=0)
    assert len(np.unique(keys)) == len(distinct)
    assert (row_keys(rows[::-1], tuple(range(6))) == keys[::-1]).all()  # of a row alone
    assert share_of_repeated_rows(np.concatenate([distinct, distinct[:1]]), tuple(range(6))) == 2 / (len(distinct) + 1)


def test_atoms_stand_beside_a_spline_of_the_continuous_part() -> None:
    rng = np.random.default_rng(SEED)
    p, q = rng.normal(1.0, 1.0, size=(2000, 1)), rng.normal(0.0, 1.0, size=(2000, 1))
    p[:200], q[:20] = 3.25, 3.25
    score = fit_label_score(p, q, (0,), name="s")
    assert score.rest is not None
    at = score(column(3.25, 2.0, -1.0))
    assert at[0] == pytest.approx(np.log(203 / 23))
    assert at[1] > 0.5 > -0.5 > at[2]


def test_an_output_is_scored_by_all_others() -> None:
    """But for the sizes of the sides, which are those of all outputs."""
    rng = np.random.default_rng(SEED)
    p, q = (rng.integers(0, 6, size=(40, 2)).astype(np.float64) for _ in range(2))
    found = label_scores_of_others(p, q, (0, 1))
    for i in range(40):
        without = np.delete(p, i, axis=0), np.delete(q, i, axis=0)
        of_p, of_q = (
            fit_label_score(*sides, (0, 1), name="s", alone=True) for sides in ((without[0], q), (p, without[1]))
        )
        fewer = np.log(40 / 39)
        x, y = of_p(p[i : i + 1])[0], of_q(q[i : i + 1])[0]
        assert found[0][i] == pytest.approx(x - fewer if x else 0.0)  # 0 of what no other output is
        assert found[1][i] == pytest.approx(y + fewer if y else 0.0)


def test_a_label_of_nearly_all_outputs_does_not_tell_the_sides_apart() -> None:
    p, q = np.zeros((800, 1)), np.zeros((800, 1))
    p[:5] = 1.0
    found = label_scores_of_others(p, q, (0,))
    assert found[0][p[:, 0] == 0].max() <= found[1].min()
    assert (found[0][:5] > found[1].max()).all()


def test_chance_does_not_favour_the_side_of_an_output() -> None:
    """Labels of one law: a table of all outputs tells the sides apart, one of all others does not."""
    rng, of_all, of_others = np.random.default_rng(SEED), [], []
    for _ in range(20):
        p, q = rng.integers(0, 50, size=(2, 300, 1)) * 1.0
        score = fit_label_score(p, q, (0,), name="s")
        of_all.append(score(p).mean() - score(q).mean())
        of_others.append(np.subtract(*(side.mean() for side in label_scores_of_others(p, q, (0,)))))
    assert abs(np.mean(of_others)) < 0.1 < 0.2 < np.mean(of_all)


def test_what_is_beyond_the_range_of_the_other_side_is_a_bin() -> None:
    rng = np.random.default_rng(SEED)
    p, q = rng.uniform(0, 1.01, size=(3000, 1)), rng.uniform(0, 1, size=(3000, 1))
    score = fit_bin_score(p, q, 16, name="s")
    assert score(column(1.005))[0] > 2 > 0.5 > np.abs(score(column(0.1, 0.5, 0.9))).max()


@pytest.mark.parametrize("columns", [(0,), (0, 1)])
def test_tables_come_back_from_their_data(columns: tuple[int, ...]) -> None:
    rng = np.random.default_rng(SEED)
    p, q = (np.round(rng.normal(mean, 1, size=(400, 2)), 0) for mean in (0.5, 0.0))
    p[:50] += rng.normal(size=(50, 2))
    for score in (fit_label_score(p, q, columns, name="labels"), fit_bin_score(p, q, 12, name="bins", column=1)):
        again = score_from_data(json.loads(json.dumps(score.describe(), allow_nan=False)), named)
        assert (again(p) == score(p)).all()
        assert again.describe() == score.describe()


@pytest.mark.parametrize(
    "change",
    [{"columns": []}, {"columns": [-1]}, {"labels": [2.0, 1.0]}, {"values": [1.0]}, {"values": [1.0, float("nan")]}],
)
def test_data_that_are_no_table_are_refused(change: dict[str, Any]) -> None:
    right = {"name": "s", "columns": [0], "labels": [1.0, 2.0], "values": [0.5, -0.5], "rest": None}
    score = LabelScore.from_data(right, None)
    assert score(column(1, 2, 3)).tolist() == [0.5, -0.5, 0.0]
    with pytest.raises((TypeError, ValueError)):
        LabelScore.from_data(right | change, None)
    with pytest.raises(InvalidValue, match="outputs="):
        LabelScore.from_data(right | {"columns": [3]}, None)(column(1))


@pytest.mark.parametrize("change", [{"edges": [1.0, 1.0]}, {"values": [0.0, 1.0]}, {"column": -1}, {"column": 0.5}])
def test_data_that_are_no_bins_are_refused(change: dict[str, Any]) -> None:
    right = {"name": "s", "column": 0, "edges": [0.0, 1.0], "values": [-1.0, 0.0, 1.0]}
    score = BinScore.from_data(right)
    assert score(column(-0.5, 0.0, 0.5, 1.0)).tolist() == [-1.0, 0.0, 0.0, 1.0]
    with pytest.raises((TypeError, ValueError)):
        BinScore.from_data(right | change)
    with pytest.raises(InvalidValue, match="outputs="):
        BinScore.from_data(right | {"column": 3})(column(1))
