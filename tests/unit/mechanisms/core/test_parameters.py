"""Parameters in words: each is read as its mechanism needs it, or refused by name."""

import pytest

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE
from dpverdict.mechanisms.core.parameters import (
    ADJACENCY,
    ARITY,
    DIM,
    MU,
    SHARED,
    Parameter,
    as_written,
    named,
    whole,
    whole_or_best,
)


def test_words_are_read_as_the_constructor_needs_them() -> None:
    assert DIM.read("dim", {"dim": "1e3"}) == 1000
    assert MU.read("mu", {"mu": "1/3"}) == "1/3"
    assert ADJACENCY.read("adjacency", {"adjacency": "replace-one"}) is REPLACE_ONE
    assert (ARITY.read("arity", {"arity": "best"}), whole_or_best("arity", {"arity": "7"})) == ("best", 7)
    assert as_written("mu", {"mu": "x"}) == "x"


@pytest.mark.parametrize("text", ["0", "1.5", "many", "-3", ""])
def test_what_is_no_whole_number_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidValue, match=r"^dim="):
        whole("dim", {"dim": text})
    with pytest.raises(InvalidValue, match=r"^adjacency="):
        ADJACENCY.read("adjacency", {"adjacency": text})


def test_a_choice_for_what_is_left_out_is_of_one_mechanism_alone() -> None:
    chosen = ADJACENCY.otherwise(REPLACE_ONE, "replace-one was taken", when=lambda given: "dim" in given)
    assert chosen.left_out is not None
    assert chosen.left_out.value is REPLACE_ONE
    assert (chosen.left_out.when({"dim": 3}), chosen.left_out.when({})) == (True, False)
    assert ADJACENCY.left_out is None


def test_a_mechanisms_own_declaration_comes_before_the_shared_one() -> None:
    own = Parameter("dim", "N", "Something else.")
    found = named([own, Parameter("window", "W", "The window.")])
    assert found["dim"] is own
    assert list(found)[:2] == ["dim", "window"]
    assert set(found) == {"window", *(parameter.name for parameter in SHARED)}
    assert found["mu"] is MU
