"""The privacy loss of discrete Gaussian noise on the integers, of the correlated count release and of any product."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import final

import numpy as np
from flint import arb

from dpverdict.audit.losses.base import RANDOM_BITS, BallLoss, ExactLoss
from dpverdict.audit.losses.closed_form import identical_laws
from dpverdict.audit.losses.curves import ACCURACY, epsilon_ball, log_delta_ball
from dpverdict.audit.losses.discrete_gaussian.atoms import MOST_VARIANCE, DiscretePart
from dpverdict.audit.losses.discrete_gaussian.law import Coordinates, DiscreteGaussians, grouped, one_sided_tails
from dpverdict.audit.losses.discrete_gaussian.profile import DiscreteGaussianProfile
from dpverdict.audit.losses.domains import EPSILON, LossTails, PartMoments, finite_losses
from dpverdict.balls import Enclosure, Exact, Real, ball, exactly, precision, refine
from dpverdict.checks import check_not_negative, check_positive, check_whole
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array, Integers
from dpverdict.numerics.gaussian import delta_ball

RELATIVE_ERROR = 1e-12
"""Bound on the relative error of the float64 tails, measured; the other float64 methods round balls to nearest."""


FINEST = 20_000
"""Losses of different steps are merged into one while the standard deviation has at most so many steps: 0.2 s."""

_SUMMED = 10**6  # the variance up to which the tails of one coordinate are summed directly


@final
class DiscreteGaussianLoss(BallLoss, ExactLoss):
    """The privacy loss of the integers g_i = 2 f_i - n + N_Z(0, (d + s)/mu^2), N = n + N_Z(0, (d + s)/(s mu^2)).

    N_Z(0, v) is the discrete Gaussian, P(x) proportional to exp(-x^2/(2v)) on the integers. One record of {0,1}^d more
    or less moves every coordinate by 1, so for every record

        L = mu^2/2 + mu^2 (T + s Y)/(d + s),

    with T the sum of d independent N_Z(0, (d + s)/mu^2) and Y ~ N_Z(0, (d + s)/(s mu^2)) independent of them.

    The release is mu^2/2-zCDP for every s, but it is not mu-GDP: its profile exceeds that of N(0,1) against N(mu,1) at
    some epsilon (`certified_gaussian_ratio`). P against Q and Q against P have the same curves.

    All curves are sums over the support of the loss in ball arithmetic, what is left out being charged; ms each. The
    cost grows with the denominator of s.

    Args:
        dim: number of queries d >= 1.
        s: the square of the embedding constant C, a rational number > 0, exact.
        mu: sqrt(2 rho) >= 0, exact; at 0 the noise is infinite and the two laws are the same.

    Raises:
        InvalidValue: a parameter out of range, or a support of the loss that is too fine.

    Reference: Canonne, Kamath and Steinke 2020 (arXiv:2004.00010) for N_Z and its zCDP; Lebeda 2024, Lemma 3.3, for the
        embedding.

    >>> loss = DiscreteGaussianLoss(1, 1, mu=1)
    >>> loss.certified_delta("2.8")
    Enclosure([0.0030716629063913857, 0.0030716629063913862])
    >>> from dpverdict.audit.losses.closed_form import GaussianLoss
    >>> GaussianLoss(1).certified_delta("2.8")
    Enclosure([0.0027743707595540628, 0.0027743707595540633])
    >>> DiscreteGaussianLoss(100, 10, mu=1).epsilon("1e-5")
    4.377195516962623
    """

    __slots__ = ("_profile",)

    symmetric = True

    def __init__(self, dim: int, s: Exact, mu: Exact) -> None:
        size, own = check_whole(dim, "dim", least=1, remedy="give the number of queries"), check_positive(s, "s")
        self._set(_embedding(size, own, check_not_negative(mu, "mu") ** 2))

    @classmethod
    def from_rho(cls, dim: int, s: Exact, rho: Exact) -> DiscreteGaussianLoss:
        """The loss of the same release with mu^2 = 2 rho, given by its zCDP parameter rho >= 0, exact."""
        size, own = check_whole(dim, "dim", least=1, remedy="give the number of queries"), check_positive(s, "s")
        return cls._of(_embedding(size, own, 2 * check_not_negative(rho, "rho")))

    @classmethod
    def product(cls, shifts: Sequence[int], variances: Sequence[Exact]) -> DiscreteGaussianLoss:
        """The loss of independent N_Z(0, variances[i]), each moved by the integer shifts[i].

        Args:
            shifts: integers, of either sign; coordinates with 0 do not count.
            variances: rational numbers > 0, exact.

        >>> DiscreteGaussianLoss.product([1, 1], [2, 2]).delta(0) == DiscreteGaussianLoss(1, 1, mu=1).delta(0)
        True
        """
        if len(shifts) != len(variances):
            found = f"{len(variances)} numbers"
            raise InvalidValue("variances", found, f"as many as shifts, {len(shifts)}", "give one for each coordinate")
        return cls.from_groups([(v, a, 1) for a, v in zip(shifts, variances, strict=True)])

    @classmethod
    def from_groups(cls, groups: Sequence[tuple[Exact, int, int]]) -> DiscreteGaussianLoss:
        """The loss of a product given as (variance, integer shift, number of such coordinates)."""
        remedy = "discrete Gaussian noise lives on the integers"
        return cls._of(
            grouped(
                [
                    (
                        check_positive(variance, "variance"),
                        abs(check_whole(shift, "shift", least=None, remedy=remedy)),
                        check_whole(count, "count", least=0, remedy="give the number of such coordinates"),
                    )
                    for variance, shift, count in groups
                ]
            )
        )

    @classmethod
    def _of(cls, groups: tuple[Coordinates, ...]) -> DiscreteGaussianLoss:
        loss = cls.__new__(cls)
        loss._set(groups)
        return loss

    def _set(self, groups: tuple[Coordinates, ...]) -> None:
        self._profile = DiscreteGaussianProfile(DiscreteGaussians(groups)) if groups else None

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Uniform random bits: the sampler is exact."""
        return (RANDOM_BITS,)

    def event_above(self, level: float) -> str:
        """A half-space of the noise."""
        terms = " + ".join(
            f"{g.shift}/({g.variance}) * (sum of the noise of {g.count} coordinates)" for g in self.groups
        )
        return (
            f"{terms} > {level!r} - {self.rho}, the noise being y - E_P[y] where P is above Q "
            "and E_P[y] - y where it is below: the privacy loss exceeds the first number"
        )

    @property
    def law_key(self) -> tuple[object, ...]:
        """The variances, shifts and numbers of coordinates."""
        return ("discrete Gaussian", self.groups)

    @property
    def has_closed_profile(self) -> bool:
        """Yes: sums over its support."""
        return True

    def largest(self) -> arb:
        """Infinite, unless the laws are equal."""
        return arb("inf") if self.groups else arb(0)

    @property
    def exact_key(self) -> tuple[object, ...] | None:
        """The variances, shifts and numbers of coordinates."""
        return self.law_key

    @property
    def groups(self) -> tuple[Coordinates, ...]:
        """The coordinates that move, grouped: variance, absolute shift and count of each group."""
        return () if self._profile is None else self._profile.law.groups

    @property
    def rho(self) -> Fraction:
        """The zCDP parameter sum a_i^2/(2 v_i), exactly; it is also the Kullback-Leibler divergence."""
        return Fraction(0) if self._profile is None else self._profile.law.rho

    def least_rho(self) -> Fraction:
        """``rho``: the Renyi divergence of order a is at most a rho, and equal to it at whole orders.

        Reference: Canonne, Kamath and Steinke 2020, Proposition 5 (arXiv:2004.00010), for one coordinate; independent
            coordinates add up.
        """
        return self.rho

    def exact_renyi(self, order: Fraction) -> Fraction | Enclosure:
        """order * rho at whole orders, exactly; enclosed at others."""
        return order * self.rho if order.denominator == 1 else self.certified_renyi(order)

    def delta_to(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon), enclosed to at least ``bits`` accurate bits."""
        if self._profile is None:
            return identical_laws()._delta_balls([epsilon])[0]
        return self._profile.delta(epsilon, bits)

    @property
    def step(self) -> Fraction:
        """The step h of the support rho + h Z of the loss, exactly; 0 if the two laws are the same."""
        return Fraction(0) if self._profile is None else self._profile.law.step

    def times(self, other: DiscreteGaussianLoss) -> DiscreteGaussianLoss | None:
        """The composition with another one, exactly; None if the support of the sum is much finer than `FINEST`.

        The product of moved discrete Gaussians is one of them: the groups of both. The step of its support is the
        largest number of which both steps are multiples.
        """
        loss = DiscreteGaussianLoss._of(
            grouped([(g.variance, g.shift, g.count) for g in (*self.groups, *other.groups)])
        )
        profile = loss._profile
        if profile is None or loss.step == self.step == other.step or profile.law.variance <= FINEST**2:
            return loss
        return None

    def power(self, count: int) -> DiscreteGaussianLoss:
        """The composition of so many copies of this loss, exactly."""
        return (
            self
            if count == 1
            else DiscreteGaussianLoss._of(grouped([(g.variance, g.shift, g.count * count) for g in self.groups]))
        )

    def coordinates(self) -> list[tuple[DiscreteGaussianLoss, int]]:
        """The loss of one coordinate of every group, with the number of such coordinates."""
        return [(DiscreteGaussianLoss.from_groups([(g.variance, g.shift, 1)]), g.count) for g in self.groups]

    def zcdp(self) -> float:
        """The zero-concentrated privacy parameter rho, to the nearest float64."""
        return float(self.rho)

    def certified_gaussian_ratio(self, epsilon: Exact) -> Enclosure:
        """Encloses delta(epsilon) divided by the profile of N(0,1) against N(mu,1), mu^2 = 2 rho.

        Above 1 the continuous formula is no bound for this release.

        >>> DiscreteGaussianLoss(1, 1, mu=1).certified_gaussian_ratio("2.8").lower > 1.107
        True
        """
        if self._profile is None:
            raise InvalidValue("rho", 0, "> 0", "two equal laws have the profile 0: there is no ratio")
        value = self._profile.delta(EPSILON.exact(epsilon), ACCURACY + 4)
        gaussian = delta_ball(Real.of(EPSILON.exact(epsilon)), Real.of(2 * self.rho).sqrt())
        with precision(ACCURACY + 40):
            return Enclosure.of_ball(value / gaussian)

    def moments(self) -> PartMoments | None:
        """Those of its atoms, where they are not too many."""
        if not self.groups or any(group.variance > MOST_VARIANCE for group in self.groups):
            return None
        return DiscretePart(self.groups)

    def p_above(self, level: Fraction, bits: int) -> arb:
        """P[L > level], to ``bits`` accurate bits."""
        return arb(1 if level < 0 else 0) if self._profile is None else self._profile.p_above(level, bits)

    def q_above(self, level: Fraction, bits: int) -> arb:
        """Q[L > level], to ``bits`` accurate bits."""
        return arb(1 if level < 0 else 0) if self._profile is None else self._profile.q_above(level, bits)

    # float64 ----------------------------------------------------------------------------------------------------------

    def tails(self, l: Array) -> LossTails:
        """The four tails at losses of shape (n,), with a relative error below `RELATIVE_ERROR`.

        They are exact about atoms: a loss that is exactly an atom is not above itself.
        """
        losses = finite_losses(l)
        if self._profile is None:
            above = (losses < 0).astype(np.float64)
            p_above, p_below, q_above, q_below = above, 1 - above, above, 1 - above
        else:
            law = self._profile.law
            p = _steps_above(law, losses)
            q = p + law.width
            p_above, p_below = self._both_sides(p)
            q_above, q_below = self._both_sides(q)
        return LossTails(
            p_above=p_above, p_below=p_below, q_above=q_above, q_below=q_below, relative_error=RELATIVE_ERROR
        )

    def _both_sides(self, first: Integers) -> tuple[Array, Array]:
        """P[V >= first] and P[V < first] = P[V >= 1 - first]."""
        assert self._profile is not None  # asked only of laws that differ
        size, place = np.unique(np.maximum(first, 1 - first), return_inverse=True)
        law = self._profile.law
        if len(law.groups) == 1 and law.groups[0].count == 1 and law.groups[0].variance <= _SUMMED:
            values = one_sided_tails(law.groups[0].variance, size)
        else:
            values = self._profile.tails_float(size.astype(np.float64))
        small = values[place].reshape(first.shape)
        return np.where(first >= 1, small, 1 - small), np.where(first >= 1, 1 - small, small)

    # balls ------------------------------------------------------------------------------------------------------------

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        if self._profile is None:
            return identical_laws()._delta_balls(epsilons)
        return [self._profile.delta(exactly(epsilon), ACCURACY) for epsilon in epsilons]

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        profile = self._profile
        if profile is None:
            return identical_laws()._log_delta_balls(epsilons)
        return [log_delta_ball(profile.delta, exactly(e), complement=profile.complement) for e in epsilons]

    def _epsilon_ball(self, delta: Fraction) -> arb:
        if self._profile is None or delta == 1:
            return arb(0)
        return arb("inf") if delta == 0 else epsilon_ball(self._profile.delta, delta)

    def _beta_ball(self, alpha: Fraction) -> arb:
        if self._profile is None or alpha in (0, 1):
            return refine(lambda: ball(1 - alpha), bits=ACCURACY)
        return self._profile.beta(alpha, ACCURACY)

    def _renyi_ball(self, order: Fraction) -> arb:
        profile = self._profile
        return arb(0) if profile is None else refine(lambda: profile.law.renyi(order), bits=ACCURACY, name="renyi")

    def _advantage_ball(self) -> arb:
        return arb(0) if self._profile is None else self._profile.delta(Fraction(0), ACCURACY)

    def __repr__(self) -> str:
        text = ", ".join(f"({g.variance}, {g.shift}, {g.count})" for g in self.groups[:8])
        return f"DiscreteGaussianLoss.from_groups([{text}{', ...' if len(self.groups) > 8 else ''}])"


def _steps_above(law: DiscreteGaussians, losses: Array) -> Integers:
    """The least k with rho + h k above each loss, exactly: by fractions where float64 does not tell."""
    places = (losses - float(law.rho)) / float(law.step)
    near = np.abs(places - np.round(places)) <= 1e-14 * (1 + np.abs(places) + abs(float(law.rho / law.step)))
    firsts = np.floor(places)
    for i in np.flatnonzero(near).tolist():
        firsts.flat[i] = math.floor((Fraction(float(losses.flat[i])) - law.rho) / law.step)
    steps: Integers = firsts.astype(np.int64) + 1
    return steps


def _embedding(dim: int, s: Fraction, mu_squared: Fraction) -> tuple[Coordinates, ...]:
    """The d + 1 coordinates of the correlated count release; none if mu = 0."""
    if mu_squared == 0:
        return ()
    variance = (dim + s) / mu_squared
    return grouped([(variance, 1, dim), (variance / s, 1, 1)])
