"""The zoo: known-wrong variants of the mechanisms, each with the privacy it really has.

An auditor that cannot tell these from the correct mechanisms is worth nothing, so every test of the project's power
runs over `ALL`. Each file has a table of them; functions make families with a parameter. Notation of the
formulas: d queries, r = sqrt d, j* = (d + r)/2; the correct variances are vz = (d + r)/(4 mu^2) and
ve = (r + 1)/(4 mu^2). Several entries are private in some dimensions (M16 at perfect squares, M1c at d = 1), so a test
set should include dimensions such as 2, 3 and 5. True values: Lebeda 2024, checked over all vertices for d <= 8.
Counters, what selects or responds, keys, contributions of users, shuffled reports and searches have a notation of their
own (`counters`, `selection`, `keys`, `contributions`, `shuffled`, `tuning`).
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TypeAlias

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.broken import (
    contributions,
    correlated,
    counters,
    keys,
    laplace,
    queries,
    selection,
    shuffled,
    tuning,
)
from dpverdict.mechanisms.broken.mutant import DeltaMutant, Mutant

Wrong: TypeAlias = Mutant | counters.CountingMutant | laplace.LaplaceMutant | selection.SelectionMutant | DeltaMutant
"""A known-wrong variant: it has a name, a title, a source, a formula, the names of its parameters, and ``make``."""

_MADE = {mutant.name: mutant for mutant in (*correlated.ALL, *queries.ALL)}
_ORDER = (
    *("M1", "M1b", "M1c", "M1d", "M2", "M3", "M4", "M5", "M6", "M6b", "M6c", "M7", "M7ab", "M8", "M8b"),
    *("M9", "M10", "M11", "M12", "M13", "M14", "M15", "M16", "M17", "S1", "E1", "V1", "V2", "K1", "G1"),
)

GAUSSIAN: tuple[Mutant, ...] = tuple(_MADE[name] for name in _ORDER)
"""The known-wrong variants with Gaussian noise and a claim of mu-GDP, in the order of the sources."""

_NOISE: tuple[Wrong, ...] = (*counters.ALL, *laplace.ALL, *selection.ALL, *keys.ALL)
_OTHERS: tuple[Wrong, ...] = (*_NOISE, *contributions.ALL, *shuffled.ALL, *tuning.ALL)
ALL: tuple[Wrong, ...] = (*GAUSSIAN, _MADE["D1"], *_OTHERS)
"""Every known-wrong variant: those of `GAUSSIAN`, one on the lattice (rho-zCDP), and the others: epsilon-DP, those of
keys, of shuffled reports and of searches (epsilon, delta)-DP, and B4 mu-GDP.
"""


def by_name(name: str) -> Mutant:
    """The variant called ``name``, for example "M3", of those with a dimension and a mu: `GAUSSIAN` and "D1".

    Raises:
        InvalidValue: there is none of that name.
    """
    found = any_by_name(name)
    if not isinstance(found, Mutant):
        remedy = "call any_by_name for the others"
        raise InvalidValue("variant", name, "one with a dimension and a mu", remedy)
    return found


def any_by_name(name: str) -> Wrong:
    """The variant called ``name`` of all of them, for example "T1".

    Raises:
        InvalidValue: there is none of that name.
    """
    for wrong in ALL:
        if wrong.name.lower() == name.lower():
            return wrong
    near = " or ".join(f"broken:{one}" for one in get_close_matches(name, [wrong.name for wrong in ALL], 3, 0.5))
    remedy = f"{f'did you mean {near}? ' if near else ''}list them with: dpverdict list broken"
    raise InvalidValue("variant", f"broken:{name}", "a known-wrong one", remedy)
