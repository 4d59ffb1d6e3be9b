"""The same audit of a network in torch that Opacus trains: its own sampling, clipping, noise and accountant.

    pip install -e ".[thirdparty,learned]"            # opacus brings torch; scikit-learn has the digits
    python examples/audit_opacus.py                   # noise as the accountant was told: not refuted
    python examples/audit_opacus.py --noise 0.5       # half of that noise: refuted

The canary is a gradient that is put among those of a batch before Opacus clips them: as long as a gradient can be, and
along one weight that no digit moves, since its pixel is black in all of them. Everything after that is Opacus's.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import torch
from opacus import PrivacyEngine
from opacus.optimizers import DPOptimizer
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

sys.path.insert(0, str(Path(__file__).parent))
from audit_training import CANARY_PIXEL, Array, Run, digits, held_against_the_accountant, main

from dpverdict.audit import DistinguishingTest
from dpverdict.mechanisms.training.dp_sgd import DPSGD

LEARNING_RATE = 1.0
BATCHES = 10
"""Of an epoch: each record is in a batch with probability 1/10."""


def put_canary(optimizer: DPOptimizer, weight: nn.Parameter, length: float) -> None:
    """One more row in the gradients of every parameter: zero but for ``length`` at the weight of the black pixel."""
    for parameter in optimizer.params:
        row = torch.zeros((1, *parameter.shape))
        if parameter is weight:
            row[0, 0, CANARY_PIXEL] = length
        parameter.grad_sample = torch.cat([parameter.grad_sample, row])


def train(data: TensorDataset, training: DPSGD, seed: int, *, with_canary: bool, noise: float = 1.0) -> Run:
    """One training by Opacus.

    Args:
        data: images of shape (n, 64), and labels.
        training: noise multiplier, rate, steps and clipping norm, as the accountant was told.
        seed: of weights, batches, noise and of the steps that the canary is in.
        with_canary: whether the canary is among the records.
        noise: the part of the stated noise that Opacus is asked for: 1 is right.
    """
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    clip, q, stated = float(training.clipping_norm), float(training.rate), training.noise.scale
    network = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    model, optimizer, loader = PrivacyEngine().make_private(
        module=network,
        optimizer=torch.optim.SGD(network.parameters(), lr=LEARNING_RATE),
        data_loader=DataLoader(data, batch_size=len(data) // BATCHES),
        noise_multiplier=noise * float(training.noise_multiplier),
        max_grad_norm=clip,
    )
    weight, score, step = network[0].weight, 0.0, 0
    while step < training.steps:
        for images, labels in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()
            if with_canary and rng.random() < q:
                put_canary(optimizer, weight, clip)
            optimizer.step()
            released = float(weight.grad[0, CANARY_PIXEL]) * optimizer.expected_batch_size
            ratio = (released * clip - clip**2 / 2) / stated**2
            score += float(np.logaddexp(np.log1p(-q), np.log(q) + ratio))
            step += 1
            if step == training.steps:
                break
    with torch.no_grad():
        images, labels = data.tensors
        right = float((network(images).argmax(dim=1) == labels).double().mean())
    return Run(score, right)


def audit(
    *, runs: int, steps: int = 40, noise: float = 1.0, seed: int = 1, error: float = 0.01
) -> tuple[DistinguishingTest, tuple[Array, Array], float]:
    """Train ``runs`` times with the canary and as often without it, and test what the accountant says.

    Args:
        runs: of each kind, at least 50.
        steps: of one training.
        noise: the part of the stated noise that is added.
        seed: of all random numbers.
        error: with which the right noise would be refuted.

    Returns:
        The test, the scores with and without the canary, and the mean accuracy.
    """
    images, labels = digits()
    data = TensorDataset(torch.tensor(images, dtype=torch.float32), torch.tensor(labels))
    training = DPSGD(noise_multiplier=1, rate=f"1/{BATCHES}", steps=steps, sampling="poisson", dim=64)

    def run(number: int, inside: bool) -> Run:
        return train(data, training, 2 * (seed * runs + number) + inside, with_canary=inside, noise=noise)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Opacus: that its random numbers are not cryptographic, and hooks of torch
        return held_against_the_accountant(run, training, runs=runs, seed=seed, error=error)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], audit, runs=120))
