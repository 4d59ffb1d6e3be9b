"""Claims are decided on coarse lattices as the closest bounds decide them, and a wrong lattice is found."""

import time
from fractions import Fraction

import pytest

from dpverdict.audit.losses.base import AddRemoveLoss
from dpverdict.audit.losses.bounded import BoundedLoss
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.audit.tracing.losses import claims
from dpverdict.audit.tracing.losses.claims import COARSER, keeps, true_from
from dpverdict.audit.tracing.losses.spent import Spent
from dpverdict.mechanisms.core.guarantees import ApproximateDP, parse_guarantee

LAPLACE, GAUSSIAN = Spent(laplace=((Fraction(1), 1),)), Spent(gaussian=Fraction(1))
BOTH = LAPLACE.plus(GAUSSIAN)
TENTH, FIFTH = Fraction(1, 10), Fraction(1, 5)
SPENT = {
    "Gaussian noise on a sample, Laplace noise beside it": Spent(LAPLACE.laplace, sampled=((TENTH, GAUSSIAN),)),
    "Laplace noise on a sample, Gaussian noise beside it": Spent(gaussian=Fraction(1), sampled=((TENTH, LAPLACE),)),
    "both on one sample, Laplace noise beside it": Spent(LAPLACE.laplace, sampled=((TENTH, BOTH),)),
    "both on one sample, Gaussian noise beside it": Spent(gaussian=Fraction(1), sampled=((TENTH, BOTH),)),
    "two samples": Spent(sampled=((TENTH, GAUSSIAN), (FIFTH, LAPLACE))),
    "one sample thrice, with both": Spent(sampled=((TENTH, BOTH),) * 3),
    "five samples": Spent(
        sampled=tuple((Fraction(1, n), Spent(gaussian=Fraction(1, n))) for n in (3, 4, 5, 6, 7)),
        laplace=LAPLACE.laplace,
    ),
    "all kinds of noise on a sample": Spent(
        sampled=((TENTH, Spent(LAPLACE.laplace, Fraction(1), (((Fraction(1, 2), 3), 2),), ranges=(Fraction(1),))),)
    ),
}


def curve_above(spent: Spent, coarser: int, epsilon: Fraction) -> tuple[float, float]:
    """Both ends of delta on a coarse lattice."""
    loss = spent.on_lattice(coarser)
    assert loss is not None
    found = loss.certified_delta(epsilon)
    return found.lower, found.upper


@pytest.mark.parametrize("coarser", COARSER)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5, 2)])
def test_a_coarse_lattice_holds_what_a_contour_computes(coarser: int, epsilon: Fraction) -> None:
    """Of Gaussian and Laplace noise, of which one is on a sample, a contour integral is another way to the curve."""
    for name in list(SPENT)[:2]:
        whole = SPENT[name].composition()
        assert isinstance(whole, AddRemoveLoss)
        assert not isinstance(whole.remove, BoundedLoss)
        exact = whole.certified_delta(epsilon)
        lower, upper = curve_above(SPENT[name], coarser, epsilon)
        assert lower <= exact.upper
        assert exact.lower <= upper
        assert upper <= exact.upper * (1 + 1e-5 * coarser**2)


def test_a_lattice_of_a_wrong_sample_is_found() -> None:
    spent = SPENT["Gaussian noise on a sample, Laplace noise beside it"]
    whole = spent.composition()
    assert whole is not None
    wrong = Spent(LAPLACE.laplace, sampled=((TENTH / 2, GAUSSIAN),))
    assert curve_above(wrong, COARSER[0], Fraction(1))[1] < whole.certified_delta(1).lower


@pytest.mark.parametrize("name", SPENT)
@pytest.mark.parametrize("kind", ["eps=1, delta=1e-5", "mu=1", "rho=1", "order=3, eps=1"])
def test_the_least_claim_is_kept_and_a_smaller_one_is_not(name: str, kind: str) -> None:
    spent = SPENT[name]
    start = time.process_time()
    least = true_from([spent], parse_guarantee(kind))
    assert least is not None

    def at(size: float) -> bool:
        return keeps([spent], parse_guarantee(kind.replace("eps=1", f"eps={size!r}").replace("mu=1", f"mu={size!r}")
                                              .replace("rho=1", f"rho={size!r}")))  # fmt: skip

    assert at(least * (1 + 1e-12))
    assert not at(least * (1 - 1e-3))
    assert time.process_time() - start < 30  # 5 s and less where nothing else runs


def test_the_least_epsilon_of_a_lattice_is_about_that_of_a_contour() -> None:
    for name in list(SPENT)[:2]:
        whole, lattice = SPENT[name].composition(), SPENT[name].on_lattice(COARSER[-1])
        assert whole is not None
        assert lattice is not None
        exact, found = whole.certified_epsilon("1e-5"), lattice.certified_epsilon("1e-5")
        assert found.upper == pytest.approx(exact.upper, rel=1e-4)
        assert found.lower <= exact.upper
        assert exact.lower <= found.upper
        assert true_from([SPENT[name]], parse_guarantee("eps=1, delta=1e-5")) == found.upper


def test_a_claim_between_coarse_bounds_is_decided_on_a_finer_lattice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Below the upper end of the coarsest lattice, and above that of the finest one."""
    spent = SPENT["Gaussian noise on a sample, Laplace noise beside it"]
    epsilon = Fraction(5, 2)
    uppers = [curve_above(spent, coarser, epsilon)[1] for coarser in COARSER]
    assert uppers == sorted(uppers, reverse=True)
    claim = ApproximateDP(epsilon, Fraction((uppers[0] + uppers[-1]) / 2))
    made: list[int] = []
    on_lattice = Spent.on_lattice
    monkeypatch.setattr(Spent, "on_lattice", lambda self, coarser: made.append(coarser) or on_lattice(self, coarser))
    claims._on_lattice.cache_clear()
    assert keeps([spent], claim)
    assert made[:2] == list(COARSER[:2])


def test_three_samples_gain_by_each() -> None:
    """What is composed on a lattice is less than what counts each sample by its largest loss."""
    spent = SPENT["one sample thrice, with both"]
    least = true_from([spent], parse_guarantee("eps=1, delta=1e-5"))
    assert least is not None
    assert least < 0.5 * spent.by_all_records().loss().certified_epsilon("1e-5").lower


@pytest.mark.parametrize("claim", ["rho=0.5", "order=3, eps=1.5", "mu=1"])
def test_a_divergence_of_a_sampled_release_is_at_most_that_of_all_records(claim: str) -> None:
    sampled = Spent(sampled=((TENTH, GAUSSIAN),))
    assert keeps([sampled], parse_guarantee(claim))
    step = poisson_sampled(GAUSSIAN.loss(), TENTH)
    assert step.certified_delta(1).upper < GAUSSIAN.loss().certified_delta(1).lower


@pytest.mark.parametrize("claim", ["eps=1", "eps=1, delta=1e-5", "mu=1", "rho=1", "order=2, eps=1"])
def test_noise_that_is_next_to_nothing_keeps_no_claim(claim: str) -> None:
    assert not keeps([Spent(laplace=((Fraction(10**11), 1),))], parse_guarantee(claim))
    assert not keeps([Spent(sampled=((TENTH, Spent(laplace=((Fraction(10**11), 1),))),))], parse_guarantee(claim))
