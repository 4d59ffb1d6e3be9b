"""What a mechanism declares, held against what its code does: a declaration is not evidence.

A certificate rests on three things that a class says of itself: what its statistic is, how far neighbours move it, and
which noise is added. Of the classes here that is proved and tested; of anybody else's it is tried. The statistic is run
on the worst neighbours that were declared, and on vertices, corners and random neighbours of the records that it
accepts, twice each. What a move costs is known exactly from the declared noise, so a pair that moves further than
declared is a witness where it breaks the claim, and where it does not, it leaves no bound on the others. Releases are
compared with the declared statistic, noise and decoding from the same random numbers, bit for bit.

What is tried is not all there is: what was found to hold is still taken on trust, and the verdict says so first.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final, final

import numpy as np

from dpverdict.audit.exact.verdict import Status, Verdict
from dpverdict.audit.exact.worst_case import gdp_parameter
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss, gaussian_loss
from dpverdict.audit.statistics.sampler_tests import DeclaredLawTest, check_declared_law
from dpverdict.audit.trials.user_code import guarded
from dpverdict.balls import Real
from dpverdict.errors import InvalidValue, MechanismFailure
from dpverdict.mechanisms.core.bounds import AttainedLoss, Below, Bounds, Dominating, NearbyPairs, WorstPair
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism, StatisticMechanism, StructuredMechanism
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, NeighbourPair
from dpverdict.mechanisms.core.noise import ExactForm, Noise
from dpverdict.mechanisms.core.sensitivity import StepSpace
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import bisected, doubled
from dpverdict.numerics.text import rounded_text, short_text

ROUNDING: Final = 1e-9
"""Relative: a statistic computed in float64 may seem to move this much further than it does."""
SEED: Final = 20260101
"""Of everything tried for a verdict: the same mechanism always gets the same one."""
RANDOM_NEIGHBOURS: Final = 32
LAW_ERROR: Final = 1e-9
"""The probability that a sampler of the declared law is taken for another."""

_BUDGET: Final = 1 << 24  # numbers handed to the mechanism; the declared worst pair is tried whatever it costs
_FEW: Final = 8  # coordinates, rows and random directions
_POSITIONS: Final = 64  # of the steps of a stream
_LARGEST_USER: Final = 64  # records of one user
_FARTHEST: Final = 2.0**40  # records that reach further are bounded by what is declared, not by the check
_NEAR: Final = 2.0**-20  # a direction of which neither this nor 1 is accepted is none of the domain
_LARGEST: Final = 2.0**400  # of a statistic whose moves are computed exactly
_DECODED: Final = 256  # coordinates up to which it is tried whether a decoding forgets something

_RUN = ("check_records", "statistic", "embed", "decode", "release", "release_many", "__call__")
_STATED = ("above", "below", "privacy_bounds")
_LAW = ("add", "sample", "solve", "mu_squared", "loss")
_SPACE = ("maximise", "mu_squared", "loss", "at")


def declared_here(mechanism: StructuredMechanism) -> bool:
    """Whether the mechanism, its noise and its sensitivity space are of this library: classes, methods and values."""
    if mechanism.replaced:
        return False
    parts: list[tuple[object, tuple[str, ...]]] = [(mechanism, (*_RUN, *_STATED))]
    if isinstance(mechanism, StatisticMechanism):
        noise: Any = mechanism.noise
        parts += [(noise, _LAW), *([(noise.row, _LAW)] if hasattr(noise, "row") else [])]
    if isinstance(mechanism, AdditiveMechanism):
        parts.append((mechanism.sensitivity, _SPACE))
    return all(_ours(part, names) for part, names in parts)


def _ours(part: object, names: tuple[str, ...]) -> bool:
    kind = type(part)
    module = sys.modules.get(kind.__module__)
    if not _within(kind.__module__) or getattr(module, kind.__name__, None) is not kind:
        return False
    held = vars(part) if hasattr(part, "__dict__") else {}
    return not any(name in held for name in names) and all(_method_is_ours(part, name) for name in names)


def _method_is_ours(part: object, name: str) -> bool:
    if hasattr(part, "__dict__") and name in vars(part):
        return False
    method = getattr(type(part), name, None)
    return method is None or _within(str(getattr(method, "__module__", "")))


def _within(module: str) -> bool:
    return module.startswith("dpverdict.mechanisms.")


Decide = Callable[[Bounds], Verdict]
"""The verdict on the claim by other bounds."""


def held_to_its_code(mechanism: StructuredMechanism, bounds: Bounds, verdict: Verdict, decide: Decide) -> Verdict:
    """The verdict of what a mechanism declares, as far as what its code was seen to do leaves it standing."""
    if isinstance(mechanism, AdditiveMechanism):
        return _of_additive(mechanism, bounds, verdict, decide)
    return _of_stated(mechanism, bounds, verdict)


def _undecided(verdict: Verdict, reason: str) -> Verdict:
    return Verdict(status=Status.INCONCLUSIVE, mechanism=verdict.mechanism, claim=verdict.claim, reason=reason)


def _of_additive(mechanism: AdditiveMechanism, bounds: Bounds, verdict: Verdict, decide: Decide) -> Verdict:
    """Of a mechanism that declares a noise and a sensitivity space: neighbours are tried, and releases compared."""
    name = type(mechanism).__name__
    if not bounds.below:
        return _undecided(verdict, f"what {name} declares cannot be tried: it states no pair of neighbours")
    found, sampler = tried(mechanism, bounds, SEED), sampler_tried(mechanism, bounds.below[0].pair)

    def trust(status: Status) -> str:
        parts = [
            f"that it releases what it declares ({sampler.releases} comparisons on equal random numbers)",
            sampler.stated,
        ]
        if status is Status.CERTIFIED:
            parts.insert(0, f"that no neighbours move further than it declares (tried on {found.pairs})")
        if status is Status.CERTIFIED and found.unbounded:
            parts.append("that records lie in the declared range, since its check accepts numbers of any size")
        return f"{name} is not, as it stands, of this library: {'; '.join(parts)}"

    if found.undecided is not None or found.declared is None:
        return _undecided(verdict, f"what {name} declares cannot be tried: {found.undecided}")
    if sampler.undecided is not None:
        return _undecided(verdict, f"{name} declares one law and samples another: {sampler.undecided}")
    unattained = verdict.status is Status.REFUTED and _falls_short(found.declared, bounds)
    for pair in (*found.further, *((found.declared,) if unattained else ())):
        own = decide(Bounds(below=(pair,) if found.proves else ()))
        if own.status is Status.REFUTED:
            verdict, unattained = own, False
            break
    else:
        if found.further:
            return _undecided(
                verdict,
                f"neighbours move further than {name} declares ({found.further[0].description}), and nothing bounds "
                "the others; the claim survives on those that were tried",
            )
    if unattained:
        reason = f"what {name} declares breaks the claim, but no neighbours were found that move so far"
        return _undecided(verdict, reason)
    if verdict.status is Status.REFUTED and not decoding_keeps_all(mechanism):
        reason = f"the noisy statistic breaks the claim, but the decode of {name} may forget what shows it"
        return _undecided(verdict, reason)
    return verdict if verdict.status is Status.INCONCLUSIVE else replace(verdict, on_trust=trust(verdict.status))


def _falls_short(moved: AttainedLoss, bounds: Bounds) -> bool:
    """Whether the statistic moves the declared worst pair less than declared, beyond rounding."""
    stated = [entry.loss for entry in (*bounds.above, *bounds.below) if isinstance(entry, _WITH_LOSS)]
    declared, own = gdp_parameter(stated[0]), gdp_parameter(moved.loss)
    if declared is None or own is None:
        return moved.loss.law_key not in [loss.law_key for loss in stated]
    return own.upper < declared.lower * (1 - ROUNDING)


_WITH_LOSS = (Dominating, WorstPair, AttainedLoss)


def _of_stated(mechanism: StructuredMechanism, bounds: Bounds, verdict: Verdict) -> Verdict:
    """Of a mechanism that states its lists: they must agree, and its releases must not show that they are wrong."""
    name = type(mechanism).__name__
    found = stated_lists_tried(mechanism, bounds)
    if found.undecided is not None:
        return _undecided(verdict, f"what {name} states is wrong: {found.undecided}")
    if verdict.status is Status.INCONCLUSIVE:
        return verdict
    said = (
        "that what it states from above holds for every pair of neighbours"
        if verdict.status is Status.CERTIFIED
        else "that the pair which breaks the claim attains what it states"
    )
    trust = f"{name} is not, as it stands, of this library: {said} ({found.stated})"
    return replace(verdict, on_trust=trust)


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
        guarded(run.all, _raised, passing=_Undecided)
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


def _raised(said: str) -> MechanismFailure:
    return MechanismFailure("", f"raised {said}", "call it yourself on that dataset")


def _size(found: AttainedLoss) -> float:
    """How far a pair moves, for an order among pairs under one noise."""
    if isinstance(found.loss, DisjointLoss):
        return np.inf
    return float(found.loss.delta(0.0))


def _further(loss: PrivacyLoss, declared: PrivacyLoss) -> bool:
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


def _longer(found: PrivacyLoss, declared: PrivacyLoss) -> bool:
    """The same, by the length of the move alone where one law is moved along a line, which is quick."""
    longer = found.moves_further(declared, ROUNDING)
    return _further(found, declared) if longer is None else longer


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
        if _longer(found.loss, self.largest):
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
    if _method_is_ours(mechanism, "decode"):
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
        return guarded(probe, _raised)
    except MechanismFailure:
        return False


# the sampler ----------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerTried:
    """Whether releases are what was declared: statistic, plus noise, decoded.

    Attributes:
        releases: how many were compared.
        undecided: what is different; None if nothing is.
        law: the test of the noise against its declared law; None for the noise of this library, which is not tested,
            and for noise whose law nothing says.
        stated: what is known of the noise, in words.
    """

    releases: int
    undecided: str | None
    stated: str
    law: DeclaredLawTest | None = field(default=None)


def sampler_tried(mechanism: StatisticMechanism, pair: NeighbourPair) -> SamplerTried:
    """Compare releases with the declared statistic, noise and decoding, from the same random numbers.

    They are compared bit for bit, but for a counter of this library: it adds the exact counts after decoding the noise,
    in another order of the same sums.
    """
    compared = [0]

    def compare() -> str | None:
        for data in (pair.dataset, pair.neighbour):
            try:
                mechanism.check_records(data.copy())
            except ValueError:
                continue
            for trials, seed in ((1, SEED), (3, SEED + 1)):
                different = _other_release(mechanism, data, trials, seed)
                compared[0] += 1
                if different is not None:
                    return different
        return None

    law, stated = None, "its noise is that of this library"
    try:
        undecided = guarded(compare, _raised)
        if undecided is None and not _ours(mechanism.noise, _LAW):
            undecided = guarded(lambda: _noise_of_its_own(mechanism, pair), _raised)
        if undecided is None and not _ours(mechanism.noise, _LAW):
            law = guarded(lambda: _sampled(mechanism, pair), _raised)
            stated = "that its noise has the declared law"
            if law is None:
                stated += " (no law to compare it with is known)"
            else:
                error = rounded_text(law.error_probability)
                stated += f" ({law.tests} tests on {law.samples} draws, error probability {error})"
                if law.rejected:
                    undecided = f"its noise does not have the declared law: {law.where}, "
                    undecided += f"p <= {rounded_text(law.p_value, 3)}, at an error probability of {error}"
    except MechanismFailure as failure:
        undecided = f"its code {failure.problem} when it is sampled"
    return SamplerTried(releases=compared[0], undecided=undecided, law=law, stated=stated)


def _other_release(mechanism: StatisticMechanism, data: Array, trials: int, seed: int) -> str | None:
    def stream() -> np.random.Generator:
        return np.random.default_rng(seed)

    released = np.asarray(mechanism.release_many(data.copy(), trials, stream()))
    made = np.asarray(mechanism.decode(mechanism.noise.add(mechanism.embed(data.copy()), trials, stream())))
    same = np.array_equal(released, made)
    if _method_is_ours(mechanism, "release_many") and released.ndim == made.ndim == 2:
        made = made[:, : released.shape[1]]
        near = ROUNDING * (1.0 + float(np.abs(made).max(initial=0.0)))
        same = released.shape == made.shape and bool(np.all(np.abs(released - made) <= near))
    if not same:
        return "from the same random numbers, release_many gives another output than the declared statistic and noise"
    for name, one in (("release", mechanism.release), ("calling it", mechanism)):
        alone = np.asarray(one(data.copy(), stream()))
        if not np.array_equal(alone, np.asarray(mechanism.release_many(data.copy(), 1, stream()))[0]):
            return f"{name} and release_many differ on the same random numbers"
    return None


def _noise_of_its_own(mechanism: StatisticMechanism, pair: NeighbourPair) -> str | None:
    """Whether noise of a class that is not of this library depends on what it is added to, or is shared by releases."""
    statistic = np.asarray(mechanism.embed(pair.dataset.copy()), dtype=np.float64)
    alone = mechanism.noise.add(np.zeros_like(statistic), 3, np.random.default_rng(SEED))
    added = mechanism.noise.add(statistic.copy(), 3, np.random.default_rng(SEED))
    scale = 1.0 + np.abs(alone).max() + np.abs(statistic).max()
    if added.shape != (3, statistic.size) or np.any(np.abs(added - alone - statistic) > ROUNDING * scale):
        return "its noise depends on the statistic that it is added to"
    if statistic.size and np.array_equal(alone[0], alone[1]) and alone.any():
        return "its noise is the same in two releases"
    return None


def _sampled(mechanism: StatisticMechanism, pair: NeighbourPair) -> DeclaredLawTest | None:
    noise: Any = mechanism.noise
    base: type[Noise] | None = next((kind for kind in type(noise).__mro__ if _class_is_ours(kind)), None)
    moved = np.asarray(mechanism.embed(pair.dataset.copy()), dtype=np.float64)
    moved = moved - np.asarray(mechanism.embed(pair.neighbour.copy()), dtype=np.float64)
    return check_declared_law(noise, base, moved, error_probability=LAW_ERROR, seed=SEED)


def _class_is_ours(kind: type) -> bool:
    return _within(kind.__module__) and "add" in vars(kind) and not getattr(kind, "_is_protocol", False)


# lists that are stated ------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ListsTried:
    """Whether the lists that a mechanism states agree with each other and with its releases.

    Attributes:
        undecided: what is wrong; None if nothing was seen.
        stated: what was tried, in words.
    """

    undecided: str | None
    stated: str


def stated_lists_tried(mechanism: StructuredMechanism, bounds: Bounds) -> ListsTried:
    """Try what a mechanism states of itself: nothing attained may exceed a bound, and pairs have to be told apart."""
    pairs = [entry.pair for entry in bounds.below]
    try:
        wrong = guarded(lambda: _contradiction(bounds) or _on_pairs(mechanism, bounds), _raised)
    except MechanismFailure as failure:
        wrong = f"its code {failure.problem} on a pair that it states"
    number = f"{len(pairs)} pair{'' if len(pairs) == 1 else 's'}"
    tests = f"the two lists agree at {len(_LEVELS_TRIED)} epsilons; {number} run on equal random numbers"
    return ListsTried(undecided=wrong, stated=tests)


_LEVELS_TRIED = tuple(Fraction(k, 4) for k in (0, 1, 2, 4, 8, 16, 32))
_MOST_SEEDS = 1 << 12


def _contradiction(bounds: Bounds) -> str | None:
    """Whether something that is attained exceeds a bound from above, for certain."""
    above = [entry.loss for entry in bounds.above if isinstance(entry, Dominating | WorstPair)]
    stated = [entry.loss for entry in bounds.below if isinstance(entry, AttainedLoss | WorstPair)]
    below = [order for loss in stated for order in _both_orders(loss)]
    for bound in (loss for loss in above if loss.is_certified):
        for attained in (loss for loss in below if loss.is_certified and loss is not bound):
            for level in _LEVELS_TRIED:
                least, most = attained.certified_delta(level).lower, bound.certified_delta(level).upper
                if least > most:
                    return (
                        f"a pair attains delta({short_text(level)}) >= {least:.6g}, and its bound for every pair is "
                        f"{most:.6g}"
                    )
    return None


def _both_orders(loss: PrivacyLoss) -> Iterator[PrivacyLoss]:
    """The loss of a pair, and that of the opposite order, which a bound for every pair bounds as well."""
    yield loss
    if not loss.symmetric:
        with contextlib.suppress(InvalidValue):  # a class that cannot make it
            yield loss.reversed()


def _on_pairs(mechanism: StructuredMechanism, bounds: Bounds) -> str | None:
    """Whether a stated pair is refused, or makes the same releases on both sides although something is attained."""
    for entry in bounds.below:
        pair = entry.pair
        for side in (pair.dataset, pair.neighbour):
            try:
                mechanism.check_records(side.copy())
            except ValueError as refused:
                return f"it refuses neighbours that it states: {refused}"
        seeds = _seeds_that_show(entry)
        if seeds and all(_same_release(mechanism, pair, seed) for seed in range(seeds)):
            return f"its releases on {entry.description} are the same on both sides, for each of {seeds} seeds"
        for seed in range(2):
            alone, many = (
                np.asarray(mechanism.release(pair.dataset.copy(), np.random.default_rng(seed))),
                np.asarray(mechanism.release_many(pair.dataset.copy(), 1, np.random.default_rng(seed)))[0],
            )
            if not np.array_equal(alone, many):
                return "release and release_many differ on the same random numbers"
    return None


def _seeds_that_show(entry: Below) -> int:
    """How many seeds make equal releases as unlikely as `LAW_ERROR`, if the pair attains its loss; 0 for too many.

    Two releases from one seed are a coupling of the two laws: they differ with a probability of at least the total
    variation distance, which the loss states.
    """
    if isinstance(entry, NearbyPairs):
        entry = entry.shown
    if not (isinstance(entry, AttainedLoss | WorstPair) and entry.loss.is_certified):
        return 0
    distance = entry.loss.certified_advantage().lower
    if distance <= 0:
        return 0
    needed = 1 if distance >= 1 else math.ceil(math.log(LAW_ERROR) / math.log1p(-distance))
    return needed if needed <= _MOST_SEEDS else 0


def _same_release(mechanism: StructuredMechanism, pair: NeighbourPair, seed: int) -> bool:
    one, other = (
        np.asarray(mechanism.release(side.copy(), np.random.default_rng(seed)))
        for side in (pair.dataset, pair.neighbour)
    )
    return bool(np.array_equal(one, other))
