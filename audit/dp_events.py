"""dp_accounting's events for mechanisms and losses, so that a user's accountant composes them with its own.

Subsampling, adaptive composition and calibration stay with dp_accounting: wrap these events in its
``PoissonSampledDpEvent``, ``SelfComposedDpEvent`` or ``ComposedDpEvent``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeAlias

import dp_accounting

from dpverdict.audit.disjoint_loss import DisjointLoss
from dpverdict.audit.gaussian_loss import GaussianLoss
from dpverdict.audit.laplace_loss import LaplaceLoss
from dpverdict.audit.privacy_loss import PrivacyLoss
from dpverdict.audit.worst_case import worst_case
from dpverdict.balls import Real, float_down, refine
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.mechanism import GaussianMechanism, Mechanism

DpEvent: TypeAlias = Any  # dp_accounting ships no types


def dp_event(mechanism: Mechanism) -> DpEvent:
    """The event of a mechanism: that of the privacy loss of its worst neighbouring pair (see `loss_event`).

    Poisson sampling of the event is sound under ADD_OR_REMOVE_ONE: one record shifts the statistic by one vector, whose
    length in the metric of the noise is at most mu. Under REPLACE_ONE the accountants disagree about what the noise
    multiplier is relative to: RdpAccountant takes it for 1/mu, PLDAccountant for 2/mu, because it counts the old and
    the new record separately. The event says 1/mu, which is tight in the former and an over-estimate, hence sound, in
    the latter.

    Raises:
        InvalidValue: not a mechanism whose worst case is known, or its loss has no event.

    >>> from dpverdict.mechanisms import CorrelatedGaussian
    >>> dp_event(CorrelatedGaussian(dim=100, mu=1)).noise_multiplier >= 1
    True
    """
    if not isinstance(mechanism, GaussianMechanism):
        remedy = "give a mechanism of dpverdict.mechanisms, or its loss to loss_event"
        raise InvalidValue("mechanism", mechanism, "one whose worst case is known", remedy)
    return loss_event(worst_case(mechanism).loss)


def loss_event(loss: PrivacyLoss) -> DpEvent:
    """The event with exactly this privacy loss, its noise multiplier rounded down: towards less noise.

    Gaussian: ``GaussianDpEvent(1/mu)``; Laplace: a composition of one ``LaplaceDpEvent(scale/shift)`` for every
    coordinate; equal laws: ``NoOpDpEvent``; laws told apart with certainty: ``NonPrivateDpEvent``.

    Raises:
        InvalidValue: dp_accounting has no event for the loss.

    >>> loss_event(GaussianLoss("0.5"))
    GaussianDpEvent(noise_multiplier=2.0)
    """
    if isinstance(loss, DisjointLoss):
        return dp_accounting.NonPrivateDpEvent()
    if isinstance(loss, GaussianLoss):
        if loss.mu_real.rational == 0:
            return dp_accounting.NoOpDpEvent()
        return dp_accounting.GaussianDpEvent(_reciprocal_down(loss.mu_real))
    if isinstance(loss, LaplaceLoss):
        events = [_laplace_event(shift, count) for shift, count in loss.groups]
        if not events:
            return dp_accounting.NoOpDpEvent()
        return events[0] if len(events) == 1 else dp_accounting.ComposedDpEvent(events)
    remedy = "dp_accounting has no event for it: compose its to_pld(interval) instead"
    raise InvalidValue("loss", loss, "Gaussian, Laplace or disjoint", remedy)


def _laplace_event(shift: Fraction, count: int) -> DpEvent:
    event = dp_accounting.LaplaceDpEvent(_reciprocal_down(Real.of(shift)))
    return event if count == 1 else dp_accounting.SelfComposedDpEvent(event, count)


def _reciprocal_down(number: Real) -> float:
    """The largest float64 that is certainly <= 1/number, for a number > 0."""
    if number.rational is not None:
        reciprocal = Real.of(1 / number.rational)
        return float_down(refine(reciprocal.ball, bits=60))
    return float_down(refine(lambda: 1 / number.ball(), bits=60))
