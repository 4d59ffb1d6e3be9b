"""Linear combinations of draws: what is added, scaled, summed and multiplied, against dense matrices."""

import numpy as np
import pytest

from dpverdict.audit.implementation.tap.linear_forms import (
    add_forms,
    drawn,
    form_of_data,
    merge_draws,
    multiply_by_matrix,
    running_sums,
    scale_form,
    sum_form,
)
from dpverdict.audit.implementation.tap.tape import Tape
from dpverdict.audit.laws.gaussian import Gaussian


def dense(one, count: int):  # type: ignore[no-untyped-def]
    found = np.zeros((*one.shape, count))
    for place in np.ndindex(*one.ids.shape):
        if one.ids[place] >= 0:
            found[(*place[:-1], one.ids[place])] += one.gains[place]
    return found


def test_every_linear_step_agrees_with_a_matrix() -> None:
    rng = np.random.default_rng(1)
    tape, z, q = Tape(), rng.normal(size=4), rng.normal(size=4)
    tape.draw("normal", Gaussian(), (4,), lambda: z)
    noisy = add_forms(form_of_data(q), scale_form(drawn(z, 0), 2.0, np.multiply, tape), 1, np.add, tape)
    matrix = rng.normal(size=(3, 4))
    steps = {
        "matrix": (multiply_by_matrix(matrix, noisy, tape), matrix),
        "sum": (sum_form(noisy, None, tape), np.ones(4)),
        "running": (running_sums(noisy, 0, tape), np.tri(4)),
        "quotient": (scale_form(noisy, 4.0, np.true_divide, tape), np.eye(4) / 4),
    }
    for name, (found, linear) in steps.items():
        assert np.allclose(dense(found, 4), 2 * linear), name
        assert np.allclose(found.query, linear @ q), name
        assert np.allclose(found.value, linear @ (q + 2 * z)), name


def test_equal_draws_are_merged_and_opposite_ones_cancel() -> None:
    ids, gains = merge_draws(np.array([[3, 5, 3], [4, 4, 5]]), np.array([[1.0, 2.0, 3.0], [1.0, -1.0, 7.0]]))
    rows = [dict(zip(i[i >= 0].tolist(), g[i >= 0].tolist(), strict=True)) for i, g in zip(ids, gains, strict=True)]
    assert rows == [{3: 4.0, 5: 2.0}, {4: 0.0, 5: 7.0}]


def test_a_noisy_value_is_frozen_in_a_replay_and_its_query_is_not() -> None:
    tape, z = Tape(), np.array([0.5])
    tape.draw("normal", Gaussian(), (1,), lambda: z)
    first = add_forms(form_of_data(np.array([1.0])), drawn(z, 0), 1, np.add, tape)
    other = Tape(tape)
    other.draw("normal", Gaussian(), (1,), lambda: z)
    second = add_forms(form_of_data(np.array([7.0])), drawn(z, 0), 1, np.add, other)
    assert float(second.value[0]) == float(first.value[0]) == 1.5
    assert float(second.query[0]) == pytest.approx(7.0)
