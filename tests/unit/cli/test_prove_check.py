"""``dpverdict prove --certificates``, ``dpverdict check``: what is written is accepted, and refused once changed."""

import json
from pathlib import Path

import pytest

from dpverdict.cli.application import main
from dpverdict.proofs.ledger.certificates import sealed


@pytest.mark.usefixtures("warm_copies")
def test_certificates_are_written_and_read_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "certificates"
    assert main(["prove", "lebeda2024", "--statement", "lem3.1", "--certificates", str(folder)]) == 0
    capsys.readouterr()
    assert main(["check", str(folder)]) == 0
    assert "3 files, none refused; conditions: 2 proved from the file" in capsys.readouterr().out
    path = folder / "lebeda2024" / "lem3.1.json"
    path.write_text(path.read_text().replace("/(4*mu**2)", "/(5*mu**2)", 1))
    assert main(["check", str(folder)]) == 1
    assert main(["check", str(path), "--quiet"]) == 1
    assert "REFUSED" in capsys.readouterr().out


@pytest.mark.usefixtures("warm_copies")
def test_usage_errors(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep me")
    assert main(["check", str(tmp_path)]) == 2
    assert main(["check", str(tmp_path / "missing.json")]) == 2
    assert main(["prove", "lebeda2024", "--statement", "lem3.1", "--certificates", str(tmp_path)]) == 2


def test_against_source_refuses_another_text_and_fewer_conditions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    """Both pass without it: nothing in the file ties the text of a statement to its conditions."""
    folder = tmp_path / "certificates"
    assert main(["prove", "lebeda2024", "--statement", "lem3.1", "--certificates", str(folder)]) == 0
    assert main(["check", str(folder), "--against-source", "--quiet"]) == 0
    request.getfixturevalue("warm_copies")
    genuine = json.loads((folder / "lebeda2024" / "lem3.1.json").read_text())
    other_text, fewer = (json.loads(json.dumps(genuine)) for _ in range(2))
    other_text["statement"]["text"] += " It is optimal."
    fewer["readings"][0]["conditions"].pop()
    for changed, place in ((other_text, "statement.text"), (fewer, "readings[0].conditions")):
        file = tmp_path / "changed.json"
        file.write_text(sealed(changed))
        assert main(["check", str(file), "--quiet"]) == 0
        capsys.readouterr()
        assert main(["check", str(file), "--against-source"]) == 1
        assert f"REFUSED {file}: certificate.{place}" in capsys.readouterr().out
