"""What is returned is told from what is remembered, and what stands in the outcome is recognised."""

from typing import Any

import numpy as np

from dpverdict.audit.implementation.tap.run_comparison import visible_values
from dpverdict.audit.implementation.tap.tape import Tape
from dpverdict.audit.implementation.tap.tapped_runs import tapped_run

DATA = np.arange(6.0).reshape(3, 2)


def seen(function: Any) -> list[list[bool]]:
    return [mask.tolist() for mask in visible_values(tapped_run(function, DATA, Tape(), [1], watch=False)).values()]


def test_values_that_are_returned_are_visible_whatever_holds_them() -> None:
    assert seen(lambda x, rng: x.sum(axis=0) + rng.laplace(size=2)) == [[True, True]]
    assert seen(lambda x, rng: {"a": (x.sum(axis=0) + rng.laplace(size=2))[1]}) == [[False, True]]
    assert seen(lambda x, rng: str(x.sum() + rng.laplace())) == [[True]]
    assert seen(lambda x, rng: f"{x.sum() + rng.laplace():.2f}") == []
    assert seen(lambda x, rng: np.round(x.sum(axis=0) + rng.laplace(size=2))) == []


def test_a_number_that_was_converted_is_recognised_by_its_bits() -> None:
    assert seen(lambda x, rng: float(x.sum() + rng.laplace())) == [[True]]
