"""Imports that wait until a name is used: the public names of a package, and what another library loads at once.

The modules of this package wait in one plain way: they say ``import scipy`` and write ``scipy.special.ndtri(x)``, since
SciPy imports each of its parts when it is first asked for, and so does dp_accounting here.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path


def public_names(
    package: str, file: str, *, former: Mapping[str, str], first: tuple[str, ...] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names are listed once: in its ``__init__.pyi``.

    Type checkers read that stub in place of the package. It consists of lines ``from module import name as name``; the
    module is imported when the name is first asked for. A module of the package itself is ``from package import name``.

    Args:
        package: its ``__name__``.
        file: its ``__file__``, beside which the stub lies.
        former: what can be imported from the package for one more release, with a warning: for each module where it
            is now, the names, with a blank between them; ``old=new`` for one that has changed.
        first: modules to import before any name is given out.
    """
    tree = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    homes = {
        alias.name: node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    }
    moved = {
        old: (module, new or old)
        for module, listed in former.items()
        for old, _, new in (one.partition("=") for one in listed.split())
    }

    def get(name: str) -> object:
        if name in homes:
            for module in first:
                importlib.import_module(module)
            home = importlib.import_module(homes[name])
            inner = home.__name__ == package
            found: object = importlib.import_module(f"{package}.{name}") if inner else getattr(home, name)
            setattr(sys.modules[package], name, found)
            return found
        if name in moved:
            module, now = moved[name]
            warnings.warn(f"{package}.{name} is now {module}.{now}", DeprecationWarning, stacklevel=2)
            return vars(importlib.import_module(module))[now]
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        return sorted(homes)

    return get, names, list(homes)


def defer(package: str) -> None:
    """Put off what the ``__init__`` of an installed package does, until a name is asked for that it alone defines.

    A module of the package can then be imported without those that ``__init__`` imports as well. Nothing is replaced:
    the entry in ``sys.modules`` is the package itself, in which its ``__init__`` runs later, once, whichever thread
    asks first. So a class of one of its modules is the same class for everybody. A package that was imported before
    stays as it is, and one that is not installed is not found when it is imported.
    """
    spec = None if package in sys.modules else importlib.util.find_spec(package)
    if spec is None or spec.loader is None:
        return
    loader, module, running, begun = spec.loader, importlib.util.module_from_spec(spec), threading.RLock(), False

    def run() -> None:
        nonlocal begun
        with running:
            if begun:  # it has ended, or it is this thread that runs it
                return
            begun = True
            try:
                loader.exec_module(module)
            except BaseException:
                begun = False
                raise
            for waiting in ("__getattr__", "__dir__"):
                if vars(module).get(waiting) in (get, names):
                    delattr(module, waiting)

    def get(name: str) -> object:
        if importlib.util.find_spec(f"{package}.{name}") is not None:
            return importlib.import_module(f"{package}.{name}")
        run()
        if name in vars(module):
            return vars(module)[name]
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        run()
        return sorted(vars(module))

    vars(module).update(__getattr__=get, __dir__=names)
    sys.modules[package] = module
