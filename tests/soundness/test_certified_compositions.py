"""Certified compositions against references of other code: enumeration, quadrature, closed mixtures; planted faults."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverdict.audit.losses import bounded
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.bounded import BoundedLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.contour import product as contour_product
from dpverdict.audit.losses.contour.kinds import ProductLoss, product_loss
from dpverdict.audit.losses.contour.mixture import Mixture
from dpverdict.audit.losses.contour.product import ProductContour
from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.audit.losses.finite.pld import from_pld
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.losses.lattice import whole
from dpverdict.audit.sampling import allocation, allocation_line
from dpverdict.audit.sampling.allocation import AllocationLoss, random_allocation
from dpverdict.audit.sampling.poisson import poisson_sampled

CLOSED, ELSEWHERE = 1e-9, 1e-6
"""The widest relative enclosures that are promised: of closed forms and contours, and of lattices."""

Atoms = list[tuple[Fraction, Fraction]]


@st.composite
def finite_laws(draw: st.DrawFn) -> Atoms:
    """Two to four outcomes, some of them impossible under one law."""
    size = draw(st.integers(2, 4))
    weights = st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any)
    p, q = draw(weights), draw(weights)
    return [(Fraction(a, sum(p)), Fraction(b, sum(q))) for a, b in zip(p, q, strict=True) if a or b]


def outcomes(laws: list[Atoms]) -> list[tuple[Fraction, Fraction]]:
    """Those of the product, one by one."""
    found = []
    for combination in itertools.product(*laws):
        p, q = Fraction(1), Fraction(1)
        for a, b in combination:
            p, q = p * a, q * b
        if p or q:
            found.append((p, q))
    return found


def gaussian_profile(mu: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    if not mu:
        return max(mpmath.mpf(0), -mpmath.expm1(epsilon))
    first, second = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    return mpmath.ncdf(first) - mpmath.exp(epsilon) * mpmath.ncdf(second)


def laplace_profile(shift: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    if epsilon >= shift:
        return mpmath.mpf(0)
    return -mpmath.expm1(epsilon) if epsilon <= -shift else -mpmath.expm1((epsilon - shift) / 2)


def mixed(laws: list[Atoms], epsilon: str, profile) -> mpmath.mpf:
    """The sum over the outcomes of p times a profile at the shifted epsilon, to 40 digits."""
    total = mpmath.mpf(0)
    for p, q in outcomes(laws):
        if not p:
            continue
        mass = mpmath.mpf(p.numerator) / p.denominator
        if not q:
            total += mass
            continue
        ratio = p / q
        total += mass * profile(mpmath.mpf(epsilon) - mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator))
    return total


def holds(loss: PrivacyLoss, epsilon: str, truth: mpmath.mpf, width: float) -> bool:
    """Whether the certified bounds are on both sides of the truth, and as close as promised."""
    assert loss.is_certified
    found = loss.certified_delta(epsilon)
    size = abs(truth) * mpmath.mpf(10) ** -30
    assert found.lower <= truth + size, (found, truth)
    assert truth - size <= found.upper, (found, truth)
    assert found.upper - found.lower <= width * found.upper + 1e-35, found
    return True


LAWS = [FiniteLoss([p for p, _ in law], [q for _, q in law]) for law in (
    [(Fraction(1, 2), Fraction(0)), (Fraction(1, 2), Fraction(1))],
    [(Fraction(2, 3), Fraction(1, 3)), (Fraction(1, 3), Fraction(2, 3))],
)]  # fmt: skip
EPSILONS = st.sampled_from(["-2", "-0.3", "0", "0.1", "0.5", "1", "2.5", "6"])
SCALES = st.sampled_from(["0.01", "0.1", "0.5", "1", "2"])


def check_mixture(laws: list[Atoms], scale: str, epsilon: str, kind: str) -> None:
    losses = [FiniteLoss([p for p, _ in law], [q for _, q in law]) for law in laws]
    noise = GaussianLoss(scale) if kind == "gaussian" else LaplaceLoss([scale])
    with mpmath.workdps(40):
        own = gaussian_profile if kind == "gaussian" else laplace_profile
        truth = mixed(laws, epsilon, lambda x: own(mpmath.mpf(scale), x))
        holds(compose(*losses, noise), epsilon, truth, CLOSED)


@given(st.lists(finite_laws(), min_size=1, max_size=3), SCALES, EPSILONS, st.sampled_from(["gaussian", "laplace"]))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_finite_laws_with_noise_are_the_mixtures_of_their_outcomes(
    laws: list[Atoms], scale: str, epsilon: str, kind: str
) -> None:
    check_mixture(laws, scale, epsilon, kind)


@pytest.mark.slow
@given(st.lists(finite_laws(), min_size=1, max_size=4), SCALES, EPSILONS, st.sampled_from(["gaussian", "laplace"]))
@settings(max_examples=3000, deadline=None, derandomize=True)
def test_finite_laws_with_noise_are_mixtures_at_full_size(
    laws: list[Atoms], scale: str, epsilon: str, kind: str
) -> None:
    check_mixture(laws, scale, epsilon, kind)


def check_lattice(laws: list[Atoms], scale: str, epsilon: str) -> None:
    """The same compositions on a lattice, which compose() would not take for them."""
    losses = [FiniteLoss([p for p, _ in law], [q for _, q in law]) for law in laws]
    loss = BoundedLoss([*((one, 1) for one in losses), (LaplaceLoss([scale]), 1)])
    with mpmath.workdps(40):
        truth = mixed(laws, epsilon, lambda x: laplace_profile(mpmath.mpf(scale), x))
        found = loss.certified_delta(epsilon)
        assert found.lower <= truth * (1 + mpmath.mpf(10) ** -30)
        assert truth * (1 - mpmath.mpf(10) ** -30) <= found.upper
        near = len(loss.factors) * loss.interval
        beside = sum((mass for mass, place in atoms(laws, scale) if abs(place - mpmath.mpf(epsilon)) <= near), 0.0)
        assert found.upper - found.lower <= ELSEWHERE * found.upper + near * beside + 1e-35


def atoms(laws: list[Atoms], scale: str) -> list[tuple[float, mpmath.mpf]]:
    """Mass and loss of the atoms of finite laws with Laplace noise, which has its own at plus and minus its shift."""
    found = []
    for p, q in outcomes(laws):
        if p and q:
            place = mpmath.log(mpmath.mpf((p / q).numerator) / (p / q).denominator)
            for end, own in ((mpmath.mpf(scale), 0.5), (-mpmath.mpf(scale), math.exp(-float(scale)) / 2)):
                found.append((float(p) * own, place + end))
    return found


@given(st.lists(finite_laws(), min_size=1, max_size=3), st.sampled_from(["0.1", "0.5", "1"]), EPSILONS)
@settings(max_examples=12, deadline=None, derandomize=True)
def test_a_lattice_in_whole_numbers_encloses_the_same_mixtures(laws: list[Atoms], scale: str, epsilon: str) -> None:
    check_lattice(laws, scale, epsilon)


@pytest.mark.slow
@given(st.lists(finite_laws(), min_size=1, max_size=3), st.sampled_from(["0.1", "0.5", "1"]), EPSILONS)
@settings(max_examples=400, deadline=None, derandomize=True)
def test_a_lattice_encloses_mixtures_at_full_size(laws: list[Atoms], scale: str, epsilon: str) -> None:
    check_lattice(laws, scale, epsilon)


def binomial(n: int, p: Fraction, q: Fraction, epsilon: str) -> mpmath.mpf:
    """n times the law (p, 1 - p) against (q, 1 - q)."""
    total, growth = mpmath.mpf(0), mpmath.exp(mpmath.mpf(epsilon))
    for k in range(n + 1):
        weight = math.comb(n, k)
        first, second = (weight * r**k * (1 - r) ** (n - k) for r in (p, q))
        gain = mpmath.mpf(first.numerator) / first.denominator - growth * mpmath.mpf(second.numerator) / (
            second.denominator
        )
        total += max(gain, 0)
    return total


@pytest.mark.parametrize("epsilon", ["0.3", "1.1", "4"])
def test_many_times_a_finite_law_on_a_lattice_is_the_binomial_sum(epsilon: str) -> None:
    law = FiniteLoss(["0.55", "0.45"], ["0.45", "0.55"])
    with mpmath.workdps(60):
        truth = binomial(200, Fraction("0.55"), Fraction("0.45"), epsilon)
    found = BoundedLoss([(law, 200)]).certified_delta(epsilon)
    assert found.lower <= truth <= found.upper
    assert found.upper - found.lower <= ELSEWHERE * found.upper


def two_steps(epsilon: float, s: float, epochs: int, order: str) -> float:
    """Random allocation of two steps: log R = m/s - 1/(2 s^2) + log cosh(d/s), m and d normal of variance 1/2.

    The sum of the m is normal, so a lognormal put remains at given d: the trapezoidal rule in them, to 1e-13.
    """
    d = np.linspace(-9, 9, 361)
    weights = np.exp(-d * d) * (d[1] - d[0]) / math.sqrt(math.pi)
    log_cosh = np.logaddexp(d / s, -d / s) - math.log(2)
    shifts, masses = log_cosh, weights
    for _ in range(epochs - 1):
        shifts = (shifts[:, None] + log_cosh).ravel()
        masses = (masses[:, None] * weights).ravel()
    mean, sigma = shifts - epochs / (2 * s * s), math.sqrt(epochs / 2) / s
    normal = lambda x: 0.5 * np.vectorize(math.erfc)(-x / math.sqrt(2))  # noqa: E731
    level = epsilon if order == "remove" else -epsilon
    z = (level - mean) / sigma
    growth = np.exp(mean + sigma**2 / 2)
    if order == "remove":  # a call on R
        values = growth * normal(sigma - z) - math.exp(epsilon) * normal(-z)
    else:  # a put on exp(epsilon) R
        values = normal(z) - math.exp(epsilon) * growth * normal(z - sigma)
    return float(masses @ values)


@pytest.mark.parametrize("epochs", [1, 2])
@pytest.mark.parametrize(("noise", "epsilon"), [("1", "0.5"), ("0.5", "2"), ("2", "0.2"), ("0.4", "1")])
def test_two_steps_of_random_allocation_are_those_of_quadrature(noise: str, epsilon: str, epochs: int) -> None:
    loss = random_allocation(noise_multiplier=noise, steps=2, epochs=epochs)
    for order in ("remove", "add"):
        found = getattr(loss, order).certified_delta(epsilon)
        truth = two_steps(float(epsilon), float(noise), epochs, order)
        assert truth == pytest.approx(found.lower, rel=2e-10)
        assert found.upper - found.lower <= CLOSED * found.upper


def test_many_epochs_agree_with_the_lattice_of_the_likelihood_ratio() -> None:
    """10 epochs of 100 steps: float64 bounds with an error ledger, of another method altogether."""
    loss = random_allocation(noise_multiplier=1, steps=100, epochs=10)
    for one in (loss.remove, loss.add):
        ((epoch, count),) = one.factors
        assert isinstance(epoch, AllocationLoss)
        between = BoundedLoss([(epoch, count)], 2.0**-10)
        assert not between.is_certified
        lower, upper = between.delta_bounds(np.array([0.5, 1.5]))
        for i, epsilon in enumerate(("0.5", "1.5")):
            found = one.certified_delta(epsilon)
            assert lower[i] <= found.upper
            assert found.lower <= upper[i]
            assert found.upper - found.lower <= CLOSED * found.upper
            assert upper[i] - lower[i] < 1e-3 * upper[i]


@pytest.mark.parametrize("epsilon", ["0", "0.5", "4", "30", "100"])
@pytest.mark.parametrize(
    ("noise", "steps", "epochs"),
    [("1", 10, 1), ("1", 100, 100), ("0.8", 30, 10), pytest.param("0.8", 1000, 10, marks=pytest.mark.slow)],
)
def test_what_is_certified_answers_at_every_epsilon(noise: str, steps: int, epochs: int, epsilon: str) -> None:
    loss = random_allocation(noise_multiplier=noise, steps=steps, epochs=epochs)
    assert loss.is_certified
    found = loss.certified_delta(epsilon)
    assert 0 <= found.lower <= found.upper <= 1
    assert found.upper - found.lower <= CLOSED * found.upper or found.upper < 1e-30


MANY = {
    "sampled, Gaussian": lambda: compose(poisson_sampled(GaussianLoss(1), "0.01", 100), GaussianLoss("0.5")),
    "sampled, Laplace, finite": lambda: compose(
        poisson_sampled(GaussianLoss(1), "0.01", 100), LaplaceLoss(["0.5"]), LAWS[1]
    ),
    "allocated, sampled": lambda: compose(
        random_allocation(noise_multiplier=1, steps=20, epochs=3), poisson_sampled(GaussianLoss(1), "0.01", 100)
    ),
    "allocated, failure": lambda: compose(random_allocation(noise_multiplier=1, steps=20), LAWS[0]),
    "discrete, Gaussian": lambda: compose(DiscreteGaussianLoss(1, 1, 1), GaussianLoss("0.5")),
    "discrete, failure": lambda: compose(DiscreteGaussianLoss(1, 1, 1), LAWS[0]),
    "discrete, Laplace": lambda: compose(DiscreteGaussianLoss(1, 1, 1), LaplaceLoss(["0.3"])),
    "finite, Laplace": lambda: compose(*[LAWS[1]] * 300, LaplaceLoss(["0.3"])),
    "thousands, Laplace": lambda: compose(*[LAWS[1]] * 3000, LaplaceLoss(["0.3"])),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name.startswith("thousands") else name for name in MANY]
)
def test_compositions_of_all_kinds_are_certified_and_close(name: str) -> None:
    loss = MANY[name]()
    assert loss.is_certified
    for epsilon in ("0", "1", "2"):
        found = loss.certified_delta(epsilon)
        assert found.upper - found.lower <= ELSEWHERE * found.upper + 1e-35
        assert found.upper > 0
        assert found.lower <= 1
    level = loss.certified_epsilon("0.6")
    if level.lower > 0 and level.upper < math.inf:
        assert loss.certified_delta(Fraction(level.upper)).lower <= Fraction("0.6")
        assert loss.certified_delta(Fraction(level.lower)).upper >= Fraction("0.6")


def test_contour_and_mixture_agree() -> None:
    law = FiniteLoss(["0.5", "0.3", "0.2", 0], [0, "0.3", "0.4", "0.3"])
    ours = ProductLoss([(law, 1), (GaussianLoss(1), 1)], Mixture(GaussianLoss(1), law))
    other = product_loss([(law, 1), (GaussianLoss(1), 1)])
    assert other is not None
    for one, another in ((ours, other), (ours.reversed(), other.reversed())):
        for epsilon in ("-1", "0", "1", "5"):
            a, b = one.certified_delta(epsilon), another.certified_delta(epsilon)
            assert a.lower <= b.upper
            assert b.lower <= a.upper
            assert b.upper - b.lower <= CLOSED * b.upper


# what a second reading found ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["61/30", "41/15", "187/30", "313/30", "817/30"])
def test_divergences_of_orders_that_are_no_floats_are_those_of_quadrature(order: str) -> None:
    """E R^-b of two steps, R = exp(m/s - 1/(2 s^2)) cosh(d/s), by the trapezoidal rule in d to 40 digits."""
    found = random_allocation(noise_multiplier=1, steps=2).add.certified_renyi(Fraction(order))
    with mpmath.workdps(40):
        t, step = mpmath.mpf(Fraction(order).numerator) / Fraction(order).denominator - 1, mpmath.mpf(1) / 40
        total = step * mpmath.fsum(
            mpmath.cosh(j * step) ** -t * mpmath.exp(-((j * step) ** 2)) for j in range(-500, 501)
        )
        truth = mpmath.log(mpmath.exp(t / 2 + t * t / 4) * total / mpmath.sqrt(mpmath.pi)) / t
        assert found.lower <= truth <= found.upper
        assert found.upper - found.lower <= 1e-15 * found.upper


FAILURE = FiniteLoss(["0.9", "0.1"], [1, 0])


def test_epsilon_at_the_mass_of_an_infinite_loss_is_the_largest_finite_one() -> None:
    loss = compose(FAILURE, LaplaceLoss([1]))
    with mpmath.workdps(30):
        truth = 1 + mpmath.log(mpmath.mpf(9) / 10)
        found = loss.certified_epsilon("0.1")
        assert found.lower <= truth <= found.upper
        assert found.upper - found.lower <= 1e-15
    assert loss.certified_epsilon("0.0999999999999999999999999999999999999999999999").lower == math.inf
    assert loss.certified_epsilon("0.1000000000000000000000000000000000000000000001").lower <= truth
    assert compose(FAILURE, GaussianLoss(1)).certified_epsilon("0.1").lower == math.inf
    assert (
        compose(random_allocation(noise_multiplier=1, steps=4), FAILURE).remove.certified_epsilon("0.1").upper
        == math.inf
    )


def test_a_mixture_has_the_infinite_losses_of_both_parts() -> None:
    stated = from_pld(FAILURE.to_pld(0.05).pessimistic)
    loss = compose(stated, FAILURE)
    assert isinstance(loss, ProductLoss)
    truth = (1 - Fraction(stated.law.infinity_mass)) * Fraction("0.9")
    found = loss.certified_beta(0)
    assert found.lower <= truth <= found.upper
    assert found.upper - found.lower <= 1e-15


def test_a_failure_beside_a_far_tail_is_as_close_as_the_tail() -> None:
    """The rest is far below what a contour reaches."""
    law = FiniteLoss(["0.5", "0.4", "0.1"], ["0.25", "0.75", 0])
    found = compose(random_allocation(noise_multiplier=3, steps=2), law).remove.certified_delta(4)
    assert found.lower <= Fraction("0.1") <= found.upper
    assert found.upper - found.lower <= 1e-8


def test_a_failure_beside_a_lattice_is_as_close_as_the_lattice() -> None:
    """delta(epsilon) = 0.1 + 0.9 delta'(epsilon - log 0.9)."""
    noise = [DiscreteGaussianLoss(1, 1, 1), LaplaceLoss(["0.3"])]
    with mpmath.workdps(30):
        shifted = mpmath.mpf(1) - mpmath.log(mpmath.mpf(9) / 10)
        low, high = (Fraction(mpmath.nstr(shifted + side, 25)) for side in (-mpmath.mpf("1e-20"), mpmath.mpf("1e-20")))
    found, own = compose(*noise, FAILURE).certified_delta(1), compose(*noise)
    assert found.lower <= Fraction("0.1") + Fraction("0.9") * Fraction(own.certified_delta(low).upper)
    assert Fraction("0.1") + Fraction("0.9") * Fraction(own.certified_delta(high).lower) <= found.upper
    assert found.upper - found.lower <= ELSEWHERE * found.upper


# planted faults -------------------------------------------------------------------------------------------------------

COIN = FiniteLoss(["0.6", "0.4"], ["0.4", "0.6"])


def coins(epsilon: str, interval: float | None = None) -> tuple[float, float, mpmath.mpf]:
    """Bounds on 40 coins, and the truth."""
    with mpmath.workdps(60):
        truth = binomial(40, Fraction("0.6"), Fraction("0.4"), epsilon)
    composition = BoundedLoss([(COIN, 40)], interval)._composition(0)
    lower, upper = composition.bounds(Fraction(epsilon))
    return float(lower), float(upper), truth


def test_masses_rounded_inward_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 16 bits the direction of the rounding is all there is."""
    monkeypatch.setattr(whole, "BITS", 16)
    monkeypatch.setattr(whole, "_CUT", 0)
    interval, truth = Fraction(1, 1 << 12), Fraction("0.6") - Fraction("0.4")

    def once() -> tuple[arb, arb]:
        laws = whole.laws_of_atoms(COIN.atom_balls(), interval, arb(0))
        return whole.WholeComposition(whole.composed_laws([(laws, 1)]), interval).bounds(Fraction(0))

    lower, upper = once()
    assert float(lower) <= truth <= float(upper)
    right = whole.units_up
    monkeypatch.setattr(whole, "units_up", lambda mass: max(right(mass) - 2, 0))
    assert float(once()[1]) < truth
    monkeypatch.setattr(whole, "units_up", right)
    monkeypatch.setattr(whole, "units_down", lambda mass: right(mass) + 2)
    assert float(once()[0]) > truth


@pytest.mark.parametrize("flipped", [False, True])
def test_products_rounded_inward_are_found(flipped: bool) -> None:
    """Every mass of a product is on its side of the exact one, and on the other side where the direction is wrong."""
    laws = [
        whole.WholeLaw(0, [(1 << 200) + 12345 + i for i in range(5)], arb(1)),
        whole.WholeLaw(3, [(1 << 201) + 777, 1 << 199], arb(1)),
    ]
    exact = [Fraction(0)] * 6
    for i, a in enumerate(laws[0].masses):
        for j, b in enumerate(laws[1].masses):
            exact[i + j] += Fraction(a * b, 1 << whole.BITS)
    up, down = (
        [mass * Fraction(float(law.scale)) for mass in law.masses]  # a power of two
        for law in (whole._product(*laws, up=side != flipped) for side in (True, False))
    )
    sound = all(low <= one <= high for low, one, high in zip(down, exact, up, strict=True))
    assert sound != flipped


def test_a_dropped_upper_tail_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lattice ends below the largest losses of the Gaussian noise, and what is beyond is forgotten."""
    gaussian, interval = GaussianLoss(1), Fraction(1, 64)
    tails = [[curve(i * interval, 80) for i in range(-400, 65)] for curve in (gaussian.p_above, gaussian.q_above)]
    laws = whole.laws_of_tails(*tails, -400, interval)
    truth = gaussian.certified_delta(Fraction(1, 2))
    lower, upper = whole.WholeComposition(whole.composed_laws([(laws, 1)]), interval).bounds(Fraction(1, 2))
    assert float(lower) <= truth.upper
    assert truth.lower <= float(upper)
    short = whole.WholeLaws(laws.up, laws.p, laws.q, arb(0), laws.apart)
    _, upper = whole.WholeComposition(whole.composed_laws([(short, 1)]), interval).bounds(Fraction(1, 2))
    assert float(upper) < truth.lower


def test_mass_of_q_that_is_not_in_the_event_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = whole.laws_of_atoms

    def forgetful(*arguments, **names):
        laws = right(*arguments, **names)
        less = whole.WholeLaw(laws.q.first, [m // 2 for m in laws.q.masses], laws.q.scale)
        return whole.WholeLaws(laws.up, laws.p, less, laws.infinite, laws.apart)

    monkeypatch.setattr(bounded, "laws_of_atoms", forgetful)
    lower, _, truth = coins("2")
    assert lower > truth


def test_an_alias_of_the_moments_that_is_not_charged_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = allocation_line.AllocationMoments(Fraction(1), 10).line(4.0, [arb(1), arb(3)], 60)
    monkeypatch.setattr(allocation_line.AllocationMoments, "_alias", lambda *_: arb(0))
    monkeypatch.setattr(allocation_line.AllocationMoments, "_step", lambda *_: 0.7)
    wrong = allocation_line.AllocationMoments(Fraction(1), 10).line(4.0, [arb(1), arb(3)], 60)
    assert not all(a.real.overlaps(b.real) and a.imag.overlaps(b.imag) for a, b in zip(right, wrong, strict=True))


def test_a_cut_of_the_moments_that_is_not_charged_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = allocation_line.AllocationMoments(Fraction(1), 10).real(arb(2))
    monkeypatch.setattr(allocation_line.AllocationMoments, "_beyond", lambda *_: (0.5, 60.0))
    wide = allocation_line.AllocationMoments(Fraction(1), 10).real(arb(2))
    assert wide.overlaps(right)  # what is left out is in the ball
    assert wide.rad() > 1e-3


def test_a_contour_without_its_cut_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few nodes, and what is left out of them not charged."""
    moments = [(allocation_line.allocation_moments(Fraction(1), 20), 3)]
    right = ProductContour(moments).value(Fraction(1, 2), 50)
    plan = ProductContour._plan

    def short(self, x, bits):
        from dataclasses import replace

        found = plan(self, x, bits)
        assert found is not None
        return replace(found, number=max(found.number // 4, 1))

    monkeypatch.setattr(ProductContour, "_plan", short)
    monkeypatch.setattr(contour_product._Product, "dropped", lambda *_: arb(0))
    wrong = ProductContour(moments).value(Fraction(1, 2), 50)
    assert not wrong.overlaps(right)


def test_a_moment_without_its_power_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    loss = AllocationLoss(Fraction(1), 20, allocation.Direction.ADD, 3)
    right = loss.profile(Fraction(1, 2), 50)
    monkeypatch.setattr(
        contour_product, "to_the_power", lambda base, exponent: base if exponent == 3 else base**exponent
    )
    allocation._contour.cache_clear()
    try:
        assert not loss.profile(Fraction(1, 2), 20).overlaps(right)
    finally:
        allocation._contour.cache_clear()


def test_the_infinite_mass_that_is_forgotten_is_found() -> None:
    law = FiniteLoss(["0.5", "0.5"], [0, 1])
    engine = Mixture(GaussianLoss(1), law)
    with mpmath.workdps(30):
        truth = mixed([[(Fraction(1, 2), Fraction(0)), (Fraction(1, 2), Fraction(1))]], "1", lambda x: gaussian_profile(
            mpmath.mpf(1), x))  # fmt: skip
    assert abs(float(engine.profile(Fraction(1), 50)) - float(truth)) < 1e-14
    assert float(truth) > 0.5
