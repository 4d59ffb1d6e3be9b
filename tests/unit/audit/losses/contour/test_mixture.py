"""Mixtures over atoms, of discrete Gaussian noise too, against sums in mpmath; the end of the loss; planted faults."""

import math
from fractions import Fraction

import mpmath
import pytest
from flint import arb

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.bounded import BoundedLoss, largest_of
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.contour import mixture
from dpverdict.audit.losses.contour.kinds import ProductLoss
from dpverdict.audit.losses.discrete_gaussian import atoms
from dpverdict.audit.losses.discrete_gaussian.atoms import number_of_atoms, product_atoms
from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.audit.losses.domains import Enclosure
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.balls import ball, precision

CLOSED = 1e-9
LAW = FiniteLoss(["0.5", "0.3", "0.2", 0], [0, "0.3", "0.4", "0.3"])


def discrete(variance: str, shift: int = 1) -> DiscreteGaussianLoss:
    return DiscreteGaussianLoss.product([shift], [variance])


def laplace_profile(shift: str) -> "mpmath.mpf":
    s = mpmath.mpf(shift)

    def profile(epsilon: mpmath.mpf) -> mpmath.mpf:
        if epsilon >= s:
            return mpmath.mpf(0)
        return -mpmath.expm1(epsilon) if epsilon <= -s else -mpmath.expm1((epsilon - s) / 2)

    return profile


def noise(variance: str, shift: int = 1) -> list[tuple[mpmath.mpf, mpmath.mpf]]:
    """Masses and losses, by their definition."""
    v = mpmath.mpf(Fraction(variance).numerator) / Fraction(variance).denominator
    reach = math.ceil(13 * math.sqrt(float(v))) + 3
    weights = {x: mpmath.exp(-x * x / (2 * v)) for x in range(-reach, reach + 1)}
    total = mpmath.fsum(weights.values())
    return [(w / total, (shift * shift / mpmath.mpf(2) + shift * x) / v) for x, w in weights.items()]


def truth(epsilon: str, variances: list[str], shift: str, law: list[tuple[Fraction, Fraction]]) -> mpmath.mpf:
    outcomes, infinite = [(mpmath.mpf(1), mpmath.mpf(0))], mpmath.mpf(0)
    if law:
        known = [(mpmath.mpf(p.numerator) / p.denominator, p / q) for p, q in law if p and q]
        outcomes = [(p, mpmath.log(mpmath.mpf(r.numerator) / r.denominator)) for p, r in known]
        infinite = 1 - mpmath.fsum(p for p, _ in outcomes)
    for variance in variances:
        outcomes = [(p * q, a + b) for p, a in outcomes for q, b in noise(variance)]
    profile = laplace_profile(shift)
    return infinite + mpmath.fsum(p * profile(mpmath.mpf(epsilon) - a) for p, a in outcomes)


def holds(found: Enclosure, value: mpmath.mpf) -> bool:
    return bool(
        found.lower <= value * (1 + mpmath.mpf(10) ** -25) and value * (1 - mpmath.mpf(10) ** -25) <= found.upper
    )


@pytest.mark.parametrize(
    ("epsilon", "variances", "shift", "with_law"),
    [
        ("0.2", ["1"], "0.3", False),  # an atom at a kink: 0.2 - 0.5 = -0.3
        ("0.8", ["1"], "0.3", False),
        ("3.5", ["1"], "0.6", False),
        ("-0.3", ["1"], "0.3", True),
        ("1", ["0.5", "7/3"], "0.7", False),
        ("2", ["0.5", "1"], "2", False),
        ("12", ["1"], "0.7", False),
    ],
)
def test_discrete_noise_beside_laplace_noise_is_the_sum_over_its_atoms(
    epsilon: str, variances: list[str], shift: str, with_law: bool
) -> None:
    law = [(Fraction(a, 10), Fraction(b, 10)) for a, b in ((5, 0), (3, 3), (2, 4), (0, 3))] if with_law else []
    loss = compose(*(discrete(v) for v in variances), LaplaceLoss([shift]), *([LAW] if with_law else []))
    assert isinstance(loss, ProductLoss)
    found = loss.certified_delta(epsilon)
    with mpmath.workdps(50):
        assert holds(found, truth(epsilon, variances, shift, law))
    assert found.upper - found.lower <= CLOSED * found.upper


@pytest.mark.parametrize("order", ["remove", "add"])
def test_discrete_noise_beside_a_sample_agrees_with_its_lattice(order: str) -> None:
    step = getattr(poisson_sampled(LaplaceLoss([1]), "0.1"), order)
    loss = compose(step, discrete("3"))
    lattice = BoundedLoss([(step, 1), (discrete("3"), 1)])
    for epsilon in ("0", "0.7", "2"):
        found, other = loss.certified_delta(epsilon), lattice.certified_delta(epsilon)
        assert found.lower <= other.upper
        assert other.lower <= found.upper
        assert found.upper - found.lower <= CLOSED * found.upper


def test_the_atoms_of_several_coordinates_are_those_of_their_sum() -> None:
    groups = DiscreteGaussianLoss.from_groups([("1/2", 1, 2), (3, 2, 1)]).groups
    with precision(200):
        found, others = product_atoms(groups, 100)
        assert len(found) <= number_of_atoms(groups, 100)
        assert others < arb(2) ** -90
        by_loss = {round(float(loss), 9): mass for mass, loss in found}
    with mpmath.workdps(40), precision(200):
        sums: dict[float, mpmath.mpf] = {}
        for p, a in noise("1/2"):
            for q, b in noise("1/2"):
                for r, c in noise("3", 2):
                    key = round(float(a + b + c), 9)
                    sums[key] = sums.get(key, mpmath.mpf(0)) + p * q * r
        for loss, mass in sums.items():
            if mass > 1e-20:
                assert float(abs(by_loss[loss] / arb(mpmath.nstr(mass, 40)) - 1).upper()) < 1e-20


# the end of the loss --------------------------------------------------------------------------------------------------

STEP = poisson_sampled(GaussianLoss(2), "0.5").add
LOSSES: list[tuple[PrivacyLoss, float]] = [
    (compose(STEP, LaplaceLoss(["0.1"])), math.log(2) + 0.1),
    (compose(STEP, LaplaceLoss(["0.1"]), LAW), math.log(2) + 0.1),
    (compose(poisson_sampled(LaplaceLoss([1]), "0.1").remove, LaplaceLoss([1])), math.log1p(0.1 * math.expm1(1)) + 1),
    (compose(poisson_sampled(LaplaceLoss([1]), "0.1").add, LaplaceLoss([1])), 1 - math.log1p(0.1 * math.expm1(-1))),
]


@pytest.mark.parametrize(("loss", "largest"), LOSSES)
def test_beyond_the_largest_loss_the_profile_is_the_mass_of_an_infinite_one(loss: PrivacyLoss, largest: float) -> None:
    with precision(100):
        known = largest_of(loss.factors)
    assert known is not None
    assert abs(float(known) - largest) < 1e-12
    beyond, before = loss.certified_delta(largest + 1e-9), loss.certified_delta(0.2)
    infinite = Fraction(1, 2) if any(one is LAW for one, _ in loss.factors) else Fraction(0)
    assert beyond.lower <= infinite <= beyond.upper
    assert beyond.upper - beyond.lower <= 1e-15 * float(infinite)
    assert before.upper > infinite


def test_noise_without_an_end_has_none() -> None:
    for loss in (compose(GaussianLoss(1), LAW), compose(discrete("1"), LaplaceLoss([1]))):
        with precision(100):
            known = largest_of(loss.factors)
        assert known is not None
        assert not known.is_finite()


# planted faults -------------------------------------------------------------------------------------------------------


def test_atoms_that_are_left_out_and_not_charged_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a few atoms the bounds are wide and true; with their mass forgotten they are close and false."""
    monkeypatch.setattr(atoms, "reach", lambda variance, bits: 3)
    loss = mixture.Mixture(LaplaceLoss(["0.3"]), FiniteLoss([1], [1]), [discrete("1")])
    with mpmath.workdps(40):
        value = truth("0.2", ["1"], "0.3", [])
        inside = loss.between(Fraction(1, 5))
        right = mixture.product_atoms
        monkeypatch.setattr(mixture, "product_atoms", lambda groups, bits: (right(groups, bits)[0], arb(0)))
        wrong = mixture.Mixture(LaplaceLoss(["0.3"]), FiniteLoss([1], [1]), [discrete("1")]).between(Fraction(1, 5))
        exact = ball(Fraction(mpmath.nstr(value, 35)))
    assert inside.contains(exact)
    assert not wrong.contains(exact)


def test_atoms_one_unit_beside_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = mixture.product_atoms

    def beside(groups, bits):
        found, others = right(groups, bits)
        return [(mass, found[i - 1][1]) for i, (mass, _) in enumerate(found) if i], others

    monkeypatch.setattr(mixture, "product_atoms", beside)
    wrong = compose(discrete("1"), LaplaceLoss(["0.3"])).certified_delta("0.2")
    with mpmath.workdps(40):
        assert not holds(wrong, truth("0.2", ["1"], "0.3", []))
