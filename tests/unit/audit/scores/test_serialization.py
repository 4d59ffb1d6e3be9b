"""Scores as documents: each is read back as the same function, and members of another type are refused."""

import json
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.scores.learned_scores import fit_chained_score, fit_spline_score
from dpverdict.audit.scores.score import CallableScore, fit_linear_score
from dpverdict.audit.scores.serialization import number_of, score_from_data, text_of, whole_of
from dpverdict.errors import InvalidValue


def test_a_score_survives_its_description() -> None:
    rng = np.random.default_rng(3)
    p, q = rng.normal(1, 1, (300, 2)), rng.normal(0, 1, (300, 2))
    user = CallableScore(function=lambda outputs: outputs[:, 0], name="user")
    for score in (fit_linear_score([p], [q]), fit_spline_score(p, q), fit_chained_score(user, p, q), user):
        data = json.loads(json.dumps(score.describe()))
        assert np.array_equal(score_from_data(data, lambda name: user.function)(q), score(q))


def test_a_kind_that_is_not_kept_as_data_is_named() -> None:
    with pytest.raises(InvalidValue, match="a ranking"):
        score_from_data({"kind": "a ranking"}, lambda name: pytest.fail(name))


@pytest.mark.parametrize("value", [None, True, [1], {"a": 1}, "1", "nan"])
def test_a_member_of_another_type_is_refused(value: Any) -> None:
    for read in (number_of, whole_of):
        with pytest.raises(TypeError, match="member is a"):
            read({"member": value}, "member")
    with pytest.raises(TypeError if not isinstance(value, str) else KeyError):
        text_of({"member": value}, "member" if not isinstance(value, str) else "another")


def test_numbers_are_in_their_range() -> None:
    assert number_of({0: "-inf"}, 0, finite=False) == -np.inf
    assert whole_of({0: -1}, 0, least=-1) == -1
    for value in (float("nan"), "inf"):
        with pytest.raises(ValueError, match=str(value)):
            number_of({0: value}, 0)
    for whole in (-1, 2**53):
        with pytest.raises(ValueError, match="0 is"):
            whole_of({0: whole}, 0)
