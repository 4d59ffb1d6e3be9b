"""SphericalLoss: its domains, its edges, and the agreement of its methods with each other."""

from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb

from dpverdict.audit.losses.domains import LossTails, midpoint
from dpverdict.audit.losses.spherical import integral as spherical_profile
from dpverdict.audit.losses.spherical import loss as spherical_loss
from dpverdict.audit.losses.spherical.isotropic import IsotropicGaussian, IsotropicLaplace
from dpverdict.audit.losses.spherical.law import RadialLaw
from dpverdict.audit.losses.spherical.loss import SphericalLoss
from dpverdict.audit.losses.spherical.random_direction import RandomDirectionGaussian
from dpverdict.balls import Real, precision
from dpverdict.errors import InvalidValue, PrecisionExhausted

NAN, INF = float("nan"), float("inf")
LOSS = SphericalLoss(5, RandomDirectionGaussian(5))


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: SphericalLoss(1, RandomDirectionGaussian(1)), "dim"),
        (lambda: SphericalLoss(0, IsotropicGaussian(1)), "dim"),
        (lambda: SphericalLoss(1, IsotropicLaplace(1)), "dim"),
        (lambda: SphericalLoss(2.5, IsotropicGaussian(1)), "dim"),
        (lambda: SphericalLoss(True, IsotropicGaussian(1)), "dim"),
        (lambda: SphericalLoss(3, 1.0), "law"),
        (lambda: SphericalLoss(3, IsotropicGaussian(1), shift=-1), "shift"),
        (lambda: SphericalLoss(3, IsotropicGaussian(1), shift=NAN), "shift"),
        (lambda: SphericalLoss(3, IsotropicGaussian(1), shift=INF), "shift"),
        (lambda: RandomDirectionGaussian(0), "scale"),
        (lambda: RandomDirectionGaussian(NAN), "scale"),
        (lambda: RandomDirectionGaussian("-0.5"), "scale"),
        (lambda: IsotropicGaussian(INF), "scale"),
        (lambda: IsotropicLaplace(0), "scale"),
        (lambda: LOSS.delta(NAN), "epsilon"),
        (lambda: LOSS.delta(INF), "epsilon"),
        (lambda: LOSS.epsilon("1.5"), "delta"),
        (lambda: LOSS.certified_beta(-1), "alpha"),
        (lambda: LOSS.renyi(0), "order"),
        (lambda: LOSS.tails(np.array([0.0, NAN])), "l"),
    ],
)
def test_what_is_out_of_range_is_refused(make, name):
    with pytest.raises(InvalidValue) as refused:
        make()
    assert refused.value.name == name


def test_the_renyi_divergence_is_infinite_from_dim_over_dim_minus_one_on():
    assert LOSS.renyi("1.25") == INF
    assert LOSS.certified_renyi(2).lower == INF
    assert 0 < SphericalLoss(3, RandomDirectionGaussian(2)).renyi("1.3") < INF
    assert 0 < SphericalLoss(3, IsotropicLaplace(1)).renyi(2) < 1
    assert SphericalLoss(3, IsotropicGaussian(2)).renyi(4) == 0.5


def test_the_ends_of_the_domains():
    assert LOSS.epsilon(0) == INF
    assert LOSS.epsilon(1) == 0
    assert LOSS.epsilon("0.99") == 0
    assert LOSS.beta(0) == 1
    assert LOSS.beta(1) == 0
    assert 1 - LOSS.delta(-800) < 1e-15
    assert LOSS.certified_delta(-(10**12)).contains(1)
    assert LOSS.delta("1e-300") == pytest.approx(LOSS.advantage(), rel=1e-15)
    assert LOSS.log_delta(1000) == pytest.approx(-252.05321, rel=1e-6)


def test_a_loss_beyond_reach_raises_instead_of_a_wide_answer(monkeypatch):
    monkeypatch.setattr("dpverdict.audit.losses.spherical.integral._MAX_BITS", 1000)
    with pytest.raises(PrecisionExhausted):
        SphericalLoss(3, RandomDirectionGaussian(1)).certified_delta(10**6)


def test_a_shift_of_zero_leaves_two_equal_laws():
    loss = SphericalLoss(4, RandomDirectionGaussian(1), shift=0)
    assert (loss.delta(0), loss.delta(2), loss.advantage(), loss.epsilon(0), loss.renyi(3)) == (0, 0, 0, 0, 0)
    assert loss.certified_delta(-1).contains(Fraction(632120558828557678404476, 10**24)) is True
    assert loss.log_delta(1) == -INF
    assert loss.beta("0.25") == 0.75
    assert loss.tails(np.array([-1.0, 0.0])).p_above.tolist() == [1.0, 0.0]
    assert loss.certified_tails(0)[0].upper == 0


def test_only_the_ratio_of_shift_and_scale_matters():
    near = SphericalLoss(4, RandomDirectionGaussian(10), shift=2).certified_delta(1)
    far = SphericalLoss(4, RandomDirectionGaussian(5)).certified_delta(1)
    assert (near.lower, near.upper) == (far.lower, far.upper)
    root = SphericalLoss(3, RandomDirectionGaussian(Real.of(50).sqrt()), shift=Real.of(2).sqrt())
    assert root.certified_delta(1).contains(Fraction(SphericalLoss(3, RandomDirectionGaussian(5)).delta(1)))


def test_the_isotropic_laplace_law_is_pure():
    loss = SphericalLoss(3, IsotropicLaplace(2), shift=3)
    assert loss.epsilon(0) == 1.5
    assert loss.delta("1.5") == 0
    assert 0 < loss.delta("1.49") < 1e-3
    assert loss.log_delta(2) == -INF
    assert 0 < loss.epsilon("0.1") < 1.5


def test_numbers_and_arrays_agree():
    points = np.linspace(-3.0, 8.0, 90)
    values = LOSS.delta(points)
    for i in range(0, 90, 11):
        enclosure = LOSS.certified_delta(float(points[i]))
        assert abs(values[i] - enclosure.lower) <= spherical_loss.RELATIVE_ERROR * enclosure.upper
    assert np.all(np.diff(values) < 0)
    few = LOSS.certified_delta([0, "0.5", Fraction(1)])
    assert few[2].lower <= LOSS.delta(1) <= few[2].upper
    assert LOSS.beta(np.array([0.0, 1.0])).tolist() == [1.0, 0.0]


def test_the_tails_in_float64_are_those_of_the_balls():
    losses = np.array([-4.0, -0.5, 0.0, 0.7, 20.0])
    tails = LOSS.tails(losses)
    assert isinstance(tails, LossTails)
    for i, loss in enumerate(losses.tolist()):
        p, q = LOSS.certified_tails(loss)
        assert tails.p_above[i] == pytest.approx(p.lower, rel=1e-12)
        assert tails.q_above[i] == pytest.approx(q.lower, rel=1e-12)
        assert tails.p_below[i] == pytest.approx(1 - p.lower, rel=1e-9)
    assert tails.q_below + tails.q_above == pytest.approx(np.ones(5))


def test_the_trade_off_function_is_its_own_inverse():
    loss = SphericalLoss(3, RandomDirectionGaussian(2))
    beta = loss.beta("0.1")
    assert loss.beta(beta) == pytest.approx(0.1, rel=1e-10)


def test_the_two_laws_print_as_they_are_made():
    assert repr(LOSS) == "SphericalLoss(5, RandomDirectionGaussian(scale=5), shift=1)"
    assert repr(SphericalLoss(3, IsotropicLaplace("0.1"), "1/3")).endswith("IsotropicLaplace(scale=0.1), shift=1/3)")
    assert (LOSS.dim, repr(LOSS.law), LOSS.shift.rational) == (5, "RandomDirectionGaussian(scale=5)", 1)


class Doubled(RadialLaw):
    """A law of one's own, made of another: the isotropic Gaussian of twice the scale."""

    def __init__(self, inner):
        self.inner = inner

    def require(self, dim):
        self.inner.require(dim)

    def divided_by(self, length):
        return Doubled(self.inner.divided_by(length))

    def cdf(self, radius, dim, analytic):
        return self._twice().cdf(radius, dim, analytic)

    def tail(self, radius, dim, analytic):
        return self._twice().tail(radius, dim, analytic)

    def radius_beyond(self, exponent, dim):
        return self._twice().radius_beyond(exponent, dim)

    def surface(self, dim, level):
        return self._twice().surface(dim, level)

    def largest_loss(self):
        return None

    def renyi(self, dim, order):
        return self._twice().renyi(dim, order)

    def _twice(self):
        return IsotropicGaussian(self.inner.sigma.rational * 2)


def test_a_law_of_ones_own_serves():
    loss = SphericalLoss(4, Doubled(IsotropicGaussian(1)))
    assert loss.delta(1) == pytest.approx(SphericalLoss(4, IsotropicGaussian(2)).delta(1), rel=1e-15)


def test_the_distribution_functions_of_the_radius_add_up():
    with precision(100):
        for law in (RandomDirectionGaussian(2), IsotropicGaussian(2), IsotropicLaplace(2)):
            for radius in ("0.1", "3", "40"):
                total = law.cdf(acb(radius), 4, False) + law.tail(acb(radius), 4, False)
                assert total.real.contains(1)
            wide = law.cdf(acb(arb(1).union(arb(5))), 4, False).real
            assert not wide.is_finite() or wide.contains(law.cdf(acb(2), 4, False).real.mid())


def test_a_profile_that_forgets_the_reflection_is_noticed(monkeypatch):
    """Planted: delta(-s) taken for delta(s)."""
    right = LOSS.certified_delta(-1)
    original = spherical_profile.SphericalProfile.delta
    monkeypatch.setattr(spherical_profile.SphericalProfile, "delta", lambda self, e, bits: original(self, abs(e), bits))
    assert LOSS.certified_delta(-1).upper < right.lower


def test_a_wide_enclosure_is_never_given_as_a_number() -> None:
    """Near the order 3/2, from which the divergence is infinite, it is known to a few per cent only."""
    loss = SphericalLoss(3, RandomDirectionGaussian(2))
    known = loss.certified_renyi("1.49")
    assert known.upper > 1.01 * known.lower
    for order in ("1.49", [1.49]):
        with pytest.raises(PrecisionExhausted, match="certified_"):
            loss.renyi(order)
    assert midpoint(arb(0, 1e-13)) == 0
    assert midpoint(arb(1, 1e-4)) == 1
    with pytest.raises(PrecisionExhausted):
        midpoint(arb(1, 2e-3))


def test_far_below_zero_the_profile_is_one() -> None:
    loss = SphericalLoss(3, RandomDirectionGaussian(3))
    assert loss.delta(-1e308) == 1
    below = loss.delta(np.array([[-1e9, -751.0], [-749.0, -1.0]]))
    assert below[:, 0].tolist() == [1, 1]
    assert below[0, 1] == 1
    assert below[1, 1] == loss.delta(-1)


@pytest.mark.parametrize(("dim", "alpha"), [(3, "1/20"), pytest.param(10, "1/100", marks=pytest.mark.slow)])
def test_few_digits_of_beta_enclose_all_of_them(dim: int, alpha: str) -> None:
    loss = SphericalLoss(dim, RandomDirectionGaussian(Fraction(1, dim)))
    rough, sharp = loss.enclosed_beta(Fraction(alpha), 4), loss.certified_beta(alpha)
    assert rough.lower <= sharp.lower
    assert sharp.upper <= rough.upper
    assert rough.upper - rough.lower <= 1e-4 * rough.upper


def test_few_digits_of_what_has_no_guess() -> None:
    assert SphericalLoss(3, RandomDirectionGaussian(3), shift=0).enclosed_beta(Fraction(1, 20), 4).contains("0.95")
    assert LOSS.enclosed_beta(Fraction(0), 4).contains(1)
    tiny = SphericalLoss(3, RandomDirectionGaussian(3), shift="1e-15")
    assert tiny.enclosed_beta(Fraction(1, 20), 4).upper <= 0.95
