"""The game on a real table: the most exposed record is found exactly, and the pair differs in it alone."""

import numpy as np
import pytest

from dpverdict.audit.exact.worst_case import neighbour_loss
from dpverdict.audit.implementation.membership import membership_game
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, REPLACE_ONE, CorrelatedGaussian, StandardGaussian, broken

TABLE = np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
STANDARD = StandardGaussian(dim=3, mu=1, adjacency=ADD_OR_REMOVE_ONE)


def test_the_most_exposed_record_has_the_largest_exact_mu() -> None:
    seen: list[tuple[int, int]] = []
    game = membership_game(STANDARD, TABLE, progress=lambda done, total: seen.append((done, total)))
    assert game.index == 1  # the first of two equal rows
    assert game.replacement is None
    assert game.loss.mu == max(neighbour_loss(STANDARD, row).mu for row in TABLE)
    np.testing.assert_array_equal(game.pair.neighbour, np.delete(TABLE, 1, axis=0))
    assert seen[-1] == (3, 3)  # equal rows are examined once
    assert "most exposed" in game.how


def test_a_record_that_is_asked_for_is_taken_as_it_is() -> None:
    game = membership_game(STANDARD, TABLE, record=0)
    assert (game.index, game.how) == (0, "as asked")
    assert game.describe()["its values"] == "[0., 0., 1.]"
    assert game.describe()["records in the table"] == "4"
    assert game.loss.mu < membership_game(STANDARD, TABLE).loss.mu


def test_under_replacement_a_farthest_corner_takes_its_place() -> None:
    mechanism = StandardGaussian(dim=3, mu=1, adjacency=REPLACE_ONE)
    game = membership_game(mechanism, TABLE)
    assert game.replacement is not None
    np.testing.assert_array_equal(np.abs(game.replacement - TABLE[game.index]), np.ones(3))
    changed = np.flatnonzero((game.pair.dataset != game.pair.neighbour).any(axis=1))
    assert changed.tolist() == [game.index]
    assert "in its place" in game.describe()["game"]


def test_tables_and_records_that_do_not_fit_are_refused() -> None:
    for record in (-1, 4):
        with pytest.raises(InvalidValue, match="record"):
            membership_game(STANDARD, TABLE, record=record)
    with pytest.raises(InvalidValue, match="dataset"):
        membership_game(STANDARD, TABLE[:, :2])
    with pytest.raises(InvalidValue, match="several records"):
        membership_game(broken.by_name("M17").make(3, 1), TABLE)
    assert membership_game(CorrelatedGaussian(dim=3, mu=1), TABLE).loss.mu <= 1
