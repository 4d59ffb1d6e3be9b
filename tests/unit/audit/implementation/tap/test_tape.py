"""The tape: events in order, replays that give the recorded values, and where a replay parts."""

import numpy as np
import pytest

from dpverdict.audit.implementation.tap.tape import ReplayDiverged, Tape, current_tape, following
from dpverdict.audit.laws.gaussian import Gaussian
from dpverdict.audit.laws.laplace import Laplace


def test_a_replay_gives_what_was_recorded() -> None:
    tape = Tape()
    made = tape.draw("laplace", Laplace(), (2,), lambda: np.array([1.0, 2.0]))
    again = Tape(tape).draw("laplace", Laplace(), (2,), lambda: np.array([9.0, 9.0]))
    assert again.values is made.values
    assert tape.drawn == 2
    assert tape.draw_of(1) is made


def test_another_event_parts_a_replay_and_is_named() -> None:
    tape = Tape()
    tape.draw("laplace", Laplace(), (2,), lambda: np.zeros(2))
    other = Tape(tape)
    with pytest.raises(ReplayDiverged):
        other.draw("normal", Gaussian(), (2,), lambda: np.zeros(2))
    assert other.diverged is not None
    assert "normal" in other.diverged
    assert "laplace" in other.diverged
    assert not issubclass(ReplayDiverged, Exception)  # it passes a handler of the function


def test_a_run_is_current_only_while_it_runs_and_not_within_an_outer_draw() -> None:
    assert current_tape() is None
    with following(Tape()) as tape:
        assert current_tape() is tape
        with tape.silence():
            assert current_tape() is None
    assert current_tape() is None
