"""How far one record moves all released statistics together: a bound by branch and bound over boxes of records.

Bounds of each coordinate by itself forget that one record decides all of them: x.sum() and (1 - x).sum() of a column
between 0 and 1 are each moved by 1 at most, and together by 1, not by 2. What a record spends is

    pure part      sum over Laplace and geometric draws of |move_j| / scale_j   (times the rate, for a geometric law)
    Gaussian part  sum over Gaussian draws of (move_j / scale_j)^2

and each is bounded from above as follows. The records of the schema are divided into boxes, each of which is a range of
every column; so each record lies in one. In a box, a coordinate with a form (see `boxes`) moves by an affine function
of the record, and any other one by a number within the bounds of its fact. The sum of sizes, or of squares, of affine
functions is convex, and so is largest at a corner of the box: the bound of a box is that, with the largest size of each
coordinate without a form. It is exact rational arithmetic throughout. The bound is the largest of all boxes. Under
replacement the same is done for pairs of boxes, of the record that goes and the one that comes: the difference of two
affine functions is affine in both, and the largest distance of an affine function from an interval is convex. The
box with the largest bound is divided again, until a record is known that spends as much, or so many boxes were looked
at: the bound holds whenever one stops.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, TypeAlias, final

from dpverdict.audit.tracing.rules.boxes import Box, Boxes, BoxSide, Form, NotCovered
from dpverdict.audit.tracing.rules.facts import Total

MOST_BOXES: Final = 400
"""That are looked at, for each of the two parts."""
MOST_COLUMNS: Final = 12
MOST_COORDINATES: Final = 200
MOST_CORNERS: Final = 4096
CLOSE: Final = 1 - Fraction(1, 2**48)
"""Where a record spends this share of the bound, no box is divided any more."""
LARGE: Final = 1e6
"""Beyond which unbounded columns are divided last."""

Weighted: TypeAlias = "tuple[int, int, str, Fraction]"
"""The number of a statistic, a coordinate of it, "pure" or "gaussian", and the weight of its move: 1 / scale."""


@final
@dataclass(frozen=True, slots=True)
class Joint:
    """What one record spends at most, all coordinates together.

    Attributes:
        bound: on the pure part, or on the Gaussian one.
        records: columns with entries, of a record that was found to spend most, and of the one that it replaces.
    """

    bound: Fraction
    records: tuple[Mapping[str, Any], ...] = ()


@final
@dataclass(slots=True)
class _Moves:
    """How far the records of one box move each coordinate, in order: a form, or bounds."""

    forms: list[Form | None]
    ends: list[tuple[Fraction, Fraction]]
    cuts: list[tuple[int, float]] = field(default_factory=list)

    def at(self, i: int, corner: Mapping[int, Fraction]) -> tuple[Fraction, Fraction]:
        """Between which numbers a coordinate moves by a record at a corner: one number, where it has a form."""
        form = self.forms[i]
        if form is None:
            return self.ends[i]
        number = form.at(corner)
        return number, number


def _farthest(ends: Sequence[tuple[Fraction, Fraction]]) -> Fraction:
    """The largest size of a number between two; of two such numbers, of their difference."""
    low, high = ends[0] if len(ends) == 1 else (ends[0][0] - ends[1][1], ends[0][1] - ends[1][0])
    return max(-low, high, Fraction(0))


@final
class _Search:
    """Branch and bound for one part."""

    def __init__(self, boxes: Boxes, weighted: Sequence[Weighted], *, square: bool, replace: bool) -> None:
        self.boxes, self.weighted, self.square, self.replace = boxes, weighted, square, replace
        self.known: dict[Box, _Moves | None] = {}
        self.most: Final = [self._of_every_record(*one[:2]) for one in weighted]
        self.best, self.record = Fraction(-1), tuple[Box, ...]()
        self.bounds: dict[tuple[Box, ...], Fraction | None] = {}
        self.tops: dict[tuple[Box, ...], tuple[dict[int, Fraction], ...]] = {}

    def _of_every_record(self, number: int, i: int) -> Fraction:
        """How far any record moves a coordinate, by its fact."""
        fact = self.boxes.setting.steps[number].fact
        assert isinstance(fact, Total)
        low, high = Fraction(float(fact.low.ravel()[i])), Fraction(float(fact.high.ravel()[i]))
        if fact.supports[i]:
            low, high = min(low, Fraction(0)), max(high, Fraction(0))
        return high - low if self.replace else max(-low, high)

    def run(self) -> Joint | None:
        """The bound; None where there is none."""
        start = (self.boxes.whole,) * (2 if self.replace else 1)
        first = self._bound(start)
        if first is None:
            return None
        waiting = [(-first, 0, start)]
        done, count = Fraction(0), itertools.count(1)
        while waiting:
            bound, _, boxes = waiting[0]
            self._try(boxes)
            if -bound * CLOSE <= self.best or len(self.known) > MOST_BOXES or next(count) > 8 * MOST_BOXES:
                break
            heapq.heappop(waiting)
            parts = self._divided(boxes)
            if parts is None:
                done = max(done, -bound)
                continue
            for part in parts:
                size = self._bound(part)
                size = -bound if size is None else min(size, -bound)
                if size > self.best:
                    heapq.heappush(waiting, (-size, -next(count), part))  # of equal ones, the last
                else:
                    done = max(done, size)
        left = max((-one[0] for one in waiting), default=Fraction(0))
        return Joint(max(done, left, Fraction(0)), tuple(map(self._entries, self.record)))

    def _entries(self, point: Box) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for place, side in enumerate(point):
            known: Any = None
            if side.values is not None:
                known = side.values[0] if side.values else None
            elif side.low <= side.high:
                known = int(side.low) if side.whole and math.isfinite(side.low) else side.low
            found[self.boxes.name(place)] = known
        return found

    # boxes ------------------------------------------------------------------------------------------------------------

    def _moves(self, box: Box) -> _Moves | None:
        if box not in self.known:
            self.known[box] = self._evaluated(box)
        return self.known[box]

    def _evaluated(self, box: Box) -> _Moves | None:
        try:
            found = self.boxes.evaluate(box)
        except NotCovered:
            return None
        forms, ends = list[Form | None](), list[tuple[Fraction, Fraction]]()
        for number, i, *_ in self.weighted:
            fact = found.facts[number]
            low, high = float(fact.low.ravel()[i]), float(fact.high.ravel()[i])
            if fact.supports[i]:
                low, high = min(low, 0.0), max(high, 0.0)
            if not (math.isfinite(low) and math.isfinite(high)):
                return None
            form = found.forms[number].ravel()[i]
            unbounded = form is not None and any(
                math.isinf(box[place].low) or math.isinf(box[place].high) for place, _ in form.factors
            )
            forms.append(None if unbounded else form)
            ends.append((Fraction(low), Fraction(high)))
        return _Moves(forms, ends, found.cuts)

    def _bound(self, boxes: tuple[Box, ...]) -> Fraction | None:
        """What the records of a box (of two) spend at most; None where nothing is known."""
        if boxes not in self.bounds:
            self.bounds[boxes] = self._bounded(boxes)
        return self.bounds[boxes]

    def _bounded(self, boxes: tuple[Box, ...]) -> Fraction | None:
        moves = [self._moves(box) for box in boxes]
        known = [one for one in moves if one is not None]
        if len(known) < len(boxes):
            return None
        kept = [i for i in range(len(self.weighted)) if self._formed([one.forms[i] for one in known])
                and not self._beyond(i, boxes, known)]  # fmt: skip
        places = [sorted({place for i in kept for place, _ in (one.forms[i] or Form(Fraction(0))).factors})
                  for one in known]  # fmt: skip
        if 2 ** sum(map(len, places)) > MOST_CORNERS:
            kept, places = [], [[] for _ in known]
        others = [i for i in range(len(self.weighted)) if i not in set(kept)]
        rest = sum((self._part(i, min(_farthest([one.ends[i] for one in known]), self.most[i])) for i in others),
                   Fraction(0))  # fmt: skip
        most, top = Fraction(-1), tuple[dict[int, Fraction], ...]()
        for ends in itertools.product((False, True), repeat=sum(map(len, places))):
            left = list(ends)
            corners = [{place: Fraction(box[place].high if left.pop() else box[place].low) for place in own}
                       for box, own in zip(boxes, places, strict=True)]  # fmt: skip
            size = Fraction(0)
            for i in kept:
                size += self._part(
                    i, _farthest([one.at(i, corner) for one, corner in zip(known, corners, strict=True)])
                )
            if size > most:
                most, top = size, tuple(corners)
        self.tops[boxes] = top
        return most + rest

    def _formed(self, forms: Sequence[Form | None]) -> bool:
        """Whether forms say more than bounds: some are known, and what is moved less steeply is known on both sides."""
        if all(one is not None for one in forms):
            return True
        return any(one is not None for one in forms) and not any(one is not None and one.steeper for one in forms)

    def _beyond(self, i: int, boxes: tuple[Box, ...], known: Sequence[_Moves]) -> bool:
        """Whether a form that only bounds how far a coordinate moves says less than its fact."""
        forms = [one.forms[i] for one in known]
        if not any(one is not None and one.steeper for one in forms):
            return False
        ends: list[Any] = [one.range(box) if one is not None else moves.ends[i]
                           for one, box, moves in zip(forms, boxes, known, strict=True)]  # fmt: skip
        return _farthest(ends) > self.most[i]

    def _part(self, i: int, far: Fraction) -> Fraction:
        size = far * self.weighted[i][3]
        return size * size if self.square else size

    # records ----------------------------------------------------------------------------------------------------------

    def _try(self, boxes: tuple[Box, ...]) -> None:
        """Look at what a record at the best corner spends, with the other columns at their ends."""
        corners = self.tops.get(boxes) or ({},) * len(boxes)
        options = [self._points(box, corner) for box, corner in zip(boxes, corners, strict=True)]
        for points in itertools.product(*options):
            known = [self._moves(point) for point in points]
            size = Fraction(0)
            for i in range(len(self.weighted)):
                ends = []
                for one, point in zip(known, points, strict=True):
                    if one is None:
                        return
                    corner = {place: Fraction(side.low) for place, side in enumerate(point) if math.isfinite(side.low)}
                    ends.append(one.at(i, corner))
                low, high = ends[0]
                if len(ends) > 1:
                    low, high = low - ends[1][1], high - ends[1][0]
                size += self._part(i, min(max(low, -high, Fraction(0)), self.most[i]))
            if size > self.best:
                self.best, self.record = size, points

    def _points(self, box: Box, corner: Mapping[int, Fraction]) -> list[Box]:
        """A corner, with all other columns at their lower ends, and with all at their upper ones."""
        found: list[Box] = []
        for last in (0, -1):
            sides = []
            for place, side in enumerate(box):
                ends = side.ends()
                if place in corner:
                    ends = tuple(one for one in ends if Fraction(one.low) == corner[place]) or ends
                sides.append(_finite(ends[last]))
            if tuple(sides) not in found:
                found.append(tuple(sides))
        return found

    # dividing ---------------------------------------------------------------------------------------------------------

    def _divided(self, boxes: tuple[Box, ...]) -> list[tuple[Box, ...]] | None:
        """The parts of a box: cut where a form becomes known, else where that lowers the bound most; None of points."""
        for which, box in enumerate(boxes):
            moves = self._moves(box)
            for place, at in moves.cuts if moves is not None else ():
                if not box[place].is_point and not box[place].missing:
                    return [_with(boxes, which, place, part) for part in box[place].parts(at)]
        options: list[tuple[Fraction | float, float, list[tuple[Box, ...]]]] = []
        for which, box in enumerate(boxes):
            for place, side in enumerate(box):
                if not side.is_point:
                    parts = [_with(boxes, which, place, part) for part in side.parts(None)]
                    sizes = [self._bound(part) for part in parts]
                    largest = max(math.inf if one is None else one for one in sizes)
                    options.append((largest, -_width(side, self.boxes.whole[place]), parts))
        return min(options, key=lambda one: one[:2])[2] if options else None


def _width(side: BoxSide, whole: BoxSide) -> float:
    """Of a side, as a share of that of all records: what decides where no cut lowers the bound."""
    if side.missing or side.values is not None:
        return 3.0
    if math.isinf(side.low) or math.isinf(side.high):
        return 2.0 if max(side.low, -side.high) < LARGE else 0.0
    known = math.isfinite(whole.low) and math.isfinite(whole.high)
    return (side.high - side.low) / (whole.high - whole.low if known else 2 * LARGE)


def _finite(side: BoxSide) -> BoxSide:
    """A point that is no infinite number."""
    if side.low > side.high or side.values is not None:
        return side
    low = min(max(side.low, -LARGE), LARGE) if math.isinf(side.low) else side.low
    return BoxSide(low, low, side.missing, side.whole)


def _with(boxes: tuple[Box, ...], which: int, place: int, side: BoxSide) -> tuple[Box, ...]:
    box = boxes[which]
    return (*boxes[:which], (*box[:place], side, *box[place + 1 :]), *boxes[which + 1 :])


def most_spent(boxes: Boxes, weighted: Sequence[Weighted], *, replace: bool) -> dict[str, Joint]:
    """Bounds on the pure and on the Gaussian part that one record spends, of those that there are.

    Args:
        boxes: of the statistics.
        weighted: their coordinates.
        replace: whether a record goes and another comes; otherwise one is added or removed.
    """
    found: dict[str, Joint] = {}
    if len(boxes.whole) > MOST_COLUMNS or len(weighted) > MOST_COORDINATES:
        return found
    for part in ("pure", "gaussian"):
        own = [one for one in weighted if one[2] == part]
        if own:
            joint = _Search(boxes, own, square=part == "gaussian", replace=replace).run()
            if joint is not None:
                found[part] = joint
    return found
