"""The pitfalls of sampled mechanisms: the statements hold, and the numbers are those of the audit."""

from fractions import Fraction

import numpy as np
from scipy.stats import binom, norm

from dpverdict.audit import FiniteLoss, poisson_sampled
from dpverdict.balls import precision
from dpverdict.proofs.checks.outcome import Standing
from dpverdict.proofs.checks.registry import statements, verify
from dpverdict.proofs.lebeda2024sampling.pitfalls import THRESHOLD, above


def test_the_pitfalls_hold() -> None:
    assert [made.number for made in statements("lebeda2024sampling")] == ["order", "schemes", "replace"]
    for number in ("order", "schemes", "replace"):
        assert verify("lebeda2024sampling", number).standing is Standing.HOLDS


def test_the_audit_gives_the_same_numbers() -> None:
    base = FiniteLoss(["0.75", "0.25"], ["0.25", "0.75"])
    two = poisson_sampled(base, "0.5", 2)
    level = float(np.log(4 / 3))
    assert abs(two.add.delta(level) - float(Fraction(11, 48))) < 1e-15
    assert abs(two.remove.delta(level) - float(Fraction(1, 6))) < 1e-15


def test_the_event_of_a_replacement_is_that_of_binomial_counts() -> None:
    counts = np.arange(0, 200)
    weights, c, deviation = binom.pmf(counts, 1000, 0.01), THRESHOLD, np.sqrt(1000)
    with precision(128):
        for contribution in (1, -1):
            found = float((weights * norm.sf((c - contribution * counts) / deviation)).sum())
            assert abs(float(above(Fraction(contribution))) / found - 1) < 1e-9
