"""The witness of a sequential test as a document: of the form of `witness_file`, so the same files hold it.

Its kind is "sequential". The evidence is one bettor: the payoff, the score that won most, frozen as it was when the
claim fell, and the stake that was reached. `sequential_replay` lets that bettor bet on fresh pairs.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from dpverdict.audit.betting import Mixture
from dpverdict.audit.catalogue import takes
from dpverdict.audit.curve_payoff import CurvePayoff, Payoff
from dpverdict.audit.report import software_versions
from dpverdict.audit.request import find
from dpverdict.audit.scores import Score
from dpverdict.audit.trials import AnyMechanism, Sampler, batched, with_batches
from dpverdict.audit.witness_file import FORMAT, VERSION, checksum, dataset_fields, source_hash
from dpverdict.errors import DpverdictError
from dpverdict.mechanisms.adjacency import adjacency_name
from dpverdict.mechanisms.guarantee import Guarantee
from dpverdict.mechanisms.mechanism import AdditiveMechanism
from dpverdict.mechanisms.neighbours import NeighbourPair

KIND: Final = "sequential"
UNSTATED: Final = "not stated"
"""The relation of two datasets that were given without one."""


def evidence_of(
    mixture: Mixture, scores: Mapping[str, Score], names: list[str], payoff: Payoff, pairs: int
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
    mode: str,
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
        mode: what an output is, in words.
        level: the error probability.
        bounds: the lower bounds, by name.
        samples: pairs in all.
        score: the user's function, if there is one.
    """
    name, options, source = _name(mechanism, p.name)
    kept = {key: value for key, value in evidence.items() if key not in ("score", "bettors")}
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "claim": claim.describe(),
        "relation": adjacency_name(neighbours.adjacency) if isinstance(neighbours, NeighbourPair) else UNSTATED,
        "mechanism": {
            "name": name,
            "options": options,
            "options_from_data": False,
            "source_sha256": source,
        },
        "datasets": {"dataset": dataset_fields(p.dataset), "neighbour": dataset_fields(q.dataset)},
        "mode": mode,
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


def _name(mechanism: AnyMechanism, shown: str) -> tuple[str, dict[str, str], str | None]:
    """The name and the options from which `find` makes the same mechanism, or a name that it does not find; with the
    hash of the source."""
    if isinstance(mechanism, AdditiveMechanism):
        stated = {
            **mechanism.describe(),
            **{part.name: getattr(mechanism.claim, part.name) for part in fields(mechanism.claim)},
            "adjacency": adjacency_name(mechanism.adjacency),
        }
        options = {key: str(value) for key, value in stated.items() if key != "scale" and takes(shown, key)}
        with suppress(DpverdictError):
            again = find(shown, options).mechanism
            if isinstance(again, AdditiveMechanism) and _same(again, mechanism):
                return shown, options, None
    function = mechanism.function if isinstance(mechanism, batched) else mechanism
    found = _function_name(function)
    if isinstance(mechanism, batched) and not isinstance(with_batches(function), batched):
        found = None  # found by its name it would be called once per trial
    if found is not None:
        file = str(inspect.getsourcefile(function))  # type: ignore[arg-type]  # a function, see `_function_name`
        return found, {}, source_hash(f"{file}:{found.rpartition(':')[2]}")
    where = function if inspect.isroutine(function) else type(function)
    return f"an object made in Python, {where.__module__}.{where.__qualname__}", {}, None


def _same(one: AdditiveMechanism, other: AdditiveMechanism) -> bool:
    return one.adjacency is other.adjacency and one.describe() == other.describe()


def _function_name(function: object) -> str | None:
    """``module:function``, or ``file.py:function`` of a script; None of anything that is not found by such a name."""
    if not inspect.isfunction(function) or not function.__qualname__.isidentifier():
        return None
    where, name = function.__module__, function.__qualname__
    file = inspect.getsourcefile(function)
    if getattr(sys.modules.get(where), name, None) is not function or file is None or not Path(file).is_file():
        return None
    return f"{file if where == '__main__' else where}:{name}"
