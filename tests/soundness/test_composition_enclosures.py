"""Every certified number of a composed loss encloses the truth, computed independently by quadrature. No tolerance.

The independent truth conditions on the Laplace losses: the profile of the composition is the mean, over the law of the
Laplace losses, of the Gaussian profile at what is left of epsilon. The checks are functions, so that planted faults can
be shown to make them fail.
"""

import dataclasses
import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import acb, arb
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpverdict.audit.losses import curves as profile_curves
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.contour import floats as trade_off_knots
from dpverdict.audit.losses.contour import integral as contour
from dpverdict.audit.losses.contour import moments as contour_plan
from dpverdict.audit.losses.contour.floats import TradeOffKnots
from dpverdict.audit.losses.contour.integral import Contour, ContourEngine
from dpverdict.audit.losses.contour.moments import Kind, MomentFunction, Planner
from dpverdict.balls import Enclosure, Real, ball, precision

BITS = 60
EXAMPLES = settings(max_examples=20, deadline=None)


def exact(value):
    """The exact rational value of an mpmath number."""
    sign, mantissa, exponent, _ = value._mpf_
    return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def mp(rational):
    return mpmath.mpf(rational.numerator) / rational.denominator


def mean_over_laplace(function, shifts, kinks):
    """E[function(sum of the Laplace losses)], each s - 2 min(max(x, 0), s) for x of law Lap(1), under P."""
    if not shifts:
        return function(mpmath.mpf(0))
    s, rest = mp(shifts[0]), shifts[1:]

    def inner(loss):
        return mean_over_laplace(lambda other: function(loss + other), rest, kinks)

    points = sorted({mpmath.mpf(0), s, *((s - kink) / 2 for kink in kinks if -s < kink < s)})
    middle = mpmath.quad(lambda x: mpmath.exp(-x) * inner(s - 2 * x), points) / 2
    return inner(s) / 2 + mpmath.exp(-s) * inner(-s) / 2 + middle


def independent_profile(mu, shifts, epsilon):
    """delta(epsilon) for a Gaussian and at most two Laplace losses."""
    m, e = mp(mu), mp(epsilon)
    kinks = [e + k * m for k in (-8, -3, 0, 3, 8)]
    return mean_over_laplace(
        lambda loss: mpmath.ncdf(m / 2 - (e - loss) / m) - mpmath.exp(e - loss) * mpmath.ncdf(-m / 2 - (e - loss) / m),
        shifts,
        kinks,
    )


def independent_tail(mu, shifts, epsilon):
    """Q[L > epsilon]: under Q all losses are those under P with the other sign."""
    m, e = mp(mu), mp(epsilon)
    kinks = [-e + k * m for k in (-8, -3, 0, 3, 8)]
    return mean_over_laplace(lambda loss: mpmath.ncdf((-loss - e - m**2 / 2) / m), shifts, kinks)


def engine_of(mu, shifts):
    counts = {shift: shifts.count(shift) for shift in shifts}
    return ContourEngine(MomentFunction(Real.of(mu**2), counts.items()))


SMALL = [
    (Fraction(1, 2), [Fraction(3, 10)], Fraction(0)),
    (Fraction(1, 2), [Fraction(3, 10)], Fraction(1)),
    (Fraction(1, 2), [Fraction(3, 10)], Fraction(-2)),
    (Fraction(1, 2), [Fraction(3, 10)], Fraction(6)),
    (Fraction(2), [Fraction(1)], Fraction(1, 10)),
    (Fraction(1, 20), [Fraction(1)], Fraction(1)),
    (Fraction(1, 1000), [Fraction(1)], Fraction(1, 2)),
    (Fraction(1, 1000), [Fraction(1)], Fraction(1001, 1000)),
    (Fraction(10), [Fraction(2)], Fraction(3)),
    (Fraction(1, 10**6), [Fraction(1, 10**6)], Fraction(1, 10**6)),
]
TWO = (Fraction(1, 2), [Fraction(3, 10), Fraction(7, 10)], Fraction(1))


def agrees(ball_of_value, truth, lost):
    """Whether the ball meets the interval of half-width truth * 10^-lost about the independent value."""
    with precision(256):
        centre = ball(exact(truth))
        return ball_of_value.overlaps(centre + centre * arb(10) ** -lost * arb(0, 1))


def digits(epsilon):
    """Working digits: the quadrature stops at an absolute error, and the value may be 1e-40."""
    return 40 if abs(epsilon) < 5 else 90


def check_profile(mu, shifts, epsilon):
    with mpmath.workdps(digits(epsilon)):
        truth = independent_profile(mu, shifts, epsilon)
    assert agrees(engine_of(mu, shifts).delta(epsilon, BITS), truth, 24)


def test_the_profile_agrees_with_repeated_quadrature_over_two_laplace_losses():
    mu, shifts, epsilon = TWO
    with mpmath.workdps(18):
        truth = independent_profile(mu, shifts, epsilon)
    assert agrees(engine_of(mu, shifts).delta(epsilon, BITS), truth, 12)


@pytest.mark.parametrize(("mu", "shifts", "epsilon"), SMALL)
def test_the_profile_agrees_with_quadrature_over_the_laplace_losses(mu, shifts, epsilon):
    check_profile(mu, shifts, epsilon)


@pytest.mark.parametrize(("mu", "shifts", "epsilon"), SMALL)
@pytest.mark.parametrize("sign", [-1, 1])
def test_the_tails_agree_with_quadrature_over_the_laplace_losses(mu, shifts, epsilon, sign):
    with mpmath.workdps(digits(epsilon)):
        truth = independent_tail(mu, shifts, sign * epsilon)
    assert agrees(engine_of(mu, shifts).q_tail(sign * epsilon, BITS), truth, 24)


@given(st.floats(-6, 2), st.floats(-9, 9) | st.floats(-60, 60))
@example(-6.0, 0.0)
@example(2.0, -60.0)
@EXAMPLES
def test_without_laplace_losses_the_contour_meets_the_closed_form(log_mu, t):
    mu = Fraction(10.0**log_mu)
    epsilon = mu * (Fraction(t) + mu / 2)
    engine, loss = engine_of(mu, []), GaussianLoss(mu)
    closed = loss._delta_balls([epsilon])[0]
    value = engine.delta(epsilon, BITS)
    assert value.overlaps(closed)
    assert value.rel_accuracy_bits() >= BITS
    with precision(100):
        assert engine.delta_complement(epsilon, BITS).overlaps(1 - closed)


parts = st.tuples(
    st.fractions(Fraction(1, 20), 3),
    st.lists(st.fractions(Fraction(1, 50), 2), min_size=1, max_size=4),
    st.fractions(-3, 8),
)


@given(parts)
@EXAMPLES
def test_all_ways_to_a_value_meet(case):
    mu, shifts, epsilon = case
    engine = engine_of(mu, shifts)
    delta, tail = engine.delta(epsilon, BITS), engine.q_tail(epsilon, BITS)
    lower = engine.q_tail(-epsilon, BITS)  # P[L <= epsilon]
    with precision(120):
        assert delta.overlaps(1 - engine.delta_complement(epsilon, BITS))
        assert delta.overlaps(1 - lower - ball(epsilon).exp() * tail)


@given(parts, st.integers(40, 160), st.floats(0.2, 3), st.floats(0.3, 3), st.floats(0.1, 2))
@EXAMPLES
def test_any_plan_gives_a_ball_that_contains_the_value(case, bits, step, centre, number):
    mu, shifts, epsilon = case
    engine = engine_of(mu, shifts)
    truth = engine.delta(epsilon, 100)
    plan = engine.planner.plan(Kind.PROFILE, np.array([float(epsilon)]), np.array([-40.0]))
    poor = dataclasses.replace(
        plan,
        bits=bits,
        step=plan.step * step,
        centre=min(plan.centre * centre, (plan.centre + plan.right) / 2),
        number=max(1, int(plan.number * number)),
        left=0.0,
    )
    assert Contour(engine.moments, poor).value(Kind.PROFILE, epsilon).contains(truth.mid())


@given(st.fractions(Fraction(1, 30), 5))
@EXAMPLES
def test_the_knots_bound_the_trade_off_function_of_a_gaussian(mu):
    check_knots(mu)


LEVELS = np.concatenate([np.linspace(0, 1, 33), np.geomspace(1e-300, 1, 32), 1 - np.geomspace(1e-15, 0.1, 16)])


def check_knots(mu):
    knots = TradeOffKnots(engine_of(mu, []))
    lower, upper = knots.bounds(LEVELS)
    truth = GaussianLoss(mu).certified_beta(LEVELS)
    assert (lower <= truth.lower).all()
    assert (upper >= truth.upper).all()
    assert (upper - lower).max() <= trade_off_knots.GAP


@pytest.mark.parametrize(("mu", "shifts"), [(Fraction(1, 2), [Fraction(3, 10)]), (Fraction(1, 100), [Fraction(1)] * 2)])
def test_both_certified_trade_off_functions_meet_and_lie_between_the_knots(mu, shifts):
    from dpverdict.audit.losses import curves as smooth_trade_off

    engine = engine_of(mu, shifts)
    knots = TradeOffKnots(engine)
    for alpha in (Fraction(1, 1000), Fraction(1, 4), Fraction(9, 10)):
        smooth = smooth_trade_off.smooth_beta_ball(engine.q_tail, alpha, low=Fraction(0), high=Fraction(1, 100))
        general = profile_curves.beta_ball(engine.delta, engine.q_tail, alpha)
        assert smooth.overlaps(general)
        enclosure = Enclosure.of_ball(smooth)
        lower, upper = knots.bounds(np.array([float(alpha)]))
        if Fraction(float(alpha)) == alpha:
            assert lower[0] <= enclosure.upper
            assert upper[0] >= enclosure.lower


# planted faults -------------------------------------------------------------------------------------------------------

FAULTY = (Fraction(1, 2), [Fraction(3, 10)], Fraction(1))


def coarse(monkeypatch, **factors):
    """Make every contour coarser by the given factors, whatever accuracy that leaves."""
    plan = Planner.plan

    def worse(self, *arguments):
        good = plan(self, *arguments)
        changes = {name: type(getattr(good, name))(getattr(good, name) * by) for name, by in factors.items()}
        return dataclasses.replace(good, **changes)

    monkeypatch.setattr(contour_plan.Planner, "plan", worse)


def value_of(mu, shifts, epsilon):
    engine = engine_of(mu, shifts)
    plan = engine.planner.plan(Kind.PROFILE, np.array([float(epsilon)]), np.array([-45.0]))
    return Contour(engine.moments, plan).value(Kind.PROFILE, epsilon)


@pytest.mark.parametrize(
    ("factors", "dropped"),
    [({"step": 6.0}, "alias"), ({"number": 0.4}, "truncation")],
)
def test_an_error_that_is_not_charged_is_caught(monkeypatch, factors, dropped):
    truth = engine_of(*FAULTY[:2]).delta(FAULTY[2], 100).mid()
    coarse(monkeypatch, **factors)
    assert value_of(*FAULTY).contains(truth)
    monkeypatch.setattr(contour._Bounds, dropped, lambda self, *arguments: arb(0))
    assert not value_of(*FAULTY).contains(truth)


def plain_moments(self, centre, step, number, *, atom=1, sign=1):
    """M on the line by the definition: two atoms and an integral, for every Laplace factor."""
    values = []
    for k in range(number):
        t = acb(arb(centre), arb(step) / 2 * (2 * k + 1))
        value = (self.variance.ball() / 2 * t * (t + sign)).exp()
        for shift, count in self.shifts:
            s = ball(shift)
            inside = ((t * s).exp() - (-s * (t + 1)).exp()) / (2 * (2 * t + 1))
            value *= ((t * s).exp() / 2 * atom + (-s * (t + 1)).exp() / 2 + inside) ** count
        values.append(value)
    return values


@pytest.mark.parametrize("centre", [-0.8, -0.5, -0.25, 0.0, 3.0, 40.0])
def test_the_moments_on_a_line_are_those_of_the_definition(centre):
    moments = MomentFunction(Real.of("0.3"), [(Fraction(1, 3), 2), (Fraction(7, 5), 1), (Fraction(1, 100), 40)])
    with precision(200):
        for found, plain in zip(moments.on_line(centre, 0.7, 40), plain_moments(moments, centre, 0.7, 40), strict=True):
            assert found.overlaps(plain)
            assert found.rel_accuracy_bits() > 120


@pytest.mark.parametrize("fault", [{"atom": 0}, {"sign": -1}])
def test_a_wrong_moment_function_is_caught(monkeypatch, fault):
    monkeypatch.setattr(MomentFunction, "on_line", plain_moments)
    check_profile(*FAULTY)
    monkeypatch.setattr(MomentFunction, "on_line", lambda *arguments: plain_moments(*arguments, **fault))
    with pytest.raises(AssertionError):
        check_profile(*FAULTY)


def test_knots_that_are_not_rounded_outward_or_misplaced_are_caught(monkeypatch):
    tails = trade_off_knots._tails

    def shifted(*arguments):
        epsilons, p_tails, q_tails = tails(*arguments)
        return epsilons, [p + arb(2) ** -30 for p in p_tails], q_tails

    check_knots(Fraction(1))
    monkeypatch.setattr(trade_off_knots, "_tails", shifted)
    with pytest.raises(AssertionError):
        check_knots(Fraction(1))


def test_the_order_of_evaluation_does_not_matter():
    mu, shifts, _ = SMALL[0]
    epsilons = [Fraction(k, 7) for k in range(-10, 40)]
    one = engine_of(mu, shifts)
    together = one.deltas(epsilons, BITS)
    for epsilon, value in itertools.islice(zip(epsilons, together, strict=True), 0, None, 7):
        assert engine_of(mu, shifts).delta(epsilon, BITS).overlaps(value)
        assert value.rel_accuracy_bits() >= BITS
