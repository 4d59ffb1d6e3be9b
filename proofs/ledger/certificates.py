"""Certificates of statements: per statement one JSON file with what every condition rests on, and one for SMT solvers.

A file says, of every reading of the statement (as printed; the reading that a caveat excludes; what holds in its place)
and of each of its conditions, the finding, and the evidence in the form of `dpverdict.proofs.checks.evidence`:

    identity      both sides, entry by entry             difference   the sides, and a point at which they differ
    inequality    the expression, and the quotient of polynomials without negative coefficients that it is
    failure       an expression, and a point at which it is not positive
    boxes         the expression, the parts of the box, and a lower bound on each
    comparison    two numbers, or balls, and the signs allowed between them
    rounding      a number and the decimal printed for it
    cases         what was enumerated, with every pair of numbers that was compared
    inverse       a matrix, its inverse, and values of the quadratic form
    optimum       a primal and a dual point with their constraints, and the value that both have
    value         an expression without variables, and the decimals on either side of its value
    law           of a verdict: the noise, and what neighbours change

`dpverdict check` reads them again; so do the checkers of the test suite, which share no code with this project.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from types import FunctionType
from typing import Any, Final

from dpverdict.audit.trials.engines import ThisProcess, current_engine
from dpverdict.errors import DpverdictError
from dpverdict.numerics.sources import reached
from dpverdict.proofs.checks.evidence import Evidence, Kept, recorded
from dpverdict.proofs.checks.registry import registered
from dpverdict.proofs.checks.rooms import TOOLS, rooms
from dpverdict.proofs.checks.statement import Claim, Statement
from dpverdict.proofs.ledger.comparisons import kept_comparisons
from dpverdict.proofs.ledger.smt import smt_of

FORMAT: Final = "dpverdict certificate 2"
MOST: Final = 500
"""Cases and comparisons written of one condition; how many more there were is said beside them."""


def certificates(names: list[tuple[str, str]]) -> dict[str, str]:
    """The files of statements by their paths: JSON and, where a solver can read it, SMT-LIB; and MANIFEST.json."""
    ours = all(paper in rooms() for paper, _ in names)
    engine = current_engine() if ours else ThisProcess()
    files: dict[str, str] = {}
    for (paper, number), made in zip(names, engine.map(_files, names), strict=True):
        for suffix, text in made.items():
            files[f"{_file_name(paper)}/{_file_name(number)}{suffix}"] = text
    digests = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in files.items()}
    manifest = {"format": FORMAT, "versions": versions(), "files": digests}
    return {**files, "MANIFEST.json": sealed(manifest)}


def _file_name(word: str) -> str:
    return re.sub(r"[^\w.'-]|^\.", "_", word)


def _files(name: tuple[str, str]) -> dict[str, str]:
    made = certificate(registered(*name))
    smt = smt_of(made)
    return {".json": sealed(made)} | ({".smt2": smt} if smt else {})


def certificate(statement: Statement) -> dict[str, Any]:  # Any: the values of a JSON object
    """What every condition of every reading of a statement rests on."""
    claims: list[tuple[str, Claim]] = [("as printed", statement.printed)]
    if statement.caveat is not None:
        claims.append(("excluded by the caveat", statement.caveat.claim))
    if statement.corrected is not None:
        claims.append(("in its place", statement.corrected.claim))
    found = reached(statement.check, *(claim for _, claim in claims))
    own = statement.check.__module__
    functions = [one for one in found if isinstance(one, FunctionType) and _is_of_paper(one, own)]
    readings = []
    with kept_comparisons(functions):
        for words, claim in claims:
            readings.append({"reading": words, "conditions": list(_conditions(statement, claim))})
    return {
        "format": FORMAT,
        "statement": {
            "paper": statement.paper,
            "number": statement.number,
            "text": statement.text,
            "formula": statement.formula,
            "recorded": statement.expected.name,
            "assumptions": list(statement.assumptions),
            "source_sha256": statement.source_sha256,
        },
        "versions": versions(),
        "readings": readings,
    }


def _is_of_paper(function: FunctionType, own: str) -> bool:
    """Whether it is one of a paper, or of the user's own: libraries, and the means of proof, are left as they are."""
    rooms_of = function.__module__.split(".")
    if rooms_of[0] != "dpverdict":
        return rooms_of[0] == own.split(".")[0]
    return rooms_of[1:2] == ["proofs"] and not TOOLS & set(rooms_of[2:3])


def _conditions(statement: Statement, claim: Claim) -> Iterator[dict[str, Any]]:
    with recorded(MOST) as kept:
        try:
            for finding in statement.check(claim):
                yield {
                    "name": finding.name,
                    "holds": finding.holds,
                    "method": finding.method.value,
                    "scope": finding.scope,
                    "margin": finding.margin,
                    "witness": finding.witness,
                    **_grouped(kept),
                }
                kept.clear()
        except (DpverdictError, ArithmeticError) as error:
            yield {
                "name": "the check gave up",
                "holds": None,
                "method": "",
                "scope": "",
                "margin": "",
                "witness": str(error),
                "evidence": [],
                "left_out": 0,
            }


def _grouped(kept: Kept) -> dict[str, Any]:
    """Evidence with the cases of an enumeration together, each with what was compared in it."""
    made: list[Evidence] = []
    cases: list[list[Any]] = []
    for piece in kept.pieces:
        if piece["kind"] not in ("case", "compared"):
            made.append(piece)
            continue
        if not cases:
            made.append({"kind": "cases", "cases": cases})
        if piece["kind"] == "case":
            cases.append([piece["case"], []])
        elif None not in (piece["of"][0], piece["of"][2]):  # numbers, or collections of them
            if not cases:
                cases.append(["", []])
            cases[-1][1].append(piece["of"])
    return {"evidence": made, "left_out": kept.left_out}


def versions() -> dict[str, str]:
    """What made a certificate."""
    return {"python": platform.python_version()} | {
        name: version(name) for name in ("dpverdict", "sympy", "python-flint")
    }


def sealed(document: Mapping[str, Any]) -> str:
    """A document with the SHA-256 of its text in it, so that a change that leaves it true is noticed as well."""
    return json.dumps({**document, "sha256": seal(document)}, indent=1, ensure_ascii=False) + "\n"


def seal(document: Mapping[str, Any]) -> str:
    """SHA-256 of a document without its own seal, as JSON with sorted keys and no spaces."""
    rest = {key: value for key, value in document.items() if key != "sha256"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
