"""Checks of an implementation that need no statistics: a few runs, each with the same random numbers.

A mechanism that draws from the generator it is given can be run twice on the same stream: then the noise is the same,
and whatever differs comes from the data. That shows at once what a distinguishing test needs thousands of trials for,
or cannot see: a seed that is fixed inside, a generator of its own, noise that is shared between calls or coordinates,
an output whose shape or order tells the number or the order of the records, an embedding that moves further than it
declares.

A failed check is a fact about the code, with what was seen; it refutes no claim by itself, and says whether it matters.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.exact.declaration.statistic import tried
from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.audit.trials.outcomes.batches import Batch, OutcomeRows, rows_of, same_batches
from dpverdict.audit.trials.outcomes.inputs import held_safe
from dpverdict.audit.trials.run import AnyMechanism, Sampler, mechanism_name, with_generator
from dpverdict.audit.trials.user_code import guarded
from dpverdict.checks import check_seed
from dpverdict.errors import InvalidValue, MechanismFailure
from dpverdict.mechanisms.core.mechanism import GaussianMechanism, StatisticMechanism, StructuredMechanism
from dpverdict.mechanisms.core.neighbours import Neighbours

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
    mechanism: AnyMechanism | StructuredMechanism,
    neighbours: Neighbours,
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
    pair = neighbours if isinstance(neighbours, tuple) else (neighbours.dataset, neighbours.neighbour)
    known = isinstance(mechanism, StructuredMechanism)
    dataset, neighbour = (np.asarray(side) if known else held_safe(side) for side in pair)
    if any(isinstance(side, np.ndarray) and side.ndim == 0 for side in (dataset, neighbour)):
        raise InvalidValue("neighbours", neighbours, "datasets with records along the first axis", "pass two arrays")
    checked, found = check_seed(seed), list[GreyBoxFinding]()
    try:
        guarded(lambda: found.extend(_all_checks(mechanism, dataset, neighbour, checked)), _describe_error)
    except MechanismFailure as failure:
        found.append(_not_checked("every check could be made", f"the mechanism {failure.problem}"))
    return tuple(found)


def _all_checks(mechanism: AnyMechanism, dataset: Any, neighbour: Any, seed: int) -> Iterator[GreyBoxFinding]:
    run = _two_releases(mechanism, seed)
    first, again = run(dataset, np.random.default_rng(seed)), run(dataset, np.random.default_rng(seed))
    others = [run(dataset, np.random.default_rng([seed, i])) for i in (1, 2)]
    repeats = same_batches(first, again)
    yield GreyBoxFinding(
        name=SAME_SEED,
        holds=repeats,
        seen="two runs from one seed agree" if repeats else "two runs from one seed differ: it draws elsewhere",
        breaks_privacy=False,
    )
    fixed = all(same_batches(first, other) for other in others)
    moved = _moved_generators(run, dataset, seed)
    lattice = _has_noise_on_whole_numbers(mechanism, dataset, seed)
    likely = not fixed or (any(moved) and _may_be_chance(run, first, dataset, neighbour, seed))
    another = GreyBoxFinding(
        name="another seed gives another output",
        holds=not fixed,
        seen="three seeds give the same output: there is no noise, or the seed is fixed inside"
        if fixed
        else "the outputs differ",
        breaks_privacy=True,
    )
    yield _excuse_chance(another, lattice or likely)
    yield _check_own_generator(*moved)
    fresh, few_seen = _check_fresh_noise(run, first, dataset, seed)
    yield _excuse_chance(fresh, lattice or (likely and few_seen))
    separate, few_seen = _check_separate_coordinates(run, dataset, seed)
    yield _excuse_chance(separate, lattice or (likely and few_seen))
    yield _check_shape(first, run(neighbour, np.random.default_rng(seed)))
    order = "the order of the records does not show"
    if not repeats:
        yield _not_checked(order, "the mechanism draws randomness of its own")
    elif not isinstance(dataset, np.ndarray):
        yield _not_checked(order, "the dataset is no array")
    elif isinstance(mechanism, StructuredMechanism) and mechanism.is_stream:
        yield _not_checked(order, "the records are a stream, whose order is part of the answer")
    else:
        yield _check_record_order(run, dataset, seed)
    yield _check_number_of_draws(run, dataset, neighbour, seed)
    if isinstance(mechanism, GaussianMechanism):
        yield _check_embedding(mechanism, seed)


Run = Callable[[Any, np.random.Generator], Batch]


def _two_releases(mechanism: AnyMechanism, seed: int) -> Run:
    """Two releases from one generator."""
    name, runnable = mechanism_name(mechanism), with_generator(mechanism)

    def run(dataset: Any, rng: np.random.Generator) -> Batch:
        return Sampler(mechanism=runnable, name=name, dataset=dataset, where="the dataset", seed=seed, size=0).few(
            2, rng
        )

    return run


def _describe_error(said: str) -> MechanismFailure:
    return MechanismFailure("", f"raised {said}", "call it yourself on that dataset")


def _not_checked(name: str, why: str) -> GreyBoxFinding:
    return GreyBoxFinding(name=name, holds=None, seen=f"not checked: {why}", breaks_privacy=False)


def _has_noise_on_whole_numbers(mechanism: AnyMechanism, dataset: Any, seed: int) -> bool:
    """Whether the declared noise, or what is released, is whole numbers only, equal now and then by chance."""
    if not isinstance(mechanism, StructuredMechanism):
        return False
    if not isinstance(mechanism, StatisticMechanism):
        released = np.asarray(mechanism.release_many(dataset, 4, np.random.default_rng(seed)))
        return bool(np.all(released == np.round(released)))
    drawn = mechanism.noise.add(np.zeros(mechanism.noise.size), 4, np.random.default_rng(seed))
    return any(bool(np.all(side == np.round(side))) for side in (drawn, mechanism.decode(drawn.copy())))


def _excuse_chance(found: GreyBoxFinding, lattice: bool) -> GreyBoxFinding:
    """A finding that equal outputs failed, unless they are equal by chance."""
    if found.holds is False and lattice:
        return _not_checked(found.name, "perhaps equal by chance, as whole numbers and texts are")
    return found


def _may_be_chance(run: Run, first: Batch, dataset: Any, neighbour: Any, seed: int) -> bool:
    """Whether equal outputs of a function that draws may be one likely outcome.

    They are not where the two datasets have one output each, and another one. Of a mechanism that keeps eps = 1 no two
    outcomes are likelier than e / (1 + e) both, so that 26 releases on each side do so with probability 1e-7 at most.
    """
    there = run(neighbour, np.random.default_rng(seed))
    if same_batches(first, there):
        return True
    more = [np.random.SeedSequence([seed, i]) for i in range(1, 13)]
    return any(
        not same_batches(held, run(side, np.random.default_rng(one)))
        for held, side in ((first, dataset), (there, neighbour))
        for one in more
    )


def _moved_generators(run: Run, dataset: Any, seed: int) -> tuple[bool, bool, bool]:
    """Whether two releases draw from the generator that is passed in, from that of NumPy and from that of `random`."""
    rng = np.random.default_rng(seed)
    before = str(rng.bit_generator.state), _legacy_state(), random.getstate()
    run(dataset, rng)
    after = str(rng.bit_generator.state), _legacy_state(), random.getstate()
    passed, legacy, plain = (one != other for one, other in zip(before, after, strict=True))
    return passed, legacy, plain


def _check_own_generator(passed: bool, legacy: bool, plain: bool) -> GreyBoxFinding:
    """The state of the generator that is passed in must move, those of the process must not."""
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


def _check_fresh_noise(run: Run, outputs: Batch, dataset: Any, seed: int) -> tuple[GreyBoxFinding, bool]:
    """Whether two releases from one generator differ; if not, whether too few outcomes were seen to tell."""
    shared, few = _always(_are_equal, outputs, run, dataset, seed)
    found = GreyBoxFinding(
        name="every release has noise of its own",
        holds=not shared,
        seen="two releases from one generator are equal" if shared else "two releases from one generator differ",
        breaks_privacy=True,
    )
    return found, few


def _always(equal: Callable[[Batch], bool], outputs: Batch, run: Run, dataset: Any, seed: int) -> tuple[bool, bool]:
    """Whether two parts of what is released are equal, also with 24 more seeds; and whether too few outcomes were seen.

    Parts that are independent are equal 25 times, five or more of which have another outcome than most have, with
    probability 1e-6 at most, whatever their laws.
    """
    if not equal(outputs):
        return False, False
    seen = [outputs, *(run(dataset, np.random.default_rng([seed, i])) for i in range(1, 25))]
    few = min(sum(not same_batches(one, other) for other in seen) for one in seen) < 5
    return all(equal(one) for one in seen), few


def _are_equal(outputs: Batch) -> bool:
    one, other = rows_of(outputs)
    return bool(one.same_as(other))


def _have_equal_coordinates(outputs: Batch) -> bool:
    return not isinstance(outputs, OutcomeRows) and len(outputs[0]) > 1 and bool((outputs == outputs[:, :1]).all())


def _check_separate_coordinates(run: Run, dataset: Any, seed: int) -> tuple[GreyBoxFinding, bool]:
    """On zeros the true answers of most mechanisms are equal, so equal outputs mean one noise for all coordinates."""
    name = "coordinates have noise of their own"
    if not isinstance(dataset, np.ndarray) or dataset.dtype.kind not in "biuf":
        return _not_checked(name, "the dataset is no array of numbers"), False
    zeros, equal, few = held_safe(np.zeros_like(dataset)), False, False
    outputs: Batch = OutcomeRows(())
    with contextlib.suppress(MechanismFailure):
        outputs = run(zeros, np.random.default_rng(seed))
        equal, few = _always(_have_equal_coordinates, outputs, run, zeros, seed)
    if isinstance(outputs, OutcomeRows):
        return _not_checked(name, "records of zeros are outside the domain, or the outcome is no array of numbers"), few
    seen = "on records of zeros all coordinates are equal: they share one noise" if equal else "coordinates differ"
    found = GreyBoxFinding(
        name=name,
        holds=not equal,
        seen=seen if len(outputs[0]) > 1 else "one coordinate",
        breaks_privacy=True,
    )
    return found, few


def _check_shape(first: Batch, other: Batch) -> GreyBoxFinding:
    of_dataset, of_neighbour = _check_kinds(first), _check_kinds(other)
    same = of_dataset == of_neighbour
    return GreyBoxFinding(
        name="the shape of the output does not tell the number of records",
        holds=same,
        seen=f"{of_dataset} on both" if same else f"{of_dataset} against {of_neighbour}",
        breaks_privacy=True,
    )


def _check_kinds(outputs: Batch) -> str:
    if not isinstance(outputs, OutcomeRows):
        return f"{outputs.shape[1]} numbers"
    return " and ".join(sorted({row.describe() for row in outputs.rows}))


def _check_record_order(run: Run, dataset: NDArray[np.generic], seed: int) -> GreyBoxFinding:
    data = dataset, held_safe(np.roll(dataset, 1, axis=0))
    plain, turned = (run(side, np.random.default_rng(seed)) for side in data)
    same = same_batches(plain, turned)
    seen = "records in another order give the same output"
    if not same:
        far = np.inf
        if not isinstance(plain, OutcomeRows) and not isinstance(turned, OutcomeRows) and plain.shape == turned.shape:
            far = float(np.abs(plain - turned).max())
        seen = f"another order changes the output by up to {far:.3g}: under the order, or in the last bits of a sum"
    return GreyBoxFinding(name="the order of the records does not show", holds=same, seen=seen, breaks_privacy=False)


def _check_number_of_draws(run: Run, dataset: Any, neighbour: Any, seed: int) -> GreyBoxFinding:
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


def _check_embedding(mechanism: GaussianMechanism, seed: int) -> GreyBoxFinding:
    """The squared GDP parameter of the neighbours of `tried`, from the embedding as it runs, against the supremum."""
    name = "the embedding moves no further than declared"
    worst = worst_case(mechanism)
    found = tried(mechanism, worst.bounds, seed)
    if found.undecided is not None and not found.further:
        return _not_checked(name, found.undecided)
    mu = getattr(worst.loss, "mu", None)
    declared = np.inf if mu is None else float(mu) ** 2
    return GreyBoxFinding(
        name=name,
        holds=not found.further,
        seen=f"mu^2 of {found.pairs} neighbours up to {found.farthest:.9g}, declared {declared:.9g}",
        breaks_privacy=True,
    )
