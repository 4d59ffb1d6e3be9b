"""The witness of a refutation as a JSON document: everything it takes to check it again, on fresh random numbers.

A document names the claim, the mechanism with its options, both datasets, the score and the event or payoff as data,
and what was counted; its last field is the SHA-256 of the others, so that damage is seen. `replay` checks it.

The document of a sequential test has the kind "sequential". Its evidence is one bettor: the payoff, the score that won
most, frozen as it was when the claim fell, and the stake that was reached. A replay lets that bettor bet on fresh
pairs.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import inspect
import json
import math
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.distinguishing.result import describe_mode
from dpverdict.audit.documents.schema import checked, fields_of, json_schema
from dpverdict.audit.documents.witness import WitnessDocument
from dpverdict.audit.scores.score import Score
from dpverdict.audit.statistics.betting import BettorMixture
from dpverdict.audit.statistics.payoffs import CurvePayoff, Payoff
from dpverdict.audit.trials.atomic_files import write_atomically
from dpverdict.audit.trials.catalogue import find, names_foreign_code, takes
from dpverdict.audit.trials.outcomes.observed import observed
from dpverdict.audit.trials.outcomes.stored import data_hash, held_bytes, written
from dpverdict.audit.trials.run import AnyMechanism, Sampler, batched, unmarked
from dpverdict.audit.trials.user_functions import files_beside, source_files
from dpverdict.errors import DpverdictError, InvalidValue
from dpverdict.mechanisms.core.guarantees import Guarantee
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.mechanisms.core.neighbours import NeighbourPair, ObjectPair, adjacency_name
from dpverdict.mechanisms.core.records import record_count
from dpverdict.numerics.files import read_limited
from dpverdict.numerics.text import time_stamp

FORMAT: Final = "dpverdict witness"
VERSION: Final = 1
LARGEST_FILE: Final = 2**26
"""Bytes of a document, at most: with every dataset written out and the largest scores it has a few million."""
LARGEST_DATASET: Final = 100_000
"""Datasets of more numbers than this are named by their hash, not written out."""
LARGEST_FORM: Final = 2**22
"""The same of characters in the form of a dataset that is no array of numbers."""
OBJECT: Final = "object: "
"""What the type of such a dataset begins with."""
PACKAGES: Final = ("dpverdict", "numpy", "scipy", "python-flint")
"""The distributions whose versions a report prints, after that of Python."""
KIND: Final = "sequential"
UNSTATED: Final = "not stated"
"""The relation of two datasets that were given without one."""


def strict_json(value: object) -> object:
    """The value with infinite numbers as strings: strict JSON has none, and NaN is never a result."""
    if isinstance(value, Mapping):
        return {str(key): strict_json(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [strict_json(part) for part in value]
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def write_witness(document: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the document, whole or not at all.

    Raises:
        OSError: the folder is missing, or cannot be written to.
    """
    write_atomically(path, str(render_witness(document)))


def render_witness(document: Mapping[str, Any] | None) -> str | None:
    """The text of a document; None if there is none."""
    return None if document is None else json.dumps(document, indent=2, allow_nan=False) + "\n"


def read_witness(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a document, and check that it is one, and whole.

    Raises:
        InvalidValue: a file that cannot be read, is no witness, is of another version, was changed, or has a field of
            another type.
    """
    shown, whole = str(path), "a witness as dpverdict audit --witness wrote it"
    text = read_limited(shown, "witness", LARGEST_FILE)
    try:
        document = json.loads(text.decode("utf-8"), parse_constant=_refuse_nan)
    except (ValueError, RecursionError):
        raise InvalidValue("witness", shown, whole, "it is not strict JSON: write it again") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidValue("witness", shown, whole, "this is a file of another kind")
    if document.get("version") != VERSION:
        remedy = "replay it with the version of dpverdict that wrote it"
        raise InvalidValue("witness", shown, f"of version {VERSION}, not {document.get('version')!r}", remedy)
    held = {name: value for name, value in document.items() if name != "sha256"}
    try:
        fits = set(document) == set(fields_of(WitnessDocument)) and document["sha256"] == checksum(held)
    except (ValueError, RecursionError):
        fits = False
    if not fits:
        raise InvalidValue("witness", shown, whole, "it was changed or damaged: its checksum does not fit")
    return dict(checked(document, WitnessDocument, "witness"))


def _refuse_nan(name: str) -> float:
    raise ValueError(f"{name} is not a number in JSON")


def read_witness_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a document."""
    return json_schema(WitnessDocument, closed=True)


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
    return _files_hash(source_files(mechanism) if names_foreign_code(mechanism) else [])


def has_source(mechanism: str, digest: str | None) -> bool:
    """Whether a hash is that of the files of a user's function.

    That of an older witness is of all files beside the function, imported or not.
    """
    return digest == source_hash(mechanism) or digest == _files_hash(files_beside(mechanism))


def _files_hash(files: Sequence[str]) -> str | None:
    if not files:
        return None
    digest = hashlib.sha256()
    for path in files:
        digest.update(Path(path).name.encode() + b"\0" + hashlib.sha256(Path(path).read_bytes()).digest())
    return digest.hexdigest()


def shape_of(data: Any) -> tuple[int, ...]:
    """The shape of an array; of other datasets the number of records, as far as it is known."""
    if isinstance(data, np.ndarray):
        return tuple(map(int, data.shape))
    count = record_count(data)
    return () if count is None else (count,)


def hash_of(data: Any) -> str:
    """SHA-256 of a dataset of any kind."""
    return array_hash(data) if isinstance(data, np.ndarray) else data_hash(data)


def dataset_fields(data: Any) -> dict[str, Any] | None:
    """A dataset with its hash, written out if it is small and of a kind that can be; None if it is not known."""
    if data is None:
        return None
    if not isinstance(data, np.ndarray) or not _is_finite(data):
        form = None if held_bytes(data) > 2 * LARGEST_FORM else written(data)  # the text is longer than what it holds
        if form is not None and len(json.dumps(form)) > LARGEST_FORM:
            form = None
        kind = f"{OBJECT}{type(data).__module__.partition('.')[0]}.{type(data).__qualname__}"
        return {"shape": list(shape_of(data)), "dtype": kind, "sha256": hash_of(data), "values": form}
    small = data.size <= LARGEST_DATASET
    return {
        "shape": list(data.shape),
        "dtype": data.dtype.str,
        "sha256": array_hash(data),
        "values": data.tolist() if small else None,
    }


def _is_finite(data: NDArray[np.generic]) -> bool:
    return data.dtype.kind in "biuU" or (data.dtype.kind == "f" and bool(np.isfinite(data).all()))


def software_versions() -> dict[str, str]:
    """The versions that a report names: of Python, of the packages its numbers depend on, and of NumPy's BLAS.

    What is sampled depends on NumPy and its BLAS in the last bits; nothing that is called certified does.
    """
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        found[package] = importlib.metadata.version(package)
    blas = np.show_config(mode="dicts")["Build Dependencies"].get("blas", {})
    if blas.get("name"):
        found["blas"] = f"{blas['name']} {blas.get('version', '')}".strip()
    return found


def evidence_of(
    mixture: BettorMixture, scores: Mapping[str, Score], names: list[str], payoff: Payoff, pairs: int
) -> dict[str, object]:
    """The bettor that won most, as data: kept with the state of the test.

    Args:
        mixture: of all bettors, after the block in which the claim fell.
        scores: those of that block, by name.
        names: of the scores of the bettors.
        payoff: that all of them were paid.
        pairs: drawn until the claim fell.
    """
    won = max(
        (i for i, name in enumerate(names) if name in scores),
        key=lambda i: mixture.bettors[i].log_wealth + float(np.log(mixture.weights[i])),
    )
    best = mixture.bettors[won]
    implied = "mean payoff of a pair <= 0, for both orders together"
    if isinstance(payoff, CurvePayoff):
        implied = f"mean payoff <= {payoff.allowed!r} for the whole curve"
    return {
        "score": scores[names[won]].describe(),
        "payoff": payoff.describe(),
        "stake": min(max(best.total / best.squares, 0.0), 1 / (2 * best.largest_loss)),
        "largest_loss": best.largest_loss,
        "pairs": pairs,
        "e_value": mixture.e_value,
        "p_value": mixture.p_value,
        "implied": implied,
        "bettors": [
            {
                "score": name,
                "weight": weight,
                "pairs": own.pairs,
                "log_wealth": own.log_wealth,
                "method": "payoff, betting: a non-negative supermartingale under the claim",
            }
            for name, weight, own in zip(names, mixture.weights, mixture.bettors, strict=True)
        ],
    }


def sequential_document(
    evidence: Mapping[str, Any],
    *,
    mechanism: AnyMechanism,
    neighbours: object,
    p: Sampler,
    q: Sampler,
    claim: Guarantee,
    level: float,
    bounds: Mapping[str, float | None],
    samples: int,
    score: object,
) -> dict[str, Any]:
    """The document of a refutation.

    Args:
        evidence: of `evidence_of`.
        mechanism: what was run; `replay` finds a function of a module and a mechanism of the catalogue by itself, and
            is given any other.
        neighbours: as the test was given them.
        p: the mechanism on the dataset.
        q: on the neighbour.
        claim: what fell.
        level: the error probability.
        bounds: the lower bounds, by name.
        samples: pairs in all.
        score: the user's function, if there is one.
    """
    name, options, source = _mechanism_fields(mechanism, p.name)
    kept = {key: value for key, value in evidence.items() if key not in ("score", "bettors")}
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "created": time_stamp(datetime.now(UTC)),
        "claim": claim.describe(),
        "relation": adjacency_name(neighbours.adjacency)
        if isinstance(neighbours, NeighbourPair | ObjectPair)
        else UNSTATED,
        "mechanism": {
            "name": name,
            "options": options,
            "options_from_data": False,
            "source_sha256": source,
            **({"observe": mechanism.describe()} if isinstance(mechanism, observed) and mechanism.describe() else {}),
        },
        "datasets": {"dataset": dataset_fields(p.dataset), "neighbour": dataset_fields(q.dataset)},
        "mode": describe_mode(p.grid),
        "grid": p.grid,
        "kind": KIND,
        "evidence": kept,
        "score": evidence["score"],
        "score_function": _function_name(score),
        "level": level,
        "bounds": dict(bounds),
        "p_value": evidence["p_value"],
        "samples": samples,
        "seed": p.seed,
        "ledger": [{**row, "hypothesis": claim.describe()} for row in evidence["bettors"]],
        "versions": software_versions(),
        "command": None,
    }
    return {**document, "sha256": checksum(document)}


def _mechanism_fields(mechanism: AnyMechanism, shown: str) -> tuple[str, dict[str, str], str | None]:
    """The name and the options from which `find` makes the same mechanism, or a name that it does not find; with the
    hash of the source."""
    if isinstance(mechanism, StructuredMechanism):
        stated = {
            **mechanism.describe(),
            **{part.name: getattr(mechanism.claim, part.name) for part in fields(mechanism.claim)},
            "adjacency": adjacency_name(mechanism.adjacency),
        }
        options = {key: str(value) for key, value in stated.items() if key != "scale" and takes(shown, key)}
        with suppress(DpverdictError):
            again = find(shown, options).mechanism
            if isinstance(again, StructuredMechanism) and _same(again, mechanism):
                return shown, options, None
    function = unmarked(mechanism)
    found = _function_name(function, mechanism)
    if found is not None:
        file = str(inspect.getsourcefile(function))
        return found, {}, source_hash(f"{file}:{found.rpartition(':')[2]}")
    where = function if inspect.isroutine(function) else type(function)
    return f"an object made in Python, {where.__module__}.{where.__qualname__}", {}, None


def _same(one: StructuredMechanism, other: StructuredMechanism) -> bool:
    return one.adjacency is other.adjacency and one.describe() == other.describe()


def _function_name(function: object, marked: object = None) -> str | None:
    """``module:function``, or ``file.py:function`` of a script; None of anything that is not found by such a name.

    By the name of a function that is marked as `batched` in its module, the mark is found.
    """
    if not inspect.isfunction(function) or not function.__qualname__.isidentifier():
        return None
    where, name = function.__module__, function.__qualname__
    file = inspect.getsourcefile(function)
    held = getattr(sys.modules.get(where), name, None)
    wanted = marked if isinstance(marked, batched) else function
    if held is not wanted or file is None or not Path(file).is_file():
        return None
    return f"{file if where == '__main__' else where}:{name}"
