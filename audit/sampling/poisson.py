"""Poisson sampling: every record takes part in a step with a probability of its own, independently of the others."""

from __future__ import annotations

from fractions import Fraction

from dpverdict.audit.losses.base import AddRemoveLoss, LikelihoodRatio, PrivacyLoss
from dpverdict.audit.losses.bounded import BoundedLoss
from dpverdict.audit.losses.closed_form import GaussianLoss, identical_laws
from dpverdict.audit.losses.composition import compose_counted
from dpverdict.audit.losses.domains import Direction
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.sampling.step import SampledStep, noisy_sums
from dpverdict.audit.sampling.steps import SampledSteps
from dpverdict.balls import Exact, exactly
from dpverdict.checks import check_whole
from dpverdict.errors import InvalidValue
from dpverdict.numerics.text import short_text


def poisson_sampled(loss: PrivacyLoss, sampling_probability: Exact, steps: int = 1) -> AddRemoveLoss:
    """The privacy loss of a mechanism that is run on a Poisson sample of the records, in so many steps.

    In every step, every record takes part with probability q, independently of the others and of other steps. The
    neighbours are add-or-remove-one (or zero-out): the record is in the data in all steps, or in none. With
    M = (1 - q) Q + q P, ``remove`` is the loss of M^T against Q^T, and ``add`` that of Q^T against M^T.

    Args:
        loss: of the mechanism on the neighbours, P (the record takes part) against Q (it does not). In an
            `AddRemoveLoss` ``remove`` is that, and ``add`` is Q against P.
        sampling_probability: q in [0, 1], at its exact value.
        steps: the number of steps T >= 1.

    Many steps of Gaussian noise, or of Laplace noise on one coordinate, are certified by a contour integral in which T
    is only an exponent (`dpverdict.audit.sampling.steps.SampledSteps`), as long as it takes some seconds at most;
    finite laws are multiplied out while that is short. Anything else is bracketed on a lattice of losses: then
    ``is_certified`` is False, and ``delta_bounds``, ``epsilon_bounds`` and ``beta_bounds`` hold. `compose` takes steps
    that differ.

    Returns:
        The losses in both orders; its own curves are the larger of the two (of beta: the smaller).

    Raises:
        InvalidValue: a rate outside [0, 1]; no whole number of steps; a loss that is not known in both orders.

    Reference: Zhu, Dong and Wang 2022 (arXiv:2106.08567), Theorem 11.

    >>> sampled = poisson_sampled(GaussianLoss(1), "0.01")
    >>> sampled.remove.certified_delta("0.1")
    Enclosure([7.2900376957612256e-5, 7.2900376957612271e-5])
    >>> sampled.add.delta("0.1"), sampled.add.epsilon(0)
    (0.0, 0.010050335853501442)
    >>> poisson_sampled(GaussianLoss(1), "0.01", 1000).certified_delta(1)
    Enclosure([0.0026124205786269235, 0.002612420578626924])
    """
    q = exactly(sampling_probability, name="sampling_probability")
    if not 0 <= q <= 1:
        raise InvalidValue("sampling_probability", sampling_probability, "in [0, 1]", "give a probability")
    number = check_whole(steps, "steps", least=1, remedy="say how often the mechanism is run")
    both = loss if isinstance(loss, AddRemoveLoss) else AddRemoveLoss(remove=loss, add=loss.reversed())
    remove = _steps(both.remove, q, number, Direction.REMOVE)
    shared = both is not loss and isinstance(remove, SampledSteps)  # the moments of one order are those of the other
    add = remove.reversed() if shared else _steps(both.add, q, number, Direction.ADD)
    return AddRemoveLoss(remove=remove, add=add, ratio=_ratio(loss, q, number))


def _ratio(loss: PrivacyLoss, rate: Fraction, steps: int) -> LikelihoodRatio | None:
    """That of steps with Gaussian noise, in words."""
    if not isinstance(loss, GaussianLoss) or not loss.mu_real.rational:
        return None
    q = short_text(rate)
    formula = f"sum over steps 1 to {steps} of log(1 - {q} + {q} exp((2 y_t - 1)/(2 s^2)))"
    return LikelihoodRatio(formula, noisy_sums(1 / loss.mu_real.rational))


def _steps(pair: PrivacyLoss, q: Fraction, steps: int, order: Direction) -> PrivacyLoss:
    if q == 0 or _trivial(pair):
        return identical_laws()
    step = _step(pair, q, order)
    if steps == 1:
        return step
    if isinstance(step, SampledStep):
        return _many(step, steps) or BoundedLoss([(step, steps)])
    return compose_counted([(step, steps)])


def _many(step: SampledStep, steps: int) -> SampledSteps | None:
    """Equal steps by a contour integral, where that is quick."""
    moments = step.of_either_order
    many = None if moments is None else SampledSteps(step, steps, moments)
    return many if many is not None and many.is_cheap else None


def _step(pair: PrivacyLoss, q: Fraction, order: Direction) -> PrivacyLoss:
    if q == 1:
        return pair
    if isinstance(pair, FiniteLoss):
        return pair.sampled(q) if order is Direction.REMOVE else pair.reversed().sampled(q).reversed()
    return SampledStep(pair, q, order, _many)


def _trivial(pair: PrivacyLoss) -> bool:
    """Whether the two laws are the same."""
    if isinstance(pair, GaussianLoss):
        return pair.mu_squared.rational == 0
    return isinstance(pair, LaplaceLoss) and not pair.groups
