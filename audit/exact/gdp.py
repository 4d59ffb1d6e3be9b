"""How private a loss is on the scale of Gaussian privacy: the least mu, and how much that number alone gives away.

Notation: f is the trade-off function of the loss and G_mu that of N(0,1) against N(mu,1). A pair is mu-GDP iff
f >= G_mu, or delta(epsilon) <= delta_mu(epsilon) at every real epsilon (Dong, Roth and Su 2022, Definition 2.6). As
G_mu is its own inverse, one order of the pair decides for both.

Both numbers are suprema over a continuum, and both ends of their enclosures are proved. One point shows the lower end.
The upper end is shown cell by cell: delta, as a function of x = exp(epsilon), and f are convex, so that on a cell they
lie below a chord, and delta_mu and G_mu above a tangent. Two lines are compared at the two ends of the cell; where that
does not decide, the cell is halved. A cell of width h loses h^2 only, so that few are needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

import numpy as np
from flint import arb
from scipy.special import ndtri

from dpverdict.audit.losses.base import PrivacyLoss, TwoOrders
from dpverdict.audit.losses.bounded import BoundedLoss
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss
from dpverdict.audit.losses.contour.loss import ComposedLoss
from dpverdict.balls import Enclosure, Exact, Real, ball, compare, precision
from dpverdict.checks import check_positive
from dpverdict.errors import InvalidValue
from dpverdict.numerics import gaussian_formulas as formulas
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.gaussian import BallNormal
from dpverdict.numerics.gaussian_floats import LARGEST_MU, SMALLEST_MU, Pair, beta_floats, log_delta_floats

_KIND: Final = BallNormal()
_BITS: Final = 128
_LOWERED: Final = Fraction(1, 1 << 44)
"""How far below the number found in float64 the lower end is, relatively."""
_MARGINS: Final = tuple(Fraction(1, 1 << bits) for bits in (36, 30, 24, 18, 12, 7))
"""How far above the lower end the upper one is tried, relatively: the nearest first."""
_MOST_CELLS: Final = 4000
_POINTS: Final = 65
_FURTHEST: Final = 1024
"""A loss whose profile is not 0 at this epsilon is taken for unbounded."""

Curve = Callable[[Fraction], arb]


def gdp_mu(loss: PrivacyLoss) -> Enclosure:
    """Encloses the least mu such that the loss is mu-GDP; infinite where there is none.

        mu* = sup_alpha Phi^-1(1 - alpha) - Phi^-1(f(alpha)) = sup_epsilon mu(epsilon, delta(epsilon)),

    where mu(epsilon, delta) solves delta_mu(epsilon) = delta. The lower end is attained at one epsilon. The upper end
    is shown for all of them where the loss is bounded, and for compositions from that of their factors, since mu_1-GDP
    and mu_2-GDP compose to sqrt(mu_1^2 + mu_2^2)-GDP. Of any other loss the upper end is infinite: its far tails may
    cost a mu that no probability of interest shows. Report a smaller one with its `gdp_regret` then.

    Args:
        loss: of one pair, or the larger of both orders. Of a loss that is certified by no ball arithmetic the ends are
            as sound as its two-sided bounds.

    Reference: Dong, Roth and Su 2022, Definition 2.6, Proposition 2.13 and Corollary 3.3 (arXiv:1905.02383).

    >>> from dpverdict.audit.losses.laplace.loss import LaplaceLoss
    >>> gdp_mu(LaplaceLoss([1])).show(9)
    '[1.03006399, 1.030064]'
    """
    if isinstance(loss, DisjointLoss):
        return Enclosure.of_ball(arb("inf"))
    if isinstance(loss, GaussianLoss):
        return Enclosure.of(loss.mu_real)
    parts = _factors(loss)
    loss, both = _larger(loss)
    delta = _profile(loss)
    reach = _largest_loss(delta)
    start = Fraction(0) if both else -(reach or Fraction(64))
    lower = _attained_mu(loss, delta, start, Fraction(64) if reach is None else reach)
    with precision(_BITS):
        if reach is not None:
            for margin in _MARGINS:
                upper = lower * (1 + margin)
                if upper > 0 and _is_gdp(delta, ball(upper), start, reach):
                    return Enclosure.hull(ball(lower), ball(upper))
        total = arb(0)
        for part, count in parts:
            total += count * arb(gdp_mu(part).upper) ** 2
        return Enclosure.hull(ball(lower), total.sqrt() if parts else arb("inf"))


def gdp_regret(loss: PrivacyLoss, mu: Exact) -> Enclosure:
    """Encloses the regret of reporting mu alone: how far G_mu lies below the trade-off function of the loss.

        regret = inf {k >= 0: f(alpha + k) - k <= G_mu(alpha) for every alpha in [0, 1 - k]},

    a Levy distance: 0 where the loss is that of a Gaussian mechanism with this mu, and small where mu says nearly all
    there is to say. Where the two orders of the pair differ, f is the convex hull of the smaller of both. That the loss
    is mu-GDP is not asked; see `gdp_mu`.

    Args:
        loss: of one pair, see `gdp_mu`.
        mu: > 0, exact.

    Raises:
        InvalidValue: mu is not positive.

    Reference: Gomez et al. 2025, "(epsilon, delta) considered harmful: best practices for reporting differential
    privacy guarantees" (arXiv:2503.10945), the metric Delta.

    >>> from dpverdict.audit.losses.laplace.loss import LaplaceLoss
    >>> gdp_regret(LaplaceLoss([1]), "1.0300639976244339").show(8)
    '[0.037016111, 0.037016112]'
    """
    exact = check_positive(mu, "mu")
    if isinstance(loss, GaussianLoss) and compare(loss.mu_real, Real.of(exact)) in (0, 1):
        return Enclosure.of(Real.of(0))  # f <= G_mu everywhere
    loss, _ = _larger(loss)
    beta = _trade_off(loss)
    least = _convexified(loss, _profile(loss)) if isinstance(loss, TwoOrders) else beta
    found, alpha = _roughly_regret(loss, float(exact))
    with precision(_BITS):
        size, lower, upper = ball(exact), Fraction(0), Fraction(1)
        for margin in (1e-13, 1e-11, 1e-9, 1e-7, 1e-5, 1e-3):
            k = Fraction(found) - Fraction(margin)
            if k > 0 and least(min(alpha + k, Fraction(1))) - ball(k) > _gaussian(size, alpha):
                lower = k
                break
        for margin in (1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-5, 1e-3):
            k = Fraction(found) + Fraction(margin)
            if _within(beta, size, k):
                upper = k
                break
        return Enclosure.hull(ball(lower), ball(upper))


# the least mu ---------------------------------------------------------------------------------------------------------


def _profile(loss: PrivacyLoss) -> Curve:
    """delta at an epsilon as a ball, each computed once."""
    known: dict[Fraction, arb] = {}

    def delta(epsilon: Fraction) -> arb:
        if epsilon not in known:
            if loss.is_certified:
                found = loss.certified_delta(epsilon)
                known[epsilon] = _between(found.lower, found.upper)
            else:
                lower, upper = loss.delta_bounds(np.array(float(epsilon)))
                known[epsilon] = _between(float(lower), float(upper))
        return known[epsilon]

    return delta


def _between(lower: float, upper: float) -> arb:
    """A ball that holds all numbers between the two, with slack of its own; a zero stays exact."""
    return arb(lower) if lower == upper else arb(lower).union(arb(upper))


def in_both_orders(loss: PrivacyLoss) -> tuple[PrivacyLoss, ...]:
    """The losses of both orders of the pair; once where they are the same.

    Raises:
        InvalidValue: the other order is not known.
    """
    if isinstance(loss, TwoOrders):
        return loss.remove, loss.add
    other = loss.reversed()
    return (loss,) if other is loss else (loss, other)


def _larger(loss: PrivacyLoss) -> tuple[PrivacyLoss, bool]:
    """The larger of both orders, of which epsilon >= 0 says all; else the loss itself, and that it is one order."""
    try:
        orders = in_both_orders(loss)
    except InvalidValue:
        return loss, False
    return (loss if len(orders) == 1 else TwoOrders(remove=orders[0], add=orders[1])), True


def _largest_loss(delta: Curve) -> Fraction | None:
    """An epsilon at which the profile is 0 for certain, so that it is 0 from there on; None if none was found."""
    at = Fraction(1, 1024)
    while at <= _FURTHEST:
        if delta(at) <= 0:
            return at
        at *= 2
    return None


def _attained_mu(loss: PrivacyLoss, delta: Curve, start: Fraction, stop: Fraction) -> Fraction:
    """A mu that the loss does not keep, or 0, as large as float64 finds one; shown by balls at one epsilon."""
    low, high, best = float(start), float(stop), 0.0
    for _ in range(6):
        grid = np.linspace(low, high, _POINTS)
        with np.errstate(divide="ignore"):
            found = _mu_of(grid, np.asarray(loss.log_delta(grid)))
        k = int(np.argmax(found))
        best, step = float(grid[k]), (high - low) / (_POINTS - 1)
        low, high = max(best - 2 * step, float(start)), min(best + 2 * step, float(stop))
    shown = Fraction(0)
    for at in {Fraction(0), Fraction(best)}:
        for margin in (_LOWERED, *_MARGINS):
            value = float(_mu_of(np.array([float(at)]), np.array([float(loss.log_delta(float(at)))]))[0])
            mu = Fraction(value) * (1 - margin)
            with precision(_BITS):
                if mu > shown and formulas.delta(_KIND, ball(at), ball(mu)) < delta(at):
                    shown = mu
                    break
    return shown


def _mu_of(epsilons: Array, logs: Array) -> Array:
    """The mu with log delta_mu(epsilon) = the given number, by bisection: the profile increases with mu."""
    low, high = np.full(epsilons.shape, math.log(SMALLEST_MU)), np.full(epsilons.shape, math.log(LARGEST_MU))
    trivial = np.log(np.maximum(-np.expm1(np.minimum(epsilons, 0.0)), 1e-300))  # delta of two equal laws
    for _ in range(80):
        middle = (low + high) / 2
        above = log_delta_floats(epsilons, Pair.of(np.exp(middle))) > logs
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.where(np.isfinite(logs) & ((epsilons >= 0) | (logs > trivial + 1e-9)), np.exp(low), 0.0)


def _is_gdp(delta: Curve, mu: arb, start: Fraction, stop: Fraction) -> bool:
    """Whether delta <= delta_mu is shown on [start, stop] by cells: a chord against a tangent, in x = exp(epsilon).

    Beyond ``stop`` delta is 0; below ``start`` it is not asked, or is that of every pair, 1 - x.
    """
    step = (stop - start) / 16
    cells = [(start + i * step, start + (i + 1) * step) for i in range(16)]
    for _ in range(_MOST_CELLS):
        if not cells:
            return True
        left, right = cells.pop()
        middle = (left + right) / 2
        at = ball(middle)
        height, slope = formulas.delta(_KIND, at, mu), -formulas.descent(_KIND, at, mu) / at.exp()
        if all(height + slope * (ball(end).exp() - at.exp()) >= delta(end) for end in (left, right)):
            continue
        if any(formulas.delta(_KIND, ball(end), mu) < delta(end) for end in (left, right)) or right - left < 1e-15:
            return False
        cells += [(left, middle), (middle, right)]
    return False


def _factors(loss: PrivacyLoss) -> list[tuple[PrivacyLoss, int]]:
    """What a composition is made of, with the number of times each occurs; empty for any other loss."""
    if isinstance(loss, ComposedLoss):
        return [(loss.gaussian, 1), (loss.laplace, 1)]
    if isinstance(loss, BoundedLoss) and all(isinstance(factor, PrivacyLoss) for factor, _ in loss.factors):
        return [(factor, count) for factor, count in loss.factors if isinstance(factor, PrivacyLoss)]
    return []


# the regret -----------------------------------------------------------------------------------------------------------


def _trade_off(loss: PrivacyLoss) -> Curve:
    """f at a level as a ball, each computed once."""
    known: dict[Fraction, arb] = {}

    def beta(alpha: Fraction) -> arb:
        if alpha not in known:
            if not loss.is_certified:
                lower, upper = loss.beta_bounds(np.array(float(alpha)))
                known[alpha] = _between(float(lower), float(upper))
            else:
                found = loss.certified_beta(alpha)
                known[alpha] = _between(found.lower, found.upper)
        return known[alpha]

    return beta


def _convexified(loss: PrivacyLoss, delta: Curve) -> Curve:
    """A lower bound on the convex hull of f: the best line 1 - delta(e) - exp(e) alpha, or its mirror image."""

    def beta(alpha: Fraction) -> arb:
        level, low, high, at = float(alpha), 0.0, 64.0, 0.0
        for _ in range(5):
            grid = np.linspace(low, high, _POINTS)
            rest = 1 - np.asarray(loss.delta(grid))
            lines = np.maximum(rest - np.exp(grid) * level, np.exp(-grid) * (rest - level))
            at, step = float(grid[int(np.argmax(lines))]), (high - low) / (_POINTS - 1)
            low, high = max(at - 2 * step, 0.0), at + 2 * step
        epsilon, rest_there = ball(Fraction(at)), 1 - delta(Fraction(at))
        line = rest_there - epsilon.exp() * ball(alpha)
        return line.max((-epsilon).exp() * (rest_there - ball(alpha))).max(arb(0))

    return beta


def _gaussian(mu: arb, alpha: Fraction) -> arb:
    """G_mu at a level."""
    if alpha in (0, 1):
        return arb(1 - alpha.numerator)
    return formulas.beta(_KIND, ball(alpha), mu)


def _roughly_regret(loss: PrivacyLoss, mu: float) -> tuple[float, Fraction]:
    """The regret in float64, and the level that shows it: the largest over levels of the least k there."""
    low, high, found, at = 0.0, 1.0, 0.0, 0.5
    size = Pair.of(np.asarray(mu))
    for _ in range(7):
        grid = np.linspace(low, high, _POINTS)
        allowed = np.where(
            grid <= 0, 1.0, np.where(grid >= 1, 0.0, beta_floats(np.clip(grid, 1e-300, 1 - 1e-16), size))
        )
        least, most = np.zeros_like(grid), 1.0 - grid
        for _ in range(54):
            k = (least + most) / 2
            kept = np.asarray(loss.beta(np.minimum(grid + k, 1.0))) - k <= allowed
            least, most = np.where(kept, least, k), np.where(kept, k, most)
        i = int(np.argmax(most))
        found, at, step = float(most[i]), float(grid[i]), (high - low) / (_POINTS - 1)
        low, high = max(at - 2 * step, 0.0), min(at + 2 * step, 1.0)
    return found, Fraction(at)


def _within(beta: Curve, mu: arb, k: Fraction) -> bool:
    """Whether f(alpha + k) - k <= G_mu(alpha) is shown on every cell of [0, 1 - k]; beyond it f is 0."""
    if k >= 1:
        return True
    step, shift = (1 - k) / 16, ball(k)
    cells = [(i * step, (i + 1) * step) for i in range(16)]
    for _ in range(_MOST_CELLS):
        if not cells:
            return True
        left, right = cells.pop()
        middle = (left + right) / 2
        ends = [(end, beta(end + k) - shift) for end in (left, right)]
        if ends[0][1] <= _gaussian(mu, right):  # both fall
            continue
        z = ball(Fraction(float(-ndtri(float(middle)))))
        level, height, slope = _KIND.tail(z), _KIND.tail(mu - z), -(mu * z - mu * mu / 2).exp()
        if all(height + slope * (ball(end) - level) >= value for end, value in ends):
            continue
        if any(value > _gaussian(mu, end) for end, value in ends) or right - left < 1e-15:
            return False
        cells += [(left, middle), (middle, right)]
    return False
