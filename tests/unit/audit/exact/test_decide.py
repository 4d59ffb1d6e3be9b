"""Verdicts: on the right side of every boundary, with evidence of the right kind, and inconclusive where undecided."""

import dataclasses
import inspect
import math
import sys
import types
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import pytest
from flint import arb

from dpverdict.audit.exact.decide import certify, decide, source_sha256
from dpverdict.audit.exact.verdict import Certificate, Status, Witness
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.balls import Enclosure, Real, ball, precision
from dpverdict.errors import NotCertified
from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    ApproximateDP,
    CorrelatedGaussian,
    DiscreteCorrelatedGaussian,
    EllipticalGaussian,
    FactorizationCounter,
    GaussianDP,
    LaplaceMechanism,
    PureDP,
    Rank1Gaussian,
    RenyiDP,
    StandardGaussian,
    TreeCounter,
    ZeroConcentratedDP,
    broken,
)
from dpverdict.mechanisms.core import calibration as scales
from dpverdict.mechanisms.core.bounds import Bounds, WorstPair
from dpverdict.mechanisms.core.guarantees import Guarantee, parse_guarantee
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism, GaussianMechanism

UNIT = StandardGaussian(dim=4, mu=1, adjacency=ADD_OR_REMOVE_ONE)  # scale 2: mu is exactly 1
STEP = Fraction(1, 10**60)


@pytest.mark.parametrize(
    ("at_boundary", "below"),
    [
        (GaussianDP(1), GaussianDP(1 - STEP)),
        (ZeroConcentratedDP("1/2"), ZeroConcentratedDP(Fraction(1, 2) - STEP)),
        (RenyiDP(3, "3/2"), RenyiDP(3, Fraction(3, 2) - STEP)),
        (RenyiDP("1.5", "3/4"), RenyiDP("1.5", Fraction(3, 4) - STEP)),
    ],
    ids=str,
)
def test_rational_claims_are_decided_exactly_at_their_boundary(at_boundary: Guarantee, below: Guarantee) -> None:
    verdict = certify(UNIT, at_boundary)
    assert verdict.status is Status.CERTIFIED
    assert verdict.certificate is not None
    assert verdict.certificate.method == "exact rational arithmetic"
    assert certify(UNIT, below).status is Status.REFUTED


def test_an_approximate_claim_is_decided_on_both_sides_of_the_profile() -> None:
    with precision(400):
        delta = GaussianLoss(1).certified_delta("0.7")
    above, below = Fraction(delta.upper) * (1 + STEP), Fraction(delta.lower) * (1 - STEP)
    kept = certify(UNIT, ApproximateDP("0.7", above))
    assert kept.status is Status.CERTIFIED
    assert kept.certificate is not None
    assert kept.certificate.method == "ball arithmetic"
    assert certify(UNIT, ApproximateDP("0.7", below)).status is Status.REFUTED


@pytest.mark.parametrize("epsilon", ["0", "1", "50", "100000"])
def test_no_gaussian_mechanism_is_purely_private(epsilon: str) -> None:
    verdict = certify(UNIT, PureDP(epsilon))
    assert verdict.status is Status.REFUTED
    assert verdict.witness is not None
    assert not verdict.witness.value.contains(0)
    assert verdict.witness.bound.contains(0)
    p, q = verdict.witness.probability.show(), verdict.witness.neighbour_probability.show()
    exponent = Decimal(p.strip("[").split(", ")[0]).ln() - Decimal(q.strip("]").split(", ")[1]).ln()
    assert exponent > Decimal(epsilon)  # P(event) > exp(epsilon) Q(event): probabilities far below float64


def test_a_profile_far_below_what_decimals_can_hold_is_decided() -> None:
    verdict = certify(UNIT, PureDP(10**200))  # delta is near exp(-5e399), and not 0
    assert verdict.status is Status.REFUTED
    assert verdict.witness is not None


def test_the_own_claim_is_decided_when_none_is_given() -> None:
    assert certify(UNIT).claim == UNIT.claim
    assert certify(broken.by_name("M3").make(3, 1)).status is Status.REFUTED


def test_a_mechanism_told_apart_with_certainty_keeps_no_claim() -> None:
    exposed = broken.by_name("M6").make(3, 1)
    for claim in (GaussianDP(100), ApproximateDP(50, "0.999"), ZeroConcentratedDP(10**6), PureDP(9), RenyiDP(2, 99)):
        verdict = certify(exposed, claim)
        assert verdict.status is Status.REFUTED
        witness = verdict.witness
        assert witness is not None
        assert (witness.probability.lower, witness.neighbour_probability.upper) == (1.0, 0.0)
        assert witness.value.upper == math.inf
        assert claim.describe() in witness.statement


def stuck(value: Fraction) -> Real:
    """A stand-in for a number whose balls keep a width of 2^-20000 at every precision."""
    return Real(lambda: ball(value).union(ball(value) + arb(2) ** -20000))


def test_numbers_that_cannot_be_told_apart_leave_the_verdict_inconclusive() -> None:
    (stated,) = UNIT.above()
    assert isinstance(stated, WorstPair)
    pair = dataclasses.replace(stated, loss=GaussianLoss.from_squared(stuck(Fraction(1))))
    worst = Bounds(above=(pair,), below=(pair,))
    verdict = decide(UNIT, GaussianDP(1), worst)
    assert verdict.status is Status.INCONCLUSIVE
    assert verdict.reason is not None
    assert "8192 bits" in verdict.reason
    with pytest.raises(NotCertified, match="INCONCLUSIVE"):
        verdict.require()
    assert decide(UNIT, GaussianDP(2), worst).status is Status.CERTIFIED
    assert decide(UNIT, GaussianDP("0.5"), worst).status is Status.REFUTED


def test_a_box_of_more_sides_than_are_summed_exactly_may_meet_its_claim_undecided() -> None:
    # Sides j^2 and m^2 with sum q^2, so that every scale j q and m q is a float64: mu is exactly 1, but the form is
    # enclosed in balls, which cannot tell 1 from 1. Never CERTIFIED without a decision.
    squares = [j * j for j in range(2, 300)]
    total = sum(squares)
    bounds = [*squares, ((total - 1) // 2) ** 2] if total % 2 else [1, *squares, (total // 2) ** 2]
    mechanism = EllipticalGaussian(bounds=bounds, mu=1)
    assert math.isqrt(sum(bounds)) ** 2 == sum(bounds)
    assert certify(mechanism).status is Status.INCONCLUSIVE
    assert certify(mechanism, GaussianDP("1.0000000000000000001")).status is Status.CERTIFIED
    assert certify(mechanism, GaussianDP("0.9999999999999999999")).status is Status.REFUTED
    assert certify(EllipticalGaussian(bounds=[1, 4, 4, 16], mu=1)).status is Status.CERTIFIED


def certificate() -> Certificate:
    made = certify(UNIT).certificate
    assert made is not None
    return made


def witness() -> Witness:
    made = certify(UNIT, GaussianDP("0.5")).witness
    assert made is not None
    return made


def test_a_certificate_names_what_it_takes_for_granted_and_the_source_it_rests_on() -> None:
    made = certificate()
    assert any("rounding" in assumption for assumption in made.assumptions)
    assert made.source_sha256 == source_sha256(UNIT) != source_sha256(EllipticalGaussian(bounds=[1], mu=1))
    assert len(made.source_sha256) == 64
    assert "vertex" in made.worst_case or "vertices" in made.worst_case


LAWS: dict[str, AdditiveMechanism] = {
    "Gaussian": CorrelatedGaussian(dim=3, mu=1),
    "Gaussian stream": FactorizationCounter(horizon=9, kind="sqrt-toeplitz", noise="gaussian", claim="mu=1"),
    "Laplace": LaplaceMechanism(dim=3, epsilon=1, adjacency=REPLACE_ONE),
    "Laplace, bound": LaplaceMechanism.from_concentrated(
        dim=9, epsilon=1, delta="1e-5", adjacency=REPLACE_ONE, norm="l2"
    ),
    "Laplace stream": FactorizationCounter(horizon=9, kind="honaker", noise="laplace", claim="eps=1"),
    "discrete Gaussian": DiscreteCorrelatedGaussian(dim=3, rho="0.5"),
    "randomised response": TreeCounter(horizon=12, epsilon=1, arity=5),
    "random direction": Rank1Gaussian(dim=3, epsilon=1, delta="1e-3", scale=400),
}


@pytest.mark.few(4)
@pytest.mark.parametrize("mechanism", LAWS.values(), ids=LAWS)
def test_a_certificate_goes_stale_with_any_source_that_ran(
    mechanism: AdditiveMechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: set[str] = set()

    def note(frame: types.FrameType, event: str, _: object) -> None:
        if event == "call":
            ran.add(frame.f_globals.get("__name__", ""))

    sys.setprofile(note)
    try:
        verdict = certify(mechanism)
    finally:
        sys.setprofile(None)
    assert verdict.certificate is not None
    ran = {name for name in ran if name.startswith("dpverdict.")}
    assert {"dpverdict.audit.exact.decide", type(mechanism.sensitivity).__module__} <= ran
    assert len(ran) > 6
    read, before = inspect.getsource, source_sha256(mechanism)
    assert before == verdict.certificate.source_sha256

    def edited(module: types.ModuleType) -> str:
        return read(module) + ("# edited" if module.__name__ == name else "")

    monkeypatch.setattr(inspect, "getsource", edited)
    unnoticed = []
    for name in sorted(ran):
        if source_sha256(mechanism) == before:
            unnoticed.append(name)
    assert unnoticed == []


def test_a_certificate_does_not_rest_on_the_losses_of_other_laws(monkeypatch: pytest.MonkeyPatch) -> None:
    before, read = source_sha256(UNIT), inspect.getsource

    def edited(module: types.ModuleType) -> str:
        return read(module) + ("# edited" if module.__name__.startswith("dpverdict.audit.losses.laplace") else "")

    monkeypatch.setattr(inspect, "getsource", edited)
    assert source_sha256(UNIT) == before


@pytest.mark.parametrize(
    "make", [lambda: CorrelatedGaussian(dim=7, mu="0.3"), lambda: CorrelatedGaussian(dim=11, mu=1, C="1.7")]
)
def test_scales_rounded_down_instead_of_up_are_refuted(
    make: Callable[[], GaussianMechanism], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert certify(make()).status is Status.CERTIFIED
    exact = scales.sqrt_up
    monkeypatch.setattr(scales, "sqrt_up", lambda square: math.nextafter(exact(square), 0))
    assert certify(make()).status is Status.REFUTED


def test_scales_rounded_to_nearest_are_refuted_for_some_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scales, "sqrt_up", lambda square: square.sqrt().nearest())
    statuses = [certify(CorrelatedGaussian(dim=d, mu="0.3")).status for d in range(1, 30)]
    assert Status.REFUTED in statuses


def test_enclosures_of_a_certificate_are_intervals() -> None:
    made = certificate()
    assert isinstance(made.value, Enclosure)
    assert made.value.lower <= made.bound.upper


def test_a_mechanism_of_a_notebook_has_a_certificate_too() -> None:
    """Its module has no source to hash; another body has another hash, and twice the statistic breaks the claim."""
    code = """
from dpverdict.mechanisms import StandardGaussian

class HandMade(StandardGaussian):
    def statistic(self, records):
        return {factor} * records.sum(axis=0)
"""
    found = []
    for factor in ("1.0", "1.0", "-1.0", "2.0"):
        notebook = types.ModuleType("a_notebook")
        exec(code.format(factor=factor), vars(notebook))
        sys.modules["a_notebook"] = notebook
        try:
            verdict = certify(notebook.HandMade(dim=2, mu=1, adjacency=REPLACE_ONE))
        finally:
            del sys.modules["a_notebook"]
        if factor == "2.0":
            assert verdict.status is Status.REFUTED
            continue
        assert verdict.certificate is not None
        found.append(verdict.certificate.source_sha256)
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(
    ("text", "status"),
    [("eps=1e309", Status.REFUTED), ("eps=1e309, delta=0.1", Status.CERTIFIED), ("rho=1e400", Status.CERTIFIED)],
)
def test_claims_beyond_every_float_are_decided(text: str, status: Status) -> None:
    assert certify(StandardGaussian(dim=2, mu=1, adjacency=ADD_OR_REMOVE_ONE), parse_guarantee(text)).status is status
