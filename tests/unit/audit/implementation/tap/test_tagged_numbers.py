"""Arrays and numbers that remember: views share their memory, copies do not, other steps give plain numbers."""

import numpy as np

from dpverdict.audit.implementation.tap.linear_forms import drawn
from dpverdict.audit.implementation.tap.tagged_numbers import (
    TaggedArray,
    TaggedFloat,
    array_with_memory,
    form_of,
    tagged_number,
    without_tags,
)
from dpverdict.audit.implementation.tap.tape import Tape, following
from dpverdict.audit.laws.gaussian import Gaussian


def draws(tape: Tape, n: int):  # type: ignore[no-untyped-def]
    made = tape.draw("normal", Gaussian(), (n,), lambda: np.arange(1.0, n + 1))
    return tagged_number(drawn(made.values, made.first))


def test_a_change_through_a_view_is_a_change_of_the_whole() -> None:
    with following(Tape()) as tape:
        z = draws(tape, 4)
        z[1:3] *= 10
        z[::-1][0] = 0.0
        kept = z.copy()
        z *= 2
        assert form_of(z).gains[:3, 0].tolist() == [2.0, 20.0, 20.0]
        assert form_of(z).ids[3].max() == -1
        assert form_of(kept).gains[:3, 0].tolist() == [1.0, 10.0, 10.0]
        assert without_tags(z).tolist() == [2.0, 40.0, 60.0, 0.0]


def test_entries_are_followed_through_what_only_moves_them() -> None:
    with following(Tape()) as tape:
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
            assert form_of(array).ids[:, 0].tolist() == ids, name


def test_an_array_of_zeros_remembers_what_is_written_to_it() -> None:
    with following(Tape()) as tape:
        z, held = draws(tape, 2), array_with_memory(np.zeros(3))
        held[1:] = z
        held[0] = 5.0
        assert form_of(held).ids.max(axis=1).tolist() == [-1, 0, 1]
        assert form_of(held).query[0] == 5.0


def test_numbers_remember_and_other_steps_forget() -> None:
    with following(Tape()) as tape:
        z = draws(tape, 2)
        number = 3 + 2 * z[0] - 1
        assert isinstance(number, TaggedFloat)
        assert (form_of(number).gains.tolist(), float(form_of(number).query)) == ([2.0], 2.0)
        assert type(np.exp(z)) is np.ndarray
        assert tape.lost == {0: "transformed", 1: "transformed"}
