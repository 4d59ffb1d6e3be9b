"""The rooms and their order: a module imports only what is below it, no circle is drawn, and no room is crowded.

A room is a folder of modules; what stands beside each other in it are its files and its rooms. Every import, also one
inside a function or for type checkers only, is an arrow between two of them in the smallest room that holds both ends.
"""

import ast
import graphlib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = {"mechanisms": "mechanisms", "audit": "audit", "proofs": "proofs"}
ROOT_NAMES = {"__version__"}  # all that a module may take from dpverdict itself: the rest of it reaches every layer
MOST_BESIDE_EACH_OTHER = 12
MORE_ROOMS = {
    "dpverdict.audit": 17,
    "dpverdict.audit.laws": 24,
    "dpverdict.cli": 15,
}  # as there are subjects, laws, commands
FACES = {"dpverdict", *(f"dpverdict.{name}" for name in FOLDERS), "dpverdict.mechanisms.broken"}
"""Rooms whose ``__init__`` says more than its sentence: the public names, and the list of the zoo."""

LAYERS = {
    "dpverdict": (
        "errors suggestions lazy balls numerics cards risk checks audit.losses audit.sampling audit.laws mechanisms "
        "audit proofs testing strategies pytest_plugin cli"
    ),
    "dpverdict.mechanisms": "core queries streams finite keys local shuffled sums training tuning broken",
    "dpverdict.audit": (
        "documents losses sampling laws isolation trials tables statistics batches scores exact distinguishing "
        "implementation tracing reports runs comparisons"
    ),
    "dpverdict.audit.losses": (
        "domains curves lattice base closed_form finite laplace discrete_gaussian bounded contour spherical composition"
    ),
    "dpverdict.proofs": "checks verdicts ledger rocq * new_results",
}
"""What stands in a room, from the ground up: each imports only what is to its left. Other rooms have no fixed order.

A star stands for every room that is not named, here the papers, which do not import one another. A name with a dot is
a room of another folder that has a place of its own: the privacy losses lie below the mechanisms, which lie below the
rest of what audits them.
"""


def modules(root: Path) -> dict[str, Path]:
    """Every module of the product in the repository at ``root``, by its dotted name; a room by that of its folder."""
    found = {}
    for folder, package in [("src/dpverdict", "dpverdict"), *((name, f"dpverdict.{name}") for name in FOLDERS)]:
        for path in sorted((root / folder).rglob("*.py")):  # it does not descend into links
            parts = [package, *path.relative_to(root / folder).with_suffix("").parts]
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Every import, at any depth, as (line, absolute dotted name of a module or of a name in it)."""
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


@cache
def imports_of(text: str, package: str) -> tuple[tuple[int, str], ...]:
    """`imported` of the text of a module, which is parsed once for all tests."""
    return tuple(imported(ast.parse(text), package))


def arrows(root: Path) -> Iterator[tuple[str, str, str, str]]:
    """Every import between two modules of the product: where it is, who imports, what, and the name taken from it."""
    found = modules(root)
    for module, path in found.items():
        if module == "dpverdict":  # the front door may lead to every layer
            continue
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        for line, name in imports_of(path.read_text(encoding="utf-8"), package):
            top, _, rest = name.partition(".")
            if top in FOLDERS or (top == "dpverdict" and rest):
                target = name if name in found else name.rpartition(".")[0]
                yield f"{path.relative_to(root)}:{line}", module, target, name


def beside(module: str, target: str) -> tuple[str, str, str] | None:
    """The smallest room that holds both, and what leads to each there; None where one of them is that room."""
    ours, theirs = module.split("."), target.split(".")
    shared = 0
    while shared < min(len(ours), len(theirs)) and ours[shared] == theirs[shared]:
        shared += 1
    if shared == len(ours) or shared == len(theirs):
        return None
    room = ".".join(ours[:shared])
    return room, step(room, ours[shared:]), step(room, theirs[shared:])


def step(room: str, path: list[str]) -> str:
    """What leads from a room to a module in it: a name beside it, or a room further in that has a place of its own."""
    longer = ".".join(path[:2])
    return longer if longer in LAYERS.get(room, "").split() else path[0]


def violations(root: Path, layers: dict[str, str] = LAYERS) -> list[str]:
    """Every import that goes to the right, reaches a room from inside it, or takes a folder by its generic name."""
    order = {room: names.split() for room, names in layers.items()}
    found = []
    for module, path in modules(root).items():
        room, _, name = module.rpartition(".")
        if room in order and not {name, "*"} & set(order[room]):
            found.append(f"{path.relative_to(root)}: no layer of {room} is named for it; add it to LAYERS")
    for where, module, target, name in arrows(root):
        top, _, rest = name.partition(".")
        met = beside(module, target)
        if top in FOLDERS:
            found.append(f"{where}: write dpverdict.{top}")
        elif target == "dpverdict" and rest in ROOT_NAMES:
            continue
        elif met is None:
            if module not in FACES and module != target:
                found.append(f"{where}: imports {name}: import from the module that defines it")
        elif met[0] in order:
            named = order[met[0]]
            places = [named.index(end if end in named else "*") for end in met[1:] if {end, "*"} & set(named)]
            if len(places) == 2 and places[1] > places[0]:
                found.append(f"{where}: imports {name}: {met[1]} is to the left of {met[2]}")
            elif len(places) == 2 and places[0] == places[1]:
                found.append(f"{where}: imports {name}: {met[1]} and {met[2]} stand beside each other")
    return found


def circles(root: Path) -> list[str]:
    """One circle of imports for every room in which there is one, with the lines that draw it."""
    drawn: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    for where, module, target, _ in arrows(root):
        met = beside(module, target)
        if met is not None:
            drawn[met[0]][met[1]].setdefault(met[2], where)
    found = []
    for room, graph in drawn.items():
        try:
            graphlib.TopologicalSorter(graph).prepare()
        except graphlib.CycleError as error:
            walk = error.args[1][::-1]  # each imports the next
            steps = [f"{a} -> {b} ({graph[a][b]})" for a, b in pairwise(walk)]
            found.append(f"in {room}: {', '.join(steps)}")
    return found


KINDS = {
    f"dpverdict.mechanisms.{room}"
    for room in ("queries", "streams", "finite", "keys", "local", "shuffled", "sums", "training", "tuning", "broken")
}
"""The rooms of single mechanisms: what decides about all of them knows none."""


def named_kinds(root: Path) -> list[str]:
    """Every import of a module of single mechanisms in the room of the decision."""
    return [
        f"{where}: imports {name}"
        for where, module, target, name in arrows(root)
        if module.startswith("dpverdict.audit.exact.") and any(f"{target}.".startswith(f"{kind}.") for kind in KINDS)
    ]


def mostly_none(root: Path) -> list[str]:
    """The data classes of the core with more than one field that is None unless it is given."""
    found = []
    for folder in ("mechanisms/core", "audit/exact"):
        for path in sorted((root / folder).glob("*.py")):
            for kind in (one for one in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(one, ast.ClassDef)):
                fields = [one for one in kind.body if isinstance(one, ast.AnnAssign) and one.value is not None]
                empty = [ast.unparse(one.target) for one in fields if ast.unparse(one.value or one) == "None"]
                if len(empty) > 1 and kind.name not in MAY_BE_EMPTY:
                    found.append(f"{path.relative_to(root)}: {kind.name}: {', '.join(empty)}")
    return found


MAY_BE_EMPTY = {"Verdict", "Parameter"}  # one of three kinds of evidence; words for the command line


def crowded(root: Path) -> list[str]:
    """The rooms with more files and rooms beside each other than they may have; what is linked lies elsewhere."""
    inside = defaultdict(set)
    for module in modules(root):
        room, _, name = module.rpartition(".")
        if room != "dpverdict" or name not in FOLDERS:
            inside[room].add(name)
    most = {room: MORE_ROOMS.get(room, MOST_BESIDE_EACH_OTHER) for room in inside}
    return [f"{room}: {len(names)}" for room, names in inside.items() if room and len(names) > most[room]]


def not_one_sentence(root: Path) -> list[str]:
    """The rooms whose ``__init__`` is missing, or holds anything but a docstring of one sentence."""
    found = []
    for folder in [root / "src/dpverdict", *(root / name for name in FOLDERS)]:
        for room in sorted({path.parent for path in folder.rglob("*.py")} - {folder}):
            face = room / "__init__.py"
            tree = ast.parse(face.read_text(encoding="utf-8")) if face.exists() else ast.parse("")
            sentence = ast.get_docstring(tree) or ""
            name = ".".join(["dpverdict", *room.relative_to(root).parts]).replace(
                "dpverdict.src.dpverdict", "dpverdict"
            )
            if name not in FACES and (len(tree.body) != 1 or not sentence or "\n\n" in sentence):
                found.append(str(room.relative_to(root)))
    return found


def test_every_module_imports_only_what_is_below_it() -> None:
    assert violations(ROOT) == []


def test_no_circle_is_drawn() -> None:
    assert circles(ROOT) == []


def test_the_decision_knows_no_single_mechanism() -> None:
    assert named_kinds(ROOT) == []


def test_no_data_class_of_the_core_is_mostly_empty() -> None:
    assert mostly_none(ROOT) == []


def test_a_decision_that_knows_a_mechanism_and_a_class_of_exceptions_are_found(tmp_path: Path) -> None:
    plant(
        tmp_path,
        audit__exact__a="def f():\n    from dpverdict.mechanisms.training.dp_sgd import DPSGD",
        mechanisms__training__dp_sgd="class DPSGD: ...",
        mechanisms__core__a="class Case:\n    a: int\n    b: int | None = None\n    c: int | None = None",
    )
    assert named_kinds(tmp_path) == ["audit/exact/a.py:2: imports dpverdict.mechanisms.training.dp_sgd.DPSGD"]
    assert mostly_none(tmp_path) == ["mechanisms/core/a.py: Case: b, c"]


def test_no_room_is_crowded() -> None:
    assert crowded(ROOT) == []


def test_a_room_is_one_sentence() -> None:
    assert not_one_sentence(ROOT) == []


def plant(root: Path, **files: str) -> Path:
    """A small house: source by path, with ``__`` for a slash."""
    for name, source in files.items():
        path = root / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return root


@pytest.mark.parametrize(
    ("file", "source", "reason"),
    [
        ("mechanisms/core/a.py", "import dpverdict.audit.exact.verdict", "mechanisms is to the left of audit"),
        ("audit/losses/base.py", "import dpverdict.mechanisms.queries.b", "audit.losses is to the left of mechanisms"),
        ("audit/losses/a.py", "from dpverdict.audit.sampling import b", "losses is to the left of sampling"),
        ("mechanisms/core/a.py", "from dpverdict import audit", "mechanisms is to the left of audit"),
        ("mechanisms/core/a.py", "from ...audit.exact import verdict", "mechanisms is to the left of audit"),
        ("mechanisms/core/a.py", "from dpverdict import certify", "import from the module that defines it"),
        ("mechanisms/core/a.py", "from dpverdict.mechanisms.queries.b import c", "core is to the left of queries"),
        ("audit/losses/curves.py", "from dpverdict.audit.losses import base", "curves is to the left of base"),
        (
            "audit/exact/a.py",
            "def f():\n    from dpverdict.audit.reports import html",
            "exact is to the left of reports",
        ),
        ("audit/exact/a.py", "if TYPE_CHECKING:\n    import dpverdict.proofs", "audit is to the left of proofs"),
        ("audit/exact/a.py", "from dpverdict.audit import certify", "import from the module that defines it"),
        (
            "audit/exact/a.py",
            "import importlib\nimportlib.import_module('dpverdict.cli')",
            "audit is to the left of cli",
        ),
        ("proofs/checks/a.py", "from audit.exact.verdict import Verdict", "write dpverdict.audit"),
        ("src/dpverdict/balls.py", "from .mechanisms import Noise", "balls is to the left of mechanisms"),
        ("proofs/old2024/a.py", "import dpverdict.proofs.new_results", "old2024 is to the left of new_results"),
        (
            "proofs/old2024/a.py",
            "from dpverdict.proofs.new2025 import b",
            "old2024 and new2025 stand beside each other",
        ),
        ("src/dpverdict/extra.py", "", "no layer of dpverdict is named for it"),
        ("audit/hall/a.py", "", "no layer of dpverdict.audit is named for it"),
    ],
)
def test_a_planted_violation_is_found(tmp_path: Path, file: str, source: str, reason: str) -> None:
    house = {"audit/__init__.py": "", "mechanisms/__init__.py": "", "audit/exact/__init__.py": ""}
    house |= {"proofs/__init__.py": "", "src/dpverdict/cli/__init__.py": "", "audit/exact/verdict.py": ""}
    house |= {"audit/losses/base.py": "", "audit/reports/html.py": "", "mechanisms/queries/b.py": "", file: source}
    if "/old2024/" in file:
        house |= {"proofs/old2024/__init__.py": "", "proofs/new_results/__init__.py": ""}
        house |= {"proofs/new2025/__init__.py": "", "proofs/new2025/b.py": ""}
    if "/hall/" in file:
        house["audit/hall/__init__.py"] = ""
    for path, text in house.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert [line for line in violations(tmp_path) if line.startswith(file.removesuffix("a.py")) and reason in line]


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("src/dpverdict/balls.py", "from dpverdict.errors import PrecisionExhausted"),
        (
            "mechanisms/core/a.py",
            "from dpverdict.mechanisms.core.noise import Noise\nfrom .b import c\nfrom . import b",
        ),
        (
            "audit/exact/a.py",
            "import numpy\nfrom dpverdict import __version__\nfrom dpverdict import balls, mechanisms",
        ),
        ("mechanisms/core/a.py", "from dpverdict.audit.losses.base import PrivacyLoss"),
        ("src/dpverdict/cli/a.py", "from dpverdict.proofs import verify\nfrom dpverdict.audit import certify"),
        ("audit/__init__.py", "from dpverdict.audit.exact.decide import certify"),
    ],
)
def test_an_import_to_the_left_is_accepted(tmp_path: Path, file: str, source: str) -> None:
    house = {"src/dpverdict/errors.py": "", "src/dpverdict/balls.py": "", "mechanisms/__init__.py": ""}
    house |= {"audit/losses/base.py": ""}
    house |= {"mechanisms/core/b.py": "c = 1", "audit/__init__.py": "", "proofs/__init__.py": "", file: source}
    for path, text in house.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert violations(tmp_path) == []


def test_a_planted_circle_is_drawn_with_its_lines(tmp_path: Path) -> None:
    plant(
        tmp_path,
        audit__exact__a="def f():\n    from dpverdict.audit.exact import b",
        audit__exact__b="from dpverdict.audit.exact.c import d",
        audit__exact__c="import dpverdict.audit.exact.a",
    )
    (found,) = circles(tmp_path)
    assert found.startswith("in dpverdict.audit.exact: ")
    for step in ("a -> b (audit/exact/a.py:2)", "b -> c (audit/exact/b.py:1)", "c -> a (audit/exact/c.py:1)"):
        assert step in found


def test_a_circle_of_rooms_is_drawn(tmp_path: Path) -> None:
    plant(
        tmp_path,
        audit__losses__lattice__law="from dpverdict.audit.losses.base import PrivacyLoss",
        audit__losses__base="from dpverdict.audit.losses.lattice.law import LatticeLaw",
    )
    assert "lattice -> base" in circles(tmp_path)[0]


def test_a_crowded_room_and_a_room_that_says_more_are_found(tmp_path: Path) -> None:
    plant(tmp_path, **{f"audit__exact__f{number}": "" for number in range(MOST_BESIDE_EACH_OTHER + 1)})
    (tmp_path / "audit/exact/__init__.py").touch()
    assert crowded(tmp_path) == ["dpverdict.audit.exact: 13"]
    for source in ("", '"""Two paragraphs.\n\nThis is one too many."""', '"""A sentence."""\nfrom os import path'):
        (tmp_path / "audit/exact/__init__.py").write_text(source)
        assert not_one_sentence(tmp_path) == ["audit/exact"]


def test_contributing_names_every_room_of_the_three_folders() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rooms = [room for folder in ("mechanisms", "audit") for room in LAYERS[f"dpverdict.{folder}"].split()]
    assert len(rooms) >= 18
    assert [room for room in rooms if f"`{room}`" not in text] == []
