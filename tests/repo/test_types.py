"""The types hold in strict mode, and the type checker does read all four folders."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ["audit", "mechanisms", "proofs"]

needs_links = pytest.mark.skipif(
    not all((ROOT / "src/dpverdict" / folder).is_symlink() for folder in FOLDERS),
    reason="the links in src/dpverdict are absent (a source archive, or a clone without symlinks)",
)


def mypy(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mypy", "--config-file", str(root / "pyproject.toml"), "-p", "dpverdict"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True)


@needs_links
def test_the_package_is_typed_in_strict_mode() -> None:
    checked = mypy(ROOT)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@needs_links
@pytest.mark.parametrize("folder", ["src/dpverdict", *FOLDERS])
def test_a_planted_type_error_is_found(tmp_path: Path, folder: str) -> None:
    """A house of the same shape, empty but for one fault: a checker that skips a folder would pass it."""
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    package = tmp_path / "src/dpverdict"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    for name in FOLDERS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        (package / name).symlink_to((ROOT / "src/dpverdict" / name).readlink())
    (tmp_path / folder / "canary.py").write_text("number: int = 'text'\n")
    checked = mypy(tmp_path)
    assert checked.returncode == 1, checked.stdout + checked.stderr
    assert "canary.py:1: error: Incompatible types in assignment" in checked.stdout
