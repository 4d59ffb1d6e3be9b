"""The rooms of the papers: the folders beside those of the means of proof, found by walking them."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from pathlib import Path

RESULTS = "new_results"
"""The key of this project's own results, which stand after the papers."""

PROOFS = __name__.rpartition(".checks.")[0]
"""The package of the rooms."""

TOOLS = frozenset({"checks", "verdicts", "ledger", "rocq"})
"""The rooms that hold means of proof, and no paper."""


@cache
def rooms() -> tuple[str, ...]:
    """The keys of the papers of the ledger, in its order."""
    found = {module.name for module in pkgutil.iter_modules([str(Path(__file__).parents[1])]) if module.ispkg} - TOOLS
    return tuple(sorted(found, key=lambda name: (name == RESULTS, name)))


@cache
def import_room(paper: str) -> None:
    """Import every file of a paper's room, at any depth, so that its statements are registered."""
    room = importlib.import_module(f"{PROOFS}.{paper}")
    for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
        importlib.import_module(module.name)
