"""Which part of an outcome tells two tables apart, in the words of whoever wrote the function: counts["rare"]."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Sized
from typing import Any, Final

import numpy as np

from dpverdict.audit.tables.standing_out import shown
from dpverdict.audit.trials.outcomes.canonical import CanonicalOutcome
from dpverdict.audit.trials.outcomes.inputs import fresh, held_safe
from dpverdict.audit.trials.run import AnyMechanism, generator, with_generator
from dpverdict.audit.trials.user_code import own_error_state
from dpverdict.mechanisms.core.neighbours import AnyPair

OFTEN: Final = 0.25
"""Of the outcomes: a part that so many more have on one table than on the other is named."""
CERTAIN: Final = 0.9
FAR: Final = 0.5
"""Standard deviations between the means of a number, from which on it is named."""


def part_in_words(
    mechanism: AnyMechanism, pair: AnyPair, rows: tuple[list[CanonicalOutcome], list[CanonicalOutcome]], seed: int
) -> str:
    """The part of the outcome that tells most, from outcomes on either table; "" if none stands out.

    Args:
        mechanism: it is called once more on each table, for the names in what it returns.
        pair: the two tables.
        rows: outcomes on the larger and on the smaller table.
        seed: of the two calls.
    """
    if not all(rows):
        return ""
    values = [_value(mechanism, side, seed) for side in (pair.dataset, pair.neighbour)]
    forms = [Counter(one.signature for one in side) for side in rows]
    gaps = {form: forms[0][form] / len(rows[0]) - forms[1][form] / len(rows[1]) for form in forms[0] | forms[1]}
    most = max(gaps, key=lambda form: abs(gaps[form]))
    if abs(gaps[most]) > OFTEN:
        return _of_form(rows, gaps, values)
    odd = _odd_entry(rows, values)
    return odd or _text(rows, CERTAIN) or _number(rows, values) or _text(rows, OFTEN)


def _value(mechanism: AnyMechanism, table: Any, seed: int) -> Any:
    """What one call returns; the exception that it ends in."""
    called: Any = with_generator(mechanism)
    try:
        with own_error_state():
            given = fresh(held_safe(table))
            if callable(called):
                return called(given, generator(seed, "part of the outcome", 0))
            return called.release_many(given, 1, generator(seed, "part of the outcome", 0))[0]
    except Exception as error:  # whatever a function ends in is an outcome
        return error


def _of_form(
    rows: tuple[list[CanonicalOutcome], list[CanonicalOutcome]], gaps: Mapping[str, float], values: list[Any]
) -> str:
    for place, side in enumerate(("larger", "smaller")):
        often = [sum(one.raised for one in rows[at]) / len(rows[at]) for at in (place, 1 - place)]
        if often[0] - often[1] > OFTEN:
            said = next(one.note for one in rows[place] if one.raised)
            return f"the exception {said}, on the {side} table"
    one, other = values
    keys = _keys(one), _keys(other)
    named = sorted(map(repr, keys[0] ^ keys[1]))
    if named:
        side = "larger" if keys[0] - keys[1] else "smaller"
        return f"the key {', '.join(named[:3])}, which is there on the {side} table only"
    if hasattr(one, "columns") and hasattr(other, "columns") and list(one.columns) != list(other.columns):
        named = sorted(map(str, set(one.columns) ^ set(other.columns)))
        return f"the column {', '.join(named[:3])} of the result, which is there on one table only"
    if hasattr(one, "index") and hasattr(other, "index") and hasattr(one, "iloc") and hasattr(other, "iloc"):
        named = [shown(label) for label in {*one.index} ^ {*other.index}]
        if named:
            return f"the row {', '.join(sorted(named)[:3])} of the result, which is there on one table only"
    if isinstance(one, Sized) and isinstance(other, Sized) and not isinstance(one, str) and len(one) != len(other):
        what = "number of rows of the result" if hasattr(one, "columns") else "length of the result"
        return f"the {what}: {len(one)} against {len(other)}"
    most = max(gaps, key=lambda form: abs(gaps[form]))
    return f"the form of the outcome, {most[:80]}, more often on the {'larger' if gaps[most] > 0 else 'smaller'} table"


def _keys(value: Any) -> set[Any]:
    return set(value) if isinstance(value, Mapping) else set()


def _odd_entry(rows: tuple[list[CanonicalOutcome], list[CanonicalOutcome]], values: list[Any]) -> str:
    counts = [Counter(item for one in side for item in one.symbols.items() if item[0].endswith("?")) for side in rows]
    best, far = "", OFTEN
    for path, text in counts[0] | counts[1]:
        gap = abs(counts[0][path, text] / len(rows[0]) - counts[1][path, text] / len(rows[1]))
        if gap > far:
            block, _, index = path.removesuffix("?").rpartition("[")
            side = "larger" if counts[0][path, text] > counts[1][path, text] else "smaller"
            best, far = f"{_named(block, int(index.rstrip(']')), values)}, which is {text} on the {side} table", gap
    return best


def _number(rows: tuple[list[CanonicalOutcome], list[CanonicalOutcome]], values: list[Any]) -> str:
    best, far = "", FAR
    shared = [path for path in rows[0][0].numbers if path in rows[1][0].numbers and "~" not in path]
    for path in shared[:2000]:
        length = min(len(rows[side][0].numbers[path]) for side in (0, 1))
        sides = [
            [one.numbers[path][:length] for one in side if len(one.numbers.get(path, ())) >= length] for side in rows
        ]
        with np.errstate(all="ignore"):
            p, q = (np.array(side) for side in sides)
            gap = np.abs(np.median(p, axis=0) - np.median(q, axis=0))
            spread = np.minimum(_spread(p), _spread(q))
            apart = np.where(spread > 0, gap / spread, np.where(gap > 0, np.inf, 0.0))
        if len(apart) and float(np.max(apart)) > far:
            place = int(np.argmax(apart))
            far = float(apart[place])
            best = f"{_named(path, place, values)}: {np.median(p[:, place]):.6g} against {np.median(q[:, place]):.6g}"
    return best


def _spread(values: Any) -> Any:
    return (np.quantile(values, 0.84, axis=0) - np.quantile(values, 0.16, axis=0)) / 2


def _text(rows: tuple[list[CanonicalOutcome], list[CanonicalOutcome]], least: float) -> str:
    counts = [Counter(item for one in side for item in one.symbols.items() if "~" not in item[0]) for side in rows]
    gaps = {
        item: abs(counts[0][item] / len(rows[0]) - counts[1][item] / len(rows[1])) for item in counts[0] | counts[1]
    }
    if not gaps or max(gaps.values()) <= least:
        return ""
    path, text = max(gaps, key=lambda item: gaps[item])
    return f"{_path(path) or 'the text'}, which is {shown(text)} more often on one table"


def _named(path: str, place: int, values: Sequence[Any]) -> str:
    """An entry of a block of numbers, by the labels of the returned frame where it has some."""
    value = next((one for one in values if not isinstance(one, BaseException)), None)
    index = getattr(value, "index", None)
    if index is not None and hasattr(value, "iloc") and place < len(index):
        column = path.removeprefix(".").strip("'")
        label = shown(index[place])
        return f'result["{label}"]' if getattr(value, "ndim", 1) == 1 else f"column {column} of the result, row {label}"
    if hasattr(value, "columns"):
        return f"column {path.removeprefix('.').strip(chr(39))} of the result, row {place}"
    if path:
        return f"{_path(path)}" + (f", entry {place}" if _length(value, path) else "")
    if isinstance(value, list | tuple) or bool(getattr(value, "shape", None)):
        return f"result[{place}]"
    return "the number that is returned"


def _path(path: str) -> str:
    return f"result{path}".replace("'", '"') if path.startswith("[") else path.lstrip(".")


def _length(value: Any, path: str) -> bool:
    return np.ndim(value.get(path[2:-2], 0)) > 0 if isinstance(value, Mapping) and path.startswith("['") else False
