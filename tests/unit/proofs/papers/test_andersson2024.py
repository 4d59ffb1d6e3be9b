"""The ledger of Count on Your Elders: which statements it has, where they stand, and its brute force by other means."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpverdict.balls import ball, precision
from dpverdict.proofs.andersson2024.section1_3_baselines import is_factorization
from dpverdict.proofs.andersson2024.section3 import matches_project, sums_to_prefix
from dpverdict.proofs.andersson2024.shared.brute_force import (
    OFFSET,
    ORDINARY,
    PRINTED,
    Instance,
    capacity,
    columns,
    counted,
    digit_table,
    factors,
    sizes_in_time,
    vertices_of,
)
from dpverdict.proofs.andersson2024.shared.curves import randomised_response
from dpverdict.proofs.andersson2024.shared.dense import bounds_in_floats, certified_bounds
from dpverdict.proofs.checks.outcome import Method, Standing, condition_alone
from dpverdict.proofs.checks.registry import registered, statements, verify

ROWS = [
    "def3.1",
    "def3.2",
    "def3.8",
    "defA.1",
    "defC.1",
    "heights",
    "alg1",
    "alg2",
    "alg3",
    "text.lines",
    "lem3.3",
    "lem3.5",
    "lem3.5.anyT",
    "thm3.7",
    "prop4.1",
    "prop4.3",
    "lem4.5",
    "lem4.7",
    "lem4.7.anyT",
    "cor4.9",
    "cor4.9.ratio",
    "thm1.1",
    "prop4.10",
    "lem4.12",
    "lem4.14",
    "claim1",
    "corC.3",
    "even.best",
    "lemA.2",
    "lemA.3",
    "lemD.1",
    "eq1",
    "lem5.4",
    "thm1.3",
    "cor5.5",
    "huu.C",
    "huu.T",
    "lem5.1",
    "thm1.2",
    "thm1.2.fixed19",
    "base.trivial",
    "base.binary",
    "base.honaker",
    "base.smooth",
    "base.kary",
    "base.offset",
    "base.dense",
    "base.blt",
    "base.lower",
    "sampling",
]
FAILS = {"text.lines", "sec3.3.words"}
CAVEATS = {
    "abstract.laplace",
    "thm1.2",
    "sec1.2.factor2",
    "sec1.3.sqrtlaplace",
    "huu.T",
    "cor5.5",
    "even.best",
}


def test_every_numbered_statement_is_there_and_stands_where_it_is_recorded() -> None:
    found = {statement.number: statement.expected for statement in statements("andersson2024")}
    assert set(ROWS) <= set(found)
    assert {name for name, standing in found.items() if standing is Standing.FAILS_AS_PRINTED} == FAILS
    assert {name for name, standing in found.items() if standing is Standing.HOLDS_WITH_CAVEAT} == CAVEATS


def test_what_is_ours_is_marked_and_what_was_restored_says_so() -> None:
    for found in statements("andersson2024"):
        ours = found.number.startswith(("base.", "huu.")) or found.number == "sampling"
        assert found.new or not ours, found.number
        assert bool(found.restored) is not found.new, found.number


def test_a_reading_that_the_paper_does_not_claim_is_no_caveat() -> None:
    theorem = registered("andersson2024", "thm1.1")
    assert theorem.expected is Standing.HOLDS_ON_RANGE  # time and space are counted, not proved
    assert theorem.caveat is None
    assert theorem.corrected is not None
    assert "below 17 % at T = 2^20" in theorem.corrected.text
    with condition_alone(""):  # the names alone: nothing is decided
        more, printed = ([one.name for one in theorem.check(c)] for c in (theorem.corrected.claim, theorem.printed))
    assert set(more) > set(printed)


def test_trivial_errors_are_added_up_from_matrices() -> None:
    (by_matrices,) = [f for f in verify("andersson2024", "base.trivial").findings if f.name == "by matrices"]
    assert by_matrices.cases == 48


def test_line_numbers_are_compared_with_another_passage_not_with_a_listing_of_ours() -> None:
    outcome = verify("andersson2024", "text.lines")
    assert outcome.standing is Standing.FAILS_AS_PRINTED
    assert outcome.witness == "line 13 in the proof of 4.1, line 15 in that of 4.3"


def test_the_error_of_algorithm_2_is_found_by_two_ways_that_share_no_code() -> None:
    findings = {finding.name: finding for finding in verify("andersson2024", "Lemma 4.7").findings}
    assert findings["of the counter"].holds is findings["of all strings"].holds is True
    assert findings["of the counter"].method is findings["of all strings"].method is Method.EXACT


def test_the_digits_and_the_vertices_of_one_time_step() -> None:
    assert digit_table(OFFSET, 3, 3)[5] == (-1, -1, 1)  # 9 - 3 - 1
    assert [(use.vertex, use.sign) for use in vertices_of((-1, -1, 1), 3)] == [((1, 9), 1), ((7, 9), -1), ((6, 6), -1)]
    assert capacity(OFFSET, 19, 4) == 65_160
    assert sizes_in_time(ORDINARY, 10, 2)[[0, 7, 42, 99]].tolist() == [0, 7, 6, 18]


def test_a_vertex_out_of_place_or_missing_is_noticed() -> None:
    case = Instance(3, 5)
    assert sums_to_prefix(case, OFFSET, PRINTED)
    assert matches_project(case, OFFSET, PRINTED)
    shifted = PRINTED._replace(subtracted=lambda p, block: (p - block, p - 1))
    assert not sums_to_prefix(case, OFFSET, shifted)
    assert not matches_project(case, OFFSET, shifted)
    made = factors(case, OFFSET)
    assert counted(made) != counted(made._replace(left=np.roll(made.left, 1, axis=0)))
    assert len(columns(case, OFFSET)) == made.left.shape[1]


def test_a_factorisation_that_is_none_is_noticed() -> None:
    from dpverdict.mechanisms.streams.factorizations import BinaryTree

    class Late(BinaryTree):  # type: ignore[misc]  # it is final; here on purpose
        def decode(self, noisy: np.ndarray) -> np.ndarray:
            return np.roll(super().decode(noisy), 1, axis=1)

    assert is_factorization(BinaryTree(13))
    assert not is_factorization(Late(13))


@pytest.mark.parametrize("horizon", [32, 64])
def test_the_bounds_on_dense_factorisations_are_bounds(horizon: int) -> None:
    certified, floats = certified_bounds(horizon), bounds_in_floats(horizon)
    assert certified.lower < certified.upper
    assert certified.lower == pytest.approx(floats.lower, rel=1e-9)
    assert certified.upper == pytest.approx(floats.upper, rel=1e-9)
    nuclear = sum(1 / (2 * math.sin((2 * i - 1) * math.pi / (4 * horizon + 2))) for i in range(1, horizon + 1))
    assert (nuclear / horizon) ** 2 < certified.lower
    coefficients = [math.comb(2 * j, j) / 4**j for j in range(horizon)]
    squares = np.cumsum(np.square(coefficients))
    assert certified.upper < squares[-1] * squares.mean()  # the square-root factorisation


def test_randomised_response_of_one_and_of_two() -> None:
    with precision(100):
        one = randomised_response(("1",), ball("1/2"))
        assert abs(one - (ball(1).exp() - ball("1/2").exp()) / (1 + ball(1).exp())) < 1e-25
        high = ball(1).exp() / (1 + ball(1).exp())
        two = randomised_response(("1", "1"), ball(1))  # only the loss 2 exceeds 1
        assert abs(two - high**2 * (1 - (-ball(1)).exp())) < 1e-25
        assert randomised_response(("1", "1"), ball(2)).contains(0)


def test_the_threshold_of_theorem_1_2_is_met_with_little_to_spare() -> None:
    outcome = verify("andersson2024", "thm1.2")
    ratio = next(finding for finding in outcome.findings if finding.name == "below 0.92")
    assert Fraction("0.0043") < Fraction(ratio.margin) < Fraction("0.0044")
