"""What is known of a mechanism in the words of others: the events of dp_accounting, and a claim that is a whole curve.

A user's accountant composes the events with its own. Subsampling, adaptive composition and calibration stay with
dp_accounting: wrap the events in its ``PoissonSampledDpEvent``, ``SelfComposedDpEvent`` or ``ComposedDpEvent``. A
`ProfileClaim` says that two laws are no farther apart than those of a privacy loss, and is for `distinguish` to test.
"""

from __future__ import annotations

from typing import Any, TypeAlias, final

import dp_accounting
import numpy as np

from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.bounded import BoundedLoss
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss
from dpverdict.audit.losses.contour.loss import ComposedLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.balls import Real, float_down, refine
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import ImpliedCurves, epsilon_grid, support_lines_lower
from dpverdict.mechanisms.core.mechanism import Mechanism, StructuredMechanism
from dpverdict.numerics.arrays import Array

DpEvent: TypeAlias = Any  # dp_accounting ships no types


def dp_event(mechanism: Mechanism) -> DpEvent:
    """The event of a mechanism: that of the privacy loss of its worst neighbouring pair (see `loss_event`).

    Where the worst case is a bound (``worst_case(mechanism).exact`` is False), so is the event: it is never less.

    Poisson sampling of the event of Gaussian noise, or of one Laplace coordinate, is sound under ADD_OR_REMOVE_ONE: one
    record shifts the statistic by one vector, whose length in the metric of the noise is at most that of the event.
    For several Laplace coordinates write ``PoissonSampledDpEvent(q, dp_event(mechanism))``, which accountants that do
    not support it refuse. A composition of *sampled* coordinates is no substitute: it samples anew for each of them.

    Under REPLACE_ONE the accountants disagree about what a noise multiplier is relative to. Gaussian: RdpAccountant
    takes it for 1/mu, PLDAccountant for 2/mu, because it counts the old and the new record separately. The event says
    1/mu, which is tight in the former and an over-estimate, hence sound, in the latter. Laplace: RdpAccountant takes it
    for scale/shift, as the event says; PLDAccountant refuses it.

    Raises:
        InvalidValue: not a mechanism whose worst case is known, or its loss has no event.

    >>> from dpverdict.mechanisms import CorrelatedGaussian
    >>> dp_event(CorrelatedGaussian(dim=100, mu=1)).noise_multiplier >= 1
    True
    """
    if not isinstance(mechanism, StructuredMechanism):
        remedy = "give a mechanism of dpverdict.mechanisms, or its loss to loss_event"
        raise InvalidValue("mechanism", mechanism, "one whose worst case is known", remedy)
    return loss_event(worst_case(mechanism).loss)


def loss_event(loss: PrivacyLoss) -> DpEvent:
    """The event with exactly this privacy loss, its noise multipliers rounded down: towards less noise.

    Gaussian: ``GaussianDpEvent(1/mu)``; Laplace: ``LaplaceDpEvent(scale/shift)`` for one coordinate, and a composition
    of these for several (``SelfComposedDpEvent`` of equal ones); a composition of such losses: the composition of their
    events; equal laws: ``NoOpDpEvent``; laws told apart with certainty: ``NonPrivateDpEvent``.

    Every other loss (discrete Gaussian, random-direction, custom noise) has no event in dp_accounting. Its pessimistic
    distribution composes with those of the accountant's own constructors: ``loss.to_pld(h).pessimistic.compose(pld)``,
    with the same interval h on both sides.

    Raises:
        InvalidValue: dp_accounting has no event for the loss.

    >>> loss_event(GaussianLoss("0.5"))
    GaussianDpEvent(noise_multiplier=2.0)
    """
    if isinstance(loss, DisjointLoss):
        return dp_accounting.NonPrivateDpEvent()
    events = _events_of_loss(loss)
    if not events:
        return dp_accounting.NoOpDpEvent()
    return events[0] if len(events) == 1 else dp_accounting.ComposedDpEvent(events)


def _events_of_loss(loss: object) -> list[DpEvent]:
    if isinstance(loss, GaussianLoss):
        silent = loss.mu_real.rational == 0
        return [] if silent else [dp_accounting.GaussianDpEvent(_reciprocal_down(loss.mu_real))]
    if isinstance(loss, LaplaceLoss):
        return [_repeated_event(dp_accounting.LaplaceDpEvent(_reciprocal_down(Real.of(s))), n) for s, n in loss.groups]
    if isinstance(loss, ComposedLoss):
        return [*_events_of_loss(loss.gaussian), *_events_of_loss(loss.laplace)]
    if isinstance(loss, BoundedLoss):
        return [_repeated_event(event, count) for factor, count in loss.factors for event in _events_of_loss(factor)]
    remedy = "compose its pessimistic distribution instead: loss.to_pld(interval).pessimistic"
    raise InvalidValue("loss", loss, "Gaussian, Laplace, disjoint or a composition of these", remedy)


def _repeated_event(event: DpEvent, count: int) -> DpEvent:
    return event if count == 1 else dp_accounting.SelfComposedDpEvent(event, count)


def _reciprocal_down(number: Real) -> float:
    """The largest float64 that is certainly <= 1/number, for a number > 0."""
    if number.rational is not None:
        reciprocal = Real.of(1 / number.rational)
        return float_down(refine(reciprocal.ball, bits=60))
    return float_down(refine(lambda: 1 / number.ball(), bits=60))


@final
class ProfileClaim(ImpliedCurves):
    """The claim delta(epsilon) <= that of a privacy loss at every real epsilon, in both orders of every pair.

    "Laplace noise of scale 1 in 20 coordinates" claims much more than the one (epsilon, delta) quoted for it, and
    is much easier to refute. `distinguish` takes it in place of a guarantee; a `Report` does not.

    Args:
        loss: of the dominating pair. Its certified profile is used, rounded up.
        name: the claim in one line.
        reverse: the loss of the pair in the other order; None where it is the same, as for symmetric noise.
    """

    __slots__ = ("_known", "loss", "name", "reverse")
    loss: PrivacyLoss
    name: str
    reverse: PrivacyLoss | None

    def __init__(self, loss: PrivacyLoss, *, name: str, reverse: PrivacyLoss | None = None) -> None:
        self.loss, self.name, self.reverse = loss, name, reverse
        self._known: dict[bytes, Array] = {}

    def describe(self) -> str:
        """The name: `parse_guarantee` does not read it."""
        return self.name

    def _delta_upper(self, epsilon: Array) -> Array:
        flat = np.ravel(epsilon)
        key = flat.tobytes()
        if key not in self._known:
            both = [self.loss] if self.reverse is None else [self.loss, self.reverse]
            uppers = [loss.certified_delta(flat).upper for loss in both]
            self._known[key] = np.minimum(np.max(uppers, axis=0), 1.0)
        return self._known[key].reshape(np.shape(epsilon))

    def _beta_lower(self, alpha: Array) -> Array:
        grid = epsilon_grid(1.0)
        return support_lines_lower(alpha, grid, self._delta_upper(grid))
