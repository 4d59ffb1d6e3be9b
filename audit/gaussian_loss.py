"""The privacy loss of a Gaussian mechanism: N(0,1) against N(mu,1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np
from flint import arb

from dpverdict.audit.loss_domains import Floats, rounded
from dpverdict.audit.loss_tails import LossTails, finite_losses
from dpverdict.audit.privacy_loss import PrivacyLoss
from dpverdict.balls import Exact, Real, compare, precision, refine
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import gaussian_balls, gaussian_profile
from dpverdict.mechanisms.exact_text import exact_text
from dpverdict.mechanisms.float_pairs import Pair


def identical_laws() -> PrivacyLoss:
    """The privacy loss of two laws that are the same: 0 with certainty."""
    return GaussianLoss(0)


@final
class GaussianLoss(PrivacyLoss):
    """The privacy loss of N(0,1) against N(mu,1), normal with mean mu^2/2 and variance mu^2.

    It is the loss of any Gaussian mechanism with covariance S on neighbours whose statistics differ by v, with
    mu^2 = v^T S^-1 v; the pair (N(mu,1), N(0,1)) has the same curves.

        delta(epsilon) = Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu)
        beta(alpha)    = Phi(Phi^-1(1 - alpha) - mu)

    The float64 methods have a relative error below `gaussian_profile.RELATIVE_ERROR`, for mu from 1e-200 to 1e3.

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

    def __init__(self, mu: Exact | Real) -> None:
        real = _not_negative(Real.of(mu, name="mu"), "mu")
        square = real.rational
        self._set(real, Real.of(square**2) if square is not None else Real(lambda: real.ball() * real.ball()))

    @classmethod
    def from_squared(cls, mu_squared: Exact | Real) -> GaussianLoss:
        """The loss with mu = sqrt(mu_squared), which stays exact: ``mu_squared`` is a quadratic form v^T S^-1 v."""
        square = _not_negative(Real.of(mu_squared, name="mu_squared"), "mu_squared")
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

    def zcdp(self) -> float:
        """The zero-concentrated privacy parameter rho = mu^2/2, to the nearest float64."""
        return 0.0 if self._is_zero else Real(lambda: self._mu_squared.ball() / 2).nearest()

    # float64; where mu is 0 or beyond the range of the float64 formulas, by rounding the balls ------------------------

    def _delta(self, epsilon: Floats) -> Floats:
        if self._pair is None:
            return rounded(self._delta_balls, epsilon)
        return gaussian_profile.delta_floats(epsilon, self._pair)

    def _log_delta(self, epsilon: Floats) -> Floats:
        if self._pair is None:
            return rounded(self._log_delta_balls, epsilon)
        return gaussian_profile.log_delta_floats(epsilon, self._pair)

    def _epsilon(self, delta: Floats) -> Floats:
        if self._pair is None:
            return rounded(self._epsilon_balls, delta)
        return gaussian_profile.epsilon_floats(delta, self._pair)

    def _beta(self, alpha: Floats) -> Floats:
        if self._pair is None:
            return rounded(self._beta_balls, alpha)
        return gaussian_profile.beta_floats(alpha, self._pair)

    def _renyi(self, order: Floats) -> Floats:
        return rounded(self._renyi_balls, order)

    # balls ------------------------------------------------------------------------------------------------------------

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        if self._is_zero:
            return [_profile_of_equal_laws(Real.of(epsilon)) for epsilon in epsilons]
        return gaussian_balls.delta_balls(epsilons, self._mu)

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        if self._is_zero:
            return [_log_profile_of_equal_laws(Real.of(epsilon)) for epsilon in epsilons]
        return [gaussian_balls.log_delta_ball(Real.of(epsilon), self._mu) for epsilon in epsilons]

    def _epsilon_balls(self, deltas: Sequence[Exact]) -> list[arb]:
        return [self._epsilon_ball(Real.of(delta)) for delta in deltas]

    def _epsilon_ball(self, delta: Real) -> arb:
        if self._is_zero or delta.rational == 1:
            return arb(0)
        if delta.rational == 0:
            return arb("inf")
        return gaussian_balls.epsilon_ball(delta, self._mu)

    def _beta_balls(self, alphas: Sequence[Exact]) -> list[arb]:
        return [self._beta_ball(Real.of(alpha)) for alpha in alphas]

    def _beta_ball(self, alpha: Real) -> arb:
        if alpha.rational in (0, 1) or self._is_zero:
            return refine(lambda: 1 - alpha.ball(), bits=gaussian_balls.ACCURACY)
        return gaussian_balls.beta_ball(alpha, self._mu)

    def _renyi_balls(self, orders: Sequence[Exact]) -> list[arb]:
        return [self._renyi_ball(Real.of(order)) for order in orders]

    def _renyi_ball(self, order: Real) -> arb:
        return refine(lambda: order.ball() * self._mu_squared.ball() / 2, bits=gaussian_balls.ACCURACY, name="renyi")

    def _advantage_ball(self) -> arb:
        return arb(0) if self._is_zero else gaussian_balls.advantage_ball(self._mu)

    def tails(self, l: Floats) -> LossTails:
        """The four tails at losses of shape (n,), with a relative error below `gaussian_profile.TAIL_ERROR`."""
        losses = finite_losses(l)
        if self._is_zero:
            above, below = (losses < 0).astype(np.float64), (losses >= 0).astype(np.float64)
            return LossTails(p_above=above, p_below=below, q_above=above, q_below=below, relative_error=0.0)
        if self._pair is None:
            low, high = gaussian_profile.SMALLEST_MU, gaussian_profile.LARGEST_MU
            raise InvalidValue("mu", self.mu, f"0 or in [{low}, {high}]", "use the certified methods")
        p_above, p_below, q_above, q_below = gaussian_profile.tails_floats(losses, self._pair)
        error = gaussian_profile.TAIL_ERROR
        return LossTails(p_above=p_above, p_below=p_below, q_above=q_above, q_below=q_below, relative_error=error)

    def __repr__(self) -> str:
        if self._mu.rational is not None:
            return f"GaussianLoss(mu={exact_text(self._mu.rational)})"
        if self._mu_squared.rational is not None:
            return f"GaussianLoss(mu=sqrt({exact_text(self._mu_squared.rational)}))"
        return f"GaussianLoss(mu={self.mu!r}...)"


def _not_negative(number: Real, name: str) -> Real:
    """The number, if it is certainly >= 0."""
    if compare(number, Real.of(0)) not in (0, 1):
        shown = number.rational if number.rational is not None else number
        raise InvalidValue(
            name, str(shown), ">= 0", "give the GDP parameter, or its square, as a number that is not negative"
        )
    return number


def _pair(mu: Real) -> Pair | None:
    """mu to 106 bits; None beyond the range of the float64 formulas."""
    if not gaussian_profile.SMALLEST_MU <= mu.nearest() <= gaussian_profile.LARGEST_MU:
        return None
    if mu.rational is not None:
        return Pair.nearest(mu.rational)
    value = refine(mu.ball, bits=120)
    high = float(value)
    with precision(140):
        return Pair(np.asarray(high), np.asarray(float(value - high)))


def _profile_of_equal_laws(epsilon: Real) -> arb:
    """sup_S (1 - exp(epsilon)) P(S): 1 - exp(epsilon) below 0, and 0 from there on."""
    if epsilon.rational is not None and epsilon.rational >= 0:
        return arb(0)
    return refine(lambda: -epsilon.ball().expm1(), bits=gaussian_balls.ACCURACY)


def _log_profile_of_equal_laws(epsilon: Real) -> arb:
    if epsilon.rational is not None and epsilon.rational >= 0:
        return arb("-inf")
    return refine(lambda: (-epsilon.ball().exp()).log1p(), bits=gaussian_balls.ACCURACY)
