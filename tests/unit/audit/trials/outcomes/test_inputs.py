"""Every trial gets an input that no other has changed, and it is the user's own kind of object."""

import numpy as np
import pytest

from dpverdict.audit.trials.outcomes.inputs import fresh, held_safe
from dpverdict.errors import InvalidValue


def test_an_array_cannot_be_written_to_and_the_callers_stays_writeable() -> None:
    mine = np.ones(3)
    held = held_safe(mine)
    with pytest.raises(ValueError, match="read-only"):
        fresh(held)[0] = 2.0
    mine[0] = 5.0
    assert held[0] == 1.0


def test_anything_else_is_a_copy_in_every_trial() -> None:
    mine = [{"age": 3}]
    held = held_safe(mine)
    fresh(held)[0]["age"] = 4
    mine.append({"age": 9})
    assert fresh(held) == [{"age": 3}]
    pandas = pytest.importorskip("pandas")
    frame = held_safe(pandas.DataFrame({"a": [1, 2]}))
    fresh(frame)["b"] = 1
    assert list(fresh(frame).columns) == ["a"]


def test_what_cannot_be_copied_is_refused() -> None:
    with pytest.raises(InvalidValue, match="an object that can be copied"):
        held_safe(x for x in ())
