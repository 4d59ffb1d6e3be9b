"""Two derivations from a head, by code that is not shared, come to the same conditions, and all of them are true.

The heads are those of the catalogue with parameters and claims that were drawn: mechanisms that nobody calibrated.
"""

import json
import random
import runpy
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpverdict.audit.trials.catalogue import example_of, mechanism_classes
from dpverdict.mechanisms.core.neighbours import adjacency_name
from dpverdict.proofs.ledger.certificates import FORMAT, sealed
from dpverdict.proofs.ledger.recheck import recheck
from dpverdict.proofs.verdicts.catalogue import worst_pair
from dpverdict.proofs.verdicts.claims import decimals
from dpverdict.proofs.verdicts.derivation import conclusion, derived
from dpverdict.proofs.verdicts.laws import NotDerived
from dpverdict.proofs.verdicts.parameters import parameters_of
from dpverdict.proofs.verdicts.streams import MOST_STEPS

checker = runpy.run_path(str(Path(__file__).parents[1] / "certificate_checker.py"))
derivation, enclosure = checker["derivation"], checker["enclosure"]
RELATIONS = ["add-or-remove-one", "replace-one"]
WORDS = {
    "count": ["released", "withheld", "estimated"],
    "norm": ["linf", "l1", "l2"],
    "outputs": ["unbounded", "truncated", "bounded"],
    "digits": ["offset", "symmetric", "ordinary"],
    "noise": ["discrete", "continuous", "laplace", "gaussian", "exponential", "gumbel", "discrete-gaussian"],
    "kind": ["binary", "honaker", "smooth-binary", "sqrt-toeplitz"],
    "participation": ["fixed", "fresh", "single", "fixed-epochs", "cyclic", "min-separation"],
    "values": ["from 0", "symmetric"],
    "sampling": ["poisson", "balls-in-bins", "shuffle", "shuffle-once"],
}

NUMBERS_ONLY = {
    *("rank1-gaussian", "thresholded-counts", "partition-selection", "unary-encoding", "rappor", "local-hashing"),
    *("count-mean-sketch", "subset-selection", "hadamard-response", "number-report", "sampled-matrix", "secure-sum"),
    "shuffled-reports",
}
"""Mechanisms of which certificates state numbers that are only compared."""


def number(rng: random.Random) -> Fraction:
    return Fraction(
        rng.choice([rng.randint(1, 12), Fraction(rng.randint(1, 99), rng.randint(1, 40)), rng.random() * 3])
    )


def drawn(rng: random.Random, name: str, value: Any) -> Any:
    """Another parameter of the same kind, most of them admissible."""
    if isinstance(value, list) and len(value[0]) == 1:
        falling = sorted((number(rng) for _ in range(3)), reverse=True)
        return [[str(entry)] for entry in (falling if rng.random() < 0.9 else reversed(falling))]
    if isinstance(value, list):
        return sorted({tuple(str(x) for x in (number(rng), number(rng), rng.randint(1, 9))) for _ in range(3)})
    if name in WORDS:
        return value if rng.random() < 0.5 else rng.choice(WORDS[name])
    if rng.random() < 0.2:
        return value
    if value.isdigit() and name not in ("scale", "sigma", "rate", "threshold", "log_odds", "noise_multiplier"):
        return str(rng.choice([rng.randint(1, 9), rng.randint(1, 300)]))
    return str(number(rng))


def claim(rng: random.Random) -> dict[str, str]:
    e = str(number(rng))
    return rng.choice(
        [
            {"kind": "gaussian", "mu": e},
            {"kind": "pure", "epsilon": str(9 * number(rng))},
            {"kind": "pure", "epsilon": e},
            {"kind": "approximate", "epsilon": e, "delta": str(Fraction(1, rng.choice([3, 100, 10**9, 10**40])))},
            {"kind": "concentrated", "rho": e},
            {"kind": "renyi", "order": str(rng.choice([Fraction(3, 2), Fraction(2), Fraction(7)])), "epsilon": e},
        ]
    )


@pytest.mark.parametrize("name", sorted(mechanism_classes()))
def test_both_derive_the_same_and_it_is_true(name: str) -> None:
    rng = random.Random(f"20261126 {name}")
    genuine = example_of(mechanism_classes()[name])
    own = parameters_of(genuine)
    derived_once = 0
    for turn in range(500):
        if derived_once == 8:
            break
        parameters = {key: drawn(rng, key, value) for key, value in own.items()} if turn else own
        parameters = json.loads(json.dumps(parameters))
        relation = rng.choice(RELATIONS) if turn else adjacency_name(genuine.adjacency)
        asked = claim(rng)
        level = str(number(rng)) if asked["kind"] == "gaussian" else None
        head = {"mechanism": name, "parameters": parameters, "relation": relation, "claim": asked}
        try:
            found, at = conclusion(name, parameters, relation, asked, None), None
            if found is None and level is not None:
                found, at = conclusion(name, parameters, relation, asked, level), level
            assumptions = list(worst_pair(name, parameters, relation).assumptions)
        except NotDerived:
            for said in ("CERTIFIED", "REFUTED"):
                with pytest.raises(derivation["Wrong"]):
                    derivation["derive"](head | {"concluded": said, "assumptions": []}, enclosure)
            continue
        head |= {"concluded": found or "CERTIFIED", "assumptions": assumptions}
        head |= {} if at is None or found is None else {"level": at}
        if found is None:
            with pytest.raises(NotDerived, match="numbers"):
                derived(head)
            with pytest.raises(derivation["Wrong"], match="numbers"):
                derivation["derive"](head, enclosure)
            continue
        conditions = derived(head).conditions
        assert derivation["derive"](head, enclosure)[0] == conditions
        readings = [{"reading": "the claim", "conditions": conditions}]
        document = json.loads(sealed({"format": FORMAT, "verdict": head, "versions": {}, "readings": readings}))
        assert not recheck(document)["not decided by the file"]
        assert not checker["check"](document)[checker["OPEN"]]
        derived_once += 1
    assert derived_once == (0 if name in NUMBERS_ONLY else 8)


@pytest.mark.parametrize(("name", "length"), [("dp-ftrl", "steps"), ("factorization-counter", "horizon")])
def test_the_longest_sum_that_is_derived_is_read_by_both(name: str, length: str) -> None:
    """Planted: one fraction more than that is derived by neither."""
    scale = {"noise_multiplier": "97/89"} if name == "dp-ftrl" else {"noise": "gaussian", "scale": "97/89"}
    for steps in (MOST_STEPS, MOST_STEPS + 1):
        own = parameters_of(example_of(mechanism_classes()[name]))
        own |= {length: str(steps), "kind": "sqrt-toeplitz"} | scale
        own |= {"epochs": "1", "participation": "fixed"} if name == "dp-ftrl" else {}
        asked = {"kind": "gaussian", "mu": "100"}
        head = {
            "mechanism": name,
            "parameters": own,
            "relation": "replace-one",
            "claim": asked,
            "concluded": "CERTIFIED",
        }
        head |= {"assumptions": list(worst_pair(name, own, "replace-one").assumptions)}
        if steps > MOST_STEPS:
            with pytest.raises(derivation["Wrong"]):
                derivation["derive"](head, enclosure)
            with pytest.raises(NotDerived):
                derived(head)
            continue
        readings = [{"reading": "the claim", "conditions": derived(head).conditions}]
        document = json.loads(sealed({"format": FORMAT, "verdict": head, "versions": {}, "readings": readings}))
        assert not recheck(document)["not decided by the file"]
        assert not checker["check"](document)[checker["OPEN"]]


def test_decimals_are_the_two_on_either_side() -> None:
    third = Fraction(1, 3)
    assert decimals(third, third, 3) == ["333e-3", "334e-3"]
    assert decimals(Fraction(1, 8), Fraction(1, 8), 3) == ["125e-3", "125e-3"]
    assert decimals(Fraction(999, 1000), Fraction(1), 2) == []  # which of two places it begins at is not known
    assert decimals(Fraction(1, 10**1001), Fraction(2, 10**1001), 30) == ["0", "1e-1000"]
    assert decimals(Fraction(12345), Fraction(12345), 2) == ["12e3", "13e3"]
