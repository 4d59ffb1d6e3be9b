"""Andersson et al. 2024, section 4.3: how long a noise of Algorithm 2 is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dpverdict.mechanisms.tree_digits import repunit
from dpverdict.proofs.andersson2024_section3 import up_to
from dpverdict.proofs.andersson2024_trees import OFFSET, PAPER, Instance, capacity, indices_of
from dpverdict.proofs.outcome import Findings, Kind, Standing
from dpverdict.proofs.statement import Plant, statement
from dpverdict.proofs.vertices import every

Index = tuple[int, ...]
FULL = [Instance(arity, capacity(OFFSET, arity, width)) for arity, width in up_to([*range(2, 10), 19], 7000)]


class Lifetime(NamedTuple):
    """What names a noise, and the first and last time at which it is used, as a function of (q, k)."""

    name: Callable[[Index], Index]
    ends: Callable[[Index, int], tuple[int, int]]


def ends_of(q: Index, arity: int) -> tuple[int, int]:
    """With l = lowest non-zero place of q, x = the number written by q from l on, d = its lowest digit, digits -a..b:

    used iff the time cut at level l is in x..x + b - d (d > 0), or in x - a - d..x (d < 0).
    """
    low = next(j for j, digit in enumerate(q) if digit)
    x, digit, a = sum(value * arity**j for j, value in enumerate(q[low:])), q[low], -OFFSET.low(arity)
    first, last = (x, x + OFFSET.high(arity) - digit) if digit > 0 else (x - a - digit, x)
    shift = a * repunit(arity, low)
    return first * arity**low - shift, (last + 1) * arity**low - shift - 1


LIFETIME = Lifetime(lambda q: q, ends_of)


def uses(case: Instance, name: Callable[[Index], Index]) -> dict[Index, list[int]]:
    """The times at which every noise is used."""
    found: dict[Index, list[int]] = {}
    for time, digits in enumerate(case.digits(OFFSET), 1):
        for q in {name(q) for q in indices_of(digits)}:
            found.setdefault(q, []).append(time)
    return found


@statement(
    paper=PAPER,
    number="prop4.10",
    kind=Kind.PROPOSITION,
    expected=Standing.HOLDS,
    text="Each noise term used by Algorithm 2 is only used for outputs in a time interval [t1, t2]; if the lowest "
    "non-zero digit of its index is the highest one, then t2 = T.",
    formula=r"z_q\ \mathrm{is\ used\ at}\ t \Leftrightarrow t_1 \leq t \leq t_2",
    printed=LIFETIME,
    planted=(
        Plant("an interval of time", "the highest digit is dropped", LIFETIME._replace(name=lambda q: q[:-1])),
        Plant(
            "first and last time",
            "t1 + 1",
            LIFETIME._replace(ends=lambda q, arity: (ends_of(q, arity)[0] + 1, ends_of(q, arity)[1])),
        ),
        Plant(
            "the highest level lasts",
            "t2 - 1",
            LIFETIME._replace(ends=lambda q, arity: (ends_of(q, arity)[0], ends_of(q, arity)[1] - 1)),
        ),
    ),
)
def proposition_4_10(claim: Lifetime) -> Findings:
    """The time cut at a level does not decrease, so each of the two conditions of `ends_of` holds on an interval.

    That is a proof for all k and T; the printed Algorithm 2 is run at full horizons.
    """
    scope = f"all k, T; run at {len(FULL)} full horizons, k = 2..9, 19, k^h <= 7000"
    yield every(
        "an interval of time",
        FULL,
        lambda case: all(t[-1] - t[0] + 1 == len(t) for t in uses(case, claim.name).values()),
        scope=scope,
    )
    yield every("first and last time", FULL, lambda case: _ends_agree(case, claim), scope=scope)
    yield every(
        "the highest level lasts",
        FULL,
        lambda case: all(
            claim.ends(q, case.arity)[1] >= case.horizon == times[-1]
            for q, times in uses(case, LIFETIME.name).items()
            if not any(q[:-1])
        ),
        scope=scope,
    )


def _ends_agree(case: Instance, claim: Lifetime) -> bool:
    for q, times in uses(case, LIFETIME.name).items():
        first, last = claim.ends(q, case.arity)
        if (max(first, 1), min(last, case.horizon)) != (times[0], times[-1]):
            return False
    return True
