"""The certificate of an exact verdict: equations of the worst vertex, why nothing is worse, and the claim."""

import json
import runpy
from pathlib import Path

import pytest

from dpverdict.audit.trials.catalogue import find_white_box
from dpverdict.cli.application import main
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import parse_guarantee
from dpverdict.proofs.ledger.certificates import seal, sealed
from dpverdict.proofs.ledger.recheck import CertificateRefused, recheck
from dpverdict.proofs.ledger.verdict_certificate import verdict_certificate

independent = runpy.run_path(str(Path(__file__).parents[4] / "tests" / "certificate_checker.py"))
CASES = [
    ("correlated-gaussian", {"dim": "5", "mu": "1"}, "mu=1", "CERTIFIED"),
    ("correlated-gaussian", {"dim": "1000", "mu": "1"}, "rho=0.5", "CERTIFIED"),
    ("correlated-gaussian", {"dim": "3", "mu": "1"}, "mu=0.99", "REFUTED"),
    ("correlated-gaussian", {"dim": "4", "mu": "1"}, "eps=1, delta=0.13", "CERTIFIED"),
    ("correlated-gaussian", {"dim": "4", "mu": "1"}, "eps=1, delta=0.12", "REFUTED"),
    ("broken:M3", {"dim": "5", "mu": "1"}, "mu=1", "REFUTED"),
    ("broken:M7", {"dim": "5", "mu": "1"}, "mu=1", "REFUTED"),
    ("standard-gaussian", {"dim": "7", "mu": "1"}, "mu=1", "CERTIFIED"),
    ("laplace", {"dim": "3", "epsilon": "1"}, "eps=1", "CERTIFIED"),
]


@pytest.mark.parametrize(("name", "options", "claim", "status"), CASES)
def test_both_checkers_accept_it_and_refuse_another_number(
    name: str, options: dict[str, str], claim: str, status: str
) -> None:
    mechanism, _ = find_white_box(name, options)
    document = json.loads(sealed(verdict_certificate(mechanism, parse_guarantee(claim))))
    assert document["verdict"]["concluded"] == status
    assert not recheck(document)["not decided by the file"]
    assert not independent["check"](document)[independent["OPEN"]]
    pieces = [piece for condition in document["readings"][0]["conditions"] for piece in condition["evidence"]]
    last = [piece for piece in pieces if piece["kind"] == "comparison"][-1]
    last["left"], last["right"] = last["right"], last["left"]
    last["signs"] = [sign for sign in last["signs"] if sign != "="]
    document["sha256"] = seal(document)
    with pytest.raises(CertificateRefused):
        recheck(document)
    with pytest.raises(independent["Refused"]):
        independent["check"](document)


def test_every_equation_of_the_worst_vertex_is_needed() -> None:
    mechanism, _ = find_white_box("correlated-gaussian", {"dim": "5", "mu": "1"})
    document = verdict_certificate(mechanism, parse_guarantee("mu=1"))
    conditions = document["readings"][0]["conditions"]
    assert [condition["name"] for condition in conditions][-2:] == [
        "no vertex attains more",
        "what is attained is within the claim: mu^2",
    ]
    sides = conditions[1]["evidence"][0]["sides"]
    assert len(sides) == 4  # both kinds of entries, the count, and the value
    for i in range(len(sides)):
        changed = json.loads(json.dumps(document))
        changed["readings"][0]["conditions"][1]["evidence"][0]["sides"][i][1] += " + 1/1000000007"
        with pytest.raises(CertificateRefused):
            recheck(changed | {"sha256": seal(changed)})


def test_an_undecided_claim_has_none() -> None:
    mechanism, _ = find_white_box("laplace", {"dim": "3", "epsilon": "1"})
    with pytest.raises(InvalidValue, match="certificate"):
        verdict_certificate(mechanism, parse_guarantee("mu=5"))


@pytest.mark.usefixtures("warm_copies")
def test_the_command_writes_it_and_check_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    made = [
        "audit",
        "correlated-gaussian",
        "--dim",
        "3",
        "--mu",
        "1",
        "--no-test",
        "--quiet",
        "--certificate",
        str(path),
    ]
    assert main(made) == 0
    assert main(["check", str(path), "--quiet"]) == 0
    text = path.read_text()
    path.write_text(text.replace('"<="', '">="', 1))
    assert main(["check", str(path), "--quiet"]) == 1


def test_a_mu_that_numbers_below_float64_refute_is_written_by_the_far_tail() -> None:
    """mu^2 = 10 is attained far out, where delta is below 1e-308; a claim of 3.1 is below its root."""
    options = {"noise_multiplier": "1", "rate": "0.1", "steps": "10", "sampling": "poisson"}
    mechanism, _ = find_white_box("dp-sgd", options | {"adjacency": "replace-one"})
    document = json.loads(sealed(verdict_certificate(mechanism, parse_guarantee("mu=3.1"))))
    assert document["verdict"]["concluded"] == "REFUTED"
    assert document["verdict"]["numbers"] == {"quantity": "mu^2", "at": "0", "attained": ["10", "10"]}
    recheck(document)
    independent["check"](document)
    document["verdict"]["numbers"]["attained"] = ["9", "9"]
    with pytest.raises(CertificateRefused):
        recheck(json.loads(sealed({key: value for key, value in document.items() if key != "seal"})))
