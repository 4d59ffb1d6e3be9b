"""The numbers of a report stay on their side, also in decimal."""

from fractions import Fraction

import pytest

from dpverdict.audit.exact.worst_case import gdp_parameter
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss
from dpverdict.audit.reports.parts import (
    claimed_beta_lower,
    claimed_delta_upper,
    stated_deltas,
    stated_epsilons,
    stated_profile,
    stated_trade_off,
)
from dpverdict.balls import Enclosure, Real, ball
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, PureDP
from dpverdict.numerics.text import at_least, at_most, decimal, shown


def test_decimals_are_rounded_to_their_side() -> None:
    third = Fraction(1, 3)
    assert (at_least(third, 3), decimal(third, 3), at_most(third, 3)) == ("0.333", "0.333", "0.334")
    assert (at_least(-third, 3), at_most(-third, 3)) == ("-0.334", "-0.333")
    assert (at_most(1e-90, 4), at_most(float("inf"))) == ("1e-90", "inf")


@pytest.mark.parametrize(
    ("enclosure", "text"),
    [
        (Enclosure.of(Real.of("1/3")), "0.3333"),
        (Enclosure.hull(ball("0.25"), ball("0.75")), "[0.25, 0.75]"),
        (Enclosure.hull(ball("0.33334"), ball("0.33336")), "[0.3333, 0.3334]"),
        (Enclosure.of(Real.of("0.5")), "0.5 exactly"),
        (gdp_parameter(DisjointLoss()), "infinite"),
        (Enclosure.of(Real.of(Fraction(1, 3 * 10**400))), "3.333e-401"),
    ],
)
def test_an_enclosure_is_shown_outward_and_a_single_number_as_such(enclosure: Enclosure, text: str) -> None:
    assert shown(enclosure) == text


def test_the_levels_of_the_claim_are_among_the_stated_ones() -> None:
    claim = ApproximateDP("0.3", "1e-7")
    assert Fraction(3, 10) in stated_epsilons(claim)
    assert Fraction(1, 10**7) in stated_deltas(claim)
    assert list(stated_epsilons(claim)) == sorted(stated_epsilons(claim))


def test_a_claim_is_stated_exactly_at_its_own_epsilon() -> None:
    assert claimed_delta_upper(ApproximateDP("0.3", "1e-7"), Fraction(3, 10)) == Fraction(1, 10**7)
    assert claimed_delta_upper(PureDP("0.3"), Fraction(3, 10)) == 0


def test_what_a_claim_allows_covers_what_exactly_attains_it() -> None:
    claim, loss = GaussianDP("0.7"), GaussianLoss("0.7")
    for _, delta, allowed in stated_profile(loss, claim):
        assert delta.lower <= allowed
    for alpha, beta, allowed in stated_trade_off(loss, claim):
        assert allowed <= beta.upper
        assert claimed_beta_lower(claim, alpha) == allowed
