"""What one record moves in all releases of a function together, derived by cases, in exact fractions.

The columns of the schema are cut wherever a comparison, a bound of a clip or a mask changes its answer. In each of the
boxes that this leaves, a coordinate is an affine function of the columns, or nothing is said of it. The sum of sizes,
or of squares, of affine functions is convex, so the largest one of a box is at one of its corners; a coordinate of
which nothing is said counts with the bounds of its fact. No code is shared with the project, whose bound divides boxes
by what lowers it: here all are looked at, and where there are too many, nothing is said.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction as F
from typing import Any, NamedTuple

import numpy as np

MOST_BOXES = 60
MOST_CORNERS = 1024


class TooMuch(Exception):
    """More than is looked at here."""


class Side(NamedTuple):
    """The range of a column, with or without its ends."""

    low: F
    high: F
    low_in: bool = True
    high_in: bool = True


class Form(NamedTuple):
    """constant + sum of factor * column; `truth` of a condition that is the same for the whole box."""

    constant: F
    factors: tuple[tuple[str, F], ...] = ()


Box = Mapping[str, Side]
Value = Form | bool | None
"""A form; the answer of a condition; or None, where nothing is said."""


def form(constant: F, factors: Mapping[str, F]) -> Form:
    return Form(constant, tuple(sorted((name, one) for name, one in factors.items() if one)))


def scaled(one: Form, by: F) -> Form:
    return form(one.constant * by, {name: factor * by for name, factor in one.factors})


def plus(a: Form, b: Form) -> Form:
    factors = dict(a.factors)
    for name, factor in b.factors:
        factors[name] = factors.get(name, F(0)) + factor
    return form(a.constant + b.constant, factors)


class Cut(Exception):
    """A box has to be divided before it can be said what holds in it."""

    def __init__(self, column: str, at: F) -> None:
        self.column, self.at = column, at


class Cases:
    """The operations of a certificate in one box: arrays of values, and of contributions to statistics."""

    def __init__(self, document: Mapping[str, Any], columns: Mapping[str, Mapping[str, Any]], box: Box) -> None:
        self.records: int | None = document["records"]
        self.columns, self.box = columns, box
        self.found: list[Any] = []
        self.masks: list[tuple[int, ...]] = []
        for step in document["steps"]:
            inner = [one.get("step") for one in step["operands"]]
            own = next((self.masks[i] for i in inner if i is not None and self.masks[i]), ())
            self.masks.append((*own, inner[1]) if step["operation"] == "select" else own)
            rule: Callable[..., Any] | None = getattr(self, "_" + step["operation"].replace(" ", "_"), None)
            self.found.append(None if rule is None else rule(step["operands"], step["parameters"]))

    def operand(self, one: Mapping[str, Any]) -> Any:
        """An array of values, or of public numbers as forms; None where nothing is said."""
        if set(one) == {"step"}:
            return self.found[one["step"]]
        if set(one) == {"mapping"}:
            return None
        array = np.asarray(one["value"])
        if array.dtype.kind not in "biuf" or (array.dtype.kind == "f" and not np.isfinite(array).all()):
            return None
        return each(lambda number: Form(F(number)), plain(array))

    def range_of(self, one: Form) -> tuple[F, F]:
        low = high = one.constant
        for name, factor in one.factors:
            side = self.box[name]
            ends = sorted((factor * side.low, factor * side.high))
            low, high = low + ends[0], high + ends[1]
        return low, high

    def below(self, one: Form, *, strictly: bool) -> bool | None:
        """Whether a form is below 0 in the whole box, or is not in the whole of it.

        Raises:
            Cut: it depends on where a column lies.
        """
        low, high = self.range_of(one)
        if high < 0 or (high == 0 and not strictly):
            return True
        if low > 0 or (low == 0 and strictly):
            return False
        if len(one.factors) != 1:
            return None
        [(name, factor)] = one.factors
        at, side = -one.constant / factor, self.box[name]
        above_in, below_in = (side.high_in, side.low_in) if factor > 0 else (side.low_in, side.high_in)
        if high == 0 and not above_in:
            return True
        if low == 0 and not below_in:
            return False
        raise Cut(name, at)

    # records ----------------------------------------------------------------------------------------------------------

    def _table(self, operands: Any, p: Mapping[str, Any]) -> Any:
        if any(name not in self.box for name in p["names"]):
            return None
        made = [form(F(0), {name: F(1)}) for name in p["names"]]
        return plain_of(made, () if p["single"] else (len(made),))

    def _elementwise(self, operands: Any, p: Mapping[str, Any]) -> Any:
        given, name = [self.operand(one) for one in operands], p["name"]
        if any(one is None for one in given) or (p["dtype"] not in ("float64", "int64", "bool")):
            return None
        if p["dtype"] == "int64" and name not in ("add", "subtract", "multiply", "negative", "minimum", "maximum"):
            return None
        return each(lambda *values: self.applied(name, values), *given)

    def applied(self, name: str, values: Sequence[Value]) -> Value:
        """One function of the entries of one record."""
        if any(one is None for one in values):
            return None
        if name in ("logical_and", "bitwise_and", "logical_or", "bitwise_or", "logical_not", "invert"):
            if not all(isinstance(one, bool) for one in values):
                return None
            if name in ("logical_not", "invert"):
                return not values[0]
            return (all if name.endswith("and") else any)(bool(one) for one in values)
        forms = [Form(F(int(one))) if isinstance(one, bool) else one for one in values]
        a = forms[0]
        assert a is not None
        if name in ("negative", "positive"):
            return scaled(a, F(-1)) if name == "negative" else a
        if name in ("absolute", "fabs"):
            below = self.below(a, strictly=False)
            return None if below is None else scaled(a, F(-1)) if below else a
        if len(forms) != 2:
            return None
        b = forms[1]
        assert b is not None
        apart = plus(a, scaled(b, F(-1)))
        if name in ("add", "subtract"):
            return plus(a, b) if name == "add" else apart
        if name == "multiply":
            return scaled(a, b.constant) if not b.factors else scaled(b, a.constant) if not a.factors else None
        if name == "true_divide":
            return scaled(a, 1 / b.constant) if not b.factors and b.constant else None
        if name in ("minimum", "maximum"):
            below = self.below(apart, strictly=False)
            return None if below is None else a if below == (name == "minimum") else b
        if name in ("less", "less_equal", "greater", "greater_equal"):
            one = apart if name.startswith("less") else scaled(apart, F(-1))
            return self.below(one, strictly=not name.endswith("equal"))
        return None

    def _index(self, operands: Any, p: Mapping[str, Any]) -> Any:
        given = self.operand(operands[0])
        return None if given is None else plain(given[key_of(p["key"])])

    def _astype(self, operands: Any, p: Mapping[str, Any]) -> Any:
        given = self.operand(operands[0])
        if given is None or p["dtype"] not in ("float64", "int64", "bool"):
            return None
        truths = all(isinstance(one, bool) for one in given.ravel())
        return given if truths or p["dtype"] == "float64" else None

    def _columns(self, operands: Any, p: Mapping[str, Any]) -> Any:
        given = [self.operand(one) for one in operands]
        if any(one is None for one in given):
            return None
        wide = [np.atleast_1d(one[None] if p["new"] else one) for one in given]
        return plain(np.concatenate(wide, axis=0))

    def _select(self, operands: Any, p: Mapping[str, Any]) -> Any:
        return self.operand(operands[0])

    def _where(self, operands: Any, p: Mapping[str, Any]) -> Any:
        given = [self.operand(one) for one in operands]
        if any(one is None for one in given):
            return None
        return each(lambda c, a, b: (a if c else b) if isinstance(c, bool) else None, *given)

    # statistics -------------------------------------------------------------------------------------------------------

    def chosen(self, operand: Mapping[str, Any]) -> bool | None:
        """Whether the records of the box are selected by all masks."""
        answers = [None if self.found[i] is None else self.found[i].ravel()[0] for i in self.masks[operand["step"]]]
        if any(one is False for one in answers):
            return False
        return True if all(one is True for one in answers) else None

    def _sum(self, operands: Any, p: Mapping[str, Any]) -> Any:
        given, chosen = self.operand(operands[0]), self.chosen(operands[0])
        if given is None and chosen is not False:
            return None
        if chosen is None or given is None:
            return None
        made = each(lambda one: number_of(one) if chosen else Form(F(0)), given)
        return plain(added(list(made.ravel()))) if p["all"] else made

    def _mean(self, operands: Any, p: Mapping[str, Any]) -> Any:
        given = self._sum(operands, p)
        if given is None or self.records is None:
            return None
        size = self.records * (self.operand(operands[0]).size if p["all"] else 1)
        return each(lambda one: None if one is None else scaled(one, F(1, size)), given)

    def _count(self, operands: Any, p: Mapping[str, Any]) -> Any:
        chosen, given = self.chosen(operands[0]), self.operand(operands[0])
        if chosen is None or (given is None and (p["each"] or p["present"])):
            return None
        shape = given.shape if given is not None and p["each"] else ()
        return plain_of([Form(F(int(chosen)))] * math.prod(shape), shape)

    def _histogram(self, operands: Any, p: Mapping[str, Any]) -> Any:
        given, chosen = self.operand(operands[0]), self.chosen(operands[0])
        if given is None or chosen is None or len(operands) > 1 or not isinstance(given.ravel()[0], Form):
            return None
        edges = [F(float(one)) for one in p["edges"]]
        above = [self.below(plus(Form(edge), scaled(given.ravel()[0], F(-1))), strictly=i == len(edges) - 1)
                 for i, edge in enumerate(edges)]  # fmt: skip
        if any(one is None for one in above):
            return None
        inside = [chosen and a is True and b is False for a, b in itertools.pairwise(above)]
        return plain_of([Form(F(int(one))) for one in inside], (len(inside),))

    def _move(self, operands: Any, p: Mapping[str, Any]) -> Any:
        given, name = [self.operand(one) for one in operands], p["name"]
        if any(one is None for one in given):
            return None
        public = ["step" not in one for one in operands]
        if name in ("add", "subtract"):
            zero = [each(lambda one: Form(F(0)), one) if own else one for one, own in zip(given, public, strict=True)]
            sign = F(1 if name == "add" else -1)
            return each(lambda a, b: None if a is None or b is None else plus(a, scaled(b, sign)), *zero)
        return each(lambda a, b: self.applied(name, (a, b)), *given)

    def _negative(self, operands: Any, p: Mapping[str, Any]) -> Any:
        given = self.operand(operands[0])
        return None if given is None else each(lambda one: None if one is None else scaled(one, F(-1)), given)

    def _pick(self, operands: Any, p: Mapping[str, Any]) -> Any:
        given = self.operand(operands[0])
        if given is None:
            return None
        return plain_of([given.ravel()[i] for i in np.array(p["places"]).ravel().tolist()], p["shape"])

    def _stack(self, operands: Any, p: Mapping[str, Any]) -> Any:
        parts: list[Value] = []
        for one in operands:
            given = self.operand(one)
            if given is None:
                return None
            parts += [Form(F(0))] * given.size if "step" not in one else list(given.ravel())
        return plain_of([parts[i] for i in p["places"]], p["shape"])

    def _sum_of_coordinates(self, operands: Any, p: Mapping[str, Any]) -> Any:
        given = self.operand(operands[0])
        if given is None:
            return None
        flat = list(given.ravel())
        made = [added([flat[i] for i in group]) for group in p["groups"]]
        return plain_of([None if one is None else scaled(one, F(1, p["over"])) for one in made], p["shape"])

    def _times_matrix(self, operands: Any, p: Mapping[str, Any]) -> Any:
        given = self.operand(operands[0])
        if given is None:
            return None
        flat = list(given.ravel())
        rows = np.asarray(operands[1]["value"], dtype=np.float64).tolist()
        made = [added([None if one is None else scaled(one, F(x)) for x, one in zip(row, flat, strict=True) if x])
                for row in rows]  # fmt: skip
        return plain_of(made, p["shape"])

    def _converted(self, operands: Any, p: Mapping[str, Any]) -> Any:
        return self.operand(operands[0]) if p["dtype"] == "float64" else None


def number_of(one: Value) -> Form | None:
    return Form(F(int(one))) if isinstance(one, bool) else one


def added(forms: Sequence[Value]) -> Form | None:
    found = Form(F(0))
    for one in forms:
        number = number_of(one)
        if number is None:
            return None
        found = plus(found, number)
    return found


def plain_of(values: Sequence[Any], shape: Sequence[int]) -> Any:
    made = np.empty(len(values), dtype=object)
    made[:] = [None] * len(values)
    for i, one in enumerate(values):
        made[i] = one
    return made.reshape(tuple(shape))


def plain(value: Any) -> Any:
    """An array of objects, also of one."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return plain_of(value.ravel().tolist(), value.shape)
    return value if isinstance(value, np.ndarray) else plain_of([value], ())


def each(function: Callable[..., Any], *arrays: Any) -> Any:
    shape = np.broadcast_shapes(*(one.shape for one in arrays))
    flats = [
        [one.ravel()[i] for i in np.broadcast_to(np.arange(one.size).reshape(one.shape), shape).ravel().tolist()]
        for one in arrays
    ]
    return plain_of([function(*values) for values in zip(*flats, strict=True)], shape)


def key_of(given: Any) -> Any:
    if isinstance(given, int):
        return given
    if "tuple" in given:
        return tuple(key_of(one) for one in given["tuple"])
    if "slice" in given:
        return slice(*given["slice"])
    if "array" in given:
        return np.array(given["array"], dtype=np.bool_ if given["bool"] else np.int64)
    return None if "new" in given else Ellipsis


# the bound


class Coordinate(NamedTuple):
    """A released coordinate: of which operation, by what its move counts, and the bounds of its fact."""

    step: int
    place: int
    weight: F
    low: F
    high: F


def most_spent(
    document: Mapping[str, Any], columns: Mapping[str, Mapping[str, Any]], ends: Mapping[str, tuple[F, F]],
    coordinates: Sequence[Coordinate], *, square: bool, replace: bool,
) -> F:  # fmt: skip
    """The largest sum of sizes of weighted moves, or of their squares, by one record.

    Args:
        document: the certificate, of which the steps were derived.
        columns: of its schema.
        ends: the range of each column that has finite ends and no gaps.
        coordinates: that count.
        square: whether squares are added up.
        replace: whether a record goes and another comes.

    Raises:
        TooMuch: it has too many boxes, or corners.
    """
    waiting: list[dict[str, Side]] = [{name: Side(*one) for name, one in ends.items()}]
    boxes: list[tuple[dict[str, Side], list[Form | None]]] = []
    while waiting:
        box = waiting.pop()
        try:
            found = Cases(document, columns, box).found
        except Cut as cut:
            side = box[cut.column]
            parts = [Side(side.low, cut.at, side.low_in, False), Side(cut.at, cut.at),
                     Side(cut.at, side.high, False, side.high_in)]  # fmt: skip
            if cut.at == side.low:
                parts = parts[1:]
            if cut.at == side.high:
                parts = parts[:-1]
            waiting += [{**box, cut.column: part} for part in parts]
            if len(waiting) + len(boxes) > MOST_BOXES:
                raise TooMuch("too many boxes") from None
            continue
        values = [None if found[one.step] is None else found[one.step].ravel()[one.place] for one in coordinates]
        boxes.append((box, values))
    groups = itertools.product(boxes, repeat=2) if replace else ((one,) for one in boxes)
    return max((_of_boxes(group, coordinates, square=square) for group in groups), default=F(0))


def _of_boxes(group: Sequence[Any], coordinates: Sequence[Coordinate], *, square: bool) -> F:
    known = [i for i in range(len(coordinates)) if all(values[i] is not None for _, values in group)]
    names = [sorted({name for i in known for name, _ in values[i].factors}) for _, values in group]
    if 2 ** sum(map(len, names)) > MOST_CORNERS:
        raise TooMuch("too many corners")
    rest = F(0)
    for i, one in enumerate(coordinates):
        if i not in known:
            far = one.high - one.low if len(group) > 1 else max(-one.low, one.high)
            rest += (far * one.weight) ** 2 if square else far * one.weight
    most = F(0)
    corners = [
        list(itertools.product(*((box[name].low, box[name].high) for name in own)))
        for (box, _), own in zip(group, names, strict=True)
    ]
    places = [[dict(zip(own, one, strict=True)) for one in found] for own, found in zip(names, corners, strict=True)]
    numbers = [
        [[values[i].constant + sum((f * at[name] for name, f in values[i].factors), F(0)) for i in known] for at in own]
        for (_, values), own in zip(group, places, strict=True)
    ]
    for chosen in itertools.product(*numbers):
        size = F(0)
        for j, i in enumerate(known):
            far = abs(chosen[0][j] - (chosen[1][j] if len(chosen) > 1 else 0)) * coordinates[i].weight
            size += far * far if square else far
        most = max(most, size)
    return most + rest
