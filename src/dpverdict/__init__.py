"""dpverdict: does this mechanism keep the privacy promise it makes?

dpverdict.mechanisms  what is released, and what it promises
dpverdict.audit       exact curves, worst neighbours, distinguishing tests, verdicts, reports
dpverdict.proofs      numbered statements of papers, as executable checks

The three are loaded when they are first used, so `import dpverdict` costs nothing.
"""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpverdict import audit as audit
    from dpverdict import mechanisms as mechanisms
    from dpverdict import proofs as proofs

__version__ = "0.1.0"

_FOLDERS = ("audit", "mechanisms", "proofs")


if not TYPE_CHECKING:  # a type checker that saw it would accept every name

    def __getattr__(name: str) -> ModuleType:
        if name in _FOLDERS:
            return importlib.import_module(f"dpverdict.{name}")
        raise AttributeError(
            f"module 'dpverdict' has no attribute {name!r}; look in dpverdict.{', dpverdict.'.join(_FOLDERS)}"
        )


def __dir__() -> list[str]:
    return sorted([*globals(), *_FOLDERS])
