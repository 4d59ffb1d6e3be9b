"""Every certified Laplace number encloses the truth, computed independently in mpmath. No tolerance.

The truth is the tilted form: exp(-L/2) times the law of the loss is symmetric, a convolution of atoms at +-s and steps,
and the profile is the sum over all 4^m choices of an atom or a step at +s or at -s of one entire function. None of its
code is shared with the exact sum. The checks are functions, so that planted faults can be shown to make them fail.
"""

import dataclasses
import functools
import itertools
import math
from fractions import Fraction

import mpmath
import pytest
from flint import arb, arb_poly
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpverdict.audit.losses.laplace import contour as laplace_contour
from dpverdict.audit.losses.laplace import exact_sum as laplace_sum
from dpverdict.audit.losses.laplace import profile as laplace_bounds
from dpverdict.audit.losses.laplace import terms as laplace_terms
from dpverdict.audit.losses.laplace.contour import LaplaceContour
from dpverdict.audit.losses.laplace.exact_sum import LaplaceSum
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.losses.laplace.profile import LaplaceBounds, LaplaceProfile
from dpverdict.audit.losses.laplace.terms import Kernel
from dpverdict.balls import ball, precision

EXAMPLES = settings(max_examples=20, deadline=None)
SLOW = settings(max_examples=300, deadline=None)

shifts = st.fractions(min_value=Fraction(1, 1000), max_value=6, max_denominator=1000) | st.sampled_from(
    [Fraction(1, 10**9), Fraction(1, 2), Fraction(1), Fraction(40)]
)
fractions_of_total = st.fractions(min_value=0, max_value=1, max_denominator=10**6) | st.sampled_from(
    [Fraction(0), 1 - Fraction(1, 10**30), Fraction(1, 3)]
)


def exact(value):
    """The exact rational value of an mpmath number."""
    sign, mantissa, exponent, _ = value._mpf_
    return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def mp(rational):
    return mpmath.mpf(rational.numerator) / rational.denominator


def entire(n, x):
    """g_n(x) = sum over r of (1/2)^(2r+1) x^(n+1+2r) / (n+1+2r)!: n steps against sinh."""
    term = mpmath.mpf(x) ** (n + 1) / mpmath.factorial(n + 1) / 2
    total, r = mpmath.mpf(0), 0
    while abs(term) > abs(total) * mpmath.eps:
        total += term
        r += 1
        term *= x * x / 4 / ((n + 2 * r) * (n + 1 + 2 * r))
    return total


def independent_delta(groups, epsilon):
    """The profile at epsilon >= 0 in the tilted form, exactly up to the working precision of mpmath."""
    m = sum(count for _, count in groups)
    total = sum(shift * count for shift, count in groups)
    if epsilon >= total:
        return mpmath.mpf(0)
    # For each group, how often (location, number of steps) occurs: (u + v/2)^a (U - v/2)^b, expanded.
    terms = {(Fraction(0), 0): Fraction(1)}
    for shift, count in groups:
        own = {}
        for low in range(count + 1):
            for up_steps, low_steps in itertools.product(range(count - low + 1), range(low + 1)):
                ways = math.comb(count, low) * math.comb(count - low, up_steps) * math.comb(low, low_steps)
                key = (shift * (count - 2 * low), up_steps + low_steps)
                own[key] = own.get(key, 0) + Fraction(ways * (-1) ** low_steps, 2 ** (up_steps + low_steps))
        merged = {}
        for (place, n), weight in terms.items():
            for (other, k), ways in own.items():
                key = (place + other, n + k)
                merged[key] = merged.get(key, 0) + weight * ways
        terms = merged
    result = mpmath.mpf(0)
    for (place, n), weight in terms.items():
        if place > epsilon and weight:
            result += mp(weight) * entire(n, mp(place - epsilon))
    return 2 * mpmath.exp(mp((epsilon - total) / 2)) * result / mpmath.mpf(2) ** m


@functools.cache
def truth(groups, epsilon):
    """The profile at any epsilon to about 60 digits."""
    m = sum(count for _, count in groups)
    total = sum(shift * count for shift, count in groups)
    gap = float(max(total - abs(epsilon), Fraction(1, 10**40)))
    lost = 2 * m + float(total) + 2 * m * abs(math.log10(min(gap, 1.0))) / 10 + abs(math.log10(gap)) + 40
    with mpmath.workdps(60 + math.ceil(lost)):
        value = independent_delta(groups, abs(epsilon))
        return value if epsilon >= 0 else -mpmath.expm1(mp(epsilon)) + mpmath.exp(mp(epsilon)) * value


def inside(value, number):
    """Whether the ball certainly holds the number, known to 60 digits."""
    rational = exact(number)
    with precision(2000):
        near = ball(rational)
        return value.contains(near)


def check_profile(groups, epsilon):
    loss = LaplaceLoss([shift for shift, count in groups for _ in range(count)])
    assert loss.certified_delta(epsilon).contains(exact(truth(groups, epsilon)))


def check_ball(groups, epsilon, bits=56):
    """The ball itself: much narrower than the enclosure of float64 ends, so that small charges matter."""
    assert inside(LaplaceSum(groups).tail(Kernel.DELTA, epsilon, bits), truth(groups, epsilon))


@given(st.integers(1, 12), shifts, fractions_of_total, st.booleans())
@example(1, Fraction(1), Fraction(1), False)
@example(12, Fraction(40), Fraction(0), True)
@example(2, Fraction(1, 10**9), 1 - Fraction(1, 10**30), False)
@EXAMPLES
def test_the_profile_of_equal_shifts_is_enclosed(m, shift, part, negative):
    epsilon = m * shift * part
    check_profile(((shift, m),), -epsilon if negative else epsilon)


@given(st.dictionaries(shifts, st.integers(1, 2), min_size=1, max_size=4), fractions_of_total, st.booleans())
@EXAMPLES
def test_the_profile_of_unequal_shifts_is_enclosed(counts, part, negative):
    groups = tuple(sorted(counts.items()))
    epsilon = sum(shift * count for shift, count in groups) * part
    check_profile(groups, -epsilon if negative else epsilon)


@pytest.mark.slow
@given(st.dictionaries(shifts, st.integers(1, 5), min_size=1, max_size=4), fractions_of_total)
@SLOW
def test_many_groups_are_enclosed(counts, part):
    groups = tuple(sorted(counts.items()))
    check_profile(groups, sum(shift * count for shift, count in groups) * part)


LARGE = [
    (((Fraction(1, 50), 40),), Fraction(1, 10)),
    (((Fraction(1, 4), 30),), Fraction(2)),
    (((Fraction(3, 100), 64),), Fraction(3, 10)),
    (((Fraction(3, 100), 64),), Fraction(15, 10)),
    (((Fraction(1, 1000), 40),), Fraction(0)),
    (((Fraction(1, 1000), 40),), Fraction(39, 1000)),
]


@pytest.mark.few(6)
@pytest.mark.parametrize(("groups", "epsilon"), LARGE)
@pytest.mark.parametrize("bits", [30, 56, 200])
def test_the_ball_of_the_exact_sum_holds_the_truth(groups, epsilon, bits):
    check_ball(groups, epsilon, bits)


TAILS = [(((Fraction(1, 2), 3),), Fraction(1, 2)), (((Fraction(1, 2), 1), (Fraction(1, 4), 2)), Fraction(1, 4))]


@pytest.mark.parametrize(("groups", "epsilon"), [*TAILS, *LARGE])
def test_the_tails_lie_between_secants_of_the_independent_profile(groups, epsilon):
    """Q[L > epsilon] is between the slopes of the profile as a function of exp(epsilon), which is convex."""
    step = Fraction(1, 10**8)
    right, at, left = (truth(groups, epsilon + k * step) for k in (1, 0, -1))
    with mpmath.workdps(60):
        growth, small = mpmath.exp(mp(epsilon)), mp(step)
        lowest = (at - right) / (growth * mpmath.expm1(small))
        highest = (left - at) / (-growth * mpmath.expm1(-small))
    profile = LaplaceProfile(groups)
    q_above, q_from = profile.q_above(epsilon, 80), profile.q_from(epsilon, 80)
    p_above = profile.p_above(epsilon, 80)
    with precision(200):
        assert ball(exact(lowest)) <= q_above
        assert q_from <= ball(exact(highest))
        assert inside(p_above - ball(epsilon).exp() * q_above, at)


CONTOURS = [
    (((Fraction(1), 80),), Fraction(20)),
    (((Fraction(1), 80),), Fraction(40)),
    (((Fraction(4), 60), (Fraction(2), 20)), Fraction(150)),
]


def check_contours():
    """The wide ball of a contour holds the narrow one of the exact sum, which shares no code with it."""
    for groups, epsilon in CONTOURS:
        contour = LaplaceContour(groups)
        sharp = LaplaceSum(groups).tail(Kernel.DELTA, epsilon, 400)
        for bits in (2, 4, 8, 20, 30):
            value, rest = contour.delta(epsilon, bits), contour.complement(epsilon, bits)
            assert value is not None
            assert rest is not None
            with precision(400):
                assert value.contains(sharp)
                assert rest.contains(1 - sharp)
                assert contour.complement_upper(epsilon) >= 1 - sharp


def test_the_contours_hold_the_exact_sum():
    check_contours()


@given(st.integers(1, 8), st.lists(shifts, min_size=1, max_size=5), st.fractions(0, 1, max_denominator=100))
@settings(max_examples=4, deadline=None)
def test_the_bounds_from_the_lattice_hold_the_truth(m, values, part):
    counts = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    groups = tuple(sorted(counts.items()))
    epsilon = sum(values) * part * Fraction(99, 100)
    assert inside(LaplaceBounds(groups).delta(epsilon), truth(groups, epsilon))


def check_bounds():
    groups = ((Fraction(1, 3), 2), (Fraction(1, 7), 2))
    value = laplace_bounds.LaplaceBounds(groups).delta(Fraction(1, 5))
    assert inside(value, truth(groups, Fraction(1, 5)))


# planted faults -------------------------------------------------------------------------------------------------------


def fails(check, *arguments):
    with pytest.raises(AssertionError):
        check(*arguments)


def test_a_dropped_charge_of_the_exact_sum_is_caught(monkeypatch):
    monkeypatch.setattr(LaplaceSum, "_left_out", lambda *_: arb(0))
    fails(check_ball, *LARGE[2], 30)


def test_a_dropped_charge_of_the_smallest_terms_is_caught(monkeypatch):
    monkeypatch.setattr(LaplaceSum, "_smallest_terms", lambda *_: arb(0))
    monkeypatch.setattr(laplace_sum, "terms_needed", lambda *_: 12)
    fails(check_ball, *LARGE[2], 30)


def test_one_term_too_few_is_caught(monkeypatch):
    active = laplace_terms.TermSource.active

    def shortened(self, epsilon):
        terms = active(self, epsilon)
        return terms.part(1, len(terms.lowest))

    monkeypatch.setattr(laplace_terms.TermSource, "active", shortened)
    fails(check_profile, ((Fraction(1, 2), 5),), Fraction(1, 4))


def test_an_exponent_off_by_one_is_caught(monkeypatch):
    monkeypatch.setattr(Kernel, "exponents", lambda _self, m, lowest: (m - lowest, lowest - 1))
    fails(check_profile, ((Fraction(1, 2), 5),), Fraction(1, 4))


def test_a_dropped_charge_of_the_contour_is_caught(monkeypatch):
    monkeypatch.setattr(LaplaceContour, "_charges", lambda *_: arb(0))
    fails(check_contours)


def test_a_dropped_alias_of_the_contour_is_caught(monkeypatch):
    monkeypatch.setattr(laplace_contour, "_geometric", lambda _: arb(0))
    fails(check_contours)


def test_a_dropped_end_of_the_contour_is_caught(monkeypatch):
    charges = LaplaceContour._charges

    def without_end(self, line, epsilon):
        far = dataclasses.replace(line, number=10**12)
        return charges(self, far, epsilon)

    monkeypatch.setattr(LaplaceContour, "_charges", without_end)
    fails(check_contours)


def test_a_lower_bound_without_the_displacement_is_caught(monkeypatch):
    moved = laplace_bounds._moved_law

    def still(shift, step):
        law = moved(shift, step)
        return laplace_bounds._Law(law.middle, law.mass, arb_poly([0]))

    monkeypatch.setattr(laplace_bounds, "_moved_law", still)
    fails(check_bounds)


def test_an_upper_bound_with_a_displaced_mean_is_caught(monkeypatch):
    moved = laplace_bounds._moved_law

    def lowered(shift, step):
        law = moved(shift, step)
        return laplace_bounds._Law(law.middle + 1, law.mass, law.displacement)

    monkeypatch.setattr(laplace_bounds, "_moved_law", lowered)
    fails(check_bounds)


def test_the_check_of_the_bounds_passes_without_a_fault():
    check_bounds()
