"""What an audit, a plan or a curve of mechanisms of this library takes, said before it begins where it takes long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

from dpverdict.audit.documents.request import Request
from dpverdict.audit.losses.laplace.loss import MOST_COORDINATES
from dpverdict.audit.runs.audits import default_samples
from dpverdict.audit.runs.request import MOST_SAMPLES
from dpverdict.audit.trials.catalogue import MOST_NUMBERS, mechanism_classes
from dpverdict.audit.trials.data_files import free_memory
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.queries.laplace import LaplaceMechanism
from dpverdict.numerics.text import whole_number

SECONDS_PER_NUMBER: Final = 2e-8
"""Of processor time, for each number that is drawn and scored: 1.8e-8 with independent Gaussian noise at d = 10^6."""

BYTES_PER_COORDINATE: Final = 400
"""Of memory that a test takes, at least: 700 were measured at d = 10^6."""

WORTH_SAYING: Final = 10.0
"""Seconds of processor time from which on a cost is announced."""


POINTS: Final = 10
"""Of each curve, which cost about as much as the certified numbers of a report: 20."""

_NAMED: Final = 3


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Cost:
    """Of one audit: its coordinates, the random numbers it draws, and seconds of processor time for either."""

    size: int
    drawn: int
    exact: float
    tested: float

    @property
    def whole(self) -> float:
        return self.exact + self.tested


def _cost(request: Request) -> _Cost | None:
    """What an audit costs; None where nothing is known of it, or it is refused, which it says itself.

    Exact reports grow with the number of coordinates as their mechanisms declare, tests with that of the numbers drawn.
    """
    kind = mechanism_classes().get(request.mechanism)
    text = request.options.get("dim") or request.options.get("horizon")
    if kind is None or text is None:
        return None
    try:
        size = whole_number(text, "dim", at_least=1, at_most=MOST_NUMBERS)
        asked = None
        if request.samples is not None:
            asked = whole_number(request.samples, "samples", at_least=1, at_most=MOST_SAMPLES)
    except InvalidValue:
        return None
    if kind is LaplaceMechanism and request.options.get("norm") in (None, "linf") and size > MOST_COORDINATES:
        return None
    drawn = 0 if request.exact_only else 2 * size * (default_samples(size) if asked is None else asked)
    exact = kind.seconds_per_thousand * size / 1000
    return _Cost(size=size, drawn=drawn, exact=exact, tested=SECONDS_PER_NUMBER * drawn)


def announced(request: Request) -> str | None:
    """About how long an audit takes and what makes it shorter, in one line; None if it is short, or is refused.

    Raises:
        InvalidValue: its test does not fit into the memory that is free: nothing is announced that will not be done.
    """
    cost = _cost(request)
    if cost is None or cost.whole < WORTH_SAYING:
        return None
    free = free_memory()
    if cost.drawn and free is not None and BYTES_PER_COORDINATE * cost.size > free:
        name = "dim" if request.options.get("dim") else "horizon"
        requirement = f"at most {free // BYTES_PER_COORDINATE}, for a test in the {free >> 20} MiB that are free here"
        raise InvalidValue(name, cost.size, requirement, f"choose a smaller --{name}, or --no-test")
    parts = [f"the certified curves of {cost.size} coordinates"] if cost.exact >= 1 else []
    parts += [f"{cost.drawn:.2g} random numbers for the test"] if cost.tested >= 1 else []
    shorter = "fewer --samples, or --no-test" if cost.tested > cost.exact else "a smaller --dim"
    return f"this takes about {cost.whole:.2g} seconds of processor time ({' and '.join(parts)}); shorter: {shorter}"


def announced_plan(audits: Sequence[tuple[str, object]]) -> str | None:
    """About how long the audits of a plan take, given with their names, and which take longest; None if it is short."""
    costs = [(name, _cost(request)) for name, request in audits if isinstance(request, Request)]
    known = [(cost.whole, name) for name, cost in costs if cost is not None]
    whole = sum(seconds for seconds, _ in known)
    if whole < WORTH_SAYING:
        return None
    longest = ", ".join(f"{name} {seconds:.2g}" for seconds, name in sorted(known, reverse=True)[:_NAMED])
    return (
        f"this plan takes about {whole:.2g} seconds of processor time (longest: {longest}), less what its journal "
        "holds; shorter: fewer samples, or a smaller dim"
    )


def announced_curve(mechanism: str, options: Mapping[str, str | None], points: int) -> str | None:
    """About how long the certified curves of a mechanism take at so many points each; None if that is short."""
    cost = _cost(Request(mechanism=mechanism, options=options, exact_only=True))
    if cost is None or cost.exact * points / POINTS < WORTH_SAYING:
        return None
    seconds = cost.exact * points / POINTS
    return (
        f"this takes about {seconds:.2g} seconds of processor time ({points} points of the certified curves of "
        f"{cost.size} coordinates); shorter: fewer --points, or a smaller --dim"
    )
