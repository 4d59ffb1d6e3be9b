"""Claims and losses are composed by the theorem of their kind, and never below the truth."""

from fractions import Fraction

import pytest

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.reports.summary import USUAL_DELTA, promised_epsilon
from dpverdict.audit.runs.plans.composed import Mu, composed_claim, mu_of, spendable_of, spent_together
from dpverdict.audit.runs.request import Request
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, as_guarantee


@pytest.mark.parametrize(
    ("claims", "together"),
    [
        (["mu=3", "mu=4"], "mu=5"),
        (["rho=1/4", "rho=1/2"], "rho=3/4"),
        (["eps=1", "eps=2"], "eps=3"),
        (["eps=1", "eps=2, delta=1e-6", "eps=2, delta=1e-6"], "eps=5, delta=2e-6"),
        (["mu=1/3"], "mu=1/3"),
    ],
)
def test_claims_compose_in_their_kind(claims: list[str], together: str) -> None:
    found = composed_claim([as_guarantee(claim) for claim in claims])
    assert found is not None
    assert found.guarantee == as_guarantee(together)


def test_a_root_is_rounded_up() -> None:
    found = composed_claim([GaussianDP(1), GaussianDP(1)])
    assert found is not None
    assert isinstance(found.guarantee, GaussianDP)
    assert 0 < found.guarantee.mu**2 - 2 < Fraction(1, 10**11)


def test_claims_of_several_kinds_are_added_as_epsilon_and_delta() -> None:
    found = composed_claim([as_guarantee("mu=1"), as_guarantee("eps=1")])
    assert found is not None
    assert isinstance(found.guarantee, ApproximateDP)
    assert found.guarantee.epsilon == pytest.approx(5.8866, abs=1e-4)  # 4.8866 at delta 1e-6, and 1
    assert found.guarantee.epsilon >= 1 + (promised_epsilon(GaussianDP(1), USUAL_DELTA) or 0)
    assert composed_claim([]) is None
    assert composed_claim([as_guarantee("eps=1, delta=0.6")] * 2) is None


def test_the_losses_are_held_to_the_budget() -> None:
    losses = [GaussianLoss("0.3"), GaussianLoss("0.4")]
    kept, broken = spent_together(losses, GaussianDP("0.5")), spent_together(losses, GaussianDP("0.49"))
    assert kept is not None
    assert broken is not None
    assert (kept.status, broken.status) == (Status.CERTIFIED, Status.REFUTED)
    assert spent_together([*losses, None], GaussianDP(1)) is None


def test_a_loss_is_known_of_a_mechanism_of_known_structure_alone() -> None:
    known = spendable_of(Request(mechanism="standard-gaussian", options={"dim": "2", "mu": "1"}, exact_only=True))
    assert known is not None
    assert isinstance(known.loss, GaussianLoss)
    assert known.is_exact
    assert spendable_of(Request(mechanism="release.py:counts")) is None
    assert spendable_of(Request(mechanism="standard-gaussian", options={"dim": "2", "mu": "-1"})) is None


def test_one_number_says_all_of_a_gaussian_and_not_of_a_laplace_release() -> None:
    assert mu_of(GaussianLoss("0.5")) == Mu(mu=0.5, regret=0.0, down_to_delta=Fraction(0), in_full=0.5)
    found = mu_of(LaplaceLoss([1]))
    assert isinstance(found, Mu)
    assert found.mu == pytest.approx(1.0300639976)
    assert found.regret == pytest.approx(0.0370161, abs=1e-6)
    assert found.down_to_delta == 0
    assert isinstance(mu_of(None), str)


def test_of_sampled_training_the_far_tail_is_told_apart() -> None:
    found = mu_of(poisson_sampled(GaussianLoss(1), "0.1"))
    assert isinstance(found, Mu)
    assert (found.in_full, found.down_to_delta) == (1, USUAL_DELTA)
    assert found.mu == pytest.approx(0.485355, abs=1e-6)
    assert (
        found.describe() == "mu at most 0.485356 where delta is above 1e-6 (mu at most 1 for all), regret at most 0.077"
    )
