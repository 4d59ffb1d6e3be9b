"""Whether a profile in float64 beside the one in balls pays: processor time of both, side by side in one run.

For losses with a formula of their own in float64, ``delta`` is compared with ``certified_delta`` at one epsilon, at
30 (a curve on a page) and at 1000 (a table), with new losses each time, so that nothing is remembered. The middle of
five runs is shown, and the ratio. Usage: python benchmarks/float_roads.py
"""

import statistics
import time
from collections.abc import Callable

import numpy as np

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.composition import compose
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.losses.spherical.isotropic import IsotropicGaussian
from dpverdict.audit.losses.spherical.loss import SphericalLoss

RUNS = 5
LOSSES: dict[str, Callable[[], PrivacyLoss]] = {
    "Gaussian": lambda: GaussianLoss(1),
    "Laplace, one shift": lambda: LaplaceLoss([1]),
    "Laplace, 10 equal shifts": lambda: LaplaceLoss.equal(10, "0.2"),
    "Laplace, 1000 equal shifts": lambda: LaplaceLoss.equal(1000, "0.01"),
    "Gaussian with Laplace": lambda: compose(GaussianLoss(1), LaplaceLoss([1])),
    "Gaussian with 1000 Laplace": lambda: compose(GaussianLoss("0.5"), LaplaceLoss.equal(1000, "0.01")),
    "isotropic Gaussian, 4 dimensions": lambda: SphericalLoss(4, IsotropicGaussian(2)),
}


def seconds(loss: PrivacyLoss, points: np.ndarray, *, in_balls: bool) -> float:
    began = time.process_time()
    if in_balls:
        loss.certified_delta(points)
    else:
        loss.delta(points)
    return time.process_time() - began


def main() -> None:
    print(f"{'loss':34}{'points':>8}{'float64 (s)':>14}{'balls (s)':>12}{'ratio':>8}")
    for name, made in LOSSES.items():
        for number in (1, 30, 1000):
            points = np.linspace(0.05, 1.95, number)
            both = [
                statistics.median(seconds(made(), points, in_balls=in_balls) for _ in range(RUNS))
                for in_balls in (False, True)
            ]
            print(f"{name:34}{number:8}{both[0]:14.5f}{both[1]:12.5f}{both[1] / both[0]:8.1f}", flush=True)


if __name__ == "__main__":
    main()
