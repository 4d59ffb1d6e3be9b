"""The wheel and the source archive hold every file of the house, and what they hold imports."""

import importlib.metadata
import os
import runpy
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {"dpverdict": "src/dpverdict", **{f"dpverdict/{name}": name for name in ("audit", "mechanisms", "proofs")}}
SHIPPED = {".py", ".pyi", ".j2", ".css", ".js", ".json", ".toml", ".typed", ".v"}
build = runpy.run_path(str(ROOT / "tools/build.py"))["build"]
EPOCH = 1_700_000_000
RECENT = int(importlib.metadata.version("setuptools").partition(".")[0]) >= 77
LEFTOVERS = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")


def run(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True
    )


def source_files(root: Path) -> dict[str, str]:
    """Every file that must be shipped: its path in the repository, by its path in the wheel."""
    return {
        f"{package}/{path.relative_to(root / folder).as_posix()}": path.relative_to(root).as_posix()
        for package, folder in PACKAGES.items()
        for path in (root / folder).rglob("*")  # does not descend into links
        if path.is_file() and path.suffix in SHIPPED
    }


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean copy of the repository with its source archive, and the wheel built from that archive, in dist/."""
    copy = tmp_path_factory.mktemp("packaging") / "house"
    shutil.copytree(ROOT, copy, symlinks=True, ignore=LEFTOVERS)
    shutil.copytree(ROOT / ".ci", copy / ".ci")
    build(copy, copy / "dist", EPOCH, isolated=not RECENT)
    return copy


@pytest.mark.slow
def test_whoever_builds_gets_the_same_bytes(house: Path, tmp_path: Path) -> None:
    """Another place, other times of the files, other permissions."""
    copy = shutil.copytree(house, tmp_path / "elsewhere", symlinks=True, ignore=LEFTOVERS)
    shutil.copytree(house / ".ci", copy / ".ci")
    for path in copy.rglob("*"):
        if not path.is_symlink():
            os.utime(path, (1, 1))
            path.chmod(path.stat().st_mode | 0o020)
    built = build(copy, copy / "dist", EPOCH, isolated=not RECENT)
    assert len(built) == 2
    for path in built:
        assert path.read_bytes() == (house / "dist" / path.name).read_bytes(), path.name


@pytest.fixture(scope="module")
def wheel(house: Path) -> Path:
    (wheel,) = house.glob("dist/*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, installed in a folder of its own; its dependencies are those of the running interpreter."""
    target = tmp_path_factory.mktemp("installed")
    done = run(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", target, wheel, cwd=target)
    assert done.returncode == 0, done.stdout + done.stderr
    return target


def wheel_files(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("dpverdict/")}


def test_the_wheel_holds_the_source_files_and_nothing_else(house: Path, wheel: Path) -> None:
    assert wheel_files(wheel) == set(source_files(house))


def test_a_file_that_the_wheel_misses_is_found(house: Path, wheel: Path, tmp_path: Path) -> None:
    shutil.copytree(house, tmp_path / "house", symlinks=True)
    planted = tmp_path / "house/audit/forgotten/kernel.py"
    planted.parent.mkdir()
    planted.touch()
    assert set(source_files(tmp_path / "house")) - wheel_files(wheel) == {"dpverdict/audit/forgotten/kernel.py"}


def test_the_source_archive_holds_the_house_and_its_tests_once(house: Path) -> None:
    (archive,) = house.glob("dist/*.tar.gz")
    with tarfile.open(archive) as contents:
        names = {name.partition("/")[2] for name in contents.getnames()}
    tests = {path.relative_to(house).as_posix() for path in (house / "tests").rglob("*") if path.is_file()}
    rest = {"pyproject.toml", ".ci/run", "LICENSE", "CITATION.cff", *(path.name for path in ROOT.glob("*.md"))}
    assert {*source_files(house).values(), *tests, *rest} <= names
    assert not [name for name in names if name.startswith(("src/dpverdict/audit/", "build/", "src/dpverdict/proofs/"))]


def test_every_module_of_the_wheel_imports(installed: Path, tmp_path: Path) -> None:
    script = """if True:
        import importlib, pkgutil, sys, dpverdict
        names = [module.name for module in pkgutil.walk_packages(dpverdict.__path__, "dpverdict.")]
        assert {"dpverdict.audit", "dpverdict.mechanisms", "dpverdict.proofs"} <= set(names), names
        for name in names:
            if not name.endswith(".__main__"):
                assert importlib.import_module(name).__file__.startswith(sys.argv[1]), name
    """
    done = run(sys.executable, "-c", script, installed, cwd=tmp_path, PYTHONPATH=str(installed))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_wheel_names_its_command_and_its_version(installed: Path) -> None:
    (metadata,) = importlib.metadata.distributions(name="dpverdict", path=[str(installed)])
    (command,) = metadata.entry_points.select(group="console_scripts")
    assert (command.name, command.value) == ("dpverdict", "dpverdict.cli.application:main")
    assert metadata.version == importlib.import_module("dpverdict").__version__


@pytest.mark.few(1)
@pytest.mark.parametrize("folder", ["audit", "mechanisms", "proofs"])
def test_a_folder_taken_by_its_generic_name_says_its_real_one(folder: str) -> None:
    done = run(sys.executable, "-c", f"import {folder}", cwd=ROOT)
    assert done.returncode != 0
    assert f"ImportError: this folder is installed as dpverdict.{folder}" in done.stderr


def test_the_front_door_loads_no_numerics(tmp_path: Path) -> None:
    script = "import sys, dpverdict; print({'numpy', 'scipy', 'matplotlib', 'dpverdict.audit'} & set(sys.modules))"
    done = run(sys.executable, "-c", script, cwd=tmp_path)
    assert done.stdout.strip() == "set()", done.stdout + done.stderr
