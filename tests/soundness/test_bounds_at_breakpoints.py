"""Every answer with two sides, at and around the points where a loss or its computation changes; no tolerance.

The points are the largest and the smallest loss, the atoms, the ends of both lattices, and one step, half a step and
one float beside each: there the laws of a composition are tilted as far as they go, and masses end. The truth is
certified by another route (closed forms, finite sums, contours) or an exact sum of the masses.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpverdict.audit.losses.bounded import BoundedLoss
from dpverdict.audit.losses.closed_form import GaussianLoss, ResponseLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.contour.loss import ComposedLoss
from dpverdict.audit.losses.curves import epsilon_between
from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.audit.losses.finite.pld import PldLoss
from dpverdict.audit.losses.laplace import profile as laplace_profile
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.losses.lattice import bounds as lattice_bounds
from dpverdict.audit.losses.lattice import whole
from dpverdict.audit.losses.lattice.custom import CustomLoss
from dpverdict.audit.losses.lattice.law import LatticeLaw, Side
from dpverdict.audit.losses.spherical.isotropic import IsotropicGaussian, IsotropicLaplace
from dpverdict.audit.losses.spherical.loss import SphericalLoss
from dpverdict.balls import Quantity, ball, precision
from dpverdict.errors import ContradictoryBounds

SLOW = pytest.mark.slow
LEVELS = [0.0, 1e-300, 1e-40, 1e-12, 1e-5, 0.01, 0.1, 0.3, 0.5, 0.9, 0.99, 1 - 1e-9, 1.0]


def around(point, step):
    """The point, its neighbours among the floats, and points some steps to either side."""
    x = float(point)
    beside = [x + side * times * step for side in (-1, 1) for times in (0.5, 1, 3)]
    return [x, math.nextafter(x, math.inf), math.nextafter(x, -math.inf), x - 30 * step, *beside]


def breakpoints(loss, atoms):
    """Epsilons around the ends of both lattices, the atoms, and 0."""
    bounds = loss._bounds
    ends = {bounds._upper.highest, bounds._lower.highest}
    points = [x for end in {*ends, *(-end for end in ends), *atoms, Fraction(0)} for x in around(end, loss.interval)]
    far = float(max(ends))
    return np.array(sorted({*points, -2 * far, 0.99 * far, 0.9 * far, 0.5 * far}))


def check(loss, truth, atoms=()):
    """All four curves of a `BoundedLoss` at its breakpoints against enclosures of the truth."""
    epsilons = breakpoints(loss, atoms)
    curves = (
        (loss.delta_bounds, truth.certified_delta, epsilons),
        (loss.log_delta_bounds, truth.certified_log_delta, epsilons),
        (loss.epsilon_bounds, truth.certified_epsilon, np.array(LEVELS)),
        (loss.beta_bounds, truth.certified_beta, np.array(LEVELS)),
    )
    for bounds, certified, points in curves:
        lower, upper = bounds(points)
        enclosures = certified(points)
        assert (lower <= upper).all()
        assert (lower <= enclosures.upper).all()
        assert (upper >= enclosures.lower).all()


def sums(step, count):
    """The atoms of the sum of ``count`` losses that are plus or minus ``step``, some of them."""
    return [step * (count - 2 * k) for k in sorted({0, 1, 2, count // 2, count - 1, count})]


LAPLACE = [("4", 3), ("0.3", 1), ("0.3", 2), ("1.1339", 60), ("7.5", 12), ("1/3", 10)]


@pytest.mark.few(2)
@pytest.mark.parametrize("cells", [2, pytest.param(37.3, marks=SLOW)])
@pytest.mark.parametrize(("shift", "count"), LAPLACE)
def test_equal_laplace_mechanisms(shift, count, cells):
    loss = LaplaceLoss([shift])
    check(
        BoundedLoss([(loss, count)], float(loss.total) / cells),
        LaplaceLoss.equal(count, shift),
        sums(loss.total, count),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("interval", "width"), [(1e-2, 1e-2), pytest.param(1e-4, 1e-6, marks=SLOW)], ids=["wide steps", "narrow steps"]
)
def test_the_loss_of_a_hundred_mechanisms_just_below_its_largest_value(interval, width):
    """113.38 was given as a lower bound on epsilon(1e-5), and 1 as one on delta(113.38)."""
    loss = BoundedLoss([(LaplaceLoss([1.1339]), 100)], interval)
    lower, upper = loss.epsilon_bounds(np.array([1e-5]))
    assert lower <= 79.968870167211840
    assert upper - lower < width
    lower, upper = loss.delta_bounds(np.array([113.38]))
    assert lower < 9.99e-33
    assert upper > 9.97e-33
    if interval == 1e-4:
        assert 9.97e-33 < lower < upper < 9.99e-33


@pytest.mark.few(3)
@pytest.mark.parametrize("cells", [2, 9.3])
@pytest.mark.parametrize(
    ("rate", "count"), [("0.5", 1), ("0.1", 60), *(pytest.param(*case, marks=SLOW) for case in (("3", 7), ("9", 20)))]
)
def test_equal_responses(rate, count, cells):
    loss = ResponseLoss(1, rate)
    check(BoundedLoss([(loss, count)], float(loss.total) / cells), ResponseLoss(count, rate), sums(loss.total, count))


@pytest.mark.few(1)
@pytest.mark.parametrize("interval", [0.37, 2.0**-5])
@pytest.mark.parametrize("groups", [[("0.5", 3), ("1/3", 2)], [("2", 1), ("0.01", 20)], [("5", 4), ("4.9", 4)]])
def test_unequal_laplace_mechanisms(groups, interval):
    truth = LaplaceLoss.grouped(groups)
    losses = [(LaplaceLoss([shift]), count) for shift, count in groups]
    check(BoundedLoss(losses, interval), truth, [truth.total, -truth.total])


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("loss", "count", "truth", "interval"),
    [
        (GaussianLoss("0.3"), 12, GaussianLoss.from_squared("1.08"), 0.02),
        (GaussianLoss(3), 40, GaussianLoss.from_squared(360), 0.5),
        (GaussianLoss("0.01"), 300, GaussianLoss.from_squared("0.03"), 1e-4),
        (DiscreteGaussianLoss.product([1], ["1/10"]), 5, DiscreteGaussianLoss.from_groups([("1/10", 1, 5)]), 2.5),
        (DiscreteGaussianLoss.product([2], [3]), 9, DiscreteGaussianLoss.from_groups([(3, 2, 9)]), 0.11),
        pytest.param(SphericalLoss(3, IsotropicGaussian(2)), 4, GaussianLoss(1), 0.1, marks=SLOW),
    ],
)
def test_other_losses(loss, count, truth, interval):
    check(BoundedLoss([(loss, count)], interval), truth)


@SLOW  # far in the tail every epsilon has a lattice of its own; tests/soundness/test_lattice_event.py has the rest
def test_a_laplace_mechanism_with_a_gaussian_one():
    truth = compose(LaplaceLoss.equal(3, "0.7"), GaussianLoss("0.4"))
    check(BoundedLoss([(LaplaceLoss(["0.7"]), 3), (GaussianLoss("0.4"), 1)], 0.05), truth, sums(Fraction(7, 10), 3))


@given(
    st.fractions(Fraction(1, 200), 9, max_denominator=997),
    st.integers(1, 60),
    st.floats(1.1, 60),
    st.sampled_from(["laplace", "response"]),
)
@example(Fraction(11339, 10000), 60, 50.0, "laplace")
@settings(max_examples=2, deadline=None)
def test_any_number_of_equal_mechanisms(size, count, cells, kind):
    loss = LaplaceLoss([size]) if kind == "laplace" else ResponseLoss(1, size)
    truth = LaplaceLoss.equal(count, size) if kind == "laplace" else ResponseLoss(count, size)
    check(BoundedLoss([(loss, count)], min(float(size) / cells, 8.0)), truth, sums(size, count))


# laws of which the masses are known -----------------------------------------------------------------------------------


def composed_masses(parts, infinite):
    """The finite masses of the composition of laws on one lattice, exactly, by index; and that of infinity."""
    law, finite = {0: Fraction(1)}, Fraction(1)
    for part, count in parts:
        for _ in range(count):
            product = {}
            for index, mass in law.items():
                for i, other in enumerate(part.masses.tolist(), part.lowest):
                    product[index + i] = product.get(index + i, 0) + mass * Fraction(other)
            law = product
            finite *= 1 - Fraction(part.infinity_mass)
    return law, 1 - finite


def check_laws(laws):
    """Compositions of distributions against the exact sums of their masses."""
    parts = [(LatticeLaw(**law), count) for law, count in laws]
    masses, infinite = composed_masses(parts, None)
    interval = parts[0][0].interval
    loss = BoundedLoss([(PldLoss(law), count) for law, count in parts])
    highest = max(masses)
    atoms = [i * interval for i in (min(masses), highest, highest - 1, 0)]
    with precision(600):

        def delta(epsilon):
            gain = sum(
                (
                    ball(m) * (1 - (ball(epsilon) - ball(i * interval)).exp())
                    for i, m in masses.items()
                    if i * interval > epsilon
                ),
                ball(infinite),
            )
            return gain.min(arb(1))

        epsilons = breakpoints(loss, atoms)
        for point, lower, upper in zip(epsilons.tolist(), *loss.delta_bounds(epsilons), strict=True):
            truth = delta(Fraction(point))
            assert ball(lower) <= truth.upper()
            assert ball(upper) >= truth.lower()
        if sum(masses.values()) + infinite > 1:
            return  # no law has such a trade-off function
        lines = [(1 - delta(i * interval), ball(i * interval).exp()) for i in masses]
        for alpha, lower, upper in zip(LEVELS, *loss.beta_bounds(np.array(LEVELS)), strict=True):
            truth = max((top - slope * ball(alpha) for top, slope in lines), key=lambda x: float(x.mid())).max(arb(0))
            assert ball(lower) <= truth.upper()
            assert ball(upper) >= truth.lower()


def law(masses, *, infinite=0.0, lowest=-2, interval=Fraction(1, 4)):
    return {
        "interval": interval,
        "lowest": lowest,
        "masses": np.array(masses),
        "infinity_mass": infinite,
        "side": Side.PESSIMISTIC,
    }


BINARY = [0.125, 0.0, 0.25, 0.0, 0.5]
LAWS = {
    "finite": [(law([*BINARY, 0.125]), 3)],
    "with infinity": [(law(BINARY, infinite=0.125), 40)],
    "mostly infinity": [(law([0.25], infinite=0.75, lowest=0), 2)],
    "a heavy top": [(law([2.0**-52, 0.0, 0.0, 1 - 2.0**-52], lowest=-2), 9)],
    "a light top": [(law([1 - 2.0**-50, 0.0, 0.0, 2.0**-50], lowest=0), 9)],
    "next to nothing at the top": [(law([0.5, 0.5, 2.0**-1000], lowest=0), 3)],
    "one atom": [(law([1.0], lowest=3), 5)],
    "two laws": [(law(BINARY, infinite=0.125), 2), (law([0.5, 0.5], lowest=0), 4)],
    "wide steps": [(law([0.25, 0.5, 0.25], lowest=0, interval=Fraction(8)), 6)],
    "too much mass": [(law([0.25, 0.5, 0.25 + 2.0**-20], lowest=0), 6)],
}


@pytest.mark.parametrize("name", LAWS)
def test_distributions(name):
    check_laws(LAWS[name])


# other routes with two sides ------------------------------------------------------------------------------------------


@pytest.mark.few(2)
@pytest.mark.parametrize("points", [1 << 9, pytest.param(laplace_profile.POINTS, marks=SLOW)])
@pytest.mark.parametrize("groups", [(("1/2", 3),), (("3", 2), ("1/3", 2)), (("0.01", 40),), (("8", 5), ("7.9", 1))])
def test_bounds_in_balls_from_a_lattice_of_losses(groups, points, monkeypatch):
    """However few points: that costs width, never soundness."""
    monkeypatch.setattr(laplace_profile, "POINTS", points)
    truth = LaplaceLoss.grouped(groups)
    lattice = laplace_profile.LaplaceBounds(truth.groups)
    total, step = truth.total, 2 * truth.total / laplace_profile.POINTS
    atoms = [total - 2 * shift for shift, _ in truth.groups]
    points = [Fraction(x) for point in (0, total, *atoms) for x in around(point, float(step))]
    for point in points:
        if 0 <= point < total:
            found, exact = lattice.delta(point), truth.certified_delta(point)
            assert found.lower() <= ball(exact.upper)
            assert found.upper() >= ball(exact.lower)
    for level in map(Fraction, LEVELS[1:-1]):
        found, exact = epsilon_between(lattice.delta, level, total), truth.certified_epsilon(level)
        assert found.lower() <= ball(exact.upper)
        assert found.upper() >= ball(exact.lower)


@pytest.mark.parametrize("parts", [(3, "0.7", "0.4"), (1, "5", "0.05"), (50, "0.02", "2")])
def test_knots_of_the_trade_off_function(parts):
    count, shift, mu = parts
    loss = ComposedLoss(GaussianLoss(mu), LaplaceLoss.equal(count, shift))
    knots = loss._knots._alphas
    picked = [*knots[:: max(1, len(knots) // 3)].tolist(), knots[1], knots[-2]]
    alphas = np.unique(np.clip([x for knot in picked for x in around(knot, 1e-9)] + LEVELS, 0.0, 1.0))
    lower, upper = loss.beta_bounds(alphas)
    enclosures = loss.certified_beta(alphas)
    assert (lower <= enclosures.upper).all()
    assert (upper >= enclosures.lower).all()


def test_isotropic_noise_about_the_largest_loss():
    """The float64 values are no bounds; they are accurate to 1e-12 up to the largest loss, and 0 from there on."""
    loss = SphericalLoss(4, IsotropicLaplace(2))
    points = np.array([0.4, 0.45, *sorted(around(0.5, 1e-3))])
    values = loss.delta(points)
    enclosures = loss.certified_delta(points)
    assert (values[points >= 0.5] == 0).all()
    assert (np.abs(values - enclosures.lower) <= 1e-12 * enclosures.upper).all()


# enclosures end where values end --------------------------------------------------------------------------------------


def test_enclosures_of_probabilities_end_at_0_and_1():
    """The lattice of unequal shifts knew 0.98 <= delta, and gave 1.00000000002 as the upper end."""
    assert LaplaceLoss([f"{1 + i / 100}" for i in range(24)]).certified_delta([0.0, -1, -40]).upper.max() <= 1
    probability = Quantity("delta", 0, 1)
    wide = arb(0.99, 0.02)
    assert probability.enclosure(wide).upper == 1
    assert (probability.enclosure(wide).lower, probability.enclosure(arb(0, 0.1)).lower) == (wide.lower(), 0)
    large = GaussianLoss(37).certified_delta([0.0, 30, -1])
    assert large.upper.max() == large[1].upper == 1


# planted faults: the guard says so, on every road ---------------------------------------------------------------------


def refused(answer):
    with pytest.raises(ContradictoryBounds, match="contradict"):
        answer()


def roads(loss):
    points = np.array([20.0, 60.0, 113.38])
    yield lambda: loss.delta_bounds(points)
    yield lambda: loss.log_delta_bounds(points)
    yield lambda: loss.epsilon_bounds(np.array([1e-5]))
    yield lambda: loss.delta(60.0)
    yield lambda: loss.log_delta(60.0)
    yield lambda: loss.epsilon(1e-5)


def roads_in_float64(loss):
    yield from roads(loss)
    yield lambda: loss._bounds.delta_lower(60)
    yield lambda: loss._bounds.delta_upper(60)
    yield lambda: loss._bounds.epsilon_lower("1e-5")
    yield lambda: loss.explain()


def certified_roads(loss):
    yield from roads(loss)
    yield lambda: loss.certified_delta([60.0])
    yield lambda: loss.certified_log_delta(["60"])
    yield lambda: loss.certified_epsilon("1e-5")
    yield lambda: loss.certified_beta(["0.1"])
    yield lambda: loss.beta_bounds(np.array([0.1]))


def in_float64(shift, count, interval):
    """The composition of Laplace noise, of which the certified tails are withheld."""
    return BoundedLoss([(CustomLoss(LaplaceLoss([shift]).tails, "Laplace noise"), count)], interval)


def test_tails_whose_errors_vanish_are_caught(monkeypatch):
    """The fault that was there: the norm of the weights, by squares that are less than float64 can hold."""
    event = lattice_bounds.LatticeEvent
    tails = event._tails

    def without_errors(self, laws, epsilon, power):
        found = tails(self, laws, epsilon, power)
        object.__setattr__(found, "values", np.abs(found.values) * (2 if power == 0 else 0))
        object.__setattr__(found, "absolute", 0 * found.absolute)
        return found

    monkeypatch.setattr(event, "_tails", without_errors)
    for answer in roads_in_float64(in_float64(1.1339, 100, 0.01)):
        refused(answer)


def test_a_lower_bound_above_the_upper_one_is_caught(monkeypatch):
    monkeypatch.setattr(lattice_bounds.LatticeBounds, "_log_delta_lower", lambda *_: -1e-3)
    for answer in roads_in_float64(in_float64(0.5, 20, 0.05)):
        refused(answer)


def test_a_lower_bound_above_1_is_caught(monkeypatch):
    monkeypatch.setattr(lattice_bounds.LatticeBounds, "_log_delta_upper", lambda *_: math.inf)
    monkeypatch.setattr(lattice_bounds.LatticeBounds, "_log_delta_lower", lambda *_: 19184.0)
    refused(lambda: in_float64(1.1339, 100, 0.01).log_delta_bounds(np.array([113.38])))


def test_nan_is_no_answer(monkeypatch):
    monkeypatch.setattr(lattice_bounds.LatticeBounds, "_log_delta_lower", lambda *_: math.nan)
    refused(lambda: in_float64(1.1339, 100, 0.01).delta_bounds(np.array([1.0])))


def test_trade_off_bounds_that_cross_are_caught(monkeypatch):
    vertices = lattice_bounds._Side.vertices

    def turned(self):
        alphas, powers, error = vertices(self)
        optimistic = self._laws.parts[0][0].side is Side.OPTIMISTIC
        return alphas, np.minimum(powers + (0.05 if optimistic else 0), 1), error

    monkeypatch.setattr(lattice_bounds._Side, "vertices", turned)
    refused(lambda: in_float64(0.5, 1, 0.05).beta_bounds(np.array(LEVELS)))
    refused(lambda: in_float64(0.5, 1, 0.05).beta(0.1))


@pytest.mark.parametrize("side", ["upper", "lower"])
def test_whole_laws_with_too_little_or_too_much_mass_are_caught(monkeypatch, side):
    """Half of the upper law lost, or twice the event's mass under P: certified bounds that cannot both hold."""
    bounds = whole.WholeComposition.bounds

    def wrong(self, epsilon):
        lower, upper = bounds(self, epsilon)
        return (2 * lower, upper) if side == "lower" else (lower, upper / 2)

    monkeypatch.setattr(whole.WholeComposition, "bounds", wrong)
    for answer in certified_roads(BoundedLoss([(LaplaceLoss([1.1339]), 100)], 0.25)):
        refused(answer)


def test_no_number_is_no_certified_answer(monkeypatch):
    monkeypatch.setattr(whole.WholeComposition, "bounds", lambda *_: (arb("nan"), arb("nan")))
    refused(lambda: BoundedLoss([(LaplaceLoss([0.5]), 20)], 0.05).certified_delta(["1"]))
