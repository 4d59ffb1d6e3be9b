"""A plan that is killed at random moments and started again ends with the bytes of one that was not."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from dpverdict.cli.application import main

SLOW_NOISE = """
import time

import helper
from dpverdict.audit import batched

@batched
def noisy(dataset, rng, trials):
    time.sleep(0.05)
    return dataset.sum(axis=0) + rng.normal(scale=helper.SCALE, size=(trials, 10))
"""
PLAN = """
title = "Killed"
seed = 3
accept = "not refuted"

[[audit]]
name = "slow noise"
mechanism = "right/noise.py:noisy"
neighbours = "pair.npz"
claim = "mu=9"
samples = 12000

[[audit]]
mechanism = "correlated-gaussian"
dim = 10
mu = 1
samples = 8000

[[audit]]
name = "slow noise again"
mechanism = "wrong/noise.py:noisy"
neighbours = "pair.npz"
claim = "mu=2"
samples = 12000
expect = "refuted"
"""


def command(folder: Path, name: str) -> list[str]:
    outputs = ["--json", str(folder / f"{name}.json"), "--report", str(folder / f"{name}.html")]
    run = [sys.executable, "-m", "dpverdict.cli", "run", str(folder / "plan.toml"), "--quiet"]
    return [*run, "--journal", str(folder / name), *outputs]


def write_plan(folder: Path, plan: str) -> None:
    for name, scale in (("right", 1.6), ("wrong", 0.6)):  # each with a helper of its own, of the same name
        (folder / name).mkdir()
        (folder / name / "noise.py").write_text(SLOW_NOISE)
        (folder / name / "helper.py").write_text(f"SCALE = {scale}\n")
    (folder / "plan.toml").write_text(plan)
    np.savez(folder / "pair.npz", dataset=np.ones((2, 10)), neighbour=np.ones((1, 10)))


def assert_same_faces(folder: Path) -> None:
    for face in ("json", "html"):
        assert (folder / f"killed.{face}").read_bytes() == (folder / f"whole.{face}").read_bytes()


def trials_kept(folder: Path) -> set[Path]:
    """The entries of the trials of audits that are not finished."""
    return set((folder / "killed").glob("*/*.entry"))


def test_killed_when_some_trials_were_made(tmp_path: Path, warm_copies: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    write_plan(tmp_path, PLAN.split("[[audit]]\nmechanism")[0])
    started = subprocess.Popen(command(tmp_path, "killed"))
    deadline = time.monotonic() + 120
    while len(trials_kept(tmp_path)) < 2:  # what the trials rest on, and the first of them
        assert started.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    started.send_signal(signal.SIGKILL)
    started.wait()
    assert trials_kept(tmp_path)
    assert not (tmp_path / "killed.json").exists()
    for name in ("whole", "killed"):
        assert main(command(tmp_path, name)[3:]) == 0
    assert_same_faces(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, 50])
def test_killed_at_random_moments(tmp_path: Path, seed: int, kills: int) -> None:
    write_plan(tmp_path, PLAN)
    environment = os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}
    assert subprocess.run(command(tmp_path, "whole"), env=environment, check=False).returncode == 0
    moments, killed, runs = random.Random(seed), 0, 0
    while True:
        runs += 1
        assert runs < 40 * kills, "the run does not advance between the kills"
        started = subprocess.Popen(command(tmp_path, "killed"), env=environment)
        try:
            assert started.wait(None if killed == kills else moments.uniform(0.8, 6)) == 0
            break
        except subprocess.TimeoutExpired:
            started.send_signal(signal.SIGKILL)
            started.wait()
            killed += 1
    assert killed > 0
    assert_same_faces(tmp_path)
