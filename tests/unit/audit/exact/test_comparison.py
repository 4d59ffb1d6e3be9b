"""The inequality that decides a claim: sides that are ordered for certain, and what concentration says of them."""

from fractions import Fraction

import pytest

from dpverdict.audit.exact.comparison import compared_above, comparison_of
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.balls import precision
from dpverdict.mechanisms.core.bounds import concentrated, concentrated_delta_upper
from dpverdict.mechanisms.core.guarantees import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)

ONE = GaussianLoss(1)


@pytest.mark.parametrize(
    ("kept", "broken"),
    [
        (GaussianDP(1), GaussianDP("0.999")),
        (ApproximateDP(1, "0.127"), ApproximateDP(1, "0.126")),
        (ZeroConcentratedDP("0.5"), ZeroConcentratedDP("0.499")),
        (RenyiDP(3, "1.5"), RenyiDP(3, "1.499")),
    ],
)
def test_a_claim_is_kept_on_one_side_and_broken_on_the_other(kept: Guarantee, broken: Guarantee) -> None:
    """delta(1) of 1-GDP is 0.12693..., its Renyi divergence order/2, its rho 1/2."""
    good, bad = comparison_of(kept, ONE), comparison_of(broken, ONE)
    assert (good.kept, good.broken) == (True, False)
    assert (bad.kept, bad.broken) == (False, True)
    assert good.attained.lower <= good.allowed.upper
    assert bad.attained.lower > bad.allowed.lower
    for found in (good, bad):
        assert "arithmetic" in found.method
        assert "attained" in found.sides()


def test_a_pure_claim_about_an_unbounded_loss_is_broken_somewhere() -> None:
    assert comparison_of(PureDP(5), ONE).broken
    laplace = LaplaceLoss(["0.5", "0.3"])
    assert comparison_of(PureDP("0.8"), laplace).kept
    assert comparison_of(PureDP("0.79"), laplace).broken


def test_what_concentration_bounds_is_above_the_gaussian_and_falls_in_epsilon() -> None:
    """1-GDP is 1/2-zCDP, so its profile is below the bound at every epsilon."""
    with precision(100):
        bounds = [concentrated_delta_upper(Fraction(1, 2), Fraction(epsilon)) for epsilon in (1, 2, 4, 8)]
    for epsilon, bound in zip((1, 2, 4, 8), bounds, strict=True):
        assert float(bound) >= ONE.certified_delta(epsilon).upper
        assert float(bound) <= 12 * ONE.certified_delta(epsilon).upper
    assert [float(bound) for bound in bounds] == sorted(map(float, bounds), reverse=True)


def test_concentration_decides_what_it_can_and_no_more() -> None:
    entries = concentrated(Fraction(1, 2), "by a test", "it is tested", ())

    def kept(claim: Guarantee) -> list[bool | None]:
        found = [compared_above(claim, entry) for entry in entries]
        return [None if one is None else one.kept for one in found]

    assert kept(ZeroConcentratedDP(1)) == [True, None]
    assert kept(ZeroConcentratedDP("0.4")) == [False, None]
    assert kept(PureDP(100)) == [None, None]
    assert kept(RenyiDP(3, "1.5")) == [True, None]
    assert kept(ApproximateDP(8, "1e-5")) == [None, True]
    assert kept(ApproximateDP(0, "0.9")) == [None, None]
