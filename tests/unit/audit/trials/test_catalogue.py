"""Mechanisms by name: every choice made for the user is said, and what does not fit is refused by name."""

from pathlib import Path

import numpy as np
import pytest

from dpverdict.audit.trials.catalogue import (
    ZOO,
    find,
    find_mechanism,
    find_white_box,
    mechanism_classes,
    option,
    parameters_of,
    takes,
)
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import broken
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE, NeighbourPair


def test_every_class_is_listed_by_the_name_it_has() -> None:
    classes = mechanism_classes()
    assert list(classes) == sorted(classes)
    assert all(name == found.name for name, found in classes.items())
    assert not {wrong.name for wrong in broken.ALL} & set(classes)
    assert {"standard-gaussian", "laplace", "tree-counter"} <= set(classes)


def test_words_become_the_parameters_of_the_mechanism() -> None:
    named = find("standard-gaussian", {"dim": "1e1", "mu": "0.5", "adjacency": "replace-one", "k": None})
    assert isinstance(named.mechanism, AdditiveMechanism)
    assert named.mechanism.adjacency is REPLACE_ONE
    assert named.mechanism.claim.describe() == "mu=0.5"
    assert named.notes == ()


def test_a_choice_made_for_the_user_is_said() -> None:
    for name, words in (
        ("grouped-gaussian", {"dim": "3", "mu": "1"}),
        ("tree-counter", {"horizon": "9", "epsilon": "1"}),
    ):
        notes = find(name, words).notes
        assert notes
        assert all("was given" in note for note in notes)


def test_the_shape_of_the_data_fills_in_what_was_not_given() -> None:
    table = np.zeros((7, 4))
    mechanism, _ = find("standard-gaussian", {"mu": "1"}, table=table).mechanism, None
    assert isinstance(mechanism, AdditiveMechanism)
    assert mechanism.describe()["dim"] == "4"
    pair = NeighbourPair(dataset=table, neighbour=table[1:], adjacency=ADD_OR_REMOVE_ONE)
    taken = find("grouped-gaussian", {"mu": "1", "dim": "4", "groups": "2"}, pair=None).mechanism
    assert isinstance(taken, AdditiveMechanism)
    assert taken.adjacency is REPLACE_ONE  # the stricter one, where no pair says otherwise
    with pytest.raises(InvalidValue, match="as the data have it"):
        find("standard-gaussian", {"mu": "1", "dim": "5"}, pair=pair)
    with pytest.raises(InvalidValue, match="of shape"):
        find("grouped-gaussian", {"mu": "1"}, table=table)


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("standard-gausian", {}, "did you mean standard-gaussian"),
        ("broken:M99", {}, "known mechanism"),
        ("standard-gaussian", {"dim": "3"}, "mu must be given"),
        ("standard-gaussian", {"dim": "3", "mu": "1", "horizon": "9"}, "horizon=.9. must be left out"),
        ("standard-gaussian", {"dim": "3", "epsilon": "1", "delta": "0.1"}, "add --calibration"),
        ("standard-gaussian", {"dim": "3", "mu": "1", "calibration": "theorem"}, "calibration"),
        ("broken:M2", {"dim": "3"}, "mu must be given"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(name: str, options: dict[str, str], reason: str) -> None:
    with pytest.raises(InvalidValue, match=reason):
        find(name, options)


def test_a_known_wrong_mechanism_says_that_it_is_wrong() -> None:
    named = find_mechanism(f"{ZOO}m2", {"dim": 3, "mu": 1})
    assert "wrong on purpose" in named.notes[0]
    assert takes(f"{ZOO}M2", "mu")
    assert not takes(f"{ZOO}M2", "horizon")
    assert not takes("nothing", "mu")


def test_a_function_has_no_parameters_and_no_curves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where modules are looked for first
    assert find_mechanism("math:sqrt", {}).mechanism(4.0) == 2.0
    with pytest.raises(InvalidValue, match="no parameters on the command line"):
        find_mechanism("math:sqrt", {"dim": 3})
    with pytest.raises(InvalidValue, match="known structure"):
        find_white_box("math:sqrt", {})


def test_options_are_spelled_as_the_parameters_of_the_constructors() -> None:
    assert option("size_estimate") == "--size-estimate"
    assert "dim" in parameters_of(mechanism_classes()["standard-gaussian"])
