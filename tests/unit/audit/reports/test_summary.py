"""What stands first in a report: true, in plain words, and with digits that show the difference."""

import dataclasses
import re
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.audit.reports.evidence.exact import ExactEvidence
from dpverdict.audit.reports.evidence.releases import DistinguishingEvidence
from dpverdict.audit.reports.parts import claimed_delta_upper
from dpverdict.audit.reports.report import Report
from dpverdict.audit.reports.summary import meaning, own_delta, promised_epsilon
from dpverdict.cards import DECISIONS
from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    CorrelatedGaussian,
    GaussianMechanism,
    LaplaceMechanism,
    Rank1Gaussian,
    StandardGaussian,
)
from dpverdict.mechanisms.core.guarantees import Guarantee, parse_guarantee
from dpverdict.mechanisms.core.mechanism import StructuredMechanism

from .conftest import CREATED

Reports = dict[str, Report]


def report_of(mechanism: StructuredMechanism, claim: str | None = None) -> Report:
    made = mechanism.claim if claim is None else parse_guarantee(claim)
    worst = worst_case(mechanism)
    return Report(
        name="x", claim=made, created=CREATED, evidence=(ExactEvidence(verdict=certify(mechanism, made), worst=worst),)
    )


def test_the_decision_follows_the_status(reports: Reports) -> None:
    assert all(report.summary.decision == DECISIONS[report.status.name] for report in reports.values())


def test_a_kept_promise_is_told_by_what_an_attacker_misses() -> None:
    mu = 1.0
    said = report_of(CorrelatedGaussian(dim=7, mu=1)).summary
    found = re.fullmatch(
        r"Whoever attacks a release with 5 % false alarms still misses (\d+) % of the members: epsilon is ([\d.]+) at "
        r"delta 1e-6, as claimed\.",
        said.sentence,
    )
    assert found is not None
    missed = norm.cdf(norm.isf(0.05) - mu)
    assert missed - 0.01 < int(found[1]) / 100 <= missed
    delta = norm.cdf(mu / 2 - float(found[2]) / mu) - np.exp(float(found[2])) * norm.cdf(-mu / 2 - float(found[2]) / mu)
    assert 0.9e-6 < delta <= 1e-6


def test_a_promise_kept_with_room_says_both_numbers() -> None:
    said = report_of(StandardGaussian(dim=3, mu="0.5", adjacency=ADD_OR_REMOVE_ONE), "mu=1").summary
    assert re.search(r"epsilon is 2\.\d+ at delta 1e-6, 4\.89 is claimed\.$", said.sentence)


@pytest.mark.parametrize(
    ("mechanism", "claim", "sentence", "found"),
    [
        (
            GaussianMechanism(sigma=1000, sensitivity=1),
            "mu=1e-3",
            "misses 94 % of the members",
            "mu 0.001; epsilon 0.00272",
        ),
        (
            GaussianMechanism(sigma=3, sensitivity=1),
            "eps=1/3, delta=1/7",
            "epsilon is 0 at delta 0.142857, 0.334 is claimed",
            "epsilon 0 at delta 0.142857",
        ),
        (
            LaplaceMechanism(dim=1, epsilon=300, adjacency=ADD_OR_REMOVE_ONE),
            "eps=300",
            "may find practically every member: epsilon is 300 at delta 0, as claimed",
            "epsilon 300 at delta 0",
        ),
    ],
)
def test_numbers_far_from_one_read_well(mechanism: StructuredMechanism, claim: str, sentence: str, found: str) -> None:
    said = report_of(mechanism, claim).summary
    assert sentence in said.sentence
    assert found in said.found


def test_a_number_that_is_above_the_shown_one_is_rounded_up() -> None:
    """Planted: 0.0010001 is not 0.001, and a bound that said so would be too low."""
    said = report_of(GaussianMechanism(sigma="999.9", sensitivity=1), "mu=0.0011").summary
    assert said.found.startswith("mu 0.00101;")


def test_a_broken_promise_shows_the_difference_however_small() -> None:
    mechanism = LaplaceMechanism(dim=1, epsilon=1, adjacency=ADD_OR_REMOVE_ONE)
    said = report_of(mechanism, "eps=0.9999999").summary
    assert "the true epsilon is 1 at delta 0, and 0.9999999 was claimed" in said.sentence
    assert report_of(mechanism, "eps=1").summary.decision == "release"


def test_the_number_of_a_bad_mechanism_is_in_the_first_sentence() -> None:
    with pytest.warns(UserWarning, match="false"):
        mechanism = Rank1Gaussian(dim=100, epsilon=1, delta="1e-5", radius=1)
    said = report_of(mechanism).summary
    number = re.search(r"the true epsilon is (1\d\d\d) at delta 1e-5, and 1 was claimed", said.sentence)
    assert number is not None
    assert said.found == f"epsilon {number[1]} at delta 1e-5"  # the same, and not the next, on the first screen
    assert re.search(r"misses only 0\.0\d+ % of the members, not 86 %", said.sentence)


def test_an_infinite_loss_is_said_in_words(reports: Reports) -> None:
    assert "the true epsilon is infinite" in reports["infinite"].summary.sentence
    assert "epsilon infinite" in reports["infinite"].summary.found


def test_releases_that_refute_are_no_certainty(reports: Reports) -> None:
    said = reports["black box, refuted"].summary.sentence
    assert "and 1 was claimed" in said
    assert "is wrong with a probability of at most 1e-6" in said
    quiet = reports["black box"].summary.sentence
    assert (
        quiet == "Nothing in 600 releases on each of the two datasets speaks against the claim; that is no proof of it."
    )


def test_a_disagreement_is_the_sentence(reports: Reports) -> None:
    refuting = reports["black box, refuted"].test
    assert refuting is not None
    certified = reports["CERTIFIED"]
    report = certified.with_evidence(DistinguishingEvidence(dataclasses.replace(refuting, claim=certified.claim)))
    assert report.summary.sentence == report.disagreement
    assert report.summary.decision == "do not release"
    assert report.status is Status.REFUTED


@pytest.mark.parametrize(
    "claim", ["mu=1", "mu=1/3", "eps=2", "eps=1, delta=1e-6", "rho=1/2", "order=2, eps=1", "mu=40", "rho=0", "mu=0"]
)
def test_the_epsilon_of_a_claim_is_allowed_by_it_and_nearly_the_least(claim: str) -> None:
    made: Guarantee = parse_guarantee(claim)
    delta = own_delta(made)
    epsilon = promised_epsilon(made, delta)
    assert epsilon is not None
    assert min(claimed_delta_upper(made, epsilon * (1 + slip)) for slip in (0, Fraction("1e-12"))) <= delta
    if epsilon:
        assert made.delta_upper(float(epsilon) * (1 - 1e-6)) > delta
    assert meaning(made)


def test_a_claim_that_allows_no_epsilon_has_none() -> None:
    assert promised_epsilon(parse_guarantee("mu=1"), Fraction(0)) is None
