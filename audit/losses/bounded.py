"""The composition of losses that have neither a closed form nor a contour: two-sided bounds on every curve."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Final, NoReturn, TypeAlias, final

import numpy as np
from flint import arb

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.curves import beta_between, epsilon_between
from dpverdict.audit.losses.discrete_gaussian.atoms import MOST_VARIANCE, atoms_within
from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.audit.losses.domains import ALPHA, DELTA, EPSILON, PROFILE, LossTails
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
from dpverdict.audit.losses.lattice.law import LatticePair
from dpverdict.audit.losses.lattice.whole import (
    BITS,
    WholeComposition,
    WholeLaws,
    laws_of_atoms,
    laws_of_tails,
    laws_on_points,
)
from dpverdict.balls import Exact, ball, exactly, precision, refine
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import as_fraction

CLOSE: Final = 1e-6
"""The relative width of certified bounds, for which the lattice is made finer."""

_HALVINGS: Final = 2
_LONG: Final = 1 << 18  # points, beyond which a lattice is not made finer
_WIDE: Final = 64  # spreads, of the lattice of one factor
_BITS: Final = 128
_TAIL_BITS: Final = 80
_REACH: Final = 26.0  # standard deviations that the lattice of a composition spans
_SMALLEST_ATOM: Final = 2.0**-30
_FAR_TAIL: Final = 1e-40  # of mass outside the lattice
_NOTHING: Final = 1e-40  # of an upper bound on delta
_PROBE: Final = Fraction(1, 1 << 20)
_FARTHEST: Final = Fraction(1 << 12)
_BEYOND: Final = Fraction(1 << 20)

Factor: TypeAlias = PrivacyLoss | CustomLoss
"""A loss with tails."""


@final
class BoundedLoss(PrivacyLoss):
    """The privacy loss of a composition, bracketed by a pessimistic and an optimistic law on one lattice.

    Use `dpverdict.audit.losses.composition.compose`. Every curve has two-sided bounds (``delta_bounds``,
    ``epsilon_bounds``, ``beta_bounds``, ``log_delta_bounds``). With a factor of which only float64 tails are known,
    such as a `CustomLoss`, they are float64, with every rounding and truncation bounded and included, as far as these
    tails are as accurate as they say: never called certified. The float64 methods return the side that claims less
    privacy: ``delta``, ``log_delta`` and ``epsilon`` the upper bounds, ``beta`` the lower one. ``renyi`` is the sum of
    those of the factors.

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

    Raises:
        InvalidValue: no factors; a factor without tails; factors on different lattices.
    """

    __slots__ = ("__dict__", "_factors", "interval")
    interval: float

    def __init__(self, factors: Sequence[tuple[Factor, int]], interval: float | None = None) -> None:
        if not factors:
            raise InvalidValue("factors", "[]", "not empty", "give at least one loss to compose")
        spreads = [(_spread(part), count) for part, count in _parts(factors)]  # refuses a loss that has no tails
        self._factors = tuple(factors)
        known = {factor.law.interval for factor, _ in factors if isinstance(factor, PldLoss)}
        if len(known) > 1 or (known and interval is not None and Fraction(interval) not in known):
            remedy = "make all distributions with one interval"
            raise InvalidValue("interval", ", ".join(map(str, sorted(known))), "the same for all losses", remedy)
        if interval is None:
            interval = float(known.pop()) if known else _aligned(factors, spreads)
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
        return self if same else BoundedLoss(factors, self.interval)

    # two-sided bounds -------------------------------------------------------------------------------------------------

    def delta_bounds(self, epsilons: Array) -> tuple[Array, Array]:
        """(lower, upper) bounds on the privacy profile, at epsilons of any shape."""
        if self.is_certified:
            return super().delta_bounds(epsilons)
        points = EPSILON.floats(np.asarray(epsilons, dtype=np.float64))
        return _at_each(self._bounds.delta_bounds, points)

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
        return _at_each(self._bounds.epsilon_bounds, points)

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

    def _composition(self, halvings: int) -> WholeComposition:
        if halvings not in self._compositions:
            interval = Fraction(self.interval) / 2**halvings
            parts = [(_whole_laws(factor, interval), count) for factor, count in _parts(self.factors)]
            self._compositions[halvings] = WholeComposition(parts, interval)
        return self._compositions[halvings]

    def _enclosed(self, epsilon: Fraction) -> arb:
        """delta(epsilon), between bounds that are closer than `CLOSE` relatively, or as close as lattices get.

        Raises:
            ContradictoryBounds: they cannot both hold.
        """
        if not self.is_certified:
            self._refuse("delta_bounds")
        if abs(epsilon) > _BEYOND:  # no lattice reaches so far: the profile falls, and is at least 1 - exp(epsilon)
            with precision(_BITS):
                if epsilon < 0:
                    return (-ball(-_BEYOND).expm1()).union(arb(1))
                return self._composition(0).apart.union(self._enclosed(_BEYOND).upper())
        lower, upper = arb(0), arb(1)
        for halvings in range(_HALVINGS + 1):
            try:
                composition = self._composition(halvings)
            except InvalidValue:  # too long: what the coarser lattice has stays
                if not halvings:
                    raise
                break
            lower, upper = composition.bounds(epsilon)
            done = upper - lower <= CLOSE * upper or upper < _NOTHING
            if done or self._is_on_lattice or composition.points > _LONG:
                break
        with precision(_BITS):
            return PROFILE.ball(lower, upper)

    @property
    def _is_on_lattice(self) -> bool:
        """Whether a finer lattice says no more."""
        return all(isinstance(factor, PldLoss) for factor, _ in self.factors)

    def profile(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon), as closely as the lattice has it."""
        return self._enclosed(epsilon)

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [self._enclosed(exactly(epsilon)) for epsilon in epsilons]

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        with precision(_BITS):
            return [_log_between(value.lower(), value.upper()) for value in self._delta_balls(epsilons)]

    def _epsilon_balls(self, deltas: Sequence[Exact]) -> list[arb]:
        return [self._epsilon_ball(exactly(delta)) for delta in deltas]

    def _epsilon_ball(self, delta: Fraction) -> arb:
        if not self.is_certified:
            self._refuse("epsilon_bounds")
        if delta == 1:
            return arb(0)
        highest = Fraction(1)
        with precision(_BITS):
            while not self._composition(0).bounds(highest)[1] <= ball(delta):
                highest *= 2
                if highest > _FARTHEST:
                    if self._composition(0).apart > ball(delta):
                        return arb("inf")
                    return arb(0).union(arb("inf"))  # no epsilon up to 2^12 is certainly large enough
        return epsilon_between(self._enclosed, delta, highest)

    def _beta_balls(self, alphas: Sequence[Exact]) -> list[arb]:
        return [self._beta_ball(exactly(alpha)) for alpha in alphas]

    def _beta_ball(self, alpha: Fraction) -> arb:
        if not self.is_certified:
            self._refuse("beta_bounds")
        if alpha == 1:
            return arb(0)
        if alpha == 0:
            with precision(_BITS):
                return 1 - self._enclosed(_FARTHEST).union(self._composition(0).apart)
        return beta_between(self._enclosed, alpha, Fraction(64))

    def _renyi_balls(self, orders: Sequence[Exact]) -> list[arb]:
        return [self._renyi_ball(exactly(order)) for order in orders]

    def _renyi_ball(self, order: Fraction) -> arb:
        parts = [(_with_divergence(factor)._renyi_balls([order])[0], count) for factor, count in self.factors]
        return refine(lambda: sum((part * count for part, count in parts), start=arb(0)), bits=53, start=96)

    def _advantage_ball(self) -> arb:
        return self._enclosed(Fraction(0))

    def _refuse(self, instead: str) -> NoReturn:
        remedy = f"use {instead}: float64 bounds with an error ledger"
        raise InvalidValue("loss", self, "one whose curve can be certified", remedy)

    def __repr__(self) -> str:
        shown = ", ".join(f"{factor!r} x {count}" for factor, count in self.factors[:4])
        rest = ", ..." if len(self.factors) > 4 else ""
        return f"BoundedLoss({shown}{rest}; interval {self.interval!r})"


def _log_between(lower: arb, upper: arb) -> arb:
    """The logarithms of the numbers between two, of which the lower one may be 0."""
    if not upper > 0:
        return arb("-inf")
    return upper.log().union(lower.log() if lower > 0 else arb("-inf"))


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


def _whole_laws(factor: Factor, interval: Fraction) -> WholeLaws:
    """The laws of one factor on the lattice, in whole numbers."""
    if isinstance(factor, PldLoss):
        law = factor.law
        losses = range(law.lowest, law.lowest + law.masses.size)
        with precision(BITS + _BITS):
            points = [(arb(mass), i) for i, mass in zip(losses, law.masses.tolist(), strict=True) if mass > 0]
            return laws_on_points(points, law.interval, arb(law.infinity_mass))
    if isinstance(factor, FiniteLoss):
        with precision(BITS + _BITS):
            return laws_of_atoms(factor.atom_balls(), interval, factor.infinite_mass(BITS + _BITS))
    if isinstance(factor, DiscreteGaussianLoss) and factor.groups[0].variance <= MOST_VARIANCE:  # one coordinate
        with precision(BITS + _BITS):
            atoms, others = atoms_within(factor.groups[0], BITS)
            return laws_of_atoms(atoms, interval, arb(0), others=others)
    assert isinstance(factor, PrivacyLoss)  # its tails are certified
    first, last = lattice_range(factor.tails, float(interval), _FAR_TAIL)
    if isinstance(factor, LaplaceLoss) and len(factor.groups) == 1 and factor.groups[0][1] == 1:
        with precision(BITS + _BITS):
            return laws_of_tails(*_laplace_tails(factor.groups[0][0], interval, first, last), first, interval)
    p = [factor.p_above(i * interval, _TAIL_BITS) for i in range(first, last + 1)]
    q = [factor.q_above(i * interval, _TAIL_BITS) for i in range(first, last + 1)]
    return laws_of_tails(p, q, first, interval)


def _laplace_tails(shift: Fraction, interval: Fraction, first: int, last: int) -> tuple[list[arb], list[arb]]:
    """P[L > l] = 1 - exp((l - s)/2)/2 and Q[L > l] = exp(-(l + s)/2)/2 for -s <= l < s, at the multiples of h."""
    p, q = [], []
    for i in range(first, last + 1):
        level = i * interval
        inside = -shift <= level < shift
        outside = arb(1 if level < -shift else 0)
        p.append(1 - ball((level - shift) / 2).exp() / 2 if inside else outside)
        q.append(ball(-(level + shift) / 2).exp() / 2 if inside else outside)
    return p, q


def _spread(factor: Factor) -> float:
    if isinstance(factor, FiniteLoss):  # an infinite loss has no place on the lattice
        with precision(_BITS):
            atoms = [(float(mass), float(loss)) for mass, loss in factor.atom_balls()]
        return max(math.sqrt(math.fsum(mass * loss * loss for mass, loss in atoms)), 2.0**-40)
    return factor.spread() if isinstance(factor, PrivacyLoss) else spread(factor.tails)


def _aligned(factors: Sequence[tuple[Factor, int]], spreads: Sequence[tuple[float, int]]) -> float:
    """The default interval, and with few kinds of atoms, one that divides that of the most frequent factor.

    It is so large that neither a factor much wider than the others nor the composition makes the lattice too long.
    """
    widest = max(size for size, _ in spreads)
    whole = math.sqrt(math.fsum(count * size**2 for size, count in spreads))
    least = 2.0 ** math.ceil(math.log2(max(_WIDE * widest / 2, _REACH * whole) / _LONG))
    interval = max(default_interval(spreads), least)
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
