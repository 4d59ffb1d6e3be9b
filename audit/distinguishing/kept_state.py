"""Whether a mechanism ends its calls at the end of a test as it did at the beginning.

A budget that runs dry or a cache that fills makes later trials other than earlier ones, and then the side that is run
later differs whatever the data are. So a few trials are run again at the end: where their kinds (an exception, a
length, the keys) are not those of the beginning, there is no test and no refutation.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

from dpverdict.audit.statistics.proportions import unequal_halves_p
from dpverdict.audit.trials.outcomes.batches import Batch, rows_of
from dpverdict.audit.trials.outcomes.observed import observed
from dpverdict.audit.trials.run import BatchedMechanism, Sampler
from dpverdict.errors import MechanismFailure

COMPARED: Final = 20
"""Trials on each side that are run again at the end, and as many first ones they are compared with."""
LEVEL: Final = 1e-6
"""Probability at most with which independent trials of one law are taken for others."""


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
