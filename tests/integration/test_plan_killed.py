"""A plan that is killed at random moments and started again ends with the bytes of one that was not."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

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


@pytest.mark.parametrize("kills", [1, pytest.param(50, marks=pytest.mark.slow)])
def test_killed_at_random_moments(tmp_path: Path, seed: int, kills: int) -> None:
    for name, scale in (("right", 1.6), ("wrong", 0.6)):  # each with a helper of its own, of the same name
        (tmp_path / name).mkdir()
        (tmp_path / name / "noise.py").write_text(SLOW_NOISE)
        (tmp_path / name / "helper.py").write_text(f"SCALE = {scale}\n")
    (tmp_path / "plan.toml").write_text(PLAN)
    np.savez(tmp_path / "pair.npz", dataset=np.ones((2, 10)), neighbour=np.ones((1, 10)))
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
    for face in ("json", "html"):
        assert (tmp_path / f"killed.{face}").read_bytes() == (tmp_path / f"whole.{face}").read_bytes()
