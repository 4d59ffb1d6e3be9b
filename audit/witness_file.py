"""The witness of a refutation as a JSON document: everything it takes to check it again, on fresh random numbers.

A document names the claim, the mechanism with its options, both datasets, the score and the event or payoff as data,
and what was counted; its last field is the SHA-256 of the others, so that damage is seen. `replay` checks it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.atomic_file import write_atomically
from dpverdict.audit.callables import names_a_callable, source_files
from dpverdict.audit.distinguishing_test import DistinguishingTest, grid_of
from dpverdict.audit.report import Report
from dpverdict.audit.report_json import report_fields, strict_json
from dpverdict.audit.request import Request
from dpverdict.errors import InvalidValue

FORMAT: Final = "dpverdict witness"
VERSION: Final = 1
LARGEST_DATASET: Final = 100_000
"""Datasets of more numbers than this are named by their hash, not written out."""
FIELDS: Final = (
    *("format", "version", "created", "claim", "relation", "mechanism", "datasets", "mode", "grid", "kind"),
    *("evidence", "score", "score_function", "level", "bounds", "p_value", "samples", "seed", "ledger"),
    *("versions", "command", "sha256"),
)


def report_witness(report: Report, request: Request) -> dict[str, Any] | None:
    """The document of a refutation by a command; None if the report refutes nothing.

    A test of the releases comes first, then a leak through low bits, then an exact refutation.

    Args:
        report: what the audit found.
        request: what was asked for.
    """
    test, leak, verdict = report.test, report.leak, report.verdict
    pair: tuple[NDArray[np.generic] | None, NDArray[np.generic] | None] = (None, None)
    evidence: Mapping[str, Any]
    if test is not None and test.witness is not None:
        found: Any = test.to_dict()["witness"]
        kind, evidence = "payoff" if test.witness.row.event is None else "event", found["row"]
        evidence = {**evidence, "epsilon": test.witness.row.epsilon, "inequality": found["inequality"]}
        pair = test.witness.dataset, test.witness.neighbour
    elif leak is not None and leak.refuted:
        kind, evidence = "low bits", leak.describe()
        pair = leak.datasets or pair
    elif verdict is not None and verdict.witness is not None:
        fields: Any = report_fields(report)
        kind, evidence = "exact", fields["exact"]["verdict"]["witness"]
        pair = verdict.witness.pair.dataset, verdict.witness.pair.neighbour
    else:
        return None
    filled = request.neighbours is not None or request.data is not None or request.search is not None
    options = dict(request.options)
    if request.search is not None:
        options.pop("adjacency", None)  # it is that of the search, and the datasets show it
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "created": report.created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "claim": report.claim.describe(),
        "relation": report.parameters.get("neighbouring relation", ""),
        "mechanism": {
            "name": request.mechanism,
            "options": options,
            "options_from_data": filled,
            "source_sha256": source_hash(request.mechanism),
        },
        "datasets": {name: dataset_fields(data) for name, data in zip(("dataset", "neighbour"), pair, strict=True)},
        "mode": "float64, bit for bit" if kind == "low bits" else "" if test is None else test.mode,
        "grid": 0.0 if test is None or kind == "low bits" else grid_of(test.mode),
        "kind": kind,
        "evidence": dict(evidence),
        "score": test.witness.score if test is not None and test.witness is not None else None,
        "score_function": request.score,
        **_numbers(test, kind, evidence),
        "versions": dict(report.versions),
        "command": report.command,
    }
    document = strict_json(document)  # type: ignore[assignment]  # a mapping stays one
    return {**document, "sha256": checksum(document)}


def _numbers(test: DistinguishingTest | None, kind: str, evidence: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {} if test is None else test.to_dict()
    statistical = kind != "exact"
    source: Mapping[str, Any] = evidence if kind == "low bits" else found
    names = ("mu_lower", "epsilon_lower", "delta")
    return {
        "level": source.get("error_probability") if statistical else None,
        "bounds": {name: source.get(name) for name in names} if statistical else None,
        "p_value": source.get("p_value") if statistical else None,
        "samples": source.get("samples") if statistical else None,
        "seed": source.get("seed") if statistical else None,
        "ledger": found.get("ledger"),
    }


def write_witness(document: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the document, whole or not at all.

    Raises:
        OSError: the folder is missing, or cannot be written to.
    """
    write_atomically(path, json.dumps(document, indent=2, allow_nan=False) + "\n")


def read_witness(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a document, and check that it is one, and whole.

    Raises:
        InvalidValue: a file that cannot be read, is no witness, is of another version, or was changed.
    """
    shown, whole = str(path), "a witness as dpverdict audit --witness wrote it"
    try:
        document = json.loads(Path(path).read_bytes().decode("utf-8"))
    except OSError as error:
        raise InvalidValue("witness", shown, "a file that can be read", str(error.strerror)) from None
    except (ValueError, RecursionError):
        raise InvalidValue("witness", shown, whole, "it is not JSON: write it again") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidValue("witness", shown, whole, "this is another kind of file")
    if document.get("version") != VERSION:
        remedy = "replay it with the version of dpverdict that wrote it"
        raise InvalidValue("witness", shown, f"of version {VERSION}, not {document.get('version')!r}", remedy)
    held = {name: value for name, value in document.items() if name != "sha256"}
    if set(document) != set(FIELDS) or document["sha256"] != checksum(held):
        raise InvalidValue("witness", shown, whole, "it was changed or damaged: its checksum does not fit")
    return document


def read_witness_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a document."""
    text = resources.files("dpverdict.audit").joinpath("witness.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def checksum(document: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON text."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def array_hash(data: NDArray[np.generic]) -> str:
    """SHA-256 of shape, type and numbers of a dataset."""
    digest = hashlib.sha256(repr((data.shape, data.dtype.str)).encode())
    digest.update(np.ascontiguousarray(data).tobytes())
    return digest.hexdigest()


def source_hash(mechanism: str) -> str | None:
    """SHA-256 of the files of a user's function; None for a mechanism of this package."""
    files = source_files(mechanism) if names_a_callable(mechanism) else []
    if not files:
        return None
    digest = hashlib.sha256()
    for path in files:
        digest.update(Path(path).name.encode() + b"\0" + hashlib.sha256(Path(path).read_bytes()).digest())
    return digest.hexdigest()


def dataset_fields(data: NDArray[np.generic] | None) -> dict[str, Any] | None:
    """A dataset with its hash, written out if it is small; None if it is not known."""
    if data is None:
        return None
    small = data.size <= LARGEST_DATASET
    return {
        "shape": list(data.shape),
        "dtype": data.dtype.str,
        "sha256": array_hash(data),
        "values": data.tolist() if small else None,
    }
