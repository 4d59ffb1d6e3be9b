"""A small package in two releases, as wheels in a folder that stands in for a package index."""

import zipfile
from pathlib import Path

import pytest

ENTRY = """
id = "tiny-noise"
package = "dpverdict-tiny"
function = "noisy"
defect = "no noise is added"
reference = "a test"
affected = "<1.1"
fixed = "1.1"
instead = "add the noise"
kind = "KIND"
claim = "eps=1"
pair = "the numbers 1 and 0"
expected = "REFUTED"
samples = 200
reproduction = '''
import dpverdict_tiny

def release(data):
    return dpverdict_tiny.noisy(float(data[0]))

def pair():
    return [1.0], [0.0]

def number():
    return (1.0 if dpverdict_tiny.SCALE == 0 else 0.5), 0.5
'''

[broken]
install = ["dpverdict-tiny==1.0"]

[control]
is = "fixed release"
install = ["dpverdict-tiny==1.1"]
what = "the same"
"""
SOURCE = """
import random
SCALE = {scale}

def noisy(value):
    return value + SCALE * (random.expovariate(1) - random.expovariate(1))
"""


def make_wheel(folder: Path, version: str, scale: int) -> Path:
    """A release of the small package with noise of a scale."""
    path = folder / f"dpverdict_tiny-{version}-py3-none-any.whl"
    about = f"dpverdict_tiny-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("dpverdict_tiny/__init__.py", SOURCE.format(scale=scale))
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: dpverdict-tiny\nVersion: {version}\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        names = ["dpverdict_tiny/__init__.py", *(f"{about}/{name}" for name in ("METADATA", "WHEEL", "RECORD"))]
        wheel.writestr(f"{about}/RECORD", "".join(f"{name},,\n" for name in names))
    return path


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with release 1.0, which adds no noise, and 1.1, which does."""
    folder = tmp_path_factory.mktemp("releases")
    make_wheel(folder, "1.0", 0)
    make_wheel(folder, "1.1", 1)
    return folder


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the tests of a session install releases."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(autouse=True)
def only_local(monkeypatch: pytest.MonkeyPatch, releases: Path) -> None:
    """No test of this room asks a package index."""
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(releases))


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder with one entry, of the small package, which compares two numbers."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "tiny-noise.toml").write_text(ENTRY.replace("KIND", "numbers"), encoding="utf-8")
    return folder
