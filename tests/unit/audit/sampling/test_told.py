"""Losses of which it is told which one holds, and Poisson batches that are cut, against enumeration and quadrature."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.domains import Direction
from dpverdict.audit.sampling.mixtures.loss import poisson_replaced
from dpverdict.audit.sampling.mixtures.told import CutBatches, ToldLoss, cut_batches
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.audit.sampling.step import SampledStep
from dpverdict.balls import precision
from dpverdict.errors import InvalidValue

GRID = np.linspace(-30, 30, 60_001)


def law_of_cut_batches(records, q, size):
    """The density of the noisy sum of a batch on the grid."""
    density = np.zeros(GRID.shape)
    for drawn in itertools.product((0, 1), repeat=len(records)):
        members = [record for record, taken in zip(records, drawn, strict=True) if taken]
        kept = list(itertools.combinations(members, min(size, len(members))))
        chance = q ** len(members) * (1 - q) ** (len(records) - len(members)) / len(kept)
        for batch in kept:
            density += chance * scipy.stats.norm.pdf(GRID - sum(batch))
    return density


def told(first, second, epsilon):
    """The hockey-stick divergence by the trapezoidal rule, whose error is below 1e-6."""
    gap = np.maximum(first - np.exp(epsilon) * second, 0)
    return float(gap.sum() * (GRID[1] - GRID[0]))


@pytest.mark.parametrize(
    ("q", "size", "often"), [("0.3", 1, True), ("0.3", 2, False), ("0.6", 2, True), ("0.5", 4, False)]
)
def test_no_records_of_a_small_table_tell_more_than_the_bound(q, size, often):
    """5 records in [-1, 1], seeded: all batches enumerated."""
    rng, cut = np.random.default_rng(3), CutBatches(rate=q, size=size, records=5)
    replaced, removed = (
        cut_batches(noise_multiplier=1, batches=cut, steps=1, replaced=replaced) for replaced in (True, False)
    )
    largest = 0.0
    for case in range(20):
        records = rng.choice([-1.0, 1.0], 5) if case % 2 else rng.uniform(-1, 1, 5)
        other = [float(rng.choice([-1.0, 1.0])), *records[1:]]
        here, there, less = (law_of_cut_batches(data, float(q), size) for data in (records, other, records[1:]))
        for epsilon in (0.0, 0.3, 1.0):
            assert told(here, there, epsilon) <= replaced.certified_delta(epsilon).upper + 1e-6
            assert told(here, less, epsilon) <= removed.remove.certified_delta(epsilon).upper + 1e-6
            assert told(less, here, epsilon) <= removed.add.certified_delta(epsilon).upper + 1e-6
            poisson = poisson_sampled(GaussianLoss(1), q).remove.certified_delta(epsilon).upper
            largest = max(largest, told(here, less, epsilon) - poisson)
    # batches that are cut break the curve of Poisson batches, where that is often
    assert (largest > 1e-3) is often


@pytest.mark.parametrize("q", ["0.1", "0.5"])
def test_zeros_attain_poisson_sampling_of_the_rate_that_is_left(q):
    cut = CutBatches(rate=q, size=2, records=5)
    here, less = (law_of_cut_batches(data, float(q), 2) for data in ([1.0, 0, 0, 0, 0], [0.0] * 4))
    attained = poisson_sampled(GaussianLoss(1), cut.taking_part)
    for epsilon in (0.0, 0.2, 1.0):
        assert told(here, less, epsilon) == pytest.approx(attained.remove.delta(epsilon), abs=1e-6)
        assert told(less, here, epsilon) == pytest.approx(attained.add.delta(epsilon), abs=1e-6)


@pytest.mark.parametrize(("q", "size", "records"), [("1/3", 3, 8), ("0.05", 1, 20), ("0.9", 5, 7)])
def test_how_often_a_record_is_kept(q, size, records):
    cut, rate = CutBatches(rate=q, size=size, records=records), Fraction(q)
    chances = [math.comb(records - 1, k) * rate**k * (1 - rate) ** (records - 1 - k) for k in range(records)]
    wanted = rate * sum(chance * min(Fraction(1), Fraction(size, k + 1)) for k, chance in enumerate(chances))
    assert wanted - Fraction(1, 1 << 100) < cut.taking_part <= wanted
    with precision(200):
        assert float(cut.tail(size).mid()) == pytest.approx(float(sum(chances[size:])), rel=1e-12)
    groups = cut.groups()
    assert sum(weight for weight, _, _ in groups) == 1
    assert float(groups[0][0]) == pytest.approx(float(sum(chances[:size])), rel=1e-12)


def test_many_steps_are_between_poisson_sampling_and_the_bound():
    cut = CutBatches(rate="0.01", size=150, records=10_000)
    for replaced in (False, True):
        above = cut_batches(noise_multiplier=1, batches=cut, steps=1000, replaced=replaced).certified_epsilon("1e-5")
        below = (
            poisson_replaced(noise_multiplier=1, sampling_probability=cut.taking_part, steps=1000)
            if replaced
            else poisson_sampled(GaussianLoss(1), cut.taking_part, 1000)
        ).certified_epsilon("1e-5")
        assert below.upper <= above.lower < 1.002 * below.upper


def test_curves_are_the_mixture_of_curves():
    parts = [(Fraction(1, 3), SampledStep(GaussianLoss(mu), Fraction(1, 5), Direction.REMOVE)) for mu in (1, 2, 3)]
    loss = ToldLoss(parts)
    for epsilon in (Fraction(-1, 10), Fraction(0), Fraction(1, 2)):
        wanted = sum(float(w) * one.delta(epsilon) for w, one in parts)
        assert loss.delta(epsilon) == pytest.approx(wanted, rel=1e-12)
    tails, singles = loss.tails(np.array([0.1])), [one.tails(np.array([0.1])) for _, one in parts]
    assert tails.q_above[0] == pytest.approx(sum(one.q_above[0] for one in singles) / 3, rel=1e-12)
    assert loss.reversed().parts[0][1].order is Direction.ADD
    assert loss.renyi(3) == pytest.approx(math.log(sum(math.exp(2 * one.renyi(3)) for _, one in parts) / 3) / 2)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ToldLoss([(Fraction(1, 2), GaussianLoss(1))]),
        lambda: CutBatches(rate=1, size=2, records=5),
        lambda: CutBatches(rate="0.5", size=5, records=5),
        lambda: CutBatches(rate="0.5", size=0, records=5),
    ],
)
def test_what_is_no_batch_is_refused(wrong):
    with pytest.raises(InvalidValue):
        wrong()
