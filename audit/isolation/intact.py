"""Whether the code that a verdict rests on is still what it was: user code shares its interpreter, and may replace it.

A function of NumPy that was replaced "for a test" gives wrong numbers to the test of a claim as well. It cannot be put
back in time, so such an audit is not finished, and the error names what was replaced.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any, Final, final

RESTS_ON: Final = (
    "builtins",
    "dpverdict",
    "dp_accounting",
    "flint",
    "fractions",
    "hmac",
    "json",
    "math",
    "mpmath",
    "numpy",
    "scipy",
)
"""The packages whose functions and classes are watched."""

_SHOWN: Final = 3


@final
class Snapshot:
    """The functions and classes of the packages of `RESTS_ON` that are loaded now, and what is in our classes."""

    def __init__(self) -> None:
        self._modules: Final = {name: module for name, module in list(sys.modules.items()) if _watched(name, module)}
        self._values: Final = [
            (owner, name, value, getattr(value, "__code__", None))
            for module in self._modules.values()
            for owner, name, value in _parts(module)
        ]

    def changes(self) -> list[str]:
        """What is another one by now, or is gone: full names, sorted."""
        found = {name for name, module in self._modules.items() if sys.modules.get(name) is not module}
        for owner, name, value, code in self._values:
            if vars(owner).get(name) is not value or getattr(value, "__code__", None) is not code:
                found.add(
                    f"{owner.__name__}.{name}" if isinstance(owner, ModuleType) else f"{owner.__qualname__}.{name}"
                )
        return sorted(found)

    def describe(self) -> str | None:
        """The changes in words; None if there are none."""
        found = self.changes()
        if not found:
            return None
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        return f"replaced {', '.join(found[:_SHOWN])}{more}, on which the verdict rests"


def _watched(name: str, module: object) -> bool:
    return name.partition(".")[0] in RESTS_ON and isinstance(module, ModuleType)


def _parts(module: ModuleType) -> Iterator[tuple[Any, str, object]]:
    """The functions and classes of a module, and the functions in the classes that this package defines there."""
    ours = module.__name__.partition(".")[0] == "dpverdict"
    for name, value in list(vars(module).items()):
        if not callable(value) or name.startswith("__"):
            continue
        yield module, name, value
        if ours and isinstance(value, type) and value.__module__ == module.__name__:
            for inner, method in list(vars(value).items()):
                if isinstance(method, FunctionType | property | classmethod | staticmethod):
                    yield value, inner, method
