"""What a user writes as text: the name of a function, and values on a command line.

A function is named ``module:function`` or ``folder/file.py:function``; values are probabilities.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from dpverdict.audit.documents.request import names_a_callable
from dpverdict.audit.isolation.imports import as_written, asked_by_name, refuse_shared_names, search_beside
from dpverdict.audit.trials.libraries.registry import adapter_for
from dpverdict.audit.trials.user_code import guarded, in_own_error_state
from dpverdict.balls import exactly
from dpverdict.errors import InvalidValue


def load_named(text: str, *, name: str) -> object:
    """What ``text`` names in a module; the current directory is searched first, as ``python -m`` does.

    Its module finds the modules beside it first, and nothing else does; see `isolation.imports`.

    Args:
        text: ``module:function`` or ``path/file.py:function``.
        name: what the parameter is called in an error message.

    Raises:
        InvalidValue: no such file, module or name, or a module that fails on import.
    """
    where, _, attribute = text.rpartition(":")
    if not names_a_callable(text):
        remedy = "write for example mypkg.release:noisy_counts"
        if text.endswith(".py"):
            remedy = f"write {text}:NAME, with the name of the function"
        raise InvalidValue(name, text, "of the form module:function", remedy)
    module = _from_file(where, text, name) if where.endswith(".py") else _from_name(where, text, name)
    found = getattr(module, attribute, None)
    if found is None:
        close = get_close_matches(attribute, vars(module), n=3)
        remedy = f"did you mean {' or '.join(close)}?" if close else f"define {attribute} in {where}"
        raise InvalidValue(name, text, f"the name of a function in {where}", remedy)
    return found


def load_callable(text: str, *, name: str) -> Callable[..., object]:
    """The function that ``text`` names: see `load_named`.

    Raises:
        InvalidValue: as there, or it names something that cannot be called.
    """
    found: Any = load_named(text, name=name)
    if not callable(found) and not callable(getattr(found, "release_many", None)) and adapter_for(found) is None:
        requirement = f"a function, not {type(found).__name__}"
        remedy = f"give a function of that module instead of {text.rpartition(':')[2]}"
        raise InvalidValue(name, text, requirement, remedy)
    function: Callable[..., object] = found
    return function


def source_files(text: str) -> list[str]:
    """The file in which ``text`` looks for its function, and the files beside it that it imports by their names.

    A module that is not a file of its own has none: it is found, or not, when it is loaded.
    """
    file = _file_of(text)
    if file is None:
        return []
    found, pending = set[Path](), [file]
    while pending:
        path = pending.pop()
        if path not in found:
            found.add(path)
            names = _imported_names(path)
            pending += [beside for name in names if (beside := file.parent / f"{name}.py").is_file()]
            pending += [inner for name in names for inner in (file.parent / name).glob("**/*.py")]
    return [str(path) for path in sorted(found)]


def files_beside(text: str) -> list[str]:
    """The file in which ``text`` looks for its function, and all Python files beside it."""
    file = _file_of(text)
    return [] if file is None else [str(path) for path in sorted(file.parent.glob("*.py"))]


def _file_of(text: str) -> Path | None:
    where = text.rpartition(":")[0]
    found = where if where.endswith(".py") else _module_file(where)
    return Path(found) if found is not None and Path(found).is_file() else None


def _imported_names(path: Path) -> set[str]:
    """The names in the import statements of a file; none of one that is no Python."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    names = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {part for alias in node.names for part in alias.name.split(".")}
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names |= set(node.module.split("."))
    return names


def _module_file(module: str) -> str | None:
    """The file of a module; nothing is imported, not even the packages around it."""
    top, *rest = module.split(".")
    found = importlib.machinery.PathFinder.find_spec(top, [str(Path.cwd())])
    with contextlib.suppress(ImportError, ValueError):
        found = found or importlib.util.find_spec(top)  # without a package around it, this imports nothing
    name = top
    for part in rest:
        folders = None if found is None else found.submodule_search_locations
        name = f"{name}.{part}"
        found = None if folders is None else importlib.machinery.PathFinder.find_spec(name, [*folders])
    return None if found is None else found.origin


def _from_name(module: str, text: str, name: str) -> ModuleType:
    search_beside(str(Path.cwd()))
    try:
        with asked_by_name():
            found = guarded(
                lambda: in_own_error_state(lambda: importlib.import_module(module)),
                lambda said: _fails_on_import(said, text, name),
            )
        guarded(refuse_shared_names, lambda said: _fails_on_import(said, text, name))
        return found
    except InvalidValue as failure:
        missing = failure.__cause__.name if isinstance(failure.__cause__, ModuleNotFoundError) else None
        if missing is None or not (module == missing or module.startswith(missing + ".")):
            raise
        remedy = "check its spelling, install it, or run from the folder that holds it"
        raise InvalidValue(name, text, "in a module that can be found", remedy) from None


def _from_file(path: str, text: str, name: str) -> ModuleType:
    file = Path(path)
    if not file.is_file():
        raise InvalidValue(name, text, "in a file that exists", f"check the path {path}")
    search_beside(str(file.resolve().parent))  # a script may import its neighbours, as when it is run
    module_name = _free_name(file)
    spec = importlib.util.spec_from_file_location(module_name, file)
    loader = None if spec is None else as_written(spec).loader
    if spec is None or loader is None:
        raise InvalidValue(name, text, "in a Python source file", "give a file that ends in .py")
    module = importlib.util.module_from_spec(spec)
    former = sys.modules.get(module_name)
    sys.modules[module_name] = module  # dataclasses and pickles look their module up while it is executed
    try:
        guarded(
            lambda: in_own_error_state(lambda: loader.exec_module(module)),
            lambda said: _fails_on_import(said, text, name),
        )
        guarded(refuse_shared_names, lambda said: _fails_on_import(said, text, name))
    finally:
        if former is not None:
            sys.modules[module_name] = former
    return module


def _free_name(file: Path) -> str:
    """The name of the file, unless another module has it: a library that imports that one must not get this."""
    loaded = getattr(sys.modules.get(file.stem), "__file__", None)
    mine = loaded is not None and Path(loaded).resolve() == file.resolve()
    taken = file.stem in sys.stdlib_module_names or file.stem in sys.modules
    return file.stem if mine or not taken else f"{file.stem}_under_audit"


def _fails_on_import(said: str, text: str, name: str) -> InvalidValue:
    return InvalidValue(name, text, "in a module that can be imported", f"it fails with {said}")


def probability(text: str, name: str) -> float:
    """A number strictly between 0 and 1, also in the form ``1e-6``.

    Raises:
        InvalidValue: not a number, or not strictly between 0 and 1, also as a float64.
    """
    number = exactly(text, name=name)
    if not 0 < number < 1 or not 0.0 < float(number) < 1.0:
        raise InvalidValue(name, text, "strictly between 0 and 1", "give for example 1e-6")
    return float(number)
