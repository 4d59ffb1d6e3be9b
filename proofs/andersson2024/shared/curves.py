"""The privacy curves of randomised response, Laplace vectors and Gaussian noise, exactly, in balls."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import comb

from flint import arb

from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.balls import Real, ball, compare
from dpverdict.numerics import gaussian_formulas
from dpverdict.numerics.gaussian import BallNormal

DELTAS = ("1e-12", "1e-8", "1e-5", "1e-3", "0.1", "0.5", "0.9")

VECTORS: tuple[tuple[str, ...], ...] = (
    ("1",),
    ("0.001", "10"),
    ("0.5", "0.25"),
    ("1", "1", "1"),
    ("0.3", "2", "0.7", "0.01"),
    ("0.1",) * 16,
    ("0.05", "0.4") * 3,
    ("0.02",) * 100,
)
"""The epsilons, or the shifts in units of the scale, of the coordinates of a vector."""


def randomised_response(epsilons: Sequence[str], epsilon: arb) -> arb:
    """The exact delta of composed randomised responses, at the current precision.

    Each has the loss +-e_j, + with probability exp(e_j)/(1 + exp(e_j)): sum over signs of (P - exp(epsilon) Q)_+.
    Equal epsilons are grouped: then only the number of plus signs matters.
    """
    groups = {e: epsilons.count(e) for e in dict.fromkeys(epsilons)}
    total = arb(0)
    for counts in product(*(range(count + 1) for count in groups.values())):
        mass, loss = arb(1), arb(0)
        for (text, count), plus in zip(groups.items(), counts, strict=True):
            e = ball(text)
            high = e.exp() / (1 + e.exp())
            mass *= comb(count, plus)
            mass *= high**plus * (1 - high) ** (count - plus)
            loss += (2 * plus - count) * e
        total += (mass * (1 - (epsilon - loss).exp())).max(arb(0))
    return total


def laplace_delta(shifts: Sequence[str], epsilon: Real) -> Real:
    """An upper bound on the exact delta of a Laplace vector, at a float64 not above epsilon."""
    low = Fraction(epsilon.nearest()) * (1 - Fraction(1, 2**50))
    return Real.of(LaplaceLoss(list(shifts)).certified_delta(low).upper)


def gaussian_delta(epsilon: Real, mu: Real) -> Real:
    """The profile of N(0, 1) against N(mu, 1), in balls."""
    return Real(lambda: gaussian_formulas.delta(BallNormal(), epsilon.ball(), mu.ball()))


def certainly_below(left: Real, right: Real) -> bool | None:
    """left < right."""
    sign = compare(left, right)
    return None if sign is None else sign == -1


def norms(vector: Sequence[str]) -> tuple[Fraction, Fraction]:
    """(l1 norm, squared l2 norm)."""
    values = [Fraction(value) for value in vector]
    return sum(values, Fraction(0)), sum((value**2 for value in values), Fraction(0))
