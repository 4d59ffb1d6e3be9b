"""Checks of an implementation that need no statistics: a few runs, each with the same random numbers.

A mechanism that draws from the generator it is given can be run twice on the same stream: then the noise is the same,
and whatever differs comes from the data. That shows at once what a distinguishing test needs thousands of trials for,
or cannot see: a seed that is fixed inside, a generator of its own, noise that is shared between calls or coordinates,
an output whose shape or order tells the number or the order of the records, an embedding that moves further than it
declares.

A failed check is a fact about the code, with what was seen; it refutes no claim by itself, and says whether it matters.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverdict.audit.exact.declaration import tried
from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.audit.trials.run import AnyMechanism, BatchedMechanism, with_batches
from dpverdict.audit.trials.user_code import guarded
from dpverdict.checks import check_seed
from dpverdict.errors import InvalidValue, MechanismFailure
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism, GaussianMechanism
from dpverdict.mechanisms.core.neighbours import NeighbourPair
from dpverdict.mechanisms.core.sensitivity import StepSpace
from dpverdict.numerics.arrays import Array

SAME_SEED: Final = "the same seed gives the same output"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GreyBoxFinding:
    """One check.

    Attributes:
        name: what was checked, as a sentence that should be true.
        holds: None if it could not be checked; `seen` says why.
        seen: what was seen, in words.
        breaks_privacy: whether a failure by itself breaks every claim; otherwise it breaks an audit, or is a warning.
    """

    name: str
    holds: bool | None
    seen: str
    breaks_privacy: bool


def draws_elsewhere(findings: Sequence[GreyBoxFinding]) -> bool:
    """Whether two runs from one seed were seen to differ: the mechanism has randomness that no seed governs."""
    return any(found.name == SAME_SEED and found.holds is False for found in findings)


def grey_box_checks(
    mechanism: AnyMechanism | AdditiveMechanism,
    neighbours: NeighbourPair | tuple[ArrayLike, ArrayLike],
    *,
    seed: int,
) -> tuple[GreyBoxFinding, ...]:
    """Run the checks of this module.

    Args:
        mechanism: what is run, see `dpverdict.audit.trials.run`.
        neighbours: two datasets, records along the first axis.
        seed: of the streams.

    A mechanism that raises ends the checks: those made are given, and a last one says what happened.

    Raises:
        InvalidValue: neighbours that are not two datasets, or a seed out of range.
    """
    pair = (neighbours.dataset, neighbours.neighbour) if isinstance(neighbours, NeighbourPair) else neighbours
    dataset, neighbour = (np.asarray(side) for side in pair)
    if dataset.ndim == 0 or neighbour.ndim == 0:
        raise InvalidValue("neighbours", neighbours, "datasets with records along the first axis", "pass two arrays")
    checked, found = check_seed(seed), list[GreyBoxFinding]()
    try:
        guarded(lambda: found.extend(_checks(mechanism, dataset, neighbour, checked)), _raised)
    except MechanismFailure as failure:
        found.append(_unknown("every check could be made", f"the mechanism {failure.problem}"))
    return tuple(found)


def _checks(
    mechanism: AnyMechanism, dataset: NDArray[np.generic], neighbour: NDArray[np.generic], seed: int
) -> Iterator[GreyBoxFinding]:
    run = _runner(mechanism)
    first, again = run(dataset, np.random.default_rng(seed)), run(dataset, np.random.default_rng(seed))
    others = [run(dataset, np.random.default_rng([seed, i])) for i in (1, 2)]
    repeats = _same(first, again)
    yield GreyBoxFinding(
        name=SAME_SEED,
        holds=repeats,
        seen="two runs from one seed agree" if repeats else "two runs from one seed differ: it draws elsewhere",
        breaks_privacy=False,
    )
    fixed = all(_same(first, other) for other in others)
    lattice = _on_a_lattice(mechanism, seed)
    another = GreyBoxFinding(
        name="another seed gives another output",
        holds=not fixed,
        seen="three seeds give one output: no noise, or a seed fixed inside" if fixed else "the outputs differ",
        breaks_privacy=True,
    )
    yield _unless_by_chance(another, lattice)
    yield _own_generator(run, dataset, seed)
    yield _unless_by_chance(_fresh_noise(run, dataset, seed), lattice)
    yield _unless_by_chance(_separate_coordinates(run, dataset, seed), lattice)
    yield _shape(first, run(neighbour, np.random.default_rng(seed)))
    order = "the order of the records does not show"
    if not repeats:
        yield _unknown(order, "the mechanism draws randomness of its own")
    elif isinstance(mechanism, AdditiveMechanism) and isinstance(mechanism.sensitivity, StepSpace):
        yield _unknown(order, "the records are a stream, whose order is part of the answer")
    else:
        yield _record_order(run, dataset, seed)
    yield _draws(run, dataset, neighbour, seed)
    if isinstance(mechanism, GaussianMechanism):
        yield _embedding(mechanism, seed)


Run = Callable[[NDArray[np.generic], np.random.Generator], Array]


def _runner(mechanism: AnyMechanism) -> Run:
    """Two releases from one generator, as shape (2, m)."""

    runnable = with_batches(mechanism)

    def run(dataset: NDArray[np.generic], rng: np.random.Generator) -> Array:
        if isinstance(runnable, BatchedMechanism):
            return np.asarray(runnable.release_many(dataset.copy(), 2, rng), dtype=np.float64).reshape(2, -1)
        both = [np.asarray(runnable(dataset.copy(), rng), dtype=np.float64).reshape(-1) for _ in range(2)]
        return np.stack(both) if len(both[0]) == len(both[1]) else both[0][np.newaxis]

    return run


def _raised(said: str) -> MechanismFailure:
    return MechanismFailure("", f"raised {said}", "call it yourself on that dataset")


def _same(x: Array, y: Array) -> bool:
    return np.array_equal(x, y, equal_nan=True)


def _unknown(name: str, why: str) -> GreyBoxFinding:
    return GreyBoxFinding(name=name, holds=None, seen=f"not checked: {why}", breaks_privacy=False)


def _on_a_lattice(mechanism: AnyMechanism, seed: int) -> bool:
    """Whether the declared noise takes whole numbers only, which are equal now and then by chance."""
    if not isinstance(mechanism, AdditiveMechanism):
        return False
    drawn = mechanism.noise.add(np.zeros(mechanism.noise.size), 4, np.random.default_rng(seed))
    return bool(np.all(drawn == np.round(drawn)))


def _unless_by_chance(found: GreyBoxFinding, lattice: bool) -> GreyBoxFinding:
    """A finding that equal outputs failed, unless they are equal by chance."""
    if found.holds is False and lattice:
        return _unknown(found.name, "the noise is of whole numbers, which are equal by chance")
    return found


def _own_generator(run: Run, dataset: NDArray[np.generic], seed: int) -> GreyBoxFinding:
    """The state of the generator that is passed in must move, those of the process must not."""
    rng = np.random.default_rng(seed)
    before = str(rng.bit_generator.state), _legacy_state(), random.getstate()
    run(dataset, rng)
    after = str(rng.bit_generator.state), _legacy_state(), random.getstate()
    passed, legacy, plain = (one != other for one, other in zip(before, after, strict=True))
    wrong = [name for name, moved in (("numpy.random", legacy), ("random", plain)) if moved]
    seen = "only the generator passed in was used"
    if wrong:
        seen = f"the global generator of {' and '.join(wrong)} was used"
    elif not passed:
        seen = "the generator passed in was not used"
    return GreyBoxFinding(
        name="all randomness comes from the generator passed in",
        holds=passed and not wrong,
        seen=seen,
        breaks_privacy=False,
    )


def _legacy_state() -> str:
    name, keys, position, has_gauss, cached = np.random.get_state()  # noqa: NPY002  # the state to be watched
    return f"{name}{hash(np.asarray(keys).tobytes())}{position}{has_gauss}{cached}"


def _fresh_noise(run: Run, dataset: NDArray[np.generic], seed: int) -> GreyBoxFinding:
    outputs = run(dataset, np.random.default_rng(seed))
    shared = len(outputs) == 2 and np.array_equal(outputs[0], outputs[1])
    return GreyBoxFinding(
        name="every release has noise of its own",
        holds=not shared,
        seen="two releases from one generator are equal" if shared else "two releases from one generator differ",
        breaks_privacy=True,
    )


def _separate_coordinates(run: Run, dataset: NDArray[np.generic], seed: int) -> GreyBoxFinding:
    """On zeros the true answers of most mechanisms are equal, so equal outputs mean one noise for all coordinates."""
    try:
        outputs = run(np.zeros_like(dataset), np.random.default_rng(seed))[0]
    except Exception:  # the mechanism is the user's, and zeros may be outside its domain
        return _unknown("coordinates have noise of their own", "records of zeros are outside the domain")
    equal = len(outputs) > 1 and bool((outputs == outputs[0]).all())
    seen = "on records of zeros all coordinates are equal: they share one noise" if equal else "coordinates differ"
    return GreyBoxFinding(
        name="coordinates have noise of their own",
        holds=not equal,
        seen=seen if len(outputs) > 1 else "one coordinate",
        breaks_privacy=True,
    )


def _shape(first: Array, other: Array) -> GreyBoxFinding:
    same = first.shape == other.shape
    return GreyBoxFinding(
        name="the shape of the output does not tell the number of records",
        holds=same,
        seen=f"{first.shape[1]} numbers against {other.shape[1]}" if not same else f"{first.shape[1]} numbers on both",
        breaks_privacy=True,
    )


def _record_order(run: Run, dataset: NDArray[np.generic], seed: int) -> GreyBoxFinding:
    plain, turned = (run(data, np.random.default_rng(seed)) for data in (dataset, np.roll(dataset, 1, axis=0)))
    same = _same(plain, turned)
    seen = "records in another order give the same output"
    if not same:
        far = float(np.abs(plain - turned).max()) if plain.shape == turned.shape else np.inf
        seen = f"another order changes the output by up to {far:.3g}: under the order, or in the last bits of a sum"
    return GreyBoxFinding(name="the order of the records does not show", holds=same, seen=seen, breaks_privacy=False)


def _draws(run: Run, dataset: NDArray[np.generic], neighbour: NDArray[np.generic], seed: int) -> GreyBoxFinding:
    """How much randomness is used must not depend on the data: it shows in the time, and in what is drawn next."""
    states = []
    for data in (dataset, neighbour):
        rng = np.random.default_rng(seed)
        run(data, rng)
        states.append(str(rng.bit_generator.state))
    same = states[0] == states[1]
    return GreyBoxFinding(
        name="the amount of randomness does not depend on the data",
        holds=same,
        seen="both datasets leave the generator in one state" if same else "the datasets leave it in different states",
        breaks_privacy=False,
    )


def _embedding(mechanism: GaussianMechanism, seed: int) -> GreyBoxFinding:
    """The squared GDP parameter of the neighbours of `tried`, from the embedding as it runs, against the supremum."""
    name = "the embedding moves no further than declared"
    worst = worst_case(mechanism)
    found = tried(mechanism, worst, seed)
    if found.undecided is not None and not found.further:
        return _unknown(name, found.undecided)
    mu = getattr(worst.loss, "mu", None)
    declared = np.inf if mu is None else float(mu) ** 2
    return GreyBoxFinding(
        name=name,
        holds=not found.further,
        seen=f"mu^2 of {found.pairs} neighbours up to {found.farthest:.9g}, declared {declared:.9g}",
        breaks_privacy=True,
    )
