"""What the three packages show: a curated list; every name that was once importable from them still is."""

import ast
import importlib
import json
import pkgutil
import subprocess
import sys
import warnings
from pathlib import Path
from types import ModuleType

import pytest

import dpverdict

PACKAGES = ["dpverdict.audit", "dpverdict.mechanisms", "dpverdict.proofs"]
RELEASED = json.loads((Path(__file__).parent / "released_names.json").read_text(encoding="utf-8"))
"""The names that could be imported from each package before it had a curated list."""


def hidden_modules(package: ModuleType) -> list[str]:
    """The modules whose name in their parent is something else, which ``import a.b as c`` gives in their place."""
    found = []
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
            parent, _, name = module.name.rpartition(".")
            if not isinstance(getattr(importlib.import_module(parent), name), ModuleType):
                found.append(module.name)
    return found


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_shows_its_curated_names_and_nothing_else(name: str) -> None:
    package = importlib.import_module(name)
    assert dir(package) == sorted(package.__all__)
    assert len(package.__all__) == len(set(package.__all__)) < 60
    for shown in package.__all__:
        if shown != "broken":  # the zoo is a room
            assert not isinstance(getattr(package, shown), ModuleType), shown


@pytest.mark.parametrize("name", PACKAGES)
def test_every_released_name_can_still_be_imported(name: str) -> None:
    package = importlib.import_module(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a renamed one says so for one release
        assert [released for released in RELEASED[name] if not hasattr(package, released)] == []


def test_the_names_that_are_imported_on_use_are_those_that_type_checkers_see() -> None:
    package = importlib.import_module("dpverdict.audit")
    tree = ast.parse(Path(str(package.__file__)).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    seen = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert vars(package)["_MODULES"] == seen
    assert set(package.__all__) <= seen.keys()


def test_the_audits_are_imported_at_once_and_what_is_heavy_when_it_is_used() -> None:
    heavy = ("numpy", "scipy", "sympy", "matplotlib", "pandas", "sklearn", "dp_accounting", "flint", "rich")
    asked = f"import sys, dpverdict.audit; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[]"


def test_the_choices_that_error_messages_ask_for_are_exported() -> None:
    audit = importlib.import_module("dpverdict.audit")
    assert {"Direction", "NegativeMass"} <= set(audit.__all__)


def test_no_module_has_the_name_of_what_hides_it() -> None:
    assert hidden_modules(dpverdict) == []


def test_a_planted_hidden_module_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "planted").mkdir()
    (tmp_path / "planted/certify.py").write_text("def certify(): pass\n")
    (tmp_path / "planted/__init__.py").write_text("from planted.certify import certify\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert hidden_modules(importlib.import_module("planted")) == ["planted.certify"]
