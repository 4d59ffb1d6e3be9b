"""Whether the mechanism at the end of a test, or at its resumption, is the one of the beginning.

A budget that runs dry or a cache that fills makes later trials other than earlier ones, and then the side that is run
later differs whatever the data are. So a few trials are run again at the end: where their kinds (an exception, a
length, the keys) are not those of the beginning, there is no test and no refutation.

A state that is kept to go on later is evidence about one mechanism. What another one inherits of it is error: a
corrected mechanism could fall by the bets that were won against the wrong one. So the state holds the parts of its
mechanism (`fingerprint`) and a `Probe` of its outcomes, and `check_same_mechanism` refuses any other.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, final

from dpverdict.audit.statistics.proportions import unequal_halves_p
from dpverdict.audit.trials.fingerprint import fingerprint
from dpverdict.audit.trials.outcomes.batches import Batch, Outcomes, rows_of
from dpverdict.audit.trials.outcomes.observed import observed
from dpverdict.audit.trials.run import AnyMechanism, BatchedMechanism, Sampler, generator
from dpverdict.errors import InvalidValue, MechanismFailure

COMPARED: Final = 20
"""Trials on each side that are run again at the end, and as many first ones they are compared with."""
LEVEL: Final = 1e-6
"""Probability at most with which independent trials of one law are taken for others."""
PROBED: Final = 16
"""Trials on each side whose outcomes a kept state remembers."""


def first_kinds(batch: Batch) -> list[str]:
    """The kinds of the first outcomes of a side."""
    rows = rows_of(batch)
    return [row.signature for row, _ in zip(rows, range(COMPARED), strict=False)]


def check_kept_state(sampler: Sampler, earlier: Sequence[str]) -> None:
    """Run as many trials again as ``earlier`` has kinds, and compare.

    Raises:
        MechanismFailure: their kinds are not those of draws of one law.
    """
    if sampler.strict or isinstance(sampler.mechanism, BatchedMechanism) or not earlier:
        return
    batches = list(sampler.batches(f"again {sampler.where}", len(earlier)))
    later = [kind for batch in batches for kind in first_kinds(batch)]
    counts = Counter(earlier), Counter(later)
    kinds = counts[0].keys() | counts[1].keys()
    for kind in sorted(kinds):
        before, after = counts[0][kind], counts[1][kind]
        unequal = unequal_halves_p(before, len(earlier), before + after, len(earlier) + len(later))
        if min(unequal, _only_at_first_p(kind, [*earlier, *later])) <= LEVEL / (2 * len(kinds)):
            problem = f"ended in '{kind}' {before} of {len(earlier)} times at first, and {after} of {len(later)} later"
            remedy = "let nothing be kept between calls: make budgets, caches and counters anew in each"
            raise MechanismFailure(sampler.name, f"{problem}, on {sampler.where}: its state changes", remedy)


def check_time_outs(p: Sampler, q: Sampler) -> None:
    """Of a claim that falls: were calls timed out whose time the load of the machine decides?

    Raises:
        MechanismFailure: a call was timed out, and another one came near the limit.
    """
    one, other = p.mechanism, q.mechanism
    near = one.near_limit(other) if isinstance(one, observed) and isinstance(other, observed) else None
    if near is not None:
        raise MechanismFailure(p.name, near, "give a limit of ten times the slowest call that ends by itself")


def _only_at_first_p(kind: str, kinds: Sequence[str]) -> float:
    """The probability that all draws of one kind come before all others, if they do; else 1."""
    count = kinds.count(kind)
    return 1 / math.comb(len(kinds), count) if all(one == kind for one in kinds[:count]) else 1.0


@final
@dataclass(frozen=True, slots=True)
class Probe:
    """How a mechanism is known again.

    Attributes:
        parts: what it is made of, see `fingerprint`.
        moving: names of parts that running it changes, such as a counter of its calls: they are not compared.
        outcomes: the hashes of the first outcomes on each side, from streams of their own; empty where the generator
            that is passed in does not decide them, so that they cannot be drawn again.
    """

    parts: Mapping[str, str]
    moving: tuple[str, ...]
    outcomes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready data."""
        return asdict(self) | {"parts": dict(self.parts), "moving": list(self.moving), "outcomes": list(self.outcomes)}


def probed(mechanism: AnyMechanism, parts: Mapping[str, str], sides: Sequence[Sampler]) -> Probe:
    """The probe of a mechanism at the beginning of a test.

    Args:
        mechanism: what is run.
        parts: its fingerprint before it ran at all.
        sides: the mechanism on the dataset and on the neighbour.
    """
    outcomes = tuple(_outcomes(side, PROBED) for side in sides)
    # The first two are drawn again: a second full round would be dear where a trial is a training run.
    governed = all(_outcomes(side, 2) == _outcomes(side, 2) for side in sides)
    after = fingerprint(mechanism)
    moving = tuple(sorted(name for name in parts.keys() | after.keys() if parts.get(name) != after.get(name)))
    return Probe(parts=parts, moving=moving, outcomes=outcomes if governed else ())


def check_same_mechanism(kept: object, parts: Mapping[str, str], sides: Sequence[Sampler]) -> Probe:
    """The probe of a state, if the mechanism is the one that it is of.

    Args:
        kept: as `Probe.to_dict` wrote it.
        parts: the fingerprint of the mechanism that is to go on.
        sides: that mechanism on both datasets.

    Raises:
        InvalidValue: another part, or another outcome, or no probe.
    """
    remedy = "start a new test: what was bet against one mechanism is no evidence about another"
    match kept:
        case {"parts": dict(before), "moving": list(moving), "outcomes": list(outcomes)}:
            probe = Probe(parts=before, moving=tuple(moving), outcomes=tuple(outcomes))
        case _:
            raise InvalidValue("state", "without a probe", "what an earlier test returned", "start a new test")
    for name in sorted((before.keys() | parts.keys()) - set(moving)):
        if before.get(name) != parts.get(name):
            raise InvalidValue("state", f"of a mechanism with another {name}", "of this mechanism", remedy)
    if probe.outcomes and list(probe.outcomes) != [_outcomes(side, PROBED) for side in sides]:
        raise InvalidValue("state", "of a mechanism with other releases", "of this mechanism", remedy)
    return probe


def _outcomes(side: Sampler, trials: int) -> str:
    """The hash of a few outcomes, always those of the same generator."""
    found = side.few(trials, generator(side.seed, f"probe of a state, {side.where}", trials))
    data = found.packed() if isinstance(found, Outcomes) else found
    return hashlib.sha256(f"{data.dtype} {data.shape} ".encode() + data.tobytes()).hexdigest()
