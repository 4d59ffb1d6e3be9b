"""A layer imports only what is to its left, and the folders are flat."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAYERS = [
    "errors",
    "balls",
    "mechanisms",
    "audit",
    "proofs",
    "selftest",
    "testing",
    "strategies",
    "pytest_plugin",
    "cli_options",
    "cli",
    "__main__",
]
FOLDERS = ["mechanisms", "audit", "proofs"]
ROOT_NAMES = {"__version__"}  # all that a layer may take from dpverdict itself: the rest of it reaches every layer


def imported_modules(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Every import of a module, at any depth, as (line, absolute dotted name)."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, name.name) for name in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                parents = package.split(".")[: package.count(".") + 2 - level] if level else []
                base = ".".join([*parents, *([module] if module else [])])
                yield from ((node.lineno, f"{base}.{name.name}") for name in names)
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield node.lineno, name


def violations(root: Path) -> list[str]:
    """Every import in the repository at `root` that goes to the right, or takes a folder by its generic name."""
    files = [(path.stem, "dpverdict", path) for path in sorted((root / "src/dpverdict").glob("*.py"))]
    files += [
        (folder, f"dpverdict.{folder}", path) for folder in FOLDERS for path in sorted((root / folder).glob("*.py"))
    ]
    found = []
    for layer, package, path in files:
        if layer == "__init__":  # the front door may lead to every layer
            continue
        if layer not in LAYERS:
            found.append(f"{path.relative_to(root)}: no layer is named for it; add it to LAYERS")
            continue
        for line, name in imported_modules(ast.parse(path.read_text(encoding="utf-8")), package):
            top, _, rest = name.partition(".")
            target = rest.partition(".")[0]
            if top in FOLDERS:
                reason = f"write dpverdict.{top}"
            elif top != "dpverdict" or target in ROOT_NAMES:
                continue
            elif target not in LAYERS:
                reason = "import from the module that defines it"
            elif LAYERS.index(target) > LAYERS.index(layer):
                reason = f"{layer} is to the left of {target}"
            else:
                continue
            found.append(f"{path.relative_to(root)}:{line}: imports {name}: {reason}")
    return found


def nested_modules(root: Path) -> list[str]:
    return [str(path.relative_to(root)) for folder in FOLDERS for path in sorted((root / folder).glob("*/**/*.py"))]


def test_every_layer_imports_only_what_is_to_its_left() -> None:
    assert violations(ROOT) == []


def test_the_folders_are_flat() -> None:
    assert nested_modules(ROOT) == []


@pytest.mark.parametrize(
    ("file", "source", "reason"),
    [
        ("mechanisms/a.py", "import dpverdict.audit.verdict", "mechanisms is to the left of audit"),
        ("mechanisms/a.py", "from dpverdict import audit", "mechanisms is to the left of audit"),
        ("mechanisms/a.py", "from ..audit import verdict", "mechanisms is to the left of audit"),
        ("mechanisms/a.py", "from dpverdict import certify", "import from the module that defines it"),
        ("mechanisms/a.py", "import dpverdict", "import from the module that defines it"),
        ("audit/a.py", "def f():\n    from dpverdict.proofs import verify", "audit is to the left of proofs"),
        ("audit/a.py", "import importlib\nimportlib.import_module('dpverdict.cli')", "audit is to the left of cli"),
        ("proofs/a.py", "from audit.verdict import Verdict", "write dpverdict.audit"),
        ("src/dpverdict/balls.py", "from .mechanisms import Noise", "balls is to the left of mechanisms"),
        ("src/dpverdict/errors.py", "import dpverdict.balls", "errors is to the left of balls"),
        ("src/dpverdict/extra.py", "", "no layer is named for it"),
    ],
)
def test_a_planted_violation_is_found(tmp_path: Path, file: str, source: str, reason: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(source)
    (found,) = violations(tmp_path)
    assert reason in found


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("src/dpverdict/balls.py", "from dpverdict.errors import PrecisionExhausted"),
        (
            "mechanisms/a.py",
            "from dpverdict.mechanisms.noise import Noise\nfrom .claim import Claim\nfrom . import claim",
        ),
        ("audit/a.py", "import numpy\nfrom dpverdict import __version__\nfrom dpverdict import balls, mechanisms"),
        ("src/dpverdict/cli.py", "from dpverdict.proofs import verify\nfrom dpverdict.audit import certify"),
    ],
)
def test_an_import_to_the_left_is_accepted(tmp_path: Path, file: str, source: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(source)
    assert violations(tmp_path) == []


def test_a_planted_subfolder_is_found(tmp_path: Path) -> None:
    (tmp_path / "audit/exact").mkdir(parents=True)
    (tmp_path / "audit/exact/kernel.py").touch()
    assert nested_modules(tmp_path) == ["audit/exact/kernel.py"]
