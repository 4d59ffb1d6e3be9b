"""Which file a module name stands for: code under audit finds the modules beside it first, and its judges never do.

A script finds what lies beside it before anything installed, and so must code under audit. But what is imported later
to judge it (a part of SciPy, a template library) is searched on the same path, and a ``statistics.py`` of the user's
would judge in its place. So the user's folders stand last on ``sys.path``, and a finder puts them first for code
that lies in them.

A module is loaded once for all, so one name cannot stand for two files. Where the user's code imports a name that
Python, or a package that judges, has as well, the audit is refused, and the file is named.
"""

from __future__ import annotations

import ast
import importlib.metadata
import os
import re
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader, all_suffixes
from types import FrameType, ModuleType
from typing import Any, Final, final

from dpverdict.audit.isolation.provenance import distribution_of, installed_folders, search_first
from dpverdict.errors import DpverdictError


class SharedName(DpverdictError):
    """Code under audit imports a name that stands for its own file and for a module that the verdict rests on."""

    def __init__(self, name: str, file: str) -> None:
        super().__init__(
            f"{file} has the name of a module {name} on which the verdict may rest, and the code under audit imports "
            "it: give the file another name"
        )


@final
class AsWritten(SourceFileLoader):
    """Compiles a file as it is now.

    Python takes a file for unchanged if its size and the second of its last change are: a constant mended a moment
    after a run would be audited as it was.
    """

    def path_stats(self, path: str) -> Mapping[str, Any]:
        """No state by which compiled code could be found or kept."""
        raise OSError(path)


def as_written(spec: ModuleSpec) -> ModuleSpec:
    """The same module, compiled from its source if it has one."""
    if type(spec.loader) is SourceFileLoader:
        spec.loader, spec.cached = AsWritten(spec.loader.name, spec.loader.path), None
    return spec


@final
class _Beside:
    """Finds modules in the user's folders, for imports by code that lies in them."""

    def __init__(self) -> None:
        self.folders: list[str] = []
        self.asked_by_name = False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module beside the user's code; None for any other import, which takes the path as it stands."""
        if path is not None:  # a part of a package; where that is the user's, so is the part
            theirs = bool(path) and all(self.holds(os.path.join(entry, "")) for entry in path)
            part = PathFinder.find_spec(name, path) if theirs else None
            return None if part is None else as_written(part)
        if not (self.asked_by_name or self._asked_by_user()):
            return None
        spec = PathFinder.find_spec(name, self.folders)
        if spec is None or spec.origin is None:  # a folder without __init__.py gives way to every other module
            return None
        if _is_needed(name, self.folders):
            raise SharedName(name, spec.origin)
        return as_written(spec)

    def _asked_by_user(self) -> bool:
        frame: FrameType | None = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]  # the stack has no other name
        while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(("importlib", "_frozen_")):
            frame = frame.f_back
        return frame is not None and self.holds(frame.f_code.co_filename)

    def holds(self, file: str) -> bool:
        """Whether a file is one of the user's own, in a folder or below it."""
        return bool(self.around(file))

    def around(self, file: str) -> str:
        """The innermost of the user's folders that a file of theirs lies in or below; empty for any other file."""
        path = os.path.abspath(file)
        if path.startswith(installed_folders()):
            return ""
        return max((folder for folder in self.folders if path.startswith(folder + os.sep)), key=len, default="")


_BESIDE: Final = _Beside()


def search_beside(folder: str) -> None:
    """Let code in this folder, or below it, find the modules of the folder first, and all other code find them last.

    Args:
        folder: an absolute path.
    """
    if folder not in _BESIDE.folders:
        _BESIDE.folders.insert(0, folder)
        search_first(folder)
    if folder not in sys.path:
        sys.path.append(folder)
    if _BESIDE not in sys.meta_path:
        finder: Any = _BESIDE
        sys.meta_path.insert(0, finder)


def folders_beside() -> tuple[str, ...]:
    """The folders that were given to `search_beside`, to give them to another process."""
    return tuple(reversed(_BESIDE.folders))


@contextmanager
def asked_by_name() -> Generator[None]:
    """Inside, an import is that of a module which the user names: theirs comes first."""
    former, _BESIDE.asked_by_name = _BESIDE.asked_by_name, True
    try:
        yield
    finally:
        _BESIDE.asked_by_name = former


def refuse_shared_names() -> None:
    """Look at every loaded module of the user: what it imports must be the file beside it, if there is one.

    Raises:
        SharedName: something else of that name was loaded before, which the user's code then got.
    """
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or not file.endswith(".py") or not (around := _BESIDE.around(file)):
            continue
        for name in _imported_by(file, _state(file)):
            beside = _file_beside(name, around)
            loaded = getattr(sys.modules.get(name), "__file__", None)
            if beside is not None and name in sys.modules and not _is_same_file(loaded, beside):
                raise SharedName(name, beside)


def _is_same_file(loaded: object, beside: str) -> bool:
    return isinstance(loaded, str) and os.path.realpath(loaded) == os.path.realpath(beside)


def _state(file: str) -> int | None:
    try:
        return os.stat(file).st_mtime_ns
    except OSError:
        return None


@lru_cache(maxsize=4096)  # more than the files of a project: every one is asked for at every load
def _imported_by(file: str, state: int | None) -> tuple[str, ...]:
    """The first parts of the names that a file imports, anywhere in it; none of a file that cannot be read."""
    found = set[str]()
    try:
        with open(file, "rb") as opened:
            tree = ast.parse(opened.read())
    except (OSError, SyntaxError, ValueError):
        return ()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            found.add(node.module.partition(".")[0])
    return tuple(sorted(found))


def _file_beside(name: str, folder: str) -> str | None:
    """The file of a module of this name in a folder; None if there is none."""
    for inner in (os.path.join(folder, name, "__init__"), os.path.join(folder, name)):
        for end in all_suffixes():
            if os.path.isfile(inner + end):
                return inner + end
    return None


def _is_needed(name: str, folders: Sequence[str]) -> bool:
    """Whether Python, this package, or a distribution that it requires has a module of this name."""
    if name in sys.stdlib_module_names or name == "dpverdict":
        return True
    others = [entry for entry in sys.path if os.path.abspath(entry or ".") not in folders]
    spec = PathFinder.find_spec(name, others)
    places = [] if spec is None else [spec.origin or "", *(spec.submodule_search_locations or ())]
    owners = {distribution_of(place) for place in places} - {None}
    return any(_canonical_name(str(owner)) in required() for owner in owners)


@lru_cache(maxsize=1)
def required() -> frozenset[str]:
    """The distributions that this package requires, with all that they require; of what is optional, what may judge."""
    found, frontier = set[str](), {"dpverdict", *_AT_LEAST}
    while frontier:
        found |= frontier
        more = set[str]()
        for name in frontier:
            try:
                more |= {_canonical_name(re.split(r"[^\w.-]", line, maxsplit=1)[0]) for line in _requirements_of(name)}
            except importlib.metadata.PackageNotFoundError:
                continue
        frontier = more - found
    return frozenset(found)


_AT_LEAST: Final = frozenset(
    {
        *(
            "numpy",
            "scipy",
            "scikit-learn",
            "joblib",
            "threadpoolctl",
            "sympy",
            "mpmath",
            "python-flint",
            "dp-accounting",
        ),
        *("cloudpickle", "dask", "distributed", "jinja2", "markupsafe", "matplotlib", "typer", "rich", "pyarrow"),
    }
)
"""Known where this package runs from its sources, without metadata of its own, and what is optional."""


def _requirements_of(name: str) -> list[str]:
    return [line for line in importlib.metadata.requires(name) or [] if "extra ==" not in line]


def _canonical_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
