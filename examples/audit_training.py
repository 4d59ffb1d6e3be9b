"""Audit a real DP-SGD training from inside, with canaries: from training to verdict.

A softmax regression on scikit-learn's digits is trained by DP-SGD, many times with a canary and many times without it.
The canary is an image with one bright pixel where every digit is black, so that nothing else moves the weights of that
pixel. Who audits from inside sees every noisy sum of gradients, as a user of federated learning or of a released
training log does. The score of a run is the log-likelihood ratio of its T steps: the most powerful one.

    python examples/audit_training.py                 # noise as the accountant was told: not refuted
    python examples/audit_training.py --noise 0.5     # half of that noise: refuted

What runs here is the training itself, with models that learn: the share of digits that they get right is printed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from dp_accounting.pld import privacy_loss_distribution
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from dpverdict.audit import (
    Direction,
    DistinguishingTest,
    NegativeMass,
    distinguish_scores,
    from_pld,
)
from dpverdict.audit.comparisons.attack import attack_readout
from dpverdict.audit.exact.exchange import ProfileClaim
from dpverdict.mechanisms.training.dp_sgd import DPSGD

Array = NDArray[np.float64]
DELTA = "1e-5"
LEARNING_RATE = 0.5
CANARY_PIXEL, BRIGHT, CANARY_LABEL = 0, 100.0, 3


@dataclass(frozen=True)
class Run:
    """What the auditor has of one training.

    Attributes:
        score: the log-likelihood ratio, with the canary against without it.
        accuracy: the share of digits that the final model gets right.
    """

    score: float
    accuracy: float


def digits() -> tuple[Array, NDArray[np.int64]]:
    """1797 images of 64 pixels in [0, 1], and their labels; the first pixel is black in all of them."""
    table = load_digits()
    images = np.asarray(table.data, dtype=np.float64) / 16
    assert not images[:, CANARY_PIXEL].any()
    return images, np.asarray(table.target, dtype=np.int64)


def clipped_sum(weights: Array, images: Array, labels: NDArray[np.int64], clip: float) -> Array:
    """The sum of the gradients of the cross-entropy, each clipped to the l2 norm ``clip``: shape (64, 10).

    The gradient of one image x with probabilities p is the outer product of x and p - e_label, and its norm the
    product of their norms.
    """
    logits = images @ weights
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(len(labels)), labels] -= 1
    norms = np.linalg.norm(images, axis=1) * np.linalg.norm(p, axis=1)
    total: Array = images.T @ (p * np.minimum(1.0, clip / np.maximum(norms, 1e-300))[:, np.newaxis])
    return total


def train(
    images: Array,
    labels: NDArray[np.int64],
    training: DPSGD,
    rng: np.random.Generator,
    *,
    with_canary: bool,
    noise: float = 1.0,
) -> Run:
    """One training by DP-SGD with Poisson sampling.

    Args:
        images: shape (n, 64).
        labels: shape (n,).
        training: noise multiplier, rate, steps and clipping norm, as the accountant was told.
        rng: of batches and noise.
        with_canary: whether the canary is among the records.
        noise: the part of the stated noise that is really added: 1 is right.
    """
    canary, label = np.zeros((1, 64)), np.array([CANARY_LABEL])
    canary[0, CANARY_PIXEL] = BRIGHT
    clip, q = float(training.clipping_norm), float(training.rate)
    stated = training.noise.scale
    weights, score = np.zeros((64, 10)), 0.0
    for _ in range(training.steps):
        batch = rng.random(len(images)) < q
        total = clipped_sum(weights, images[batch], labels[batch], clip)
        moved = clipped_sum(weights, canary, label, clip)
        if with_canary and rng.random() < q:
            total = total + moved
        released = total + noise * stated * rng.standard_normal(total.shape)
        # Of the canary alone: no digit moves the weights of its pixel, so that they hold noise, and the canary or not.
        ratio = float((released * moved).sum() - (moved * moved).sum() / 2) / stated**2
        score += float(np.logaddexp(np.log1p(-q), np.log(q) + ratio))
        weights = weights - LEARNING_RATE * released / (q * len(images))
    return Run(score, float(np.mean((images @ weights).argmax(axis=1) == labels)))


def accounted(training: DPSGD) -> ProfileClaim:
    """What the accountant of dp_accounting states, at every delta: much more than one epsilon that is quoted of it."""
    step = privacy_loss_distribution.from_gaussian_mechanism(
        float(training.noise_multiplier), sampling_prob=float(training.rate), value_discretization_interval=1e-3
    )
    run = step.self_compose(training.steps)
    remove, add = (from_pld(run, direction=one, negative_mass=NegativeMass.SET_TO_ZERO) for one in Direction)
    epsilon = run.get_epsilon_for_delta(float(DELTA))
    return ProfileClaim(remove, reverse=add, name=f"the accountant's curve, with eps={epsilon:.3f} at delta={DELTA}")


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
    training = DPSGD(noise_multiplier=1, rate="0.1", steps=steps, sampling="poisson", dim=640)
    rng = np.random.default_rng(seed)

    def run(_number: int, inside: bool) -> Run:
        return train(images, labels, training, rng, with_canary=inside, noise=noise)

    return held_against_the_accountant(run, training, runs=runs, seed=seed, error=error)


def held_against_the_accountant(
    run: Callable[[int, bool], Run], training: DPSGD, *, runs: int, seed: int, error: float
) -> tuple[DistinguishingTest, tuple[Array, Array], float]:
    """What `audit` returns, of trainings that are told their number and whether the canary is among the records."""
    claim: Any = accounted(training)  # a whole curve in place of a guarantee
    held = [[run(number, inside) for number in range(runs)] for inside in (True, False)]
    scores = np.array([one.score for one in held[0]]), np.array([one.score for one in held[1]])
    test = distinguish_scores(*scores, claim, error_probability=error, seed=seed, delta=DELTA)
    return test, scores, float(np.mean([one.accuracy for side in held for one in side]))


def main(
    arguments: list[str], audit: Callable[..., tuple[DistinguishingTest, tuple[Array, Array], float]], *, runs: int
) -> int:
    """Exit code 1: refuted; 3: not refuted."""
    parser = argparse.ArgumentParser(description="Audit DP-SGD on digits from inside.")
    parser.add_argument("--runs", type=int, default=runs, help="trainings of each kind")
    parser.add_argument("--noise", type=float, default=1.0, help="part of the stated noise that is added")
    options = parser.parse_args(arguments)
    test, scores, accuracy = audit(runs=options.runs, noise=options.noise)
    print(f"{2 * options.runs} trainings; digits right: {accuracy:.2f}")
    print(test.summary())
    print(attack_readout(*scores, error_probability=0.05, false_positive_rates=(0.01, 0.1)).describe())
    return 1 if test.refuted else 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], audit, runs=300))
