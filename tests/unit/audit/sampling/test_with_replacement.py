"""Draws with replacement: the mixture written out, the bound of a replaced record, and what is cut off."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy
from flint import arb

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.contour.product import ProductContour
from dpverdict.audit.losses.domains import Direction
from dpverdict.audit.sampling.mixtures.loss import mixture_of_gaussians
from dpverdict.audit.sampling.mixtures.moments import MixtureMoments
from dpverdict.audit.sampling.mixtures.told import RareDisclosure, ToldLoss
from dpverdict.audit.sampling.mixtures.truncated import TruncatedLoss
from dpverdict.audit.sampling.mixtures.with_replacement import (
    RARE,
    DrawnAgain,
    drawn_opposite,
    drawn_removed,
    drawn_replaced,
)
from dpverdict.audit.sampling.step import SampledStep

FEW = DrawnAgain(size=3, records=10)


def hockey_stick(first, second, epsilon):
    """Of two laws on a line, each a list of (weight, place), with noise N(0, 1), by a sum on a grid."""
    z = np.linspace(-30, 30, 300_001)
    p, q = (sum(w * np.exp(-((z - m) ** 2) / 2) for w, m in law) / math.sqrt(2 * math.pi) for law in (first, second))
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * (z[1] - z[0]))


def law(move):
    return [(math.comb(3, k) * 0.1**k * 0.9 ** (3 - k), move * k) for k in range(4)]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_one_step_has_the_laws_of_the_sum(epsilon):
    attained = drawn_removed(noise_multiplier=1, batches=FEW)
    assert attained.remove.delta(epsilon) == pytest.approx(hockey_stick(law(2), [(1.0, 0)], epsilon), rel=1e-6)
    assert attained.add.delta(epsilon) == pytest.approx(hockey_stick([(1.0, 0)], law(2), epsilon), rel=1e-6)
    opposite = drawn_opposite(noise_multiplier=1, batches=FEW)
    assert opposite.delta(epsilon) == pytest.approx(hockey_stick(law(1), law(-1), epsilon), rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_no_pair_of_a_replaced_record_tells_more_than_the_bound(epsilon):
    """Of a record that moves from u to v among others at o, on a line: the largest is near the bound, not above."""
    bound = drawn_replaced(noise_multiplier=1, batches=FEW).certified_delta(str(epsilon)).upper
    found = [
        hockey_stick(law(u - o), law(v - o), epsilon) for u in (-1, 0, 1) for v in (-1, 0, 1) for o in (-1, -0.3, 0, 1)
    ]
    assert max(found) <= bound
    assert max(found) > 0.75 * bound
    assert not max(found) <= drawn_replaced(noise_multiplier="1.3", batches=FEW).certified_delta(str(epsilon)).upper


def test_rare_draws_of_a_replaced_record_are_cut_off():
    many = DrawnAgain(size=200, records=10_000)
    weights, cut = many.multiplicities(50)
    assert sum(weights) + cut == 1
    assert 0 < cut * 50 <= RARE
    assert len(weights) < 12


SEVEN = DrawnAgain(size=7, records=20)


def laws_of_two_steps(batches, move):
    """The law of a step written out, to the second power on a grid: of L, under P and under Q."""
    q, b = 1 / batches.records, batches.size
    z = np.linspace(-12, 12 + 2 * move * 3, 6001)
    p = sum(math.comb(b, k) * q**k * (1 - q) ** (b - k) * np.exp(-((z - move * k) ** 2) / 2) for k in range(b + 1))
    return p, np.exp(-(z**2) / 2), (z[1] - z[0]) / math.sqrt(2 * math.pi)


@pytest.mark.parametrize("epsilon", ["-0.5", "0.5", "2", "5"])
def test_two_steps_are_those_of_all_draws_enumerated(epsilon):
    """Of K from 0 to 7, none of which is cut off, by sums on a grid in two dimensions."""
    loss = drawn_removed(noise_multiplier=2, batches=SEVEN, steps=2)
    p, q, width = laws_of_two_steps(SEVEN, 1.0)
    growth = math.exp(float(epsilon))
    for order, first, second in (("remove", p, q), ("add", q, p)):
        rows = (np.maximum(first * x - growth * second * y, 0).sum() for x, y in zip(first, second, strict=True))
        enumerated = sum(rows) * width**2
        found = getattr(loss, order).certified_delta(epsilon)
        assert found.lower == pytest.approx(enumerated, rel=1e-4, abs=1e-12)
        assert found.upper - found.lower <= 2**-15 * found.upper + 1e-20


def test_every_cut_pays_for_what_it_misses():
    """What the coarsest cut says, without paying, is far below the truth, which is inside of every cut with its pay."""
    loss = drawn_removed(noise_multiplier=2, batches=SEVEN, steps=2).remove
    assert isinstance(loss, TruncatedLoss)
    truth = loss.certified_delta(2)
    for number in range(3):
        own = loss.cut(number).certified_delta(2)
        assert own.lower <= truth.upper
        assert truth.lower <= own.upper + float(loss.excess(number).upper())
    assert loss.cut(0).certified_delta(2).upper < 0.9 * truth.lower
    unpaid = TruncatedLoss(loss.cut, [Fraction(0)], renyi=lambda order: arb(0))  # the fault
    assert unpaid.certified_delta(2).upper < truth.lower


def test_the_chances_of_a_cut_are_those_of_the_binomial_law():
    batches = DrawnAgain(size=100, records=10_000)
    weights, missed = batches.cuts()
    exact = batches.exactly()
    assert all(weight <= own < weight + Fraction(1, 1 << 199) for weight, own in zip(weights, exact, strict=False))
    for number, own in enumerate(missed[:4]):
        assert own >= sum(exact[number + 2 :]) / exact[0]
        assert own < Fraction(1001, 1000) * sum(exact[number + 2 :]) / exact[0] + Fraction(1, 1 << 190)


def test_a_composition_of_cuts_is_one_of_more_steps():
    remove = drawn_removed(noise_multiplier=2, batches=SEVEN, steps=2).remove
    again, four = compose(remove, remove), drawn_removed(noise_multiplier=2, batches=SEVEN, steps=4).remove
    assert again.certified_delta(1).lower <= four.certified_delta(1).upper
    assert four.certified_delta(1).lower <= again.certified_delta(1).upper
    assert again.certified_delta(1).lower > remove.certified_delta(1).upper


@pytest.mark.parametrize("order", [2, 3])
def test_the_renyi_divergence_holds_that_of_the_mixture(order):
    loss = drawn_removed(noise_multiplier=4, batches=SEVEN, steps=1)
    z = np.linspace(-30, 60, 300_001)
    p = sum(math.comb(7, k) * 0.05**k * 0.95 ** (7 - k) * np.exp(k * z / 2 - (k / 2) ** 2 / 2) for k in range(8))
    q = np.exp(-(z**2) / 2) * (z[1] - z[0]) / math.sqrt(2 * math.pi)
    for side, power in ((loss.remove, order), (loss.add, 1 - order)):
        found = side.certified_renyi(order)
        written_out = math.log((q * p**power).sum()) / (order - 1)
        assert found.lower <= written_out * (1 + 1e-9)
        assert found.upper >= written_out * (1 - 1e-9)
        assert found.upper - found.lower < 1e-3 * found.upper


@pytest.mark.parametrize("order", ["remove", "add"])
def test_two_steps_beside_gaussian_noise_are_those_of_a_sum_on_a_grid(order):
    """E of the profile of GaussianLoss(mu) at epsilon - L, over both steps: smooth, by the trapezoidal rule."""
    mu = 0.3
    both = drawn_removed(noise_multiplier=2, batches=SEVEN, steps=2)
    found = compose(getattr(both, order), GaussianLoss("0.3"))
    z = np.arange(-10, 16, 0.02)
    with np.errstate(under="ignore"):
        log_p = np.log(sum(w * np.exp(k * z - k * k / 2) for k, w in enumerate(map(float, SEVEN.exactly()))))
    log_q = -z * z / 2 + math.log(0.02 / math.sqrt(2 * math.pi))
    loss, law = (log_p, log_q + log_p) if order == "remove" else (-log_p, log_q)
    for epsilon in (0.2, 1.0, 2.0):
        left = epsilon - loss[:, None] - loss[None, :]
        profile = scipy.special.ndtr(mu / 2 - left / mu) - np.exp(left + scipy.special.log_ndtr(-mu / 2 - left / mu))
        truth = float((np.exp(law[:, None] + law[None, :]) * profile).sum())
        enclosure = found.certified_delta(str(epsilon))
        assert enclosure.lower <= truth * (1 + 1e-9) + 1e-15
        assert enclosure.upper >= truth * (1 - 1e-9) - 1e-15
        assert enclosure.upper - enclosure.lower < 1e-5 * enclosure.upper
        alone = getattr(both, order).certified_delta(str(epsilon))
        assert not alone.upper >= truth  # the fault: Gaussian noise that is left out


def test_tails_in_closed_form_are_those_of_the_curves():
    """Of a told loss that is sampled: at levels on both sides of 0, and below the least loss, where there is none."""
    told = ToldLoss([(Fraction(2, 3), GaussianLoss("0.7")), (Fraction(1, 3), GaussianLoss("2.1"))])
    for order in Direction:
        step = SampledStep(told, Fraction(1, 10), order)
        levels = [Fraction(k, 50) for k in (-9, -4, -1, 0, 1, 4, 50, 300)]
        for tails, curve in zip(step.upper_tails(levels, 80), (step.p_above, step.q_above), strict=True):
            for tail, level in zip(tails, levels, strict=True):
                assert tail.overlaps(curve(level, 60))
                assert tail.rel_accuracy_bits() >= 80 or tail.is_exact()
    other = ToldLoss([(Fraction(1, 3), GaussianLoss("0.7")), (Fraction(2, 3), GaussianLoss("2.1"))])  # the fault
    wrong = SampledStep(other, Fraction(1, 10), Direction.REMOVE)
    assert not wrong.upper_tails([Fraction(1)], 80)[0][0].overlaps(
        SampledStep(told, Fraction(1, 10), Direction.REMOVE).p_above(Fraction(1), 60)
    )


def test_what_is_disclosed_rarely_is_in_every_curve():
    inside, z = GaussianLoss(1), Fraction(1, 8)
    loss = RareDisclosure(inside, z)
    assert loss.delta(1) == pytest.approx(inside.delta(1) * 7 / 8 + 1 / 8, rel=1e-12)
    assert loss.epsilon(0.3) == pytest.approx(inside.epsilon(0.2), rel=1e-12)
    assert loss.epsilon(0.125) == math.inf
    assert loss.beta(0.35) == pytest.approx(inside.beta(0.4) * 7 / 8, rel=1e-12)
    assert loss.beta(0.9) == 0
    assert loss.renyi(2) == math.inf
    assert loss.advantage() == pytest.approx(loss.delta(0), rel=1e-12)


def test_many_steps_on_a_line_are_those_of_the_mixtures_by_another_integral():
    """Of sizes 0 to 5 times 2/s, by moments of several moves, and by those of any mixture."""
    batches, s = DrawnAgain(size=20, records=6000), Fraction(2)
    attained = drawn_removed(noise_multiplier=s, batches=batches, steps=100)
    known, cut = batches.multiplicities(100)
    weights = [(w, Fraction(2 * k)) for k, w in enumerate([*known[:-1], known[-1] + cut])]
    other = mixture_of_gaussians(noise_multiplier=s, weights=weights)
    for order in ("remove", "add"):
        one = getattr(other, order)
        moments = MixtureMoments(one.first, one.second)
        found = ProductContour([(moments, 100)]).value(Fraction(1, 20), 30)
        mine = getattr(attained, order).certified_delta("0.05")
        assert mine.lower <= float(found.upper())
        assert mine.upper >= float(found.lower())
        assert mine.upper - mine.lower < 1e-5 * mine.upper
    assert attained.add.certified_delta(1).lower == 0  # there is no such loss
    assert attained.add.certified_delta(1).upper < 1e-20
