"""The results of this project: each goes beyond a paper of the ledger, holds, and is met by the code that uses it."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.mechanisms.broken import by_name
from dpverdict.mechanisms.queries.count_ellipse import least_ellipse_variance
from dpverdict.proofs.checks.outcome import Standing
from dpverdict.proofs.checks.registry import statements, title, verify
from dpverdict.proofs.checks.rooms import rooms

PREFIXES = {"and": "andersson2024", "r1": "ji2024", "leb": "lebeda2024", "pou": "poulsen2022", "dep": "new_results"}
"""Those about what is deployed go beyond no paper of the ledger."""


def test_every_result_is_new_holds_and_goes_beyond_a_paper_of_the_ledger() -> None:
    found = statements("new_results")
    assert len({one.number for one in found}) == len(found) > 100
    assert all(one.new and one.expected in (Standing.HOLDS, Standing.HOLDS_ON_RANGE) for one in found)
    assert {PREFIXES[one.number.partition(".")[0]] for one in found} <= set(rooms())
    assert rooms()[-1] == "new_results"
    assert title("new_results")


def test_every_result_has_a_planted_fault() -> None:
    assert all(one.planted for one in statements("new_results"))


@pytest.mark.parametrize("number", ["leb.new.mu.F1", "leb.new.kappa", "pou.new.p"])
def test_a_few_of_them_hold(number: str) -> None:
    assert verify("new_results", number).standing is Standing.HOLDS


@pytest.mark.parametrize("number", ["dep.new.shift", "dep.new.keys", "dep.new.kinds", "dep.new.range"])
def test_the_theorems_of_what_is_deployed_hold_on_what_is_looked_at(number: str) -> None:
    found = verify("new_results", number)
    assert found.standing is Standing.HOLDS_ON_RANGE
    assert all(not fault.missed for fault in found.faults)


def test_one_that_is_looked_at_for_some_trees_says_no_more() -> None:
    found = verify("new_results", "and.new.detL")
    assert found.standing is Standing.HOLDS_ON_RANGE
    assert "13 cases" in found.scope


@pytest.mark.parametrize("name", ["M2", "M4", "M17"])
def test_the_parameter_of_a_variant_is_that_of_brute_force_over_binary_records(name: str) -> None:
    """Dense float64 algebra over every vertex of the cube, which shares nothing with the closed forms."""
    mutant, dim = by_name(name), 5
    made = mutant.make(dim, 1)
    vz, ve = (float(value) for value in _variances(made))
    covariance = vz * np.eye(dim + 1) + ve
    covariance[-1, :-1] = covariance[:-1, -1] = 2 * ve
    covariance[-1, -1] = 4 * ve
    inverse = np.linalg.inv(covariance)
    copies = worst_case(made).pair.records_per_user
    largest = max(v @ inverse @ v for v in (np.array([*record, 1.0]) for record in product((0, 1), repeat=dim)))
    assert mutant.true_mu(dim, 1) == pytest.approx(copies * math.sqrt(largest), rel=1e-9)


def _variances(made: object) -> tuple[Fraction, Fraction]:
    covariance = made.noise.covariance()  # type: ignore[attr-defined]
    return covariance["query"] - covariance["query-query"], covariance["query-query"]


def test_the_optimum_is_below_algorithm_1_and_equal_to_it_at_perfect_squares() -> None:
    """leb.new.opt.single: (sqrt(d) + 1)^2/4 at d = r^2, and less elsewhere."""
    for dim in (2, 4, 7, 9, 100):
        algorithm = (math.sqrt(dim) + 1) ** 2 / 4
        optimum = least_ellipse_variance(dim, dim).nearest()
        if math.isqrt(dim) ** 2 == dim:
            assert optimum == pytest.approx(algorithm, rel=1e-14)
        else:
            assert optimum < algorithm
