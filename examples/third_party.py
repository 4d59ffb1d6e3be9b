"""Other people's Gaussian mechanisms, audited as black boxes through the same command.

Each function below is a mechanism in the sense of dpverdict, ``(dataset, rng) -> array``: it takes every entry of the
records for a yes or a no, counts the yes in every column, and lets a library add the noise. One record moves the d
counts by at most sqrt(d) in the l2-norm, so that is the sensitivity the library must be told. The functions named
``..._understated`` tell it half of that: a plausible slip, after which the noise is half of what the claim needs.

    pip install ".[examples]"
    cd examples
    python third_party.py pair.npz        # the Rossi table with and without a man who said yes to everything

    dpverdict audit third_party:opendp_gaussian --neighbours pair.npz --claim "rho=0.5" --samples 5e3
    dpverdict audit third_party:opendp_gaussian_understated --neighbours pair.npz --claim "rho=0.5" --samples 5e3
    CLAIM="eps=1, delta=1e-3"
    dpverdict audit third_party:diffprivlib_analytic --neighbours pair.npz --claim "$CLAIM" --samples 2e4
    dpverdict audit third_party:diffprivlib_analytic_understated --neighbours pair.npz --claim "$CLAIM" --samples 2e4
    dpverdict audit third_party:diffprivlib_classic --neighbours pair.npz --claim "$CLAIM" --samples 2e4

The right uses exit with 3 (a test never certifies), the wrong ones with 1. Both libraries draw their randomness from
the operating system, not from ``rng``: the seed of an audit does not govern them, and the report says so.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

RHO = 0.5
EPSILON, DELTA = 1.0, 1e-3  # below 1 over the number of records


def opendp_gaussian(dataset: Array, rng: np.random.Generator) -> Array:
    """OpenDP's Gaussian mechanism on integers (discrete Gaussian noise): zero-concentrated DP with rho = 1/2."""
    return _opendp(dataset, 1.0)


def opendp_gaussian_understated(dataset: Array, rng: np.random.Generator) -> Array:
    """The same, told half of the sensitivity: rho is 2, not 1/2."""
    return _opendp(dataset, 0.5)


def diffprivlib_analytic(dataset: Array, rng: np.random.Generator) -> Array:
    """diffprivlib's GaussianAnalytic (Balle and Wang 2018): (1, 1e-3)-DP."""
    return _diffprivlib("GaussianAnalytic", dataset, 1.0)


def diffprivlib_analytic_understated(dataset: Array, rng: np.random.Generator) -> Array:
    """The same, told half of the sensitivity."""
    return _diffprivlib("GaussianAnalytic", dataset, 0.5)


def diffprivlib_classic(dataset: Array, rng: np.random.Generator) -> Array:
    """diffprivlib's Gaussian, the classic calibration: (1, 1e-3)-DP with more noise than it needs."""
    return _diffprivlib("Gaussian", dataset, 1.0)


def neighbours() -> tuple[Array, Array]:
    """The Rossi table with one record more, a man who said yes to everything, and the table itself."""
    from rossi import records

    table = records()
    return np.vstack([table, np.ones(table.shape[1])]), table


def _counts(dataset: Array) -> list[int]:
    """How many records say yes to each question; an entry counts for 0 or 1, whatever it holds."""
    return [int(count) for count in (np.asarray(dataset) > 0.5).sum(axis=0)]


def _opendp(dataset: Array, understatement: float) -> Array:
    counts = _counts(dataset)
    return np.array(_opendp_measurement(len(counts), understatement)(counts), dtype=np.float64)


@cache
def _opendp_measurement(dim: int, understatement: float) -> Callable[[list[int]], list[int]]:
    """The measurement whose map says rho <= 1/2 for the sensitivity it is told."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    sensitivity = understatement * math.sqrt(dim)
    space = dp.vector_domain(dp.atom_domain(T=int), size=dim), dp.l2_distance(T=float)
    scale = dp.binary_search_param(lambda scale: dp.m.make_gaussian(*space, scale=scale), d_in=sensitivity, d_out=RHO)
    measurement: Callable[[list[int]], list[int]] = dp.m.make_gaussian(*space, scale=scale)
    return measurement


def _diffprivlib(name: str, dataset: Array, understatement: float) -> Array:
    counts = _counts(dataset)
    randomise = _diffprivlib_noise(name, understatement * math.sqrt(len(counts)))
    return np.array([randomise(float(count)) for count in counts])


@cache
def _diffprivlib_noise(name: str, sensitivity: float) -> Callable[[float], float]:
    from diffprivlib import mechanisms

    noise = getattr(mechanisms, name)(epsilon=EPSILON, delta=DELTA, sensitivity=sensitivity)
    randomise: Callable[[float], float] = noise.randomise
    return randomise


if __name__ == "__main__":
    with_record, without = neighbours()
    np.savez(sys.argv[1] if len(sys.argv) > 1 else "pair.npz", dataset=with_record, neighbour=without)
