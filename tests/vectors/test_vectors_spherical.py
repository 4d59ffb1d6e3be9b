"""The oracle values of the random-direction Gaussian and of the discrete profile, computed outside of this project."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.audit.losses.spherical.loss import SphericalLoss
from dpverdict.audit.losses.spherical.random_direction import RandomDirectionGaussian
from dpverdict.balls import Enclosure, Real, ball
from dpverdict.mechanisms.queries.rank1 import published_psi


def cases(name):
    """The cases of one file, as pairs (parameters, case)."""
    content = json.loads((Path(__file__).parent / f"{name}.json").read_text())
    assert content["schema"] == 1
    return [(case["params"], case) for case in content["cases"]]


def named(pairs):
    """The cases with readable names."""
    return [pytest.param(params, case, id=" ".join(map(str, params.values()))) for params, case in pairs]


CURVES = [(p, c) for p, c in cases("r1smg") if p["output"] in ("delta", "tv")]


def published_variance(params):
    """sigma^2 = 2/(epsilon psi), exactly."""
    psi = published_psi(params["M"], Fraction(params["delta_claimed"]))
    return Real(lambda: 2 / (ball(params["epsilon"]) * psi.ball()))


def assert_encloses(enclosure, case):
    """Both ends of the oracle's interval, of 40 digits, lie in the enclosure, of 16."""
    assert enclosure.contains(case["lower"])
    assert enclosure.contains(case["upper"])


@pytest.mark.few(12)
@pytest.mark.parametrize(("params", "case"), named([(p, c) for p, c in cases("r1smg") if (p, c) not in CURVES]))
def test_the_published_calibration_is_reproduced(params, case):
    psi = published_psi(params["M"], Fraction(params["delta_claimed"]))
    number = psi if params["output"] == "psi" else published_variance(params)
    assert_encloses(Enclosure.of(number), case)


@pytest.mark.few(12)
@pytest.mark.parametrize(("params", "case"), named(CURVES))
def test_the_true_privacy_of_the_published_mechanism_is_enclosed(params, case):
    loss = SphericalLoss(params["M"], RandomDirectionGaussian(published_variance(params).sqrt()))
    epsilon = params["epsilon"] if params["output"] == "delta" else 0
    assert_encloses(loss.certified_delta(epsilon), case)


@pytest.mark.few(12)
@pytest.mark.parametrize(("params", "case"), named(cases("disc_gauss_profile")))
def test_the_discrete_profile_is_enclosed(params, case):
    assert_encloses(
        DiscreteGaussianLoss(params["d"], params["s"], params["mu"]).certified_delta(params["epsilon"]), case
    )


def test_a_wrong_radial_exponent_is_noticed():
    params, case = CURVES[0]
    loss = SphericalLoss(params["M"] + 1, RandomDirectionGaussian(published_variance(params).sqrt()))
    assert not loss.certified_delta(params["epsilon"]).contains(case["lower"])
