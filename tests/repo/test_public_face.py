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
    assert len(package.__all__) == len(set(package.__all__))
    for shown in package.__all__:
        if shown != "broken":  # the zoo is a room
            assert not isinstance(getattr(package, shown), ModuleType), shown


@pytest.mark.parametrize("name", PACKAGES)
def test_every_released_name_can_still_be_imported(name: str) -> None:
    package = importlib.import_module(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a renamed one says so for one release
        assert [released for released in RELEASED[name] if not hasattr(package, released)] == []


def test_the_packages_show_at_most_a_hundred_names() -> None:
    assert sum(len(importlib.import_module(name).__all__) for name in PACKAGES) <= 100


@pytest.mark.parametrize("name", PACKAGES)
def test_a_former_name_is_the_object_of_its_module_and_says_where_that_is(name: str) -> None:
    package = importlib.import_module(name)
    former = sorted(set(RELEASED[name]) - set(package.__all__))
    assert former
    for old in former:
        now_in = rf"^{name}\.{old} is now dpverdict\.(audit|mechanisms|proofs)\.\w+\."
        with pytest.warns(DeprecationWarning, match=now_in) as warned:
            found = getattr(package, old)
        module, _, now = str(warned[0].message).rpartition(" ")[2].rpartition(".")
        assert getattr(importlib.import_module(module), now) is found


HEAVY = (
    *("dp_accounting.pld", "dp_accounting.rdp", "scipy.special", "scipy.optimize", "scipy.signal", "scipy.stats"),
    *("scipy.linalg", "sympy", "mpmath", "matplotlib", "jinja2", "sklearn", "pandas", "distributed", "hypothesis"),
)
IMPORTED = {
    "the packages themselves": (
        "import dpverdict.audit, dpverdict.mechanisms, dpverdict.proofs",
        ("numpy", "flint", "scipy", "dp_accounting.privacy_accountant", "rich", *HEAVY),
    ),
    "a certificate": (
        "from dpverdict.audit import certify; from dpverdict.mechanisms import CorrelatedGaussian; "
        "certify(CorrelatedGaussian(dim=10, mu=1)).require()",
        ("rich", "typer", *HEAVY),
    ),
    "the list of mechanisms": (
        "import contextlib, io; from dpverdict.cli.application import main\n"
        "with contextlib.redirect_stdout(io.StringIO()): main(['list'])",
        HEAVY,
    ),
}
"""What is run, and what it must not import."""


def loaded(program: str, names: tuple[str, ...]) -> list[str]:
    """The modules of those names that a program has imported when it ends."""
    asked = f"import sys\n{program}\nprint([name for name in {names} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, timeout=120)
    return list(ast.literal_eval(done.stdout.strip()))


@pytest.mark.parametrize("what", IMPORTED)
def test_what_is_heavy_is_imported_when_it_is_used(what: str) -> None:
    assert loaded(*IMPORTED[what]) == []


def test_an_import_that_does_not_wait_is_found() -> None:
    assert loaded("import scipy; scipy.special.erf(1.0)", HEAVY)[:1] == ["scipy.special"]


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
