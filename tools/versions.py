"""Run the tests in a fresh environment of every Python, at the oldest and at the newest versions of the dependencies.

The oldest versions are the lower bounds of pyproject.toml, or the oldest with a wheel for a Python that is newer than
they are. On the oldest Python every bound must be reached: a bound that another dependency forbids is a false promise.
What is tested is the commit (HEAD), not the working tree.

Usage: python tools/versions.py [--python 3.12 | --running] [--oldest | --newest] [--reduced] [-- arguments of pytest]
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UV = (sys.executable, "-m", "uv")
WITHOUT_WHEEL = ("autograd-gamma", "dpverdict")  # built from source; nothing else is
REDUCED = (  # every module, and what uses most of the dependencies
    *("tests/repo/test_docstrings.py", "tests/repo/test_packaging.py", "tests/unit/test_balls.py"),
    *("tests/unit/audit/scores/test_learned_scores.py", "tests/unit/audit/trials/test_engines.py"),
    *("tests/unit/audit/reports/test_drawing.py", "tests/unit/cli/test_application_errors.py", "tests/vectors"),
)
NOT_OLDEST = ("--ignore=tests/repo/test_types.py",)  # types are checked against the newest versions, in .ci/run
EXTRA = "dev"
PIP = "pip>=24"  # the test of the wheel installs with it


def interpreters() -> dict[str, str]:
    """The supported Pythons on this machine: the path by "3.11", oldest first."""
    supported = [line.rpartition(" ")[2] for line in _project()["classifiers"] if re.search(r"Python :: 3\.\d+$", line)]
    found: dict[str, str] = {}
    for version in supported:
        pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
        for path in (sys.executable, shutil.which(f"python{version}"), *map(str, pyenv)):
            if path is not None and _says(path) == version:
                found[version] = path
                break
    return found


def lower_bounds(extra: str, house: Path = ROOT) -> dict[str, str]:
    """The lower bound of every dependency, with those of an extra and of the extras it names."""
    project = _project(house)
    extras = project["optional-dependencies"]
    pending, bounds = [*project["dependencies"], *extras[extra]], {}
    while pending:
        name, named, version = re.fullmatch(r"([\w-]+)(?:\[(.*)\])?(?:[=>]=([\w.]+))?(?:,.*)?", pending.pop()).groups()
        if name == project["name"]:
            pending += [line for other in named.split(",") for line in extras[other]]
        elif bounds.setdefault(name, version) != version:
            raise SystemExit(f"{name} has two lower bounds in pyproject.toml: {bounds[name]} and {version}")
    return bounds


def not_reached(bounds: dict[str, str], installed: dict[str, str]) -> Iterator[str]:
    """Every dependency whose installed version is above its lower bound, of which 2.0.1 is a patch if it is 2.0."""
    for name, bound in sorted(bounds.items()):
        if not f"{installed[name]}.".startswith(f"{bound}."):
            yield f"{name}: {bound} is the bound, {installed[name]} is the oldest that can be installed"


def environment(path: str, house: Path, at: Path, *, oldest: bool) -> dict[str, str]:
    """Make a virtual environment with the package and all that its tests need; the installed versions by name."""
    resolution = "lowest-direct" if oldest else "highest"
    binary = ["--only-binary", ":all:", *(word for name in WITHOUT_WHEEL for word in ("--no-binary", name))]
    subprocess.run([*UV, "venv", "-q", "--python", path, at], check=True)
    python = at / "bin/python"
    command = [*UV, "pip", "install", "-q", "--python", python, "--resolution", resolution, *binary, f".[{EXTRA}]", PIP]
    subprocess.run(command, cwd=house, check=True)
    listed = subprocess.run(
        [*UV, "pip", "freeze", "-q", "--python", python], check=True, capture_output=True, text=True
    )
    return dict(line.split("==") for line in listed.stdout.split() if "==" in line)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", help="a version such as 3.12; all that are found if not given")
    parser.add_argument("--running", action="store_true", help="only the Python that runs this")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--oldest", action="store_true", help="the oldest versions of the dependencies only")
    which.add_argument("--newest", action="store_true", help="the newest versions of the dependencies only")
    parser.add_argument("--reduced", action="store_true", help="the self-test and a quick part of the tests only")
    parser.add_argument("arguments", nargs="*", help="of pytest, after --")
    options = parser.parse_args()
    found = interpreters()
    running = ["{}.{}".format(*sys.version_info)] if options.running else []
    chosen = [*(options.python or ()), *running] or list(found)
    for version in chosen:
        if version not in found:
            raise SystemExit(f"python {version} is not on this machine, or not supported; found: {', '.join(found)}")
    failed = 0
    for version in chosen:
        for oldest in [True] * (not options.newest) + [False] * (not options.oldest):
            failed += not _passes(version, found[version], oldest, options)
    return 1 if failed else 0


def _passes(version: str, path: str, oldest: bool, options: argparse.Namespace) -> bool:
    name = f"Python {version}, {'oldest' if oldest else 'newest'} versions"
    print(f"== {name}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        house, at, start = Path(folder) / "house", Path(folder) / "venv", time.monotonic()
        house.mkdir()
        command = ["git", "-c", "safe.directory=*", "-C", ROOT, "archive", "HEAD"]
        archive = subprocess.run(command, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", house], input=archive, check=True)
        installed = environment(path, house, at, oldest=oldest)
        above = list(not_reached(lower_bounds(EXTRA, house), installed)) if oldest else []
        print("\n".join(above), end="\n" if above else "")
        passed = not (above and version == min(interpreters()))
        tests = [*(REDUCED if options.reduced else ()), *options.arguments, *(NOT_OLDEST if oldest else ())]
        for command in (["dpverdict.cli", "selftest"], ["pytest", "-q", *tests]):
            environ = {**os.environ, "PATH": f"{at / 'bin'}{os.pathsep}{os.environ['PATH']}"}
            passed &= subprocess.run([at / "bin/python", "-m", *command], cwd=house, env=environ).returncode == 0
    print(f"== {name}: {'passed' if passed else 'FAILED'} in {time.monotonic() - start:.0f} s", flush=True)
    return passed


def _project(house: Path = ROOT) -> dict:
    return tomllib.loads((house / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _says(path: str) -> str | None:
    """What an interpreter says its version is; None of one that does not run, such as an unset shim of pyenv."""
    asked = "import sys; print('%d.%d' % sys.version_info[:2])"
    answer = subprocess.run([path, "-c", asked], capture_output=True, text=True)
    return answer.stdout.strip() if answer.returncode == 0 else None


if __name__ == "__main__":
    sys.exit(main())
