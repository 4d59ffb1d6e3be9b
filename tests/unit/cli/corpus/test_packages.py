"""A release is installed in a folder of its own, once; that it cannot be had is said in words."""

import importlib.metadata
from pathlib import Path

import pytest

from dpverdict.cli.corpus import packages
from dpverdict.cli.corpus.packages import NotInstallable, install, installed_here, missing


def test_a_release_is_installed_beside_what_is_here_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = install(["dpverdict-tiny==1.0"], tmp_path)
    assert folder is not None
    assert tmp_path in folder.parents
    assert (folder / "dpverdict_tiny/__init__.py").exists()
    assert not installed_here("dpverdict-tiny==1.0")
    assert [path for path in folder.parent.iterdir() if path != folder] == []
    monkeypatch.setattr(packages, "_pip_install", lambda *_: pytest.fail("it is there already"))
    assert install(["dpverdict-tiny==1.0"], tmp_path) == folder


def test_what_this_environment_has_needs_no_folder(tmp_path: Path) -> None:
    assert install([f"numpy=={importlib.metadata.version('numpy')}"], tmp_path / "none") is None
    assert not (tmp_path / "none").exists()
    assert missing(["numpy", "no-such-distribution"]) == ["no-such-distribution"]


def test_a_release_that_cannot_be_had_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(NotInstallable, match=r"dpverdict-tiny==9: No matching distribution found"):
        install(["dpverdict-tiny==9"], tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("WARNING: Retrying: NewConnectionError('refused')\nERROR: No matching distribution found for x", "no package"),
        ("ERROR: Could not find a version\nERROR: No matching distribution found for x==1", "No matching"),
        ("ERROR: something else\n", "something else"),
        ("", "it does not say why"),
    ],
)
def test_the_reason_is_the_first_that_helps(printed: str, said: str) -> None:
    assert packages._reason(printed).startswith(said)
