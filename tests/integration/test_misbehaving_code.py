"""Audited code that misbehaves touches no other audit and no output, is named, and never ends with exit code 0.

The ways are those of `misbehaving`. In full, each alone as well, on two processes and on Dask: ``pytest -m slow``.
"""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverdict.cli.application import main

MODULE = Path(__file__).with_name("misbehaving.py")
GOOD = """
import numpy as np

import helper
from dpverdict.audit import batched

@batched
def noisy(dataset, rng, trials):
    return dataset.sum(axis=0) + rng.laplace(scale=helper.SCALE, size=(trials, 1))
"""
FEW = [  # the first two in the default run
    "ends_at_once",
    "replaces_numpy",
    "forks_and_exits",
    "closes_everything",
    "exits",
    "faults",
    "hangs",
    "leaves_a_daemon",
]


@pytest.fixture(autouse=True)
def _of_one_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")


def ways() -> list[str]:
    """The names of all ways; the module is read here, and none of it is called."""
    spec = importlib.util.spec_from_file_location("misbehaving_names", MODULE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: list[str] = module.WAYS
    return found


def audit(name: str, function: str, more: str = "") -> str:
    return (
        f'[[audit]]\nname = "{name}"\nmechanism = "{function}"\nneighbours = "pair.npz"\nclaim = "eps=1"\n'
        f"samples = 2000\n{more}\n"
    )


def plan_of(folder: Path, bad: list[str]) -> Path:
    """Two good audits, each with a helper of its own and the same name, around bad ones, which have limits."""
    np.savez(folder / "pair.npz", dataset=np.ones((2, 1)), neighbour=np.ones((1, 1)))
    (folder / "misbehaving.py").write_text(MODULE.read_text())
    (folder / "deleted.py").write_text("")
    for place, scale in (("first", 2.0), ("last", 3.0)):
        (folder / place).mkdir()
        (folder / place / "release.py").write_text(GOOD)
        (folder / place / "helper.py").write_text(f"SCALE = {scale}\n")
    audits = [audit(way, f"misbehaving.py:{way}") for way in bad]
    text = "\n".join(
        [
            'seed = 5\naccept = "not refuted"',
            'memory = "2G"\ntimeout = 40' if bad else "",
            f'error_probability = "{2 + len(bad)}e-7"\n',  # 1e-7 for each
            audit("first", "first/release.py:noisy", "timeout = 600"),
            *audits,
            audit("last", "last/release.py:noisy", "timeout = 600"),
        ]
    )
    path = folder / "plan.toml"
    path.write_text(text)
    return path


Runner = Callable[[list[str]], int]


def apart(words: list[str]) -> int:
    """The exit code of a command in a process of its own, which prints nothing on standard output."""
    command = [sys.executable, "-m", "dpverdict.cli", *words]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.stdout == b"", done.stdout
    return done.returncode


def run(plan: Path, runner: Runner, *options: str) -> tuple[int, dict[str, Any], str]:
    """The exit code, the audits by name, and the lines of the whole JSON that are of good ones."""
    out = plan.with_name("out.json")
    code = runner(["run", str(plan), "--json", str(out), "--quiet", *options])
    assert out.exists()
    found = {one["name"]: one for one in json.loads(out.read_text())["audits"]}
    return code, found, json.dumps([found["first"], found["last"]])


def left_over(folder: Path) -> list[str]:
    """Processes that run code of this folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if (
                os.readlink(path / "cwd").startswith(str(folder))
                or str(folder).encode() in (path / "cmdline").read_bytes()
            ):
                found.append(path.name)
        except OSError:
            continue
    return found


def check(folder: Path, bad: list[str], *options: str, runner: Runner = apart) -> None:
    alone = folder / "alone"
    alone.mkdir()
    code, _, expected = run(plan_of(alone, []), runner, *options)
    assert code == 0
    among = folder / "among"
    among.mkdir()
    code, found, good = run(plan_of(among, bad), runner, *options)
    assert good.replace(str(among), str(alone)) == expected
    assert code in (1, 2)
    for way in bad:
        one = found[way]
        assert not one["met"], way
        assert one["status"] in ("REFUTED", "NOT RUN"), way
        assert one["status"] == "REFUTED" or one["error"], way
        assert "@batched" not in (one["error"] or ""), way  # refused by its signature, it would not have run
    assert left_over(among) == []


@pytest.mark.parametrize(
    ("number", "runner"),
    [pytest.param(1, main, id="from this process"), pytest.param(len(FEW), apart, marks=pytest.mark.slow, id="apart")],
)
@pytest.mark.usefixtures("warm_copies")
def test_a_few_ways_between_two_good_audits(tmp_path: Path, number: int, runner: Runner) -> None:
    """From this process, where they touch nothing of it either."""
    assert len(ways()) >= 104
    assert set(FEW) <= set(ways())
    check(tmp_path, FEW[:number], runner=runner)


@pytest.mark.slow
def test_every_way_between_two_good_audits(tmp_path: Path) -> None:
    check(tmp_path, ways())


@pytest.mark.slow
def test_every_way_with_two_workers(tmp_path: Path) -> None:
    check(tmp_path, ways(), "--jobs", "2")


@pytest.fixture
def dask() -> Iterator[str]:
    """The address of a scheduler with one worker of one thread: what keeps it busy would stop every audit after it."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        yield cluster.scheduler_address


@pytest.mark.slow
def test_a_few_ways_on_dask(tmp_path: Path, dask: str) -> None:
    check(tmp_path, FEW, "--dask", dask)


@pytest.mark.slow
def test_every_way_on_dask(tmp_path: Path, dask: str) -> None:
    check(tmp_path, ways(), "--dask", dask)


@pytest.mark.slow
@pytest.mark.parametrize("way", ways())
def test_every_way_alone(tmp_path: Path, way: str) -> None:
    plan_of(tmp_path, [])
    out = tmp_path / "out.json"
    options = ["--neighbours", str(tmp_path / "pair.npz"), "--claim", "eps=1", "--samples", "2000", "--seed", "1"]
    limits = ["--timeout", "40", "--memory", "2G", "--json", str(out)]
    command = [sys.executable, "-m", "dpverdict.cli", "audit", f"{tmp_path / 'misbehaving.py'}:{way}"]
    done = subprocess.run([*command, *options, *limits], capture_output=True, check=False)
    assert done.returncode in (1, 2), done.stderr.decode()
    assert out.exists() == (done.returncode == 1)
    if done.returncode == 2:
        assert done.stderr.decode().startswith("error: ")
        assert done.stderr.count(b"\n") == 1
        assert b"@batched" not in done.stderr
    assert left_over(tmp_path) == []


@pytest.mark.few(2)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_the_command(tmp_path: Path, number: int) -> None:
    plan_of(tmp_path, [])
    mechanism = f"{tmp_path / 'misbehaving.py'}:hangs"
    options = ["--neighbours", str(tmp_path / "pair.npz"), "--claim", "eps=1", "--samples", "2000", "--jobs", "2"]
    command = [sys.executable, "-m", "dpverdict.cli", "audit", mechanism, *options]
    started = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # who runs tests in the background ignores it
    )
    try:
        deadline = time.monotonic() + 120
        while len(left_over(tmp_path)) < 3:  # the command, its guard, its runner
            assert time.monotonic() < deadline
            time.sleep(0.1)
        time.sleep(1)
        started.send_signal(number)
        code = started.wait(30)
        assert code == (130 if number == signal.SIGINT else -number)
        deadline = time.monotonic() + 10
        while left_over(tmp_path):
            assert time.monotonic() < deadline, left_over(tmp_path)
            time.sleep(0.1)
    finally:
        started.kill()
        started.wait()
