"""The honest scale of R1SMG: certified at the float returned, and not much above the least."""

from fractions import Fraction

import pytest

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.queries.rank1 import Rank1Gaussian
from dpverdict.mechanisms.queries.rank1_scale import calibrate_rank1


@pytest.mark.parametrize(
    ("dim", "epsilon", "delta"), [(3, 1, "1e-3"), (5, "0.5", "1e-5"), (4, 10, "1e-3"), (10, 1, "0.4")]
)
def test_the_scale_is_certified_and_a_ten_billionth_less_is_refuted(dim: int, epsilon: object, delta: str) -> None:
    costs = calibrate_rank1(dim=dim, epsilon=epsilon, delta=delta)  # type: ignore[arg-type]
    assert certify(costs.mechanism).status is Status.CERTIFIED
    less = Fraction(costs.mechanism.scale) * (1 - Fraction(1, 10**10))
    wrong = Rank1Gaussian(dim=dim, epsilon=epsilon, delta=delta, scale=less)  # type: ignore[arg-type]
    assert certify(wrong).status is Status.REFUTED
    assert costs.honest == pytest.approx(costs.mechanism.scale**2)


def test_the_prices_of_the_paper_are_those_of_a_false_claim() -> None:
    """Claimed, honest, analytic Gaussian: 15.6, 1.64e6, 66.3 at M = 10; 4.93e6, 1.49e5, 19.9 at M = 3."""
    ten, three = (calibrate_rank1(dim=dim, epsilon=1, delta="1e-3") for dim in (10, 3))
    assert (ten.published, ten.honest, ten.gaussian) == pytest.approx((15.6, 1.64e6, 66.3), rel=5e-3)
    assert (three.published, three.honest, three.gaussian) == pytest.approx((4.93e6, 1.49e5, 19.9), rel=5e-3)


@pytest.mark.parametrize(
    ("dim", "epsilon", "delta"), [(2, 1, "1e-3"), (3, 0, "1e-3"), (3, 1, 0), (3, 1, 1), (3.5, 1, "1e-3")]
)
def test_a_parameter_out_of_range_is_refused(dim: object, epsilon: object, delta: object) -> None:
    with pytest.raises(InvalidValue):
        calibrate_rank1(dim=dim, epsilon=epsilon, delta=delta)  # type: ignore[arg-type]
