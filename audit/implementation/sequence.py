"""A few dozen calls one after another: is every release an independent draw of one law, and is nothing left changed?

Tests of releases take for granted that trials are independent and alike. A seed that is fixed inside, a cache, a budget
that runs dry or noise that grows with every call break that, and then neither a refutation nor its absence says much.
The checks say what was seen; each that is a test has a probability of `LEVEL` at most of failing on independent trials.
Only one outcome, call after call, is no sign of dependence: all others may be rare. Two datasets that give one outcome
each, which differ, are: no law that keeps the claim does so in so many calls, but with probability `LEVEL`.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import FunctionType
from typing import Any, Final

import numpy as np
import scipy

from dpverdict.audit.implementation.grey_box import GreyBoxFinding
from dpverdict.audit.implementation.tap.tap_verdict import repeats_needed
from dpverdict.audit.statistics.proportions import unequal_halves_p_value
from dpverdict.audit.trials.outcomes.batches import Batch, rows_of, same_batches
from dpverdict.audit.trials.outcomes.canonical import CanonicalOutcome
from dpverdict.audit.trials.outcomes.inputs import held_safe
from dpverdict.audit.trials.run import (
    AnyMechanism,
    Sampler,
    generator,
    mechanism_name,
    unmarked,
    with_generator,
)
from dpverdict.errors import MechanismFailure
from dpverdict.mechanisms.core.guarantees import Guarantee
from dpverdict.mechanisms.core.records import value_text

CALLS: Final = 60
LEVEL: Final = 1e-6
"""Probability at most with which a check fails on independent trials of one law."""
MOST_CALLS: Final = 400
"""Of a mechanism that ends alike in all of them; a claim that needs more is left open."""
SHORTEST: Final = 20
"""Different numbers among the calls, at least, without which nothing is said about drift."""

FIXED: Final = "the releases differ from each other"
ALIKE: Final = "earlier calls do not change later ones"
GLOBAL: Final = "a call leaves the state of the process as it was"
FLAGGED: Final = (FIXED, ALIKE, GLOBAL)
"""What a reader of a report has to know first, if it fails."""


def sequence_checks(
    mechanism: AnyMechanism, dataset: object, neighbour: object, *, claim: Guarantee, seed: int
) -> tuple[GreyBoxFinding, ...]:
    """Call a mechanism `CALLS` times on one dataset, each with a generator of its own.

    Args:
        mechanism: what is run, see `dpverdict.audit.trials.run`.
        dataset: what it is given.
        neighbour: what it is given instead if all of these calls end alike, as they may on one side alone.
        claim: what it promises, which says how many calls on either dataset may end alike where the two differ.
        seed: of the generators.
    """
    sampler = Sampler(
        mechanism=with_generator(mechanism),
        name=mechanism_name(mechanism),
        dataset=held_safe(dataset),
        where="the dataset",
        seed=seed,
        size=0,
    )

    def call(index: int) -> Batch:
        return sampler.few(1, generator(seed, "sequence", index))

    before = _state_that_may_change(mechanism)
    try:
        first, again = call(0), call(0)
        rows = [row for index in range(1, CALLS + 1) for row in rows_of(call(index))]
        last = call(0)
        noise: tuple[bool | None, str] = (True, "the outcomes differ")
        if all(row.same_as(rows[0]) for row in rows):
            other = replace(sampler, dataset=held_safe(neighbour), where="the neighbour")
            noise = _one_outcome(sampler, other, rows, claim)
    except MechanismFailure as failure:
        return (_sequence_finding(ALIKE, None, f"not checked: the mechanism {failure.problem}"),)
    changed = sorted(name for name, text in _state_that_may_change(mechanism).items() if before.get(name) != text)
    seeds = _seeds_the_process(call)
    return tuple(
        _findings_of_calls(
            rows,
            repeats=same_batches(first, again),
            still=same_batches(first, last),
            changed=changed + seeds,
            noise=noise,
        )
    )


def _one_outcome(
    sampler: Sampler, other: Sampler, rows: list[CanonicalOutcome], claim: Guarantee
) -> tuple[bool | None, str]:
    """What is known of a mechanism that ended alike in all calls on the dataset, after calls on the neighbour."""

    def call(of: Sampler, index: int) -> CanonicalOutcome:
        return next(rows_of(of.few(1, generator(of.seed, "sequence", index))))

    calls = CALLS
    there = [call(other, index) for index in range(1, CALLS + 1)]
    if not all(row.same_as(there[0]) for row in there):
        return True, "the outcomes differ on the neighbour"
    needed = repeats_needed(claim) + 1
    if rows[0].same_as(there[0]) or needed > MOST_CALLS:
        rest = 1 - LEVEL ** (1 / calls)
        return None, (
            f"not known: {calls} calls with {calls} seeds gave one outcome on each dataset. Others come with "
            f"probability {rest:.2g} at most, but for an error of {LEVEL:g}"
        )
    while calls < needed:
        calls += 1
        if not (call(sampler, calls).same_as(rows[0]) and call(other, calls).same_as(there[0])):
            return True, f"the outcomes differ, after {calls} calls"
    return False, (
        f"{calls} calls with {calls} seeds gave one outcome on each dataset, and the two differ: there is no noise, or "
        f"its seed is fixed inside. A law within the claim does so with probability {LEVEL:g} at most"
    )


def _findings_of_calls(
    rows: list[CanonicalOutcome], *, repeats: bool, still: bool, changed: list[str], noise: tuple[bool | None, str]
) -> Iterator[GreyBoxFinding]:
    yield _sequence_finding(FIXED, *noise)
    drift = describe_dependence(rows) if noise[0] is True else None
    if repeats and not still:
        drift = f"the same seed gave another outcome after {len(rows)} more calls: something is kept between calls"
    yield _sequence_finding(ALIKE, drift is None, drift or "no trend, no dependence and no kept state was seen")
    yield _sequence_finding(
        GLOBAL, not changed, f"it changed {', '.join(changed)}" if changed else "nothing else was changed"
    )


def describe_dependence(rows: list[CanonicalOutcome]) -> str | None:
    """What shows that outcomes in this order are no independent draws of one law, in words; None if nothing does."""
    n = len(rows)
    kinds = [row.signature for row in rows]
    for kind, count in Counter(kinds).items():
        early = sum(one == kind for one in kinds[: n // 2])
        if unequal_halves_p_value(early, n // 2, count, n) <= LEVEL / 4 / len(set(kinds)):
            return f"'{kind}' came {early} times in the first half of {n} calls and {count - early} times in the second"
    values = np.array([row.numbers[""][0] for row in rows if len(row.numbers.get("", ())) > 0])
    if len(values) < n or len(np.unique(values)) < SHORTEST:
        return None
    ranks = np.argsort(np.argsort(values, kind="stable")).astype(np.float64)
    trend = _correlation_p(np.arange(float(n)), ranks)
    if trend <= LEVEL / 4:
        return f"the first number drifts with the number of the call (p = {trend:.1g})"
    beside = _correlation_p(ranks[:-1], ranks[1:])
    if beside <= LEVEL / 4:
        return f"consecutive releases depend on each other (p = {beside:.1g})"
    return None


def _correlation_p(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> float:
    """Two-sided p-value of a rank correlation, by the t approximation, doubled for its error at so few ranks."""
    r = float(np.clip(np.corrcoef(x, y)[0, 1], -1 + 1e-12, 1 - 1e-12))
    freedom = len(x) - 2
    statistic = abs(r) * (freedom / (1 - r * r)) ** 0.5
    return min(1.0, 4 * float(scipy.special.stdtr(freedom, -statistic)))


def _sequence_finding(name: str, holds: bool | None, seen: str) -> GreyBoxFinding:
    return GreyBoxFinding(name=name, holds=holds, seen=seen, breaks_privacy=False)


def _state_that_may_change(mechanism: AnyMechanism) -> Mapping[str, str]:
    """What a call could leave changed: settings of the process, and plain data that the function holds."""
    function: Any = unmarked(mechanism)
    found = {
        "numpy.errstate": str(np.geterr()),
        "the environment": str(sorted(os.environ.items())),
        "the current folder": os.getcwd(),
    }
    code = function if isinstance(function, FunctionType) else vars(type(function)).get("__call__")
    if isinstance(code, FunctionType):
        for name in code.__code__.co_names:
            text = value_text(code.__globals__.get(name))
            if text is not None and name in code.__globals__:
                found[f"{name}, a global of its module"] = text
        for name, cell in zip(code.__code__.co_freevars, code.__closure__ or (), strict=True):
            text = value_text(getattr(cell, "cell_contents", None))
            if text is not None:
                found[f"{name}, a variable around it"] = text
    for name, value in getattr(function, "__dict__", {}).items():
        text = value_text(value)
        if text is not None:
            found[f"its attribute {name}"] = text
    return found


def _seeds_the_process(call: Any) -> list[str]:
    """Generators of the process that a call sets to one state, whatever state they had."""
    ends: list[tuple[str, str]] = []
    legacy, plain = np.random.get_state(), random.getstate()  # noqa: NPY002  # the state to be watched
    try:
        for turn in (1, 2):
            np.random.seed(turn)  # noqa: NPY002
            random.seed(turn)
            call(turn)
            ends.append(_states_of_generators())
    finally:
        np.random.set_state(legacy)  # noqa: NPY002
        random.setstate(plain)
    names = ("the seed of numpy.random", "the seed of random")
    return [name for name, one, other in zip(names, ends[0], ends[1], strict=True) if one == other]


def _states_of_generators() -> tuple[str, str]:
    kind, keys, position, has_gauss, cached = np.random.get_state()  # noqa: NPY002
    return f"{kind}{np.asarray(keys).tobytes().hex()}{position}{has_gauss}{cached}", repr(random.getstate())
