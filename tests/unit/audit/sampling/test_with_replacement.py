"""Draws with replacement: the mixture written out, the bound of a replaced record, and what is cut off."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.contour.product import ProductContour
from dpverdict.audit.sampling.mixtures.loss import mixture_of_gaussians
from dpverdict.audit.sampling.mixtures.moments import MixtureMoments
from dpverdict.audit.sampling.mixtures.told import RareDisclosure
from dpverdict.audit.sampling.mixtures.with_replacement import (
    RARE,
    DrawnAgain,
    drawn_opposite,
    drawn_removed,
    drawn_replaced,
)

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
    above, attained = drawn_removed(noise_multiplier=1, batches=FEW)
    assert above is attained
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


def test_rare_draws_are_cut_off_on_both_sides():
    many = DrawnAgain(size=200, records=10_000)
    weights, cut = many.multiplicities(50)
    assert sum(weights) + cut == 1
    assert 0 < cut * 50 <= RARE
    assert len(weights) < 12
    above, attained = drawn_removed(noise_multiplier=3, batches=many, steps=50)
    for order in ("remove", "add"):
        up, low = (getattr(side, order).certified_delta("0.5") for side in (above, attained))
        assert low.lower <= up.upper
        assert up.upper - low.lower < 1e-5 * low.upper + 2e-15


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
    _, attained = drawn_removed(noise_multiplier=s, batches=batches, steps=100)
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
        assert mine.upper - mine.lower < 1e-9 * mine.upper
    assert attained.add.certified_delta(1).upper == 0
