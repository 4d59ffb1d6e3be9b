"""The ledger of Lebeda 2024 and its poster: what fails as printed, and numbers that a reader can compute alone."""

import mpmath
import numpy as np
import pytest

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.mechanisms.broken import by_name
from dpverdict.mechanisms.queries.correlated import CorrelatedGaussian
from dpverdict.proofs.checks.outcome import Standing, decide
from dpverdict.proofs.checks.registry import registered, statements, verify
from dpverdict.proofs.checks.statement import Statement
from dpverdict.proofs.checks.vertices import binary_records
from dpverdict.proofs.lebeda2024.float_leaks import (
    SAMPLES,
    SEED,
    embedded_noise,
    embedded_shift,
    in_event,
    never_on_one_record,
)

FALSE_AS_PRINTED = {
    *("poster.line1", "sec3.recover", "lem3.4", "alg2.addremove"),
    *("lem4.2", "lem4.2.step", "sec4.improve", "sec4.text4mu"),
}


def test_these_statements_and_no_others_are_recorded_as_false_as_printed() -> None:
    found = {one.number for one in statements("lebeda2024") if one.expected is Standing.FAILS_AS_PRINTED}
    assert found == FALSE_AS_PRINTED
    assert all(one.corrected is not None for one in statements("lebeda2024") if one.number in found)


def test_the_statements_stand_in_the_order_of_the_paper() -> None:
    numbers = [one.number for one in statements("lebeda2024")]
    ordered = ["def2", "lem2.1", "lem3.1", "lem3.4", "thm3.1", "lem3.5", "lem4.1", "lem4.2", "lem4.3", "lem4.4"]
    assert [number for number in numbers if number in ordered] == ordered


@pytest.mark.parametrize("dim", [2, 5, 7])
def test_the_misprint_of_the_poster_breaks_the_claim_and_the_algorithm_keeps_it(dim: int) -> None:
    """The poster has sqrt(d + 1) where the variance of eta needs sqrt(d) + 1."""
    assert certify(by_name("M3").make(dim, 1)).status is Status.REFUTED
    assert certify(CorrelatedGaussian(dim=dim, mu=1)).status is Status.CERTIFIED
    assert verify("lebeda2024", "poster.line1").standing is Standing.FAILS_AS_PRINTED


@pytest.mark.parametrize("dim", [1, 2, 10, 1000])
def test_lemma_3_1_by_a_second_library(dim: int) -> None:
    """The variance of one query is (sqrt(d) + 1)^2/4, and less than twice the d/4 of a known size from d = 6 on."""
    with mpmath.workdps(50):
        root = mpmath.sqrt(dim)
        total = (dim + root) / 4 + (root + 1) / 4
        assert abs(total - (root + 1) ** 2 / 4) < mpmath.mpf(10) ** -45
        assert (total < dim / mpmath.mpf(2)) == (dim >= 6)
    assert verify("lebeda2024", "lem3.1").standing is Standing.HOLDS


def test_a_planted_fault_of_the_theorem_is_refuted() -> None:
    theorem = row("thm3.1")
    for plant in theorem.planted[:2]:
        broken = [one for one in theorem.findings(plant.claim) if one.name == plant.condition]
        assert broken
        assert all(one.holds is False for one in broken)


@pytest.mark.parametrize("dim", [2, 3, 5, 7])
def test_theorem_3_1_by_a_second_library(dim: int) -> None:
    """mpmath and LU decomposition, at 60 digits, share nothing with the symbolic check, nor with the balls."""
    with mpmath.workdps(60):
        vz, ve = (dim + mpmath.sqrt(dim)) / 4, (mpmath.sqrt(dim) + 1) / 4
        covariance = mpmath.matrix(dim + 1)
        for i in range(dim + 1):
            for k in range(dim + 1):
                covariance[i, k] = (2 if i == dim else 1) * (2 if k == dim else 1) * ve + (vz if i == k < dim else 0)
        for record in binary_records(dim):
            v = mpmath.matrix([*record, 1])
            assert abs((v.T * mpmath.lu_solve(covariance, v))[0] - 1) < mpmath.mpf(10) ** -50


BITS, DIM = 53, 4


def row(number: str) -> Statement:
    return registered("lebeda2024", number)


def conditions(number: str) -> set[str]:
    return {finding.name for finding in verify("lebeda2024", number).findings}


def test_lemmas_are_registered_as_printed() -> None:
    assert row("lem3.4").expected is row("lem4.2").expected is Standing.FAILS_AS_PRINTED
    assert row("lem3.4").printed.domain(DIM) == DIM
    assert row("lem3.4").corrected.claim.domain(DIM) == DIM + 1  # type: ignore[union-attr]
    assert row("lem4.2").printed.replacement.shared(DIM) == DIM  # 4/mu^2


def test_the_domain_of_the_bijection_is_what_algorithm_1_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpverdict.proofs.lebeda2024 import section3

    assert section3.released_by(DIM) == DIM + 1
    corrected = row("lem3.4").corrected
    assert corrected is not None
    monkeypatch.setattr(section3, "released_by", lambda dim: dim)
    assert decide(row("lem3.4").findings(corrected.claim)) is False


def test_what_section_4_improves_is_algorithm_2() -> None:
    assert row("sec4.improve").printed.ours is row("lem4.2").printed
    assert row("sec4.improve").corrected.claim.ours is row("lem4.2").corrected.claim  # type: ignore[union-attr]
    assert row("sec4.improve").printed.standard is row("lem4.1").printed


def test_the_event_of_a_leak_is_impossible_on_one_record_of_what_lemma_3_3_releases() -> None:
    noise, shift = embedded_noise(np.random.default_rng(SEED), DIM, SAMPLES), embedded_shift(DIM)
    released = shift + noise
    assert np.count_nonzero(np.abs(released) < shift / 2) > SAMPLES / 10
    assert in_event(released, BITS, shift) == 0
    assert in_event(noise, BITS, shift) > SAMPLES / 20
    assert in_event(released / shift, BITS, 1.0) > SAMPLES / 20, "decoded values are rounded once more: no such event"
    assert never_on_one_record("spacings", [(DIM, shift)], BITS).holds is True
    assert never_on_one_record("spacings", [(DIM, shift)], BITS - 1).holds is False
    assert conditions("note.float") >= {
        f"no such output on one record, {name}" for name in ("Algorithm 1", "Lemma 3.3")
    }


def test_half_the_noise_is_derived() -> None:
    assert conditions("sec1.half") >= {
        "two steps at most double mu",
        "signs average to the trace",
        "tr S tr S^-1 >= d^2",
        "half of what replacement requires",
    }


def test_every_definition_has_a_condition() -> None:
    assert conditions("def2") >= {
        "trade-off of two Gaussians",
        "nothing is told at mu = 0",
        "largest norm, add/remove",
        "largest norm, replacement",
    }


def test_facts_are_marked_as_ours() -> None:
    assert {found.number for found in statements("lebeda2024") if found.new} >= {"fact.gauss", "fact.vertices"}


def test_results_check_all_that_they_say() -> None:
    other = verify("new_results", "leb.new.float.query").findings
    assert "in the other order" in {finding.name for finding in other}
    trade_off = {finding.name for finding in verify("new_results", "r1.new.tradeoff").findings}
    assert trade_off >= {"both errors are equal", "the nearer centre is the likelier one"}


def test_a_fault_near_the_margin_of_r1smg_is_found() -> None:
    nowhere = registered("new_results", "r1.new.nowhere")
    for fault in (nowhere.printed._replace(factor=nowhere.printed.factor + 1), nowhere.printed._replace(false=(3,))):
        assert any(finding.holds is False for finding in nowhere.findings(fault))
