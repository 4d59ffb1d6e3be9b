"""What coqc accepts of certificates: true conditions, no wrong ones beside them, and no axiom of anyone else."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dpverdict.cli.application import app
from dpverdict.errors import InvalidValue
from dpverdict.proofs.ledger.certificates import certificates
from dpverdict.proofs.rocq import kernel
from dpverdict.proofs.rocq.certificates import kernel_read, rocq_of, with_rocq
from dpverdict.proofs.rocq.kernel import ASSUMED, COMPARED, KERNEL_CHECKED, NOT_ACCEPTED, NOT_TRANSLATED, decided

pytestmark = pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed")

TRUE = {"kind": "identity", "sides": [["(a + b)**2", "a**2 + 2*a*b + b**2"]], "variables": {"a": "real", "b": "real"}}
FALSE = {"kind": "identity", "sides": [["(a + b)**2", "a**2 + 3*a*b + b**2"]], "variables": {"a": "real", "b": "real"}}
NUMBERS = {"kind": "comparison", "left": ["1", "2"], "right": "3", "signs": ["<"], "holds": True}
WRONG_NUMBERS = {"kind": "comparison", "left": ["1", "4"], "right": "3", "signs": ["<"], "holds": True}


def document(**conditions: list[Any]) -> dict[str, Any]:
    stated = {"paper": "p", "number": "1", "text": "text"}
    made = [{"name": name, "evidence": evidence} for name, evidence in conditions.items()]
    return {"statement": stated, "readings": [{"reading": "as printed", "conditions": made}]}


def test_every_condition_has_its_grade_and_a_wrong_one_takes_none_with_it() -> None:
    found = decided(
        document(wrong=[FALSE], right=[TRUE], compared=[NUMBERS], less=[TRUE, WRONG_NUMBERS], open=[{"kind": "law"}])
    )
    grades = [one.grade for one in found.conditions]
    assert grades == [NOT_ACCEPTED, KERNEL_CHECKED, COMPARED, NOT_ACCEPTED, NOT_TRANSLATED]
    assert found.conditions[0].reasons == ("1 of 1 lemmas: no proof was found",)
    assert found.conditions[4].reasons == ("the kind law",)
    assert all(ASSUMED.fullmatch(name) for name in found.assumed)


@pytest.mark.parametrize("head", ["Axiom cheat : False.", "Parameter cheat : 1 = 2 /\\ False."])
def test_what_rests_on_an_axiom_of_its_own_is_no_proof(head: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = kernel.file_of

    def planted(*given: Any) -> str:
        text = whole(*given).replace("vm_compute; first", "exfalso; apply cheat || first")
        return text.replace("Ltac counted", f"{head}\nLtac counted")

    monkeypatch.setattr(kernel, "file_of", planted)
    with pytest.raises(kernel.NoKernel, match="assumes cheat"):
        decided(document(wrong=[WRONG_NUMBERS]))


def test_a_machine_without_the_libraries_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = kernel.file_of
    monkeypatch.setattr(kernel, "file_of", lambda *given: whole(*given).replace("Psatz", "NoSuchLibrary"))
    with pytest.raises(kernel.NoKernel, match=r"libcoq-interval.*NoSuchLibrary"):
        decided(document(right=[TRUE]))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(kernel.NoKernel, match="apt-get install"):
        decided(document(right=[TRUE]))


@pytest.mark.slow
def test_a_lemma_that_is_not_finished_in_time_is_not_accepted() -> None:
    sides = [["0", "1"], ["0", "1"]]
    variables = {"x": "real", "y": "real"}
    slow = {"kind": "boxes", "expression": "x**2 + y**2 - 2*x*y + 1/10**9", "box": sides, "variables": variables}
    (one,) = decided(document(slow=[slow]), seconds=40).conditions
    assert one.grade == NOT_ACCEPTED


def test_files_are_written_beside_certificates_and_a_changed_one_is_refused(tmp_path: Path) -> None:
    files = with_rocq(certificates([("lebeda2024", "lem3.1")]))
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert json.loads(files["MANIFEST.json"])["files"].keys() == files.keys() - {"MANIFEST.json"}
    read = [("lebeda2024/lem3.1.json", json.loads(files["lebeda2024/lem3.1.json"]))]
    found = kernel_read(tmp_path, read)
    assert (found.refused, found.accepted) == ((), 2)
    assert files["lebeda2024/lem3_1.v"] == rocq_of(read[0][1])
    shell = CliRunner().invoke(app, ["check", str(tmp_path), "--rocq"])
    assert (shell.exit_code, "2 kernel-checked" in shell.output) == (0, True), shell.output
    changed = files["lebeda2024/lem3_1.v"].replace("Qed.", "Admitted.", 1)
    (tmp_path / "lebeda2024/lem3_1.v").write_text(changed, encoding="utf-8")
    assert kernel_read(tmp_path, read).refused[0][0] == "lebeda2024/lem3.1.json"
    assert CliRunner().invoke(app, ["check", str(tmp_path), "--rocq"]).exit_code == 1
    with pytest.raises(InvalidValue, match="a certificate of a statement"):
        kernel_read(tmp_path, [("verdict.json", {"verdict": {}})])
