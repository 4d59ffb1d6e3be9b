"""The time and the width of an epsilon and a delta over epochs of random allocation (balls in bins), in one process.

    python benchmarks/epochs.py [--epsilon 1] [--delta 1e-5]

One line for each noise multiplier, number of steps and number of epochs: the processor time and the relative width of
delta at an epsilon, and of epsilon at a delta, each of a loss made anew.
"""

from __future__ import annotations

import argparse
import itertools
import time

from dpverdict.audit.sampling import allocation, allocation_line
from dpverdict.balls import Enclosure

NOISES = ("0.5", "0.8", "1", "2", "5")
STEPS = (100, 1000, 10_000)
EPOCHS = (1, 10, 100)


def measured(noise: str, steps: int, epochs: int, *, epsilon: str, delta: str) -> str:
    """One line of the table."""
    cells = []
    for at, find in ((epsilon, "certified_delta"), (delta, "certified_epsilon")):
        allocation._contour.cache_clear()
        allocation_line.allocation_moments.cache_clear()
        start = time.process_time()
        found: Enclosure = getattr(
            allocation.random_allocation(noise_multiplier=noise, steps=steps, epochs=epochs), find
        )(at)
        seconds = time.process_time() - start
        width = (found.upper - found.lower) / found.upper if found.upper else 0.0
        cells.append(f"{found.upper:>12.6g} {width:>8.1e} {seconds:>6.1f} s")
    return f"{noise:>5} {steps:>6} {epochs:>6}  " + "  ".join(cells)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--delta", default="1e-5")
    options = parser.parse_args()
    print(f"noise  steps epochs  delta({options.epsilon}), width, time           epsilon({options.delta}), width, time")
    for noise, steps, epochs in itertools.product(NOISES, STEPS, EPOCHS):
        print(measured(noise, steps, epochs, epsilon=options.epsilon, delta=options.delta), flush=True)


if __name__ == "__main__":
    main()
