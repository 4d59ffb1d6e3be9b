"""The names of a package are imported when they are used, and a package whose ``__init__`` waits stays that package."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from dpverdict.lazy import defer, public_names

FRAME = """
from {package} import inner
from {package}.inner import Kind
import {package}.slow
OWN = Kind.ONE
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package whose ``__init__`` imports a module that notes each time that it runs."""
    folder = tmp_path / "laden"
    folder.mkdir()
    (folder / "__init__.py").write_text(FRAME.format(package="laden"))
    (folder / "inner.py").write_text("import enum\nfrom laden import below\nclass Kind(enum.Enum):\n    ONE = 1\n")
    (folder / "below.py").write_text("")
    (folder / "slow.py").write_text("import sys, time\ntime.sleep(0.05)\nsys.ran = getattr(sys, 'ran', 0) + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "ran", 0, raising=False)
    yield "laden"
    for name in [name for name in sys.modules if name.partition(".")[0] == "laden"]:
        del sys.modules[name]


def test_a_module_of_a_deferred_package_is_imported_without_its_init(package: str) -> None:
    defer(package)
    import laden.inner  # type: ignore[import-not-found]

    assert (sys.ran, "laden.slow" in sys.modules) == (0, False)  # type: ignore[attr-defined]
    assert laden.inner.below is sys.modules["laden.below"]


def test_a_class_stays_the_same_class_when_the_package_is_used(package: str) -> None:
    defer(package)
    import laden
    from laden.inner import Kind

    before = laden
    assert laden.Kind is Kind
    assert laden.OWN is Kind.ONE
    assert sys.ran == 1  # type: ignore[attr-defined]
    assert sys.modules[package] is before
    assert "__getattr__" not in vars(laden)
    assert "__dir__" not in vars(laden)
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        _ = laden.absent


@pytest.mark.parametrize("ask", ["from laden import *", "import laden; laden.OWN", "import laden; laden.__dir__()"])
def test_whatever_asks_for_what_the_init_defines_finds_it(package: str, ask: str) -> None:
    defer(package)
    exec(ask, {})
    assert sys.ran == 1  # type: ignore[attr-defined]


def test_the_init_runs_once_when_many_threads_ask_at_once(package: str) -> None:
    defer(package)
    import laden

    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(laden.OWN)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [laden.Kind.ONE] * 8
    assert sys.ran == 1  # type: ignore[attr-defined]


def test_an_init_that_fails_fails_again_for_whoever_asks_again(package: str, tmp_path: Path) -> None:
    (tmp_path / "laden/slow.py").write_text("raise ImportError('no such library')")
    defer(package)
    import laden

    for _ in range(2):
        with pytest.raises(ImportError, match="no such library"):
            _ = laden.OWN


def test_a_package_that_was_imported_before_stays_as_it_is(package: str) -> None:
    import laden

    defer(package)
    assert sys.modules[package] is laden
    assert sys.ran == 1  # type: ignore[attr-defined]


def test_a_package_that_is_not_installed_is_not_found() -> None:
    defer("no_such_package_anywhere")
    with pytest.raises(ModuleNotFoundError, match="no_such_package_anywhere"):
        import no_such_package_anywhere  # type: ignore[import-not-found]  # noqa: F401


BEFORE_OR_AFTER = {
    "dp_accounting first": "import dp_accounting\nimport dpverdict.mechanisms as ours",
    "dpverdict first": "import dpverdict.mechanisms as ours\nours.REPLACE_ONE\nimport dp_accounting",
}


@pytest.mark.few(1)
@pytest.mark.parametrize("order", BEFORE_OR_AFTER)
def test_the_neighbouring_relation_is_that_of_dp_accounting(order: str) -> None:
    """One class, whichever package is imported first, and all that dp_accounting has is still there."""
    program = f"""{BEFORE_OR_AFTER[order]}
import pickle
relation = dp_accounting.NeighboringRelation
assert ours.REPLACE_ONE is relation.REPLACE_ONE
assert isinstance(ours.ADD_OR_REMOVE_ONE, relation)
assert pickle.loads(pickle.dumps(relation.REPLACE_ONE)) is ours.REPLACE_ONE
ours.StandardGaussian(dim=1, mu=1, adjacency=relation.REPLACE_ONE)
assert dp_accounting.pld.PLDAccountant(relation.REPLACE_ONE).neighboring_relation is ours.REPLACE_ONE
print(sorted(name for name in vars(dp_accounting) if not name.startswith("__")))
"""
    plain = 'import dp_accounting; print(sorted(name for name in vars(dp_accounting) if not name.startswith("__")))'
    said = [
        subprocess.run([sys.executable, "-c", one], capture_output=True, text=True, check=True, timeout=120).stdout
        for one in (program, plain)
    ]
    assert said[0] == said[1]


def test_the_names_of_a_package_are_those_of_its_stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "listed.pyi").write_text(
        "from fractions import Fraction as Fraction\nfrom json import dumps as dumps\n"
    )
    module = ModuleType("listed")
    monkeypatch.setitem(sys.modules, "listed", module)
    get, names, public = public_names("listed", str(tmp_path / "listed.py"), former={"math": "sqrt root=isqrt"})
    assert (public, names()) == (["Fraction", "dumps"], ["Fraction", "dumps"])
    assert get("dumps") is __import__("json").dumps
    assert vars(module)["dumps"] is get("dumps")
    with pytest.warns(DeprecationWarning, match="listed.root is now math.isqrt"):
        assert get("root") is __import__("math").isqrt
    with pytest.raises(AttributeError, match="'listed' has no attribute 'absent'"):
        get("absent")
