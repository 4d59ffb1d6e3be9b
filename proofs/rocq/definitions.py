"""The definitions of differential privacy in Rocq, with their theorems: the files of the folder ``privacy``.

They are written by hand. A file reads them as ``From Privacy Require Import FiniteLaws.``
"""

from __future__ import annotations

import re
from importlib import resources
from typing import Final

from dpverdict.proofs.rocq.kernel import ASSUMED

LIBRARY: Final = ("FiniteLaws", "Densities", "Gaussian")
"""The files, each after those that it reads."""
FOLDER: Final = "privacy"
CLASSICAL: Final = "Classical_Prop.classic"
"""The excluded middle, which Coquelicot assumes beside the axioms of the real numbers."""
_THEOREM: Final = re.compile(r"^Theorem (\w+)", re.MULTILINE)


def library_files() -> dict[str, str]:
    """The text of each file by its path in a folder of certificates."""
    folder = resources.files("dpverdict.proofs.rocq").joinpath(FOLDER)
    return {f"{FOLDER}/{name}.v": folder.joinpath(f"{name}.v").read_text(encoding="ascii") for name in LIBRARY}


def theorems(text: str) -> list[str]:
    """The names of the theorems of a file, in its order."""
    return _THEOREM.findall(text)


def assumed_by_library(axiom: str) -> bool:
    """Whether an axiom is one of those that the libraries of real numbers bring."""
    return axiom == CLASSICAL or ASSUMED.fullmatch(axiom) is not None
