"""From releases to what one record spends by them, in each alternative, which dominates every neighbouring pair.

A record that is added moves all releases at once. Which coordinates it may move depends on the cells in which it lies:
each choice of cells is an alternative, and every neighbouring pair is dominated by that of one alternative, coordinate
by coordinate. A claim holds if it holds for each alternative. Under replacement a record leaves one choice of cells and
another comes to one, the same or another.

`dpverdict.audit.tracing.losses.claims` holds what is spent to a claim.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeAlias, final

import numpy as np

from dpverdict.audit.tracing.losses.mixed import Row, rows_of, squared_mu
from dpverdict.audit.tracing.losses.samples import Sample
from dpverdict.audit.tracing.losses.spent import Spent
from dpverdict.audit.tracing.rules.boxes import Boxes
from dpverdict.audit.tracing.rules.facts import MIXED, Cell, NoiseFact, Norm, Support, Total
from dpverdict.audit.tracing.rules.joint import Joint, Weighted, most_spent

MOST_ALTERNATIVES: Final = 4096


# what one release spends ----------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, eq=False)
class SpentRelease:
    """One release: its statistic, and its noise.

    Attributes:
        fact: how far a record moves the statistic.
        noise: the draws, of its shape; None for a choice by the exponential mechanism.
        only_the_largest: whether only the place of the largest noisy value is used.
        line: of the user's code.
        sample: the Poisson sample of the records that it is made of alone; None where it is made of all of them.
    """

    fact: Total
    noise: NoiseFact | None
    only_the_largest: bool
    line: str
    sample: Sample | None = None


Element: TypeAlias = "tuple[str, Any, Fraction, Fraction, Fraction, Support]"
"""Law, parameter, scale, low, high, support of one coordinate."""


def elements_of(release: SpentRelease) -> list[Element]:
    """The coordinates of a release with noise."""
    noise = release.noise
    assert noise is not None
    found: list[Element] = []
    for i, support in enumerate(release.fact.supports):
        low, high = float(release.fact.low.ravel()[i]), float(release.fact.high.ravel()[i])
        if low or high:
            scale = Fraction(float(noise.scale.ravel()[i]))
            found.append((noise.law, noise.parameter, scale, Fraction(low), Fraction(high), support))
    return found


def _spent_by(element: Element, far: Fraction) -> Spent:
    law, parameter, scale, *_ = element
    if not far:
        return Spent()
    if law == "laplace":
        return Spent(laplace=((far / scale, 1),))
    if law == "gaussian":
        return Spent(gaussian=(far / scale) ** 2)
    rate = Fraction(_rate(parameter)) if law == "two-sided geometric" else None
    assert rate is not None, law
    whole = -((-far) // 1)
    return Spent(geometric=(((rate, int(whole)), 1),))


def _rate(parameter: float | None) -> float:
    """An upper bound on the rate of a geometric law: -log(1 - p), or the rate itself, as it was given."""
    assert parameter is not None
    return parameter


def choice_of(release: SpentRelease, *, replace: bool) -> Spent:
    """A choice by scores: what is spent does not depend on how many there are.

    All scores may be shifted by one number, so what counts is how far their moves differ: by w = high - low at most,
    and by 2 w where a record goes and another comes. The exponential mechanism, which the largest of scores with Gumbel
    noise is, then has the range w/scale. The largest of scores with Laplace noise has the pure epsilon w/scale: after a
    shift all scores move up (Dwork and Roth 2014, Claim 3.9, whose proof takes no more of counts than that). So has the
    largest of scores with exponential noise: with the other draws fixed, a score is the largest if its draw is above
    some t; after the move, above some t' <= t + w, and P(Z > t + w) >= exp(-w/scale) P(Z > t); the same holds back.
    """
    fact = release.fact
    low, high = (Fraction(float(end)) for end in (fact.low.min(initial=0.0), fact.high.max(initial=0.0)))
    far = (high - low) * (2 if replace else 1)
    if release.noise is None:  # exp(score): the score is the exponent
        return Spent(ranges=(far,)) if far else Spent()
    size = far / min(Fraction(float(one)) for one in release.noise.scale.ravel())
    if release.noise.law == "gumbel":
        return Spent(ranges=(size,)) if size else Spent()
    return Spent(pure=size)


def by_its_largest(release: SpentRelease) -> bool:
    """Whether a release is a choice of which more is known than of its noisy values."""
    if release.noise is None:
        return True
    same = len(set(release.noise.scale.ravel().tolist())) == 1
    return release.only_the_largest and same and release.noise.law in ("laplace", "gumbel", "exponential")


def whole_box(elements: Sequence[Element], *, replace: bool) -> Spent:
    """Every coordinate moved as far as any record may move it."""
    return _sum_of((one, _reach(one, both=replace)) for one in elements)


def _reach(one: Element, *, both: bool) -> Fraction:
    """How far a coordinate moves: by one record, or by one that goes and one that comes."""
    low, high = (min(one[3], Fraction(0)), max(one[4], Fraction(0))) if one[5] else (one[3], one[4])
    return high - low if both else max(-low, high)


def _sum_of(moves: Iterable[tuple[Element, Fraction]]) -> Spent:
    laplace: Counter[Fraction] = Counter()
    geometric: Counter[tuple[Fraction, int]] = Counter()
    gaussian = Fraction(0)
    for one, far in moves:
        spent = _spent_by(one, far)
        laplace.update(dict(spent.laplace))
        geometric.update(dict(spent.geometric))
        gaussian += spent.gaussian
    return Spent(tuple(sorted(laplace.items())), gaussian, tuple(sorted(geometric.items())))


def by_norm(release: SpentRelease, *, replace: bool) -> Spent | None:
    """What the norm of the move bounds; None where it says nothing."""
    norm: Norm | None = release.fact.norm
    if norm is None or release.noise is None:
        return None
    far = Fraction(norm.bound) * (2 if replace else 1)
    scale = Fraction(float(release.noise.scale.min()))
    if release.noise.law == "gaussian":  # the l1 norm bounds the l2 norm
        return Spent(gaussian=(far / scale) ** 2)
    if release.noise.law == "laplace" and norm.order == 1:
        return Spent(pure=far / scale)
    return None


# alternatives ---------------------------------------------------------------------------------------------------------


def alternatives(releases: Sequence[SpentRelease], *, replace: bool) -> list[Spent]:
    """What one record spends, for each choice of cells it may lie in; every pair is dominated by one of them.

    What is made of a Poisson sample alone is known for the records in it, and gains by the sample: the coins that make
    the sample are used for nothing else, so the two parts are independent once the data are given.
    """
    samples = list(dict.fromkeys(one.sample for one in releases if one.sample is not None))
    mixed = {one.sample for one in releases if one.noise is not None and one.noise.law == MIXED}
    if not samples or replace or len(mixed) > 1:  # draws that they have in common are not independent
        return _of_all_records(releases, replace=replace)
    found = _of_all_records([one for one in releases if one.sample is None], replace=False)
    for sample in samples:
        own = _of_all_records([one for one in releases if one.sample == sample], replace=False)
        if len(found) * len(own) > MOST_ALTERNATIVES:
            return _of_all_records(releases, replace=False)
        found = [one.plus(Spent(sampled=((sample.rate, other),))) for one in found for other in own]
    return found


def _of_all_records(releases: Sequence[SpentRelease], *, replace: bool) -> list[Spent]:
    """The same, for records that are in every sample."""
    fixed, elements = _sorted_out(releases, replace=replace)
    found = [fixed.plus(whole_box([one for one in elements if not one[5]], replace=replace))]
    for group in _connected([one for one in elements if one[5]]):
        options = _pruned(_of_group(group, replace=replace))
        if len(found) * len(options) > MOST_ALTERNATIVES:
            options = [whole_box(group, replace=replace)]
        found = _pruned([one.plus(other) for one in found for other in options])
    return found


def jointly(options: Sequence[Spent], releases: Sequence[SpentRelease], *, replace: bool) -> list[Spent]:
    """The same, each within the bound on all releases together: see `dpverdict.audit.tracing.rules.joint`.

    It takes longer, so it is asked for where the options by themselves do not keep a claim.
    """
    if any(one.sample is not None for one in releases) and not replace:
        return list(options)
    fixed, _ = _sorted_out(releases, replace=replace)
    joint = _jointly(releases, replace=replace)
    pure, gaussian = joint.get("pure"), joint.get("gaussian")
    choices = dataclasses.replace(fixed, gaussian=Fraction(0)).epsilon()
    together = None if pure is None or choices is None else choices + pure.bound
    squares = None if gaussian is None else fixed.gaussian + gaussian.bound
    if together is None and squares is None:
        return list(options)
    return _pruned([one.within(together, squares) for one in options])


def widest_records(releases: Sequence[SpentRelease], *, replace: bool) -> list[tuple[Mapping[str, Any], ...]]:
    """Records that spend most, as the bound on all releases together came by them."""
    return [one.records for one in _jointly(releases, replace=replace).values() if one.records]


def _sorted_out(releases: Sequence[SpentRelease], *, replace: bool) -> tuple[Spent, list[Element]]:
    """What is known of releases as a whole, and the coordinates of the others."""
    fixed, elements = Spent(gaussian=_of_mixed(releases, replace=replace)), list[Element]()
    for release in releases:
        known = _as_a_whole(release, replace=replace)
        if known is None:
            elements += elements_of(release)
        else:
            fixed = fixed.plus(known)
    return fixed, elements


def without_noise(releases: Sequence[SpentRelease], *, replace: bool) -> bool:
    """Whether some combination of numbers with common draws has no noise, or there are too many of them."""
    return squared_mu(_mixed_rows(releases, replace=replace)) is None


def _of_mixed(releases: Sequence[SpentRelease], *, replace: bool) -> Fraction:
    found = squared_mu(_mixed_rows(releases, replace=replace))
    if found is None:
        raise ArithmeticError("numbers with common noise, of which a combination has none")
    return found


def _mixed_rows(releases: Sequence[SpentRelease], *, replace: bool) -> list[Row]:
    return [row for one in releases if one.noise is not None and one.noise.law == MIXED
            for row in rows_of(one.fact, one.noise.terms or (), replace=replace)]  # fmt: skip


def _as_a_whole(release: SpentRelease, *, replace: bool) -> Spent | None:
    """What a choice spends, or what a norm bounds; None of a release that is better known by its coordinates.

    Of mixed draws nothing is left to be said: `_of_mixed` has all of them.
    """
    if release.noise is not None and release.noise.law == MIXED:
        return Spent()
    own = [] if release.noise is None or release.noise.law in ("gumbel", "exponential") else elements_of(release)
    if by_its_largest(release):
        chosen, box = choice_of(release, replace=replace), whole_box(own, replace=replace).epsilon()
        return None if own and own[0][0] == "laplace" and box is not None and box < chosen.pure else chosen
    normed = by_norm(release, replace=replace)
    return normed if normed is not None and _smaller(normed, whole_box(own, replace=replace)) else None


def _jointly(releases: Sequence[SpentRelease], *, replace: bool) -> dict[str, Joint]:
    """The bounds on all releases together that are known by their coordinates."""
    weighted: list[Weighted] = []
    setting: Any = None
    for release in releases:
        if _as_a_whole(release, replace=replace) is not None:
            continue
        fact, noise = release.fact, release.noise
        assert noise is not None
        if fact.origin is None or (setting is not None and fact.origin[0] is not setting):
            return {}
        setting, number = fact.origin
        for i in range(len(fact.supports)):
            if float(fact.low.ravel()[i]) or float(fact.high.ravel()[i]):
                part = "gaussian" if noise.law == "gaussian" else "pure"
                weighted.append((number, i, part, _weight(noise, i)))
    if not weighted:
        return {}
    key = (replace, tuple(weighted))
    known: dict[Any, dict[str, Joint]] = setting.known
    if key not in known:
        known[key] = most_spent(Boxes(setting, [one[0] for one in weighted]), weighted, replace=replace)
    return known[key]


def _weight(noise: NoiseFact, i: int) -> Fraction:
    """By which a move counts: whole moves of geometric draws by the rate, all others by 1 / scale."""
    if noise.law == "two-sided geometric":
        return Fraction(_rate(noise.parameter))
    return 1 / Fraction(float(noise.scale.ravel()[i]))


def _smaller(one: Spent, other: Spent) -> bool:
    if one.gaussian or other.gaussian:
        return one.gaussian <= other.gaussian
    return (one.epsilon() or Fraction(0)) <= (other.epsilon() or Fraction(0))


def _connected(elements: Sequence[Element]) -> list[list[Element]]:
    """Coordinates that depend on a common column, together."""
    groups: list[tuple[set[int], list[Element]]] = []
    for one in elements:
        columns = {column for column, _ in one[5]}
        joined, rest = [one], []
        for known, members in groups:
            if known & columns:
                columns, joined = columns | known, members + joined
            else:
                rest.append((known, members))
        groups = [*rest, (columns, joined)]
    return [members for _, members in groups]


def _of_group(group: Sequence[Element], *, replace: bool) -> list[Spent]:
    columns = sorted({column for one in group for column, _ in one[5]})
    cells: dict[int, list[Cell]] = {column: [] for column in columns}
    for one in group:
        for column, cell in one[5]:
            if cell not in cells[column]:
                cells[column].append(cell)
    states = [_states(cells[column]) for column in columns]
    if math.prod(map(len, states)) > MOST_ALTERNATIVES:
        return [whole_box(group, replace=replace)]
    active: dict[frozenset[int], None] = {}
    if len(columns) == 1:
        of_cell: dict[Cell, list[int]] = {}
        for i, one in enumerate(group):
            of_cell.setdefault(one[5][0][1], []).append(i)
        return _over(group, [frozenset(i for cell in state for i in of_cell.get(cell, ())) for state in states[0]],
                     replace=replace)  # fmt: skip
    place = {column: i for i, column in enumerate(columns)}
    for state in itertools.product(*states):
        moved = frozenset(
            i for i, one in enumerate(group) if all(cell in state[place[column]] for column, cell in one[5])
        )
        active[moved] = None
    return _over(group, list(active), replace=replace)


def _over(group: Sequence[Element], found: Sequence[frozenset[int]], *, replace: bool) -> list[Spent]:
    """What is spent where a record moves one of some sets of coordinates, or leaves one and comes to another."""
    sets = list(dict.fromkeys(found))
    if not replace:
        return [_moved(group, one, frozenset(), replace=False) for one in sets]
    classes: dict[object, list[frozenset[int]]] = {}
    for moved in sets:
        classes.setdefault(_moved(group, moved, frozenset(), replace=True), []).append(moved)
    kept = [moved for members in classes.values() for moved in members[:2]]
    apart = all(not a & b for i, a in enumerate(sets) for b in sets[:i]) if len(sets) <= 512 else _all_apart(sets)
    if not apart:
        if len(sets) > 64:
            return [whole_box(group, replace=True)]
        kept = sets
    return [_moved(group, a, b, replace=True) for i, a in enumerate(kept) for b in kept[: i + 1]]


def _all_apart(sets: Sequence[frozenset[int]]) -> bool:
    return sum(map(len, sets)) == len(frozenset().union(*sets))


def _moved(group: Sequence[Element], one: frozenset[int], other: frozenset[int], *, replace: bool) -> Spent:
    """A record in one choice of cells; under replacement, one that goes from there and one that comes to another."""
    both = one & other if replace else frozenset[int]()
    return _sum_of((group[i], _reach(group[i], both=i in both)) for i in sorted(one | other))


def _states(cells: Sequence[Cell]) -> list[frozenset[Cell]]:
    """Which of the cells of one column a value may lie in, together."""
    if all(cell.values is not None and not cell.others and not cell.missing for cell in cells):
        by_value: dict[object, set[Cell]] = {}
        for cell in cells:
            for value in cell.values or ():
                by_value.setdefault(value, set()).add(cell)
        return list(dict.fromkeys([frozenset(), *map(frozenset, by_value.values())]))
    if all(cell.values is None and not cell.missing for cell in cells):
        return _of_intervals(cells)
    points: list[object] = [None, *dict.fromkeys(one for cell in cells for one in cell.representatives())]
    numbers = sorted({float(one) for one in points if isinstance(one, int | float)})
    between = [(a + b) / 2 for a, b in itertools.pairwise(numbers)]
    ends = [numbers[0] - 1, numbers[-1] + 1] if numbers else []
    listed = all(cell.values is not None for cell in cells)
    tried = [*points, *between, *ends, *(["\0 some other text"] if listed else [])]
    found = {frozenset(cell for cell in cells if cell.holds(value)) for value in tried}
    return list(found)


def _of_intervals(cells: Sequence[Cell]) -> list[frozenset[Cell]]:
    """The same for intervals alone, at their ends, between them and outside."""
    ends = sorted({end for cell in cells for end in (cell.low, cell.high) if math.isfinite(end)})
    if not ends:
        return [frozenset(cells)]
    between = [(a + b) / 2 for a, b in itertools.pairwise(ends)]
    tried = np.array([*ends, *between, ends[0] - 1 - abs(ends[0]), ends[-1] + 1 + abs(ends[-1])])
    held = np.stack([
        ((tried > cell.low) | ((tried == cell.low) & cell.low_closed))
        & ((tried < cell.high) | ((tried == cell.high) & cell.high_closed))
        for cell in cells
    ])  # fmt: skip
    columns = {column.tobytes(): column for column in held.T}
    return [frozenset(), *(frozenset(cells[i] for i in np.flatnonzero(one).tolist()) for one in columns.values())]


def _pruned(options: Sequence[Spent]) -> list[Spent]:
    """Those that no other one dominates."""
    unique = list(dict.fromkeys(options))
    if len(unique) > 512:
        return unique
    kept: list[Spent] = []
    for i, one in enumerate(unique):
        if not any(one.at_most(other) and (not other.at_most(one) or j < i) for j, other in enumerate(unique)
                   if j != i):  # fmt: skip
            kept.append(one)
    return kept
