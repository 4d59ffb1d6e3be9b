"""The oracle values of the Laplace profiles, computed outside of this project, are reproduced."""

import json
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest

from dpverdict.audit.losses.laplace import loss as laplace_floats
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.losses.laplace.profile import LaplaceRoute

SMALLEST_NORMAL = Fraction(2) ** -1022
ACCURACY = Fraction(laplace_floats.RELATIVE_ERROR)


def cases(name):
    """The cases of one file, as pairs (parameters, case)."""
    content = json.loads((Path(__file__).parent / f"{name}.json").read_text())
    assert content["schema"] == 1
    return [
        pytest.param(case["params"], case, id=" ".join(map(str, case["params"].values()))) for case in content["cases"]
    ]


def loss_of(params):
    """The loss of one case."""
    if "m" in params:
        return LaplaceLoss.equal(params["m"], params["shift"])
    return LaplaceLoss(params["shifts"])


ALL = cases("laplace_equal") + cases("laplace_unequal")


def test_the_files_are_complete():
    assert (len(cases("laplace_equal")), len(cases("laplace_unequal"))) == (46, 30)


@pytest.mark.few(25)
@pytest.mark.parametrize(("params", "case"), ALL)
def test_the_profile_is_enclosed_to_float64(params, case):
    loss = loss_of(params)
    enclosure = loss.certified_delta(params["epsilon"])
    assert enclosure.contains(case["lower"])
    assert enclosure.contains(case["upper"])
    assert loss.route(params["epsilon"]) is not LaplaceRoute.LATTICE
    if Fraction(case["lower"]) >= SMALLEST_NORMAL:
        assert Fraction(enclosure.upper) - Fraction(enclosure.lower) <= Fraction(case["lower"]) / 2**51


@pytest.mark.few(25)
@pytest.mark.parametrize(("params", "case"), ALL)
def test_the_profile_in_float64_is_accurate(params, case):
    loss, truth = loss_of(params), Fraction(case["lower"])
    if truth == 0 or truth >= SMALLEST_NORMAL:
        assert abs(Fraction(loss.delta(params["epsilon"])) - truth) <= ACCURACY * truth
    if truth:
        with mpmath.workdps(50):
            logarithm = mpmath.log(mpmath.mpf(case["lower"]))
            assert abs(loss.log_delta(params["epsilon"]) - logarithm) <= abs(logarithm) * mpmath.mpf(10) ** -13


@pytest.mark.few(25)
@pytest.mark.parametrize(("params", "case"), ALL)
def test_epsilon_inverts_the_profile(params, case):
    delta = Fraction(case["lower"])
    if delta and params.get("m", 1) <= 100:
        assert abs(Fraction(loss_of(params).epsilon(delta)) - Fraction(params["epsilon"])) <= Fraction(1, 10**12)
