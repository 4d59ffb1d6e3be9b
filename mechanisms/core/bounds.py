"""What a mechanism of known structure states: bounds from above, and what given neighbours attain.

    above: holds for every pair of neighbours     `Dominating`, `MuBound`, `RhoBound`, `DeltaBound`
    below: attained by a pair that is given       `AttainedLoss`, `NearbyPairs`, `KnownEvent`, `TailEvents`

A `WorstPair` stands in both lists. Everything that is said of a mechanism is derived from them: a verdict, how much
noise a claim needs, what several mechanisms spend together. Each list has the cheapest entries first; an entry has a
``cost``, by which the two lists are walked together.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Final, final

import scipy
from flint import arb

from dpverdict.audit.losses.base import NORMAL_VARIATES, REAL_ARITHMETIC, PrivacyLoss
from dpverdict.audit.losses.domains import EventBound
from dpverdict.balls import Enclosure, ball, precision
from dpverdict.mechanisms.core.guarantees import Guarantee
from dpverdict.mechanisms.core.neighbours import NeighbourPair

BY_HAND: Final = 0
FORMULA: Final = 1
CURVE: Final = 2
SEARCH: Final = 3
"""How long an entry takes: to read two probabilities, to evaluate a formula, a curve, or many of them."""


_VACUOUS: Final = 600
"""How far rho may be above epsilon before its bound on delta is 1 to every digit."""
_CONCENTRATED_BITS: Final = 120


class Above:
    """A bound that holds for every pair of neighbours.

    Attributes:
        because: why it holds, in words.
        assumptions: what a certificate that rests on it takes for granted about the noise.
        cost: how long it takes, one of `BY_HAND` to `SEARCH`.
    """

    __slots__ = ()
    cost: ClassVar[int] = CURVE
    because: str
    assumptions: tuple[str, ...]


class Below:
    """What two neighbouring datasets attain.

    Attributes:
        pair: the datasets.
        description: the pair in words.
    """

    __slots__ = ()
    cost: ClassVar[int] = CURVE
    pair: NeighbourPair
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _LossAbove(Above):
    loss: PrivacyLoss
    description: str
    justification: str
    because: str = field(init=False, repr=False, compare=False)
    assumptions: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        because = f"{self.description}; {self.justification}" if self.description else self.justification
        object.__setattr__(self, "because", because)
        object.__setattr__(self, "assumptions", self.loss.assumptions)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Dominating(_LossAbove):
    """A privacy loss that dominates that of every pair: delta(epsilon) of none is above its own, at any epsilon.

    Attributes:
        loss: the privacy loss.
        description: the pair that comes nearest to it, in words; empty where there is nothing to say.
        justification: why it dominates.
    """


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WorstPair(_LossAbove, Below):
    """A pair of neighbours whose privacy loss dominates that of every other: in both lists.

    Attributes:
        loss: the privacy loss of the pair; of both directions where they differ.
        description: the pair in words.
        justification: why nothing is worse.
        pair: the datasets.
    """

    pair: NeighbourPair


@dataclass(frozen=True, slots=True, kw_only=True)
class _QuantityAbove(Above):
    because: str
    source: str
    assumptions: tuple[str, ...] = (REAL_ARITHMETIC, NORMAL_VARIATES)
    cost: ClassVar[int] = FORMULA


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MuBound(_QuantityAbove):
    """Every pair is mu-GDP.

    Attributes:
        mu_squared: mu^2, exactly.
        source: by what it is known, for the sentence "mu^2, of known batches, ...".
        because: why it holds.
        assumptions: what is taken for granted about the noise.
    """

    mu_squared: Fraction


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RhoBound(_QuantityAbove):
    """Every pair is rho-zCDP, and so of Renyi divergence at most a rho at every order a > 1.

    Attributes:
        rho: exactly.
        source, because, assumptions: as of `MuBound`.
    """

    rho: Fraction


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaBound(_QuantityAbove):
    """An upper bound on delta(epsilon) of every pair, at one epsilon at a time.

    Attributes:
        at: from epsilon to a ball whose upper end no delta(epsilon) exceeds; None where it says nothing.
        source, because, assumptions: as of `MuBound`; a source may be empty.
    """

    at: Callable[[Fraction], arb | None]


def concentrated(rho: Fraction, source: str, because: str, assumptions: tuple[str, ...]) -> tuple[Above, ...]:
    """What follows from rho-zCDP of every pair: Renyi divergences, and delta(epsilon) by the best of them."""

    def at(epsilon: Fraction) -> arb | None:
        vacuous = epsilon <= 0 or rho >= epsilon + _VACUOUS
        return None if vacuous else concentrated_delta_upper(rho, epsilon)

    return (
        RhoBound(rho=rho, source=source, because=because, assumptions=assumptions),
        DeltaBound(at=at, source=source, because=because, assumptions=assumptions),
    )


def concentrated_delta_upper(rho: Fraction, epsilon: Fraction) -> arb:
    """An upper bound on delta(epsilon), epsilon > 0, of every rho-zCDP pair.

    It is exp(m ((1 + m) rho - epsilon)) m^m/(1 + m)^(1 + m), which holds for every m > 0; m is taken close to the best.

    Reference: Canonne, Kamath and Steinke 2020, Proposition 12 and Corollary 13 (arXiv:2004.00010).
    """
    at, r = float(epsilon), float(rho)
    slope = scipy.optimize.brentq(
        lambda x: (2 * math.exp(x) + 1) * r - at - math.log1p(math.exp(-x)), -700.0, 700.0, xtol=1e-14
    )
    with precision(_CONCENTRATED_BITS):
        m = ball(Fraction(math.exp(slope)))
        bound = (m * ((1 + m) * ball(rho) - ball(epsilon)) + m * m.log() - (1 + m) * m.log1p()).exp()
    return bound


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AttainedLoss(Below):
    """The privacy loss of one pair of neighbours, in the direction from ``pair.dataset``, or in both.

    Attributes:
        pair: the datasets.
        loss: at most their privacy loss: theirs, or that of a part of the release.
        description: the pair in words.
    """

    pair: NeighbourPair
    loss: PrivacyLoss
    description: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NearbyPairs(Below):
    """A family of pairs, of which one is made for each epsilon.

    Attributes:
        shown: the one that is shown where no epsilon is asked for.
        at_level: from an epsilon to a pair that attains about as much as any pair does there, by its loss or an event.
    """

    shown: AttainedLoss
    at_level: Callable[[Fraction], AttainedLoss | KnownEvent]
    pair: NeighbourPair = field(init=False, repr=False, compare=False)
    description: str = field(init=False, repr=False, compare=False)
    cost: ClassVar[int] = SEARCH

    def __post_init__(self) -> None:
        object.__setattr__(self, "pair", self.shown.pair)
        object.__setattr__(self, "description", self.shown.description)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class KnownEvent(Below):
    """A pair with an event for each epsilon, whose two probabilities are bounded.

    Attributes:
        pair: the datasets.
        description: the pair in words.
        event: from an epsilon to the event.
    """

    pair: NeighbourPair
    description: str
    event: Callable[[Fraction], EventBound]
    cost: ClassVar[int] = BY_HAND


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BreakingEvent:
    """An event that breaks a claim, with what it shows of the quantity of the claim.

    Attributes:
        event: the set of outputs, in words.
        probability, neighbour_probability: enclosures of P(event) and Q(event).
        quantity: what is compared.
        value: encloses what the pair attains.
        bound: encloses what the claim allows.
    """

    event: str
    probability: Enclosure
    neighbour_probability: Enclosure
    quantity: str
    value: Enclosure
    bound: Enclosure


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TailEvents(Below):
    """A pair whose two laws differ far in the tail as those of a Gaussian pair: no smaller mu or rho is kept.

    Attributes:
        pair: the datasets.
        description: the pair in words.
        mu_squared: mu^2 of the Gaussian pair, exactly: no smaller mu, and no rho below mu^2/2, is kept.
        source: where the mu is that of, for the sentence "mu^2 = 2 rho, of known batches, ...".
        against: from a claim to an event that breaks it; None where none is known.
    """

    pair: NeighbourPair
    description: str
    mu_squared: Fraction
    source: str
    against: Callable[[Guarantee], BreakingEvent | None]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The two lists of a mechanism, each with the cheapest entries first.

    Attributes:
        above: what holds for every pair of neighbours.
        below: what given pairs attain.
        published: where the two leave a gap, the closest bounds that are published and their source, in words.
    """

    above: tuple[Above, ...] = ()
    below: tuple[Below, ...] = field(default=())
    published: str = ""

    @staticmethod
    def of(above: Sequence[Above], below: Sequence[Below], published: str = "") -> Bounds:
        """The lists as tuples."""
        return Bounds(above=tuple(above), below=tuple(below), published=published)

    def by_cost(self) -> Iterator[Above | Below]:
        """Both lists in one, each in its own order; of `WorstPair` the first, which says all."""
        worst = False
        both: tuple[Sequence[Above | Below], ...] = (self.above, self.below)
        for entry in heapq.merge(*both, key=lambda entry: entry.cost):
            if not (worst and isinstance(entry, WorstPair)):
                worst = worst or isinstance(entry, WorstPair)
                yield entry

    @property
    def worst(self) -> WorstPair | None:
        """The exact worst pair, if one is stated."""
        return next((entry for entry in self.above if isinstance(entry, WorstPair)), None)

    @property
    def dominating(self) -> _LossAbove | None:
        """The first privacy loss that dominates every pair, if one is stated."""
        return next((entry for entry in self.above if isinstance(entry, _LossAbove)), None)
