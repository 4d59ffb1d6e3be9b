"""Held-out parameters of every kind against references of other code: sound, close, and in what time.

Run: OMP_NUM_THREADS=1 python benchmarks/random_compositions.py [NUMBER [FIRST_SEED [OF_ONE_KIND]]]

OF_ONE_KIND losses of one or two parts, at parameters and an epsilon from a range, and NUMBER compositions of two to
five parts of Gaussian, Laplace, discrete Gaussian, finite, sampled and allocated noise, any of them up to four times,
at a random epsilon from -1 to 12; all in a random order (tests/soundness/random_compositions.py). The references are
sums over outcomes and quadrature rules in float64, which share no code with what is measured. NUMBER compositions that
have one are compared; those whose rules would take too many nodes are composed and measured too, but compared with
nothing.

* unsound: the certified bounds are apart from the reference by more than its error;
* raising: an error of any kind;
* wider than stated: a relative width above 1e-9 where a closed form or a contour reaches (the profile to 30 bits),
  above 1e-6 elsewhere, of a profile above 1e-30; further down they are counted apart.
"""

from __future__ import annotations

import runpy
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.table import Table

from dpverdict.audit.losses.base import AddRemoveLoss, PrivacyLoss
from dpverdict.audit.losses.bounded import BoundedLoss
from dpverdict.errors import DpverdictError, PrecisionExhausted

FUZZ: Final = runpy.run_path(str(Path(__file__).parents[1] / "tests" / "soundness" / "random_compositions.py"))
CLOSED, ELSEWHERE, FAR = 1e-9, 1e-6, 1e-30
BITS: Final = 30
NUMBER, FIRST_SEED, OF_ONE_KIND = 2000, 1_000_000, 8000
COUNTED: Final = (
    "composed",
    "compared with a reference",
    "unsound",
    "raising",
    "wider than stated",
    "wider than stated, of a profile below 1e-30",
)


def in_order(loss: PrivacyLoss, order: str) -> PrivacyLoss:
    """The loss of one order."""
    if isinstance(loss, AddRemoveLoss):
        return loss.remove if order == "remove" else loss.add
    return loss if order == "remove" else loss.reversed()


def is_reached(loss: Any, epsilon: str) -> bool:
    """Whether a closed form or a contour reaches the profile, to 30 bits."""
    if isinstance(loss, BoundedLoss):
        return False
    if not hasattr(loss, "profile"):
        return True
    try:
        value = loss.profile(Fraction(epsilon), BITS)
    except PrecisionExhausted:
        return False
    return bool(value.rel_accuracy_bits() >= BITS)


def measured(seed: int, *, of_one_kind: bool = False) -> dict[str, Any]:
    """What came of one composition."""
    rng = np.random.default_rng(seed)
    kind = "composition"
    if of_one_kind:
        kind, composition, epsilon = FUZZ["random_of_a_kind"](rng)
    else:
        composition, epsilon = FUZZ["random_composition"](rng), str(rng.choice(FUZZ["EPSILONS"]))
    order = str(rng.choice(["remove", "add"]))
    found: dict[str, Any] = {
        "seed": seed,
        "kind": kind,
        "name": composition.name,
        "epsilon": epsilon,
        "order": order,
    }
    start = time.process_time()
    try:
        loss = in_order(composition.loss(), order)
        bounds = loss.certified_delta(epsilon)
    except (DpverdictError, ArithmeticError, ValueError, TypeError, AssertionError) as error:
        return found | {"seconds": time.process_time() - start, "raising": repr(error)}
    found["seconds"] = time.process_time() - start
    found["bounds"] = bounds.lower, bounds.upper
    found["width"] = width = (bounds.upper - bounds.lower) / bounds.upper if bounds.upper > 1e-300 else 0.0
    if width > CLOSED:
        found["wider"] = width > ELSEWHERE or is_reached(loss, epsilon)
    known = composition.reference(float(epsilon), order)
    if known is not None:
        truth, doubt = known
        found["unsound"] = bool(bounds.lower > truth + doubt or bounds.upper < truth - doubt)
        found["truth"] = truth
    return found


def counted(found: dict[str, Any]) -> Iterator[str]:
    """What a composition counts as."""
    yield "composed"
    if "unsound" in found:
        yield "compared with a reference"
    if found.get("unsound"):
        yield "unsound"
    if "raising" in found:
        yield "raising"
    if found.get("wider"):
        far = found["bounds"][1] < FAR
        yield "wider than stated, of a profile below 1e-30" if far else "wider than stated"


def main() -> None:
    """Measure and print; when it is interrupted, what came of those so far."""
    given = [int(text) for text in sys.argv[1:]]
    number, first, of_one_kind = [*given, *(NUMBER, FIRST_SEED, OF_ONE_KIND)[len(given) :]]
    console, counts, seconds = (
        Console(width=200),
        defaultdict[str, Counter[str]](Counter),
        defaultdict[str, list[float]](list),
    )
    start, seed = time.process_time(), first
    with suppress(KeyboardInterrupt):
        while seed < first + of_one_kind or counts["composition"]["compared with a reference"] < number:
            found = measured(seed, of_one_kind=seed < first + of_one_kind)
            seed += 1
            seconds[found["kind"]].append(found["seconds"])
            counts[found["kind"]].update(counted(found))
            if found.get("unsound") or "raising" in found or found.get("wider"):
                console.print(found)
    table = Table(title=f"Held-out parameters, seeds {first} to {seed - 1}, {time.process_time() - start:.0f} s in all")
    for name in ("kind", *COUNTED, "median s", "99 % s", "longest s"):
        table.add_column(name, justify="left" if name == "kind" else "right")
    for kind, own in sorted(counts.items()):
        shares = (f"{np.percentile(seconds[kind], share):.3f}" for share in (50, 99, 100))
        table.add_row(kind, *(str(own[name]) for name in COUNTED), *shares)
    console.print(table)


if __name__ == "__main__":
    main()
