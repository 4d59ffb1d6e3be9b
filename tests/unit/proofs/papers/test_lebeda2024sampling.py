"""The pitfalls of sampled mechanisms: the statements hold, and the numbers are those of the audit."""

from fractions import Fraction

import numpy as np

from dpverdict.audit import FiniteLoss, poisson_sampled
from dpverdict.proofs.checks.outcome import Standing
from dpverdict.proofs.checks.registry import statements, verify


def test_both_pitfalls_hold() -> None:
    assert [made.number for made in statements("lebeda2024sampling")] == ["order", "schemes"]
    for number in ("order", "schemes"):
        assert verify("lebeda2024sampling", number).standing is Standing.HOLDS


def test_the_audit_gives_the_same_numbers() -> None:
    base = FiniteLoss(["0.75", "0.25"], ["0.25", "0.75"])
    two = poisson_sampled(base, "0.5", 2)
    level = float(np.log(4 / 3))
    assert abs(two.add.delta(level) - float(Fraction(11, 48))) < 1e-15
    assert abs(two.remove.delta(level) - float(Fraction(1, 6))) < 1e-15
