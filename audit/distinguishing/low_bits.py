"""Does the rounding of a mechanism betray its data? A search for float64 outputs that only one dataset produces.

The analysis of a mechanism is about real numbers, the outputs are float64. This audit looks at their bits, where an
audit of the real numbers does not: it learns sets of outputs on a part of the trials, chooses one on a second part, and
counts it on fresh trials with the joint test. A set that is found refutes the claim as a claim about float64. That none
is found says "no leak of these kinds", not "safe".

There are three kinds of sets, each of one coordinate and kept as data, so that an event is the same set whoever looks:

* low bits: |x - c| < 2^e and the lowest set bit of x is at most 2^b. The sum of a value and a noise near its negative
  is exact and a multiple of the spacing of the value, so one dataset has no finer bits there (Mironov, On significance
  of the least significant bits for differential privacy, CCS 2012);
* multiples: x lies within 2^-20 g of a + g Z. Noise on a grid keeps the grid's offset, which tells the data;
* values: x is one of finitely many numbers. A sampler that can return few numbers near a point returns some often.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.distinguishing.fixed_size import checked_error, checked_samples, samplers
from dpverdict.audit.losses.base import curves_of
from dpverdict.audit.scores.serialization import number_of, whole_of
from dpverdict.audit.statistics.joint_test import Counts, Order, epsilon_lower, joint_p_value
from dpverdict.audit.statistics.proportions import proportion_lower, proportion_upper
from dpverdict.audit.trials.run import AnyMechanism
from dpverdict.cards import answer_card
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import Guarantee, as_guarantee
from dpverdict.mechanisms.core.neighbours import Neighbours
from dpverdict.numerics.arrays import Array, Integers
from dpverdict.numerics.text import at_least, rounded_text

Truth = NDArray[np.bool_]

WITHOUT_BITS: Final = 4096
"""Above every exponent of a float64: the lowest set bit of 0; its negative, below all, is the exponent of 0."""

NEAR_GRID: Final = 2.0**-20
"""Of the grid: how near to a point of it an output counts as on it."""

MOST_VALUES: Final = 100_000
EXPLORED: Final = 0.25
"""Of the trials: half of these learn sets, the other half chooses one."""
MOST_COORDINATES: Final = 64
"""Coordinates that are looked at: a leak through rounding is in every coordinate of a vector, or in a few."""
CHOICE_LEVEL: Final = 0.05
"""Of the bounds by which a set is chosen; it costs nothing, the trials are discarded."""
_EPSILONS: Final = np.concatenate([[0.0], np.geomspace(0.01, 30, 60)])


def exponents(x: Array) -> Integers:
    """e with 2^(e-1) <= |x| < 2^e; -4096 for 0.

    >>> exponents(np.array([1.0, 0.75, -3.0, 0.0])).tolist()
    [1, 0, 2, -4096]
    """
    _, found = np.frexp(x)
    return np.where(x == 0, -WITHOUT_BITS, found).astype(np.int64)


def lowest_bits(x: Array) -> Integers:
    """b with x an odd multiple of 2^b; 4096 for 0.

    >>> lowest_bits(np.array([1.0, 0.75, 6.0, 0.0, 0.1])).tolist()
    [0, -2, 1, 4096, -55]
    """
    mantissa, exponent = np.frexp(x)
    whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    _, position = np.frexp((whole & -whole).astype(np.float64))
    return np.where(x == 0, WITHOUT_BITS, exponent.astype(np.int64) - 53 + position - 1).astype(np.int64)


class OutputSet(Protocol):
    """A set of outputs."""

    def contains(self, outputs: Array) -> Truth:
        """Whether each row of ``outputs``, shape (trials, m), is in the set."""
        ...

    def describe(self) -> dict[str, object]:
        """The set as data, for a witness."""
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LowBitSet:
    """|x - centre| < 2^exponent and the lowest set bit of x is at most 2^bit, x the output's ``coordinate``."""

    coordinate: int
    centre: float
    exponent: int
    bit: int

    def contains(self, outputs: Array) -> Truth:
        """Whether each row is in the set."""
        x = outputs[:, self.coordinate]
        near = exponents(x - self.centre) <= self.exponent
        found: Truth = near & (lowest_bits(x) <= self.bit)
        return found

    def describe(self) -> dict[str, object]:
        """The set as data."""
        return {
            "kind": "low bits",
            "coordinate": self.coordinate,
            "centre": self.centre,
            "exponent": self.exponent,
            "bit": self.bit,
            "in words": f"|x[{self.coordinate}] - {self.centre!r}| < 2^{self.exponent}, lowest set bit <= 2^{self.bit}",
        }


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MultiplesOfGrid:
    """x is within 2^-20 grid of offset + grid Z, x the output's ``coordinate``."""

    coordinate: int
    offset: float
    grid: float

    def contains(self, outputs: Array) -> Truth:
        """Whether each row is in the set."""
        steps = (outputs[:, self.coordinate] - self.offset) / self.grid
        found: Truth = np.abs(steps - np.rint(steps)) <= NEAR_GRID
        return found

    def describe(self) -> dict[str, object]:
        """The set as data."""
        return {
            "kind": "multiples",
            "coordinate": self.coordinate,
            "offset": self.offset,
            "grid": self.grid,
            "in words": f"x[{self.coordinate}] is on the grid {self.offset!r} + {self.grid!r} Z",
        }


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ValueSet:
    """x is one of ``values``, sorted; x the output's ``coordinate``."""

    coordinate: int
    values: tuple[float, ...]

    def contains(self, outputs: Array) -> Truth:
        """Whether each row is in the set."""
        x, known = outputs[:, self.coordinate], np.array(self.values)
        found: Truth = np.isin(x, known)
        return found

    def describe(self) -> dict[str, object]:
        """The set as data."""
        return {
            "kind": "values",
            "coordinate": self.coordinate,
            "values": list(self.values),
            "in words": f"x[{self.coordinate}] is one of {len(self.values)} numbers",
        }


def set_from_data(data: Mapping[str, Any]) -> OutputSet:
    """The set of outputs that ``data`` describe, as `Finite.describe` wrote it.

    Raises:
        KeyError, TypeError, ValueError: data that no set describes itself by.
    """
    coordinate = whole_of(data, "coordinate")
    match data["kind"]:
        case "low bits":
            bit, exponent = whole_of(data, "bit", least=-2000), whole_of(data, "exponent", least=-2000)
            return LowBitSet(coordinate=coordinate, centre=number_of(data, "centre"), exponent=exponent, bit=bit)
        case "multiples":
            grid = number_of(data, "grid")
            if not grid > 0:
                raise ValueError("a grid is > 0")
            return MultiplesOfGrid(coordinate=coordinate, offset=number_of(data, "offset"), grid=grid)
        case "values":
            known = dict(enumerate(data["values"]))
            return ValueSet(coordinate=coordinate, values=tuple(number_of(known, i) for i in known))
        case kind:
            raise ValueError(f"no set is of kind {kind}")


def low_bit_sets(outputs: Array, coordinate: int, centres: tuple[float, ...]) -> list[LowBitSet]:
    """The sets of low bits that these outputs suggest: at most 12 nearnesses and 12 bits around each centre."""
    x = outputs[:, coordinate]
    bits = _most_frequent_values(lowest_bits(x))
    return [
        LowBitSet(coordinate=coordinate, centre=centre, exponent=int(e), bit=int(b))
        for centre in centres
        for e in _most_frequent_values(exponents(x - centre))
        for b in bits
    ]


def grid_sets(outputs: Array, coordinate: int) -> list[MultiplesOfGrid]:
    """The grids on which these outputs may lie: that of the smallest gap between two of them, if most are on it."""
    x = np.unique(outputs[:, coordinate])
    if len(x) < 3:
        return []
    gaps = np.diff(x)
    sizes = gaps[gaps > 64 * np.spacing(np.abs(x).max())]
    if not len(sizes):
        return []
    found = MultiplesOfGrid(coordinate=coordinate, offset=float(x[len(x) // 2]), grid=float(sizes.min()))
    return [found] if found.contains(outputs).mean() > 0.5 else []


def value_sets(outputs: Array, others: Array, coordinate: int) -> list[ValueSet]:
    """The numbers that these outputs hold at least twice and the others never; those of both datasets say nothing."""
    x, counts = np.unique(outputs[:, coordinate], return_counts=True)
    own = x[(counts > 1) & ~np.isin(x, others[:, coordinate])][:MOST_VALUES]
    return [ValueSet(coordinate=coordinate, values=tuple(own.tolist()))] if len(own) else []


def _most_frequent_values(values: Integers, most: int = 12) -> Integers:
    """At most ``most`` of the distinct values, spread by how often they occur."""
    ordered = np.sort(values)
    return np.unique(ordered[np.linspace(0, len(ordered) - 1, most).astype(np.int64)])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FloatLeak:
    """What was found.

    Attributes:
        claim: that was tested, of the float64 outputs.
        refuted: whether the counts refute it.
        p_value: of the counts; 1 if no set was worth a test.
        error_probability: with which a claim that holds may be refuted.
        epsilon_lower: exceeds the true epsilon at ``delta`` with at most that probability; 0 says nothing.
        delta: at which epsilon is bounded.
        event: the set, None if there is none.
        order: which dataset produces it.
        counts: in fresh trials, first of the dataset that produces it, then of the other.
        tested_at: the epsilon of the claim's profile at which the set was tested.
        samples: trials per dataset, exploration included.
        seed: of every random number.
        datasets: what the mechanism was run on, the dataset and the neighbour, for a witness that is written down.
    """

    claim: Guarantee
    refuted: bool
    p_value: float
    error_probability: float
    epsilon_lower: float
    delta: float
    event: OutputSet | None
    order: Order
    counts: Counts | None
    tested_at: float
    samples: int
    seed: int
    datasets: tuple[NDArray[np.generic], NDArray[np.generic]] | None = field(default=None, compare=False, repr=False)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        found = "refute" if self.refuted else "do not refute"
        rows = {
            "epsilon": f"at least {at_least(self.epsilon_lower)} at delta {rounded_text(self.delta)}",
            "error probability": rounded_text(self.error_probability),
            "releases on each dataset": str(self.samples),
        }
        follows = "replace the noise by a discrete one." if self.refuted else "nothing follows: ask with more samples."
        answer = f"The float64 outputs {found} {self.claim.describe()}."
        return answer_card(answer, rows, follows=follows, curves=[curves_of(self.claim, None)])

    def describe(self) -> dict[str, object]:
        """Everything as data, for a witness."""
        return {
            "claim": self.claim.describe(),
            "numbers": "float64, bit for bit",
            "refuted": self.refuted,
            "p_value": self.p_value,
            "error_probability": self.error_probability,
            "epsilon_lower": self.epsilon_lower,
            "delta": self.delta,
            "event": None if self.event is None else self.event.describe(),
            "order": self.order.value,
            "counts": None if self.counts is None else list(self.counts.four),
            "tested_at": self.tested_at,
            "samples": self.samples,
            "seed": self.seed,
        }


def find_float_leak(
    mechanism: AnyMechanism,
    neighbours: Neighbours,
    claim: Guarantee | str,
    *,
    error_probability: float,
    samples: int,
    seed: int,
    delta: float,
    centres: Sequence[float] = (),
) -> FloatLeak:
    """Search the low bits of the outputs for what tells two datasets apart, and test the claim on it.

    Args:
        mechanism: what is run, see `dpverdict.audit.trials.run`.
        neighbours: two datasets that differ in one record, see `as_pair`.
        claim: the guarantee, read as one about the float64 outputs.
        error_probability: with which a claim that holds may be refuted.
        samples: trials per dataset, exploration included; at least 50.
        seed: of every random number.
        delta: in [0, 1), at which epsilon is bounded; 0 for pure privacy.
        centres: values near which rounding may betray the data, such as the true answers; 0 and the rounded medians
            of the outputs are always looked at.

    Raises:
        InvalidValue: a parameter out of its range, or datasets that are no neighbours.
        MechanismFailure: the mechanism raises, or returns something that is not an array of numbers of one shape.
    """
    error, total = checked_error(error_probability), checked_samples(samples)
    claim = as_guarantee(claim)
    if not 0 <= delta < 1:
        raise InvalidValue("delta", delta, "in [0, 1)", "give a probability; 0 for pure privacy")
    sides = samplers(mechanism, neighbours, seed)
    part = max(10, math.ceil(EXPLORED * total / 2))
    fresh = total - 2 * part

    def outputs(stage: str, trials: int) -> tuple[Array, Array]:
        p, q = (side.collect(f"bits {stage} {side.where}", trials) for side in sides)
        return p, q

    learned, held_out = outputs("learn", part), outputs("choose", part)
    candidates = list(_candidate_sets(learned, tuple(float(centre) for centre in centres)))
    event, order, tested, counts, p_value, bound = None, Order.DATASET_FIRST, 0.0, None, 1.0, 0.0
    if candidates:
        event, order, tested = _clearest_set(candidates, held_out, claim)
        hits = [
            sum(int(event.contains(chunk).sum()) for chunk in side.chunks(f"bits confirm {side.where}", fresh))
            for side in (sides if order is Order.DATASET_FIRST else sides[::-1])
        ]
        counts = Counts(hits[0], fresh, hits[1], fresh, order)
        allowed = float(claim.delta_upper(np.array(tested)))
        if allowed < 1:
            p_value = joint_p_value(counts, epsilon=tested, delta=allowed, level=error)
        bound = epsilon_lower(counts, delta=delta, level=error)
    return FloatLeak(
        claim=claim,
        refuted=p_value <= error,
        p_value=p_value,
        error_probability=error,
        epsilon_lower=bound,
        delta=delta,
        event=event,
        order=order,
        counts=counts,
        tested_at=tested,
        samples=total,
        seed=seed,
        datasets=(sides[0].dataset, sides[1].dataset),
    )


def _candidate_sets(learned: tuple[Array, Array], centres: tuple[float, ...]) -> Iterator[tuple[OutputSet, Order]]:
    """Sets that one side of the learning trials suggests, each with the order in which it would be likely."""
    for order, (own, other) in zip(Order, (learned, learned[::-1]), strict=True):
        for coordinate in range(min(own.shape[1], MOST_COORDINATES)):
            medians = (float(np.rint(np.median(side[:, coordinate]))) for side in learned)
            around = tuple(dict.fromkeys((0.0, *medians, *centres)))
            found: list[OutputSet] = [
                *low_bit_sets(own, coordinate, around),
                *grid_sets(own, coordinate),
                *value_sets(own, other, coordinate),
            ]
            yield from ((event, order) for event in found)


def _counts_in_set(event: OutputSet, order: Order, outputs: tuple[Array, Array]) -> Counts:
    first, second = outputs if order is Order.DATASET_FIRST else outputs[::-1]
    found = [int(event.contains(side).sum()) for side in (first, second)]
    return Counts(found[0], len(first), found[1], len(second), order)


def _clearest_set(
    candidates: list[tuple[OutputSet, Order]], outputs: tuple[Array, Array], claim: Guarantee
) -> tuple[OutputSet, Order, float]:
    """The set with which the held-out trials break the claim most clearly, and the epsilon where they do it best.

    "Clearly" is the lower bound of p - e^epsilon q - delta(epsilon) by two Clopper-Pearson bounds.
    """
    found = [_counts_in_set(event, order, outputs) for event, order in candidates]
    first, second = (np.array([getattr(counts, name) for counts in found]) for name in ("first", "second"))
    p = np.asarray(proportion_lower(first, len(outputs[0]), CHOICE_LEVEL))
    q = np.asarray(proportion_upper(second, len(outputs[0]), CHOICE_LEVEL))
    allowed = np.asarray(claim.delta_upper(_EPSILONS))
    excess = p[:, np.newaxis] - np.exp(_EPSILONS) * q[:, np.newaxis] - allowed
    which, at = np.unravel_index(int(excess.argmax()), excess.shape)
    event, order = candidates[int(which)]
    return event, order, float(_EPSILONS[at])
