"""The Renyi divergences of a Laplace loss in closed form, in balls."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from dpverdict.audit.laplace_terms import Groups
from dpverdict.balls import ball, refine

_ACCURACY = 56


def renyi_ball(groups: Groups, order: Fraction) -> arb:
    """The Renyi divergence of an order r > 0, the sum over the coordinates of

        log((r exp((r - 1) s) + (r - 1) exp(-r s)) / (2 r - 1)) / (r - 1),

    which is s - 1 + exp(-s) at r = 1 and s - 2 log(1 + s/2) at r = 1/2.

    Raises:
        PrecisionExhausted: the order or a shift is too extreme.

    Reference: Mironov 2017, Proposition 6 (arXiv:1702.07476), for one coordinate.
    """
    if not groups:
        return arb(0)

    def divergence() -> arb:
        return sum((count * _of_one(ball(shift), order) for shift, count in groups), arb(0))

    return refine(divergence, bits=_ACCURACY, name="renyi")


def _of_one(shift: arb, order: Fraction) -> arb:
    if order == 1:
        return shift + (-shift).expm1()
    if order == Fraction(1, 2):
        return shift - 2 * (shift / 2).log1p()
    r = ball(order)
    # exp((1 - r) s) times the moment is 1 + (r - 1) (1 + exp(-(2 r - 1) s)) ... written so that it does not cancel at 1
    rest = ball(order - 1) * (ball(1 - 2 * order) * shift).expm1() / ball(2 * order - 1)
    return shift + rest.log1p() / (r - 1)
