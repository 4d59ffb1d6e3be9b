"""The wrong variants of Algorithm 1 are as wrong as their formulas say, and no more."""

import math
from fractions import Fraction

import pytest

from dpverdict.audit.exact.worst_case import gdp_parameter, worst_case
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.broken import by_name
from dpverdict.mechanisms.queries.correlated import CorrelatedGaussian

VARIANTS = ("M1", "M1b", "M1c", "M2", "M3", "M4", "M5", "M6b", "M6c", "M7", "M8", "M8b", "M12", "M13", "M16", "M17")


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("dim", [2, 5, 9])
@pytest.mark.parametrize("mu", ["1/2", "1"])
def test_the_formula_is_the_exact_worst_case_up_to_the_rounding_of_the_scales(name: str, dim: int, mu: str) -> None:
    mutant = by_name(name)
    exact = gdp_parameter(worst_case(mutant.make(dim, mu)).loss)
    assert exact is not None
    assert exact.upper == pytest.approx(mutant.true_mu(dim, mu), rel=1e-14)


def test_an_exact_count_tells_everything() -> None:
    mutant = by_name("M6")
    assert mutant.true_mu(3, 1) == math.inf
    assert mutant.true_mu_squared(3, 1) is None
    assert worst_case(mutant.make(3, 1)).loss.delta(100.0) == 1.0


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_is_refutable_exactly_where_its_parameter_exceeds_the_claim(name: str) -> None:
    mutant = by_name(name)
    for dim in range(mutant.least_dim, 12):
        square = mutant.true_mu_squared(dim, 1)
        assert square is not None
        if square.rational is not None:
            assert mutant.refutable(dim) == (square.rational > 1)
        else:
            assert mutant.refutable(dim) == (square.nearest() > 1)


def test_with_no_part_replaced_the_noise_is_that_of_the_algorithm() -> None:
    """The control: a misprint that changes nothing in this dimension leaves the right mechanism."""
    right = CorrelatedGaussian(dim=9, mu=1)
    made = by_name("M16").make(9, 1)  # the integer part of sqrt(9) is sqrt(9)
    assert made.noise.covariance() == right.noise.covariance()
    assert not by_name("M16").refutable(9)
    assert by_name("M16").refutable(8) or by_name("M16").refutable(10)


def test_arguments_out_of_range_are_refused() -> None:
    for dim, mu in ((0, 1), (2, 0), (2, "x"), (2, Fraction(-1))):
        with pytest.raises(InvalidValue):
            by_name("M2").make(dim, mu)
