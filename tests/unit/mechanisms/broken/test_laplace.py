"""The wrong Laplace mechanisms have the epsilon that their formulas say."""

import math
from fractions import Fraction

import pytest

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.broken import any_by_name
from dpverdict.mechanisms.broken.laplace import ALL, LaplaceMutant
from dpverdict.mechanisms.core.guarantees import PureDP


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.name)
@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("epsilon", ["1/2", "1"])
def test_the_true_epsilon_is_certified_and_a_little_less_is_refuted(
    mutant: LaplaceMutant, dim: int, epsilon: str
) -> None:
    made, truth = mutant.make(dim, epsilon), mutant.true_epsilon(dim, epsilon)
    assert certify(made, PureDP(truth * (1 + 1e-9))).status is Status.CERTIFIED
    assert certify(made, PureDP(truth * (1 - 1e-9))).status is Status.REFUTED
    assert mutant.refutable(dim, epsilon) == (truth > float(Fraction(epsilon)))


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.name)
def test_the_claim_itself_is_refuted_where_it_is_said_to_be(mutant: LaplaceMutant) -> None:
    for dim in (1, 2, 3):
        status = certify(mutant.make(dim, 1)).status
        assert (status is Status.REFUTED) == mutant.refutable(dim)


def test_in_one_dimension_the_two_norms_are_one() -> None:
    assert any_by_name("L2").where_refutable() == "all but d = 1"
    assert any_by_name("L1").where_refutable() == "all"
    assert any_by_name("L2").true_epsilon(9, 2) == pytest.approx(2 * math.sqrt(9))


def test_arguments_out_of_range_are_refused() -> None:
    for dim, epsilon in ((0, 1), (2, 0), (2, -1), (True, 1)):
        with pytest.raises(InvalidValue):
            any_by_name("L1").make(dim, epsilon)
