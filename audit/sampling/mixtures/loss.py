"""The privacy loss of two mixtures of normal laws on a line, of which one moves up and the other down.

    P = sum over i of p_i N(a_i, 1),  a_i >= 0,        Q = sum over j of r_j N(-b_j, 1),  b_j >= 0.

The likelihood ratio R = A/B of `dpverdict.audit.sampling.mixtures.moments` does not fall, so that {L > l} is a
half-line {z > z(l)}, and every probability is a sum of normal tails at z(l), which is enclosed by evaluating R on both
sides of it. Compositions go by the moments of R, on a contour.

**Where it is the worst.** Let one record contribute v_i in the i-th case under P and w_j in the j-th under Q, vectors,
the noise being N(0, 1) in every direction, and let F(u, v) = (sum p_i u_i - e^epsilon sum r_j v_j)_+ for
u_i = exp(<y, v_i> - |v_i|^2/2) and v_j alike. F is convex in each of u and v, and in (u, v), and its mixed second
derivatives between a u_i and a v_j are not positive. By Gaussian interpolation E F does not fall as the inner products
<v_i, v_k> and <w_j, w_l> grow and those <v_i, w_j> fall (Kahane 1986, Theorem 1; smooth F first, then the limit). So a
pair of vectors with |v_i| <= a_i, |w_j| <= b_j is dominated by that of the a_i and -b_j on one line, at every epsilon:
<v_i, v_k> <= a_i a_k, <w_j, w_l> <= b_j b_l and <v_i, w_j> >= -a_i b_j. With joint convexity over what the other
records contribute, and adaptive composition (Zhu, Dong and Wang 2022, Theorem 10), that gives exact worst pairs of

* Poisson sampling under replace-one: (1-q) N(0, s^2) + q N(1, s^2) against (1-q) N(0, s^2) + q N(-1, s^2), attained by
  a record that is replaced by its opposite and has no company;
* batches drawn with replacement under add-or-remove-one: K of the b draws are the record, K binomial, each in place of
  another record: sum over k of Pr[K = k] N(2 k, s^2) against N(0, s^2), attained where all others are its opposite.

Reference: Kahane 1986 (Une inegalite du type de Slepian et Gordon sur les processus gaussiens); Choquette-Choo et al.
2023 (arXiv:2306.08153), section 4, for mixtures against one normal law; Zhu, Dong and Wang 2022 (arXiv:2106.08567).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final, final

import numpy as np
import scipy
from flint import arb

from dpverdict.audit.losses.base import NORMAL_VARIATES, REAL_ARITHMETIC, AddRemoveLoss, BallLoss, PrivacyLoss
from dpverdict.audit.losses.closed_form import GaussianLoss, identical_laws
from dpverdict.audit.losses.composition import compose_counted
from dpverdict.audit.losses.curves import (
    ACCURACY,
    beta_ball,
    beta_between,
    epsilon_ball,
    epsilon_between,
    log_delta_ball,
)
from dpverdict.audit.losses.domains import LossTails, PartMoments, finite_losses
from dpverdict.audit.sampling.mixtures.moments import Component, MixtureMoments, log_mixture
from dpverdict.balls import Exact, Real, ball, compare, exactly, precision
from dpverdict.checks import check_positive, check_whole
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.gaussian import BallNormal
from dpverdict.numerics.text import exact_text

_NORMAL: Final = BallNormal()
_GUARD: Final = 32
_MAX_BITS: Final = 1 << 13
_TRIES: Final = 12
_DOUBLINGS: Final = 70
_HALVINGS: Final = 80
_UNIT: Final = 2.0**-53
_CLOSE: Final = 1e-9
_TAIL_ERROR: Final = 1e-12
_SPANS: Final = (Fraction(1, 1000), Fraction(32))
"""Between them the sum of the largest shifts has moments on a contour."""
_BITS: Final = 128


@final
class GaussianMixtureLoss(BallLoss):
    """The privacy loss of two mixtures of normal laws of one variance; see the module for the symbols.

    Args:
        first: the weights p_i > 0, which add up to 1, with the a_i >= 0 in standard deviations, exactly.
        second: the weights r_j > 0 with the b_j >= 0: how far down.

    Raises:
        InvalidValue: weights that do not add up to 1; negative shifts; two equal laws.
    """

    __slots__ = ("__dict__", "first", "second")
    first: tuple[Component, ...]
    second: tuple[Component, ...]

    def __init__(self, first: Sequence[Component], second: Sequence[Component]) -> None:
        self.first, self.second = _checked(first, "first"), _checked(second, "second")
        if max(self._most(self.first), self._most(self.second)) == 0:
            raise InvalidValue("shifts", 0, "one that is not 0", "of two equal laws take identical_laws()")

    @staticmethod
    def _most(components: Sequence[Component]) -> Fraction:
        return max(shift for _, shift in components)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Real arithmetic, and exact normal variates."""
        return (REAL_ARITHMETIC, NORMAL_VARIATES)

    @property
    def law_key(self) -> tuple[object, ...]:
        """The weights and the shifts."""
        return (type(self).__name__, self.first, self.second)

    @property
    def exact_key(self) -> tuple[object, ...] | None:
        """The weights and the shifts."""
        return self.law_key

    def reversed(self) -> GaussianMixtureLoss:
        """The loss of Q against P: the line is turned around. Itself, where the two mixtures mirror each other."""
        return self if self.first == self.second else GaussianMixtureLoss(self.second, self.first)

    def moments(self) -> PartMoments | None:
        """Those of `MixtureMoments`, of shifts of a moderate size."""
        span = self._most(self.first) + self._most(self.second)
        return MixtureMoments(self.first, self.second) if _SPANS[0] <= span <= _SPANS[1] else None

    # the half-line of a level -----------------------------------------------------------------------------------------

    def _end(self, side: int) -> Real | None:
        """The limit of the loss far up (side 1) or far down (-1), where it is finite."""
        pick: Callable[[Sequence[Fraction]], Fraction] = max if side > 0 else min
        shifts = [pick([shift * sign for _, shift in part]) for part, sign in ((self.first, 1), (self.second, -1))]
        if shifts[0] != shifts[1]:
            return None
        weights = [sum(w for w, shift in part if shift == 0) for part in (self.first, self.second)]
        return Real(lambda: (ball(Fraction(weights[0])) / ball(Fraction(weights[1]))).log())

    def _beyond(self, level: Fraction) -> int:
        """1 where no loss is above the level, -1 where all are, 0 between."""
        for side in (1, -1):
            end = self._end(side)
            if end is not None:
                sign = compare(Real.of(level), end, max_bits=_MAX_BITS)
                if sign is None:
                    raise PrecisionExhausted("the end of the loss", _MAX_BITS, "move epsilon")
                if sign == side or sign == 0:
                    return side
        return 0

    def _log_ratio(self, z: Array) -> Array:
        """The loss at z in float64."""
        found: Array = log_mixture(self.first, z) - log_mixture(self.second, -z)
        return found

    def _log_ratio_ball(self, z: arb) -> tuple[arb, arb]:
        """The loss at z, and its derivative."""
        found, slope = arb(0), arb(0)
        for sign, part in ((1, self.first), (-1, self.second)):
            total, rise = arb(0), arb(0)
            for w, shift in part:
                m = ball(sign * shift)
                term = ball(w) * (m * z - m * m / 2).exp() if shift else ball(w)
                total += term
                rise += m * term
            found += sign * total.log()
            slope += sign * rise / total
        return found, slope

    def _place(self, levels: Array) -> Array:
        """About z(l) at levels between the ends, in float64."""
        low, high = np.full(levels.shape, -1.0), np.full(levels.shape, 1.0)
        for _ in range(_DOUBLINGS):
            with np.errstate(all="ignore"):
                under, over = self._log_ratio(low) > levels, self._log_ratio(high) <= levels
            if not (under.any() or over.any()):
                break
            low, high = np.where(under, 2 * low, low), np.where(over, 2 * high, high)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            with np.errstate(all="ignore"):
                above = self._log_ratio(middle) > levels
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        found: Array = (low + high) / 2
        return found

    def _root(self, level: Fraction, bits: int, guess: float) -> arb:
        """A ball that z(level) certainly lies in, of about ``bits`` bits; the guess may be anything.

        Raises:
            PrecisionExhausted: the loss next to the level changes too little.
        """
        z = arb(guess)
        with precision(bits):
            aim = ball(level)
            for _ in range(2 * bits.bit_length()):
                value, slope = self._log_ratio_ball(z)
                step = ((value - aim) / slope).mid()
                if not step.is_finite():
                    break
                z = (z - step).mid()
                if abs(step) <= (1 + abs(z)) * arb(2) ** (-bits // 2):
                    break
            value, slope = self._log_ratio_ball(z)
            radius = ((abs(value - aim).upper() + arb(2) ** -bits) / abs(slope)).upper() + arb(2) ** -bits
            for _ in range(_TRIES):
                ends = z - radius, z + radius
                if self._log_ratio_ball(ends[0])[0] < aim and self._log_ratio_ball(ends[1])[0] > aim:
                    return ends[0].union(ends[1])
                radius = (radius * 8).upper()
        raise PrecisionExhausted("the level of the loss", bits, "move epsilon away from the largest or the least loss")

    def _tails_at(self, z: arb) -> tuple[arb, arb]:
        """P and Q of the half-line above z."""
        found = [arb(0), arb(0)]
        for i, (sign, part) in enumerate(((1, self.first), (-1, self.second))):
            for w, shift in part:
                found[i] += ball(w) * _NORMAL.tail(z - ball(sign * shift))
        return found[0], found[1]

    def _to(self, level: Fraction, bits: int, value: Callable[[arb, arb], arb], guess: float | None = None) -> arb:
        """A value of the two tails at a level, to so many bits."""
        beyond = self._beyond(level)
        if beyond:
            size = arb(1 if beyond < 0 else 0)
            with precision(bits + _GUARD):
                return value(size, size)
        working = bits + _GUARD
        place = float(self._place(np.array([float(level)]))[0]) if guess is None else guess
        while working <= _MAX_BITS:
            try:
                z = self._root(level, working, place)
            except PrecisionExhausted:
                working *= 2
                continue
            with precision(working):
                found = value(*self._tails_at(z))
            if found.rel_accuracy_bits() >= bits:
                return found
            working *= 2
        raise PrecisionExhausted("a probability", _MAX_BITS, "move epsilon towards 0")

    def profile(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon), to ``bits`` accurate bits."""
        return self._to(epsilon, bits, lambda p, q: p - ball(epsilon).exp() * q)

    def p_above(self, level: Fraction, bits: int) -> arb:
        """The probability of a loss above the level under the first law, to ``bits`` accurate bits."""
        return self._to(level, bits, lambda p, q: p)

    def q_above(self, level: Fraction, bits: int) -> arb:
        """The probability of a loss above the level under the second law, to ``bits`` accurate bits."""
        return self._to(level, bits, lambda p, q: q)

    def upper_tails(self, levels: Sequence[Fraction], bits: int) -> tuple[list[arb], list[arb]]:
        """As ``p_above`` and ``q_above``, from one half-line for both."""
        first, second = [], []
        places = self._place(np.array([float(level) for level in levels]))
        for level, place in zip(levels, places.tolist(), strict=True):
            both: list[arb] = []

            def keep(p: arb, q: arb, kept: list[arb] = both) -> arb:
                kept[:] = [p, q]
                return p if p.rel_accuracy_bits() < q.rel_accuracy_bits() else q

            self._to(level, bits, keep, place)
            first.append(both[0])
            second.append(both[1])
        return first, second

    def tails(self, l: Array) -> LossTails:
        """The four tails at losses of shape (n,), at places rounded to either side; in balls where that matters."""
        losses = finite_losses(l)
        beyond = np.zeros(losses.shape)
        for side in (1, -1):
            end = self._end(side)
            if end is not None:
                nearest = end.nearest()
                near = abs(losses - nearest) <= 64 * _UNIT * (1 + abs(nearest))
                beyond = np.where(side * (losses - nearest) > 0, side, beyond)
                for i in np.flatnonzero(near).tolist():
                    beyond[i] = self._beyond(Fraction(float(losses[i])))
        place = np.zeros(losses.shape)
        inside = beyond == 0
        columns = np.zeros((4, losses.size))
        if inside.any():
            place[inside] = self._place(losses[inside])
            with np.errstate(all="ignore"):
                slope = (self._log_ratio(place + 1e-4) - self._log_ratio(place - 1e-4)) / 2e-4
                size = float(self._most(self.first) + self._most(self.second)) * (1 + np.abs(place)) + 1
                width = np.where(slope > 0, 64 * _UNIT * size / np.maximum(slope, 1e-300), np.inf)
                width = np.minimum(width, 1.0) + 4 * _UNIT * np.abs(place)
            ends = [self._float_tails(place + sign * width) for sign in (-1, 1)]
            columns = (ends[0] + ends[1]) / 2
            relative = np.abs(ends[0] - ends[1]) / np.maximum(columns, 1e-300)
            bad = inside & (relative.max(axis=0) > _CLOSE)
            for i in np.flatnonzero(bad).tolist():
                columns[:, i] = self._tails_in_balls(Fraction(float(losses[i])))
            kept = relative[:, inside & ~bad]
            gap = float(kept.max()) if kept.size else 0.0
        else:
            gap = 0.0
        for i, above in enumerate((True, False, True, False)):
            columns[i] = np.where(inside, columns[i], np.where((beyond < 0) == above, 1.0, 0.0))
        p_above, p_below, q_above, q_below = np.clip(columns, 0.0, 1.0)
        return LossTails(
            p_above=p_above, p_below=p_below, q_above=q_above, q_below=q_below, relative_error=gap + _TAIL_ERROR
        )

    def _float_tails(self, z: Array) -> Array:
        """P[> z], P[<= z], Q[> z] and Q[<= z]: shape (4, n)."""
        rows = []
        for sign, part in ((1, self.first), (-1, self.second)):
            for side in (-1, 1):
                terms = [float(w) * scipy.special.ndtr(side * (z - sign * float(shift))) for w, shift in part]
                rows.append(np.sum(terms, axis=0))
        found: Array = np.stack(rows)
        return found

    def _tails_in_balls(self, level: Fraction) -> list[float]:
        (p,), (q,) = self.upper_tails([level], 2 * ACCURACY)
        with precision(4 * ACCURACY):
            return [float(p), max(float(1 - p), 0.0), float(q), max(float(1 - q), 0.0)]

    # balls ------------------------------------------------------------------------------------------------------------

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [self.profile(exactly(epsilon), ACCURACY) for epsilon in epsilons]

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [log_delta_ball(self.profile, exactly(epsilon)) for epsilon in epsilons]

    def _largest(self) -> Fraction | None:
        """A number above the largest loss, next to it; None where there is none."""
        end = self._end(1)
        return None if end is None else Fraction(math.nextafter(end.nearest(), math.inf))

    def _epsilon_ball(self, delta: Fraction) -> arb:
        end = self._end(1)
        if delta == 0:
            with precision(_BITS):
                return arb("inf") if end is None else end.ball()
        if delta == 1:
            return arb(0)
        try:
            return epsilon_ball(self.profile, delta, highest=self._largest())
        except PrecisionExhausted:
            highest = self._largest()
            return epsilon_between(lambda e: self.profile(e, ACCURACY), delta, highest or Fraction(1 << 20))

    def _beta_ball(self, alpha: Fraction) -> arb:
        if alpha in (0, 1):
            return arb(1 - alpha.numerator)
        try:
            return beta_ball(self.profile, self.q_above, alpha)
        except PrecisionExhausted:
            return beta_between(lambda e: self.profile(e, ACCURACY), alpha, Fraction(64))

    def _renyi_ball(self, order: Fraction) -> arb:
        if order <= 1:
            remedy = "ask for an order above 1, or for delta, epsilon or beta"
            raise InvalidValue("order", str(order), "above 1", remedy)
        with precision(_BITS):
            t = ball(order) - 1
            return MixtureMoments(self.first, self.second).at(t).log() / t

    def _advantage_ball(self) -> arb:
        return self.profile(Fraction(0), ACCURACY)

    def __repr__(self) -> str:
        parts = (", ".join(f"{exact_text(w)}: {exact_text(m)}" for w, m in part) for part in (self.first, self.second))
        return f"GaussianMixtureLoss({' | '.join(parts)})"


def _checked(components: Sequence[Component], name: str) -> tuple[Component, ...]:
    """The components in the order of their shifts, those of one shift added up."""
    weights: dict[Fraction, Fraction] = {}
    for weight, shift in components:
        if weight < 0 or shift < 0:
            raise InvalidValue(name, (str(weight), str(shift)), "weights and shifts that are not negative", "turn it")
        weights[shift] = weights.get(shift, Fraction(0)) + weight
    if sum(weights.values()) != 1:
        raise InvalidValue(name, str(sum(weights.values())), "weights that add up to 1", "give probabilities")
    return tuple((weight, shift) for shift, weight in sorted(weights.items()) if weight)


def poisson_replaced(*, noise_multiplier: Exact, sampling_probability: Exact, steps: int = 1) -> PrivacyLoss:
    """The privacy loss of Poisson-sampled sums with Gaussian noise, where one record is replaced by another.

    It is that of the worst pair, a record and its opposite, and the same in both orders.

    Args:
        noise_multiplier: standard deviation of the noise in units of the bound on one record, > 0, exact.
        sampling_probability: q in [0, 1], exact.
        steps: the number of steps.

    Raises:
        InvalidValue: an argument out of range.

    >>> loss = poisson_replaced(noise_multiplier=1, sampling_probability="0.01")
    >>> round(loss.delta("0.1"), 9)
    9.3318e-05
    """
    s, q = check_positive(noise_multiplier, "noise_multiplier"), exactly(sampling_probability, name="rate")
    if not 0 <= q <= 1:
        raise InvalidValue("sampling_probability", sampling_probability, "in [0, 1]", "give a probability")
    number = check_whole(steps, "steps", least=1, remedy="say how often the mechanism is run")
    if q == 0:
        return identical_laws()
    if q == 1:
        return GaussianLoss.from_squared(4 * number / s**2)
    part = [(1 - q, Fraction(0)), (q, 1 / s)]
    return compose_counted([(GaussianMixtureLoss(part, part), number)])


def mixture_of_gaussians(*, noise_multiplier: Exact, weights: Sequence[tuple[Exact, Exact]]) -> AddRemoveLoss:
    """The losses of a sum that one record moves by a random amount, with Gaussian noise, in both orders.

    Args:
        noise_multiplier: the standard deviation of the noise, > 0, exact.
        weights: probabilities that add up to 1, each with an amount >= 0.

    Raises:
        InvalidValue: an argument out of range.
    """
    s = check_positive(noise_multiplier, "noise_multiplier")
    first = [(exactly(w, name="weight"), exactly(shift, name="shift") / s) for w, shift in weights]
    if all(shift == 0 or w == 0 for w, shift in first):
        return AddRemoveLoss(remove=identical_laws(), add=identical_laws())
    remove = GaussianMixtureLoss(first, [(Fraction(1), Fraction(0))])
    return AddRemoveLoss(remove=remove, add=remove.reversed())
