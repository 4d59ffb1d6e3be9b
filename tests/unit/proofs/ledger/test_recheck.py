"""A certificate read again: what is true is graded, what is false is refused, and no code in it is run."""

from typing import Any

import pytest

from dpverdict.proofs.ledger.certificates import FORMAT, seal
from dpverdict.proofs.ledger.recheck import COMPARED, OPEN, PROVED, CertificateRefused, recheck

X = {"x": "positive real"}
TRUE: dict[str, tuple[dict[str, Any], str]] = {
    "identity": ({"kind": "identity", "sides": [["sqrt(x)**2", "x"]], "variables": X}, PROVED),
    "inequality": (
        {
            "kind": "inequality",
            "expression": "x**2 - x + 1",
            "strict": True,
            "at_least": {"x": "1"},
            "steps": {"x": "t"},
            "numerator": "t**2 + t + 1",
            "denominator": "1",
            "variables": X | {"t": "nonnegative real"},
        },
        PROVED,
    ),
    "boxes": (
        {
            "kind": "boxes",
            "expression": "exp(x) - x",
            "box": [["0", "1"]],
            "variables": X,
            "parts": [[["0", "1/2"], "1/2"], [["1/2", "1"], "1/2"]],
        },
        PROVED,
    ),
    "comparison": ({"kind": "comparison", "left": "1", "right": ["2", "3"], "signs": ["<"], "holds": True}, COMPARED),
    "touching": (
        {"kind": "comparison", "left": ["1", "2"], "right": ["2", "3"], "signs": ["<", "="], "holds": True},
        COMPARED,
    ),
    "rounding": ({"kind": "rounding", "printed": "0.33", "value": "1/3", "holds": True}, COMPARED),
    "cases": ({"kind": "cases", "cases": [["d = 1", [["1", "=", "1", True], ["2", "<", "1", False]]]]}, COMPARED),
    "inverse": (
        {"kind": "inverse", "matrix": [["2"]], "inverse": [["1/2"]], "values": [[["3"], "9/2"]]},
        PROVED,
    ),
    "beyond": ({"kind": "identity", "sides": [["zeta(x)", "zeta(x)"]], "variables": X}, OPEN),
}
FALSE: dict[str, dict[str, Any]] = {
    "identity": {"sides": [["sqrt(x)**2", "x + 1"]]},
    "inequality": {"numerator": "t**2 + t + 2"},
    "boxes": {"parts": [[["0", "1/2"], "1/2"], [["3/4", "1"], "1/2"]]},
    "comparison": {"left": "4"},
    "rounding": {"printed": "0.34"},
    "cases": {"cases": [["d = 1", [["1", "=", "2", True]]]]},
    "inverse": {"values": [[["3"], "8/2"]]},
}


def certificate(piece: dict[str, Any], holds: bool = True) -> dict[str, Any]:
    condition = {"name": "a", "holds": holds, "evidence": [piece]}
    made = {"format": FORMAT, "readings": [{"reading": "as printed", "conditions": [condition]}]}
    return made | {"sha256": seal(made)}


@pytest.mark.parametrize("kind", TRUE)
def test_true_evidence_is_graded(kind: str) -> None:
    piece, grade = TRUE[kind]
    assert recheck(certificate(piece)) == {grade: 1}


@pytest.mark.parametrize("kind", FALSE)
def test_false_evidence_is_refused_though_it_is_sealed(kind: str) -> None:
    with pytest.raises(CertificateRefused):
        recheck(certificate(TRUE[kind][0] | FALSE[kind]))


def test_a_finding_against_its_evidence_is_refused() -> None:
    with pytest.raises(CertificateRefused, match="said to fail"):
        recheck(certificate(TRUE["identity"][0], holds=False))


def test_a_change_after_the_seal_is_refused() -> None:
    document = certificate(TRUE["comparison"][0])
    document["readings"][0]["conditions"][0]["evidence"][0]["left"] = "0"  # still true
    with pytest.raises(CertificateRefused, match="sealed"):
        recheck(document)


@pytest.mark.parametrize("text", ["__import__('os').getpid()", "x.__class__", "[1 for _ in 'a']", "x if x else 1"])
def test_no_code_is_run(text: str) -> None:
    piece = {"kind": "identity", "sides": [[text, text]], "variables": X}
    assert recheck(certificate(piece)) == {OPEN: 1}


@pytest.mark.parametrize("number", ["1e999999999", "1e-999999999", "1*2**9999999999", None, [], "nan"])
def test_a_number_of_any_size_or_kind_is_refused_at_once(number: Any) -> None:
    with pytest.raises(CertificateRefused, match="cannot be read"):
        recheck(certificate(TRUE["inverse"][0] | {"inverse": [[number]]}))
