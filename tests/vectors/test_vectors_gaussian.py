"""The oracle values of the Gaussian curves, computed outside of this project, are reproduced."""

import json
import math
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.balls import Enclosure, Real, ball, compare, refine
from dpverdict.numerics import gaussian_formulas
from dpverdict.numerics.gaussian import BallNormal

SMALLEST_NORMAL = Fraction(2) ** -1022
ACCURACY = Fraction(1, 10**12)


def power_ball(alpha, mu):
    """1 - beta(alpha), in balls."""
    return refine(lambda: gaussian_formulas.power(BallNormal(), alpha.ball(), mu.ball()), bits=56)


def cases(name):
    """The cases of one file, as pairs (parameters, case)."""
    content = json.loads((Path(__file__).parent / f"{name}.json").read_text())
    assert content["schema"] == 1
    return [
        pytest.param(case["params"], case, id=" ".join(map(str, case["params"].values()))) for case in content["cases"]
    ]


def encloses(enclosure, case):
    """Whether both ends of the 40 digits of the case lie in the enclosure."""
    return enclosure.contains(case["lower"]) and enclosure.contains(case["upper"])


def close(value, case):
    """Whether the float is within a relative 1e-12 of the case."""
    truth = Fraction(case["lower"])
    return abs(Fraction(value) - truth) <= ACCURACY * abs(truth)


def test_the_files_are_complete():
    counts = {name: len(cases(name)) for name in ("gaussian_profile", "gaussian_tradeoff", "gaussian_epsilon")}
    assert counts == {"gaussian_profile": 50, "gaussian_tradeoff": 47, "gaussian_epsilon": 35}
    assert len(cases("classic_gaussian_boundary")) == 20


@pytest.mark.parametrize(("params", "case"), cases("gaussian_profile"))
def test_the_profile_is_enclosed(params, case):
    assert encloses(GaussianLoss(params["mu"]).certified_delta(params["epsilon"]), case)


@pytest.mark.parametrize(("params", "case"), cases("gaussian_profile"))
def test_the_profile_in_float64_is_accurate(params, case):
    loss = GaussianLoss(params["mu"])
    if Fraction(case["lower"]) >= SMALLEST_NORMAL:
        assert close(loss.delta(params["epsilon"]), case)
    with mpmath.workdps(60):
        logarithm = mpmath.log(mpmath.mpf(case["lower"]))
        if abs(logarithm) > mpmath.mpf(10) ** -25:  # below, 40 digits of delta say little of its logarithm
            assert abs(loss.log_delta(params["epsilon"]) - logarithm) <= abs(logarithm) * mpmath.mpf(10) ** -12


@pytest.mark.parametrize(("params", "case"), cases("gaussian_epsilon"))
def test_the_smallest_epsilon_is_enclosed_and_accurate(params, case):
    loss = GaussianLoss(params["mu"])
    assert encloses(loss.certified_epsilon(params["delta"]), case)
    assert close(loss.epsilon(params["delta"]), case)


@pytest.mark.parametrize(("params", "case"), cases("gaussian_tradeoff"))
def test_the_trade_off_function_is_enclosed_and_accurate(params, case):
    alpha, mu = Real.of(params["alpha"]), Real.of(params["mu"])
    if params["output"] == "beta":
        enclosure = GaussianLoss(params["mu"]).certified_beta(params["alpha"])
        value = GaussianLoss(params["mu"]).beta(params["alpha"])
    else:
        enclosure = Enclosure.of_ball(power_ball(alpha, mu))
        value = float(power_ball(alpha, mu))
    assert encloses(enclosure, case)
    if Fraction(case["lower"]) >= SMALLEST_NORMAL:
        assert close(value, case)


def classic_mu(epsilon, delta):
    """epsilon / sqrt(2 ln(1.25/delta)), exactly: the mu of the classic scale."""
    return Real(lambda: ball(epsilon) / (2 * ball(Fraction(5, 4) / Fraction(delta)).log()).sqrt())


@pytest.mark.parametrize(("params", "case"), cases("classic_gaussian_boundary"))
def test_the_classic_scale_is_valid_up_to_its_boundary_and_not_beyond(params, case):
    delta = Fraction(params["delta"])

    def sign(epsilon):
        profile = Real(lambda: gaussian_formulas.delta(BallNormal(), ball(epsilon), classic_mu(epsilon, delta).ball()))
        return compare(profile, Real.of(delta))

    assert sign(case["lower"]) == -1
    assert sign(case["upper"]) == 1
    floor = Fraction(math.floor(Fraction(case["lower"]) * 10**6), 10**6)
    ceiling = floor + Fraction(1, 10**6)
    assert Fraction(GaussianLoss(classic_mu(floor, delta)).certified_delta(floor).upper) < delta
    assert Fraction(GaussianLoss(classic_mu(ceiling, delta)).certified_delta(ceiling).lower) > delta
