"""The certified profile on a dense grid of epsilons, by Taylor expansion with the remainder inside the ball.

Evaluating the formula costs about 8 microseconds a point, nearly all of it in two complementary error functions. Where
many points are close together, the same formula is evaluated once in power series about a centre c of a cell [a, b]:

    delta(epsilon) = sum over k < n of c_k (epsilon - c)^k + r (epsilon - c)^n,

where r is the n-th coefficient of the series about the whole cell as a ball. That coefficient contains the n-th Taylor
coefficient at every point of the cell, hence the remainder in the form of Lagrange: the result is an enclosure, with no
estimate left to make. It is evaluated as one polynomial of degree n.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import numpy as np
from flint import arb, arb_poly, arb_series, ctx
from numpy.typing import NDArray

from dpverdict.balls import Real, precision
from dpverdict.mechanisms import gaussian_formulas
from dpverdict.mechanisms.ball_normal import BallNormal

_KIND = BallNormal()
_ORDER = 28
_REMAINDER_BITS = 32
_REACH = 5.0  # length of a cell in units of the length on which the terms of the series shrink
FEWEST = 12  # points for which an expansion pays


def profile(epsilons: NDArray[np.float64], mu: Real, accuracy: int) -> dict[int, arb]:
    """Enclosures of the profile at the epsilons that lie in a cell, by index, where they have the accuracy in bits."""
    balls: dict[int, arb] = {}
    parameter = mu.nearest()
    if not 1e-290 <= parameter <= 1e15 or not np.abs(epsilons).max() / parameter <= 1e9:
        return balls
    for cell in _cells(epsilons, parameter):
        points = epsilons[cell].tolist()
        with precision(_working_bits(points[0], points[-1], parameter)):
            centre, polynomial = _expansion(points[0], points[-1], mu)
            for i, point in zip(cell.tolist(), points, strict=True):
                value = polynomial(arb(point) - centre)
                if value.rel_accuracy_bits() >= accuracy:
                    balls[i] = value
    return balls


def _working_bits(low: float, high: float, mu: float) -> int:
    """Enough for about 64 accurate bits: what the difference of the tails cancels is about mu/(1 + t) of them."""
    t = max(abs(low), abs(high)) / mu + mu
    return 76 + math.ceil(2 * math.log2(1 + t) + math.log2(1 + (1 + t) / mu))


def _cells(epsilons: NDArray[np.float64], mu: float) -> Iterator[NDArray[np.intp]]:
    """The indices of points that lie close enough together for one expansion; points in no cell are left out."""
    order = np.argsort(epsilons, kind="stable")
    points = epsilons[order]
    first = 0
    while first < len(points):
        # The terms of a normal tail at t shrink like powers of t h, and of sqrt(order) h close to the origin.
        steepness = max(abs(points[first] / mu - mu / 2), abs(points[first] / mu + mu / 2)) + math.sqrt(_ORDER)
        last = int(np.searchsorted(points, points[first] + _REACH * mu / steepness, side="right"))
        if last - first >= FEWEST:
            yield order[first:last]
        first = max(last, first + 1)


def _expansion(low: float, high: float, mu: Real) -> tuple[arb, arb_poly]:
    """A centre and a polynomial in epsilon - centre that encloses the profile at every epsilon in [low, high]."""
    centre = arb(low + (high - low) / 2)
    with _terms(_ORDER):
        coefficients = list(_series(centre, mu))
    with _terms(_ORDER + 1), precision(_REMAINDER_BITS):
        remainder = _series(arb(low).union(arb(high)), mu)[_ORDER]
    return centre, arb_poly([*coefficients, remainder])


def _series(about: arb, mu: Real) -> arb_series:
    return gaussian_formulas.delta(_KIND, arb_series([about, 1]), arb_series([mu.ball()]))


@contextmanager
def _terms(number: int) -> Generator[None]:
    """Power series of this many terms inside the block; like the precision, it is a global state of the library."""
    former = ctx.cap
    ctx.cap = number
    try:
        yield
    finally:
        ctx.cap = former
