"""Shuffled batches: the event against its definition, its best threshold, epochs, and a Poisson claim refuted."""

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from scipy.stats import binom, norm

from dpverdict.audit.losses.domains import Direction
from dpverdict.audit.sampling.shuffled import ShuffledBatches, shuffled_batches
from dpverdict.errors import InvalidValue


def bounds(s, batches, *, epochs=1, relation="zero_out", shuffle="fresh") -> ShuffledBatches:
    return shuffled_batches(noise_multiplier=s, batches=batches, epochs=epochs, relation=relation, shuffle=shuffle)


def no_release_above(mean, c, s, batches):
    return norm.cdf((c - mean) / s) * norm.cdf(c / s) ** (batches - 1)


@pytest.mark.parametrize(("relation", "absent"), [("zero_out", 1), ("add_remove", 1), ("replace_one", 0)])
def test_the_payoff_is_that_of_its_definition(relation, absent):
    s, batches, c, epsilon = 0.8, 50, 2.5, 0.7
    with_it, without = (no_release_above(m, c, s, batches) for m in (2, absent))
    found = bounds("0.8", batches, relation=relation)
    remove = 1 - with_it - math.exp(epsilon) * (1 - without)
    assert found.payoff("0.7", "2.5").lower == pytest.approx(remove, rel=1e-12)
    add = without - math.exp(epsilon) * with_it
    assert found.payoff("0.7", "2.5", Direction.ADD).lower == pytest.approx(add, rel=1e-12)


def test_epochs_of_one_permutation_are_less_noise_and_of_fresh_ones_a_binomial_law():
    s, batches, c, epochs, epsilon = 1.0, 20, 3.0, 5, 0.5
    held = bounds(1, batches, epochs=epochs, shuffle="persistent").payoff("0.5", 3)
    p, r = (1 - no_release_above(m, c, s / math.sqrt(epochs), batches) for m in (2, 1))
    assert held.lower == pytest.approx(p - math.exp(epsilon) * r, rel=1e-12)
    fresh = bounds(1, batches, epochs=epochs).payoff("0.5", 3)
    p, r = (1 - no_release_above(m, c, s, batches) for m in (2, 1))
    j = np.arange(epochs + 1)
    gaps = binom.pmf(j, epochs, p) - math.exp(epsilon) * binom.pmf(j, epochs, r)
    assert fresh.lower == pytest.approx(np.maximum(gaps, 0).sum(), rel=1e-12)


def test_a_claim_computed_for_poisson_sampling_is_refuted_in_under_a_second():
    """Noise 0.5, 10 000 batches, delta 1e-6: Poisson sampling gives epsilon 1.955, shuffling at least 10.99."""
    start = time.process_time()
    found = bounds("0.5", 10_000)
    assert found.lower_delta("1.955") > 0.144
    event = found.event("1.955")
    assert event.delta_lower("1.955") > 0.144
    assert time.process_time() - start < 1
    assert 10.99 < found.lower_epsilon("1e-6") <= found.upper_epsilon("1e-6") < 10.998


@pytest.mark.parametrize(
    ("s", "batches", "delta", "refuted", "upper"),
    [("0.6", 1000, "1e-5", 7.9875, 8.0038), ("1", 100, "1e-5", 4.063, 4.3773), ("1", 1000, "1e-5", 2.882, 4.3773)],
)
def test_the_published_lower_bounds_are_reached(s, batches, delta, refuted, upper):
    found = bounds(s, batches)
    assert refuted - 2e-3 < found.lower_epsilon(delta) <= found.upper_epsilon(delta) < upper


def test_one_batch_is_the_gaussian_mechanism():
    """With one batch the event at the right threshold is that of Neyman and Pearson: nothing is lost."""
    found = bounds(1, 1)
    for epsilon in ("0.2", "1"):
        assert found.lower_delta(epsilon) == pytest.approx(found.upper_delta(epsilon), rel=1e-6)
        assert found.lower_delta(epsilon) <= found.upper_delta(epsilon)


@pytest.mark.parametrize("shuffle", ["fresh", "persistent"])
@pytest.mark.parametrize("relation", ["zero_out", "replace_one"])
def test_bounds_are_in_order(relation, shuffle):
    found = bounds("0.7", 30, epochs=3, relation=relation, shuffle=shuffle)
    for epsilon in (0, "0.5", 2, 6):
        assert 0 <= found.lower_delta(epsilon) <= found.upper_delta(epsilon) <= 1


def test_the_event_shows_what_is_promised():
    for found in (bounds("0.7", 30), bounds("0.7", 30, epochs=4), bounds("0.7", 30, epochs=4, shuffle="persistent")):
        event = found.event("0.5")
        assert event.delta_lower("0.5") == pytest.approx(found.lower_delta("0.5"), rel=1e-9)
        assert "above" in event.event


def test_a_planted_fault_of_the_event_is_above_the_upper_bound(monkeypatch):
    """A canary that counted three times would show more than any mechanism of this noise does."""
    right = ShuffledBatches._above
    monkeypatch.setattr(ShuffledBatches, "_above", lambda self, m, c: right(self, 2 * m if m == 2 else m, c))
    found = bounds(1, 1)
    assert found.payoff(1, Fraction(3)).lower > found.upper_delta(1)


def test_relations_of_dp_accounting_are_read():
    for relation, name in (
        (NeighboringRelation.ADD_OR_REMOVE_ONE, "add_remove"),
        (NeighboringRelation.REPLACE_ONE, "replace_one"),
        (NeighboringRelation.REPLACE_SPECIAL, "zero_out"),
    ):
        assert bounds(1, 10, relation=relation).relation == name


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("relation", {"relation": "neighbours"}),
        ("shuffle", {"shuffle": "yes"}),
        ("batches", {"batches": 0}),
        ("epochs", {"epochs": 0}),
        ("noise_multiplier", {"noise_multiplier": 0}),
    ],
)
def test_what_is_out_of_range_is_refused(name, changed):
    given = {"noise_multiplier": 1, "batches": 10, "epochs": 1, "relation": "zero_out", "shuffle": "fresh"}
    with pytest.raises(InvalidValue, match=name):
        shuffled_batches(**(given | changed))


def test_the_words_of_a_relation_may_be_joined_by_hyphens():
    common = {"noise_multiplier": 1, "batches": 10, "epochs": 1, "shuffle": "fresh"}
    for words, name in (("replace-one", "replace_one"), ("add-or-remove-one", "add_remove"), ("zero-out", "zero_out")):
        assert shuffled_batches(relation=words, **common).relation == name
