"""The composition of losses that have neither a closed form nor a contour: two-sided bounds on every curve."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Final, TypeAlias, final

import numpy as np
from flint import arb

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.curves import (
    FARTHEST,
    beta_between,
    epsilon_between,
    first_within,
    log_between,
    q_above_of_profile,
)
from dpverdict.audit.losses.discrete_gaussian.atoms import MOST_VARIANCE, atoms_within
from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.audit.losses.domains import ALPHA, DELTA, EPSILON, LEVEL, PROFILE, EventBound, LossTails
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.audit.losses.finite.pld import PldLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.losses.lattice.bounds import METHOD, CompositionLedger, LatticeBounds
from dpverdict.audit.losses.lattice.custom import CustomLoss
from dpverdict.audit.losses.lattice.discretise import (
    aligned_interval,
    default_interval,
    lattice_pair,
    lattice_range,
    spread,
)
from dpverdict.audit.losses.lattice.kept import kept_laws
from dpverdict.audit.losses.lattice.law import LatticePair, masses_between
from dpverdict.audit.losses.lattice.whole import (
    BITS,
    ComposedLaws,
    WholeComposition,
    WholeLaws,
    composed_laws,
    laws_of_atoms,
    laws_of_tails,
    laws_on_points,
)
from dpverdict.balls import Exact, Quantity, ball, exactly, precision, refine
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import as_fraction

CLOSE: Final = 1e-6
"""The relative width of certified bounds, for which the lattice is made finer."""

HALVINGS: Final = 8
"""So often the step is halved, at most."""
_LONG: Final = 1 << 18  # points, beyond which a lattice is not made finer
_WIDE: Final = 64  # spreads, of the lattice of one factor
_BITS: Final = 128
_TAIL_BITS: Final = 80
_REACH: Final = 26.0  # standard deviations that the lattice of a composition spans
_SMALLEST_ATOM: Final = 2.0**-30
_FAR: Final = 1e-26  # of an upper bound on delta, below which what is cut off matters more than the step
_WIDE_AS_TAILS: Final = 1e-5  # relative: lattices for one epsilon take seconds
_ROUNDS: Final = 4  # of lattices for one epsilon
_KNOWN_WIDTH: Final = 1e-2  # relative, below which it tells how small a step has to be
_TINY: Final = 1e-290
_KEPT: Final = 4
_TAIL_STEP: Final = 16  # half as many bits is the distance of the slopes
_PROBE: Final = Fraction(1, 1 << 20)
_BEYOND: Final = Fraction(1 << 20)

_LEAST_BITS: Final = 20
_TAIL: Final = 1e-40  # of mass outside the lattice
_LEAST_MASS: Final = 1e-295
_SHARE: Final = 1e-9  # of the profile, of mass above a lattice that is made for one epsilon
_FIRST_CELLS: Final = 1 << 15  # of a factor on a lattice that is refined as bounds are wide
_FEW_CELLS: Final = 1 << 14  # of the first lattice for one epsilon, which tells how fine the next has to be
_MOST_CELLS: Final = 1 << 17
_FINER: Final = 16  # the next one, where it does not tell
_COARSER: Final = 16
_DEPTH: Final = 80.0  # of tilted mass below the lattice, as a logarithm
_POINTS: Final = 4096  # of a law that steers
_EXPONENTS: Final = 200

Factor: TypeAlias = PrivacyLoss | CustomLoss
"""A loss with tails."""


@final
class BoundedLoss(PrivacyLoss):
    """The privacy loss of a composition, bracketed by a pessimistic and an optimistic law on one lattice.

    Use `dpverdict.audit.losses.composition.compose`. Every curve has two-sided bounds (``delta_bounds``,
    ``epsilon_bounds``, ``beta_bounds``, ``log_delta_bounds``). With a factor of which only float64 tails are known,
    such as a `CustomLoss`, they are float64, with every rounding and truncation bounded and included, as far as these
    tails are as accurate as they say: never called certified. The float64 methods return the side that claims less
    privacy: ``delta``, ``log_delta``, ``epsilon`` and ``advantage`` the upper bounds, ``beta`` the lower one, however
    far apart the bounds are: ``epsilon`` is inf where ``certified_epsilon`` ends at inf. ``renyi`` is the sum of those
    of the factors.

    Where the tails of all factors are certified (``is_certified``), so are the bounds: there the laws are composed in
    whole numbers (`dpverdict.audit.losses.lattice.whole`), on finer and finer lattices until they are a relative 1e-6
    apart, or the lattice gets too long. They stay wider in two places: beside an atom that is no point of the lattice,
    by as much as its mass times a cell; and above about 100 nats, where the masses under Q that are below 2^-256 take
    the lower bound down to the mass of an infinite loss. ``certified_renyi`` exists where that of every factor does.

    Args:
        factors: the losses with the number of times each is composed; at least one, each with tails.
        interval: the step of the lattice in nats; the bracket narrows with its square, wherever the atoms of the loss
            are. Without one: that of a factor that is on a lattice, or else about a 500th of the spread of a factor: a
            power of 2, or a divisor of an atom of the most frequent Laplace or finite factor, if all Laplace factors
            have one shift. Of many factors it is larger, so that the lattice has some 2^18 points.
        halvings: how often the step is halved where the bounds are not close; with 0 there is this lattice alone.
        between: makes two certified losses whose curves are on either side of this one, lower and upper, which are
            asked first where the tails of a factor are not certified; None where there are none.

    Raises:
        InvalidValue: no factors; a factor without tails; factors on different lattices.
    """

    __slots__ = ("__dict__", "_factors", "_halvings", "_make_sides", "interval")
    interval: float

    def __init__(
        self,
        factors: Sequence[tuple[Factor, int]],
        interval: float | None = None,
        *,
        halvings: int = HALVINGS,
        between: Callable[[], tuple[PrivacyLoss, PrivacyLoss] | None] | None = None,
    ) -> None:
        if not factors:
            raise InvalidValue("factors", "[]", "not empty", "give at least one loss to compose")
        spreads = [
            (_spread_of_factor(part), count) for part, count in _parts(factors)
        ]  # refuses a loss that has no tails
        self._factors, self._halvings, self._make_sides = tuple(factors), halvings, between
        known = {factor.law.interval for factor, _ in factors if isinstance(factor, PldLoss)}
        if len(known) > 1 or (known and interval is not None and Fraction(interval) not in known):
            remedy = "make all distributions with one interval"
            raise InvalidValue("interval", ", ".join(map(str, sorted(known))), "the same for all losses", remedy)
        if interval is None:
            interval = float(known.pop()) if known else _default_interval_of(factors, spreads)
        self.interval = interval

    @property
    def factors(self) -> tuple[tuple[Factor, int], ...]:
        """The losses, each with the number of times it is composed."""
        return self._factors

    @property
    def route(self) -> str:
        """How the bounds are computed."""
        return "lattice in whole numbers" if self.is_certified else METHOD

    @cached_property
    def is_certified(self) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Whether the tails of all factors are, so that there are certified bounds on the profile."""
        return all(_has_certified_tails(factor) for factor, _ in _parts(self.factors))

    @property
    def float64_is_a_bound(self) -> bool:
        """Yes: of a number in text or of a fraction too."""
        return True

    def explain(self) -> str:
        """The factors, how the bounds are computed, and how wide they are at epsilon = 0."""
        count = sum(times for _, times in self.factors)
        lower, upper = (bound.item() for bound in self.delta_bounds(np.zeros(())))
        return (
            f"{count} factors, {len(self.factors)} of them distinct, on a lattice of step {self.interval:.3g}. "
            f"Route: {self.route}; delta(0) is between {lower:.17g} and {upper:.17g}."
        )

    def reversed(self) -> PrivacyLoss:
        """The composition of the factors in the other order; itself where both orders of each are the same.

        Raises:
            InvalidValue: a factor is known in one order only.
        """
        factors: list[tuple[Factor, int]] = []
        for factor, count in self.factors:
            if not isinstance(factor, PrivacyLoss):
                return PrivacyLoss.reversed(self)
            factors.append((factor.reversed(), count))
        same = all(mine is other for (mine, _), (other, _) in zip(self.factors, factors, strict=True))
        return self if same else BoundedLoss(factors, self.interval, halvings=self._halvings)

    # two-sided bounds -------------------------------------------------------------------------------------------------

    def delta_bounds(self, epsilons: Array) -> tuple[Array, Array]:
        """(lower, upper) bounds on the privacy profile, at epsilons of any shape."""
        if self.is_certified:
            return super().delta_bounds(epsilons)
        points = EPSILON.floats(np.asarray(epsilons, dtype=np.float64))
        return self._closest(PROFILE, lambda side, at: side.delta_bounds(at), self._delta_on_lattice, points)

    def _delta_on_lattice(self, points: Array) -> tuple[Array, Array]:
        return _at_each(self._bounds.delta_bounds, points)

    @cached_property
    def _sides(self) -> tuple[PrivacyLoss, PrivacyLoss] | None:
        """Certified losses whose curves are on either side of this one."""
        return None if self._make_sides is None else self._make_sides()

    def _closest(
        self,
        quantity: Quantity,
        ask: Callable[[PrivacyLoss, Array], tuple[Array, Array]],
        on_lattice: Callable[[Array], tuple[Array, Array]],
        points: Array,
    ) -> tuple[Array, Array]:
        """The bounds of the losses on either side, and those of the lattice where there are none or they are wide."""
        if self._sides is None:
            return on_lattice(points)
        one, other = self._sides
        lower, upper = ask(one, points)[0], ask(other, points)[1]
        if (upper - lower > CLOSE * np.abs(upper)).any():
            low, high = on_lattice(points)
            lower, upper = np.maximum(lower, low), np.minimum(upper, high)
        return quantity.bounds(lower, upper)

    def log_delta_bounds(self, epsilons: Array) -> tuple[Array, Array]:
        """(lower, upper) bounds on its logarithm; -inf where the ledger is larger than the value."""
        if self.is_certified:
            found = self.certified_log_delta(np.asarray(epsilons, dtype=np.float64).ravel())
            shape = np.shape(epsilons)
            return found.lower.reshape(shape), found.upper.reshape(shape)
        points = EPSILON.floats(np.asarray(epsilons, dtype=np.float64))
        return _at_each(self._bounds.log_delta_bounds, points)

    def epsilon_bounds(self, deltas: Array) -> tuple[Array, Array]:
        """(lower, upper) bounds on the smallest epsilon >= 0 with delta(epsilon) <= delta; inf if none is found."""
        if self.is_certified:
            return super().epsilon_bounds(deltas)
        points = DELTA.floats(np.asarray(deltas, dtype=np.float64))
        return self._closest(
            LEVEL,
            lambda side, at: side.epsilon_bounds(at),
            lambda at: _at_each(self._bounds.epsilon_bounds, at),
            points,
        )

    def beta_bounds(self, alphas: Array) -> tuple[Array, Array]:
        """(lower, upper) bounds on the trade-off function, at levels of any shape."""
        if self.is_certified:
            return super().beta_bounds(alphas)
        levels = ALPHA.floats(np.asarray(alphas, dtype=np.float64))
        return self._bounds.beta_bounds(levels)

    def ledgers(self, epsilon: Exact) -> tuple[CompositionLedger, CompositionLedger]:
        """The errors charged to the upper and to the lower bound on delta(epsilon)."""
        return self._bounds.ledgers(epsilon)

    @cached_property
    def _bounds(self) -> LatticeBounds:
        return LatticeBounds([(self._pair(part), count) for part, count in _parts(self.factors)])

    def _pair(self, factor: Factor) -> LatticePair:
        if isinstance(factor, PldLoss):
            return factor.as_pair()
        if isinstance(factor, PrivacyLoss):
            return factor.lattice(self.interval)
        return lattice_pair(factor.tails, self.interval)

    def tails(self, l: Array) -> LossTails:
        """None: a composition has bounds.

        Raises:
            InvalidValue: always.
        """
        remedy = "compose its factors in one compose(...), or the to_pld(interval) of each"
        raise InvalidValue("loss", self, "one that has tails", remedy)

    # float64: the side that claims less privacy -----------------------------------------------------------------------

    def _delta(self, epsilon: Array) -> Array:
        return self.delta_bounds(epsilon)[1]

    def _log_delta(self, epsilon: Array) -> Array:
        return self.log_delta_bounds(epsilon)[1]

    def _epsilon(self, delta: Array) -> Array:
        return self.epsilon_bounds(delta)[1]

    def _beta(self, alpha: Array) -> Array:
        return self.beta_bounds(alpha)[0]

    def _renyi(self, order: Array) -> Array:
        total = np.zeros_like(order)
        for factor, count in self.factors:
            total = total + count * _with_divergence(factor)._renyi(order)
        return total

    # balls ------------------------------------------------------------------------------------------------------------

    @cached_property
    def _compositions(self) -> dict[int, WholeComposition]:
        """By how many times the interval is halved."""
        return {}

    @cached_property
    def _tilted(self) -> dict[tuple[Fraction, Fraction, int], WholeComposition]:
        """The last that were made for one epsilon, by it, the interval and the most cells of a factor."""
        return {}

    def _composition(self, halvings: int) -> WholeComposition:
        if halvings not in self._compositions:
            interval = Fraction(self.interval) / 2**halvings
            self._compositions[halvings] = _whole_composition(_parts(self.factors), interval)
        return self._compositions[halvings]

    def _refused(self, instead: str) -> None:
        if not self.is_certified:
            remedy = f"use {instead}: float64 bounds with an error ledger"
            raise InvalidValue("loss", self, "one whose curve can be certified", remedy)

    def _enclosed(self, epsilon: Fraction) -> arb:
        """delta(epsilon), between bounds that are closer than `CLOSE` relatively, or as close as lattices get.

        Raises:
            ContradictoryBounds: they cannot both hold.
        """
        self._refused("delta_bounds")
        if abs(epsilon) > _BEYOND:  # no lattice reaches so far: the profile falls, and is at least 1 - exp(epsilon)
            with precision(_BITS):
                if epsilon < 0:
                    return (-ball(-_BEYOND).expm1()).union(arb(1))
                return self._apart.union(self._enclosed(_BEYOND).upper())
        if self._is_beyond(epsilon):
            return self._apart
        halvings, (lower, upper) = 0, self._composition(0).bounds(epsilon)
        before = math.inf
        while upper >= _FAR and (width := float((upper - lower) / upper)) <= before / 2:
            finer = self.finer(halvings, width)
            if finer is None:
                break
            try:
                lower, upper = self._composition(finer).bounds(epsilon)
            except InvalidValue:  # too long: what the coarser lattice has stays
                break
            halvings, before = finer, width
        return self._ended(lower, upper)

    def profile_on(self, epsilon: Fraction, halvings: int) -> arb:
        """delta(epsilon), between bounds on the lattice whose step is halved so often.

        Raises:
            InvalidValue: it would be too long.
        """
        if abs(epsilon) > _BEYOND or self._is_beyond(epsilon):
            return self._enclosed(epsilon)
        return self._ended(*self._composition(halvings).bounds(epsilon))

    def _ended(self, lower: arb, upper: arb) -> arb:
        """The ball between bounds on the profile."""
        with precision(_BITS):
            if self._has_given_masses:  # the sum of which may be a little more than 1
                lower = lower.min(arb(1))
            return PROFILE.ball(lower, upper)

    def _is_beyond(self, epsilon: Fraction) -> bool:
        """Whether no finite loss is above epsilon."""
        with precision(_BITS):
            largest = largest_of(self.factors)
            return largest is not None and bool(largest <= ball(epsilon))

    @cached_property
    def _apart(self) -> arb:
        """P[L infinite] of the laws that are given: others have none."""
        with precision(_BITS):
            finite = arb(1)
            for factor, count in self.factors:
                if isinstance(factor, FiniteLoss):
                    finite *= (1 - factor.infinite_mass(_BITS)) ** count
                elif isinstance(factor, PldLoss):
                    finite *= (1 - arb(factor.law.infinity_mass)) ** count
            return arb(0) if finite == 1 else 1 - finite

    def finer(self, halvings: int, width: float) -> int | None:
        """How often to halve the step for close bounds, where so wide ones, relatively, fall with its square.

        None where bounds are close, or the lattice would get too long, or be no closer.
        """
        if width <= CLOSE or self._is_on_lattice:
            return None
        products = sum(count.bit_length() for _, count in _parts(self.factors))  # about, for each of three laws
        points = self._composition(halvings).points * max(products // 4, 1)
        room = max((2 * _LONG // max(points, 1)).bit_length() - 1, 0)
        most = min(self._halvings, halvings + room)
        return min(halvings + math.ceil(math.log2(width / CLOSE) / 2), most) if most > halvings else None

    @property
    def _has_given_masses(self) -> bool:
        """Whether some law is on the masses of a distribution that was handed over."""
        return any(isinstance(factor, PldLoss) for factor, _ in self.factors)

    def closer(self, epsilon: Fraction, found: arb) -> arb:
        """delta(epsilon), of which a ball is found: closer far in the tail, where that is wide (`narrowed`)."""
        is_close = found.upper() >= _FAR or found.upper() - found.lower() <= _WIDE_AS_TAILS * found.upper()
        if is_close or not self._halvings or self._is_on_lattice or not 0 < epsilon <= _BEYOND:
            return found
        return self.narrowed(epsilon, found)

    def narrowed(self, epsilon: Fraction, known: arb) -> arb:
        """delta(epsilon), epsilon > 0, of which a ball is known: closer on lattices that are made for that epsilon.

        Raises:
            ContradictoryBounds: what is known, and what these lattices say, cannot both hold.
        """
        lower, upper = known.lower(), known.upper()
        used, step = None, Fraction(self.interval) / 2 ** max(len(self._compositions) - 1, 0)
        for _ in range(_ROUNDS):
            if _are_close(lower, upper) or not upper > _TINY:
                break
            width, cells = float((upper - lower) / upper), _MOST_CELLS
            if width < _KNOWN_WIDTH:  # of second order in the step
                step /= 2 ** math.ceil(math.log2(1.2 * math.sqrt(width / CLOSE)))
            elif used is None:
                cells = _FEW_CELLS
            else:
                step /= _FINER
            try:
                made = self._tilted_composition(epsilon, step, cells)
            except (InvalidValue, PrecisionExhausted):  # too long, or a factor that is not known so far out
                break
            step = made.interval
            if used is not None and step >= used:
                break
            used, (below, above) = step, made.bounds(epsilon)
            with precision(_BITS):
                lower, upper = lower.max(below), upper.min(above)
        with precision(_BITS):
            return PROFILE.ball(lower, upper)

    def _tilted_composition(self, epsilon: Fraction, step: Fraction, cells: int) -> WholeComposition:
        key = epsilon, step, cells
        if key not in self._tilted:
            made = tilted_composition(_parts(self.factors), step, epsilon, cells)
            while len(self._tilted) >= _KEPT:
                del self._tilted[next(iter(self._tilted))]
            self._tilted[key] = made
        return self._tilted[key]

    @property
    def _is_on_lattice(self) -> bool:
        """Whether a finer lattice says no more."""
        return all(isinstance(factor, PldLoss) for factor, _ in self.factors)

    def profile(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon), as closely as the lattice has it."""
        return self._enclosed(epsilon)

    def q_above(self, level: Fraction, bits: int) -> arb:
        """The probability of a loss above the level under the second law, as closely as the profile tells."""
        self._refused("delta_bounds")
        return q_above_of_profile(self.profile, level, _TAIL_STEP)

    def p_above(self, level: Fraction, bits: int) -> arb:
        """The probability of a loss above the level under the first law, as ``q_above``."""
        q_above = self.q_above(level, bits)
        with precision(_BITS):
            return self._enclosed(level) + ball(level).exp() * q_above

    def known_event(self, epsilon: Fraction) -> EventBound:
        """The event that shows most of delta(epsilon) on the finest lattice for it, with its probabilities."""
        self._refused("delta_bounds")
        made = [composition for (level, _, _), composition in self._tilted.items() if level == epsilon]
        if not made:
            self._enclosed(epsilon)
            made = list(self._compositions.values())
        composition = min(made, key=lambda one: one.interval)
        interval = composition.interval
        place, p, q = composition.event(epsilon)
        count = sum(times for _, times in self.factors)
        words = (
            f"the outputs y at which the {count} privacy losses log dP/dQ(y), each rounded down to a multiple of "
            f"{float(interval)!r} between the ends of its lattice, add up to at least {float(place * interval)!r}, "
            "or one of them is infinite"
        )
        with precision(_BITS):
            return EventBound(event=words, p_ball=p + composition.apart, q_ball=q)

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        points = [exactly(epsilon) for epsilon in epsilons]
        return [self.closer(epsilon, self._enclosed(epsilon)) for epsilon in points]

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        with precision(_BITS):
            return [log_between(value.lower(), value.upper()) for value in self._delta_balls(epsilons)]

    def _epsilon_balls(self, deltas: Sequence[Exact]) -> list[arb]:
        return [self._epsilon_ball(exactly(delta)) for delta in deltas]

    def _epsilon_ball(self, delta: Fraction) -> arb:
        self._refused("epsilon_bounds")
        if delta == 1:
            return arb(0)
        composition = self._composition(0)
        if composition.apart > ball(delta):
            return arb("inf")
        return epsilon_between(self._enclosed, delta, first_within(lambda x: composition.bounds(x)[1], delta))

    def _beta_balls(self, alphas: Sequence[Exact]) -> list[arb]:
        return [self._beta_ball(exactly(alpha)) for alpha in alphas]

    def _beta_ball(self, alpha: Fraction) -> arb:
        self._refused("beta_bounds")
        if alpha == 1:
            return arb(0)
        if alpha == 0:
            with precision(_BITS):
                return 1 - self._enclosed(FARTHEST).union(self._composition(0).apart)
        return beta_between(self._enclosed, alpha, Fraction(64))

    def _renyi_balls(self, orders: Sequence[Exact]) -> list[arb]:
        return [self._renyi_ball(exactly(order)) for order in orders]

    def _renyi_ball(self, order: Fraction) -> arb:
        parts = [(_with_divergence(factor)._renyi_balls([order])[0], count) for factor, count in self.factors]
        return refine(lambda: sum((part * count for part, count in parts), start=arb(0)), bits=53, start=96)

    def _advantage_ball(self) -> arb:
        return self._enclosed(Fraction(0))

    def __repr__(self) -> str:
        shown = ", ".join(f"{factor!r} x {count}" for factor, count in self.factors[:4])
        rest = ", ..." if len(self.factors) > 4 else ""
        return f"BoundedLoss({shown}{rest}; interval {self.interval!r})"


def certified_lattice(factors: Sequence[tuple[Factor, int]]) -> BoundedLoss | None:
    """The composition between certified laws on a lattice; None where some factor has none, or it gets too long."""
    try:
        found = BoundedLoss(factors)
    except InvalidValue:
        return None
    return found if found.is_certified else None


def coarse_lattice(factors: Sequence[tuple[Factor, int]], coarser: int) -> BoundedLoss | None:
    """The composition on one lattice whose step is so many times the usual one: wider bounds, in less time.

    A lattice of a 64th of the points decides most claims: its bounds are some thousandths apart. None where some factor
    has no certified tails.
    """
    try:
        usual = BoundedLoss(factors)
        found = BoundedLoss(factors, usual.interval * coarser, halvings=0)
    except InvalidValue:
        return None
    return found if found.is_certified else None


def largest_of(factors: Sequence[tuple[Factor, int]]) -> arb | None:
    """Encloses the supremum of the finite losses of a composition, at the current precision; None if not known."""
    total = arb(0)
    for factor, count in factors:
        own = factor.largest() if isinstance(factor, PrivacyLoss) else None
        if own is None:
            return None
        total += count * own
    return total.max(arb(0))


def _are_close(lower: arb, upper: arb) -> bool:
    return bool(upper - lower <= CLOSE * upper)


def _at_each(bounds: Callable[[Exact], tuple[float, float]], points: Array) -> tuple[Array, Array]:
    """The lower and the upper bounds at points of any shape."""
    pairs = np.array([bounds(point) for point in points.ravel().tolist()], dtype=np.float64).reshape(*points.shape, 2)
    return pairs[..., 0], pairs[..., 1]


def _parts(factors: Sequence[tuple[Factor, int]]) -> list[tuple[Factor, int]]:
    """The factors, vectors by their coordinates: these have short laws, whose tails cost next to nothing."""
    parts: list[tuple[Factor, int]] = []
    for factor, count in factors:
        if isinstance(factor, LaplaceLoss | DiscreteGaussianLoss) and factor.groups:
            parts += [(coordinate, number * count) for coordinate, number in factor.coordinates()]
        else:
            parts.append((factor, count))
    return parts


def _has_certified_tails(factor: Factor) -> bool:
    """Whether its law is known exactly, or its tails in balls to many bits."""
    if isinstance(factor, PldLoss | FiniteLoss):
        return True
    if not isinstance(factor, PrivacyLoss):
        return False
    try:
        tails = factor.p_above(_PROBE, _TAIL_BITS), factor.q_above(_PROBE, _TAIL_BITS)
    except (InvalidValue, PrecisionExhausted):
        return False
    return all(tail.rel_accuracy_bits() >= _TAIL_BITS or tail.is_exact() for tail in tails)


def _spread_of_factor(factor: Factor) -> float:
    if isinstance(factor, FiniteLoss):  # an infinite loss has no place on the lattice
        with precision(_BITS):
            atoms = [(float(mass), float(loss)) for mass, loss in factor.atom_balls()]
        return max(math.sqrt(math.fsum(mass * loss * loss for mass, loss in atoms)), 2.0**-40)
    return factor.spread() if isinstance(factor, PrivacyLoss) else spread(factor.tails)


def _default_interval_of(factors: Sequence[tuple[Factor, int]], spreads: Sequence[tuple[float, int]]) -> float:
    """The default interval, and with few kinds of atoms, one that divides that of the most frequent factor.

    It is so large that neither a factor much wider than the others, the rare losses of one, nor the composition makes
    the lattice too long.
    """
    widest = max(size for size, _ in spreads)
    whole = math.sqrt(math.fsum(count * size**2 for size, count in spreads))
    least = 2.0 ** math.ceil(math.log2(max(_WIDE * widest / 2, _REACH * whole) / _LONG))
    interval = max(default_interval(spreads), least)
    are_refined = all(_has_certified_tails(factor) for factor, _ in _parts(factors))
    most = _FIRST_CELLS if are_refined else _LONG
    for factor, _ in _parts(factors):  # whose largest losses may be rare, and far beyond its spread
        if _is_known_by_tails(factor) and _cells(factor, interval) > most:
            while (cells := _cells(factor, interval)) > _FEW_CELLS:  # a coarser lattice may reach further
                interval *= 2.0 ** math.ceil(math.log2(cells / _FEW_CELLS))
    shifts: Counter[Fraction] = Counter()
    atoms: Counter[Fraction] = Counter()
    for factor, count in factors:
        if isinstance(factor, LaplaceLoss):
            shifts.update({shift: times * count for shift, times in factor.groups})
        elif isinstance(factor, FiniteLoss) and (atom := _usual_atom(factor)) is not None:
            atoms[atom] += count
    if len(shifts) > 1 or not shifts + atoms:
        return interval
    atom, _ = max([*shifts.items(), *atoms.items()], key=lambda item: item[1])
    return interval if 2 * atom < least else aligned_interval(atom, max(1, round(atom / Fraction(interval))))


def _is_known_by_tails(factor: Factor) -> bool:
    """Whether its laws in whole numbers are made of its tails."""
    own = not isinstance(factor, PldLoss | FiniteLoss | DiscreteGaussianLoss)
    return own and isinstance(factor, PrivacyLoss) and _has_certified_tails(factor)


def _cells(factor: Factor, interval: float) -> int:
    first, last = lattice_range(factor.tails, interval, _TAIL)
    return last - first


def _usual_atom(factor: FiniteLoss) -> Fraction | None:
    """About the size of the loss != 0 of the largest mass; None where there is none."""
    with precision(_BITS):
        atoms = [(mass.mid(), abs(loss).mid()) for mass, loss in factor.atom_balls()]
    losses = [(float(mass), as_fraction(size)) for mass, size in atoms if size > _SMALLEST_ATOM]
    return max(losses)[1] if losses else None


def _with_divergence(factor: Factor) -> PrivacyLoss:
    if isinstance(factor, PrivacyLoss):
        return factor
    remedy = "its tails determine no Renyi divergence; use delta, epsilon or beta"
    raise InvalidValue("loss", factor, "one that has a Renyi divergence", remedy)


# the laws of one factor -----------------------------------------------------------------------------------------------


def whole_laws(
    factor: PrivacyLoss | CustomLoss, interval: Fraction, tilt: Fraction = Fraction(0), above: float = _TAIL
) -> WholeLaws:
    """The three laws of one factor whose tails are certified.

    Args:
        factor: the loss; a vector by its coordinates.
        interval: the step h of the lattice.
        tilt: theta of `dpverdict.audit.losses.lattice.whole`.
        above: about how much mass under P may be above the lattice.
    """
    with precision(BITS + _BITS):
        if isinstance(factor, PldLoss):
            law = factor.law
            losses = range(law.lowest, law.lowest + law.masses.size)
            masses = [(arb(mass), i) for i, mass in zip(losses, law.masses.tolist(), strict=True) if mass > 0]
            finer, infinite = law.interval / interval, arb(law.infinity_mass)
            if finer.denominator == 1:
                points = [(mass, i * finer.numerator) for mass, i in masses]
                return laws_on_points(points, interval, infinite, tilt)
            atoms = [(mass, ball(i * law.interval)) for mass, i in masses]
            return laws_of_atoms(atoms, interval, infinite, tilt)
        if isinstance(factor, FiniteLoss):
            return laws_of_atoms(factor.atom_balls(), interval, factor.infinite_mass(BITS + _BITS), tilt)
        if isinstance(factor, DiscreteGaussianLoss) and factor.groups[0].variance <= MOST_VARIANCE:  # one coordinate
            atoms, others = atoms_within(factor.groups[0], BITS - math.floor(min(math.log2(above / _TAIL), 0)))
            return laws_of_atoms(atoms, interval, arb(0), tilt, others=others)
    assert isinstance(factor, PrivacyLoss)  # its tails are certified
    first, last = _lattice_range_of(factor, interval, tilt, above)
    levels = [i * interval for i in range(first, last + 1)]
    if isinstance(factor, LaplaceLoss) and len(factor.groups) == 1 and factor.groups[0][1] == 1:
        with precision(BITS + _BITS):
            return laws_of_tails(*_laplace_tails(factor.groups[0][0], levels), first, interval, tilt)
    return laws_of_tails(*factor.upper_tails(levels, _TAIL_BITS), first, interval, tilt)


def _whole_composition(
    parts: Sequence[tuple[Factor, int]], interval: Fraction, tilt: Fraction = Fraction(0), above: float = _TAIL
) -> WholeComposition:
    """The composition of factors whose tails are certified (`whole_laws`), from disk where it took long before."""

    def make() -> ComposedLaws:
        return composed_laws([(whole_laws(factor, interval, tilt, above), count) for factor, count in parts])

    own = [
        (type(factor).__qualname__, factor.exact_key, count)
        for factor, count in parts
        if isinstance(factor, PrivacyLoss)
    ]
    known = len(own) == len(parts) and all(key is not None for _, key, _ in own)
    key = (tuple(own), interval, tilt, above) if known else None
    return WholeComposition(kept_laws(key, [type(factor) for factor, _ in parts], make), interval, tilt)


def _lattice_range_of(factor: PrivacyLoss, interval: Fraction, tilt: Fraction, above: float) -> tuple[int, int]:
    """The first and the last point of a lattice that leaves next to nothing below, of tilted mass, and above."""
    first, last = lattice_range(factor.tails, float(interval), _TAIL)
    if not tilt:
        return first, last
    last = max(_last_point(factor, interval, above), last)
    knots = np.linspace(float(first * interval), float(last * interval), _POINTS)
    masses = masses_between(factor.tails(knots)).p
    with np.errstate(divide="ignore", invalid="ignore"):
        heights = np.log(masses) + float(tilt) * knots[1:]
    kept = np.flatnonzero(heights > np.nanmax(heights) - _DEPTH)
    return max(first, math.floor(knots[kept[0]] / float(interval)) - 1), last  # beyond it the loss counts as infinite


def _last_point(factor: PrivacyLoss, interval: Fraction, above: float) -> int:
    """About the first point with at most so much mass above it: looked for on coarser lattices too, which reach on."""
    step = float(interval)
    while True:
        last = lattice_range(factor.tails, step, above)[1] * step
        if step >= 1 or factor.tails(np.array([last])).p_above[0] <= 2 * above:
            return math.ceil(last / float(interval))
        step *= _COARSER


def _laplace_tails(shift: Fraction, levels: Sequence[Fraction]) -> tuple[list[arb], list[arb]]:
    """P[L > l] = 1 - exp((l - s)/2)/2 and Q[L > l] = exp(-(l + s)/2)/2 for -s <= l < s, at every level l."""
    p, q = [], []
    for level in levels:
        inside = -shift <= level < shift
        outside = arb(1 if level < -shift else 0)
        p.append(1 - ball((level - shift) / 2).exp() / 2 if inside else outside)
        q.append(ball(-(level + shift) / 2).exp() / 2 if inside else outside)
    return p, q


# far in the tail ------------------------------------------------------------------------------------------------------


def tilted_composition(
    parts: Sequence[tuple[PrivacyLoss | CustomLoss, int]],
    interval: Fraction,
    epsilon: Fraction,
    cells: int = _MOST_CELLS,
) -> WholeComposition:
    """The composition on a lattice for one epsilon > 0, tilted to where the profile there is made.

    The exponent is that of Chernoff's bound. What is above the lattice is next to nothing of the largest profile of
    a part, which that of the composition is not below. All of it steers: any choice bounds.

    Args:
        parts: losses whose tails are certified, each with the number of times it occurs.
        interval: the step, or a larger one by a power of 2 where the lattice would be too long.
        epsilon: where the profile is asked for.
        cells: the most that one part may have.

    Raises:
        InvalidValue: too long a lattice.
        PrecisionExhausted: a part that is not known so far out.
    """
    count = sum(times for _, times in parts)
    known = [(factor, times) for factor, times in parts if isinstance(factor, PrivacyLoss)]
    largest = max((float(factor.profile(epsilon, _LEAST_BITS).lower()) for factor, _ in known), default=0.0)
    above = max(largest * _SHARE / count, _LEAST_MASS)
    laws = [(*_floats(factor, interval, above), times) for factor, times in known]
    tilt = Fraction(_chernoff_exponent(laws, float(epsilon)))
    spans = [0.0]
    for factor, _ in known:
        if not isinstance(factor, PldLoss | FiniteLoss):
            first, last = _lattice_range_of(factor, interval, tilt, above)
            spans.append((last - first) / cells)
    step = interval * 2 ** max(0, math.ceil(math.log2(max(max(spans), 1.0))))
    return _whole_composition(known, step, tilt, above)


def _floats(factor: PrivacyLoss, interval: Fraction, above: float) -> tuple[Array, Array]:
    """Losses that increase, and about the masses under P there."""
    if isinstance(factor, PldLoss):
        return factor.law.losses, factor.law.masses
    atoms: Sequence[tuple[arb, arb]] = ()
    with precision(_BITS):
        if isinstance(factor, FiniteLoss):
            atoms = factor.atom_balls()
        elif isinstance(factor, DiscreteGaussianLoss) and factor.groups[0].variance <= MOST_VARIANCE:
            atoms, _ = atoms_within(factor.groups[0], BITS - math.floor(min(math.log2(above / _TAIL), 0)))
        if atoms:
            table = np.array(sorted((float(loss), float(mass)) for mass, loss in atoms))
            return table[:, 0], table[:, 1]
    first, last = lattice_range(factor.tails, float(interval), _TAIL)
    if above < _TAIL:
        last = max(_last_point(factor, interval, above), last)
    knots = np.linspace(float(first * interval), float(last * interval), _POINTS)
    masses = masses_between(factor.tails(knots)).p
    return (knots[1:] + knots[:-1]) / 2, masses


def _chernoff_exponent(laws: Sequence[tuple[Array, Array, int]], epsilon: float) -> float:
    """The exponent theta > 0 of the least E exp(theta (L - epsilon)), about."""
    width = max(float(losses[-1] - losses[0]) / losses.size for losses, _, _ in laws)
    widest = max(float(np.abs(losses).max()) for losses, _, _ in laws)
    exponents = np.geomspace(1e-2 / widest, min(100 / width, 1e12), _EXPONENTS)
    total = -exponents * epsilon
    for losses, masses, times in laws:
        inside = masses > 0
        heights = exponents[:, None] * losses[inside] + np.log(masses[inside])
        total += times * np.logaddexp.reduce(heights, axis=1)
    best = float(exponents[int(total.argmin())])
    if not math.isfinite(best):
        raise InvalidValue("epsilon", epsilon, "where the bound of Chernoff is known", "ask for delta_bounds")
    return best
