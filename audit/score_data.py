"""Scores and sets of outputs from the data that describe them: what `Score.describe` and `Finite.describe` wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.learned_scores import ChainedScore, SplineScore
from dpverdict.audit.low_bits import Finite, LowBits, Multiples, Values
from dpverdict.audit.scores import CallableScore, LinearScore, Score
from dpverdict.audit.tree_score import TreeScore
from dpverdict.errors import InvalidValue

Array = NDArray[np.float64]
Named = Callable[[str], Callable[[Array], object]]
"""Finds a function that a score only names."""


def score_from_data(data: Mapping[str, Any], named: Named) -> Score:
    """The score that ``data`` describes.

    Args:
        data: of `Score.describe`: kinds "linear", "additive spline", "boosted trees", "chained" and "callable".
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
            return LinearScore(name=str(data["name"]), weights=weights, offset=float(data["offset"]))
        case "additive spline":
            knots, values = (
                tuple(np.asarray(part, dtype=np.float64) for part in data[key]) for key in ("knots", "values")
            )
            matched = len(knots) == len(values) and all(k.shape == v.shape for k, v in zip(knots, values, strict=True))
            if not matched or not all(k.ndim == 1 and len(k) and (np.diff(k) > 0).all() for k in knots):
                raise ValueError("knots and values do not match")
            return SplineScore(name=str(data["name"]), offset=float(data["offset"]), knots=knots, values=values)
        case "chained":
            outer = score_from_data(data["outer"], named)
            if not isinstance(outer, SplineScore):
                raise ValueError("the outer score is not a spline")
            return ChainedScore(name=str(data["name"]), inner=score_from_data(data["inner"], named), outer=outer)
        case "boosted trees":
            return TreeScore.from_data(data)
        case "callable":
            return CallableScore(function=named(str(data["name"])), name=str(data["name"]))
        case kind:
            remedy = "linear, spline, tree and named scores can be replayed"
            raise InvalidValue("score", kind, "a kind of score that is kept as data", remedy)


def set_from_data(data: Mapping[str, Any]) -> Finite:
    """The set of outputs that ``data`` describe, see `low_bits`.

    Raises:
        KeyError, TypeError, ValueError: data that no set describes itself by.
    """
    coordinate = int(data["coordinate"])
    match data["kind"]:
        case "low bits":
            bit, exponent = int(data["bit"]), int(data["exponent"])
            return LowBits(coordinate=coordinate, centre=float(data["centre"]), exponent=exponent, bit=bit)
        case "multiples":
            return Multiples(coordinate=coordinate, offset=float(data["offset"]), grid=float(data["grid"]))
        case "values":
            return Values(coordinate=coordinate, values=tuple(float(value) for value in data["values"]))
        case kind:
            raise ValueError(f"no set is of kind {kind}")
