"""Every certified number of discrete Gaussian noise encloses the truth, by direct sums in mpmath. No tolerance.

The direct sums run over all outputs of the product, with weights exp(-x^2/(2v)) and nothing else: no generating
function, no contour, no law of the loss. A product of many coordinates is compared with powers of a ball polynomial.
"""

import itertools
from fractions import Fraction

import mpmath
import pytest
from flint import arb, arb_poly
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpverdict.audit.losses.discrete_gaussian import law
from dpverdict.audit.losses.discrete_gaussian.law import DiscreteContour
from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.audit.losses.discrete_gaussian.profile import DiscreteGaussianProfile
from dpverdict.balls import ball, precision

EXAMPLES = settings(max_examples=8, deadline=None)
DIGITS = 60

variances = st.fractions(Fraction(1, 6), 6, max_denominator=6) | st.sampled_from([Fraction(1, 20), Fraction(1, 7)])
shifts = st.integers(-3, 3).filter(bool)
coordinates = st.lists(st.tuples(variances, shifts), min_size=1, max_size=2)
epsilons = st.fractions(-3, 12, max_denominator=30)


def exact(value):
    """The exact rational value of an mpmath number."""
    sign, mantissa, exponent, _ = value._mpf_
    return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def mp(rational):
    return mpmath.mpf(rational.numerator) / rational.denominator


def outputs(pairs, scale):
    """(p, q) of every output of the product, out to where both are below exp(-scale)."""
    laws = []
    for variance, shift in pairs:
        v = mp(variance)
        reach = int(mpmath.sqrt(2 * v * scale)) + abs(shift) + 2
        total = mpmath.fsum(mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * v)) for x in range(-reach, reach + 1))
        laws.append(
            [
                (
                    mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * v)) / total,
                    mpmath.exp(-(mpmath.mpf(x - shift) ** 2) / (2 * v)) / total,
                )
                for x in range(-reach, reach + abs(shift) + 1)
            ]
        )
    for combination in itertools.product(*laws):
        p, q = mpmath.mpf(1), mpmath.mpf(1)
        for one, other in combination:
            p, q = p * one, q * other
        yield p, q


def direct_delta(pairs, epsilon):
    """One coordinate alone has a loss of epsilon at most at s: what is cut off is exp(-140) of what is beyond s."""
    growth = mpmath.exp(mp(epsilon))
    s = [v * max(epsilon, 0) / abs(shift) + abs(shift) + 1 for v, shift in pairs]
    costs = [x**2 / (2 * v) for x, (v, _) in zip(s, pairs, strict=True)]
    return mpmath.fsum(max(p - growth * q, 0) for p, q in outputs(pairs, 140 + mp(max(costs))))


def direct_renyi(pairs, order):
    a = mp(order)
    if a == 1:
        return mpmath.fsum(p * mpmath.log(p / q) for p, q in outputs(pairs, 160))
    total = mpmath.fsum(p**a * q ** (1 - a) for p, q in outputs(pairs, 160 + 20 * a * a))
    return mpmath.log(total) / (a - 1)


def direct_beta(pairs, alpha):
    """The likelihood ratio test of level alpha, output by output, with a coin at the last one."""
    left, missed = mp(alpha), mpmath.mpf(0)
    for p, q in sorted(outputs(pairs, 140), key=lambda pq: pq[1] / pq[0]):
        if left >= q:
            left -= q
        else:
            missed += p * (1 - left / q)
            left = mpmath.mpf(0)
    return missed


def loss_of(pairs):
    return DiscreteGaussianLoss.product([shift for _, shift in pairs], [variance for variance, _ in pairs])


def check_delta(pairs, epsilon):
    with mpmath.workdps(DIGITS):
        truth = exact(direct_delta(pairs, epsilon))
    assert loss_of(pairs).certified_delta(epsilon).contains(truth)


@given(coordinates, epsilons)
@example([(Fraction(2), 1), (Fraction(2), 1)], Fraction(14, 5))
@example([(Fraction(2), 1)], Fraction(95, 8))
@example([(Fraction(1, 20), 1)], Fraction(10))
@example([(Fraction(2), 1)], Fraction(1, 4))  # epsilon is an atom of the loss
@example([(Fraction(3), 2), (Fraction(5, 2), 3)], Fraction(0))
@EXAMPLES
def test_the_profile_is_enclosed(pairs, epsilon):
    check_delta(pairs, epsilon)


@given(coordinates, st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=100))
@EXAMPLES
def test_the_trade_off_function_is_enclosed(pairs, alpha):
    with mpmath.workdps(DIGITS):
        truth = exact(direct_beta(pairs, alpha))
    assert loss_of(pairs).certified_beta(alpha).contains(truth)


@given(coordinates, st.fractions(Fraction(1, 7), 4, max_denominator=7))
@example([(Fraction(1, 10), 1)], Fraction(1))
@EXAMPLES
def test_the_renyi_divergence_is_enclosed(pairs, order):
    with mpmath.workdps(DIGITS):
        truth = exact(direct_renyi(pairs, order))
    enclosure = loss_of(pairs).certified_renyi(order)
    if order == 1:  # rho, held exactly: what is compared is the reference, of 60 digits
        assert enclosure.contains(loss_of(pairs).rho)
        assert abs(loss_of(pairs).rho - truth) < Fraction(1, 10**50)
    else:
        assert enclosure.contains(truth)


@given(
    st.lists(st.tuples(st.sampled_from([Fraction(1, 2), Fraction(2), Fraction(5)]), shifts), min_size=1, max_size=2),
    st.fractions(Fraction(1, 1000), Fraction(1, 2), max_denominator=1000),
)
@settings(max_examples=4, deadline=None)
def test_epsilon_inverts_the_profile(pairs, delta):
    loss = loss_of(pairs)
    root = loss.certified_epsilon(delta)
    assert not loss.certified_delta(root.upper).lower > delta
    if root.lower > 0:
        assert not loss.certified_delta(root.lower).upper < delta


@given(coordinates, st.fractions(-6, 6, max_denominator=20))
@EXAMPLES
def test_the_tails_are_enclosed(pairs, level):
    with mpmath.workdps(DIGITS):
        held = list(outputs(pairs, 140))
        ratios = [mpmath.log(p / q) - mp(level) for p, q in held]
        tiny = mpmath.mpf(10) ** -40  # an atom at the level is not above it
        truths = [mpmath.fsum(pq[i] for pq, ratio in zip(held, ratios, strict=True) if ratio > tiny) for i in (0, 1)]
        truths = [exact(truth) for truth in truths]
    for enclosure, truth in zip(loss_of(pairs).certified_tails(level), truths, strict=True):
        assert enclosure.contains(truth)


def by_polynomials(dim, s, mu, epsilon):
    """The profile of the correlated release from powers of the truncated law of one coordinate, as a ball."""
    with precision(260):
        variance = (dim + s) / mu**2
        reach = int((2 * float(variance) * 130) ** 0.5)
        sizes = [(-ball(Fraction(x * x) / (2 * variance))).exp() for x in range(-reach, reach + 1)]
        total = sum(sizes[1:], sizes[0])
        powers = arb_poly([size / total for size in sizes]) ** dim
        law_t = {i - dim * reach: powers[i] for i in range(2 * dim * reach + 1)}
        own = variance / s
        reach_y = int((2 * float(own) * 130) ** 0.5)
        sizes_y = {y: (-ball(Fraction(y * y) / (2 * own))).exp() for y in range(-reach_y, reach_y + 1)}
        total_y = sum(sizes_y.values(), arb(0))
        value = arb(0)
        for y, size in sizes_y.items():
            for t, mass in law_t.items():
                loss = mu**2 / 2 + mu**2 * (t + s * y) / (dim + s)
                if loss > epsilon:
                    value += size / total_y * mass * (1 - ball(epsilon - loss).exp())
        left_out = (dim + 1) * arb(2) * (-arb(120)).exp()  # the masses beyond the reach, generously
        return value + left_out.union(-left_out)


@pytest.mark.parametrize(("dim", "s", "mu", "epsilon"), [(10, "3", "1", "2"), (7, "5/2", "1.5", "0.5")])
def test_many_coordinates_agree_with_powers_of_a_polynomial(dim, s, mu, epsilon):
    value = by_polynomials(dim, Fraction(s), Fraction(mu), Fraction(epsilon))
    enclosure = DiscreteGaussianLoss(dim, s, mu).certified_delta(epsilon)
    with precision(260):
        assert not value < arb(enclosure.lower)
        assert not value > arb(enclosure.upper)
        assert value.rel_accuracy_bits() > 100


# planted faults -------------------------------------------------------------------------------------------------------

FAULTY = [(Fraction(2), 1), (Fraction(1, 2), 1)]


def test_aliases_left_uncharged_are_caught(monkeypatch):
    original = DiscreteContour.sum

    def uncharged(self, first, coefficients, further):
        return original(self, first, coefficients, further).mid()

    monkeypatch.setattr(DiscreteContour, "sum", uncharged)
    monkeypatch.setattr(DiscreteGaussianProfile, "_size", lambda *_: 8)
    with pytest.raises(AssertionError):
        check_delta(FAULTY, Fraction(1))


def test_nodes_left_out_uncharged_are_caught(monkeypatch):
    original = law._select
    monkeypatch.setattr(law, "_select", lambda of, size, _bits: (original(of, size, 8)[0], arb(0)))
    with pytest.raises(AssertionError):
        check_delta([(Fraction(3), 1)], Fraction(1))


def test_the_continuous_moment_is_caught(monkeypatch):
    monkeypatch.setattr(law, "_dual", lambda *_: arb(1))
    with pytest.raises(AssertionError):
        check_delta([(Fraction(1, 2), 1)], Fraction(1))


def test_a_standard_deviation_taken_for_a_variance_is_caught():
    with mpmath.workdps(DIGITS):
        truth = exact(direct_delta([(Fraction(4), 1)], Fraction(1)))
    assert not DiscreteGaussianLoss.product([1], [2]).certified_delta(1).contains(truth)


def test_s_in_place_of_its_root_is_caught():
    with mpmath.workdps(DIGITS):
        truth = exact(direct_delta([(Fraction(3), 1), (Fraction(3, 2), 1)], Fraction(1)))
    assert DiscreteGaussianLoss(1, 2, 1).certified_delta(1).contains(truth)
    assert not DiscreteGaussianLoss(1, 4, 1).certified_delta(1).contains(truth)
