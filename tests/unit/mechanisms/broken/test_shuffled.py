"""The wrong releases of shuffled reports are refuted exactly and from releases, as their delta says."""

from fractions import Fraction

import pytest

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import ApproximateDP
from dpverdict.mechanisms.broken.mutant import DeltaMutant
from dpverdict.mechanisms.broken.shuffled import ALL
from dpverdict.mechanisms.core.bounds import NearbyPairs


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.name)
@pytest.mark.parametrize("people", [2, 3, 5, 30])
def test_the_claim_is_refuted_where_it_is_said_to_be(mutant: DeltaMutant, people: int) -> None:
    status = certify(mutant.make(people, "1/2", "1e-3")).status
    assert (status is Status.REFUTED) == mutant.refutable(people, "1/2", "1e-3")
    assert mutant.refutable(people, "1/2", "1e-3") == (mutant.name != "H3" or people <= 5)


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.name)
@pytest.mark.parametrize("people", [2, 5])
def test_a_little_less_than_its_delta_is_refuted_and_that_of_h1_is_its_own(mutant: DeltaMutant, people: int) -> None:
    made, truth = mutant.make(people, 1, "1e-3"), Fraction(mutant.true_delta(people, 1, "1e-3"))
    off = Fraction(1, 10**9)
    assert certify(made, ApproximateDP(1, truth * (1 - off))).status is Status.REFUTED
    if mutant.name == "H1":
        assert certify(made, ApproximateDP(1, truth * (1 + off))).status is Status.CERTIFIED


@pytest.mark.parametrize(("name", "people", "samples"), [("H1", 10, 20_000), ("H2", 10, 20_000), ("H3", 2, 80_000)])
def test_releases_refute_it(name: str, people: int, samples: int, seed: int) -> None:
    """Where 0.02 is claimed, the delta of H1 is 0.28, that of H2 0.063, and that of H3 0.059."""
    (mutant,) = (each for each in ALL if each.name == name)
    made = mutant.make(people, 1, "0.02")
    entry = made.below()[-1]
    pair = entry.at_level(Fraction(1)).pair if isinstance(entry, NearbyPairs) else entry.pair
    assert distinguish(made, pair, made.claim, error_probability=1e-6, samples=samples, seed=seed).refuted


def test_arguments_out_of_range_are_refused() -> None:
    for dim, epsilon, delta in ((0, 1, "0.1"), (2, 0, "0.1"), (2, 1, 2), (True, 1, "0.1")):
        with pytest.raises(InvalidValue):
            ALL[0].make(dim, epsilon, delta)
