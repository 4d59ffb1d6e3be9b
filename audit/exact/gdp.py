"""How private a loss is on the scale of Gaussian privacy: the least mu, and how much that number alone gives away.

Notation: f is the trade-off function of the loss and G_mu that of N(0,1) against N(mu,1); delta and delta_mu are their
profiles. A pair is mu-GDP iff f >= G_mu, or delta(epsilon) <= delta_mu(epsilon) at every real epsilon (Dong, Roth and
Su 2022, Definition 2.6). As G_mu is its own inverse, one order of the pair decides for both, and both orders at
epsilon >= 0 decide as well.

The regret of reporting mu is a Levy distance, and it too is read off the profiles. f is the largest of the lines
1 - delta(epsilon) - x alpha, x = exp(epsilon), and G_mu(alpha) + x alpha has the minimum 1 - delta_mu(epsilon). So
f(alpha + k) - k <= G_mu(alpha) holds for every alpha if and only if it holds of every line, which is

    k >= (delta_mu(epsilon) - delta(epsilon))/(1 + x)          for every real epsilon;

beyond alpha = 1 - k every line is below 0. With both orders in delta, epsilon >= 0 decides: for a symmetric pair,
delta(-epsilon) = 1 - 1/x + delta(epsilon)/x gives the same number at -epsilon as at epsilon.

Both numbers are suprema over a continuum, and both ends of their enclosures are proved. One epsilon shows the lower
end. The upper end is shown cell by cell, as delta and delta_mu are convex in x: between its values at the two ends of a
cell, delta is below its chord and above the chords of the cells beside it, extended. Two lines are compared, or a
convex function over an increasing one, where the ends of a cell decide; a cell that does not decide is halved. A cell
of width h loses h^2 only, so that few are needed.

The tails of some losses are wholly Gaussian. Let M >= w P for some w > 0, where (P, Q) is Gaussian with mu. At the
level alpha = Phi(-z) of Q a half space has the probability w Phi(mu - z) at least under M, and
z + Phi^-1(w Phi(mu - z)) tends to mu as z grows: (M, Q) keeps no smaller mu, however small w is. Where every step of
training is a mixture of N(0, s^2) with N(1, s^2), all steps sample the record with a positive probability, and the
least mu is that of the steps without sampling, exactly. Where a record is replaced, a step is the same mixture against
that of N(0, s^2) with N(-1, s^2): the tail is that of N(1, s^2) against N(0, s^2), and if each of N(1) and N(-1) has a
part of at most one half, it is paired with N(0), so that no larger mu is needed either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache, reduce
from itertools import pairwise
from typing import Final

import numpy as np
from flint import arb

from dpverdict.audit.losses.base import AddRemoveLoss, PrivacyLoss
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss
from dpverdict.audit.losses.contour.loss import ComposedLoss
from dpverdict.audit.losses.domains import Direction
from dpverdict.audit.sampling.allocation import AllocationLoss
from dpverdict.audit.sampling.mixtures.loss import GaussianMixtureLoss
from dpverdict.audit.sampling.step import SampledStep
from dpverdict.balls import Enclosure, Exact, Real, ball, compare, exactly, precision
from dpverdict.checks import check_positive
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.numerics import gaussian_formulas as formulas
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.gaussian import BallNormal
from dpverdict.numerics.gaussian_floats import LARGEST_MU, SMALLEST_MU, DoubleDouble, log_delta_floats
from dpverdict.numerics.roots import Bracket

_KIND: Final = BallNormal()
_BITS: Final = 128
_PROFILE_BITS: Final = 48
"""Accurate bits of the profiles that are compared."""
_MARGINS: Final = tuple(Fraction(1, 1 << bits) for bits in (44, 36, 30, 24, 18, 12, 7))
"""How far a number found in float64 is moved aside, relatively, until balls show it: the nearest first."""
_TOLERANCE: Final = Fraction(1, 1 << 30)
"""How far above what one epsilon shows the upper end is tried first: of mu relatively, of a regret absolutely."""
_MOST_POINTS: Final = 240
"""After so many values of the profile the tolerance grows."""
_TOLERANCE_GROWTH: Final = 16
_CELLS: Final = 8
_FURTHEST: Final = 1024
"""A loss whose profile is not 0 at this epsilon is taken for unbounded."""
_SHOWN: Final = Fraction(1, 10**12)
"""Of a composition, the epsilons where the profile is smaller are not searched for a larger mu."""
_LAST: Final = Fraction(32)
"""No profile is asked for a regret from here on: what it is divided by is above exp(32)."""
_ANYWHERE: Final = arb(0.5, 0.5)
"""A probability of which nothing is known."""
_CLOSE: Final = Fraction(1, 1 << 40)

Curve = Callable[[Fraction], arb]


def gdp_mu(loss: PrivacyLoss, down_to_delta: Exact = 0) -> Enclosure:
    """Encloses the least mu such that the loss is mu-GDP; infinite where there is none.

        mu* = sup_alpha Phi^-1(1 - alpha) - Phi^-1(f(alpha)) = sup_epsilon mu(epsilon, delta(epsilon)),

    where mu(epsilon, delta) solves delta_mu(epsilon) = delta. Where ``down_to_delta`` is d > 0, it is the least mu with
    delta(epsilon) <= max(delta_mu(epsilon), d) in both orders at every epsilon >= 0: what is less likely than d is
    left aside. To be told with the mu, and with its `gdp_regret`.

    Of training with Gaussian noise on sampled batches (Poisson, or random allocation, of one multiplier or several) the
    least mu is exactly that of the noise without sampling, sqrt(steps)/s or sqrt(epochs)/s: only the far tail tells, as
    all steps may have sampled the record. A smaller number of an accountant rests on its grid. There, ask for the mu
    down to a delta.

    The lower end is attained at one epsilon, or in the limit of the tail. The upper end is shown for every epsilon
    where the loss is bounded, or down to a delta > 0; for compositions without such an end it is that of their factors,
    since mu_1-GDP and mu_2-GDP compose to sqrt(mu_1^2 + mu_2^2)-GDP and sampling adds nothing. Of any other unbounded
    loss the upper end is infinite. Training takes a second or two of processor time; an epoch of random
    allocation, or a loss that is bracketed on a lattice, such as mixtures of different steps, takes ten to thirty
    seconds down to a delta, as does its regret.

    Args:
        loss: of one pair, or the larger of both orders. Of a loss that is certified by no ball arithmetic the ends are
            as sound as its two-sided bounds.
        down_to_delta: d in [0, 1), at its exact value; 0 asks for mu-GDP itself.

    Raises:
        InvalidValue: a delta outside [0, 1).

    Reference: Dong, Roth and Su 2022, Definition 2.6, Proposition 2.13 and Corollary 3.3 (arXiv:1905.02383).

    >>> from dpverdict.audit.losses.laplace.loss import LaplaceLoss
    >>> from dpverdict.audit.sampling.poisson import poisson_sampled
    >>> gdp_mu(LaplaceLoss([1])).show(9)
    '[1.03006399, 1.030064]'
    >>> gdp_mu(poisson_sampled(GaussianLoss(1), "0.01", steps=2500)).show(9)
    '[50, 50]'
    >>> gdp_mu(poisson_sampled(GaussianLoss(1), "0.01", steps=1000), down_to_delta="1e-6").show(5)
    '[0.47374, 0.47375]'
    """
    floor = exactly(down_to_delta, name="down_to_delta")
    if not 0 <= floor < 1:
        remedy = "0 for mu-GDP itself, or a probability that may be left aside, such as 1e-10"
        raise InvalidValue("down_to_delta", down_to_delta, "in [0, 1)", remedy)
    if isinstance(loss, DisjointLoss):
        return Enclosure.of_ball(arb("inf"))
    if isinstance(loss, GaussianLoss) and loss.certified_delta(0).lower > floor:
        return Enclosure.of(loss.mu_real)
    order, both = _larger_of_both_orders(loss)
    delta = _profile(order)
    with precision(_BITS):
        below, above = _in_the_tail(loss), _of_the_factors(loss)
        if floor == 0 and above * (1 - ball(_TOLERANCE)) < below:
            return Enclosure.hull(below, above)
        if delta(Fraction(0)) <= ball(floor):
            return Enclosure.of(Real.of(0))
        reach = _where_at_most(delta, floor) if floor or not _is_composed(loss) else None
        if reach is not None:
            shown, enough = _least_mu(delta, Fraction(0) if floor or both else -reach[1], reach, floor)
            return Enclosure.hull(shown, enough.min(above))
        _, last = _where_at_most(delta, _SHOWN) or (0, Fraction(_FURTHEST))
        shown = _attained_mu(delta, last)
        return Enclosure.hull(shown if floor else below.max(shown), above)


def gdp_regret(loss: PrivacyLoss, mu: Exact) -> Enclosure:
    """Encloses the regret of reporting mu alone: how far G_mu lies below the trade-off function of the loss.

        regret = inf {k >= 0: f(alpha + k) - k <= G_mu(alpha) for every alpha in [0, 1 - k]}
               = sup {0, (delta_mu(epsilon) - delta(epsilon))/(1 + exp(epsilon)) for every real epsilon},

    a Levy distance: 0 where the loss is that of a Gaussian mechanism with this mu, and small where mu says nearly all
    there is to say. Of a Gaussian loss with m < mu it is Phi(mu/2) - Phi(m/2), the gain at epsilon = 0: the derivative
    of delta_mu(epsilon)/(1 + exp(epsilon)) by mu is a constant times exp(-mu^2/8 - epsilon^2/(2 mu^2))/cosh(epsilon/2),
    which is largest there for every mu. Where the two orders of the pair differ, f is the convex hull of the smaller of
    both. That the loss is mu-GDP is not asked; see `gdp_mu`.

    Args:
        loss: of one pair, see `gdp_mu`.
        mu: > 0, exact.

    Raises:
        InvalidValue: mu is not positive.

    Reference: Gomez et al. 2025, "(epsilon, delta) considered harmful: best practices for reporting differential
    privacy guarantees" (arXiv:2503.10945), the metric Delta.

    >>> from dpverdict.audit.losses.laplace.loss import LaplaceLoss
    >>> gdp_regret(LaplaceLoss([1]), "1.0300639976244339").show(8)
    '[0.03701611, 0.037016112]'
    """
    exact = check_positive(mu, "mu")
    if isinstance(loss, GaussianLoss):
        order = compare(loss.mu_real, Real.of(exact))
        if order in (0, 1):
            return Enclosure.of(Real.of(0))  # f <= G_mu everywhere
        if order == -1:
            with precision(_BITS):
                below = _KIND.tail(_KIND.halve(loss.mu_real.ball())) - _KIND.tail(_KIND.halve(ball(exact)))
                return Enclosure.hull(below.max(arb(0)), below)
    loss, both = _larger_of_both_orders(loss)
    with precision(_BITS):
        return Enclosure.hull(*_regret_ends(_profile(loss), ball(exact), both=both))


# profiles -------------------------------------------------------------------------------------------------------------


def _profile(loss: PrivacyLoss) -> Curve:
    """delta at an epsilon as a ball, each computed once."""
    known: dict[Fraction, arb] = {}

    def delta(epsilon: Fraction) -> arb:
        if epsilon not in known:
            known[epsilon] = _delta(loss, epsilon)
        return known[epsilon]

    return delta


def _delta(loss: PrivacyLoss, epsilon: Fraction) -> arb:
    """delta(epsilon): to some bits where it can be had to any number, or all that is known of it."""
    if loss.is_certified:
        try:
            return loss.profile(epsilon, _PROFILE_BITS)
        except PrecisionExhausted:
            found = loss.certified_delta(epsilon)
            return _ball_between(found.lower, found.upper)
    lower, upper = loss.delta_bounds(np.array(float(epsilon)))
    return _ball_between(float(lower), float(upper))


def _ball_between(lower: float, upper: float) -> arb:
    """A ball that holds all numbers between the two, with slack of its own; a zero stays exact."""
    return arb(lower) if lower == upper else arb(lower).union(arb(upper))


def in_both_orders(loss: PrivacyLoss) -> tuple[PrivacyLoss, ...]:
    """The losses of both orders of the pair; once where they are the same.

    Raises:
        InvalidValue: the other order is not known.
    """
    if isinstance(loss, AddRemoveLoss):
        return loss.remove, loss.add
    other = loss.reversed()
    return (loss,) if other is loss else (loss, other)


def _larger_of_both_orders(loss: PrivacyLoss) -> tuple[PrivacyLoss, bool]:
    """The larger of both orders, of which epsilon >= 0 says all; else the loss itself, and that it is one order."""
    try:
        orders = in_both_orders(loss)
    except InvalidValue:
        return loss, False
    return (loss if len(orders) == 1 else AddRemoveLoss(remove=orders[0], add=orders[1])), True


def _where_at_most(delta: Curve, floor: Fraction) -> tuple[Fraction, Fraction] | None:
    """An epsilon that is too small for the profile to be certainly at most ``floor``, and one that is not.

    Of a floor > 0 the two are a relative `_CLOSE` apart, or as far as the profile is known; of 0, the second one is
    about twice the first one. None where no epsilon is large enough.
    """
    level, high = ball(floor), Fraction(1)
    while not delta(high) <= level:
        if high >= _FURTHEST:
            return None
        high *= 2
    if not floor:
        while high > Fraction(1, _FURTHEST) and delta(high / 2) <= level:
            high /= 2
        return high / 2, high
    low = high / 2 if high > 1 else Fraction(0)
    bracket = Bracket(low=low, high=high, at_low=_log_ratio(delta(low), level), at_high=_log_ratio(delta(high), level))
    close = _CLOSE
    for point in bracket.trials(_BITS):
        if bracket.width <= bracket.high * close:
            break
        value = delta(point)
        bracket.narrow(point, _log_ratio(value, level), -1 if value <= level else 1)
        if value > 0:
            close = max(_CLOSE, Fraction(float((value.rad() / value.mid()).mid())))
    return bracket.low - bracket.high * close, bracket.high  # at the lower end itself a sign may be undecided


def _log_ratio(value: arb, level: arb) -> arb:
    """The logarithm of value/level, to steer."""
    return (value / level).log() if value > 0 else arb("-inf")


# the least mu ---------------------------------------------------------------------------------------------------------


def _least_mu(delta: Curve, start: Fraction, reach: tuple[Fraction, Fraction], floor: Fraction) -> tuple[arb, arb]:
    """A mu that an epsilon from start to reach with delta > floor needs, and one that is enough for all of them."""
    shown, needed = arb(0), arb(0)

    def look(at: Fraction) -> None:
        nonlocal shown, needed
        low, high = _mu_at(at, delta(at))
        needed = needed.max(high)
        if delta(at) > ball(floor):
            shown = shown.max(low)

    tolerance, halved, enough = _TOLERANCE, 0, arb(0)
    ends = sorted({*(start + i * (reach[1] - start) / _CELLS for i in range(_CELLS + 1)), reach[0]})
    for end in ends:
        look(end)
    cells = list(pairwise(ends))
    while cells and needed.is_finite():
        left, right = cells.pop()
        # Where the profile is known to few digits, more cells show nothing. What a cell has shown stays shown.
        tried = (needed * (1 + ball(tolerance))).upper().max((2 * needed - shown).upper())
        if _is_gdp(delta, tried, left, right):
            enough = enough.max(tried)
            continue
        halved += 1
        if halved % _MOST_POINTS == 0:
            tolerance *= _TOLERANCE_GROWTH
        middle = (left + right) / 2
        look(middle)
        cells += [(left, middle), (middle, right)]
    return shown, enough.max(needed)


def _attained_mu(delta: Curve, stop: Fraction) -> arb:
    """A mu that some epsilon in [0, stop] needs, as large as one is found in two rounds."""
    low, high, shown = Fraction(0), stop, arb(0)
    for _ in range(2):
        step = (high - low) / (2 * _CELLS)
        best = max((_mu_at(low + i * step, delta(low + i * step))[0], low + i * step) for i in range(2 * _CELLS + 1))
        shown = shown.max(best[0])
        low, high = max(best[1] - step, Fraction(0)), min(best[1] + step, stop)
    return shown


def _mu_at(epsilon: Fraction, delta: arb) -> tuple[arb, arb]:
    """A mu with delta_mu(epsilon) below delta or equal to that of two equal laws, and one with it at least delta."""
    at = ball(epsilon)
    equal = (-at.expm1()).max(arb(0))
    if delta <= equal:
        return arb(0), arb(0)
    lower, upper = (float(value.log()) if value > equal else -np.inf for value in (delta.lower(), delta.upper()))
    found = _mu_of(float(epsilon), np.array([lower, upper]))

    def nearest(number: float, side: int, holds: Callable[[arb], bool], otherwise: arb) -> arb:
        tried = (ball(Fraction(number) * (1 + side * margin)) for margin in _MARGINS)
        return next((mu for mu in tried if mu > 0 and holds(formulas.delta(_KIND, at, mu))), otherwise)

    low = nearest(float(found[0]), -1, lambda value: value < delta, arb(0))
    return low, nearest(float(found[1]), 1, lambda value: value >= delta, arb("inf"))


def _mu_of(epsilon: float, logs: Array) -> Array:
    """The mu with log delta_mu(epsilon) = each of the numbers, by bisection: the profile increases with mu."""
    low, high = np.full(logs.shape, math.log(SMALLEST_MU)), np.full(logs.shape, math.log(LARGEST_MU))
    for _ in range(80):
        middle = (low + high) / 2
        above = log_delta_floats(np.full(logs.shape, epsilon), DoubleDouble.of(np.exp(middle))) > logs
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.where(np.isfinite(logs), np.exp(low), 0.0)


def _is_gdp(delta: Curve, mu: arb, left: Fraction, right: Fraction) -> bool:
    """Whether delta <= delta_mu is shown on a cell: the chord of one against the tangent of the other."""
    if not mu > 0:
        return bool(mu >= 0)
    at = ball((left + right) / 2)
    height, slope = formulas.delta(_KIND, at, mu), -formulas.descent(_KIND, at, mu) / at.exp()
    return all(height + slope * (ball(end).exp() - at.exp()) >= delta(end) for end in (left, right))


def _in_the_tail(loss: PrivacyLoss) -> arb:
    """The mu of the Gaussian pair that is a part of the first law, against all of the second one."""
    alone, mixed = arb(0), dict.fromkeys(Direction, arb(0))
    for order, square in _squared_mus_of_pairs(loss):
        if order is None:
            alone += square
        else:
            mixed[order] += square
    return (alone + mixed[Direction.REMOVE].max(mixed[Direction.ADD])).sqrt()


def _squared_mus_of_pairs(loss: object) -> Iterator[tuple[Direction | None, arb]]:
    """mu^2 of every Gaussian pair in a loss, and in which order it is mixed with equal laws; None where it is not."""
    match loss:
        case GaussianLoss():
            yield None, loss.mu_squared.ball()
        case AllocationLoss():
            yield loss.order, loss.epochs / ball(loss.noise_multiplier) ** 2
        case GaussianMixtureLoss():
            moved = _replaced_by(loss)
            if moved is not None:
                yield None, ball(moved) ** 2
        case SampledStep():
            yield from (
                (loss.order, square)
                for order, square in _squared_mus_of_pairs(loss.pair)
                if order in (None, loss.order)
            )
        case AddRemoveLoss():
            yield from _squared_mus_of_pairs(loss.remove)
        case PrivacyLoss() if _is_composed(loss):
            for factor, count in _parts(loss):
                yield from ((order, count * square) for order, square in _squared_mus_of_pairs(factor))
        case _:
            return


def _of_the_factors(loss: PrivacyLoss) -> arb:
    """A mu that is enough for what the loss is made of; infinite where it is made of nothing else."""
    match loss:
        case GaussianLoss():
            return loss.mu_real.ball()
        case AllocationLoss():
            return arb(loss.epochs).sqrt() / ball(loss.noise_multiplier)
        case SampledStep():
            return arb(gdp_mu(loss.pair).upper)
        case GaussianMixtureLoss():
            moved = _replaced_by(loss)
            return arb("inf") if moved is None else ball(moved)
        case AddRemoveLoss():
            return _of_the_factors(loss.remove)
        case _ if _is_composed(loss):
            total = arb(0)
            for factor, count in _parts(loss):
                total += count * (arb(gdp_mu(factor).upper) ** 2 if isinstance(factor, PrivacyLoss) else arb("inf"))
            return total.sqrt()
        case _:
            return arb("inf")


def _replaced_by(loss: GaussianMixtureLoss) -> Fraction | None:
    """How far the two mixtures move, one up and the other down, if both of them stay with probability 1/2 at least."""
    weights = {shift: weight for weight, shift in loss.first}
    if loss.first != loss.second or weights.get(Fraction(0), Fraction(0)) < Fraction(1, 2):
        return None
    return max(weights)


def _is_composed(loss: PrivacyLoss) -> bool:
    """Whether the loss is the sum of several."""
    return sum(count for _, count in _parts(loss)) > 1


def _parts(loss: PrivacyLoss) -> Sequence[tuple[object, int]]:
    """What a loss is the sum of, with the number of times each occurs; of one order where both are known."""
    one = loss.remove if isinstance(loss, AddRemoveLoss) else loss
    return ((one.gaussian, 1), (one.laplace, 1)) if isinstance(one, ComposedLoss) else one.factors


# the regret -----------------------------------------------------------------------------------------------------------


def _regret_ends(delta: Curve, mu: arb, *, both: bool) -> tuple[arb, arb]:
    """A value of (delta_mu - delta)/(1 + x), x = exp(epsilon), or 0, and a number that none exceeds."""

    def profile(at: Fraction) -> arb:
        if abs(at) >= _LAST:
            return _ANYWHERE if at > 0 else 1 - ball(at).exp() * _ANYWHERE
        return 1 - ball(at).exp() * (1 - delta(-at)) if both and at < 0 else delta(at)

    def gain(at: Fraction, height: arb) -> arb:
        return (formulas.delta(_KIND, ball(at), mu) - height) / (1 + ball(at).exp())

    @cache
    def bound(before: Fraction | None, left: Fraction, right: Fraction, after: Fraction | None) -> arb:
        """Of the cell: delta is above both chords, extended; on a line the gain is largest at an end."""
        start, slope = profile(left), arb(-1) if before is None else _slope(profile, before, left)
        stop, other = profile(right), arb(0) if after is None else _slope(profile, right, after)
        x, y = ball(left).exp(), ball(right).exp()
        meet = float(((stop - start + slope * x - other * y) / (slope - other)).mid().log())
        at = min(max(Fraction(meet), left), right) if np.isfinite(meet) else (left + right) / 2
        z = ball(at).exp()
        heights = ((left, start), (at, start + slope * (z - x)), (at, stop + other * (z - y)), (right, stop))
        return reduce(arb.max, (gain(end, height).upper() for end, height in heights))

    width = Fraction(min(float(mu), 8.0)) / 2
    points = [*(i * width for i in range(_CELLS)), _LAST]
    points = sorted({at if at < _LAST else _LAST for at in points} | (set() if both else {-at for at in points}))
    tolerance, halved = _TOLERANCE, 0
    while True:
        gains = [gain(at, profile(at)) for at in points if abs(at) < _LAST]
        shown, most = (
            reduce(arb.max, ends, arb(0)) for ends in ([g.lower() for g in gains], [g.upper() for g in gains])
        )
        padded = [-points[1] if both else None, *points, None]
        bounds = [bound(*padded[i : i + 4]) for i in range(len(points) - 1)]
        worst = max(range(len(bounds)), key=lambda i: float(bounds[i]))
        if bounds[worst] <= most + ball(tolerance).max(most - shown):
            return shown, most.max(bounds[worst])
        halved += 1
        if halved % _MOST_POINTS == 0:
            tolerance *= _TOLERANCE_GROWTH
        left, right = points[worst : worst + 2]
        points.insert(
            worst + 1, min(2 * left, (left + right) / 2) if right == _LAST and left > 0 else (left + right) / 2
        )


def _slope(profile: Curve, left: Fraction, right: Fraction) -> arb:
    """Of the chord of a profile, in exp(epsilon)."""
    return (profile(right) - profile(left)) / (ball(right).exp() - ball(left).exp())
