"""Random allocation (balls in bins): each record takes part in one of T steps, drawn independently and uniformly.

With Gaussian noise of standard deviation s, P = (1/T) sum over t of N(e_t, s^2 I) against Q = N(0, s^2 I) dominates.
Under Q the likelihood ratio is R = S/T, S a sum of T independent lognormal variables X = exp(z/s - 1/(2 s^2)) of mean
1. With the put p(K) = E(K - S)_+,

    remove: delta(epsilon) = E(R - e^epsilon)_+ = 1 - e^epsilon + p(T e^epsilon)/T,
    add:    delta(epsilon) = E(1 - e^epsilon R)_+ = (e^epsilon/T) p(T e^-epsilon).

The Laplace transform of p is f(w)^T/w^2 with f(w) = E exp(-w X). So, with nodes w_k = c + i h (k + 1/2), Y = 2 pi/h and
Poisson's formula,

    (h/pi) sum over k >= 0 of Re(exp(w_k K) f(w_k)^T/w_k^2) = p(K) + sum over n != 0 of (-1)^n exp(-c n Y) p(K + n Y).

* Alias: 0 <= p(K) <= max(K, 0). For Y >= K nothing is left at n < 0, and at n > 0 at most the sum of
  (K + n Y) exp(-c n Y) = (K + Y/(1 - r)) r/(1 - r), r = exp(-c Y).
* Moments. For w = |w| exp(i th), |th| < pi/2, shift z by -i th s: f(w) is the integral of
  phi(z) exp(th^2 s^2/2 + i z th s - |w| exp(z/s - 1/(2 s^2))). By the trapezoidal rule of step k: in the strip
  |Im z| <= a, a <= pi s/2, the last factor is at most 1 and the alias at most
  2 exp((a + |th| s)^2/2) r/(1 - r), r = exp(-2 pi a/k). Beyond |z| = Z the sum leaves out at most
  2 exp(th^2 s^2/2) phi(Z) (k + 1/Z).
* Cut. A shift by -i b s, 0 < b < pi/2, gives |f(c + i v)| <= exp(b^2 s^2/2) f(c cos b + v sin b), which falls in v. The
  nodes beyond V add at most exp(c K) B^T/(pi V) for the bound B at V, since |w_k|^-2 <= v_k^-2 is convex.

Far out, (R - a)_+ <= R^2/(4 a), (1 - a R)_+ <= 1/(4 a R), and E R^2 and E 1/R are at most exp(1/s^2), by convexity.

Several epochs are the product of so many of these pairs, each order by itself. Their curves, and those of few steps
with little noise, whose integrand falls too slowly, are bracketed on a lattice of losses
(`dpverdict.audit.sampling.allocation_lattice`).

A record that takes part in k of T steps, all subsets of k steps being equally likely, tells no more than k epochs of
floor(T/k) steps each.

Reference: Chua et al. 2025 (arXiv:2412.16802); Feldman and Shenfeld 2025 (arXiv:2502.08202): the dominating pair, and
the reduction of k of T steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import final

import numpy as np
import scipy
from flint import acb, arb

from dpverdict.audit.losses.base import (
    NORMAL_VARIATES,
    REAL_ARITHMETIC,
    AddRemoveLoss,
    BallLoss,
    LikelihoodRatio,
    PrivacyLoss,
)
from dpverdict.audit.losses.bounded import BoundedLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.curves import ACCURACY, beta_between, epsilon_ball, log_delta_ball, q_above_of_profile
from dpverdict.audit.losses.domains import Direction
from dpverdict.audit.losses.lattice.law import LatticePair
from dpverdict.audit.sampling.allocation_lattice import allocation_lattice
from dpverdict.audit.sampling.step import noisy_sums
from dpverdict.balls import Exact, ball, exactly, precision
from dpverdict.checks import check_positive, check_whole
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.text import exact_text

MOST_TERMS = 6e5
"""The largest number of nodes times points of a moment: some six seconds."""

CHEAP_TERMS = 1e5
"""Of delta(0), one second: an epoch that takes more is bracketed on a lattice."""

_ATTEMPTS = 12
_STEERING_CELLS = 32  # of the lattice that tells how large the loss is
_ASIDE = Fraction(1, 10**7)  # relatively, from the bounds of the lattice to where they are certified
_NEAR = Fraction(1, 1 << 18)  # of the range of epsilon: beside the line that gives beta
_SIGN_BITS = 24  # of a delta that is compared with another one
_LINE_BITS = 36
_TAIL_BITS = 20
_FAR = 600  # of an epsilon, beyond which bounds are given
_ANGLES = np.linspace(0.02, 0.98, 25) * math.pi / 2


@final
class AllocationLoss(BallLoss):
    """The privacy loss of one epoch of random allocation with Gaussian noise, in one order; see `random_allocation`.

    Args:
        noise_multiplier: s > 0.
        steps: T >= 2.
        order: remove for P against Q, add for Q against P.
    """

    __slots__ = ("_bracketed", "noise_multiplier", "order", "steps")
    noise_multiplier: Fraction
    steps: int
    order: Direction

    def __init__(self, noise_multiplier: Fraction, steps: int, order: Direction) -> None:
        self.noise_multiplier, self.steps, self.order = noise_multiplier, steps, order
        self._bracketed: BoundedLoss | None = None

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Real arithmetic, and exact normal variates."""
        return (REAL_ARITHMETIC, NORMAL_VARIATES)

    @property
    def is_cheap(self) -> bool:
        """Whether delta(0) takes at most `CHEAP_TERMS`."""
        return self._plan(float(self.steps), ACCURACY + 10)[-1] <= CHEAP_TERMS

    def reversed(self) -> AllocationLoss:
        """The loss in the other order."""
        return AllocationLoss(self.noise_multiplier, self.steps, self.order.other)

    # the profile ------------------------------------------------------------------------------------------------------

    def profile(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon), to ``bits`` accurate bits.

        Raises:
            PrecisionExhausted: too few steps for their noise: the integrand falls too slowly.
        """
        if epsilon < -_FAR:
            with precision(bits + 20):
                return 1 - ball(epsilon).exp() * arb(0.5, 0.5)
        if epsilon > _FAR:
            with precision(bits + 20):
                decay = (1 / ball(self.noise_multiplier) ** 2 - ball(epsilon)).exp()
                return arb(0).union((decay / 4).upper().min(arb(1)))
        return self._profile(epsilon, bits, bits + 10)

    def _profile(self, epsilon: Fraction, bits: int, wanted: int) -> arb:
        """The same for moderate epsilons, the integral first taken to ``wanted`` bits."""
        for _ in range(_ATTEMPTS):
            remove = self.order is Direction.REMOVE
            with precision(2 * wanted + 64):
                growth = ball(epsilon).exp()
                level = self.steps * growth if remove else self.steps / growth
                put = self._put(level, wanted)
                value = 1 - growth + put / self.steps if remove else put * growth / self.steps
            accuracy = value.rel_accuracy_bits()
            if accuracy >= bits:
                return value
            wanted += max(min(bits - accuracy, 4 * bits), 8)
        raise PrecisionExhausted("the integral", wanted, "ask for a smaller epsilon, or for more steps")

    def q_above(self, level: Fraction, bits: int) -> arb:
        """The probability of a loss above the level under the second law, to 20 bits at most: more take long."""
        return q_above_of_profile(self.profile, level, min(bits, _TAIL_BITS))

    def p_above(self, level: Fraction, bits: int) -> arb:
        """The probability of a loss above the level under the first law, as ``q_above``."""
        q_above, own = self.q_above(level, bits), self.profile(level, _TAIL_BITS)
        with precision(2 * ACCURACY):
            return own + ball(level).exp() * q_above

    def _put(self, level: arb, bits: int) -> arb:
        """E(K - S)_+ with an absolute error of about K 2^-bits."""
        centre, step, number, working, terms = self._plan(float(level), bits)
        if terms > MOST_TERMS:
            remedy = "few steps or large losses with little noise: ask for delta_bounds, from a lattice of losses"
            raise PrecisionExhausted("the integral", working, remedy)
        with precision(working):
            total = arb(0)
            c, eta = arb(centre), arb(step)
            for j in range(number):
                w = acb(c, eta * (2 * j + 1) / 2)
                total += ((w * level).exp() * self.moment(w, working) ** self.steps / (w * w)).real
            total *= eta / arb.pi()
            fall = (-c * 2 * arb.pi() / eta).exp()
            alias = (level + 2 * arb.pi() / eta / (1 - fall)) * fall / (1 - fall)
            if not 2 * arb.pi() / eta >= level:
                raise PrecisionExhausted("the integral", working, "ask for an epsilon of moderate size")
            top = eta * number
            cut = (c * level).exp() * self._beyond(c, top) ** self.steps / (arb.pi() * top)
            return total + (alias + cut).upper() * arb(0, 1)

    def _plan(self, level: float, bits: int) -> tuple[float, float, int, int, float]:
        """Of the integral: real part and distance of the nodes, their number, working bits, and the terms in all."""
        aim = -bits * math.log(2)
        period = 1.1 * level
        centre, step = (-aim + 4) / period, 2 * math.pi / period
        height = self._height(centre, level, aim)
        if not math.isfinite(height):
            return centre, step, 0, bits, math.inf
        number = math.ceil(height / step)
        lost = centre * level / math.log(2)
        working = int(bits + lost + math.log2(self.steps) + math.log2(number + 1)) + 32
        points = working * math.log(2) + (math.pi / 2 * float(self.noise_multiplier)) ** 2
        return centre, step, number, working, number * points

    def moment(self, w: acb, bits: int) -> acb:
        """f(w) by the trapezoidal rule on the line where w exp(z/s) is positive."""
        s = ball(self.noise_multiplier)
        turn = w.arg()
        size = abs(w)
        half, angle, need = math.pi / 2 * float(self.noise_multiplier), abs(float(turn)), bits * math.log(2)
        widths = np.linspace(0.1, 1, 19) * half * (1 - 1e-12)
        spacings = 2 * math.pi * widths / (need + (widths + angle * float(self.noise_multiplier)) ** 2 / 2)
        best = int(spacings.argmax())
        a, k = arb(float(widths[best])), arb(float(spacings[best]))
        reach = math.sqrt(2 * need + (angle * float(self.noise_multiplier)) ** 2) + 1
        last = math.ceil(reach / float(spacings[best]))
        lean = turn * s
        total = acb(0)
        factor = (-1 / (2 * s * s)).exp() * size
        highest = float(self.noise_multiplier) * math.log(2 * need / float(factor)) if float(factor) > 0 else reach
        end = min(last, math.ceil(max(highest, -reach) / float(spacings[best])))
        for j in range(-last, end + 1):
            z = k * j
            total += (acb(-z * z / 2 - factor * (z / s).exp(), z * lean)).exp()
        root = (2 * arb.pi()).sqrt()
        tilt = (lean * lean / 2).exp()
        value = total * (k / root) * tilt
        fall = (-2 * arb.pi() * a / k).exp()
        alias = 2 * ((a + abs(lean)) ** 2 / 2).exp() * fall / (1 - fall)
        z = k * last
        rest = 2 * (-z * z / 2).exp() / root * (k + 1 / z)
        z_end = k * (end + 1)
        rest += (-factor * (z_end / s).exp()).exp() * 2  # the points left out above, whose normal weights add up to < 2
        error = (alias + tilt * rest).upper() * arb(0, 1)
        return value + acb(error, error)

    def _beyond(self, centre: arb, height: arb) -> arb:
        """An upper bound on |f(centre + i v)| for all v >= height."""
        s = float(self.noise_multiplier)
        estimates = [
            (b * s) ** 2 / 2 + self._log_real(float(centre) * math.cos(b) + float(height) * math.sin(b))
            for b in _ANGLES.tolist()
        ]
        b = arb(float(_ANGLES[int(np.argmin(estimates))]))
        point = centre * b.cos() + height * b.sin()
        lean = b * ball(self.noise_multiplier)
        return ((lean * lean / 2).exp() * self.moment(acb(point), 128 + int(-min(estimates) * 1.45)).real).upper()

    # float64, which only steers ---------------------------------------------------------------------------------------

    def _log_real(self, x: float) -> float:
        s = float(self.noise_multiplier)
        z = np.arange(-40.0, 12.0, min(0.05, s / 8))
        exponents = -z * z / 2 - x * np.exp(z / s - 1 / (2 * s * s))
        peak = float(exponents.max())
        return peak + math.log(float(np.exp(exponents - peak).sum()) * (z[1] - z[0]) / math.sqrt(2 * math.pi))

    def _height(self, centre: float, level: float, aim: float) -> float:
        """Where what is cut off is below exp(aim)."""
        s = float(self.noise_multiplier)
        height = centre
        while height < 1e12:
            best = min(
                (b * s) ** 2 / 2 + self._log_real(centre * math.cos(b) + height * math.sin(b)) for b in _ANGLES.tolist()
            )
            if centre * level + self.steps * best - math.log(math.pi * height) < aim:
                return height
            height *= 1.25
        return math.inf

    # balls ------------------------------------------------------------------------------------------------------------

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [self.profile(exactly(epsilon), ACCURACY) for epsilon in epsilons]

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [log_delta_ball(self.profile, exactly(epsilon)) for epsilon in epsilons]

    def _epsilon_ball(self, delta: Fraction) -> arb:
        if delta in (0, 1):
            return arb("inf") if delta == 0 else arb(0)
        lower, upper = self._lattice_loss.epsilon_bounds(np.array(float(delta)))
        if not 0 < lower <= upper < math.inf:
            return epsilon_ball(self.profile, delta)
        low, high = Fraction(float(lower)) * (1 - _ASIDE), Fraction(float(upper)) * (1 + _ASIDE)
        wanted = _SIGN_BITS + delta.denominator.bit_length()
        if self._profile(low, _SIGN_BITS, wanted) > ball(delta) >= self._profile(high, _SIGN_BITS, wanted):
            return ball(low).union(ball(high))
        raise PrecisionExhausted("epsilon", wanted, "ask for epsilon_bounds, from a lattice of losses")

    def _beta_ball(self, alpha: Fraction) -> arb:
        if alpha in (0, 1):
            return arb(1 - alpha.numerator)
        level = float(alpha)

        def lost(epsilon: float) -> float:
            return float(self._lattice_loss.delta_bounds(np.array(epsilon))[1]) + math.exp(epsilon) * level

        best = Fraction(float(scipy.optimize.minimize_scalar(lost, bounds=(-16.0, 16.0), method="bounded").x))
        return beta_between(
            lambda epsilon: self._profile(epsilon, _LINE_BITS, 2 * _LINE_BITS),
            alpha,
            Fraction(16),
            guess=best,
            first=_NEAR,
        )

    def _renyi_ball(self, order: Fraction) -> arb:
        raise InvalidValue("order", str(order), "asked of another loss", "ask for delta, epsilon or beta")

    def _advantage_ball(self) -> arb:
        return self.profile(Fraction(0), ACCURACY)

    # bounds on a lattice ----------------------------------------------------------------------------------------------

    def spread(self) -> float:
        """That of the law on a coarse lattice."""
        s = float(self.noise_multiplier)
        variance = math.expm1(min(1 / s**2, 700.0)) / self.steps
        size = min(math.sqrt(math.log1p(variance)), 1 / s)
        interval = 2.0 ** math.floor(math.log2(size / _STEERING_CELLS))
        return allocation_lattice(self.noise_multiplier, self.steps, interval).spread()

    def lattice(self, interval: float) -> LatticePair:
        """The two laws of `dpverdict.audit.sampling.allocation_lattice`."""
        return allocation_lattice(self.noise_multiplier, self.steps, interval).pair(self.order)

    @property
    def _lattice_loss(self) -> BoundedLoss:
        if self._bracketed is None:
            self._bracketed = BoundedLoss([(self, 1)])
        return self._bracketed

    def delta_bounds(self, epsilons: Array) -> tuple[Array, Array]:
        """(lower, upper) bounds on the profile: certified, or on a lattice where an integral would take too long."""
        try:
            return super().delta_bounds(epsilons)
        except PrecisionExhausted:
            return self._lattice_loss.delta_bounds(epsilons)

    def epsilon_bounds(self, deltas: Array) -> tuple[Array, Array]:
        """(lower, upper) bounds on ``epsilon(delta)``, as ``delta_bounds``."""
        try:
            return super().epsilon_bounds(deltas)
        except PrecisionExhausted:
            return self._lattice_loss.epsilon_bounds(deltas)

    def beta_bounds(self, alphas: Array) -> tuple[Array, Array]:
        """(lower, upper) bounds on the trade-off function, as ``delta_bounds``."""
        try:
            return super().beta_bounds(alphas)
        except PrecisionExhausted:
            return self._lattice_loss.beta_bounds(alphas)

    def __repr__(self) -> str:
        return f"AllocationLoss({exact_text(self.noise_multiplier)!r}, {self.steps}, {self.order})"


def random_allocation(*, noise_multiplier: Exact, steps: int, epochs: int = 1) -> AddRemoveLoss:
    """The privacy loss of DP-SGD where each record takes part in one step of T, drawn uniformly (balls in bins).

    The curves of one epoch are certified, by an inverse Laplace transform; a value takes 0.1 to some seconds. Several
    epochs, each drawn anew, and few steps with little noise have two-sided bounds (``delta_bounds``,
    ``epsilon_bounds``, ``beta_bounds``) from a lattice of losses in float64 with an error ledger, in some seconds;
    ``is_certified`` is False there. Relation: add-or-remove-one, or zero-out. Shuffled batches of fixed size are
    another sampling, see `shuffled_batches`.

    A record that takes part in k of T steps of an epoch, all subsets being equally likely, tells no more than k epochs
    of floor(T/k) steps (Feldman and Shenfeld 2025): ``random_allocation(steps=T // k, epochs=k)`` bounds it from above.

    Args:
        noise_multiplier: standard deviation of the noise in units of the clipping norm, > 0, at its exact value.
        steps: the number of steps T of an epoch; 1 is the Gaussian mechanism.
        epochs: how often the record is allocated, independently.

    Raises:
        InvalidValue: an argument out of range.

    >>> loss = random_allocation(noise_multiplier=1, steps=10)
    >>> loss.remove.certified_delta(1)
    Enclosure([0.0027828689991815673, 0.0027828689991815678])
    """
    s = check_positive(noise_multiplier, "noise_multiplier")
    number = check_whole(steps, "steps", least=1, remedy="say how many steps an epoch has")
    times = check_whole(epochs, "epochs", least=1, remedy="say how often each record takes part")
    formula = f"sum over {times} epochs of log of the mean over {number} batches of exp((2 y_t - 1)/(2 s^2))"
    ratio = LikelihoodRatio(formula, noisy_sums(s))
    if number == 1:
        one: PrivacyLoss = GaussianLoss.from_squared(times / s**2)
        return AddRemoveLoss(remove=one, add=one, ratio=ratio)
    remove, add = (AllocationLoss(s, number, order) for order in (Direction.REMOVE, Direction.ADD))
    if times == 1 and remove.is_cheap:
        return AddRemoveLoss(remove=remove, add=add, ratio=ratio)
    return AddRemoveLoss(remove=BoundedLoss([(remove, times)]), add=BoundedLoss([(add, times)]), ratio=ratio)
