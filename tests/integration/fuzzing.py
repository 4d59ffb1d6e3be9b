"""Hostile command lines, plans, witnesses, tables and journals: each must end in an answer, or in one line saying why.

What a case may end in: exit code 0, 1 or 3 with a verdict, or 2 with one line on standard error. A traceback, a signal,
more than ``SECONDS`` or more than ``MEMORY`` is a finding. Every case (`hostile_input`) runs in a process of its own,
forked from one that has imported and used everything (`warm_up`), and is made from the seed and its number alone, so
that a finding can be repeated. The process in which a case runs code of the user's is forked as well, where the product
starts a fresh interpreter, which costs ten times the rest; every `FRESH`-th case is run as the product does it.

    python tests/integration/fuzzing.py --lines 10000 --plans 2000 --witnesses 2000 --tables 1600 --journals 400
    python tests/integration/fuzzing.py --repeat witnesses 1234
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import io
import math
import os
import pkgutil
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

import dpverdict
from dpverdict.audit.isolation import guard, process
from dpverdict.cli.application import main

sys.path.insert(0, str(Path(__file__).parent))  # a test loads this file by its path
from hostile_input import KINDS, Case, Files

SEED: Final = 20261122
SECONDS: Final = 60.0
MEMORY: Final = 2 << 30
FRESH: Final = 50
CHUNK: Final = 50
"""Cases after which what was found is printed."""

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


@dataclass(frozen=True, slots=True)
class Ended:
    """How a case ended: exit code (negative: the signal), standard error, seconds of processor, bytes of memory.

    The memory is what an interpreter with this package takes, and what the case took beyond that it is a copy of.
    """

    code: int
    errors: str
    seconds: float
    memory: int

    @property
    def finding(self) -> str | None:
        """What is wrong with it; None if nothing is."""
        if self.code in (-signal.SIGALRM, -signal.SIGXCPU) or self.seconds > SECONDS:
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


def an_array(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    if "array" in arrays:
        np.save(buffer, arrays["array"], allow_pickle=False)
    else:
        np.savez(buffer, **arrays)
    return buffer.getvalue()


def make_material(folder: Path, statement: str = "3.4") -> dict[str, bytes]:
    """The files that every case finds: sound ones, from which the hostile are made; certificates of one statement."""
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
    with contextlib.suppress(ImportError):
        import pyarrow
        from pyarrow import parquet

        buffer = io.BytesIO()
        parquet.write_table(pyarrow.table({"score": rng.normal(1, 1, 200)}), buffer)
        files["in.parquet"] = buffer.getvalue()
    warm_up()
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
    words = ("prove", "lebeda2024", "--statement", statement, "--certificates", "certificates")
    assert run(Case(words, {}), folder, seconds=10 * SECONDS, fresh=False).code == 0
    for made in ("plan.toml.journal", "certificates"):
        for path in sorted((folder / made).rglob("*")):
            if path.is_file():
                files[str(path.relative_to(folder))] = path.read_bytes()
    return files


def write(folder: Path, files: Files) -> None:
    """Write files and links, and beside them a pipe that nobody writes to, a link to itself, and an empty folder."""
    (folder / "folder").mkdir(exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkfifo(folder / "pipe")
        (folder / "loop").symlink_to("loop")
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(content)
        else:
            (folder / name).write_bytes(content)


@cache
def warm_up() -> None:
    """Import every module, and use the libraries that are only loaded when they are used: each case begins so."""
    for module in pkgutil.walk_packages(dpverdict.__path__, "dpverdict."):
        if not module.name.endswith(("__main__", "pytest_plugin")):
            importlib.import_module(module.name)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        for line in (
            f"audit correlated-gaussian --dim 3 --mu 1 --samples 300 --json {folder}/r.json --report {folder}/r.html",
            f"curve laplace --dim 3 --epsilon 1 --points 3 --png {folder}/c.png",
        ):
            assert main(line.split()) == 0


def _serve() -> None:
    """What a process for the user's code does, forked from one that has imported everything."""
    os.closerange(3, 256)
    guard.serve()


def run(case: Case, folder: Path, *, seconds: float = SECONDS, fresh: bool = True) -> Ended:
    """Run a case in ``folder``, in a process of its own; end it after so long on the clock, or `SECONDS` of processor.

    Args:
        case: what is run.
        folder: where.
        seconds: on the clock, after which it is ended.
        fresh: whether the user's code gets a fresh interpreter, as from the command line, or a copy of this one.
    """
    write(folder, case.files)
    errors = folder / ".errors"
    inherited = _resident()  # what the process that runs the tests holds is not the case's
    child = os.fork()
    if child == 0:
        code = 70
        gc.freeze()  # a collection in this copy would write to every page
        try:
            os.setsid()
            os.chdir(folder)
            null = os.open(os.devnull, os.O_RDWR)
            file = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(null, 0), os.dup2(null, 1), os.dup2(file, 2)
            sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
            sys.path[:] = [entry for entry in sys.path if entry]
            resource.setrlimit(resource.RLIMIT_AS, (4 * MEMORY, 4 * MEMORY))  # the machine survives what is found
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(SECONDS) + 1, resource.RLIM_INFINITY))
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
    memory = max((usage.ru_maxrss << 10) - inherited, 0) + process.LEAST_MEMORY
    return Ended(os.waitstatus_to_exitcode(status), text, usage.ru_utime + usage.ru_stime, memory)


def _resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def a_case(kind: str, number: int, material: dict[str, bytes], seed: int = SEED) -> Case:
    return KINDS[kind](random.Random(f"{seed} {kind} {number}"), material)


def fuzz(
    kind: str,
    numbers: range,
    material: dict[str, bytes],
    workers: int = 2,
    seed: int = SEED,
    patience: int = 1,
    *,
    told: bool = False,
) -> list[str]:
    """Run the cases of a kind with these numbers: what was found, one line each.

    One with a finding is run again by itself at the end, with three times the time and a fresh interpreter: neither a
    busy machine nor the fork is a finding.
    """

    slowest = 0.0, 0

    def one(number: int, *, again: bool = False) -> str | None:
        nonlocal slowest
        with tempfile.TemporaryDirectory() as folder:
            case = a_case(kind, number, material, seed)
            seconds, fresh = (3 if again else 1) * patience * SECONDS, again or number % FRESH == 0
            ended = run(case, Path(folder), seconds=seconds, fresh=fresh)
        slowest = max(slowest, (ended.seconds, number))
        finding = ended.finding
        return None if finding is None else f"{kind} {number}: {case.words!r:.300}: {finding}"

    with ThreadPoolExecutor(workers) as pool:
        found = dict(zip(numbers, pool.map(one, numbers), strict=True))
    for number, line in found.items():
        if line is not None:
            found[number] = one(number, again=True)
    if told:
        print(f"  {kind} {slowest[1]} took longest: {slowest[0]:.1f} s of processor time")
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
        numbers = range(given.start, given.start + count)
        of_kind = 0
        for at in range(0, count, CHUNK):
            lines = fuzz(kind, numbers[at : at + CHUNK], material, given.workers, given.seed, given.patience, told=True)
            of_kind += len(lines)
            print(*lines, f"{kind}: {of_kind} in {min(at + CHUNK, count)}, {time.monotonic() - began:.0f} s", sep="\n")
            sys.stdout.flush()
        found += of_kind
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(_main())
