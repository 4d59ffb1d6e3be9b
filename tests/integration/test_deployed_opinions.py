"""The table of what other packages say of deployed mechanisms: a number that is a little wrong is called wrong."""

import runpy
from fractions import Fraction
from pathlib import Path

import pytest

TABLE = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "deployed_opinions.py"))
opinion, Ours = TABLE["opinion"], TABLE["Ours"]


@pytest.mark.parametrize("may_be_larger", [True, False])
def test_a_number_that_is_too_small_is_wrong(may_be_larger: bool) -> None:
    ours = Ours(0.5, may_be_larger)
    assert opinion({"value": 0.5}, ours) == "agrees"
    assert opinion({"value": 0.5 * (1 - 1e-8)}, ours).startswith("WRONG")


def test_a_larger_number_is_safe_where_it_bounds_and_wrong_where_it_is_a_chance() -> None:
    assert opinion({"value": 0.55}, Ours(0.5, may_be_larger=True)) == "safe by 10 %"
    assert opinion({"value": 0.55}, Ours(0.5)).startswith("WRONG")


def test_a_frequency_of_another_chance_is_wrong() -> None:
    assert opinion({"seen": 10_000, "of": 20_000}, Ours(0.5)).startswith("agrees")
    assert opinion({"seen": 10_500, "of": 20_000}, Ours(0.5)).startswith("WRONG")


def test_the_reported_delta_of_a_threshold_is_less_than_a_key_attains() -> None:
    """opendp 2922: the chance of counts above the threshold is reported, and counts equal to it are released too."""
    reported = TABLE["math"].exp(-5) / (1 + TABLE["math"].exp(-1))
    ours = TABLE["of_opendp"]()["whole Laplace noise above a threshold, delta"]
    assert opinion({"value": reported}, ours) == "WRONG by a factor of 2.71828"
    assert Fraction(ours.value) < Fraction("0.01339")
