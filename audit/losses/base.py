"""What a privacy loss can be asked: its privacy profile, trade-off function and divergences, fast and certified.

Notation: P is the output law on a dataset, Q the one on its neighbour, L = log dP/dQ the privacy loss, and

    delta(epsilon) = sup_S P(S) - exp(epsilon) Q(S),      beta(alpha) = inf {1 - P(S) : Q(S) <= alpha}.

`PrivacyLoss` is what all losses have in common. An `ExactLoss` is given in exact numbers and answers what deciding a
claim takes; a `BallLoss` is computed in balls, and its float64 values are balls rounded to nearest.
"""

from __future__ import annotations

import contextlib
import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, ClassVar, Final, final, overload

import numpy as np
from flint import arb

from dpverdict.audit.losses.curves import ACCURACY
from dpverdict.audit.losses.domains import (
    ALPHA,
    DELTA,
    DIVERGENCE,
    EPSILON,
    LEVEL,
    LOG_PROFILE,
    ORDER,
    PROBABILITY,
    PROFILE,
    TRADE_OFF,
    Direction,
    EventBound,
    LossTails,
    PartMoments,
    Reals,
    certified,
    fast,
    rounded,
)
from dpverdict.balls import Enclosure, Enclosures, Exact, ball, exactly, precision
from dpverdict.checks import check_whole
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import as_fraction, float_above, float_below
from dpverdict.numerics.text import rounded_text
from dpverdict.risk import FALSE_ALARMS, LARGEST_LOSS, Risk, ratio_of, risk_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpverdict.audit.losses.lattice.custom import CustomLoss
    from dpverdict.audit.losses.lattice.exchange import PldPair
    from dpverdict.audit.losses.lattice.law import LatticePair
    from dpverdict.cards import Curves, ThroughPoints


composers: Final[list[Callable[[Sequence[tuple[PrivacyLoss, int]]], PrivacyLoss]]] = []
"""`composition.compose_counted`, from when it is imported, which `dpverdict.audit` does with its first name: it knows
every class of losses, and none of them it. A list in small letters is no part of the source that a certificate hashes.
"""


_USUAL_DELTA: Final = 1e-6
_TO_COMPARE: Final = 16  # bits of a profile that mostly tell whether it is below a level

REAL_ARITHMETIC: Final = "noise and sums are real numbers: rounding in the sampler is not covered"
NORMAL_VARIATES: Final = "the normal variates are independent and exact"
RANDOM_BITS: Final = "the bits of the random source are independent and uniform"
"""What a certificate may take for granted about the noise."""


class PrivacyLoss(ABC):
    """The privacy loss of one pair of output laws.

    Two roads lead to every curve. ``delta``, ``epsilon``, ``beta``, ... give float64, for a number or an array of any
    shape; each class documents their accuracy; they bound nothing. ``certified_delta``, ... give an `Enclosure` that
    certainly contains the value (an `Enclosures` for a sequence or a one-dimensional array). Numbers are taken at their
    exact value: ``0.1`` is the float, ``"0.1"`` and ``Fraction(1, 10)`` are one tenth.

    Domains: epsilon any finite real number, alpha and delta in [0, 1], order > 0 (at 1: Kullback-Leibler divergence).

    A concrete class is final and defines the methods whose name begins with an underscore. They are given numbers that
    were checked to lie in the domain.
    """

    __slots__ = ()

    symmetric: ClassVar[bool] = False
    """Whether the law of L under P is that of -L under Q, so that Q against P has the same curves."""

    @property
    def has_closed_profile(self) -> bool:
        """Whether a point of the profile is quick, so that mixtures may ask for thousands."""
        return False

    @property
    def is_certified(self) -> bool:
        """Whether the certified methods have an answer: they do for every loss but some compositions."""
        return True

    @property
    def float64_is_a_bound(self) -> bool:
        """Whether float64 curves are the side of certified bounds that claims less privacy, instead of a value between.

        Then ``epsilon`` is inf where nothing above is certain.
        """
        return False

    @property
    def is_slow_far_out(self) -> bool:
        """Whether a small delta(epsilon) takes seconds: then `delta_at_most` says where it is worth while."""
        return False

    # the two laws in words --------------------------------------------------------------------------------------------

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a certificate takes for granted about how an output is drawn from the laws: of every factor."""
        parts = [factor for factor, _ in self.factors if isinstance(factor, PrivacyLoss) and factor is not self]
        return tuple(dict.fromkeys(said for part in parts for said in part.assumptions)) or (REAL_ARITHMETIC,)

    def event_above(self, level: float) -> str:
        """The event {L > level}, in words and numbers a reader can recompute; y is the release."""
        return f"the outputs y at which the privacy loss log dP/dQ(y) exceeds {level!r}"

    def known_event(self, epsilon: Fraction) -> EventBound | None:
        """An event that shows about delta(epsilon), where {L > epsilon} itself is only known roughly; else None."""
        return None

    @property
    def law_key(self) -> tuple[object, ...]:
        """Equal for two losses of the same pair of laws; the object itself where a class does not say what tells."""
        return (id(self),)

    @property
    def exact_key(self) -> tuple[object, ...] | None:
        """Numbers and texts that determine the law exactly, for what is kept between runs; None where none are known.

        Their ``repr`` tells them apart: integers, fractions, texts, words of an enumeration, and tuples of these.
        """
        return None

    def moves_further(self, other: PrivacyLoss, slack: float) -> bool | None:
        """Whether this is one law moved by more than ``other`` times 1 + slack, where length alone tells; else None."""
        return None

    def directions(self) -> tuple[tuple[Direction | None, PrivacyLoss], ...]:
        """The losses of the pair, each with its direction: this one alone, where one direction is all that is given."""
        return ((None, self),)

    # float64 ----------------------------------------------------------------------------------------------------------

    @overload
    def delta(self, epsilon: Exact) -> float: ...
    @overload
    def delta(self, epsilon: Reals) -> Array: ...
    @final
    def delta(self, epsilon: Exact | Reals) -> float | Array:
        """The privacy profile: the hockey-stick divergence of P from Q at ``epsilon``."""
        return fast(epsilon, EPSILON, self._delta, self._nearest(self._delta_balls))

    @overload
    def log_delta(self, epsilon: Exact) -> float: ...
    @overload
    def log_delta(self, epsilon: Reals) -> Array: ...
    @final
    def log_delta(self, epsilon: Exact | Reals) -> float | Array:
        """The natural logarithm of the profile, for values that float64 cannot hold; -inf where delta is 0."""
        return fast(epsilon, EPSILON, self._log_delta, self._nearest(self._log_delta_balls))

    @overload
    def epsilon(self, delta: Exact) -> float: ...
    @overload
    def epsilon(self, delta: Reals) -> Array: ...
    @final
    def epsilon(self, delta: Exact | Reals) -> float | Array:
        """The smallest epsilon >= 0 with delta(epsilon) <= ``delta``; inf if there is none."""
        return fast(delta, DELTA, self._epsilon, self._nearest(self._epsilon_balls))

    @overload
    def beta(self, alpha: Exact) -> float: ...
    @overload
    def beta(self, alpha: Reals) -> Array: ...
    @final
    def beta(self, alpha: Exact | Reals) -> float | Array:
        """The trade-off function: the least type II error (on P) of a test of level ``alpha`` (on Q)."""
        return fast(alpha, ALPHA, self._beta, self._nearest(self._beta_balls))

    @final
    def advantage(self) -> float:
        """The total variation distance delta(0)."""
        nearest = self.is_certified and not self.float64_is_a_bound
        return float(self._advantage_ball()) if nearest else float(self._delta(np.zeros(())))

    def _nearest(self, balls: Callable[[Sequence[Exact]], list[arb]]) -> Callable[[Sequence[Exact]], list[arb]] | None:
        """The balls, where their midpoints are the values in float64."""
        return balls if self.is_certified and not self.float64_is_a_bound else None

    @overload
    def renyi(self, order: Exact) -> float: ...
    @overload
    def renyi(self, order: Reals) -> Array: ...
    @final
    def renyi(self, order: Exact | Reals) -> float | Array:
        """The Renyi divergence of P from Q of the given order; the Kullback-Leibler divergence at order 1."""
        return fast(order, ORDER, self._renyi, self._renyi_balls)

    # certified --------------------------------------------------------------------------------------------------------

    @overload
    def certified_delta(self, epsilon: Exact) -> Enclosure: ...
    @overload
    def certified_delta(self, epsilon: Reals) -> Enclosures: ...
    @final
    def certified_delta(self, epsilon: Exact | Reals) -> Enclosure | Enclosures:
        """Encloses ``delta(epsilon)``."""
        return certified(epsilon, EPSILON, self._delta_balls, PROFILE)

    @overload
    def certified_log_delta(self, epsilon: Exact) -> Enclosure: ...
    @overload
    def certified_log_delta(self, epsilon: Reals) -> Enclosures: ...
    @final
    def certified_log_delta(self, epsilon: Exact | Reals) -> Enclosure | Enclosures:
        """Encloses ``log_delta(epsilon)``."""
        return certified(epsilon, EPSILON, self._log_delta_balls, LOG_PROFILE)

    @overload
    def certified_epsilon(self, delta: Exact) -> Enclosure: ...
    @overload
    def certified_epsilon(self, delta: Reals) -> Enclosures: ...
    @final
    def certified_epsilon(self, delta: Exact | Reals) -> Enclosure | Enclosures:
        """Encloses ``epsilon(delta)``: delta(lower) > delta >= delta(upper) holds for certain if lower > 0."""
        return certified(delta, DELTA, self._epsilon_balls, LEVEL)

    @overload
    def certified_beta(self, alpha: Exact) -> Enclosure: ...
    @overload
    def certified_beta(self, alpha: Reals) -> Enclosures: ...
    @final
    def certified_beta(self, alpha: Exact | Reals) -> Enclosure | Enclosures:
        """Encloses ``beta(alpha)``."""
        return certified(alpha, ALPHA, self._beta_balls, TRADE_OFF)

    @final
    def certified_advantage(self) -> Enclosure:
        """Encloses ``advantage()``."""
        return PROFILE.enclosure(self._advantage_ball())

    @overload
    def certified_renyi(self, order: Exact) -> Enclosure: ...
    @overload
    def certified_renyi(self, order: Reals) -> Enclosures: ...
    @final
    def certified_renyi(self, order: Exact | Reals) -> Enclosure | Enclosures:
        """Encloses ``renyi(order)``."""
        return certified(order, ORDER, self._renyi_balls, DIVERGENCE)

    @property
    def factors(self) -> tuple[tuple[PrivacyLoss | CustomLoss, int], ...]:
        """The losses this one is composed of, each with the number of times: itself, if it is not composed."""
        return ((self, 1),)

    def largest(self) -> arb | None:
        """Encloses the supremum of the finite losses, at the current precision: inf without one; None if not known."""
        return None

    def moments(self) -> PartMoments | None:
        """E_P[exp(t L); L finite] at complex t, where a contour can invert it; None where it is not known."""
        return None

    # many releases ----------------------------------------------------------------------------------------------------

    def repeated(self, count: int) -> PrivacyLoss | None:
        """The loss of ``count`` independent releases, where a class has a way of its own to it; None to compose."""
        return None

    def composed_with(self, count: int, others: Sequence[tuple[PrivacyLoss | CustomLoss, int]]) -> PrivacyLoss | None:
        """The loss of so many of these and of others, each given with its number; None to compose as others are."""
        return None

    @final
    def __mul__(self, times: int) -> PrivacyLoss:
        """The loss of ``times`` independent releases on the same pair: `composition.compose` of as many equal losses.

        Raises:
            InvalidValue: not a whole number >= 0, or a loss that cannot be composed.
        """
        count = check_whole(times, "times", least=0, remedy="compose(a, b) is for losses that differ")
        return composers[-1]([(self, count)] if count else [])

    __rmul__ = __mul__

    # pictures ---------------------------------------------------------------------------------------------------------

    def enclosed_beta(self, alpha: Fraction, digits: int) -> Enclosure:
        """Encloses beta(alpha) to about ``digits`` digits: sooner than `certified_beta`, where all digits take long."""
        return self.certified_beta(alpha)

    def enclosed_epsilon(self, delta: Exact, digits: int) -> Enclosure:
        """Encloses ``epsilon(delta)`` to about ``digits`` digits: sooner than `certified_epsilon`, where all take long.

        As there, delta(lower) > delta >= delta(upper) holds for certain if lower > 0.

        >>> from dpverdict.audit import GaussianLoss, poisson_sampled
        >>> few = poisson_sampled(GaussianLoss(1), "0.01", 1000).enclosed_epsilon("1e-5", 3)
        >>> few.contains("1.82823667"), few.upper - few.lower < 1e-3 * few.upper
        (True, True)
        """
        level = DELTA.exact(delta)
        return LEVEL.enclosure(self._epsilon_to(level, math.ceil(digits * math.log2(10))))

    def _epsilon_to(self, delta: Fraction, bits: int) -> arb:
        """A ball of epsilon(delta), to about so many bits where fewer take less time."""
        return self._epsilon_balls([delta])[0]

    def through_points(self, floor: float) -> ThroughPoints | None:
        """Certified points of both curves, down to delta = ``floor``, to draw them through where values take long.

        None where a picture can ask for every point. Trade-off points are upper bounds on beta, those of the profile on
        delta.
        """
        return None

    def plot(
        self,
        *others: object,
        axes: Sequence[Axes] | None = None,
        labels: Sequence[str] | None = None,
    ) -> tuple[Axes, Axes]:
        """Draw the trade-off function and the privacy profile, those of other losses and of claims beside them.

        Args:
            others: losses, and guarantees or their texts such as "mu=1", which are drawn dashed.
            axes: two Matplotlib axes; new ones if not given.
            labels: a name for each, this one first; what they are if not given.

        Returns:
            The axes of the trade-off function, and those of the privacy profile.

        Raises:
            InvalidValue: something else to draw, not two axes, or not a label for each.
        """
        from dpverdict.cards import draw

        things = (self, *others)
        if labels is not None and len(labels) != len(things):
            raise InvalidValue("labels", len(labels), f"{len(things)}, one for each", "name this loss and the others")
        return draw([curves_of(one, None if labels is None else labels[i]) for i, one in enumerate(things)], axes)

    def __str__(self) -> str:
        from dpverdict.cards import shortened

        epsilon, delta = rounded_text(self.epsilon(_USUAL_DELTA), 3), rounded_text(_USUAL_DELTA)
        return f"{shortened(repr(self))}: epsilon {epsilon} at delta {delta}"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from dpverdict.cards import framed

        following = (
            "Next: loss.epsilon(1e-6), loss * 30 for 30 releases, loss.risk('0.001') for a person, loss.plot('mu=1')."
        )
        said = f"<strong>{escape(str(self))}</strong>", f"<div>{escape(following)}</div>"
        return framed(*said, curves=[curves_of(self, None)])

    # what it means for somebody ---------------------------------------------------------------------------------------

    def risk(self, base_rate: Exact, *, false_alarms: Sequence[Exact] = FALSE_ALARMS) -> Risk:
        """How often an attacker is right that suspects a share of some people, and whom it finds: at most.

        Both orders of the pair are looked at, where they are known: the attacker suspects that a record is in the data,
        or that it is not. From certified bounds on beta(alpha), or two-sided float64 ones where the loss has no others.

        Args:
            base_rate: the share p of the people that is suspected before the release, between 0 and 1.
            false_alarms: the shares alpha of false alarms at which the best attacks are stated, in (0, 1].

        Raises:
            InvalidValue: a share out of range.

        >>> from dpverdict.audit import GaussianLoss
        >>> print(GaussianLoss(1).risk("0.001").headline)
        An attacker who suspects 1 in 1000 and accuses as many is right at most 1 time in 55 about whom it accuses.
        """
        orders = [self]
        with contextlib.suppress(InvalidValue):
            other = self.reversed() if not isinstance(self, AddRemoveLoss) else self
            orders += [other] if other is not self else []
        both = len(orders) > 1 or self.symmetric or isinstance(self, AddRemoveLoss)
        how = "certified by ball arithmetic" if self.is_certified else "by two-sided float64 bounds, not certified"
        return risk_of(
            base_rate,
            lambda alpha: _least_missed(orders, alpha),
            _largest_ratio(orders),
            how=how if both else f"{how}, of one order of the pair",
            false_alarms=false_alarms,
        )

    # two-sided --------------------------------------------------------------------------------------------------------

    def delta_bounds(self, epsilons: Array) -> tuple[Array, Array]:
        """(lower, upper) float64 bounds on the profile at epsilons of any shape, certified where the loss is."""
        return _bounds(self.certified_delta, np.asarray(epsilons, dtype=np.float64))

    def epsilon_bounds(self, deltas: Array) -> tuple[Array, Array]:
        """(lower, upper) float64 bounds on ``epsilon(delta)`` at deltas of any shape, certified where the loss is."""
        return _bounds(self.certified_epsilon, np.asarray(deltas, dtype=np.float64))

    def beta_bounds(self, alphas: Array) -> tuple[Array, Array]:
        """(lower, upper) float64 bounds on the trade-off function at levels of any shape, certified where it is."""
        return _bounds(self.certified_beta, np.asarray(alphas, dtype=np.float64))

    # at any number of bits --------------------------------------------------------------------------------------------

    def profile(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon) in a ball, to ``bits`` accurate bits where the class can compute so many."""
        return self._delta_balls([epsilon])[0]

    def delta_at_most(self, epsilon: Fraction) -> arb:
        """An upper bound on delta(epsilon) for epsilon >= 0, where one is faster than the profile; else 1."""
        return arb(1)

    def p_above(self, level: Fraction, bits: int) -> arb:
        """P[L > level] in a ball, to ``bits`` accurate bits.

        Raises:
            InvalidValue: the class has no certified tails.
        """
        raise InvalidValue("loss", self, "one whose tails can be certified", "ask for its profile")

    def q_above(self, level: Fraction, bits: int) -> arb:
        """Q[L > level] in a ball, to ``bits`` accurate bits; raises as ``p_above``."""
        raise InvalidValue("loss", self, "one whose tails can be certified", "ask for its profile")

    def upper_tails(self, levels: Sequence[Fraction], bits: int) -> tuple[list[arb], list[arb]]:
        """``p_above`` and ``q_above`` at many levels, where a class has a quicker way to all of them."""
        return [self.p_above(level, bits) for level in levels], [self.q_above(level, bits) for level in levels]

    def certified_tails(self, loss: Exact) -> tuple[Enclosure, Enclosure]:
        """Encloses P[L > loss] and Q[L > loss]: by Neyman and Pearson, no event shows more of delta(loss)."""
        level = EPSILON.exact(loss)
        p, q = self.p_above(level, ACCURACY), self.q_above(level, ACCURACY)
        return PROBABILITY.enclosure(p), PROBABILITY.enclosure(q)

    def reversed(self) -> PrivacyLoss:
        """The privacy loss of Q against P.

        Raises:
            InvalidValue: it is not known to be the same, and the class cannot make it.
        """
        if self.symmetric:
            return self
        remedy = "make the loss of the other order by itself, and give both as AddRemoveLoss(remove=..., add=...)"
        raise InvalidValue("loss", self, "one that is known in both orders", remedy)

    # privacy loss distributions ---------------------------------------------------------------------------------------

    def tails(self, l: Array) -> LossTails:
        """P[L > l], P[L <= l], Q[L > l] and Q[L <= l] in float64, at losses of shape (n,).

        Raises:
            InvalidValue: this loss has none.
        """
        remedy = "compose or discretise a loss whose tails are known in float64"
        raise InvalidValue("loss", self, "one that has tails", remedy)

    def lattice(self, interval: float) -> LatticePair:
        """Two laws on the multiples of ``interval`` that bracket this loss: those of `lattice.discretise.lattice_pair`.

        Raises:
            InvalidValue: the loss has no tails, or the interval does not suit it.
        """
        from dpverdict.audit.losses.lattice.discretise import lattice_pair

        return lattice_pair(self.tails, interval)

    def spread(self) -> float:
        """About the size of the loss, which chooses the interval of a lattice: as `lattice.discretise.spread`.

        Raises:
            InvalidValue: the loss has no tails.
        """
        from dpverdict.audit.losses.lattice.discretise import spread

        return spread(self.tails)

    @final
    def to_pld(self, interval: float) -> PldPair:
        """Two of dp_accounting's privacy loss distributions that bracket this loss; see `lattice.exchange.to_pld`.

        Args:
            interval: the distance of neighbouring losses of the distributions, in nats.

        Raises:
            InvalidValue: the loss has no tails, or the interval is not a positive number of moderate size.
        """
        from dpverdict.audit.losses.lattice.exchange import pair_to_pld  # which itself needs this class

        return pair_to_pld(self.lattice(interval))

    # what a concrete class defines: float64 arrays of any shape -------------------------------------------------------

    @abstractmethod
    def _delta(self, epsilon: Array) -> Array: ...

    @abstractmethod
    def _log_delta(self, epsilon: Array) -> Array: ...

    @abstractmethod
    def _epsilon(self, delta: Array) -> Array: ...

    @abstractmethod
    def _beta(self, alpha: Array) -> Array: ...

    @abstractmethod
    def _renyi(self, order: Array) -> Array: ...

    # and balls, each exact or with at least 54 accurate bits ----------------------------------------------------------

    @abstractmethod
    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]: ...

    @abstractmethod
    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]: ...

    @abstractmethod
    def _epsilon_balls(self, deltas: Sequence[Exact]) -> list[arb]: ...

    @abstractmethod
    def _beta_balls(self, alphas: Sequence[Exact]) -> list[arb]: ...

    @abstractmethod
    def _renyi_balls(self, orders: Sequence[Exact]) -> list[arb]: ...

    @abstractmethod
    def _advantage_ball(self) -> arb: ...


@functools.singledispatch
def curves_of(thing: object, label: str | None) -> Curves:
    """What a picture shows of a loss, or of a claim, under the label; what it is without one.

    `dpverdict.mechanisms.core.guarantees` registers claims, and their texts.

    Raises:
        InvalidValue: neither a loss nor a claim.
    """
    raise InvalidValue("others", thing, "privacy losses and claims", 'write for example loss.plot("mu=1")')


@curves_of.register(PrivacyLoss)
def _(thing: PrivacyLoss, label: str | None) -> Curves:
    from dpverdict.cards import FLOOR, Curves

    points = thing.through_points(FLOOR)
    curves = thing if points is None else points
    return Curves(label=label or repr(thing), beta=curves.beta, delta=curves.delta, points=points)


_RISK_DIGITS = 9


def _least_missed(orders: Sequence[PrivacyLoss], alpha: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds on the smaller beta(alpha) of both orders."""
    found = []
    for loss in orders:
        if loss.is_certified:
            enclosed = loss.enclosed_beta(alpha, _RISK_DIGITS)
            found.append((enclosed.lower, enclosed.upper))
        else:  # beta falls with alpha, which may be no float64
            lower = loss.beta_bounds(np.array(min(float_above(alpha), 1.0)))[0]
            found.append((float(lower), float(loss.beta_bounds(np.array(float_below(alpha)))[1])))
    lowest, highest = (Fraction(min(ends)) for ends in zip(*found, strict=True))
    return lowest, highest


def _largest_ratio(orders: Sequence[PrivacyLoss]) -> tuple[Fraction, Fraction] | None:
    """Bounds on the exponential of the largest privacy loss of both orders; None where none is known from above."""
    bounds = []
    for loss in orders:
        try:
            if loss.is_certified:
                enclosed = loss.certified_epsilon(0)
                bounds.append((enclosed.lower, enclosed.upper))
            else:
                lower, upper = loss.epsilon_bounds(np.array(0.0))
                bounds.append((float(lower), float(upper)))
        except (InvalidValue, PrecisionExhausted):
            return None
    least, most = (max(ends) for ends in zip(*bounds, strict=True))
    if not most <= LARGEST_LOSS:
        return None
    return ratio_of(Fraction(least))[0], ratio_of(Fraction(most))[1]


def _bounds(certified: Callable[[Array], Enclosures], points: Array) -> tuple[Array, Array]:
    """The ends of the enclosures at points of any shape."""
    found = certified(points.ravel())
    return found.lower.reshape(points.shape), found.upper.reshape(points.shape)


class ExactLoss(PrivacyLoss):
    """The privacy loss of two laws given in exact numbers: it also answers what deciding a claim takes."""

    __slots__ = ()

    @property
    def largest_loss(self) -> Fraction | None:
        """The largest privacy loss, which is the pure epsilon, exactly; None where it is infinite or not rational."""
        return None

    @abstractmethod
    def least_rho(self) -> Fraction | Enclosure:
        """The least rho such that the pair is rho-zCDP: exactly where it is rational, enclosed elsewhere.

        Raises:
            InvalidValue: no certified way to the value is known.
        """

    def exact_renyi(self, order: Fraction) -> Fraction | Enclosure:
        """The Renyi divergence of an order: exactly where it is rational, enclosed elsewhere.

        Raises:
            InvalidValue: no certified way to the value is known.
        """
        return self.certified_renyi(order)

    @abstractmethod
    def delta_to(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon), enclosed to at least ``bits`` accurate bits."""

    def profile(self, epsilon: Fraction, bits: int) -> arb:
        """As ``delta_to``."""
        return self.delta_to(epsilon, bits)

    def simple_event(self, epsilon: Fraction) -> EventBound | None:
        """An event whose probabilities a reader can bound by hand, tried first against delta; None if none is known."""
        return None


class BallLoss(PrivacyLoss):
    """A privacy loss with no float64 formulas of its own, whose levels are inverted one at a time.

    A concrete class defines the balls of the profile for many epsilons at once, where they may share work, and one ball
    at a time for everything else. It may compute ``delta`` at many epsilons in a cheaper way than by rounding.
    """

    __slots__ = ()

    # float64 ----------------------------------------------------------------------------------------------------------

    def _delta(self, epsilon: Array) -> Array:
        return rounded(self._delta_balls, epsilon)

    @final
    def _log_delta(self, epsilon: Array) -> Array:
        return rounded(self._log_delta_balls, epsilon)

    @final
    def _epsilon(self, delta: Array) -> Array:
        return rounded(self._epsilon_balls, delta)

    @final
    def _beta(self, alpha: Array) -> Array:
        return rounded(self._beta_balls, alpha)

    @final
    def _renyi(self, order: Array) -> Array:
        return rounded(self._renyi_balls, order)

    # balls ------------------------------------------------------------------------------------------------------------

    @final
    def _epsilon_balls(self, deltas: Sequence[Exact]) -> list[arb]:
        return [self._epsilon_ball(exactly(delta)) for delta in deltas]

    @final
    def _beta_balls(self, alphas: Sequence[Exact]) -> list[arb]:
        return [self._beta_ball(exactly(alpha)) for alpha in alphas]

    @final
    def _renyi_balls(self, orders: Sequence[Exact]) -> list[arb]:
        return [self._renyi_ball(exactly(order)) for order in orders]

    # what a concrete class defines, each ball exact or with at least 54 accurate bits ---------------------------------

    @abstractmethod
    def _epsilon_ball(self, delta: Fraction) -> arb: ...

    @abstractmethod
    def _beta_ball(self, alpha: Fraction) -> arb: ...

    @abstractmethod
    def _renyi_ball(self, order: Fraction) -> arb: ...


@final
@dataclass(frozen=True, slots=True)
class LikelihoodRatio:
    """The logarithm of P over Q at a release y, in words.

    Attributes:
        formula: a term in y.
        symbols: what its letters mean.
    """

    formula: str
    symbols: str

    def event_above(self, level: float, direction: Direction) -> str:
        """The event that the loss of the direction exceeds the level."""
        sign = "-" if direction is Direction.ADD else ""
        return f"{sign}({self.formula}) > {level!r}, {self.symbols}: the privacy loss exceeds it"


@final
class AddRemoveLoss(PrivacyLoss):
    """The privacy losses of one mechanism in both orders of a pair of neighbours, and what holds for either.

    ``remove`` is the loss of the outputs with the record against those without it, ``add`` that of the outputs without
    it against those with it. Where the two differ, a guarantee bounds both: ``delta``, ``epsilon``, ``renyi`` and
    ``advantage`` are the larger of the two values, ``beta`` is the smaller one, certified or in float64 as the two
    losses give them. Compositions keep the orders apart and compare at the end: the same record is present, or absent,
    in every part, and which order is the worse one may change (`dpverdict.audit.losses.composition.compose`).

    Args:
        remove: the loss with the record against without.
        add: the loss without the record against with.
        ratio: the likelihood ratio of the laws with the record and without it in words, where there are some.
    """

    __slots__ = ("add", "ratio", "remove")
    remove: PrivacyLoss
    add: PrivacyLoss
    ratio: LikelihoodRatio | None

    def __init__(self, *, remove: PrivacyLoss, add: PrivacyLoss, ratio: LikelihoodRatio | None = None) -> None:
        self.remove, self.add, self.ratio = remove, add, ratio

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Those of both losses."""
        return tuple(dict.fromkeys((*self.remove.assumptions, *self.add.assumptions)))

    def directions(self) -> tuple[tuple[Direction | None, PrivacyLoss], ...]:
        """Both losses."""
        return (Direction.REMOVE, self.remove), (Direction.ADD, self.add)

    def event_of(self, direction: Direction, level: float) -> str:
        """The event that the loss of a direction exceeds the level, in words."""
        if self.ratio is not None:
            return self.ratio.event_above(level, direction)
        return (self.remove if direction is Direction.REMOVE else self.add).event_above(level)

    @property
    def is_certified(self) -> bool:
        """Whether both losses are."""
        return self.remove.is_certified and self.add.is_certified

    @property
    def float64_is_a_bound(self) -> bool:
        """Whether it is of either loss."""
        return self.remove.float64_is_a_bound or self.add.float64_is_a_bound

    def reversed(self) -> AddRemoveLoss:
        """The two orders, exchanged."""
        return AddRemoveLoss(remove=self.add, add=self.remove)

    def profile(self, epsilon: Fraction, bits: int) -> arb:
        """The larger delta(epsilon), to ``bits`` accurate bits where both losses have them."""
        value = self.remove.profile(epsilon, bits)
        if epsilon >= 0 and self.add.delta_at_most(epsilon) < value:
            return value
        return value.max(self.add.profile(epsilon, bits))

    def delta_at_most(self, epsilon: Fraction) -> arb:
        """An upper bound on both profiles, where one is faster than they are; else 1."""
        return _larger_balls([self.remove.delta_at_most(epsilon)], [self.add.delta_at_most(epsilon)])[0]

    def delta_bounds(self, epsilons: Array) -> tuple[Array, Array]:
        """(lower, upper) bounds on the larger profile, at epsilons of any shape."""
        (low, high), (other_low, other_high) = self.remove.delta_bounds(epsilons), self.add.delta_bounds(epsilons)
        return np.maximum(low, other_low), np.maximum(high, other_high)

    def epsilon_bounds(self, deltas: Array) -> tuple[Array, Array]:
        """(lower, upper) bounds on the larger epsilon, at deltas of any shape."""
        (low, high), (other_low, other_high) = self.remove.epsilon_bounds(deltas), self.add.epsilon_bounds(deltas)
        return np.maximum(low, other_low), np.maximum(high, other_high)

    def beta_bounds(self, alphas: Array) -> tuple[Array, Array]:
        """(lower, upper) bounds on the smaller trade-off function, at levels of any shape."""
        (low, high), (other_low, other_high) = self.remove.beta_bounds(alphas), self.add.beta_bounds(alphas)
        return np.minimum(low, other_low), np.minimum(high, other_high)

    def _delta(self, epsilon: Array) -> Array:
        if self.is_certified and not self.float64_is_a_bound and isinstance(self.remove, BallLoss):
            return rounded(self._delta_balls, epsilon)
        return np.maximum(self.remove._delta(epsilon), self.add._delta(epsilon))

    def _log_delta(self, epsilon: Array) -> Array:
        return np.maximum(self.remove._log_delta(epsilon), self.add._log_delta(epsilon))

    def _epsilon(self, delta: Array) -> Array:
        return np.maximum(self.remove._epsilon(delta), self.add._epsilon(delta))

    def _beta(self, alpha: Array) -> Array:
        return np.minimum(self.remove._beta(alpha), self.add._beta(alpha))

    def _renyi(self, order: Array) -> Array:
        return np.maximum(self.remove._renyi(order), self.add._renyi(order))

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        values = self.remove._delta_balls(epsilons)
        exact = [exactly(epsilon) for epsilon in epsilons]
        open_ = [
            i
            for i, (point, value) in enumerate(zip(exact, values, strict=True))
            if not (point >= 0 and self.add.delta_at_most(point) < value)
        ]
        others = self.add._delta_balls([exact[i] for i in open_])
        for i, other in zip(open_, _larger_balls([values[i] for i in open_], others), strict=True):
            values[i] = other
        return values

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return _larger_balls(self.remove._log_delta_balls(epsilons), self.add._log_delta_balls(epsilons))

    def _epsilon_balls(self, deltas: Sequence[Exact]) -> list[arb]:
        values = self.remove._epsilon_balls(deltas)
        for i, (delta, value) in enumerate(zip(deltas, values, strict=True)):
            if not self._adds_less(value, exactly(delta)):
                values[i] = _larger_balls([value], self.add._epsilon_balls([delta]))[0]
        return values

    def _epsilon_to(self, delta: Fraction, bits: int) -> arb:
        value = self.remove._epsilon_to(delta, bits)
        if self._adds_less(value, delta):
            return value
        return _larger_balls([value], [self.add._epsilon_to(delta, bits)])[0]

    def _adds_less(self, value: arb, delta: Fraction) -> bool:
        """Whether the profile of ``add`` is certainly at most delta where epsilon of ``remove`` begins."""
        if not value.is_finite():
            return False
        place, level = as_fraction(value.lower()), ball(delta)
        if self.add.delta_at_most(place) <= level:
            return True
        with contextlib.suppress(PrecisionExhausted):
            return isinstance(self.add, BallLoss) and bool(self.add.profile(place, _TO_COMPARE) <= level)
        return False

    def _beta_balls(self, alphas: Sequence[Exact]) -> list[arb]:
        both = zip(self.remove._beta_balls(alphas), self.add._beta_balls(alphas), strict=True)
        with precision(_BITS):
            return [one.min(other) for one, other in both]

    def _renyi_balls(self, orders: Sequence[Exact]) -> list[arb]:
        return _larger_balls(self.remove._renyi_balls(orders), self.add._renyi_balls(orders))

    def _advantage_ball(self) -> arb:
        return _larger_balls([self.remove._advantage_ball()], [self.add._advantage_ball()])[0]

    def __repr__(self) -> str:
        return f"AddRemoveLoss(remove={self.remove!r}, add={self.add!r})"


TwoOrders = AddRemoveLoss
"""The name before 0.6; it goes with the release after."""

_BITS = 128


def _larger_balls(ones: Sequence[arb], others: Sequence[arb]) -> list[arb]:
    with precision(_BITS):
        return [one.max(other) for one, other in zip(ones, others, strict=True)]
