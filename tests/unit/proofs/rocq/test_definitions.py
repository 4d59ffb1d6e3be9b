"""The definitions of privacy in Rocq: their theorems hold without an axiom of our own, and changed ones do not."""

import json
import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from dp_accounting import NeighboringRelation

from dpverdict.mechanisms import LaplaceMechanism, RandomizedResponse, StandardGaussian, parse_guarantee
from dpverdict.proofs.ledger.certificates import certificates, sealed
from dpverdict.proofs.ledger.verdict_certificate import verdict_certificate
from dpverdict.proofs.rocq.certificates import with_rocq
from dpverdict.proofs.rocq.definitions import LIBRARY, assumed_by_library, library_files, theorems
from dpverdict.proofs.rocq.enclosures import enclosure_of
from dpverdict.proofs.rocq.terms import NotTranslated

ADDED = NeighboringRelation.ADD_OR_REMOVE_ONE
installed = pytest.mark.skipif(not (shutil.which("coqc") and shutil.which("make")), reason="coqc is not installed")
NAMES = {name: theorems(library_files()[f"privacy/{name}.v"]) for name in LIBRARY}


def compiled(path: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = ["coqc", "-q", "-w", "none", "-Q", str(folder / "privacy"), "Privacy", str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that is written beside certificates, compiled as its Makefile says."""
    folder = tmp_path_factory.mktemp("rocq")
    for name, text in with_rocq(certificates([("lebeda2024", "lem3.1")])).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    done = subprocess.run(["make"], cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def assumptions(folder: Path, path: Path, names: list[str], imported: str) -> list[str]:
    """The axioms below any of the theorems."""
    every = "".join(f", @{name}" for name in names)
    path.write_text(f"{imported}\nDefinition every := (I{every}).\nPrint Assumptions every.\n", encoding="ascii")
    done = compiled(path, folder)
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"^Axioms:$", done.stdout, re.MULTILINE)) == 1
    return re.findall(r"^(?!Axioms:)([\w.']+)(?: :|$)", done.stdout, re.MULTILINE)


def test_nothing_is_admitted() -> None:
    for text in library_files().values():
        assert not re.search(r"\b(Admitted|admit|Axioms?|Parameters?|Hypothes[ie]s|Conjecture|give_up)\b", text)
        assert len(re.findall(r"^(?:Theorem|Lemma) ", text, re.MULTILINE)) == len(re.findall(r"\bQed\.", text))


@installed
@pytest.mark.parametrize("name", LIBRARY)
def test_a_theorem_assumes_what_the_real_numbers_do(name: str, library: Path, tmp_path: Path) -> None:
    assert len(NAMES[name]) >= 4
    found = assumptions(library, tmp_path / "a.v", NAMES[name], f"From Privacy Require Import {name}.")
    assert found
    assert [axiom for axiom in found if not assumed_by_library(axiom)] == []


@installed
def test_an_axiom_of_our_own_is_found(library: Path, tmp_path: Path) -> None:
    planted = "From Coq Require Import Reals.\nAxiom cheat : (1 = 2)%R.\nTheorem one_is_two : (1 = 2)%R.\nProof cheat."
    found = assumptions(library, tmp_path / "a.v", ["one_is_two"], planted)
    assert [axiom for axiom in found if not assumed_by_library(axiom)] == ["cheat"]


@installed
@pytest.mark.parametrize(
    ("name", "theorem", "right", "wrong"),
    [
        ("FiniteLaws", "randomised_response_closed_form", "(exp epsilon - exp", "(exp (epsilon / 2) - exp"),
        ("FiniteLaws", "composition_of_approximate_privacy", "(delta1 + delta2)", "(delta1)"),
        ("Densities", "laplace_likelihood_ratio", "exp (s / scale)", "exp (s / scale / 2)"),
        ("Gaussian", "gaussian_profile_in_closed_form", "(gaussian_profile mu", "(gaussian_profile (2 * mu)"),
    ],
)
def test_a_changed_theorem_is_refused(
    name: str, theorem: str, right: str, wrong: str, library: Path, tmp_path: Path
) -> None:
    text = library_files()[f"privacy/{name}.v"]
    start = text.index(f"Theorem {theorem} ")
    end = text.index("Proof.", start)
    assert text[start:end].count(right) == 1
    changed = text[:start] + text[start:end].replace(right, wrong) + text[end:]
    path = tmp_path / f"{name}.v"
    path.write_text(changed, encoding="ascii")
    done = compiled(path, library)
    line = int(re.findall(r"line (\d+)", done.stderr)[0])
    assert done.returncode != 0
    assert text[:start].count("\n") < line <= text[: text.index("Qed.", start)].count("\n") + 1


def verdict(mechanism: Any) -> dict[str, Any]:
    return json.loads(sealed(verdict_certificate(mechanism, parse_guarantee("eps=1/2, delta=0.25"))))


MECHANISMS = [
    pytest.param(lambda: RandomizedResponse(options=4, epsilon=1), id="response"),
    pytest.param(lambda: LaplaceMechanism(dim=1, epsilon=1, adjacency=ADDED), id="laplace", marks=pytest.mark.slow),
    pytest.param(lambda: StandardGaussian(dim=1, mu=1, adjacency=ADDED), id="gaussian", marks=pytest.mark.slow),
]


@installed
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_number_of_a_verdict_is_a_theorem_and_another_is_not(mechanism: Any, library: Path, tmp_path: Path) -> None:
    document = verdict(mechanism())
    path = tmp_path / "number.v"
    path.write_text(enclosure_of(document), encoding="ascii")
    done = compiled(path, library)
    assert done.returncode == 0, done.stderr
    for condition in document["readings"][0]["conditions"]:
        for evidence in condition["evidence"]:
            if evidence["kind"] == "value":
                evidence["value"] = [str(Fraction(end) + Fraction(1, 10**10)) for end in evidence["value"]]
    path.write_text(enclosure_of(document), encoding="ascii")
    assert compiled(path, library).returncode != 0


def test_a_number_without_a_theorem_is_not_written() -> None:
    with pytest.raises(NotTranslated, match="several queries"):
        enclosure_of(verdict(StandardGaussian(dim=2, mu=1, adjacency=ADDED)))
    with pytest.raises(NotTranslated, match="no certificate of a verdict"):
        enclosure_of({"statement": {}})
