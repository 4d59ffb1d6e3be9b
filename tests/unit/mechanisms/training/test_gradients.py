"""What mechanisms on gradients share: exact norms, clipping, and arguments that both refuse by name."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.training.dp_ftrl import DPFTRL
from dpverdict.mechanisms.training.dp_sgd import DPSGD
from dpverdict.mechanisms.training.gradients import clipped, exact_norm


def norm_of(*entries):
    return exact_norm(np.array(entries))


def test_norms_are_exact_or_rounded_up():
    assert norm_of(0.0, 0.0) == 0
    assert norm_of(0.0, -0.1) == Fraction(0.1)
    assert norm_of(3.0, 4.0) == 5
    assert norm_of(1.0, 1.0) ** 2 >= 2 > Fraction(math.nextafter(float(norm_of(1.0, 1.0)), 0)) ** 2


def test_gradients_are_scaled_down_to_the_norm_or_left_as_they_are():
    given = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    assert clipped(given, 1.0) == pytest.approx(np.array([[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]]))


def sgd(**given):
    return DPSGD(**{"noise_multiplier": 1, "rate": "0.5", "steps": 2, "sampling": "poisson"} | given)


def ftrl(**given):
    rest = {"epochs": 1, "kind": "binary", "participation": "fixed"}
    return DPFTRL(**{"noise_multiplier": 1, "steps": 2} | rest | given)


@pytest.mark.parametrize("make", [sgd, ftrl])
@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        *(("noise_multiplier", wrong) for wrong in (0, -1, float("nan"), "1e-200", "1e200", True)),
        *(("clipping_norm", wrong) for wrong in (0, "1e-200", None)),
        *(("steps", wrong) for wrong in (0, 1.5, True)),
        ("dim", 0),
        ("adjacency", "replace-one"),
    ],
)
def test_arguments_out_of_range_are_refused_by_name(make, name, wrong):
    with pytest.raises(InvalidValue, match=name):
        make(**{name: wrong})
