"""The statements by paper and number, found by walking the rooms of the papers when they are first asked for.

A paper is a room beside ``checks`` and ``ledger``: its key is the name of the folder, its title the one sentence of its
``__init__``, and its statements are those that the files of the room register. The order is that of the tree: papers by
name, this project's own results last; in a paper files by name, where numbers count as numbers and appendices come
after the sections; in a file the lines. So a paper is added by adding a folder.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Iterable, Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Final

from dpverdict.errors import InvalidValue
from dpverdict.proofs.checks.outcome import Outcome
from dpverdict.proofs.checks.rooms import PROOFS, import_room, rooms
from dpverdict.proofs.checks.statement import Statement, known_statements
from dpverdict.suggestions import nearest

_LONG = {
    "definition": "def",
    "algorithm": "alg",
    "lemma": "lem",
    "proposition": "prop",
    "theorem": "thm",
    "corollary": "cor",
    "figure": "fig",
    "section": "sec",
    "equation": "eq",
}


def papers() -> tuple[str, ...]:
    """The keys of all papers: those of the ledger, then those registered by others."""
    return (*rooms(), *(key for key in known_statements if key not in rooms()))


def statements(paper: str | None = None) -> tuple[Statement, ...]:
    """The statements of one paper, or of all, in the order of the ledger; those of a user's own module in its order.

    Raises:
        InvalidValue: no paper of that name.
    """
    if paper is None:
        return tuple(found for key in papers() for found in statements(key))
    if paper in rooms():
        import_room(paper)
    if paper not in known_statements:
        raise InvalidValue("paper", paper, f"one of {', '.join(papers())}", "write it as it stands there")
    return tuple(sorted(known_statements[paper].values(), key=_place))  # in a file they were registered line by line


def _place(statement: Statement) -> list[tuple[bool, list[str | int]]]:
    """Where the file of a statement stands: "section3" < "section3_1" < "section12" < "appendix_a"."""
    parts = statement.check.__module__.split(".")
    words = [[int(word) if word.isdigit() else word for word in re.split(r"(\d+)", part)] for part in parts]
    return [(part.startswith("appendix"), key) for part, key in zip(parts, words, strict=True)]


def title(paper: str) -> str:
    """The title of a paper with its source; the key itself for a paper registered by others."""
    sentence = importlib.import_module(f"{PROOFS}.{paper}").__doc__ if paper in rooms() else None
    return paper if sentence is None else " ".join(sentence.split()).removesuffix(".")


def load(paper: str) -> str:
    """The key of a paper: itself, or that of the statements in a user's module or file, which is imported.

    Args:
        paper: "lebeda2024", "package.module" or "path/file.py".

    Raises:
        InvalidValue: no such paper, module or file, or one that registers nothing.
    """
    if paper in papers():
        return paper
    remedy = f"give one of {_told(papers())}, or a module or a file.py with statements"
    path = Path(paper)
    if path.suffix == ".py":
        spec = importlib.util.spec_from_file_location(path.stem, path) if path.is_file() else None
    else:
        spec = _spec(paper)
    if spec is None or spec.loader is None:
        raise InvalidValue("paper", paper, "a paper that is there", remedy)
    module = sys.modules.get(spec.name) or importlib.util.module_from_spec(spec)
    if spec.name not in sys.modules:
        sys.modules[spec.name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[spec.name]
            raise
    keys = {
        key for key, found in known_statements.items() if any(s.check.__module__ == spec.name for s in found.values())
    }
    if len(keys) != 1:
        raise InvalidValue("paper", paper, "a module that registers the statements of one paper", remedy)
    return keys.pop()


SUBJECTS: Final[Mapping[str, str]] = {
    "andersson2024": "counters",
    "bun2016": "zCDP",
    "ji2024": "R1SMG",
    "lebeda2024": "correlated noise",
    "lebeda2024sampling": "batches",
    "poulsen2022": "elliptical noise",
    "new_results": "our own",
}
"""What each paper of the ledger is about, for those who do not know its key."""


def _told(keys: Iterable[str]) -> str:
    return ", ".join(f"{key} ({SUBJECTS[key]})" if key in SUBJECTS else key for key in keys)


def _spec(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except (ModuleNotFoundError, ValueError):
        return None


def matching(paper: str | None, number: str) -> tuple[Statement, ...]:
    """The statements called ``number``: "lem3.4", "Lemma 3.4", or "3.4" for everything numbered 3.4.

    Raises:
        InvalidValue: there is none.
    """
    wanted = _normal(number)
    listed = statements(paper)
    exact = [s for s in listed if wanted in (s.number.lower(), f"{s.paper}-{s.number}".lower())]
    bare = re.compile(rf"[a-z]*{re.escape(wanted)}(\.[a-z].*)?")
    found = exact or [s for s in listed if bare.fullmatch(s.number.lower())]
    if not found:
        meant = nearest(wanted, [s.number for s in listed])
        remedy = f"{meant}dpverdict prove {paper or 'PAPER'} --details shows them all, such as {listed[0].number}"
        raise InvalidValue("statement", number, "the number of a statement", remedy)
    return tuple(found)


def verify(paper: str, number: str) -> Outcome:
    """Check one statement.

    Args:
        paper: key of the paper.
        number: "lem3.4" or "Lemma 3.4"; the bare "3.4" is enough where only one statement is numbered so.

    Raises:
        InvalidValue: no such paper or statement, or several.

    >>> verify("lebeda2024", "Lemma 3.1").standing.value
    'holds'
    """
    found = matching(paper, number)
    main = [s for s in found if re.fullmatch(r"[a-z]*([A-Z]\.)?[\d.]+", s.number)] or list(found)
    if len(main) > 1:
        names = ", ".join(s.number for s in main)
        raise InvalidValue("number", number, "the number of one statement", f"write one of {names}")
    return main[0].verify()


def registered(paper: str, number: str) -> Statement:
    """The statement registered under exactly these names.

    Raises:
        InvalidValue: there is none.
    """
    statements(paper)  # the module of a paper is imported when it is first asked for
    found = known_statements[paper].get(number)
    if found is None:
        raise InvalidValue("number", number, f"a statement of {paper}", "write it as the ledger does")
    return found


def _normal(number: str) -> str:
    words = number.strip().lower().split()
    return "".join(_LONG.get(word, word) for word in words)
