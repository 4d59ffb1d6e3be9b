"""Wrong command lines, made from what the parser and the mechanisms declare, and what an answer to each must say.

Each has one mistake of a kind that people make: a value that is none, an option that is missing, misspelt or of another
mechanism, a misspelt mechanism, choice, claim, file or command, a misspelt key of a plan or of a schema. Nothing is
drawn: the same lines come every time, and an option that is added brings its own.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from dpverdict.audit.documents.request import Request, ScoresRequest, option_of, parts
from dpverdict.audit.trials.catalogue import constructors_of, declared, mechanism_classes, option
from dpverdict.proofs.checks.registry import papers

NEED_NOT_BE_GIVEN: Final = {
    ("gaussian", "--dim"),
    ("grouped-gaussian", "--groups"),
    ("optimal-grouped-gaussian", "--dim"),
    ("laplace", "--dim"),
    ("tree-counter", "--arity"),
    ("vote-ellipse", "--dim"),
}
"""What is taken where it is left out is said by a note of the report."""

OF_MECHANISMS: Final = ("audit", "curve", "calibrate")


@dataclass(frozen=True)
class Wrong:
    """A command line with one mistake.

    Attributes:
        words: after ``dpverdict``.
        mistake: its kind.
        needs: words that the answer must have, a tuple of alternatives for each.
    """

    words: tuple[str, ...]
    mistake: str
    needs: tuple[tuple[str, ...], ...]

    @property
    def line(self) -> str:
        return shlex.join(("dpverdict", *self.words))


def misspelt(word: str, way: int) -> str:
    """A word with one slip of the fingers: two letters swapped, one left out, one doubled or another one."""
    middle = max(1, len(word) // 2)
    while middle + 1 < len(word) and (word[middle] == word[middle + 1] or not word[middle : middle + 2].isalpha()):
        middle += 1
    if middle + 1 >= len(word):
        return word + "x"
    a, b = word[middle], word[middle + 1]
    before, after = word[:middle], word[middle + 2 :]
    return (before + b + a + after, before + b + after, before + a + a + b + after)[way % 3]


def wrong_lines() -> list[Wrong]:
    """All of them, in an order of their own: the first of each kind come before the second of any."""
    kinds: dict[str, list[Wrong]] = {}
    for one in _all():
        kinds.setdefault(one.mistake, []).append(one)
    found = []
    while any(kinds.values()):
        found.extend(lines.pop(0) for lines in kinds.values() if lines)
    return found


def _all() -> Iterator[Wrong]:
    yield from _of_mechanisms()
    yield from _of_audits()
    yield from _claims()
    yield from _commands()
    yield from _compositions()
    yield from _samplers()
    yield from _scores()
    yield from _papers()
    yield from _plans()
    yield from _schemas()
    yield from _others()


# mechanisms ----------------------------------------------------------------------------------------------------------


def _of_mechanisms() -> Iterator[Wrong]:
    classes = mechanism_classes()
    for at, (name, mechanism) in enumerate(classes.items()):
        command = OF_MECHANISMS[at % 2]
        rest = ("--no-test",) if command == "audit" else ()
        example = shlex.split(mechanism.example)
        given = dict(zip(example[::2], example[1::2], strict=True))
        own = {
            option(parameter): said
            for build in constructors_of(mechanism)
            for parameter, said in declared(mechanism, build).items()
        }

        def line(
            words: dict[str, str], called: str = name, command: str = command, rest: tuple[str, ...] = rest
        ) -> tuple[str, ...]:
            return (command, called, *(word for pair in words.items() for word in pair), *rest)

        yield Wrong(line(given, misspelt(name, at)), "misspelt mechanism", ((name,), ("did you mean",)))
        yield Wrong(line(given, name.replace("-", "_").title()), "mechanism in other letters", ((name,),))
        yield Wrong((command, "--" + name, *example), "mechanism as an option", ((name,),))
        for way, (one, said) in enumerate(own.items()):
            words = said.metavar.split("|")
            if len(words) > 1:
                choice = words[way % len(words)]
                yield Wrong(line(given | {one: misspelt(choice, way)}), "misspelt choice", ((one,), (choice,)))
                yield Wrong(line(given | {one: "nonsense"}), "no choice", ((one,), (words[0],), (words[-1],)))
                if one in given:
                    yield Wrong(
                        line(given | {one: choice.upper() + "S"}), "choice in other letters", ((one,), (words[0],))
                    )
            elif said.metavar in ("FILE",):
                yield Wrong(line(given | {one: "missing.csv"}), "missing file", ((one,), ("missing.csv",)))
            else:
                yield Wrong(
                    line(given | {one: "many"}),
                    "word for a number",
                    (
                        (one,),
                        ("many", "one guarantee", "together with", "left out", "--calibration"),
                        ("number", "one guarantee", "together with", "left out", "--calibration"),
                    ),
                )
                yield Wrong(
                    line(given | {one: "nan"}),
                    "no number",
                    ((one,), ("nan", "one guarantee", "left out", "--calibration")),
                )
                yield Wrong(
                    line(given | {one: "1,5"}) if "," not in said.metavar else line(given | {one: "1;5"}),
                    "comma",
                    ((one,),),
                )
                if said.name not in ("threshold", "low", "high", "coefficients", "C", "s"):
                    yield Wrong(
                        line(given | {one: "-1"}),
                        "negative",
                        ((one,), ("-1", "one guarantee", "left out", "--calibration")),
                    )
            wrong = "--" + misspelt(one.removeprefix("--"), way)
            if len(one) > 4 and wrong not in own:
                yield Wrong(line({**given, wrong: given.get(one, "1")}), "misspelt option", ((wrong,), (one,)))
        for one in given:
            if (name, one) in NEED_NOT_BE_GIVEN:
                continue
            left = {key: value for key, value in given.items() if key != one}
            yield Wrong(line(left), "missing option", ((one,),))
        foreign = next(
            option(parameter)
            for other in [*list(classes.values())[at + 1 :], *classes.values()]
            for build in constructors_of(other)
            for parameter in declared(other, build)
            if option(parameter) not in own
        )
        yield Wrong(line({**given, foreign: "1"}), "option of another mechanism", ((foreign,), (name,)))
        first = example[0]
        yield Wrong((command, name, *example[1:], *rest), "value without its option", ((example[1], "unexpected"),))
        yield Wrong((command, name, *example, first), "option without its value", ((first,),))
        yield Wrong(
            (command, name, *(f"-{word[2:]}" if word.startswith("--") else word for word in example), *rest),
            "one dash",
            ((first,),),
        )
    for name in ("M3x", "m99", "M"):
        yield Wrong(("audit", f"broken:{name}", "--dim", "3", "--mu", "1"), "unknown variant", (("dpverdict list",),))


# what every audit takes ----------------------------------------------------------------------------------------------

STANDARD: Final = ("standard-gaussian", "--dim", "3", "--mu", "1")
OWN: Final = ("release.py:noisy_counts",)
VALUES: Final = {
    "samples": ("many", "-5", "1.5", "0"),
    "error_probability": ("2", "small", "0", "-1e-6"),
    "seed": ("x", "-1"),
    "score": ("no_score", "release.py:no_such_score"),
    "test_delta": ("2", "x"),
    "numbers": ("dobule", "rael"),
    "search": ("binary", "bianry:3", "unit:x"),
    "search_time": ("soon", "-1"),
    "observe": ("warnigns", "timeout=soon"),
    "record": ("first", "-2"),
    "data": ("missing.csv", "patients.tml"),
    "neighbours": ("missing.npz", "patients.csv"),
    "schema": ("missing.toml", "patients.csv"),
}
NEAREST: Final = {
    "dobule": "double",
    "rael": "real",
    "bianry:3": "binary",
    "binary": "binary:",
    "warnigns": "warnings",
}
"""What a misspelt value is meant for, where one is."""
OUTPUTS: Final = ("--json", "--report", "--witness", "--junit", "--sarif", "--certificate")


def _of_audits() -> Iterator[Wrong]:
    pair = ("--neighbours", "pair.npz", "--claim", "eps=1")
    table = ("--data", "patients.csv", "--adjacency", "add-or-remove-one", "--claim", "eps=1")
    for name, values in VALUES.items():
        one = option_of(Request, name)
        for value in values:
            start = (*OWN, *table) if name in ("user", "search_time") else (*OWN, *pair)
            if name in ("neighbours", "data", "schema", "search"):
                start = (
                    *OWN,
                    "--claim",
                    "eps=1",
                    *(("--adjacency", "add-or-remove-one") if name in ("data", "search") else ()),
                )
            if name in ("record", "test_delta"):
                start = STANDARD
            needs = ((one,), (value,))
            if value in NEAREST:
                needs = (*needs, (NEAREST[value],))
            yield Wrong(("audit", *start, one, value), "value of an audit", needs)
    for name in parts(Request):
        said = parts(Request)[name]
        if "panel" not in said:
            continue
        one = option_of(Request, name).partition("/")[0]
        wrong = "--" + misspelt(one.removeprefix("--"), len(name))
        yield Wrong(("audit", *STANDARD, wrong, "1"), "misspelt option of an audit", ((wrong,), (one,)))
        if "metavar" in said:
            yield Wrong(("audit", *STANDARD, one), "option of an audit without its value", ((one,),))
    for one in OUTPUTS:
        yield Wrong(("audit", *STANDARD, one, "missing/out"), "folder that is missing", ((one,), ("missing",)))
        yield Wrong(("audit", *STANDARD, one, "."), "folder for a file", ((one,), ("folder",)))
    for one, value in {"--jobs": "two", "--timeout": "soon", "--memory": "much", "--dask": "here"}.items():
        yield Wrong(("audit", *STANDARD, one, value), "value for the machines", ((one,), (value,)))
    yield Wrong(("audit", *STANDARD, "--jobs", "0"), "value for the machines", (("--jobs",), ("1",)))
    yield Wrong(("audit", *STANDARD, "--memory", "2X"), "value for the machines", (("--memory",), ("2G",)))
    yield Wrong(
        ("audit", *STANDARD, "--no-test", "--samples", "100"),
        "options that exclude each other",
        (("--samples",), ("--no-test",)),
    )
    yield Wrong(
        ("audit", *STANDARD, "--no-test", "--seed", "1"),
        "options that exclude each other",
        (("--seed",), ("--no-test",)),
    )
    yield Wrong(("audit", *STANDARD, "--record", "0"), "options that exclude each other", (("--record",), ("--data",)))
    yield Wrong(("audit", *STANDARD, "--user", "name"), "options that exclude each other", (("--user",), ("--data",)))
    yield Wrong(("audit", *OWN), "missing option of a function", (("--claim",),))
    yield Wrong(("audit", *OWN, "--neighbours", "pair.npz"), "missing option of a function", (("--claim",),))
    yield Wrong(
        ("audit", *OWN, "--claim", "eps=1"),
        "missing option of a function",
        (("--neighbours",), ("--schema",), ("--data",)),
    )
    yield Wrong(("audit", *OWN, *table[:2], *table[4:]), "missing option of a function", (("--adjacency",),))
    yield Wrong(
        ("audit", *OWN, *pair, "--dim", "3"), "option of a mechanism to a function", (("--dim",), ("left out",))
    )
    yield Wrong(("audit", "release.py:noisy_count", *pair), "misspelt function", (("noisy_counts",),))
    yield Wrong(("audit", "relaese.py:noisy_counts", *pair), "misspelt file", (("release.py",),))
    yield Wrong(("audit", "release.py", *pair), "file without its function", (("release.py:",),))
    yield Wrong(("audit", "release", *pair), "module without its function", ((":",),))
    yield Wrong(("audit", "release.noisy_counts", *pair), "dot for a colon", (("release:noisy_counts", ":"),))
    yield Wrong(("audit", "patients.csv", "--claim", "eps=1"), "table for a mechanism", ((":", "--data"),))
    yield Wrong(("audit", "--dim", "3", "--mu", "1"), "no mechanism", (("MECHANISM",),))
    yield Wrong(("audit",), "no mechanism", (("MECHANISM",),))
    yield Wrong(("audit", "dpverdict", *STANDARD), "a word too many", (("standard-gaussian",),))
    yield Wrong(
        ("audit", "laplace", "--dim", "2", "--epsilon", "1", "--norm", "l3"), "no choice", (("--norm",), ("l1",))
    )
    yield Wrong(("audit", "gaussian", "--sigma", "1"), "missing option", (("--sensitivity",),))
    yield Wrong(
        ("audit", "standard-gaussian", "--dim", "3", "--epsilon", "1", "--delta", "1e-6"),
        "missing option",
        (("--calibration",), ("classic",)),
    )
    yield Wrong(
        ("audit", "factorization-counter", "--horizon", "8", "--kind", "binary", "--noise", "laplace"),
        "missing option",
        (("--epsilon",),),
    )


# claims --------------------------------------------------------------------------------------------------------------

CLAIMS: Final = {
    "eps=one": "number",
    "eps=": "number",
    "epsilon:1": "eps=1",
    "eps 1": "eps=1",
    "eps>1": "eps=1",
    "1": "eps=1",
    "eps": "eps=1",
    "": "eps=1",
    "private": "eps=1",
    "delta=2": "delta",
    "delta=1e-6": "eps",
    "eps=-1": "-1",
    "eps=1, delta=2": "delta",
    "eps=1, delta=-1e-6": "delta",
    "eps=1, dleta=1e-6": "delta",
    "esp=1, delta=1e-6": "eps",
    "eps=1; delta=1e-6": "eps=1, delta=1e-6",
    "eps=1 and delta=1e-6": "eps=1, delta=1e-6",
    "eps=1,5": "1.5",
    "eps=1, eps=2": "eps",
    "mu=1, rho=1": "mu",
    "eps=1, mu=1": "mu",
    "roh=0.5": "rho",
    "m=1": "mu",
    "mu=-1": "-1",
    "mu=nan": "nan",
    "mu=inf": "inf",
    "rho=-0.5": "-0.5",
    "zcdp=0.5": "rho",
    "gdp=1": "mu",
    "renyi=2": "order",
    "order=2": "order=2, eps=1",
    "order=1, epsilon=1": "order",
}
"""Misspelt claims, with a part of the nearest right form."""


def _claims() -> Iterator[Wrong]:
    for at, (claim, right) in enumerate(CLAIMS.items()):
        start = (
            ("audit", *STANDARD, "--no-test"),
            ("calibrate", "gaussian", "--sensitivity", "1"),
            ("compose", "30 x gaussian sigma=20 sensitivity=1"),
            ("audit", *OWN, "--neighbours", "pair.npz"),
            ("scores", "--in", "in.npy", "--out", "out.npy"),
            ("audit", *OWN, "--schema", "patients.toml"),
        )[at % 6]
        yield Wrong((*start, "--claim", claim), "claim", (("--claim",), (right,)))
    yield Wrong(("calibrate", "gaussian", "--sensitivity", "1"), "missing claim", (("--claim",),))
    yield Wrong(("calibrate", "gaussian", "--claim", "eps=1"), "missing option", (("--sensitivity",),))
    yield Wrong(
        ("calibrate", "gaussian", "--claim", "eps=1", "--sensitivity", "1"), "claim that no noise keeps", (("delta",),)
    )
    yield Wrong(
        ("calibrate", "gaussian", "--claim", "mu=1", "--sensitivity", "1", "--sigma", "2"),
        "what is to be found is given",
        (("--sigma",), ("leave", "left out")),
    )
    yield Wrong(
        ("calibrate", "gaussian", "--claim", "mu=1", "--sensitivity", "1", "--releases", "0"),
        "value of calibrate",
        (("--releases",),),
    )
    yield Wrong(
        ("calibrate", "gaussian", "--claim", "mu=1", "--sensitivity", "1", "--releases", "many"),
        "value of calibrate",
        (("--releases",),),
    )
    yield Wrong(("calibrate", "tree-counter", "--claim", "eps=1"), "what cannot be calibrated", (("gaussian",),))
    yield Wrong(("calibrate", *OWN, "--claim", "eps=1"), "missing option of a function", (("--schema",),))
    yield Wrong(
        ("calibrate", *OWN, "--claim", "eps=1", "--schema", "patients.toml", "--dim", "3"),
        "option of a mechanism to a function",
        (("--dim",),),
    )
    yield Wrong(
        ("calibrate", "eps=1", "gaussian", "--sensitivity", "1"),
        "swapped arguments",
        (("eps=1",), ("--claim", "unexpected")),
    )


# commands ------------------------------------------------------------------------------------------------------------

COMMANDS: Final = (
    *("audit", "audit-sampler", "tap", "curve", "calibrate", "compose", "run", "schema", "scores", "replay", "prove"),
    *("check", "list", "scan", "corpus", "selftest", "doctor"),
)


def _commands() -> Iterator[Wrong]:
    for way, command in enumerate(COMMANDS):
        wrong = misspelt(command, way)
        yield Wrong((wrong, "x"), "misspelt command", ((wrong,), (command,)))
        yield Wrong((command, "--hlep"), "misspelt option", (("--hlep",), ("--help",)))
    for one in ("list", "show", "run"):
        yield Wrong(("corpus", misspelt(one, 0)), "misspelt command", ((one,),))
    for words, right in {
        ("audits", *STANDARD): "audit",
        ("verify", "lebeda2024"): "prove",
        ("mechanisms",): "list",
        ("standard-gaussian", "--dim", "3", "--mu", "1"): "audit standard-gaussian",
        ("release.py:noisy_counts", "--claim", "eps=1"): "audit release.py:noisy_counts",
        ("test", *STANDARD): "selftest",
        ("audit_sampler", "loaders.py:poisson"): "audit-sampler",
        ("corpus",): "list",
        ("corpus", "list", "extra"): "extra",
        ("corpus", "show"): "corpus list",
        ("corpus", "show", "nothing"): "corpus list",
        ("corpus", "run", "nothing"): "corpus list",
        ("list", "gausian"): "gaussian",
        ("list", "dp_sgd"): "dp-sgd",
        ("list", "brokn"): "broken",
        ("list", "broken:M99"): "broken:M9",
        ("list", "gaussian", "laplace"): "laplace",
        ("selftest", "extra"): "extra",
        ("doctor", "--verbose"): "--help",
        ("--verson",): "--version",
        ("--dim", "3", "audit"): "audit",
    }.items():
        yield Wrong(words, "command", ((right,),))


# accounts, curves, loaders, scores -----------------------------------------------------------------------------------

RELEASES: Final = {
    "30 x gausian sigma=20 sensitivity=1": "gaussian",
    "30 x gaussian sgima=20 sensitivity=1": "sigma",
    "30 x gaussian sigma=20": "sensitivity",
    "30 x gaussian": "sigma",
    "gaussian sigma=twenty sensitivity=1": "sigma",
    "gaussian sigma=-20 sensitivity=1": "sigma",
    "gaussian sigma=20 sensitivity=1 sensitivity=2": "sensitivity",
    "gaussian sigma 20 sensitivity 1": "sigma=20",
    "gaussian --sigma 20 --sensitivity 1": "sigma=20",
    "gaussian sigma=20, sensitivity=1": "sigma=20",
    "0 x gaussian sigma=20 sensitivity=1": "1",
    "-3 x gaussian sigma=20 sensitivity=1": "3 x gaussian",
    "x gaussian sigma=20 sensitivity=1": "gaussian",
    "many x gaussian sigma=20 sensitivity=1": "30 x gaussian",
    "2.5 x gaussian sigma=20 sensitivity=1": "2.5",
    "30 gaussian sigma=20 sensitivity=1": "30 x gaussian",
    "": "gaussian",
    "30 x": "gaussian",
    "laplace scale=1 sensitivity=1 dim=1 norm=l3 adjacency=replace-one": "norm",
    "laplace epsilon=1 dim=1 adjacency=add": "adjacency",
    "event.jsn": "event.json",
    "missing.json": "--adjacency",
    "patients.csv": "dpverdict list",
    "dp-sgd noise_multiplier=1 rate=0.25 steps=8 sampling=possion adjacency=add-or-remove-one": "poisson",
    "dp-sgd noise-multiplier=1 rate=2 steps=8 sampling=poisson adjacency=add-or-remove-one": "rate",
    "release.py:noisy_counts": "gaussian",
}


def _compositions() -> Iterator[Wrong]:
    for at, (release, right) in enumerate(RELEASES.items()):
        rest = ("--delta", "1e-6") if at % 2 else ("--claim", "eps=2, delta=1e-6")
        yield Wrong(("compose", release, *rest), "release", ((right,),))
    good = "30 x gaussian sigma=20 sensitivity=1"
    yield Wrong(("compose", good), "missing claim", (("--claim",), ("--delta",)))
    yield Wrong(("compose", "--delta", "1e-6"), "missing release", (("RELEASES",),))
    yield Wrong(
        ("compose", good, "--delta", "1e-6", "--claim", "eps=2, delta=1e-6"),
        "options that exclude each other",
        (("--claim",), ("--delta",)),
    )
    for value in ("2", "x", "-1", "1", "nan"):
        yield Wrong(("compose", good, "--delta", value), "value of compose", (("--delta",), (value,)))
    yield Wrong(("compose", good, "--dleta", "1e-6"), "misspelt option", (("--dleta",), ("--delta",)))
    yield Wrong(("compose", good, "--epsilon", "1"), "option of another command", (("--epsilon",),))
    yield Wrong(("compose", "event.json", "--delta", "1e-6"), "missing option", (("--adjacency",),))
    yield Wrong(
        ("compose", "event.json", "--delta", "1e-6", "--adjacency", "add-or-remove"),
        "misspelt choice",
        (("--adjacency",), ("add-or-remove-one",)),
    )
    for one, value, right in (
        ("--points", "1", "2"),
        ("--points", "many", "many"),
        ("--points", "-3", "-3"),
        ("--csv", "missing/out.csv", "missing"),
        ("--png", ".", "folder"),
        ("--svg", "missing/out.svg", "missing"),
        ("--pgn", "out.png", "--png"),
        ("--claim", "mu=1", "--claim"),
        ("--report", "out.html", "--report"),
    ):
        yield Wrong(("curve", *STANDARD, one, value), "value of curve", ((one,), (right,)))
    yield Wrong(("curve", *OWN), "function that has no curve", (("dpverdict list",),))
    yield Wrong(("curve", "coutners"), "misspelt mechanism", (("counters",),))


def _samplers() -> Iterator[Wrong]:
    for words, right in {
        ("--sampling", "possion", "--rate", "0.05"): "poisson",
        ("--sampling", "fixed", "--size", "10"): "fixed-size",
        ("--sampling", "shufle", "--size", "10"): "shuffle",
        ("--sampling", "nonsense"): "poisson",
        ("--sampling", "poisson"): "--rate",
        ("--sampling", "poisson", "--rate", "5"): "--rate",
        ("--sampling", "poisson", "--rate", "x"): "--rate",
        ("--sampling", "poisson", "--rate", "-0.1"): "--rate",
        ("--sampling", "poisson", "--size", "10"): "--rate",
        ("--sampling", "fixed-size", "--rate", "0.05"): "--size",
        ("--sampling", "fixed-size", "--size", "x"): "--size",
        ("--sampling", "poisson", "--rate", "0.05", "--records", "x"): "--records",
        ("--sampling", "poisson", "--rate", "0.05", "--records", "-1"): "--records",
        ("--sampling", "poisson", "--rate", "0.05", "--batches", "x"): "--batches",
        ("--sampling", "poisson", "--rate", "0.05", "--batches", "0"): "--batches",
        ("--sampling", "poisson", "--rate", "0.05", "--seed", "x"): "--seed",
        ("--sampling", "poisson", "--rate", "0.05", "--delta", "1e-5"): "--noise-multiplier",
        ("--sampling", "poisson", "--rate", "0.05", "--steps", "10"): "--noise-multiplier",
        ("--sampling", "poisson", "--rate", "0.05", "--noise-multiplier", "1", "--steps", "10"): "--delta",
        ("--sampling", "poisson", "--rate", "0.05", "--error-probability", "2"): "--error-probability",
        ("--sampling", "poisson", "--rate", "0.05", "--json", "missing/out.json"): "--json",
        ("--smapling", "poisson", "--rate", "0.05"): "--sampling",
        ("--rate", "0.05"): "--sampling",
    }.items():
        yield Wrong(("audit-sampler", "loaders.py:poisson", *words), "sampler", ((right,),))
    good = ("--sampling", "poisson", "--rate", "0.05")
    yield Wrong(("audit-sampler", "loader.py:poisson", *good), "misspelt file", (("loaders.py",),))
    yield Wrong(("audit-sampler", "loaders.py:possion", *good), "misspelt function", (("poisson",),))
    yield Wrong(("audit-sampler", "loaders.py", *good), "file without its function", (("loaders.py:",),))
    yield Wrong(("audit-sampler", *good), "no loader", (("LOADER",),))
    for words, right in {
        (*OWN,): "--neighbours",
        (*OWN, "--claim", "eps=1"): "--neighbours",
        (*OWN, "--neighbours", "missing.npz", "--claim", "eps=1"): "missing.npz",
        (*OWN, "--neighbours", "pair.npz", "--claim", "eps=one"): "--claim",
        (*OWN, "--neighbours", "pair.npz", "--claim", "eps=1", "--samples", "x"): "--samples",
        (*OWN, "--neighbours", "pair.npz", "--claim", "eps=1", "--seed", "x"): "--seed",
        (*OWN, "--neighbours", "pair.npz", "--claim", "eps=1", "--timeout", "0"): "--timeout",
        (*OWN, "--neighbours", "pair.npz", "--claim", "eps=1", "--memory", "little"): "--memory",
        (*OWN, "--neighbors", "pair.npz", "--claim", "eps=1"): "--neighbours",
    }.items():
        yield Wrong(("tap", *words), "tap", ((right,),))


def _scores() -> Iterator[Wrong]:
    both = ("--in", "in.npy", "--out", "out.npy")
    for words, right in {
        ("--claim", "mu=1"): "--in",
        ("--in", "in.npy", "--claim", "mu=1"): "--out",
        ("--out", "out.npy", "--claim", "mu=1"): "--in",
        both: "--claim",
        (*both, "--scores", "in.npy", "--claim", "mu=1"): "--scores",
        ("--scores", "in.npy", "--claim", "mu=1"): "--included",
        ("--in", "inn.npy", "--out", "out.npy", "--claim", "mu=1"): "in.npy",
        ("--in", "in.npy", "--out", "out.txt", "--claim", "mu=1"): "a file that exists",
        ("--in", "patients.csv#aeg", "--out", "out.npy", "--claim", "mu=1"): "age",
        ("--in", "pair.npz", "--out", "out.npy", "--claim", "mu=1"): "--in",
        (*both, "--claim", "mu=1", "--delta", "2"): "--delta",
        (*both, "--claim", "mu=1", "--delta", "x"): "--delta",
        (*both, "--claim", "mu=1", "--error-probability", "1"): "--error-probability",
        (*both, "--claim", "mu=1", "--seed", "x"): "--seed",
        (*both, "--claim", "mu=1", "--report", "missing/out.html"): "--report",
        (*both, "--claim", "mu=1", "--json", "in.npy"): "--json",
    }.items():
        yield Wrong(("scores", *words), "scores", ((right,),))
    for name in parts(ScoresRequest):
        one = option_of(ScoresRequest, name)
        wrong = "--" + misspelt(one.removeprefix("--"), len(name))
        if len(one) > 6:
            yield Wrong(("scores", *both, "--claim", "mu=1", wrong, "1"), "misspelt option", ((wrong,), (one,)))


# papers, plans, schemas ----------------------------------------------------------------------------------------------


def _papers() -> Iterator[Wrong]:
    for way, paper in enumerate(papers()):
        yield Wrong(("prove", misspelt(paper, way)), "misspelt paper", ((paper,),))
        yield Wrong(("prove", paper, "--statement", "99.9"), "no statement", (("--statement",), ("99.9",)))
    for words, right in {
        ("prove", "--statement"): "--statement",
        ("prove", "lebeda2024", "--statment", "3.4"): "--statement",
        ("prove", "lebeda2024", "3.4"): "--statement",
        ("prove", "nothing.py"): "nothing.py",
        ("prove", "release.py"): "registers the statements",
        ("prove", "lebeda2024", "--jobs", "two"): "--jobs",
        ("prove", "lebeda2024", "--json", "missing/out.json"): "--json",
        ("prove", "lebeda2024", "--certificates", "patients.csv"): "--certificates",
        ("prove", "lebeda2024", "--statement", "lem3.44"): "3.4",
        ("prove", "Lebeda 2024"): "lebeda2024",
        ("check",): "FILE",
        ("check", "missing.json"): "missing.json",
        ("check", "patients.csv"): "certificate",
        ("check", "event.json"): "certificate",
        ("check", "empty"): "empty",
        ("check", "event.json", "--timeout", "x"): "--timeout",
        ("replay",): "WITNESS",
        ("replay", "missing.json"): "missing.json",
        ("replay", "event.json"): "witness",
        ("replay", "patients.csv"): "witness",
        ("replay", "event.json", "--sampels", "1"): "--samples",
        ("scan", "missing.py"): "missing.py",
        ("schema",): "TABLE",
        ("schema", "patient.csv"): "patients.csv",
        ("schema", "patients.toml"): ".csv",
        ("schema", "patients.csv", "--adjacency", "add-or-remove"): "add-or-remove-one",
        ("schema", "patients.csv", "--table", "panda"): "pandas",
        ("schema", "patients.csv", "--user", "naem"): "--user",
        ("schema", "patients.csv", "--user", "aeg"): "age",
        ("schema", "patients.csv", "--out", "missing/p.toml"): "--out",
        ("schema", "patients.csv", "--out", "patients.csv"): "--out",
    }.items():
        yield Wrong(words, "paper or file", ((right,),))


PLAN: Final = """
title = "Two"
seed = "1"

[[audit]]
name = "one"
mechanism = "standard-gaussian"
dim = 3
mu = 1
"""
PLANS: Final = {
    "tilte": (PLAN.replace("title", "tilte"), "title"),
    "sed": (PLAN.replace("seed", "sed"), "seed"),
    "audits": (PLAN.replace("[[audit]]", "[[audits]]"), "did you mean audit?"),
    "audit-table": (PLAN.replace("[[audit]]", "[audit]"), "[[audit]]"),
    "mechansim": (PLAN.replace("mechanism", "mechansim"), "mechanism"),
    "gausian": (PLAN.replace("standard-gaussian", "standard-gausian"), "standard-gaussian"),
    "dmi": (PLAN.replace("dim", "dmi"), "dim"),
    "no-mu": (PLAN.replace("mu = 1", ""), "mu"),
    "bad-mu": (PLAN.replace("mu = 1", 'mu = "one"'), "mu"),
    "clam": (PLAN + 'clam = "mu=1"\n', "claim"),
    "claim": (PLAN + 'claim = "eps:1"\n', "eps=1"),
    "expect": (PLAN + 'expect = "certifed"\n', "certified"),
    "twice": (PLAN + PLAN.partition("\n\n")[2], "name"),
    "samples": (PLAN + 'samples = "many"\n', "samples"),
    "accept": ('accept = "yes"\n' + PLAN, "not refuted"),
    "syntax": (PLAN.replace("mu = 1", "mu = "), "line"),
    "empty": ("", "[[audit]]"),
    "rate": (PLAN + "rate = 0.5\n", "rate"),
    "schema": (
        PLAN.replace(
            '"standard-gaussian"\ndim = 3\nmu = 1',
            '"release.py:noisy_counts"\nschema = "missing.toml"\nclaim = "eps=1"',
        ),
        "missing.toml",
    ),
    "timeout": (PLAN + 'timeout = "soon"\n', "timeout"),
}
"""Plans with one mistake, and what an answer must say."""

SCHEMA: Final = """
relation = "add-or-remove-one"
table = "pandas"
[columns.age]
type = "int"
low = 0
high = 120
"""
SCHEMAS: Final = {
    "raltion": (SCHEMA.replace("relation", "realtion"), "relation"),
    "add": (SCHEMA.replace("add-or-remove-one", "add-or-remove"), "add-or-remove-one"),
    "no-relation": (SCHEMA.replace('relation = "add-or-remove-one"', ""), "relation"),
    "tabel": (SCHEMA.replace("table", "tabel"), "table"),
    "panda": (SCHEMA.replace("pandas", "panda"), "pandas"),
    "colums": (SCHEMA.replace("columns", "colums"), "columns"),
    "tpye": (SCHEMA.replace("type", "tpye"), "type"),
    "integer": (SCHEMA.replace('"int"', '"integer"'), "int"),
    "lo": (SCHEMA.replace("low", "lwo"), "low"),
    "order": (SCHEMA.replace("low = 0", "low = 200"), "low"),
    "word": (SCHEMA.replace("low = 0", 'low = "none"'), "low"),
    "no-columns": (SCHEMA.partition("[columns")[0], "columns"),
    "syntax": (SCHEMA.replace("low = 0", "low = "), "line"),
    "category": (SCHEMA.replace('type = "int"\nlow = 0\nhigh = 120', 'type = "category"'), "values"),
}
"""Schemas with one mistake, and what an answer must say."""


def _plans() -> Iterator[Wrong]:
    for name, (_, right) in PLANS.items():
        yield Wrong(("run", f"plan-{name}.toml"), "plan", ((right,),))
    for words, right in {
        ("run",): "PLAN",
        ("run", "pln.toml"): "plan.toml",
        ("run", "patients.csv"): "TOML",
        ("run", "plan.toml", "--jobs", "x"): "--jobs",
        ("run", "plan.toml", "--report", "missing/out.html"): "--report",
        ("run", "plan.toml", "--pakcet", "folder"): "--packet",
        ("run", "plan.toml", "--packet", "patients.csv"): "--packet",
        ("run", "plan.toml", "--journal", "patients.csv"): "--journal",
        ("run", "plan.toml", "other.toml"): "other.toml",
        ("run", "plan.toml", "--json", "plan.toml"): "--json",
    }.items():
        yield Wrong(words, "run", ((right,),))


def _schemas() -> Iterator[Wrong]:
    for name, (_, right) in SCHEMAS.items():
        words = ("audit", "release.py:noisy_counts", "--schema", f"schema-{name}.toml", "--claim", "eps=1")
        yield Wrong(words, "schema", ((right,),))
    for words, right in {
        ("--samples", "100"): "--samples",
        ("--neighbours", "pair.npz"): "--neighbours",
        ("--jobs", "2"): "--jobs",
        ("--adjacency", "replace-one"): "--adjacency",
        ("--user", "age"): "--user",
    }.items():
        start = ("audit", "release.py:noisy_counts", "--schema", "patients.toml", "--claim", "eps=1")
        yield Wrong((*start, *words), "left out beside a schema", ((right,), ("--schema",)))


def _others() -> Iterator[Wrong]:
    yield Wrong(("audit", "event.json", "--claim", "eps=1, delta=1e-6"), "event", (("--adjacency",),))
    yield Wrong(("audit", "event.json", "--adjacency", "add-or-remove-one"), "event", (("--claim",),))
    for words, right in {
        ("--samples", "10"): "--samples",
        ("--dim", "3"): "--dim",
        ("--jobs", "2"): "--jobs",
        ("--certificate", "out.json"): "--certificate",
    }.items():
        start = ("audit", "event.json", "--claim", "eps=1, delta=1e-6", "--adjacency", "add-or-remove-one")
        yield Wrong((*start, *words), "event", ((right,),))


# the files that they name, and what an answer must not have ----------------------------------------------------------

EXAMPLES: Final = Path(__file__).parents[1] / "examples"


def write_files(folder: Path) -> None:
    """The files that the command lines name, in a folder."""
    import shutil

    for name in ("release.py", "loaders.py"):
        shutil.copy(EXAMPLES / name, folder)
    shutil.copy(EXAMPLES / "own_function/patients.toml", folder)
    (folder / "patients.csv").write_text("age,city,cost\n" + "31,Oslo,120.5\n58,Rome,\n44,Oslo,9.25\n" * 20)
    (folder / "event.json").write_text('{"class_name": "GaussianDpEvent", "noise_multiplier": 1}')
    np.savez(folder / "pair.npz", dataset=np.ones((2, 3)), neighbour=np.ones((1, 3)))
    np.save(folder / "in.npy", np.linspace(0, 1, 50))
    np.save(folder / "out.npy", np.linspace(-1, 0, 50))
    (folder / "empty").mkdir()
    (folder / "plan.toml").write_text(PLAN)
    for name, (text, _) in PLANS.items():
        (folder / f"plan-{name}.toml").write_text(text)
    for name, (text, _) in SCHEMAS.items():
        (folder / f"schema-{name}.toml").write_text(text)


WIDEST: Final = 80
MOST_LINES: Final = 5
"""Of 80 letters, of the one line of an answer."""

INNER: Final = (
    re.compile(r"Traceback|NoneType|<class|object at 0x|Error\(|<function|dpverdict\.[a-z_]+\.[a-z_]+"),
    re.compile(r"\b(nobody|grouped|m|kwargs?|self|argument nobody gave)(=|\b must)"),
    re.compile(r"\b(?!pair_|noisy_|no_such|audit_|dp_|jax_|tf_|release_)[a-z]+_[a-z_]+='"),
)
"""Of Python, which the reader did not write."""


def problems(wrong: Wrong, code: int, printed: str, told: str) -> list[str]:
    """What is wrong with the answer to a wrong command line."""
    of_the_program = told
    for word in sorted(wrong.words, key=len, reverse=True):
        of_the_program = of_the_program.replace(word, "")
    found = []
    if code != 2:
        found.append(f"exit code {code}")
    if printed and wrong.mistake != "plan":  # what a plan has run is told all the same
        found.append("something on standard output")
    if told.count("\n") > MOST_LINES or len(told) > MOST_LINES * WIDEST:
        found.append(f"{len(told)} letters")
    found.extend(f"inner words: {hit[0]!r}" for inner in INNER if (hit := inner.search(of_the_program)))
    found.extend(
        f"without {' or '.join(alternatives)}"
        for alternatives in wrong.needs
        if not any(part in told for part in alternatives)
    )
    return found
