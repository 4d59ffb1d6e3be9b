"""The profile of discrete Gaussian noise: symmetric, complementary, and steps where the support has points."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from dpverdict.audit.losses.discrete_gaussian.law import DiscreteGaussians, grouped
from dpverdict.audit.losses.discrete_gaussian.profile import DiscreteGaussianProfile
from dpverdict.balls import ball, precision

LAW = DiscreteGaussians(grouped([(Fraction(2), 1, 2)]))
PROFILE = DiscreteGaussianProfile(LAW)


def direct(epsilon: float) -> float:
    """delta over all pairs of outputs."""
    support = np.arange(-40, 41)
    p = np.exp(-(support**2) / 4.0)
    q = np.exp(-((support - 1) ** 2) / 4.0)
    p, q = p / p.sum(), q / q.sum()
    joint_p, joint_q = np.outer(p, p), np.outer(q, q)
    return float(np.maximum(joint_p - np.exp(epsilon) * joint_q, 0).sum())


@pytest.mark.parametrize("epsilon", ["0", "1/3", "1", "5/2"])
def test_the_profile_is_the_direct_sum(epsilon: str) -> None:
    exact = Fraction(epsilon)
    found = PROFILE.delta(exact, 60)
    assert found.rel_accuracy_bits() >= 60
    assert float(found) == pytest.approx(direct(float(exact)), rel=1e-10)
    with precision(128):
        assert (found + PROFILE.complement(exact, 60)).contains(1)
        decay = (-ball(exact)).exp()
        assert PROFILE.delta(-exact, 60).overlaps(1 - decay + decay * found)
        from_tails = PROFILE.p_above(exact, 60) - ball(exact).exp() * PROFILE.q_above(exact, 60)
        assert found.overlaps(from_tails)


def test_tails_step_at_the_points_of_the_support_alone() -> None:
    at = LAW.rho + 3 * LAW.step
    for beside, steps in ((at - LAW.step / 3, True), (at + LAW.step / 3, False)):
        assert (float(PROFILE.p_above(beside, 60)) > float(PROFILE.p_above(at, 60))) == steps


def test_float_tails_are_those_of_the_balls() -> None:
    firsts = np.array([1.0, 2.0, 9.0])
    for first, tail in zip(firsts.tolist(), PROFILE.tails_float(firsts).tolist(), strict=True):
        assert tail == pytest.approx(float(PROFILE.tail(int(first), 60)), rel=1e-9)


def test_beta_falls_and_touches_the_profile() -> None:
    alphas = [Fraction(k, 10) for k in range(1, 10)]
    betas = [float(PROFILE.beta(alpha, 60)) for alpha in alphas]
    assert betas == sorted(betas, reverse=True)
    for alpha, beta in zip(alphas, betas, strict=True):
        assert beta >= 1 - direct(0) - float(alpha) - 1e-12


@pytest.mark.parametrize("alpha", ["1e-9", "0.3", "1/2", "0.9"])
@pytest.mark.parametrize("variances", [("1/50", "3"), ("1e40", "3e40")], ids=["narrow", "wide"])
def test_beta_is_found_where_the_tails_cross_the_level(alpha: str, variances: tuple[str, str]) -> None:
    law = DiscreteGaussians(grouped([(Fraction(one), 1, 1) for one in variances]))
    profile, level = DiscreteGaussianProfile(law), Fraction(alpha)
    m = profile._quantile(level, 120)
    at, beyond = profile.tail(m, 120), profile.tail(m + 1, 120)
    with precision(200):
        assert at >= ball(level) >= beyond
    assert float(profile.beta(level, 60)) <= float(1 - level)


def test_few_tails_are_evaluated_however_large_the_variance(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = DiscreteGaussianProfile(DiscreteGaussians(grouped([(Fraction(10) ** 60, 1, 1)])))
    asked: list[int] = []
    evaluated = DiscreteGaussianProfile.tail

    def counted(self: DiscreteGaussianProfile, first: int, bits: int) -> arb:
        asked.append(first)
        return evaluated(self, first, bits)

    monkeypatch.setattr(DiscreteGaussianProfile, "tail", counted)
    profile.beta(Fraction(1, 100), 60)
    assert 0 < len(asked) < 20
