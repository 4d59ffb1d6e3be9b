"""The wrong accounts of searches are refuted exactly and from releases, as their delta says."""

from fractions import Fraction

import pytest

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import ApproximateDP
from dpverdict.mechanisms.broken.mutant import DeltaMutant
from dpverdict.mechanisms.broken.tuning import ALL


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.name)
@pytest.mark.parametrize("runs", [2, 5, 40])
def test_the_claim_is_refuted_and_so_is_a_little_less_than_the_delta_that_is_shown(
    mutant: DeltaMutant, runs: int
) -> None:
    made = mutant.make(runs, 1, "1e-3")
    assert certify(made).status is Status.REFUTED
    assert mutant.refutable(runs, 1, "1e-3")
    truth = Fraction(mutant.true_delta(runs, 1, "1e-3"))
    assert certify(made, ApproximateDP(1, truth * Fraction(999_999, 1_000_000))).status is Status.REFUTED
    assert certify(made, ApproximateDP(1, truth * Fraction(1_000_001, 1_000_000))).status is not Status.REFUTED


def test_one_run_is_within_the_claim_of_one() -> None:
    (mutant,) = (each for each in ALL if each.name == "W1")
    assert certify(mutant.make(1, 1, "1e-3"), ApproximateDP(1, "1.01e-3")).status is Status.CERTIFIED


@pytest.mark.parametrize(("name", "runs", "samples"), [("W1", 5, 4000), ("W1", 40, 2000), ("W2", 40, 20_000)])
def test_releases_refute_it(name: str, runs: int, samples: int, seed: int) -> None:
    """Where 0.01 is claimed, the delta of five runs is 0.12, that of forty 0.32, and that of W2 0.077."""
    (mutant,) = (each for each in ALL if each.name == name)
    made = mutant.make(runs, 1, "0.01")
    pair = made.below()[0].pair
    assert distinguish(made, pair, made.claim, error_probability=1e-6, samples=samples, seed=seed).refuted


def test_arguments_out_of_range_are_refused() -> None:
    for dim, epsilon, delta in ((0, 1, "0.1"), (2, 0, "0.1"), (2, 1, 2), (True, 1, "0.1")):
        with pytest.raises(InvalidValue):
            ALL[0].make(dim, epsilon, delta)
