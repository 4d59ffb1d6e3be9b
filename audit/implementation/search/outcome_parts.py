"""Which part of an outcome tells two tables apart, in the words of whoever wrote the function: counts["rare"].

With it goes what to change. That is told from outcomes on one pair, so it is of this pair: others may need more.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from dpverdict.audit.tables.standing_out import shown
from dpverdict.audit.trials.outcomes.canonical import CanonicalOutcome
from dpverdict.audit.trials.outcomes.inputs import fresh, held_safe
from dpverdict.audit.trials.run import AnyMechanism, generator, with_generator
from dpverdict.audit.trials.user_code import own_error_state
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, Guarantee, PureDP, ZeroConcentratedDP
from dpverdict.mechanisms.core.neighbours import AnyPair

OFTEN: Final = 0.25
"""Of the outcomes: a part that so many more have on one table than on the other is named."""
CERTAIN: Final = 0.9
OTHER_SCALE: Final = 3.0
"""Times the spread of the other table: then the scale of the noise follows the data."""
_FIXED: Final = (
    "release the keys of a list that was fixed beforehand, with noise where there are no records; or only those whose "
    "noisy count is above a threshold, which needs a delta"
)
FAR: Final = 0.5
"""Standard deviations between the means of a number, from which on it is named."""


@final
@dataclass(frozen=True, slots=True)
class TellingPart:
    """The part of an outcome that tells two tables apart.

    Attributes:
        words: which it is; "" if none stands out.
        change: what to change, for this pair at least.
    """

    words: str = ""
    change: str = ""


def telling_part(
    mechanism: AnyMechanism,
    pair: AnyPair,
    rows: tuple[list[CanonicalOutcome], list[CanonicalOutcome]],
    claim: Guarantee,
    seed: int,
    *,
    wraps: bool = False,
) -> TellingPart:
    """The part of the outcome that tells most, from outcomes on either table.

    Args:
        mechanism: it is called once more on each table, for the names in what it returns.
        pair: the two tables.
        rows: outcomes on the larger and on the smaller table.
        claim: by which the noise is told that would do.
        seed: of the two calls.
        wraps: whether the tables were made for a sum next to where an integer wraps.
    """
    if not all(rows):
        return TellingPart()
    values = [_value(mechanism, side, seed) for side in (pair.dataset, pair.neighbour)]
    forms = [Counter(one.signature for one in side) for side in rows]
    gaps = {form: forms[0][form] / len(rows[0]) - forms[1][form] / len(rows[1]) for form in forms[0] | forms[1]}
    most = max(gaps, key=lambda form: abs(gaps[form]))
    if abs(gaps[most]) > OFTEN:
        return _of_form(rows, gaps, values)
    odd = _odd_entry(rows, values)
    if odd:
        return TellingPart(odd, "where there is no number, as of no records, release a fixed one, or noise alone")
    text = "build the text, or choose the label, from noisy numbers alone"
    if found := _text(rows, CERTAIN):
        return TellingPart(found, text)
    number = _number(rows, values, claim, wraps=wraps)
    if number.words:
        return number
    return TellingPart(found, text) if (found := _text(rows, OFTEN)) else TellingPart()


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
) -> TellingPart:
    for place, side in enumerate(("larger", "smaller")):
        often = [sum(one.raised for one in rows[at]) / len(rows[at]) for at in (place, 1 - place)]
        if often[0] - often[1] > OFTEN:
            said = next(one.note for one in rows[place] if one.raised)
            change = "give an outcome where the exception is raised: a fixed value, or noise alone"
            return TellingPart(f"the exception {said}, on the {side} table", change)
    one, other = values
    keys = _keys(one), _keys(other)
    named = sorted(map(repr, keys[0] ^ keys[1]))
    if named:
        side = "larger" if keys[0] - keys[1] else "smaller"
        return TellingPart(f"the key {', '.join(named[:3])}, which is there on the {side} table only", _FIXED)
    if hasattr(one, "columns") and hasattr(other, "columns") and list(one.columns) != list(other.columns):
        named = sorted(map(str, set(one.columns) ^ set(other.columns)))
        words = f"the column {', '.join(named[:3])} of the result, which is there on one table only"
        return TellingPart(words, _FIXED.replace("keys", "columns"))
    if hasattr(one, "index") and hasattr(other, "index") and hasattr(one, "iloc") and hasattr(other, "iloc"):
        named = [shown(label) for label in {*one.index} ^ {*other.index}]
        if named:
            words = f"the row {', '.join(sorted(named)[:3])} of the result, which is there on one table only"
            return TellingPart(words, _FIXED.replace("keys", "rows"))
    if isinstance(one, Sized) and isinstance(other, Sized) and not isinstance(one, str) and len(one) != len(other):
        what = "number of rows of the result" if hasattr(one, "columns") else "length of the result"
        change = "release as many entries whatever the table holds: those of a list that was fixed beforehand"
        return TellingPart(f"the {what}: {len(one)} against {len(other)}", change)
    most = max(gaps, key=lambda form: abs(gaps[form]))
    side = "larger" if gaps[most] > 0 else "smaller"
    change = "release outcomes of one form, whatever the table holds"
    return TellingPart(f"the form of the outcome, {most[:80]}, more often on the {side} table", change)


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


def _number(
    rows: tuple[list[CanonicalOutcome], list[CanonicalOutcome]], values: list[Any], claim: Guarantee, *, wraps: bool
) -> TellingPart:
    best, far = TellingPart(), FAR
    shared = [path for path in rows[0][0].numbers if path in rows[1][0].numbers and "~" not in path]
    for path in shared[:2000]:
        length = min(len(rows[side][0].numbers[path]) for side in (0, 1))
        sides = [
            [one.numbers[path][:length] for one in side if len(one.numbers.get(path, ())) >= length] for side in rows
        ]
        with np.errstate(all="ignore"):
            p, q = (np.array(side) for side in sides)
            gap = np.abs(np.median(p, axis=0) - np.median(q, axis=0))
            spreads = _spread(p), _spread(q)
            spread = np.minimum(*spreads)
            apart = np.where(spread > 0, gap / spread, np.where(gap > 0, np.inf, 0.0))
        if len(apart) and float(np.max(apart)) > far:
            place = int(np.argmax(apart))
            far = float(apart[place])
            words = f"{_named(path, place, values)}: {np.median(p[:, place]):.6g} against {np.median(q[:, place]):.6g}"
            change = _of_noise(float(gap[place]), [float(one[place]) for one in spreads], claim, wraps=wraps)
            best = TellingPart(words, change)
    return best


def _of_noise(gap: float, spreads: Sequence[float], claim: Guarantee, *, wraps: bool) -> str:
    """What to change of a number that moves by ``gap``, and whose noise has these spreads on the two tables."""
    if wraps:
        return "clip each entry and add up in a wider type, int64 or float64: the sum wraps"
    if min(spreads) == 0:
        return "add noise to it, or leave it out: it has none on one of the tables"
    if max(spreads) > OTHER_SCALE * min(spreads):
        return "fix the scale of the noise beforehand, from bounds that the entries are clipped to: it follows the data"
    match claim:
        case PureDP() | ApproximateDP() if claim.epsilon > 0:
            noise = f"Laplace noise of scale {gap / float(claim.epsilon):.3g}"
        case GaussianDP() if claim.mu > 0:
            noise = f"Gaussian noise of standard deviation {gap / float(claim.mu):.3g}"
        case ZeroConcentratedDP() if claim.rho > 0:
            noise = f"Gaussian noise of standard deviation {gap / math.sqrt(2 * float(claim.rho)):.3g}"
        case _:
            noise = "more noise"
    return f"clip what one record can add, or take {noise} at least, which would do for a move of {gap:.3g}"


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
