"""Integrals over {loss > s}: to the bits asked for, and the profile is the difference of the tails."""

from fractions import Fraction

import pytest

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.spherical.integral import SphericalProfile, SphericalQuantity, integrate, integrate_tails
from dpverdict.audit.losses.spherical.isotropic import IsotropicGaussian, IsotropicLaplace
from dpverdict.audit.losses.spherical.random_direction import RandomDirectionGaussian
from dpverdict.balls import Real, ball, precision
from dpverdict.errors import PrecisionExhausted

LAWS = [IsotropicGaussian(1), IsotropicLaplace(1), RandomDirectionGaussian(2)]


@pytest.mark.few(2)
@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("level", ["0", "1/3"])
def test_the_profile_is_the_difference_of_the_tails(law: IsotropicGaussian, level: str) -> None:
    s = Fraction(level)
    p, q = integrate_tails(law, 3, s, 40)
    with precision(100):
        difference = p - ball(s).exp() * q
        assert integrate(law, 3, s, SphericalQuantity.PROFILE, 40).overlaps(difference)
        assert integrate(law, 3, s, SphericalQuantity.P_TAIL, 40).overlaps(p)
        assert integrate(law, 3, s, SphericalQuantity.Q_TAIL, 40).overlaps(q)
    assert min(p.rel_accuracy_bits(), q.rel_accuracy_bits()) >= 40


def test_the_gaussian_meets_its_closed_form() -> None:
    profile = SphericalProfile(3, IsotropicGaussian(1))
    for epsilon in ("-1", "0.5", "4"):
        found = profile.delta(Fraction(epsilon), 50)
        truth = GaussianLoss(1).certified_delta(epsilon)
        assert truth.lower <= float(found.upper())
        assert float(found.lower()) <= truth.upper
        with precision(100):
            assert (found + profile.complement(Fraction(epsilon), 50)).contains(1)


def test_the_mirror_image_exchanges_the_laws() -> None:
    """P[L > -s] = 1 - Q[L > s]."""
    profile = SphericalProfile(3, RandomDirectionGaussian(2))
    with precision(100):
        assert (profile.p_above(Fraction(-1, 2), 40) + profile.q_above(Fraction(1, 2), 40)).contains(1)
        assert not (profile.p_above(Fraction(-1, 2), 40) + profile.p_above(Fraction(1, 2), 40)).contains(1)


def test_beyond_the_largest_loss_nothing_is_left() -> None:
    profile = SphericalProfile(3, IsotropicLaplace(1))
    assert profile.delta(Fraction(1), 40) == 0
    assert profile.q_above(Fraction(2), 40) == 0
    assert Real.of(1).rational == IsotropicLaplace(1).largest_loss().rational


def test_noise_beyond_all_measure_is_refused_and_large_noise_is_not() -> None:
    with pytest.raises(PrecisionExhausted, match="2\\^256"):
        SphericalProfile(3, RandomDirectionGaussian(2**256)).delta(Fraction(1, 10**9), 50)
    assert SphericalProfile(3, RandomDirectionGaussian(2**100)).delta(Fraction(0), 50).rel_accuracy_bits() >= 50
