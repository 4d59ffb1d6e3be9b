"""The score that a document holds, as `Score.describe` wrote it, and how any member of a document is read.

Whoever wrote the document may have put anything into it: every member is of the stated type, or an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dpverdict.audit.scores.labels import BinScore, LabelScore
from dpverdict.audit.scores.learned_scores import ChainedScore, SplineScore
from dpverdict.audit.scores.outcome_score import KIND as OF_OUTCOMES
from dpverdict.audit.scores.outcome_score import OutcomeScore
from dpverdict.audit.scores.score import CallableScore, LinearScore, Score
from dpverdict.audit.scores.summaries import SummaryFeatures, SummaryScore
from dpverdict.audit.scores.trees import TreeScore
from dpverdict.audit.trials.outcomes.batches import Layout
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array

FindFunction = Callable[[str], Callable[[Array], object]]
"""Finds a function that a score only names."""


def score_from_data(data: Mapping[str, Any], named: FindFunction) -> Score:
    """The score that ``data`` describes.

    Args:
        data: of `Score.describe`: kinds "linear", "additive spline", "boosted trees", "labels", "bins",
            "summaries", "chained" and "callable".
        named: gives the function of a score of kind "callable", of which the data hold the name only.

    Raises:
        InvalidValue: another kind, such as a ranking of canaries.
        KeyError, TypeError, ValueError: data that no score describes itself by.

    >>> score = LinearScore(name="sum", weights=np.ones(2), offset=0.5)
    >>> score_from_data(score.describe(), named=lambda name: np.sum)(np.array([[1.0, 2.0]]))
    array([2.5])
    """
    match data["kind"]:
        case "linear":
            weights = np.asarray(data["weights"], dtype=np.float64)
            return LinearScore(name=str(data["name"]), weights=weights, offset=number_of(data, "offset"))
        case "additive spline":
            knots, values = (
                tuple(np.asarray(part, dtype=np.float64) for part in data[key]) for key in ("knots", "values")
            )
            matched = len(knots) == len(values) and all(k.shape == v.shape for k, v in zip(knots, values, strict=True))
            if not matched or not all(k.ndim == 1 and len(k) and (np.diff(k) > 0).all() for k in knots):
                raise ValueError("knots and values do not match")
            if not all(np.isfinite(part).all() for part in (*knots, *values)):
                raise ValueError("knots and values are not finite")
            return SplineScore(name=str(data["name"]), offset=number_of(data, "offset"), knots=knots, values=values)
        case "chained":
            inner, outer = score_from_data(data["inner"], named), _spline_from_data(data["outer"], named)
            return ChainedScore(name=str(data["name"]), inner=inner, outer=outer)
        case "boosted trees":
            return TreeScore.from_data(data)
        case "bins":
            return BinScore.from_data(data)
        case "labels":
            return LabelScore.from_data(data, None if data["rest"] is None else _spline_from_data(data["rest"], named))
        case "summaries":
            summary, outer = SummaryFeatures.from_data(data["summary"]), _spline_from_data(data["outer"], named)
            return SummaryScore(name=str(data["name"]), summary=summary, outer=outer)
        case kind if kind == OF_OUTCOMES:
            return OutcomeScore(layout=Layout.from_data(data["layout"]), inner=score_from_data(data["score"], named))
        case "callable":
            return CallableScore(function=named(str(data["name"])), name=str(data["name"]))
        case kind:
            remedy = "linear, spline, tree, label, bin, summary and named scores can be replayed"
            raise InvalidValue("score", kind, "a kind of score that is kept as data", remedy)


def _spline_from_data(data: Mapping[str, Any], named: FindFunction) -> SplineScore:
    score = score_from_data(data, named)
    if not isinstance(score, SplineScore):
        raise ValueError("the outer score is not a spline")
    return score


def text_of(data: Mapping[str, Any], name: str) -> str:
    """A text of a document.

    Raises:
        KeyError, TypeError: there is no such member, or it is of another type.
    """
    value = data[name]
    if not isinstance(value, str):
        raise TypeError(f"{name} is a {type(value).__name__}, not a text")
    return value


def number_of(data: Mapping[Any, Any], name: object, *, finite: bool = True) -> float:
    """A number of a document, in which infinite ones are the texts "inf" and "-inf".

    Raises:
        KeyError, TypeError, ValueError: there is no such member, or it is not a number, or not a ``finite`` one.
    """
    value = data[name]
    if isinstance(value, bool) or (not isinstance(value, int | float) and value not in ("inf", "-inf")):
        raise TypeError(f"{name} is a {type(value).__name__}, not a number")
    number = float(value)
    if math.isnan(number) or (finite and math.isinf(number)):
        raise ValueError(f"{name} is {number!r}")
    return number


def whole_of(data: Mapping[Any, Any], name: object, *, least: int = 0) -> int:
    """A whole number of a document, from ``least`` to 2^53 - 1.

    Raises:
        KeyError, TypeError, ValueError: there is no such member, or it is not a whole number in that range.
    """
    value = data[name]
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is a {type(value).__name__}, not a whole number")
    if not least <= value < 2**53:
        raise ValueError(f"{name} is {value if abs(value) < 2**53 else 'huge'}")
    return value
