"""The oracle values of sampled training, computed outside of this project, are reproduced."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.sampling.poisson import poisson_sampled


def content(name):
    """The cases of a file, the same one twice counted once."""
    text = json.loads((Path(__file__).parent / f"{name}.json").read_text())
    assert text["schema"] == 1
    return list({json.dumps(case): case for case in text["cases"]}.values())


def cases(name):
    """The cases, named by their parameters."""
    return [pytest.param(case, id=", ".join(map(str, case["params"].values()))) for case in content(name)]


def base(kind, scale):
    """The loss of the noise whose scale is given in units of the sensitivity."""
    shift = 1 / Fraction(scale)
    return GaussianLoss(shift) if kind == "gaussian" else LaplaceLoss([shift])


def encloses(enclosure, case):
    """Whether the enclosure and the oracle's interval meet in more than a point of rounding, and it is narrow."""
    return enclosure.contains(case["lower"]) and enclosure.contains(case["upper"])


def test_the_files_are_complete():
    assert len(content("poisson_one_step")) == 22


@pytest.mark.parametrize("case", cases("poisson_one_step"))
def test_the_profile_of_one_sampled_step_is_enclosed(case):
    p = case["params"]
    loss = getattr(poisson_sampled(base(p["base"], p["scale"]), p["q"]), p["order"])
    enclosure = loss.certified_delta(p["epsilon"])
    assert encloses(enclosure, case)
    assert enclosure.upper - enclosure.lower <= 1e-15 * enclosure.upper
