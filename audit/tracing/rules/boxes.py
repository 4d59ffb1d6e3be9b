"""The same operations for the records of a box alone: ranges of the columns, one for each, that one record lies in.

A rule speaks of g(record), the entries of one record, or of how far one record moves a statistic. So with narrower
bounds on the columns of the table, the facts that the rules give hold for the one record that moves, whatever the other
records are: the proof is that of the rules themselves, operation by operation, read for the records of the box. Of many
boxes that hold every record together, some box then speaks of the record at hand.

Beside the facts stand *forms*: where a box decides every comparison, a contribution is often exactly an affine function
c + sum of c_k x_k of the columns, with rational coefficients (a form without columns is a number). A form keeps what
bounds forget: that two statistics depend on one column. Where no form is known, the bounds of the fact count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.tracing.rules.facts import Cell, Rows, Total
from dpverdict.audit.tracing.rules.operations import OPERATIONS, NotCovered, Setting, Step, TracedOperand
from dpverdict.audit.tracing.rules.ranges import clipped_nowhere, ranges
from dpverdict.audit.tracing.rules.records import key_from_json

Dimension: TypeAlias = "tuple[int, int]"
"""A column: the number of the operation that made it, and its place in a row."""


@final
@dataclass(frozen=True, slots=True)
class BoxSide:
    """What a box says of one column: an interval, or some values of a category; and whether an entry may be missing.

    An entry that is missing for certain has no interval: low = inf and high = -inf, or no values.

    Attributes:
        low, high: the ends, which belong to it; infinite where nothing bounds it.
        missing: whether an entry may be missing.
        whole: whether entries are whole numbers.
        values: of a category; None otherwise.
    """

    low: float
    high: float
    missing: bool
    whole: bool = False
    values: tuple[Any, ...] | None = None

    @property
    def is_point(self) -> bool:
        """Whether there is one entry alone."""
        some = len(self.values) if self.values is not None else 1 if self.low == self.high else 2
        if self.low > self.high or self.values == ():
            some = 0
        return some + self.missing <= 1

    def parts(self, at: float | None) -> tuple[BoxSide, BoxSide]:
        """Two sides that hold every entry of this one: below a number and from there on, halves without one."""
        if self.missing and not self.is_point:
            return replace(self, missing=False), replace(self, low=math.inf, high=-math.inf,
                                                         values=None if self.values is None else ())  # fmt: skip
        if self.values is not None:
            half = len(self.values) // 2
            return replace(self, values=self.values[:half]), replace(self, values=self.values[half:])
        cut = _middle(self.low, self.high) if at is None or not self.low <= at <= self.high else at
        if self.whole:
            cut = max(math.ceil(cut), self.low + 1)
            return replace(self, high=cut - 1), replace(self, low=cut)
        if cut <= self.low:
            cut = math.nextafter(self.low, math.inf)
        return replace(self, high=math.nextafter(cut, -math.inf)), replace(self, low=cut)

    def ends(self) -> tuple[BoxSide, ...]:
        """Its smallest and its largest entry, each by itself."""
        if self.is_point:
            return (self,)
        if self.values is not None:
            return tuple(
                replace(self, values=(one,), missing=False) for one in self.values[:: len(self.values) - 1 or 1]
            )
        if self.low > self.high:
            return (self,)
        return tuple(replace(self, low=one, high=one, missing=False) for one in (self.low, self.high))


def _middle(low: float, high: float) -> float:
    """A number between two, of which each may be infinite."""
    if math.isinf(low) and math.isinf(high):
        return 0.0
    if math.isinf(high):
        return max(1.0, 4 * low) if low >= 0 else 0.0
    if math.isinf(low):
        return min(-1.0, 4 * high) if high <= 0 else 0.0
    return low / 2 + high / 2


Box: TypeAlias = "tuple[BoxSide, ...]"


@final
@dataclass(frozen=True, slots=True)
class Form:
    """An affine function of the columns of a box, exactly.

    Attributes:
        constant: the number without columns.
        factors: of the columns, by the place of their side in the box, in order; none is 0.
        steeper: whether the statistic is moved at most as far as this, and not exactly so: of max, min, clip and abs.
    """

    constant: Fraction
    factors: tuple[tuple[int, Fraction], ...] = ()
    steeper: bool = False

    def plus(self, other: Form, times: Fraction = Fraction(1)) -> Form:
        """The sum, of the other one times a number."""
        found = dict(self.factors)
        for place, factor in other.factors:
            found[place] = found.get(place, Fraction(0)) + factor * times
        kept = tuple(sorted((place, factor) for place, factor in found.items() if factor))
        return Form(self.constant + other.constant * times, kept)

    def times(self, factor: Fraction) -> Form:
        """A multiple."""
        kept = tuple((place, one * factor) for place, one in self.factors) if factor else ()
        return Form(self.constant * factor, kept, self.steeper)

    def at(self, corner: Mapping[int, Fraction]) -> Fraction:
        """The number at a corner of the box."""
        return self.constant + sum((factor * corner[place] for place, factor in self.factors), Fraction(0))

    def range(self, box: Box) -> tuple[Fraction | float, Fraction | float]:
        """The smallest and the largest number."""
        low: Any = self.constant
        high: Any = self.constant
        for place, factor in self.factors:
            ends = [_times(factor, one) for one in (box[place].low, box[place].high)]
            low, high = _add(low, min(ends)), _add(high, max(ends))
        return low, high


def _times(factor: Fraction, number: float) -> Fraction | float:
    return factor * Fraction(number) if math.isfinite(number) else math.copysign(math.inf, number * factor)


def _add(one: Any, other: Any) -> Any:
    if isinstance(one, float) or isinstance(other, float):  # an infinite one
        return one if isinstance(one, float) else other
    return one + other


Forms: TypeAlias = NDArray[np.object_]
"""A form, or None, for each entry of a row or coordinate of a statistic."""


@final
@dataclass(slots=True)
class Evaluated:
    """What holds of the records of a box.

    Attributes:
        facts: of the statistics that were asked for, by number.
        forms: of the same; None for a coordinate of which none is known.
        cuts: columns, by place, with numbers at which to divide the box, so that more forms are known.
    """

    facts: dict[int, Total] = field(default_factory=dict)
    forms: dict[int, Forms] = field(default_factory=dict)
    cuts: list[tuple[int, float]] = field(default_factory=list)


@final
class Boxes:
    """The operations that some statistics are made by, for records of any box.

    Args:
        setting: with the steps of the run.
        statistics: the numbers of the operations that made them.
    """

    def __init__(self, setting: Setting, statistics: Iterable[int]) -> None:
        self.setting: Final = setting
        self.statistics: Final = tuple(dict.fromkeys(statistics))
        self.needed: Final = _ancestors(setting.steps, self.statistics)
        self.dimensions: Final[list[Dimension]] = []
        sides: list[BoxSide] = []
        picked = _entries_used(setting.steps, self.needed)
        for number in self.needed:
            step = setting.steps[number]
            if step.name == "table":
                for i in range(len(step.parameters["names"])):
                    chosen = picked[number]
                    if chosen is None or i in chosen:
                        self.dimensions.append((number, i))
                        sides.append(_side(step, i))
        self.whole: Final[Box] = tuple(sides)

    def name(self, place: int) -> str:
        """Of the column of a side."""
        number, i = self.dimensions[place]
        return str(self.setting.steps[number].parameters["names"][i])

    def evaluate(self, box: Box) -> Evaluated:
        """Facts and forms for the records of a box.

        Raises:
            NotCovered: a rule gives none for it.
        """
        found = Evaluated()
        steps = list(self.setting.steps)
        setting = replace(self.setting, steps=steps, unboxed=self.setting)
        places = {dimension: place for place, dimension in enumerate(self.dimensions)}
        forms: dict[int, Forms] = {}
        for number in self.needed:
            step = steps[number]
            given = dict(step.parameters)
            if step.name == "table":
                given = _narrowed(given, number, box, places)
            operands = [one if one.number is None else TracedOperand(one.number, steps[one.number].fact)
                        for one in step.operands]  # fmt: skip
            with np.errstate(all="ignore"):
                fact = OPERATIONS[step.name].rule(setting, operands, given)
            steps[number] = replace(step, parameters=given, fact=fact)
            assert isinstance(fact, Rows | Total)
            work = _Work(setting, box, places, forms, found.cuts)
            own = work.forms_of(number, steps[number], operands, fact)
            forms[number] = _with_points(own, fact)
        for number in self.statistics:
            fact = steps[number].fact
            assert isinstance(fact, Total)
            found.facts[number], found.forms[number] = fact, forms[number]
        return found


def _ancestors(steps: Sequence[Step], numbers: Iterable[int]) -> list[int]:
    """The operations that some are made by, themselves too, in order; with the masks of their records."""
    waiting, found = list(numbers), set[int]()
    while waiting:
        number = waiting.pop()
        if number in found:
            continue
        found.add(number)
        fact = steps[number].fact
        waiting += [one.number for one in steps[number].operands if one.number is not None]
        waiting += list(fact.masks) if isinstance(fact, Rows) else []
    return sorted(found)


def _entries_used(steps: Sequence[Step], needed: Sequence[int]) -> dict[int, set[int] | None]:
    """Of each table, the places of its columns that are used; None where all may be."""
    found: dict[int, set[int] | None] = {n: set() for n in needed if steps[n].name == "table"}
    for number in needed:
        for one in steps[number].operands:
            if one.number in found:
                size = len(steps[one.number].parameters["names"])
                key = key_from_json(steps[number].parameters["key"]) if steps[number].name == "index" else None
                known = found[one.number]
                if key is None or known is None or steps[one.number].parameters["single"]:
                    found[one.number] = None
                else:
                    known.update(np.ravel(np.arange(size)[key]).tolist())
    for number in needed:
        if number in found and number in _statistics_of_tables(steps, needed):
            found[number] = None
    return found


def _statistics_of_tables(steps: Sequence[Step], needed: Sequence[int]) -> set[int]:
    """Tables whose records are looked at as masks."""
    return {mask for n in needed for fact in [steps[n].fact] if isinstance(fact, Rows) for mask in fact.masks
            if steps[mask].name == "table"}  # fmt: skip


def _side(step: Step, i: int) -> BoxSide:
    given = step.parameters
    values = given["values"]
    if given["dtype"] == "category":
        return BoxSide(0.0, 0.0, bool(given["missing"][i]), values=tuple(values) if values is not None else None)
    whole = np.dtype(given["dtype"]).kind in "iub"
    return BoxSide(float(given["low"][i]), float(given["high"][i]), bool(given["missing"][i]), whole)


def _narrowed(given: dict[str, Any], number: int, box: Box, places: Mapping[Dimension, int]) -> dict[str, Any]:
    """The parameters of a table, for the records of a box."""
    low, high, missing = list(given["low"]), list(given["high"]), list(given["missing"])
    for i in range(len(given["names"])):
        place = places.get((number, i))
        if place is not None:
            side = box[place]
            missing[i] = side.missing
            if side.values is not None:
                given = {**given, "values": list(side.values)}
            elif given["dtype"] != "category":
                low[i], high[i] = repr(side.low), repr(side.high)
    return {**given, "low": low, "high": high, "missing": missing}


def _with_points(forms: Forms, fact: Rows | Total) -> Forms:
    """With the numbers of entries that bounds leave no room."""
    found = forms.ravel()
    low, high = fact.low.ravel().tolist(), fact.high.ravel().tolist()
    gaps = fact.missing.ravel().tolist() if isinstance(fact, Rows) else [False] * len(low)
    known = not isinstance(fact, Rows) or fact.dtype != "category"
    for i in range(len(low)):
        if found[i] is None and known and low[i] == high[i] and math.isfinite(low[i]) and not gaps[i]:
            found[i] = Form(Fraction(low[i]))
    return found.reshape(forms.shape)


def _nothing(shape: tuple[int, ...]) -> Forms:
    return np.full(shape, None, dtype=object)


def _number(value: Any) -> Fraction | None:
    """A public number, exactly."""
    if isinstance(value, bool | np.bool_):
        return Fraction(int(value))
    if isinstance(value, int | np.integer):
        return Fraction(int(value))
    if isinstance(value, float | np.floating) and math.isfinite(value):
        return Fraction(float(value))
    return None


@final
@dataclass(slots=True)
class _Work:
    """The forms of one operation, from those of its operands."""

    setting: Setting
    box: Box
    places: Mapping[Dimension, int]
    known: Mapping[int, Forms]
    cuts: list[tuple[int, float]]

    def forms_of(self, number: int, step: Step, operands: Sequence[TracedOperand], fact: Rows | Total) -> Forms:
        """The forms of an operation; None in each place where none is known."""
        if step.name == "table":
            return self._of_table(number, step, fact)
        rule = FORMS.get(step.name)
        found = None if rule is None else rule(self, step, operands, fact)
        return _nothing(fact.shape) if found is None else found

    def _of_table(self, number: int, step: Step, fact: Rows | Total) -> Forms:
        found = _nothing(fact.shape)
        flat = found.ravel()
        for i in range(flat.size):
            place = self.places.get((number, i))
            if place is not None and fact.dtype != "category" and not self.box[place].missing:
                flat[i] = Form(Fraction(0), ((place, Fraction(1)),))
        return flat.reshape(found.shape)

    def of(self, operand: TracedOperand, shape: tuple[int, ...]) -> Forms:
        """The forms of an operand, as it is broadcast to a shape."""
        if operand.number is not None:
            found = self.known[operand.number]
        else:
            value = np.asarray(operand.value)
            if value.ndim > len(shape):
                value = value[0]
            found = _nothing(value.shape)
            flat = found.ravel()
            for i, one in enumerate(value.ravel().tolist()):
                exact = _number(one)
                flat[i] = None if exact is None else Form(exact)
            found = flat.reshape(value.shape)
        return np.broadcast_to(found, shape)

    def decided(self, one: Form, other: Form, *, strictly: bool) -> bool | None:
        """Whether one < other (or <=) for every record of the box, for none, or for some; then it is cut there."""
        low, high = one.plus(other, Fraction(-1)).range(self.box)
        if high < 0 or (high <= 0 and not strictly):
            return True
        if low > 0 or (low >= 0 and strictly):
            return False
        self.cut(one.plus(other, Fraction(-1)))
        return None

    def cut(self, form: Form, at: Fraction = Fraction(0)) -> None:
        """Note where a form of one column is a number."""
        if len(form.factors) == 1:
            place, factor = form.factors[0]
            try:
                where = float((at - form.constant) / factor)
            except OverflowError:
                return
            side = self.box[place]
            if side.low <= where <= side.high and side.low < side.high:
                self.cuts.append((place, where))

    def selected(self, fact: Rows) -> bool | None:
        """Whether the masks of some records hold for every record of the box, for none, or for some."""
        answer: bool | None = True
        for number in fact.masks:
            (form,) = self.known[number].ravel()
            if form is not None and not form.factors:
                if not form.constant:
                    return False
            else:
                answer = None
        return answer


Rule: TypeAlias = "Callable[[_Work, Step, Sequence[TracedOperand], Any], Forms | None]"
FORMS: Final[dict[str, Rule]] = {}
"""How each operation carries forms on; of those that are not here, bounds count."""


def _covers(*names: str) -> Callable[[Rule], Rule]:
    def registered(rule: Rule) -> Rule:
        for name in names:
            FORMS[name] = rule
        return rule

    return registered


def _mapped(function: Callable[..., Form | None], *arrays: Forms) -> Forms:
    """An elementwise function of forms; None of None."""
    found = _nothing(arrays[0].shape)
    flat = found.ravel()
    for i, parts in enumerate(zip(*(one.ravel() for one in arrays), strict=True)):
        if all(one is not None for one in parts):
            flat[i] = function(*parts)
    return flat.reshape(found.shape)


# of records -----------------------------------------------------------------------------------------------------------

_TRUE, _FALSE = Form(Fraction(1)), Form(Fraction(0))


@_covers("elementwise")
def _elementwise(work: _Work, step: Step, operands: Sequence[TracedOperand], fact: Rows) -> Forms | None:
    name = str(step.parameters["name"])
    if any(isinstance(one.fact, Rows) and one.fact.dtype == "category" for one in operands) or not all(
        one.fact is not None or np.asarray(one.value).dtype.kind in "biuf" for one in operands
    ):
        return None
    if np.dtype(fact.dtype).kind == "f" and np.dtype(fact.dtype).itemsize < 8:
        return None
    gaps = [np.broadcast_to(one.fact.missing, fact.shape) if isinstance(one.fact, Rows)
            else np.zeros(fact.shape, dtype=np.bool_) for one in operands]  # fmt: skip
    forms = [work.of(one, fact.shape) for one in operands]
    if any(gap.any() for gap in gaps):
        return None
    rule = _ELEMENTS.get(name)
    found = None if rule is None else _mapped(lambda *parts: rule(work, name, *parts), *forms)
    return None if np.dtype(fact.dtype).kind == "b" else found  # of truth values, the bounds say what is known


def _linear(work: _Work, name: str, one: Form, other: Form | None = None) -> Form | None:
    match name, other:
        case "positive", None:
            return one
        case "negative", None:
            return one.times(Fraction(-1))
        case "add", Form():
            return one.plus(other)
        case "subtract", Form():
            return one.plus(other, Fraction(-1))
        case "multiply", Form() if not other.factors:
            return one.times(other.constant)
        case "multiply", Form() if not one.factors:
            return other.times(one.constant)
        case "true_divide", Form() if not other.factors and other.constant:
            return one.times(1 / other.constant)
        case _:
            return None


def _chosen(work: _Work, name: str, one: Form, other: Form) -> Form | None:
    below = work.decided(one, other, strictly=False)
    return None if below is None else one if below == (name in ("minimum", "fmin")) else other


def _absolute(work: _Work, name: str, one: Form) -> Form | None:
    below = work.decided(one, _FALSE, strictly=False)
    return None if below is None else one.times(Fraction(-1)) if below else one


def _square(work: _Work, name: str, one: Form) -> Form | None:
    if one.factors:
        work.decided(one, _FALSE, strictly=False)  # a box on one side of 0 has the square at its ends
        return None
    return Form(one.constant**2)


def _sign(work: _Work, name: str, one: Form) -> Form | None:
    work.cut(one)
    return None


def _whole(work: _Work, name: str, one: Form) -> Form | None:
    low, high = one.range(work.box)
    if isinstance(low, float) or isinstance(high, float):
        work.cut(one)
        return None
    shift = Fraction(1, 2) if name == "rint" else Fraction(0)
    at = math.floor((low + high) / 2 - shift) + shift
    work.cut(one, at if low < at else at + 1)
    return None


def _compared(work: _Work, name: str, one: Form, other: Form) -> Form | None:
    for strictly in (True, False):
        work.decided(one, other, strictly=strictly)
    return None


_ELEMENTS: Final[dict[str, Callable[..., Form | None]]] = {
    **dict.fromkeys(("positive", "negative", "add", "subtract", "multiply", "true_divide"), _linear),
    **dict.fromkeys(("minimum", "maximum", "fmin", "fmax"), _chosen),
    **dict.fromkeys(("absolute", "fabs"), _absolute),
    **dict.fromkeys(("floor", "ceil", "rint", "trunc"), _whole),
    **dict.fromkeys(("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"), _compared),
    "sign": _sign,
    "square": _square,
}
"""Those that leap have no form but where the bounds leave one number: so they do what floats do, not real numbers."""


@_covers("where")
def _where(work: _Work, step: Step, operands: Sequence[TracedOperand], fact: Rows) -> Forms | None:
    if any(isinstance(one.fact, Rows) and one.fact.dtype == "category" for one in operands):
        return None
    return _mapped_some(
        lambda condition, a, b: None if condition is None or condition.factors else a if condition.constant else b,
        *[work.of(one, fact.shape) for one in operands],
    )


def _mapped_some(function: Callable[..., Form | None], *arrays: Forms) -> Forms:
    found = _nothing(arrays[0].shape)
    flat = found.ravel()
    for i, parts in enumerate(zip(*(one.ravel() for one in arrays), strict=True)):
        flat[i] = function(*parts)
    return flat.reshape(found.shape)


@_covers("index")
def _index(work: _Work, step: Step, operands: Sequence[TracedOperand], fact: Rows) -> Forms | None:
    picked: Any = work.of(operands[0], operands[0].fact.shape)[key_from_json(step.parameters["key"])]  # type: ignore[union-attr]
    if isinstance(picked, np.ndarray):
        return np.array(picked, dtype=object)
    found = _nothing(())
    found[()] = picked
    return found


@_covers("select", "fill", "drop missing")
def _same(work: _Work, step: Step, operands: Sequence[TracedOperand], fact: Rows) -> Forms | None:
    return np.array(work.of(operands[0], fact.shape))  # None where it may be missing


@_covers("astype")
def _astype(work: _Work, step: Step, operands: Sequence[TracedOperand], fact: Rows) -> Forms | None:
    forms, kind = work.of(operands[0], fact.shape), np.dtype(fact.dtype)
    if kind.kind == "f" and kind.itemsize == 8:
        return np.array(forms)
    if kind.kind in "iu":
        return np.array(forms) if np.dtype(operands[0].fact.dtype).kind in "iub" else _mapped(  # type: ignore[union-attr]
            lambda one: _whole(work, "trunc", one), forms)  # fmt: skip
    return None


@_covers("digitize")
def _digitize(work: _Work, step: Step, operands: Sequence[TracedOperand], fact: Rows) -> Forms | None:
    for form in work.of(operands[0], fact.shape).ravel():
        for edge in np.asarray(operands[1].value, dtype=np.float64).tolist():
            if form is not None and math.isfinite(edge):
                _compared(work, "less", form, Form(Fraction(edge)))
    return None


@_covers("columns")
def _columns(work: _Work, step: Step, operands: Sequence[TracedOperand], fact: Rows) -> Forms | None:
    parts = [work.of(one, one.fact.shape) for one in operands]  # type: ignore[union-attr]
    parts = [one[None] if step.parameters["new"] else np.atleast_1d(one) for one in parts]
    return np.array(np.concatenate(parts), dtype=object)


@_covers("along the row")
def _along_the_row(work: _Work, step: Step, operands: Sequence[TracedOperand], fact: Rows) -> Forms | None:
    name, axis = str(step.parameters["name"]), int(step.parameters["axis"])
    if name not in ("sum", "mean"):
        return None
    forms = np.moveaxis(work.of(operands[0], operands[0].fact.shape), axis, -1)  # type: ignore[union-attr]
    flat = forms.reshape(-1, forms.shape[-1])
    found = _nothing((flat.shape[0],))
    for i, row in enumerate(flat):
        if all(one is not None for one in row):
            found[i] = _sum_of(row).times(Fraction(1, len(row)) if name == "mean" else Fraction(1))
    return found.reshape(fact.shape)


def _sum_of(forms: Iterable[Form]) -> Form:
    whole = _FALSE
    for one in forms:
        whole = whole.plus(one)
    return whole


@_covers("row times matrix")
def _row_times_matrix(work: _Work, step: Step, operands: Sequence[TracedOperand], fact: Rows) -> Forms | None:
    matrix = np.asarray(operands[1].value, dtype=np.float64)
    forms = work.of(operands[0], operands[0].fact.shape)  # type: ignore[union-attr]
    if not np.isfinite(matrix).all() or any(one is None for one in forms):
        return None
    wide = matrix if matrix.ndim == 2 else matrix[:, None]
    found = _nothing((wide.shape[1],))
    for k in range(wide.shape[1]):
        found[k] = _sum_of(one.times(Fraction(float(wide[i, k]))) for i, one in enumerate(forms))
    return found.reshape(fact.shape)


# of statistics --------------------------------------------------------------------------------------------------------


@_covers("sum", "mean")
def _sum(work: _Work, step: Step, operands: Sequence[TracedOperand], fact: Total) -> Forms | None:
    rows = operands[0].fact
    assert isinstance(rows, Rows)
    selected = work.selected(rows)
    if selected is None:
        return None
    forms = work.of(operands[0], rows.shape)
    over = Fraction(1)
    if step.name == "mean":
        assert work.setting.records is not None
        over = Fraction(1, work.setting.records * (math.prod(rows.shape) if step.parameters["all"] else 1))
    if not selected:
        return _mapped(lambda _: _FALSE, np.full(fact.shape, _FALSE, dtype=object))
    if step.parameters["all"]:
        found = _nothing(fact.shape)
        if all(one is not None for one in forms.ravel()):
            found[()] = _sum_of(forms.ravel()).times(over)
        return found
    return _mapped(lambda one: one.times(over), forms)


@_covers("count")
def _count(work: _Work, step: Step, operands: Sequence[TracedOperand], fact: Total) -> Forms | None:
    rows = operands[0].fact
    assert isinstance(rows, Rows)
    selected = work.selected(rows)
    if selected is None or (selected and step.parameters["present"] and rows.missing.any()):
        return None
    return np.full(fact.shape, _TRUE if selected else _FALSE, dtype=object)


@_covers("groups of several columns")
def _groups_of_several(work: _Work, step: Step, operands: Sequence[TracedOperand], fact: Total) -> Forms | None:
    size = int(step.parameters["keys"])
    keys: list[Any] = [one.fact for one in operands[:size]]
    selected = work.selected(keys[0])
    if selected is False:
        return np.full(fact.shape, _FALSE, dtype=object)
    forms = [work.of(one, ()).ravel()[0] for one in operands[:size]]
    weight: Form | None = _TRUE
    if len(operands) > size:
        (weight,) = work.of(operands[size], ()).ravel()
    found = _nothing(fact.shape)
    for i, label in enumerate(step.parameters["values"]):
        inside = [_inside(work, key, form, Cell(frozenset([value])))
                  for key, form, value in zip(keys, forms, label, strict=True)]  # fmt: skip
        if False in inside:
            found[i] = _FALSE
        elif all(inside) and selected:
            found[i] = weight
    return found


@_covers("groups", "bincount", "histogram")
def _groups(work: _Work, step: Step, operands: Sequence[TracedOperand], fact: Total) -> Forms | None:
    key = operands[0].fact
    assert isinstance(key, Rows)
    selected = work.selected(key)
    if selected is False:
        return np.full(fact.shape, _FALSE, dtype=object)
    (form,) = work.of(operands[0], key.shape).ravel()
    weight: Form | None = _TRUE
    if len(operands) > 1 and operands[1].fact is not None:
        (weight,) = work.of(operands[1], ()).ravel()
    found = _nothing(fact.shape)
    for i, cell in enumerate(_cells(step)):
        inside = _inside(work, key, form, cell)
        if inside is False:
            found[i] = _FALSE
        elif inside and selected:
            found[i] = weight
    return found


def _cells(step: Step) -> list[Cell]:
    if step.name == "histogram":
        edges = [float(one) for one in step.parameters["edges"]]
        last = len(edges) - 2
        return [Cell(low=edges[i], high=edges[i + 1], high_closed=i == last) for i in range(last + 1)]
    values = range(int(step.parameters["size"])) if step.name == "bincount" else step.parameters["values"]
    return [Cell(frozenset([one])) for one in values]


def _inside(work: _Work, key: Rows, form: Form | None, cell: Cell) -> bool | None:
    """Whether every entry lies in a cell, none, or some."""
    if key.dtype == "category":
        if key.values is None:
            return None
        held = {cell.holds(one) for one in key.values} | ({cell.holds(None)} if key.missing.any() else set())
        return held.pop() if len(held) == 1 else None
    if key.missing.any():
        return None
    low, high = float(key.low), float(key.high)
    ends = [_number(one) for one in cell.values] if cell.values is not None else [_number(cell.low), _number(cell.high)]
    for one in ends:
        if one is not None and form is not None:
            _compared(work, "less", form, Form(one))
    if cell.values is not None:
        inside = [one for one in cell.values if isinstance(one, int | float) and low <= one <= high]
        return False if not inside else True if low == high else None
    if cell.holds(low) and cell.holds(high):
        return True
    outside = high < cell.low or low > cell.high or (high == cell.low and not cell.low_closed)
    return False if outside or (low == cell.high and not cell.high_closed) else None


@_covers("product of columns")
def _product(work: _Work, step: Step, operands: Sequence[TracedOperand], fact: Total) -> Forms | None:
    one, other = (operand.fact for operand in operands)
    assert isinstance(one, Rows)
    assert isinstance(other, Rows)
    selected = work.selected(one)
    if selected is None:
        return None
    if not selected:
        return np.full(fact.shape, _FALSE, dtype=object)
    left = work.of(operands[0], one.shape).reshape((*one.shape, *([1] * len(other.shape))))
    left = np.broadcast_to(left, fact.shape)
    right = np.broadcast_to(work.of(operands[1], other.shape), fact.shape)
    return _mapped(lambda a, b: _linear(work, "multiply", a, b), left, right)


def _exactly(forms: Forms) -> Forms:
    """Those of statistics that are moved exactly so."""
    return _mapped_some(lambda one: None if one is not None and one.steeper else one, forms)


@_covers("move")
def _move(work: _Work, step: Step, operands: Sequence[TracedOperand], fact: Total) -> Forms | None:
    name, shape = str(step.parameters["name"]), fact.shape
    if name in ("multiply", "true_divide"):
        forms, factors = [work.of(one, shape) for one in operands]
        if operands[0].fact is None:
            forms, factors = factors, forms
        if name == "true_divide":
            return _mapped(lambda a, b: a.times(1 / b.constant) if b.constant else None, forms, factors)
        return _mapped(lambda a, b: a.times(b.constant), forms, factors)
    zeros = np.full(shape, _FALSE, dtype=object)
    parts = [work.of(one, shape) if one.fact is not None else zeros for one in operands]
    if sum(one.fact is not None for one in operands) == 1:  # a public number does not move
        if name == "subtract" and operands[0].fact is None:
            return _mapped(lambda one: one.times(Fraction(-1)), parts[1])
        return np.array(parts[0] if operands[0].fact is not None else parts[1])
    sign = Fraction(-1 if name == "subtract" else 1)
    return _mapped(lambda a, b: a.plus(b, sign), *map(_exactly, parts))


@_covers("negative")
def _negative(work: _Work, step: Step, operands: Sequence[TracedOperand], fact: Total) -> Forms | None:
    return _mapped(lambda one: one.times(Fraction(-1)), work.of(operands[0], fact.shape))


@_covers("pick")
def _pick(work: _Work, step: Step, operands: Sequence[TracedOperand], fact: Total) -> Forms | None:
    assert operands[0].number is not None
    flat = work.known[operands[0].number].ravel()
    places = np.array(step.parameters["places"], dtype=np.int64)
    return flat[places].reshape(fact.shape)


@_covers("stack")
def _stack(work: _Work, step: Step, operands: Sequence[TracedOperand], fact: Total) -> Forms | None:
    parts: list[Any] = []
    for one in operands:
        parts += work.known[one.number].ravel().tolist() if one.number is not None else [_FALSE] * np.size(one.value)
    found = _nothing((len(step.parameters["places"]),))
    for i, place in enumerate(step.parameters["places"]):
        found[i] = parts[place]
    return found.reshape(fact.shape)


@_covers("sum of coordinates")
def _sum_of_coordinates(work: _Work, step: Step, operands: Sequence[TracedOperand], fact: Total) -> Forms | None:
    assert operands[0].number is not None
    flat: Any = _exactly(work.known[operands[0].number]).ravel()
    groups = step.parameters["groups"]
    found = _nothing((len(groups),))
    for i, group in enumerate(groups):
        if all(flat[place] is not None for place in group):
            found[i] = _sum_of(flat[place] for place in group).times(Fraction(1, int(step.parameters["over"])))
    return found.reshape(fact.shape)


@_covers("times matrix")
def _times_matrix(work: _Work, step: Step, operands: Sequence[TracedOperand], fact: Total) -> Forms | None:
    assert operands[0].number is not None
    flat = _exactly(work.known[operands[0].number]).ravel()
    factors = np.asarray(operands[1].value, dtype=np.float64)
    found = _nothing((factors.shape[0],))
    for k, row in enumerate(factors):
        used = np.flatnonzero(row).tolist()
        if all(flat[i] is not None for i in used):
            found[k] = _sum_of(flat[i].times(Fraction(float(row[i]))) for i in used)
    return found.reshape(fact.shape)


@_covers("not steeper", "absolute")
def _not_steeper(work: _Work, step: Step, operands: Sequence[TracedOperand], fact: Total) -> Forms | None:
    """max, min, clip and abs: |h(s) - h(t)| <= |s - t|, and of a statistic that lies on one side, s, -s or a number."""
    values = ranges(work.setting, operands[0].number).reshaped(operands[0].fact.shape)  # type: ignore[union-attr]
    if step.name == "absolute":
        signs = np.where(values.low >= 0, 1, np.where(values.high <= 0, -1, 0))
    else:
        stays, constant = clipped_nowhere(values, operands[1].value, str(step.parameters["name"]))
        signs = np.where(stays, 1, np.where(constant, 2, 0))
    found = np.array(work.of(operands[0], fact.shape))
    flat = found.ravel()
    for i, sign in enumerate(np.broadcast_to(signs, fact.shape).ravel().tolist()):
        if sign == 2:
            flat[i] = _FALSE
        elif flat[i] is not None:
            flat[i] = flat[i].times(Fraction(sign)) if sign else replace(flat[i], steeper=True)
    return flat.reshape(fact.shape)


@_covers("converted")
def _converted(work: _Work, step: Step, operands: Sequence[TracedOperand], fact: Total) -> Forms | None:
    before = operands[0].fact
    assert isinstance(before, Total)
    if np.dtype(fact.dtype).kind in "iu" and np.dtype(before.dtype).kind == "f":
        return None
    return np.array(work.of(operands[0], fact.shape))


__all__ = ["FORMS", "Box", "BoxSide", "Boxes", "Evaluated", "Form", "Forms", "NotCovered"]
