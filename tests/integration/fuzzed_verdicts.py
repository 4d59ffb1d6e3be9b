"""Random command lines that run to a verdict, each compared with the same request made in Python.

`dpverdict audit` is called as from a shell, in this process; the other side builds the mechanism from its public class,
or calls `distinguish` on the function, with the same texts. Both must end alike: certified, refuted, inconclusive, or
refused. A line in eight is spoilt in one of its numbers.

    python tests/integration/fuzzed_verdicts.py --lines 2000
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from dpverdict import mechanisms
from dpverdict.audit import certify, distinguish
from dpverdict.cli.application import main
from dpverdict.errors import DpverdictError
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, REPLACE_ONE, broken

SEED: Final = 20261126
ENDS: Final = {0: "CERTIFIED", 1: "REFUTED", 2: "refused", 3: "INCONCLUSIVE"}
RELATIONS: Final = {"add-or-remove-one": ADD_OR_REMOVE_ONE, "replace-one": REPLACE_ONE}
SPOILT: Final = ["0", "-1", "nan", "inf", "1/0", "1e9000", "x", "", "1e-400", "0.5.5", "1_0", "٣"]
SAMPLED: Final = 0.1
"""Of the lines of mechanisms of known structure: releases are tested as well, which must not change the verdict."""
FUNCTIONS: Final = 0.01
"""Of the lines: a function, whose audit starts an interpreter."""

RELEASES: Final = """
import numpy as np


def noisy(dataset, rng):
    return np.asarray(dataset, dtype=float).sum() + rng.laplace(scale=1.0)


def leaky(dataset, rng):
    return np.asarray(dataset, dtype=float).sum()


def says(dataset, rng):
    raise ValueError(f"the sum is {np.sum(dataset)}")
"""

Parameters = dict[str, str]


@dataclass(frozen=True, slots=True)
class Line:
    """A request: the words of the command line, and what the other side makes of them.

    Attributes:
        words: after ``dpverdict``.
        name: of the mechanism or the function.
        given: the parameters of the mechanism.
        claim: None for its own.
        samples: of a function.
        seed: of the releases.
    """

    words: tuple[str, ...]
    name: str
    given: Parameters
    claim: str | None
    samples: int
    seed: int


def a_line(number: int, seed: int = SEED) -> Line:
    """The line with this number."""
    drawn = random.Random(f"{seed} verdict {number}")
    if drawn.random() < FUNCTIONS:
        name, samples = drawn.choice(["noisy", "leaky", "says"]), drawn.choice([200, 400])
        claim = _claim(drawn)
        words = ["audit", f"release.py:{name}", "--neighbours", "pair.npz", "--claim", claim, "--no-tap"]
        words += ["--samples", str(samples), "--seed", str(number), "--quiet"]
        return Line(tuple(words), name, {}, claim, samples, number)
    name, given = _mechanism(drawn)
    if drawn.random() < 1 / 8:
        given[drawn.choice([key for key in given if key not in ("adjacency", "noise")])] = drawn.choice(SPOILT)
    claim = _claim(drawn) if drawn.random() < 0.9 else None
    tests = ["--samples", "200", "--seed", str(number)] if drawn.random() < SAMPLED else ["--no-test"]
    words = ["audit", name, *(part for key, text in given.items() for part in (f"--{key}", text)), *tests, "--quiet"]
    return Line(tuple(words if claim is None else [*words, "--claim", claim]), name, given, claim, 0, number)


def _number(drawn: random.Random, low: float = 0.2, high: float = 4.0) -> str:
    """A parameter as people write it: a decimal, a fraction, or with an exponent."""
    value = drawn.uniform(low, high)
    return drawn.choice([f"{value:.2f}", f"{value:.1f}", f"{round(value * 7) or 1}/7", f"{value:.3e}", "1", "0.5"])


def _claim(drawn: random.Random) -> str:
    number = _number(drawn)
    delta = drawn.choice(["1e-6", "1e-3", "0.01", "0.2", "1/7"])
    order = drawn.choice(["2", "3/2", "8"])
    return drawn.choice(
        [
            f"mu={number}",
            f"eps={number}",
            f"eps={number}, delta={delta}",
            f"rho={number}",
            f"alpha={order}, eps={number}",
        ]
    )


def _mechanism(drawn: random.Random) -> tuple[str, Parameters]:
    dim, number, relation = str(drawn.randint(1, 12)), _number(drawn), drawn.choice([*RELATIONS])
    few = str(drawn.randint(2, 5))
    made: dict[str, Parameters] = {
        "correlated-gaussian": {"dim": dim, "mu": number},
        "standard-gaussian": {"dim": dim, "mu": number, "adjacency": relation},
        "grouped-gaussian": {
            "dim": str(int(few) * drawn.randint(1, 3)),
            "groups": few,
            "mu": number,
            "adjacency": relation,
        },
        "count-ellipse": {"dim": dim, "k": str(drawn.randint(1, int(dim))), "mu": number},
        "elliptical-gaussian": {"dim": dim, "mu": number},
        "vote-ellipse": {"dim": dim, "mu": number},
        "gaussian": {"sigma": number, "sensitivity": _number(drawn)},
        "laplace": {"dim": few, "epsilon": number, "adjacency": relation},
        "randomized-response": {"options": few, "epsilon": number},
        "geometric": {"epsilon": number, "adjacency": relation},
        "exponential": {"options": few, "epsilon": number, "adjacency": relation},
        "permute-and-flip": {"options": few, "epsilon": number, "adjacency": relation},
        "tree-counter": {"horizon": str(drawn.randint(1, 40)), "epsilon": number, "arity": few},
        "broken:M1": {"dim": dim, "mu": number},
        "broken:M3": {"dim": dim, "mu": number},
        "broken:M12": {"dim": dim, "mu": number},
    }
    name = drawn.choice([*made])
    return name, made[name]


CLASSES: Final = {
    "correlated-gaussian": "CorrelatedGaussian",
    "standard-gaussian": "StandardGaussian",
    "grouped-gaussian": "GroupedGaussian",
    "count-ellipse": "CountEllipse",
    "elliptical-gaussian": "EllipticalGaussian",
    "vote-ellipse": "VoteEllipse",
    "gaussian": "GaussianMechanism",
    "laplace": "LaplaceMechanism",
    "randomized-response": "RandomizedResponse",
    "geometric": "GeometricMechanism",
    "exponential": "ExponentialMechanism",
    "permute-and-flip": "PermuteAndFlip",
    "tree-counter": "TreeCounter",
}
WHOLE: Final = ("dim", "groups", "k", "options", "horizon", "arity")


def in_python(line: Line) -> str:
    """What the request ends in, made in Python; "refused" where it raises an error of ours."""
    try:
        if line.samples:
            space: dict[str, Any] = {}
            exec(RELEASES, space)
            found = distinguish(
                space[line.name],
                (np.ones((2, 1)), np.ones((1, 1))),
                str(line.claim),
                error_probability=1e-6,
                samples=line.samples,
                seed=line.seed,
            )
            return "REFUTED" if found.refuted else "INCONCLUSIVE"
        if line.name.startswith("broken:"):
            made = broken.by_name(line.name[7:]).make(_whole(line.given["dim"]), line.given["mu"])
        else:
            values: dict[str, Any] = {name: _value(name, text) for name, text in line.given.items()}
            made = getattr(mechanisms, CLASSES[line.name])(**values)
        return certify(made, line.claim).status.name
    except (DpverdictError, _NoNumber):
        return "refused"


class _NoNumber(Exception):
    """A text that no whole number stands in: in Python nobody can write it."""


def _value(name: str, text: str) -> object:
    return RELATIONS[text] if name == "adjacency" else _whole(text) if name in WHOLE else text


def _whole(text: str) -> int:
    from dpverdict.numerics.text import whole_number

    try:
        return whole_number(text, "number", at_least=-(10**9))
    except DpverdictError:
        raise _NoNumber from None


def compare(line: Line) -> tuple[str, str | None]:
    """How the command ended, and what is wrong with it: the other end, or what it printed; None if nothing is."""
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        code = main(list(line.words))
    ended, expected = ENDS.get(code, f"exit code {code}"), in_python(line)
    if ended != expected:
        return ended, f"{ended}, and {expected} in Python: {' '.join(line.words)}: {errors.getvalue()[:200]}"
    if code == 2 and (errors.getvalue().count("\n") != 1 or not errors.getvalue().startswith("error: ")):
        return ended, f"no one line: {' '.join(line.words)}: {errors.getvalue()[:200]}"
    return ended, None


def fuzz(numbers: range, seed: int = SEED) -> tuple[Counter[str], list[str]]:
    """How the lines with these numbers ended, and what was found. The folder must hold what `write_material` writes."""
    ends, found = Counter[str](), list[str]()
    for number in numbers:
        ended, problem = compare(a_line(number, seed))
        ends[ended] += 1
        found += [] if problem is None else [f"{number}: {problem}"]
    return ends, found


def write_material(folder: Path) -> None:
    """The function and the pair of datasets that lines name."""
    (folder / "release.py").write_text(RELEASES, encoding="utf-8")
    np.savez(folder / "pair.npz", dataset=np.ones((2, 1)), neighbour=np.ones((1, 1)))


def _main() -> int:
    import os
    import tempfile

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    total, problems, began = Counter[str](), list[str](), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_material(Path(folder))
        for at in range(given.start, given.start + given.lines, 50):
            ends, found = fuzz(range(at, min(at + 50, given.start + given.lines)), given.seed)
            total += ends
            problems += found
            print(*found, f"{dict(total)}, {time.process_time() - began:.0f} s", sep="\n", flush=True)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(_main())
