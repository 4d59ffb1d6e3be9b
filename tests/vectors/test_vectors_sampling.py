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
    return [
        pytest.param(
            case,
            id=", ".join(map(str, case["params"].values())),
            marks=[pytest.mark.slow] if name.endswith(("composed", "steps")) and case["params"]["scale"] < "1" else [],
        )
        for case in content(name)
    ]


def base(kind, scale):
    """The loss of the noise whose scale is given in units of the sensitivity."""
    shift = 1 / Fraction(scale)
    return GaussianLoss(shift) if kind == "gaussian" else LaplaceLoss([shift])


def encloses(enclosure, case):
    """Whether the enclosure and the oracle's interval meet in more than a point of rounding, and it is narrow."""
    return enclosure.contains(case["lower"]) and enclosure.contains(case["upper"])


def test_the_files_are_complete():
    counts = {"one_step": 22, "gaussian_composed": 50, "laplace_composed": 14, "gaussian_few_steps": 6}
    assert {name: len(content(f"poisson_{name}")) for name in counts} == counts


@pytest.mark.parametrize("case", cases("poisson_one_step"))
def test_the_profile_of_one_sampled_step_is_enclosed(case):
    p = case["params"]
    loss = getattr(poisson_sampled(base(p["base"], p["scale"]), p["q"]), p["order"])
    enclosure = loss.certified_delta(p["epsilon"])
    assert encloses(enclosure, case)
    assert enclosure.upper - enclosure.lower <= 1e-15 * enclosure.upper


@pytest.fixture(scope="module")
def kept():
    """Losses by their parameters: a contour serves many epsilons."""
    return {}


def many_steps(kept, params):
    key = tuple(params[name] for name in ("base", "scale", "q", "steps"))
    if key not in kept:
        kept[key] = poisson_sampled(base(params["base"], params["scale"]), params["q"], params["steps"])
    return getattr(kept[key], params["order"])


@pytest.mark.parametrize("case", [*cases("poisson_gaussian_composed"), *cases("poisson_laplace_composed")])
def test_the_profile_of_many_sampled_steps_is_enclosed(case, kept):
    loss = many_steps(kept, case["params"])
    assert loss.is_certified
    enclosure = loss.certified_delta(case["params"]["epsilon"])
    assert Fraction(enclosure.lower) <= Fraction(case["upper"])  # of some cases the oracle's interval is the wider one
    assert Fraction(enclosure.upper) >= Fraction(case["lower"])
    assert enclosure.upper - enclosure.lower <= 1e-15 * enclosure.upper


@pytest.mark.parametrize("case", cases("poisson_gaussian_few_steps"))
def test_the_profile_of_few_sampled_steps_is_enclosed(case, kept):
    p = case["params"]
    loss = many_steps(kept, p)
    lower, upper = loss.delta_bounds(float(p["epsilon"]))
    assert lower <= float(case["upper"])
    assert upper >= float(case["lower"])
    assert upper - lower <= 1e-4 * upper
