"""False refutations of a correct mechanism whose noise comes from a generator of its module, on several jobs.

    python benchmarks/module_generator.py --audits 1000

Prints the refutations of a Laplace mechanism that keeps its claim, the largest number that a test of the stated error
probability makes in all but one of a million such experiments, and how many releases are distinct. Exit code 1 if there
are more refutations than that.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from scipy import stats

from dpverdict.audit import distinguish
from dpverdict.audit.trials.engines import Processes, running_on
from dpverdict.audit.trials.run import Sampler
from dpverdict.mechanisms import PureDP

RNG = np.random.default_rng()
PAIR = np.ones((1, 1)), np.ones((0, 1))
MISTAKE = 1e-6


def noisy(dataset: np.ndarray, rng: np.random.Generator) -> float:
    """1-DP under adding or removing one record; the generator that is passed in is not used."""
    return float(dataset.sum() + RNG.laplace())


def main() -> int:
    """Run the audits at every number of jobs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--audits", type=int, default=1000)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--jobs", type=int, nargs="+", default=[4, 8])
    parser.add_argument("--error", type=float, default=0.05)
    chosen = parser.parse_args()
    most, failed = int(stats.binom.isf(MISTAKE, chosen.audits, chosen.error)), False
    for jobs in chosen.jobs:
        engine, start = Processes(jobs), time.perf_counter()
        with running_on(engine):
            outputs = Sampler.prepare(noisy, PAIR[0], where="the dataset", seed=0).collect("distinct", 40_000)
            refuted = sum(
                distinguish(
                    noisy, PAIR, PureDP(1), error_probability=chosen.error, samples=chosen.samples, seed=seed
                ).refuted
                for seed in range(chosen.audits)
            )
        engine.close()
        seconds = time.perf_counter() - start
        print(
            f"--jobs {jobs}: {refuted} of {chosen.audits} refuted at error probability {chosen.error:g} "
            f"(at most {most} are credible), {len(np.unique(outputs))} of {len(outputs)} releases distinct, "
            f"{seconds:.0f} s"
        )
        failed |= refuted > most
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
