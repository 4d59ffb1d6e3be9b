"""``dpverdict corpus`` and ``dpverdict scan``: what they print, and their exit codes."""

import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path

import pytest

from dpverdict.cli.application import main
from dpverdict.cli.corpus.entries import entries


def test_list_and_show_name_every_entry(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["corpus", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == [entry.id for entry in entries()]
    assert main(["corpus", "show", "opendp-rr-bool", "--details"]) == 0
    said = capsys.readouterr().out
    for part in ("issues/480", "opendp==0.4.0: must be REFUTED", "opendp==0.5.0, fixed release", "def release(data):"):
        assert part in said
    assert main(["corpus", "show", "nothing"]) == 2


def test_run_prints_n_of_m_and_writes_what_it_saw(
    own: Path, kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "seen.json"
    ask = ["corpus", "run", "tiny-noise", "--from", str(own), "--folder", str(kept), "--json", str(report)]
    assert main(ask) == 0
    said = capsys.readouterr().out
    assert "dpverdict-tiny==1.0: REFUTED; true 1, the release says 0.5" in said
    assert said.endswith("1 of 1 defects found in the versions that have them, 0 of 1 controls refuted\n")
    assert json.loads(report.read_text())[0]["broken"]["status"] == "REFUTED"


def test_run_says_that_there_is_no_package_index(
    own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "0")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    assert main(["corpus", "run", "--from", str(own), "--folder", str(tmp_path / "kept")]) == 3
    said = capsys.readouterr().out
    assert "NOT INSTALLABLE HERE" in said
    assert "no package index answers here" in said


def test_scan_names_what_is_installed_in_an_affected_version(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    version, path = importlib.metadata.version("numpy"), own / "tiny-noise.toml"
    text = path.read_text(encoding="utf-8").replace("dpverdict-tiny==1.0", f"numpy=={version}")
    text = text.replace("dpverdict-tiny", "numpy")
    path.write_text(text.replace("<1.1", f"<={version}").replace('"1.1"', '"9999"'), encoding="utf-8")
    assert main(["scan", "--from", str(own)]) == 1
    said = capsys.readouterr().out
    assert f"numpy {version}: noisy: no noise is added\n    update to 9999 or later; add the noise" in said
    path.write_text(text.replace("<1.1", f"<={version}").replace('fixed = "1.1"', ""), encoding="utf-8")
    assert main(["scan", "--from", str(own)]) == 1
    assert "no release mends it" in capsys.readouterr().out


def test_long_lines_are_broken_between_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "diffprivlib-linreg-intercept-budget"
    monkeypatch.setenv("COLUMNS", "1000")
    assert main(["corpus", "show", name]) == 0
    whole = capsys.readouterr().out
    assert max(map(len, whole.splitlines())) > 80
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["corpus", "show", name]) == 0
    broken = capsys.readouterr().out
    assert max(map(len, broken.splitlines())) <= 80
    assert broken.split() == whole.split()


def test_scan_of_an_environment_without_such_packages_is_clear(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", "--from", str(own)]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("0 known defects")
    assert "none of the packages" in printed.err


def test_scan_loads_no_package_and_no_numerics(tmp_path: Path) -> None:
    script = """if True:
        import sys
        from dpverdict.cli.application import main
        assert main(["scan"]) in (0, 1)
        numerics = {"numpy", "scipy", "flint", "mpmath"}
        heavy = numerics | {"torch", "diffprivlib", "opendp", "dp_accounting.privacy_accountant"}
        print(sorted(heavy & set(sys.modules)))
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
