"""The least noise at which a function keeps a claim: line by line with the others as they are, and all together."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.certify import as_schema, expression
from dpverdict.audit.tracing.losses.claims import keeps
from dpverdict.audit.tracing.rules.facts import added
from dpverdict.audit.tracing.run import Trace, followed
from dpverdict.audit.tracing.spending import SpentRelease, alternatives, jointly
from dpverdict.cards import answer_card
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import Guarantee, as_guarantee
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, adjacency_name
from dpverdict.numerics.roots import bisected
from dpverdict.numerics.text import at_least, at_most

LARGEST: Final = 2.0**40
"""Factor by which a scale is made larger or smaller."""
CLOSE: Final = 1e-7
MIXED_CLOSE: Final = 1e-3
"""The same where Gaussian noise and noise of another law are composed, of which a bound takes a second."""
DIGITS: Final = 6


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NeededScale:
    """What one line of a function needs.

    Attributes:
        line: of the user's code.
        statistic: what is released there, as an expression of columns.
        noise: its scale or its rate now; empty where there are several, or none.
        factor: by which its scales have to be multiplied at least, with the noise of the other lines as it is; None
            where no factor is enough.
        needed: the same in words.
    """

    line: str
    statistic: str
    noise: str
    factor: float | None
    needed: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NeededNoise:
    """What a function needs to keep a claim.

    Attributes:
        name: of the function.
        claim: in words.
        relation: which tables are neighbours.
        refused: why the function is not covered; None if it is.
        lines: one for each line that releases something.
        factor: by which all scales have to be multiplied at least; None where no factor is enough.
        observed: the columns whose bounds were only observed.
    """

    name: str
    claim: str
    relation: str
    refused: str | None = None
    lines: tuple[NeededScale, ...] = ()
    factor: float | None = None
    observed: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 where a scale is known that keeps the claim for certain, else 3."""
        return 3 if self.refused is not None or self.factor is None or self.observed else 0

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        answer, *rest = self.text().splitlines()
        rows = {f"{one.line}: {one.statistic}": one.needed for one in self.lines}
        more = [line.strip() for line in rest[2 * len(self.lines) :]]
        rows |= {"together": "; ".join(more)} if more else {}
        return answer_card(answer, rows, follows="change the scales, and certify the function with the same schema.")

    def text(self) -> str:
        """For a terminal: a line for each line of the function, and one for all of them."""
        if self.refused is not None:
            return f"NOT COVERED: {self.name}: {self.refused}"
        found = [f"{self.name} keeps {self.claim} ({self.relation}) with one of these changes:"]
        for one in self.lines:
            instead = "" if one.factor is None or not one.noise else f", in place of {one.noise}"
            found.append(f"  {one.line}: {one.needed}{instead}")
            found.append(f"    of {one.statistic}")
        if not self.lines:
            found = [f"{self.name} releases nothing that a record moves: it keeps {self.claim} with no noise"]
        elif self.factor is None:
            found.append("  no common factor of all scales is enough")
        elif self.factor == 1:
            found.append("  as it is: with all scales smaller by one factor it is not shown")
        elif self.factor < 1:
            found.append(f"  as it is, and with all scales times {at_most(self.factor, DIGITS)}")
        else:
            found.append(f"  all scales times {at_most(self.factor, DIGITS)} at least")
        if self.observed:
            found.append(f"  the bounds of {', '.join(self.observed)} were only observed: nobody promises them yet")
        return "\n".join(found)


def needed_noise(
    function: Callable[..., Any], claim: Guarantee | str, *, schema: TableSchema | str, name: str, seed: int = 0
) -> NeededNoise:
    """The least noise at which a function keeps a claim, for every pair of neighbouring tables of a schema.

    Every number that is given is one at which the bound certifies the claim. A smaller one may do where the bound is
    not attained.

    Args:
        function: called with a table and a generator of NumPy, or with a table alone.
        claim: what it is to promise, also as text.
        schema: of the table: `TableSchema`, or the path of its file.
        name: of the function, for messages.
        seed: of the made-up tables.

    Raises:
        InvalidValue: no claim, no schema, or something that is no function.
    """
    guarantee, known = as_guarantee(claim), as_schema(schema)
    if not callable(function):
        raise InvalidValue("function", function, "a function", "give a function of a table, or of a table and an rng")
    trace = followed(function, known, seed=seed)
    replace = known.relation is REPLACE_ONE
    shared: dict[str, Any] = {"name": name, "claim": guarantee.describe(), "relation": adjacency_name(known.relation)}
    if trace.refused is not None:
        return NeededNoise(refused=trace.refused, **shared)
    moved = [one for one in trace.releases if (one.fact.low != 0).any() or (one.fact.high != 0).any()]
    places = list(dict.fromkeys(one.line for one in moved))
    lines = tuple(_of_line(trace, line, guarantee, replace=replace) for line in places)
    factor = _least(trace.releases, set(places), guarantee, replace=replace)
    return NeededNoise(lines=lines, factor=factor, observed=known.observed, **shared)


def _of_line(trace: Trace, line: str, claim: Guarantee, *, replace: bool) -> NeededScale:
    own = [(one, number) for one, number in zip(trace.releases, trace.statistics, strict=True) if one.line == line]
    release, number = own[0]
    factor = _least(trace.releases, {line}, claim, replace=replace)
    scales = {scale for one, _ in own if one.noise is not None for scale in one.noise.scale.ravel().tolist()}
    noise = release.noise
    plain = noise is not None and len(scales) == 1 and noise.parameter is None
    if plain:
        shown = f"{next(iter(scales)):.6g}"
    elif noise is not None and noise.parameter is not None:
        shown = f"rate {noise.parameter:.6g}"
    else:
        shown = ""
    if factor is None:
        needed = "no scale of this line alone is enough"
    elif plain:
        least = at_most(next(iter(scales)) * factor, DIGITS)
        while not _keeps(trace.releases, {line}, claim, float(least) / next(iter(scales)), replace=replace):
            least = at_most(float(least) * (1 + 10.0**-DIGITS), DIGITS)
        needed = f"scale at least {least}"
    elif noise is not None and noise.parameter is not None:
        needed = f"rate at most {at_least(noise.parameter / factor, DIGITS)}"
    elif noise is None:
        needed = f"the scores times at most {at_least(1 / factor, DIGITS)}"
    else:
        needed = f"all of its scales times at least {at_most(factor, DIGITS)}"
    return NeededScale(line=line, statistic=expression(trace.steps, number, 6), noise=shown, factor=factor,
                       needed=needed)  # fmt: skip


def _least(releases: Sequence[SpentRelease], lines: set[str], claim: Guarantee, *, replace: bool) -> float | None:
    """The least factor for the noise of some lines, to `CLOSE` or `MIXED_CLOSE` from above; None if none is enough."""
    laws = {None if one.noise is None else one.noise.law for one in releases}
    near_enough = MIXED_CLOSE if "gaussian" in laws and len(laws) > 1 else CLOSE

    def enough(factor: float) -> bool:
        return _keeps(releases, lines, claim, factor, replace=replace)

    if not lines:
        return 1.0
    if not enough(LARGEST):
        return None
    low, high = 1.0, 1.0
    while not enough(high):
        low, high = high, 2 * high
    while low == high or enough(low):
        low, high = low / 2, low
        if low < 1 / LARGEST:
            return low
    if enough(1.0) and high == 1.0 and not enough(1 - near_enough):
        return 1.0
    low, high = bisected(lambda one: not enough(one), low, high, steps=40, close=lambda a, b: b - a <= near_enough * b)
    near = float(f"{high:.{DIGITS}g}")
    return near if near <= high and enough(near) else high


def _keeps(
    releases: Sequence[SpentRelease], lines: set[str], claim: Guarantee, factor: float, *, replace: bool
) -> bool:
    changed = [_scaled(one, factor) if one.line in lines else one for one in releases]
    options = alternatives(changed, replace=replace)
    if keeps(options, claim):
        return True
    joint = jointly(options, changed, replace=replace)
    return joint != options and keeps(joint, claim)


def _scaled(release: SpentRelease, factor: float) -> SpentRelease:
    """A release with noise that is larger by a factor; of a choice, with scores that are smaller."""
    noise, fact = release.noise, release.fact
    if noise is None:
        return dataclasses.replace(release, fact=dataclasses.replace(fact, low=fact.low / factor,
                                                                     high=fact.high / factor))  # fmt: skip
    if noise.parameter is not None:
        return dataclasses.replace(release, noise=dataclasses.replace(noise, parameter=noise.parameter / factor))
    terms = None
    if noise.terms is not None:
        terms = tuple(added((), one, Fraction(factor)) for one in noise.terms)
    return dataclasses.replace(release, noise=dataclasses.replace(noise, scale=noise.scale * factor, terms=terms))
