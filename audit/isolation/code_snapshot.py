"""Whether the code that a verdict rests on is still what it was: user code shares its interpreter, and may replace it.

A function of NumPy that was replaced "for a test" gives wrong numbers to the test of a claim as well. It cannot be put
back in time, so such an audit is not finished, and the error names what was replaced. Every process in which trials run
compares: the process of the audit at its end, and a worker after each task.
"""

from __future__ import annotations

import importlib
import operator
import sys
from collections.abc import Iterator
from fractions import Fraction
from types import FunctionType, ModuleType
from typing import Any, Final, final

from dpverdict.audit.isolation.provenance import installed_folders
from dpverdict.errors import MechanismFailure

WATCHED_PACKAGES: Final = (
    "base64",
    "builtins",
    "cloudpickle",
    "copy",
    "decimal",
    "dpverdict",
    "dp_accounting",
    "flint",
    "fractions",
    "functools",
    "hashlib",
    "hmac",
    "itertools",
    "json",
    "math",
    "mpmath",
    "numpy",
    "operator",
    "pickle",
    "scipy",
    "secrets",
    "struct",
)
"""The packages whose functions and classes are watched."""

_CONSTANTS: Final = (bool, int, float, complex, str, bytes, tuple, frozenset, Fraction)
"""The types of values of our modules, and of `math`, that are watched: none of them is ever set again."""

_IMPORTED_ON_USE: Final = tuple(
    f"scipy.{part}" for part in ("fft", "linalg", "optimize", "signal", "sparse.csgraph", "special", "stats")
)
"""The parts of SciPy that this package uses: imported before a snapshot, so that they are compared from the start."""

_GENERATED: Final = ("dpverdict", "namedtuple_", "hypothesis_temporary_module_")
"""How the names begin that the globals of our functions have, and of those that libraries make for us from text."""

_SHOWN: Final = 3


@final
class CodeSnapshot:
    """The functions and classes of `WATCHED_PACKAGES` that are loaded now; of ours also methods, constants, defaults.

    A module that is loaded later is taken up by the next comparison, which also finds a function in it that no
    installed package defines.
    """

    def __init__(self) -> None:
        self._modules: Final[dict[str, ModuleType]] = {}
        self._values: Final[list[tuple[Any, str, object, tuple[object, ...]]]] = []
        self._foreign: Final[set[str]] = set()
        for part in _IMPORTED_ON_USE:
            importlib.import_module(part)
        self._take_up()
        self._foreign.clear()  # what was there before the code under audit is not of it

    def _take_up(self) -> None:
        """Add the modules that were loaded since."""
        for module_name, module in list(sys.modules.items()):
            if module_name in self._modules or not _is_watched(module_name, module):
                continue
            self._modules[module_name] = module
            for owner, name, value in _parts(module):
                self._values.append((owner, name, value, _code_and_defaults(value)))
                if _is_foreign(value):
                    self._foreign.add(_full_name(owner, name))

    def changes(self) -> list[str]:
        """What is another one by now, or is gone: full names, sorted."""
        found = {name for name, module in self._modules.items() if sys.modules.get(name) is not module}
        for owner, name, value, inside in self._values:
            now = _code_and_defaults(value)
            if vars(owner).get(name) is not value or len(now) != len(inside) or any(map(operator.is_not, now, inside)):
                found.add(_full_name(owner, name))
        self._take_up()
        return sorted(found | self._foreign)

    def describe(self) -> str | None:
        """The changes in words; None if there are none."""
        found = self.changes()
        if not found:
            return None
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        return f"replaced {', '.join(found[:_SHOWN])}{more}, on which the verdict rests"

    def failure(self, mechanism: str) -> MechanismFailure | None:
        """The error that names the changes; None if there are none."""
        changed = self.describe()
        return None if changed is None else MechanismFailure(mechanism, changed, "do not replace what is not yours")


def _is_watched(name: str, module: object) -> bool:
    return name.partition(".")[0] in WATCHED_PACKAGES and isinstance(module, ModuleType)


def _parts(module: ModuleType) -> Iterator[tuple[Any, str, object]]:
    """The functions and classes of a module, its constants, and the functions in the classes of this package."""
    ours = module.__name__.partition(".")[0] == "dpverdict"
    constants = _CONSTANTS if ours or module.__name__ == "math" else ()
    for name, value in list(vars(module).items()):
        if name.startswith("__") or not (callable(value) or isinstance(value, constants)):
            continue
        yield module, name, value
        if ours and isinstance(value, type) and value.__module__ == module.__name__:
            for inner, method in list(vars(value).items()):
                if isinstance(method, FunctionType | property | classmethod | staticmethod):
                    yield value, inner, method


def _code_and_defaults(value: object) -> tuple[object, ...]:
    """What a function does with its arguments and without them: its code and its defaults."""
    if not isinstance(value, FunctionType):
        return ()
    named = value.__kwdefaults__ or {}
    return value.__code__, *(value.__defaults__ or ()), *named, *named.values()


def _is_foreign(value: object) -> bool:
    """Whether a function is from a file that belongs neither to an installed package nor to this one."""
    name = value.__globals__.get("__name__") if isinstance(value, FunctionType) else None
    if not isinstance(value, FunctionType) or name is None or name.startswith(_GENERATED):
        return False
    file: str | None = value.__code__.co_filename
    if str(file).startswith("<"):  # made from text, or sent to this process as bytes: it belongs where its globals do
        module = sys.modules.get(name)
        file = "" if module is None or name == "__main__" else getattr(module, "__file__", None)
    return file is not None and not file.startswith(("<", *installed_folders()))


def _full_name(owner: Any, name: str) -> str:
    return f"{owner.__name__ if isinstance(owner, ModuleType) else owner.__qualname__}.{name}"
