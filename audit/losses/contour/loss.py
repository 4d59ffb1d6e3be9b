"""The privacy loss of Gaussian and Laplace mechanisms together."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
from flint import arb

from dpverdict.audit.losses.base import BallLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.contour.floats import TradeOffKnots, curve
from dpverdict.audit.losses.contour.integral import DELTA, P_ABOVE, Q_ABOVE, ContourEngine, Way
from dpverdict.audit.losses.contour.moments import MomentFunction
from dpverdict.audit.losses.curves import ACCURACY, JUST_BELOW_ZERO, NOTHING, epsilon_ball, smooth_beta_ball
from dpverdict.audit.losses.domains import ALPHA, LossTails, finite_losses
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.balls import Exact, ball, exactly, refine
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array

RELATIVE_ERROR = 1e-11
"""Of ``delta`` at many epsilons, and of ``tails``; values below 1e-300 may be lost."""

_BITS = ACCURACY
_FEW = 16  # values that are better computed one by one


@final
class ComposedLoss(BallLoss):
    """The privacy loss of a Gaussian and a Laplace loss, composed without adaptivity: the sum of independent losses.

    Use `dpverdict.audit.losses.composition.compose`. Every curve is an integral of the moment generating function
    along a contour, in ball arithmetic, with all errors charged to the ball; the relative accuracy is 2^-53 or better
    however small delta is. The float64 methods round the balls to nearest, except that ``delta`` at many epsilons and
    ``tails`` sum in float64, with a relative error below `RELATIVE_ERROR`. The cost grows with the number of distinct
    shifts, and with the ratio of the spread of the loss to the GDP parameter of the Gaussian part.

    Args:
        gaussian: all Gaussian mechanisms together; mu > 0.
        laplace: all Laplace mechanisms together; at least one shift > 0.

    Raises:
        InvalidValue: one of the parts is trivial (then the other one is the composition).

    A curve raises `PrecisionExhausted` where the Gaussian part is so narrow, beside the Laplace part, that the contour
    would cost more than `dpverdict.audit.losses.contour.integral.MAX_COST`.

    >>> loss = ComposedLoss(GaussianLoss("0.5"), LaplaceLoss(["0.3"]))
    >>> loss.certified_delta(1)
    Enclosure([0.014467599840061717, 0.01446759984006172])
    """

    __slots__ = ("__dict__", "_engine", "gaussian", "laplace")

    symmetric = True
    gaussian: GaussianLoss
    laplace: LaplaceLoss

    def __init__(self, gaussian: GaussianLoss, laplace: LaplaceLoss) -> None:
        if gaussian.mu_squared.rational == 0 or not laplace.groups:
            raise InvalidValue("parts", (gaussian, laplace), "both not trivial", "use the other part alone")
        self.gaussian = gaussian
        self.laplace = laplace
        self._engine = ContourEngine(MomentFunction(gaussian.mu_squared, laplace.groups))

    @property
    def route(self) -> str:
        """How the curves are computed."""
        return "certified contour integration"

    def explain(self) -> str:
        """The parts of the composition, how its curves are computed, and how wide the results are."""
        moments = self._engine.moments
        return (
            f"Gaussian part: mu = {self.gaussian.mu:.6g}. Laplace part: {moments.factors} mechanisms with "
            f"{len(moments.shifts)} distinct shifts, {float(moments.total):.6g} in all. Route: {self.route} of the "
            f"moment generating function; alias, truncation and rounding are inside the balls. Certified values have a "
            f"relative width below 2^-52, and float64 values are their midpoints; beta_bounds are at most "
            f"{self._knots.gap:.1g} apart."
        )

    def beta_bounds(self, alphas: Array) -> tuple[Array, Array]:
        """Two-sided bounds of the trade-off function at many levels, by chords and lines at certified knots.

        The knots are made once, at the first call; they are about 1e-6 apart or closer. For relative accuracy at small
        values use ``certified_beta``.

        Args:
            alphas: levels in [0, 1], an array of any shape.

        Returns:
            (lower, upper), float64 arrays, rounded outward: lower <= beta(alpha) <= upper for certain.

        Raises:
            ContradictoryBounds: they cannot both hold.
        """
        return self._knots.bounds(ALPHA.floats(np.asarray(alphas, dtype=np.float64)))

    def tails(self, l: Array) -> LossTails:
        """The four tails at losses of shape (n,), with a relative error below `RELATIVE_ERROR`."""
        losses = finite_losses(l)

        def tail(ways: tuple[Way, ...], points: Array) -> Array:
            return curve(self._engine, ways, points, RELATIVE_ERROR)

        return LossTails(
            p_above=tail(P_ABOVE, losses),
            p_below=tail(Q_ABOVE, -losses),
            q_above=tail(Q_ABOVE, losses),
            q_below=tail(P_ABOVE, -losses),
            relative_error=RELATIVE_ERROR,
        )

    @cached_property
    def _knots(self) -> TradeOffKnots:
        return TradeOffKnots(self._engine)

    def profile(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon), to ``bits`` accurate bits."""
        return self._engine.delta(epsilon, bits)

    def p_above(self, level: Fraction, bits: int) -> arb:
        """P[L > level], to ``bits`` accurate bits."""
        return self._engine.value(P_ABOVE, level, bits)

    def q_above(self, level: Fraction, bits: int) -> arb:
        """Q[L > level], to ``bits`` accurate bits."""
        return self._engine.q_tail(level, bits)

    # float64 ----------------------------------------------------------------------------------------------------------

    def _delta(self, epsilon: Array) -> Array:
        if epsilon.size < _FEW:
            return super()._delta(epsilon)
        away = np.abs(epsilon)
        near = away <= float(self._engine.furthest)
        value = np.zeros(epsilon.shape)
        value[near] = curve(self._engine, DELTA, away[near], RELATIVE_ERROR)
        return np.where(epsilon < 0, -np.expm1(-away) + np.exp(-away) * value, value)

    # balls ------------------------------------------------------------------------------------------------------------

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return self._engine.deltas([exactly(epsilon) for epsilon in epsilons], _BITS)

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        exact = [exactly(epsilon) for epsilon in epsilons]
        deltas = self._engine.deltas(exact, _BITS + 8)
        return [self._log_delta_ball(*pair) for pair in zip(exact, deltas, strict=True)]

    def _log_delta_ball(self, epsilon: Fraction, delta: arb) -> arb:
        if delta > arb(0.5):
            complement = self._engine.delta_complement(epsilon, _BITS + 8)
            if complement < NOTHING and complement.rel_accuracy_bits() < _BITS:
                return JUST_BELOW_ZERO
            return refine(lambda: (-complement).log1p(), bits=_BITS, max_bits=512)
        return refine(delta.log, bits=_BITS, max_bits=512)

    def _epsilon_ball(self, delta: Fraction) -> arb:
        if delta in (0, 1):
            return arb("inf") if delta == 0 else arb(0)
        return epsilon_ball(self._engine.delta, delta)

    def _beta_ball(self, alpha: Fraction) -> arb:
        if alpha in (0, 1):
            return arb(1 - alpha.numerator)
        low, high = self._knots.epsilons(float(alpha))
        return smooth_beta_ball(self._engine.q_tail, alpha, low=Fraction(low), high=Fraction(high))

    def _renyi_ball(self, order: Fraction) -> arb:
        """The sum of the divergences of the factors: log E_P[exp((order - 1) L)] / (order - 1)."""
        moments = self._engine.moments
        if order == 1:
            return refine(moments.mean, bits=_BITS, name="renyi")
        return refine(lambda: moments.logarithm_at(ball(order) - 1) / (ball(order) - 1), bits=_BITS, name="renyi")

    def _advantage_ball(self) -> arb:
        return self._engine.delta(Fraction(0), _BITS)

    def __repr__(self) -> str:
        moments = self._engine.moments
        parts = f"{moments.factors} Laplace mechanisms with shifts of {float(moments.total):.6g} in all"
        return f"ComposedLoss(mu={self.gaussian.mu:.6g}..., {parts})"
