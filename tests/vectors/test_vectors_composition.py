"""The oracle values of composed privacy profiles, computed outside of this project, are reproduced."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.laplace.loss import LaplaceLoss

CONTENT = json.loads((Path(__file__).parent / "composition.json").read_text())
SMALLEST_NORMAL = Fraction(2) ** -1022


def cases():
    """The cases of the file, named by their place in it and their epsilon."""
    return [
        pytest.param(case, id=f"{place} at {case['params']['epsilon']}") for place, case in enumerate(CONTENT["cases"])
    ]


def losses(case):
    """Every mechanism of the case as a loss of its own."""
    result = []
    for mechanism in case["params"]["mechanisms"]:
        if mechanism["type"] == "gaussian":
            loss = GaussianLoss(mechanism["mu"])
        else:
            loss = LaplaceLoss([mechanism["shift"]])
        result += [loss] * mechanism.get("count", 1)
    return result


def test_the_file_is_complete():
    assert CONTENT["schema"] == 1
    assert len(CONTENT["cases"]) == 30


@pytest.mark.parametrize("case", cases())
def test_the_profile_of_the_composition_is_enclosed(case):
    enclosure = compose(*losses(case)).certified_delta(case["params"]["epsilon"])
    assert enclosure.contains(case["lower"])
    assert enclosure.contains(case["upper"])


@pytest.mark.parametrize("case", cases())
def test_the_profile_in_float64_is_accurate(case):
    truth = Fraction(case["lower"])
    value = Fraction(compose(*losses(case)).delta(case["params"]["epsilon"]))
    if truth >= SMALLEST_NORMAL:
        assert abs(value - truth) <= truth / 10**12
