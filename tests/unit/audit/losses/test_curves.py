"""The curves derived from a certified profile agree with those that are known in closed form."""

from fractions import Fraction

import pytest
from flint import arb

from dpverdict.audit.losses import curves as profile_curves
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.curves import beta_ball, epsilon_ball, log_delta_ball
from dpverdict.balls import Enclosure, Real, ball, precision, refine
from dpverdict.errors import ContradictoryBounds, PrecisionExhausted
from dpverdict.numerics import gaussian as gaussian_balls
from dpverdict.numerics import gaussian_formulas
from dpverdict.numerics.gaussian import BallNormal
from dpverdict.numerics.roots import Bracket, as_fraction

KIND = BallNormal()
MUS = ["0.01", "1", "10"]


def profile(mu):
    """The Gaussian profile as a curve."""
    return lambda epsilon, bits: refine(lambda: gaussian_formulas.delta(KIND, ball(epsilon), ball(mu)), bits=bits)


def complement(mu):
    return lambda epsilon, bits: refine(
        lambda: gaussian_formulas.delta_complement(KIND, ball(epsilon), ball(mu)), bits=bits
    )


def q_tail(mu):
    return lambda epsilon, bits: refine(lambda: KIND.tail(ball(epsilon) / ball(mu) + ball(mu) / 2), bits=bits)


def response(p):
    """The profile and Q[L > epsilon] of randomized response: one atom on either side."""

    def delta(epsilon, bits):
        with precision(bits + 40):
            growth = ball(epsilon).exp()
            first, second = ball(p) - growth * ball(1 - p), ball(1 - p) - growth * ball(p)
            return first.max(arb(0)) + second.max(arb(0))

    def q(epsilon, bits):
        with precision(bits + 40):
            atom, point = (ball(p) / ball(1 - p)).log(), ball(epsilon)
            return arb(0) if point >= atom else ball(1 - p) if point >= -atom else arb(1)

    return delta, q


@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize("delta", ["1e-300", "1e-5", "0.3", "0.999"])
def test_epsilon_is_that_of_the_gaussian(mu, delta):
    value = epsilon_ball(profile(Fraction(mu)), Fraction(delta))
    assert value.overlaps(gaussian_balls.epsilon_ball(Real.of(delta), Real.of(mu))) or (
        value == 0 and GaussianLoss(mu).epsilon(delta) == 0
    )
    assert value == 0 or value.rel_accuracy_bits() >= profile_curves.ACCURACY


@pytest.mark.parametrize("guess", ["1e-9", "0.001", "0.9", "1.2", "4000"])
def test_a_guess_does_not_move_epsilon(guess):
    level, curve = Fraction(1, 10**5), profile(Fraction(1, 3))
    value, known = epsilon_ball(curve, level, guess=Fraction(guess)), epsilon_ball(curve, level)
    assert value.overlaps(known)
    assert value.rel_accuracy_bits() >= profile_curves.ACCURACY
    assert epsilon_ball(curve, Fraction(1, 2), guess=Fraction(guess)) == 0


@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize("alpha", ["1e-300", "1e-5", "0.3", "0.5", "0.999", "0.9999999999999999999"])
def test_beta_is_that_of_the_gaussian(mu, alpha):
    exact = gaussian_balls.beta_ball(Real.of(alpha), Real.of(mu))
    for rest in (None, complement(Fraction(mu))):
        value = beta_ball(profile(Fraction(mu)), q_tail(Fraction(mu)), Fraction(alpha), complement=rest)
        assert value.overlaps(exact)
        assert value.rel_accuracy_bits() >= profile_curves.ACCURACY


@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize("epsilon", ["-400", "-1", "0", "3", "100"])
def test_log_delta_is_that_of_the_gaussian(mu, epsilon):
    exact = gaussian_balls.log_delta_ball(Real.of(epsilon), Real.of(mu))
    for rest in (None, complement(Fraction(mu))):
        value = log_delta_ball(profile(Fraction(mu)), Fraction(epsilon), complement=rest)
        assert value.overlaps(exact)
        assert value.rel_accuracy_bits() >= profile_curves.ACCURACY


@pytest.mark.parametrize(
    ("alpha", "beta"), [("0.2", "8/15"), ("0.3", "0.3"), ("0.5", "3/14"), ("0.01", "293/300"), ("0.95", "3/140")]
)
def test_beta_of_a_loss_with_two_atoms_is_piecewise_linear(alpha, beta):
    value = beta_ball(*response(Fraction("0.7")), Fraction(alpha))
    assert Enclosure.of_ball(value).contains(beta)
    assert value.rel_accuracy_bits() >= profile_curves.ACCURACY


def test_a_level_never_reached_is_an_error():
    with pytest.raises(PrecisionExhausted):
        epsilon_ball(lambda *_: arb(0.5), Fraction(1, 4))


def test_a_level_that_equals_the_value_at_0_is_undecided_or_0():
    assert epsilon_ball(lambda *_: arb(0.25), Fraction(1, 4)) == 0
    with pytest.raises(PrecisionExhausted):
        epsilon_ball(lambda *_: arb(0.25, 1e-9), Fraction(1, 4))


def test_the_pure_epsilon_ends_the_bracket():
    value = epsilon_ball(lambda e, _: ball(max(1 - e, Fraction(0))), Fraction(1, 10**40), highest=Fraction(1))
    assert Enclosure.of_ball(value).contains(1 - Fraction(1, 10**40))


def test_the_logarithm_of_nothing_is_minus_infinity():
    assert log_delta_ball(lambda *_: arb(0), Fraction(1)) == arb("-inf")
    with pytest.raises(PrecisionExhausted):
        log_delta_ball(lambda *_: arb(1, 1e-20), Fraction(1))


@pytest.mark.parametrize("root", [Fraction(1, 3), Fraction(10**9 - 1, 10**9), Fraction(1, 10**12)])
def test_a_bracket_shrinks_fast_from_both_sides(root):
    def f(x):
        return (root - x) * (1 + x * x)

    bracket = Bracket(low=Fraction(0), high=Fraction(1), at_low=ball(f(Fraction(0))), at_high=ball(f(Fraction(1))))
    trials = 0
    for point in bracket.trials(128):
        if bracket.width * 2**50 <= bracket.high:
            break
        assert bracket.low < point < bracket.high
        with precision(128):
            bracket.narrow(point, ball(f(point)), 1 if f(point) > 0 else -1)
        trials += 1
    assert bracket.low < root <= bracket.high
    assert trials < 100


def test_a_ball_of_radius_0_is_a_fraction():
    assert as_fraction(arb(0.375)) == Fraction(3, 8)
    assert as_fraction(arb(2) ** 70) == 2**70
    assert as_fraction(arb(0)) == 0


# planted faults -------------------------------------------------------------------------------------------------------


def test_a_chord_from_a_wrong_vertex_is_caught():
    """With Q[L > epsilon] of another loss the points are not on the function: the answer leaves the truth."""
    exact = gaussian_balls.beta_ball(Real.of("0.3"), Real.of(1))
    try:
        value = beta_ball(profile(Fraction(1)), q_tail(Fraction("1.01")), Fraction("0.3"))
    except (ContradictoryBounds, PrecisionExhausted):
        return
    assert not value.overlaps(exact)


def test_a_root_of_a_wrong_profile_is_caught():
    value = epsilon_ball(profile(Fraction("1.0000001")), Fraction("1e-5"))
    assert not value.overlaps(gaussian_balls.epsilon_ball(Real.of("1e-5"), Real.of(1)))
