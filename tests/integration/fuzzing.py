"""Hostile command lines, plans, witnesses, tables and journals: each must end in an answer, or in one line saying why.

What a case may end in: exit code 0, 1 or 3 with a verdict, or 2 with one line on standard error. A traceback, a signal,
more than ``SECONDS`` or more than ``MEMORY`` is a finding. Every case runs in a process of its own, forked from one
that has imported everything, and is made from the seed and its number alone, so that a finding can be repeated. The
process in which a case runs code of the user's is forked as well, where the product starts a fresh interpreter, which
costs ten times the rest; every `FRESH`-th case is run as the product does it.

    python tests/integration/fuzzing.py --lines 10000 --plans 2000 --witnesses 2000 --tables 2000 --journals 2000
    python tests/integration/fuzzing.py --repeat witnesses 1234
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import json
import math
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from dpverdict.audit.distinguishing.witness_document import checksum
from dpverdict.audit.isolation import guard, process
from dpverdict.cli.application import main

SEED: Final = 20261122
SECONDS: Final = 60.0
MEMORY: Final = 2 << 30
FRESH: Final = 50

RELEASES: Final = """
import numpy as np

CALLS = 0


def noisy(dataset, rng):
    return np.asarray(dataset, dtype=float).sum(axis=0) + rng.laplace(scale=1.0, size=np.shape(dataset)[1])


def leaky(dataset, rng):
    return np.asarray(dataset, dtype=float).sum(axis=0)


def table():
    return np.eye(3)


def first(outputs):
    return outputs[:, 0]
"""

NUMBERS: Final = [
    *("0", "1", "2", "3", "7", "0.5", "1e-3", "1/3", "1e3", "-1", "-0.0", "nan", "inf", "-inf", "1e400", "1e-400"),
    *("1/0", "0/0", "1e-9000", "1e9000", "-1e9000", "1e10001", "1e-10001", "1e5000000000", "0x10", "1_0", "٣", "1e"),
    *("1" * 400, "0." + "3" * 400, "1e18", "1e9", "9223372036854775808", "1e308", "5e-324", ".", "e5", "+1", "1e+3"),
]
HOSTILE: Final = [
    *("", " ", "--", "-", "None", "true", "[]", "{}", "../../etc/passwd", "/", ".", "..", "/dev/null", "/dev/zero"),
    *("/nonexistent/x", "\x1b[31mred\x1b[0m", "\x07", "a\nb", "\u202egnp.exe", "é" * 50, "a" * 5000, "\udcff", "😀"),
    *("mu=", "mu=nan", "eps=1,delta=2", "eps=1, delta=1e-6, mu=1", "rho=-1", "eps=1e-9000", "mu=1e9000", "eps=;"),
    *("tcp://256.0.0.1:99999", "<script>alert(1)</script>", "${HOME}", "$(reboot)", "%s%n", "'; DROP TABLE", "a,b,,c"),
    *("release.py", "release.py:", ":noisy", "release.py:missing", "release.py:noisy", "os:system", "x.py:f", "json:"),
    *("table.csv", "table.npy", "pair.npz", "plan.toml", "witness.json", "plan.toml:title", "table.csv#a", "binary:3"),
]
CLAIMS: Final = ["mu=1", "eps=1", "eps=1, delta=1e-6", "rho=0.5", "alpha=2, eps=1", "mu=0.2"]
COMMANDS: Final = ["audit", "curve", "run", "list", "prove", "scores", "replay", "selftestt", "--version", "--odd", ""]
MECHANISMS: Final = [
    *("standard-gaussian", "correlated-gaussian", "grouped-gaussian", "elliptical-gaussian", "laplace", "tree-counter"),
    *("factorization-counter", "count-ellipse", "vote-ellipse", "rank1-gaussian", "discrete-correlated-gaussian"),
    *("broken:M3", "broken:T1", "broken:L2", "broken:ZZ", "counters", "ellipses", "constants", "release.py:noisy"),
]
OPTIONS: Final = [
    *("--dim", "--mu", "--epsilon", "--delta", "--calibration", "--c", "--count", "--size-estimate", "--groups"),
    *("--bounds", "--adjacency", "--claim", "--data", "--record", "--neighbours", "--samples", "--seed", "--score"),
    *("--error-probability", "--test-delta", "--points", "--csv", "--json", "--report", "--jobs", "--statement"),
    *("--journal", "--horizon", "--arity", "--kind", "--noise", "--norm", "--numbers", "--search", "--in", "--out"),
    *("--scores", "--included", "--png", "--svg", "--junit", "--witness", "--scale", "--digits", "--quiet", "--fresh"),
]


@dataclass(frozen=True, slots=True)
class Case:
    """One hostile input: the words of the command line, and the files it finds in its folder."""

    words: tuple[str, ...]
    files: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a case ended: exit code (negative: the signal), standard error, seconds of processor, bytes of memory."""

    code: int
    errors: str
    seconds: float
    memory: int

    @property
    def finding(self) -> str | None:
        """What is wrong with it; None if nothing is."""
        if self.code == -signal.SIGALRM or self.seconds > SECONDS:
            return f"hangs: {self.seconds:.0f} s of processor time"
        if self.code not in (0, 1, 2, 3):
            return f"ends with {self.code}: {self.errors[-400:]}"
        if "Traceback" in self.errors:
            return f"traceback: {self.errors[-400:]}"
        lines = self.errors.splitlines()
        if self.code == 2 and (len(lines) != 1 or not lines[0].startswith("error: ")):
            return f"not one line: {self.errors[:400]!r}"
        if self.memory > MEMORY:
            return f"takes {self.memory >> 20} MiB"
        return None


def a_word(random: random.Random) -> str:
    chosen = random.random()
    if chosen < 0.45:
        return random.choice(NUMBERS)
    if chosen < 0.6:
        return random.choice(CLAIMS)
    if chosen < 0.97:
        return random.choice(HOSTILE)
    return "".join(chr(random.choice([*range(1, 0x250), 0x2028, 0x1F600])) for _ in range(random.randrange(9)))


def command_line(random: random.Random, material: dict[str, bytes]) -> Case:
    """A command, a mechanism and options, some sensible and some hostile; real work is kept small."""
    command = random.choices(COMMANDS, [12, 6, 3, 1, 2, 4, 3, 1, 1, 1, 1])[0]
    words = [command] if command else []
    sensible = {"--dim": "3", "--mu": "1", "--epsilon": "1", "--samples": "300", "--seed": "1", "--horizon": "9"}
    chosen: dict[str, str] = {}
    if command in ("audit", "curve"):
        words.append(random.choice(MECHANISMS) if random.random() < 0.9 else a_word(random))
        for option in random.sample(sorted(sensible), random.randrange(len(sensible) + 1)):
            chosen[option] = sensible[option]
        if random.random() < 0.4:
            chosen["--claim"] = random.choice(CLAIMS)
        if words[-1].endswith(":noisy") and random.random() < 0.8:
            chosen |= {"--neighbours": "pair.npz", "--claim": "eps=1", "--samples": "300"}
        if command == "audit" and random.random() < 0.5:
            words.append("--no-test")
    elif command == "run":
        words.append("plan.toml" if random.random() < 0.5 else a_word(random))
    elif command == "replay":
        words.append("witness.json" if random.random() < 0.5 else a_word(random))
    elif command == "prove" and random.random() < 0.9:
        words += ["lebeda2024", "--statement", random.choice(["3.4", "def2", a_word(random)])]
    elif command == "scores":
        chosen |= {"--in": "in.npy", "--out": "out.npy", "--claim": "eps=1"}
    for _ in range(random.randrange(1, 4)):
        chosen[random.choice(OPTIONS)] = a_word(random)
    if "--dask" not in chosen and chosen.get("--jobs", "1") not in ("1", "0", "-1"):
        chosen["--jobs"] = random.choice(["1", "0", "nan", "x"])  # workers are not what is tried here
    for option, word in random.sample(sorted(chosen.items()), len(chosen)):
        words += [option, word] if option not in ("--quiet", "--fresh") else [option]
    if random.random() < 0.1:
        words.insert(random.randrange(len(words) + 1), a_word(random))
    words = [word.replace("\0", "") for word in words]
    return Case(tuple(words), material)


def changed_text(random: random.Random, text: str) -> str:
    """A text with a few pieces removed, repeated, exchanged, or replaced by hostile ones."""
    for _ in range(random.randrange(1, 4)):
        at, length = random.randrange(len(text) + 1), random.choice([1, 1, 3, 10, 40])
        twice = text[at : at + length] * 2
        piece = random.choice(["", twice, a_word(random), '"', "[[audit]]", "=", "\n", "\x00", "{"])
        text = text[:at] + piece + text[at + length :]
    return text


def a_value(random: random.Random) -> str:
    """A value of TOML that a key may not expect."""
    word = a_word(random)
    others = ["1e400", "-1", "nan", "[1, 2]", "{a = 1}", "true", "1979-05-27"]
    return random.choice([json.dumps(word), word or "0", *others])


def plan(random: random.Random, material: dict[str, bytes]) -> Case:
    """A plan with values of other kinds, other keys, or damaged text."""
    text = material["plan.toml"].decode()
    if random.random() < 0.7:
        lines = text.splitlines()
        for _ in range(random.randrange(1, 4)):
            at = random.randrange(len(lines))
            key, equals, _ = lines[at].partition("=")
            key = random.choice(["", "dim ", "claim ", "expect ", "name ", "samples "]) if not equals else key
            twice = lines[at] + "\n" + lines[at]
            lines[at] = random.choice([f"{key}= {a_value(random)}", f"{key.strip()}x = 1", twice])
        text = "\n".join(lines)
    else:
        text = changed_text(random, text)
    return Case(("run", "plan.toml", "--quiet"), material | {"plan.toml": text.encode("utf-8", "replace")})


def other_value(random: random.Random, value: object) -> object:
    """A value in place of another: of another kind, hostile, huge, or a small change of it."""
    huge: list[object] = [10**18, -1, 0, 1e308, -1e308, math.inf, -math.inf, math.nan, 10**400, 0.5, 1e-320, True]
    other: list[object] = [None, "", [], {}, [[]], "nan", a_word(random), [1, 2, 3], {"a": None}, "1" * 400]
    if isinstance(value, bool | None):
        return random.choice([*huge[:5], *other])
    if isinstance(value, int | float):
        return random.choice([*huge, value + 1, -value, value * 2, str(value), *other[:6]])
    if isinstance(value, str):
        return random.choice([*other, value + "x", changed_text(random, value or "a"), 7])
    if isinstance(value, list) and value:
        return random.choice([value[:-1], value * 2, value[::-1], [*value, None], [value], *other])
    return random.choice([*huge, *other])


def changed_json(random: random.Random, document: dict[str, Any]) -> dict[str, Any]:
    """A document in which some places hold other values, at any depth."""
    document = copy.deepcopy(document)
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        place: Any = document
        while True:
            keys: list[Any] = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = random.choice(keys)
            inner = place[key]
            if not isinstance(inner, dict | list) or not inner or random.random() < 0.3:
                break
            place = inner
        if isinstance(place, dict) and random.random() < 0.1:
            del place[key]
        else:
            place[key] = other_value(random, inner)
    return document


def witness(random: random.Random, material: dict[str, bytes]) -> Case:
    """A witness with other values at any place, and a checksum that fits."""
    document = json.loads(material[random.choice([name for name in material if name.startswith("witness")])])
    changed = changed_json(random, {key: value for key, value in document.items() if key != "sha256"})
    try:
        changed["sha256"] = checksum(changed)
    except (ValueError, TypeError):  # what canonical JSON does not hold
        changed["sha256"] = "0" * 64
    text = json.dumps(changed)
    options = random.choice([(), ("--samples", "300"), ("--seed", "5"), ("--samples", a_word(random))])
    return Case(("replay", "witness.json", *options), material | {"witness.json": text.encode("utf-8", "replace")})


def damaged(random: random.Random, content: bytes) -> bytes:
    """Bytes with a few flipped, cut, repeated or replaced; the head of a file more often than its body."""
    data = bytearray(content)
    for _ in range(random.choice([1, 1, 2, 5])):
        at = random.randrange(max(1, min(len(data), random.choice([16, 128, len(data)]))))
        kind = random.randrange(5)
        if kind == 0 and data:
            data[at % len(data)] ^= 1 << random.randrange(8)
        elif kind == 1:
            del data[at:]
        elif kind == 2:
            data[at:at] = bytes(random.randrange(256) for _ in range(random.choice([1, 4, 64])))
        elif kind == 3 and data:
            data[at % len(data)] = random.choice([0, 10, 34, 40, 41, 44, 48, 57, 123, 125, 255])
        else:
            del data[at : at + random.choice([1, 4, 64])]
    return bytes(data)


def table(random: random.Random, material: dict[str, bytes]) -> Case:
    """A damaged table of records, pair of datasets or column of scores."""
    name = random.choice(["table.csv", "table.npy", "table.npz", "pair.npz", "in.npy", "in.csv"])
    held = material | {name: damaged(random, material[name])}
    if name.startswith("table"):
        return Case(("audit", "correlated-gaussian", "--data", name, "--mu", "1", "--samples", "300"), held)
    if name == "pair.npz":
        words = ("audit", "release.py:noisy", "--neighbours", name, "--claim", "eps=1", "--samples", "300")
        return Case(words, held)
    return Case(("scores", "--in", name, "--out", "out.npy", "--claim", "eps=1"), held)


def journal(random: random.Random, material: dict[str, bytes]) -> Case:
    """A plan that is continued from a journal in which entries were damaged, exchanged or added."""
    names = sorted(name for name in material if name.startswith("plan.toml.journal/"))
    held = dict(material)
    for name in random.sample(names, random.randrange(1, len(names) + 1)):
        kind = random.randrange(4)
        if kind == 0:
            held[name] = damaged(random, held[name])
        elif kind == 1:
            held[name] = held[random.choice(names)]
        elif kind == 2:
            held[f"plan.toml.journal/{random.randrange(10**6)}.entry"] = held[name]
        else:
            held[name] = b""
    return Case(("run", "plan.toml", "--quiet"), held)


KINDS: Final[dict[str, Callable[[random.Random, dict[str, bytes]], Case]]] = {
    "lines": command_line,
    "plans": plan,
    "witnesses": witness,
    "tables": table,
    "journals": journal,
}


def an_array(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    if "array" in arrays:
        np.save(buffer, arrays["array"], allow_pickle=False)
    else:
        np.savez(buffer, **arrays)
    return buffer.getvalue()


def make_material(folder: Path) -> dict[str, bytes]:
    """The files that every case finds: sound ones, from which the hostile are made."""
    rng = np.random.default_rng(SEED)
    records = (rng.random((6, 3)) < 0.5).astype(float)
    files = {
        "release.py": RELEASES.encode(),
        "table.csv": ("a,b,c\n" + "\n".join(",".join(map(str, row)) for row in records)).encode(),
        "table.npy": an_array(array=records),
        "table.npz": an_array(records=records),
        "pair.npz": an_array(dataset=records, neighbour=records[1:]),
        "in.npy": an_array(array=rng.normal(1, 1, 200)),
        "out.npy": an_array(array=rng.normal(0, 1, 200)),
        "in.csv": ("score\n" + "\n".join(map(str, rng.normal(1, 1, 200)))).encode(),
        "plan.toml": (
            b'title = "Counts"\nseed = 7\nerror_probability = "1e-6"\n\n'
            b'[[audit]]\nname = "correlated noise"\nmechanism = "correlated-gaussian"\n'
            b"dim = 3\nmu = 1\nsamples = 300\n\n"
            b'[[audit]]\nname = "ours"\nmechanism = "release.py:noisy"\nneighbours = "pair.npz"\nclaim = "eps=3"\n'
            b'samples = 300\nexpect = "not refuted"\n\n'
            b'[[scores]]\nname = "canaries"\nin = "in.npy"\nout = "out.npy"\nclaim = "eps=9"\nexpect = "not refuted"\n'
        ),
    }
    write(folder, files)
    for number, words in enumerate(
        [
            ("release.py:leaky", "--neighbours", "pair.npz", "--claim", "eps=1"),
            ("release.py:leaky", "--neighbours", "pair.npz", "--claim", "mu=1"),
            ("broken:M9", "--dim", "3", "--mu", "1"),
        ]
    ):
        name = f"witness{number}.json"
        words = ("audit", *words, "--samples", "300", "--seed", "1", "--witness", name)
        ended = run(Case(words, {}), folder, seconds=10 * SECONDS, fresh=False)
        assert ended.code == 1, ended
        files[name] = (folder / name).read_bytes()
    files["witness.json"] = files["witness0.json"]
    ended = run(Case(("run", "plan.toml", "--quiet"), {}), folder, seconds=10 * SECONDS, fresh=False)
    assert ended.code in (0, 3), ended
    for path in sorted((folder / "plan.toml.journal").iterdir()):
        files[f"plan.toml.journal/{path.name}"] = path.read_bytes()
    return files


def write(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def _serve() -> None:
    """What a process for the user's code does, forked from one that has imported everything."""
    os.closerange(3, 256)
    guard.serve()


def run(case: Case, folder: Path, *, seconds: float = SECONDS, fresh: bool = True) -> Ended:
    """Run a case in ``folder``, in a process of its own, and end it after that many seconds.

    Args:
        case: what is run.
        folder: where.
        seconds: after which it is ended.
        fresh: whether the user's code gets a fresh interpreter, as from the command line, or a copy of this one.
    """
    write(folder, case.files)
    errors = folder / ".errors"
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.setsid()
            os.chdir(folder)
            null = os.open(os.devnull, os.O_RDWR)
            file = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(null, 0), os.dup2(null, 1), os.dup2(file, 2)
            sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
            sys.path[:] = [entry for entry in sys.path if entry]
            resource.setrlimit(resource.RLIMIT_AS, (4 * MEMORY, 4 * MEMORY))  # the machine survives what is found
            signal.alarm(math.ceil(seconds) + 5)
            if not fresh:
                forked = partial(subprocess.Popen, preexec_fn=_serve)
                process.subprocess = SimpleNamespace(**(vars(subprocess) | {"Popen": forked}))
            code = main(list(case.words))
            sys.stderr.flush()
        except SystemExit as stop:  # what must not come out of main
            sys.stderr.write(f"Traceback: SystemExit({stop.code!r}) left main\n")
        except BaseException as error:
            sys.stderr.write(f"Traceback: {error!r} left main\n")
        finally:
            sys.stderr.flush()
            os._exit(code)
    _, status, usage = os.wait4(child, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # whatever the case started
    text = errors.read_text(encoding="utf-8", errors="replace") if errors.exists() else ""
    return Ended(os.waitstatus_to_exitcode(status), text, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10)


def a_case(kind: str, number: int, material: dict[str, bytes], seed: int = SEED) -> Case:
    return KINDS[kind](random.Random(f"{seed} {kind} {number}"), material)


def fuzz(
    kind: str,
    numbers: range,
    material: dict[str, bytes],
    workers: int = 2,
    seed: int = SEED,
    patience: int = 1,
) -> list[str]:
    """Run the cases of a kind with these numbers: what was found, one line each.

    One with a finding is run again by itself at the end, with ten times the time on the clock and a fresh interpreter:
    neither a busy machine nor the fork is a finding.
    """

    def one(number: int, *, again: bool = False) -> str | None:
        with tempfile.TemporaryDirectory() as folder:
            case = a_case(kind, number, material, seed)
            seconds, fresh = (10 if again else patience) * SECONDS, again or number % FRESH == 0
            finding = run(case, Path(folder), seconds=seconds, fresh=fresh).finding
        return None if finding is None else f"{kind} {number}: {case.words!r:.300}: {finding}"

    with ThreadPoolExecutor(workers) as pool:
        found = dict(zip(numbers, pool.map(one, numbers), strict=True))
    for number, line in found.items():
        if line is not None:
            found[number] = one(number, again=True)
    return [line for line in found.values() if line is not None]


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for kind in KINDS:
        parser.add_argument(f"--{kind}", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--patience", type=int, default=1, help="times a minute on the clock, on a busy machine")
    parser.add_argument("--repeat", nargs=2, metavar=("KIND", "NUMBER"))
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as folder:
        material = make_material(Path(folder))
    if given.repeat:
        kind, number = given.repeat[0], int(given.repeat[1])
        case = a_case(kind, number, material, given.seed)
        folder = tempfile.mkdtemp()
        print(folder, case.words)
        ended = run(case, Path(folder))
        print(ended, ended.finding, sep="\n")
        shutil.rmtree(folder)
        return 0
    found = 0
    print(f"seed {given.seed}")
    for kind in KINDS:
        count, began = getattr(given, kind), time.monotonic()
        if count:
            lines = fuzz(
                kind, range(given.start, given.start + count), material, given.workers, given.seed, given.patience
            )
            found += len(lines)
            print(*lines, f"{kind}: {len(lines)} of {count}, {time.monotonic() - began:.0f} s", sep="\n", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(_main())
