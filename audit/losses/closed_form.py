"""The privacy losses whose curves are short formulas: Gaussian noise, laws told apart with certainty, and responses.

Three pairs of laws, P against Q:

* `GaussianLoss`: N(0,1) against N(mu,1), the loss of a Gaussian mechanism; at mu = 0 the two laws are the same;
* `DisjointLoss`: a pair that is told apart with certainty;
* `RandomisedResponseLoss`: randomised response, repeated m times; with m = 1 also discrete Laplace noise moved by one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import final

import numpy as np
from flint import arb

from dpverdict.audit.losses.base import NORMAL_VARIATES, RANDOM_BITS, REAL_ARITHMETIC, BallLoss, ExactLoss, PrivacyLoss
from dpverdict.audit.losses.curves import ACCURACY, epsilon_ball, log_delta_ball
from dpverdict.audit.losses.domains import LossTails, finite_losses, rounded
from dpverdict.balls import MAX_BITS, Enclosure, Exact, Real, ball, exactly, precision, refine
from dpverdict.checks import check_not_negative_real, check_positive, check_whole
from dpverdict.errors import InvalidValue
from dpverdict.numerics import gaussian, gaussian_floats
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.gaussian_floats import DoubleDouble
from dpverdict.numerics.text import exact_text


def identical_laws() -> PrivacyLoss:
    """The privacy loss of two laws that are the same: 0 with certainty."""
    return GaussianLoss(0)


def gaussian_loss(mu_squared: Real | None) -> GaussianLoss | DisjointLoss:
    """The loss of a squared GDP parameter; None stands for an infinite one."""
    return DisjointLoss() if mu_squared is None else GaussianLoss.from_squared(mu_squared)


@final
class GaussianLoss(PrivacyLoss):
    """The privacy loss of N(0,1) against N(mu,1), normal with mean mu^2/2 and variance mu^2.

    It is the loss of any Gaussian mechanism with covariance S on neighbours whose statistics differ by v, with
    mu^2 = v^T S^-1 v; the pair (N(mu,1), N(0,1)) has the same curves.

        delta(epsilon) = Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu)
        beta(alpha)    = Phi(Phi^-1(1 - alpha) - mu)

    The float64 methods have a relative error below `gaussian_floats.RELATIVE_ERROR`, for mu from 1e-200 to 1e3.

    Args:
        mu: the GDP parameter, any number >= 0, at its exact value; at 0 the two laws are the same.

    Raises:
        InvalidValue: mu is NaN, infinite, negative, or not certainly >= 0.

    Reference: Balle and Wang 2018, Theorem 8 (arXiv:1805.06530); Dong, Roth and Su 2022, (6) (arXiv:1905.02383).

    >>> loss = GaussianLoss(1)
    >>> round(loss.delta(1), 14), loss.certified_delta(1)
    (0.12693673750664, Enclosure([0.12693673750664394, 0.12693673750664398]))
    >>> round(loss.epsilon("1e-5"), 13), loss.zcdp()
    (4.3771780956812, 0.5)
    """

    __slots__ = ("_mu", "_mu_squared", "_pair")

    symmetric = True

    def __init__(self, mu: Exact | Real) -> None:
        real = check_not_negative_real(mu, "mu", _REMEDY)
        square = real.rational
        self._set(real, Real.of(square**2) if square is not None else Real(lambda: real.ball() * real.ball()))

    @classmethod
    def from_squared(cls, mu_squared: Exact | Real) -> GaussianLoss:
        """The loss with mu = sqrt(mu_squared), which stays exact: ``mu_squared`` is a quadratic form v^T S^-1 v."""
        square = check_not_negative_real(mu_squared, "mu_squared", _REMEDY)
        loss = cls.__new__(cls)
        loss._set(square.sqrt(), square)
        return loss

    def _set(self, mu: Real, mu_squared: Real) -> None:
        self._mu = mu
        self._mu_squared = mu_squared
        self._pair = _pair(mu)

    @property
    def mu(self) -> float:
        """The GDP parameter as the nearest float64."""
        return 0.0 if self._is_zero else self._mu.nearest()

    @property
    def mu_real(self) -> Real:
        """The GDP parameter, exactly."""
        return self._mu

    @property
    def mu_squared(self) -> Real:
        """The square of the GDP parameter, exactly."""
        return self._mu_squared

    @property
    def _is_zero(self) -> bool:
        return self._mu.rational == 0

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Real arithmetic, and exact normal variates."""
        return (REAL_ARITHMETIC, NORMAL_VARIATES)

    def event_above(self, level: float) -> str:
        """A half-space."""
        return (
            f"w . (y - (E_P[y] + E_Q[y])/2) > {level!r} with w = S^-1 (E_P[y] - E_Q[y]), S the covariance of the "
            "noise: the privacy loss exceeds it"
        )

    @property
    def law_key(self) -> tuple[object, ...]:
        """mu^2, where it is rational."""
        square = self._mu_squared.rational
        return (id(self),) if square is None else ("Gaussian", square)

    @property
    def has_closed_profile(self) -> bool:
        """Yes."""
        return True

    def largest(self) -> arb:
        """Infinite, unless the laws are equal."""
        return arb(0) if self._mu_squared.rational == 0 else arb("inf")

    @property
    def exact_key(self) -> tuple[object, ...] | None:
        """mu^2, where it is rational."""
        return None if self._mu_squared.rational is None else self.law_key

    def zcdp(self) -> float:
        """The zero-concentrated privacy parameter rho = mu^2/2, to the nearest float64."""
        return 0.0 if self._is_zero else Real(lambda: self._mu_squared.ball() / 2).nearest()

    # float64; where mu is 0 or beyond the range of the float64 formulas, by rounding the balls ------------------------

    def _delta(self, epsilon: Array) -> Array:
        if self._pair is None:
            return rounded(self._delta_balls, epsilon)
        return gaussian_floats.delta_floats(epsilon, self._pair)

    def _log_delta(self, epsilon: Array) -> Array:
        if self._pair is None:
            return rounded(self._log_delta_balls, epsilon)
        return gaussian_floats.log_delta_floats(epsilon, self._pair)

    def _epsilon(self, delta: Array) -> Array:
        if self._pair is None:
            return rounded(self._epsilon_balls, delta)
        return gaussian_floats.epsilon_floats(delta, self._pair)

    def _beta(self, alpha: Array) -> Array:
        if self._pair is None:
            return rounded(self._beta_balls, alpha)
        return gaussian_floats.beta_floats(alpha, self._pair)

    def _renyi(self, order: Array) -> Array:
        return rounded(self._renyi_balls, order)

    # balls ------------------------------------------------------------------------------------------------------------

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        if self._is_zero:
            return [_profile_of_equal_laws(Real.of(epsilon)) for epsilon in epsilons]
        return gaussian.delta_balls(epsilons, self._mu)

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        if self._is_zero:
            return [_log_profile_of_equal_laws(Real.of(epsilon)) for epsilon in epsilons]
        return [gaussian.log_delta_ball(Real.of(epsilon), self._mu) for epsilon in epsilons]

    def _epsilon_balls(self, deltas: Sequence[Exact]) -> list[arb]:
        return [self._epsilon_ball(Real.of(delta)) for delta in deltas]

    def _epsilon_ball(self, delta: Real) -> arb:
        if self._is_zero or delta.rational == 1:
            return arb(0)
        if delta.rational == 0:
            return arb("inf")
        return gaussian.epsilon_ball(delta, self._mu)

    def _beta_balls(self, alphas: Sequence[Exact]) -> list[arb]:
        return [self._beta_ball(Real.of(alpha)) for alpha in alphas]

    def _beta_ball(self, alpha: Real) -> arb:
        if alpha.rational in (0, 1) or self._is_zero:
            return refine(lambda: 1 - alpha.ball(), bits=gaussian.ACCURACY)
        return gaussian.beta_ball(alpha, self._mu)

    def _renyi_balls(self, orders: Sequence[Exact]) -> list[arb]:
        return [self._renyi_ball(Real.of(order)) for order in orders]

    def _renyi_ball(self, order: Real) -> arb:
        return refine(lambda: order.ball() * self._mu_squared.ball() / 2, bits=gaussian.ACCURACY, name="renyi")

    def _advantage_ball(self) -> arb:
        return arb(0) if self._is_zero else gaussian.advantage_ball(self._mu)

    def profile(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon), to ``bits`` accurate bits."""
        if self._is_zero:
            return _profile_of_equal_laws(Real.of(epsilon))
        return gaussian.delta_ball(Real.of(epsilon), self._mu, bits)

    def p_above(self, level: Fraction, bits: int) -> arb:
        """P[L > level] = Phi(mu/2 - level/mu), to ``bits`` accurate bits."""
        return self._above(level, 1, bits)

    def q_above(self, level: Fraction, bits: int) -> arb:
        """Q[L > level] = Phi(-mu/2 - level/mu), to ``bits`` accurate bits."""
        return self._above(level, -1, bits)

    def _above(self, level: Fraction, side: int, bits: int) -> arb:
        if self._is_zero:
            return arb(1 if level < 0 else 0)
        return gaussian.loss_tail_ball(Real.of(level), self._mu, side, bits)

    def tails(self, l: Array) -> LossTails:
        """The four tails at losses of shape (n,), with a relative error below `gaussian_floats.TAIL_ERROR`."""
        losses = finite_losses(l)
        if self._is_zero:
            above, below = (losses < 0).astype(np.float64), (losses >= 0).astype(np.float64)
            return LossTails(p_above=above, p_below=below, q_above=above, q_below=below, relative_error=0.0)
        if self._pair is None:
            low, high = gaussian_floats.SMALLEST_MU, gaussian_floats.LARGEST_MU
            raise InvalidValue("mu", self.mu, f"0 or in [{low}, {high}]", "use the certified methods")
        p_above, p_below, q_above, q_below = gaussian_floats.tails_floats(losses, self._pair)
        error = gaussian_floats.TAIL_ERROR
        return LossTails(p_above=p_above, p_below=p_below, q_above=q_above, q_below=q_below, relative_error=error)

    def __repr__(self) -> str:
        if self._mu.rational is not None:
            return f"GaussianLoss(mu={exact_text(self._mu.rational)})"
        if self._mu_squared.rational is not None:
            return f"GaussianLoss(mu=sqrt({exact_text(self._mu_squared.rational)}))"
        return f"GaussianLoss(mu={self.mu!r}...)"


_REMEDY = "give the GDP parameter, or its square, as a number that is not negative"


def _pair(mu: Real) -> DoubleDouble | None:
    """mu to 106 bits; None beyond the range of the float64 formulas."""
    if not gaussian_floats.SMALLEST_MU <= mu.nearest() <= gaussian_floats.LARGEST_MU:
        return None
    if mu.rational is not None:
        return DoubleDouble.nearest(mu.rational)
    value = refine(mu.ball, bits=120)
    high = float(value)
    with precision(140):
        return DoubleDouble(np.asarray(high), np.asarray(float(value - high)))


def _profile_of_equal_laws(epsilon: Real) -> arb:
    """sup_S (1 - exp(epsilon)) P(S): 1 - exp(epsilon) below 0, and 0 from there on."""
    if epsilon.rational is not None and epsilon.rational >= 0:
        return arb(0)
    return refine(lambda: -epsilon.ball().expm1(), bits=gaussian.ACCURACY)


def _log_profile_of_equal_laws(epsilon: Real) -> arb:
    if epsilon.rational is not None and epsilon.rational >= 0:
        return arb("-inf")
    return refine(lambda: (-epsilon.ball().exp()).log1p(), bits=gaussian.ACCURACY)


@final
class DisjointLoss(PrivacyLoss):
    """The loss of P against Q when some event has probability 1 under P and 0 under Q.

    delta(epsilon) = 1 for every epsilon, beta = 0, every Renyi divergence is infinite, mu = inf. This is the loss
    when a difference of neighbours has a component that gets no noise. The values are exact.

    >>> DisjointLoss().delta(100), DisjointLoss().epsilon(0.5), DisjointLoss().mu
    (1.0, inf, inf)
    """

    __slots__ = ()

    symmetric = True

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Those of Gaussian noise, which is missing in a direction in which neighbours differ."""
        return (REAL_ARITHMETIC, NORMAL_VARIATES)

    @property
    def law_key(self) -> tuple[object, ...]:
        """All such pairs are alike."""
        return ("disjoint",)

    @property
    def mu(self) -> float:
        """The GDP parameter, inf."""
        return np.inf

    def _delta(self, epsilon: Array) -> Array:
        return np.ones_like(epsilon)

    def _log_delta(self, epsilon: Array) -> Array:
        return np.zeros_like(epsilon)

    def _epsilon(self, delta: Array) -> Array:
        return np.where(delta == 1, 0.0, np.inf)

    def _beta(self, alpha: Array) -> Array:
        return np.zeros_like(alpha)

    def _renyi(self, order: Array) -> Array:
        return np.full_like(order, np.inf)

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [arb(1) for _ in epsilons]

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [arb(0) for _ in epsilons]

    def _epsilon_balls(self, deltas: Sequence[Exact]) -> list[arb]:
        return [arb(0) if delta == 1 else arb("inf") for delta in deltas]

    def _beta_balls(self, alphas: Sequence[Exact]) -> list[arb]:
        return [arb(0) for _ in alphas]

    def _renyi_balls(self, orders: Sequence[Exact]) -> list[arb]:
        return [arb("inf") for _ in orders]

    def _advantage_ball(self) -> arb:
        return arb(1)

    def __repr__(self) -> str:
        return "DisjointLoss()"


MOST_TIMES = 100_000
"""The largest number of coordinates."""

RELATIVE_ERROR = 2.0**-50
"""Bound on the relative error of the float64 tails: certified balls, rounded to nearest."""


@final
class RandomisedResponseLoss(BallLoss, ExactLoss):
    """The privacy loss of m independent randomised responses, each of which is ``rate``-DP and no better.

    Of one, L = rate with probability 1/(1 + exp(-rate)) under P and L = -rate otherwise, the other way round under Q.
    The losses add: L = rate (m - 2 K) with K binomial, of m trials with probability 1/(1 + exp(rate)) under P and
    1/(1 + exp(-rate)) under Q. An integer with noise P(z) proportional to exp(-rate |z|), moved by 1, has exactly this
    loss with m = 1: the density ratio is exp(rate) at z <= 0 and exp(-rate) at z >= 1.

    Symmetry: P against Q and Q against P have the same curves, and the trade-off function is its own inverse.

    Accuracy: every curve is a finite sum of positive terms; the float64 methods round balls to nearest.

    Args:
        m: the number of responses, 0 to `MOST_TIMES`; with 0 the two laws are the same.
        rate: epsilon of one response, > 0, at its exact value.

    Raises:
        InvalidValue: a number out of range.

    Reference: Kairouz, Oh and Viswanath 2017, Theorem 3.3 (arXiv:1311.0776): the profile is the optimal composition of
        m rate-DP mechanisms.

    >>> loss = RandomisedResponseLoss(3, "1/3")
    >>> loss.total, loss.delta(1), loss.certified_delta("0.5")
    (Fraction(1, 1), 0.0, Enclosure([0.077795720663528258, 0.077795720663528273]))
    """

    __slots__ = ("_m", "_rate")

    symmetric = True

    def __init__(self, m: int, rate: Exact) -> None:
        self._m = check_whole(m, "m", least=0, most=MOST_TIMES, remedy="give the number of responses")
        self._rate = check_positive(rate, "rate")

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Uniform random bits: the sampler is exact."""
        return (RANDOM_BITS,)

    def event_above(self, level: float) -> str:
        """A difference of two l1 norms, of integers with noise that are moved by 1."""
        return (
            f"{self._rate} * (sum of |y - E_Q[y]| - |y - E_P[y]|) > {level!r} over the "
            f"{self._m} coordinates that move, each by 1: the privacy loss exceeds it"
        )

    @property
    def law_key(self) -> tuple[object, ...]:
        """m and the rate."""
        return ("responses", self._m, self._rate)

    @property
    def times(self) -> int:
        """The number of responses m."""
        return self._m

    @property
    def rate(self) -> Fraction:
        """The epsilon of one response, exactly."""
        return self._rate

    @property
    def total(self) -> Fraction:
        """m * rate: the largest value of the loss, and the pure epsilon."""
        return self._m * self._rate

    @property
    def largest_loss(self) -> Fraction:
        """m * rate, as ``total``."""
        return self.total

    def least_rho(self) -> Enclosure:
        """The Kullback-Leibler divergence D_1, the limit of D_a/a at a = 1: D_a/a falls from there.

        With t = a - 1/2, D_a/a = log M(t)/(t^2 - 1/4) with M(t) = cosh(rate t)/cosh(rate/2), an entire function of
        u = t^2 of order 1/2 whose zeros are real and negative: log M is concave in u, and its chord slope from u = 1/4
        on falls.
        """
        return self.certified_renyi(1)

    def delta_to(self, epsilon: Fraction, bits: int) -> arb:
        """As ``profile``."""
        return self.profile(epsilon, bits)

    # sums over the atoms ----------------------------------------------------------------------------------------------

    def _below(self, level: Fraction, *, or_equal: bool = False) -> int:
        """How many atoms, counted from the largest, are above ``level`` (at or above it)."""
        last = (self._m - level / self._rate) / 2  # rate (m - 2 k) > level means k < last
        found = math.floor(last) + 1 if or_equal else math.ceil(last)
        return min(max(found, 0), self._m + 1)

    def _mass(self, first: int, last: int, *, under_q: bool) -> arb:
        """P[first <= K < last], or that under Q, at the current precision."""
        rate, total = ball(self._rate), arb(0)
        for k in range(first, last):
            total += arb(math.comb(self._m, k)) * (rate * (k if under_q else self._m - k)).exp()
        return total / (1 + rate.exp()) ** self._m

    def profile(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon), the sum over the atoms l > epsilon of P(l) (1 - exp(epsilon - l)), to ``bits`` bits."""
        count = self._below(epsilon)
        if count == 0:
            return arb(0)

        def evaluate() -> arb:
            rate, total = ball(self._rate), arb(0)
            for k in range(count):
                gap = ball(epsilon - self._rate * (self._m - 2 * k))
                total -= arb(math.comb(self._m, k)) * (rate * (self._m - k)).exp() * gap.expm1()
            return total / (1 + rate.exp()) ** self._m

        return refine(evaluate, bits=bits, max_bits=max(MAX_BITS, 4 * bits), name="delta")

    def p_above(self, level: Fraction, bits: int) -> arb:
        """P[L > level], to ``bits`` accurate bits."""
        return self._tail(0, self._below(level), False, bits)

    def q_above(self, level: Fraction, bits: int) -> arb:
        """Q[L > level], to ``bits`` accurate bits."""
        return self._tail(0, self._below(level), True, bits)

    def _tail(self, first: int, last: int, under_q: bool, bits: int) -> arb:
        if last - first == self._m + 1:
            return arb(1)
        return arb(0) if last == first else refine(lambda: self._mass(first, last, under_q=under_q), bits=bits)

    # float64 ----------------------------------------------------------------------------------------------------------

    def tails(self, l: Array) -> LossTails:
        """The four tails at losses of shape (n,); a loss that is exactly an atom is not above itself."""
        losses = finite_losses(l)
        cuts = np.array([self._below(Fraction(x)) for x in losses.ravel().tolist()], dtype=np.int64)
        distinct, place = np.unique(cuts, return_inverse=True)
        values = np.array(
            [
                [float(self._tail(0, cut, under_q, ACCURACY)), float(self._tail(cut, self._m + 1, under_q, ACCURACY))]
                for cut in distinct.tolist()
                for under_q in (False, True)
            ],
            dtype=np.float64,
        ).reshape(len(distinct), 4)[place]
        p_above, p_below, q_above, q_below = values.T.reshape(4, *losses.shape)
        return LossTails(
            p_above=p_above, p_below=p_below, q_above=q_above, q_below=q_below, relative_error=RELATIVE_ERROR
        )

    # balls ------------------------------------------------------------------------------------------------------------

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [self.profile(exactly(epsilon), ACCURACY) for epsilon in epsilons]

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [log_delta_ball(self.profile, exactly(epsilon)) for epsilon in epsilons]

    def _epsilon_ball(self, delta: Fraction) -> arb:
        if delta == 1 or self._m == 0:
            return arb(0)
        if delta == 0:
            return refine(lambda: ball(self.total), bits=ACCURACY)
        return epsilon_ball(self.profile, delta, highest=self.total)

    def _beta_ball(self, alpha: Fraction) -> arb:
        """The largest of the m + 1 lines that the trade-off function consists of, each with the slope -exp(atom)."""
        if alpha in (0, 1) or self._m == 0:
            return refine(lambda: ball(1 - alpha), bits=ACCURACY)

        def evaluate() -> arb:
            rate, level = ball(self._rate), ball(alpha)
            whole = (1 + rate.exp()) ** self._m
            ways = [arb(math.comb(self._m, k)) / whole for k in range(self._m + 1)]
            atoms = [ways[k] * (rate * (self._m - k)).exp() for k in range(self._m + 1)]
            rests = list(accumulate(reversed(atoms)))[::-1]  # P[K >= k], without a difference
            before, best = arb(0), arb(0)  # Q[K < k], and the highest line so far
            for k in range(self._m + 1):
                line = rests[k] + (rate * (self._m - 2 * k)).exp() * (before - level)
                best = best.max(line)
                before += ways[k] * (rate * k).exp()
            return best

        return refine(evaluate, bits=ACCURACY, name="beta")

    def _renyi_ball(self, order: Fraction) -> arb:
        """m log(cosh((a - 1/2) rate)/cosh(rate/2))/(a - 1), and m rate tanh(rate/2) at a = 1."""
        if self._m == 0:
            return arb(0)

        def evaluate() -> arb:
            rate = ball(self._rate)
            if order == 1:
                return self._m * rate * (rate / 2).tanh()
            # cosh((a - 1/2) r)/cosh(r/2) - 1 = 2 sinh(a r/2) sinh((a - 1) r/2)/cosh(r/2), which does not cancel at 1
            rest = 2 * (rate * ball(order) / 2).sinh() * (rate * ball(order - 1) / 2).sinh() / (rate / 2).cosh()
            return self._m * rest.log1p() / ball(order - 1)

        return refine(evaluate, bits=ACCURACY, name="renyi")

    def _advantage_ball(self) -> arb:
        return self.profile(Fraction(0), ACCURACY)

    def __repr__(self) -> str:
        return f"RandomisedResponseLoss({self._m}, {exact_text(self._rate)!r})"


ResponseLoss = RandomisedResponseLoss
"""The name before 0.2; it goes with the release after."""
