"""`certify` never says CERTIFIED of a claim that the mechanism exceeds, whatever the parameters.

The truth is recomputed with mpmath at DIGITS digits from the float64 scales that the sampler uses, by the printed
formulas, without any code of the package. No tolerance: the numbers compared are exact, or 60 digits long.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    ApproximateDP,
    CorrelatedGaussian,
    EllipticalGaussian,
    GaussianDP,
    GroupedGaussian,
    PureDP,
    RenyiDP,
    StandardGaussian,
    ZeroConcentratedDP,
)
from dpverdict.mechanisms.core.guarantees import Guarantee
from dpverdict.mechanisms.core.mechanism import GaussianMechanism

DIGITS = 60
ULPS = Fraction(1, 10**14)  # what rounding the scales up may cost of mu, at most

decimals = st.tuples(st.integers(1, 9999), st.integers(-6, -1)).map(lambda p: f"{p[0]}e{p[1]}")
mus = st.one_of(decimals, st.integers(1, 1000).map(str)).filter(lambda m: Fraction("1e-3") <= Fraction(m) <= 1000)
dims = st.integers(1, 60)


def number(value: Fraction | int | float) -> Any:  # an mpf: mpmath has no types
    exact = Fraction(value)
    return mpmath.mpf(exact.numerator) / exact.denominator


def best_layer(d: int, value: Callable[[int], Fraction]) -> Fraction:
    return max(value(j) for j in range(d + 1))


def standard(data: st.DataObject, d: int, mu: str) -> tuple[GaussianMechanism, Fraction]:
    relation = data.draw(st.sampled_from([ADD_OR_REMOVE_ONE, REPLACE_ONE]))
    made = StandardGaussian(dim=d, mu=mu, adjacency=relation)
    return made, d / Fraction(made.scale) ** 2


def released(data: st.DataObject, d: int, mu: str) -> tuple[GaussianMechanism, Fraction]:
    made = CorrelatedGaussian(dim=d, mu=mu, C=data.draw(st.none() | decimals))
    vz, ve = Fraction(made.independent_scale) ** 2, Fraction(made.shared_scale) ** 2
    return made, Fraction(d, 4) / vz + 1 / (4 * ve)  # F1 at any vertex


def withheld(data: st.DataObject, d: int, mu: str) -> tuple[GaussianMechanism, Fraction]:
    made = CorrelatedGaussian(dim=d, mu=mu, C=data.draw(st.none() | decimals), count="withheld")
    vz, ve = Fraction(made.independent_scale) ** 2, Fraction(made.shared_scale) ** 2
    return made, best_layer(d, lambda j: (j - j * j * ve / (vz + d * ve)) / vz)  # F2


def estimated(data: st.DataObject, d: int, mu: str) -> tuple[GaussianMechanism, Fraction]:
    made = CorrelatedGaussian(dim=d, mu=mu, count="estimated", size_estimate=data.draw(st.integers(-5, 5)))
    return made, Fraction(d, 4) / Fraction(made.independent_scale) ** 2  # F6


def grouped(data: st.DataObject, d: int, mu: str) -> tuple[GaussianMechanism, Fraction]:
    relation = data.draw(st.sampled_from([ADD_OR_REMOVE_ONE, REPLACE_ONE]))
    groups = data.draw(st.integers(1, 4))
    made = GroupedGaussian(groups=groups, dim=d, mu=mu, adjacency=relation)
    vz, ve = Fraction(made.independent_scale) ** 2, Fraction(made.shared_scale) ** 2
    one = Fraction(d, 4) / vz + 1 / (4 * ve)  # F10
    if relation is ADD_OR_REMOVE_ONE:
        return made, one
    return made, max(d / vz, one * min(groups, 2))  # F11, F12, F13


def elliptical(data: st.DataObject, d: int, mu: str) -> tuple[GaussianMechanism, Fraction]:
    bounds = data.draw(st.lists(st.just("0") | decimals, min_size=d, max_size=d))
    assume(any(Fraction(b) for b in bounds))
    made = EllipticalGaussian(bounds=bounds, mu=mu)
    assert all(Fraction(used) >= Fraction(given) for used, given in zip(made.bounds.tolist(), bounds, strict=True))
    pairs = zip(made.bounds.tolist(), made.scales.tolist(), strict=True)
    return made, sum(((Fraction(b) / Fraction(s)) ** 2 for b, s in pairs if b), Fraction(0))


KINDS = [standard, released, withheld, estimated, grouped, elliptical]


@given(st.data(), st.sampled_from(KINDS), dims, mus)
def test_the_exact_parameter_is_at_most_the_claim_and_hardly_less(
    data: st.DataObject, kind: Callable[..., tuple[GaussianMechanism, Fraction]], d: int, mu: str
) -> None:
    mechanism, truth = kind(data, d, mu)
    loss: Any = worst_case(mechanism).loss
    assert loss.mu_squared.rational == truth
    assert truth <= Fraction(mu) ** 2
    assert certify(mechanism).status is Status.CERTIFIED
    if kind is not withheld:  # where the claim is an upper bound by design
        assert truth >= Fraction(mu) ** 2 * (1 - ULPS) ** 2


@given(st.data(), st.sampled_from(KINDS), dims, mus, st.fractions(-1, 1), st.integers(0, 40))
def test_a_gdp_claim_below_the_exact_parameter_is_never_certified(
    data: st.DataObject,
    kind: Callable[..., tuple[GaussianMechanism, Fraction]],
    d: int,
    mu: str,
    shift: Fraction,
    digits: int,
) -> None:
    mechanism, truth = kind(data, d, mu)
    with mpmath.workdps(DIGITS):
        root = mpmath.sqrt(number(truth))
        claim = GaussianDP(Fraction(mpmath.nstr(root, 50)) * (1 + shift / 10**digits))
        exceeded = root > number(claim.mu)  # 60 digits against 50: never equal by accident
    status = certify(mechanism, claim).status
    assert status is (Status.REFUTED if truth > claim.mu**2 else Status.CERTIFIED)
    if exceeded and digits <= 30:
        assert status is Status.REFUTED


def delta_of(mu: Any, epsilon: str) -> Any:
    """The privacy profile, with mpmath."""
    e = mpmath.mpf(epsilon)
    upper = mpmath.erfc((e / mu - mu / 2) / mpmath.sqrt(2)) / 2
    lower = mpmath.erfc((e / mu + mu / 2) / mpmath.sqrt(2)) / 2
    return upper - mpmath.exp(e) * lower


@given(
    st.data(),
    st.sampled_from(KINDS),
    dims,
    mus.filter(lambda m: Fraction(m) >= Fraction(1, 100)),
    st.sampled_from(["rho", "renyi", "delta"]),
    st.sampled_from(["0.01", "0.5", "1", "2", "7.5"]),
    st.integers(2, 25),
)
def test_other_claims_are_decided_rightly_on_both_sides_of_their_boundary(
    data: st.DataObject,
    kind: Callable[..., tuple[GaussianMechanism, Fraction]],
    d: int,
    mu: str,
    claim_kind: str,
    epsilon: str,
    digits: int,
) -> None:
    mechanism, truth = kind(data, d, mu)
    order = str(1 + Fraction(epsilon))
    with mpmath.workdps(2 * DIGITS):  # the two terms of the profile cancel, by a few digits of each
        exact_mu = mpmath.sqrt(number(truth))
        value = {
            "rho": lambda: exact_mu**2 / 2,
            "renyi": lambda: number(Fraction(order)) * exact_mu**2 / 2,
            "delta": lambda: delta_of(exact_mu, epsilon),
        }[claim_kind]()
        assume(value > mpmath.mpf(10) ** -1500)
        middle = Fraction(mpmath.nstr(value, 40))
    low, high = middle * (1 - Fraction(1, 10**digits)), middle * (1 + Fraction(1, 10**digits))

    def claim(parameter: Fraction) -> Guarantee:
        if claim_kind == "rho":
            return ZeroConcentratedDP(parameter)
        if claim_kind == "renyi":
            return RenyiDP(order, parameter)
        return ApproximateDP(epsilon, parameter)

    assert certify(mechanism, claim(low)).status is Status.REFUTED
    if claim_kind != "delta" or high < 1:
        assert certify(mechanism, claim(high)).status is Status.CERTIFIED


@given(st.data(), st.sampled_from(KINDS), dims, mus, st.sampled_from(["0", "0.3", "20"]))
def test_a_pure_claim_is_never_certified(
    data: st.DataObject, kind: Callable[..., tuple[GaussianMechanism, Fraction]], d: int, mu: str, epsilon: str
) -> None:
    mechanism, _ = kind(data, d, mu)
    assert certify(mechanism, PureDP(epsilon)).status is not Status.CERTIFIED


@given(dims, st.sampled_from(["0.1", "1", "3"]), st.sampled_from(["1e-2", "1e-6", "1e-12"]))
def test_calibrated_mechanisms_keep_the_claim_they_are_calibrated_to(d: int, epsilon: str, delta: str) -> None:
    analytic = StandardGaussian.analytic(dim=d, epsilon=epsilon, delta=delta, adjacency=ADD_OR_REMOVE_ONE)
    classic = StandardGaussian.classic(dim=d, epsilon=epsilon, delta=delta, adjacency=ADD_OR_REMOVE_ONE)
    assert certify(analytic).status is Status.CERTIFIED
    assert certify(classic).status is Status.CERTIFIED
    assert analytic.scale <= classic.scale
    tighter = ApproximateDP(epsilon, Fraction(delta) * (1 - Fraction(1, 10**9)))
    assert certify(analytic, tighter).status is Status.REFUTED


@pytest.mark.parametrize(("epsilon", "delta"), [(4, "0.9"), (5, "0.5"), (8, "1e-3"), (20, "1e-6")])
def test_the_classic_calibration_is_refuted_where_it_fails(epsilon: int, delta: str) -> None:
    assert (
        certify(StandardGaussian.classic(dim=3, epsilon=epsilon, delta=delta, adjacency=ADD_OR_REMOVE_ONE)).status
        is Status.REFUTED
    )
