"""Random compositions of all kinds of parts against references of other code; far tails, events, planted faults."""

import math
import runpy
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb

from dpverdict.audit.losses.base import AddRemoveLoss, PrivacyLoss
from dpverdict.audit.losses.bounded import BoundedLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.losses.lattice import whole
from dpverdict.audit.sampling.moments import GaussianMoments
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.balls import Real, ball

FUZZ = runpy.run_path(str(Path(__file__).parent / "random_compositions.py"))
EPSILONS, ROUNDING, random_composition = FUZZ["EPSILONS"], FUZZ["ROUNDING"], FUZZ["random_composition"]

WIDEST = 2e-5
"""Relative, of a profile above 1e-30; at a kink that is no point of a lattice bounds are as wide as this."""


def in_order(loss: PrivacyLoss, order: str) -> PrivacyLoss:
    if isinstance(loss, AddRemoveLoss):
        return loss.remove if order == "remove" else loss.add
    return loss if order == "remove" else loss.reversed()


def misses(composition: Any, epsilon: str, order: str, *, too_large: float = 0.0) -> bool | None:
    """Whether the certified bounds are apart from the reference and its error; None where there is no reference."""
    known = composition.reference(float(epsilon), order)
    if known is None:
        return None
    truth, error = known
    one = in_order(composition.loss(), order)
    assert one.is_certified
    found = one.certified_delta(epsilon)
    assert found.upper - found.lower <= WIDEST * found.upper or found.upper < 1e-30, (composition.name, epsilon, found)
    truth *= 1 + too_large
    return found.lower > truth + error or found.upper < truth - error


def check(first: int, number: int) -> None:
    compared = 0
    for seed in range(first, first + 20 * number):
        rng = np.random.default_rng(seed)
        composition = random_composition(rng)
        epsilon, order = str(rng.choice(EPSILONS)), str(rng.choice(["remove", "add"]))
        missed = misses(composition, epsilon, order)
        assert not missed, (seed, composition.name, epsilon, order)
        compared += missed is not None
        if compared == number:
            return
    raise AssertionError("too few have a reference")


def test_random_compositions_enclose_their_references() -> None:
    check(20_000, 8)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 2000, 100))
def test_random_compositions_enclose_their_references_at_full_size(first: int) -> None:
    check(100_000 + 20 * first, 100)


def test_a_reference_that_is_a_little_wrong_is_found() -> None:
    gaussian, finite, sampled = FUZZ["gaussian"], FUZZ["finite"], FUZZ["sampled_gaussian"]
    composition = FUZZ["Composition"](
        ((gaussian("0.5"), 2), (finite([3, 1, 2], [1, 3, 2]), 2), (sampled("1", "0.1", 1), 1))
    )
    assert misses(composition, "0.5", "remove") is False
    assert misses(composition, "0.5", "remove", too_large=20 * ROUNDING) is True


# far tails ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["10", "20"])
def test_far_in_the_tail_a_lattice_encloses_gaussian_noise(epsilon: str) -> None:
    found, truth = (
        BoundedLoss([(GaussianLoss("0.5"), 4)]).certified_delta(epsilon),
        GaussianLoss(1).certified_delta(epsilon),
    )
    assert found.lower <= truth.upper
    assert truth.lower <= found.upper
    assert found.upper - found.lower <= 1e-4 * found.upper


@pytest.mark.slow
@pytest.mark.parametrize(("mu", "epsilon"), [("0.5", "1"), ("0.2", "0.01")])
def test_far_in_the_tail_a_lattice_encloses_sampled_steps(mu: str, epsilon: str) -> None:
    """Two steps, for which there is an integral."""
    steps = poisson_sampled(GaussianLoss(mu), "0.0001", 2).remove
    found = BoundedLoss(steps.factors).narrowed(Fraction(epsilon), arb(0).union(arb(1)))
    truth = steps.certified_delta(epsilon)
    assert truth.upper < 1e-80
    assert found.lower() <= arb(truth.upper)
    assert arb(truth.lower) <= found.upper()
    assert found.rad() <= 1e-4 * found.mid()


def test_the_end_of_many_finite_laws_is_their_binomial_sum() -> None:
    law = FiniteLoss(["0.55", "0.45"], ["0.45", "0.55"])
    found = BoundedLoss([(law, 200)]).certified_delta(35)
    growth, total = arb(35).exp(), arb(0)
    for k in range(201):
        p, q = (math.comb(200, k) * r**k * (1 - r) ** (200 - k) for r in (Fraction(11, 20), Fraction(9, 20)))
        total += (ball(p) - growth * ball(q)).max(arb(0))
    assert arb(found.lower) <= total.upper()
    assert total.lower() <= arb(found.upper)
    assert found.upper - found.lower <= 1e-9 * found.upper


def test_a_cut_of_sampled_moments_is_estimated_where_a_line_oscillates_least() -> None:
    """The estimate promised exp(-160) of what is cut off where exp(-104) is true: contours of a minute, and no bits."""
    moments = GaussianMoments(Real.of(1), Fraction(1, 100))
    known = float((moments.cut(arb(20), arb(114)) / moments.real(arb(20))).log())
    assert known - 3 <= float(moments.log_cut(20.0, np.array([114.0]))[0]) <= known + 3
    found = compose(poisson_sampled(GaussianLoss(1), "0.01"), LaplaceLoss(["0.7"]), LaplaceLoss([2])).certified_delta(
        "0.5"
    )
    assert found.upper - found.lower <= 1e-6 * found.upper


# events ---------------------------------------------------------------------------------------------------------------

COIN = FiniteLoss(["0.6", "0.4"], ["0.4", "0.6"])


@pytest.mark.parametrize("epsilon", ["0", "1", "3"])
def test_the_event_of_a_lattice_has_the_probabilities_that_are_said(epsilon: str) -> None:
    loss = BoundedLoss([(COIN, 40)], 0.125)
    event = loss.known_event(Fraction(epsilon))
    words = event.event.split()
    step, least = float(words[words.index("of") + 1]), float(words[words.index("least") + 1].rstrip(","))
    up, down = math.floor(math.log(1.5) / step), math.floor(-math.log(1.5) / step)
    p = q = Fraction(0)
    for k in range(41):
        if (k * up + (40 - k) * down) * step >= least:
            p += math.comb(40, k) * Fraction(3, 5) ** k * Fraction(2, 5) ** (40 - k)
            q += math.comb(40, k) * Fraction(2, 5) ** k * Fraction(3, 5) ** (40 - k)
    assert Fraction(event.p_lower) <= p
    assert q <= Fraction(event.q_upper)
    assert p - Fraction(event.p_lower) < 1e-12
    assert event.delta_lower(epsilon) <= loss.certified_delta(epsilon).upper
    assert event.delta_lower(epsilon) >= 0.999 * loss.certified_delta(epsilon).lower


# planted faults -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tilt", [Fraction(0), Fraction(3)])
def test_lost_mass_that_is_not_charged_is_found(monkeypatch: pytest.MonkeyPatch, tilt: Fraction) -> None:
    """Where much is cut off, the bounds are wide and true; without the charge they are false."""
    monkeypatch.setattr(whole, "_CUT", 1 << (whole.BITS - 12))
    interval, truth = Fraction(1, 512), COIN_PROFILE

    def bounds() -> tuple[arb, arb]:
        laws = whole.laws_of_atoms(COIN.atom_balls(), interval, arb(0), tilt)
        return whole.WholeComposition(whole.composed_laws([(laws, 40)]), interval, tilt).bounds(Fraction(4))

    lower, upper = bounds()
    assert lower <= truth
    assert truth <= upper
    right = whole._trimmed
    monkeypatch.setattr(
        whole, "_trimmed", lambda law: whole.WholeLaw(*(lambda kept: (kept.first, kept.masses, kept.scale))(right(law)))
    )
    lower, upper = bounds()
    assert upper < truth or lower > truth


def coin_profile(epsilon: int) -> arb:
    growth, total = arb(epsilon).exp(), arb(0)
    for k in range(41):
        p, q = (math.comb(40, k) * r**k * (1 - r) ** (40 - k) for r in (Fraction(3, 5), Fraction(2, 5)))
        total += (ball(p) - growth * ball(q)).max(arb(0))
    return total


COIN_PROFILE = coin_profile(4)


def test_masses_of_q_with_the_tilt_of_p_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    interval, tilt = Fraction(1, 16), Fraction(3)
    right = whole._law

    def wrong(masses, rate, *, up):
        law = right(masses, rate, up=up)
        return whole.WholeLaw(law.first, law.masses, law.scale / 2, law.lost) if rate > ball(tilt * interval) else law

    monkeypatch.setattr(whole, "_law", wrong)
    laws = whole.laws_of_atoms(COIN.atom_balls(), interval, arb(0), tilt)
    lower, _ = whole.WholeComposition(whole.composed_laws([(laws, 40)]), interval, tilt).bounds(Fraction(4))
    assert lower > COIN_PROFILE
