"""Does Algorithm 1 of Lebeda (2024) leak in float64? In each representation, and on the integers.

The note to practitioners of the correlated-noise paper asks for this. One record that says yes to everything is added
to 0 or to 499 others; the releases are searched for low bits that only one of the two datasets produces, and the
largest epsilon that they refute at delta = 1e-5 is set beside the epsilon of the analysis, which is about real numbers.

    python examples/float_study.py
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit import batched, find_float_leak, worst_case
from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    CorrelatedGaussian,
    DiscreteCorrelatedGaussian,
    EmbeddedGaussian,
    StandardGaussian,
)
from dpverdict.numerics.text import rounded_text

Array = NDArray[np.float64]
DIM, SAMPLES, SEED, DELTA, ERROR = 8, 10_000, 1, 1e-5, 1e-6
GRID = 2.0**-20


def rounded(mechanism: CorrelatedGaussian) -> Callable[[Array, np.random.Generator, int], Array]:
    """The same release, rounded to multiples of 2^-20 before anybody sees it."""

    @batched
    def release(dataset: Array, rng: np.random.Generator, trials: int) -> Array:
        return np.asarray(np.rint(np.asarray(mechanism.release_many(dataset, trials, rng)) / GRID) * GRID)

    return release


def main() -> None:
    """Print the table."""
    standard, direct = StandardGaussian(dim=DIM, mu=1, adjacency=ADD_OR_REMOVE_ONE), CorrelatedGaussian(dim=DIM, mu=1)
    integers = DiscreteCorrelatedGaussian(dim=DIM, rho="1/2")
    mechanisms = {  # what is analysed, and what is run
        "standard Gaussian": (standard, standard),
        "Algorithm 1, shared noise": (direct, direct),
        "Algorithm 1, embedding": (direct, EmbeddedGaussian(dim=DIM, mu=1, adjacency=ADD_OR_REMOVE_ONE)),
        "Algorithm 1, rounded": (direct, rounded(direct)),
        "on the integers": (integers, integers),
    }
    delta, error = rounded_text(DELTA), rounded_text(ERROR)
    print(f"d = {DIM}, {SAMPLES} releases per dataset, delta = {delta}, error probability {error}")
    print(f"{'representation':27}{'records':>9}{'epsilon, real':>15}{'epsilon, float64':>18}  low bits")
    for name, (analysed, released) in mechanisms.items():
        real = worst_case(analysed).loss.certified_epsilon(DELTA).upper
        for others in (0, 499):
            table = np.random.default_rng(0).integers(0, 2, size=(others, DIM)).astype(float)
            pair = np.vstack([table, np.ones(DIM)]), table
            leak = find_float_leak(
                released,
                pair,
                analysed.claim,
                error_probability=ERROR,
                samples=SAMPLES,
                seed=SEED,
                delta=DELTA,
            )
            found = "refute the claim" if leak.refuted else "nothing found"
            print(f"{name:27}{others + 1:>9}{real:>15.3f}{'>= ' + format(leak.epsilon_lower, '.3f'):>18}  {found}")


if __name__ == "__main__":
    main()
