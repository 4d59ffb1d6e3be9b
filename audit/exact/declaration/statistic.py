"""The statistic of a mechanism, run on the declared worst neighbours and on others that it accepts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np

from dpverdict.audit.exact.declaration.origin import (
    ROUNDING,
    SEED,
    failure_of,
    method_is_ours,
)
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss, gaussian_loss
from dpverdict.audit.trials.user_code import guarded
from dpverdict.balls import Real
from dpverdict.errors import InvalidValue, MechanismFailure
from dpverdict.mechanisms.core.bounds import AttainedLoss, Bounds
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism, StatisticMechanism
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, NeighbourPair
from dpverdict.mechanisms.core.noise import ExactForm
from dpverdict.mechanisms.core.sensitivity import StepSpace
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import bisected, doubled

RANDOM_NEIGHBOURS: Final = 32

_BUDGET: Final = 1 << 24  # numbers handed to the mechanism; the declared worst pair is tried whatever it costs
_FEW: Final = 8  # coordinates, rows and random directions
_POSITIONS: Final = 64  # of the steps of a stream
_LARGEST_USER: Final = 64  # records of one user
_FARTHEST: Final = 2.0**40  # records that reach further are bounded by what is declared, not by the check
_NEAR: Final = 2.0**-20  # a direction of which neither this nor 1 is accepted is none of the domain
_LARGEST: Final = 2.0**400  # of a statistic whose moves are computed exactly
_DECODED: Final = 256  # coordinates up to which it is tried whether a decoding forgets something


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What was found when a declaration was tried.

    Attributes:
        pairs: how many neighbours the statistic was run on.
        farthest: the largest squared GDP parameter of them, in float64; 0 for noise that is not Gaussian.
        declared: the declared worst pair as the statistic moves it; None if it could not be run.
        further: pairs that move further than declared, the farthest first.
        proves: whether their losses are exact and their releases show all of them, so that they refute.
        undecided: why nothing can be said; None if everything could be run.
        unbounded: whether the check of records accepts numbers of any size.
    """

    pairs: int
    farthest: float
    declared: AttainedLoss | None
    further: tuple[AttainedLoss, ...]
    proves: bool
    undecided: str | None
    unbounded: bool


def tried(mechanism: AdditiveMechanism, bounds: Bounds, seed: int) -> Tried:
    """Run the statistic on the declared worst pair, and on what else the mechanism accepts, twice each.

    Args:
        mechanism: what is tried.
        bounds: what it declares.
        seed: of the random neighbours.
    """
    run = _Trial(mechanism, bounds, np.random.default_rng(seed))
    undecided: str | None = None
    try:
        guarded(run.all, failure_of, passing=_Undecided)
    except _Undecided as found:
        undecided = str(found)
    except MechanismFailure as failure:
        undecided = f"its code {failure.problem} {run.doing}"
    return Tried(
        pairs=run.pairs,
        farthest=run.farthest,
        declared=run.declared,
        further=tuple(sorted(run.further.values(), key=_size, reverse=True)),
        proves=run.exact,
        undecided=undecided,
        unbounded=run.unbounded,
    )


class _Undecided(Exception):
    """What was seen leaves nothing to compare."""


def _size(found: AttainedLoss) -> float:
    """How far a pair moves, for an order among pairs under one noise."""
    if isinstance(found.loss, DisjointLoss):
        return np.inf
    return float(found.loss.delta(0.0))


def _moves_further(loss: PrivacyLoss, declared: PrivacyLoss) -> bool:
    """Whether two laws are farther apart somewhere than declared, beyond rounding; in float64, it decides nothing."""
    if isinstance(declared, DisjointLoss):
        return False
    if isinstance(loss, DisjointLoss):
        return True
    if isinstance(loss, GaussianLoss) and isinstance(declared, GaussianLoss):
        return bool(loss.mu > declared.mu * (1 + ROUNDING))
    reach = 1.5 * float(declared.epsilon(1e-12)) + 1e-12
    epsilons = np.linspace(0.0, reach, 33)
    one, other = np.asarray(loss.delta(epsilons)), np.asarray(declared.delta(epsilons))
    return bool(np.any(one > other * (1 + ROUNDING) + 1e-13))


def _is_longer_move(found: PrivacyLoss, declared: PrivacyLoss) -> bool:
    """The same, by the length of the move alone where one law is moved along a line, which is quick."""
    longer = found.moves_further(declared, ROUNDING)
    return _moves_further(found, declared) if longer is None else longer


class _Trial:
    """The statistic of one mechanism, run on pair after pair."""

    def __init__(self, mechanism: AdditiveMechanism, bounds: Bounds, rng: np.random.Generator) -> None:
        self.mechanism, self.pair, self.rng = mechanism, bounds.below[0].pair, rng
        dominating = bounds.dominating
        self.largest: PrivacyLoss = DisjointLoss() if dominating is None else dominating.loss
        self.exact = bounds.worst is not None or _decoding_is_identity(mechanism)
        self.pairs, self.farthest, self.left = 0, 0.0, _BUDGET
        self.declared: AttainedLoss | None = None
        self.further: dict[object, AttainedLoss] = {}
        self.unbounded = False
        self.doing = ""
        self._known: set[object] = set()
        records = np.concatenate([self.pair.dataset, self.pair.neighbour]).astype(np.float64)
        self.records = list({one.tobytes(): one for one in records[: 2 * _FEW]}.values())
        ends = [
            float(end) for name in ("low", "high") if (end := getattr(mechanism.sensitivity, name, None)) is not None
        ]
        self.low = min([0.0, *ends, *(float(one.min(initial=0.0)) for one in self.records)])
        self.high = max([0.0, *ends, *(float(one.max(initial=0.0)) for one in self.records)])

    def all(self) -> None:
        """Every pair of the module's list, as far as the budget goes."""
        pair = self.pair
        self.doing = "on the declared worst neighbours"
        try:
            self.mechanism.check_records(pair.dataset.copy())
        except ValueError as refused:
            raise _Undecided(f"it refuses its own declared worst neighbours: {refused}") from None
        self.compare(pair)
        self.doing = "on other records"
        if pair.records_per_user <= _LARGEST_USER:
            for dataset, neighbour in self.neighbours():
                if self.left <= 0:
                    return
                made = NeighbourPair(
                    dataset=dataset,
                    neighbour=neighbour,
                    adjacency=self.mechanism.adjacency,
                    records_per_user=pair.records_per_user,
                )
                if self.accepts(dataset) and self.accepts(neighbour):
                    self.doing = f"on {len(dataset)} against {len(neighbour)} records"
                    self.compare(made)

    def accepts(self, dataset: Array) -> bool:
        """Whether a dataset is one of the mechanism's: its own check says."""
        self.left -= dataset.size
        try:
            self.mechanism.check_records(dataset.copy())
        except (ValueError, TypeError):
            return False
        return True

    def statistic(self, dataset: Array) -> Array:
        """The statistic of a dataset, run twice."""
        size = self.mechanism.noise.size
        self.left -= 2 * (dataset.size + size)
        first, again = (np.asarray(self.mechanism.embed(dataset.copy())) for _ in range(2))
        said = f"its statistic of {len(dataset)} records"
        if first.dtype.kind not in "biuf" or first.shape != (size,):
            raise _Undecided(f"{said} is no array of {size} numbers, as its noise is: {first.dtype} of {first.shape}")
        if not np.array_equal(first, again, equal_nan=True):
            raise _Undecided(f"{said} differs between two runs: it has randomness or a memory of its own")
        value = first.astype(np.float64)
        if not np.all(np.abs(value) <= _LARGEST):  # false for NaN
            raise _Undecided(f"{said} is {value[~(np.abs(value) <= _LARGEST)][0]!r} in a coordinate")
        return value

    def compare(self, pair: NeighbourPair) -> None:
        """Note what a pair costs under the declared noise, if it is more than was declared."""
        found = self.laws(pair)
        self.pairs += 1
        if isinstance(found.loss, GaussianLoss | DisjointLoss):
            self.farthest = max(self.farthest, float(getattr(found.loss, "mu", np.inf)) ** 2)
        if self.declared is None:
            self.declared = found
        key: object = found.loss.law_key
        if isinstance(found.loss, GaussianLoss | DisjointLoss):
            key = float(found.loss.mu)
        if key in self._known or found.loss.law_key == self.largest.law_key:
            return
        self._known.add(key)
        if _is_longer_move(found.loss, self.largest):
            self.further[key] = found

    def laws(self, pair: NeighbourPair) -> AttainedLoss:
        """A pair with the loss that the statistic and the declared noise make of it."""
        here, there = self.statistic(pair.dataset), self.statistic(pair.neighbour)
        noise: Any = self.mechanism.noise
        try:
            if isinstance(noise, ExactForm):
                loss: PrivacyLoss = gaussian_loss(noise.mu_squared(here, there))
            elif hasattr(noise, "loss"):
                loss = noise.loss(here, there)
            elif hasattr(noise, "solve"):
                moved, self.exact = here - there, False  # in float64: it can show a fault, and prove none
                squared = max(0.0, float(moved @ noise.solve(moved)))
                loss = gaussian_loss(Real.of(Fraction(squared)))
            else:
                raise _Undecided(f"what a move costs is not known for {type(noise).__name__}: it has no mu_squared")
        except InvalidValue as unknown:
            raise _Undecided(f"what {pair.describe()} costs is not known: {unknown}") from None
        return AttainedLoss(pair=pair, loss=loss, description=pair.describe())

    # which neighbours -------------------------------------------------------------------------------------------------

    def neighbours(self) -> Iterator[tuple[Array, Array]]:
        """Datasets that differ in the records of one user: vertices, corners, random ones, and steps of a stream."""
        pool = self.pool()
        if not pool:
            return
        if isinstance(self.mechanism.sensitivity, StepSpace):
            yield from self._steps(pool)
        count, replaces = self.pair.records_per_user, self.mechanism.adjacency is REPLACE_ONE
        for record in pool:
            held = np.repeat(record[None], count, axis=0)
            for other in self._opposites(record, pool) if replaces else [None]:
                yield held, held[:0] if other is None else np.concatenate([other[None], held[1:]])
        for i in range(RANDOM_NEIGHBOURS):
            others = int(self.rng.integers(0, 5)) if i % 8 else 40
            position = int(self.rng.integers(0, others + 1))
            drawn = np.stack([pool[int(j)] for j in self.rng.integers(0, len(pool), others + count)])
            after = position + count
            kept = pool[int(self.rng.integers(0, len(pool)))][None] if replaces else drawn[:0]
            middle = np.concatenate([kept, drawn[position + 1 : after]]) if replaces else kept
            yield drawn, np.concatenate([drawn[:position], middle, drawn[after:]])

    def _steps(self, pool: list[Array]) -> Iterator[tuple[Array, Array]]:
        """One item changed at every step, or at some of a long stream, among zeros and among other items."""
        length = len(self.pair.dataset)
        steps = range(length)
        if length > _POSITIONS:
            steps_drawn = {0, length - 1, *(1 << k for k in range((length - 1).bit_length()))}
            steps_drawn |= set(self.rng.integers(0, length, _POSITIONS // 2).tolist())
            steps = sorted(steps_drawn)  # type: ignore[assignment]
        low, high = min(pool, key=np.sum), max(pool, key=np.sum)
        for step in steps:
            drawn = np.stack([pool[int(j)] for j in self.rng.integers(0, len(pool), length)])
            for base in (np.repeat(low[None], length, axis=0), drawn):
                one, other = base.copy(), base.copy()
                one[step], other[step] = high, low
                yield one, other

    def _opposites(self, record: Array, pool: list[Array]) -> list[Array]:
        """The record of the pool that is farthest from one, and another."""
        far = max(pool, key=lambda other: float(np.abs(record - other).sum()))
        return [far, pool[int(self.rng.integers(0, len(pool)))]]

    def pool(self) -> list[Array]:
        """Records that the mechanism accepts: the declared worst ones in every form, and the ends of its range.

        Half of the budget is left to run the statistic on them.
        """
        found: dict[bytes, Array] = {}

        def keep(record: Array) -> None:
            if self.left > _BUDGET // 2 and record.tobytes() not in found and self.accepts(record[None]):
                found[record.tobytes()] = record

        for record in self.records:
            keep(record)
            for _ in range(_FEW // 2):
                keep(np.asarray(self.rng.permutation(record.ravel()), dtype=np.float64).reshape(record.shape))
                keep(record * self.rng.choice([-1.0, 1.0], record.shape))
        zero = np.zeros(self.mechanism.record_shape)
        keep(zero)
        if zero.tobytes() in found:
            ends = [end for direction in self._directions() if (end := self._end(direction)) is not None]
            for end in ends:
                keep(end)
            for _ in range(_FEW if ends else 0):
                one, other = (ends[int(j)] for j in self.rng.integers(0, len(ends), 2))
                keep(np.where(self.rng.integers(0, 2, zero.shape) == 1, one, other))
        return list(found.values())

    def _directions(self) -> Iterator[Array]:
        """All ones, the first k, single coordinates, rows, signs, and random ones, each with its opposite."""
        shape = self.mechanism.record_shape
        size = int(np.prod(shape))
        ones = np.ones(shape)
        places = np.arange(size).reshape(shape)
        drawn = self.rng.permutation(size)[:_FEW]
        made = [ones]
        made += [
            (places < k).astype(np.float64) for k in sorted({*range(1, min(size, 2 * _FEW)), size // 2, size - 1}) if k
        ]
        made += [(places == i).astype(np.float64) for i in drawn]
        if len(shape) > 1:
            made += [
                np.where(np.arange(shape[0]).reshape(-1, *(1,) * (len(shape) - 1)) == row, ones, 0.0)
                for row in range(min(shape[0], _FEW))
            ]
        made += [self.rng.choice([-1.0, 1.0], shape) for _ in range(_FEW // 2)]
        made += [self.rng.standard_normal(shape) for _ in range(_FEW // 2)]
        for direction in made:
            yield direction
            yield -direction

    def _end(self, direction: Array) -> Array | None:
        """The farthest record along a direction that the mechanism accepts, by doubling and halving."""
        if not direction.any():
            return None

        def inside(length: float) -> bool:
            return self.left > _BUDGET // 2 and self.accepts((length * direction)[None])

        with np.errstate(divide="ignore"):
            ends = np.where(direction > 0, self.high, self.low) / np.where(direction == 0, np.nan, direction)
        declared = float(np.nanmin(ends))
        if declared and inside(declared) and not inside(np.nextafter(declared, np.inf)):
            return declared * direction
        if not inside(_NEAR) and not inside(1.0):
            return None
        low, high = doubled(inside, 0.0, 1.0, most=2 * _FARTHEST)
        if high > _FARTHEST:  # the check bounds nothing; what is declared does
            self.unbounded = True
            return declared * direction if declared else None

        def middle(low: float, high: float) -> float:
            return float(round((low + high) / 2)) if high - low > 1 and low >= 1 else (low + high) / 2

        def close(low: float, high: float) -> bool:
            return not low < middle(low, high) < high

        low, _ = bisected(inside, low, high, steps=60, close=close, middle=middle)
        return low * direction if low else None


def _decoding_is_identity(mechanism: StatisticMechanism) -> bool:
    return type(mechanism).decode is StatisticMechanism.decode and "decode" not in vars(mechanism)


def decoding_keeps_all(mechanism: StatisticMechanism) -> bool:
    """Whether what is released is known to tell as much as the noisy statistic, so that a pair refutes by its laws.

    Of a decoding that is not of this library it is tried whether it is affine and one to one.
    """
    if method_is_ours(mechanism, "decode"):
        return True  # then the declared worst case says whether it is attained
    size = mechanism.noise.size
    if size > _DECODED:
        return False

    def probe() -> bool:
        rng = np.random.default_rng(SEED)
        base = np.asarray(mechanism.decode(np.zeros((1, size))), dtype=np.float64)
        matrix = np.asarray(mechanism.decode(np.eye(size)), dtype=np.float64) - base
        points = rng.standard_normal((_FEW, size)) * 10.0 ** rng.integers(-2, 7, (_FEW, 1))
        there = np.asarray(mechanism.decode(points.copy()), dtype=np.float64)
        scale = 1.0 + np.abs(there).max() + np.abs(points).max()
        affine = bool(np.all(np.abs(there - base - points @ matrix) <= ROUNDING * scale))
        return affine and int(np.linalg.matrix_rank(matrix)) == size

    try:
        return guarded(probe, failure_of)
    except MechanismFailure:
        return False
