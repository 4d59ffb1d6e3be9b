"""A least variance is proved by two points that keep their constraints and have one value."""

import dataclasses
import json
import random
import re
import runpy
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpverdict.numerics.exact import Surd
from dpverdict.proofs.checks.evidence import recorded
from dpverdict.proofs.checks.optima import Duality
from dpverdict.proofs.ledger.certificates import FORMAT, seal
from dpverdict.proofs.ledger.recheck import CertificateRefused, recheck
from dpverdict.proofs.ledger.smt import smt_of

CHECKER = runpy.run_path(str(Path(__file__).parents[4] / "tests" / "certificate_checker.py"))
ROOT = Surd.root(2)
TIGHT = Duality(  # variances s, t in one and two dimensions with 1/s + 1/t <= 1: least (1 + sqrt 2)^2
    weights=(1, 2),
    constraints={"both": (1, 1), "neither": (0, Fraction(1, 2))},
    primal=(1 + ROOT, 1 + ROOT / 2),
    dual=(1 + ROOT, 1 + ROOT / 2),
    multipliers={"both": 3 + 2 * ROOT},
)


def test_two_points_of_one_value_are_the_optimum() -> None:
    assert TIGHT.least() == 3 + 2 * ROOT


@pytest.mark.parametrize(
    "change",
    [
        {"primal": (ROOT, 1 + ROOT / 2)},
        {"primal": (2 + ROOT, 1 + ROOT / 2)},
        {"primal": (-1 - ROOT, 1 + ROOT / 2)},
        {"dual": (2 + ROOT, 1 + ROOT / 2)},
        {"dual": (ROOT, 1 + ROOT / 2)},
        {"multipliers": {"both": 4 + 2 * ROOT}},
        {"multipliers": {"both": 3 + 2 * ROOT, "neither": -1}},
        {"constraints": {"both": (1, 1), "neither": (3, 0)}},
    ],
)
def test_points_that_prove_nothing_are_refused(change: dict[str, Any]) -> None:
    assert dataclasses.replace(TIGHT, **change).least() is None


def document() -> dict[str, Any]:
    with recorded() as kept:
        TIGHT.least()
    condition = {"name": "least", "holds": True, "evidence": kept.pieces, "left_out": 0}
    named = {"paper": "p", "number": "1"}
    return {"format": FORMAT, "statement": named, "readings": [{"reading": "as printed", "conditions": [condition]}]}


def test_both_checkers_read_it_again_and_refuse_another_digit() -> None:
    """Without the seal, in every number on which the two values rest."""
    rng, made = random.Random(20261123), document()
    assert CHECKER["check"](made, sealed=False) == {"proved": 1}
    assert recheck({**made, "sha256": seal(made)}) == {"proved from the file": 1}
    (piece,) = made["readings"][0]["conditions"][0]["evidence"]
    for key in ("weights", "primal", "dual", "multipliers", "value", "radicand"):
        for _ in range(5):
            text = json.dumps(piece[key])
            place = rng.choice([found.start() for found in re.finditer("[0-9]", text)])
            other = text[:place] + rng.choice([one for one in "0123456789" if one != text[place]]) + text[place + 1 :]
            if json.loads(other) == piece[key] or re.search(r'"-?\d*/0"', other):
                continue
            changed = json.loads(json.dumps(made))
            changed["readings"][0]["conditions"][0]["evidence"][0][key] = json.loads(other)
            with pytest.raises(CHECKER["Refused"]):
                CHECKER["check"](changed, sealed=False)
            with pytest.raises(CertificateRefused):
                recheck({**changed, "sha256": seal(changed)})


def test_a_solver_is_asked_for_weak_duality_and_for_both_points() -> None:
    text = smt_of(document())
    assert text.count("(check-sat)") == 2
    assert "(assert (not (>= (+ s (/ (* y y) s)) (* 2.0 y))))" in text
    assert "(assert (= (* r r) 2.0))" in text
