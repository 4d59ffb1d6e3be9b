"""What a result rests on: everything that was used is named, and any change of it is seen."""

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dpverdict.audit.isolation.provenance import Provenance, package_hash, read_provenance

MODULE = """
import glob, json, os
from pathlib import Path
import helper
from package import inner
from package.deep import deeper
try:
    import optional
except ImportError:
    optional = None
try:
    from package import absent
except ImportError:
    absent = None

HERE = Path(__file__).parent
TABLE = json.loads((HERE / "table.json").read_text())
NAMES = [Path(name).name for name in sorted(glob.glob(str(HERE / "data" / "*")))]
handle = os.open(HERE / "low.bin", os.O_RDONLY)
os.read(handle, 10)
os.close(handle)
try:
    open(HERE / "maybe.txt")
except OSError:
    pass
with open(HERE / "own.txt", "w") as file:
    file.write(str(os.getpid()))
assert (HERE / "own.txt").read_text()
"""
RUN = """
import sys
sys.path.insert(0, sys.argv[1])
import json
from dpverdict.audit.isolation.provenance import Recorder
recorder = Recorder()
with recorder.recording():
    import user
print(json.dumps(recorder.provenance().to_json()))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "user.py").write_text(MODULE)
    for name in ("helper.py", "package/__init__.py", "package/inner.py", "package/deep/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("VALUE = 1\n")
    (tmp_path / "package/deep/deeper.py").write_text("VALUE = 1\n")
    (tmp_path / "table.json").write_text("[1]")
    (tmp_path / "low.bin").write_bytes(b"1")
    (tmp_path / "data").mkdir()
    (tmp_path / "data/one.csv").write_text("1")
    return tmp_path


def provenance(folder: Path, before: str = "") -> Provenance:
    script = folder.parent / f"{folder.name}.run.py"
    script.write_text(RUN.replace("    import user\n", f"    import user\n    {before}\n"))
    done = subprocess.run([sys.executable, "-B", str(script), str(folder)], capture_output=True, check=True)
    return read_provenance(json.loads(done.stdout))


def write(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text)


CHANGES: dict[str, Callable[[Path], object]] = {
    "the module": write("user.py", MODULE + "\n"),
    "a module beside it": write("helper.py", "VALUE = 2\n"),
    "a package": write("package/__init__.py", "VALUE = 2\n"),
    "a module of a package": write("package/inner.py", "VALUE = 2\n"),
    "a module of a package in a package": write("package/deep/deeper.py", "VALUE = 2\n"),
    "a table": write("table.json", "[2]"),
    "a file read by a descriptor": write("low.bin", "2"),
    "a new file in a folder that was listed": write("data/two.csv", "2"),
    "a module that was not there": write("optional.py", ""),
    "a module of a package that was not there": write("package/absent.py", ""),
    "a package that was not there": lambda folder: (folder / "optional").mkdir(),
    "a file that was not there": write("maybe.txt", ""),
    "a file that is gone": lambda folder: (folder / "table.json").unlink(),
}


def test_every_change_is_seen(folder: Path) -> None:
    found = provenance(folder)
    assert found.unseen is None
    assert found.changed() is None
    assert read_provenance(json.loads(json.dumps(found.to_json()))) == found
    contents = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for what, change in CHANGES.items():
        change(folder)
        assert found.changed() is not None, what
        for path in sorted(folder.rglob("*"), reverse=True):
            if path.is_file() and path not in contents:
                path.unlink()
            elif path.is_dir() and not any(path.iterdir()):
                path.rmdir()
        for path, content in contents.items():
            path.write_bytes(content)
        assert found.changed() is None, what


def test_what_does_not_matter_changes_nothing(folder: Path) -> None:
    found = provenance(folder)
    (folder / "another.txt").write_text("beside it")
    (folder / "own.txt").write_text("what it wrote itself")
    assert found.changed() is None


def test_another_interpreter_or_distribution_is_seen(folder: Path) -> None:
    found = provenance(folder).to_json()
    assert found["distributions"]
    for change in ({"python": "cpython 2.7"}, {"distributions": {"numpy": ["0.1", "0"]}}):
        assert read_provenance({**found, **change}).changed() is not None


def test_what_a_build_leaves_in_a_folder_is_no_other_distribution(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The current folder may be searched in the process that compares, and not in the one that ran the audit."""
    found = provenance(folder, "import numpy")
    sources = tmp_path_factory.mktemp("sources")
    for name in found.distributions:
        (sources / f"{name}.egg-info").mkdir()
        (sources / f"{name}.egg-info" / "PKG-INFO").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.0.1\n")
    monkeypatch.syspath_prepend(sources)
    assert found.distributions
    assert importlib.metadata.version("numpy") == "0.0.1"
    assert found.changed() is None


UNSEEN = [
    "import subprocess; subprocess.run(['true'])",
    "import os; os.system('true')",
    "import os; os.fork() or os._exit(0)",
    "import socket; socket.socket().connect_ex(('127.0.0.1', 1))",
    "import sqlite3; sqlite3.connect(':memory:').close()",
    "import sys, types; sys.modules['h5py'] = types.ModuleType('h5py')",
    "user.HERE.joinpath('user.py').unlink()",
    "user.HERE.joinpath('helper.py').write_text('VALUE = 2')",
    "user.HERE.joinpath('table.json').write_text('[2]')",
    "exec(compile('', '<made>', 'exec')); import types; made = types.ModuleType('made'); made.__file__ = '<made>'; "
    "import sys; sys.modules['made'] = made",
]
SEEN = (
    "from dpverdict.audit.isolation.child import in_a_child; in_a_child(lambda: 1, kind=int, seconds=9)\n"
    "import importlib.util\n"
    "if importlib.util.find_spec('joblib'):\n"
    "    from joblib.externals.loky.backend import context\n"
    "    context._count_physical_cores()"
)
EACH = """
import json, os, sys
from dpverdict.audit.isolation.provenance import Recorder
for folder, use in json.loads(sys.argv[1]):
    if os.fork():
        os.wait()
        continue
    sys.path.insert(0, folder)
    recorder = Recorder()
    with recorder.recording():
        import user
        exec(use)
    print(json.dumps(recorder.provenance().to_json()), flush=True)
    os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="every use has a copy of one interpreter, made by a fork")
def test_what_cannot_be_seen_cannot_be_kept(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    places = [str(shutil.copytree(folder, tmp_path_factory.mktemp("use") / "of")) for _ in (*UNSEEN, SEEN)]
    asked = json.dumps(list(zip(places, (*UNSEEN, SEEN), strict=True)))
    done = subprocess.run([sys.executable, "-B", "-c", EACH, asked], capture_output=True, check=True)
    *unseen, seen = [read_provenance(json.loads(line)) for line in done.stdout.splitlines()]
    assert len(unseen) == len(UNSEEN)
    for use, found in zip(UNSEEN, unseen, strict=True):
        assert found.unseen is not None, use
        assert found.changed() == found.unseen
    assert seen.changed() is None


PANDAS = "import pandas; pandas.DataFrame({'city': ['Oslo', 'Rome']}).groupby('city').size()"
BY_ARROW = [
    f"{PANDAS}; pandas.DataFrame({{'age': [1]}}).to_parquet(user.HERE / 't'); pandas.read_parquet(user.HERE / 't')",
    f"{PANDAS}; from pyarrow import csv",
    f"{PANDAS}; (user.HERE / 'uses_it.py').write_text('import pyarrow\\npyarrow.OSFile(__file__)'); import uses_it",
    "import pyarrow",
]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="every use has a copy of one interpreter, made by a fork")
def test_pyarrow_counts_where_it_may_read_and_not_where_pandas_holds_columns_in_it(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for library in ("pandas", "pyarrow"):
        pytest.importorskip(library)
    uses = (*BY_ARROW, PANDAS)
    places = [str(shutil.copytree(folder, tmp_path_factory.mktemp("use") / "of")) for _ in uses]
    asked = json.dumps(list(zip(places, uses, strict=True)))
    done = subprocess.run([sys.executable, "-B", "-c", EACH, asked], capture_output=True, check=True)
    *unseen, seen = [read_provenance(json.loads(line)) for line in done.stdout.splitlines()]
    assert len(unseen) == len(BY_ARROW)
    for use, found in zip(BY_ARROW, unseen, strict=True):
        assert found.unseen is not None, use
        assert "pyarrow" in found.unseen
    assert "pandas" in seen.distributions
    assert seen.changed() is None


def test_both_grounds_hold(folder: Path) -> None:
    found = provenance(folder)
    former = Provenance(python=found.python, files={"/nowhere": "0"}, unseen=None)
    assert found.merge(former).changed() == "/nowhere was changed"


@pytest.mark.parametrize("fields", [None, [], {}, {"python": 1}, {"python": "", "files": []}])
def test_other_data_are_no_grounds(fields: object) -> None:
    with pytest.raises(ValueError, match="no provenance"):
        read_provenance(fields)


def test_the_package_has_one_hash() -> None:
    assert package_hash() == package_hash()
    assert len(package_hash()) == 64
