"""Peak memory of `distinguish`, which does not grow with the trials: each case in a process of its own.

    python benchmarks/memory.py
    python benchmarks/memory.py --trials 1e6 1e7 --dim 1000000 --dim-trials 1000

Prints the peak resident memory, and exits with code 1 if a case takes more than its bound: 0.5 GB for any number of
trials of one number, 2 GB for releases of a million numbers. The scores of the deciding trials lie in temporary files,
8 bytes each; exploring trials, at most 50 000 numbers per score, stay in memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

from dpverdict.audit import batched, distinguish
from dpverdict.mechanisms import GaussianDP

BOUND_OF_ONE, BOUND_OF_MANY = 0.5, 2.0
"""In GB, of 1e9 bytes."""


def one(trials: int, dim: int) -> None:
    """One case, in this process."""

    @batched
    def noisy(dataset: np.ndarray, rng: np.random.Generator, trials: int) -> np.ndarray:
        return dataset.sum(axis=0) + np.sqrt(dim) * rng.normal(size=(trials, dim))

    pair = np.ones((1, dim)), np.ones((0, dim))
    start = time.perf_counter()
    test = distinguish(noisy, pair, GaussianDP(1), error_probability=1e-6, samples=trials, seed=1)
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9
    print(json.dumps({"peak": peak, "seconds": time.perf_counter() - start, "p": test.p_value}))


def main() -> int:
    """Every case, each in a fresh process."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--trials", type=float, nargs="*", default=[1e5, 1e6, 1e7])
    parser.add_argument("--dim", type=int, default=1_000_000)
    parser.add_argument("--dim-trials", type=int, default=200)
    parser.add_argument("--one", type=int, nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        one(*chosen.one)
        return 0
    cases = [(int(trials), 1, BOUND_OF_ONE) for trials in chosen.trials]
    if chosen.dim_trials:
        cases.append((chosen.dim_trials, chosen.dim, BOUND_OF_MANY))
    failed = False
    for trials, dim, bound in cases:
        command = [sys.executable, __file__, "--one", str(trials), str(dim)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(
            f"{trials:>11,} trials of {dim:>9,} numbers: {found['peak']:.2f} GB of {bound:g}, {found['seconds']:.0f} s"
        )
        failed |= found["peak"] > bound
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
