"""Any loss held to any claim, and the odometer: the count that fits is certified, one more is not."""

import json
import runpy
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpverdict.audit import (
    FiniteLoss,
    GaussianLoss,
    LaplaceLoss,
    Odometer,
    PrivacyLoss,
    Status,
    compose,
    from_pld,
    held_to,
    loss_from_event,
    poisson_sampled,
)
from dpverdict.audit.exact.spending import Account, Spendable, account_of
from dpverdict.audit.losses.base import AddRemoveLoss
from dpverdict.audit.losses.bounded import BoundedLoss
from dpverdict.audit.losses.closed_form import DisjointLoss
from dpverdict.audit.losses.lattice.custom import CustomLoss
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import (
    ApproximateDP,
    ExponentialMechanism,
    GaussianMechanism,
    Guarantee,
    PureDP,
    ZeroConcentratedDP,
)
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE
from dpverdict.mechanisms.sums.bounded_contributions import BoundedContributions

VECTORS = Path(__file__).parents[3] / "vectors"
CASES = json.loads((VECTORS / "composition.json").read_text(encoding="utf-8"))["cases"]
losses = runpy.run_path(str(VECTORS / "test_vectors_composition.py"))["losses"]


@pytest.mark.parametrize("case", CASES[::3], ids=lambda case: str(case["params"])[:60])
def test_a_composition_is_held_to_the_exact_delta(case: Any) -> None:
    loss, epsilon = compose(*losses(case)), case["params"]["epsilon"]
    lower, upper = Fraction(case["lower"]), Fraction(case["upper"])
    assert held_to(loss, ApproximateDP(epsilon, upper * (1 + Fraction(1, 10**9)))).status is Status.CERTIFIED
    if lower:
        assert held_to(loss, ApproximateDP(epsilon, lower * (1 - Fraction(1, 10**9)))).status is Status.REFUTED


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("loss", "kept", "broken"),
    [
        (GaussianLoss(1), "mu=1", "mu=0.999999999999999999"),
        (GaussianLoss(1), "rho=0.5", "eps=30"),
        (LaplaceLoss([1]), "eps=1", "eps=0.9999999999"),
        (LaplaceLoss([1]), "mu=1.0300640", "mu=1.0300639"),
        (compose(GaussianLoss("0.5"), LaplaceLoss([1])), "mu=1.1451", "mu=1.09"),
        (compose(GaussianLoss(1), LaplaceLoss([1])), "order=2, eps=1.7", "order=2, eps=1.6"),
        (FiniteLoss(["0.7", "0.3"], ["0.4", "0.6"]), "eps=0.6932", "eps=0.6931"),
        (poisson_sampled(GaussianLoss(1), "0.01"), "eps=0.1, delta=7.3e-5", "eps=0.1, delta=7.2e-5"),
    ],
    ids=str,
)
def test_a_claim_of_any_kind_is_kept_or_broken(loss: Any, kept: str, broken: str) -> None:
    one, other = held_to(loss, kept), held_to(loss, broken)
    assert one.status is Status.CERTIFIED, one.summary()
    assert other.status is Status.REFUTED, other.summary()
    assert one.certified
    assert one.summary().startswith("CERTIFIED: ")


def test_what_has_bounds_only_is_never_called_certified() -> None:
    one = BoundedLoss([(CustomLoss(GaussianLoss(1).tails, "noise of known tails"), 1)])
    assert not one.is_certified
    loss = AddRemoveLoss(remove=one, add=one)
    kept, broken = held_to(loss, "eps=1, delta=0.5"), held_to(loss, "eps=1, delta=1e-9")
    assert kept.status is Status.CERTIFIED
    assert broken.status is Status.REFUTED
    for account, word in ((kept, "KEPT: "), (broken, "BROKEN: ")):
        assert not account.certified
        assert account.summary().startswith(word)
        assert "not certified" in account.summary()


def test_both_orders_of_a_pair_are_held_to_the_claim() -> None:
    """Planted: log(0.7/0.4) = 0.56 in one order, log(0.6/0.3) = 0.69 in the other."""
    loss = FiniteLoss(["0.7", "0.3"], ["0.4", "0.6"])
    for order in (loss, loss.reversed()):
        assert held_to(order, "eps=0.6").status is Status.REFUTED
        assert held_to(order, "eps=0.7").status is Status.CERTIFIED
    alone = from_pld(GaussianLoss(1).to_pld(1e-2).pessimistic)
    if not alone.symmetric:
        account = held_to(alone, "eps=1, delta=0.2")
        assert account.status is Status.INCONCLUSIVE
        assert "both orders" in account.summary()


def test_what_is_no_claim_is_refused_and_laws_apart_keep_none() -> None:
    with pytest.raises(InvalidValue, match="claim"):
        held_to(GaussianLoss(1), "mu")
    assert held_to(DisjointLoss(), "mu=100").status is Status.REFUTED


def test_an_odometer_counts_up_to_the_last_release_that_fits() -> None:
    year = Odometer("mu=1")
    year.spend(GaussianMechanism(sigma=10, sensitivity=1), 30)
    assert year.account().status is Status.CERTIFIED
    assert year.remaining(GaussianMechanism(sigma=10, sensitivity=1)) == 70
    assert year.remaining(GaussianLoss("0.9")) == 0
    year.spend(GaussianLoss("0.1"), 70)
    assert year.account().status is Status.CERTIFIED
    year.spend(GaussianLoss("0.001"))
    assert year.account().status is Status.REFUTED
    assert year.remaining(GaussianLoss("0.001")) == 0


def test_no_more_than_a_million_releases_are_promised() -> None:
    assert Odometer("mu=1").remaining(GaussianLoss(0)) == 1_000_000


@pytest.mark.parametrize("count", [0, -1, 1.5, 1_000_001])
def test_releases_are_counted_in_whole_numbers(count: Any) -> None:
    with pytest.raises(InvalidValue, match="count"):
        Odometer("mu=1").spend(GaussianLoss(1), count)


def test_only_mechanisms_and_losses_are_spent() -> None:
    with pytest.raises(InvalidValue, match="release"):
        Odometer("mu=1").spend("gaussian")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "loss",
    [
        compose(GaussianLoss("0.5"), LaplaceLoss(["0.3"]), LaplaceLoss(["0.7"])),
        compose(GaussianLoss("0.5"), FiniteLoss(["0.6", "0.4"], ["0.4", "0.6"])),
    ],
    ids=["Gaussian and Laplace", "Gaussian and a response"],
)
def test_rho_of_a_composition_is_known_from_both_sides(loss: PrivacyLoss) -> None:
    spent = held_to(loss, "rho=0.3").spent
    assert spent is not None
    assert 0.125 < spent.lower <= spent.upper < 0.4
    assert spent.upper - spent.lower < 1e-3
    assert held_to(loss, f"rho={spent.upper * 1.001!r}").status is Status.CERTIFIED
    assert held_to(loss, f"rho={spent.lower * 0.999!r}").status is Status.REFUTED
    order = Fraction(3, 2)  # no order gives more
    assert loss.certified_renyi(order).upper / float(order) <= spent.upper


def test_a_claim_of_rho_that_a_sample_breaks_is_refuted_and_never_certified() -> None:
    event = {"class_name": "GaussianDpEvent", "noise_multiplier": 1}
    sampled = {"class_name": "PoissonSampledDpEvent", "sampling_probability": "0.1", "event": event}
    loss = loss_from_event(sampled, "add-or-remove-one")
    assert held_to(loss, "rho=0.0001").status is Status.REFUTED
    assert held_to(loss, "rho=100").status is not Status.REFUTED


def test_what_the_releases_keep_is_added_exactly() -> None:
    choice = ExponentialMechanism(options=3, epsilon="0.1", adjacency=ADD_OR_REMOVE_ONE)  # 0.00125-zCDP
    noise = BoundedContributions(dim=4, keys=1, noise="discrete-gaussian", rho="1/900", adjacency=ADD_OR_REMOVE_ONE)
    gaussian = GaussianMechanism(sigma=10, sensitivity=1)  # rho = 0.005
    exact = 8 * Fraction(1, 800) + 9 * Fraction(1, 900) + Fraction(1, 200)

    def account(claim: Guarantee, *releases: tuple[object, int]) -> Account:
        return account_of([(Spendable.of(one), count) for one, count in releases], claim)

    mixed = ((choice, 8), (noise, 9), (gaussian, 1))
    found = account(ZeroConcentratedDP(exact), *mixed)
    assert (found.status, found.certified) == (Status.CERTIFIED, True)
    less = account(ZeroConcentratedDP(exact - Fraction(1, 10**30)), *mixed)
    assert less.status is not Status.CERTIFIED  # a sum that forgets a release, or rounds, certifies it
    assert account(ZeroConcentratedDP(exact), *mixed, (noise, 1)).status is not Status.CERTIFIED
    assert account(ZeroConcentratedDP(1), *mixed, (DisjointLoss(), 1)).status is Status.REFUTED
    pure = ((choice, 8), (LaplaceLoss(["0.2"]), 1))
    assert account(PureDP(1), *pure).status is Status.CERTIFIED
    assert account(PureDP(Fraction(999, 1000)), *pure).status is not Status.CERTIFIED
    assert account(PureDP(9), *pure, (gaussian, 1)).status is Status.REFUTED


def test_of_a_pair_the_worse_order_is_added() -> None:
    loss = FiniteLoss(["0.9", "0.1"], ["0.5", "0.5"])
    mine, other = sorted(order.least_rho().upper for order in (loss, loss.reversed()))  # type: ignore[union-attr]
    assert mine < 0.9 * other
    for share, status in ((1.001, {Status.CERTIFIED}), (0.95, {Status.REFUTED, Status.INCONCLUSIVE})):
        claim = ZeroConcentratedDP(Fraction(other * share) + Fraction(1, 100))
        spent = [(Spendable.of(loss), 1), (Spendable.of(GaussianLoss(Fraction(1, 10))), 2)]  # rho = 0.01 of both
        assert account_of(spent, claim).status in status
