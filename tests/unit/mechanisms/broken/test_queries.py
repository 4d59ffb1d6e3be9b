"""The wrong ellipses and relatives are as wrong as their formulas say, and refuted exactly where they are wrong."""

from fractions import Fraction

import pytest

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.balls import compare
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.broken import by_name, queries
from dpverdict.mechanisms.broken.mutant import Mutant

GAUSSIAN = [
    by_name("V1"),
    by_name("V2"),
    by_name("K1"),
    queries.mean_not_put_back(),
    queries.mean_not_put_back(5),
]
NEAR = Fraction(1, 10**13)


@pytest.mark.parametrize("mutant", GAUSSIAN, ids=lambda mutant: mutant.name)
@pytest.mark.parametrize("mu", ["0.3", "1", "2"])
def test_the_formula_is_the_exact_worst_case_up_to_the_rounding_of_the_scales(mutant: Mutant, mu: str) -> None:
    for dim in (*range(mutant.least_dim, 13), 30):
        mechanism = mutant.make(dim, mu)
        loss, true = worst_case(mechanism).loss, mutant.true_mu_squared(dim, mu)
        assert isinstance(loss, GaussianLoss)
        assert true is not None
        assert loss.mu_squared.rational is not None
        assert float(loss.mu_squared.rational) == pytest.approx(true.nearest(), rel=1e-13)
        verdict = certify(mechanism)
        assert verdict.status is (Status.REFUTED if mutant.refutable(dim, mu) else Status.CERTIFIED)


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 5, 8, 9, 10, 100, 101])
def test_the_mixed_lattice_spends_more_than_rho_unless_d_is_a_perfect_square(dim: int) -> None:
    mutant = by_name("D1")
    mechanism = mutant.make(dim, "0.8")
    loss, true = worst_case(mechanism).loss, mutant.true_mu_squared(dim, "0.8")
    assert isinstance(loss, DiscreteGaussianLoss)
    assert true is not None
    assert 2 * loss.rho == true.rational
    square = dim in (1, 4, 9, 100)
    assert mutant.refutable(dim, "0.8") is not square
    assert certify(mechanism).status is (Status.CERTIFIED if square else Status.REFUTED)


def test_a_count_at_full_precision_is_free_at_perfect_squares_alone() -> None:
    mutant = by_name("K1")
    for dim in range(1, 40):
        assert mutant.refutable(dim) is (dim not in (1, 4, 9, 16, 25, 36))


def test_known_values() -> None:
    assert by_name("K1").true_mu(2, 1) == pytest.approx(2**0.5)
    squared = by_name("V1").true_mu_squared(2, 1)
    assert squared is not None
    assert squared.rational == 5
    assert not by_name("V2").refutable(2)
    true = queries.mean_not_put_back().true_mu_squared(7, 1)
    assert true is not None
    assert compare(true, true) == 0
    assert true.rational == 2


def test_a_vote_on_one_candidate_does_not_exist() -> None:
    with pytest.raises(InvalidValue, match=">= 2 for V1"):
        by_name("V1").make(1, 1)
