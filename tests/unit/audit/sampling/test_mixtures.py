"""Mixtures of normal laws, replaced records of Poisson batches and batches of fixed size, against quadrature."""

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy
from flint import arb

from dpverdict.audit.exact.gdp import gdp_mu
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.sampling.mixtures.fixed_size import replaced_in_batch
from dpverdict.audit.sampling.mixtures.loss import GaussianMixtureLoss, mixture_of_gaussians, poisson_replaced
from dpverdict.audit.sampling.mixtures.moments import MixtureMoments
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.balls import precision
from dpverdict.errors import InvalidValue

GRID = np.linspace(-30, 30, 60_001)


def density(weights, means, z=GRID):
    return sum(float(w) * scipy.stats.norm.pdf(z - float(m)) for w, m in zip(weights, means, strict=True))


def profile(first, second, epsilon):
    """The hockey-stick divergence of two laws given as (weights, means), by the trapezoidal rule."""
    gap = density(*first) - np.exp(epsilon) * density(*second)
    return float(np.trapezoid(np.maximum(gap, 0), GRID))


def random_mixture(rng):
    cuts = sorted(int(x) for x in rng.integers(1, 100, 2))
    weights = [Fraction(x, 100) for x in (cuts[0], cuts[1] - cuts[0], 100 - cuts[1])]
    return [(w, Fraction(int(x), 10)) for w, x in zip(weights, (0, *rng.integers(1, 20, 2)), strict=True) if w]


@pytest.mark.parametrize("seed", range(6))
def test_the_profile_is_that_of_quadrature_in_both_orders(seed):
    rng = np.random.default_rng(seed)
    first, second = random_mixture(rng), random_mixture(rng)
    loss = GaussianMixtureLoss(first, second)
    p = ([w for w, _ in first], [m for _, m in first])
    q = ([w for w, _ in second], [-m for _, m in second])
    for epsilon in (-0.7, 0.0, 0.1, 1.5):
        assert loss.delta(epsilon) == pytest.approx(profile(p, q, epsilon), rel=1e-4, abs=1e-7)
        assert loss.reversed().delta(epsilon) == pytest.approx(profile(q, p, epsilon), rel=1e-4, abs=1e-7)
    wrong = (p[0], [m / 2 for m in p[1]])  # half of the shift is another law, and is seen
    assert loss.delta(0.1) != pytest.approx(profile(wrong, q, 0.1), rel=1e-2)


def test_of_one_normal_law_it_is_the_sampled_gaussian():
    mixed = mixture_of_gaussians(noise_multiplier=2, weights=[("0.9", 0), ("0.1", 1)])
    sampled = poisson_sampled(GaussianLoss("0.5"), "0.1")
    for mine, other in ((mixed.remove, sampled.remove), (mixed.add, sampled.add)):
        for epsilon in ("-0.05", "0", "0.02", "0.5"):
            a, b = mine.certified_delta(epsilon), other.certified_delta(epsilon)
            assert a.lower <= b.upper
            assert b.lower <= a.upper
        assert float(mine.epsilon("1e-4")) == pytest.approx(float(other.epsilon("1e-4")), rel=1e-12)
    assert mixed.remove.renyi(3) == pytest.approx(sampled.remove.renyi(3), rel=1e-12)
    a, b = (compose(*[loss] * 200).certified_delta("0.3") for loss in (mixed.remove, sampled.remove))
    assert a.lower <= b.upper
    assert b.lower <= a.upper


def test_moments_are_those_of_high_precision_quadrature():
    first = [(Fraction(3, 4), Fraction(0)), (Fraction(1, 4), Fraction(3, 2))]
    second = [(Fraction(9, 10), Fraction(0)), (Fraction(1, 10), Fraction(1))]
    moments = MixtureMoments(first, second)

    def integral(t, factor=1):
        def inside(z):
            a = sum(mpmath.mpf(w.numerator) / w.denominator * mpmath.exp(m * z - m * m / 2) for w, m in floats(first))
            b = sum(mpmath.mpf(w.numerator) / w.denominator * mpmath.exp(-m * z - m * m / 2) for w, m in floats(second))
            return mpmath.npdf(z) * a * (a / b) ** (factor * t)

        return mpmath.quad(inside, [-20, -5, 0, 5, 10, 25])

    def floats(part):
        return [(w, mpmath.mpf(m.numerator) / m.denominator) for w, m in part]

    with precision(128):
        for t in (0.5, 3.0):
            assert moments.at(arb(t)).rel_accuracy_bits() > 50
            assert float(abs(moments.at(arb(t)) - arb(str(integral(t))))) < 1e-12 * float(moments.at(arb(t)))
        for k, value in enumerate(moments.on_line(0.75, 2.0, 4)):
            wanted = integral(mpmath.mpc(0.75, 2 * k + 1))
            assert abs(complex(value) - complex(wanted)) < 1e-12
            assert abs(complex(value)) <= float(moments.beyond(arb(0.75), arb(2 * k + 1)).upper()) * (1 + 1e-12)


def test_two_steps_are_the_mean_over_the_first_of_the_profile_of_the_second():
    q, s = Fraction(1, 5), Fraction(1)
    one = poisson_replaced(noise_multiplier=s, sampling_probability=q)
    two = poisson_replaced(noise_multiplier=s, sampling_probability=q, steps=2)
    z, w = np.polynomial.legendre.leggauss(400)
    z, w = 12 * z, 12 * w
    p, r = density([1 - q, q], [0, 1], z), density([1 - q, q], [0, -1], z)
    for epsilon in (0.2, 1.0):
        wanted = float((w * p * one.delta(epsilon - np.log(p / r))).sum())
        assert two.delta(epsilon) == pytest.approx(wanted, rel=1e-7)


def test_no_replaced_record_in_the_plane_tells_more_than_opposite_ones():
    """Gradients in the unit disc, by quadrature in the plane, seeded: the pair of opposite ones is the worst."""
    rng, q = np.random.default_rng(3), 0.3
    grid = np.linspace(-8, 8, 321)
    x, y = np.meshgrid(grid, grid)
    cell = (grid[1] - grid[0]) ** 2
    worst = poisson_replaced(noise_multiplier=1, sampling_probability="0.3")

    def law(v):
        return (1 - q) * np.exp(-(x**2 + y**2) / 2) + q * np.exp(-((x - v[0]) ** 2 + (y - v[1]) ** 2) / 2)

    for _ in range(40):
        ends = rng.normal(size=(2, 2))
        ends *= rng.random((2, 1)) ** 0.25 / np.linalg.norm(ends, axis=1, keepdims=True)
        for epsilon in (-0.3, 0.0, 0.2, 0.6):
            gap = law(ends[0]) - np.exp(epsilon) * law(ends[1])
            told = float(np.maximum(gap, 0).sum() * cell / (2 * np.pi))
            assert told <= worst.certified_delta(epsilon).upper + 1e-4  # of the rule
    smaller = poisson_replaced(noise_multiplier="1.25", sampling_probability="0.3")  # a wrong distance is found out
    gap = law((1, 0)) - np.exp(0.2) * law((-1, 0))
    assert float(np.maximum(gap, 0).sum() * cell / (2 * np.pi)) > smaller.certified_delta("0.2").upper + 1e-3


def batch_law(records, size):
    """The law of the sum of a batch of fixed size, as weights and means."""
    sums = [sum(batch) for batch in itertools.combinations(records, size)]
    return [1 / len(sums)] * len(sums), sums


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5, 1.5])
def test_no_records_of_a_small_table_tell_more_than_the_bounds_of_batches_of_fixed_size(epsilon):
    """Batches of 2 of 5 records in [-1, 1], enumerated, seeded; the worst ones attain the bound."""
    rng = np.random.default_rng(7)
    replaced = replaced_in_batch(noise_multiplier=1, rate="2/5")
    removed = poisson_sampled(GaussianLoss(2), "2/5")
    for case in range(40):
        records = rng.choice([-1.0, 1.0], 5) if case % 2 else rng.uniform(-1, 1, 5)
        other = [float(rng.choice([-1.0, 1.0])), *records[1:]]
        p, q, less = batch_law(records, 2), batch_law(other, 2), batch_law(records[1:], 2)
        assert profile(p, q, epsilon) <= replaced.certified_delta(epsilon).upper + 1e-6
        assert profile(p, less, epsilon) <= removed.remove.certified_delta(epsilon).upper + 1e-6
        assert profile(less, p, epsilon) <= removed.add.certified_delta(epsilon).upper + 1e-6
    worst, less = batch_law([1, -1, -1, -1, -1], 2), batch_law([-1] * 4, 2)
    opposite = batch_law([-1] * 5, 2)
    assert profile(worst, opposite, epsilon) == pytest.approx(replaced.delta(epsilon), abs=1e-6)
    assert profile(worst, less, epsilon) == pytest.approx(removed.remove.delta(epsilon), abs=1e-6)
    assert profile(less, worst, epsilon) == pytest.approx(removed.add.delta(epsilon), abs=1e-6)
    poisson = poisson_sampled(GaussianLoss(1), "2/5")  # the curve of Poisson batches is broken by them
    assert profile(worst, less, epsilon) > poisson.remove.certified_delta(epsilon).upper + 1e-6


def test_several_replaced_steps_are_between_what_is_attained_and_the_composition():
    above = replaced_in_batch(noise_multiplier=2, rate="0.01", steps=1000)
    attained = poisson_sampled(GaussianLoss(1), "0.01", 1000)
    known = above.certified_epsilon("1e-5")
    assert above.is_certified
    assert attained.certified_epsilon("1e-5").upper < known.lower < known.upper < 2.21
    assert known.upper - known.lower < 0.01
    one, both = (replaced_in_batch(noise_multiplier=1, rate="0.2", steps=t) for t in (1, 2))
    losses = np.linspace(-12, 14, 1001)  # the law of the loss under P, in cells
    tails = np.array([float(one.p_above(Fraction(float(x)), 60).mid()) for x in losses])
    cells, middles = tails[:-1] - tails[1:], (losses[:-1] + losses[1:]) / 2
    wanted = float((cells * one.delta(1.0 - middles)).sum())
    assert both.certified_delta(1).upper == pytest.approx(wanted, rel=2e-3)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: GaussianMixtureLoss([(Fraction(1, 2), Fraction(1))], [(Fraction(1), Fraction(0))]),
        lambda: GaussianMixtureLoss([(Fraction(1), Fraction(-1))], [(Fraction(1), Fraction(0))]),
        lambda: GaussianMixtureLoss([(Fraction(1), Fraction(0))], [(Fraction(1), Fraction(0))]),
        lambda: poisson_replaced(noise_multiplier=1, sampling_probability="1.5"),
        lambda: replaced_in_batch(noise_multiplier=1, rate=0),
    ],
)
def test_what_is_no_mixture_is_refused(wrong):
    with pytest.raises(InvalidValue):
        wrong()


@pytest.mark.parametrize(("q", "steps"), [("0.01", 4), ("1/2", 1), ("0.3", 25)])
def test_the_least_mu_of_a_replaced_record_is_that_of_one_that_is_removed(q, steps):
    found = gdp_mu(poisson_replaced(noise_multiplier=2, sampling_probability=q, steps=steps))
    assert found.lower <= np.sqrt(steps) / 2 <= found.upper
    assert found.upper - found.lower < 1e-8
    loss = poisson_replaced(noise_multiplier=2, sampling_probability=q, steps=1)
    for epsilon in (
        0.0,
        0.1,
        0.4,
    ):  # the profile is below that of the Gaussian pair; of a little less it is not far out
        assert loss.certified_delta(epsilon).upper <= GaussianLoss("0.5").certified_delta(epsilon).lower


def test_of_rates_above_one_half_no_such_mu_is_told():
    assert gdp_mu(poisson_replaced(noise_multiplier=2, sampling_probability="0.9")).upper > 0.9
