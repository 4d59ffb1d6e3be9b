"""Sums of scores: against simulation, the exact loss of one step of T, and enumeration; what is wrong is found out."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.domains import Direction
from dpverdict.audit.sampling.allocation import random_allocation
from dpverdict.audit.sampling.mixtures.scored_sums import scored_epochs, scored_steps
from dpverdict.audit.sampling.mixtures.through import ThroughAbsent, blocks_of_steps
from dpverdict.audit.sampling.shuffled import shuffled_batches

TRIALS = 20_000


def drawn_sums(sums, means, spread, rng):
    """S of simulated runs whose steps have these means, reduced as the sum is."""
    releases = means + spread * rng.standard_normal((TRIALS, len(means)))
    ends = np.array([float(end) for end in sums._ends])
    totals = (sums._least + np.searchsorted(ends, releases, side="right")).sum(axis=1)
    return sums._laws.least + (totals - sums._laws.least) % len(sums._laws.here)


@pytest.mark.parametrize("down", [0, 1])
def test_the_law_of_a_sum_is_that_of_simulated_runs(down):
    """Both tails at 20 places, seeded: six standard errors of 20 000 runs."""
    sums = scored_steps(noise_multiplier=Fraction(4, 5), steps=40, taken=5, down=down)
    rng = np.random.default_rng(11)
    for mean, masses in ((1, sums._laws.here), (-down, sums._laws.away)):
        assert sum(masses, arb(0)).contains(1)
        found = drawn_sums(sums, np.repeat([mean, 0.0], [5, 35]), 0.8, rng)
        tails = np.cumsum([float(mass.mid()) for mass in masses[::-1]])[::-1]
        for place in np.quantile(found, np.linspace(0.02, 0.98, 20)).astype(int):
            wanted = tails[place - sums._laws.least]
            assert abs((found >= place).mean() - wanted) <= 6 * np.sqrt(wanted * (1 - wanted) / TRIALS) + 1e-9


@pytest.mark.parametrize(("s", "steps"), [("0.5", 10), ("1", 40), ("2", 300)])
def test_no_event_shows_more_than_the_exact_loss_of_one_step_of_many(s, steps):
    exact = random_allocation(noise_multiplier=s, steps=steps)
    sums = scored_steps(noise_multiplier=Fraction(s), steps=steps, taken=1)
    wrong = scored_steps(noise_multiplier=Fraction(s) * Fraction(9, 10), steps=steps, taken=1)
    found_out = False
    for epsilon in (Fraction(k, 10) for k in (0, 1, 3, 6, 10, 20)):
        most = exact.certified_delta(epsilon).upper
        shown = sums.event(epsilon).delta_lower(epsilon)
        assert shown <= most
        assert epsilon > Fraction(3, 10) or most < 1e-12 or shown > 0.9 * most
        found_out = found_out or wrong.event(epsilon).delta_lower(epsilon) > most
    assert found_out  # the events of less noise


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_scores_of_epochs_show_more_than_counts_and_no_more_than_known_batches(relation):
    without = 0 if relation == "replace_one" else 1
    sums = scored_epochs(deviation=Fraction(1), batches=100, epochs=10, with_it=2, without=without)
    counts = shuffled_batches(noise_multiplier=1, batches=100, epochs=10, relation=relation, shuffle="fresh")
    for epsilon in (Fraction(1), Fraction(5)):
        shown = sums.event(epsilon).delta_lower(epsilon)
        assert counts.lower_delta(epsilon) < shown < counts.upper_delta(epsilon)
    if relation == "replace_one":  # the whole loss of the same pair
        exact = random_allocation(noise_multiplier="1/2", steps=100, epochs=10)
        assert sums.event(Fraction(5)).delta_lower(5) <= exact.certified_delta(5).upper


def test_the_event_of_a_sum_of_epochs_is_as_probable_as_simulated():
    """10 places, seeded: six standard errors of 20 000 runs."""
    sums = scored_epochs(deviation=Fraction(1), batches=8, epochs=3, with_it=2, without=1)
    rng = np.random.default_rng(12)
    for mean, masses in ((2, sums._laws.here), (1, sums._laws.away)):
        releases = rng.standard_normal((TRIALS, 3, 8))
        releases[:, :, 0] += mean
        ends = np.array([float(end) for end in sums._ends])
        scores = sums._least + np.searchsorted(ends, releases.max(axis=2), side="right")
        found = sums._laws.least + (scores.sum(axis=1) - sums._laws.least) % len(masses)
        tails = np.cumsum([float(mass.mid()) for mass in masses[::-1]])[::-1]
        for place in np.quantile(found, np.linspace(0.05, 0.95, 10)).astype(int):
            wanted = tails[place - sums._laws.least]
            assert abs((found >= place).mean() - wanted) <= 6 * np.sqrt(wanted * (1 - wanted) / TRIALS) + 1e-9


def test_both_orders_are_looked_at():
    sums = scored_steps(noise_multiplier=Fraction(1), steps=20, taken=20)  # a Gaussian pair: the orders are alike
    for order in Direction:
        event = sums.event(Fraction(0))
        assert event.delta_lower(0) > 0.5, order


# through the data without the record ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("steps", "taken"), [(12, 4), (13, 4), (7, 7), (100, 1)])
def test_blocks_are_all_steps(steps, taken):
    blocks = blocks_of_steps(steps, taken)
    assert sum(size * number for size, number in blocks) == steps
    assert sum(number for _, number in blocks) == taken


def test_the_way_through_bounds_a_pair_of_known_profile():
    """One bin an epoch: a Gaussian pair of mu = sqrt(E)/s each way, and of twice that together."""
    loss = random_allocation(noise_multiplier=2, steps=1, epochs=4)
    through, twice = ThroughAbsent(loss=loss), GaussianLoss(2)
    for epsilon in (Fraction(1, 2), Fraction(2), Fraction(5)):
        bound = through.delta_at_most(epsilon)
        assert bound is not None
        least = twice.certified_delta(epsilon).upper
        assert least <= float(bound.upper()) < 30 * least
        assert float(loss.certified_delta(epsilon).upper) < least  # that of one way alone is none
    assert through.delta_at_most(Fraction(-1)) is None


@pytest.mark.parametrize("epsilon", ["0.5", "2", "4"])
def test_what_is_attained_by_replacing_a_ball_in_a_bin_is_below_the_bound(epsilon):
    level = Fraction(epsilon)
    through = ThroughAbsent(loss=random_allocation(noise_multiplier=1, steps=20, epochs=3))
    shown = scored_steps(noise_multiplier=Fraction(1), steps=60, taken=3, down=1).event(level).delta_lower(level)
    bound = through.delta_at_most(level)
    assert bound is not None
    assert 0 < shown <= float(bound.upper())
