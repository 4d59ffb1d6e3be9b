"""A certificate of a verdict proves what its head says: both checkers refuse every field that was changed and resealed.

The certificates are of every mechanism of the catalogue, certified and refuted, and of every kind of claim. A reduced
form takes some forgeries of each; all of them are tried under ``-m slow``.
"""

import json
import runpy
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.trials.catalogue import example_of, find_white_box, mechanism_classes
from dpverdict.cli.application import main
from dpverdict.mechanisms.core.guarantees import parse_guarantee
from dpverdict.proofs.ledger.certificates import sealed
from dpverdict.proofs.ledger.recheck import CertificateRefused, proved_line, read_number, recheck
from dpverdict.proofs.ledger.verdict_certificate import verdict_certificate
from dpverdict.proofs.verdicts import derivation
from dpverdict.proofs.verdicts.claims import KINDS as CLAIM_KINDS

TESTS = Path(__file__).parents[1]
independent = runpy.run_path(str(TESTS / "certificate_checker.py"))
forged = runpy.run_path(str(TESTS / "forgeries.py"))
forgeries, forge, resealed, seen, place = (forged[n] for n in ("forgeries", "forge", "resealed", "seen", "place"))
Document = dict[str, Any]

OWN = [(name, {}, "") for name in mechanism_classes()]
"""Every mechanism of the catalogue, its example, held to its own claim: all are certified."""
SUMS = {"dim": "5", "keys": "3", "per_key": "2", "adjacency": "replace-one"}
MORE = [
    ("correlated-gaussian", {"dim": "100", "mu": "1"}, "mu=1"),
    ("correlated-gaussian", {"dim": "300", "mu": "1"}, "rho=0.4"),
    ("correlated-gaussian", {"dim": "4", "mu": "1"}, "eps=1, delta=0.13"),
    ("correlated-gaussian", {"dim": "4", "mu": "1"}, "eps=1, delta=0.12"),
    ("correlated-gaussian", {"dim": "4", "mu": "1", "count": "estimated", "size_estimate": "10"}, "mu=0.9"),
    ("count-ellipse", {"dim": "9", "k": "4", "mu": "1", "count": "released"}, "order=2, eps=0.9"),
    ("standard-gaussian", {"dim": "4", "mu": "1", "adjacency": "replace-one"}, "eps=2"),
    ("standard-gaussian", {"dim": "3", "mu": "1"}, "eps=80, delta=1e-300"),
    ("standard-gaussian", {"dim": "3", "mu": "1e-3"}, "eps=1, delta=1e-300"),
    ("gaussian", {"sigma": "4.3", "sensitivity": "1", "dim": "2"}, "mu=0.2"),
    ("grouped-gaussian", {"groups": "2", "dim": "2", "mu": "1"}, "rho=0.3"),
    ("optimal-grouped-gaussian", {"groups": "2", "dim": "3", "mu": "1"}, "eps=1, delta=1e-9"),
    ("elliptical-gaussian", {"bounds": "0,1,1,4", "mu": "1"}, "mu=0.5"),
    ("vote-ellipse", {"dim": "3", "mu": "1"}, "order=3, eps=1.6"),
    ("laplace", {"dim": "3", "epsilon": "1"}, "eps=0.9"),
    ("laplace", {"dim": "1", "epsilon": "1"}, "mu=0.1"),
    ("laplace", {"dim": "1", "epsilon": "1"}, "eps=0.5, delta=0.1"),
    ("laplace", {"dim": "3", "epsilon": "1"}, "eps=0.1, delta=1e-9"),
    ("laplace", {"dim": "3", "epsilon": "1"}, "order=2, eps=0.01"),
    ("exponential", {"options": "3", "epsilon": "1", "adjacency": "replace-one"}, "eps=0.2"),
    ("geometric", {"epsilon": "1", "adjacency": "add-or-remove-one"}, "rho=0.1"),
    ("randomized-response", {"options": "4", "epsilon": "1"}, "eps=0.5, delta=0.1"),
    ("tree-counter", {"horizon": "12", "epsilon": "1", "arity": "5"}, "eps=0.3, delta=0.01"),
    ("tree-counter", {"horizon": "12", "epsilon": "1", "arity": "5", "noise": "continuous"}, "eps=0.9"),
    ("factorization-counter", {"horizon": "8", "kind": "sqrt-toeplitz", "noise": "gaussian", "mu": "1"}, "mu=0.9"),
    ("discrete-correlated-gaussian", {"dim": "3", "rho": "0.5"}, "rho=0.01"),
    ("discrete-correlated-gaussian", {"dim": "3", "rho": "0.5"}, "eps=1, delta=0.3"),
    ("bounded-contributions", SUMS | {"noise": "discrete-gaussian", "rho": "0.1"}, "rho=0.1"),
    ("bounded-contributions", SUMS | {"noise": "gaussian", "rho": "0.1", "l1": "3", "l2": "2"}, "mu=0.1"),
    ("dp-ftrl", {}, "eps=1, delta=1e-5"),
    ("dp-sgd", {}, "eps=1, delta=0.3"),
    ("dp-sgd", {}, "eps=0.1, delta=1e-9"),
    ("rank1-gaussian", {"dim": "3", "epsilon": "1", "delta": "0.1"}, "eps=0.1, delta=1e-9"),
    ("broken:M3", {"dim": "5", "mu": "1"}, "mu=1"),
    ("broken:M7", {"dim": "5", "mu": "1"}, "mu=1"),
]
ONLY_COMPARED = {
    ("discrete-correlated-gaussian", "eps=1, delta=0.3"),
    ("dp-sgd", "eps=1, delta=0.3"),
    ("dp-sgd", "eps=0.1, delta=1e-9"),
    ("exponential", "eps=0.2"),
    ("laplace", "eps=0.1, delta=1e-9"),
    ("rank1-gaussian", ""),
    ("rank1-gaussian", "eps=0.1, delta=1e-9"),
    *((name, "") for name in ("thresholded-counts", "partition-selection", "unary-encoding", "rappor")),
    *((name, "") for name in ("local-hashing", "count-mean-sketch", "subset-selection", "hadamard-response")),
    ("number-report", ""),
    ("sampled-matrix", ""),
    ("secure-sum", ""),
    ("shuffled-reports", ""),
}
"""Whose numbers do not follow from the head: the line says so."""


def made(name: str, options: dict[str, str], claim: str) -> Document:
    mechanism = find_white_box(name, options)[0] if options else example_of(mechanism_classes()[name])
    guarantee = parse_guarantee(claim) if claim else mechanism.claim
    found: Document = json.loads(sealed(verdict_certificate(mechanism, guarantee)))
    return found


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return [made(*case) for case in (*OWN, *MORE)]


def accepted(document: Document) -> bool:
    try:
        recheck(document)
    except CertificateRefused as problem:
        return "\n" in str(problem)  # a reason is one line
    return True


def accepted_there(document: Document) -> bool:
    try:
        independent["check"](document)
    except (independent["Refused"], KeyError):
        return False
    return True


def test_both_accept_what_is_genuine_and_say_what_it_proves(documents: list[Document]) -> None:
    """Every mechanism of the catalogue and every kind of claim, certified and refuted."""
    kinds = Counter((d["verdict"]["claim"]["kind"], d["verdict"]["concluded"]) for d in documents)
    assert set(kinds) == {(k, c) for k in CLAIM_KINDS for c in ("CERTIFIED", "REFUTED")}
    assert {d["verdict"]["mechanism"] for d in documents} > set(mechanism_classes())
    for (name, _, claim), document in zip((*OWN, *MORE), documents, strict=True):
        assert accepted(document), document["verdict"]
        assert accepted_there(document), document["verdict"]
        compared = (name, claim) in ONLY_COMPARED
        assert ("the numbers were compared" in proved_line(document)) is compared, (name, claim)
        assert independent["said"](document).endswith("compared only") is compared


def test_the_number_that_is_derived_is_the_one_that_the_verdict_rests_on() -> None:
    """Two ways to one number: the derivation from the head, and the losses that the verdict is decided by."""
    met = 0
    for name, options, claim in (*OWN, *MORE):
        mechanism = find_white_box(name, options)[0] if options else example_of(mechanism_classes()[name])
        guarantee = parse_guarantee(claim) if claim else mechanism.claim
        verdict = certify(mechanism, guarantee)
        shown = verdict.certificate or verdict.witness
        conditions = verdict_certificate(mechanism, guarantee)["readings"][0]["conditions"]
        last = next(c for c in conditions if c["name"].startswith("what is attained"))
        words = last["name"].partition(": ")[2].partition(",")[0]
        if shown is None or not shown.statement.startswith(words):
            continue  # another quantity, or one that has a short name there
        left = next(piece for piece in last["evidence"] if piece["kind"] == "comparison")["left"]
        low, high = (read_number(end) for end in (left if isinstance(left, list) else [left, left]))
        assert Fraction(shown.value.lower) <= high, (name, claim)
        assert low <= Fraction(shown.value.upper), (name, claim)
        met += 1
    assert met >= 25


def test_the_line_names_claim_mechanism_size_and_relation(
    documents: list[Document], tmp_path: Path, capsys: Any
) -> None:
    document = documents[len(OWN)]
    file = tmp_path / "verdict.json"
    file.write_text(json.dumps(document))
    assert main(["check", str(file)]) == 0
    assert capsys.readouterr().out.startswith("mu=1 of correlated-gaussian, dim 100, add-or-remove-one (")


def test_another_claim_and_another_mechanism_in_the_head_are_refused(documents: list[Document]) -> None:
    document = json.loads(json.dumps(documents[len(OWN)]))
    document["verdict"]["claim"]["mu"] = "1/10"
    with pytest.raises(CertificateRefused, match="concluded"):
        recheck(resealed(document))
    document["verdict"]["mechanism"] = "laplace"
    with pytest.raises(CertificateRefused, match=r"parameters\.norm"):
        recheck(resealed(document))
    with pytest.raises(independent["Refused"], match=r"parameters\.norm"):
        independent["check"](resealed(document))


def tried(documents: list[Document], check: Callable[[Document], bool], step: int) -> tuple[int, list[str]]:
    """How many forgeries were tried, every ``step``-th, and those that were accepted."""
    values, count, passed = seen(documents), 0, []
    for turn, document in enumerate(documents):
        for i, (path, other) in enumerate(forgeries(document, values, turn)):
            if (i + turn) % step == 0:
                count += 1
                if check(forge(document, path, other)):
                    passed.append(f"{document['verdict']['mechanism']} {path}")
    return count, passed


@pytest.mark.parametrize("check", [accepted, accepted_there])
def test_forgeries_are_refused(documents: list[Document], check: Callable[[Document], bool]) -> None:
    count, passed = tried(documents, check, 97)
    assert count > 300
    assert not passed


@pytest.mark.slow
@pytest.mark.parametrize("check", [accepted, accepted_there])
def test_every_forgery_is_refused(documents: list[Document], check: Callable[[Document], bool]) -> None:
    count, passed = tried(documents, check, 1)
    print(f"{count} forgeries of {len(documents)} certificates, {len(passed)} accepted")
    assert count > 30_000
    assert not passed


def test_a_false_claim_cannot_pass_as_numbers_that_were_only_compared(documents: list[Document]) -> None:
    """Numbers are stated where nothing follows from the head, and nowhere else."""
    document = json.loads(json.dumps(documents[len(OWN)]))
    head = document["verdict"]
    head["claim"]["mu"], head["numbers"] = "1/10", {"quantity": "mu^2", "at": "0", "attained": ["1/200", "1/200"]}
    comparison = {
        "kind": "comparison",
        "left": ["1/200", "1/200"],
        "right": "1/100",
        "signs": ["<", "="],
        "holds": True,
    }
    law = document["readings"][0]["conditions"][0]
    name = "what is attained is within the claim: mu^2 at 0"
    condition = {"name": name, "holds": True, "evidence": [comparison], "left_out": 0}
    document["readings"][0]["conditions"] = [law, condition]
    with pytest.raises(CertificateRefused, match="numbers"):
        recheck(resealed(document))
    with pytest.raises(independent["Refused"], match="numbers"):
        independent["check"](resealed(document))


IGNORED = [
    "readings.conditions.name",
    "readings.conditions.evidence.noise.variance of each query",
    "readings.conditions.evidence.differences.set",
    "readings.conditions.evidence.pair",
    "readings.conditions.evidence.right",
    "readings.conditions.evidence.value",
    "readings.conditions.left_out",
    "readings.conditions.evidence.sides",
]


@pytest.mark.parametrize("field", IGNORED)
def test_a_checker_that_does_not_derive_one_field_is_caught(
    documents: list[Document], field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: what stands in one field is taken from the file, in either checker."""

    def taken(found: Any, expected: Any, path: tuple[Any, ...] = ()) -> Any:
        if place(path) == field:
            return found
        if isinstance(found, dict) and isinstance(expected, dict):
            return {k: taken(found[k], v, (*path, k)) if k in found else v for k, v in expected.items()}
        if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
            return [taken(a, b, (*path, i)) for i, (a, b) in enumerate(zip(found, expected, strict=True))]
        return expected

    product, other = derivation.difference, independent["derivation"]["first_difference"]
    monkeypatch.setattr(derivation, "difference", lambda f, e, p: product(f, taken(f, e, ("readings",)), p))
    monkeypatch.setitem(
        independent["derivation"], "first_difference", lambda f, e, p: other(f, taken(f, e, ("readings",)), p)
    )
    values = seen(documents)
    for check in (accepted, accepted_there):
        found = (
            forge(document, path, other)
            for turn, document in enumerate(documents)
            for path, other in forgeries(document, values, turn)
            if place(path) == field
        )
        assert any(check(forgery) for forgery in found)
