"""Arrays and numbers that remember: views share their memory, copies do not, other steps give plain numbers."""

import numpy as np

from dpverdict.audit.implementation.tap.linear_forms import drawn
from dpverdict.audit.implementation.tap.tagged_numbers import TaggedArray, TaggedFloat, bare, capable, linear, wrapped
from dpverdict.audit.implementation.tap.tape import Tape, running
from dpverdict.audit.laws.gaussian import Gaussian


def draws(tape: Tape, n: int):  # type: ignore[no-untyped-def]
    made = tape.draw("normal", Gaussian(), (n,), lambda: np.arange(1.0, n + 1))
    return wrapped(drawn(made.values, made.first))


def test_a_change_through_a_view_is_a_change_of_the_whole() -> None:
    with running(Tape()) as tape:
        z = draws(tape, 4)
        z[1:3] *= 10
        z[::-1][0] = 0.0
        kept = z.copy()
        z *= 2
        assert linear(z).gains[:3, 0].tolist() == [2.0, 20.0, 20.0]
        assert linear(z).ids[3].max() == -1
        assert linear(kept).gains[:3, 0].tolist() == [1.0, 10.0, 10.0]
        assert bare(z).tolist() == [2.0, 40.0, 60.0, 0.0]


def test_entries_are_followed_through_what_only_moves_them() -> None:
    with running(Tape()) as tape:
        z = draws(tape, 4)
        moved = {
            "reversed": (z[::-1], [3, 2, 1, 0]),
            "fancy": (z[[2, 0]], [2, 0]),
            "mask": (z[np.array([False, True, True, False])], [1, 2]),
            "joined": (np.concatenate([z[2:], z[:2]]), [2, 3, 0, 1]),
            "reshaped": (z.reshape(2, 2).T.ravel(), [0, 2, 1, 3]),
            "where": (np.where([True, False, True, False], z, z[::-1]), [0, 2, 2, 0]),
            "repeated": (np.repeat(z[:2], 2), [0, 0, 1, 1]),
            "listed": (np.stack([z[1], z[0]]), [1, 0]),
        }
        for name, (array, ids) in moved.items():
            assert isinstance(array, TaggedArray), name
            assert linear(array).ids[:, 0].tolist() == ids, name


def test_an_array_of_zeros_remembers_what_is_written_to_it() -> None:
    with running(Tape()) as tape:
        z, held = draws(tape, 2), capable(np.zeros(3))
        held[1:] = z
        held[0] = 5.0
        assert linear(held).ids.max(axis=1).tolist() == [-1, 0, 1]
        assert linear(held).query[0] == 5.0


def test_numbers_remember_and_other_steps_forget() -> None:
    with running(Tape()) as tape:
        z = draws(tape, 2)
        number = 3 + 2 * z[0] - 1
        assert isinstance(number, TaggedFloat)
        assert (linear(number).gains.tolist(), float(linear(number).query)) == ([2.0], 2.0)
        assert type(np.exp(z)) is np.ndarray
        assert tape.lost == {0: "transformed", 1: "transformed"}
