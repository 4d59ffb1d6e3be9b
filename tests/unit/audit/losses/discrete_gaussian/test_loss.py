"""Compositions of discrete Gaussian losses: exact while the support is coarse, between bounds elsewhere."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from flint import arb, arb_poly

from dpverdict.audit.losses.bounded import BoundedLoss
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss
from dpverdict.audit.losses.composition import compose, explain_composition
from dpverdict.audit.losses.contour.kinds import ProductLoss
from dpverdict.audit.losses.discrete_gaussian import loss as loss_module
from dpverdict.audit.losses.discrete_gaussian.law import Coordinates, DiscreteGaussians, one_sided_tails
from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.audit.losses.discrete_gaussian.profile import DiscreteGaussianProfile
from dpverdict.audit.losses.domains import TINY
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.balls import ball, exactly, precision

VECTORS = json.loads((Path(__file__).parents[4] / "vectors/disc_gauss_profile.json").read_text(encoding="utf-8"))
SMALL = [case for case in VECTORS["cases"] if case["params"]["d"] <= 10]


def one_by_one(params):
    """The correlated count release, composed of its d + 1 coordinates."""
    d, s, mu = params["d"], exactly(params["s"]), exactly(params["mu"])
    variance = (d + s) / mu**2
    return compose(
        *[DiscreteGaussianLoss.product([1], [variance])] * d, DiscreteGaussianLoss.product([-1], [variance / s])
    )


def encloses(loss, case):
    enclosure = loss.certified_delta(case["params"]["epsilon"])
    lower, upper = (Fraction(case[end]) for end in ("lower", "upper"))
    return enclosure.lower <= upper and lower <= enclosure.upper


@pytest.mark.parametrize("case", SMALL, ids=lambda case: "-".join(map(str, case["params"].values())))
def test_the_coordinates_of_a_release_compose_to_it(case):
    loss = one_by_one(case["params"])
    assert isinstance(loss, DiscreteGaussianLoss)
    assert encloses(loss, case)


def test_a_coordinate_too_many_is_noticed():
    case = SMALL[1]
    assert not encloses(compose(one_by_one(case["params"]), DiscreteGaussianLoss.product([1], [1000])), case)


def direct(coordinates, epsilon):
    """The profile of coordinates (variance, shift) whose losses are multiples of 1/6 beside rho, by polynomials."""
    with precision(240):
        power, lowest, rho = arb_poly([1]), 0, Fraction(0)
        for variance, shift in coordinates:
            step = int(6 * shift / variance)
            reach = int((2 * float(variance) * 110) ** 0.5) + 1
            sizes = [(-ball(Fraction(x * x) / (2 * variance))).exp() for x in range(-reach, reach + 1)]
            total = sum(sizes[1:], sizes[0])
            spread = [arb(0)] * (2 * reach * step + 1)
            spread[::step] = [size / total for size in sizes]
            power *= arb_poly(spread)
            lowest -= reach * step
            rho += Fraction(shift * shift) / (2 * variance)
        value = arb(0)
        for i, mass in enumerate(power.coeffs()):
            loss = rho + Fraction(lowest + i, 6)
            if loss > epsilon:
                value += mass * (1 - ball(epsilon - loss).exp())
        left_out = len(coordinates) * 3 * (-arb(108)).exp()
        return value + left_out.union(-left_out)


@pytest.mark.parametrize("epsilon", ["-1", "0", "7/6", "4"])
def test_a_common_lattice_gives_the_sum_over_all_outputs(epsilon):
    first, second = DiscreteGaussianLoss.product([1, 1], [2, 2]), DiscreteGaussianLoss.product([1, 2], [3, 3])
    loss = compose(first, second, first)
    assert isinstance(loss, DiscreteGaussianLoss)
    assert loss.step == Fraction(1, 6)
    assert loss.rho == 2 * first.rho + second.rho
    coordinates = [(Fraction(2), 1)] * 4 + [(Fraction(3), 1), (Fraction(3), 2)]
    truth = direct(coordinates, Fraction(epsilon))
    enclosure = loss.certified_delta(epsilon)
    with precision(240):
        assert truth.overlaps(arb(enclosure.lower).union(arb(enclosure.upper)))
        assert not truth.overlaps(loss._delta_balls([Fraction(epsilon)])[0] * arb("1.000000001"))


def test_renyi_divergences_add():
    losses = [DiscreteGaussianLoss(3, 2, 1), DiscreteGaussianLoss(2, 2, "0.5")]
    both = compose(*losses)
    for order in ("0.5", 2, "3.7"):
        parts = [loss.certified_renyi(order) for loss in losses]
        total = both.certified_renyi(order)
        assert total.lower <= sum(part.upper for part in parts) * (1 + 1e-15)
        assert total.upper >= sum(part.lower for part in parts) * (1 - 1e-15)


def test_lattices_that_have_none_in_common_are_bracketed(monkeypatch):
    first, second = DiscreteGaussianLoss(2, "3/2", 1), DiscreteGaussianLoss(3, 2, 1)
    truth = compose(first, second)
    monkeypatch.setattr(loss_module, "FINEST", 3)
    composed = compose(first, second, GaussianLoss(0), LaplaceLoss([0]))
    assert isinstance(truth, DiscreteGaussianLoss)
    assert isinstance(composed, ProductLoss)
    assert composed.certified_delta("0.5").contains(truth.certified_delta("0.5").lower)
    loss = BoundedLoss([(first, 1), (second, 1)])
    text = explain_composition(loss)
    assert loss.is_certified
    assert "whole numbers" in text
    assert "delta(0) is between" in text
    points = np.array([-1.0, 0.0, 0.5, 2.0, 5.0])
    lower, upper = loss.delta_bounds(points)
    certified = truth.certified_delta(points)
    assert (lower <= certified.upper).all()
    assert (certified.lower <= upper).all()
    assert ((upper - lower) / upper).max() < 1e-4
    alphas = np.array([1e-6, 0.1, 0.5, 0.9])
    lower, upper = loss.beta_bounds(alphas)
    betas = truth.certified_beta(alphas)
    assert (lower <= betas.upper).all()
    assert (betas.lower <= upper).all()


def test_lattice_losses_compose_with_everything():
    lattice = DiscreteGaussianLoss(1, 1, 1)
    loss = compose(lattice, GaussianLoss("0.5"), LaplaceLoss(["0.3"]), lattice)
    assert isinstance(loss, ProductLoss)
    assert len(loss.factors) == 3
    lower, upper = loss.delta_bounds(np.array([0.0]))
    assert compose(lattice, lattice).certified_delta(0).lower < lower < upper < lower * (1 + 1e-15)
    assert isinstance(compose(loss, DisjointLoss()), DisjointLoss)
    assert isinstance(compose(lattice, GaussianLoss(0)), DiscreteGaussianLoss)
    assert compose(DiscreteGaussianLoss(3, 1, 0), GaussianLoss(1)).delta(1) == GaussianLoss(1).delta(1)
    assert "step 0.5" in explain_composition(lattice)


@pytest.mark.parametrize("variance", [Fraction(1, 1000), Fraction(1, 20), Fraction(2), Fraction(331, 3)])
def test_the_tails_of_one_coordinate_are_as_accurate_as_they_say(variance):
    profile = DiscreteGaussianProfile(DiscreteGaussians((Coordinates(variance, 1, 1),)))
    firsts = np.unique(np.array([1, 2, 5, *(int(z * float(variance) ** 0.5) + 1 for z in (1, 6, 20, 37, 60))]))
    for first, value in zip(firsts.tolist(), one_sided_tails(variance, firsts).tolist(), strict=True):
        with precision(80):
            truth = profile.tail(first, 60)
            assert abs(arb(value) - truth) <= truth * arb(loss_module.RELATIVE_ERROR) + arb(TINY)
