"""Finite laws and the bounded-range law against oracle values: every enclosure holds the truth, and is narrow."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.finite.bounded_range import bounded_range
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.balls import Enclosure
from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    AboveThreshold,
    ExponentialMechanism,
    GeometricMechanism,
    PermuteAndFlip,
    RandomizedResponse,
    ReportNoisyMax,
)
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.mechanisms.finite.selection import Selection

HERE = Path(__file__).parent
WIDEST = 1e-15


def cases(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((HERE / name).read_text(encoding="utf-8"))["cases"]
    return found


def agrees(found: Enclosure, case: dict[str, Any], widest: float = WIDEST) -> bool:
    """Whether an enclosure meets the oracle's, and is narrow."""
    lower, upper = Fraction(case["lower"]), Fraction(case["upper"])
    if not (found.lower <= upper and lower <= found.upper):
        return False
    return bool(found.upper - found.lower <= widest * found.upper)


@pytest.mark.parametrize("case", cases("bounded_range.json"), ids=lambda case: str(case["params"]))
def test_bounded_range(case: dict[str, Any]) -> None:
    told = case["params"]
    loss = bounded_range(told["eps0"], t=told.get("t"))
    many = compose(*[loss] * told.get("count", 1))
    if many.is_certified:
        assert agrees(many.certified_delta(told["epsilon"]), case)
    else:
        lower, upper = many.delta_bounds(float(told["epsilon"]))  # type: ignore[attr-defined]
        assert lower <= Fraction(case["upper"])
        assert Fraction(case["lower"]) <= upper
        assert upper - lower <= 1e-5 * upper


def test_a_value_that_is_off_by_a_millionth_is_found() -> None:
    case = cases("bounded_range.json")[0]
    wrong = dict(case, lower=str(Fraction(case["lower"]) * Fraction(1000001, 1000000)))
    wrong["upper"] = wrong["lower"]
    assert not agrees(bounded_range(1).certified_delta("0.5"), wrong)


@pytest.mark.parametrize("case", cases("selection_profile.json"), ids=lambda case: str(case["params"]))
def test_selection(case: dict[str, Any]) -> None:
    told = case["params"]
    name, broken = told["mechanism"], "half" in told["mechanism"]
    budget = Fraction(told["eps0"]) * (2 if broken else 1)
    common = {"options": len(told["utilities"]), "epsilon": budget, "adjacency": REPLACE_ONE}
    if name.startswith("exponential"):
        mechanism: Selection = ExponentialMechanism(**common)
    elif name == "permute_and_flip":
        mechanism = PermuteAndFlip(**common)
    else:
        mechanism = ReportNoisyMax(noise="laplace" if "laplace" in name else "exponential", **common)
    loss = FiniteLoss.of_weights(mechanism.weights(told["utilities"]), mechanism.weights(told["neighbour"]))
    assert agrees(loss.certified_delta(told["epsilon"]), case)


@pytest.mark.parametrize(
    "case",
    [case for case in cases("finite_laws.json") if case["params"]["mechanism"] != "skellam"],
    ids=lambda case: str(case["params"]),
)
def test_finite_laws(case: dict[str, Any]) -> None:
    told = case["params"]
    if told["mechanism"] == "randomized_response":
        mechanism: StructuredMechanism = RandomizedResponse(options=told["options"], epsilon=told["eps0"])
    else:
        shift = told["shift"]
        epsilon = Fraction(told["rate"]) * shift
        mechanism = GeometricMechanism(epsilon=epsilon, sensitivity=shift, adjacency=ADD_OR_REMOVE_ONE)
    assert agrees(worst_case(mechanism).loss.certified_delta(told["epsilon"]), case)


@pytest.mark.parametrize("case", cases("above_threshold_profile.json"), ids=lambda case: str(case["params"]))
def test_above_threshold(case: dict[str, Any]) -> None:
    told = case["params"]
    mechanism = AboveThreshold(
        queries=len(told["queries"]),
        epsilon=1,
        adjacency=REPLACE_ONE,
        threshold=told["threshold"],
        threshold_scale=told["threshold_scale"],
        query_scale=told["query_scale"],
    )
    here, there = mechanism.law(told["queries"]), mechanism.law(told["neighbour"])
    loss = FiniteLoss.of_weights([*here.values()], [there[answers] for answers in here])
    assert agrees(loss.certified_delta(told["epsilon"]), case)
