"""The ledger of the elliptical Gaussian report: its theorem by a second library, and by the audit of the mechanism."""

from fractions import Fraction

import mpmath
import pytest

from dpverdict.audit import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, EllipticalGaussian, StandardGaussian
from dpverdict.mechanisms.core.guarantees import ApproximateDP
from dpverdict.proofs.checks.outcome import Standing
from dpverdict.proofs.checks.registry import statements, verify


@pytest.mark.parametrize("delta", ["0.999", "0.75", "0.1", "1e-5", "1e-50"])
def test_theorem_1_by_a_second_library(delta: str) -> None:
    """mpmath at 60 digits, from the densities: it shares nothing with the balls, nor with the proof."""
    with mpmath.workdps(60):
        c = mpmath.sqrt(2 * mpmath.log(mpmath.mpf("1.25") / mpmath.mpf(delta)))
        for epsilon in ("0.01", "0.5", "0.999999"):
            mu = mpmath.mpf(epsilon) / c
            start = mpmath.mpf(epsilon) / mu + mu / 2
            tail = [mpmath.erfc((start - shift) / mpmath.sqrt(2)) / 2 for shift in (mu, 0)]
            assert tail[0] - mpmath.exp(mpmath.mpf(epsilon)) * tail[1] <= mpmath.mpf(delta)


def test_the_restored_mechanism_is_certified_and_tight() -> None:
    mechanism = EllipticalGaussian(bounds=["1", "2", "4", "0.5"], mu=1)
    assert certify(mechanism).status is Status.CERTIFIED
    square = mechanism.sensitivity.maximise(mechanism.noise).mu_squared
    assert square is not None
    assert square.rational is not None
    assert 1 - Fraction(1, 10**14) < square.rational <= 1


def test_what_is_not_printed_is_said_to_be_restored() -> None:
    found = {made.number: made for made in statements("poulsen2022")}
    assert [made.number for made in statements("poulsen2022")][:3] == ["def1.1", "def1.2", "def1.3"]
    restored = [made.text for made in found.values() if made.number.startswith("egm.")]
    assert len(restored) == 4
    assert all("Restored" in text for text in restored)


def test_the_domain_printed_with_the_sensitivity_has_none() -> None:
    outcome = verify("poulsen2022", "def1.2")
    assert outcome.standing is Standing.HOLDS_WITH_CAVEAT
    assert "R = 10: Delta_1 = 20; R = 100: Delta_1 = 200" in outcome.witness


def test_the_classic_scale_is_not_private_at_large_epsilon() -> None:
    """The restriction of Theorem 1 matters: beyond it the same formula is refuted, within it certified."""
    for epsilon, status in ((Fraction(99, 100), Status.CERTIFIED), (Fraction(10), Status.REFUTED)):
        with mpmath.workdps(40):
            c = mpmath.sqrt(2 * mpmath.log(mpmath.mpf("1.25") / mpmath.mpf("1e-5")))
            mu = Fraction(str(mpmath.mpf(epsilon.numerator) / epsilon.denominator / c)).limit_denominator(10**12)
        assert (
            certify(StandardGaussian(dim=1, mu=mu, adjacency=ADD_OR_REMOVE_ONE), ApproximateDP(epsilon, "1e-5")).status
            is status
        )
