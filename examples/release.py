"""A release of one's own, to audit: how many records say yes to each question, with Laplace noise.

python examples/release.py examples/pair.npz      # two datasets that differ in one record
dpverdict audit examples/release.py:noisy_counts --neighbours examples/pair.npz --claim "eps=1"
"""

import sys

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
EPSILON = 1.0


def noisy_counts(dataset: Array, rng: np.random.Generator) -> Array:
    """One noisy count per question: a record moves all of them, so the noise grows with their number."""
    questions = dataset.shape[1]
    return dataset.sum(axis=0) + rng.laplace(scale=questions / EPSILON, size=questions)


def forgetful_counts(dataset: Array, rng: np.random.Generator) -> Array:
    """The same with the noise of one question: a plausible slip, after which epsilon is 3 for three questions."""
    return dataset.sum(axis=0) + rng.laplace(scale=1 / EPSILON, size=dataset.shape[1])


def neighbours() -> tuple[Array, Array]:
    """Ten records of three answers, and the same without the first, which says yes to everything."""
    dataset = np.zeros((10, 3))
    dataset[0] = 1
    return dataset, dataset[1:]


if __name__ == "__main__":
    with_record, without = neighbours()
    np.savez(sys.argv[1] if len(sys.argv) > 1 else "pair.npz", dataset=with_record, neighbour=without)
