"""What is asked of an SMT solver: one block for each denial, with roots as variables of their own."""

import hashlib
from typing import Any

from dpverdict.proofs.ledger.smt import smt_of


def file(*pieces: dict[str, Any]) -> str:
    conditions = [{"name": "a condition", "evidence": list(pieces)}]
    readings = [{"reading": "as printed", "conditions": conditions}]
    return smt_of({"statement": {"paper": "scratch", "number": "lem1"}, "readings": readings})


def test_an_identity_with_roots_is_denied_as_one_of_polynomials() -> None:
    sides = [["sqrt(d) * sqrt(d)", "d"], ["1/(x + 1)", "x/(x**2 + x)"]]
    text = file({"kind": "identity", "sides": sides, "variables": {"d": "positive real", "x": "positive real"}})
    assert "(declare-const |root of d| Real)" in text
    assert "(assert (not (= (* |root of d| |root of d|) (* |root of d| |root of d|))))" in text
    assert text.count("(check-sat)") == 2
    assert text.count("(reset)\n(set-logic QF_NRA)\n") == 2  # z3 gave up on one upon another, after (push 1)


def test_the_first_line_is_the_hash_of_the_rest() -> None:
    text = file({"kind": "comparison", "left": "1", "right": ["3/2", "2"], "signs": ["<"], "holds": True})
    first, _, rest = text.partition("\n")
    assert first == f"; sha256 {hashlib.sha256(rest.encode()).hexdigest()}"
    assert "(< 1.0 (/ 3.0 2.0))" in rest


def test_what_has_no_arithmetic_is_left_out() -> None:
    assert file({"kind": "identity", "sides": [["floor(x)", "x"]], "variables": {"x": "real"}}) == ""
    assert file({"kind": "boxes"}) == ""
