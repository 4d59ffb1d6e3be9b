"""Any Gaussian noise by sigma, l2-sensitivity and dimension: exact numbers, records of a ball, what is sampled."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpverdict.audit import Status, certify, neighbour_loss, worst_case
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, REPLACE_ONE, GaussianDP, GaussianMechanism
from dpverdict.numerics.arrays import Array

TRUE_DELTAS = [
    ("3", "2", "1", "0.32039191421038521544"),
    ("0.1", "5", "0.01", "0.0039756589593805754416"),
    ("1", "10", "0.5", "6.8565824558387265598e-9"),
    ("2", "0.5", "8", "0.40558935869803106333"),
    ("1", "0.05", "100", "0.9999996146685564468"),
]
"""Sensitivity, sigma, epsilon, and delta to 20 digits, by quadrature of the density in mpmath."""


@pytest.mark.parametrize(("sensitivity", "sigma", "epsilon", "delta"), TRUE_DELTAS)
@pytest.mark.parametrize("relation", [ADD_OR_REMOVE_ONE, REPLACE_ONE], ids=["add-or-remove-one", "replace-one"])
def test_the_certified_profile_holds_the_exact_value(
    sensitivity: str, sigma: str, epsilon: str, delta: str, relation: Any
) -> None:
    made = GaussianMechanism(sigma=sigma, sensitivity=sensitivity, dim=3, adjacency=relation)
    found = worst_case(made).loss.certified_delta(epsilon)
    truth, last = Fraction(delta), Fraction(1, 10**19) * Fraction(delta)  # the oracle is rounded in its 20th digit
    assert found.lower <= truth + last
    assert found.upper >= truth - last
    assert found.upper - found.lower <= 1e-15 * found.upper


def test_the_claim_is_what_the_numbers_keep_exactly_and_no_less() -> None:
    made = GaussianMechanism(sigma="4.3", sensitivity="0.1", dim=2)
    assert made.claim == GaussianDP(Fraction(1, 43))
    assert certify(made).status is Status.CERTIFIED
    assert certify(made, GaussianDP(Fraction(1, 43) - Fraction(1, 10**30))).status is Status.REFUTED
    assert certify(made, "eps=0.1, delta=4.5e-8").status is Status.CERTIFIED
    assert certify(made, "eps=0.1, delta=4.4e-8").status is Status.REFUTED


def test_text_a_fraction_and_an_int_are_exact_and_a_float_is_what_it_is() -> None:
    made = [GaussianMechanism(sigma=sigma, sensitivity=1) for sigma in ("0.1", Fraction(1, 10), 0.1, 3)]
    assert [one.claim.mu for one in made] == [10, 10, 1 / Fraction(0.1), Fraction(1, 3)]
    assert [one.dim for one in made] == [1] * 4


def test_the_sampler_takes_the_float_above_and_the_assumptions_say_so() -> None:
    below = Fraction(4.3) < Fraction("4.3")
    made = GaussianMechanism(sigma="4.3", sensitivity=1)
    assert below
    assert made.scale == np.nextafter(4.3, 5)
    assert "4.300000000000001" in " ".join(made.assumptions)
    assert len(GaussianMechanism(sigma=4.5, sensitivity=1).assumptions) == 1
    one, other = (GaussianMechanism(sigma=s, sensitivity=1, dim=2) for s in ("4.3", float(made.scale)))
    data = np.full((2, 2), 0.5)
    assert (one.release(data, np.random.default_rng(3)) == other.release(data, np.random.default_rng(3))).all()


@pytest.mark.parametrize(("relation", "longest"), [(ADD_OR_REMOVE_ONE, 5.0), (REPLACE_ONE, 2.5)])
def test_records_are_as_long_as_the_sensitivity_allows_and_no_longer(relation: Any, longest: float) -> None:
    made = GaussianMechanism(sigma=1, sensitivity=5, dim=2, adjacency=relation)
    edge = longest / 5 * np.array([[3.0, 4.0]])
    assert made.embed(np.vstack([edge, -edge])).tolist() == [0.0, 0.0]
    with pytest.raises(InvalidValue, match=f"number 0. must be of l2 norm at most {longest:g}"):
        made.release(edge * (1 + 1e-15), np.random.default_rng(1))
    with pytest.raises(InvalidValue, match="dataset"):
        made.release(np.full((1, 3), 0.1), np.random.default_rng(1))


def test_one_pair_moves_by_what_its_records_say() -> None:
    added = GaussianMechanism(sigma=2, sensitivity=5, dim=2)
    replaced = GaussianMechanism(sigma=2, sensitivity=10, dim=2, adjacency=REPLACE_ONE)
    record = np.array([3.0, 4.0])
    assert repr(neighbour_loss(added, record)) == "GaussianLoss(mu=5/2)".replace("5/2", "2.5")
    assert repr(neighbour_loss(replaced, record, -record)) == "GaussianLoss(mu=5)"


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"sigma": 0}, "sigma"),
        ({"sigma": "-1"}, "sigma"),
        ({"sigma": float("nan")}, "sigma"),
        ({"sensitivity": 0}, "sensitivity"),
        ({"sensitivity": "many"}, "sensitivity"),
        ({"dim": 0}, "dim"),
        ({"adjacency": "replace-one"}, "adjacency"),
        ({"sigma": "1e-400"}, "sigma"),
        ({"sensitivity": "1e400"}, "sensitivity"),
    ],
)
def test_bad_numbers_are_refused(change: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidValue, match=name):
        GaussianMechanism(**({"sigma": 1, "sensitivity": 1} | change))


def test_half_the_noise_is_not_certified() -> None:
    """Planted: a sampler with half of sigma, as a class that derives from it might have."""

    class Halved(GaussianMechanism):
        def release_many(self, dataset: Any, trials: int, rng: np.random.Generator) -> Array:
            honest = GaussianMechanism.release_many(self, dataset, trials, rng)
            return honest - (honest - self.embed(dataset)) / 2

    assert certify(GaussianMechanism(sigma=1, sensitivity=1)).status is Status.CERTIFIED
    assert certify(Halved(sigma=1, sensitivity=1)).status is not Status.CERTIFIED
