"""Trials per second of the correlated mechanism at d = 1000: in this process, on two, and on a Dask cluster of two.

The same trials come out wherever they run; the script checks that. The cluster is a real scheduler with two worker
processes on this machine, so it shows what the way through a scheduler costs, not what more machines would bring.

    python benchmarks/machines.py            needs pip install ".[dask]" for the last row
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.audit.trials.engines import DaskCluster, Engine, Processes, ThisProcess, running_on
from dpverdict.audit.trials.run import Sampler
from dpverdict.mechanisms import CorrelatedGaussian

DIM, TRIALS, SEED, MANY = 1000, 100_000, 1, 10**9


@contextmanager
def local_cluster() -> Iterator[DaskCluster | None]:
    """A scheduler and two workers with one thread each; None if Dask is absent."""
    try:
        import distributed  # noqa: F401
    except ModuleNotFoundError:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scheduler.json"
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
        tail = ["--no-dashboard", "--scheduler-file", str(file)]
        head = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny"]
        started = [subprocess.Popen([*head, *tail], **quiet)]  # type: ignore[call-overload]
        started += [subprocess.Popen([*worker, *tail], **quiet) for _ in range(2)]  # type: ignore[call-overload]
        try:
            while not (file.exists() and file.read_text()):
                time.sleep(0.05)
            cluster = DaskCluster(json.loads(file.read_text())["address"])
            while cluster.workers_alive() < 2:
                time.sleep(0.05)
            yield cluster
            cluster.close()
        finally:
            for process in reversed(started):
                process.kill()
                process.wait()


def main() -> None:
    """Print the table."""
    mechanism = CorrelatedGaussian(dim=DIM, mu=1)
    sampler = Sampler.prepare(mechanism, worst_case(mechanism).pair.dataset, where="the dataset", seed=SEED)
    expected: np.ndarray | None = None

    def row(name: str, engine: Engine) -> None:
        nonlocal expected
        with running_on(engine):
            sampler.scores("warm up", 2 * 4096, first)
            began = time.perf_counter()
            found = sampler.scores("trials", TRIALS, first)
            rate = TRIALS / (time.perf_counter() - began)
        expected = found if expected is None else expected
        same = "the same bits" if np.array_equal(found, expected) else "OTHER BITS"
        print(f"{name:34}{rate:12,.0f} trials/s{MANY / rate / 3600:10.1f} h for 10^9   {same}")

    print(f"correlated mechanism, d = {DIM}, {TRIALS} releases, {os.cpu_count()} processors")
    row("this process", ThisProcess())
    processes = Processes(2)
    row("two processes", processes)
    processes.close()
    with local_cluster() as cluster:
        if cluster is not None:
            row("Dask, two workers on this machine", cluster)


def first(outputs: np.ndarray) -> np.ndarray:
    """A score that costs nothing."""
    return np.ascontiguousarray(outputs[:, 0])


if __name__ == "__main__":
    main()
