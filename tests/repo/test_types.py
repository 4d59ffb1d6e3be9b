"""The types hold in strict mode, and the type checker does read all four folders."""

import importlib.util
import re
import runpy
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


def pyright(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--project", str(root)]
    return subprocess.run(command, cwd=root, capture_output=True, text=True)


needs_pyright = pytest.mark.skipif(importlib.util.find_spec("pyright") is None, reason="pyright is not installed")
CHECKERS = {
    "mypy": (mypy, "error: Incompatible types in assignment"),
    "pyright": (pyright, "error: Type .*"),
}


@needs_links
@pytest.mark.slow  # the gate asks mypy and pyright themselves; below is shown that they read every folder
def test_the_package_is_typed_in_strict_mode() -> None:
    checked = mypy(ROOT)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@needs_links
@pytest.mark.parametrize("name", ["mypy", pytest.param("pyright", marks=needs_pyright)])
def test_a_planted_type_error_is_found_in_every_folder(tmp_path: Path, name: str) -> None:
    """A house of the same shape, empty but for a fault in each folder: a checker that skips one would not name it."""
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    package = tmp_path / "src/dpverdict"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    for made in FOLDERS:
        (tmp_path / made).mkdir()
        (tmp_path / made / "__init__.py").touch()
        (package / made).symlink_to((ROOT / "src/dpverdict" / made).readlink())
    for folder in ("src/dpverdict", *FOLDERS):
        (tmp_path / folder / f"canary_{Path(folder).name}.py").write_text("number: int = 'text'\n")
    checker, message = CHECKERS[name]
    checked = checker(tmp_path)
    assert checked.returncode == 1, checked.stdout + checked.stderr
    for folder in ("dpverdict", *FOLDERS):
        assert re.search(rf"canary_{folder}\.py:1\b.*{message}", checked.stdout), checked.stdout


def test_a_public_name_without_a_written_type_is_found() -> None:
    """What pyright says of the installed package is judged by public_types.py, in the gate."""
    untyped = runpy.run_path(str(ROOT / "tests/repo/public_types.py"))["untyped"]
    symbols = [
        {"name": f"dpverdict.{name}", "isExported": exported, "isTypeKnown": known, "diagnostics": []}
        for name, exported, known in (
            ("audit.certify", True, True),
            ("audit.canary", True, False),
            ("audit._private", False, False),
            ("proofs.checks.registry.canary", True, False),
            ("proofs.lebeda2024_algebra.x", True, False),
        )
    ]
    found = list(untyped({"typeCompleteness": {"symbols": symbols}}))
    assert [line.partition(":")[0] for line in found] == [
        "dpverdict.audit.canary",
        "dpverdict.proofs.checks.registry.canary",
    ]
