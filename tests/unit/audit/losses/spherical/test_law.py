"""What radial laws share: breaks between certain signs, and gamma laws on both sides."""

from fractions import Fraction

import pytest
from flint import acb, arb
from scipy.stats import gamma

from dpverdict.audit.losses.spherical.law import (
    EndKind,
    Undecided,
    at_infinity,
    at_parameter,
    break_end,
    gamma_above,
    gamma_below,
    quotient,
    towards_one,
    towards_zero,
)
from dpverdict.balls import Real, precision


def test_a_quotient_of_rationals_is_exact() -> None:
    assert quotient(Real.of(1), Real.of(3)).rational == Fraction(1, 3)
    assert quotient(Real.of(2).sqrt(), Real.of(2)).nearest() == pytest.approx(0.5**0.5)


def test_a_break_is_enclosed_between_certain_signs() -> None:
    with precision(64):
        end = break_end(lambda x: x * x - 2, arb(1), arb(2), beyond=1)
        assert end.kind is EndKind.BREAK
        assert end.at.overlaps(arb(2).sqrt())
        assert end.at.rad() < 1e-9
        assert end.beyond == 1
        with pytest.raises(Undecided):
            break_end(lambda x: x * x + 1, arb(1), arb(2), beyond=0)


def test_conditions_near_the_ends_are_found_to_hold_somewhere() -> None:
    near_zero = towards_zero(lambda v: bool(v < arb("1e-3")))
    near_one = towards_one(lambda v: bool(v > arb("0.999")))
    assert 0 < near_zero < arb("1e-3")
    assert arb("0.999") < near_one < 1
    assert towards_zero(lambda v: True) <= arb("0.5")


def test_ends_know_their_kind() -> None:
    assert at_parameter(arb("0.25")).at.overlaps(arb("0.25"))
    assert at_infinity().kind is EndKind.INFINITY


@pytest.mark.parametrize("shape", [0.5, 1.5, 7.0])
@pytest.mark.parametrize("z", [0.01, 1.0, 30.0])
def test_the_gamma_law_on_both_sides(shape: float, z: float) -> None:
    below, above = (share(arb(shape), acb(z), False).real for share in (gamma_below, gamma_above))
    assert (below + above).contains(1)
    assert float(above) == pytest.approx(float(gamma.sf(z, shape)), rel=1e-12)
    assert float(below) == pytest.approx(float(gamma.cdf(z, shape)), rel=1e-12)
