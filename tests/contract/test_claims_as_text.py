"""A claim is an object or a line of text, in every public function that takes one, with the same result."""

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dpverdict.audit
import dpverdict.mechanisms
import dpverdict.testing
from dpverdict.audit.exact.exchange import ProfileClaim
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    GaussianDP,
    GaussianMechanism,
    Guarantee,
    LaplaceMechanism,
    NeighbourPair,
    StandardGaussian,
)
from dpverdict.mechanisms.core.guarantees import ApproximateDP, ImpliedCurves, parse_guarantee
from dpverdict.numerics.arrays import Array

SEED = 7
MECHANISM = StandardGaussian(dim=1, mu=1, adjacency=ADD_OR_REMOVE_ONE)
PAIR = NeighbourPair(dataset=np.ones((1, 1)), neighbour=np.ones((0, 1)), adjacency=ADD_OR_REMOVE_ONE)
FEW: dict[str, Any] = {"error_probability": 1e-3, "seed": SEED}
RNG = np.random.default_rng(SEED)
SCORES = RNG.normal(1, 1, 60), RNG.normal(0, 1, 60)
BITS = RNG.integers(0, 2, 40)


def noisy(dataset: Array, rng: np.random.Generator) -> Array:
    return dataset.sum(axis=0, keepdims=True)[0] + rng.normal(size=1)


ONE_COLUMN = """
relation = "add-or-remove-one"
table = "numpy"
[columns.age]
type = "float"
low = 0
high = 1
"""


def noisy_count(table: Array, rng: np.random.Generator) -> Any:
    return table.sum() + rng.normal(scale=1.0)


def sampling() -> dpverdict.audit.Sampling:
    return dpverdict.audit.Sampling(samples=200, **FEW)


def gaussian(sigma: float) -> GaussianMechanism:
    return GaussianMechanism(sigma=sigma, sensitivity=1, dim=1, adjacency=ADD_OR_REMOVE_ONE)


def counter(claim: Guarantee | str) -> str:
    made = dpverdict.mechanisms.FactorizationCounter(horizon=4, claim=claim, kind="binary", noise="gaussian")
    return repr(made)


CALLS: dict[str, Callable[[Any], object]] = {
    "audit.certify": lambda claim: dpverdict.audit.certify(MECHANISM, claim),
    "audit.audit_mechanism": lambda claim: dpverdict.audit.audit_mechanism(MECHANISM, claim, sampling=None).verdict,
    "audit.audit_callable": lambda claim: (
        dpverdict.audit.audit_callable(noisy, claim, neighbours=PAIR, sampling=sampling(), name="noisy").test
    ),
    "audit.distinguish": lambda claim: dpverdict.audit.distinguish(noisy, PAIR, claim, samples=200, **FEW),
    "audit.distinguish_sequentially": lambda claim: dpverdict.audit.distinguish_sequentially(
        noisy, PAIR, claim, most_samples=100, **FEW
    ),
    "audit.distinguish_scores": lambda claim: dpverdict.audit.distinguish_scores(*SCORES, claim, **FEW),
    "audit.distinguish_one_run": lambda claim: dpverdict.audit.distinguish_one_run(
        BITS + SCORES[0][:40], BITS, claim, **FEW
    ),
    "audit.find_neighbours": lambda claim: (
        dpverdict.audit.find_neighbours(
            noisy_count, claim, data=np.ones((4, 1)), adjacency=ADD_OR_REMOVE_ONE, seed=SEED, most=8
        ).words
    ),
    "audit.search_records": lambda claim: (
        dpverdict.audit.search_records(
            noisy,
            claim,
            columns=[dpverdict.audit.Column(low=0, high=1)],
            adjacency=ADD_OR_REMOVE_ONE,
            samples=2000,
            seed=SEED,
        ).best.origin
    ),
    "audit.find_float_leak": lambda claim: dpverdict.audit.find_float_leak(
        noisy, PAIR, claim, samples=200, delta=0.0, **FEW
    ).describe(),
    "audit.calibrate": lambda claim: dpverdict.audit.calibrate(gaussian, claim),
    "audit.held_to": lambda claim: dpverdict.audit.held_to(dpverdict.audit.GaussianLoss(1), claim),
    "testing.assert_certified": lambda claim: (
        dpverdict.testing.assert_certified(noisy_count, claim, schema=TableSchema.from_toml(ONE_COLUMN)).status
    ),
    "testing.assert_private": lambda claim: (
        dpverdict.testing.assert_private(MECHANISM, claim, samples=200, **FEW).verdict
    ),
    "mechanisms.FactorizationCounter": counter,
    "mechanisms.LaplaceMechanism.with_scale": lambda claim: (
        LaplaceMechanism.with_scale(
            dim=1, scale=1.0, claim=claim, adjacency=ADD_OR_REMOVE_ONE, calibration="by hand"
        ).claim
    ),
}
"""One call of every public function that takes a claim, by its name."""


def taking_claims(*modules: Any) -> set[str]:
    """Every public function or class method with an argument ``claim``; the classes of results do not count."""
    found = set()
    for module in modules:
        public = getattr(module, "__all__", vars(module))
        for name, value in {name: getattr(module, name) for name in public}.items():
            if name.startswith("_") or not callable(value):
                continue
            made = {name: value} if not isinstance(value, type) or hasattr(value, "release") else {}
            if isinstance(value, type):
                ways = [way for way, kind in vars(value).items() if isinstance(kind, classmethod) and way[0] != "_"]
                made |= {f"{name}.{way}": getattr(value, way) for way in ways}
            for shown, function in made.items():
                if "claim" in inspect.signature(function).parameters:
                    found.add(f"{module.__name__.rpartition('.')[2]}.{shown}")
    return found


def test_every_public_function_that_takes_a_claim_is_tried() -> None:
    assert taking_claims(dpverdict.audit, dpverdict.mechanisms, dpverdict.testing) == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_text_is_read_as_the_claim_it_states(name: str) -> None:
    by_object, by_text = (CALLS[name](claim) for claim in (GaussianDP(2), "mu=2"))
    assert repr(by_text) == repr(by_object)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("wrong", ["private", "kappa=1", 1.0])
def test_what_states_no_claim_is_refused(name: str, wrong: object) -> None:
    with pytest.raises(InvalidValue, match="claim"):
        CALLS[name](wrong)


def test_a_claim_that_is_a_curve_is_still_one() -> None:
    curve: Any = ProfileClaim(dpverdict.audit.GaussianLoss(1), name="as the normal law")
    assert isinstance(curve, ImpliedCurves)
    assert not dpverdict.audit.distinguish(noisy, PAIR, curve, samples=200, **FEW).refuted


def test_the_delta_of_text_is_the_one_at_which_epsilon_is_bounded() -> None:
    test = dpverdict.audit.distinguish(noisy, PAIR, "eps=1, delta=0.3", samples=200, **FEW)
    assert test.claim == parse_guarantee("eps=1, delta=0.3") == ApproximateDP(1, "0.3")
    assert test.delta == math.nextafter(0.3, 1)  # the least float64 that is not below 3/10
